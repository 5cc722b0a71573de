//! What remains by a method's own account, the tolerance that stops by it, and what is proven to remain at most.

use sgq::{
    Answer, Detail, Format, Method, Need, Oracle as _, PaidAnswer, Problem, Query, Random, Remaining, Session,
    Settings, SettingsError, Sight, StopReason,
    answer::packed,
    belief::Model,
    method,
    problem::{Custom, Loss, Quadratic},
    session::Uncertified,
};

use crate::random_problem::{random_quadratic, random_regression};

/// A problem, and where to start.
struct Case {
    name: String,
    problem: Box<dyn Problem>,
    start: Vec<f64>,
}

/// Random problems, so many of each of these losses; `None` is a quadratic.
fn cases(rounds: u64, losses: &[Option<Loss>]) -> Vec<Case> {
    let mut cases = Vec::new();
    for seed in 0..rounds {
        for loss in losses {
            let name = format!("{loss:?}, seed {seed}");
            let mut random = Random::new(seed, &name);
            let (users, dim) = (8 + random.index(8), 1 + random.index(4));
            let (problem, start): (Box<dyn Problem>, Vec<f64>) = match *loss {
                Some(loss) => {
                    let problem = random_regression(loss, users, dim, 1.0, &mut random);
                    (Box::new(problem), (0..dim).map(|_| 4.0 * random.unit() - 2.0).collect())
                }
                None => {
                    let (problem, start) = random_quadratic(&mut random, users, dim);
                    (Box::new(problem), start)
                }
            };
            cases.push(Case { name, problem, start });
        }
    }
    cases
}

impl Case {
    fn settings(&self) -> Settings {
        Settings::for_problem(self.start.clone(), &*self.problem)
    }

    /// The gap, as a part of that at the start.
    fn part(&self, point: &[f64]) -> f64 {
        self.problem.gap(point).unwrap() / self.problem.gap(&self.start).unwrap()
    }
}

fn open(settings: Settings) -> Session<'static> {
    Session::new(method::frugal(), settings).unwrap()
}

fn refused(method: Method, settings: Settings) -> SettingsError {
    Session::new(method, settings).unwrap_err()
}

fn gradient(problem: &dyn Problem, query: &Query) -> Vec<f64> {
    let mut gradient = vec![0.0; problem.dim()];
    problem.gradient(query.user, &query.point, &mut gradient);
    gradient
}

/// Asks once, if there is anything to ask; with the Hessian, if the session wants it.
fn advance(session: &mut Session<'_>, problem: &dyn Problem) -> Option<usize> {
    let query = session.ask().unwrap()?;
    let (gradient, mut hessian) = (gradient(problem, &query), vec![0.0; problem.dim().pow(2)]);
    let mut answer = Answer::new(&gradient);
    if query.wants == Detail::Hessian {
        assert!(problem.hessian(query.user, &query.point, &mut hessian));
        hessian = packed(&hessian, problem.dim());
        answer = answer.hessian(&hessian);
    }
    session.tell(query.ticket, answer).unwrap();
    Some(query.user)
}

fn bits(remaining: Remaining) -> [u64; 4] {
    [remaining.gap, remaining.low, remaining.high, remaining.at_start].map(f64::to_bits)
}

#[test]
fn a_tolerance_stops_a_run() {
    for case in cases(8, &[None, Some(Loss::Squares), Some(Loss::Logistic)]) {
        let without = Settings::new(case.start.clone(), case.problem.users());
        for (kind, settings) in
            [("L_i", case.settings()), ("no L_i", without), ("Hessians", case.settings().answers(Detail::Hessian))]
        {
            let place = format!("{}, {kind}", case.name);
            let mut session = open(settings.tolerance(1e-6).budget(2000));
            while session.stop_reason().is_none() {
                let remaining = session.remaining();
                assert!(!remaining.is_some_and(|remaining| remaining.is_within(1e-6)), "{place}: {remaining:?}");
                advance(&mut session, &*case.problem);
            }
            let remaining = session.remaining().unwrap();
            assert!(remaining.is_within(1e-6), "{place}: {remaining:?}");
            assert_eq!(session.stop_reason(), Some(StopReason::Converged { part: remaining.part() }), "{place}");
            assert_eq!(session.ask(), Ok(None), "{place}");
            let part = case.part(session.point());
            assert!(part < 1e-3, "{place}: {part:e} remains after {}", session.queries());
        }
    }
}

