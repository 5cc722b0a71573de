//! The constants in the theorems, each with where it came from.

use std::fmt;

use rayon::prelude::*;

use super::{
    Heterogeneity, RegionError, Spread,
    heterogeneity::gradients,
    region::Ground,
    scalar::{self, Affine},
};
use crate::{Problem, Random, Smoothness, kernel, random::derive_seed};

/// Where a number came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Provenance {
    /// Computed from the problem, up to rounding.
    Exact,
    /// On the safe side of the true constant, everywhere in the region.
    Certified,
    /// Stated by the problem, and not checked beyond the samples.
    Given,
    /// The worst of so many points of the region; the true constant may be worse.
    Estimated {
        /// How many points.
        samples: usize,
    },
}

impl fmt::Display for Provenance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exact => f.write_str("exact"),
            Self::Certified => f.write_str("certified bound"),
            Self::Given => f.write_str("given by the problem"),
            Self::Estimated { samples } => write!(f, "estimated from {samples} samples of the region"),
        }
    }
}

/// A number, and where it came from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Constant {
    /// The number.
    pub value: f64,
    /// Where it came from.
    pub provenance: Provenance,
}

impl Constant {
    fn new(value: f64, provenance: Provenance) -> Self {
        Self { value, provenance }
    }

    /// Whether it is only a guess from samples.
    pub fn is_estimated(&self) -> bool {
        matches!(self.provenance, Provenance::Estimated { .. })
    }
}

/// Everything that the theorems' formulas are made of. What is not known is `None`.
#[derive(Clone, Debug, PartialEq)]
pub struct Constants {
    /// `L = mean L_i`.
    pub mean_smoothness: Option<Constant>,
    /// `L_max`.
    pub max_smoothness: Option<Constant>,
    /// The smoothness of `f` itself, at most `L`.
    pub objective_smoothness: Option<Constant>,
    /// `μ` (Assumption 3).
    pub pl_constant: Option<Constant>,
    /// `σ*`, the mean squared gradient norm at the optimum.
    pub sigma_star: Option<Constant>,
    /// `Δ` (Assumption 5), on the region.
    pub delta: Option<Constant>,
    /// `c` (Lemma 1), on the region and for this step size; none where the users' improvements never differ.
    pub c: Option<Constant>,
    /// `C_1` (Assumption 4), on the region.
    pub c1: Option<Constant>,
    /// `C_2` (Assumption 4), on the region.
    pub c2: Option<Constant>,
}

/// What the constants are measured with.
pub(super) struct Survey<'a> {
    pub problem: &'a dyn Problem,
    pub ground: &'a Ground<'a>,
    pub smoothness: Option<&'a Smoothness>,
    pub step_size: f64,
    /// The weight of `√C_1` in the rate that matters.
    pub weight: f64,
    pub seed: u64,
}

