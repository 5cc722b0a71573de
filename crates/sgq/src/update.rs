//! How the point moves on an answer.

mod svrg;

use serde::{Deserialize, Serialize};

use crate::{Belief, LastGradient, Part, SettingsError, kernel, theory::Theorem};

pub use svrg::Svrg;

/// Moves the point when an answer comes in.
///
/// # Contract
///
/// `begin` is called once, before anything else. While `wants_sweep` is true the session asks every user in turn at the
/// current point and passes the answers to `observe_sweep`; after the last one `wants_sweep` must be false. All other
/// answers come to `step`, with the belief as it was before that answer.
pub trait Update<B: Belief>: Part {
    /// Makes room for that many users and parameters, and checks its own settings.
    fn begin(&mut self, users: usize, dim: usize) -> Result<(), SettingsError> {
        let _ = (users, dim);
        Ok(())
    }

    /// Whether every user must be asked at the current point before the next step.
    fn wants_sweep(&self) -> bool {
        false
    }

    /// Takes one answer of a sweep; users come in order, from 0.
    fn observe_sweep(&mut self, user: usize, gradient: &[f64]) {
        let _ = (user, gradient);
    }

    /// The theorem that bounds the step size, given the one that holds for plain SGD steps under the same choice.
    fn theorem(&self, of_sgd: Option<Theorem>) -> Option<Theorem> {
        let _ = of_sgd;
        None
    }

    /// Moves the point along an answer.
    fn step(&mut self, belief: &B, user: usize, gradient: &[f64], step_size: f64, point: &mut [f64]);
}

/// `x −= α ∇f_i(x)`, Eq. (2).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sgd;

impl<B: Belief> Update<B> for Sgd {
    fn theorem(&self, of_sgd: Option<Theorem>) -> Option<Theorem> {
        of_sgd
    }

    fn step(&mut self, _belief: &B, _user: usize, gradient: &[f64], step_size: f64, point: &mut [f64]) {
        kernel::add_scaled(point, -step_size, gradient);
    }
}

/// `x −= α (∇f_i(x) − g̃_i + ḡ)` with the last gradients from before this answer (Defazio, Bach, Lacoste-Julien 2014).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Saga;

impl Update<LastGradient> for Saga {
    fn theorem(&self, of_sgd: Option<Theorem>) -> Option<Theorem> {
        // SAGA's analysis is for uniform sampling only.
        (of_sgd == Some(Theorem::UniformSgd)).then_some(Theorem::Saga)
    }

    fn step(&mut self, belief: &LastGradient, user: usize, gradient: &[f64], step_size: f64, point: &mut [f64]) {
        reduced_variance_step(point, step_size, gradient, belief.gradient(user), belief.mean());
    }
}

/// `x −= α (fresh − kept + mean)`: the step that SAGA and SVRG share.
fn reduced_variance_step(point: &mut [f64], step_size: f64, fresh: &[f64], kept: &[f64], mean: &[f64]) {
    let gradients = fresh.iter().zip(kept).zip(mean);
    for (x, ((fresh, kept), mean)) in point.iter_mut().zip(gradients) {
        *x -= step_size * (fresh - kept + mean);
    }
}
