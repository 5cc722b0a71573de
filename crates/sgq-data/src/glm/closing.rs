//! What a user answers at the final point.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use sgq::problem::Loss;
use thiserror::Error;

use super::{Family, Observations, Sums, matrix};

/// What one user answers to the closing question: no row and no value of a row, but sums over its rows at the final point.
///
/// Equations are those of the [module](super). All is on the scale of the regression's columns and targets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Closing {
    /// How many rows were used: those with a positive weight.
    pub rows: u64,
    /// How many rows were left out because a value is missing.
    pub rows_missing: u64,
    /// `Σ w`.
    pub weight: f64,
    /// `s_i`, Eq. (1): the gradient of the sum of the rows' weighted losses, with no penalty.
    pub score: Vec<f64>,
    /// `I_i`, Eq. (2), the lower half row by row.
    pub information: Vec<f64>,
    /// `J_i`, Eq. (3), for families where it differs from `I_i`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_information: Option<Vec<f64>>,
    /// The deviance: twice the log-likelihood that is lost against a perfect fit, times the dispersion.
    pub deviance: f64,
    /// `χ²`, Eq. (4).
    pub pearson: f64,
    /// What the log-likelihood and the null deviance need.
    pub sums: Sums,
}

impl Closing {
    /// The answer of the user that holds the rows in `range`, and left out `missing` others.
    pub fn of(data: &Observations<'_>, range: Range<usize>, missing: u64, point: &[f64]) -> Result<Self, ClosingError> {
        let (dim, family) = (data.rows.dim(), data.family);
        if let Some((what, found, expected)) = data.misfit() {
            return Err(ClosingError::Length { what, found, expected });
        }
        if point.len() != dim {
            return Err(ClosingError::Length { what: "coefficients", found: point.len(), expected: dim });
        }
        if range.start > range.end || range.end > data.rows.count() {
            return Err(ClosingError::Length { what: "rows", found: data.rows.count(), expected: range.end });
        }
        if let Some(row) = range.clone().find(|row| !(data.weight(*row) >= 0.0 && data.weight(*row).is_finite())) {
            return Err(ClosingError::Weight { row, weight: data.weight(row) });
        }
        let loss = Loss::from(family);
        let mut closing = Self {
            rows: 0,
            rows_missing: missing,
            weight: 0.0,
            score: vec![0.0; dim],
            information: vec![0.0; matrix::packed_len(dim)],
            observed_information: family.observed_differs().then(|| vec![0.0; matrix::packed_len(dim)]),
            deviance: 0.0,
            pearson: 0.0,
            sums: Sums::zero(data),
        };
        for row in data.used(range) {
            let (y, w, o) = (data.targets[row], data.weight(row), data.offset(row));
            if let Some(objection) = loss.objection(y) {
                return Err(ClosingError::Target { row, target: y, objection });
            }
            let z = data.rows.dot(row, point) + o;
            data.rows.add_scaled(row, w * loss.slope(z, y), &mut closing.score);
            matrix::add_row_square(&mut closing.information, w * family.expected_weight(z), data.rows, row);
            if let Some(observed) = &mut closing.observed_information {
                matrix::add_row_square(observed, w * loss.curvature(z, y), data.rows, row);
            }
            closing.deviance += w * family.deviance(z, y);
            closing.pearson += w * family.pearson(z, y);
            closing.sums.take(family, [y, w, o, z], closing.rows == 0);
            closing.weight += w;
            closing.rows += 1;
        }
        closing.check(dim, family)?;
        Ok(closing)
    }

