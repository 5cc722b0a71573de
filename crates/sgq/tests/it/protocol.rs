//! Ask and tell: what is refused, and that nothing is lost by it.

use sgq::{
    Choice, ChoiceError, Chosen, LastGradient, Method, Need, Oracle, Problem, Random, Scene, Session, SettingError,
    Settings, SettingsError, Sight, SmoothnessError, StepSize, StepSizeError, StopReason, TellError, Ticket,
    belief::Nothing,
    choice::{Sequence, Shuffled, SurrogateEi, Uniform},
    method,
    problem::{Custom, Quadratic},
    session::RestoreError,
    update::{Saga, Sgd},
};

fn toy() -> Quadratic {
    Quadratic::scalar(&[1.0; 4], &[2.0, 1.0, -1.0, -2.0]).unwrap()
}

fn settings() -> Settings {
    Settings::for_problem(vec![5.0], &toy()).step_size(0.015)
}

fn refused(method: Method, settings: Settings) -> SettingsError {
    Session::new(method, settings).unwrap_err()
}

fn unmet(method: &str, need: Need) -> SettingsError {
    SettingsError::Unmet { method: method.to_owned(), need }
}

#[test]
fn a_bad_answer_is_refused_and_the_question_stays_open() {
    let mut session = Session::new(method::sgq(0.3), settings()).unwrap();
    let query = session.ask().unwrap().unwrap();
    assert_eq!(session.tell(query.ticket, &[1.0, 2.0]), Err(TellError::Length { user: 0, expected: 1, found: 2 }));
    assert_eq!(
        session.tell(query.ticket, &[f64::INFINITY]),
        Err(TellError::NotFinite { user: 0, coordinate: 0, value: f64::INFINITY })
    );
    assert!(matches!(session.tell(query.ticket, &[f64::NAN]), Err(TellError::NotFinite { .. })));
    let unknown = Ticket(17);
    assert_eq!(session.tell(unknown, &[1.0]), Err(TellError::UnknownTicket { ticket: unknown }));
    assert_eq!(session.queries(), 0);
    assert_eq!(session.ask().unwrap().as_ref(), Some(&query));
    session.tell(query.ticket, &[6.0]).unwrap();
    assert_eq!(session.queries(), 1);
}

#[test]
fn an_answer_counts_once() {
    let mut session = Session::new(method::sgd(), settings()).unwrap();
    let first = session.ask().unwrap().unwrap();
    assert_eq!(session.tell(Ticket(0), &[6.0]), Ok(()));
    let point = session.point().to_vec();
    assert_eq!(session.tell(first.ticket, &[6.0]), Ok(()));
    assert_eq!(session.tell(first.ticket, &[6.5]), Err(TellError::AnsweredAlready { ticket: first.ticket }));
    assert_eq!((session.queries(), session.point()), (1, &point[..]));
    // The next ticket is not open until somebody asks.
    assert!(matches!(session.tell(Ticket(1), &[6.0]), Err(TellError::UnknownTicket { .. })));
    // Still remembered much later, and after a restore.
    for _ in 0..50 {
        let query = session.ask().unwrap().unwrap();
        session.tell(query.ticket, &[0.25]).unwrap();
    }
    let mut later = Session::restore(method::sgd(), &session.snapshot().unwrap(), Sight::Blind).unwrap();
    assert_eq!(later.tell(first.ticket, &[6.0]), Ok(()));
    assert!(matches!(later.tell(first.ticket, &[6.5]), Err(TellError::AnsweredAlready { .. })));
    assert_eq!(later.queries(), 51);
}

#[test]
fn a_question_outlives_its_answer() {
    let mut session = Session::new(method::sgd(), settings()).unwrap();
    let query = session.ask().unwrap().unwrap();
    session.tell(query.ticket, &[10.0]).unwrap();
    assert_eq!(&*query.point, [5.0]);
    assert_eq!(session.point(), [5.0 - 0.15]);
}

#[test]
fn stops_at_the_budget_even_inside_a_sweep() {
    for budget in [0, 1, 3, 4, 5, 30] {
        let mut session = Session::new(method::svrg(10), settings().budget(budget)).unwrap();
        while let Some(query) = session.ask().unwrap() {
            session.tell(query.ticket, &[1.0]).unwrap();
        }
        assert_eq!(session.queries(), budget);
        assert_eq!(session.stop_reason(), Some(StopReason::Budget { queries: budget }));
        assert_eq!(session.point() == [5.0], budget <= 4);
    }
}

