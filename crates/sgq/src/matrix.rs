//! Square matrices: eigenvalues and Cholesky's factor, for models of shared curvature and for problems' constants.
//!
//! Plain loops in a fixed order, so that a run gives the same bytes on every processor. Libraries of linear algebra choose
//! their instructions by the machine, and take longer to compile than all the rest of this one. `faer`, which did this before,
//! takes as long for all eigenvectors of 100 rows, and a third less for those of 250.

mod eigen;
#[cfg(test)]
mod tests;

use std::slice;

use serde::{Deserialize, Serialize};

use crate::kernel;

/// Rows up to this length are gone through on the spot: choosing instructions for each would take longer.
const SMALL: usize = 32;

/// Sums of the kernel run over this many lanes.
const LANES: usize = 16;

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
        return wide_dot(a, b);
    }
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// The bits of [`kernel::dot`], in the widest registers at hand.
fn wide_dot(a: &[f64], b: &[f64]) -> f64 {
    let mut product = 0.0;
    kernel::dot_with_rows(a, b, slice::from_mut(&mut product));
    product
}

/// Turns the lower half of a positive semidefinite matrix, row by row, into Cholesky's factor. A pivot that is not above
/// `least_pivot` becomes zero, and so does what is below it; returns whether there was none.
pub(crate) fn cholesky(lower: &mut [f64], dim: usize, least_pivot: f64) -> bool {
    let mut definite = true;
    for k in 0..dim {
        let (above, below) = lower.split_at_mut((k + 1) * dim);
        let known = &mut above[k * dim..][..=k];
        let pivot = known[k] - dot(&known[..k], &known[..k]);
        let fits = pivot > least_pivot;
        definite &= fits;
        known[k] = if fits { pivot.sqrt() } else { 0.0 };
        for row in below.chunks_exact_mut(dim) {
            row[k] = if fits { (row[k] - dot(&known[..k], &row[..k])) / known[k] } else { 0.0 };
        }
    }
    definite
}

/// Solves `L Lᵀ x = b` in place, with [`cholesky`]'s factor of a definite matrix.
pub(crate) fn cholesky_solve(factor: &[f64], x: &mut [f64]) {
    forward(factor, x);
    backward(factor, x);
}

/// Solves `L x = b` in place.
pub(crate) fn forward(factor: &[f64], x: &mut [f64]) {
    let dim = x.len();
    for k in 0..dim {
        let row = &factor[k * dim..][..=k];
        x[k] = (x[k] - dot(&row[..k], &x[..k])) / row[k];
    }
}

/// `Lᵀ x`.
pub(crate) fn transposed_times(factor: &[f64], x: &[f64]) -> Vec<f64> {
    let dim = x.len();
    let mut image = vec![0.0; dim];
    for (k, x) in x.iter().enumerate() {
        add_scaled(&mut image[..=k], *x, &factor[k * dim..][..=k]);
    }
    image
}

/// Solves `Lᵀ x = b` in place.
pub(crate) fn backward(factor: &[f64], x: &mut [f64]) {
    let dim = x.len();
    for k in (0..dim).rev() {
        let row = &factor[k * dim..][..=k];
        x[k] /= row[k];
        let (before, here) = x.split_at_mut(k);
        add_scaled(before, -here[0], &row[..k]);
    }
}

/// A square matrix, row by row.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Square {
    dim: usize,
    values: Vec<f64>,
}

/// So many rows of a few hundred numbers stay in the fastest memory.
const ROWS_AT_HAND: usize = 8;

impl Square {
    pub fn zero(dim: usize) -> Self {
        Self { dim, values: vec![0.0; dim * dim] }
    }

    /// The symmetric matrix with this lower half, row by row; what stands above the diagonal does not count.
    pub fn from_lower(dim: usize, mut values: Vec<f64>) -> Self {
        for row in 0..dim {
            for column in 0..row {
                values[column * dim + row] = values[row * dim + column];
            }
        }
        Self { dim, values }
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

    /// All numbers, row by row.
    pub fn values(&self) -> &[f64] {
        &self.values
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

    pub fn column(&self, column: usize) -> Vec<f64> {
        (0..self.dim).map(|row| self.at(row, column)).collect()
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

    /// Adds `Σ factor · v vᵀ`, a few rows at a time: all vectors are gone through while these are at hand.
    pub fn add_squares(&mut self, terms: &[(f64, &[f64])]) {
        for first in (0..self.dim).step_by(ROWS_AT_HAND) {
            let rows = first..(first + ROWS_AT_HAND).min(self.dim);
            for (factor, v) in terms {
                for row in rows.clone() {
                    add_scaled(self.row_mut(row), factor * v[row], v);
                }
            }
        }
    }

    pub fn transposed(&self) -> Self {
        let mut matrix = Self::zero(self.dim);
        // A few rows at a time, or every number would be on a line of memory of its own.
        for first in (0..self.dim).step_by(LANES) {
            for column in 0..self.dim {
                for row in first..(first + LANES).min(self.dim) {
                    matrix.values[column * self.dim + row] = self.at(row, column);
                }
            }
        }
        matrix
    }

    /// `self · other`.
    pub fn times(&self, other: &Self) -> Self {
        let mut product = Self::zero(self.dim);
        if self.dim > SMALL {
            kernel::add_product(&mut product.values, &self.values, &other.values, self.dim);
            return product;
        }
        for row in 0..self.dim {
            for (middle, factor) in self.row(row).iter().enumerate() {
                add_scaled(product.row_mut(row), *factor, other.row(middle));
            }
        }
        product
    }

    /// `self · other`, which is known to be symmetric.
    pub fn times_to_symmetric(&self, other: &Self) -> Self {
        if self.dim <= SMALL {
            return self.times(other);
        }
        let mut product = Self::zero(self.dim);
        kernel::add_symmetric_product(&mut product.values, &self.values, &other.values, self.dim);
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

    /// The trace of `selfᵀ · other`.
    pub fn trace_with(&self, other: &Self) -> f64 {
        kernel::dot(&self.values, &other.values)
    }

    /// `left · self · right`.
    pub fn between(&self, left: &Self, right: &Self) -> Self {
        left.times(self).times(right)
    }

    /// `left · self · leftᵀ`, where `self` is symmetric.
    pub fn symmetric_between(&self, left: &Self, left_transposed: &Self) -> Self {
        left.times(self).times_to_symmetric(left_transposed)
    }

    /// `V diag(values) Vᵀ`, where the columns of `V` are `vectors`.
    pub fn with_eigen(vectors: &Self, values: &[f64]) -> Self {
        let mut scaled = vectors.clone();
        for row in 0..vectors.dim {
            for (entry, value) in scaled.row_mut(row).iter_mut().zip(values) {
                *entry *= value;
            }
        }
        scaled.times_to_symmetric(&vectors.transposed())
    }

    /// `(A + Aᵀ) / 2`.
    pub fn symmetric_part(&self) -> Self {
        let mut matrix = Self::zero(self.dim);
        for row in 0..self.dim {
            for column in 0..=row {
                let value = 0.5 * self.at(row, column) + 0.5 * self.at(column, row);
                matrix.set(row, column, value);
                matrix.set(column, row, value);
            }
        }
        matrix
    }
}
