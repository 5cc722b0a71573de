//! The competitors against naive versions of them, on the same users or the same random draws, to 1e-12.
//!
//! The naive versions are written from the publications, and from the documentation of the parts where that says what is
//! adapted. They keep everything as lists of vectors and recompute it in full; they share no code with the library but the
//! stream of random numbers.

mod algebra;
mod availability;
mod choices;
mod heavy_ball;
mod lazy_starts;
mod newton_updates;
mod refused;
mod resumed;
mod sequential_updates;
mod snapshot_updates;
mod unbiased;

use sgq::{
    Belief, Choice, Method, Oracle, Problem, Random, Session, Settings, Sight, StepSize, Update, problem::Optimum,
};

use crate::random_problem::random_quadratic;
use algebra::{Matrix, Vector, dot, norm, plus, times};

/// One query: who was asked, where, and where the method stood once it had the answer.
#[derive(Clone, Debug)]
struct Asked {
    user: usize,
    at: Vector,
    after: Vector,
}

/// A problem and the settings of a run on it.
struct Case {
    problem: Box<dyn Problem>,
    start: Vector,
    initial_step: f64,
    seed: u64,
}

const DECAY: f64 = 0.01;

/// Quadratics and log-cosh problems in turn, with 1 to 12 users and 1 to 8 parameters.
fn cases() -> impl Iterator<Item = Case> {
    (0..40).map(|seed| {
        let mut random = Random::new(seed, "competitor reference");
        let (users, dim) = (1 + random.index(12), 1 + random.index(8));
        case(&mut random, seed, users, dim)
    })
}

/// A quadratic for an even seed, a log-cosh problem for an odd one.
fn case(random: &mut Random, seed: u64, users: usize, dim: usize) -> Case {
    let (problem, start): (Box<dyn Problem>, Vector) = if seed.is_multiple_of(2) {
        let (problem, start) = random_quadratic(random, users, dim);
        (Box::new(problem), start)
    } else {
        (Box::new(LogCosh::new(random, users, dim)), (0..dim).map(|_| 6.0 * random.unit() - 3.0).collect())
    };
    let largest = problem.smoothness().unwrap().iter().copied().fold(0.0, f64::max);
    let initial_step = (0.05 + 0.35 * random.unit()) / largest;
    Case { problem, start, initial_step, seed }
}

impl Case {
    fn users(&self) -> usize {
        self.problem.users()
    }

    fn settings(&self) -> Settings {
        Settings::for_problem(self.start.clone(), &*self.problem)
            .step_size(StepSize::Decay { initial: self.initial_step, rate: DECAY })
            .seed(self.seed)
    }

    fn session<B: Belief + Clone>(&self, belief: B, choice: impl Choice<B>, update: impl Update<B>) -> Session<'_> {
        let method = Method::new("competitor", belief, choice, update);
        Session::with_sight(method, self.settings(), Sight::Problem(&*self.problem)).unwrap()
    }

    /// `∇f_i(x)`.
    fn gradient(&self, user: usize, x: &[f64]) -> Vector {
        let mut gradient = vec![0.0; x.len()];
        self.problem.gradient(user, x, &mut gradient);
        gradient
    }

    /// `∇²f_i(x)`.
    fn hessian(&self, user: usize, x: &[f64]) -> Matrix {
        let mut entries = vec![0.0; x.len() * x.len()];
        assert!(self.problem.hessian(user, x, &mut entries));
        entries.chunks(x.len()).map(<[f64]>::to_vec).collect()
    }

    /// `L_i` of every user.
    fn smoothness(&self) -> Vector {
        self.problem.smoothness().unwrap().to_vec()
    }

    /// The random numbers that a session with these settings draws.
    fn draws(&self) -> Random {
        Random::new(self.seed, "choice")
    }

    /// A sequence of users to inject.
    fn injected(&self, length: usize) -> Vec<usize> {
        let mut random = Random::new(self.seed, "injected");
        (0..length).map(|_| random.index(self.users())).collect()
    }

    /// Runs a session for that many queries.
    fn log(&self, session: &mut Session<'_>, queries: usize) -> Vec<Asked> {
        let mut log = Vec::new();
        while log.len() < queries {
            let query = session.ask().unwrap().expect("no stop condition is set");
            session.tell(query.ticket, &self.gradient(query.user, &query.point)).unwrap();
            log.push(Asked { user: query.user, at: query.point.to_vec(), after: session.point().to_vec() });
        }
        assert_eq!(session.queries(), queries as u64);
        log
    }

    /// Compares a session with the beginning of a naive run.
    fn compare(&self, session: &mut Session<'_>, naive: &[Asked], queries: usize) {
        self.compare_within(1e-12, session, naive, queries);
    }

    fn compare_within(&self, tolerance: f64, session: &mut Session<'_>, naive: &[Asked], queries: usize) {
        let ours = self.log(session, queries);
        assert!(naive.len() >= queries);
        for (number, (ours, naive)) in ours.iter().zip(naive).enumerate() {
            let place = format!("problem {}, query {number}", self.seed);
            assert_eq!(ours.user, naive.user, "user in {place}");
            close(&ours.at, &naive.at, tolerance, &place);
            close(&ours.after, &naive.after, tolerance, &place);
        }
    }
}

