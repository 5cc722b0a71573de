//! Each user's last gradient and where it was taken.

use std::{borrow::Cow, collections::BTreeSet, fmt};

use serde::{Deserialize, Serialize};

use super::{Belief, learned::LearnedSmoothness, points::Points, sum::CompensatedSum, table::Table};
use crate::{Reply, Setting, SettingsError, Smoothness, Storage, TellError, kernel};

/// Each user's last gradient `g̃_i`, the point `x_τi` where it was taken, and the mean `ḡ` of them all.
///
/// If user `i`'s gradient is `L_i`-Lipschitz, it can have moved by at most `ε_i = L_i ‖x_τi − x‖` since.
///
/// Before the first step everybody is asked, unless the table is [lazy](Self::lazy): the mean is then over the users asked so
/// far. How smooth users are is given, unless the table [learns](Self::learning) that from their answers.
///
/// How the gradients are kept is the session's [`Storage`]; all calls speak of them as they are kept. A clone of a table in a
/// file has a file of its own in the same folder, or is in memory where the disk has no room for a second one.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LastGradient {
    /// Whether nobody has to be asked before the first step.
    lazy: bool,
    learning: bool,
    learned: LearnedSmoothness,
    dim: usize,
    gradients: Table,
    points: Points,
    norms: Vec<f64>,
    asked: Vec<bool>,
    unasked: usize,
    /// Who is no longer a user: their rows stay, and count for nothing.
    left: BTreeSet<usize>,
    /// Whether somebody has left at any time.
    left_once: bool,
    sum: CompensatedSum,
    mean: Vec<f64>,
    /// Answers taken in: whoever keeps something of their own beside this table sees by it what was missed.
    answers: u64,
    #[serde(skip)]
    before: Before,
}

/// What the last answer replaced: read by the update that moves on it.
#[derive(Clone, Debug, Default, PartialEq)]
struct Before {
    point: Vec<f64>,
    gradient: Vec<f64>,
    mean: Vec<f64>,
    first: bool,
}

/// What the last answer replaced.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Replaced<'a> {
    /// `x_τi` before it.
    pub point: &'a [f64],
    /// `g̃_i` before it.
    pub gradient: &'a [f64],
    /// `ḡ` before it.
    pub mean: &'a [f64],
    /// Whether it is the user's first answer: the point and the gradient before it are then zeros that stand for nothing.
    pub first: bool,
}

impl<'a> Replaced<'a> {
    /// `g̃_i` before it; before a user's first answer the mean `ḡ` of the users asked so far, which is the best guess there is.
    pub fn gradient_or_mean(&self) -> &'a [f64] {
        if self.first { self.mean } else { self.gradient }
    }
}

impl LastGradient {
    /// An empty table; the session gives it its size.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether steps begin with the first answer, without a first sweep: `ḡ` is then the mean over the users asked so far.
    /// Whether the others are asked soon is up to the choice.
    pub fn lazy(mut self, lazy: bool) -> Self {
        self.lazy = lazy;
        self
    }

    /// Whether each `L_i` is [learned](LearnedSmoothness) from users who are asked again, and need not be given.
    pub fn learning(mut self, learning: bool) -> Self {
        self.learning = learning;
        self
    }

