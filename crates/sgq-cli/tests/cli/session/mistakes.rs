//! Whatever can be typed wrong: named, with the remedy, and nothing changes.

use std::fs;

use super::{count, new, place, succeeds};
use crate::refuses;

#[test]
fn a_new_session_names_what_is_wrong() {
    let place = place();
    let place = place.path();
    fs::write(place.join("costs.csv"), "user,cost\nnorth,1\nsouth,cheap\n").unwrap();
    fs::write(place.join("column.csv"), "user,wieght\nnorth,1\n").unwrap();
    fs::write(place.join("twice.csv"), "user\nnorth\nsouth\nnorth\n").unwrap();
    fs::write(place.join("some.csv"), "user,smoothness\nnorth,1\nsouth,\n").unwrap();
    fs::write(place.join("start.json"), "[1, \"two\"]").unwrap();
    fs::write(place.join("half.json"), "[1,\n").unwrap();
    fs::write(place.join("start.py"), "[1;2]").unwrap();
    fs::write(place.join("object.json"), "{}").unwrap();
    fs::write(place.join("tab.csv"), "user\nnorth\nso\tuth\n").unwrap();
    fs::write(place.join("large.csv"), "user,cost\nnorth,1\nsouth,1e200\n").unwrap();
    let with = |users: &'static str, more: &[&'static str]| {
        [&["session", "new", "study.sgq", "--users", users][..], more].concat()
    };
    let usual = |more: &[&'static str]| with("clinics.csv", &[&["--dim", "2"][..], more].concat());
    for (arguments, expected) in [
        (with("clinic.csv", &["--dim", "2"]), "clinic.csv: cannot be read"),
        (with("costs.csv", &["--dim", "2"]), "costs.csv: line 3: the cost is \"cheap\": it must be a positive number"),
        (
            with("column.csv", &["--dim", "2"]),
            "column.csv: line 1: a column is called \"wieght\"; did you mean \"weight\"?",
        ),
        (with("twice.csv", &["--dim", "2"]), "twice.csv: line 4: the user \"north\" is on line 2 already"),
        (with("some.csv", &["--dim", "2"]), "some.csv: line 3: the user \"south\" has no smoothness, and others have"),
        (with("clinics.csv", &[]), "--dim <N>"),
        (with("clinics.csv", &["--dim", "0"]), "expected a whole number from 1"),
        (with("clinics.csv", &["--start", "1,2", "--dim", "3"]), "--start has 2 numbers, and --dim is 3"),
        (
            with("clinics.csv", &["--start", "1,two"]),
            "--start \"1,two\" is neither numbers with commas between nor a file",
        ),
        (with("clinics.csv", &["--start", "start.json"]), "the file must hold a list of numbers"),
        (with("clinics.csv", &["--start", "1,NaN"]), "coordinate 1 of the starting point is NaN"),
        (usual(&["--method", "frugl"]), "there is no method \"frugl\"; did you mean \"frugal\"?"),
        (usual(&["--method", "sgq", "--set", "lasy=true"]), "sgq has no setting \"lasy\"; did you mean \"lazy\"?"),
        (usual(&["--step-size", "0.1"]), "frugal has no step size"),
        (
            usual(&["--method", "sgd", "--step-size", "0.1", "--budget", "none"]),
            "nothing would ever stop it: sgd cannot tell what remains, and there is no budget",
        ),
        (
            usual(&["--tol", "off", "--budget", "none"]),
            "nothing would ever stop it: the tolerance is off and there is no budget",
        ),
        (
            usual(&["--method", "sgq", "--step-size", "theory", "--budget", "9"]),
            "(each L_i belongs into the column smoothness of clinics.csv)",
        ),
        (usual(&["--numbers-budget", "1"]), "--numbers-budget is 1, and one answer holds 2 numbers: give at least 2"),
        (usual(&["--numbers-budget", "9007199254740993"]), "expected a whole number from 1 to 9007199254740992"),
        (usual(&["--seed", "-1"]), "expected a whole number from 0"),
        (with("clinics.csv", &["--start", "-1,2,3", "--dim", "2"]), "--start has 3 numbers, and --dim is 2"),
        (
            with("clinics.csv", &["--start", "half.json"]),
            "half.json\" is neither numbers with commas between nor a file: it is cut short; the file must hold",
        ),
        (with("clinics.csv", &["--start", "start.py"]), "it is not JSON at line 1, column 3; the file must hold"),
        (with("clinics.csv", &["--start", "object.json"]), "it holds no list; the file must hold a list of numbers"),
        (
            with("tab.csv", &["--dim", "2"]),
            "tab.csv: line 3: the user is called \"so\\tuth\": a name has no line breaks, tabs or other control characters",
        ),
        (
            with("large.csv", &["--dim", "2"]),
            "large.csv: line 3: the cost is 1e200: it must lie between 1e-150 and 1e150",
        ),
        (usual(&["--method", "saga", "--budget", "9"]), "saga"),
        (usual(&["--tol", "2"]), "the tolerance is 2"),
        (usual(&["--budget", "0"]), "expected a whole number from 1"),
        (usual(&["--cost-budget", "-1"]), "expected a positive number"),
        (usual(&["--open", "0"]), "expected a whole number from 1"),
        (usual(&["--answers", "hesian"]), "expected gradient, loss or hessian"),
        (usual(&["--certified-gap", "0.1"]), "a certified gap cannot stop this run"),
        (usual(&["--too-long", "clip"]), "expected ignore, flag or refuse"),
        (usual(&["--unexpected", "drop"]), "expected ignore, flag or refuse"),
        (usual(&["--unexpected-factor", "1"]), "expected a number above 1"),
        (usual(&["--delta", "2"]), "delta must lie between 0 and 1"),
        (usual(&["--epsilon", "0"]), "expected a positive number"),
        (usual(&["--answers-each", "0"]), "expected a whole number from 1"),
    ] {
        let told = refuses(place, &arguments);
        assert!(told.contains(expected) && !told.contains("tip:"), "{arguments:?}: {told}");
        assert!(!place.join("study.sgq").exists(), "{arguments:?}");
    }
    let told = refuses(place, &["session", "new", "nowhere/study.sgq", "--users", "clinics.csv", "--dim", "2"]);
    assert!(told.contains("there is no folder nowhere: make it first"), "{told}");
    new(place, "study.sgq", &[]);
    let told = refuses(place, &["session", "new", "study.sgq", "--users", "clinics.csv", "--dim", "2"]);
    assert!(told.contains("study.sgq is there already") && told.contains("sgq session status study.sgq"), "{told}");
}

