//! What remains, docs/frugal.md § 14: the equations that hold for every model.

use sgq::Remaining;

/// `A_j` and `V_j` of each direction.
pub struct Terms(pub Vec<(f64, f64)>);

impl Terms {
    /// `M`.
    fn mean(&self) -> f64 {
        self.0.iter().map(|(a, v)| a + v).sum()
    }

    /// `S²`.
    fn variance(&self) -> f64 {
        self.0.iter().map(|(a, v)| 2.0 * v * v + 4.0 * a * v).sum()
    }
}

/// All records of points and `M`, and the `b` of all looks at them.
#[derive(Clone)]
pub struct Hindsight {
    users: usize,
    times_a_pass: usize,
    moves: usize,
    records: Vec<(Vec<f64>, f64)>,
    looks: Vec<f64>,
    /// How many estimates in a row end a run, § 14.4, and how many looks are needed before `gap` is taken at its word.
    in_a_row: usize,
    least_looks: f64,
    /// The estimates in a row so far, as parts of the gap at the start.
    parts: Vec<f64>,
}

impl Hindsight {
    /// For a model of so many parameters.
    pub fn new(users: usize, parameters: usize) -> Self {
        Self {
            users,
            times_a_pass: if parameters > 256 { 2 } else { 8 },
            moves: 0,
            records: Vec::new(),
            looks: Vec::new(),
            in_a_row: 1 + parameters.min(64) / users,
            least_looks: 3.0,
            parts: Vec::new(),
        }
    }

    /// Where users tell their Hessians.
    pub fn with_hessians(users: usize) -> Self {
        Self { in_a_row: 1, least_looks: 0.0, ..Self::new(users, 0) }
    }

    /// After an answer there was no estimate.
    pub fn interrupt(&mut self) {
        self.parts.clear();
    }

    /// One more coordinate, which is zero at all points.
    pub fn grow(&mut self) {
        self.records.iter_mut().for_each(|(point, _)| point.push(0.0));
    }

    /// A move to a point, where the model says this of any point now; `whole` is the gain of all the way to the minimiser.
    pub fn moved(
        &mut self,
        point: &[f64],
        whole: f64,
        all_asked: bool,
        terms_at: impl Fn(&[f64]) -> Terms,
    ) -> Expected {
        let terms = terms_at(point);
        self.moves += 1;
        if self.moves.is_multiple_of(self.users.div_ceil(self.times_a_pass)) {
            if let Some(earlier) = self.records.len().checked_sub(self.times_a_pass) {
                let (point, then) = &self.records[earlier];
                let look = (terms_at(point).mean() / then).ln();
                // Nothing is learned from a point where nothing remained.
                self.looks.extend(Some(look).filter(|look| look.is_finite()));
            }
            self.records.push((point.to_vec(), terms.mean()));
        }
        self.remaining(&terms, whole, all_asked)
    }

    /// Eq. (67) and (68), the gap at the start, and the largest of the last estimates.
    fn remaining(&mut self, terms: &Terms, whole: f64, all_asked: bool) -> Expected {
        let (mut sum, mut squares, mut number) = (0.0, 0.0, 0.0);
        for (age, look) in self.looks.iter().rev().enumerate() {
            let weight = 0.8f64.powi(age as i32);
            sum += weight * look;
            squares += weight * look * look;
            number += weight;
        }
        let bias = sum / (1.0 + number);
        let doubt = ((1.5 * 1.5 + squares) / (1.0 + number) - bias * bias).max(0.7 * 0.7);
        let (mean, variance) = (terms.mean(), terms.variance());
        let by_chance = if mean > 0.0 { (1.0 + variance / (mean * mean)).ln() } else { 0.0 };
        let (gap, factor) = (bias.max(-1.0).exp() * mean, (1.645 * (by_chance + doubt).sqrt()).exp());
        let errors: f64 = terms.0.iter().map(|(_, v)| v).sum();
        let (low, high, at_start) = (gap / factor, gap * factor, (whole - errors).max(whole / 20.0));
        let is_tried = all_asked && number >= self.least_looks;
        self.parts.push(if is_tried { gap } else { high } / at_start);
        let row = self.parts.len().checked_sub(self.in_a_row).map(|first| &self.parts[first..]);
        let steady = row.map_or(f64::INFINITY, |row| row.iter().copied().fold(0.0, f64::max));
        Expected { gap, low, high, at_start, steady }
    }
}

/// What a session should say.
#[derive(Clone, Copy, Debug)]
pub struct Expected {
    gap: f64,
    low: f64,
    high: f64,
    at_start: f64,
    /// The largest of the estimates that would end a run, as a part of the gap at the start; infinite while there are too few.
    steady: f64,
}

impl Expected {
    /// How what a session says differs from what it should say, if it does: by more than a millionth, and by more than rounding
    /// of the gap at the start explains.
    pub fn differs(expected: Option<Self>, found: Option<Remaining>) -> Option<String> {
        Self::differs_by(1e-6, expected, found)
    }

    /// The same by more than another part.
    pub fn differs_by(within: f64, expected: Option<Self>, found: Option<Remaining>) -> Option<String> {
        let same = match (expected, found) {
            (None, None) => true,
            (Some(right), Some(found)) => right.is_near(&found, within),
            _ => false,
        };
        (!same).then(|| format!("{expected:?} should remain, and not {found:?}"))
    }

    fn is_near(&self, found: &Remaining, within: f64) -> bool {
        let rounding = 1e-14 * self.at_start;
        let near = |found: f64, right: f64| (found - right).abs() <= (within + rounding / self.gap) * right;
        let ends_are_near = near(found.gap, self.gap) && near(found.low, self.low) && near(found.high, self.high);
        let is_rounding = self.gap < rounding && found.gap < 2.0 * rounding && found.low <= found.high;
        let starts_near = (found.at_start - self.at_start).abs() <= 1e-6 * self.at_start;
        let steady_near = found.steady_part == self.steady || near(found.steady_part, self.steady);
        starts_near && (is_rounding || (ends_are_near && steady_near))
    }
}
