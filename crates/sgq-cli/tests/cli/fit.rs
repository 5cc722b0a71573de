//! `sgq fit` and `sgq predict`: a practitioner's own data.

mod answers;
mod ends;
mod page;
mod predictions;

use std::{
    fmt::Write as _,
    fs,
    path::Path,
    process::{Command, Stdio},
};

use serde_json::Value;
use sgq::{Problem as _, problem::Loss};
use sgq_data::csv;
use tempfile::TempDir;

use crate::{folder_with, read, read_text, refuses, root, sgq, succeeds, text};

/// Seven hospitals of unequal size: a number, a column with levels, and who died.
pub(crate) fn patients() -> String {
    let mut csv = "hospital,age,ward,died,days\n".to_owned();
    for row in 0..90_u32 {
        // No two hospitals alike, nothing random.
        let hospital = (row * row + row / 7) % 7;
        let age = 30 + (row * 37) % 50 + 3 * hospital;
        let ward = ["east", "north", "west"][(row * 11 % 3) as usize];
        let died = if (age + row * 17 % 40) > 85 { "yes" } else { "no" };
        let days = f64::from(age) / 10.0 + f64::from(row * 29 % 13) / 4.0;
        let _ = writeln!(csv, "H{hospital},{age},{ward},{died},{days}");
    }
    csv
}

fn place() -> TempDir {
    folder_with("patients.csv", &patients())
}

const LOGISTIC: [&str; 8] = ["fit", "patients.csv", "--user", "hospital", "--target", "died", "--exclude", "days"];

/// A fit of who died, with more options.
fn fit(folder: &Path, more: &[&str]) -> Value {
    let arguments = [&LOGISTIC[..], &["--json", "--quiet", "--force", "--out", "o"], more].concat();
    serde_json::from_str(&succeeds(folder, &arguments)).unwrap()
}

/// The coefficients of the columns as they are.
pub(crate) fn estimates(model: &Value) -> Vec<f64> {
    let coefficients = model["coefficients"].as_array().unwrap();
    coefficients.iter().map(|coefficient| coefficient["estimate"].as_f64().unwrap()).collect()
}

/// The coefficients of the columns as the regression sees them.
fn standardised(model: &Value) -> Vec<f64> {
    model["standardised"].as_array().unwrap().iter().map(|value| value.as_f64().unwrap()).collect()
}

/// A method with a model of the users says how it holds curvature; others say nothing.
#[test]
fn the_model_is_said() {
    let place = place();
    let frugal = fit(place.path(), &["--method", "frugal"]);
    let dim = frugal["coefficients"].as_array().unwrap().len();
    assert_eq!(frugal["settings"]["model"], format!("curvature as a {dim} × {dim} matrix"));
    assert!(fit(place.path(), &["--method", "saga"])["settings"].get("model").is_none());
    let arguments = [&LOGISTIC[..], &["--method", "frugal", "--force"]].concat();
    let words = format!("  model              curvature as a {dim} × {dim} matrix\n");
    let shown = succeeds(place.path(), &[&arguments[..], &["--verbose"]].concat());
    assert!(shown.contains(&words), "{shown}");
    assert!(!succeeds(place.path(), &arguments).contains("curvature as a"));
}

/// Worked by hand. Over rows: mean x 1, mean y 3, Sxx = 2, Sxy = 2, so y = 2 + x. The mean over users weighs A's two rows ¼ each and
/// B's one ½: mean x 1, mean y 3.5, Sxx = ½, Sxy = ¼·2.5 − ¼·0.5 = ½, so y = 2.5 + x.
#[test]
fn least_squares_worked_by_hand() {
    let place = folder_with("d.csv", "who,x,y\nA,0,1\nB,1,5\nA,2,3\n");
    for (weigh, intercept) in [(&[][..], 2.0), (&["--weigh", "users"], 2.5)] {
        for more in [&[][..], &["--no-standardise"], &["--method", "l-bfgs"]] {
            let start = ["fit", "d.csv", "--user", "who", "--target", "y", "--budget", "4000", "--tol", "off"];
            let arguments = [&start[..], &["--json", "--force"], weigh, more].concat();
            let model: Value = serde_json::from_str(&succeeds(place.path(), &arguments)).unwrap();
            assert_eq!(model["family"], "gaussian");
            let found = estimates(&model);
            assert!((found[0] - intercept).abs() < 1e-9 && (found[1] - 1.0).abs() < 1e-9, "{more:?}: {found:?}");
        }
    }
    fs::write(place.path().join("new.csv"), "x\n10\n-4\n").unwrap();
    let printed = succeeds(place.path(), &["predict", "out/d/model.json", "new.csv"]);
    let predicted: Vec<f64> =
        printed.lines().skip(1).map(|line| line.split(',').nth(1).unwrap().parse().unwrap()).collect();
    assert!((predicted[0] - 12.5).abs() < 1e-8 && (predicted[1] + 1.5).abs() < 1e-8, "{printed}");
}

