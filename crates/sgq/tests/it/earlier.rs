//! Answers of an earlier run, and budgets that are raised: nothing that was paid for is lost.

use sgq::{
    Method, Oracle, PaidAnswer, Problem, Random, Session, Settings, Sight, StopReason,
    method::{self, METHODS},
    problem::DenseQuadratic,
    session::EarlierError,
};

use crate::random_problem::{random_quadratic, safe_settings};

const USERS: usize = 7;
const DIM: usize = 3;

fn problem() -> (DenseQuadratic, Settings) {
    let (problem, start) = random_quadratic(&mut Random::new(5, "earlier"), USERS, DIM);
    let settings = safe_settings(&problem, start).seed(9);
    (problem, settings)
}

/// Puts the next question to its user; returns the answer, which is recorded before it is told.
#[track_caller]
fn advance(session: &mut Session<'_>, problem: &dyn Oracle) -> PaidAnswer {
    let query = session.ask().unwrap().expect("no stop condition is met");
    let mut gradient = vec![0.0; problem.dim()];
    problem.gradient(query.user, &query.point, &mut gradient);
    let paid = PaidAnswer::new(query.user, &query.point, &gradient);
    session.tell(query.ticket, &gradient).unwrap();
    paid
}

/// What a method is answered, from the beginning.
fn answers(method: Method, settings: &Settings, problem: &DenseQuadratic, count: usize) -> Vec<PaidAnswer> {
    let mut session = Session::with_sight(method, settings.clone(), Sight::Problem(problem)).unwrap();
    (0..count).map(|_| advance(&mut session, problem)).collect()
}

fn bits(numbers: &[f64]) -> Vec<u64> {
    numbers.iter().map(|x| x.to_bits()).collect()
}

/// The two ask the same questions and move to the same points, to the bit.
#[track_caller]
fn same_from_here(one: &mut Session<'_>, other: &mut Session<'_>, problem: &dyn Oracle, queries: usize, place: &str) {
    assert_eq!(bits(one.point()), bits(other.point()), "{place}");
    for number in 0..queries {
        assert_eq!(one.ask().unwrap(), other.ask().unwrap(), "{place}, {number} later");
        let (paid, same) = (advance(one, problem), advance(other, problem));
        assert_eq!(paid, same, "{place}, {number} later");
        assert_eq!(bits(one.point()), bits(other.point()), "{place}, {number} later");
        assert_eq!((one.steps(), one.step_size()), (other.steps(), other.step_size()), "{place}");
    }
}

#[test]
fn an_interrupted_run_continues_bit_for_bit() {
    let (problem, settings) = problem();
    let sight = || Sight::Problem(&problem);
    for entry in METHODS {
        // Within a sweep, between SARAH's two questions, and later.
        for cut in [1, 5, USERS, USERS + 1, USERS + 2, 25] {
            let place = format!("{} after {cut}", entry.name);
            let mut whole = Session::with_sight(entry.method(), settings.clone(), sight()).unwrap();
            let paid: Vec<PaidAnswer> = (0..cut).map(|_| advance(&mut whole, &problem)).collect();
            let new = settings.clone().budget(25);
            let mut later = Session::with_answers(entry.method(), new, sight(), &paid).unwrap();
            assert_eq!((later.queries(), later.meter().earlier()), (0, cut as u64), "{place}");
            assert_eq!(later.meter().cost(), 0.0);
            same_from_here(&mut whole, &mut later, &problem, 25, &place);
            assert_eq!((later.queries(), later.meter().earlier()), (25, cut as u64), "{place}");
            assert_eq!(later.meter().billed_per_user().iter().sum::<u64>(), 25);
            assert_eq!(later.meter().cost(), 25.0);
            assert_eq!(later.stop_reason(), Some(StopReason::Budget { queries: 25 }), "{place}");
            assert_eq!(later.ask().unwrap(), None);
            // What an oracle or a poll has seen is the same as well.
            assert_eq!(later.meter().diagnostic_per_user(), whole.meter().diagnostic_per_user(), "{place}");
            assert_eq!(later.meter().polled(), whole.meter().polled(), "{place}");
        }
    }
}

