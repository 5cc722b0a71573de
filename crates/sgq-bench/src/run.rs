//! Running an experiment.

use std::{
    fs, io,
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
};

use serde::Serialize;
use sgq::{
    Detail, SettingsError, StopReason,
    drive::{BehaviourError, Billed, DriveError},
    setting::Value,
    simulate::{SimulationError, Spent, Trial, gap_curve, gap_curve_by, in_parallel},
    theory::{Bound, Choices},
};
use thiserror::Error;

use crate::{
    Experiment,
    certify::MethodCertificate,
    choices::ChoiceStatistics,
    experiment::{NamedMethod, NamedProblem},
    limit::Limits,
    statistics::{CurveMean, first_at_most},
    trace::{self, Trace},
};

/// Trials that run side by side before their curves are folded into the mean: few enough to bound the memory, and the
/// same on every machine, which keeps the result the same too.
fn block_size(experiment: &Experiment) -> u64 {
    const NUMBERS_IN_MEMORY: u64 = 16_000_000;
    let numbers_each = if experiment.measures_spending() { 4 } else { 1 };
    (NUMBERS_IN_MEMORY / (numbers_each * (experiment.budget + 1))).clamp(2, 64)
}

/// What an experiment gave: one row for each finished method on each problem.
#[derive(Debug, Default)]
pub struct Results {
    /// The finished ones, in the order of the file.
    pub rows: Vec<MethodResult>,
    /// What an interrupt, or a failure, kept from finishing.
    pub unfinished: Vec<Unfinished>,
    /// What went wrong on the way; everything finished before is in `rows`.
    pub failure: Option<RunError>,
    /// What theory says of each method on each problem, where somebody asked.
    pub certificates: Vec<MethodCertificate>,
    /// The limit for random order, a yardstick, where somebody asked.
    pub limits: Limits,
}

impl Results {
    /// What theory says of a row's method, where somebody asked.
    pub fn certificate(&self, row: &MethodResult) -> Option<&MethodCertificate> {
        self.certificates.iter().find(|it| it.problem == row.problem && it.method == row.method)
    }

    /// The bound on a row's gap, where somebody asked and its theorem holds.
    pub fn bound(&self, row: &MethodResult) -> Option<Bound> {
        self.certificate(row)?.bound()
    }
}

/// A method on a problem that did not finish.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unfinished {
    /// The problem's name.
    pub problem: String,
    /// The method's name.
    pub method: String,
}

/// One method on one problem.
#[derive(Clone, Debug)]
pub struct MethodResult {
    /// The problem's name.
    pub problem: String,
    /// The method's name.
    pub method: String,
    /// Whether it sees more than any real run could.
    pub oracle: bool,
    /// What it sees without paying for it, in words.
    pub sees_more: Option<&'static str>,
    /// The first step size.
    pub step_size: f64,
    /// The mean gap after 0, 1, 2 … queries.
    pub gap_mean: Vec<f64>,
    /// Its standard error.
    pub gap_sem: Vec<f64>,
    /// The first number of queries at which the mean gap is at each of the experiment's targets.
    pub queries_to_target: Vec<Option<usize>>,
    /// How many trials diverged.
    pub diverged: u64,
    /// Queries billed over all trials, user by user.
    pub billed_per_user: Vec<u64>,
    /// Gradients looked at without being billed, over all trials.
    pub diagnostic: u64,
    /// How good its choices were, where that was measured.
    pub choices: Option<ChoiceStatistics>,
    /// The mean of what was spent after 0, 1, 2 … queries, where that was measured.
    pub spent: Option<MeanSpent>,
}

/// What is spent besides queries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axis {
    /// Simulated time.
    Time,
    /// What queries cost.
    Cost,
    /// Numbers that users send.
    Numbers,
}

impl Axis {
    /// All of them, in the order of the files.
    pub const ALL: [Self; 3] = [Self::Time, Self::Cost, Self::Numbers];

    /// What files call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Time => "time",
            Self::Cost => "cost",
            Self::Numbers => "numbers",
        }
    }

    /// What a reader sees.
    pub fn words(self) -> &'static str {
        match self {
            Self::Time => "time",
            Self::Cost => "cost",
            Self::Numbers => "numbers sent",
        }
    }

    /// Those that tell more than queries do: time where users behave in some way, cost where queries do not all cost the same,
    /// numbers where users say more than gradients.
    pub fn shown(experiment: &Experiment) -> impl Iterator<Item = Self> {
        let more = experiment.methods.iter().any(|method| method.answers > Detail::Gradient);
        let measured = experiment.measures_spending();
        let costs = measured && experiment.problems.iter().any(|problem| problem.costs.is_some());
        let shown = [experiment.says_how_users_behave(), costs, more];
        Self::ALL.into_iter().zip(shown).filter(|(_, shown)| *shown).map(|(axis, _)| axis)
    }
}

