//! Small plots side by side, with the same axes and one legend: something against the target, problem by problem.

use super::axis::{Range, Tick, Ticks, linear_ticks, logarithmic_ticks};
use super::style::{COLOURS, Style};
use super::text::{escape, number, shorten, width, wrapped};
use super::{Curve, FONT_FAMILY};

#[cfg(test)]
mod tests;

const TITLE_SIZE: f64 = 17.0;
const LABEL_SIZE: f64 = 15.0;
const SMALL_SIZE: f64 = 13.0;
const LEGEND_ROW: f64 = 22.0;
const SAMPLE: f64 = 34.0;
const PANEL_HEIGHT: f64 = 186.0;
/// Room between panels: side by side, and for a panel's name, its ticks and what stands below them.
const GAP: f64 = 18.0;
const NAME_ROOM: f64 = 26.0;
const TICK_ROOM: f64 = 24.0;
const BELOW_ROOM: f64 = 18.0;
/// The strip above a panel for what never got there.
const STRIP: f64 = 20.0;
/// Room inside a panel before the first target and after the last: this, or that part of its width.
const INSET: f64 = 18.0;
const INSET_PART: f64 = 0.075;
/// Marks that would fall together stand at least this far apart.
const ASIDE: f64 = 11.0;
const MARGIN: f64 = 16.0;
/// The sky blue of the palette.
const DOTS: &str = COLOURS[5];

/// Plots of several series against the same targets.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Panels {
    /// Stands above everything.
    pub title: String,
    pub x_label: String,
    pub y_label: String,
    /// The targets, largest first, and how they are written: they stand on a logarithmic axis from left to right.
    pub targets: Vec<(f64, String)>,
    pub vertical: Vertical,
    /// In the order of the legend.
    pub series: Vec<Series>,
    pub panels: Vec<Panel>,
    /// What a reader must know, below everything.
    pub notes: Vec<String>,
}

/// What the vertical axis measures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Vertical {
    /// Queries up to a budget, on a logarithmic axis. An infinite value was not reached within it.
    Queries {
        /// The most.
        budget: u64,
    },
    /// Parts of a way from 0 to 1, on a linear axis. What is outside of this range is drawn on its edge.
    Parts {
        /// The smallest that has a place.
        low: f64,
        /// The largest.
        high: f64,
    },
}

/// What the same series has in common in all panels.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Series {
    /// Its name in the legend; without one it is not in it.
    pub label: String,
    pub look: Look,
}

/// How a series is drawn; a number is its place in the palette.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Look {
    /// A line with markers.
    Line(usize),
    /// The same, thicker: what the figure is about.
    Strong(usize),
    /// Dashed with hollow markers: an oracle.
    Dashed(usize),
    /// A thin black line without markers, and what is below it shaded: a limit.
    Limit,
    /// Discs alone, moved aside by a part of the room that they have.
    Dots(f64),
}

impl Look {
    fn style(self) -> Style {
        match self {
            Self::Line(index) | Self::Strong(index) => Style::of(index, &Curve::default()),
            Self::Dashed(index) => Style::of(index, &Curve { dashed: true, ..Curve::default() }),
            // The disc of the first curve, in a colour that is next to no other.
            Self::Dots(_) => {
                let mut style = Style::of(0, &Curve::default());
                style.colour = DOTS;
                style
            }
            Self::Limit => Style::of(0, &Curve { companion_of: Some(6), ..Curve::default() }),
        }
    }
}

/// One plot.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Panel {
    /// Stands above it.
    pub name: String,
    /// For each series, its value at each target; none where there is none.
    pub values: Vec<Vec<Option<f64>>>,
    /// A word below each target; may be empty.
    pub below: Vec<String>,
}

/// The geometry that all panels share.
struct Layout {
    columns: usize,
    left: f64,
    panel_width: f64,
    width: f64,
    /// Where the first row of panels begins.
    top: f64,
    strip: f64,
    row_height: f64,
    vertical: Range,
    ticks: Ticks,
}

