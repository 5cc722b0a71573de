//! The step where users tell their Hessians: docs/frugal.md § 12.

use crate::{
    belief::model::{Mean, Own, UserSpread},
    frugal::FRUGAL,
    kernel, matrix,
};

/// Goes where the mean of users' own quadratics is smallest, drawn to the start by how unsure that is, and not further than they
/// can be trusted, Eq. (53) and (54). Returns whether the way was cut short; none where there is nothing to go by.
pub(super) fn go(own: &Own, point: &mut [f64]) -> Option<bool> {
    let mean = own.mean()?;
    let way = match &mean.spread {
        Some(spread) => drawn(mean, spread)?,
        None => mean.way.clone(),
    };
    let from = own.seen();
    let target: Vec<f64> =
        own.start().iter().zip(&way).zip(from).map(|((start, way), from)| start + way - from).collect();
    let far = kernel::dot(&target, &mean.curvature.times_vector(&target));
    let length = (own.roughness.square() * far).sqrt();
    if !length.is_finite() {
        return None;
    }
    for ((x, from), way) in point.iter_mut().zip(from).zip(&target) {
        *x = from + way / length.max(1.0);
    }
    Some(length > 1.0)
}

/// The way from the start, each direction as far as it is certain to bring something: Eq. (53), James and Stein's idea.
fn drawn(mean: &Mean, spread: &UserSpread) -> Option<Vec<f64>> {
    let dim = mean.way.len();
    let gain = 0.5 * kernel::dot(&mean.way, &mean.curvature.times_vector(&mean.way));
    if gain.is_nan() || gain <= 0.0 {
        return Some(mean.way.clone());
    }
    let mut losses = spread.each.clone();
    losses.scale(0.5 * spread.unsure);
    let certain = (gain - losses.trace()).max(FRUGAL.least_certain_gain * gain) / dim as f64;
    losses.add_to_diagonal(certain);
    let mut way = matrix::transposed_times(&mean.factor, &mean.way);
    way.iter_mut().for_each(|value| *value *= certain);
    let mut factor = losses.values().to_vec();
    if !matrix::cholesky(&mut factor, dim, 0.0) {
        return None;
    }
    matrix::cholesky_solve(&factor, &mut way);
    matrix::backward(&mean.factor, &mut way);
    Some(way)
}
