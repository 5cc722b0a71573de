//! How far an answer is out of line, Eq. (71).

use faer::Col;

use super::{
    Naive,
    algebra::{Vector, dot, scaled},
};

impl Naive {
    /// `e` of an answer that is not taken in; none where nothing is said.
    pub fn out_of_line(&self, user: usize, point: &[f64], gradient: &[f64]) -> Option<f64> {
        let x: Vector = Col::from_fn(self.dim(), |row| point[row] - self.start[row]);
        let told: Vector = Col::from_fn(self.dim(), |row| gradient[row]);
        let others: Vec<_> = self.last_answers().into_iter().filter(|answer| answer.user != user).collect();
        if self.mean_smoothness == 0.0 || others.len() < 3 || self.sets_aside(user, &x, &told) {
            return None;
        }
        let g = scaled(1.0 / self.size_if_told(user, &told), &told);
        let mean_of = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let typical2 = mean_of(&others.iter().map(|answer| dot(&answer.g, &answer.g)).collect::<Vec<_>>());
        let mut expected = Col::zeros(self.dim());
        for answer in &others {
            let carried = &answer.g + &self.shared * (&x - &answer.x);
            expected += scaled(1.0 / others.len() as f64, &carried);
        }
        let mut off = (&g - &expected).norm_l2();
        if let Some(last) = self.last_answers().into_iter().find(|answer| answer.user == user) {
            let way = &x - &last.x;
            let mut own = &last.g + &self.shared * &way;
            if let Some(secant) = self.last_secant(user) {
                own += scaled(dot(&secant.u, &way), &(&secant.y - &self.shared * &secant.u));
            }
            off = off.min((&g - &own).norm_l2());
        }
        Some(off / typical2.sqrt())
    }

    fn sets_aside(&self, user: usize, x: &Vector, told: &Vector) -> bool {
        let (Some(anchor), g) = (&self.anchor, scaled(1.0 / self.sizes[user], told)) else {
            return false;
        };
        let before = self.set_aside_last.as_ref().filter(|before| before.user == user);
        let is_believed = before.is_some_and(|before| g.norm_l2() > 0.7 * before.length);
        !is_believed && self.is_far_off(user, &(x - anchor), &g) && !self.is_noise(user, x, &g)
    }

    /// Whether an answer contradicts the user's last one, Eq. (57), and what that shows of noise leaves less than `3 max ‖g_j‖` of it.
    fn is_noise(&self, user: usize, x: &Vector, g: &Vector) -> bool {
        let Some(last) = self.last_answers().into_iter().find(|answer| answer.user == user) else {
            return false;
        };
        let (p, change) = (x - &last.x, g - &last.g);
        let length = p.norm_l2();
        let epsilon = 1e-6 * (g.norm_l2() + last.g.norm_l2());
        let contradicts = if length > 0.0 { dot(&p, &change) < -epsilon * length } else { change.norm_l2() > epsilon };
        let squares: f64 = self.sizes.iter().map(|size| size * size).sum();
        let most = self.sizes[user] * self.mean_smoothness * self.sizes.len() as f64 / squares;
        let is_bent = length > 0.0 && change.norm_l2() <= most * length;
        let left = g.norm_l2() - 3.0 * change.norm_l2() / 2f64.sqrt();
        contradicts && !is_bent && left <= 3.0 * self.longest_last()
    }

    fn size_if_told(&self, user: usize, told: &Vector) -> f64 {
        if self.is_known || self.times_asked(user) > 0 {
            return self.sizes[user];
        }
        let lengths = self.last_answers().into_iter().map(|answer| self.sizes[answer.user] * answer.g.norm_l2());
        let lengths: Vec<f64> = lengths.chain([told.norm_l2()]).collect();
        (told.norm_l2() * lengths.len() as f64 / lengths.iter().sum::<f64>()).sqrt().clamp(0.25, 4.0)
    }
}
