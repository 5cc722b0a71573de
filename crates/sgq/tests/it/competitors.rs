//! Every built-in method gets where it is known to go.

use sgq::{Oracle, Problem, Random, Settings, Sight, catalog::METHODS, simulate::gap_curve};

use crate::random_problem::random_quadratic;

/// On a strongly convex quadratic, with a short constant step: methods whose error vanishes reach the optimum, the others get
/// near it.
#[test]
fn every_method_converges() {
    let (problem, start) = random_quadratic(&mut Random::new(11, "competitors"), 8, 4);
    let largest = problem.smoothness().unwrap().iter().copied().fold(0.0, f64::max);
    let start_gap = problem.gap(&start).unwrap();
    for entry in METHODS {
        let (step, queries) = match entry.name {
            // Biased: what remains shrinks with the step.
            "oort" | "power-of-choice" | "gpfl" => (0.003 / largest, 40_000),
            "sgq" | "ogq" => (0.01 / largest, 20_000),
            "iag" => (0.1 / largest, 40_000),
            _ => (0.2 / largest, 40_000),
        };
        let settings = Settings::for_problem(start.clone(), &problem).step_size(step).seed(3);
        let mut session = entry.recipe.open(entry.name, settings, Sight::Problem(&problem)).unwrap();
        let gaps = gap_curve(&mut *session, &problem, queries, |_| Ok(())).unwrap().gaps;
        let end = gaps[gaps.len() - 50..].iter().copied().fold(0.0, f64::max) / start_gap;
        let exact = matches!(
            entry.name,
            "saga"
                | "saga-sgq"
                | "sag"
                | "iag"
                | "diag"
                | "svrg"
                | "l-svrg"
                | "katyusha"
                | "sarah"
                | "iqn"
                | "ciag"
                | "gd"
                | "l-bfgs"
        );
        let goal = match entry.name {
            _ if exact => 1e-12,
            // They ask those with the largest losses more often, and end where those are balanced.
            "oort" | "power-of-choice" | "gpfl" => 0.3,
            _ => 0.05,
        };
        assert!(end < goal, "{} ends at {end:e}", entry.name);
        assert_eq!(session.meter().billed(), queries);
        let expected_looks = if entry.name == "ogq" { session.steps() * problem.users() as u64 } else { 0 };
        assert_eq!(session.meter().diagnostic(), expected_looks, "{}", entry.name);
    }
}

/// What each method charges: start-up, snapshots, and two queries a step for SARAH.
#[test]
fn queries_are_charged_as_the_catalogue_says() {
    let users = 8;
    let (problem, start) = random_quadratic(&mut Random::new(12, "charges"), users, 3);
    for (name, queries, steps) in [
        ("sgd", 100, 100),
        ("importance-sgd", 100, 100),
        ("iag", 108, 100),
        ("diag", 108, 100),
        ("iqn", 108, 100),
        ("ciag", 108, 100),
        ("gpfl", 108, 100),
        ("gd", 80, 10),
        ("l-bfgs", 80, 10),
        // A full gradient and its step, then 7 steps of 2 queries, and again.
        ("sarah", 44, 16),
        ("svrg", 48, 32),
        ("katyusha", 24, 16),
    ] {
        let entry = METHODS.iter().find(|entry| entry.name == name).unwrap();
        let settings = Settings::for_problem(start.clone(), &problem).step_size(0.01).budget(queries);
        let mut session = entry.recipe.open(name, settings, Sight::Problem(&problem)).unwrap();
        gap_curve(&mut *session, &problem, queries, |_| Ok(())).unwrap();
        assert_eq!((session.queries(), session.steps()), (queries, steps), "{name}");
    }
}
