//! A chart's data for the scripts, from the figure that is drawn of the same numbers.

use serde_json::{Map, Value, json};

use super::thin::{Sample, Scale, kept};
use crate::figure::{Curve, Figure, Point};

/// Digits of a value and of its error in a page: more than anybody reads, and a third of the bytes.
const DIGITS: usize = 5;
const DIGITS_OF_ERROR: usize = 3;
/// Of a place along the axis, where queries are counted.
const DIGITS_OF_PLACE: usize = 9;

/// What the scripts draw instead of a static figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart(pub(super) Value);

/// What a chart's curve has besides what a figure's has.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Extra {
    /// Not shown until the reader asks for it.
    pub hidden: bool,
    /// Its place in the palette, where that is not its place among the curves.
    pub colour: Option<usize>,
}

impl Chart {
    /// A chart of the same curves along one axis or several: the figures differ in their `x` alone. Each axis has a name for links,
    /// and counts whole things or not.
    pub fn of(axes: &[(&str, bool, &Figure)], most_points: usize) -> Self {
        Self::with(axes, most_points, |_| Extra::default())
    }

    /// The same, with more to say of each curve.
    pub(crate) fn with(axes: &[(&str, bool, &Figure)], most_points: usize, extra: impl Fn(usize) -> Extra) -> Self {
        let Some((_, _, figure)) = axes.first() else {
            return Self(Value::Null);
        };
        let scale = scale(figure);
        let x: Vec<Value> =
            axes.iter().map(|(key, whole, it)| json!({ "key": key, "label": it.x_label, "whole": whole })).collect();
        let series: Vec<Value> = figure
            .curves
            .iter()
            .enumerate()
            .map(|(place, curve)| {
                let along: Vec<(&str, Option<&Curve>)> =
                    axes.iter().map(|(key, _, it)| (*key, it.curves.get(place))).collect();
                series(curve, &along, scale, most_points, extra(place))
            })
            .collect();
        let mut chart = json!({
            "title": figure.title, "description": description(figure), "x": x, "yLabel": figure.y_label, "series": series,
        });
        chart["log"] = if figure.parts { "never".into() } else { true.into() };
        if figure.parts {
            chart["range"] = json!([0, 1]);
        } else if let Some((low, high)) = figure.y_range {
            chart["range"] = json!([low, high]);
        }
        Self(chart)
    }
}

fn description(figure: &Figure) -> String {
    let count = figure.curves.len();
    let curves = if count == 1 { "One curve".to_owned() } else { format!("{count} curves") };
    format!("{curves}: {} against {}.", figure.y_label, figure.x_label)
}

/// The range that a figure shows.
fn scale(figure: &Figure) -> Scale {
    let values = || figure.curves.iter().flat_map(|curve| &curve.points).map(|point| point.mean);
    let shown = || values().filter(|value| value.is_finite() && *value > 0.0);
    let (low, high) = figure.y_range.unwrap_or((shown().fold(f64::INFINITY, f64::min), shown().fold(0.0, f64::max)));
    if low <= high { Scale::new(low, high) } else { Scale::new(0.1, 1.0) }
}

fn series(curve: &Curve, along: &[(&str, Option<&Curve>)], scale: Scale, most_points: usize, extra: Extra) -> Value {
    let mut places = Vec::new();
    // What is not a number, or infinite, breaks a curve in two; the first such value of each break is kept to show it.
    let mut begin = 0;
    let is_drawn = |point: &Point| point.x.is_finite() && point.mean.is_finite();
    while begin < curve.points.len() {
        let rest = &curve.points[begin..];
        let drawn = rest.iter().position(|point| !is_drawn(point)).unwrap_or(rest.len());
        let samples: Vec<Sample> = rest[..drawn].iter().map(sample).collect();
        places.extend(kept(&samples, scale, most_points).into_iter().map(|place| begin + place));
        begin += drawn;
        let broken = curve.points[begin..].iter().position(is_drawn).unwrap_or(curve.points.len() - begin);
        places.extend((broken > 0).then_some(begin));
        begin += broken;
    }
    let of = |value: fn(&Point) -> f64, digits: usize| -> Vec<Value> {
        places.iter().map(|place| number(value(&curve.points[*place]), digits)).collect()
    };
    let mut x = Map::new();
    for (key, curve) in along {
        if let Some(curve) = curve.filter(|curve| curve.points.iter().any(|point| point.x.is_finite())) {
            let at =
                |place: &usize| curve.points.get(*place).map_or(Value::Null, |point| number(point.x, DIGITS_OF_PLACE));
            x.insert((*key).to_owned(), places.iter().map(at).collect());
        }
    }
    let mut series = json!({ "name": curve.label, "x": x, "y": of(|point| point.mean, DIGITS) });
    if curve.points.iter().any(|point| point.error >= 0.0) {
        series["error"] = of(|point| point.error, DIGITS_OF_ERROR).into();
    }
    if let Some(first) = curve.points.iter().find(|point| point.mean.is_infinite()) {
        series["note"] = format!("diverges: its mean is infinite from {} on", first.x).into();
    }
    if curve.dashed {
        series["dashed"] = true.into();
    }
    if let Some(of) = curve.companion_of {
        series["dotted"] = true.into();
        series["colour"] = of.into();
    }
    if let Some(colour) = extra.colour {
        series["colour"] = colour.into();
    }
    if extra.hidden {
        series["hidden"] = true.into();
    }
    series
}

fn sample(point: &Point) -> Sample {
    let error = if point.error >= 0.0 { point.error } else { f64::NAN };
    Sample { x: point.x, y: point.mean, low: point.mean - error, high: point.mean + error }
}

/// A number with the digits that a page has; none where it is not finite.
fn number(value: f64, digits: usize) -> Value {
    let rounded = format!("{value:.*e}", digits - 1).parse().unwrap_or(value);
    match rounded {
        // Counts without a point.
        whole if f64::abs(whole) < 1e15 && f64::fract(whole) == 0.0 => json!(whole as i64),
        other => json!(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_that_diverges_ends_with_a_note_and_a_gap_is_a_break() {
        let means = [1.0, 0.5, f64::NAN, f64::NAN, 0.25, 0.123_456_789, f64::INFINITY, f64::INFINITY];
        let at = |(x, mean): (usize, &f64)| Point { x: x as f64, mean: *mean, error: 0.1 };
        let points = means.iter().enumerate().map(at).collect();
        let curve = Curve { label: "</script>".into(), points, dashed: true, ..Curve::default() };
        let figure = Figure { x_label: "queries".into(), curves: vec![curve], ..Figure::default() };
        let Chart(chart) = Chart::of(&[("queries", true, &figure)], 100);
        let series = &chart["series"][0];
        assert_eq!(series["x"]["queries"], json!([0, 1, 2, 4, 5, 6]));
        assert_eq!(series["y"], json!([1, 0.5, null, 0.25, 0.12346, null]));
        assert_eq!(series["note"], "diverges: its mean is infinite from 6 on");
        assert_eq!((&series["dashed"], &series["hidden"], &chart["log"]), (&json!(true), &Value::Null, &json!(true)));
    }
}
