//! Columns that are linear combinations of others.

use std::fmt;

use sgq::problem::Rows;

use super::{
    OriginalScale,
    matrix::{self, Cholesky},
};

/// Below this part of its own length, what earlier columns leave of a column counts as nothing: R's `qr`, and so `lm` and
/// `glm`, have the same tolerance.
const QR_TOLERANCE: f64 = 1e-7;

/// The same for an information matrix, where only the square is known, to its rounding: `(1e-6)²`.
pub(super) const INFORMATION_TOLERANCE: f64 = 1e-12;

/// Squares up to this are looked at row by row: below it, rounding of the sums of squares shows.
const SUSPICIOUS: f64 = 1e-8;

/// Parts of a combination below this, relative to its largest, are rounding.
const NEGLIGIBLE: f64 = 1e-6;

/// A column that is a linear combination of others, so that the coefficients are not determined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Collinear {
    /// The last column of the combination.
    pub column: String,
    /// The others. None where the column is zero everywhere.
    pub with: Vec<String>,
}

impl fmt::Display for Collinear {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.with.as_slice() {
            [] => write!(f, "{} is zero in every row", self.column),
            [other] => write!(f, "{} is a multiple of {other}", self.column),
            others => write!(f, "{} is a linear combination of {}", self.column, others.join(", ")),
        }
    }
}

impl Collinear {
    /// Names the columns of a vector `v` with `X v = 0`, on the original scale.
    pub(super) fn named(null: &[f64], gram: &[f64], names: &[String], scale: &OriginalScale) -> Self {
        let sizes: Vec<f64> = null.iter().enumerate().map(|(k, v)| v.abs() * matrix::at(gram, k, k).sqrt()).collect();
        let largest = sizes.iter().copied().fold(0.0, f64::max);
        let visible = |k: usize| largest == 0.0 || sizes[k] > NEGLIGIBLE * largest;
        let cleaned: Vec<f64> = null.iter().enumerate().map(|(k, v)| if visible(k) { *v } else { 0.0 }).collect();
        let involved = |k: &usize| {
            let terms = || scale.line(*k).iter().zip(&cleaned).map(|(t, v)| t * v);
            terms().sum::<f64>().abs() > NEGLIGIBLE * terms().map(f64::abs).sum::<f64>()
        };
        let mut columns: Vec<String> = (0..null.len()).filter(involved).map(|k| names[k].clone()).collect();
        let column = columns.pop().unwrap_or_default();
        Self { column, with: columns }
    }
}

