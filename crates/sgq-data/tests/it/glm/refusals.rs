//! What is refused, and in which words.

use sgq::problem::Rows;
use sgq_data::glm::{
    Closing, ClosingError, Family, FamilyError, Fit, Inference, InferenceError, Learned, Observations, OriginalScale,
    Penalty, StdErrors, Sums, influence,
};

use super::{Case, Numbers};

fn case(family: Family) -> Case {
    let mut numbers = Numbers(5);
    let lines: Vec<Vec<f64>> = (0..24).map(|_| vec![1.0, numbers.normal()]).collect();
    let target = |row: usize| match family {
        Family::Binomial => {
            if row.is_multiple_of(3) {
                1.0
            } else {
                -1.0
            }
        }
        _ => (row % 3 + 1) as f64,
    };
    Case::new(family, &lines, (0..24).map(target).collect(), vec![0, 8, 16, 24])
}

#[test]
fn families_have_the_names_people_know() {
    for (text, family) in [
        ("gaussian", Family::Gaussian),
        ("squares", Family::Gaussian),
        ("binomial", Family::Binomial),
        ("logistic", Family::Binomial),
        ("poisson", Family::Poisson),
        ("negbin:0.5", Family::NegativeBinomial { theta: 0.5 }),
        ("negative-binomial:2", Family::NegativeBinomial { theta: 2.0 }),
        ("gamma", Family::Gamma),
        ("huber", Family::Huber { delta: 1.345 }),
        ("huber:2", Family::Huber { delta: 2.0 }),
    ] {
        assert_eq!(text.parse(), Ok(family));
        assert_eq!(family.to_string().parse(), Ok(family));
        assert_eq!(Family::from(sgq::problem::Loss::from(family)), family);
        let json = serde_json::to_string(&family).unwrap();
        assert_eq!(json, format!("\"{family}\""));
        assert_eq!(serde_json::from_str::<Family>(&json).unwrap(), family);
    }
    for (text, says) in [
        ("normal", "the family is 'normal': it must be gaussian, binomial"),
        ("", "the family is ''"),
        ("negbin", "the family 'negbin' lacks its theta"),
        ("negbin:0", "the theta of the family 'negbin' is '0': it must be a positive number"),
        ("negbin:inf", "is 'inf'"),
        ("huber:-1", "the delta of the family 'huber' is '-1'"),
        ("huber:", "is ''"),
        ("poisson:2", "the family 'poisson' takes no number, but ':2' follows"),
    ] {
        let refusal: FamilyError = text.parse::<Family>().unwrap_err();
        assert!(refusal.to_string().contains(says), "{refusal}");
    }
    assert!(serde_json::from_str::<Family>("\"normal\"").unwrap_err().to_string().contains("gaussian"));
}

#[test]
fn closings_of_misfits_are_refused() {
    let case = case(Family::Binomial);
    let data = case.observations();
    let of = |data: &Observations<'_>, range, point: &[f64]| Closing::of(data, range, 0, point).unwrap_err();
    let length = |what, found, expected| ClosingError::Length { what, found, expected };
    assert_eq!(of(&data, 0..8, &[0.0]), length("coefficients", 1, 2));
    assert_eq!(of(&data, 0..25, &[0.0; 2]), length("rows", 24, 25));
    let short = [1.0; 3];
    for (what, data) in [
        ("targets", Observations { targets: &short, ..data }),
        ("weights", Observations { weights: Some(&short), ..data }),
        ("offsets", Observations { offsets: Some(&short), ..data }),
    ] {
        assert_eq!(of(&data, 0..8, &[0.0; 2]), length(what, 3, 24));
    }
    assert_eq!(of(&Observations { weights: Some(&[0.0; 24]), ..data }, 0..8, &[0.0; 2]), ClosingError::NoRows);
    for weight in [-1.0, f64::NAN, f64::INFINITY] {
        let mut weights = [1.0; 24];
        weights[3] = weight;
        let refusal = of(&Observations { weights: Some(&weights), ..data }, 0..8, &[0.0; 2]);
        assert_eq!(
            refusal.to_string(),
            format!("the weight of row 3 is {weight}: it must be finite, and not negative")
        );
    }
    let counts = Observations { family: Family::Poisson, ..data };
    let refusal = of(&counts, 0..8, &[0.0; 2]);
    assert_eq!(refusal.to_string(), "the target of row 1 is -1: a count is not negative");
    let ones = [1.0; 24];
    let diverged = of(&Observations { targets: &ones, ..counts }, 0..8, &[800.0, 0.0]);
    assert!(matches!(diverged, ClosingError::NotFinite { what: "score", index: 0, .. }), "{diverged}");
}

