//! The readers, tested from outside.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers of tests are tests

mod bits;
mod card;
mod csv;
mod csv_refusals;
mod encoding;
mod formula;
mod formula_refusals;
mod glm;
mod libsvm;
mod model_matrix;
mod plan;
mod prediction;
mod users;

use std::io::Write as _;

use flate2::{Compression, write::GzEncoder};
use sgq::problem::Rows;

/// The numbers of rows, dense or sparse.
fn dense(rows: &Rows) -> Vec<Vec<f64>> {
    let each = (0..rows.count()).map(|row| {
        let mut line = vec![0.0; rows.dim()];
        rows.add_scaled(row, 1.0, &mut line);
        line
    });
    each.collect()
}

fn assert_close(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len(), "{found:?} against {expected:?}");
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() <= 1e-12 * (1.0 + expected.abs()), "{found} against {expected}");
    }
}

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}
