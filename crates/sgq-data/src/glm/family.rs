//! Families of distributions, by the names people know.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use sgq::problem::Loss;
use thiserror::Error;

/// The distribution of the targets, and with it the loss: each loss is the negative log-likelihood up to terms without
/// coefficients and a factor of the dispersion (Huber's is no likelihood).
///
/// ```
/// use sgq_data::glm::Family;
///
/// assert_eq!("logistic".parse(), Ok(Family::Binomial));
/// assert_eq!("negbin:2.5".parse(), Ok(Family::NegativeBinomial { theta: 2.5 }));
/// assert_eq!(Family::Binomial.ratio_name(), Some("odds ratio"));
/// assert_eq!("huber".parse::<Family>().unwrap().to_string(), "huber:1.345");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Family {
    /// Normal around `μ = z`.
    Gaussian,
    /// One of two levels, the positive one with probability `1 / (1 + e^{−z})`. Targets are ±1.
    Binomial,
    /// Counts around `μ = e^z`, with variance `μ`.
    Poisson,
    /// Counts around `μ = e^z`, with variance `μ + μ²/θ`.
    NegativeBinomial {
        /// `θ`, as in R's `glm.nb`; statsmodels' `alpha` is `1/θ`.
        theta: f64,
    },
    /// Positive numbers around `μ = e^z`, with variance `φ μ²`.
    Gamma,
    /// Numbers around `μ = z`, some of them far off.
    Huber {
        /// Where the loss turns from a parabola into a line, on the scale of the regression's targets.
        delta: f64,
    },
}

/// 95% efficient where the residuals are normal with variance 1 (Huber 1981), and so the default of R's `rlm`.
const HUBER_DELTA: f64 = 1.345;

impl Family {
    /// What `e^coefficient` is called; none where it means nothing.
    pub fn ratio_name(self) -> Option<&'static str> {
        match self {
            Self::Binomial => Some("odds ratio"),
            Self::Poisson | Self::NegativeBinomial { .. } => Some("rate ratio"),
            Self::Gamma => Some("ratio of means"),
            Self::Gaussian | Self::Huber { .. } => None,
        }
    }

    /// Whether the dispersion is 1 by definition rather than estimated, Eq. (5) of the [module](super).
    pub fn has_fixed_dispersion(self) -> bool {
        matches!(self, Self::Binomial | Self::Poisson | Self::NegativeBinomial { .. })
    }

    /// Whether the observed information, Eq. (3), differs from the expected one, Eq. (2).
    pub fn observed_differs(self) -> bool {
        matches!(self, Self::NegativeBinomial { .. } | Self::Gamma | Self::Huber { .. })
    }

    /// Whether targets may be shifted and scaled, with the way back by [`OriginalScale`](super::OriginalScale).
    pub fn scales_targets(self) -> bool {
        matches!(self, Self::Gaussian | Self::Huber { .. })
    }

    /// `E[ℓ''(z)]`: the expected information of a row, Eq. (2). For Huber's loss it is 1, as in Huber's own covariance.
    pub(crate) fn expected_weight(self, z: f64) -> f64 {
        match self {
            Self::Gaussian | Self::Gamma | Self::Huber { .. } => 1.0,
            Self::Binomial | Self::Poisson => Loss::from(self).curvature(z, 1.0),
            // μ / (1 + μ/θ)
            Self::NegativeBinomial { theta } => theta / (1.0 + (theta.ln() - z).exp()),
        }
    }

    /// `(y − μ)² / V(μ)`, Eq. (4).
    pub(crate) fn pearson(self, z: f64, y: f64) -> f64 {
        let mean = z.exp();
        match self {
            Self::Gaussian | Self::Huber { .. } => (y - z) * (y - z),
            // (1 − p)/p of the level that is there, kept finite: beyond this it says nothing more.
            Self::Binomial => (-y * z).min(600.0).exp(),
            Self::Poisson => (y - mean) * (y - mean) / mean,
            Self::NegativeBinomial { theta } => (y - mean) * (y - mean) / (mean + mean * mean / theta),
            Self::Gamma => {
                let relative = (y - mean) / mean;
                relative * relative
            }
        }
    }

    /// Twice the log-likelihood that is lost against `μ = y`; for Huber's loss twice the loss.
    pub(crate) fn deviance(self, z: f64, y: f64) -> f64 {
        match self {
            Self::Gaussian => (y - z) * (y - z),
            Self::Binomial | Self::Huber { .. } => 2.0 * Loss::from(self).value(z, y),
            Self::Poisson => 2.0 * (y_log(y, y) - y * z - y + z.exp()),
            Self::NegativeBinomial { theta } => {
                2.0 * (y_log(y, y) - y * z - (y + theta) * ((y + theta).ln() - log_sum(theta.ln(), z)))
            }
            Self::Gamma => 2.0 * (z - y.ln() + (y - z.exp()) / z.exp()),
        }
    }

    /// A row's part of the log-likelihood, its weight left out, where that needs no dispersion.
    pub(crate) fn log_likelihood(self, z: f64, y: f64) -> Option<f64> {
        match self {
            Self::Binomial => Some(-Loss::Logistic.value(z, y)),
            Self::Poisson => Some(y * z - z.exp() - libm::lgamma(y + 1.0)),
            Self::NegativeBinomial { theta } => {
                let constant = libm::lgamma(y + theta) - libm::lgamma(theta) - libm::lgamma(y + 1.0);
                Some(constant + y * (z - theta.ln()) - (y + theta) * (log_sum(theta.ln(), z) - theta.ln()))
            }
            Self::Gaussian | Self::Gamma | Self::Huber { .. } => None,
        }
    }
}

