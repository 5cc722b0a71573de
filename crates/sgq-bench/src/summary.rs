//! The results in numbers: queries to each target, and a sentence that they support.

use serde::{Serialize, Serializer};
use sgq::{Method, StepSize, drive::Behaviour, setting::Value, theory::Bound};

use crate::{
    Experiment,
    certify::MethodCertificate,
    choices::ChoiceStatistics,
    experiment::NamedProblem,
    readable::{readable, short},
    run::{Axis, MethodResult, Results, Unfinished},
};

/// What `summary.json` holds.
#[derive(Debug, Serialize)]
pub struct Summary {
    /// The version of sgq that made it.
    pub version: &'static str,
    /// Whether some methods are missing because somebody stopped the run.
    pub interrupted: bool,
    /// What went wrong, where some methods are missing because of it.
    pub failure: Option<String>,
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
    /// How users behave, where the experiment says.
    #[serde(skip_serializing_if = "Option::is_none")]
    users: Option<Behaviour>,
    problems: Vec<ProblemSummary>,
    results: Vec<MethodSummary>,
    unfinished: Vec<Unfinished>,
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
    /// The mean of what was spent by then, where that was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    time_to_gap: Option<Pairs<Option<f64>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cost_to_gap: Option<Pairs<Option<f64>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    numbers_to_gap: Option<Pairs<Option<f64>>>,
    final_gap_mean: Option<f64>,
    final_gap_sem: Option<f64>,
    diverged_trials: u64,
    billed_queries: u64,
    billed_per_user: Vec<u64>,
    /// What they cost, where the problem says what a query costs.
    #[serde(skip_serializing_if = "Option::is_none")]
    billed_cost: Option<f64>,
    diagnostic_gradients: u64,
    /// What theory says, where somebody asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    bound: Option<BoundSummary>,
    #[serde(skip_serializing_if = "Option::is_none")]
    choices: Option<ChoicesSummary>,
}

#[derive(Debug, Serialize)]
struct BoundSummary {
    theorem: Option<String>,
    holds: bool,
    guaranteed: bool,
    rate: Option<f64>,
    floor: Option<f64>,
    queries_to_gap: Option<Pairs<Option<u64>>>,
    /// Why it is not proven, or why there is none.
    because: Option<String>,
}

impl BoundSummary {
    fn new(it: &MethodCertificate, targets: &[f64]) -> Self {
        let verdict = it.verdict();
        let bound = it.bound();
        let queries =
            |bound: Bound| Pairs(targets.iter().map(|gap| (readable(*gap), bound.queries_to(*gap))).collect());
        Self {
            theorem: it.theorem.map(|theorem| theorem.to_string()),
            holds: verdict.is_some_and(|verdict| verdict.holds),
            guaranteed: it.guaranteed().is_some(),
            rate: bound.map(|bound| bound.factor),
            floor: bound.map(|bound| bound.floor),
            queries_to_gap: bound.map(queries),
            because: match it.guaranteed() {
                Some(_) => None,
                None => Some(it.why_not()),
            },
        }
    }
}

/// Proposition 1 and Lemma 2 along the runs.
#[derive(Debug, Serialize)]
struct ChoicesSummary {
    guided: u64,
    regret_mean: Option<f64>,
    regret_bound_mean: Option<f64>,
    largest_part_of_bound: f64,
    largest_part_of_bonus: f64,
}

impl ChoicesSummary {
    fn new(choices: &ChoiceStatistics) -> Self {
        let total = choices.total();
        let mean = |sum: f64| Some(total.mean(sum)).filter(|mean| mean.is_finite());
        Self {
            guided: total.guided,
            regret_mean: mean(total.regret),
            regret_bound_mean: mean(total.bound),
            largest_part_of_bound: total.largest_part,
            largest_part_of_bonus: total.tightness,
        }
    }
}

/// An object whose keys keep their order.
#[derive(Debug)]
pub(crate) struct Pairs<V>(pub(crate) Vec<(String, V)>);

impl<V: Serialize> Serialize for Pairs<V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, value)| (key, value)))
    }
}

