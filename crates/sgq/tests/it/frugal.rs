//! Frugal where it is not compared step by step: unknown smoothness, many parameters, failures of the model, and odd users.

use std::collections::VecDeque;

use sgq::{
    Method, Oracle as _, Problem, Random, Session, Settings, Sight,
    belief::Model,
    choice::Informative,
    method,
    problem::{Custom, Loss, Quadratic, Regression},
    update::ToMinimiser,
};

use crate::random_problem::random_regression;

type Frugal = Session<'static>;

fn open(settings: Settings) -> Frugal {
    Session::new(method::frugal(), settings).unwrap()
}

fn model(session: &Frugal) -> &Model {
    session.belief().unwrap()
}

/// Asks once; returns who was asked, and where.
#[track_caller]
fn advance(session: &mut Frugal, problem: &dyn Problem) -> (usize, Vec<f64>) {
    let query = session.ask().unwrap().expect("no stop condition is set");
    let mut gradient = vec![0.0; problem.dim()];
    problem.gradient(query.user, &query.point, &mut gradient);
    session.tell(query.ticket, &gradient).unwrap();
    assert!(session.point().iter().all(|x| x.is_finite()), "{:?}", session.point());
    assert_eq!(session.stop_reason(), None);
    (query.user, query.point.to_vec())
}

/// Sessions that are restored before some of the queries ask and move as the one that goes on.
pub fn goes_on_bit_for_bit(
    session: &mut Frugal,
    queries: usize,
    is_restored_before: impl Fn(usize) -> bool,
    advance: impl Fn(&mut Frugal) -> (usize, Vec<f64>),
) {
    let mut restored: Vec<Frugal> = Vec::new();
    for query in 0..queries {
        if is_restored_before(query) {
            let bytes = session.snapshot().unwrap();
            restored.push(Session::restore(method::frugal(), &bytes, Sight::Blind).unwrap());
        }
        let asked = advance(session);
        for other in &mut restored {
            assert_eq!(advance(other), asked);
            assert_eq!(other.point(), session.point());
        }
    }
    assert!(!restored.is_empty());
    let last = session.snapshot().unwrap();
    restored.iter().for_each(|other| assert_eq!(other.snapshot().unwrap(), last));
}

/// `‖∇f(x)‖`.
fn slope(problem: &dyn Problem, x: &[f64]) -> f64 {
    let (mut mean, mut gradient) = (vec![0.0; x.len()], vec![0.0; x.len()]);
    for user in 0..problem.users() {
        problem.gradient(user, x, &mut gradient);
        mean.iter_mut().zip(&gradient).for_each(|(mean, value)| *mean += value / problem.users() as f64);
    }
    norm(&mean)
}

