//! Every method against the naive reference, on the same injected sequence, to 1e-12.

use sgq::{
    LastGradient, Method, Oracle, Problem, Random, Session, Settings, Sight, StepSize,
    belief::Nothing,
    choice::{Sequence, SurrogateEi},
    method,
    problem::DenseQuadratic,
    update::{Saga, Sgd, Svrg},
};

use crate::{
    naive::{self, Ask, Setup, Step},
    random_problem::{Logged, log_steps, random_quadratic},
};

const STEPS: usize = 60;

/// A random problem, its settings, and the sequence that is injected.
struct Case {
    problem: DenseQuadratic,
    start: Vec<f64>,
    initial_step: f64,
    users: Vec<usize>,
    seed: u64,
}

/// 120 problems with n from 1 to 50 and d from 1 to 20; every tenth has one user only.
fn cases() -> impl Iterator<Item = Case> {
    (0..120).map(|seed| {
        let mut random = Random::new(seed, "reference");
        let users = if seed % 10 == 0 { 1 } else { 1 + random.index(50) };
        let dim = 1 + random.index(20);
        let (problem, start) = random_quadratic(&mut random, users, dim);
        let largest = problem.smoothness().unwrap().iter().copied().fold(0.0, f64::max);
        Case {
            problem,
            start,
            initial_step: 0.4 * random.unit() / largest,
            users: (0..STEPS).map(|_| random.index(users)).collect(),
            seed,
        }
    })
}

const DECAY: f64 = 0.01;

impl Case {
    fn settings(&self) -> Settings {
        Settings::for_problem(self.start.clone(), &self.problem)
            .step_size(StepSize::Decay { initial: self.initial_step, rate: DECAY })
            .seed(self.seed)
    }

    fn session(&self, method: Method) -> Session<'_> {
        Session::with_sight(method, self.settings(), Sight::Problem(&self.problem)).unwrap()
    }

    fn log(&self, session: &mut Session<'_>) -> Vec<Logged> {
        log_steps(session, &self.problem, STEPS)
    }

    fn naive(&self, run: impl Fn(&Setup<'_>) -> Vec<Step>) -> Vec<Step> {
        let gradient = |user: usize, x: &[f64]| {
            let mut gradient = vec![0.0; x.len()];
            self.problem.gradient(user, x, &mut gradient);
            gradient
        };
        run(&Setup {
            users: self.problem.users(),
            start: self.start.clone(),
            smoothness: self.problem.smoothness().unwrap().to_vec(),
            step_size: &|t| self.initial_step / (1.0 + DECAY * t as f64),
            gradient: &gradient,
        })
    }

    fn compare(&self, ours: &[Logged], reference: &[Step]) {
        assert_eq!(ours.len(), reference.len());
        for (step, (ours, reference)) in ours.iter().zip(reference).enumerate() {
            let place = format!("problem {}, step {step}", self.seed);
            assert_eq!(ours.user, reference.user, "user in {place}");
            assert_eq!(ours.queries, reference.queries, "queries in {place}");
            close(&ours.gradient, &reference.gradient, &place);
            close(&ours.asked_at, &reference.asked_at, &place);
            close(&ours.point_after, &reference.point_after, &place);
        }
    }
}

fn close(ours: &[f64], reference: &[f64], place: &str) {
    let scale = reference.iter().fold(1.0, |scale: f64, x| scale.max(x.abs()));
    for (x, y) in ours.iter().zip(reference) {
        assert!((x - y).abs() <= 1e-12 * scale, "{x} against {y} in {place}");
    }
}

/// What to inject into the reference: the users that the session explored, and an argmax where it did not.
fn asks(log: &[Logged]) -> Vec<Ask> {
    log.iter()
        .map(|step| match step.explored {
            Some(true) => Ask::Forced(step.user),
            _ => Ask::Argmax,
        })
        .collect()
}

#[test]
fn sgd() {
    for case in cases() {
        let injected = Sequence::new(case.users.clone());
        let log = case.log(&mut case.session(Method::new("sgd", Nothing, injected, Sgd)));
        case.compare(&log, &case.naive(|setup| naive::sgd(setup, &case.users)));
    }
}

#[test]
fn saga() {
    for case in cases() {
        let injected = Sequence::new(case.users.clone());
        let method = Method::new("saga", LastGradient::new(), injected, Saga);
        let log = case.log(&mut case.session(method));
        case.compare(&log, &case.naive(|setup| naive::saga(setup, &case.users)));
    }
}

#[test]
fn svrg() {
    for case in cases() {
        for inner_steps in [1, 10, 200] {
            let injected = Sequence::new(case.users.clone());
            let method = Method::new("svrg", Nothing, injected, Svrg::new(Some(inner_steps)));
            let log = case.log(&mut case.session(method));
            case.compare(&log, &case.naive(|setup| naive::svrg(setup, &case.users, inner_steps)));
        }
    }
}

#[test]
fn ogq() {
    for case in cases() {
        let log = case.log(&mut case.session(method::ogq()));
        case.compare(&log, &case.naive(|setup| naive::ogq(setup, STEPS)));
    }
}

#[test]
fn sgq() {
    for case in cases() {
        for (explore, weight) in [(0.0, 1.0), (0.3, 1.0), (0.3, 0.0), (0.5, 4.0), (1.0, 1.0)] {
            let choice = SurrogateEi::new(explore).bonus_weight(weight);
            let method = Method::new("sgq", LastGradient::new(), choice, Sgd);
            let log = case.log(&mut case.session(method));
            case.compare(&log, &case.naive(|setup| naive::sgq(setup, &asks(&log), weight)));
        }
    }
}

#[test]
fn saga_with_sgq_choice() {
    for case in cases() {
        let log = case.log(&mut case.session(method::saga_sgq(0.3)));
        case.compare(&log, &case.naive(|setup| naive::saga_with_sgq_choice(setup, &asks(&log), 1.0)));
    }
}

/// The bonus and the improvement themselves, not only the choices they lead to.
#[test]
fn scores() {
    let mut random = Random::new(1, "scores");
    for _ in 0..1_000 {
        let dim = 1 + random.index(20);
        let mean: Vec<f64> = (0..dim).map(|_| random.unit() - 0.5).collect();
        let gradient: Vec<f64> = (0..dim).map(|_| random.unit() - 0.5).collect();
        let [step, smoothness, error, mean_error] = [(); 4].map(|()| 3.0 * random.unit());
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let norm = |a: &[f64]| dot(a, a).sqrt();
        let improvement = sgq::expected_improvement(step, smoothness, dot(&mean, &gradient), norm(&gradient));
        let expected = naive::expected_improvement(step, smoothness, &mean, &gradient);
        assert!((improvement - expected).abs() <= 1e-12 * (1.0 + expected.abs()));
        let bonus = sgq::bonus(step, smoothness, norm(&mean), norm(&gradient), error, mean_error);
        let expected = naive::bonus(step, smoothness, &mean, &gradient, error, mean_error);
        assert!((bonus - expected).abs() <= 1e-12 * (1.0 + expected.abs()));
    }
}
