//! How far to go: step-size rules.

use serde::{Deserialize, Serialize};

use crate::SettingsError;

/// A rule for the step size `α_t`, where `t` counts the steps taken so far (start-up queries are not steps).
#[derive(Clone, Debug, PartialEq)]
pub enum StepSize {
    /// The same at every step.
    Constant(f64),
    /// `α_t = initial / (1 + rate·t)`.
    Decay {
        /// The first step size.
        initial: f64,
        /// How fast it falls.
        rate: f64,
    },
    /// `(from, size)` pairs: from step `from` on, the step is `size`. The first pair starts at 0.
    Piecewise(Vec<(u64, f64)>),
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
    Piecewise(Vec<(u64, f64)>),
}

impl Schedule {
    /// Checks a rule; `theory` is asked for the cap only where the rule wants it.
    pub(crate) fn new(
        rule: StepSize,
        theory: impl FnOnce() -> Result<f64, SettingsError>,
    ) -> Result<Self, SettingsError> {
        let schedule = match rule {
            StepSize::Constant(size) => Self::constant(size),
            StepSize::Theory => Self::constant(theory()?),
            StepSize::Decay { initial, rate } => Self::Decay { initial, rate },
            StepSize::Piecewise(pieces) => Self::Piecewise(pieces),
        };
        schedule.check()?;
        Ok(schedule)
    }

    fn constant(size: f64) -> Self {
        Self::Decay { initial: size, rate: 0.0 }
    }

    fn check(&self) -> Result<(), SettingsError> {
        let positive = |size: f64| {
            if size > 0.0 && size.is_finite() { Ok(()) } else { Err(SettingsError::StepSize(size)) }
        };
        match self {
            Self::Decay { initial, rate } => {
                if !(*rate >= 0.0 && rate.is_finite()) {
                    return Err(SettingsError::DecayRate(*rate));
                }
                positive(*initial)
            }
            Self::Piecewise(pieces) => {
                let ordered = pieces.windows(2).all(|pair| pair[0].0 < pair[1].0);
                if pieces.first().is_none_or(|first| first.0 != 0) || !ordered {
                    return Err(SettingsError::Pieces);
                }
                pieces.iter().try_for_each(|(_, size)| positive(*size))
            }
        }
    }

    /// `α_t`.
    pub(crate) fn at(&self, step: u64) -> f64 {
        match self {
            Self::Decay { initial, rate } => initial / (1.0 + rate * step as f64),
            Self::Piecewise(pieces) => {
                let begun = pieces.partition_point(|(from, _)| *from <= step);
                pieces[begun.max(1) - 1].1
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schedule(rule: StepSize) -> Result<Schedule, SettingsError> {
        Schedule::new(rule, || Ok(0.25))
    }

    #[test]
    fn rules_give_their_sizes() {
        assert_eq!(schedule(0.1.into()).unwrap().at(1_000), 0.1);
        assert_eq!(schedule(StepSize::Theory).unwrap().at(3), 0.25);
        let decay = schedule(StepSize::Decay { initial: 0.5, rate: 0.25 }).unwrap();
        assert_eq!(decay.at(0), 0.5);
        assert_eq!(decay.at(4), 0.25);
        let pieces = schedule(StepSize::Piecewise(vec![(0, 0.5), (10, 0.1)])).unwrap();
        assert_eq!(pieces.at(9), 0.5);
        assert_eq!(pieces.at(10), 0.1);
    }

    #[test]
    fn senseless_rules_are_refused() {
        for size in [0.0, -0.1, f64::NAN, f64::INFINITY] {
            assert!(matches!(schedule(size.into()), Err(SettingsError::StepSize(_))));
        }
        for pieces in [vec![], vec![(1, 0.1)], vec![(0, 0.1), (0, 0.2)]] {
            assert_eq!(schedule(StepSize::Piecewise(pieces)), Err(SettingsError::Pieces));
        }
        let growing = StepSize::Decay { initial: 0.1, rate: -0.5 };
        assert_eq!(schedule(growing), Err(SettingsError::DecayRate(-0.5)));
    }
}
