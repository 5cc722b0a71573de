//! What to run: problems, methods, and how often.

mod data;
mod file;
mod section;
mod users;

use std::{path::PathBuf, sync::Arc};

use sgq::{
    Detail, Method, Problem, Session, Settings, SettingsError, Sight, StepSize, StepSizeError,
    drive::{Behaviour, BehaviourError, Clock, Slowness},
    random::derive_seed,
    setting::Value,
};
use sgq_data::first_few;

use crate::renumbered::Renumbered;

pub use section::{FileError, suggestion};

/// The most queries a trial may have: enough for any curve that can be looked at.
pub const MAX_BUDGET: u64 = 10_000_000;
/// The most trials an experiment may have.
pub const MAX_TRIALS: u64 = 1_000_000;
/// The most questions that may be out at once.
pub const MAX_OPEN: u64 = 1_000_000;

/// The step-size rules: how each is written in a file, and what it does.
pub const STEP_SIZES: &[(&str, &str)] = &[
    ("0.015", "the same at every step"),
    ("{ initial = 0.1, rate = 0.01 }", "initial / (1 + rate·t) after t steps"),
    ("{ initial = 0.1, rate = 0.01, root = true }", "initial / √(1 + rate·t) after t steps: a slower decay"),
    ("{ size = 0.1, warm_up = 60 }", "size · min(1, (t + 1) / warm_up) after t steps: rises at first"),
    ("{ size = 0.1, warm_up = 60, fall = 1 }", "the same, and then size · (warm_up / (t + 1))^fall"),
    ("{ pieces = [[0, 0.1], [100, 0.01]] }", "from step 0 on 0.1, from step 100 on 0.01"),
    ("\"auto\"", "the method's own default, a constant step that follows from each L_i"),
    ("\"theory\"", "the largest step that the method's theorem allows (sgd, ogq, sgq, saga)"),
];

/// The paper's experiments: what each is called here, its file, and the text of it. The texts are inside this crate too, as a
/// package has nothing from outside; a test of the command line compares them.
pub const PAPER: &[(&str, &str, &str)] = &[
    ("fig1", "experiments/paper-fig1.toml", include_str!("../experiments/paper-fig1.toml")),
    ("fig2", "experiments/paper-fig2.toml", include_str!("../experiments/paper-fig2.toml")),
];

/// Methods to compare on problems.
pub struct Experiment {
    /// A short name, for folders and files.
    pub name: String,
    /// What stands above the figure.
    pub title: String,
    /// Independent repetitions of each method on each problem.
    pub trials: u64,
    /// Queries in each trial.
    pub budget: u64,
    /// The seed of all randomness.
    pub seed: u64,
    /// Gaps whose first crossing is reported, largest first.
    pub targets: Vec<f64>,
    /// Fixes the vertical axis of the figures.
    pub gap_axis: Option<(f64, f64)>,
    /// Whether gaps are parts of the gap at the start.
    pub relative: bool,
    /// How settings are searched for, if they are.
    pub tuning: Option<Tuning>,
    /// How users behave; where nobody says, answers come in the order in which they were asked for.
    pub users: Option<Behaviour>,
    /// The problems.
    pub problems: Vec<NamedProblem>,
    /// The methods.
    pub methods: Vec<NamedMethod>,
}

/// How every method's settings are searched for: on trials of their own, from a grid of steps that is refined where it is
/// good and goes on where its best is at an end.
#[derive(Clone, Debug, PartialEq)]
pub struct Tuning {
    /// Trials to pick settings on; what they are worth is then measured on others.
    pub trials: u64,
    /// The smallest step of the first grid, as a power of two over f's own smoothness.
    pub from: i32,
    /// The largest one.
    pub to: i32,
    /// How fast steps decay in the first grid, as powers of two over the number of users; a constant step is always tried.
    pub rates: Vec<i32>,
}

impl Tuning {
    /// Trials to pick settings on, where nobody says.
    pub const TRIALS: u64 = 40;
    /// The first grid's ends, where nobody says.
    pub const POWERS: (i32, i32) = (-8, 3);
    /// The first grid's decays: after n steps, a step is 1/(1 + 2^rate) of the first, or the root of that.
    pub const RATES: [i32; 4] = [-2, 0, 2, 4];
}

