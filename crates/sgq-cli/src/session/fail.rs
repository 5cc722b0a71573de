//! `sgq session fail`: questions that will not be answered.

use std::{
    error::Error,
    path::PathBuf,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use sgq::session::Failure;
use sgq_ledger::LedgerError;

use super::{duration, open, tell, whole};
use crate::{Outcome, terminal};

/// Say that a question will not be answered, as far as one knows.
///
/// Its user is asked again after a while, and somebody else meanwhile. An answer that comes all the same is taken.
#[derive(clap::Args)]
#[command(
    allow_negative_numbers = true,
    after_help = "Example:\n  sgq session fail study.sgq 17 --reason \"the database is down\"\n  sgq session fail study.sgq \
                        --older-than 7d --reason \"no answer in a week\""
)]
pub struct Args {
    /// The ledger
    #[arg(value_name = "STUDY.sgq")]
    file: PathBuf,
    /// The tickets of the questions
    #[arg(value_name = "TICKET", required_unless_present = "older_than", value_parser = whole::ticket)]
    tickets: Vec<u64>,
    /// All questions that have been out for longer: their lease has ended
    #[arg(long, value_name = "TIME", value_parser = duration::parse, conflicts_with = "tickets", allow_hyphen_values = true)]
    older_than: Option<Duration>,
    /// Why, for the record
    #[arg(long, value_name = "WORDS", allow_hyphen_values = true)]
    reason: Option<String>,
    /// They are paid for all the same
    #[arg(long)]
    billed: bool,
    /// Print nothing but errors
    #[arg(long, short)]
    quiet: bool,
}

pub fn run(args: &Args) -> Result<Outcome, Box<dyn Error>> {
    let mut ledger = open::to_write(&args.file)?;
    let mut tickets = args.tickets.clone();
    if let Some(age) = args.older_than {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let oldest = i64::try_from(now.saturating_sub(age).as_millis()).unwrap_or(i64::MAX);
        tickets = ledger.pending().iter().filter(|it| it.asked_at <= oldest).map(|it| it.ticket).collect();
    }
    let mut failure = Failure::new();
    (failure.reason, failure.billed) = (args.reason.as_deref(), args.billed);
    for ticket in &tickets {
        let is_out = ledger.pending().iter().any(|question| question.ticket == *ticket);
        match ledger.fail(*ticket, failure) {
            Err(LedgerError::UnknownTicket { ticket }) => return Err(open::no_ticket(&ledger, ticket).into()),
            failed => failed?,
        }
        if !args.quiet {
            let what = if is_out { ": failed" } else { tell::nothing_changes(&ledger, *ticket)? };
            terminal::say(&format!("  question {ticket}{what}"))?;
        }
    }
    if tickets.is_empty() && !args.quiet {
        terminal::say("  no question has been out for so long")?;
    }
    ledger.close()?;
    Ok(Outcome::Done)
}
