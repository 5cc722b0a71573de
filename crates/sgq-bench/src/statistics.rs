//! Means over trials, with their standard errors.

/// Running means of curves, one trial after the other: the order decides the last bits, so it must be fixed.
#[derive(Clone, Debug, Default)]
pub struct CurveMean {
    trials: u64,
    mean: Vec<f64>,
    /// Sums of squared deviations from the running mean (Welford).
    squares: Vec<f64>,
}

impl CurveMean {
    /// Takes in the next trial.
    pub fn add(&mut self, values: &[f64]) {
        self.mean.resize(values.len(), 0.0);
        self.squares.resize(values.len(), 0.0);
        self.trials += 1;
        let state = self.mean.iter_mut().zip(&mut self.squares);
        for ((mean, squares), &value) in state.zip(values) {
            if mean.is_infinite() || !value.is_finite() {
                // One trial that diverged makes the mean infinite for good.
                (*mean, *squares) = (f64::INFINITY, f64::NAN);
                continue;
            }
            let before = value - *mean;
            *mean += before / self.trials as f64;
            *squares += before * (value - *mean);
        }
    }

    /// The mean at every point of the curve.
    pub fn mean(&self) -> &[f64] {
        &self.mean
    }

    /// The standard error of the mean at every point; not a number for a single trial or after divergence.
    pub fn standard_error(&self) -> Vec<f64> {
        let trials = self.trials as f64;
        let variance_of_mean = |squares: &f64| squares / (trials - 1.0) / trials;
        self.squares.iter().map(|squares| variance_of_mean(squares).sqrt()).collect()
    }
}

/// The first position at which a curve is at or below a target.
pub fn first_at_most(curve: &[f64], target: f64) -> Option<usize> {
    curve.iter().position(|value| *value <= target)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_and_standard_error_by_hand() {
        let mut curve = CurveMean::default();
        for trial in [[1.0, 5.0], [2.0, 5.0], [6.0, 5.0]] {
            curve.add(&trial);
        }
        assert_eq!(curve.mean(), [3.0, 5.0]);
        // Variance (4 + 1 + 9) / 2 = 7; equal values have none, not even by rounding.
        let errors = curve.standard_error();
        assert!((errors[0] - (7.0f64 / 3.0).sqrt()).abs() < 1e-15);
        assert_eq!(errors[1], 0.0);
    }

    #[test]
    fn divergence_stays_visible() {
        let mut curve = CurveMean::default();
        for trial in [[1.0, 2.0], [1.0, f64::INFINITY], [1.0, 2.0]] {
            curve.add(&trial);
        }
        assert_eq!(curve.mean(), [1.0, f64::INFINITY]);
        assert!(curve.standard_error()[1].is_nan());
    }

    #[test]
    fn one_trial_has_no_standard_error() {
        let mut curve = CurveMean::default();
        curve.add(&[1.0]);
        assert!(curve.standard_error()[0].is_nan());
    }

    #[test]
    fn targets_are_crossed_first_where_the_curve_is_at_or_below() {
        assert_eq!(first_at_most(&[3.0, 1.0, 2.0, 0.5], 1.0), Some(1));
        assert_eq!(first_at_most(&[3.0, f64::NAN], 1.0), None);
    }
}
