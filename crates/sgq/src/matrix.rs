//! Square matrices: eigenvalues and Cholesky's factor, for models of shared curvature and for problems' constants.
//!
//! Plain loops in a fixed order, so that a run gives the same bytes on every processor. Libraries of linear algebra choose
//! their instructions by the machine, and take longer to compile than all the rest of this one. `faer`, which did this before,
//! is as fast up to 500 rows, and twice as fast at 1,000, where extreme eigenvalues take us a third of a second.

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
        let (mut matrix, scale) = self.scaled_symmetric_part()?;
        let mut orthogonal = Self::identity(n, 1.0);
        let (mut diagonal, mut off) = matrix.tridiagonalise(Some(&mut orthogonal));
        // Rows of the transposed are the vectors: a rotation then turns two rows that lie in one piece.
        let mut rows = orthogonal.transposed();
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

    /// The smallest and the largest eigenvalue of the symmetric part, in a fraction of the time that [`eigen`](Self::eigen)
    /// takes. None where a number is not finite, and where there is none at all.
    pub fn extreme_eigenvalues(&self) -> Option<(f64, f64)> {
        let (mut matrix, scale) = self.scaled_symmetric_part()?;
        let (diagonal, off) = matrix.tridiagonalise(None);
        let last = self.dim.checked_sub(1)?;
        Some((scale * bisect(&diagonal, &off, 0), scale * bisect(&diagonal, &off, last)))
    }

    /// The symmetric part divided by its largest number, and that number: squares of what is tiny, or huge, would not be
    /// numbers. None where a number is not finite.
    fn scaled_symmetric_part(&self) -> Option<(Self, f64)> {
        let n = self.dim;
        let mut matrix = Self::zero(n);
        for row in 0..n {
            for column in 0..n {
                matrix.set(row, column, 0.5 * self.at(row, column) + 0.5 * self.at(column, row));
            }
        }
        if matrix.values.iter().any(|value| !value.is_finite()) {
            return None;
        }
        let scale = matrix.values.iter().fold(0.0, |most: f64, value| most.max(value.abs()));
        if scale > 0.0 {
            matrix.values.iter_mut().for_each(|value| *value /= scale);
        }
        Some((matrix, scale))
    }

    /// Makes a symmetric matrix tridiagonal; returns the diagonal, and what stands beside it. `orthogonal` is multiplied
    /// with the reflections that do it.
    fn tridiagonalise(&mut self, mut orthogonal: Option<&mut Self>) -> (Vec<f64>, Vec<f64>) {
        let n = self.dim;
        let dot = if n > SMALL { wide_dot } else { dot };
        for k in 0..n.saturating_sub(2) {
            // What is before column k is done with. A multiple of the kernel's lanes, so that every sum has the bits that it
            // has over whole rows.
            let start = k - k % LANES;
            // A reflection that leaves one number below the diagonal of column k.
            let mut mirror = vec![0.0; n - start];
            for row in k + 1..n {
                mirror[row - start] = self.at(row, k);
            }
            let length = kernel::norm(&mirror);
            if length == 0.0 {
                continue;
            }
            let sign = if mirror[k + 1 - start] > 0.0 { 1.0 } else { -1.0 };
            mirror[k + 1 - start] += sign * length;
            let norm_squared = kernel::norm_squared(&mirror);
            // A ← A − v wᵀ − w vᵀ with p = 2 A v / vᵀv and w = p − (pᵀv / vᵀv) v.
            let mut image = vec![0.0; n - start];
            for row in k..n {
                image[row - start] = dot(&self.row(row)[start..], &mirror) * (2.0 / norm_squared);
            }
            let along = dot(&image, &mirror) / norm_squared;
            add_scaled(&mut image, -along, &mirror);
            for row in k + 1..n {
                let (v, w) = (mirror[row - start], image[row - start]);
                let others = image.iter().zip(&mirror);
                for (entry, (other_w, other_v)) in self.row_mut(row)[start..].iter_mut().zip(others) {
                    *entry = *entry - v * other_w - w * other_v;
                }
            }
            if let Some(orthogonal) = orthogonal.as_deref_mut() {
                for row in 0..n {
                    let row = &mut orthogonal.row_mut(row)[start..];
                    let turned = dot(row, &mirror);
                    add_scaled(row, -2.0 / norm_squared * turned, &mirror);
                }
            }
        }
        let diagonal = (0..n).map(|k| self.at(k, k)).collect();
        let off = (0..n).map(|k| if k + 1 < n { self.at(k + 1, k) } else { 0.0 }).collect();
        (diagonal, off)
    }
}

/// An eigenvalue of a tridiagonal matrix of numbers up to about 1, by its place among them, from the smallest: halves an
/// interval by counting how many are below its middle, which are the negative pivots (Golub & Van Loan, 8.4.1).
fn bisect(diagonal: &[f64], off: &[f64], place: usize) -> f64 {
    let below = |x: f64| {
        let (mut count, mut pivot, mut beside) = (0, 1.0, 0.0);
        for (entry, off) in diagonal.iter().zip(off) {
            pivot = entry - x - beside * beside / pivot;
            // Dividing by it must give a number.
            if f64::abs(pivot) < f64::MIN_POSITIVE {
                pivot = -f64::MIN_POSITIVE;
            }
            count += usize::from(pivot < 0.0);
            beside = *off;
        }
        count
    };
    // Gershgorin's circles.
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    let mut before = 0.0;
    for (entry, off) in diagonal.iter().zip(off) {
        let radius = f64::abs(before) + off.abs();
        (low, high) = (low.min(entry - radius), high.max(entry + radius));
        before = *off;
    }
    loop {
        let middle = 0.5 * (low + high);
        // Closer than the matrix itself is known.
        if high - low <= f64::EPSILON * middle.abs().max(f64::EPSILON) {
            return middle;
        }
        if below(middle) > place {
            high = middle;
        } else {
            low = middle;
        }
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
