//! Which Python exception each error of the library becomes.

use std::{fmt, io};

use pyo3::{
    PyErr,
    exceptions::{PyMemoryError, PyOSError, PyPermissionError, PyRuntimeError, PyTypeError, PyValueError},
};
use sgq::{
    ChoiceError, SettingsError, TellError,
    drive::DriveError,
    session::{EarlierError, MemberError, RestoreError},
    storage::StorageError,
};
use sgq_data::{
    InFile, ReadError,
    plan::{ClinicError, LogError, PlanError},
};
use sgq_ledger::{LedgerError, Rejected};

/// Exceptions that are written in Python.
mod python {
    #![allow(missing_docs)] // each says what it is there
    pyo3::import_exception!(sgq._record, LedgerError);
    pyo3::import_exception!(sgq._record, LedgerInUse);
    pyo3::import_exception!(sgq._record, LedgerDamaged);
}

pub fn settings(error: SettingsError) -> PyErr {
    match error {
        SettingsError::Storage(StorageError::DoesNotFit { .. }) => PyMemoryError::new_err(error.to_string()),
        SettingsError::Storage(StorageError::File { .. }) => PyOSError::new_err(error.to_string()),
        _ => PyValueError::new_err(error.to_string()),
    }
}

pub fn tell(error: TellError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

pub fn choice(error: ChoiceError) -> PyErr {
    PyRuntimeError::new_err(error.to_string())
}

pub fn member(error: MemberError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

pub fn restore(error: RestoreError) -> PyErr {
    match error {
        RestoreError::Settings(error) => settings(error),
        _ => PyValueError::new_err(error.to_string()),
    }
}

pub fn earlier(error: EarlierError) -> PyErr {
    match error {
        EarlierError::Settings(error) => settings(error),
        _ => PyValueError::new_err(error.to_string()),
    }
}

pub fn drive(error: DriveError) -> PyErr {
    match error {
        DriveError::Choice(error) => choice(error),
        DriveError::Tell(error) => tell(error),
        _ => PyRuntimeError::new_err(error.to_string()),
    }
}

/// What an operating system calls a full disk.
const NO_SPACE: i32 = 28;

pub fn ledger(error: LedgerError) -> PyErr {
    let mut words = error.to_string();
    match &error {
        LedgerError::Rejected(Rejected::OutOfLine(why)) => {
            words = format!("{why}; if it is right, tell it with accepted=True");
        }
        error if words.contains("sgq session recover") => {
            let file =
                error.to_recover().map_or("damaged".to_owned(), |path| format!("{:?}", path.display().to_string()));
            words += &format!("; from Python: sgq.recover({file}, \"new.sgq\")");
        }
        _ => {}
    }
    match error {
        // A missing file is a FileNotFoundError, and so on.
        LedgerError::File { error, .. } => io::Error::new(error.kind(), words).into(),
        error if error.is_full_disk() => PyOSError::new_err((NO_SPACE, words)),
        LedgerError::CannotMake { kind, .. } => io::Error::new(kind, words).into(),
        LedgerError::Storage { .. } => PyOSError::new_err(words),
        LedgerError::InUse { holder, .. } if holder.process == std::process::id() => {
            python::LedgerInUse::new_err(format!("{words}. It is this program itself: close() the session that has it"))
        }
        LedgerError::InUse { .. } => python::LedgerInUse::new_err(words),
        LedgerError::Damaged { .. }
        | LedgerError::LostLog { .. }
        | LedgerError::LostEvents { .. }
        | LedgerError::LostFacts { .. }
        | LedgerError::Json(_) => python::LedgerDamaged::new_err(words),
        LedgerError::ReadOnly { .. } => PyPermissionError::new_err(words),
        LedgerError::Settings(error) => settings(error),
        LedgerError::Choice(error) => choice(error),
        LedgerError::NotALedger { .. }
        | LedgerError::Newer { .. }
        | LedgerError::OldToRead { .. }
        | LedgerError::Stale
        | LedgerError::Forked { .. } => python::LedgerError::new_err(words),
        LedgerError::Snapshot(_) => PyRuntimeError::new_err(words),
        _ => PyValueError::new_err(words),
    }
}

/// A session that nothing can be told any more.
pub fn not_open(why: &str) -> PyErr {
    let words = format!("the ledger {why}, and is only there to be looked at: sgq.open(its path) goes on with it");
    python::LedgerError::new_err(words)
}

/// What only a session on a file can do.
pub fn no_ledger() -> PyErr {
    PyTypeError::new_err("the session is in memory alone: sgq.open makes one on a file")
}

/// A copy of a session on a file would ask questions that the file knows nothing of.
pub fn not_to_be_copied() -> PyErr {
    PyTypeError::new_err(
        "a session on a file is not to be copied or pickled: its file is all of it, and sgq.open goes on with that",
    )
}

/// A ledger of which only a study has what was asked for.
pub fn of_no_plan(path: &std::path::Path) -> PyErr {
    PyValueError::new_err(format!(
        "{} is of no plan, and has no coefficients with names: `point` is where it stands",
        path.display()
    ))
}

/// What everybody has agreed to, and cannot be read.
pub fn plan(error: PlanError) -> PyErr {
    let words = error.to_string();
    match error {
        PlanError::Unreadable { cause, .. } => io::Error::new(cause.kind(), words).into(),
        _ => PyValueError::new_err(words),
    }
}

/// A clinic that cannot answer at all.
pub fn clinic(error: ClinicError) -> PyErr {
    let words = error.to_string();
    match error {
        ClinicError::File(InFile { error: ReadError::Io(error), .. })
        | ClinicError::Log(LogError::File { error, .. }) => io::Error::new(error.kind(), words).into(),
        ClinicError::Log(LogError::InUse { .. }) => PyRuntimeError::new_err(words),
        _ => PyValueError::new_err(words),
    }
}

/// A study of which nobody knows yet how many parameters it has.
pub fn no_point() -> PyErr {
    PyValueError::new_err("the study has no point yet: not everybody has answered the first question")
}

/// Settings that are not those of the file.
pub fn differs(path: &std::path::Path, differences: &[impl fmt::Display]) -> PyErr {
    let listed: Vec<String> = differences.iter().map(ToString::to_string).collect();
    PyValueError::new_err(format!(
        "{} was made with other settings: {}; give the same ones, or its path alone, and `extend` what it is to have more of",
        path.display(),
        listed.join("; ")
    ))
}
