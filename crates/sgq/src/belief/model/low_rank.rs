//! The model for many parameters: a matrix of curvature in the directions that matter, and one number in all others.

use serde::{Deserialize, Serialize};

use super::{
    Change, Thought, View, answers::Answer, basis::Basis, dense::Dense, estimate::Estimate, outside::Outside,
    secants::Secant,
};
use crate::kernel;

/// At most so many directions have a matrix: twice as many bring little, at twice the cost and memory.
pub(super) const RANK: usize = 64;

/// [`Dense`] in the coordinates of a few directions, those of the answers, and [`Outside`] of them.
///
/// Points are combinations of answers, so that nothing is outside while there are as many directions as answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct LowRank {
    basis: Basis,
    /// Everybody's last answer in coordinates, points from the start.
    held: Vec<Option<Box<Answer>>>,
    inside: Dense,
    outside: Outside,
}

impl LowRank {
    pub fn new(users: usize, dim: usize, scale: f64) -> Self {
        Self {
            basis: Basis::new(dim),
            held: vec![None; users],
            inside: Dense::in_coordinates(dim, scale),
            outside: Outside::new(dim, scale),
        }
    }

    pub fn fits(&self, users: usize, dim: usize) -> bool {
        let rank = self.basis.rank();
        self.basis.fits(dim)
            && rank <= RANK
            && self.held.len() == users
            && self.held.iter().flatten().all(|answer| answer.fits(rank))
            && self.inside.fits(rank)
            && self.outside.fits(dim)
    }

    fn is_full(&self) -> bool {
        self.basis.rank() >= RANK
    }

    pub fn take(&mut self, change: &Change<'_>) {
        let Change { user, size, now, users, .. } = *change;
        self.outside.take(change);
        let way: Vec<f64> = now.point.iter().zip(self.outside.start()).map(|(x, start)| x - start).collect();
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
        self.inside.take(&Change { user, size, before: before.as_deref(), now: &now, news: news.as_ref(), users });
        self.held[user] = Some(Box::new(now));
    }

    /// A secant in coordinates.
    fn inside_of(&self, secant: &Secant) -> Secant {
        let Secant { direction, change } = secant;
        Secant { direction: self.basis.coordinates(direction), change: self.basis.coordinates(change) }
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

    /// As [`Dense::think`]. None where numbers are past what can be held.
    pub fn think(&mut self, view: &View<'_>) -> Option<Thought> {
        let rank = self.basis.rank();
        if rank == 0 {
            return None;
        }
        let known = self.inside.refit(view)?;
        let traces = self.is_full().then(|| (self.inside.traces(), rank));
        let around = self.outside.refit(traces, view);
        let spread_size = known.spread_size + around.spread_size;
        let own_curvature = known.own_curvature + around.own_curvature;
        let shared = |directions: &[f64]| self.shared(directions);
        let Estimate { anchor, gradient, unsure } = Estimate::new(view, spread_size, own_curvature, shared);
        // Newton's step as it would be if all were outside.
        let mut way: Vec<f64> = anchor.iter().zip(self.outside.start()).map(|(anchor, start)| anchor - start).collect();
        let there = self.basis.coordinates(&way);
        let slope = self.basis.coordinates(&gradient);
        kernel::add_scaled(&mut way, -1.0 / around.bend, &gradient);
        let along: Vec<f64> = there.iter().zip(&slope).map(|(there, slope)| there - slope / around.bend).collect();
        let mut inside = self.inside.step(&known, &there, &slope, unsure, view.caution)?;
        let outside_squared = (kernel::norm_squared(&way) - kernel::norm_squared(&along)).max(0.0);
        let part = self.outside.part(&around, outside_squared, unsure);
        kernel::add_scaled(&mut inside, -part, &along);
        let mut minimiser = self.outside.start().to_vec();
        kernel::add_scaled(&mut minimiser, part, &way);
        self.basis.add(&mut minimiser, &inside);
        let fading = own_curvature / spread_size;
        Some(Thought { anchor, gradient_norm: kernel::norm(&gradient), fading, minimiser })
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
