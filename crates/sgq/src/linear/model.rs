//! What is minimised: rows in one place, lent by whoever has them.

use thiserror::Error;

use crate::{
    SettingsError, kernel,
    problem::{Loss, Regression, Rows},
};

use super::sparse::Entries;

/// Rows of features that somebody else owns: [`Rows`], borrowed.
#[derive(Clone, Copy, Debug)]
pub enum RowsView<'d> {
    /// Every number, row by row.
    Dense {
        /// Numbers in a row.
        dim: usize,
        /// The numbers.
        values: &'d [f64],
    },
    /// Only the numbers that are not zero (compressed sparse rows).
    Sparse {
        /// Numbers in a row, zeros included.
        dim: usize,
        /// Row `r` is at `starts[r]..starts[r + 1]` of the other two.
        starts: &'d [usize],
        /// The column of each number, rising within a row.
        columns: &'d [u32],
        /// The numbers.
        values: &'d [f64],
    },
}

impl<'d> From<&'d Rows> for RowsView<'d> {
    fn from(rows: &'d Rows) -> Self {
        match rows {
            Rows::Dense { dim, values } => Self::Dense { dim: *dim, values },
            Rows::Sparse { dim, starts, columns, values } => Self::Sparse { dim: *dim, starts, columns, values },
        }
    }
}

impl<'d> RowsView<'d> {
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

    /// Where a row is among the numbers of all rows.
    pub(super) fn place(&self, row: usize) -> (usize, usize) {
        match self {
            Self::Dense { dim, .. } => (row * dim, *dim),
            Self::Sparse { starts, .. } => (starts[row], starts[row + 1] - starts[row]),
        }
    }

    pub(super) fn values(&self) -> &'d [f64] {
        match self {
            Self::Dense { values, .. } | Self::Sparse { values, .. } => values,
        }
    }

    /// The numbers and their columns, of sparse rows.
    pub(super) fn entries(&self) -> Entries<'d> {
        match self {
            Self::Dense { .. } => (&[], &[]),
            Self::Sparse { columns, values, .. } => (values, columns),
        }
    }

    /// `out += factor · row`.
    pub(super) fn add_scaled(&self, row: usize, factor: f64, out: &mut [f64]) {
        let (start, length) = self.place(row);
        let numbers = &self.values()[start..start + length];
        match self {
            Self::Dense { .. } => kernel::add_scaled(&mut out[..length], factor, numbers),
            Self::Sparse { columns, .. } => {
                for (column, value) in columns[start..start + length].iter().zip(numbers) {
                    out[*column as usize] += factor * value;
                }
            }
        }
    }

    /// What is wrong with the shape, if anything.
    fn objection(&self) -> Option<String> {
        match self {
            Self::Dense { dim: 0, .. } | Self::Sparse { dim: 0, .. } => {
                Some("the rows have no columns: give at least one feature".into())
            }
            Self::Dense { dim, values } => {
                (values.len() % dim != 0).then(|| format!("{} numbers do not make rows of {dim}", values.len()))
            }
            Self::Sparse { dim, starts, columns, values } => {
                let rising = starts.first() == Some(&0) && starts.windows(2).all(|pair| pair[0] <= pair[1]);
                if !rising || starts.last() != Some(&columns.len()) || columns.len() != values.len() {
                    return Some("the starts of the sparse rows do not fit their numbers".into());
                }
                if columns.iter().any(|column| *column as usize >= *dim) {
                    return Some(format!("a sparse row has a column past the last, {dim}"));
                }
                let rise = |row: &[usize]| columns[row[0]..row[1]].windows(2).all(|pair| pair[0] < pair[1]);
                (!starts.windows(2).all(rise)).then(|| "the columns of a sparse row do not rise".into())
            }
        }
    }
}

/// A regression on data in one place: `f(x, b) = Σ w_r loss(a_r·x + o_r + b, y_r) / Σ w + (λ/2) ‖x‖²`.
///
/// Nobody has to be asked, and nothing is computed beforehand: there are no users, no optimum and no constants here.
#[derive(Clone, Copy, Debug)]
pub struct LinearModel<'d> {
    /// The features, `a_r`.
    pub rows: RowsView<'d>,
    /// What each row's prediction is compared with, `y_r`.
    pub targets: &'d [f64],
    /// What each row counts, `w_r`; without it all count the same.
    pub weights: Option<&'d [f64]>,
    /// What each row's prediction has besides its features, `o_r`; nothing where there are none.
    pub offsets: Option<&'d [f64]>,
    /// The loss.
    pub loss: Loss,
    /// The penalty `λ`.
    pub l2: f64,
    /// Whether there is an intercept `b`, which has no penalty.
    pub intercept: bool,
}

impl<'d> LinearModel<'d> {
    /// That of a problem whose users hold a row each.
    pub(super) fn of(problem: &'d Regression) -> Self {
        Self {
            rows: problem.rows().into(),
            targets: problem.targets(),
            weights: None,
            offsets: problem.offsets(),
            loss: problem.loss(),
            l2: problem.l2(),
            intercept: false,
        }
    }

