//! How smooth the users' functions and `f` are, and how strongly `f` curves.

use super::{Loss, Regression};
use crate::{Oracle as _, kernel, matrix::Square, problem::ProblemError};

impl Regression {
    /// `L_i`, the smoothness of `f`, and `μ`.
    ///
    pub(super) fn find_constants(&mut self) -> Result<(), ProblemError> {
        let most = self.expected_curvatures();
        let mut smoothness = Vec::with_capacity(self.users());
        for user in 0..self.users() {
            smoothness.push(self.block_curvature(user, &most)? + self.user_l2(user));
        }
        self.smoothness = smoothness;
        let (least, largest) = self.extreme_curvatures(&most)?;
        self.objective_smoothness = Some(largest + self.l2);
        let strong = match self.loss {
            Loss::Squares if self.penalised_from == 0 => least + self.l2,
            // The penalty does not help the intercept.
            Loss::Squares => least,
            // Elsewhere the loss may be flat.
            _ if self.penalised_from == 0 => self.l2,
            _ => 0.0,
        };
        self.pl_constant = (strong > 0.0).then_some(strong);
        Ok(())
    }

    /// The second derivative of the loss that each row is expected to have at most. It is a bound but for two losses: Poisson's second
    /// derivative is the rate, which is taken for the larger of 1, the rate at zero, and the count; gamma's is `y/μ`, which is taken for the
    /// larger of 1, what it is on average at the optimum, and what it is where all rows have the mean target, by their shares.
    fn expected_curvatures(&self) -> Vec<f64> {
        let weighted: f64 = self.targets.iter().zip(&self.shares).map(|(target, share)| target * share).sum();
        let mean = weighted / self.shares.iter().sum::<f64>();
        let most = |y: &f64| match self.loss {
            Loss::NegativeBinomial { theta } => 0.25 * (y + theta),
            Loss::Poisson => y.max(1.0),
            Loss::Gamma => (y / mean).max(1.0),
            loss => loss.largest_curvature().unwrap_or(1.0),
        };
        self.targets.iter().map(most).collect()
    }

    /// `L_i ≤ tr ∇²f_i + λ`, from one pass over the rows.
    pub(super) fn bound_smoothness(&mut self) {
        let most = self.expected_curvatures();
        let row = |row: usize| self.shares[row] * most[row] * self.rows.norm_squared(row);
        let user = |user: usize| (self.blocks[user]..self.blocks[user + 1]).map(row).sum::<f64>() + self.user_l2(user);
        self.smoothness = (0..self.users()).map(user).collect();
    }

    /// The largest eigenvalue of a user's curvature, without the penalty.
    fn block_curvature(&self, user: usize, curvatures: &[f64]) -> Result<f64, ProblemError> {
        let block = self.blocks[user]..self.blocks[user + 1];
        let dim = self.rows.dim();
        let largest = |matrix: Square| {
            let failed = || ProblemError::Eigenvalues { of: format!("user {user}'s curvature") };
            matrix.extreme_eigenvalues().map(|(_, largest)| largest.max(0.0)).ok_or_else(failed)
        };
        let count = block.len();
        if count <= dim && count <= DIRECT {
            // The rows' inner products have the same largest eigenvalue, and are fewer.
            let scaled = |row: usize| (self.shares[row] * curvatures[row]).sqrt();
            let mut dense = vec![0.0; count * dim];
            for (line, row) in dense.chunks_exact_mut(dim).zip(block.clone()) {
                self.rows.add_scaled(row, scaled(row), line);
            }
            let line = |k: usize| &dense[k * dim..][..dim];
            if count == 1 {
                // As many as there are rows without groups: no need to ask the solver.
                return Ok(kernel::norm_squared(line(0)));
            }
            let mut products = vec![0.0; count * count];
            for (i, products) in products.chunks_exact_mut(count).enumerate() {
                kernel::dot_with_rows(&dense, line(i), &mut products[..=i]);
            }
            return largest(Square::from_lower(count, products));
        }
        if dim <= DIRECT {
            let mut outer = vec![0.0; dim * dim];
            for row in block {
                self.rows.add_outer(row, self.shares[row] * curvatures[row], &mut outer);
            }
            return largest(Square::from_lower(dim, outer));
        }
        Ok(largest_eigenvalue(dim, |x, image| {
            for row in block.clone() {
                self.rows.add_scaled(row, self.shares[row] * curvatures[row] * self.rows.dot(row, x), image);
            }
        }))
    }

    /// The smallest and the largest eigenvalue of `f`'s curvature, without the penalty.
    fn extreme_curvatures(&mut self, curvatures: &[f64]) -> Result<(f64, f64), ProblemError> {
        let dim = self.rows.dim();
        if dim > DIRECT {
            let largest = largest_eigenvalue(dim, |x, image| {
                kernel::add_scaled(image, 1.0, &self.hessian_times(curvatures, x));
                let from = self.penalised_from;
                kernel::add_scaled(&mut image[from..], -self.l2, &x[from..]);
            });
            return Ok((0.0, largest));
        }
        let outer = self.mean_outer(|row| curvatures[row]);
        if self.loss == Loss::Squares {
            self.curvature = Some(outer.clone());
        }
        let (least, largest) = Square::from_lower(dim, outer)
            .extreme_eigenvalues()
            .ok_or_else(|| ProblemError::Eigenvalues { of: "the mean curvature".into() })?;
        Ok((least.max(0.0), largest.max(0.0)))
    }
}

/// Matrices up to this size are given to the eigenvalue solver; larger ones are only multiplied with.
const DIRECT: usize = 500;

/// The largest eigenvalue of a positive semidefinite matrix, by power iteration: the Rayleigh quotient, plus how far the last
/// vector is from being an eigenvector, to be on the safe side.
fn largest_eigenvalue(dim: usize, add_product: impl Fn(&[f64], &mut [f64])) -> f64 {
    let mut x: Vec<f64> = (0..dim).map(|k| 1.0 + 0.1 * ((k * 7919 % 101) as f64 / 101.0)).collect();
    let mut bound = f64::INFINITY;
    for _ in 0..1000 {
        let norm = kernel::norm(&x);
        if norm == 0.0 {
            return 0.0;
        }
        x.iter_mut().for_each(|value| *value /= norm);
        let mut image = vec![0.0; dim];
        add_product(&x, &mut image);
        let quotient = kernel::dot(&x, &image);
        let mut residual = image.clone();
        kernel::add_scaled(&mut residual, -quotient, &x);
        let off = kernel::norm(&residual);
        bound = quotient + off;
        if off <= 1e-10 * quotient {
            break;
        }
        x = image;
    }
    bound
}
