//! What stands around the coefficients: costs, standard errors, influence, predictions, and the record of a run.

use std::{
    process::{Command, Stdio},
    thread::sleep,
    time::Duration,
};

use super::*;
use crate::{read, read_text, sgq, text};

const SEX: [&str; 2] = ["--formula", "died ~ age + sex"];

#[test]
fn without_diagnostics_it_is_the_same_fit() {
    let place = place(&patients(&SMALL));
    for more in [&[][..], &["--close"], &["--method", "saga", "--budget", "300"], &["--weigh", "users", "--l2", "0.1"]]
    {
        let options = [&SEX[..], more].concat();
        let plain = fit(place.path(), &options);
        assert!(place.path().join("o/gap.csv").exists() && plain["diagnostic"].is_object());
        let without = fit(place.path(), &[&options[..], &["--no-diagnostics"]].concat());
        for name in ["gap.csv", "gap.svg", "gap.png"] {
            assert!(!place.path().join("o").join(name).exists(), "{name}");
        }
        for name in ["model.json", "queries.csv", "influence.csv"] {
            assert!(place.path().join("o").join(name).exists(), "{name}");
        }
        assert!(without["diagnostic"].is_null(), "{}", without["diagnostic"]);
        for key in ["coefficients", "standardised", "queries", "converged", "asked", "believed_off", "stop", "numbers"]
        {
            assert_eq!(plain[key], without[key], "{key}");
        }
        let text = shown(place.path(), &[&options[..], &["--no-diagnostics"]].concat());
        assert!(!text.contains("diagnostic") && !text.contains("  gap "), "{text}");
    }
    // Nobody looks beforehand, and the numbers say it in the end.
    let mut all = patients(&SMALL);
    all.iter_mut().filter(|it| it.ward == "west").for_each(|it| it.died = 0.0);
    let place = super::place(&all);
    let options = ["--formula", "died ~ age + ward", "--no-diagnostics", "--budget", "400"];
    let model = fit(place.path(), &options);
    let west = &model["coefficients"][3];
    assert_eq!(west["name"], "ward=west");
    assert!(west["estimate"].as_f64().unwrap() < -5.0, "{west}");
    assert!(west["std_error"].as_f64().unwrap() > 2.0, "{west}");
}

/// Numbers that are only shown change nothing.
#[test]
fn to_say_more_changes_nothing() {
    let place = place(&patients(&SMALL));
    let quiet = fit(place.path(), &SEX);
    let verbose = fit(place.path(), &[&SEX[..], &["--verbose"]].concat());
    for key in ["coefficients", "standardised", "queries", "remaining", "asked", "stop"] {
        assert_eq!(quiet[key], verbose[key], "{key}");
    }
}

#[test]
fn the_closing_question_is_billed() {
    let place = place(&patients(&SMALL));
    let users = SMALL.len() as u64;
    let (before, closed) = (fit(place.path(), &SEX), fit(place.path(), &[&SEX[..], &["--close"]].concat()));
    let number = |model: &Value, name: &str| model[name].as_u64().unwrap();
    assert_eq!((number(&before, "first_answers"), number(&closed, "first_answers")), (users, users));
    assert_eq!((number(&before, "closing_answers"), number(&closed, "closing_answers")), (0, users));
    // The run is the same.
    assert_eq!(before["queries"], closed["queries"]);
    assert_eq!(before["standardised"], closed["standardised"]);
    // Rows, missing ones, weight, deviance and Pearson's statistic; 3 of a score, 6 of an information matrix, 1 of the sums.
    assert_eq!(number(&closed, "numbers") - number(&before, "numbers"), users * (5 + 3 + 6 + 1));
    assert_eq!(
        (&before["std_error_kind"], &closed["std_error_kind"]),
        (&"model (approximate)".into(), &"model".into())
    );
    for (rough, exact) in std_errors(&before).iter().zip(std_errors(&closed)) {
        assert!(is_close(*rough, exact, 0.5), "{rough} {exact}");
    }
    assert!(before["deviance"].is_null() && before["aic"].is_null() && closed["deviance"].is_number());
    let text = shown(place.path(), &[&SEX[..], &["--close"]].concat());
    let words = format!(
        "  answers billed     {}, besides {users} to a first question (rows, means, deviations, levels), and {users} to the closing one\n",
        closed["queries"]
    );
    assert!(text.contains(&words) && text.contains(&format!(" at first, {} in closing\n", users * 15)), "{text}");
    let text = shown(place.path(), &SEX);
    assert!(text.contains("  standard errors    model (approximate)\n"), "{text}");
    // Where the dispersion is not known without the closing question, they are clustered, and say so.
    let score = ["--formula", "score ~ age + sex"];
    let rough = fit(place.path(), &score);
    assert_eq!(rough["std_error_kind"], "clustered by user (approximate)");
    let exact = fit(place.path(), &[&score[..], &["--close", "--errors", "clustered"]].concat());
    assert_eq!(exact["std_error_kind"], "clustered by user");
    for (rough, exact) in std_errors(&rough).iter().zip(std_errors(&exact)) {
        assert!(is_close(*rough, exact, 0.5), "{rough} {exact}");
    }
}

