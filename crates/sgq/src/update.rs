//! How the point moves on an answer.

mod aggregated;
mod best_step;
mod curvature;
mod full;
mod heavy_ball;
mod newton;
mod quadratics;
mod snapshots;
mod svrg;
mod to_minimiser;

use serde::{Deserialize, Serialize};

use crate::{
    Belief, DefaultStep, LastGradient, Needs, Order, Part, Random, Reply, Setting, SettingError, Smoothness, kernel,
    method::{AnyUpdate, PartEntry, parts},
    step_size::Known,
    theory::Theorem,
};

pub use aggregated::{Aggregated, DoublyAggregated};
pub use best_step::BestStep;
pub use curvature::{CurvatureAided, QuasiNewton};
pub use full::{FullGradient, Lbfgs};
pub use heavy_ball::HeavyBall;
pub use newton::{FisherScoring, IncrementalNewton, NewtonLearning};
pub use snapshots::{Katyusha, Loopless, Recursive};
pub use svrg::Svrg;
pub use to_minimiser::ToMinimiser;

/// Moves the point when an answer comes in.
///
/// # Contract
///
/// `begin` is called once, before anything else. `wants` says what is to be asked next; every answer to that comes to `step`,
/// after the belief has taken it in. Answers of a sweep that only the belief wants do not. An answer of a step counts
/// `step.weight` times, so that choices that ask some users more often are corrected for.
pub trait Update<B: Belief>: Part {
    /// Its own settings. Their ranges are checked before `begin`.
    fn settings(&mut self) -> Vec<Setting<'_>> {
        Vec::new()
    }

    /// Makes room for that many users and parameters.
    fn begin(&mut self, users: usize, dim: usize) -> Result<(), SettingError> {
        let _ = (users, dim);
        Ok(())
    }

    /// What it cannot work without; a session that lacks it is refused when it is built.
    fn needs(&self) -> Needs {
        Needs::none()
    }

    /// Whether it goes its own way, and no step size is wanted.
    fn has_own_step(&self) -> bool {
        false
    }

    /// The step size that its authors suggest, where that is of use in practice.
    ///
    /// The paper's theorems bound the steps of SGD, OGQ and SGQ by `μ / (2 L L_max)` and less, which is far too careful on
    /// real data.
    fn default_step(&self, known: &Known<'_>) -> DefaultStep {
        DefaultStep::new("1/(2 L_max)", 1.0 / (2.0 * known.smoothness.max()))
    }

    /// The theorem that bounds the step size, given the one that holds for plain SGD steps under the same choice.
    fn theorem(&self, of_sgd: Option<Theorem>) -> Option<Theorem> {
        let _ = of_sgd;
        None
    }

    /// What is to be asked next.
    fn wants(&self) -> Wants<'_> {
        Wants::Chosen
    }

    /// Whether users may leave and join: not where it keeps something of each of them, which nobody takes out.
    fn lets_users_go(&self) -> bool {
        false
    }

    /// Moves the point on an answer; returns whether that was a step.
    fn step(&mut self, step: Step<'_, B>, random: &mut Random, point: &mut [f64]) -> bool;
}

dyn_clone::clone_trait_object!(<B> Update<B>);

/// What an update wants to be asked next.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Wants<'a> {
    /// The user that the choice picks, at the current point.
    Chosen,
    /// Everybody at the current point, in order from user 0.
    Everybody,
    /// The user that the choice picks at this point first, and then at the current one.
    Elsewhere(&'a [f64]),
}

/// All that an update may look at when an answer comes in.
#[derive(Debug)]
#[non_exhaustive]
pub struct Step<'a, B> {
    /// What is believed of the users, this answer included. Only what a belief wants to know of a move may be changed in it.
    pub belief: &'a mut B,
    /// The answer.
    pub reply: Reply<'a>,
    /// What the answer counts, [`Chosen::weight`](crate::Chosen::weight).
    pub weight: f64,
    /// The step size `α_t`.
    pub size: f64,
    /// The users' smoothness constants, where they were given.
    pub smoothness: Option<&'a Smoothness>,
}

impl<'a, B> Step<'a, B> {
    /// A step of that size on an answer that counts once: for tests of an update of one's own.
    pub fn new(belief: &'a mut B, reply: Reply<'a>, size: f64) -> Self {
        Self { belief, reply, weight: 1.0, size, smoothness: None }
    }
}

/// `x −= α ∇f_i(x)`, Eq. (2); the gradient counts as much as its weight says.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sgd;

impl<B: Belief> Update<B> for Sgd {
    fn default_step(&self, known: &Known<'_>) -> DefaultStep {
        // Gower et al. 2019; with importance sampling the mean takes the maximum's place.
        match known.order {
            Order::BySmoothness => DefaultStep::new("1/(2 mean L_i)", 1.0 / (2.0 * known.smoothness.mean())),
            _ => DefaultStep::new("1/(2 L_max)", 1.0 / (2.0 * known.smoothness.max())),
        }
    }

