//! What remains, § 14.1.

use faer::Col;

use super::{
    MeanGradient, Naive, Spread,
    algebra::{Matrix, Vector},
};
use crate::frugal_reference::remaining::{Expected, Terms};

/// What a move is made of: `l`, `U`, and what was found before.
pub(super) struct Basis<'a> {
    pub l: &'a [f64],
    pub u: &'a Matrix,
    pub spread: &'a Spread,
    pub mean: &'a MeanGradient,
}

impl Basis<'_> {
    /// A point in these directions.
    fn along(&self, x: &Vector) -> Vector {
        self.u.transpose() * &self.spread.t * x
    }

    /// `z`.
    fn newton(&self) -> Vector {
        let w = &self.spread.t_inverse * self.u;
        let (place, pull) = (self.along(&self.mean.at), w.transpose() * &self.mean.gradient);
        Col::from_fn(self.l.len(), |j| place[j] - pull[j] / self.l[j])
    }

    /// `v`.
    fn losses(&self) -> Vec<f64> {
        let w = &self.spread.t_inverse * self.u;
        let error = w.transpose() * &self.mean.c * &w;
        (0..self.l.len()).map(|j| 0.5 * error[(j, j)] * self.mean.unsure / self.l[j]).collect()
    }

    /// `A` and `V`, at a point.
    fn terms(&self, carried: f64, x: &Vector) -> Terms {
        let (p, a, z, v) = (self.along(x), self.along(&self.mean.at), self.newton(), self.losses());
        let term = |j: usize| {
            let l = self.l[j];
            let shared = 0.05 * l * (p[j] - a[j]).powi(2);
            (0.5 * l * (p[j] - z[j]).powi(2), v[j] + 0.5 * self.spread.h2 * carried / l + shared)
        };
        Terms((0..self.l.len()).map(term).collect())
    }

    /// The gain of the whole way from the start to `z`.
    fn whole(&self) -> f64 {
        self.newton().iter().zip(self.l).map(|(z, l)| 0.5 * l * z * z).sum()
    }
}

impl Naive {
    /// What should remain; none where the last answer led to no move of the model.
    pub fn remaining(&self) -> Option<Expected> {
        self.remaining
    }

    /// `R`, with the `r_i` of Eq. (23): to where the last answer was taken, and not to where the move leads.
    pub(super) fn carried(&self) -> f64 {
        let users = self.sizes.iter().sum::<f64>();
        let far = self.last_answers().into_iter().map(|answer| {
            let off2 = self.off_secant2(answer.user, &(&self.x - &answer.x));
            (self.sizes[answer.user] / users).powi(2) * off2
        });
        far.sum()
    }

    /// After a move; `carried` is the `R` of before.
    pub(super) fn look_ahead(&mut self, basis: &Basis<'_>, carried: f64) {
        let from_start = |point: &[f64]| Col::from_fn(self.dim(), |row| point[row] - self.start[row]);
        let mut hindsight = self.hindsight.clone();
        let terms_at = |point: &[f64]| basis.terms(carried, &from_start(point));
        self.remaining = Some(hindsight.moved(&self.point(), basis.whole(), self.all_asked(), terms_at));
        self.hindsight = hindsight;
    }
}
