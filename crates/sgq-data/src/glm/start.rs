//! Where a fit begins.

use super::{Family, Observations};

/// The coefficients of the null model, on the encoded scale: an intercept that fits the mean of the targets, and nothing else. A fit
/// that begins there has a first gap of half the null deviance less the residual one. All zeros where there is no
/// intercept, or no such mean.
///
/// With offsets it is the null model's for counts and for gamma, and close to it for binomial targets.
///
/// ```
/// use sgq::problem::Rows;
/// use sgq_data::glm::{Family, Observations, null_point};
///
/// let rows = Rows::Dense { dim: 2, values: vec![1., 5., 1., 2., 1., 9., 1., 4.] };
/// let targets = [-1., 1., -1., -1.];
/// let data = Observations { rows: &rows, targets: &targets, weights: None, offsets: None, family: Family::Binomial };
/// assert_eq!(null_point(&data, true), [(1.0f64 / 3.0).ln(), 0.0]);
/// ```
pub fn null_point(data: &Observations<'_>, has_intercept: bool) -> Vec<f64> {
    let mut point = vec![0.0; data.rows.dim()];
    if !has_intercept {
        return point;
    }
    let mean = |of: &dyn Fn(f64, f64) -> f64| {
        let (mut sum, mut weight) = (0.0, 0.0);
        for row in data.all() {
            sum += data.weight(row) * of(data.targets[row], data.offset(row));
            weight += data.weight(row);
        }
        sum / weight
    };
    let intercept = match data.family {
        Family::Gaussian | Family::Huber { .. } => mean(&|y, offset| y - offset),
        Family::Binomial => {
            let p = 0.5 * (1.0 + mean(&|y, _| y));
            (p / (1.0 - p)).ln() - mean(&|_, offset| offset)
        }
        Family::Poisson | Family::NegativeBinomial { .. } => (mean(&|y, _| y) / mean(&|_, offset| offset.exp())).ln(),
        Family::Gamma => mean(&|y, offset| y * (-offset).exp()).ln(),
    };
    if intercept.is_finite() {
        point[0] = intercept;
    }
    point
}

#[cfg(test)]
mod tests {
    use sgq::{
        Problem as _,
        problem::{Regression, Rows},
    };

    use super::*;

    /// It is the optimum of the intercept alone.
    #[test]
    fn it_is_the_null_model() {
        let rows = Rows::Dense { dim: 1, values: vec![1.0; 5] };
        let offsets = [0.0, 0.7, -0.2, 0.1, 0.4];
        let weights = [1.0, 2.0, 1.0, 0.5, 3.0];
        for (family, targets, has_offsets) in [
            (Family::Gaussian, [1.0, 2.0, -1.0, 0.5, 0.0], false),
            (Family::Binomial, [1.0, -1.0, -1.0, 1.0, -1.0], false),
            (Family::Poisson, [1.0, 2.0, 0.0, 5.0, 1.0], true),
            (Family::NegativeBinomial { theta: 2.0 }, [1.0, 2.0, 0.0, 5.0, 1.0], false),
            (Family::Gamma, [1.0, 2.0, 0.1, 5.0, 1.0], true),
        ] {
            let given = has_offsets.then_some(&offsets[..]);
            let data = Observations { rows: &rows, targets: &targets, weights: Some(&weights), offsets: given, family };
            let builder = Regression::builder(rows.clone(), targets.to_vec(), &[0, 5], family.into());
            let builder = builder.weights(weights.to_vec()).offsets(given.unwrap_or(&[0.0; 5]).to_vec());
            let best = builder.build().unwrap().optimum().unwrap().point[0];
            let found = null_point(&data, true)[0];
            assert!((found - best).abs() < 1e-9, "{family}: {found} and {best}");
        }
    }

    #[test]
    fn what_has_no_mean_begins_at_zero() {
        let rows = Rows::Dense { dim: 1, values: vec![1.0; 2] };
        let data =
            Observations { rows: &rows, targets: &[0.0, 0.0], weights: None, offsets: None, family: Family::Poisson };
        assert_eq!(null_point(&data, true), [0.0]);
        assert_eq!(null_point(&Observations { targets: &[3.0, 1.0], ..data }, false), [0.0]);
    }
}
