//! Answers that are out of line with those of all others (`Session::out_of_line`): who is, who is not, and that looking changes nothing.
//! The equation itself is compared in `frugal_reference`.

use sgq::{
    Answer, Detail, Method, Oracle, Problem, Random, Session, Settings, Sight,
    answer::packed,
    belief::Model,
    method,
    problem::{Loss, Quadratic},
    setting::Value,
};

use crate::random_problem::{random_quadratic, random_regression};

/// The default of `Protection::unexpected_factor`.
const LIMIT: f64 = 10.0;

fn problems() -> Vec<(&'static str, Box<dyn Problem>, Vec<f64>)> {
    let mut random = Random::new(7, "out of line");
    let (quadratic, start) = random_quadratic(&mut random, 30, 5);
    let squares = random_regression(Loss::Squares, 25, 4, 1.0, &mut random);
    let logistic = random_regression(Loss::Logistic, 40, 6, 1.0, &mut random);
    let counts = random_regression(Loss::Poisson, 30, 3, 0.5, &mut random);
    let wide = random_regression(Loss::Logistic, 20, 60, 0.3, &mut random);
    vec![
        ("quadratic", Box::new(quadratic), start),
        ("squares", Box::new(squares), vec![0.0; 4]),
        ("logistic", Box::new(logistic), vec![0.0; 6]),
        ("counts", Box::new(counts), vec![0.0; 3]),
        ("wide", Box::new(wide), vec![0.0; 60]),
    ]
}

fn session(problem: &dyn Problem, start: &[f64], learned: bool, answers: Detail, seed: u64) -> Session<'static> {
    let method = method::frugal().with("learned", Value::Switch(learned)).unwrap();
    let settings = Settings::for_problem(start.to_vec(), problem).answers(answers).seed(seed);
    Session::new(method, settings).unwrap()
}

fn norm(vector: &[f64]) -> f64 {
    vector.iter().map(|value| value * value).sum::<f64>().sqrt()
}

#[test]
fn honest_users_are_in_line() {
    for (name, problem, start) in problems() {
        for learned in [false, true] {
            for answers in [Detail::Gradient, Detail::Hessian] {
                let mut session = session(&*problem, &start, learned, answers, 3);
                let dim = problem.dim();
                let (mut gradient, mut hessian, mut looks) = (vec![0.0; dim], vec![0.0; dim * dim], 0);
                for _ in 0..4 * problem.users() {
                    let query = session.ask().unwrap().unwrap();
                    problem.gradient(query.user, &query.point, &mut gradient);
                    assert!(problem.hessian(query.user, &query.point, &mut hessian));
                    let told = packed(&hessian, dim);
                    let answer = Answer::new(&gradient);
                    let answer = if answers == Detail::Hessian { answer.hessian(&told) } else { answer };
                    if let Some(times) = session.out_of_line(query.user, &query.point, answer) {
                        looks += 1;
                        assert!(times < LIMIT, "{name}, learned: {learned}, {answers}: {times}");
                    }
                    session.tell(query.ticket, answer).unwrap();
                }
                assert!(looks + 20 > 4 * problem.users(), "{name}: {looks}");
            }
        }
    }
}

/// What somebody tells in place of the gradient.
type Lie = fn(&[f64]) -> Vec<f64>;

const LIES: [(&str, Lie); 4] = [
    ("−100 g", |g| g.iter().map(|value| -100.0 * value).collect()),
    ("one coordinate in other units", |g| {
        let mut lie = g.to_vec();
        let largest = (0..g.len()).max_by(|a, b| g[*a].abs().total_cmp(&g[*b].abs())).unwrap();
        lie[largest] *= 1e3;
        lie
    }),
    ("100 times as long, along the first axis", |g| {
        let mut lie = vec![0.0; g.len()];
        lie[0] = 100.0 * norm(g);
        lie
    }),
    ("something constant", |g| vec![1e3; g.len()]),
];

/// At any time from the fifth answer on: at once, or at the next question where the model sets the answer aside by itself.
#[test]
fn liars_are_out_of_line() {
    for (name, problem, start) in problems() {
        let mut gradient = vec![0.0; problem.dim()];
        for (what, lie) in LIES {
            let (mut at_once, mut again, mut never) = (0, 0, 0);
            for honest in 5..3 * problem.users() {
                let mut session = session(&*problem, &start, false, Detail::Gradient, 3);
                for _ in 0..honest {
                    let query = session.ask().unwrap().unwrap();
                    problem.gradient(query.user, &query.point, &mut gradient);
                    session.tell(query.ticket, &gradient).unwrap();
                }
                let query = session.ask().unwrap().unwrap();
                problem.gradient(query.user, &query.point, &mut gradient);
                let told = lie(&gradient);
                match session.out_of_line(query.user, &query.point, &told) {
                    Some(times) if times > LIMIT => at_once += 1,
                    Some(_) => never += 1,
                    None => {
                        session.tell(query.ticket, &told).unwrap();
                        assert_eq!(session.belief::<Model>().unwrap().set_aside_last(), Some(query.user), "{name}");
                        let next = session.ask().unwrap().unwrap();
                        assert_eq!(next.user, query.user);
                        problem.gradient(next.user, &next.point, &mut gradient);
                        let times = session.out_of_line(next.user, &next.point, &lie(&gradient));
                        let caught = times.is_some_and(|times| times > LIMIT);
                        (again, never) = (again + usize::from(caught), never + usize::from(!caught));
                    }
                }
            }
            assert!(at_once > 0 && never * 10 <= at_once + again, "{name}, {what}: {at_once}, {again}, {never}");
        }
    }
}

