//! Constants, caps, rates, floors and bounds: against values worked out by hand, against a reference written by somebody
//! who had not seen the code (`fixtures/theory.py`), and against what runs really do.

mod details;

use std::collections::BTreeMap;

use sgq::{
    Oracle, Problem, Random, Session, Settings, Sight, Smoothness, method,
    problem::{Custom, Optimum, Quadratic},
    simulate::gap_curve,
    theory::{
        Certificate, Constant, Heterogeneity, Ingredients, Moments, Provenance, Question, Region, Spread, Theorem,
        TheoryError, Verdict,
    },
};

use crate::random_problem::random_quadratic;

#[track_caller]
fn close(found: f64, expected: f64) {
    let scale = expected.abs().max(1e-6);
    assert!((found - expected).abs() <= 1e-9 * scale, "found {found:e}, expected {expected:e}");
}

fn interval(low: f64, high: f64) -> Region {
    Region::Box { low: vec![low], high: vec![high] }
}

fn all_constants(certificate: &Certificate) -> [Option<Constant>; 9] {
    let it = &certificate.constants;
    [
        it.mean_smoothness,
        it.max_smoothness,
        it.objective_smoothness,
        it.pl_constant,
        it.sigma_star,
        it.delta,
        it.c,
        it.c1,
        it.c2,
    ]
}

/// `(L, L_max, L of f, μ, σ*, Δ, c, C_1, C_2)`.
fn constants(certificate: &Certificate) -> [f64; 9] {
    all_constants(certificate).map(|constant| constant.unwrap().value)
}

#[track_caller]
fn check_verdict(verdict: &Verdict, cap: f64, factor: f64, floor: f64) {
    assert!(verdict.holds, "{:?}", verdict.reasons);
    close(verdict.cap.unwrap(), cap);
    close(verdict.rate.unwrap().factor, factor);
    close(verdict.rate.unwrap().floor.unwrap(), floor);
}

/// The paper's toy problem on `|x| ≤ 5`. Derivatives `2(x − b_i)`: `V = 4·2.5 = 10`, no skewness, `κ − 1 = 0.36`, and
/// `ḡ² = 100` at the ends.
#[test]
fn the_papers_problem_by_hand() {
    let toy = Quadratic::scalar(&[1.0; 4], &[2.0, 1.0, -1.0, -2.0]).unwrap();
    let c2 = 0.36 * 100.0 / (4.0 * 110.0 * 110.0);
    for region in [Region::Sublevel, interval(-5.0, 5.0), Region::Ball { center: vec![0.0], radius: 5.0 }] {
        let question = Question { explore: Some(0.3), region, ..Question::new(&toy, &[5.0], 0.015) };
        let certificate = Certificate::new(&question).unwrap();
        let expected = [2.0, 2.0, 2.0, 2.0, 10.0, 4.0, 5.0 / 3.0, 0.025, c2];
        for (found, expected) in constants(&certificate).into_iter().zip(expected) {
            close(found, expected);
        }
        assert!((c2 - 7.438e-4).abs() < 5e-8);
        check_verdict(&certificate.sgd, 0.25, 0.97, 0.15);
        let (gain1, gain2) = ((2.0 * 0.025 * 0.6f64).sqrt(), (2.0 * c2 * 0.6).sqrt());
        let speed = 1.0 + gain1 + gain2;
        check_verdict(&certificate.theorem1, 0.25, 1.0 - 0.03 * speed, 0.15 * (1.0 - gain2) / speed);
        assert!(certificate.theorem1.is_guaranteed(), "{:?}", certificate.theorem1.caveats);
        assert_eq!(certificate.theorem1.bound.unwrap().startup, 0);

        let second = &certificate.theorem2;
        assert!(!second.holds && second.rate.is_none() && second.bound.is_none());
        close(second.cap.unwrap(), 0.3 / (96.0 * 4.0 * 4.0 * 0.7));
        assert_eq!(second.reasons.len(), 1);
        assert!(second.reasons[0].contains("p / (96 n (L + L_max)(1 − p))"), "{:?}", second.reasons);
    }
}

