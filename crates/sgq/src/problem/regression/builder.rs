//! How regressions are made.

use std::sync::Arc;

use super::{Loss, Regression, Rows, newton};
use crate::{
    Oracle as _, Problem as _,
    problem::{Optimum, ProblemError, check_finite},
};

/// A [`Regression`] that is being made: [`Regression::builder`].
#[derive(Clone, Debug)]
pub struct RegressionBuilder {
    rows: Rows,
    targets: Vec<f64>,
    blocks: Vec<usize>,
    loss: Loss,
    l2: f64,
    weights: Vec<f64>,
    user_weights: Option<Vec<f64>>,
    offsets: Option<Vec<f64>>,
    penalised_from: usize,
}

/// How much is found out about a regression.
#[derive(Clone, Copy, PartialEq)]
enum Look {
    Everything,
    /// All but the optimum.
    Constants,
    /// The optimum, and a bound of each user's smoothness.
    Optimum,
    /// A bound of each user's smoothness.
    Bounds,
}

impl RegressionBuilder {
    /// The penalty `λ`; 0 where it is not given.
    pub fn l2(mut self, l2: f64) -> Self {
        self.l2 = l2;
        self
    }

    /// A weight for each row: a user's function is the weighted mean.
    pub fn weights(mut self, weights: Vec<f64>) -> Self {
        self.weights = weights;
        self
    }

    /// What users count: [`Regression::weighing_users`].
    pub fn user_weights(mut self, weights: Vec<f64>) -> Self {
        self.user_weights = Some(weights);
        self
    }

    /// What is added to each row's prediction.
    pub fn offsets(mut self, offsets: Vec<f64>) -> Self {
        self.offsets = Some(offsets);
        self
    }

    /// No penalty on the first parameter.
    pub fn free_intercept(mut self) -> Self {
        self.penalised_from = 1;
        self
    }

    /// The regression, with its optimum.
    pub fn build(self) -> Result<Regression, ProblemError> {
        self.looking(Look::Everything)
    }

    /// Without the optimum, which takes longer to find than many a run.
    pub fn unsolved(self) -> Result<Regression, ProblemError> {
        self.looking(Look::Constants)
    }

    /// With the optimum, and otherwise as [bare](Self::bare): for a fit whose gap is measured, by a method that needs no constants.
    pub fn solved(self) -> Result<Regression, ProblemError> {
        self.looking(Look::Optimum)
    }

    /// With nothing that takes more than a pass over the rows: no optimum, no `L` and no `μ`. Each `L_i` is a bound by the trace of
    /// the user's curvature, up to `d` times as large.
    pub fn bare(self) -> Result<Regression, ProblemError> {
        self.looking(Look::Bounds)
    }

    fn looking(self, look: Look) -> Result<Regression, ProblemError> {
        check(&self)?;
        let Self { rows, targets, blocks, loss, l2, weights, user_weights, offsets, penalised_from } = self;
        let equal_shares = blocks.windows(2).all(|block| {
            let weights = &weights[block[0]..block[1]];
            weights.iter().all(|weight| *weight == weights[0])
        });
        let mut shares = weights;
        for block in blocks.windows(2) {
            let shares = &mut shares[block[0]..block[1]];
            let total: f64 = shares.iter().sum();
            shares.iter_mut().for_each(|share| *share /= total);
        }
        let mut problem = Regression {
            rows: Arc::new(rows),
            targets,
            equal_shares,
            shares,
            user_weights: Vec::new(),
            blocks,
            loss,
            offsets,
            l2,
            penalised_from,
            smoothness: Vec::new(),
            objective_smoothness: None,
            pl_constant: None,
            curvature: None,
            optimum: None,
            gradient_norm_at_optimum: f64::NAN,
        };
        if let Some(weights) = user_weights {
            problem.count_users(&weights)?;
        }
        problem.prepare(look)?;
        Ok(problem)
    }
}

