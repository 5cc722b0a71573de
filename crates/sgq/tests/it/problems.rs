//! Built-in problems: gradients against finite differences, constants against their definitions, bad numbers refused.

use sgq::{
    Problem, Random,
    problem::{Custom, DenseQuadratic, Optimum, ProblemError, Quadratic},
};

use crate::random_problem::random_quadratic;

fn random_point(random: &mut Random, dim: usize) -> Vec<f64> {
    (0..dim).map(|_| 6.0 * random.unit() - 3.0).collect()
}

fn gradient(problem: &dyn Problem, user: usize, x: &[f64]) -> Vec<f64> {
    let mut gradient = vec![0.0; x.len()];
    problem.gradient(user, x, &mut gradient);
    gradient
}

fn mean_gradient(problem: &dyn Problem, x: &[f64]) -> Vec<f64> {
    let users = problem.users();
    let mut mean = vec![0.0; x.len()];
    for user in 0..users {
        for (mean, value) in mean.iter_mut().zip(gradient(problem, user, x)) {
            *mean += value / users as f64;
        }
    }
    mean
}

fn norm(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// What every problem promises, checked at random points.
fn keeps_its_promises(problem: &dyn Problem, random: &mut Random) {
    let dim = problem.dim();
    let optimum = problem.optimum().unwrap();
    assert!(norm(&mean_gradient(problem, &optimum.point)) < 1e-9);
    assert!((problem.value(&optimum.point) - optimum.value).abs() < 1e-12);
    for _ in 0..5 {
        let (x, y) = (random_point(random, dim), random_point(random, dim));
        for user in 0..problem.users() {
            let exact = gradient(problem, user, &x);
            for k in 0..dim {
                let (mut above, mut below) = (x.clone(), x.clone());
                above[k] += 1e-4;
                below[k] -= 1e-4;
                let slope = (problem.user_value(user, &above) - problem.user_value(user, &below)) / 2e-4;
                assert!((slope - exact[k]).abs() < 1e-6 * (1.0 + exact[k].abs()));
            }
            let change: Vec<f64> = exact.iter().zip(gradient(problem, user, &y)).map(|(a, b)| a - b).collect();
            let apart: Vec<f64> = x.iter().zip(&y).map(|(a, b)| a - b).collect();
            let smoothness = problem.smoothness().unwrap()[user];
            assert!(norm(&change) <= smoothness * norm(&apart) * (1.0 + 1e-12));
        }
        let gap = problem.gap(&x).unwrap();
        assert!((gap - (problem.value(&x) - optimum.value)).abs() < 1e-9 * (1.0 + gap));
        let mu = problem.pl_constant().unwrap();
        assert!(gap <= norm(&mean_gradient(problem, &x)).powi(2) / (2.0 * mu) * (1.0 + 1e-9));
    }
}

#[test]
fn quadratics_keep_their_promises() {
    let mut random = Random::new(5, "problems");
    for _ in 0..30 {
        let (users, dim) = (1 + random.index(8), 1 + random.index(6));
        keeps_its_promises(&random_quadratic(&mut random, users, dim).0, &mut random);
        let rows = |random: &mut Random| -> Vec<Vec<f64>> {
            (0..users).map(|_| (0..dim).map(|_| random.unit()).collect()).collect()
        };
        let diagonal = Quadratic::diagonal(&rows(&mut random), &rows(&mut random)).unwrap();
        keeps_its_promises(&diagonal, &mut random);
    }
}

/// Constants worked out by hand, so that a factor of 2 in the convention cannot hide.
#[test]
fn constants_by_hand() {
    let toy = Quadratic::scalar(&[1.0; 4], &[2.0, 1.0, -1.0, -2.0]).unwrap();
    assert_eq!(toy.smoothness().unwrap(), [2.0; 4]);
    assert_eq!(toy.pl_constant(), Some(2.0));
    assert_eq!(toy.optimum(), Some(&Optimum { point: vec![0.0], value: 2.5 }));

    // A = [2 1; 1 2] has the eigenvalues 1 and 3.
    let dense = DenseQuadratic::new(&[vec![2.0, 1.0, 1.0, 2.0]], &[vec![1.0, -1.0]]).unwrap();
    assert!((dense.smoothness().unwrap()[0] - 6.0).abs() < 1e-12);
    assert!((dense.pl_constant().unwrap() - 2.0).abs() < 1e-12);
    assert!((dense.value(&[2.0, -1.0]) - 2.0).abs() < 1e-12);
}

/// A direction that nobody cares about leaves f flat there: the optimum is still known, and μ is that of the rest.
#[test]
fn flat_directions() {
    let diagonal = Quadratic::diagonal(&[vec![1.0, 0.0], vec![3.0, 0.0]], &[vec![0.0, 9.0], vec![4.0, 9.0]]).unwrap();
    assert_eq!(diagonal.pl_constant(), Some(4.0));
    assert_eq!(diagonal.optimum().unwrap().point, [3.0, 0.0]);
    let dense = DenseQuadratic::new(&[vec![1.0, 1.0, 1.0, 1.0]], &[vec![2.0, 0.0]]).unwrap();
    assert!((dense.pl_constant().unwrap() - 4.0).abs() < 1e-12);
    assert!(dense.gap(&[0.5, 1.5]).unwrap().abs() < 1e-12);
    let nearly_flat = DenseQuadratic::new(&[vec![1e-13, 0.0, 0.0, 1.0]], &[vec![1e9, 0.0]]);
    assert!(matches!(nearly_flat, Err(ProblemError::IllConditioned { .. })));
    let all_flat = Quadratic::scalar(&[0.0, 0.0], &[1.0, 2.0]).unwrap();
    assert_eq!(all_flat.pl_constant(), None);
}

#[test]
fn bad_numbers_are_refused() {
    let nan = f64::NAN;
    let error = |curvature: &[f64], center: &[f64]| Quadratic::scalar(curvature, center).unwrap_err();
    assert_eq!(error(&[], &[]), ProblemError::NoUsers);
    assert_eq!(error(&[1.0], &[1.0, 2.0]), ProblemError::Users { curvatures: 1, centers: 2 });
    assert_eq!(error(&[1.0, -2.0], &[0.0; 2]), ProblemError::NotConvex { user: 1, position: 0, value: -2.0 });
    assert!(matches!(error(&[1.0, nan], &[0.0; 2]), ProblemError::NotFinite { what: "curvature", user: 1, .. }));
    assert_eq!(
        Quadratic::diagonal(&[vec![1.0], vec![1.0, 2.0]], &[vec![0.0], vec![0.0]]).unwrap_err(),
        ProblemError::Length { what: "curvature", user: 1, expected: 1, found: 2 }
    );
    assert_eq!(Quadratic::diagonal(&[vec![]], &[vec![]]).unwrap_err(), ProblemError::NoParameters { user: 0 });
    let dense = |a: [f64; 4]| DenseQuadratic::new(&[a.to_vec()], &[vec![0.0; 2]]).unwrap_err();
    assert_eq!(
        dense([1.0, 0.5, 0.4, 1.0]),
        ProblemError::NotSymmetric { user: 0, row: 1, column: 0, below: 0.4, above: 0.5 }
    );
    assert!(matches!(dense([0.0, 1.0, 1.0, 0.0]), ProblemError::Indefinite { user: 0, .. }));
    assert!(matches!(dense([1.7e308, 0.0, 0.0, 1.7e308]), ProblemError::Overflow { .. }));
    assert!(matches!(error(&[1.7e308], &[1.0]), ProblemError::Overflow { what: "smoothness" }));
    // What rounding did to a symmetric matrix is forgiven, and mended.
    let entry = 1.0 / 3.0;
    let rounded = [1.0, entry, entry + 1e-16, 1.0];
    let problem = DenseQuadratic::new(&[rounded.to_vec()], &[vec![0.0; 2]]).unwrap();
    assert!((problem.smoothness().unwrap()[0] - 2.0 * (1.0 + entry)).abs() < 1e-12);
    assert!(matches!(dense([nan, 1.0, 1.0, 0.0]), ProblemError::NotFinite { .. }));
}

#[test]
fn closures_make_a_problem() {
    let centers = [1.0, 3.0];
    let problem = Custom::new(
        2,
        1,
        |user, x| (x[0] - centers[user]).powi(2),
        |user, x, out| out[0] = 2.0 * (x[0] - centers[user]),
    );
    assert_eq!((problem.gap(&[0.0]), problem.smoothness()), (None, None));
    let problem = problem
        .with_smoothness(vec![2.0; 2])
        .with_pl_constant(2.0)
        .with_optimum(Optimum { point: vec![2.0], value: 1.0 });
    keeps_its_promises(&problem, &mut Random::new(1, "closures"));
}
