//! Square matrices: eigenvalues and Cholesky's factor, for models of shared curvature and for problems' constants.
//!
//! Plain loops in a fixed order, so that a run gives the same bytes on every processor. Libraries of linear algebra choose
//! their instructions by the machine, and take longer to compile than all the rest of this one. They are faster from about a
//! hundred rows on; what we need stays below a second up to a thousand.

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
    let dim = x.len();
    for k in 0..dim {
        let row = &factor[k * dim..][..=k];
        x[k] = (x[k] - dot(&row[..k], &x[..k])) / row[k];
    }
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

    fn assert_extremes(matrix: &Square, least: f64, largest: f64) {
        let found = matrix.extreme_eigenvalues().unwrap();
        let tolerance = 16.0 * f64::EPSILON * largest.abs().max(least.abs());
        let wrong = (found.0 - least).abs().max((found.1 - largest).abs());
        assert!(wrong <= tolerance, "{} rows: {found:?}, not {least} and {largest}", matrix.dim);
    }

    /// `min(i, j)`, the inverse of second differences: large, ill-conditioned, and exact numbers.
    #[test]
    fn extreme_eigenvalues_of_a_known_matrix() {
        for dim in [1, 2, 3, 10, 32, 33, 100, 300] {
            let lower = (0..dim * dim).map(|at| (at / dim).min(at % dim) as f64 + 1.0).collect();
            let known = |k: usize| {
                let angle = std::f64::consts::PI * (2 * k - 1) as f64 / (4 * dim + 2) as f64;
                0.25 / angle.sin().powi(2)
            };
            assert_extremes(&Square::from_lower(dim, lower), known(dim), known(1));
        }
    }

    /// A known spectrum, turned by reflections: twelve decades, clusters at both ends, rank one, both signs.
    #[test]
    fn extreme_eigenvalues_of_known_spectra() {
        let spectra: [&dyn Fn(f64) -> f64; 4] =
            [&|part| 10f64.powf(12.0 * (part - 1.0)), &|part| 1.0 + part, &|part| part.floor(), &|part| part - 0.25];
        let mut random = Random::new(3, "spectra");
        for dim in [2, 7, 40, 150] {
            for spectrum in spectra {
                let value = |k: usize| spectrum(k as f64 / (dim - 1) as f64);
                let mut matrix = Square::zero(dim);
                for k in 0..dim {
                    matrix.set(k, k, value(k));
                }
                for _ in 0..3 {
                    let mirror: Vec<f64> = (0..dim).map(|_| random.unit() - 0.5).collect();
                    let mut reflection = Square::identity(dim, 1.0);
                    reflection.add_outer(-2.0 / kernel::norm_squared(&mirror), &mirror, &mirror);
                    matrix = matrix.between(&reflection, &reflection);
                }
                assert_extremes(&matrix, value(0), value(dim - 1));
                let values = matrix.eigen().unwrap().0;
                assert!((0..dim).all(|k| (values[k] - value(k)).abs() <= 32.0 * f64::EPSILON * value(dim - 1)));
            }
        }
    }

    #[test]
    fn awkward_matrices_have_extreme_eigenvalues_too() {
        assert_extremes(&Square::zero(4), 0.0, 0.0);
        assert_extremes(&Square::identity(5, 3.0), 3.0, 3.0);
        assert_extremes(&Square::identity(3, -1e-300), -1e-300, -1e-300);
        let mut rank_one = Square::zero(40);
        rank_one.add_outer(1e200, &[1.0; 40], &[1.0; 40]);
        assert_extremes(&rank_one, 0.0, 4e201);
        assert!(Square::zero(0).extreme_eigenvalues().is_none());
        let mut broken = Square::identity(3, 1.0);
        broken.set(2, 0, f64::INFINITY);
        assert!(broken.extreme_eigenvalues().is_none());
    }

    /// Cholesky's factor of `min(i, j)` is all ones.
    #[test]
    fn a_known_factor_is_found_exactly() {
        for dim in [1, 2, 33, 70] {
            let mut lower: Vec<f64> = (0..dim * dim).map(|at| (at / dim).min(at % dim) as f64 + 1.0).collect();
            let product = Square::from_lower(dim, lower.clone()).times_vector(&vec![1.0; dim]);
            assert!(cholesky(&mut lower, dim, 0.0));
            assert!((0..dim).all(|row| lower[row * dim..][..=row].iter().all(|value| *value == 1.0)));
            let mut solution = product;
            cholesky_solve(&lower, &mut solution);
            assert_eq!(solution, vec![1.0; dim]);
        }
    }

    #[test]
    fn pivots_that_are_too_small_become_zero() {
        // Rank one, and an indefinite matrix: the second pivot is 0, and −3.
        for corner in [4.0, 1.0] {
            let mut lower = vec![1.0, f64::NAN, 2.0, corner];
            assert!(!cholesky(&mut lower, 2, 0.0));
            assert_eq!((lower[0], lower[2], lower[3]), (1.0, 2.0, 0.0));
        }
        assert!(!cholesky(&mut [1e-9], 1, 1e-8) && cholesky(&mut [1e-9], 1, 0.0));
        assert!(!cholesky(&mut [f64::NAN], 1, 0.0));
    }

    #[test]
    fn ill_conditioned_systems_are_solved_as_far_as_they_can_be() {
        // Hilbert's matrix: the residual is tiny whatever the condition.
        let dim = 10;
        let matrix = Square::from_lower(dim, (0..dim * dim).map(|at| 1.0 / (at / dim + at % dim + 1) as f64).collect());
        let right: Vec<f64> = (0..dim).map(|k| (k as f64).cos()).collect();
        let (mut factor, mut solution) = (matrix.values.clone(), right.clone());
        assert!(cholesky(&mut factor, dim, 0.0));
        cholesky_solve(&factor, &mut solution);
        let mut residual = matrix.times_vector(&solution);
        add_scaled(&mut residual, -1.0, &right);
        assert!(kernel::norm(&residual) <= 4.0 * f64::EPSILON * 1.76 * kernel::norm(&solution), "{residual:?}");
        assert_extremes(&matrix, 1.093_153_819_379_665_7e-13, 1.751_919_670_265_177_8);
    }
}
