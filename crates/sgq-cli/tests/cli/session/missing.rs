//! Users who cannot be asked, leave, or have spent what they may disclose: what is said of them.

use std::{fmt::Write as _, fs, path::Path};

use serde_json::Value;

use super::{answer, is_sound, json, lines, new, place, words};
use crate::{refuses, sgq, succeeds, text};

/// Asks and answers so many times, whoever it is.
fn answers(place: &Path, name: &str, times: usize) {
    for _ in 0..times {
        let output = sgq(place, &["session", "ask", name, "--json"]);
        for question in text(&output.stdout).lines() {
            let question: Value = serde_json::from_str(question).unwrap();
            fs::write(place.join("answer.json"), answer(&question)).unwrap();
            succeeds(place, &["session", "tell", name, &question["ticket"].to_string(), "answer.json"]);
        }
    }
}

fn user(place: &Path, name: &str, user: &str) -> Value {
    let status = json(place, &["session", "status", name, "--json"]);
    status["users"].as_array().unwrap().iter().find(|it| it["name"] == user).unwrap().clone()
}

/// Something ends every session.
#[test]
fn a_session_without_a_budget_gets_one() {
    let place = place();
    let place = place.path();
    let mut many = "user\n".to_owned();
    (0..60).for_each(|user| writeln!(many, "u{user}").unwrap());
    fs::write(place.join("many.csv"), many).unwrap();
    for (name, users, more, budget, told) in [
        ("a.sgq", "clinics.csv", &[][..], Some(500), "frugal, at most 500 queries; nobody"),
        ("b.sgq", "many.csv", &[], Some(600), "at most 600 queries; nobody"),
        ("c.sgq", "clinics.csv", &["--cost-budget", "12.5"], None, "frugal, a cost of at most 12.50; nobody"),
        (
            "d.sgq",
            "clinics.csv",
            &["--numbers-budget", "8000000000"],
            None,
            "frugal, at most 8000000000 numbers; nobody",
        ),
        ("e.sgq", "clinics.csv", &["--budget", "none"], None, "frugal; nobody"),
        ("f.sgq", "clinics.csv", &["--tol", "off"], Some(500), "at most 500 queries; nobody"),
    ] {
        let new = ["session", "new", name, "--users", users, "--dim", "2"];
        let said = succeeds(place, &[&new[..], more].concat());
        assert!(said.contains(told), "{said}");
        assert_eq!(json(place, &["session", "status", name, "--json"])["budget"].as_u64(), budget, "{name}");
    }
    assert!(succeeds(place, &["session", "new", "--help"]).contains("[default: 500, or 10 for each"));
}

/// What remains may not fall without somebody who is part of the objective: everybody who looks is told.
#[test]
fn whoever_cannot_be_asked_is_named() {
    let place = place();
    let place = place.path();
    new(place, "study.sgq", &["--budget", "8"]);
    answers(place, "study.sgq", 4);
    assert!(!succeeds(place, &["session", "status", "study.sgq"]).contains("warning"));
    let given = user(place, "study.sgq", "north")["answers"].as_u64().unwrap();
    succeeds(place, &["session", "away", "study.sgq", "north"]);
    answers(place, "study.sgq", 4);
    let plural = if given == 1 { "" } else { "s" };
    let warning = format!(
        "north cannot be asked (away since question 3, {given} answer{plural}): what remains may not fall without it: sgq session \
         back, leave or extend"
    );
    let told = succeeds(place, &["session", "status", "study.sgq"]);
    assert!(told.lines().any(|line| line == format!("  warning               {warning}")), "{told}");
    let told = succeeds(place, &["session", "exchange", "study.sgq", "ex"]);
    assert!(told.lines().any(|line| line == format!("  warning: {warning}")), "{told}");
    let missing = &json(place, &["session", "status", "study.sgq", "--json"])["missing"];
    assert_eq!(
        (&missing[0]["name"], &missing[0]["absence"], &missing[0]["since"]),
        (&"north".into(), &"away".into(), &3.into())
    );
    // Where nobody else can be asked either, all are in one line.
    succeeds(place, &["session", "away", "study.sgq", "west"]);
    let told = succeeds(place, &["session", "status", "study.sgq"]);
    assert!(
        told.contains("north, west cannot be asked (they are away): what remains may not fall without them"),
        "{told}"
    );
    // Who has left is not missed, and who is back can be asked.
    succeeds(place, &["session", "leave", "study.sgq", "north"]);
    succeeds(place, &["session", "back", "study.sgq", "west"]);
    assert!(!succeeds(place, &["session", "status", "study.sgq"]).contains("warning"));
}

