//! What to run: problems, methods, and how often.

mod file;
mod section;

use sgq::{AskTell, Problem, Settings, SettingsError, Sight, StepSize, catalog::Recipe, random::derive_seed};

pub use section::{FileError, suggestion};

/// The most queries a trial may have: enough for any curve that can be looked at.
pub const MAX_BUDGET: u64 = 10_000_000;
/// The most trials an experiment may have.
pub const MAX_TRIALS: u64 = 1_000_000;

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
    /// The problems.
    pub problems: Vec<NamedProblem>,
    /// The methods.
    pub methods: Vec<NamedMethod>,
}

/// A problem of an experiment, with the point where every method starts.
pub struct NamedProblem {
    /// Its name, unique in the experiment.
    pub name: String,
    /// Where every method starts.
    pub start: Vec<f64>,
    /// The problem itself.
    pub problem: Box<dyn Problem + Send + Sync>,
}

/// A method of an experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedMethod {
    /// Its name, unique in the experiment.
    pub name: String,
    /// Its parts.
    pub recipe: Recipe,
    /// Its step size.
    pub step_size: StepSize,
}

impl NamedMethod {
    /// The largest step that it ever takes, given its first.
    pub fn largest_step(&self, first: f64) -> f64 {
        match &self.step_size {
            StepSize::Piecewise(pieces) => pieces.iter().fold(0.0, |largest: f64, (_, size)| largest.max(*size)),
            _ => first,
        }
    }
}

impl Experiment {
    /// Reads an experiment from the text of a file; `file` is only for messages.
    pub fn from_toml(file: &str, text: &str) -> Result<Self, FileError> {
        file::read(file, text)
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
            Err(SettingsError::NoStepAllowed { cap, .. }) => Some(cap),
            Err(_) => None,
        }
    }

    /// Opens a session of one trial of one method on one problem.
    pub fn open<'p>(
        &self,
        problem: &'p NamedProblem,
        method: &NamedMethod,
        trial: u64,
    ) -> Result<Box<dyn AskTell + 'p>, SettingsError> {
        open(problem, method, self.budget, derive_seed(self.seed, &problem.name, trial))
    }
}

fn open<'p>(
    problem: &'p NamedProblem,
    method: &NamedMethod,
    budget: u64,
    seed: u64,
) -> Result<Box<dyn AskTell + 'p>, SettingsError> {
    let settings = Settings::for_problem(problem.start.clone(), &*problem.problem)
        .step_size(method.step_size.clone())
        .budget(budget)
        .seed(seed);
    method.recipe.open(&method.name, settings, Sight::Problem(&*problem.problem))
}
