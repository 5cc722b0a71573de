//! Term by term, scale by scale, and where rounding, overflow and misstatements lie in wait.

use sgq::{
    Belief, Choice, ChoiceError, Chosen, Method, Oracle, Problem, Random, Scene, Session, Settings, Step, Update,
    belief::Nothing,
    problem::{Custom, DenseQuadratic, Optimum, Quadratic},
    simulate::gap_curve,
    theory::{Bound, Certificate, Choices, Ingredients, Moments, Provenance, Question, Region, Spread, Theorem},
};

use super::{close, constants, interval};
use crate::random_problem::random_quadratic;

/// The terms of Theorem 2 that other problems leave at zero: γ₁ = √(2·0.04/2) = 0.2, γ₂ = √(2·0.01/2) = 0.1.
#[test]
fn theorem_2_term_by_term() {
    let given = Ingredients {
        step_size: 0.1,
        users: 3,
        mean_smoothness: 2.0,
        max_smoothness: 4.0,
        pl_constant: 1.0,
        c: Some(2.0),
        c1: 0.04,
        c2: 0.01,
        sigma_star: Some(5.0),
        delta: Some(0.0),
    };
    // s = 1 + ½(0.2 + 0.05) = 1.125; αLσ*/μ = 1; 1 − ½·0.1 = 0.95.
    let rate = Theorem::Two { explore: 0.5 }.rate(&given).unwrap();
    close(rate.factor, 1.0 - 0.1125);
    close(rate.floor.unwrap(), 0.95 / 1.125);
    // 24·α·(L + L_max)·n·(1−p)Δ²/(pμ) = 24·0.1·6·3·0.25 = 10.8, with Δ = ½.
    let rate = Theorem::Two { explore: 0.5 }.rate(&Ingredients { delta: Some(0.5), ..given }).unwrap();
    close(rate.floor.unwrap(), (10.8 + 0.95) / 1.125);
    let rate = Theorem::One.rate(&given).unwrap();
    close(rate.factor, 1.0 - 0.13);
    close(rate.floor.unwrap(), 0.9 / 1.3);
    assert_eq!(Theorem::Two { explore: 0.0 }.rate(&Ingredients { delta: Some(1.0), ..given }).unwrap().floor, None);
    // A step too short for its square does not lose its noise.
    let short = Theorem::UniformSgd.rate(&Ingredients { step_size: 1e-300, ..given }).unwrap();
    close(short.floor.unwrap() * 1e300, 10.0);
}

#[test]
fn bounds_end_where_they_should() {
    let bound = Bound { start_gap: 4.0, factor: 0.0, floor: 1.0, startup: 0 };
    assert_eq!(bound.queries_to(1.0), Some(1), "one step is enough");
    assert_eq!(Bound { start_gap: 0.0, ..bound }.queries_to(1.0), Some(0));
    assert_eq!(Bound { factor: 1.0, ..bound }.queries_to(4.0), None);
    assert_eq!(Bound { factor: 1.0, ..bound }.queries_to(5.0), Some(0));
    assert_eq!(bound.queries_to(f64::NAN), None);
    assert_eq!(Bound { factor: 0.5, floor: 0.0, ..bound }.queries_to(0.5), Some(3));
}

/// Derivatives a hundred decades apart in size have the same constants.
#[test]
fn constants_do_not_depend_on_the_unit() {
    let centers = [0.0, 0.1, 0.3, 0.35, 6.0];
    for curvatures in [[1.0; 5], [1.0, 2.0, 1.5, 1.2, 0.7]] {
        let ask = |scale: f64| {
            let problem = Quadratic::scalar(&curvatures, &centers.map(|center| center * scale)).unwrap();
            let start = [5.0 * scale];
            constants(&Certificate::new(&Question::new(&problem, &start, 0.01)).unwrap())
        };
        let expected = ask(1.0);
        for power in [-330, -110, -1, 40, 170, 330] {
            let found = ask(2f64.powi(power));
            for (index, (found, expected)) in found.into_iter().zip(expected).enumerate() {
                // σ* and Δ are in units of their own.
                if ![4, 5].contains(&index) {
                    assert!((found - expected).abs() <= 1e-9 * expected, "2^{power}, {index}: {found:e}, {expected:e}");
                }
            }
        }
    }
}

