//! Answers that come before their turn: on the disk at once, and used when their turn has come.

use std::fs;

use sgq::{method, session::Failure};
use sgq_ledger::{
    Kind, Ledger, LedgerError, Policy, Protection, Reader, Rejected, Reply, Told, User, Watcher,
    process::{Ended, Options, run},
    recover,
};

use crate::clinics::{self, USERS, answer, bits, events, file, plan, quick_folder};

const OPEN: usize = 3;

/// Tells the answers in the order of the questions, though they come in another one, and may die after each.
fn out_of_turn(path: &std::path::Path, dies: bool) -> Vec<u64> {
    let mut ledger = Ledger::create(path, &plan(method::frugal(), OPEN, 60)).unwrap();
    loop {
        ledger.ask_many(OPEN).unwrap();
        let out = ledger.pending();
        let Some(first) = out.first() else { break };
        for question in out.iter().skip(1).rev().filter(|question| !ledger.is_held(question.ticket)).collect::<Vec<_>>()
        {
            assert_eq!(ledger.hold(question.ticket, &answer(question), Some(question.user)).unwrap(), Told::Held);
        }
        if dies {
            let before = ledger.session().snapshot().unwrap();
            ledger.close().unwrap();
            ledger = Ledger::open(path).unwrap();
            assert_eq!(ledger.session().snapshot().unwrap(), before);
            assert!(out.iter().skip(1).all(|question| ledger.is_held(question.ticket)));
        }
        let told = if ledger.is_held(first.ticket) {
            ledger.tell_held(first.ticket)
        } else {
            ledger.tell(first.ticket, &answer(first))
        };
        assert_eq!(told.unwrap(), Told::Taken);
    }
    let point = bits(ledger.session().point());
    ledger.close().unwrap();
    point
}

#[test]
fn they_change_nothing_but_when_they_are_on_the_disk() {
    let folder = quick_folder();
    let (in_turn, whole, pieces) = (file(&folder, "in turn"), file(&folder, "whole"), file(&folder, "pieces"));
    let mut ledger = Ledger::create(&in_turn, &plan(method::frugal(), OPEN, 60)).unwrap();
    clinics::run(&mut ledger);
    let point = bits(ledger.session().point());
    drop(ledger);
    assert_eq!(out_of_turn(&whole, false), point);
    assert_eq!(out_of_turn(&pieces, true), point);
    let told = |path| -> Vec<_> { events(path).into_iter().filter(|event| event.0 == "answered").collect() };
    assert_eq!(told(&in_turn), told(&pieces));
    let account = |path| Reader::open(path).unwrap().status().unwrap().users.into_iter().map(|it| it.account).collect();
    let accounts: [Vec<_>; 2] = [account(&in_turn), account(&pieces)];
    assert_eq!(accounts[0], accounts[1]);
    for path in [&whole, &pieces] {
        let reader = Reader::open(path).unwrap();
        let verdict = reader.verify().unwrap();
        assert!(verdict.is_sound() && verdict.replays && verdict.answers == 60, "{verdict:?}");
        // An answer is one row, whichever event speaks of it.
        let mut rows = (0, 0);
        reader
            .history(|event| {
                if event.kind == Kind::Answered {
                    assert!(reader.answer(&event)?.is_some());
                    rows.0 += usize::from(event.about.is_some());
                }
                rows.1 += usize::from(event.kind == Kind::Held);
                Ok(())
            })
            .unwrap();
        assert!(rows.0 == rows.1 && rows.0 > 30, "{rows:?}");
        // All of it comes through a recovery.
        let saved = path.with_extension("saved");
        assert_eq!(recover(path, &saved).unwrap().answers, 60);
        assert!(Reader::open(&saved).unwrap().verify().unwrap().is_sound());
    }
}

