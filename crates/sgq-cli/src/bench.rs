//! `sgq bench`: what this machine takes for it.

mod choose;

use std::error::Error;

use clap::Subcommand;

use crate::Outcome;

/// Measure how fast this machine does what `sgq` does.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  sgq bench choose --users 10000 --dim 100")]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    Choose(choose::Args),
}

pub fn run(args: &Args) -> Result<Outcome, Box<dyn Error>> {
    match &args.what {
        What::Choose(args) => choose::run(args),
    }
}