fn run_to_the_end(session: &mut Session<'_>, problem: &dyn Problem) -> StopReason {
    let mut gradient = vec![0.0; problem.dim()];
    while let Some(query) = session.ask().unwrap() {
        problem.gradient(query.user, &query.point, &mut gradient);
        session.tell(query.ticket, &gradient).unwrap();
    }
    session.stop_reason().unwrap()
}

#[test]
fn stops_at_the_target_gap() {
    let toy = toy();
    let settings = settings().target_gap(0.1);
    let mut session = Session::with_sight(method::ogq(), settings.clone(), Sight::Problem(&toy)).unwrap();
    let reason = run_to_the_end(&mut session, &toy);
    assert!(matches!(reason, StopReason::TargetGap { gap } if gap <= 0.1));
    assert_eq!(session.queries(), 37);
    assert_eq!(refused(method::sgd(), settings), SettingsError::NeedsOptimum);
}

#[test]
fn stops_by_the_surrogate_gradient() {
    let toy = toy();
    let settings = settings().gradient_tolerance(1e-6);
    let mut session = Session::new(method::saga(), settings.clone()).unwrap();
    let reason = run_to_the_end(&mut session, &toy);
    assert!(matches!(reason, StopReason::SurrogateGradient { norm } if norm <= 1e-6));
    assert!(toy.gap(session.point()).unwrap() < 1e-9);
    assert_eq!(refused(method::sgd(), settings), unmet("sgd", Need::Surrogate));
}

#[test]
fn stops_when_it_diverges() {
    let toy = toy();
    let mut session = Session::new(method::sgd(), settings().step_size(3.0)).unwrap();
    assert!(matches!(run_to_the_end(&mut session, &toy), StopReason::Diverged { .. }));
    assert!(session.point()[0].is_finite());
    // One answer that overflows the point at once.
    let mut session = Session::new(method::sgd(), settings().step_size(10.0)).unwrap();
    let query = session.ask().unwrap().unwrap();
    session.tell(query.ticket, &[f64::MAX]).unwrap();
    assert_eq!(session.stop_reason(), Some(StopReason::Diverged { steps: 1 }));
    assert_eq!(session.point(), [5.0]);
}

#[test]
fn senseless_settings_are_refused() {
    use SettingsError as E;
    let start = |start: Vec<f64>, users| Settings::new(start, users).step_size(0.1);
    assert_eq!(refused(method::sgd(), start(vec![1.0], 0)), E::NoUsers);
    assert_eq!(refused(method::sgd(), start(vec![], 2)), E::EmptyStart);
    assert_eq!(refused(method::saga(), start(vec![0.0; 2], usize::MAX)), E::TooLarge { users: usize::MAX, dim: 2 });
    assert!(matches!(refused(method::sgd(), start(vec![0.0, f64::NAN], 2)), E::Start { coordinate: 1, .. }));
    let no_step_size = StepSizeError::AutoNeedsSmoothness { method: "sgd".into() };
    assert_eq!(refused(method::sgd(), Settings::new(vec![1.0], 2)), E::StepSize(no_step_size));
    let negative = start(vec![1.0], 2).step_size(-0.1);
    assert_eq!(refused(method::sgd(), negative), E::StepSize(StepSizeError::Size(-0.1)));
    assert_eq!(
        refused(method::sgd(), start(vec![1.0], 2).smoothness(vec![1.0])),
        E::Smoothness(SmoothnessError::Length { users: 2, found: 1 })
    );
    for bad in [-1.0, f64::INFINITY] {
        assert_eq!(
            refused(method::sgd(), start(vec![1.0], 2).smoothness(vec![1.0, bad])),
            E::Smoothness(SmoothnessError::Constant { user: 1, value: bad })
        );
    }
    assert_eq!(refused(method::sgq(0.3), start(vec![1.0], 2)), unmet("sgq", Need::Smoothness));
    let out_of_range = |method: Method, expected: &str, number: f64| {
        let refused = refused(method, settings());
        let E::Setting(SettingError::Range { name, value, .. }) = refused else { panic!("{refused}") };
        assert_eq!((name, value.to_bits()), (expected, number.to_bits()));
    };
    for p in [-0.1, 1.1, f64::NAN] {
        out_of_range(method::sgq(p), "p", p);
    }
    let heavy = SurrogateEi::new(0.3).bonus_weight(-1.0);
    out_of_range(Method::new("heavy", LastGradient::new(), heavy, Sgd), "bonus", -1.0);
    out_of_range(method::svrg(0), "inner_steps", 0.0);
    for bad in [0.0, -1.0, f64::NAN] {
        for settings in
            [settings().target_gap(bad), settings().gradient_tolerance(bad), settings().divergence_limit(bad)]
        {
            assert!(matches!(refused(method::saga(), settings), E::Stop { .. }));
        }
    }
    let toy = toy();
    let mismatch = Session::with_sight(method::sgd(), start(vec![1.0, 2.0], 4), Sight::Oracle(&toy));
    assert_eq!(mismatch.unwrap_err(), E::Mismatch { what: "parameters", expected: 1, found: 2 });
}

