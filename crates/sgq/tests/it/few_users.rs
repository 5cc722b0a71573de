//! Frugal with few users, who are asked so often that each one's own curvature is known: docs/frugal.md § 4.5.

use sgq::{
    Problem, Random, Session, Settings, Sight, method,
    problem::{Custom, DenseQuadratic, Loss, Optimum, Regression, Rows},
};

type Frugal = Session<'static>;

fn open(settings: Settings) -> Frugal {
    Session::new(method::frugal(), settings).unwrap()
}

/// Asks once; returns who was asked, and where, or none where the run has ended.
fn advance(session: &mut Frugal, problem: &dyn Problem) -> Option<(usize, Vec<f64>)> {
    let query = session.ask().unwrap()?;
    let mut gradient = vec![0.0; problem.dim()];
    problem.gradient(query.user, &query.point, &mut gradient);
    session.tell(query.ticket, &gradient).unwrap();
    Some((query.user, query.point.to_vec()))
}

fn normal(random: &mut Random) -> f64 {
    (0..12).map(|_| random.unit()).sum::<f64>() - 6.0
}

/// A symmetric matrix, row by row, whose eigenvalues fall from 1 to one part in `condition`, along random directions.
fn rotated(dim: usize, condition: f64, random: &mut Random) -> Vec<f64> {
    let mut matrix = vec![0.0; dim * dim];
    for k in 0..dim {
        matrix[k * dim + k] = condition.powf(-(k as f64) / (dim - 1) as f64);
    }
    for _ in 0..dim {
        // Mirrored: `(I − 2vvᵀ) A (I − 2vvᵀ)`.
        let v: Vec<f64> = (0..dim).map(|_| normal(random)).collect();
        let square = v.iter().map(|value| value * value).sum::<f64>();
        let image: Vec<f64> =
            (0..dim).map(|row| (0..dim).map(|k| matrix[row * dim + k] * v[k]).sum::<f64>() * 2.0 / square).collect();
        let inner = image.iter().zip(&v).map(|(a, b)| a * b).sum::<f64>() * 2.0 / square;
        for row in 0..dim {
            for column in 0..dim {
                matrix[row * dim + column] +=
                    inner * v[row] * v[column] - image[row] * v[column] - v[row] * image[column];
            }
        }
    }
    (0..dim * dim).map(|at| 0.5 * (matrix[at] + matrix[at % dim * dim + at / dim])).collect()
}

/// Users of the same condition number, around centers of their own, with directions that are alike or everybody's own.
fn quadratic(users: usize, dim: usize, condition: f64, alike: bool, seed: u64) -> DenseQuadratic {
    let mut random = Random::new(seed, "few users");
    let shared = rotated(dim, condition, &mut random);
    let curvature = |_| if alike { shared.clone() } else { rotated(dim, condition, &mut random) };
    let curvatures: Vec<Vec<f64>> = (0..users).map(curvature).collect();
    let centers: Vec<Vec<f64>> = (0..users).map(|_| (0..dim).map(|_| normal(&mut random)).collect()).collect();
    DenseQuadratic::new(&curvatures, &centers).unwrap()
}

/// How many queries it takes until that part of the gap at the start is left.
fn queries_to(part: f64, problem: &dyn Problem, settings: Settings) -> u64 {
    let target = part * problem.gap(&settings.start).unwrap();
    let mut session = open(settings.budget(2_000));
    while problem.gap(session.point()).unwrap() > target && advance(&mut session, problem).is_some() {}
    session.queries()
}

/// Runs until it stops by its own account; panics if more than ten times the tolerance is left then.
#[track_caller]
fn stops_honestly(problem: &dyn Problem, settings: Settings) {
    let start = problem.gap(&settings.start).unwrap();
    let mut session = open(settings.tolerance(1e-4).budget(400));
    while advance(&mut session, problem).is_some() {}
    let left = problem.gap(session.point()).unwrap() / start;
    let stop = session.stop_reason();
    assert!(stop.is_some_and(|stop| stop.is_converged()), "{stop:?}: {left:e} is left");
    assert!(left <= 1e-3, "{left:e} is left after {} queries", session.queries());
}

#[test]
fn one_user_of_condition_10_000() {
    for seed in 0..8 {
        let problem = quadratic(1, 10, 1e4, true, seed);
        let (told, without) = (Settings::for_problem(vec![3.0; 10], &problem), Settings::new(vec![3.0; 10], 1));
        for (settings, most) in [(told, 70), (without, 60)] {
            let queries = queries_to(1e-6, &problem, settings.clone());
            assert!(queries <= most, "{queries} queries, seed {seed}");
            stops_honestly(&problem, settings);
        }
    }
}

