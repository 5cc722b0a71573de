//! A forest plot: each coefficient with its interval, one below the other, on the scale of the link and as ratios.

use super::FONT_FAMILY;
use super::axis::{Range, Tick, Ticks, linear_ticks, logarithmic_ticks};
use super::drawing::{hash, tick_text};
use super::style::COLOURS;
use super::text::{escape, number, shorten, width, wrapped};

/// The blue of the palette, and the grey of what is not estimated.
const ESTIMATE: &str = COLOURS[0];
const QUIET: &str = "#666";

const TITLE_SIZE: f64 = 17.0;
const LABEL_SIZE: f64 = 15.0;
const MARGIN: f64 = 16.0;
/// Room inside the plot left and right of the axis' range, for arrows and markers.
const INSET: f64 = 12.0;
/// Room for an axis: its ticks' labels and its name.
const AXIS_ROOM: f64 = 48.0;
const NOTE_ROW: f64 = 18.0;
/// Half the size of an estimate's square, where rows are tall enough.
const SQUARE: f64 = 4.5;

/// How far vertical lines reach above and below an interval that has words above it.
const NARROW_LINE: f64 = 10.0;

/// An interval this many times as long as three quarters of the others are does not set the axis: it leaves at an arrow.
const OUTLIER: f64 = 8.0;
/// The part of the intervals that always fits.
const ALWAYS_FITS: f64 = 0.75;
/// Logarithms of ratios beyond this are too large for a ratio to be written.
const LARGEST_LOGARITHM: f64 = 300.0;

/// Rows from top to bottom around a line at zero.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Forest {
    /// Stands above everything.
    pub title: String,
    /// Below the title: what the intervals are.
    pub subtitle: String,
    /// What a reader who does not see it is told.
    pub description: String,
    pub rows: Vec<Row>,
    /// What the lower axis measures.
    pub x_label: String,
    /// What `e^x` is called, on an axis above; none where it means nothing.
    pub ratio_label: Option<String>,
    /// Stands above the rows' numbers.
    pub numbers_label: String,
    /// Intervals are dashed: they are approximate.
    pub dashed: bool,
    /// What a reader must know, below everything.
    pub notes: Vec<String>,
}

/// One line of the plot.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Row {
    pub label: String,
    /// What the mark says, in numbers.
    pub numbers: String,
    pub mark: Mark,
}

/// What is drawn of a coefficient.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Mark {
    /// The estimate, and where its interval ends; an end may be infinite.
    Interval { estimate: f64, lower: f64, upper: f64 },
    /// An estimate whose standard error is not known.
    Alone(f64),
    /// Zero by definition: what others are compared with.
    Reference,
    /// There is no number.
    Nothing,
}

/// How wide a drawing is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Shape {
    /// Names left of the plot and numbers right of it.
    Wide,
    /// For the width of a phone: names and numbers above each interval.
    Narrow,
}

/// Where things are.
struct Layout {
    shape: Shape,
    width: f64,
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
    row: f64,
    /// From a row's top to its words' baseline, and to its mark.
    baseline: f64,
    middle: f64,
    size: f64,
    square: f64,
    range: Range,
}

impl Layout {
    fn of(forest: &Forest, shape: Shape, subtitle_lines: usize) -> Self {
        let (row, size) = match (shape, forest.rows.len()) {
            (Shape::Narrow, _) => (48.0, 14.0),
            (Shape::Wide, ..=40) => (27.0, 14.0),
            (Shape::Wide, ..=100) => (21.0, 13.0),
            (Shape::Wide, _) => (17.0, 12.0),
        };
        let widest = |words: &dyn Fn(&Row) -> &str, least: f64, most: f64| {
            forest.rows.iter().map(|row| width(words(row), size)).fold(least, f64::max).min(most)
        };
        let (total, left, right) = match shape {
            Shape::Narrow => (400.0, MARGIN, 400.0 - MARGIN),
            Shape::Wide => {
                let labels = widest(&|row| &row.label, 60.0, 240.0);
                let numbers = widest(&|row| &row.numbers, width(&forest.numbers_label, size), 330.0);
                (840.0, (MARGIN + labels + 14.0).ceil(), (840.0 - MARGIN - numbers - 18.0).floor())
            }
        };
        let above = if forest.title.is_empty() { 8.0 } else { 36.0 };
        let axis = if forest.ratio_label.is_some() { AXIS_ROOM + 14.0 } else { 30.0 };
        let top = above + subtitle_lines as f64 * NOTE_ROW + axis;
        Self {
            shape,
            width: total,
            left,
            right,
            top,
            bottom: top + row * forest.rows.len().max(2) as f64 + 6.0,
            row,
            baseline: if shape == Shape::Narrow { 18.0 } else { 0.5 * row + 0.36 * size },
            middle: if shape == Shape::Narrow { 34.0 } else { 0.5 * row },
            size,
            square: SQUARE.min(0.3 * row),
            range: forest.range(),
        }
    }

