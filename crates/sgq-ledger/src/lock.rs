//! One writer at a time, and who it is.

use std::{
    fmt,
    fs::{File, OpenOptions, TryLockError},
    io::{self, Read as _, Seek as _, Write as _},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use crate::{LedgerError, event};

/// Who writes to a ledger.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Holder {
    /// The number of its process.
    pub process: u32,
    /// The machine it runs on, where that is known.
    pub machine: String,
    /// Since when, in milliseconds since 1970.
    pub since: i64,
}

impl Holder {
    fn this_process() -> Self {
        let machine = std::fs::read_to_string("/proc/sys/kernel/hostname");
        let machine =
            machine.ok().or_else(|| std::env::var("COMPUTERNAME").ok()).or_else(|| std::env::var("HOSTNAME").ok());
        Self {
            process: std::process::id(),
            machine: machine.map(|name| name.trim().to_owned()).unwrap_or_default(),
            since: event::now(),
        }
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { process, machine, since } = self;
        if *process == 0 {
            return f.write_str("another program");
        }
        write!(f, "process {process}")?;
        if !machine.is_empty() {
            write!(f, " on {machine}")?;
        }
        write!(f, " since {}", event::time(*since))
    }
}

/// How far a record was when its last event was safely on the disk. It stands beside the ledger, and tells whether events were lost:
/// SQLite itself takes a damaged log for one that ends there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Mark {
    /// The seal of the ledger's facts: a file of the same name may be another ledger.
    pub ledger: String,
    /// The number of the last event.
    pub events: i64,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Content {
    #[serde(flatten)]
    holder: Holder,
    mark: Option<Mark>,
}

/// The lock, which ends with the process that holds it, however that ends. Its file stays: to remove it would let two programs lock
/// two files of the same name.
#[derive(Debug)]
pub(crate) struct Lock {
    file: File,
    content: Content,
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Closing the file would not do while a copy of this program has it open; and a copy must not give away what is not its own.
        if self.is_of_this_process() {
            let _ = self.file.unlock();
        }
    }
}

impl Lock {
    pub fn take(ledger: &Path) -> Result<Self, LedgerError> {
        let path = beside(ledger, "-lock");
        let failed = |error: io::Error| match error.kind() {
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                LedgerError::ReadOnly { path: ledger.into() }
            }
            _ => LedgerError::file(&path, error),
        };
        let options = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
        let mut file = options.map_err(failed)?;
        let locked = file.try_lock();
        let mut text = String::new();
        // What it says is for people, and a help: without it, nothing is known.
        let _ = file.read_to_string(&mut text);
        let content: Content = serde_json::from_str(&text).unwrap_or_default();
        match locked {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(LedgerError::InUse { path: ledger.into(), holder: content.holder });
            }
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        let mut lock = Self { file, content: Content { holder: Holder::this_process(), ..content } };
        lock.write();
        Ok(lock)
    }

    /// A program that makes a copy of itself (`fork`, as Python's pools of processes do) gives it the lock as well.
    pub fn is_of_this_process(&self) -> bool {
        self.content.holder.process == std::process::id()
    }

    /// How far the record was, as far as that is known.
    pub fn mark(&self) -> Option<&Mark> {
        self.content.mark.as_ref()
    }

    pub fn set_mark(&mut self, mark: Mark) {
        self.content.mark = Some(mark);
        self.write();
    }

    /// A full disk must not keep anybody from reading what is in the ledger: what cannot be written here is left out.
    fn write(&mut self) {
        let Ok(mut text) = serde_json::to_vec(&self.content) else {
            return;
        };
        // It is never shortened, so that whoever reads it meanwhile finds all of it.
        text.resize(text.len().next_multiple_of(512), b' ');
        let _ = self.file.rewind().and_then(|()| self.file.write_all(&text));
    }
}

/// How far a record was, as the file beside it says; for whoever does not write.
pub(crate) fn mark_beside(ledger: &Path) -> Option<Mark> {
    let text = std::fs::read_to_string(beside(ledger, "-lock")).ok()?;
    serde_json::from_str::<Content>(&text).ok()?.mark
}

/// A file whose name begins with that of the ledger.
pub(crate) fn beside(ledger: &Path, end: &str) -> PathBuf {
    let mut name = ledger.as_os_str().to_owned();
    name.push(end);
    name.into()
}
