//! How users behave in a simulation: how long they take, whether they answer at all, and how exact they are.

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// How users behave. The default is users who take one unit of time for each question, never fail, are never away, and say
/// exactly what is asked for.
///
/// ```
/// use sgq::drive::{Behaviour, Latency};
///
/// let slow = Behaviour { latency: Latency::Exponential(2.0), failure: 0.33, ..Behaviour::default() };
/// assert!(slow.check(60).is_ok());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Behaviour {
    /// The time between a question and its answer.
    pub latency: Latency,
    /// What each user's latencies are multiplied by.
    pub slowness: Slowness,
    /// The probability that a question is not answered. That is known when its answer was due.
    pub failure: f64,
    /// Answers that come after they were given up.
    pub late: Option<Late>,
    /// Users who go away and come back.
    pub absence: Option<Absence>,
    /// Noise in the gradients.
    pub noise: Option<Noise>,
}

/// The time between a question and its answer. The number is the mean.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Latency {
    /// Always the same.
    Fixed(f64),
    /// Exponentially distributed.
    Exponential(f64),
    /// Pareto distributed with the shape 3/2: the mean is finite, the variance is not.
    HeavyTailed(f64),
}

impl Default for Latency {
    fn default() -> Self {
        Self::Fixed(1.0)
    }
}

/// What each user's latencies are multiplied by.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Slowness {
    /// 1 for everybody.
    #[default]
    Same,
    /// Drawn once for each user: log-normal with mean 1, and this standard deviation of the logarithm.
    Spread(f64),
    /// One number for each user.
    Each(Vec<f64>),
}

/// Answers that come after they were given up: the question [fails](crate::Session::fail) when its answer was due, and the
/// answer comes all the same.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Late {
    /// The part of the answers that are late.
    pub part: f64,
    /// By how much time.
    pub by: f64,
}

/// Users who go away and come back, independently of each other. A question whose answer is due while its user is away fails.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Absence {
    /// The part of the time that a user is away.
    pub part: f64,
    /// How long an absence lasts in the mean; absences and the times between them are exponentially distributed.
    pub lasts: f64,
}

/// Independent Gaussian noise on every coordinate of every gradient. Losses and Hessians are exact.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Noise {
    /// The root mean square length of the noise, as a part of the root mean square length of all users' gradients at the first
    /// point. The standard deviation of a coordinate is that over `√d`.
    pub part: f64,
    /// Whether an answer states the noise's variance.
    #[serde(default)]
    pub stated: bool,
}

/// The largest spread of users' slowness: users would differ by a factor of more than 10⁸ beyond it.
const MAX_SPREAD: f64 = 5.0;

impl Behaviour {
    /// Refuses what so many users cannot do.
    pub fn check(&self, users: usize) -> Result<(), BehaviourError> {
        let (Latency::Fixed(latency) | Latency::Exponential(latency) | Latency::HeavyTailed(latency)) = self.latency;
        not_negative("latency", latency)?;
        match &self.slowness {
            Slowness::Same => {}
            Slowness::Spread(spread) if (0.0..=MAX_SPREAD).contains(spread) => {}
            Slowness::Spread(spread) => return wrong("spread", *spread, "at least 0 and at most 5"),
            Slowness::Each(each) if each.len() != users => {
                return Err(BehaviourError::Slowness { users, found: each.len() });
            }
            Slowness::Each(each) => {
                each.iter().try_for_each(|slowness| not_negative("slowness", *slowness))?;
            }
        }
        part("failure", self.failure)?;
        if let Some(Late { part: late, by }) = self.late {
            part("late part", late)?;
            not_negative("late by", by)?;
        }
        if let Some(Absence { part: away, lasts }) = self.absence {
            part("absence part", away)?;
            if !(lasts > 0.0 && lasts.is_finite()) {
                return wrong("absence lasts", lasts, "positive and finite");
            }
        }
        self.noise.map_or(Ok(()), |noise| not_negative("noise part", noise.part))
    }
}

fn wrong(name: &'static str, value: f64, must_be: &'static str) -> Result<(), BehaviourError> {
    Err(BehaviourError::Value { name, value, must_be })
}

fn not_negative(name: &'static str, value: f64) -> Result<(), BehaviourError> {
    if value >= 0.0 && value.is_finite() { Ok(()) } else { wrong(name, value, "finite and not negative") }
}

fn part(name: &'static str, value: f64) -> Result<(), BehaviourError> {
    if (0.0..1.0).contains(&value) { Ok(()) } else { wrong(name, value, "at least 0 and below 1") }
}

/// Why a behaviour was refused.
#[derive(Clone, Debug, PartialEq, Error)]
#[allow(missing_docs)] // the message says what each field is
#[non_exhaustive]
pub enum BehaviourError {
    #[error("{name} is {value}: it must be {must_be}")]
    Value { name: &'static str, value: f64, must_be: &'static str },
    #[error("{found} numbers of slowness were given for {users} users: give one for each")]
    Slowness { users: usize, found: usize },
}

impl BehaviourError {
    /// Which field of a [`Behaviour`] is meant; `spread` and `slowness` are both [`Behaviour::slowness`].
    pub fn field(&self) -> &'static str {
        match self {
            Self::Value { name, .. } => name.split(' ').next().unwrap_or(name),
            Self::Slowness { .. } => "slowness",
        }
    }
}
