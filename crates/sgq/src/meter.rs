//! The one place where gradients are counted.

use serde::{Deserialize, Serialize};

use crate::{Answer, Oracle};

/// Counts every gradient, for each user: the *billed* ones, which a user was asked for and which cost something, and
/// the *diagnostic* ones, which a simulation looked at for free (OGQ's oracle) and which no real run could have.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Meter {
    billed: Vec<u64>,
    diagnostic: Vec<u64>,
    billed_total: u64,
    polled: u64,
    earlier: u64,
    costs: Vec<f64>,
    cost: f64,
    /// What a query costs at least, and at most.
    range: [f64; 2],
    numbers: u64,
}

impl Meter {
    /// `costs` has one for each user, or none where all are 1.
    pub(crate) fn new(users: usize, costs: Vec<f64>) -> Self {
        let least = costs.iter().copied().fold(f64::INFINITY, f64::min);
        let most = costs.iter().copied().fold(0.0, f64::max);
        Self {
            range: if costs.is_empty() { [1.0; 2] } else { [least, most] },
            numbers: 0,
            billed: vec![0; users],
            diagnostic: vec![0; users],
            billed_total: 0,
            polled: 0,
            earlier: 0,
            costs,
            cost: 0.0,
        }
    }

    /// What a query to a user costs.
    pub fn cost_of(&self, user: usize) -> f64 {
        self.costs.get(user).copied().unwrap_or(1.0)
    }

    /// What all billed queries have cost.
    pub fn cost(&self) -> f64 {
        self.cost
    }

    /// What the cheapest user costs.
    pub(crate) fn cheapest(&self) -> f64 {
        self.range[0]
    }

    /// What the dearest user costs.
    pub(crate) fn dearest(&self) -> f64 {
        self.range[1]
    }

    /// How many numbers all billed answers held: gradients, and what was said beside them.
    pub fn numbers(&self) -> u64 {
        self.numbers
    }

    /// Queries paid for so far, over all users.
    pub fn billed(&self) -> u64 {
        self.billed_total
    }

    /// Queries paid for so far, user by user.
    pub fn billed_per_user(&self) -> &[u64] {
        &self.billed
    }

    /// Gradients that were looked at without being billed, over all users.
    pub fn diagnostic(&self) -> u64 {
        self.diagnostic.iter().sum()
    }

    /// Gradients that were looked at without being billed, user by user.
    pub fn diagnostic_per_user(&self) -> &[u64] {
        &self.diagnostic
    }

    /// Losses that were looked at without being billed, over all users.
    pub fn polled(&self) -> u64 {
        self.polled
    }

    /// Answers of an earlier run that were taken in without being billed again.
    pub fn earlier(&self) -> u64 {
        self.earlier
    }

    pub(crate) fn take_over(&mut self) {
        self.earlier += 1;
    }

    /// Each user's cost; empty where all are 1.
    pub(crate) fn costs(&self) -> &[f64] {
        &self.costs
    }

    pub(crate) fn poll(&mut self, losses: u64) {
        self.polled += losses;
    }

    pub(crate) fn bill(&mut self, user: usize, answer: &Answer<'_>) {
        self.count(user, answer.cost.unwrap_or_else(|| self.cost_of(user)));
        self.receive(answer);
    }

    /// A question that was paid for and has no answer.
    pub(crate) fn bill_failure(&mut self, user: usize) {
        self.count(user, self.cost_of(user));
    }

    /// The numbers of an answer whose question was paid for before.
    pub(crate) fn receive(&mut self, answer: &Answer<'_>) {
        self.numbers += answer.numbers();
    }

    fn count(&mut self, user: usize, cost: f64) {
        self.billed[user] += 1;
        self.billed_total += 1;
        self.cost += cost;
    }

    /// Looks at every user's gradient at a point, one row each, and counts them as diagnostic.
    pub(crate) fn look_at_all(&mut self, oracle: &dyn Oracle, point: &[f64], rows: &mut [f64]) {
        for (user, row) in rows.chunks_exact_mut(point.len()).enumerate() {
            oracle.gradient(user, point, row);
            self.diagnostic[user] += 1;
        }
    }
}
