//! Where constants hold: regions, and points to try in them.

use std::fmt;

use serde::Serialize;
use thiserror::Error;

use super::heterogeneity::gradients;
use crate::{Problem, Random, kernel, random::derive_seed};

/// A set of points. Constants are claimed on it, and nowhere else.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Region {
    /// Everything that is no worse than the start: `f(x) ≤ f(x_0)`.
    #[default]
    Sublevel,
    /// Everything within a distance of a center.
    Ball {
        /// The center.
        center: Vec<f64>,
        /// The distance.
        radius: f64,
    },
    /// Everything between two corners.
    Box {
        /// The smallest value of each coordinate.
        low: Vec<f64>,
        /// The largest value of each coordinate.
        high: Vec<f64>,
    },
    /// Just these points, such as those of a trajectory.
    Points {
        /// The points.
        #[serde(skip)]
        points: Vec<Vec<f64>>,
    },
}

impl fmt::Display for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sublevel => f.write_str("the sublevel set of the start, f(x) ≤ f(x_0)"),
            Self::Ball { center, radius } => write!(f, "the ball of radius {radius:?} around {center:?}"),
            Self::Box { low, high } => write!(f, "the box from {low:?} to {high:?}"),
            Self::Points { points } => write!(f, "{} points of a trajectory", points.len()),
        }
    }
}

/// Why a region cannot be used.
#[derive(Clone, Debug, PartialEq, Error)]
#[allow(missing_docs)] // the message says what each field is
#[non_exhaustive]
pub enum RegionError {
    #[error("{what} has {found} numbers, but the problem has dimension {expected}")]
    Length { what: &'static str, expected: usize, found: usize },
    #[error("{what} has the number {value}: all must be finite")]
    NotFinite { what: &'static str, value: f64 },
    #[error("the radius of the ball is {0}: it must be finite and not negative")]
    Radius(f64),
    #[error("the box is empty along coordinate {coordinate}: its low end is {low}, its high end {high}")]
    EmptyBox { coordinate: usize, low: f64, high: f64 },
    #[error("the trajectory has no points")]
    NoPoints,
    #[error("the objective at the start is {0}: it must be finite")]
    Start(f64),
    #[error("the sublevel set of the start does not end: give a ball or a box")]
    Unbounded,
}

/// A region on a problem: what can be asked of it.
pub(super) struct Ground<'a> {
    problem: &'a dyn Problem,
    start: &'a [f64],
    region: &'a Region,
}

impl<'a> Ground<'a> {
    /// Checks that the region fits the problem.
    pub fn new(problem: &'a dyn Problem, start: &'a [f64], region: &'a Region) -> Result<Self, RegionError> {
        let check = |what: &'static str, point: &[f64]| {
            if point.len() != problem.dim() {
                return Err(RegionError::Length { what, expected: problem.dim(), found: point.len() });
            }
            match point.iter().find(|x| !x.is_finite()) {
                Some(&value) => Err(RegionError::NotFinite { what, value }),
                None => Ok(()),
            }
        };
        check("the start", start)?;
        let ground = Self { problem, start, region };
        match region {
            Region::Sublevel => {
                let level = ground.height(start);
                if !level.is_finite() {
                    return Err(RegionError::Start(level));
                }
            }
            Region::Ball { center, radius } => {
                check("the center of the ball", center)?;
                if !(*radius >= 0.0 && radius.is_finite()) {
                    return Err(RegionError::Radius(*radius));
                }
            }
            Region::Box { low, high } => {
                check("the low corner of the box", low)?;
                check("the high corner of the box", high)?;
                for (coordinate, (&low, &high)) in low.iter().zip(high).enumerate() {
                    if low > high {
                        return Err(RegionError::EmptyBox { coordinate, low, high });
                    }
                }
            }
            Region::Points { points } => {
                if points.is_empty() {
                    return Err(RegionError::NoPoints);
                }
                points.iter().try_for_each(|point| check("a point of the trajectory", point))?;
            }
        }
        Ok(ground)
    }

    /// The objective, up to a constant: the gap where it is known, since that does not cancel.
    fn height(&self, point: &[f64]) -> f64 {
        self.problem.gap(point).unwrap_or_else(|| self.problem.value(point))
    }