#[test]
fn eight_users_of_condition_1_000() {
    for alike in [true, false] {
        for seed in 0..4 {
            let problem = quadratic(8, 10, 1e3, alike, seed);
            for settings in [Settings::for_problem(vec![3.0; 10], &problem), Settings::new(vec![3.0; 10], 8)] {
                let queries = queries_to(1e-4, &problem, settings.clone());
                assert!(queries <= 100, "{queries} queries, alike {alike}, seed {seed}");
                stops_honestly(&problem, settings);
            }
        }
    }
}

/// Rosenbrock's: a bent valley, and not convex.
fn rosenbrock() -> impl Problem {
    let value = |_, x: &[f64]| 100.0 * (x[1] - x[0] * x[0]).powi(2) + (1.0 - x[0]).powi(2);
    let gradient = |_, x: &[f64], gradient: &mut [f64]| {
        let across = x[1] - x[0] * x[0];
        gradient[0] = -400.0 * x[0] * across - 2.0 * (1.0 - x[0]);
        gradient[1] = 200.0 * across;
    };
    Custom::new(1, 2, value, gradient).with_optimum(Optimum { point: vec![1.0, 1.0], value: 0.0 })
}

#[test]
fn one_user_in_a_bent_valley() {
    let problem = rosenbrock();
    let settings = Settings::new(vec![-1.2, 1.0], 1);
    let first = problem.gap(&settings.start).unwrap();
    let mut session = open(settings.clone());
    while problem.gap(session.point()).unwrap() > 1e-6 * first {
        advance(&mut session, &problem).unwrap();
        let gap = problem.gap(session.point()).unwrap();
        assert!(gap <= 2.0 * first, "{gap:e} after {first:e}, query {}", session.queries());
        assert!(session.queries() < 80, "{gap:e} after {first:e}");
    }
    stops_honestly(&problem, settings);
}

/// Logistic regressions are nearly flat far off.
#[test]
fn logistic_users_from_far_off() {
    for seed in 0..6 {
        let mut random = Random::new(seed, "from far off");
        let (users, dim, rows) = (6, 3, 15);
        let (mut values, mut labels) = (Vec::new(), Vec::new());
        for _ in 0..users * rows {
            let row: Vec<f64> = (0..dim).map(|_| normal(&mut random)).collect();
            let z = row.iter().sum::<f64>();
            labels.push(if random.unit() < 1.0 / (1.0 + (-z).exp()) { 1.0 } else { -1.0 });
            values.extend(row);
        }
        let ends: Vec<usize> = (0..=users).map(|user| user * rows).collect();
        let problem = Regression::new(Rows::Dense { dim, values }, labels, &ends, Loss::Logistic, 0.01).unwrap();
        let queries = queries_to(0.1, &problem, Settings::for_problem(vec![20.0; dim], &problem).seed(seed));
        assert!(queries <= 15, "{queries} queries, seed {seed}");
    }
}

/// With many secants of each user; in coordinates of a basis beyond 32 parameters, and of low rank beyond 256.
#[test]
fn a_restored_session_goes_on_bit_for_bit() {
    for (users, dim, queries) in [(1, 5, 30), (3, 5, 40), (2, 40, 70), (3, 300, 80)] {
        let problem = if dim > 256 {
            let diagonal = |user| (0..dim).map(|k| (1.0 + k as f64 + user as f64).powf(-1.0)).collect();
            let curvatures: Vec<Vec<f64>> = (0..users).map(diagonal).collect();
            let centers: Vec<Vec<f64>> = (0..users).map(|user| vec![user as f64; dim]).collect();
            Box::new(sgq::problem::Quadratic::diagonal(&curvatures, &centers).unwrap()) as Box<dyn Problem>
        } else {
            Box::new(quadratic(users, dim, 100.0, false, 1))
        };
        let start = vec![2.0; dim];
        for settings in [Settings::for_problem(start.clone(), &*problem), Settings::new(start.clone(), users)] {
            let mut session = open(settings);
            let mut restored: Vec<Frugal> = Vec::new();
            for query in 0..queries {
                if query % 7 == 6 || query % 32 == 31 {
                    let bytes = session.snapshot().unwrap();
                    restored.push(Session::restore(method::frugal(), &bytes, Sight::Blind).unwrap());
                }
                let asked = advance(&mut session, &*problem);
                for other in &mut restored {
                    assert_eq!(advance(other, &*problem), asked, "{users} users, {dim} parameters, query {query}");
                    assert_eq!(other.point(), session.point(), "{users} users, {dim} parameters, query {query}");
                    assert_eq!(other.remaining(), session.remaining());
                }
            }
            for other in &restored {
                assert_eq!(other.snapshot().unwrap(), session.snapshot().unwrap(), "{users} users, {dim} parameters");
            }
        }
    }
}
