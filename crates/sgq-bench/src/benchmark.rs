//! The query-efficiency benchmark: every method on every problem, with its step size tuned in hindsight and without.

mod cell;
mod distance;
mod heat_map;
mod output;
mod store;

use std::sync::atomic::{AtomicBool, Ordering};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::{Experiment, limit::Limits, run::TrialError};

pub(crate) use cell::{Cell, Tried, best};
pub use heat_map::HeatMap;
pub use output::{files, report_tables, write};
pub(crate) use store::Key;
pub use store::Store;

/// How a step size was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tuned {
    /// The best of the grid, for each target its own: what only hindsight could know.
    Tuned,
    /// The method's own default.
    Untuned,
}

/// How a method ended at a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// The mean gap came down to it.
    Reached,
    /// It did not, within the budget.
    NotReached,
    /// A trial diverged first.
    Diverged,
}

/// One line of the result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The problem's name.
    pub problem: String,
    /// The method's name.
    pub method: String,
    /// How its step size was found.
    pub tuning: Tuned,
    /// The gap to reach.
    pub target: f64,
    /// The first number of queries at which the mean gap over trials is at the target.
    pub queries: Option<u64>,
    /// The ends of a bootstrap interval that holds 95% of the resampled means' crossings; none where they are past the budget.
    pub queries_lo: Option<u64>,
    /// Its upper end.
    pub queries_hi: Option<u64>,
    /// The step size.
    pub step_size: f64,
    /// How it ended.
    pub status: Status,
}

/// One method on one problem: its lines, and the mean curve of the step that is best for the target in the middle.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CellResult {
    /// A line for each target, tuned and untuned.
    pub rows: Vec<Row>,
    /// The mean gap after 0, 1, 2 … queries, tuned; none after divergence.
    pub curve: Vec<Option<f64>>,
    /// Its standard error; not a number with a single trial.
    pub curve_error: Vec<Option<f64>>,
    /// The step size of the curve.
    pub curve_step: f64,
    /// What the method sees without paying for it, in words.
    pub sees_more: Option<String>,
    /// Whether it sees more than any real run could.
    pub oracle: bool,
}

/// What a benchmark gave.
#[derive(Debug, Default)]
pub struct Outcome {
    /// The finished cells, in the order of the file.
    pub cells: Vec<CellResult>,
    /// How many are not finished.
    pub unfinished: usize,
    /// The limit for random order, a yardstick.
    pub limits: Limits,
}

/// Runs every cell that the store does not hold yet. `on_cell` is called after each, `true` if it was computed.
pub fn run(
    experiment: &Experiment,
    store: &Store,
    interrupt: &AtomicBool,
    on_cell: &(dyn Fn(bool) + Sync),
) -> Result<Outcome, BenchmarkError> {
    let mut outcome = Outcome { limits: Limits::of(experiment), ..Outcome::default() };
    for problem in &experiment.problems {
        for method in &experiment.methods {
            let cell = Cell { experiment, problem, method, interrupt };
            if let Some(result) = store.get(&cell) {
                on_cell(false);
                outcome.cells.push(result);
                continue;
            }
            let failed =
                |cause| BenchmarkError::Cell { problem: problem.name.clone(), method: method.name.clone(), cause };
            let result = if interrupt.load(Ordering::Relaxed) { None } else { cell.run().map_err(failed)? };
            match result {
                Some(result) => {
                    store.put(&cell, &result)?;
                    on_cell(true);
                    outcome.cells.push(result);
                }
                None => outcome.unfinished += 1,
            }
        }
    }
    Ok(outcome)
}

/// Why a benchmark could not be run to its end.
#[derive(Debug, Error)]
pub enum BenchmarkError {
    /// A method failed on a problem; what was finished before is kept.
    #[error("method {method:?} on problem {problem:?}: {cause}")]
    Cell {
        /// The problem's name.
        problem: String,
        /// The method's name.
        method: String,
        /// What went wrong.
        #[source]
        cause: TrialError,
    },
    /// A finished cell could not be stored.
    #[error(transparent)]
    Output(#[from] crate::output::OutputError),
}
