//! Regression on data that the users hold: each one a block of rows.

mod builder;
mod constants;
mod loss;
mod newton;
mod rows;

use std::sync::Arc;

use super::{Optimum, Problem};
use crate::{Format, Oracle, Storage, kernel};

pub use builder::RegressionBuilder;
pub use loss::Loss;
pub use rows::Rows;

/// `f_i(x) =` the mean loss over user `i`'s rows `+ (λ/2) ‖x‖²`; `f` is the plain mean over users, unless users
/// [count differently](RegressionBuilder::user_weights). A [builder](Regression::builder) takes offsets, weights, and an intercept
/// without a penalty.
///
/// ```
/// use sgq::{Problem, problem::{Loss, Regression, Rows}};
///
/// // Two users with two rows each: an intercept and one feature.
/// let rows = Rows::Dense { dim: 2, values: vec![1.0, 0.0, 1.0, 1.0, 1.0, 2.0, 1.0, 3.0] };
/// let problem = Regression::new(rows, vec![0.0, 1.0, 2.0, 4.0], &[0, 2, 4], Loss::Squares, 0.01)?;
/// let optimum = problem.optimum().unwrap();
/// assert!(problem.gradient_norm_at_optimum() < 1e-12);
/// assert!((optimum.point[1] - 1.28).abs() < 0.02);
/// # Ok::<(), sgq::problem::ProblemError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Regression {
    rows: Arc<Rows>,
    targets: Vec<f64>,
    /// Each row's part of its user's mean, times what the user counts.
    shares: Vec<f64>,
    /// Whether all rows of a user count the same.
    equal_shares: bool,
    /// What each user counts, 1 on average; empty where all count the same.
    user_weights: Vec<f64>,
    /// User `i` holds the rows from `blocks[i]` to `blocks[i + 1]`.
    blocks: Vec<usize>,
    loss: Loss,
    /// What each row's prediction has besides its features; none where there are no offsets.
    offsets: Option<Vec<f64>>,
    l2: f64,
    /// The first parameter with a penalty: 1 where the intercept has none.
    penalised_from: usize,
    smoothness: Vec<f64>,
    objective_smoothness: Option<f64>,
    pl_constant: Option<f64>,
    /// The lower half of f's curvature where it is the same everywhere: squares with few enough parameters.
    curvature: Option<Vec<f64>>,
    optimum: Option<Optimum>,
    gradient_norm_at_optimum: f64,
}

impl Regression {
    /// What a user counts, 1 on average.
    pub fn weight_of_user(&self, user: usize) -> f64 {
        self.user_weights.get(user).copied().unwrap_or(1.0)
    }

    /// The penalty within a user's function.
    fn user_l2(&self, user: usize) -> f64 {
        self.l2 * self.weight_of_user(user)
    }

    /// Whether every user has the same penalty, as tables that leave it out need.
    fn has_one_penalty(&self) -> bool {
        self.l2 == 0.0 || (self.user_weights.is_empty() && self.penalised_from == 0)
    }

    /// `‖∇f(x*)‖`: how well the optimum was found; NaN where nobody looked for it.
    pub fn gradient_norm_at_optimum(&self) -> f64 {
        self.gradient_norm_at_optimum
    }

    /// The loss.
    pub fn loss(&self) -> Loss {
        self.loss
    }

    /// The features of every row, user by user.
    pub fn rows(&self) -> &Rows {
        &self.rows
    }

    /// What each row's prediction is compared with.
    pub fn targets(&self) -> &[f64] {
        &self.targets
    }

    /// What each row's prediction has besides its features, if anything.
    pub fn offsets(&self) -> Option<&[f64]> {
        self.offsets.as_deref()
    }

    /// The penalty `λ`.
    pub fn l2(&self) -> f64 {
        self.l2
    }

    /// Whether the first parameter, the intercept, has no penalty.
    pub fn has_free_intercept(&self) -> bool {
        self.penalised_from == 1
    }

    /// A row's prediction `z = a·x`, its offset included.
    fn prediction(&self, row: usize, x: &[f64]) -> f64 {
        let z = self.rows.dot(row, x);
        self.offsets.as_ref().map_or(z, |offsets| z + offsets[row])
    }

    /// `out += λ x`, but for parameters without a penalty.
    fn add_penalty(&self, x: &[f64], out: &mut [f64]) {
        let from = self.penalised_from;
        kernel::add_scaled(&mut out[from..], self.l2, &x[from..]);
    }

    /// How many rows each user holds.
    pub fn rows_per_user(&self) -> impl Iterator<Item = usize> {
        self.blocks.windows(2).map(|block| block[1] - block[0])
    }

    /// Storage of one number a user, for a session's [`Settings`](crate::Settings::storage); none where some user holds
    /// several rows, or users [count differently](Regression::weighing_users) and there is a penalty.
    pub fn scalar_storage(&self) -> Option<Storage> {
        let one_each = self.rows_per_user().all(|rows| rows == 1) && self.has_one_penalty();
        one_each.then(|| Format::Scalars { rows: Arc::clone(&self.rows), l2: self.l2 }.into())
    }

    /// Storage of the numbers that are not zero but for the penalty: what a user's rows have none of is not kept. Where users
    /// [count differently](Regression::weighing_users) the penalty is kept too, and there is little to save.
    pub fn sparse_storage(&self) -> Storage {
        let l2 = if self.has_one_penalty() { self.l2 } else { 0.0 };
        Format::Sparse { l2 }.into()
    }

