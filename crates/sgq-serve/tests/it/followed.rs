//! What is told of a session is what the session is.

use serde_json::{Value, json};
use sgq::{Method, method};
use sgq_ledger::Reader;

use crate::ledgers::{Served, USERS, folder, ledger, plan, serve};

fn methods() -> Vec<Method> {
    vec![
        method::frugal(),
        method::sgq(0.3),
        method::practical_sgq(0.3),
        method::saga(),
        method::svrg(5),
        method::gpfl(),
    ]
}

fn column<'a>(value: &'a Value, name: &str) -> &'a Vec<Value> {
    value[name].as_array().unwrap()
}

/// The same numbers as `sgq session status --json`.
fn agrees(served: &Served, id: &str, path: &std::path::Path) {
    let status = serde_json::to_value(Reader::open(path).unwrap().status().unwrap()).unwrap();
    let head = served.replayed_head(id);
    let told = &head["status"];
    for name in [
        "queries",
        "budget",
        "cost",
        "cost_budget",
        "numbers",
        "numbers_budget",
        "pending",
        "certified",
        "stopped",
        "converged",
        "last_event",
    ] {
        assert_eq!(told[name], status[name], "{id}: {name}");
    }
    let remaining = match &status["remaining"] {
        Value::Null => [Value::Null, Value::Null, Value::Null],
        parts => [parts[0].clone(), parts[1].clone(), parts[2].clone()],
    };
    assert_eq!([&told["part"], &told["low"], &told["high"]], remaining.each_ref());
    assert_eq!((&head["method"], &head["seq"]), (&status["method"], &status["events"]));
    let users = served.ask(id, "users?count=1000");
    let users = users["rows"].as_array().unwrap();
    let expected = status["users"].as_array().unwrap();
    assert_eq!(users.len(), expected.len());
    for (row, user) in users.iter().zip(expected) {
        assert_eq!(row["answered"], user["answers"], "{row} {user}");
        for name in ["name", "numbers", "epsilon", "failures", "refused", "flagged"] {
            assert_eq!(row[name], user[name], "{name}: {row} {user}");
        }
        assert_eq!(row["state"] == "left", user["left"].as_bool().unwrap());
    }
}

#[test]
fn the_numbers_are_those_of_status() {
    let folder = folder();
    for method in methods() {
        for (open, steps) in [(1, 0), (1, 1), (1, 70), (3, 50)] {
            let name = format!("{}-{open}-{steps}.sgq", method.name());
            let path = ledger(&folder, &name, &plan(method.clone(), open, 60), steps);
            agrees(&serve(&path), &name, &path);
        }
    }
}

/// The curve is what a session believes after each answer.
#[test]
fn the_curve_is_what_was_believed() {
    let folder = folder();
    let path = ledger(&folder, "study.sgq", &plan(method::frugal(), 2, 80), 70);
    let served = serve(&path);
    let head = served.replayed_head("study.sgq");
    let queries = head["status"]["queries"].as_u64().unwrap() as usize;
    let curve = served.ask("study.sgq", "curve");
    assert_eq!(column(&curve, "n").len(), queries);
    assert_eq!(column(&curve, "n").last().unwrap(), &json!(queries));
    for name in ["at", "cost", "numbers", "part", "low", "high"] {
        assert_eq!(column(&curve, name).len(), queries, "{name}");
    }
    assert_eq!(column(&curve, "cost").last().unwrap(), &head["status"]["cost"]);
    assert_eq!(column(&curve, "numbers").last().unwrap(), &head["status"]["numbers"]);
    let near = |one: &Value, other: &Value| (one.as_f64().unwrap() / other.as_f64().unwrap() - 1.0).abs() < 1e-6;
    for (curve, status) in [("part", "part"), ("low", "low"), ("high", "high")] {
        assert!(near(column(&served.ask("study.sgq", "curve"), curve).last().unwrap(), &head["status"][status]));
    }
    // Event by event, as a session of its own goes through them.
    let mut follower = sgq_ledger::Follower::from_beginning(&path).unwrap();
    let mut believed = Vec::new();
    while follower
        .catch_up(7, |step| {
            if step.has_happened && step.event.cost.is_some() {
                believed.push(step.session.remaining().map(|it| it.gap / it.at_start));
            }
        })
        .unwrap()
        == sgq_ledger::Progress::More
    {}
    for (told, believed) in column(&curve, "part").iter().zip(believed) {
        match believed {
            Some(believed) => assert!(near(told, &json!(believed)) || believed == 0.0, "{told} {believed}"),
            None => assert_eq!(told, &Value::Null),
        }
    }
    let later = served.ask("study.sgq", &format!("curve?from={}", queries - 2));
    assert_eq!(later["n"], json!([queries - 2, queries - 1, queries]));
}

