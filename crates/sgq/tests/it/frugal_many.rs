//! Frugal with more parameters than a matrix could hold.

use sgq::{
    Problem, Random, Session, Settings,
    belief::{Curvature, Model},
    method,
    problem::Quadratic,
};

use crate::frugal::goes_on_bit_for_bit;

type Frugal = Session<'static>;

/// Curvatures that fall as `k^−3/2`, alike for all but for a factor, and centers from −1 to 1.
fn quadratic(users: usize, dim: usize) -> Quadratic {
    let mut random = Random::new(1, "frugal with many parameters");
    let mut table = |entry: &dyn Fn(usize, f64) -> f64| -> Vec<Vec<f64>> {
        (0..users).map(|_| (0..dim).map(|k| entry(k, random.unit())).collect()).collect()
    };
    let curvatures = table(&|k, unit| (0.5 + unit) * (1.0 + k as f64).powf(-1.5) + 1e-6);
    Quadratic::diagonal(&curvatures, &table(&|_, unit| 2.0 * unit - 1.0)).unwrap()
}

fn advance(session: &mut Frugal, problem: &dyn Problem) -> (usize, Vec<f64>) {
    let query = session.ask().unwrap().expect("no stop condition is set");
    let mut gradient = vec![0.0; problem.dim()];
    problem.gradient(query.user, &query.point, &mut gradient);
    session.tell(query.ticket, &gradient).unwrap();
    (query.user, query.point.to_vec())
}

/// Before the basis is full, and after.
#[test]
fn a_restored_session_goes_on_bit_for_bit() {
    let problem = quadratic(30, 300);
    for settings in [Settings::for_problem(vec![0.5; 300], &problem), Settings::new(vec![0.5; 300], 30)] {
        let mut session = Session::new(method::frugal(), settings).unwrap();
        let before = |query| [0, 1, 2, 31, 63, 64, 65, 80].contains(&query);
        goes_on_bit_for_bit(&mut session, 90, before, |session| advance(session, &problem));
    }
}

/// Answers of any size go on past the rank, and nothing panics.
#[test]
fn answers_of_any_size_past_the_rank() {
    for seed in 0..6 {
        let mut random = Random::new(seed, "sizes with many parameters");
        let settings = Settings::new(vec![1.0; 260], 70).seed(seed);
        let settings = if seed % 2 == 0 { settings.smoothness(vec![1.0; 70]) } else { settings };
        let mut session = Session::new(method::frugal(), settings).unwrap();
        while let Some(query) = session.ask().unwrap().filter(|_| session.queries() < 150) {
            let most = if seed < 2 { 40 } else { 616 };
            let size = 10f64.powi(random.index(most) as i32 - most as i32 / 2);
            let gradient: Vec<f64> = (0..260).map(|_| size * (2.0 * random.unit() - 1.0)).collect();
            session.tell(query.ticket, &gradient).unwrap();
        }
    }
}

/// With a spectrum that falls, a few directions are most of it: one number of curvature would take several times as many
/// queries.
#[test]
fn a_falling_spectrum() {
    for (users, dim, queries, part) in [(40, 2_000, 120, 0.1), (30, 100_000, 40, 0.5)] {
        let problem = quadratic(users, dim);
        let start = vec![3.0; dim];
        let mut session = Session::new(method::frugal(), Settings::for_problem(start.clone(), &problem)).unwrap();
        (0..queries).for_each(|_| _ = advance(&mut session, &problem));
        let gap = problem.gap(session.point()).unwrap() / problem.gap(&start).unwrap();
        assert!(gap < part, "{gap} with {dim} parameters");
    }
}

#[test]
fn the_plan_is_chosen_by_size_and_said() {
    assert_eq!(Model::plan(12), Curvature::Matrix { dim: 12 });
    assert_eq!(Model::plan(12).to_string(), "curvature as a 12 × 12 matrix");
    assert_eq!(Model::plan(256), Curvature::Matrix { dim: 256 });
    let large = Model::plan(4_000);
    assert!(matches!(large, Curvature::LowRank { rank: 64, dim: 4_000 }));
    assert_eq!(large.to_string(), "low-rank curvature, rank at most 64 of 4000 parameters");
}
