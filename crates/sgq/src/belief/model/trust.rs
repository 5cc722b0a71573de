//! How far the model may go, and what to do where it went too far.

use serde::{Deserialize, Serialize};

use crate::kernel;

/// An answer this many times longer than all others, uphill along the last move, is set aside.
const FAR_OFF: f64 = 3.0;
/// After so many times a user is believed.
const OFTEN: u32 = 30;
/// An answer on the way back that is more than this part of the one before is not long because of the way.
const AS_LONG: f64 = 0.7;
/// An answer set aside leads back to where one that grows like `e^way` would be so many times as long as the longest held:
/// more than half of the way, where it is more than 36 times as long.
const FAIRLY_LONG: f64 = 6.0;
/// What each good answer makes of the reach, at least: where something went wrong, and where no `L_i` are known and nothing has.
const REACH_GROWTH: f64 = 1.05;
const REACH_GROWTH_UNKNOWN: f64 = 2.0;
/// How much of the first move is made: one answer says nothing of how different users are, and two answers of one user, close
/// to each other, little of how curvature changes on the way.
const FIRST_MOVE: f64 = 0.5;
const FIRST_MOVE_UNKNOWN: f64 = 0.2;

/// How far the next point may be from what the model is anchored at.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Trust {
    /// That of the last move; empty before the first one.
    anchor: Vec<f64>,
    /// Whether the last answer points uphill along the way from the anchor.
    uphill: bool,
    /// None while nothing has gone wrong and `L_i` are known.
    reach: Option<Reach>,
    set_aside: Option<SetAside>,
    /// How often each user was set aside, of those who were at all.
    times: Vec<(usize, u32)>,
}

/// The longest way from the anchor to the next point.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Reach {
    length: f64,
    /// What each good answer makes of it, at least.
    growth: f64,
}

/// The last answer, if that was set aside.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct SetAside {
    user: usize,
    /// How long it was, the size taken out.
    length: f64,
    reach_before: Option<Reach>,
}

impl Trust {
    pub fn fits(&self, users: usize, dim: usize) -> bool {
        [0, dim].contains(&self.anchor.len()) && self.set_aside.is_none_or(|set_aside| set_aside.user < users)
    }

    pub fn has_moved(&self) -> bool {
        !self.anchor.is_empty()
    }

    pub fn uphill(&self) -> bool {
        self.uphill
    }

    /// The user whose answer was the last one, and set aside.
    pub fn set_aside_last(&self) -> Option<usize> {
        self.set_aside.map(|set_aside| set_aside.user)
    }

    /// Looks where an answer points: the sign of `gᵀ(x − a)`.
    pub fn look(&mut self, point: &[f64], gradient: &[f64]) {
        let along = point.iter().zip(&self.anchor).zip(gradient).map(|((x, anchor), slope)| (x - anchor) * slope);
        self.uphill = along.sum::<f64>() > 0.0;
    }

    /// Whether an answer of this length is set aside, where the longest held has that one: what part of the way to keep, half
    /// or less where the answer is so long that only something like an exponential explains it. None where it is believed.
    pub fn set_aside(&mut self, user: usize, point: &[f64], length: f64, longest: impl FnOnce() -> f64) -> Option<f64> {
        let as_long = |before: &SetAside| before.user == user && length > AS_LONG * before.length;
        if let Some(before) = self.set_aside.filter(as_long) {
            // It was not the way that made the last answer so long.
            self.reach = before.reach_before;
            return None;
        }
        // Uphill along the last move, and longer by far than anything before: the move went where the model does not hold.
        let times_longer = if self.uphill { length / longest() } else { 0.0 };
        let place = self.times.iter().position(|(who, _)| *who == user);
        let times = place.map_or(0, |place| self.times[place].1);
        if times >= OFTEN || times_longer.is_nan() || times_longer <= FAR_OFF {
            return None;
        }
        match place {
            Some(place) => self.times[place].1 += 1,
            None => self.times.push((user, 1)),
        }
        self.set_aside = Some(SetAside { user, length, reach_before: self.reach });
        let part = (FAIRLY_LONG.ln() / times_longer.ln()).clamp(0.02, 0.5);
        self.reach = Some(Reach { length: part * kernel::distance(point, &self.anchor), growth: REACH_GROWTH });
        Some(part)
    }

    /// A good answer.
    pub fn grow(&mut self, point: &[f64]) {
        self.set_aside = None;
        if let Some(reach) = &mut self.reach {
            reach.length = (reach.growth * reach.length).max(kernel::distance(point, &self.anchor));
        }
    }

    /// Keeps the next point within reach of its anchor, and at most `widest` away. Where no `L_i` are known, the first move is
    /// shorter, and not longer than `unit`.
    pub fn limit(&mut self, next: &mut [f64], anchor: Vec<f64>, widest: f64, unit: Option<f64>) {
        let reach = self.reach.map_or(widest, |reach| reach.length.min(widest));
        let length = kernel::distance(next, &anchor);
        let mut part = if length > reach { reach / length } else { 1.0 };
        match unit {
            None if !self.has_moved() => part *= FIRST_MOVE,
            Some(unit) if self.reach.is_none() => {
                part = (FIRST_MOVE_UNKNOWN * part).min(unit / length);
                let length = part * length;
                self.reach = (length > 0.0).then_some(Reach { length, growth: REACH_GROWTH_UNKNOWN });
            }
            _ => {}
        }
        if part < 1.0 {
            for (x, anchor) in next.iter_mut().zip(&anchor) {
                *x = anchor + part * (*x - anchor);
            }
        }
        self.anchor = anchor;
    }
}
