//! Standard errors, tests and intervals from every user's closing.

use serde::{Deserialize, Serialize};

use super::{
    Closing, Collinear, Family, InferenceError, OriginalScale, Sums,
    collinear::INFORMATION_TOLERANCE,
    matrix::{self, Cholesky},
    normal::{two_sided_p, two_sided_quantile},
};

/// Which standard errors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum StdErrors {
    /// As if the family were the truth, and rows independent: Eq. (6) of the [module](super).
    #[default]
    #[serde(rename = "model")]
    Model,
    /// Whatever the distribution, with rows of a user depending on each other in any way, and users independent: Eq. (7).
    #[serde(rename = "clustered by user")]
    Clustered,
}

impl StdErrors {
    /// `model`, or `clustered by user`.
    pub fn in_words(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Clustered => "clustered by user",
        }
    }
}

/// An L2 penalty.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Penalty {
    /// `Λ`, where the sum of the rows' weighted losses has `(Λ/2) ‖β‖²` added. For a
    /// [`Regression`](sgq::problem::Regression) with penalty `λ` and users that count by their rows it is `λ Σ w`.
    pub of_sum: f64,
    /// Whether the first coefficient has none.
    pub free_intercept: bool,
}

impl Penalty {
    /// Adds it to a packed information matrix.
    pub(super) fn add_to(self, information: &mut [f64], dim: usize, factor: f64) {
        for k in usize::from(self.free_intercept)..dim {
            information[matrix::packed_len(k) + k] += factor * self.of_sum;
        }
    }
}

/// A fit whose coefficients are known.
#[derive(Clone, Debug)]
pub struct Fit<'a> {
    /// The family.
    pub family: Family,
    /// The coefficients' names.
    pub names: &'a [String],
    /// The coefficients of the encoded columns.
    pub point: &'a [f64],
    /// The way to the original columns.
    pub scale: OriginalScale,
    /// The penalty it was made with.
    pub penalty: Penalty,
    /// What a user's losses were multiplied with in the objective, where not all rows counted by their weights alone:
    /// `c_i` in `Σ_i c_i Σ_r w_r ℓ_r + (Λ/2) ‖β‖²`. For users that count the same whatever their rows, `c_i = 1/Σ w` of the user.
    pub user_factors: Option<&'a [f64]>,
    /// Which standard errors are wanted.
    pub std_errors: StdErrors,
    /// How much the intervals cover.
    pub level: f64,
}

impl<'a> Fit<'a> {
    /// Without a penalty, each row counting by its weight; standard errors of the model, and intervals of 95%.
    pub fn new(family: Family, names: &'a [String], point: &'a [f64], scale: OriginalScale) -> Self {
        Self {
            family,
            names,
            point,
            scale,
            penalty: Penalty::default(),
            user_factors: None,
            std_errors: StdErrors::Model,
            level: 0.95,
        }
    }

    /// How many coefficients, `K`.
    pub(super) fn dim(&self) -> usize {
        self.point.len()
    }

    pub(super) fn factor(&self, user: usize) -> f64 {
        self.user_factors.map_or(1.0, |factors| factors[user])
    }

    pub(super) fn check(&self, users: usize) -> Result<(), InferenceError> {
        let dim = self.dim();
        let lengths = [
            ("names of coefficients", self.names.len(), dim),
            ("coefficients of the original columns", self.scale.dim(), dim),
            ("factors of users", self.user_factors.map_or(users, <[f64]>::len), users),
        ];
        if let Some((what, found, expected)) = lengths.into_iter().find(|(_, found, expected)| found != expected) {
            return Err(InferenceError::Length { what, found, expected });
        }
        let level_fits = self.level > 0.0 && self.level < 1.0;
        let penalty_fits = self.penalty.of_sum >= 0.0 && self.penalty.of_sum.is_finite();
        let positive = |value: &f64| *value > 0.0 && value.is_finite();
        let factor = self.user_factors.and_then(|factors| factors.iter().find(|factor| !positive(factor)));
        let coefficient = self.point.iter().find(|value| !value.is_finite());
        let numbers = [
            ("level", self.level, level_fits, "between 0 and 1, such as 0.95"),
            ("penalty", self.penalty.of_sum, penalty_fits, "finite, and not negative"),
            ("factor of a user", factor.copied().unwrap_or(1.0), factor.is_none(), "positive and finite"),
            ("coefficient", coefficient.copied().unwrap_or(0.0), coefficient.is_none(), "finite"),
        ];
        match numbers.into_iter().find(|(_, _, fits, _)| !fits) {
            Some((what, value, _, expected)) => Err(InferenceError::Number { what, value, expected }),
            None => Ok(()),
        }
    }

