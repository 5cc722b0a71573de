//! What a session is told once, before it starts.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::{Problem, StepSize, Storage, storage::StorageError, theory::Theorem};

/// Where to start, how far to step, when to stop.
///
/// ```
/// use sgq::Settings;
///
/// let settings = Settings::new(vec![5.0], 4)
///     .smoothness(vec![2.0; 4])
///     .step_size(0.015)
///     .budget(400)
///     .seed(7);
/// ```
///
/// Nothing is checked until a [`Session`](crate::Session) is built from it.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    pub(crate) start: Vec<f64>,
    pub(crate) users: usize,
    pub(crate) smoothness: Option<Vec<f64>>,
    pub(crate) objective_smoothness: Option<f64>,
    pub(crate) costs: Option<Vec<f64>>,
    pub(crate) pl_constant: Option<f64>,
    pub(crate) step_size: Option<StepSize>,
    pub(crate) budget: Option<u64>,
    pub(crate) target_gap: Option<f64>,
    pub(crate) gradient_tolerance: Option<f64>,
    pub(crate) divergence_limit: f64,
    pub(crate) seed: u64,
    pub(crate) storage: Storage,
}

impl Settings {
    /// Starts at a point, with that many users.
    pub fn new(start: Vec<f64>, users: usize) -> Self {
        Self {
            start,
            users,
            smoothness: None,
            objective_smoothness: None,
            costs: None,
            pl_constant: None,
            step_size: None,
            budget: None,
            target_gap: None,
            gradient_tolerance: None,
            divergence_limit: 1e9,
            seed: 0,
            storage: Storage::default(),
        }
    }

    /// Starts at a point, and takes the number of users, each `L_i` and `μ` from a problem.
    pub fn for_problem(start: Vec<f64>, problem: &dyn Problem) -> Self {
        Self {
            smoothness: problem.smoothness().map(<[f64]>::to_vec),
            objective_smoothness: problem.objective_smoothness(),
            pl_constant: problem.pl_constant(),
            ..Self::new(start, problem.users())
        }
    }

    /// Each user's smoothness constant `L_i`. Methods that score users need them.
    pub fn smoothness(mut self, each: Vec<f64>) -> Self {
        self.smoothness = Some(each);
        self
    }

    /// The smoothness of `f` itself, at most the mean `L_i`: choices that are told to be sharp use it in that one's place.
    pub fn objective_smoothness(mut self, smoothness: f64) -> Self {
        self.objective_smoothness = Some(smoothness);
        self
    }

    /// What a query costs, user by user; 1 for everybody where nobody says. Choices that weigh costs look at it, and the meter
    /// adds it up.
    pub fn costs(mut self, costs: Vec<f64>) -> Self {
        self.costs = Some(costs);
        self
    }

    /// The Polyak-Łojasiewicz constant `μ`: only the step size from theory asks for it.
    pub fn pl_constant(mut self, pl_constant: f64) -> Self {
        self.pl_constant = Some(pl_constant);
        self
    }

    /// The step size: a number, or any other [`StepSize`] rule.
    pub fn step_size(mut self, rule: impl Into<StepSize>) -> Self {
        self.step_size = Some(rule.into());
        self
    }

    /// Stops after that many queries. Without a budget the session asks until another condition stops it.
    pub fn budget(mut self, queries: u64) -> Self {
        self.budget = Some(queries);
        self
    }

    /// Stops once `f(x) − inf f` is at most this. Needs a problem that knows its optimum.
    pub fn target_gap(mut self, gap: f64) -> Self {
        self.target_gap = Some(gap);
        self
    }

    /// Stops once the surrogate gradient `‖ḡ‖` is at most this. Needs a method that keeps the last gradients.
    ///
    /// The gradients behind `ḡ` are old ones, so this is a sign of convergence and not a proof of it.
    pub fn gradient_tolerance(mut self, norm: f64) -> Self {
        self.gradient_tolerance = Some(norm);
        self
    }

    /// Stops as diverged once a coordinate of the point exceeds this many times the largest of the start (or 1, if that
    /// is larger). By default 10⁹.
    pub fn divergence_limit(mut self, factor: f64) -> Self {
        self.divergence_limit = factor;
        self
    }

    /// The seed of all randomness: the same seed asks the same users.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// How the table of last gradients is kept: a [`Format`](crate::Format), or a whole [`Storage`]. By default in f64.
    pub fn storage(mut self, storage: impl Into<Storage>) -> Self {
        self.storage = storage.into();
        self
    }
}

/// The users' smoothness constants, checked: one for each, finite, none negative, not all zero.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Smoothness {
    each: Vec<f64>,
    mean: f64,
    max: f64,
    objective: Option<f64>,
}

impl Smoothness {
    /// Checks the constants of that many users.
    pub fn new(each: Vec<f64>, users: usize) -> Result<Self, SettingsError> {
        if each.len() != users {
            return Err(SettingsError::SmoothnessLength { users, found: each.len() });
        }
        for (user, &value) in each.iter().enumerate() {
            if !(value >= 0.0 && value.is_finite()) {
                return Err(SettingsError::Smoothness { user, value });
            }
        }
        let mean = each.iter().sum::<f64>() / users as f64;
        let max = each.iter().copied().fold(0.0, f64::max);
        if max == 0.0 || mean.is_infinite() {
            let user = each.iter().position(|value| *value == max).unwrap_or(0);
            return Err(SettingsError::Smoothness { user, value: max });
        }
        Ok(Self { each, mean, max, objective: None })
    }

    /// Adds what is known of `f` itself; it must be positive, and is at most the mean.
    pub fn with_objective(mut self, objective: Option<f64>) -> Result<Self, SettingsError> {
        if let Some(value) = objective.filter(|value| !(*value > 0.0 && *value <= self.mean * (1.0 + 1e-9))) {
            return Err(SettingsError::ObjectiveSmoothness { value, mean: self.mean });
        }
        self.objective = objective;
        Ok(self)
    }

