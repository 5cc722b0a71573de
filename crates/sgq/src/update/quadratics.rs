//! Everybody's last quadratic model, and their sum: what CIAG, the incremental Newton methods and FedNL keep.

use serde::{Deserialize, Serialize};

use crate::{Reply, kernel, matrix};

/// User `i` is taken for `g_iᵀ(x − x_i) + ½ (x − x_i)ᵀ M_i (x − x_i)`, from its last answer. A user without an answer counts as
/// zero. Keeps `n d²` numbers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Quadratics {
    matrices: Vec<f64>,
    /// `g_i − M_i x_i`.
    offsets: Vec<f64>,
    /// `Σ M_i`.
    total: Vec<f64>,
    /// `Σ (g_i − M_i x_i)`.
    offset: Vec<f64>,
    /// Answers taken since the sums were computed afresh: running sums keep every rounding error.
    taken: usize,
}

impl Quadratics {
    pub fn new(users: usize, dim: usize) -> Self {
        Self {
            matrices: vec![0.0; users * dim * dim],
            offsets: vec![0.0; users * dim],
            total: vec![0.0; dim * dim],
            offset: vec![0.0; dim],
            taken: 0,
        }
    }

    pub fn users(&self) -> usize {
        self.offsets.len() / self.offset.len()
    }

    /// A user's `M_i`, row by row.
    pub fn matrix(&self, user: usize) -> &[f64] {
        &self.matrices[user * self.total.len()..][..self.total.len()]
    }

    /// Replaces what a user's last answer said by this one, with `M_i`, row by row.
    pub fn replace(&mut self, reply: &Reply<'_>, matrix: &[f64]) {
        let dim = self.offset.len();
        let old = &mut self.matrices[reply.user * dim * dim..][..dim * dim];
        let totals = self.total.iter_mut().zip(old.iter_mut().zip(matrix));
        for (total, (old, new)) in totals {
            *total += new - *old;
            *old = *new;
        }
        let image = times(matrix, reply.point);
        let old = &mut self.offsets[reply.user * dim..][..dim];
        let offsets = self.offset.iter_mut().zip(old.iter_mut().zip(reply.gradient.iter().zip(&image)));
        for (offset, (old, (gradient, image))) in offsets {
            *offset += gradient - image - *old;
            *old = gradient - image;
        }
        self.taken += 1;
    }

    /// The gradient of the sum of all quadratics.
    pub fn gradient(&self, x: &[f64]) -> Vec<f64> {
        let mut gradient = times(&self.total, x);
        kernel::add_scaled(&mut gradient, 1.0, &self.offset);
        gradient
    }

    /// Goes where the sum of all quadratics is smallest; stays, and returns false, where there is no such point.
    pub fn move_to_minimiser(&mut self, point: &mut [f64]) -> bool {
        if self.taken >= self.users() {
            self.add_up_afresh();
        }
        let pull: Vec<f64> = self.offset.iter().map(|offset| -offset).collect();
        let minimiser = solve_scaled(&self.total, &pull);
        minimiser.is_some_and(|minimiser| {
            point.copy_from_slice(&minimiser);
            true
        })
    }

    fn add_up_afresh(&mut self) {
        self.taken = 0;
        for (sum, rows) in [(&mut self.total, &self.matrices), (&mut self.offset, &self.offsets)] {
            sum.fill(0.0);
            rows.chunks_exact(sum.len()).for_each(|row| kernel::add_scaled(sum, 1.0, row));
        }
    }
}

/// The Hessian that came with an answer. None where none came, or one of another size.
pub(super) fn hessian_of<'a>(reply: &Reply<'a>) -> Option<&'a [f64]> {
    reply.hessian.filter(|hessian| hessian.len() == reply.gradient.len().pow(2))
}

pub(super) fn times(matrix: &[f64], x: &[f64]) -> Vec<f64> {
    matrix.chunks_exact(x.len()).map(|row| kernel::dot(row, x)).collect()
}

/// `A⁻¹ b`. None where the symmetric matrix `A` is not positive definite beyond rounding, whatever the parameters' units: its
/// rows and columns are first scaled so that its diagonal is 1.
pub(super) fn solve_scaled(matrix: &[f64], right: &[f64]) -> Option<Vec<f64>> {
    let dim = right.len();
    let scales: Vec<f64> = (0..dim).map(|k| 1.0 / matrix[k * dim + k].sqrt()).collect();
    if !scales.iter().all(|scale| scale.is_finite()) {
        return None;
    }
    let mut factor: Vec<f64> =
        matrix.iter().enumerate().map(|(place, entry)| entry * scales[place / dim] * scales[place % dim]).collect();
    if !matrix::cholesky(&mut factor, dim, dim as f64 * f64::EPSILON) {
        return None;
    }
    let mut solution: Vec<f64> = right.iter().zip(&scales).map(|(right, scale)| right * scale).collect();
    matrix::cholesky_solve(&factor, &mut solution);
    solution.iter_mut().zip(&scales).for_each(|(x, scale)| *x *= scale);
    solution.iter().all(|x| x.is_finite()).then_some(solution)
}
