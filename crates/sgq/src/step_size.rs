//! How far to go: step-size rules.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::{Order, Smoothness, theory::Theorem};

/// A rule for the step size `α_t`, where `t` counts the steps taken so far (start-up queries are not steps).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub enum StepSize {
    /// The method's own, [`DefaultStep`]; needs `L_i`, unless the method goes its own way.
    #[default]
    Auto,
    /// The same at every step.
    Constant(f64),
    /// `α_t = initial / (1 + rate·t)`.
    Decay {
        /// The first step size.
        initial: f64,
        /// How fast it falls.
        rate: f64,
    },
    /// `α_t = initial / √(1 + rate·t)`: falls more slowly than [`Decay`](Self::Decay).
    RootDecay {
        /// The first step size.
        initial: f64,
        /// How fast it falls.
        rate: f64,
    },
    /// `(from, size)` pairs: from step `from` on, the step is `size`. The first pair starts at 0.
    Piecewise(Vec<(u64, f64)>),
    /// `α_t = size · min(1, (t + 1) / steps)`: rises to `size` within the first `steps` steps. With a lazy start and `steps` the
    /// number of users, those who were not asked count as zero in a mean of gradients. Then it falls as `(steps / (t + 1))^fall`.
    WarmUp {
        /// The largest step size.
        size: f64,
        /// How many steps it takes to get there.
        steps: u64,
        /// The power by which it falls afterwards; 0 where it stays.
        fall: f64,
    },
    /// The largest constant step that the cap in the method's theorem allows; needs `L_i` and, for most methods, `μ`.
    /// Whether the theorem's other assumptions hold is for a [`Certificate`](crate::theory::Certificate) to say.
    Theory,
}

impl From<f64> for StepSize {
    fn from(size: f64) -> Self {
        Self::Constant(size)
    }
}

/// A step-size rule that has been checked and resolved: always positive and finite.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Schedule {
    Decay { initial: f64, rate: f64 },
    RootDecay { initial: f64, rate: f64 },
    Piecewise(Vec<(u64, f64)>),
    WarmUp { size: f64, steps: u64, fall: f64 },
}

impl Schedule {
    /// Checks a rule; `auto` and `theory` are asked only where the rule wants them.
    pub(crate) fn new(
        rule: StepSize,
        auto: impl FnOnce() -> Result<f64, StepSizeError>,
        theory: impl FnOnce() -> Result<f64, StepSizeError>,
    ) -> Result<Self, StepSizeError> {
        let schedule = match rule {
            StepSize::Auto => Self::constant(auto()?),
            StepSize::Constant(size) => Self::constant(size),
            StepSize::Theory => Self::constant(theory()?),
            StepSize::Decay { initial, rate } => Self::Decay { initial, rate },
            StepSize::RootDecay { initial, rate } => Self::RootDecay { initial, rate },
            StepSize::Piecewise(pieces) => Self::Piecewise(pieces),
            StepSize::WarmUp { size, steps, fall } => Self::WarmUp { size, steps, fall },
        };
        schedule.check()?;
        Ok(schedule)
    }

    pub(crate) fn constant(size: f64) -> Self {
        Self::Decay { initial: size, rate: 0.0 }
    }

    fn check(&self) -> Result<(), StepSizeError> {
        let positive = |size: f64| {
            if size > 0.0 && size.is_finite() { Ok(()) } else { Err(StepSizeError::Size(size)) }
        };
        match self {
            Self::Decay { initial, rate } | Self::RootDecay { initial, rate } => {
                if !(*rate >= 0.0 && rate.is_finite()) {
                    return Err(StepSizeError::DecayRate(*rate));
                }
                positive(*initial)
            }
            Self::Piecewise(pieces) => {
                let ordered = pieces.windows(2).all(|pair| pair[0].0 < pair[1].0);
                if pieces.first().is_none_or(|first| first.0 != 0) || !ordered {
                    return Err(StepSizeError::Pieces);
                }
                pieces.iter().try_for_each(|(_, size)| positive(*size))
            }
            Self::WarmUp { size, steps, fall } => {
                if *steps == 0 {
                    return Err(StepSizeError::WarmUp);
                }
                if !(*fall >= 0.0 && fall.is_finite()) {
                    return Err(StepSizeError::Fall(*fall));
                }
                positive(size / *steps as f64).and(positive(*size))
            }
        }
    }

    /// `α_t`.
    pub(crate) fn at(&self, step: u64) -> f64 {
        match self {
            Self::Decay { initial, rate } => initial / (1.0 + rate * step as f64),
            Self::RootDecay { initial, rate } => initial / (1.0 + rate * step as f64).sqrt(),
            Self::Piecewise(pieces) => {
                let begun = pieces.partition_point(|(from, _)| *from <= step);
                pieces[begun.max(1) - 1].1
            }
            Self::WarmUp { size, steps, .. } if step < *steps => size * ((step + 1) as f64 / *steps as f64),
            Self::WarmUp { size, fall: 0.0, .. } => *size,
            Self::WarmUp { size, steps, fall } => {
                // A step size that is no longer a number above zero would end the run.
                (size * (*steps as f64 / (step as f64 + 1.0)).powf(*fall)).max(f64::MIN_POSITIVE)
            }
        }
    }
}

/// A step size for when nobody has tuned one, and where it comes from.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct DefaultStep {
    /// How it is computed: `L` is f's own smoothness.
    pub formula: &'static str,
    /// The step.
    pub size: f64,
}

impl DefaultStep {
    /// A step and its formula.
    pub fn new(formula: &'static str, size: f64) -> Self {
        Self { formula, size }
    }
}

