//! Small square matrices: what a model of shared curvature is made of.
//!
//! Plain loops in a fixed order, so that a run gives the same bytes on every processor; `faer` picks its instructions by the
//! machine.

use serde::{Deserialize, Serialize};

use crate::kernel;

/// Rows up to this length are gone through on the spot: choosing instructions for each would take longer.
const SMALL: usize = 32;

/// `y += factor · x`.
fn add_scaled(y: &mut [f64], factor: f64, x: &[f64]) {
    if y.len() > SMALL {
        return kernel::add_scaled(y, factor, x);
    }
    for (y, x) in y.iter_mut().zip(x) {
        *y += factor * x;
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    if a.len() > SMALL {
        return kernel::dot(a, b);
    }
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// A square matrix, row by row.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Square {
    dim: usize,
    values: Vec<f64>,
}

impl Square {
    pub fn zero(dim: usize) -> Self {
        Self { dim, values: vec![0.0; dim * dim] }
    }

    /// A multiple of the identity.
    pub fn identity(dim: usize, scale: f64) -> Self {
        let mut matrix = Self::zero(dim);
        matrix.add_to_diagonal(scale);
        matrix
    }

    /// Whether it has that many rows, and all numbers: one that was read from somewhere may not.
    pub fn dim(&self) -> usize {
        self.dim
    }

    pub fn at(&self, row: usize, column: usize) -> f64 {
        self.values[row * self.dim + column]
    }

    pub fn set(&mut self, row: usize, column: usize, value: f64) {
        self.values[row * self.dim + column] = value;
    }

    pub fn row(&self, row: usize) -> &[f64] {
        &self.values[row * self.dim..][..self.dim]
    }

    fn row_mut(&mut self, row: usize) -> &mut [f64] {
        &mut self.values[row * self.dim..][..self.dim]
    }

    pub fn trace(&self) -> f64 {
        (0..self.dim).map(|k| self.at(k, k)).sum()
    }

    pub fn add_to_diagonal(&mut self, value: f64) {
        for k in 0..self.dim {
            self.values[k * self.dim + k] += value;
        }
    }

    pub fn scale(&mut self, factor: f64) {
        self.values.iter_mut().for_each(|value| *value *= factor);
    }

    /// One more row and column, of zeros.
    pub fn grow(&mut self) {
        let mut grown = Self::zero(self.dim + 1);
        for row in 0..self.dim {
            grown.row_mut(row)[..self.dim].copy_from_slice(self.row(row));
        }
        *self = grown;
    }

    /// `self += factor · other`.
    pub fn add(&mut self, factor: f64, other: &Self) {
        kernel::add_scaled(&mut self.values, factor, &other.values);
    }

    /// `self += factor · u vᵀ`.
    pub fn add_outer(&mut self, factor: f64, u: &[f64], v: &[f64]) {
        for (row, u) in u.iter().enumerate() {
            add_scaled(self.row_mut(row), factor * u, v);
        }
    }

    pub fn transposed(&self) -> Self {
        let mut matrix = Self::zero(self.dim);
        for row in 0..self.dim {
            for column in 0..self.dim {
                matrix.values[column * self.dim + row] = self.at(row, column);
            }
        }
        matrix
    }

    /// `self · other`.
    pub fn times(&self, other: &Self) -> Self {
        let mut product = Self::zero(self.dim);
        for row in 0..self.dim {
            for (middle, factor) in self.row(row).iter().enumerate() {
                add_scaled(product.row_mut(row), *factor, other.row(middle));
            }
        }
        product
    }

    /// `self · x`.
    pub fn times_vector(&self, x: &[f64]) -> Vec<f64> {
        (0..self.dim).map(|row| dot(self.row(row), x)).collect()
    }

    /// `selfᵀ · x`.
    pub fn transposed_times_vector(&self, x: &[f64]) -> Vec<f64> {
        let mut image = vec![0.0; self.dim];
        for (row, factor) in x.iter().enumerate() {
            add_scaled(&mut image, *factor, self.row(row));
        }
        image
    }

    /// The trace of `self · other`, both symmetric.
    pub fn trace_with(&self, other: &Self) -> f64 {
        kernel::dot(&self.values, &other.values)
    }

    /// `left · self · right`.
    pub fn between(&self, left: &Self, right: &Self) -> Self {
        left.times(self).times(right)
    }

    /// `V diag(values) Vᵀ`, where the columns of `V` are `vectors`.
    pub fn with_eigen(vectors: &Self, values: &[f64]) -> Self {
        let mut scaled = vectors.clone();
        for row in 0..vectors.dim {
            for (entry, value) in scaled.row_mut(row).iter_mut().zip(values) {
                *entry *= value;
            }
        }
        scaled.times(&vectors.transposed())
    }

    /// Eigenvalues, smallest first, and eigenvectors as columns, of the symmetric part. None where a number is not finite.
    ///
    /// Householder's reduction to a tridiagonal matrix, then QL steps with implicit shifts (Golub & Van Loan, 8.3).
    pub fn eigen(&self) -> Option<(Vec<f64>, Self)> {
        let n = self.dim;
        let mut vectors = Self::zero(n);
        for row in 0..n {
            for column in 0..n {
                vectors.set(row, column, 0.5 * (self.at(row, column) + self.at(column, row)));
            }
        }
        if vectors.values.iter().any(|value| !value.is_finite()) {
            return None;
        }
        // Squares of what is tiny, or huge, would not be numbers.
        let scale = vectors.values.iter().fold(0.0, |most: f64, value| most.max(value.abs()));
        if scale > 0.0 {
            vectors.values.iter_mut().for_each(|value| *value /= scale);
        }
        let (mut diagonal, mut off) = vectors.tridiagonalise();
        // Rows of the transposed are the vectors: a rotation then turns two rows that lie in one piece.
        let mut rows = vectors.transposed();
        ql(&mut diagonal, &mut off, &mut rows)?;
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_by(|a, b| diagonal[*a].total_cmp(&diagonal[*b]));
        let mut sorted = Self::zero(n);
        for (column, from) in order.iter().enumerate() {
            for row in 0..n {
                sorted.set(row, column, rows.at(*from, row));
            }
        }
        Some((order.iter().map(|k| scale * diagonal[*k]).collect(), sorted))
    }

    /// Turns a symmetric matrix into the orthogonal one that makes it tridiagonal; returns the diagonal, and what stands
    /// beside it.
    fn tridiagonalise(&mut self) -> (Vec<f64>, Vec<f64>) {
        let n = self.dim;
        let (mut diagonal, mut off) = (vec![0.0; n], vec![0.0; n]);
        let mut orthogonal = Self::identity(n, 1.0);
        for k in 0..n.saturating_sub(2) {
            // A reflection that leaves one number below the diagonal of column k.
            let mut mirror = vec![0.0; n];
            for (row, value) in mirror.iter_mut().enumerate().skip(k + 1) {
                *value = self.at(row, k);
            }
            let length = kernel::norm(&mirror);
            if length == 0.0 {
                continue;
            }
            let sign = if mirror[k + 1] > 0.0 { 1.0 } else { -1.0 };
            mirror[k + 1] += sign * length;
            let norm_squared = kernel::norm_squared(&mirror);
            // A ← A − v wᵀ − w vᵀ with p = 2 A v / vᵀv and w = p − (pᵀv / vᵀv) v.
            let mut image = self.times_vector(&mirror);
            image.iter_mut().for_each(|value| *value *= 2.0 / norm_squared);
            let along = dot(&image, &mirror) / norm_squared;
            add_scaled(&mut image, -along, &mirror);
            self.add_outer(-1.0, &mirror, &image);
            self.add_outer(-1.0, &image, &mirror);
            let turned = orthogonal.times_vector(&mirror);
            orthogonal.add_outer(-2.0 / norm_squared, &turned, &mirror);
        }
        for k in 0..n {
            diagonal[k] = self.at(k, k);
            off[k] = if k + 1 < n { self.at(k + 1, k) } else { 0.0 };
        }
        *self = orthogonal;
        (diagonal, off)
    }
}

/// Makes a tridiagonal matrix diagonal, and turns the rows along. None if it does not end.
fn ql(diagonal: &mut [f64], off: &mut [f64], rows: &mut Square) -> Option<()> {
    let n = diagonal.len();
    for first in 0..n {
        for attempt in 0.. {
            let small = |k: &usize| {
                let around = diagonal[*k].abs() + diagonal[*k + 1].abs();
                off[*k].abs() <= f64::EPSILON * around
            };
            let last = (first..n.saturating_sub(1)).find(small).unwrap_or(n - 1);
            if last == first {
                break;
            }
            if attempt == 60 {
                return None;
            }
            // Wilkinson's shift.
            let half = (diagonal[first + 1] - diagonal[first]) / (2.0 * off[first]);
            let root = half.hypot(1.0);
            let mut g = diagonal[last] - diagonal[first] + off[first] / (half + root.copysign(half));
            let (mut sine, mut cosine, mut carried) = (1.0, 1.0, 0.0);
            let mut deflated = false;
            for k in (first..last).rev() {
                let (f, b) = (sine * off[k], cosine * off[k]);
                let length = f.hypot(g);
                off[k + 1] = length;
                if length == 0.0 {
                    diagonal[k + 1] -= carried;
                    off[last] = 0.0;
                    deflated = true;
                    break;
                }
                (sine, cosine) = (f / length, g / length);
                let moved = diagonal[k + 1] - carried;
                let turned = (diagonal[k] - moved) * sine + 2.0 * cosine * b;
                carried = sine * turned;
                diagonal[k + 1] = moved + carried;
                g = cosine * turned - b;
                rows.rotate(k, sine, cosine);
            }
            if !deflated {
                diagonal[first] -= carried;
                off[first] = g;
                off[last] = 0.0;
            }
        }
    }
    Some(())
}

impl Square {
    /// Turns rows `k` and `k + 1` into each other.
    fn rotate(&mut self, k: usize, sine: f64, cosine: f64) {
        let (upper, lower) = self.values[k * self.dim..][..2 * self.dim].split_at_mut(self.dim);
        for (upper, lower) in upper.iter_mut().zip(lower) {
            let kept = *lower;
            *lower = sine * *upper + cosine * kept;
            *upper = cosine * *upper - sine * kept;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Random;

    fn random(dim: usize, seed: u64) -> Square {
        let mut random = Random::new(seed, "matrix");
        let mut matrix = Square::zero(dim);
        for row in 0..dim {
            for column in 0..=row {
                let value = random.unit() - 0.5;
                matrix.set(row, column, value);
                matrix.set(column, row, value);
            }
        }
        matrix
    }

    fn largest_difference(one: &Square, other: &Square) -> f64 {
        one.values.iter().zip(&other.values).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
    }

    #[test]
    fn eigenvectors_put_the_matrix_together_again() {
        for (seed, dim) in [1, 2, 3, 4, 7, 10, 33, 80].into_iter().enumerate() {
            let matrix = random(dim, seed as u64);
            let (values, vectors) = matrix.eigen().unwrap();
            assert!(values.windows(2).all(|pair| pair[0] <= pair[1]));
            assert!(largest_difference(&Square::with_eigen(&vectors, &values), &matrix) < 1e-12);
            let gram = vectors.transposed().times(&vectors);
            assert!(largest_difference(&gram, &Square::identity(dim, 1.0)) < 1e-12);
        }
    }

    /// Multiple eigenvalues, zeros, tiny and huge numbers.
    #[test]
    fn awkward_matrices_have_eigenvalues_too() {
        let mut low_rank = Square::zero(6);
        low_rank.add_outer(1e-200, &[1.0, 2.0, 0.0, 0.0, 0.0, 3.0], &[1.0, 2.0, 0.0, 0.0, 0.0, 3.0]);
        let mut huge = random(5, 9);
        huge.scale(1e150);
        for matrix in [Square::zero(4), Square::identity(5, 3.0), low_rank, huge] {
            let (values, vectors) = matrix.eigen().unwrap();
            let scale = matrix.values.iter().fold(0.0, |most: f64, value| most.max(value.abs()));
            assert!(largest_difference(&Square::with_eigen(&vectors, &values), &matrix) <= 1e-12 * scale);
        }
        let mut broken = Square::identity(3, 1.0);
        broken.set(0, 2, f64::NAN);
        assert!(broken.eigen().is_none());
    }
}