/// Two users, `(x + 1)²` and `3(x − 2)²`, on `[0, 2]`. Derivatives `2x + 2` and `6x − 12`: `ḡ = 4x − 5`,
/// `V = (7 − 2x)²`, always equally far from their mean, so that `δ = 1`, `C_2 = 0`, `c = 1`. `V/4ḡ²` is least at 2.
#[test]
fn two_users_by_hand() {
    let problem = Quadratic::scalar(&[1.0, 3.0], &[-1.0, 2.0]).unwrap();
    let ask = |step_size: f64| {
        let question = Question::new(&problem, &[2.0], step_size);
        Certificate::new(&Question { explore: Some(0.5), region: interval(0.0, 2.0), ..question }).unwrap()
    };
    let certificate = ask(0.02);
    let expected = [4.0, 6.0, 4.0, 4.0, 20.25, 7.0, 1.0, 0.25, 0.0];
    for (found, expected) in constants(&certificate).into_iter().zip(expected) {
        close(found, expected);
    }
    check_verdict(&certificate.sgd, 1.0 / 12.0, 0.92, 0.405);
    let root = 0.5f64.sqrt();
    check_verdict(&certificate.theorem1, 1.0 / 12.0, 1.0 - 0.08 * (1.0 + root), 0.405 / (1.0 + root));
    assert!(!certificate.theorem2.holds);
    close(certificate.theorem2.cap.unwrap(), 1.0 / 1920.0);

    // 24·α·(L + L_max)·n·(1 − p)/(p μ)·Δ² = 24·(1/2000)·10·2·(1/4)·49 = 2.94, and αLσ*/μ = 0.010125.
    let certificate = ask(1.0 / 2000.0);
    let speed = 1.0 + 0.5 * root;
    check_verdict(&certificate.theorem2, 1.0 / 1920.0, 1.0 - speed / 500.0, (2.94 + 0.010125) / speed);
    assert_eq!(certificate.theorem2.bound.unwrap().startup, 2);
    // (2 − 5/4)²·2 at the start.
    close(certificate.theorem2.bound.unwrap().start_gap, 1.125);
    assert!(certificate.theorem2.caveats.iter().any(|caveat| caveat.contains("remainder")));
    assert!(!certificate.theorem2.is_guaranteed());
}

/// `‖x − b_i‖²` with `b = (±1, 0), (0, ±2)`, on the one point (1, 0): `∇f = (2, 0)`, gradients (0, 0), (4, 0), (2, ∓4);
/// `u = 0, 8, 4, 4`, `v = 0, 16, 20, 20`: `Var u = 8`, `Cov = 16`, `Var v = 68`, `S = 14`, `‖∇f‖⁴ = 16`.
///
/// Assumption 4: `196 C_2 ≤ (8 − 16 C_1) y² − 16 y + 17` for all `y ≥ 2`, which binds at `y = 2`: `C_2 ≤ (17 − 64 C_1)/196`.
/// The largest `w √C_1 + √C_2` has `√C_2 = (64/196w) √C_1`.
#[test]
fn the_pair_of_the_definition_by_hand() {
    let centers = [[1.0, 0.0], [-1.0, 0.0], [0.0, 2.0], [0.0, -2.0]].map(|center| center.to_vec());
    let problem = Quadratic::diagonal(&vec![vec![1.0, 1.0]; 4], &centers).unwrap();
    let (step_size, start) = (0.1, [1.0, 0.0]);
    for (explore, weight) in [(None, 1.0), (Some(1.0), 2.0)] {
        let region = Region::Points { points: vec![start.to_vec()] };
        let question = Question { explore, region, ..Question::new(&problem, &start, step_size) };
        let certificate = Certificate::new(&question).unwrap();
        let part = 64.0 / (196.0 * weight);
        let c1: f64 = 17.0 / (64.0 + 196.0 * part * part);
        let c2 = part * part * c1;
        // Improvements u − (αL/2) v = 0, 6.4, 2, 2.
        let c = 2.6 / 3.8;
        let expected = [2.0, 2.0, 2.0, 2.0, 10.0, 4.0, c, c1, c2];
        for (found, expected) in constants(&certificate).into_iter().zip(expected) {
            close(found, expected);
        }
        assert_eq!(certificate.constants.c1.unwrap().provenance, Provenance::Exact);
        let (gain1, gain2) = ((2.0 * c1 / c).sqrt(), (2.0 * c2 / c).sqrt());
        let speed = 1.0 + gain1 + gain2;
        check_verdict(&certificate.sgd, 0.25, 0.8, 1.0);
        check_verdict(&certificate.theorem1, 0.25, 1.0 - 0.2 * speed, (1.0 - gain2) / speed);
    }
    // On the whole plane the users' gradients differ by the same vectors.
    let everywhere = Certificate::new(&Question::new(&problem, &start, step_size)).unwrap();
    let delta = everywhere.constants.delta.unwrap();
    close(delta.value, 4.0);
    assert_eq!(delta.provenance, Provenance::Exact);
}

