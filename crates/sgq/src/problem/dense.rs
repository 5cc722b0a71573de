//! Quadratics with cross terms.

use super::{Optimum, Problem, ProblemError, check_finite, check_shapes};
use crate::{
    Oracle, kernel,
    matrix::{self, Square},
};

/// `f_i(x) = (x − b_i)ᵀ A_i (x − b_i)`, with `A_i` symmetric and positive semidefinite.
///
/// ```
/// use sgq::{Problem, problem::DenseQuadratic};
///
/// // Row by row: A_0 = [2 1; 1 2] around (1, 0), A_1 = I around (0, 1).
/// let problem = DenseQuadratic::new(
///     &[vec![2.0, 1.0, 1.0, 2.0], vec![1.0, 0.0, 0.0, 1.0]],
///     &[vec![1.0, 0.0], vec![0.0, 1.0]],
/// )?;
/// assert!((problem.smoothness().unwrap()[0] - 6.0).abs() < 1e-12);
/// # Ok::<(), sgq::problem::ProblemError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct DenseQuadratic {
    dim: usize,
    curvatures: Vec<f64>,
    centers: Vec<f64>,
    mean_curvature: Vec<f64>,
    smoothness: Vec<f64>,
    objective_smoothness: f64,
    pl_constant: Option<f64>,
    optimum: Optimum,
}

/// Differences below this part of the largest number are what rounding can explain.
const ROUNDING: f64 = 1e-12;

impl DenseQuadratic {
    /// A `d × d` curvature, row by row, and a center for each user.
    pub fn new(curvatures: &[Vec<f64>], centers: &[Vec<f64>]) -> Result<Self, ProblemError> {
        let (users, dim) = check_shapes(curvatures, centers, |dim| dim * dim)?;
        let curvatures = symmetric(curvatures, dim)?;
        let mut smoothness = Vec::with_capacity(users);
        for (user, curvature) in curvatures.iter().enumerate() {
            let (least, most) = Square::from_lower(dim, curvature.clone())
                .extreme_eigenvalues()
                .ok_or_else(|| ProblemError::Eigenvalues { of: format!("user {user}'s curvature") })?;
            if least < -ROUNDING * most.abs() {
                return Err(ProblemError::Indefinite { user, value: least });
            }
            smoothness.push(2.0 * most.max(0.0));
        }

        let mut mean_curvature = vec![0.0; dim * dim];
        kernel::mean_of_rows(&curvatures.concat(), &mut mean_curvature);
        // The minimiser solves (Σ A_i) x = Σ A_i b_i.
        let mut pull = vec![0.0; dim];
        for (curvature, center) in curvatures.iter().zip(centers) {
            for (row, pull) in curvature.chunks_exact(dim).zip(&mut pull) {
                *pull += kernel::dot(row, center) / users as f64;
            }
        }
        let (minimiser, least, most) = solve(&mut mean_curvature, &pull)?;

        let mut problem = Self {
            dim,
            curvatures: curvatures.concat(),
            centers: centers.concat(),
            mean_curvature,
            smoothness,
            objective_smoothness: 2.0 * most,
            pl_constant: least.map(|least| 2.0 * least),
            optimum: Optimum { point: minimiser, value: 0.0 },
        };
        problem.optimum.value = problem.value(&problem.optimum.point);
        check_finite(&problem)?;
        Ok(problem)
    }
}

/// The curvatures with their two halves averaged; a difference that rounding cannot explain is refused.
fn symmetric(curvatures: &[Vec<f64>], dim: usize) -> Result<Vec<Vec<f64>>, ProblemError> {
    let mut curvatures = curvatures.to_vec();
    for (user, curvature) in curvatures.iter_mut().enumerate() {
        let largest = curvature.iter().fold(0.0, |largest: f64, entry| largest.max(entry.abs()));
        for row in 0..dim {
            for column in 0..row {
                let (below, above) = (curvature[row * dim + column], curvature[column * dim + row]);
                if (below - above).abs() > ROUNDING * largest {
                    return Err(ProblemError::NotSymmetric { user, row, column, below, above });
                }
                let mean = 0.5 * below + 0.5 * above;
                curvature[row * dim + column] = mean;
                curvature[column * dim + row] = mean;
            }
        }
    }
    Ok(curvatures)
}

