//! Running an experiment.

use std::{
    fs::{self, File},
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
};

use serde::Serialize;
use sgq::{
    Query, SettingsError, StopReason,
    simulate::{SimulationError, Trial, gap_curve, in_parallel},
};
use thiserror::Error;

use crate::{
    Experiment,
    experiment::{NamedMethod, NamedProblem},
    statistics::{CurveMean, first_at_most},
};

/// Trials that run side by side before their curves are folded into the mean: it bounds the memory, and being the
/// same on every machine it keeps the result the same too.
const BLOCK: u64 = 64;

/// What an experiment gave: one row for each finished method on each problem.
#[derive(Clone, Debug, Default)]
pub struct Results {
    /// The finished ones, in the order of the file.
    pub rows: Vec<MethodResult>,
    /// Methods that an interrupt kept from finishing.
    pub unfinished: Vec<String>,
}

/// One method on one problem.
#[derive(Clone, Debug)]
pub struct MethodResult {
    /// The problem's name.
    pub problem: String,
    /// The method's name.
    pub method: String,
    /// Whether it looks at more than it pays for.
    pub oracle: bool,
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
}

impl MethodResult {
    /// The method's name with a warning where it is only a yardstick.
    pub fn label(&self) -> String {
        if self.oracle { format!("{} (oracle, not billed)", self.method) } else { self.method.clone() }
    }
}

/// How a run is watched and interrupted.
pub struct Control<'a> {
    /// Set by somebody else to stop; what is finished by then is kept.
    pub interrupt: &'a AtomicBool,
    /// Called after each trial, from any thread.
    pub on_trial: &'a (dyn Fn() + Sync),
    /// Where to write every query, one file a trial.
    pub trace: Option<&'a Path>,
}

/// Runs every method on every problem.
pub fn run(experiment: &Experiment, control: &Control<'_>) -> Result<Results, RunError> {
    let mut results = Results::default();
    for problem in &experiment.problems {
        let trace = match control.trace {
            Some(folder) if experiment.problems.len() > 1 => Some(folder.join(file_name(&problem.name))),
            folder => folder.map(Path::to_owned),
        };
        for method in &experiment.methods {
            let cell = Cell { experiment, problem, method, trace: trace.as_deref(), control };
            let trials = cell.run().map_err(|cause| RunError {
                method: method.name.clone(),
                problem: problem.name.clone(),
                cause,
            })?;
            match trials {
                Some(row) => results.rows.push(row),
                None => results.unfinished.push(method.name.clone()),
            }
        }
    }
    Ok(results)
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
        if let Some(folder) = self.trace {
            fs::create_dir_all(folder)?;
        }
        let mut curve = CurveMean::default();
        let mut diverged = 0;
        let mut billed_per_user = vec![0; problem.problem.users()];
        let mut diagnostic = 0;
        for first in (0..experiment.trials).step_by(BLOCK as usize) {
            let block = BLOCK.min(experiment.trials - first);
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
            for trial in trials {
                curve.add(&trial.gaps);
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
            oracle: method.recipe.needs_oracle(),
            step_size: experiment.open(problem, method, 0)?.step_size(),
            queries_to_target: experiment.targets.iter().map(crossing).collect(),
            gap_sem: curve.standard_error(),
            gap_mean: curve.mean().to_vec(),
            diverged,
            billed_per_user,
            diagnostic,
        }))
    }

    fn run_trial(&self, trial: u64) -> Result<Trial, TrialError> {
        let mut session = self.experiment.open(self.problem, self.method, trial)?;
        let mut trace = match self.trace {
            Some(folder) => Some(Trace::create(folder, &self.method.name, trial)?),
            None => None,
        };
        let record = |queries: u64, query: &Query, gradient: &[f64]| {
            if self.control.interrupt.load(Ordering::Relaxed) {
                return Err(io::ErrorKind::Interrupted.into());
            }
            match &mut trace {
                Some(trace) => trace.record(queries, query, gradient),
                None => Ok(()),
            }
        };
        let problem = &*self.problem.problem;
        let curve = gap_curve(&mut *session, problem, self.experiment.budget, record);
        let curve = curve.map_err(|error| match error {
            SimulationError::Record(error) if error.kind() == io::ErrorKind::Interrupted => TrialError::Interrupted,
            error => error.into(),
        })?;
        if let Some(trace) = trace {
            trace.finish()?;
        }
        Ok(curve)
    }
}

/// One line of a trace: a billed query.
#[derive(Serialize)]
struct TraceLine<'a> {
    queries: u64,
    user: usize,
    explored: Option<bool>,
    point: &'a [f64],
    gradient: &'a [f64],
}

/// Every billed query of one trial, a line each. The file gets its name once it is whole.
struct Trace {
    path: PathBuf,
    partial: PathBuf,
    writer: BufWriter<File>,
}

impl Trace {
    fn create(folder: &Path, method: &str, trial: u64) -> io::Result<Self> {
        let name = format!("{}-{trial}.jsonl", file_name(method));
        let path = folder.join(&name);
        let partial = folder.join(name + ".partial");
        let writer = BufWriter::new(File::create(&partial)?);
        Ok(Self { path, partial, writer })
    }

    fn record(&mut self, queries: u64, query: &Query, gradient: &[f64]) -> io::Result<()> {
        let line = TraceLine { queries, user: query.user, explored: query.explored, point: &query.point, gradient };
        serde_json::to_writer(&mut self.writer, &line)?;
        self.writer.write_all(b"\n")
    }

    fn finish(mut self) -> io::Result<()> {
        self.writer.flush()?;
        fs::rename(&self.partial, &self.path)
    }
}

impl Drop for Trace {
    /// Leaves no half-written trial behind; after `finish` there is nothing to remove.
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.partial);
    }
}

/// A name as a file can bear it: only what no file system objects to.
pub fn file_name(name: &str) -> String {
    let kept = |c: char| c.is_alphanumeric() || " =+-_.,()".contains(c);
    let name: String = name.chars().map(|c| if kept(c) { c } else { '_' }).collect();
    match name.trim_matches(['.', ' ']) {
        "" => "_".into(),
        trimmed => trimmed.into(),
    }
}

/// Why an experiment could not be run to its end.
#[derive(Debug, Error)]
#[error("method {method:?} on problem {problem:?}: {cause}")]
pub struct RunError {
    /// The method's name.
    pub method: String,
    /// The problem's name.
    pub problem: String,
    /// What went wrong.
    #[source]
    pub cause: TrialError,
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
    /// The simulation failed.
    #[error(transparent)]
    Simulation(#[from] SimulationError),
    /// The trace could not be written.
    #[error("the trace could not be written: {0}")]
    Trace(#[from] io::Error),
}
