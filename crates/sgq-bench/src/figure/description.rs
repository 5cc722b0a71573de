//! A figure in words, for who does not see it.

use super::{Curve, Figure, Point, axis::drawable};
use crate::readable::short;

/// After so many curves the others are counted.
const MOST: usize = 12;

impl Figure {
    /// What the axes are, and from where to where each curve goes.
    pub(super) fn description(&self) -> String {
        let scale = if self.parts { "" } else { ", on a logarithmic axis," };
        let mut text = format!("{}{scale} against {}.", self.y_label, self.x_label);
        for curve in self.curves.iter().take(MOST) {
            text += &format!(" {}: {}.", curve.label, way(curve));
        }
        if let Some(more) = self.curves.len().checked_sub(MOST).filter(|more| *more > 0) {
            text += &format!(" And {more} more.");
        }
        text
    }
}

/// The first value of a curve and its last one.
fn way(curve: &Curve) -> String {
    let is_there = |point: &&Point| drawable(point.x) && !point.mean.is_nan();
    let along = |one: &&Point, other: &&Point| one.x.total_cmp(&other.x);
    let there = || curve.points.iter().filter(is_there);
    let words = |point: &Point| {
        let value = if point.mean.is_finite() { short(point.mean) } else { "infinity".to_owned() };
        format!("{value} at {}", short(point.x))
    };
    match (there().min_by(along), there().max_by(along)) {
        (Some(first), Some(last)) if first.x < last.x => format!("from {} to {}", words(first), words(last)),
        (Some(only), _) => words(only),
        _ => "no data".to_owned(),
    }
}
