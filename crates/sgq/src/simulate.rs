//! Runs against problems whose optimum is known.

use std::{
    io,
    sync::atomic::{AtomicBool, Ordering},
};

use rayon::prelude::*;
use thiserror::Error;

use crate::{AskTell, ChoiceError, Problem, Query, StopReason, TellError};

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

/// Drives a session against a problem for that many queries, and keeps the gap after each.
///
/// `record` sees every answer with the number of queries paid for so far, itself included, before the session uses it.
/// The values that the gap is computed from are diagnostic: they cost nothing and the session does not see them.
///
/// ```
/// use sgq::{Session, Settings, Sight, method, problem::Quadratic, simulate::gap_curve};
///
/// let toy = Quadratic::scalar(&[1.0; 4], &[2.0, 1.0, -1.0, -2.0])?;
/// let settings = Settings::for_problem(vec![5.0], &toy).step_size(0.015);
/// let mut session = Session::with_sight(method::ogq(), settings, Sight::Problem(&toy))?;
/// let trial = gap_curve(&mut session, &toy, 40, |_, _, _| Ok(()))?;
/// assert!((trial.gaps[40] - 0.0049).abs() < 1e-4);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn gap_curve(
    session: &mut dyn AskTell,
    problem: &dyn Problem,
    queries: u64,
    mut record: impl FnMut(u64, &Query, &[f64]) -> io::Result<()>,
) -> Result<Trial, SimulationError> {
    let gap_at = |point: &[f64]| problem.gap(point).ok_or(SimulationError::NoOptimum);
    let length = usize::try_from(queries).unwrap_or(usize::MAX);
    let mut gradient = vec![0.0; problem.dim()];
    let mut gap = gap_at(session.point())?;
    let mut gaps = vec![gap];
    let mut stop = StopReason::Budget { queries };
    let mut steps = session.steps();
    while gaps.len() <= length {
        let billed = session.meter().billed();
        let Some(query) = session.ask()? else {
            break;
        };
        problem.gradient(query.user, &query.point, &mut gradient);
        record(billed + 1, &query, &gradient)?;
        match session.tell(query.ticket, &gradient) {
            Ok(()) => {}
            // The point is finite but the gradient there is not: the objective is past what numbers can hold.
            Err(TellError::NotFinite { .. }) => {
                stop = StopReason::Diverged { steps };
                break;
            }
            Err(error) => return Err(error.into()),
        }
        if session.steps() != steps {
            steps = session.steps();
            gap = gap_at(session.point())?;
        }
        gaps.push(gap);
    }
    if let Some(reason) = session.stop_reason() {
        stop = reason;
    }
    if let StopReason::Diverged { .. } = stop {
        gap = f64::INFINITY;
        // The answer that led out of bounds was paid for: the curve ends at it.
        if let Some(last) = gaps.last_mut() {
            *last = gap;
        }
    }
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
pub enum SimulationError {
    /// The problem's optimum is not known.
    #[error("the problem's optimum is not known, so there is no gap to measure")]
    NoOptimum,
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
