//! A gradient whose rows are clipped, with noise from the operating system: the Gaussian mechanism.

use serde::{Deserialize, Serialize};
use sgq::problem::Regression;

/// How a clinic protects its rows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Noise {
    /// No row's gradient counts for more, as a Euclidean norm.
    pub clip: f64,
    /// The standard deviation in each coordinate.
    pub deviation: f64,
}

/// What an answer says of its noise.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Privacy {
    /// By how much the gradient changes at most, before noise, where one row is another.
    pub sensitivity: f64,
    pub noise: f64,
}

impl Noise {
    /// The gradient of the mean loss of one user, and by how much one row can change it.
    pub fn gradient(
        self,
        regression: &Regression,
        weights: &[f64],
        point: &[f64],
    ) -> Result<(Vec<f64>, Privacy), String> {
        let (rows, loss) = (regression.rows(), regression.loss());
        let total: f64 = weights.iter().sum();
        let mut gradient: Vec<f64> = point.iter().map(|x| regression.l2() * x).collect();
        if regression.has_free_intercept() {
            gradient[..1].fill(0.0);
        }
        let mut line = vec![0.0; point.len()];
        for (row, (target, weight)) in regression.targets().iter().zip(weights).enumerate() {
            let offset = regression.offsets().map_or(0.0, |offsets| offsets[row]);
            line.fill(0.0);
            rows.add_scaled(row, 1.0, &mut line);
            let slope = loss.slope(rows.dot(row, point) + offset, *target);
            let share = weight / total;
            let add = clipped(slope, &line, self.clip);
            gradient.iter_mut().zip(add).for_each(|(sum, value)| *sum += share * value);
        }
        for (value, noise) in gradient.iter_mut().zip(Normal::default()) {
            *value += self.deviation * noise?;
        }
        let heaviest = weights.iter().copied().fold(0.0, f64::max);
        Ok((gradient, Privacy { sensitivity: 2.0 * self.clip * heaviest / total, noise: self.deviation }))
    }
}

/// `slope · line`, shortened to `clip`. It is finite wherever the row is: a row that overflows would be told by a refusal that has no noise.
fn clipped(slope: f64, line: &[f64], clip: f64) -> impl Iterator<Item = f64> {
    let largest = line.iter().fold(0.0, |largest: f64, value| largest.max(value.abs()));
    // In units of the largest, whose squares cannot overflow.
    let length = line.iter().map(|value| (value / largest).powi(2)).sum::<f64>().sqrt();
    let (unit, factor) = match largest > 0.0 && !slope.is_nan() {
        true if slope.abs() * largest * length > clip => (largest, slope.signum() * clip / length),
        true => (1.0, slope),
        false => (1.0, 0.0),
    };
    line.iter().map(move |value| factor * (value / unit))
}

/// Standard normal numbers by Box and Muller, two at a time, from the operating system's randomness.
#[derive(Default)]
struct Normal {
    next: Option<f64>,
}

impl Iterator for Normal {
    type Item = Result<f64, String>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(number) = self.next.take() {
            return Some(Ok(number));
        }
        let unit = || getrandom::u64().map(uniform);
        let both = unit().and_then(|radius| Ok((radius, unit()?)));
        Some(both.map_err(|error| format!("the system gives no random numbers: {error}")).map(|(radius, angle)| {
            let radius = (-2.0 * radius.ln()).sqrt();
            let (sin, cos) = (std::f64::consts::TAU * angle).sin_cos();
            self.next = Some(radius * sin);
            radius * cos
        }))
    }
}

/// Above 0 and at most 1: 53 bits.
fn uniform(bits: u64) -> f64 {
    ((bits >> 11) + 1) as f64 / (1u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever overflows has the direction of its row, and the length of the clip.
    #[test]
    fn what_is_clipped_is_finite() {
        for (slope, line, expected) in [
            (0.5, vec![0.3, -0.4], vec![0.15, -0.2]),
            (-10.0, vec![3.0, -4.0], vec![-0.6, 0.8]),
            (f64::INFINITY, vec![3.0, -4.0], vec![0.6, -0.8]),
            (f64::NEG_INFINITY, vec![0.0, -4.0], vec![0.0, 1.0]),
            (1e300, vec![3e300, 4e300], vec![0.6, 0.8]),
            (f64::INFINITY, vec![0.0, 0.0], vec![0.0, 0.0]),
            (f64::NAN, vec![1.0, 1.0], vec![0.0, 0.0]),
        ] {
            let found: Vec<f64> = clipped(slope, &line, 1.0).collect();
            let is_close = |(found, expected): (&f64, &f64)| (found - expected).abs() < 1e-15;
            assert!(found.iter().zip(&expected).all(is_close), "{slope} {line:?}: {found:?}");
        }
    }

    #[test]
    fn numbers_are_normal() {
        let count = 40_000;
        let numbers: Vec<f64> = Normal::default().take(count).map(Result::unwrap).collect();
        let mean_of = |of: &dyn Fn(f64) -> f64| numbers.iter().map(|it| of(*it)).sum::<f64>() / count as f64;
        // Seven standard errors each: by chance one run in 10^11 fails.
        let error = 7.0 / (count as f64).sqrt();
        assert!(mean_of(&|x| x).abs() < error);
        assert!((mean_of(&|x| x * x) - 1.0).abs() < 2f64.sqrt() * error);
        assert!((mean_of(&|x| x.powi(4)) - 3.0).abs() < 96f64.sqrt() * error);
        let outside = mean_of(&|x| f64::from(u8::from(x.abs() > 1.959_963_985)));
        assert!((outside - 0.05).abs() < (0.05f64 * 0.95).sqrt() * error);
        // One after the other have nothing to do with each other.
        let pairs = numbers.windows(2).map(|pair| pair[0] * pair[1]).sum::<f64>() / count as f64;
        assert!(pairs.abs() < error);
        assert_eq!((uniform(0), uniform(u64::MAX)), (1.0 / (1u64 << 53) as f64, 1.0));
    }
}
