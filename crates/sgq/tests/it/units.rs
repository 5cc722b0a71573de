//! Columns in other units: docs/frugal.md § 15.

use sgq::{
    Oracle as _, Problem as _, Random, Session, Settings, StopReason, method,
    problem::{DenseQuadratic, Loss, Regression, Rows},
};

/// Least squares of 30 users with four columns, each multiplied by a number of its own.
fn problem(units: [f64; 4]) -> Regression {
    let mut random = Random::new(5, "units");
    let mut normal = move || (0..12).map(|_| random.unit()).sum::<f64>() - 6.0;
    let (mut rows, mut targets, mut users) = (Vec::new(), Vec::new(), vec![0]);
    for _ in 0..30 {
        let slopes: Vec<f64> = [1.0, -2.0, 0.5, 1.5].iter().map(|slope| slope + 0.5 * normal()).collect();
        for _ in 0..20 {
            let row: Vec<f64> = (0..4).map(|_| normal()).collect();
            targets.push(row.iter().zip(&slopes).map(|(x, slope)| x * slope).sum::<f64>() + 0.5 * normal());
            rows.extend(row.iter().zip(units).map(|(x, unit)| x * unit));
        }
        users.push(targets.len());
    }
    Regression::new(Rows::Dense { dim: 4, values: rows }, targets, &users, Loss::Squares, 0.0).unwrap()
}

/// How many queries it takes until a thousandth of the gap is left.
fn queries(problem: &Regression, learned: bool, seed: u64) -> u64 {
    let start = vec![0.0; 4];
    let target = 0.001 * problem.gap(&start).unwrap();
    let settings = match learned {
        true => Settings::new(start, 30),
        false => Settings::for_problem(start, problem),
    };
    let mut session = Session::new(method::frugal(), settings.budget(400).seed(seed)).unwrap();
    let mut gradient = [0.0; 4];
    while let Some(query) = session.ask().unwrap() {
        problem.gradient(query.user, &query.point, &mut gradient);
        session.tell(query.ticket, &gradient).unwrap();
        if problem.gap(session.point()).unwrap() <= target {
            break;
        }
    }
    session.queries()
}

/// Whom a run without any `L_i` asks, and where, seen in the units of the columns as they were.
fn questions(units: [f64; 4], objective: f64) -> Vec<(usize, Vec<f64>)> {
    let problem = problem(units);
    let mut session = Session::new(method::frugal(), Settings::new(vec![0.0; 4], 30).budget(100).seed(3)).unwrap();
    let (mut asked, mut gradient) = (Vec::new(), [0.0; 4]);
    while let Some(query) = session.ask().unwrap() {
        asked.push((query.user, query.point.iter().zip(units).map(|(x, unit)| x * unit).collect()));
        problem.gradient(query.user, &query.point, &mut gradient);
        session.tell(query.ticket, &gradient.map(|slope| objective * slope)).unwrap();
    }
    asked
}

/// Where columns are of very different scales, other units change nothing: not a bit where they are powers of two, and where
/// they are not, nobody else is asked, and points differ by rounding.
#[test]
fn other_units_change_no_question() {
    let plain = questions([1024.0, 1.0, 1.0 / 1024.0, 1.0], 1.0);
    for (units, objective) in [([1.0, 1024.0, 1.0, 1.0 / 1024.0], 1.0), ([256.0, 1.0 / 256.0, 1.0 / 256.0, 256.0], 1.0)]
    {
        let other = questions(units, objective);
        let first = other.iter().zip(&plain).position(|(a, b)| a != b);
        assert!(
            first.is_none(),
            "units {units:?}: question {first:?}: {:?} and {:?}",
            first.map(|k| &other[k]),
            first.map(|k| &plain[k])
        );
    }
    for (units, objective) in
        [([1024.0, 1.0, 1.0 / 1024.0, 1.0], 8.0), ([1e3, 1.0, 1e-3, 1.0], 1.0), ([1e-3, 1e3, 1e3, 1e-3], 1.0)]
    {
        let other = questions(units, objective);
        for (number, ((user, point), (plain_user, plain_point))) in other.iter().zip(&plain).enumerate() {
            let apart = point.iter().zip(plain_point).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(user == plain_user && apart < 1e-5, "units {units:?}, question {number}: {apart} apart");
        }
    }
}

