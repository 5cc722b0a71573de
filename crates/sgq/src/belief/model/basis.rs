//! Orthonormal directions of a large space, and coordinates along them.

use serde::{Deserialize, Serialize};

use crate::{frugal::FRUGAL, kernel};

/// Orthonormal directions, row by row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Basis {
    dim: usize,
    rows: Vec<f64>,
}

impl Basis {
    pub fn new(dim: usize) -> Self {
        Self { dim, rows: Vec::new() }
    }

    pub fn rank(&self) -> usize {
        self.rows.len() / self.dim
    }

    /// `V x`.
    pub fn coordinates(&self, x: &[f64]) -> Vec<f64> {
        kernel::dots_with_rows(&self.rows, &[x])
    }

    /// `V x` of several vectors, for which the directions are read once.
    pub fn coordinates_of<const COUNT: usize>(&self, vectors: [&[f64]; COUNT]) -> [Vec<f64>; COUNT] {
        let mut all = self.coordinates_of_all(&vectors);
        std::array::from_fn(|k| std::mem::take(&mut all[k]))
    }

    /// The same for any number of them.
    pub fn coordinates_of_all(&self, vectors: &[&[f64]]) -> Vec<Vec<f64>> {
        let (rank, all) = (self.rank(), kernel::dots_with_rows(&self.rows, vectors));
        (0..vectors.len()).map(|k| all[k * rank..][..rank].to_vec()).collect()
    }

    /// `x += Vᵀ c`.
    pub fn add(&self, x: &mut [f64], coordinates: &[f64]) {
        kernel::add_all(x, coordinates.iter().copied().zip(self.rows.chunks_exact(self.dim)));
    }

    /// The direction of what a vector has outside of the span, if that can be told from rounding.
    pub fn direction_outside(&self, x: &[f64]) -> Option<Vec<f64>> {
        let length = kernel::norm(x);
        if length == 0.0 || !length.is_finite() {
            return None;
        }
        let mut rest: Vec<f64> = x.iter().map(|x| x / length).collect();
        let mut length = 1.0;
        // Twice is enough for directions that are orthogonal to the last digit.
        for _ in 0..2 {
            let along: Vec<f64> = self.coordinates(&rest).iter().map(|along| -along).collect();
            self.add(&mut rest, &along);
            let left = kernel::norm(&rest);
            if left.is_nan() || left * length <= FRUGAL.rounding {
                return None;
            }
            rest.iter_mut().for_each(|value| *value /= left);
            length *= left;
        }
        Some(rest)
    }

    /// One more direction: of length 1, and orthogonal to all others.
    pub fn push(&mut self, direction: &[f64]) {
        self.rows.extend_from_slice(direction);
    }
}