impl Summary {
    /// Summarises one or more experiments.
    pub fn new(runs: &[(Experiment, Results)]) -> Self {
        let failure = runs.iter().find_map(|(_, results)| Some(results.failure.as_ref()?.to_string()));
        Self {
            version: env!("CARGO_PKG_VERSION"),
            interrupted: failure.is_none() && runs.iter().any(|(_, results)| !results.unfinished.is_empty()),
            failure,
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
                experiment
                    .targets
                    .iter()
                    .map(|gap| readable(*gap))
                    .zip(row.queries_to_target.iter().copied())
                    .collect(),
            ),
            time_to_gap: spent_to_gap(experiment, row, Axis::Time),
            cost_to_gap: spent_to_gap(experiment, row, Axis::Cost),
            numbers_to_gap: spent_to_gap(experiment, row, Axis::Numbers),
            final_gap_mean: row.gap_mean.last().copied().filter(|gap| gap.is_finite()),
            final_gap_sem: row.gap_sem.last().copied().filter(|sem| sem.is_finite()),
            diverged_trials: row.diverged,
            billed_queries: row.billed_per_user.iter().sum(),
            billed_per_user: row.billed_per_user.clone(),
            billed_cost: experiment.problems.iter().find(|problem| problem.name == row.problem).and_then(|problem| {
                let costs = problem.costs.as_ref()?;
                Some(row.billed_per_user.iter().zip(costs).map(|(count, cost)| *count as f64 * cost).sum())
            }),
            diagnostic_gradients: row.diagnostic,
            bound: results.certificate(row).map(|it| BoundSummary::new(it, &experiment.targets)),
            choices: row.choices.as_ref().map(ChoicesSummary::new),
        });
        Self {
            name: experiment.name.clone(),
            title: experiment.title.clone(),
            seed: experiment.seed,
            trials: experiment.trials,
            budget: experiment.budget,
            targets: experiment.targets.clone(),
            users: experiment.users.clone(),
            problems: problems.collect(),
            results: methods.collect(),
            unfinished: results.unfinished.clone(),
        }
    }
}

/// What was spent to reach each target, where that was measured.
fn spent_to_gap(experiment: &Experiment, row: &MethodResult, axis: Axis) -> Option<Pairs<Option<f64>>> {
    let targets = experiment.targets.iter().map(|gap| readable(*gap));
    Some(Pairs(targets.zip(row.spent_to_target(axis)?).collect()))
}

/// A method's parts and settings, by the names that a file gives them.
fn settings_of(experiment: &Experiment, row: &MethodResult) -> Vec<(String, serde_json::Value)> {
    let Some(method) = experiment.methods.iter().find(|m| m.name == row.method) else {
        return Vec::new();
    };
    let users = row.billed_per_user.len();
    let mut settings = part_settings(&method.method, users);
    let rule = match &method.step_size {
        StepSize::Constant(size) => (*size).into(),
        StepSize::Theory => serde_json::json!({ "theory": row.step_size }),
        StepSize::Decay { initial, rate } => {
            serde_json::json!({ "initial": initial, "rate": rate })
        }
        StepSize::RootDecay { initial, rate } => {
            serde_json::json!({ "initial": initial, "rate": rate, "root": true })
        }
        StepSize::WarmUp { size, steps, fall } => serde_json::json!({ "size": size, "warm_up": steps, "fall": fall }),
        StepSize::Piecewise(pieces) => serde_json::json!({ "pieces": pieces }),
        StepSize::Auto => row.step_size.into(),
    };
    settings.push(("step_size".into(), rule));
    if experiment.measures_spending() {
        settings.push(("open".into(), method.open.into()));
        settings.push(("answers".into(), method.answers.to_string().into()));
    }
    settings
}