    /// Whether an answer that came from a user can be one to this question: the lengths, the family, and that every number
    /// is finite and of a possible sign.
    pub fn check(&self, dim: usize, family: Family) -> Result<(), ClosingError> {
        let half = matrix::packed_len(dim);
        let observed = self.observed_information.as_ref();
        let lists = [
            ("score", Some(&self.score), dim),
            ("information", Some(&self.information), half),
            ("observed_information", observed, half),
        ];
        for (what, list, expected) in lists {
            let Some(list) = list else { continue };
            if list.len() != expected {
                return Err(ClosingError::Length { what, found: list.len(), expected });
            }
            finite(what, list)?;
        }
        if observed.is_some() != family.observed_differs() || !self.sums.fits(family) {
            return Err(ClosingError::Family { expected: family });
        }
        finite("weight", &[self.weight])?;
        finite("deviance", &[self.deviance])?;
        finite("pearson", &[self.pearson])?;
        finite("sums", &self.sums.numbers())?;
        if self.rows == 0 {
            return Err(ClosingError::NoRows);
        }
        let diagonal = (0..dim).map(|k| matrix::at(&self.information, k, k)).fold(0.0, f64::min);
        // A deviance is not negative, but for the rounding of its terms.
        let slack = -1e-6 * self.weight.max(1.0);
        let signs = [
            ("weight", self.weight, self.weight > 0.0),
            ("pearson", self.pearson, self.pearson >= 0.0),
            ("deviance", self.deviance, self.deviance >= slack),
            ("information", diagonal, diagonal >= 0.0),
        ];
        match signs.into_iter().find(|(.., possible)| !possible) {
            Some((what, value, _)) => Err(ClosingError::Sign { what, value }),
            None => Ok(()),
        }
    }

    /// `J_i`, Eq. (3).
    pub(super) fn observed(&self) -> &[f64] {
        self.observed_information.as_ref().unwrap_or(&self.information)
    }

    /// How many numbers a user discloses with it.
    pub fn numbers(&self) -> usize {
        let observed = self.observed_information.as_ref().map_or(0, Vec::len);
        // rows, rows_missing, weight, deviance and pearson
        5 + self.score.len() + self.information.len() + observed + self.sums.numbers().len()
    }

    /// The sum over users, in their order, so that it has the same bits wherever it is made. None for no closings, or where
    /// they are not of one family and length.
    pub fn sum<'a>(closings: impl IntoIterator<Item = &'a Self>) -> Option<Self> {
        let mut closings = closings.into_iter();
        let mut sum = closings.next()?.clone();
        for closing in closings {
            let lengths = |closing: &Self| (closing.score.len(), closing.information.len(), closing.observed().len());
            if lengths(&sum) != lengths(closing) {
                return None;
            }
            sum.rows = sum.rows.checked_add(closing.rows)?;
            sum.rows_missing = sum.rows_missing.checked_add(closing.rows_missing)?;
            sum.weight += closing.weight;
            matrix::add(&mut sum.score, 1.0, &closing.score);
            matrix::add(&mut sum.information, 1.0, &closing.information);
            match (&mut sum.observed_information, &closing.observed_information) {
                (Some(sum), Some(observed)) => matrix::add(sum, 1.0, observed),
                (None, None) => {}
                _ => return None,
            }
            sum.deviance += closing.deviance;
            sum.pearson += closing.pearson;
            if !sum.sums.add(&closing.sums) {
                return None;
            }
        }
        Some(sum)
    }
}

fn finite(what: &'static str, numbers: &[f64]) -> Result<(), ClosingError> {
    match numbers.iter().position(|value| !value.is_finite()) {
        Some(index) => Err(ClosingError::NotFinite { what, index, value: numbers[index] }),
        None => Ok(()),
    }
}

/// Why there is no closing, or why one from a user is refused.
#[derive(Clone, Debug, PartialEq, Error)]
#[allow(missing_docs)] // the message says what each field is
#[non_exhaustive]
pub enum ClosingError {
    #[error("the closing has {found} {what}, not {expected}: it must be for the coefficients of this fit")]
    Length { what: &'static str, found: usize, expected: usize },
    #[error("number {index} of the closing's {what} is {value}: it must be finite; the fit may have diverged")]
    NotFinite { what: &'static str, index: usize, value: f64 },
    #[error("the closing's {what} is {value}, which no data give: the user must compute it again")]
    Sign { what: &'static str, value: f64 },
    #[error("the closing is of another family than {expected}: the user must compute it for {expected}")]
    Family { expected: Family },
    #[error("the closing is of no rows: every user needs a row with a positive weight")]
    NoRows,
    #[error("the weight of row {row} is {weight}: it must be finite, and not negative")]
    Weight { row: usize, weight: f64 },
    #[error("the target of row {row} is {target}: {objection}")]
    Target { row: usize, target: f64, objection: &'static str },
}
