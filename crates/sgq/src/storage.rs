//! How the table of last gradients is kept, and how much room it takes.

mod estimate;
mod room;

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::{SettingsError, problem::Rows};

pub use estimate::{Estimate, readable_bytes, readable_count};

/// How the `n × d` table of last gradients is kept: in which [`Format`], and where. Methods without a table ignore it.
///
/// ```
/// use sgq::{Format, Session, Settings, Storage, method};
///
/// let storage = Storage::from(Format::F32).in_memory();
/// let estimate = storage.estimate(1_000_000, 1_000);
/// assert_eq!(estimate.to_string(), "4.00 GB in memory: 1,000,000 users × 1,000 parameters in f32");
///
/// let settings = Settings::new(vec![0.0; 5], 100).step_size(0.1).storage(storage);
/// let session = Session::new(method::saga(), settings)?;
/// # Ok::<(), sgq::SettingsError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Storage {
    /// What is kept of each gradient.
    pub format: Format,
    /// Where.
    pub place: Place,
}

/// What is kept of each last gradient. All that is computed from the table (norms, the mean, SAGA's correction) is computed
/// from what is kept, so that a rounded row is used consistently.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Format {
    /// Every number as it was told, 8 bytes each.
    #[default]
    F64,
    /// Every number rounded to 4 bytes. An answer with a number too large for that is refused.
    F32,
    /// The numbers that are not zero of `g − l2·x`, 12 bytes each. For gradients that are sparse but for the penalty.
    ///
    /// With `l2 = 0` runs are the same as with [`F64`](Self::F64), bit for bit; a zero loses its sign.
    Sparse {
        /// The penalty `λ` that is in every told gradient; 0 where there is none.
        l2: f64,
    },
    /// One number a user, `s` of `g = s·a_i + l2·x`, where `a_i` is the user's row. For linear models of which each user holds
    /// one row: see [`Regression::scalar_storage`](crate::problem::Regression::scalar_storage). An answer of another form is
    /// refused.
    Scalars {
        /// User `i`'s row is row `i`. Shared, not copied; but snapshots hold it.
        rows: Arc<Rows>,
        /// The penalty `λ` that is in every told gradient.
        l2: f64,
    },
}

/// Where the table is kept.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Place {
    /// In memory, if the table takes at most 80% of what is available; else in a file in the system's temporary folder.
    #[default]
    Auto,
    /// In memory, or not at all.
    Memory,
    /// In a file in this folder, mapped into memory: for [`F64`](Format::F64) and [`F32`](Format::F32).
    ///
    /// Its room on the disk is reserved before anybody is asked anything. It has no name, nobody else can open it, and it is
    /// gone with the session, even with one that was killed.
    File(PathBuf),
}

impl From<Format> for Storage {
    fn from(format: Format) -> Self {
        Self { format, place: Place::Auto }
    }
}

impl Storage {
    /// The same in memory, or not at all.
    pub fn in_memory(mut self) -> Self {
        self.place = Place::Memory;
        self
    }

