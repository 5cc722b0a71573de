//! The few distributions that random problems are made of, from the library's own streams.

use sgq::Random;

/// A stream of random numbers with more than one distribution.
pub(super) struct Draws {
    random: Random,
    /// Normal numbers come in pairs: the second waits here.
    spare: Option<f64>,
}

impl Draws {
    /// The stream of a seed and a purpose.
    pub(super) fn new(seed: u64, purpose: &str) -> Self {
        Self { random: Random::new(seed, purpose), spare: None }
    }

    /// Uniform in `[0, 1)`.
    pub(super) fn unit(&mut self) -> f64 {
        self.random.unit()
    }

    /// One of these, each equally likely.
    pub(super) fn pick<T: Copy, const N: usize>(&mut self, choices: [T; N]) -> T {
        choices[self.random.index(N)]
    }

    /// A number in `[low, high)` whose logarithm is uniform.
    pub(super) fn log_uniform(&mut self, low: f64, high: f64) -> f64 {
        low * (self.unit() * (high / low).ln()).exp()
    }

    /// A whole number in `low..=high`, log-uniform before it is rounded down.
    pub(super) fn log_uniform_whole(&mut self, low: usize, high: usize) -> usize {
        let drawn = self.log_uniform(low as f64, high as f64 + 1.0);
        // Rounding in the logarithm may touch an end.
        (drawn as usize).clamp(low, high)
    }

    /// A standard normal number (Marsaglia's polar method).
    pub(super) fn normal(&mut self) -> f64 {
        if let Some(spare) = self.spare.take() {
            return spare;
        }
        loop {
            let (u, v) = (2.0 * self.unit() - 1.0, 2.0 * self.unit() - 1.0);
            let square = u * u + v * v;
            if square > 0.0 && square < 1.0 {
                let factor = (-2.0 * square.ln() / square).sqrt();
                self.spare = Some(v * factor);
                return u * factor;
            }
        }
    }

    /// A vector of standard normal numbers.
    pub(super) fn normals(&mut self, count: usize) -> Vec<f64> {
        (0..count).map(|_| self.normal()).collect()
    }

    /// A count with this mean, which must not be large (Knuth's product of uniform numbers).
    pub(super) fn poisson(&mut self, mean: f64) -> f64 {
        let least = (-mean).exp();
        let mut product = self.unit();
        let mut count = 0.0;
        while product > least {
            product *= self.unit();
            count += 1.0;
        }
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The mean and the variance of many draws.
    fn moments(count: u32, mut draw: impl FnMut() -> f64) -> (f64, f64) {
        let draws: Vec<f64> = (0..count).map(|_| draw()).collect();
        let mean = draws.iter().sum::<f64>() / f64::from(count);
        (mean, draws.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / f64::from(count))
    }

    #[test]
    fn normal_numbers_have_mean_0_variance_1_and_the_right_tail() {
        let mut draws = Draws::new(1, "test");
        let (mean, variance) = moments(40_000, || draws.normal());
        // Standard errors: 0.005 and 0.007.
        assert!(mean.abs() < 0.02 && (variance - 1.0).abs() < 0.03, "{mean} {variance}");
        let beyond = draws.normals(40_000).iter().filter(|x| x.abs() > 2.0).count();
        // 4.55% of 40,000 are 1,820, give or take 42.
        assert!(beyond.abs_diff(1_820) < 170, "{beyond}");
    }

    #[test]
    fn counts_have_the_mean_and_the_variance_of_poisson() {
        for expected in [0.02, 1.0, 20.0] {
            let mut draws = Draws::new(2, "test");
            let (mean, variance) = moments(40_000, || draws.poisson(expected));
            assert!((mean - expected).abs() < 4.0 * (expected / 40_000.0f64).sqrt(), "{mean} for {expected}");
            assert!((variance / expected - 1.0).abs() < 0.15, "{variance} for {expected}");
        }
    }

    #[test]
    fn log_uniform_numbers_fill_their_range_evenly_by_factor() {
        let mut draws = Draws::new(3, "test");
        let logarithms: Vec<f64> = (0..10_000).map(|_| draws.log_uniform(1e-4, 1e-2).log10()).collect();
        assert!(logarithms.iter().all(|it| (-4.0..=-2.0).contains(it)));
        let lower = logarithms.iter().filter(|it| **it < -3.0).count();
        assert!(lower.abs_diff(5_000) < 250, "{lower}");
        let whole: Vec<usize> = (0..10_000).map(|_| draws.log_uniform_whole(1, 3)).collect();
        // ln 2, ln 1.5 and ln 4/3 of ln 4.
        for (value, expected) in [(1, 5_000), (2, 2_925), (3, 2_075)] {
            let found = whole.iter().filter(|it| **it == value).count();
            assert!(found.abs_diff(expected) < 250, "{value}: {found}");
        }
        assert_eq!(draws.log_uniform_whole(4, 4), 4);
    }
}
