//! Ledgers of other versions of the program.
//!
//! `fixtures/format-1.sgq` is a ledger of the first layout, and `fixtures/study-2.sgq` one of the second with a study by a plan. They
//! are kept as they are; a later layout gets files of its own, made by
//!
//!     cargo test -p sgq-ledger --test it versions::make_the_fixture -- --ignored

use std::{
    fs,
    path::{Path, PathBuf},
};

use rusqlite::Connection;
use sgq::{method, session::Failure};
use sgq_ledger::{Extension, Kind, Ledger, LedgerError, Policy, Privacy, Protection, Reader, Told, User, schema};

use crate::clinics::{DIM, USERS, answer, bits, events, file, plan, quick_folder, run, step};
use crate::study;

fn fixture(format: i32) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/fixtures/format-{format}.sgq"))
}

/// A ledger with every kind of event that a person can bring about, and two questions that are out.
fn eventful(path: &Path) {
    let mut plan = plan(method::frugal(), 2, 40);
    plan.users = (0..USERS)
        .map(|user| {
            let mut it = User::named(format!("clinic-{user}"));
            (it.cost, it.smoothness) = (Some(1.0 + user as f64), Some(2.5));
            it
        })
        .collect();
    let mut protection = Protection::default();
    (protection.answers_each, protection.smoothness) = (Some(50), Policy::Refuse);
    let mut ledger = Ledger::create(path, &plan.protected(protection)).unwrap();
    (0..12).for_each(|_| assert!(step(&mut ledger)));
    let out = ledger.ask_many(2).unwrap();
    let mut wrong = answer(&out[0]);
    wrong.gradient[1] = f64::NAN;
    assert!(ledger.tell(out[0].ticket, &wrong).is_err());
    ledger.fail(out[0].ticket, Failure::new().because("no power").billed()).unwrap();
    ledger.tell(out[0].ticket, &answer(&out[0])).unwrap();
    ledger.away(5, Some("holidays")).unwrap();
    ledger.leave(6, Some("closed")).unwrap();
    (0..5).for_each(|_| assert!(step(&mut ledger)));
    ledger.join(6, None).unwrap();
    ledger.back(5, None).unwrap();
    ledger.extend(Extension { queries: Some(10), ..Extension::default() }).unwrap();
    ledger.note(Some(1), "a process was started again").unwrap();
    let question = ledger.questions(1).unwrap().remove(0);
    let mut noisy = answer(&question);
    noisy.loss = Some(1.5);
    noisy.variance = Some(vec![0.01; DIM]);
    noisy.privacy = Some(Privacy { sensitivity: 0.1, noise: 0.1 });
    ledger.tell(question.ticket, &noisy).unwrap();
    let out = ledger.questions(2).unwrap();
    assert_eq!(ledger.hold(out[1].ticket, &answer(&out[1]), None).unwrap(), Told::Held);
    ledger.tell_held(out[1].ticket).unwrap();
    assert_eq!(ledger.questions(2).unwrap().len(), 2);
    ledger.close().unwrap();
}

#[test]
#[ignore = "it makes the fixture of the layout that is there now"]
fn make_the_fixture() {
    let makers: [fn(&Path); 2] = [eventful, study::begun];
    for (path, make) in [fixture(schema::VERSION), study::fixture(schema::VERSION)].into_iter().zip(makers) {
        if path.exists() {
            eprintln!("{} is kept as it is", path.display());
            continue;
        }
        make(&path);
        fs::remove_file(path.with_extension("sgq-lock")).unwrap();
    }
}

/// Every layout that there was opens, with all that it holds, and goes on to the end.
#[test]
fn every_layout_opens() {
    for format in 1..=schema::VERSION {
        let folder = quick_folder();
        let path = file(&folder, "study.sgq");
        fs::copy(fixture(format), &path).unwrap();
        let mut ledger = Ledger::open(&path).unwrap();
        // A program that would have asked otherwise goes on from the answers.
        let out = if ledger.made_anew().is_none() { 2 } else { 0 };
        let answers = if format == 1 { 19 } else { 20 };
        assert_eq!((ledger.queries(), ledger.pending().len()), (answers, out));
        assert_eq!(ledger.users()[3].cost, Some(4.0));
        assert_eq!(ledger.protection().answers_each, Some(50));
        // What it did not know of is as it is by default.
        let default = Protection::default();
        let Protection { unexpected, unexpected_factor, .. } = *ledger.protection();
        assert_eq!((unexpected, unexpected_factor), (default.unexpected, default.unexpected_factor));
        run(&mut ledger);
        assert_eq!(ledger.queries(), 50);
        ledger.close().unwrap();
        let verdict = Reader::open(&path).unwrap().verify().unwrap();
        assert!(verdict.is_sound(), "{verdict:?}");
        let seen = events(&path);
        for kind in Kind::ALL {
            let of_study = matches!(kind, Kind::Round | Kind::Reported | Kind::Begun);
            let lacks = matches!(kind, Kind::Withdrawn | Kind::Rebuilt | Kind::Waited | Kind::Flagged)
                || format == 1 && kind == Kind::Held
                || of_study;
            assert!(lacks || seen.iter().any(|event| event.0 == kind.word()), "{kind}");
        }
    }
}

