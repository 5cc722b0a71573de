//! When the model fails: a bound on the gradient that must shrink, or steps with a proof are taken instead.

use serde::{Deserialize, Serialize};

use super::answers::Answers;
use crate::{Smoothness, kernel};

/// Watches `G = ‖mean gᵢ‖ + mean Lᵢ ‖x − xᵢ‖ ≥ ‖∇f(x)‖`, once everybody was asked. By the model, it must halve within so many
/// passes; else SAGA takes over until it has.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Safeguard {
    /// `L_i`; empty where they are not known, and nothing can be guaranteed.
    smoothness: Vec<f64>,
    /// The bound that must be halved; none before everybody was asked.
    reference: Option<f64>,
    /// Answers since then.
    answers: u64,
    fallen_back: bool,
}

/// Passes within which the model must halve the bound.
const PASSES: u64 = 8;

impl Safeguard {
    pub fn new(smoothness: Option<&Smoothness>) -> Self {
        let smoothness = smoothness.map(|known| known.each().to_vec()).unwrap_or_default();
        Self { smoothness, ..Self::default() }
    }

    pub fn fits(&self, users: usize) -> bool {
        [0, users].contains(&self.smoothness.len())
    }

    pub fn fallen_back(&self) -> bool {
        self.fallen_back
    }

    /// Looks at the bound once a pass.
    pub fn observe(&mut self, answers: &Answers, sizes: &[f64], point: &[f64]) {
        if self.smoothness.is_empty() || !answers.all_asked() {
            return;
        }
        let users = sizes.len() as u64;
        self.answers += 1;
        if self.reference.is_some() && !self.answers.is_multiple_of(users) {
            return;
        }
        let carried =
            |(user, answer): (usize, &super::Answer)| self.smoothness[user] * kernel::distance(&answer.point, point);
        let bound = kernel::norm(answers.mean_gradient()) + answers.iter().map(carried).sum::<f64>() / users as f64;
        match self.reference {
            // What is past all numbers is not halved either.
            Some(reference) if bound > 0.5 * reference || !bound.is_finite() => {
                self.fallen_back |= self.answers >= PASSES * users;
            }
            _ => *self = Self { reference: Some(bound), answers: 0, fallen_back: false, ..std::mem::take(self) },
        }
    }
}
