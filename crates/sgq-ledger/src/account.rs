//! What users have disclosed: how many answers, of how many numbers, and how much privacy is spent.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Noise that a user has added to its answer at home, for its own protection: the Gaussian mechanism.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Privacy {
    /// By how much the gradient could change, as a Euclidean norm, if one person's data did: what clipping makes sure of.
    pub sensitivity: f64,
    /// The standard deviation of the noise in each coordinate.
    pub noise: f64,
}

impl Privacy {
    pub(crate) fn from_value(value: &Value) -> Result<Self, String> {
        let wrong = || "\"privacy\" must be {\"sensitivity\": …, \"noise\": …}, both positive numbers".to_owned();
        let number = |name: &str| value.get(name).and_then(Value::as_f64).filter(|it| it.is_finite() && *it > 0.0);
        Ok(Self { sensitivity: number("sensitivity").ok_or_else(wrong)?, noise: number("noise").ok_or_else(wrong)? })
    }

    /// Noise that no account can count, in words.
    pub(crate) fn makes_no_sense(self) -> Option<String> {
        let Self { sensitivity, noise } = self;
        let is_positive = |number: f64| number.is_finite() && number > 0.0;
        (!is_positive(sensitivity) || !is_positive(noise)).then(|| {
            format!(
                "the privacy has the sensitivity {sensitivity} and the noise {noise}: both must be positive and finite"
            )
        })
    }

    /// What one answer spends: its Rényi divergence of order `α` is `α` times this (Mironov 2017).
    pub fn rho(self) -> f64 {
        let ratio = self.sensitivity / self.noise;
        0.5 * ratio * ratio
    }
}

/// An amount for a person: to the cent, or whole.
pub fn money(amount: f64) -> String {
    /// Beyond this, a number has no cents.
    const CENTS: f64 = 1e13;
    match amount {
        it if !it.is_finite() || it.abs() >= CENTS => format!("{it:e}"),
        it if it > 0.0 && it < 0.005 => "less than 0.01".to_owned(),
        it if it.abs() < 0.005 => "0".to_owned(),
        it => {
            let cents = format!("{it:.2}");
            cents.strip_suffix(".00").map_or(cents.clone(), str::to_owned)
        }
    }
}

/// What one user has disclosed so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Account {
    /// Answers that were taken.
    pub answers: u64,
    /// The numbers that they held.
    pub numbers: u64,
    /// Answers without noise: no privacy can be promised where there are any.
    pub bare: u64,
    /// The sum of [`Privacy::rho`] over answers with noise.
    pub rho: f64,
    /// What the dearest of these spent: what one more is expected to.
    pub dearest: f64,
}

impl Account {
    pub(crate) fn add(&mut self, numbers: u64, privacy: Option<Privacy>) {
        self.answers += 1;
        self.numbers += numbers;
        match privacy {
            Some(privacy) => {
                self.rho += privacy.rho();
                self.dearest = self.dearest.max(privacy.rho());
            }
            None => self.bare += 1,
        }
    }

    /// `ε` of (ε, δ) differential privacy for all answers together; infinite where one had no noise.
    pub fn epsilon(&self, delta: f64) -> f64 {
        if self.bare > 0 { f64::INFINITY } else { epsilon(self.rho, delta) }
    }

    /// The same after one more answer like the dearest.
    pub(crate) fn epsilon_after_one_more(&self, delta: f64) -> f64 {
        epsilon(self.rho + self.dearest, delta)
    }
}

/// From Rényi to (ε, δ): the smallest over orders `α > 1` of `αρ + ln(1 − 1/α) − ln(δα)/(α − 1)` (Canonne, Kamath & Steinke 2020,
/// Proposition 12). For one Gaussian answer with `ρ = ½` and `δ = 10⁻⁵` it is 4.7; exactly it would be 4.4.
fn epsilon(rho: f64, delta: f64) -> f64 {
    if rho == 0.0 {
        return 0.0;
    }
    let at = |alpha: f64| alpha * rho + (1.0 - 1.0 / alpha).ln() - (delta * alpha).ln() / (alpha - 1.0);
    // It falls, and then rises: orders from 1 + 10⁻³ to 1 + 10⁶, each 2% further, find the lowest to a part in thousands.
    let orders = (0..1047).map(|step| 1.0 + 1e-3 * 1.02_f64.powi(step));
    orders.map(at).fold(f64::INFINITY, f64::min).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The exact trade-off of one Gaussian answer with sensitivity over noise `s` (Balle & Wang 2018): `δ(ε)`.
    fn exact_delta(s: f64, epsilon: f64) -> f64 {
        let phi = |x: f64| 0.5 * erfc(-x / 2_f64.sqrt());
        phi(s / 2.0 - epsilon / s) - epsilon.exp() * phi(-s / 2.0 - epsilon / s)
    }

    /// The integral of the density by Simpson's rule.
    fn erfc(x: f64) -> f64 {
        let (steps, end) = (20_000, 12.0_f64);
        if x < 0.0 {
            return 2.0 - erfc(-x);
        }
        let h = (end - x) / f64::from(steps);
        let f = |i: u32| (-(x + h * f64::from(i)).powi(2)).exp();
        let inner: f64 = (1..steps).map(|i| f(i) * if i % 2 == 1 { 4.0 } else { 2.0 }).sum();
        (f(0) + inner + f(steps)) * h / 3.0 * 2.0 / std::f64::consts::PI.sqrt()
    }

    #[test]
    fn money_has_cents_or_none() {
        for (amount, words) in [
            (0.0, "0"),
            (-1e-9, "0"),
            (1e-8, "less than 0.01"),
            (0.1 + 0.2, "0.30"),
            (12_345.678, "12345.68"),
            (1_234_567.0, "1234567"),
            (69.999_999_9, "70"),
            (2.5e20, "2.5e20"),
        ] {
            assert_eq!(money(amount), words, "{amount:e}");
        }
    }

    #[test]
    fn what_is_promised_holds_and_is_not_far_off() {
        for s in [0.1, 0.5, 1.0, 2.0] {
            let privacy = Privacy { sensitivity: s, noise: 1.0 };
            let mut account = Account::default();
            account.add(3, Some(privacy));
            let promised = account.epsilon(1e-5);
            assert!(exact_delta(s, promised) <= 1e-5, "{s}: {promised}");
            assert!(exact_delta(s, 0.85 * promised) > 1e-5, "{s}: {promised}");
            // Many answers are like one with as much more of the signal.
            (0..8).for_each(|_| account.add(3, Some(privacy)));
            assert!(exact_delta(3.0 * s, account.epsilon(1e-5)) <= 1e-5);
        }
        let mut bare = Account::default();
        bare.add(3, None);
        assert_eq!(bare.epsilon(1e-5), f64::INFINITY);
        assert_eq!(Account::default().epsilon(1e-5), 0.0);
    }
}
