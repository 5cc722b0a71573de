//! The optimum of a regression, by Newton's method.

use super::Regression;
use crate::{Problem, kernel, matrix, problem::ProblemError};

/// Newton's method from zero until the gradient has lost all its digits, or is below this.
pub(super) const TOLERANCE: f64 = 1e-12;
const STEPS: usize = 200;
/// What is left of a gradient may be so large, as a part of the gradient at zero and one.
const ROUNDING: f64 = 1e-9;
/// No part of a step is tried that is shorter.
const SHORTEST: f64 = 1e-10;

/// How a step is taken.
struct Way {
    /// Rows count with this part of the largest curvature at least.
    least_curvature: f64,
    /// The shortest part of the step to be tried.
    shortest: f64,
    /// Whether the value may rise where the gradient falls.
    may_rise: bool,
}

/// Newton's steps.
const NEWTON: [Way; 1] = [Way { least_curvature: 0.0, shortest: SHORTEST, may_rise: true }];
/// Where they lead nowhere: the loss of all rows with some value of a column may be linear at the start (Huber's), so that no curvature
/// says how far to go.
const CAREFUL: [Way; 3] = [
    Way { least_curvature: 0.0, shortest: 1e-3, may_rise: false },
    Way { least_curvature: 0.01, shortest: 1e-3, may_rise: false },
    Way { least_curvature: 1.0, shortest: SHORTEST, may_rise: false },
];

/// A point, its value, its gradient and the norm of that.
type Place = (Vec<f64>, f64, Vec<f64>, f64);

/// A minimiser of `f`, and the norm of the gradient there.
pub(super) fn solve(problem: &Regression) -> Result<(Vec<f64>, f64), ProblemError> {
    let start = vec![0.0; problem.rows.dim()];
    let (value, gradient) = (problem.value(&start), problem.full_gradient(&start));
    let norm = kernel::norm(&gradient);
    let start = (start, value, gradient, norm);
    // What rounding leaves of a gradient that is a sum of this many terms.
    let enough = ROUNDING * (1.0 + norm);
    let mut end = descend(problem, start.clone(), &NEWTON);
    if end.3 > enough {
        end = descend(problem, start, &CAREFUL);
    }
    let (x, _, _, norm) = end;
    if norm > enough { Err(ProblemError::NoOptimum { gradient: norm }) } else { Ok((x, norm)) }
}

/// Steps in the first of these ways that leads down, while one does.
fn descend(problem: &Regression, mut here: Place, ways: &[Way]) -> Place {
    for _ in 0..STEPS {
        if here.3 <= TOLERANCE {
            break;
        }
        let Some(next) = ways.iter().find_map(|way| along(problem, &here, way)) else {
            break;
        };
        here = next;
    }
    here
}

/// As far along Newton's direction as it goes down; none where it does not.
fn along(problem: &Regression, (x, value, gradient, norm): &Place, way: &Way) -> Option<Place> {
    let direction = newton_direction(problem, x, gradient, way.least_curvature)?;
    let slope = kernel::dot(&direction, gradient);
    let mut length = 1.0;
    // Backtracking on the value; near the optimum the value no longer tells, and the gradient does.
    while length >= way.shortest {
        let mut tried = x.clone();
        kernel::add_scaled(&mut tried, -length, &direction);
        let tried_value = problem.value(&tried);
        let tried_gradient = problem.full_gradient(&tried);
        let tried_norm = kernel::norm(&tried_gradient);
        let lower = tried_value <= value - 1e-4 * length * slope || tried_norm < 0.5 * norm;
        let may_be = way.may_rise || tried_value <= value + ROUNDING * (1.0 + value.abs());
        if tried_norm.is_finite() && may_be && (lower || tried_norm < *norm && length == 1.0) {
            return Some((tried, tried_value, tried_gradient, tried_norm));
        }
        length *= 0.5;
    }
    None
}

/// `H⁻¹ ∇f`: by Cholesky where the Hessian fits, else by conjugate gradients.
fn newton_direction(problem: &Regression, x: &[f64], gradient: &[f64], least: f64) -> Option<Vec<f64>> {
    const DIRECT: usize = 1000;
    let dim = x.len();
    let mut curvatures = problem.curvatures(x);
    if least > 0.0 {
        let floor = least * curvatures.iter().copied().fold(0.0, f64::max);
        curvatures.iter_mut().for_each(|curvature| *curvature = curvature.max(floor));
    }
    if dim > DIRECT {
        return Some(conjugate_gradients(problem, &curvatures, gradient));
    }
    let mut hessian = problem.mean_outer(|row| curvatures[row]);
    for k in problem.penalised_from..dim {
        hessian[k * dim + k] += problem.l2;
    }
    // Where no penalty keeps it definite a hair does, far below what matters.
    let trace: f64 = (0..dim).map(|k| hessian[k * dim + k]).sum();
    for attempt in 0..12 {
        let hair = if attempt == 0 { 0.0 } else { 1e-16 * trace * 10f64.powi(attempt) };
        let mut factor = hessian.clone();
        for k in 0..dim {
            factor[k * dim + k] += hair;
        }
        if matrix::cholesky(&mut factor, dim, 0.0) {
            let mut direction = gradient.to_vec();
            matrix::cholesky_solve(&factor, &mut direction);
            if direction.iter().all(|value| value.is_finite()) {
                return Some(direction);
            }
        }
    }
    None
}

/// Solves `H z = ∇f` without forming `H`.
fn conjugate_gradients(problem: &Regression, curvatures: &[f64], gradient: &[f64]) -> Vec<f64> {
    let mut solution = vec![0.0; gradient.len()];
    let mut residual = gradient.to_vec();
    let mut direction = residual.clone();
    let mut square = kernel::norm_squared(&residual);
    let enough = 1e-24 * square;
    for _ in 0..10 * gradient.len() {
        let image = problem.hessian_times(curvatures, &direction);
        let along = kernel::dot(&direction, &image);
        if !(along > 0.0 && square > enough) {
            break;
        }
        kernel::add_scaled(&mut solution, square / along, &direction);
        kernel::add_scaled(&mut residual, -square / along, &image);
        let next = kernel::norm_squared(&residual);
        for (d, r) in direction.iter_mut().zip(&residual) {
            *d = r + next / square * *d;
        }
        square = next;
    }
    solution
}