/// Reads `fixtures/theory.tsv`.
fn fixture() -> BTreeMap<String, BTreeMap<String, String>> {
    let mut problems: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
    for line in include_str!("../fixtures/theory.tsv").lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        let [problem, quantity, value] = fields[..] else { unreachable!("{line}") };
        problems.entry(problem.into()).or_default().insert(quantity.into(), value.into());
    }
    problems
}

fn numbers(text: &str) -> Vec<f64> {
    text.split(',').map(|number| number.parse().unwrap()).collect()
}

#[test]
fn scalar_problems_against_the_reference() {
    for (name, values) in fixture().iter().filter(|(name, _)| name.starts_with('A')) {
        let number = |quantity: &str| values[quantity].parse::<f64>().unwrap();
        let problem = Quadratic::scalar(&numbers(&values["a"]), &numbers(&values["b"])).unwrap();
        let start = [number("x0")];
        let explore = number("p");
        let question = Question {
            explore: Some(explore),
            region: interval(number("lo"), number("hi")),
            ..Question::new(&problem, &start, number("alpha"))
        };
        let certificate = Certificate::new(&question).unwrap();
        let found = constants(&certificate);
        let names = ["L", "L_max", "mu", "mu", "sigma_star", "Delta", "c", "C1", "C2"];
        for (found, quantity) in found.into_iter().zip(names) {
            let expected = number(quantity);
            let tolerance = 1e-9 * expected.abs().max(if expected == 0.0 { 1e-3 } else { 0.0 });
            assert!((found - expected).abs() <= tolerance, "{name} {quantity}: {found:e}, not {expected:e}");
        }
        let two = Theorem::Two { explore };
        let smoothness = Smoothness::new(problem.smoothness().unwrap().to_vec(), problem.users()).unwrap();
        for (term, quantity) in two.cap_terms(&smoothness, number("mu")).iter().zip(1..) {
            let expected = number(&format!("thm2_cap{quantity}"));
            assert!(term.value == expected || (term.value / expected - 1.0).abs() < 1e-12, "{name} {quantity}");
        }
        for (prefix, theorem) in [("sgd", Theorem::UniformSgd), ("thm1", Theorem::One), ("thm2", two)] {
            let number = |quantity: &str| number(&format!("{prefix}_{quantity}"));
            let verdict = certificate.verdict(theorem).unwrap();
            close(verdict.cap.unwrap(), number("cap"));
            assert_eq!(verdict.holds, number("within_cap") == 1.0, "{name} {prefix}");
            let Some(bound) = verdict.bound else { continue };
            close(bound.factor, number("factor"));
            close(bound.floor, number("floor"));
            let queries = bound.queries_to(number("target"));
            assert_eq!(queries, Some(number("queries") as u64 + bound.startup), "{name} {prefix}");
        }
    }
}

#[test]
fn points_of_diagonal_problems_against_the_reference() {
    for (name, values) in fixture().iter().filter(|(name, _)| name.starts_with('B')) {
        let number = |quantity: &str| values[quantity].parse::<f64>().unwrap();
        let dim = number("d") as usize;
        let rows =
            |quantity: &str| -> Vec<Vec<f64>> { numbers(&values[quantity]).chunks(dim).map(<[f64]>::to_vec).collect() };
        let problem = Quadratic::diagonal(&rows("a"), &rows("b")).unwrap();
        let smoothness = problem.smoothness().unwrap();
        let mean = smoothness.iter().sum::<f64>() / smoothness.len() as f64;
        close(mean, number("L"));
        close(problem.objective_smoothness().unwrap(), number("L_f"));
        close(problem.pl_constant().unwrap(), number("mu"));
        let start = problem.optimum().unwrap().point.clone();
        let certificate = Certificate::new(&Question::new(&problem, &start, 0.01)).unwrap();
        close(certificate.constants.sigma_star.unwrap().value, number("sigma_star"));
        for point in 0..number("points") as usize {
            let number = |quantity: &str| number(&format!("point{point}_{quantity}"));
            let (x, step_size) = (numbers(&values[&format!("point{point}_x")]), number("alpha"));
            let spread = Spread::at(&problem, &x, step_size * mean).unwrap();
            let scale = spread.mean_square * spread.mean_square;
            close(scale, number("mean_sq2"));
            close(spread.full * scale, number("grad4"));
            close(spread.improvement_variance(step_size * mean) * scale * step_size * step_size, number("var_ei"));
            close(spread.imbalance.unwrap(), number("ctilde"));
            close(spread.dissimilarity, number("max_dev"));
            assert!(spread.imbalance.unwrap() <= problem.users() as f64 - 1.0, "{name}");
        }
    }
}

