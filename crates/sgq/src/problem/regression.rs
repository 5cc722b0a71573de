//! Regression on data that the users hold: each one a block of rows.

mod loss;
mod newton;
mod rows;

use std::sync::Arc;

use super::{Optimum, Problem, ProblemError};
use crate::{Format, Oracle, Storage, kernel, matrix::Square};

pub use loss::Loss;
pub use rows::Rows;

/// `f_i(x) =` the mean loss over user `i`'s rows `+ (λ/2) ‖x‖²`; `f` is the plain mean over users, unless users
/// [count differently](Regression::weighing_users).
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
    l2: f64,
    smoothness: Vec<f64>,
    objective_smoothness: f64,
    pl_constant: Option<f64>,
    /// The lower half of f's curvature where it is the same everywhere: squares with few enough parameters.
    curvature: Option<Vec<f64>>,
    optimum: Option<Optimum>,
    gradient_norm_at_optimum: f64,
}

impl Regression {
    /// User `i` holds the rows from `blocks[i]` to `blocks[i + 1]`, all of equal weight. `l2` is `λ`.
    pub fn new(rows: Rows, targets: Vec<f64>, blocks: &[usize], loss: Loss, l2: f64) -> Result<Self, ProblemError> {
        let weights = vec![1.0; targets.len()];
        Self::weighted(rows, targets, &weights, blocks, loss, l2)
    }

    /// The same with a weight for each row: `f_i` is then the weighted mean.
    pub fn weighted(
        rows: Rows,
        targets: Vec<f64>,
        weights: &[f64],
        blocks: &[usize],
        loss: Loss,
        l2: f64,
    ) -> Result<Self, ProblemError> {
        Self::build(rows, targets, weights, blocks, loss, l2, true)
    }

    /// The same without looking for the optimum, which takes longer than many a run: for a fit that nobody measures the gap of.
    pub fn unsolved(
        rows: Rows,
        targets: Vec<f64>,
        weights: &[f64],
        blocks: &[usize],
        loss: Loss,
        l2: f64,
    ) -> Result<Self, ProblemError> {
        Self::build(rows, targets, weights, blocks, loss, l2, false)
    }

    fn build(
        rows: Rows,
        targets: Vec<f64>,
        weights: &[f64],
        blocks: &[usize],
        loss: Loss,
        l2: f64,
        solve: bool,
    ) -> Result<Self, ProblemError> {
        check(&rows, &targets, weights, blocks, loss, l2)?;
        let mut shares = weights.to_vec();
        for block in blocks.windows(2) {
            let shares = &mut shares[block[0]..block[1]];
            let total: f64 = shares.iter().sum();
            shares.iter_mut().for_each(|share| *share /= total);
        }
        let mut problem = Self {
            rows: Arc::new(rows),
            targets,
            equal_shares: blocks.windows(2).all(|block| {
                let weights = &weights[block[0]..block[1]];
                weights.iter().all(|weight| *weight == weights[0])
            }),
            shares,
            user_weights: Vec::new(),
            blocks: blocks.to_vec(),
            loss,
            l2,
            smoothness: Vec::new(),
            objective_smoothness: 0.0,
            pl_constant: None,
            curvature: None,
            optimum: None,
            gradient_norm_at_optimum: f64::NAN,
        };
        problem.prepare(solve)?;
        Ok(problem)
    }

    /// Finds the optimum, where it is wanted, and all constants.
    fn prepare(&mut self, solve: bool) -> Result<(), ProblemError> {
        if solve {
            let (point, norm) = newton::solve(self)?;
            self.optimum = Some(Optimum { value: self.value(&point), point });
            self.gradient_norm_at_optimum = norm;
        }
        self.find_constants()?;
        super::check_finite(self)
    }

    /// The same where users count differently: user `i`'s whole function, its penalty included, is `n w_i / Σ w` times as large, so
    /// that the mean over users is `Σ w_i f_i / Σ w`. With each user's number of rows it is the mean over all rows.
    ///
    /// ```
    /// use sgq::{Problem, problem::{Loss, Regression, Rows}};
    ///
    /// // Means of 1 and 5, of two users with three rows and one: the mean over rows is 2.
    /// let rows = Rows::Dense { dim: 1, values: vec![1.0; 4] };
    /// let problem = Regression::new(rows, vec![0.0, 1.0, 2.0, 5.0], &[0, 3, 4], Loss::Squares, 0.0)?;
    /// assert!((problem.optimum().unwrap().point[0] - 3.0).abs() < 1e-12);
    /// let by_rows = problem.weighing_users(&[3.0, 1.0])?;
    /// assert!((by_rows.optimum().unwrap().point[0] - 2.0).abs() < 1e-12);
    /// # Ok::<(), sgq::problem::ProblemError>(())
    /// ```
    pub fn weighing_users(mut self, weights: &[f64]) -> Result<Self, ProblemError> {
        let (users, data) = (self.users(), |message: String| Err(ProblemError::Data { message }));
        if weights.len() != users {
            return data(format!("{} weights were given for {users} users: give one for each", weights.len()));
        }
        if let Some(user) = weights.iter().position(|weight| !(*weight > 0.0 && weight.is_finite())) {
            return data(format!("user {user} has the weight {}: it must be positive and finite", weights[user]));
        }
        let mut before = std::mem::take(&mut self.user_weights);
        before.resize(users, 1.0);
        if weights.iter().all(|weight| *weight == weights[0]) && before.iter().all(|weight| *weight == 1.0) {
            return Ok(self);
        }
        // Each is divided first: their sum may be past what numbers can hold.
        let unit: f64 = weights.iter().map(|weight| weight / users as f64).sum();
        self.user_weights = weights.iter().map(|weight| weight / unit).collect();
        for (user, block) in self.blocks.windows(2).enumerate() {
            let factor = self.user_weights[user] / before[user];
            self.shares[block[0]..block[1]].iter_mut().for_each(|share| *share *= factor);
        }
        self.prepare(self.optimum.is_some())?;
        Ok(self)
    }

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
        self.l2 == 0.0 || self.user_weights.is_empty()
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

