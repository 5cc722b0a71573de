//! Every verb, as a person or a script uses it.

use std::{
    fs,
    io::Write as _,
    path::Path,
    process::{Command, Stdio},
};

use serde_json::Value;

use super::{answer, count, events, is_sound, json, lines, new, place, point, words};
use crate::{refuses, sgq, succeeds, text};

/// Answers what is out by `tell`, once.
fn answer_all(place: &Path, name: &str) -> bool {
    let questions = lines(place, &["session", "pending", name, "--json"]);
    for question in &questions {
        fs::write(place.join("answer.json"), answer(question)).unwrap();
        let told = succeeds(place, &["session", "tell", name, &question["ticket"].to_string(), "answer.json"]);
        assert!(told.contains(": taken; "), "{told}");
    }
    !questions.is_empty()
}

#[test]
fn a_session_by_hand() {
    let place = place();
    let place = place.path();
    let told =
        succeeds(place, &["session", "new", "study.sgq", "--users", "clinics.csv", "--dim", "2", "--budget", "30"]);
    assert!(
        told.contains("study.sgq: 3 users, 2 parameters, frugal, at most 30 queries; nobody has been asked"),
        "{told}"
    );
    let told = succeeds(place, &["session", "ask", "study.sgq"]);
    assert!(
        told.contains("ticket")
            && told.contains("not asked before")
            && told.contains("sgq session tell study.sgq 0 answer.json")
    );
    // The same again until it is answered.
    assert_eq!(succeeds(place, &["session", "ask", "study.sgq"]), told);
    let question = &lines(place, &["session", "ask", "study.sgq", "--json"])[0];
    let keys: Vec<&String> = question.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["point", "ticket", "user", "wants"]);
    while answer_all(place, "study.sgq") {
        sgq(place, &["session", "ask", "study.sgq"]);
    }
    let status = json(place, &["session", "status", "study.sgq", "--json"]);
    assert_eq!((status["converged"].as_bool(), status["method"].as_str()), (Some(true), Some("frugal")));
    // The optimum of all three, by weight: 3(x − c) twice for north, once for south, 2(x − c) for west.
    let expected = [(6.0 * 1.0 + 3.0 * 3.0 - 2.0) / 11.0, (6.0 * -2.0 + 3.0 * 0.5 + 2.0) / 11.0];
    let found: Vec<f64> = serde_json::from_str(&point(place, "study.sgq")).unwrap();
    assert!(found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-2), "{found:?}");
    let told = sgq(place, &["session", "ask", "study.sgq"]);
    assert_eq!((told.status.code(), text(&told.stdout)), (Some(0), String::new()));
    assert!(text(&told.stderr).contains("nobody is asked any more: converged"), "{}", text(&told.stderr));
    assert!(is_sound(place, "study.sgq"));
    // What is printed as CSV and as JSON is the same to the last bit.
    let csv = succeeds(place, &["session", "point", "study.sgq", "--csv"]);
    let numbers: Vec<f64> = csv.lines().skip(1).map(|line| line.split_once(',').unwrap().1.parse().unwrap()).collect();
    assert_eq!(numbers, found);
}

