//! How large the users' curvature is, docs/frugal.md § 2: known, or learned on the way.

use serde::{Deserialize, Serialize};

use super::{
    answers::{Answer, Answers},
    secants::Secant,
};
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
    /// The mean that was told, whether it is in use or not.
    told: Option<f64>,
    /// The largest curvature between two answers of one user, and in how many there was any.
    steepest: f64,
    secants: f64,
    /// The lengths of first answers: of all who were asked, and of those who were asked again.
    asked: Lengths,
    again: Lengths,
    /// How often no curvature was seen.
    flat: i32,
    /// Whether the first curvature seen looks like noise, and the same user is to say the same again.
    pub doubted: bool,
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
        smoothness.map_or_else(Self::default, |known| Self { known: true, mean: known.mean(), ..Self::default() })
    }

    /// Takes an answer, and the one of the same user that it replaces, to learn the mean where it is not known: Eq. (3).
    ///
    /// `news` is what it says of curvature, and `unit` what counts as far.
    pub fn see(
        &mut self,
        (now, size): (&Answer, f64),
        before: Option<&Answer>,
        news: Option<&Secant>,
        unit: f64,
        all_asked: bool,
    ) {
        if self.known {
            return;
        }
        match before {
            None => self.asked.add(now.norm),
            Some(first) if first.times == 1 => self.again.add(first.norm),
            Some(_) => {}
        }
        // The same answer again at the same point: there is no noise.
        self.doubted = false;
        if let Some(secant) = news {
            let curvature = if secant.is_clear() { secant.curvature() } else { 0.0 };
            self.doubted = self.mean == 0.0 && curvature > 0.0 && looks_like_noise(secant, now.norm / size, unit);
            let kept = if all_asked { FRUGAL.scale_kept } else { 1.0 };
            if curvature > 0.0 || secant.noise <= 0.0 {
                self.steepest = (kept * self.steepest).max(curvature);
            }
            if curvature > 0.0 {
                self.secants += 1.0;
            } else {
                self.flat += 1;
            }
        }
        if !self.doubted {
            self.margin(all_asked);
        }
    }

    fn margin(&mut self, all_asked: bool) {
        // Those whose answers are longer are believed to have more curvature, in proportion to the root.
        let longer = (self.asked.mean() / self.again.mean().max(TINY)).sqrt().clamp(1.0, FRUGAL.scale_longer);
        let margin = if all_asked { 1.0 + (FRUGAL.scale_margin - 1.0) / self.secants } else { FRUGAL.scale_margin };
        let mean = margin * self.steepest * longer;
        // Not where nothing was seen, nor past what numbers can hold.
        if mean > 0.0 && mean.is_finite() {
            self.mean = mean;
        }
    }

    /// Learns from the secants held alone, where others turned out to be noise.
    pub fn relearn(&mut self, answers: &Answers) {
        if self.known {
            return;
        }
        let secants = || answers.iter().filter_map(|(_, answer)| answer.secant.as_ref());
        self.steepest = secants().map(Secant::curvature).fold(0.0, f64::max);
        self.secants = secants().count() as f64;
        (self.mean, self.flat, self.doubted) = (0.0, 0, false);
        self.margin(answers.all_asked());
    }

    /// Forgets what was learned, and what was known, where answers are seen in other units.
    pub fn change_units(&mut self, answers: &Answers) {
        *self = Self { told: self.told, ..Self::default() };
        for (_, answer) in answers.iter() {
            self.asked.add(answer.norm);
            if answer.times > 1 {
                self.again.add(answer.norm);
            }
        }
    }

    /// Back in the units in which it was known, if it was; else it is learned from the secants held.
    pub fn restore(&mut self, answers: &Answers) {
        self.change_units(answers);
        match self.told {
            Some(mean) => (self.known, self.mean) = (true, mean),
            None => self.relearn(answers),
        }
    }

    /// How far to go to look for curvature: ten times as far each time there was none, up to a unit. With noise it is so far
    /// from the first time on that a user whose gradient vanishes within a unit shows more than noise: § 13.2.
    pub fn probe_length(&self, unit: f64, answer: &Answer) -> f64 {
        if self.doubted {
            return 0.0;
        }
        let growth = 10f64.powi(self.flat.min(FRUGAL.probe_growths));
        if answer.noise > 0.0 {
            let clear = FRUGAL.clear_sd * (2.0 * answer.noise).sqrt() / answer.norm;
            return (FRUGAL.probe_length.max(clear) * growth).min(1.0) * unit;
        }
        FRUGAL.probe_length * growth * unit
    }
}

/// Whether a user's gradient, which has that length without the size, would vanish very near by a secant: Eq. (59).
fn looks_like_noise(secant: &Secant, norm: f64, unit: f64) -> bool {
    secant.noise <= 0.0 && norm < FRUGAL.doubted_radius * unit * kernel::norm(&secant.change)
}
