//! Each user's last gradient and where it was taken.

use std::{borrow::Cow, fmt};

use serde::{Deserialize, Serialize};

use super::{Belief, learned::LearnedSmoothness, points::Points, sum::CompensatedSum, table::Table};
use crate::{SettingsError, Smoothness, Storage, TellError, kernel};

/// Each user's last gradient `g̃_i`, the point `x_τi` where it was taken, and the mean `ḡ` of them all.
///
/// If user `i`'s gradient is `L_i`-Lipschitz, it can have moved by at most `ε_i = L_i ‖x_τi − x‖` since.
///
/// Before the first step everybody is asked, unless the table is [lazy](Self::lazy); how smooth users are is given, unless it
/// [learns](Self::learning) that from their answers.
///
/// How the gradients are kept is the session's [`Storage`]; all calls speak of them as they are kept. A clone of a table in a
/// file has a file of its own in the same folder, or is in memory where the disk has no room for a second one.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LastGradient {
    kind: Kind,
    dim: usize,
    gradients: Table,
    points: Points,
    norms: Vec<f64>,
    asked: Vec<bool>,
    unasked: usize,
    sum: CompensatedSum,
    mean: Vec<f64>,
    /// Answers taken in: whoever keeps something of their own beside this table sees by it what was missed.
    answers: u64,
    #[serde(skip)]
    replaced: Vec<f64>,
}

/// How a table begins, and whether it learns: a byte in a snapshot, unless something was learned.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
enum Kind {
    /// Everybody is asked before the first step.
    #[default]
    Sweep,
    /// There is none.
    Absent,
    /// Nobody is asked before the first step.
    Lazy,
    /// Either of the two, and users' smoothness is learned.
    Learning { lazy: bool, smoothness: LearnedSmoothness },
}

impl Kind {
    fn new(lazy: bool, learning: bool, users: usize) -> Self {
        match (lazy, learning) {
            (lazy, true) => Self::Learning { lazy, smoothness: LearnedSmoothness::new(users) },
            (true, false) => Self::Lazy,
            (false, false) => Self::Sweep,
        }
    }

    fn is_lazy(&self) -> bool {
        matches!(self, Self::Lazy | Self::Learning { lazy: true, .. })
    }
}

impl LastGradient {
    /// An empty table; the session gives it its size.
    pub fn new() -> Self {
        Self::default()
    }

    /// A table that nobody reads: it takes no room, and asks for no first sweep. For methods put together at run time.
    pub(crate) fn absent() -> Self {
        Self { kind: Kind::Absent, ..Self::default() }
    }

    /// Whether steps begin at once, without a first sweep: `ḡ` is then the mean over those who were asked, and the choice
    /// has to see to the others.
    pub fn lazy(mut self, lazy: bool) -> Self {
        self.kind = Kind::new(lazy, self.learned().is_some(), 0);
        self
    }

    /// Whether each `L_i` is [learned](LearnedSmoothness) from users who are asked again, and need not be given.
    pub fn learning(mut self, learning: bool) -> Self {
        self.kind = Kind::new(self.kind.is_lazy(), learning, 0);
        self
    }

    fn is_absent(&self) -> bool {
        self.kind == Kind::Absent
    }

    /// What was learned of users' smoothness; `None` for a table that does not learn.
    pub fn learned(&self) -> Option<&LearnedSmoothness> {
        match &self.kind {
            Kind::Learning { smoothness, .. } => Some(smoothness),
            _ => None,
        }
    }

    /// Whether the user has been asked.
    pub fn is_asked(&self, user: usize) -> bool {
        self.asked[user]
    }

    /// How many users have not been asked yet.
    pub fn unasked(&self) -> usize {
        self.unasked
    }