fn part_settings(method: &Method, users: usize) -> Vec<(String, serde_json::Value)> {
    let parts = ["belief", "choice", "update"].into_iter().zip(method.part_names());
    let mut settings: Vec<_> = parts.map(|(kind, name)| (kind.to_owned(), name.into())).collect();
    for setting in method.settings_for(users).unwrap_or_default() {
        let value = setting.value.filter(|value| *value != Value::Switch(false));
        settings.extend(value.map(|value| (setting.name.to_owned(), serde_json::json!(value))));
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
    if *queries == 0 {
        // The start is already there: nothing to compare.
        return None;
    }
    let mut sentence = format!("{first} reaches {} with {queries} queries", readable(gap));
    for (queries, method) in others {
        sentence += &format!(", {method} with {queries}");
    }
    let late: Vec<&str> = rows
        .iter()
        .filter(|row| !row.oracle && row.queries_to_target[index].is_none())
        .map(|row| &*row.method)
        .collect();
    if !late.is_empty() {
        sentence += &format!("; not within {}: {}", experiment.budget, late.join(", "));
    }
    sentence.push('.');
    for (queries, method) in ranked(true) {
        sentence += &format!(" (The oracle {method}, which sees every gradient: {queries}.)");
    }
    Some(sentence)
}

/// What a reader must know of the results on one problem before believing them.
pub fn notes(experiment: &Experiment, results: &Results, problem: &NamedProblem) -> Vec<String> {
    let mut notes = Vec::new();
    for row in results.rows.iter().filter(|row| row.problem == problem.name) {
        if row.diverged > 0 {
            notes.push(format!("{}: {} of {} trials diverged.", row.method, row.diverged, experiment.trials));
        }
        let method = experiment.methods.iter().find(|method| method.name == row.method);
        if let Some(method) = method
            && let Some(cap) = experiment.step_cap(problem, method)
        {
            let largest = method.largest_step(row.step_size);
            if largest > cap && results.certificates.is_empty() {
                notes.push(format!(
                    "{}: its step size, {largest:.3e}, is above what its theorem allows, {cap:.3e}: nothing is proven for it here.",
                    row.method
                ));
            }
        }
    }
    notes.extend(notes_on_theory(results, problem));
    let unfinished = results.unfinished.iter().filter(|unfinished| unfinished.problem == problem.name);
    notes.extend(unfinished.map(|unfinished| format!("{}: not finished, and left out.", unfinished.method)));
    notes
}

/// What the bounds rest on, why some are missing, and how good the choices were.
fn notes_on_theory(results: &Results, problem: &NamedProblem) -> Vec<String> {
    let mut notes = Vec::new();
    for row in results.rows.iter().filter(|row| row.problem == problem.name) {
        if let Some(it) = results.certificate(row) {
            let region = &it.certificate.region;
            notes.push(match it.bound() {
                None => format!("{}: no bound is drawn: {}.", row.method, it.why_not()),
                Some(_) if it.guaranteed().is_some() => format!("{}: its bound is guaranteed.", row.method),
                Some(_) => format!("{}: its bound, on {region}, is not guaranteed: {}.", row.method, it.why_not()),
            });
        }
        if let Some(choices) = &row.choices {
            let total = choices.total();
            notes.push(format!(
                "{}: over {} choices by score the regret was {} on average, its bound 2r (Proposition 1) {}, of which at most \
                 {:.1}% was ever needed. Of the bonus (Lemma 2) at most {:.1}% was.",
                row.method,
                total.guided,
                short(total.mean(total.regret)),
                short(total.mean(total.bound)),
                100.0 * total.largest_part,
                100.0 * total.tightness,
            ));
        }
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn experiment(extra: &str) -> Experiment {
        let text = format!(
            "budget = 9\ntrials = 2\ntargets = [0.1, 5, 1, 5]\nstep_size = 0.2\n[[problem]]\nname = \"p\"\n\
             kind = \"quadratic\"\ncurvature = [1, 1]\ncenter = [0, 1]\nstart = 3\n{extra}"
        );
        Experiment::from_toml("x.toml", &text).unwrap()
    }

    fn row(method: &str, oracle: bool, queries_to_target: &[Option<usize>]) -> MethodResult {
        MethodResult {
            problem: "p".into(),
            method: method.into(),
            oracle,
            sees_more: None,
            step_size: 0.2,
            gap_mean: vec![9.0],
            gap_sem: vec![0.0],
            queries_to_target: queries_to_target.to_vec(),
            diverged: 0,
            billed_per_user: vec![4, 5],
            diagnostic: 0,
            choices: None,
            spent: None,
        }
    }

    const METHODS: &str = "[[method]]\nmethod = \"sgd\"\n[[method]]\nmethod = \"ogq\"\n\
                           [[method]]\nmethod = \"svrg\"\nstep_size = { initial = 0.3, rate = 0.7 }\n";

    #[test]
    fn targets_fall_and_do_not_repeat() {
        assert_eq!(experiment(METHODS).targets, [5.0, 1.0, 0.1]);
    }

    #[test]
    fn the_sentence_names_everybody() {
        let experiment = experiment(METHODS);
        let rows = vec![
            row("sgd", false, &[Some(2), Some(7), None]),
            row("ogq", true, &[Some(1), Some(2), Some(3)]),
            row("svrg", false, &[Some(3), Some(4), Some(8)]),
        ];
        let results = Results { rows, ..Results::default() };
        assert_eq!(
            headline(&experiment, &results, "p", None).unwrap(),
            "svrg reaches 1 with 4 queries, sgd with 7. (The oracle ogq, which sees every gradient: 2.)"
        );
        assert_eq!(
            headline(&experiment, &results, "p", Some(0.1)).unwrap(),
            "svrg reaches 0.1 with 8 queries; not within 9: sgd. (The oracle ogq, which sees every gradient: 3.)"
        );
        assert_eq!(headline(&experiment, &results, "p", Some(0.3)), None);
        let at_once = Results { rows: vec![row("sgd", false, &[Some(0); 3])], ..Results::default() };
        assert_eq!(headline(&experiment, &at_once, "p", None), None);
    }

    #[test]
    fn settings_are_those_used() {
        let experiment = experiment(METHODS);
        let settings = settings_of(&experiment, &row("svrg", false, &[None; 3]));
        assert_eq!(
            serde_json::to_string(&Pairs(settings)).unwrap(),
            r#"{"belief":"nothing","choice":"uniform","update":"svrg","inner_steps":4,"step_size":{"initial":0.3,"rate":0.7}}"#
        );
        let slowly = "[[method]]\nchoice = \"shuffled\"\nupdate = \"heavy-ball\"\nname = \"svrg\"\n\
                      step_size = { initial = 0.3, rate = 0.7, root = true }\n";
        let settings = settings_of(&self::experiment(slowly), &row("svrg", false, &[None; 3]));
        assert_eq!(
            serde_json::to_string(&Pairs(settings)).unwrap(),
            r#"{"belief":"nothing","choice":"shuffled","update":"heavy-ball","momentum":0.9,"step_size":{"initial":0.3,"rate":0.7,"root":true}}"#
        );
        let heavy = self::experiment("[[method]]\nmethod = \"sgq\"\nbonus = 4\np = 0.5\n");
        let settings = settings_of(&heavy, &row("sgq", false, &[None; 3]));
        assert_eq!(
            serde_json::to_string(&Pairs(settings)).unwrap(),
            r#"{"belief":"last-gradient","choice":"surrogate-ei","update":"sgd","p":0.5,"bonus":4.0,"step_size":0.2}"#
        );
        let sgd = experiment.methods.iter().find(|method| method.name == "sgd").unwrap();
        assert_eq!(sgd.step_size, StepSize::Constant(0.2));
    }

    #[test]
    fn a_step_past_its_theorem_is_noted() {
        let experiment = experiment("[[method]]\nmethod = \"sgq\"\nbonus = 1\n");
        let results = Results { rows: vec![row("sgq", false, &[None; 3])], ..Results::default() };
        let notes = notes(&experiment, &results, &experiment.problems[0]);
        assert_eq!(notes.len(), 1);
        let rising =
            self::experiment("[[method]]\nmethod = \"sgq\"\np = 0\nstep_size = { pieces = [[0, 1e-9], [5, 0.5]] }\n");
        let more = self::notes(&rising, &results, &rising.problems[0]);
        assert!(more[0].contains("5.000e-1, is above what its theorem allows, 0.000e0"), "{more:?}");
        assert!(notes[0].contains("its step size, 2.000e-1, is above what its theorem allows"), "{notes:?}");
    }
}