/// A saved session knows what it took over.
#[test]
fn earlier_answers_survive_a_restore() {
    let (problem, settings) = problem();
    for entry in METHODS {
        let sight = || Sight::Problem(&problem);
        let paid = answers(entry.method(), &settings, &problem, 25);
        let mut session = Session::with_answers(entry.method(), settings.clone(), sight(), &paid).unwrap();
        let mut restored = Session::restore(entry.method(), &session.snapshot().unwrap(), sight()).unwrap();
        assert_eq!(restored.meter(), session.meter());
        same_from_here(&mut session, &mut restored, &problem, 10, entry.name);
    }
}

/// One method's answers in all others: each opens, and goes on.
#[test]
fn every_method_takes_over_from_every_other() {
    let (problem, settings) = problem();
    let sight = || Sight::Problem(&problem);
    for before in METHODS {
        let paid = answers(before.method(), &settings, &problem, 25);
        for entry in METHODS {
            let place = format!("{} after {}", entry.name, before.name);
            let mut session = Session::with_answers(entry.method(), settings.clone(), sight(), &paid).unwrap();
            assert_eq!((session.queries(), session.meter().earlier()), (0, 25), "{place}");
            for _ in 0..30 {
                advance(&mut session, &problem);
                assert!(session.point().iter().all(|x| x.is_finite()), "{place}");
            }
            assert_eq!((session.queries(), session.stop_reason()), (30, None), "{place}");
            assert!(session.steps() > 0, "{place}");
        }
    }
}

/// Only the first few answers are those that the method would have asked for itself.
#[test]
fn a_run_that_was_another_one_from_some_answer_on() {
    let (problem, settings) = problem();
    let sight = || Sight::Problem(&problem);
    let others = answers(method::shuffled_sgd(), &settings.clone().seed(77), &problem, 12);
    for entry in METHODS {
        for own in [1, 4, USERS, USERS + 3, 20] {
            let mut paid = answers(entry.method(), &settings, &problem, own);
            paid.extend_from_slice(&others);
            let mut session = Session::with_answers(entry.method(), settings.clone(), sight(), &paid).unwrap();
            assert_eq!(session.meter().earlier(), (own + 12) as u64);
            for _ in 0..30 {
                advance(&mut session, &problem);
            }
            assert_eq!(session.stop_reason(), None, "{} after {own} of its own", entry.name);
        }
    }
}

/// A sweep that was interrupted by answers of others begins anew, and nothing of it is left over.
#[test]
fn an_interrupted_sweep_begins_anew() {
    let (problem, settings) = problem();
    let others = answers(method::shuffled_sgd(), &settings.clone().seed(77), &problem, 3);
    for name in ["gd", "l-bfgs", "sarah"] {
        for own in [0, 1, 4] {
            let method = || Method::by_name(name).unwrap();
            let mut paid = answers(method(), &settings, &problem, own);
            paid.extend_from_slice(&others);
            let mut session = Session::with_answers(method(), settings.clone(), Sight::Blind, &paid).unwrap();
            let (from, step_size) = (session.point().to_vec(), session.step_size());
            assert_eq!(from, others[2].point);
            let sweep: Vec<PaidAnswer> = (0..USERS).map(|_| advance(&mut session, &problem)).collect();
            assert!(sweep.iter().enumerate().all(|(user, paid)| (paid.user, &paid.point) == (user, &from)));
            // The first step of each is along the full gradient.
            for (k, x) in session.point().iter().enumerate() {
                let mean = sweep.iter().map(|paid| paid.gradient[k]).sum::<f64>() / USERS as f64;
                let off = x - (from[k] - step_size * mean);
                assert!(off.abs() < 1e-12, "{name} after {own} of its own is off by {off}");
            }
        }
    }
}

/// A step that corrects by everybody's gradient waits for those who have not answered, and for nobody else.
#[test]
fn whoever_has_answered_is_not_asked_before_the_first_step() {
    let (problem, settings) = problem();
    let sight = || Sight::Problem(&problem);
    for before in METHODS {
        for count in [1, 3, 5] {
            let paid = answers(before.method(), &settings, &problem, count);
            let missing: Vec<usize> = (0..USERS).filter(|user| paid.iter().all(|paid| paid.user != *user)).collect();
            for name in ["saga", "saga-sgq", "sgq", "sag", "iag", "diag", "iqn", "gpfl"] {
                let place = format!("{name} after {count} of {}", before.name);
                let method = Method::by_name(name).unwrap();
                let mut session = Session::with_answers(method, settings.clone(), sight(), &paid).unwrap();
                let asked: Vec<usize> = missing.iter().map(|_| advance(&mut session, &problem).user).collect();
                assert_eq!(asked, missing, "{place}");
                assert_eq!((session.steps(), session.queries()), (0, missing.len() as u64), "{place}");
                assert!(session.surrogate_gradient_norm().is_some(), "{place}");
                advance(&mut session, &problem);
                assert_eq!(session.steps(), 1, "{place}");
            }
        }
    }
}