impl Survey<'_> {
    /// Measures everything; `points` grows by the worst points found between the samples.
    pub fn constants(&self, points: &mut Vec<Vec<f64>>) -> Result<Constants, RegionError> {
        let problem = self.problem;
        let given = if problem.is_quadratic() { Provenance::Exact } else { Provenance::Given };
        let mut constants = Constants {
            mean_smoothness: self.smoothness.map(|each| Constant::new(each.mean(), given)),
            max_smoothness: self.smoothness.map(|each| Constant::new(each.max(), given)),
            objective_smoothness: problem.objective_smoothness().map(|value| Constant::new(value, given)),
            pl_constant: problem.pl_constant().map(|value| Constant::new(value, given)),
            sigma_star: self.sigma_star().map(|value| Constant::new(value, given)),
            delta: None,
            c: None,
            c1: None,
            c2: None,
        };
        let relative_step = self.smoothness.map(|each| self.step_size * each.mean());
        // Without L there are no improvements to compare, but Δ can still be seen.
        let Some(mut spreads) = self.spreads(points, relative_step.unwrap_or(0.0)) else {
            return Ok(constants);
        };
        if let Some(relative_step) = relative_step {
            self.sharpen(points, &mut spreads, relative_step);
            self.add_heterogeneity(&mut constants, points, &spreads, relative_step)?;
        }
        constants.delta = self.delta(&spreads).filter(|delta| delta.value.is_finite());
        Ok(constants)
    }

    fn sigma_star(&self) -> Option<f64> {
        let optimum = self.problem.optimum()?;
        let rows = gradients(self.problem, &optimum.point);
        let sigma = kernel::norm_squared(&rows) / self.problem.users() as f64;
        Some(sigma).filter(|sigma| sigma.is_finite())
    }

    /// None where a gradient is not finite at one of the points: nothing can then be said of all of them.
    fn spreads(&self, points: &[Vec<f64>], relative_step: f64) -> Option<Vec<Spread>> {
        points.par_iter().map(|point| Spread::at(self.problem, point, relative_step)).collect()
    }

    /// Samples rarely hit the worst point: walks from the worst of them to worse ones nearby, and adds those.
    fn sharpen(&self, points: &mut Vec<Vec<f64>>, spreads: &mut Vec<Spread>, relative_step: f64) {
        const ROUNDS: u64 = 4;
        if self.ground.is_finite_set() {
            return;
        }
        let width = self.ground.width(points);
        for round in 0..ROUNDS {
            let Heterogeneity { c1, c2 } = Heterogeneity::fastest(spreads, self.weight);
            let slack = |spread: &Spread| spread.largest_c2(c1).0 - c2;
            let balance = |spread: &Spread| spread.imbalance.map_or(f64::INFINITY, |imbalance| -imbalance);
            let walks: [&(dyn Fn(&Spread) -> f64 + Sync); 2] = [&slack, &balance];
            for (purpose, score) in walks.into_iter().enumerate() {
                let seed = derive_seed(self.seed, "sharpen", 2 * round + purpose as u64);
                for (point, spread) in self.walk(points, spreads, width, relative_step, seed, score) {
                    points.push(point);
                    spreads.push(spread);
                }
            }
        }
    }

    /// The points with the lowest scores that random walks from the lowest ones come to.
    fn walk(
        &self,
        points: &[Vec<f64>],
        spreads: &[Spread],
        width: f64,
        relative_step: f64,
        seed: u64,
        score: &(dyn Fn(&Spread) -> f64 + Sync),
    ) -> Vec<(Vec<f64>, Spread)> {
        const WALKS: usize = 8;
        const TRIES: usize = 150;
        let scores: Vec<f64> = spreads.iter().map(score).collect();
        let mut order: Vec<usize> = (0..points.len()).collect();
        order.sort_by(|one, other| scores[*one].total_cmp(&scores[*other]));
        let walk = |(number, &from): (usize, &usize)| {
            let mut random = Random::new(derive_seed(seed, "walk", number as u64), "steps");
            let mut best: Option<(Vec<f64>, Spread)> = None;
            let mut lowest = scores[from];
            // Longer steps after a success, shorter ones after a failure.
            let mut distance = 0.1 * width;
            for _ in 0..TRIES {
                let here = best.as_ref().map_or(&points[from], |(point, _)| point);
                let moved = self.ground.near(here, distance, &mut random);
                let tried = moved.and_then(|point| Some((Spread::at(self.problem, &point, relative_step)?, point)));
                match tried {
                    Some((spread, point)) if score(&spread) < lowest => {
                        lowest = score(&spread);
                        best = Some((point, spread));
                        distance *= 1.6;
                    }
                    _ => distance *= 0.9,
                }
            }
            best
        };
        let found: Vec<_> = order[..WALKS.min(order.len())].par_iter().enumerate().map(walk).collect();
        found.into_iter().flatten().collect()
    }

    /// `c`, `C_1` and `C_2`: by the proposition for one parameter, otherwise by Assumption 4 itself.
    fn add_heterogeneity(
        &self,
        constants: &mut Constants,
        points: &[Vec<f64>],
        spreads: &[Spread],
        relative_step: f64,
    ) -> Result<(), RegionError> {
        let sampled = match self.ground.is_finite_set() {
            true => Provenance::Exact,
            false => Provenance::Estimated { samples: points.len() },
        };
        let imbalance = spreads.iter().filter_map(|spread| spread.imbalance).reduce(f64::max);
        let (heterogeneity, pair_from, c) = match self.ground.interval()? {
            Some((low, high)) if self.problem.is_quadratic() => {
                let affine = Affine::between(&gradients(self.problem, &[low]), &gradients(self.problem, &[high]));
                let c = imbalance.map(|_| Constant::new(affine.imbalance(relative_step), Provenance::Certified));
                if affine.identical_slopes {
                    // Only the mean moves: the infima are where it is farthest from 0, at an end.
                    let ends = [low, high].map(|x| gradients(self.problem, &[x]));
                    (scalar::over_points(ends.into_iter()), Provenance::Exact, c)
                } else {
                    (affine.infimum(), Provenance::Certified, c)
                }
            }
            interval => {
                let pair = if interval.is_some() || self.problem.dim() == 1 {
                    scalar::over_points(points.iter().map(|point| gradients(self.problem, point)))
                } else {
                    Heterogeneity::fastest(spreads, self.weight)
                };
                (pair, sampled, imbalance.map(|value| Constant::new(value, sampled)))
            }
        };
        constants.c = c;
        constants.c1 = Some(Constant::new(heterogeneity.c1, pair_from));
        constants.c2 = Some(Constant::new(heterogeneity.c2, pair_from));
        Ok(())
    }

    /// `Δ`: for affine gradients in one dimension at the ends of the interval; otherwise at the center of a ball around
    /// the region, and from there at most as fast as the curvatures differ.
    fn delta(&self, spreads: &[Spread]) -> Option<Constant> {
        let problem = self.problem;
        let seen = spreads.iter().map(|spread| spread.dissimilarity).fold(0.0, larger);
        if self.ground.is_finite_set() {
            return Some(Constant::new(seen, Provenance::Exact));
        }
        if problem.is_quadratic()
            && let Ok(Some((low, high))) = self.ground.interval()
        {
            let at = |x: f64| largest_norm(&deviations(problem, &[x]), 1);
            return Some(Constant::new(at(low).max(at(high)), Provenance::Exact));
        }
        let estimated = Constant::new(seen, Provenance::Estimated { samples: spreads.len() });
        let Some((center, radius)) = self.ground.enclosing_ball() else {
            return Some(estimated);
        };
        let at_center = deviations(problem, &center);
        let dim = problem.dim();
        let Some(growth) = self.growth(&center, radius, &at_center) else {
            return Some(estimated);
        };
        let norms = at_center.chunks_exact(dim).map(kernel::norm);
        let bound = norms.zip(&growth).map(|(norm, growth)| norm + growth).fold(0.0, larger);
        let constant_everywhere = growth.iter().all(|growth| *growth <= 1e-12 * bound);
        let provenance = if constant_everywhere { Provenance::Exact } else { Provenance::Certified };
        Some(Constant::new(bound, provenance))
    }

    /// How much each `∇f_i − ∇f` can change within a ball.
    fn growth(&self, center: &[f64], radius: f64, at_center: &[f64]) -> Option<Vec<f64>> {
        /// Numbers that all differences of curvatures together may have.
        const ENTRIES: usize = 100_000_000;
        let (users, dim) = (self.problem.users(), self.problem.dim());
        let columns_fit = users.saturating_mul(dim).saturating_mul(dim) <= ENTRIES;
        if self.problem.is_quadratic() && columns_fit {
            // ‖H_i − H‖ · radius, by the Frobenius norm; column by column, exactly, since gradients are affine.
            let mut squares = vec![0.0; users];
            for k in 0..dim {
                let mut point = center.to_vec();
                point[k] += radius;
                let moved = deviations(self.problem, &point);
                let rows = moved.chunks_exact(dim).zip(at_center.chunks_exact(dim));
                for (square, (moved, fixed)) in squares.iter_mut().zip(rows) {
                    *square += kernel::distance_squared(moved, fixed);
                }
            }
            return Some(squares.into_iter().map(f64::sqrt).collect());
        }
        // Both curvatures lie between 0 and their smoothness, and so their difference does not exceed the larger one.
        let smoothness = self.smoothness?;
        Some(smoothness.each().iter().map(|each| each.max(smoothness.mean()) * radius).collect())
    }
}

/// `∇f_i − ∇f` of every user at a point, one after the other.
fn deviations(problem: &dyn Problem, point: &[f64]) -> Vec<f64> {
    let mut rows = gradients(problem, point);
    let mut mean = vec![0.0; point.len()];
    kernel::mean_of_rows(&rows, &mut mean);
    for row in rows.chunks_exact_mut(point.len()) {
        kernel::add_scaled(row, -1.0, &mean);
    }
    rows
}

fn largest_norm(rows: &[f64], dim: usize) -> f64 {
    rows.chunks_exact(dim).map(kernel::norm).fold(0.0, larger)
}

/// The larger of two, or what is not a number: that must not get lost.
fn larger(one: f64, other: f64) -> f64 {
    if one.is_nan() || one > other { one } else { other }
}