#[test]
fn an_oracle_method_needs_an_oracle_when_it_is_built() {
    assert_eq!(refused(method::ogq(), settings()), unmet("ogq", Need::Oracle));
    let toy = toy();
    let session = Session::with_sight(method::ogq(), settings(), Sight::Oracle(&toy)).unwrap();
    let blind = Session::restore(method::ogq(), &session.snapshot().unwrap(), Sight::Blind);
    assert_eq!(blind.unwrap_err(), RestoreError::Settings(unmet("ogq", Need::Oracle)));
}

#[test]
fn the_theory_step_is_the_cap() {
    let theory = || settings().step_size(StepSize::Theory);
    let step = |result: Result<f64, SettingsError>| result.unwrap();
    assert_eq!(step(Session::new(method::sgd(), theory()).map(|s| s.step_size())), 0.25);
    let sgq = step(Session::new(method::sgq(0.3), theory()).map(|s| s.step_size()));
    assert!((sgq - 2.79e-4).abs() < 1e-6);
    let saga = step(Session::new(method::saga(), theory()).map(|s| s.step_size()));
    assert!((saga - 1.0 / 6.0).abs() < 1e-15);

    assert!(matches!(refused(method::svrg(10), theory()), SettingsError::StepSize(StepSizeError::NoTheorem { .. })));
    assert!(matches!(
        refused(method::saga_sgq(0.3), theory()),
        SettingsError::StepSize(StepSizeError::NoTheorem { .. })
    ));
    assert!(matches!(
        refused(method::shuffled_sgd(), theory()),
        SettingsError::StepSize(StepSizeError::NoTheorem { .. })
    ));
    assert!(matches!(
        refused(method::sgq(0.0), theory()),
        SettingsError::StepSize(StepSizeError::NoStepAllowed { .. })
    ));
    let bare = || Settings::new(vec![5.0], 4).step_size(StepSize::Theory);
    assert!(matches!(refused(method::sgd(), bare()), SettingsError::StepSize(StepSizeError::TheoryNeeds { .. })));
    let without_mu = bare().smoothness(vec![2.0; 4]);
    assert!(matches!(
        refused(method::sgd(), without_mu.clone()),
        SettingsError::StepSize(StepSizeError::TheoryNeeds { .. })
    ));
    assert!(Session::new(method::saga(), without_mu).is_ok());
    let impossible_mu = bare().smoothness(vec![2.0; 4]).pl_constant(1e6);
    assert!(matches!(refused(method::sgd(), impossible_mu), SettingsError::StepSize(StepSizeError::PlConstant { .. })));
    let heavy = SurrogateEi::new(0.3).bonus_weight(2.0);
    assert!(matches!(
        refused(Method::new("heavy", LastGradient::new(), heavy, Sgd), theory()),
        SettingsError::StepSize(StepSizeError::NoTheorem { .. })
    ));
    let toy = toy();
    let ogq = Session::with_sight(method::ogq(), theory(), Sight::Problem(&toy)).unwrap();
    assert_eq!(ogq.step_size(), 0.25);
    let bad_mu = bare().smoothness(vec![2.0; 4]).pl_constant(-2.0);
    let impossible = StepSizeError::PlConstant { value: -2.0, smoothness: 2.0 };
    assert_eq!(refused(method::sgd(), bad_mu), SettingsError::StepSize(impossible));
}

