//! Runs against problems whose optimum is known.

use std::{
    io,
    sync::atomic::{AtomicBool, Ordering},
};

use rayon::prelude::*;
use thiserror::Error;

use crate::{AskTell, ChoiceError, Problem, Query, SettingsError, StopReason, TellError};

/// What one simulated run gave.
#[derive(Clone, Debug, PartialEq)]
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

/// One billed answer, as a simulation sees it.
#[derive(Clone, Copy, Debug)]
pub struct Answer<'a> {
    /// Queries paid for so far, this one included.
    pub queries: u64,
    /// What was asked.
    pub query: &'a Query,
    /// The answer.
    pub gradient: &'a [f64],
    /// The step size `α_t` that the choice was made with.
    pub step_size: f64,
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
    session: &mut dyn AskTell,
    problem: &dyn Problem,
    queries: u64,
    mut record: impl FnMut(&Answer<'_>) -> io::Result<()>,
) -> Result<Trial, SimulationError> {
    for (what, expected, found) in [
        ("users", problem.users(), session.meter().billed_per_user().len()),
        ("parameters", problem.dim(), session.point().len()),
    ] {
        if expected != found {
            return Err(SettingsError::Mismatch { what, expected, found }.into());
        }
    }
    let gap_at = |point: &[f64]| problem.gap(point).ok_or(SimulationError::NoOptimum);
    let length = usize::try_from(queries).unwrap_or(usize::MAX);
    let mut gradient = vec![0.0; problem.dim()];
    let mut gap = gap_at(session.point())?;
    let mut gaps = vec![gap];
    let mut stop = None;
    while gaps.len() <= length {
        let query = match session.ask() {
            Ok(Some(query)) => query,
            Ok(None) => break,
            Err(ChoiceError::NoScore) => {
                // Answers so large that no score of them is a number.
                stop = Some(StopReason::Diverged { steps: session.steps() });
                break;
            }
            Err(error) => return Err(error.into()),
        };
        problem.gradient(query.user, &query.point, &mut gradient);
        if !gradient.iter().all(|value| value.is_finite()) {
            // The point is finite but the gradient there is not: the objective is past what numbers can hold.
            stop = Some(StopReason::Diverged { steps: session.steps() });
            break;
        }
        let step_size = session.step_size();
        record(&Answer { queries: session.queries() + 1, query: &query, gradient: &gradient, step_size })?;
        let steps = session.steps();
        session.tell(query.ticket, &gradient)?;
        if let Some(StopReason::Diverged { .. }) = session.stop_reason() {
            break;
        }
        if session.steps() != steps {
            gap = gap_at(session.point())?;
        }
        gaps.push(gap);
    }
    let stop = stop.or(session.stop_reason()).unwrap_or(StopReason::Budget { queries });
    if let StopReason::Diverged { .. } = stop {
        gap = f64::INFINITY;
    }
    let missing = length.saturating_add(1).saturating_sub(gaps.len());
    gaps.try_reserve_exact(missing).map_err(|_| SimulationError::TooLong { queries })?;
    gaps.resize(length.saturating_add(1), gap);
    Ok(Trial {
        gaps,
        stop,
        billed_per_user: session.meter().billed_per_user().to_vec(),
        diagnostic: session.meter().diagnostic(),
    })
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
    /// The choice failed.
    #[error(transparent)]
    Choice(#[from] ChoiceError),
    /// The session refused the problem's answer.
    #[error(transparent)]
    Tell(#[from] TellError),
    /// The answers could not be recorded.
    #[error("the trace could not be written: {0}")]
    Record(#[from] io::Error),
}
