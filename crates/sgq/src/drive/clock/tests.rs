use std::{collections::BTreeMap, collections::VecDeque, io, ops::ControlFlow};

use super::*;
use crate::{
    Answer, Detail, Method, Problem, Settings, SettingsError, Sight,
    drive::{Billed, Observer, drive, drive_by},
    method::{self, METHODS},
    problem::Quadratic,
    setting::Value,
    simulate::{gap_curve, gap_curve_by},
};

/// Five users in two dimensions.
fn users() -> Quadratic {
    let center: Vec<Vec<f64>> = (0..5).map(|user| vec![f64::from(user) - 2.0, f64::from(user * user) - 3.0]).collect();
    Quadratic::diagonal(&[[1.0, 0.5].to_vec(), vec![2.0, 1.0], vec![0.5, 3.0], vec![1.5, 1.0], vec![1.0, 1.0]], &center)
        .unwrap()
}

fn session<'p>(method: Method, problem: &'p dyn Problem, open: usize, budget: u64) -> Session<'p> {
    let settings = Settings::for_problem(vec![5.0, -4.0], problem).budget(budget).open(open).seed(3);
    Session::with_sight(method, settings, Sight::Problem(problem)).unwrap()
}

fn everything() -> Behaviour {
    Behaviour {
        latency: Latency::HeavyTailed(1.0),
        slowness: Slowness::Spread(0.5),
        failure: 0.3,
        late: Some(Late { part: 0.1, by: 10.0 }),
        absence: Some(Absence { part: 0.3, lasts: 4.0 }),
        noise: Some(Noise { part: 0.01, stated: true }),
    }
}

/// Writes down every answer, and adds up what it should cost.
#[derive(Default)]
struct Log {
    /// Ticket, user, time and the gradient's bits.
    answers: Vec<(u64, usize, f64, Vec<u64>)>,
    asked: BTreeMap<u64, usize>,
    numbers: u64,
    stated: Option<f64>,
}

impl Observer for Log {
    fn asked(&mut self, session: &Session<'_>, query: &Query) {
        assert!(!session.is_away(query.user));
        assert_eq!(self.asked.insert(query.ticket.0, query.user), None);
    }

    fn telling(&mut self, billed: &Billed<'_>) -> io::Result<()> {
        let bits = billed.answer.gradient.iter().map(|value| value.to_bits()).collect();
        self.answers.push((billed.query.ticket.0, billed.query.user, billed.time, bits));
        self.numbers += billed.answer.numbers();
        self.stated = billed.answer.variance.map(|variance| variance[0]);
        Ok(())
    }

    fn told(&mut self, session: &Session<'_>) -> ControlFlow<()> {
        assert_eq!(session.queries(), self.answers.len() as u64);
        assert!(!session.is_away(self.answers[self.answers.len() - 1].1));
        ControlFlow::Continue(())
    }
}

fn run(method: Method, open: usize, budget: u64, behaviour: Behaviour, seed: u64) -> (Log, Vec<f64>, f64) {
    let problem = users();
    let mut session = session(method, &problem, open, budget);
    let (mut clock, mut log) = (Clock::new(behaviour, 5, seed).unwrap(), Log::default());
    let stop = drive_by(&mut session, &problem, &mut clock, &mut log).unwrap();
    assert_eq!(stop, session.stop_reason());
    assert!(matches!(stop, Some(StopReason::Budget { .. })), "{stop:?}");
    (log, session.point().to_vec(), clock.time())
}

#[test]
fn events_come_by_time_then_users_then_tickets() {
    let problem = users();
    let query = session(method::sgd(), &problem, 1, 9).ask().unwrap().unwrap();
    let question = |time: f64, ticket: u64| {
        let query = Query { ticket: Ticket(ticket), ..query.clone() };
        Reverse(Event { time, what: What::Question(query, Fate::Answered) })
    };
    let turn = |time: f64, user: usize| Reverse(Event { time, what: What::Turn { user, returns: true } });
    let mut heap: BinaryHeap<_> =
        [question(2.0, 0), question(1.0, 9), question(1.0, 4), turn(1.0, 7), turn(1.0, 3), question(0.5, 11)].into();
    let order: Vec<_> =
        std::iter::from_fn(|| heap.pop()).map(|Reverse(event)| (event.time, event.what.order())).collect();
    let expected =
        [(0.5, (true, 11)), (1.0, (false, 3)), (1.0, (false, 7)), (1.0, (true, 4)), (1.0, (true, 9)), (2.0, (true, 0))];
    assert_eq!(order, expected);
}

