//! Methods: what is believed, whom to ask, how to move.

use std::fmt::Debug;

use serde::{Serialize, de::DeserializeOwned};

use crate::{
    LastGradient,
    belief::{Model, Nothing},
    choice::{Informative, OracleEi, Shuffled, SurrogateEi, Uniform},
    update::{BestStep, Saga, Sgd, Svrg, ToMinimiser},
};

/// What belief, choice and update have in common: all of their state can be saved and restored.
///
/// Any type that derives serde's two traits is a `Part`.
pub trait Part: Clone + Debug + Serialize + DeserializeOwned + Send + Sync {}

impl<T: Clone + Debug + Serialize + DeserializeOwned + Send + Sync> Part for T {}

/// A named composition of the three parts.
///
/// The compiler refuses parts that do not fit, such as a SAGA step without the gradients it corrects by.
#[derive(Clone, Debug)]
pub struct Method<B, C, U> {
    pub(crate) name: String,
    pub(crate) belief: B,
    pub(crate) choice: C,
    pub(crate) update: U,
}

impl<B, C, U> Method<B, C, U> {
    /// Composes a method of one's own.
    ///
    /// ```
    /// use sgq::{Method, belief::LastGradient, choice::Shuffled, update::Saga};
    ///
    /// let mine = Method::new("shuffled SAGA", LastGradient::new(), Shuffled::new(), Saga);
    /// ```
    pub fn new(name: impl Into<String>, belief: B, choice: C, update: U) -> Self {
        Self { name: name.into(), belief, choice, update }
    }
}

/// SGD: a user at random, a step along its gradient.
pub fn sgd() -> Method<Nothing, Uniform, Sgd> {
    Method::new("sgd", Nothing, Uniform, Sgd)
}

/// SGD without replacement: every user once in random order, then again.
pub fn shuffled_sgd() -> Method<Nothing, Shuffled, Sgd> {
    Method::new("shuffled-sgd", Nothing, Shuffled::new(), Sgd)
}

/// OGQ, Algorithm 1: the user with the largest expected improvement, by an oracle. A yardstick, for simulations only.
pub fn ogq() -> Method<Nothing, OracleEi, Sgd> {
    Method::new("ogq", Nothing, OracleEi::new(), Sgd)
}

/// SGQ, Algorithm 2: the user with the largest surrogate improvement plus bonus; with probability `explore` (`p` in the
/// paper) one at random.
pub fn sgq(explore: f64) -> Method<LastGradient, SurrogateEi, Sgd> {
    Method::new("sgq", LastGradient::new(), SurrogateEi::new(explore), Sgd)
}

/// SGQ without its practical difficulties, which docs/sgq-in-practice.md has measured: starts at once, learns each `L_i`, weighs
/// the bonus by a tenth, and finds its own step size. Nothing needs to be known or tuned.
pub fn practical_sgq(explore: f64) -> Method<LastGradient, SurrogateEi, BestStep> {
    let belief = LastGradient::new().lazy(true).learning(true);
    Method::new("practical-sgq", belief, SurrogateEi::new(explore).bonus_weight(0.1), BestStep::new())
}

/// SAGA: a user at random, a step corrected by everybody's last gradient.
pub fn saga() -> Method<LastGradient, Uniform, Saga> {
    Method::new("saga", LastGradient::new(), Uniform, Saga)
}

/// SVRG: a user at random, a step corrected by a full gradient taken every `inner_steps` steps.
pub fn svrg(inner_steps: usize) -> Method<Nothing, Uniform, Svrg> {
    Method::new("svrg", Nothing, Uniform, Svrg::new(inner_steps))
}

/// SAGA's step with SGQ's choice: the remark after Theorem 2.
pub fn saga_sgq(explore: f64) -> Method<LastGradient, SurrogateEi, Saga> {
    Method::new("saga-sgq", LastGradient::new(), SurrogateEi::new(explore), Saga)
}

/// Frugal: a model of all users, whoever tells the most about the mean gradient, and a step to where the model is smallest.
/// Starts at once, and has nothing to tune; docs/frugal.md.
pub fn frugal() -> Method<Model, Informative, ToMinimiser> {
    Method::new("frugal", Model::new(), Informative::new(), ToMinimiser)
}
