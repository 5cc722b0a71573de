//! The inner loops over rows of the n×d table.
//!
//! Every reduction runs over [`LANES`] independent accumulators that are folded in one fixed order, with separate
//! multiplications and additions. The result is therefore the same, bit for bit, on every processor, and the
//! compiler is free to use whatever vector registers it finds.

const LANES: usize = 16;

/// `⟨a, b⟩`.
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    reduce(a, b, |x, y| x * y)
}

/// `‖a‖²`.
pub(crate) fn norm_squared(a: &[f64]) -> f64 {
    dot(a, a)
}

/// `‖a − b‖²`.
pub(crate) fn distance_squared(a: &[f64], b: &[f64]) -> f64 {
    reduce(a, b, |x, y| (x - y) * (x - y))
}

#[inline(always)]
fn reduce(a: &[f64], b: &[f64], term: impl Fn(f64, f64) -> f64) -> f64 {
    debug_assert_eq!(a.len(), b.len());
    let (a_blocks, a_rest) = a.as_chunks::<LANES>();
    let (b_blocks, b_rest) = b.as_chunks::<LANES>();
    let mut lanes = [0.0; LANES];
    for (x, y) in a_blocks.iter().zip(b_blocks) {
        for lane in 0..LANES {
            lanes[lane] += term(x[lane], y[lane]);
        }
    }
    for (lane, (x, y)) in lanes.iter_mut().zip(a_rest.iter().zip(b_rest)) {
        *lane += term(*x, *y);
    }
    let mut width = LANES / 2;
    while width > 0 {
        for lane in 0..width {
            lanes[lane] += lanes[lane + width];
        }
        width /= 2;
    }
    lanes[0]
}

/// `y += factor · x`.
pub(crate) fn add_scaled(y: &mut [f64], factor: f64, x: &[f64]) {
    debug_assert_eq!(y.len(), x.len());
    for (y, x) in y.iter_mut().zip(x) {
        *y += factor * x;
    }
}

/// Writes the mean of the rows into `mean`, adding them in order.
pub(crate) fn mean_of_rows(rows: &[f64], mean: &mut [f64]) {
    mean.fill(0.0);
    let count = rows.len() / mean.len();
    for row in rows.chunks_exact(mean.len()) {
        add_scaled(mean, 1.0, row);
    }
    for value in mean {
        *value /= count as f64;
    }
}

/// The index of the largest score; the lowest one among equals. Scores that are not a number never win.
pub(crate) fn argmax(scores: impl IntoIterator<Item = f64>) -> usize {
    let mut best = (0, f64::NEG_INFINITY);
    for (index, score) in scores.into_iter().enumerate() {
        if score > best.1 {
            best = (index, score);
        }
    }
    best.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reductions_match_the_plain_sum_at_every_length() {
        for length in 0..70 {
            let a: Vec<f64> = (0..length).map(|i| (i as f64 * 0.7).sin()).collect();
            let b: Vec<f64> = (0..length).map(|i| (i as f64 * 1.3).cos()).collect();
            let plain_dot: f64 = a.iter().zip(&b).map(|(x, y)| x * y).sum();
            let plain_distance: f64 = a.iter().zip(&b).map(|(x, y)| (x - y).powi(2)).sum();
            assert!((dot(&a, &b) - plain_dot).abs() <= 1e-13);
            assert!((distance_squared(&a, &b) - plain_distance).abs() <= 1e-12);
        }
    }

    #[test]
    fn argmax_prefers_the_lowest_index_and_skips_nan() {
        assert_eq!(argmax([1.0, 3.0, 3.0]), 1);
        assert_eq!(argmax([f64::NAN, 2.0, f64::NAN]), 1);
        assert_eq!(argmax([f64::NAN, f64::NAN]), 0);
        assert_eq!(argmax([-1.0, -1.0]), 0);
    }
}
