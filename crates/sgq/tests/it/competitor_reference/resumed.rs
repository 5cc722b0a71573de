//! Saved and restored at any query, a session goes on bit for bit: also between SARAH's two questions, within a sweep, and
//! within a line search.

use sgq::{Method, Random, Session, Sight, method::METHODS};

use super::{Asked, Case, case, snapshot_updates::lbfgs};

const USERS: usize = 5;

fn any_case(seed: u64) -> Case {
    case(&mut Random::new(seed, "resumed"), seed, USERS, 3)
}

fn method(name: &str) -> Method {
    Method::by_name(name).unwrap().named("resumed")
}

fn lazy(name: &str) -> Method {
    method(name).with("lazy", true.into()).unwrap()
}

/// Answers the next question; returns it and the point after it, in bits.
fn advance(case: &Case, session: &mut Session<'_>) -> (u64, usize, Vec<u64>, Vec<u64>) {
    let query = session.ask().unwrap().unwrap();
    session.tell(query.ticket, &case.gradient(query.user, &query.point)).unwrap();
    let bits = |x: &[f64]| x.iter().map(|x| x.to_bits()).collect();
    (query.ticket.0, query.user, bits(&query.point), bits(session.point()))
}

/// The uninterrupted run, and one that is saved and restored before and after every single question.
fn interrupted_run_is_the_same(case: &Case, method: &Method, queries: usize) {
    let sight = Sight::Problem(&*case.problem);
    let mut whole = Session::with_sight(method.clone(), case.settings(), sight.clone()).unwrap();
    let mut pieces = Session::with_sight(method.clone(), case.settings(), sight.clone()).unwrap();
    for number in 0..queries {
        pieces = Session::restore(method.clone(), &pieces.snapshot().unwrap(), sight.clone()).unwrap();
        pieces.ask().unwrap();
        pieces = Session::restore(method.clone(), &pieces.snapshot().unwrap(), sight.clone()).unwrap();
        assert_eq!(advance(case, &mut whole), advance(case, &mut pieces), "{method}, query {number}");
    }
    assert_eq!(whole.meter(), pieces.meter());
    assert_eq!(whole.steps(), pieces.steps());
    assert_eq!(whole.snapshot().unwrap(), pieces.snapshot().unwrap());
}

#[test]
fn every_method() {
    for seed in 0..2 {
        for entry in METHODS {
            interrupted_run_is_the_same(&any_case(seed), &method(entry.name), 60);
        }
        for name in ["saga", "saga-sgq", "sag", "iag", "diag", "iqn", "dave-qn"] {
            interrupted_run_is_the_same(&any_case(seed), &lazy(name), 60);
        }
    }
}

/// Saves a session after that many queries, once `is_there` has confirmed where it is, and compares what follows.
fn resumed_after(case: &Case, name: &str, queries: usize, is_there: impl Fn(&mut Session<'_>)) {
    let sight = Sight::Problem(&*case.problem);
    let mut session = Session::with_sight(method(name), case.settings(), sight.clone()).unwrap();
    for _ in 0..queries {
        advance(case, &mut session);
    }
    let bytes = session.snapshot().unwrap();
    is_there(&mut Session::restore(method(name), &bytes, sight.clone()).unwrap());
    let mut restored = Session::restore(method(name), &bytes, sight.clone()).unwrap();
    for later in 0..60 {
        assert_eq!(advance(case, &mut session), advance(case, &mut restored), "{name}, {later} later");
    }
}

/// A full gradient, and then the second of three steps: one of its two questions is answered.
#[test]
fn between_the_two_questions_of_sarah() {
    for seed in 0..4 {
        let case = any_case(seed);
        let answered = USERS + 2 + 1;
        resumed_after(&case, "sarah", answered, |session| {
            let user = {
                let log = case.log_of("sarah", answered);
                assert_ne!(log[answered - 1].at, log[answered - 1].after, "asked where it was, not where it is");
                log[answered - 1].user
            };
            let query = session.ask().unwrap().unwrap();
            assert_eq!((query.user, &*query.point), (user, session.point()));
        });
    }
}

/// The second sweep, after 2n steps, with two of its answers.
#[test]
fn within_a_sweep_of_katyusha() {
    for seed in 0..4 {
        let case = any_case(seed);
        resumed_after(&case, "katyusha", USERS + 2 * USERS + 2, |session| {
            assert_eq!(session.ask().unwrap().unwrap().user, 2);
            assert_eq!(session.steps(), 2 * USERS as u64);
        });
    }
}

/// A first step that is far too long; within the sweep that follows its first shortening.
#[test]
fn within_a_line_search_of_l_bfgs() {
    for seed in [0, 2, 4, 6] {
        let mut case = any_case(seed);
        case.initial_step *= 100.0;
        let (_, shortened) = lbfgs(&case, 8);
        let within = shortened[0] + 2;
        assert!(shortened.contains(&(within - 2)) && shortened.contains(&within));
        resumed_after(&case, "l-bfgs", within, |session| assert_eq!(session.ask().unwrap().unwrap().user, 2));
    }
}

impl Case {
    /// What a method of the catalogue asks.
    fn log_of(&self, name: &str, queries: usize) -> Vec<Asked> {
        let mut session = Session::with_sight(method(name), self.settings(), Sight::Problem(&*self.problem)).unwrap();
        self.log(&mut session, queries)
    }
}
