//! Coordinates in units of their own, docs/frugal.md § 15: by how much users' gradients differ along each says how large it is.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::{Alignment, Answers, Curvature, Model, Verdict};
use crate::frugal::{FRUGAL, TINY};

/// What each coordinate of a point is multiplied by, and of a gradient divided by, before the model sees it: powers of two, so
/// that nothing is rounded. Empty where all are one.
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

    /// Units in which users' gradients differ by about as much along each coordinate, Eq. (70); none where those that are there will
    /// do.
    fn fitting(&self, answers: &Answers) -> Option<Self> {
        let dim = answers.mean_gradient().len();
        let gradients = || answers.iter().map(|(_, answer)| self.gradient_outside(&answer.gradient));
        let count = answers.count() as f64;
        let mut lengths = vec![0.0; dim];
        gradients().for_each(|it| it.iter().zip(&mut lengths).for_each(|(slope, sum)| *sum += slope * slope));
        // Each user's gradient counts with the same length in these units, or the steepest user would decide alone.
        let (mut sums, mut squares) = (vec![0.0; dim], vec![0.0; dim]);
        for gradient in gradients() {
            let parts = gradient.iter().zip(&lengths).filter(|(_, length)| **length > 0.0);
            let norm = parts.map(|(slope, length)| slope * slope / length).sum::<f64>().sqrt().max(TINY);
            for (k, slope) in gradient.iter().enumerate() {
                sums[k] += slope / norm;
                squares[k] += (slope / norm).powi(2);
            }
        }
        let log = |k: usize| {
            let variance = squares[k] - sums[k] * sums[k] / count;
            // What is nothing but rounding says nothing.
            if variance > FRUGAL.rounding * squares[k] { (0.5 * variance.log2()).round() } else { f64::NEG_INFINITY }
        };
        let logs: Vec<f64> = (0..dim).map(log).collect();
        let held = |k: usize| self.0.get(k).map_or(0.0, |unit| unit.log2());
        let largest = logs.iter().copied().filter(|log| log.is_finite()).reduce(f64::max)?;
        let wanted = |k: usize| if logs[k].is_finite() { logs[k] - largest } else { held(k) };
        let is_off = |k: usize| wanted(k) <= held(k) - FRUGAL.units_apart || wanted(k) >= held(k) + FRUGAL.unit_back;
        // A coordinate along which everybody agrees may be flat, or at its optimum: if its unit was made small at once, the next move
        // would go far too far in the second case. Made small step by step, answers show which it is before that does harm.
        let unit = |k: usize| wanted(k).max(held(k) - FRUGAL.unit_step);
        let most = (0..dim).map(unit).fold(f64::NEG_INFINITY, f64::max);
        (0..dim).any(is_off).then(|| Self((0..dim).map(|k| (unit(k) - most).max(-100.0).exp2()).collect()))
    }
}

impl Model {
    /// Looks at the units of coordinates, and takes others where these are far off: sections 2 to 5 begin again with the answers
    /// held.
    pub(super) fn fit_units(&mut self, point: &[f64]) {
        let asked = self.answers.count();
        let is_time = asked >= FRUGAL.first_units || (self.all_asked() && asked >= FRUGAL.fewest_for_units);
        let is_dense = matches!(Curvature::of(self.start.len()), Curvature::Matrix { .. });
        let is_exact = !self.noise.is_found() && self.noise.last <= 0.0;
        if matches!(self.verdict, Verdict::SetAside { .. })
            || self.own.is_some()
            || !(self.own_units && is_time && is_dense && is_exact && self.plan.is_some())
        {
            return;
        }
        if let Some(units) = self.units.fitting(&self.answers) {
            self.change_units(units);
            let here = self.units.point_inside(point).into_owned();
            self.fit(&here);
        }
    }

    /// Whether coordinates may be of very different scales, so that the model may not see how flat some are.
    pub(super) fn doubts_units(&self) -> bool {
        let enough = self.answers.count() >= FRUGAL.fewest_for_units;
        let is_dense = matches!(Curvature::of(self.start.len()), Curvature::Matrix { .. });
        enough && is_dense && self.own.is_none() && self.units.is_plain() && self.units.fitting(&self.answers).is_some()
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
