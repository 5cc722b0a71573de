//! Regressions: gradients against finite differences, constants against their definitions, weights against copies.

use sgq::{
    Oracle as _, Problem as _, Random,
    problem::{Loss, Regression, Rows},
};

const LOSSES: [Loss; 6] = [
    Loss::Squares,
    Loss::Logistic,
    Loss::Poisson,
    Loss::Huber { delta: 0.7 },
    Loss::NegativeBinomial { theta: 1.7 },
    Loss::Gamma,
];
const BLOCKS: [usize; 4] = [0, 2, 9, 20];
const L2: f64 = 0.05;

/// Rows of an intercept and features of which half are zero, targets that fit the loss, and weights.
struct Data {
    dim: usize,
    numbers: Vec<f64>,
    targets: Vec<f64>,
    weights: Vec<f64>,
}

impl Data {
    fn random(loss: Loss, rows: usize, dim: usize, seed: u64) -> Self {
        let mut random = Random::new(seed, "regression");
        let mut feature = |k: usize| match k % dim {
            0 => 1.0,
            _ if random.index(2) == 0 => 0.0,
            _ => 4.0 * random.unit() - 2.0,
        };
        let numbers = (0..rows * dim).map(&mut feature).collect();
        let mut target = || match loss {
            Loss::Logistic => [-1.0, 1.0][random.index(2)],
            Loss::Poisson | Loss::NegativeBinomial { .. } => random.index(4) as f64,
            Loss::Gamma => 0.5 + random.index(4) as f64,
            _ => 4.0 * random.unit() - 2.0,
        };
        let targets = (0..rows).map(|_| target()).collect();
        let weights = (0..rows).map(|_| 0.5 + random.unit()).collect();
        Self { dim, numbers, targets, weights }
    }

    fn row(&self, row: usize) -> &[f64] {
        &self.numbers[row * self.dim..][..self.dim]
    }

    fn dense(&self) -> Rows {
        Rows::Dense { dim: self.dim, values: self.numbers.clone() }
    }

    fn sparse(&self) -> Rows {
        let (mut starts, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
        for row in 0..self.targets.len() {
            for (column, value) in self.row(row).iter().enumerate().filter(|(_, value)| **value != 0.0) {
                columns.push(column as u32);
                values.push(*value);
            }
            starts.push(values.len());
        }
        Rows::Sparse { dim: self.dim, starts, columns, values }
    }

    fn problem(&self, rows: Rows, loss: Loss) -> Regression {
        Regression::weighted(rows, self.targets.clone(), &self.weights, &BLOCKS, loss, L2).unwrap()
    }
}

fn point(random: &mut Random, dim: usize) -> Vec<f64> {
    (0..dim).map(|_| 2.0 * random.unit() - 1.0).collect()
}

fn gradient(problem: &Regression, user: usize, x: &[f64]) -> Vec<f64> {
    let mut gradient = vec![0.0; x.len()];
    problem.gradient(user, x, &mut gradient);
    gradient
}

fn full_gradient(problem: &Regression, x: &[f64]) -> Vec<f64> {
    let mut mean = vec![0.0; x.len()];
    for user in 0..problem.users() {
        let gradient = gradient(problem, user, x);
        mean.iter_mut().zip(gradient).for_each(|(mean, value)| *mean += value / problem.users() as f64);
    }
    mean
}

fn norm(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum::<f64>().sqrt()
}

#[track_caller]
fn assert_close(found: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() <= tolerance * (1.0 + expected.abs()), "{found} against {expected}");
    }
}

#[test]
fn values_are_the_weighted_means_of_the_losses() {
    for loss in LOSSES {
        let data = Data::random(loss, 20, 4, 1);
        let problem = data.problem(data.dense(), loss);
        let x = point(&mut Random::new(2, "point"), 4);
        for user in 0..3 {
            let (mut sum, mut total) = (0.0, 0.0);
            for row in BLOCKS[user]..BLOCKS[user + 1] {
                let z: f64 = data.row(row).iter().zip(&x).map(|(a, x)| a * x).sum();
                let (y, r) = (data.targets[row], z - data.targets[row]);
                // From the definitions, as a textbook has them.
                let value = match loss {
                    Loss::Squares => r * r / 2.0,
                    Loss::Logistic => (1.0 + (-y * z).exp()).ln(),
                    Loss::Poisson => z.exp() - y * z,
                    Loss::Huber { delta } if r.abs() > delta => delta * r.abs() - delta * delta / 2.0,
                    Loss::Huber { .. } => r * r / 2.0,
                    Loss::NegativeBinomial { theta } => (y + theta) * (theta + z.exp()).ln() - y * z,
                    Loss::Gamma => y / z.exp() + z,
                };
                sum += data.weights[row] * value;
                total += data.weights[row];
            }
            let expected = sum / total + L2 / 2.0 * norm(&x) * norm(&x);
            assert_close(&[problem.user_value(user, &x)], &[expected], 1e-13);
        }
    }
}

