//! Penalties, factors of users, and data where everything is known.

use sgq::{
    Problem as _,
    problem::{Regression, Rows},
};
use sgq_data::glm::{Family, Fit, Inference, Observations, Penalty, StdErrors, null_deviance};

use super::{Case, Numbers, assert_all_close, reference};

/// The penalised gaussian estimator is linear in the targets: `β = B⁻¹ Xᵀ y`, with covariance `φ B⁻¹ Xᵀ X B⁻¹`.
#[test]
fn a_penalty_is_in_the_bread() {
    let mut numbers = Numbers(2);
    let lines: Vec<Vec<f64>> = (0..30).map(|_| vec![1.0, numbers.normal()]).collect();
    let targets: Vec<f64> = lines.iter().map(|line| 0.5 + line[1] + numbers.normal()).collect();
    let case = Case::new(Family::Gaussian, &lines, targets.clone(), vec![0, 10, 20, 30]);
    let l2 = 0.2;
    let regression = Regression::builder(case.rows.clone(), targets, &case.blocks, Family::Gaussian.into());
    let regression = regression.l2(l2).free_intercept().user_weights(vec![10.0; 3]).build().unwrap();
    let point = regression.optimum().unwrap().point.clone();
    let penalty = Penalty { of_sum: l2 * 30.0, free_intercept: true };
    let fit = Fit { penalty, ..case.fit(&point, StdErrors::Model) };
    let closings = case.closings(&point);
    let found = Inference::from_closings(&fit, &closings).unwrap();
    let sum = |f: &dyn Fn(f64) -> f64| lines.iter().map(|line| f(line[1])).sum::<f64>();
    let (n, x, xx) = (30.0, sum(&|x| x), sum(&|x| x * x));
    let bread = xx + penalty.of_sum;
    let determinant = n * bread - x * x;
    let inverse = [[bread / determinant, -x / determinant], [-x / determinant, n / determinant]];
    let gram = [[n, x], [x, xx]];
    let entry = |k: usize, j: usize| {
        let mut sum = 0.0;
        for (a, line) in gram.iter().enumerate() {
            for (b, value) in line.iter().enumerate() {
                sum += inverse[k][a] * value * inverse[b][j];
            }
        }
        sum * found.dispersion.unwrap()
    };
    assert_all_close("penalised", &found.covariance, &[entry(0, 0), entry(1, 0), entry(1, 1)], 1e-12);
    assert!(found.notes[0].contains("the L2 penalty shrinks the coefficients"), "{:?}", found.notes);
    assert!(found.fit_statistics().contains("Note: the L2 penalty"));
    // Scores and penalty cancel.
    let total: f64 = closings.iter().map(|closing| closing.score[1]).sum();
    assert!((total + penalty.of_sum * point[1]).abs() < 1e-9);
}

/// Users that count the same whatever their rows: factors of `1/rows`. The estimator of an intercept is the mean of means.
#[test]
fn users_that_count_the_same_have_the_variance_of_a_mean_of_means() {
    let mut numbers = Numbers(4);
    let sizes = [2usize, 5, 9, 4];
    let targets: Vec<f64> = (0..20).map(|_| numbers.normal()).collect();
    let lines = vec![vec![1.0]; 20];
    let case = Case::new(Family::Gaussian, &lines, targets.clone(), vec![0, 2, 7, 16, 20]);
    let means: Vec<f64> = case
        .blocks
        .windows(2)
        .map(|block| targets[block[0]..block[1]].iter().sum::<f64>() / (block[1] - block[0]) as f64)
        .collect();
    let point = [means.iter().sum::<f64>() / 4.0];
    let factors: Vec<f64> = sizes.iter().map(|size| 1.0 / *size as f64).collect();
    let fit = |std_errors| Fit { user_factors: Some(&factors), ..case.fit(&point, std_errors) };
    let model = Inference::from_closings(&fit(StdErrors::Model), &case.closings(&point)).unwrap();
    // φ/G² Σ 1/n_i.
    let expected = model.dispersion.unwrap() / 16.0 * factors.iter().sum::<f64>();
    assert_all_close("model", &model.covariance, &[expected], 1e-12);
    let clustered = Inference::from_closings(&fit(StdErrors::Clustered), &case.closings(&point)).unwrap();
    // The variance of a mean of G independent numbers; N − 1 over N − K is 1 for one coefficient.
    let expected = means.iter().map(|mean| (mean - point[0]).powi(2)).sum::<f64>() / (4.0 * 3.0);
    assert_all_close("clustered", &clustered.covariance, &[expected], 1e-12);
    assert!(clustered.notes.iter().any(|note| note.starts_with("4 users are few")), "{:?}", clustered.notes);
    assert!(clustered.notes.iter().any(|note| note.starts_with("rows counted more at some users")));
}

/// Where the null model fits perfectly, or has no finite intercept.
#[test]
fn null_deviances_at_the_edge() {
    let rows = Rows::Dense { dim: 1, values: vec![1.0; 4] };
    let of = |family, targets: &[f64], offsets: Option<&[f64]>| {
        null_deviance(&Observations { rows: &rows, targets, weights: None, offsets, family }).unwrap()
    };
    let offsets = [0.0, 0.5, 1.0, 1.5];
    for family in [Family::Poisson, Family::NegativeBinomial { theta: 2.0 }] {
        assert!(of(family, &[0.0; 4], Some(&offsets)).abs() < 1e-9, "{family}");
    }
    assert!(of(Family::Binomial, &[1.0; 4], Some(&offsets)).abs() < 1e-9);
    assert!(of(Family::Gaussian, &offsets, Some(&offsets)).abs() < 1e-12);
    let exact: Vec<f64> = offsets.iter().map(|o| (o + 3.0f64).exp()).collect();
    assert!(of(Family::Gamma, &exact, Some(&offsets)).abs() < 1e-12);
    // Huber's intercept of 0, 0, 0, 100 with delta 1: 3a = 1.
    let huber = of(Family::Huber { delta: 1.0 }, &[0.0, 0.0, 0.0, 100.0], None);
    let a = 1.0 / 3.0;
    assert!((huber - (3.0 * a * a + 2.0 * (100.0 - a - 0.5))).abs() < 1e-9, "{huber}");
}

/// The scale of the targets moves every number as it should: y in another unit.
#[test]
fn units_of_the_target_do_not_matter() {
    for reference in reference::references() {
        let case = reference.case();
        if !case.family.scales_targets() {
            continue;
        }
        let (plain, scaled) = (case.clone(), case.standardised());
        for kind in [StdErrors::Model, StdErrors::Clustered] {
            let a = plain.inference(&plain.optimum(), kind);
            let b = scaled.inference(&scaled.optimum(), kind);
            let numbers = |inference: &Inference| {
                [inference.deviance, inference.dispersion, inference.log_likelihood, inference.aic]
                    .map(|value| value.unwrap_or(0.0))
            };
            assert_all_close("fit", &numbers(&a), &numbers(&b), 1e-9);
            assert_all_close("covariance", &a.covariance, &b.covariance, 1e-9);
        }
    }
}
