//! Regressions with offsets, a free intercept, and the losses of generalised linear models, against their definitions.

use sgq::{
    Oracle, Problem,
    problem::{Loss, Regression, Rows},
};

const SIZES: [usize; 3] = [1, 4, 2];
const L2: f64 = 0.3;

fn losses() -> [Loss; 6] {
    let delta = 0.7;
    [
        Loss::Squares,
        Loss::Logistic,
        Loss::Poisson,
        Loss::Huber { delta },
        Loss::NegativeBinomial { theta: 1.7 },
        Loss::Gamma,
    ]
}

/// `−ln` of the density, but for what does not depend on `z`.
fn by_definition(loss: Loss, z: f64, y: f64) -> f64 {
    let mu = z.exp();
    match loss {
        Loss::Squares => (z - y).powi(2) / 2.0,
        Loss::Logistic => -((1.0 / (1.0 + (-y * z).exp())).ln()),
        Loss::Poisson => mu - y * mu.ln(),
        Loss::Huber { delta } if (z - y).abs() <= delta => (z - y).powi(2) / 2.0,
        Loss::Huber { delta } => delta * (z - y).abs() - delta * delta / 2.0,
        // μ^y θ^θ / (θ + μ)^(y + θ), with θ^θ left out.
        Loss::NegativeBinomial { theta } => (y + theta) * (theta + mu).ln() - y * mu.ln(),
        Loss::Gamma => y / mu + mu.ln(),
    }
}

struct Data {
    rows: Vec<[f64; 3]>,
    targets: Vec<f64>,
    weights: Vec<f64>,
    offsets: Vec<f64>,
    blocks: Vec<usize>,
}

fn data(loss: Loss) -> Data {
    let number = |k: usize| ((k * 7919 + 13) % 101) as f64 / 50.0 - 1.0;
    let count: usize = SIZES.iter().sum();
    let target = |k: usize| match loss {
        Loss::Logistic => [1.0, -1.0][k % 2],
        Loss::Squares | Loss::Huber { .. } => 2.0 * number(k + 40),
        Loss::Poisson | Loss::NegativeBinomial { .. } => (k * k % 5) as f64,
        Loss::Gamma => 0.2 + (k * k % 5) as f64,
    };
    Data {
        rows: (0..count).map(|k| [1.0, number(2 * k), number(3 * k + 1)]).collect(),
        targets: (0..count).map(target).collect(),
        weights: (0..count).map(|k| 1.0 + (k % 3) as f64).collect(),
        offsets: (0..count).map(|k| number(5 * k + 2)).collect(),
        blocks: vec![0, 1, 5, 7],
    }
}

fn problem(data: &Data, loss: Loss) -> Regression {
    let rows = Rows::Dense { dim: 3, values: data.rows.concat() };
    let totals: Vec<f64> = data.blocks.windows(2).map(|block| data.weights[block[0]..block[1]].iter().sum()).collect();
    Regression::builder(rows, data.targets.clone(), &data.blocks, loss)
        .weights(data.weights.clone())
        .user_weights(totals)
        .offsets(data.offsets.clone())
        .l2(L2)
        .free_intercept()
        .build()
        .unwrap()
}

/// The mean over all rows by their weights, and the penalty on all but the intercept.
fn objective(data: &Data, loss: Loss, x: &[f64]) -> f64 {
    let rows =
        data.rows.iter().zip(&data.offsets).map(|(row, offset)| row[0] * x[0] + row[1] * x[1] + row[2] * x[2] + offset);
    let losses = rows.zip(&data.targets).zip(&data.weights).map(|((z, y), weight)| weight * by_definition(loss, z, *y));
    losses.sum::<f64>() / data.weights.iter().sum::<f64>() + L2 / 2.0 * (x[1] * x[1] + x[2] * x[2])
}

#[test]
fn the_mean_over_users_is_the_mean_over_rows() {
    for loss in losses() {
        let data = data(loss);
        let problem = problem(&data, loss);
        for x in [[0.0; 3], [0.4, -0.8, 1.1]] {
            let expected = objective(&data, loss, &x);
            let found = problem.value(&x);
            // Only the negative binomial leaves out a constant, and not here.
            assert!((found - expected).abs() < 1e-13 * expected.abs().max(1.0), "{loss:?}: {found} and {expected}");
        }
    }
}

