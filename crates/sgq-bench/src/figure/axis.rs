//! What the axes span and where their ticks stand.

use sgq::storage::readable_count;

use super::Point;

/// Beyond this, differences of abscissas could overflow.
const LARGEST_X: f64 = 1e300;
/// A range narrower than this many decades is widened: its labels would hardly differ.
const LEAST_DECADES: f64 = 1e-4;
/// How far outside the plot a point is drawn at most, in heights of the plot. What lies beyond is
/// invisible, and larger coordinates would lose precision.
const REACH: f64 = 20.0;

/// The interval an axis spans; on the vertical axis in powers of ten.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Range {
    pub low: f64,
    pub high: f64,
}

/// A labelled tick, at a `place` between 0 and 1 along the axis.
pub(super) struct Tick {
    pub place: f64,
    pub label: Label,
}

/// Text of a tick, with a power of ten to be raised behind it.
#[derive(Debug, PartialEq)]
pub(super) struct Label {
    pub text: String,
    pub exponent: Option<i32>,
}

/// The ticks of an axis.
#[derive(Default)]
pub(super) struct Ticks {
    pub labelled: Vec<Tick>,
    /// Places of the short ticks without a label.
    pub minor: Vec<f64>,
}

impl Range {
    /// The horizontal range of `points`; starts at zero if they start close to it.
    pub(super) fn horizontal<'a>(points: impl Iterator<Item = &'a Point>) -> Self {
        let (mut low, high) = extent(points.map(|point| point.x)).unwrap_or((0.0, 1.0));
        if low > 0.0 && low <= 0.1 * high {
            low = 0.0;
        }
        let size = low.abs().max(high.abs());
        if high - low <= 1e-9 * size || high - low < 1e-290 {
            let margin = (0.05 * size).max(0.5);
            return Self { low: low - margin, high: high + margin };
        }
        Self { low, high }
    }

    /// The vertical range, in powers of ten: `fixed` if it is usable, otherwise that of `points`.
    pub(super) fn vertical<'a>(points: impl Iterator<Item = &'a Point>, fixed: Option<(f64, f64)>) -> Self {
        let usable = |value: f64| value.is_finite() && value > 0.0;
        if let Some((one, other)) = fixed.filter(|(one, other)| usable(*one) && usable(*other)) {
            return Self { low: one.min(other).log10(), high: one.max(other).log10() }.widened();
        }
        // A band may reach down to zero, which no logarithmic axis can hold: half a decade of it
        // on each side is enough, the rest is clipped.
        let edges = points.filter(|point| usable(point.mean)).flat_map(|point| {
            let mean = point.mean.log10();
            let edge = |value: f64| match value.max(0.0).log10() {
                _ if value.is_nan() => mean,
                power => power.clamp(mean - 0.5, mean + 0.5),
            };
            [mean, edge(point.mean - point.error), edge(point.mean + point.error)]
        });
        let (low, high) = extent(edges).unwrap_or((-1.0, 1.0));
        let range = Self { low, high }.widened();
        let margin = 0.03 * (range.high - range.low);
        Self { low: range.low - margin, high: range.high + margin }
    }

    fn widened(self) -> Self {
        if self.high - self.low >= LEAST_DECADES {
            return self;
        }
        let middle = (self.low + self.high) / 2.0;
        Self { low: middle - 0.3, high: middle + 0.3 }
    }

    /// Place of `value` along the axis: 0 at the low end, 1 at the high end.
    pub(super) fn place(&self, value: f64) -> f64 {
        ((value - self.low) / (self.high - self.low)).clamp(-REACH, REACH)
    }

    /// Place of `value` along a logarithmic axis. Zero and less lie at its very bottom, however far
    /// outside the plot that is.
    pub(super) fn logarithmic_place(&self, value: f64) -> f64 {
        if value <= 0.0 { -REACH } else { self.place(value.log10()) }
    }

    fn holds(&self, value: f64) -> bool {
        let slack = 1e-9 * (self.high - self.low);
        value >= self.low - slack && value <= self.high + slack
    }
}

/// Whether a point with this abscissa can be drawn.
pub(super) fn drawable(x: f64) -> bool {
    x.abs() <= LARGEST_X
}

fn extent(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values.fold(None, |extent, value| match extent {
        None => Some((value, value)),
        Some((low, high)) => Some((value.min(low), value.max(high))),
    })
}

/// Ticks of a linear axis at round values.
pub(super) fn linear_ticks(range: Range) -> Ticks {
    ticks_at(range, 6.0)
}

