//! Methods on many random problems, without tuning, against a competitor whose settings are tuned on trials of their own.

mod measured;
mod output;
mod summary;

use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;
use sgq::{Detail, Method, StepSize, method::METHODS, setting::Value};
use thiserror::Error;

use crate::{
    benchmark::{Key, Store, Tuned},
    experiment::{MAX_TRIALS, NamedMethod, suggestion},
    fingerprint::Fingerprint,
    output::OutputError,
    random_problem::{GENERATOR, Limits, RandomProblem, RandomProblemError, random_problem},
    run::TrialError,
};

pub use measured::{AtTarget, Measured};
pub use output::{FILES, Report, tables, write};
pub use summary::{MethodSummary, TargetSummary, Worst};

/// Problems that are made at the same time: few enough to be in memory, and the same on every machine.
const BLOCK: u64 = 8;
/// Every trial has at least and at most so many queries, however few or many users there are.
const BUDGETS: (f64, f64) = (60.0, 600.0);
/// The most random problems to measure on.
pub const MAX_PROBLEMS: u64 = 100_000;

/// What to measure.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// How many problems.
    pub problems: u64,
    /// Decides what the problems are, and all randomness on them.
    pub seed: u64,
    /// The largest problems.
    pub limits: Limits,
    /// The methods, by their names in the catalogue; each has its default step size.
    pub methods: Vec<String>,
    /// Whether the methods are told no `L_i`, and learn them.
    pub learned: bool,
    /// The competitor, by its name, with the settings that are best for each target on the tuning trials.
    pub against: String,
    /// Independent repetitions on each problem.
    pub trials: u64,
    /// Trials to pick the competitor's settings on.
    pub tuning_trials: u64,
    /// Queries in each trial for each user, before they are limited to 60 … 600 in all.
    pub budget_per_user: f64,
    /// Relative gaps to reach, each below 1, largest first.
    pub targets: Vec<f64>,
}

impl Options {
    /// Finds out what is wrong before anything is computed.
    pub fn check(&self) -> Result<(), RandomBenchError> {
        let counts = [
            ("problems", self.problems, MAX_PROBLEMS),
            ("trials", self.trials, MAX_TRIALS),
            ("tuning trials", self.tuning_trials, MAX_TRIALS),
        ];
        for (what, found, most) in counts {
            if !(1..=most).contains(&found) {
                return Err(RandomBenchError::Count { what, found, most });
            }
        }
        if !(self.budget_per_user > 0.0 && self.budget_per_user.is_finite()) {
            return Err(RandomBenchError::Budget(self.budget_per_user));
        }
        if self.methods.is_empty() {
            return Err(RandomBenchError::NoMethods);
        }
        for (place, method) in self.methods.iter().enumerate() {
            self.method(method)?;
            if self.methods[..place].contains(method) {
                return Err(RandomBenchError::Twice { what: "method", name: method.clone() });
            }
        }
        built_in(&self.against)?;
        if self.targets.is_empty() {
            return Err(RandomBenchError::NoTargets);
        }
        if let Some(wrong) = self.targets.iter().find(|target| !(**target > 0.0 && **target < 1.0)) {
            return Err(RandomBenchError::Target(*wrong));
        }
        match self.targets.windows(2).find(|pair| pair[0] <= pair[1]) {
            Some(pair) if pair[0] == pair[1] => {
                Err(RandomBenchError::Twice { what: "target", name: pair[0].to_string() })
            }
            Some(pair) => Err(RandomBenchError::TargetOrder { first: pair[0], second: pair[1] }),
            None => Ok(()),
        }
    }

    /// Methods on problems, the competitor included.
    pub fn cells(&self) -> u64 {
        self.problems * (self.methods.len() as u64 + 1)
    }

    /// Queries in each trial with so many users.
    fn budget(&self, users: usize) -> u64 {
        (self.budget_per_user * users as f64).round().clamp(BUDGETS.0, BUDGETS.1) as u64
    }

    /// The competitor, tuned, and then every method with its default.
    fn contestants(&self) -> Result<Vec<Contestant>, RandomBenchError> {
        let contestant = |name: String, method: Method, tuning| {
            // The step is set for each trial.
            let step_size = StepSize::Constant(1.0);
            let tuned = Vec::new();
            Contestant {
                method: NamedMethod {
                    method: method.named(&*name),
                    name,
                    step_size,
                    tuned,
                    open: 1,
                    answers: Detail::Gradient,
                    users: None,
                },
                tuning,
            }
        };
        let mut all = vec![contestant(self.against.clone(), built_in(&self.against)?, Tuned::Tuned)];
        for name in &self.methods {
            all.push(contestant(self.label(name), self.method(name)?, Tuned::Untuned));
        }
        Ok(all)
    }

    /// What a method is called in what is written.
    fn label(&self, name: &str) -> String {
        if self.learned { format!("{name}-learned") } else { name.to_owned() }
    }

    /// A method as it is to be measured.
    fn method(&self, name: &str) -> Result<Method, RandomBenchError> {
        let mut method = built_in(name)?;
        if self.learned {
            let learns_nothing = || RandomBenchError::LearnsNothing { name: name.to_owned() };
            // A default step size would come from the L_i that are not to be told.
            if method.has_step_size() {
                return Err(learns_nothing());
            }
            method.set("learned", Value::Switch(true)).map_err(|_| learns_nothing())?;
        }
        Ok(method)
    }

