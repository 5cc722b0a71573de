//! Curvature with many parameters, docs/frugal.md § 11: a matrix in the directions that matter, and one number in all others.

use serde::{Deserialize, Serialize};

use super::{Change, Spread, View, answers::Answer, basis::Basis, dense::Dense, outside::Outside, secants::Secant};
use crate::{frugal::FRUGAL, kernel};

/// [`Dense`] in the coordinates of a few directions, those of the answers, and [`Outside`] of them.
///
/// Points are combinations of answers, so that nothing is outside while there are as many directions as answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct LowRank {
    pub basis: Basis,
    /// At most so many directions.
    most: usize,
    /// Everybody's last answer in coordinates, points from the start.
    held: Vec<Option<Box<Answer>>>,
    pub inside: Dense,
    pub outside: Outside,
}

impl LowRank {
    pub fn new(users: usize, dim: usize, scale: f64) -> Self {
        Self {
            basis: Basis::new(dim),
            most: if dim <= FRUGAL.dense_up_to { dim } else { FRUGAL.rank },
            held: vec![None; users],
            inside: Dense::in_coordinates(dim, scale),
            outside: Outside::new(dim, scale),
        }
    }

    fn is_full(&self) -> bool {
        self.basis.rank() >= self.most
    }

    pub fn take(&mut self, change: &Change<'_>) {
        let Change { user, size, now, users, weight, follows, .. } = *change;
        self.outside.take(change);
        let way: Vec<f64> = now.point.iter().zip(&self.outside.sums.start).map(|(x, start)| x - start).collect();
        self.extend(&now.gradient);
        self.extend(&way);
        if let (None, Some(secant)) = (change.before, &now.secant) {
            // There were answers before there was a model.
            self.extend(&secant.direction);
            self.extend(&secant.change);
        }
        let before = self.held[user].take();
        let point = self.basis.coordinates(&way);
        let gradient = self.basis.coordinates(&now.gradient);
        let secant = match (&now.secant, before.as_deref().and_then(|before| before.secant.clone())) {
            (Some(_), Some(old)) if !now.fresh => Some(old),
            (Some(secant), _) => Some(self.inside_of(secant)),
            (None, _) => None,
        };
        let news = change.news.map(|secant| self.inside_of(secant));
        let now = Answer { point, gradient, secant, ..*now };
        let (before, news) = (before.as_deref(), news.as_ref());
        self.inside.take(&Change { user, size, before, now: &now, news, weight, users, follows });
        self.held[user] = Some(Box::new(now));
    }

    /// A secant in coordinates.
    fn inside_of(&self, secant: &Secant) -> Secant {
        let Secant { direction, change, way, noise } = secant;
        let noise = noise * self.basis.rank() as f64 / direction.len() as f64;
        Secant {
            direction: self.basis.coordinates(direction),
            change: self.basis.coordinates(change),
            way: *way,
            noise,
        }
    }

    /// One more direction, if a vector has any part outside and there is room.
    fn extend(&mut self, vector: &[f64]) {
        if self.is_full() {
            return;
        }
        if let Some(direction) = self.basis.direction_outside(vector) {
            self.basis.push(&direction);
            self.inside.grow();
            self.held.iter_mut().flatten().for_each(|answer| answer.grow());
        }
    }

    /// As [`Dense::refit`]. None where numbers are past what can be held.
    pub fn refit(&mut self, view: &View<'_>) -> Option<Spread> {
        let rank = self.basis.rank();
        if rank == 0 {
            return None;
        }
        let inside = Spread::from(self.inside.refit(view)?);
        // Nothing was seen outside before the basis was full, and nothing is where it has all directions.
        let has_outside = self.is_full() && rank < self.outside.sums.start.len();
        let traces = has_outside.then(|| (self.inside.sums.traces(), rank));
        let around = self.outside.refit(traces, view);
        Some(Spread {
            size: inside.size + around.spread_size,
            own_curvature: inside.own_curvature + around.own_curvature,
        })
    }

    /// `B u`.
    pub fn shared(&self, directions: &[f64]) -> Vec<f64> {
        let outside = self.outside.typical();
        let mut image: Vec<f64> = directions.iter().map(|value| outside * value).collect();
        let inside = self.basis.coordinates(directions);
        let mut more = self.inside.shared(&inside);
        kernel::add_scaled(&mut more, -outside, &inside);
        self.basis.add(&mut image, &more);
        image
    }
}