#[test]
fn a_fit_comes_to_the_optimum_of_the_data() {
    let place = place();
    let options = csv::Options {
        loss: Loss::Logistic,
        features: csv::Features::Except(vec!["days".into()]),
        ..csv::Options::new("hospital", "died")
    };
    let data = csv::read(place.path().join("patients.csv"), &options).unwrap();
    // A penalty on all but the intercept.
    let builder = data.builder(Loss::Logistic).unwrap().l2(0.01).user_weights(data.row_totals());
    let problem = builder.free_intercept().build().unwrap();
    let optimum = &problem.optimum().unwrap().point;
    let model = fit(place.path(), &["--budget", "20000", "--tol", "off", "--l2", "0.01"]);
    let found = standardised(&model);
    for (found, expected) in found.iter().zip(optimum) {
        assert!((found - expected).abs() < 1e-8, "{found} {expected}");
    }
    let encoding = data.encoding.unwrap();
    assert_eq!(estimates(&model), encoding.original_scale().coefficients(&found));
    for (one, other) in estimates(&model).iter().zip(encoding.on_original_scale(&found).unwrap()) {
        assert!((one - other).abs() < 1e-12, "{one} {other}");
    }
    assert_eq!((&model["family"], &model["l2"]), (&Value::from("binomial"), &Value::from(0.01)));
    assert_eq!(model["method"], "frugal");
    assert!(model["diagnostic"]["relative_gap"].as_f64().unwrap().abs() < 1e-12);
    // As the library says, to the bit.
    let expected = encoding.predict(&*read(place.path().join("patients.csv")), &found).unwrap();
    let expected: Vec<f64> = expected.into_iter().map(Option::unwrap).collect();
    let printed = succeeds(place.path(), &["predict", "o/model.json", "patients.csv"]);
    let mut lines = printed.lines();
    assert_eq!(lines.next(), Some("row,prediction,probability of yes"));
    for (index, (line, expected)) in lines.by_ref().zip(&expected).enumerate() {
        let level = if *expected >= 0.5 { "yes" } else { "no" };
        assert_eq!(line, format!("{},{level},{expected:?}", index + 1));
    }
    assert_eq!((printed.lines().count(), expected.len()), (91, 90));
    // Into a file, and as JSON.
    assert_eq!(succeeds(place.path(), &["predict", "o/model.json", "patients.csv", "--out", "p/all.csv"]), "");
    assert_eq!(read_text(place.path().join("p/all.csv")), printed);
    let json = succeeds(place.path(), &["predict", "o/model.json", "patients.csv", "--json"]);
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!((json["probability_of"].as_str(), json["predictions"][89]["row"].as_u64()), (Some("yes"), Some(90)));
    assert_eq!(json["predictions"][3]["probability"].as_f64(), Some(expected[3]));
}

