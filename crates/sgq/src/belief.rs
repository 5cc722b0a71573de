//! What a method believes of each user between two answers.

mod last_gradient;
mod points;
mod sum;
mod table;

use serde::{Deserialize, Serialize};

use crate::Part;

pub use last_gradient::LastGradient;

/// What is held of the users: built from their answers, read by the choice and the update.
///
/// # Contract
///
/// `begin` is called once, before anything else. Every accepted answer at the current point reaches `observe` exactly once, after
/// the update has used it: a belief that an update reads is the one *before* the answer.
pub trait Belief: Part {
    /// Makes room for that many users and parameters.
    fn begin(&mut self, users: usize, dim: usize);

    /// Whether every user must be asked once, at the start, before the first step.
    fn wants_first_sweep(&self) -> bool;

    /// Takes in one user's gradient at the point where it was asked for.
    fn observe(&mut self, user: usize, point: &[f64], gradient: &[f64]);

    /// Whether it will have a surrogate gradient.
    fn has_surrogate(&self) -> bool;

    /// The belief's estimate of `∇f`, once it has one.
    fn surrogate_gradient(&self) -> Option<&[f64]>;
}

/// No memory at all: what SGD, shuffled SGD, OGQ and SVRG need.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Nothing;

impl Belief for Nothing {
    fn begin(&mut self, _users: usize, _dim: usize) {}

    fn wants_first_sweep(&self) -> bool {
        false
    }

    fn observe(&mut self, _user: usize, _point: &[f64], _gradient: &[f64]) {}

    fn has_surrogate(&self) -> bool {
        false
    }

    fn surrogate_gradient(&self) -> Option<&[f64]> {
        None
    }
}