    fn across(&self, value: f64) -> f64 {
        let inside = (self.left + INSET, self.right - INSET);
        inside.0 + self.range.place(value) * (inside.1 - inside.0)
    }

    fn place(&self, part: f64) -> f64 {
        self.left + INSET + part * (self.right - self.left - 2.0 * INSET)
    }

    /// A vertical line, which crosses no words.
    fn vertical(&self, x: &str, rows: usize) -> String {
        let span = |top: f64, bottom: f64| format!("M{x},{}V{}", number(top), number(bottom));
        match self.shape {
            Shape::Wide => span(self.top, self.bottom),
            Shape::Narrow => {
                let middle = |row: usize| self.row_top(row) + self.middle;
                (0..rows).map(|row| span(middle(row) - NARROW_LINE, middle(row) + NARROW_LINE)).collect()
            }
        }
    }

    fn row_top(&self, index: usize) -> f64 {
        self.top + 3.0 + index as f64 * self.row
    }
}

impl Forest {
    /// As an SVG document. Equal plots give equal bytes.
    pub fn svg(&self, shape: Shape) -> String {
        let room = match shape {
            Shape::Wide => 840.0 - 2.0 * MARGIN,
            Shape::Narrow => 400.0 - 2.0 * MARGIN,
        };
        let subtitle = wrapped(&self.subtitle, 13.0, room);
        let layout = Layout::of(self, shape, subtitle.len());
        let mut rows = String::new();
        for (index, row) in self.rows.iter().enumerate() {
            rows.push_str(&self.row(&layout, index, row));
        }
        let (bands, axes) = (self.bands(&layout), self.axes(&layout));
        let mut baseline = layout.bottom + AXIS_ROOM;
        let mut notes = String::new();
        for line in self.notes.iter().flat_map(|note| wrapped(note, 13.0, room)) {
            baseline += NOTE_ROW;
            notes.push_str(&format!("<text x=\"{MARGIN}\" y=\"{}\">{}</text>\n", number(baseline), escape(&line)));
        }
        let mut head = String::new();
        let mut y = 12.0;
        if !self.title.is_empty() {
            y = 28.0;
            let title = escape(&shorten(&self.title, TITLE_SIZE, room));
            head = format!("<text font-size=\"{TITLE_SIZE}\" x=\"{MARGIN}\" y=\"{y}\">{title}</text>\n");
        }
        for line in &subtitle {
            y += NOTE_ROW + 2.0;
            let (y, line) = (number(y), escape(line));
            head.push_str(&format!("<text font-size=\"13\" fill=\"{QUIET}\" x=\"{MARGIN}\" y=\"{y}\">{line}</text>\n"));
        }
        let (total, height) = (number(layout.width), number(baseline + 14.0));
        // Several figures may stand in one page, so names must differ wherever contents differ.
        let id = format!("forest-{:016x}", hash(&[&self.title, &axes, &rows, &notes]));
        let title = if self.title.is_empty() { "forest plot" } else { &self.title };
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{total}\" height=\"{height}\" \
             viewBox=\"0 0 {total} {height}\" role=\"img\" aria-labelledby=\"{id}-title {id}-description\" \
             font-family=\"'{FONT_FAMILY}', Helvetica, Arial, sans-serif\" fill=\"#222\">\n\
             <title id=\"{id}-title\">{}</title>\n<desc id=\"{id}-description\">{}</desc>\n\
             <rect width=\"{total}\" height=\"{height}\" fill=\"#fff\"/>\n\
             {head}{bands}{axes}<g font-size=\"{}\">\n{rows}</g>\n\
             <g font-size=\"13\" fill=\"{QUIET}\">\n{notes}</g>\n</svg>\n",
            escape(title),
            escape(&self.description),
            layout.size,
        )
    }

    /// What the axis spans: zero, every estimate and every interval, but for the few that are far longer than the others.
    fn range(&self) -> Range {
        let ends = |mark: &Mark| match *mark {
            Mark::Interval { estimate, lower, upper } => vec![estimate, lower, upper],
            Mark::Alone(estimate) => vec![estimate],
            Mark::Reference | Mark::Nothing => Vec::new(),
        };
        let reach = |mark: &Mark| {
            let finite = ends(mark).into_iter().filter(|end| end.is_finite());
            finite.map(f64::abs).reduce(f64::max)
        };
        let mut reaches: Vec<f64> = self.rows.iter().filter_map(|row| reach(&row.mark)).collect();
        reaches.sort_by(f64::total_cmp);
        let usual = (ALWAYS_FITS * reaches.len() as f64).ceil() as usize;
        let usual = usual.checked_sub(1).and_then(|index| reaches.get(index)).copied().unwrap_or(0.0);
        let most = if usual > 0.0 { OUTLIER * usual } else { f64::INFINITY };
        let shown =
            self.rows.iter().flat_map(|row| ends(&row.mark)).filter(|end| end.abs() <= most.min(f64::MAX / 4.0));
        let (mut low, mut high) = shown.fold((0.0_f64, 0.0_f64), |(low, high), end| (low.min(end), high.max(end)));
        if self.rows.iter().any(|row| ends(&row.mark).iter().any(|end| *end > most)) {
            high = high.max(usual);
        }
        if self.rows.iter().any(|row| ends(&row.mark).iter().any(|end| *end < -most)) {
            low = low.min(-usual);
        }
        if high - low < f64::MIN_POSITIVE * 1e20 {
            return Range { low: -1.0, high: 1.0 };
        }
        // Zero is never on the edge: on which side an interval lies is to be seen.
        let margin = 0.04 * (high - low);
        Range { low: low - margin, high: high + margin }
    }

    /// Every other row is shaded, for the eye to follow it.
    fn bands(&self, layout: &Layout) -> String {
        let (x, right) = (0.5 * MARGIN, layout.width - 0.5 * MARGIN);
        let shaded = (1..self.rows.len()).step_by(2).map(|index| {
            let (top, row) = (number(layout.row_top(index)), number(layout.row));
            format!("M{},{top}H{}v{row}H{}z", number(x), number(right), number(x))
        });
        format!("<path d=\"{}\" fill=\"#f4f4f4\"/>\n", shaded.collect::<String>())
    }

    /// The words and the mark of one row.
    fn row(&self, layout: &Layout, index: usize, row: &Row) -> String {
        let top = layout.row_top(index);
        let (baseline, y) = (number(top + layout.baseline), top + layout.middle);
        let mut svg = String::new();
        let numbers_room = width(&row.numbers, layout.size);
        let room = match layout.shape {
            Shape::Wide => layout.left - MARGIN - 14.0,
            Shape::Narrow => layout.width - 2.0 * MARGIN - numbers_room - 12.0,
        };
        let quiet = if matches!(row.mark, Mark::Reference) { format!(" fill=\"{QUIET}\"") } else { String::new() };
        let label = escape(&shorten(&row.label, layout.size, room));
        svg.push_str(&format!("<text x=\"{MARGIN}\" y=\"{baseline}\"{quiet}>{label}</text>\n"));
        let numbers = escape(&row.numbers);
        let end = number(layout.width - MARGIN);
        svg.push_str(&format!("<text x=\"{end}\" y=\"{baseline}\" text-anchor=\"end\"{quiet}>{numbers}</text>\n"));
        let zero = layout.across(0.0);
        svg + &match row.mark {
            Mark::Interval { estimate, lower, upper } => {
                self.interval(layout, y, lower, upper) + &square(layout, estimate, y)
            }
            Mark::Alone(estimate) => {
                let (x, size) = (number(layout.across(estimate).clamp(layout.left, layout.right)), layout.square + 1.0);
                format!(
                    "<path d=\"M{x},{}l{size},{size}l-{size},{size}l-{size}-{size}z\" fill=\"#fff\" stroke=\"{ESTIMATE}\" \
                     stroke-width=\"1.6\"/>\n",
                    number(y - size)
                )
            }
            Mark::Reference => format!(
                "<circle cx=\"{}\" cy=\"{}\" r=\"{}\" fill=\"#fff\" stroke=\"{QUIET}\" stroke-width=\"1.6\"/>\n",
                number(zero),
                number(y),
                number(0.8 * layout.square)
            ),
            Mark::Nothing => String::new(),
        }
    }

    /// The line of an interval, with an arrow where it goes on beyond the axis.
    fn interval(&self, layout: &Layout, y: f64, lower: f64, upper: f64) -> String {
        let Range { low, high } = layout.range;
        if upper < low || lower > high {
            return String::new();
        }
        let from = if lower < low { layout.left + 2.0 } else { layout.across(lower) };
        let to = if upper > high { layout.right - 2.0 } else { layout.across(upper) };
        let (y, cap) = (number(y), number(0.6 * layout.square));
        let dashes = if self.dashed { " stroke-dasharray=\"5 3\"" } else { "" };
        let mut ends = String::new();
        ends.push_str(&match lower < low {
            true => format!("M{},{y}m6-4l-6,4l6,4", number(from)),
            false => format!("M{},{y}m0-{cap}v{}", number(from), number(1.2 * layout.square)),
        });
        ends.push_str(&match upper > high {
            true => format!("M{},{y}m-6-4l6,4l-6,4", number(to)),
            false => format!("M{},{y}m0-{cap}v{}", number(to), number(1.2 * layout.square)),
        });
        format!(
            "<path d=\"M{},{y}H{}\" stroke=\"{ESTIMATE}\" stroke-width=\"2\"{dashes}/>\n\
             <path d=\"{ends}\" fill=\"none\" stroke=\"{ESTIMATE}\" stroke-width=\"2\"/>\n",
            number(from),
            number(to)
        )
    }

    /// Grids, the line at zero, ticks and names of the axes.
    fn axes(&self, layout: &Layout) -> String {
        let (left, right) = (number(layout.left), number(layout.right));
        let (top, bottom) = (number(layout.top), number(layout.bottom));
        let (mut grid, mut ticks, mut labels) = (String::new(), String::new(), String::new());
        for Tick { place, label } in &linear_ticks(layout.range).labelled {
            let x = number(layout.place(*place));
            grid.push_str(&layout.vertical(&x, self.rows.len()));
            ticks.push_str(&format!("M{x},{bottom}v5"));
            labels.push_str(&tick_text(label, &x, &number(layout.bottom + 19.0), "middle"));
        }
        if let Some(ratio) = &self.ratio_label {
            for Tick { place, label } in &ratio_ticks(layout.range).labelled {
                let x = number(layout.place(*place));
                ticks.push_str(&format!("M{x},{top}v-5"));
                labels.push_str(&tick_text(label, &x, &number(layout.top - 9.0), "middle"));
            }
            ticks.push_str(&format!("M{left},{top}H{right}"));
            labels.push_str(&named(ratio, 0.5 * (layout.left + layout.right), layout.top - 31.0, layout));
        }
        labels.push_str(&named(&self.x_label, 0.5 * (layout.left + layout.right), layout.bottom + 41.0, layout));
        if layout.shape == Shape::Wide {
            let (x, y) = (number(layout.width - MARGIN), number(layout.top - 9.0));
            let words = escape(&self.numbers_label);
            labels.push_str(&format!("<text x=\"{x}\" y=\"{y}\" text-anchor=\"end\">{words}</text>\n"));
        }
        let mut zero = layout.vertical(&number(layout.across(0.0)), self.rows.len());
        if self.rows.is_empty() {
            zero.clear();
            let (x, y) = (0.5 * (layout.left + layout.right), 0.5 * (layout.top + layout.bottom));
            labels.push_str(&named("no coefficient but the intercept", x, y, layout));
        }
        format!(
            "<path d=\"{grid}\" stroke=\"#e3e3e3\"/>\n\
             <path d=\"M{left},{bottom}H{right}{ticks}\" fill=\"none\" stroke=\"#555\"/>\n\
             <path d=\"{zero}\" stroke=\"#555\" stroke-dasharray=\"4 3\"/>\n\
             <g font-size=\"13\">\n{labels}</g>\n"
        )
    }
}

