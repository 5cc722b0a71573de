//! Rows of a linear model, of which one number each is kept.

use super::sparse::{penalty, without_penalty};
use crate::{kernel, problem::Rows};

/// The largest part of a gradient that may be missing from `s·a + l2·x`: far above rounding, far below a mistake.
const TOLERANCE: f64 = 1e-6;

/// `s` of `gradient = s·a + l2·point` with the user's row `a`, by least squares.
pub(super) fn of(rows: &Rows, l2: f64, user: usize, point: &[f64], gradient: &[f64]) -> f64 {
    // Scaled, or the squares of small numbers would vanish.
    let largest = rows.largest(user);
    if largest == 0.0 {
        return 0.0;
    }
    let mut row = vec![0.0; point.len()];
    rows.add_scaled(user, 1.0 / largest, &mut row);
    let rest: Vec<f64> = without_penalty(l2, point, gradient).collect();
    kernel::dot(&row, &rest) / kernel::norm_squared(&row) / largest
}

/// The whole row, in the order in which a regression computes it: the same `s` gives the same numbers.
pub(super) fn row(rows: &Rows, l2: f64, user: usize, scalar: f64, point: &[f64]) -> Vec<f64> {
    let mut row = penalty(l2, point);
    rows.add_scaled(user, scalar, &mut row);
    row
}

/// How far a gradient is from that form, as a part of its length, where that is too far.
pub(super) fn objection(rows: &Rows, l2: f64, user: usize, point: &[f64], gradient: &[f64]) -> Option<f64> {
    let mut rest = row(rows, l2, user, of(rows, l2, user, point, gradient), point);
    kernel::add_scaled(&mut rest, -1.0, gradient);
    let off = kernel::norm(&rest);
    let length = kernel::norm(gradient).max(l2 * kernel::norm(point));
    // The other way round, so that what is not a number is objected to.
    if off <= TOLERANCE * length { None } else { Some(off / length) }
}
