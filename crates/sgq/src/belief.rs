//! What a method believes of each user between two answers.

mod table;

use serde::{Deserialize, Serialize};

use crate::{Part, kernel};
use table::Table;

/// What is held of the users: built from their answers, read by the choice and the update.
///
/// # Contract
///
/// `begin` is called once, before anything else. Every accepted answer at the current point reaches `observe` exactly once, after
/// the update has used it: a belief that an update reads is the one *before* the answer.
pub trait Belief: Part {
    /// Makes room for that many users and parameters.
    fn begin(&mut self, users: usize, dim: usize);

    /// Whether every user must be asked once, at the start, before the first step.
    fn wants_first_sweep(&self) -> bool;

    /// Takes in one user's gradient at the point where it was asked for.
    fn observe(&mut self, user: usize, point: &[f64], gradient: &[f64]);

    /// Whether it will have a surrogate gradient.
    fn has_surrogate(&self) -> bool;

    /// The belief's estimate of `∇f`, once it has one.
    fn surrogate_gradient(&self) -> Option<&[f64]>;
}

/// No memory at all: what SGD, shuffled SGD, OGQ and SVRG need.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Nothing;

impl Belief for Nothing {
    fn begin(&mut self, _users: usize, _dim: usize) {}

    fn wants_first_sweep(&self) -> bool {
        false
    }

    fn observe(&mut self, _user: usize, _point: &[f64], _gradient: &[f64]) {}

    fn has_surrogate(&self) -> bool {
        false
    }

    fn surrogate_gradient(&self) -> Option<&[f64]> {
        None
    }
}

/// Each user's last gradient `g̃_i`, the point `x_τi` where it was taken, and the mean `ḡ` of them all.
///
/// If user `i`'s gradient is `L_i`-Lipschitz, it can have moved by at most `ε_i = L_i ‖x_τi − x‖` since.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LastGradient {
    absent: bool,
    dim: usize,
    gradients: Table,
    points: Table,
    norms: Vec<f64>,
    asked: Vec<bool>,
    unasked: usize,
    sum: CompensatedSum,
    mean: Vec<f64>,
}

impl LastGradient {
    /// An empty table; the session gives it its size.
    pub fn new() -> Self {
        Self::default()
    }

    /// A table that nobody reads: it takes no room, and asks for no first sweep. For methods put together at run time.
    pub(crate) fn absent() -> Self {
        Self { absent: true, ..Self::default() }
    }

    /// How many users there are.
    pub fn users(&self) -> usize {
        self.norms.len()
    }

    /// `g̃_i`: the user's last gradient (zero before the first one).
    ///
    /// # Panics
    ///
    /// Like indexing a slice, this and the other calls that take a user panic for one that does not exist.
    pub fn gradient(&self, user: usize) -> &[f64] {
        &self.gradients.numbers()[user * self.dim..][..self.dim]
    }

    /// `‖g̃_i‖`.
    pub fn gradient_norm(&self, user: usize) -> f64 {
        self.norms[user]
    }

    pub(crate) fn gradient_norms(&self) -> &[f64] {
        &self.norms
    }

    /// `x_τi`: where the user's last gradient was taken.
    pub fn point(&self, user: usize) -> &[f64] {
        &self.points.numbers()[user * self.dim..][..self.dim]
    }

    /// `ḡ = (1/n) Σ g̃_i`.
    pub fn mean(&self) -> &[f64] {
        &self.mean
    }

    /// `ε_i = L_i ‖x_τi − x‖`: how far the user's last gradient can be off at `point`.
    pub fn error(&self, user: usize, point: &[f64], smoothness: f64) -> f64 {
        smoothness * kernel::distance_squared(self.point(user), point).sqrt()
    }

    /// `ε_i` of every user, into `errors`.
    pub(crate) fn errors(&self, point: &[f64], smoothness: &[f64], errors: &mut [f64]) {
        kernel::distance_squared_to_rows(self.points.numbers(), point, errors);
        for (error, smoothness) in errors.iter_mut().zip(smoothness) {
            *error = smoothness * error.sqrt();
        }
    }

    /// `⟨ḡ, g̃_i⟩` of every user, into `inner_products`.
    pub(crate) fn inner_products(&self, inner_products: &mut [f64]) {
        kernel::dot_with_rows(self.gradients.numbers(), &self.mean, inner_products);
    }
}

impl Belief for LastGradient {
    fn begin(&mut self, users: usize, dim: usize) {
        if self.absent {
            return;
        }
        *self = Self {
            absent: false,
            dim,
            gradients: Table::zeros(users * dim),
            points: Table::zeros(users * dim),
            norms: vec![0.0; users],
            asked: vec![false; users],
            unasked: users,
            sum: CompensatedSum::new(dim),
            mean: vec![0.0; dim],
        };
    }

