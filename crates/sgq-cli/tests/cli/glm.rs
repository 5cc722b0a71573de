//! `sgq fit` is the regression of all rows in one place: it agrees with a plain one, and says what a statistician wants to know.

mod around;
mod plain;
mod refused;
mod statsmodels;

use std::{fs, path::Path};

use serde_json::Value;
use tempfile::TempDir;

use crate::{fit::estimates, folder_with, refuses, succeeds};
use plain::{Kind, Patient, Plain, csv, glm, patients, rows, sizes};

/// Few patients, for what takes many fits.
const SMALL: [usize; 12] = [1, 3, 40, 7, 25, 18, 60, 12, 33, 5, 50, 21];

fn place(patients: &[Patient]) -> TempDir {
    folder_with("patients.csv", &csv(patients))
}

fn arguments<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&["fit", "patients.csv", "--user", "hospital", "--force", "--out", "o"], more].concat()
}

fn fit(folder: &Path, more: &[&str]) -> Value {
    serde_json::from_str(&succeeds(folder, &[&arguments(more)[..], &["--json"]].concat())).unwrap()
}

/// What the text shows.
fn shown(folder: &Path, more: &[&str]) -> String {
    succeeds(folder, &arguments(more))
}

fn is_close(found: f64, expected: f64, tolerance: f64) -> bool {
    (found - expected).abs() <= tolerance * expected.abs()
}

fn std_errors(model: &Value) -> Vec<f64> {
    model["coefficients"].as_array().unwrap().iter().map(|line| line["std_error"].as_f64().unwrap()).collect()
}

fn names(model: &Value) -> Vec<&str> {
    model["coefficients"].as_array().unwrap().iter().map(|line| line["name"].as_str().unwrap()).collect()
}

/// Whether all that both know is the same, to this part.
fn agree(model: &Value, plain: &Plain, tolerance: f64, what: &str) {
    let each = |found: &[f64], expected: &[f64], name: &str| {
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(expected) {
            assert!(is_close(*found, *expected, tolerance), "{what}, {name}: {found} and {expected}");
        }
    };
    each(&estimates(model), &plain.estimates, "estimates");
    each(&std_errors(model), &plain.std_errors, "standard errors");
    let number = |name: &str| model[name].as_f64().unwrap_or_else(|| panic!("{what}, {name}: {}", model[name]));
    let found = ["deviance", "null_deviance", "dispersion"].map(number);
    each(&found, &[plain.deviance, plain.null_deviance, plain.dispersion], "deviance, null deviance, dispersion");
    match (plain.log_likelihood, plain.aic) {
        (Some(value), Some(aic)) => {
            each(&["log_likelihood", "aic"].map(number), &[value, aic], "log-likelihood, AIC");
        }
        _ => assert!(model["aic"].is_null() && model["log_likelihood"].is_null(), "{what}"),
    }
}

/// What a patient has in a column.
type Column = fn(&Patient) -> f64;

fn is_male(patient: &Patient) -> f64 {
    f64::from(u8::from(patient.sex == "m"))
}

fn in_west(patient: &Patient) -> f64 {
    f64::from(u8::from(patient.ward == "west"))
}

fn in_north(patient: &Patient) -> f64 {
    f64::from(u8::from(patient.ward == "north"))
}

const DIED: [&str; 2] = ["--formula", "died ~ age + sex + ward"];
const DIED_COLUMNS: [Column; 4] = [|it| it.age, is_male, in_north, in_west];

