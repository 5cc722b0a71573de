//! What a session is told once, before it starts.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::{
    Detail, Need, Problem, SettingError, Smoothness, SmoothnessError, StepSize, StepSizeError, Storage,
    session::{Uncertified, weights::Weights},
    storage::StorageError,
};

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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
#[allow(missing_docs)] // each is documented on the call that sets it
pub struct Settings {
    pub start: Vec<f64>,
    pub users: usize,
    pub smoothness: Option<Vec<f64>>,
    pub objective_smoothness: Option<f64>,
    pub costs: Option<Vec<f64>>,
    pub weights: Option<Vec<f64>>,
    pub pl_constant: Option<f64>,
    pub local_smoothness: bool,
    pub step_size: StepSize,
    pub budget: Option<u64>,
    pub cost_budget: Option<f64>,
    pub numbers_budget: Option<u64>,
    pub tolerance: Option<f64>,
    pub certified_gap: Option<f64>,
    pub target_gap: Option<f64>,
    pub gradient_tolerance: Option<f64>,
    pub divergence_limit: f64,
    pub seed: u64,
    pub storage: Storage,
    pub open: usize,
    pub answers: Detail,
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
            weights: None,
            pl_constant: None,
            local_smoothness: false,
            step_size: StepSize::Auto,
            budget: None,
            cost_budget: None,
            numbers_budget: None,
            tolerance: None,
            certified_gap: None,
            target_gap: None,
            gradient_tolerance: None,
            divergence_limit: 1e9,
            seed: 0,
            storage: Storage::default(),
            open: 1,
            answers: Detail::Gradient,
        }
    }

    /// Starts at a point, and takes the number of users, each `L_i` and `μ` from a problem.
    pub fn for_problem(start: Vec<f64>, problem: &dyn Problem) -> Self {
        Self {
            smoothness: problem.smoothness().map(<[f64]>::to_vec),
            objective_smoothness: problem.objective_smoothness(),
            pl_constant: problem.pl_constant(),
            local_smoothness: !problem.is_smooth_everywhere(),
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

    /// What each user counts: the objective is `Σ w_i f_i`, up to a factor, and not the mean of all `f_i`. Answers and `L_i` are
    /// those of `f_i` all the same. For users somewhere else: a problem in sight has an objective of its own.
    ///
    /// ```
    /// # use sgq::{Session, Settings, method};
    /// // (x − b)² for b = 0 and 4, the second with three times as many rows: the optimum is 3 and not 2.
    /// let settings = Settings::new(vec![0.0], 2).smoothness(vec![2.0; 2]).weights(vec![10.0, 30.0]).budget(40);
    /// let mut session = Session::new(method::frugal(), settings)?;
    /// while let Some(query) = session.ask()? {
    ///     session.tell(query.ticket, &[2.0 * (query.point[0] - [0.0, 4.0][query.user])])?;
    /// }
    /// assert!((session.point()[0] - 3.0).abs() < 1e-6);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn weights(mut self, weights: Vec<f64>) -> Self {
        self.weights = Some(weights);
        self
    }

    /// The Polyak-Łojasiewicz constant `μ`, such as that of strong convexity: the step size from theory asks for it, and what is
    /// [certified](crate::Session::certified).
    pub fn pl_constant(mut self, pl_constant: f64) -> Self {
        self.pl_constant = Some(pl_constant);
        self
    }

    /// Says that the `L_i` do not hold everywhere, so that nothing can be [certified](crate::Session::certified) by them.
    pub fn local_smoothness(mut self, local: bool) -> Self {
        self.local_smoothness = local;
        self
    }

    /// The step size: a number, or any other [`StepSize`] rule. By default the method's own, [`StepSize::Auto`].
    pub fn step_size(mut self, rule: impl Into<StepSize>) -> Self {
        self.step_size = rule.into();
        self
    }

    /// Stops after that many queries. Without a budget the session asks until another condition stops it.
    pub fn budget(mut self, queries: u64) -> Self {
        self.budget = Some(queries);
        self
    }

    /// Stops before all queries together cost more than this. Who costs more than what is left is not asked.
    pub fn cost_budget(mut self, cost: f64) -> Self {
        self.cost_budget = Some(cost);
        self
    }

    /// Stops before all answers together hold more numbers than this.
    pub fn numbers_budget(mut self, numbers: u64) -> Self {
        self.numbers_budget = Some(numbers);
        self
    }

    /// Stops once what [remains](crate::Session::remaining) is believed to be at most this part of the gap at the start: 10⁻⁴, say.
    /// Needs a method that can tell, such as `frugal`. A belief and not a proof.
    ///
    /// ```
    /// # use sgq::{Session, Settings, StopReason, method};
    /// let settings = Settings::new(vec![5.0], 4).smoothness(vec![2.0; 4]).budget(100).tolerance(1e-4);
    /// let mut session = Session::new(method::frugal(), settings)?;
    /// while let Some(query) = session.ask()? {
    ///     session.tell(query.ticket, &[2.0 * (query.point[0] - [2.0, 1.0, -1.0, -2.0][query.user])])?;
    /// }
    /// assert!(matches!(session.stop_reason(), Some(StopReason::Converged { .. })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn tolerance(mut self, part: f64) -> Self {
        self.tolerance = Some(part);
        self
    }

    /// Stops once `f(x) − inf f` is [proven](crate::Session::certified) to be at most this, in the objective's own units. Needs the
    /// `L_i`, `μ`, and a method that keeps everybody's answer.
    ///
    /// ```
    /// # use sgq::{Session, Settings, StopReason, method};
    /// let settings = Settings::new(vec![5.0], 4).smoothness(vec![2.0; 4]).pl_constant(2.0).budget(100).certified_gap(1e-6);
    /// let mut session = Session::new(method::frugal(), settings)?;
    /// while let Some(query) = session.ask()? {
    ///     session.tell(query.ticket, &[2.0 * (query.point[0] - [2.0, 1.0, -1.0, -2.0][query.user])])?;
    /// }
    /// assert!(matches!(session.stop_reason(), Some(StopReason::Certified { gap }) if gap <= 1e-6));
    /// assert!(session.point()[0].powi(2) <= 1e-6); // the optimum is 0
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn certified_gap(mut self, gap: f64) -> Self {
        self.certified_gap = Some(gap);
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

    /// How many questions may be out at once; by default 1. Answers may then come in any order, and each is used as what it is:
    /// a gradient at the point where it was asked for.
    pub fn open(mut self, questions: usize) -> Self {
        self.open = questions;
        self
    }

    /// How much users are asked to say, at most; by default a gradient. A [query](crate::Query) says what of that would be of use.
    pub fn answers(mut self, most: Detail) -> Self {
        self.answers = most;
        self
    }

    /// The users' smoothness, checked, each in proportion to what its user counts; `None` where it is not known.
    pub(crate) fn known_smoothness(&self) -> Result<Option<Smoothness>, SettingsError> {
        let Some(each) = &self.smoothness else {
            return Ok(None);
        };
        let weights = Weights::new(self.weights.as_deref(), self.users)?;
        let weighed = each.iter().enumerate().map(|(user, each)| each * weights.of(user)).collect();
        // What is known of f holds for the plain mean.
        let objective = self.objective_smoothness.filter(|_| self.weights.is_none());
        Ok(Some(Smoothness::new(weighed, self.users)?.with_objective(objective)?))
    }
}

