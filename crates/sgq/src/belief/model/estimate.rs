//! The mean gradient, and how far to trust it.

use super::View;
use crate::kernel;

/// The mean gradient at the weighted mean of the points, and the part of the users' spread that it is unsure by.
pub(super) struct Estimate {
    pub anchor: Vec<f64>,
    pub gradient: Vec<f64>,
    pub unsure: f64,
}

impl Estimate {
    /// From everybody's answer, carried to the mean: the best linear unbiased prediction, where an answer counts less the more its
    /// user's own curvature may have changed it on the way. `spread` is `tr C`, `own_curvature` is `h² d`, and `shared` multiplies
    /// by `B`.
    pub fn new(view: &View<'_>, spread: f64, own_curvature: f64, shared: impl FnOnce(&[f64]) -> Vec<f64>) -> Self {
        let dim = view.point.len();
        let (mut total, mut squares, mut told) = (0.0, 0.0, 0.0);
        let (mut anchor, mut gradient) = (vec![0.0; dim], vec![0.0; dim]);
        let mut weights = Vec::with_capacity(view.answers.count());
        for (user, answer) in view.answers.iter() {
            let size = view.sizes[user];
            let carried = own_curvature * answer.unexplained(view.point);
            let weight = size * spread / (spread + carried);
            total += weight;
            squares += weight * weight * (1.0 + carried / spread);
            told += size * weight;
            kernel::add_scaled(&mut anchor, weight, &answer.point);
            kernel::add_scaled(&mut gradient, weight / size, &answer.gradient);
            weights.push(weight);
        }
        anchor.iter_mut().for_each(|value| *value /= total);
        let (mut along_changes, mut along_directions) = (vec![0.0; dim], vec![0.0; dim]);
        for ((_, answer), weight) in view.answers.iter().zip(&weights) {
            if let Some(secant) = &answer.secant {
                let way = weight * secant.along(&answer.point, &anchor);
                kernel::add_scaled(&mut along_changes, way, &secant.change);
                kernel::add_scaled(&mut along_directions, way, &secant.direction);
            }
        }
        let explained = shared(&along_directions);
        for (k, gradient) in gradient.iter_mut().enumerate() {
            *gradient = (*gradient + along_changes[k] - explained[k]) / total;
        }
        Self { anchor, gradient, unsure: unsure(view, total, told, total * total / squares) }
    }
}

/// Part of the users' spread that the mean gradient is unsure by. What is not told by a user's own answer, none of it where
/// nobody asked and less of it the further it was carried, is predicted from the others: `total = Σ w_i` and
/// `told = Σ s_i w_i` say how much is. With users of equal size and fresh answers it is `1/k − 1/n`, and a little more while
/// few were asked.
fn unsure(view: &View<'_>, total: f64, told: f64, effective: f64) -> f64 {
    let missing = (1.0 - total / view.users).max(0.0);
    let untold = (view.square_sizes - told).max(0.0) / (view.users * view.users);
    (untold + missing * missing / effective) * (1.0 + 1.0 / effective)
}

/// What each direction brings for certain, where `gain` is what the whole way would bring and `losses` what the estimate's error
/// costs in all directions: James and Stein's idea.
pub(super) fn certain_gain(gain: f64, losses: f64, dim: usize) -> f64 {
    let dim = dim as f64;
    (gain - (1.0 + (2.0 / dim).sqrt()) * losses).max(0.05 * gain) / dim
}

/// How much of the way to go in a direction that is certain to bring so much, and costs so much by its error.
pub(super) fn part_of_the_way(certain: f64, loss: f64) -> f64 {
    if certain > 0.0 { certain / (certain + loss) } else { 0.0 }
}