#[test]
fn every_query_is_billed_to_a_user() {
    let place = place();
    let model = fit(place.path(), &["--budget", "137", "--method", "sgq", "--p", "0.5"]);
    let queries = read_text(place.path().join("o/queries.csv"));
    let counts: Vec<(&str, u64)> = queries
        .lines()
        .skip(1)
        .map(|line| line.split_once(',').unwrap())
        .map(|(user, count)| (user, count.parse().unwrap()))
        .collect();
    assert_eq!(counts.iter().map(|(user, _)| *user).collect::<Vec<_>>(), ["H0", "H1", "H2", "H3", "H4", "H5", "H6"]);
    assert_eq!(counts.iter().map(|(_, count)| count).sum::<u64>(), 137);
    assert_eq!(model["queries"], 137);
    // All seven first, then one a step.
    assert_eq!(model["asked"]["steps"], 130);
    let mut sorted: Vec<u64> = counts.iter().map(|(_, count)| *count).collect();
    sorted.sort_unstable();
    let per_user = &model["asked"]["per_user"];
    assert_eq!(
        (per_user["min"].as_u64(), per_user["median"].as_f64(), per_user["max"].as_u64()),
        (Some(sorted[0]), Some(sorted[3] as f64), Some(sorted[6]))
    );
    assert_eq!(model["asked"]["most_asked"][0]["queries"], sorted[6]);
    assert_eq!((model["settings"]["p"].as_f64(), model["settings"]["budget"].as_u64()), (Some(0.5), Some(137)));
    assert!(model["surrogate_gradient_norm"].as_f64().unwrap() > 0.0);
    let gaps = read_text(place.path().join("o/gap.csv"));
    assert_eq!(gaps.lines().count(), 2 + 137);
    let last = gaps.lines().last().unwrap().split_once(',').unwrap();
    assert_eq!(last.0, "137");
    assert_eq!(last.1.parse::<f64>().unwrap(), model["diagnostic"]["gap"].as_f64().unwrap());
    let svg = read_text(place.path().join("o/gap.svg"));
    assert!(svg.contains("diagnostic, not billed") && read(place.path().join("o/gap.png")).starts_with(b"\x89PNG"));
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let place = place();
    let files = |seed: &str, out: &str| {
        succeeds(place.path(), &[&LOGISTIC[..], &["--seed", seed, "--out", out]].concat());
        ["model.json", "queries.csv", "gap.csv", "gap.svg", "gap.png", "influence.csv"]
            .map(|name| read(place.path().join(out).join(name)))
    };
    let (one, again, other) = (files("3", "a"), files("3", "b"), files("4", "c"));
    assert_eq!(one, again);
    assert!(one[1] != other[1] && one[2] != other[2]);
}

#[test]
fn every_method_can_fit() {
    let place = place();
    for name in succeeds(place.path(), &["methods", "--quiet"]).lines() {
        let model = fit(place.path(), &["--method", name, "--budget", "60", "--tol", "off"]);
        assert_eq!((model["queries"].as_u64(), model["diverged"].as_bool()), (Some(60), Some(false)), "{name}");
        let oracles = ["ogq", "oort", "power-of-choice", "ciag", "nim", "stochastic-newton", "fednl", "fisher-scoring"];
        assert_eq!(model["sees_more"].is_null(), !oracles.contains(&name), "{name}");
    }
    let told = succeeds(place.path(), &[&LOGISTIC[..], &["--method", "ogq"]].concat());
    assert!(told.contains("ogq (oracle, looks not billed) sees more than it pays for"), "{told}");
}