/// SAGA, SAG, IAG, DIAG and IQN with a lazy start.
fn lazy_methods() -> impl Iterator<Item = Method> {
    let lazy = |name| Method::by_name(name).unwrap().with("lazy", true.into()).unwrap();
    ["saga", "saga-sgq", "sag", "iag", "diag", "iqn"].into_iter().map(lazy)
}

#[test]
fn a_lazy_start_continues_bit_for_bit() {
    let (problem, settings) = problem();
    let sight = || Sight::Problem(&problem);
    for method in lazy_methods() {
        // Before everybody was asked, and later.
        for cut in [0, 1, 5, USERS, USERS + 2, 25] {
            let place = format!("{method} after {cut}");
            let mut whole = Session::with_sight(method.clone(), settings.clone(), sight()).unwrap();
            let paid: Vec<PaidAnswer> = (0..cut).map(|_| advance(&mut whole, &problem)).collect();
            let mut later = Session::with_answers(method.clone(), settings.clone(), sight(), &paid).unwrap();
            assert_eq!(later.steps(), cut as u64, "{place}: every answer is a step");
            same_from_here(&mut whole, &mut later, &problem, 25, &place);
            let mut restored = Session::restore(method.clone(), &later.snapshot().unwrap(), sight()).unwrap();
            same_from_here(&mut later, &mut restored, &problem, 10, &place);
        }
    }
}

/// Each answer of another method is a step, whether everybody has answered or not; and the choice goes on from there.
#[test]
fn a_lazy_start_takes_over_at_once() {
    let (problem, settings) = problem();
    let sight = || Sight::Problem(&problem);
    for before in METHODS {
        for count in [1, 3, 25] {
            let paid = answers(before.method(), &settings, &problem, count);
            for method in lazy_methods() {
                let place = format!("{method} after {count} of {}", before.name);
                let mut session = Session::with_answers(method, settings.clone(), sight(), &paid).unwrap();
                assert_eq!((session.steps(), session.queries()), (count as u64, 0), "{place}");
                for number in 1..=30 {
                    advance(&mut session, &problem);
                    assert_eq!(session.steps(), count as u64 + number, "{place}");
                }
                assert_eq!(session.stop_reason(), None, "{place}");
            }
        }
    }
}

/// The table holds each user's last answer, wherever that was, and their mean.
#[test]
fn the_table_holds_the_last_answers() {
    let (problem, settings) = problem();
    let paid = answers(method::shuffled_sgd(), &settings, &problem, 3 * USERS);
    let session = Session::with_answers(method::saga(), settings, Sight::Blind, &paid).unwrap();
    let table = session.belief::<sgq::LastGradient>().unwrap();
    let mut mean = vec![0.0; DIM];
    for user in 0..USERS {
        let last = paid.iter().rfind(|paid| paid.user == user).unwrap();
        assert_eq!((&*table.gradient(user), table.point(user)), (&*last.gradient, &*last.point));
        mean.iter_mut().zip(&last.gradient).for_each(|(mean, value)| *mean += value / USERS as f64);
    }
    for (found, mean) in table.mean().iter().zip(&mean) {
        assert!((found - mean).abs() < 1e-12, "{found} {mean}");
    }
    // SAGA's step on every answer after the first round, of which the last is by hand.
    assert_eq!(session.steps(), 2 * USERS as u64);
    let last = &paid[paid.len() - 1];
    let before = paid[..paid.len() - 1].iter().rfind(|paid| paid.user == last.user).unwrap();
    for (k, mean) in mean.iter().enumerate() {
        let mean_before = mean + (before.gradient[k] - last.gradient[k]) / USERS as f64;
        let step = session.step_size() * (last.gradient[k] - before.gradient[k] + mean_before);
        assert!((session.point()[k] - (last.point[k] - step)).abs() < 1e-12);
    }
}

