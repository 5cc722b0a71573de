//! How far it is still to go, by the model's own account: docs/frugal.md § 14.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::{Dense, Estimate, LowRank, Model, Own, Plan};
use crate::{frugal::FRUGAL, kernel};

/// What is believed to remain: `f(x) − inf f` at the current point, from answers that were paid for.
///
/// An estimate and not a proof: it is as good as the model behind it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Remaining {
    /// The gap that is expected.
    pub gap: f64,
    /// The gap is believed to be above this with a probability of 95%,
    pub low: f64,
    /// and below this with a probability of 95%.
    pub high: f64,
    /// The gap at the start, as it is believed now.
    pub at_start: f64,
    /// How many users were asked,
    pub asked: usize,
    /// of how many.
    pub users: usize,
    /// Whether what is expected can be taken at its word: everybody was asked, and users have told their Hessians or earlier
    /// estimates were looked back at.
    pub is_tried: bool,
    /// The largest of the last few estimates, as a part of the gap at the start: `gap` where it can be taken at its word, and else
    /// `high`. A run with a tolerance stops once this is within it.
    pub steady_part: f64,
}

impl Remaining {
    /// Whether the gap is at most this part of the gap at the start, and was after the last few answers: by what is expected where that
    /// was tried, and before that by the upper end of the interval. The first few answers may agree by chance, and say nothing yet.
    pub fn is_within(&self, part: f64) -> bool {
        self.asked >= FRUGAL.asked_to_stop.min(self.users)
            && self.steady_part <= part
            && self.high <= FRUGAL.surely_less * self.at_start
    }

    /// The gap as a part of that at the start.
    pub fn part(&self) -> f64 {
        if self.gap > 0.0 { self.gap / self.at_start } else { 0.0 }
    }
}

/// The gap at a point: a sum of squares, one for each direction, along which the minimiser is a normal variable.
#[derive(Default)]
struct Gap {
    /// What it would be if the minimiser was where it is expected.
    expected: f64,
    /// What it is more by on average, because the minimiser is not.
    losses: f64,
    variance: f64,
    /// The gap at the start, seen from where the minimiser is expected.
    start: f64,
}

impl Gap {
    fn add(&mut self, expected: f64, loss: f64, start: f64) {
        self.expected += expected;
        self.losses += loss;
        self.variance += 2.0 * loss * loss + 4.0 * expected * loss;
        self.start += start;
    }

    /// `M`, Eq. (66).
    fn mean(&self) -> f64 {
        self.expected + self.losses
    }
}

/// What became of earlier estimates, Eq. (67): as later answers see it, how far off they were.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Hindsight {
    /// Points of the last pass, and the gap that was expected there then.
    records: VecDeque<(Vec<f64>, f64)>,
    /// Answers since the last record.
    since: usize,
    /// The logarithms of what is expected there now over what was expected then: their weight, their sum, and that of their
    /// squares.
    weight: f64,
    sum: f64,
    squares: f64,
    /// The last estimates, as parts of the gap at the start.
    parts: VecDeque<f64>,
}

impl Hindsight {
    /// The largest of so many estimates in a row, of which this is the last; infinite while there were fewer.
    fn steady(&mut self, part: f64, most: usize) -> f64 {
        self.parts.push_back(part);
        self.parts.drain(..self.parts.len().saturating_sub(most));
        if self.parts.len() < most { f64::INFINITY } else { self.parts.iter().copied().fold(0.0, f64::max) }
    }

    /// There is no estimate: what comes next begins a new row.
    pub fn interrupt(&mut self) {
        self.parts.clear();
    }

    /// Now and then takes a record of where the run stands after so many new answers, and looks back at the one that is a pass old.
    fn look(
        &mut self,
        users: usize,
        news: usize,
        (point, gap): (&[f64], f64),
        expected_at: impl Fn(&[f64]) -> Option<f64>,
    ) {
        let records = if point.len() <= FRUGAL.dense_up_to { FRUGAL.looks_back } else { FRUGAL.looks_back_low_rank };
        self.since += news;
        if self.since < users.div_ceil(records) {
            return;
        }
        self.since = 0;
        if self.records.len() >= records
            && let Some((old, then)) = self.records.pop_front()
            && let Some(log) = expected_at(&old).map(|now| (now / then).ln()).filter(|log| log.is_finite())
        {
            let kept = FRUGAL.looks_kept;
            self.weight = kept * self.weight + 1.0;
            self.sum = kept * self.sum + log;
            self.squares = kept * self.squares + log * log;
        }
        self.records.push_back((point.to_vec(), gap));
    }

    /// Sees all points in other units.
    pub fn change(&mut self, again: impl Fn(&[f64]) -> Vec<f64>) {
        self.records.iter_mut().for_each(|(point, _)| *point = again(point));
    }

    /// The mean of those logarithms and their variance, with one more that was expected beforehand.
    fn off(&self) -> (f64, f64) {
        let mean = self.sum / (1.0 + self.weight);
        let variance = (FRUGAL.first_doubt.powi(2) + self.squares) / (1.0 + self.weight) - mean * mean;
        (mean, variance.max(FRUGAL.least_doubt.powi(2)))
    }
}