    /// The same in a file in a folder, which must exist.
    pub fn in_folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.place = Place::File(folder.into());
        self
    }

    /// How much room it takes for that many users and parameters, and where it would be kept just now. Nothing is allocated.
    pub fn estimate(&self, users: usize, dim: usize) -> Estimate {
        Estimate::new(self, users, dim)
    }

    /// Whether every number has its place, which is what a file can hold.
    fn is_dense(&self) -> bool {
        matches!(self.format, Format::F64 | Format::F32)
    }

    /// The folder of the file to keep that many bytes in; none where they belong in memory.
    fn folder(&self, bytes: u64) -> Option<PathBuf> {
        match &self.place {
            Place::File(folder) => Some(folder.clone()),
            Place::Auto if self.is_dense() && !room::fits_well(bytes) => Some(std::env::temp_dir()),
            _ => None,
        }
    }

    /// Refuses what makes no sense for that many users and parameters, or has no room just now. Nothing is allocated.
    pub fn check(&self, users: usize, dim: usize) -> Result<Estimate, SettingsError> {
        self.check_sense(users, dim)?;
        self.find_folder(users, dim)?;
        Ok(self.estimate(users, dim))
    }

    pub(crate) fn check_sense(&self, users: usize, dim: usize) -> Result<(), SettingsError> {
        // Users are numbered in four bytes.
        if users >= u32::MAX as usize {
            return Err(SettingsError::TooLarge { users, dim });
        }
        match &self.format {
            Format::Sparse { l2 } | Format::Scalars { l2, .. } if !(*l2 >= 0.0 && l2.is_finite()) => {
                return Err(StorageError::L2(*l2).into());
            }
            Format::Sparse { .. } if u32::try_from(dim).is_err() => return Err(SettingsError::TooLarge { users, dim }),
            Format::Scalars { rows, .. } => {
                if let Some(message) = rows.objection() {
                    return Err(StorageError::Rows { message }.into());
                }
                for (what, expected, found) in [("rows", rows.count(), users), ("parameters", rows.dim(), dim)] {
                    if expected != found {
                        return Err(SettingsError::Mismatch { what, expected, found });
                    }
                }
            }
            _ => {}
        }
        match &self.place {
            Place::File(_) if !self.is_dense() => Err(StorageError::NotInAFile.into()),
            // It is written into snapshots.
            Place::File(folder) if folder.to_str().is_none() => {
                Err(StorageError::file(folder, "its name is not in UTF-8").into())
            }
            _ => Ok(()),
        }
    }

    /// The folder of the file to keep the table in, or none where it belongs in memory; refused where there is no room.
    pub(crate) fn find_folder(&self, users: usize, dim: usize) -> Result<Option<PathBuf>, StorageError> {
        let estimate = self.estimate(users, dim);
        let available_in = |folder: &PathBuf| match folder.is_file() {
            true => Err(StorageError::file(folder, "it is not a folder")),
            false => fs4::available_space(folder).map_err(|error| StorageError::file(folder, error)),
        };
        let disk = estimate.folder.as_ref().map(available_in).transpose()?;
        let in_memory = estimate.besides.saturating_add(if disk.is_some() { 0 } else { estimate.table });
        let memory = room::memory(in_memory.max(estimate.table));
        let exceeds = |needed: u64, room: Option<u64>| room.is_some_and(|room| needed > room);
        if exceeds(estimate.table, disk) || exceeds(in_memory, memory) {
            return Err(StorageError::DoesNotFit { estimate: estimate.into(), memory, disk });
        }
        Ok(estimate.folder)
    }

    /// The memory was there a moment ago.
    pub(crate) fn no_memory(&self, users: usize, dim: usize) -> StorageError {
        let estimate = self.estimate(users, dim).into();
        StorageError::DoesNotFit { estimate, memory: room::memory(u64::MAX), disk: None }
    }
}

impl fmt::Debug for Format {
    /// Without the data.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::F64 => f.write_str("F64"),
            Self::F32 => f.write_str("F32"),
            Self::Sparse { l2 } => f.debug_struct("Sparse").field("l2", l2).finish(),
            Self::Scalars { l2, .. } => f.debug_struct("Scalars").field("l2", l2).finish_non_exhaustive(),
        }
    }
}

/// Why the table of last gradients cannot be kept.
#[derive(Clone, Debug, PartialEq, Error)]
#[allow(missing_docs)] // the message says what each field is
#[non_exhaustive]
pub enum StorageError {
    #[error(
        "the table of last gradients does not fit ({estimate}): there is {}; {}",
        room_in_words(.estimate, *.memory, *.disk),
        .estimate.advice()
    )]
    DoesNotFit { estimate: Box<Estimate>, memory: Option<u64>, disk: Option<u64> },
    #[error("the table of last gradients cannot be kept in a file in {}: {error}; give another folder", .folder.display())]
    File { folder: PathBuf, error: String },
    #[error("only tables in f64 and f32 can be kept in a file: leave out the folder, or take one of these formats")]
    NotInAFile,
    #[error("the penalty of the table's format is {0}: it must be finite and not negative")]
    L2(f64),
    #[error("the rows of the table's format are not in order: {message}")]
    Rows { message: String },
}

impl StorageError {
    pub(crate) fn file(folder: &Path, error: impl fmt::Display) -> Self {
        Self::File { folder: folder.to_owned(), error: error.to_string() }
    }
}

fn room_in_words(estimate: &Estimate, memory: Option<u64>, disk: Option<u64>) -> String {
    let memory = memory.map(|bytes| format!("{} of memory", readable_bytes(bytes)));
    let folder = estimate.folder.as_deref().map(Path::display);
    let disk = disk.zip(folder).map(|(bytes, folder)| format!("{} of disk in {folder}", readable_bytes(bytes)));
    match (memory, disk) {
        (Some(memory), Some(disk)) => format!("{memory}, and {disk}"),
        (None, None) => "not enough memory".to_owned(),
        (one, other) => one.or(other).unwrap_or_default(),
    }
}