#[test]
fn methods_converge_on_answers_of_others() {
    let (problem, settings) = problem();
    let start_gap = problem.gap(&settings.start).unwrap();
    for before in METHODS {
        let paid = answers(before.method(), &settings, &problem, 25);
        for (name, step_size, queries, goal) in
            [("frugal", 0.3, 200, 1e-10), ("saga", 0.3, 3_000, 1e-10), ("sgd", 0.02, 6_000, 0.02)]
        {
            let largest = problem.smoothness().unwrap().iter().copied().fold(0.0, f64::max);
            let settings = settings.clone().step_size(step_size / largest);
            let method = Method::by_name(name).unwrap();
            let mut session = Session::with_answers(method, settings, Sight::Blind, &paid).unwrap();
            (0..queries).for_each(|_| _ = advance(&mut session, &problem));
            let gap = problem.gap(session.point()).unwrap() / start_gap;
            assert!(gap < goal, "{name} ends at {gap:e} after {}", before.name);
        }
    }
}

#[test]
fn impossible_answers_are_refused_by_number() {
    let (problem, settings) = problem();
    // Where the answer is the session's own next one, and where it is not.
    for (before, seed) in [("saga", 9), ("sgd", 9), ("frugal", 9), ("shuffled-sgd", 1)] {
        let method = Method::by_name(before).unwrap();
        let paid = answers(method, &settings.clone().seed(seed), &problem, 12);
        for index in [0, 3, 11] {
            let refused = |change: &dyn Fn(&mut PaidAnswer)| {
                let mut paid = paid.clone();
                change(&mut paid[index]);
                let user = paid[index].user;
                for name in ["saga", "sgd", "frugal", "svrg"] {
                    let method = Method::by_name(name).unwrap();
                    let error = Session::with_answers(method, settings.clone(), Sight::Blind, &paid).unwrap_err();
                    let EarlierError::Answer { index: found, error: reason } = &error else { panic!("{error}") };
                    assert_eq!(*found, index, "{error}");
                    assert!(reason.to_string().contains(&format!("user {user}")), "{error}");
                    assert!(error.to_string().contains(&format!("answer {index} ")), "{error}");
                }
            };
            refused(&|paid| paid.user = USERS);
            refused(&|paid| paid.user = usize::MAX);
            refused(&|paid| paid.gradient.push(0.0));
            refused(&|paid| paid.gradient.clear());
            refused(&|paid| _ = paid.point.pop());
            refused(&|paid| paid.point.push(1.0));
            for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
                refused(&|paid| paid.gradient[1] = bad);
                refused(&|paid| paid.point[2] = bad);
            }
        }
    }
    // Settings are refused as ever.
    let no_step = Settings::new(vec![0.0; DIM], USERS);
    let error = Session::with_answers(method::sgd(), no_step, Sight::Blind, &[]).unwrap_err();
    assert!(matches!(error, EarlierError::Settings(_)), "{error}");
}

#[test]
fn no_answers_make_a_new_session() {
    let (problem, settings) = problem();
    for entry in METHODS {
        let sight = || Sight::Problem(&problem);
        let mut new = Session::with_sight(entry.method(), settings.clone(), sight()).unwrap();
        let mut with = Session::with_answers(entry.method(), settings.clone(), sight(), &[]).unwrap();
        assert_eq!(with.snapshot().unwrap(), new.snapshot().unwrap(), "{}", entry.name);
        same_from_here(&mut new, &mut with, &problem, 30, entry.name);
        assert_eq!(with.snapshot().unwrap(), new.snapshot().unwrap(), "{}", entry.name);
    }
}

/// The answers fill no budget, however small that is: raised later, the run goes on where it was.
#[test]
fn answers_are_taken_in_whatever_the_budget() {
    let (problem, settings) = problem();
    let sight = || Sight::Problem(&problem);
    for entry in METHODS {
        let mut whole = Session::with_sight(entry.method(), settings.clone(), sight()).unwrap();
        let paid: Vec<PaidAnswer> = (0..25).map(|_| advance(&mut whole, &problem)).collect();
        for budget in [0, 3] {
            let place = format!("{} with {budget}", entry.name);
            let new = settings.clone().budget(budget);
            let mut later = Session::with_answers(entry.method(), new, sight(), &paid).unwrap();
            assert_eq!(later.stop_reason().is_some(), budget == 0, "{place}");
            assert_eq!(bits(later.point()), bits(whole.point()), "{place}");
            later.extend(25);
            let mut whole = Session::restore(entry.method(), &whole.snapshot().unwrap(), sight()).unwrap();
            same_from_here(&mut whole, &mut later, &problem, 25, &place);
        }
    }
}