/// The layout has not changed without a version of its own.
#[test]
fn the_layout_is_frozen() {
    let folder = quick_folder();
    let path = file(&folder, "study.sgq");
    eventful(&path);
    let tables = |path: &Path| -> Vec<String> {
        let copy = file(&folder, "copy.sgq");
        fs::copy(path, &copy).unwrap();
        let connection = Connection::open(copy).unwrap();
        let mut query =
            connection.prepare("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name").unwrap();
        query.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap()
    };
    assert_eq!(tables(&path), tables(&fixture(schema::VERSION)));
}

#[test]
fn a_layout_to_come_is_refused() {
    let folder = quick_folder();
    let path = file(&folder, "study.sgq");
    eventful(&path);
    change(&path, &format!("PRAGMA user_version = {}", schema::VERSION + 1));
    let before = fs::read(&path).unwrap();
    for error in [Ledger::open(&path).unwrap_err(), Reader::open(&path).unwrap_err()] {
        assert!(matches!(error, LedgerError::Newer { version, .. } if version == schema::VERSION + 1), "{error}");
        assert!(error.to_string().contains("install"), "{error}");
    }
    assert_eq!(fs::read(&path).unwrap(), before);
}

/// A snapshot of another version of the program is of no use; the events are.
#[test]
fn snapshots_of_another_program_are_not_needed() {
    let folder = quick_folder();
    let path = file(&folder, "study.sgq");
    let mut ledger = Ledger::create(&path, &plan(method::frugal(), 2, 60)).unwrap();
    (0..40).for_each(|_| assert!(step(&mut ledger)));
    let state = ledger.session().snapshot().unwrap();
    ledger.close().unwrap();
    for sql in ["UPDATE snapshots SET program = 'sgq 0.0.1', bytes = x'00'", "UPDATE snapshots SET bytes = x'00'"] {
        assert_eq!(change(&path, sql), 1);
        let ledger = Ledger::open(&path).unwrap();
        assert_eq!(ledger.made_anew(), None);
        assert_eq!(ledger.session().snapshot().unwrap(), state);
    }
}

/// A program that would have asked otherwise goes on from the answers alone: nothing that was paid for is lost, nothing is asked
/// for again, and what is out may still come.
#[test]
fn a_program_that_asks_otherwise_goes_on() {
    let folder = quick_folder();
    let path = file(&folder, "study.sgq");
    let mut ledger = Ledger::create(&path, &plan(method::frugal(), 2, 200)).unwrap();
    (0..40).for_each(|_| assert!(step(&mut ledger)));
    let failed = ledger.questions(2).unwrap().remove(0);
    ledger.fail(failed.ticket, Failure::new().because("no power").billed()).unwrap();
    let out = ledger.questions(2).unwrap();
    ledger.away(6, None).unwrap();
    ledger.close().unwrap();
    reseal_with_another_question(&path);
    let mut ledger = Ledger::open(&path).unwrap();
    let why = ledger.made_anew().unwrap();
    assert!(why.contains("would be asked"), "{why}");
    assert_eq!((ledger.queries(), ledger.pending().len()), (41, 0));
    assert!(ledger.session().is_away(6));
    // What was out comes late; what had been paid for when it failed is not paid for again.
    for question in [&failed, &out[1]] {
        let mut wrong = answer(question);
        wrong.hessian = Some(vec![1.0; 2]);
        assert!(matches!(ledger.tell(question.ticket, &wrong), Err(LedgerError::Rejected(_))));
        assert_eq!(ledger.tell(question.ticket, &answer(question)).unwrap(), sgq_ledger::Told::Late);
        assert_eq!(ledger.tell(question.ticket, &answer(question)).unwrap(), sgq_ledger::Told::Known);
    }
    assert_eq!(ledger.queries(), 42);
    let next = ledger.ask().unwrap().unwrap();
    assert!(next.ticket > out.iter().map(|it| it.ticket).max().unwrap());
    (0..20).for_each(|_| assert!(step(&mut ledger)));
    let (state, queries) = (ledger.session().snapshot().unwrap(), ledger.queries());
    ledger.close().unwrap();
    // It is made anew once.
    let mut ledger = Ledger::open(&path).unwrap();
    assert_eq!(ledger.made_anew(), None);
    assert_eq!(ledger.queries(), queries);
    assert!(ledger.session().snapshot().unwrap() == state, "it is not the session that it was");
    run(&mut ledger);
    assert_eq!(ledger.queries(), 200);
    assert!(ledger.session().point().iter().all(|x| x.abs() < 3.0));
    ledger.close().unwrap();
    assert!(Reader::open(&path).unwrap().verify().unwrap().is_sound());
    assert!(!bits(Reader::open(&path).unwrap().session().unwrap().point()).is_empty());
}

