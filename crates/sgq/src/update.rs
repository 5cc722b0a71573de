//! How the point moves on an answer.

mod aggregated;
mod best_step;
mod curvature;
mod full;
mod snapshots;
mod svrg;
mod to_minimiser;

use serde::{Deserialize, Serialize};

use crate::{Belief, LastGradient, Part, Random, Reply, SettingsError, Smoothness, kernel, theory::Theorem};

pub use aggregated::{Aggregated, DoublyAggregated};
pub use best_step::BestStep;
pub use curvature::{CurvatureAided, QuasiNewton};
pub use full::{FullGradient, Lbfgs};
pub use snapshots::{Katyusha, Loopless, Recursive};
pub use svrg::Svrg;
pub use to_minimiser::ToMinimiser;

/// Moves the point when an answer comes in.
///
/// # Contract
///
/// `begin` is called once, before anything else. While `wants_sweep` is true the session asks every user in turn at the
/// current point, passes the answers to `observe_sweep` and then calls `finish_sweep`, after which `wants_sweep` must be
/// false or the point must have moved. All other answers come to `step`, with the belief as it was before that answer; where
/// there is an `extra_point`, the same user is asked there first. `arrive` follows each `step`, with the belief after it.
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
    fn observe_sweep(&mut self, reply: &Reply<'_>) {
        let _ = reply;
    }

    /// Ends a sweep. Returns whether it moved the point, which then counts as a step.
    fn finish_sweep(&mut self, step_size: f64, point: &mut [f64]) -> bool {
        let _ = (step_size, point);
        false
    }

    /// Another point at which the user of the coming step must be asked first.
    fn extra_point(&self) -> Option<&[f64]> {
        None
    }

    /// Takes the answer at the extra point.
    fn observe_extra(&mut self, gradient: &[f64]) {
        let _ = gradient;
    }

    /// Whether each answer must come with the user's Hessian: a stronger oracle, which only a simulation can offer.
    fn needs_hessians(&self) -> bool {
        false
    }

    /// The theorem that bounds the step size, given the one that holds for plain SGD steps under the same choice.
    fn theorem(&self, of_sgd: Option<Theorem>) -> Option<Theorem> {
        let _ = of_sgd;
        None
    }

    /// Whether it goes its own way, and no step size is wanted.
    fn has_own_step(&self) -> bool {
        false
    }

    /// Whether it needs the users' smoothness, given or [learned](Belief::learns_smoothness).
    fn needs_smoothness(&self) -> bool {
        false
    }

    /// Whether it corrects its steps by everybody's last gradient, and cannot begin before all have been asked.
    fn needs_everybody(&self) -> bool {
        false
    }

    /// Moves the point once more when the belief has taken in the answer, for updates that go by what is believed now: the
    /// same as in `step`, but for the belief.
    fn arrive(&mut self, step: &Step<'_, B>, point: &mut [f64]) {
        let _ = (step, point);
    }

    /// Moves the point along an answer.
    fn step(&mut self, step: &Step<'_, B>, random: &mut Random, point: &mut [f64]);
}

/// All that an update may look at when an answer comes in.
#[derive(Clone, Copy, Debug)]
pub struct Step<'a, B> {
    /// What was believed of the users before this answer; in [`Update::arrive`], what is believed after it.
    pub belief: &'a B,
    /// The answer.
    pub reply: Reply<'a>,
    /// What the answer counts, [`Chosen::weight`](crate::Chosen::weight).
    pub weight: f64,
    /// The step size `α_t`.
    pub size: f64,
    /// The users' smoothness constants, where they were given.
    pub smoothness: Option<&'a Smoothness>,
}

/// `x −= α ∇f_i(x)`, Eq. (2); the gradient counts as much as its weight says.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sgd;

impl<B: Belief> Update<B> for Sgd {
    fn theorem(&self, of_sgd: Option<Theorem>) -> Option<Theorem> {
        of_sgd
    }

    fn step(&mut self, step: &Step<'_, B>, _random: &mut Random, point: &mut [f64]) {
        kernel::add_scaled(point, -step.size * step.weight, step.reply.gradient);
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

    fn needs_everybody(&self) -> bool {
        true
    }

    fn step(&mut self, step: &Step<'_, LastGradient>, _random: &mut Random, point: &mut [f64]) {
        reduced_variance_step(point, step, &step.belief.gradient(step.reply.user), step.belief.mean());
    }
}

/// `x −= α (w (fresh − kept) + mean)`: the step that SAGA and SVRG share, with the weight `w` of the answer.
fn reduced_variance_step<B>(point: &mut [f64], step: &Step<'_, B>, kept: &[f64], mean: &[f64]) {
    let gradients = step.reply.gradient.iter().zip(kept).zip(mean);
    for (x, ((fresh, kept), mean)) in point.iter_mut().zip(gradients) {
        *x -= step.size * (step.weight * (fresh - kept) + mean);
    }
}
