//! Each user's own curvature: shared curvature, improved by the user's secants (BFGS), docs/frugal.md § 4.5.

use super::secants::Secant;
use crate::kernel;

/// `H_i − B = Σ a aᵀ − b bᵀ`, one pair of vectors for each secant: Eq. (17).
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Bent(Vec<(Vec<f64>, Vec<f64>)>);

impl Bent {
    /// From a user's secants, the oldest first, where `shared` multiplies by `B`. A secant without curvature is passed over: the user
    /// is not convex there, or curvature is less than rounding.
    pub fn new<'s>(secants: impl Iterator<Item = &'s Secant>, shared: impl Fn(&[f64]) -> Vec<f64>) -> Self {
        let mut bent = Self(Vec::new());
        for Secant { direction, change, .. } in secants {
            let mut expected = shared(direction);
            bent.add_times(1.0, direction, &mut expected);
            let (found, believed) = (kernel::dot(change, direction), kernel::dot(&expected, direction));
            if found > LEAST_CHANGE * believed && believed > 0.0 && found.is_finite() {
                let over = |vector: &[f64], square: f64| vector.iter().map(|value| value / square.sqrt()).collect();
                bent.0.push((over(change, found), over(&expected, believed)));
            }
        }
        bent
    }

    /// Adds `weight (H_i − B) v`.
    pub fn add_times(&self, weight: f64, v: &[f64], sum: &mut [f64]) {
        for (a, b) in &self.0 {
            kernel::add_scaled(sum, weight * kernel::dot(a, v), a);
            kernel::add_scaled(sum, -weight * kernel::dot(b, v), b);
        }
    }

    /// `weight (H_i − B)` as a sum of squares.
    pub fn squares(&self, weight: f64) -> impl Iterator<Item = (f64, &[f64])> {
        self.0.iter().flat_map(move |(a, b)| [(weight, &**a), (-weight, &**b)])
    }
}

/// Curvature along a secant that is less than this part of what was believed is taken for rounding.
const LEAST_CHANGE: f64 = 1e-6;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::Square;

    /// It has the last secant exactly, stays positive definite, and forgets nothing that a quadratic says along conjugate directions.
    #[test]
    fn the_last_secant_holds() {
        let shared = |v: &[f64]| v.iter().map(|value| 2.0 * value).collect::<Vec<f64>>();
        let secant = |direction: &[f64], change: &[f64]| Secant {
            direction: direction.to_vec(),
            change: change.to_vec(),
            way: 1.0,
            noise: 0.0,
        };
        let secants =
            [secant(&[1.0, 0.0], &[5.0, 0.0]), secant(&[0.0, 1.0], &[0.0, 0.5]), secant(&[0.6, 0.8], &[3.0, 0.4])];
        let bent = Bent::new(secants.iter(), shared);
        let times = |v: &[f64]| {
            let mut image = shared(v);
            bent.add_times(1.0, v, &mut image);
            image
        };
        for secant in &secants {
            let image = times(&secant.direction);
            image
                .iter()
                .zip(&secant.change)
                .for_each(|(found, told)| assert!((found - told).abs() < 1e-12, "{image:?}"));
        }
        let mut matrix = Square::identity(2, 2.0);
        matrix.add_squares(&bent.squares(1.0).collect::<Vec<_>>());
        assert!((matrix.at(0, 0) - 5.0).abs() < 1e-12 && (matrix.at(1, 1) - 0.5).abs() < 1e-12);
    }

    #[test]
    fn a_secant_without_curvature_is_passed_over() {
        for change in [[-1.0], [0.0], [f64::NAN], [f64::INFINITY]] {
            let secant = Secant { direction: vec![1.0], change: change.to_vec(), way: 1.0, noise: 0.0 };
            assert_eq!(Bent::new([&secant].into_iter(), |v| v.to_vec()), Bent(Vec::new()));
        }
    }
}