#[test]
fn they_are_looked_at_when_they_come_and_when_they_are_told() {
    let folder = quick_folder();
    let path = file(&folder, "study.sgq");
    let mut plan = plan(method::frugal(), OPEN, 60);
    plan.users = (0..USERS)
        .map(|user| {
            let mut it = User::named(format!("clinic-{user}"));
            it.smoothness = Some(3.0);
            it
        })
        .collect();
    let mut protection = Protection::default();
    protection.length = Policy::Refuse;
    let mut ledger = Ledger::create(&path, &plan.protected(protection)).unwrap();
    let out = ledger.ask_many(OPEN).unwrap();
    let rejected = |told: Result<Told, LedgerError>| match told {
        Err(LedgerError::Rejected(why)) => why,
        other => panic!("{other:?}"),
    };
    // What cannot be right, or is somebody else's, is refused at once.
    let wrong = Reply::new(vec![f64::NAN; 3]);
    assert!(matches!(rejected(ledger.hold(out[1].ticket, &wrong, None)), Rejected::Answer(_)));
    let other = Some(out[0].user);
    assert!(matches!(rejected(ledger.hold(out[1].ticket, &answer(&out[1]), other)), Rejected::OtherUser { .. }));
    assert!(matches!(rejected(ledger.hold(99, &answer(&out[1]), None)), Rejected::UnknownTicket { .. }));
    assert!(matches!(ledger.tell_held(out[1].ticket), Err(LedgerError::UnknownTicket { .. })));
    // Held once; another answer does not take its place.
    assert_eq!(ledger.hold(out[1].ticket, &answer(&out[1]), None).unwrap(), Told::Held);
    assert_eq!(ledger.hold(out[1].ticket, &answer(&out[1]), None).unwrap(), Told::Known);
    let another = Reply::new(vec![1.0; 3]);
    assert!(matches!(rejected(ledger.hold(out[1].ticket, &another, None)), Rejected::Earlier(_)));
    assert!(matches!(rejected(ledger.tell(out[1].ticket, &another)), Rejected::Earlier(_)));
    // One that is far out of line by the time of its turn is refused then, and its question is open.
    let far = Reply::new(vec![1e12; 3]);
    ledger.hold(out[2].ticket, &far, None).unwrap();
    ledger.tell(out[0].ticket, &answer(&out[0])).unwrap();
    assert!(matches!(rejected(ledger.tell_held(out[2].ticket)), Rejected::OutOfLine(_)));
    drop(ledger);
    let mut ledger = Ledger::open(&path).unwrap();
    assert_eq!(ledger.held().collect::<Vec<_>>(), [out[1].ticket]);
    // Its question fails meanwhile: the answer that is there comes late.
    ledger.fail(out[1].ticket, Failure::new().because("a slip")).unwrap();
    assert_eq!(ledger.tell_held(out[1].ticket).unwrap(), Told::Late);
    ledger.tell(out[2].ticket, &answer(&out[2])).unwrap();
    assert_eq!((ledger.queries(), ledger.held().count()), (3, 0));
    drop(ledger);
    let verdict = Reader::open(&path).unwrap().verify().unwrap();
    assert!(verdict.is_sound() && verdict.replays && verdict.answers == 3, "{verdict:?}");
    // Refused answers are not saved as if they had been taken.
    let saved = file(&folder, "saved.sgq");
    assert_eq!(recover(&path, &saved).unwrap().answers, 3);
    assert!(Reader::open(&saved).unwrap().verify().unwrap().is_sound());
}

/// Interrupts, without patience, once two answers wait for the first one.
struct Impatient(bool);

impl Watcher for Impatient {
    fn moved(&mut self, ledger: &Ledger) {
        self.0 |= ledger.held().count() == 2;
    }

    fn is_interrupted(&self) -> bool {
        self.0
    }

    fn is_impatient(&self) -> bool {
        self.0
    }
}

/// A run in order that ends while answers wait for their turn does not ask for these again.
#[test]
fn nobody_is_asked_again_for_what_waits() {
    let folder = tempfile::tempdir().unwrap();
    let clinic = file(&folder, "clinic.py");
    let log = format!(
        "    open({:?}, \"a\").write(f\"{{question['ticket']}}\\n\")\n    while question['ticket'] == 0 and not \
         os.path.exists({:?}):\n        time.sleep(0.01)\n",
        file(&folder, "received"),
        file(&folder, "go")
    );
    let program = crate::users::CLINIC
        .replace("import json, sys", "import json, os, sys, time")
        .replace("    user = int", &format!("{log}    user = int"));
    fs::write(&clinic, program).unwrap();
    let mut options = Options::new(format!("python3 -S {}", clinic.display()).parse().unwrap());
    (options.in_order, options.each) = (true, true);
    let path = file(&folder, "study.sgq");
    let mut ledger = Ledger::create(&path, &plan(method::frugal(), OPEN, 30)).unwrap();
    assert_eq!(run(&mut ledger, &options, &mut Impatient(false)).unwrap(), Ended::Interrupted);
    drop(ledger);
    let mut ledger = Ledger::open(&path).unwrap();
    assert_eq!((ledger.queries(), ledger.held().count()), (0, 2));
    fs::write(file(&folder, "go"), "").unwrap();
    run(&mut ledger, &options, &mut ()).unwrap();
    assert_eq!(ledger.queries(), 30);
    let point = bits(ledger.session().point());
    drop(ledger);
    let received = fs::read_to_string(file(&folder, "received")).unwrap();
    let times = |ticket: &str| received.lines().filter(|line| *line == ticket).count();
    assert_eq!([times("0"), times("1"), times("2")], [2, 1, 1], "{received}");
    let mut ledger = Ledger::create(file(&folder, "in turn"), &plan(method::frugal(), OPEN, 30)).unwrap();
    clinics::run(&mut ledger);
    assert_eq!(bits(ledger.session().point()), point);
}

