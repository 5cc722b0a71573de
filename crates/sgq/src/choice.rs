//! Whom to ask next.

mod direction;
mod expected_improvement;
mod informative;
mod lazy;
mod losses;
mod order;
mod sampling;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::{Belief, Meter, Part, Problem, Random, SettingsError, Smoothness, theory::Theorem};

pub use direction::{Balanced, Projection};
pub use expected_improvement::{OracleEi, Search, SurrogateEi};
pub use informative::Informative;
pub use losses::{Oort, PowerOfChoice};
pub use order::{Cyclic, Sequence, Shuffled, Uniform};
pub use sampling::{ByNorm, BySmoothness};

/// Decides whom to ask for the next step.
///
/// # Contract
///
/// `begin` is called once, before anything else, and refuses settings that make no sense. `choose` returns a user
/// below `scene.users`, and depends on nothing but its own state, the scene and the random stream: that is what makes a
/// run repeatable and resumable. Every accepted answer at the current point reaches `observe` exactly once, after the update
/// has used it.
pub trait Choice<B: Belief>: Part {
    /// Learns the number of users and checks its own settings.
    fn begin(&mut self, users: usize) -> Result<(), SettingsError> {
        let _ = users;
        Ok(())
    }

    /// What it cannot work without; a session that lacks it is refused when it is built.
    fn needs(&self) -> Needs {
        Needs::default()
    }

    /// The theorem that bounds the step size of plain SGD steps under this choice, if there is one.
    fn theorem(&self) -> Option<Theorem> {
        None
    }

    /// Picks the user to ask.
    fn choose(&mut self, scene: &Scene<'_, B>, random: &mut Random) -> Result<Chosen, ChoiceError>;

    /// Takes in an answer, for choices that keep a record of their own.
    fn observe(&mut self, reply: &Reply<'_>, random: &mut Random) {
        let _ = (reply, random);
    }
}

/// What a choice cannot work without.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// Every user's smoothness constant `L_i`.
    pub smoothness: bool,
    /// Whether a belief that [learns](Belief::learns_smoothness) them will do as well.
    pub or_learned: bool,
    /// A look at every user's true gradient before each choice, which only a simulation can offer.
    pub oracle: bool,
    /// Users' losses, for polling and with each answer. A session asks for gradients only, so that a problem must be in
    /// sight; the meter counts those polled.
    pub losses: bool,
}

/// All that a choice may look at.
pub struct Scene<'a, B> {
    /// How many users there are.
    pub users: usize,
    /// The point `x_t` at which the next gradient is asked for.
    pub point: &'a [f64],
    /// The step size `α_t` of the coming step.
    pub step_size: f64,
    /// What is believed of the users.
    pub belief: &'a B,
    /// Whether the update finds a step size of its own, and `step_size` means nothing.
    pub(crate) own_step: bool,
    pub(crate) smoothness: Option<&'a Smoothness>,
    pub(crate) all_gradients: Option<&'a [f64]>,
    pub(crate) problem: Option<&'a dyn Problem>,
    pub(crate) meter: &'a Meter,
}

impl<'a, B> Scene<'a, B> {
    /// The users' smoothness constants; there whenever [`Needs::smoothness`] asked for them, and the belief does not learn
    /// them.
    pub fn smoothness(&self) -> Result<&'a Smoothness, ChoiceError> {
        self.smoothness.ok_or(ChoiceError::NotAskedFor("smoothness"))
    }

    /// What a query to a user costs.
    pub fn cost(&self, user: usize) -> f64 {
        self.meter.cost_of(user)
    }

    /// A user's loss at the point: there whenever [`Needs::losses`] asked for them.
    pub fn loss(&self, user: usize) -> Result<f64, ChoiceError> {
        let problem = self.problem.ok_or(ChoiceError::NotAskedFor("losses"))?;
        Ok(problem.user_value(user, self.point))
    }

    /// Every user's true gradient at the point, row after row; there whenever [`Needs::oracle`] asked for them.
    pub fn all_gradients(&self) -> Result<&'a [f64], ChoiceError> {
        self.all_gradients.ok_or(ChoiceError::NotAskedFor("oracle"))
    }
}

/// An accepted answer.
#[derive(Clone, Copy, Debug)]
pub struct Reply<'a> {
    /// Who was asked.
    pub user: usize,
    /// Where.
    pub point: &'a [f64],
    /// The answer.
    pub gradient: &'a [f64],
    /// Whether it is one of a sweep, in which everybody is asked, and not of a step.
    pub sweep: bool,
    /// The user's loss there, for parts that [need](Needs::losses) it.
    pub loss: Option<f64>,
    /// The user's Hessian there, row by row, for updates that [need](crate::Update::needs_hessians) it.
    pub hessian: Option<&'a [f64]>,
}

/// A choice made.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Chosen {
    /// The user to ask.
    pub user: usize,
    /// Whether it was picked at random in order to explore; `None` where a choice knows no such difference.
    pub explored: Option<bool>,
    /// What the answer counts: `1 / (n p_i)` for a user chosen with probability `p_i`, so that the step is right on
    /// average; 1 where nothing is corrected for.
    pub weight: f64,
    /// Users whose losses were looked at.
    pub polled: u64,
}

impl Chosen {
    /// A user with a weight of 1.
    pub fn user(user: usize) -> Self {
        Self { user, explored: None, weight: 1.0, polled: 0 }
    }
}

/// Why no user could be chosen.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ChoiceError {
    /// A fixed sequence has been used up.
    #[error("the fixed sequence of {length} users is used up: give a longer one or a smaller budget")]
    SequenceEnded {
        /// How many users the sequence had.
        length: usize,
    },
    /// A choice named a user that does not exist.
    #[error("the choice picked user {user}, but there are only {users}: users count from 0")]
    NoSuchUser {
        /// The user picked.
        user: usize,
        /// How many there are.
        users: usize,
    },
    /// Every score overflowed.
    #[error("no user has a score that is a number: the gradients are too large; rescale the problem or start closer")]
    NoScore,
    /// For choices of one's own, in their own words.
    #[error("{0}")]
    Other(String),
    /// A choice reads something that its `needs` does not ask for.
    #[error("the choice reads the {0} but its `needs` does not ask for it")]
    NotAskedFor(&'static str),
}