/// What a default step may follow from.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Known<'a> {
    /// Each `L_i`, their mean and maximum, and perhaps f's own.
    pub smoothness: &'a Smoothness,
    /// `μ`.
    pub pl_constant: Option<f64>,
    /// In which order the choice asks.
    pub order: Order,
}

impl<'a> Known<'a> {
    /// These.
    pub fn new(smoothness: &'a Smoothness, pl_constant: Option<f64>, order: Order) -> Self {
        Self { smoothness, pl_constant, order }
    }

    /// f's own `L`, or else the mean `L_i`.
    pub fn objective(&self) -> f64 {
        self.smoothness.objective().unwrap_or(self.smoothness.mean())
    }
}

/// Why a step size was refused.
#[derive(Clone, Debug, PartialEq, Error)]
#[allow(missing_docs)] // the message says what each field is
#[non_exhaustive]
pub enum StepSizeError {
    #[error(
        "no step size was set, and {method}'s own default follows from the users' smoothness: give each L_i, or a number"
    )]
    AutoNeedsSmoothness { method: String },
    #[error("the step size is {0}: it must be positive and finite")]
    Size(f64),
    #[error("the decay rate of the step size is {0}: it must be finite and not negative")]
    DecayRate(f64),
    #[error("a piecewise step size needs pieces in rising order, of which the first starts at step 0")]
    Pieces,
    #[error("a step size that warms up within 0 steps is a constant: give at least 1, or a number")]
    WarmUp,
    #[error("the power by which the step size falls is {0}: it must be finite and not negative")]
    Fall(f64),
    #[error("no theorem bounds the step size of {method}: give a number")]
    NoTheorem { method: String },
    #[error("{theorem} needs {missing} for its step size: give it, or a step size of your own")]
    TheoryNeeds { theorem: Theorem, missing: &'static str },
    #[error("{theorem} allows no step at all here (its cap is {cap}): give a step size of your own")]
    NoStepAllowed { theorem: Theorem, cap: f64 },
    #[error(
        "the Polyak-Łojasiewicz constant is {value}: it must be positive, and cannot exceed the mean smoothness, {smoothness}"
    )]
    PlConstant { value: f64, smoothness: f64 },
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schedule(rule: StepSize) -> Result<Schedule, StepSizeError> {
        Schedule::new(rule, || Ok(0.5), || Ok(0.25))
    }

    #[test]
    fn rules_give_their_sizes() {
        assert_eq!(schedule(0.1.into()).unwrap().at(1_000), 0.1);
        assert_eq!(schedule(StepSize::Auto).unwrap().at(3), 0.5);
        assert_eq!(schedule(StepSize::Theory).unwrap().at(3), 0.25);
        let decay = schedule(StepSize::Decay { initial: 0.5, rate: 0.25 }).unwrap();
        assert_eq!(decay.at(0), 0.5);
        assert_eq!(decay.at(4), 0.25);
        let slower = schedule(StepSize::RootDecay { initial: 0.5, rate: 0.75 }).unwrap();
        assert_eq!([0, 4, 20].map(|step| slower.at(step)), [0.5, 0.25, 0.125]);
        let falls = schedule(StepSize::WarmUp { size: 0.5, steps: 4, fall: 2.0 }).unwrap();
        assert_eq!([1, 3, 7, 15].map(|step| falls.at(step)), [0.25, 0.5, 0.125, 0.03125]);
        let warm_up = schedule(StepSize::WarmUp { size: 0.5, steps: 4, fall: 0.0 }).unwrap();
        assert_eq!([0, 1, 3, 4, u64::MAX].map(|step| warm_up.at(step)), [0.125, 0.25, 0.5, 0.5, 0.5]);
        let pieces = schedule(StepSize::Piecewise(vec![(0, 0.5), (10, 0.1)])).unwrap();
        assert_eq!(pieces.at(9), 0.5);
        assert_eq!(pieces.at(10), 0.1);
    }

    #[test]
    fn senseless_rules_are_refused() {
        for size in [0.0, -0.1, f64::NAN, f64::INFINITY] {
            assert!(matches!(schedule(size.into()), Err(StepSizeError::Size(_))));
        }
        for pieces in [vec![], vec![(1, 0.1)], vec![(0, 0.1), (0, 0.2)]] {
            assert_eq!(schedule(StepSize::Piecewise(pieces)), Err(StepSizeError::Pieces));
        }
        assert_eq!(schedule(StepSize::WarmUp { size: 0.1, steps: 0, fall: 0.0 }), Err(StepSizeError::WarmUp));
        let rises = schedule(StepSize::WarmUp { size: 0.1, steps: 3, fall: -1.0 });
        assert_eq!(rises, Err(StepSizeError::Fall(-1.0)));
        for size in [0.0, f64::NAN, f64::MIN_POSITIVE / 1e16] {
            let refused = schedule(StepSize::WarmUp { size, steps: 10, fall: 0.0 });
            assert!(matches!(refused, Err(StepSizeError::Size(_))));
        }
        for rate in [-0.5, f64::NAN, f64::INFINITY] {
            for rule in [StepSize::Decay { initial: 0.1, rate }, StepSize::RootDecay { initial: 0.1, rate }] {
                let refused = schedule(rule).unwrap_err();
                assert!(matches!(refused, StepSizeError::DecayRate(found) if found.to_bits() == rate.to_bits()));
            }
        }
        for initial in [0.0, f64::NAN] {
            let refused = schedule(StepSize::RootDecay { initial, rate: 0.1 });
            assert!(matches!(refused, Err(StepSizeError::Size(_))));
        }
    }
}
