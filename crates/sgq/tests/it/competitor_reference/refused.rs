//! Settings and sessions that the parts refuse, and the odd ones that they must not.

use sgq::{
    Belief, Choice, LastGradient, Method, Need, Oracle, Random, Session, SettingError, Settings, SettingsError, Sight,
    Update,
    belief::Nothing,
    choice::{ByNorm, BySmoothness, Cyclic, Oort, PowerOfChoice, Projection, Uniform},
    problem::Custom,
    session::RestoreError,
    update::{CurvatureAided, HeavyBall, Katyusha, Loopless, Recursive, Sgd},
};

use crate::random_problem::random_quadratic;

const USERS: usize = 5;

fn settings() -> Settings {
    Settings::new(vec![1.0, -1.0], USERS).step_size(0.1)
}

fn open<B: Belief + Clone>(belief: B, choice: impl Choice<B>, update: impl Update<B>) -> Result<(), SettingsError> {
    Session::new(Method::new("refused", belief, choice, update), settings()).map(|_| ())
}

/// Whether a setting of that name was refused because of that value, to the bit.
fn out_of_range(refused: &SettingsError, expected: &str, number: f64) -> bool {
    matches!(refused, SettingsError::Setting(SettingError::Range { name, value, .. })
        if *name == expected && value.to_bits() == number.to_bits())
}

fn unmet(need: Need) -> SettingsError {
    SettingsError::Unmet { method: "refused".to_owned(), need }
}

#[test]
fn mixtures() {
    for mixture in [0.0, -0.5, 2.0, 1.0 + 1e-15, f64::NAN, f64::INFINITY] {
        let refused = open(Nothing, ByNorm::new(mixture), Sgd).unwrap_err();
        assert!(out_of_range(&refused, "mixture", mixture), "{refused}");
    }
    assert_eq!(open(Nothing, ByNorm::new(f64::MIN_POSITIVE), Sgd), Ok(()));
    assert_eq!(open(Nothing, ByNorm::new(1.0), Sgd), Ok(()));
}

#[test]
fn candidates() {
    let (problem, start) = random_quadratic(&mut Random::new(5, "refused"), USERS, 2);
    let open = |candidates: usize| {
        let method = Method::new("refused", Nothing, PowerOfChoice::new(Some(candidates)), Sgd);
        let settings = Settings::for_problem(start.clone(), &problem).step_size(0.1);
        Session::with_sight(method, settings, Sight::Problem(&problem)).map(|_| ())
    };
    assert!(out_of_range(&open(0).unwrap_err(), "candidates", 0.0));
    for value in [USERS + 1, usize::MAX] {
        let more = SettingError::MoreThanUsers { name: "candidates", value, users: USERS };
        assert_eq!(open(value), Err(more.into()));
    }
    assert_eq!(open(1), Ok(()));
    assert_eq!(open(USERS), Ok(()));
}

#[test]
fn probabilities() {
    for probability in [0.0, -0.1, 1.1, f64::NAN] {
        let refused = open(Nothing, Uniform, Loopless::new(Some(probability))).unwrap_err();
        assert!(out_of_range(&refused, "probability", probability), "{refused}");
    }
    assert_eq!(open(Nothing, Uniform, Loopless::new(Some(1.0))), Ok(()));
    assert_eq!(open(Nothing, Uniform, Loopless::new(None)), Ok(()));
}

#[test]
fn momenta() {
    for momentum in [0.0, -0.5, 0.6, 1.0, f64::NAN] {
        let refused = open(Nothing, Uniform, Katyusha::new(None, momentum)).unwrap_err();
        assert!(out_of_range(&refused, "momentum", momentum), "{refused}");
    }
    assert_eq!(open(Nothing, Uniform, Katyusha::new(None, 0.5)), Ok(()));
    for momentum in [-0.1, 1.0, 1.5, f64::NAN, f64::INFINITY] {
        let refused = open(Nothing, Uniform, HeavyBall::new(momentum)).unwrap_err();
        assert!(out_of_range(&refused, "momentum", momentum), "{refused}");
        assert!(refused.to_string().contains("[0, 1)"), "{refused}");
    }
    for momentum in [0.0, 0.999] {
        assert_eq!(open(Nothing, Uniform, HeavyBall::new(momentum)), Ok(()));
    }
}

#[test]
fn inner_steps() {
    for refused in
        [open(Nothing, Uniform, Katyusha::new(Some(0), 0.5)), open(Nothing, Uniform, Recursive::new(Some(0)))]
    {
        let refused = refused.unwrap_err();
        assert!(out_of_range(&refused, "inner_steps", 0.0), "{refused}");
        assert!(refused.to_string().contains("at least 1"), "{refused}");
    }
    assert_eq!(open(Nothing, Uniform, Recursive::new(Some(1))), Ok(()));
}

