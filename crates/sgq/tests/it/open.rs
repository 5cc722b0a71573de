//! Several questions at once, answers in any order, users who fail, go and come back.

use sgq::{
    Answer, Detail, Method, Need, Oracle, Problem, Query, Random, Session, Settings, SettingsError, Sight, StopReason,
    TellError,
    answer::packed,
    method::{self, METHODS},
    problem::DenseQuadratic,
    session::Failure,
};

use crate::random_problem::{random_quadratic, safe_settings};

const USERS: usize = 9;
const DIM: usize = 3;

fn problem() -> (DenseQuadratic, Settings) {
    let (problem, start) = random_quadratic(&mut Random::new(5, "open"), USERS, DIM);
    let settings = safe_settings(&problem, start).seed(9);
    (problem, settings)
}

fn gradient(problem: &dyn Oracle, query: &Query) -> Vec<f64> {
    let mut gradient = vec![0.0; problem.dim()];
    problem.gradient(query.user, &query.point, &mut gradient);
    gradient
}

fn bits(numbers: &[f64]) -> Vec<u64> {
    numbers.iter().map(|x| x.to_bits()).collect()
}

/// Whether a method can have several questions out.
fn takes_several(method: Method, settings: &Settings, problem: &DenseQuadratic) -> bool {
    let refused = Session::with_sight(method, settings.clone().open(2), Sight::Problem(problem)).err();
    assert!(matches!(refused, None | Some(SettingsError::Unmet { need: Need::OneAtATime, .. })), "{refused:?}");
    refused.is_none()
}

#[test]
fn methods_without_a_meaning_for_old_points_are_refused() {
    let (problem, settings) = problem();
    let refused: Vec<&str> = METHODS
        .iter()
        .filter(|entry| !takes_several(entry.method(), &settings, &problem))
        .map(|entry| entry.name)
        .collect();
    assert_eq!(refused, ["katyusha", "sarah"]);
    let none = Session::new(method::sgd(), Settings::new(vec![1.0], 2).step_size(0.1).open(0));
    assert_eq!(none.unwrap_err(), SettingsError::NoneOpen);
}

/// Events in a random life: over all methods and seeds, a million.
const EVENTS: usize = 10_000;

/// Whatever happens in whichever order: the meter adds up, no user has two questions out, no question is lost or answered twice.
#[test]
fn any_order_of_events_keeps_the_books() {
    let (problem, settings) = problem();
    for entry in METHODS {
        if !takes_several(entry.method(), &settings, &problem) {
            continue;
        }
        for seed in 0..4 {
            let open = [2, 4, USERS, 20][seed as usize];
            let settings = settings.clone().open(open).budget(60).answers(Detail::ALL[seed as usize % 3]);
            live_through(entry.method(), &settings, &problem, seed);
        }
    }
}