/// The name of an axis, around `x`, as wide as the plot at most.
fn named(words: &str, x: f64, y: f64, layout: &Layout) -> String {
    let words = escape(&shorten(words, LABEL_SIZE, layout.width - 2.0 * MARGIN));
    format!(
        "<text font-size=\"{LABEL_SIZE}\" x=\"{}\" y=\"{}\" text-anchor=\"middle\">{words}</text>\n",
        number(x),
        number(y)
    )
}

/// The mark of an estimate; an arrow at the edge where it lies beyond the axis.
fn square(layout: &Layout, estimate: f64, y: f64) -> String {
    let Range { low, high } = layout.range;
    let (size, y) = (layout.square, number(y));
    let data = match estimate {
        estimate if estimate > high => format!("M{},{y}l-9-5v10z", number(layout.right - 1.0)),
        estimate if estimate < low => format!("M{},{y}l9-5v10z", number(layout.left + 1.0)),
        estimate => {
            let (half, side) = (number(size), number(2.0 * size));
            format!("M{},{y}m-{half}-{half}h{side}v{side}h-{side}z", number(layout.across(estimate)))
        }
    };
    format!("<path d=\"{data}\" fill=\"{ESTIMATE}\" stroke=\"#fff\" stroke-width=\"1\"/>\n")
}

/// Ticks at round ratios along an axis of their natural logarithms; none where they are too large to be written.
fn ratio_ticks(range: Range) -> Ticks {
    if range.low.abs().max(range.high.abs()) > LARGEST_LOGARITHM {
        return Ticks::default();
    }
    let decimal = |logarithm: f64| logarithm / std::f64::consts::LN_10;
    logarithmic_ticks(Range { low: decimal(range.low), high: decimal(range.high) })
}
