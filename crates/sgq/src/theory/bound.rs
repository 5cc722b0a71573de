//! Contraction factor, floor, and the curve they make.

use super::Theorem;

/// What the formulas of Eq. (6), Theorem 1 and Theorem 2 are made of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ingredients {
    /// The step size `α`.
    pub step_size: f64,
    /// How many users, `n`.
    pub users: usize,
    /// `L = mean L_i`.
    pub mean_smoothness: f64,
    /// `L_max`.
    pub max_smoothness: f64,
    /// `μ`.
    pub pl_constant: f64,
    /// `c` of Lemma 1; none where the users' improvements never differ.
    pub c: Option<f64>,
    /// `C_1` of Assumption 4.
    pub c1: f64,
    /// `C_2` of Assumption 4.
    pub c2: f64,
    /// `σ*`, the mean squared gradient norm at the optimum, where it is known.
    pub sigma_star: Option<f64>,
    /// `Δ` of Assumption 5, where it is known.
    pub delta: Option<f64>,
}

/// How fast the gap falls, and where it stops falling.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// The gap, less the floor, is multiplied by at most this at every step; in `[0, 1]`.
    pub factor: f64,
    /// What remains in the end, where the constants in it are known.
    pub floor: Option<f64>,
}

impl Theorem {
    /// Contraction factor and floor, for a step size within the cap; none for SAGA, whose theorem speaks of distances.
    ///
    /// With `γ_1 = √(2 C_1 / c)` and `γ_2 = √(2 C_2 / c)`:
    ///
    /// - Eq. (6): factor `1 − αμ`, floor `αLσ*/μ`;
    /// - Theorem 1: factor `1 − (1 + γ_1 + γ_2) αμ`, floor `(αLσ*/μ) (1 − γ_2) / (1 + γ_1 + γ_2)`;
    /// - Theorem 2, without its `O(α²)`: factor `1 − (1 + (1−p)(γ_1 + γ_2/2)) αμ`, floor
    ///   `[24 α (L + L_max) n (1−p) Δ² / (pμ) + (αLσ*/μ) (1 − (1−p) γ_2)] / (1 + (1−p)(γ_1 + γ_2/2))`.
    ///
    /// These are the paper's expressions, divided by `√(c/2)` and by `√(2c)`.
    pub fn rate(&self, given: &Ingredients) -> Option<Rate> {
        let gain = |heterogeneity: f64| match given.c {
            Some(c) if heterogeneity > 0.0 && c > 0.0 => (2.0 * heterogeneity / c).sqrt(),
            _ => 0.0,
        };
        // Above 1 the noise term would turn negative. That cannot be where the region has the optimum in it (c ≥ 4 C_2);
        // elsewhere the proof goes through with 1 in its place.
        let (gain1, gain2) = (gain(given.c1), gain(given.c2).min(1.0));
        let (speed, noise, exploit, explore) = match *self {
            Self::UniformSgd => (1.0, 1.0, 0.0, 1.0),
            Self::One => (1.0 + gain1 + gain2, 1.0 - gain2, 0.0, 1.0),
            Self::Two { explore } => {
                let exploit = 1.0 - explore;
                (1.0 + exploit * (gain1 + 0.5 * gain2), 1.0 - exploit * gain2, exploit, explore)
            }
            Self::Saga => return None,
        };
        let Ingredients { step_size, mean_smoothness, max_smoothness, pl_constant, .. } = *given;
        // A gap is never negative: where the factor would be, the gap falls to the noise of one step at once.
        let contraction = (speed * step_size * pl_constant).min(1.0);
        // What one step adds, over the contraction: α on both sides cancels before it can underflow.
        let over_contraction = |added: f64| added * (step_size / contraction);
        let of_noise = given.sigma_star.map(|sigma| over_contraction(step_size * mean_smoothness * noise * sigma));
        let of_regret = match given.delta {
            _ if exploit == 0.0 => Some(0.0),
            Some(delta) => {
                let users = given.users as f64;
                let scale = 24.0 * step_size * (mean_smoothness + max_smoothness) * users;
                Some(over_contraction(scale * exploit / explore * delta * delta))
            }
            None => None,
        };
        let floor = of_noise.zip(of_regret).map(|(noise, regret)| noise + regret);
        Some(Rate { factor: 1.0 - contraction, floor: floor.filter(|floor| floor.is_finite()) })
    }
}

/// The curve that the gap (for SGD and SGQ: the mean gap) stays below: `factor^t · G_0 + floor` after `t` steps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bound {
    /// `G_0 = f(x_0) − inf f`.
    pub start_gap: f64,
    /// The contraction factor.
    pub factor: f64,
    /// What remains in the end.
    pub floor: f64,
    /// Queries that are paid before the first step: `n` for SGQ.
    pub startup: u64,
}

impl Bound {
    /// The bound after that many queries.
    ///
    /// ```
    /// let bound = sgq::theory::Bound { start_gap: 8.0, factor: 0.5, floor: 1.0, startup: 4 };
    /// assert_eq!([0, 4, 5, 7].map(|queries| bound.at(queries)), [9.0, 9.0, 5.0, 2.0]);
    /// assert_eq!(bound.queries_to(2.0), Some(7));
    /// assert_eq!(bound.queries_to(1.0), None); // never below its floor
    /// ```
    pub fn at(&self, queries: u64) -> f64 {
        power(self.factor, queries.saturating_sub(self.startup)) * self.start_gap + self.floor
    }

    /// The first number of queries after which the gap is sure to be at most `target`; none where it never is.
    pub fn queries_to(&self, target: f64) -> Option<u64> {
        // The floor itself is only approached, unless one step is enough.
        let approached = self.factor > 0.0 && self.start_gap > 0.0 && self.floor >= target;
        let (mut least, mut enough) = (0, u64::MAX);
        if approached || self.at(enough) > target || target.is_nan() {
            return None;
        }
        while least < enough {
            let middle = least + (enough - least) / 2;
            if self.at(middle) <= target {
                enough = middle;
            } else {
                least = middle + 1;
            }
        }
        Some(enough)
    }
}

/// `base^exponent` by squaring: the same bits on every machine.
fn power(mut base: f64, mut exponent: u64) -> f64 {
    let mut result = 1.0;
    while exponent > 0 {
        if exponent & 1 == 1 {
            result *= base;
        }
        base *= base;
        exponent >>= 1;
    }
    result
}
