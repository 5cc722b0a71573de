//! What came out of it.

use std::time::Duration;

use serde::Serialize;
use sgq::Format;

use super::{Options, StepKind, side_by_side::Turn};
use crate::memory;

/// What a choice of each search costs.
///
/// A step is what the search spends on choosing and on taking in the answer, and what the session spends on both,
/// which is the same for either of them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Measurement {
    /// How many users there are.
    pub users: usize,
    /// How many parameters there are.
    pub dim: usize,
    /// The steps that were taken.
    pub steps: u64,
    /// How the point moved.
    pub method: StepKind,
    /// The probability of asking a user at random.
    pub explore: f64,
    /// What Lemma 2's bonus is weighed by.
    pub bonus_weight: f64,
    /// The step size.
    pub step_size: f64,
    /// Who the users are.
    pub seed: u64,
    /// How the table keeps a number.
    pub table: &'static str,
    /// The bytes of all users' last gradients.
    pub table_bytes: u64,
    /// Whether both chose the same user each time; nothing where they were never compared.
    pub agree: Option<bool>,
    /// The choices that both made.
    pub compared: u64,
    /// The first choice that was not the same.
    pub disagreement: Option<Disagreement>,
    /// The choices that were made at random.
    pub explored: u64,
    /// The first step, from 0, of those in the means and medians: the first hundred are left out where there are more than
    /// twice as many.
    pub averaged_from_step: u64,
    /// The mean time of a step with the naive scan.
    pub naive_us_per_step: Option<f64>,
    /// The mean time of a step with the lazy search.
    pub lazy_us_per_step: Option<f64>,
    /// How many times the lazy one's the naive one's is.
    pub ratio: Option<f64>,
    /// What of both is not the search's: billing the answer, moving the point, and updating the table.
    pub shared_us_per_step: Option<f64>,
    /// The last gradients that the lazy search read at a step, in the mean.
    pub rows_read_mean: Option<f64>,
    /// The distinct points in the table, in the mean.
    pub distinct_points_mean: Option<f64>,
    /// The medians of the same.
    pub medians: Medians,
    /// The first choice of the lazy search, which may have to prepare itself.
    pub first_choice_us: Option<f64>,
    /// Asking everybody once, without the answers' own time.
    pub first_sweep_seconds: f64,
    /// `f(x) − inf f` before the first step.
    pub gap_at_start: f64,
    /// `f(x) − inf f` after the last step.
    pub gap_at_end: f64,
    /// The most memory that the process has had at once, where the system says.
    pub peak_rss_bytes: Option<u64>,
    /// Why there are fewer steps than were asked for.
    pub ended_early: Option<EndedEarly>,
}

/// Medians over the steps that are averaged.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[allow(missing_docs)] // as in `Measurement`
pub struct Medians {
    pub naive_us_per_step: Option<f64>,
    pub lazy_us_per_step: Option<f64>,
    pub ratio: Option<f64>,
    pub shared_us_per_step: Option<f64>,
    pub rows_read: Option<f64>,
    pub distinct_points: Option<f64>,
}

/// A choice that was not the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Disagreement {
    /// The step, from 0.
    pub step: u64,
    /// Whom the naive scan chose.
    pub naive: usize,
    /// Whom the lazy search chose.
    pub lazy: usize,
}

/// Why there are fewer steps than were asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum EndedEarly {
    /// Somebody wanted it to.
    Interrupted,
    /// The steps were too long.
    Diverged,
}

/// What is known of a run beside its steps.
pub(super) struct Circumstances {
    pub(super) step_size: f64,
    pub(super) first_sweep: Duration,
    pub(super) gap_at_start: f64,
    pub(super) gap_at_end: f64,
    pub(super) ended_early: Option<EndedEarly>,
}

/// One step, in microseconds.
pub(super) struct Record {
    turn: Turn,
    naive: Option<f64>,
    lazy: f64,
    shared: f64,
    distinct_points: usize,
}

