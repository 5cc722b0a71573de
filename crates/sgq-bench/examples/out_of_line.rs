//! How far honest answers are out of line (`Session::out_of_line`), and answers that are wrong: for the limit in docs/ledger.md.
//!
//! ```sh
//! cargo run --release -p sgq-bench --example out_of_line -- experiments/grouped.toml experiments/held-out.toml   # real data too
//! cargo run --release -p sgq-bench --example out_of_line                                                         # random problems
//! ```
//!
//! Every run is honest. Before each answer is told, it is looked at, and so is each wrong one in its place. Where the method would
//! set the wrong answer aside, a copy of the run is told it, and its user answers the question that follows in the same wrong way.

use std::{env, error::Error, fs, sync::atomic::AtomicBool};

use sgq::{
    Detail, Method, Problem, Random, Session, Settings, Sight, belief::Model, method, random::derive_seed,
    simulate::in_parallel,
};
use sgq_bench::{
    Experiment,
    random_problem::{Limits, random_problem},
};

const TRIALS: u64 = 10;
const RANDOM_PROBLEMS: u64 = 200;
const PASSES: usize = 4;
/// The default of `Protection::unexpected_factor`.
const LIMIT: f64 = 10.0;

const WRONG: [&str; 8] = [
    "−g",
    "−10 g",
    "10 g",
    "−100 g",
    "100 g",
    "10 times as long, random direction",
    "one coordinate times 1000",
    "g plus 10 times the first answer's length",
];

/// What a run draws for its wrong answers, always the same.
struct Attacker {
    direction: Vec<f64>,
    coordinate: usize,
    first_length: f64,
}

impl Attacker {
    fn new(dim: usize, seed: u64) -> Self {
        let mut random = Random::new(seed, "wrong answers");
        let direction: Vec<f64> = (0..dim).map(|_| random.unit() - 0.5).collect();
        let length = norm(&direction);
        let direction = direction.iter().map(|value| value / length).collect();
        Self { direction, coordinate: random.index(dim), first_length: 0.0 }
    }

    fn answer(&self, wrong: usize, honest: &[f64]) -> Vec<f64> {
        let times = |factor: f64| honest.iter().map(|value| factor * value).collect();
        let along = |length: f64| self.direction.iter().map(move |value| length * value);
        match wrong {
            0 => times(-1.0),
            1 => times(-10.0),
            2 => times(10.0),
            3 => times(-100.0),
            4 => times(100.0),
            5 => along(10.0 * norm(honest)).collect(),
            6 => {
                let mut answer = honest.to_vec();
                answer[self.coordinate] *= 1e3;
                answer
            }
            _ => honest.iter().zip(along(10.0 * self.first_length)).map(|(value, by)| value + by).collect(),
        }
    }
}

/// How many wrong answers are beyond the limit at once, or at the second question, or neither.
#[derive(Clone, Copy, Default)]
struct Caught {
    at_once: u32,
    again: u32,
    never: u32,
}

#[derive(Default)]
struct Seen {
    honest: Vec<f64>,
    /// Honest answers of which nothing is said, since something was said first.
    silent: usize,
    wrong: [Caught; WRONG.len()],
}

fn norm(vector: &[f64]) -> f64 {
    vector.iter().map(|value| value * value).sum::<f64>().sqrt()
}

type Failed = Box<dyn Error + Send + Sync>;

/// Whether a wrong answer that is set aside is beyond the limit at the question that follows.
fn is_caught_again(
    session: &Session<'_>,
    method: &Method,
    problem: &dyn Problem,
    attacker: &Attacker,
    wrong: usize,
) -> Result<bool, Failed> {
    let mut copy = Session::restore(method.clone(), &session.snapshot()?, Sight::Blind)?;
    let Some(query) = copy.ask()? else { return Ok(false) };
    let mut gradient = vec![0.0; problem.dim()];
    problem.gradient(query.user, &query.point, &mut gradient);
    let lie = attacker.answer(wrong, &gradient);
    if !norm(&lie).is_finite() {
        return Ok(false);
    }
    copy.tell(query.ticket, &lie)?;
    let is_set_aside = copy.belief::<Model>().and_then(Model::set_aside_last) == Some(query.user);
    let Some(next) = copy.ask()?.filter(|next| is_set_aside && next.user == query.user) else {
        return Ok(false);
    };
    problem.gradient(next.user, &next.point, &mut gradient);
    let times = copy.out_of_line(next.user, &next.point, &attacker.answer(wrong, &gradient));
    Ok(times.is_some_and(|times| times > LIMIT))
}

