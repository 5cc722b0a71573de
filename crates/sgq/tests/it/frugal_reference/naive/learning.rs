//! Where no `L_i` are known.

use faer::Col;

use super::{
    Naive, Secant,
    algebra::{Vector, identity, scaled},
    prior_curvature,
};

impl Naive {
    /// What the answers say of `L`; false if nothing, and the next question is a little way down the slope.
    pub(super) fn learn(&mut self, user: usize) -> bool {
        let kept = |secant: &Secant| if secant.all_asked { 0.9 } else { 1.0 };
        let curvature =
            self.secants.iter().fold(0.0f64, |before, secant| (kept(secant) * before).max(secant.y.norm_l2()));
        if curvature == 0.0 {
            if !self.waits_at_start() {
                let mut sum = Col::zeros(self.dim());
                for answer in self.last_answers() {
                    sum += scaled(self.sizes[answer.user], &answer.g);
                }
                self.x = &self.x - scaled(1e-4 * self.unit() / sum.norm_l2(), &sum);
            }
            return false;
        }
        let mean_first = |among: &dyn Fn(usize) -> bool| {
            let lengths: Vec<f64> =
                self.firsts.iter().filter(|(user, _)| among(*user)).map(|(_, length)| *length).collect();
            lengths.iter().sum::<f64>() / lengths.len() as f64
        };
        let longer = mean_first(&|_| true) / mean_first(&|user| self.last_secant(user).is_some());
        let begins = self.mean_smoothness == 0.0;
        let margin = if self.all_asked() { 1.0 + 1.0 / self.secants.len() as f64 } else { 2.0 };
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

    /// The gradient of a user that was not asked before, without the size that its length says.
    pub(super) fn with_learned_size(&mut self, user: usize, gradient: &[f64]) -> Vector {
        let gradient = Col::from_fn(gradient.len(), |row| gradient[row]);
        if !self.is_known {
            let mut lengths: Vec<f64> =
                self.last_answers().iter().map(|answer| self.sizes[answer.user] * answer.g.norm_l2()).collect();
            lengths.push(gradient.norm_l2());
            let mean = lengths.iter().sum::<f64>() / lengths.len() as f64;
            self.sizes[user] = (gradient.norm_l2() / mean).sqrt().clamp(0.25, 4.0);
        }
        scaled(1.0 / self.sizes[user], &gradient)
    }

    /// The sums begin with everybody's last answer, and count from where that of the first user was taken.
    fn begin(&mut self, user: usize) {
        let before = self.answers.iter().position(|answer| answer.user == user).expect("the answer before the probe");
        self.answers.remove(before);
        let first = self.firsts[0].0;
        let first = self.answers.iter().find(|answer| answer.user == first).expect("the first user's answer");
        let way = first.x.clone();
        self.first = first.g.clone();
        self.start = self.start.iter().zip(way.iter()).map(|(start, way)| start + way).collect();
        self.first_point = scaled(-1.0, &way);
        self.x = &self.x - &way;
        self.answers.iter_mut().for_each(|answer| answer.x = &answer.x - &way);
        self.in_first_moves = self.answers.len() as f64;
        self.probed = Some(user);
        self.typical = prior_curvature(self.parameters, self.mean_smoothness);
        self.shared = identity(self.dim(), self.typical);
    }

    /// Whom to ask again, where there is no `L` yet and enough were asked: whose answer is the longest.
    pub fn probes(&self) -> Option<usize> {
        let is_time = self.mean_smoothness == 0.0 && !self.waits_at_start();
        let longest = self.firsts.iter().copied().reduce(|one, other| if other.1 > one.1 { other } else { one });
        longest.filter(|_| is_time).map(|(user, _)| user)
    }
}