/// A random life of one session.
fn live_through(method: Method, settings: &Settings, problem: &DenseQuadratic, seed: u64) {
    let mut random = Random::new(seed, "events");
    let mut session = Session::with_sight(method.clone(), settings.clone(), Sight::Problem(problem)).unwrap();
    let name = session.name().to_owned();
    let (mut out, mut failed, mut told): (Vec<Query>, Vec<Query>, Vec<(Query, bool)>) = Default::default();
    let (mut budget, mut numbers) = (settings.budget.unwrap(), 0);
    let mut hessian = vec![0.0; DIM * DIM];
    for _ in 0..EVENTS {
        match random.index(14) {
            0..=3 => {
                if let Some(query) = session.ask().unwrap() {
                    assert!(out.iter().all(|other| other.user != query.user), "{name}: two questions to one user");
                    assert!(!session.is_away(query.user) && !session.has_left(query.user), "{name}");
                    out.push(query);
                }
            }
            4..=6 if !out.is_empty() => {
                let query = out.swap_remove(random.index(out.len()));
                let answer = gradient(problem, &query);
                assert!(matches!(session.tell(query.ticket, &answer[1..]), Err(TellError::Length { .. })), "{name}");
                // Users say more or less each time.
                assert!(problem.hessian(query.user, &query.point, &mut hessian));
                let packed = packed(&hessian, DIM);
                let plain = Answer::new(&answer);
                let answer = match random.index(4) {
                    0 => plain.loss(problem.user_value(query.user, &query.point)),
                    1 => plain.hessian(&packed),
                    2 => plain.variance(&[1e-9]).cost(2.0),
                    _ => plain,
                };
                session.tell(query.ticket, answer).unwrap();
                session.tell(query.ticket, answer).unwrap();
                numbers += answer.numbers();
                told.push((query, answer.numbers() == DIM as u64));
            }
            7 if !out.is_empty() => {
                let query = out.swap_remove(random.index(out.len()));
                session.fail(query.ticket).unwrap();
                session.fail(query.ticket).unwrap();
                failed.push(query);
            }
            8 if !failed.is_empty() => {
                let query = failed.swap_remove(random.index(failed.len()));
                session.tell(query.ticket, &gradient(problem, &query)).unwrap();
                numbers += DIM as u64;
                told.push((query, true));
            }
            8 if !told.is_empty() => {
                let (query, plain) = &told[random.index(told.len())];
                let again = session.tell(query.ticket, &gradient(problem, query));
                assert_eq!(again.is_ok(), *plain, "{name}: {again:?}");
                assert!(matches!(session.fail(query.ticket), Err(TellError::AnsweredAlready { .. })), "{name}");
            }
            9 => session.away(random.index(USERS)).unwrap(),
            10 => (0..USERS).for_each(|user| session.back(user).unwrap()),
            12 if random.index(8) == 0 => {
                let user = random.index(USERS);
                if session.leave(user).is_ok() {
                    assert!(session.has_left(user), "{name}");
                    let place = out.iter().position(|query| query.user == user);
                    failed.extend(place.map(|place| out.swap_remove(place)));
                }
            }
            13 if random.index(4) == 0 => session.join(random.index(USERS)).unwrap(),
            11 if random.index(8) == 0 => {
                let bytes = session.snapshot().unwrap();
                session = Session::restore(method.clone(), &bytes, Sight::Problem(problem)).unwrap();
                assert_eq!(session.snapshot().unwrap(), bytes, "{name}");
                session.extend(30);
                budget += 30;
            }
            _ => {}
        }
        assert_eq!(session.queries(), told.len() as u64, "{name}");
        assert_eq!(session.queries(), session.meter().billed_per_user().iter().sum::<u64>(), "{name}");
        assert_eq!(session.meter().numbers(), numbers, "{name}");
        // Late answers to failed questions may come on top.
        assert!(session.queries() <= budget + EVENTS as u64, "{name}");
        let mut pending: Vec<_> = session.pending().map(|query| query.ticket).collect();
        let mut expected: Vec<_> = out.iter().map(|query| query.ticket).collect();
        pending.sort();
        expected.sort();
        assert_eq!(pending, expected, "{name}");
        assert!(out.len() <= settings.open, "{name}");
        assert!(session.point().iter().all(|x| x.is_finite()), "{name}");
    }
}

/// Everybody is asked at once in a sweep, and the order of the answers changes no bit.
#[test]
fn answers_of_a_sweep_may_come_in_any_order() {
    let (problem, settings) = problem();
    for method in [
        method::gd(),
        method::l_bfgs(),
        method::saga(),
        method::sgq(0.3),
        method::svrg(Some(3)),
        method::iqn(),
        method::dave_qn(),
        method::nim(),
        method::fednl(),
        method::fisher_scoring(),
    ] {
        let sight = || Sight::Problem(&problem);
        let mut in_turn = Session::with_sight(method.clone(), settings.clone(), sight()).unwrap();
        let mut at_once = Session::with_sight(method.clone(), settings.clone().open(USERS), sight()).unwrap();
        for _ in 0..USERS {
            let query = in_turn.ask().unwrap().unwrap();
            in_turn.tell(query.ticket, &gradient(&problem, &query)).unwrap();
        }
        let mut queries = at_once.ask_many(100).unwrap();
        assert_eq!(queries.iter().map(|query| query.user).collect::<Vec<_>>(), (0..USERS).collect::<Vec<_>>());
        Random::new(3, "order").shuffle(&mut queries);
        // One of them fails at first, and is asked again.
        let lost = queries.pop().unwrap();
        at_once.fail(lost.ticket).unwrap();
        for query in &queries {
            at_once.tell(query.ticket, &gradient(&problem, query)).unwrap();
        }
        assert_eq!(at_once.queries(), USERS as u64 - 1);
        let again = at_once.ask().unwrap().unwrap();
        assert_eq!((again.user, &again.point), (lost.user, &lost.point), "{}", at_once.name());
        at_once.tell(again.ticket, &gradient(&problem, &again)).unwrap();
        assert_eq!(bits(at_once.point()), bits(in_turn.point()), "{}", at_once.name());
        assert_eq!(at_once.ask().unwrap().map(|it| it.user), in_turn.ask().unwrap().map(|it| it.user));
    }
}

