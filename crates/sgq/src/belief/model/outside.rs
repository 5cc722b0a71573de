//! What the model knows outside of the directions that it has a matrix for: one number of curvature.

use serde::{Deserialize, Serialize};

use super::{
    Change, TINY, View,
    dense::{EXPECTED_WITHIN, FIRST_SPREAD, WARY},
    estimate::{certain_gain, part_of_the_way},
    expected_curvature,
    secants::Secant,
    secants_kept,
};
use crate::kernel;

/// The same sums as in [`Dense`](super::dense::Dense), over all parameters, of which only the traces are kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Outside {
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
    /// How many secants, older ones less.
    count: f64,
    feedback: Feedback,
    typical: f64,
}

/// `Σ uᵀu`, `Σ uᵀy`, `Σ yᵀy`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct SecantTraces {
    pub directions: f64,
    pub changes: f64,
    pub squares: f64,
}

/// How moves follow the mean gradient: the last one, and the sum over first answers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Feedback {
    last: f64,
    total: f64,
    count: f64,
}

/// Traces of the sums about the mean.
#[derive(Clone, Debug, Default)]
pub(super) struct Traces {
    pub first_squared: f64,
    pub points: f64,
    pub mixed: f64,
    pub gradients: f64,
    pub secants: SecantTraces,
    pub own: SecantTraces,
}

/// What is believed outside.
pub(super) struct KnownOutside {
    /// How many directions there are.
    dim: usize,
    /// `tr C`.
    pub spread_size: f64,
    /// `h² d`.
    pub own_curvature: f64,
    /// What to step by.
    pub bend: f64,
}

