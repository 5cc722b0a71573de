//! How few queries can be enough when users are asked in random order: a yardstick for methods, and none itself.

use super::ROUNDING;
use crate::{Problem, kernel, matrix};

/// More parameters than this, and the Hessian is not looked at.
const MOST_PARAMETERS: usize = 1000;
/// More numbers than this in all users' Hessians, and they are not looked at.
const MOST_NUMBERS: usize = 2_000_000_000;
/// What rounding can leave of a gradient along a direction in which `f` is flat, as a part of the largest one.
const FLAT: f64 = 1e-9;

/// The expected gap after `k` users, asked in random order and nobody twice, of an unbiased estimator that knew the curvature
/// and learned everything about each user it asked: `½ tr(H⁻¹Σ) (1/k − 1/n)`, with `H = ∇²f(x*)` and `Σ` the covariance of the
/// `∇f_i(x*)` over the users, their sum of squares divided by `n − 1`.
///
/// It takes `f` for its second-order model around the optimum, which is exact for quadratics. A choice that is better than
/// random can do with fewer queries, and so can, at large gaps, steps that stop short of where the answers point, which trade
/// variance for bias: it is a yardstick, not a bound on every method.
///
/// ```
/// use sgq::{problem::Quadratic, theory::RandomOrderLimit};
///
/// // (x − b)² for b = 2, 1, −1, −2: H = 2, the gradients at 0 are −2b, Σ = 40/3, and ½ · 40/3 / 2 = 10/3.
/// let toy = Quadratic::scalar(&[1.0; 4], &[2.0, 1.0, -1.0, -2.0])?;
/// let limit = RandomOrderLimit::new(&toy).unwrap();
/// assert!((limit.gap_after(2) - 10.0 / 3.0 * (1.0 / 2.0 - 1.0 / 4.0)).abs() < 1e-12);
/// assert_eq!(limit.queries_to(1.0), Some(2));
/// # Ok::<(), sgq::problem::ProblemError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RandomOrderLimit {
    half_trace: f64,
    users: usize,
}

impl RandomOrderLimit {
    /// The limit on a problem. None where its optimum or its Hessians are not known or too large to look at, and where
    /// users pull along a direction in which `f` is flat.
    pub fn new(problem: &dyn Problem) -> Option<Self> {
        let point = &problem.optimum()?.point;
        let (users, dim) = (problem.users(), problem.dim());
        let entries = dim.checked_mul(dim)?;
        if dim > MOST_PARAMETERS || users.checked_mul(entries)? > MOST_NUMBERS {
            return None;
        }
        let (mut hessian, mut own) = (vec![0.0; entries], vec![0.0; entries]);
        for user in 0..users {
            if !problem.hessian(user, point, &mut own) {
                return None;
            }
            kernel::add_scaled(&mut hessian, 1.0 / users as f64, &own);
        }
        let mut gradients = vec![0.0; users * dim];
        for (user, gradient) in gradients.chunks_exact_mut(dim).enumerate() {
            problem.gradient(user, point, gradient);
        }
        // Zero but for what the solver left of it.
        let mut mean = vec![0.0; dim];
        kernel::mean_of_rows(&gradients, &mut mean);
        gradients.chunks_exact_mut(dim).for_each(|gradient| kernel::add_scaled(gradient, -1.0, &mean));

        let largest = gradients.chunks_exact(dim).map(kernel::norm).fold(0.0, f64::max);
        // A pivot that rounding can explain becomes zero.
        let least_pivot = ROUNDING * (0..dim).map(|k| hessian[k * dim + k]).fold(0.0, f64::max);
        matrix::cholesky(&mut hessian, dim, least_pivot);
        let mut sum = 0.0;
        for gradient in gradients.chunks_exact_mut(dim) {
            sum += inverse_form(&hessian, gradient, FLAT * largest)?;
        }
        // A single user is the objective itself, and tells it all.
        let half_trace = 0.5 * sum / users.saturating_sub(1).max(1) as f64;
        half_trace.is_finite().then_some(Self { half_trace, users })
    }

