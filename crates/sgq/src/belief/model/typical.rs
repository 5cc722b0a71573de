//! Curvature in a typical direction, docs/frugal.md § 4: the same with a matrix, and with traces alone.

use super::View;
use crate::frugal::FRUGAL;

/// What a regression of gradients on points, and of changes on directions, has seen: traces, of `K` answers and some secants.
pub(super) struct Evidence {
    /// How many directions there are.
    pub dim: f64,
    /// The users' spread in a direction.
    pub noise: f64,
    /// How much users' own curvature differs, in a direction.
    pub own_curvature: f64,
    pub points: f64,
    /// Without what feedback explains of it.
    pub mixed: f64,
    pub directions: f64,
    pub changes: f64,
    pub secants: f64,
}

impl Evidence {
    /// What a secant counts, as a part of an answer.
    pub fn trusted(&self) -> f64 {
        self.noise / self.own_curvature
    }

    /// `β`, Eq. (14), drawn to what is expected; as it was before where numbers are past what can be held, or it would be lost for good.
    pub fn typical(&self, before: f64, view: &View<'_>) -> f64 {
        let floor = view.flattest(self.secants);
        let expected = expected_curvature(view.point.len(), view.scale);
        let pull = self.noise / (FRUGAL.expected_within * expected).powi(2);
        let seen = self.mixed + self.trusted() * self.changes + pull * expected;
        let looked = self.points + self.trusted() * self.directions + pull;
        let typical = seen / looked;
        if typical.is_nan() {
            return before;
        }
        typical.clamp(floor, view.scale.max(floor))
    }

    /// How strongly each direction's curvature is drawn to the typical one, where it varies by that part of it.
    pub fn pull(&self, typical: f64, varies: f64) -> f64 {
        self.dim * self.noise / (varies * typical).powi(2)
    }
}

/// `β₀`, Eq. (12): the curvature that is expected in a typical direction.
pub(super) fn expected_curvature(dim: usize, scale: f64) -> f64 {
    FRUGAL.least_expected.max(2.0 / (2.0 + dim as f64)) * scale
}

impl View<'_> {
    /// `φ`, Eq. (13): no curvature is believed to be smaller, after so many secants. With every answer curvature far below the users' own
    /// becomes easier to believe, the more so in many dimensions.
    pub(super) fn flattest(&self, secants: f64) -> f64 {
        let dim = self.point.len() as f64;
        let boldness = FRUGAL.floor_fall * dim / (dim + FRUGAL.floor_dim) * (self.answers.count() as f64 - 1.0);
        self.scale * FRUGAL.floor_at_last.max(FRUGAL.floor_at_first / (1.0 + secants + boldness))
    }
}