/// The loop as it was before there was a clock.
fn first_in_first_out(session: &mut Session<'_>, users: &dyn Oracle) -> Vec<u64> {
    let mut order = Vec::new();
    let mut out: VecDeque<Query> = session.pending().collect();
    loop {
        for query in session.ask_many(usize::MAX).unwrap() {
            if out.iter().all(|other| other.ticket != query.ticket) {
                out.push_back(query);
            }
        }
        let Some(query) = out.pop_front() else {
            return order;
        };
        let mut answer = OwnedAnswer::default();
        answer.ask(users, &query);
        session.tell(query.ticket, Answer::from(&answer)).unwrap();
        order.push(query.ticket.0);
    }
}

#[test]
fn without_a_behaviour_answers_come_in_the_order_asked() {
    let problem = users();
    for method in [method::sgd(), method::saga(), method::frugal(), method::sgq(0.3), method::svrg(5)] {
        for open in [1, 2, 5] {
            let mut plain = session(method.clone(), &problem, open, 60);
            let order = first_in_first_out(&mut plain, &problem);
            let (mut driven, mut log) = (session(method.clone(), &problem, open, 60), Log::default());
            drive(&mut driven, &problem, &mut log).unwrap();
            assert_eq!(driven.snapshot(), plain.snapshot(), "{method} with {open}");
            assert_eq!(log.answers.iter().map(|answer| answer.0).collect::<Vec<_>>(), order);
        }
    }
}

