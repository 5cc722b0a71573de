//! A problem made of the user's own functions.

use super::{Optimum, Problem};
use crate::Oracle;

/// A problem from two closures: a user's value and a user's gradient.
///
/// ```
/// use sgq::{Problem, problem::{Custom, Optimum}};
///
/// let centers = [1.0, 3.0];
/// let problem = Custom::new(
///     2,
///     1,
///     move |user, x| (x[0] - centers[user]).powi(4),
///     move |user, x, gradient| gradient[0] = 4.0 * (x[0] - centers[user]).powi(3),
/// )
/// .with_optimum(Optimum { point: vec![2.0], value: 1.0 });
/// assert_eq!(problem.gap(&[3.0]), Some(7.0));
/// ```
#[derive(Clone, Debug)]
pub struct Custom<V, G> {
    users: usize,
    dim: usize,
    user_value: V,
    gradient: G,
    smoothness: Option<Vec<f64>>,
    pl_constant: Option<f64>,
    objective_smoothness: Option<f64>,
    optimum: Option<Optimum>,
}

impl<V, G> Custom<V, G>
where
    V: Fn(usize, &[f64]) -> f64 + Sync,
    G: Fn(usize, &[f64], &mut [f64]) + Sync,
{
    /// `user_value(i, x)` returns `f_i(x)`; `gradient(i, x, out)` writes `∇f_i(x)` into `out`.
    pub fn new(users: usize, dim: usize, user_value: V, gradient: G) -> Self {
        Self {
            users,
            dim,
            user_value,
            gradient,
            smoothness: None,
            pl_constant: None,
            objective_smoothness: None,
            optimum: None,
        }
    }

    /// States each user's smoothness `L_i`.
    pub fn with_smoothness(mut self, smoothness: Vec<f64>) -> Self {
        self.smoothness = Some(smoothness);
        self
    }

    /// States the Polyak-Łojasiewicz constant `μ`.
    pub fn with_pl_constant(mut self, pl_constant: f64) -> Self {
        self.pl_constant = Some(pl_constant);
        self
    }

    /// States the smoothness of `f` itself, which is at most the mean `L_i`.
    pub fn with_objective_smoothness(mut self, smoothness: f64) -> Self {
        self.objective_smoothness = Some(smoothness);
        self
    }

    /// States where the problem is smallest, and how small.
    pub fn with_optimum(mut self, optimum: Optimum) -> Self {
        self.optimum = Some(optimum);
        self
    }
}

impl<V, G> Oracle for Custom<V, G>
where
    V: Fn(usize, &[f64]) -> f64 + Sync,
    G: Fn(usize, &[f64], &mut [f64]) + Sync,
{
    fn users(&self) -> usize {
        self.users
    }

    fn dim(&self) -> usize {
        self.dim
    }

    fn gradient(&self, user: usize, point: &[f64], gradient: &mut [f64]) {
        (self.gradient)(user, point, gradient);
    }

    fn user_loss(&self, user: usize, point: &[f64]) -> Option<f64> {
        Some(self.user_value(user, point))
    }
}

impl<V, G> Problem for Custom<V, G>
where
    V: Fn(usize, &[f64]) -> f64 + Sync,
    G: Fn(usize, &[f64], &mut [f64]) + Sync,
{
    fn user_value(&self, user: usize, point: &[f64]) -> f64 {
        (self.user_value)(user, point)
    }

    fn smoothness(&self) -> Option<&[f64]> {
        self.smoothness.as_deref()
    }

    fn pl_constant(&self) -> Option<f64> {
        self.pl_constant
    }

    fn objective_smoothness(&self) -> Option<f64> {
        self.objective_smoothness
    }

    fn optimum(&self) -> Option<&Optimum> {
        self.optimum.as_ref()
    }
}