/// Where the users nearly agree at a point, rounding is as large as what they differ by: certified numbers must still hold.
#[test]
fn certified_numbers_survive_a_near_crossing() {
    let problem = Quadratic::scalar(
        &[0.5202125585364118, 0.1594093126791055, 1.386429826298445],
        &[-0.9892616886288981, -0.9891657620906797, -0.9891470001876506],
    )
    .unwrap();
    let question = Question { region: interval(-1.65664, 1.11468), ..Question::new(&problem, &[1.0], 0.01) };
    let found = constants(&Certificate::new(&question).unwrap());
    for k in 0..=2000 {
        let x = [-0.9893 + 0.0003 * f64::from(k) / 2000.0];
        let derivatives: Vec<f64> = (0..3)
            .map(|user| {
                let mut derivative = [0.0];
                problem.gradient(user, &x, &mut derivative);
                derivative[0]
            })
            .collect();
        let (c1, c2) = Moments::of(&derivatives).heterogeneity();
        assert!(c1.is_none_or(|c1| found[7] <= c1 + 1e-9), "{x:?}: {c1:?} {}", found[7]);
        assert!(c2.is_none_or(|c2| found[8] <= c2 + 1e-9), "{x:?}: {c2:?} {}", found[8]);
    }
}

/// Certified Δ with two parameters: at the center of a ball, plus the difference of the curvatures.
#[test]
fn delta_of_a_ball_by_hand() {
    // H_0 − H = diag(−1, −0.5), H_1 − H = diag(1, 0.5): Frobenius norm √1.25.
    let problem = Quadratic::diagonal(&[vec![1.0, 0.5], vec![2.0, 1.0]], &[vec![1.0, 0.0], vec![-1.0, 2.0]]).unwrap();
    let start = problem.optimum().unwrap().point.clone();
    let ask = |region: Region, start: &[f64]| {
        let question = Question { region, samples: 30, ..Question::new(&problem, start, 0.01) };
        let certificate = Certificate::new(&question).unwrap();
        let delta = certificate.constants.delta.unwrap();
        assert_eq!(delta.provenance, Provenance::Certified);
        (delta.value, certificate)
    };
    // At the origin: gradients (−2, 0) and (4, −4), half their difference is (3, −2).
    let norm = 13f64.sqrt();
    let ball = Region::Ball { center: vec![0.0, 0.0], radius: 2.0 };
    close(ask(ball, &start).0, norm + 2.0 * 1.25f64.sqrt());
    let square = Region::Box { low: vec![-3.0, -4.0], high: vec![3.0, 4.0] };
    close(ask(square, &start).0, norm + 5.0 * 1.25f64.sqrt());
    // The sublevel set of a start is within √(2 G_0 / μ) of the optimum.
    let far = [4.0, 4.0];
    let (found, certificate) = ask(Region::Sublevel, &far);
    let reach = (2.0 * certificate.start_gap.unwrap() / problem.pl_constant().unwrap()).sqrt();
    let at_optimum = Spread::at(&problem, &start, 0.0).unwrap().dissimilarity;
    close(found, at_optimum + reach * 1.25f64.sqrt());
    // Without affine gradients only the smoothness is known: max(L_i, L) · radius.
    let closure = Custom::new(
        2,
        2,
        |user, x| [0.5, 1.5][user] * (x[0] * x[0] + x[1] * x[1]),
        |user, x, gradient| gradient.copy_from_slice(&[[1.0, 3.0][user] * x[0], [1.0, 3.0][user] * x[1]]),
    )
    .with_smoothness(vec![1.0, 3.0]);
    let region = Region::Ball { center: vec![1.0, 0.0], radius: 2.0 };
    let question = Question { region, samples: 30, ..Question::new(&closure, &[1.0, 0.0], 0.01) };
    close(Certificate::new(&question).unwrap().constants.delta.unwrap().value, 1.0 + 3.0 * 2.0);
}

/// When a run is sure to stay in its region, and when not: users pull to ±2 and ±1, the start is at 1.
#[test]
fn regions_that_a_run_may_leave() {
    let toy = Quadratic::scalar(&[1.0; 4], &[2.0, 1.0, -1.0, -2.0]).unwrap();
    let stays = |region: Region, start: f64, step_size: f64| {
        let start = [start];
        let question = Question { region, explore: Some(0.3), ..Question::new(&toy, &start, step_size) };
        let certificate = Certificate::new(&question).unwrap();
        assert!(!certificate.theorem2.is_guaranteed());
        certificate.theorem1.is_guaranteed()
    };
    let ball = |center: f64, radius: f64| Region::Ball { center: vec![center], radius };
    // The sublevel set of 1 is [−1, 1], and SGD's floor 10α is below the gap of 1.
    assert!(stays(Region::Sublevel, 1.0, 0.015));
    assert!(stays(ball(0.0, 1.0), 1.0, 0.015) && !stays(ball(0.5, 1.0), 1.0, 0.015));
    assert!(stays(interval(-1.0, 1.0), 1.0, 0.015));
    assert!(!stays(interval(-0.5, 1.0), 1.0, 0.015) && !stays(interval(-1.0, 0.5), 0.5, 0.24));
    // With a longer step the floor is above the start, and OGQ may leave.
    assert!(!stays(Region::Sublevel, 1.0, 0.24));
    // Nobody pulls past ±2, whatever the step up to 1/L_max.
    assert!(stays(interval(-2.0, 2.0), 1.0, 0.24));
    assert!(!stays(interval(-2.0, 1.5), 1.0, 0.24) && !stays(interval(-1.5, 2.0), 1.0, 0.24));
}

