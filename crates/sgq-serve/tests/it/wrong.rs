//! What is wrong is said, and nothing ends by it.

use std::fs;

use serde_json::Value;
use sgq::method;

use crate::ledgers::{folder, ledger, plan, serve};

#[test]
fn addresses_lead_nowhere_else() {
    let folder = folder();
    let inside = tempfile::tempdir_in(folder.path()).unwrap();
    ledger(&folder, "secret.sgq", &plan(method::frugal(), 1, 20), 5);
    ledger(&inside, "study.sgq", &plan(method::frugal(), 1, 20), 5);
    let served = serve(inside.path());
    for path in [
        "/api/s/..%2Fsecret.sgq/head",
        "/api/s/../secret.sgq/head",
        "/api/s/%2e%2e%2fsecret.sgq/head",
        "/api/s/secret.sgq/head",
        "/api/s//head",
        "/api/s/study.sgq",
        "/api/s/study.sgq/",
        "/api/s/study.sgq/nothing",
        "/api/s/study.sgq-lock/head",
        "/api/",
        "/api/nothing",
        "/assets/../Cargo.toml",
        "/assets/%2e%2e/Cargo.toml",
        "/assets/",
        "/index.html",
        "/study.sgq",
    ] {
        let answer = served.get(path);
        assert_eq!(answer.status, 404, "{path}");
        assert!(answer.error().len() > 10);
    }
    assert_eq!(served.get("/api/s/study%2Esgq/head").status, 200);
}

#[test]
fn what_cannot_be_meant_is_said() {
    let folder = folder();
    let served = serve(&ledger(&folder, "study.sgq", &plan(method::frugal(), 1, 20), 5));
    for (what, words) in [
        ("curve?from=-1", "from"),
        ("curve?from=99999999999999999999", "from"),
        ("asked?from=x", "from"),
        ("path?coordinates=3", "from 0 to 2"),
        ("path?coordinates=0,,1", "coordinates"),
        ("users?sort=shoe", "shoe"),
        ("users?count=many", "count"),
        ("events?kinds=asked,gone", "gone"),
        ("events?before=1e9", "before"),
    ] {
        let answer = served.get(&format!("/api/s/study.sgq/{what}"));
        assert_eq!(answer.status, 400, "{what}");
        assert!(answer.error().contains(words), "{what}: {}", answer.error());
    }
    // What is past the end is empty, and no error.
    assert_eq!(served.ask("study.sgq", "curve?from=1000")["n"], Value::Array(Vec::new()));
    assert_eq!(served.ask("study.sgq", "users?from=1000")["rows"], Value::Array(Vec::new()));
    assert_eq!(served.ask("study.sgq", "events?before=0")["rows"], Value::Array(Vec::new()));
    let long = format!("/api/s/study.sgq/users?search={}", "x".repeat(40_000));
    assert!([414, 431].contains(&served.get(&long).status));
}

#[test]
fn a_damaged_ledger_is_said_and_the_others_are_served() {
    let folder = folder();
    ledger(&folder, "good.sgq", &plan(method::frugal(), 1, 60), 30);
    let bad = ledger(&folder, "bad.sgq", &plan(method::frugal(), 1, 60), 30);
    fs::write(folder.path().join("none.sgq"), "this is no ledger").unwrap();
    fs::write(folder.path().join("notes.txt"), "nor is this, and it does not say so").unwrap();
    let mut bytes = fs::read(&bad).unwrap();
    // Every page but the first: SQLite still opens it.
    bytes[4096..].iter_mut().step_by(97).for_each(|byte| *byte ^= 0x55);
    fs::write(&bad, bytes).unwrap();
    let served = serve(folder.path());
    let sessions = served.get("/api/sessions").json();
    let sessions = sessions.as_array().unwrap();
    let ids: Vec<&str> = sessions.iter().map(|it| it["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["bad.sgq", "good.sgq", "none.sgq"]);
    assert_eq!(sessions[1]["error"], Value::Null);
    assert_eq!(sessions[1]["method"], "frugal");
    for (place, words) in [(0, "bad.sgq"), (2, "no ledger of sgq")] {
        let error = sessions[place]["error"].as_str().unwrap();
        assert!(error.contains(words), "{error}");
        for what in ["head", "curve", "asked", "path", "users", "events"] {
            let answer = served.get(&format!("/api/s/{}/{what}", ids[place]));
            assert_eq!(answer.status, 422, "{what}");
            assert!(answer.error().contains(words), "{}", answer.error());
        }
    }
    assert_eq!(served.ask("good.sgq", "head")["status"]["queries"], sessions[1]["queries"]);
}

/// A ledger of an earlier layout is not changed by looking at it.
#[test]
fn an_older_layout_says_what_to_do() {
    let folder = folder();
    let path = folder.path().join("old.sgq");
    fs::copy(concat!(env!("CARGO_MANIFEST_DIR"), "/../sgq-ledger/tests/fixtures/format-1.sgq"), &path).unwrap();
    let before = fs::read(&path).unwrap();
    let served = serve(&path);
    let answer = served.get("/api/s/old.sgq/head");
    assert_eq!(answer.status, 422);
    assert!(answer.error().contains("--upgrade"), "{}", answer.error());
    assert_eq!(fs::read(&path).unwrap(), before);
}
