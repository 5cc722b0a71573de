//! What parts cannot work without. A session that lacks it is refused when it is opened.

use std::fmt;

use crate::Detail;

/// What a choice or an update cannot work without, and whether it leaves something to chance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Needs {
    /// Every user's smoothness constant `L_i`.
    pub smoothness: bool,
    /// Whether a belief that [learns](crate::Belief::learns_smoothness) them will do as well.
    pub or_learned: bool,
    /// A look at every user's true gradient before each choice, which only a simulation can offer.
    pub oracle: bool,
    /// Users' losses with each answer: users are asked for them, or a problem is in sight.
    pub losses: bool,
    /// Users' losses before each choice as well; the meter counts those polled.
    pub polls: bool,
    /// The user's Hessian with each answer: users are asked for it, or a problem is in sight that knows it.
    pub hessians: bool,
    /// Random numbers of an update's own.
    pub chance: bool,
    /// Every answer before the next question: what it does with an answer that was asked for at an older point makes no sense.
    pub one_at_a_time: bool,
}

impl Needs {
    /// Nothing; each field can be set.
    ///
    /// ```
    /// let mut needs = sgq::Needs::none();
    /// needs.smoothness = true;
    /// ```
    pub fn none() -> Self {
        Self::default()
    }

    /// What the method sees without paying for it, in words, where users' answers say so much.
    pub(crate) fn unpaid(&self, answers: Detail) -> Option<&'static str> {
        match self {
            Self { oracle: true, .. } => Some("oracle, looks not billed"),
            Self { hessians: true, .. } if answers < Detail::Hessian => Some("oracle, Hessians not billed"),
            Self { polls: true, .. } => Some("losses polled, not billed"),
            Self { losses: true, .. } if answers < Detail::Loss => Some("losses not billed"),
            _ => None,
        }
    }

    /// What either of two parts needs.
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            smoothness: self.smoothness || other.smoothness,
            // Learned constants will do only where they do for whoever needs them.
            or_learned: (self.or_learned || !self.smoothness) && (other.or_learned || !other.smoothness),
            oracle: self.oracle || other.oracle,
            losses: self.losses || other.losses,
            polls: self.polls || other.polls,
            hessians: self.hessians || other.hessians,
            chance: self.chance || other.chance,
            one_at_a_time: self.one_at_a_time || other.one_at_a_time,
        }
    }
}

/// What a session lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // the sentence says it
#[non_exhaustive]
pub enum Need {
    Smoothness,
    Oracle,
    Losses,
    Polls,
    Hessians,
    Surrogate,
    Remaining,
    OneAtATime,
}

impl fmt::Display for Need {
    /// The rest of a sentence that begins with the method's name.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Smoothness => "goes by users' smoothness: give the settings each L_i, or have them learned",
            Self::Oracle => {
                "looks at every user's gradient before it asks for one, and this session has no oracle: simulate it \
                 against a problem, or take a method that works with answers alone, such as sgq"
            }
            Self::Losses => {
                "wants each user's loss with its gradient, and this session has none: ask for answers with a loss, simulate \
                 it against a problem, or take a method that works with gradients alone"
            }
            Self::Polls => {
                "looks at several users' losses before it asks for a gradient, and this session sees none: simulate it \
                 against a problem, or take a method that works with answers alone"
            }
            Self::Hessians => {
                "wants each user's Hessian with its gradient, and this session has none: ask for answers with a Hessian, or \
                 simulate it against a problem that knows them"
            }
            Self::OneAtATime => {
                "needs every answer before it can ask the next question: let one question be open, or take another method"
            }
            Self::Remaining => {
                "cannot tell what remains, so there is no tolerance to stop by: use another stop, or frugal, which can"
            }
            Self::Surrogate => "keeps no gradients, so there is no surrogate gradient to stop by: use another stop",
        })
    }
}
