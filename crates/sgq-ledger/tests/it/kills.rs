//! Sessions that are killed.

use std::{path::Path, process::Command};

use crate::killing::{kill_and_compare, session};

const PATH: &str = "SGQ_LEDGER_OF_CHILD";

/// Not a test: the process that the test below kills.
#[test]
#[ignore = "it is run by the test that kills it"]
fn child() {
    if let Some(path) = std::env::var_os(PATH) {
        session(Path::new(&path));
    }
}

#[test]
fn twenty_kills_change_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("study.sgq");
    let start = || {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "kills::child", "--ignored", "--quiet"]).env(PATH, &path);
        command.stdout(std::process::Stdio::null());
        command
    };
    let outcome = kill_and_compare(&path, start, 20, 400);
    assert!(outcome.answers >= 400 && outcome.kills > 15, "{outcome:?}");
    assert!(outcome.received_again > 0, "nothing was out at any kill");
}