#[test]
fn every_verb_names_what_is_wrong() {
    let place = place();
    let place = place.path();
    new(place, "study.sgq", &["--budget", "9", "--tol", "off"]);
    fs::write(place.join("notes.sgq"), "what a day").unwrap();
    fs::write(place.join("good.json"), "{\"gradient\": [1, 2]}").unwrap();
    fs::write(place.join("half.json"), "{\"gradient\": [1,").unwrap();
    fs::write(place.join("long.json"), "{\"gradient\": [1, 2, 3]}").unwrap();
    fs::write(place.join("huge.json"), "{\"gradient\": [1, 1e300]}").unwrap();
    fs::write(place.join("other.json"), "{\"ticket\": 4, \"gradient\": [1, 2]}").unwrap();
    succeeds(place, &["session", "ask", "study.sgq"]);
    for verb in ["away", "back", "leave", "join"] {
        let help = succeeds(place, &["session", verb, "--help"]);
        assert!(help.contains(&format!("sgq session {verb} study.sgq -- -dash")), "{help}");
    }
    for (arguments, expected) in [
        (&["ask", "stduy.sgq"][..], "there is no ledger stduy.sgq; did you mean \"study.sgq\"?"),
        (&["status", "nowhere/study.sgq"], "there is no ledger nowhere/study.sgq: sgq session new makes one"),
        (&["ask", "notes.sgq"], "notes.sgq is no ledger of sgq"),
        (&["status", "notes.sgq"], "notes.sgq is no ledger of sgq"),
        (&["ask", "study.sgq", "--count", "0"], "--count"),
        (&["tell", "study.sgq"], "<TICKET>"),
        (&["tell", "study.sgq", "0"], "<ANSWER.json>"),
        (&["tell", "study.sgq", "0", "nothing.json"], "nothing.json: cannot be read"),
        (&["tell", "study.sgq", "0", "half.json"], "half.json: it is not JSON: EOF while parsing"),
        (
            &["tell", "study.sgq", "0", "long.json"],
            "has 3 numbers, expected 2: one for each parameter; its question is still open",
        ),
        (&["tell", "study.sgq", "0", "huge.json"], "1e300"),
        (&["tell", "study.sgq", "0", "other.json"], "it has the ticket 4, and was told for 0"),
        (&["tell", "study.sgq", "7", "good.json"], "no question has the ticket 7; out are 0"),
        (
            &["tell", "study.sgq", "0", "good.json", "--user", "nroth"],
            "the study has no user \"nroth\"; did you mean \"north\"?",
        ),
        (&["fail", "study.sgq", "7"], "no question has the ticket 7; out are 0"),
        (&["fail", "study.sgq"], "<TICKET>"),
        (&["fail", "study.sgq", "x"], "the ticket must be a whole number"),
        (&["fail", "study.sgq", "-1"], "the ticket must be a whole number"),
        (&["tell", "study.sgq", "x", "good.json"], "the ticket must be a whole number"),
        (&["tell", "study.sgq", "-1", "good.json"], "the ticket must be a whole number"),
        (&["fail", "study.sgq", "--older-than", "-5m"], "expected a time, such as 90s, 5m, 2h or 7d"),
        (&["run", "study.sgq", "--command", "x", "--retries", "-1"], "expected a whole number from 0"),
        (&["run", "study.sgq", "--command", "x", "--lease", "-1s"], "expected a time"),
        (&["history", "study.sgq", "--last", "-1"], "expected a whole number from 0"),
        (&["away", "study.sgq", "--", "-dash"], "the study has no user \"-dash\""),
        (&["fail", "study.sgq", "--older-than", "soon"], "expected a time, such as 90s, 5m, 2h or 7d"),
        (&["away", "study.sgq", "nroth"], "the study has no user \"nroth\"; did you mean \"north\"?"),
        (&["away", "study.sgq", "north", "soth"], "did you mean \"south\"?"),
        (&["back", "study.sgq"], "<USER>"),
        (&["extend", "study.sgq"], "required"),
        (&["extend", "study.sgq", "--tol", "2"], "the tolerance is 2"),
        (&["extend", "study.sgq", "--budget", "-5"], "expected a whole number from 1"),
        (&["extend", "study.sgq", "--certified-gap", "0.1"], "certified"),
        (
            &["history", "study.sgq", "--kind", "answerd"],
            "--kind answerd: there is no such event; did you mean \"answered\"?",
        ),
        (&["history", "study.sgq", "--user", "nroth"], "did you mean \"north\"?"),
        (&["history", "study.sgq", "--answers"], "--json"),
        (&["point", "study.sgq", "--json", "--csv"], "cannot be used with"),
        (&["recover", "study.sgq", "study.sgq"], "study.sgq is there already"),
        (&["run", "study.sgq"], "--command <COMMAND>"),
        (&["run", "study.sgq", "--command", " "], "the command is empty"),
        (&["run", "study.sgq", "--command", "sh -c 'x"], "without its other one"),
        (&["run", "study.sgq", "--command", "x", "--timeout", "0"], "expected a time"),
        (&["exchange", "study.sgq"], "<DIR>"),
        (&["exchange", "study.sgq", "good.json"], "cannot make the folder good.json/to/north"),
    ] {
        let told = refuses(place, &[&["session"], arguments].concat());
        assert!(told.contains(expected), "{arguments:?}: {told}");
    }
    // Four answers were no answers to a question that is out, and each has its row; nobody is away, and nothing has failed.
    assert_eq!((count(place, "study.sgq", "refused"), count(place, "study.sgq", "away")), (5, 0));
    assert_eq!((count(place, "study.sgq", "answered"), count(place, "study.sgq", "failed")), (0, 0));
}

