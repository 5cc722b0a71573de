//! How well `frugal` knows how far it still has to go, and where it stops by itself.
//!
//! ```sh
//! cargo run --release -p sgq-bench --example remaining -- experiments/grouped.toml     # real data sets, random problems
//! cargo run --release -p sgq-bench --example remaining                                 # random problems alone
//! ```
//!
//! After every answer, from where everybody was asked to a gap of 10⁻⁸ of the start, the true gap is compared with
//! `Session::remaining`: how often it is inside of the interval, which says 90%, and truth over estimate. A run with a tolerance
//! of 10⁻⁴ would stop at the first estimate that is below it: the last column has the true gap there, as a part of that at the
//! start.

use std::{env, error::Error, fs, ops::ControlFlow, sync::atomic::AtomicBool};

use sgq::{
    Detail, Method, Problem, Session, Settings,
    drive::{Observer, drive},
    method,
    random::derive_seed,
    simulate::in_parallel,
};
use sgq_bench::{
    Experiment,
    random_problem::{Limits, random_problem},
};

const TRIALS: u64 = 20;
const PASSES: usize = 12;
const RANDOM_PROBLEMS: u64 = 200;
const TOLERANCE: f64 = 1e-4;
const LEAST_GAP: f64 = 1e-8;

/// What was seen of some runs.
#[derive(Default)]
struct Seen {
    /// The truth over the estimate, and whether it is inside of the interval.
    ratios: Vec<(f64, bool)>,
    /// The true relative gap where a run stopped.
    stops: Vec<f64>,
    never: usize,
}

struct Watch<'a> {
    problem: &'a dyn Problem,
    at_start: f64,
    has_stopped: bool,
    seen: Seen,
}

impl Observer for Watch<'_> {
    fn told(&mut self, session: &Session<'_>) -> ControlFlow<()> {
        let (Some(remaining), Some(gap)) = (session.remaining(), self.problem.gap(session.point())) else {
            return ControlFlow::Continue(());
        };
        if !self.has_stopped && remaining.is_within(TOLERANCE) {
            self.has_stopped = true;
            self.seen.stops.push(gap / self.at_start);
        }
        let everybody = session.meter().billed_per_user().iter().all(|queries| *queries > 0);
        if everybody && gap > LEAST_GAP * self.at_start {
            self.seen.ratios.push((gap / remaining.gap, remaining.low <= gap && gap <= remaining.high));
        }
        if gap > LEAST_GAP * self.at_start || !self.has_stopped {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    }
}

/// One run.
fn watch(
    problem: &dyn Problem,
    method: Method,
    answers: Detail,
    seed: u64,
) -> Result<Seen, Box<dyn Error + Send + Sync>> {
    let start = vec![0.0; problem.dim()];
    let budget = (PASSES * problem.users()).max(100) as u64;
    let settings = Settings::for_problem(start.clone(), problem).budget(budget).answers(answers).seed(seed);
    let mut session = Session::new(method, settings)?;
    let at_start = problem.gap(&start).ok_or("the optimum is not known")?;
    let mut watch = Watch { problem, at_start, has_stopped: false, seen: Seen::default() };
    drive(&mut session, problem, &mut watch)?;
    watch.seen.never = usize::from(!watch.has_stopped);
    Ok(watch.seen)
}

fn quantile(values: &[f64], part: f64) -> f64 {
    values.get(((values.len() as f64 - 1.0) * part).round().max(0.0) as usize).copied().unwrap_or(f64::NAN)
}

fn report(name: &str, all: &[Seen]) {
    let never: usize = all.iter().map(|seen| seen.never).sum();
    let inside: Vec<f64> = all
        .iter()
        .filter(|seen| !seen.ratios.is_empty())
        .map(|seen| seen.ratios.iter().filter(|(_, inside)| *inside).count() as f64 / seen.ratios.len() as f64)
        .collect();
    let mut ratios: Vec<f64> = all.iter().flat_map(|seen| seen.ratios.iter().map(|(ratio, _)| *ratio)).collect();
    let mut stops: Vec<f64> = all.iter().flat_map(|seen| seen.stops.iter().copied()).collect();
    ratios.sort_by(f64::total_cmp);
    stops.sort_by(f64::total_cmp);
    let ratio =
        |part: f64| if ratios.is_empty() { "–".to_owned() } else { format!("{:.2}", quantile(&ratios, part)) };
    let fine = stops.iter().filter(|gap| (0.1 * TOLERANCE..=10.0 * TOLERANCE).contains(*gap)).count();
    println!(
        "  {name:<26} {:>5}   {:>5} {:>5} {:>5}   {:>7.1e} {:>7.1e} {:>7.1e}   {fine} of {}{}",
        if inside.is_empty() {
            "–".to_owned()
        } else {
            format!("{:.0}%", 100.0 * inside.iter().sum::<f64>() / inside.len() as f64)
        },
        ratio(0.05),
        ratio(0.5),
        ratio(0.95),
        quantile(&stops, 0.05),
        quantile(&stops, 0.5),
        quantile(&stops, 0.95),
        stops.len() + never,
        if never > 0 { format!(" ({never} did not stop)") } else { String::new() },
    );
}

fn main() -> Result<(), Box<dyn Error>> {
    let variants =
        [("", false, Detail::Gradient), (", no L_i", true, Detail::Gradient), (", Hessians", false, Detail::Hessian)];
    let methods = |learned: bool| -> Method {
        let mut method = method::frugal();
        if learned {
            let _ = method.set("learned", sgq::setting::Value::Switch(true));
        }
        method
    };
    println!("  {:<26} inside   truth / estimate     true gap at the stop       from 10⁻⁵ to 10⁻³", "");
    let go_on = AtomicBool::new(false);
    if let Some(file) = env::args().nth(1) {
        let experiment = Experiment::from_toml(&file, &fs::read_to_string(&file)?)?;
        for (label, learned, answers) in variants {
            let mut all = Vec::new();
            for problem in &experiment.problems {
                let run = |trial| watch(&*problem.problem, methods(learned), answers, derive_seed(1, "trial", trial));
                let seen = in_parallel(TRIALS, &go_on, run).map_err(|error| error.to_string())?.unwrap_or_default();
                report(&format!("{}{label}", problem.name), &seen);
                all.extend(seen);
            }
            report(&format!("all of them{label}"), &all);
        }
    }
    for (users, dim) in [(100, 20), (8, 8)] {
        let limits = Limits { users, dim };
        for (label, learned, answers) in variants {
            let run = |index| {
                let random = random_problem(4242, index, limits)?;
                watch(&random.problem, methods(learned), answers, derive_seed(1, "trial", index))
            };
            let seen = in_parallel(RANDOM_PROBLEMS, &go_on, run).map_err(|error| error.to_string())?;
            report(&format!("random, n ≤ {users}{label}"), &seen.unwrap_or_default());
        }
    }
    Ok(())
}
