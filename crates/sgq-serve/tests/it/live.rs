//! A session that somebody else runs meanwhile.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use sgq::method;
use sgq_ledger::{Ledger, Reader};

use crate::ledgers::{folder, ledger, plan, serve, step};

#[test]
fn an_answer_is_told_within_a_second() {
    let folder = folder();
    let path = ledger(&folder, "study.sgq", &plan(method::frugal(), 1, 500), 20);
    for looked_at in [true, false] {
        let served = serve(folder.path());
        if looked_at {
            served.ask("study.sgq", "head");
        }
        let mut changes = served.listen();
        // Whoever only listens is told as well; what is there already is not news.
        thread::sleep(Duration::from_millis(400));
        let mut writer = Ledger::open(&path).unwrap();
        for _ in 0..3 {
            step(&mut writer);
            step(&mut writer);
            let (queries, begun) = (writer.queries(), Instant::now());
            let change = changes.find(|change| change["queries"] == queries).unwrap();
            assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
            assert_eq!(change["id"], "study.sgq");
            let head = served.ask("study.sgq", "head");
            assert_eq!(head["status"]["queries"], queries);
        }
        writer.close().unwrap();
    }
}

/// A writer at full speed: what is shown in the end is what is there, and its log was moved into the file meanwhile.
#[test]
fn a_writer_is_followed_to_its_end() {
    let folder = folder();
    let path = ledger(&folder, "study.sgq", &plan(method::frugal(), 3, 900), 5);
    let served = serve(&path);
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut writer = Ledger::open(&path).unwrap();
            while step(&mut writer) {}
            writer.close().unwrap();
            is_over.store(true, Ordering::Relaxed);
        });
        let mut last = 0;
        while !is_over.load(Ordering::Relaxed) {
            for what in ["head", "curve", "users?sort=tell&desc=1", "asked", "path?coordinates=0", "events"] {
                served.ask("study.sgq", what);
            }
            let queries = served.ask("study.sgq", "head")["status"]["queries"].as_u64().unwrap();
            assert!(queries >= last);
            last = queries;
        }
    });
    let status = Reader::open(&path).unwrap().status().unwrap();
    let begun = Instant::now();
    loop {
        let head = served.replayed_head("study.sgq");
        if head["status"]["queries"] == status.queries && head["seq"] == status.events {
            assert_eq!(head["status"]["stopped"].as_str(), status.stopped.as_deref());
            break;
        }
        assert!(begun.elapsed() < Duration::from_secs(5), "{head}");
        thread::sleep(Duration::from_millis(20));
    }
    let curve = served.ask("study.sgq", "curve");
    let parts = curve["part"].as_array().unwrap();
    let first = parts.iter().position(|part| !part.is_null()).unwrap();
    assert!(parts[first..].iter().all(|part| !part.is_null()), "no gap where the replay met what was seen live");
}

/// Nothing beside the ledger is made or changed by looking.
#[test]
fn looking_leaves_no_trace() {
    let folder = folder();
    let path = ledger(&folder, "study.sgq", &plan(method::frugal(), 1, 60), 30);
    let there = || {
        let mut names: Vec<_> = folder.path().read_dir().unwrap().map(|it| it.unwrap().file_name()).collect();
        names.sort();
        names
    };
    let (before, bytes) = (there(), std::fs::read(&path).unwrap());
    {
        let served = serve(&path);
        served.replayed_head("study.sgq");
        served.ask("study.sgq", "users");
    }
    assert_eq!(std::fs::read(&path).unwrap(), bytes);
    // SQLite's own index of a log may come and go; a log with anything in it may not.
    let kept = |names: Vec<std::ffi::OsString>| -> Vec<_> {
        names.into_iter().filter(|name| !name.to_string_lossy().ends_with("-shm")).collect()
    };
    let after: Vec<_> = kept(there())
        .into_iter()
        .filter(|name| std::fs::metadata(folder.path().join(name)).unwrap().len() > 0)
        .collect();
    assert_eq!(after, kept(before));
    // And a writer opens it as if nobody had looked.
    assert!(step(&mut Ledger::open(&path).unwrap()));
}