/// Messages name users as people know them, and say of a question that it is open only where it is.
#[test]
fn messages_are_about_names() {
    let place = place();
    let place = place.path();
    new(place, "study.sgq", &["--budget", "9", "--tol", "off"]);
    let asked = super::lines(place, &["session", "ask", "study.sgq", "--json"]);
    let user = asked[0]["user"].as_str().unwrap();
    fs::write(place.join("long.json"), "{\"gradient\": [1, 2, 3]}").unwrap();
    let told = refuses(place, &["session", "tell", "study.sgq", "0", "long.json"]);
    assert!(told.contains(&format!("the gradient of {user} has 3 numbers")), "{told}");
    for (gradient, expected) in [("[1, 2]", None), ("[1, 3]", Some("already has another answer"))] {
        fs::write(place.join("answer.json"), format!("{{\"gradient\": {gradient}}}")).unwrap();
        let tell = ["session", "tell", "study.sgq", "0", "answer.json"];
        match expected {
            None => drop(succeeds(place, &tell)),
            Some(expected) => {
                let told = refuses(place, &tell);
                assert!(told.contains(expected) && !told.contains("still open"), "{told}");
            }
        }
    }
    succeeds(place, &["session", "leave", "study.sgq", "north", "south"]);
    let told = refuses(place, &["session", "leave", "study.sgq", "west"]);
    assert!(told.contains("west is the last one"), "{told}");
    // A reason is kept, and not a book.
    succeeds(place, &["session", "ask", "study.sgq"]);
    succeeds(place, &["session", "fail", "study.sgq", "1", "--reason", &"no power ".repeat(1000)]);
    let words = super::words(place, "study.sgq", "failed");
    assert!(words.starts_with("no power no power") && words.len() < 400, "{}", words.len());
    assert!(super::is_sound(place, "study.sgq"));
}

