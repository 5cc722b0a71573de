//! Where curves leave the frame, and the marks that say so.

use super::style::Style;
use super::text::{number, width};
use super::trace::Span;

/// Marks of one curve are at least this far apart: a curve that comes and goes has one.
const APART: f64 = 24.0;
/// Marks of different curves are at least this far apart, as far as there is room.
const ASIDE: f64 = 9.0;
const MOST_STEPS: usize = 12;
const NOTE_SIZE: f64 = 13.0;

/// Over which edge of the frame a curve leaves it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Edge {
    Top,
    Bottom,
}

/// A place on an edge, and the curve that leaves there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Exit {
    pub x: f64,
    pub edge: Edge,
    pub curve: usize,
}

/// Where the line through `spans`, sorted by `x`, goes over an edge of the frame, or begins outside of it.
pub(super) fn exits(spans: impl Iterator<Item = Option<Span>>, curve: usize, top: f64, bottom: f64) -> Vec<Exit> {
    // A line on the edge is inside.
    const SLACK: f64 = 0.01;
    let outside = |span: &Span| match span.top {
        y if y < top - SLACK => Some(Edge::Top),
        y if y > bottom + SLACK => Some(Edge::Bottom),
        _ => None,
    };
    let mut found: Vec<Exit> = Vec::new();
    let mut before: Option<Span> = None;
    for span in spans {
        if let Some((here, edge)) = span.as_ref().and_then(|span| Some((span, outside(span)?))) {
            let leaves = before.as_ref().is_none_or(|before| outside(before) != Some(edge));
            let x = match before {
                Some(before) => {
                    let line = if edge == Edge::Top { top } else { bottom };
                    before.x + (here.x - before.x) * ((line - before.top) / (here.top - before.top)).clamp(0.0, 1.0)
                }
                None => here.x,
            };
            let is_near = |exit: &Exit| exit.edge == edge && x - exit.x < APART;
            if leaves && !found.iter().any(is_near) {
                found.push(Exit { x, edge, curve });
            }
        }
        before = span;
    }
    found
}

/// Moves marks that would fall together aside, within the frame.
pub(super) fn side_by_side(exits: &mut [Exit], right: f64) {
    for index in 0..exits.len() {
        let Exit { x, edge, .. } = exits[index];
        let is_free = |place: f64| {
            exits[..index].iter().all(|other| other.edge != edge || (other.x - place).abs() > ASIDE - 0.01)
        };
        let mut places = (0..MOST_STEPS).flat_map(|step| [1.0, -1.0].map(|side| x + side * ASIDE * step as f64));
        exits[index].x = places.find(|place| *place <= right && is_free(*place)).unwrap_or(x);
    }
}

/// The triangle of an exit, outside of the frame.
pub(super) fn mark(exit: &Exit, style: &Style, top: f64, bottom: f64) -> String {
    let data = match exit.edge {
        Edge::Top => format!("M{},{}{UP}", number(exit.x), number(top - 10.0)),
        Edge::Bottom => format!("M{},{}{DOWN}", number(exit.x), number(bottom + 10.0)),
    };
    format!("<path d=\"{data}\" fill=\"{}\" stroke=\"#fff\"/>\n", style.colour)
}

/// Triangles relative to their tips.
const UP: &str = "l5,8h-10z";
const DOWN: &str = "l-5-8h10z";

/// What the triangles mean, in a line that begins at a place.
pub(super) fn note(exits: &[Exit], x: f64, y: f64) -> String {
    let (mut shapes, mut at) = (String::new(), x + 5.0);
    let mut sides = Vec::new();
    for (edge, tip, shape, words) in [(Edge::Top, -9.0, UP, "above"), (Edge::Bottom, -1.0, DOWN, "below")] {
        if exits.iter().any(|exit| exit.edge == edge) {
            shapes.push_str(&format!("M{},{}{shape}", number(at), number(y + tip)));
            sides.push(words);
            at += 14.0;
        }
    }
    let words = format!("the curve goes on {} the frame", sides.join(" or "));
    debug_assert!(width(&words, NOTE_SIZE) < 400.0);
    let at = number(at);
    format!(
        "<path d=\"{shapes}\" fill=\"#555\"/>\n\
         <text font-size=\"{NOTE_SIZE}\" fill=\"#555\" x=\"{at}\" y=\"{}\">{words}</text>\n",
        number(y)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(heights: &[f64]) -> Vec<Option<Span>> {
        let span = |(x, y): (usize, &f64)| (!y.is_nan()).then_some(Span { x: 100.0 * x as f64, top: *y, bottom: *y });
        heights.iter().enumerate().map(span).collect()
    }

    fn found(heights: &[f64]) -> Vec<(f64, Edge)> {
        exits(line(heights).into_iter(), 3, 10.0, 90.0).iter().map(|exit| (exit.x, exit.edge)).collect()
    }

    #[test]
    fn a_curve_is_marked_where_it_crosses_an_edge() {
        assert_eq!(found(&[50.0, 10.0, 90.0]), []);
        assert_eq!(found(&[50.0, -30.0, -40.0]), [(50.0, Edge::Top)]);
        assert_eq!(found(&[-30.0, 50.0, 130.0]), [(0.0, Edge::Top), (150.0, Edge::Bottom)]);
        assert_eq!(found(&[50.0, -30.0, 50.0, -30.0]), [(50.0, Edge::Top), (250.0, Edge::Top)]);
        // From over one edge to over the other, and after a hole.
        assert_eq!(found(&[0.0, 100.0]), [(0.0, Edge::Top), (90.0, Edge::Bottom)]);
        assert_eq!(found(&[f64::NAN, -30.0]), [(100.0, Edge::Top)]);
    }

    #[test]
    fn marks_do_not_hide_each_other() {
        let exit = |x: f64, edge: Edge| Exit { x, edge, curve: 0 };
        let mut exits =
            vec![exit(50.0, Edge::Top), exit(51.0, Edge::Top), exit(50.0, Edge::Bottom), exit(100.0, Edge::Top)];
        exits.push(exit(99.0, Edge::Top));
        side_by_side(&mut exits, 100.0);
        let places: Vec<f64> = exits.iter().map(|exit| exit.x).collect();
        assert_eq!(places, [50.0, 60.0, 50.0, 100.0, 90.0]);
        // A curve that comes and goes has few.
        let jagged: Vec<Option<Span>> = (0..300)
            .map(|x| Some(if x % 2 == 0 { (x, 50.0) } else { (x, 0.0) }))
            .map(|it| it.map(|(x, y)| Span { x: f64::from(x), top: y, bottom: y }))
            .collect();
        assert!((10..=13).contains(&super::exits(jagged.into_iter(), 0, 10.0, 90.0).len()));
    }
}
