//! Trials of one method side by side: all of them have asked equally many queries, so that their mean can end them.

use std::{
    ops::{ControlFlow, Range},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use rayon::prelude::*;
use sgq::{
    Problem, Session, StopReason,
    drive::{Clock, Observer, drive_by},
    simulate::SimulationError,
};

use super::Cell;
use crate::{experiment::NamedMethod, run::TrialError};

/// One trial under way.
struct Run {
    session: Session<'static>,
    problem: Arc<dyn Problem + Send>,
    clock: Clock,
    /// Gaps are in parts of this.
    unit: f64,
    /// Steps when the gap was looked at.
    steps: u64,
    gap: f64,
    stop: Option<StopReason>,
    /// The gap at every checkpoint.
    gaps: Vec<f64>,
}

impl Run {
    /// Goes on to so many queries; the gap there, infinite after divergence. The values that it is computed from are diagnostic:
    /// they cost nothing and the session does not see them.
    fn gap_after(&mut self, queries: u64) -> Result<f64, TrialError> {
        if self.stop.is_none() && self.session.queries() < queries {
            let stop = drive_by(&mut self.session, &*self.problem, &mut self.clock, &mut Until { queries });
            self.stop = stop.map_err(|error| TrialError::Simulation(error.into()))?;
        }
        if let Some(StopReason::Diverged { .. }) = self.stop {
            self.gap = f64::INFINITY;
        } else if self.session.steps() != self.steps {
            self.steps = self.session.steps();
            let gap = self.problem.gap(self.session.point()).unwrap_or(f64::NAN) / self.unit;
            self.gap = if gap.is_nan() { f64::INFINITY } else { gap };
        }
        Ok(self.gap)
    }
}

/// Ends a drive after so many queries.
struct Until {
    queries: u64,
}

impl Observer for Until {
    fn told(&mut self, session: &Session<'_>) -> ControlFlow<()> {
        if session.queries() < self.queries { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }
}

/// All trials of one method with one choice of settings.
pub(crate) struct Trials {
    runs: Vec<Run>,
    mean: Vec<f64>,
}

impl Trials {
    /// These trials at their start. In each, users are numbered anew at random: otherwise a method that asks them in turn would
    /// have one trial only, and nothing to be tuned on but what is reported.
    pub fn open(cell: &Cell<'_>, method: &NamedMethod, which: Range<u64>) -> Result<Self, TrialError> {
        let (experiment, problem) = (cell.experiment, cell.problem);
        let start = problem.problem.gap(&problem.start).ok_or(SimulationError::NoOptimum)?;
        let unit = if experiment.relative { start } else { 1.0 };
        let run = |trial: u64| -> Result<Run, TrialError> {
            let (session, problem) = experiment.open_renumbered(problem, method, trial)?;
            let (steps, gap, clock) = (session.steps(), start / unit, experiment.clock(&problem, method, trial)?);
            Ok(Run { session, problem: problem.problem, clock, unit, steps, gap, stop: None, gaps: Vec::new() })
        };
        Ok(Self { runs: which.map(run).collect::<Result<_, _>>()?, mean: Vec::new() })
    }

    /// The mean gap at every checkpoint so far; infinite where a trial has diverged.
    pub fn mean(&self) -> &[f64] {
        &self.mean
    }

    /// The gaps of each trial at every checkpoint so far.
    pub fn gaps(&self) -> impl ExactSizeIterator<Item = &[f64]> {
        self.runs.iter().map(|run| &*run.gaps)
    }

    /// Queries of all trials together.
    pub fn queries(&self) -> u64 {
        self.runs.iter().map(|run| run.session.queries()).sum()
    }

    /// Whether a trial has diverged.
    pub fn has_diverged(&self) -> bool {
        self.runs.iter().any(|run| matches!(run.stop, Some(StopReason::Diverged { .. })))
    }

    /// The mean over trials in their order, which decides its last bits.
    fn add_means(&mut self) {
        let count = self.runs.len() as f64;
        let known = self.mean.len()..self.runs.first().map_or(0, |run| run.gaps.len());
        let means = known.map(|place| self.runs.iter().map(|run| run.gaps[place]).sum::<f64>() / count);
        self.mean.extend(means.collect::<Vec<f64>>());
    }
}

/// Takes all of these to each of the checkpoints, in rising order of queries.
pub(crate) fn advance(some: &mut [&mut Trials], checkpoints: &[u64], interrupt: &AtomicBool) -> Result<(), TrialError> {
    if interrupt.load(Ordering::Relaxed) {
        return Err(TrialError::Interrupted);
    }
    some.par_iter_mut().flat_map(|trials| trials.runs.par_iter_mut()).try_for_each(|run| {
        for queries in checkpoints {
            let gap = run.gap_after(*queries)?;
            run.gaps.push(gap);
        }
        Ok::<(), TrialError>(())
    })?;
    some.iter_mut().for_each(|trials| trials.add_means());
    Ok(())
}
