//! What it is worth to ask several users at the start before the first move: fewer gaps above the start, for more queries.
//!
//! ```sh
//! python3 scripts/datasets.py
//! cargo run --release -p sgq-bench --example frontier
//! ```
//!
//! `frugal` with `at_start` from 1 to 6, with `L_i` and without. On the data sets of experiments/grouped.toml, the geometric
//! mean of the queries until the mean gap over the trials is 30% and 10% of that at the start. On two hundreds of random problems, on how
//! many of them the mean gap is ever above twice that at the start. Prints a table and writes docs/figures/frontier.svg.

use std::{error::Error, fs, path::Path};

use sgq::{
    Method, Oracle as _, Problem, Session, Settings, method, random::derive_seed, setting::Value, simulate::in_parallel,
};
use sgq_bench::{
    Experiment,
    figure::{Curve, Figure, Point},
    random_problem::{Limits, random_problem},
};

const DATA_SETS: &str = "experiments/grouped.toml";
const FIGURE: &str = "docs/figures/frontier.svg";
const AT_START: [u64; 5] = [1, 2, 3, 4, 6];
const TARGETS: [f64; 2] = [0.3, 0.1];
const TRIALS: u64 = 20;
const BUDGET: u64 = 400;
const RANDOM_PROBLEMS: u64 = 100;
const RANDOM_TRIALS: u64 = 5;
/// Two sets of random problems: what differs between them is chance.
const RANDOM_SEEDS: [u64; 2] = [2033, 2034];
const LIMITS: Limits = Limits { users: 200, dim: 30 };
/// A mean gap above this many times that at the start is counted.
const FAR_ABOVE: f64 = 2.0;

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

fn frugal(at_start: u64, learned: bool) -> Outcome<Method> {
    let mut method = method::frugal();
    method.set("at_start", Value::Count(at_start))?;
    method.set("learned", Value::Switch(learned))?;
    Ok(method)
}

/// The gap after each query of one trial, over that at the start; the last one is repeated where a run ends early.
fn gaps(problem: &dyn Problem, method: Method, budget: u64, trial: u64) -> Outcome<Vec<f64>> {
    let start = vec![0.0; problem.dim()];
    let at_start = problem.gap(&start).ok_or("the optimum is not known")?;
    let settings = Settings::for_problem(start, problem).budget(budget).seed(derive_seed(1, "trial", trial));
    let mut session = Session::new(method, settings)?;
    let mut gradient = vec![0.0; problem.dim()];
    let mut gaps = Vec::new();
    while let Some(query) = session.ask()? {
        problem.gradient(query.user, &query.point, &mut gradient);
        // Where a gradient is not finite, the run has diverged.
        let is_told = session.tell(query.ticket, &gradient).is_ok();
        let gap = problem.gap(session.point()).filter(|gap| is_told && gap.is_finite()).unwrap_or(f64::INFINITY);
        gaps.push(gap / at_start);
        if gap.is_infinite() {
            break;
        }
    }
    gaps.resize(budget as usize, gaps.last().copied().unwrap_or(f64::INFINITY));
    Ok(gaps)
}

/// The mean over the trials after each query.
fn mean(trials: &[Vec<f64>]) -> Vec<f64> {
    let length = trials.iter().map(Vec::len).min().unwrap_or(0);
    (0..length).map(|query| trials.iter().map(|gaps| gaps[query]).sum::<f64>() / trials.len() as f64).collect()
}

/// The number of queries until `target`.
fn queries_to(target: f64, gaps: &[f64]) -> Option<f64> {
    gaps.iter().position(|gap| *gap <= target).map(|before| 1.0 + before as f64)
}

/// Geometric means over the data sets of the queries to each target.
fn on_data_sets(experiment: &Experiment, method: &Method) -> Outcome<[f64; 2]> {
    let mut logarithms = [0.0; 2];
    for named in &experiment.problems {
        let trial = |trial| gaps(&*named.problem, method.clone(), BUDGET, trial);
        let mean = mean(&in_parallel(TRIALS, &false.into(), trial)?.unwrap_or_default());
        for (sum, target) in logarithms.iter_mut().zip(TARGETS) {
            let queries = queries_to(target, &mean);
            *sum += queries.ok_or_else(|| format!("{}: no gap of {target} in {BUDGET} queries", named.name))?.ln();
        }
    }
    Ok(logarithms.map(|sum| (sum / experiment.problems.len() as f64).exp()))
}

/// On how many random problems the mean gap is ever far above that at the start.
fn far_above(method: &Method, seed: u64) -> Outcome<usize> {
    let problem = |index| -> Outcome<bool> {
        let random = random_problem(seed, index, LIMITS)?;
        let budget = (4 * random.problem.users() as u64).clamp(60, 600);
        let trials = (0..RANDOM_TRIALS).map(|trial| gaps(&random.problem, method.clone(), budget, trial));
        Ok(mean(&trials.collect::<Outcome<Vec<_>>>()?).iter().any(|gap| *gap > FAR_ABOVE))
    };
    let above = in_parallel(RANDOM_PROBLEMS, &false.into(), problem)?.unwrap_or_default();
    Ok(above.into_iter().filter(|above| *above).count())
}

fn main() -> Outcome<()> {
    let experiment = Experiment::from_toml(DATA_SETS, &fs::read_to_string(DATA_SETS)?)?;
    let above = format!("of {RANDOM_PROBLEMS} problems above twice the start");
    println!("| | `at_start` | queries to 30% | queries to 10% | {above} | of {RANDOM_PROBLEMS} others |");
    println!("|---|---|---|---|---|---|");
    let mut curves = Vec::new();
    for (label, learned) in [("with L_i", false), ("without L_i", true)] {
        let mut curve = Curve { label: label.into(), ..Curve::default() };
        for at_start in AT_START {
            let method = frugal(at_start, learned)?;
            let [to_30, to_10] = on_data_sets(&experiment, &method)?;
            let [some, others] = RANDOM_SEEDS.map(|seed| far_above(&method, seed));
            let (some, others) = (some?, others?);
            println!("| {label} | {at_start} | {to_30:.1} | {to_10:.1} | {some} | {others} |");
            curve.points.push(Point { x: to_10, mean: (some + others) as f64 / 2.0, error: f64::NAN });
            curve.words.push(at_start.to_string());
        }
        curves.push(curve);
    }
    let figure = Figure {
        title: "A good start, or fewer queries: users asked before the first move".into(),
        x_label: format!("queries to 10%, geometric mean of {} data sets", experiment.problems.len()),
        y_label: format!("of {RANDOM_PROBLEMS} random problems, above twice the start"),
        curves,
        y_range: Some((10.0, 60.0)),
        parts: false,
    };
    fs::write(Path::new(FIGURE), figure.svg())?;
    println!("\nwritten to {FIGURE}");
    Ok(())
}
