//! From many points to the few vertices that show.

use super::text::{decimal, hundredths};

/// What a curve covers at one abscissa, in pixels: a point of a line has `top == bottom`.
#[derive(Clone, Copy)]
pub(super) struct Span {
    pub x: f64,
    pub top: f64,
    pub bottom: f64,
}

/// The extremes of the points that fall into one column of pixels.
pub(super) struct Column {
    index: f64,
    top: (f64, f64),
    bottom: (f64, f64),
    /// Whether the line comes to `top` before `bottom`.
    descends: bool,
}

impl Column {
    fn new(span: Span) -> Self {
        Self { index: span.x.floor(), top: (span.x, span.top), bottom: (span.x, span.bottom), descends: true }
    }

    fn include(&mut self, span: Span) {
        if span.top < self.top.1 {
            self.top = (span.x, span.top);
            self.descends = false;
        }
        if span.bottom > self.bottom.1 {
            self.bottom = (span.x, span.bottom);
            self.descends = true;
        }
    }
}

/// Groups `spans`, sorted by `x`, into unbroken runs of columns. `None` breaks the curve, unless
/// the gap is narrower than a pixel. The extremes of each column are kept, so that a spike never
/// vanishes, and the result is bounded by the width of the plot whatever the number of points.
pub(super) fn runs(spans: impl Iterator<Item = Option<Span>>) -> Vec<Vec<Column>> {
    let mut runs: Vec<Vec<Column>> = Vec::new();
    let mut broken = true;
    for span in spans {
        let Some(span) = span else {
            broken = true;
            continue;
        };
        match runs.last_mut() {
            Some(run) => match run.last_mut() {
                Some(column) if column.index == span.x.floor() => column.include(span),
                _ if broken => runs.push(vec![Column::new(span)]),
                _ => run.push(Column::new(span)),
            },
            None => runs.push(vec![Column::new(span)]),
        }
        broken = false;
    }
    runs
}

/// Path along the middle of `runs`, through both extremes of each column.
pub(super) fn line(runs: &[Vec<Column>]) -> String {
    let mut path = Path::default();
    for run in runs {
        let mut vertices: Vec<(f64, f64)> = Vec::with_capacity(2 * run.len());
        for column in run {
            let (first, last) = if column.descends { (column.top, column.bottom) } else { (column.bottom, column.top) };
            vertices.push(first);
            if first != last {
                vertices.push(last);
            }
        }
        // A point alone is drawn as a dot: a segment without length, with round ends.
        if let [only] = vertices[..] {
            vertices.push(only);
        }
        path.trace(vertices.into_iter());
    }
    path.data
}

/// Path around the area that `runs` cover.
pub(super) fn band(runs: &[Vec<Column>]) -> String {
    let mut path = Path::default();
    for run in runs.iter().filter(|run| run.len() > 1) {
        let there = run.iter().map(|column| column.top);
        let back = run.iter().rev().map(|column| column.bottom);
        path.trace(there.chain(back));
        path.data.push('z');
    }
    path.data
}

/// Path commands. Steps are relative, as they are shorter than positions, but between rounded
/// positions, so that rounding does not add up.
#[derive(Default)]
struct Path {
    data: String,
}

impl Path {
    fn trace(&mut self, vertices: impl Iterator<Item = (f64, f64)>) {
        let mut from: Option<(i64, i64)> = None;
        for (x, y) in vertices {
            let to = (hundredths(x), hundredths(y));
            let (command, step) = match from {
                None => ("M", to),
                Some(from) => ("l", (to.0 - from.0, to.1 - from.1)),
            };
            let separator = if step.1 < 0 { "" } else { "," };
            self.data.push_str(command);
            self.data.push_str(&decimal(step.0));
            self.data.push_str(separator);
            self.data.push_str(&decimal(step.1));
            from = Some(to);
        }
    }
}
