//! How much the users' improvements differ: Lemma 1's `c̃(x)` and Assumption 4's `C_1`, `C_2`.

use super::ROUNDING;
use crate::{Oracle, Problem, kernel};

/// The users' gradients at one point, as far as Assumption 4, Assumption 5 and Lemma 1 look at them.
///
/// With `u_i = ⟨∇f, ∇f_i⟩`, `v_i = ‖∇f_i‖²` and `S = mean v_i`, everything of degree four is divided by `S²`, so that
/// neither large nor small gradients leave the range of numbers. All variances are over the users.
#[derive(Clone, Debug, PartialEq)]
pub struct Spread {
    /// `S`, the mean squared gradient norm.
    pub mean_square: f64,
    /// `‖∇f‖⁴ / S²`, at most 1.
    pub full: f64,
    /// `Var(u) / S²`.
    pub var_inner: f64,
    /// `Cov(u, v) / S²`.
    pub covariance: f64,
    /// `Var(v) / S²`.
    pub var_norm: f64,
    /// `max_i ‖∇f_i − ∇f‖`.
    pub dissimilarity: f64,
    /// `c̃(x)` of Lemma 1: how much farther the smallest improvement is from the mean than the largest. None where the
    /// improvements do not differ.
    pub imbalance: Option<f64>,
}

impl Spread {
    /// Looks at every user's gradient at a point, for steps of `s = αL`; none where a gradient is not finite.
    pub fn at(problem: &dyn Problem, point: &[f64], relative_step: f64) -> Option<Self> {
        let rows = gradients(problem, point);
        let mut mean = vec![0.0; problem.dim()];
        kernel::mean_of_rows(&rows, &mut mean);
        let each = || rows.chunks_exact(mean.len());
        let norms: Vec<f64> = each().map(kernel::norm_squared).collect();
        let inner: Vec<f64> = each().map(|row| kernel::dot(&mean, row)).collect();
        let mean_square = mean_of(&norms);
        let dissimilarity = each().map(|row| kernel::distance(&mean, row)).fold(0.0, f64::max);
        if !mean_square.is_finite() || inner.iter().any(|u| !u.is_finite()) {
            return None;
        }
        // Where every gradient is zero nothing differs, and nothing is asked of C_1 and C_2.
        let scale = if mean_square > 0.0 { mean_square } else { 1.0 };
        let scaled = |values: Vec<f64>| -> Vec<f64> { values.into_iter().map(|value| value / scale).collect() };
        let (inner, norms) = (scaled(inner), scaled(norms));
        let full = kernel::norm_squared(&mean) / scale;
        Some(Self {
            mean_square,
            full: full * full,
            var_inner: covariance(&inner, &inner),
            covariance: covariance(&inner, &norms),
            var_norm: covariance(&norms, &norms),
            dissimilarity,
            imbalance: imbalance(inner.iter().zip(&norms).map(|(u, v)| u - 0.5 * relative_step * v)),
        })
    }

    /// `Var[EI_i] / (α S)²` at `s = αL`: `Var(u) − s Cov(u, v) + (s²/4) Var(v)`, all over `S²`.
    pub fn improvement_variance(&self, relative_step: f64) -> f64 {
        let s = relative_step;
        self.var_inner - s * self.covariance + 0.25 * s * s * self.var_norm
    }

    /// The largest `C_2` that goes with this `C_1` here, for every step size up to `1/(2L)`, and how it falls with `C_1`;
    /// negative where there is none.
    ///
    /// Assumption 4 wants `Var(u) − s Cov + (s²/4) Var(v) ≥ C_1 ‖∇f‖⁴/S² + s² C_2` for `0 < s ≤ 1/2`: with `y = 1/s ≥ 2`,
    /// `C_2` may be at most the least value of `(Var(u) − C_1 ‖∇f‖⁴/S²) y² − Cov y + Var(v)/4`.
    pub(super) fn largest_c2(&self, c1: f64) -> (f64, f64) {
        if self.mean_square == 0.0 {
            return (f64::INFINITY, 0.0);
        }
        let rest = self.var_inner - c1 * self.full;
        if rest < 0.0 || (rest == 0.0 && self.covariance > 0.0) {
            return (f64::NEG_INFINITY, f64::NEG_INFINITY);
        }
        let y = if rest > 0.0 { (0.5 * self.covariance / rest).max(2.0) } else { 2.0 };
        ((rest * y - self.covariance) * y + 0.25 * self.var_norm, -self.full * y * y)
    }
}

