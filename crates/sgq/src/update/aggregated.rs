//! Steps along everybody's last gradient: SAG, IAG, DIAG.

use serde::{Deserialize, Serialize};

use super::{Step, Update};
use crate::{LastGradient, Random, kernel};

/// `x −= α ḡ`, with this answer already in the mean `ḡ`: SAG with uniform choice (Schmidt, Le Roux & Bach 2017), IAG with
/// cyclic choice (Blatt, Hero & Gauchman 2007).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Aggregated;

impl Update<LastGradient> for Aggregated {
    fn needs_everybody(&self) -> bool {
        true
    }

    fn step(&mut self, step: &Step<'_, LastGradient>, _random: &mut Random, point: &mut [f64]) {
        move_along_new_mean(step, point);
    }
}

/// `x = x̄ − α ḡ`, with the mean `x̄` of the points at which the last gradients were taken: DIAG (Mokhtari, Gürbüzbalaban &
/// Ribeiro 2018), with cyclic choice.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DoublyAggregated {
    mean_point: Vec<f64>,
    /// Steps until the mean is computed afresh: a running mean keeps every rounding error for ever.
    steps_left: usize,
}

impl DoublyAggregated {
    /// Before the first step.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Update<LastGradient> for DoublyAggregated {
    fn needs_everybody(&self) -> bool {
        true
    }

    fn step(&mut self, step: &Step<'_, LastGradient>, _random: &mut Random, point: &mut [f64]) {
        let (belief, user) = (step.belief, step.reply.user);
        let users = belief.users() as f64;
        if self.steps_left == 0 {
            self.steps_left = belief.users();
            self.mean_point = vec![0.0; point.len()];
            for user in 0..belief.users() {
                kernel::add_scaled(&mut self.mean_point, 1.0 / users, belief.point(user));
            }
        }
        self.steps_left -= 1;
        let places = self.mean_point.iter_mut().zip(step.reply.point.iter().zip(belief.point(user)));
        for (mean, (new, old)) in places {
            *mean += (new - old) / users;
        }
        point.copy_from_slice(&self.mean_point);
        move_along_new_mean(step, point);
    }
}

fn move_along_new_mean(step: &Step<'_, LastGradient>, point: &mut [f64]) {
    let users = step.belief.users() as f64;
    let kept = step.belief.gradient(step.reply.user);
    let rows = step.reply.gradient.iter().zip(&*kept).zip(step.belief.mean());
    for (x, ((new, old), mean)) in point.iter_mut().zip(rows) {
        *x -= step.size * (mean + (new - old) / users);
    }
}
