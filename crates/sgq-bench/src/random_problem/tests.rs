use std::collections::BTreeSet;

use sgq::{Oracle, Problem};

use super::*;

fn small() -> Limits {
    Limits { users: 30, dim: 8 }
}

fn numbers(problem: &Regression) -> &[f64] {
    match problem.rows() {
        Rows::Dense { values, .. } => values,
        _ => panic!("random problems are dense"),
    }
}

/// A change here makes every published number about random problems another one: raise `GENERATOR` with it.
#[test]
fn a_problem_is_frozen() {
    let it = random_problem(7, 4, small()).unwrap();
    assert_eq!(it.traits.to_string(), FROZEN_TRAITS);
    // Logarithms may differ in the last bit from one system to the next; a millionth is the same everywhere.
    let rounded = |x: &f64| (x * 1e6).round() as i64 as u64;
    let all = numbers(&it.problem).iter().chain(it.problem.targets());
    let checksum = all.fold(0u64, |sum, x| sum.rotate_left(7) ^ rounded(x));
    assert_eq!(checksum, FROZEN_CHECKSUM);
}

const FROZEN_TRAITS: &str = "logistic, n 7, d 3, κ 52, h 5, shift 1, spread 1.5, 14 rows, λ 0.0074";
const FROZEN_CHECKSUM: u64 = 12225803280763804022;

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_seed_or_number_others() {
    let bits = |seed: u64, index: u64| {
        let it = random_problem(seed, index, small()).unwrap();
        let optimum = it.problem.optimum().unwrap().point.clone();
        let all = numbers(&it.problem).iter().chain(it.problem.targets()).chain(&optimum);
        all.map(|x| x.to_bits()).collect::<Vec<_>>()
    };
    assert_eq!(bits(1, 0), bits(1, 0));
    assert_ne!(bits(1, 0), bits(1, 1));
    assert_ne!(bits(1, 0), bits(2, 0));
}

#[test]
fn problems_are_of_every_kind_within_their_limits_and_have_an_optimum() {
    let (mut losses, mut kinds) = (BTreeSet::new(), BTreeSet::new());
    for index in 0..60 {
        let RandomProblem { traits, problem } = random_problem(5, index, small()).unwrap();
        assert!((4..=30).contains(&traits.users) && (1..=8).contains(&traits.dim), "{traits}");
        assert_eq!((problem.users(), problem.dim(), problem.loss()), (traits.users, traits.dim, traits.loss));
        assert!((1.0..=1e4).contains(&traits.condition) && (traits.dim > 1 || traits.condition == 1.0), "{traits}");
        assert!((2.0..=60.0).contains(&traits.rows) && (1e-4..=1e-2).contains(&traits.l2), "{traits}");
        assert!(problem.rows_per_user().all(|rows| (1..=400).contains(&rows)), "{traits}");
        let equal = problem.rows_per_user().all(|rows| rows == traits.rows as usize);
        assert!(equal || traits.spread > 0.0, "{traits}");
        assert!(problem.gap(&vec![0.0; traits.dim]).unwrap() > 0.0, "{traits}");
        let scale = problem.smoothness().unwrap().iter().copied().fold(1.0, f64::max);
        assert!(problem.gradient_norm_at_optimum() < 1e-9 * scale, "{traits}");
        losses.insert(traits.loss_name());
        kinds.insert(("h", traits.heterogeneity.to_bits()));
        kinds.insert(("shift", traits.shift.to_bits()));
        kinds.insert(("spread", traits.spread.to_bits()));
    }
    assert_eq!(losses.len(), 3);
    assert_eq!(kinds.len(), 5 + 3 + 3);
}

/// The features' second moment has the spectrum that the traits promise, whatever mixed them.
#[test]
fn the_features_have_their_condition_number() {
    let traits = Traits {
        index: 0,
        loss: Loss::Squares,
        users: 40,
        dim: 2,
        condition: 100.0,
        heterogeneity: 0.0,
        shift: 0.0,
        spread: 0.0,
        rows: 60.0,
        l2: 1e-3,
    };
    let problem = make(&traits, 1).unwrap();
    let (mut a, mut b, mut c) = (0.0, 0.0, 0.0);
    let rows = numbers(&problem).as_chunks::<2>().0;
    for [x, y] in rows {
        (a, b, c) = (a + x * x, b + x * y, c + y * y);
    }
    let (middle, radius) = (0.5 * (a + c), (0.25 * (a - c) * (a - c) + b * b).sqrt());
    let condition = (middle + radius) / (middle - radius);
    // 2,400 rows: each variance is known to 3%.
    assert!((condition / 100.0 - 1.0).abs() < 0.15, "{condition}");
    assert!(((middle + radius) / rows.len() as f64 - 1.0).abs() < 0.15);
    assert!(b.abs() > 0.05 * middle, "the features were not mixed");
}

/// With no heterogeneity everybody has the same coefficients, and the optimum of squares is close to each user's own.
#[test]
fn heterogeneity_is_what_sets_users_apart() {
    let base = Traits {
        index: 0,
        loss: Loss::Squares,
        users: 20,
        dim: 3,
        condition: 4.0,
        heterogeneity: 0.0,
        shift: 0.3,
        spread: 0.5,
        rows: 50.0,
        l2: 1e-4,
    };
    // The mean of ‖∇f_i(x*)‖² over that of ‖∇f_i(0)‖².
    let part = |heterogeneity: f64| {
        let problem = make(&Traits { heterogeneity, ..base }, 9).unwrap();
        let at = |x: &[f64]| {
            let mut gradient = vec![0.0; 3];
            let norms = (0..20).map(|user| {
                problem.gradient(user, x, &mut gradient);
                gradient.iter().map(|g| g * g).sum::<f64>()
            });
            norms.sum::<f64>()
        };
        at(&problem.optimum().unwrap().point) / at(&[0.0; 3])
    };
    let [none, some, extreme] = [0.0, 0.5, 5.0].map(part);
    assert!(none < 0.1 && none < 0.5 * some && some < 0.5 * extreme, "{none} {some} {extreme}");
}

#[test]
fn limits_that_leave_no_problem_are_refused() {
    for limits in [Limits { users: 3, dim: 5 }, Limits { users: 9, dim: 0 }] {
        let message = random_problem(0, 0, limits).unwrap_err().to_string();
        assert!(message.contains("at least 4 users and one parameter"), "{message}");
    }
    let least = random_problem(0, 0, Limits { users: 4, dim: 1 }).unwrap();
    assert_eq!((least.traits.users, least.traits.dim), (4, 1));
}
