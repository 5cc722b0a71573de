//! What a method believes of each user between two answers.

mod last_gradient;
mod learned;
mod model;
mod points;
mod sum;
mod table;

use serde::{Deserialize, Serialize};

use crate::{Part, SettingsError, Smoothness, Storage, TellError};

pub use last_gradient::LastGradient;
pub use learned::LearnedSmoothness;
pub use model::{Curvature, DENSE_UP_TO, Model};

/// What is held of the users: built from their answers, read by the choice and the update.
///
/// # Contract
///
/// `begin` is called once, before anything else; on a belief that comes from a snapshot, `restored` is called in its place.
/// Every answer at the current point goes through `check`, and if that accepts it reaches `observe` exactly once, after the
/// update has used it: a belief that an update reads is the one *before* the answer.
pub trait Belief: Part {
    /// Makes room for that many users and parameters, kept in that way, or says why it cannot; learns the users' smoothness,
    /// where it is known.
    fn begin(
        &mut self,
        users: usize,
        dim: usize,
        storage: &Storage,
        smoothness: Option<&Smoothness>,
    ) -> Result<(), SettingsError>;

    /// Says what is missing after a snapshot of that many users and parameters was read, such as room for a table.
    fn restored(&self, users: usize, dim: usize) -> Result<(), SettingsError> {
        let _ = (users, dim);
        Ok(())
    }

    /// Refuses an answer that cannot be kept, before it is billed.
    fn check(&self, user: usize, point: &[f64], gradient: &[f64]) -> Result<(), TellError> {
        let _ = (user, point, gradient);
        Ok(())
    }

    /// Whether every user must be asked once, at the start, before the first step.
    fn wants_first_sweep(&self) -> bool;

    /// Whether users' smoothness is learned from their answers, and need not be given.
    fn learns_smoothness(&self) -> bool {
        false
    }

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
    fn begin(
        &mut self,
        _users: usize,
        _dim: usize,
        _storage: &Storage,
        _smoothness: Option<&Smoothness>,
    ) -> Result<(), SettingsError> {
        Ok(())
    }

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
