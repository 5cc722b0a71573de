//! SVRG: a full gradient now and then, and steps corrected by it.

use serde::{Deserialize, Serialize};

use super::{Step, Update, reduced_variance_step, snapshots::Snapshot};
use crate::{Belief, Random, Reply, SettingsError};

/// `x −= α (∇f_i(x) − ∇f_i(x_snap) + ∇f(x_snap))` (Johnson & Zhang 2013).
///
/// Every `m` steps all users are asked at the current point, the snapshot; their gradients are kept, so that a step
/// costs one query and not two.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Svrg {
    inner_steps: usize,
    steps_left: usize,
    snapshot: Snapshot,
}

impl Svrg {
    /// Takes a snapshot every `inner_steps` steps (the paper's experiment has 10).
    pub fn new(inner_steps: usize) -> Self {
        Self { inner_steps, steps_left: 0, snapshot: Snapshot::default() }
    }
}

impl<B: Belief> Update<B> for Svrg {
    fn begin(&mut self, users: usize, dim: usize) -> Result<(), SettingsError> {
        if self.inner_steps == 0 {
            return Err(SettingsError::NoInnerSteps);
        }
        self.snapshot = Snapshot::new(users, dim);
        Ok(())
    }

    fn wants_sweep(&self) -> bool {
        self.steps_left == 0
    }

    fn observe_sweep(&mut self, reply: &Reply<'_>) {
        self.snapshot.take(reply);
    }

    fn finish_sweep(&mut self, _step_size: f64, _point: &mut [f64]) -> bool {
        self.snapshot.finish();
        self.steps_left = self.inner_steps;
        false
    }

    fn step(&mut self, step: &Step<'_, B>, _random: &mut Random, point: &mut [f64]) {
        reduced_variance_step(point, step, self.snapshot.row(step.reply.user), &self.snapshot.mean);
        self.steps_left -= 1;
    }
}