#[test]
fn looking_changes_nothing() {
    let (_, problem, start) = problems().swap_remove(0);
    let mut session = session(&*problem, &start, true, Detail::Gradient, 5);
    let mut gradient = vec![0.0; problem.dim()];
    for _ in 0..70 {
        let query = session.ask().unwrap().unwrap();
        problem.gradient(query.user, &query.point, &mut gradient);
        let before = session.snapshot().unwrap();
        let method = method::frugal().with("learned", Value::Switch(true)).unwrap();
        let restored = Session::restore(method, &before, Sight::Blind).unwrap();
        for factor in [1.0, -1e3, 1e200] {
            let answer: Vec<f64> = gradient.iter().map(|value| factor * value).collect();
            let look = |session: &Session<'_>| session.out_of_line(query.user, &query.point, &answer);
            // A session that goes on elsewhere says the same, to the bit.
            assert_eq!(look(&session).map(f64::to_bits), look(&restored).map(f64::to_bits));
        }
        assert_eq!(session.snapshot().unwrap(), before);
        session.tell(query.ticket, &gradient).unwrap();
    }
}

/// Methods without a model, answers that cannot be taken, and too few others.
#[test]
fn nothing_is_said_where_nothing_is_known() {
    let problem = Quadratic::scalar(&[1.0; 6], &[3.0, 2.0, 1.0, -1.0, -2.0, -3.0]).unwrap();
    let methods: [fn() -> Method; 3] = [method::saga, method::shuffled_sgd, method::frugal];
    for (which, method) in methods.into_iter().enumerate() {
        let settings = Settings::for_problem(vec![5.0], &problem).step_size(0.1);
        let settings = if which == 2 { Settings::for_problem(vec![5.0], &problem) } else { settings };
        let mut session = Session::new(method(), settings).unwrap();
        let mut gradient = [0.0];
        for told in 0..12 {
            let query = session.ask().unwrap().unwrap();
            let look = |answer: &[f64]| session.out_of_line(query.user, &query.point, answer);
            let asked = session.meter().billed_per_user().iter().enumerate();
            let others = asked.filter(|(user, queries)| *user != query.user && **queries > 0).count();
            let is_some = look(&[1e4]).or(look(&[-1e4])).is_some();
            assert_eq!(is_some, which == 2 && others >= 3, "method {which}, after {told}");
            assert!(look(&[f64::NAN]).is_none() && look(&[1.0, 2.0]).is_none());
            assert!(session.out_of_line(6, &query.point, &[1.0]).is_none());
            assert!(session.out_of_line(query.user, &[1.0, 2.0], &[1.0]).is_none());
            problem.gradient(query.user, &query.point, &mut gradient);
            session.tell(query.ticket, &gradient).unwrap();
        }
    }
}

/// An answer counts what its user counts, as it was said before or says itself; noise that it states may be what makes it long.
#[test]
fn weights_and_stated_noise_are_allowed_for() {
    let weighs = |weight: f64| {
        let mut weights = vec![1.0; 6];
        weights[5] = weight;
        let settings = Settings::new(vec![5.0], 6).smoothness(vec![1.0; 6]).weights(weights).seed(2);
        let mut session = Session::new(method::frugal(), settings).unwrap();
        session.away(5).unwrap();
        for _ in 0..5 {
            let query = session.ask().unwrap().unwrap();
            session.tell(query.ticket, &[query.point[0] - query.user as f64]).unwrap();
        }
        session
    };
    let look = |session: &Session<'_>, answer: Answer<'_>| session.out_of_line(5, &[5.0], answer).unwrap();
    let honest = [5.0 + 5.0];
    assert!(look(&weighs(1.0), Answer::new(&honest)) < LIMIT);
    let mut session = weighs(1e4);
    assert!(look(&session, Answer::new(&honest)) > LIMIT);
    session = weighs(1.0);
    assert!(look(&session, Answer::new(&honest).weight(1e4)) > LIMIT);
    let long = Answer::new(&[-300.0]);
    assert!(look(&session, long) > LIMIT);
    assert!(look(&session, long.variance(&[1e4])) < LIMIT);
}
