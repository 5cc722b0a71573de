//! Users' own curvature along their own gradients.

use faer::Mat;

use super::{
    Answer, Naive, OfEta,
    algebra::{Matrix, Vector, dot, outer, scaled, scaled_matrix},
};

impl Naive {
    /// What the newest secant says of `η`, and what is left of its `y` without that; `last` is that user's answer before.
    pub(super) fn align(&mut self, user: usize, last: &Vector) {
        let along = self.along_gradient(user, last) - self.mean_along_gradients();
        let Some(mut secant) = self.secants.pop() else {
            return;
        };
        let (expected, left) = (along * &secant.u, &secant.y - &self.shared * &secant.u);
        secant.of_eta = Some(OfEta { expected: expected.clone(), left });
        self.secants.push(secant);
        let eta = self.eta();
        if let Some(secant) = self.secants.last_mut() {
            secant.rest = &secant.y - scaled(eta, &expected);
        }
    }

    fn eta(&self) -> f64 {
        let (mut seen, mut looked, mut count) = (0.0, 0.0, 0.0);
        for (age, of) in self.secants.iter().filter_map(|secant| secant.of_eta.as_ref()).rev().enumerate() {
            let weight = self.kept().powi(age as i32);
            seen += weight * dot(&of.expected, &of.left);
            looked += weight * dot(&of.expected, &of.expected);
            count += weight;
        }
        let squares: f64 = self.sizes.iter().map(|size| size * size).sum();
        let most = self.mean_smoothness * self.sizes.len() as f64 / squares;
        if count == 0.0 {
            return 0.0;
        }
        (seen / (looked * (1.0 + 3.0 / count) + 1.0 / self.parameters as f64)).max(0.0).min(most)
    }

    /// `s_i g gᵀ / ‖g‖²`.
    fn along_gradient(&self, user: usize, g: &Vector) -> Matrix {
        let squared = dot(g, g);
        let zero = Mat::zeros(self.dim(), self.dim());
        if squared > 0.0 { zero + outer(self.sizes[user] / squared, g, g) } else { zero }
    }

    /// `M`.
    fn mean_along_gradients(&self) -> Matrix {
        let mut sum = Mat::zeros(self.dim(), self.dim());
        for answer in self.last_answers() {
            let along = self.along_gradient(answer.user, &answer.g);
            sum += scaled_matrix(self.sizes[answer.user], &along);
        }
        scaled_matrix(1.0 / self.sums().k, &sum)
    }

    /// `D̂_i`.
    pub(super) fn own_curvature(&self, answer: &Answer) -> Matrix {
        let along = self.along_gradient(answer.user, &answer.g) - self.mean_along_gradients();
        scaled_matrix(self.eta(), &along)
    }
}
