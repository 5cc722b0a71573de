//! Coordinates in units of their own, docs/frugal.md § 15: how long users' gradients are along each says how large it is.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::{Alignment, Answers, Curvature, Model, Verdict};
use crate::frugal::{FRUGAL, TINY};

/// What each coordinate of a point is multiplied by, and of a gradient divided by, before the model sees it. Empty where all are
/// one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Units(Vec<f64>);

impl Units {
    pub fn is_plain(&self) -> bool {
        self.0.is_empty()
    }

    /// A point as the model sees it.
    pub fn point_inside<'v>(&self, point: &'v [f64]) -> Cow<'v, [f64]> {
        self.scaled(point, |x, unit| x * unit)
    }

    /// A point as everybody else sees it.
    pub fn point_outside<'v>(&self, point: &'v [f64]) -> Cow<'v, [f64]> {
        self.scaled(point, |x, unit| x / unit)
    }

    /// A gradient as the model sees it.
    pub fn gradient_inside<'v>(&self, gradient: &'v [f64]) -> Cow<'v, [f64]> {
        self.scaled(gradient, |slope, unit| slope / unit)
    }

    /// A gradient as everybody else sees it.
    pub fn gradient_outside<'v>(&self, gradient: &'v [f64]) -> Cow<'v, [f64]> {
        self.scaled(gradient, |slope, unit| slope * unit)
    }

    fn scaled<'v>(&self, vector: &'v [f64], by: impl Fn(f64, f64) -> f64) -> Cow<'v, [f64]> {
        if self.is_plain() {
            return Cow::Borrowed(vector);
        }
        vector.iter().zip(&self.0).map(|(value, unit)| by(*value, *unit)).collect::<Vec<f64>>().into()
    }

    /// The mean of their squares.
    fn mean_square(&self) -> f64 {
        if self.is_plain() { 1.0 } else { self.0.iter().map(|unit| unit * unit).sum::<f64>() / self.0.len() as f64 }
    }

    /// Units in which users' gradients are about as long along each coordinate, Eq. (70); none where those that are there will do.
    fn fitting(&self, answers: &Answers) -> Option<Self> {
        let dim = answers.mean_gradient().len();
        let gradients = || answers.iter().map(|(_, answer)| self.gradient_outside(&answer.gradient));
        let mut lengths = vec![0.0; dim];
        gradients().for_each(|it| it.iter().zip(&mut lengths).for_each(|(slope, sum)| *sum += slope * slope));
        // Each user's gradient counts with the same length in these units, or the steepest user would decide alone.
        let mut squares = vec![0.0; dim];
        for gradient in gradients() {
            let parts = gradient.iter().zip(&lengths).filter(|(_, length)| **length > 0.0);
            let norm_squared = parts.map(|(slope, length)| slope * slope / length).sum::<f64>().max(TINY);
            gradient.iter().zip(&mut squares).for_each(|(slope, sum)| *sum += slope * slope / norm_squared);
        }
        let roots: Vec<f64> = squares.iter().map(|square| square.sqrt()).collect();
        let largest = roots.iter().copied().fold(0.0, f64::max);
        // A coordinate that is nothing but rounding says nothing.
        let told: Vec<usize> = (0..dim).filter(|k| roots[*k] > FRUGAL.rounding * largest).collect();
        let held = |k: usize| self.0.get(k).copied().unwrap_or(1.0);
        let off = |k: usize| (roots[k] / held(k)).log2();
        let (low, high) = told.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), k| {
            let off = off(*k);
            (low.min(off), high.max(off))
        });
        let by_chance = if answers.all_asked() { 0.0 } else { FRUGAL.units_by_chance / answers.count() as f64 };
        if !(high - low > FRUGAL.units_apart + by_chance && largest.is_finite()) {
            return None;
        }
        // What all have in common says nothing; a power of two rounds nothing.
        let common = (told.iter().map(|k| roots[*k].log2()).sum::<f64>() / told.len() as f64).round().exp2();
        let mut units: Vec<f64> = (0..dim).map(held).collect();
        told.iter().for_each(|k| units[*k] = roots[*k] / common);
        Some(Self(units))
    }
}

impl Model {
    /// Looks at the units of coordinates, and takes others where these are far off: sections 2 to 5 begin again with the answers
    /// held.
    pub(super) fn fit_units(&mut self, point: &[f64]) {
        let is_dense = matches!(Curvature::of(self.start.len()), Curvature::Matrix { .. });
        let is_exact = !self.noise.is_found() && self.noise.last <= 0.0;
        if matches!(self.verdict, Verdict::SetAside { .. })
            || self.own.is_some()
            || !(is_dense && is_exact && self.answers.count() >= FRUGAL.first_units)
        {
            return;
        }
        if let Some(units) = self.units.fitting(&self.answers) {
            self.change_units(units);
            let here = self.units.point_inside(point).into_owned();
            self.fit(&here);
        }
    }

    /// Sees everything that is held in other units.
    pub(super) fn change_units(&mut self, units: Units) {
        let old = std::mem::replace(&mut self.units, units);
        let units = &self.units;
        let again = |point: &[f64]| units.point_inside(&old.point_outside(point)).into_owned();
        let slope_again = |gradient: &[f64]| units.gradient_inside(&old.gradient_outside(gradient)).into_owned();
        self.answers.change(again, slope_again);
        for point in [&mut self.start, &mut self.anchor] {
            *point = again(point);
        }
        for (to, anchor) in &mut self.moves {
            (*to, *anchor) = (again(to), again(anchor));
        }
        self.hindsight.change(again);
        if self.scale.known {
            self.scale.mean *= old.mean_square() / units.mean_square();
        } else {
            self.scale.relearn(&self.answers);
        }
        (self.plan, self.alignment, self.estimate) = (None, Alignment::default(), None);
        self.changed_units = true;
        if self.scale.mean > 0.0 {
            self.begin_plan();
        }
    }
}
