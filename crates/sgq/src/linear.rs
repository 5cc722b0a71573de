//! SAGA on linear models of which each user holds one row, or with all rows in one place: the steps of [`method::saga`](crate::method::saga), without the
//! `n × d` table and without work for zeros.

mod dense;
mod lag;
mod model;
mod sample;
mod sparse;

use std::{hint::black_box, ops::Range};

use crate::{
    Oracle as _, Random, SettingsError, StepSizeError, StopReason, kernel,
    problem::{Loss, Regression},
};

use dense::Dense;
use lag::{Coordinate, Lags};
use sample::{Sampler, Sampling};
use sparse::Sparse;

pub use model::{LinearError, LinearModel, RowsView};

/// SAGA on a [`Regression`] with one row a user, `f_i(x) = loss(a_i·x) + (λ/2) ‖x‖²`, or on rows that somebody else owns
/// ([`LinearModel`]), with weights and an intercept.
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
/// As in a session every user is asked once before the first step, and the same seed asks the same users: those of
/// [`new`](Self::new), where all are as likely. [`on`](Self::on) draws rows with much curvature more often.
///
/// With weights `w_i` and chances `p_i` the step is `x −= α (ŵ_i/p_i (s − s_i) a_i + Σ ŵ_j s_j a_j + λx)`, with
/// `ŵ_i = w_i / Σ w`. The intercept is the weight of one more column, whose numbers are all the same: it moves at
/// every step and has no penalty.
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
///
/// ```
/// use sgq::{LinearSaga, linear::{LinearModel, RowsView}, problem::Loss};
///
/// // Three rows at 1, and two at 3 that count twice: their mean is 15/7.
/// let model = LinearModel {
///     rows: RowsView::Dense { dim: 1, values: &[0.0; 5] },
///     targets: &[1.0, 1.0, 1.0, 3.0, 3.0],
///     weights: Some(&[1.0, 1.0, 1.0, 2.0, 2.0]),
///     offsets: None,
///     loss: Loss::Squares,
///     l2: 0.1,
///     intercept: true,
/// };
/// let mut saga = LinearSaga::on(&model, &[0.0, 0.0], None, 7)?;
/// let tolerance = saga.tolerance(1e-9);
/// while saga.epoch(Some(tolerance), 10_000).is_none() {}
/// assert!((saga.point()[1] - 15.0 / 7.0).abs() < 1e-6);
/// # Ok::<(), sgq::linear::LinearError>(())
/// ```
#[derive(Clone, Debug)]
pub struct LinearSaga<'p> {
    model: LinearModel<'p>,
    users: Vec<RowState>,
    place: Place,
    intercept: Intercept,
    sampler: Sampler,
    step_size: f64,
    random: Random,
    /// The users of the two coming steps.
    next: [usize; 2],
    steps: u64,
    /// How often everybody was asked at one point, and after how many steps last.
    looks: u64,
    looked_at: u64,
    /// The gradient's norm at zero, and what of it may be rounding; where it is known.
    at_zero: Option<(f64, f64)>,
    /// The steps from which on the mean is computed afresh.
    refresh_at: u64,
    largest_coordinate: f64,
    diverged: bool,
}

/// Where the run stands, but for the intercept.
#[derive(Clone, Debug)]
enum Place {
    Dense(Dense),
    Sparse(Sparse),
}

/// The weight of a column that is `constant` in every row, and the mean of the remembered slopes times that.
#[derive(Clone, Debug)]
struct Intercept {
    x: f64,
    mean: f64,
    /// 0 where there is no intercept: it then stays zero.
    constant: f64,
}

impl Intercept {
    /// Its part of every prediction: the intercept itself.
    #[inline(always)]
    fn value(&self) -> f64 {
        self.constant * self.x
    }

    /// The derivative of the objective with respect to the intercept.
    fn slope(&self) -> f64 {
        if self.constant > 0.0 { self.mean / self.constant } else { 0.0 }
    }

    #[inline(always)]
    fn step(&mut self, step_size: f64, down: f64, more: f64) {
        self.x -= step_size * (self.constant * down + self.mean);
        self.mean += self.constant * more;
    }
}

/// What a step reads of a row, side by side.
#[derive(Clone, Copy, Debug)]
struct RowState {
    /// Where it is among the numbers of all rows, and how many it has: columns are numbered in four bytes.
    start: usize,
    length: u32,
    asked: u32,
    target: f64,
    offset: f64,
    /// The slope at its last answer.
    slope: f64,
    /// Its part of the mean, `ŵ_i`, and `ŵ_i / p_i`.
    part: f64,
    pull: f64,
}

impl RowState {
    fn row(&self) -> Range<usize> {
        self.start..self.start + self.length as usize
    }