#[test]
fn whoever_fails_again_and_again_is_named() {
    let place = place();
    let place = place.path();
    new(place, "study.sgq", &["--budget", "30", "--tol", "off"]);
    let mut failed = Vec::new();
    while failed.len() < 2 {
        let question = lines(place, &["session", "ask", "study.sgq", "--json"]).remove(0);
        let ticket = question["ticket"].to_string();
        if question["user"] == "south" {
            succeeds(place, &["session", "fail", "study.sgq", &ticket]);
            failed.push(ticket);
            // Once may be by chance.
            assert_eq!(succeeds(place, &["session", "status", "study.sgq"]).contains("warning"), failed.len() > 1);
        } else {
            fs::write(place.join("answer.json"), answer(&question)).unwrap();
            succeeds(place, &["session", "tell", "study.sgq", &ticket, "answer.json"]);
        }
    }
    let told = succeeds(place, &["session", "status", "study.sgq"]);
    let expected = format!("south cannot be asked (failing since question {}, 0 answers): what remains", failed[0]);
    assert!(told.contains(&expected), "{told}");
}

#[cfg(unix)]
#[test]
fn a_run_says_so_before_and_after() {
    let place = place();
    let place = place.path();
    new(place, "study.sgq", &["--budget", "12"]);
    answers(place, "study.sgq", 1);
    succeeds(place, &["session", "away", "study.sgq", "north"]);
    let run = ["session", "run", "study.sgq", "--command", "python3 -S clinic.py good"];
    let output = sgq(place, &run);
    let warning = "north cannot be asked (away since question 0, ";
    assert!(text(&output.stderr).contains(&format!("warning: {warning}")), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains(&format!("warning               {warning}")), "{}", text(&output.stdout));
    // Quietly, it is said at the end.
    let output = sgq(place, &[&run[..], &["--quiet"]].concat());
    assert_eq!(text(&output.stderr).matches(warning).count(), 1, "{}", text(&output.stderr));
}

/// A limit that is spent is no absence, and nobody comes back from it.
#[test]
fn spent_limits_are_called_so() {
    let place = place();
    let place = place.path();
    new(place, "study.sgq", &["--answers-each", "1", "--tol", "off"]);
    answers(place, "study.sgq", 2);
    let told = succeeds(place, &["session", "status", "study.sgq"]);
    assert!(told.contains("  limit spent") && !told.contains("away"), "{told}");
    assert!(told.contains("cannot be asked (their limits are spent)") && !told.contains("back"), "{told}");
    answers(place, "study.sgq", 2);
    let told = succeeds(place, &["session", "status", "study.sgq"]);
    assert!(told.contains("nobody can be asked: everybody has spent what it may disclose"), "{told}");
    let csv = succeeds(place, &["session", "status", "study.sgq", "--csv"]);
    assert!(csv.starts_with("user,answers,") && csv.contains(",away,left,limit_spent,last_reason\n"), "{csv}");
    assert!(csv.lines().skip(1).all(|line| line.ends_with(",false,false,true,")), "{csv}");
    let north = user(place, "study.sgq", "north");
    assert_eq!((&north["away"], &north["spent"]), (&false.into(), &"it has given 1 answers, and may give 1".into()));
    let output = sgq(place, &["session", "run", "study.sgq", "--command", "python3"]);
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("everybody has spent what it may disclose") && !told.contains("session back"), "{told}");
    let told = refuses(place, &["session", "back", "study.sgq", "north"]);
    assert!(told.contains("\"north\" cannot be asked again: it has given 1 answers"), "{told}");
}