    /// `∇f(x)`.
    fn full_gradient(&self, x: &[f64]) -> Vec<f64> {
        let mut sum = vec![0.0; x.len()];
        let users = self.users() as f64;
        for row in 0..self.targets.len() {
            let slope = self.loss.slope(self.prediction(row, x), self.targets[row]);
            self.rows.add_scaled(row, self.shares[row] / users * slope, &mut sum);
        }
        self.add_penalty(x, &mut sum);
        sum
    }

    /// The loss's second derivative at every row's prediction.
    fn curvatures(&self, x: &[f64]) -> Vec<f64> {
        let rows = self.targets.iter().enumerate();
        rows.map(|(row, target)| self.loss.curvature(self.prediction(row, x), *target)).collect()
    }

    /// `mean_i Σ_r share_r factor_r row_r row_rᵀ`, the lower half.
    fn mean_outer(&self, factor: impl Fn(usize) -> f64) -> Vec<f64> {
        let dim = self.rows.dim();
        let mut outer = vec![0.0; dim * dim];
        let users = self.users() as f64;
        for row in 0..self.targets.len() {
            self.rows.add_outer(row, self.shares[row] * factor(row) / users, &mut outer);
        }
        outer
    }

    /// `∇²f x`, penalty included, with these curvatures of the rows.
    fn hessian_times(&self, curvatures: &[f64], x: &[f64]) -> Vec<f64> {
        let mut image = vec![0.0; x.len()];
        let users = self.users() as f64;
        for (row, curvature) in curvatures.iter().enumerate() {
            let factor = self.shares[row] * curvature / users * self.rows.dot(row, x);
            self.rows.add_scaled(row, factor, &mut image);
        }
        self.add_penalty(x, &mut image);
        image
    }
}

impl Oracle for Regression {
    fn users(&self) -> usize {
        self.blocks.len() - 1
    }

    fn dim(&self) -> usize {
        self.rows.dim()
    }

    fn gradient(&self, user: usize, point: &[f64], gradient: &mut [f64]) {
        let l2 = self.user_l2(user);
        for (out, x) in gradient.iter_mut().zip(point) {
            *out = l2 * x;
        }
        gradient[..self.penalised_from].fill(0.0);
        for row in self.blocks[user]..self.blocks[user + 1] {
            let slope = self.loss.slope(self.prediction(row, point), self.targets[row]);
            self.rows.add_scaled(row, self.shares[row] * slope, gradient);
        }
    }

    fn user_loss(&self, user: usize, point: &[f64]) -> Option<f64> {
        Some(self.user_value(user, point))
    }

    fn hessian(&self, user: usize, point: &[f64], hessian: &mut [f64]) -> bool {
        let dim = self.rows.dim();
        hessian.fill(0.0);
        for row in self.blocks[user]..self.blocks[user + 1] {
            let curvature = self.loss.curvature(self.prediction(row, point), self.targets[row]);
            self.rows.add_outer(row, self.shares[row] * curvature, hessian);
        }
        for row in 0..dim {
            for column in row + 1..dim {
                hessian[row * dim + column] = hessian[column * dim + row];
            }
            if row >= self.penalised_from {
                hessian[row * dim + row] += self.user_l2(user);
            }
        }
        true
    }
}

impl Problem for Regression {
    fn user_value(&self, user: usize, point: &[f64]) -> f64 {
        let rows = self.blocks[user]..self.blocks[user + 1];
        let penalty = 0.5 * self.user_l2(user) * kernel::norm_squared(&point[self.penalised_from..]);
        let mut predictions = self.rows.dots(rows.clone(), point);
        if let Some(offsets) = &self.offsets {
            predictions.iter_mut().zip(&offsets[rows.clone()]).for_each(|(z, offset)| *z += offset);
        }
        let targets = &self.targets[rows.clone()];
        if self.loss == Loss::Logistic && self.equal_shares {
            let margins = targets.iter().zip(predictions).map(|(target, prediction)| target * prediction);
            return self.shares[rows.start] * loss::sum_of_logistic(margins) + penalty;
        }
        let losses = targets.iter().zip(predictions).map(|(target, prediction)| self.loss.value(prediction, *target));
        losses.zip(&self.shares[rows]).map(|(loss, share)| share * loss).sum::<f64>() + penalty
    }

    fn smoothness(&self) -> Option<&[f64]> {
        Some(&self.smoothness)
    }

    fn pl_constant(&self) -> Option<f64> {
        self.pl_constant
    }

    fn objective_smoothness(&self) -> Option<f64> {
        self.objective_smoothness
    }

    fn is_smooth_everywhere(&self) -> bool {
        self.loss.is_smooth()
    }

    fn is_quadratic(&self) -> bool {
        self.loss == Loss::Squares
    }

    fn optimum(&self) -> Option<&Optimum> {
        self.optimum.as_ref()
    }

    /// For squares `½ (x − x*)ᵀ ∇²f (x − x*)`, exact where subtracting two values would cancel.
    fn gap(&self, point: &[f64]) -> Option<f64> {
        let optimum = self.optimum.as_ref()?;
        let Some(curvature) = &self.curvature else {
            return Some(self.value(point) - optimum.value);
        };
        let dim = point.len();
        let offset: Vec<f64> = point.iter().zip(&optimum.point).map(|(x, best)| x - best).collect();
        let row = |k: usize| {
            let below = kernel::dot(&curvature[k * dim..][..k], &offset[..k]);
            offset[k] * (2.0 * below + curvature[k * dim + k] * offset[k])
        };
        let curved: f64 = (0..dim).map(row).sum();
        Some(0.5 * curved + 0.5 * self.l2 * kernel::norm_squared(&offset[self.penalised_from..]))
    }
}
