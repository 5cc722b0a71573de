//! Whom to ask next.

mod direction;
mod expected_improvement;
mod informative;
mod lazy;
mod losses;
mod order;
mod sampling;
mod scores;

use std::fmt;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::{
    Belief, Needs, Part, Problem, Random, Setting, SettingError, Smoothness, kernel,
    method::{AnyChoice, PartEntry, parts},
    theory::Theorem,
};

pub use direction::{Balanced, Projection};
pub use expected_improvement::{OracleEi, Search, SurrogateEi};
pub use informative::Informative;
pub use losses::{Oort, PowerOfChoice};
pub use order::{Cyclic, Sequence, Shuffled, Uniform};
pub use sampling::{ByNorm, BySmoothness};
pub use scores::{ScorePart, Scored, Scores};

/// Decides whom to ask for the next step.
///
/// # Contract
///
/// `begin` is called once, before anything else, and refuses settings that make no sense. `choose` returns a user
/// below `scene.users` who [can be asked](Scene::is_free), or [`ChoiceError::AnswersFirst`], and depends on nothing but its own state, the scene and the random stream: that is what makes a
/// run repeatable and resumable. Every accepted answer at the current point reaches `observe` exactly once, after the belief
/// and the update.
pub trait Choice<B: Belief>: Part {
    /// Its own settings. Their ranges are checked before `begin`.
    fn settings(&mut self) -> Vec<Setting<'_>> {
        Vec::new()
    }

    /// Learns the number of users.
    fn begin(&mut self, users: usize) -> Result<(), SettingError> {
        let _ = users;
        Ok(())
    }

    /// What it cannot work without; a session that lacks it is refused when it is built.
    fn needs(&self) -> Needs {
        Needs::none()
    }

    /// In which order it asks.
    fn order(&self) -> Order {
        Order::AtRandom
    }

    /// The theorem that bounds the step size of plain SGD steps under this choice, if there is one.
    fn theorem(&self) -> Option<Theorem> {
        None
    }

    /// Whether users may leave and join: not where it counts on an answer of each.
    fn lets_users_go(&self) -> bool {
        true
    }

    /// Picks the user to ask.
    fn choose(&mut self, scene: &Scene<'_, B>, random: &mut Random) -> Result<Chosen, ChoiceError>;

    /// Takes in an answer, for choices that keep a record of their own.
    fn observe(&mut self, reply: &Reply<'_>, random: &mut Random) {
        let _ = (reply, random);
    }

    /// What asking each user now would be worth to it, where it goes by scores: `choose`, in the same scene, picks [the
    /// best](Scores::best) unless it explores. It only looks, and is called where somebody wants to see why.
    fn scores(&self, scene: &Scene<'_, B>) -> Option<Scores> {
        let _ = scene;
        None
    }

    /// How it picks a user, in a sentence.
    fn how(&self) -> &'static str {
        "Users are picked by a rule of the method's own."
    }
}

dyn_clone::clone_trait_object!(<B> Choice<B>);

/// In which order a choice asks, as far as a default step size or the number of trials depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Order {
    /// At random, in whatever way.
    AtRandom,
    /// At random in proportion to `L_i`.
    BySmoothness,
    /// Everybody in turn.
    InTurn,
    /// By scores that leave nothing to chance.
    ByScore,
}

impl Order {
    /// Whether two runs with different seeds ask the same users.
    pub fn is_fixed(self) -> bool {
        matches!(self, Self::InTurn | Self::ByScore)
    }
}

/// All that a choice may look at.
#[non_exhaustive]
pub struct Scene<'a, B> {
    /// How many users there are.
    pub users: usize,
    /// The point `x_t` at which the next gradient is asked for.
    pub point: &'a [f64],
    /// The step size `α_t` of the coming step.
    pub step_size: f64,
    /// Whether the update finds a step size of its own, and `step_size` means nothing.
    pub own_step: bool,
    /// What is believed of the users.
    pub belief: &'a B,
    pub(crate) smoothness: Option<&'a Smoothness>,
    pub(crate) costs: &'a [f64],
    /// Who cannot be asked now; empty where everybody can be.
    pub(crate) busy: &'a [bool],
    pub(crate) all_gradients: Option<&'a [f64]>,
    pub(crate) problem: Option<&'a dyn Problem>,
}

impl<'a, B> Scene<'a, B> {
    /// What a session without smoothness, costs or a problem shows: for tests of a choice of one's own.
    ///
    /// ```
    /// use sgq::{Choice, Random, Scene, belief::Nothing, choice::Cyclic};
    ///
    /// let scene = Scene::new(3, &[5.0], 0.1, &Nothing);
    /// let chosen = Cyclic::new().choose(&scene, &mut Random::new(7, "test"))?;
    /// assert_eq!(chosen.user, 0);
    /// # Ok::<(), sgq::ChoiceError>(())
    /// ```
    pub fn new(users: usize, point: &'a [f64], step_size: f64, belief: &'a B) -> Self {
        Self {
            users,
            point,
            step_size,
            own_step: false,
            belief,
            smoothness: None,
            costs: &[],
            busy: &[],
            all_gradients: None,
            problem: None,
        }
    }

