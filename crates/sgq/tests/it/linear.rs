//! SAGA with one number a user, against the session that keeps every user's whole gradient.

use serde::{Deserialize, Serialize};
use sgq::{
    LastGradient, LinearSaga, Method, Oracle as _, Problem as _, Random, Session, Settings, SettingsError, Step,
    StepSizeError, StopReason, Update,
    choice::Uniform,
    linear::LinearError,
    problem::{Loss, Regression, Rows},
    update::Saga,
};

const LOSSES: [Loss; 4] = [Loss::Squares, Loss::Logistic, Loss::Poisson, Loss::Huber { delta: 0.7 }];
const USERS: usize = 40;
const DIM: usize = 9;
const SEED: u64 = 11;
/// Past the longest lag (1,024 steps), and past the steps after which the mean is computed afresh (20 epochs).
const STEPS: [u64; 6] = [0, 1, 17, 500, 1_100, 3_000];

/// SAGA's step by users whose answers leave the penalty out: the update, which knows it, adds `λx`.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Penalised {
    l2: f64,
}

impl Update<LastGradient> for Penalised {
    fn step(&mut self, step: Step<'_, LastGradient>, _random: &mut Random, point: &mut [f64]) -> bool {
        let before = step.belief.replaced();
        let (fresh, kept, mean) = (step.reply.gradient, before.gradient, before.mean);
        for k in 0..point.len() {
            point[k] -= step.size * (fresh[k] - kept[k] + mean[k] + self.l2 * point[k]);
        }
        true
    }
}

/// Two thirds of the numbers are zero; the first column is nearly always so, and the last never.
fn numbers(random: &mut Random) -> Vec<f64> {
    let mut number = |k: usize| match k % DIM {
        0 if k != 0 => 0.0,
        column if column == DIM - 1 || random.index(3) == 0 => 2.0 * random.unit() - 1.0,
        _ => 0.0,
    };
    (0..USERS * DIM).map(&mut number).collect()
}

fn sparse(numbers: &[f64]) -> Rows {
    let (mut starts, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
    for row in numbers.chunks_exact(DIM) {
        for (column, value) in row.iter().enumerate().filter(|(_, value)| **value != 0.0) {
            columns.push(column as u32);
            values.push(*value);
        }
        starts.push(values.len());
    }
    Rows::Sparse { dim: DIM, starts, columns, values }
}

/// The same problem with dense rows and with sparse ones.
fn problems(loss: Loss, l2: f64) -> [Regression; 2] {
    let mut random = Random::new(5, "linear");
    let numbers = numbers(&mut random);
    let mut target = || match loss {
        Loss::Logistic => [-1.0, 1.0][random.index(2)],
        Loss::Poisson => random.index(4) as f64,
        _ => 4.0 * random.unit() - 2.0,
    };
    let targets: Vec<f64> = (0..USERS).map(|_| target()).collect();
    let blocks: Vec<usize> = (0..=USERS).collect();
    let rows = [Rows::Dense { dim: DIM, values: numbers.clone() }, sparse(&numbers)];
    rows.map(|rows| Regression::new(rows, targets.clone(), &blocks, loss, l2).unwrap())
}

fn start() -> Vec<f64> {
    (0..DIM).map(|k| 0.3 - 0.1 * k as f64).collect()
}

/// Where a session of SAGA stands after that many steps.
fn in_session<U: Update<LastGradient>>(update: U, problem: &Regression, step_size: f64, steps: u64) -> Vec<f64> {
    session_after(update, problem, step_size, steps).point().to_vec()
}

fn session_after<U: Update<LastGradient>>(
    update: U,
    problem: &Regression,
    step_size: f64,
    steps: u64,
) -> Session<'static> {
    let settings = Settings::new(start(), USERS).step_size(step_size).seed(SEED).budget(USERS as u64 + steps);
    let saga = Method::new("saga", LastGradient::new(), Uniform, update);
    let mut session = Session::new(saga, settings).unwrap();
    let mut gradient = vec![0.0; DIM];
    while let Some(query) = session.ask().unwrap() {
        problem.gradient(query.user, &query.point, &mut gradient);
        session.tell(query.ticket, &gradient).unwrap();
    }
    session
}

/// Each user is billed as in a session of the same seed.
#[test]
fn queries_are_counted_as_in_a_session() {
    let problem = problems(Loss::Logistic, 0.0).into_iter().next().unwrap();
    let mut saga = LinearSaga::new(&problem, &start(), 0.1, SEED).unwrap();
    assert_eq!(saga.billed_per_user(), [1; USERS]);
    saga.run(100);
    assert_eq!(saga.billed_per_user(), session_after(Saga, &problem, 0.1, 100).meter().billed_per_user());
}