    /// The factor of a packed matrix that must not be singular.
    pub(super) fn definite(&self, packed: &[f64]) -> Result<Cholesky, InferenceError> {
        let factor = Cholesky::new(packed, self.dim(), INFORMATION_TOLERANCE);
        match factor.null_vectors().first() {
            Some(null) => Err(InferenceError::Collinear(Collinear::named(null, packed, self.names, &self.scale))),
            None => Ok(factor),
        }
    }
}

/// One line of the table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Coefficient {
    /// Its name.
    pub name: String,
    /// The estimate, on the original scale.
    pub estimate: f64,
    /// Its standard error.
    pub std_error: f64,
    /// The estimate in standard errors.
    pub z: f64,
    /// The two-sided probability, normal, of a `z` this large where the coefficient is 0.
    pub p: f64,
    /// The lower end of the interval.
    pub lower: f64,
    /// The upper end of the interval.
    pub upper: f64,
    /// `e^estimate`, [called](Family::ratio_name) an odds ratio, a rate ratio, or a ratio of means; none for the intercept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio: Option<f64>,
    /// `e^lower`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio_lower: Option<f64>,
    /// `e^upper`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio_upper: Option<f64>,
}

/// A fit's coefficients with their standard errors, and how well it fits.
///
/// Targets are on their original scale here. The deviance, the log-likelihood and Akaike's criterion are of the likelihood
/// without a penalty, with each row counting by its weight alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Inference {
    /// The table.
    pub coefficients: Vec<Coefficient>,
    /// The family.
    pub family: Family,
    /// What the standard errors are: `model` or `clustered by user`, and whether they are approximate.
    pub std_error_kind: String,
    /// How much the intervals cover.
    pub level: f64,
    /// The deviance; for Huber's loss twice the loss.
    pub deviance: Option<f64>,
    /// The deviance of the model with an intercept and the offsets only, where it follows from sums; else see
    /// [`null_deviance`](super::null_deviance).
    pub null_deviance: Option<f64>,
    /// Akaike's criterion, `−2 log-likelihood + 2K`, as in statsmodels' GLM. R counts the dispersion as a coefficient too: its
    /// value is 2 larger for gaussian. For gamma R also takes deviance/N for the dispersion in it.
    pub aic: Option<f64>,
    /// The log-likelihood.
    pub log_likelihood: Option<f64>,
    /// The dispersion `φ`, Eq. (5); 1 where the family fixes it. For Huber's loss, what `(Σ w x xᵀ)⁻¹` is multiplied with.
    pub dispersion: Option<f64>,
    /// `N`: rows used.
    pub rows: Option<u64>,
    /// Rows left out because a value is missing.
    pub rows_missing: Option<u64>,
    /// `G`.
    pub users: usize,
    /// `N − K`.
    pub df_residual: Option<u64>,
    /// What a reader must know about the numbers.
    pub notes: Vec<String>,
    /// The covariance of the coefficients on the original scale, the lower half row by row.
    #[serde(skip)]
    pub covariance: Vec<f64>,
}

/// Below this many users, clustered standard errors tend to be too small (Cameron & Miller 2015, section VI).
const FEW_CLUSTERS: usize = 20;

/// The same below this many users a coefficient: the matrix between the bread has at most rank `G`.
const FEW_CLUSTERS_PER_COEFFICIENT: usize = 2;