fn close(ours: &[f64], naive: &[f64], tolerance: f64, place: &str) {
    assert_eq!(ours.len(), naive.len());
    let scale = naive.iter().fold(1.0, |scale: f64, x| scale.max(x.abs()));
    for (x, y) in ours.iter().zip(naive) {
        assert!((x - y).abs() <= tolerance * scale, "{x} against {y} in {place}");
    }
}

/// A naive run under way: what has been asked, where it stands, and how often it has moved.
struct Run<'a> {
    case: &'a Case,
    asked: Vec<Asked>,
    x: Vector,
    moves: u64,
}

impl<'a> Run<'a> {
    fn new(case: &'a Case) -> Self {
        Self { case, asked: Vec::new(), x: case.start.clone(), moves: 0 }
    }

    /// `α_t`, where `t` counts the moves so far.
    fn alpha(&self) -> f64 {
        self.case.initial_step / (1.0 + DECAY * self.moves as f64)
    }

    /// Asks a user at any point.
    fn ask_at(&mut self, user: usize, at: &[f64]) -> Vector {
        self.asked.push(Asked { user, at: at.to_vec(), after: self.x.clone() });
        self.case.gradient(user, at)
    }

    /// Asks a user where the run stands.
    fn ask(&mut self, user: usize) -> Vector {
        let here = self.x.clone();
        self.ask_at(user, &here)
    }

    /// Asks everybody, from the first to the last.
    fn ask_all(&mut self) -> Vec<Vector> {
        (0..self.case.users()).map(|user| self.ask(user)).collect()
    }

    /// Goes to a point, on the last answer.
    fn go(&mut self, to: Vector) {
        self.asked.last_mut().unwrap().after = to.clone();
        self.x = to;
        self.moves += 1;
    }
}

/// `f_i(x) = Σ_r ln cosh(a_irᵀx − b_ir) + (λ/2) ‖x‖²`: smooth, strongly convex, and no quadratic.
struct LogCosh {
    rows: Vec<Vec<(Vector, f64)>>,
    smoothness: Vector,
}

impl LogCosh {
    const LAMBDA: f64 = 0.2;

    fn new(random: &mut Random, users: usize, dim: usize) -> Self {
        let mut rows = Vec::new();
        for _ in 0..users {
            let scale = 0.5 + random.unit();
            let mut row = || -> (Vector, f64) {
                ((0..dim).map(|_| scale * (2.0 * random.unit() - 1.0)).collect(), 4.0 * random.unit() - 2.0)
            };
            rows.push((0..dim + 1).map(|_| row()).collect::<Vec<_>>());
        }
        // (ln cosh)″ ≤ 1, and the largest eigenvalue of Σ a aᵀ is at most its trace.
        let smoothness =
            rows.iter().map(|rows| rows.iter().map(|(a, _)| dot(a, a)).sum::<f64>() + Self::LAMBDA).collect();
        Self { rows, smoothness }
    }
}

impl Oracle for LogCosh {
    fn users(&self) -> usize {
        self.rows.len()
    }

    fn dim(&self) -> usize {
        self.rows[0][0].0.len()
    }

    fn gradient(&self, user: usize, point: &[f64], gradient: &mut [f64]) {
        let mut sum = times(Self::LAMBDA, point);
        for (a, b) in &self.rows[user] {
            sum = plus(&sum, &times((dot(a, point) - b).tanh(), a));
        }
        gradient.copy_from_slice(&sum);
    }

    fn hessian(&self, user: usize, point: &[f64], hessian: &mut [f64]) -> bool {
        let dim = point.len();
        for (place, entry) in hessian.iter_mut().enumerate() {
            let (row, column) = (place / dim, place % dim);
            *entry = if row == column { Self::LAMBDA } else { 0.0 };
            for (a, b) in &self.rows[user] {
                let tanh = (dot(a, point) - b).tanh();
                *entry += (1.0 - tanh * tanh) * a[row] * a[column];
            }
        }
        true
    }
}

impl Problem for LogCosh {
    fn user_value(&self, user: usize, point: &[f64]) -> f64 {
        let log_cosh = |z: f64| z.abs() + (-2.0 * z.abs()).exp().ln_1p() - std::f64::consts::LN_2;
        let rows: f64 = self.rows[user].iter().map(|(a, b)| log_cosh(dot(a, point) - b)).sum();
        rows + 0.5 * Self::LAMBDA * norm(point) * norm(point)
    }

    fn smoothness(&self) -> Option<&[f64]> {
        Some(&self.smoothness)
    }

    fn pl_constant(&self) -> Option<f64> {
        Some(Self::LAMBDA)
    }

    fn optimum(&self) -> Option<&Optimum> {
        None
    }
}