#[test]
fn it_says_what_was_taken_and_why_it_stopped() {
    let place = place();
    let told = succeeds(place.path(), &LOGISTIC);
    for words in [
        "  died ~ age + ward: binomial: the target has two levels; --family takes another; the probability of \"yes\"\n",
        "  rows count alike, no penalty; converged after ",
        " answers of 7 users\n",
        "odds ratio\n",
        "\n  ward=north ",
        "  rows               90 used, none missing\n",
        "  standard errors    model (approximate)\n",
        "  note               standard errors are approximate: ",
        "  reference level    ward = east (of east, north, west)\n",
        ", besides 7 to a first question (rows, means, deviations, levels)\n",
        " in gradients, 70 at first\n",
        " standard errors at most, by stopping here (believed)\n",
        "% of that at the start (diagnostic, not billed)\n",
        "  stopped            converged: ",
        "  verdict            converged\n",
        "written to out/patients: model.json report.html forest.svg forest.png queries.csv influence.csv gap.csv gap.svg gap.png",
    ] {
        assert!(told.contains(words), "{words}: {told}");
    }
    let verbose = succeeds(place.path(), &[&LOGISTIC[..], &["--verbose"]].concat());
    for words in [
        "  method             frugal\n",
        "  step size          none: the method goes its own way\n",
        "  answers a user     min ",
        "  surrogate gradient ",
        "  remaining          ",
        "  users                 7\n",
        "  smoothness L_i        min ",
    ] {
        assert!(verbose.contains(words) && !told.contains(words), "{words}: {verbose}");
    }
    let days = ["fit", "patients.csv", "--user", "hospital", "--target", "days", "--features", "age,ward", "--force"];
    let told = succeeds(
        place.path(),
        &[&days[..], &["--target-gap", "0.05", "--method", "saga", "--step-size", "theory", "--verbose"]].concat(),
    );
    assert!(told.contains("days ~ age + ward: gaussian: the target has more than two values"), "{told}");
    assert!(told.contains("(theory: the cap of SAGA's theorem)"), "{told}");
    assert!(told.contains("the target gap is reached"), "{told}");
    let model: Value = serde_json::from_slice(&read(place.path().join("out/patients/model.json"))).unwrap();
    let relative = model["diagnostic"]["relative_gap"].as_f64().unwrap();
    assert!(relative <= 0.05 && model["queries"].as_u64().unwrap() < 500, "{relative}");
    for (option, family) in [("--family", "poisson"), ("--loss", "huber"), ("--family", "huber:0.5")] {
        let told = succeeds(place.path(), &[&days[..], &[option, family]].concat());
        let shown = if family == "huber" { "huber:1.345" } else { family };
        assert!(told.contains(&format!("days ~ age + ward: {shown}\n")), "{family}: {told}");
    }
    assert_eq!(succeeds(place.path(), &[&days[..], &["--quiet"]].concat()), "");
    // Bad news, in plain words.
    let output = sgq(place.path(), &[&days[..], &["--method", "saga", "--step-size", "100", "--out", "wild"]].concat());
    assert_eq!(output.status.code(), Some(2));
    let told = text(&output.stdout);
    assert!(told.contains("It diverged: the coefficients mean nothing. Give a smaller --step-size."), "{told}");
    assert!(text(&output.stderr).contains("error: the fit diverged"), "{}", text(&output.stderr));
    let told = refuses(place.path(), &["predict", "wild/model.json", "patients.csv"]);
    assert!(told.contains("diverged, and its coefficients mean nothing"), "{told}");
    let told = succeeds(place.path(), &[&days[..], &["--method", "saga", "--budget", "7"]].concat());
    assert!(told.contains("No step was taken: saga asks all 7 users first. Give a --budget above 7"), "{told}");
    let rows: String = (0..100_001).map(|k| format!("{k},{},{}\n", k % 7, k % 11)).collect();
    fs::write(place.path().join("many.csv"), format!("who,x,y\n{rows}")).unwrap();
    let many = ["fit", "many.csv", "--user", "who", "--target", "y", "--force"];
    for (budget, method) in [("40", "frugal"), ("100001", "saga")] {
        let told = succeeds(place.path(), &[&many[..], &["--budget", budget, "--verbose"]].concat());
        assert!(told.contains(&format!("  method             {method}\n")), "{budget}: {told}");
    }
}

#[test]
fn weights_and_other_delimiters_are_read() {
    // A row of weight 2 is two rows.
    let place = folder_with("w.csv", "who|x|y|times\nA|0|1|2\nA|2|3|1\nB|1|5|1\nB|4|4|1\n");
    fs::write(place.path().join("rows.csv"), "who|x|y\nA|0|1\nA|0|1\nA|2|3\nB|1|5\nB|4|4\n").unwrap();
    let found = |file: &str, more: &[&str]| {
        let arguments = ["fit", file, "--user", "who", "--target", "y", "--json", "--delimiter", "|"];
        let arguments = [&arguments[..], &["--no-standardise", "--budget", "20000", "--tol", "off"], more].concat();
        estimates(&serde_json::from_str(&succeeds(place.path(), &arguments)).unwrap())
    };
    let (weighted, repeated) = (found("w.csv", &["--weight", "times"]), found("rows.csv", &[]));
    for (one, other) in weighted.iter().zip(&repeated) {
        assert!((one - other).abs() < 1e-9, "{weighted:?} {repeated:?}");
    }
}