/// The scalar proposition's pair satisfies Assumption 4 at every point of its region and for every step up to `1/(2L)`.
#[test]
fn the_scalar_pair_satisfies_assumption_4_on_random_problems() {
    let mut useful = 0;
    for seed in 0..300 {
        let mut random = Random::new(seed, "scalar pair");
        let users = 1 + random.index(9);
        let curvatures: Vec<f64> = (0..users).map(|_| 0.1 + 3.0 * random.unit()).collect();
        let centers: Vec<f64> = (0..users).map(|_| 8.0 * random.unit() - 4.0).collect();
        let problem = Quadratic::scalar(&curvatures, &centers).unwrap();
        let (low, high) = (-6.0 * random.unit(), 6.0 * random.unit());
        let start = [low];
        let question = Question { region: interval(low, high), ..Question::new(&problem, &start, 1e-3) };
        let certificate = Certificate::new(&question).unwrap();
        let (c1, c2) = (certificate.constants.c1.unwrap().value, certificate.constants.c2.unwrap().value);
        let mean_smoothness = certificate.constants.mean_smoothness.unwrap().value;
        let pair = Heterogeneity { c1, c2 };
        useful += u32::from(c1 > 0.0);
        let (mut least1, mut least2) = (f64::INFINITY, f64::INFINITY);
        for k in 0..=400 {
            let x = [low + (high - low) * f64::from(k) / 400.0];
            let relative_step = 1e-3 * mean_smoothness;
            let spread = Spread::at(&problem, &x, relative_step).unwrap();
            for s in [1e-6, relative_step, 0.1, 0.3, 0.5] {
                assert!(pair.is_valid_at(&spread, s), "seed {seed}, x = {x:?}, s = {s}");
            }
            if let Some(c) = certificate.constants.c {
                assert!(spread.imbalance.is_none_or(|imbalance| imbalance <= c.value * (1.0 + 1e-9)), "seed {seed}");
            }
            let derivatives: Vec<f64> = (0..users)
                .map(|user| {
                    let mut derivative = [0.0];
                    problem.gradient(user, &x, &mut derivative);
                    derivative[0]
                })
                .collect();
            let (local1, local2) = Moments::of(&derivatives).heterogeneity();
            least1 = local1.map_or(least1, |local| local.min(least1));
            least2 = local2.map_or(least2, |local| local.min(least2));
        }
        // The certified infimum is below every point's value, and, unless two derivatives that meet between the points
        // make it vanish there, not far below the least of them.
        assert!(c1 <= least1 * (1.0 + 1e-9) && c2 <= least2 * (1.0 + 1e-9), "seed {seed}");
        let may_vanish = users < 4;
        assert!(
            may_vanish || c1 >= 0.5 * least1 - 1e-3 && c2 >= 0.5 * least2 - 1e-3,
            "seed {seed}: {c1} {least1}, {c2} {least2}"
        );
    }
    assert!(useful > 150, "{useful}");
}