/// One wrong byte of an answer that had waited for its turn costs that answer, and nothing else.
#[test]
fn a_damaged_one_is_all_that_is_lost() {
    let folder = quick_folder();
    let path = file(&folder, "study.sgq");
    out_of_turn(&path, false);
    let reader = Reader::open(&path).unwrap();
    let mut held = Vec::new();
    reader
        .history(|event| {
            if event.kind == Kind::Held {
                held.push(reader.answer(&event)?.unwrap().1.gradient);
            }
            Ok(())
        })
        .unwrap();
    drop(reader);
    let whole = fs::read(&path).unwrap();
    for (number, gradient) in held.iter().enumerate() {
        let mut bytes = whole.clone();
        let numbers: Vec<u8> = gradient.iter().flat_map(|it| it.to_le_bytes()).collect();
        // Also where the same bytes stand in a page that is out of use.
        let places: Vec<usize> =
            (0..bytes.len() - numbers.len()).filter(|at| bytes[*at..].starts_with(&numbers)).collect();
        places.iter().for_each(|at| bytes[at + 2] ^= 0x10);
        let (copy, saved) = (file(&folder, &format!("copy-{number}")), file(&folder, &format!("saved-{number}")));
        fs::write(&copy, bytes).unwrap();
        fs::copy(path.with_extension("sgq-lock"), copy.with_extension("-lock")).ok();
        let recovered = recover(&copy, &saved).unwrap();
        assert_eq!((recovered.answers, recovered.lost_answers.len()), (59, 1), "{places:?}");
        let reader = Reader::open(&saved).unwrap();
        assert!(reader.verify().unwrap().is_sound());
        let status = reader.status().unwrap();
        assert_eq!(status.queries, 59);
    }
    assert!(held.len() > 15, "{}", held.len());
}

/// A run that ended while answers waited for a question that never comes goes on: that question fails, and they are used.
#[test]
fn what_waits_shows_that_the_program_works() {
    let folder = tempfile::tempdir().unwrap();
    let clinic = file(&folder, "clinic.py");
    let program = crate::users::CLINIC
        .replace("    user = int", "    if question['ticket'] == 0:\n        print(json.dumps({'ticket': 0, 'error': 'no'}), flush=True)\n        continue\n    user = int");
    fs::write(&clinic, program).unwrap();
    let mut options = Options::new(format!("python3 -S {}", clinic.display()).parse().unwrap());
    (options.in_order, options.wait) = (true, std::time::Duration::from_millis(10));
    let path = file(&folder, "study.sgq");
    let mut ledger = Ledger::create(&path, &plan(method::frugal(), OPEN, 20)).unwrap();
    let out = ledger.ask_many(OPEN).unwrap();
    for question in &out[1..] {
        ledger.hold(question.ticket, &answer(question), None).unwrap();
    }
    let ended = run(&mut ledger, &options, &mut ()).unwrap();
    assert!(matches!(ended, Ended::Stopped(_)), "{ended:?}");
    assert_eq!((ledger.queries(), ledger.held().count()), (20, 0));
}

/// Whoever says the same again and again, while its answer waits, is ended like anybody who floods.
#[test]
fn an_echo_is_ended() {
    let folder = tempfile::tempdir().unwrap();
    let clinic = file(&folder, "clinic.py");
    let program = crate::users::CLINIC.replace("import json, sys", "import json, sys, time").replace(
        "    print(",
        "    time.sleep(0.5 if question['ticket'] == 0 else 0)\n    for _ in range(1 if question['ticket'] == 0 else 5000):\n        print(",
    );
    fs::write(&clinic, program).unwrap();
    let mut options = Options::new(format!("python3 -S {}", clinic.display()).parse().unwrap());
    (options.in_order, options.each, options.wrong_lines) = (true, true, 50);
    options.wait = std::time::Duration::from_millis(10);
    let path = file(&folder, "study.sgq");
    let mut ledger = Ledger::create(&path, &plan(method::frugal(), OPEN, 4)).unwrap();
    run(&mut ledger, &options, &mut ()).unwrap();
    assert_eq!(ledger.queries(), 4);
    drop(ledger);
    let noted =
        events(&path).into_iter().filter(|event| event.3.as_deref() == Some("the same answer came again")).count();
    assert!(noted > 40 && noted < 4000, "{noted}");
}
