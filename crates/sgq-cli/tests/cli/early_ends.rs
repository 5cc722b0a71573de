//! Runs that end early: interrupted, failed, or with nobody left to read.

use std::{
    fs,
    path::Path,
    process::{Child, Command, Stdio},
};

use crate::{GOOD, folder_with, read_text, sgq, summary, text};

#[cfg(unix)]
fn start_traced_run(folder: &Path) -> Child {
    Command::new(env!("CARGO_BIN_EXE_sgq"))
        .args(["run", "x.toml", "--out", "o", "--trace"])
        .current_dir(folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

#[cfg(unix)]
#[test]
fn ctrl_c_leaves_what_was_finished() {
    use std::{
        thread::sleep,
        time::{Duration, Instant},
    };
    // A quick method first, then one that scans 3,000 users at each of 200,000 steps.
    let users = 3_000;
    let file = format!(
        "name = \"t\"\nbudget = 200_000\ntrials = 2\nstep_size = 1e-9\n\n[[problem]]\nname = \"toy\"\n\
         kind = \"quadratic\"\ncurvature = {:?}\ncenter = {:?}\nstart = 5\n\n\
         [[method]]\nmethod = \"sgd\"\n\n[[method]]\nmethod = \"sgq\"\n",
        vec![1; users],
        (0..users).collect::<Vec<_>>(),
    );
    let place = folder_with("x.toml", &file);
    let child = start_traced_run(place.path());
    // Once the second method has begun its trace, the first one is finished.
    let begun = Instant::now();
    let second = place.path().join(format!("o/trace/sgq-0.jsonl.{}.partial", child.id()));
    while !second.exists() {
        assert!(begun.elapsed() < Duration::from_secs(120), "the second method never began");
        sleep(Duration::from_millis(20));
    }
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    let output = child.wait_with_output().unwrap();
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{stderr}");
    let expected = "interrupted: what was finished is in o; not finished and left out: sgq of t";
    assert!(stderr.contains(expected), "{stderr}");
    let out = place.path().join("o");
    assert_eq!(summary(&out)["interrupted"], true);
    assert_eq!(summary(&out)["experiments"][0]["unfinished"][0]["method"], "sgq");
    assert_eq!(summary(&out)["experiments"][0]["unfinished"][0]["problem"], "toy");
    let csv = read_text(out.join("curves.csv"));
    assert!(csv.lines().skip(1).all(|line| line.starts_with("toy,sgd,")));
    assert!(out.join("trace/sgd-1.jsonl").exists() && !second.exists());
    assert!(read_text(out.join("report.html")).contains("sgq: not finished, and left out."));
}

#[cfg(unix)]
#[test]
fn being_terminated_is_an_interrupt_too() {
    use std::{thread::sleep, time::Duration};
    let file = GOOD.replace("budget = 30", "budget = 20_000").replace("trials = 3", "trials = 500_000");
    let place = folder_with("x.toml", &file);
    let child = start_traced_run(place.path());
    while !place.path().join("o/trace").exists() {
        sleep(Duration::from_millis(20));
    }
    Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let stderr = text(&output.stderr);
    assert!(stderr.contains("no method was finished, and no results were written"), "{stderr}");
    assert!(!place.path().join("o/summary.json").exists());
}

/// A trace that cannot be written: what was finished before is kept, and the error says what happened.
#[test]
fn a_failure_keeps_what_was_finished() {
    let file = GOOD.to_owned() + "\n[[method]]\nname = \"B\"\nmethod = \"sgd\"\n";
    let place = folder_with("x.toml", &file);
    // A folder in the place of B's first trace makes its renaming fail.
    fs::create_dir_all(place.path().join("o/trace/B-0.jsonl/in the way")).unwrap();
    let output = sgq(place.path(), &["run", "x.toml", "--out", "o", "--trace", "--quiet"]);
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("what was finished is in o; not finished and left out: B of t"), "{stderr}");
    let csv = read_text(place.path().join("o/curves.csv"));
    assert!(csv.lines().count() == 32 && csv.lines().skip(1).all(|line| line.starts_with("toy,A,")));
}

#[cfg(target_os = "linux")]
#[test]
fn a_result_that_cannot_be_printed_is_an_error() {
    let place = folder_with("x.toml", GOOD);
    for arguments in [&["methods"][..], &["run", "x.toml", "--json"]] {
        let output = Command::new(env!("CARGO_BIN_EXE_sgq"))
            .args(arguments)
            .current_dir(place.path())
            .stdout(fs::OpenOptions::new().write(true).open("/dev/full").unwrap())
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert!(text(&output.stderr).contains("cannot write the result"), "{}", text(&output.stderr));
    }
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_sgq"))
        .arg("methods")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(text(&output.stderr), "");
}
