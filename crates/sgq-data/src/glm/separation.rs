//! Separation: data for which the likelihood has no maximum, because some coefficients grow without bound.

mod recession;

use std::fmt;

use thiserror::Error;

use super::{Family, Observations, OriginalScale, matrix};
use recession::{Cone, Outcome};

/// With more columns a direction is given as it was found, and may move more coefficients than it has to.
const SIMPLIFIED_COLUMNS: usize = 60;

/// Rounding of `x·δ`, relative to the sum of its terms without signs.
const ROUNDING: f64 = 1e-9;

/// What is more than nothing, by the same measure.
const VISIBLE: f64 = 1e-7;

/// A direction along which the likelihood rises for ever: a *recession direction* `δ`.
///
/// For binomial `y_r x_r·δ ≥ 0` in all rows, and `> 0` in some (Albert & Anderson 1984). For counts `x_r·δ = 0` where
/// `y_r > 0`, and `≤ 0` where `y_r = 0`, `< 0` in some (Correia, Guimarães & Zylkin 2019). Both are checked row by row
/// before it is told.
#[derive(Clone, Debug, PartialEq)]
pub struct Separation {
    /// `δ` on the original scale, 1 at its largest.
    pub direction: Vec<f64>,
    /// The columns with a part in it, and where their coefficients go. The intercept is among them where it has one.
    pub columns: Vec<(String, Trend)>,
    /// Rows that it separates: those with `x_r·δ ≠ 0`.
    pub rows: usize,
    /// Rows that are used, but for those that directions before this one have separated.
    pub of_rows: usize,
    /// Whether the targets are counts.
    pub counts: bool,
}

/// Where a coefficient goes as the likelihood rises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trend {
    /// Towards `+∞`.
    Up,
    /// Towards `−∞`.
    Down,
}

impl Separation {
    /// Whether every row is separated.
    pub fn is_complete(&self) -> bool {
        self.rows == self.of_rows
    }
}

impl fmt::Display for Separation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let way = |trend: Trend| if trend == Trend::Up { "+infinity" } else { "-infinity" };
        let columns: Vec<String> =
            self.columns.iter().map(|(name, trend)| format!("{name} (to {})", way(*trend))).collect();
        let (subject, verb) = match columns.len() {
            1 => ("coefficient of", "has no finite estimate: it predicts"),
            _ => ("coefficients of", "have no finite estimate: together they predict"),
        };
        let zero = if self.counts { ", with counts of 0," } else { "" };
        let (names, rows, of) = (columns.join(", "), self.rows, self.of_rows);
        write!(f, "the {subject} {names} {verb} {rows} of {of} rows{zero} perfectly")
    }
}

/// Why it is not known whether data are separated.
#[derive(Clone, Debug, PartialEq, Error)]
#[allow(missing_docs)] // the message says what each field is
#[non_exhaustive]
pub enum SeparationError {
    #[error("there are {found} {what}, not {expected}: give one for each")]
    Length { what: &'static str, found: usize, expected: usize },
    #[error(
        "the search for separation did not end after {steps} steps: the coefficients may or may not have a finite optimum"
    )]
    Undecided { steps: usize },
}

