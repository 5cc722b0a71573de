//! What answers say of users' curvature and gradients at a point: what standard errors are made of where nobody told more.

use super::{Model, Plan, bent::Bent};
use crate::{kernel, matrix::Square};

impl Model {
    /// `∇²f` as it is believed, `d × d`: shared curvature, improved by each user's own secants (docs/frugal.md § 4.5), or the mean of users'
    /// Hessians, where they told them (§ 12). None before curvature was fitted, and where numbers are past what can be held.
    ///
    /// ```
    /// use sgq::{Session, Settings, belief::Model, method};
    ///
    /// let settings = Settings::new(vec![5.0, 1.0], 2).budget(12);
    /// let mut session = Session::new(method::frugal(), settings)?;
    /// while let Some(query) = session.ask()? {
    ///     let gradient = [3.0 * query.point[0] - query.user as f64, 0.5 * query.point[1]];
    ///     session.tell(query.ticket, &gradient)?;
    /// }
    /// let model: &Model = session.belief().unwrap();
    /// let curvature = model.curvature().unwrap();
    /// assert!((curvature[0] - 3.0).abs() < 0.1 && (curvature[3] - 0.5).abs() < 0.1);
    /// let gradient = model.gradient_at(1, &[0.0, 0.0]).unwrap();
    /// assert!((gradient[0] + 1.0).abs() < 0.1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn curvature(&self) -> Option<Vec<f64>> {
        let dim = self.answers.mean_gradient().len();
        let mut mean = Square::zero(dim);
        if let Some(own) = self.own.as_ref().filter(|own| own.mean().is_some()) {
            let users = self.answers.users() as f64;
            for (user, _) in self.answers.iter() {
                mean.add(1.0 / users, own.curvature(user, self.sizes[user])?.as_ref());
            }
        } else {
            let plan = self.plan.as_ref()?;
            for k in 0..dim {
                let image = plan.shared(&unit_vector(dim, k));
                image.iter().enumerate().for_each(|(row, value)| mean.set(row, k, *value));
            }
            let asked: f64 = self.answers.asked().map(|user| self.sizes[user]).sum();
            for (user, _) in self.answers.iter() {
                let bent = self.bent(plan, user)?;
                mean.add_squares(&bent.squares(self.sizes[user] / asked).collect::<Vec<_>>());
            }
        }
        let units = self.units.gradient_outside(&vec![1.0; dim]).into_owned();
        let entries = (0..dim * dim).map(|k| units[k / dim] * mean.at(k / dim, k % dim) * units[k % dim]);
        let values: Vec<f64> = entries.collect();
        kernel::all_within(&values, f64::MAX).then_some(values)
    }

    /// `∇f_i` at a point: the user's last answer, carried there along the user's curvature. None for users who were not asked.
    pub fn gradient_at(&self, user: usize, point: &[f64]) -> Option<Vec<f64>> {
        let answer = self.answers.get(user)?;
        let there = self.units.point_inside(point);
        let way: Vec<f64> = there.iter().zip(&answer.point).map(|(there, x)| there - x).collect();
        let size = self.sizes[user];
        let change = match self.own.as_ref().filter(|own| own.mean().is_some()) {
            Some(own) => own.change(user, size, &way)?,
            None => {
                let plan = self.plan.as_ref()?;
                let mut change = plan.shared(&way);
                self.bent(plan, user)?.add_times(1.0, &way, &mut change);
                change.iter_mut().for_each(|value| *value *= size);
                change
            }
        };
        let gradient: Vec<f64> = answer.gradient.iter().zip(change).map(|(slope, change)| slope + change).collect();
        Some(self.units.gradient_outside(&gradient).into_owned())
    }

    /// `H_i − B`.
    fn bent(&self, plan: &Plan, user: usize) -> Option<Bent> {
        Some(Bent::new(self.answers.get(user)?.secants(), |v| plan.shared(v)))
    }
}

fn unit_vector(dim: usize, k: usize) -> Vec<f64> {
    let mut unit = vec![0.0; dim];
    unit[k] = 1.0;
    unit
}