/// One run.
fn look(problem: &dyn Problem, learned: bool, answers: Detail, seed: u64) -> Result<Seen, Failed> {
    let mut method = method::frugal();
    if learned {
        method.set("learned", sgq::setting::Value::Switch(true))?;
    }
    let dim = problem.dim();
    let budget = (PASSES * problem.users()).max(100) as u64;
    let settings = Settings::for_problem(vec![0.0; dim], problem).budget(budget).answers(answers).seed(seed);
    let mut session = Session::new(method.clone(), settings)?;
    let (mut seen, mut attacker) = (Seen::default(), Attacker::new(dim, seed));
    let (mut gradient, mut hessian) = (vec![0.0; dim], vec![0.0; dim * dim]);
    while let Some(query) = session.ask()? {
        problem.gradient(query.user, &query.point, &mut gradient);
        if !norm(&gradient).is_finite() {
            // Counts far from the optimum: no user could tell it.
            break;
        }
        if session.queries() == 0 {
            attacker.first_length = norm(&gradient);
        }
        match session.out_of_line(query.user, &query.point, &gradient) {
            Some(times) => seen.honest.push(times),
            None => seen.silent += usize::from(!seen.honest.is_empty()),
        }
        if !seen.honest.is_empty() {
            for (wrong, caught) in seen.wrong.iter_mut().enumerate() {
                match session.out_of_line(query.user, &query.point, &attacker.answer(wrong, &gradient)) {
                    Some(times) if times > LIMIT => caught.at_once += 1,
                    None if is_caught_again(&session, &method, problem, &attacker, wrong)? => caught.again += 1,
                    _ => caught.never += 1,
                }
            }
        }
        let has_hessian = answers == Detail::Hessian && problem.hessian(query.user, &query.point, &mut hessian);
        let packed: Vec<f64> = (0..dim).flat_map(|row| hessian[row * dim..=row * dim + row].to_vec()).collect();
        let answer = sgq::Answer::new(&gradient);
        session.tell(query.ticket, if has_hessian { answer.hessian(&packed) } else { answer })?;
    }
    Ok(seen)
}

fn report(name: &str, all: &[Seen]) {
    let mut honest: Vec<f64> = all.iter().flat_map(|seen| seen.honest.iter().copied()).collect();
    honest.sort_by(f64::total_cmp);
    let quantile = |part: f64| honest.get(((honest.len() as f64 - 1.0) * part) as usize).copied().unwrap_or(f64::NAN);
    let beyond = honest.iter().filter(|times| **times > LIMIT).count();
    let silent: usize = all.iter().map(|seen| seen.silent).sum();
    println!(
        "  {name:<34} {:>7}   {:>6.2} {:>6.2} {:>6.2} {:>7.2} {:>9.2}   {beyond:>4}   {silent:>5}",
        honest.len(),
        quantile(0.5),
        quantile(0.99),
        quantile(0.999),
        quantile(0.9999),
        quantile(1.0),
    );
}

fn report_wrong(name: &str, all: &[Seen]) {
    println!("\n  {name:<42} at once   then   never");
    for (wrong, answer) in WRONG.iter().enumerate() {
        let sum = |count: fn(&Caught) -> u32| all.iter().map(|seen| f64::from(count(&seen.wrong[wrong]))).sum::<f64>();
        let counts = [sum(|it| it.at_once), sum(|it| it.again), sum(|it| it.never)];
        let percent = counts.map(|count| 100.0 * count / counts.iter().sum::<f64>());
        println!("  {answer:<42} {:>6.1}% {:>5.1}% {:>6.1}%", percent[0], percent[1], percent[2]);
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let variants =
        [("", false, Detail::Gradient), (", no L_i", true, Detail::Gradient), (", Hessians", false, Detail::Hessian)];
    let go_on = AtomicBool::new(false);
    let heads = ["answers", "median", "99%", "99.9%", "99.99%", "largest", "beyond", "not looked at"];
    println!("  honest: {}", heads.join("   "));
    let mut sets = Vec::new();
    for file in env::args().skip(1) {
        sets.extend(Experiment::from_toml(&file, &fs::read_to_string(&file)?)?.problems);
    }
    for (label, learned, answers) in variants {
        let mut all = Vec::new();
        for set in &sets {
            let run = |trial| look(&*set.problem, learned, answers, derive_seed(1, "trial", trial));
            let seen = in_parallel(TRIALS, &go_on, run).map_err(|error| error.to_string())?.unwrap_or_default();
            report(&format!("{}{label}", set.name), &seen);
            all.extend(seen);
        }
        for (users, dim) in [(100, 20), (8, 8)] {
            let run = |index| {
                let random = random_problem(4242, index, Limits { users, dim })?;
                look(&random.problem, learned, answers, derive_seed(1, "trial", index))
            };
            let seen = in_parallel(RANDOM_PROBLEMS, &go_on, run).map_err(|error| error.to_string())?;
            let seen = seen.unwrap_or_default();
            report(&format!("random, n ≤ {users}{label}"), &seen);
            all.extend(seen);
        }
        report(&format!("all of them{label}"), &all);
        report_wrong(&format!("wrong answers{label}"), &all);
        println!();
    }
    Ok(())
}