#[test]
fn a_tolerance_needs_a_method_that_can_tell() {
    let settings = || Settings::new(vec![1.0], 4).smoothness(vec![2.0; 4]).tolerance(1e-4);
    for method in [method::saga(), method::sgd(), method::sgq(0.3)] {
        let name = method.name().to_owned();
        let refused = refused(method, settings());
        let message = refused.to_string();
        assert_eq!(refused, SettingsError::Unmet { method: name.clone(), need: Need::Remaining });
        assert!(message.contains(&name) && message.contains("cannot tell what remains"), "{message}");
    }
    assert!(Session::new(method::frugal(), settings()).is_ok());
}

#[test]
fn a_tolerance_is_positive_and_finite() {
    for part in [0.0, -1e-4, f64::NAN, f64::INFINITY] {
        let refused = refused(method::frugal(), Settings::new(vec![1.0], 4).tolerance(part));
        assert!(matches!(refused, SettingsError::Stop { name: "tolerance", .. }), "{refused}");
    }
}

/// Users who are all alike agree from the first answers on.
#[test]
fn the_first_answers_may_agree_by_chance() {
    for (users, least) in [(20, 8), (8, 8), (5, 5)] {
        let problem = Quadratic::diagonal(&vec![vec![1.0, 3.0]; users], &vec![vec![1.0, -2.0]; users]).unwrap();
        for (detail, tolerance) in [(Detail::Hessian, 0.01), (Detail::Gradient, 0.99)] {
            let mut session =
                open(Settings::for_problem(vec![4.0, 5.0], &problem).answers(detail).tolerance(tolerance).budget(100));
            let mut within_before = 0;
            while advance(&mut session, &problem).is_some() {
                let Some(Remaining { high, at_start, asked, .. }) = session.remaining() else {
                    // The first three are asked at the start.
                    assert!(session.queries() < 3);
                    continue;
                };
                within_before += usize::from(asked < least && high <= tolerance * at_start);
            }
            let (stop, asked) = (session.stop_reason(), session.remaining().unwrap().asked);
            assert!(matches!(stop, Some(StopReason::Converged { .. })), "{stop:?}");
            assert!(within_before > 0 && asked >= least, "{asked} of {users}, {within_before} times within before");
        }
    }
}

/// Before everybody was asked, and before the model was tried, it is the upper end of the interval that counts, and what is
/// expected after that.
#[test]
fn a_run_that_has_not_asked_everybody_must_be_surer() {
    let (mut early, mut late) = (0, 0);
    for case in cases(8, &[None, Some(Loss::Squares)]) {
        let mut session = open(case.settings());
        while session.queries() < 60 {
            advance(&mut session, &*case.problem);
            let Some(remaining) = session.remaining() else {
                continue;
            };
            let Remaining { gap, low, high, at_start, asked, users, is_tried, .. } = remaining;
            assert!(low <= gap && gap <= high && at_start >= 0.0, "{}: {remaining:?}", case.name);
            let between = 0.5 * (gap + high) / at_start;
            if asked >= 8 && gap < high && high <= 0.1 * at_start {
                assert_eq!(remaining.is_within(between), is_tried, "{}: {remaining:?}", case.name);
                assert!(asked == users || !is_tried, "{}: {remaining:?}", case.name);
                early += usize::from(!is_tried);
                late += usize::from(is_tried);
            }
        }
    }
    assert!(early > 20 && late > 20, "{early} and {late}");
}

#[test]
fn nothing_remains_where_everybody_is_content() {
    let problem = Quadratic::scalar(&[1.0; 9], &[0.0; 9]).unwrap();
    let mut session = open(Settings::for_problem(vec![0.0], &problem).tolerance(1e-4).budget(50));
    while advance(&mut session, &problem).is_some() {}
    assert_eq!(session.stop_reason(), Some(StopReason::Converged { part: 0.0 }));
    let message = session.stop_reason().unwrap().to_string();
    assert_eq!(message, "converged: nothing is believed to remain of the gap");
    assert_eq!(session.queries(), 8);
}

