//! Methods compared over all sets: ratios of queries, wins, distances to the limit, parts of the way to an oracle.

use super::{
    data::{FRUGAL, Method, Results, Tuning},
    text::{geometric_mean, median},
};

/// Where the way to an oracle begins.
pub const SHUFFLED: &str = "shuffled SGD";
/// The oracles that it leads to.
pub const ORACLES: [&str; 2] = ["OGQ", "OGQ own L"];

/// The sets that `frugal` was made without.
pub const UNSEEN: [&str; 2] = ["benefits", "headache"];

/// The 97.5% point of Student's distribution.
fn student(freedom: usize) -> f64 {
    const POINTS: [f64; 20] = [
        12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
        2.120, 2.110, 2.101, 2.093, 2.086,
    ];
    POINTS.get(freedom - 1).copied().unwrap_or(1.96 + 2.5 / freedom as f64)
}

/// A mean, and the number of sets on which the target is reached: by both methods where it is a mean of ratios.
pub struct Mean {
    pub value: Option<f64>,
    pub sets: usize,
}

/// Sets on which a method needs fewer queries than the best competitor, more, and as many.
#[derive(Default, PartialEq, Debug)]
pub struct Score {
    pub wins: usize,
    pub losses: usize,
    pub ties: usize,
}

impl Results {
    /// The geometric mean over the sets that have a ratio.
    pub fn mean(&self, ratio: impl Fn(&str) -> Option<f64>) -> Mean {
        let ratios: Vec<f64> = self.sets.iter().filter_map(|set| ratio(set)).collect();
        Mean { value: geometric_mean(&ratios), sets: ratios.len() }
    }

    /// The geometric mean of a method's queries over the fewest of any competitor, both tuned alike.
    pub fn over_fewest(&self, method: &Method, tuning: Tuning, target: &str) -> Mean {
        self.mean(|set| {
            let own = self.queries(set, &method.name, tuning, target)?;
            Some(own as f64 / self.best(set, tuning, target)?.0 as f64)
        })
    }

    /// Between which numbers the mean ratio of a method that is not tuned to tuned competitors would be in 95 of 100 draws of as
    /// many data sets, if logarithms of ratios were normal: Student's interval.
    pub fn interval_over_sets(&self, method: &Method, target: &str) -> Option<(f64, f64)> {
        let logs: Vec<f64> =
            self.sets.iter().filter_map(|set| self.untuned_ratio(method, set, target)).map(f64::ln).collect();
        let (count, mean) = (logs.len() as f64, logs.iter().sum::<f64>() / logs.len() as f64);
        let variance = logs.iter().map(|log| (log - mean) * (log - mean)).sum::<f64>() / (count - 1.0);
        let reach = student(logs.len().checked_sub(1).filter(|freedom| *freedom > 0)?) * (variance / count).sqrt();
        Some(((mean - reach).exp(), (mean + reach).exp()))
    }

    fn untuned_ratio(&self, method: &Method, set: &str, target: &str) -> Option<f64> {
        let own = self.queries(set, &method.name, Tuning::Untuned, target)?;
        Some(own as f64 / self.best(set, Tuning::Tuned, target)?.0 as f64)
    }

    /// The mean ratio on sets that nobody had looked at when the first version of `frugal` was made.
    pub fn unseen(&self, method: &Method, target: &str) -> Mean {
        self.mean(|set| self.untuned_ratio(method, set, target).filter(|_| UNSEEN.contains(&set)))
    }

    /// The same of a method that is not tuned, against competitors that are.
    pub fn untuned_over_fewest(&self, method: &Method, tuning: Tuning, target: &str) -> Mean {
        self.untuned_over_fewest_of(method, tuning, target, |_| true)
    }

    /// The same against some competitors only.
    pub fn untuned_over_fewest_of(
        &self,
        method: &Method,
        tuning: Tuning,
        target: &str,
        among: impl Fn(&Method) -> bool,
    ) -> Mean {
        self.mean(|set| {
            let own = self.queries(set, &method.name, Tuning::Untuned, target)?;
            Some(own as f64 / self.best_of(set, tuning, target, &among)?.0 as f64)
        })
    }

    /// The geometric mean of a method's queries over the sets on which it reaches the target.
    pub fn mean_queries(&self, method: &Method, tuning: Tuning, target: &str) -> Mean {
        self.mean(|set| self.queries(set, &method.name, tuning, target).map(|queries| queries as f64))
    }

    /// The geometric mean of a method's queries over all sets. A set on which it does not reach the target counts with one query
    /// more than the budget. None where it reaches the target on no set.
    pub fn mean_within(&self, method: &Method, tuning: Tuning, target: &str, budget: u64) -> Mean {
        let sets = self.mean_queries(method, tuning, target).sets;
        let counted = |set: &str| self.queries(set, &method.name, tuning, target).unwrap_or(budget + 1);
        Mean { value: self.mean(|set| Some(counted(set) as f64)).value.filter(|_| sets > 0), sets }
    }

    /// A method that is not tuned against the best competitor that is, set by set. Not to reach the target is to need more.
    pub fn score(&self, method: &Method, tuning: Tuning, target: &str) -> Score {
        let mut score = Score::default();
        for set in &self.sets {
            let own = self.queries(set, &method.name, Tuning::Untuned, target).unwrap_or(u64::MAX);
            let best = self.best(set, tuning, target).map_or(u64::MAX, |(queries, _)| queries);
            match own.cmp(&best) {
                std::cmp::Ordering::Less => score.wins += 1,
                std::cmp::Ordering::Greater => score.losses += 1,
                std::cmp::Ordering::Equal => score.ties += usize::from(own < u64::MAX),
            }
        }
        score
    }

    /// On how many sets no competitor needs fewer queries than this one.
    pub fn fewest_on(&self, method: &Method, tuning: Tuning, target: &str) -> usize {
        let is_best = |set: &&String| {
            let own = self.queries(set, &method.name, tuning, target);
            own.is_some_and(|own| self.best(set, tuning, target).is_some_and(|(queries, _)| own <= queries))
        };
        self.sets.iter().filter(is_best).count()
    }

    /// The queries of `frugal` over the limit for random order; infinite where it does not get there.
    pub fn over_limit(&self, set: &str, target: &str) -> Option<f64> {
        let limit = self.limit(set, target)?.max(1) as f64;
        let own = self.queries(set, FRUGAL, Tuning::Untuned, target);
        Some(own.map_or(f64::INFINITY, |own| own as f64 / limit))
    }

    /// The part of the way from shuffled SGD to an oracle, both tuned, that `frugal` goes, in logarithms of queries. None where
    /// shuffled SGD does not get there or needs no more queries than the oracle; negative and infinite where `frugal` does not.
    pub fn share(&self, oracle: &str, set: &str, target: &str) -> Option<f64> {
        let log = |queries: u64| (queries.max(1) as f64).ln();
        let start = log(self.queries(set, SHUFFLED, Tuning::Tuned, target)?);
        let way = start - log(self.queries(set, oracle, Tuning::Tuned, target)?);
        let own = self.queries(set, FRUGAL, Tuning::Untuned, target).map_or(f64::INFINITY, log);
        (way > 0.0).then_some((start - own) / way)
    }

    pub fn median_over_limit(&self, target: &str) -> Option<f64> {
        median(self.sets.iter().filter_map(|set| self.over_limit(set, target)).collect())
    }

    pub fn median_share(&self, oracle: &str, target: &str) -> Option<f64> {
        median(self.sets.iter().filter_map(|set| self.share(oracle, set, target)).collect())
    }
}
