//! `sgq bench random`: what it measures, writes and refuses.

use std::fs;

use serde_json::Value;
use tempfile::tempdir;

use crate::{read, read_text, refuses, succeeds};

const SMALL: [&str; 14] = [
    "bench",
    "random",
    "--problems",
    "4",
    "--max-users",
    "10",
    "--max-dim",
    "3",
    "--trials",
    "2",
    "--methods",
    "saga,iqn",
    "--seed",
    "3",
];

#[test]
fn a_person_reads_tables_and_everything_is_written() {
    let place = tempdir().unwrap();
    let stdout = succeeds(place.path(), &SMALL);
    for expected in [
        "\n  relative gap 0.1: tuned shuffled-sgd reaches it on ",
        "\n  relative gap 0.01: tuned shuffled-sgd reaches it on ",
        "  within 1.2×  ",
        "\n  problems on which the gap was ever above 2× the start\n",
        "\n  written to out/random: problems.csv curves.csv summary.json\n",
    ] {
        assert!(stdout.contains(expected), "{expected}: {stdout}");
    }
    assert!(!stdout.contains("earlier run"), "{stdout}");
    let out = place.path().join("out/random");
    let csv = read_text(out.join("problems.csv"));
    assert_eq!(csv.lines().count(), 1 + 4 * 3);
    assert!(csv.lines().nth(1).is_some_and(|line| line.starts_with("0,") && line.contains(",shuffled-sgd,tuned,")));
    assert!(csv.lines().nth(2).is_some_and(|line| line.starts_with("0,") && line.contains(",saga,untuned,")));

    // Once more, on one thread: all of it is there; without the cells it is the same to the byte.
    let again = succeeds(place.path(), &[&SMALL[..], &["--threads", "1"]].concat());
    assert!(again.contains("\n  12 of 12 methods on problems are from an earlier run\n"), "{again}");
    let names = ["problems.csv", "curves.csv", "summary.json"];
    let before = names.map(|name| read(out.join(name)));
    fs::remove_dir_all(&out).unwrap();
    let json = succeeds(place.path(), &[&SMALL[..], &["--threads", "1", "--json"]].concat());
    assert_eq!(names.map(|name| read(out.join(name))), before);
    assert_eq!(json.as_bytes(), before[2]);
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!((json["cells"].as_array().unwrap().len(), &json["unfinished"]), (12, &0.into()));
    assert_eq!(json["methods"][1]["method"], "iqn");
    assert_eq!(json["cells"][0]["targets"][0]["target"], 0.1);

    // Another method: what is known of the competitor is not measured again.
    let more = succeeds(place.path(), &[&SMALL[..10], &["--seed", "3", "--methods", "sgd"]].concat());
    assert!(more.contains("\n  4 of 8 methods on problems are from an earlier run\n"), "{more}");
    assert_eq!(succeeds(place.path(), &[&SMALL[..], &["--quiet", "--out", "other"]].concat()), "");
    assert_eq!(read(place.path().join("other/problems.csv")), before[0]);
}

#[test]
fn what_makes_no_sense_is_refused() {
    let place = tempdir().unwrap();
    for (option, value, expected) in [
        ("--problems", "0", "invalid value '0' for '--problems <N>'"),
        ("--trials", "0", "invalid value '0' for '--trials <N>'"),
        ("--max-users", "3", "invalid value '3' for '--max-users <N>'"),
        ("--max-dim", "201", "invalid value '201' for '--max-dim <D>'"),
        ("--methods", "saga,sqg", "there is no method \"sqg\"; did you mean \"sgq\"?"),
        ("--against", "adam", "there is no method \"adam\"; there are: "),
        ("--targets", "1", "the target is 1: it must lie between 0 and 1"),
        ("--targets", "0.1,-0.1", "the target is -0.1: it must lie between 0 and 1"),
        ("--targets", "0.1,0.5", "give the largest first"),
        ("--budget-per-user", "0", "the budget is 0 queries a user"),
    ] {
        let message = refuses(place.path(), &["bench", "random", option, value]);
        assert!(message.contains(expected), "{message}");
    }
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0, "a mistake leaves nothing behind");
    let help = succeeds(place.path(), &["bench", "random", "--help"]);
    assert!(help.contains("Examples:\n  sgq bench random ") && help.contains("--max-users <N>"), "{help}");
}

#[cfg(unix)]
#[test]
fn ctrl_c_keeps_what_was_finished() {
    use std::{
        process::{Command, Stdio},
        thread::sleep,
        time::{Duration, Instant},
    };
    let place = tempdir().unwrap();
    let many = ["bench", "random", "--problems", "100000", "--max-users", "20", "--max-dim", "5", "--trials", "2"];
    let child = Command::new(env!("CARGO_BIN_EXE_sgq"))
        .args(many)
        .current_dir(place.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let cells = place.path().join("out/random/cells");
    let begun = Instant::now();
    while !fs::read_dir(&cells).is_ok_and(|cells| cells.count() >= 4) {
        assert!(begun.elapsed() < Duration::from_secs(60), "nothing was ever finished");
        sleep(Duration::from_millis(10));
    }
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    let output = child.wait_with_output().unwrap();
    let stderr = crate::text(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{stderr}");
    assert!(stderr.starts_with("interrupted: ") && stderr.contains(" run the same command again to go on"), "{stderr}");
    let finished = fs::read_dir(&cells).unwrap().count();
    assert!(stderr.contains(&format!(" {finished} of 300000 methods on problems are finished")), "{stderr}");
    let csv = read_text(place.path().join("out/random/problems.csv"));
    assert_eq!(csv.lines().count(), 1 + finished);
}