    /// The slope of its loss where its features and the intercept predict that.
    #[inline(always)]
    fn slope_at(&self, loss: Loss, prediction: f64) -> f64 {
        loss.slope(prediction + self.offset, self.target)
    }

    /// Takes in the answer at a prediction, and returns the change of its slope times `ŵ_i / p_i` and times `ŵ_i`.
    #[inline(always)]
    fn answer(&mut self, loss: Loss, prediction: f64) -> (f64, f64) {
        self.asked = self.asked.saturating_add(1);
        let slope = self.slope_at(loss, prediction);
        let change = slope - self.slope;
        self.slope = slope;
        (self.pull * change, self.part * change)
    }
}

/// What steps need besides the point, whatever the rows are.
struct Stepping<'a> {
    users: &'a mut [RowState],
    sampler: &'a Sampler,
    random: &'a mut Random,
    next: &'a mut [usize; 2],
    intercept: &'a mut Intercept,
    loss: Loss,
    step_size: f64,
    l2: f64,
}

impl Stepping<'_> {
    /// The row of this step. What is kept of the one after the next is read already, and says where its numbers are.
    #[inline(always)]
    fn draw(&mut self) -> usize {
        let [row, next] = *self.next;
        let after = self.sampler.draw(self.users.len(), self.random);
        black_box(self.users[after].start);
        *self.next = [next, after];
        row
    }
}

/// The running mean gathers rounding errors: after this many epochs it is computed afresh.
const EPOCHS_TO_REFRESH: u64 = 20;

/// As in a session, by default.
const DIVERGENCE_LIMIT: f64 = 1e9;

/// The part of a gradient's terms that may be nothing but rounding.
const ROUNDING: f64 = 1e-13;

impl<'p> LinearSaga<'p> {
    /// Asks every user once at `start`. Refuses a problem in which some user holds more than one row.
    pub fn new(problem: &'p Regression, start: &[f64], step_size: f64, seed: u64) -> Result<Self, LinearError> {
        if let Some((user, rows)) = problem.rows_per_user().enumerate().find(|(_, rows)| *rows != 1) {
            return Err(LinearError::RowsPerUser { user, rows });
        }
        if let Some(user) = (0..problem.users()).find(|user| problem.weight_of_user(*user) != 1.0) {
            return Err(LinearError::UserWeight { user });
        }
        if problem.has_free_intercept() {
            return Err(LinearError::FreeIntercept);
        }
        Self::build(LinearModel::of(problem), start, step_size, seed, Sampling::uniform(f64::NAN), 0.0)
    }

    /// Looks at every row once at `start`, which has a number for each column, and then one for the intercept if there is one.
    ///
    /// Without a step size it is that of scikit-learn, `1 / (2L + min(2nλ, L))`, where `L` is `λ` and the largest curvature that
    /// a step sees: less than the largest of a row, where rows with much curvature are drawn more often.
    pub fn on(model: &LinearModel<'p>, start: &[f64], step_size: Option<f64>, seed: u64) -> Result<Self, LinearError> {
        model.check()?;
        let mut squares = model.squares()?;
        let (count, parts) = (squares.len() as f64, model.parts());
        let constant = match model.intercept {
            true => model.intercept_column(&squares, &parts),
            false => 0.0,
        };
        squares.iter_mut().for_each(|square| *square += constant * constant);
        let sampling = match model.loss.largest_curvature() {
            Some(curvature) => {
                let each = squares.iter().zip(&parts).map(|(square, part)| curvature * count * part * square);
                Sampling::by_curvature(&each.collect::<Vec<f64>>(), model.l2)
            }
            None if step_size.is_none() => return Err(LinearError::NoBound),
            None => Sampling::uniform(f64::NAN),
        };
        let step_size = step_size.unwrap_or_else(|| {
            let largest = sampling.curvature + model.l2;
            let step_size = 1.0 / (2.0 * largest + largest.min(2.0 * count * model.l2));
            // Where nothing is curved nothing moves either.
            if step_size.is_finite() { step_size } else { 1.0 }
        });
        let mut saga = Self::build(*model, start, step_size, seed, sampling, constant)?;
        let slopes = |user: &RowState| user.part * user.slope_at(model.loss, 0.0);
        let norm = if start.iter().all(|x| *x == 0.0) {
            saga.surrogate_norm()
        } else {
            // Nobody's slope is that at zero: one more look.
            saga.looks += 1;
            saga.norm_of(slopes)
        };
        let terms: f64 = saga.users.iter().zip(&squares).map(|(user, square)| slopes(user).abs() * square.sqrt()).sum();
        saga.at_zero = Some((norm, ROUNDING * terms + f64::MIN_POSITIVE));
        Ok(saga)
    }

