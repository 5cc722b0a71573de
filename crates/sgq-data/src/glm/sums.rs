//! Sums over rows from which the log-likelihood and the null deviance follow.

use serde::{Deserialize, Serialize};

use super::{Family, Observations, family::y_log};

/// What a family needs besides deviance and Pearson's statistic, and nothing else. `μ⁰ = e^{a+o}` or `a + o` is the mean of
/// the null model, which has an intercept `a` only.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Sums {
    /// Null deviance `Σ w (y − o − a)²`, with `a` the weighted mean of `y − o`.
    Gaussian {
        /// `Σ ln w`.
        log_weights: f64,
        /// `Σ w (y − o)`.
        first: f64,
        /// `Σ w (y − o)²`.
        second: f64,
    },
    /// Null deviance `−2 [P ln(P/W) + (W − P) ln(1 − P/W)]`, where there are no offsets.
    Binomial {
        /// `P`, the weight of rows at the positive level.
        positives: Option<f64>,
    },
    /// Null deviance `2 [Σ w y (ln y − o) − a Σ w y]`, with `e^a = Σ w y / Σ w e^o`.
    Poisson {
        /// `Σ w (y z − e^z − ln y!)`.
        log_likelihood: f64,
        /// `Σ w y`.
        total: f64,
        /// `Σ w e^o`.
        exposure: f64,
        /// `Σ w y (ln y − o)`.
        log_total: f64,
    },
    /// Null deviance `2 Σ w [y ln(y/m) − (y + θ) ln((y + θ)/(m + θ))]`, with `m` the weighted mean, where there are no offsets.
    NegativeBinomial {
        /// `Σ w ln P(y)`.
        log_likelihood: f64,
        /// `Σ w y`, and `Σ w [y ln y − (y + θ) ln(y + θ)]`.
        null: Option<[f64; 2]>,
    },
    /// Null deviance `2 [a Σ w − Σ w (ln y − o)]`, with `e^a = Σ w y e^{−o} / Σ w`. The log-likelihood needs every row's
    /// weight once the dispersion is known, and so is there only where they are all the same.
    Gamma {
        /// `Σ ln y`.
        log_targets: f64,
        /// The weight of every row, where they are all the same.
        weight: Option<f64>,
        /// `Σ w y e^{−o}`.
        scaled: f64,
        /// `Σ w (ln y − o)`.
        log_ratios: f64,
    },
    /// For the covariance: Huber's loss is no likelihood.
    Huber {
        /// `Σ w ψ²`, with `ψ` the residual, clipped at `δ`.
        score_squares: f64,
        /// `Σ w ψ'`: the weight of the rows that are not clipped.
        unclipped: f64,
    },
}

impl Sums {
    pub(super) fn zero(data: &Observations<'_>) -> Self {
        let free = data.offsets.is_none();
        match data.family {
            Family::Gaussian => Self::Gaussian { log_weights: 0.0, first: 0.0, second: 0.0 },
            Family::Binomial => Self::Binomial { positives: free.then_some(0.0) },
            Family::Poisson => Self::Poisson { log_likelihood: 0.0, total: 0.0, exposure: 0.0, log_total: 0.0 },
            Family::NegativeBinomial { .. } => {
                Self::NegativeBinomial { log_likelihood: 0.0, null: free.then_some([0.0; 2]) }
            }
            Family::Gamma => Self::Gamma { log_targets: 0.0, weight: None, scaled: 0.0, log_ratios: 0.0 },
            Family::Huber { .. } => Self::Huber { score_squares: 0.0, unclipped: 0.0 },
        }
    }

    /// Takes in a row with target `y`, weight `w`, offset `o` and linear predictor `z`.
    pub(super) fn take(&mut self, family: Family, [y, w, o, z]: [f64; 4], first_row: bool) {
        match (self, family) {
            (Self::Gaussian { log_weights, first, second }, _) => {
                *log_weights += w.ln();
                *first += w * (y - o);
                *second += w * (y - o) * (y - o);
            }
            (Self::Binomial { positives: Some(positives) }, _) if y > 0.0 => *positives += w,
            (Self::Poisson { log_likelihood, total, exposure, log_total }, _) => {
                *log_likelihood += w * family.log_likelihood(z, y).unwrap_or(0.0);
                *total += w * y;
                *exposure += w * o.exp();
                *log_total += w * (y_log(y, y) - y * o);
            }
            (Self::NegativeBinomial { log_likelihood, null }, Family::NegativeBinomial { theta }) => {
                *log_likelihood += w * family.log_likelihood(z, y).unwrap_or(0.0);
                if let Some([total, saturated]) = null {
                    *total += w * y;
                    *saturated += w * (y_log(y, y) - (y + theta) * (y + theta).ln());
                }
            }
            (Self::Gamma { log_targets, weight, scaled, log_ratios }, _) => {
                *log_targets += y.ln();
                *weight = if first_row { Some(w) } else { weight.filter(|weight| *weight == w) };
                *scaled += w * y * (-o).exp();
                *log_ratios += w * (y.ln() - o);
            }
            (Self::Huber { score_squares, unclipped }, Family::Huber { delta }) => {
                let clipped = (y - z).clamp(-delta, delta);
                *score_squares += w * clipped * clipped;
                *unclipped += if (y - z).abs() <= delta { w } else { 0.0 };
            }
            _ => {}
        }
    }