/// The search never returns a pair that violates Assumption 4 at a point it was given, and no larger pair is valid.
#[test]
fn the_searched_pair_is_valid_and_cannot_grow() {
    for seed in 0..100 {
        let mut random = Random::new(seed, "searched pair");
        let (users, dim) = (2 + random.index(10), 1 + random.index(6));
        let (problem, _) = random_quadratic(&mut random, users, dim);
        let spreads: Vec<Spread> = (0..50)
            .map(|_| {
                let x: Vec<f64> = (0..dim).map(|_| 8.0 * random.unit() - 4.0).collect();
                Spread::at(&problem, &x, 0.1).unwrap()
            })
            .collect();
        let steps = || (1..=500).map(|k| f64::from(k) / 1000.0);
        let valid = |pair: Heterogeneity| steps().all(|s| spreads.iter().all(|spread| pair.is_valid_at(spread, s)));
        let mut rates = Vec::new();
        for weight in [1.0, 2.0] {
            let pair = Heterogeneity::fastest(&spreads, weight);
            assert!(valid(pair), "seed {seed}: {pair:?}");
            let rate = |pair: Heterogeneity| weight * pair.c1.sqrt() + pair.c2.sqrt();
            for other in [(1.01, 1.0), (1.0, 1.01), (0.9, 1.5), (1.5, 0.9), (0.5, 3.0), (3.0, 0.1)] {
                let other = Heterogeneity { c1: pair.c1 * other.0, c2: pair.c2 * other.1 };
                let faster = rate(other) > rate(pair) * (1.0 + 1e-4);
                assert!(!(faster && valid(other)), "seed {seed}: {other:?} beats {pair:?}");
            }
            rates.push(pair);
        }
        assert!(rates[0].c1 <= rates[1].c1 * (1.0 + 1e-9), "seed {seed}: a heavier C_1 does not shrink it");
    }
}

/// On 1,000 random strongly convex quadratics, with steps inside the caps: OGQ's gap never exceeds Theorem 1's bound
/// while its iterates are in the region, and SGD's mean gap never exceeds its bound by more than 4 standard errors.
#[test]
fn bounds_hold_on_random_quadratics() {
    let mut guaranteed = 0;
    for seed in 0..1000 {
        let mut random = Random::new(seed, "bounds");
        let (users, dim) = (1 + random.index(8), 1 + random.index(10));
        let (problem, start) = random_quadratic(&mut random, users, dim);
        let settings = Settings::for_problem(start.clone(), &problem);
        let smoothness = Smoothness::new(problem.smoothness().unwrap().to_vec(), users).unwrap();
        let cap = Theorem::One.step_cap(&smoothness, problem.pl_constant().unwrap());
        let step_size = cap * (0.05 + 0.95 * random.unit());
        let question = Question { samples: 60, seed, ..Question::new(&problem, &start, step_size) };
        let certificate = Certificate::new(&question).unwrap();
        guaranteed += u32::from(certificate.theorem1.is_guaranteed());

        let settings = settings.step_size(step_size);
        let mut ogq = Session::with_sight(method::ogq(), settings.clone(), Sight::Problem(&problem)).unwrap();
        let gaps = gap_curve(&mut ogq, &problem, 60, |_| Ok(())).unwrap().gaps;
        let bound = certificate.theorem1.bound.unwrap();
        for (queries, gap) in gaps.iter().enumerate() {
            if *gap > gaps[0] * (1.0 + 1e-12) {
                break; // it has left the region
            }
            assert!(*gap <= bound.at(queries as u64) * (1.0 + 1e-9), "OGQ, seed {seed}, query {queries}");
        }

        let bound = certificate.sgd.bound.unwrap();
        let (trials, queries) = (12, [1, 10, 40]);
        let mut seen = vec![Vec::new(); queries.len()];
        for trial in 0..trials {
            let mut sgd = Session::new(method::sgd(), settings.clone().seed(trial)).unwrap();
            let gaps = gap_curve(&mut sgd, &problem, 40, |_| Ok(())).unwrap().gaps;
            for (seen, queries) in seen.iter_mut().zip(queries) {
                seen.push(gaps[queries]);
            }
        }
        for (seen, queries) in seen.iter().zip(queries) {
            let mean = seen.iter().sum::<f64>() / trials as f64;
            let variance = seen.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / (trials - 1) as f64;
            let error = (variance / trials as f64).sqrt();
            assert!(mean <= bound.at(queries as u64) + 4.0 * error, "SGD, seed {seed}, query {queries}");
        }
    }
    // In one dimension everything is certified; in more, C_1 and C_2 are estimates.
    assert!(guaranteed > 50, "{guaranteed}");
}

