//! Vectors and matrices, a function an operation.

use faer::{Col, Mat, Scale, Side};

pub(super) type Vector = Col<f64>;
pub(super) type Matrix = Mat<f64>;

pub(super) fn dot(a: &Vector, b: &Vector) -> f64 {
    a.transpose() * b
}

pub(super) fn scaled(c: f64, a: &Vector) -> Vector {
    Scale(c) * a
}

pub(super) fn scaled_matrix(c: f64, a: &Matrix) -> Matrix {
    Scale(c) * a
}

/// `c a bᵀ`.
pub(super) fn outer(c: f64, a: &Vector, b: &Vector) -> Matrix {
    Mat::from_fn(a.nrows(), b.nrows(), |row, column| c * a[row] * b[column])
}

/// `c I`.
pub(super) fn identity(dim: usize, c: f64) -> Matrix {
    compose(&Mat::identity(dim, dim), std::iter::repeat_n(c, dim))
}

pub(super) fn trace(a: &Matrix) -> f64 {
    (0..a.nrows()).map(|row| a[(row, row)]).sum()
}

/// Eigenvalues, the smallest first, and eigenvectors, of the symmetric part; the axes where all eigenvalues are equal.
pub(super) fn eigen(a: &Matrix) -> (Vec<f64>, Matrix) {
    let dim = a.nrows();
    let symmetric = Mat::from_fn(dim, dim, |row, column| 0.5 * (a[(row, column)] + a[(column, row)]));
    let mean = trace(&symmetric) / dim as f64;
    if (&symmetric - identity(dim, mean)).norm_max() <= 1e-13 * mean.abs() {
        return (vec![mean; dim], Mat::identity(dim, dim));
    }
    let eigen = symmetric.self_adjoint_eigen(Side::Lower).unwrap();
    (eigen.S().column_vector().iter().copied().collect(), eigen.U().to_owned())
}

/// `V diag(values) Vᵀ`.
pub(super) fn compose(vectors: &Matrix, values: impl Iterator<Item = f64>) -> Matrix {
    let values: Vec<f64> = values.collect();
    let dim = vectors.nrows();
    Mat::from_fn(dim, dim, |row, column| {
        (0..values.len()).map(|k| vectors[(row, k)] * values[k] * vectors[(column, k)]).sum()
    })
}
