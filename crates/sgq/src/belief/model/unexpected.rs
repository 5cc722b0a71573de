//! How far an answer is from what is expected of it, beside the answers of all others: docs/frugal.md § 16.

use super::{Answer, Model, Verdict, learned_size, surely};
use crate::{Reply, frugal::FRUGAL, kernel};

impl Model {
    /// `e`, Eq. (71). None before three others were asked or there is curvature to carry their answers by, where these are all zero or
    /// numbers are past what can be held, and for an answer that would be set aside.
    pub(super) fn unexpected(&self, reply: &Reply<'_>) -> Option<f64> {
        let (point, gradient) = (self.units.point_inside(reply.point), self.units.gradient_inside(reply.gradient));
        let (user, noise) = (reply.user, self.noise.of(reply.variance, point.len()));
        if self.would_set_aside(&Reply { point: &point, gradient: &gradient, ..*reply }) {
            return None;
        }
        let others = || self.answers.iter().filter(|(other, _)| *other != user);
        let count = others().count();
        if count < FRUGAL.others_to_compare {
            return None;
        }
        let size = self.size_with(user, &gradient);
        let gradient: Vec<f64> = gradient.iter().map(|slope| slope / size).collect();
        let lengths = others().map(|(other, answer)| (answer.norm / self.sizes[other]).powi(2));
        let typical = (lengths.sum::<f64>() / count as f64).sqrt();

        let of_others = self.expected_of_others(&point, count as f64, others)?;
        let off = kernel::distance(&gradient, &of_others);
        let off_own = self.expected_of(user, &point).map_or(off, |own| kernel::distance(&gradient, &own));
        let off = surely(off.min(off_own), noise / (size * size));
        Some(off / typical).filter(|times| typical > 0.0 && !times.is_nan())
    }

    /// `ō`: the mean of the others' last answers, carried to a point by shared curvature.
    fn expected_of_others<'a, I>(&self, point: &[f64], count: f64, others: impl Fn() -> I) -> Option<Vec<f64>>
    where
        I: Iterator<Item = (usize, &'a Answer)>,
    {
        let (mut mean, mut there) = (vec![0.0; point.len()], vec![0.0; point.len()]);
        kernel::add_all(
            &mut mean,
            others().map(|(user, answer)| (1.0 / (count * self.sizes[user]), &*answer.gradient)),
        );
        kernel::add_all(&mut there, others().map(|(_, answer)| (1.0 / count, &*answer.point)));
        let way: Vec<f64> = point.iter().zip(&there).map(|(x, there)| x - there).collect();
        let change = match self.own() {
            Some(own) => own.change_of_others(&way)?,
            None => self.plan.as_ref()?.shared(&way),
        };
        kernel::add_scaled(&mut mean, 1.0, &change);
        Some(mean)
    }

    /// `o_i`: the user's own last answer, carried to a point by what is known of its own curvature.
    fn expected_of(&self, user: usize, point: &[f64]) -> Option<Vec<f64>> {
        let (answer, size) = (self.answers.get(user)?, self.sizes[user]);
        let mut expected: Vec<f64> = answer.gradient.iter().map(|slope| slope / size).collect();
        let mut way: Vec<f64> = point.iter().zip(&answer.point).map(|(x, last)| x - last).collect();
        if let Some(own) = self.own() {
            kernel::add_scaled(&mut expected, 1.0 / size, &own.change(user, size, &way)?);
            return Some(expected);
        }
        if let Some(secant) = &answer.secant {
            let along = secant.along(&answer.point, point);
            kernel::add_scaled(&mut expected, along, &secant.change);
            kernel::add_scaled(&mut way, -along, &secant.direction);
        }
        kernel::add_scaled(&mut expected, 1.0, &self.plan.as_ref()?.shared(&way));
        Some(expected)
    }

    /// The user's size, or what its first answer would make of it.
    fn size_with(&self, user: usize, gradient: &[f64]) -> f64 {
        if self.told_smoothness || self.answers.get(user).is_some() {
            return self.sizes[user];
        }
        let size = learned_size(self.times_the_mean_length(kernel::norm(gradient)));
        if size.is_finite() { size } else { self.sizes[user] }
    }

    /// Whether an answer would be set aside, in the model's own units: not where it contradicts an earlier one of its user, which is taken
    /// for noise.
    fn would_set_aside(&self, reply: &Reply<'_>) -> bool {
        let Reply { user, point, gradient, variance, .. } = *reply;
        if self.proven_steps || self.own().is_some() || reply.hessian.is_some() {
            return false;
        }
        let mut noise = self.noise;
        if let (None, Some(before)) = (variance, self.answers.get(user)) {
            noise.see(before, point, gradient, self.steepest_of(user));
        }
        let length = surely(kernel::norm(gradient), noise.of(variance, point.len())) / self.sizes[user];
        let uphill = self.is_uphill_at(point, gradient);
        let verdict =
            self.outliers.look(user, length, uphill, |enough| self.answers.longest_up_to(&self.sizes, enough));
        matches!(verdict, Verdict::SetAside { .. })
    }
}
