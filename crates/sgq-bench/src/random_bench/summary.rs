//! What all random problems together say of each method.

use serde::Serialize;

use super::{Measured, Options, Outcome};
use crate::benchmark::Tuned;

/// A method keeps up with the competitor where it needs at most so many times its queries.
pub(super) const WITHIN: f64 = 1.2;
/// A run that was ever above this many times its start has gone far astray.
pub(super) const ASTRAY: f64 = 2.0;
/// Worst cases that are listed for each method and target.
const LISTED: usize = 3;

/// A method over all problems.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MethodSummary {
    /// The method's name.
    pub method: String,
    /// The problems that it was measured on.
    pub problems: usize,
    /// How it did, target by target.
    pub targets: Vec<TargetSummary>,
    /// On how many problems its mean gap was ever above twice that at the start.
    pub transient_above_2: usize,
    /// On how many problems the gap of a single trial was.
    pub trial_transient_above_2: usize,
    /// On how many problems a trial diverged.
    pub diverged: usize,
}

/// A method over all problems on which the competitor reaches a target.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TargetSummary {
    /// The relative gap to reach.
    pub target: f64,
    /// On how many problems the competitor reaches it within the budget.
    pub problems: usize,
    /// On how many of them the method does.
    pub reached: usize,
    /// On how many of them it needs at most 1.2 times the competitor's queries.
    pub within: usize,
    /// The geometric mean of its queries over the competitor's. Where it does not reach the target, its queries count as
    /// one more than the budget, and the mean is a lower bound.
    pub mean_ratio: Option<f64>,
    /// On how many problems it reaches the target and the competitor does not.
    pub only_method: usize,
    /// Where it needs the most queries over the competitor's, worst first; only ratios above 1.2.
    pub worst: Vec<Worst>,
}

/// A problem on which a method does badly.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Worst {
    /// The problem's number.
    pub problem: u64,
    /// What kind of problem it is.
    pub description: String,
    /// The method's queries; none where the budget was not enough.
    pub queries: Option<u64>,
    /// The competitor's queries.
    pub against: u64,
    /// The ratio; a lower bound where the budget was not enough.
    pub ratio: f64,
}

impl Outcome {
    /// The tuned competitor on a problem.
    fn competitor(&self, problem: u64) -> Option<&Measured> {
        // Problem by problem in rising order: the first of a problem is the competitor, if it is finished.
        let first = self.cells.partition_point(|cell| cell.problem.index < problem);
        self.cells.get(first).filter(|cell| cell.problem.index == problem && cell.tuning == Tuned::Tuned)
    }

    /// A cell's queries over those of the tuned competitor, at the target of this number; none where one of them does
    /// not reach it.
    pub fn ratio(&self, cell: &Measured, target: usize) -> Option<f64> {
        let queries = cell.targets.get(target)?.queries?;
        let against = self.competitor(cell.problem.index)?.targets.get(target)?.queries?;
        Some(queries as f64 / against as f64)
    }

    /// Each method over all problems, in the order of the options.
    pub fn summaries(&self, options: &Options) -> Vec<MethodSummary> {
        options.methods.iter().map(|method| self.summary(&options.label(method), &options.targets)).collect()
    }

    /// The problems on which the competitor is finished, and those on which it reaches the target of this number.
    pub(super) fn competitor_reaches(&self, target: usize) -> (usize, usize) {
        let finished = self.cells.iter().filter(|cell| cell.tuning == Tuned::Tuned);
        let reaches = finished.clone().filter(|cell| cell.targets.get(target).is_some_and(|it| it.queries.is_some()));
        (finished.count(), reaches.count())
    }

    fn summary(&self, method: &str, targets: &[f64]) -> MethodSummary {
        let own = |cell: &&Measured| cell.tuning == Tuned::Untuned && cell.method == method;
        let cells: Vec<&Measured> = self.cells.iter().filter(own).collect();
        let count = |is: &dyn Fn(&Measured) -> bool| cells.iter().filter(|cell| is(cell)).count();
        let astray = |transient: Option<f64>| transient.is_none_or(|transient| transient > ASTRAY);
        MethodSummary {
            method: method.to_owned(),
            problems: cells.len(),
            targets: (0..targets.len()).map(|place| self.at_target(&cells, place, targets[place])).collect(),
            transient_above_2: count(&|cell| astray(cell.transient)),
            trial_transient_above_2: count(&|cell| astray(cell.trial_transient)),
            diverged: count(&|cell| cell.diverged),
        }
    }

    fn at_target(&self, cells: &[&Measured], place: usize, target: f64) -> TargetSummary {
        let mut compared = Vec::new();
        let mut only_method = 0;
        for cell in cells {
            let Some(competitor) = self.competitor(cell.problem.index) else {
                continue;
            };
            let queries = cell.targets.get(place).and_then(|it| it.queries);
            match competitor.targets.get(place).and_then(|it| it.queries) {
                Some(against) => compared.push(Worst {
                    problem: cell.problem.index,
                    description: cell.problem.to_string(),
                    queries,
                    against,
                    ratio: queries.unwrap_or(cell.budget + 1) as f64 / against as f64,
                }),
                None => only_method += usize::from(queries.is_some()),
            }
        }
        let keeps_up = |it: &&Worst| it.queries.is_some() && it.ratio <= WITHIN;
        let logarithms: f64 = compared.iter().map(|it| it.ratio.ln()).sum();
        let mean_ratio = (!compared.is_empty()).then(|| (logarithms / compared.len() as f64).exp());
        let (problems, reached) = (compared.len(), compared.iter().filter(|it| it.queries.is_some()).count());
        let within = compared.iter().filter(keeps_up).count();
        compared.retain(|it| !keeps_up(&it));
        compared.sort_by(|one, other| other.ratio.total_cmp(&one.ratio).then(one.problem.cmp(&other.problem)));
        compared.truncate(LISTED);
        TargetSummary { target, problems, reached, within, mean_ratio, only_method, worst: compared }
    }
}
