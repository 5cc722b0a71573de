//! A user that sends whatever does harm, as fast as it can.

use sgq::method;
use sgq_ledger::{Kind, Ledger, LedgerError, Question, Reader, Rejected, Reply, Told};

use crate::clinics::{DIM, USERS, answer, plan, step};

/// What comes from users, as text or from code.
enum Sent {
    Text(String),
    Reply(Reply),
}

/// Every kind of harm in turn.
fn hostile(number: usize, open: &Question, taken: &(Question, Reply)) -> (u64, usize, Sent) {
    let good = answer(open);
    let gradient = |gradient: Vec<f64>| Sent::Reply(Reply::new(gradient));
    let with = |change: &dyn Fn(&mut Reply)| {
        let mut reply = good.clone();
        change(&mut reply);
        Sent::Reply(reply)
    };
    let (ticket, user) = (open.ticket, open.user);
    let text = |text: &str| Sent::Text(text.to_owned());
    let sent = match number % 25 {
        0 => gradient(vec![f64::NAN; DIM]),
        1 => gradient(vec![1e300; DIM]),
        2 => gradient(vec![-f64::INFINITY, 0.0, 0.0]),
        3 => gradient(vec![1.0; DIM + 1]),
        4 => gradient(Vec::new()),
        5 => gradient(vec![0.0; 100_000]),
        6 => return (ticket + 1 + number as u64, user, Sent::Reply(good)),
        7 => return (u64::MAX, user, Sent::Reply(good)),
        8 => return (taken.0.ticket, taken.0.user, gradient(vec![7.0; DIM])),
        9 => return (ticket, (user + 1) % USERS, Sent::Reply(good)),
        10 => return (ticket, usize::MAX, Sent::Reply(good)),
        11 => text("I do not know"),
        12 => text("{\"gradient\": [1, 2,"),
        13 => text("{\"gradient\": [1, 2, 3], \"exec\": \"rm\"}"),
        14 => text(&"[".repeat(100_000)),
        15 => text(&"\u{0}\u{202e}'; DROP TABLE answers; --".repeat(1000)),
        16 => text("{\"gradient\": [1e999, 1, 1]}"),
        17 => with(&|it| it.variance = Some(vec![-1.0])),
        18 => with(&|it| it.hessian = Some(vec![1.0; 5])),
        19 => with(&|it| it.weight = Some(-1.0)),
        20 => with(&|it| it.weight = Some(1e140)),
        21 => with(&|it| it.cost = Some(f64::NAN)),
        22 => with(&|it| it.loss = Some(1e300)),
        23 => gradient(vec![1e60; DIM]),
        // The same answer again is no harm, and not counted twice.
        _ => return (taken.0.ticket, taken.0.user, Sent::Reply(taken.1.clone())),
    };
    (ticket, user, sent)
}

/// So many hostile answers while questions are out; then the run goes on. Each leaves a row, and nothing else.
pub fn flood(path: &std::path::Path, count: usize, mut look: impl FnMut(usize)) {
    let mut ledger = Ledger::create(path, &plan(method::frugal(), 2, 60)).unwrap();
    let question = ledger.ask().unwrap().unwrap();
    let taken = (question.clone(), answer(&question));
    ledger.tell(question.ticket, &taken.1).unwrap();
    (0..12).for_each(|_| assert!(step(&mut ledger)));
    ledger.ask_many(2).unwrap();
    let (before, out) = (ledger.session().snapshot().unwrap(), ledger.pending());
    assert_eq!(out.len(), 2);
    const TOGETHER: usize = 100;
    for start in (0..count).step_by(TOGETHER) {
        ledger
            .group(|ledger| {
                for number in start..count.min(start + TOGETHER) {
                    let (ticket, user, sent) = hostile(number, &out[number / 25 % 2], &taken);
                    let told = match sent {
                        Sent::Reply(reply) => ledger.tell_from(ticket, &reply, Some(user), false),
                        Sent::Text(text) => match Reply::from_json(&text) {
                            Ok(reply) => ledger.tell_from(ticket, &reply, Some(user), false),
                            Err(why) => {
                                let rejected = Rejected::Unreadable(why);
                                ledger.refuse(Some(ticket), Some(user), &rejected, &text)?;
                                Err(rejected.into())
                            }
                        },
                    };
                    match told {
                        Ok(Told::Known) | Err(LedgerError::Rejected(_)) => {}
                        told => panic!("{number}: {told:?}"),
                    }
                }
                Ok(())
            })
            .unwrap();
        look(start);
    }
    assert!(ledger.session().snapshot().unwrap() == before, "the session has changed");
    assert_eq!(ledger.pending(), out);
    ledger.close().unwrap();
    let mut rows = 0;
    let each = |event: sgq_ledger::Event| {
        rows += usize::from(matches!(event.kind, Kind::Refused | Kind::Noted));
        assert!(event.words.is_none_or(|words| words.chars().count() < 1000), "a row holds too much");
        Ok(())
    };
    Reader::open(path).unwrap().history(each).unwrap();
    assert_eq!(rows, count);
    let mut ledger = Ledger::open(path).unwrap();
    assert!(ledger.session().snapshot().unwrap() == before, "the session has changed");
    while step(&mut ledger) {}
    assert_eq!(ledger.queries(), 60);
    ledger.close().unwrap();
    let verdict = Reader::open(path).unwrap().verify().unwrap();
    assert!(verdict.is_sound() && verdict.replays, "{verdict:?}");
}
