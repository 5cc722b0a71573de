//! The result as tables, as JSON and as CSV files.

use std::fmt::Write as _;

use serde::Serialize;

use super::{
    Measured, MethodSummary, Options, Outcome, RandomBenchError, Worst,
    summary::{ASTRAY, WITHIN},
};
use crate::{
    benchmark::Tuned,
    output::{Folder, quoted},
    random_problem::Traits,
    readable::{readable, short},
    report::Table,
};

/// All of it but the curves, for JSON.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// The version of `sgq`.
    pub version: &'static str,
    /// The seed of all randomness.
    pub seed: u64,
    /// Problems at most so large.
    pub max_users: usize,
    /// Problems at most so large.
    pub max_dim: usize,
    /// Trials on each problem; one for methods that do not depend on the seed.
    pub trials: u64,
    /// Trials that the competitor's settings were picked on.
    pub tuning_trials: u64,
    /// Queries a user, before they are limited to 60 … 600 in all.
    pub budget_per_user: f64,
    /// Whether the methods were told no `L_i`.
    pub learned: bool,
    /// The competitor, whose settings are tuned for each target.
    pub against: String,
    /// Each method over all problems.
    pub methods: Vec<MethodSummary>,
    /// Every method on every problem.
    pub cells: Vec<ReportCell>,
    /// Methods on problems that are not finished.
    pub unfinished: usize,
}

/// One method on one problem.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(missing_docs)] // as in `Measured`
pub struct ReportCell {
    pub problem: Traits,
    pub description: String,
    pub budget: u64,
    pub method: String,
    pub tuning: Tuned,
    pub targets: Vec<ReportTarget>,
    pub transient: Option<f64>,
    pub trial_transient: Option<f64>,
    pub diverged: bool,
}

/// One method on one problem at one target.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReportTarget {
    /// The relative gap to reach.
    pub target: f64,
    /// The queries that it took.
    pub queries: Option<u64>,
    /// The step size.
    pub step_size: f64,
    /// The queries over the tuned competitor's.
    pub ratio: Option<f64>,
}

impl Report {
    /// Everything that was measured.
    pub fn new(options: &Options, outcome: &Outcome) -> Self {
        let target = |cell: &Measured, place: usize| ReportTarget {
            target: cell.targets[place].target,
            queries: cell.targets[place].queries,
            step_size: cell.targets[place].step_size,
            ratio: outcome.ratio(cell, place),
        };
        let cell = |cell: &Measured| ReportCell {
            problem: cell.problem,
            description: cell.problem.to_string(),
            budget: cell.budget,
            method: cell.method.clone(),
            tuning: cell.tuning,
            targets: (0..cell.targets.len()).map(|place| target(cell, place)).collect(),
            transient: cell.transient,
            trial_transient: cell.trial_transient,
            diverged: cell.diverged,
        };
        Self {
            version: env!("CARGO_PKG_VERSION"),
            seed: options.seed,
            max_users: options.limits.users,
            max_dim: options.limits.dim,
            trials: options.trials,
            tuning_trials: options.tuning_trials,
            budget_per_user: options.budget_per_user,
            learned: options.learned,
            against: options.against.clone(),
            methods: outcome.summaries(options),
            cells: outcome.cells.iter().map(cell).collect(),
            unfinished: outcome.unfinished,
        }
    }
}

/// The names of the files that are written.
pub const FILES: [&str; 3] = ["problems.csv", "curves.csv", "summary.json"];

/// Writes [`FILES`].
pub fn write(folder: &mut Folder, options: &Options, outcome: &Outcome) -> Result<(), RandomBenchError> {
    folder.write("problems.csv", problems_csv(options, outcome))?;
    folder.write("curves.csv", curves_csv(outcome))?;
    let json = serde_json::to_string_pretty(&Report::new(options, outcome)).unwrap_or_default();
    folder.write("summary.json", json + "\n")?;
    Ok(())
}