#[test]
fn closings_from_users_are_checked() {
    let case = case(Family::Gamma);
    let honest = case.closings(&[0.1, 0.2]).remove(0);
    let check = |change: &dyn Fn(&mut Closing)| {
        let mut closing = honest.clone();
        change(&mut closing);
        closing.check(2, Family::Gamma)
    };
    assert_eq!(check(&|_| ()), Ok(()));
    type Change = dyn Fn(&mut Closing);
    let changes: [(&str, &Change); 13] = [
        ("has 1 score, not 2", &|c| c.score.truncate(1)),
        ("has 4 information, not 3", &|c| c.information.push(0.0)),
        ("has 2 observed_information, not 3", &|c| c.observed_information.as_mut().unwrap().truncate(2)),
        ("number 1 of the closing's score is NaN", &|c| c.score[1] = f64::NAN),
        ("number 2 of the closing's information is inf", &|c| c.information[2] = f64::INFINITY),
        ("closing's deviance is NaN", &|c| c.deviance = f64::NAN),
        ("closing's deviance is -1,", &|c| c.deviance = -1.0),
        ("closing's pearson is -1,", &|c| c.pearson = -1.0),
        ("closing's weight is 0,", &|c| c.weight = 0.0),
        ("closing's information is -1,", &|c| c.information[2] = -1.0),
        ("another family than gamma", &|c| c.observed_information = None),
        ("another family than gamma", &|c| c.sums = Sums::Binomial { positives: None }),
        ("of no rows", &|c| c.rows = 0),
    ];
    for (says, change) in changes {
        let refusal = check(change).unwrap_err().to_string();
        assert!(refusal.contains(says), "{refusal}");
    }
    let sums = Sums::Gamma { log_targets: f64::NAN, weight: None, scaled: 1.0, log_ratios: 1.0 };
    let nan = Closing { sums, ..honest.clone() };
    assert!(nan.check(2, Family::Gamma).unwrap_err().to_string().contains("number 0 of the closing's sums is NaN"));
    let mut json = serde_json::to_value(&honest).unwrap();
    json["patients"] = 3.into();
    assert!(serde_json::from_value::<Closing>(json).unwrap_err().to_string().contains("patients"));
    let point = [0.1, 0.2];
    let fit = case.fit(&point, StdErrors::Model);
    let refusal = Inference::from_closings(&fit, &[honest.clone(), nan.clone()]).unwrap_err();
    assert!(refusal.to_string().starts_with("user 1: number 0 of the closing's sums"), "{refusal}");
    let inference = case.inference(&point, StdErrors::Model);
    assert!(influence(&fit, &[nan], &inference).is_err());
    assert_eq!(Closing::sum(&[]), None);
    let other = super::refusals::case(Family::Binomial).closings(&point).remove(0);
    assert_eq!(Closing::sum(&[honest, other]), None);
}