/// `y ln(x)`, 0 for `y = 0`.
pub(crate) fn y_log(y: f64, x: f64) -> f64 {
    if y == 0.0 { 0.0 } else { y * x.ln() }
}

/// `ln(e^a + e^b)`, without overflow.
fn log_sum(a: f64, b: f64) -> f64 {
    a.max(b) + (-(a - b).abs()).exp().ln_1p()
}

impl From<Family> for Loss {
    fn from(family: Family) -> Self {
        match family {
            Family::Gaussian => Self::Squares,
            Family::Binomial => Self::Logistic,
            Family::Poisson => Self::Poisson,
            Family::NegativeBinomial { theta } => Self::NegativeBinomial { theta },
            Family::Gamma => Self::Gamma,
            Family::Huber { delta } => Self::Huber { delta },
        }
    }
}

impl From<Loss> for Family {
    fn from(loss: Loss) -> Self {
        match loss {
            Loss::Squares => Self::Gaussian,
            Loss::Logistic => Self::Binomial,
            Loss::Poisson => Self::Poisson,
            Loss::NegativeBinomial { theta } => Self::NegativeBinomial { theta },
            Loss::Gamma => Self::Gamma,
            Loss::Huber { delta } => Self::Huber { delta },
        }
    }
}

/// Why a text is no family.
#[derive(Clone, Debug, PartialEq, Error)]
#[allow(missing_docs)] // the message says what each field is
pub enum FamilyError {
    #[error(
        "the family is '{0}': it must be gaussian, binomial, poisson, negative-binomial:THETA, gamma, or huber[:DELTA]"
    )]
    Unknown(String),
    #[error(
        "the family '{0}' lacks its theta: write negative-binomial:THETA, with THETA as in R's glm.nb (1/alpha of statsmodels)"
    )]
    NoTheta(String),
    #[error("the family '{family}' takes no number, but ':{number}' follows: leave it out")]
    NoParameter { family: String, number: String },
    #[error("the {name} of the family '{family}' is '{number}': it must be a positive number")]
    Parameter { family: String, name: &'static str, number: String },
}

impl FromStr for Family {
    type Err = FamilyError;

    fn from_str(text: &str) -> Result<Self, FamilyError> {
        let (name, number) = text.split_once(':').map_or((text, None), |(name, number)| (name, Some(number)));
        let plain = |family: Self| match number {
            None => Ok(family),
            Some(number) => Err(FamilyError::NoParameter { family: name.into(), number: number.into() }),
        };
        let positive = |meaning: &'static str, number: &str| {
            let parsed = number.parse::<f64>().ok().filter(|value| *value > 0.0 && value.is_finite());
            let wrong = || FamilyError::Parameter { family: name.into(), name: meaning, number: number.into() };
            parsed.ok_or_else(wrong)
        };
        match name {
            "gaussian" | "squares" => plain(Self::Gaussian),
            "binomial" | "logistic" => plain(Self::Binomial),
            "poisson" => plain(Self::Poisson),
            "gamma" => plain(Self::Gamma),
            "negbin" | "negative-binomial" => {
                let number = number.ok_or_else(|| FamilyError::NoTheta(text.into()))?;
                Ok(Self::NegativeBinomial { theta: positive("theta", number)? })
            }
            "huber" => {
                let delta = number.map_or(Ok(HUBER_DELTA), |number| positive("delta", number))?;
                Ok(Self::Huber { delta })
            }
            _ => Err(FamilyError::Unknown(text.into())),
        }
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gaussian => f.write_str("gaussian"),
            Self::Binomial => f.write_str("binomial"),
            Self::Poisson => f.write_str("poisson"),
            Self::NegativeBinomial { theta } => write!(f, "negative-binomial:{theta}"),
            Self::Gamma => f.write_str("gamma"),
            Self::Huber { delta } => write!(f, "huber:{delta}"),
        }
    }
}

impl TryFrom<String> for Family {
    type Error = FamilyError;

    fn try_from(text: String) -> Result<Self, FamilyError> {
        text.parse()
    }
}

impl From<Family> for String {
    fn from(family: Family) -> Self {
        family.to_string()
    }
}
