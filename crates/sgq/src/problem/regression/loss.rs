//! What a prediction costs.

use serde::{Deserialize, Serialize};

/// The loss of a prediction `z = a·x` against a target `y`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Loss {
    /// `½ (z − y)²`.
    Squares,
    /// `ln(1 + e^{−yz})`, with `y = ±1`.
    Logistic,
    /// `e^z − yz`, for counts `y ≥ 0`.
    Poisson,
    /// `½ r²` where the residual `r = z − y` is at most `delta`, and `delta (|r| − ½ delta)` beyond.
    Huber {
        /// Where it turns from a parabola into a line.
        delta: f64,
    },
    /// `(y + θ) ln(θ + e^z) − yz`, for counts `y ≥ 0` whose variance is `μ + μ²/θ` around their mean `μ = e^z`.
    #[serde(rename = "negative-binomial")]
    NegativeBinomial {
        /// `θ`, as in R's `glm.nb`; statsmodels' `alpha` is `1/θ`.
        theta: f64,
    },
    /// `y e^{−z} + z`, for `y > 0` around a mean `e^z`, with a standard deviation in proportion to it.
    Gamma,
}

impl Loss {
    /// The loss itself.
    pub fn value(self, z: f64, y: f64) -> f64 {
        match self {
            Self::Squares => 0.5 * (z - y) * (z - y),
            Self::Logistic => softplus(-y * z),
            Self::Poisson => z.exp() - y * z,
            Self::Huber { delta } => {
                let residual = (z - y).abs();
                if residual <= delta { 0.5 * residual * residual } else { delta * (residual - 0.5 * delta) }
            }
            Self::NegativeBinomial { theta } => (y + theta) * (theta.ln() + softplus(z - theta.ln())) - y * z,
            Self::Gamma => y * (-z).exp() + z,
        }
    }

    /// Its derivative in `z`.
    #[inline]
    pub fn slope(self, z: f64, y: f64) -> f64 {
        match self {
            Self::Squares => z - y,
            Self::Logistic => -y * sigmoid(-y * z),
            Self::Poisson => z.exp() - y,
            Self::Huber { delta } => (z - y).clamp(-delta, delta),
            Self::NegativeBinomial { theta } => (y + theta) * sigmoid(z - theta.ln()) - y,
            Self::Gamma => 1.0 - y * (-z).exp(),
        }
    }

    /// Its second derivative in `z`.
    pub fn curvature(self, z: f64, y: f64) -> f64 {
        match self {
            Self::Squares => 1.0,
            Self::Logistic => {
                let p = sigmoid(-y * z);
                p * (1.0 - p)
            }
            Self::Poisson => z.exp(),
            Self::Huber { delta } => f64::from(u8::from((z - y).abs() <= delta)),
            Self::NegativeBinomial { theta } => {
                let p = sigmoid(z - theta.ln());
                (y + theta) * p * (1.0 - p)
            }
            Self::Gamma => y * (-z).exp(),
        }
    }

    /// The largest second derivative anywhere, whatever the target; none where there is none.
    pub fn largest_curvature(self) -> Option<f64> {
        match self {
            Self::Squares | Self::Huber { .. } => Some(1.0),
            Self::Logistic => Some(0.25),
            Self::Poisson | Self::NegativeBinomial { .. } | Self::Gamma => None,
        }
    }

    /// Whether the second derivative has a bound for each target.
    pub fn is_smooth(self) -> bool {
        !matches!(self, Self::Poisson | Self::Gamma)
    }

    /// What is wrong with a target, if anything.
    pub fn objection(self, y: f64) -> Option<&'static str> {
        match self {
            _ if !y.is_finite() => Some("it must be finite"),
            Self::Logistic if y != 1.0 && y != -1.0 => Some("a logistic target is 1 or −1"),
            Self::Poisson | Self::NegativeBinomial { .. } if y < 0.0 => Some("a count is not negative"),
            Self::Gamma if y <= 0.0 => Some("it must be positive"),
            _ => None,
        }
    }
}

/// `1 / (1 + e^{−z})`, without overflow.
#[inline]
fn sigmoid(z: f64) -> f64 {
    // No branch: which sign comes next cannot be foreseen.
    let e = (-z.abs()).exp();
    (if z >= 0.0 { 1.0 } else { e }) / (1.0 + e)
}

/// `Σ ln(1 + e^{−m})` over margins `m = yz`: most of the time of a logistic value goes into logarithms, and the logarithm of
/// a product takes the place of many.
pub(super) fn sum_of_logistic(margins: impl Iterator<Item = f64>) -> f64 {
    let (mut sum, mut product) = (0.0, 1.0f64);
    for margin in margins {
        // ln(1 + e^{−m}) = max(−m, 0) + ln(1 + e^{−|m|})
        sum += (-margin).max(0.0);
        product *= 1.0 + (-margin.abs()).exp();
        if product > 1e200 {
            sum += product.ln();
            product = 1.0;
        }
    }
    sum + product.ln()
}

/// `ln(1 + e^z)`, without overflow.
fn softplus(z: f64) -> f64 {
    z.max(0.0) + (-z.abs()).exp().ln_1p()
}
