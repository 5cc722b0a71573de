//! Runs that end early: interrupted, failed, or with nobody left to read.

use std::{
    fs,
    path::Path,
    process::{Child, Command, Stdio},
};

use crate::{GOOD, folder_with, read_text, summary, text};

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
    let second = place.path().join(format!("o/.sgq-{0}-0.partial/new/trace/sgq-0.jsonl.{0}.partial", child.id()));
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
    assert!(out.join("trace/sgd-1.jsonl").exists() && !out.join("trace/sgq-0.jsonl").exists());
    assert!(fs::read_dir(&out).unwrap().all(|entry| !entry.unwrap().path().ends_with(".partial")));
    assert!(read_text(out.join("report.html")).contains("sgq: not finished, and left out."));
}

#[cfg(unix)]
#[test]
fn being_terminated_is_an_interrupt_too() {
    use std::{thread::sleep, time::Duration};
    let file = GOOD.replace("budget = 30", "budget = 20_000").replace("trials = 3", "trials = 500_000");
    let place = folder_with("x.toml", &file);
    let child = start_traced_run(place.path());
    while !place.path().join(format!("o/.sgq-{}-0.partial/new/trace", child.id())).exists() {
        sleep(Duration::from_millis(20));
    }
    Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let stderr = text(&output.stderr);
    assert!(stderr.contains("no method was finished, and no results were written"), "{stderr}");
    assert!(!place.path().join("o/summary.json").exists());
}

/// A disk that is full, or rather a limit that is reached, when B's traces are written: what was finished before is kept, and
/// the error says what happened.
#[cfg(target_os = "linux")]
#[test]
fn a_failure_keeps_what_was_finished() {
    // A diverges at once, and has short traces; B's come to more than all other files.
    let file = GOOD.replace("budget = 30", "budget = 20_000").replace("trials = 3", "trials = 1");
    let file = file.replace("p = 0.3", "step_size = 1e200") + "\n[[method]]\nname = \"B\"\nmethod = \"sgd\"\n";
    let place = folder_with("x.toml", &file);
    let command = "trap '' XFSZ; ulimit -f 1600; exec \"$0\" run x.toml --out o --trace --quiet";
    let output = Command::new("bash")
        .args(["-c", command, env!("CARGO_BIN_EXE_sgq")])
        .current_dir(place.path())
        .output()
        .unwrap();
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("what was finished is in o; not finished and left out: B of t"), "{stderr}");
    let csv = read_text(place.path().join("o/curves.csv"));
    assert!(csv.lines().count() == 20_002 && csv.lines().skip(1).all(|line| line.starts_with("toy,A,")));
    assert!(place.path().join("o/trace/A-0.jsonl").exists() && !place.path().join("o/trace/B-0.jsonl").exists());
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
