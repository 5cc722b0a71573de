//! How the curves are told apart: by colour, by marker and, past the palette, by dashes.

use super::Curve;
pub use crate::palette::{DARK as COLOURS_ON_DARK, LIGHT as COLOURS};

/// Outlines relative to the marked point: disc, square, triangle, diamond, inverted triangle, plus,
/// hexagon, cross. Eight shapes against seven colours: the pair repeats only after 56 curves, and
/// print without colour still shows which is which.
const MARKERS: [&str; 8] = [
    "m-3.6,0a3.6,3.6 0 1,0 7.2,0a3.6,3.6 0 1,0-7.2,0z",
    "m-3.3-3.3h6.6v6.6h-6.6z",
    "m0-4.6l4.3,7.6h-8.6z",
    "m0-4.9l4.4,4.9l-4.4,4.9l-4.4-4.9z",
    "m0,4.6l4.3-7.6h-8.6z",
    "m-1.5-4.3h3v2.8h2.8v3h-2.8v2.8h-3v-2.8h-2.8v-3h2.8z",
    "m-4.4,0l2.2-3.8h4.4l2.2,3.8l-2.2,3.8h-4.4z",
    "m-4.1-2l2.1-2.1l2,2l2-2l2.1,2.1l-2,2l2,2l-2.1,2.1l-2-2l-2,2l-2.1-2.1l2-2z",
];

/// Dashes of the first, second and third turn through the palette. The plain dash is kept for
/// curves that ask for it.
const TURNS: [&str; 3] = ["", "0.1 4.5", "9 4.5 0.1 4.5"];
const DASHED: &str = "7 5";
const DOTTED: &str = "1.5 3.5";

/// The look of one curve.
pub(super) struct Style {
    pub colour: &'static str,
    /// Outline of the marker, as path commands relative to the point.
    pub marker: &'static str,
    /// Value of `stroke-dasharray`; empty for a solid line.
    dashes: &'static str,
    hollow: bool,
    /// A thin line without markers.
    quiet: bool,
}

impl Style {
    /// The look of the curve at `index` in the figure.
    pub(super) fn of(index: usize, curve: &Curve) -> Self {
        if let Some(companion) = curve.companion_of {
            let alone = Curve::default();
            return Self { dashes: DOTTED, quiet: true, ..Self::of(companion, &alone) };
        }
        let dashed = curve.dashed;
        let turn = index / COLOURS.len();
        Self {
            colour: COLOURS[index % COLOURS.len()],
            marker: MARKERS[index % MARKERS.len()],
            dashes: if dashed { DASHED } else { TURNS[turn % TURNS.len()] },
            hollow: dashed,
            quiet: false,
        }
    }

    /// The element that strokes the path `data`.
    pub(super) fn line(&self, data: &str) -> String {
        let dashes = match self.dashes {
            "" => String::new(),
            dashes => format!(" stroke-dasharray=\"{dashes}\""),
        };
        let width = if self.quiet { " stroke-width=\"1.4\"" } else { "" };
        format!("<path d=\"{data}\" stroke=\"{}\"{width}{dashes}/>\n", self.colour)
    }

    /// The element that draws this curve's marker at each of `places`.
    pub(super) fn markers(&self, places: &[(f64, f64)]) -> String {
        use super::text::number;
        if self.quiet {
            return String::new();
        }
        let data: String =
            places.iter().map(|(x, y)| format!("M{},{}{}", number(*x), number(*y), self.marker)).collect();
        // A rim in the other colour keeps the marker apart from the lines it lies on.
        let (fill, rim, width) = if self.hollow { ("#fff", self.colour, "1.4") } else { (self.colour, "#fff", "1") };
        format!("<path d=\"{data}\" fill=\"{fill}\" stroke=\"{rim}\" stroke-width=\"{width}\"/>\n")
    }
}
