//! `sgq bench random`: methods on many random problems, against a tuned competitor.

use std::{error::Error, path::PathBuf};

use serde::Serialize;
use sgq_bench::{
    benchmark::Store,
    experiment::MAX_TRIALS,
    output::{Claim, Folder},
    random_bench::{self, MAX_PROBLEMS, Options, Report},
    random_problem::Limits,
};

use crate::{
    Outcome,
    experiments::{interrupt_flag, use_threads},
    tables, terminal,
};

/// Measure methods on many random problems: does what is true of a few data sets hold beyond them?
///
/// The problems are regressions on data that users hold, of every kind: few users or a thousand, one parameter or two
/// hundred, well or badly conditioned, users alike or with opposite aims, of equal size or not, with squares, logistic
/// and Poisson losses. Methods run with their default step size; the competitor has, at each target, the step and
/// its decay that were best on tuning trials. Everybody starts at zero, and gaps are parts of the gap there.
#[derive(clap::Args, Serialize)]
#[command(
    after_help = "Examples:\n  sgq bench random --problems 100 --methods saga,iqn\n  sgq bench random --problems 20 \
                  --max-users 100 --max-dim 10 --trials 5 --json\n\nThe ratio is a method's queries over the competitor's, \
                  on the problems where the competitor reaches the gap; where the method does not, its queries count as \
                  one more than the budget, and the mean is a lower bound (≥). \"alone\" counts the problems on which the \
                  method reaches the gap and the competitor does not.\n\nIt writes problems.csv (a row for each method \
                  on each problem), curves.csv and summary.json. Ctrl-C keeps what was finished in cells/, and the same \
                  command goes on where it was. A cell of other settings, or of other code, is measured again; the old \
                  one stays, and can be deleted."
)]
pub struct Args {
    /// Random problems
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=MAX_PROBLEMS))]
    #[serde(skip)]
    problems: u64,
    /// Decides what the problems are, and all randomness on them: the same seed gives the same bytes
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Methods to measure, each with its default step size; `sgq methods` lists them
    #[arg(long, value_name = "A,B", value_delimiter = ',', default_value = "sgq,saga")]
    #[serde(skip)]
    methods: Vec<String>,
    /// Tell the methods no L_i: those without a step size can learn them, such as frugal and practical-sgq
    #[arg(long)]
    learned: bool,
    /// The competitor, its step size and decay tuned for each problem and target on trials of their own
    #[arg(long, value_name = "METHOD", default_value = "shuffled-sgd")]
    against: String,
    /// Independent trials of each method on each problem
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=MAX_TRIALS))]
    trials: u64,
    /// Trials to tune the competitor on, others than those that are counted
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=MAX_TRIALS))]
    tuning_trials: u64,
    /// Queries in each trial for each user; at least 60 and at most 600 in all
    #[arg(long, value_name = "Q", default_value_t = 4.0, allow_negative_numbers = true)]
    budget_per_user: f64,
    /// Gaps to reach, as parts of the gap at the start, largest first
    #[arg(long, value_name = "GAPS", value_delimiter = ',', default_value = "0.1,0.01", allow_negative_numbers = true)]
    targets: Vec<f64>,
    /// At most this many users
    #[arg(long, value_name = "N", default_value_t = Limits::MOST_USERS as u64,
          value_parser = clap::value_parser!(u64).range(Limits::FEWEST_USERS as u64..=Limits::MOST_USERS as u64))]
    max_users: u64,
    /// At most this many parameters
    #[arg(long, value_name = "D", default_value_t = Limits::MOST_DIM as u64,
          value_parser = clap::value_parser!(u64).range(1..=Limits::MOST_DIM as u64))]
    max_dim: u64,
    /// Folder to write to
    #[arg(long, value_name = "DIR", default_value = "out/random")]
    #[serde(skip)]
    out: PathBuf,
    /// Replace the results of another run, and files that sgq did not write; other problems and methods need no force
    #[arg(long)]
    #[serde(skip)]
    force: bool,
    /// Threads to use; the result does not depend on it [default: all]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    #[serde(skip)]
    threads: Option<u16>,
    /// Print everything that was measured as JSON
    #[arg(long)]
    #[serde(skip)]
    json: bool,
    /// Print nothing but errors (and the result, with --json)
    #[arg(long, short)]
    #[serde(skip)]
    quiet: bool,
}

impl Args {
    fn options(&self) -> Result<Options, Box<dyn Error>> {
        Ok(Options {
            problems: self.problems,
            seed: self.seed,
            limits: Limits { users: self.max_users.try_into()?, dim: self.max_dim.try_into()? },
            methods: self.methods.clone(),
            learned: self.learned,
            against: self.against.clone(),
            trials: self.trials,
            tuning_trials: self.tuning_trials,
            budget_per_user: self.budget_per_user,
            targets: self.targets.clone(),
        })
    }
}

pub fn run(args: &Args) -> Result<Outcome, Box<dyn Error>> {
    let options = args.options()?;
    options.check()?;
    use_threads(args.threads)?;
    let interrupt = interrupt_flag()?;
    let claim = Claim::new("bench random", args).writes(random_bench::FILES).force(args.force);
    let mut folder = Folder::open(&args.out, claim)?;
    let store = Store::open(&args.out.join("cells"))?;
    let bar = terminal::cell_progress("random", options.cells(), args.quiet);
    let outcome = random_bench::run(&options, &store, interrupt, &|| bar.inc(1));
    bar.finish_and_clear();
    let outcome = outcome?;
    if !outcome.cells.is_empty() {
        random_bench::write(&mut folder, &options, &outcome)?;
        folder.commit()?;
        if args.json {
            terminal::say(&serde_json::to_string_pretty(&Report::new(&options, &outcome))?)?;
        } else if !args.quiet {
            print(&options, &outcome, &folder)?;
        }
    }
    if outcome.unfinished > 0 {
        terminal::complain(&format!(
            "interrupted: {} of {} methods on problems are finished and kept in {}; run the same command again to go on",
            outcome.cells.len(),
            outcome.cells.len() + outcome.unfinished,
            args.out.display()
        ));
        return Ok(Outcome::Interrupted);
    }
    Ok(Outcome::Done)
}

fn print(options: &Options, outcome: &random_bench::Outcome, folder: &Folder) -> Result<(), Box<dyn Error>> {
    for table in random_bench::tables(options, outcome) {
        terminal::say(&tables::titled_table(&table, terminal::result_columns()))?;
    }
    if outcome.kept > 0 {
        let all = outcome.cells.len();
        terminal::say(&format!("\n  {} of {all} methods on problems are from an earlier run", outcome.kept))?;
    }
    terminal::say_written(folder, "")?;
    Ok(())
}
