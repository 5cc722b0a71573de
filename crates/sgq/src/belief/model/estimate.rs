//! The mean gradient, and how far to trust it: docs/frugal.md § 6.

use super::{View, alignment, secants::along};
use crate::kernel;

/// The mean gradient at the weighted mean of the points, and the part of the users' spread that it is unsure by.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Estimate {
    pub anchor: Vec<f64>,
    pub gradient: Vec<f64>,
    pub unsure: f64,
    /// How far answers were carried on average, squared: `Σ s_i² r_i² / n²`.
    pub carried: f64,
}

impl Estimate {
    /// From everybody's answer, carried to the mean: the best linear prediction, Eq. (21) to (25). What a user's own answer tells, `s_i q_i` of
    /// what there is to know, is taken from it; the rest is predicted from all answers alike, so that it does not matter if the
    /// larger users, who are asked sooner, differ from the others. `q_i` is less the more the user's own curvature may have
    /// changed its answer on the way. `spread` is `tr C`, `own_curvature` is `h² d`, and `own_change` has what users' own curvature adds
    /// on the ways to the anchor: `B` adds nothing, for the weighted ways come to zero.
    pub fn new(
        view: &View<'_>,
        spread: f64,
        own_curvature: f64,
        own_change: impl FnOnce(&[f64], &[f64]) -> Vec<f64>,
    ) -> Self {
        let dim = view.point.len();
        let (mut held, mut told, mut told_squares, mut noise, mut carried) = (0.0, 0.0, 0.0, 0.0, 0.0);
        let mut weights = Vec::with_capacity(view.answers.count());
        for (user, answer) in view.answers.iter() {
            let size = view.sizes[user];
            let far = answer.unexplained(view.point);
            let kept = spread / (spread + own_curvature * far);
            carried += size * size * far / (view.all_sizes * view.all_sizes);
            held += kept;
            told += size * kept;
            told_squares += size * size * kept;
            noise += kept * kept * answer.noise;
            weights.push(kept);
        }
        let untold = (1.0 - told / view.all_sizes).max(0.0);
        let (mut anchor, mut gradient) = (vec![0.0; dim], vec![0.0; dim]);
        for ((user, _), weight) in view.answers.iter().zip(&mut weights) {
            let size = view.sizes[user];
            *weight *= size / view.all_sizes + untold * if view.sized_before { 1.0 / held } else { size / told };
        }
        let weighted = || view.answers.iter().zip(&weights);
        kernel::add_all(&mut anchor, weighted().map(|((_, answer), weight)| (*weight, &*answer.point)));
        let sized = weighted().map(|((user, answer), weight)| (weight / view.sizes[user], &*answer.gradient));
        kernel::add_all(&mut gradient, sized);
        // One, up to rounding, and what the floor under the smallest sizes adds.
        let total: f64 = weights.iter().sum();
        anchor.iter_mut().for_each(|value| *value /= total);
        weights.iter_mut().for_each(|weight| *weight /= total);
        gradient.iter_mut().for_each(|value| *value /= total);
        kernel::add_scaled(&mut gradient, 1.0, &own_change(&weights, &anchor));
        if view.aligned > 0.0 {
            add_aligned(view, &weights, &anchor, &mut gradient);
        }
        let noise = noise / (view.all_sizes * view.all_sizes * spread);
        Self { anchor, gradient, unsure: unsure(view, untold, told_squares, held) + noise, carried }
    }
}

/// On the rest of the way, off the secant, a user's own gradient says how it bends.
fn add_aligned(view: &View<'_>, weights: &[f64], anchor: &[f64], gradient: &mut [f64]) {
    let mut slopes: Vec<(f64, &[f64])> = Vec::new();
    let mut directions = Vec::new();
    for ((user, answer), weight) in view.answers.iter().zip(weights) {
        let mut rest = along(&answer.gradient, &answer.point, anchor);
        if let Some(secant) = &answer.secant {
            let way = secant.along(&answer.point, anchor);
            directions.push((weight * way, &*secant.direction));
            rest -= way * kernel::dot(&answer.gradient, &secant.direction);
        }
        let factor = alignment::factor_along(view.aligned * weight * view.sizes[user], answer, rest);
        slopes.extend(factor.map(|factor| (factor, &*answer.gradient)));
    }
    let mut along_secants = vec![0.0; anchor.len()];
    kernel::add_all(&mut along_secants, directions);
    kernel::add_all(gradient, slopes);
    // The weighted ways to the anchor come to zero, and so their rests to the ways along the secants, backwards.
    let mean = alignment::mean_along(view.answers, view.sizes, &along_secants);
    kernel::add_scaled(gradient, view.aligned, &mean);
}

/// Part of the users' spread that the mean gradient is unsure by: what users' own answers do not tell, of which
/// `told = Σ s_i² q_i` is, and the error of what it is predicted by, as of `held = Σ q_i` answers. With users of equal size and
/// fresh answers it is `1/k − 1/n`, and a little more while few were asked.
fn unsure(view: &View<'_>, untold: f64, told: f64, held: f64) -> f64 {
    let own = (view.square_sizes - told).max(0.0) / (view.all_sizes * view.all_sizes);
    (own + untold * untold / held) * (1.0 + 1.0 / held)
}
