//! Shared curvature and users' own, § 4.

use faer::Mat;

use super::{
    Answer, Curvature, Naive, Secant, SecantSums, Spread,
    algebra::{Matrix, Vector, compose, dot, eigen, identity, outer, scaled_matrix, trace},
    prior_curvature,
};

impl Naive {
    /// `T²`, before it is scaled, is the root of the pooled spread.
    fn metric(&self, c: &Matrix) -> (Matrix, Matrix) {
        let (k, dim) = (self.sums().k, self.dim() as f64);
        let pooled = scaled_matrix(1.0 / (k + dim), &(scaled_matrix(k, c) + identity(self.dim(), trace(c))));
        let (values, vectors) = eigen(&pooled);
        let quarter: Vec<f64> = values.iter().map(|value| value.max(1e-3 * trace(c) / dim).powf(0.25)).collect();
        let scale = (dim / quarter.iter().map(|value| value * value).sum::<f64>()).sqrt();
        let with = |f: &dyn Fn(f64) -> f64| compose(&vectors, quarter.iter().map(|value| f(scale * value)));
        (with(&|value| value), with(&|value| 1.0 / value))
    }

    /// Sections 3 and 4.1.
    pub(super) fn spread(&self) -> Spread {
        let b = &self.shared;
        let c = self.covariance(b);
        let (t, t_inverse) = self.metric(&c);
        let dim = self.dim() as f64;
        let sigma2 = trace(&(&t_inverse * &c * &t_inverse)) / dim;
        let SecantSums { q, y, z, number } = self.secant_sums();
        let own = z - b * y.transpose() - &y * b + b * q * b;
        let seen = trace(&(&t_inverse * own * &t_inverse)).max(0.0);
        let h2 = (seen + self.typical * self.typical) / (dim * (number + 1.0));
        Spread { r: self.unexplained(b), t, t_inverse, sigma2, h2 }
    }

    /// Sections 4.2 to 4.4.
    pub(super) fn curvature(&self, spread: &Spread) -> Curvature {
        let Spread { r, t, t_inverse, sigma2, h2 } = spread;
        let (sums, secants) = (self.sums(), self.secant_sums());
        let (dim, most) = (self.dim() as f64, self.mean_smoothness);
        let weight = sigma2 / h2;
        let corrected = &sums.gx - scaled_matrix(1.0 / (sums.k * (sums.k - 1.0).max(1.0)), &(r * &self.first_moves));
        let slopes = t_inverse * corrected * t + scaled_matrix(weight, &(t_inverse * &secants.y * t));
        let seen = t * &sums.xx * t + scaled_matrix(weight, &(t * &secants.q * t));

        let prior = prior_curvature(self.parameters, most);
        let many = self.parameters as f64;
        let prior_weight = sigma2 / (0.2 * prior).powi(2);
        let asked = self.last_answers().len() as f64;
        let floor = most * (0.2 / (1.0 + secants.number + 0.1 * (asked - 1.0) * many / (many + 20.0))).max(0.002);
        let typical = ((trace(&slopes) + prior_weight * prior) / (trace(&seen) + prior_weight)).max(floor).min(most);

        let tau = dim * sigma2 / (self.varies * typical).powi(2);
        let (e, v) = eigen(&(seen + identity(self.dim(), tau)));
        let n = v.transpose() * (slopes + identity(self.dim(), tau * typical)) * &v;
        let fit = Mat::from_fn(self.dim(), self.dim(), |i, j| {
            let unsure = if i == j { 0.6 * sigma2.sqrt() / e[i].sqrt() } else { 0.0 };
            (n[(i, j)] + n[(j, i)]) / (e[i] + e[j]) + unsure
        });
        let (values, vectors) = eigen(&(&v * fit * v.transpose()));
        // `σ² V diag(1/e) Vᵀ`.
        let unsure = scaled_matrix(*sigma2, &compose(&v, e.iter().map(|e| 1.0 / e)));
        let variance = vectors.transpose() * unsure * &vectors;
        let least = |k: usize| floor.min((2.0 * variance[(k, k)].sqrt()).max(1e-7 * most));
        let within: Vec<f64> = values.iter().enumerate().map(|(k, value)| value.max(least(k)).min(most)).collect();
        let h = compose(&vectors, within.iter().copied());
        Curvature { typical, shared: t * h * t, values: within, vectors }
    }

    /// The secants that a user keeps, the oldest first.
    fn kept_secants(&self, user: usize) -> Vec<&Secant> {
        let most = if self.parameters > 256 { 1 } else { (4 * self.parameters.min(32)).div_ceil(self.sizes.len()) };
        let mut kept: Vec<&Secant> = self.secants.iter().filter(|secant| secant.user == user).collect();
        kept.drain(..kept.len().saturating_sub(most));
        kept
    }

    /// `H_i`, Eq. (17), for a `B`.
    fn bent(&self, user: usize, b: &Matrix) -> Matrix {
        let mut h = b.clone();
        for Secant { u, y, .. } in self.kept_secants(user) {
            let hu: Vector = &h * u;
            let (found, believed) = (dot(y, u), dot(u, &hu));
            if found > 1e-6 * believed {
                h += outer(1.0 / found, y, y) - outer(1.0 / believed, &hu, &hu);
            }
        }
        h
    }

    /// What carries a user's answer.
    pub(super) fn carrying_curvature(&self, answer: &Answer, b: &Matrix) -> Matrix {
        match self.last_secant(answer.user) {
            Some(Secant { u, y, .. }) if self.parameters > 256 => b + outer(1.0, &(y - b * u), u),
            _ => self.bent(answer.user, b),
        }
    }

    /// `B̄`.
    fn mean_curvature(&self, b: &Matrix) -> Matrix {
        let mut sum = identity(self.dim(), 0.0);
        for answer in self.last_answers() {
            sum += scaled_matrix(self.sizes[answer.user], &self.bent(answer.user, b));
        }
        scaled_matrix(1.0 / self.sums().k, &sum)
    }

    /// `l` and `U`.
    pub(super) fn steps(&self, spread: &Spread, curvature: &Curvature) -> (Vec<f64>, Matrix) {
        if self.secants.is_empty() {
            // The same matrix as H, but where its eigenvalues were moved to a bound they are equal, and U could be anything.
            return (curvature.values.clone(), curvature.vectors.clone());
        }
        let t_inverse = &spread.t_inverse;
        let (values, vectors) = eigen(&(t_inverse * self.mean_curvature(&curvature.shared) * t_inverse));
        (values.iter().map(|value| value.max(1e-7 * self.mean_smoothness)).collect(), vectors)
    }
}
