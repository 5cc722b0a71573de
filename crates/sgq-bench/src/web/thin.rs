//! From every query to the few at which a curve bends on a screen.

use std::{cmp::Ordering, collections::BinaryHeap};

/// A screen that nobody's is larger than by much, in pixels.
const WIDTH_AND_HEIGHT: (f64, f64) = (1000.0, 500.0);
/// A line may be so far from the curve, and a band's edge from its own, in pixels.
const OFF_LINE: f64 = 0.5;
const OFF_BAND: f64 = 1.5;

/// A curve's value and the ends of its band at one query.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    pub x: f64,
    pub y: f64,
    pub low: f64,
    pub high: f64,
}

/// Which values show: those of a range, on a logarithmic axis and a linear one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scale {
    low: f64,
    high: f64,
}

impl Scale {
    /// For values from low to high.
    pub fn new(low: f64, high: f64) -> Self {
        Self { low: low.max(f64::MIN_POSITIVE), high: high.max(low.max(f64::MIN_POSITIVE)) }
    }

    /// Heights in pixels, logarithmic and linear.
    fn heights(self, value: f64) -> [f64; 2] {
        let height = WIDTH_AND_HEIGHT.1;
        let clamped = value.clamp(0.1 * self.low, 10.0 * self.high);
        let decades = (self.high / self.low).log10().max(1.0);
        [height * clamped.log10() / decades, height * clamped / self.high]
    }

    /// How far a sample is from the straight line between two others, as a multiple of what does not show.
    fn off(self, sample: Sample, from: Sample, to: Sample) -> f64 {
        let part = if to.x > from.x { (sample.x - from.x) / (to.x - from.x) } else { 0.5 };
        let off = |of: fn(&Sample) -> f64, allowed: f64| {
            let [one, at, other] = [from, sample, to].map(|it| self.heights(of(&it)));
            let distance = |axis: usize| (at[axis] - one[axis] - part * (other[axis] - one[axis])).abs() / allowed;
            // No band is as near as can be.
            f64::max(distance(0), distance(1))
        };
        let band = f64::max(off(|it| it.low, OFF_BAND), off(|it| it.high, OFF_BAND));
        off(|it| it.y, OFF_LINE).max(if band.is_nan() { 0.0 } else { band })
    }
}

/// A stretch between two kept samples, with the one that is farthest from the line between them.
struct Stretch {
    off: f64,
    from: usize,
    at: usize,
    to: usize,
}

impl Stretch {
    fn new(samples: &[Sample], scale: Scale, from: usize, to: usize) -> Option<Self> {
        let off = |at: usize| scale.off(samples[at], samples[from], samples[to]);
        let farthest = (from + 1..to).map(|at| (off(at), at)).max_by(|one, other| one.0.total_cmp(&other.0))?;
        (farthest.0 > 1.0).then_some(Self { off: farthest.0, from, at: farthest.1, to })
    }
}

