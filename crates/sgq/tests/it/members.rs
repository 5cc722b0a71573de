//! Users who leave and join, what users count, and budgets other than queries.

use sgq::{
    Answer, Detail, LastGradient, MemberError, Method, Problem, Random, Session, Settings, SettingsError, Sight,
    StopReason,
    choice::{Search, SurrogateEi},
    method,
    problem::{DenseQuadratic, Quadratic},
    session::Failure,
    setting::Value,
    update::Saga,
};

use crate::random_problem::{random_quadratic, safe_settings};

const CENTERS: [f64; 4] = [0.0, 4.0, 90.0, -7.0];

/// `(x − b)²`.
fn slope(user: usize, x: f64) -> f64 {
    2.0 * (x - CENTERS[user])
}

fn answer(session: &mut Session<'_>) -> Option<usize> {
    let query = session.ask().unwrap()?;
    session.tell(query.ticket, &[slope(query.user, query.point[0])]).unwrap();
    Some(query.user)
}

fn settings() -> Settings {
    Settings::new(vec![1.0], 4).smoothness(vec![2.0; 4])
}

/// Every method that lets users go finds the optimum of those who are left, and of those who joined again.
#[test]
fn the_objective_is_that_of_those_who_are_there() {
    for method in [
        method::frugal(),
        method::saga(),
        method::iag(),
        method::saga().with("lazy", Value::Switch(true)).unwrap(),
        method::sgq(0.3).with("lazy", Value::Switch(true)).unwrap(),
    ] {
        let name = method.name().to_owned();
        let is_exact = name != "sgq";
        let mut session = Session::new(method, settings()).unwrap();
        (0..10).for_each(|_| assert!(answer(&mut session).is_some()));
        session.leave(2).unwrap();
        session.leave(2).unwrap();
        assert!(session.has_left(2));
        for _ in 0..400 {
            assert_ne!(answer(&mut session), Some(2), "{name}");
        }
        let close = |session: &Session<'_>, optimum: f64| (session.point()[0] - optimum).abs() < 1e-3;
        assert!(!is_exact || close(&session, -1.0), "{name}: {:?}", session.point());
        session.join(2).unwrap();
        let asked: Vec<_> = (0..800).map(|_| answer(&mut session)).collect();
        assert!(asked.contains(&Some(2)), "{name}");
        assert!(!is_exact || close(&session, 21.75), "{name}: {:?}", session.point());
    }
}

#[test]
fn nobody_leaves_where_the_method_or_reason_forbids_it() {
    for method in [method::svrg(None), method::gd(), method::diag(), method::iqn(), method::grab()] {
        let name = method.name().to_owned();
        let mut session = Session::new(method, settings()).unwrap();
        assert_eq!(session.leave(1), Err(MemberError::Method { method: name.clone() }));
        assert!(!session.has_left(1) && answer(&mut session).is_some(), "{name}");
    }
    let mut session = Session::new(method::sgd(), settings().step_size(0.1)).unwrap();
    assert_eq!(session.leave(4), Err(MemberError::NoSuchUser { user: 4, users: 4 }));
    assert_eq!(session.join(4), Err(MemberError::NoSuchUser { user: 4, users: 4 }));
    (0..3).for_each(|user| session.leave(user).unwrap());
    assert_eq!(session.leave(3), Err(MemberError::LastUser { user: 3 }));
    (0..9).for_each(|_| assert_eq!(answer(&mut session), Some(3)));
}

/// An answer of somebody who has left is billed, and changes nothing else.
#[test]
fn an_answer_after_leaving_is_billed_and_not_used() {
    let mut session = Session::new(method::frugal(), settings().open(2)).unwrap();
    let queries = session.ask_many(2).unwrap();
    session.leave(queries[0].user).unwrap();
    assert_eq!(session.pending().len(), 1);
    let before = session.point().to_vec();
    session.tell(queries[0].ticket, &[5.0]).unwrap();
    assert_eq!((session.queries(), session.point()), (1, &*before));
}

/// Whoever the first sweep still waits for may leave.
#[test]
fn a_first_sweep_does_not_wait_for_those_who_left() {
    let mut session = Session::new(method::saga(), settings().open(4)).unwrap();
    let queries = session.ask_many(9).unwrap();
    // The first user's answer is what all others wait for.
    for query in &queries[1..] {
        session.tell(query.ticket, &[slope(query.user, query.point[0])]).unwrap();
    }
    session.leave(0).unwrap();
    let mean = session.belief::<LastGradient>().unwrap().mean()[0];
    assert_eq!(mean, (1..4).map(|user| slope(user, 1.0)).sum::<f64>() / 3.0);
    let query = session.ask().unwrap().unwrap();
    session.tell(query.ticket, &[slope(query.user, query.point[0])]).unwrap();
    assert_ne!(session.point(), [1.0]);
}

