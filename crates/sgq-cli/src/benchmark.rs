//! An experiment with tuning: a benchmark, which can be interrupted and goes on where it was.

use std::{error::Error, path::Path};

use sgq_bench::{
    Experiment,
    benchmark::{self, Store, Tuned},
    output::{Claim, Folder},
};

use crate::{
    Outcome,
    experiments::{Options, interrupt_flag, use_threads},
    tables, terminal,
};

/// Runs what is missing, writes all files, and prints the tables of the tuned methods.
pub fn run(experiment: &Experiment, options: &Options, out: &Path, claim: Claim) -> Result<Outcome, Box<dyn Error>> {
    use_threads(options.threads)?;
    let interrupt = interrupt_flag()?;
    let mut folder = Folder::open(out, claim)?;
    let store = Store::open(&out.join("cells"))?;
    let cells = (experiment.methods.len() * experiment.problems.len()) as u64;
    let bar = terminal::cell_progress(&experiment.name, cells, options.quiet);
    let outcome = benchmark::run(experiment, &store, interrupt, &|_| bar.inc(1))?;
    bar.finish_and_clear();
    if !outcome.cells.is_empty() {
        benchmark::write(&mut folder, experiment, &outcome)?;
        folder.commit()?;
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
    // The page has the others: with all of them nobody would see anything here.
    for table in benchmark::report_tables(experiment, outcome, &[Tuned::Tuned]) {
        terminal::say(&tables::titled_table(&table, terminal::result_columns()))?;
    }
    terminal::say_written(folder, "")?;
    Ok(())
}
