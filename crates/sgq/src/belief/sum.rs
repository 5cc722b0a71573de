//! A sum of rows that stays exact while rows come and go.

use serde::{Deserialize, Serialize};

use crate::kernel;

/// A running sum of rows of which one is replaced at a time, in twice the working precision.
///
/// A plain running sum drifts: each replacement leaves a rounding error behind, for ever. Here the rounding error of
/// every addition (Knuth's two-sum) is carried along, so the sum stays that of the current rows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct CompensatedSum {
    high: Vec<f64>,
    low: Vec<f64>,
}

impl CompensatedSum {
    pub(super) fn new(dim: usize) -> Self {
        Self { high: vec![0.0; dim], low: vec![0.0; dim] }
    }

    pub(super) fn replace(&mut self, old: &[f64], new: &[f64]) {
        let sums = self.high.iter_mut().zip(&mut self.low);
        for ((high, low), (old, new)) in sums.zip(old.iter().zip(new)) {
            let (partial, first_error) = two_sum(*high, *new);
            let (total, second_error) = two_sum(partial, -*old);
            let correction = *low + (first_error + second_error);
            (*high, *low) = two_sum(total, correction);
        }
    }

    pub(super) fn is_finite(&self) -> bool {
        kernel::all_within(&self.high, f64::MAX)
    }

    pub(super) fn get(&self, coordinate: usize) -> f64 {
        self.high[coordinate] + self.low[coordinate]
    }
}

/// `a + b` rounded, and exactly what the rounding lost.
fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let b_part = sum - a;
    let a_part = sum - b_part;
    (sum, (a - a_part) + (b - b_part))
}