impl Panels {
    /// As an SVG document. Equal panels give equal bytes.
    pub fn svg(&self) -> String {
        let legend_entries = || self.series.iter().filter(|series| !series.label.is_empty());
        let mut layout = self.layout();
        let mut legend = String::new();
        let (mut x, mut y) = (layout.left, if self.title.is_empty() { 24.0 } else { 58.0 });
        for series in legend_entries() {
            let entry = SAMPLE + 8.0 + width(&series.label, SMALL_SIZE) + 22.0;
            if x > layout.left && x + entry > layout.width {
                (x, y) = (layout.left, y + LEGEND_ROW);
            }
            legend.push_str(&sample(series, x, y));
            x += entry;
        }
        layout.top = y + 0.5 * LEGEND_ROW + NAME_ROOM + 6.0;

        let rows = self.panels.len().div_ceil(layout.columns).max(1);
        let mut plots = String::new();
        for (index, panel) in self.panels.iter().enumerate() {
            plots.push_str(&self.plot(&layout, panel, index));
        }
        let middle = layout.left + 0.5 * (layout.width - MARGIN - layout.left);
        let end = layout.top + rows as f64 * layout.row_height - NAME_ROOM;
        let axis = end + 14.0;
        let (mut notes, mut baseline) = (String::new(), axis + 10.0);
        for line in self.notes.iter().flat_map(|note| wrapped(note, SMALL_SIZE, layout.width - layout.left - MARGIN)) {
            baseline += 19.0;
            notes.push_str(&words(&line, layout.left, baseline, ""));
        }
        let (width, height) = (number(layout.width), number(baseline + 16.0));
        let title = escape(&self.title);
        let described = escape(&self.description());
        let shown = escape(&shorten(&self.title, TITLE_SIZE, layout.width - layout.left - MARGIN));
        let across = 0.5 * (layout.top + end - layout.row_height + NAME_ROOM + PANEL_HEIGHT);
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
             role=\"img\" font-family=\"'{FONT_FAMILY}', Helvetica, Arial, sans-serif\" font-size=\"{SMALL_SIZE}\" \
             fill=\"#222\">\n<title>{title}</title>\n<desc>{described}</desc>\n<rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>\n\
             <text x=\"{}\" y=\"30\" font-size=\"{TITLE_SIZE}\">{shown}</text>\n\
             <g stroke-linecap=\"round\" stroke-linejoin=\"round\" stroke-width=\"2\">\n{legend}</g>\n{plots}\
             <text font-size=\"{LABEL_SIZE}\" x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n\
             <text font-size=\"{LABEL_SIZE}\" transform=\"translate({},{})rotate(-90)\" text-anchor=\"middle\">{}</text>\n\
             {notes}</svg>\n",
            number(layout.left),
            number(middle),
            number(axis),
            escape(&self.x_label),
            number(1.5 * LABEL_SIZE),
            number(across),
            escape(&self.y_label),
        )
    }

    /// In words, for who does not see it.
    fn description(&self) -> String {
        let names = |names: Vec<&str>| names.into_iter().filter(|name| !name.is_empty()).collect::<Vec<_>>().join(", ");
        format!(
            "{} against {}, in a plot for each of: {}. In each: {}. {}",
            self.y_label,
            self.x_label,
            names(self.panels.iter().map(|panel| panel.name.as_str()).collect()),
            names(self.series.iter().map(|series| series.label.as_str()).collect()),
            self.notes.join(" "),
        )
    }

    fn layout(&self) -> Layout {
        let columns = match self.panels.len() {
            count @ ..=3 => count.max(1),
            4..=9 => 3,
            _ => 4,
        };
        let panel_width = [520.0, 400.0, 290.0, 214.0][columns - 1];
        let every = || self.panels.iter().flat_map(|panel| &panel.values).flatten().flatten().copied();
        let missed = matches!(self.vertical, Vertical::Queries { .. }) && every().any(f64::is_infinite);
        let (vertical, ticks) = match self.vertical {
            Vertical::Queries { budget } => {
                let low = every().fold(budget as f64, f64::min).max(1.0).log10();
                let high = (budget as f64).max(2.0).log10();
                let margin = 0.04 * (high - low).max(0.3);
                let range = Range { low: low - margin, high: high + margin };
                let mut ticks = logarithmic_ticks(range);
                // The strip stands for what is above.
                ticks.labelled.retain(|tick| tick.place <= range.place(high) + 1e-9);
                (range, ticks)
            }
            Vertical::Parts { low, high } => {
                let range = Range { low, high };
                (range, linear_ticks(range))
            }
        };
        let mut tick_room = ticks.labelled.iter().map(|tick| width(&tick.label.text, SMALL_SIZE)).fold(0.0, f64::max);
        if let (true, Vertical::Queries { budget }) = (missed, self.vertical) {
            tick_room = tick_room.max(width(&over(budget), SMALL_SIZE));
        }
        let left = (2.2 * LABEL_SIZE + tick_room + 12.0).round();
        let below = self.panels.iter().any(|panel| !panel.below.is_empty());
        let panels_end = left + columns as f64 * (panel_width + GAP) - GAP + MARGIN;
        Layout {
            columns,
            left,
            panel_width,
            width: panels_end.max(560.0).round(),
            top: 0.0,
            strip: if missed { STRIP } else { 0.0 },
            row_height: PANEL_HEIGHT + TICK_ROOM + if below { BELOW_ROOM } else { 0.0 } + NAME_ROOM,
            vertical,
            ticks,
        }
    }

    /// A target's place across a panel.
    fn across(&self, layout: &Layout, left: f64, target: usize) -> f64 {
        let power = |index: usize| self.targets.get(index).map_or(0.0, |(target, _)| target.log10());
        let (first, last) = (power(0), power(self.targets.len().saturating_sub(1)));
        let part = if first > last { (first - power(target)) / (first - last) } else { 0.5 };
        let inset = INSET.max(INSET_PART * layout.panel_width);
        left + inset + part * (layout.panel_width - 2.0 * inset)
    }

    /// How much room a target has for marks that would fall together.
    fn room(&self, layout: &Layout) -> f64 {
        let place = |index: usize| self.across(layout, 0.0, index);
        (1..self.targets.len()).map(|index| place(index) - place(index - 1)).fold(2.0 * place(0), f64::min)
    }

    fn plot(&self, layout: &Layout, panel: &Panel, index: usize) -> String {
        let (row, column) = (index / layout.columns, index % layout.columns);
        let left = layout.left + column as f64 * (layout.panel_width + GAP);
        let top = layout.top + row as f64 * layout.row_height;
        let area = Area { left, right: left + layout.panel_width, top: top + layout.strip, bottom: top + PANEL_HEIGHT };
        let name = shorten(&panel.name, LABEL_SIZE, layout.panel_width);
        let mut svg = format!(
            "<text font-size=\"{LABEL_SIZE}\" x=\"{}\" y=\"{}\">{}</text>\n",
            number(left),
            number(top - 8.0),
            escape(&name)
        );
        svg.push_str(&self.axes(layout, &area, panel, column == 0));
        let (mut lines, mut markers) = (String::new(), String::new());
        // What the figure is about comes last, over all others.
        let strong = |series: &Series| matches!(series.look, Look::Strong(_));
        let ordered = || self.series.iter().enumerate();
        for (place, series) in ordered().filter(|(_, it)| !strong(it)).chain(ordered().filter(|(_, it)| strong(it))) {
            let marks = self.marks(layout, &area, panel, place);
            lines.push_str(&line(series.look, &marks, &area));
            markers.push_str(&symbols(series.look, &marks));
        }
        svg + &format!(
            "<g fill=\"none\" stroke-width=\"2\" stroke-linecap=\"round\" stroke-linejoin=\"round\">\n{lines}</g>\n\
             <g>\n{markers}</g>\n"
        )
    }

    /// Where the values of the series at a place in the list lie in a panel.
    fn marks(&self, layout: &Layout, area: &Area, panel: &Panel, series: usize) -> Vec<Option<Mark>> {
        let room = self.room(layout);
        let look = self.series[series].look;
        let mark = |(target, value): (usize, &Option<f64>)| {
            let value = (*value)?;
            let x = self.across(layout, area.left, target);
            let missed = |values: &[Vec<Option<f64>>]| {
                values.iter().filter(|values| values[target].is_some_and(f64::is_infinite)).count()
            };
            Some(match self.vertical {
                Vertical::Queries { .. } if value.is_infinite() => {
                    // Side by side, so that all who did not get there are seen.
                    let (before, all) = (missed(&panel.values[..series]), missed(&panel.values));
                    let aside = (before as f64 - 0.5 * (all as f64 - 1.0)) * ASIDE.min(room / all as f64);
                    Mark { x: x + aside, y: area.top - 0.5 * layout.strip, end: End::Missed }
                }
                Vertical::Queries { .. } => {
                    let part = layout.vertical.logarithmic_place(value.max(1.0)).clamp(0.0, 1.0);
                    Mark { x, y: area.up(part), end: End::Inside }
                }
                Vertical::Parts { low, high } => {
                    let aside = if let Look::Dots(aside) = look { aside * room.min(48.0) } else { 0.0 };
                    let end = match value {
                        value if value > high => End::Above,
                        value if value < low => End::Below,
                        _ => End::Inside,
                    };
                    let y = area.up(layout.vertical.place(value.clamp(low, high)));
                    Mark { x: x + aside, y, end }
                }
            })
        };
        panel.values[series].iter().enumerate().map(mark).collect()
    }

    fn axes(&self, layout: &Layout, area: &Area, panel: &Panel, labelled: bool) -> String {
        let (left, right) = (number(area.left), number(area.right));
        let (mut grid, mut ticks, mut labels) = (String::new(), String::new(), String::new());
        for Tick { place, label } in &layout.ticks.labelled {
            let y = area.up(*place);
            grid.push_str(&format!("M{left},{}H{right}", number(y)));
            ticks.push_str(&format!("M{left},{}h-4", number(y)));
            if labelled {
                labels.push_str(&words(&label.text, area.left - 8.0, y + 0.36 * SMALL_SIZE, "end"));
            }
        }
        let mut strip = String::new();
        if layout.strip > 0.0 {
            strip = format!(
                "<rect x=\"{left}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"#eee\"/>\n",
                number(area.top - layout.strip),
                number(area.right - area.left),
                number(layout.strip)
            );
            if let (true, Vertical::Queries { budget }) = (labelled, self.vertical) {
                let y = area.top - 0.5 * layout.strip + 0.36 * SMALL_SIZE;
                labels.push_str(&words(&over(budget), area.left - 8.0, y, "end"));
            }
        }
        let mut free = f64::NEG_INFINITY;
        for (index, (_, label)) in self.targets.iter().enumerate() {
            let x = self.across(layout, area.left, index);
            grid.push_str(&format!("M{},{}V{}", number(x), number(area.top), number(area.bottom)));
            ticks.push_str(&format!("M{},{}v4", number(x), number(area.bottom)));
            let below = panel.below.get(index).map_or("", |word| word);
            let half = 0.5 * width(label, SMALL_SIZE).max(width(below, SMALL_SIZE - 2.0));
            if x - half >= free {
                labels.push_str(&words(label, x, area.bottom + 18.0, "middle"));
                if !below.is_empty() {
                    labels.push_str(&format!(
                        "<text font-size=\"{}\" fill=\"#666\" x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n",
                        SMALL_SIZE - 2.0,
                        number(x),
                        number(area.bottom + 18.0 + BELOW_ROOM - 2.0),
                        escape(below)
                    ));
                }
                free = x + half + 4.0;
            }
        }
        let mut ends = String::new();
        if let Vertical::Parts { .. } = self.vertical {
            for end in [0.0, 1.0] {
                ends.push_str(&format!("M{left},{}H{right}", number(area.up(layout.vertical.place(end)))));
            }
            ends = format!("<path d=\"{ends}\" stroke=\"#555\" stroke-dasharray=\"5 4\"/>\n");
        }
        format!(
            "{strip}<path d=\"{grid}\" stroke=\"#e3e3e3\"/>\n{ends}\
             <path d=\"M{left},{}V{}H{right}{ticks}\" fill=\"none\" stroke=\"#555\"/>\n<g>\n{labels}</g>\n",
            number(area.top - layout.strip),
            number(area.bottom)
        )
    }
}