#[test]
fn gradients_and_hessians_are_differences() {
    let x = [0.4, -0.8, 1.1];
    for loss in losses() {
        let problem = problem(&data(loss), loss);
        for user in 0..problem.users() {
            let (mut gradient, mut hessian) = ([0.0; 3], [0.0; 9]);
            problem.gradient(user, &x, &mut gradient);
            problem.hessian(user, &x, &mut hessian);
            for k in 0..3 {
                let at = |step: f64| {
                    let mut moved = x;
                    moved[k] += step;
                    moved
                };
                let step = 1e-5;
                let slope = (problem.user_value(user, &at(step)) - problem.user_value(user, &at(-step))) / (2.0 * step);
                assert!((slope - gradient[k]).abs() < 1e-8, "{loss:?}: {slope} and {}", gradient[k]);
                let (mut above, mut below) = ([0.0; 3], [0.0; 3]);
                problem.gradient(user, &at(step), &mut above);
                problem.gradient(user, &at(-step), &mut below);
                for j in 0..3 {
                    let curved = (above[j] - below[j]) / (2.0 * step);
                    assert!(
                        (curved - hessian[3 * j + k]).abs() < 1e-7,
                        "{loss:?}: {curved} and {}",
                        hessian[3 * j + k]
                    );
                }
            }
        }
    }
}

#[test]
fn the_optimum_has_no_gradient_and_the_intercept_no_penalty() {
    for loss in losses() {
        let data = data(loss);
        let problem = problem(&data, loss);
        let best = problem.optimum().unwrap();
        assert!(problem.gradient_norm_at_optimum() < 1e-11, "{loss:?}");
        for k in 0..3 {
            for step in [1e-3, -1e-3] {
                let mut near = best.point.clone();
                near[k] += step;
                assert!(objective(&data, loss, &near) > objective(&data, loss, &best.point), "{loss:?}");
                let gap = problem.gap(&near).unwrap();
                assert!((gap - (problem.value(&near) - best.value)).abs() < 1e-12, "{loss:?}: {gap}");
            }
        }
        // A shift of all offsets is taken up by the intercept alone, where nothing is lost by it.
        let shifted = Data { offsets: data.offsets.iter().map(|offset| offset - 0.25).collect(), ..data };
        let other = self::problem(&shifted, loss).optimum().unwrap().point.clone();
        for (k, shift) in [0.25, 0.0, 0.0].into_iter().enumerate() {
            assert!((other[k] - best.point[k] - shift).abs() < 1e-10, "{loss:?}: {other:?} and {:?}", best.point);
        }
    }
}

#[test]
fn bounds_are_above_the_constants_and_nothing_else_is_looked_for() {
    for loss in losses() {
        let data = data(loss);
        let rows = Rows::Dense { dim: 3, values: data.rows.concat() };
        let builder = Regression::builder(rows, data.targets.clone(), &data.blocks, loss).l2(L2);
        let (bare, whole) = (builder.clone().bare().unwrap(), builder.unsolved().unwrap());
        for (bound, exact) in bare.smoothness().unwrap().iter().zip(whole.smoothness().unwrap()) {
            assert!((*exact * (1.0 - 1e-12)..=3.0 * exact).contains(bound), "{loss:?}: {bound} and {exact}");
        }
        assert!(bare.optimum().is_none() && bare.objective_smoothness().is_none() && bare.pl_constant().is_none());
        assert!(whole.pl_constant().is_some());
        let free = problem(&data, loss);
        assert_eq!(free.pl_constant().is_some(), loss == Loss::Squares);
        assert!(free.scalar_storage().is_none());
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    let builder = |loss: Loss, targets: [f64; 2]| {
        Regression::builder(Rows::Dense { dim: 1, values: vec![1.0; 2] }, targets.to_vec(), &[0, 2], loss)
    };
    let refused = |builder: sgq::problem::RegressionBuilder| builder.build().unwrap_err().to_string();
    let poisson = builder(Loss::Poisson, [1.0, 2.0]);
    assert_eq!(refused(poisson.clone().offsets(vec![0.0])), "2 rows, but 1 offsets");
    assert_eq!(refused(poisson.clone().offsets(vec![0.0, f64::NAN])), "the offset of row 1 is NaN: it must be finite");
    assert!(refused(poisson.user_weights(vec![-1.0])).contains("must be positive"));
    assert_eq!(refused(builder(Loss::Gamma, [1.0, 0.0])), "the target of row 1 is 0: it must be positive");
    let theta = |theta: f64| Loss::NegativeBinomial { theta };
    assert!(refused(builder(theta(1.0), [1.0, -1.0])).contains("a count is not negative"));
    assert!(refused(builder(theta(0.0), [1.0, 1.0])).contains("theta is 0: it must be positive"));
}