/// `C_1` and `C_2` of Assumption 4.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Heterogeneity {
    /// `C_1`, the part that speeds up the fall of the gap.
    pub c1: f64,
    /// `C_2`, which also lowers the floor.
    pub c2: f64,
}

impl Heterogeneity {
    /// The pair that is valid at every one of these points, and makes `weight·√C_1 + √C_2` largest: Theorem 1's rate
    /// for a weight of 1, Theorem 2's for a weight of 2.
    ///
    /// The pairs that are valid form a convex set, and the rate is concave on it. `C_2` is the largest that goes with
    /// `C_1`; `C_1` is where the rate stops rising, by bisection.
    pub fn fastest(spreads: &[Spread], weight: f64) -> Self {
        let largest_c2 = |c1: f64| {
            let all = spreads.iter().map(|spread| spread.largest_c2(c1));
            all.min_by(|one, other| one.0.total_cmp(&other.0)).unwrap_or((f64::INFINITY, 0.0))
        };
        let rises_at = |c1: f64| {
            let (c2, slope) = largest_c2(c1);
            c2 > 0.0 && weight / c1.sqrt() + slope / c2.sqrt() > 0.0
        };
        // At an optimum C_1 is not limited; elsewhere it is, by this at the latest.
        let limits = spreads.iter().filter(|spread| spread.full > 0.0).map(|spread| spread.var_inner / spread.full);
        let (mut low, mut high) = (0.0, limits.fold(f64::INFINITY, f64::min));
        if high.is_finite() {
            loop {
                let middle = 0.5 * (low + high);
                if middle <= low || middle >= high {
                    break;
                }
                if rises_at(middle) {
                    low = middle;
                } else {
                    high = middle;
                }
            }
        }
        // A hair less than the search says, so that rounding cannot make the pair invalid; and what is as good as zero is
        // zero: with few users in many dimensions there are points at which nobody's improvement differs.
        let useful = |value: f64| if value > 1e-9 && value.is_finite() { value * (1.0 - ROUNDING) } else { 0.0 };
        Self { c1: useful(low), c2: useful(largest_c2(low).0) }
    }

    /// Whether Assumption 4's inequality holds at a point for this step, up to rounding.
    pub fn is_valid_at(&self, spread: &Spread, relative_step: f64) -> bool {
        let (have, want) = (
            spread.improvement_variance(relative_step),
            self.c1 * spread.full + self.c2 * relative_step * relative_step,
        );
        spread.mean_square == 0.0 || want <= have + ROUNDING * (spread.var_inner + spread.var_norm)
    }
}

/// Every user's gradient at a point, one after the other.
pub(super) fn gradients(oracle: &(impl Oracle + ?Sized), point: &[f64]) -> Vec<f64> {
    let mut rows = vec![0.0; oracle.users() * oracle.dim()];
    for (user, row) in rows.chunks_exact_mut(oracle.dim()).enumerate() {
        oracle.gradient(user, point, row);
    }
    rows
}

/// `(mean − min) / (max − mean)` of some improvements.
fn imbalance(improvements: impl Iterator<Item = f64>) -> Option<f64> {
    let (mut count, mut sum, mut least, mut most) = (0.0, 0.0, f64::INFINITY, f64::NEG_INFINITY);
    for improvement in improvements {
        count += 1.0;
        sum += improvement;
        least = least.min(improvement);
        most = most.max(improvement);
    }
    let mean = sum / count;
    let differ = most - least > ROUNDING * (least.abs() + most.abs());
    // Lemma 1: never more than n − 1, whatever the rounding.
    (differ && most > mean).then(|| ((mean - least) / (most - mean)).min(count - 1.0))
}

fn mean_of(values: &[f64]) -> f64 {
    kernel::sum(values) / values.len() as f64
}

/// The covariance over the users; zero where rounding can explain all of it.
fn covariance(a: &[f64], b: &[f64]) -> f64 {
    let deviations = |values: &[f64]| -> Vec<f64> {
        let mean = mean_of(values);
        let largest = values.iter().fold(0.0, |largest: f64, value| largest.max(value.abs()));
        let deviation = |value: &f64| if (value - mean).abs() > ROUNDING * largest { value - mean } else { 0.0 };
        values.iter().map(deviation).collect()
    };
    kernel::dot(&deviations(a), &deviations(b)) / a.len() as f64
}