#[test]
fn gradients_match_finite_differences_dense_and_sparse() {
    for loss in LOSSES {
        let data = Data::random(loss, 20, 4, 3);
        let mut random = Random::new(4, "point");
        for rows in [data.dense(), data.sparse()] {
            let problem = data.problem(rows, loss);
            for _ in 0..5 {
                let x = point(&mut random, 4);
                for user in 0..3 {
                    let differences = (0..4).map(|k| {
                        let at = |shift: f64| {
                            let mut moved = x.clone();
                            moved[k] += shift;
                            problem.user_value(user, &moved)
                        };
                        (at(1e-5) - at(-1e-5)) / 2e-5
                    });
                    let differences: Vec<f64> = differences.collect();
                    assert_close(&gradient(&problem, user, &x), &differences, 1e-8);
                }
            }
        }
    }
}

#[test]
fn dense_and_sparse_rows_of_the_same_data_agree() {
    for loss in LOSSES {
        let data = Data::random(loss, 20, 4, 5);
        let (dense, sparse) = (data.problem(data.dense(), loss), data.problem(data.sparse(), loss));
        let x = point(&mut Random::new(6, "point"), 4);
        for user in 0..3 {
            assert_close(&gradient(&sparse, user, &x), &gradient(&dense, user, &x), 1e-14);
        }
        assert_close(sparse.smoothness().unwrap(), dense.smoothness().unwrap(), 1e-13);
        let constants = |problem: &Regression| {
            [problem.objective_smoothness().unwrap(), problem.pl_constant().unwrap(), problem.optimum().unwrap().value]
        };
        assert_close(&constants(&sparse), &constants(&dense), 1e-13);
        assert_close(&sparse.optimum().unwrap().point, &dense.optimum().unwrap().point, 1e-10);
    }
}

/// `½ (a + c + √((a − c)² + 4b²))`, the larger eigenvalue of `[[a, b], [b, c]]`; with a minus the smaller.
fn eigenvalue([a, b, c]: [f64; 3], sign: f64) -> f64 {
    0.5 * (a + c + sign * ((a - c) * (a - c) + 4.0 * b * b).sqrt())
}

/// The mean of `curvature · a aᵀ` over a user's rows, with two columns.
fn curvature(data: &Data, user: usize, most: impl Fn(usize) -> f64) -> [f64; 3] {
    let block = BLOCKS[user]..BLOCKS[user + 1];
    let total: f64 = data.weights[block.clone()].iter().sum();
    let mut sum = [0.0; 3];
    for row in block {
        let (a, part) = (data.row(row), data.weights[row] / total * most(row));
        for (sum, product) in sum.iter_mut().zip([a[0] * a[0], a[0] * a[1], a[1] * a[1]]) {
            *sum += part * product;
        }
    }
    sum
}

fn mean_target(data: &Data) -> f64 {
    let mean = |block: &[usize]| {
        let rows = || block[0]..block[1];
        let sum: f64 = rows().map(|row| data.weights[row] * data.targets[row]).sum();
        sum / rows().map(|row| data.weights[row]).sum::<f64>()
    };
    BLOCKS.windows(2).map(mean).sum::<f64>() / 3.0
}

#[test]
fn constants_are_those_of_the_definitions() {
    for loss in LOSSES {
        let data = Data::random(loss, 20, 2, 7);
        let problem = data.problem(data.dense(), loss);
        let most = |row: usize| match loss {
            Loss::Squares | Loss::Huber { .. } => 1.0,
            Loss::Logistic => 0.25,
            // e^z is 1 at zero.
            Loss::Poisson => data.targets[row].max(1.0),
            // μ is the mean of the users' means where all rows have the same.
            Loss::Gamma => (data.targets[row] / mean_target(&data)).max(1.0),
            Loss::NegativeBinomial { theta } => 0.25 * (data.targets[row] + theta),
        };
        let mut mean = [0.0; 3];
        for user in 0..3 {
            let matrix = curvature(&data, user, most);
            assert_close(&[problem.smoothness().unwrap()[user]], &[eigenvalue(matrix, 1.0) + L2], 1e-13);
            mean.iter_mut().zip(matrix).for_each(|(mean, value)| *mean += value / 3.0);
        }
        assert_close(&[problem.objective_smoothness().unwrap()], &[eigenvalue(mean, 1.0) + L2], 1e-13);
        let mu = if loss == Loss::Squares { eigenvalue(mean, -1.0) + L2 } else { L2 };
        assert_close(&[problem.pl_constant().unwrap()], &[mu], 1e-12);
        assert_eq!(problem.is_quadratic(), loss == Loss::Squares);
    }
}

