//! Means and deviations of all clinics together, from those of each.

use super::Moments;
use crate::Scaling;

/// Mean and variance, with `n` in the denominator.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Pooled {
    pub mean: f64,
    pub variance: f64,
}

impl Pooled {
    /// `Σ n_i (s_i² + (m_i − m)²) / n`, of clinics with so many rows each.
    pub fn of(parts: impl Iterator<Item = (u64, Moments)> + Clone) -> Self {
        let rows: f64 = parts.clone().map(|(rows, _)| rows as f64).sum();
        let sum = |of: &dyn Fn(Moments) -> f64| {
            parts.clone().map(|(count, moments)| count as f64 * of(moments)).sum::<f64>() / rows
        };
        let first = parts.clone().next().map_or(f64::NAN, |(_, moments)| moments.mean);
        // Exactly constant, where it is: no mean is rounded.
        if parts.clone().all(|(_, moments)| moments == Moments { mean: first, deviation: 0.0 }) {
            return Self { mean: first, variance: 0.0 };
        }
        let mean = sum(&|moments| moments.mean);
        let variance = sum(&|Moments { mean: own, deviation }| deviation * deviation + (own - mean) * (own - mean));
        Self { mean, variance }
    }

    /// Of zeros and ones.
    pub fn of_indicator(ones: u64, rows: u64) -> Self {
        let share = ones as f64 / rows as f64;
        Self { mean: share, variance: share * (rows - ones) as f64 / rows as f64 }
    }

    /// Of the product with something that is independent of it: for a scaling, which need not be exact.
    pub fn times(self, other: Self) -> Self {
        let (a, b) = (self, other);
        let variance = a.variance * b.variance + a.variance * b.mean * b.mean + b.variance * a.mean * a.mean;
        Self { mean: a.mean * b.mean, variance }
    }

    /// To mean 0 and standard deviation 1, where the sum of squares is divided by the count less `ddof`; without an intercept only the
    /// latter. None where numbers are too large, or too close to each other, for that.
    pub fn scaling(self, rows: u64, ddof: f64, intercept: bool) -> Option<Scaling> {
        let rows = rows as f64;
        let mean = if intercept { self.mean } else { 0.0 };
        if self.variance == 0.0 {
            return Some(Scaling { mean: 0.0, scale: self.mean.abs() }).filter(Scaling::is_sound);
        }
        let scale = (self.variance * rows / (rows - ddof)).sqrt();
        // The spread of values that differ by less than their rounding is noise.
        let visible = scale > 8.0 * f64::EPSILON * self.mean.abs();
        Some(Scaling { mean, scale }).filter(|scaling| scaling.is_sound() && scale.is_normal() && visible)
    }
}
