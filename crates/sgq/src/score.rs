//! The paper's score: how much the objective must fall if a user's gradient is stepped along.

/// Expected improvement of a step along one user's gradient, Eq. (3) of the paper (Eq. (7) with surrogates):
///
/// `EI_i = α⟨∇f, ∇f_i⟩ − (α² L / 2) ‖∇f_i‖²`
///
/// By the descent lemma the objective falls by at least this much. `inner_product` is `⟨∇f, ∇f_i⟩` and
/// `gradient_norm` is `‖∇f_i‖`; with the last known gradients in their place it is the surrogate `ẼI_i`.
///
/// ```
/// // α = 0.1, L = 2, ∇f = 10, ∇f_i = 6:  0.1·60 − 0.01·36
/// let improvement = sgq::expected_improvement(0.1, 2.0, 60.0, 6.0);
/// assert!((improvement - 5.64).abs() < 1e-12);
/// ```
pub fn expected_improvement(step_size: f64, smoothness: f64, inner_product: f64, gradient_norm: f64) -> f64 {
    step_size * inner_product - 0.5 * step_size * step_size * smoothness * gradient_norm * gradient_norm
}

/// How far the surrogate may be off, Lemma 2, Eq. (8): `|EI_i − ẼI_i| ≤ r_i` with
///
/// `r_i = (α‖ḡ‖ + α² L‖g̃_i‖) ε_i + α‖g̃_i‖ ε̄ + α ε_i ε̄ + (α² L / 2) ε_i²`
///
/// `mean_norm` is `‖ḡ‖`, `gradient_norm` is `‖g̃_i‖`, `error` is `ε_i = L_i ‖x_τi − x‖` and `mean_error` is `ε̄`.
pub fn bonus(step_size: f64, smoothness: f64, mean_norm: f64, gradient_norm: f64, error: f64, mean_error: f64) -> f64 {
    let curvature = step_size * step_size * smoothness;
    (step_size * mean_norm + curvature * gradient_norm) * error
        + step_size * gradient_norm * mean_error
        + step_size * error * mean_error
        + 0.5 * curvature * error * error
}

/// What a step along one user's gradient may improve if its size is the best one, up to a factor that all users share.
///
/// At its best step size `⟨∇f, ∇f_i⟩ / (L ‖∇f_i‖²)` the expected improvement, Eq. (3), is `⟨∇f, ∇f_i⟩² / (2L ‖∇f_i‖²)`: the
/// more, the larger `⟨∇f, ∇f_i⟩ / ‖∇f_i‖` is. Of that inner product the surrogates know `⟨ḡ, g̃_i⟩`, and by the first steps of
/// Lemma 2's proof they are off by at most `s_i = ‖ḡ‖ ε_i + ‖g̃_i‖ ε̄ + ε_i ε̄`. With the weight `w` of that bonus the score is
///
/// `(⟨ḡ, g̃_i⟩ + w·s_i) / ‖g̃_i‖`
///
/// and infinite where the last gradient was zero, but need not be any more.
pub fn best_improvement(
    inner_product: f64,
    mean_norm: f64,
    gradient_norm: f64,
    error: f64,
    mean_error: f64,
    bonus_weight: f64,
) -> f64 {
    let bonus = mean_norm * error + gradient_norm * mean_error + error * mean_error;
    let most = inner_product + bonus_weight * bonus;
    // A user without a gradient, and without a reason to have one by now, promises nothing; it is no division by zero.
    if most == 0.0 { 0.0 } else { most / gradient_norm }
}

/// What the scores of all users have in common at one step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scoring {
    pub(crate) step_size: f64,
    /// `L`: the paper's mean `L_i`, or f's own.
    pub(crate) smoothness: f64,
    pub(crate) bonus_weight: f64,
    /// `‖ḡ‖`.
    pub(crate) mean_norm: f64,
}

impl Scoring {
    /// `ẼI_i + w·r_i`.
    #[inline(always)]
    pub(crate) fn score(&self, inner_product: f64, gradient_norm: f64, error: f64, mean_error: f64) -> f64 {
        let Self { step_size, smoothness, bonus_weight, mean_norm } = *self;
        let surrogate = expected_improvement(step_size, smoothness, inner_product, gradient_norm);
        surrogate + bonus_weight * bonus(step_size, smoothness, mean_norm, gradient_norm, error, mean_error)
    }

    /// The same where the step size is the best one.
    #[inline(always)]
    pub(crate) fn promise(&self, inner_product: f64, gradient_norm: f64, error: f64, mean_error: f64) -> f64 {
        best_improvement(inner_product, self.mean_norm, gradient_norm, error, mean_error, self.bonus_weight)
    }
}
