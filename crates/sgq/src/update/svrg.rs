//! SVRG: a full gradient now and then, and steps corrected by it.

use serde::{Deserialize, Serialize};

use super::{Step, Update, reduced_variance_step};
use crate::{Belief, Random, Reply, SettingsError, kernel};

/// `x −= α (∇f_i(x) − ∇f_i(x_snap) + ∇f(x_snap))` (Johnson & Zhang 2013).
///
/// Every `m` steps all users are asked at the current point, the snapshot; their gradients are kept, so that a step
/// costs one query and not two.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Svrg {
    inner_steps: usize,
    steps_left: usize,
    dim: usize,
    snapshot: Vec<f64>,
    mean: Vec<f64>,
}

impl Svrg {
    /// Takes a snapshot every `inner_steps` steps (the paper's experiment has 10).
    pub fn new(inner_steps: usize) -> Self {
        Self { inner_steps, steps_left: 0, dim: 0, snapshot: Vec::new(), mean: Vec::new() }
    }
}

impl<B: Belief> Update<B> for Svrg {
    fn begin(&mut self, users: usize, dim: usize) -> Result<(), SettingsError> {
        if self.inner_steps == 0 {
            return Err(SettingsError::NoInnerSteps);
        }
        self.dim = dim;
        self.snapshot = vec![0.0; users * dim];
        self.mean = vec![0.0; dim];
        Ok(())
    }

    fn wants_sweep(&self) -> bool {
        self.steps_left == 0
    }

    fn observe_sweep(&mut self, reply: &Reply<'_>) {
        self.snapshot[reply.user * self.dim..][..self.dim].copy_from_slice(reply.gradient);
    }

    fn finish_sweep(&mut self, _step_size: f64, _point: &mut [f64]) -> bool {
        kernel::mean_of_rows(&self.snapshot, &mut self.mean);
        self.steps_left = self.inner_steps;
        false
    }

    fn step(&mut self, step: &Step<'_, B>, _random: &mut Random, point: &mut [f64]) {
        let kept = &self.snapshot[step.reply.user * self.dim..][..self.dim];
        reduced_variance_step(point, step, kept, &self.mean);
        self.steps_left -= 1;
    }
}
