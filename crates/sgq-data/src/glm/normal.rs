//! The normal distribution.

use std::f64::consts::{FRAC_1_SQRT_2, TAU};

/// `P(|Z| ≥ |z|) = erfc(|z|/√2)`, exact to rounding as far out as numbers go.
///
/// ```
/// use sgq_data::glm::two_sided_p;
///
/// assert!((two_sided_p(1.959963984540054) - 0.05).abs() < 1e-15);
/// assert!((two_sided_p(-20.0) / 5.507248237212467e-89 - 1.0).abs() < 1e-12);
/// ```
pub fn two_sided_p(z: f64) -> f64 {
    libm::erfc(z.abs() * FRAC_1_SQRT_2)
}

/// The `z` with `P(Z ≤ z) = p`; infinite at 0 and 1, and not a number outside.
///
/// ```
/// use sgq_data::glm::normal_quantile;
///
/// assert!((normal_quantile(0.975) - 1.959963984540054).abs() < 1e-14);
/// assert_eq!(normal_quantile(0.5), 0.0);
/// ```
pub fn normal_quantile(p: f64) -> f64 {
    if !(0.0..=1.0).contains(&p) {
        return f64::NAN;
    }
    if p > 0.5 { -lower_quantile(1.0 - p) } else { lower_quantile(p) }
}

/// The `z > 0` within which `level` of the distribution lies: 1.96 for 95%.
pub(crate) fn two_sided_quantile(level: f64) -> f64 {
    -lower_quantile((1.0 - level) / 2.0)
}

fn lower_quantile(p: f64) -> f64 {
    if p == 0.0 || p == 0.5 {
        return if p == 0.0 { f64::NEG_INFINITY } else { 0.0 };
    }
    // Abramowitz & Stegun 26.2.23, to 4.5e-4; each of Halley's steps triples the digits.
    let t = (-2.0 * p.ln()).sqrt();
    let numerator = 2.515517 + t * (0.802853 + t * 0.010328);
    let mut z = numerator / (1.0 + t * (1.432788 + t * (0.189269 + t * 0.001308))) - t;
    for _ in 0..4 {
        let error = 0.5 * libm::erfc(-z * FRAC_1_SQRT_2) - p;
        let newton = error * TAU.sqrt() * (0.5 * z * z).exp();
        z -= newton / (1.0 + 0.5 * z * newton);
    }
    z
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_known_values() {
        // mpmath, 40 digits: sqrt(2) erfinv(2p − 1).
        let known = [
            (0.25, -0.674_489_750_196_081_7),
            (0.1, -1.281_551_565_544_600_4),
            (0.025, -1.959_963_984_540_054_2),
            (0.005, -2.575_829_303_548_901),
            (1e-10, -6.361_340_902_404_056),
            (1e-100, -21.273_453_560_965_324),
        ];
        for (p, z) in known {
            let found = normal_quantile(p);
            assert!((found / z - 1.0f64).abs() < 1e-14, "{p}: {found} against {z}");
            assert!((two_sided_p(found) / (2.0 * p) - 1.0).abs() < 1e-12, "{p}");
        }
        assert_eq!(normal_quantile(0.0), f64::NEG_INFINITY);
        assert_eq!(normal_quantile(1.0), f64::INFINITY);
        assert!(normal_quantile(-0.1).is_nan() && normal_quantile(f64::NAN).is_nan());
        assert!((two_sided_quantile(0.95) - 1.959_963_984_540_054_2).abs() < 1e-14);
    }

    #[test]
    fn tails_are_known_values() {
        // mpmath: erfc(z/√2).
        let known = [
            (0.0, 1.0),
            (1.0, 0.317_310_507_862_914_1),
            (5.0, 5.733_031_437_583_878e-7),
            (20.0, 5.507_248_237_212_467e-89),
            (37.0, 1.145_114_244_504_915_4e-299),
        ];
        for (z, p) in known {
            assert!((two_sided_p(z) / p - 1.0).abs() < 1e-12, "{z}: {}", two_sided_p(z));
        }
    }
}