/// A row for each method on each problem; what was not reached is left empty, and so is a gap past all numbers.
fn problems_csv(options: &Options, outcome: &Outcome) -> String {
    let mut csv =
        "problem,loss,users,dim,condition,heterogeneity,shift,spread,rows,l2,budget,method,tuning,".to_owned();
    for target in options.targets.iter().map(|target| readable(*target)) {
        let _ = write!(csv, "queries_{target},ratio_{target},step_size_{target},");
    }
    csv.push_str("transient,trial_transient,diverged\n");
    let number = |number: Option<f64>| number.map_or(String::new(), |number| format!("{number:?}"));
    for cell in &outcome.cells {
        let Traits { index, users, dim, condition, heterogeneity, shift, spread, rows, l2, .. } = cell.problem;
        let _ = write!(csv, "{index},{},{users},{dim},{condition:?},{heterogeneity:?},", cell.problem.loss_name());
        let _ = write!(csv, "{shift:?},{spread:?},{rows:?},{l2:?},{},", cell.budget);
        let _ = write!(csv, "{},{},", quoted(&cell.method), cell.tuning.name());
        for (place, at) in cell.targets.iter().enumerate() {
            let queries = at.queries.map_or(String::new(), |queries| queries.to_string());
            let _ = write!(csv, "{queries},{},{:?},", number(outcome.ratio(cell, place)), at.step_size);
        }
        let (transient, trial) = (number(cell.transient), number(cell.trial_transient));
        let _ = writeln!(csv, "{transient},{trial},{}", cell.diverged);
    }
    csv
}

/// Mean relative gaps after 0, 1, 2 … queries; they end where a trial diverged.
fn curves_csv(outcome: &Outcome) -> String {
    let mut csv = "problem,method,tuning,queries,gap_mean\n".to_owned();
    for cell in &outcome.cells {
        let name = format!("{},{},{}", cell.problem.index, quoted(&cell.method), cell.tuning.name());
        for (queries, gap) in cell.curve.iter().enumerate() {
            if let Some(gap) = gap {
                let _ = writeln!(csv, "{name},{queries},{gap:?}");
            }
        }
    }
    csv
}

/// The summary for a person: a table for each target, one of what went astray, and one of the worst cases.
pub fn tables(options: &Options, outcome: &Outcome) -> Vec<Table> {
    let owned = |cells: &[&str]| cells.iter().map(|cell| (*cell).to_owned()).collect::<Vec<_>>();
    let against = &options.against;
    let summaries = outcome.summaries(options);
    let mut tables = Vec::new();
    for (place, target) in options.targets.iter().enumerate() {
        let (finished, reaches) = outcome.competitor_reaches(place);
        let lines = summaries.iter().map(|summary| {
            let at = &summary.targets[place];
            let bound = if at.reached < at.problems { "≥ " } else { "" };
            let mean = at.mean_ratio.map_or("–".to_owned(), |ratio| format!("{bound}{ratio:.2}"));
            let of = |count: usize| format!("{count} of {}", at.problems);
            vec![summary.method.clone(), of(at.within), of(at.reached), mean, at.only_method.to_string()]
        });
        let gap = readable(*target);
        tables.push(Table {
            title: format!("relative gap {gap}: tuned {against} reaches it on {reaches} of {finished} problems"),
            heading: owned(&["", &format!("within {WITHIN}×"), "reached", "mean ratio", "alone"]),
            lines: lines.collect(),
        });
    }
    let lines = summaries.iter().map(|summary| {
        let of = |count: usize| format!("{count} of {}", summary.problems);
        let MethodSummary { method, transient_above_2, trial_transient_above_2, diverged, .. } = summary;
        vec![method.clone(), of(*transient_above_2), of(*trial_transient_above_2), of(*diverged)]
    });
    tables.push(Table {
        title: format!("problems on which the gap was ever above {ASTRAY}× the start"),
        heading: owned(&["", "mean", "a trial", "diverged"]),
        lines: lines.collect(),
    });
    let worst = summaries.iter().flat_map(|summary| {
        summary.targets.iter().flat_map(|at| at.worst.iter().map(|it| worst_line(&summary.method, at.target, it)))
    });
    let worst: Vec<Vec<String>> = worst.collect();
    if !worst.is_empty() {
        let heading = owned(&["", "gap", "queries", against, "ratio"]);
        tables.push(Table { title: "worst".into(), heading, lines: worst });
    }
    tables
}

fn worst_line(method: &str, target: f64, worst: &Worst) -> Vec<String> {
    let Worst { problem, description, queries, against, ratio } = worst;
    let more = if queries.is_none() { "> " } else { "" };
    vec![
        format!("{method} on {problem}: {description}"),
        readable(target),
        queries.map_or("–".to_owned(), |queries| queries.to_string()),
        against.to_string(),
        format!("{more}{}", short(format!("{ratio:.2}").parse().unwrap_or(*ratio))),
    ]
}
