//! `sgq session extend`: more of a budget, or another tolerance.

use std::{error::Error, path::PathBuf};

use sgq_ledger::Extension;

use super::{open, whole};
use crate::{Outcome, fit::parse, terminal};

/// Raise a budget, or change the tolerance: a session that had stopped for it goes on.
#[derive(clap::Args)]
#[command(
    allow_negative_numbers = true,
    after_help = "Example:\n  sgq session extend study.sgq --budget 100\n  sgq session extend study.sgq --tol 1e-6\n\nBudgets are raised \
                        by what is given; a tolerance takes the place of the one before."
)]
pub struct Args {
    /// The ledger
    #[arg(value_name = "STUDY.sgq")]
    file: PathBuf,
    #[command(flatten)]
    more: More,
    /// Print nothing but errors
    #[arg(long, short)]
    quiet: bool,
}

#[derive(clap::Args)]
#[group(required = true, multiple = true)]
struct More {
    /// So many queries more
    #[arg(long, value_name = "N", value_parser = parse::parse_budget)]
    budget: Option<u64>,
    /// So much more cost
    #[arg(long, value_name = "COST", value_parser = parse::parse_positive)]
    cost_budget: Option<f64>,
    /// So many numbers more
    #[arg(long, value_name = "N", value_parser = whole::count)]
    numbers_budget: Option<u64>,
    /// Stop once so small a part of the gap at the start is believed to remain
    #[arg(long, value_name = "PART", value_parser = parse::parse_positive)]
    tol: Option<f64>,
    /// Stop once the gap is proven to be at most this
    #[arg(long, value_name = "GAP", value_parser = parse::parse_positive)]
    certified_gap: Option<f64>,
}

pub fn run(args: &Args) -> Result<Outcome, Box<dyn Error>> {
    let More { budget, cost_budget, numbers_budget, tol, certified_gap } = args.more;
    let mut ledger = open::to_write(&args.file)?;
    ledger.extend(Extension {
        queries: budget,
        cost: cost_budget,
        numbers: numbers_budget,
        tolerance: tol,
        certified_gap,
    })?;
    let stop = ledger.stop_message();
    ledger.close()?;
    if !args.quiet {
        terminal::say(&match stop {
            Some(why) => format!("  extended, and it still stops: {why}"),
            None => format!(
                "  extended: it goes on (sgq session ask {})",
                terminal::one_line(&args.file.display().to_string())
            ),
        })?;
    }
    Ok(Outcome::Done)
}