#[test]
fn a_method_without_curvature_says_why_there_are_no_standard_errors() {
    let place = place(&patients(&SMALL));
    let saga = [&SEX[..], &["--method", "saga"]].concat();
    let model = fit(place.path(), &saga);
    assert!(model["std_error_kind"].is_null() && model["coefficients"][1]["std_error"].is_null());
    assert!(model["coefficients"][1]["estimate"].is_number());
    let why = "the method learns no curvature; a closing question (--close) asks every user for it";
    assert_eq!(model["notes"], why);
    let text = shown(place.path(), &saga);
    assert!(text.contains(&format!("  no standard errors: {why}\n")), "{text}");
    let lines = read_text(place.path().join("o/influence.csv"));
    assert_eq!(lines, "user,largest,flagged,intercept,age,sex=m\n");
    let closed = fit(place.path(), &[&saga[..], &["--close"]].concat());
    assert_eq!(closed["std_error_kind"], "model");
    // Nor are there any of one user whose dispersion is not known, or of one that is to be compared with others.
    let one = super::place(&patients(&[60]));
    let score = ["--formula", "score ~ age + sex"];
    let model = fit(one.path(), &score);
    assert_eq!(
        model["notes"],
        "one user alone tells no spread between users; a closing question (--close) asks for that between rows"
    );
    assert_eq!(fit(one.path(), &[&score[..], &["--close"]].concat())["std_error_kind"], "model");
    let model = fit(one.path(), &[&score[..], &["--close", "--errors", "clustered"]].concat());
    assert!(
        model["notes"].as_str().unwrap().starts_with("there is 1 user, and standard errors clustered by user need")
    );
    // Nor does one that has not asked everybody.
    let short = fit(place.path(), &[&SEX[..], &["--budget", "5"]].concat());
    assert!(short["notes"].as_str().unwrap().starts_with("not everybody was asked; give a larger --budget"));
}

#[test]
fn a_slip_in_one_clinic_stands_out() {
    let mut all = patients(&SMALL);
    // In months.
    all.iter_mut().filter(|it| it.hospital == 4).for_each(|it| it.age = (12.0 * it.age * 10.0).round() / 10.0);
    let place = place(&all);
    for more in [&[][..], &["--close"], &["--close", "--errors", "clustered"]] {
        let options = [&["--formula", "score ~ age + sex"], more].concat();
        let text = shown(place.path(), &options);
        let influence = read_text(place.path().join("o/influence.csv"));
        let lines: Vec<&str> = influence.lines().collect();
        assert_eq!((lines[0], lines.len()), ("user,largest,flagged,intercept,age,sex=m", 1 + SMALL.len()));
        let first: Vec<&str> = lines[1].split(',').collect();
        assert_eq!((first[0], first[2]), ("H4", "true"), "{more:?}: {influence}");
        assert!(text.contains("\n  influence          without H4, "), "{more:?}: {text}");
    }
    // What it says is what happens, to first order: without the clinic the coefficient is the others'.
    let options = ["--formula", "score ~ age + sex", "--close", "--precision", "1e-7"];
    let with = fit(place.path(), &options);
    let influence = read_text(place.path().join("o/influence.csv"));
    let change: f64 = influence.lines().nth(1).unwrap().split(',').nth(4).unwrap().parse().unwrap();
    let others: Vec<Patient> = all.iter().filter(|it| it.hospital != 4).cloned().collect();
    let without = glm(Kind::Gaussian, &rows(&others, |it| it.score, &[|it| it.age, is_male]));
    let expected = (without.estimates[1] - estimates(&with)[1]) / std_errors(&with)[1];
    assert!(is_close(change, expected, 1e-5), "{change} {expected}");
}