#[test]
fn a_damaged_snapshot_is_refused() {
    let session = Session::new(method::saga(), settings()).unwrap();
    let bytes = session.snapshot().unwrap();
    let restore = |bytes: &[u8]| Session::restore(method::saga(), bytes, Sight::Blind).unwrap_err();
    assert_eq!(restore(b""), RestoreError::NotASnapshot);
    assert_eq!(restore(b"{\"json\": true}"), RestoreError::NotASnapshot);
    for length in 4..bytes.len() {
        assert_eq!(restore(&bytes[..length]), RestoreError::Damaged);
    }
    for position in 4..bytes.len() {
        let mut flipped = bytes.clone();
        flipped[position] ^= 1;
        assert_eq!(restore(&flipped), RestoreError::Damaged);
    }
    let other = Session::restore(method::sgd(), &bytes, Sight::Blind).unwrap_err();
    assert_eq!(other, RestoreError::OtherMethod { wanted: "sgd".into() });
    // The same name over other parts, which have no state of their own that could tell them apart.
    let impostor = Method::new("saga", LastGradient::new(), Uniform, Sgd);
    assert!(matches!(Session::restore(impostor, &bytes, Sight::Blind).unwrap_err(), RestoreError::OtherMethod { .. }));
    let renamed = Method::new("SAGA", LastGradient::new(), Uniform, Saga);
    assert!(Session::restore(renamed, &bytes, Sight::Blind).is_err());
    let other_problem = Quadratic::scalar(&[1.0; 3], &[1.0; 3]).unwrap();
    assert!(matches!(
        Session::restore(method::saga(), &bytes, Sight::Oracle(&other_problem)).unwrap_err(),
        RestoreError::Settings(SettingsError::Mismatch { what: "users", expected: 3, found: 4 })
    ));
}

#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
struct Pick(usize);

impl Choice<Nothing> for Pick {
    fn choose(&mut self, scene: &Scene<'_, Nothing>, _random: &mut Random) -> Result<Chosen, ChoiceError> {
        if self.0 == 99 {
            scene.all_gradients()?;
        }
        Ok(Chosen::user(self.0))
    }
}

#[test]
fn a_choice_of_ones_own() {
    let mut session = Session::new(Method::new("mine", Nothing, Pick(2), Sgd), settings()).unwrap();
    assert_eq!(session.ask().unwrap().unwrap().user, 2);
    let mut session = Session::new(Method::new("mine", Nothing, Pick(4), Sgd), settings()).unwrap();
    assert_eq!(session.ask(), Err(ChoiceError::NoSuchUser { user: 4, users: 4 }));
    let mut session = Session::new(Method::new("mine", Nothing, Pick(99), Sgd), settings()).unwrap();
    assert_eq!(session.ask(), Err(ChoiceError::NotAskedFor("oracle")));
}

/// A session that has stopped stays stopped, and one that has not stops for the same reasons.
#[test]
fn stop_conditions_survive_a_restore() {
    let toy = toy();
    let sight = Sight::Problem(&toy);
    let restored = |settings: Settings, queries: u64| {
        let mut session = Session::with_sight(method::saga(), settings, sight.clone()).unwrap();
        let mut gradient = [0.0];
        while session.queries() < queries
            && let Some(query) = session.ask().unwrap()
        {
            toy.gradient(query.user, &query.point, &mut gradient);
            session.tell(query.ticket, &gradient).unwrap();
        }
        Session::restore(method::saga(), &session.snapshot().unwrap(), sight.clone()).unwrap()
    };
    let mut stopped = restored(settings().budget(5), 5);
    assert_eq!(stopped.stop_reason(), Some(StopReason::Budget { queries: 5 }));
    assert_eq!(stopped.ask().unwrap(), None);
    let mut session = restored(settings().target_gap(0.1).budget(5_000), 30);
    assert!(matches!(run_to_the_end(&mut session, &toy), StopReason::TargetGap { .. }));
    let mut session = restored(settings().gradient_tolerance(0.1).budget(5_000), 30);
    assert!(matches!(run_to_the_end(&mut session, &toy), StopReason::SurrogateGradient { .. }));
    let blind = restored(settings().target_gap(0.1), 30).snapshot().unwrap();
    assert_eq!(
        Session::restore(method::saga(), &blind, Sight::Blind).unwrap_err(),
        RestoreError::Settings(SettingsError::NeedsOptimum)
    );
}

