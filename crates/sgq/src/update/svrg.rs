//! SVRG: a full gradient now and then, and steps corrected by it.

use serde::{Deserialize, Serialize};

use super::{Step, Update, Wants, reduced_variance_step, snapshots::Snapshot};
use crate::{Belief, DefaultStep, Random, Setting, SettingError, choice::Purpose, step_size::Known};

/// `x −= α (∇f_i(x) − ∇f_i(x_snap) + ∇f(x_snap))` (Johnson & Zhang 2013).
///
/// Every `m` steps all users are asked at the current point, the snapshot; their gradients are kept, so that a step
/// costs one query and not two.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Svrg {
    /// By default twice the number of users.
    inner_steps: Option<usize>,
    steps_left: usize,
    snapshot: Snapshot,
}

impl Svrg {
    /// Takes a snapshot every `inner_steps` steps (the paper's experiment has 10); by default two rounds' worth.
    pub fn new(inner_steps: Option<usize>) -> Self {
        Self { inner_steps, steps_left: 0, snapshot: Snapshot::default() }
    }
}

impl<B: Belief> Update<B> for Svrg {
    fn settings(&mut self) -> Vec<Setting<'_>> {
        let summary = "steps between snapshots; default 2n (the paper's experiment: 10)";
        vec![Setting::count("inner_steps", &mut self.inner_steps, summary)]
    }

    fn begin(&mut self, users: usize, dim: usize) -> Result<(), SettingError> {
        self.inner_steps = Some(self.inner_steps.unwrap_or(users.saturating_mul(2)));
        self.snapshot = Snapshot::new(users, dim);
        Ok(())
    }

    fn default_step(&self, known: &Known<'_>) -> DefaultStep {
        DefaultStep::new("1/(10 L_max)", 1.0 / (10.0 * known.smoothness.max()))
    }

    fn wants(&self) -> Wants<'_> {
        if self.steps_left == 0 { Wants::Everybody } else { Wants::Chosen }
    }

    fn step(&mut self, step: Step<'_, B>, _random: &mut Random, point: &mut [f64]) -> bool {
        if let Purpose::Sweep { last } = step.reply.purpose {
            self.snapshot.take(&step.reply, last);
            self.steps_left = self.inner_steps.filter(|_| last).unwrap_or(0);
            return false;
        }
        let (fresh, kept) = (step.reply.gradient, self.snapshot.row(step.reply.user));
        reduced_variance_step(point, step.weight, step.size, fresh, kept, &self.snapshot.mean);
        // Answers that were out when a round ended belong to it.
        self.steps_left = self.steps_left.saturating_sub(1);
        true
    }
}
