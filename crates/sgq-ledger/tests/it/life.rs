//! From the first question to the last, with and without interruptions.

use sgq::{Session, method, session::Failure};
use sgq_ledger::{Extension, Kind, Ledger, LedgerError, Reader, Rejected, Reply, Told};

use crate::clinics::{DIM, USERS, answer, bits, events, file, gradient, plan, quick_folder, run, step};

/// The same questions and the same point as a session in memory.
#[test]
fn a_ledger_is_a_session() {
    let folder = quick_folder();
    for method in [method::frugal(), method::sgq(0.3), method::saga(), method::shuffled_sgd(), method::svrg(10)] {
        let plan = plan(method.clone(), 1, 60);
        let mut session = Session::new(method, plan.settings.clone().smoothness(vec![3.0; USERS])).unwrap();
        let mut smooth = plan.clone();
        smooth.users.iter_mut().for_each(|user| user.smoothness = Some(3.0));
        let path = file(&folder, session.name());
        let mut ledger = Ledger::create(&path, &smooth).unwrap();
        while let Some(query) = session.ask().unwrap() {
            let question = ledger.ask().unwrap().unwrap();
            assert_eq!((question.ticket, question.user), (query.ticket.0, query.user));
            assert_eq!(bits(&question.point), bits(&query.point));
            session.tell(query.ticket, &gradient(query.user, &query.point)).unwrap();
            assert_eq!(ledger.tell(question.ticket, &answer(&question)).unwrap(), Told::Taken);
        }
        assert_eq!(ledger.ask().unwrap(), None);
        assert_eq!(ledger.queries(), 60);
        assert_eq!(bits(ledger.session().point()), bits(session.point()));
        drop(ledger);
        let verdict = Reader::open(&path).unwrap().verify().unwrap();
        assert!(verdict.is_sound() && verdict.replays, "{verdict:?}");
        assert_eq!(verdict.answers, 60);
    }
}

/// However often it is closed, with several questions out: the same events and the same point, to the bit.
#[test]
fn interruptions_change_nothing() {
    let folder = quick_folder();
    for (name, method) in [("frugal", method::frugal()), ("saga", method::saga()), ("sgq", method::shuffled_sgd())] {
        let plan = plan(method, 3, 90);
        let (whole, pieces) = (file(&folder, &format!("{name}-whole")), file(&folder, &format!("{name}-pieces")));
        let mut ledger = Ledger::create(&whole, &plan).unwrap();
        run(&mut ledger);
        let point = bits(ledger.session().point());
        drop(ledger);
        let mut ledger = Ledger::create(&pieces, &plan).unwrap();
        for stop in 1.. {
            if !step(&mut ledger) {
                break;
            }
            if stop % 4 == 0 {
                ledger.close().unwrap();
                ledger = Ledger::open(&pieces).unwrap();
                assert_eq!(ledger.made_anew(), None);
            }
        }
        assert_eq!(bits(ledger.session().point()), point);
        drop(ledger);
        let without_waits = |path| -> Vec<_> { events(path).into_iter().filter(|event| event.0 != "waited").collect() };
        assert_eq!(without_waits(&whole), without_waits(&pieces));
    }
}

/// Everything that can happen to a session happens, and survives.
#[test]
fn every_event_survives() {
    let folder = quick_folder();
    let path = file(&folder, "study.sgq");
    let mut ledger = Ledger::create(&path, &plan(method::frugal(), 2, 20)).unwrap();
    let reopened = |ledger: Ledger| {
        let before = ledger.session().snapshot().unwrap();
        ledger.close().unwrap();
        let ledger = Ledger::open(&path).unwrap();
        assert_eq!(ledger.session().snapshot().unwrap(), before);
        ledger
    };
    let out = ledger.ask_many(5).unwrap();
    assert_eq!(out.len(), 2);
    ledger.fail(out[0].ticket, Failure::new().because("no power").billed()).unwrap();
    ledger = reopened(ledger);
    let another = ledger.ask().unwrap().unwrap();
    ledger.away(another.user, Some("holidays")).unwrap();
    ledger.tell(out[1].ticket, &answer(&out[1])).unwrap();
    ledger = reopened(ledger);
    // It comes after all; it was paid for when it failed.
    assert_eq!(ledger.tell(out[0].ticket, &answer(&out[0])).unwrap(), Told::Late);
    assert_eq!(ledger.queries(), 2);
    ledger = reopened(ledger);
    ledger.back(another.user, None).unwrap();
    ledger.leave(6, Some("closed")).unwrap();
    ledger.join(6, None).unwrap();
    ledger = reopened(ledger);
    run(&mut ledger);
    assert_eq!(ledger.queries(), 20);
    ledger.extend(Extension { queries: Some(5), ..Extension::default() }).unwrap();
    ledger = reopened(ledger);
    run(&mut ledger);
    assert_eq!(ledger.queries(), 25);
    ledger = reopened(ledger);
    drop(ledger);
    let words: Vec<_> = events(&path).into_iter().filter_map(|event| event.3).collect();
    assert!(words.iter().any(|it| it == "no power") && words.iter().any(|it| it == "holidays"));
    assert!(Reader::open(&path).unwrap().verify().unwrap().is_sound());
}