/// Looks for separation in data in one place: none found means that the likelihood has a maximum, at the columns that are
/// not [collinear](fn@super::collinear). Only binomial data and counts can be separated.
///
/// Newton's method is run on rows that have to be predicted ever better. Where it converges there is no separation; where it does not,
/// its steps turn to a recession direction, which is cleaned of rounding, checked on every row, and made to move as few
/// coefficients as it can. What is left of the rows is then looked at for further directions.
///
/// ```
/// use sgq::problem::Rows;
/// use sgq_data::glm::{Family, Observations, OriginalScale, separation};
///
/// // All who are at least 3 are positive.
/// let rows = Rows::Dense { dim: 2, values: vec![1., 1., 1., 2., 1., 3., 1., 4.] };
/// let data = Observations { rows: &rows, targets: &[-1., -1., 1., 1.], weights: None, offsets: None, family: Family::Binomial };
/// let names = ["intercept".to_owned(), "age".to_owned()];
/// let found = separation(&data, &names, &OriginalScale::identity(2))?;
/// assert!(found[0].is_complete() && found[0].direction[1] > 0.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn separation(
    data: &Observations<'_>,
    names: &[String],
    scale: &OriginalScale,
) -> Result<Vec<Separation>, SeparationError> {
    let dim = data.rows.dim();
    let own = [("names of coefficients", names.len(), dim), ("coefficients of the original columns", scale.dim(), dim)];
    let misfit = own.into_iter().find(|(_, found, expected)| found != expected);
    if let Some((what, found, expected)) = data.misfit().or(misfit) {
        return Err(SeparationError::Length { what, found, expected });
    }
    let counts = match data.family {
        Family::Binomial => false,
        Family::Poisson | Family::NegativeBinomial { .. } => true,
        Family::Gaussian | Family::Gamma | Family::Huber { .. } => return Ok(Vec::new()),
    };
    let mut cone = Cone::new(data, counts);
    let mut found = Vec::new();
    loop {
        let direction = match first_of(&cone, scale) {
            Ok(Some(direction)) => direction,
            Err(error) if found.is_empty() => return Err(error),
            // What was found is proven, whatever is left.
            Ok(None) | Err(_) => return Ok(found),
        };
        let separated = cone.separated(&direction);
        let of_rows = cone.rows();
        let original = clean(scale, &direction);
        let trend = |value: f64| if value > 0.0 { Trend::Up } else { Trend::Down };
        let moved = original.iter().zip(names).filter(|(value, _)| **value != 0.0);
        found.push(Separation {
            columns: moved.map(|(value, name)| (name.clone(), trend(*value))).collect(),
            direction: original,
            rows: separated.len(),
            of_rows,
            counts,
        });
        cone.leave_out(&separated);
    }
}

/// A direction that moves few coefficients: one after the other is held, and stays so where that leaves a direction that
/// separates as many rows.
fn first_of(cone: &Cone<'_>, scale: &OriginalScale) -> Result<Option<Vec<f64>>, SeparationError> {
    let mut best = match cone.widest(&[]) {
        Outcome::Direction(direction) => direction,
        Outcome::None => return Ok(None),
        Outcome::Undecided { steps } => return Err(SeparationError::Undecided { steps }),
    };
    let dim = best.len();
    let rows = cone.separated(&best).len();
    let simpler = |held: &[&[f64]]| match cone.widest(held) {
        Outcome::Direction(direction) if cone.separated(&direction).len() >= rows => Some(direction),
        _ => None,
    };
    if dim > SIMPLIFIED_COLUMNS {
        return Ok(Some(best));
    }
    // Those that matter least first, in the units of the encoded columns, which are standardised. The intercept's part says
    // where a threshold is, and goes by itself where there is none.
    let mut order: Vec<usize> = (usize::from(scale.has_intercept())..dim).collect();
    order.sort_by(|a, b| best[*a].abs().total_cmp(&best[*b].abs()));
    let mut held: Vec<&[f64]> = Vec::new();
    for column in order {
        if clean(scale, &best)[column] == 0.0 {
            held.push(scale.line(column));
            continue;
        }
        held.push(scale.line(column));
        match simpler(&held) {
            Some(direction) => best = direction,
            None => {
                held.pop();
            }
        }
    }
    if scale.has_intercept() {
        held.push(scale.line(0));
        best = simpler(&held).unwrap_or(best);
    }
    Ok(Some(best))
}

/// The direction on the original scale, 1 at its largest, and zero where only rounding is left.
fn clean(scale: &OriginalScale, direction: &[f64]) -> Vec<f64> {
    let part = |k: usize| {
        let line = scale.line(k);
        let value = matrix::dot(line, direction);
        let size: f64 = line.iter().zip(direction).map(|(t, d)| (t * d).abs()).sum();
        if value.abs() <= VISIBLE * size { 0.0 } else { value }
    };
    let mut original: Vec<f64> = (0..direction.len()).map(part).collect();
    let largest = original.iter().fold(0.0, |largest: f64, value| largest.max(value.abs()));
    if largest > 0.0 {
        original.iter_mut().for_each(|value| *value /= largest);
    }
    original
}