impl PartialEq for Stretch {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Stretch {}

impl PartialOrd for Stretch {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Stretch {
    fn cmp(&self, other: &Self) -> Ordering {
        self.off.total_cmp(&other.off).then(other.from.cmp(&self.from))
    }
}

/// The places of the samples to keep, the first and the last among them: straight lines between them do not differ visibly from
/// all, or there are `most` of them. All samples have an x that is not below the one before, and a finite y.
pub(super) fn kept(samples: &[Sample], scale: Scale, most: usize) -> Vec<usize> {
    // What lies in one column of pixels is looked at first by its extremes: a million queries take no second.
    let places = extremes(samples);
    let few: Vec<Sample> = places.iter().map(|place| samples[*place]).collect();
    let Some(last) = few.len().checked_sub(1) else {
        return Vec::new();
    };
    let mut kept = vec![0, last];
    let mut open: BinaryHeap<Stretch> = Stretch::new(&few, scale, 0, last).into_iter().collect();
    while kept.len() < most
        && let Some(Stretch { from, at, to, .. }) = open.pop()
    {
        kept.push(at);
        open.extend(Stretch::new(&few, scale, from, at));
        open.extend(Stretch::new(&few, scale, at, to));
    }
    kept.sort_unstable();
    kept.dedup();
    kept.into_iter().map(|place| places[place]).collect()
}

/// The first, the last, the smallest and the largest sample of each column of pixels.
fn extremes(samples: &[Sample]) -> Vec<usize> {
    let (Some(first), Some(last)) = (samples.first(), samples.last()) else {
        return Vec::new();
    };
    let span = last.x - first.x;
    // Samples that are all in one place are in one column.
    let per_x = if span > 0.0 { WIDTH_AND_HEIGHT.0 / span } else { 0.0 };
    let column = |place: usize| ((samples[place].x - first.x) * per_x).floor();
    let mut places = Vec::new();
    let mut begin = 0;
    while begin < samples.len() {
        let end = (begin + 1..samples.len()).find(|place| column(*place) != column(begin)).unwrap_or(samples.len());
        let by_y = |one: &usize, other: &usize| samples[*one].y.total_cmp(&samples[*other].y);
        places.extend([begin, end - 1]);
        places.extend((begin..end).min_by(by_y));
        places.extend((begin..end).max_by(by_y));
        begin = end;
    }
    places.sort_unstable();
    places.dedup();
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(count: usize, y: impl Fn(f64) -> f64) -> Vec<Sample> {
        let at = |k: usize| (k as f64, y(k as f64));
        (0..count).map(at).map(|(x, y)| Sample { x, y, low: f64::NAN, high: f64::NAN }).collect()
    }

    #[test]
    fn what_is_left_out_does_not_show() {
        let all = samples(800, |x| (-0.02 * x).exp() * (1.0 + 0.3 * (0.1 * x).sin()));
        let scale = Scale::new(1e-7, 1.0);
        let places = kept(&all, scale, 500);
        assert!((20..300).contains(&places.len()), "{}", places.len());
        assert_eq!((places[0], places[places.len() - 1]), (0, 799));
        for ends in places.windows(2) {
            let off = (ends[0]..ends[1]).map(|at| scale.off(all[at], all[ends[0]], all[ends[1]])).fold(0.0, f64::max);
            assert!(off <= 1.0, "{ends:?}: {off}");
        }
        // A bend in the band counts as well.
        let banded: Vec<Sample> = all
            .iter()
            .map(|it| Sample { low: it.y, high: it.y * if it.x == 400.0 { 3.0 } else { 1.0 }, ..*it })
            .collect();
        assert!(kept(&banded, scale, 500).contains(&400));
    }

    #[test]
    fn straight_lines_are_two_points_and_spikes_stay() {
        // Straight on one axis is nearly so on the other.
        assert_eq!(kept(&samples(1000, |x| 1e6 + x), Scale::new(1e6, 2e6), 500), [0, 999]);
        let spike = samples(1_000_000, |x| if x == 123_456.0 { 9.0 } else { 1.0 });
        assert!(kept(&spike, Scale::new(1.0, 9.0), 500).contains(&123_456));
        assert_eq!(kept(&[], Scale::new(1.0, 2.0), 10), Vec::<usize>::new());
        assert_eq!(kept(&samples(1, |_| 0.0), Scale::new(1.0, 2.0), 10), [0]);
        let in_one_place: Vec<Sample> = samples(5, |x| x).iter().map(|it| Sample { x: 3.0, ..*it }).collect();
        assert!(kept(&in_one_place, Scale::new(1.0, 4.0), 10).starts_with(&[0]));
        let noise = samples(2000, |x| 1.0 + (x * 12.9898).sin().abs());
        assert_eq!(kept(&noise, Scale::new(1.0, 2.0), 200).len(), 200);
    }
}