#[test]
fn questions_and_answers_go_through_a_pipe() {
    let place = place();
    let place = place.path();
    new(place, "study.sgq", &["--budget", "12", "--tol", "off", "--open", "3"]);
    assert_eq!(lines(place, &["session", "ask", "study.sgq", "--json", "--count", "2"]).len(), 2);
    assert_eq!(lines(place, &["session", "ask", "study.sgq", "--json", "--count", "1"]).len(), 1);
    assert_eq!(lines(place, &["session", "pending", "study.sgq", "--json"]).len(), 2);
    for _ in 0..4 {
        let questions = lines(place, &["session", "ask", "study.sgq", "--json"]);
        let mut answers: Vec<String> = questions.iter().map(answer).collect();
        // A wrong line does not keep the others from being taken.
        answers.insert(1, "{\"ticket\": 99, \"gradient\": [1, 2]}".into());
        answers.insert(2, "nonsense".into());
        let mut child = Command::new(env!("CARGO_BIN_EXE_sgq"))
            .args(["session", "tell", "study.sgq", "--lines", "-"])
            .current_dir(place)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(answers.join("\n").as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{told}");
        assert!(told.contains("standard input: line 2: no question has the ticket 99"), "{told}");
        assert!(told.contains("line 3: it is not JSON") && told.contains("2 of 5 lines were refused"), "{told}");
    }
    assert_eq!((count(place, "study.sgq", "answered"), count(place, "study.sgq", "refused")), (12, 8));
}

#[test]
fn users_fail_go_come_back_leave_and_join() {
    let place = place();
    let place = place.path();
    new(place, "study.sgq", &["--budget", "9", "--tol", "off"]);
    let ask = || lines(place, &["session", "ask", "study.sgq", "--json"]);
    let first = ask().remove(0);
    let ticket = first["ticket"].to_string();
    let told = succeeds(place, &["session", "fail", "study.sgq", &ticket, "--reason", "no power", "--billed"]);
    assert_eq!(told, "  question 0: failed\n");
    assert_eq!(
        succeeds(place, &["session", "fail", "study.sgq", &ticket]),
        "  question 0 was not out: nothing changes\n"
    );
    let status = json(place, &["session", "status", "study.sgq", "--json"]);
    assert_eq!((status["queries"].as_u64(), words(place, "study.sgq", "failed").as_str()), (Some(1), "no power"));
    let second = ask().remove(0);
    assert_ne!(second["user"], first["user"]);
    // Its answer comes after all, twice.
    fs::write(place.join("late.json"), answer(&first)).unwrap();
    let tell = ["session", "tell", "study.sgq", &ticket, "late.json"];
    assert!(succeeds(place, &tell).contains("taken, though late"));
    assert!(succeeds(place, &tell).contains("told before, and nothing changes"));
    // Everybody goes away.
    let told = succeeds(place, &["session", "away", "study.sgq", "north", "south", "west", "--reason", "holidays"]);
    assert_eq!(told.lines().count(), 3);
    assert!(succeeds(place, &["session", "away", "study.sgq", "north"]).contains("north: was away already"));
    let older = ["session", "fail", "study.sgq", "--older-than", "1ms", "--reason", "a week"];
    assert!(succeeds(place, &older).contains(": failed"));
    assert!(succeeds(place, &older).contains("no question has been out for so long"));
    let told = sgq(place, &["session", "ask", "study.sgq"]);
    assert!(text(&told.stderr).contains("nobody"), "{}", text(&told.stderr));
    assert!(succeeds(place, &["session", "back", "study.sgq", "south"]).contains("south: is back, and can be asked"));
    assert_eq!(ask()[0]["user"], "south");
    succeeds(place, &["session", "back", "study.sgq", "north"]);
    assert!(succeeds(place, &["session", "leave", "study.sgq", "west"]).contains("west: has left"));
    assert!(succeeds(place, &["session", "leave", "study.sgq", "west"]).contains("west: had left already"));
    let csv = succeeds(place, &["session", "status", "study.sgq", "--csv"]);
    assert!(
        csv.lines().nth(3).unwrap().starts_with("west,") && csv.lines().nth(3).unwrap().contains(",true,true,"),
        "{csv}"
    );
    assert!(succeeds(place, &["session", "join", "study.sgq", "west"]).contains("west: is part of it again"));
    let kinds: Vec<String> = events(place, "study.sgq").into_iter().map(|event| event.0).collect();
    for kind in ["away", "back", "left", "joined", "late", "failed"] {
        assert!(kinds.iter().any(|it| it == kind), "{kind}");
    }
    assert!(is_sound(place, "study.sgq"));
}

#[test]
fn budgets_are_raised_and_tolerances_changed() {
    let place = place();
    let place = place.path();
    new(place, "study.sgq", &["--budget", "2", "--cost-budget", "100"]);
    let ask = ["session", "ask", "study.sgq"];
    for _ in 0..2 {
        succeeds(place, &ask);
        answer_all(place, "study.sgq");
    }
    assert!(text(&sgq(place, &ask).stderr).contains("the budget of 2 queries is spent"));
    let told =
        succeeds(place, &["session", "extend", "study.sgq", "--budget", "20", "--cost-budget", "5", "--tol", "0.5"]);
    assert!(told.contains("extended: it goes on (sgq session ask study.sgq)"), "{told}");
    while text(&sgq(place, &ask).stderr).is_empty() {
        answer_all(place, "study.sgq");
    }
    let early = json(place, &["session", "status", "study.sgq", "--json"]);
    assert_eq!((early["converged"].as_bool(), early["budget"].as_u64()), (Some(true), Some(22)));
    succeeds(place, &["session", "extend", "study.sgq", "--tol", "1e-6"]);
    while text(&sgq(place, &ask).stderr).is_empty() {
        answer_all(place, "study.sgq");
    }
    let late = json(place, &["session", "status", "study.sgq", "--json"]);
    assert!(late["queries"].as_u64() > early["queries"].as_u64() && late["converged"] == true);
    assert!(words(place, "study.sgq", "extended").contains("\"tolerance\":1e-6"));
}

#[test]
fn what_is_printed_is_what_is_there() {
    let place = place();
    let place = place.path();
    new(place, "study.sgq", &["--budget", "30", "--tol", "off", "--open", "2", "--answers", "loss"]);
    succeeds(place, &["session", "ask", "study.sgq"]);
    answer_all(place, "study.sgq");
    succeeds(place, &["session", "ask", "study.sgq"]);
    let told = succeeds(place, &["session", "status", "study.sgq"]);
    for expected in
        ["study.sgq", "method                frugal", "going on; 2 questions are out", "2 of 30", "north", "failures"]
    {
        assert!(told.contains(expected), "{expected}: {told}");
    }
    let csv = succeeds(place, &["session", "pending", "study.sgq", "--csv"]);
    assert!(csv.starts_with("ticket,user,wants,why,asked\n2,") && csv.lines().count() == 3, "{csv}");
    let history = succeeds(place, &["session", "history", "study.sgq"]);
    assert_eq!(history.lines().count(), 6);
    assert_eq!(
        succeeds(place, &["session", "history", "study.sgq", "--last", "1"]),
        history.lines().last().unwrap().to_owned() + "\n"
    );
    assert_eq!(succeeds(place, &["session", "history", "study.sgq", "--kind", "answered"]).lines().count(), 2);
    let csv = succeeds(place, &["session", "history", "study.sgq", "--csv"]);
    assert!(csv.starts_with("seq,time,kind,ticket,user,cost,numbers,words\n1,2") && csv.lines().count() == 7, "{csv}");
    // An answer is there to the bit, with the point where it was asked for.
    let answered = lines(place, &["session", "history", "study.sgq", "--json", "--answers", "--kind", "answered"]);
    let question = serde_json::json!({ "ticket": answered[0]["ticket"], "user": answered[0]["user"], "point": answered[0]["point"] });
    let told: Value = serde_json::from_str(&answer(&question)).unwrap();
    assert_eq!(answered[0]["answer"]["gradient"], told["gradient"]);
    let new =
        ["session", "new", "other.sgq", "--users", "clinics.csv", "--start", "-0.1,-1e-300", "--budget", "3", "--json"];
    let status = json(place, &new);
    assert_eq!((status["queries"].as_u64(), &status["point"]), (Some(0), &serde_json::json!([-0.1, -1e-300])));
    assert_eq!(point(place, "other.sgq"), "[-0.1,-1e-300]\n");
    assert_eq!(succeeds(place, &["session", "verify", "other.sgq", "--quiet"]), "");
}

/// Money has cents, and nothing is left of it where less than that is.
#[test]
fn costs_are_money() {
    let place = place();
    let place = place.path();
    fs::write(place.join("dear.csv"), "user,cost\nnorth,1234.56\nsouth,1234.56\nwest,1234.56\n").unwrap();
    let new = ["session", "new", "study.sgq", "--users", "dear.csv", "--dim", "2", "--tol", "off", "--quiet"];
    succeeds(place, &[&new[..], &["--cost-budget", "3703.68", "--numbers-budget", "5000000000"]].concat());
    let shown = |expected: &str| {
        let told = succeeds(place, &["session", "status", "study.sgq"]);
        assert!(told.lines().any(|line| line.trim_end() == expected), "{expected}: {told}");
    };
    let ask = || text(&sgq(place, &["session", "ask", "study.sgq"]).stderr);
    ask();
    answer_all(place, "study.sgq");
    shown("  cost                  1234.56 of 3703.68, 2469.12 left");
    shown("  numbers sent          2 of 5000000000");
    assert!(succeeds(place, &["session", "history", "study.sgq"]).contains("  cost 1234.56\n"));
    for _ in 0..2 {
        ask();
        answer_all(place, "study.sgq");
    }
    shown("  cost                  3703.68 of 3703.68, 0 left");
    assert!(ask().contains("the budget in cost is spent (3703.68)"), "{}", ask());
    let status = json(place, &["session", "status", "study.sgq", "--json"]);
    let budgets = ["budget", "cost_budget", "numbers_budget"].map(|name| status[name].as_f64());
    assert_eq!(budgets, [None, Some(3703.68), Some(5e9)]);
}

/// What has nothing to do with protection does not stand under it.
#[test]
fn the_help_of_new_has_its_options_where_they_belong() {
    let place = place();
    let help = succeeds(place.path(), &["session", "new", "--help"]);
    let (options, protection) = help.split_once("\nProtection:\n").unwrap();
    for option in ["--json", "--quiet", "--help", "--seed"] {
        assert!(options.contains(option) && !protection.contains(option), "{option}: {help}");
    }
    assert!(protection.contains("--answers-each"), "{help}");
}

/// What somebody changed in the file is found, named, and what is intact is saved.
#[test]
fn a_changed_answer_is_found_and_the_rest_is_saved() {
    let place = place();
    let place = place.path();
    new(place, "study.sgq", &["--budget", "30", "--tol", "off"]);
    for _ in 0..10 {
        succeeds(place, &["session", "ask", "study.sgq"]);
        answer_all(place, "study.sgq");
    }
    assert!(succeeds(place, &["session", "verify", "study.sgq"]).contains("study.sgq is sound: 20 events, 10 answers"));
    // A gradient's bytes, as they are in the file: one of them is changed.
    let answers = lines(place, &["session", "history", "study.sgq", "--json", "--answers", "--kind", "answered"]);
    let number = answers[6]["answer"]["gradient"][0].as_f64().unwrap();
    let mut bytes = fs::read(place.join("study.sgq")).unwrap();
    let at = bytes.windows(8).position(|eight| eight == number.to_le_bytes()).unwrap();
    bytes[at + 1] ^= 1;
    fs::write(place.join("study.sgq"), bytes).unwrap();
    let output = sgq(place, &["session", "verify", "study.sgq"]);
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("damaged: the record of study.sgq is damaged: "), "{told}");
    assert!(told.contains("sgq session recover study.sgq NEW.sgq") && !told.contains("FILE.sgq"), "{told}");
    let told = refuses(place, &["session", "ask", "study.sgq"]);
    assert!(
        told.contains("the record of study.sgq is damaged: ") && told.contains("recover study.sgq NEW.sgq"),
        "{told}"
    );
    let told = succeeds(place, &["session", "recover", "study.sgq", "saved.sgq"]);
    assert!(told.contains("saved.sgq: 9 answers saved"), "{told}");
    let status = json(place, &["session", "status", "saved.sgq", "--json"]);
    assert_eq!(status["queries"], 9);
}

