//! One method on one random problem.

use std::sync::{Arc, atomic::AtomicBool};

use serde::{Deserialize, Serialize};

use super::{Contestant, GRID, Options, RandomBenchError};
use crate::{
    Experiment,
    benchmark::{Cell, Tried, Tuned, best},
    experiment::NamedProblem,
    random_problem::{RandomProblem, Traits},
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
    /// How its step size was found.
    pub tuning: Tuned,
    /// How it did, target by target.
    pub targets: Vec<AtTarget>,
    /// The highest mean gap over the trials; none where it is past all numbers.
    pub transient: Option<f64>,
    /// The highest gap of a single trial; none where it is past all numbers.
    pub trial_transient: Option<f64>,
    /// Whether a trial diverged: a gap that is not finite, or a million times that at the start.
    pub diverged: bool,
    /// The mean gap after 0, 1, 2 … queries, none after divergence. Of a tuned method, with the step that is best for
    /// the smallest target that it reaches.
    pub curve: Vec<Option<f64>>,
}

/// How a method did at a target.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct AtTarget {
    /// The relative gap to reach.
    pub target: f64,
    /// The first number of queries at which the mean gap over trials is there; none where it is not within the budget.
    pub queries: Option<u64>,
    /// The step size.
    pub step_size: f64,
}

impl Measured {
    /// Of a tuned method only the steps that are best for a target count: nobody would take the others.
    fn new(setting: &Setting, contestant: &Contestant, tried: &[Tried]) -> Self {
        let targets = &setting.experiment.targets;
        let chosen: Vec<&Tried> = targets.iter().filter_map(|target| best(tried, *target)).collect();
        let at = targets.iter().zip(&chosen).map(|(&target, tried)| AtTarget {
            target,
            queries: tried.crossing(target),
            step_size: tried.step_size,
        });
        let at: Vec<AtTarget> = at.collect();
        let smallest_reached = at.iter().rposition(|it| it.queries.is_some()).unwrap_or(0);
        let curve = chosen.get(smallest_reached).map(|tried| tried.mean.mean()).unwrap_or_default();
        let finite = |gap: f64| Some(gap).filter(|gap| gap.is_finite());
        let trial_transient = highest(chosen.iter().flat_map(|tried| tried.trials.iter().flatten()));
        Self {
            problem: setting.traits,
            budget: setting.experiment.budget,
            method: contestant.method.name.clone(),
            tuning: contestant.tuning,
            transient: finite(highest(chosen.iter().flat_map(|tried| tried.mean.mean()))),
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
                tuning: Some(GRID),
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
        let steps = match contestant.tuning {
            Tuned::Tuned => cell.grid(),
            Tuned::Untuned => vec![cell.default_step()],
        };
        let tried = cell.try_steps(steps).map_err(|cause| RandomBenchError::Cell {
            problem: traits.index,
            description: traits.to_string(),
            method: contestant.method.name.clone(),
            cause,
        })?;
        Ok(tried.map(|tried| Measured::new(self, contestant, &tried)))
    }
}