    /// All that a result depends on, for the store. A problem is made from the seed and its number alone.
    fn cell_key(&self, index: u64, contestant: &Contestant) -> Key {
        let mut hash = Fingerprint::default();
        let limits = [self.limits.users as u64, self.limits.dim as u64];
        let numbers = [self.seed, limits[0], limits[1], self.trials, self.budget_per_user.to_bits()];
        let targets = self.targets.iter().map(|target| target.to_bits());
        numbers.into_iter().chain(targets).for_each(|number| hash.add(number));
        let tuning = contestant.tuning.name();
        if contestant.tuning != Tuned::Untuned {
            hash.add(self.tuning_trials);
        }
        let settings = format!("{GENERATOR} {BUDGETS:?} {} {tuning}", contestant.method.method);
        hash.add_text(settings.as_bytes());
        Key { name: format!("{index}-{}-{tuning}", contestant.method.name), depends_on: hash }
    }
}

/// A method and how it gets its step size.
struct Contestant {
    method: NamedMethod,
    tuning: Tuned,
}

fn built_in(name: &str) -> Result<Method, RandomBenchError> {
    Method::by_name(name).map_err(|_| RandomBenchError::Method {
        name: name.to_owned(),
        hint: suggestion(name, METHODS.iter().map(|entry| entry.name)),
    })
}

/// What was measured.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// Every finished method on every problem, in order: the tuned competitor before the methods.
    pub cells: Vec<Measured>,
    /// How many of them an earlier run had finished.
    pub kept: usize,
    /// How many are not finished.
    pub unfinished: usize,
}

/// Measures every method on every problem that the store does not hold yet. `on_cell` is called after each.
pub fn run(
    options: &Options,
    store: &Store,
    interrupt: &AtomicBool,
    on_cell: &(dyn Fn() + Sync),
) -> Result<Outcome, RandomBenchError> {
    options.check()?;
    let contestants = options.contestants()?;
    let mut outcome = Outcome::default();
    for first in (0..options.problems).step_by(BLOCK as usize) {
        let indices = first..options.problems.min(first + BLOCK);
        let stored = |index: u64| contestants.iter().map(|it| store.read(&options.cell_key(index, it))).collect();
        let stored: Vec<(u64, Vec<Option<Measured>>)> = indices.map(|index| (index, stored(index))).collect();
        // Finding optima takes a while: all at once, and only where something is left to measure.
        let problems = stored.par_iter().map(|(index, stored)| {
            let needed = stored.iter().any(Option::is_none) && !interrupt.load(Ordering::Relaxed);
            needed.then(|| random_problem(options.seed, *index, options.limits)).transpose()
        });
        let problems: Vec<Option<RandomProblem>> = problems.collect::<Result<_, _>>()?;
        for (problem, (index, stored)) in problems.into_iter().zip(stored) {
            let problem = problem.map(|it| measured::Setting::new(options, it));
            for (contestant, stored) in contestants.iter().zip(stored) {
                let cell = match (stored, &problem) {
                    (Some(stored), _) => {
                        outcome.kept += 1;
                        Some(stored)
                    }
                    (None, Some(problem)) if !interrupt.load(Ordering::Relaxed) => {
                        let measured = problem.measure(contestant, interrupt)?;
                        if let Some(measured) = &measured {
                            store.write(&options.cell_key(index, contestant), measured)?;
                        }
                        measured
                    }
                    _ => None,
                };
                match cell {
                    Some(cell) => {
                        on_cell();
                        outcome.cells.push(cell);
                    }
                    None => outcome.unfinished += 1,
                }
            }
        }
    }
    Ok(outcome)
}

/// Why nothing could be measured, or not to the end.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RandomBenchError {
    /// Too few or too many of something.
    #[error("{found} {what}: give between 1 and {most}")]
    Count {
        /// What it is.
        what: &'static str,
        /// How many were wanted.
        found: u64,
        /// How many there may be.
        most: u64,
    },
    /// No queries.
    #[error("the budget is {0} queries a user: it must be positive and finite")]
    Budget(f64),
    /// Nobody to measure.
    #[error("there are no methods: name at least one")]
    NoMethods,
    /// Nothing to reach.
    #[error("there are no targets: give at least one, such as 0.1")]
    NoTargets,
    /// A method that the catalogue does not have.
    #[error("there is no method {name:?}{hint}")]
    Method {
        /// What was asked for.
        name: String,
        /// What may have been meant.
        hint: String,
    },
    /// A method that cannot learn the smoothness.
    #[error("{name} cannot do without L_i: take methods that learn them and have no step size, such as frugal")]
    LearnsNothing {
        /// The method.
        name: String,
    },
    /// The same thing twice.
    #[error("the {what} {name} is there twice: take one of them out")]
    Twice {
        /// What it is.
        what: &'static str,
        /// Its name.
        name: String,
    },
    /// A target that every run starts below, or that none reaches.
    #[error("the target is {0}: it must lie between 0 and 1, the relative gap at the start")]
    Target(f64),
    /// Targets out of order.
    #[error("the target {second} comes after {first}: give the largest first")]
    TargetOrder {
        /// The one before.
        first: f64,
        /// The one after.
        second: f64,
    },
    /// A problem could not be made.
    #[error(transparent)]
    Problem(#[from] RandomProblemError),
    /// A method failed on a problem; what was finished before is kept.
    #[error("method {method:?} on problem {problem} ({description}): {cause}")]
    Cell {
        /// The problem's number.
        problem: u64,
        /// What kind of problem it is.
        description: String,
        /// The method's name.
        method: String,
        /// What went wrong.
        #[source]
        cause: TrialError,
    },
    /// A result could not be written.
    #[error(transparent)]
    Output(#[from] OutputError),
}

#[cfg(test)]
mod tests;