/// Whoever looks at a ledger that lacks something is told.
#[test]
fn what_is_lost_is_said() {
    let place = place();
    let place = place.path();
    new(place, "study.sgq", &["--budget", "9", "--tol", "off"]);
    succeeds(place, &["session", "ask", "study.sgq"]);
    let copy = fs::read(place.join("study.sgq")).unwrap();
    fs::write(place.join("answer.json"), "{\"gradient\": [1, 2]}").unwrap();
    succeeds(place, &["session", "tell", "study.sgq", "0", "answer.json"]);
    // An old copy is put back.
    fs::write(place.join("study.sgq"), copy).unwrap();
    for verb in ["point", "history", "pending"] {
        let output = crate::sgq(place, &["session", verb, "study.sgq"]);
        let told = crate::text(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{told}");
        assert!(told.contains("warning: study.sgq ends at event 1, and 2 were written"), "{verb}: {told}");
    }
    let told = succeeds(place, &["session", "recover", "study.sgq", "saved.sgq"]);
    assert!(told.contains("saved.sgq: 0 answers saved, 1 events lost\n"), "{told}");
    fs::remove_file(place.join("study.sgq-lock")).unwrap();
    let told = succeeds(place, &["session", "recover", "study.sgq", "again.sgq"]);
    assert!(told.contains("at least 0 events lost: how many there were is not known without study.sgq-lock"), "{told}");
}

#[test]
fn every_verb_explains_itself() {
    let place = place();
    let verbs = [
        "new", "ask", "tell", "fail", "away", "back", "leave", "join", "extend", "status", "pending", "history",
        "point", "verify", "recover", "run", "exchange",
    ];
    let all = succeeds(place.path(), &["session", "--help"]);
    for verb in verbs {
        let help = succeeds(place.path(), &["session", verb, "--help"]);
        assert!(help.contains(&format!("Example:\n  sgq session {verb} ")), "{verb}: {help}");
        assert!(all.contains(&format!("\n  {verb} ")), "{verb}: {all}");
    }
}