/// A panel's place in the figure, without its strip.
struct Area {
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
}

impl Area {
    fn up(&self, place: f64) -> f64 {
        self.bottom - place * (self.bottom - self.top)
    }
}

/// A value's place.
struct Mark {
    x: f64,
    y: f64,
    end: End,
}

/// Whether it has a place inside of its panel.
#[derive(Clone, Copy, PartialEq)]
enum End {
    Inside,
    Above,
    Below,
    /// In the strip.
    Missed,
}

/// The line through neighbouring marks inside of the panel.
fn line(look: Look, marks: &[Option<Mark>], area: &Area) -> String {
    if let Look::Dots(_) = look {
        return String::new();
    }
    let inside = |mark: &&Mark| mark.end == End::Inside;
    let places: Vec<Option<(f64, f64)>> =
        marks.iter().map(|mark| mark.as_ref().filter(inside).map(|mark| (mark.x, mark.y))).collect();
    let mut svg = String::new();
    for run in places.split(Option::is_none).filter(|run| run.len() > 1) {
        let points: Vec<(f64, f64)> = run.iter().flatten().copied().collect();
        let data: String = points
            .iter()
            .enumerate()
            .map(|(index, (x, y))| format!("{}{},{}", if index == 0 { 'M' } else { 'L' }, number(*x), number(*y)))
            .collect();
        if let (Look::Limit, Some(first), Some(last)) = (look, points.first(), points.last()) {
            let bottom = number(area.bottom);
            let shade = format!("{data}L{},{bottom}L{},{bottom}z", number(last.0), number(first.0));
            svg.push_str(&format!("<path d=\"{shade}\" fill=\"#000\" fill-opacity=\"0.07\"/>\n"));
        }
        svg.push_str(&stroked(look, &data));
    }
    svg
}

