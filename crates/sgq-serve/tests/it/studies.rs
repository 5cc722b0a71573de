//! A regression by a plan, and the session that `sgq serve --demo` runs.

use std::{
    fs, thread,
    time::{Duration, Instant},
};

use serde_json::Value;
use sgq::{Settings, method};
use sgq_data::plan::StudyPlan;
use sgq_ledger::{Ledger, Plan, Terms, User};
use sgq_serve::demo::Demo;

use crate::ledgers::{folder, serve};

/// Before everybody has answered the first question there is no model.
#[test]
fn a_study_without_a_model_says_for_whom_it_waits() {
    let folder = folder();
    let path = folder.path().join("study.sgq");
    let study = StudyPlan::new("died ~ age + sex".parse().unwrap(), "binomial".parse().unwrap());
    let users = ["north", "south"].map(User::named).to_vec();
    let plan = Plan::of_study(method::frugal(), Settings::new(Vec::new(), 2).budget(50), users, Terms::new(study));
    let mut ledger = Ledger::create(&path, &plan).unwrap();
    ledger.ask_many(10).unwrap();
    let served = serve(&path);
    let head = served.replayed_head("study.sgq");
    let study = &head["status"]["study"];
    assert_eq!((&study["begun"], study["waits_for"].as_array().unwrap().len()), (&Value::Bool(false), 2));
    assert_eq!((head["out"].as_array().unwrap().len(), &head["out"][0]["wants"]), (2, &Value::from("summary")));
    assert_eq!(head["status"]["pending"], 2);
    assert_eq!(served.ask("study.sgq", "result"), Value::Null);
    for what in ["curve", "asked", "users", "events"] {
        served.ask("study.sgq", what);
    }
}

/// The demo's session, looked at from its first question: it gets a model, and goes on with it.
#[test]
fn the_demo_is_followed_from_its_first_question() {
    let demo = Demo::start().unwrap();
    let folder = demo.path().parent().unwrap().to_owned();
    let served = serve(demo.path());
    let begun = Instant::now();
    let head = loop {
        let head = served.ask("demo.sgq", "head");
        if head["status"]["queries"].as_u64().unwrap() >= 3 {
            break head;
        }
        assert!(begun.elapsed() < Duration::from_secs(30), "{head}");
        thread::sleep(Duration::from_millis(50));
    };
    assert_eq!(head["status"]["study"]["begun"], true);
    assert_eq!(head["coordinates"][1], "los");
    assert!(
        served.get("/api/s/demo.sgq/head").status == 200 && head["status"]["warnings"].as_array().unwrap().is_empty(),
        "{head}"
    );
    let result = served.ask("demo.sgq", "result");
    assert_eq!(result["coefficients"][1]["name"], "los", "{result}");
    let way = served.ask("demo.sgq", "path?coordinates=0,1");
    assert_eq!(way["values"].as_array().unwrap().len(), 2);
    drop(served);
    drop(demo);
    assert!(!folder.exists(), "nothing is left of it");
}

#[test]
fn the_data_of_the_demo_are_the_example() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/medpar.csv");
    let own = concat!(env!("CARGO_MANIFEST_DIR"), "/demo/medpar.csv");
    // A published crate has no examples beside it.
    if let Ok(example) = fs::read(root) {
        assert!(fs::read(own).unwrap() == example, "copy examples/medpar.csv to crates/sgq-serve/demo");
    }
}
