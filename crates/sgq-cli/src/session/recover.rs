//! `sgq session recover`: what is intact of a damaged ledger.

use std::{
    error::Error,
    path::{Path, PathBuf},
};

use super::open::SessionError;
use crate::{Outcome, terminal};

/// Lists of tickets are cut here.
const TICKETS_SHOWN: usize = 20;

/// Save what is intact of a damaged ledger into a new one. The damaged one is not touched.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  sgq session recover study.sgq saved.sgq")]
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
    let saved = sgq_ledger::recover(&args.damaged, &args.new)?;
    if !args.quiet {
        let shown = |path: &Path| terminal::one_line(&path.display().to_string());
        let (new, answers, lost) = (shown(&args.new), saved.answers, saved.lost);
        let lost = match saved.is_loss_known {
            true => format!("{lost} events lost"),
            false => format!(
                "at least {lost} events lost: how many there were is not known without {}-lock",
                shown(&args.damaged)
            ),
        };
        let tickets: Vec<String> = saved.lost_answers.iter().take(TICKETS_SHOWN).map(u64::to_string).collect();
        let again = match (tickets.is_empty(), saved.lost_answers.len() > TICKETS_SHOWN) {
            (true, _) => String::new(),
            (_, more) => format!(
                "\n  answers that had come and are lost can be told again, by ticket: {}{}",
                tickets.join(", "),
                if more { " …" } else { "" }
            ),
        };
        terminal::say(&format!(
            "  {new}: {answers} answers saved, {lost}{again}\n\n  sgq session verify {new}\n  sgq session status {new}"
        ))?;
    }
    Ok(Outcome::Done)
}