/// Why a session was refused, before anybody was asked anything.
#[derive(Clone, Debug, PartialEq, Error)]
#[allow(missing_docs)] // the message says what each field is
#[non_exhaustive]
pub enum SettingsError {
    #[error("there are no users: at least one is needed")]
    NoUsers,
    #[error("{users} users with {dim} parameters each are more than this machine can address")]
    TooLarge { users: usize, dim: usize },
    #[error("the starting point has no coordinates: give it one number for each parameter")]
    EmptyStart,
    #[error("coordinate {coordinate} of the starting point is {value}: it must be finite")]
    Start { coordinate: usize, value: f64 },
    #[error("0 questions may be open: at least one must be")]
    NoneOpen,
    #[error("{found} weights were given for {users} users: give one for each")]
    WeightsLength { users: usize, found: usize },
    #[error("user {user} has the weight {value}: it must be positive and finite")]
    Weight { user: usize, value: f64 },
    #[error(
        "the problem in sight has an objective of its own, in which weights do not count: put them into the problem"
    )]
    WeightsOfProblem,
    #[error("{found} costs were given for {users} users: give one for each")]
    CostsLength { users: usize, found: usize },
    #[error("a query to user {user} costs {value}: it must be positive and finite")]
    Cost { user: usize, value: f64 },
    #[error("the {name} is {value}: it must be positive and finite")]
    Stop { name: &'static str, value: f64 },
    #[error("the tolerance is {value}: it is a part of the gap at the start, and must be below 1, such as 0.0001")]
    Tolerance { value: f64 },
    #[error("a target gap needs a problem whose optimum is known: stop by budget or by gradient norm instead")]
    NeedsOptimum,
    #[error("a certified gap cannot stop this run: {0}")]
    Uncertified(Uncertified),
    #[error("the problem has {expected} {what}, the settings {found}")]
    Mismatch { what: &'static str, expected: usize, found: usize },
    /// The method needs something that this session does not have.
    #[error("{method} {need}")]
    Unmet { method: String, need: Need },
    #[error(transparent)]
    Setting(#[from] SettingError),
    #[error(transparent)]
    Smoothness(#[from] SmoothnessError),
    #[error(transparent)]
    StepSize(#[from] StepSizeError),
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// For parts of one's own, in their own words.
    #[error("{0}")]
    Other(String),
}
