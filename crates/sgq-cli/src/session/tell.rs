//! `sgq session tell`: what users answered.

use std::{
    error::Error,
    fs::{self, File},
    io::{self, BufRead, BufReader, Read as _},
    path::{Path, PathBuf},
};

use sgq::session::Failure;
use sgq_ledger::{Ledger, LedgerError, Message, Rejected, Saying, Told};
use thiserror::Error;

use super::{open, whole};
use crate::{Outcome, terminal};

/// Take in the answer to a question: it is on the disk before it moves the point.
///
/// An answer that cannot be right is refused, and its question stays open. Telling the same answer again changes nothing; the answer
/// to a question that has failed is taken.
#[derive(clap::Args)]
#[command(
    allow_negative_numbers = true,
    after_help = "Example:\n  sgq session tell study.sgq 17 answer.json\n  echo '{\"gradient\": [0.5, -1]}' | sgq session tell study.sgq 17 -\n  \
                        sgq session tell study.sgq --lines answers.jsonl\n\nAn answer is {\"gradient\": [0.5, -1]} and, as it may be, \
                        \"loss\", \"hessian\" (rows, or the lower triangle), \"variance\", \"weight\", \"cost\" and \"privacy\" \
                        ({\"sensitivity\": …, \"noise\": …}). In a file of --lines each line has its \"ticket\" as well, and \
                        {\"ticket\": 17, \"error\": \"…\"} says that there is no answer."
)]
pub struct Args {
    /// The ledger
    #[arg(value_name = "STUDY.sgq")]
    file: PathBuf,
    /// The question's ticket
    #[arg(value_name = "TICKET", required_unless_present = "lines", requires = "answer", value_parser = whole::ticket)]
    ticket: Option<u64>,
    /// A JSON file with the answer, or - for the standard input
    #[arg(value_name = "ANSWER.json")]
    answer: Option<PathBuf>,
    /// A file with an answer in each line, with its ticket; or - for the standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["ticket", "answer"])]
    lines: Option<PathBuf>,
    /// Who has sent it: refused where the question is somebody else's
    #[arg(long, value_name = "NAME", allow_hyphen_values = true)]
    user: Option<String>,
    /// Take it though it is out of line with other answers: somebody has looked at it
    #[arg(long)]
    accept: bool,
    /// Print nothing but errors
    #[arg(long, short)]
    quiet: bool,
}

#[derive(Debug, Error)]
enum TellError {
    #[error("{file}: cannot be read: {error}")]
    Unreadable { file: String, error: io::Error },
    #[error("{file} is too long: no answer to this study has more than {longest} bytes")]
    TooLong { file: String, longest: u64 },
    #[error("{file}: {why}{}", if *is_open { "; its question is still open" } else { "" })]
    Refused { file: String, why: String, is_open: bool },
    #[error("{refused} of {lines} lines were refused; the questions that are still out: sgq session pending")]
    Lines { refused: u64, lines: u64 },
}

/// Longer than any answer: whatever is longer is some other file.
const LONGEST: u64 = 1 << 30;

pub fn run(args: &Args) -> Result<Outcome, Box<dyn Error>> {
    // What cannot be read is found before the ledger is opened.
    if let Some(lines) = &args.lines {
        return tell_lines(args, reader(lines)?);
    }
    let (ticket, path) = (args.ticket.unwrap_or_default(), args.answer.as_deref().unwrap_or(Path::new("-")));
    let file = shown(path);
    let mut text = String::new();
    let unreadable = |error| TellError::Unreadable { file: file.clone(), error };
    let read = reader(path)?.take(LONGEST + 1).read_to_string(&mut text).map_err(unreadable)?;
    if read as u64 > LONGEST {
        return Err(TellError::TooLong { file, longest: LONGEST }.into());
    }
    let mut ledger = open::to_write(&args.file)?;
    let sender = args.user.as_deref().map(|name| open::user(ledger.users(), name)).transpose()?;
    let is_open = ledger.pending().iter().any(|question| question.ticket == ticket);
    let refused = |why: String| TellError::Refused { file: file.clone(), why, is_open };
    let told = match Message::from_json(&text) {
        Err(nonsense) => {
            ledger.refuse(Some(ticket), sender, &Rejected::Unreadable(nonsense.why.clone()), &text)?;
            return Err(refused(nonsense.why).into());
        }
        Ok(Message { ticket: Some(named), .. }) if named != ticket => {
            let why = format!("it has the ticket {named}, and was told for {ticket}");
            ledger.refuse(Some(ticket), sender, &Rejected::Unreadable(why.clone()), &text)?;
            return Err(refused(why).into());
        }
        Ok(message) => take(&mut ledger, ticket, &message, sender, args.accept),
    };
    let told = match told {
        Err(LedgerError::Rejected(Rejected::UnknownTicket { ticket }) | LedgerError::UnknownTicket { ticket }) => {
            return Err(open::no_ticket(&ledger, ticket).into());
        }
        Err(LedgerError::Rejected(why)) => return Err(refused(why.to_string()).into()),
        told => told?,
    };
    let stands = open::stands(&ledger);
    ledger.close()?;
    if !args.quiet {
        terminal::say(&format!("  question {ticket}{told}; {stands}"))?;
    }
    Ok(Outcome::Done)
}

