//! The results in numbers: queries to each target, and a sentence that they support.

use serde::{Serialize, Serializer};
use sgq::{
    StepSize,
    catalog::{ChoiceKind, UpdateKind},
};

use crate::{
    Experiment,
    experiment::NamedMethod,
    run::{MethodResult, Results},
};

/// What `summary.json` holds.
#[derive(Debug, Serialize)]
pub struct Summary {
    /// The version of sgq that made it.
    pub version: &'static str,
    /// Whether some methods are missing because somebody stopped the run.
    pub interrupted: bool,
    /// One for each experiment of the run.
    pub experiments: Vec<ExperimentSummary>,
}

/// One experiment: its settings and its results.
#[derive(Debug, Serialize)]
pub struct ExperimentSummary {
    name: String,
    title: String,
    seed: u64,
    trials: u64,
    budget: u64,
    targets: Vec<f64>,
    problems: Vec<ProblemSummary>,
    results: Vec<MethodSummary>,
    unfinished: Vec<String>,
}

#[derive(Debug, Serialize)]
struct ProblemSummary {
    name: String,
    users: usize,
    dim: usize,
    start: Vec<f64>,
    smoothness: Option<Vec<f64>>,
    pl_constant: Option<f64>,
}

#[derive(Debug, Serialize)]
struct MethodSummary {
    problem: String,
    method: String,
    /// Looks at every gradient before each choice: a yardstick, not something that could be run.
    oracle: bool,
    settings: Pairs<serde_json::Value>,
    /// The first number of queries at which the mean gap is at or below the target; null where it never is.
    queries_to_gap: Pairs<Option<usize>>,
    final_gap_mean: Option<f64>,
    final_gap_sem: Option<f64>,
    diverged_trials: u64,
    billed_queries: u64,
    billed_per_user: Vec<u64>,
    diagnostic_gradients: u64,
}

/// An object whose keys keep their order.
#[derive(Debug)]
struct Pairs<V>(Vec<(String, V)>);

impl<V: Serialize> Serialize for Pairs<V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, value)| (key, value)))
    }
}

impl Summary {
    /// Summarises one or more experiments.
    pub fn new(runs: &[(Experiment, Results)]) -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION"),
            interrupted: runs.iter().any(|(_, results)| !results.unfinished.is_empty()),
            experiments: runs.iter().map(|(experiment, results)| ExperimentSummary::new(experiment, results)).collect(),
        }
    }
}

impl ExperimentSummary {
    fn new(experiment: &Experiment, results: &Results) -> Self {
        let problems = experiment.problems.iter().map(|problem| ProblemSummary {
            name: problem.name.clone(),
            users: problem.problem.users(),
            dim: problem.problem.dim(),
            start: problem.start.clone(),
            smoothness: problem.problem.smoothness().map(<[f64]>::to_vec),
            pl_constant: problem.problem.pl_constant(),
        });
        let methods = results.rows.iter().map(|row| MethodSummary {
            problem: row.problem.clone(),
            method: row.method.clone(),
            oracle: row.oracle,
            settings: Pairs(settings_of(experiment, row)),
            queries_to_gap: Pairs(
                experiment.targets.iter().map(f64::to_string).zip(row.queries_to_target.iter().copied()).collect(),
            ),
            final_gap_mean: row.gap_mean.last().copied().filter(|gap| gap.is_finite()),
            final_gap_sem: row.gap_sem.last().copied().filter(|sem| sem.is_finite()),
            diverged_trials: row.diverged,
            billed_queries: row.billed_per_user.iter().sum(),
            billed_per_user: row.billed_per_user.clone(),
            diagnostic_gradients: row.diagnostic,
        });
        Self {
            name: experiment.name.clone(),
            title: experiment.title.clone(),
            seed: experiment.seed,
            trials: experiment.trials,
            budget: experiment.budget,
            targets: experiment.targets.clone(),
            problems: problems.collect(),
            results: methods.collect(),
            unfinished: results.unfinished.clone(),
        }
    }
}

/// A method's parts and settings, by the names that a file gives them.
fn settings_of(experiment: &Experiment, row: &MethodResult) -> Vec<(String, serde_json::Value)> {
    let Some(method) = experiment.methods.iter().find(|m| m.name == row.method) else {
        return Vec::new();
    };
    let mut settings = part_settings(method);
    let rule = match &method.step_size {
        StepSize::Constant(size) => (*size).into(),
        StepSize::Theory => serde_json::json!({ "theory": row.step_size }),
        StepSize::Decay { initial, rate } => {
            serde_json::json!({ "initial": initial, "rate": rate })
        }
        StepSize::Piecewise(pieces) => serde_json::json!({ "pieces": pieces }),
    };
    settings.push(("step_size".into(), rule));
    settings
}

fn part_settings(method: &NamedMethod) -> Vec<(String, serde_json::Value)> {
    let recipe = &method.recipe;
    let mut settings = vec![("choice".to_owned(), recipe.choice_entry().name.into())];
    if let ChoiceKind::SurrogateEi { explore, bonus_weight } = recipe.choice {
        settings.push(("p".into(), explore.into()));
        settings.push(("bonus".into(), bonus_weight.into()));
    }
    settings.push(("update".into(), recipe.update_entry().name.into()));
    if let UpdateKind::Svrg { inner_steps } = recipe.update {
        settings.push(("inner_steps".into(), inner_steps.into()));
    }
    settings
}

/// One sentence on who needs how many queries, at the smallest target that every method reaches, or at `target`.
pub fn headline(experiment: &Experiment, results: &Results, problem: &str, target: Option<f64>) -> Option<String> {
    let rows: Vec<&MethodResult> = results.rows.iter().filter(|row| row.problem == problem).collect();
    let everybody_reaches = |index: &usize| rows.iter().all(|row| row.queries_to_target[*index].is_some());
    let index = match target {
        Some(target) => experiment.targets.iter().position(|gap| *gap == target)?,
        None => (0..experiment.targets.len()).rev().find(everybody_reaches)?,
    };
    let gap = experiment.targets[index];
    let ranked = |oracle: bool| -> Vec<(usize, &str)> {
        let mut ranked: Vec<_> = rows
            .iter()
            .filter(|row| row.oracle == oracle)
            .filter_map(|row| Some((row.queries_to_target[index]?, &*row.method)))
            .collect();
        ranked.sort_by_key(|(queries, _)| *queries);
        ranked
    };
    let real = ranked(false);
    let ((queries, first), others) = real.split_first()?;
    let mut sentence = format!("{first} reaches {gap} with {queries} queries");
    for (queries, method) in others {
        sentence += &format!(", {method} with {queries}");
    }
    sentence.push('.');
    for (queries, method) in ranked(true) {
        sentence += &format!(" (The oracle {method}, which sees every gradient: {queries}.)");
    }
    Some(sentence)
}