/// The fast search finds whom the scan finds, whoever left.
#[test]
fn the_search_agrees_with_the_scan_when_users_leave() {
    let (problem, start) = random_quadratic(&mut Random::new(8, "members"), 40, 3);
    let settings = safe_settings(&problem, start).seed(3);
    let open = |search: Search| {
        let choice = SurrogateEi::new(0.1).search(search);
        let method = Method::new("searching", LastGradient::new(), choice, Saga);
        Session::with_sight(method, settings.clone(), Sight::Problem(&problem)).unwrap()
    };
    let (mut scan, mut lazy) = (open(Search::Scan), open(Search::Lazy));
    let mut random = Random::new(4, "who");
    for step in 0..600 {
        if step % 20 == 19 {
            let user = random.index(40);
            for session in [&mut scan, &mut lazy] {
                if session.has_left(user) { session.join(user).unwrap() } else { session.leave(user).unwrap() }
            }
        }
        let users = [&mut scan, &mut lazy].map(|session| tell(session, &problem));
        assert_eq!(users[0], users[1], "after {step}");
    }
}

fn tell(session: &mut Session<'_>, problem: &DenseQuadratic) -> usize {
    let query = session.ask().unwrap().unwrap();
    let mut gradient = vec![0.0; query.point.len()];
    sgq::Oracle::gradient(problem, query.user, &query.point, &mut gradient);
    session.tell(query.ticket, &gradient).unwrap();
    query.user
}

/// Rows of each user, given beforehand or told with the answers: the optimum is that of all rows together.
#[test]
fn users_count_as_much_as_their_weights() {
    let weights = [1.0, 30.0, 2.0, 7.0];
    let total: f64 = weights.iter().sum();
    let optimum = weights.iter().zip(CENTERS).map(|(weight, center)| weight * center).sum::<f64>() / total;
    for method in [method::frugal(), method::saga(), method::iag(), method::svrg(None), method::gd()] {
        let name = method.name().to_owned();
        let mut session = Session::new(method.clone(), settings().weights(weights.to_vec())).unwrap();
        (0..1500).for_each(|_| assert!(answer(&mut session).is_some()));
        assert!((session.point()[0] - optimum).abs() < 1e-6, "{name}: {:?}, not {optimum}", session.point());
        let mut told = Session::new(method, settings().step_size(0.005)).unwrap();
        for _ in 0..4000 {
            let query = told.ask().unwrap().unwrap();
            let gradient = [slope(query.user, query.point[0])];
            told.tell(query.ticket, Answer::new(&gradient).weight(weights[query.user])).unwrap();
        }
        assert!((told.point()[0] - optimum).abs() < 1e-3, "{name}, told: {:?}, not {optimum}", told.point());
    }
}

#[test]
fn weights_that_make_no_sense_are_refused() {
    let open = |weights: Vec<f64>| Session::new(method::sgd(), settings().step_size(0.1).weights(weights)).unwrap_err();
    assert_eq!(open(vec![1.0; 3]), SettingsError::WeightsLength { users: 4, found: 3 });
    assert_eq!(open(vec![1.0, 0.0, 1.0, 1.0]), SettingsError::Weight { user: 1, value: 0.0 });
    let problem = Quadratic::scalar(&[1.0; 4], &CENTERS).unwrap();
    let with_problem = Settings::for_problem(vec![1.0], &problem).weights(vec![1.0; 4]);
    let refused = Session::with_sight(method::saga(), with_problem, Sight::Problem(&problem)).unwrap_err();
    assert_eq!(refused, SettingsError::WeightsOfProblem);
    assert!(problem.gap(&[1.0]).is_some());
    // A weight that makes an answer too large is refused, and the question stays open.
    let mut session =
        Session::new(method::sgd(), settings().step_size(0.1).weights(vec![1e-9, 1.0, 1.0, 1e9])).unwrap();
    for _ in 0..40 {
        let query = session.ask().unwrap().unwrap();
        let told = session.tell(query.ticket, &[1e308]);
        assert_eq!(told.is_err(), query.user == 3, "{told:?}");
        if told.is_err() {
            assert_eq!(session.pending().len(), 1);
            return;
        }
        session.tell(query.ticket, &[1e308]).unwrap();
    }
}