fn linear(problem: &Regression, step_size: f64, steps: u64) -> Vec<f64> {
    let mut saga = LinearSaga::new(problem, &start(), step_size, SEED).unwrap();
    let queries = USERS as u64 + steps;
    assert_eq!(saga.run(steps), StopReason::Budget { queries });
    assert_eq!((saga.steps(), saga.queries()), (steps, queries));
    saga.point()
}

fn assert_close(found: &[f64], expected: &[f64], what: &str) {
    let scale = expected.iter().fold(0.0, |largest: f64, x| largest.max(x.abs()));
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() <= 1e-12 * scale, "{what}: {found} instead of {expected}");
    }
}

#[test]
fn without_a_penalty_the_steps_are_the_sessions() {
    for loss in LOSSES {
        for problem in problems(loss, 0.0) {
            for steps in STEPS {
                let expected = in_session(Saga, &problem, 0.1, steps);
                assert_close(&linear(&problem, 0.1, steps), &expected, &format!("{loss:?} after {steps}"));
            }
        }
    }
}

#[test]
fn with_a_penalty_the_steps_are_those_of_a_session_that_knows_it() {
    for loss in LOSSES {
        let [without, _] = problems(loss, 0.0);
        for problem in problems(loss, 0.05) {
            for steps in STEPS {
                let expected = in_session(Penalised { l2: 0.05 }, &without, 0.1, steps);
                assert_close(&linear(&problem, 0.1, steps), &expected, &format!("{loss:?} after {steps}"));
            }
        }
    }
}

/// A plain session is told the penalty with each gradient and remembers it with them: its way is another one, to the same
/// place.
#[test]
fn a_session_that_remembers_the_penalty_ends_at_the_same_point() {
    let [_, problem] = problems(Loss::Logistic, 0.05);
    let way = |steps| (in_session(Saga, &problem, 0.3, steps), linear(&problem, 0.3, steps));
    let (session, linear) = way(30);
    let apart = session.iter().zip(&linear).fold(0.0, |most: f64, (one, other)| most.max((one - other).abs()));
    assert!(apart > 1e-4 && apart < 1e-1, "{apart}");
    let (session, linear) = way(20_000);
    assert_close(&linear, &problem.optimum().unwrap().point, "the optimum");
    assert_close(&linear, &session, "a session");
}

#[test]
fn the_same_bits_however_a_run_is_divided() {
    let [_, problem] = problems(Loss::Logistic, 0.05);
    let mut saga = LinearSaga::new(&problem, &start(), 0.1, SEED).unwrap();
    for steps in [1, 0, 700, 1_299, 999] {
        saga.run(steps);
        // Looking changes nothing.
        assert!(saga.point().iter().all(|x| x.is_finite()));
    }
    assert_eq!(saga.run(0), StopReason::Budget { queries: USERS as u64 + 2_999 });
    assert_eq!(saga.point(), linear(&problem, 0.1, 2_999));
}

#[test]
fn what_cannot_run_is_refused() {
    let [problem, _] = problems(Loss::Squares, 0.05);
    let refusal = |start: &[f64], step_size| LinearSaga::new(&problem, start, step_size, SEED).unwrap_err();
    let mismatch = SettingsError::Mismatch { what: "parameters", expected: DIM, found: 2 };
    assert_eq!(refusal(&[0.0; 2], 0.1), LinearError::Settings(mismatch));
    let not_finite = refusal(&[f64::NAN; DIM], 0.1);
    assert!(matches!(not_finite, LinearError::Settings(SettingsError::Start { coordinate: 0, .. })), "{not_finite}");
    for step_size in [0.0, -1.0, f64::INFINITY] {
        let expected = LinearError::Settings(StepSizeError::Size(step_size).into());
        assert_eq!(refusal(&[0.0; DIM], step_size), expected);
    }
    let rows = Rows::Dense { dim: 1, values: vec![1.0; 3] };
    let blocks = Regression::new(rows, vec![1.0; 3], &[0, 1, 3], Loss::Squares, 0.0).unwrap();
    let refusal = LinearSaga::new(&blocks, &[0.0], 0.1, SEED).unwrap_err();
    assert_eq!(refusal, LinearError::RowsPerUser { user: 1, rows: 2 });
    assert!(refusal.to_string().contains("take a session instead"));
}

#[test]
fn divergence_ends_a_run() {
    for problem in problems(Loss::Squares, 0.05) {
        let mut saga = LinearSaga::new(&problem, &start(), 50.0, SEED).unwrap();
        let reason = saga.run(5_000);
        assert!(matches!(reason, StopReason::Diverged { steps } if steps < 5_000), "{reason:?}");
        assert_eq!(saga.run(5_000), reason);
    }
}