    fn build(
        model: LinearModel<'p>,
        start: &[f64],
        step_size: f64,
        seed: u64,
        sampling: Sampling,
        constant: f64,
    ) -> Result<Self, LinearError> {
        let (dim, count) = (model.rows.dim(), model.rows.count());
        if start.len() != model.parameters() {
            let (expected, found) = (model.parameters(), start.len());
            return Err(SettingsError::Mismatch { what: "parameters", expected, found }.into());
        }
        if let Some(coordinate) = start.iter().position(|x| !x.is_finite()) {
            return Err(SettingsError::Start { coordinate, value: start[coordinate] }.into());
        }
        if !(step_size > 0.0 && step_size.is_finite()) {
            return Err(SettingsError::from(StepSizeError::Size(step_size)).into());
        }
        let parts = model.parts();
        let user = |row: usize| {
            let (start, length) = model.rows.place(row);
            let likely = sampling.likely.get(row).copied().unwrap_or(1.0);
            let pull = match model.weights {
                // To the bit.
                None => 1.0 / likely,
                Some(_) => parts[row] * count as f64 / likely,
            };
            let offset = model.offsets.map_or(0.0, |offsets| offsets[row]);
            let (length, target) = (length as u32, model.targets[row]);
            RowState { start, length, asked: 0, target, offset, slope: 0.0, part: parts[row], pull }
        };
        let (columns, last) = start.split_at(dim);
        let place = match model.rows {
            RowsView::Dense { .. } => Place::Dense(Dense { x: columns.to_vec(), mean: vec![0.0; dim] }),
            RowsView::Sparse { .. } => Place::Sparse(Sparse {
                coordinates: columns.iter().map(|x| Coordinate::new(*x)).collect(),
                lags: Lags::new(step_size, model.l2, dim),
            }),
        };
        let last = last.first().map_or(0.0, |b| b / constant);
        let mut random = Random::new(seed, "choice");
        let mut saga = Self {
            users: (0..count).map(user).collect(),
            place,
            intercept: Intercept { x: last, mean: 0.0, constant },
            next: std::array::from_fn(|_| sampling.sampler.draw(count, &mut random)),
            sampler: sampling.sampler,
            step_size,
            random,
            steps: 0,
            looks: 0,
            looked_at: 0,
            at_zero: None,
            refresh_at: 0,
            largest_coordinate: DIVERGENCE_LIMIT * start.iter().fold(1.0, |largest: f64, x| largest.max(x.abs())),
            diverged: false,
            model,
        };
        saga.look();
        Ok(saga)
    }

    /// Takes that many steps, each of them a query.
    ///
    /// Divergence is looked for at the end, and on the way now and then: not after every step. Every call looks at all
    /// coordinates, so that many short ones take longer than one.
    pub fn run(&mut self, steps: u64) -> StopReason {
        let end = self.steps.saturating_add(steps);
        while self.steps < end && !self.diverged {
            // All coordinates catch up, and the mean is computed, at the same steps, however a run is divided into calls.
            let room = match &self.place {
                Place::Dense(_) => self.refresh_at - self.steps,
                Place::Sparse(sparse) => sparse.lags.room(),
            };
            let steps = room.min(end - self.steps);
            self.take(steps);
            self.steps += steps;
            if steps == room {
                if let Place::Sparse(sparse) = &mut self.place {
                    sparse.lags.catch_up_all(&mut sparse.coordinates);
                }
                if self.steps >= self.refresh_at {
                    self.refresh(false);
                }
            }
            self.diverged = !self.is_within(self.largest_coordinate);
        }
        match self.diverged {
            true => StopReason::Diverged { steps: self.steps },
            false => StopReason::Budget { queries: self.queries() },
        }
    }

    /// Takes as many steps as there are rows, or as are left of the budget; or says why the run is over.
    ///
    /// It is over when the gradient's norm is at most `tolerance`. The running mean is looked at first, which costs nothing;
    /// where that is so short all rows are asked where the run stands, so that what is said is true of the gradient itself.
    pub fn epoch(&mut self, tolerance: Option<f64>, budget: u64) -> Option<StopReason> {
        let spent = Some(StopReason::Budget { queries: self.queries() });
        let left = budget.saturating_sub(self.queries());
        let rows = self.users.len() as u64;
        if let Some(tolerance) = tolerance
            && self.surrogate_norm() <= tolerance
        {
            if self.looked_at != self.steps {
                if left < rows {
                    return spent;
                }
                self.look();
            }
            let norm = self.surrogate_norm();
            if norm <= tolerance {
                return Some(StopReason::SurrogateGradient { norm });
            }
        }
        if left == 0 {
            return spent;
        }
        match self.run(rows.min(left)) {
            reason @ StopReason::Diverged { .. } => Some(reason),
            _ => None,
        }
    }

