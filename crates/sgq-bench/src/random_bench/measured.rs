//! One method on one random problem.

use std::sync::{Arc, atomic::AtomicBool};

use serde::{Deserialize, Serialize};

use super::{Contestant, Options, RandomBenchError};
use crate::{
    Experiment,
    benchmark::{Cell, Fresh, Tuned, measure_whole},
    experiment::{NamedMethod, NamedProblem, Tuning, first_step},
    random_problem::{RandomProblem, Traits},
    run::TrialError,
};

/// A trial that is ever above this many times its start has diverged, though its numbers may be finite.
const DIVERGED: f64 = 1e6;

/// One method on one random problem. Gaps are parts of the gap at the start.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// The problem.
    pub problem: Traits,
    /// Queries in each trial.
    pub budget: u64,
    /// The method's name.
    pub method: String,
    /// How its settings were found.
    pub tuning: Tuned,
    /// How it did, target by target.
    pub targets: Vec<AtTarget>,
    /// The highest mean gap over the trials; none where it is past all numbers.
    pub transient: Option<f64>,
    /// The highest gap of a single trial; none where it is past all numbers.
    pub trial_transient: Option<f64>,
    /// Whether a trial diverged: a gap that is not finite, or a million times that at the start.
    pub diverged: bool,
    /// The mean gap after 0, 1, 2 … queries, none after divergence. Of a tuned method, with the settings picked for the
    /// smallest target that it reaches.
    pub curve: Vec<Option<f64>>,
}

/// How a method did at a target.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct AtTarget {
    /// The relative gap to reach.
    pub target: f64,
    /// The first number of queries at which the mean gap over trials is there; none where it is not within the budget.
    pub queries: Option<u64>,
    /// The first step size.
    pub step_size: f64,
}

impl Measured {
    /// What was measured for each target.
    fn new(setting: &Setting, contestant: &Contestant, chosen: &[&Fresh]) -> Self {
        let at = setting.experiment.targets.iter().zip(chosen).map(|(&target, fresh)| AtTarget {
            target,
            queries: fresh.queries_to(target),
            step_size: first_step(&fresh.method.step_size),
        });
        let at: Vec<AtTarget> = at.collect();
        let smallest_reached = at.iter().rposition(|it| it.queries.is_some()).unwrap_or(0);
        let curve = chosen.get(smallest_reached).map(|fresh| fresh.mean.mean()).unwrap_or_default();
        let finite = |gap: f64| Some(gap).filter(|gap| gap.is_finite());
        let trial_transient = highest(chosen.iter().flat_map(|fresh| fresh.trials.iter().flatten()));
        Self {
            problem: setting.traits,
            budget: setting.experiment.budget,
            method: contestant.method.name.clone(),
            tuning: contestant.tuning,
            transient: finite(highest(chosen.iter().flat_map(|fresh| fresh.mean.mean()))),
            trial_transient: finite(trial_transient),
            diverged: trial_transient > DIVERGED,
            curve: curve.iter().map(|gap| finite(*gap)).collect(),
            targets: at,
        }
    }
}

/// The largest of these; infinity where one is not a number.
fn highest<'g>(gaps: impl Iterator<Item = &'g f64>) -> f64 {
    gaps.fold(0.0, |highest: f64, gap| if gap.is_nan() { f64::INFINITY } else { highest.max(*gap) })
}

/// A random problem as an experiment of its own: its budget goes with its users.
pub(super) struct Setting {
    traits: Traits,
    problem: NamedProblem,
    experiment: Experiment,
}

impl Setting {
    pub(super) fn new(options: &Options, random: RandomProblem) -> Self {
        let RandomProblem { traits, problem } = random;
        let name = format!("random {}", traits.index);
        Self {
            traits,
            problem: NamedProblem {
                name: name.clone(),
                start: vec![0.0; traits.dim],
                problem: Arc::new(problem),
                card: None,
                costs: None,
                slowness: None,
                files: Vec::new(),
            },
            experiment: Experiment {
                title: name.clone(),
                name,
                trials: options.trials,
                budget: options.budget(traits.users),
                seed: options.seed,
                targets: options.targets.clone(),
                gap_axis: None,
                relative: true,
                tuning: Some(Tuning { trials: options.tuning_trials, ..Tuning::default() }),
                users: None,
                problems: Vec::new(),
                methods: Vec::new(),
            },
        }
    }

    /// All trials; none after an interrupt.
    pub(super) fn measure(
        &self,
        contestant: &Contestant,
        interrupt: &AtomicBool,
    ) -> Result<Option<Measured>, RandomBenchError> {
        let Self { experiment, problem, traits } = self;
        let cell = Cell { experiment, problem, method: &contestant.method, interrupt };
        match self.chosen(&cell, contestant) {
            Ok(measured) => Ok(Some(measured)),
            Err(TrialError::Interrupted) => Ok(None),
            Err(cause) => Err(RandomBenchError::Cell {
                problem: traits.index,
                description: traits.to_string(),
                method: contestant.method.name.clone(),
                cause,
            }),
        }
    }

    /// Of a tuned method with the settings that were picked for each target on other trials.
    fn chosen(&self, cell: &Cell<'_>, contestant: &Contestant) -> Result<Measured, TrialError> {
        let targets = &self.experiment.targets;
        let picks = match contestant.tuning {
            Tuned::Untuned => Vec::new(),
            _ => cell.tune()?.picks.into_iter().map(|pick| pick.method).collect(),
        };
        let methods = if picks.is_empty() { vec![cell.untuned(); targets.len()] } else { picks };
        let mut measured: Vec<Fresh> = Vec::new();
        for method in &methods {
            if measured.iter().all(|fresh| fresh.method != *method) {
                measured.push(measure_whole(cell, method, targets)?);
            }
        }
        let of = |method: &NamedMethod| measured.iter().find(|fresh| fresh.method == *method);
        let chosen: Vec<&Fresh> = methods.iter().filter_map(of).collect();
        Ok(Measured::new(self, contestant, &chosen))
    }
}