/// Where the factor would be negative the gap is bounded by the noise of one step; where the noise term would be, by zero.
#[test]
fn extreme_heterogeneity_gives_no_negative_numbers() {
    let toy = Quadratic::scalar(&[1.0; 4], &[2.0, 1.0, -1.0, -2.0]).unwrap();
    let question = Question { region: interval(-0.1, 0.1), ..Question::new(&toy, &[0.1], 0.25) };
    let certificate = Certificate::new(&question).unwrap();
    close(certificate.constants.c1.unwrap().value, 10.0 / (4.0 * 0.04));
    let rate = certificate.theorem1.rate.unwrap();
    assert_eq!(rate.factor, 0.0);
    let gain2 = (2.0 * certificate.constants.c2.unwrap().value / certificate.constants.c.unwrap().value).sqrt();
    close(rate.floor.unwrap(), 0.0625 * 2.0 * (1.0 - gain2) * 10.0);
    let ingredients = Ingredients {
        step_size: 0.1,
        users: 3,
        mean_smoothness: 1.0,
        max_smoothness: 1.0,
        pl_constant: 1.0,
        c: Some(0.5),
        c1: 0.0,
        c2: 4.0,
        sigma_star: Some(1.0),
        delta: None,
    };
    let rate = Theorem::One.rate(&ingredients).unwrap();
    close(rate.factor, 0.8);
    assert_eq!(rate.floor, Some(0.0));
    assert_eq!(Theorem::Two { explore: 0.5 }.rate(&ingredients).unwrap().floor, None, "it needs Δ");
    assert_eq!(Theorem::Saga.rate(&ingredients), None);
}

#[allow(clippy::type_complexity)] // closures have no shorter names
fn cosh() -> Custom<impl Fn(usize, &[f64]) -> f64 + Sync, impl Fn(usize, &[f64], &mut [f64]) + Sync> {
    // ln cosh is convex and 1-smooth, and neither quadratic nor PL on all of R.
    let centers = [-1.0, 1.0];
    Custom::new(
        2,
        1,
        move |user, x| (x[0] - centers[user]).cosh().ln(),
        move |user, x, gradient| gradient[0] = (x[0] - centers[user]).tanh(),
    )
}

fn finite(certificate: &Certificate) {
    let all = all_constants(certificate);
    assert!(all.into_iter().flatten().all(|constant| constant.value.is_finite()), "{all:?}");
    for verdict in [&certificate.sgd, &certificate.theorem1, &certificate.theorem2] {
        assert_eq!(verdict.holds, verdict.reasons.is_empty());
        assert!(verdict.cap.is_none_or(|cap| !cap.is_nan()));
        if let Some(rate) = verdict.rate {
            assert!((0.0..=1.0).contains(&rate.factor) && rate.floor.is_none_or(|floor| floor >= 0.0), "{rate:?}");
        }
    }
}

#[test]
fn what_is_not_known_is_said() {
    let ask = |problem: &dyn Problem, region: Region| {
        let question = Question { explore: Some(0.5), region, samples: 50, ..Question::new(problem, &[1.5], 0.01) };
        let certificate = Certificate::new(&question).unwrap();
        finite(&certificate);
        certificate
    };
    let optimum = Optimum { point: vec![0.0], value: 1f64.cosh().ln() };
    for region in [Region::Sublevel, interval(-2.0, 2.0), Region::Points { points: vec![vec![1.5], vec![0.2]] }] {
        // Nothing but gradients and values.
        let bare = ask(&cosh(), region.clone());
        assert!(bare.sgd.reasons.iter().any(|reason| reason.contains("L_i")), "{:?}", bare.sgd.reasons);
        assert!(bare.sgd.reasons.iter().any(|reason| reason.contains('μ')), "{:?}", bare.sgd.reasons);
        assert!(!bare.theorem1.holds && !bare.theorem2.holds && bare.start_gap.is_none());
        // No optimum: caps and factors, but no floor and no curve.
        let no_optimum = ask(&cosh().with_smoothness(vec![1.0; 2]).with_pl_constant(0.05), region.clone());
        assert!(no_optimum.theorem1.holds && no_optimum.theorem1.bound.is_none());
        close(no_optimum.sgd.rate.unwrap().factor, 1.0 - 0.01 * 0.05);
        assert!(no_optimum.sgd.caveats.iter().any(|caveat| caveat.contains("optimum")));
        // No μ.
        let no_mu = ask(&cosh().with_smoothness(vec![1.0; 2]).with_optimum(optimum.clone()), region.clone());
        assert!(!no_mu.sgd.holds && no_mu.sgd.cap.is_none());
        // All of it, honestly stated.
        let full = cosh().with_smoothness(vec![1.0; 2]).with_pl_constant(0.05).with_optimum(optimum.clone());
        let full = ask(&full, region.clone());
        assert!(full.sgd.holds && full.theorem1.holds, "{:?}", full.theorem1.reasons);
        assert!(!full.sgd.is_guaranteed(), "it rests on the problem's word");
        // A μ, an L_i and a minimum that cannot be right.
        if !matches!(region, Region::Points { .. }) {
            let wrong_mu = cosh().with_smoothness(vec![1.0; 2]).with_pl_constant(0.9).with_optimum(optimum.clone());
            assert!(ask(&wrong_mu, region.clone()).sgd.reasons[0].contains("Assumption 3 fails"));
            let wrong_smoothness = cosh().with_smoothness(vec![0.1; 2]).with_pl_constant(0.05);
            assert!(ask(&wrong_smoothness, region.clone()).sgd.reasons[0].contains("Assumption 2 fails"));
            let low = Optimum { value: 2.0, ..optimum.clone() };
            let wrong_minimum = cosh().with_smoothness(vec![1.0; 2]).with_pl_constant(0.05).with_optimum(low);
            assert!(ask(&wrong_minimum, region).sgd.reasons[0].contains("below its stated minimum"));
        }
    }
    let concave = Custom::new(1, 1, |_, x| -x[0] * x[0], |_, x, gradient| gradient[0] = -2.0 * x[0])
        .with_smoothness(vec![2.0])
        .with_pl_constant(1.0);
    let certificate = ask(&concave, interval(-2.0, 2.0));
    assert!(certificate.sgd.reasons[0].contains("Assumption 1 fails"), "{:?}", certificate.sgd.reasons);
    let large = Custom::new(1, 1, |_, x| x[0] * x[0], |_, x, gradient| gradient[0] = 2.0 * x[0])
        .with_smoothness(vec![2.0])
        .with_pl_constant(3.0);
    assert!(ask(&large, interval(-2.0, 2.0)).sgd.reasons[0].contains("exceeds the mean smoothness"));
}

