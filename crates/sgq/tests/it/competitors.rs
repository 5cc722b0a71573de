//! Every built-in method gets where it is known to go.

use sgq::{Method, Oracle, Problem, Random, Session, Settings, Sight, method::METHODS, simulate::gap_curve};

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
        let mut session = Session::with_sight(entry.method(), settings, Sight::Problem(&problem)).unwrap();
        let gaps = gap_curve(&mut session, &problem, queries, |_| Ok(())).unwrap().gaps;
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
                | "dave-qn"
                | "mifa"
                | "ciag"
                | "nim"
                | "stochastic-newton"
                | "fednl"
                | "fisher-scoring"
                | "gd"
                | "l-bfgs"
        );
        let goal = match entry.name {
            _ if exact => 1e-12,
            // They ask those with the largest losses more often, and end where those are balanced.
            "oort" | "power-of-choice" | "gpfl" => 0.3,
            _ => 0.05,
        };
        let name = entry.name;
        assert!(
            end < goal,
            "{name} ends at {end:e}, above {goal:e}: a new method may want a step or a goal of its own here"
        );
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
        ("mifa", 100, 100),
        // The first sweep ends with a step.
        ("dave-qn", 108, 101),
        ("nim", 108, 101),
        ("stochastic-newton", 108, 101),
        ("fednl", 108, 101),
        ("fisher-scoring", 80, 10),
        ("gpfl", 108, 100),
        ("gd", 80, 10),
        ("l-bfgs", 80, 10),
        // A full gradient and its step, then 7 steps of 2 queries, and again.
        ("sarah", 44, 16),
        ("svrg", 48, 32),
        ("katyusha", 24, 16),
    ] {
        let settings = Settings::for_problem(start.clone(), &problem).step_size(0.01).budget(queries);
        let method = Method::by_name(name).unwrap();
        let mut session = Session::with_sight(method, settings, Sight::Problem(&problem)).unwrap();
        gap_curve(&mut session, &problem, queries, |_| Ok(())).unwrap();
        assert_eq!((session.queries(), session.steps()), (queries, steps), "{name}");
    }
}

/// HeteRSGD is SRG where everybody costs the same, asks cheap users more often where not, and stays right on average.
#[test]
fn costs_are_weighed_and_added_up() {
    let users = 8;
    let (problem, start) = random_quadratic(&mut Random::new(13, "costs"), users, 3);
    let queries = 6000;
    let run = |name: &str, costs: Option<Vec<f64>>| {
        let mut settings = Settings::for_problem(start.clone(), &problem).step_size(0.01).seed(4);
        if let Some(costs) = costs {
            settings = settings.costs(costs);
        }
        let method = Method::by_name(name).unwrap();
        let mut session = Session::with_sight(method, settings, Sight::Problem(&problem)).unwrap();
        let mut asked = Vec::new();
        let trial = gap_curve(&mut session, &problem, queries, |answer| {
            asked.push(answer.query.user);
            Ok(())
        });
        (asked, trial.unwrap().gaps, session.meter().cost(), session.meter().billed_per_user().to_vec())
    };
    let equal = run("srg", None);
    assert_eq!(equal.2, queries as f64, "a query costs 1 where nobody says");
    assert_eq!(run("hetersgd", Some(vec![9.0; users])).0, equal.0);
    let costs: Vec<f64> = (0..users).map(|user| if user % 2 == 0 { 1.0 } else { 25.0 }).collect();
    let (_, gaps, cost, billed) = run("hetersgd", Some(costs.clone()));
    let expected: f64 = billed.iter().zip(&costs).map(|(count, cost)| *count as f64 * cost).sum();
    assert!((cost - expected).abs() < 1e-6 * expected);
    let share = |billed: &[u64]| billed.iter().step_by(2).sum::<u64>() as f64 / queries as f64;
    assert!(share(&billed) > share(&equal.3) + 0.1, "{} {}", share(&billed), share(&equal.3));
    let end = gaps[gaps.len() - 500..].iter().sum::<f64>() / 500.0;
    assert!(end < 0.1 * gaps[0], "{end}");

    for (costs, message) in [
        (vec![1.0; 3], "3 costs were given for 8 users"),
        (vec![0.0; users], "a query to user 0 costs 0"),
        (vec![f64::NAN; users], "a query to user 0 costs NaN"),
    ] {
        let settings = Settings::for_problem(start.clone(), &problem).step_size(0.01).costs(costs);
        let error = Session::new(sgq::method::hetersgd(), settings).unwrap_err();
        assert!(error.to_string().contains(message), "{error}");
    }
}

/// The probabilities behind the weights: after one record each, `½/n + ½ (norm/√cost) / Σ`.
#[test]
fn cost_aware_weights_by_hand() {
    use sgq::{Choice, belief::Nothing, choice::ByNorm, update::Sgd};
    // Gradients 3 and 4 everywhere, costs 1 and 4: shares 3 and 2, so that p = ¼ + ½·(3/5) = 0.55 and 0.45.
    let settings = Settings::new(vec![0.0], 2).costs(vec![1.0, 4.0]).step_size(1.0).seed(2);
    let choice = ByNorm::new(0.5).cost_aware(true);
    assert!(!Choice::<Nothing>::needs(&choice).oracle);
    let mut session = Session::new(Method::new("h", Nothing, choice, Sgd), settings).unwrap();
    let mut seen = [false; 2];
    let mut steps = Vec::new();
    for _ in 0..400 {
        let before = session.point()[0];
        let query = session.ask().unwrap().unwrap();
        let gradient = [3.0, 4.0][query.user];
        session.tell(query.ticket, &[gradient]).unwrap();
        steps.push((query.user, (before - session.point()[0]) / gradient));
        seen[query.user] = true;
    }
    assert_eq!(seen, [true; 2]);
    let (user, weight) = steps[399];
    let expected = [0.5 / 0.55, 0.5 / 0.45][user];
    assert!((weight - expected).abs() < 1e-9, "user {user}: {weight}, expected {expected}");
}
