//! What settings are worth: the queries to each target on trials that they were not picked on, with intervals.

use sgq::{Random, random::derive_seed};

use super::{
    Cell,
    trials::{Trials, advance},
};
use crate::{
    experiment::NamedMethod,
    run::TrialError,
    statistics::{CurveMean, first_at_most},
};

/// Means of resampled trials behind an interval.
const RESAMPLES: usize = 400;
/// The parts of them below the ends of an interval.
const INTERVAL: (f64, f64) = (0.025, 0.975);

/// A method with some settings on fresh trials.
pub(crate) struct Fresh {
    pub method: NamedMethod,
    /// The mean gap after 0, 1, 2 … queries, as far as it was looked at.
    pub mean: CurveMean,
    /// The gaps of each trial after 0, 1, 2 … queries; infinite after divergence.
    pub trials: Vec<Vec<f64>>,
    pub diverged: bool,
    /// For each target, the queries at which each of the resampled means is there; none where the budget was not enough.
    crossings: Vec<(f64, Vec<Option<u64>>)>,
}

impl Fresh {
    /// The first number of queries at which the mean gap is at a target.
    pub fn queries_to(&self, target: f64) -> Option<u64> {
        first_at_most(self.mean.mean(), target).map(|queries| queries as u64)
    }

    /// The 2.5th and the 97.5th percentile of the queries over means of resampled trials; an end is none where they are past
    /// the budget.
    pub fn interval(&self, target: f64) -> Option<(Option<u64>, Option<u64>)> {
        let (_, crossings) = self.crossings.iter().find(|(other, _)| *other == target)?;
        let mut sorted: Vec<u64> = crossings.iter().map(|it| it.unwrap_or(u64::MAX)).collect();
        sorted.sort_unstable();
        let at = |part: f64| Some(sorted[place(sorted.len(), part)]).filter(|queries| *queries != u64::MAX);
        Some((at(INTERVAL.0), at(INTERVAL.1)))
    }
}

/// Where a part of that many sorted numbers is below.
fn place(count: usize, part: f64) -> usize {
    ((count - 1) as f64 * part).round() as usize
}

/// Runs the experiment's trials until every target is reached by the mean, and by enough of the resampled means for the
/// interval; or to the end of the budget.
pub(crate) fn measure(cell: &Cell<'_>, method: &NamedMethod, targets: &[f64]) -> Result<Fresh, TrialError> {
    run(cell, method, targets, false)
}

/// The same to the end of the budget, whatever happens on the way.
pub(crate) fn measure_whole(cell: &Cell<'_>, method: &NamedMethod, targets: &[f64]) -> Result<Fresh, TrialError> {
    run(cell, method, targets, true)
}

fn run(cell: &Cell<'_>, method: &NamedMethod, targets: &[f64], whole: bool) -> Result<Fresh, TrialError> {
    let (experiment, budget) = (cell.experiment, cell.experiment.budget);
    let mut trials = Trials::open(cell, method, 0..experiment.trials)?;
    let samples = samples(derive_seed(experiment.seed, &cell.method.name, 0), trials.gaps().len());
    let mut crossings: Vec<(f64, Vec<Option<u64>>)> =
        targets.iter().map(|target| (*target, vec![None; samples.len()])).collect();
    let enough = place(samples.len(), INTERVAL.1) + 1;
    let mut next = 0;
    while next <= budget {
        let block: Vec<u64> = (next..(next + 4 + next / 8).min(budget + 1)).collect();
        advance(&mut [&mut trials], &block, cell.interrupt)?;
        for queries in &block {
            see_crossings(&trials, &samples, *queries, &mut crossings);
        }
        next += block.len() as u64;
        let reached = |(target, crossed): &(f64, Vec<Option<u64>>)| {
            crossed.iter().filter(|it| it.is_some()).count() >= enough && trials.mean().iter().any(|gap| gap <= target)
        };
        if !whole && crossings.iter().all(reached) {
            break;
        }
    }
    let mut mean = CurveMean::default();
    trials.gaps().for_each(|gaps| mean.add(gaps));
    let diverged = trials.has_diverged();
    let trials = trials.gaps().map(<[f64]>::to_vec).collect();
    Ok(Fresh { method: method.clone(), mean, trials, diverged, crossings })
}

/// How often each trial is in each of the resampled means; a single trial is what it is.
fn samples(seed: u64, trials: usize) -> Vec<Vec<f64>> {
    let mut random = Random::new(seed, "bootstrap");
    let count = if trials > 1 { RESAMPLES } else { 1 };
    let sample = |_| {
        let mut counts = vec![0.0; trials];
        (0..trials).for_each(|_| counts[random.index(trials)] += 1.0);
        counts
    };
    (0..count).map(sample).collect()
}

/// Notes which of the resampled means are at which targets after so many queries.
fn see_crossings(trials: &Trials, samples: &[Vec<f64>], queries: u64, crossings: &mut [(f64, Vec<Option<u64>>)]) {
    let gaps: Vec<f64> = trials.gaps().map(|gaps| gaps[queries as usize]).collect();
    for (number, counts) in samples.iter().enumerate() {
        let open = |(_, crossed): &(f64, Vec<Option<u64>>)| crossed[number].is_none();
        if !crossings.iter().any(open) {
            continue;
        }
        // A trial that diverged and is not in the sample does not count.
        let drawn = counts.iter().zip(&gaps).filter(|(count, _)| **count > 0.0);
        let mean = drawn.map(|(count, gap)| count * gap).sum::<f64>() / gaps.len() as f64;
        for (target, crossed) in crossings.iter_mut() {
            if crossed[number].is_none() && mean <= *target {
                crossed[number] = Some(queries);
            }
        }
    }
}