#[test]
fn who_was_asked_is_in_order() {
    let folder = folder();
    let path = ledger(&folder, "study.sgq", &plan(method::saga(), 1, 80), 40);
    let served = serve(&path);
    let asked = served.ask("study.sgq", "asked");
    let mut expected = Vec::new();
    Reader::open(&path)
        .unwrap()
        .history(|event| {
            if event.kind == sgq_ledger::Kind::Asked {
                expected.push((event.ticket.unwrap(), event.user.unwrap()));
            }
            Ok(())
        })
        .unwrap();
    assert_eq!(asked["n"], json!(expected.iter().map(|it| it.0).collect::<Vec<_>>()));
    assert_eq!(asked["user"], json!(expected.iter().map(|it| it.1).collect::<Vec<_>>()));
    let word = |place: usize| asked["kinds"][asked["kind"][place].as_u64().unwrap() as usize].as_str().unwrap();
    for (place, (ticket, _)) in expected.iter().enumerate() {
        let is_last = place + 1 == expected.len();
        assert_eq!(
            word(place),
            if ticket % 9 == 5 {
                "failed"
            } else if is_last {
                word(place)
            } else {
                "answered"
            }
        );
    }
    assert_eq!(served.ask("study.sgq", "asked?from=10")["n"][0], 10);
    // Events are the same, the last first, and a page at a time.
    let events = served.ask("study.sgq", "events?kinds=failed&count=2");
    assert_eq!(events["rows"].as_array().unwrap().len(), 2);
    assert_eq!(events["more"], true);
    let first = &events["rows"][0];
    assert!(first["seq"].as_i64() > events["rows"][1]["seq"].as_i64());
    assert_eq!(
        (first["kind"].as_str(), first["words"].as_str()),
        (Some("failed"), Some("no <b>answer</b> within 30 minutes"))
    );
    let before = served.ask("study.sgq", &format!("events?kinds=failed&before={}", events["rows"][1]["seq"]));
    assert!(before["rows"][0]["seq"].as_i64() < events["rows"][1]["seq"].as_i64());
    assert_eq!(before["more"], false);
}

#[test]
fn the_way_ends_at_the_point() {
    let folder = folder();
    let path = ledger(&folder, "study.sgq", &plan(method::frugal(), 1, 80), 40);
    let served = serve(&path);
    let way = served.ask("study.sgq", "path?coordinates=2,0");
    let point = Reader::open(&path).unwrap().session().unwrap().point().to_vec();
    let (n, values) = (column(&way, "n"), column(&way, "values"));
    assert_eq!((values.len(), values[0].as_array().unwrap().len()), (2, n.len()));
    assert_eq!((&values[0][0], &values[1][0]), (&json!(2.0), &json!(4.0)), "it begins at the start");
    for (values, place) in values.iter().zip([2, 0]) {
        let last = values.as_array().unwrap().last().unwrap().as_f64().unwrap();
        assert!((last / point[place] - 1.0).abs() < 1e-6);
    }
    assert_eq!(served.ask("study.sgq", "head")["coordinates"], json!(["x0", "x1", "x2"]));
}