/// With answers some questions old, methods still get to the optimum.
#[test]
fn old_answers_lead_to_the_optimum_too() {
    let (problem, settings) = problem();
    let start = problem.gap(&settings.start).unwrap();
    for method in [
        method::frugal(),
        method::saga(),
        method::iag(),
        method::mifa(),
        method::diag(),
        method::iqn(),
        method::dave_qn(),
        method::svrg(None),
        method::nim(),
        method::stochastic_newton(),
        method::fednl(),
    ] {
        let settings = settings.clone().open(4);
        let mut session = Session::with_sight(method, settings, Sight::Problem(&problem)).unwrap();
        let mut out: Vec<Query> = Vec::new();
        while session.queries() < 2_000 {
            out.extend(session.ask_many(4).unwrap());
            let query = out.remove(0);
            session.tell(query.ticket, &gradient(&problem, &query)).unwrap();
        }
        let gap = problem.gap(session.point()).unwrap();
        assert!(gap < 1e-6 * start, "{}: {gap:e} of {start:e}", session.name());
    }
}

#[test]
fn who_fails_is_backed_off_and_nobody_spins() {
    let mut session =
        Session::new(method::shuffled_sgd(), Settings::new(vec![5.0], 3).step_size(0.1).budget(500)).unwrap();
    let (mut asked, mut answered) = ([0; 3], 0);
    while answered < 200 {
        let query = session.ask().unwrap().unwrap();
        asked[query.user] += 1;
        if query.user == 1 {
            session.fail(query.ticket).unwrap();
        } else {
            session.tell(query.ticket, &[query.point[0] - query.user as f64]).unwrap();
            answered += 1;
        }
    }
    assert!(asked[1] >= 4 && asked[1] <= 20, "{asked:?}");
    // Once the others are away, it is asked a few times more, and then nobody.
    session.away(0).unwrap();
    session.away(2).unwrap();
    let mut more = 0;
    while let Some(query) = session.ask().unwrap() {
        assert_eq!(query.user, 1);
        session.fail(query.ticket).unwrap();
        more += 1;
        assert!(more < 50);
    }
    assert_eq!(session.stop_reason(), Some(StopReason::NobodyAnswers));
    assert!(session.away(3).is_err() && session.back(3).is_err());
    session.back(2).unwrap();
    let query = session.ask().unwrap().unwrap();
    assert_eq!(query.user, 2);
    // A late answer shows that somebody is there, too.
    session.away(2).unwrap();
    session.fail(query.ticket).unwrap();
    while let Some(lost) = session.ask().unwrap() {
        session.fail(lost.ticket).unwrap();
    }
    assert_eq!(session.stop_reason(), Some(StopReason::NobodyAnswers));
    session.tell(query.ticket, &[0.5]).unwrap();
    assert_eq!(session.stop_reason(), None);
}

/// The last user of a sweep, or of a round, fails: it is asked again a few times, though no event ends its wait.
#[test]
fn the_last_one_is_asked_again() {
    for method in [method::saga(), method::grab(), method::gd()] {
        let settings = Settings::new(vec![5.0], 3).step_size(0.1).budget(500);
        let mut session = Session::new(method, settings).unwrap();
        for _ in 0..2 {
            let query = session.ask().unwrap().unwrap();
            session.tell(query.ticket, &[1.0]).unwrap();
        }
        let mut failures = 0;
        while let Some(query) = session.ask().unwrap() {
            session.fail(query.ticket).unwrap();
            failures += 1;
            assert!(failures < 20, "{}", session.name());
        }
        assert!(failures >= 3, "{}: {failures}", session.name());
        assert_eq!(session.stop_reason(), Some(StopReason::NobodyAnswers));
    }
}

