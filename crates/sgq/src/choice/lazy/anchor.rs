//! What is known of `⟨ḡ, g̃_i⟩` from the inner products with an earlier `ḡ`.

use crate::kernel;

/// An earlier mean gradient `a`, with which everybody's inner product `⟨a, g̃_i⟩` is known.
///
/// Any later mean is `ḡ = β a + r` with `r` at a right angle to `a`. Of `⟨ḡ, g̃_i⟩ = β⟨a, g̃_i⟩ + ⟨r, g̃_i⟩` the first term
/// is known, and `r` only meets the part of `g̃_i` that is at a right angle to `a` too: by Cauchy and Schwarz,
/// `⟨ḡ, g̃_i⟩ ≤ β⟨a, g̃_i⟩ + ‖r‖ √(‖g̃_i‖² − ⟨a, g̃_i⟩²/‖a‖²)`. It matters: while `ḡ` merely shrinks, this stays exact.
#[derive(Clone, Debug, Default)]
pub(super) struct Anchor {
    vector: Vec<f64>,
    norm: f64,
    /// `1/‖a‖`, or 0 where that would be no number: nothing is then known of anybody's angle.
    inverse_norm: f64,
    /// No reduction over a row is off by more than this, relative to the norms that go into it.
    rounding: f64,
}

/// How far the mean gradient is from the anchor.
#[derive(Clone, Copy, Debug)]
pub(super) struct Drift {
    /// `β`.
    pub(super) along: f64,
    /// `‖r‖`.
    across: f64,
    /// What rounding can add, for each unit of `‖g̃_i‖`.
    rounding: f64,
    /// What is lost below the smallest numbers.
    tiny: f64,
}

impl Anchor {
    pub(super) fn new(mean: &[f64]) -> Self {
        let norm = kernel::norm(mean);
        let comfortable = (1e-140..1e140).contains(&norm);
        Self {
            vector: mean.to_vec(),
            norm,
            inverse_norm: if comfortable { 1.0 / norm } else { 0.0 },
            rounding: (mean.len() as f64 + 32.0) * f64::EPSILON,
        }
    }

    pub(super) fn vector(&self) -> &[f64] {
        &self.vector
    }

    /// `√(‖g̃_i‖² − ⟨a, g̃_i⟩²/‖a‖²)`, rounded up.
    pub(super) fn right_angle(&self, inner_product: f64, norm: f64) -> f64 {
        let square = norm * norm;
        if square < 1e-280 {
            return norm * (1.0 + 4.0 * self.rounding);
        }
        let parallel = inner_product * self.inverse_norm;
        ((square - parallel * parallel).max(0.0) + 16.0 * self.rounding * square).sqrt()
    }

    pub(super) fn drift(&self, mean: &[f64], mean_norm: f64) -> Drift {
        // Any β that leaves r at a right angle but for rounding, or for what is lost below the smallest numbers.
        let along = kernel::dot(&self.vector, mean) * self.inverse_norm * self.inverse_norm;
        let across = match along {
            0.0 => mean_norm,
            along => kernel::distance_from_multiple(mean, along, &self.vector),
        };
        // Squares of numbers below 1e-162 vanish, and products of two as small as that.
        let lost = (mean.len() as f64).sqrt() * 1e-160;
        let rounding = 8.0 * self.rounding * (mean_norm + along.abs() * self.norm + across) + lost;
        Drift { along, across, rounding, tiny: mean.len() as f64 * f64::from_bits(4) * (1.0 + along.abs()) }
    }
}

impl Drift {
    /// No less than `⟨ḡ, g̃_i⟩`, as it would be computed.
    pub(super) fn most(&self, inner_product: f64, right_angle: f64, norm: f64) -> f64 {
        self.along * inner_product + self.across * right_angle + self.rounding * norm + self.tiny
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Random;

    #[test]
    fn inner_products_stay_below_their_bound() {
        let mut random = Random::new(1, "anchor");
        for round in 0..20_000 {
            let dim = 1 + random.index(40);
            let mut vector = |scale: f64| -> Vec<f64> { (0..dim).map(|_| scale * (random.unit() - 0.4)).collect() };
            let scale = 10f64.powi(round % 300 - 150);
            let (a, gradient, noise) = (vector(scale), vector(1.0 / scale), vector(scale));
            // From the anchor itself over small turns to anywhere.
            let turn = [0.0, 1e-12, 1e-3, 1.0][round as usize % 4];
            let mean: Vec<f64> = a.iter().zip(&noise).map(|(a, noise)| 0.7 * a + turn * noise).collect();
            let gradient = if round % 3 == 0 { a.clone() } else { gradient };
            let anchor = Anchor::new(&a);
            let drift = anchor.drift(&mean, kernel::norm(&mean));
            let (inner_product, norm) = (kernel::dot(&a, &gradient), kernel::norm(&gradient));
            let most = drift.most(inner_product, anchor.right_angle(inner_product, norm), norm);
            let exact = kernel::dot(&mean, &gradient);
            assert!(exact <= most, "{exact} {most} {scale} {turn}");
            if turn < 1e-6 && (1e-100..1e100).contains(&scale) {
                assert!(most - exact <= 1e-10 * kernel::norm(&mean) * norm, "{exact} {most}");
            }
        }
    }
}