    pub fn contains(&self, point: &[f64]) -> bool {
        match self.region {
            Region::Sublevel => self.height(point) <= self.height(self.start),
            Region::Ball { center, radius } => kernel::distance(center, point) <= *radius,
            Region::Box { low, high } => {
                low.iter().zip(high).zip(point).all(|((low, high), x)| (low..=high).contains(&x))
            }
            Region::Points { points } => points.iter().any(|known| known == point),
        }
    }

    /// Whether the region is nothing but the points that are tried: then nothing is left to estimate.
    pub fn is_finite_set(&self) -> bool {
        matches!(self.region, Region::Points { .. })
    }

    /// A point from which all of the region can be seen.
    fn anchor(&self) -> Vec<f64> {
        match self.region {
            Region::Ball { center, .. } => center.clone(),
            Region::Box { low, high } => low.iter().zip(high).map(|(low, high)| 0.5 * low + 0.5 * high).collect(),
            Region::Sublevel | Region::Points { .. } => match self.problem.optimum() {
                Some(optimum) if self.height(&optimum.point) <= self.height(self.start) => optimum.point.clone(),
                _ => self.start.to_vec(),
            },
        }
    }

    /// The ends of the region, where it is an interval.
    pub fn interval(&self) -> Result<Option<(f64, f64)>, RegionError> {
        if self.problem.dim() != 1 || self.is_finite_set() {
            return Ok(None);
        }
        let anchor = self.anchor();
        Ok(Some((self.edge(&anchor, &[-1.0])?[0], self.edge(&anchor, &[1.0])?[0])))
    }

    /// A ball that the whole region lies in, where one is known.
    ///
    /// The sublevel set of a function with μ is within `√(2 G_0 / μ)` of its minimisers (quadratic growth). Where there
    /// are several of those, no `∇f_i` of a convex user differs between them, so that one stands for all.
    pub fn enclosing_ball(&self) -> Option<(Vec<f64>, f64)> {
        match self.region {
            Region::Ball { center, radius } => Some((center.clone(), *radius)),
            Region::Box { low, high } => Some((self.anchor(), 0.5 * kernel::distance(low, high))),
            Region::Sublevel => {
                let optimum = self.problem.optimum()?;
                let radius = self.growth_radius()?;
                Some((optimum.point.clone(), radius))
            }
            Region::Points { .. } => None,
        }
    }

    /// `√(2 G_0 / μ)`: how far from the minimisers the sublevel set of the start reaches at most.
    fn growth_radius(&self) -> Option<f64> {
        let (gap, mu) = (self.problem.gap(self.start)?, self.problem.pl_constant()?);
        Some((2.0 * gap / mu).sqrt()).filter(|radius| radius.is_finite())
    }

    /// Whether everything that is no worse than the start is sure to lie in the region.
    pub fn holds_sublevel_set(&self) -> bool {
        let around = || {
            let optimum = self.problem.optimum()?;
            Some((&optimum.point, self.growth_radius()?))
        };
        match self.region {
            Region::Sublevel => true,
            // With more parameters there may be other minimisers, far away.
            Region::Ball { .. } | Region::Box { .. } if self.problem.dim() > 1 => false,
            Region::Ball { center, radius } => {
                around().is_some_and(|(x, reach)| kernel::distance(center, x) + reach <= *radius)
            }
            Region::Box { low, high } => around().is_some_and(|(x, reach)| {
                low.iter().zip(high).zip(x).all(|((low, high), x)| x - reach >= *low && x + reach <= *high)
            }),
            Region::Points { .. } => false,
        }
    }