    /// What the last answer replaced; empty before the first one, and after a restore until the next one.
    pub fn replaced(&self) -> Replaced<'_> {
        let Before { point, gradient, mean, first } = &self.before;
        Replaced { point, gradient, mean, first: *first }
    }

    /// What was learned of users' smoothness; `None` for a table that does not learn.
    pub fn learned(&self) -> Option<&LearnedSmoothness> {
        self.learning.then_some(&self.learned)
    }

    /// How many users have not been asked yet.
    pub fn unasked(&self) -> usize {
        self.unasked
    }

    /// How many users there are.
    pub fn users(&self) -> usize {
        self.norms.len()
    }

    /// Who is no longer a user.
    pub(crate) fn left(&self) -> impl Iterator<Item = usize> {
        self.left.iter().copied()
    }

    /// How many users the mean `ḡ` is over: all of them, or the users asked so far where the table is lazy.
    pub fn users_in_mean(&self) -> usize {
        let users = self.norms.len() - self.left.len();
        // Whoever joins later is not waited for.
        if self.lazy || self.left_once { users - self.unasked } else { users }
    }

    /// `g̃_i`: the user's last gradient (zero before the first one).
    ///
    /// # Panics
    ///
    /// Like indexing a slice, this and the other calls that take a user panic for one that does not exist.
    pub fn gradient(&self, user: usize) -> Cow<'_, [f64]> {
        self.gradients.row(user, &self.points)
    }

    /// `‖g̃_i‖`.
    pub fn gradient_norm(&self, user: usize) -> f64 {
        self.norms[user]
    }

    /// `‖g̃_i‖` of every user.
    pub(crate) fn gradient_norms(&self) -> &[f64] {
        &self.norms
    }

    /// `x_τi`: where the user's last gradient was taken.
    pub fn point(&self, user: usize) -> &[f64] {
        self.points.of(user)
    }

    /// `ḡ = (1/n) Σ g̃_i`; where the table is lazy the mean over those who were asked.
    pub fn mean(&self) -> &[f64] {
        &self.mean
    }

    /// `ε_i = L_i ‖x_τi − x‖`: how far the user's last gradient can be off at `point`.
    pub fn error(&self, user: usize, point: &[f64], smoothness: f64) -> f64 {
        smoothness * kernel::distance(self.point(user), point)
    }

    /// `ε_i` of every user, into `errors`. `distances` is room to work in.
    pub(crate) fn errors(&self, x: &[f64], smoothness: &[f64], distances: &mut Vec<f64>, errors: &mut [f64]) {
        self.points.distances(x, distances);
        for ((error, smoothness), place) in errors.iter_mut().zip(smoothness).zip(self.points.places()) {
            *error = smoothness * distances[*place as usize];
        }
    }

    /// How many distinct points there are: users who were asked at the same point share it.
    pub fn distinct_points(&self) -> usize {
        self.points.distinct()
    }

    /// The points, each distinct one once.
    pub(crate) fn points(&self) -> &Points {
        &self.points
    }

    /// How many answers were taken in.
    pub(crate) fn answers(&self) -> u64 {
        self.answers
    }

    fn average(&mut self) {
        let count = self.users_in_mean().max(1);
        self.sum.mean(count as f64, &mut self.mean);
    }

    /// `⟨vector, g̃_i⟩`.
    pub(crate) fn inner_product(&self, vector: &[f64], user: usize) -> f64 {
        self.gradients.dot(user, &self.points, vector)
    }

    /// `⟨vector, g̃_i⟩` of every user, into `inner_products`: the bits of [`inner_product`](Self::inner_product).
    pub(crate) fn inner_products(&self, vector: &[f64], inner_products: &mut [f64]) {
        self.gradients.dot_with_rows(&self.points, vector, inner_products);
    }
}

impl fmt::Debug for LastGradient {
    /// Without what there is of every user.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LastGradient")
            .field("gradients", &self.gradients)
            .field("distinct_points", &self.distinct_points())
            .field("unasked", &self.unasked)
            .field("answers", &self.answers)
            .finish_non_exhaustive()
    }
}

