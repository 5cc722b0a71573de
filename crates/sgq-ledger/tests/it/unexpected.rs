//! Answers that are far from what the method expects of them: the rule of the model, docs/frugal.md § 16.

use sgq::{Method, belief::Model, method};
use sgq_ledger::{Ledger, LedgerError, Plan, Policy, Protection, Question, Reader, Rejected, Reply, Told};

use crate::clinics::{DIM, USERS, answer, bits, events, file, gradient, plan, quick_folder, run};

/// Whoever lies: its gradient at the optimum is one of the longest.
const LIAR: usize = 3;

fn with(method: Method, open: usize, policy: Policy) -> Plan {
    let mut protection = Protection::default();
    protection.unexpected = policy;
    plan(method, open, 120).protected(protection)
}

/// Where `Σ ∇f_i` is zero: its coordinates are independent, and affine.
fn optimum() -> Vec<f64> {
    let sum = |x: f64| -> Vec<f64> {
        (0..DIM).map(|k| (0..USERS).map(|user| gradient(user, &[x; DIM])[k]).sum::<f64>()).collect()
    };
    let (at_zero, at_one) = (sum(0.0), sum(1.0));
    at_zero.iter().zip(&at_one).map(|(zero, one)| -zero / (one - zero)).collect()
}

fn far_from_optimum(point: &[f64]) -> f64 {
    point.iter().zip(optimum()).map(|(x, best)| (x - best).powi(2)).sum::<f64>().sqrt()
}

fn words(path: &std::path::Path, kind: &str) -> Vec<String> {
    events(path).into_iter().filter(|event| event.0 == kind).map(|event| event.3.unwrap_or_default()).collect()
}

#[test]
fn honest_users_are_never_refused() {
    let folder = quick_folder();
    for known in [false, true] {
        for open in [1, 3] {
            let path = file(&folder, &format!("{known}{open}"));
            let mut plan = with(method::frugal(), open, Policy::Refuse);
            plan.users.iter_mut().for_each(|user| user.smoothness = known.then_some(2.5));
            run(&mut Ledger::create(&path, &plan).unwrap());
            assert!(words(&path, "refused").is_empty() && words(&path, "flagged").is_empty());
        }
    }
}

type Lie = fn(&[f64]) -> Vec<f64>;

const LIES: [Lie; 4] = [
    |g| g.iter().map(|value| -100.0 * value).collect(),
    |g| vec![100.0 * g.iter().map(|value| value * value).sum::<f64>().sqrt(), 0.0, 0.0],
    |g| vec![g[0], g[1], 1e3 * g[2]],
    |_| vec![300.0, -300.0, 300.0],
];

/// One user lies at every question once enough others have answered, until its lie is refused; then it tells the truth. Returns how
/// many lies were refused, set aside by the model, and believed.
fn run_with_liar(ledger: &mut Ledger, lie: Lie) -> [usize; 3] {
    let mut lies = [0; 3];
    while let Some(question) = ledger.ask().unwrap() {
        let honest = answer(&question);
        if question.user == LIAR && ledger.queries() >= 8 {
            let before = ledger.session().snapshot().unwrap();
            match ledger.tell(question.ticket, &Reply::new(lie(&honest.gradient))) {
                Err(LedgerError::Rejected(Rejected::OutOfLine(_))) => {
                    lies[0] += 1;
                    assert_eq!(ledger.session().snapshot().unwrap(), before);
                }
                Err(error) => panic!("{error}"),
                Ok(_) => {
                    let set_aside = ledger.session().belief::<Model>().and_then(Model::set_aside_last);
                    lies[if set_aside.is_some() { 1 } else { 2 }] += 1;
                    continue;
                }
            }
        }
        assert_eq!(ledger.tell(question.ticket, &honest).unwrap(), Told::Taken);
    }
    lies
}

#[test]
fn a_liar_who_is_refused_does_not_move_the_end() {
    let folder = quick_folder();
    for (which, lie) in LIES.into_iter().enumerate() {
        let path = file(&folder, &format!("{which}"));
        let mut ledger = Ledger::create(&path, &with(method::frugal(), 1, Policy::Refuse)).unwrap();
        let [refused, set_aside, believed] = run_with_liar(&mut ledger, lie);
        let far = far_from_optimum(ledger.session().point());
        assert!(
            refused > 10 && believed == 0,
            "lie {which}: {refused} refused, {set_aside} aside, {believed} believed"
        );
        assert!(far < 1e-6, "lie {which}: {far:e}");
        ledger.close().unwrap();
        assert_eq!(words(&path, "refused").len(), refused);
        let verdict = Reader::open(&path).unwrap().verify().unwrap();
        assert!(verdict.is_sound() && verdict.replays, "{verdict:?}");
        // Without the rule the same liar moves it.
        let path = file(&folder, &format!("{which} ignored"));
        let mut ledger = Ledger::create(&path, &with(method::frugal(), 1, Policy::Ignore)).unwrap();
        run_with_liar(&mut ledger, lie);
        assert!(far_from_optimum(ledger.session().point()) > 0.1, "lie {which}");
    }
}

