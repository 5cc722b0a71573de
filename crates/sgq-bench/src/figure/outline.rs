//! Text as outlines of the embedded font, so that turning a figure into pixels needs no text engine.
//!
//! Our labels are single lines from left to right in one font. A text engine for them (shaping, scripts, fallback fonts) took a
//! quarter of the time in which the whole program compiles.

use std::fmt::Write;

use resvg::usvg::{self, roxmltree};
use roxmltree::{Document, Node};
use ttf_parser::gpos::{PairAdjustment, PositioningSubtable};
use ttf_parser::{Face, GlyphId, OutlineBuilder, Tag};

use super::{FONT, FigureError};

/// SVG's font size where a document says none.
const DEFAULT_SIZE: f64 = 16.0;

/// The document with a `path` in place of every `text`. It knows what our figures use: `x`, `y`, `dy`, `font-size`,
/// `text-anchor`, `fill`, `transform`, and `tspan`s inside a `text`. Kerning counts; there are no ligatures, and marks stand
/// where the font draws them.
pub(super) fn outlined(svg: &str) -> Result<String, FigureError> {
    let document = Document::parse(svg).map_err(usvg::Error::from)?;
    let font = Font::embedded()?;
    let mut outlined = String::with_capacity(2 * svg.len());
    let mut copied = 0;
    for text in document.descendants().filter(|node| node.has_tag_name("text")) {
        outlined.push_str(&svg[copied..text.range().start]);
        outlined.push_str("<path");
        for name in ["transform", "fill"] {
            if let Some(value) = text.attribute(name) {
                let _ = write!(outlined, " {name}=\"{value}\"");
            }
        }
        let _ = write!(outlined, " d=\"{}\"/>", font.text(text));
        copied = text.range().end;
    }
    outlined.push_str(&svg[copied..]);
    Ok(outlined)
}

/// The embedded font.
pub(super) struct Font {
    face: Face<'static>,
    kerning: Vec<PairAdjustment<'static>>,
}

impl Font {
    pub(super) fn embedded() -> Result<Self, FigureError> {
        let face = Face::parse(FONT, 0)?;
        let mut kerning = Vec::new();
        if let Some(table) = face.tables().gpos
            && let Some(feature) = table.features.find(Tag::from_bytes(b"kern"))
        {
            let lookups = feature.lookup_indices.into_iter().filter_map(|index| table.lookups.get(index));
            for subtable in lookups.flat_map(|lookup| lookup.subtables.into_iter::<PositioningSubtable>()) {
                if let PositioningSubtable::Pair(pairs) = subtable {
                    kerning.push(pairs);
                }
            }
        }
        Ok(Self { face, kerning })
    }

    /// The glyph of each character, how far from the start of the line it stands, and how long the line is; in units of the
    /// font size. A character that the font does not have is an empty box.
    pub(super) fn line(&self, words: &str) -> (Vec<(GlyphId, f64)>, f64) {
        let em = f64::from(self.face.units_per_em());
        let mut glyphs: Vec<(GlyphId, f64)> = Vec::new();
        let mut pen = 0.0;
        for character in words.chars() {
            let glyph = self.face.glyph_index(character).unwrap_or_default();
            if let Some((last, _)) = glyphs.last() {
                pen += self.kern(*last, glyph) / em;
            }
            glyphs.push((glyph, pen));
            pen += f64::from(self.face.glyph_hor_advance(glyph).unwrap_or(0)) / em;
        }
        (glyphs, pen)
    }

    /// What is added to the distance of two glyphs, in the font's units. Of several tables the first that knows the pair
    /// counts.
    fn kern(&self, left: GlyphId, right: GlyphId) -> f64 {
        let of = |pairs: &PairAdjustment<'static>| match pairs {
            PairAdjustment::Format1 { coverage, sets } => sets.get(coverage.get(left)?)?.get(right),
            PairAdjustment::Format2 { coverage, classes, matrix } => {
                coverage.get(left)?;
                matrix.get((classes.0.get(left), classes.1.get(right)))
            }
        };
        self.kerning.iter().find_map(of).map_or(0.0, |(first, _)| f64::from(first.x_advance))
    }

    /// The outlines of a `text`.
    fn text(&self, text: Node<'_, '_>) -> String {
        let mut lines = Vec::new();
        for run in text.descendants().filter(|node| node.is_text()) {
            // As viewers do: several spaces count as one, and none at the ends.
            let words: Vec<&str> = run.text().unwrap_or_default().split(' ').filter(|word| !word.is_empty()).collect();
            let shift = run.parent().and_then(|parent| number(parent, "dy")).unwrap_or(0.0);
            let size = inherited(run, "font-size").and_then(|size| size.parse().ok()).unwrap_or(DEFAULT_SIZE);
            let (glyphs, width) = self.line(&words.join(" "));
            lines.push((glyphs, size, width * size, shift));
        }
        let whole: f64 = lines.iter().map(|(_, _, width, _)| width).sum();
        let before = match inherited(text, "text-anchor") {
            Some("middle") => 0.5 * whole,
            Some("end") => whole,
            _ => 0.0,
        };
        let (mut x, mut y) = (number(text, "x").unwrap_or(0.0) - before, number(text, "y").unwrap_or(0.0));
        let mut path = Path::default();
        for (glyphs, size, width, shift) in lines {
            y += shift;
            path.scale = size / f64::from(self.face.units_per_em());
            for (glyph, offset) in glyphs {
                path.origin = (x + offset * size, y);
                self.face.outline_glyph(glyph, &mut path);
            }
            x += width;
        }
        path.data
    }
}