    /// Parameters: one for each column, and then the intercept.
    pub fn parameters(&self) -> usize {
        self.rows.dim() + usize::from(self.intercept)
    }

    /// Refuses what has the wrong shape, or numbers that cannot be. Features are looked at where their squares are added up.
    pub(super) fn check(&self) -> Result<(), LinearError> {
        let data = |message: String| Err(LinearError::Data { message });
        if let Some(message) = self.rows.objection() {
            return data(message);
        }
        let count = self.rows.count();
        if count == 0 {
            return data("there are no rows: give at least one".into());
        }
        if self.targets.len() != count {
            return data(format!("there are {count} rows and {} targets: give one for each", self.targets.len()));
        }
        for (row, target) in self.targets.iter().enumerate() {
            if let Some(objection) = self.loss.objection(*target) {
                return data(format!("the target of row {row} is {target}: {objection}"));
            }
        }
        if let Loss::Huber { delta } = self.loss
            && !(delta > 0.0 && delta.is_finite())
        {
            return data(format!("Huber's delta is {delta}: it must be positive"));
        }
        if !(self.l2 >= 0.0 && self.l2.is_finite()) {
            return data(format!("the L2 penalty is {}: it must not be negative", self.l2));
        }
        if let Some(offsets) = self.offsets {
            if offsets.len() != count {
                return data(format!("there are {count} rows and {} offsets: give one for each", offsets.len()));
            }
            if let Some(row) = offsets.iter().position(|offset| !offset.is_finite()) {
                return data(format!("the offset of row {row} is {}: it must be finite", offsets[row]));
            }
        }
        let Some(weights) = self.weights else { return Ok(()) };
        if weights.len() != count {
            return data(format!("there are {count} rows and {} weights: give one for each", weights.len()));
        }
        if let Some(row) = weights.iter().position(|weight| !(*weight >= 0.0 && weight.is_finite())) {
            return data(format!("the weight of row {row} is {}: it must be finite and not negative", weights[row]));
        }
        if weights.iter().all(|weight| *weight == 0.0) {
            return data("all rows have the weight 0: give at least one a positive weight".into());
        }
        Ok(())
    }

    /// `w_r / Σ w`, each row's part of the mean.
    pub(super) fn parts(&self) -> Vec<f64> {
        let count = self.rows.count();
        match self.weights {
            None => vec![1.0 / count as f64; count],
            Some(weights) => {
                // Each is divided first: their sum may be past what numbers can hold.
                let largest = weights.iter().copied().fold(0.0, f64::max);
                let total: f64 = weights.iter().map(|weight| weight / largest).sum();
                weights.iter().map(|weight| weight / largest / total).collect()
            }
        }
    }

    /// `‖a_r‖²` of every row.
    pub(super) fn squares(&self) -> Result<Vec<f64>, LinearError> {
        let square = |row: usize| {
            let (start, length) = self.rows.place(row);
            let numbers = &self.rows.values()[start..start + length];
            let square = super::dense::dot(numbers, numbers);
            if square.is_finite() {
                return Ok(square);
            }
            let message = match numbers.iter().find(|value| !value.is_finite()) {
                Some(value) => format!("a feature of row {row} is {value}: it must be finite"),
                None => format!("the features of row {row} are so large that their squares are not finite: scale them"),
            };
            Err(LinearError::Data { message })
        };
        (0..self.rows.count()).map(square).collect()
    }

    /// The number in the intercept's column. A column of ones would make steps short where the features are small, and would
    /// itself move slowly where they are large.
    pub(super) fn intercept_column(&self, squares: &[f64], parts: &[f64]) -> f64 {
        let mean: f64 = squares.iter().zip(parts).map(|(square, part)| square * part).sum();
        let column = (mean * INTERCEPT_PART.max(1.0 / self.rows.dim() as f64)).sqrt();
        if column.is_normal() { column } else { 1.0 }
    }
}

/// The intercept's column has this part of the mean of the rows' squares, or that of a column where there are fewer.
const INTERCEPT_PART: f64 = 0.1;

/// Why there is no such run.
#[derive(Clone, Debug, PartialEq, Error)]
#[allow(missing_docs)] // the message says what each field is
#[non_exhaustive]
pub enum LinearError {
    #[error(
        "user {user} holds {rows} rows, and a linear model with one number a user needs one: take a session instead"
    )]
    RowsPerUser { user: usize, rows: usize },
    #[error("user {user} counts more or less than others, and here all must count the same: take a session instead")]
    UserWeight { user: usize },
    #[error("the problem has no penalty on its first column: take a session instead, or rows with an intercept (on)")]
    FreeIntercept,
    #[error("{message}")]
    Data { message: String },
    #[error("the curvature of the loss has no bound, and no step size follows from it: give a step size")]
    NoBound,
    #[error(transparent)]
    Settings(#[from] SettingsError),
}