/// An answer far from what the model expects of it stays out until somebody has looked at it.
#[test]
fn an_unexpected_answer_waits_for_a_person() {
    let place = place();
    let place = place.path();
    fs::write(place.join("five.csv"), "user,smoothness\na,2\nb,2\nc,2\nd,2\ne,2\n").unwrap();
    let new = ["session", "new", "study.sgq", "--users", "five.csv", "--dim", "2", "--open", "5"];
    succeeds(place, &[&new[..], &["--unexpected", "refuse", "--unexpected-factor", "20"]].concat());
    let questions = lines(place, &["session", "ask", "study.sgq", "--json"]);
    assert_eq!(questions.len(), 5);
    let tickets: Vec<String> = questions.iter().map(|question| question["ticket"].to_string()).collect();
    fs::write(place.join("answer.json"), r#"{"gradient": [1.0, -2.0]}"#).unwrap();
    for ticket in &tickets[..4] {
        succeeds(place, &["session", "tell", "study.sgq", ticket, "answer.json"]);
    }
    fs::write(place.join("answer.json"), r#"{"gradient": [-500.0, 3.0]}"#).unwrap();
    let last = ["session", "tell", "study.sgq", &tickets[4], "answer.json"];
    let told = refuses(place, &last);
    for part in ["times as far from what the model expects", "the limit is 20", "its question is still open"] {
        assert!(told.contains(part), "{told}");
    }
    let told = succeeds(place, &[&last[..], &["--accept"]].concat());
    assert!(told.contains("times as far"), "{told}");
    assert!(is_sound(place, "study.sgq"));
}