    fn theorem(&self, of_sgd: Option<Theorem>) -> Option<Theorem> {
        of_sgd
    }

    fn lets_users_go(&self) -> bool {
        true
    }

    fn step(&mut self, step: Step<'_, B>, _random: &mut Random, point: &mut [f64]) -> bool {
        kernel::add_scaled(point, -step.size * step.weight, step.reply.gradient);
        true
    }
}

/// `x −= α (∇f_i(x) − g̃_i + ḡ)` with the last gradients from before this answer (Defazio, Bach, Lacoste-Julien 2014).
///
/// Over a [lazy](LastGradient::lazy) table `ḡ` is the mean over the users asked before, and a user who was not asked counts as
/// having that mean for its `g̃_i`: a first answer makes a plain step, `x −= α ∇f_i(x)`. With the weight `w` of a choice the
/// step is `x −= α (w ∇f_i(x) + (1 − w) ḡ)`, which is right on average as before.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Saga;

impl Update<LastGradient> for Saga {
    fn default_step(&self, known: &Known<'_>) -> DefaultStep {
        DefaultStep::new("1/(3 L_max)", 1.0 / (3.0 * known.smoothness.max()))
    }

    fn theorem(&self, of_sgd: Option<Theorem>) -> Option<Theorem> {
        // SAGA's analysis is for uniform sampling only.
        (of_sgd == Some(Theorem::UniformSgd)).then_some(Theorem::Saga)
    }

    fn lets_users_go(&self) -> bool {
        true
    }

    fn step(&mut self, step: Step<'_, LastGradient>, _random: &mut Random, point: &mut [f64]) -> bool {
        let before = step.belief.replaced();
        let (fresh, kept) = (step.reply.gradient, before.gradient_or_mean());
        reduced_variance_step(point, step.weight, step.size, fresh, kept, before.mean);
        true
    }
}

/// `x −= α (w (fresh − kept) + mean)`: the step that SAGA and SVRG share, with the weight `w` of the answer.
fn reduced_variance_step(point: &mut [f64], weight: f64, size: f64, fresh: &[f64], kept: &[f64], mean: &[f64]) {
    kernel::each_piece(point, [fresh, kept, mean], |point, [fresh, kept, mean]| {
        let gradients = fresh.iter().zip(kept).zip(mean);
        for (x, ((fresh, kept), mean)) in point.iter_mut().zip(gradients) {
            *x -= size * (weight * (fresh - kept) + mean);
        }
    });
}

/// The built-in updates, for methods that are put together at run time.
pub const UPDATES: &[PartEntry<AnyUpdate>] = parts! { AnyUpdate:
    "sgd", by_any(Sgd): "x −= α ∇f_i(x)";
    "heavy-ball", by_any(HeavyBall::default()): "x += β · last move − α ∇f_i(x): sgd with momentum";
    "best-step", by_table(BestStep::new()):
        "as sgd, with the α at which the expected improvement is largest; no step size";
    "saga", by_table(Saga): "x −= α (∇f_i(x) − last gradient of i + mean of all last gradients)";
    "aggregated", by_table(Aggregated): "x −= α · mean of all last gradients";
    "doubly-aggregated", by_table(DoublyAggregated::new()):
        "x = mean of the last gradients' points − α · mean of all last gradients";
    "svrg", by_any(Svrg::new(None)): "x −= α (∇f_i(x) − snapshot gradient of i + full snapshot gradient)";
    "loopless", by_any(Loopless::new(None)): "as svrg, with snapshots at random times";
    "katyusha", by_any(Katyusha::new(None, 0.5)): "svrg with momentum";
    "recursive", by_any(Recursive::new(None)): "v += ∇f_i(x) − ∇f_i(last x), x −= α v: two queries a step";
    "quasi-newton", by_table(QuasiNewton::new()):
        "minimises the sum of quadratics whose curvatures are learned by BFGS";
    "to-minimiser", by_model(ToMinimiser::new()): "goes where a model of all users is smallest; no step size";
    "curvature-aided", by_any(CurvatureAided::new()):
        "x −= α · mean of all last gradients carried to x by their Hessians (simulation only)";
    "incremental-newton", by_any(IncrementalNewton::new()):
        "minimises the sum of quadratics with everybody's last Hessian; no step size (simulation only)";
    "newton-learning", by_any(NewtonLearning::new(1)):
        "as incremental-newton, with Hessians learned from changes of low rank; no step size (simulation only)";
    "fisher-scoring", by_any(FisherScoring::new()):
        "x −= (Σ Hessians)⁻¹ Σ gradients: everybody is asked for each step, whatever the choice; no step size (simulation only)";
    "full", by_any(FullGradient::new()): "x −= α ∇f(x): everybody is asked for each step, whatever the choice";
    "l-bfgs", by_any(Lbfgs::new()): "quasi-Newton steps on full gradients, whatever the choice";
};