/// The next question to the liar, once enough others have answered, and where its lie is not set aside.
fn to_liar(ledger: &mut Ledger, lie: Lie) -> Question {
    loop {
        let question = ledger.ask().unwrap().unwrap();
        let honest = answer(&question);
        let told = lie(&honest.gradient);
        let times = ledger.session().out_of_line(question.user, &question.point, &told);
        if question.user == LIAR && ledger.queries() >= 8 && times.is_some() {
            return question;
        }
        ledger.tell(question.ticket, &honest).unwrap();
    }
}

/// One lie that is flagged is in the record, and the session is to the bit the one that is told it without the rule.
#[test]
fn a_flag_is_a_row_and_nothing_else() {
    let folder = quick_folder();
    for (which, lie) in LIES.into_iter().enumerate() {
        let mut ends = Vec::new();
        for policy in [Policy::Flag, Policy::Ignore] {
            let path = file(&folder, &format!("{which} {policy:?}"));
            let mut ledger = Ledger::create(&path, &with(method::frugal(), 1, policy)).unwrap();
            let question = to_liar(&mut ledger, lie);
            let told = ledger.tell(question.ticket, &Reply::new(lie(&answer(&question).gradient))).unwrap();
            assert_eq!(matches!(told, Told::Flagged(_)), policy == Policy::Flag, "lie {which}: {told:?}");
            run(&mut ledger);
            ends.push(bits(ledger.session().point()));
            ledger.close().unwrap();
            let flags = words(&path, "flagged");
            assert_eq!(flags.is_empty(), policy == Policy::Ignore);
            assert!(flags.iter().all(|it| it.contains("times as far") && it.contains("the limit is 10")), "{flags:?}");
            let verdict = Reader::open(&path).unwrap().verify().unwrap();
            assert!(verdict.is_sound() && verdict.replays, "{verdict:?}");
        }
        assert_eq!(ends[0], ends[1]);
    }
}

/// The question stays open, also for a program that opens the file again; a person may have the answer taken.
#[test]
fn a_person_may_accept_it() {
    let folder = quick_folder();
    let path = file(&folder, "study.sgq");
    let mut ledger = Ledger::create(&path, &with(method::frugal(), 1, Policy::Refuse)).unwrap();
    let question = to_liar(&mut ledger, LIES[0]);
    let lie = Reply::new(LIES[0](&answer(&question).gradient));
    let first = ledger.tell(question.ticket, &lie).unwrap_err().to_string();
    assert!(first.contains("times as far") && first.contains("accept it by hand if it is right"), "{first}");
    ledger.close().unwrap();
    let mut ledger = Ledger::open(&path).unwrap();
    assert_eq!(ledger.pending().len(), 1);
    assert_eq!(ledger.tell(question.ticket, &lie).unwrap_err().to_string(), first);
    assert!(matches!(ledger.tell_from(question.ticket, &lie, Some(LIAR), true).unwrap(), Told::Flagged(_)));
    ledger.close().unwrap();
    assert!(Reader::open(&path).unwrap().verify().unwrap().is_sound());
}

/// A method without a model takes what it took before.
#[test]
fn methods_without_a_model_say_nothing() {
    let folder = quick_folder();
    let path = file(&folder, "study.sgq");
    let mut ledger = Ledger::create(&path, &with(method::saga(), 1, Policy::Refuse)).unwrap();
    for _ in 0..12 {
        let question = ledger.ask().unwrap().unwrap();
        ledger.tell(question.ticket, &answer(&question)).unwrap();
    }
    let question = ledger.ask().unwrap().unwrap();
    let lie = Reply::new(LIES[0](&answer(&question).gradient));
    assert_eq!(ledger.tell(question.ticket, &lie).unwrap(), Told::Taken);
}

/// Where several rules find an answer odd, the one that refuses it decides.
#[test]
fn the_strictest_rule_decides() {
    let folder = quick_folder();
    for (smoothness, unexpected) in [(Policy::Flag, Policy::Refuse), (Policy::Refuse, Policy::Flag)] {
        let path = file(&folder, &format!("{smoothness:?}"));
        let mut plan = with(method::frugal(), 1, unexpected);
        plan.users.iter_mut().for_each(|user| user.smoothness = Some(2.5));
        plan.protection.smoothness = smoothness;
        let mut ledger = Ledger::create(&path, &plan).unwrap();
        let question = to_liar(&mut ledger, LIES[0]);
        let error = ledger.tell(question.ticket, &Reply::new(LIES[0](&answer(&question).gradient))).unwrap_err();
        let expected = if unexpected == Policy::Refuse { "times as far" } else { "L_i = 2.5" };
        assert!(error.to_string().contains(expected), "{error}");
    }
}
