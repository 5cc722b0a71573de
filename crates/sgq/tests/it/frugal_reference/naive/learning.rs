//! Where no `L_i` are known.

use faer::Col;

use super::{
    Naive, Secant,
    algebra::{identity, scaled},
    prior_curvature,
};

impl Naive {
    /// What the answers say of `L`; false if nothing, and the next question is a little way down the slope.
    pub(super) fn learn(&mut self, user: usize) -> bool {
        let kept = |secant: &Secant| if secant.all_asked { 0.9 } else { 1.0 };
        let curvature =
            self.secants.iter().fold(0.0f64, |before, secant| (kept(secant) * before).max(secant.y.norm_l2()));
        if curvature == 0.0 {
            let answer = &self.answers[self.answers.len() - 1];
            self.x = &self.x - scaled(1e-4 * self.unit() / answer.g.norm_l2(), &answer.g);
            return false;
        }
        let mean_first = |among: &dyn Fn(usize) -> bool| {
            let lengths: Vec<f64> =
                self.firsts.iter().filter(|(user, _)| among(*user)).map(|(_, length)| *length).collect();
            lengths.iter().sum::<f64>() / lengths.len() as f64
        };
        let longer = mean_first(&|_| true) / mean_first(&|user| self.last_secant(user).is_some());
        let begins = self.mean_smoothness == 0.0;
        let margin = if self.all_asked() { 1.0 + 3.0 / self.secants.len() as f64 } else { 4.0 };
        self.mean_smoothness = margin * curvature * longer.sqrt().clamp(1.0, 10.0);
        if begins {
            self.begin(user);
        }
        true
    }

    /// `1 + ‖x_0‖`.
    pub(super) fn unit(&self) -> f64 {
        1.0 + self.start.iter().zip(self.first_point.iter()).map(|(x, first)| (x + first).powi(2)).sum::<f64>().sqrt()
    }

    /// The sums begin with the second answer of the only user.
    fn begin(&mut self, user: usize) {
        self.start = self.point();
        self.first_point = scaled(-1.0, &self.x);
        self.x = Col::zeros(self.dim());
        self.answers.remove(0);
        self.answers[0].x = self.x.clone();
        self.in_first_moves = 1.0;
        self.probed = Some(user);
        self.typical = prior_curvature(self.parameters, self.mean_smoothness);
        self.shared = identity(self.dim(), self.typical);
    }

    /// Whether there is no `L` yet, and the only user is asked again.
    pub fn probes(&self) -> bool {
        self.mean_smoothness == 0.0 && !self.answers.is_empty()
    }
}
