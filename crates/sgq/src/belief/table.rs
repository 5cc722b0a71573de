//! The n×d table of last gradients.

use std::{borrow::Cow, fmt, sync::Arc};

use super::points::Points;
use crate::{Format, SettingsError, Storage, TellError, kernel, problem::Rows, storage::StorageError};

mod aligned;
mod mapped;
mod numbers;
mod saved;
mod scalar;
mod sparse;

use aligned::Aligned;
use numbers::{NoRoom, Numbers, zeros};
use sparse::SparseRow;

/// One row of numbers for each user.
///
/// A part of a row that follows from the point where it was taken need not be kept: whoever reads a row gives the points.
#[derive(Clone, PartialEq)]
pub(super) struct Table {
    users: usize,
    dim: usize,
    storage: Storage,
    kept: Kept,
}

/// What is kept of the rows, by the storage's format.
#[derive(Clone, PartialEq)]
enum Kept {
    F64(Numbers<f64>),
    F32(Numbers<f32>),
    Sparse {
        l2: f64,
        rows: Vec<SparseRow>,
    },
    Scalars {
        l2: f64,
        data: Arc<Rows>,
        scalars: Vec<f64>,
    },
    /// Nothing: a snapshot's table, for which this machine has no room.
    Missing(StorageError),
}

impl Default for Table {
    fn default() -> Self {
        let kept = Kept::F64(Numbers::Small(Aligned::default()));
        Self { users: 0, dim: 0, storage: Storage::default(), kept }
    }
}

impl fmt::Debug for Table {
    /// Without the rows, which may be gigabytes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { users, dim, storage, .. } = self;
        f.debug_struct("Table")
            .field("users", users)
            .field("dim", dim)
            .field("storage", storage)
            .finish_non_exhaustive()
    }
}

impl Table {
    /// Whether rows are kept as they are told.
    pub fn is_f64(&self) -> bool {
        matches!(self.kept, Kept::F64(_))
    }
}

impl Kept {
    fn zeros(users: usize, dim: usize, storage: &Storage) -> Result<Self, StorageError> {
        let folder = storage.find_folder(users, dim)?;
        let folder = folder.as_deref();
        let length = users.saturating_mul(dim);
        let no_room = |error| match (error, folder) {
            (NoRoom::File(error), Some(folder)) => StorageError::file(folder, error),
            _ => storage.no_memory(users, dim),
        };
        Ok(match &storage.format {
            Format::F64 => Self::F64(Numbers::zeros(length, folder).map_err(no_room)?),
            Format::F32 => Self::F32(Numbers::zeros(length, folder).map_err(no_room)?),
            Format::Sparse { l2 } => Self::Sparse { l2: *l2, rows: zeros(users).map_err(no_room)? },
            Format::Scalars { rows, l2 } => {
                Self::Scalars { l2: *l2, data: Arc::clone(rows), scalars: zeros(users).map_err(no_room)? }
            }
        })
    }
}

impl Table {
    pub(super) fn zeros(users: usize, dim: usize, storage: &Storage) -> Result<Self, SettingsError> {
        storage.check_sense(users, dim)?;
        Ok(Self { users, dim, storage: storage.clone(), kept: Kept::zeros(users, dim, storage)? })
    }

    /// Why there is none, where a snapshot's table has no room.
    pub(super) fn is_there(&self) -> Result<(), StorageError> {
        match &self.kept {
            Kept::Missing(error) => Err(error.clone()),
            _ => Ok(()),
        }
    }

    /// Refuses a row that cannot be kept.
    pub(super) fn check(&self, user: usize, point: &[f64], row: &[f64]) -> Result<(), TellError> {
        match &self.kept {
            Kept::F32(_) => match row.iter().position(|value| (*value as f32).is_infinite()) {
                Some(coordinate) => Err(TellError::TooLargeForF32 { user, coordinate, value: row[coordinate] }),
                None => Ok(()),
            },
            Kept::Sparse { l2, .. } => {
                match sparse::without_penalty(*l2, point, row).position(|value| !value.is_finite()) {
                    Some(coordinate) => Err(TellError::Penalty { user, coordinate, l2: *l2 }),
                    None => Ok(()),
                }
            }
            Kept::Scalars { l2, data, .. } => match scalar::objection(data, *l2, user, point, row) {
                Some(off) => Err(TellError::NotOfOneRow { user, l2: *l2, off }),
                None => Ok(()),
            },
            Kept::F64(_) | Kept::Missing(_) => Ok(()),
        }
    }

    /// Replaces a row.
    pub(super) fn set(&mut self, user: usize, point: &[f64], row: &[f64]) {
        let range = user * self.dim..(user + 1) * self.dim;
        match &mut self.kept {
            Kept::F64(numbers) => numbers.get_mut()[range].copy_from_slice(row),
            Kept::F32(numbers) => {
                for (kept, value) in numbers.get_mut()[range].iter_mut().zip(row) {
                    *kept = *value as f32;
                }
            }
            Kept::Sparse { l2, rows } => rows[user] = SparseRow::new(*l2, point, row),
            Kept::Scalars { l2, data, scalars } => scalars[user] = scalar::of(data, *l2, user, point, row),
            Kept::Missing(_) => {}
        }
    }

    /// A row as it is kept.
    pub(super) fn row(&self, user: usize, points: &Points) -> Cow<'_, [f64]> {
        let range = user * self.dim..(user + 1) * self.dim;
        match &self.kept {
            Kept::F64(numbers) => Cow::Borrowed(&numbers.get()[range]),
            Kept::F32(numbers) => numbers.get()[range].iter().map(|value| f64::from(*value)).collect(),
            Kept::Sparse { l2, rows } => {
                let mut row = sparse::penalty(*l2, points.of(user));
                rows[user].add_to(&mut row);
                row.into()
            }
            Kept::Scalars { l2, data, scalars } => scalar::row(data, *l2, user, scalars[user], points.of(user)).into(),
            Kept::Missing(_) => vec![0.0; self.dim].into(),
        }
    }

    /// `⟨row, vector⟩`.
    pub(super) fn dot(&self, user: usize, points: &Points, vector: &[f64]) -> f64 {
        let range = user * self.dim..(user + 1) * self.dim;
        let mut out = [0.0];
        match &self.kept {
            Kept::F64(numbers) => kernel::dot_with_rows(&numbers.get()[range], vector, &mut out),
            Kept::F32(numbers) => kernel::dot_with_short_rows(&numbers.get()[range], vector, &mut out),
            Kept::Sparse { l2: 0.0, rows } => return rows[user].dot(vector),
            _ => kernel::dot_with_rows(&self.row(user, points), vector, &mut out),
        }
        out[0]
    }

    /// `⟨row, vector⟩` of every row: the bits of [`dot`](Self::dot), faster.
    pub(super) fn dot_with_rows(&self, points: &Points, vector: &[f64], out: &mut [f64]) {
        match &self.kept {
            Kept::F64(numbers) => kernel::dot_with_rows(numbers.get(), vector, out),
            Kept::F32(numbers) => kernel::dot_with_short_rows(numbers.get(), vector, out),
            _ => {
                for (user, out) in out.iter_mut().enumerate() {
                    *out = self.dot(user, points, vector);
                }
            }
        }
    }
}
