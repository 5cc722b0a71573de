//! The step of `frugal`: to where a model of all users is smallest, as far as it can be trusted.

mod newton;
mod own;
mod reach;
mod safeguard;

use serde::{Deserialize, Serialize};

use super::{Step, Update, reduced_variance_step};
use crate::{
    Random, Reply, SettingError, Smoothness,
    belief::model::{Model, Move, Units, Verdict},
    frugal::FRUGAL,
    kernel,
};
use reach::Reach;
use safeguard::Safeguard;

/// Goes where the model believes the objective to be smallest; SAGA's steps, `1 / (3 L_max)` long, while the model is not to be
/// trusted. There is no step size to choose.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToMinimiser {
    reach: Reach,
    safeguard: Safeguard,
}

impl ToMinimiser {
    /// Before the first answer.
    pub fn new() -> Self {
        Self { reach: Reach::default(), safeguard: Safeguard::default() }
    }

    /// To the model's minimiser, as far as it may go after an answer at `asked`; returns what the model must know of it.
    fn go(&mut self, belief: &Model, asked: &[f64], point: &mut [f64]) -> Move {
        let Some((estimate, plan)) = belief.believed() else {
            if belief.lacks_curvature_of().is_some() {
                // There is no scale, or none any more: what was learned by it is void.
                self.reach = Reach::default();
            }
            probe(belief, point);
            return Move::Nowhere;
        };
        if belief.waits_at_start() {
            return Move::Nowhere;
        }
        let target = newton::minimiser(estimate, plan);
        // Numbers past what can be held: stay, and let the next answer tell.
        let Some(mut target) = target.filter(|target| kernel::all_within(&target.minimiser, f64::MAX)) else {
            return Move::Nowhere;
        };
        // Further out only where it still goes downhill.
        let growth = if belief.is_uphill() { 1.0 } else { FRUGAL.widening };
        let here = kernel::distance(point, &target.anchor);
        let mut far = kernel::distance(asked, &target.anchor);
        if !belief.anchor().is_empty() {
            far = far.max(kernel::distance(asked, belief.anchor()));
        }
        let wider = match belief.is_after_move() {
            // Not further than what was answered bears out, where the last moves were not heard of yet.
            true => here.max(growth * far),
            false => growth * here,
        };
        let widest = wider.max(kernel::norm(&estimate.gradient) / belief.scale().mean);
        let unit = (!belief.scale().known).then(|| belief.unit());
        self.reach.limit(&mut target.minimiser, &target.anchor, widest, unit);
        point.copy_from_slice(&target.minimiser);
        Move::ByModel { anchor: target.anchor, followed: target.followed }
    }

    /// A step in the model's own units.
    fn step_inside(&mut self, step: Step<'_, Model>, units: &Units, point: &mut [f64]) {
        if step.reply.point != point {
            // An answer from an older point: what counts is what it says of this one.
            step.belief.look_from(point);
        }
        let (belief, user) = (&*step.belief, step.reply.user);
        match belief.verdict() {
            Verdict::SetAside { keep } => {
                // Asked again on the way back to where this user was last believed, or to the start.
                self.reach.shrink(keep * kernel::distance(point, belief.anchor()));
                let back = belief.answers().get(user).map_or(belief.start(), |answer| &answer.point);
                for (x, back) in point.iter_mut().zip(back) {
                    *x = back + keep * (*x - back);
                }
                return;
            }
            Verdict::BelievedAfterAll => self.reach.restore(),
            Verdict::Believed => {}
        }
        if !belief.waits() {
            self.reach.grow(|| kernel::distance(step.reply.point, belief.anchor()));
        }
        let had_failed = self.safeguard.has_failed();
        let known = step.smoothness.filter(|_| belief.is_told_smoothness());
        self.safeguard.watch(belief, known.map(Smoothness::each), &units.point_outside(step.reply.point));
        let how = match (self.safeguard.has_failed(), had_failed, belief.answers().replaced()) {
            (false, ..) if belief.waits() => Move::Later,
            (false, ..) => self.go(belief, step.reply.point, point),
            // SAGA's steps, from the answer after the one that showed the failure on.
            (true, true, Some(kept)) => {
                let largest = known.map_or(0.0, Smoothness::max);
                let size = 1.0 / (FRUGAL.saga_step * largest.max(f64::MIN_POSITIVE));
                let [fresh, kept, mean] = [step.reply.gradient, &kept.gradient, belief.answers().mean_before()]
                    .map(|gradient| units.gradient_outside(gradient));
                let mut outside = units.point_outside(point).into_owned();
                reduced_variance_step(&mut outside, step.weight, size, &fresh, &kept, &mean);
                point.copy_from_slice(&units.point_inside(&outside));
                Move::Proven
            }
            (true, ..) => Move::Proven,
        };
        step.belief.moved(how, point);
    }
}

impl Default for ToMinimiser {
    fn default() -> Self {
        Self::new()
    }
}

/// A little way down the mean gradient: the next answer of the user whose curvature is missing then shows it where the first move
/// will go. Where it has none, the way is ten times as long the next time: Eq. (41).
fn probe(belief: &Model, point: &mut [f64]) {
    if let Some((_, answer)) = belief.lacks_curvature_of().filter(|(_, answer)| answer.norm > 0.0) {
        let mean = belief.answers().mean_gradient();
        let (slope, norm) = match kernel::norm(mean) {
            norm if norm > 0.0 => (mean, norm),
            _ => (&*answer.gradient, answer.norm),
        };
        kernel::add_scaled(point, -belief.scale().probe_length(belief.unit(), answer) / norm, slope);
    }
}

impl Update<Model> for ToMinimiser {
    fn begin(&mut self, _users: usize, _dim: usize) -> Result<(), SettingError> {
        *self = Self::new();
        Ok(())
    }

    fn has_own_step(&self) -> bool {
        true
    }

    fn lets_users_go(&self) -> bool {
        true
    }

    fn step(&mut self, step: Step<'_, Model>, _random: &mut Random, point: &mut [f64]) -> bool {
        if let Some(quadratics) = step.belief.own() {
            if step.belief.waits() {
                return true;
            }
            let cut = own::go(quadratics, point);
            step.belief.moved(cut.map_or(Move::Nowhere, |cut| Move::ByOwn { cut }), point);
            return true;
        }
        if step.belief.have_units_changed() {
            // What was learned of lengths is void.
            self.reach = Reach::default();
        }
        // The model has units of its own.
        let units = step.belief.units().clone();
        let (asked, gradient) = (units.point_inside(step.reply.point), units.gradient_inside(step.reply.gradient));
        let mut next = units.point_inside(point).into_owned();
        let reply = Reply { point: &asked, gradient: &gradient, ..step.reply };
        self.step_inside(Step { reply, ..step }, &units, &mut next);
        point.copy_from_slice(&units.point_outside(&next));
        true
    }
}
