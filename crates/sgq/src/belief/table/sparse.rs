//! Rows of which only the numbers that are not zero are kept.

use serde::{Deserialize, Serialize};

use crate::kernel;

/// What is not zero of `gradient − l2·point`, by column.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct SparseRow {
    columns: Box<[u32]>,
    values: Box<[f64]>,
}

impl SparseRow {
    pub(super) fn new(l2: f64, point: &[f64], gradient: &[f64]) -> Self {
        let count = without_penalty(l2, point, gradient).filter(|value| *value != 0.0).count();
        let (mut columns, mut values) = (Vec::with_capacity(count), Vec::with_capacity(count));
        for (column, value) in without_penalty(l2, point, gradient).enumerate().filter(|(_, value)| *value != 0.0) {
            columns.push(column as u32);
            values.push(value);
        }
        Self { columns: columns.into(), values: values.into() }
    }

    /// Adds itself to a penalty, which makes the whole row.
    pub(super) fn add_to(&self, penalty: &mut [f64]) {
        for (column, value) in self.columns.iter().zip(&self.values) {
            penalty[*column as usize] += value;
        }
    }

    /// `⟨row, vector⟩` without a penalty.
    pub(super) fn dot(&self, vector: &[f64]) -> f64 {
        kernel::dot_sparse(&self.columns, &self.values, vector)
    }

    /// Whether its columns rise and are all below `dim`.
    pub(super) fn fits(&self, dim: usize) -> bool {
        self.columns.len() == self.values.len()
            && self.columns.is_sorted_by(|one, next| one < next)
            && self.columns.last().is_none_or(|last| (*last as usize) < dim)
    }
}

/// `gradient − l2·point`; without a penalty the gradient itself, whatever the point.
pub(super) fn without_penalty(l2: f64, point: &[f64], gradient: &[f64]) -> impl Iterator<Item = f64> {
    gradient.iter().zip(point).map(move |(gradient, x)| if l2 == 0.0 { *gradient } else { gradient - l2 * x })
}

/// `l2·point`; without a penalty zeros, whose signs do not depend on the point.
pub(super) fn penalty(l2: f64, point: &[f64]) -> Vec<f64> {
    point.iter().map(|x| if l2 == 0.0 { 0.0 } else { l2 * x }).collect()
}
