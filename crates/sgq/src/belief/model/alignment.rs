//! How much of users' own curvature lies along their own gradients: docs/frugal.md § 5.

use serde::{Deserialize, Serialize};

use super::{
    answers::{Answer, Answers},
    secants::Secant,
};
use crate::{frugal::FRUGAL, kernel};

/// A user's rows make its gradient, and its curvature as well: where they are few, or alike, it bends most along its own
/// gradient. `D̂_i = η Δ_i`, `Δ_i = s_i g_i g_iᵀ / ‖g_i‖² − M`, where `M` makes the mean zero, and `η` is learned from secants.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Alignment {
    /// `Σ (Δu)ᵀ(y − Bu)`, `Σ ‖Δu‖²`, and how many, older ones less.
    seen: f64,
    looked: f64,
    count: f64,
}

impl Alignment {
    /// `η`, Eq. (19), at most `most`.
    pub fn strength(&self, dim: usize, most: f64) -> f64 {
        if self.count > 0.0 {
            let doubted = self.looked * (1.0 + FRUGAL.alignment_doubt / self.count) + 1.0 / dim as f64;
            (self.seen / doubted).max(0.0).min(most)
        } else {
            0.0
        }
    }

    /// Learns from a secant that counts so much, of which `expected` is `Δu` and `shared` is `(Δu)ᵀBu`.
    pub fn learn(&mut self, secant: &Secant, expected: &[f64], shared: f64, keep: f64, weight: f64) {
        let seen = kernel::dot(expected, &secant.change) - shared;
        let (seen, looked) =
            (keep * self.seen + weight * seen, keep * self.looked + weight * kernel::norm_squared(expected));
        // Not past what numbers can hold.
        if seen.is_finite() && looked.is_finite() {
            *self = Self { seen, looked, count: keep * self.count + weight };
        }
    }
}

/// `Δ_i v`, Eq. (18), of a user of this size with this answer.
pub(super) fn expected(size: f64, answer: &Answer, answers: &Answers, sizes: &[f64], v: &[f64]) -> Vec<f64> {
    let mut expected = mean_along(answers, sizes, v);
    expected.iter_mut().for_each(|value| *value = -*value);
    add_along(&mut expected, size, answer, kernel::dot(&answer.gradient, v));
    expected
}

/// Adds `weight · g gᵀv / ‖g‖²`, where `slope` is `gᵀv`; nothing where the gradient is zero, or past what numbers can hold.
pub(super) fn add_along(sum: &mut [f64], weight: f64, answer: &Answer, slope: f64) {
    if let Some(factor) = factor_along(weight, answer, slope) {
        kernel::add_scaled(sum, factor, &answer.gradient);
    }
}

/// What of `g` that is.
pub(super) fn factor_along(weight: f64, answer: &Answer, slope: f64) -> Option<f64> {
    Some(weight * slope / (answer.norm * answer.norm)).filter(|factor| factor.is_finite())
}

/// `M v`.
pub(super) fn mean_along(answers: &Answers, sizes: &[f64], v: &[f64]) -> Vec<f64> {
    let mut sum = vec![0.0; v.len()];
    let weight: f64 = answers.iter().map(|(user, _)| sizes[user]).sum();
    let terms = answers.iter().filter_map(|(user, answer)| {
        let slope = kernel::dot(&answer.gradient, v);
        Some((factor_along(sizes[user] * sizes[user], answer, slope)?, &*answer.gradient))
    });
    kernel::add_all(&mut sum, terms);
    sum.iter_mut().for_each(|value| *value /= weight);
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    fn learned(changes: &[[f64; 2]]) -> Alignment {
        let mut alignment = Alignment::default();
        for change in changes {
            let secant = Secant { direction: vec![1.0, 0.0], change: change.to_vec(), way: 1.0, noise: 0.0 };
            alignment.learn(&secant, &[0.5, -0.5], 0.5, 0.9, 1.0);
        }
        alignment
    }

    #[test]
    fn strength_has_bounds() {
        assert_eq!(Alignment::default().strength(2, 5.0), 0.0);
        // Σ (Δu)ᵀ(y − Bu) is 1 and Σ ‖Δu‖² is ½, which doubt makes four times as much, and half a unit more.
        assert_eq!(learned(&[[3.0, 0.0]]).strength(2, 5.0), 1.0 / (0.5 * 4.0 + 0.5));
        assert_eq!(learned(&[[300.0, 0.0]]).strength(2, 5.0), 5.0);
        assert_eq!(learned(&[[-3.0, 0.0]]).strength(2, 5.0), 0.0);
    }

    #[test]
    fn numbers_past_all_bounds_are_left_out() {
        let fine = learned(&[[3.0, 0.0]]);
        for wrong in [f64::NAN, f64::INFINITY] {
            assert_eq!(learned(&[[3.0, 0.0], [wrong, 0.0]]), fine);
        }
        let huge = learned(&[[f64::MAX, -f64::MAX]; 9]);
        assert!(huge.strength(2, 5.0) == 5.0);
    }
}