    /// Adds those of another user; false where they are of another kind.
    pub(super) fn add(&mut self, other: &Self) -> bool {
        match (self, other) {
            (Self::Gaussian { log_weights, first, second }, Self::Gaussian { log_weights: l, first: f, second: s }) => {
                add([(log_weights, l), (first, f), (second, s)])
            }
            (Self::Binomial { positives }, Self::Binomial { positives: other }) => {
                *positives = positives.zip(*other).map(|(a, b)| a + b);
            }
            (
                Self::Poisson { log_likelihood, total, exposure, log_total },
                Self::Poisson { log_likelihood: l, total: t, exposure: e, log_total: g },
            ) => add([(log_likelihood, l), (total, t), (exposure, e), (log_total, g)]),
            (
                Self::NegativeBinomial { log_likelihood, null },
                Self::NegativeBinomial { log_likelihood: l, null: other },
            ) => {
                *log_likelihood += l;
                *null = null.zip(*other).map(|(a, b)| [a[0] + b[0], a[1] + b[1]]);
            }
            (
                Self::Gamma { log_targets, weight, scaled, log_ratios },
                Self::Gamma { log_targets: l, weight: w, scaled: s, log_ratios: r },
            ) => {
                add([(log_targets, l), (scaled, s), (log_ratios, r)]);
                *weight = weight.filter(|weight| Some(*weight) == *w);
            }
            (Self::Huber { score_squares, unclipped }, Self::Huber { score_squares: s, unclipped: u }) => {
                add([(score_squares, s), (unclipped, u)])
            }
            _ => return false,
        }
        true
    }

    /// Whether these are the sums of this family.
    pub(super) fn fits(&self, family: Family) -> bool {
        matches!(
            (self, family),
            (Self::Gaussian { .. }, Family::Gaussian)
                | (Self::Binomial { .. }, Family::Binomial)
                | (Self::Poisson { .. }, Family::Poisson)
                | (Self::NegativeBinomial { .. }, Family::NegativeBinomial { .. })
                | (Self::Gamma { .. }, Family::Gamma)
                | (Self::Huber { .. }, Family::Huber { .. })
        )
    }

    /// The numbers in it.
    pub(super) fn numbers(&self) -> Vec<f64> {
        match self {
            Self::Gaussian { log_weights, first, second } => vec![*log_weights, *first, *second],
            Self::Binomial { positives } => positives.iter().copied().collect(),
            Self::Poisson { log_likelihood, total, exposure, log_total } => {
                vec![*log_likelihood, *total, *exposure, *log_total]
            }
            Self::NegativeBinomial { log_likelihood, null } => {
                [*log_likelihood].into_iter().chain(null.iter().flatten().copied()).collect()
            }
            Self::Gamma { log_targets, weight, scaled, log_ratios } => {
                [*log_targets, *scaled, *log_ratios].into_iter().chain(*weight).collect()
            }
            Self::Huber { score_squares, unclipped } => vec![*score_squares, *unclipped],
        }
    }

    /// The deviance of the null model, where it follows from sums; `weight` is `W = Σ w`.
    pub(super) fn null_deviance(&self, family: Family, weight: f64) -> Option<f64> {
        match (self, family) {
            (Self::Gaussian { first, second, .. }, _) => Some((second - first * first / weight).max(0.0)),
            (Self::Binomial { positives }, _) => positives.map(|positives| {
                let negatives = weight - positives;
                -2.0 * (y_log(positives, positives / weight) + y_log(negatives, negatives / weight))
            }),
            (Self::Poisson { total, exposure, log_total, .. }, _) => {
                Some(2.0 * (log_total - y_log(*total, total / exposure)))
            }
            (Self::NegativeBinomial { null: Some([total, saturated]), .. }, Family::NegativeBinomial { theta }) => {
                let mean = total / weight;
                Some(2.0 * (saturated - y_log(*total, mean) + (total + theta * weight) * (mean + theta).ln()))
            }
            (Self::Gamma { scaled, log_ratios, .. }, _) => Some(2.0 * (weight * (scaled / weight).ln() - log_ratios)),
            _ => None,
        }
    }

    /// The log-likelihood, for `rows` rows of total weight `weight`, this deviance, and this dispersion. For gaussian the
    /// dispersion is profiled out, `Σ w r² / N`, as in statsmodels and R.
    pub(super) fn log_likelihood(&self, rows: f64, weight: f64, deviance: f64, dispersion: f64) -> Option<f64> {
        match self {
            Self::Gaussian { log_weights, .. } => {
                let variance = deviance / rows;
                Some(-0.5 * (rows * (1.0 + std::f64::consts::TAU.ln() + variance.ln()) - log_weights))
            }
            Self::Binomial { .. } => Some(-0.5 * deviance),
            Self::Poisson { log_likelihood, .. } | Self::NegativeBinomial { log_likelihood, .. } => {
                Some(*log_likelihood)
            }
            Self::Gamma { log_targets, weight: each, .. } => each.map(|each| {
                // Each row is gamma with shape κ = w/φ and mean μ: κ ln(κ y/μ) − κ y/μ − ln Γ(κ) − ln y, and
                // Σ w [y/μ − ln(y/μ)] = deviance/2 + W.
                let shape = each / dispersion;
                rows * (shape * shape.ln() - libm::lgamma(shape)) - (0.5 * deviance + weight) / dispersion - log_targets
            }),
            Self::Huber { .. } => None,
        }
    }
}

fn add<const N: usize>(pairs: [(&mut f64, &f64); N]) {
    pairs.into_iter().for_each(|(sum, value)| *sum += value);
}