#[test]
fn a_restored_session_remembers_what_remains() {
    for case in cases(2, &[None, Some(Loss::Logistic)]) {
        for detail in [Detail::Gradient, Detail::Hessian] {
            let mut session = open(case.settings().answers(detail).tolerance(1e-6));
            let mut restored: Vec<Session<'_>> = Vec::new();
            while session.stop_reason().is_none() {
                advance(&mut session, &*case.problem);
                let bytes = session.snapshot().unwrap();
                restored.push(Session::restore(method::frugal(), &bytes, Sight::Blind).unwrap());
                let [.., last] = &restored[..] else { unreachable!() };
                assert_eq!(last.remaining().map(bits), session.remaining().map(bits), "{}", case.name);
            }
            for mut other in restored {
                while advance(&mut other, &*case.problem).is_some() {}
                assert_eq!(other.stop_reason(), session.stop_reason(), "{}", case.name);
                assert_eq!(other.remaining().map(bits), session.remaining().map(bits), "{}", case.name);
                assert_eq!((other.queries(), other.point()), (session.queries(), session.point()), "{}", case.name);
            }
        }
    }
}

#[test]
fn a_converged_session_stays_stopped() {
    let [case] = &cases(1, &[None])[..] else { unreachable!() };
    let mut session = open(case.settings().tolerance(1e-4).budget(200).cost_budget(200.0));
    while advance(&mut session, &*case.problem).is_some() {}
    let stop = session.stop_reason();
    assert!(matches!(stop, Some(StopReason::Converged { .. })) && session.queries() < 200, "{stop:?}");
    session.extend(100);
    session.extend_cost(100.0);
    assert_eq!((session.stop_reason(), session.ask()), (stop, Ok(None)));
    // A budget that was spent before can be raised, until the run has converged.
    let mut short = open(case.settings().tolerance(1e-4).budget(0));
    while short.stop_reason() != stop {
        short.extend(1);
        assert!(advance(&mut short, &*case.problem).is_some());
    }
    assert_eq!((short.queries(), short.point()), (session.queries(), session.point()));
}

/// Answers that grow like `e^x`, some of which are set aside, and users who are steep where they are curved at all, so that SAGA
/// takes over.
#[test]
fn there_is_no_estimate_without_a_move_of_the_model() {
    let mut times = [0; 4];
    let mut run = |problem: &dyn Problem, settings: Settings, queries| {
        let is_known = settings.smoothness.is_some();
        let mut session = open(settings);
        while session.queries() < queries {
            advance(&mut session, problem);
            let model: &Model = session.belief().unwrap();
            let waits = is_known && session.queries() < 3;
            let lacks_scale = !is_known && !model.has_learned_scale();
            let why = [waits, lacks_scale, model.set_aside_last().is_some(), model.has_failed()];
            assert_eq!(session.remaining().is_none(), why.contains(&true), "{why:?}");
            times.iter_mut().zip(why).for_each(|(times, why)| *times += usize::from(why));
        }
    };
    for seed in 0..8 {
        let problem = random_regression(Loss::Poisson, 10, 2, 4.0, &mut Random::new(seed, "what remains"));
        run(&problem, Settings::for_problem(vec![-1.0, 1.0], &problem).seed(seed), 60);
        run(&problem, Settings::new(vec![-1.0, 1.0], 10).seed(seed), 60);
        let steep = Custom::new(
            7,
            3,
            |_, _| 0.0,
            |user, x: &[f64], gradient: &mut [f64]| {
                for (k, (value, x)) in gradient.iter_mut().zip(x).enumerate() {
                    let way = x - ((user * 7 + k * 3) % 11) as f64 + 5.0;
                    *value = 0.01 * way + (100.0 * way).tanh();
                }
            },
        );
        run(&steep, Settings::new(vec![8.0; 3], 7).smoothness(vec![100.01; 7]).seed(seed), 300);
    }
    assert!(times.iter().all(|times| *times > 7), "{times:?}");
}