impl Model {
    /// Says how far it is still to go from where a move led.
    pub(super) fn look_ahead(&mut self, point: &[f64]) {
        self.remaining = self.gap(point).and_then(|gap| {
            let mut hindsight = std::mem::take(&mut self.hindsight);
            let news = self.pace.answers_of_last();
            hindsight.look(self.users(), news, (point, gap.mean()), |old| Some(self.gap(old)?.mean()));
            self.hindsight = hindsight;
            let remaining = self.remains(&gap)?;
            // Hessians say all of curvature.
            let unseen = if self.own().is_some() { 0 } else { point.len().min(FRUGAL.rank) / self.users() };
            let most = FRUGAL.steady + unseen;
            let part = if remaining.is_tried { remaining.gap } else { remaining.high } / remaining.at_start;
            Some(Remaining { steady_part: self.hindsight.steady(part, most), ..remaining })
        });
        if self.remaining.is_none() {
            self.hindsight.interrupt();
        }
    }

    /// Nothing can be said of how far it is to go.
    pub(super) fn cannot_tell(&mut self) {
        self.remaining = None;
        self.hindsight.interrupt();
    }

    /// The gap at a point as it is believed since the last answer.
    fn gap(&self, point: &[f64]) -> Option<Gap> {
        match (self.own(), self.believed()) {
            (Some(own), _) => by_own(own, &self.sizes, self.users(), point),
            (None, Some((estimate, plan))) => by_model(estimate, plan, point),
            (None, None) => None,
        }
    }

    /// Eq. (67) and (68).
    fn remains(&self, gap: &Gap) -> Option<Remaining> {
        let (log, doubt) = self.hindsight.off();
        let mean = gap.mean();
        let by_chance = if mean > 0.0 { (gap.variance / (mean * mean)).ln_1p() } else { 0.0 };
        let factor = (FRUGAL.interval_sd * (by_chance + doubt).sqrt()).exp();
        let expected = mean * log.max(FRUGAL.least_log).exp();
        let (low, high) = (expected / factor, expected * factor);
        let at_start = (gap.start - gap.losses).max(FRUGAL.least_certain_gain * gap.start);
        let (asked, users) = (self.answers.count(), self.users());
        let is_tried = asked == users && (self.own().is_some() || self.hindsight.weight >= FRUGAL.looks_to_stop);
        let is_number = high.is_finite() && at_start.is_finite();
        let steady_part = f64::INFINITY;
        is_number.then_some(Remaining { gap: expected, low, high, at_start, asked, users, is_tried, steady_part })
    }
}

/// By shared curvature.
fn by_model(estimate: &Estimate, plan: &Plan, point: &[f64]) -> Option<Gap> {
    let mut gap = Gap::default();
    match plan {
        Plan::Dense(plan) => {
            let from_start = |x: &[f64]| difference(x, &plan.sums.start);
            let (anchor, point) = (from_start(&estimate.anchor), from_start(point));
            inside(&mut gap, plan, estimate, (&anchor, &estimate.gradient), &point)?;
        }
        Plan::LowRank(plan) => low_rank(&mut gap, plan, estimate, point)?,
    }
    Some(gap)
}

/// Eq. (65): in the directions of a matrix, where the anchor, the mean gradient there and the point are in its coordinates.
fn inside(gap: &mut Gap, plan: &Dense, estimate: &Estimate, at: (&[f64], &[f64]), point: &[f64]) -> Option<()> {
    let (fit, known) = plan.believed()?;
    let newton = plan.newton(at.0, at.1, &fit.bends)?;
    let (here, losses) = (plan.along_directions(point)?, known.losses(&fit.bends, estimate.unsure));
    let carried = 0.5 * known.own_curvature / fit.bends.len() as f64 * estimate.carried;
    let there = plan.along_directions(at.0)?;
    for (k, bend) in fit.bends.iter().enumerate() {
        let off = here[k] - newton[k];
        let way = bend * (here[k] - there[k]);
        let carried = carried + 0.5 * FRUGAL.shared_doubt * way * way;
        gap.add(0.5 * bend * off * off, losses[k] + carried / bend, 0.5 * bend * newton[k] * newton[k]);
    }
    Some(())
}

/// Inside of the basis by its matrix, outside by one number.
fn low_rank(gap: &mut Gap, plan: &LowRank, estimate: &Estimate, point: &[f64]) -> Option<()> {
    let (basis, start, around) = (&plan.basis, &plan.outside.sums.start, plan.outside.believed()?);
    let (anchor, point) = (difference(&estimate.anchor, start), difference(point, start));
    let [anchor_in, slope_in, point_in] = basis.coordinates_of([&anchor, &estimate.gradient, &point]);
    inside(gap, &plan.inside, estimate, (&anchor_in, &slope_in), &point_in)?;
    let newton = |anchor: &[f64], slope: &[f64]| -> Vec<f64> {
        anchor.iter().zip(slope).map(|(anchor, slope)| anchor - slope / around.bend).collect()
    };
    let (all, part) = (newton(&anchor, &estimate.gradient), newton(&anchor_in, &slope_in));
    let outside = |all: f64, inside: f64| 0.5 * around.bend * (all - inside).max(0.0);
    let off = outside(kernel::distance_squared(&point, &all), kernel::distance_squared(&point_in, &part));
    let loss = around.spread_size * estimate.unsure + around.own_curvature * estimate.carried;
    let start = outside(kernel::norm_squared(&all), kernel::norm_squared(&part));
    gap.add(off, 0.5 * loss / around.bend, start);
    Some(())
}

/// By users' own quadratics: Eq. (69).
fn by_own(own: &Own, sizes: &[f64], users: usize, point: &[f64]) -> Option<Gap> {
    let mean = own.mean()?;
    let half = |way: &[f64]| 0.5 * kernel::dot(way, &mean.curvature.times_vector(way));
    let off = difference(&difference(point, own.start()), &mean.way);
    let mut gap = Gap::default();
    gap.add(half(&off), own.loss(sizes, users, point), half(&mean.way));
    Some(gap)
}

fn difference(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a - b).collect()
}
