//! `sgq session salvage`: what is intact of a damaged ledger.

use std::{error::Error, path::PathBuf};

use super::open::SessionError;
use crate::{Outcome, terminal};

/// Save what is intact of a damaged ledger into a new one. The damaged one is not touched.
#[derive(clap::Args)]
#[command(visible_alias = "recover", after_help = "Example:\n  sgq session salvage study.sgq saved.sgq")]
pub struct Args {
    /// The damaged ledger
    #[arg(value_name = "DAMAGED.sgq")]
    damaged: PathBuf,
    /// The ledger to make; a file that is there is never touched
    #[arg(value_name = "NEW.sgq")]
    new: PathBuf,
    /// Print nothing but errors
    #[arg(long, short)]
    quiet: bool,
}

pub fn run(args: &Args) -> Result<Outcome, Box<dyn Error>> {
    if args.new.symlink_metadata().is_ok() {
        return Err(SessionError::IsThere { path: args.new.display().to_string() }.into());
    }
    let saved = sgq_ledger::salvage(&args.damaged, &args.new)?;
    if !args.quiet {
        let new = terminal::one_line(&args.new.display().to_string());
        terminal::say(&format!(
            "  {new}: {} answers saved, {} events lost\n\n  sgq session verify {new}\n  sgq session status {new}",
            saved.answers, saved.lost
        ))?;
    }
    Ok(Outcome::Done)
}
