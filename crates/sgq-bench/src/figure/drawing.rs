//! The layout of a figure and the elements it is made of.

use super::axis::{self, Label, Range, Tick, Ticks};
use super::exits::{self, Exit};
use super::style::Style;
use super::text::{self, escape, number};
use super::trace::{self, Span};
use super::{Curve, FONT_FAMILY, Figure, Point};

const WIDTH: f64 = 840.0;
const LEAST_PLOT_HEIGHT: f64 = 380.0;
const TITLE_SIZE: f64 = 17.0;
const LABEL_SIZE: f64 = 15.0;
const TICK_SIZE: f64 = 13.0;
const EXPONENT_SIZE: f64 = 10.0;
const LEGEND_SIZE: f64 = 14.0;
const LEGEND_ROW: f64 = 23.0;
/// Length of the piece of line in front of a name in the legend.
const SAMPLE: f64 = 34.0;
/// From a point up to the word above it.
const WORD_GAP: f64 = 9.0;
/// Room left and right of the points where there are words, as a part of the horizontal range.
const WORD_MARGIN_PART: f64 = 0.04;
/// A longer name is cut; this holds about thirty characters.
const LEGEND_ROOM: f64 = 250.0;
/// The figure grows with its legend, but not without end.
const LEGEND_ROWS: usize = 40;
/// Markers on a curve, unless it has so few points that each can have its own.
const MARKERS: usize = 6;
const FEW_POINTS: usize = 12;

/// A figure with the geometry that its contents ask for.
pub(super) struct Drawing<'a> {
    figure: &'a Figure,
    /// The points of each curve that have a place on the horizontal axis, from left to right.
    sorted: Vec<Vec<Point>>,
    horizontal: Range,
    vertical: Range,
    x_ticks: Ticks,
    y_ticks: Ticks,
    pub(super) left: f64,
    pub(super) right: f64,
    pub(super) top: f64,
    pub(super) bottom: f64,
}

impl<'a> Drawing<'a> {
    pub(super) fn of(figure: &'a Figure) -> Self {
        let sorted: Vec<Vec<Point>> = figure.curves.iter().map(sorted).collect();
        let shown = || sorted.iter().flatten().filter(|point| !point.mean.is_nan());
        let mut horizontal = Range::horizontal(shown());
        if figure.curves.iter().any(|curve| !curve.words.is_empty()) {
            // Words have room on both sides.
            let margin = WORD_MARGIN_PART * (horizontal.high - horizontal.low);
            horizontal = Range { low: horizontal.low - margin, high: horizontal.high + margin };
        }
        let vertical = match figure.parts {
            true => Range { low: 0.0, high: 1.0 },
            false => Range::vertical(shown(), figure.y_range),
        };
        let y_ticks = if figure.parts { axis::linear_ticks(vertical) } else { axis::logarithmic_ticks(vertical) };
        // A part of a query is nothing that anybody asks.
        let counts = shown().all(|point| point.x.fract() == 0.0);
        let x_ticks = if counts { axis::whole_ticks(horizontal) } else { axis::linear_ticks(horizontal) };

        let widest = |widths: &mut dyn Iterator<Item = f64>| widths.fold(0.0, f64::max);
        let tick_room = widest(&mut y_ticks.labelled.iter().map(|tick| label_width(&tick.label)));
        let label_room = if figure.y_label.is_empty() { 14.0 } else { 2.2 * LABEL_SIZE };
        let names = figure.curves.iter().map(|curve| text::width(&curve.label, LEGEND_SIZE));
        let legend_room = match widest(&mut names.take(LEGEND_ROWS)) {
            _ if figure.curves.is_empty() => 28.0,
            name => name.min(LEGEND_ROOM) + SAMPLE + 40.0,
        };
        let top = if figure.title.is_empty() { 20.0 } else { 48.0 };
        let rows = figure.curves.len().min(LEGEND_ROWS + 1) as f64;
        let height = LEAST_PLOT_HEIGHT.max(rows * LEGEND_ROW);
        Self {
            left: (label_room + tick_room + 12.0).round(),
            right: (WIDTH - legend_room).round(),
            top,
            bottom: top + height,
            figure,
            sorted,
            horizontal,
            vertical,
            x_ticks,
            y_ticks,
        }
    }

