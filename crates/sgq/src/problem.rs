//! Problems whose objective is known: what a simulation runs against.

mod custom;
mod dense;
mod diagonal;
mod regression;

use thiserror::Error;

use crate::Oracle;

pub use custom::Custom;
pub use dense::DenseQuadratic;
pub use diagonal::Quadratic;
pub use regression::{Loss, Regression, RegressionBuilder, Rows};

/// An [`Oracle`] that also knows the objective `f = (1/n) Σ f_i` behind the gradients.
///
/// # Contract
///
/// `smoothness`, where it is known, holds one `L_i` for each user, and `∇f_i` is `L_i`-Lipschitz. `pl_constant` is a `μ`
/// with `f(x) − inf f ≤ ‖∇f(x)‖² / 2μ` for every `x`. `optimum().value` is `inf f`.
pub trait Problem: Oracle {
    /// `f_user(point)`.
    fn user_value(&self, user: usize, point: &[f64]) -> f64;

    /// `f(point)`, the mean over users.
    fn value(&self, point: &[f64]) -> f64 {
        let users = self.users();
        let sum: f64 = (0..users).map(|user| self.user_value(user, point)).sum();
        sum / users as f64
    }

    /// Each user's smoothness `L_i`, where it is known.
    fn smoothness(&self) -> Option<&[f64]>;

    /// The Polyak-Łojasiewicz constant `μ`, where there is one and it is known.
    fn pl_constant(&self) -> Option<f64>;

    /// The smoothness of `f` itself, where it is known: at most the mean `L_i`.
    fn objective_smoothness(&self) -> Option<f64> {
        None
    }

    /// Whether every `f_i` is a convex quadratic, and the constants above are exact. Theory then looks at gradients,
    /// which are affine, in a few points, and knows them everywhere.
    fn is_quadratic(&self) -> bool {
        false
    }

    /// Whether each `L_i` holds everywhere, and not only around the points that a run is expected to visit.
    fn is_smooth_everywhere(&self) -> bool {
        true
    }

    /// A minimiser and the infimum, where they are known.
    fn optimum(&self) -> Option<&Optimum>;

    /// `f(point) − inf f`, where the optimum is known.
    ///
    /// Problems that can should compute it without cancellation.
    fn gap(&self, point: &[f64]) -> Option<f64> {
        self.optimum().map(|optimum| self.value(point) - optimum.value)
    }
}

/// Where a problem is smallest, and how small.
#[derive(Clone, Debug, PartialEq)]
pub struct Optimum {
    /// A minimiser `x*`.
    pub point: Vec<f64>,
    /// `inf f = f(x*)`.
    pub value: f64,
}

/// Why a problem could not be made from its numbers.
#[derive(Clone, Debug, PartialEq, Error)]
#[allow(missing_docs)] // the message says what each field is
#[non_exhaustive]
pub enum ProblemError {
    #[error("the problem has no users: give at least one")]
    NoUsers,
    #[error("user {user} has no parameters: give at least one")]
    NoParameters { user: usize },
    #[error("{curvatures} users have a curvature but {centers} a center: give each user both")]
    Users { curvatures: usize, centers: usize },
    #[error("the {what} of user {user} has {found} numbers, expected {expected}")]
    Length { what: &'static str, user: usize, expected: usize, found: usize },
    #[error("the {what} of user {user} is {value} at position {position}: it must be finite")]
    NotFinite { what: &'static str, user: usize, position: usize, value: f64 },
    #[error(
        "the curvature of user {user} is {value} at position {position}: it must not be negative, or the user's cost is not convex"
    )]
    NotConvex { user: usize, position: usize, value: f64 },
    #[error(
        "the curvature of user {user} has the eigenvalue {value}: none may be negative, or the user's cost is not convex"
    )]
    Indefinite { user: usize, value: f64 },
    #[error(
        "the curvature of user {user} is not symmetric: entry ({row}, {column}) is {below}, entry ({column}, {row}) is {above}"
    )]
    NotSymmetric { user: usize, row: usize, column: usize, below: f64, above: f64 },
    #[error("the curvature of user {user} is not a square matrix: {rows} rows, of which one has {found} numbers")]
    NotSquare { user: usize, rows: usize, found: usize },
    #[error(
        "the mean curvature has an eigenvalue that is {part:e} of the largest: too close to 0 for a reliable optimum; rescale the parameters"
    )]
    IllConditioned { part: f64 },
    #[error("the numbers are too large: the {what} overflows; rescale the problem")]
    Overflow { what: &'static str },
    #[error("{message}")]
    Data { message: String },
    #[error("the optimum could not be found: the gradient stays at {gradient:e}; give an L2 penalty, or a larger one")]
    NoOptimum { gradient: f64 },
    #[error("the eigenvalues of {of} could not be computed: rescale its entries")]
    Eigenvalues { of: String },
}

/// Refuses a problem whose constants are past what numbers can hold.
fn check_finite(problem: &dyn Problem) -> Result<(), ProblemError> {
    let finite = |values: &[f64]| values.iter().all(|value| value.is_finite());
    let optimum = problem.optimum();
    for (what, fine) in [
        ("smoothness", problem.smoothness().is_none_or(finite)),
        ("minimiser", optimum.is_none_or(|optimum| finite(&optimum.point))),
        ("minimum", optimum.is_none_or(|optimum| optimum.value.is_finite())),
    ] {
        if !fine {
            return Err(ProblemError::Overflow { what });
        }
    }
    Ok(())
}

/// Checks that every user has a curvature of one length and a center of another, all finite, and returns `(n, d)`.
fn check_shapes(
    curvatures: &[Vec<f64>],
    centers: &[Vec<f64>],
    entries: impl Fn(usize) -> usize,
) -> Result<(usize, usize), ProblemError> {
    let users = centers.len();
    let dim = centers.first().ok_or(ProblemError::NoUsers)?.len();
    if curvatures.len() != users {
        return Err(ProblemError::Users { curvatures: curvatures.len(), centers: users });
    }
    if dim == 0 {
        return Err(ProblemError::NoParameters { user: 0 });
    }
    for (what, rows, expected) in [("center", centers, dim), ("curvature", curvatures, entries(dim))] {
        for (user, row) in rows.iter().enumerate() {
            if row.len() != expected {
                return Err(ProblemError::Length { what, user, expected, found: row.len() });
            }
            if let Some(position) = row.iter().position(|value| !value.is_finite()) {
                return Err(ProblemError::NotFinite { what, user, position, value: row[position] });
            }
        }
    }
    Ok((users, dim))
}