#[test]
fn predictions_of_a_formula() {
    let place = place(&patients(&SMALL));
    let formula = "falls ~ age * sex + offset(log(days))";
    let model = fit(place.path(), &["--formula", formula, "--family", "poisson"]);
    let new = "bed,days,sex,age\nb-7,3,m,70\nb-8,,f,50\nb-9,10,f,NA\nb-10,1,f,55.5\n";
    fs::write(place.path().join("new.csv"), new).unwrap();
    let output = sgq(place.path(), &["predict", "o/model.json", "new.csv", "--id", "bed"]);
    let printed = text(&output.stdout);
    assert!(text(&output.stderr).contains("2 of 4 rows have no prediction"), "{}", text(&output.stderr));
    let lines: Vec<&str> = printed.lines().collect();
    assert_eq!((lines[0], lines[2], lines[3]), ("row,bed,prediction", "2,b-8,NA", "3,b-9,NA"));
    assert_eq!(names(&model), ["intercept", "age", "sex=m", "age:sex=m"]);
    let b = estimates(&model);
    let of = |line: &str| line.rsplit(',').next().unwrap().parse::<f64>().unwrap();
    assert!(is_close(of(lines[1]), 3.0 * (b[0] + b[2] + 70.0 * (b[1] + b[3])).exp(), 1e-10), "{printed}");
    assert!(is_close(of(lines[4]), (b[0] + 55.5 * b[1]).exp(), 1e-10), "{printed}");
    let mut child = Command::new(env!("CARGO_BIN_EXE_sgq"))
        .args(["predict", "o/model.json", "-", "--id", "bed"])
        .current_dir(place.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), new.as_bytes()).unwrap();
    assert_eq!(text(&child.wait_with_output().unwrap().stdout), printed);
}

#[test]
fn json_is_one_object_with_what_programs_need() {
    let mut all = patients(&SMALL);
    all[3].age = f64::NAN;
    let place = place(&all);
    let model = fit(place.path(), &[&SEX[..], &["--close"]].concat());
    let keys = ["family", "weigh", "std_error_kind", "formula", "target", "user", "stop", "method"];
    assert!(keys.iter().all(|key| model[key].is_string()), "{model}");
    let keys = ["l2", "deviance", "null_deviance", "aic", "rows", "rows_missing", "users", "queries", "numbers"];
    assert!(keys.iter().all(|key| model[key].is_number()), "{model}");
    assert_eq!((&model["converged"], &model["rows_missing"]), (&true.into(), &1.into()));
    assert_eq!(model["rows"], all.len() - 1);
    for line in model["coefficients"].as_array().unwrap() {
        assert!(line["name"].is_string());
        assert!(
            ["estimate", "std_error", "z", "p", "lower", "upper"].iter().all(|key| line[key].is_number()),
            "{line}"
        );
    }
    assert_eq!(model["format"], 2);
    assert_eq!(model["standardised"].as_array().unwrap().len(), 3);
    // As much stands in the file.
    let file: Value = serde_json::from_slice(&read(place.path().join("o/model.json"))).unwrap();
    assert_eq!(file, model);
}

/// Killed at many moments, the same command goes on; what the precision asked for beyond the first tolerance is in the record.
#[test]
fn a_fit_to_a_precision_goes_on_after_it_was_killed() {
    let place = place(&patients(&SMALL));
    let place = place.path();
    let command = |out: &'static str, more: &[&'static str]| {
        let start = ["fit", "patients.csv", "--user", "hospital", "--quiet", "--close", "--out", out];
        [&start[..], &SEX, more].concat()
    };
    let files = |out: &str| {
        ["model.json", "queries.csv", "gap.csv", "influence.csv"].map(|name| read(place.join(out).join(name)))
    };
    succeeds(place, &command("whole", &[]));
    let arguments = command("pieces", &["--ledger", "study.sgq"]);
    let mut killed = 0;
    for round in 1.. {
        let mut child = Command::new(env!("CARGO_BIN_EXE_sgq"))
            .args(&arguments)
            .current_dir(place)
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        sleep(Duration::from_millis(10 * round));
        child.kill().unwrap();
        if child.wait().unwrap().success() {
            break;
        }
        killed += 1;
        assert!(round < 100, "it never comes to its end");
    }
    assert!(killed > 0);
    assert_eq!(files("whole"), files("pieces"));
    let history = succeeds(place, &["session", "history", "study.sgq"]);
    assert!(history.contains("extended") && history.contains("tolerance"), "{history}");
    // Once more: nobody is asked, and the bytes are the same.
    succeeds(place, &[&arguments[..], &["--force"]].concat());
    assert_eq!(files("whole"), files("pieces"));
    assert_eq!(succeeds(place, &["session", "history", "study.sgq"]), history);
    assert!(succeeds(place, &["session", "verify", "study.sgq"]).contains("is sound"));
    // Another precision goes on from where this one ended, as it would have from the start.
    let closer = ["--precision", "1e-5"];
    succeeds(place, &[&command("closer", &[])[..], &closer].concat());
    succeeds(place, &[&arguments[..], &closer, &["--force"]].concat());
    let [one, other] = ["closer", "pieces"].map(|out| -> Value { serde_json::from_slice(&files(out)[0]).unwrap() });
    assert!(one["queries"].as_u64() > serde_json::from_slice::<Value>(&files("whole")[0]).unwrap()["queries"].as_u64());
    assert!(other["converged"] == true && other["believed_off"].as_f64().unwrap() <= 1e-5);
}
