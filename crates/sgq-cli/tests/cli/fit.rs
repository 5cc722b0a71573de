//! `sgq fit` and `sgq predict`: a practitioner's own data.

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

fn numbers(model: &Value, scale: &str) -> Vec<f64> {
    let coefficients = model["coefficients"].as_array().unwrap();
    coefficients.iter().map(|coefficient| coefficient[scale].as_f64().unwrap()).collect()
}

/// A method with a model of the users says how it holds curvature; others say nothing.
#[test]
fn the_model_is_said() {
    let place = place();
    let frugal = fit(place.path(), &["--method", "frugal"]);
    let dim = frugal["coefficients"].as_array().unwrap().len();
    assert_eq!(frugal["settings"]["model"], format!("curvature as a {dim} × {dim} matrix"));
    assert!(fit(place.path(), &["--method", "saga"])["settings"].get("model").is_none());
    let arguments = [&LOGISTIC[..], &["--method", "frugal"]].concat();
    let shown = succeeds(place.path(), &arguments);
    assert!(shown.contains(&format!("  model                 curvature as a {dim} × {dim} matrix\n")), "{shown}");
}

/// Worked by hand. The mean over users weighs A's two rows ¼ each and B's one ½: mean x 1, mean y 3.5,
/// Sxx = ½, Sxy = ¼·2.5 − ¼·0.5 = ½, so y = 2.5 + x. Over rows it would be y = 2 + x.
#[test]
fn least_squares_worked_by_hand() {
    let place = folder_with("d.csv", "who,x,y\nA,0,1\nB,1,5\nA,2,3\n");
    for more in [&[][..], &["--no-standardise"], &["--method", "l-bfgs"]] {
        let arguments =
            [&["fit", "d.csv", "--user", "who", "--target", "y", "--l2", "0", "--budget", "4000", "--json"][..], more]
                .concat();
        let arguments = [&arguments[..], &["--force", "--tol", "off"]].concat();
        let model: Value = serde_json::from_str(&succeeds(place.path(), &arguments)).unwrap();
        assert_eq!(model["loss"], "squares");
        let found = numbers(&model, "original");
        assert!((found[0] - 2.5).abs() < 1e-9 && (found[1] - 1.0).abs() < 1e-9, "{more:?}: {found:?}");
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
    let problem = data.regression(Loss::Logistic, 0.01).unwrap();
    let optimum = &problem.optimum().unwrap().point;
    let model = fit(place.path(), &["--budget", "20000", "--tol", "off"]);
    let found = numbers(&model, "standardised");
    for (found, expected) in found.iter().zip(optimum) {
        assert!((found - expected).abs() < 1e-8, "{found} {expected}");
    }
    let encoding = data.encoding.unwrap();
    assert_eq!(numbers(&model, "original"), encoding.on_original_scale(&found).unwrap());
    assert_eq!(model["loss"], "logistic");
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
    assert_eq!(model["queries"]["billed"], 137);
    // All seven first, then one a step.
    assert_eq!(model["queries"]["steps"], 130);
    let mut sorted: Vec<u64> = counts.iter().map(|(_, count)| *count).collect();
    sorted.sort_unstable();
    let per_user = &model["queries"]["per_user"];
    assert_eq!(
        (per_user["min"].as_u64(), per_user["median"].as_f64(), per_user["max"].as_u64()),
        (Some(sorted[0]), Some(sorted[3] as f64), Some(sorted[6]))
    );
    assert_eq!(model["queries"]["most_asked"][0]["queries"], sorted[6]);
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
        ["model.json", "queries.csv", "gap.csv", "gap.svg", "gap.png"]
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
        assert_eq!(
            (model["queries"]["billed"].as_u64(), model["diverged"].as_bool()),
            (Some(60), Some(false)),
            "{name}"
        );
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
        "loss                  logistic: the target has two levels; --loss takes another; predicts the probability of \"yes\"",
        "method                frugal",
        "none: the method goes its own way",
        "users                 7",
        "ward=north",
        "believed to remain    ",
        "proven to remain      a gap of ",
        "% of the gap at the start (diagnostic, not billed)",
        "stopped               converged: ",
        "verdict               converged\n",
        "written to out/patients: model.json queries.csv gap.csv gap.svg gap.png",
    ] {
        assert!(told.contains(words), "{words}: {told}");
    }
    let days = ["fit", "patients.csv", "--user", "hospital", "--target", "days", "--features", "age,ward", "--force"];
    let told = succeeds(
        place.path(),
        &[&days[..], &["--target-gap", "0.05", "--method", "saga", "--step-size", "theory"]].concat(),
    );
    assert!(told.contains("squares: the target has more than two values"), "{told}");
    assert!(told.contains("(theory: the cap of SAGA's theorem)"), "{told}");
    assert!(told.contains("the target gap is reached"), "{told}");
    let model: Value = serde_json::from_slice(&read(place.path().join("out/patients/model.json"))).unwrap();
    let relative = model["diagnostic"]["relative_gap"].as_f64().unwrap();
    assert!(relative <= 0.05 && model["queries"]["billed"].as_u64().unwrap() < 500, "{relative}");
    for (loss, name) in [("poisson", "poisson"), ("huber", "δ = 1.345"), ("huber:0.5", "δ = 0.5")] {
        let told = succeeds(place.path(), &[&days[..], &["--loss", loss]].concat());
        assert!(told.contains(name), "{loss}: {told}");
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
    let rows: String = (0..10_001).map(|k| format!("{k},{},{}\n", k % 7, k % 11)).collect();
    fs::write(place.path().join("many.csv"), format!("who,x,y\n{rows}")).unwrap();
    let many = ["fit", "many.csv", "--user", "who", "--target", "y", "--force"];
    for (budget, method) in [("40", "frugal"), ("10001", "saga")] {
        let told = succeeds(place.path(), &[&many[..], &["--budget", budget]].concat());
        assert!(told.contains(&format!("method                {method}")), "{budget}: {told}");
    }
}

#[test]
fn weights_and_other_delimiters_are_read() {
    // A row of weight 2 is two rows.
    let place = folder_with("w.csv", "who|x|y|times\nA|0|1|2\nA|2|3|1\nB|1|5|1\nB|4|4|1\n");
    fs::write(place.path().join("rows.csv"), "who|x|y\nA|0|1\nA|0|1\nA|2|3\nB|1|5\nB|4|4\n").unwrap();
    let found = |file: &str, more: &[&str]| {
        let arguments = ["fit", file, "--user", "who", "--target", "y", "--l2", "0", "--json", "--delimiter", "|"];
        let arguments = [&arguments[..], &["--no-standardise", "--budget", "20000"], more].concat();
        numbers(&serde_json::from_str(&succeeds(place.path(), &arguments)).unwrap(), "original")
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
            died("gaps.csv").to_vec(),
            "2 of 90 rows have missing values (\"ward\": 2): fill them in, or pass --drop-missing",
        ),
        (died("one.csv").to_vec(), "one.csv: the target \"died\" is \"no\" in every row: there is nothing to predict"),
        (died("three.csv").to_vec(), "three.csv: line 2: the target \"died\" is \"no\", which is not a finite number"),
        (died("three.csv").to_vec(), "a target with more than two levels must be numeric"),
        (more(&["--loss", "squares"]), "line 2: the target \"died\" is"),
        (more(&["--loss", "logistc"]), "did you mean \"logistic\"?"),
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
        (more(&["--l2", "-1"]), "patients.csv: the L2 penalty is -1: it must not be negative"),
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
    let dropped = [&died("gaps.csv")[..], &["--drop-missing"]].concat();
    assert!(succeeds(place.path(), &dropped).contains("88 (2 more left out: a value is missing)"));
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
    let (billed, steps) = (&plain["queries"]["billed"], &plain["queries"]["steps"]);
    assert!(billed.as_u64() > steps.as_u64());
    let lazy = run(&["--method", "sgq", "--set", "lazy=true", "--set", "learned=true", "--set", "bonus=0.1"]);
    assert_eq!(lazy["settings"]["set"], serde_json::json!({ "bonus": "0.1", "lazy": "true", "learned": "true" }));
    assert_eq!(lazy["queries"]["billed"], lazy["queries"]["steps"]);
    for method in ["saga", "iqn"] {
        let lazy = run(&["--method", method, "--set", "lazy=true"]);
        assert_eq!(lazy["queries"]["billed"], lazy["queries"]["steps"], "{method}");
    }
    let practical = run(&["--method", "practical-sgq"]);
    assert_eq!(practical["queries"]["billed"], practical["queries"]["steps"]);
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
        (numbers(&model, "standardised"), text(&output.stderr))
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

#[test]
fn predictions_that_cannot_be_made_are_refused() {
    let place = place();
    fit(place.path(), &[]);
    let model = read_text(place.path().join("o/model.json"));
    let write = |name: &str, contents: &str| fs::write(place.path().join(name), contents).unwrap();
    for (file, contents, expected) in [
        ("level.csv", "age,ward\n40,east\n40,attic\n", "level.csv: line 3: \"ward\" is \"attic\", which was not among"),
        ("column.csv", "agee,ward\n40,east\n", "there is no column \"age\", which the predictions need; did you mean"),
        ("text.csv", "age,ward\nold,east\n", "line 2: \"age\" is \"old\""),
        ("empty.csv", "", "empty.csv: "),
    ] {
        write(file, contents);
        let error = refuses(place.path(), &["predict", "o/model.json", file, "--out", "p.csv"]);
        assert!(error.contains(expected), "{error}");
    }
    for (good, bad, expected) in [
        (
            "\"format\": 2",
            "\"format\": 1",
            "has format 1, written by sgq 0.1.0; this is sgq 0.1.0, which reads format 2",
        ),
        ("\"format\": 2", "\"fromat\": 2", "bad.json is not a model of sgq fit"),
        ("\"standardised\": ", "\"standardised\": \"x\", \"y\": ", "bad.json is damaged"),
        ("\"name\": \"age\"", "\"name\": \"agee\"", "its coefficients are not those of its columns"),
        ("\"scale\": ", "\"scale\": -", "the scale of a column is not positive"),
        ("\"level\": 1", "\"level\": 9", "a column is made of variables or levels that are not there"),
        ("\"loss\": \"logistic\"", "\"loss\": \"poisson\"", "its target does not fit the loss"),
    ] {
        assert!(model.contains(good), "{good}");
        write("bad.json", &model.replacen(good, bad, 1));
        let error = refuses(place.path(), &["predict", "bad.json", "patients.csv", "--out", "p.csv"]);
        assert!(error.contains(expected), "{bad}: {error}");
    }
    write("cut.json", &model[..model.len() / 2]);
    let error = refuses(place.path(), &["predict", "cut.json", "patients.csv"]);
    assert!(error.contains("the model cut.json is damaged") && error.contains("fit it again"), "{error}");
    assert!(refuses(place.path(), &["predict", "no.json", "patients.csv"]).contains("cannot read the model no.json"));
    assert!(refuses(place.path(), &["predict", "o/model.json", "no.csv"]).contains("no.csv: cannot be read"));
    assert!(!place.path().join("p.csv").exists());
}

#[test]
fn rows_keep_their_names_and_gaps() {
    let place = place();
    let stdout_and_stderr = |place: &Path, arguments: &[&str]| {
        let output = sgq(place, arguments);
        assert!(output.status.success(), "{}", text(&output.stderr));
        (text(&output.stdout), text(&output.stderr))
    };
    fit(place.path(), &[]);
    let rows = "id,age,ward\nb-7,40,east\n\"a, 1\",,east\nNA,55,NA\n";
    fs::write(place.path().join("new.csv"), rows).unwrap();
    let predict = ["predict", "o/model.json", "new.csv"];
    let (printed, note) = stdout_and_stderr(place.path(), &predict);
    let lines: Vec<&str> = printed.lines().collect();
    assert_eq!((lines[0], lines[2], lines[3]), ("row,prediction,probability of yes", "2,NA,NA", "3,NA,NA"));
    assert!(note.contains("2 of 3 rows have no prediction, since a value is missing"), "{note}");
    let named = [&predict[..], &["--id", "id"]].concat();
    let (printed, _) = stdout_and_stderr(place.path(), &named);
    let with_names: Vec<&str> = printed.lines().collect();
    assert_eq!(with_names[0], "row,id,prediction,probability of yes");
    assert_eq!(with_names[1], lines[1].replacen("1,", "1,b-7,", 1));
    assert_eq!(with_names[2..], ["2,\"a, 1\",NA,NA", "3,NA,NA,NA"]);
    let (json, _) = stdout_and_stderr(place.path(), &[&named[..], &["--json"]].concat());
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["predictions"][1]["id"], "a, 1");
    assert!(json["predictions"][1]["prediction"].is_null() && json["predictions"][0]["probability"].is_f64());
    let error = refuses(place.path(), &[&predict[..], &["--id", "idd"]].concat());
    assert!(error.contains("there is no column \"idd\" to tell the rows by; did you mean \"id\"?"), "{error}");
    // A file of predictions may be replaced by one with names, and the other way round.
    for arguments in [&predict[..], &named, &predict] {
        let out = ["--out", "p.csv", "--force"];
        assert_eq!(stdout_and_stderr(place.path(), &[arguments, &out].concat()).0, "");
    }
    // The standard input.
    let mut child = Command::new(env!("CARGO_BIN_EXE_sgq"))
        .args(["predict", "o/model.json", "-"])
        .current_dir(place.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), rows.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap().lines().collect::<Vec<_>>(), lines);
}