/// What comes late for an update that has gone on is billed, and the run goes on as if it had not come.
#[test]
fn late_answers_do_not_disturb_an_update_that_went_on() {
    let (problem, settings) = problem();
    let answer = |session: &mut Session<'_>| {
        let query = session.ask().unwrap().unwrap();
        session.tell(query.ticket, &gradient(&problem, &query)).unwrap();
    };
    for (method, before) in [
        // Between the two questions of a step, and at each of them.
        (method::sarah(), USERS),
        (method::sarah(), USERS + 1),
        (method::katyusha(), USERS + 3),
    ] {
        let mut session = Session::with_sight(method.clone(), settings.clone(), Sight::Problem(&problem)).unwrap();
        (0..before).for_each(|_| answer(&mut session));
        let lost = session.ask().unwrap().unwrap();
        session.fail(lost.ticket).unwrap();
        let bytes = session.snapshot().unwrap();
        let mut without = Session::restore(method, &bytes, Sight::Problem(&problem)).unwrap();
        answer(&mut session);
        answer(&mut without);
        session.tell(lost.ticket, &gradient(&problem, &lost)).unwrap();
        for _ in 0..3 * USERS {
            answer(&mut session);
            answer(&mut without);
            assert_eq!(bits(session.point()), bits(without.point()), "{} after {before}", session.name());
        }
        assert_eq!(session.queries(), without.queries() + 1);
    }
    // While SVRG takes a new snapshot, an answer from before it moves nothing.
    let mut session = Session::with_sight(method::svrg(Some(2)), settings.clone(), Sight::Problem(&problem)).unwrap();
    (0..USERS).for_each(|_| answer(&mut session));
    let lost = session.ask().unwrap().unwrap();
    session.fail(lost.ticket).unwrap();
    (0..3).for_each(|_| answer(&mut session));
    let point = bits(session.point());
    session.tell(lost.ticket, &gradient(&problem, &lost)).unwrap();
    assert_eq!(bits(session.point()), point);
}

/// The budget counts what is out.
#[test]
fn no_more_is_asked_than_the_budget_allows() {
    let settings = Settings::new(vec![5.0], 6).step_size(0.1).budget(3).open(5);
    let mut session = Session::new(method::sgd(), settings).unwrap();
    let queries = session.ask_many(5).unwrap();
    assert_eq!((queries.len(), session.pending().len()), (3, 3));
    assert_eq!((session.ask().unwrap(), session.stop_reason()), (None, None));
    for query in &queries {
        session.tell(query.ticket, &[1.0]).unwrap();
    }
    assert_eq!(session.stop_reason(), Some(StopReason::Budget { queries: 3 }));
}

/// Who failed, how often and why is kept, told by a run that stops because of it, and stored.
#[test]
fn failures_are_remembered_with_their_reasons() {
    let settings = Settings::new(vec![5.0], 5).step_size(0.1).budget(500);
    let mut session = Session::new(method::shuffled_sgd(), settings).unwrap();
    let mut failed = [0_u64; 5];
    while let Some(query) = session.ask().unwrap() {
        failed[query.user] += 1;
        let reason = format!("no route to user {}", query.user);
        let failure = Failure::new();
        session.fail_with(query.ticket, if query.user == 2 { failure } else { failure.because(&reason) }).unwrap();
        // Saying it again changes nothing.
        session.fail_with(query.ticket, Failure::new().because("another reason").billed()).unwrap();
    }
    assert_eq!(session.queries(), 0);
    let found: Vec<_> = session.failures().map(|it| (it.user, it.times, it.last_reason.map(str::to_owned))).collect();
    let reason = |user: usize| (user != 2).then(|| format!("no route to user {user}"));
    let expected: Vec<_> = (0..5).map(|user| (user, failed[user], reason(user))).collect();
    assert_eq!(found, expected);
    let message = session.stop_message().unwrap();
    assert!(message.contains("nobody can be asked") && message.contains("; and 2 more"), "{message}");
    assert!(
        message.contains(" times: no route to user 0") || message.contains(" times: no route to user 1"),
        "{message}"
    );
    let bytes = session.snapshot().unwrap();
    let later = Session::restore(method::shuffled_sgd(), &bytes, Sight::Blind).unwrap();
    assert!(later.failures().eq(session.failures()) && later.stop_message() == session.stop_message());
}

/// A failure that is billed counts once, whatever comes after it.
#[test]
fn a_failure_may_be_billed() {
    let settings = Settings::new(vec![5.0], 3).step_size(0.1).costs(vec![1.0, 2.0, 4.0]).budget(3);
    let mut session = Session::new(method::shuffled_sgd(), settings).unwrap();
    let lost = session.ask().unwrap().unwrap();
    session.fail_with(lost.ticket, Failure::new().billed()).unwrap();
    let counts = |session: &Session<'_>| (session.queries(), session.meter().cost(), session.meter().numbers());
    let cost = [1.0, 2.0, 4.0][lost.user];
    assert_eq!(counts(&session), (1, cost, 0));
    session.tell(lost.ticket, &[1.0]).unwrap();
    session.tell(lost.ticket, &[1.0]).unwrap();
    assert_eq!(counts(&session), (1, cost, 1));
    for _ in 0..2 {
        let query = session.ask().unwrap().unwrap();
        session.fail_with(query.ticket, Failure::new().billed()).unwrap();
    }
    assert_eq!(session.stop_reason(), Some(StopReason::Budget { queries: 3 }));
    assert_eq!(session.meter().billed_per_user().iter().sum::<u64>(), 3);
}
