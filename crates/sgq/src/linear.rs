//! SAGA on linear models of which each user holds one row: the steps of [`method::saga`](crate::method::saga), without the
//! `n × d` table and without work for zeros.

mod lag;

use std::{hint::black_box, ops::Range};

use crate::{
    Oracle as _, Random, SettingsError, StepSizeError, StopReason,
    problem::{Regression, Rows},
};
use thiserror::Error;

use lag::{Coordinate, Lags};

/// SAGA on a [`Regression`] with one row a user, `f_i(x) = loss(a_i·x) + (λ/2) ‖x‖²`.
///
/// A user's gradient is `s_i a_i + λx`: all there is to remember of it is the slope `s_i`, one number. The penalty is
/// known and the same for everybody, so that its part of the memory is always up to date, and the step
/// `x −= α (∇f_i(x) − g̃_i + ḡ)` with `g̃_i = s_i a_i + λx` is
///
/// `x −= α ((s − s_i) a_i + (1/n) Σ s_j a_j + λx)`,
///
/// where `s` is the slope at `x`. A [`Session`](crate::Session) is told gradients, penalty and all, and cannot know: it
/// keeps the penalty as it was at each user's last answer. The two take the same steps without a penalty, or where the
/// session's users leave it out and its update adds `λx`.
///
/// Coordinates in which the row is zero move by `α (ḡ + λx)` alone, and `ḡ` stays as it is there. They are left alone
/// until a row needs them, when all the missed steps are taken at once; a step takes time in proportion to the numbers in
/// the row that are not zero.
///
/// The running mean is not compensated as a session's is; every 20 epochs it is computed afresh from the slopes.
///
/// As in a session every user is asked once before the first step, and the same seed asks the same users.
///
/// ```
/// use sgq::{LinearSaga, Problem, problem::{Loss, Regression, Rows}};
///
/// let rows = Rows::Sparse { dim: 3, starts: vec![0, 2, 3, 5], columns: vec![0, 1, 2, 0, 2], values: vec![1.0; 5] };
/// let problem = Regression::new(rows, vec![1.0, -1.0, 1.0], &[0, 1, 2, 3], Loss::Logistic, 0.1)?;
/// let mut saga = LinearSaga::new(&problem, &[0.0; 3], 0.5, 7)?;
/// saga.run(2_000);
/// assert!(problem.gap(&saga.point()).unwrap() < 1e-12);
/// assert_eq!(saga.queries(), 2_003);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct LinearSaga<'p> {
    problem: &'p Regression,
    users: Vec<User>,
    /// The point and `(1/n) Σ s_j a_j`.
    coordinates: Vec<Coordinate>,
    lags: Lags,
    step_size: f64,
    random: Random,
    /// The user of the coming step.
    next: usize,
    steps: u64,
    /// The steps from which on the mean is computed afresh.
    refresh_at: u64,
    largest_coordinate: f64,
    diverged: bool,
}

/// What a step reads of a user, side by side.
#[derive(Clone, Copy, Debug)]
struct User {
    /// Where its row is among the numbers of all rows, and how many it has: columns are numbered in four bytes.
    start: usize,
    length: u32,
    asked: u32,
    target: f64,
    /// The slope at its last answer.
    slope: f64,
}

impl User {
    fn row(&self) -> Range<usize> {
        self.start..self.start + self.length as usize
    }
}

/// The running mean gathers rounding errors: after this many epochs it is computed afresh.
const EPOCHS_TO_REFRESH: u64 = 20;

/// As in a session, by default.
const DIVERGENCE_LIMIT: f64 = 1e9;

impl<'p> LinearSaga<'p> {
    /// Asks every user once at `start`. Refuses a problem in which some user holds more than one row.
    pub fn new(problem: &'p Regression, start: &[f64], step_size: f64, seed: u64) -> Result<Self, LinearError> {
        if let Some((user, rows)) = problem.rows_per_user().enumerate().find(|(_, rows)| *rows != 1) {
            return Err(LinearError::RowsPerUser { user, rows });
        }
        if let Some(user) = (0..problem.users()).find(|user| problem.weight_of_user(*user) != 1.0) {
            return Err(LinearError::UserWeight { user });
        }
        let dim = problem.dim();
        if start.len() != dim {
            return Err(SettingsError::Mismatch { what: "parameters", expected: dim, found: start.len() }.into());
        }
        if let Some(coordinate) = start.iter().position(|x| !x.is_finite()) {
            return Err(SettingsError::Start { coordinate, value: start[coordinate] }.into());
        }
        if !(step_size > 0.0 && step_size.is_finite()) {
            return Err(SettingsError::from(StepSizeError::Size(step_size)).into());
        }
        let rows = problem.rows();
        let user = |(row, target): (usize, &f64)| {
            let (start_of_row, end) = match rows {
                Rows::Dense { dim, .. } => (row * dim, (row + 1) * dim),
                Rows::Sparse { starts, .. } => (starts[row], starts[row + 1]),
            };
            let slope = problem.loss().slope(rows.dot(row, start), *target);
            User { start: start_of_row, length: (end - start_of_row) as u32, asked: 1, target: *target, slope }
        };
        let mut random = Random::new(seed, "choice");
        let mut saga = Self {
            problem,
            users: problem.targets().iter().enumerate().map(user).collect(),
            coordinates: start.iter().map(|x| Coordinate::new(*x)).collect(),
            lags: Lags::new(step_size, problem.l2(), dim),
            step_size,
            next: random.index(problem.users()),
            random,
            steps: 0,
            refresh_at: 0,
            largest_coordinate: DIVERGENCE_LIMIT * start.iter().fold(1.0, |largest: f64, x| largest.max(x.abs())),
            diverged: false,
        };
        saga.refresh();
        Ok(saga)
    }

