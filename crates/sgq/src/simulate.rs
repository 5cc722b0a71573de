//! Runs against problems whose optimum is known.

use std::{
    io,
    ops::ControlFlow,
    sync::atomic::{AtomicBool, Ordering},
};

use rayon::prelude::*;
use thiserror::Error;

use crate::{
    Problem, Session, SettingsError, StopReason,
    drive::{Billed, DriveError, Observer, drive},
};

/// What one simulated run gave.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Trial {
    /// `f(x) − inf f` after 0, 1, 2 … billed queries. Infinite after divergence.
    pub gaps: Vec<f64>,
    /// Why the run ended.
    pub stop: StopReason,
    /// Queries billed, user by user.
    pub billed_per_user: Vec<u64>,
    /// Gradients that were looked at without being billed.
    pub diagnostic: u64,
}

/// Drives a session against a problem for that many queries, and keeps the gap after each.
///
/// `record` sees every answer before the session uses it.
/// The values that the gap is computed from are diagnostic: they cost nothing and the session does not see them.
///
/// ```
/// use sgq::{Session, Settings, Sight, method, problem::Quadratic, simulate::gap_curve};
///
/// let toy = Quadratic::scalar(&[1.0; 4], &[2.0, 1.0, -1.0, -2.0])?;
/// let settings = Settings::for_problem(vec![5.0], &toy).step_size(0.015);
/// let mut session = Session::with_sight(method::ogq(), settings, Sight::Problem(&toy))?;
/// let trial = gap_curve(&mut session, &toy, 40, |_| Ok(()))?;
/// assert!((trial.gaps[40] - 0.0049).abs() < 1e-4);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn gap_curve(
    session: &mut Session<'_>,
    problem: &dyn Problem,
    queries: u64,
    record: impl FnMut(&Billed<'_>) -> io::Result<()>,
) -> Result<Trial, SimulationError> {
    session.check_users(problem)?;
    let gap = problem.gap(session.point()).ok_or(SimulationError::NoOptimum)?;
    let length = usize::try_from(queries).unwrap_or(usize::MAX).saturating_add(1);
    let mut curve = Curve { problem, length, steps: session.steps(), gap, gaps: vec![gap], record };
    let stop = if length > 1 { drive(session, problem, &mut curve)? } else { None };
    let stop = stop.unwrap_or(StopReason::Budget { queries });
    let Curve { mut gaps, mut gap, .. } = curve;
    if let StopReason::Diverged { .. } = stop {
        gap = f64::INFINITY;
    }
    let missing = length.saturating_sub(gaps.len());
    gaps.try_reserve_exact(missing).map_err(|_| SimulationError::TooLong { queries })?;
    gaps.resize(length, gap);
    Ok(Trial {
        gaps,
        stop,
        billed_per_user: session.meter().billed_per_user().to_vec(),
        diagnostic: session.meter().diagnostic(),
    })
}

/// Keeps the gap after each query.
struct Curve<'p, R> {
    problem: &'p dyn Problem,
    /// How many gaps there are to be.
    length: usize,
    /// Steps when the gap was looked at.
    steps: u64,
    gap: f64,
    gaps: Vec<f64>,
    record: R,
}

impl<R: FnMut(&Billed<'_>) -> io::Result<()>> Observer for Curve<'_, R> {
    fn telling(&mut self, answer: &Billed<'_>) -> io::Result<()> {
        (self.record)(answer)
    }

    fn told(&mut self, session: &Session<'_>) -> ControlFlow<()> {
        if let Some(StopReason::Diverged { .. }) = session.stop_reason() {
            return ControlFlow::Break(());
        }
        if session.steps() != self.steps {
            self.steps = session.steps();
            self.gap = self.problem.gap(session.point()).unwrap_or(f64::NAN);
        }
        self.gaps.push(self.gap);
        if self.gaps.len() < self.length { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }
}

/// Runs `trials` independent trials, in parallel, and returns them in order.
///
/// The result does not depend on the number of threads. `None` means that `interrupt` was set before the last one was
/// done.
pub fn in_parallel<T: Send, E: Send>(
    trials: u64,
    interrupt: &AtomicBool,
    run: impl Fn(u64) -> Result<T, E> + Sync,
) -> Result<Option<Vec<T>>, E> {
    let results: Vec<Option<T>> = (0..trials)
        .into_par_iter()
        .map(|trial| {
            if interrupt.load(Ordering::Relaxed) {
                return Ok(None);
            }
            run(trial).map(Some)
        })
        .collect::<Result<_, E>>()?;
    Ok(results.into_iter().collect())
}

/// Why a simulation could not go on.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SimulationError {
    /// The problem's optimum is not known.
    #[error("the problem's optimum is not known, so there is no gap to measure")]
    NoOptimum,
    /// The session is not one for this problem.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The curve does not fit into memory.
    #[error("a curve of {queries} queries does not fit into memory: ask for fewer")]
    TooLong {
        /// The queries asked for.
        queries: u64,
    },
    /// The run could not go on.
    #[error(transparent)]
    Drive(#[from] DriveError),
}