#[test]
fn verdicts_say_what_they_rest_on() {
    let mut random = Random::new(21, "verdicts");
    let (problem, start) = random_quadratic(&mut random, 6, 2);
    let ask = |explore: f64| {
        let question = Question { explore: Some(explore), samples: 100, ..Question::new(&problem, &start, 1e-5) };
        Certificate::new(&question).unwrap()
    };
    let certificate = ask(0.5);
    assert!(certificate.theorem1.caveats[0].starts_with("c, C_1, C_2: estimated from"), "{:?}", certificate.theorem1);
    assert_eq!(certificate.theorem1.caveats.len(), 1, "OGQ stays in its sublevel set");
    assert_eq!(certificate.theorem2.caveats.len(), 3, "{:?}", certificate.theorem2.caveats);
    assert!(certificate.theorem2.caveats[1].contains("stay in the region"));
    assert!(certificate.theorem2.caveats[2].contains("remainder"));
    // With p = 1 it is SGD after n queries.
    let uniform = ask(1.0);
    assert!(uniform.theorem2.is_guaranteed() && uniform.theorem2.bound.unwrap().startup == 6);
    // What lies outside the region, or is none of its points, is said to.
    let elsewhere = Region::Points { points: vec![vec![0.0, 0.0]] };
    let question = Question { region: elsewhere, ..Question::new(&problem, &start, 1e-5) };
    assert_eq!(Certificate::new(&question).unwrap().theorem1.reasons, ["the start is outside the region"]);
    // μ from a mistaken problem gives no cap.
    let stated = |smoothness: [f64; 2], mu: f64| {
        let slopes = [1.0, 3.0];
        let problem = Custom::new(
            2,
            1,
            move |user, x| 0.5 * slopes[user] * x[0] * x[0],
            move |user, x, gradient| gradient[0] = slopes[user] * x[0],
        )
        .with_smoothness(smoothness.to_vec())
        .with_pl_constant(mu)
        .with_optimum(Optimum { point: vec![0.0], value: 0.0 });
        let question = Question { region: interval(-1.0, 1.0), ..Question::new(&problem, &[1.0], 0.01) };
        Certificate::new(&question).unwrap().sgd
    };
    assert!(stated([1.0, 3.0], 2.0).holds);
    for (smoothness, mu, reason) in [
        ([1.0, 3.0], 2.5, "Assumption 3 fails: μ = 2.5 exceeds the mean smoothness, 2"),
        ([1.0, 3.0], 0.0, "Assumption 3 fails: μ is 0"),
        ([1.0, 3.0], f64::NAN, "Assumption 3 fails: μ is NaN"),
        ([1.5, 3.5], 2.4, "Assumption 3 fails: the gap at"),
        ([0.9, 3.0], 1.0, "Assumption 2 fails: the gradient of user 0"),
        ([1.0, 2.9], 1.0, "Assumption 2 fails: the gradient of user 1"),
    ] {
        let verdict = stated(smoothness, mu);
        assert!(verdict.reasons[0].starts_with(reason), "{:?}", verdict.reasons);
        assert_eq!(verdict.cap.is_none(), reason.contains("Assumption 3"));
    }
}

/// A flaw that shows only at the far end of the region is found all the same.
#[test]
fn assumptions_are_tried_all_over_the_region() {
    let bent = Custom::new(
        1,
        1,
        |_, x| if x[0] < 1.0 { x[0] * x[0] } else { 4.0 * x[0] - x[0] * x[0] - 2.0 },
        |_, x, gradient| gradient[0] = if x[0] < 1.0 { 2.0 * x[0] } else { 4.0 - 2.0 * x[0] },
    )
    .with_smoothness(vec![2.0])
    .with_pl_constant(0.1);
    let question = Question { region: interval(-2.0, 2.9), ..Question::new(&bent, &[0.5], 0.01) };
    let certificate = Certificate::new(&question).unwrap();
    assert!(certificate.sgd.reasons[0].contains("Assumption 1 fails"), "{:?}", certificate.sgd.reasons);
}

