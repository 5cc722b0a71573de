//! Studies by a plan: clinics that are `sgq answer`, and all that can be wrong with them.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
    thread::sleep,
    time::Duration,
};

use tempfile::TempDir;

use super::{count, is_sound, json, point};
use crate::{read_text, refuses, sgq, succeeds, text};

const CLINICS: usize = 6;
const RUN: &str =
    concat!(env!("CARGO_BIN_EXE_sgq"), " answer --plan model.plan --data data/{user}.csv --as {user} --quiet");

/// Deaths by age, weight and ward of 50 patients a clinic.
fn rows(clinic: usize) -> String {
    let mut state = clinic as u64 + 1;
    let mut draw = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    (0..50).fold("age,weight,ward,died\n".to_owned(), |text, _| {
        let (age, weight, ward) = (30.0 + 60.0 * draw(), 50.0 + 50.0 * draw(), ["a", "b"][usize::from(draw() < 0.4)]);
        let z = -5.0 + 0.06 * age + 0.01 * weight - if ward == "b" { 0.5 } else { 0.0 };
        let died = if draw() < 1.0 / (1.0 + (-z).exp()) { "yes" } else { "no" };
        text + &format!("{age:.1},{weight:.1},{ward},{died}\n")
    })
}

/// Files of six clinics, and a plan.
fn place(more: &[&str]) -> TempDir {
    let place = tempfile::tempdir().unwrap();
    fs::create_dir(place.path().join("data")).unwrap();
    let mut names = "user\n".to_owned();
    for clinic in 0..CLINICS {
        names += &format!("clinic-{clinic}\n");
        fs::write(place.path().join(format!("data/clinic-{clinic}.csv")), rows(clinic)).unwrap();
    }
    fs::write(place.path().join("clinics.csv"), names).unwrap();
    let plan =
        ["plan", "new", "model.plan", "--formula", "died ~ age + weight + ward", "--family", "binomial", "--quiet"];
    succeeds(place.path(), &[&plan, more].concat());
    place
}

/// A clinic's file is another one.
fn change(place: &Path, clinic: usize, change: impl Fn(String) -> String) {
    let path = place.join(format!("data/clinic-{clinic}.csv"));
    fs::write(&path, change(read_text(&path))).unwrap();
}

fn new(place: &Path, more: &[&str]) {
    let arguments = ["session", "new", "study.sgq", "--plan", "model.plan", "--users", "clinics.csv", "--quiet"];
    succeeds(place, &[&arguments, more].concat());
}

fn run(place: &Path, more: &[&str]) -> String {
    succeeds(place, &[&["session", "run", "study.sgq", "--command", RUN, "--wait", "10ms"], more].concat())
}

/// What a run says that does not end as it should, and its exit code.
fn stops(place: &Path) -> (String, Option<i32>) {
    let arguments = ["session", "run", "study.sgq", "--command", RUN, "--wait", "10ms", "--quiet"];
    let output = sgq(place, &arguments);
    (text(&output.stderr), output.status.code())
}

/// What all rows in one place give, as `sgq fit` has it.
fn pooled(place: &Path, clinics: &[usize]) -> serde_json::Value {
    let mut all = "clinic,age,weight,ward,died\n".to_owned();
    for clinic in clinics {
        let text = read_text(place.join(format!("data/clinic-{clinic}.csv")));
        text.lines().skip(1).for_each(|line| all += &format!("{clinic},{line}\n"));
    }
    fs::write(place.join("all.csv"), all).unwrap();
    let fit = ["fit", "all.csv", "--user", "clinic", "--formula", "died ~ age + weight + ward", "--family", "binomial"];
    let how = ["--close", "--precision", "1e-8", "--answers", "hessian", "--json", "--out", "pooled", "--force"];
    json(place, &[&fit[..], &how].concat())
}

fn is_pooled(found: &serde_json::Value, expected: &serde_json::Value) {
    let lines = |of: &serde_json::Value| of["coefficients"].as_array().unwrap().clone();
    let (found, expected) = (lines(found), lines(expected));
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(&expected) {
        assert_eq!(found["name"], expected["name"]);
        let error = expected["std_error"].as_f64().unwrap();
        for key in ["estimate", "std_error", "lower", "upper"] {
            let (found, expected) = (found[key].as_f64().unwrap(), expected[key].as_f64().unwrap());
            assert!((found - expected).abs() <= 5e-3 * error, "{key}: {found} and {expected}");
        }
    }
}

