//! The n×d table of last gradients.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::kernel;

mod aligned;

use aligned::Aligned;

/// One row of numbers for each user.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Table {
    dim: usize,
    numbers: Aligned,
}

impl Table {
    pub(super) fn zeros(users: usize, dim: usize) -> Self {
        Self { dim, numbers: Aligned::zeros(users * dim) }
    }

    /// A row as it is kept.
    pub(super) fn row(&self, user: usize) -> Cow<'_, [f64]> {
        Cow::Borrowed(&self.numbers.numbers()[user * self.dim..][..self.dim])
    }

    /// Replaces a row.
    pub(super) fn set(&mut self, user: usize, row: &[f64]) {
        self.numbers.numbers_mut()[user * self.dim..][..self.dim].copy_from_slice(row);
    }

    /// `⟨row, vector⟩`.
    pub(super) fn dot(&self, user: usize, vector: &[f64]) -> f64 {
        let mut out = [0.0];
        kernel::dot_with_rows(&self.numbers.numbers()[user * self.dim..][..self.dim], vector, &mut out);
        out[0]
    }

    /// `⟨row, vector⟩` of every row: the bits of [`dot`](Self::dot), faster.
    pub(super) fn dot_with_rows(&self, vector: &[f64], out: &mut [f64]) {
        kernel::dot_with_rows(self.numbers.numbers(), vector, out);
    }
}
