//! How curvature is held, chosen by the number of parameters.

use std::fmt;

use crate::frugal::FRUGAL;

/// How a [`Model`](super::Model) holds curvature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Curvature {
    /// As a matrix.
    Matrix {
        /// The parameters.
        dim: usize,
    },
    /// As a matrix along a few directions, and one number in all others.
    LowRank {
        /// At most so many directions.
        rank: usize,
        /// The parameters.
        dim: usize,
    },
}

impl Curvature {
    /// Where there are so many parameters.
    pub(super) fn of(dim: usize) -> Self {
        if dim <= FRUGAL.dense_up_to { Self::Matrix { dim } } else { Self::LowRank { rank: FRUGAL.rank, dim } }
    }
}

impl fmt::Display for Curvature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Matrix { dim } => write!(f, "curvature as a {dim} × {dim} matrix"),
            Self::LowRank { rank, dim } => write!(f, "low-rank curvature, rank at most {rank} of {dim} parameters"),
        }
    }
}