/// What overflows is not known, rather than zero.
#[test]
fn overflow_gives_no_constant() {
    let problem = Quadratic::diagonal(&[vec![1.0, 0.5], vec![2.0, 1.0]], &[vec![1.0, 0.0], vec![-1.0, 2.0]]).unwrap();
    let huge = Region::Box { low: vec![-1e160; 2], high: vec![1e160; 2] };
    let points = Region::Points { points: vec![vec![2.0, 0.0], vec![1e160, 0.0]] };
    for region in [huge, points] {
        let question = Question { region, samples: 20, ..Question::new(&problem, &[2.0, 0.0], 0.01) };
        let constants = Certificate::new(&question).unwrap().constants;
        assert_eq!((constants.c, constants.c1, constants.delta), (None, None, None));
    }
    let flat = DenseQuadratic::new(&[vec![1.0, 0.0, 0.0, 1e-17]], &[vec![0.0, 0.0]]).unwrap();
    assert_eq!(flat.gap(&[0.0, 1e10]), Some(0.0), "what counts as flat for μ counts as flat for the gap");
    let nothing = Custom::new(2, 0, |_, _| 0.0, |_, _, _| {});
    assert!(Certificate::new(&Question::new(&nothing, &[], 0.1)).is_err());
}

/// Given users, each by score or at random as it says.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
struct Script(Vec<(usize, Option<bool>)>);

impl<B: Belief> Choice<B> for Script {
    fn choose(&mut self, _scene: &Scene<'_, B>, _random: &mut Random) -> Result<Chosen, ChoiceError> {
        let (user, explored) = self.0.remove(0);
        Ok(Chosen { explored, ..Chosen::user(user) })
    }
}

/// Given points, whatever is answered.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
struct Walk(Vec<f64>);

impl<B: Belief> Update<B> for Walk {
    fn step(&mut self, _step: Step<'_, B>, _random: &mut Random, point: &mut [f64]) -> bool {
        point[0] = self.0.remove(0);
        true
    }
}

/// One stale step, by hand: both users at 5, then user 1 is asked again at 4.
///
/// `(x − 1)²` and `(x + 1)²`, α = 0.1, L = 2: at 5 the gradients are 8 and 12. A step of 0.1 along 10 leads to 4, where they
/// are 6 and 10, ∇f = 8, EI = 0.1·48 − 0.01·36 = 4.44 and 0.1·80 − 0.01·100 = 7. Believed are 8, 12 and mean 10:
/// ẼI = 8 − 0.64 = 7.36 and 12 − 1.44 = 10.56; ε = 2 for both, so that
/// r = (1 + 0.02·8)·2 + 0.1·8·2 + 0.4 + 0.04 = 4.36 and (1 + 0.02·12)·2 + 0.1·12·2 + 0.4 + 0.04 = 5.32.
#[test]
fn a_choice_measured_by_hand() {
    let problem = Quadratic::scalar(&[1.0; 2], &[1.0, -1.0]).unwrap();
    let mut choices = Choices::new(&problem).unwrap();
    let script = vec![(0, None), (1, None), (0, Some(false)), (1, Some(true))];
    let method = Method::new("script", Nothing, Script(script), Walk(vec![5.0, 4.0, 4.0, 4.0]));
    let mut session = Session::new(method, Settings::new(vec![5.0], 2).step_size(0.1)).unwrap();
    let mut measured = Vec::new();
    let observe = |answer: &sgq::drive::Billed<'_>| {
        measured.push((answer.query.user, answer.query.point[0], choices.observe(answer)));
        Ok(())
    };
    gap_curve(&mut session, &problem, 4, observe).unwrap();
    let asked: Vec<_> = measured.iter().map(|(user, point, _)| (*user, *point)).collect();
    assert_eq!(asked, [(0, 5.0), (1, 5.0), (0, 4.0), (1, 4.0)]);
    let [first, second, third, fourth] = [0, 1, 2, 3].map(|number| measured[number].2);
    assert_eq!((first, second), (None, None));
    let measured = third.unwrap();
    close(measured.regret, 7.0 - 4.44);
    close(measured.bonus, 4.36);
    close(measured.tightness, f64::max((7.36 - 4.44) / 4.36, (10.56 - 7.0) / 5.32));
    assert!(measured.guided);
    // Now user 0 is fresh: ε = (0, 2), ε̄ = 1; asked at random.
    let measured = fourth.unwrap();
    assert_eq!((measured.regret, measured.guided), (0.0, false));
    close(measured.bonus, (0.1 * 9.0 + 0.02 * 12.0) * 2.0 + 0.1 * 12.0 + 0.2 + 0.04);
}