    /// How many users there are.
    pub fn users(&self) -> usize {
        self.norms.len()
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
    fn begin(
        &mut self,
        users: usize,
        dim: usize,
        storage: &Storage,
        _smoothness: Option<&Smoothness>,
    ) -> Result<(), SettingsError> {
        if self.is_absent() {
            return Ok(());
        }
        *self = Self {
            kind: Kind::new(self.kind.is_lazy(), self.learned().is_some(), users),
            dim,
            gradients: Table::zeros(users, dim, storage)?,
            points: Points::at_origin(users, dim),
            norms: vec![0.0; users],
            asked: vec![false; users],
            unasked: users,
            sum: CompensatedSum::new(dim),
            mean: vec![0.0; dim],
            answers: 0,
            replaced: vec![0.0; dim],
        };
        Ok(())
    }

    fn restored(&self, users: usize, dim: usize) -> Result<(), SettingsError> {
        if self.is_absent() {
            return Ok(());
        }
        let fits = self.gradients.fits(users, dim)?
            && self.points.fit(users, dim)
            && self.sum.fits(dim)
            && self.learned().is_none_or(|learned| learned.fits(users))
            && (self.norms.len(), self.asked.len()) == (users, users)
            && self.unasked == self.asked.iter().filter(|asked| !**asked).count()
            && (self.dim, self.mean.len()) == (dim, dim);
        if fits { Ok(()) } else { Err(SettingsError::Other("the table is not that of its session".into())) }
    }

    fn check(&self, user: usize, point: &[f64], gradient: &[f64]) -> Result<(), TellError> {
        if self.is_absent() { Ok(()) } else { self.gradients.check(user, point, gradient) }
    }

    fn wants_first_sweep(&self) -> bool {
        !self.is_absent() && !self.kind.is_lazy()
    }

    fn learns_smoothness(&self) -> bool {
        self.learned().is_some()
    }

    fn observe(&mut self, user: usize, point: &[f64], gradient: &[f64]) {
        if self.is_absent() {
            return;
        }
        self.answers += 1;
        self.replaced.clear();
        self.replaced.extend_from_slice(&self.gradients.row(user, &self.points));
        self.gradients.set(user, point, gradient);
        let way = (self.learns_smoothness() && self.asked[user]).then(|| kernel::distance(self.points.of(user), point));
        self.points.place(user, point);
        // What is kept of the answer, which need not be all of it.
        let kept = self.gradients.row(user, &self.points);
        let norm = kernel::norm(&kept);
        if let (Kind::Learning { smoothness, .. }, Some(way)) = (&mut self.kind, way) {
            smoothness.learn(user, norm.max(self.norms[user]), kernel::distance(&kept, &self.replaced), way);
        }
        self.norms[user] = norm;
        self.sum.replace(&self.replaced, &kept);
        if !self.sum.is_finite() {
            // Some answers were so large that their sum was past what numbers can hold: start afresh without the old one.
            self.sum = CompensatedSum::new(self.dim);
            for user in 0..self.norms.len() {
                self.sum.replace(&vec![0.0; self.dim], &self.gradients.row(user, &self.points));
            }
        }
        if !self.asked[user] {
            self.asked[user] = true;
            self.unasked -= 1;
        }
        let count = if self.kind.is_lazy() { self.norms.len() - self.unasked } else { self.norms.len() };
        for (coordinate, mean) in self.mean.iter_mut().enumerate() {
            *mean = self.sum.get(coordinate) / count as f64;
        }
    }

    fn has_surrogate(&self) -> bool {
        !self.is_absent()
    }

    fn surrogate_gradient(&self) -> Option<&[f64]> {
        (self.unasked == 0 && !self.is_absent()).then_some(&*self.mean)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Format, Random, problem::Rows};

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
            belief.observe(random.index(users), &[0.0; 5], &gradient);
        }
        for coordinate in 0..dim {
            let rows: Vec<f64> = (0..users).map(|user| belief.gradient(user)[coordinate]).collect();
            let mean = rows.iter().sum::<f64>() / users as f64;
            let scale = rows.iter().map(|value| value.abs()).sum::<f64>() / users as f64;
            assert!((belief.mean()[coordinate] - mean).abs() <= 1e-12 * scale);
        }
    }

    /// Every byte of a saved belief is turned round: it is refused, or does what some other belief would.
    #[test]
    fn a_damaged_belief_does_not_panic() {
        let rows = Rows::Dense { dim: 3, values: vec![1.0, 2.0, 3.0, -1.0, 0.0, 1.0] };
        let scalars = Format::Scalars { rows: rows.into(), l2: 0.0 };
        for format in [Format::F64, Format::F32, Format::Sparse { l2: 0.0 }, Format::Sparse { l2: 0.5 }, scalars] {
            let mut belief = LastGradient::new();
            belief.begin(2, 3, &Storage::from(format).in_memory(), None).unwrap();
            belief.observe(1, &[1.0, 2.0, 3.0], &[-2.0, 0.0, 2.0]);
            let bytes = postcard::to_allocvec(&belief).unwrap();
            assert_eq!(postcard::from_bytes::<LastGradient>(&bytes).unwrap().gradient(1), belief.gradient(1));
            for (position, turned) in (0..bytes.len()).flat_map(|position| [1, 3, 16].map(|bit| (position, bit))) {
                let mut bytes = bytes.clone();
                bytes[position] ^= turned;
                let Ok(mut belief) = postcard::from_bytes::<LastGradient>(&bytes) else { continue };
                if belief.restored(2, 3).is_ok() {
                    belief.observe(0, &[1.0; 3], &[1.0; 3]);
                    belief.inner_products(&[1.0; 3], &mut [0.0; 2]);
                }
            }
        }
    }

    /// A snapshot of a table that this machine has no room for, cut short: there is nothing to allocate, and it says so.
    #[test]
    fn a_saved_table_without_room_says_so() {
        let million = 1_000_000_usize;
        let table = (million, million, Storage::default().in_memory(), vec![1.0, 2.0]);
        let table: Table = postcard::from_bytes(&postcard::to_allocvec(&table).unwrap()).unwrap();
        let error = table.fits(million, million).unwrap_err().to_string();
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
        belief.observe(1, &[5.0], &[4.0]);
        belief.observe(1, &[5.0], &[4.0]);
        assert_eq!(belief.surrogate_gradient(), None);
        belief.observe(0, &[5.0], &[2.0]);
        assert_eq!(belief.surrogate_gradient(), Some(&[3.0][..]));
        assert_eq!(belief.error(0, &[2.0], 2.0), 6.0);
    }
}
