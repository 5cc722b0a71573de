//! A sum of rows that stays exact while rows come and go.

use rayon::prelude::*;
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
        if self.high.len() <= kernel::FEW {
            return replace(&mut self.high, &mut self.low, old, new);
        }
        let sums = self.high.par_chunks_mut(kernel::SHARE).zip(self.low.par_chunks_mut(kernel::SHARE));
        let rows = old.par_chunks(kernel::SHARE).zip(new.par_chunks(kernel::SHARE));
        sums.zip(rows).for_each(|((high, low), (old, new))| replace(high, low, old, new));
    }

    pub(super) fn is_finite(&self) -> bool {
        kernel::all_within(&self.high, f64::MAX)
    }

    /// Writes the sum divided by a count.
    pub(super) fn mean(&self, count: f64, mean: &mut [f64]) {
        kernel::each_piece(mean, [&self.high, &self.low], |mean, [high, low]| {
            for (mean, (high, low)) in mean.iter_mut().zip(high.iter().zip(low)) {
                *mean = (high + low) / count;
            }
        });
    }
}

fn replace(high: &mut [f64], low: &mut [f64], old: &[f64], new: &[f64]) {
    for ((high, low), (old, new)) in high.iter_mut().zip(low).zip(old.iter().zip(new)) {
        let (partial, first_error) = two_sum(*high, *new);
        let (total, second_error) = two_sum(partial, -*old);
        let correction = *low + (first_error + second_error);
        (*high, *low) = two_sum(total, correction);
    }
}

/// `a + b` rounded, and exactly what the rounding lost.
fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let b_part = sum - a;
    let a_part = sum - b_part;
    (sum, (a - a_part) + (b - b_part))
}
