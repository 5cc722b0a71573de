//! How large the users' curvature is, docs/frugal.md § 2: known, or learned on the way.

use serde::{Deserialize, Serialize};

use super::answers::Answer;
use crate::{
    Smoothness,
    frugal::{FRUGAL, TINY},
    kernel,
};

/// The mean `L_i`, known or learned; 0 while nothing is known of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Scale {
    pub known: bool,
    pub mean: f64,
    pub largest: f64,
    /// The largest curvature between two answers of one user, and in how many there was any.
    steepest: f64,
    secants: f64,
    /// The lengths of first answers: of all who were asked, and of those who were asked again.
    asked: Lengths,
    again: Lengths,
    /// How often no curvature was seen.
    flat: i32,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Lengths {
    sum: f64,
    count: f64,
}

impl Lengths {
    fn add(&mut self, length: f64) {
        self.sum += length;
        self.count += 1.0;
    }

    fn mean(&self) -> f64 {
        self.sum / self.count.max(1.0)
    }
}

impl Scale {
    pub fn new(smoothness: Option<&Smoothness>) -> Self {
        smoothness.map_or_else(Self::default, |known| Self {
            known: true,
            mean: known.mean(),
            largest: known.max(),
            ..Self::default()
        })
    }

    /// Takes an answer, and the one of the same user that it replaces, to learn the mean where it is not known: Eq. (3).
    pub fn see(&mut self, now: &Answer, before: Option<&Answer>, all_asked: bool) {
        if self.known {
            return;
        }
        match before {
            None => self.asked.add(now.norm),
            Some(first) if first.times == 1 => self.again.add(first.norm),
            Some(_) => {}
        }
        if let (true, Some(secant)) = (now.fresh, &now.secant) {
            let curvature = kernel::norm(&secant.change);
            let kept = if all_asked { FRUGAL.scale_kept } else { 1.0 };
            self.steepest = (kept * self.steepest).max(curvature);
            if curvature > 0.0 {
                self.secants += 1.0;
            } else {
                self.flat += 1;
            }
        }
        // Those whose answers are longer are believed to have more curvature, in proportion to the root.
        let longer = (self.asked.mean() / self.again.mean().max(TINY)).sqrt().clamp(1.0, FRUGAL.scale_longer);
        let margin = if all_asked { 1.0 + (FRUGAL.scale_margin - 1.0) / self.secants } else { FRUGAL.scale_margin };
        let mean = margin * self.steepest * longer;
        // Not where nothing was seen, nor past what numbers can hold.
        if mean > 0.0 && mean.is_finite() {
            self.mean = mean;
            self.largest = mean;
        }
    }

    /// How far to go to look for curvature: ten times as far each time there was none, up to a unit.
    pub fn probe_length(&self, unit: f64) -> f64 {
        FRUGAL.probe_length * 10f64.powi(self.flat.min(FRUGAL.probe_growths)) * unit
    }
}
