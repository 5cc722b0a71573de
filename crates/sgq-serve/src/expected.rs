//! Which stop comes next, and when.

use serde::Serialize;

use crate::history::Believed;

/// The stop that is expected next.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Expected {
    /// `converged`, or the budget that is spent first.
    pub reason: &'static str,
    /// Queries in all by then, and the ends of an interval: not more than a budget allows.
    pub queries: u64,
    pub low: u64,
    pub high: u64,
    /// When, in milliseconds since 1970, at the pace of the last answers.
    pub at: Option<i64>,
}

/// What a stop is reckoned from.
#[derive(Clone, Debug, Default)]
pub struct Course {
    /// Queries so far.
    pub queries: u64,
    /// After each answer, as far as it is known.
    pub parts: Vec<Then>,
    pub tolerance: Option<f64>,
    /// How many queries there may be in all by each budget, and its name.
    pub limits: Vec<(u64, &'static str)>,
    /// When the last answers came, in milliseconds since 1970.
    pub times: Vec<i64>,
}

/// What was believed to remain after so many queries: expected, and the ends of the interval.
#[derive(Clone, Copy, Debug)]
pub struct Then {
    queries: f64,
    part: [f64; 3],
}

/// A slope needs so many answers, and so much of a run says nothing of its end.
const FEWEST: usize = 6;
/// The interval of a slope is so many of its standard errors to both sides: 90%.
const ERRORS: f64 = 1.645;

impl Course {
    /// Of the stops that can be foreseen, the first.
    pub fn next_stop(&self) -> Option<Expected> {
        let limit = self.limits.iter().min_by_key(|(queries, _)| *queries).copied();
        let most = limit.map_or(u64::MAX, |(queries, _)| queries.max(self.queries));
        let by_part = self.to_tolerance().map(|[queries, low, high]| {
            let after = |more: f64| self.queries.saturating_add(more.ceil().clamp(1.0, 1e15) as u64);
            [after(queries), after(low).min(most), after(high).min(most)]
        });
        let (reason, [queries, low, high]) = match (by_part, limit) {
            (Some(by_part), _) if by_part[0] <= most => ("converged", by_part),
            (Some(by_part), Some((queries, reason))) => (reason, [queries.max(self.queries), by_part[1], most]),
            (None, Some((queries, reason))) => (reason, [queries.max(self.queries), self.queries, most]),
            (_, None) => return None,
        };
        let at = self.pace().and_then(|(last, each)| {
            let at = last as f64 + each * (queries - self.queries) as f64;
            (at < 1e15).then_some(at as i64)
        });
        Some(Expected { reason, queries, low, high, at })
    }

    /// How many more queries until the part is the tolerance: by the slope of its logarithm over the last third of the answers.
    fn to_tolerance(&self) -> Option<[f64; 3]> {
        let tolerance = self.tolerance?;
        let is_known = |then: &Then| then.part.iter().all(|it| *it > 0.0 && it.is_finite());
        let known: Vec<Then> = self.parts.iter().copied().filter(is_known).collect();
        let third = (known.len() / 3).max(FEWEST);
        let last = known.get(known.len().checked_sub(third)?..)?;
        let count = last.len() as f64;
        let mean = |of: &dyn Fn(&Then) -> f64| last.iter().map(of).sum::<f64>() / count;
        let (x, y) = (mean(&|it| it.queries), mean(&|it| it.part[0].ln()));
        let spread = mean(&|it| (it.queries - x).powi(2));
        let slope = mean(&|it| (it.queries - x) * (it.part[0].ln() - y)) / spread;
        let left = mean(&|it| (it.part[0].ln() - y - slope * (it.queries - x)).powi(2));
        let error = (left / (count - 2.0).max(1.0) / spread).sqrt();
        if slope.is_nan() || slope >= 0.0 {
            return None;
        }
        let part = last.last()?.part;
        let more = |part: f64, slope: f64| match slope < 0.0 {
            true => ((tolerance / part).ln() / slope).max(0.0),
            false => f64::INFINITY,
        };
        let ends = [more(part[0], slope), more(part[1], slope - ERRORS * error), more(part[2], slope + ERRORS * error)];
        Some(ends)
    }

    /// When the last answer came, and how long each of the last ones took.
    fn pace(&self) -> Option<(i64, f64)> {
        let (first, last) = (self.times.first()?, self.times.last()?);
        let count = self.times.len().checked_sub(1).filter(|count| *count > 0)?;
        Some((*last, (last - first) as f64 / count as f64))
    }
}

/// What was believed after each answer, for a course.
pub fn parts(believed: &[Believed], queries_at: impl Fn(i64) -> u64) -> Vec<Then> {
    believed.iter().map(|it| Then { queries: queries_at(it.seq) as f64, part: it.part }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn course(parts: impl Iterator<Item = f64>) -> Course {
        let then = |(n, part)| Then { queries: n as f64 + 1.0, part: [part, part / 2.0, part * 2.0] };
        let parts: Vec<Then> = parts.enumerate().map(then).collect();
        let times = (0..10).map(|n| 1_000_000 + 500 * n).collect();
        Course { queries: parts.len() as u64, parts, tolerance: Some(1e-4), limits: Vec::new(), times }
    }

    #[test]
    fn a_straight_fall_is_continued() {
        // A tenth each 10 queries: after 30 of them, 1e-3, and 1e-4 after 40.
        let expected = course((1..=30).map(|n| 10f64.powf(-f64::from(n) / 10.0))).next_stop().unwrap();
        assert_eq!((expected.reason, expected.queries), ("converged", 40));
        assert!(expected.low < 40 && expected.high > 40, "{expected:?}");
        assert_eq!(expected.at, Some(1_000_000 + 500 * 9 + 500 * 10));
    }

    #[test]
    fn only_the_last_third_counts() {
        let flat_first = (1..=60).map(|n| if n <= 30 { 1.0 } else { 10f64.powf(-f64::from(n - 30) / 10.0) });
        assert_eq!(course(flat_first).next_stop().unwrap().queries, 70);
    }

    #[test]
    fn a_budget_comes_first_where_it_is_smaller() {
        let falls = || course((1..=30).map(|n| 10f64.powf(-f64::from(n) / 10.0)));
        let expected = Course { limits: vec![(35, "budget"), (90, "cost budget")], ..falls() }.next_stop().unwrap();
        assert_eq!((expected.reason, expected.queries, expected.high), ("budget", 35, 35));
        let expected = Course { limits: vec![(90, "budget")], ..falls() }.next_stop().unwrap();
        assert_eq!((expected.reason, expected.queries), ("converged", 40));
        assert!(expected.high <= 90);
    }

    #[test]
    fn nothing_is_said_of_what_cannot_be_foreseen() {
        assert_eq!(course((1..=30).map(|n| f64::from(n) * 0.01)).next_stop(), None);
        assert_eq!(course((1..=3).map(|n| 1.0 / f64::from(n))).next_stop(), None);
        assert_eq!(Course { tolerance: None, ..course((1..=30).map(|n| (-f64::from(n)).exp())) }.next_stop(), None);
        let rising = Course { limits: vec![(50, "budget")], ..course((1..=30).map(|n| f64::from(n) * 0.01)) };
        assert_eq!(rising.next_stop().unwrap().reason, "budget");
    }
}