/// As if another version had asked the tenth question of the next user: a sound record that this one would not have made. It is made
/// of the events of the ledger itself, by the same rules that the documentation of the file has.
fn reseal_with_another_question(path: &Path) {
    use blake3::Hasher;
    let connection = Connection::open(path).unwrap();
    connection.execute_batch("DELETE FROM snapshots").unwrap();
    let sql = "SELECT ticket FROM questions ORDER BY ticket LIMIT 1 OFFSET 10";
    let ticket: i64 = connection.query_row(sql, [], |row| row.get(0)).unwrap();
    for table in ["questions", "answers", "events"] {
        let sql = format!("UPDATE {table} SET user = (user + 1) % {USERS} WHERE ticket = ?");
        connection.execute(&sql, [ticket]).unwrap();
    }
    let part = |hash: &mut Hasher, bytes: &[u8]| {
        hash.update(&(bytes.len() as u64).to_le_bytes());
        hash.update(bytes);
    };
    let optional = |hash: &mut Hasher, bytes: Option<Vec<u8>>| match bytes {
        Some(bytes) => {
            hash.update(&[1]);
            part(hash, &bytes);
        }
        None => drop(hash.update(&[0])),
    };
    type Texts = (i64, i64, String, Option<i64>, Option<i64>, Option<String>, Option<f64>, Option<i64>);
    let mut query = connection
        .prepare("SELECT seq, at, kind, ticket, user, words, cost, numbers FROM events ORDER BY seq")
        .unwrap();
    let row = |row: &rusqlite::Row<'_>| -> rusqlite::Result<Texts> {
        Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?, row.get(6)?, row.get(7)?))
    };
    let events: Vec<Texts> = query.query_map([], row).unwrap().collect::<Result<_, _>>().unwrap();
    let first: String =
        connection.query_row("SELECT value FROM ledger WHERE name = 'seal'", [], |row| row.get(0)).unwrap();
    let mut seal: Vec<u8> =
        (0..first.len()).step_by(2).map(|at| u8::from_str_radix(&first[at..at + 2], 16).unwrap()).collect();
    for (seq, at, kind, ticket, user, words, cost, numbers) in events {
        let mut sum = None;
        if let "asked" | "answered" | "late" = kind.as_str() {
            let mut hash = Hasher::new();
            [seq, ticket.unwrap(), user.unwrap()].iter().for_each(|it| part(&mut hash, &it.to_le_bytes()));
            let table = if kind == "asked" {
                let sql = "SELECT why, wants, point FROM questions WHERE seq = ?";
                let (why, wants, point): (String, String, Vec<u8>) =
                    connection.query_row(sql, [seq], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).unwrap();
                [why.as_bytes(), wants.as_bytes(), &point].iter().for_each(|it| part(&mut hash, it));
                "questions"
            } else {
                // Nothing but a gradient: no loss, weight, cost; no Hessian, variance, privacy.
                let sql = "SELECT gradient FROM answers WHERE seq = ?";
                let gradient: Vec<u8> = connection.query_row(sql, [seq], |row| row.get(0)).unwrap();
                part(&mut hash, &gradient);
                (0..3).for_each(|_| optional(&mut hash, None));
                (0..3).for_each(|_| part(&mut hash, &[]));
                "answers"
            };
            let own = hash.finalize().as_bytes().to_vec();
            connection.execute(&format!("UPDATE {table} SET checksum = ? WHERE seq = ?"), (&own, seq)).unwrap();
            sum = Some(own);
        }
        let mut hash = Hasher::new();
        part(&mut hash, &seal);
        part(&mut hash, &seq.to_le_bytes());
        part(&mut hash, &at.to_le_bytes());
        part(&mut hash, kind.as_bytes());
        optional(&mut hash, ticket.map(|it| it.to_le_bytes().to_vec()));
        optional(&mut hash, user.map(|it| it.to_le_bytes().to_vec()));
        optional(&mut hash, words.map(String::into_bytes));
        optional(&mut hash, cost.map(|it| it.to_le_bytes().to_vec()));
        optional(&mut hash, numbers.map(|it| it.to_le_bytes().to_vec()));
        optional(&mut hash, sum);
        seal = hash.finalize().as_bytes().to_vec();
        connection.execute("UPDATE events SET seal = ? WHERE seq = ?", (&seal, seq)).unwrap();
    }
}

fn change(path: &Path, sql: &str) -> usize {
    let connection = Connection::open(path).unwrap();
    match sql.starts_with("PRAGMA") {
        true => connection.execute_batch(sql).map(|()| 0).unwrap(),
        false => connection.execute(sql, []).unwrap(),
    }
}
