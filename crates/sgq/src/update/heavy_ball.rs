//! Steps that keep some of the last move: the heavy ball.

use serde::{Deserialize, Serialize};

use super::{Step, Update};
use crate::{Belief, DefaultStep, Order, Random, Setting, setting::Range, step_size::Known};

/// `x_{t+1} = x_t − α ∇f_i(x_t) + β (x_t − x_{t−1})` (Polyak 1964) with the momentum `β`; the gradient counts as much as its
/// weight says. The first step is along the gradient alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HeavyBall {
    /// `β`.
    momentum: f64,
    /// `x_{t−1}`; empty before the first step.
    last_point: Vec<f64>,
}

impl HeavyBall {
    /// With a momentum in `[0, 1)`; 0 makes it SGD.
    pub fn new(momentum: f64) -> Self {
        Self { momentum, last_point: Vec::new() }
    }
}

impl Default for HeavyBall {
    /// With the momentum of most practice, 0.9.
    fn default() -> Self {
        Self::new(0.9)
    }
}

impl<B: Belief> Update<B> for HeavyBall {
    fn settings(&mut self) -> Vec<Setting<'_>> {
        let summary = "β, the part of the last move that is made again, in [0, 1)";
        vec![Setting::number("momentum", &mut self.momentum, Range::below(0.0, 1.0), summary)]
    }

    fn default_step(&self, known: &Known<'_>) -> DefaultStep {
        // A gradient moves the point by α (1 + β + β² + …) in the end: as far as SGD's default step.
        let share = 1.0 - self.momentum;
        match known.order {
            Order::BySmoothness => DefaultStep::new("(1 − β)/(2 mean L_i)", share / (2.0 * known.smoothness.mean())),
            _ => DefaultStep::new("(1 − β)/(2 L_max)", share / (2.0 * known.smoothness.max())),
        }
    }

    fn lets_users_go(&self) -> bool {
        true
    }

    fn step(&mut self, step: Step<'_, B>, _random: &mut Random, point: &mut [f64]) -> bool {
        if self.last_point.is_empty() {
            self.last_point = point.to_vec();
        }
        let size = step.size * step.weight;
        for ((x, last), gradient) in point.iter_mut().zip(&mut self.last_point).zip(step.reply.gradient) {
            let here = *x;
            *x = here - size * gradient + self.momentum * (here - *last);
            *last = here;
        }
        true
    }
}