/// Killed again and again, it ends as if nothing had happened, and nobody has answered more than twice at a kill.
#[test]
fn kills_change_nothing() {
    let (whole, pieces) = (place(&[]), place(&[]));
    let (whole, pieces) = (whole.path(), pieces.path());
    new(whole, &[]);
    run(whole, &["--quiet"]);
    new(pieces, &[]);
    for kill in 0..12 {
        let mut child = Command::new(env!("CARGO_BIN_EXE_sgq"))
            .args(["session", "run", "study.sgq", "--command", RUN, "--quiet"])
            .current_dir(pieces)
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        sleep(Duration::from_millis(10 + 7 * kill));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    run(pieces, &["--quiet"]);
    assert_eq!(point(pieces, "study.sgq"), point(whole, "study.sgq"));
    let result = |place: &Path| json(place, &["session", "result", "study.sgq", "--json"]);
    assert_eq!(result(pieces), result(whole));
    assert_eq!(count(pieces, "study.sgq", "asked"), count(whole, "study.sgq", "asked"));
    assert!(is_sound(pieces, "study.sgq"));
    // A clinic has no answer in its log that the ledger has not: the same question had the same answer.
    for clinic in 0..CLINICS {
        let log = |place: &Path| {
            read_text(place.join(format!("data/clinic-{clinic}.csv.clinic-{clinic}.answers.log"))).lines().count()
        };
        assert_eq!(log(pieces), log(whole));
    }
}

/// The same command makes the ledger and goes on with it; another plan, or other users, are refused.
#[test]
fn one_command_makes_it_and_goes_on() {
    let place = place(&[]);
    let place = place.path();
    let study = ["--plan", "model.plan", "--users", "clinics.csv"];
    let command = ["session", "run", "study.sgq", "--command", RUN];
    let error = refuses(place, &[&command, &study[..2]].concat());
    assert!(error.contains("there is no ledger study.sgq") && error.contains("--users CLINICS.csv"), "{error}");
    let printed = succeeds(place, &[&command, &study[..]].concat());
    assert!(printed.contains("odds ratio") && printed.contains("ward=b"), "{printed}");
    assert_eq!(succeeds(place, &[&command, &study[..]].concat()), printed, "it had ended");
    is_pooled(&json(place, &["session", "result", "study.sgq", "--json"]), &pooled(place, &[0, 1, 2, 3, 4, 5]));
    succeeds(place, &["plan", "new", "other.plan", "--formula", "died ~ age", "--family", "binomial", "--quiet"]);
    let error = refuses(place, &[&command[..], &["--plan", "other.plan"]].concat());
    assert!(error.contains("is not of this plan"), "{error}");
    fs::write(place.join("clinics.csv"), "user\nclinic-0\n").unwrap();
    let error = refuses(place, &[&command, &study[..]].concat());
    assert!(error.contains("is of other users than clinics.csv"), "{error}");
    succeeds(place, &["session", "new", "plain.sgq", "--users", "clinics.csv", "--dim", "2", "--quiet"]);
    let error = refuses(place, &["session", "run", "plain.sgq", "--command", RUN, "--plan", "model.plan"]);
    assert!(error.contains("plain.sgq is of no plan"), "{error}");
    let error = refuses(place, &["session", "result", "plain.sgq"]);
    assert!(error.contains("plain.sgq is of no plan") && error.contains("sgq session point"), "{error}");
    let error =
        refuses(place, &["session", "new", "x.sgq", "--users", "clinics.csv", "--plan", "model.plan", "--dim", "2"]);
    assert!(error.contains("--dim"), "{error}");
    let error = refuses(place, &["session", "new", "x.sgq", "--users", "clinics.csv", "--plan", "clinics.csv"]);
    assert!(error.contains("clinics.csv"), "{error}");
}

/// The report that it writes predicts, and has the coefficients.
#[test]
fn the_result_is_a_model() {
    let place = place(&["--answers", "hessian"]);
    let place = place.path();
    new(place, &["--precision", "1e-6"]);
    let error = refuses(place, &["session", "result", "study.sgq"]);
    assert!(error.contains("study.sgq has no coefficients yet: nobody has been asked"), "{error}");
    run(place, &["--quiet"]);
    let printed = succeeds(place, &["session", "result", "study.sgq", "--out", "out", "--errors", "clustered"]);
    assert!(printed.contains("clustered by user"), "{printed}");
    for file in ["report.html", "model.json", "forest.svg", "forest.png", "influence.csv"] {
        assert!(place.join("out").join(file).exists(), "{file}");
    }
    assert_eq!(read_text(place.join("out/influence.csv")).lines().count(), CLINICS + 1);
    fs::write(place.join("new.csv"), "ward,age,weight\nb,61,70\na,,70\n").unwrap();
    let predict = |model: &str| text(&sgq(place, &["predict", model, "new.csv"]).stdout);
    let predicted = predict("out/model.json");
    pooled(place, &[0, 1, 2, 3, 4, 5]);
    let expected = predict("pooled/model.json");
    let first = |text: &str| -> f64 { text.lines().nth(1).unwrap().rsplit(',').next().unwrap().parse().unwrap() };
    assert!((first(&predicted) - first(&expected)).abs() < 1e-6, "{predicted}{expected}");
    assert!(predicted.contains("NA"), "{predicted}");
    let status = json(place, &["session", "status", "study.sgq", "--json"]);
    assert_eq!((&status["study"]["begun"], &status["study"]["closed"]), (&true.into(), &true.into()));
    assert_eq!(status["study"]["reported"]["summaries"], CLINICS);
}

/// A clinic with two rows answers nothing: it is said, and the study can go on without it.
#[test]
fn a_clinic_with_two_rows_keeps_them() {
    let place = place(&[]);
    let place = place.path();
    change(place, 2, |text| text.lines().take(3).map(|line| format!("{line}\n")).collect());
    new(place, &[]);
    let (said, code) = stops(place);
    assert!(said.contains("clinic-2 does not answer") && said.contains("fewer rows are used"), "{said}");
    // How many it has is told to its owner alone.
    assert!(!said.contains("2 rows"), "{said}");
    let notes = read_text(place.join("data/clinic-2.csv.clinic-2.answers.notes"));
    assert!(notes.contains("(not sent: 2 rows are used, and the plan asks for at least 10)"), "{notes}");
    assert!(said.contains("sgq session leave study.sgq NAME"), "{said}");
    assert_eq!(code, Some(1));
    // A line with the reason, and nobody else was asked again.
    assert_eq!((count(place, "study.sgq", "failed"), count(place, "study.sgq", "reported")), (1, CLINICS - 1));
    let status = succeeds(place, &["session", "status", "study.sgq"]);
    assert!(status.contains("waits for clinic-2"), "{status}");
    let error = refuses(place, &["session", "result", "study.sgq"]);
    assert!(error.contains("not everybody has answered the first question"), "{error}");
    succeeds(place, &["session", "leave", "study.sgq", "clinic-2", "--quiet"]);
    run(place, &["--quiet"]);
    let result = json(place, &["session", "result", "study.sgq", "--json"]);
    assert_eq!(result["users"], CLINICS - 1);
    is_pooled(&result, &pooled(place, &[0, 1, 3, 4, 5]));
}

/// Other column names, and a slip in a number: the clinic says what is wrong and where, and no value of a row goes out.
#[test]
fn a_file_that_does_not_fit_is_named() {
    for (change_it, at_home) in [
        (|text: String| text.replace("age,", "Age_years,"), "age"),
        (|text: String| text.replacen("a,no\n", "a,no\n7O,60.0,a,no\n", 1), "7O"),
    ] as [(fn(String) -> String, &str); 2]
    {
        let place = place(&[]);
        let place = place.path();
        change(place, 4, change_it);
        let error = refuses(place, &["plan", "check", "model.plan", "--data", "data/clinic-4.csv"]);
        assert!(error.contains(at_home), "{error}");
        new(place, &[]);
        let (said, code) = stops(place);
        assert!(said.contains("clinic-4") && code == Some(1), "{said}");
        // The coordinator has not seen the value, nor its line: neither on the screen nor in the ledger.
        assert!(!said.contains(at_home) && !said.contains("line ") && said.contains("answers.notes"), "{said}");
        assert!(!String::from_utf8_lossy(&fs::read(place.join("study.sgq")).unwrap()).contains("7O"));
        // It is mended, and the same command goes on.
        fs::write(place.join("data/clinic-4.csv"), rows(4)).unwrap();
        run(place, &["--quiet"]);
        is_pooled(&json(place, &["session", "result", "study.sgq", "--json"]), &pooled(place, &[0, 1, 2, 3, 4, 5]));
    }
}

/// A column that is constant in one clinic, and a level that one clinic alone has, are no errors: it is said, and the fit is that of all.
#[test]
fn what_one_clinic_alone_has_is_said() {
    let place = place(&[]);
    let place = place.path();
    change(place, 1, |text| text.replace(",b,", ",c,"));
    change(place, 3, |text| text.replace(",b,", ",a,"));
    new(place, &["--precision", "1e-4"]);
    let printed = run(place, &[]);
    assert!(printed.contains("clinic-1 alone has the level \"c\" of \"ward\""), "{printed}");
    assert!(printed.contains("\"ward\" has the level \"a\" in every row of clinic-3"), "{printed}");
    assert!(printed.contains("ward=c"), "{printed}");
    is_pooled(&json(place, &["session", "result", "study.sgq", "--json"]), &pooled(place, &[0, 1, 2, 3, 4, 5]));
}

/// Ages in months in one clinic: a note before anybody is asked for a gradient, and it stands out in the table of influence.
#[test]
fn a_slip_of_units_stands_out() {
    let place = place(&[]);
    let place = place.path();
    change(place, 5, |text| {
        let line = |line: &str| {
            let (age, rest) = line.split_once(',').unwrap();
            age.parse::<f64>().map_or(line.to_owned(), |age| format!("{:.1},{rest}", 12.0 * age))
        };
        text.lines().map(|it| line(it) + "\n").collect()
    });
    new(place, &[]);
    let printed = run(place, &[]);
    assert!(printed.contains("the mean of age is") && printed.contains("at clinic-5"), "{printed}");
    assert!(printed.contains("is it in the same unit?"), "{printed}");
    succeeds(place, &["session", "result", "study.sgq", "--out", "out"]);
    let influence = read_text(place.join("out/influence.csv"));
    let first = influence.lines().nth(1).unwrap();
    assert!(first.starts_with("clinic-5,age,true,"), "{influence}");
}

/// Who adds noise gives no closing answer: the fit ends, and its standard errors stay approximate.
#[test]
fn who_does_not_close_leaves_errors_approximate() {
    let place = place(&[]);
    let place = place.path();
    new(place, &["--tol", "0.01"]);
    fs::write(place.join("clinic.sh"), format!("#!/bin/sh\ncase $1 in clinic-0) more='--clip 10 --noise 1e-4';; esac\nexec {} answer --plan model.plan --data data/$1.csv --as $1 --quiet $more\n", env!("CARGO_BIN_EXE_sgq"))).unwrap();
    let arguments = ["session", "run", "study.sgq", "--command", "sh clinic.sh {user}", "--wait", "10ms", "--quiet"];
    let output = sgq(place, &arguments);
    let said = text(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("clinic-0 does not answer") && said.contains("standard errors stay approximate"), "{said}");
    let result = json(place, &["session", "result", "study.sgq", "--json"]);
    assert_eq!((&result["closed"], &result["closing_answers"]), (&false.into(), &(CLINICS - 1).into()));
    assert!(result["coefficients"][1]["std_error"].is_number(), "{result}");
    let status = json(place, &["session", "status", "study.sgq", "--json"]);
    assert!(status["users"][0]["epsilon"].is_number() && status["users"][1]["epsilon"].is_null(), "{status}");
}

/// First answers that do not go together name the clinic; it answers anew.
#[test]
fn first_answers_that_do_not_go_together_are_given_anew() {
    let place = place(&[]);
    let place = place.path();
    change(place, 3, |text| text.replace(",a,", ",1,").replace(",b,", ",2,"));
    new(place, &[]);
    let (said, code) = stops(place);
    assert!(said.contains("\"ward\"") && said.contains("clinic-3") && said.contains("leave"), "{said}");
    assert_ne!(code, Some(0));
    assert_eq!(count(place, "study.sgq", "reported"), CLINICS);
    fs::write(place.join("data/clinic-3.csv"), rows(3)).unwrap();
    fs::remove_file(place.join("data/clinic-3.csv.clinic-3.answers.log")).unwrap();
    succeeds(place, &["session", "leave", "study.sgq", "clinic-3", "--quiet"]);
    succeeds(place, &["session", "join", "study.sgq", "clinic-3", "--quiet"]);
    run(place, &["--quiet"]);
    assert_eq!(count(place, "study.sgq", "reported"), 2 * CLINICS + 1);
    is_pooled(&json(place, &["session", "result", "study.sgq", "--json"]), &pooled(place, &[0, 1, 2, 3, 4, 5]));
}

/// People carry it, question by question.
#[test]
fn by_hand() {
    let place = place(&["--answers", "hessian"]);
    let place = place.path();
    new(place, &[]);
    let printed = succeeds(place, &["session", "ask", "study.sgq"]);
    assert!(printed.contains("summary") && printed.contains("the first question to everybody"), "{printed}");
    loop {
        let asked = sgq(place, &["session", "ask", "study.sgq", "--json"]);
        let questions = text(&asked.stdout);
        if questions.is_empty() {
            let said = text(&asked.stderr);
            assert!(said.contains("converged") && said.contains("sgq session result study.sgq"), "{said}");
            break;
        }
        let mut answers = String::new();
        for question in questions.lines() {
            let name: serde_json::Value = serde_json::from_str(question).unwrap();
            let name = name["user"].as_str().unwrap().to_owned();
            fs::write(place.join("question.json"), question).unwrap();
            let data = format!("data/{name}.csv");
            let answer = ["answer", "--plan", "model.plan", "--data", &data, "--as", &name, "--quiet", "question.json"];
            answers += &succeeds(place, &answer);
        }
        fs::write(place.join("answers.jsonl"), answers).unwrap();
        succeeds(place, &["session", "tell", "study.sgq", "--lines", "answers.jsonl", "--quiet"]);
    }
    let result = json(place, &["session", "result", "study.sgq", "--json"]);
    assert_eq!((&result["closed"], &result["converged"]), (&true.into(), &true.into()));
}

/// Whoever has given all answers at points that the plan allows gives its closing answer all the same.
#[test]
fn who_has_spent_its_answers_is_closed() {
    let most = |place: &Path| {
        let status = json(place, &["session", "status", "study.sgq", "--json"]);
        status["users"].as_array().unwrap().iter().map(|user| user["answers"].as_u64().unwrap()).max().unwrap()
    };
    let first = place(&["--answers", "hessian"]);
    new(first.path(), &[]);
    run(first.path(), &["--quiet"]);
    let most = most(first.path()).to_string();
    let second = place(&["--answers", "hessian", "--answers-each", &most]);
    new(second.path(), &[]);
    run(second.path(), &["--quiet"]);
    let status = succeeds(second.path(), &["session", "status", "study.sgq"]);
    assert!(status.contains("limit spent"), "{status}");
    assert_eq!(json(second.path(), &["session", "result", "study.sgq", "--json"])["closed"], true);
}

/// A clinic that is not there does not spend what the others may be asked.
#[test]
fn one_that_fails_does_not_spend_the_others() {
    let place = place(&[]);
    let place = place.path();
    new(place, &["--precision", "1e-4", "--budget", "8"]);
    let answer = format!("{} answer --plan model.plan --data data/$1.csv --as $1 --quiet", env!("CARGO_BIN_EXE_sgq"));
    fs::write(place.join("clinic.sh"), format!("[ $1 = clinic-2 ] && [ -e gone ] && exit 1\nexec {answer}\n")).unwrap();
    let clinic = ["--command", "sh clinic.sh {user}", "--wait", "5ms", "--retries", "0", "--quiet"];
    let arguments = [&["session", "run", "study.sgq"], &clinic[..]].concat();
    succeeds(place, &arguments);
    fs::write(place.join("gone"), "").unwrap();
    succeeds(place, &["session", "extend", "study.sgq", "--budget", "400", "--quiet"]);
    let output = sgq(place, &arguments);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("clinic-2 does not answer") && said.contains("nobody else is asked meanwhile"), "{said}");
    let queries = || json(place, &["session", "status", "study.sgq", "--json"])["queries"].as_u64().unwrap();
    assert!(queries() < 40, "{}", queries());
    fs::remove_file(place.join("gone")).unwrap();
    succeeds(place, &arguments);
    let result = json(place, &["session", "result", "study.sgq", "--json"]);
    assert_eq!((&result["closed"], &result["converged"]), (&true.into(), &true.into()));
}

/// A level whose rows all have the same target has no finite estimate: the table says so.
#[test]
fn separation_is_suspected() {
    for answers in ["gradient", "hessian"] {
        let place = place(&["--answers", answers]);
        let place = place.path();
        for clinic in 0..CLINICS {
            change(place, clinic, |text| text.replace(",b,yes", ",b,no"));
        }
        new(place, &[]);
        let printed = run(place, &[]);
        assert!(printed.contains("ward=b may have no finite estimate (separation"), "{printed}");
        let result = json(place, &["session", "result", "study.sgq", "--json"]);
        assert!(result["warnings"][0].as_str().unwrap().contains("ward=b"), "{result}");
    }
}