#[test]
fn a_run_goes_on_with_its_clock() {
    struct Until(u64);
    impl Observer for Until {
        fn told(&mut self, session: &Session<'_>) -> ControlFlow<()> {
            if session.queries() < self.0 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        }
    }
    let problem = users();
    let (_, whole, _) = run(method::saga(), 3, 60, everything(), 5);
    let mut session = session(method::saga(), &problem, 3, 60);
    let mut clock = Clock::new(everything(), 5, 5).unwrap();
    for queries in [1, 2, 20, 21, 60] {
        drive_by(&mut session, &problem, &mut clock, &mut Until(queries)).unwrap();
        assert_eq!(session.queries(), queries);
    }
    assert_eq!(session.point(), whole);
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_streams_do_not_touch() {
    let (first, point, time) = run(method::frugal(), 3, 80, everything(), 5);
    let (again, same, _) = run(method::frugal(), 3, 80, everything(), 5);
    assert_eq!((&first.answers, &point), (&again.answers, &same));
    let (other, ..) = run(method::frugal(), 3, 80, everything(), 6);
    assert_ne!(first.answers, other.answers);
    assert!(time > 80.0 / 3.0 / 2.0);
    // With one question out, how long answers take changes nothing but the time.
    let slow = Behaviour { latency: Latency::Exponential(7.0), ..Behaviour::default() };
    let (slow, slow_point, _) = run(method::sgq(0.3), 1, 80, slow, 5);
    let (plain, plain_point, _) = run(method::sgq(0.3), 1, 80, Behaviour::default(), 5);
    assert_eq!(slow_point, plain_point);
    assert!(slow.answers.iter().zip(&plain.answers).all(|(one, other)| one.0 == other.0 && one.2 != other.2));
    // Noise does not change how long they take.
    let noisy = Behaviour { noise: Some(Noise { part: 0.1, stated: false }), ..everything() };
    let exact = Behaviour { noise: None, ..everything() };
    let times = |behaviour| run(method::shuffled_sgd(), 1, 50, behaviour, 5).0.answers.into_iter().map(|it| it.2);
    assert_eq!(times(noisy).collect::<Vec<_>>(), times(exact).collect::<Vec<_>>());
}

#[test]
fn questions_that_fail_are_not_billed_and_nobody_gives_up() {
    let failing = Behaviour { failure: 0.5, ..Behaviour::default() };
    let (log, _, time) = run(method::saga(), 2, 2000, failing.clone(), 1);
    // Half of the questions, with a standard deviation of about 45 of 4000.
    assert!((3800..4200).contains(&log.asked.len()), "{}", log.asked.len());
    assert!((time - 2000.0).abs() < 150.0, "{time}");
    // A single user that fails three times in a row ends a session, but not a simulation.
    let alone = Quadratic::scalar(&[1.0], &[2.0]).unwrap();
    let settings = Settings::for_problem(vec![5.0], &alone).budget(200).step_size(0.1);
    let mut session = Session::new(method::sgd(), settings).unwrap();
    let mut clock = Clock::new(failing, 1, 1).unwrap();
    let stop = drive_by(&mut session, &alone, &mut clock, &mut Log::default()).unwrap();
    assert_eq!((stop, session.queries()), (Some(StopReason::Budget { queries: 200 }), 200));
}

#[test]
fn late_answers_come_after_they_were_given_up() {
    let late = Behaviour { late: Some(Late { part: 0.25, by: 10.0 }), ..Behaviour::default() };
    let (log, ..) = run(method::saga(), 1, 400, late, 1);
    // With one question out and one unit of time for each, a question is asked at the time of its number.
    let delays: Vec<f64> = log.answers.iter().map(|(ticket, _, time, _)| time - *ticket as f64).collect();
    assert!(delays.iter().all(|delay| [1.0, 11.0].contains(delay)), "{delays:?}");
    let late = delays.iter().filter(|delay| **delay > 1.0).count();
    assert!((70..130).contains(&late), "{late}");
    assert!(log.answers.is_sorted_by_key(|answer| answer.2));
}

#[test]
fn users_go_away_and_come_back() {
    let away = Behaviour { absence: Some(Absence { part: 0.7, lasts: 5.0 }), ..Behaviour::default() };
    let (log, _, time) = run(method::shuffled_sgd(), 2, 500, away.clone(), 1);
    // All five are away for 0.7⁵ of the time: then it jumps.
    assert!(time > 300.0, "{time}");
    // What was asked of a user who went away failed.
    assert!(log.asked.len() > 520, "{}", log.asked.len());
    assert!((0..5).all(|user| log.answers.iter().any(|answer| answer.1 == user)));
    // A sweep waits for everybody.
    run(method::svrg(5), 2, 100, away, 2);
}

#[test]
fn noise_is_as_large_as_it_says() {
    let problem = users();
    let part = 0.1;
    let noisy = Behaviour { noise: Some(Noise { part, stated: true }), ..Behaviour::default() };
    let squares: f64 = (0..5)
        .map(|user| {
            let mut gradient = [0.0; 2];
            problem.gradient(user, &[5.0, -4.0], &mut gradient);
            gradient[0].powi(2) + gradient[1].powi(2)
        })
        .sum();
    let variance = part * part * squares / 10.0;
    let mut clock = Clock::new(noisy, 5, 1).unwrap();
    let query = session(method::sgd(), &problem, 1, 9).ask().unwrap().unwrap();
    let (mut answer, mut exact) = (OwnedAnswer::default(), OwnedAnswer::default());
    exact.ask(&problem, &query);
    let mut sum = 0.0;
    for _ in 0..5000 {
        answer.ask(&problem, &query);
        clock.disturb(&query, &problem, &mut answer);
        let (noisy, exact) = (Answer::from(&answer), Answer::from(&exact));
        sum += noisy.gradient.iter().zip(exact.gradient).map(|(one, other)| (one - other).powi(2)).sum::<f64>();
        assert!((noisy.variance.unwrap()[0] / variance - 1.0).abs() < 1e-12);
    }
    // A mean of 10,000 squares: a standard deviation of 1.4%.
    assert!((sum / 10_000.0 / variance - 1.0).abs() < 0.07, "{sum} {variance}");
    let silent = Behaviour { noise: Some(Noise { part, stated: false }), ..Behaviour::default() };
    assert_eq!(run(method::sgd(), 1, 9, silent, 1).0.stated, None);
}

#[test]
fn latencies_have_the_mean_that_they_say() {
    for (latency, within) in
        [(Latency::Fixed(2.0), 1e-12), (Latency::Exponential(2.0), 0.05), (Latency::HeavyTailed(2.0), 0.4)]
    {
        let mut clock = Clock::new(Behaviour { latency, ..Behaviour::default() }, 5, 1).unwrap();
        let mean = (0..20_000).map(|_| clock.latency()).sum::<f64>() / 20_000.0;
        assert!((mean - 2.0).abs() < within, "{latency:?}: {mean}");
    }
    let spread = Behaviour { slowness: Slowness::Spread(0.5), ..Behaviour::default() };
    let clock = Clock::new(spread, 20_000, 1).unwrap();
    let mean = clock.slowness.iter().sum::<f64>() / 20_000.0;
    assert!((mean - 1.0).abs() < 0.03, "{mean}");
    let each = Behaviour { slowness: Slowness::Each(vec![3.0, 0.0, 1.0, 1.0, 1.0]), ..Behaviour::default() };
    let (log, ..) = run(method::shuffled_sgd(), 1, 5, each, 1);
    assert_eq!(log.answers[4].2, 6.0);
}

/// Whatever happens, the meter counts what was told, and nothing else.
#[test]
fn the_meter_adds_up_under_many_events() {
    let problem = users();
    let settings = Settings::for_problem(vec![5.0, -4.0], &problem).budget(60_000).open(3).seed(3);
    let costs = vec![1.0, 2.0, 4.0, 8.0, 16.0];
    let settings = settings.costs(costs.clone()).answers(Detail::Hessian).step_size(1e-3);
    let mut session = Session::with_sight(method::shuffled_sgd(), settings, Sight::Problem(&problem)).unwrap();
    let (mut clock, mut log) = (Clock::new(everything(), 5, 9).unwrap(), Log::default());
    drive_by(&mut session, &problem, &mut clock, &mut log).unwrap();
    assert!(log.asked.len() + log.answers.len() > 100_000);
    let meter = session.meter();
    assert_eq!((meter.billed(), meter.numbers()), (log.answers.len() as u64, log.numbers));
    assert_eq!(meter.cost(), log.answers.iter().map(|answer| costs[answer.1]).sum::<f64>());
    for (user, billed) in meter.billed_per_user().iter().enumerate() {
        assert_eq!(log.answers.iter().filter(|answer| answer.1 == user).count() as u64, *billed);
    }
    // Every answer is to a question, and no question has two.
    let mut tickets: Vec<u64> = log.answers.iter().map(|answer| answer.0).collect();
    tickets.sort_unstable();
    tickets.dedup();
    assert_eq!(tickets.len(), log.answers.len());
    assert!(log.answers.iter().all(|answer| log.asked[&answer.0] == answer.1));
}

/// Every method that there is gets through, or is refused in its own words.
#[test]
fn every_method_takes_part() {
    let problem = users();
    let mut refused = 0;
    for entry in METHODS {
        for open in [1, 3] {
            let settings =
                Settings::for_problem(vec![5.0, -4.0], &problem).budget(40).open(open).answers(Detail::Hessian);
            let method = Method::by_name(entry.name).unwrap();
            let mut session = match Session::with_sight(method, settings, Sight::Problem(&problem)) {
                Err(SettingsError::Unmet { need: crate::Need::OneAtATime, .. }) if open > 1 => {
                    refused += 1;
                    continue;
                }
                session => session.unwrap(),
            };
            let mut clock = Clock::new(everything(), 5, 4).unwrap();
            let stop = drive_by(&mut session, &problem, &mut clock, &mut Log::default()).unwrap();
            assert!(session.queries() >= 40 || matches!(stop, Some(StopReason::Diverged { .. })), "{}", entry.name);
        }
    }
    assert!(refused >= 2);
}

#[test]
fn curves_say_what_was_spent() {
    let problem = users();
    let curve = |open| {
        let mut session = session(method::frugal().with("learned", Value::Switch(false)).unwrap(), &problem, open, 30);
        let mut clock =
            Clock::new(Behaviour { latency: Latency::Exponential(1.0), ..Behaviour::default() }, 5, 4).unwrap();
        gap_curve_by(&mut session, &problem, 30, &mut clock, |_| Ok(())).unwrap()
    };
    let one = curve(1);
    assert_eq!((one.gaps.len(), one.spent.len()), (31, 31));
    assert_eq!((one.spent[0].time, one.spent[30].cost, one.spent[30].numbers), (0.0, 30.0, 60));
    assert!(one.spent.is_sorted_by_key(|spent| spent.time));
    assert!(curve(5).spent[30].time < 0.5 * one.spent[30].time);
    let mut plain = session(method::frugal(), &problem, 1, 30);
    let plain = gap_curve(&mut plain, &problem, 30, |_| Ok(())).unwrap();
    assert!(plain.spent.is_empty());
    assert_eq!(plain.gaps, one.gaps);
}

#[test]
fn what_users_cannot_do_is_refused_in_words() {
    for (behaviour, words) in [
        (Behaviour { failure: 1.0, ..Behaviour::default() }, "failure is 1: it must be at least 0 and below 1"),
        (Behaviour { latency: Latency::Fixed(f64::NAN), ..Behaviour::default() }, "latency is NaN"),
        (Behaviour { slowness: Slowness::Each(vec![1.0; 3]), ..Behaviour::default() }, "given for 5 users"),
        (Behaviour { late: Some(Late { part: 0.1, by: -1.0 }), ..Behaviour::default() }, "late by is -1"),
        (Behaviour { absence: Some(Absence { part: 0.1, lasts: 0.0 }), ..Behaviour::default() }, "absence lasts is 0"),
    ] {
        let error = Clock::new(behaviour, 5, 0).unwrap_err();
        assert!(error.to_string().contains(words), "{error}");
    }
    let text = r#"{"latency":{"exponential":2.0},"slowness":"same","late":{"part":0.1,"by":10.0}}"#;
    let read: Behaviour = serde_json::from_str(text).unwrap();
    assert_eq!(read.late, Some(Late { part: 0.1, by: 10.0 }));
    assert_eq!(serde_json::from_str::<Behaviour>(&serde_json::to_string(&read).unwrap()).unwrap(), read);
    assert!(serde_json::from_str::<Behaviour>(r#"{"latncy":1}"#).is_err());
}
