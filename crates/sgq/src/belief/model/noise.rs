//! Noise in answers, docs/frugal.md § 13: stated by users, or found where two answers contradict each other.

use serde::{Deserialize, Serialize};

use super::{Answer, Model, secants::Secant};
use crate::{frugal::FRUGAL, kernel};

/// The variance of an answer's noise, all coordinates together: `v`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Noise {
    /// The variances that contradictions show, where none are stated: their sum, and how many.
    sum: f64,
    count: f64,
    /// What was found when answers were last looked at in that light.
    reckoned: f64,
    /// Of the last answer.
    pub last: f64,
}

/// What is kept of a repeated answer with noise.
pub(crate) struct Kept {
    pub gradient: Vec<f64>,
    /// The variance left in it.
    pub noise: f64,
    /// The secant to it, where noise does not explain it, drawn to shared curvature by the part that noise may explain.
    pub secant: Option<Secant>,
}

impl Noise {
    /// The variance of an answer.
    pub fn of(&self, stated: Option<&[f64]>, dim: usize) -> f64 {
        match stated {
            Some([each]) => each * dim as f64,
            Some(each) => each.iter().sum(),
            None => self.found(),
        }
    }

    /// Whether answers contradict each other, so that they cannot be exact.
    pub fn is_found(&self) -> bool {
        self.count > 0.0
    }

    fn found(&self) -> f64 {
        if self.count > 0.0 { self.sum / self.count } else { 0.0 }
    }

    /// Looks at two answers of one user whose noise is not stated, and whose curvature is believed to be at most `most`: Eq. (57) and (58).
    /// Returns the variance found, where that is much more than what was reckoned with.
    pub fn see(&mut self, before: &Answer, point: &[f64], gradient: &[f64], most: f64) -> Option<f64> {
        let difference = |now: &[f64], then: &[f64]| -> Vec<f64> { now.iter().zip(then).map(|(n, t)| n - t).collect() };
        let (way, change) = (difference(point, &before.point), difference(gradient, &before.gradient));
        let length = kernel::norm(&way);
        let rounding = FRUGAL.least_noise * (before.norm + kernel::norm(gradient));
        let contradicts = match length > 0.0 {
            true => kernel::dot(&way, &change) / length < -rounding,
            false => kernel::norm(&change) > rounding,
        };
        let (found, squared) = (self.found(), kernel::norm_squared(&change));
        // A user that is not convex contradicts itself, too, but bends no more than others.
        let is_bent = length > 0.0 && squared.sqrt() <= most * length;
        if !contradicts || is_bent || !squared.is_finite() {
            return None;
        }
        let left = if found > 0.0 { (before.noise / found).min(1.0) } else { 1.0 };
        let each = squared / (1.0 + left);
        // A user that is not convex must not count for much more than all others.
        self.sum += if found > 0.0 { each.min(FRUGAL.noise_growth * found) } else { each };
        self.count += 1.0;
        (self.found() > 2.0 * self.reckoned).then(|| {
            self.reckoned = self.found();
            self.reckoned
        })
    }
}

impl Model {
    /// What to keep of a repeated answer with noise of that variance: Eq. (61) and (62). None where there is no noise.
    pub(super) fn kept(&self, user: usize, point: &[f64], gradient: &[f64], noise: f64) -> Option<Kept> {
        let before = self.answers.get(user)?;
        if noise + before.noise <= 0.0 {
            return None;
        }
        let (size, dim) = (self.sizes[user], point.len() as f64);
        let doubt = before.noise + noise;
        let mut secant =
            Secant::between(size, (&before.point, &before.gradient), (point, gradient), doubt).filter(Secant::is_clear);
        let mut kept = Kept { gradient: gradient.to_vec(), noise, secant: None };
        if let Some(plan) = self.plan.as_ref().filter(|_| self.own_curvature > 0.0) {
            let way: Vec<f64> = point.iter().zip(&before.point).map(|(now, then)| now - then).collect();
            let mut carried = before.gradient.clone();
            kernel::add_scaled(&mut carried, size, &plan.shared(&way));
            if let Some(old) = &before.secant {
                let along = size * old.along(&before.point, point);
                kernel::add_scaled(&mut carried, along, &old.change);
                kernel::add_scaled(&mut carried, -along, &plan.shared(&old.direction));
            }
            let mut unsure =
                before.noise + FRUGAL.carried_doubt * size * size * self.own_curvature * before.unexplained(point);
            let off = kernel::distance_squared(gradient, &carried);
            if off > (unsure + noise) * (1.0 + FRUGAL.clear_sd * (2.0 / dim).sqrt()) {
                unsure = off - noise;
            }
            let part = unsure / (unsure + noise);
            if part < 1.0 {
                for (kept, carried) in kept.gradient.iter_mut().zip(&carried) {
                    *kept = carried + part * (*kept - carried);
                }
                kept.noise = part * noise;
            }
            if let Some(secant) = &mut secant {
                let (shared, part) = (plan.shared(&secant.direction), secant.told(self.own_curvature));
                secant
                    .change
                    .iter_mut()
                    .zip(&shared)
                    .for_each(|(change, shared)| *change = shared + part * (*change - shared));
            }
        }
        kept.secant = secant;
        Some(kept)
    }

    /// Looks at everything again where answers turn out to have noise of that variance: what noise explains is not curvature.
    pub(super) fn reckon_with(&mut self, noise: f64) {
        self.answers.doubt(noise);
        self.scale.relearn(&self.answers);
        (self.plan, self.alignment) = (None, super::Alignment::default());
        if self.scale.mean > 0.0 {
            self.begin_plan();
        }
    }

    /// What asking a user again would take off its noise, as a squared way along which its own curvature changes it as much: Eq. (63).
    pub(super) fn noise_as_way(&self, answer: &Answer, size: f64) -> f64 {
        if answer.noise > 0.0 && self.own_curvature > 0.0 {
            let told = answer.noise * answer.noise / (answer.noise + self.noise.last);
            told / (size * size * self.own_curvature)
        } else {
            0.0
        }
    }

    /// Below this the bound on the gradient cannot fall for noise, § 13.4; 0 where there is none.
    pub(crate) fn noise_floor(&self) -> f64 {
        if self.noise.last <= 0.0 {
            return 0.0;
        }
        let flattest = match &self.plan {
            Some(super::Plan::Dense(plan)) => plan.flattest(),
            Some(super::Plan::LowRank(plan)) => plan.inside.flattest(),
            None => None,
        };
        let mean = (self.noise.last / self.users() as f64).sqrt();
        FRUGAL.clear_sd * mean * (1.0 + flattest.map_or(0.0, |flattest| 2.0 * self.scale.mean / flattest))
    }
}
