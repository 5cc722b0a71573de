//! Smoothness constants that nobody gave: learned from users who were asked twice.

use serde::{Deserialize, Serialize};

/// Answers that differ by less, as a part of their length, tell of rounding rather than of curvature: a table in f32 keeps
/// seven digits.
const SMALLEST_CHANGE: f64 = 1e-6;

/// What is known of each user's smoothness `L_i` from its own answers.
///
/// Two answers of one user bound it from below: `L_i ≥ ‖g − g̃_i‖ / ‖x − x_τi‖`. The largest such bound so far is kept.
/// Users of whom nothing was learned are believed to have the mean of the others.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LearnedSmoothness {
    /// Zero where nothing was learned.
    each: Vec<f64>,
}

impl LearnedSmoothness {
    pub(super) fn new(users: usize) -> Self {
        Self { each: vec![0.0; users] }
    }

    /// Takes in that a user's gradient, which is `norm` long, has changed by `change` where the point moved by `distance`.
    pub(super) fn learn(&mut self, user: usize, norm: f64, change: f64, distance: f64) {
        let bound = change / distance;
        if change > SMALLEST_CHANGE * norm && bound.is_finite() && bound > self.each[user] {
            self.each[user] = bound;
        }
    }

    /// The largest bound of the user's `L_i` so far; `None` where nothing was learned of it.
    pub fn of(&self, user: usize) -> Option<f64> {
        self.each.get(user).copied().filter(|value| *value > 0.0)
    }

    /// The mean of those learned, which stands for `L`; `None` before anything was learned.
    pub fn mean(&self) -> Option<f64> {
        let learned = || self.each.iter().filter(|value| **value > 0.0);
        let count = learned().count();
        // Each is divided first: their sum may be past what numbers can hold.
        (count > 0).then(|| learned().map(|value| value / count as f64).sum())
    }

    /// Everybody's `L_i` as it is believed, into `each`.
    pub(crate) fn believed(&self, mean: f64, each: &mut Vec<f64>) {
        each.clear();
        each.extend(self.each.iter().map(|value| if *value > 0.0 { *value } else { mean }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_only_rise_and_rounding_teaches_nothing() {
        let mut learned = LearnedSmoothness::new(3);
        assert_eq!((learned.of(0), learned.mean()), (None, None));
        learned.learn(0, 1.0, 3.0, 1.5);
        learned.learn(0, 1.0, 1.0, 1.0);
        learned.learn(1, 1.0, 4.0, 1.0);
        // The same point; answers that differ in the last digits; a bound past all numbers.
        for (norm, change, distance) in [(1.0, 1.0, 0.0), (1.0, 0.0, 0.0), (1.0, 1e-9, 1e-12), (1.0, 1e300, 1e-300)] {
            learned.learn(2, norm, change, distance);
        }
        assert_eq!([0, 1, 2].map(|user| learned.of(user)), [Some(2.0), Some(4.0), None]);
        assert_eq!(learned.mean(), Some(3.0));
        let mut each = Vec::new();
        learned.believed(3.0, &mut each);
        assert_eq!(each, [2.0, 4.0, 3.0]);
    }
}
