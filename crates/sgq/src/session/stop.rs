//! When a run ends.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Belief, Meter, Settings, SettingsError, kernel};

/// Why a run ended. None of these is an error.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum StopReason {
    /// The query budget is spent.
    Budget {
        /// The queries paid for.
        queries: u64,
    },
    /// What is left of the budget in cost is not enough for anybody.
    CostBudget {
        /// What was paid.
        cost: f64,
    },
    /// What is left of the budget in numbers is not enough for another answer.
    NumbersBudget {
        /// The numbers that answers held.
        numbers: u64,
    },
    /// The objective gap is at or below the target.
    TargetGap {
        /// The gap reached.
        gap: f64,
    },
    /// What remains is believed to be within the tolerance.
    Converged {
        /// The gap that is believed to remain, as a part of that at the start.
        part: f64,
    },
    /// The gap is proven to be at or below what was asked for.
    Certified {
        /// What it is at most.
        gap: f64,
    },
    /// The norm of the surrogate gradient is at or below the tolerance.
    SurrogateGradient {
        /// The norm reached.
        norm: f64,
    },
    /// The point went past the divergence limit, or stopped being a number.
    Diverged {
        /// After how many steps.
        steps: u64,
    },
    /// Nobody can be asked: users are away, or fail again and again.
    NobodyAnswers,
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Budget { queries } => write!(f, "the budget of {queries} queries is spent"),
            Self::CostBudget { cost } => write!(f, "the budget in cost is spent ({cost})"),
            Self::NumbersBudget { numbers } => write!(f, "the budget in numbers sent is spent ({numbers})"),
            Self::TargetGap { gap } => write!(f, "the target gap is reached ({gap:.3e})"),
            Self::Converged { part: 0.0 } => f.write_str("converged: nothing is believed to remain of the gap"),
            Self::Converged { part } => {
                write!(f, "converged: {part:.1e} of the gap at the start is believed to remain")
            }
            Self::Certified { gap: 0.0 } => f.write_str("converged: the gap is proven to be zero but for rounding"),
            Self::Certified { gap } => write!(f, "converged: a gap of at most {gap:.1e} is proven to remain"),
            Self::SurrogateGradient { norm } => {
                write!(f, "the surrogate gradient is small ({norm:.3e})")
            }
            Self::Diverged { steps } => write!(f, "diverged after {steps} steps"),
            Self::NobodyAnswers => f.write_str("nobody can be asked: users are away, or fail again and again"),
        }
    }
}

impl StopReason {
    /// Whether a budget is spent.
    pub fn is_budget(self) -> bool {
        matches!(self, Self::Budget { .. } | Self::CostBudget { .. } | Self::NumbersBudget { .. })
    }

    /// Whether what remains is as small as was asked for, by the method's own account or by proof.
    pub fn is_converged(self) -> bool {
        matches!(self, Self::Converged { .. } | Self::Certified { .. })
    }
}

/// The stop conditions of one session, checked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct StopRules {
    budget: Option<u64>,
    cost_budget: Option<f64>,
    numbers_budget: Option<u64>,
    tolerance: Option<f64>,
    certified_gap: Option<f64>,
    target_gap: Option<f64>,
    gradient_tolerance: Option<f64>,
    largest_coordinate: f64,
}

impl StopRules {
    pub(super) fn new(settings: &Settings) -> Result<Self, SettingsError> {
        for (name, value) in [
            ("budget in cost", settings.cost_budget),
            ("tolerance", settings.tolerance),
            ("certified gap", settings.certified_gap),
            ("target gap", settings.target_gap),
            ("gradient tolerance", settings.gradient_tolerance),
            ("divergence limit", Some(settings.divergence_limit)),
        ] {
            value.map_or(Ok(()), |value| check(name, value))?;
        }
        settings.tolerance.map_or(Ok(()), check_tolerance)?;
        let largest_coordinate = settings.divergence_limit * largest(&settings.start).max(1.0);
        if largest_coordinate.is_infinite() {
            let value = settings.divergence_limit;
            return Err(SettingsError::Stop { name: "divergence limit (times the start)", value });
        }
        Ok(Self {
            budget: settings.budget,
            cost_budget: settings.cost_budget,
            numbers_budget: settings.numbers_budget,
            tolerance: settings.tolerance,
            certified_gap: settings.certified_gap,
            target_gap: settings.target_gap,
            gradient_tolerance: settings.gradient_tolerance,
            largest_coordinate,
        })
    }

    pub(super) fn budget(&self) -> Option<u64> {
        self.budget
    }

    pub(super) fn cost_budget(&self) -> Option<f64> {
        self.cost_budget
    }