/// What the answers have reached already stops the run before anybody is asked.
#[test]
fn stop_conditions_hold_for_earlier_answers() {
    let (problem, settings) = problem();
    let paid = answers(method::gd(), &settings, &problem, 80 * USERS);
    let gap = problem.gap(&paid[paid.len() - 1].point).unwrap();
    let sight = Sight::Problem(&problem);
    for name in ["gd", "saga", "frugal", "svrg"] {
        let method = Method::by_name(name).unwrap();
        let reached = settings.clone().target_gap(2.0 * gap);
        let mut session = Session::with_answers(method, reached, sight.clone(), &paid).unwrap();
        assert!(matches!(session.stop_reason(), Some(StopReason::TargetGap { .. })), "{name}");
        assert_eq!((session.ask().unwrap(), session.queries()), (None, 0));
    }
}

#[test]
fn a_raised_budget_is_as_if_it_had_been_so_from_the_start() {
    let (problem, settings) = problem();
    let sight = || Sight::Problem(&problem);
    for entry in METHODS {
        for (first, more) in [(0, 40), (3, 37), (USERS as u64 + 1, 32), (25, 15)] {
            let place = format!("{} after {first}", entry.name);
            let large = settings.clone().budget(first + more);
            let mut whole = Session::with_sight(entry.method(), large, sight()).unwrap();
            let small = settings.clone().budget(first);
            let mut raised = Session::with_sight(entry.method(), small, sight()).unwrap();
            same_from_here(&mut whole, &mut raised, &problem, first as usize, &place);
            assert_eq!(raised.stop_reason(), Some(StopReason::Budget { queries: first }), "{place}");
            assert_eq!(raised.ask().unwrap(), None, "{place}");
            // In two parts.
            raised.extend(1);
            raised.extend(more - 1);
            assert_eq!(raised.stop_reason(), None, "{place}");
            same_from_here(&mut whole, &mut raised, &problem, more as usize, &place);
            assert_eq!(raised.stop_reason(), Some(StopReason::Budget { queries: first + more }), "{place}");
            assert_eq!(raised.snapshot().unwrap(), whole.snapshot().unwrap(), "{place}");
        }
    }
}

/// Only a spent budget is a reason that more of it removes; without a budget there is nothing to raise.
#[test]
fn a_raised_budget_changes_nothing_else() {
    let (problem, settings) = problem();
    let gap = problem.gap(&settings.start).unwrap();
    let at_target = settings.clone().target_gap(gap).budget(5);
    let mut session = Session::with_sight(method::sgd(), at_target, Sight::Problem(&problem)).unwrap();
    session.extend(10);
    assert_eq!(session.stop_reason(), Some(StopReason::TargetGap { gap }));
    let mut diverged = Session::new(method::sgd(), settings.clone().step_size(1e6).budget(50)).unwrap();
    while diverged.stop_reason().is_none() {
        advance(&mut diverged, &problem);
    }
    let reason = diverged.stop_reason();
    assert!(matches!(reason, Some(StopReason::Diverged { .. })));
    diverged.extend(10);
    assert_eq!((diverged.stop_reason(), diverged.ask().unwrap()), (reason, None));
    let mut without = Session::new(method::sgd(), settings.clone()).unwrap();
    without.extend(1);
    (0..20).for_each(|_| _ = advance(&mut without, &problem));
    assert_eq!(without.stop_reason(), None);
    // By nothing, and by more than can be counted.
    let mut session = Session::new(method::sgd(), settings.budget(2)).unwrap();
    (0..2).for_each(|_| _ = advance(&mut session, &problem));
    session.extend(0);
    assert_eq!(session.stop_reason(), Some(StopReason::Budget { queries: 2 }));
    session.extend(u64::MAX);
    assert_eq!(session.stop_reason(), None);
}