#[test]
fn one_user_and_identical_users_promise_no_more_than_sgd() {
    for users in [1, 3] {
        for dim in [1, 2] {
            let problem = Quadratic::diagonal(&vec![vec![2.0; dim]; users], &vec![vec![1.0; dim]; users]).unwrap();
            let start = vec![3.0; dim];
            for region in [Region::Sublevel, Region::Ball { center: vec![1.0; dim], radius: 9.0 }] {
                let question = Question { explore: Some(0.5), region, ..Question::new(&problem, &start, 1e-4) };
                let certificate = Certificate::new(&question).unwrap();
                finite(&certificate);
                let it = &certificate.constants;
                assert_eq!((it.c, it.c1.unwrap().value, it.c2.unwrap().value), (None, 0.0, 0.0));
                assert_eq!((it.sigma_star.unwrap().value, it.delta.unwrap().value), (0.0, 0.0));
                assert!(certificate.theorem1.holds && certificate.theorem2.holds);
                assert_eq!(certificate.theorem1.rate, certificate.sgd.rate);
                assert_eq!(certificate.sgd.rate.unwrap().floor, Some(0.0));
            }
        }
    }
}

#[test]
fn starting_at_the_optimum_is_no_trouble() {
    let toy = Quadratic::scalar(&[1.0; 4], &[2.0, 1.0, -1.0, -2.0]).unwrap();
    let flat = Quadratic::diagonal(&[vec![1.0, 0.0], vec![2.0, 0.0]], &[vec![1.0, 5.0], vec![-1.0, 3.0]]).unwrap();
    let problems: [(&dyn Problem, Vec<f64>); 2] = [(&toy, vec![0.0]), (&flat, vec![-1.0 / 3.0, 4.0])];
    for (problem, start) in problems {
        let question = Question { explore: Some(1.0), ..Question::new(problem, &start, 1e-3) };
        let certificate = Certificate::new(&question).unwrap();
        finite(&certificate);
        assert!(certificate.sgd.holds);
    }
}

