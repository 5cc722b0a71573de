//! Steps along everybody's last gradient: SAG, IAG, DIAG.

use serde::{Deserialize, Serialize};

use super::{Step, Update};
use crate::{Belief, DefaultStep, LastGradient, Order, Random, kernel, step_size::Known};

/// `x −= α ḡ`, with this answer already in the mean `ḡ`: SAG with uniform choice (Schmidt, Le Roux & Bach 2017), IAG with
/// cyclic choice (Blatt, Hero & Gauchman 2007). Over a [lazy](LastGradient::lazy) table the mean is over the users asked so
/// far.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Aggregated;

impl Update<LastGradient> for Aggregated {
    fn default_step(&self, known: &Known<'_>) -> DefaultStep {
        match known.order {
            // Gradients up to n steps old act like a delay.
            Order::InTurn => {
                DefaultStep::new("1/(n L)", 1.0 / (known.smoothness.each().len() as f64 * known.objective()))
            }
            _ => DefaultStep::new("1/(16 L_max)", 1.0 / (16.0 * known.smoothness.max())),
        }
    }

    fn lets_users_go(&self) -> bool {
        true
    }

    fn step(&mut self, step: Step<'_, LastGradient>, _random: &mut Random, point: &mut [f64]) -> bool {
        move_along_new_mean(&step, point);
        true
    }
}

/// `x = x̄ − α ḡ`, with the mean `x̄` of the points at which the last gradients were taken: DIAG (Mokhtari, Gürbüzbalaban &
/// Ribeiro 2018), with cyclic choice. Over a [lazy](LastGradient::lazy) table both means are over the users asked so far.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DoublyAggregated {
    mean_point: Vec<f64>,
    /// Steps until the mean is computed afresh: a running mean keeps every rounding error for ever.
    steps_left: usize,
    /// The belief's answers when the mean was last brought up to date: some may be for the belief alone.
    answers_seen: u64,
}

impl DoublyAggregated {
    /// Before the first step.
    pub fn new() -> Self {
        Self::default()
    }

    /// From the points as they were before the answer of this user.
    fn compute_afresh(&mut self, belief: &LastGradient, asked: usize, dim: usize) {
        let replaced = belief.replaced();
        let users_before = (belief.users_in_mean() - usize::from(replaced.first)) as f64;
        self.mean_point = vec![0.0; dim];
        for user in (0..belief.users()).filter(|user| belief.is_asked(*user)) {
            if user != asked {
                kernel::add_scaled(&mut self.mean_point, 1.0 / users_before, belief.point(user));
            } else if !replaced.first {
                kernel::add_scaled(&mut self.mean_point, 1.0 / users_before, replaced.point);
            }
        }
    }
}

impl Update<LastGradient> for DoublyAggregated {
    fn default_step(&self, known: &Known<'_>) -> DefaultStep {
        DefaultStep::new("2/(L_max + μ)", 2.0 / (known.smoothness.max() + known.pl_constant.unwrap_or(0.0)))
    }

    fn step(&mut self, step: Step<'_, LastGradient>, _random: &mut Random, point: &mut [f64]) -> bool {
        let (belief, replaced) = (&*step.belief, step.belief.replaced());
        if self.steps_left == 0 || self.answers_seen + 1 != belief.answers() {
            self.steps_left = belief.users();
            self.compute_afresh(belief, step.reply.user, point.len());
        }
        self.steps_left -= 1;
        self.answers_seen = belief.answers();
        let users = belief.users_in_mean() as f64;
        for (k, mean) in self.mean_point.iter_mut().enumerate() {
            let old = if replaced.first { *mean } else { replaced.point[k] };
            *mean += (step.reply.point[k] - old) / users;
        }
        point.copy_from_slice(&self.mean_point);
        move_along_new_mean(&step, point);
        true
    }
}

/// The new mean from the old one and the change, as the authors write it: the table's own, summed in another way, would differ
/// in the last digits.
fn move_along_new_mean(step: &Step<'_, LastGradient>, point: &mut [f64]) {
    let users = step.belief.users_in_mean() as f64;
    let before = step.belief.replaced();
    let rows = step.reply.gradient.iter().zip(before.gradient_or_mean()).zip(before.mean);
    for (x, ((new, old), mean)) in point.iter_mut().zip(rows) {
        *x -= step.size * (mean + (new - old) / users);
    }
}
