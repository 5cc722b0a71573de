//! What one user may do to a run, and a run to its users.

use serde::{Deserialize, Serialize};

use crate::{Account, LedgerError, Reply, record::length};

/// Noise is longer than so many standard deviations once in half a billion answers.
const NOISE_DEVIATIONS: f64 = 6.0;
/// By what part of its length a gradient may be off because numbers are rounded.
const ROUNDING: f64 = 1e-9;

/// What becomes of an answer that is out of line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Policy {
    /// It is taken, and nothing is said.
    Ignore,
    /// It is taken, and the record says that it is odd.
    #[default]
    Flag,
    /// It is not taken, and its question stays open.
    Refuse,
}

/// Limits on what users disclose, and on what one user can do to the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Protection {
    /// Nobody is asked once it has given so many answers.
    pub answers_each: Option<u64>,
    /// Nobody is asked once one more answer could spend more than this `ε`.
    pub epsilon: Option<f64>,
    /// The `δ` of (ε, δ).
    pub delta: f64,
    /// What becomes of an answer that breaks `‖g − g_i‖ ≤ L_i ‖x − x_i‖`, where `L_i` are known.
    pub smoothness: Policy,
    /// By what part it may be broken: rounding, and noise that was not stated.
    pub smoothness_slack: f64,
    /// What becomes of an answer that is far longer than all that came from others.
    pub length: Policy,
    /// How many times longer.
    pub length_factor: f64,
    /// What becomes of an answer that is far from what the method expects of it
    /// ([`Session::out_of_line`](sgq::Session::out_of_line)), where the method can tell.
    pub unexpected: Policy,
    /// How far, in root mean squares of the lengths of all others' answers.
    pub unexpected_factor: f64,
}

impl Default for Protection {
    fn default() -> Self {
        Self {
            answers_each: None,
            epsilon: None,
            delta: 1e-5,
            smoothness: Policy::Flag,
            smoothness_slack: 0.01,
            length: Policy::Refuse,
            // Counts far from their optimum differ by thousands; what differs by a million is a slip of units, or worse.
            length_factor: 1e6,
            // One that is taken and wrong may ruin a run: what contradicts it later is taken for noise.
            unexpected: Policy::Refuse,
            // Of 124,000 honest answers 2 are beyond this, and 32 where no L_i are known: docs/ledger.md has the table.
            unexpected_factor: 10.0,
        }
    }
}

impl Protection {
    pub(crate) fn check(&self) -> Result<(), LedgerError> {
        let wrong = |what: &str| Err(LedgerError::Protection { what: what.to_owned() });
        if self.answers_each == Some(0) {
            return wrong("0 answers of each user: at least one is needed");
        }
        if self.epsilon.is_some_and(|it| !(it.is_finite() && it > 0.0)) {
            return wrong("epsilon must be positive and finite");
        }
        if !(self.delta > 0.0 && self.delta < 1.0) {
            return wrong("delta must lie between 0 and 1");
        }
        if !(self.smoothness_slack >= 0.0 && self.length_factor > 1.0) {
            return wrong("the slack must not be negative, and the factor of lengths be more than 1");
        }
        if self.unexpected_factor.is_nan() || self.unexpected_factor <= 1.0 {
            let found = self.unexpected_factor;
            return wrong(&format!(
                "the factor of unexpected answers is {found}, and must be more than 1: 10 is the default"
            ));
        }
        Ok(())
    }

    /// Why a user with this account is not asked any more.
    pub(crate) fn is_spent(&self, account: &Account) -> Option<String> {
        if let Some(most) = self.answers_each.filter(|most| account.answers >= *most) {
            return Some(format!("it has given {} answers, and may give {most}", account.answers));
        }
        let limit = self.epsilon?;
        if account.bare > 0 {
            return Some(format!("it has given an answer without noise, and epsilon may be {limit}"));
        }
        let next = account.epsilon_after_one_more(self.delta);
        (next > limit).then(|| {
            let now = account.epsilon(self.delta);
            format!("its epsilon is {now:.3}, would be {next:.3} with one more answer, and may be {limit}")
        })
    }

    /// Why an answer breaks the user's own smoothness, as `‖g − g_i‖ ≤ L_i ‖x − x_i‖` has it, beside an earlier one.
    pub(crate) fn breaks_smoothness(
        &self,
        smoothness: f64,
        earlier: (&[f64], &Reply),
        now: (&[f64], &Reply),
    ) -> Option<String> {
        let distance =
            |one: &[f64], other: &[f64]| one.iter().zip(other).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt();
        let change = distance(&now.1.gradient, &earlier.1.gradient);
        let way = distance(now.0, earlier.0);
        let size = length(&now.1.gradient).max(length(&earlier.1.gradient));
        let noise = (noise_squared(now.1) + noise_squared(earlier.1)).sqrt();
        let allowed = smoothness * way * (1.0 + self.smoothness_slack) + NOISE_DEVIATIONS * noise + ROUNDING * size;
        (change > allowed).then(|| {
            format!(
                "its gradient changed by {change:.3e} over a way of {way:.3e}, and with L_i = {smoothness} it can change by {:.3e}",
                smoothness * way
            )
        })
    }

    /// Why an answer is out of line with those of others.
    pub(crate) fn is_too_long(&self, length: f64, longest_of_others: f64) -> Option<String> {
        (longest_of_others > 0.0 && length > self.length_factor * longest_of_others).then(|| {
            format!(
                "its gradient has the length {length:.3e}, with the weight that it states, and the longest of all others has \
                 {longest_of_others:.3e}"
            )
        })
    }

    /// Why an answer is too far from what the method expects of it.
    pub(crate) fn is_unexpected(&self, times: f64) -> Option<String> {
        (times > self.unexpected_factor).then(|| {
            format!(
                "its gradient is {} times as far from what the model expects of it as the answers of all others are long, \
                 and the limit is {}: check its units and its sign",
                if times < 1e4 { format!("{times:.0}") } else { format!("{times:.1e}") },
                self.unexpected_factor
            )
        })
    }
}

/// The expected square of the length of the noise that an answer states.
fn noise_squared(reply: &Reply) -> f64 {
    match reply.variance.as_deref() {
        Some([one]) => one * reply.gradient.len() as f64,
        Some(each) => each.iter().sum(),
        None => 0.0,
    }
}
