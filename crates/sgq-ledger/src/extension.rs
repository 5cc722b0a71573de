//! More of a budget, or another tolerance.

use serde::{Deserialize, Serialize};
use sgq::{Session, Settings, SettingsError};

/// More of a budget, or another tolerance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Extension {
    /// So many queries more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queries: Option<u64>,
    /// So much more cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// So many numbers more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub numbers: Option<u64>,
    /// Stops once so much of the gap is believed to remain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tolerance: Option<f64>,
    /// Stops once the gap is proven to be at most this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certified_gap: Option<f64>,
}

impl Extension {
    /// The same of a session in memory.
    pub fn apply(&self, session: &mut Session<'_>) -> Result<(), SettingsError> {
        if let Some(part) = self.tolerance {
            session.extend_to_tolerance(part)?;
        }
        if let Some(gap) = self.certified_gap {
            session.extend_to_certified_gap(gap)?;
        }
        self.queries.iter().for_each(|queries| session.extend(*queries));
        self.cost.iter().for_each(|cost| session.extend_cost(*cost));
        self.numbers.iter().for_each(|numbers| session.extend_numbers(*numbers));
        Ok(())
    }

    /// The same of settings that no session has yet.
    pub(crate) fn change(&self, settings: &mut Settings) {
        settings.budget = settings.budget.map(|it| it.saturating_add(self.queries.unwrap_or(0)));
        settings.cost_budget = settings.cost_budget.map(|it| it + self.cost.unwrap_or(0.0));
        settings.numbers_budget = settings.numbers_budget.map(|it| it.saturating_add(self.numbers.unwrap_or(0)));
        if self.tolerance.is_some() || self.certified_gap.is_some() {
            (settings.tolerance, settings.certified_gap) = (self.tolerance, self.certified_gap);
        }
    }
}