fn stroked(look: Look, data: &str) -> String {
    let line = look.style().line(data);
    match look {
        Look::Strong(_) => format!("<g stroke-width=\"3\">{}</g>\n", line.trim_end()),
        // Solid: dots would be lost between so many lines.
        Look::Limit => format!("<path d=\"{data}\" stroke=\"#000\" stroke-width=\"1.6\"/>\n"),
        _ => line,
    }
}

fn symbols(look: Look, marks: &[Option<Mark>]) -> String {
    let style = look.style();
    let of = |end: End| -> Vec<(f64, f64)> {
        marks.iter().flatten().filter(|mark| mark.end == end).map(|mark| (mark.x, mark.y)).collect()
    };
    let mut plain = of(End::Inside);
    plain.extend(of(End::Missed));
    let mut svg = String::new();
    if !plain.is_empty() {
        svg.push_str(&style.markers(&plain));
    }
    // An arrow out of the panel.
    for (end, outline) in [(End::Above, "m0,1l5,8h-10z"), (End::Below, "m0-1l5-8h-10z")] {
        let data: String = of(end).iter().map(|(x, y)| format!("M{},{}{outline}", number(*x), number(*y))).collect();
        if !data.is_empty() {
            svg.push_str(&format!("<path d=\"{data}\" fill=\"{}\" stroke=\"#fff\"/>\n", style.colour));
        }
    }
    svg
}

/// A series as the legend shows it.
fn sample(series: &Series, x: f64, y: f64) -> String {
    let mut svg = String::new();
    if !matches!(series.look, Look::Dots(_)) {
        if series.look == Look::Limit {
            svg.push_str(&format!(
                "<rect x=\"{}\" y=\"{}\" width=\"{SAMPLE}\" height=\"8\" fill=\"#000\" fill-opacity=\"0.07\"/>\n",
                number(x),
                number(y)
            ));
        }
        svg.push_str(&stroked(series.look, &format!("M{},{}h{SAMPLE}", number(x), number(y))));
    }
    svg.push_str(&series.look.style().markers(&[(x + 0.5 * SAMPLE, y)]));
    svg + &words(&series.label, x + SAMPLE + 8.0, y + 0.36 * SMALL_SIZE, "")
}

fn words(text: &str, x: f64, y: f64, anchor: &str) -> String {
    let anchor = if anchor.is_empty() { String::new() } else { format!(" text-anchor=\"{anchor}\"") };
    format!("<text x=\"{}\" y=\"{}\"{anchor}>{}</text>\n", number(x), number(y), escape(text))
}

/// How a panel says that more than the budget would be needed.
fn over(budget: u64) -> String {
    format!("> {budget}")
}
