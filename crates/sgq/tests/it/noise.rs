//! `frugal` where gradients have noise: stated or not, with and without `L_i`, with and without Hessians.

use sgq::{
    Answer, Detail, Problem, Random, Session, Settings,
    answer::packed,
    belief::Model,
    method,
    problem::{Loss, Regression, Rows},
    setting::Value,
};

use crate::random_problem::random_quadratic;

#[derive(Clone, Copy, Debug)]
struct Case {
    stated: bool,
    learned: bool,
    hessians: bool,
}

fn cases() -> impl Iterator<Item = Case> {
    let both = [false, true];
    both.into_iter().flat_map(move |stated| {
        both.into_iter()
            .flat_map(move |learned| both.into_iter().map(move |hessians| Case { stated, learned, hessians }))
    })
}

fn normal(random: &mut Random) -> f64 {
    (-2.0 * (1.0 - random.unit()).ln()).sqrt() * (std::f64::consts::TAU * random.unit()).cos()
}

/// Logistic regressions of users whose coefficients differ.
fn logistic(random: &mut Random, users: usize, dim: usize) -> Regression {
    let rows = 20;
    let (mut values, mut labels) = (Vec::new(), Vec::new());
    for _ in 0..users {
        let truth: Vec<f64> = (0..dim).map(|k| if k == 0 { 1.5 } else { 0.0 } + 0.7 * normal(random)).collect();
        for _ in 0..rows {
            let row: Vec<f64> = (0..dim).map(|_| normal(random)).collect();
            let z: f64 = row.iter().zip(&truth).map(|(x, w)| x * w).sum();
            labels.push(if random.unit() < 1.0 / (1.0 + (-z).exp()) { 1.0 } else { -1.0 });
            values.extend(row);
        }
    }
    let ends: Vec<usize> = (0..=users).map(|user| user * rows).collect();
    Regression::new(Rows::Dense { dim, values }, labels, &ends, Loss::Logistic, 0.01).unwrap()
}

/// The length of the mean gradient.
fn slope(problem: &dyn Problem, point: &[f64]) -> f64 {
    let (mut mean, mut one) = (vec![0.0; problem.dim()], vec![0.0; problem.dim()]);
    for user in 0..problem.users() {
        problem.gradient(user, point, &mut one);
        mean.iter_mut().zip(&one).for_each(|(mean, one)| *mean += one / problem.users() as f64);
    }
    mean.iter().map(|value| value * value).sum::<f64>().sqrt()
}

/// Gaps after each query, as parts of the first one; and how often an answer was set aside or SAGA took the step.
fn run(problem: &dyn Problem, start: &[f64], case: Case, level: f64, queries: usize, seed: u64) -> (Vec<f64>, usize) {
    let dim = problem.dim();
    let sd = level * slope(problem, start) / (dim as f64).sqrt();
    let detail = if case.hessians { Detail::Hessian } else { Detail::Gradient };
    let settings = Settings::for_problem(start.to_vec(), problem).answers(detail).seed(seed);
    let method = method::frugal().with("learned", Value::Switch(case.learned)).unwrap();
    let mut session = Session::new(method, settings).unwrap();
    let mut random = Random::new(seed, "noise");
    let first = problem.gap(start).unwrap();
    let (mut gaps, mut fallbacks) = (Vec::new(), 0);
    let (mut gradient, mut hessian) = (vec![0.0; dim], vec![0.0; dim * dim]);
    for _ in 0..queries {
        let query = session.ask().unwrap().unwrap();
        problem.gradient(query.user, &query.point, &mut gradient);
        gradient.iter_mut().for_each(|value| *value += sd * normal(&mut random));
        let (variance, told);
        let mut answer = Answer::new(&gradient);
        if case.stated {
            variance = [sd * sd];
            answer = answer.variance(&variance);
        }
        if case.hessians {
            assert!(problem.hessian(query.user, &query.point, &mut hessian));
            told = packed(&hessian, dim);
            answer = answer.hessian(&told);
        }
        // Honest answers are in line, noise or not.
        assert!(session.out_of_line(query.user, &query.point, answer).is_none_or(|times| times < 10.0), "{case:?}");
        session.tell(query.ticket, answer).unwrap();
        gaps.push(problem.gap(session.point()).unwrap() / first);
        let model = session.belief::<Model>().unwrap();
        fallbacks += usize::from(model.set_aside_last().is_some() || model.has_failed());
    }
    (gaps, fallbacks)
}

fn problems() -> Vec<(Box<dyn Problem>, Vec<f64>)> {
    let mut random = Random::new(3, "noisy problems");
    let (quadratic, start) = random_quadratic(&mut random, 30, 5);
    vec![(Box::new(quadratic), start), (Box::new(logistic(&mut random, 30, 5)), vec![0.0; 5])]
}

/// The noise of one answer is as long as a tenth of the first mean gradient, or a hundredth: all that, and no fallback.
#[test]
fn noise_neither_ruins_a_run_nor_sets_off_a_fallback() {
    for (which, (problem, start)) in problems().iter().enumerate() {
        for case in cases() {
            for level in [0.01, 0.1] {
                for seed in 0..3 {
                    let (gaps, fallbacks) = run(problem.as_ref(), start, case, level, 30 * 14, seed);
                    let words = format!("problem {which}, {case:?}, noise {level}, seed {seed}");
                    assert_eq!(fallbacks, 0, "{words}");
                    let late = &gaps[gaps.len() - 30..];
                    let mean = late.iter().sum::<f64>() / 30.0;
                    // The limit is near level² / k, times what the problem's shape makes of it.
                    assert!(mean < 0.3 * level * level, "{words}: {mean:e}");
                }
            }
        }
    }
}

/// Asking again and again averages noise: four times the answers leave about a quarter of the gap.
#[test]
fn noise_is_averaged() {
    for (which, (problem, start)) in problems().iter().enumerate() {
        for case in cases() {
            let (mut early, mut late) = (0.0, 0.0);
            for seed in 0..6 {
                let (gaps, _) = run(problem.as_ref(), start, case, 0.1, 30 * 24, seed);
                early += gaps[30 * 5..30 * 7].iter().sum::<f64>();
                late += gaps[30 * 22..].iter().sum::<f64>();
            }
            assert!(late < 0.6 * early, "problem {which}, {case:?}: {:.2}", late / early);
        }
    }
}

/// Exact answers that say so are exact answers.
#[test]
fn a_variance_of_zero_changes_nothing() {
    for (problem, start) in problems() {
        for case in cases().filter(|case| case.stated) {
            let silent = Case { stated: false, ..case };
            let bits = |case| -> Vec<u64> {
                run(problem.as_ref(), &start, case, 0.0, 120, 1).0.iter().map(|gap| gap.to_bits()).collect()
            };
            assert_eq!(bits(case), bits(silent), "{case:?}");
        }
    }
}

/// The first secant may be noise: the same user is asked at the same point, and the answer tells.
#[test]
fn without_any_smoothness_noise_is_not_taken_for_curvature() {
    for (problem, start) in problems() {
        for seed in 0..10 {
            let case = Case { stated: false, learned: true, hessians: false };
            let (gaps, _) = run(problem.as_ref(), &start, case, 0.01, 60, seed);
            let (exact, _) = run(problem.as_ref(), &start, case, 0.0, 60, seed);
            assert!(gaps[59] < 4.0 * exact[59] + 0.01, "seed {seed}: {:e} and {:e}", gaps[59], exact[59]);
        }
    }
}