fn norm(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// Curvatures from ½ to 3/2 and centers from −2 to 2.
fn quadratic(users: usize, dim: usize, seed: u64) -> Quadratic {
    let mut random = Random::new(seed, "frugal quadratic");
    let mut table = |low: f64, high: f64| -> Vec<Vec<f64>> {
        (0..users).map(|_| (0..dim).map(|_| low + (high - low) * random.unit()).collect()).collect()
    };
    Quadratic::diagonal(&table(0.5, 1.5), &table(-2.0, 2.0)).unwrap()
}

/// A problem of which only gradients are asked, each coordinate's a function of user, coordinate and value.
fn from_slopes(users: usize, dim: usize, slope: impl Fn(usize, usize, f64) -> f64 + Sync) -> impl Problem {
    Custom::new(
        users,
        dim,
        |_, _| 0.0,
        move |user, x: &[f64], gradient: &mut [f64]| {
            gradient.iter_mut().zip(x).enumerate().for_each(|(k, (value, x))| *value = slope(user, k, *x));
        },
    )
}

#[test]
fn without_smoothness_one_of_the_first_three_is_asked_twice() {
    for seed in 0..10 {
        let problem = quadratic(12, 4, seed);
        let start = vec![3.0, -3.0, 3.0, 0.0];
        let mut session = open(Settings::new(start.clone(), 12).seed(seed));
        let (mut gradient, mut mean, mut lengths) = (vec![0.0; 4], vec![0.0; 4], Vec::new());
        for _ in 0..3 {
            let (user, at) = advance(&mut session, &problem);
            assert_eq!(at, start);
            problem.gradient(user, &start, &mut gradient);
            mean.iter_mut().zip(&gradient).for_each(|(mean, slope)| *mean += slope / 3.0);
            lengths.push((norm(&gradient), user));
        }
        lengths.sort_by(|one, other| one.0.total_cmp(&other.0));
        let (first, at) = advance(&mut session, &problem);
        assert_eq!(first, lengths[2].1, "whose gradient is the longest");
        // A little way down the mean gradient.
        let way: Vec<f64> = at.iter().zip(&start).map(|(at, start)| at - start).collect();
        let along: f64 = way.iter().zip(&mean).map(|(way, mean)| way * mean).sum();
        let little = 1e-4 * (1.0 + norm(&start));
        assert!((norm(&way) / little - 1.0).abs() < 1e-9);
        assert!((along / (norm(&mean) * little) + 1.0).abs() < 1e-9);
        assert_ne!(advance(&mut session, &problem).0, first);
        (0..117).for_each(|_| _ = advance(&mut session, &problem));
        let gap = problem.gap(session.point()).unwrap() / problem.gap(&start).unwrap();
        assert!(gap < 1e-10, "{gap:e} with seed {seed}");
    }
}

#[test]
fn without_smoothness_a_first_gradient_of_zero_does_not_stop_it() {
    let problem = from_slopes(5, 2, |user, _, x| if user < 3 { 0.0 } else { x - user as f64 });
    for seed in 0..10 {
        let mut session = open(Settings::new(vec![10.0; 2], 5).seed(seed));
        (0..100).for_each(|_| _ = advance(&mut session, &problem));
        assert!(slope(&problem, session.point()) < 1e-6, "seed {seed}");
    }
}

#[test]
fn without_smoothness_a_first_user_without_curvature_does_not_stop_it() {
    let problem = from_slopes(5, 2, |user, k, x| (x - (user + k) as f64).clamp(-1.0, 1.0));
    for seed in 0..10 {
        let mut session = open(Settings::new(vec![10.0; 2], 5).seed(seed));
        (0..200).for_each(|_| _ = advance(&mut session, &problem));
        assert!(slope(&problem, session.point()) < 1e-3, "seed {seed}");
    }
}

/// One user's gradient is the same everywhere: whoever comes first, the others are asked too.
#[test]
fn without_smoothness_a_user_without_curvature_does_not_hold_up_the_others() {
    let problem = from_slopes(5, 2, |user, _, x| if user == 0 { 1.0 } else { x - user as f64 });
    for seed in 0..20 {
        let mut session = open(Settings::new(vec![10.0; 2], 5).seed(seed));
        (0..200).for_each(|_| _ = advance(&mut session, &problem));
        assert!(slope(&problem, session.point()) < 1e-6, "seed {seed}");
    }
}

#[test]
fn the_mean_of_the_last_gradients_forgets_larger_ones() {
    for large in [1e20, 1e300, f64::MAX] {
        let mut session = open(Settings::new(vec![1.0], 3).smoothness(vec![0.1 * large; 3]));
        let mut times = [0; 3];
        while times.contains(&0) || times.contains(&1) {
            let query = session.ask().unwrap().unwrap();
            let gradient = if times[query.user] == 0 { large } else { 0.1 * (1 + query.user) as f64 };
            session.tell(query.ticket, &[gradient]).unwrap();
            times[query.user] += 1;
            assert!(session.stop_reason().is_none() && session.queries() < 100, "{large:e}: {times:?}");
        }
        assert!((session.surrogate_gradient_norm().unwrap() - 0.2).abs() < 1e-15, "{large:e}");
    }
}

/// Beyond 256 parameters curvature is of low rank.
#[test]
fn many_parameters() {
    for dim in [256, 257, 400] {
        let problem = quadratic(10, dim, 1);
        let start = vec![3.0; dim];
        let mut session = open(Settings::for_problem(start.clone(), &problem));
        let queries = if dim > 256 { 200 } else { 15 };
        (0..queries).for_each(|_| _ = advance(&mut session, &problem));
        let gap = problem.gap(session.point()).unwrap() / problem.gap(&start).unwrap();
        assert!(gap < if dim > 256 { 1e-12 } else { 1e-2 }, "{gap:e} with {dim} parameters");
    }
}

#[test]
fn a_restored_session_goes_on_bit_for_bit() {
    let problem = logistic(9, 3, 7);
    for settings in [
        Settings::for_problem(vec![0.5; 3], &problem).costs((1..10).map(f64::from).collect()),
        Settings::new(vec![0.5; 3], 9),
    ] {
        let mut session = open(settings.seed(3));
        goes_on_bit_for_bit(&mut session, 40, |_| true, |session| advance(session, &problem));
    }
}

fn logistic(users: usize, dim: usize, seed: u64) -> Regression {
    random_regression(Loss::Logistic, users, dim, 2.0, &mut Random::new(seed, "frugal logistic"))
}

/// `e^x` soon grows past what the model believes: some answers are set aside, and still all is well.
#[test]
fn answers_set_aside_are_paid_for_and_asked_again() {
    let mut set_aside = 0;
    for seed in 0..20 {
        let mut random = Random::new(seed, "frugal Poisson");
        let problem = random_regression(Loss::Poisson, 10, 2, 4.0, &mut random);
        let start = vec![-1.0, 1.0];
        let mut session = open(Settings::for_problem(start.clone(), &problem).seed(seed));
        for query in 1..=400 {
            let before = model(&session).set_aside_last();
            let (user, _) = advance(&mut session, &problem);
            assert_eq!(session.queries(), query);
            assert!(before.is_none_or(|before| before == user), "another user is asked with seed {seed}");
            if let Some(who) = model(&session).set_aside_last() {
                assert_eq!(who, user);
                set_aside += 1;
            }
        }
        let gap = problem.gap(session.point()).unwrap() / problem.gap(&start).unwrap();
        assert!(gap < 1e-12, "{gap:e} with seed {seed}");
    }
    assert!(set_aside >= 5, "{set_aside}");
}

/// Downhill for ever, with several questions out: a move goes at most twice as far on as where somebody has answered (or a
/// gradient's length over `L`, from there), however many answers come.
#[test]
fn moves_do_not_run_ahead_of_the_answers() {
    let mut session = open(Settings::new(vec![0.0], 20).smoothness(vec![1.0; 20]).open(4));
    let (mut out, mut farthest) = (VecDeque::new(), 0f64);
    for _ in 0..60 {
        out.extend(session.ask_many(4).unwrap());
        let (query, before) = (out.pop_front().unwrap(), session.point()[0]);
        session.tell(query.ticket, &[-1.0]).unwrap();
        farthest = farthest.max(query.point[0]);
        let most = before.max(3.0 * farthest).max(farthest + 1.0);
        // Nobody has answered at a move yet: then it goes by what is expected.
        assert!(farthest == 0.0 || session.point()[0] <= most + 1e-12, "{:?} and not {most}", session.point());
    }
    assert!(farthest > 10.0, "{farthest}");
}

/// An answer that is set aside leads back half of the way to the start, and further where it is very long.
#[test]
fn the_longer_an_answer_set_aside_the_further_back() {
    let back_to = |answer: f64| {
        let mut session = open(Settings::new(vec![0.0], 4).smoothness(vec![1.0; 4]));
        for gradient in [-1.0, -1.0, -1.0, answer] {
            let query = session.ask().unwrap().unwrap();
            session.tell(query.ticket, &[gradient]).unwrap();
            if gradient > 0.0 {
                assert_eq!(model(&session).set_aside_last(), Some(query.user));
                return session.point()[0] / query.point[0];
            }
        }
        unreachable!("the fourth answer is uphill");
    };
    for (answer, part) in [(4.0, 0.5), (30.0, 0.5), (1e3, 6f64.ln() / 1e3f64.ln()), (1e300, 0.02)] {
        assert!((back_to(answer) - part).abs() < 1e-12, "{answer}: {} and not {part}", back_to(answer));
    }
}

/// Without any `L_i`, a user without curvature is not asked for ever, not even after all others, who are at their optimum.
#[test]
fn flat_users_are_passed_over_for_good() {
    let problem = from_slopes(6, 1, |user, _, x| if user == 5 { 1.0 } else { x });
    for seed in 0..20 {
        let mut session = open(Settings::new(vec![0.0], 6).seed(seed));
        let asked: Vec<usize> = (0..120).map(|_| advance(&mut session, &problem).0).collect();
        assert!(asked.iter().filter(|user| **user == 5).count() < 40, "{asked:?}");
        assert!((session.point()[0] + 0.2).abs() < 1e-6, "{:?} with seed {seed}", session.point());
    }
}

/// `L_i` that are to be learned are not looked at, though they are known.
#[test]
fn learned_smoothness_is_not_that_which_is_told() {
    let mut random = Random::new(1, "learned");
    let problem = random_regression(Loss::Squares, 12, 3, 1.0, &mut random);
    let told = Settings::for_problem(vec![0.0; 3], &problem);
    let mut without = open(Settings::new(vec![0.0; 3], 12));
    let mut known = open(told.clone());
    let mut learning =
        Session::new(Method::new("frugal", Model::new().learning(true), Informative::new(), ToMinimiser::new()), told)
            .unwrap();
    for _ in 0..40 {
        let asked = [&mut without, &mut known, &mut learning].map(|session| advance(session, &problem));
        assert_eq!(asked[2], asked[0]);
    }
    assert_eq!(learning.point(), without.point());
    assert_ne!(learning.point(), known.point());
}

/// Without any `L_i`, two answers close to each other say little of curvature that grows like an exponential on the way.
#[test]
fn counts_without_smoothness() {
    for seed in 0..20 {
        let mut random = Random::new(seed, "counts");
        let counts: Vec<f64> = (0..20).map(|_| 50.0 + 350.0 * random.unit()).collect();
        let problem = from_slopes(20, 2, move |user, k, x| (1.0 + k as f64) * x.exp() - counts[user]);
        let mut session = open(Settings::new(vec![0.0; 2], 20).seed(seed));
        let first = slope(&problem, session.point());
        for query in 0..100 {
            advance(&mut session, &problem);
            let now = slope(&problem, session.point());
            assert!(now < 50.0 * first, "{now:e} after {first:e}, query {query} with seed {seed}");
        }
        let last = slope(&problem, session.point());
        assert!(last < 1e-3 * first, "{last:e} after {first:e} with seed {seed}");
    }
}

/// Without any `L_i`: the scale that was learned at the start does not slow down what comes later, be it that curvature falls on
/// the way, that there are few users, or that one of them is not like the others.
#[test]
fn arrives_without_smoothness() {
    type Slope = fn(usize, f64) -> f64;
    let problems: [(&str, f64, Slope); 5] = [
        ("squares", 3.0, |user, x| (1.0 + (user % 3) as f64) * (x - (user % 5) as f64)),
        ("exponential", 10.0, |user, x| x.exp() - 1.0 - 0.1 * (user % 5) as f64),
        ("cubic", 30.0, |user, x| (x - (user % 5) as f64).powi(3) + x - (user % 5) as f64),
        ("one steeper", 2.0, |user, x| if user % 2 == 0 { x - 2.0 } else { 50.0 * (x + 1.0) }),
        ("one curved", 3.0, |user, x| if user == 0 { 10.0 * x } else { 0.1 }),
    ];
    for (name, start, slope_of) in problems {
        for (users, dim) in [(1, 1), (2, 1), (3, 1), (20, 1), (1, 3), (2, 3), (3, 3), (20, 3)] {
            let problem = from_slopes(users, dim, |user, _, x| slope_of(user, x));
            let mut session = open(Settings::new(vec![start; dim], users));
            let first = slope(&problem, session.point());
            let queries = if name == "one curved" { 40 * users + 60 } else { 250 };
            (0..queries).for_each(|_| _ = advance(&mut session, &problem));
            let last = slope(&problem, session.point());
            assert!(last <= 1e-6 * first, "{last:e} after {first:e}: {name}, {users} users, {dim}");
        }
    }
}

/// Users whose answers are long wherever they are asked are believed the second time.
#[test]
fn a_short_first_answer_holds_nobody_up() {
    let users = 30;
    let problem = from_slopes(users, 1, |user, _, x| if user == 0 { x + 0.01 } else { x - 5.0 - user as f64 });
    let settings = (0..).map(|seed| Settings::new(vec![0.0], users).smoothness(vec![1.0; users]).seed(seed));
    // One that asks the first user first: all others are then uphill, and longer by far.
    let first_user = |session: &mut Frugal| session.ask().unwrap().unwrap().user;
    let mut session =
        settings.map(open).find_map(|mut session| (first_user(&mut session) == 0).then_some(session)).unwrap();
    for _ in 0..8 {
        advance(&mut session, &problem);
    }
    let minimum = (5.0 * 29.0 + 435.0 - 0.01) / 30.0;
    assert!((session.point()[0] - minimum).abs() < 0.5 * minimum, "{:?}", session.point());
}

/// Where there is a minimum it is found; nothing breaks where there is none, or where all are there already.
#[test]
fn odd_users() {
    let nothing = from_slopes(4, 2, |_, _, _| 0.0);
    let linear = from_slopes(3, 2, |user, _, _| user as f64);
    let single = from_slopes(1, 2, |_, k, x| (1.0 + k as f64) * (x - 1.0));
    let two = from_slopes(2, 1, |user, _, x| x - user as f64);
    let alike = from_slopes(6, 3, |_, k, x| (1.0 + k as f64) * (x + 2.0));
    let some_idle = from_slopes(5, 2, |user, _, x| if user < 2 { 0.0 } else { x - user as f64 });
    let problems: [(&dyn Problem, bool); 6] =
        [(&nothing, true), (&linear, false), (&single, true), (&two, true), (&alike, true), (&some_idle, true)];
    for (number, (problem, has_minimum)) in problems.into_iter().enumerate() {
        let users = problem.users();
        for start in [0.0, 1.0, 100.0] {
            let start = vec![start; problem.dim()];
            for settings in [
                Settings::new(start.clone(), users).smoothness(vec![3.0; users]),
                Settings::new(start.clone(), users).smoothness((0..users).map(|user| 3.0 + user as f64).collect()),
            ] {
                let mut session = open(settings);
                (0..200).for_each(|_| _ = advance(&mut session, problem));
                let slope = slope(problem, session.point());
                assert!(slope < 1e-10 || !has_minimum, "{slope:e} in problem {number} from {start:?}");
            }
            // Without a bound on the curvature it goes down for ever where there is no minimum.
            if has_minimum {
                let mut without = open(Settings::new(start, users));
                (0..200).for_each(|_| _ = advance(&mut without, problem));
            }
        }
    }
}

#[test]
fn random_regressions() {
    let mut late = Vec::new();
    for seed in 0..60 {
        let mut random = Random::new(seed, "frugal regressions");
        let loss = [Loss::Squares, Loss::Logistic, Loss::Huber { delta: 0.7 }][random.index(3)];
        let (users, dim) = (1 + random.index(25), 1 + random.index(8));
        let problem = random_regression(loss, users, dim, 1.0, &mut random);
        let start: Vec<f64> = (0..dim).map(|_| 6.0 * random.unit() - 3.0).collect();
        let gap = |session: &Frugal| problem.gap(session.point()).unwrap() / problem.gap(&start).unwrap();
        for (settings, small) in
            [(Settings::for_problem(start.clone(), &problem), 0.1), (Settings::new(start.clone(), users), 0.2)]
        {
            let mut session = open(settings.seed(seed));
            for query in 0..12 * users {
                advance(&mut session, &problem);
                // The first steps rest on a few users, and can well lead uphill.
                assert!(gap(&session) < 1e3, "{:e} in problem {seed}, query {query}", gap(&session));
            }
            assert!(gap(&session) < 1.5, "{:e} in problem {seed}: {loss:?}, {users} users, {dim}", gap(&session));
            if gap(&session) >= small {
                late.push((seed, loss, users, dim));
            }
        }
    }
    // Two users with Huber's loss and one parameter, each flat where the other is curved: moves go to and fro until SAGA takes over.
    assert!(late.len() <= 1, "{late:?}");
}

/// Steep where they are curved at all: what the model sees of such users does not hold a step further on.
#[test]
fn where_the_model_fails_saga_takes_over() {
    let (mut most_by_saga, mut model_again) = (0, false);
    for steepness in [10.0, 100.0] {
        for seed in 0..6 {
            let problem = from_slopes(7, 3, |user, k, x| {
                let way = x - ((user * 7 + k * 3) % 11) as f64 + 5.0;
                0.01 * way + (steepness * way).tanh()
            });
            let smoothness = vec![steepness + 0.01; 7];
            let mut session = open(Settings::new(vec![8.0; 3], 7).smoothness(smoothness).seed(seed));
            let target = 1e-6 * slope(&problem, session.point());
            let mut by_saga = 0;
            while slope(&problem, session.point()) > target {
                let (_, asked_at) = advance(&mut session, &problem);
                let by_this = model(&session).has_failed();
                model_again |= by_saga > 0 && !by_this;
                if by_this {
                    by_saga += 1;
                    // `1/(3 L_max)` times three gradients, of which none is longer than 2√3.
                    let moved: Vec<f64> = session.point().iter().zip(&asked_at).map(|(x, y)| x - y).collect();
                    assert!(norm(&moved) <= 3.0 * 2.0 * 3f64.sqrt() / (3.0 * steepness), "{moved:?}");
                }
                assert!(session.queries() < 20_000, "steepness {steepness}, seed {seed}");
            }
            most_by_saga = most_by_saga.max(by_saga);
        }
    }
    assert!(most_by_saga >= 7 && model_again, "{most_by_saga} by SAGA");
}

/// Answers of any size, from a user that may be lying: nothing panics.
#[test]
fn answers_of_any_size() {
    for seed in 0..60 {
        let mut random = Random::new(seed, "frugal sizes");
        let (users, dim) = (1 + random.index(4), [1, 2, 5, 257][random.index(4)]);
        let settings = Settings::new(vec![1.0; dim], users).seed(seed);
        let scale = 10f64.powi(random.index(600) as i32 - 300);
        let settings = if seed % 2 == 0 { settings.smoothness(vec![scale; users]) } else { settings };
        let mut session = open(settings);
        while let Some(query) = session.ask().unwrap().filter(|_| session.queries() < 60) {
            let size = 10f64.powi(random.index(616) as i32 - 308) * if random.index(5) == 0 { 0.0 } else { 1.0 };
            let gradient: Vec<f64> = (0..dim).map(|_| size * (2.0 * random.unit() - 1.0)).collect();
            session.tell(query.ticket, &gradient).unwrap();
        }
    }
}