/// The mean of what was spent after 0, 1, 2 … queries.
#[derive(Clone, Debug, Default)]
pub struct MeanSpent {
    means: [CurveMean; 3],
}

impl MeanSpent {
    fn add(&mut self, spent: &[Spent]) {
        for (mean, axis) in self.means.iter_mut().zip(Axis::ALL) {
            let value = |spent: &Spent| match axis {
                Axis::Time => spent.time,
                Axis::Cost => spent.cost,
                Axis::Numbers => spent.numbers as f64,
            };
            mean.add(&spent.iter().map(value).collect::<Vec<f64>>());
        }
    }

    /// The mean after 0, 1, 2 … queries.
    pub fn along(&self, axis: Axis) -> &[f64] {
        self.means[axis as usize].mean()
    }
}

impl MethodResult {
    /// The mean of what was spent by the first query at which the mean gap is at each target; `None` where that was not
    /// measured.
    pub fn spent_to_target(&self, axis: Axis) -> Option<Vec<Option<f64>>> {
        let along = self.spent.as_ref()?.along(axis);
        Some(self.queries_to_target.iter().map(|queries| along.get((*queries)?).copied()).collect())
    }

    /// The method's name, with a warning where it sees more than it pays for.
    pub fn label(&self) -> String {
        match self.sees_more {
            Some(words) => format!("{} ({words})", self.method),
            None => self.method.clone(),
        }
    }
}

/// How a run is watched and interrupted.
pub struct Control<'a> {
    /// Set by somebody else to stop; what is finished by then is kept.
    pub interrupt: &'a AtomicBool,
    /// Called after each trial, from any thread.
    pub on_trial: &'a (dyn Fn() + Sync),
    /// The folder to write every query to, one file a trial.
    pub trace: Option<&'a Path>,
    /// Whether to measure how good the choices of SGQ and its kin are.
    pub choices: bool,
}

/// Runs every method on every problem.
pub fn run(experiment: &Experiment, control: &Control<'_>) -> Results {
    let mut results = Results::default();
    for problem in &experiment.problems {
        let trace = control.trace.map(|folder| folder.join(trace::below(experiment, problem)));
        if let (Some(folder), None) = (&trace, &results.failure)
            && let Err(error) = fs::create_dir_all(folder)
        {
            results.failure = Some(RunError { place: format!("problem {:?}", problem.name), cause: error.into() });
        }
        for method in &experiment.methods {
            let unfinished = Unfinished { problem: problem.name.clone(), method: method.name.clone() };
            if results.failure.is_some() {
                results.unfinished.push(unfinished);
                continue;
            }
            let cell = Cell { experiment, problem, method, trace: trace.as_deref(), control };
            match cell.run() {
                Ok(Some(row)) => results.rows.push(row),
                Ok(None) => results.unfinished.push(unfinished),
                Err(cause) => {
                    let place = format!("method {:?} on problem {:?}", method.name, problem.name);
                    results.failure = Some(RunError { place, cause });
                    results.unfinished.push(unfinished);
                }
            }
        }
    }
    results
}

/// One method on one problem.
struct Cell<'a> {
    experiment: &'a Experiment,
    problem: &'a NamedProblem,
    method: &'a NamedMethod,
    trace: Option<&'a Path>,
    control: &'a Control<'a>,
}