#[test]
fn a_changing_step_and_a_start_outside_are_not_covered() {
    let toy = Quadratic::scalar(&[1.0; 4], &[2.0, 1.0, -1.0, -2.0]).unwrap();
    let varying = Question { varies: true, ..Question::new(&toy, &[5.0], 0.015) };
    let certificate = Certificate::new(&varying).unwrap();
    assert!(certificate.sgd.reasons[0].contains("constant"), "{:?}", certificate.sgd.reasons);
    let outside = Question { region: interval(-1.0, 1.0), ..Question::new(&toy, &[5.0], 0.015) };
    let certificate = Certificate::new(&outside).unwrap();
    assert!(certificate.sgd.holds, "SGD's bound needs no region");
    assert_eq!(certificate.theorem1.reasons, ["the start is outside the region"]);
    // Steps from inside may leave this one: users pull to −2 and 2.
    let narrow = Question { region: interval(-1.0, 5.0), ..Question::new(&toy, &[5.0], 0.015) };
    let certificate = Certificate::new(&narrow).unwrap();
    assert!(certificate.theorem1.holds && !certificate.theorem1.is_guaranteed());
    // Nobody pulls out of this one, so that not even SGQ can leave it.
    let wide = Question { region: interval(-2.0, 5.0), explore: Some(0.3), ..Question::new(&toy, &[5.0], 1e-4) };
    let certificate = Certificate::new(&wide).unwrap();
    assert!(certificate.theorem1.is_guaranteed());
    assert_eq!(certificate.theorem2.caveats.len(), 1, "only the remainder: {:?}", certificate.theorem2.caveats);
}

#[test]
fn wrong_questions_are_refused() {
    let toy = Quadratic::scalar(&[1.0; 4], &[2.0, 1.0, -1.0, -2.0]).unwrap();
    let ask = |change: &dyn Fn(&mut Question<'_>)| {
        let mut question = Question::new(&toy, &[5.0], 0.015);
        change(&mut question);
        Certificate::new(&question).unwrap_err().to_string()
    };
    type Change = Box<dyn Fn(&mut Question<'_>)>;
    let region = |region: Region| -> Change { Box::new(move |question| question.region = region.clone()) };
    let cases: Vec<(Change, &str)> = vec![
        (Box::new(|question| question.step_size = 0.0), "step size is 0"),
        (Box::new(|question| question.step_size = f64::NAN), "step size is NaN"),
        (Box::new(|question| question.explore = Some(1.5)), "p is 1.5"),
        (Box::new(|question| question.start = &[1.0, 2.0]), "the start has 2 numbers"),
        (Box::new(|question| question.start = &[f64::INFINITY]), "the start has the number inf"),
        (region(Region::Ball { center: vec![0.0], radius: -1.0 }), "radius of the ball is -1"),
        (region(Region::Ball { center: vec![0.0; 2], radius: 1.0 }), "center of the ball has 2 numbers"),
        (region(interval(1.0, -1.0)), "empty along coordinate 0"),
        (region(interval(f64::NAN, 1.0)), "must be finite"),
        (region(Region::Points { points: vec![] }), "no points"),
    ];
    for (change, expected) in cases {
        let message = ask(&*change);
        assert!(message.contains(expected), "{message}");
    }
    let line = Custom::new(1, 1, |_, x| x[0], |_, _, gradient| gradient[0] = 1.0).with_smoothness(vec![1.0]);
    let endless = Certificate::new(&Question::new(&line, &[0.0], 0.1)).unwrap_err();
    assert!(matches!(endless, TheoryError::Region(sgq::theory::RegionError::Unbounded)), "{endless}");
}

/// The worst points lie between the samples: walking to them only ever makes the constants worse, never better.
#[test]
fn certificates_are_reproducible_and_samples_are_worsened() {
    let mut random = Random::new(7, "reproducible");
    let (problem, start) = random_quadratic(&mut random, 12, 5);
    let ask = |samples: usize| {
        let question = Question { samples, explore: Some(0.5), ..Question::new(&problem, &start, 1e-4) };
        Certificate::new(&question).unwrap()
    };
    assert_eq!(ask(200), ask(200));
    let certificate = ask(200);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    assert_eq!(pool.install(|| ask(200)), certificate);
    assert!(certificate.samples > 203, "{}", certificate.samples);
    let (c1, c2) = (certificate.constants.c1.unwrap(), certificate.constants.c2.unwrap());
    assert_eq!(c1.provenance, Provenance::Estimated { samples: certificate.samples });
    assert!(c1.value > 0.0 && c2.value > 0.0);
    // Twenty times as many points find nothing worse that matters.
    let more = ask(4000).constants;
    assert!((more.c1.unwrap().value / c1.value - 1.0).abs() < 1e-3, "{:?} {c1:?}", more.c1);
    assert!((more.c2.unwrap().value / c2.value - 1.0).abs() < 1e-3, "{:?} {c2:?}", more.c2);
}
