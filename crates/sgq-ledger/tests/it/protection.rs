//! What one user can do to a run, and a run to its users.

use sgq::{Session, StopReason, method};
use sgq_ledger::{
    Absence, Kind, Ledger, LedgerError, Plan, Policy, Privacy, Protection, Question, Reader, Rejected, Reply, Told,
};

use crate::clinics::{DIM, USERS, answer, bits, events, file, plan, quick_folder, run};

/// Gradients change by at most this over a way of 1: see `clinics::gradient`.
const SMOOTHNESS: f64 = 2.5;

fn protected(open: usize, change: impl Fn(&mut Protection)) -> Plan {
    let mut plan = plan(method::frugal(), open, 60);
    plan.users.iter_mut().for_each(|user| user.smoothness = Some(SMOOTHNESS));
    let mut protection = Protection::default();
    change(&mut protection);
    plan.protected(protection)
}

/// The next question to somebody who has answered before.
fn asked_again(ledger: &mut Ledger) -> Question {
    loop {
        let question = ledger.ask().unwrap().unwrap();
        if ledger.accounts()[question.user].answers > 0 {
            return question;
        }
        ledger.tell(question.ticket, &answer(&question)).unwrap();
    }
}

/// An answer that is off by so much.
fn off(question: &Question, by: f64) -> Reply {
    let mut reply = answer(question);
    reply.gradient[0] += by;
    reply
}

/// How far the user has moved since its last answer, times `L_i`.
fn allowed(path: &std::path::Path, question: &Question) -> (f64, Vec<f64>) {
    let reader = Reader::open(path).unwrap();
    let mut last = None;
    let each = |event: sgq_ledger::Event| {
        if event.user == Some(question.user) {
            last = reader.answer(&event)?.or(last.take());
        }
        Ok(())
    };
    reader.history(each).unwrap();
    let (point, reply) = last.unwrap();
    let way = question.point.iter().zip(&point).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
    (SMOOTHNESS * way, reply.gradient)
}

#[test]
fn honest_answers_are_never_odd() {
    let folder = quick_folder();
    let path = file(&folder, "study.sgq");
    let plan = protected(3, |it| (it.smoothness, it.smoothness_slack) = (Policy::Refuse, 0.0));
    run(&mut Ledger::create(&path, &plan).unwrap());
    assert!(events(&path).iter().all(|event| event.0 != "flagged" && event.0 != "refused"));
}

/// `‖g − g_i‖ ≤ L_i ‖x − x_i‖`, to the last percent.
#[test]
fn what_breaks_smoothness_is_refused_or_flagged() {
    let folder = quick_folder();
    for policy in [Policy::Refuse, Policy::Flag, Policy::Ignore] {
        let path = file(&folder, &format!("{policy:?}"));
        let mut ledger =
            Ledger::create(&path, &protected(1, |it| (it.smoothness, it.unexpected) = (policy, Policy::Ignore)))
                .unwrap();
        let question = asked_again(&mut ledger);
        let (most, last) = allowed(&path, &question);
        // Along the first coordinate, just within and just without.
        let at = |part: f64| {
            let mut gradient = last.clone();
            gradient[0] += part * most;
            Reply::new(gradient)
        };
        let before = ledger.session().snapshot().unwrap();
        match policy {
            Policy::Refuse => {
                let error = ledger.tell(question.ticket, &at(1.02)).unwrap_err();
                assert!(matches!(error, LedgerError::Rejected(Rejected::OutOfLine(_))), "{error}");
                assert!(error.to_string().contains("L_i = 2.5"), "{error}");
                assert_eq!(ledger.session().snapshot().unwrap(), before);
                assert_eq!(ledger.tell(question.ticket, &at(1.005)).unwrap(), Told::Taken);
            }
            Policy::Flag => {
                let told = ledger.tell(question.ticket, &at(1.02)).unwrap();
                assert!(matches!(told, Told::Flagged(_)), "{told:?}");
            }
            Policy::Ignore => assert_eq!(ledger.tell(question.ticket, &at(50.0)).unwrap(), Told::Taken),
        }
        drop(ledger);
        let status = Reader::open(&path).unwrap().status().unwrap();
        let user = &status.users[question.user];
        let expected = match policy {
            Policy::Refuse => (1, 0),
            Policy::Flag => (0, 1),
            Policy::Ignore => (0, 0),
        };
        assert_eq!((user.refused, user.flagged), expected);
    }
}

