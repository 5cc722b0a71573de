//! Columns in other units: docs/frugal.md § 15.

use sgq::{
    Method, Oracle as _, Problem as _, Random, Session, Settings, StopReason, method,
    problem::{DenseQuadratic, Loss, Regression, Rows},
    setting::Value,
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

fn with_units() -> Method {
    let mut method = method::frugal();
    method.set("units", Value::Switch(true)).unwrap();
    method
}

/// How many queries it takes until a thousandth of the gap is left.
fn queries(problem: &Regression, learned: bool, seed: u64) -> u64 {
    let start = vec![0.0; 4];
    let target = 0.001 * problem.gap(&start).unwrap();
    let settings = match learned {
        true => Settings::new(start, 30),
        false => Settings::for_problem(start, problem),
    };
    let mut session = Session::new(with_units(), settings.budget(400).seed(seed)).unwrap();
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

/// Where a change of units is one of all columns alike, by a power of two, it changes no question at all.
#[test]
fn the_objective_may_be_in_any_unit() {
    let users: Vec<Vec<usize>> = [1.0, 0.25, 8.0]
        .map(|unit| {
            let problem = problem([1.0; 4]);
            let mut session = Session::new(with_units(), Settings::new(vec![0.0; 4], 30).budget(100).seed(3)).unwrap();
            let (mut asked, mut gradient) = (Vec::new(), [0.0; 4]);
            while let Some(query) = session.ask().unwrap() {
                asked.push(query.user);
                problem.gradient(query.user, &query.point, &mut gradient);
                let gradient = gradient.map(|slope| unit * slope);
                session.tell(query.ticket, &gradient).unwrap();
            }
            asked
        })
        .into();
    assert!(users[0] == users[1] && users[0] == users[2]);
}

/// Without units of its own `frugal` does not claim to have converged where columns are of very different scales.
#[test]
fn scales_that_are_apart_are_doubted() {
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
        assert!(!has_converged || left < 1e-3, "unit {unit}: {left} is left");
    }
}

/// A coordinate along which everybody agrees is not taken for a small one.
#[test]
fn a_coordinate_at_its_optimum_does_no_harm() {
    for own_units in [false, true] {
        for off in [0.0, 1e-17, 1e-3] {
            let centers: Vec<Vec<f64>> =
                (0..12).map(|user| vec![off * f64::from(user % 5), f64::from(user % 7)]).collect();
            let curvature = vec![vec![1.0, 0.0, 0.0, 1.0]; 12];
            let problem = DenseQuadratic::new(&curvature, &centers).unwrap();
            let mut method = method::frugal();
            method.set("units", Value::Switch(own_units)).unwrap();
            let settings = Settings::for_problem(vec![0.0, 3.5], &problem).budget(300);
            let mut session = Session::new(method, settings).unwrap();
            let mut gradient = [0.0; 2];
            while let Some(query) = session.ask().unwrap() {
                problem.gradient(query.user, &query.point, &mut gradient);
                session.tell(query.ticket, &gradient).unwrap();
            }
            let gap = problem.gap(session.point()).unwrap();
            let most = if own_units { 0.05 } else { 1e-9 };
            assert!(gap < most, "units {own_units}, off {off}: {gap}");
        }
    }
}
