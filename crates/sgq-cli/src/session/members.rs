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
    #[arg(long, value_name = "WORDS", allow_hyphen_values = true)]
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
        "leave" => "Its answers are not used any more, not even if it joins again. What it was paid stays paid.",
        _ => "Nothing is known of it: its answers from before are not used, and it is asked anew.",
    };
    format!(
        "Example:\n  sgq session {verb} study.sgq clinic-7 --reason \"holidays\"\n\n{more}\n\nA name that begins with a dash \
         stands after --, at the end: sgq session {verb} study.sgq -- -dash"
    )
}

pub fn run(args: &Args, change: Change) -> Result<Outcome, Box<dyn Error>> {
    let mut ledger = open::to_write(&args.file)?;
    // A slip in one name changes nobody.
    let users = args.users.iter().map(|name| open::user(ledger.users(), name)).collect::<Result<Vec<usize>, _>>()?;
    let reason = args.reason.as_deref();
    for (user, name) in users.into_iter().zip(&args.users) {
        let session = ledger.session();
        let (is_away, has_left) = (session.is_away(user), session.has_left(user));
        let answers = ledger.accounts().get(user).map_or(0, |account| account.answers);
        let unused = match answers {
            0 => String::new(),
            1 => "; the answer that it has given is not used any more".to_owned(),
            more => format!("; the {more} answers that it has given are not used any more"),
        };
        let words = match change {
            Change::Away if is_away => "was away already".to_owned(),
            Change::Back if !is_away && session.stop_reason().is_none() => "was not away".to_owned(),
            Change::Leave if has_left => "had left already".to_owned(),
            Change::Join if !has_left => "had not left".to_owned(),
            Change::Away => {
                ledger.away(user, reason).map(|()| "is away, and is not asked until it is back".to_owned())?
            }
            Change::Back => ledger.back(user, reason).map(|()| "is back, and can be asked".to_owned())?,
            Change::Leave => ledger.leave(user, reason).map(|()| format!("has left{unused}"))?,
            Change::Join => ledger.join(user, reason).map(|()| format!("is part of it again{unused}"))?,
        };
        if !args.quiet {
            terminal::say(&format!("  {}: {words}", terminal::one_line(name)))?;
        }
    }
    ledger.close()?;
    Ok(Outcome::Done)
}
