//! Convergence curves: a logarithmic gap against the number of queries, as SVG and PNG.
//!
//! Why our own: a convergence plot is a frame, two axes and a few paths. Of the general plotting
//! crates, plotters puts the legend over the curves, and kuva takes every value below 1e-10 for
//! 1e-10 and brings nearly a hundred thousand lines for other kinds of chart; both write every
//! point they are given. Here gaps of 1e-16, zero, infinity and NaN are ordinary results, a million
//! points must not make a giant file, and equal numbers must give equal bytes, so that two reports
//! can be compared by their hashes. Only turning the SVG into pixels is left to a library, with the
//! outlines of a font embedded here, so that the picture does not depend on the fonts of the
//! machine.

mod axis;
mod description;
mod drawing;
mod exits;
mod forest;
mod outline;
#[cfg(test)]
mod palette_tests;
mod panels;
mod style;
#[cfg(test)]
mod tests;
mod text;
mod trace;

use drawing::Drawing;
pub(crate) use forest::{Forest, Mark, Row, Shape};
#[cfg(test)]
pub(crate) use palette_tests::contrast;
pub(crate) use panels::{Look, Panel, Panels, Series, Vertical};
use resvg::{tiny_skia, usvg};
pub use style::{COLOURS, COLOURS_ON_DARK};
pub(crate) use text::{escape, width as text_width, wrapped};

const FONT: &[u8] = include_bytes!("../assets/DejaVuSans-subset.ttf");
const FONT_FAMILY: &str = "DejaVu Sans";

/// Pixels of the PNG for each unit of the SVG: sharp on dense screens and in print.
const SCALE: f32 = 2.0;

/// A plot of curves against the number of queries, on a logarithmic vertical axis.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figure {
    /// Stands above the plot; may be empty.
    pub title: String,
    /// What the horizontal axis counts.
    pub x_label: String,
    /// What the vertical axis measures.
    pub y_label: String,
    /// In the order of the legend; later curves are drawn over earlier ones.
    pub curves: Vec<Curve>,
    /// Fixes the vertical axis; by default, or if a bound is not positive and finite, it spans the
    /// data. What lies outside is cut off.
    pub y_range: Option<(f64, f64)>,
    /// The vertical axis is linear and goes from 0 to 1: for parts of a whole.
    pub parts: bool,
}

/// One line of the plot, with the band of its error.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Curve {
    /// Name in the legend.
    pub label: String,
    /// In any order: they are joined from left to right.
    pub points: Vec<Point>,
    /// Drawn dashed and with hollow markers: for instance an oracle that sees more than it pays
    /// for.
    pub dashed: bool,
    /// Drawn thin, dotted and without markers, in the colour of the curve at this place in the
    /// list: a bound that belongs to it.
    pub companion_of: Option<usize>,
    /// A word above each point, in the order of the points; points without one have none.
    pub words: Vec<String>,
}

/// A value with its uncertainty.
///
/// A mean of zero or less lies on the bottom edge, an infinite one leaves at the top, and NaN
/// breaks the line. A point whose `x` is not finite has no place and is left out.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Point {
    /// Number of queries spent.
    pub x: f64,
    /// Mean over the trials.
    pub mean: f64,
    /// Half the height of the band around the mean, such as its standard error; no band is drawn
    /// where this is NaN or negative.
    pub error: f64,
}

/// Why a figure could not be turned into pixels.
#[derive(Debug, thiserror::Error)]
pub enum FigureError {
    /// The renderer does not accept the SVG.
    #[error("the figure is not valid SVG: {0}")]
    Svg(#[from] usvg::Error),
    /// The embedded font cannot be read.
    #[error("the embedded font cannot be read: {0}")]
    Font(#[from] ttf_parser::FaceParsingError),
    /// There is no memory for the pixels.
    #[error("no canvas of {width} × {height} pixels can be made")]
    Canvas {
        /// Width in pixels.
        width: u32,
        /// Height in pixels.
        height: u32,
    },
    /// The pixels could not be encoded.
    #[error("the figure cannot be encoded as PNG: {0}")]
    Encoding(String),
}

impl Figure {
    /// The figure as an SVG document, which can also stand inside a page of HTML.
    ///
    /// Equal figures give equal bytes.
    pub fn svg(&self) -> String {
        Drawing::of(self).svg()
    }

    /// The figure as a PNG image, at twice the size of the SVG.
    pub fn png(&self) -> Result<Vec<u8>, FigureError> {
        png(&self.svg())
    }
}

/// An SVG document of ours as a PNG image, at twice its size.
pub(crate) fn png(svg: &str) -> Result<Vec<u8>, FigureError> {
    let tree = usvg::Tree::from_str(&outline::outlined(svg)?, &usvg::Options::default())?;
    let pixels = |size: f32| (size * SCALE).ceil() as u32;
    let (width, height) = (pixels(tree.size().width()), pixels(tree.size().height()));
    let mut canvas = tiny_skia::Pixmap::new(width, height).ok_or(FigureError::Canvas { width, height })?;
    let scale = tiny_skia::Transform::from_scale(SCALE, SCALE);
    resvg::render(&tree, scale, &mut canvas.as_mut());
    canvas.encode_png().map_err(|error| FigureError::Encoding(error.to_string()))
}
