//! What a person sees: progress, tables, messages.

use std::{
    io::{self, Write},
    time::Duration,
};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use sgq_bench::{Experiment, report::Table, run::Results, summary::readable};

/// Prints a result. A reader that has gone away (`sgq methods | head`) is no error; a full disk is.
pub fn say(text: &str) -> io::Result<()> {
    match writeln!(io::stdout().lock(), "{text}") {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            let message = format!("cannot write the result to the standard output: {error}");
            Err(io::Error::new(error.kind(), message))
        }
        _ => Ok(()),
    }
}

/// Prints a message that is not a result.
pub fn complain(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// A progress bar over the trials of an experiment; none where nobody is watching.
pub fn progress(name: &str, experiment: &Experiment, hidden: bool) -> ProgressBar {
    let runs = (experiment.methods.len() * experiment.problems.len()) as u64;
    let bar = bar(runs * experiment.trials, "{percent:>3}%  {seconds}", hidden);
    bar.set_prefix(format!(
        "{name:<10} {} × {}",
        counted(experiment.methods.len() as u64, "method"),
        counted(experiment.trials, "trial")
    ));
    bar
}

/// A progress bar over the queries of one run, with room for a message; none where nobody is watching.
pub fn query_progress(name: &str, budget: u64, hidden: bool) -> ProgressBar {
    let bar = bar(budget, "{pos} of {len} queries  {msg}  {seconds}", hidden);
    bar.set_prefix(name.to_owned());
    bar
}

/// A progress bar over methods on problems; none where nobody is watching.
pub fn cell_progress(name: &str, cells: u64, hidden: bool) -> ProgressBar {
    let bar = bar(cells, "{pos}/{len} methods on problems  {eta} left", hidden);
    bar.set_prefix(name.to_owned());
    bar
}

fn bar(length: u64, after: &str, hidden: bool) -> ProgressBar {
    let target = if hidden { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
    let bar = ProgressBar::with_draw_target(Some(length), target);
    let style = ProgressStyle::with_template(&format!("  {{prefix}}  {{bar:24}} {after}"))
        .unwrap_or_else(|_| ProgressStyle::default_bar())
        .progress_chars("━━╌")
        .with_key("seconds", |state: &ProgressState, out: &mut dyn std::fmt::Write| {
            let _ = write!(out, "{:.1} s", state.elapsed().as_secs_f64());
        });
    bar.set_style(style);
    bar.enable_steady_tick(Duration::from_millis(100));
    bar
}

fn counted(count: u64, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// A benchmark's table: its title, and its columns, the first of them flush left.
pub fn titled_table(table: &Table) -> String {
    let lines: Vec<&Vec<String>> = std::iter::once(&table.heading).chain(&table.lines).collect();
    let width = |column: usize| {
        let cells = lines.iter().filter_map(|line| line.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let mut text = format!("\n  {}", table.title);
    for line in &lines {
        let cells = line.iter().enumerate().map(|(column, cell)| match column {
            0 => format!("{cell:<width$}", width = width(0)),
            _ => format!("  {cell:>width$}", width = width(column)),
        });
        text += &format!("\n  {}", cells.collect::<String>());
    }
    text
}

/// Queries to each target, a line for each method.
pub fn table(experiment: &Experiment, results: &Results, problem: &str) -> String {
    let heading = "queries to reach a gap of".to_owned();
    let mut lines = vec![(heading, experiment.targets.iter().map(|gap| readable(*gap)).collect())];
    for row in results.rows.iter().filter(|row| row.problem == problem) {
        let cells: Vec<String> = row
            .queries_to_target
            .iter()
            .map(|queries| queries.map_or("–".to_owned(), |queries| queries.to_string()))
            .collect();
        lines.push((row.label(), cells));
    }
    let width = |text: &String| text.chars().count();
    let first = lines.iter().map(|line| width(&line.0)).max().unwrap_or(0);
    let others = lines.iter().flat_map(|line| &line.1).map(width).max().unwrap_or(0);
    let text: Vec<String> = lines
        .iter()
        .map(|(name, cells)| {
            let cells: String = cells.iter().map(|cell| format!("  {cell:>others$}")).collect();
            format!("  {name:<first$}{cells}")
        })
        .collect();
    text.join("\n")
}
