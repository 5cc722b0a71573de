//! How good the choices of many trials were, query by query: Proposition 1 and Lemma 2, measured.

use sgq::theory::Measured;

/// Sums over trials, for each number of queries. Only guided choices count: Proposition 1 says nothing of random ones.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ChoiceStatistics {
    /// From 0 queries on.
    pub by_query: Vec<ChoicesAtQuery>,
}

/// The choices that led to one query, over all trials.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ChoicesAtQuery {
    /// Trials in which the choice was guided.
    pub guided: u64,
    /// The sum of their regrets.
    pub regret: f64,
    /// The sum of Proposition 1's bounds, `2 r` of the chosen user.
    pub bound: f64,
    /// The largest regret as a part of its bound.
    pub largest_part: f64,
    /// The largest `|EI_i − ẼI_i| / r_i` of any user in any trial.
    pub tightness: f64,
}

impl ChoicesAtQuery {
    fn merge(&mut self, other: &Self) {
        self.guided += other.guided;
        self.regret += other.regret;
        self.bound += other.bound;
        self.largest_part = self.largest_part.max(other.largest_part);
        self.tightness = self.tightness.max(other.tightness);
    }

    /// A sum over the guided trials as a mean; not a number where there are none.
    pub fn mean(&self, sum: f64) -> f64 {
        sum / self.guided as f64
    }
}

impl ChoiceStatistics {
    /// Takes in one choice of one trial.
    pub fn add(&mut self, queries: u64, measured: &Measured) {
        let bound = 2.0 * measured.bonus;
        let mut here = ChoicesAtQuery { tightness: measured.tightness, ..ChoicesAtQuery::default() };
        if measured.guided {
            here.guided = 1;
            here.regret = measured.regret;
            here.bound = bound;
            // Right after a sweep nothing is stale: regret and bound are both zero, but for rounding.
            here.largest_part = if measured.regret > 1e-300 && bound > 0.0 { measured.regret / bound } else { 0.0 };
        }
        self.at(queries as usize).merge(&here);
    }

    /// Takes in other trials.
    pub fn merge(&mut self, other: &Self) {
        for (queries, here) in other.by_query.iter().enumerate() {
            self.at(queries).merge(here);
        }
    }

    /// Everything, over all queries.
    pub fn total(&self) -> ChoicesAtQuery {
        let mut total = ChoicesAtQuery::default();
        self.by_query.iter().for_each(|here| total.merge(here));
        total
    }

    fn at(&mut self, queries: usize) -> &mut ChoicesAtQuery {
        if self.by_query.len() <= queries {
            self.by_query.resize(queries + 1, ChoicesAtQuery::default());
        }
        &mut self.by_query[queries]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_guided_choices_have_a_regret() {
        let guided = Measured { guided: true, regret: 3.0, bonus: 2.0, tightness: 0.5 };
        let explored = Measured { guided: false, regret: 9.0, bonus: 1.0, tightness: 0.75 };
        let (mut one, mut other) = (ChoiceStatistics::default(), ChoiceStatistics::default());
        one.add(2, &guided);
        other.add(2, &explored);
        other.add(3, &Measured { regret: 1.0, ..guided });
        one.merge(&other);
        assert_eq!(one.by_query.len(), 4);
        assert_eq!(
            one.by_query[2],
            ChoicesAtQuery { guided: 1, regret: 3.0, bound: 4.0, largest_part: 0.75, tightness: 0.75 }
        );
        let total = one.total();
        assert_eq!((total.guided, total.mean(total.regret), total.mean(total.bound)), (2, 2.0, 4.0));
        assert!(one.by_query[0].mean(0.0).is_nan());
    }
}