/// One row, few rows in many columns, and so many of both that nothing is factorised.
#[test]
fn smoothness_is_right_whichever_way_it_is_found() {
    let one =
        Regression::new(Rows::Dense { dim: 3, values: vec![1.0, 2.0, 2.0] }, vec![1.0], &[0, 1], Loss::Squares, L2);
    assert_close(one.unwrap().smoothness().unwrap(), &[9.0 + L2], 1e-14);
    // The rows (3, 0, 0) and (0, 4, 0), half each: curvatures 9/2 and 16/2.
    let values = vec![3.0, 0.0, 0.0, 0.0, 4.0, 0.0];
    let two = Regression::new(Rows::Dense { dim: 3, values }, vec![1.0, 2.0], &[0, 2], Loss::Squares, L2);
    assert_close(two.unwrap().smoothness().unwrap(), &[8.0 + L2], 1e-14);
    // A diagonal of 600: row `k` has one number, 3 in the last.
    let count = 600;
    let mut values = vec![1.0; count];
    values[count - 1] = 3.0;
    let rows = Rows::Sparse { dim: count, starts: (0..=count).collect(), columns: (0..count as u32).collect(), values };
    let many = Regression::new(rows, vec![1.0; count], &[0, count], Loss::Squares, 0.01).unwrap();
    assert_close(many.smoothness().unwrap(), &[9.0 / count as f64 + 0.01], 1e-9);
    assert_close(&[many.objective_smoothness().unwrap()], &[9.0 / count as f64 + 0.01], 1e-9);
    assert!(many.gradient_norm_at_optimum() <= 1e-12);
}

/// `‖∇f_i(x) − ∇f_i(y)‖ ≤ L_i ‖x − y‖`: everywhere, and for Poisson's loss between zero and the
/// optimum, as long as rates are not far above the counts there. Gamma's `y/μ` has no bound that holds on every way.
#[test]
fn smoothness_bounds_the_change_of_gradients() {
    for loss in LOSSES.into_iter().filter(|loss| *loss != Loss::Gamma) {
        let data = Data::random(loss, 20, 4, 8);
        let problem = data.problem(data.sparse(), loss);
        let optimum = &problem.optimum().unwrap().point;
        let mut random = Random::new(9, "point");
        for _ in 0..50 {
            let mut somewhere = || match loss {
                Loss::Poisson => {
                    let part = random.unit();
                    optimum.iter().map(|x| part * x).collect()
                }
                _ => point(&mut random, 4),
            };
            let (x, y): (Vec<f64>, Vec<f64>) = (somewhere(), somewhere());
            let apart: Vec<f64> = x.iter().zip(&y).map(|(x, y)| x - y).collect();
            for user in 0..3 {
                let (one, other) = (gradient(&problem, user, &x), gradient(&problem, user, &y));
                let change: Vec<f64> = one.iter().zip(other).map(|(one, other)| one - other).collect();
                assert!(norm(&change) <= problem.smoothness().unwrap()[user] * norm(&apart) * (1.0 + 1e-12));
            }
        }
    }
}

#[test]
fn a_weight_of_two_is_the_row_twice() {
    for loss in LOSSES {
        let data = Data::random(loss, 6, 3, 10);
        let weights = [1.0, 2.0, 1.0, 1.0, 1.0, 2.0];
        let weighted =
            Regression::weighted(data.sparse(), data.targets.clone(), &weights, &[0, 3, 6], loss, L2).unwrap();
        let order = [0, 1, 1, 2, 3, 4, 5, 5];
        let values = order.iter().flat_map(|row| data.row(*row).to_vec()).collect();
        let targets = order.iter().map(|row| data.targets[*row]).collect();
        let twice = Regression::new(Rows::Dense { dim: 3, values }, targets, &[0, 4, 8], loss, L2).unwrap();
        let x = point(&mut Random::new(11, "point"), 3);
        for user in 0..2 {
            assert_close(&[weighted.user_value(user, &x)], &[twice.user_value(user, &x)], 1e-14);
            assert_close(&gradient(&weighted, user, &x), &gradient(&twice, user, &x), 1e-14);
        }
        assert_close(weighted.smoothness().unwrap(), twice.smoothness().unwrap(), 1e-13);
        let constants =
            |problem: &Regression| [problem.objective_smoothness().unwrap(), problem.pl_constant().unwrap()];
        assert_close(&constants(&weighted), &constants(&twice), 1e-13);
        assert_close(&weighted.optimum().unwrap().point, &twice.optimum().unwrap().point, 1e-10);
        // A row of weight zero is not there.
        let weights = [1.0, 0.0, 1.0, 1.0, 1.0, 1.0];
        let zero = Regression::weighted(data.dense(), data.targets.clone(), &weights, &[0, 3, 6], loss, L2).unwrap();
        let order = [0, 2, 3, 4, 5];
        let values = order.iter().flat_map(|row| data.row(*row).to_vec()).collect();
        let targets = order.iter().map(|row| data.targets[*row]).collect();
        let without = Regression::new(Rows::Dense { dim: 3, values }, targets, &[0, 2, 5], loss, L2).unwrap();
        for user in 0..2 {
            assert_close(&gradient(&zero, user, &x), &gradient(&without, user, &x), 1e-14);
        }
        assert_close(zero.smoothness().unwrap(), without.smoothness().unwrap(), 1e-13);
    }
}

