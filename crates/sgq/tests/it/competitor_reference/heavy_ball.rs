//! SGD with momentum.

use sgq::{
    LastGradient, Method, Random, Session, StepSize, StepSizeError,
    belief::{Model, Nothing},
    choice::{Sequence, Uniform},
    update::{HeavyBall, Sgd},
};

use super::{
    Asked, Case, Run,
    algebra::{Vector, minus, plus, times},
    cases,
    unbiased::Given,
};

const STEPS: usize = 80;

/// Polyak 1964: `x_{t+1} = x_t − α w ∇f_i(x_t) + β (x_t − x_{t−1})`, from `x_{−1} = x_0`.
fn heavy_ball(case: &Case, users: &[(usize, f64)], beta: f64) -> Vec<Asked> {
    let mut run = Run::new(case);
    let mut before = run.x.clone();
    for &(i, w) in users {
        let along: Vector = times(run.alpha() * w, &run.ask(i));
        let kept = times(beta, &minus(&run.x, &before));
        before = run.x.clone();
        let to = plus(&minus(&run.x, &along), &kept);
        run.go(to);
    }
    run.asked
}

#[test]
fn is_its_equation() {
    for case in cases() {
        let mut random = Random::new(case.seed, "weights");
        for beta in [0.0, 0.5, 0.9] {
            let users: Vec<_> = case.injected(STEPS).into_iter().map(|user| (user, 0.5 + random.unit())).collect();
            let mut session = case.session(Nothing, Given(users.clone()), HeavyBall::new(beta));
            case.compare(&mut session, &heavy_ball(&case, &users, beta), STEPS);
        }
    }
}

/// Any belief will do; the sweep of one is not a step.
#[test]
fn goes_with_every_belief() {
    for case in cases().take(10) {
        let users = case.injected(STEPS);
        let naive = heavy_ball(&case, &users.iter().map(|user| (*user, 1.0)).collect::<Vec<_>>(), 0.9);
        let sequence = || Sequence::new(users.clone());
        let lazy = LastGradient::new().lazy(true);
        case.compare(&mut case.session(lazy, sequence(), HeavyBall::default()), &naive, STEPS);
        case.compare(&mut case.session(Model::new(), sequence(), HeavyBall::default()), &naive, STEPS);
        let mut session = case.session(LastGradient::new(), sequence(), HeavyBall::default());
        case.log(&mut session, case.users() + STEPS);
        super::close(session.point(), &naive[STEPS - 1].after, 1e-12, "after a sweep");
    }
}

#[test]
fn without_momentum_is_sgd_to_the_bit() {
    for case in cases() {
        let bits = |session: &mut Session<'_>| -> Vec<Vec<u64>> {
            let log = case.log(session, STEPS);
            log.iter().map(|asked| asked.after.iter().map(|x| x.to_bits()).collect()).collect()
        };
        let ball = bits(&mut case.session(Nothing, Uniform, HeavyBall::new(0.0)));
        assert_eq!(ball, bits(&mut case.session(Nothing, Uniform, Sgd)));
    }
}

/// SGD's default step times `1 − β`, and no theorem.
#[test]
fn steps_of_its_own_and_by_theory() {
    for case in cases().take(4) {
        let largest = case.smoothness().into_iter().fold(0.0, f64::max);
        let average = case.smoothness().iter().sum::<f64>() / case.users() as f64;
        for (choice, formula, constant) in
            [("shuffled", "(1 − β)/(2 L_max)", largest), ("by-smoothness", "(1 − β)/(2 mean L_i)", average)]
        {
            let method = Method::compose(None, choice, "heavy-ball").unwrap();
            assert_eq!(method.setting("momentum"), Some(0.9.into()));
            let method = method.with("momentum", 0.75.into()).unwrap();
            let step = method.default_step(&case.settings()).unwrap().unwrap();
            assert_eq!(step.formula, formula);
            assert!((step.size * 2.0 * constant / 0.25 - 1.0).abs() < 1e-12, "{}", step.size);
            let refused = Session::new(method.named("ball"), case.settings().step_size(StepSize::Theory)).unwrap_err();
            assert_eq!(refused, StepSizeError::NoTheorem { method: "ball".to_owned() }.into());
        }
    }
}