/// What cannot be right is refused with a row of its own, and its question stays open.
#[test]
fn wrong_answers_leave_a_row_and_nothing_else() {
    let folder = quick_folder();
    let path = file(&folder, "study.sgq");
    let mut ledger = Ledger::create(&path, &plan(method::frugal(), 1, 20)).unwrap();
    let question = ledger.ask().unwrap().unwrap();
    let before = ledger.session().snapshot().unwrap();
    let wrong = [
        Reply::new(vec![1.0; DIM + 1]),
        Reply::new(vec![f64::NAN; DIM]),
        Reply::new(vec![1e300; DIM]),
        Reply::new(Vec::new()),
    ];
    for reply in &wrong {
        let error = ledger.tell(question.ticket, reply).unwrap_err();
        assert!(matches!(error, LedgerError::Rejected(_)), "{error}");
    }
    let other = (question.user + 1) % USERS;
    let error = ledger.tell_from(question.ticket, &answer(&question), Some(other), false).unwrap_err();
    assert!(matches!(error, LedgerError::Rejected(Rejected::OtherUser { .. })), "{error}");
    for ticket in [99, u64::MAX] {
        let error = ledger.tell(ticket, &answer(&question)).unwrap_err();
        assert!(matches!(error, LedgerError::Rejected(Rejected::UnknownTicket { .. })), "{error}");
    }
    assert_eq!(ledger.session().snapshot().unwrap(), before);
    assert_eq!(ledger.pending(), std::slice::from_ref(&question));
    assert_eq!(ledger.tell(question.ticket, &answer(&question)).unwrap(), Told::Taken);
    assert_eq!(ledger.tell(question.ticket, &answer(&question)).unwrap(), Told::Known);
    assert!(ledger.tell(question.ticket, &Reply::new(vec![0.0; DIM])).is_err());
    assert_eq!(ledger.queries(), 1);
    drop(ledger);
    let count = |kind: Kind| events(&path).iter().filter(|event| event.0 == kind.word()).count();
    assert_eq!((count(Kind::Refused), count(Kind::Answered), count(Kind::Noted)), (8, 1, 1));
    let ledger = Ledger::open(&path).unwrap();
    assert_eq!(ledger.queries(), 1);
}

/// What happens together is written together, and is the same as one by one.
#[test]
fn a_group_is_one_write() {
    let folder = quick_folder();
    let (one, many) = (file(&folder, "one"), file(&folder, "many"));
    let plan = plan(method::frugal(), 3, 60);
    let mut ledger = Ledger::create(&one, &plan).unwrap();
    run(&mut ledger);
    let point = bits(ledger.session().point());
    drop(ledger);
    let mut ledger = Ledger::create(&many, &plan).unwrap();
    while ledger.group(|ledger| Ok((0..3).all(|_| step(ledger)))).unwrap() {}
    assert_eq!(bits(ledger.session().point()), point);
    drop(ledger);
    assert_eq!(events(&one), events(&many));
    // A refused answer does not undo the others of its group.
    let path = file(&folder, "refused");
    let mut ledger = Ledger::create(&path, &plan).unwrap();
    let out = ledger.ask_many(2).unwrap();
    let result = ledger.group(|ledger| {
        ledger.tell(out[0].ticket, &answer(&out[0]))?;
        ledger.tell(out[1].ticket, &Reply::new(vec![f64::NAN; DIM]))
    });
    assert!(matches!(result, Err(LedgerError::Rejected(_))));
    assert_eq!(ledger.queries(), 1);
    drop(ledger);
    assert_eq!(Ledger::open(&path).unwrap().queries(), 1);
}

/// A record can be read while somebody writes, and says where the run is.
#[test]
fn it_is_read_while_it_is_written() {
    let folder = quick_folder();
    let path = file(&folder, "study.sgq");
    let mut ledger = Ledger::create(&path, &plan(method::frugal(), 2, 30)).unwrap();
    for answers in 1..=10 {
        step(&mut ledger);
        let status = Reader::open(&path).unwrap().status().unwrap();
        assert_eq!((status.queries, status.pending, status.budget), (answers, 1, Some(30)));
        assert_eq!(bits(&status.point), bits(ledger.session().point()));
    }
    let error = Ledger::open(&path).unwrap_err();
    assert!(matches!(&error, LedgerError::InUse { holder, .. } if holder.process == std::process::id()), "{error}");
    drop(ledger);
    Ledger::open(&path).unwrap();
}