#[test]
fn the_optimum_is_one() {
    for loss in LOSSES {
        for (seed, dim) in [(12, 2), (13, 5), (14, 15)] {
            let data = Data::random(loss, 20, dim, seed);
            for rows in [data.dense(), data.sparse()] {
                let problem = data.problem(rows, loss);
                let optimum = problem.optimum().unwrap();
                assert!(problem.gradient_norm_at_optimum() <= 1e-12, "{loss:?}");
                // Summed in another order, the last digits differ.
                assert!(norm(&full_gradient(&problem, &optimum.point)) <= 2e-12, "{loss:?}");
                assert_eq!(problem.value(&optimum.point), optimum.value);
                let x = point(&mut Random::new(seed, "point"), dim);
                let gap = problem.gap(&x).unwrap();
                let bound = norm(&full_gradient(&problem, &x)).powi(2) / (2.0 * problem.pl_constant().unwrap());
                assert!(gap > 0.0 && gap <= bound);
            }
        }
    }
}

/// All rows of a level are so far off at the start that Huber's loss is linear there, and nothing says how the level bends.
#[test]
fn the_optimum_of_hubers_loss_is_found_from_where_it_is_linear() {
    let mut random = Random::new(5, "huber");
    let (mut values, mut targets) = (Vec::new(), Vec::new());
    for row in 0..90 {
        let (x, level) = (2.0 * random.unit() - 1.0, f64::from(u8::from(row % 9 == 0)));
        values.extend([1.0, x, level]);
        targets.push(0.5 * x - 6.0 * level + random.unit());
    }
    let blocks: Vec<usize> = (0..=9).map(|user| 10 * user).collect();
    let rows = Rows::Dense { dim: 3, values };
    let problem = Regression::new(rows, targets, &blocks, Loss::Huber { delta: 0.3 }, 0.0).unwrap();
    let optimum = problem.optimum().unwrap();
    assert!(norm(&full_gradient(&problem, &optimum.point)) < 1e-9);
    assert!((optimum.point[2] + 6.0).abs() < 0.3, "{:?}", optimum.point);
}

#[test]
fn bad_data_are_refused() {
    let make = |values: Vec<f64>, targets: &[f64], weights: &[f64], blocks: &[usize], loss: Loss, l2: f64| {
        let rows = Rows::Dense { dim: 2, values };
        Regression::weighted(rows, targets.to_vec(), weights, blocks, loss, l2).map(|_| ()).unwrap_err().to_string()
    };
    let rows = || vec![1.0, 0.0, 1.0, 1.0];
    let (two, blocks) = ([1.0, 1.0], [0, 1, 2]);
    let huber = Loss::Huber { delta: 0.0 };
    for (message, expected) in [
        (make(vec![1.0; 3], &two, &two, &blocks, Loss::Squares, L2), "3 numbers do not make rows of 2"),
        (make(vec![f64::NAN; 4], &two, &two, &blocks, Loss::Squares, L2), "a feature is NaN"),
        (make(rows(), &[1.0], &two, &blocks, Loss::Squares, L2), "2 rows, but 1 targets and 2 weights"),
        (make(rows(), &two, &two, &[0, 1], Loss::Squares, L2), "the users' blocks must cover the rows from 0 to 2"),
        (make(rows(), &two, &two, &[0, 0, 2], Loss::Squares, L2), "user 0 has no rows"),
        (make(rows(), &two, &[0.0, 1.0], &blocks, Loss::Squares, L2), "the weights of user 0 add up to 0"),
        (make(rows(), &two, &[-1.0, 3.0], &[0, 2], Loss::Squares, L2), "the weight of row 0 is -1"),
        (make(rows(), &[1.0, 0.5], &two, &blocks, Loss::Logistic, L2), "the target of row 1 is 0.5: a logistic target"),
        (make(rows(), &[1.0, -1.0], &two, &blocks, Loss::Poisson, L2), "the target of row 1 is -1: a count"),
        (make(rows(), &two, &two, &blocks, huber, L2), "Huber's delta is 0"),
        (make(rows(), &two, &two, &blocks, Loss::Squares, -1.0), "the L2 penalty is -1"),
    ] {
        assert!(message.starts_with(expected), "{message}");
    }
}