/// The gap is looked at where the point has moved, and not after each of the n start-up answers.
#[test]
fn a_target_gap_costs_nothing_during_a_sweep() {
    use std::sync::atomic::{AtomicU64, Ordering};
    let values = AtomicU64::new(0);
    let problem = Custom::new(
        50,
        1,
        |_, x| {
            values.fetch_add(1, Ordering::Relaxed);
            x[0] * x[0]
        },
        |_, x, out| out[0] = 2.0 * x[0],
    )
    .with_optimum(sgq::problem::Optimum { point: vec![0.0], value: 0.0 });
    let settings = Settings::new(vec![5.0], 50).step_size(0.1).target_gap(1e-3);
    let mut session = Session::with_sight(method::saga(), settings, Sight::Problem(&problem)).unwrap();
    values.store(0, Ordering::Relaxed);
    for _ in 0..50 {
        let query = session.ask().unwrap().unwrap();
        session.tell(query.ticket, &[10.0]).unwrap();
    }
    assert_eq!(values.load(Ordering::Relaxed), 0);
    let query = session.ask().unwrap().unwrap();
    session.tell(query.ticket, &[10.0]).unwrap();
    assert_eq!(values.load(Ordering::Relaxed), 50);
}

#[test]
fn stop_conditions_are_met_exactly_and_in_order() {
    let toy = toy();
    // Met at the start, exactly: nobody is asked.
    let mut session = Session::with_sight(method::sgd(), settings().target_gap(25.0), Sight::Problem(&toy)).unwrap();
    assert_eq!(session.ask().unwrap(), None);
    assert_eq!(session.stop_reason(), Some(StopReason::TargetGap { gap: 25.0 }));
    // The target reached with the last query of the budget counts as reached.
    let settings_37 = settings().target_gap(0.1).budget(37);
    let mut session = Session::with_sight(method::ogq(), settings_37, Sight::Problem(&toy)).unwrap();
    assert!(matches!(run_to_the_end(&mut session, &toy), StopReason::TargetGap { .. }));
    // The start-up's mean gradient is 10, exactly.
    let mut session = Session::new(method::saga(), settings().gradient_tolerance(10.0)).unwrap();
    assert_eq!(run_to_the_end(&mut session, &toy), StopReason::SurrogateGradient { norm: 10.0 });
    assert_eq!(session.queries(), 4);
}

#[test]
fn the_divergence_limit_is_relative_to_the_start() {
    let diverges = |start: f64, gradient: f64| {
        let settings = Settings::new(vec![start], 1).step_size(1.0).divergence_limit(10.0);
        let mut session = Session::new(method::sgd(), settings).unwrap();
        let query = session.ask().unwrap().unwrap();
        session.tell(query.ticket, &[gradient]).unwrap();
        session.stop_reason().is_some()
    };
    assert!(!diverges(0.0, -9.0) && diverges(0.0, -11.0));
    assert!(!diverges(5.0, -44.0) && diverges(5.0, -46.0));
    // Far out, where squares would overflow, it still works.
    assert!(!diverges(1e200, 1.0) && diverges(1e200, -1e202));
    let too_far = Settings::new(vec![1e305], 1).step_size(1.0);
    assert!(matches!(refused(method::sgd(), too_far), SettingsError::Stop { .. }));
}

/// Every coordinate and the length tell one answer from another; the sign of a zero does not.
#[test]
fn answers_are_told_apart() {
    let settings = Settings::new(vec![1.0, 2.0], 1).step_size(0.1);
    let mut session = Session::new(method::sgd(), settings).unwrap();
    let ticket = session.ask().unwrap().unwrap().ticket;
    session.tell(ticket, &[3.0, 0.0]).unwrap();
    assert_eq!(session.tell(ticket, &[3.0, -0.0]), Ok(()));
    for other in [&[3.0, 1.0][..], &[2.0, 0.0], &[3.0], &[3.0, 0.0, 0.0]] {
        assert_eq!(session.tell(ticket, other), Err(TellError::AnsweredAlready { ticket }));
    }
}

