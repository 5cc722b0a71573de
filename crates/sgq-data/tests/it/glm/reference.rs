//! Against statsmodels: fixtures/glm.py.

use serde::Deserialize;
use sgq::problem::Rows;
use sgq_data::glm::{Closing, Family, Fit, Inference, OriginalScale, StdErrors, log_likelihood, null_deviance};

use super::{Case, assert_all_close, close};

const FIXTURE: &str = include_str!("../../fixtures/glm.json");

const TOLERANCE: f64 = 1e-9;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reference {
    family: Family,
    rows: Vec<f64>,
    dim: usize,
    targets: Vec<f64>,
    weights: Option<Vec<f64>>,
    offsets: Option<Vec<f64>>,
    sizes: Vec<usize>,
    pub params: Vec<f64>,
    model: Vec<f64>,
    clustered: Vec<f64>,
    std_error: Vec<f64>,
    z: Vec<f64>,
    p: Vec<f64>,
    interval_90: Vec<[f64; 2]>,
    interval_95: Vec<[f64; 2]>,
    deviance: f64,
    null_deviance: Option<f64>,
    pearson: Option<f64>,
    dispersion: Option<f64>,
    log_likelihood: Option<f64>,
    aic: Option<f64>,
    df_residual: u64,
    pub without_user: Option<Vec<Vec<f64>>>,
}

/// Whether some direction separates data with small integers, and how many of their rows.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Separable {
    pub rows: Vec<f64>,
    pub dim: usize,
    pub targets: Vec<f64>,
    pub counts: bool,
    pub separated: usize,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fixture {
    glm: Vec<Reference>,
    separation: Vec<Separable>,
}

fn fixture() -> Fixture {
    serde_json::from_str(FIXTURE).unwrap()
}

pub fn references() -> Vec<Reference> {
    fixture().glm
}

pub fn separable() -> Vec<Separable> {
    fixture().separation
}

impl Reference {
    pub fn case(&self) -> Case {
        let ends = self.sizes.iter().scan(0, |end, size| {
            *end += size;
            Some(*end)
        });
        let mut names: Vec<String> = (0..self.dim).map(|k| format!("x{k}")).collect();
        names[0] = "intercept".into();
        Case {
            family: self.family,
            rows: Rows::Dense { dim: self.dim, values: self.rows.clone() },
            targets: self.targets.clone(),
            weights: self.weights.clone(),
            offsets: self.offsets.clone(),
            blocks: [0].into_iter().chain(ends).collect(),
            names,
            scale: OriginalScale::identity(self.dim),
        }
    }

    fn title(&self) -> String {
        let has = |list: &Option<Vec<f64>>| if list.is_some() { "with" } else { "without" };
        format!("{}, {} weights, {} offsets", self.family, has(&self.weights), has(&self.offsets))
    }
}

#[test]
fn the_fixture_has_every_family_with_and_without_weights_and_offsets() {
    let titles: std::collections::BTreeSet<String> = references().iter().map(Reference::title).collect();
    assert_eq!(titles.len(), 5 * 4 + 2, "{titles:?}");
}

/// On the columns as they are, and standardised, with targets where they may be.
#[test]
fn every_number_is_that_of_statsmodels() {
    for reference in references() {
        for case in [reference.case(), reference.case().standardised()] {
            agrees(&reference, &case);
        }
    }
}