/// It does not take many more queries, whatever a column is measured in.
#[test]
fn the_units_of_a_column_do_not_matter() {
    for learned in [false, true] {
        let mean = |problem: &Regression| (0..5).map(|seed| queries(problem, learned, seed)).sum::<u64>() as f64 / 5.0;
        let plain = mean(&problem([1.0; 4]));
        for unit in [1e-3, 1e-2, 1e2, 1e3] {
            let other = mean(&problem([1.0, 1.0, 1.0, unit]));
            assert!(other < 4.0 * plain, "learned {learned}, unit {unit}: {other} queries, and {plain} without");
        }
    }
}

/// Nothing is claimed to have converged that has not, whatever a column is measured in.
#[test]
fn it_stops_where_it_should_in_other_units() {
    for unit in [1e-3, 1e3] {
        let problem = problem([1.0, 1.0, 1.0, unit]);
        let settings = Settings::for_problem(vec![0.0; 4], &problem).budget(300).tolerance(1e-4);
        let mut session = Session::new(method::frugal(), settings).unwrap();
        let mut gradient = [0.0; 4];
        while let Some(query) = session.ask().unwrap() {
            problem.gradient(query.user, &query.point, &mut gradient);
            session.tell(query.ticket, &gradient).unwrap();
        }
        let left = problem.gap(session.point()).unwrap() / problem.gap(&[0.0; 4]).unwrap();
        let has_converged = matches!(session.stop_reason(), Some(StopReason::Converged { .. }));
        assert!(has_converged && left < 1e-3, "unit {unit}: {left} is left");
    }
}

/// Least squares of 30 users with four columns, and a fifth of zeros and ones: with ones at two users.
fn with_indicator(seed: u64) -> Regression {
    let mut random = Random::new(seed, "an indicator");
    let mut normal = move || (0..12).map(|_| random.unit()).sum::<f64>() - 6.0;
    let (mut rows, mut targets, mut users) = (Vec::new(), Vec::new(), vec![0]);
    for user in 0..30 {
        let slopes: Vec<f64> = [1.0, -2.0, 0.5, 1.5].iter().map(|slope| slope + 0.5 * normal()).collect();
        for _ in 0..20 {
            let row: Vec<f64> = (0..4).map(|_| normal()).collect();
            let has_it = user % 15 == 7 && normal() > 0.0;
            let explained: f64 = row.iter().zip(&slopes).map(|(x, slope)| x * slope).sum();
            targets.push(explained + if has_it { 3.0 } else { 0.0 } + 0.5 * normal());
            rows.extend(row);
            rows.push(f64::from(u8::from(has_it)));
        }
        users.push(targets.len());
    }
    Regression::new(Rows::Dense { dim: 5, values: rows }, targets, &users, Loss::Squares, 0.01).unwrap()
}

#[test]
fn a_column_of_zeros_for_most_users_is_not_in_small_units_for_long() {
    for learned in [false, true] {
        for seed in 0..10 {
            let problem = with_indicator(seed);
            let start = vec![0.0; 5];
            let target = 0.01 * problem.gap(&start).unwrap();
            let settings = if learned { Settings::new(start, 30) } else { Settings::for_problem(start, &problem) };
            let mut session = Session::new(method::frugal(), settings.budget(1_000).seed(seed)).unwrap();
            let mut gradient = [0.0; 5];
            while problem.gap(session.point()).unwrap() > target {
                let query = session.ask().unwrap().unwrap();
                problem.gradient(query.user, &query.point, &mut gradient);
                session.tell(query.ticket, &gradient).unwrap();
            }
            assert!(session.queries() <= 60, "learned {learned}, seed {seed}: {} queries", session.queries());
        }
    }
}

/// A coordinate along which everybody agrees is not taken for a small one for long.
#[test]
fn a_coordinate_at_its_optimum_does_no_harm() {
    for known in [true, false] {
        for off in [0.0, 1e-17, 1e-3] {
            let centers: Vec<Vec<f64>> =
                (0..12).map(|user| vec![off * f64::from(user % 5), f64::from(user % 7)]).collect();
            let curvature = vec![vec![1.0, 0.0, 0.0, 1.0]; 12];
            let problem = DenseQuadratic::new(&curvature, &centers).unwrap();
            let start = vec![0.0, 3.5];
            let settings = if known { Settings::for_problem(start, &problem) } else { Settings::new(start, 12) };
            let mut session = Session::new(method::frugal(), settings.budget(100)).unwrap();
            let mut gradient = [0.0; 2];
            while let Some(query) = session.ask().unwrap() {
                problem.gradient(query.user, &query.point, &mut gradient);
                session.tell(query.ticket, &gradient).unwrap();
            }
            let gap = problem.gap(session.point()).unwrap();
            assert!(gap < 1e-9, "L_i known {known}, off {off}: {gap}");
        }
    }
}
