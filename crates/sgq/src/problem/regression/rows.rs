//! Rows of features, dense or sparse.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::kernel;

/// Filling the lanes of the kernel does not pay for fewer numbers in a row.
const FEW: usize = 16;

/// A matrix with a row for each observation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Rows {
    /// Every number, row by row.
    Dense {
        /// Numbers in a row.
        dim: usize,
        /// The numbers.
        values: Vec<f64>,
    },
    /// Only the numbers that are not zero (compressed sparse rows).
    Sparse {
        /// Numbers in a row, zeros included.
        dim: usize,
        /// Row `r` is at `starts[r]..starts[r + 1]` of the other two.
        starts: Vec<usize>,
        /// The column of each number, rising within a row.
        columns: Vec<u32>,
        /// The numbers.
        values: Vec<f64>,
    },
}

impl Rows {
    /// Numbers in a row, `d`.
    pub fn dim(&self) -> usize {
        match self {
            Self::Dense { dim, .. } | Self::Sparse { dim, .. } => *dim,
        }
    }

    /// How many rows.
    pub fn count(&self) -> usize {
        match self {
            Self::Dense { dim, values } => values.len().checked_div(*dim).unwrap_or(0),
            Self::Sparse { starts, .. } => starts.len().saturating_sub(1),
        }
    }

    /// The rows with these numbers, in that order.
    ///
    /// # Panics
    ///
    /// Like indexing a slice, for a row that does not exist.
    pub fn in_order(&self, order: &[usize]) -> Self {
        match self {
            Self::Dense { dim, values } => {
                let rows = order.iter().flat_map(|row| &values[row * dim..][..*dim]);
                Self::Dense { dim: *dim, values: rows.copied().collect() }
            }
            Self::Sparse { dim, starts, columns, values } => {
                let picked = || order.iter().map(|row| starts[*row]..starts[row + 1]);
                let mut new_starts = vec![0];
                new_starts.extend(picked().scan(0, |end, row| {
                    *end += row.len();
                    Some(*end)
                }));
                Self::Sparse {
                    dim: *dim,
                    starts: new_starts,
                    columns: picked().flat_map(|row| &columns[row]).copied().collect(),
                    values: picked().flat_map(|row| &values[row]).copied().collect(),
                }
            }
        }
    }

    /// What is wrong with the shape or the numbers, if anything.
    pub(crate) fn objection(&self) -> Option<String> {
        let numbers = match self {
            Self::Dense { dim, values } => {
                if *dim == 0 {
                    return Some("the rows have no columns: give at least one feature".into());
                }
                if values.len() % dim != 0 {
                    return Some(format!("{} numbers do not make rows of {dim}", values.len()));
                }
                values
            }
            Self::Sparse { dim, starts, columns, values } => {
                let rising = starts.first() == Some(&0) && starts.windows(2).all(|pair| pair[0] <= pair[1]);
                if !rising || starts.last() != Some(&columns.len()) || columns.len() != values.len() {
                    return Some("the starts of the sparse rows do not fit their numbers".into());
                }
                if *dim == 0 || columns.iter().any(|column| *column as usize >= *dim) {
                    return Some(format!("a sparse row has a column past the last, {dim}"));
                }
                let within_rows =
                    starts.windows(2).all(|row| columns[row[0]..row[1]].windows(2).all(|pair| pair[0] < pair[1]));
                if !within_rows {
                    return Some("the columns of a sparse row do not rise".into());
                }
                values
            }
        };
        let bad = numbers.iter().find(|value| !value.is_finite())?;
        Some(format!("a feature is {bad}: it must be finite"))
    }

    /// `⟨row, x⟩`.
    pub fn dot(&self, row: usize, x: &[f64]) -> f64 {
        match self {
            Self::Dense { dim, values } if *dim < FEW => {
                values[row * dim..][..*dim].iter().zip(x).map(|(value, x)| value * x).sum()
            }
            Self::Dense { dim, values } => kernel::dot(&values[row * dim..][..*dim], x),
            Self::Sparse { starts, columns, values, .. } => {
                let range = starts[row]..starts[row + 1];
                columns[range.clone()]
                    .iter()
                    .zip(&values[range])
                    .map(|(column, value)| value * x[*column as usize])
                    .sum()
            }
        }
    }

    /// [`dot`](Self::dot) of neighbouring rows, to the same bits.
    pub(super) fn dots(&self, rows: Range<usize>, x: &[f64]) -> Vec<f64> {
        match self {
            Self::Dense { dim, values } if *dim >= FEW => {
                let mut dots = vec![0.0; rows.len()];
                kernel::dot_with_rows(&values[rows.start * dim..rows.end * dim], x, &mut dots);
                dots
            }
            _ => rows.map(|row| self.dot(row, x)).collect(),
        }
    }

    /// `‖row‖²`.
    pub(super) fn norm_squared(&self, row: usize) -> f64 {
        match self {
            Self::Dense { dim, values } => kernel::norm_squared(&values[row * dim..][..*dim]),
            Self::Sparse { starts, values, .. } => kernel::norm_squared(&values[starts[row]..starts[row + 1]]),
        }
    }

    /// The largest number of a row, without its sign; 0 if there is none.
    pub(crate) fn largest(&self, row: usize) -> f64 {
        let numbers = match self {
            Self::Dense { dim, values } => &values[row * dim..][..*dim],
            Self::Sparse { starts, values, .. } => &values[starts[row]..starts[row + 1]],
        };
        numbers.iter().fold(0.0, |largest: f64, value| largest.max(value.abs()))
    }

    /// `out += factor · row`.
    pub fn add_scaled(&self, row: usize, factor: f64, out: &mut [f64]) {
        match self {
            Self::Dense { dim, values } => kernel::add_scaled(out, factor, &values[row * dim..][..*dim]),
            Self::Sparse { starts, columns, values, .. } => {
                let range = starts[row]..starts[row + 1];
                for (column, value) in columns[range.clone()].iter().zip(&values[range]) {
                    out[*column as usize] += factor * value;
                }
            }
        }
    }

    /// `out += factor · row rowᵀ`, the lower half of a `d × d` matrix.
    pub(super) fn add_outer(&self, row: usize, factor: f64, out: &mut [f64]) {
        let dim = self.dim();
        match self {
            Self::Dense { values, .. } => {
                let row = &values[row * dim..][..dim];
                for (k, value) in row.iter().enumerate() {
                    kernel::add_scaled(&mut out[k * dim..][..k + 1], factor * value, &row[..k + 1]);
                }
            }
            Self::Sparse { starts, columns, values, .. } => {
                let range = starts[row]..starts[row + 1];
                let (columns, values) = (&columns[range.clone()], &values[range]);
                for (k, (column, value)) in columns.iter().zip(values).enumerate() {
                    let line = &mut out[*column as usize * dim..][..dim];
                    for (other, weight) in columns[..=k].iter().zip(values) {
                        line[*other as usize] += factor * value * weight;
                    }
                }
            }
        }
    }
}