#[test]
fn smoothness() {
    assert_eq!(open(Nothing, BySmoothness, Sgd), Err(unmet(Need::Smoothness)));
}

/// A problem with losses, but without Hessians.
fn without_hessians() -> impl sgq::Problem {
    Custom::new(
        USERS,
        2,
        |user, x: &[f64]| (x[0] - user as f64).powi(2) + x[1] * x[1],
        |user, x: &[f64], gradient: &mut [f64]| {
            gradient.copy_from_slice(&[2.0 * (x[0] - user as f64), 2.0 * x[1]]);
        },
    )
}

#[test]
fn sessions_that_see_too_little() {
    let problem = without_hessians();
    for sight in [Sight::Blind, Sight::Oracle(&problem)] {
        let power = Method::new("refused", Nothing, PowerOfChoice::new(Some(2)), Sgd);
        assert_eq!(Session::with_sight(power, settings(), sight.clone()).unwrap_err(), unmet(Need::Polls));
        let oort = Method::new("refused", Nothing, Oort::new(), Sgd);
        assert_eq!(Session::with_sight(oort, settings(), sight.clone()).unwrap_err(), unmet(Need::Losses));
    }
    for sight in [Sight::Blind, Sight::Oracle(&problem), Sight::Problem(&problem)] {
        let ciag = Method::new("refused", Nothing, Cyclic::new(), CurvatureAided::new());
        assert_eq!(Session::with_sight(ciag, settings(), sight.clone()).unwrap_err(), unmet(Need::Hessians));
        for name in ["fisher-scoring", "nim", "stochastic-newton", "fednl"] {
            let method = Method::by_name(name).unwrap().named("refused");
            assert_eq!(Session::with_sight(method, settings(), sight.clone()).unwrap_err(), unmet(Need::Hessians));
        }
    }
}

/// Nor may a session that saw more go on with less.
#[test]
fn restoring_with_less_sight() {
    let (problem, start) = random_quadratic(&mut Random::new(6, "refused"), USERS, 2);
    let settings = Settings::for_problem(start, &problem).step_size(0.1);
    let blind = |session: &Session<'_>| session.snapshot().unwrap();

    let oort = || Method::new("refused", Nothing, Oort::new(), Sgd);
    let session = Session::with_sight(oort(), settings.clone(), Sight::Problem(&problem)).unwrap();
    let refused = Session::restore(oort(), &blind(&session), Sight::Blind).unwrap_err();
    assert_eq!(refused, RestoreError::Settings(unmet(Need::Losses)));

    let power = || Method::new("refused", Nothing, PowerOfChoice::new(Some(2)), Sgd);
    let session = Session::with_sight(power(), settings.clone(), Sight::Problem(&problem)).unwrap();
    let refused = Session::restore(power(), &blind(&session), Sight::Oracle(&problem)).unwrap_err();
    assert_eq!(refused, RestoreError::Settings(unmet(Need::Polls)));

    let ciag = || Method::new("refused", Nothing, Cyclic::new(), CurvatureAided::new());
    let session = Session::with_sight(ciag(), settings, Sight::Problem(&problem)).unwrap();
    let refused = Session::restore(ciag(), &blind(&session), Sight::Blind).unwrap_err();
    assert_eq!(refused, RestoreError::Settings(unmet(Need::Hessians)));
}

/// Where every gradient is zero there is no direction to project on, and nothing to do: no reason to fail.
#[test]
fn gpfl_starts_at_the_optimum() {
    let method = Method::new("gpfl", LastGradient::new(), Projection::new(), Sgd);
    let mut session = Session::new(method, settings().budget(3 * USERS as u64)).unwrap();
    while let Some(query) = session.ask().unwrap() {
        session.tell(query.ticket, &[0.0, 0.0]).unwrap();
    }
}

/// Losses may be negative (Poisson's are): among users that are all but equal, Oort must not ask the first one for ever.
#[test]
fn oort_takes_negative_losses() {
    let problem = Custom::new(
        USERS,
        2,
        |user, x: &[f64]| 0.5 * (x[0] * x[0] + x[1] * x[1]) - 100.0 + user as f64,
        |_, x: &[f64], gradient: &mut [f64]| gradient.copy_from_slice(x),
    );
    let method = Method::new("oort", Nothing, Oort::new(), Sgd);
    let mut session = Session::with_sight(method, settings().budget(400), Sight::Problem(&problem)).unwrap();
    while let Some(query) = session.ask().unwrap() {
        let mut gradient = [0.0; 2];
        problem.gradient(query.user, &query.point, &mut gradient);
        session.tell(query.ticket, &gradient).unwrap();
    }
    let billed = session.meter().billed_per_user();
    assert!(billed[1..].iter().any(|asked| *asked > 10), "{billed:?}");
}
