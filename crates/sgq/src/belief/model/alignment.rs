//! How much of users' own curvature lies along their own gradients.

use serde::{Deserialize, Serialize};

use super::{
    answers::{Answer, Answers},
    secants::Secant,
};
use crate::kernel;

/// The belief, held before any secant is seen, that there is no such curvature counts as much as so many of them, and one more
/// along a direction that has nothing to do with the user's gradient.
const DOUBT: f64 = 3.0;

/// A user's rows make its gradient, and its curvature as well: where they are few, or alike, it bends most along its own
/// gradient. `D_i = η Δ_i`, `Δ_i = s_i ĝ_iĝ_iᵀ − M`, where `M` is the mean of the first part; `η` is learned from secants.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Alignment {
    /// `η`.
    strength: f64,
    /// `Σ (Δu)ᵀ(y − Bu)`, `Σ ‖Δu‖²`, and how many, older ones less.
    seen: f64,
    looked: f64,
    count: f64,
}

impl Alignment {
    pub fn strength(&self) -> f64 {
        self.strength
    }

    /// Learns from a secant of a user whose answer was `before`, where `shared` is `B u` and curvature is at most `most`.
    /// Returns the secant without what is so explained.
    pub fn learn(&mut self, user: User<'_>, secant: &Secant, shared: &[f64], most: f64, keep: f64) -> Secant {
        let mut expected = mean(user.answers, user.sizes, &secant.direction);
        expected.iter_mut().for_each(|value| *value = -*value);
        along(&mut expected, user.sizes[user.user], user.before, kernel::dot(&user.before.gradient, &secant.direction));
        let left = secant.change.iter().zip(shared).zip(&expected);
        let seen: f64 = left.map(|((change, shared), expected)| expected * (change - shared)).sum();
        let looked = kernel::norm_squared(&expected);
        if seen.is_finite() && looked.is_finite() {
            self.seen = keep * self.seen + seen;
            self.looked = keep * self.looked + looked;
            self.count = keep * self.count + 1.0;
            let doubted = self.looked * (1.0 + DOUBT / self.count) + 1.0 / expected.len() as f64;
            self.strength = (self.seen / doubted).clamp(0.0, most);
        }
        let mut rest = secant.clone();
        kernel::add_scaled(&mut rest.change, -self.strength, &expected);
        rest
    }
}

/// Whose secant it is.
pub(super) struct User<'a> {
    pub user: usize,
    pub before: &'a Answer,
    pub answers: &'a Answers,
    pub sizes: &'a [f64],
}

/// Adds `weight · ĝ ĝᵀv`, where `slope` is `gᵀv`.
pub(super) fn along(sum: &mut [f64], weight: f64, answer: &Answer, slope: f64) {
    let squared = answer.norm * answer.norm;
    if squared > 0.0 {
        kernel::add_scaled(sum, weight * slope / squared, &answer.gradient);
    }
}

/// `M v`.
pub(super) fn mean(answers: &Answers, sizes: &[f64], v: &[f64]) -> Vec<f64> {
    let mut sum = vec![0.0; v.len()];
    let mut weight = 0.0;
    for (user, answer) in answers.iter() {
        let size = sizes[user];
        weight += size;
        along(&mut sum, size * size, answer, kernel::dot(&answer.gradient, v));
    }
    sum.iter_mut().for_each(|value| *value /= weight);
    sum
}