    /// Takes that many steps, each of them a query.
    ///
    /// Divergence is looked for at the end, and on the way now and then: not after every step. Every call looks at all
    /// coordinates, so that many short ones take longer than one.
    pub fn run(&mut self, steps: u64) -> StopReason {
        let problem = self.problem;
        let end = self.steps.saturating_add(steps);
        while self.steps < end && !self.diverged {
            // All coordinates catch up at the same steps, however a run is divided into calls.
            let steps = self.lags.room().min(end - self.steps);
            match problem.rows() {
                Rows::Dense { values, .. } => self.take(steps, values, |row| 0..row.len()),
                Rows::Sparse { values, columns, .. } => {
                    self.take(steps, values, |row| columns[row].iter().map(|column| *column as usize));
                }
            }
            self.steps += steps;
            if self.lags.room() == 0 {
                self.lags.catch_up_all(&mut self.coordinates);
                if self.steps >= self.refresh_at {
                    self.refresh();
                }
            }
            self.diverged = self.coordinates.iter().any(|coordinate| !coordinate.is_within(self.largest_coordinate));
        }
        match self.diverged {
            true => StopReason::Diverged { steps: self.steps },
            false => StopReason::Budget { queries: self.queries() },
        }
    }

    /// Takes steps; `columns` says in which columns the numbers of a row are.
    fn take<C: Iterator<Item = usize>>(&mut self, steps: u64, values: &[f64], columns: impl Fn(Range<usize>) -> C) {
        let Self { users, coordinates, lags, random, next, .. } = self;
        let (users, coordinates) = (&mut **users, &mut **coordinates);
        let loss = self.problem.loss();
        let (step_size, part) = (self.step_size, 1.0 / users.len() as f64);
        for _ in 0..steps {
            let user = std::mem::replace(next, random.index(users.len()));
            fetch(values, &columns, &users[*next]);
            let user = &mut users[user];
            user.asked = user.asked.saturating_add(1);
            let row = user.row();
            let values = &values[row.clone()];
            // Two sums, so that an addition need not wait for the one before.
            let mut sums = [0.0; 2];
            let mut numbers = columns(row.clone()).zip(values);
            while let Some((column, value)) = numbers.next() {
                sums[0] += value * lags.catch_up(&mut coordinates[column]);
                if let Some((column, value)) = numbers.next() {
                    sums[1] += value * lags.catch_up(&mut coordinates[column]);
                }
            }
            let slope = loss.slope(sums[0] + sums[1], user.target);
            let change = slope - user.slope;
            user.slope = slope;
            for (column, value) in columns(row).zip(values) {
                lags.step(&mut coordinates[column], step_size * change * value, part * change * value);
            }
            lags.advance();
        }
    }

    /// Computes the mean from the slopes.
    fn refresh(&mut self) {
        let mut mean = vec![0.0; self.coordinates.len()];
        let part = 1.0 / self.users.len() as f64;
        for (row, user) in self.users.iter().enumerate() {
            self.problem.rows().add_scaled(row, part * user.slope, &mut mean);
        }
        for (coordinate, mean) in self.coordinates.iter_mut().zip(mean) {
            coordinate.mean = mean;
        }
        self.refresh_at = self.steps.saturating_add(EPOCHS_TO_REFRESH * self.users.len() as u64);
    }

    /// Where the run stands.
    pub fn point(&self) -> Vec<f64> {
        self.coordinates.iter().map(|coordinate| self.lags.catch_up(&mut coordinate.clone())).collect()
    }

    /// Queries so far: one of every user, then one a step.
    pub fn queries(&self) -> u64 {
        self.users.len() as u64 + self.steps
    }

    /// The same user by user, as a session's [meter](crate::Meter::billed_per_user) counts them.
    pub fn billed_per_user(&self) -> Vec<u64> {
        self.users.iter().map(|user| u64::from(user.asked)).collect()
    }

    /// Steps taken so far.
    pub fn steps(&self) -> u64 {
        self.steps
    }
}

/// Reads the ends of a row a step before it is needed: by then they have come from the memory.
#[inline(always)]
fn fetch<C: Iterator<Item = usize>>(values: &[f64], columns: impl Fn(Range<usize>) -> C, user: &User) {
    let row = user.row();
    let ends = values[row.clone()].first().zip(values[row.clone()].last());
    black_box((ends.map(|(first, last)| first + last), columns(row).next()));
}

/// Why there is no such run.
#[derive(Clone, Debug, PartialEq, Error)]
#[allow(missing_docs)] // the message says what each field is
#[non_exhaustive]
pub enum LinearError {
    #[error(
        "user {user} holds {rows} rows, and a linear model with one number a user needs one: take a session instead"
    )]
    RowsPerUser { user: usize, rows: usize },
    #[error("user {user} counts more or less than others, and here all must count the same: take a session instead")]
    UserWeight { user: usize },
    #[error(transparent)]
    Settings(#[from] SettingsError),
}
