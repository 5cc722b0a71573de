//! Whether searching pays.
//!
//! Early in a run most users are where everybody was asked first, the mean gradient turns slowly, and a search reads a
//! handful of rows. Late in a run of few users with long steps each has a point of its own, all distances change at every
//! step, and no bound can replace reading them. So an account is kept of what searches save over scans. It is in numbers
//! read and not in seconds: the same run makes the same searches everywhere.

use super::Situation;

/// What is saved by searches, after an anchor that made them possible.
#[derive(Clone, Debug, Default)]
pub(super) struct Account {
    /// Of late: what was saved long ago is no reason to go on losing.
    saved: f64,
    /// What was spent on rows that a new anchor would have ruled out.
    wasted: f64,
    /// What was spent on looking at users and blocks since they were sorted,
    looked: f64,
    /// which was done so many times.
    sorted: f64,
    /// So many choices are left to scans,
    rest: usize,
    /// and this many the last time.
    last_rest: usize,
}

/// What things cost, in numbers that are read one after the other. The factors are from profiles; a factor of two in any of
/// them makes a search give up a little sooner or later, and no other difference.
#[derive(Clone, Copy, Debug)]
pub(super) struct Costs {
    users: f64,
    dim: f64,
    points: f64,
    /// Everybody's score from scratch.
    scan: f64,
    /// Sorting users into blocks. A new anchor costs a scan and this.
    sort: f64,
}

/// One look at a user or a block.
const LOOK: f64 = 100.0;

impl Costs {
    pub(super) fn new(situation: &Situation<'_>) -> Self {
        let (users, dim) = (situation.belief.users() as f64, situation.point.len() as f64);
        let points = situation.belief.distinct_points() as f64;
        Self { users, dim, points, scan: (users + points) * dim + 16.0 * users, sort: 800.0 * users }
    }

    /// A search that looked at so many users and blocks, and read so many rows here and there.
    pub(super) fn search(&self, looks: usize, rows: usize) -> f64 {
        24.0 * self.dim + LOOK * looks as f64 + self.rows(rows)
    }

    /// Computing all distances, and what follows from them.
    pub(super) fn refresh(&self) -> f64 {
        self.points * (5.0 * self.dim + 100.0)
    }

    /// Computing the mean error as a scan does.
    pub(super) fn mean_error(&self) -> f64 {
        2.0 * self.points * self.dim + 20.0 * self.users
    }

    /// The same from nothing: everybody is looked up.
    pub(super) fn refresh_all(&self) -> f64 {
        self.refresh() + 40.0 * self.users
    }

    fn rows(&self, rows: usize) -> f64 {
        2.0 * self.dim * rows as f64
    }
}

impl Account {
    /// Opens the account of a new anchor.
    pub(super) fn open(&mut self, costs: &Costs) {
        (self.saved, self.wasted) = (-costs.sort, 0.0);
        (self.looked, self.sorted) = (0.0, 1.0);
    }

    /// Books a search, and the rows it read for nothing.
    pub(super) fn book(&mut self, costs: &Costs, looks: usize, cost: f64, rows_wasted: usize) {
        self.saved = (self.saved + costs.scan - cost).min(8.0 * costs.scan);
        self.wasted += costs.rows(rows_wasted);
        self.looked += LOOK * looks as f64;
    }

    /// Whether users should be sorted into blocks anew. Each time that has to pay more than the last.
    pub(super) fn should_sort(&mut self, costs: &Costs) -> bool {
        let should = self.looked > self.sorted * costs.sort;
        if should {
            self.saved -= costs.sort;
            self.sorted += 1.0;
            self.looked = 0.0;
        }
        should
    }

    /// Books what else was spent.
    pub(super) fn spend(&mut self, cost: f64) {
        self.saved -= cost;
    }

    /// Whether the anchor is to be given up: it never paid, or a new one would pay more.
    pub(super) fn is_exhausted(&self, costs: &Costs) -> bool {
        self.saved < -costs.sort - 8.0 * costs.scan || self.wasted > costs.scan + costs.sort
    }

    /// Closes it. An anchor that did not pay is not worth laying again at once.
    pub(super) fn close(&mut self) {
        self.last_rest = if self.saved < 0.0 { (2 * self.last_rest).clamp(8, 1024) } else { 0 };
        self.rest = self.last_rest;
    }

    /// Whether the next choices are left to scans.
    pub(super) fn is_resting(&self) -> bool {
        self.rest > 0
    }

    /// Whether this choice is left to a scan.
    pub(super) fn rests(&mut self) -> bool {
        let rests = self.is_resting();
        self.rest = self.rest.saturating_sub(1);
        rests
    }
}