    /// `½ tr(H⁻¹Σ) (1/k − 1/n)`; infinite before the first query, and 0 once everybody was asked.
    pub fn gap_after(&self, queries: u64) -> f64 {
        if queries >= self.users as u64 {
            return 0.0;
        }
        self.half_trace * (1.0 / queries as f64 - 1.0 / self.users as f64)
    }

    /// The smallest number of queries, at least one, after which the expected gap is at most `gap`; none for a gap that is
    /// negative or not a number.
    pub fn queries_to(&self, gap: f64) -> Option<u64> {
        if gap.is_nan() || gap < 0.0 {
            return None;
        }
        // Rounding is not worth a query.
        let gap = gap * (1.0 + ROUNDING);
        let (mut enough, mut low) = (self.users as u64, 1);
        while low < enough {
            let middle = low + (enough - low) / 2;
            if self.gap_after(middle) <= gap {
                enough = middle;
            } else {
                low = middle + 1;
            }
        }
        Some(enough)
    }
}

/// `gᵀ (L Lᵀ)⁺ g`, by forward substitution in place; none where `g` has more than `flat` along a direction without curvature.
fn inverse_form(factor: &[f64], gradient: &mut [f64], flat: f64) -> Option<f64> {
    let dim = gradient.len();
    for k in 0..dim {
        let row = &factor[k * dim..][..=k];
        let rest = gradient[k] - kernel::dot(&row[..k], &gradient[..k]);
        gradient[k] = match row[k] {
            pivot if pivot > 0.0 => rest / pivot,
            _ if rest.abs() <= flat => 0.0,
            _ => return None,
        };
    }
    Some(kernel::norm_squared(gradient))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Oracle,
        problem::{Custom, DenseQuadratic, Loss, Optimum, Quadratic, Regression, Rows},
    };

    fn close(found: f64, expected: f64) {
        assert!((found - expected).abs() <= 1e-12 * expected.abs(), "{found}, not {expected}");
    }

    #[test]
    fn a_diagonal_problem_is_as_computed_by_hand() {
        // Curvatures 1 and 3, 2 and 2: H = 2 · diag(1.5, 2.5), and the optimum is at (1/3, 9/5).
        let problem =
            Quadratic::diagonal(&[vec![1.0, 3.0], vec![2.0, 2.0]], &[vec![3.0, 1.0], vec![-1.0, 3.0]]).unwrap();
        let limit = RandomOrderLimit::new(&problem).unwrap();
        // Gradients ±2 · 1 · (1/3 − 3) = ±16/3 and ±2 · 3 · (9/5 − 1) = ±24/5.
        let half_trace = (16.0f64 / 3.0).powi(2) / 3.0 + (24.0f64 / 5.0).powi(2) / 5.0;
        close(limit.gap_after(1), half_trace / 2.0);
        assert_eq!(limit.gap_after(2), 0.0);
        assert_eq!(limit.gap_after(0), f64::INFINITY);
        assert_eq!(limit.queries_to(half_trace / 2.0), Some(1));
        assert_eq!(limit.queries_to(half_trace / 2.0 - 1e-9), Some(2));
        assert_eq!((limit.queries_to(0.0), limit.queries_to(f64::INFINITY)), (Some(2), Some(1)));
        assert_eq!((limit.queries_to(-1.0), limit.queries_to(f64::NAN)), (None, None));
    }

    #[test]
    fn cross_terms_count() {
        // Both users have A = [[2, 1], [1, 2]] and centers ±(1, 0): x* = 0, gradients ∓(4, 2), H⁻¹ = [[2, −1], [−1, 2]] / 6.
        let curvature = vec![2.0, 1.0, 1.0, 2.0];
        let problem = DenseQuadratic::new(&[curvature.clone(), curvature], &[vec![1.0, 0.0], vec![-1.0, 0.0]]).unwrap();
        let form = (2.0 * 16.0 - 2.0 * 8.0 + 2.0 * 4.0) / 6.0;
        close(RandomOrderLimit::new(&problem).unwrap().gap_after(1), form / 2.0);
    }

    #[test]
    fn it_is_the_mean_gap_over_all_orders() {
        // With equal curvatures the best point for whom was asked is their mean center: go through all pairs of four.
        let centers = [2.0, 1.0, -1.0, -5.0];
        let problem = Quadratic::scalar(&[1.0; 4], &centers).unwrap();
        let limit = RandomOrderLimit::new(&problem).unwrap();
        let pairs: Vec<f64> = (0..4)
            .flat_map(|one| (0..one).map(move |other| 0.5 * (centers[one] + centers[other])))
            .map(|x| problem.gap(&[x]).unwrap())
            .collect();
        let mean = pairs.iter().sum::<f64>() / pairs.len() as f64;
        close(limit.gap_after(2), mean);
    }

    #[test]
    fn a_regression_has_the_hessian_of_its_loss() {
        // One logistic row a user, ±1 at x = 1, without a second feature: the optimum is where the penalised slopes cancel.
        let rows = Rows::Dense { dim: 1, values: vec![1.0, 1.0, 2.0] };
        let problem = Regression::new(rows, vec![1.0, -1.0, 1.0], &[0, 1, 2, 3], Loss::Logistic, 0.1).unwrap();
        let x = problem.optimum().unwrap().point[0];
        let logistic = |z: f64| 1.0 / (1.0 + (-z).exp());
        let slopes = [-logistic(-x) + 0.1 * x, logistic(x) + 0.1 * x, -2.0 * logistic(-2.0 * x) + 0.1 * x];
        let curvature = |feature: f64| feature * feature * logistic(feature * x) * logistic(-feature * x);
        let hessian = (2.0 * curvature(1.0) + curvature(2.0)) / 3.0 + 0.1;
        let trace = slopes.iter().map(|slope| slope * slope).sum::<f64>() / 2.0 / hessian;
        close(RandomOrderLimit::new(&problem).unwrap().gap_after(1), 0.5 * trace * (1.0 - 1.0 / 3.0));
    }

    #[test]
    fn flat_directions_do_not_count() {
        let flat = Quadratic::diagonal(&[vec![1.0, 0.0], vec![1.0, 0.0]], &[vec![1.0, 7.0], vec![-1.0, 3.0]]).unwrap();
        let plain = Quadratic::scalar(&[1.0; 2], &[1.0, -1.0]).unwrap();
        assert_eq!(RandomOrderLimit::new(&flat), RandomOrderLimit::new(&plain));
    }

    #[test]
    fn users_who_agree_need_one_query() {
        let problem = Quadratic::scalar(&[1.0, 2.0], &[3.0, 3.0]).unwrap();
        assert_eq!(RandomOrderLimit::new(&problem).unwrap().queries_to(0.0), Some(1));
    }

    #[test]
    fn there_is_none_without_a_hessian_or_an_optimum() {
        let custom =
            || Custom::new(2, 1, |_, x: &[f64]| x[0] * x[0], |_, x: &[f64], out: &mut [f64]| out[0] = 2.0 * x[0]);
        assert_eq!(RandomOrderLimit::new(&custom()), None);
        let solved = custom().with_optimum(Optimum { point: vec![0.0], value: 0.0 });
        assert_eq!((solved.users(), RandomOrderLimit::new(&solved)), (2, None));
        let rows = Rows::Dense { dim: 1, values: vec![1.0, 2.0] };
        let unsolved = Regression::unsolved(rows, vec![1.0, 2.0], &[1.0; 2], &[0, 1, 2], Loss::Squares, 0.1).unwrap();
        assert_eq!(RandomOrderLimit::new(&unsolved), None);
    }
}