impl Record {
    pub(super) fn new(turn: &Turn, total: Duration, distinct_points: usize) -> Self {
        let us = |time: Duration| time.as_secs_f64() * 1e6;
        let shared = total.saturating_sub(turn.naive_time + turn.lazy_time);
        Self {
            turn: *turn,
            naive: turn.naive.map(|_| us(shared + turn.naive_time)),
            lazy: us(shared + turn.lazy_time),
            shared: us(shared),
            distinct_points,
        }
    }
}

impl Measurement {
    pub(super) fn new(options: &Options, records: &[Record], run: &Circumstances) -> Self {
        let averaged_from = if records.len() > 200 { 100 } else { 0 };
        let averaged = &records[averaged_from..];
        let naive = Sample::new(averaged.iter().filter_map(|record| record.naive));
        let lazy = Sample::new(averaged.iter().map(|record| record.lazy));
        let shared = Sample::new(averaged.iter().map(|record| record.shared));
        let rows_read = Sample::new(averaged.iter().map(|record| record.turn.rows_read as f64));
        let distinct_points = Sample::new(averaged.iter().map(|record| record.distinct_points as f64));
        let ratio = |naive: Option<f64>, lazy: Option<f64>| naive.zip(lazy).map(|(naive, lazy)| naive / lazy);
        let compared = || (0u64..).zip(records).filter_map(|(step, it)| Some((step, it.turn.naive?, it.turn.lazy)));
        let disagreement = compared().find(|(_, naive, lazy)| naive != lazy).map(|(step, naive, lazy)| Disagreement {
            step,
            naive,
            lazy,
        });
        let count = compared().count() as u64;
        Self {
            users: options.users,
            dim: options.dim,
            steps: records.len() as u64,
            method: options.method,
            explore: options.explore,
            bonus_weight: options.bonus_weight,
            step_size: run.step_size,
            seed: options.seed,
            table: if options.storage.format == Format::F32 { "f32" } else { "f64" },
            table_bytes: options.estimate().table,
            agree: (count > 0).then_some(disagreement.is_none()),
            compared: count,
            disagreement,
            explored: records.iter().filter(|record| record.turn.explored).count() as u64,
            averaged_from_step: averaged_from as u64,
            naive_us_per_step: naive.mean(),
            lazy_us_per_step: lazy.mean(),
            ratio: ratio(naive.mean(), lazy.mean()),
            shared_us_per_step: shared.mean(),
            rows_read_mean: rows_read.mean(),
            distinct_points_mean: distinct_points.mean(),
            medians: Medians {
                naive_us_per_step: naive.median(),
                lazy_us_per_step: lazy.median(),
                ratio: ratio(naive.median(), lazy.median()),
                shared_us_per_step: shared.median(),
                rows_read: rows_read.median(),
                distinct_points: distinct_points.median(),
            },
            first_choice_us: records.first().map(|record| record.lazy - record.shared),
            first_sweep_seconds: run.first_sweep.as_secs_f64(),
            gap_at_start: run.gap_at_start,
            gap_at_end: run.gap_at_end,
            peak_rss_bytes: memory::peak(),
            ended_early: run.ended_early,
        }
    }
}

/// Numbers in rising order.
struct Sample(Vec<f64>);

impl Sample {
    fn new(numbers: impl Iterator<Item = f64>) -> Self {
        let mut numbers: Vec<f64> = numbers.collect();
        numbers.sort_by(f64::total_cmp);
        Self(numbers)
    }

    fn mean(&self) -> Option<f64> {
        (!self.0.is_empty()).then(|| self.0.iter().sum::<f64>() / self.0.len() as f64)
    }

    /// The one in the middle, or the mean of the two there.
    fn median(&self) -> Option<f64> {
        let count = self.0.len();
        (count > 0).then(|| (self.0[(count - 1) / 2] + self.0[count / 2]) / 2.0)
    }
}
