//! The paper's experiment (Section 4) against the equations and an independent table of 20,000 trials.

use std::sync::atomic::AtomicBool;

use sgq::{
    Method, Session, Settings, Sight, method,
    problem::Quadratic,
    random::derive_seed,
    simulate::{SimulationError, gap_curve, in_parallel},
};

const STEP: f64 = 0.015;
const QUERIES: u64 = 400;

struct Curve {
    mean: Vec<f64>,
    sem: Vec<f64>,
}

fn curve(trials: u64, method: Method) -> Curve {
    let toy = Quadratic::scalar(&[1.0; 4], &[2.0, 1.0, -1.0, -2.0]).unwrap();
    let runs = in_parallel(trials, &AtomicBool::new(false), |trial| {
        let settings = Settings::for_problem(vec![5.0], &toy).step_size(STEP).seed(derive_seed(11, "toy", trial));
        let mut session = Session::with_sight(method.clone(), settings, Sight::Problem(&toy)).unwrap();
        let trial = gap_curve(&mut session, &toy, QUERIES, |_| Ok(()))?;
        Ok::<_, SimulationError>(trial.gaps)
    })
    .unwrap()
    .unwrap();
    let count = trials as f64;
    let mut curve = Curve { mean: Vec::new(), sem: Vec::new() };
    for query in 0..=QUERIES as usize {
        let mean = runs.iter().map(|gaps| gaps[query]).sum::<f64>() / count;
        let squares = runs.iter().map(|gaps| (gaps[query] - mean).powi(2)).sum::<f64>();
        curve.mean.push(mean);
        curve.sem.push((squares / (count - 1.0).max(1.0) / count).sqrt());
    }
    curve
}

impl Curve {
    fn queries_to(&self, gap: f64) -> usize {
        self.mean.iter().position(|mean| *mean <= gap).unwrap()
    }

    /// Within 4 standard errors of both runs, and of the last digit that the table shows.
    fn agrees_with(&self, table: &[(usize, f64, f64)], table_trials: f64, trials: f64) {
        for &(queries, expected, digit) in table {
            let both = self.sem[queries] * (1.0 + trials / table_trials).sqrt();
            let off = (self.mean[queries] - expected).abs();
            assert!(
                off <= 4.0 * both + 0.5 * digit,
                "{} instead of {expected} after {queries} queries",
                self.mean[queries]
            );
        }
    }
}

/// Deterministic: gap by gap from the equations, x ← x − α·2(x − b_i) with the best b_i.
#[test]
fn ogq_follows_the_equations() {
    let curve = curve(1, method::ogq());
    let mut x: f64 = 5.0;
    for (query, gap) in curve.mean.iter().enumerate() {
        assert!((gap - x * x).abs() <= 1e-9, "after {query} queries");
        let improvement = |b: f64| {
            let gradient = 2.0 * (x - b);
            STEP * 2.0 * x * gradient - STEP * STEP * gradient * gradient
        };
        let best = [2.0, 1.0, -1.0, -2.0]
            .into_iter()
            .reduce(|best, b| if improvement(b) > improvement(best) { b } else { best })
            .unwrap();
        x -= STEP * 2.0 * (x - best);
    }
    curve.agrees_with(&[(10, 9.9980, 1e-4), (20, 3.2637, 1e-4), (40, 0.0049, 1e-4), (60, 0.0004, 1e-4)], 1.0, 1.0);
    assert_eq!(curve.queries_to(0.1), 37);
}

/// With equal curvatures every SVRG step is a full gradient step: 4 queries for a snapshot, then 10 steps.
#[test]
fn svrg_follows_the_equations() {
    let curve = curve(3, method::svrg(10));
    for (query, gap) in curve.mean.iter().enumerate() {
        let steps = 10 * (query / 14) + (query % 14).saturating_sub(4);
        let expected = 25.0 * (1.0 - 2.0 * STEP).powi(2 * steps as i32);
        assert!((gap - expected).abs() <= 1e-9, "after {query} queries");
    }
    assert_eq!(curve.queries_to(0.1), 131);
}

/// `m_{t+1} = (1 − 2α)² m_t + 4α²·2.5`, `m_0 = 25`.
#[test]
fn sgd_matches_its_closed_form() {
    for trials in [200, 4_000] {
        let curve = curve(trials, method::sgd());
        let mut expected = 25.0;
        for (query, (mean, sem)) in curve.mean.iter().zip(&curve.sem).enumerate() {
            assert!((mean - expected).abs() <= 4.0 * sem + 1e-9, "{mean} instead of {expected} after {query} queries");
            expected = (1.0 - 2.0 * STEP).powi(2) * expected + 4.0 * STEP * STEP * 2.5;
        }
    }
}

#[test]
fn sgq_matches_the_table() {
    let curve = curve(4_000, method::sgq(0.3));
    curve.agrees_with(
        &[
            (10, 15.61, 1e-2),
            (20, 7.055, 1e-3),
            (40, 0.8336, 1e-4),
            (60, 0.0226, 1e-4),
            (100, 0.0128, 1e-4),
            (300, 0.0111, 1e-4),
        ],
        20_000.0,
        4_000.0,
    );
}

#[test]
fn saga_matches_the_table() {
    let curve = curve(4_000, method::saga());
    curve.agrees_with(
        &[
            (10, 17.35, 1e-2),
            (20, 9.433, 1e-3),
            (40, 2.790, 1e-3),
            (60, 0.8256, 1e-4),
            (100, 0.0723, 1e-4),
            (300, 0.0000, 1e-4),
        ],
        20_000.0,
        4_000.0,
    );
    assert!((94..=96).contains(&curve.queries_to(0.1)));
}

/// The paper's headline at its own 200 trials: about half the queries of SGD.
#[test]
fn sgq_halves_the_queries_of_sgd() {
    assert!((49..=55).contains(&curve(200, method::sgq(0.3)).queries_to(0.1)));
    assert!((92..=106).contains(&curve(200, method::sgd()).queries_to(0.1)));
}
