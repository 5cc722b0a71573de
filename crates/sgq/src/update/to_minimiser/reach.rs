//! How far a move may go from what the model is anchored at: docs/frugal.md § 8.

use serde::{Deserialize, Serialize};

use crate::{frugal::FRUGAL, kernel};

/// The longest way from the anchor to the next point.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Reach {
    /// None while nothing has gone wrong and `L_i` are known.
    limit: Option<Limit>,
    /// As it was before the last answer was set aside.
    before: Option<Limit>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Limit {
    length: f64,
    /// What each good answer makes of it, at least.
    growth: f64,
}

impl Reach {
    /// An answer was set aside.
    pub fn shrink(&mut self, length: f64) {
        self.before = self.limit;
        self.limit = Some(Limit { length, growth: FRUGAL.reach_growth });
    }

    /// It was not the way that made the answer set aside so long.
    pub fn restore(&mut self) {
        self.limit = self.before;
    }

    /// A good answer, so far from the anchor, Eq. (33): where there is a limit, there was a move.
    pub fn grow(&mut self, distance: impl FnOnce() -> f64) {
        if let Some(limit) = &mut self.limit {
            limit.length = (limit.growth * limit.length).max(distance());
        }
    }

    /// Keeps the next point within reach of its anchor, and at most `widest` away: Eq. (30) and (31). The first move is shorter; where no `L_i` are
    /// known it is shorter still, and not longer than `unit`.
    pub fn limit(&mut self, next: &mut [f64], anchor: &[f64], widest: f64, is_first: bool, unit: Option<f64>) {
        let reach = self.limit.map_or(widest, |limit| limit.length.min(widest));
        let length = kernel::distance(next, anchor);
        let mut part = if length > reach { reach / length } else { 1.0 };
        match unit {
            None if is_first => part *= FRUGAL.first_move,
            Some(unit) if self.limit.is_none() => {
                part = (FRUGAL.first_move_unknown * part).min(unit / length);
                let length = part * length;
                self.limit = (length > 0.0).then_some(Limit { length, growth: FRUGAL.reach_growth_unknown });
            }
            _ => {}
        }
        if part < 1.0 {
            for (x, anchor) in next.iter_mut().zip(anchor) {
                *x = anchor + part * (*x - anchor);
            }
        }
    }
}