#[test]
fn users_are_sorted_and_found() {
    let folder = folder();
    let served = serve(&ledger(&folder, "study.sgq", &plan(method::frugal(), 1, 80), 60));
    for column in [
        "user",
        "name",
        "asked",
        "answered",
        "last_asked",
        "last_at",
        "cost",
        "weight",
        "size",
        "tell",
        "stale",
        "state",
        "failures",
        "epsilon",
    ] {
        for desc in [false, true] {
            let table = served.ask("study.sgq", &format!("users?sort={column}&desc={desc}"));
            let rows = table["rows"].as_array().unwrap();
            assert_eq!((rows.len(), &table["total"]), (USERS, &json!(USERS)));
            let values: Vec<&Value> = rows.iter().map(|row| &row[column]).filter(|it| !it.is_null()).collect();
            let is_sorted = values.windows(2).all(|two| match (two[0].as_f64(), two[1].as_f64()) {
                (Some(one), Some(other)) => {
                    if desc {
                        one >= other
                    } else {
                        one <= other
                    }
                }
                _ => {
                    if desc {
                        two[0].as_str() >= two[1].as_str()
                    } else {
                        two[0].as_str() <= two[1].as_str()
                    }
                }
            });
            assert!(is_sorted, "{column}, {desc}: {values:?}");
        }
    }
    let found = served.ask("study.sgq", "users?search=IC-3");
    assert_eq!((&found["total"], &found["rows"][0]["name"]), (&json!(1), &json!("clinic-3")));
    let second = served.ask("study.sgq", "users?from=2&count=3");
    assert_eq!(
        second["rows"].as_array().unwrap().iter().map(|it| it["user"].as_u64().unwrap()).collect::<Vec<_>>(),
        [2, 3, 4]
    );
}

/// The question that was asked last, the best candidates, and why: for methods that go by scores, the best one was asked.
#[test]
fn the_last_question_says_why() {
    let folder = folder();
    for method in methods() {
        let name = format!("{}.sgq", method.name());
        // A question is out.
        let path = ledger(&folder, &name, &plan(method.clone(), 1, 80), 44);
        let mut writer = sgq_ledger::Ledger::open(&path).unwrap();
        writer.ask_many(1).unwrap();
        writer.close().unwrap();
        let served = serve(&path);
        let head = served.replayed_head(&name);
        let last = &head["last"];
        let out = &head["out"][0];
        assert_eq!(
            (&last["ticket"], &last["user"], &last["asked_at"]),
            (&out["ticket"], &out["user"], &out["asked_at"]),
            "{name}"
        );
        assert_eq!((&last["answered_at"], &out["wants"]), (&Value::Null, &json!("gradient")));
        assert!(last["words"].as_str().unwrap().len() > 3);
        let answered = &head["answered"];
        assert!(answered["answered_at"].as_i64() >= answered["asked_at"].as_i64());
        assert!(answered["point_moved"].as_f64().unwrap() >= 0.0);
        let goes_by_score = ["frugal", "sgq", "practical-sgq", "gpfl"].contains(&method.name());
        let candidates = last["candidates"].as_array().unwrap();
        assert_eq!(!candidates.is_empty(), goes_by_score, "{name}: {last}");
        if goes_by_score {
            let chosen = candidates.iter().find(|it| it["user"] == last["user"]).unwrap();
            for candidate in candidates {
                let parts: f64 = candidate["parts"].as_array().unwrap().iter().map(|it| it.as_f64().unwrap()).sum();
                let score = candidate["score"].as_f64().unwrap();
                assert!((parts - score).abs() <= 1e-9 * score.abs().max(1e-9), "{candidate}");
            }
            let best = candidates.iter().map(|it| it["score"].as_f64().unwrap()).fold(f64::NEG_INFINITY, f64::max);
            assert_eq!(last["rank"] == 1, chosen["score"].as_f64().unwrap() == best, "{last}");
            assert!(last["rank"] == 1 || last["explored"] == true, "{last}");
        }
    }
}