/// Another method may take over because the first one diverged: it stands where the last answer within the limit was taken.
#[test]
fn a_diverged_run_can_be_taken_over() {
    let slope = |x: f64| 2.0 * x;
    let answer = |x: f64| PaidAnswer::new(0, &[x], &[slope(x)]);
    for method in [method::sgd(), method::frugal(), method::saga(), method::svrg(4)] {
        let settings = Settings::new(vec![1.0], 1).smoothness(vec![2.0]).step_size(0.1).divergence_limit(1e6);
        let paid = [1e8, 1.0, 0.5, -1e9].map(answer);
        let mut session = Session::with_answers(method, settings, Sight::Blind, &paid).unwrap();
        assert_eq!((session.stop_reason(), session.meter().earlier()), (None, 4), "{}", session.name());
        assert!(session.point()[0].abs() <= 1.0, "{} at {:?}", session.name(), session.point());
        for _ in 0..60 {
            let query = session.ask().unwrap().unwrap();
            session.tell(query.ticket, &[slope(query.point[0])]).unwrap();
        }
        assert!(session.point()[0].abs() < 0.05, "{} at {:?}", session.name(), session.point());
    }
}

/// Answers that this session has not asked for come one by one, as they would all at once: billed unless they are paid for, and not
/// used where their user has left.
#[test]
fn answers_to_questions_of_another_session_are_taken_one_by_one() {
    let (problem, settings) = problem();
    let mut other = Session::new(method::frugal(), settings.clone().seed(77)).unwrap();
    let paid: Vec<PaidAnswer> = (0..12).map(|_| advance(&mut other, &problem)).collect();
    let all = Session::with_answers(method::frugal(), settings.clone(), Sight::Blind, &paid[..10]).unwrap();
    let mut one_by_one = Session::with_answers(method::frugal(), settings, Sight::Blind, &paid[..9]).unwrap();
    one_by_one.tell_unasked(&paid[9], false).unwrap();
    let bits = |session: &Session<'_>| session.point().iter().map(|x| x.to_bits()).collect::<Vec<_>>();
    assert_eq!(bits(&one_by_one), bits(&all));
    assert_eq!((one_by_one.queries(), one_by_one.meter().numbers()), (1, DIM as u64));
    one_by_one.tell_unasked(&paid[10], true).unwrap();
    assert_eq!((one_by_one.queries(), one_by_one.meter().numbers()), (1, 2 * DIM as u64));
    one_by_one.leave(paid[11].user).unwrap();
    let believed = bits(&one_by_one);
    one_by_one.tell_unasked(&paid[11], false).unwrap();
    assert_eq!((bits(&one_by_one), one_by_one.queries()), (believed, 2));
    for wrong in [
        PaidAnswer::new(USERS, &[0.0; DIM], &[1.0; DIM]),
        PaidAnswer::new(0, &[0.0; DIM + 1], &[1.0; DIM]),
        PaidAnswer::new(0, &[f64::NAN; DIM], &[1.0; DIM]),
        PaidAnswer::new(0, &[0.0; DIM], &[f64::INFINITY; DIM]),
    ] {
        let error = one_by_one.preview_unasked(&wrong).unwrap_err();
        assert_eq!(one_by_one.tell_unasked(&wrong, false).unwrap_err(), error);
    }
    assert_eq!(one_by_one.queries(), 2);
}

/// `must_wait` is true exactly where `ask` has nothing to say and changes nothing, but for those who are away.
#[test]
fn whoever_must_wait_asks_nobody() {
    let (problem, settings) = problem();
    let mut session = Session::new(method::frugal(), settings.budget(9).open(2)).unwrap();
    loop {
        let (next, before) = (session.next_ticket(), session.snapshot().unwrap());
        let waits = session.must_wait();
        match session.ask().unwrap() {
            Some(query) => assert!(!waits && query.ticket == next),
            None => {
                assert!(waits && session.snapshot().unwrap() == before);
                let Some(query) = session.pending().next() else { break };
                let mut gradient = vec![0.0; DIM];
                problem.gradient(query.user, &query.point, &mut gradient);
                session.tell(query.ticket, &gradient).unwrap();
            }
        }
    }
    assert_eq!((session.queries(), session.budget()), (9, Some(9)));
}