    /// The same where the users' smoothness is known.
    pub fn with_smoothness(self, smoothness: &'a Smoothness) -> Self {
        Self { smoothness: Some(smoothness), ..self }
    }

    /// The same with what a query to each user costs.
    pub fn with_costs(self, costs: &'a [f64]) -> Self {
        Self { costs, ..self }
    }

    /// The same where these users cannot be asked now.
    pub fn with_busy(self, busy: &'a [bool]) -> Self {
        Self { busy, ..self }
    }

    /// Whether a user can be asked now: no question is out to it, and it is not away.
    pub fn is_free(&self, user: usize) -> bool {
        self.busy.get(user) != Some(&true)
    }

    /// Whether everybody can be asked now.
    pub fn all_free(&self) -> bool {
        self.busy.is_empty()
    }

    /// Those who can be asked now, at least one, in order.
    pub fn free(&self) -> impl Iterator<Item = usize> {
        (0..self.users).filter(|user| self.is_free(*user))
    }

    /// How many can be asked now.
    pub fn count_free(&self) -> usize {
        if self.all_free() { self.users } else { self.free().count() }
    }

    /// One of those who can be asked now, each as likely as the others.
    pub(crate) fn any_free(&self, random: &mut Random) -> Result<usize, ChoiceError> {
        if self.all_free() {
            return Ok(random.index(self.users));
        }
        let free: Vec<usize> = self.free().collect();
        if free.is_empty() { Err(ChoiceError::AnswersFirst) } else { Ok(free[random.index(free.len())]) }
    }

    /// The one with the largest score of those who can be asked now. Ties go to the lowest user.
    pub(crate) fn best_free(&self, scores: impl Iterator<Item = f64> + Clone) -> Result<usize, ChoiceError> {
        let scores = scores.enumerate().map(|(user, score)| if self.is_free(user) { score } else { f64::NAN });
        kernel::argmax(scores).ok_or(ChoiceError::NoScore)
    }

    /// The users' smoothness constants; there whenever [`Needs::smoothness`] asked for them, and the belief does not learn
    /// them.
    pub fn smoothness(&self) -> Result<&'a Smoothness, ChoiceError> {
        self.smoothness.ok_or(ChoiceError::NotAskedFor("smoothness"))
    }

    /// What a query to a user costs; 1 where nobody says.
    pub fn cost(&self, user: usize) -> f64 {
        self.costs.get(user).copied().unwrap_or(1.0)
    }

    /// A user's loss at the point: there whenever [`Needs::polls`] asked for them.
    pub fn loss(&self, user: usize) -> Result<f64, ChoiceError> {
        let problem = self.problem.ok_or(ChoiceError::NotAskedFor("losses"))?;
        Ok(problem.user_value(user, self.point))
    }

    /// Every user's true gradient at the point, row after row; there whenever [`Needs::oracle`] asked for them.
    pub fn all_gradients(&self) -> Result<&'a [f64], ChoiceError> {
        self.all_gradients.ok_or(ChoiceError::NotAskedFor("oracle"))
    }
}

/// What a question was for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Purpose {
    /// A step, on the answer of the user that the choice picked.
    Step,
    /// A sweep, in which everybody is asked at the same point.
    Sweep {
        /// Whether nobody is left to be asked in it.
        last: bool,
    },
    /// None of this session's: an answer that was paid for in an earlier run.
    Earlier,
    /// The coming step, at another point than the current one: see [`Wants::Elsewhere`](crate::update::Wants).
    Elsewhere,
}

impl Purpose {
    /// Whether it is a sweep.
    pub fn is_sweep(self) -> bool {
        matches!(self, Self::Sweep { .. })
    }
}

/// An accepted answer.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Reply<'a> {
    /// Who was asked.
    pub user: usize,
    /// Where.
    pub point: &'a [f64],
    /// The answer.
    pub gradient: &'a [f64],
    /// What it was asked for.
    pub purpose: Purpose,
    /// The user's loss there, where it said so.
    pub loss: Option<f64>,
    /// The user's Hessian there, all of it row by row, where it said so.
    pub hessian: Option<&'a [f64]>,
    /// The variance of the noise in each coordinate of the gradient, or one for all of them, where it is known.
    pub variance: Option<&'a [f64]>,
}

impl<'a> Reply<'a> {
    /// An answer to a question of that purpose: for tests of parts of one's own.
    pub fn new(user: usize, point: &'a [f64], gradient: &'a [f64], purpose: Purpose) -> Self {
        Self { user, point, gradient, purpose, loss: None, hessian: None, variance: None }
    }
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
    /// Why it was picked, as far as the choice says.
    pub why: Why,
}

