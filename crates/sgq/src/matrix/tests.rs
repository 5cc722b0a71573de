use super::*;
use crate::Random;

fn random(dim: usize, seed: u64) -> Square {
    let mut random = Random::new(seed, "matrix");
    let mut matrix = Square::zero(dim);
    for row in 0..dim {
        for column in 0..=row {
            let value = random.unit() - 0.5;
            matrix.set(row, column, value);
            matrix.set(column, row, value);
        }
    }
    matrix
}

fn largest_difference(one: &Square, other: &Square) -> f64 {
    one.values.iter().zip(&other.values).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

#[test]
fn eigenvectors_put_the_matrix_together_again() {
    for (seed, dim) in [1, 2, 3, 4, 7, 10, 33, 80].into_iter().enumerate() {
        let matrix = random(dim, seed as u64);
        let (values, vectors) = matrix.eigen().unwrap();
        assert!(values.windows(2).all(|pair| pair[0] <= pair[1]));
        assert!(largest_difference(&Square::with_eigen(&vectors, &values), &matrix) < 1e-12);
        let gram = vectors.transposed().times(&vectors);
        assert!(largest_difference(&gram, &Square::identity(dim, 1.0)) < 1e-12);
    }
}

/// The same number in all directions but a few: one reflection for each of these.
#[test]
fn a_few_directions_are_found_among_many() {
    for dim in [40, 100] {
        let mut matrix = Square::identity(dim, 0.3);
        for (k, direction) in random(dim, 3).values.chunks_exact(dim).take(5).enumerate() {
            matrix.add_outer(k as f64 + 1.0, direction, direction);
        }
        let (values, vectors) = matrix.eigen().unwrap();
        assert!(values[..dim - 5].iter().all(|value| (value - 0.3).abs() < 1e-12) && values[dim - 5] > 0.5);
        assert!(largest_difference(&Square::with_eigen(&vectors, &values), &matrix) < 1e-12 * values[dim - 1]);
        let gram = vectors.transposed().times(&vectors);
        assert!(largest_difference(&gram, &Square::identity(dim, 1.0)) < 1e-13);
    }
}

/// Multiple eigenvalues, zeros, tiny and huge numbers.
#[test]
fn awkward_matrices_have_eigenvalues_too() {
    let mut low_rank = Square::zero(6);
    low_rank.add_outer(1e-200, &[1.0, 2.0, 0.0, 0.0, 0.0, 3.0], &[1.0, 2.0, 0.0, 0.0, 0.0, 3.0]);
    let mut huge = random(5, 9);
    huge.scale(1e150);
    for matrix in [Square::zero(4), Square::identity(5, 3.0), low_rank, huge] {
        let (values, vectors) = matrix.eigen().unwrap();
        let scale = matrix.values.iter().fold(0.0, |most: f64, value| most.max(value.abs()));
        assert!(largest_difference(&Square::with_eigen(&vectors, &values), &matrix) <= 1e-12 * scale);
    }
    let mut broken = Square::identity(3, 1.0);
    broken.set(0, 2, f64::NAN);
    assert!(broken.eigen().is_none());
}

fn assert_extremes(matrix: &Square, least: f64, largest: f64) {
    let found = matrix.extreme_eigenvalues().unwrap();
    let tolerance = 16.0 * f64::EPSILON * largest.abs().max(least.abs());
    let wrong = (found.0 - least).abs().max((found.1 - largest).abs());
    assert!(wrong <= tolerance, "{} rows: {found:?}, not {least} and {largest}", matrix.dim);
}

/// `min(i, j)`, the inverse of second differences: large, ill-conditioned, and exact numbers.
#[test]
fn extreme_eigenvalues_of_a_known_matrix() {
    for dim in [1, 2, 3, 10, 32, 33, 100, 300] {
        let lower = (0..dim * dim).map(|at| (at / dim).min(at % dim) as f64 + 1.0).collect();
        let known = |k: usize| {
            let angle = std::f64::consts::PI * (2 * k - 1) as f64 / (4 * dim + 2) as f64;
            0.25 / angle.sin().powi(2)
        };
        assert_extremes(&Square::from_lower(dim, lower), known(dim), known(1));
    }
}

/// A known spectrum, turned by reflections: twelve decades, clusters at both ends, rank one, both signs.
#[test]
fn extreme_eigenvalues_of_known_spectra() {
    let spectra: [&dyn Fn(f64) -> f64; 4] =
        [&|part| 10f64.powf(12.0 * (part - 1.0)), &|part| 1.0 + part, &|part| part.floor(), &|part| part - 0.25];
    let mut random = Random::new(3, "spectra");
    for dim in [2, 7, 40, 150] {
        for spectrum in spectra {
            let value = |k: usize| spectrum(k as f64 / (dim - 1) as f64);
            let mut matrix = Square::zero(dim);
            for k in 0..dim {
                matrix.set(k, k, value(k));
            }
            for _ in 0..3 {
                let mirror: Vec<f64> = (0..dim).map(|_| random.unit() - 0.5).collect();
                let mut reflection = Square::identity(dim, 1.0);
                reflection.add_outer(-2.0 / kernel::norm_squared(&mirror), &mirror, &mirror);
                matrix = matrix.between(&reflection, &reflection);
            }
            assert_extremes(&matrix, value(0), value(dim - 1));
            let values = matrix.eigen().unwrap().0;
            assert!((0..dim).all(|k| (values[k] - value(k)).abs() <= 32.0 * f64::EPSILON * value(dim - 1)));
        }
    }
}

#[test]
fn awkward_matrices_have_extreme_eigenvalues_too() {
    assert_extremes(&Square::zero(4), 0.0, 0.0);
    assert_extremes(&Square::identity(5, 3.0), 3.0, 3.0);
    assert_extremes(&Square::identity(3, -1e-300), -1e-300, -1e-300);
    let mut rank_one = Square::zero(40);
    rank_one.add_outer(1e200, &[1.0; 40], &[1.0; 40]);
    assert_extremes(&rank_one, 0.0, 4e201);
    assert!(Square::zero(0).extreme_eigenvalues().is_none());
    let mut broken = Square::identity(3, 1.0);
    broken.set(2, 0, f64::INFINITY);
    assert!(broken.extreme_eigenvalues().is_none());
}

/// Cholesky's factor of `min(i, j)` is all ones.
#[test]
fn a_known_factor_is_found_exactly() {
    for dim in [1, 2, 33, 70] {
        let mut lower: Vec<f64> = (0..dim * dim).map(|at| (at / dim).min(at % dim) as f64 + 1.0).collect();
        let product = Square::from_lower(dim, lower.clone()).times_vector(&vec![1.0; dim]);
        assert!(cholesky(&mut lower, dim, 0.0));
        assert!((0..dim).all(|row| lower[row * dim..][..=row].iter().all(|value| *value == 1.0)));
        let mut solution = product;
        cholesky_solve(&lower, &mut solution);
        assert_eq!(solution, vec![1.0; dim]);
    }
}

#[test]
fn pivots_that_are_too_small_become_zero() {
    // Rank one, and an indefinite matrix: the second pivot is 0, and −3.
    for corner in [4.0, 1.0] {
        let mut lower = vec![1.0, f64::NAN, 2.0, corner];
        assert!(!cholesky(&mut lower, 2, 0.0));
        assert_eq!((lower[0], lower[2], lower[3]), (1.0, 2.0, 0.0));
    }
    assert!(!cholesky(&mut [1e-9], 1, 1e-8) && cholesky(&mut [1e-9], 1, 0.0));
    assert!(!cholesky(&mut [f64::NAN], 1, 0.0));
}

#[test]
fn ill_conditioned_systems_are_solved_as_far_as_they_can_be() {
    // Hilbert's matrix: the residual is tiny whatever the condition.
    let dim = 10;
    let matrix = Square::from_lower(dim, (0..dim * dim).map(|at| 1.0 / (at / dim + at % dim + 1) as f64).collect());
    let right: Vec<f64> = (0..dim).map(|k| (k as f64).cos()).collect();
    let (mut factor, mut solution) = (matrix.values.clone(), right.clone());
    assert!(cholesky(&mut factor, dim, 0.0));
    cholesky_solve(&factor, &mut solution);
    let mut residual = matrix.times_vector(&solution);
    add_scaled(&mut residual, -1.0, &right);
    assert!(kernel::norm(&residual) <= 4.0 * f64::EPSILON * 1.76 * kernel::norm(&solution), "{residual:?}");
    assert_extremes(&matrix, 1.093_153_819_379_665_7e-13, 1.751_919_670_265_177_8);
}
