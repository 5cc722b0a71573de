//! What the theorems say: constants on a stated region, caps on the step size, rates, floors, and what is left open.
//!
//! [`Certificate::new`] puts it all together for one problem, one step size and one region. The pieces:
//!
//! - [`Theorem`]: the caps and, by [`Theorem::rate`], contraction factor and floor;
//! - [`Constants`]: everything in those formulas, each with its [`Provenance`];
//! - [`Region`]: where the constants hold;
//! - [`Bound`]: the curve that the gap stays below, and the queries to a target;
//! - [`Choices`]: Lemma 2's bonus and Proposition 1's regret, measured along a run.
//!
//! Beside the paper's results, [`RandomOrderLimit`] says how few queries can be enough in random order.

mod assumptions;
mod bound;
mod certificate;
mod choices;
mod constants;
mod heterogeneity;
mod limit;
mod region;
mod scalar;

use std::fmt;

use crate::Smoothness;

pub use assumptions::{Assumption, Status};
pub use bound::{Bound, Ingredients, Rate};
pub use certificate::{Certificate, Question, TheoryError, Verdict};
pub use choices::{Choices, Measured};
pub use constants::{Constant, Constants, Provenance};
pub use heterogeneity::{Heterogeneity, Spread};
pub use limit::RandomOrderLimit;
pub use region::{Region, RegionError};
pub use scalar::Moments;

/// Differences below this part of the numbers they are taken from are what rounding can explain.
const ROUNDING: f64 = 1e-12;

/// A theorem that bounds the step size of a method.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Theorem {
    /// The classical bound for SGD with uniform choice, Eq. (6) of the paper: `α ≤ μ / (2 L L_max)`.
    UniformSgd,
    /// Theorem 1 (OGQ), under the same cap.
    One,
    /// Theorem 2 (SGQ): `α ≤ min{ (1 − √(1 − p/2n)) / L_max, μ / (4 L L_max), p / (96 n (L + L_max)(1 − p)) }`.
    Two {
        /// The exploration probability `p`.
        explore: f64,
    },
    /// SAGA's own (Defazio et al. 2014, Section 2): `α ≤ 1 / (3 L_max)`.
    Saga,
}

impl Theorem {
    /// Whether the cap depends on the Polyak-Łojasiewicz constant `μ`.
    pub fn needs_pl_constant(&self) -> bool {
        !matches!(self, Self::Saga)
    }

    /// The largest step size for which the theorem says anything; 0 where it allows none (SGQ with `p = 0`).
    pub fn step_cap(&self, smoothness: &Smoothness, pl_constant: f64) -> f64 {
        self.binding_term(smoothness, pl_constant).value
    }

    /// The term that the cap comes from: the smallest of [`cap_terms`](Self::cap_terms).
    pub fn binding_term(&self, smoothness: &Smoothness, pl_constant: f64) -> CapTerm {
        let terms = self.cap_terms(smoothness, pl_constant);
        terms.into_iter().min_by(|one, other| one.value.total_cmp(&other.value)).unwrap_or(CapTerm::UNBOUNDED)
    }

    /// The terms whose minimum is the cap, in the order in which the theorem writes them.
    pub fn cap_terms(&self, smoothness: &Smoothness, pl_constant: f64) -> Vec<CapTerm> {
        let users = smoothness.each().len() as f64;
        let (mean, max) = (smoothness.mean(), smoothness.max());
        let term = |formula, value| CapTerm { formula, value };
        match *self {
            Self::UniformSgd | Self::One => vec![term("μ / (2 L L_max)", pl_constant / mean / max / 2.0)],
            Self::Two { explore } => {
                // 1 − √(1 − q), without the cancellation.
                let q = explore / (2.0 * users);
                let freshness = q / (1.0 + (1.0 - q).sqrt()) / max;
                let regret = if explore == 1.0 {
                    f64::INFINITY
                } else {
                    explore / (96.0 * users * (mean + max)) / (1.0 - explore)
                };
                vec![
                    term("(1 − √(1 − p/2n)) / L_max", freshness),
                    term("μ / (4 L L_max)", pl_constant / mean / max / 4.0),
                    term("p / (96 n (L + L_max)(1 − p))", regret),
                ]
            }
            Self::Saga => vec![term("1 / (3 L_max)", 1.0 / (3.0 * max))],
        }
    }
}

/// One of the terms whose minimum is a theorem's cap on the step size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CapTerm {
    /// How the theorem writes it.
    pub formula: &'static str,
    /// What it comes to.
    pub value: f64,
}

impl CapTerm {
    const UNBOUNDED: Self = Self { formula: "no bound", value: f64::INFINITY };
}

impl fmt::Display for Theorem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::UniformSgd => "the bound for SGD, Eq. (6)",
            Self::One => "Theorem 1",
            Self::Two { .. } => "Theorem 2",
            Self::Saga => "SAGA's theorem",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The paper's own experiment: `L = L_max = μ = 2`, `n = 4`, `p = 0.3`.
    #[test]
    fn caps_on_the_papers_experiment() {
        let smoothness = Smoothness::new(vec![2.0; 4], 4).unwrap();
        let cap = |theorem: Theorem| theorem.step_cap(&smoothness, 2.0);
        assert_eq!(cap(Theorem::UniformSgd), 0.25);
        assert_eq!(cap(Theorem::One), 0.25);
        let second = cap(Theorem::Two { explore: 0.3 });
        assert!((second - 0.3 / (96.0 * 4.0 * 4.0) / 0.7).abs() < 1e-18);
        // The other two terms of the minimum, each where it binds.
        assert!((cap(Theorem::Two { explore: 1.0 }) - (1.0 - 0.875f64.sqrt()) / 2.0).abs() < 1e-15);
        let steep = Theorem::Two { explore: 1.0 }.step_cap(&smoothness, 0.1);
        assert!((steep - 0.1 / 16.0).abs() < 1e-15);
        assert_eq!(cap(Theorem::Two { explore: 0.0 }), 0.0);
        assert!((cap(Theorem::Saga) - 1.0 / 6.0).abs() < 1e-15);
    }

    /// `L = 2`, `L_max = 3`, `n = 2`: a mean in the place of a maximum would show.
    #[test]
    fn caps_where_users_differ() {
        let smoothness = Smoothness::new(vec![1.0, 3.0], 2).unwrap();
        let close = |theorem: Theorem, mu: f64, cap: f64| {
            assert!((theorem.step_cap(&smoothness, mu) - cap).abs() < 1e-15, "{theorem}");
        };
        close(Theorem::UniformSgd, 0.6, 0.05);
        close(Theorem::One, 0.6, 0.05);
        close(Theorem::Saga, 0.6, 1.0 / 9.0);
        close(Theorem::Two { explore: 0.5 }, 1.0, 1.0 / 960.0);
        close(Theorem::Two { explore: 1.0 }, 1.9, (1.0 - 0.75f64.sqrt()) / 3.0);
        close(Theorem::Two { explore: 1.0 }, 0.24, 0.01);
    }
}