#[test]
fn what_is_certified_is_true() {
    for case in cases(6, &[None, Some(Loss::Squares), Some(Loss::Logistic)]) {
        let (gap_at_start, users) = (case.problem.gap(&case.start).unwrap(), case.problem.users());
        for (method, detail) in [
            (method::frugal(), Detail::Gradient),
            (method::frugal(), Detail::Hessian),
            (method::saga(), Detail::Gradient),
            (method::sgq(0.3), Detail::Gradient),
        ] {
            let place = format!("{}, {}, {detail:?}", case.name, method.name());
            let mut session = Session::new(method, case.settings().answers(detail)).unwrap();
            let (mut asked, mut first) = (vec![false; users], None);
            while session.queries() < 8 * users as u64 {
                asked[advance(&mut session, &*case.problem).unwrap()] = true;
                let (gap, certified) = (case.problem.gap(session.point()).unwrap(), session.certified());
                assert_eq!(certified.is_some(), !asked.contains(&false), "{place}: {certified:?}");
                first = first.or(certified);
                let rounding = 1e-12 * gap_at_start;
                assert!(certified.is_none_or(|most| gap <= most + rounding), "{place}: {gap:e}, {certified:?}");
            }
            // It says more and more, where the method arrives.
            let last = session.certified();
            assert!(session.name() == "sgq" || last < first, "{place}: {last:?} after {first:?}");
        }
    }
}

/// `(x − b)²`, with weights that are known beforehand.
#[test]
fn what_is_certified_is_true_of_a_weighted_mean() {
    let (centers, weights) = ([0.0, 4.0, 90.0, -7.0], [10.0, 30.0, 1.0, 5.0]);
    let total: f64 = weights.iter().sum();
    let optimum = centers.iter().zip(&weights).map(|(center, weight)| center * weight / total).sum::<f64>();
    for method in [method::frugal(), method::saga()] {
        let settings = Settings::new(vec![1.0], 4).smoothness(vec![2.0; 4]).weights(weights.to_vec()).pl_constant(2.0);
        let mut session = Session::new(method, settings).unwrap();
        for number in 1..=40 {
            let query = session.ask().unwrap().unwrap();
            session.tell(query.ticket, &[2.0 * (query.point[0] - centers[query.user])]).unwrap();
            let (gap, certified) = ((session.point()[0] - optimum).powi(2), session.certified());
            assert!(certified.map_or(number < 4, |most| gap <= most * (1.0 + 1e-12) + 1e-12), "{gap:e}, {certified:?}");
        }
    }
}

/// What the sixth answer says of itself.
#[derive(Clone, Copy)]
enum Says {
    Nothing,
    Variance(f64),
    Weight,
}

/// What is certified after three passes.
fn certified(method: Method, settings: Settings, problem: &dyn Problem, says: Says) -> Option<f64> {
    let mut session = Session::new(method, settings).unwrap();
    while session.queries() < 3 * problem.users() as u64 {
        let query = session.ask().unwrap().unwrap();
        let (gradient, variance) =
            (gradient(problem, &query), [if let Says::Variance(each) = says { each } else { 0.0 }]);
        let answer = Answer::new(&gradient);
        let answer = match says {
            Says::Variance(_) if session.queries() == 5 => answer.variance(&variance),
            Says::Weight if session.queries() == 5 => answer.weight(1.0),
            _ => answer,
        };
        session.tell(query.ticket, answer).unwrap();
    }
    session.certified()
}

#[test]
fn nothing_is_certified_without_certainty() {
    for case in cases(2, &[Some(Loss::Squares), Some(Loss::Logistic)]) {
        let (settings, problem) = (case.settings(), &*case.problem);
        let without = Settings::new(case.start.clone(), problem.users());
        let mu = problem.pl_constant().unwrap();
        for method in [method::frugal(), method::saga()] {
            let certified = |settings: &Settings, says| {
                certified(method.clone(), settings.clone().step_size(1e-3), problem, says).is_some()
            };
            let place = format!("{}, {}", case.name, method.name());
            assert!(certified(&settings, Says::Nothing), "{place}");
            assert!(certified(&settings, Says::Variance(0.0)), "{place}: a variance of zero");
            assert!(!certified(&settings, Says::Variance(1e-9)), "{place}: noise");
            assert!(!certified(&settings, Says::Weight), "{place}: a weight");
            let known = without.clone().smoothness(problem.smoothness().unwrap().to_vec());
            assert!(!certified(&known, Says::Nothing), "{place}: no constant");
            assert!(certified(&known.clone().pl_constant(mu), Says::Nothing), "{place}: all that is needed");
            let local = known.pl_constant(mu).local_smoothness(true);
            assert!(!certified(&local, Says::Nothing), "{place}: only nearby");
            assert!(!certified(&without.clone().pl_constant(mu), Says::Nothing), "{place}: no L_i");
        }
        assert_eq!(certified(method::sgd(), settings.step_size(1e-3), problem, Says::Nothing), None, "{}", case.name);
    }
    for case in cases(2, &[Some(Loss::Poisson)]) {
        assert!(case.problem.smoothness().is_some() && case.problem.pl_constant().is_some());
        for method in [method::frugal(), method::saga()] {
            let certified = certified(method, case.settings(), &*case.problem, Says::Nothing);
            assert_eq!(certified, None, "{}", case.name);
        }
    }
}