/// Every column of data in one place that is a linear combination of earlier ones, in the names of the original columns, by
/// the tolerance of R's `qr`, whatever the units of the columns.
///
/// ```
/// use sgq::problem::Rows;
/// use sgq_data::glm::{OriginalScale, collinear};
///
/// let rows = Rows::Dense { dim: 3, values: vec![1., 0., 1., 1., 1., 0., 1., 0., 1.] };
/// let names = ["intercept", "kind=a", "kind=b"].map(String::from);
/// let found = collinear(&rows, None, &names, &OriginalScale::identity(3));
/// assert_eq!(found[0].to_string(), "kind=b is a linear combination of intercept, kind=a");
/// ```
///
/// # Panics
///
/// Like indexing a slice, for fewer weights or names than there are rows or columns.
pub fn collinear(rows: &Rows, weights: Option<&[f64]>, names: &[String], scale: &OriginalScale) -> Vec<Collinear> {
    let dim = rows.dim();
    let weight = |row: usize| weights.map_or(1.0, |weights| weights[row]);
    let mut gram = vec![0.0; matrix::packed_len(dim)];
    for row in 0..rows.count() {
        matrix::add_row_square(&mut gram, weight(row), rows, row);
    }
    // What is left of a column, found row by row and not from squares, which lose half of the digits. What the first
    // combination leaves is projected once more: its coefficients carry the squares' rounding.
    let remains = |so_far: &Cholesky, column: usize, combination: &[(usize, f64)]| {
        let mut direction = vec![0.0; dim];
        direction[column] = 1.0;
        combination.iter().for_each(|(k, c)| direction[*k] = -c);
        let mut left = f64::INFINITY;
        for _ in 0..3 {
            let mut squares = 0.0;
            let mut products = vec![0.0; dim];
            for row in 0..rows.count() {
                let residual = rows.dot(row, &direction);
                squares += weight(row) * residual * residual;
                rows.add_scaled(row, weight(row) * residual, &mut products);
            }
            left = squares.min(left);
            let better = so_far.solve(&products);
            direction.iter_mut().zip(better).for_each(|(value, part)| *value -= part);
        }
        let relative = left / matrix::at(&gram, column, column);
        (relative > QR_TOLERANCE * QR_TOLERANCE).then_some(relative)
    };
    let factor = Cholesky::judged(&gram, dim, SUSPICIOUS, remains);
    factor.null_vectors().iter().map(|null| Collinear::named(null, &gram, names, scale)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scaling;

    fn names(dim: usize) -> Vec<String> {
        (0..dim).map(|k| if k == 0 { "intercept".into() } else { format!("x{k}") }).collect()
    }

    /// Numbers between −1 and 1 that nobody would call regular.
    fn noise(seed: usize) -> f64 {
        let x = (seed as f64 + 1.0) * 12.9898;
        2.0 * (x.sin() * 43_758.547).fract().abs() - 1.0
    }

    fn table(lines: impl Iterator<Item = Vec<f64>>) -> Rows {
        let lines: Vec<_> = lines.collect();
        Rows::Dense { dim: lines[0].len(), values: lines.concat() }
    }

    #[test]
    fn the_tolerance_is_that_of_qr() {
        let nearly = |size: f64| {
            table((0..50).map(move |r| vec![1.0, noise(r), 3e7 * (noise(r) - 2.0 + size * noise(r + 900))]))
        };
        for size in [1e-3, 1e-5, 2e-6] {
            assert_eq!(collinear(&nearly(size), None, &names(3), &OriginalScale::identity(3)), [], "{size}");
        }
        for size in [0.0, 1e-12, 5e-8] {
            let found = collinear(&nearly(size), None, &names(3), &OriginalScale::identity(3));
            assert_eq!(found.len(), 1, "{size}");
            assert_eq!(found[0].to_string(), "x2 is a linear combination of intercept, x1");
        }
    }

    #[test]
    fn rows_without_weight_do_not_count() {
        let rows = table((0..9).map(|r| vec![1.0, noise(r), if r == 0 { 5.0 } else { 2.0 * noise(r) }]));
        let weights: Vec<f64> = (0..9).map(|r| f64::from(r != 0)).collect();
        assert_eq!(collinear(&rows, None, &names(3), &OriginalScale::identity(3)), []);
        let found = collinear(&rows, Some(&weights), &names(3), &OriginalScale::identity(3));
        assert_eq!(found[0].to_string(), "x2 is a multiple of x1");
    }

    #[test]
    fn names_are_those_of_the_original_columns() {
        // A level for each row, standardised: their zeros and ones add up to one, the intercept, though what is seen adds up to 0.
        let level = |r: usize, k: usize| f64::from(u8::from(r % 3 == k));
        let raw = |r: usize| [level(r, 0), level(r, 1), level(r, 2), 3.0];
        let scaling = Scaling { mean: 1.0 / 3.0, scale: (2.0f64 / 9.0).sqrt() };
        let rows = table((0..12).map(|r| {
            let [a, b, c, constant] = raw(r);
            vec![1.0, scaling.apply(a), scaling.apply(b), scaling.apply(c), constant - 3.0]
        }));
        let scale = OriginalScale::of_columns(
            &[scaling, scaling, scaling, Scaling { mean: 3.0, scale: 1.0 }],
            true,
            Scaling::NONE,
        );
        let found = collinear(&rows, None, &names(5), &scale);
        let texts: Vec<_> = found.iter().map(ToString::to_string).collect();
        assert_eq!(texts, ["x3 is a linear combination of intercept, x1, x2", "x4 is a multiple of intercept"]);
        let zero = collinear(&table([vec![1.0, 0.0]].into_iter()), None, &names(2), &OriginalScale::identity(2));
        assert_eq!(zero[0].to_string(), "x1 is zero in every row");
    }
}