/// Tells what a message says, and what became of its question in words.
fn take(
    ledger: &mut Ledger,
    ticket: u64,
    message: &Message,
    sender: Option<usize>,
    accept: bool,
) -> Result<String, LedgerError> {
    let said = message.user.as_deref().map(|name| ledger.user(name)).transpose()?;
    match &message.saying {
        Saying::Answer(reply) => Ok(in_words(ledger.tell_from(ticket, reply, sender.or(said), accept)?)),
        Saying::Report(report) => Ok(in_words(ledger.tell_report(ticket, report, sender.or(said))?)),
        Saying::Error(reason) => {
            let is_out = ledger.pending().iter().any(|question| question.ticket == ticket);
            ledger.fail(ticket, Failure::new().because(reason))?;
            Ok(match is_out {
                true => format!(": failed: {reason}"),
                false => nothing_changes(ledger, ticket)?.to_owned(),
            })
        }
    }
}

fn in_words(told: Told) -> String {
    match told {
        Told::Late => ": taken, though late".to_owned(),
        Told::Known => ": told before, and nothing changes".to_owned(),
        Told::Unused => ": billed and not used: its user has left".to_owned(),
        Told::Flagged(why) => format!(": taken and flagged: {why}"),
        _ => ": taken".to_owned(),
    }
}

/// What is said of a failure of a question that is not out.
pub fn nothing_changes(ledger: &Ledger, ticket: u64) -> Result<&'static str, LedgerError> {
    Ok(match ledger.is_answered(ticket)? {
        true => " was answered already: nothing changes",
        false => " was not out: nothing changes",
    })
}

/// Each line by itself: a wrong one does not keep the others from being taken.
fn tell_lines(args: &Args, mut from: Box<dyn BufRead>) -> Result<Outcome, Box<dyn Error>> {
    let file = shown(args.lines.as_deref().unwrap_or(Path::new("-")));
    // In a pipe, whoever writes the lines may have to open the ledger first.
    from.fill_buf().map_err(|error| TellError::Unreadable { file: file.clone(), error })?;
    let mut ledger = open::to_write(&args.file)?;
    let sender = args.user.as_deref().map(|name| open::user(ledger.users(), name)).transpose()?;
    let (mut number, mut lines, mut refused, mut text) = (0_u64, 0_u64, 0_u64, String::new());
    loop {
        text.clear();
        let read = from.by_ref().take(LONGEST).read_line(&mut text);
        if read.map_err(|error| TellError::Unreadable { file: file.clone(), error })? == 0 {
            break;
        }
        number += 1;
        if text.trim().is_empty() {
            continue;
        }
        lines += 1;
        let told = match Message::from_json(&text) {
            Ok(message) => match message.ticket {
                Some(ticket) => take(&mut ledger, ticket, &message, sender, args.accept).map(|told| (ticket, told)),
                None => refuse(&mut ledger, None, sender, "it has no \"ticket\"".to_owned(), &text),
            },
            Err(nonsense) => refuse(&mut ledger, nonsense.ticket, sender, nonsense.why, &text),
        };
        match told {
            Ok((ticket, told)) if !args.quiet => terminal::say(&format!("  question {ticket}{told}"))?,
            Ok(_) => {}
            Err(
                error
                @ (LedgerError::Rejected(_) | LedgerError::UnknownTicket { .. } | LedgerError::UnknownUser { .. }),
            ) => {
                refused += 1;
                terminal::complain(&format!("{file}: line {number}: {error}"));
            }
            Err(error) => return Err(error.into()),
        }
    }
    let stands = open::stands(&ledger);
    ledger.close()?;
    if !args.quiet {
        terminal::say(&format!("  {stands}"))?;
    }
    if refused > 0 { Err(TellError::Lines { refused, lines }.into()) } else { Ok(Outcome::Done) }
}

fn refuse(
    ledger: &mut Ledger,
    ticket: Option<u64>,
    sender: Option<usize>,
    why: String,
    text: &str,
) -> Result<(u64, String), LedgerError> {
    let why = Rejected::Unreadable(why);
    ledger.refuse(ticket, sender, &why, text)?;
    Err(why.into())
}

fn reader(path: &Path) -> Result<Box<dyn BufRead>, TellError> {
    if path == Path::new("-") {
        return Ok(Box::new(BufReader::new(io::stdin())));
    }
    let unreadable = |error| TellError::Unreadable { file: shown(path), error };
    if fs::metadata(path).map_err(unreadable)?.is_dir() {
        return Err(unreadable(io::Error::new(io::ErrorKind::InvalidInput, "it is a folder")));
    }
    Ok(Box::new(BufReader::new(File::open(path).map_err(unreadable)?)))
}

fn shown(path: &Path) -> String {
    if path == Path::new("-") { "standard input".to_owned() } else { path.display().to_string() }
}
