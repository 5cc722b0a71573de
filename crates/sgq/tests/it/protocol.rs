//! Ask and tell: what is refused, and that nothing is lost by it.

use sgq::{
    Choice, ChoiceError, Chosen, LastGradient, Method, Problem, Random, Scene, Session, Settings, SettingsError, Sight,
    StepSize, StopReason, TellError, Ticket,
    belief::Nothing,
    choice::{Sequence, SurrogateEi, Uniform},
    method,
    problem::{Custom, Quadratic},
    session::RestoreError,
    update::{Sgd, Svrg},
};

fn toy() -> Quadratic {
    Quadratic::scalar(&[1.0; 4], &[2.0, 1.0, -1.0, -2.0]).unwrap()
}

fn settings() -> Settings {
    Settings::for_problem(vec![5.0], &toy()).step_size(0.015)
}

fn refused<B: sgq::Belief, C: Choice<B>, U: sgq::Update<B>>(
    method: Method<B, C, U>,
    settings: Settings,
) -> SettingsError {
    Session::new(method, settings).unwrap_err()
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
    let mut later = Session::restore(method::sgd(), &session.snapshot(), Sight::Blind).unwrap();
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

fn run_to_the_end<B: sgq::Belief, C: Choice<B>, U: sgq::Update<B>>(
    session: &mut Session<'_, B, C, U>,
    problem: &dyn Problem,
) -> StopReason {
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
    assert!(matches!(refused(method::sgd(), settings), SettingsError::NeedsSurrogate { .. }));
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
    assert_eq!(refused(method::sgd(), Settings::new(vec![1.0], 2)), E::NoStepSize);
    assert_eq!(refused(method::sgd(), start(vec![1.0], 2).step_size(-0.1)), E::StepSize(-0.1));
    assert_eq!(
        refused(method::sgd(), start(vec![1.0], 2).smoothness(vec![1.0])),
        E::SmoothnessLength { users: 2, found: 1 }
    );
    for bad in [-1.0, f64::INFINITY] {
        assert_eq!(
            refused(method::sgd(), start(vec![1.0], 2).smoothness(vec![1.0, bad])),
            E::Smoothness { user: 1, value: bad }
        );
    }
    assert!(matches!(refused(method::sgq(0.3), start(vec![1.0], 2)), E::NeedsSmoothness { .. }));
    for p in [-0.1, 1.1] {
        assert_eq!(refused(method::sgq(p), settings()), E::Exploration(p));
    }
    assert!(matches!(refused(method::sgq(f64::NAN), settings()), E::Exploration(_)));
    let heavy = SurrogateEi::new(0.3).bonus_weight(-1.0);
    assert_eq!(refused(Method::new("heavy", LastGradient::new(), heavy, Sgd), settings()), E::BonusWeight(-1.0));
    assert_eq!(refused(method::svrg(0), settings()), E::NoInnerSteps);
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
    assert!(matches!(refused(method::ogq(), settings()), SettingsError::NeedsOracle { .. }));
    let toy = toy();
    let session = Session::with_sight(method::ogq(), settings(), Sight::Oracle(&toy)).unwrap();
    let blind = Session::restore(method::ogq(), &session.snapshot(), Sight::Blind);
    assert!(matches!(blind.unwrap_err(), RestoreError::Settings(SettingsError::NeedsOracle { .. })));
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

    assert!(matches!(refused(method::svrg(10), theory()), SettingsError::NoTheorem { .. }));
    assert!(matches!(refused(method::saga_sgq(0.3), theory()), SettingsError::NoTheorem { .. }));
    assert!(matches!(refused(method::shuffled_sgd(), theory()), SettingsError::NoTheorem { .. }));
    assert!(matches!(refused(method::sgq(0.0), theory()), SettingsError::NoStepAllowed { .. }));
    let bare = || Settings::new(vec![5.0], 4).step_size(StepSize::Theory);
    assert!(matches!(refused(method::sgd(), bare()), SettingsError::TheoryNeeds { .. }));
    let without_mu = bare().smoothness(vec![2.0; 4]);
    assert!(matches!(refused(method::sgd(), without_mu.clone()), SettingsError::TheoryNeeds { .. }));
    assert!(Session::new(method::saga(), without_mu).is_ok());
    let bad_mu = bare().smoothness(vec![2.0; 4]).pl_constant(-2.0);
    assert_eq!(refused(method::sgd(), bad_mu), SettingsError::PlConstant(-2.0));
}

#[test]
fn a_damaged_snapshot_is_refused() {
    let session = Session::new(method::saga(), settings()).unwrap();
    let bytes = session.snapshot();
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
    // The same name over other parts.
    let impostor = Method::new("saga", Nothing, Uniform, Svrg::new(3));
    assert!(matches!(Session::restore(impostor, &bytes, Sight::Blind).unwrap_err(), RestoreError::OtherMethod { .. }));
}

#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
struct Pick(usize);

impl Choice<Nothing> for Pick {
    fn choose(&mut self, scene: &Scene<'_, Nothing>, _random: &mut Random) -> Result<Chosen, ChoiceError> {
        if self.0 == 99 {
            scene.all_gradients()?;
        }
        Ok(Chosen { user: self.0, explored: None })
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
}

/// A simulation whose gradients overflow counts as diverged, and its curve is infinite from there on.
#[test]
fn a_simulation_that_overflows_has_diverged() {
    let steep = Custom::new(1, 1, |_, x| x[0].exp(), |_, x, out| out[0] = x[0].exp())
        .with_optimum(sgq::problem::Optimum { point: vec![-1.0], value: 0.0 });
    let settings = Settings::new(vec![800.0], 1).step_size(1.0);
    let mut session = Session::new(method::sgd(), settings).unwrap();
    let trial = sgq::simulate::gap_curve(&mut session, &steep, 5, |_, _, _| Ok(())).unwrap();
    assert!(matches!(trial.stop, StopReason::Diverged { .. }));
    assert_eq!(trial.gaps.len(), 6);
    assert!(trial.gaps[1..].iter().all(|gap| *gap == f64::INFINITY));
}