/// Answers so large that their sum overflows do not poison what is believed for good.
#[test]
fn a_sum_that_overflowed_recovers() {
    let settings = Settings::new(vec![0.0], 3).smoothness(vec![1.0; 3]).step_size(1e-300);
    let mut session = Session::new(method::sgq(0.0), settings).unwrap();
    for _ in 0..3 {
        let query = session.ask().unwrap().unwrap();
        session.tell(query.ticket, &[1.7e308]).unwrap();
    }
    assert_eq!(session.ask(), Ok(None));
    assert_eq!(session.stop_reason(), Some(StopReason::Diverged { steps: 0 }));
    let settings = Settings::new(vec![0.0], 2).step_size(1e-300);
    let method = Method::new("shuffled", LastGradient::new(), Shuffled::new(), Sgd);
    let mut session = Session::new(method, settings).unwrap();
    for answer in [1.7e308, 1.7e308, 1.0, 2.0] {
        let query = session.ask().unwrap().unwrap();
        session.tell(query.ticket, &[answer]).unwrap();
    }
    let belief = session.belief::<LastGradient>().unwrap();
    let rows = [belief.gradient(0)[0], belief.gradient(1)[0]];
    assert!(rows.iter().all(|row| *row < 10.0), "both users were asked again");
    assert_eq!(belief.mean(), [(rows[0] + rows[1]) / 2.0]);
}

/// Also where several threads look at them.
#[test]
fn long_answers_are_told_apart() {
    let dim = 100_000;
    let mut session = Session::new(method::shuffled_sgd(), Settings::new(vec![0.0; dim], 2).step_size(0.1)).unwrap();
    let query = session.ask().unwrap().unwrap();
    let gradient: Vec<f64> = (0..dim).map(|k| (k as f64).sin()).collect();
    session.tell(query.ticket, &gradient).unwrap();
    assert!(session.tell(query.ticket, &gradient).is_ok());
    for k in [0, 1, 50_000, dim - 1] {
        let mut other = gradient.clone();
        other[k] += 1e-9;
        assert!(session.tell(query.ticket, &other).is_err());
        other.swap_with_slice(&mut gradient.clone());
        other.swap(k, (k + 8) % dim);
        assert!(session.tell(query.ticket, &other).is_err());
    }
}

#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
struct By<T>(T);

impl<T> Choice<Nothing> for By<T>
where
    T: Clone + std::fmt::Debug + serde::Serialize + serde::de::DeserializeOwned + Send + Sync + 'static,
{
    fn choose(&mut self, _: &Scene<'_, Nothing>, _: &mut Random) -> Result<Chosen, ChoiceError> {
        Ok(Chosen::user(0))
    }
}

/// Parts that differ in a type parameter alone are other parts.
#[test]
fn a_snapshot_knows_its_type_parameters() {
    let method = Method::new("by", Nothing, By(1u32), Sgd);
    let bytes = Session::new(method, settings()).unwrap().snapshot().unwrap();
    assert!(Session::restore(Method::new("by", Nothing, By(1u32), Sgd), &bytes, Sight::Blind).is_ok());
    assert!(Session::restore(Method::new("by", Nothing, By(1u64), Sgd), &bytes, Sight::Blind).is_err());
}

/// The bytes of a snapshot are a promise to sessions that are already stored: whoever changes them changes the magic
/// number too, and then these. (The length alone for the default method, whose last bits need not be the same on every machine.)
#[test]
fn the_snapshot_format_is_frozen() {
    let bytes = after_sixty(method::sgq(0.3));
    let sum = bytes.iter().fold(0u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(*byte)));
    assert_eq!((&bytes[..4], bytes.len(), sum), (&b"sgq\x0b"[..], FROZEN_LENGTH, FROZEN_SUM));
    assert_eq!(after_sixty(method::frugal()).len(), FROZEN_LENGTH_FRUGAL);
}

