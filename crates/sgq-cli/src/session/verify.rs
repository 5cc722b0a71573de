//! `sgq session verify`: whether a record is what it claims to be.

use std::{error::Error, path::PathBuf};

use super::open;
use crate::{Outcome, terminal};

/// Go through the whole record again, and say whether it is what it claims to be.
///
/// Every row is checked against its seal, and the session is run again from its first question: the same answers must ask the same
/// users at the same points, to the last bit. Exit code 1 where they do not.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  sgq session verify study.sgq")]
pub struct Args {
    /// The ledger
    #[arg(value_name = "STUDY.sgq")]
    file: PathBuf,
    /// Print what was found as JSON
    #[arg(long)]
    json: bool,
    /// Print nothing but what is wrong
    #[arg(long, short)]
    quiet: bool,
}

pub fn run(args: &Args) -> Result<Outcome, Box<dyn Error>> {
    let verdict = open::to_read(&args.file)?.verify()?;
    let is_sound = verdict.is_sound();
    let file = terminal::one_line(&args.file.display().to_string());
    if args.json {
        let mut json = serde_json::to_value(&verdict)?;
        json["sound"] = is_sound.into();
        terminal::say(&serde_json::to_string_pretty(&json)?)?;
    } else {
        for finding in &verdict.findings {
            terminal::complain(&format!("{}: {}", if finding.damage { "damaged" } else { "note" }, finding.words));
        }
        if is_sound && !args.quiet {
            let (events, answers) = (verdict.events, verdict.answers);
            let replays = match verdict.replays {
                true => "this version of sgq asks the same questions to the last bit",
                false => "another version of sgq has asked some of it",
            };
            terminal::say(&format!(
                "  {file} is sound: {events} events, {answers} answers, every seal right; {replays}"
            ))?;
        }
    }
    if is_sound {
        return Ok(Outcome::Done);
    }
    terminal::complain(&format!("{file} is damaged; what is intact can be saved: sgq session recover {file} NEW.sgq"));
    Ok(Outcome::Failed)
}
