//! Standard errors from what a fit has learned on its way, without a closing question.

use super::{
    Fit, Inference, InferenceError, StdErrors,
    family::Family,
    inference::correction,
    matrix::{self, Cholesky},
};

/// What is known of the users without asking them again.
#[derive(Clone, Copy, Debug)]
pub struct Learned<'a> {
    /// `∇²f`, row-major, of the mean `f` over users that was minimised, the penalty included: as far as it was learned.
    pub hessian: &'a [f64],
    /// Each user's last gradient `∇f_i`, at whatever point it was asked. `f = (1/G) Σ_i f_i`.
    pub gradients: &'a [Vec<f64>],
    /// `Σ w` over all rows of all users: `N`, where rows have no weights. For the model's standard errors.
    pub weight: Option<f64>,
    /// `N`.
    pub rows: Option<u64>,
    /// `φ` on the encoded scale, for families that do not fix it. For squares it is `2 Σ w loss / (N − K)`.
    pub dispersion: Option<f64>,
}

impl Learned<'_> {
    /// The packed Hessian, where all lengths fit and all numbers are finite.
    pub(super) fn packed(&self, fit: &Fit<'_>) -> Result<Vec<f64>, InferenceError> {
        fit.check(self.gradients.len())?;
        let dim = fit.dim();
        if self.gradients.is_empty() {
            return Err(InferenceError::NoUsers);
        }
        let gradients = self.gradients.iter().map(|gradient| ("numbers in a gradient", gradient.as_slice(), dim));
        for (what, list, expected) in gradients.chain([("numbers in the Hessian", self.hessian, dim * dim)]) {
            if list.len() != expected {
                return Err(InferenceError::Length { what, found: list.len(), expected });
            }
            if let Some(value) = list.iter().find(|value| !value.is_finite()) {
                let what = if expected == dim { "gradient" } else { "Hessian" };
                return Err(InferenceError::Number { what, value: *value, expected: "finite" });
            }
        }
        Ok(matrix::pack(self.hessian, dim))
    }

    /// `g_i − ḡ`. At the optimum `ḡ = 0`; gradients from different points do not quite add up to that.
    pub(super) fn centred(&self, dim: usize) -> Vec<Vec<f64>> {
        let users = self.gradients.len() as f64;
        let mut mean = vec![0.0; dim];
        self.gradients.iter().for_each(|gradient| matrix::add(&mut mean, 1.0 / users, gradient));
        let centred = |gradient: &Vec<f64>| gradient.iter().zip(&mean).map(|(g, m)| g - m).collect();
        self.gradients.iter().map(centred).collect()
    }
}

impl Inference {
    /// Approximate standard errors, from a learned Hessian and the users' last gradients. Deviance and likelihood are not known.
    ///
    /// - clustered by user: `c H⁻¹ [Σ_i (g_i − ḡ)(g_i − ḡ)ᵀ / G²] H⁻¹`, Eq. (7) in terms of the mean over users, with `c`
    ///   without its factor for rows where `N` is not known;
    /// - of the model: `φ H⁻¹ (H − Λ/W) H⁻¹ / W` for a total weight `W`, Eq. (6).
    ///
    /// [`Fit::user_factors`] must be none for the model's: `f` then is the mean over rows.
    pub fn approximate(fit: &Fit<'_>, learned: &Learned<'_>) -> Result<Self, InferenceError> {
        let (dim, users) = (fit.dim(), learned.gradients.len());
        let hessian = learned.packed(fit)?;
        let inverse = fit.definite(&hessian)?;
        let covariance = match fit.std_errors {
            StdErrors::Model => approximate_model(fit, learned, &hessian, &inverse)?,
            StdErrors::Clustered => {
                if users < 2 {
                    return Err(InferenceError::OneUser);
                }
                if let Some(rows) = learned.rows.filter(|rows| *rows <= dim as u64) {
                    return Err(InferenceError::NoFreedom { rows, coefficients: dim });
                }
                let mut meat = vec![0.0; hessian.len()];
                for gradient in learned.centred(dim) {
                    matrix::add_square(&mut meat, (users as f64).powi(-2), &gradient);
                }
                let correction = correction(users as f64, learned.rows.map(|rows| rows as f64), dim as f64);
                let covariance = matrix::sandwich(&inverse.inverse(), &meat, dim);
                covariance.iter().map(|value| value * correction).collect()
            }
        };
        let mut inference = Self::finish(fit, &covariance, users);
        inference.std_error_kind.push_str(" (approximate)");
        inference.notes.push(
            "standard errors are approximate: from the curvature that the fit has learned, not from the users' closings"
                .into(),
        );
        inference.rows = learned.rows;
        inference.df_residual = learned.rows.and_then(|rows| rows.checked_sub(dim as u64));
        let unit = if fit.family.scales_targets() { fit.scale.target().scale } else { 1.0 };
        if !fit.family.has_fixed_dispersion() {
            inference.dispersion = learned.dispersion.map(|value| value * unit * unit);
        }
        Ok(inference)
    }
}

fn approximate_model(
    fit: &Fit<'_>,
    learned: &Learned<'_>,
    hessian: &[f64],
    factor: &Cholesky,
) -> Result<Vec<f64>, InferenceError> {
    let family = fit.family;
    // The Hessian of Huber's loss has no information of the clipped rows, which the model's covariance needs.
    let known = if matches!(family, Family::Huber { .. }) { None } else { learned.dispersion };
    let dispersion = if family.has_fixed_dispersion() { Some(1.0) } else { known };
    let dispersion = dispersion.ok_or(InferenceError::NoDispersion { family })?;
    let weight = learned.weight.unwrap_or(f64::NAN);
    for (what, value) in [("dispersion", dispersion), ("total weight of the rows", weight)] {
        if !(value > 0.0 && value.is_finite()) {
            return Err(InferenceError::Number { what, value, expected: "positive and finite" });
        }
    }
    if fit.user_factors.is_some() {
        let (what, expected) = ("number of factors of users", "0 for the model's approximate standard errors");
        return Err(InferenceError::Number { what, value: learned.gradients.len() as f64, expected });
    }
    let inverse = factor.inverse();
    let mut meat = hessian.to_vec();
    fit.penalty.add_to(&mut meat, fit.dim(), -1.0 / weight);
    let penalised = fit.penalty.of_sum > 0.0;
    let covariance = if penalised { matrix::sandwich(&inverse, &meat, fit.dim()) } else { inverse };
    Ok(covariance.iter().map(|value| value * dispersion / weight).collect())
}