#[test]
fn fits_that_cannot_be_closed_are_refused() {
    let case = case(Family::Gaussian);
    let point = case.optimum();
    let closings = case.closings(&point);
    let fit = || case.fit(&point, StdErrors::Clustered);
    let says = |fit: &Fit<'_>, closings: &[Closing], says: &str| {
        let refusal = Inference::from_closings(fit, closings).unwrap_err().to_string();
        assert!(refusal.contains(says), "{refusal}");
    };
    says(&fit(), &[], "there are no users");
    says(&fit(), &closings[..1], "there is 1 user, and standard errors clustered by user need at least 2");
    says(&Fit { level: 95.0, ..fit() }, &closings, "the level is 95: it must be between 0 and 1");
    says(&Fit { names: &case.names[..1], ..fit() }, &closings, "there are 1 names of coefficients, not 2");
    let scale = OriginalScale::identity(3);
    says(&Fit { scale, ..fit() }, &closings, "there are 3 coefficients of the original columns, not 2");
    says(&Fit { user_factors: Some(&[1.0]), ..fit() }, &closings, "there are 1 factors of users, not 3");
    says(&Fit { user_factors: Some(&[1.0, 0.0, 1.0]), ..fit() }, &closings, "the factor of a user is 0");
    let penalty = Penalty { of_sum: -1.0, free_intercept: true };
    says(&Fit { penalty, ..fit() }, &closings, "the penalty is -1");
    says(&Fit { point: &[f64::NAN, 0.0], ..fit() }, &closings, "the coefficient is NaN");
    let two = Closing::of(&case.observations(), 0..2, 0, &point).unwrap();
    says(&fit(), &[two], "2 rows leave no degrees of freedom for 2 coefficients");
    let clipped = Case { family: Family::Huber { delta: 1e-6 }, ..case.clone() };
    let far = [1000.0, 0.0];
    let all = clipped.closings(&far);
    says(&clipped.fit(&far, StdErrors::Model), &all, "the weight of the rows within Huber's delta is 0");
    let (hessian, gradients) = ([1.0, 0.0, 0.0, 1.0], vec![vec![0.1, 0.2], vec![-0.1, -0.2]]);
    let learned = Learned { hessian: &hessian, gradients: &gradients, weight: None, rows: None, dispersion: Some(1.0) };
    let refused = |fit: &Fit<'_>, learned: &Learned<'_>, says: &str| {
        let refusal = Inference::approximate(fit, learned).unwrap_err().to_string();
        assert!(refusal.contains(says), "{refusal}");
    };
    assert!(Inference::approximate(&fit(), &learned).is_ok());
    refused(&fit(), &Learned { gradients: &[], ..learned }, "there are no users");
    refused(&fit(), &Learned { gradients: &gradients[..1], ..learned }, "there is 1 user");
    refused(&fit(), &Learned { hessian: &hessian[..3], ..learned }, "3 numbers in the Hessian, not 4");
    refused(&fit(), &Learned { hessian: &[f64::NAN; 4], ..learned }, "the Hessian is NaN");
    refused(&fit(), &Learned { hessian: &[1.0; 4], ..learned }, "x1 is a multiple of intercept");
    refused(&fit(), &Learned { rows: Some(2), ..learned }, "2 rows leave no degrees of freedom");
    let model = case.fit(&point, StdErrors::Model);
    refused(&model, &learned, "the total weight of the rows is NaN");
    refused(&model, &Learned { dispersion: Some(-1.0), ..learned }, "the dispersion is -1");
    let factors = [1.0, 2.0];
    let factored = Fit { user_factors: Some(&factors), ..model.clone() };
    refused(&factored, &Learned { weight: Some(24.0), ..learned }, "number of factors of users is 2");
    let huber = Fit { family: Family::Huber { delta: 1.0 }, ..model };
    refused(&huber, &Learned { weight: Some(24.0), ..learned }, "the dispersion of huber:1 is not known");
}

#[test]
fn columns_that_others_make_are_named() {
    let mut numbers = Numbers(11);
    let line = |row: usize| {
        let level = |k: usize| f64::from(u8::from(row % 3 == k));
        vec![1.0, numbers.normal(), level(0), level(1), level(2)]
    };
    let lines: Vec<Vec<f64>> = (0..60).map(line).collect();
    let targets: Vec<f64> = (0..60).map(|row| if row % 4 < 2 { 1.0 } else { -1.0 }).collect();
    let case = Case::new(Family::Binomial, &lines, targets, vec![0, 30, 60]);
    for case in [case.clone(), case.standardised()] {
        let point = [0.1, 0.2, -0.1, 0.0, 0.1];
        for kind in [StdErrors::Model, StdErrors::Clustered] {
            let refusal = Inference::from_closings(&case.fit(&point, kind), &case.closings(&point)).unwrap_err();
            let InferenceError::Collinear(columns) = &refusal else { panic!("{refusal}") };
            assert_eq!(columns.to_string(), "x4 is a linear combination of intercept, x2, x3");
            let penalty = Penalty { of_sum: 0.5, free_intercept: true };
            let fit = Fit { penalty, ..case.fit(&point, kind) };
            assert!(Inference::from_closings(&fit, &case.closings(&point)).is_ok());
        }
    }
    let no_rows = Rows::Dense { dim: 1, values: vec![] };
    let empty = Observations { rows: &no_rows, targets: &[], weights: None, offsets: None, family: Family::Poisson };
    assert_eq!(sgq_data::glm::null_deviance(&empty), None);
}