    /// The smoothness of `f` itself, where it is known.
    pub fn objective(&self) -> Option<f64> {
        self.objective
    }

    /// `L_i` of every user.
    pub fn each(&self) -> &[f64] {
        &self.each
    }

    /// `L = (1/n) Σ L_i`.
    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// `L_max = max_i L_i`.
    pub fn max(&self) -> f64 {
        self.max
    }
}

/// Why a session was refused, before anybody was asked anything.
#[derive(Clone, Debug, PartialEq, Error)]
#[allow(missing_docs)] // the message says what each field is
#[non_exhaustive]
pub enum SettingsError {
    #[error(
        "the choice {choice:?} and the update {update:?} do not fit: informative goes with to-minimiser, and that with informative, uniform, shuffled or cyclic"
    )]
    DoNotFit { choice: &'static str, update: &'static str },
    #[error("there are no users: at least one is needed")]
    NoUsers,
    #[error("{users} users with {dim} parameters each are more than this machine can address")]
    TooLarge { users: usize, dim: usize },
    #[error("the starting point has no coordinates: give it one number for each parameter")]
    EmptyStart,
    #[error("coordinate {coordinate} of the starting point is {value}: it must be finite")]
    Start { coordinate: usize, value: f64 },
    #[error("{found} smoothness constants were given for {users} users: give one L_i for each")]
    SmoothnessLength { users: usize, found: usize },
    #[error(
        "the smoothness constant of user {user} is {value}: it must not be negative, not every one may be 0, and their sum must be finite"
    )]
    Smoothness { user: usize, value: f64 },
    #[error("the smoothness of f is given as {value}: it must be positive, and cannot exceed the mean L_i, {mean}")]
    ObjectiveSmoothness { value: f64, mean: f64 },
    #[error("{found} costs were given for {users} users: give one for each")]
    CostsLength { users: usize, found: usize },
    #[error("a query to user {user} costs {value}: it must be positive and finite")]
    Cost { user: usize, value: f64 },
    #[error("{method} goes by users' smoothness: give the settings each L_i, or have them learned")]
    NeedsSmoothness { method: String },
    #[error(
        "{method} corrects its steps by everybody's last gradient, and cannot begin before all were asked: take another update, \
         such as sgd, or a table that is not lazy"
    )]
    NeedsEverybody { method: String },
    #[error("no step size was set: give a number, a rule, or the theory's")]
    NoStepSize,
    #[error("the step size is {0}: it must be positive and finite")]
    StepSize(f64),
    #[error("the decay rate of the step size is {0}: it must be finite and not negative")]
    DecayRate(f64),
    #[error("a piecewise step size needs pieces in rising order, of which the first starts at step 0")]
    Pieces,
    #[error("no theorem bounds the step size of {method}: give a number")]
    NoTheorem { method: String },
    #[error("{theorem} needs {missing} for its step size: give it, or a step size of your own")]
    TheoryNeeds { theorem: Theorem, missing: &'static str },
    #[error("{theorem} allows no step at all here (its cap is {cap}): give a step size of your own")]
    NoStepAllowed { theorem: Theorem, cap: f64 },
    #[error(
        "the Polyak-Łojasiewicz constant is {value}: it must be positive, and cannot exceed the mean smoothness, {smoothness}"
    )]
    PlConstant { value: f64, smoothness: f64 },
    #[error("the exploration probability p is {0}: it must lie in [0, 1]")]
    Exploration(f64),
    #[error("the bonus weight is {0}: it must be finite and not negative")]
    BonusWeight(f64),
    #[error("the mixture is {0}: it must lie in (0, 1]")]
    Mixture(f64),
    #[error(
        "{candidates} candidates are to be polled among {users} users: poll at least 1, and not more than there are"
    )]
    Candidates { candidates: usize, users: usize },
    #[error("the probability of a snapshot is {0}: it must lie in (0, 1]")]
    SnapshotProbability(f64),
    #[error("the momentum τ₁ is {0}: it must lie in (0, ½]")]
    Momentum(f64),
    #[error("position {position} of the fixed sequence is user {user}, but there are only {users}: users count from 0")]
    SequenceUser { position: usize, user: usize, users: usize },
    #[error("with 0 inner steps between full gradients the method would never step: give at least 1")]
    NoInnerSteps,
    #[error(
        "{method} looks at every user's gradient before it asks for one, and this session has no oracle: \
         simulate it against a problem, or take a method that works with answers alone, such as sgq"
    )]
    NeedsOracle { method: String },
    #[error(
        "{method} looks at users' losses, and this session sees none: simulate it against a problem, or take a method that \
         works with gradients alone"
    )]
    NeedsLosses { method: String },
    #[error(
        "{method} wants each user's Hessian with its gradient, and this session has none: simulate it against a problem \
         that knows them"
    )]
    NeedsHessians { method: String },
    #[error("a target gap needs a problem whose optimum is known: stop by budget or by gradient norm instead")]
    NeedsOptimum,
    #[error("{method} keeps no gradients, so there is no surrogate gradient to stop by: use another stop")]
    NeedsSurrogate { method: String },
    #[error("the {name} is {value}: it must be positive and finite")]
    Stop { name: &'static str, value: f64 },
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// For parts of one's own, in their own words.
    #[error("{0}")]
    Other(String),
    #[error(
        "user {user} holds {rows} rows, and a linear model with one number a user needs one: take a session instead"
    )]
    RowsPerUser { user: usize, rows: usize },
    #[error("the problem has {expected} {what}, the settings {found}")]
    Mismatch { what: &'static str, expected: usize, found: usize },
}