/// A budget in cost is never exceeded: whoever costs more than what is left is not asked.
#[test]
fn a_budget_in_cost_is_kept() {
    for open in [1, 3] {
        let costs = vec![1.0, 2.5, 4.0, 0.5];
        let settings = settings().step_size(0.01).costs(costs).cost_budget(20.0).open(open);
        let mut session = Session::new(method::sgd(), settings).unwrap();
        while let Some(query) = session.ask().unwrap() {
            session.tell(query.ticket, &[slope(query.user, query.point[0])]).unwrap();
        }
        let cost = session.meter().cost();
        assert!(cost <= 20.0 && cost > 19.4, "{cost}");
        assert_eq!(session.stop_reason(), Some(StopReason::CostBudget { cost }));
        session.extend_cost(3.0);
        assert!(session.ask().unwrap().is_some());
    }
    let refused = Session::new(method::sgd(), settings().step_size(0.1).cost_budget(-1.0)).unwrap_err();
    assert!(matches!(refused, SettingsError::Stop { name: "budget in cost", .. }));
}

#[test]
fn a_budget_in_numbers_is_kept() {
    let mut session = Session::new(method::sgd(), settings().step_size(0.01).numbers_budget(7).open(2)).unwrap();
    while let Some(query) = session.ask().unwrap() {
        session.tell(query.ticket, &[1.0]).unwrap();
    }
    assert_eq!(session.meter().numbers(), 7);
    assert_eq!(session.stop_reason(), Some(StopReason::NumbersBudget { numbers: 7 }));
    session.extend_numbers(1);
    assert!(session.ask().unwrap().is_some());
}

/// SGQ's score for each unit of cost: of users who are alike but for their costs, the cheap ones are asked.
#[test]
fn scores_may_be_for_each_unit_of_cost() {
    let ask = |cost_aware: bool| {
        let choice = SurrogateEi::new(0.0).cost_aware(cost_aware);
        let method = Method::new("by cost", LastGradient::new(), choice, Saga);
        let settings =
            Settings::new(vec![3.0], 4).smoothness(vec![2.0; 4]).step_size(0.1).costs(vec![5.0, 1.0, 5.0, 5.0]);
        let mut session = Session::new(method, settings).unwrap();
        let asked: Vec<usize> = (0..40)
            .map(|_| {
                let query = session.ask().unwrap().unwrap();
                session.tell(query.ticket, &[2.0 * query.point[0]]).unwrap();
                query.user
            })
            .collect();
        asked[4..].iter().filter(|user| **user == 1).count()
    };
    assert!(ask(true) > 2 * ask(false), "{} and {}", ask(true), ask(false));
}

/// What an answer says it cost takes the place of what was expected.
#[test]
fn answers_may_say_what_they_cost() {
    let mut session = Session::new(method::sgd(), settings().step_size(0.01)).unwrap();
    let query = session.ask().unwrap().unwrap();
    session.tell(query.ticket, Answer::new(&[1.0]).cost(12.5)).unwrap();
    assert_eq!(session.meter().cost(), 12.5);
}

/// Who is next in a first sweep may leave, and join again before its turn: nobody is waited for, or asked twice.
#[test]
fn a_first_sweep_goes_on_without_its_next_user() {
    let mut session = Session::new(method::saga(), settings()).unwrap();
    session.leave(0).unwrap();
    let asked: Vec<_> = (0..40).map(|_| answer(&mut session)).collect();
    assert!(asked.iter().all(|user| user.is_some_and(|user| user != 0)), "{asked:?}");
    let mut session = Session::new(method::saga(), settings()).unwrap();
    session.leave(0).unwrap();
    session.join(0).unwrap();
    let mut first: Vec<_> = (0..4).map(|_| answer(&mut session).unwrap()).collect();
    first.sort_unstable();
    assert_eq!(first, [0, 1, 2, 3]);
}

/// Who leaves and joins while somebody else was never asked, and is away, is asked again.
#[test]
fn who_joins_is_asked_though_others_are_away() {
    let mut session = Session::new(method::frugal(), settings()).unwrap();
    session.away(3).unwrap();
    (0..9).for_each(|_| assert!(answer(&mut session).is_some()));
    session.leave(1).unwrap();
    session.join(1).unwrap();
    assert!((0..9).any(|_| answer(&mut session) == Some(1)));
}

/// A budget that is spent by an answer that waits for others, or is of no use, ends the run too.
#[test]
fn a_budget_ends_the_run_whatever_becomes_of_the_last_answer() {
    let mut session = Session::new(method::gd(), settings().budget(2)).unwrap();
    session.away(0).unwrap();
    (0..2).for_each(|_| assert!(answer(&mut session).is_some()));
    assert_eq!(session.stop_reason(), Some(StopReason::Budget { queries: 2 }));
    let mut session = Session::new(method::frugal(), settings().budget(1).open(2)).unwrap();
    let query = session.ask().unwrap().unwrap();
    session.leave(query.user).unwrap();
    session.tell(query.ticket, &[1.0]).unwrap();
    assert_eq!(session.stop_reason(), Some(StopReason::Budget { queries: 1 }));
}