/// Two answers of one user that contradict each other cannot both be exact.
#[test]
fn nothing_is_certified_where_answers_have_noise() {
    assert!(is_noise_seen(Detail::Gradient));
}

/// Whether nothing is certified in the end where answers have noise that is not stated.
fn is_noise_seen(detail: Detail) -> bool {
    let mut random = Random::new(3, "noise that is not stated");
    let problem = random_regression(Loss::Squares, 8, 2, 1.0, &mut random);
    let mut session = open(Settings::for_problem(vec![1.0; 2], &problem).answers(detail));
    while session.queries() < 80 {
        let query = session.ask().unwrap().unwrap();
        let (mut gradient, mut hessian) = (gradient(&problem, &query), vec![0.0; 4]);
        gradient.iter_mut().for_each(|value| *value += 0.05 * (random.unit() - 0.5));
        assert!(problem.hessian(query.user, &query.point, &mut hessian));
        let (answer, hessian) = (Answer::new(&gradient), packed(&hessian, 2));
        session.tell(query.ticket, if detail == Detail::Hessian { answer.hessian(&hessian) } else { answer }).unwrap();
    }
    session.certified().is_none()
}

#[test]
fn nothing_is_certified_where_hessians_show_the_noise() {
    assert!(is_noise_seen(Detail::Hessian));
}

/// The answers of an earlier run are no more certain than those of this one.
#[test]
fn nothing_is_certified_by_uncertain_answers_of_an_earlier_run() {
    let slope = |user: usize| [2.0 * (20.0 - [0.0, 4.0, 90.0, -7.0][user])];
    let settings = || Settings::new(vec![1.0], 4).smoothness(vec![2.0; 4]).pl_constant(2.0);
    for method in [method::frugal(), method::saga()] {
        let certified = |paid: &dyn Fn(Answer<'_>, usize) -> PaidAnswer| {
            let paid: Vec<PaidAnswer> = (0..4).map(|user| paid(Answer::new(&slope(user)), user)).collect();
            Session::with_answers(method.clone(), settings(), Sight::Blind, &paid).unwrap().certified()
        };
        let place = method.name();
        assert!(certified(&|answer, user| PaidAnswer::new(user, &[20.0], answer)).is_some(), "{place}");
        let noise = certified(&|answer, user| PaidAnswer::new(user, &[20.0], answer.variance(&[9.0])));
        assert_eq!(noise, None, "{place}: noise");
        let weights = certified(&|answer, user| PaidAnswer::new(user, &[20.0], answer.weight(1.0 + user as f64)));
        assert_eq!(weights, None, "{place}: weights");
    }
}

/// The constant of strong convexity was that of everybody; here the first user has nearly all of it.
#[test]
fn what_is_certified_is_true_once_somebody_has_left() {
    let (curvatures, centers) = ([10.0, 0.01, 0.02, 0.01], [0.0, 5.0, -3.0, 40.0]);
    let everybody = Quadratic::scalar(&curvatures, &centers).unwrap();
    let others = Quadratic::scalar(&curvatures[1..], &centers[1..]).unwrap();
    for method in [method::frugal(), method::saga()] {
        let mut session = Session::new(method, Settings::for_problem(vec![1.0], &everybody)).unwrap();
        (0..12).for_each(|_| _ = advance(&mut session, &everybody));
        assert!(session.certified().is_some());
        session.leave(0).unwrap();
        for _ in 0..12 {
            let (gap, certified) = (others.gap(session.point()).unwrap(), session.certified());
            assert!(certified.is_none_or(|most| gap <= most), "{}: {gap:e}, {certified:?}", session.name());
            advance(&mut session, &everybody);
        }
    }
}