/// An odd answer that was taken does not make the honest one after it odd; a person may have an odd one taken.
#[test]
fn one_odd_answer_is_one() {
    let folder = quick_folder();
    let path = file(&folder, "study.sgq");
    let mut ledger = Ledger::create(&path, &protected(1, |it| it.unexpected = Policy::Flag)).unwrap();
    let odd = asked_again(&mut ledger);
    assert!(matches!(ledger.tell(odd.ticket, &off(&odd, 100.0)).unwrap(), Told::Flagged(_)));
    let mut answers = 0;
    while let Some(question) = ledger.ask().unwrap() {
        assert_eq!(ledger.tell(question.ticket, &answer(&question)).unwrap(), Told::Taken);
        answers += u32::from(question.user == odd.user);
    }
    assert!(answers > 1);
    let path = file(&folder, "refused.sgq");
    let mut ledger = Ledger::create(&path, &protected(1, |it| it.smoothness = Policy::Refuse)).unwrap();
    let odd = asked_again(&mut ledger);
    let reply = off(&odd, 100.0);
    assert!(ledger.tell(odd.ticket, &reply).is_err());
    assert!(matches!(ledger.tell_from(odd.ticket, &reply, Some(odd.user), true).unwrap(), Told::Flagged(_)));
    ledger.close().unwrap();
    assert!(Reader::open(&path).unwrap().verify().unwrap().is_sound());
}

/// Noise that an answer states may be what makes it differ; that of any other size may not.
#[test]
fn stated_noise_is_allowed_for() {
    let folder = quick_folder();
    let mut ledger =
        Ledger::create(file(&folder, "study.sgq"), &protected(1, |it| it.smoothness = Policy::Refuse)).unwrap();
    let question = asked_again(&mut ledger);
    let mut reply = off(&question, 50.0);
    reply.variance = Some(vec![1.0]);
    assert!(ledger.tell(question.ticket, &reply).is_err());
    reply.variance = Some(vec![100.0]);
    assert_eq!(ledger.tell(question.ticket, &reply).unwrap(), Told::Taken);
}

/// What is a million times longer than everything that others have said is a slip of units, or worse.
#[test]
fn far_longer_than_all_others() {
    let folder = quick_folder();
    let path = file(&folder, "study.sgq");
    let mut ledger = Ledger::create(&path, &plan(method::frugal(), 1, 60)).unwrap();
    let question = asked_again(&mut ledger);
    let longest = events_longest(&path);
    let long = |times: f64| Reply::new(vec![times * longest, 0.0, 0.0]);
    let error = ledger.tell(question.ticket, &long(1.01e6)).unwrap_err();
    assert!(matches!(error, LedgerError::Rejected(Rejected::OutOfLine(_))), "{error}");
    // After it was opened again, the same.
    ledger.close().unwrap();
    let mut ledger = Ledger::open(&path).unwrap();
    assert!(ledger.tell(question.ticket, &long(1.01e6)).is_err());
    assert_eq!(ledger.tell(question.ticket, &answer(&question)).unwrap(), Told::Taken);
}

fn events_longest(path: &std::path::Path) -> f64 {
    let reader = Reader::open(path).unwrap();
    let mut longest = 0.0_f64;
    let each = |event| {
        if let Some((_, reply)) = reader.answer(&event)? {
            longest = longest.max(reply.gradient.iter().map(|it| it * it).sum::<f64>().sqrt());
        }
        Ok(())
    };
    reader.history(each).unwrap();
    longest
}

