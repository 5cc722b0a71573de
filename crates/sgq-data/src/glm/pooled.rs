//! What sums over users cannot give, for data in one place.

use sgq::problem::Loss;

use super::{Family, Observations};

/// The deviance of the model that has an intercept and the offsets only, for any family. On the scale of the targets as
/// they are. None where a list does not fit the rows, or no row is used.
///
/// Over users it follows from the [closings](super::Closing) but for binomial and negative binomial with offsets, and for
/// Huber's loss, whose intercept takes an iteration.
pub fn null_deviance(data: &Observations<'_>) -> Option<f64> {
    if data.misfit().is_some() || data.used(data.all()).next().is_none() {
        return None;
    }
    let loss = Loss::from(data.family);
    // The losses are convex in the intercept a, and so their slope rises: a bracket, then Newton's steps inside it.
    let slope = |a: f64| {
        let each = data.used(data.all()).map(|row| {
            let (z, y) = (a + data.offset(row), data.targets[row]);
            let w = data.weight(row);
            [w * loss.slope(z, y), w * loss.curvature(z, y)]
        });
        each.fold([0.0, 0.0], |sum, row| [sum[0] + row[0], sum[1] + row[1]])
    };
    let deviance = |a: f64| {
        data.used(data.all())
            .map(|row| data.weight(row) * data.family.deviance(a + data.offset(row), data.targets[row]))
            .sum::<f64>()
    };
    let (mut low, mut high) = (-1.0, 1.0);
    // Where all counts are zero, or all levels the same, the intercept is infinite, and nothing is left of the deviance.
    const FAR: f64 = 1e12;
    while slope(low)[0] > 0.0 && low > -FAR {
        low *= 2.0;
    }
    while slope(high)[0] < 0.0 && high < FAR {
        high *= 2.0;
    }
    let mut a = 0.0;
    for _ in 0..200 {
        let [first, second] = slope(a);
        if first > 0.0 {
            high = a
        } else {
            low = a
        }
        let newton = a - first / second;
        let next = if newton > low && newton < high { newton } else { 0.5 * (low + high) };
        if (next - a).abs() <= 1e-15 * a.abs().max(1e-3) {
            break;
        }
        a = next;
    }
    Some(deviance(a)).filter(|value| value.is_finite())
}

/// The log-likelihood at these coefficients with this dispersion, for data in one place; with gamma's weights, which may
/// differ here. For gaussian give `Σ w r² / N` for the value of statsmodels and R. None for Huber's loss, and where a list
/// does not fit the rows.
pub fn log_likelihood(data: &Observations<'_>, point: &[f64], dispersion: f64) -> Option<f64> {
    if data.misfit().is_some() || point.len() != data.rows.dim() {
        return None;
    }
    let each = data.used(data.all()).map(|row| {
        let (y, w) = (data.targets[row], data.weight(row));
        let z = data.rows.dot(row, point) + data.offset(row);
        match data.family {
            Family::Gaussian => {
                let variance = dispersion / w;
                Some(-0.5 * ((y - z) * (y - z) / variance + variance.ln() + std::f64::consts::TAU.ln()))
            }
            Family::Gamma => {
                let (shape, ratio) = (w / dispersion, y * (-z).exp());
                Some(shape * (shape * ratio).ln() - shape * ratio - libm::lgamma(shape) - y.ln())
            }
            family => family.log_likelihood(z, y).map(|value| w * value),
        }
    });
    each.sum()
}
