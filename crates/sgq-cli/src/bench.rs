//! `sgq bench`: what this machine takes for it, and what methods need on many problems.

mod choose;
mod random;

use std::error::Error;

use clap::Subcommand;

use crate::Outcome;

/// Measure how fast this machine does what `sgq` does, and how many queries methods need on random problems.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  sgq bench choose --users 10000 --dim 100\n  sgq bench random --problems 100 --methods \
                  saga,iqn"
)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    Choose(choose::Args),
    Random(random::Args),
}

pub fn run(args: &Args) -> Result<Outcome, Box<dyn Error>> {
    match &args.what {
        What::Choose(args) => choose::run(args),
        What::Random(args) => random::run(args),
    }
}
