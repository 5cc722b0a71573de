//! Curvature with many parameters, docs/frugal.md § 11: a matrix in the directions that matter, and one number in all others.

use std::collections::VecDeque;

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
        let before = self.held[user].take();
        // Without one there were answers before there was a model.
        let secants: Vec<&Secant> = match &before {
            None => now.secants().collect(),
            Some(_) => now.news().into_iter().collect(),
        };
        if before.is_none() {
            for secant in &secants {
                self.extend(&secant.direction);
                self.extend(&secant.change);
            }
        }
        // All at once: the basis is by far the largest thing to read.
        let vectors: Vec<&[f64]> = [&*way, &now.gradient]
            .into_iter()
            .chain(secants.iter().copied().chain(change.news).flat_map(|secant| [&*secant.direction, &secant.change]))
            .collect();
        let mut coordinates = self.basis.coordinates_of_all(&vectors).into_iter();
        let [point, gradient] = [(); 2].map(|()| coordinates.next().unwrap_or_default());
        let rank = self.basis.rank() as f64;
        let mut inside_of = |secant: &Secant| Secant {
            direction: coordinates.next().unwrap_or_default(),
            change: coordinates.next().unwrap_or_default(),
            way: secant.way,
            noise: secant.noise * rank / way.len() as f64,
        };
        let (mut earlier, mut last) = match before.as_deref() {
            Some(before) => (before.earlier.clone(), before.secant.clone()),
            None => (VecDeque::new(), None),
        };
        for secant in secants {
            earlier.extend(last.replace(inside_of(secant)));
        }
        let news = change.news.map(inside_of);
        earlier.drain(..earlier.len().saturating_sub(now.earlier.len()));
        let now = Answer { point, gradient, secant: last, earlier, ..*now };
        let (before, news) = (before.as_deref(), news.as_ref());
        self.inside.take(&Change { user, size, before, now: &now, news, weight, users, follows });
        self.held[user] = Some(Box::new(now));
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
        let held = self.held.iter().enumerate();
        let held = held.filter_map(|(user, answer)| Some((user, answer.as_deref()?)));
        let inside = Spread::from(self.inside.refit(view, held)?);
        // Nothing was seen outside before the basis was full, and nothing is where it has all directions.
        let has_outside = self.is_full() && rank < self.outside.sums.start.len();
        let traces = has_outside.then(|| (self.inside.sums.traces(), rank));
        let around = self.outside.refit(traces, view);
        Some(Spread {
            size: inside.size + around.spread_size,
            own_curvature: inside.own_curvature + around.own_curvature,
        })
    }

    /// `Σ w_i (H_i − B)(a_w − x_i)` over users asked, in order. Where there may be directions outside, `H_i` has the last secant alone, and is
    /// not symmetric: `(y_i − B u_i) u_iᵀ`.
    pub fn own_change(&mut self, view: &View<'_>, weights: &[f64], anchor: &[f64]) -> Vec<f64> {
        let mut sum = vec![0.0; anchor.len()];
        let weighted = || view.answers.iter().zip(weights);
        if self.most == anchor.len() {
            let way: Vec<f64> = anchor.iter().zip(&self.outside.sums.start).map(|(a, start)| a - start).collect();
            let held = weighted().filter_map(|((user, _), weight)| Some((user, *weight, self.held[user].as_deref()?)));
            let inside = self.inside.own_change(held, &self.basis.coordinates(&way));
            self.basis.add(&mut sum, &inside);
            return sum;
        }
        let (mut changes, mut directions) = (Vec::new(), Vec::new());
        for ((_, answer), weight) in weighted() {
            if let Some(secant) = &answer.secant {
                let way = weight * secant.along(&answer.point, anchor);
                changes.push((way, &*secant.change));
                directions.push((way, &*secant.direction));
            }
        }
        let mut along = sum.clone();
        kernel::add_all(&mut along, directions);
        kernel::add_all(&mut sum, changes);
        kernel::add_scaled(&mut sum, -1.0, &self.shared(&along));
        sum
    }

    /// `aᵀB u`.
    pub fn shared_along(&self, a: &[f64], direction: &[f64]) -> f64 {
        let outside = self.outside.typical();
        let [a_inside, inside] = self.basis.coordinates_of([a, direction]);
        let mut more = self.inside.shared(&inside);
        kernel::add_scaled(&mut more, -outside, &inside);
        outside * kernel::dot(a, direction) + kernel::dot(&a_inside, &more)
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
