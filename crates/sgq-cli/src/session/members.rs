//! `sgq session away`, `back`, `leave` and `join`: who can be asked, and who is part of the study.

use std::{error::Error, path::PathBuf};

use super::open;
use crate::{Outcome, terminal};

#[derive(clap::Args)]
pub struct Args {
    /// The ledger
    #[arg(value_name = "STUDY.sgq")]
    file: PathBuf,
    /// Their names
    #[arg(value_name = "USER", required = true)]
    users: Vec<String>,
    /// Why, for the record
    #[arg(long, value_name = "WORDS")]
    reason: Option<String>,
    /// Print nothing but errors
    #[arg(long, short)]
    quiet: bool,
}

#[derive(Clone, Copy)]
pub enum Change {
    Away,
    Back,
    Leave,
    Join,
}

/// What stands under the help of a verb.
pub fn example(verb: &str) -> String {
    let more = match verb {
        "away" => "A question that is out to it stays out: sgq session fail says that it will not be answered.",
        "back" => "A session that stopped because nobody could be asked goes on.",
        "leave" => "Its answers no longer count. What it was paid stays paid.",
        _ => "Its answers from before count again.",
    };
    format!("Example:\n  sgq session {verb} study.sgq clinic-7 --reason \"holidays\"\n\n{more}")
}

pub fn run(args: &Args, change: Change) -> Result<Outcome, Box<dyn Error>> {
    let mut ledger = open::to_write(&args.file)?;
    // A slip in one name changes nobody.
    let users = args.users.iter().map(|name| open::user(ledger.users(), name)).collect::<Result<Vec<usize>, _>>()?;
    let reason = args.reason.as_deref();
    for (user, name) in users.into_iter().zip(&args.users) {
        let session = ledger.session();
        let (is_away, has_left) = (session.is_away(user), session.has_left(user));
        let words = match change {
            Change::Away if is_away => "was away already",
            Change::Back if !is_away && session.stop_reason().is_none() => "was not away",
            Change::Leave if has_left => "had left already",
            Change::Join if !has_left => "had not left",
            Change::Away => ledger.away(user, reason).map(|()| "is away, and is not asked until it is back")?,
            Change::Back => ledger.back(user, reason).map(|()| "is back, and can be asked")?,
            Change::Leave => ledger.leave(user, reason).map(|()| "has left")?,
            Change::Join => ledger.join(user, reason).map(|()| "is part of it again")?,
        };
        if !args.quiet {
            terminal::say(&format!("  {}: {words}", terminal::one_line(name)))?;
        }
    }
    ledger.close()?;
    Ok(Outcome::Done)
}