impl Default for Tuning {
    fn default() -> Self {
        Self { trials: Self::TRIALS, from: Self::POWERS.0, to: Self::POWERS.1, rates: Self::RATES.to_vec() }
    }
}

/// A problem of an experiment, with the point where every method starts.
#[derive(Clone)]
pub struct NamedProblem {
    /// Its name, unique in the experiment.
    pub name: String,
    /// Where every method starts.
    pub start: Vec<f64>,
    /// The problem itself.
    pub problem: Arc<dyn Problem + Send>,
    /// What kind of problem its data make, in lines for a reader.
    pub card: Option<String>,
    /// What a query costs, user by user; 1 for everybody where nobody says.
    pub costs: Option<Vec<f64>>,
    /// What each user's latencies are multiplied by, where the problem says.
    pub slowness: Option<Vec<f64>>,
    /// The files that its data were read from.
    pub files: Vec<PathBuf>,
}

/// A method of an experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedMethod {
    /// Its name, unique in the experiment.
    pub name: String,
    /// Its parts and their settings.
    pub method: Method,
    /// Its step size.
    pub step_size: StepSize,
    /// Other values of its settings that a search tries.
    pub tuned: Vec<TunedSetting>,
    /// How many questions are out at once.
    pub open: usize,
    /// How much users are asked to say.
    pub answers: Detail,
    /// How users behave to this method, where it is not as the experiment says.
    pub users: Option<Behaviour>,
}

/// A setting, and the values that a search tries besides the one that it has.
#[derive(Clone, Debug, PartialEq)]
pub struct TunedSetting {
    /// Its name.
    pub name: &'static str,
    /// The values.
    pub values: Vec<TunedValue>,
}

/// A value of a setting.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TunedValue {
    /// The same on every problem.
    Fixed(Value),
    /// A count in proportion to the users, at least 1.
    PartOfUsers(f64),
}

impl TunedValue {
    /// What it is with so many users.
    pub fn with_users(self, users: usize) -> Value {
        match self {
            Self::Fixed(value) => value,
            Self::PartOfUsers(part) => Value::Count((part * users as f64).round().max(1.0) as u64),
        }
    }
}

impl NamedMethod {
    /// Whether it sees more than any real run could.
    pub fn is_oracle(&self) -> bool {
        self.method.needs_oracle_beyond(self.answers)
    }

    /// What it sees without paying for it, in words.
    pub fn sees_more(&self) -> Option<&'static str> {
        self.method.sees_more_than(self.answers)
    }

    /// The largest step that it ever takes, given its first.
    pub fn largest_step(&self, first: f64) -> f64 {
        match &self.step_size {
            StepSize::Piecewise(pieces) => pieces.iter().fold(0.0, |largest: f64, (_, size)| largest.max(*size)),
            StepSize::WarmUp { size, .. } => *size,
            _ => first,
        }
    }
}

/// The first step of a rule that a benchmark sets.
pub(crate) fn first_step(rule: &StepSize) -> f64 {
    match *rule {
        StepSize::Constant(initial) | StepSize::Decay { initial, .. } | StepSize::RootDecay { initial, .. } => initial,
        StepSize::WarmUp { size, steps, .. } => size / steps as f64,
        _ => f64::NAN,
    }
}

impl Experiment {
    /// Reads an experiment from the text of a file; `file` is only for messages.
    pub fn from_toml(file: &str, text: &str) -> Result<Self, FileError> {
        file::read(file, text, &[])
    }

    /// The same with only some of its problems: the data of the others need not be there.
    pub fn with_problems(file: &str, text: &str, only: &[String]) -> Result<Self, FileError> {
        file::read(file, text, only)
    }

    /// Keeps only these of its methods, or all where there are none; a name that is not there is refused in words.
    pub fn keep_methods(&mut self, wanted: &[String]) -> Result<(), String> {
        if wanted.is_empty() {
            return Ok(());
        }
        let is = |method: &NamedMethod, name: &String| method.name.eq_ignore_ascii_case(name);
        if let Some(unknown) = wanted.iter().find(|name| !self.methods.iter().any(|method| is(method, name))) {
            let names: Vec<&str> = self.methods.iter().map(|method| &*method.name).collect();
            return Err(format!("the experiment has no method {unknown:?}; there are: {}", first_few(&names)));
        }
        self.methods.retain(|method| wanted.iter().any(|name| is(method, name)));
        Ok(())
    }