    /// The penalty `λ`.
    pub fn l2(&self) -> f64 {
        self.l2
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

    /// `L_i`, the smoothness of `f`, and `μ`.
    ///
    /// Each row's curvature is at most the loss's largest. Poisson's is the rate, which has none: there it is the larger of
    /// the rate at zero, 1, and the count itself, which holds as long as no rate is above both.
    fn find_constants(&mut self) -> Result<(), ProblemError> {
        let most: Vec<f64> = match self.loss.largest_curvature() {
            Some(largest) => vec![largest; self.targets.len()],
            None => self.targets.iter().map(|count| count.max(1.0)).collect(),
        };
        let mut smoothness = Vec::with_capacity(self.users());
        for user in 0..self.users() {
            smoothness.push(self.block_curvature(user, &most)? + self.user_l2(user));
        }
        self.smoothness = smoothness;
        let (least, largest) = self.extreme_curvatures(&most)?;
        self.objective_smoothness = largest + self.l2;
        let strong = match self.loss {
            Loss::Squares => least + self.l2,
            // Elsewhere the loss may be flat.
            _ => self.l2,
        };
        self.pl_constant = (strong > 0.0).then_some(strong);
        Ok(())
    }

    /// The largest eigenvalue of a user's curvature, without the penalty.
    fn block_curvature(&self, user: usize, curvatures: &[f64]) -> Result<f64, ProblemError> {
        let block = self.blocks[user]..self.blocks[user + 1];
        let dim = self.rows.dim();
        let largest = |matrix: Square| {
            let failed = || ProblemError::Eigenvalues { of: format!("user {user}'s curvature") };
            matrix.extreme_eigenvalues().map(|(_, largest)| largest.max(0.0)).ok_or_else(failed)
        };
        let count = block.len();
        if count <= dim && count <= DIRECT {
            // The rows' inner products have the same largest eigenvalue, and are fewer.
            let scaled = |row: usize| (self.shares[row] * curvatures[row]).sqrt();
            let mut dense = vec![0.0; count * dim];
            for (line, row) in dense.chunks_exact_mut(dim).zip(block.clone()) {
                self.rows.add_scaled(row, scaled(row), line);
            }
            let line = |k: usize| &dense[k * dim..][..dim];
            if count == 1 {
                // As many as there are rows without groups: no need to ask the solver.
                return Ok(kernel::norm_squared(line(0)));
            }
            let mut products = vec![0.0; count * count];
            for (i, products) in products.chunks_exact_mut(count).enumerate() {
                kernel::dot_with_rows(&dense, line(i), &mut products[..=i]);
            }
            return largest(Square::from_lower(count, products));
        }
        if dim <= DIRECT {
            let mut outer = vec![0.0; dim * dim];
            for row in block {
                self.rows.add_outer(row, self.shares[row] * curvatures[row], &mut outer);
            }
            return largest(Square::from_lower(dim, outer));
        }
        Ok(largest_eigenvalue(dim, |x, image| {
            for row in block.clone() {
                self.rows.add_scaled(row, self.shares[row] * curvatures[row] * self.rows.dot(row, x), image);
            }
        }))
    }

    /// The smallest and the largest eigenvalue of `f`'s curvature, without the penalty.
    fn extreme_curvatures(&mut self, curvatures: &[f64]) -> Result<(f64, f64), ProblemError> {
        let dim = self.rows.dim();
        if dim > DIRECT {
            let largest = largest_eigenvalue(dim, |x, image| {
                kernel::add_scaled(image, 1.0, &self.hessian_times(curvatures, x));
                kernel::add_scaled(image, -self.l2, x);
            });
            return Ok((0.0, largest));
        }
        let outer = self.mean_outer(|row| curvatures[row]);
        if self.loss == Loss::Squares {
            self.curvature = Some(outer.clone());
        }
        let (least, largest) = Square::from_lower(dim, outer)
            .extreme_eigenvalues()
            .ok_or_else(|| ProblemError::Eigenvalues { of: "the mean curvature".into() })?;
        Ok((least.max(0.0), largest.max(0.0)))
    }

    /// `∇f(x)`.
    fn full_gradient(&self, x: &[f64]) -> Vec<f64> {
        let mut sum = vec![0.0; x.len()];
        let users = self.users() as f64;
        for row in 0..self.targets.len() {
            let slope = self.loss.slope(self.rows.dot(row, x), self.targets[row]);
            self.rows.add_scaled(row, self.shares[row] / users * slope, &mut sum);
        }
        kernel::add_scaled(&mut sum, self.l2, x);
        sum
    }

    /// The loss's second derivative at every row's prediction.
    fn curvatures(&self, x: &[f64]) -> Vec<f64> {
        let rows = self.targets.iter().enumerate();
        rows.map(|(row, target)| self.loss.curvature(self.rows.dot(row, x), *target)).collect()
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
        kernel::add_scaled(&mut image, self.l2, x);
        image
    }
}

/// Matrices up to this size are given to the eigenvalue solver; larger ones are only multiplied with.
const DIRECT: usize = 500;

/// The largest eigenvalue of a positive semidefinite matrix, by power iteration: the Rayleigh quotient, plus how far the last
/// vector is from being an eigenvector, to be on the safe side.
fn largest_eigenvalue(dim: usize, add_product: impl Fn(&[f64], &mut [f64])) -> f64 {
    let mut x: Vec<f64> = (0..dim).map(|k| 1.0 + 0.1 * ((k * 7919 % 101) as f64 / 101.0)).collect();
    let mut bound = f64::INFINITY;
    for _ in 0..1000 {
        let norm = kernel::norm(&x);
        if norm == 0.0 {
            return 0.0;
        }
        x.iter_mut().for_each(|value| *value /= norm);
        let mut image = vec![0.0; dim];
        add_product(&x, &mut image);
        let quotient = kernel::dot(&x, &image);
        let mut residual = image.clone();
        kernel::add_scaled(&mut residual, -quotient, &x);
        let off = kernel::norm(&residual);
        bound = quotient + off;
        if off <= 1e-10 * quotient {
            break;
        }
        x = image;
    }
    bound
}

fn check(
    rows: &Rows,
    targets: &[f64],
    weights: &[f64],
    blocks: &[usize],
    loss: Loss,
    l2: f64,
) -> Result<(), ProblemError> {
    let data = |message: String| Err(ProblemError::Data { message });
    if let Some(message) = rows.objection() {
        return data(message);
    }
    let count = rows.count();
    if targets.len() != count || weights.len() != count {
        return data(format!("{count} rows, but {} targets and {} weights", targets.len(), weights.len()));
    }
    if blocks.len() < 2 || count == 0 {
        return Err(ProblemError::NoUsers);
    }
    if blocks[0] != 0 || blocks[blocks.len() - 1] != count {
        return data(format!("the users' blocks must cover the rows from 0 to {count}"));
    }
    for (user, block) in blocks.windows(2).enumerate() {
        if block[0] >= block[1] {
            return data(format!("user {user} has no rows"));
        }
        let total: f64 = weights[block[0]..block[1]].iter().sum();
        if !(total > 0.0 && total.is_finite()) {
            return data(format!("the weights of user {user} add up to {total}: they must be positive"));
        }
    }
    if let Some(row) = weights.iter().position(|weight| weight.is_nan() || *weight < 0.0) {
        return data(format!("the weight of row {row} is {}: it must not be negative", weights[row]));
    }
    for (row, target) in targets.iter().enumerate() {
        if let Some(objection) = loss.objection(*target) {
            return data(format!("the target of row {row} is {target}: {objection}"));
        }
    }
    if let Loss::Huber { delta } = loss
        && !(delta > 0.0 && delta.is_finite())
    {
        return data(format!("Huber's delta is {delta}: it must be positive"));
    }
    if !(l2 >= 0.0 && l2.is_finite()) {
        return data(format!("the L2 penalty is {l2}: it must not be negative"));
    }
    Ok(())
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
        for row in self.blocks[user]..self.blocks[user + 1] {
            let slope = self.loss.slope(self.rows.dot(row, point), self.targets[row]);
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
            let curvature = self.loss.curvature(self.rows.dot(row, point), self.targets[row]);
            self.rows.add_outer(row, self.shares[row] * curvature, hessian);
        }
        for row in 0..dim {
            for column in row + 1..dim {
                hessian[row * dim + column] = hessian[column * dim + row];
            }
            hessian[row * dim + row] += self.user_l2(user);
        }
        true
    }
}

impl Problem for Regression {
    fn user_value(&self, user: usize, point: &[f64]) -> f64 {
        let rows = self.blocks[user]..self.blocks[user + 1];
        let penalty = 0.5 * self.user_l2(user) * kernel::norm_squared(point);
        let predictions = self.rows.dots(rows.clone(), point);
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
        Some(self.objective_smoothness)
    }

    fn is_smooth_everywhere(&self) -> bool {
        self.loss.largest_curvature().is_some()
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
        Some(0.5 * curved + 0.5 * self.l2 * kernel::norm_squared(&offset))
    }
}
