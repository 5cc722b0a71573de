//! Who moves the coefficients.

use sgq::{Oracle as _, Problem as _};
use sgq_data::glm::{
    Closing, Family, Fit, Inference, Learned, OriginalScale, StdErrors, influence, influence_approximate,
};

use super::{Case, Numbers, assert_all_close, reference};

/// One step of Newton's method is all that squares need.
#[test]
fn it_is_exact_for_gaussian() {
    let mut seen = 0;
    for reference in reference::references() {
        let Some(without) = &reference.without_user else { continue };
        for case in [reference.case(), reference.case().standardised()] {
            let point = case.optimum();
            let inference = case.inference(&point, StdErrors::Model);
            let found = influence(&case.fit(&point, StdErrors::Model), &case.closings(&point), &inference).unwrap();
            assert_eq!(found.len(), without.len());
            for user in &found {
                let left: Vec<f64> =
                    user.change.as_ref().unwrap().iter().zip(&reference.params).map(|(c, b)| b + c).collect();
                assert_all_close("without a user", &left, &without[user.user], 1e-8);
                let scaled = user.in_std_errors.as_ref().unwrap();
                let largest = scaled.iter().fold(0.0, |largest: f64, value| largest.max(value.abs()));
                assert_eq!(user.largest_in_std_errors.abs(), largest);
                assert_eq!(user.flagged, largest > 2.0 / (without.len() as f64).sqrt());
            }
            assert!(found.is_sorted_by(|a, b| a.largest_in_std_errors.abs() >= b.largest_in_std_errors.abs()));
            seen += 1;
        }
    }
    assert_eq!(seen, 8);
}

/// Clinics with ages in years, and one in months.
fn clinics(family: Family, seed: u64) -> Case {
    let mut numbers = Numbers(seed);
    let (mut lines, mut targets, mut blocks) = (Vec::new(), Vec::new(), vec![0]);
    for clinic in 0..16 {
        for _ in 0..30 {
            let (age, sex) = (30.0 + 40.0 * numbers.uniform(), f64::from(u8::from(numbers.uniform() < 0.5)));
            let z = -2.0 + 0.04 * age + 0.3 * sex;
            targets.push(match family {
                Family::Binomial => {
                    if numbers.uniform() < 1.0 / (1.0 + (-z).exp()) {
                        1.0
                    } else {
                        -1.0
                    }
                }
                Family::Poisson => (z.exp() + z.exp().sqrt() * numbers.normal()).max(0.0).round(),
                Family::Gamma => z.exp() * (0.1 * numbers.normal()).exp(),
                _ => z + 0.3 * numbers.normal(),
            });
            lines.push(vec![1.0, if clinic == 11 { 12.0 * age } else { age }, sex]);
        }
        blocks.push(lines.len());
    }
    Case::new(family, &lines, targets, blocks)
}

#[test]
fn a_clinic_with_ages_in_months_comes_first() {
    for family in [Family::Gaussian, Family::Binomial, Family::Poisson, Family::Gamma] {
        for seed in 0..5 {
            let case = clinics(family, seed).standardised();
            let point = case.optimum();
            for kind in [StdErrors::Model, StdErrors::Clustered] {
                let inference = case.inference(&point, kind);
                let found = influence(&case.fit(&point, kind), &case.closings(&point), &inference).unwrap();
                assert_eq!(found[0].user, 11, "{family} {seed}: {found:?}");
                assert!(found[0].flagged && found[0].largest != "x2", "{found:?}");
                let json = serde_json::to_string(&found).unwrap();
                assert_eq!(serde_json::from_str::<Vec<sgq_data::glm::Influence>>(&json).unwrap(), found);
            }
        }
    }
}

/// Users of one size that are alike: hardly any is flagged.
#[test]
fn users_that_are_alike_are_rarely_flagged() {
    let mut flagged = 0;
    for seed in 0..20 {
        let mut numbers = Numbers(1000 + seed);
        let lines: Vec<Vec<f64>> = (0..40 * 15).map(|_| vec![1.0, numbers.normal()]).collect();
        let targets = lines.iter().map(|line| line[1] + numbers.normal()).collect();
        let case = Case::new(Family::Gaussian, &lines, targets, (0..=40).map(|user| 15 * user).collect());
        let point = case.optimum();
        let inference = case.inference(&point, StdErrors::Clustered);
        let found = influence(&case.fit(&point, StdErrors::Clustered), &case.closings(&point), &inference).unwrap();
        flagged += found.iter().filter(|user| user.flagged).count();
    }
    // Two coefficients, each beyond two of its standard deviations in 5%: 80 of 800 are expected.
    assert!((40..130).contains(&flagged), "{flagged}");
}