/// What was believed of another objective says nothing of this one.
#[test]
fn what_remains_is_that_of_those_who_are_there() {
    let mut random = Random::new(1, "somebody leaves");
    let mut table = |low: f64, high: f64| -> Vec<Vec<f64>> {
        (0..12).map(|_| (0..2).map(|_| low + (high - low) * random.unit()).collect()).collect()
    };
    let problem = Quadratic::diagonal(&table(0.5, 1.5), &table(-2.0, 2.0)).unwrap();
    let mut session = open(Settings::for_problem(vec![4.0, 5.0], &problem));
    (0..60).for_each(|_| _ = advance(&mut session, &problem));
    assert!(session.remaining().is_some());
    session.leave(0).unwrap();
    assert_eq!(session.remaining(), None);
    for _ in 0..12 {
        advance(&mut session, &problem);
        let Remaining { low, high, .. } = session.remaining().unwrap();
        assert!(high <= 1e5 * low, "from {low:e} to {high:e}");
    }
    session.join(0).unwrap();
    assert_eq!(session.remaining(), None);
}

/// (x − b)² for four users: the optimum is 0, and μ is 2.
fn four(settings: Settings) -> Session<'static> {
    open(settings.smoothness(vec![2.0; 4]).pl_constant(2.0).budget(200))
}

fn answer_all(session: &mut Session<'_>) {
    while let Some(query) = session.ask().unwrap() {
        let center = [2.0, 1.0, -1.0, -2.0][query.user];
        session.tell(query.ticket, &[2.0 * (query.point[0] - center)]).unwrap();
    }
}

#[test]
fn a_certified_gap_stops_a_run_once_it_is_proven() {
    for case in cases(4, &[Some(Loss::Squares), Some(Loss::Logistic)]) {
        let wanted = 1e-3 * case.problem.gap(&case.start).unwrap();
        for method in [method::frugal(), method::saga()] {
            let place = format!("{}, {}", case.name, method.name());
            let settings = case.settings().certified_gap(wanted).budget(20_000);
            let mut session = Session::new(method, settings).unwrap();
            while session.stop_reason().is_none() {
                assert!(session.certified().is_none_or(|gap| gap > wanted), "{place}");
                advance(&mut session, &*case.problem);
            }
            let gap = session.certified().unwrap();
            assert_eq!(session.stop_reason(), Some(StopReason::Certified { gap }), "{place}");
            assert!(gap <= wanted && case.problem.gap(session.point()).unwrap() <= gap, "{place}: {gap:e}");
        }
    }
}

#[test]
fn a_certified_gap_needs_what_a_proof_needs() {
    let plain = || Settings::new(vec![1.0], 4).certified_gap(1e-3);
    let known = || plain().smoothness(vec![2.0; 4]).pl_constant(2.0).step_size(0.1);
    for (why, method, settings) in [
        (Uncertified::NoSmoothness, method::frugal(), plain().pl_constant(2.0)),
        (Uncertified::NoConstant, method::frugal(), plain().smoothness(vec![2.0; 4])),
        (Uncertified::NoConstant, method::frugal(), known().pl_constant(0.0)),
        (Uncertified::Constants, method::frugal(), known().pl_constant(3.0)),
        (Uncertified::Nearby, method::frugal(), known().local_smoothness(true)),
        (Uncertified::Forgotten, method::sgd(), known()),
        (Uncertified::Inexact, method::saga(), known().storage(Format::F32)),
    ] {
        assert_eq!(refused(method, settings), SettingsError::Uncertified(why));
    }
    assert!(Session::new(method::frugal(), known().storage(Format::F32)).is_ok(), "frugal keeps no table");
    for gap in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let refused = refused(method::frugal(), known().certified_gap(gap));
        assert!(matches!(refused, SettingsError::Stop { name: "certified gap", .. }), "{refused}");
    }
    let mut session = four(Settings::new(vec![5.0], 4));
    assert_eq!(session.certificate(), Err(Uncertified::Unasked));
    answer_all(&mut session);
    assert_eq!(session.certificate().ok(), session.certified());
    session.leave(0).unwrap();
    assert_eq!(session.certificate(), Err(Uncertified::Left));
}

