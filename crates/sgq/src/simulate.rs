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
    drive::{Billed, Clock, DriveError, Observer, drive_by},
};

/// What one simulated run gave.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Trial {
    /// `f(x) − inf f` after 0, 1, 2 … billed queries. Infinite after divergence.
    pub gaps: Vec<f64>,
    /// What was spent by then, where somebody [asked](gap_curve_by); else empty.
    pub spent: Vec<Spent>,
    /// Why the run ended.
    pub stop: StopReason,
    /// Queries billed, user by user.
    pub billed_per_user: Vec<u64>,
    /// Gradients that were looked at without being billed.
    pub diagnostic: u64,
}

/// What a run has spent.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spent {
    /// The simulated time.
    pub time: f64,
    /// What all billed queries have cost.
    pub cost: f64,
    /// How many numbers their answers held.
    pub numbers: u64,
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
    curve(session, problem, queries, &mut Clock::default(), false, record)
}

/// The same with users who behave as a clock says, and with what was spent by the time of each query.
pub fn gap_curve_by(
    session: &mut Session<'_>,
    problem: &dyn Problem,
    queries: u64,
    clock: &mut Clock,
    record: impl FnMut(&Billed<'_>) -> io::Result<()>,
) -> Result<Trial, SimulationError> {
    curve(session, problem, queries, clock, true, record)
}

fn curve(
    session: &mut Session<'_>,
    problem: &dyn Problem,
    queries: u64,
    clock: &mut Clock,
    spends: bool,
    record: impl FnMut(&Billed<'_>) -> io::Result<()>,
) -> Result<Trial, SimulationError> {
    session.check_users(problem)?;
    let gap = problem.gap(session.point()).ok_or(SimulationError::NoOptimum)?;
    let length = usize::try_from(queries).unwrap_or(usize::MAX).saturating_add(1);
    let time = clock.time();
    let mut curve = Curve { problem, length, steps: session.steps(), gap, gaps: vec![gap], time, spent: None, record };
    curve.spent = spends.then(|| vec![curve.spent_in(session)]);
    let stop = if length > 1 { drive_by(session, problem, clock, &mut curve)? } else { None };
    let stop = stop.unwrap_or(StopReason::Budget { queries });
    let Curve { mut gaps, mut gap, spent, .. } = curve;
    if let StopReason::Diverged { .. } = stop {
        gap = f64::INFINITY;
    }
    let missing = length.saturating_sub(gaps.len());
    gaps.try_reserve_exact(missing).map_err(|_| SimulationError::TooLong { queries })?;
    gaps.resize(length, gap);
    let mut spent = spent.unwrap_or_default();
    if let Some(last) = spent.last().copied() {
        spent.try_reserve_exact(missing).map_err(|_| SimulationError::TooLong { queries })?;
        spent.resize(length, last);
    }
    Ok(Trial {
        gaps,
        spent,
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
    /// When the last answer came.
    time: f64,
    /// What was spent by each query, where somebody asked.
    spent: Option<Vec<Spent>>,
    record: R,
}

impl<R> Curve<'_, R> {
    fn spent_in(&self, session: &Session<'_>) -> Spent {
        let meter = session.meter();
        Spent { time: self.time, cost: meter.cost(), numbers: meter.numbers() }
    }
}

impl<R: FnMut(&Billed<'_>) -> io::Result<()>> Observer for Curve<'_, R> {
    fn telling(&mut self, answer: &Billed<'_>) -> io::Result<()> {
        self.time = answer.time;
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
        let spent = self.spent_in(session);
        self.spent.iter_mut().for_each(|all| all.push(spent));
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