#[test]
fn a_budget_in_cost_is_kept_in_sweeps() {
    let settings = settings().costs(vec![1.0, 100.0, 1.0, 1.0]).cost_budget(50.0);
    let mut session = Session::new(method::saga(), settings).unwrap();
    while answer(&mut session).is_some() {}
    assert_eq!(session.stop_reason(), Some(StopReason::CostBudget { cost: 3.0 }));
}

/// Where those who told Hessians have left, the others' objective is still found.
#[test]
fn what_leavers_told_of_curvature_holds() {
    let mut session = Session::new(method::frugal(), settings().answers(Detail::Hessian)).unwrap();
    let ask = |session: &mut Session<'_>, times: usize| {
        for _ in 0..times {
            let query = session.ask().unwrap().unwrap();
            let gradient = [slope(query.user, query.point[0])];
            let plain = Answer::new(&gradient);
            session.tell(query.ticket, if query.user == 0 { plain.hessian(&[2.0]) } else { plain }).unwrap();
        }
    };
    ask(&mut session, 8);
    session.leave(0).unwrap();
    ask(&mut session, 40);
    assert!((session.point()[0] - 29.0).abs() < 1e-6, "{:?}", session.point());
}

/// Hessians that are zero where the run starts, such as Huber's far out, are no reason to go far.
#[test]
fn users_without_curvature_at_the_start_are_gone_down_slowly() {
    let mut session = Session::new(method::frugal(), Settings::new(vec![9.0], 4).answers(Detail::Hessian)).unwrap();
    let centers = [0.0, 1.0, 2.0, -1.0];
    for _ in 0..400 {
        let query = session.ask().unwrap().unwrap();
        let off = query.point[0] - centers[query.user];
        let (gradient, hessian) = ([off.clamp(-1.0, 1.0)], [f64::from(u8::from(off.abs() < 1.0))]);
        session.tell(query.ticket, Answer::new(&gradient).hessian(&hessian)).unwrap();
    }
    assert_eq!(session.stop_reason(), None);
    assert!((0.0..=1.0).contains(&session.point()[0]), "{:?}", session.point());
}

/// Parts of an answer that hold the same number are not the same part.
#[test]
fn another_part_is_another_answer() {
    let mut session = Session::new(method::sgd(), settings().step_size(0.1)).unwrap();
    let query = session.ask().unwrap().unwrap();
    let plain = Answer::new(&[1.0]);
    session.tell(query.ticket, plain.loss(2.0)).unwrap();
    session.tell(query.ticket, plain.loss(2.0)).unwrap();
    for other in [plain, plain.loss(3.0), plain.hessian(&[2.0]), plain.variance(&[2.0]), plain.weight(2.0).loss(2.0)] {
        assert!(session.tell(query.ticket, other).is_err(), "{other:?}");
    }
    assert_eq!(session.queries(), 1);
}

/// Failed questions of those who left may still be billed, once; who joins lets a run go on.
#[test]
fn leaving_loses_no_bill_and_joining_revives() {
    let mut session = Session::new(method::frugal(), settings()).unwrap();
    let query = session.ask().unwrap().unwrap();
    session.leave(query.user).unwrap();
    session.fail_with(query.ticket, Failure::new().billed()).unwrap();
    session.fail_with(query.ticket, Failure::new().billed()).unwrap();
    assert_eq!(session.queries(), 1);
    (0..4).for_each(|user| session.away(user).unwrap());
    assert_eq!((session.ask().unwrap(), session.stop_reason()), (None, Some(StopReason::NobodyAnswers)));
    session.join(query.user).unwrap();
    assert_eq!(session.stop_reason(), None);
}

/// A told weight is checked before it counts.
#[test]
fn told_weights_that_are_too_large_are_refused() {
    let mut session = Session::new(method::frugal(), settings()).unwrap();
    let mut tell = |weight: f64| {
        let query = session.ask().unwrap().unwrap();
        session.tell(query.ticket, Answer::new(&[1.0]).weight(weight))
    };
    tell(1e-200).unwrap();
    assert!(tell(1e200).is_err());
    tell(1e-200).unwrap();
    let problem = Quadratic::scalar(&[1.0; 4], &CENTERS).unwrap();
    let settings = Settings::for_problem(vec![1.0], &problem);
    let mut session = Session::with_sight(method::frugal(), settings, Sight::Problem(&problem)).unwrap();
    let query = session.ask().unwrap().unwrap();
    assert!(session.tell(query.ticket, Answer::new(&[1.0]).weight(2.0)).is_err());
}