/// Users that count as many times as they have rows make the mean over rows, which is the regression of one user with all rows.
#[test]
fn users_that_count_by_their_rows_make_the_mean_over_rows() {
    let by_rows: Vec<f64> = BLOCKS.windows(2).map(|block| (block[1] - block[0]) as f64).collect();
    for loss in LOSSES {
        let data = Data::random(loss, 20, 4, 5);
        let equal = Regression::new(data.dense(), data.targets.clone(), &BLOCKS, loss, L2).unwrap();
        let pooled = Regression::new(data.dense(), data.targets.clone(), &[0, 20], loss, L2).unwrap();
        let weighed = equal.clone().weighing_users(&by_rows).unwrap();
        let close = |a: f64, b: f64| assert!((a - b).abs() <= 1e-9 * (1.0 + b.abs()), "{loss:?}: {a} and {b}");
        for (a, b) in weighed.optimum().unwrap().point.iter().zip(&pooled.optimum().unwrap().point) {
            close(*a, *b);
        }
        close(weighed.optimum().unwrap().value, pooled.optimum().unwrap().value);
        close(weighed.objective_smoothness().unwrap(), pooled.objective_smoothness().unwrap());
        close(weighed.pl_constant().unwrap(), pooled.pl_constant().unwrap());
        let x = [0.3, -0.2, 0.5, 0.1];
        close(weighed.value(&x), pooled.value(&x));
        close(weighed.gap(&x).unwrap(), pooled.gap(&x).unwrap());
        // A user's whole function is as many times as large.
        for (user, rows) in by_rows.iter().enumerate() {
            let factor = rows * 3.0 / 20.0;
            close(weighed.weight_of_user(user), factor);
            close(weighed.user_value(user, &x), factor * equal.user_value(user, &x));
            // Gamma's is in parts of the mean target, which is another one where users count otherwise.
            if loss != Loss::Gamma {
                close(weighed.smoothness().unwrap()[user], factor * equal.smoothness().unwrap()[user]);
            }
            let (mut one, mut other) = (vec![0.0; 16], vec![0.0; 16]);
            assert!(weighed.hessian(user, &x, &mut one) && equal.hessian(user, &x, &mut other));
            one.iter().zip(&other).for_each(|(a, b)| close(*a, factor * b));
            weighed.gradient(user, &x, &mut one[..4]);
            equal.gradient(user, &x, &mut other[..4]);
            one[..4].iter().zip(&other).for_each(|(a, b)| close(*a, factor * b));
        }
        // Weights replace earlier ones.
        let again = weighed.weighing_users(&[1.0; 3]).unwrap();
        close(again.value(&x), equal.value(&x));
    }
}

#[test]
fn equal_weights_of_users_change_no_bit_and_wrong_ones_are_refused() {
    let data = Data::random(Loss::Logistic, 20, 4, 5);
    let problem = Regression::new(data.dense(), data.targets.clone(), &BLOCKS, Loss::Logistic, L2).unwrap();
    let same = problem.clone().weighing_users(&[7.0; 3]).unwrap();
    assert_eq!(same.optimum().unwrap(), problem.optimum().unwrap());
    assert_eq!(same.smoothness(), problem.smoothness());
    let words = |weights: &[f64]| problem.clone().weighing_users(weights).unwrap_err().to_string();
    assert!(words(&[1.0; 2]).contains("2 weights were given for 3 users"));
    for wrong in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(words(&[1.0, wrong, 1.0]).contains(&format!("user 1 has the weight {wrong}")));
    }
    // Tables that leave out one penalty for all cannot hold several.
    let rows = (0..21).collect::<Vec<_>>();
    let each = Regression::new(data.dense(), data.targets.clone(), &rows, Loss::Logistic, L2).unwrap();
    assert!(each.scalar_storage().is_some());
    assert!(each.weighing_users(&data.weights).unwrap().scalar_storage().is_none());
}
