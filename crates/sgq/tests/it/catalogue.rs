//! What the catalogue opens by name is what the constructors make.

use sgq::{
    AskTell, LastGradient, Method, Oracle, Random, Session, Settings, SettingsError, Sight,
    belief::Nothing,
    catalog::{CHOICES, ChoiceKind, METHODS, Recipe, UPDATES, UpdateKind},
    choice::{Balanced, ByNorm, BySmoothness, Cyclic, Oort, PowerOfChoice, Projection, Shuffled, SurrogateEi, Uniform},
    method,
    problem::DenseQuadratic,
    update::{
        Aggregated, CurvatureAided, DoublyAggregated, FullGradient, Katyusha, Lbfgs, Loopless, QuasiNewton, Recursive,
        Saga, Sgd,
    },
};

use crate::random_problem::{log_steps, random_quadratic, safe_settings};

fn problem() -> (DenseQuadratic, Settings) {
    let (problem, start) = random_quadratic(&mut Random::new(3, "catalogue"), 6, 3);
    let settings = safe_settings(&problem, start).seed(5);
    (problem, settings)
}

fn users_and_points(session: &mut dyn AskTell, problem: &dyn Oracle) -> Vec<(usize, usize, Vec<u64>)> {
    let bits = |x: &[f64]| x.iter().map(|x| x.to_bits()).collect();
    log_steps(session, problem, 60).iter().map(|step| (step.user, step.queries, bits(&step.point_after))).collect()
}

#[test]
fn every_method_is_its_constructor() {
    let (problem, settings) = problem();
    let sight = Sight::Problem(&problem);
    for entry in METHODS {
        let settings = || settings.clone();
        macro_rules! session {
            ($belief:expr, $choice:expr, $update:expr) => {{
                let method = Method::new(entry.name, $belief, $choice, $update);
                Box::new(Session::with_sight(method, settings(), sight.clone()).unwrap())
            }};
        }
        let table = LastGradient::new;
        let mut expected: Box<dyn AskTell + '_> = match entry.name {
            "frugal" => Box::new(Session::with_sight(method::frugal(), settings(), sight.clone()).unwrap()),
            "sgd" => Box::new(Session::with_sight(method::sgd(), settings(), sight.clone()).unwrap()),
            "shuffled-sgd" => Box::new(Session::with_sight(method::shuffled_sgd(), settings(), sight.clone()).unwrap()),
            "ogq" => Box::new(Session::with_sight(method::ogq(), settings(), sight.clone()).unwrap()),
            "sgq" => Box::new(Session::with_sight(method::sgq(0.3), settings(), sight.clone()).unwrap()),
            "practical-sgq" => {
                Box::new(Session::with_sight(method::practical_sgq(0.3), settings(), sight.clone()).unwrap())
            }
            "saga" => Box::new(Session::with_sight(method::saga(), settings(), sight.clone()).unwrap()),
            "svrg" => Box::new(Session::with_sight(method::svrg(12), settings(), sight.clone()).unwrap()),
            "saga-sgq" => Box::new(Session::with_sight(method::saga_sgq(0.3), settings(), sight.clone()).unwrap()),
            "importance-sgd" => session!(Nothing, BySmoothness, Sgd),
            "srg" => session!(Nothing, ByNorm::new(0.5), Sgd),
            "hetersgd" => session!(Nothing, ByNorm::new(0.5).cost_aware(true), Sgd),
            "grab" => session!(Nothing, Balanced::new(), Sgd),
            "power-of-choice" => session!(Nothing, PowerOfChoice::new(2), Sgd),
            "oort" => session!(Nothing, Oort::new(), Sgd),
            "gpfl" => session!(table(), Projection::new(), Sgd),
            "sag" => session!(table(), Uniform, Aggregated),
            "iag" => session!(table(), Cyclic::new(), Aggregated),
            "diag" => session!(table(), Cyclic::new(), DoublyAggregated::new()),
            "l-svrg" => session!(Nothing, Uniform, Loopless::new(Some(1.0 / 6.0))),
            "katyusha" => session!(Nothing, Uniform, Katyusha::new(Some(12), 0.5)),
            "sarah" => session!(Nothing, Uniform, Recursive::new(Some(6))),
            "iqn" => session!(table(), Cyclic::new(), QuasiNewton::new()),
            "ciag" => session!(Nothing, Cyclic::new(), CurvatureAided::new()),
            "gd" => session!(Nothing, Cyclic::new(), FullGradient::new()),
            "l-bfgs" => session!(Nothing, Cyclic::new(), Lbfgs::new()),
            other => panic!("{other} is new: compare it here"),
        };
        let mut opened = entry.recipe.open(entry.name, settings(), sight.clone()).unwrap();
        assert_eq!(
            users_and_points(&mut *opened, &problem),
            users_and_points(&mut *expected, &problem),
            "{}",
            entry.name
        );
    }
}

#[test]
fn parts_keep_their_settings() {
    let (problem, settings) = problem();
    let check = |recipe: Recipe, expected: &mut dyn AskTell| {
        let mut opened = recipe.open("x", settings.clone(), Sight::Blind).unwrap();
        assert_eq!(users_and_points(&mut *opened, &problem), users_and_points(expected, &problem));
    };
    let choice = SurrogateEi::new(0.6).bonus_weight(5.0);
    check(
        Recipe {
            choice: ChoiceKind::SurrogateEi {
                explore: 0.6,
                bonus_weight: 5.0,
                sharp: false,
                lazy: false,
                learned: false,
            },
            update: UpdateKind::Sgd,
        },
        &mut Session::new(Method::new("x", LastGradient::new(), choice, Sgd), settings.clone()).unwrap(),
    );
    check(
        Recipe { choice: ChoiceKind::Shuffled, update: UpdateKind::Saga },
        &mut Session::new(Method::new("x", LastGradient::new(), Shuffled::new(), Saga), settings.clone()).unwrap(),
    );
}

/// Every combination opens, and goes on from its snapshot.
#[test]
fn every_combination_opens_and_restores() {
    let (problem, settings) = problem();
    let sight = Sight::Problem(&problem);
    for choice in CHOICES {
        for update in UPDATES {
            let recipe = Recipe { choice: choice.kind, update: update.kind };
            let opened = recipe.open("x", settings.clone(), sight.clone());
            if !recipe.fits() {
                let Err(SettingsError::DoNotFit { choice: refused, .. }) = opened else { panic!("{}", choice.name) };
                assert_eq!(refused, choice.name);
                continue;
            }
            let mut session = opened.unwrap();
            log_steps(&mut *session, &problem, 9);
            let mut later = recipe.restore("x", &session.snapshot().unwrap(), sight.clone()).unwrap();
            assert_eq!(users_and_points(&mut *later, &problem), users_and_points(&mut *session, &problem));
            assert!(recipe.restore("y", &session.snapshot().unwrap(), sight.clone()).is_err());
            let other = UPDATES.iter().find(|other| other.name != update.name).unwrap();
            let impostor = Recipe { update: other.kind, ..recipe };
            assert!(impostor.restore("x", &session.snapshot().unwrap(), sight.clone()).is_err());
        }
    }
}