/// The snapshot of a session after sixty answers.
fn after_sixty(method: Method) -> Vec<u8> {
    let mut session = Session::new(method, settings().budget(60).seed(7)).unwrap();
    while let Some(query) = session.ask().unwrap() {
        let gradient = 2.0 * (query.point[0] - [2.0, 1.0, -1.0, -2.0][query.user]);
        session.tell(query.ticket, &[gradient]).unwrap();
    }
    session.snapshot().unwrap()
}

const FROZEN_LENGTH_FRUGAL: usize = 2035;
const FROZEN_LENGTH: usize = 1085;
const FROZEN_SUM: u64 = 15_691_605_340_034_878_985;

#[test]
fn a_used_up_sequence_says_so() {
    let method = Method::new("fixed", Nothing, Sequence::new(vec![3, 0]), Sgd);
    let mut session = Session::new(method, settings()).unwrap();
    for user in [3, 0] {
        let query = session.ask().unwrap().unwrap();
        assert_eq!(query.user, user);
        session.tell(query.ticket, &[1.0]).unwrap();
    }
    assert_eq!(session.ask(), Err(ChoiceError::SequenceEnded { length: 2 }));
    let method = Method::new("fixed", Nothing, Sequence::new(vec![3, 4]), Sgd);
    assert_eq!(refused(method, settings()), SettingError::NoSuchUser { position: 1, user: 4, users: 4 }.into());
}

/// A simulation whose gradients overflow counts as diverged, and its curve is infinite from there on.
#[test]
fn a_simulation_that_overflows_has_diverged() {
    let steep = Custom::new(1, 1, |_, x| x[0].exp(), |_, x, out| out[0] = x[0].exp())
        .with_optimum(sgq::problem::Optimum { point: vec![-1.0], value: 0.0 });
    let settings = |start: f64| Settings::new(vec![start], 1).step_size(1.0);
    let mut session = Session::new(method::sgd(), settings(800.0)).unwrap();
    let mut recorded = 0;
    let count = |_: &sgq::drive::Billed<'_>| {
        recorded += 1;
        Ok(())
    };
    let trial = sgq::simulate::gap_curve(&mut session, &steep, 5, count).unwrap();
    assert!(matches!(trial.stop, StopReason::Diverged { .. }));
    assert_eq!((trial.gaps.len(), recorded, session.queries()), (6, 0, 0));
    assert!(trial.gaps[1..].iter().all(|gap| *gap == f64::INFINITY));
    // One step too far: paid for, and out of bounds from then on.
    let mut session = Session::new(method::sgd(), settings(30.0)).unwrap();
    let trial = sgq::simulate::gap_curve(&mut session, &steep, 3, |_| Ok(())).unwrap();
    assert_eq!((trial.gaps[0], session.queries()), (30f64.exp(), 1));
    assert_eq!(trial.gaps[1..], [f64::INFINITY; 3]);
    // A session for somebody else, and a curve that no machine can hold.
    let mut session = Session::new(method::sgd(), Settings::new(vec![1.0], 4).step_size(1.0)).unwrap();
    let error = sgq::simulate::gap_curve(&mut session, &steep, 3, |_| Ok(())).unwrap_err();
    assert!(error.to_string().contains("users"), "{error}");
    let mut session = Session::new(method::sgd(), settings(1.0).budget(2)).unwrap();
    let error = sgq::simulate::gap_curve(&mut session, &steep, u64::MAX, |_| Ok(())).unwrap_err();
    assert!(error.to_string().contains("memory"), "{error}");
}

/// The toy's gradients at 5 are 6, 8, 12 and 14: their mean is 10, once everybody has answered.
#[test]
fn the_surrogate_gradient_can_be_watched() {
    let mut session = Session::new(method::sgq(0.3), settings()).unwrap();
    for gradient in [6.0, 8.0, 12.0, 14.0] {
        assert_eq!(session.surrogate_gradient_norm(), None);
        let query = session.ask().unwrap().unwrap();
        session.tell(query.ticket, &[-gradient]).unwrap();
    }
    assert_eq!(session.surrogate_gradient_norm(), Some(10.0));
    assert_eq!(Session::new(method::sgd(), settings()).unwrap().surrogate_gradient_norm(), None);
}
