//! The one place where gradients are counted.

use serde::{Deserialize, Serialize};

use crate::Oracle;

/// Counts every gradient, for each user: the *billed* ones, which a user was asked for and which cost something, and
/// the *diagnostic* ones, which a simulation looked at for free (OGQ's oracle) and which no real run could have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Meter {
    billed: Vec<u64>,
    diagnostic: Vec<u64>,
    billed_total: u64,
    polled: u64,
}

impl Meter {
    pub(crate) fn new(users: usize) -> Self {
        Self { billed: vec![0; users], diagnostic: vec![0; users], billed_total: 0, polled: 0 }
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

    pub(crate) fn poll(&mut self, losses: u64) {
        self.polled += losses;
    }

    pub(crate) fn bill(&mut self, user: usize) {
        self.billed[user] += 1;
        self.billed_total += 1;
    }

    /// Looks at every user's gradient at a point, one row each, and counts them as diagnostic.
    pub(crate) fn look_at_all(&mut self, oracle: &dyn Oracle, point: &[f64], rows: &mut [f64]) {
        for (user, row) in rows.chunks_exact_mut(point.len()).enumerate() {
            oracle.gradient(user, point, row);
            self.diagnostic[user] += 1;
        }
    }
}