impl Cell<'_> {
    /// All trials; `None` after an interrupt.
    fn run(&self) -> Result<Option<MethodResult>, TrialError> {
        let Self { experiment, problem, method, .. } = *self;
        let mut curve = CurveMean::default();
        let mut choices = None;
        let mut spent: Option<MeanSpent> = None;
        let mut diverged = 0;
        let mut billed_per_user = vec![0; problem.problem.users()];
        let mut diagnostic = 0;
        let block_size = block_size(experiment);
        for first in (0..experiment.trials).step_by(block_size as usize) {
            let block = block_size.min(experiment.trials - first);
            let trials = in_parallel(block, self.control.interrupt, |offset| {
                let trial = self.run_trial(first + offset)?;
                (self.control.on_trial)();
                Ok(trial)
            });
            let trials = match trials {
                Ok(Some(trials)) => trials,
                Ok(None) | Err(TrialError::Interrupted) => return Ok(None),
                Err(error) => return Err(error),
            };
            for (trial, measured) in trials {
                if let Some(measured) = measured {
                    choices.get_or_insert_with(ChoiceStatistics::default).merge(&measured);
                }
                curve.add(&trial.gaps);
                if !trial.spent.is_empty() {
                    spent.get_or_insert_default().add(&trial.spent);
                }
                diverged += u64::from(matches!(trial.stop, StopReason::Diverged { .. }));
                diagnostic += trial.diagnostic;
                for (sum, billed) in billed_per_user.iter_mut().zip(&trial.billed_per_user) {
                    *sum += billed;
                }
            }
        }
        let crossing = |target: &f64| first_at_most(curve.mean(), *target);
        Ok(Some(MethodResult {
            problem: problem.name.clone(),
            method: method.name.clone(),
            oracle: method.is_oracle(),
            sees_more: method.sees_more(),
            step_size: experiment.open(problem, method, 0)?.step_size(),
            queries_to_target: experiment.targets.iter().map(crossing).collect(),
            gap_sem: curve.standard_error(),
            gap_mean: curve.mean().to_vec(),
            diverged,
            billed_per_user,
            diagnostic,
            choices,
            spent,
        }))
    }

    fn run_trial(&self, trial: u64) -> Result<(Trial, Option<ChoiceStatistics>), TrialError> {
        let mut session = self.experiment.open(self.problem, self.method, trial)?;
        let mut trace = match self.trace {
            Some(folder) => Some(Trace::create(folder, &self.method.name, trial)?),
            None => None,
        };
        let problem = &*self.problem.problem;
        let mut choices = match self.measures_choices() {
            true => Some((Choices::new(problem)?, ChoiceStatistics::default())),
            false => None,
        };
        let record = |answer: &Billed<'_>| {
            if self.control.interrupt.load(Ordering::Relaxed) {
                return Err(io::ErrorKind::Interrupted.into());
            }
            if let Some((choices, statistics)) = &mut choices
                && let Some(measured) = choices.observe(answer)
            {
                statistics.add(answer.queries, &measured);
            }
            match &mut trace {
                Some(trace) => trace.record(answer),
                None => Ok(()),
            }
        };
        let budget = self.experiment.budget;
        let curve = match self.experiment.measures_spending() {
            true => gap_curve_by(
                &mut session,
                problem,
                budget,
                &mut self.experiment.clock(self.problem, self.method, trial)?,
                record,
            ),
            false => gap_curve(&mut session, problem, budget, record),
        };
        let mut curve = curve.map_err(TrialError::from_simulation)?;
        if self.experiment.relative {
            let start = curve.gaps[0];
            curve.gaps.iter_mut().for_each(|gap| *gap /= start);
        }
        if let Some(trace) = trace {
            trace.finish()?;
        }
        Ok((curve, choices.map(|(_, statistics)| statistics)))
    }

    /// Lemma 2 and Proposition 1 are about choices by the paper's scores.
    fn measures_choices(&self) -> bool {
        let method = &self.method.method;
        let is_off = |switch: &str| method.setting(switch) == Some(Value::Switch(false));
        let by_score = method.part_names()[1] == "surrogate-ei" && is_off("lazy") && is_off("learned");
        self.control.choices && by_score && method.has_step_size()
    }
}

/// Why an experiment could not be run to its end.
#[derive(Debug, Error)]
#[error("{place}: {cause}")]
pub struct RunError {
    /// Where it happened, in words.
    pub place: String,
    /// What went wrong.
    #[source]
    pub cause: TrialError,
}

impl TrialError {
    /// An interrupt reaches a simulation as a record that could not be kept.
    pub(crate) fn from_simulation(error: SimulationError) -> Self {
        match error {
            SimulationError::Drive(DriveError::Record(error)) if error.kind() == io::ErrorKind::Interrupted => {
                Self::Interrupted
            }
            error => error.into(),
        }
    }
}

/// Why a trial failed.
#[derive(Debug, Error)]
pub enum TrialError {
    /// Somebody asked to stop.
    #[error("interrupted")]
    Interrupted,
    /// The session refused its settings.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// Users cannot behave like that.
    #[error(transparent)]
    Behaviour(#[from] BehaviourError),
    /// The simulation failed.
    #[error(transparent)]
    Simulation(#[from] SimulationError),
    /// The trace could not be written.
    #[error("the trace could not be written: {0}")]
    Trace(#[from] io::Error),
}
