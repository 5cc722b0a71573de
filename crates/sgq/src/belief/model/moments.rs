//! Sums over answers, docs/frugal.md § 3: as matrices, or as their traces where a matrix would be too large.

use serde::{Deserialize, Serialize};

use super::{Change, secants::SecantSums, secants_kept};
use crate::{kernel, matrix::Square};

/// `Σ w a bᵀ`, or what is kept of it.
pub(crate) trait Moment: Clone {
    fn zero(dim: usize) -> Self;
    fn add_outer(&mut self, weight: f64, a: &[f64], b: &[f64]);
    fn add(&mut self, factor: f64, other: &Self);
    fn scale(&mut self, factor: f64);
    fn trace(&self) -> f64;
}

impl Moment for Square {
    fn zero(dim: usize) -> Self {
        Self::zero(dim)
    }

    fn add_outer(&mut self, weight: f64, a: &[f64], b: &[f64]) {
        self.add_outer(weight, a, b);
    }

    fn add(&mut self, factor: f64, other: &Self) {
        self.add(factor, other);
    }

    fn scale(&mut self, factor: f64) {
        self.scale(factor);
    }

    fn trace(&self) -> f64 {
        self.trace()
    }
}

/// Only the trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Trace(pub f64);

impl Moment for Trace {
    fn zero(_dim: usize) -> Self {
        Self(0.0)
    }

    fn add_outer(&mut self, weight: f64, a: &[f64], b: &[f64]) {
        self.0 += weight * kernel::dot(a, b);
    }

    fn add(&mut self, factor: f64, other: &Self) {
        self.0 += factor * other.0;
    }

    fn scale(&mut self, factor: f64) {
        self.0 *= factor;
    }

    fn trace(&self) -> f64 {
        self.0
    }
}

/// Sums over the last answers, points from the start, and gradients with their sizes taken out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Sums<M> {
    /// Where the first answer was taken: points count from here.
    pub start: Vec<f64>,
    /// The first gradient.
    pub first: Vec<f64>,
    /// `K = Σ s_i` over those asked.
    pub weight: f64,
    /// `Σ s x`, `Σ s g`, `Σ s x xᵀ`, `Σ s g xᵀ`, `Σ s g gᵀ`.
    pub points: Vec<f64>,
    pub gradients: Vec<f64>,
    pub points_squared: M,
    pub mixed: M,
    pub gradients_squared: M,
    /// All secants, older ones less, without what users' own gradients explain of them.
    pub secants: SecantSums<M>,
    /// Each user's latest secant, weighted by its size: the traces alone.
    pub own: SecantSums<Trace>,
    pub feedback: Feedback<M>,
}

/// The point moves with the noise of earlier answers, which biases a regression of gradients on points: § 4.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Feedback<M> {
    /// `F`: how the last move followed the mean gradient.
    pub last: M,
    /// `Σ F` over first answers.
    pub total: M,
    pub count: f64,
}

/// Sums taken about the mean.
pub(crate) struct Centred<M> {
    pub points: M,
    pub mixed: M,
    pub gradients: M,
}

/// The traces of all sums, those of points and gradients about the mean.
#[derive(Clone, Debug)]
pub(crate) struct Traces {
    pub first_squared: f64,
    pub points: f64,
    pub mixed: f64,
    pub gradients: f64,
    pub secants: SecantSums<Trace>,
    pub own: SecantSums<Trace>,
}

impl<M: Moment> Sums<M> {
    pub fn new(dim: usize) -> Self {
        let zero = || M::zero(dim);
        Self {
            start: Vec::new(),
            first: Vec::new(),
            weight: 0.0,
            points: vec![0.0; dim],
            gradients: vec![0.0; dim],
            points_squared: zero(),
            mixed: zero(),
            gradients_squared: zero(),
            secants: SecantSums::new(dim),
            own: SecantSums::new(dim),
            feedback: Feedback { last: zero(), total: zero(), count: 0.0 },
        }
    }

    pub fn take(&mut self, change: &Change<'_>) {
        let Change { size, before, now, .. } = *change;
        if self.weight == 0.0 {
            self.start.clone_from(&now.point);
            self.first = now.gradient.iter().map(|value| value / size).collect();
        }
        match before {
            Some(before) => {
                self.account(-size, size, &before.point, &before.gradient);
                if let Some(secant) = &before.secant {
                    self.own.add(-size, secant);
                }
                if before.times == 1 && self.feedback.count > 0.0 {
                    let count = self.feedback.count;
                    self.feedback.total.scale((count - 1.0) / count);
                    self.feedback.count -= 1.0;
                }
            }
            None => {
                self.weight += size;
                if change.follows {
                    self.feedback.total.add(1.0, &self.feedback.last);
                }
                self.feedback.count += 1.0;
            }
        }
        self.account(size, size, &now.point, &now.gradient);
        if let Some(secant) = &now.secant {
            self.own.add(size, secant);
        }
        if let Some(secant) = change.news {
            self.secants.forget(secants_kept(change.users, change.weight));
            self.secants.add(change.weight, secant);
        }
    }

    fn account(&mut self, weight: f64, size: f64, point: &[f64], gradient: &[f64]) {
        let x: Vec<f64> = point.iter().zip(&self.start).map(|(x, start)| x - start).collect();
        let g: Vec<f64> = gradient.iter().map(|value| value / size).collect();
        kernel::add_scaled(&mut self.points, weight, &x);
        kernel::add_scaled(&mut self.gradients, weight, &g);
        self.points_squared.add_outer(weight, &x, &x);
        self.mixed.add_outer(weight, &g, &x);
        self.gradients_squared.add_outer(weight, &g, &g);
    }

    pub fn centred(&self) -> Centred<M> {
        let mean = |sum: &[f64]| sum.iter().map(|value| value / self.weight).collect::<Vec<f64>>();
        let (anchor, mean) = (mean(&self.points), mean(&self.gradients));
        let about = |sum: &M, one: &[f64], other: &[f64]| {
            let mut sum = sum.clone();
            sum.add_outer(-self.weight, one, other);
            sum
        };
        Centred {
            points: about(&self.points_squared, &anchor, &anchor),
            mixed: about(&self.mixed, &mean, &anchor),
            gradients: about(&self.gradients_squared, &mean, &mean),
        }
    }

    pub fn traces(&self) -> Traces {
        let centred = self.centred();
        Traces {
            first_squared: kernel::norm_squared(&self.first),
            points: centred.points.trace(),
            mixed: centred.mixed.trace(),
            gradients: centred.gradients.trace(),
            secants: self.secants.traces(),
            own: self.own.clone(),
        }
    }
}

impl Sums<Square> {
    /// One more parameter, which was zero in all that was seen.
    pub fn grow(&mut self) {
        for vector in [&mut self.start, &mut self.first, &mut self.points, &mut self.gradients] {
            vector.push(0.0);
        }
        let Feedback { last, total, .. } = &mut self.feedback;
        for sum in [&mut self.points_squared, &mut self.mixed, &mut self.gradients_squared, last, total] {
            sum.grow();
        }
        self.secants.grow();
    }
}

impl Traces {
    /// What is left without those inside; squares are not negative, though rounding may make them so.
    pub fn without(&self, inside: &Self) -> Self {
        Self {
            first_squared: (self.first_squared - inside.first_squared).max(0.0),
            points: (self.points - inside.points).max(0.0),
            mixed: self.mixed - inside.mixed,
            gradients: (self.gradients - inside.gradients).max(0.0),
            secants: self.secants.without(&inside.secants),
            own: self.own.without(&inside.own),
        }
    }
}