    fn wants_first_sweep(&self) -> bool {
        !self.absent
    }

    fn observe(&mut self, user: usize, point: &[f64], gradient: &[f64]) {
        if self.absent {
            return;
        }
        let row = user * self.dim..(user + 1) * self.dim;
        self.sum.replace(&self.gradients.numbers()[row.clone()], gradient);
        self.gradients.numbers_mut()[row.clone()].copy_from_slice(gradient);
        if !self.sum.is_finite() {
            // Some answers were so large that their sum was past what numbers can hold: start afresh without the old one.
            self.sum = CompensatedSum::new(self.dim);
            for gradient in self.gradients.numbers().chunks_exact(self.dim) {
                self.sum.replace(&vec![0.0; self.dim], gradient);
            }
        }
        let users = self.norms.len() as f64;
        for (coordinate, mean) in self.mean.iter_mut().enumerate() {
            *mean = self.sum.get(coordinate) / users;
        }
        self.points.numbers_mut()[row].copy_from_slice(point);
        self.norms[user] = kernel::norm(gradient);
        if !self.asked[user] {
            self.asked[user] = true;
            self.unasked -= 1;
        }
    }

    fn has_surrogate(&self) -> bool {
        !self.absent
    }

    fn surrogate_gradient(&self) -> Option<&[f64]> {
        (self.unasked == 0 && !self.absent).then_some(&*self.mean)
    }
}

/// A running sum of rows of which one is replaced at a time, in twice the working precision.
///
/// A plain running sum drifts: each replacement leaves a rounding error behind, for ever. Here the rounding error of
/// every addition (Knuth's two-sum) is carried along, so the sum stays that of the current rows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct CompensatedSum {
    high: Vec<f64>,
    low: Vec<f64>,
}

impl CompensatedSum {
    fn new(dim: usize) -> Self {
        Self { high: vec![0.0; dim], low: vec![0.0; dim] }
    }

    fn replace(&mut self, old: &[f64], new: &[f64]) {
        let sums = self.high.iter_mut().zip(&mut self.low);
        for ((high, low), (old, new)) in sums.zip(old.iter().zip(new)) {
            let (partial, first_error) = two_sum(*high, *new);
            let (total, second_error) = two_sum(partial, -*old);
            let correction = *low + (first_error + second_error);
            (*high, *low) = two_sum(total, correction);
        }
    }

    fn is_finite(&self) -> bool {
        self.high.iter().all(|value| value.is_finite())
    }

    fn get(&self, coordinate: usize) -> f64 {
        self.high[coordinate] + self.low[coordinate]
    }
}

/// `a + b` rounded, and exactly what the rounding lost.
fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let b_part = sum - a;
    let a_part = sum - b_part;
    (sum, (a - a_part) + (b - b_part))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Random;

    #[test]
    fn the_mean_does_not_drift() {
        let (users, dim) = (13, 5);
        let mut belief = LastGradient::new();
        belief.begin(users, dim);
        let mut random = Random::new(3, "drift");
        for step in 0..20_000 {
            // Answers shrink by twelve decades on the way: a plain running sum would keep the rounding of the large ones.
            let scale = 10f64.powf(6.0 - 12.0 * step as f64 / 20_000.0);
            let gradient: Vec<f64> = (0..dim).map(|_| scale * (random.unit() - 0.3)).collect();
            belief.observe(random.index(users), &[0.0; 5], &gradient);
        }
        for coordinate in 0..dim {
            let rows: Vec<f64> = (0..users).map(|user| belief.gradient(user)[coordinate]).collect();
            let mean = rows.iter().sum::<f64>() / users as f64;
            let scale = rows.iter().map(|value| value.abs()).sum::<f64>() / users as f64;
            assert!((belief.mean()[coordinate] - mean).abs() <= 1e-12 * scale);
        }
    }

    #[test]
    fn the_surrogate_waits_for_every_user() {
        let mut belief = LastGradient::new();
        belief.begin(2, 1);
        belief.observe(1, &[5.0], &[4.0]);
        belief.observe(1, &[5.0], &[4.0]);
        assert_eq!(belief.surrogate_gradient(), None);
        belief.observe(0, &[5.0], &[2.0]);
        assert_eq!(belief.surrogate_gradient(), Some(&[3.0][..]));
        assert_eq!(belief.error(0, &[2.0], 2.0), 6.0);
    }
}