    pub(super) fn svg(&self) -> String {
        let (mut bands, mut lines, mut markers) = (String::new(), String::new(), String::new());
        let (mut words, mut exits) = (String::new(), Vec::new());
        for (index, (curve, points)) in self.figure.curves.iter().zip(&self.sorted).enumerate() {
            let style = Style::of(index, curve);
            bands.push_str(&self.band(&style, points));
            words.push_str(&self.words(&style, curve));
            let spans = || points.iter().map(|point| self.line_span(point));
            exits.extend(exits::exits(spans(), index, self.top, self.bottom));
            let line = trace::line(&trace::runs(spans()));
            if !line.is_empty() {
                lines.push_str(&style.line(&line));
                markers.push_str(&style.markers(&self.marked(index, points)));
            }
        }
        let title = match self.figure.title.as_str() {
            "" => format!("{} against {}", self.figure.y_label, self.figure.x_label),
            title => title.to_owned(),
        };
        let (axes, titles, legend) = (self.axes(), self.titles(), self.legend());
        let (exits, note_room) = self.exits(exits);
        // Several figures may stand in one page, so names must differ wherever contents differ.
        let id = format!("figure-{:016x}", hash(&[&title, &axes, &titles, &legend, &bands, &lines]));
        let height = number(self.bottom + 58.0 + note_room);
        // Many bands on top of each other would hide the lines.
        let opacity = if self.figure.curves.len() > 8 { 0.08 } else { 0.16 };
        // Lines on an edge, such as a gap of zero, show in their full width; bands end sharply.
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" \
             viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-labelledby=\"{id}-title\" \
             aria-describedby=\"{id}-description\" font-family=\"'{FONT_FAMILY}', Helvetica, Arial, sans-serif\" fill=\"#222\">\n\
             <title id=\"{id}-title\">{title}</title>\n\
             <desc id=\"{id}-description\">{description}</desc>\n\
             <defs><clipPath id=\"{id}-plot\">{plot}</clipPath>\
             <clipPath id=\"{id}-edge\">{edge}</clipPath></defs>\n\
             <rect width=\"{WIDTH}\" height=\"{height}\" fill=\"#fff\"/>\n\
             {axes}\
             <g clip-path=\"url(#{id}-plot)\" fill-opacity=\"{opacity}\">\n{bands}</g>\n\
             <g clip-path=\"url(#{id}-edge)\" fill=\"none\" stroke-width=\"2\" \
             stroke-linecap=\"round\" stroke-linejoin=\"round\">\n{lines}</g>\n\
             <g>\n{markers}</g>\n\
             {exits}{words}{titles}{legend}</svg>\n",
            title = escape(&title),
            description = escape(&self.figure.description()),
            plot = self.area(0.0),
            edge = self.area(1.5),
        )
    }

    /// Marks where curves leave the frame and what they mean, and the room that this takes below the figure.
    fn exits(&self, mut exits: Vec<Exit>) -> (String, f64) {
        if exits.is_empty() {
            return (String::new(), 0.0);
        }
        exits::side_by_side(&mut exits, self.right);
        let mark = |exit: &Exit| {
            let style = Style::of(exit.curve, &self.figure.curves[exit.curve]);
            exits::mark(exit, &style, self.top, self.bottom)
        };
        let marks: String = exits.iter().map(mark).collect();
        (marks + &exits::note(&exits, self.left, self.bottom + 68.0), 20.0)
    }

    /// The plot as a rectangle, widened by `margin` on each side.
    fn area(&self, margin: f64) -> String {
        format!(
            "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>",
            number(self.left - margin),
            number(self.top - margin),
            number(self.right - self.left + 2.0 * margin),
            number(self.bottom - self.top + 2.0 * margin),
        )
    }

    /// Horizontal position of a place along the axis.
    fn across(&self, place: f64) -> f64 {
        self.left + place * (self.right - self.left)
    }

    /// Vertical position of a place along the axis.
    fn up(&self, place: f64) -> f64 {
        self.bottom - place * (self.bottom - self.top)
    }

    /// Where the line passes at `point`; nowhere if the mean is NaN.
    pub(super) fn line_span(&self, point: &Point) -> Option<Span> {
        if point.mean.is_nan() {
            return None;
        }
        let place = match point.mean {
            mean if self.figure.parts => self.vertical.place(mean),
            mean if mean <= 0.0 => 0.0,
            mean => self.vertical.logarithmic_place(mean),
        };
        let y = self.up(place);
        Some(Span { x: self.across(self.horizontal.place(point.x)), top: y, bottom: y })
    }

    /// What the band covers at `point`.
    pub(super) fn band_span(&self, point: &Point) -> Option<Span> {
        let (low, high) = (point.mean - point.error, point.mean + point.error);
        if low.is_nan() || high.is_nan() || point.error < 0.0 {
            return None;
        }
        Some(Span {
            x: self.across(self.horizontal.place(point.x)),
            top: self.up(self.vertical.logarithmic_place(high)),
            bottom: self.up(self.vertical.logarithmic_place(low)),
        })
    }

    fn band(&self, style: &Style, points: &[Point]) -> String {
        if !points.iter().any(|point| point.error > 0.0) {
            return String::new();
        }
        let runs = trace::runs(points.iter().map(|point| self.band_span(point)));
        match trace::band(&runs) {
            data if data.is_empty() => data,
            data => format!("<path d=\"{data}\" fill=\"{}\"/>\n", style.colour),
        }
    }

    /// The points of the curve at `index` that carry a marker, spread over the width and shifted
    /// from curve to curve so that they seldom fall together.
    pub(super) fn marked(&self, index: usize, points: &[Point]) -> Vec<(f64, f64)> {
        let visible: Vec<(f64, f64)> = points
            .iter()
            .filter_map(|point| self.line_span(point))
            .filter(|span| (self.top..=self.bottom).contains(&span.top))
            .map(|span| (span.x, span.top))
            .collect();
        if visible.len() <= FEW_POINTS {
            return visible;
        }
        let shift = (index as f64 * 0.382 + 0.31).fract();
        let mut marked: Vec<(f64, f64)> = (0..MARKERS)
            .filter_map(|marker| {
                let x = self.across((marker as f64 + shift) / MARKERS as f64);
                let next = visible.partition_point(|place| place.0 < x);
                visible.get(next.min(visible.len() - 1)).copied()
            })
            .collect();
        marked.dedup();
        marked
    }

    /// The words above the points of a curve, in its colour; what is cut off has none.
    fn words(&self, style: &Style, curve: &Curve) -> String {
        let drawable = curve.points.iter().zip(&curve.words).filter(|(point, _)| axis::drawable(point.x));
        let placed = drawable.filter_map(|(point, word)| Some((self.line_span(point)?, word)));
        let texts: String = placed
            .filter(|(span, _)| (self.top..=self.bottom).contains(&span.top))
            .map(|(span, word)| {
                let (x, y) = (number(span.x), number(span.top - WORD_GAP));
                format!("<text x=\"{x}\" y=\"{y}\">{}</text>\n", escape(word))
            })
            .collect();
        if texts.is_empty() {
            return texts;
        }
        // A white edge keeps a word readable on a line.
        format!(
            "<g font-size=\"{LEGEND_SIZE}\" text-anchor=\"middle\" fill=\"{}\" stroke=\"#fff\" stroke-width=\"3\" \
             paint-order=\"stroke\">\n{texts}</g>\n",
            style.colour
        )
    }

    /// Gridlines, ticks and the labels of the ticks.
    fn axes(&self) -> String {
        let (left, right) = (number(self.left), number(self.right));
        let (top, bottom) = (number(self.top), number(self.bottom));
        let (mut grid, mut ticks, mut labels) = (String::new(), String::new(), String::new());
        for Tick { place, label } in &self.x_ticks.labelled {
            let x = number(self.across(*place));
            grid.push_str(&format!("M{x},{top}V{bottom}"));
            ticks.push_str(&format!("M{x},{bottom}v5"));
            labels.push_str(&tick_text(label, &x, &number(self.bottom + 20.0), "middle"));
        }
        for Tick { place, label } in &self.y_ticks.labelled {
            let y = self.up(*place);
            grid.push_str(&format!("M{left},{}H{right}", number(y)));
            ticks.push_str(&format!("M{left},{}h-5", number(y)));
            let (x, baseline) = (number(self.left - 9.0), number(y + 0.36 * TICK_SIZE));
            labels.push_str(&tick_text(label, &x, &baseline, "end"));
        }
        for place in &self.y_ticks.minor {
            ticks.push_str(&format!("M{left},{}h-3", number(self.up(*place))));
        }
        format!(
            "<path d=\"{grid}\" stroke=\"#e3e3e3\"/>\n\
             <path d=\"M{left},{top}V{bottom}H{right}{ticks}\" fill=\"none\" stroke=\"#555\"/>\n\
             <g font-size=\"{TICK_SIZE}\">\n{labels}</g>\n"
        )
    }

    /// The title and the names of the axes.
    fn titles(&self) -> String {
        let (width, height) = (self.right - self.left, self.bottom - self.top);
        let (x, y) = (self.left + width / 2.0, self.top + height / 2.0);
        let mut titles = String::new();
        let mut write = |words: &str, size: f64, room: f64, position: String| {
            if !words.is_empty() {
                let words = escape(&text::shorten(words, size, room));
                titles.push_str(&format!("<text font-size=\"{size}\" {position}>{words}</text>\n"));
            }
        };
        let start = format!("x=\"{}\" y=\"{}\"", number(self.left), number(self.top - 18.0));
        write(&self.figure.title, TITLE_SIZE, WIDTH - self.left - 16.0, start);
        let below = number(self.bottom + 45.0);
        let below = format!("x=\"{}\" y=\"{below}\" text-anchor=\"middle\"", number(x));
        write(&self.figure.x_label, LABEL_SIZE, width, below);
        let aside = format!("translate({},{})rotate(-90)", number(1.5 * LABEL_SIZE), number(y));
        let aside = format!("transform=\"{aside}\" text-anchor=\"middle\"");
        write(&self.figure.y_label, LABEL_SIZE, height + 40.0, aside);
        if self.sorted.iter().flatten().all(|point| point.mean.is_nan()) {
            let middle = format!("x=\"{}\" y=\"{}\" text-anchor=\"middle\" fill=\"#777\"", number(x), number(y));
            write("no data", LABEL_SIZE, width, middle);
        }
        titles
    }

    /// The names of the curves, right of the plot, where they cover nothing.
    fn legend(&self) -> String {
        let start = self.right + 20.0;
        let words = start + SAMPLE + 8.0;
        let mut rows = String::new();
        let row = |index: usize| self.top + (index as f64 + 0.5) * LEGEND_ROW;
        let mut write = |index: usize, words_at: f64, label: &str| {
            rows.push_str(&format!(
                "<text x=\"{}\" y=\"{}\">{}</text>\n",
                number(words_at),
                number(row(index) + 0.36 * LEGEND_SIZE),
                escape(&text::shorten(label, LEGEND_SIZE, LEGEND_ROOM)),
            ));
        };
        let mut samples = String::new();
        for (index, curve) in self.figure.curves.iter().take(LEGEND_ROWS).enumerate() {
            let style = Style::of(index, curve);
            let y = row(index);
            samples.push_str(&style.line(&format!("M{},{}h{SAMPLE}", number(start), number(y))));
            samples.push_str(&style.markers(&[(start + SAMPLE / 2.0, y)]));
            write(index, words, &curve.label);
        }
        if let Some(more) = self.figure.curves.len().checked_sub(LEGEND_ROWS + 1) {
            write(LEGEND_ROWS, start, &format!("and {} more", more + 1));
        }
        format!(
            "<g stroke-linecap=\"round\" stroke-width=\"2\">\n{samples}</g>\n\
             <g font-size=\"{LEGEND_SIZE}\">\n{rows}</g>\n"
        )
    }
}

