//! How much of users' own curvature lies along their own gradients: docs/frugal.md § 5.

use serde::{Deserialize, Serialize};

use super::{
    answers::{Answer, Answers},
    secants::Secant,
};
use crate::{frugal::FRUGAL, kernel, matrix::Square};

/// A user's rows make its gradient, and its curvature as well: where they are few, or alike, it bends most along its own
/// gradient. `D̂_i = η Δ_i`, `Δ_i = s_i g_i g_iᵀ / ‖g_i‖² − M`, where `M` makes the mean zero, and `η` is learned from secants.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Alignment {
    /// `Σ (Δu)ᵀ(y − Bu)`, `Σ ‖Δu‖²`, and how many, older ones less.
    seen: f64,
    looked: f64,
    count: f64,
    /// `M`, kept up to date where adding it up anew takes long; none where few were asked, or where a matrix would be too large.
    mean: Option<Mean>,
}

/// `Σ s² g gᵀ / ‖g‖²`, and `Σ s`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Mean {
    squares: Square,
    sizes: f64,
}

impl Mean {
    fn new(answers: &Answers, sizes: &[f64]) -> Self {
        let mut mean = Self { squares: Square::zero(answers.mean_gradient().len()), sizes: 0.0 };
        for (user, answer) in answers.iter() {
            mean.sizes += sizes[user];
            mean.add(sizes[user] * sizes[user], answer);
        }
        mean
    }

    fn add(&mut self, weight: f64, answer: &Answer) {
        let factor = weight / (answer.norm * answer.norm);
        // Neither a gradient of zero, nor one past what numbers can hold.
        if factor.is_finite() && factor != 0.0 {
            self.squares.add_outer(factor, &answer.gradient, &answer.gradient);
        }
    }

    fn times(&self, v: &[f64]) -> Vec<f64> {
        let mut image = self.squares.times_vector(v);
        image.iter_mut().for_each(|value| *value /= self.sizes);
        image
    }
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
            (self.seen, self.looked, self.count) = (seen, looked, keep * self.count + weight);
        }
    }

    /// Takes a user's new answer in place of the one before into the mean of all.
    pub fn replace(&mut self, user: usize, answers: &Answers, sizes: &[f64]) {
        let is_large = answers.count() >= FRUGAL.users_per_move && answers.mean_gradient().len() <= FRUGAL.dense_up_to;
        match (&mut self.mean, answers.get(user)) {
            (Some(mean), Some(now)) => {
                let size = sizes[user];
                match answers.replaced() {
                    Some(before) => mean.add(-size * size, before),
                    None => mean.sizes += size,
                }
                mean.add(size * size, now);
            }
            _ if is_large => self.mean = Some(Mean::new(answers, sizes)),
            _ => {}
        }
    }

    /// The mean of all is to be added up anew.
    pub fn forget_mean(&mut self) {
        self.mean = None;
    }

    /// `Δ_i v`, Eq. (18), of a user of this size with this answer.
    pub fn expected(&self, size: f64, answer: &Answer, answers: &Answers, sizes: &[f64], v: &[f64]) -> Vec<f64> {
        let mut expected = self.mean.as_ref().map_or_else(|| mean_along(answers, sizes, v), |mean| mean.times(v));
        expected.iter_mut().for_each(|value| *value = -*value);
        add_along(&mut expected, size, answer, kernel::dot(&answer.gradient, v));
        expected
    }
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

    /// Kept up to date answer by answer, `M` is what it is added up anew; also beside gradients of zero, and past what numbers can hold.
    #[test]
    fn the_mean_is_kept_up_to_date() {
        let users = 300;
        let (mut answers, mut alignment) = (Answers::new(users, 2), Alignment::default());
        let sizes: Vec<f64> = (0..users).map(|user| 0.5 + user as f64 / users as f64).collect();
        for answer in 0..3 * users {
            let user = answer % users;
            let size = if user == 7 { 0.0 } else { 10f64.powi(answer as i32 % 9 - 4) };
            let size = if answer == 310 { 1e200 } else { size };
            let gradient = [size * (answer as f64).sin(), size * (answer as f64).cos()];
            answers.take(user, sizes[user], (&[answer as f64, 1.0], &gradient), 0.0, None);
            alignment.replace(user, &answers, &sizes);
            assert_eq!(alignment.mean.is_some(), answers.count() >= FRUGAL.users_per_move);
        }
        let (kept, anew) = (alignment.mean.unwrap(), mean_along(&answers, &sizes, &[0.6, -0.8]));
        for (kept, anew) in kept.times(&[0.6, -0.8]).iter().zip(anew) {
            assert!((kept - anew).abs() < 1e-12, "{kept} {anew}");
        }
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
