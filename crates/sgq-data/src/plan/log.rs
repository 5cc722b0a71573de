//! What a clinic has answered: a line of JSON for each answer, on the disk before the answer is given out.

use std::{
    fs::{File, OpenOptions, TryLockError},
    io::{self, Read as _, Seek as _, SeekFrom, Write as _},
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{Summary, noise::Privacy};
use crate::glm::Closing;

/// Why a clinic cannot keep its log.
#[derive(Debug, Error)]
#[allow(missing_docs)] // the message says what each field is
#[non_exhaustive]
pub enum LogError {
    #[error("the log {} cannot be {what}: {error}", .path.display())]
    File { what: &'static str, path: PathBuf, error: io::Error },
    #[error("the log {} is in use by another program that answers: end that one, or give another log", .path.display())]
    InUse { path: PathBuf },
    #[error(
        "line {line} of the log {} is damaged ({what}): it counts what was answered, so take a whole copy of it, or move it away and tell the coordinator",
        .path.display()
    )]
    Damaged { path: PathBuf, line: usize, what: String },
}

/// An answer as it goes out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Given {
    pub ticket: u64,
    pub user: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<Summary>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gradient: Option<Vec<f64>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hessian: Option<Vec<f64>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub privacy: Option<Privacy>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closing: Option<Closing>,
}

impl Given {
    /// How many numbers it discloses.
    pub fn numbers(&self) -> u64 {
        let lengths = [&self.gradient, &self.hessian].into_iter().flatten().map(Vec::len).sum::<usize>();
        let closing = self.closing.as_ref().map_or(0, Closing::numbers);
        let summary = self.summary.as_ref().map_or(0, Summary::numbers);
        summary + (lengths + usize::from(self.loss.is_some()) + closing) as u64
    }
}

/// A line of the log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Entry {
    /// In milliseconds since 1970.
    pub at: u64,
    pub plan: String,
    /// What tells the file that was answered from.
    pub data: String,
    pub wants: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub point: Option<Vec<f64>>,
    /// What tells the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    pub numbers: u64,
    /// Why there is no answer, where that depends on the rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    pub answer: Given,
}

/// The log, which is locked while it is open.
#[derive(Debug)]
pub(super) struct Log {
    file: Option<(File, PathBuf)>,
    entries: Vec<Entry>,
}

impl Log {
    /// One that ends with the program.
    pub fn in_memory() -> Self {
        Self { file: None, entries: Vec::new() }
    }

    /// Opens a log, or begins one.
    pub fn open(path: &Path) -> Result<Self, LogError> {
        let failed = |what| move |error| LogError::File { what, path: path.to_owned(), error };
        let options = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path);
        let mut file = options.map_err(failed("opened"))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(LogError::InUse { path: path.to_owned() }),
            Err(TryLockError::Error(error)) => return Err(failed("locked")(error)),
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(failed("read"))?;
        let (mut entries, mut whole) = (Vec::new(), 0);
        for (index, line) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
            let end = whole + line.len();
            let is_last = end == bytes.len();
            match serde_json::from_slice(line) {
                // An editor may have taken the last line break away, and the answer was given out.
                Ok(entry) => entries.push(entry),
                // A crash in the middle of a line: its answer was not given out.
                Err(_) if is_last => break,
                Err(error) => {
                    return Err(LogError::Damaged { path: path.to_owned(), line: index + 1, what: error.to_string() });
                }
            }
            whole = end;
        }
        if whole < bytes.len() {
            file.set_len(whole as u64).and_then(|()| file.sync_data()).map_err(failed("shortened"))?;
        }
        file.seek(SeekFrom::Start(whole as u64)).map_err(failed("read"))?;
        if bytes[..whole].last().is_some_and(|byte| *byte != b'\n') {
            file.write_all(b"\n").and_then(|()| file.sync_data()).map_err(failed("written"))?;
        }
        Ok(Self { file: Some((file, path.to_owned())), entries })
    }

    /// What was answered by a plan in a user's name, in order.
    pub fn of<'l>(&'l self, plan: &'l str, user: &'l str) -> impl Iterator<Item = &'l Entry> {
        self.entries.iter().filter(move |entry| entry.plan == plan && entry.answer.user == user)
    }

    /// Puts an answer on the disk: it may be given out once this returns.
    pub fn add(&mut self, entry: Entry) -> Result<(), LogError> {
        if let Some((file, path)) = &mut self.file {
            let write = |file: &mut File| -> io::Result<()> {
                let mut line = serde_json::to_vec(&entry)?;
                line.push(b'\n');
                let before = file.stream_position()?;
                let written = file.write_all(&line).and_then(|()| file.sync_data());
                if written.is_err() {
                    // Half a line would make the next one unreadable.
                    file.set_len(before)?;
                    file.seek(SeekFrom::Start(before))?;
                }
                written
            };
            write(file).map_err(|error| LogError::File { what: "written", path: path.clone(), error })?;
        }
        self.entries.push(entry);
        Ok(())
    }
}

pub(super) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