/// Ticks of a linear axis at round whole values.
pub(super) fn whole_ticks(range: Range) -> Ticks {
    ticks_at(range, (range.high - range.low).clamp(f64::MIN_POSITIVE, 6.0))
}

/// About so many ticks at round values.
fn ticks_at(range: Range, wanted: f64) -> Ticks {
    let (values, step) = round_values(range, wanted);
    let labels = round_labels(&values, step);
    let places = values.iter().map(|value| range.place(*value));
    let labelled = places.zip(labels).map(|(place, label)| Tick { place, label }).collect();
    Ticks { labelled, minor: Vec::new() }
}

/// Ticks of a logarithmic axis that spans `range` in powers of ten: at the decades, thinned if
/// there are many, and at twice and five times them if there are few.
pub(super) fn logarithmic_ticks(range: Range) -> Ticks {
    let decades = range.high - range.low;
    let Some(step) = [1, 2, 5, 10, 20, 50, 100].into_iter().find(|step| decades <= 8.0 * f64::from(*step)) else {
        return Ticks::default();
    };
    let few = decades < 2.5;
    let exponents = (range.low - 1e-9).floor() as i32..=(range.high + 1e-9).floor() as i32;
    let multiples: &[i32] = if few { &[1, 2, 5] } else { &[1] };
    let marks: Vec<(i32, i32)> = exponents
        .clone()
        .filter(|exponent| exponent % step == 0)
        .flat_map(|exponent| multiples.iter().map(move |multiple| (*multiple, exponent)))
        .filter(|mark| range.holds(power(*mark)))
        .collect();
    if few && marks.len() < 3 && range.low > -300.0 && range.high < 300.0 {
        return narrow_ticks(range);
    }
    let plain = marks.iter().all(|(_, exponent)| (-3..=4).contains(exponent));
    let labelled =
        marks.iter().map(|mark| Tick { place: range.place(power(*mark)), label: power_label(*mark, plain) }).collect();
    let minor = exponents
        .filter(|_| decades <= 60.0)
        .flat_map(|exponent| {
            let multiples = if step == 1 { 1..=9 } else { 1..=1 };
            multiples.map(move |multiple| (multiple, exponent))
        })
        .filter(|mark| range.holds(power(*mark)) && !marks.contains(mark))
        .map(|mark| range.place(power(mark)))
        .collect();
    Ticks { labelled, minor }
}

/// Ticks at round values on a logarithmic axis so short that it is nearly linear.
fn narrow_ticks(range: Range) -> Ticks {
    let linear = Range { low: 10f64.powf(range.low), high: 10f64.powf(range.high) };
    let (values, step) = round_values(linear, 7.0);
    let labels = round_labels(&values, step);
    let places = values.iter().map(|value| range.logarithmic_place(*value));
    let labelled = places.zip(labels).map(|(place, label)| Tick { place, label }).collect();
    Ticks { labelled, minor: Vec::new() }
}

/// Decimal logarithm of a multiple of a power of ten.
fn power((multiple, exponent): (i32, i32)) -> f64 {
    f64::from(multiple).log10() + f64::from(exponent)
}

fn power_label((multiple, exponent): (i32, i32), plain: bool) -> Label {
    if plain {
        let places = (-exponent).max(0) as usize;
        let value = f64::from(multiple) * 10f64.powi(exponent);
        return Label { text: grouped(&format!("{value:.places$}")), exponent: None };
    }
    let text = match multiple {
        1 => "10".to_owned(),
        multiple => format!("{multiple}×10"),
    };
    Label { text, exponent: Some(exponent) }
}

/// The multiples of a round step in `range`, about as many as `wanted`, and the step.
fn round_values(range: Range, wanted: f64) -> (Vec<f64>, f64) {
    let rough = (range.high - range.low) / wanted;
    let decade = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0]
        .into_iter()
        .map(|multiple| multiple * decade)
        .find(|step| *step >= rough)
        .unwrap_or(10.0 * decade);
    let first = (range.low / step - 1e-9).ceil();
    let last = (range.high / step + 1e-9).floor();
    let further = (last - first).clamp(0.0, 20.0) as u32;
    let values = (0..=further).map(|index| (first + f64::from(index)) * step).collect();
    (values, step)
}