impl Regression {
    /// Begins a regression: user `i` holds the rows from `blocks[i]` to `blocks[i + 1]`.
    ///
    /// ```
    /// use sgq::{Problem, problem::{Loss, Regression, Rows}};
    ///
    /// // Counts of two users in one, two, one and four years: 1.25 a year.
    /// let rows = Rows::Dense { dim: 1, values: vec![1.0; 4] };
    /// let years = [1.0f64, 2.0, 1.0, 4.0];
    /// let problem = Regression::builder(rows, vec![2.0, 2.0, 1.0, 5.0], &[0, 3, 4], Loss::Poisson)
    ///     .offsets(years.iter().map(|years| years.ln()).collect())
    ///     .user_weights(vec![3.0, 1.0]) // every row counts the same
    ///     .build()?;
    /// assert!((problem.optimum().unwrap().point[0] - 1.25f64.ln()).abs() < 1e-12);
    /// # Ok::<(), sgq::problem::ProblemError>(())
    /// ```
    pub fn builder(rows: Rows, targets: Vec<f64>, blocks: &[usize], loss: Loss) -> RegressionBuilder {
        RegressionBuilder {
            weights: vec![1.0; targets.len()],
            rows,
            targets,
            blocks: blocks.to_vec(),
            loss,
            l2: 0.0,
            user_weights: None,
            offsets: None,
            penalised_from: 0,
        }
    }

    /// User `i` holds the rows from `blocks[i]` to `blocks[i + 1]`, all of equal weight. `l2` is `λ`.
    pub fn new(rows: Rows, targets: Vec<f64>, blocks: &[usize], loss: Loss, l2: f64) -> Result<Self, ProblemError> {
        Self::builder(rows, targets, blocks, loss).l2(l2).build()
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
        Self::builder(rows, targets, blocks, loss).weights(weights.to_vec()).l2(l2).build()
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
        Self::builder(rows, targets, blocks, loss).weights(weights.to_vec()).l2(l2).unsolved()
    }

    /// Finds what is looked for.
    fn prepare(&mut self, look: Look) -> Result<(), ProblemError> {
        if matches!(look, Look::Everything | Look::Optimum) {
            let (point, norm) = newton::solve(self)?;
            self.optimum = Some(Optimum { value: self.value(&point), point });
            self.gradient_norm_at_optimum = norm;
        }
        match look {
            Look::Bounds | Look::Optimum => self.bound_smoothness(),
            Look::Everything | Look::Constants => self.find_constants()?,
        }
        check_finite(self)
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
        if self.count_users(weights)? {
            let look = if self.optimum.is_some() { Look::Everything } else { Look::Constants };
            self.prepare(look)?;
        }
        Ok(self)
    }

    /// Whether anything changes by these weights of users.
    fn count_users(&mut self, weights: &[f64]) -> Result<bool, ProblemError> {
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
            return Ok(false);
        }
        // Each is divided first: their sum may be past what numbers can hold.
        let unit: f64 = weights.iter().map(|weight| weight / users as f64).sum();
        self.user_weights = weights.iter().map(|weight| weight / unit).collect();
        for (user, block) in self.blocks.windows(2).enumerate() {
            let factor = self.user_weights[user] / before[user];
            self.shares[block[0]..block[1]].iter_mut().for_each(|share| *share *= factor);
        }
        Ok(true)
    }
}

fn check(draft: &RegressionBuilder) -> Result<(), ProblemError> {
    let RegressionBuilder { rows, targets, weights, blocks, offsets, loss, l2, .. } = draft;
    let (loss, l2) = (*loss, *l2);
    let data = |message: String| Err(ProblemError::Data { message });
    if let Some(message) = rows.objection() {
        return data(message);
    }
    let count = rows.count();
    if let Some(offsets) = offsets {
        if offsets.len() != count {
            return data(format!("{count} rows, but {} offsets", offsets.len()));
        }
        if let Some(row) = offsets.iter().position(|offset| !offset.is_finite()) {
            return data(format!("the offset of row {row} is {}: it must be finite", offsets[row]));
        }
    }
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
    let parameter = match loss {
        Loss::Huber { delta } => Some(("Huber's delta", delta)),
        Loss::NegativeBinomial { theta } => Some(("the negative binomial's theta", theta)),
        _ => None,
    };
    if let Some((name, value)) = parameter.filter(|(_, value)| !(*value > 0.0 && value.is_finite())) {
        return data(format!("{name} is {value}: it must be positive"));
    }
    if !(l2 >= 0.0 && l2.is_finite()) {
        return data(format!("the L2 penalty is {l2}: it must not be negative"));
    }
    Ok(())
}
