//! One writer at a time, and who it is.

use std::{
    fmt,
    fs::{File, OpenOptions, TryLockError},
    io::{Read as _, Seek as _, Write as _},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use crate::{LedgerError, event};

/// Who writes to a ledger.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
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

/// The lock, which ends with the process that holds it, however that ends. Its file stays: to remove it would let two programs lock
/// two files of the same name.
#[derive(Debug)]
pub(crate) struct Lock {
    file: File,
    process: u32,
}

impl Lock {
    pub fn take(ledger: &Path) -> Result<Self, LedgerError> {
        let path = beside(ledger, "-lock");
        let failed = |error| LedgerError::file(&path, error);
        let options = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
        let mut file = options.map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut text = String::new();
                let _ = file.read_to_string(&mut text);
                let holder = serde_json::from_str(&text).unwrap_or_default();
                return Err(LedgerError::InUse { path: ledger.into(), holder });
            }
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        let words = serde_json::to_vec(&Holder::this_process())?;
        // Who holds it is for people; a full disk must not keep anybody from reading what is there.
        let _ = file.set_len(0).and_then(|()| file.rewind()).and_then(|()| file.write_all(&words));
        Ok(Self { file, process: std::process::id() })
    }

    /// A program that makes a copy of itself (`fork`, as Python's pools of processes do) gives it the lock as well.
    pub fn is_of_this_process(&self) -> bool {
        self.process == std::process::id()
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Closing the file would not do while a copy of this program has it open; and a copy must not give away what is not its own.
        if self.is_of_this_process() {
            let _ = self.file.unlock();
        }
    }
}

/// A file whose name begins with that of the ledger.
pub(crate) fn beside(ledger: &Path, end: &str) -> PathBuf {
    let mut name = ledger.as_os_str().to_owned();
    name.push(end);
    name.into()
}