/// The points that have a place on the horizontal axis, from left to right.
fn sorted(curve: &Curve) -> Vec<Point> {
    let drawable = |point: &&Point| axis::drawable(point.x);
    let mut points: Vec<Point> = curve.points.iter().filter(drawable).copied().collect();
    points.sort_by(|one, other| one.x.total_cmp(&other.x));
    points
}

pub(super) fn label_width(label: &Label) -> f64 {
    let exponent = label.exponent.map(exponent_text).unwrap_or_default();
    text::width(&label.text, TICK_SIZE) + text::width(&exponent, EXPONENT_SIZE)
}

fn exponent_text(exponent: i32) -> String {
    exponent.to_string().replace('-', "−")
}

pub(super) fn tick_text(label: &Label, x: &str, y: &str, anchor: &str) -> String {
    // Shifted by hand, as not every viewer knows `baseline-shift`.
    let exponent = label.exponent.map(|exponent| {
        let raised = exponent_text(exponent);
        format!("<tspan dy=\"-5\" font-size=\"{EXPONENT_SIZE}\">{raised}</tspan>")
    });
    let exponent = exponent.unwrap_or_default();
    format!("<text x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\">{}{exponent}</text>\n", label.text)
}

/// FNV-1a: unlike the hashes of the standard library, the same in every release.
pub(super) fn hash(parts: &[&str]) -> u64 {
    parts
        .iter()
        .flat_map(|part| part.bytes())
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