/// Labels of round values with as many digits as tell them apart.
fn round_labels(values: &[f64], step: f64) -> Vec<Label> {
    let largest = values.iter().fold(0.0_f64, |largest, value| largest.max(value.abs()));
    let digit = |size: f64| (size.log10() + 1e-9).floor() as i32;
    let last = digit(step);
    let leading = if largest > 0.0 { digit(largest) } else { last };
    let plain = largest < 1e7 && leading >= -4 && last >= -6;
    let (shift, exponent) = if plain { (0, None) } else { (leading, Some(leading)) };
    let places = shift.saturating_sub(last).clamp(0, 15) as usize;
    let label = |value: &f64| {
        // The value next to zero may be a rounding error away from it.
        if value.abs() < 0.01 * step {
            return Label { text: "0".to_owned(), exponent: None };
        }
        let digits = format!("{:.places$}", value / 10f64.powi(shift));
        let multiple = if plain { "" } else { "×10" };
        Label { text: grouped(&digits) + multiple, exponent }
    };
    values.iter().map(label).collect()
}

/// `digits` with a comma between thousands and a true minus sign.
fn grouped(digits: &str) -> String {
    let (sign, size) = digits.strip_prefix('-').map_or(("", digits), |size| ("−", size));
    let (whole, part) = size.split_at(size.find('.').unwrap_or(size.len()));
    let whole = whole.parse().map_or_else(|_| whole.to_owned(), readable_count);
    format!("{sign}{whole}{part}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn powers(low: f64, high: f64) -> Range {
        Range { low, high }
    }

    /// Labels as a reader sees them, with `^` before an exponent.
    fn texts(ticks: &Ticks) -> Vec<String> {
        let words = |label: &Label| match label.exponent {
            Some(exponent) => format!("{}^{exponent}", label.text),
            None => label.text.clone(),
        };
        ticks.labelled.iter().map(|tick| words(&tick.label)).collect()
    }

    #[test]
    fn ticks_stand_at_the_decades() {
        let ticks = logarithmic_ticks(powers(-3.2, 1.5));
        assert_eq!(texts(&ticks), ["0.001", "0.01", "0.1", "1", "10"]);
        assert!((ticks.labelled[0].place - 0.2 / 4.7).abs() < 1e-12);
        assert!(ticks.minor.len() > 20);
        let ticks = logarithmic_ticks(powers(-6.0, -1.0));
        assert_eq!(texts(&ticks), ["10^-6", "10^-5", "10^-4", "10^-3", "10^-2", "10^-1"]);
    }

    #[test]
    fn many_decades_are_thinned() {
        let ticks = logarithmic_ticks(powers(-150.0, 150.0));
        assert_eq!(texts(&ticks), ["10^-150", "10^-100", "10^-50", "10^0", "10^50", "10^100", "10^150"]);
        for decades in 3..640 {
            let count = logarithmic_ticks(powers(-320.0, f64::from(decades) - 320.0)).labelled.len();
            assert!((2..=9).contains(&count), "{count} ticks for {decades}");
        }
    }

    #[test]
    fn few_decades_get_twice_and_five_times_them() {
        let ticks = logarithmic_ticks(powers(-1.0, 0.5));
        assert_eq!(texts(&ticks), ["0.1", "0.2", "0.5", "1", "2"]);
        let ticks = logarithmic_ticks(powers(-8.0, -7.0));
        assert_eq!(texts(&ticks), ["10^-8", "2×10^-8", "5×10^-8", "10^-7"]);
        let ticks = logarithmic_ticks(powers(1.0_f64.log10(), 1.5_f64.log10()));
        assert_eq!(texts(&ticks), ["1.0", "1.1", "1.2", "1.3", "1.4", "1.5"]);
    }

    #[test]
    fn queries_are_counted_in_round_numbers() {
        let labels = |low: f64, high: f64| texts(&linear_ticks(Range { low, high }));
        assert_eq!(labels(0.0, 400.0), ["0", "100", "200", "300", "400"]);
        assert_eq!(labels(0.0, 2500.0)[2..4], ["1,000", "1,500"]);
        assert_eq!(labels(-0.3, 0.3)[..2], ["−0.3", "−0.2"]);
        assert_eq!(labels(0.0, 3e9)[..2], ["0", "0.5×10^9"]);
        let whole = |low: f64, high: f64| texts(&whole_ticks(Range { low, high }));
        assert_eq!(whole(0.0, 1.0), ["0", "1"]);
        assert_eq!(whole(0.0, 3.0), ["0", "1", "2", "3"]);
        assert_eq!(whole(-0.5, 0.5), ["0"]);
        assert_eq!(whole(0.0, 400.0), labels(0.0, 400.0));
        let points = [2.0, 400.0].map(|x| Point { x, ..Point::default() });
        assert_eq!(Range::horizontal(points.iter()), Range { low: 0.0, high: 400.0 });
    }
}