    /// The farthest point of the region along a direction of length 1.
    fn edge(&self, anchor: &[f64], direction: &[f64]) -> Result<Vec<f64>, RegionError> {
        let along = |reach: f64| -> Vec<f64> {
            let mut point = anchor.to_vec();
            kernel::add_scaled(&mut point, reach, direction);
            point
        };
        match self.region {
            Region::Ball { radius, .. } => return Ok(along(*radius)),
            Region::Box { low, high } => {
                let reach = direction.iter().enumerate().map(|(k, &step)| {
                    let room = if step < 0.0 { anchor[k] - low[k] } else { high[k] - anchor[k] };
                    if step == 0.0 { f64::INFINITY } else { room / step.abs() }
                });
                let mut point = along(reach.fold(f64::INFINITY, f64::min));
                for ((x, low), high) in point.iter_mut().zip(low).zip(high) {
                    *x = x.clamp(*low, *high);
                }
                return Ok(point);
            }
            Region::Sublevel | Region::Points { .. } => {}
        }
        // The set is convex: points are inside up to the edge, and never again behind it.
        let away = kernel::distance(anchor, self.start);
        let (mut inside, mut outside) = (0.0, if away > 0.0 && away.is_finite() { away } else { 1.0 });
        while self.contains(&along(outside)) {
            (inside, outside) = (outside, 2.0 * outside);
            if !outside.is_finite() {
                return Err(RegionError::Unbounded);
            }
        }
        loop {
            let middle = 0.5 * (inside + outside);
            // Down to neighbouring numbers, or to no difference at all around an anchor on the edge.
            if middle <= inside || middle >= outside || inside == 0.0 && along(middle) == anchor {
                return Ok(along(inside));
            }
            if self.contains(&along(middle)) {
                inside = middle;
            } else {
                outside = middle;
            }
        }
    }

    /// Points of the region: its anchor, the start, the optimum, and about `count` others, half of them on its edge.
    pub fn samples(&self, count: usize, seed: u64) -> Result<Vec<Vec<f64>>, RegionError> {
        if let Region::Points { points } = self.region {
            return Ok(points.clone());
        }
        let anchor = self.anchor();
        let mut points = vec![anchor.clone()];
        let known = [Some(self.start), self.problem.optimum().map(|optimum| &*optimum.point)];
        points.extend(known.into_iter().flatten().filter(|point| self.contains(point)).map(<[f64]>::to_vec));
        if let Some((low, high)) = self.interval()? {
            let steps = count.max(2) - 1;
            let place = |k: usize| low + (high - low) * (k as f64 / steps as f64);
            points.extend((0..steps).map(|k| vec![place(k)]));
            points.push(vec![high]);
        } else {
            let mut random = Random::new(derive_seed(seed, "region", 0), "samples");
            let gradient = self.uphill(&anchor);
            for k in 0..count {
                let mut direction = random_direction(&mut random, anchor.len());
                // From an anchor on the edge of a convex set, half of all directions lead straight out.
                if gradient.as_ref().is_some_and(|gradient| kernel::dot(gradient, &direction) > 0.0) {
                    direction.iter_mut().for_each(|x| *x = -*x);
                }
                let edge = self.edge(&anchor, &direction)?;
                let part = if k % 2 == 0 { 1.0 } else { random.unit() };
                points.push(anchor.iter().zip(&edge).map(|(a, e)| a + part * (e - a)).collect());
            }
        }
        Ok(points)
    }

    /// The gradient at an anchor on the edge of a sublevel set.
    fn uphill(&self, anchor: &[f64]) -> Option<Vec<f64>> {
        if *self.region != Region::Sublevel || anchor != self.start {
            return None;
        }
        let mut mean = vec![0.0; anchor.len()];
        kernel::mean_of_rows(&gradients(self.problem, anchor), &mut mean);
        Some(mean)
    }

    /// A point near another one, in the region; none where it fell outside.
    pub fn near(&self, point: &[f64], distance: f64, random: &mut Random) -> Option<Vec<f64>> {
        let mut moved = point.to_vec();
        kernel::add_scaled(&mut moved, distance, &random_direction(random, point.len()));
        self.contains(&moved).then_some(moved)
    }

    /// How wide the samples lie.
    pub fn width(&self, samples: &[Vec<f64>]) -> f64 {
        let anchor = self.anchor();
        samples.iter().map(|point| kernel::distance(&anchor, point)).fold(0.0, f64::max)
    }
}

/// A direction of length 1. Sums of uniform numbers are near enough to normal ones, and need no function whose last bits
/// depend on the machine.
fn random_direction(random: &mut Random, dim: usize) -> Vec<f64> {
    loop {
        let mut direction: Vec<f64> = (0..dim).map(|_| (0..4).map(|_| random.unit()).sum::<f64>() - 2.0).collect();
        let norm = kernel::norm(&direction);
        if norm > 1e-3 {
            direction.iter_mut().for_each(|x| *x /= norm);
            return direction;
        }
    }
}