fn agrees(reference: &Reference, case: &Case) {
    let title = reference.title();
    let point = case.optimum();
    let model = case.inference(&point, StdErrors::Model);
    let estimates: Vec<f64> = model.coefficients.iter().map(|line| line.estimate).collect();
    assert_all_close(&format!("{title}: estimate"), &estimates, &reference.params, TOLERANCE);
    assert_all_close(&format!("{title}: covariance"), &model.covariance, &reference.model, TOLERANCE);
    let clustered = case.inference(&point, StdErrors::Clustered);
    assert_all_close(&format!("{title}: clustered"), &clustered.covariance, &reference.clustered, TOLERANCE);
    assert_eq!(clustered.std_error_kind, "clustered by user");
    for (k, line) in model.coefficients.iter().enumerate() {
        let found = [line.std_error, line.z, line.lower, line.upper];
        let [lower, upper] = reference.interval_95[k];
        let expected = [reference.std_error[k], reference.z[k], lower, upper];
        assert_all_close(&format!("{title}: line {k}"), &found, &expected, TOLERANCE);
        // The tail of a z that is right to 1e-9 is right to z² times that.
        assert!(close(line.p, reference.p[k], TOLERANCE * (1.0 + line.z * line.z)), "{title}: p");
        let shown = case.family.ratio_name().is_some() && k > 0;
        assert_eq!(line.ratio, shown.then(|| line.estimate.exp()));
        assert_eq!(line.ratio_upper, shown.then(|| line.upper.exp()));
    }
    let fit = Fit { level: 0.9, ..case.fit(&point, StdErrors::Model) };
    let wider = Inference::from_closings(&fit, &case.closings(&point)).unwrap();
    for (line, [lower, upper]) in wider.coefficients.iter().zip(&reference.interval_90) {
        assert_all_close(&title, &[line.lower, line.upper], &[*lower, *upper], TOLERANCE);
    }
    assert!(close(model.deviance.unwrap(), reference.deviance, TOLERANCE), "{title}: deviance");
    assert_eq!(model.df_residual, Some(reference.df_residual));
    let optional = [
        ("dispersion", model.dispersion, reference.dispersion),
        ("log-likelihood", model.log_likelihood, reference.log_likelihood),
        ("AIC", model.aic, reference.aic),
        ("null deviance", model.null_deviance, reference.null_deviance),
    ];
    let differing_gamma = case.family == Family::Gamma && case.weights.is_some();
    let offset = case.offsets.is_some();
    let iterative = offset && matches!(case.family, Family::Binomial | Family::NegativeBinomial { .. });
    for (what, found, expected) in optional {
        let absent = match what {
            "null deviance" => iterative,
            "log-likelihood" | "AIC" => differing_gamma,
            // Known from the sums, and not in the fixture.
            _ => expected.is_none(),
        };
        match (found, expected) {
            (Some(found), Some(expected)) => {
                assert!(close(found, expected, TOLERANCE), "{title}: {what} {found} against {expected}");
                assert!(!absent, "{title}: {what}");
            }
            (_, expected) => assert!(absent || expected.is_none(), "{title}: {what}"),
        }
    }
    let unit = case.scale.target().scale;
    if let Some(expected) = reference.null_deviance {
        let found = null_deviance(&case.observations()).unwrap() * unit * unit;
        assert!(close(found, expected, TOLERANCE), "{title}: {found} against {expected}");
    }
    let total = Closing::sum(&case.closings(&point)).unwrap();
    if let Some(expected) = reference.pearson {
        assert!(close(total.pearson * unit * unit, expected, TOLERANCE), "{title}: Pearson");
    }
    if let (Some(expected), Some(dispersion)) = (reference.log_likelihood, reference.dispersion) {
        let rows = total.rows as f64;
        let profiled = if case.family == Family::Gaussian { total.deviance / rows } else { dispersion };
        let found = log_likelihood(&case.observations(), &point, profiled).unwrap() - rows * unit.ln();
        assert!(close(found, expected, TOLERANCE), "{title}: {found} against {expected}");
    }
}

/// A row of weight 0 changes nothing, not even the number of rows.
#[test]
fn rows_without_weight_are_not_used() {
    for reference in references().iter().filter(|reference| reference.weights.is_some()) {
        let case = reference.case();
        let mut more = case.clone();
        let Rows::Dense { values, .. } = &mut more.rows else { panic!("dense") };
        values.extend([1.0, 5.0, -3.0, 0.0]);
        more.targets.push(1.0);
        more.weights.as_mut().unwrap().push(0.0);
        if let Some(offsets) = &mut more.offsets {
            offsets.push(0.3);
        }
        *more.blocks.last_mut().unwrap() += 1;
        let point = case.optimum();
        assert_eq!(more.closings(&point), case.closings(&point));
        let (found, expected) = (null_deviance(&more.observations()), null_deviance(&case.observations()));
        assert_eq!(found, expected);
    }
}

/// What users answer survives JSON, adds up in any grouping, and is as many numbers as it says.
#[test]
fn closings_travel() {
    for reference in references() {
        let case = reference.case();
        let point = case.optimum();
        let closings = case.closings(&point);
        for closing in &closings {
            let json = serde_json::to_value(closing).unwrap();
            assert_eq!(&serde_json::from_value::<Closing>(json.clone()).unwrap(), closing);
            assert_eq!(numbers(&json), closing.numbers(), "{json}");
        }
        let whole = Closing::of(&case.observations(), case.observations().all(), 0, &point).unwrap();
        let sum = Closing::sum(&closings).unwrap();
        assert_all_close("information", &sum.information, &whole.information, 1e-12);
        assert_eq!(
            (sum.rows, sum.sums.clone()),
            (whole.rows, {
                // Sums in another order differ in rounding only, which the numbers above have shown; here only their kind matters.
                assert_eq!(std::mem::discriminant(&sum.sums), std::mem::discriminant(&whole.sums));
                sum.sums
            })
        );
        let inference = case.inference(&point, StdErrors::Clustered);
        let json = serde_json::to_string(&inference).unwrap();
        let back: Inference = serde_json::from_str(&json).unwrap();
        assert_eq!(Inference { covariance: inference.covariance.clone(), ..back }, inference);
    }
}

fn numbers(json: &serde_json::Value) -> usize {
    match json {
        serde_json::Value::Number(_) => 1,
        serde_json::Value::Array(list) => list.iter().map(numbers).sum(),
        serde_json::Value::Object(fields) => fields.values().map(numbers).sum(),
        _ => 0,
    }
}
