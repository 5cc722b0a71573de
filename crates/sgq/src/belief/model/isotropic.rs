//! The model with one number of curvature: any number of parameters.

use serde::{Deserialize, Serialize};

use super::{
    Change, TINY, Thought, View,
    dense::FIRST_SPREAD,
    estimate::{Estimate, certain_gain, part_of_the_way},
    expected_curvature,
};
use crate::kernel;

/// The same sums as in [`Dense`](super::dense::Dense), of which only the traces are kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Isotropic {
    start: Vec<f64>,
    first_squared: f64,
    weight: f64,
    points: Vec<f64>,
    gradients: Vec<f64>,
    points_squared: f64,
    mixed: f64,
    gradients_squared: f64,
    secants: SecantTraces,
    own: SecantTraces,
    feedback: Feedback,
    expected: f64,
    typical: f64,
}

/// `Σ uᵀy`, `Σ yᵀy`, and how many.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct SecantTraces {
    changes: f64,
    squares: f64,
    count: f64,
}

/// How moves follow the mean gradient: the last one, and the sum over first answers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Feedback {
    last: f64,
    total: f64,
    count: f64,
}

impl Isotropic {
    pub fn new(dim: usize, scale: f64) -> Self {
        let expected = expected_curvature(dim, scale);
        Self {
            start: Vec::new(),
            first_squared: 0.0,
            weight: 0.0,
            points: vec![0.0; dim],
            gradients: vec![0.0; dim],
            points_squared: 0.0,
            mixed: 0.0,
            gradients_squared: 0.0,
            secants: SecantTraces::default(),
            own: SecantTraces::default(),
            feedback: Feedback::default(),
            expected,
            typical: expected,
        }
    }

    pub fn fits(&self, dim: usize) -> bool {
        [&self.start, &self.points, &self.gradients].iter().all(|vector| vector.len() == dim)
    }

    pub fn take(&mut self, change: &Change<'_>) {
        let Change { size, before, now, users } = *change;
        if self.start.is_empty() {
            self.start.clone_from(&now.point);
            self.first_squared = kernel::norm_squared(&now.gradient) / (size * size);
        }
        match before {
            Some(before) => {
                self.account(-size, size, &before.point, &before.gradient);
                if let Some(secant) = &before.secant {
                    self.own.add(-size, &secant.direction, &secant.change);
                }
                if before.times == 1 && self.feedback.count > 0.0 {
                    self.feedback.total *= (self.feedback.count - 1.0) / self.feedback.count;
                    self.feedback.count -= 1.0;
                }
            }
            None => {
                self.weight += size;
                self.feedback.total += self.feedback.last;
                self.feedback.count += 1.0;
            }
        }
        self.account(size, size, &now.point, &now.gradient);
        let Some(secant) = &now.secant else {
            return;
        };
        self.own.add(size, &secant.direction, &secant.change);
        if now.fresh {
            let keep = 1.0 - 1.0 / (2.0 * users as f64).max(20.0);
            let SecantTraces { changes, squares, count } = self.secants;
            self.secants = SecantTraces { changes: keep * changes, squares: keep * squares, count: keep * count };
            self.secants.add(1.0, &secant.direction, &secant.change);
        }
    }

    fn account(&mut self, weight: f64, size: f64, point: &[f64], gradient: &[f64]) {
        let (mut squared, mut mixed) = (0.0, 0.0);
        for (k, start) in self.start.iter().enumerate() {
            let x = point[k] - start;
            squared += x * x;
            mixed += x * gradient[k];
            self.points[k] += weight * x;
            self.gradients[k] += weight * gradient[k] / size;
        }
        self.points_squared += weight * squared;
        self.mixed += weight * mixed / size;
        self.gradients_squared += weight * kernel::norm_squared(gradient) / (size * size);
    }

    /// As [`Dense::think`](super::dense::Dense::think), with every matrix a multiple of the identity.
    pub fn think(&mut self, view: &View<'_>) -> Thought {
        let dim = self.start.len() as f64;
        let weight = self.weight;
        let points = (self.points_squared - kernel::norm_squared(&self.points) / weight).max(0.0);
        let mixed = self.mixed - kernel::dot(&self.points, &self.gradients) / weight;
        let gradients = (self.gradients_squared - kernel::norm_squared(&self.gradients) / weight).max(0.0);
        let residual_at = |bend: f64| (gradients - 2.0 * bend * mixed + bend * bend * points).max(0.0);
        let residual = residual_at(self.typical);
        let noise = ((residual + FIRST_SPREAD * self.first_squared) / (dim * weight)).max(TINY);
        let SecantTraces { changes, squares, count } = self.secants;
        let wandering = squares - 2.0 * self.typical * changes + self.typical * self.typical * count;
        let own_curvature = (wandering.max(0.0) + self.typical * self.typical) / (dim * (count + 1.0));
        let trusted = noise / own_curvature;

        let floor = view.flattest(count);
        let pull = noise / (0.5 * self.expected).powi(2);
        let fed_back = residual * self.feedback.total / (weight * (weight - 1.0).max(1.0));
        let seen = mixed - fed_back + trusted * changes + pull * self.expected;
        let looked = points + trusted * count + pull;
        let typical = seen / looked;
        // Past what can be held: keep what was believed, or it would be lost for good.
        if !typical.is_nan() {
            self.typical = typical.clamp((0.01 * view.scale).max(floor), view.scale.max(floor));
        }
        let pull = dim * noise / (0.7 * self.typical).powi(2);
        let unsure_bend = 0.25 * (noise / (pull + (points + trusted * count) / dim)).sqrt();
        let mut bend = (self.typical + unsure_bend).clamp(floor, view.scale.max(self.typical));
        if self.own.count > 0.0 {
            // Along the ways that were gone, the users' own curvature.
            bend = bend.max(self.own.changes / self.own.count);
        }
        let spread = (residual_at(self.typical) + FIRST_SPREAD * self.first_squared) / weight;
        self.step(spread, own_curvature * dim, bend * view.caution, view)
    }

    fn step(&mut self, spread: f64, own_curvature: f64, bend: f64, view: &View<'_>) -> Thought {
        let dim = self.start.len();
        let spread = spread.max(TINY);
        let shared = |directions: &[f64]| directions.iter().map(|value| self.typical * value).collect();
        let Estimate { anchor, gradient, unsure } = Estimate::new(view, spread, own_curvature, shared);
        let newton: Vec<f64> = (0..dim).map(|k| anchor[k] - self.start[k] - gradient[k] / bend).collect();
        let loss = 0.5 * spread / dim as f64 / bend * unsure;
        let gain = 0.5 * bend * kernel::norm_squared(&newton);
        let shrunk = part_of_the_way(certain_gain(gain, dim as f64 * loss, dim), loss);
        self.feedback.last = shrunk / bend;
        let minimiser = newton.iter().zip(&self.start).map(|(value, start)| start + shrunk * value).collect();
        Thought { anchor, gradient_norm: kernel::norm(&gradient), fading: own_curvature / spread, minimiser }
    }
}

impl SecantTraces {
    fn add(&mut self, weight: f64, direction: &[f64], change: &[f64]) {
        self.changes += weight * kernel::dot(direction, change);
        self.squares += weight * kernel::norm_squared(change);
        self.count += weight;
    }
}