fn number(node: Node<'_, '_>, name: &str) -> Option<f64> {
    node.attribute(name)?.parse().ok()
}

/// The attribute of the node, or of the nearest one around it that has it.
fn inherited<'a>(node: Node<'a, '_>, name: &str) -> Option<&'a str> {
    node.ancestors().find_map(|node| node.attribute(name))
}

/// A path in the making.
#[derive(Default)]
struct Path {
    data: String,
    origin: (f64, f64),
    scale: f64,
}

impl Path {
    fn add(&mut self, command: char, points: &[(f32, f32)]) {
        self.data.push(command);
        for (x, y) in points {
            // The font's vertical axis points up. A thousandth of a unit is far below what a pixel shows.
            let (x, y) = (self.origin.0 + f64::from(*x) * self.scale, self.origin.1 - f64::from(*y) * self.scale);
            let _ = write!(self.data, "{x:.3},{y:.3} ");
        }
    }
}

impl OutlineBuilder for Path {
    fn move_to(&mut self, x: f32, y: f32) {
        self.add('M', &[(x, y)]);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        self.add('L', &[(x, y)]);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        self.add('Q', &[(x1, y1), (x, y)]);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        self.add('C', &[(x1, y1), (x2, y2), (x, y)]);
    }

    fn close(&mut self) {
        self.data.push('Z');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Outcome = Result<(), Box<dyn std::error::Error>>;

    fn document(text: &str) -> String {
        format!("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"9\" height=\"9\" font-size=\"10\">{text}</svg>")
    }

    /// The box around the first path of the document.
    fn bounds(text: &str) -> Result<usvg::Rect, Box<dyn std::error::Error>> {
        let tree = usvg::Tree::from_str(&outlined(&document(text))?, &usvg::Options::default())?;
        Ok(tree.root().children().first().ok_or("nothing is drawn")?.bounding_box())
    }

    #[test]
    fn what_is_not_text_stays() -> Outcome {
        let svg = document("<title>text</title><path d=\"M0,0\"/><text fill=\"#666\">a</text><g><text/></g>");
        let outlined = outlined(&svg)?;
        let start = svg.find("<text").ok_or("no text")?;
        assert!(outlined.starts_with(&svg[..start]) && outlined.ends_with("<g><path d=\"\"/></g></svg>"), "{outlined}");
        assert!(outlined.contains("<path fill=\"#666\" d=\"M") && !outlined.contains("<text"));
        assert!(super::outlined("<svg>").is_err());
        Ok(())
    }

    #[test]
    fn text_stands_where_its_anchor_says() -> Outcome {
        let width = 10.0 * Font::embedded()?.line("Hello").1 as f32;
        let left =
            |anchor: &str| bounds(&format!("<text x=\"50\" y=\"20\" {anchor}>  Hello </text>")).map(|it| it.left());
        let (start, middle, end) = (left("")?, left("text-anchor=\"middle\"")?, left("text-anchor=\"end\"")?);
        assert!(start > 50.0 && start < 52.0, "{start}");
        assert!((start - middle - width / 2.0).abs() < 0.01 && (start - end - width).abs() < 0.01);
        // H stands on the line, as high as capitals of DejaVu Sans are.
        let bounds = bounds("<text x=\"50\" y=\"20\">H</text>")?;
        assert!((bounds.bottom() - 20.0).abs() < 0.01 && (bounds.height() - 7.29).abs() < 0.01, "{bounds:?}");
        Ok(())
    }

    #[test]
    fn exponents_are_raised_and_smaller() -> Outcome {
        let base = bounds("<text y=\"20\">1</text>")?;
        let raised = bounds("<text y=\"20\">1<tspan dy=\"-5\" font-size=\"5\">1</tspan></text>")?;
        assert!((raised.bottom() - base.bottom()).abs() < 0.01);
        assert!((base.top() - raised.top() - (5.0 - base.height() / 2.0)).abs() < 0.01, "{raised:?}");
        Ok(())
    }

    #[test]
    fn pairs_are_kerned() -> Outcome {
        let font = Font::embedded()?;
        let width = |words: &str| font.line(words).1;
        assert!(width("AV") < width("A") + width("V") - 0.05);
        assert!(width("To") < width("T") + width("o") - 0.05);
        assert!((width("HH") - 2.0 * width("H")).abs() < 1e-12);
        // What the font does not have is a box.
        assert_eq!(font.line("漢").0[0].0.0, 0);
        Ok(())
    }
}
