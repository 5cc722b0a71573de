//! Lines as users send them.

use sgq::method;
use sgq_ledger::{Heard, Ledger, LedgerError, Question, Taking, Told};

use crate::clinics::{answer, events, file, plan, quick_folder};

/// An answer to a question, as its user sends it.
fn line(question: &Question, user: &str) -> String {
    let gradient = answer(question).gradient;
    format!("{{\"ticket\": {}, \"user\": {user:?}, \"gradient\": {gradient:?}}}", question.ticket)
}

#[test]
fn a_line_is_an_answer_or_says_why_there_is_none() {
    let folder = quick_folder();
    let path = file(&folder, "lines");
    let mut ledger = Ledger::create(&path, &plan(method::frugal(), 2, 20)).unwrap();
    let [first, second] = &ledger.ask_many(2).unwrap()[..] else { panic!("two may be out") };
    let error = format!("{{\"ticket\": {}, \"error\": \"it rains\"}}", first.ticket);
    let said = ledger.tell_line(&error, Some(first.user), Taking::Checked).unwrap();
    assert_eq!(said, Heard::Error("it rains".to_owned()));
    assert_eq!(ledger.pending().len(), 2);
    let told = |told| Heard::Told(told);
    // The second waits for its turn, and an error does not make anybody forget it.
    let answered = line(second, &second.name);
    assert_eq!(ledger.tell_line(&answered, None, Taking::Held).unwrap(), told(Told::Held));
    let error = format!("{{\"ticket\": {}, \"error\": \"it rains\"}}", second.ticket);
    assert!(matches!(ledger.tell_line(&error, None, Taking::Checked), Err(LedgerError::Rejected(_))));
    assert_eq!(ledger.queries(), 0);
    let answered = line(first, &first.name);
    assert_eq!(ledger.tell_line(&answered, Some(first.user), Taking::Checked).unwrap(), told(Told::Taken));
    assert_eq!(ledger.tell_line(&answered, Some(first.user), Taking::Checked).unwrap(), told(Told::Known));
    ledger.tell_held(second.ticket).unwrap();
    assert_eq!(ledger.queries(), 2);
    ledger.close().unwrap();
    let (_, _, user, words) = events(&path).into_iter().find(|(kind, ..)| kind == "noted").unwrap();
    assert_eq!(words, Some(format!("question {}: it said: it rains", first.ticket)));
    assert_eq!(user, Some(first.user));
}

#[test]
fn whoever_sends_a_line_speaks_for_itself_alone() {
    let folder = quick_folder();
    let path = file(&folder, "lines");
    let mut ledger = Ledger::create(&path, &plan(method::frugal(), 1, 20)).unwrap();
    let question = ledger.ask().unwrap().unwrap();
    let other = (question.user + 1) % ledger.users().len();
    let other_name = ledger.users()[other].name.clone();
    let nameless = format!("{{\"ticket\": {}, \"gradient\": [0.0]}}", question.ticket);
    let foreign = format!("{{\"ticket\": {}, \"error\": \"it rains\"}}", question.ticket);
    for (sent, sender, why) in [
        (line(&question, &question.name), Some(other), "it is in the name of"),
        (line(&question, &other_name), Some(question.user), "it is in the name of"),
        (line(&question, &other_name), None, "and not for"),
        (line(&question, "nobody"), None, "the user \"nobody\" is not in the ledger"),
        (nameless, Some(other), "and not for"),
        (foreign, Some(other), "which is not out to it"),
        ("{\"gradient\": [0.0]}".to_owned(), Some(question.user), "it has no \"ticket\""),
        ("half of a li".to_owned(), Some(question.user), "it is not JSON"),
    ] {
        let error = ledger.tell_line(&sent, sender, Taking::Accepted).unwrap_err();
        assert!(matches!(error, LedgerError::Rejected(_)), "{sent}: {error}");
        assert!(error.to_string().contains(why), "{sent}: {error}");
    }
    assert_eq!((ledger.queries(), ledger.pending().len()), (0, 1));
    ledger.close().unwrap();
    let refused = events(&path).into_iter().filter(|(kind, ..)| kind == "refused");
    let users: Vec<_> = refused.map(|(_, _, user, _)| user).collect();
    // It is written down of whoever has sent it, where that is known.
    assert_eq!(users.len(), 8);
    assert_eq!((users[0], users[7]), (Some(other), Some(question.user)));
}
