//! An experiment with tuning: a benchmark, which can be interrupted and goes on where it was.

use std::{error::Error, path::Path};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use sgq_bench::{
    Experiment,
    benchmark::{self, Store},
    output::Folder,
};

use crate::{
    Outcome,
    experiments::{Options, interrupt_flag, use_threads},
    terminal,
};

/// Runs what is missing, writes all files, and prints the tables of the tuned methods.
pub fn run(experiment: &Experiment, options: &Options, out: &Path) -> Result<Outcome, Box<dyn Error>> {
    use_threads(options)?;
    let interrupt = interrupt_flag()?;
    let mut folder = Folder::open(out)?;
    let store = Store::open(&out.join("cells"))?;
    let bar = progress(experiment, options.quiet);
    let outcome = benchmark::run(experiment, &store, interrupt, &|_| bar.inc(1))?;
    bar.finish_and_clear();
    if !outcome.cells.is_empty() {
        benchmark::write(&mut folder, experiment, &outcome)?;
    }
    if options.json {
        let rows: Vec<_> = outcome.cells.iter().flat_map(|cell| &cell.rows).collect();
        terminal::say(&serde_json::to_string_pretty(&rows)?)?;
    } else if !options.quiet {
        print(experiment, &outcome, &folder)?;
    }
    if outcome.unfinished > 0 {
        terminal::complain(&format!(
            "interrupted: {} of {} cells are finished and kept in {}; run the same command again to go on",
            outcome.cells.len(),
            outcome.cells.len() + outcome.unfinished,
            out.display()
        ));
        return Ok(Outcome::Interrupted);
    }
    Ok(Outcome::Done)
}

fn print(experiment: &Experiment, outcome: &benchmark::Outcome, folder: &Folder) -> Result<(), Box<dyn Error>> {
    for table in benchmark::report_tables(experiment, outcome) {
        let lines: Vec<Vec<String>> = std::iter::once(table.heading).chain(table.lines).collect();
        let width = |column: usize| {
            let cells = lines.iter().filter_map(|line| line.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        terminal::say(&format!("\n  {}", table.title))?;
        for line in &lines {
            let cells = line.iter().enumerate().map(|(column, cell)| match column {
                0 => format!("{cell:<width$}", width = width(0)),
                _ => format!("  {cell:>width$}", width = width(column)),
            });
            terminal::say(&format!("  {}", cells.collect::<String>()))?;
        }
    }
    terminal::say(&format!("\n  written to {}: {}", folder.path().display(), folder.written().join(" ")))?;
    Ok(())
}

fn progress(experiment: &Experiment, hidden: bool) -> ProgressBar {
    let cells = (experiment.methods.len() * experiment.problems.len()) as u64;
    let target = if hidden { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
    let bar = ProgressBar::with_draw_target(Some(cells), target);
    let style = ProgressStyle::with_template("  {prefix}  {bar:24} {pos}/{len} methods on problems  {eta} left")
        .unwrap_or_else(|_| ProgressStyle::default_bar())
        .progress_chars("━━╌");
    bar.set_style(style);
    bar.set_prefix(experiment.name.clone());
    bar.tick();
    bar
}
