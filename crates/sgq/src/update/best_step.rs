//! A step along an answer that is as long as promises the most.

use serde::{Deserialize, Serialize};

use super::{Step, Update};
use crate::{LastGradient, Needs, Random, Setting, kernel};

/// `x −= α ∇f_i(x)` with the `α` at which the expected improvement, Eq. (7), is largest:
///
/// `α = min(max(⟨ḡ, ∇f_i(x)⟩, 0) / (L ‖∇f_i(x)‖²), 1/L)`, with this answer in `ḡ`.
///
/// There is no step size to choose, and none that is too long near the optimum: `α` falls with `ḡ`. An answer that points
/// away from `ḡ` does not move the point, but it is kept, and `ḡ` is the better for it.
///
/// Where `L` is learned it is at first not known at all, and then only from what was seen on the way. Steps are therefore at
/// most half as long again as the longest so far, and the first is a hundredth of the way to the origin, or of 1.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BestStep {
    sharp: bool,
    /// The longest step so far, as far as that limits the next ones.
    longest: f64,
}

/// How much longer than all before it a step can be while `L` is learned.
const GROWTH: f64 = 1.5;

/// The length of the first step where `L` is not known, as a part of the point's.
const FIRST: f64 = 0.01;

impl BestStep {
    /// With the mean `L_i` for `L`.
    pub fn new() -> Self {
        Self::default()
    }

    /// Uses f's own smoothness, where it is given, in place of the mean `L_i`, once everybody was asked: also valid, and steps
    /// are longer.
    pub fn sharp(mut self, sharp: bool) -> Self {
        self.sharp = sharp;
        self
    }
}

impl Update<LastGradient> for BestStep {
    fn settings(&mut self) -> Vec<Setting<'_>> {
        vec![Setting::switch("sharp", &mut self.sharp, "true: f's own smoothness in place of the mean L_i")]
    }

    fn needs(&self) -> Needs {
        Needs { smoothness: true, or_learned: true, ..Needs::none() }
    }

    fn has_own_step(&self) -> bool {
        true
    }

    fn lets_users_go(&self) -> bool {
        true
    }

    fn step(&mut self, step: Step<'_, LastGradient>, _random: &mut Random, point: &mut [f64]) -> bool {
        let gradient = step.reply.gradient;
        let norm = kernel::norm(gradient);
        if norm == 0.0 || norm.is_infinite() {
            return true;
        }
        // The mean over a few users need not be as smooth as f is.
        let sharp = self.sharp && step.belief.unasked() == 0;
        let own = step.smoothness.and_then(|it| it.objective()).filter(|_| sharp);
        let (constant, learned) = match (own, step.belief.learned()) {
            (Some(own), _) => (Some(own), false),
            (None, Some(learned)) => (learned.mean(), true),
            (None, None) => (step.smoothness.map(|it| it.mean()), false),
        };
        // ⟨ḡ, g⟩ / (L ‖g‖²), at most 1/L, as a length.
        let promising = (kernel::dot(step.belief.mean(), gradient) / norm).clamp(0.0, norm);
        let mut length = constant.map_or(f64::INFINITY, |constant| promising / constant);
        if learned {
            let limit = if self.longest > 0.0 { GROWTH * self.longest } else { FIRST * kernel::norm(point).max(1.0) };
            length = length.min(limit);
            self.longest = self.longest.max(length);
        }
        kernel::add_scaled(point, -length / norm, gradient);
        true
    }
}
