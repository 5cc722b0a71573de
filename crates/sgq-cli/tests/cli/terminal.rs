//! What reaches a terminal: no control characters, and no endless messages.

use std::fs;

use crate::{GOOD, folder_with, refuses, sgq, succeeds, text};

#[test]
fn nothing_steers_the_terminal() {
    let place = folder_with("d.csv", "who,\"x\n\u{1b}[31m\",y\u{9b}2J\n\"A\u{7}\",0,1\n\"A\u{7}\",2,3\nB,1,5\nB,4,4\n");
    let clean = |text: &str| !text.contains(|c: char| (c.is_control() && c != '\n') || c == '\u{202e}');
    let told = succeeds(
        place.path(),
        &["fit", "d.csv", "--user", "who", "--target", "y\u{9b}2J", "--budget", "20", "--tol", "off"],
    );
    assert!(clean(&told) && told.contains("  `y\\u009b2J` ~ `x\\n\\u001b[31m`: gaussian"), "{told:?}");
    assert!(told.contains("\n  x\\n\\u001b[31m ") && told.contains("A\\u0007 10"), "{told:?}");
    let json = succeeds(
        place.path(),
        &["fit", "d.csv", "--user", "who", "--target", "y\u{9b}2J", "--budget", "20", "--tol", "off", "--json"],
    );
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["target"], "y\u{9b}2J");
    let evil = "\u{1b}]0;x\u{7}\nerror: \u{202e}";
    fs::write(place.path().join("x.toml"), "name = \"\u{1b}[31m\"\n").unwrap();
    for arguments in [
        &["fit", "d.csv", "--user", evil, "--target", "y"][..],
        &["fit", evil, "--user", "who", "--target", "y"],
        &["fit", "d.csv", "--user", "who", "--target", "y\u{9b}2J", "--out", evil, "--method", evil],
        &["fit", "d.csv", "--user", "who", "--target", "y\u{9b}2J", "--set", evil],
        &["run", evil],
        &["run", "x.toml"],
        &["predict", evil, "d.csv"],
        &["bench", "random", "--methods", evil],
        &[evil],
    ] {
        let output = sgq(place.path(), arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let error = text(&output.stderr);
        assert!(clean(&error) && error.starts_with("error: "), "{arguments:?}: {error:?}");
    }
    // What a file's name says is one line.
    let error = refuses(place.path(), &["predict", evil, "d.csv"]);
    assert_eq!(error.lines().count(), 1, "{error}");
}

#[test]
fn messages_are_short_enough_to_be_read() {
    let columns: Vec<String> = (0..400).map(|column| format!("a rather long name of column number {column}")).collect();
    let row = vec!["1"; 400].join(",");
    let place = folder_with("wide.csv", &format!("who,{}\nA,{row}\nB,{row}\n", columns.join(",")));
    let error = refuses(place.path(), &["fit", "wide.csv", "--user", "hospital", "--target", "y"]);
    assert!(error.contains("number 10\" and 389 more") && error.chars().count() < 1_000, "{error}");
    let error = refuses(place.path(), &["fit", "wide.csv", "--user", &"x".repeat(100_000), "--target", "y"]);
    assert!(error.contains(" … ") && error.contains("and 389 more") && error.chars().count() < 2_100, "{error}");
    let mut experiment = GOOD.to_owned();
    for method in 0..300 {
        experiment += &format!("\n[[method]]\nname = \"method {method}\"\nmethod = \"sgd\"\n");
    }
    fs::write(place.path().join("x.toml"), experiment).unwrap();
    let error = refuses(place.path(), &["run", "x.toml", "--methods", "adam"]);
    assert!(error.contains("there are: A, method 0, ") && error.contains(" and 289 more"), "{error}");
}