    pub(super) fn numbers_budget(&self) -> Option<u64> {
        self.numbers_budget
    }

    pub(super) fn tolerance(&self) -> Option<f64> {
        self.tolerance
    }

    pub(super) fn has_target_gap(&self) -> bool {
        self.target_gap.is_some()
    }

    /// Without a budget there is nothing to raise.
    pub(super) fn extend(&mut self, queries: u64) {
        self.budget = self.budget.map(|budget| budget.saturating_add(queries));
    }

    pub(super) fn extend_cost(&mut self, cost: f64) {
        self.cost_budget = self.cost_budget.map(|budget| budget + cost.max(0.0));
    }

    pub(super) fn extend_numbers(&mut self, numbers: u64) {
        self.numbers_budget = self.numbers_budget.map(|budget| budget.saturating_add(numbers));
    }

    /// Stops by this and not by another account of what remains.
    pub(super) fn extend_to_tolerance(&mut self, part: f64) -> Result<(), SettingsError> {
        check_tolerance(part)?;
        (self.tolerance, self.certified_gap) = (Some(part), None);
        Ok(())
    }

    pub(super) fn extend_to_certified_gap(&mut self, gap: f64) -> Result<(), SettingsError> {
        check("certified gap", gap)?;
        (self.tolerance, self.certified_gap) = (None, Some(gap));
        Ok(())
    }

    /// Whether the budgets in queries and numbers allow one more question, with so many out, each of which brings so many numbers.
    pub(super) fn allows(&self, out: u64, numbers_each: u64, meter: &Meter) -> bool {
        self.budget.is_none_or(|budget| meter.billed().saturating_add(out) < budget)
            && self.numbers_budget.is_none_or(|budget| meter.numbers() + (out + 1) * numbers_each <= budget)
    }

    /// What is left of the budget in cost where so much is spent; none where there is no such budget. Rounding does not spend it.
    pub(super) fn cost_left(&self, spent: f64) -> Option<f64> {
        self.cost_budget.map(|budget| budget * (1.0 + 1e-9) - spent)
    }

    pub(super) fn diverged(&self, point: &[f64]) -> bool {
        !kernel::all_within(point, self.largest_coordinate)
    }

    /// The first condition that holds. The budget comes last, so that a target reached with the last query is seen.
    pub(super) fn reason(
        &self,
        meter: &Meter,
        numbers_each: u64,
        gap: impl FnOnce() -> Option<f64>,
        certified: impl FnOnce() -> Option<f64>,
        is_zero_but_for_rounding: impl FnOnce() -> bool,
        belief: &dyn Belief,
    ) -> Option<StopReason> {
        if let Some(target) = self.certified_gap
            && let Some(gap) = certified()
            && gap <= target
        {
            return Some(StopReason::Certified { gap });
        }
        if let Some(tolerance) = self.tolerance
            && let Some(remaining) = belief.remaining()
            && remaining.is_within(tolerance)
        {
            return Some(StopReason::Converged { part: remaining.part() });
        }
        if self.tolerance.is_some() && is_zero_but_for_rounding() {
            return Some(StopReason::Converged { part: 0.0 });
        }
        if let Some(target) = self.target_gap
            && let Some(gap) = gap()
            && gap <= target
        {
            return Some(StopReason::TargetGap { gap });
        }
        if let Some(tolerance) = self.gradient_tolerance
            && let Some(gradient) = belief.surrogate_gradient()
        {
            let norm = kernel::norm(gradient);
            if norm <= tolerance {
                return Some(StopReason::SurrogateGradient { norm });
            }
        }
        let (queries, cost, numbers) = (meter.billed(), meter.cost(), meter.numbers());
        if self.budget.is_some_and(|budget| queries >= budget) {
            return Some(StopReason::Budget { queries });
        }
        if self.cost_left(cost).is_some_and(|left| meter.cheapest() > left) {
            return Some(StopReason::CostBudget { cost });
        }
        let spent = self.numbers_budget.is_some_and(|budget| numbers + numbers_each > budget);
        spent.then_some(StopReason::NumbersBudget { numbers })
    }
}

fn check(name: &'static str, value: f64) -> Result<(), SettingsError> {
    if value > 0.0 && value.is_finite() { Ok(()) } else { Err(SettingsError::Stop { name, value }) }
}

/// A tolerance is a part of the gap at the start.
fn check_tolerance(value: f64) -> Result<(), SettingsError> {
    check("tolerance", value)?;
    if value < 1.0 { Ok(()) } else { Err(SettingsError::Tolerance { value }) }
}

/// The largest absolute value; unlike the norm it cannot overflow.
fn largest(point: &[f64]) -> f64 {
    point.iter().fold(0.0, |largest, x| largest.max(x.abs()))
}