    /// The norm that is this part of the gradient's at zero, but no less than what may be rounding there.
    ///
    /// Where zero is the optimum its gradient is nothing but rounding, and no part of that is ever reached. It is infinite for a
    /// run that was made by [`new`](Self::new), which looks at its start alone.
    pub fn tolerance(&self, part: f64) -> f64 {
        self.at_zero.map_or(f64::INFINITY, |(norm, rounding)| (part * norm).max(rounding))
    }

    /// The norm of the mean of everybody's last gradients, with the penalty's where the run stands.
    pub fn surrogate_norm(&self) -> f64 {
        let l2 = self.model.l2;
        let mut gradient: Vec<f64> = match &self.place {
            Place::Dense(Dense { x, mean }) => x.iter().zip(mean).map(|(x, mean)| mean + l2 * x).collect(),
            Place::Sparse(Sparse { coordinates, lags }) => {
                let of = |coordinate: &Coordinate| coordinate.mean + l2 * lags.catch_up(&mut coordinate.clone());
                coordinates.iter().map(of).collect()
            }
        };
        gradient.push(self.intercept.slope());
        kernel::norm(&gradient)
    }

    /// Asks everybody where the run stands: the mean of the slopes is then the gradient's.
    pub fn look(&mut self) {
        self.looks += 1;
        self.looked_at = self.steps;
        self.refresh(true);
    }

    fn stepping(&mut self) -> (&mut Place, LinearModel<'p>, Stepping<'_>) {
        let Self { model, users, place, intercept, sampler, step_size, random, next, .. } = self;
        let (loss, step_size, l2) = (model.loss, *step_size, model.l2);
        (place, *model, Stepping { users, sampler, random, next, intercept, loss, step_size, l2 })
    }

    fn take(&mut self, steps: u64) {
        match self.stepping() {
            (Place::Dense(dense), model, stepping) => dense.take(steps, model.rows.values(), stepping),
            (Place::Sparse(sparse), model, stepping) => sparse.take(steps, model.rows.entries(), stepping),
        }
    }

    /// Computes the mean from the slopes, which are computed anew or those that are remembered.
    fn refresh(&mut self, anew: bool) {
        match self.stepping() {
            (Place::Dense(dense), model, stepping) => dense.refresh(anew, model.rows.values(), stepping),
            (Place::Sparse(sparse), model, stepping) => sparse.refresh(anew, model.rows.entries(), stepping),
        }
        self.refresh_at = self.steps.saturating_add(EPOCHS_TO_REFRESH * self.users.len() as u64);
    }

    /// The norm of the sum of all rows, each times its slope.
    fn norm_of(&self, slope: impl Fn(&RowState) -> f64) -> f64 {
        let dim = self.model.rows.dim();
        let constant = f64::from(u8::from(self.model.intercept));
        let mut gradient = vec![0.0; dim + 1];
        for (row, user) in self.users.iter().enumerate() {
            let slope = slope(user);
            self.model.rows.add_scaled(row, slope, &mut gradient);
            gradient[dim] += constant * slope;
        }
        kernel::norm(&gradient)
    }

    fn is_within(&self, limit: f64) -> bool {
        // Not a number is not within either.
        let columns = match &self.place {
            Place::Dense(dense) => dense.x.iter().all(|x| x.abs() <= limit),
            Place::Sparse(sparse) => sparse.coordinates.iter().all(|coordinate| coordinate.is_within(limit)),
        };
        columns && self.intercept.value().abs() <= limit
    }

    /// Where the run stands; the intercept, if there is one, comes last.
    pub fn point(&self) -> Vec<f64> {
        let mut point = match &self.place {
            Place::Dense(dense) => dense.x.clone(),
            Place::Sparse(Sparse { coordinates, lags }) => {
                coordinates.iter().map(|coordinate| lags.catch_up(&mut coordinate.clone())).collect()
            }
        };
        point.extend(self.model.intercept.then_some(self.intercept.value()));
        point
    }

    /// Queries so far: one of every user at the start and whenever all were looked at, and one a step.
    pub fn queries(&self) -> u64 {
        self.looks * self.users.len() as u64 + self.steps
    }

    /// The same user by user, as a session's [meter](crate::Meter::billed_per_user) counts them.
    pub fn billed_per_user(&self) -> Vec<u64> {
        self.users.iter().map(|user| u64::from(user.asked) + self.looks).collect()
    }

    /// Steps taken so far.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// The step size, `α`.
    pub fn step_size(&self) -> f64 {
        self.step_size
    }
}