impl Belief for LastGradient {
    fn settings(&mut self) -> Vec<Setting<'_>> {
        let Self { lazy, learning, .. } = self;
        vec![
            Setting::switch("lazy", lazy, "true: no sweep at the start; users not asked yet are left out of the means"),
            Setting::switch("learned", learning, "true: each L_i is learned from repeated answers"),
        ]
    }

    fn begin(
        &mut self,
        users: usize,
        dim: usize,
        storage: &Storage,
        _smoothness: Option<&Smoothness>,
    ) -> Result<(), SettingsError> {
        *self = Self {
            lazy: self.lazy,
            learning: self.learning,
            learned: LearnedSmoothness::new(if self.learning { users } else { 0 }),
            dim,
            gradients: Table::zeros(users, dim, storage)?,
            points: Points::at_origin(users, dim),
            norms: vec![0.0; users],
            asked: vec![false; users],
            unasked: users,
            left: BTreeSet::new(),
            left_once: false,
            sum: CompensatedSum::new(dim),
            mean: vec![0.0; dim],
            answers: 0,
            before: Before::default(),
        };
        Ok(())
    }

    fn restored(&self) -> Result<(), SettingsError> {
        Ok(self.gradients.is_there()?)
    }

    fn check(&self, user: usize, point: &[f64], gradient: &[f64]) -> Result<(), TellError> {
        self.gradients.check(user, point, gradient)
    }

    fn wants_first_sweep(&self) -> bool {
        !self.lazy
    }

    fn is_asked(&self, user: usize) -> bool {
        self.asked[user]
    }

    fn learns_smoothness(&self) -> bool {
        self.learning
    }

    fn observe(&mut self, reply: &Reply<'_>) {
        let Reply { user, point, gradient, .. } = *reply;
        self.answers += 1;
        self.before.point.clear();
        self.before.point.extend_from_slice(self.points.of(user));
        self.before.gradient.clear();
        self.before.gradient.extend_from_slice(&self.gradients.row(user, &self.points));
        // It is computed anew below.
        std::mem::swap(&mut self.before.mean, &mut self.mean);
        self.mean.resize(self.dim, 0.0);
        self.before.first = !self.asked[user];
        self.gradients.set(user, point, gradient);
        self.points.place(user, point);
        // What is kept of the answer, which need not be all of it.
        let kept = self.gradients.row(user, &self.points);
        let norm = kernel::norm(&kept);
        if self.learning && self.asked[user] {
            let way = kernel::distance(&self.before.point, point);
            let change = kernel::distance(&kept, &self.before.gradient);
            self.learned.learn(user, norm.max(self.norms[user]), change, way);
        }
        self.norms[user] = norm;
        self.sum.replace(&self.before.gradient, &kept);
        if !self.sum.is_finite() {
            // Some answers were so large that their sum was past what numbers can hold: start afresh without the old one.
            self.sum = CompensatedSum::new(self.dim);
            for user in (0..self.norms.len()).filter(|user| !self.left.contains(user)) {
                self.sum.replace(&vec![0.0; self.dim], &self.gradients.row(user, &self.points));
            }
        }
        if !self.asked[user] {
            self.asked[user] = true;
            self.unasked -= 1;
        }
        self.average();
    }

    fn leave(&mut self, user: usize) -> bool {
        self.left.insert(user);
        self.left_once = true;
        if self.asked[user] {
            let row = self.gradients.row(user, &self.points).into_owned();
            self.sum.replace(&row, &vec![0.0; self.dim]);
        } else {
            self.unasked -= 1;
        }
        self.average();
        true
    }

    fn join(&mut self, user: usize) {
        self.left.remove(&user);
        self.asked[user] = false;
        self.unasked += 1;
        let zero = vec![0.0; self.dim];
        self.gradients.set(user, &zero, &zero);
        self.points.place(user, &zero);
        self.norms[user] = 0.0;
    }

    fn gradient_bound(&self, point: &[f64], smoothness: &[f64]) -> Option<f64> {
        let users = self.norms.len() - self.left.len();
        let there = (0..self.norms.len()).filter(|user| !self.left.contains(user));
        let carried: f64 = there.map(|user| self.error(user, point, smoothness[user])).sum();
        // Tables of other formats are rounded.
        let is_exact = self.unasked == 0 && self.gradients.is_f64();
        is_exact.then(|| kernel::norm(&self.mean) + carried / users as f64)
    }

    fn has_surrogate(&self) -> bool {
        true
    }

    fn surrogate_gradient(&self) -> Option<&[f64]> {
        (self.unasked == 0).then_some(&*self.mean)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Random, choice::Purpose};

    fn reply<'a>(user: usize, point: &'a [f64], gradient: &'a [f64]) -> Reply<'a> {
        Reply::new(user, point, gradient, Purpose::Step)
    }

    #[test]
    fn the_mean_does_not_drift() {
        let (users, dim) = (13, 5);
        let mut belief = LastGradient::new();
        belief.begin(users, dim, &Storage::default(), None).unwrap();
        let mut random = Random::new(3, "drift");
        for step in 0..20_000 {
            // Answers shrink by twelve decades on the way: a plain running sum would keep the rounding of the large ones.
            let scale = 10f64.powf(6.0 - 12.0 * step as f64 / 20_000.0);
            let gradient: Vec<f64> = (0..dim).map(|_| scale * (random.unit() - 0.3)).collect();
            belief.observe(&reply(random.index(users), &[0.0; 5], &gradient));
        }
        for coordinate in 0..dim {
            let rows: Vec<f64> = (0..users).map(|user| belief.gradient(user)[coordinate]).collect();
            let mean = rows.iter().sum::<f64>() / users as f64;
            let scale = rows.iter().map(|value| value.abs()).sum::<f64>() / users as f64;
            assert!((belief.mean()[coordinate] - mean).abs() <= 1e-12 * scale);
        }
    }

    /// A snapshot of a table that this machine has no room for, cut short: there is nothing to allocate, and it says so.
    #[test]
    fn a_saved_table_without_room_says_so() {
        let million = 1_000_000_usize;
        let table = (million, million, Storage::default().in_memory(), vec![1.0, 2.0]);
        let table: Table = postcard::from_bytes(&postcard::to_allocvec(&table).unwrap()).unwrap();
        let error = table.is_there().unwrap_err().to_string();
        assert!(error.contains("8.00 TB in memory"), "{error}");
        for numbers in [3, 5] {
            let table = (2_usize, 2_usize, Storage::default(), vec![1.0; numbers]);
            assert!(postcard::from_bytes::<Table>(&postcard::to_allocvec(&table).unwrap()).is_err());
        }
    }

    #[test]
    fn the_surrogate_waits_for_every_user() {
        let mut belief = LastGradient::new();
        belief.begin(2, 1, &Storage::default(), None).unwrap();
        belief.observe(&reply(1, &[5.0], &[4.0]));
        belief.observe(&reply(1, &[5.0], &[4.0]));
        assert_eq!(belief.surrogate_gradient(), None);
        belief.observe(&reply(0, &[5.0], &[2.0]));
        assert_eq!(belief.surrogate_gradient(), Some(&[3.0][..]));
        assert_eq!(belief.error(0, &[2.0], 2.0), 6.0);
    }
}
