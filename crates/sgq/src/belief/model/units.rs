//! Coordinates in units of their own, docs/frugal.md § 15: how long users' gradients are along each says how large it is.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::{Alignment, Answers, Curvature, Model, Verdict, secants::Secant};
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

    /// How long users' gradients are along each coordinate, outside of these units: Eq. (70).
    fn lengths(&self, answers: &Answers) -> Vec<f64> {
        let dim = answers.mean_gradient().len();
        let gradients = || answers.iter().map(|(_, answer)| self.gradient_outside(&answer.gradient));
        let mut sums = vec![0.0; dim];
        gradients().for_each(|it| it.iter().zip(&mut sums).for_each(|(slope, sum)| *sum += slope * slope));
        // Each user's gradient counts with the same length in these units, or the steepest user would decide alone.
        let mut squares = vec![0.0; dim];
        for gradient in gradients() {
            let parts = gradient.iter().zip(&sums).filter(|(_, sum)| **sum > 0.0);
            let norm_squared = parts.map(|(slope, sum)| slope * slope / sum).sum::<f64>().max(TINY);
            gradient.iter().zip(&mut squares).for_each(|(slope, sum)| *sum += slope * slope / norm_squared);
        }
        squares.iter().map(|square| square.sqrt()).collect()
    }

    /// Units in which gradients of such lengths are about as long along each coordinate, where the longest is so many powers of two
    /// longer than the shortest.
    fn for_lengths(lengths: &[f64], apart: f64) -> Option<Self> {
        let largest = lengths.iter().copied().fold(0.0, f64::max);
        // A coordinate that is nothing but rounding says nothing.
        let told: Vec<usize> = (0..lengths.len()).filter(|k| lengths[*k] > FRUGAL.rounding * largest).collect();
        let smallest = told.iter().map(|k| lengths[*k]).reduce(f64::min)?;
        if !((largest / smallest).log2() > apart && largest.is_finite()) {
            return None;
        }
        // What all have in common says nothing; a power of two rounds nothing.
        let common = (told.iter().map(|k| lengths[*k].log2()).sum::<f64>() / told.len() as f64).round().exp2();
        let mut units = vec![1.0; lengths.len()];
        told.iter().for_each(|k| units[*k] = lengths[*k] / common);
        Some(Self(units))
    }

    /// Whether curvature along coordinates is more alike in these units than without any, by a secant that is seen in them.
    fn are_borne_out(&self, secant: &Secant) -> bool {
        let bends = secant.direction.iter().zip(&secant.change).zip(&self.0);
        let logs = bends.map(|((way, change), unit)| ((change / way).abs().log2(), 2.0 * unit.log2()));
        let logs: Vec<(f64, f64)> = logs.filter(|(bend, _)| bend.is_finite()).collect();
        unlike(logs.iter().map(|(bend, _)| *bend)) <= unlike(logs.iter().map(|(bend, unit)| bend + unit))
    }
}

/// The sum of squares about the mean.
fn unlike(values: impl Iterator<Item = f64> + Clone) -> f64 {
    let mean = values.clone().sum::<f64>() / values.clone().count().max(1) as f64;
    values.map(|value| (value - mean).powi(2)).sum()
}

impl Model {
    /// Takes other units where coordinates are of very different scales, and leaves them again if the probe that follows contradicts
    /// them: sections 2 to 5 then begin again with the answers held.
    pub(super) fn fit_units(&mut self, point: &[f64]) {
        let is_dense = matches!(Curvature::of(self.start.len()), Curvature::Matrix { .. });
        let is_exact = !self.noise.is_found() && self.noise.last <= 0.0;
        if self.are_units_settled
            || matches!(self.verdict, Verdict::SetAside { .. })
            || self.own.is_some()
            || !(is_dense && is_exact && self.answers.count() >= FRUGAL.at_start)
        {
            return;
        }
        let lengths = self.units.lengths(&self.answers);
        if self.units.is_plain() {
            let asked = self.answers.count() as f64;
            let by_chance = if self.all_asked() { 0.0 } else { FRUGAL.units_by_chance / asked };
            if let Some(units) = Units::for_lengths(&lengths, FRUGAL.units_apart + by_chance) {
                self.change_units(units);
            }
            return;
        }
        let probe =
            self.answers.latest().filter(|(_, answer)| answer.fresh && self.plan.is_some() && !self.are_units_tried);
        let is_refuted = match probe.and_then(|(_, answer)| answer.secant.as_ref()) {
            Some(secant) => {
                self.are_units_tried = true;
                !self.units.are_borne_out(secant)
            }
            // More answers may show that it was chance: coordinates are alike without units, or unlike in them, such as one that nobody
            // asked before had anything in.
            None => {
                let inside = self.units.gradient_inside(&lengths);
                Units::for_lengths(&lengths, FRUGAL.units_apart).is_none()
                    || Units::for_lengths(&inside, FRUGAL.units_apart).is_some()
            }
        };
        if is_refuted {
            self.change_units(Units::default());
            let here = self.units.point_inside(point).into_owned();
            self.fit(&here);
        }
        self.are_units_settled = is_refuted || (self.are_units_tried && self.all_asked());
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
        if !self.told_smoothness {
            self.learn_sizes_anew();
        }
        match self.units.is_plain() {
            true => self.scale.restore(&self.answers),
            // `L_i` that were told do not bound curvature in these units, and secants that were not meant to may not show it.
            false => self.scale.change_units(&self.answers),
        }
        (self.plan, self.alignment, self.estimate) = (None, Alignment::default(), None);
        self.changed_units = true;
        self.pace.hurry();
        if self.scale.mean > 0.0 {
            self.begin_plan();
        }
    }
}
