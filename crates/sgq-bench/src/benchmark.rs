//! The query-efficiency benchmark: every method on every problem, with its settings tuned on trials of their own, and without.

mod cell;
mod distance;
mod fresh;
mod heat_map;
mod output;
mod page;
mod search;
mod store;
mod trials;

use std::sync::atomic::{AtomicBool, Ordering};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::{Experiment, limit::Limits, run::TrialError};

pub(crate) use cell::Cell;
pub(crate) use fresh::{Fresh, measure_whole};
pub use heat_map::HeatMap;
pub use output::{files, report_tables, write};
pub(crate) use store::Key;
pub use store::Store;

/// How a method's settings were found, and on which trials its queries were counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tuned {
    /// Picked for each target on tuning trials; counted on fresh trials.
    Tuned,
    /// The same settings, counted on the trials that they were picked on: what luck adds.
    Hindsight,
    /// The method's own defaults, on the fresh trials.
    Untuned,
}

impl Tuned {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Tuned, Self::Hindsight, Self::Untuned];

    /// What files call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tuned => "tuned",
            Self::Hindsight => "hindsight",
            Self::Untuned => "untuned",
        }
    }

    /// What a title says.
    pub fn words(self) -> &'static str {
        match self {
            Self::Tuned => "tuned on other trials",
            Self::Hindsight => "tuned in hindsight",
            Self::Untuned => "untuned",
        }
    }
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
    /// How its settings were found.
    pub tuning: Tuned,
    /// The gap to reach.
    pub target: f64,
    /// The first number of queries at which the mean gap over trials is at the target.
    pub queries: Option<u64>,
    /// The ends of a bootstrap interval that holds 95% of the resampled means' crossings; none where they are past the budget.
    pub queries_lo: Option<u64>,
    /// Its upper end.
    pub queries_hi: Option<u64>,
    /// How it ended.
    pub status: Status,
    /// The first step size; none for a method that has none.
    pub step_size: Option<f64>,
    /// How it falls with the steps t: `constant`, `inverse` for a/(1+bt), `root` for a/√(1+bt), `warm-up` for
    /// a·min((t+1)/T, (T/(t+1))^e), with e among the settings; empty where there is none.
    pub decay: String,
    /// The rate b, or 1/T.
    pub rate: Option<f64>,
    /// Other settings that were tuned, as `name=value` with blanks between them.
    pub settings: String,
}

/// One method on one problem.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CellResult {
    /// A line for each target and each way to tune.
    pub rows: Vec<Row>,
    /// How many choices of settings were tried.
    pub tried: u64,
    /// Queries that trying them took.
    pub tuning_queries: u64,
    /// The mean gap after 0, 1, 2 … queries on fresh trials, with the settings for the smallest target that is reached, and
    /// until they reach it; none after divergence.
    pub curve: Vec<Option<f64>>,
    /// Its standard error; not a number with a single trial.
    pub curve_error: Vec<Option<f64>>,
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
