//! 38 hospitals of 1 to 382 patients, beside statsmodels on all rows in one place: `fixtures/hospitals.py` makes both.

use serde::Deserialize;

use super::*;
use crate::read_text;

const DATA: &str = include_str!("../../../../../examples/hospitals.csv");

#[derive(Deserialize)]
struct Reference {
    formula: String,
    family: String,
    weight: Option<String>,
    coefficients: Vec<Line>,
    deviance: f64,
    null_deviance: Option<f64>,
    dispersion: Option<f64>,
    aic: Option<f64>,
    log_likelihood: Option<f64>,
}

#[derive(Deserialize)]
struct Line {
    name: String,
    estimate: f64,
    std_error: f64,
    clustered: f64,
}

fn references() -> Vec<Reference> {
    serde_json::from_str(include_str!("../../fixtures/hospitals.json")).unwrap()
}

fn hospitals() -> TempDir {
    folder_with("patients.csv", DATA)
}

/// The coefficients of a fit by name, with their standard errors.
fn lines(model: &Value) -> Vec<(&str, f64, f64)> {
    let of = |line: &Value, name: &str| line[name].as_f64().unwrap();
    let table = model["coefficients"].as_array().unwrap().iter();
    table.map(|line| (line["name"].as_str().unwrap(), of(line, "estimate"), of(line, "std_error"))).collect()
}

#[test]
fn every_family_is_that_of_statsmodels() {
    let place = hospitals();
    for reference in references() {
        let Reference { formula, family, weight, coefficients, .. } = &reference;
        let what = format!("{formula}, {family}, {weight:?}");
        let mut options =
            vec!["--formula", formula, "--family", family, "--precision", "1e-7", "--close", "--budget", "2000"];
        options.extend(weight.iter().flat_map(|column| ["--weight", column]));
        // One hospital alone has a hospice: with gradients alone such a level takes many answers, or fails. Huber's loss
        // has no curvature where all rows of it are far off.
        if formula.contains("ward") && family != "huber:0.8" {
            options.extend(["--answers", "hessian"]);
        }
        let model = fit(place.path(), &options);
        let clustered = fit(place.path(), &[&options[..], &["--errors", "clustered"]].concat());
        assert_eq!((&model["users"], &model["converged"]), (&38.into(), &true.into()), "{what}");
        assert_eq!(names(&model).len(), coefficients.len(), "{what}");
        let (by_model, by_user) = (lines(&model), lines(&clustered));
        for expected in coefficients {
            let line = |lines: &[(&str, f64, f64)]| {
                let line = lines.iter().find(|(name, ..)| *name == expected.name);
                line.map(|(_, estimate, error)| (*estimate, *error))
                    .unwrap_or_else(|| panic!("{what}: {}", expected.name))
            };
            let ((estimate, std_error), (_, clustered)) = (line(&by_model), line(&by_user));
            // Of a standard error, where the estimate is less.
            let off = (estimate - expected.estimate).abs() / expected.estimate.abs().max(expected.std_error);
            assert!(off < 1e-6, "{what}, {}: {estimate} and {}", expected.name, expected.estimate);
            for (found, expected, kind) in [
                (std_error, expected.std_error, "standard error"),
                (clustered, expected.clustered, "clustered standard error"),
            ] {
                assert!(is_close(found, expected, 1e-6), "{what}, {kind}: {found} and {expected}");
            }
        }
        let numbers = [
            ("deviance", Some(reference.deviance)),
            ("null_deviance", reference.null_deviance),
            ("dispersion", reference.dispersion),
            ("aic", reference.aic),
            ("log_likelihood", reference.log_likelihood),
        ];
        for (name, expected) in numbers {
            // A weight has no one meaning in the likelihood of a gamma family.
            let is_unknown = model[name].is_null() && family == "gamma" && weight.is_some();
            if let Some(expected) = expected.filter(|_| !is_unknown) {
                let found = model[name].as_f64().unwrap_or_else(|| panic!("{what}, {name}"));
                assert!(is_close(found, expected, 1e-6), "{what}, {name}: {found} and {expected}");
            }
        }
    }
}

/// A hospital of one patient, one of two, one in which a column never changes, and one that alone has a level: all are fitted, and what
/// only one of them knows is said. The page that shows it has the same table.
#[test]
fn odd_hospitals_are_fitted_and_said() {
    let place = hospitals();
    let rows_of = |hospital: &str| DATA.lines().filter(|line| line.starts_with(hospital)).count();
    assert_eq!(["H01", "H02", "H38"].map(rows_of), [1, 2, 382]);
    let men = |line: &&str| line.starts_with("H05") && line.split(',').nth(2) == Some("f");
    assert_eq!(DATA.lines().filter(men).count(), 0);
    let hospices = DATA.lines().filter(|line| line.contains(",hospice,"));
    assert!(hospices.clone().count() > 10 && hospices.clone().all(|line| line.starts_with("H31")));
    let text = shown(place.path(), &["--formula", "died ~ age + sex + ward", "--close"]);
    for words in [
        "\n  rows count alike, no penalty; converged after ",
        " answers of 38 users\n",
        "\n  reference level    ward = hospice (of hospice, medical, surgical, trauma)\n",
        "\n  influence          H31 alone determines ward=",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let page = read_text(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/fit.md"));
    let table = text.lines().skip_while(|line| !line.contains("estimate")).take_while(|line| !line.is_empty());
    assert_eq!(table.clone().count(), 7, "{text}");
    table.for_each(|line| assert!(page.contains(&format!("{line}\n")), "docs/fit.md has not: {line}"));
    // Nobody else's gradient says anything of that level. With Hessians it is no matter.
    for seed in ["0", "1", "2"] {
        let by_hessians = ["--formula", "died ~ age + sex + factor(ward, ref = \"medical\")", "--answers", "hessian"];
        let text = shown(place.path(), &[&by_hessians[..], &["--close", "--seed", seed]].concat());
        assert!(
            text.contains("; converged after ") && text.contains("  H31 alone determines ward=hospice\n"),
            "{text}"
        );
        let influence = read_text(place.path().join("o/influence.csv"));
        assert!(influence.lines().nth(1).unwrap().starts_with("H31,ward=hospice,true,"), "{influence}");
    }
}

/// A file whose columns have other names than the model's.
#[test]
fn other_columns_are_named() {
    let place = hospitals();
    let renamed = DATA.replacen("hospital,age,sex", "hospital,Age,gender", 1);
    fs::write(place.path().join("renamed.csv"), renamed).unwrap();
    let command = ["fit", "renamed.csv", "--user", "hospital", "--formula", "died ~ age + sex", "--out", "r"];
    let told = refuses(place.path(), &command);
    assert!(
        told.contains("renamed.csv") && told.contains("there is no column \"age\"; did you mean \"Age\"?"),
        "{told}"
    );
    fit(place.path(), &["--formula", "died ~ age + sex"]);
    let told = refuses(place.path(), &["predict", "o/model.json", "renamed.csv"]);
    assert!(told.contains("renamed.csv") && told.contains("\"age\""), "{told}");
}
