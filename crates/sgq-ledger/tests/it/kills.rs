//! Sessions that are killed.

use std::{path::Path, process::Command};

use sgq_ledger::{Ledger, LedgerError, Reader, recover};

use crate::killing::{kill_and_compare, killed_plan, session, wait_for_questions};

const PATH: &str = "SGQ_LEDGER_OF_CHILD";

/// Not a test: the process that the test below kills.
#[test]
#[ignore = "it is run by the test that kills it"]
fn child() {
    if let Some(path) = std::env::var_os(PATH) {
        session(Path::new(&path));
    }
}

fn start(path: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "kills::child", "--ignored", "--quiet"]).env(PATH, path);
    command.stdout(std::process::Stdio::null());
    command
}

#[test]
fn twenty_kills_change_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("study.sgq");
    let outcome = kill_and_compare(&path, || start(&path), 20, 400);
    assert!(outcome.answers >= 400 && outcome.kills > 15, "{outcome:?}");
    assert!(outcome.received_again > 0, "nothing was out at any kill");
}

/// A second writer is told who the first one is; whoever reads may, and the lock ends with its holder.
#[test]
fn another_process_writes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("study.sgq");
    Ledger::create(&path, &killed_plan(1_000_000)).unwrap().close().unwrap();
    let mut child = start(&path).spawn().unwrap();
    wait_for_questions(&path, &mut child, 10);
    let error = Ledger::open(&path).unwrap_err();
    assert!(matches!(&error, LedgerError::InUse { holder, .. } if holder.process == child.id()), "{error}");
    assert!(error.to_string().contains(&format!("process {}", child.id())), "{error}");
    let error = recover(&path, &path.with_extension("new")).unwrap_err();
    assert!(matches!(error, LedgerError::InUse { .. }), "{error}");
    assert!(Reader::open(&path).unwrap().status().unwrap().queries > 0);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(Ledger::open(&path).unwrap().queries() > 0);
}