#[test]
fn hospitals_of_unequal_size_are_pooled() {
    let patients = patients(&sizes());
    let per_hospital = |k: usize| patients.iter().filter(|it| it.hospital == k).count();
    assert_eq!((per_hospital(0), per_hospital(37)), (1, 382));
    let place = place(&patients);
    let plain = glm(Kind::Binomial, &rows(&patients, |it| it.died, &DIED_COLUMNS));
    let exact = [&DIED[..], &["--precision", "1e-7", "--close"]].concat();
    let model = fit(place.path(), &exact);
    assert_eq!(names(&model), ["intercept", "age", "sex=m", "ward=north", "ward=west"]);
    agree(&model, &plain, 1e-6, "38 hospitals");
    assert_eq!((&model["family"], &model["weigh"], &model["l2"]), (&"binomial".into(), &"rows".into(), &0.0.into()));
    assert_eq!((&model["users"], &model["converged"]), (&38.into(), &true.into()));
    assert_eq!(model["std_error_kind"], "model");
    // What is in a line follows from estimate and standard error.
    for line in model["coefficients"].as_array().unwrap() {
        let of = |name: &str| line[name].as_f64().unwrap();
        let (estimate, error) = (of("estimate"), of("std_error"));
        assert!(is_close(of("z"), estimate / error, 1e-12), "{line}");
        assert!(is_close(of("upper") - of("lower"), 2.0 * 1.959_963_984_540_054 * error, 1e-9), "{line}");
        assert!((of("p") > 0.05) == (of("lower") * of("upper") < 0.0), "{line}");
        match line["name"] == "intercept" {
            true => assert!(line["ratio"].is_null()),
            false => assert!(is_close(of("ratio"), estimate.exp(), 1e-12), "{line}"),
        }
    }
    // By default the printed digits are those, or nearly.
    let rough = fit(place.path(), &DIED);
    for ((found, exact), error) in estimates(&rough).iter().zip(&plain.estimates).zip(&plain.std_errors) {
        assert!((found - exact).abs() < 0.02 * error, "{found} {exact} {error}");
    }
    let text = shown(place.path(), &exact);
    for words in [
        "  died ~ age + sex + ward: binomial: the target has two levels; --family takes another; the probability of \"yes\"\n",
        "  rows count alike, no penalty; converged after ",
        " answers of 38 users\n",
        "  reference level    sex = f (of f, m)\n",
        "  reference level    ward = east (of east, north, west)\n",
        &format!("  rows               {} used, none missing\n", patients.len()),
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    // As everybody's own model would have it, it is another fit, and says so.
    let users = fit(place.path(), &[&exact[..], &["--weigh", "users"]].concat());
    assert_eq!(users["weigh"], "users");
    let off = |k: usize| (estimates(&users)[k] - plain.estimates[k]).abs() / plain.std_errors[k];
    assert!((0..5).map(off).fold(0.0, f64::max) > 0.5);
    let text = shown(place.path(), &[&exact[..], &["--weigh", "users"]].concat());
    assert!(
        text.contains("  users count alike, however many rows each has (not a glm of all rows), no penalty; "),
        "{text}"
    );
    // The penalty is on the standardised columns, and not on the intercept.
    let text = shown(place.path(), &[&exact[..], &["--l2", "0.01"]].concat());
    assert!(text.contains("penalty λ = 0.01 on standardised coefficients, not on the intercept; "), "{text}");
    // Standard errors that need no model.
    let clustered = fit(place.path(), &[&exact[..], &["--errors", "clustered"]].concat());
    assert_eq!(clustered["std_error_kind"], "clustered by user");
    for (found, expected) in std_errors(&clustered).iter().zip(&plain.clustered) {
        assert!(is_close(*found, *expected, 1e-6), "{found} {expected}");
    }
}

#[test]
fn every_family_agrees_with_the_plain_regression() {
    let patients = patients(&SMALL);
    let place = place(&patients);
    let days: Option<Column> = Some(|it| it.days.ln());
    let score = |it: &Patient| it.score;
    let cases: [(&str, &str, Kind, Column, Option<Column>); 6] = [
        ("gaussian", "score ~ age + sex", Kind::Gaussian, score, None),
        ("gaussian", "log(cost) ~ age + sex", Kind::Gaussian, |it| it.cost.ln(), None),
        ("binomial", "died ~ age + sex", Kind::Binomial, |it| it.died, None),
        ("poisson", "falls ~ age + sex + offset(log(days))", Kind::Poisson, |it| it.falls, days),
        ("negbin:2", "falls ~ age + sex + offset(log(days))", Kind::NegativeBinomial(2.0), |it| it.falls, days),
        ("gamma", "cost ~ age + sex", Kind::Gamma, |it| it.cost, None),
    ];
    for (family, formula, kind, target, offset) in cases {
        let mut data = rows(&patients, target, &[|it| it.age, is_male]);
        if let Some(offset) = offset {
            data.offsets = patients.iter().map(offset).collect();
        }
        for weighted in [false, true] {
            let mut options = vec!["--formula", formula, "--family", family, "--precision", "1e-7", "--close"];
            if weighted {
                options.extend(["--weight", "counts"]);
                data.weights = patients.iter().map(|it| it.counts).collect();
            }
            let what = format!("{formula}, {family}, {weighted}");
            let model = fit(place.path(), &options);
            let plain = glm(kind, &data);
            agree(&model, &plain, 1e-6, &what);
            let shown = if family == "negbin:2" { "negative-binomial:2" } else { family };
            assert_eq!((&model["family"], &model["converged"]), (&shown.into(), &true.into()), "{what}");
            // Fewer digits are close to these, by as much as was asked for.
            let rough = fit(place.path(), &[&options[..4], &options[7..]].concat());
            for ((found, exact), error) in estimates(&rough).iter().zip(&plain.estimates).zip(&plain.std_errors) {
                assert!((found - exact).abs() < 0.05 * error, "{what}: {found} {exact} {error}");
            }
        }
    }
}

/// What is believed of the distance from the optimum is in standard errors, whatever the unit of the target and however well it fits.
#[test]
fn the_precision_is_in_standard_errors() {
    let mut patients = patients(&SMALL);
    for (unit, noise) in [(1e-2, 0.3), (1e5, 0.3), (1.0, 1e-4)] {
        patients
            .iter_mut()
            .for_each(|it| it.score = unit * (it.age + 4.0 * is_male(it) + noise * (it.cost % 7.0 - 3.5)));
        let place = place(&patients);
        let plain = glm(Kind::Gaussian, &rows(&patients, |it| it.score, &[|it| it.age, is_male]));
        for more in [&[][..], &["--no-standardise"], &["--no-diagnostics"]] {
            let options = [&["--formula", "score ~ age + sex", "--precision", "0.1"][..], more].concat();
            let model = fit(place.path(), &options);
            let believed = model["believed_off"].as_f64().unwrap();
            assert!(
                model["converged"] == true && believed <= 0.1,
                "{unit} {noise} {more:?}: {believed}, {}",
                model["stop"]
            );
            for ((found, exact), error) in estimates(&model).iter().zip(&plain.estimates).zip(&plain.std_errors) {
                assert!((found - exact).abs() < 0.3 * error, "{unit} {noise} {more:?}: {found} {exact} {error}");
            }
        }
    }
}

/// A row of weight 0 is not used, and not counted.
#[test]
fn rows_without_weight_do_not_count() {
    let mut all = patients(&SMALL);
    all.iter_mut().filter(|it| it.ward == "north" && SMALL[it.hospital] > 20).for_each(|it| it.counts = 0.0);
    let place = place(&all);
    let options = ["--formula", "score ~ age + sex", "--weight", "counts", "--precision", "1e-7", "--close"];
    let mut used = all.clone();
    used.retain(|it| it.counts > 0.0);
    let mut data = rows(&used, |it| it.score, &[|it| it.age, is_male]);
    data.weights = used.iter().map(|it| it.counts).collect();
    let model = fit(place.path(), &options);
    agree(&model, &glm(Kind::Gaussian, &data), 1e-6, "without the north");
    assert_eq!(model["rows"], used.len());
    let text = shown(place.path(), &options);
    let words =
        format!("  rows               {} used, {} of weight 0, none missing\n", used.len(), all.len() - used.len());
    assert!(text.contains(&words), "{text}");
}

#[test]
fn formulas_have_interactions_and_references() {
    let patients = patients(&SMALL);
    let place = place(&patients);
    let in_east = |it: &Patient| f64::from(u8::from(it.ward == "east"));
    let columns: [Column; 6] = [
        |it| it.age,
        in_east,
        in_north,
        is_male,
        |it| it.age * f64::from(u8::from(it.ward == "east")),
        |it| it.age * in_north(it),
    ];
    let plain = glm(Kind::Gaussian, &rows(&patients, |it| it.score, &columns));
    let formula = "score ~ age * factor(ward, ref = \"west\") + sex";
    let model = fit(place.path(), &["--formula", formula, "--precision", "1e-7", "--close"]);
    let order = ["intercept", "age", "ward=east", "ward=north", "sex=m", "age:ward=east", "age:ward=north"];
    assert_eq!((names(&model), model["formula"].as_str()), (order.to_vec(), Some(formula)));
    agree(&model, &plain, 1e-6, formula);
    // Without an intercept every level has a coefficient, and none is the reference.
    let text = shown(place.path(), &["--formula", "score ~ ward + sex - 1"]);
    assert!(text.contains("\n  ward=east ") && !text.contains("reference level    ward"), "{text}");
    assert!(text.contains("  reference level    sex = f (of f, m)\n"), "{text}");
    // Numbers that are levels.
    let text = shown(place.path(), &["--target", "died", "--features", "age,counts", "--factors", "counts"]);
    assert!(text.contains("\n  counts=2 ") && text.contains("\n  counts=4 "), "{text}");
    assert!(text.contains("  reference level    counts = 1 (of 1, 2, 3, 4)\n"), "{text}");
    // The same model in two ways.
    let one = fit(place.path(), &["--formula", "died ~ age + sex"]);
    let other = fit(place.path(), &["--target", "died", "--features", "age,sex"]);
    assert_eq!(one["standardised"], other["standardised"]);
    assert_eq!((&other["formula"], &other["target"]), (&"died ~ age + sex".into(), &"died".into()));
}

#[test]
fn many_users_take_little_time() {
    let patients = patients(&[10; 2000]);
    let place = place(&patients);
    let plain = glm(Kind::Binomial, &rows(&patients, |it| it.died, &[|it| it.age, is_male]));
    let begun = std::time::Instant::now();
    let model = fit(place.path(), &["--formula", "died ~ age + sex", "--quiet"]);
    assert!(begun.elapsed().as_secs() < 60, "{:?}", begun.elapsed());
    assert_eq!((&model["method"], &model["converged"]), (&"frugal".into(), &true.into()));
    assert!(model["queries"].as_u64().unwrap() < 3 * 2000, "{}", model["queries"]);
    for ((found, exact), error) in estimates(&model).iter().zip(&plain.estimates).zip(&plain.std_errors) {
        assert!((found - exact).abs() < 0.02 * error, "{found} {exact} {error}");
    }
}