#[test]
fn a_run_that_has_converged_goes_on_with_a_smaller_tolerance() {
    for case in cases(4, &[Some(Loss::Logistic)]) {
        let place = &case.name;
        let whole = |tolerance| {
            let mut session = open(case.settings().tolerance(tolerance).budget(5000));
            while advance(&mut session, &*case.problem).is_some() {}
            session
        };
        let (mut session, at_once) = (whole(1e-3), whole(1e-9));
        assert!(session.stop_reason().unwrap().is_converged() && session.queries() < at_once.queries(), "{place}");
        // A larger one changes nothing, and neither does more to spend.
        session.extend_to_tolerance(1e-2).unwrap();
        session.extend(10);
        assert_eq!(session.ask(), Ok(None), "{place}");
        session.extend_to_tolerance(1e-9).unwrap();
        let bytes = session.snapshot().unwrap();
        let mut session = Session::restore(method::frugal(), &bytes, Sight::Blind).unwrap();
        while advance(&mut session, &*case.problem).is_some() {}
        assert_eq!(session.point(), at_once.point(), "{place}: the same as if it had never stopped");
        assert_eq!((session.queries(), session.stop_reason()), (at_once.queries(), at_once.stop_reason()), "{place}");
    }
}

#[test]
fn going_on_takes_a_tolerance_or_a_proof_in_the_others_place() {
    let mut session = four(Settings::new(vec![5.0], 4).tolerance(0.1));
    answer_all(&mut session);
    assert!(matches!(session.stop_reason(), Some(StopReason::Converged { .. })));
    session.extend_to_certified_gap(1e-12).unwrap();
    answer_all(&mut session);
    assert!(matches!(session.stop_reason(), Some(StopReason::Certified { gap }) if gap <= 1e-12));
    for part in [0.0, 1.0, f64::NAN] {
        assert!(session.extend_to_tolerance(part).is_err(), "{part}");
    }
    assert!(session.extend_to_certified_gap(-1.0).is_err());
    assert!(session.stop_reason().unwrap().is_converged(), "a mistake changes nothing");
    let mut saga = Session::new(method::saga(), Settings::new(vec![5.0], 2).step_size(0.1)).unwrap();
    assert!(matches!(saga.extend_to_tolerance(0.1), Err(SettingsError::Unmet { need: Need::Remaining, .. })));
    assert_eq!(saga.extend_to_certified_gap(0.1), Err(SettingsError::Uncertified(Uncertified::NoSmoothness)));
}

/// A gap of nothing has no parts.
#[test]
fn a_run_from_the_optimum_stops_by_itself() {
    for case in cases(6, &[None, Some(Loss::Squares), Some(Loss::Logistic)]) {
        let optimum = case.problem.optimum().unwrap().point.clone();
        let users = case.problem.users() as u64;
        let settings = Settings::for_problem(optimum, &*case.problem).tolerance(1e-4).budget(40 * users);
        let mut session = open(settings);
        while advance(&mut session, &*case.problem).is_some() {}
        let (stop, gap) = (session.stop_reason(), case.problem.gap(session.point()).unwrap());
        assert!(stop.is_some_and(StopReason::is_converged), "{}: {stop:?} at {gap:e}", case.name);
        assert!(gap <= 1e-9 * case.problem.gap(&case.start).unwrap(), "{}: {gap:e}", case.name);
    }
    // Without L_i, where everybody is content.
    let problem = Quadratic::diagonal(&vec![vec![1.0, 3.0]; 5], &vec![vec![1.0, -2.0]; 5]).unwrap();
    let mut session = open(Settings::new(vec![1.0, -2.0], 5).tolerance(1e-4).budget(100));
    while advance(&mut session, &problem).is_some() {}
    assert_eq!((session.stop_reason(), session.queries()), (Some(StopReason::Converged { part: 0.0 }), 5));
}