/// Nobody gives more answers than it may; when all have, the run ends. What each has disclosed is told.
#[test]
fn a_cap_on_answers() {
    let folder = quick_folder();
    let path = file(&folder, "study.sgq");
    let mut ledger = Ledger::create(&path, &protected(2, |it| it.answers_each = Some(3))).unwrap();
    run(&mut ledger);
    assert_eq!(ledger.queries(), 3 * USERS as u64);
    assert!(matches!(ledger.stop_reason(), Some(StopReason::NobodyAnswers)), "{:?}", ledger.stop_reason());
    for (user, account) in ledger.accounts().iter().enumerate() {
        assert_eq!((account.answers, account.numbers, account.bare), (3, 3 * DIM as u64, 3));
        // A mistake does not ask them past it.
        for error in [ledger_back(&path, user), ledger_join(&path, user)] {
            assert!(error.contains("clinic-") && error.contains("it has given 3 answers, and may give 3"), "{error}");
        }
    }
    ledger.close().unwrap();
    let status = Reader::open(&path).unwrap().status().unwrap();
    assert!(status.users.iter().all(|user| user.account.answers == 3 && !user.away && user.epsilon.is_none()));
    // It is not away: its limit is spent, and nobody can call it back.
    assert!(status.users.iter().all(|user| user.spent.as_deref() == Some("it has given 3 answers, and may give 3")));
    assert_eq!(status.stopped.as_deref(), Some("nobody can be asked: everybody has spent what it may disclose"));
    assert!(status.missing.len() == USERS && status.missing.iter().all(|it| it.absence == Absence::Spent));
    let verdict = Reader::open(&path).unwrap().verify().unwrap();
    assert!(verdict.is_sound() && verdict.replays);
}

/// On a copy: the ledger itself is in use.
fn ledger_back(path: &std::path::Path, user: usize) -> String {
    on_copy(path, |ledger| ledger.back(user, None))
}

fn ledger_join(path: &std::path::Path, user: usize) -> String {
    on_copy(path, |ledger| {
        ledger.leave(user, None)?;
        ledger.join(user, None)
    })
}

fn on_copy(path: &std::path::Path, change: impl Fn(&mut Ledger) -> Result<(), LedgerError>) -> String {
    let folder = quick_folder();
    let copy = file(&folder, "copy.sgq");
    std::fs::copy(path, &copy).unwrap();
    std::fs::copy(path.with_extension("sgq-wal"), copy.with_extension("sgq-wal")).unwrap();
    change(&mut Ledger::open(&copy).unwrap()).unwrap_err().to_string()
}

fn noisy(question: &Question, privacy: Privacy) -> Reply {
    let mut reply = answer(question);
    reply.variance = Some(vec![privacy.noise * privacy.noise]);
    reply.privacy = Some(privacy);
    reply
}

