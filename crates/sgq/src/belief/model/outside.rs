//! What the model knows outside of the directions that it has a matrix for, docs/frugal.md § 11: one number of curvature.

use serde::{Deserialize, Serialize};

use super::{
    Change, View,
    moments::{Sums, Trace, Traces},
    typical::{Evidence, expected_curvature},
};
use crate::frugal::{FRUGAL, TINY};

/// The same sums as in [`Dense`](super::dense::Dense), over all parameters, of which only the traces are kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Outside {
    pub sums: Sums<Trace>,
    typical: f64,
    /// What is believed since the last answer.
    #[serde(skip)]
    known: Option<KnownOutside>,
}

/// What is believed outside.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct KnownOutside {
    /// How many directions there are.
    pub dim: usize,
    /// `tr C`.
    pub spread_size: f64,
    /// `h² d`.
    pub own_curvature: f64,
    /// What to step by.
    pub bend: f64,
}

impl Outside {
    pub fn new(dim: usize, scale: f64) -> Self {
        Self { sums: Sums::new(dim), typical: expected_curvature(dim, scale), known: None }
    }

    /// Curvature outside.
    pub fn typical(&self) -> f64 {
        self.typical
    }

    pub fn take(&mut self, change: &Change<'_>) {
        self.sums.take(change);
    }

    /// What is believed since the last answer.
    pub fn believed(&self) -> Option<&KnownOutside> {
        self.known.as_ref()
    }

    /// Eq. (43) and (44): as [`Dense::refit`](super::dense::Dense::refit), with every matrix a multiple of the identity. `inside` are the traces of
    /// what is not outside, in so many directions; none while nothing was seen but what is inside.
    pub fn refit(&mut self, inside: Option<(Traces, usize)>, view: &View<'_>) -> &KnownOutside {
        let known = self.fit(inside, view);
        self.known.insert(known)
    }

    fn fit(&mut self, inside: Option<(Traces, usize)>, view: &View<'_>) -> KnownOutside {
        let Some((inside, rank)) = inside else {
            return KnownOutside { dim: 1, spread_size: 0.0, own_curvature: 0.0, bend: self.typical };
        };
        let Traces { first_squared, points, mixed, gradients, secants, own } = self.sums.traces().without(&inside);
        let outside = self.sums.start.len().saturating_sub(rank).max(1);
        let (dim, weight, count) = (outside as f64, self.sums.weight, secants.count);
        let residual = |bend: f64| (gradients - 2.0 * bend * mixed + bend * bend * points).max(0.0);
        let (directions, changes) = (secants.directions.0, secants.changes.0);
        let square = self.typical * self.typical;
        let wandering =
            (secants.squares.0 - 2.0 * self.typical * changes + square * directions - secants.noise).max(0.0);
        let fed_back = residual(self.typical) * self.sums.feedback.total.0 / (weight * (weight - 1.0).max(1.0));
        let spread = |bend: f64| residual(bend) + FRUGAL.first_spread * first_squared;
        let evidence = Evidence {
            dim,
            noise: (spread(self.typical) / (dim * weight)).max(TINY),
            own_curvature: (wandering + square) / (dim * (count + 1.0)),
            points,
            mixed: mixed - fed_back,
            directions,
            changes,
            secants: count,
        };
        let floor = view.flattest(count);
        self.typical = evidence.typical(self.typical, view);
        let information = evidence.pull(self.typical, FRUGAL.varies) + (points + evidence.trusted() * directions) / dim;
        let margin = FRUGAL.curvature_margin_sd * (evidence.noise / information).sqrt();
        let mut bend = (self.typical + margin).clamp(floor, view.scale.max(self.typical));
        if own.directions.0 > 0.0 {
            // Along the ways that were gone, the users' own curvature.
            bend = bend.max((own.changes.0 / own.directions.0).min(view.scale));
        }
        let own_curvature = wandering / (count + 1.0);
        KnownOutside { dim: outside, spread_size: spread(self.typical) / weight, own_curvature, bend }
    }
}