impl Inference {
    /// From every user's closing at the final point.
    pub fn from_closings(fit: &Fit<'_>, closings: &[Closing]) -> Result<Self, InferenceError> {
        fit.check(closings.len())?;
        let (dim, family) = (fit.dim(), fit.family);
        for (user, closing) in closings.iter().enumerate() {
            closing.check(dim, family).map_err(|source| InferenceError::Closing { user, source })?;
        }
        if closings.is_empty() {
            return Err(InferenceError::NoUsers);
        }
        let total = Closing::sum(closings).ok_or(InferenceError::Mixed)?;
        let freedom = total.rows.checked_sub(dim as u64).filter(|freedom| *freedom > 0);
        let no_freedom = InferenceError::NoFreedom { rows: total.rows, coefficients: dim };
        let needs_freedom = !family.has_fixed_dispersion() || fit.std_errors == StdErrors::Clustered;
        if needs_freedom && freedom.is_none() {
            return Err(no_freedom);
        }
        let freedom = freedom.unwrap_or(0);
        if let Sums::Huber { unclipped, .. } = &total.sums
            && *unclipped <= 0.0
        {
            let what = "weight of the rows within Huber's delta";
            return Err(InferenceError::Number { what, value: *unclipped, expected: "positive: give a larger delta" });
        }
        let (dispersion, bend) = dispersion(family, &total, freedom as f64, dim as f64);
        let covariance = match fit.std_errors {
            StdErrors::Model => model(fit, closings, dispersion, bend)?,
            StdErrors::Clustered => clustered(fit, closings, total.rows as f64)?,
        };
        let unit = if family.scales_targets() { fit.scale.target().scale } else { 1.0 };
        let square = unit * unit;
        let rows = total.rows as f64;
        let log_likelihood = total.sums.log_likelihood(rows, total.weight, total.deviance, dispersion);
        // A density of y/s is s times that of y.
        let log_likelihood = log_likelihood.map(|value| value - rows * unit.ln()).filter(|value| value.is_finite());
        let mut inference = Self::finish(fit, &covariance, closings.len());
        inference.deviance = Some(total.deviance * square);
        inference.null_deviance = total.sums.null_deviance(family, total.weight).map(|value| value * square);
        inference.log_likelihood = log_likelihood;
        inference.aic = log_likelihood.map(|value| -2.0 * value + 2.0 * dim as f64);
        // The information is of columns that see scaled targets: the map has the unit, and the dispersion must too.
        inference.dispersion = Some(dispersion * square);
        inference.rows = Some(total.rows);
        inference.rows_missing = Some(total.rows_missing);
        inference.df_residual = Some(freedom);
        Ok(inference)
    }

    /// The table of coefficients with this covariance, packed, on the encoded scale; how well it fits is left out.
    pub(super) fn finish(fit: &Fit<'_>, covariance: &[f64], users: usize) -> Self {
        let covariance = fit.scale.covariance(covariance);
        let quantile = two_sided_quantile(fit.level);
        let line = |(k, estimate): (usize, f64)| {
            let std_error = matrix::at(&covariance, k, k).max(0.0).sqrt();
            let z = estimate / std_error;
            let (lower, upper) = (estimate - quantile * std_error, estimate + quantile * std_error);
            let shows = fit.family.ratio_name().is_some() && !(k == 0 && fit.scale.has_intercept());
            let ratio = |value: f64| shows.then(|| value.exp());
            Coefficient {
                name: fit.names[k].clone(),
                estimate,
                std_error,
                z,
                p: two_sided_p(z),
                lower,
                upper,
                ratio: ratio(estimate),
                ratio_lower: ratio(lower),
                ratio_upper: ratio(upper),
            }
        };
        Self {
            coefficients: fit.scale.coefficients(fit.point).into_iter().enumerate().map(line).collect(),
            family: fit.family,
            std_error_kind: fit.std_errors.in_words().to_owned(),
            level: fit.level,
            deviance: None,
            null_deviance: None,
            aic: None,
            log_likelihood: None,
            dispersion: fit.family.has_fixed_dispersion().then_some(1.0),
            rows: None,
            rows_missing: None,
            users,
            df_residual: None,
            notes: notes(fit, users),
            covariance,
        }
    }
}

fn notes(fit: &Fit<'_>, users: usize) -> Vec<String> {
    let mut notes = Vec::new();
    if fit.penalty.of_sum > 0.0 {
        notes.push(
            "the L2 penalty shrinks the coefficients: standard errors are those of the penalised estimator, and do not \
             include its bias; deviance and log-likelihood are without the penalty"
                .into(),
        );
    }
    if fit.user_factors.is_some() {
        notes.push(
            "rows counted more at some users than at others: deviance and log-likelihood are with every row counting by \
             its weight, and could be better at other coefficients"
                .into(),
        );
    }
    if fit.std_errors == StdErrors::Clustered && users < FEW_CLUSTERS.max(FEW_CLUSTERS_PER_COEFFICIENT * fit.dim()) {
        notes.push(format!(
            "{users} users are few for standard errors clustered by user, which then tend to be too small"
        ));
    }
    if matches!(fit.family, Family::Huber { .. }) {
        notes.push("the deviance is twice Huber's loss, which is no likelihood".into());
    }
    notes
}