#[cfg(unix)]
#[test]
fn ctrl_c_leaves_a_model_that_predicts() {
    use std::{
        thread::sleep,
        time::{Duration, Instant},
    };
    let place = place();
    let child = Command::new(env!("CARGO_BIN_EXE_sgq"))
        .args(LOGISTIC)
        .args(["--budget", "10000000", "--tol", "off", "--out", "o"])
        .current_dir(place.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The folder is made when interrupts are already heard.
    let begun = Instant::now();
    while !place.path().join("o").exists() {
        assert!(begun.elapsed() < Duration::from_secs(60), "it never began");
        sleep(Duration::from_millis(5));
    }
    sleep(Duration::from_millis(100));
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    let output = child.wait_with_output().unwrap();
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(130), "{stdout}{stderr}");
    assert!(stdout.contains("stopped               interrupted"), "{stdout}");
    let model: Value = serde_json::from_slice(&read(place.path().join("o/model.json"))).unwrap();
    let billed = model["queries"]["billed"].as_u64().unwrap();
    assert!(stderr.contains(&format!("interrupted: what was reached after {billed} queries is in o")), "{stderr}");
    assert_eq!((&model["interrupted"], &model["stop"]), (&Value::from(true), &Value::from("interrupted")));
    assert!(billed < 10_000_000);
    let last = read_text(place.path().join("o/gap.csv"));
    assert!(last.lines().last().unwrap().starts_with(&format!("{billed},")));
    let output = sgq(place.path(), &["predict", "o/model.json", "patients.csv"]);
    assert!(output.status.success() && text(&output.stdout).lines().count() == 91);
    assert!(text(&output.stderr).contains("was interrupted"), "{}", text(&output.stderr));
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

/// With every row counting the same, and no penalty, the fit is the regression on all rows at once: y = 2 + x on the three rows
/// above, and for logistic the fit of one user that has all rows.
#[test]
fn users_can_count_by_their_rows() {
    let place = folder_with("d.csv", "who,x,y\nA,0,1\nB,1,5\nA,2,3\n");
    let arguments =
        ["fit", "d.csv", "--user", "who", "--target", "y", "--l2", "0", "--tol", "1e-18", "--weights", "rows"];
    let shown = succeeds(place.path(), &arguments);
    assert!(shown.contains("  weights               rows: every row counts the same\n"), "{shown}");
    let model: Value = serde_json::from_str(&succeeds(place.path(), &[&arguments[..], &["--json"]].concat())).unwrap();
    assert_eq!(model["settings"]["weights"], "rows");
    let found = numbers(&model, "original");
    assert!((found[0] - 2.0).abs() < 1e-9 && (found[1] - 1.0).abs() < 1e-9, "{found:?}");

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
    let (pooled, equal) = (fit("all", &[]), fit("hospital", &[]));
    for more in [&["--weights", "rows"][..], &["--weights", "rows", "--method", "saga", "--budget", "20000"]] {
        let by_rows = fit("hospital", more);
        let off = |other: &Value| {
            let (a, b) = (numbers(&by_rows, "standardised"), numbers(other, "standardised"));
            a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
        };
        assert!(off(&pooled) < 1e-4 && off(&equal) > 1e-2, "{} {}", off(&pooled), off(&equal));
    }
}

/// A fit stops by itself, says what it believes to remain, and whether that is enough.
#[test]
fn a_fit_knows_whether_it_has_converged() {
    let place = place();
    let model = fit(place.path(), &[]);
    assert_eq!(model["converged"], true);
    assert!(model["stop"].as_str().unwrap().starts_with("converged: "), "{}", model["stop"]);
    assert_eq!(model["settings"]["tolerance"], 1e-4);
    let [gap, low, high, at_start] =
        ["gap", "low", "high", "at_start"].map(|name| model["remaining"][name].as_f64().unwrap());
    assert!(low < gap && gap < high && gap <= 1e-4 * at_start, "{}", model["remaining"]);
    assert!(model["certified"].as_f64().unwrap() >= model["diagnostic"]["gap"].as_f64().unwrap());
    let closer = fit(place.path(), &["--tol", "1e-10"]);
    assert!(closer["queries"]["billed"].as_u64() > model["queries"]["billed"].as_u64());
    assert!(closer["diagnostic"]["relative_gap"].as_f64().unwrap() < 1e-8);
    // Neither a method that cannot tell nor a run that was told another end has a tolerance.
    for more in [&["--method", "saga"][..], &["--target-gap", "0.5"], &["--tol", "off"]] {
        let model = fit(place.path(), more);
        assert!(model["settings"]["tolerance"].is_null() && model["converged"].is_null(), "{more:?}");
    }
    let shown = |more: &[&str]| succeeds(place.path(), &[&LOGISTIC[..], &["--force"], more].concat());
    for (more, verdict) in [
        (&["--budget", "12"][..], "not converged: give a larger --budget, or a larger --tol if that is enough"),
        (&["--budget", "1"], "NOT CONVERGED: "),
        (&["--method", "saga"], "not known without a tolerance: see the gap, which a real run does not know"),
    ] {
        let shown = shown(more);
        assert!(shown.contains(&format!("verdict               {verdict}")), "{more:?}: {shown}");
    }
    for (more, words) in [
        (&["--tol", "0"][..], "expected a positive number, or off"),
        (&["--tol", "never"], "expected a positive number, or off"),
        (&["--tol", "0.1", "--method", "sgd"], "sgd cannot tell what remains"),
    ] {
        let told = refuses(place.path(), &[&LOGISTIC[..], &["--force"], more].concat());
        assert!(told.contains(words), "{more:?}: {told}");
    }
}

#[test]
fn a_fit_far_from_the_optimum_is_warned_of() {
    let place = place();
    for more in [&[][..], &["--quiet"], &["--json"]] {
        let told = |budget| {
            let output = sgq(place.path(), &[&LOGISTIC[..], &["--force", "--budget", budget], more].concat());
            assert!(output.status.success());
            text(&output.stderr)
        };
        let warning = told("1");
        assert!(warning.starts_with("warning: NOT CONVERGED: ") && warning.lines().count() == 1, "{more:?}: {warning}");
        assert_eq!(told("500"), "", "{more:?}");
    }
}

#[test]
fn a_proven_gap_ends_a_fit() {
    let place = place();
    let model = fit(place.path(), &["--certified-gap", "0.001"]);
    let proven = model["certified"].as_f64().unwrap();
    assert!(proven <= 1e-3 && model["diagnostic"]["gap"].as_f64().unwrap() <= proven);
    assert!(model["stop"].as_str().unwrap().starts_with("converged: a gap of at most "), "{}", model["stop"]);
    assert!(model["converged"] == true && model["settings"]["tolerance"].is_null() && model["uncertified"].is_null());
    // A smaller one goes the same way, and further.
    let further = fit(place.path(), &["--certified-gap", "0.0001"]);
    assert!(further["queries"]["billed"].as_u64() > model["queries"]["billed"].as_u64());
    let short = fit(place.path(), &["--certified-gap", "1e-9", "--budget", "20"]);
    assert_eq!(short["converged"], false);
    for (more, words) in [
        (&["--certified-gap", "0"][..], "expected a positive number"),
        (&["--certified-gap", "1", "--l2", "0"], "a proof needs the constant μ of strong convexity"),
        (&["--certified-gap", "1", "--method", "sgd"], "the method does not keep everybody's answer"),
    ] {
        let told = refuses(place.path(), &[&LOGISTIC[..], &["--force"], more].concat());
        assert!(told.contains(words), "{more:?}: {told}");
    }
}

/// What `sgq certify` says of a fit that is done.
#[test]
fn a_fit_is_certified() {
    let place = place();
    let certified = |more: &[&str]| succeeds(place.path(), &[&["certify"], more].concat());
    let model = fit(place.path(), &[]);
    for path in ["o", "o/model.json"] {
        let shown = certified(&[path]);
        for words in ["proven    a gap of ", "G²/2μ, with the constant μ = 0.01", "believed  a gap of ", "measured  "]
        {
            assert!(shown.contains(words), "{words}: {shown}");
        }
        assert!(shown.contains("verdict   proven: the gap is at most "), "{shown}");
        assert!(shown.trim_end().ends_with("; it is believed to have converged"), "{shown}");
    }
    let json: Value = serde_json::from_str(&certified(&["o", "--json"])).unwrap();
    assert_eq!((&json["proven"]["gap"], &json["believed"]), (&model["certified"], &model["remaining"]));
    let [gap, bound, mu] = ["gap", "gradient_bound", "pl_constant"].map(|name| json["proven"][name].as_f64().unwrap());
    assert!((bound * bound / (2.0 * mu) / gap - 1.0).abs() < 1e-12);
    fit(place.path(), &["--certified-gap", "0.001"]);
    assert!(certified(&["o", "-q"]).ends_with(", as was asked for\n"));
    for (more, why) in [
        (&["--l2", "0"][..], "a proof needs the constant μ"),
        (&["--budget", "2"], "not everybody was asked yet"),
        (&["--method", "sgd", "--budget", "20"], "the method does not keep everybody's answer"),
    ] {
        fit(place.path(), more);
        let shown = certified(&["o"]);
        assert!(shown.contains(&format!("proven    nothing: {why}")), "{more:?}: {shown}");
        assert!(shown.contains("verdict   nothing is proven; "), "{more:?}: {shown}");
    }
    fs::create_dir(place.path().join("empty")).unwrap();
    fs::write(place.path().join("other.json"), "{}").unwrap();
    assert!(refuses(place.path(), &["certify", "empty"]).contains("cannot read the model"));
    assert!(refuses(place.path(), &["certify", "other.json"]).contains("is not a model of sgq fit"));
}

/// A fit with equal weights, one question at a time and gradients alone is the fit without these options.
#[test]
fn the_defaults_of_new_options_change_nothing() {
    let place = place();
    let plain = fit(place.path(), &[]);
    let said = fit(place.path(), &["--weights", "equal", "--open", "1", "--answers", "gradient"]);
    assert_eq!(plain, said);
    assert_eq!(plain["settings"]["answers"], "gradient");
    assert_eq!(plain["queries"]["cost"].as_f64(), plain["queries"]["billed"].as_f64());
    let dim = plain["coefficients"].as_array().unwrap().len() as u64;
    assert_eq!(plain["queries"]["numbers"], plain["queries"]["billed"].as_u64().unwrap() * dim);
}

#[test]
fn hessians_are_counted_where_they_are_asked_for() {
    let place = place();
    let seen = fit(place.path(), &["--method", "ciag", "--budget", "30"]);
    let paid = fit(place.path(), &["--method", "ciag", "--budget", "30", "--answers", "hessian"]);
    assert_eq!(numbers(&seen, "standardised"), numbers(&paid, "standardised"));
    assert!(seen["sees_more"].is_string() && paid["sees_more"].is_null());
    let dim = seen["coefficients"].as_array().unwrap().len() as u64;
    let sent = &paid["queries"]["numbers_of"];
    assert_eq!(sent["gradients"], 30 * dim);
    assert_eq!(sent["losses"], 30);
    assert_eq!(sent["hessians"], 30 * dim * (dim + 1) / 2);
    assert_eq!(paid["queries"]["numbers"], 30 * (dim + 1 + dim * (dim + 1) / 2));
    assert_eq!(seen["queries"]["numbers"], 30 * dim);
    let shown = succeeds(
        place.path(),
        &[&LOGISTIC[..], &["--method", "ciag", "--budget", "30", "--answers", "hessian"]].concat(),
    );
    assert!(shown.contains(" in gradients, 30 in losses, ") && shown.contains(" in Hessians\n"), "{shown}");
    assert!(!shown.contains("sees more than it pays for"), "{shown}");
    let few = fit(place.path(), &["--numbers-budget", "50"]);
    assert!(few["stop"].as_str().unwrap().contains("budget in numbers"), "{}", few["stop"]);
    assert!(few["queries"]["numbers"].as_u64().unwrap() <= 50);
}

#[test]
fn several_questions_may_be_out() {
    let place = place();
    let several = fit(place.path(), &["--open", "3", "--budget", "120", "--tol", "off"]);
    assert_eq!((several["settings"]["open"].as_u64(), several["queries"]["billed"].as_u64()), (Some(3), Some(120)));
    assert_eq!(several, fit(place.path(), &["--open", "3", "--budget", "120", "--tol", "off"]));
    assert!(several["diagnostic"]["relative_gap"].as_f64().unwrap() < 1e-2);
    let shown = succeeds(place.path(), &[&LOGISTIC[..], &["--open", "3"]].concat());
    assert!(shown.contains("  questions at once     3\n"), "{shown}");
}

#[test]
fn wrong_words_for_answers_weights_and_open_are_refused() {
    let place = place();
    for (more, words) in [
        (&["--answers", "hesian"][..], "expected gradient, loss or hessian"),
        (&["--weights", "size"], "equal, rows"),
        (&["--open", "0"], "expected a whole number from 1 to"),
        (&["--open", "-2"], "expected a whole number from 1 to"),
        (&["--numbers-budget", "many"], "--numbers-budget"),
        (&["--method", "katyusha", "--open", "2"], "let one question be open"),
    ] {
        let told = refuses(place.path(), &[&LOGISTIC[..], more].concat());
        assert!(told.contains(words), "{more:?}: {told}");
    }
    // One row a user, of unequal weight: every user has another penalty.
    let place = folder_with("d.csv", "who,x,y,w\nA,0,1,1\nB,1,5,2\nC,2,3,4\n");
    let start = ["fit", "d.csv", "--user", "who", "--target", "y", "--weight", "w", "--method", "saga"];
    let more = ["--table", "scalars", "--weights", "rows"];
    let told = refuses(place.path(), &[&start[..], &more].concat());
    assert!(told.contains("needs users that count the same"), "{told}");
    succeeds(place.path(), &[&start[..], &more, &["--l2", "0", "--quiet"]].concat());
}