/// What somebody who leaves has answered is never used again, and everything that says so is true.
#[test]
fn who_leaves_is_forgotten() {
    let place = place();
    let place = place.path();
    new(place, "study.sgq", &["--budget", "9", "--tol", "off"]);
    answers(place, "study.sgq", 3);
    let question = lines(place, &["session", "ask", "study.sgq", "--json"]).remove(0);
    let (name, ticket) = (question["user"].as_str().unwrap(), question["ticket"].to_string());
    let told = succeeds(place, &["session", "leave", "study.sgq", name]);
    assert_eq!(told, format!("  {name}: has left; the answer that it has given is not used any more\n"));
    let before = super::point(place, "study.sgq");
    fs::write(place.join("answer.json"), answer(&question)).unwrap();
    let told = succeeds(place, &["session", "tell", "study.sgq", &ticket, "answer.json"]);
    assert!(told.contains(": billed and not used: its user has left; 4 queries so far"), "{told}");
    assert_eq!(super::point(place, "study.sgq"), before);
    let told = succeeds(place, &["session", "join", "study.sgq", name]);
    assert_eq!(told, format!("  {name}: is part of it again; the 2 answers that it has given are not used any more\n"));
    let help = succeeds(place, &["session", "join", "--help"]);
    assert!(help.contains("its answers from before are not used") && !help.contains("count again"), "{help}");
    assert!(is_sound(place, "study.sgq"));
}

/// An error told for a question that is answered changes nothing, and does not say otherwise.
#[test]
fn an_error_after_the_answer_changes_nothing() {
    let place = place();
    let place = place.path();
    new(place, "study.sgq", &["--budget", "9", "--tol", "off"]);
    answers(place, "study.sgq", 1);
    fs::write(place.join("error.json"), "{\"ticket\": 0, \"error\": \"no power\"}").unwrap();
    let expected = "  question 0 was answered already: nothing changes";
    for arguments in [
        &["session", "tell", "study.sgq", "0", "error.json"][..],
        &["session", "tell", "study.sgq", "--lines", "error.json"],
        &["session", "fail", "study.sgq", "0"],
    ] {
        let told = succeeds(place, arguments);
        assert!(told.starts_with(expected) && !told.contains("failed"), "{told}");
    }
    assert_eq!(words(place, "study.sgq", "failed"), "");
}

/// Programs that always write the key `error` leave it empty; one that is not empty and comes with a gradient is a mistake.
#[test]
fn an_answer_is_a_gradient_or_an_error() {
    let place = place();
    let place = place.path();
    new(place, "study.sgq", &["--budget", "9", "--tol", "off"]);
    for (ticket, error) in ["\"\"", "false", "null"].iter().enumerate() {
        let question = lines(place, &["session", "ask", "study.sgq", "--json"]).remove(0);
        let both = |error: &str| answer(&question).replace('}', &format!(", \"error\": {error}}}"));
        fs::write(place.join("both.json"), both("\"no power\"")).unwrap();
        let tell = ["session", "tell", "study.sgq", &ticket.to_string(), "both.json"];
        let told = refuses(place, &tell);
        assert!(
            told.contains("it has a gradient and an error: send one of them; its question is still open"),
            "{told}"
        );
        // Editors write a byte order mark.
        fs::write(place.join("both.json"), format!("\u{feff}{}", both(error))).unwrap();
        assert!(succeeds(place, &tell).contains(": taken; "));
    }
    assert_eq!(words(place, "study.sgq", "refused").matches("a gradient and an error").count(), 3);
    assert_eq!(words(place, "study.sgq", "failed"), "");
}

/// Lines count as an editor counts them.
#[test]
fn blank_lines_count() {
    let place = place();
    let place = place.path();
    new(place, "study.sgq", &["--budget", "9", "--tol", "off"]);
    fs::write(place.join("lines.jsonl"), "\n\nnonsense\n\n{\"ticket\": 99, \"gradient\": [1, 2]}\n").unwrap();
    let output = sgq(place, &["session", "tell", "study.sgq", "--lines", "lines.jsonl"]);
    let told = text(&output.stderr);
    assert!(told.contains("lines.jsonl: line 3: it is not JSON"), "{told}");
    assert!(told.contains("lines.jsonl: line 5: no question has the ticket 99"), "{told}");
    assert!(told.contains("2 of 2 lines were refused"), "{told}");
}