impl Outside {
    pub fn new(dim: usize, scale: f64) -> Self {
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
            count: 0.0,
            feedback: Feedback::default(),
            typical: expected_curvature(dim, scale),
        }
    }

    pub fn fits(&self, dim: usize) -> bool {
        [&self.start, &self.points, &self.gradients].iter().all(|vector| vector.len() == dim)
    }

    /// Where the first answer was taken: points count from here.
    pub fn start(&self) -> &[f64] {
        &self.start
    }

    /// Curvature outside.
    pub fn typical(&self) -> f64 {
        self.typical
    }

    pub fn take(&mut self, change: &Change<'_>) {
        let Change { size, before, now, .. } = *change;
        if self.start.is_empty() {
            self.start.clone_from(&now.point);
            self.first_squared = kernel::norm_squared(&now.gradient) / (size * size);
        }
        match before {
            Some(before) => {
                self.account(-size, size, &before.point, &before.gradient);
                if let Some(secant) = &before.secant {
                    self.own.add(-size, secant);
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
        if let Some(secant) = &now.secant {
            self.own.add(size, secant);
        }
        if let Some(secant) = change.news {
            let keep = secants_kept(change.users);
            self.secants.scale(keep);
            self.secants.add(1.0, secant);
            self.count = keep * self.count + 1.0;
        }
    }

    fn account(&mut self, weight: f64, size: f64, point: &[f64], gradient: &[f64]) {
        let x: Vec<f64> = point.iter().zip(&self.start).map(|(x, start)| x - start).collect();
        kernel::add_scaled(&mut self.points, weight, &x);
        kernel::add_scaled(&mut self.gradients, weight / size, gradient);
        self.points_squared += weight * kernel::norm_squared(&x);
        self.mixed += weight * kernel::dot(&x, gradient) / size;
        self.gradients_squared += weight * kernel::norm_squared(gradient) / (size * size);
    }

    /// What is left of the traces without those inside.
    fn without(&self, inside: &Traces) -> Traces {
        let weight = self.weight;
        let points = self.points_squared - kernel::norm_squared(&self.points) / weight;
        let mixed = self.mixed - kernel::dot(&self.points, &self.gradients) / weight;
        let gradients = self.gradients_squared - kernel::norm_squared(&self.gradients) / weight;
        Traces {
            first_squared: (self.first_squared - inside.first_squared).max(0.0),
            points: (points - inside.points).max(0.0),
            mixed: mixed - inside.mixed,
            gradients: (gradients - inside.gradients).max(0.0),
            secants: self.secants.without(&inside.secants),
            own: self.own.without(&inside.own),
        }
    }

    /// As [`Dense::refit`](super::dense::Dense::refit), with every matrix a multiple of the identity. `inside` are the traces of
    /// what is not outside, in so many directions; none while nothing was seen but what is inside.
    pub fn refit(&mut self, inside: Option<(Traces, usize)>, view: &View<'_>) -> KnownOutside {
        let Some((inside, rank)) = inside else {
            return KnownOutside { dim: 1, spread_size: 0.0, own_curvature: 0.0, bend: self.typical };
        };
        let Traces { first_squared, points, mixed, gradients, secants, own } = self.without(&inside);
        let outside = self.start.len().saturating_sub(rank).max(1);
        let (dim, weight) = (outside as f64, self.weight);
        let residual_at = |bend: f64| (gradients - 2.0 * bend * mixed + bend * bend * points).max(0.0);
        let residual = residual_at(self.typical);
        let noise = ((residual + FIRST_SPREAD * first_squared) / (dim * weight)).max(TINY);
        let SecantTraces { directions, changes, squares } = secants;
        let wandering = squares - 2.0 * self.typical * changes + self.typical * self.typical * directions;
        let wandering = wandering.max(0.0) / (self.count + 1.0);
        let own_curvature = wandering / dim + self.typical * self.typical / (dim * (self.count + 1.0));
        let trusted = noise / own_curvature;

        let floor = view.flattest(self.count);
        let expected = expected_curvature(view.point.len(), view.scale);
        let pull = noise / (EXPECTED_WITHIN * expected).powi(2);
        let fed_back = residual * self.feedback.total / (weight * (weight - 1.0).max(1.0));
        let seen = mixed - fed_back + trusted * changes + pull * expected;
        let looked = points + trusted * directions + pull;
        let typical = seen / looked;
        // Past what can be held: keep what was believed, or it would be lost for good.
        if !typical.is_nan() {
            self.typical = typical.clamp((0.01 * view.scale).max(floor), view.scale.max(floor));
        }
        let pull = dim * noise / (0.7 * self.typical).powi(2);
        let unsure_bend = WARY * (noise / (pull + (points + trusted * directions) / dim)).sqrt();
        let mut bend = (self.typical + unsure_bend).clamp(floor, view.scale.max(self.typical));
        if own.directions > 0.0 {
            // Along the ways that were gone, the users' own curvature.
            bend = bend.max((own.changes / own.directions).min(view.scale));
        }
        let spread_size = (residual_at(self.typical) + FIRST_SPREAD * first_squared) / weight;
        KnownOutside { dim: outside, spread_size, own_curvature: wandering, bend: bend * view.caution }
    }

    /// How much of the way to go outside, which has this squared length.
    pub fn part(&mut self, known: &KnownOutside, way_squared: f64, unsure: f64) -> f64 {
        let loss = 0.5 * known.spread_size / known.dim as f64 / known.bend * unsure;
        let gain = 0.5 * known.bend * way_squared;
        let part = part_of_the_way(certain_gain(gain, known.dim as f64 * loss, known.dim), loss);
        self.feedback.last = part / known.bend;
        part
    }
}

impl SecantTraces {
    fn add(&mut self, weight: f64, secant: &Secant) {
        self.directions += weight * kernel::norm_squared(&secant.direction);
        self.changes += weight * kernel::dot(&secant.direction, &secant.change);
        self.squares += weight * kernel::norm_squared(&secant.change);
    }

    fn scale(&mut self, factor: f64) {
        self.directions *= factor;
        self.changes *= factor;
        self.squares *= factor;
    }

    fn without(&self, inside: &Self) -> Self {
        Self {
            directions: (self.directions - inside.directions).max(0.0),
            changes: self.changes - inside.changes,
            squares: (self.squares - inside.squares).max(0.0),
        }
    }
}
