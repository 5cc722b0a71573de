//! Opening ledgers for the verbs, and what can be wrong with what was typed.

use std::{
    error::Error,
    io,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use sgq_bench::experiment::suggestion;
use sgq_ledger::{Ledger, LedgerError, Reader, User};
use thiserror::Error;

use crate::terminal;

/// Another command that writes is waited for, but not for longer: some run for days.
const PATIENCE: Duration = Duration::from_secs(3);
const PAUSE: Duration = Duration::from_millis(50);

/// What was wrong with what was typed.
#[derive(Debug, Error)]
pub enum SessionError {
    #[error("there is no ledger {path}{hint}")]
    NoLedger { path: String, hint: String },
    #[error("{path} is there already: name another file, or go on with this one (sgq session status {path})")]
    IsThere { path: String },
    #[error("the study has no user {name:?}{hint}")]
    NoUser { name: String, hint: String },
    #[error("no question has the ticket {ticket}; {out}")]
    NoTicket { ticket: u64, out: String },
}

/// Opens a ledger to write to it. Where another command is writing, it is waited for, for a moment.
pub fn to_write(path: &Path) -> Result<Ledger, Box<dyn Error>> {
    let begun = Instant::now();
    let ledger = loop {
        match Ledger::open(path) {
            Err(LedgerError::InUse { .. }) if begun.elapsed() < PATIENCE => thread::sleep(PAUSE),
            other => break other.map_err(|error| named(path, error))?,
        }
    };
    if let Some(why) = ledger.made_anew() {
        terminal::complain(&format!(
            "note: the session was made anew from all answers, because this version of sgq would have asked otherwise ({why})"
        ));
    }
    Ok(ledger)
}

/// Opens a ledger to look at it, also while somebody writes.
pub fn to_read(path: &Path) -> Result<Reader, Box<dyn Error>> {
    Reader::open(path).map_err(|error| named(path, error))
}

/// The same for whoever would not see otherwise that something is missing.
pub fn to_look(path: &Path) -> Result<Reader, Box<dyn Error>> {
    let reader = to_read(path)?;
    if let Some(lost) = reader.lost() {
        terminal::complain(&format!("warning: {lost}"));
    }
    Ok(reader)
}

/// A ledger that is not there may have another name.
fn named(path: &Path, error: LedgerError) -> Box<dyn Error> {
    match error {
        LedgerError::File { error, .. } if error.kind() == io::ErrorKind::NotFound && !path.exists() => {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let folder = path.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."));
            let there = folder.read_dir().into_iter().flatten().filter_map(|entry| {
                let name = entry.ok()?.file_name().to_string_lossy().into_owned();
                name.ends_with(".sgq").then_some(name)
            });
            let mut there: Vec<String> = there.collect();
            there.sort();
            let hint = match there.is_empty() {
                true => ": sgq session new makes one".to_owned(),
                false => suggestion(&name, there.iter().map(String::as_str)),
            };
            SessionError::NoLedger { path: path.display().to_string(), hint }.into()
        }
        error => error.into(),
    }
}

/// A user by name.
pub fn user(users: &[User], name: &str) -> Result<usize, SessionError> {
    users.iter().position(|user| user.name == name).ok_or_else(|| {
        let hint = suggestion(name, users.iter().map(|user| &*user.name));
        SessionError::NoUser { name: name.to_owned(), hint }
    })
}

/// A ticket that nobody has given out, in words.
pub fn no_ticket(ledger: &Ledger, ticket: u64) -> SessionError {
    let out: Vec<String> = ledger.pending().iter().map(|question| question.ticket.to_string()).collect();
    let out = match out.len() {
        0 => "none is out: sgq session ask puts some".to_owned(),
        1..=10 => format!("out are {}", out.join(", ")),
        more => format!("{more} are out: sgq session pending lists them"),
    };
    SessionError::NoTicket { ticket, out }
}

/// How the session stands, in half a sentence.
pub fn stands(ledger: &Ledger) -> String {
    match ledger.stop_message() {
        Some(why) => why,
        None if ledger.queries() == 1 => "1 query so far".to_owned(),
        None => format!("{} queries so far", ledger.queries()),
    }
}