/// The shortest solution of `A x = b`, and the smallest eigenvalue of `A` that is not zero, and the largest.
///
/// Eigenvalues that rounding can explain count as zero, and are taken out of `A`: what is flat to one must be flat to all.
fn solve(a: &mut [f64], b: &[f64]) -> Result<(Vec<f64>, Option<f64>, f64), ProblemError> {
    let dim = b.len();
    let failed = || ProblemError::Eigenvalues { of: "the mean curvature".into() };
    let square = Square::from_lower(dim, a.to_vec());
    let (least, most) = square.extreme_eigenvalues().ok_or_else(failed)?;
    let is_flat = |value: f64| value <= 0.0 || value / most <= dim as f64 * f64::EPSILON;
    // Neither certainly flat nor certainly curved: the minimiser along it would be made of rounding errors.
    let well_conditioned = |value: f64| match value / most {
        part if part <= ROUNDING => Err(ProblemError::IllConditioned { part }),
        _ => Ok(()),
    };
    if !is_flat(least) {
        well_conditioned(least)?;
        // Where nothing is flat there is one solution, and it needs no eigenvectors.
        let (mut factor, mut solution) = (a.to_vec(), b.to_vec());
        if !matrix::cholesky(&mut factor, dim, 0.0) {
            return Err(ProblemError::IllConditioned { part: least / most });
        }
        matrix::cholesky_solve(&factor, &mut solution);
        return Ok((solution, Some(least), most));
    }
    let (values, vectors) = square.eigen().ok_or_else(failed)?;
    let mut solution = vec![0.0; dim];
    let mut least = None;
    for (j, value) in values.into_iter().enumerate() {
        let vector = vectors.column(j);
        if is_flat(value) {
            let image: Vec<f64> = a.chunks_exact(dim).map(|row| kernel::dot(row, &vector)).collect();
            let along = kernel::dot(&vector, &image);
            for row in 0..dim {
                for column in 0..dim {
                    let crossing = vector[row] * image[column] + image[row] * vector[column];
                    a[row * dim + column] -= crossing - along * vector[row] * vector[column];
                }
            }
            continue;
        }
        well_conditioned(value)?;
        least = least.or(Some(value));
        kernel::add_scaled(&mut solution, kernel::dot(&vector, b) / value, &vector);
    }
    Ok((solution, least, most.max(0.0)))
}

impl Oracle for DenseQuadratic {
    fn users(&self) -> usize {
        self.smoothness.len()
    }

    fn dim(&self) -> usize {
        self.dim
    }

    fn gradient(&self, user: usize, point: &[f64], gradient: &mut [f64]) {
        let curvature = &self.curvatures[user * self.dim * self.dim..][..self.dim * self.dim];
        let center = &self.centers[user * self.dim..][..self.dim];
        for (out, row) in gradient.iter_mut().zip(curvature.chunks_exact(self.dim)) {
            // One pass over x − b_i, without a buffer for it.
            let terms = row.iter().zip(point).zip(center);
            *out = 2.0 * terms.map(|((a, x), b)| a * (x - b)).sum::<f64>();
        }
    }

    fn user_loss(&self, user: usize, point: &[f64]) -> Option<f64> {
        Some(self.user_value(user, point))
    }

    fn hessian(&self, user: usize, _point: &[f64], hessian: &mut [f64]) -> bool {
        let entries = self.dim * self.dim;
        let curvature = &self.curvatures[user * entries..][..entries];
        hessian.iter_mut().zip(curvature).for_each(|(out, curvature)| *out = 2.0 * curvature);
        true
    }
}

impl Problem for DenseQuadratic {
    fn user_value(&self, user: usize, point: &[f64]) -> f64 {
        let curvature = &self.curvatures[user * self.dim * self.dim..][..self.dim * self.dim];
        quadratic_form(curvature, point, &self.centers[user * self.dim..][..self.dim])
    }

    fn smoothness(&self) -> Option<&[f64]> {
        Some(&self.smoothness)
    }

    fn pl_constant(&self) -> Option<f64> {
        self.pl_constant
    }

    fn objective_smoothness(&self) -> Option<f64> {
        Some(self.objective_smoothness)
    }

    fn is_quadratic(&self) -> bool {
        true
    }

    fn optimum(&self) -> Option<&Optimum> {
        Some(&self.optimum)
    }

    /// `(x − x*)ᵀ Ā (x − x*)`, exact where subtracting two values would cancel.
    fn gap(&self, point: &[f64]) -> Option<f64> {
        Some(quadratic_form(&self.mean_curvature, point, &self.optimum.point))
    }
}

/// `(x − b)ᵀ A (x − b)`.
fn quadratic_form(a: &[f64], x: &[f64], b: &[f64]) -> f64 {
    let offset: Vec<f64> = x.iter().zip(b).map(|(x, b)| x - b).collect();
    let rows = a.chunks_exact(offset.len()).zip(&offset);
    rows.map(|(row, x)| x * kernel::dot(row, &offset)).sum()
}
