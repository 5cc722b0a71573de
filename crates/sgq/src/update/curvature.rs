//! Steps with curvature: incremental quasi-Newton, and the curvature-aided aggregated gradient.

use serde::{Deserialize, Serialize};

use super::{Step, Update, Wants};
use crate::{
    Belief, DefaultStep, LastGradient, Needs, Random, Reply, SettingError, belief::Replaced, choice::Purpose, kernel,
    matrix, step_size::Known,
};

/// IQN (Mokhtari, Eisen & Ribeiro 2018): every user has a matrix `B_i`, at first `I / α`, that its answers improve by BFGS;
/// `x = (Σ B_i)⁻¹ (Σ B_i x_i − Σ g_i)` over the last points and gradients. Cyclic choice. Keeps `n d²` numbers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct QuasiNewton {
    matrices: Vec<f64>,
    /// `Σ B_i`.
    total: Vec<f64>,
    /// `Σ (B_i x_i − g_i)`.
    pull: Vec<f64>,
}

impl QuasiNewton {
    /// Before the first step.
    pub fn new() -> Self {
        Self::default()
    }

    /// From the last answers as they were before that of this user.
    fn start(&mut self, belief: &LastGradient, asked: usize, dim: usize, scale: f64) {
        let users = belief.users();
        self.matrices = vec![0.0; users * dim * dim];
        self.total = vec![0.0; dim * dim];
        self.pull = vec![0.0; dim];
        for user in 0..users {
            for k in 0..dim {
                self.matrices[user * dim * dim + k * dim + k] = scale;
            }
            if user == asked {
                let Replaced { point, gradient, .. } = belief.replaced();
                kernel::add_scaled(&mut self.pull, scale, point);
                kernel::add_scaled(&mut self.pull, -1.0, gradient);
            } else {
                kernel::add_scaled(&mut self.pull, scale, belief.point(user));
                kernel::add_scaled(&mut self.pull, -1.0, &belief.gradient(user));
            }
        }
        for k in 0..dim {
            self.total[k * dim + k] = scale * users as f64;
        }
    }
}

impl Update<LastGradient> for QuasiNewton {
    fn needs(&self) -> Needs {
        Needs { everybody: true, ..Needs::none() }
    }

    fn default_step(&self, known: &Known<'_>) -> DefaultStep {
        // IQN's first curvature.
        DefaultStep::new("1/L_max", 1.0 / known.smoothness.max())
    }

    fn step(&mut self, step: Step<'_, LastGradient>, _random: &mut Random, point: &mut [f64]) -> bool {
        let Reply { user, point: here, gradient, .. } = step.reply;
        let dim = point.len();
        if self.matrices.is_empty() {
            self.start(step.belief, user, dim, 1.0 / step.size);
        }
        let Replaced { point: old_point, gradient: old_gradient, .. } = step.belief.replaced();
        let difference = |new: &[f64], old: &[f64]| -> Vec<f64> { new.iter().zip(old).map(|(n, o)| n - o).collect() };
        let (s, y) = (difference(here, old_point), difference(gradient, old_gradient));
        let matrix = &mut self.matrices[user * dim * dim..][..dim * dim];
        kernel::add_scaled(&mut self.pull, -1.0, &times(matrix, old_point));
        kernel::add_scaled(&mut self.pull, 1.0, old_gradient);
        let image = times(matrix, &s);
        let (along, curved) = (kernel::dot(&s, &image), kernel::dot(&s, &y));
        // Without curvature along the way there is nothing to learn.
        if along > 0.0 && curved > 1e-12 * kernel::norm(&s) * kernel::norm(&y) {
            for row in 0..dim {
                for column in 0..dim {
                    let change = y[row] * y[column] / curved - image[row] * image[column] / along;
                    matrix[row * dim + column] += change;
                    self.total[row * dim + column] += change;
                }
            }
        }
        kernel::add_scaled(&mut self.pull, 1.0, &times(matrix, here));
        kernel::add_scaled(&mut self.pull, -1.0, gradient);
        if let Some(solution) = solve(&self.total, &self.pull) {
            point.copy_from_slice(&solution);
        }
        true
    }
}

/// CIAG (Wai et al. 2018): `x −= (α/n) Σ (g_i + H_i (x − x_i))` over the last points, gradients and Hessians `H_i`. Cyclic
/// choice. Every answer comes with a Hessian: a stronger oracle than all others have.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CurvatureAided {
    started: bool,
    hessians: Vec<f64>,
    offsets: Vec<f64>,
    /// `Σ H_i`.
    total: Vec<f64>,
    /// `Σ (g_i − H_i x_i)`.
    offset: Vec<f64>,
}

impl CurvatureAided {
    /// Before the first answer.
    pub fn new() -> Self {
        Self::default()
    }

    fn take(&mut self, reply: &Reply<'_>) {
        let dim = reply.gradient.len();
        // The session refuses to open where there are none.
        let Some(hessian) = reply.hessian else {
            return;
        };
        let old = &mut self.hessians[reply.user * dim * dim..][..dim * dim];
        let totals = self.total.iter_mut().zip(old.iter_mut().zip(hessian));
        for (total, (old, new)) in totals {
            *total += new - *old;
            *old = *new;
        }
        let image = times(hessian, reply.point);
        let old = &mut self.offsets[reply.user * dim..][..dim];
        let offsets = self.offset.iter_mut().zip(old.iter_mut().zip(reply.gradient.iter().zip(&image)));
        for (offset, (old, (gradient, image))) in offsets {
            *offset += gradient - image - *old;
            *old = gradient - image;
        }
    }
}

impl<B: Belief> Update<B> for CurvatureAided {
    fn begin(&mut self, users: usize, dim: usize) -> Result<(), SettingError> {
        self.hessians = vec![0.0; users * dim * dim];
        self.offsets = vec![0.0; users * dim];
        self.total = vec![0.0; dim * dim];
        self.offset = vec![0.0; dim];
        Ok(())
    }

    fn needs(&self) -> Needs {
        Needs { hessians: true, ..Needs::none() }
    }

    fn default_step(&self, known: &Known<'_>) -> DefaultStep {
        DefaultStep::new("1/L", 1.0 / known.objective())
    }

    fn wants(&self) -> Wants<'_> {
        if self.started { Wants::Chosen } else { Wants::Everybody }
    }

    fn step(&mut self, step: Step<'_, B>, _random: &mut Random, point: &mut [f64]) -> bool {
        self.take(&step.reply);
        if let Purpose::Sweep { last } = step.reply.purpose {
            self.started = last;
            return false;
        }
        let users = (self.offsets.len() / point.len()) as f64;
        let mut direction = times(&self.total, step.reply.point);
        kernel::add_scaled(&mut direction, 1.0, &self.offset);
        kernel::add_scaled(point, -step.size / users, &direction);
        true
    }
}

fn times(matrix: &[f64], x: &[f64]) -> Vec<f64> {
    matrix.chunks_exact(x.len()).map(|row| kernel::dot(row, x)).collect()
}

fn solve(matrix: &[f64], right: &[f64]) -> Option<Vec<f64>> {
    let (mut factor, mut solution) = (matrix.to_vec(), right.to_vec());
    if !matrix::cholesky(&mut factor, right.len(), 0.0) {
        return None;
    }
    matrix::cholesky_solve(&factor, &mut solution);
    Some(solution)
}
