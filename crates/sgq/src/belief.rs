//! What a method believes of each user between two answers.

mod last_gradient;
mod learned;
pub(crate) mod model;
mod points;
mod sum;
mod table;

use serde::{Deserialize, Serialize};

use crate::{
    Detail, Part, Reply, Setting, SettingsError, Smoothness, Storage, TellError,
    method::{AnyBelief, PartEntry},
};

pub use last_gradient::{LastGradient, Replaced};
pub use learned::LearnedSmoothness;
pub use model::{Curvature, Model, Remaining};

/// What is held of the users: built from their answers, read by the update and then by the choice.
///
/// # Contract
///
/// `begin` is called once, before anything else; on a belief that comes from a snapshot, `restored` is called in its place.
/// Every answer at the current point goes through `check`, and if that accepts it reaches `observe` exactly once, before
/// the update moves on it and the choice looks at it. A belief never moves the point and never picks a user.
pub trait Belief: Part {
    /// Its own settings.
    fn settings(&mut self) -> Vec<Setting<'_>> {
        Vec::new()
    }

    /// Makes room for that many users and parameters, kept in that way, or says why it cannot; learns the users' smoothness,
    /// where it is known.
    fn begin(
        &mut self,
        users: usize,
        dim: usize,
        storage: &Storage,
        smoothness: Option<&Smoothness>,
    ) -> Result<(), SettingsError> {
        let _ = (users, dim, storage, smoothness);
        Ok(())
    }

    /// Says what is missing after a snapshot was read, such as room for a table.
    fn restored(&self) -> Result<(), SettingsError> {
        Ok(())
    }

    /// Refuses an answer that cannot be kept, before it is billed.
    fn check(&self, user: usize, point: &[f64], gradient: &[f64]) -> Result<(), TellError> {
        let _ = (user, point, gradient);
        Ok(())
    }

    /// Whether everybody must be asked once before the first step.
    fn wants_first_sweep(&self) -> bool {
        false
    }

    /// Whether an answer of that user is held.
    fn is_asked(&self, user: usize) -> bool {
        let _ = user;
        false
    }

    /// Whether users' smoothness is learned from their answers, and need not be given.
    fn learns_smoothness(&self) -> bool {
        false
    }

    /// How much of an answer it has a use for.
    fn uses(&self) -> Detail {
        Detail::Gradient
    }

    /// Takes in one user's answer at the point where it was asked for.
    fn observe(&mut self, reply: &Reply<'_>);

    /// Forgets a user who is no longer one: means are over the others from here on. Returns false where it cannot, and then
    /// nothing has changed.
    fn leave(&mut self, user: usize) -> bool {
        let _ = user;
        false
    }

    /// A user who had left is one again, of whom nothing is known. Only called after `leave` has returned true.
    fn join(&mut self, user: usize) {
        let _ = user;
    }

    /// Whether it will be able to tell how far it is still to go.
    fn can_tell_remaining(&self) -> bool {
        false
    }

    /// At least `‖∇f(x)‖`, where every user's gradient is as smooth as that: from answers that are exact, once everybody was asked.
    fn gradient_bound(&self, point: &[f64], smoothness: &[f64]) -> Option<f64> {
        let _ = (point, smoothness);
        None
    }

    /// How far it is still to go, where the belief can tell since the last answer.
    fn remaining(&self) -> Option<Remaining> {
        None
    }

    /// How far an answer that has not been taken in is from what is expected of it, in units of what the answers of all others are
    /// like: honest ones are rarely beyond 10. None where the belief cannot tell. It only looks.
    fn out_of_line(&self, reply: &Reply<'_>) -> Option<f64> {
        let _ = reply;
        None
    }

    /// Whether it will have a surrogate gradient.
    fn has_surrogate(&self) -> bool {
        false
    }

    /// The belief's estimate of `∇f`, once it has one.
    fn surrogate_gradient(&self) -> Option<&[f64]> {
        None
    }
}

/// No memory at all: what SGD, shuffled SGD, OGQ and SVRG need.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Nothing;

impl Belief for Nothing {
    fn observe(&mut self, _reply: &Reply<'_>) {}

    fn leave(&mut self, _user: usize) -> bool {
        true
    }
}

/// The built-in beliefs, for methods that are put together at run time.
pub const BELIEFS: &[PartEntry<AnyBelief>] = &[
    PartEntry { name: "nothing", summary: "no memory of the users", make: || AnyBelief::Nothing(Nothing) },
    PartEntry {
        name: "last-gradient",
        summary: "each user's last gradient, where it was taken, and the mean of them all",
        make: || AnyBelief::Table(Box::new(LastGradient::new())),
    },
    PartEntry {
        name: "model",
        summary: "shared curvature, each user's own difference from it, and how sure that is",
        make: || AnyBelief::Model(Box::new(Model::new())),
    },
];