#[test]
fn mistakes_are_named_and_nothing_is_written() {
    let place = place();
    fs::write(place.path().join("gaps.csv"), patients().replacen(",west,", ",,", 2)).unwrap();
    fs::write(place.path().join("one.csv"), "hospital,age,died\nA,1,no\nB,2,no\n").unwrap();
    fs::write(place.path().join("three.csv"), "hospital,age,died\nA,1,no\nB,2,yes\nB,3,perhaps\n").unwrap();
    let died = |file: &'static str| ["fit", file, "--user", "hospital", "--target", "died"];
    let more = |more: &[&'static str]| [&LOGISTIC[..], more].concat();
    for (arguments, expected) in [
        (
            vec!["fit", "patients.csv", "--user", "hopsital", "--target", "died"],
            "patients.csv: there is no column \"hopsital\"; did you mean \"hospital\"? (there are: \"hospital\", \"age\"",
        ),
        (vec!["fit", "patients.csv", "--user", "hospital", "--target", "dyed"], "did you mean \"died\"?"),
        (more(&["--weight", "wards"]), "there is no column \"wards\"; did you mean \"ward\"?"),
        (vec!["fit", "patient.csv", "--user", "hospital", "--target", "died"], "patient.csv: cannot be read"),
        (
            [&died("gaps.csv")[..], &["--refuse-missing"]].concat(),
            "gaps.csv: 2 of 90 rows have missing values (\"ward\": 2): fill them in, or leave out --refuse-missing",
        ),
        (died("one.csv").to_vec(), "one.csv: the target \"died\" is \"no\" in every row: there is nothing to predict"),
        (died("three.csv").to_vec(), "three.csv: line 2: the target \"died\" is \"no\", which is not a finite number"),
        (died("three.csv").to_vec(), "a target with more than two levels must be numeric"),
        (more(&["--family", "gaussian"]), "line 2: the target \"died\" is"),
        (more(&["--family", "logistc"]), "the family is 'logistc': it must be gaussian, binomial, poisson, "),
        (more(&["--family", "negbin"]), "lacks its theta"),
        (more(&["--formula", "died ~ age"]), "cannot be used with"),
        (vec!["fit", "patients.csv", "--user", "hospital"], "--target <COLUMN>"),
        (more(&["--precision", "0"]), "expected a positive number"),
        (more(&["--precision", "0.1", "--tol", "0.1"]), "cannot be used with"),
        (more(&["--no-diagnostics", "--target-gap", "0.1"]), "cannot be used with"),
        (more(&["--method", "sqg"]), "there is no method \"sqg\"; did you mean \"sgq\"?"),
        (more(&["--method", "adam"]), "there is no method \"adam\"; there are: frugal, sgd, "),
        (
            more(&["--method", "frugal", "--step-size", "0.1"]),
            "frugal has no step size: leave out --step-size, or name another --method",
        ),
        (more(&["--method", "saga", "--p", "0.3"]), "saga takes no p: leave out --p, or take --method sgq"),
        (more(&["--method", "sgq", "--p", "1.5"]), "p is 1.5: it must lie in [0, 1]"),
        (more(&["--set", "lazy"]), "expected a name and a value, such as lazy=true"),
        (more(&["--method", "sgd", "--set", "lazy=true"]), "sgd has no setting \"lazy\"; it has none"),
        (more(&["--method", "sgq", "--set", "lasy=true"]), "sgq has no setting \"lasy\"; did you mean \"lazy\"?"),
        (more(&["--method", "sgq", "--set", "lazy=1"]), "--set lazy=1: it must be true or false"),
        (more(&["--method", "sgq", "--set", "bonus=much"]), "--set bonus=much: it must be a number"),
        (more(&["--method", "sgq", "--set", "bonus=-1"]), "bonus is -1: it must be finite and at least 0"),
        (
            more(&["--method", "saga", "--set", "lazy=true", "--step-size", "theory"]),
            "no theorem bounds the step size of saga",
        ),
        (
            more(&["--method", "sgq", "--set", "learned=true", "--step-size", "theory"]),
            "no theorem bounds the step size of sgq",
        ),
        (more(&["--method", "practical-sgq", "--step-size", "0.1"]), "practical-sgq has no step size"),
        (more(&["--method", "svrg", "--step-size", "theory"]), "no theorem bounds the step size of svrg"),
        (
            more(&["--budget", "-5"]),
            "invalid value '-5' for '--budget <N>': expected a whole number from 1 to 10000000",
        ),
        (more(&["--budget", "0"]), "expected a whole number from 1 to 10000000"),
        (more(&["--l2", "-1"]), "expected a number that is not negative"),
        (more(&["--step-size", "-0.1"]), "expected a positive number, auto or theory"),
        (more(&["--target-gap", "0"]), "expected a positive number"),
        (more(&["--features", "age"]), "cannot be used with"),
        (more(&["--delimiter", "ab"]), "expected one character"),
        (more(&["--table", "f16"]), "invalid value 'f16' for '--table <FORMAT>'"),
        (
            more(&["--method", "saga", "--table", "scalars"]),
            "--table scalars needs users with one row each, and some have several",
        ),
        (more(&["--method", "saga", "--table-folder", "nowhere"]), "cannot be kept in a file in nowhere"),
        (more(&["--method", "sgd", "--table", "f32"]), "sgd keeps no table of last gradients: leave out --table"),
        (more(&["--out", "patients.csv/below"]), "cannot write to the folder patients.csv/below"),
    ] {
        let error = refuses(place.path(), &arguments);
        assert!(error.contains(expected), "{arguments:?}: {error}");
        assert!(!place.path().join("out").exists(), "nothing is written for {arguments:?}");
    }
    let told = succeeds(place.path(), &died("gaps.csv"));
    assert!(told.contains("  rows               88 used, 2 left out with missing values (ward 2)\n"), "{told}");
}

/// Options of SGQ by name, and the method that has them on: nobody is asked before the first step.
#[test]
fn settings_of_methods_can_be_changed() {
    let place = folder_with("patients.csv", &patients());
    let run = |more: &[&str]| -> serde_json::Value {
        let output = succeeds(place.path(), &[&LOGISTIC[..], &["--json", "--budget", "300", "--force"], more].concat());
        serde_json::from_str(&output).unwrap()
    };
    let plain = run(&["--method", "sgq"]);
    assert!(plain["settings"]["set"].is_null());
    let (billed, steps) = (&plain["queries"], &plain["asked"]["steps"]);
    assert!(billed.as_u64() > steps.as_u64());
    let lazy = run(&["--method", "sgq", "--set", "lazy=true", "--set", "learned=true", "--set", "bonus=0.1"]);
    assert_eq!(lazy["settings"]["set"], serde_json::json!({ "bonus": "0.1", "lazy": "true", "learned": "true" }));
    assert_eq!(lazy["queries"], lazy["asked"]["steps"]);
    for method in ["saga", "iqn"] {
        let lazy = run(&["--method", method, "--set", "lazy=true"]);
        assert_eq!(lazy["queries"], lazy["asked"]["steps"], "{method}");
    }
    let practical = run(&["--method", "practical-sgq"]);
    assert_eq!(practical["queries"], practical["asked"]["steps"]);
    assert!(practical["settings"]["step_size"].is_null());
}

/// The table can be kept in any way; how much room it takes is said before, on stderr.
#[test]
fn tables_of_every_format_fit_the_same() {
    let place = folder_with("rows.csv", &patients());
    // A user for each row.
    let lines = patients().replace("hospital,", "row,");
    let lines = lines.lines().enumerate().map(|(k, line)| match line.split_once(',') {
        Some((_, rest)) if k > 0 => format!("{k},{rest}\n"),
        _ => format!("{line}\n"),
    });
    fs::write(place.path().join("rows.csv"), lines.collect::<String>()).unwrap();
    let common =
        ["fit", "rows.csv", "--user", "row", "--target", "died", "--exclude", "days", "--method", "saga", "--json"];
    let common = [&common[..], &["--force"]].concat();
    let run = |more: &[&str]| {
        let output = sgq(place.path(), &[&common[..], more].concat());
        assert!(output.status.success(), "{more:?}: {}", text(&output.stderr));
        let model: Value = serde_json::from_slice(&output.stdout).unwrap();
        (standardised(&model), text(&output.stderr))
    };
    let (expected, said) = run(&[]);
    assert_eq!(said, "");
    for (more, tolerance, words) in [
        (&["--table", "f64"][..], 0.0, "2.88 kB in memory: 90 users × 4 parameters in f64\n"),
        (&["--table", "f64", "--table-folder", "."], 0.0, "2.88 kB in a file in .: 90 users × 4 parameters in f64\n"),
        (&["--table", "f32"], 1e-5, "1.44 kB in memory: 90 users × 4 parameters in f32\n"),
        (
            &["--table", "sparse"],
            1e-10,
            "2.88 kB in memory, and 12 bytes for each number that is not zero: 90 users × 4",
        ),
        (&["--table", "scalars"], 1e-10, "720 bytes in memory: 90 users × 1 number in f64\n"),
    ] {
        let (found, said) = run(more);
        assert!(said.starts_with("table of last gradients: ") && said.contains(words), "{more:?}: {said}");
        for (one, other) in found.iter().zip(&expected) {
            assert!((one - other).abs() <= tolerance, "{more:?}: {found:?} {expected:?}");
        }
        assert_eq!(run(&[more, &["--quiet"]].concat()).1, "");
    }
}

/// The commands in docs/fit.md, as they stand there, print what stands below them.
#[cfg(unix)]
#[test]
fn the_example_in_the_documents_works() {
    let document = read_text(root().join("docs/fit.md"));
    let blocks = |kind: &str| -> Vec<String> {
        let fence = format!("```{kind}\n");
        document.split(&fence).skip(1).map(|block| block.split("```").next().unwrap().to_owned()).collect()
    };
    let commands = blocks("sh").concat().replace("cargo run --release --", env!("CARGO_BIN_EXE_sgq"));
    let place = folder_with("run.sh", &commands);
    fs::create_dir(place.path().join("examples")).unwrap();
    for example in ["examples/medpar.csv", "examples/hospitals.csv"] {
        fs::copy(root().join(example), place.path().join(example)).unwrap();
    }
    let output = Command::new("sh").args(["-e", "run.sh"]).current_dir(place.path()).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    // The last bits may differ from one kind of processor to the next.
    let short = |field: &str| match field.parse::<f64>() {
        Ok(number) if field.len() > 10 => format!("{number:.6}"),
        _ => field.to_owned(),
    };
    let lines = |text: &str| -> Vec<String> {
        let lines = text.lines().filter(|line| !line.is_empty());
        lines.map(|line| line.split(',').map(short).collect::<Vec<_>>().join(",")).collect()
    };
    assert_eq!(lines(&text(&output.stdout)), lines(&blocks("text").concat()));
}

/// The fit is the regression on all rows at once, the one of a single user that has all rows; with users that count the same it is
/// another one.
#[test]
fn rows_count_alike_whoever_has_them() {
    let one = patients().lines().enumerate().fold(String::new(), |mut csv, (number, line)| {
        let _ = writeln!(csv, "{},{line}", if number == 0 { "all" } else { "everybody" });
        csv
    });
    let place = folder_with("patients.csv", &one);
    let fit = |user: &str, more: &[&str]| {
        let start = ["fit", "patients.csv", "--user", user, "--target", "died", "--features", "age,ward", "--force"];
        let arguments = [&start[..], &["--json", "--quiet", "--out", "o", "--target-gap", "1e-12"], more].concat();
        serde_json::from_str::<Value>(&succeeds(place.path(), &arguments)).unwrap()
    };
    let (pooled, equal) = (fit("all", &[]), fit("hospital", &["--weigh", "users"]));
    assert_eq!((&pooled["weigh"], &equal["weigh"]), (&Value::from("rows"), &Value::from("users")));
    for more in [&[][..], &["--weigh", "rows"], &["--method", "saga", "--budget", "20000"]] {
        let by_rows = fit("hospital", more);
        let off = |other: &Value| {
            let (a, b) = (standardised(&by_rows), standardised(other));
            a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
        };
        assert!(off(&pooled) < 1e-4 && off(&equal) > 1e-2, "{} {}", off(&pooled), off(&equal));
    }
}
