//! Steps that take everybody's gradient: full gradient descent and L-BFGS. An evaluation costs n queries.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::{Step, Update, Wants};
use crate::{Belief, DefaultStep, Random, Reply, SettingError, choice::Purpose, kernel, step_size::Known};

/// The mean of a sweep's answers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct SweepMean {
    users: f64,
    sum: Vec<f64>,
}

impl SweepMean {
    pub fn new(users: usize, dim: usize) -> Self {
        Self { users: users as f64, sum: vec![0.0; dim] }
    }

    /// Takes one answer of a sweep; with the last one it has `∇f`.
    pub fn add(&mut self, reply: &Reply<'_>) -> Option<Vec<f64>> {
        if reply.user == 0 {
            self.sum.fill(0.0);
        }
        kernel::add_scaled(&mut self.sum, 1.0, reply.gradient);
        if reply.purpose != (Purpose::Sweep { last: true }) {
            return None;
        }
        Some(self.sum.iter().map(|sum| sum / self.users).collect())
    }
}

/// `x −= α ∇f(x)`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FullGradient {
    gradient: SweepMean,
}

impl FullGradient {
    /// Before the first sweep.
    pub fn new() -> Self {
        Self::default()
    }
}

impl<B: Belief> Update<B> for FullGradient {
    fn begin(&mut self, users: usize, dim: usize) -> Result<(), SettingError> {
        self.gradient = SweepMean::new(users, dim);
        Ok(())
    }

    fn default_step(&self, known: &Known<'_>) -> DefaultStep {
        DefaultStep::new("1/L", 1.0 / known.objective())
    }

    fn wants(&self) -> Wants<'_> {
        Wants::Everybody
    }

    fn step(&mut self, step: Step<'_, B>, _random: &mut Random, point: &mut [f64]) -> bool {
        let gradient = self.gradient.add(&step.reply);
        gradient.is_some_and(|gradient| {
            kernel::add_scaled(point, -step.size, &gradient);
            true
        })
    }
}

/// L-BFGS (Liu & Nocedal 1989) with a memory of 10 and a line search by slopes, since nobody answers with values: a step is
/// taken unless it ends rising with more than a tenth of the slope that it began to fall with; else it is shortened by the
/// secant, to between 0.1 and 0.9 of its length, ten times at most. The first step has the length `α ‖∇f‖`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Lbfgs {
    gradient: SweepMean,
    /// Pairs of how far it went and how the gradient changed, the newest last.
    pairs: VecDeque<(Vec<f64>, Vec<f64>)>,
    /// The line search under way.
    line: Option<Line>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Line {
    from: Vec<f64>,
    gradient: Vec<f64>,
    direction: Vec<f64>,
    slope: f64,
    length: f64,
    tries: u32,
}

impl Lbfgs {
    const MEMORY: usize = 10;
    const TRIES: u32 = 10;

    /// Before the first sweep.
    pub fn new() -> Self {
        Self::default()
    }

    /// `H ∇f` by the two-loop recursion, where `H` approximates the inverse Hessian.
    fn direction(&self, gradient: &[f64], step_size: f64) -> Vec<f64> {
        let mut direction = gradient.to_vec();
        let mut parts = Vec::new();
        for (s, y) in self.pairs.iter().rev() {
            let part = kernel::dot(s, &direction) / kernel::dot(s, y);
            kernel::add_scaled(&mut direction, -part, y);
            parts.push(part);
        }
        let scale = match self.pairs.back() {
            Some((s, y)) => kernel::dot(s, y) / kernel::norm_squared(y),
            None => step_size,
        };
        direction.iter_mut().for_each(|x| *x *= scale);
        for ((s, y), part) in self.pairs.iter().zip(parts.into_iter().rev()) {
            let back = kernel::dot(y, &direction) / kernel::dot(s, y);
            kernel::add_scaled(&mut direction, part - back, s);
        }
        direction
    }

    /// Sets out along a new direction.
    fn set_out(&mut self, gradient: Vec<f64>, step_size: f64, point: &mut [f64]) {
        let mut direction = self.direction(&gradient, step_size);
        let mut slope = kernel::dot(&direction, &gradient);
        if !(slope > 0.0 && slope.is_finite()) {
            self.pairs.clear();
            direction = self.direction(&gradient, step_size);
            slope = kernel::dot(&direction, &gradient);
        }
        let from = point.to_vec();
        kernel::add_scaled(point, -1.0, &direction);
        self.line = Some(Line { from, gradient, direction, slope, length: 1.0, tries: 0 });
    }
}

impl<B: Belief> Update<B> for Lbfgs {
    fn begin(&mut self, users: usize, dim: usize) -> Result<(), SettingError> {
        *self = Self { gradient: SweepMean::new(users, dim), ..Self::default() };
        Ok(())
    }

    fn default_step(&self, known: &Known<'_>) -> DefaultStep {
        DefaultStep::new("1/L", 1.0 / known.objective())
    }

    fn wants(&self) -> Wants<'_> {
        Wants::Everybody
    }

    fn step(&mut self, step: Step<'_, B>, _random: &mut Random, point: &mut [f64]) -> bool {
        let Some(gradient) = self.gradient.add(&step.reply) else {
            return false;
        };
        if let Some(mut line) = self.line.take() {
            let slope = kernel::dot(&line.direction, &gradient);
            // The objective is convex: where it still falls at the end of a step it has fallen all the way.
            if slope < -0.1 * line.slope && line.tries < Self::TRIES {
                line.length *= (line.slope / (line.slope - slope)).clamp(0.1, 0.9);
                line.tries += 1;
                point.copy_from_slice(&line.from);
                kernel::add_scaled(point, -line.length, &line.direction);
                self.line = Some(line);
                return true;
            }
            let difference =
                |new: &[f64], old: &[f64]| -> Vec<f64> { new.iter().zip(old).map(|(n, o)| n - o).collect() };
            let (s, y) = (difference(point, &line.from), difference(&gradient, &line.gradient));
            if kernel::dot(&s, &y) > 1e-12 * kernel::norm(&s) * kernel::norm(&y) {
                self.pairs.push_back((s, y));
                if self.pairs.len() > Self::MEMORY {
                    self.pairs.pop_front();
                }
            }
        }
        self.set_out(gradient, step.size, point);
        true
    }
}
