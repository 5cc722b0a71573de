//! Quadratics without cross terms, the paper's scalar ones among them.

use super::{Optimum, Problem, ProblemError, check_finite, check_shapes};
use crate::Oracle;

/// `f_i(x) = Σ_k a_ik (x_k − b_ik)²`, with `a_ik ≥ 0`.
///
/// ```
/// use sgq::{Problem, problem::Quadratic};
///
/// // The paper's experiment: (x − b)² for b = 2, 1, −1, −2.
/// let toy = Quadratic::scalar(&[1.0; 4], &[2.0, 1.0, -1.0, -2.0])?;
/// assert_eq!(toy.value(&[0.0]), 2.5);
/// assert_eq!(toy.gap(&[5.0]), Some(25.0));
/// # Ok::<(), sgq::problem::ProblemError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Quadratic {
    dim: usize,
    curvatures: Vec<f64>,
    centers: Vec<f64>,
    mean_curvature: Vec<f64>,
    smoothness: Vec<f64>,
    pl_constant: Option<f64>,
    optimum: Optimum,
}

impl Quadratic {
    /// One parameter: `f_i(x) = a_i (x − b_i)²`.
    pub fn scalar(curvatures: &[f64], centers: &[f64]) -> Result<Self, ProblemError> {
        let rows = |values: &[f64]| values.iter().map(|&value| vec![value]).collect::<Vec<_>>();
        Self::diagonal(&rows(curvatures), &rows(centers))
    }

    /// Many parameters: a row of curvatures and a row of centers for each user.
    pub fn diagonal(curvatures: &[Vec<f64>], centers: &[Vec<f64>]) -> Result<Self, ProblemError> {
        let (users, dim) = check_shapes(curvatures, centers, |dim| dim)?;
        for (user, row) in curvatures.iter().enumerate() {
            if let Some(position) = row.iter().position(|value| *value < 0.0) {
                return Err(ProblemError::NotConvex { user, position, value: row[position] });
            }
        }
        let smoothness = curvatures.iter().map(|row| 2.0 * row.iter().copied().fold(0.0, f64::max)).collect();
        let mut mean_curvature = vec![0.0; dim];
        let mut minimiser = vec![0.0; dim];
        for k in 0..dim {
            let weighted: f64 = (0..users).map(|i| curvatures[i][k] * centers[i][k]).sum();
            let total: f64 = (0..users).map(|i| curvatures[i][k]).sum();
            mean_curvature[k] = total / users as f64;
            // A coordinate without curvature does not matter to anybody: any value is optimal.
            minimiser[k] = if total > 0.0 { weighted / total } else { 0.0 };
        }
        // f is flat along coordinates without curvature, and PL with the smallest curvature of the others.
        let least = mean_curvature.iter().copied().filter(|value| *value > 0.0).fold(f64::INFINITY, f64::min);
        let mut problem = Self {
            dim,
            curvatures: curvatures.concat(),
            centers: centers.concat(),
            mean_curvature,
            smoothness,
            pl_constant: least.is_finite().then_some(2.0 * least),
            optimum: Optimum { point: minimiser, value: 0.0 },
        };
        problem.optimum.value = problem.value(&problem.optimum.point);
        check_finite(&problem)?;
        Ok(problem)
    }

    fn row(&self, user: usize) -> (&[f64], &[f64]) {
        let row = user * self.dim..(user + 1) * self.dim;
        (&self.curvatures[row.clone()], &self.centers[row])
    }
}

impl Oracle for Quadratic {
    fn users(&self) -> usize {
        self.smoothness.len()
    }

    fn dim(&self) -> usize {
        self.dim
    }

    fn gradient(&self, user: usize, point: &[f64], gradient: &mut [f64]) {
        let (curvature, center) = self.row(user);
        let terms = curvature.iter().zip(center).zip(point);
        for (out, ((a, b), x)) in gradient.iter_mut().zip(terms) {
            *out = 2.0 * a * (x - b);
        }
    }

    fn user_loss(&self, user: usize, point: &[f64]) -> Option<f64> {
        Some(self.user_value(user, point))
    }

    fn hessian(&self, user: usize, _point: &[f64], hessian: &mut [f64]) -> bool {
        hessian.fill(0.0);
        let diagonal = hessian.iter_mut().step_by(self.dim + 1);
        diagonal.zip(self.row(user).0).for_each(|(out, curvature)| *out = 2.0 * curvature);
        true
    }
}

impl Problem for Quadratic {
    fn user_value(&self, user: usize, point: &[f64]) -> f64 {
        let (curvature, center) = self.row(user);
        weighted_squares(curvature, point, center)
    }

    fn smoothness(&self) -> Option<&[f64]> {
        Some(&self.smoothness)
    }

    fn pl_constant(&self) -> Option<f64> {
        self.pl_constant
    }

    fn objective_smoothness(&self) -> Option<f64> {
        Some(2.0 * self.mean_curvature.iter().copied().fold(0.0, f64::max))
    }

    fn is_quadratic(&self) -> bool {
        true
    }

    fn optimum(&self) -> Option<&Optimum> {
        Some(&self.optimum)
    }

    /// `Σ_k ā_k (x_k − x*_k)²`, exact where subtracting two values would cancel.
    fn gap(&self, point: &[f64]) -> Option<f64> {
        Some(weighted_squares(&self.mean_curvature, point, &self.optimum.point))
    }
}

/// `Σ_k a_k (x_k − b_k)²`.
fn weighted_squares(a: &[f64], x: &[f64], b: &[f64]) -> f64 {
    let terms = a.iter().zip(x).zip(b);
    terms.map(|((a, x), b)| a * (x - b) * (x - b)).sum()
}
