//! When the model fails, docs/frugal.md § 9: a bound on the gradient that must shrink, or steps with a proof are taken instead.

use serde::{Deserialize, Serialize};

use crate::{belief::Model, frugal::FRUGAL};

/// Watches the [bound](Model::carried_bound) on `‖∇f(x)‖`, once everybody was asked. By the model, it must halve within so many
/// passes; else SAGA takes over until it has.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Safeguard {
    /// The bound that must be halved; none before everybody was asked.
    reference: Option<f64>,
    /// Answers since then.
    answers: u64,
    failed: bool,
}

impl Safeguard {
    pub fn has_failed(&self) -> bool {
        self.failed
    }

    /// Looks at the bound once a pass. Where no `L_i` are known, nothing can be guaranteed.
    pub fn watch(&mut self, belief: &Model, smoothness: Option<&[f64]>, point: &[f64]) {
        let Some(smoothness) = smoothness.filter(|_| belief.all_asked()) else {
            return;
        };
        let users = smoothness.len() as u64;
        self.answers += 1;
        if self.reference.is_some() && !self.answers.is_multiple_of(users) {
            return;
        }
        let bound = belief.carried_bound(point, smoothness);
        match self.reference {
            // What is past all numbers is not halved either.
            // Below what noise explains, SAGA would do no better.
            Some(reference) if (bound > 0.5 * reference && bound > belief.noise_floor()) || !bound.is_finite() => {
                let pass = users.max(FRUGAL.answers_per_parameter * point.len() as u64);
                self.failed |= self.answers >= FRUGAL.passes_to_halve * pass;
            }
            _ => *self = Self { reference: Some(bound), answers: 0, failed: false },
        }
    }
}
