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

    /// Keeps the next point within reach of its anchor, and at most `widest` away: Eq. (30). Where no `L_i` are known, the first move
    /// is not longer than `unit`, and its length is the first reach.
    pub fn limit(&mut self, next: &mut [f64], anchor: &[f64], widest: f64, unit: Option<f64>) {
        let length = kernel::distance(next, anchor);
        let mut reach = self.limit.map_or(widest, |limit| limit.length.min(widest));
        if let (Some(unit), None) = (unit, self.limit) {
            reach = reach.min(unit).min(length);
            self.limit = (reach > 0.0).then_some(Limit { length: reach, growth: FRUGAL.reach_growth_unknown });
        }
        if length > reach {
            let part = reach / length;
            for (x, anchor) in next.iter_mut().zip(anchor) {
                *x = anchor + part * (*x - anchor);
            }
        }
    }
}