/// What multiplies the inverse of the expected information, and the mean `m` of `ψ'` for Huber's loss, which the penalty is
/// compared with.
///
/// Huber's is `k² [Σ w ψ² / (N − K)] / m²` with `m = Σ w ψ' / Σ w` and `k = 1 + (K/N) (1 − m)/m` (Huber 1981, section 7.6):
/// "H1" of statsmodels' `RLM` with its scale and norm such that they clip at the same residuals. R's `rlm` has the same but
/// for `N − 1` in the variance of `ψ'`.
fn dispersion(family: Family, total: &Closing, freedom: f64, coefficients: f64) -> (f64, f64) {
    match &total.sums {
        Sums::Huber { score_squares, unclipped } => {
            let mean = unclipped / total.weight;
            let k = 1.0 + coefficients / total.rows as f64 * (1.0 - mean) / mean;
            (k * k * score_squares / freedom / (mean * mean), mean)
        }
        _ if family.has_fixed_dispersion() => (1.0, 1.0),
        _ => (total.pearson / freedom, 1.0),
    }
}

/// Eq. (6), and with a penalty `P` or factors of users `φ B⁻¹ (Σ c_i² I_i) B⁻¹` with `B = Σ c_i I_i + P`: the covariance of
/// the estimator that solves `Σ c_i s_i + P β = 0`, where the model holds.
fn model(fit: &Fit<'_>, closings: &[Closing], dispersion: f64, bend: f64) -> Result<Vec<f64>, InferenceError> {
    let dim = fit.dim();
    let mut bread = vec![0.0; matrix::packed_len(dim)];
    let mut meat = bread.clone();
    for (user, closing) in closings.iter().enumerate() {
        let factor = fit.factor(user);
        matrix::add(&mut bread, factor, &closing.information);
        matrix::add(&mut meat, factor * factor, &closing.information);
    }
    fit.penalty.add_to(&mut bread, dim, 1.0 / bend);
    let inverse = fit.definite(&bread)?.inverse();
    let plain = fit.penalty.of_sum == 0.0 && fit.user_factors.is_none();
    let covariance = if plain { inverse } else { matrix::sandwich(&inverse, &meat, dim) };
    Ok(covariance.iter().map(|value| value * dispersion).collect())
}

/// Eq. (7), with `c_i s_i` for the scores and `Σ c_i J_i + P` for the information where there are factors and a penalty.
/// statsmodels has the observed information there, and so has this; R's `sandwich` has the expected one.
fn clustered(fit: &Fit<'_>, closings: &[Closing], rows: f64) -> Result<Vec<f64>, InferenceError> {
    let dim = fit.dim();
    if closings.len() < 2 {
        return Err(InferenceError::OneUser);
    }
    let bread = penalised_information(fit, closings);
    let mut meat = vec![0.0; bread.len()];
    for (user, closing) in closings.iter().enumerate() {
        matrix::add_square(&mut meat, fit.factor(user).powi(2), &closing.score);
    }
    let inverse = fit.definite(&bread)?.inverse();
    let correction = correction(closings.len() as f64, Some(rows), dim as f64);
    Ok(matrix::sandwich(&inverse, &meat, dim).iter().map(|value| value * correction).collect())
}

impl Fit<'_> {
    /// `β − (Σ c_i J_i + P)⁻¹ (Σ c_i s_i + P β)`: a step of Newton's method from the point where the closings were made.
    pub(super) fn newton_step(&self, closings: &[Closing]) -> Result<Vec<f64>, InferenceError> {
        let mut slope = vec![0.0; self.dim()];
        for (user, closing) in closings.iter().enumerate() {
            matrix::add(&mut slope, self.factor(user), &closing.score);
        }
        let free = usize::from(self.penalty.free_intercept);
        for (slope, coefficient) in slope.iter_mut().zip(self.point).skip(free) {
            *slope += self.penalty.of_sum * coefficient;
        }
        let step = self.definite(&penalised_information(self, closings))?.solve(&slope);
        Ok(self.point.iter().zip(step).map(|(now, step)| now - step).collect())
    }
}

/// `Σ c_i J_i + P`.
pub(super) fn penalised_information(fit: &Fit<'_>, closings: &[Closing]) -> Vec<f64> {
    let mut sum = vec![0.0; matrix::packed_len(fit.dim())];
    for (user, closing) in closings.iter().enumerate() {
        matrix::add(&mut sum, fit.factor(user), closing.observed());
    }
    fit.penalty.add_to(&mut sum, fit.dim(), 1.0);
    sum
}

/// `G/(G−1) · (N−1)/(N−K)`, as in Stata and statsmodels; without the second factor where `N` is not known.
pub(super) fn correction(users: f64, rows: Option<f64>, coefficients: f64) -> f64 {
    users / (users - 1.0) * rows.map_or(1.0, |rows| (rows - 1.0) / (rows - coefficients))
}