impl Chosen {
    /// A user with a weight of 1.
    pub fn user(user: usize) -> Self {
        Self { user, explored: None, weight: 1.0, polled: 0, why: Why::Chosen }
    }

    /// A user with a weight of 1, and why it was picked.
    pub fn because(user: usize, why: Why) -> Self {
        Self { why, ..Self::user(user) }
    }
}

/// Why a user is asked: a word for the record, and for whoever watches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Why {
    /// The choice picked it, at random or in turn.
    Chosen,
    /// The choice gave it the largest score.
    Scored,
    /// The choice picked it at random, in order to explore.
    Explored,
    /// Everybody is asked at this point.
    Sweep,
    /// Nobody has asked it before.
    New,
    /// Its last answer is the most out of date.
    Again,
    /// The point is a short way off, to see how gradients change.
    Probe,
    /// Its last answer was set aside as too long: the point is on the way back.
    SetAside,
    /// The update wants a gradient at another point than the current one.
    Elsewhere,
}

impl Why {
    /// Every reason.
    pub const ALL: [Self; 9] = [
        Self::Chosen,
        Self::Scored,
        Self::Explored,
        Self::Sweep,
        Self::New,
        Self::Again,
        Self::Probe,
        Self::SetAside,
        Self::Elsewhere,
    ];

    /// The word in a record.
    pub fn word(self) -> &'static str {
        match self {
            Self::Chosen => "chosen",
            Self::Scored => "scored",
            Self::Explored => "explored",
            Self::Sweep => "sweep",
            Self::New => "new",
            Self::Again => "again",
            Self::Probe => "probe",
            Self::SetAside => "set-aside",
            Self::Elsewhere => "elsewhere",
        }
    }
}

impl fmt::Display for Why {
    /// In words, for a person.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Chosen => "chosen",
            Self::Scored => "expected to improve the point the most",
            Self::Explored => "at random, to explore",
            Self::Sweep => "everybody is asked at this point",
            Self::New => "not asked before",
            Self::Again => "its last answer is the most out of date",
            Self::Probe => "a probe, to see how gradients change",
            Self::SetAside => "its last answer was set aside",
            Self::Elsewhere => "a gradient at another point is wanted",
        })
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
    #[error("there is no user {user}: there are only {users}, and users count from 0")]
    NoSuchUser {
        /// The user picked.
        user: usize,
        /// How many there are.
        users: usize,
    },
    /// Every score overflowed.
    #[error("no user has a score that is a number: the gradients are too large; rescale the problem or start closer")]
    NoScore,
    /// A choice named a user that cannot be asked now.
    #[error("the choice picked user {user}, who cannot be asked now: `Scene::is_free` says who can be")]
    CannotBeAsked {
        /// The user picked.
        user: usize,
    },
    /// Nobody can be asked before an answer comes; a session waits for it.
    #[error("nobody can be asked before an answer comes")]
    AnswersFirst,
    /// For choices of one's own, in their own words.
    #[error("{0}")]
    Other(String),
    /// A choice reads something that its `needs` does not ask for.
    #[error("the choice reads the {0} but its `needs` does not ask for it")]
    NotAskedFor(&'static str),
}

/// The built-in choices, for methods that are put together at run time.
pub const CHOICES: &[PartEntry<AnyChoice>] = parts! { AnyChoice:
    "informative", by_model(Informative::new()):
        "those who were not asked, the larger the sooner; then the one whose answer is the most out of place";
    "uniform", by_any(Uniform): "every user equally likely, each time anew";
    "shuffled", by_any(Shuffled::new()): "every user once in random order, then again (without replacement)";
    "cyclic", by_any(Cyclic::new()): "every user in turn";
    "by-smoothness", by_any(BySmoothness): "in proportion to L_i; each answer counts 1/(n p_i)";
    "by-norm", by_any(ByNorm::new(0.5)):
        "in proportion to the norms of last gradients, mixed with uniform; each answer counts 1/(n p_i)";
    "balanced", by_any(Balanced::new()):
        "every user once an epoch, in an order in which the last epoch's gradients balance";
    "projection", by_table(Projection::new()):
        "argmax of the last gradient's projection on the global direction plus a confidence bound";
    "power-of-choice", by_any(PowerOfChoice::new(None)):
        "the largest loss among a few users at random (simulation only)";
    "oort", by_any(Oort::new()): "the largest last loss plus a bonus for staleness (simulation only)";
    "oracle-ei", by_any(OracleEi::new()):
        "argmax of the expected improvement, with everybody's true gradients (simulation only)";
    "surrogate-ei", by_table(SurrogateEi::new(0.3)):
        "argmax of the surrogate improvement plus the bonus of Lemma 2, over the last gradients";
};