/// A level that one user alone has cannot be estimated without it.
#[test]
fn a_user_that_alone_determines_a_coefficient_is_named() {
    let mut numbers = Numbers(3);
    let level = |row: usize| f64::from(u8::from((20..30).contains(&row) && row.is_multiple_of(2)));
    let lines: Vec<Vec<f64>> = (0..50).map(|row| vec![1.0, numbers.normal(), level(row)]).collect();
    let targets = lines.iter().map(|line| line[1] + line[2] + numbers.normal()).collect();
    let case = Case::new(Family::Gaussian, &lines, targets, (0..=5).map(|user| 10 * user).collect());
    for case in [case.clone(), case.standardised()] {
        let point = case.optimum();
        let inference = case.inference(&point, StdErrors::Model);
        let found = influence(&case.fit(&point, StdErrors::Model), &case.closings(&point), &inference).unwrap();
        assert_eq!((found[0].user, found[0].largest.as_str(), found[0].flagged), (2, "x2", true));
        assert_eq!((found[0].change.as_ref(), found[0].largest_in_std_errors), (None, f64::INFINITY));
        assert!(found[1..].iter().all(|user| user.change.is_some()));
        let json = serde_json::to_string(&found).unwrap();
        assert_eq!(serde_json::from_str::<Vec<sgq_data::glm::Influence>>(&json).unwrap(), found);
    }
}

/// From the Hessian and the gradients that a fit knows at its optimum, what is approximate becomes exact but for what it says.
#[test]
fn learned_inputs_give_the_same_at_the_optimum() {
    for reference in reference::references() {
        let case = reference.case().standardised();
        let regression = case.regression(0.0);
        let point = regression.optimum().unwrap().point.clone();
        let (users, dim) = (regression.users(), point.len());
        let mut hessian = vec![0.0; dim * dim];
        let mut gradients = vec![vec![0.0; dim]; users];
        for (user, gradient) in gradients.iter_mut().enumerate() {
            regression.gradient(user, &point, gradient);
            let mut own = vec![0.0; dim * dim];
            regression.hessian(user, &point, &mut own);
            hessian.iter_mut().zip(&own).for_each(|(sum, value)| *sum += value / users as f64);
        }
        let exact = case.inference(&point, StdErrors::Clustered);
        let weight: f64 = case.weights.as_ref().map_or(case.targets.len() as f64, |weights| weights.iter().sum());
        let unit = case.scale.target().scale;
        let learned = Learned {
            hessian: &hessian,
            gradients: &gradients,
            weight: Some(weight),
            rows: exact.rows,
            dispersion: exact.dispersion.map(|value| value / (unit * unit)),
        };
        let fit = case.fit(&point, StdErrors::Clustered);
        let found = Inference::approximate(&fit, &learned).unwrap();
        assert_all_close("clustered", &found.covariance, &exact.covariance, 1e-8);
        assert_eq!(found.std_error_kind, "clustered by user (approximate)");
        assert_eq!((found.deviance, found.aic, found.log_likelihood), (None, None, None));
        assert!(found.to_string().contains("standard errors    clustered by user (approximate)"));
        // J Δ = s_i, on the encoded columns.
        let encoded = Fit { scale: OriginalScale::identity(dim), ..fit.clone() };
        let total = Closing::sum(&case.closings(&point)).unwrap();
        let information = total.observed_information.as_ref().unwrap_or(&total.information);
        let found_encoded = Inference::approximate(&encoded, &learned).unwrap();
        for user in influence_approximate(&encoded, &learned, &found_encoded).unwrap() {
            let change = user.change.unwrap();
            let score = &case.closings(&point)[user.user].score;
            let size: f64 = score.iter().map(|value| value.abs()).sum();
            for (k, expected) in score.iter().enumerate() {
                let packed = |j: usize| k.max(j) * (k.max(j) + 1) / 2 + k.min(j);
                let image: f64 = (0..dim).map(|j| information[packed(j)] * change[j]).sum();
                assert!((image - expected).abs() < 1e-8 * size, "{image} against {expected}");
            }
        }
        let fit = Fit { std_errors: StdErrors::Model, ..fit };
        if !case.family.observed_differs() {
            let model = case.inference(&point, StdErrors::Model);
            let found = Inference::approximate(&fit, &learned).unwrap();
            assert_all_close("model", &found.covariance, &model.covariance, 1e-8);
            assert_eq!(found.std_error_kind, "model (approximate)");
        }
        if !case.family.has_fixed_dispersion() {
            let unknown = Learned { dispersion: None, ..learned };
            let refusal = Inference::approximate(&fit, &unknown).unwrap_err();
            assert!(refusal.to_string().contains("the dispersion of"), "{refusal}");
        }
    }
}
