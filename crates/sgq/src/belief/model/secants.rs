//! What two answers of the same user say of curvature.

use serde::{Deserialize, Serialize};

use super::moments::{Moment, Trace};
use crate::{frugal::FRUGAL, kernel, matrix::Square};

/// How a user's gradient changed along a direction, for each unit of the way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Secant {
    /// `u`, of length 1.
    pub direction: Vec<f64>,
    /// `y`, the user's size taken out.
    pub change: Vec<f64>,
    /// The length of the way, times the user's size.
    pub way: f64,
    /// The variance of the change's noise: `ν`, all coordinates together.
    pub noise: f64,
}

impl Secant {
    /// Between two answers, of which each is a point and a gradient, with noise of that variance in both together; none where
    /// the point is the same.
    pub fn between(size: f64, old: (&[f64], &[f64]), new: (&[f64], &[f64]), noise: f64) -> Option<Self> {
        let way = kernel::distance(new.0, old.0);
        let part = |new: &[f64], old: &[f64], of: f64| new.iter().zip(old).map(|(n, o)| (n - o) / of).collect();
        let (direction, change) = (part(new.0, old.0, way), part(new.1, old.1, way * size));
        let noise = if noise > 0.0 { noise / (way * size).powi(2) } else { 0.0 };
        let secant = Self { direction, change, way: way * size, noise };
        let fine = way > 0.0 && kernel::all_within(&secant.change, f64::MAX);
        (fine && kernel::all_within(&secant.direction, 2.0)).then_some(secant)
    }

    /// Whether the change is longer than noise explains: Eq. (60).
    pub fn is_clear(&self) -> bool {
        self.noise <= 0.0 || kernel::norm_squared(&self.change) > FRUGAL.clear_sd.powi(2) * self.noise
    }

    /// The length of the change without what noise adds to it.
    pub fn curvature(&self) -> f64 {
        match self.noise > 0.0 {
            true => (kernel::norm_squared(&self.change) - self.noise).max(0.0).sqrt(),
            false => kernel::norm(&self.change),
        }
    }

    /// Which part of users' own curvature it tells, where that has the variance `h² d`: all of it without noise.
    pub fn told(&self, own_curvature: f64) -> f64 {
        if self.noise > 0.0 { own_curvature / (own_curvature + self.noise) } else { 1.0 }
    }

    /// One more parameter, which was zero in all that was seen.
    pub fn grow(&mut self) {
        self.direction.push(0.0);
        self.change.push(0.0);
    }

    /// Without a part of the change that is expected, where that is a number.
    pub fn without(&self, part: f64, expected: &[f64]) -> Self {
        let mut rest = self.clone();
        kernel::add_scaled(&mut rest.change, -part, expected);
        if kernel::all_within(&rest.change, f64::MAX) { rest } else { self.clone() }
    }

    /// How far it is along the direction from one point to another.
    pub fn along(&self, from: &[f64], to: &[f64]) -> f64 {
        along(&self.direction, from, to)
    }
}

/// `vᵀ(to − from)`.
pub(super) fn along(v: &[f64], from: &[f64], to: &[f64]) -> f64 {
    kernel::dot_with_difference(v, from, to)
}

/// Sums over secants: `Q = Σ u uᵀ`, `Y = Σ y uᵀ`, `Σ y yᵀ`, and how many.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct SecantSums<M> {
    pub directions: M,
    pub changes: M,
    pub squares: M,
    pub count: f64,
    /// What noise adds to the trace of the squares.
    pub noise: f64,
}

impl<M: Moment> SecantSums<M> {
    pub fn new(dim: usize) -> Self {
        let zero = || M::zero(dim);
        Self { directions: zero(), changes: zero(), squares: zero(), count: 0.0, noise: 0.0 }
    }

    /// Lets all that is summed count less.
    pub fn forget(&mut self, keep: f64) {
        for sum in [&mut self.directions, &mut self.changes, &mut self.squares] {
            sum.scale(keep);
        }
        self.count *= keep;
        self.noise *= keep;
    }

    pub fn add(&mut self, weight: f64, secant: &Secant) {
        self.directions.add_outer(weight, &secant.direction, &secant.direction);
        self.changes.add_outer(weight, &secant.change, &secant.direction);
        self.squares.add_outer(weight, &secant.change, &secant.change);
        self.count += weight;
        self.noise += weight * secant.noise;
    }

    pub fn traces(&self) -> SecantSums<Trace> {
        let [directions, changes, squares] = [&self.directions, &self.changes, &self.squares].map(M::trace).map(Trace);
        SecantSums { directions, changes, squares, count: self.count, noise: self.noise }
    }
}

impl SecantSums<Square> {
    /// One more parameter, which was zero in all that was seen.
    pub fn grow(&mut self) {
        for sum in [&mut self.directions, &mut self.changes, &mut self.squares] {
            sum.grow();
        }
    }

    /// The trace of `Σ M (y − B u)(y − B u)ᵀ`, where both matrices are symmetric.
    pub fn residual_with(&self, curvature: &Square, metric: &Square) -> f64 {
        if self.count <= 0.0 {
            return 0.0;
        }
        let seen = metric.times(curvature);
        let bent = curvature.times_to_symmetric(&seen);
        self.squares.trace_with(metric) - 2.0 * self.changes.trace_with(&seen) + self.directions.trace_with(&bent)
    }
}

impl SecantSums<Trace> {
    /// What is left without those inside.
    pub fn without(&self, inside: &Self) -> Self {
        Self {
            directions: Trace((self.directions.0 - inside.directions.0).max(0.0)),
            changes: Trace(self.changes.0 - inside.changes.0),
            squares: Trace((self.squares.0 - inside.squares.0).max(0.0)),
            count: self.count,
            noise: self.noise - inside.noise,
        }
    }
}

/// `G − B Xᵀ − X B + B P B`, where `G = Σ g gᵀ`, `X = Σ g xᵀ`, `P = Σ x xᵀ`: what is left of the gradients `g` once `B x` is
/// taken away.
pub(super) fn residual(gradients: &Square, mixed: &Square, points: &Square, curvature: &Square) -> Square {
    let explained = curvature.times(&mixed.transposed());
    let mut left = points.symmetric_between(curvature, curvature);
    left.add(1.0, gradients);
    left.add(-1.0, &explained);
    left.add(-1.0, &explained.transposed());
    left
}