    /// Whether time, cost and numbers are measured: where users behave in some way, or say more than gradients.
    pub fn measures_spending(&self) -> bool {
        self.says_how_users_behave() || self.methods.iter().any(|method| method.answers > Detail::Gradient)
    }

    /// Whether users behave in some way.
    pub(crate) fn says_how_users_behave(&self) -> bool {
        self.users.is_some() || self.methods.iter().any(|method| method.users.is_some())
    }

    /// The clock of one trial of one method on one problem.
    pub fn clock(&self, problem: &NamedProblem, method: &NamedMethod, trial: u64) -> Result<Clock, BehaviourError> {
        let Some(users) = method.users.as_ref().or(self.users.as_ref()) else {
            return Ok(Clock::default());
        };
        let slowness = problem.slowness.clone().map_or_else(|| users.slowness.clone(), Slowness::Each);
        let behaviour = Behaviour { slowness, ..users.clone() };
        Clock::new(behaviour, problem.problem.users(), derive_seed(self.seed, &problem.name, trial))
    }

    /// The title of what concerns one problem: its name is only needed where there are several.
    pub fn title_on(&self, problem: &str) -> String {
        match self.problems.len() {
            1 => self.title.clone(),
            _ => format!("{}: {problem}", self.title),
        }
    }

    /// The largest step that a theorem allows this method on this problem, where there is a theorem.
    pub fn step_cap(&self, problem: &NamedProblem, method: &NamedMethod) -> Option<f64> {
        let by_theory = NamedMethod { step_size: StepSize::Theory, ..method.clone() };
        match open(problem, &by_theory, self.budget, self.seed) {
            Ok(session) => Some(session.step_size()),
            Err(SettingsError::StepSize(StepSizeError::NoStepAllowed { cap, .. })) => Some(cap),
            Err(_) => None,
        }
    }

    /// Opens a session of one trial of one method on one problem.
    pub fn open<'p>(
        &self,
        problem: &'p NamedProblem,
        method: &NamedMethod,
        trial: u64,
    ) -> Result<Session<'p>, SettingsError> {
        open(problem, method, self.budget, derive_seed(self.seed, &problem.name, trial))
    }

    /// The same with users numbered anew, as the trial decides; and the problem as they are numbered now.
    pub(crate) fn open_renumbered(
        &self,
        problem: &NamedProblem,
        method: &NamedMethod,
        trial: u64,
    ) -> Result<(Session<'static>, NamedProblem), SettingsError> {
        let seed = derive_seed(self.seed, &problem.name, trial);
        let renumbered = Renumbered::new(&problem.problem, seed);
        let renumber = |each: &Vec<f64>| renumbered.renumber(each);
        let (costs, slowness) = (problem.costs.as_ref().map(renumber), problem.slowness.as_ref().map(renumber));
        let problem = NamedProblem { problem: Arc::new(renumbered), costs, slowness, ..problem.clone() };
        let sight = Sight::Shared(Arc::clone(&problem.problem));
        let session = open_seeing(sight, &problem, method, self.budget, seed)?;
        Ok((session, problem))
    }
}

fn open<'p>(
    problem: &'p NamedProblem,
    method: &NamedMethod,
    budget: u64,
    seed: u64,
) -> Result<Session<'p>, SettingsError> {
    open_seeing(Sight::Problem(&*problem.problem), problem, method, budget, seed)
}

fn open_seeing<'p>(
    sight: Sight<'p>,
    problem: &NamedProblem,
    method: &NamedMethod,
    budget: u64,
    seed: u64,
) -> Result<Session<'p>, SettingsError> {
    let mut settings = Settings::for_problem(problem.start.clone(), &*problem.problem)
        .step_size(method.step_size.clone())
        .budget(budget)
        .open(method.open)
        .answers(method.answers)
        .seed(seed);
    if let Some(costs) = &problem.costs {
        settings = settings.costs(costs.clone());
    }
    Session::with_sight(method.method.clone(), settings, sight)
}