/// `k` answers with sensitivity over noise `s` are as one Gaussian answer with `√k·s`, whose exact curve is
/// `δ(ε) = Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ)` (Balle & Wang 2018): what the account promises holds, and one answer more would break
/// the limit.
#[test]
fn nobody_is_asked_past_the_privacy_limit() {
    let folder = quick_folder();
    let privacy = Privacy { sensitivity: 0.5, noise: 1.0 };
    for limit in [3.0, 5.0] {
        let path = file(&folder, &format!("{limit}"));
        let mut ledger = Ledger::create(&path, &protected(1, |it| it.epsilon = Some(limit))).unwrap();
        while let Some(question) = ledger.ask().unwrap() {
            ledger.tell(question.ticket, &noisy(&question, privacy)).unwrap();
            assert!(ledger.accounts()[question.user].epsilon(1e-5) <= limit);
        }
        let answers = ledger.accounts()[0].answers;
        assert!(answers >= 1 && ledger.accounts().iter().all(|account| account.answers == answers));
        let mu = |answers: u64| 0.5 * (answers as f64).sqrt();
        assert!(exact_delta(mu(answers), limit) <= 1e-5);
        // The conversion is not exact: it stops within two answers of what would be.
        assert!(exact_delta(mu(answers + 2), limit) > 1e-5, "{limit}: only {answers} answers");
        let account = ledger.accounts()[0];
        assert!((account.rho - answers as f64 * 0.125).abs() < 1e-12);
        ledger.close().unwrap();
        let reopened = Ledger::open(&path).unwrap();
        assert_eq!(reopened.accounts()[0], account);
        drop(reopened);
        let status = Reader::open(&path).unwrap().status().unwrap();
        let told = status.users[0].epsilon.unwrap();
        assert!(told <= limit && exact_delta(mu(answers), told) <= 1e-5);
    }
    // Noise that cannot be counted is not taken for none.
    let path = file(&folder, "senseless");
    let mut ledger = Ledger::create(&path, &protected(1, |it| it.epsilon = Some(5.0))).unwrap();
    let question = ledger.ask().unwrap().unwrap();
    for (sensitivity, noise) in [(f64::NAN, 1.0), (1.0, 0.0), (-1.0, 1.0), (1.0, f64::INFINITY)] {
        let mut reply = answer(&question);
        reply.privacy = Some(Privacy { sensitivity, noise });
        assert!(matches!(ledger.tell(question.ticket, &reply), Err(LedgerError::Rejected(_))));
    }
    // Whoever forgets its noise once has no privacy left to keep, and is not asked again.
    let mut ledger = Ledger::create(file(&folder, "bare"), &protected(1, |it| it.epsilon = Some(5.0))).unwrap();
    let question = ledger.ask().unwrap().unwrap();
    ledger.tell(question.ticket, &answer(&question)).unwrap();
    assert!(ledger.session().is_away(question.user));
}

/// Differences of the standard normal distribution function by Simpson's rule.
fn exact_delta(mu: f64, epsilon: f64) -> f64 {
    let phi = |x: f64| {
        let (steps, low) = (20_000, -14.0);
        let h = (x - low) / f64::from(steps);
        let f = |i: u32| (-0.5 * (low + h * f64::from(i)).powi(2)).exp();
        let inner: f64 = (1..steps).map(|i| f(i) * if i % 2 == 1 { 4.0 } else { 2.0 }).sum();
        (f(0) + inner + f(steps)) * h / 3.0 / (2.0 * std::f64::consts::PI).sqrt()
    };
    phi(mu / 2.0 - epsilon / mu) - epsilon.exp() * phi(-mu / 2.0 - epsilon / mu)
}

/// Limits that make no sense are refused before there is a file.
#[test]
fn limits_are_checked() {
    let folder = quick_folder();
    let changes: [fn(&mut Protection); 7] = [
        |it| it.answers_each = Some(0),
        |it| it.epsilon = Some(f64::NAN),
        |it| it.delta = 1.0,
        |it| it.length_factor = 0.5,
        |it| it.smoothness_slack = f64::NAN,
        |it| it.unexpected_factor = f64::NAN,
        |it| it.unexpected_factor = 1.0,
    ];
    for change in changes {
        let path = file(&folder, "study.sgq");
        let error = Ledger::create(&path, &protected(1, change)).unwrap_err();
        assert!(matches!(error, LedgerError::Protection { .. }) && !path.exists(), "{error}");
    }
}

/// A ledger with limits that nobody reaches is the session that it would be without.
#[test]
fn protection_does_not_change_a_run() {
    let folder = quick_folder();
    let path = file(&folder, "study.sgq");
    let plan = protected(1, |it| (it.answers_each, it.smoothness) = (Some(1000), Policy::Refuse));
    let mut session =
        Session::new(method::frugal(), plan.settings.clone().smoothness(vec![SMOOTHNESS; USERS])).unwrap();
    let mut ledger = Ledger::create(&path, &plan).unwrap();
    while let Some(question) = ledger.ask().unwrap() {
        let query = session.ask().unwrap().unwrap();
        ledger.tell(question.ticket, &answer(&question)).unwrap();
        session.tell(query.ticket, &answer(&question).gradient).unwrap();
    }
    assert_eq!(bits(ledger.session().point()), bits(session.point()));
    drop(ledger);
    assert!(events(&path).iter().all(|event| event.0 != Kind::Refused.word()));
}
