//! What can go wrong, and what to do then.

use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;
use sgq::{ChoiceError, MemberError, SettingError, SettingsError, method::ComposeError, session::SnapshotError};
use thiserror::Error;

use crate::Holder;

/// Why a ledger could not be opened, or an event not be recorded.
#[derive(Debug, Error)]
#[allow(missing_docs)] // the message says what each field is
#[non_exhaustive]
pub enum LedgerError {
    #[error("{}: {error}", .path.display())]
    File { path: PathBuf, error: std::io::Error },
    #[error(
        "{0} is no ledger of sgq: sgq session new makes one; if it was one, sgq session recover {0} NEW.sgq saves what is intact",
        .path.display()
    )]
    NotALedger { path: PathBuf },
    #[error(
        "{0} or its folder is read-only, and a session writes: make both writable, or copy {0} to where they are; sgq session status \
         and verify only read",
        .path.display()
    )]
    ReadOnly { path: PathBuf },
    #[error("{} cannot be made: {why}", .path.display())]
    CannotMake { path: PathBuf, kind: std::io::ErrorKind, why: &'static str },
    #[error("{} was written by a later version of sgq (layout {version}): install that one", .path.display())]
    Newer { path: PathBuf, version: i32 },
    #[error(
        "{0} has the layout of an earlier version ({version}): open it once to write, which brings it up to date: sgq session \
         status {0} --upgrade",
        .path.display()
    )]
    OldToRead { path: PathBuf, version: i32 },
    #[error("{} is in use by {holder}: only one program at a time may write to a ledger; wait, or stop that one", .path.display())]
    InUse { path: PathBuf, holder: Holder },
    #[error(
        "{} was being written to when its program ended, and its log {}-wal is missing: answers may be lost; put the log back beside \
         it, or go on without: sgq session recover {0} NEW.sgq",
        .path.display(), .path.display()
    )]
    LostLog { path: PathBuf },
    #[error(
        "{0} ends at event {has}, and {had} were written: its log {0}-wal is damaged, or this is an old copy; put the right files \
         back, or go on without what is lost: sgq session recover {0} NEW.sgq",
        .path.display()
    )]
    LostEvents { path: PathBuf, has: i64, had: i64 },
    #[error(
        "{} is damaged in both places that say its method, its settings and its users, and answers are of no use without: only a copy \
         of the file helps",
        .path.display()
    )]
    LostFacts { path: PathBuf },
    #[error(
        "the record{0} is damaged: {what}; put a copy back, or save what is intact: sgq session recover {1} NEW.sgq",
        .path.as_ref().map(|path| format!(" of {}", path.display())).unwrap_or_default(),
        .path.as_deref().unwrap_or(Path::new("FILE.sgq")).display()
    )]
    Damaged { path: Option<PathBuf>, what: String },
    #[error("{} ({error}); nothing that was answered before is lost: {}, and open the ledger again", wrong(.error), remedy(.error))]
    Storage { error: rusqlite::Error },
    #[error("an earlier error left the session behind its record: open the ledger again")]
    Stale,
    #[error("{} was opened by the process that this one is a copy of: open it in one of them, after they part", .path.display())]
    Forked { path: PathBuf },
    #[error("the user {name:?} is not in the ledger; its users are {}", listed(.names))]
    UnknownUser { name: String, names: Vec<String> },
    #[error("{what}")]
    Users { what: String },
    #[error(
        "the first answers lead to no model: {what}; whoever puts its file right gives its first answer anew once it has left and joined \
         again (sgq session leave, then join)"
    )]
    Disagree { what: String },
    #[error("the method {method:?} has parts of its own, which no ledger can name: use built-in parts")]
    OwnParts { method: String },
    #[error("the question with ticket {ticket} is not in the ledger")]
    UnknownTicket { ticket: u64 },
    #[error("{name:?} cannot be asked again: {why}")]
    Spent { name: String, why: String },
    #[error("the protection of users makes no sense: {what}")]
    Protection { what: String },
    #[error("what the ledger holds cannot be read: {0}")]
    Json(#[from] serde_json::Error),
    #[error(transparent)]
    Rejected(#[from] Rejected),
    #[error(transparent)]
    Settings(#[from] SettingsError),
    #[error(transparent)]
    Setting(#[from] SettingError),
    #[error(transparent)]
    Compose(#[from] ComposeError),
    #[error(transparent)]
    Choice(#[from] ChoiceError),
    #[error(transparent)]
    Member(#[from] MemberError),
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
}

/// Why an answer was not taken. It is recorded, and nothing was billed. A question that was out still is.
#[derive(Clone, Debug, PartialEq, Error)]
#[allow(missing_docs)] // the message says what each field is
#[non_exhaustive]
pub enum Rejected {
    #[error("no question has the ticket {ticket}")]
    UnknownTicket { ticket: u64 },
    #[error("the question with ticket {ticket} is for {right}, and not for {wrong}")]
    OtherUser { ticket: u64, right: String, wrong: String },
    #[error("{0}")]
    Unreadable(String),
    #[error("{0}")]
    Answer(String),
    #[error("{0}")]
    Earlier(String),
    #[error("{0}; accept it by hand if it is right (sgq session tell --accept)")]
    OutOfLine(String),
}

impl LedgerError {
    /// Whether there is no room left on the disk.
    pub fn is_full_disk(&self) -> bool {
        match self {
            Self::Storage { error } => error.sqlite_error_code() == Some(rusqlite::ErrorCode::DiskFull),
            Self::File { error, .. } => error.kind() == std::io::ErrorKind::StorageFull,
            Self::CannotMake { kind, .. } => *kind == std::io::ErrorKind::StorageFull,
            _ => false,
        }
    }

    /// The same where a ledger was to be made.
    pub(crate) fn of_new(self, path: &Path) -> Self {
        use std::io::ErrorKind;
        let because = |kind, why| Self::CannotMake { path: path.into(), kind, why };
        match self {
            Self::ReadOnly { .. } => because(ErrorKind::ReadOnlyFilesystem, "its folder is read-only"),
            _ if self.is_full_disk() => because(ErrorKind::StorageFull, "the disk is full: make room"),
            Self::File { error, .. } if error.kind() == ErrorKind::NotFound => {
                because(ErrorKind::NotFound, "its folder is not there: make it first")
            }
            error => error,
        }
    }

    pub(crate) fn file(path: &Path, error: std::io::Error) -> Self {
        Self::File { path: path.into(), error }
    }

    pub(crate) fn damaged(what: impl Into<String>) -> Self {
        Self::Damaged { path: None, what: what.into() }
    }

    /// The same with the file that it is about, where it does not say so.
    pub(crate) fn of(self, file: &Path) -> Self {
        match self {
            Self::Damaged { path: None, what } => Self::Damaged { path: Some(file.into()), what },
            Self::Json(error) => {
                Self::Damaged { path: Some(file.into()), what: format!("what it holds cannot be read: {error}") }
            }
            error => error,
        }
    }

    /// The file that can be recovered, where that is the remedy.
    pub fn to_recover(&self) -> Option<&Path> {
        match self {
            Self::Damaged { path, .. } => path.as_deref(),
            Self::NotALedger { path } | Self::LostLog { path } | Self::LostEvents { path, .. } => Some(path),
            _ => None,
        }
    }
}

impl From<rusqlite::Error> for LedgerError {
    fn from(error: rusqlite::Error) -> Self {
        use ErrorCode::{DatabaseCorrupt, NotADatabase};
        match (&error, error.sqlite_error_code()) {
            (rusqlite::Error::SqliteFailure(failure, _), _) if failure.extended_code == IOERR_SHORT_READ => {
                Self::damaged("the file is shorter than it was")
            }
            (_, Some(DatabaseCorrupt | NotADatabase)) => {
                Self::damaged(format!("the file is not what SQLite wrote ({error})"))
            }
            (rusqlite::Error::SqlInputError { .. }, _) => {
                Self::damaged(format!("its tables are not those of a ledger ({error})"))
            }
            (_, Some(_)) => Self::Storage { error },
            // A value of another kind than every program has written.
            (_, None) => Self::damaged(error.to_string()),
        }
    }
}

/// SQLite's extended code for a page that a file should have and has not.
const IOERR_SHORT_READ: i32 = 522;

fn wrong(error: &rusqlite::Error) -> &'static str {
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => "the disk is full",
        Some(ErrorCode::ReadOnly) => "the ledger or its folder is read-only",
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => "another program works on the file",
        _ => "the disk refused",
    }
}

fn remedy(error: &rusqlite::Error) -> &'static str {
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => "make room",
        Some(ErrorCode::ReadOnly) => "make both writable",
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => "stop that one",
        _ => "see whether the disk is there, has room, and lets files be so large",
    }
}

fn listed(names: &[String]) -> String {
    const SHOWN: usize = 10;
    let more = names.len().saturating_sub(SHOWN);
    let shown = names.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join(", ");
    if more == 0 { shown } else { format!("{shown} and {more} more") }
}
