//! A model of all users: shared curvature, each one's own difference from it, and how sure of that one can be.

mod alignment;
mod answers;
mod basis;
mod curvature;
mod dense;
mod estimate;
mod low_rank;
mod outside;
mod safeguard;
mod scale;
mod secants;
mod trust;

use serde::{Deserialize, Serialize};

use super::Belief;
use crate::{SettingsError, Smoothness, Storage, kernel};
use alignment::Alignment;
use answers::{Answer, Answers};
pub use curvature::Curvature;
use dense::Dense;
use low_rank::LowRank;
use safeguard::Safeguard;
use scale::Scale;
use secants::Secant;
use trust::Trust;

/// Beyond this many parameters curvature is a matrix in a few directions only, or it would cost too much at every step.
pub const DENSE_UP_TO: usize = 256;

/// What users are believed to be like: `∇f_i(x) = s_i (ḡ(x) + own difference)`, where `ḡ` is affine with curvature `B`, the
/// differences have covariance `C`, and the sizes `s_i` are in proportion to `√L_i`. docs/frugal.md has each equation.
///
/// Nobody has to be asked before the first step: those who were not yet asked are believed to be like the others.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Model {
    /// `s_i`, one on average.
    sizes: Vec<f64>,
    /// `Σ s_i²`.
    square_sizes: f64,
    /// The mean `L_i`, or what answers say of it so far.
    scale: Scale,
    answers: Answers,
    /// Where the first answer was taken.
    start: Vec<f64>,
    plan: Option<Plan>,
    /// Users' own curvature along their own gradients.
    alignment: Alignment,
    /// `μ`: curvature counts so many times as much as is seen of it.
    caution: f64,
    /// The length of the longest first answer, sizes taken out.
    largest_first: f64,
    trust: Trust,
    /// `h² d / tr C`: how fast an answer loses what it says, with the square of the way from it.
    fading: f64,
    next: Vec<f64>,
    safeguard: Safeguard,
    /// Whether `L_i` are learned even where they are known.
    learning: bool,
}

/// How curvature is held.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Plan {
    Dense(Box<Dense>),
    LowRank(Box<LowRank>),
}

impl Plan {
    fn new(users: usize, dim: usize, scale: f64) -> Self {
        match Curvature::of(dim) {
            Curvature::Matrix { .. } => Self::Dense(Box::new(Dense::new(dim, scale))),
            Curvature::LowRank { .. } => Self::LowRank(Box::new(LowRank::new(users, dim, scale))),
        }
    }

    /// Whether it is for that many users and parameters.
    fn fits(&self, users: usize, dim: usize) -> bool {
        match self {
            Self::Dense(plan) => plan.fits(dim),
            Self::LowRank(plan) => plan.fits(users, dim),
        }
    }

    fn take(&mut self, change: &Change<'_>) {
        match self {
            Self::Dense(plan) => plan.take(change),
            Self::LowRank(plan) => plan.take(change),
        }
    }

    /// `B u`.
    fn shared(&self, direction: &[f64]) -> Vec<f64> {
        match self {
            Self::Dense(plan) => plan.shared(direction),
            Self::LowRank(plan) => plan.shared(direction),
        }
    }
}

/// Where all is zero, something has to be divided by.
const TINY: f64 = 1e-100;
/// What each answer downhill makes of caution, and each uphill while there is less of it than at the start.
const BOLDER: f64 = 1.0 / 1.1;
const MORE_CAREFUL: f64 = 1.4;
/// Caution is never less.
const BOLDEST: f64 = 1.0 / 3.0;
/// Answers of one user in search of curvature, the last of them a long way off, before others are asked.
const PROBES: u32 = 6;

impl Belief for Model {
    fn begin(
        &mut self,
        users: usize,
        dim: usize,
        storage: &Storage,
        smoothness: Option<&Smoothness>,
    ) -> Result<(), SettingsError> {
        let _ = storage;
        let smoothness = smoothness.filter(|_| !self.learning);
        self.sizes = sizes(users, smoothness);
        self.square_sizes = kernel::norm_squared(&self.sizes);
        self.scale = Scale::new(smoothness);
        self.answers = Answers::new(users, dim);
        self.caution = 1.0;
        self.safeguard = Safeguard::new(smoothness);
        Ok(())
    }

    fn restored(&self, users: usize, dim: usize) -> Result<(), SettingsError> {
        let per_user = self.safeguard.fits(users) && self.sizes.len() == users;
        let per_parameter = self.plan.as_ref().is_none_or(|plan| plan.fits(users, dim))
            && [self.next.len(), self.start.len()].iter().all(|len| [0, dim].contains(len));
        // What is bounded by multiples of a scale that is none would have no bounds.
        let fits = per_user
            && per_parameter
            && self.trust.fits(users, dim)
            && self.scale.mean >= 0.0
            && self.square_sizes > 0.0
            && self.alignment.fits()
            && self.answers.fit(users, dim);
        if fits { Ok(()) } else { Err(SettingsError::Other("the model is not that of its session".into())) }
    }

    fn wants_first_sweep(&self) -> bool {
        false
    }

    fn observe(&mut self, user: usize, point: &[f64], gradient: &[f64]) {
        if self.start.is_empty() {
            self.start = point.to_vec();
        }
        self.trust.look(point, gradient);
        let length = kernel::norm(gradient) / self.sizes[user];
        let longest = || self.answers.longest(&self.sizes);
        if !self.safeguard.fallen_back()
            && let Some(part) = self.trust.set_aside(user, point, length, longest)
        {
            // Asked again on the way back to where this user was last believed, or to the start.
            let back = self.answers.get(user).map_or(&self.start, |answer| &answer.point);
            self.next = point.iter().zip(back).map(|(x, back)| back + part * (x - back)).collect();
            return;
        }
        if self.trust.has_moved() {
            self.caution = match self.trust.uphill() {
                true => self.caution.max((MORE_CAREFUL * self.caution).min(1.0)),
                false => (BOLDER * self.caution).max(BOLDEST),
            };
        }
        self.trust.grow(point);
        self.take(user, point, gradient);
        self.safeguard.observe(&self.answers, &self.sizes, point);
        // While SAGA takes the steps, nobody looks at what the model would do.
        if !self.fallen_back() {
            self.think(point);
        }
    }

    fn has_surrogate(&self) -> bool {
        true
    }

    fn surrogate_gradient(&self) -> Option<&[f64]> {
        self.answers.all_asked().then(|| self.answers.mean_gradient())
    }
}

impl Model {
    /// Before the first answer.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether `L_i` that are known are not looked at, and learned from users who are asked again: to see what they are worth,
    /// or because they are not to be trusted.
    pub fn learning(mut self, learning: bool) -> Self {
        self.learning = learning;
        self
    }

    /// How curvature is held where there are so many parameters.
    pub fn plan(dim: usize) -> Curvature {
        Curvature::of(dim)
    }

    /// Where the next question is to be asked.
    pub fn next(&self) -> &[f64] {
        &self.next
    }

    /// Whether the model has failed, and steps with a proof are to be taken until it may be tried again.
    pub fn fallen_back(&self) -> bool {
        self.safeguard.fallen_back()
    }

    /// A step that is safe for [`Saga`](crate::update::Saga): `1 / (3 L_max)`, as far as `L_max` is known.
    pub fn safe_step(&self) -> f64 {
        1.0 / (3.0 * self.scale.largest.max(f64::MIN_POSITIVE))
    }

    /// A user's size `s_i`.
    pub fn size(&self, user: usize) -> f64 {
        self.sizes[user]
    }

    /// Whether a user's answer is held.
    pub fn is_asked(&self, user: usize) -> bool {
        self.answers.get(user).is_some()
    }

    /// Whether everybody's answer is held.
    pub fn all_asked(&self) -> bool {
        self.answers.all_asked()
    }

    /// The user whose answer was the last one, and set aside.
    pub fn set_aside_last(&self) -> Option<usize> {
        self.trust.set_aside_last()
    }

    /// The users whose answers are held, in the order of the first time.
    pub fn asked(&self) -> impl ExactSizeIterator<Item = usize> {
        self.answers.users()
    }

    /// Whether the mean `L_i` is what answers say of it so far.
    pub fn has_learned_scale(&self) -> bool {
        !self.scale.known && self.plan.is_some()
    }

    /// Without `L_i` the first user that has a slope is asked again, a little way off.
    pub fn wants_probe(&self) -> Option<usize> {
        if self.plan.is_some() { None } else { self.probed().map(|(user, _)| user) }
    }

    /// Whose curvature is looked for, and the last answer: a user without any holds up the others for a while only. Once
    /// everybody was asked, those who were asked the least come next.
    fn probed(&self) -> Option<(usize, &Answer)> {
        let latest = self.answers.latest().filter(|(_, answer)| answer.norm > 0.0 && answer.times < PROBES);
        let others = || self.answers.iter().filter(|_| self.all_asked()).min_by_key(|(_, answer)| answer.times);
        latest.or_else(others)
    }

    /// How far off a user's last answer may be at a point, `s_i² ‖x − x_i‖²`; and when it was.
    pub fn staleness(&self, user: usize, point: &[f64]) -> Option<(f64, u64)> {
        let size = self.sizes[user];
        self.answers.get(user).map(|answer| (size * size * kernel::distance_squared(&answer.point, point), answer.when))
    }

    /// What a user's answer at a point would tell, as a part of what it would if that user was never asked; and when it was.
    pub fn faded(&self, user: usize, point: &[f64]) -> Option<(f64, u64)> {
        let answer = self.answers.get(user)?;
        let faded = self.fading * answer.unexplained(point);
        Some((1.0 - 1.0 / (1.0 + faded), answer.when))
    }

    /// A user's last gradient, and the mean of everybody's.
    pub fn table(&self, user: usize) -> Option<(&[f64], &[f64])> {
        Some((&self.answers.get(user)?.gradient, self.answers.mean_gradient()))
    }

    /// Takes an answer into the sums.
    fn take(&mut self, user: usize, point: &[f64], gradient: &[f64]) {
        let size = self.sizes[user];
        let before = self.answers.take(user, size, point, gradient);
        let length = kernel::norm(gradient) / size;
        match &before {
            Some(_) if length > 4.0 * self.largest_first => self.caution = (2.0 * self.caution).min(1e100),
            Some(_) => {}
            None => self.largest_first = self.largest_first.max(length),
        }
        let Some(now) = self.answers.get(user) else {
            return;
        };
        self.scale.see(now, before.as_deref(), self.answers.all_asked());
        let users = self.sizes.len();
        match &mut self.plan {
            Some(plan) => {
                let most = steepest(&self.scale, &self.sizes, self.square_sizes);
                let news = now.news().zip(before.as_deref()).map(|(secant, before)| {
                    let expected = alignment::expected(size, before, &self.answers, &self.sizes, &secant.direction);
                    let shared = plan.shared(&secant.direction);
                    self.alignment.learn(secant, &expected, &shared, secants_kept(users));
                    secant.without(self.alignment.strength(point.len(), most), &expected)
                });
                plan.take(&Change { user, size, before: before.as_deref(), now, news: news.as_ref(), users });
            }
            // Where `L_i` had to be learned first, there are answers already.
            None if self.scale.mean > 0.0 => {
                let mut plan = Plan::new(users, point.len(), self.scale.mean);
                for (user, now) in self.answers.iter() {
                    plan.take(&Change { user, size: self.sizes[user], before: None, now, news: now.news(), users });
                }
                self.plan = Some(plan);
            }
            None => {}
        }
    }

    /// Fits the model, and says where to go.
    fn think(&mut self, point: &[f64]) {
        let Some(plan) = &mut self.plan else {
            self.next = self.probe(point);
            return;
        };
        let view = View {
            users: self.sizes.len() as f64,
            answers: &self.answers,
            sizes: &self.sizes,
            square_sizes: self.square_sizes,
            scale: self.scale.mean,
            caution: self.caution,
            aligned: self.alignment.strength(point.len(), steepest(&self.scale, &self.sizes, self.square_sizes)),
            point,
        };
        let thought = match plan {
            Plan::Dense(plan) => plan.think(&view),
            Plan::LowRank(plan) => plan.think(&view),
        };
        // Numbers past what can be held: stay, and let the next answer tell.
        let Some(mut thought) = thought.filter(|thought| kernel::all_within(&thought.minimiser, f64::MAX)) else {
            self.next = point.to_vec();
            return;
        };
        // Further out only where it still goes downhill.
        let growth = if self.trust.uphill() { 1.0 } else { 2.0 };
        let here = kernel::distance(point, &thought.anchor);
        // An answer that is longer than all first ones says that curvature has grown, and not how far it is to go.
        let slope = thought.gradient_norm.min(self.largest_first);
        let widest = (growth * here).max(slope / self.scale.mean);
        let unit = (!self.scale.known).then(|| unit(&self.start));
        self.trust.limit(&mut thought.minimiser, thought.anchor, widest, unit);
        self.fading = thought.fading;
        self.next = thought.minimiser;
    }

    /// A little way down the last gradient: the next answer of the same user then shows its curvature. Where it has none, the way
    /// is ten times as long the next time.
    fn probe(&self, point: &[f64]) -> Vec<f64> {
        let mut probe = point.to_vec();
        if let Some((_, answer)) = self.probed().filter(|(_, answer)| answer.norm > 0.0) {
            let way = self.scale.probe_length(unit(&self.start));
            kernel::add_scaled(&mut probe, -way / answer.norm, &answer.gradient);
        }
        probe
    }
}

/// One user's answer, and the one it replaces.
struct Change<'a> {
    user: usize,
    size: f64,
    before: Option<&'a Answer>,
    now: &'a Answer,
    /// A new secant, without what the user's own curvature along its gradient explains of it (all of it, if there was no
    /// model before).
    news: Option<&'a Secant>,
    users: usize,
}

/// What is kept of all secants where a new one comes.
fn secants_kept(users: usize) -> f64 {
    1.0 - 1.0 / (2.0 * users as f64).max(20.0)
}

/// What a plan looks at.
struct View<'a> {
    users: f64,
    answers: &'a Answers,
    sizes: &'a [f64],
    square_sizes: f64,
    scale: f64,
    caution: f64,
    /// `η`.
    aligned: f64,
    point: &'a [f64],
}

impl View<'_> {
    /// `φ`: no curvature is believed to be smaller, after so many secants. With every answer curvature far below the users' own
    /// becomes easier to believe, the more so in many dimensions.
    fn flattest(&self, secants: f64) -> f64 {
        let dim = self.point.len() as f64;
        let boldness = 0.1 * dim / (dim + 20.0) * (self.answers.count() as f64 - 1.0);
        self.scale * (0.002f64).max(0.2 / (1.0 + secants + boldness))
    }
}

/// `L n / Σ s_i²`: no user bends more along its own gradient, for each unit of its size.
fn steepest(scale: &Scale, sizes: &[f64], square_sizes: f64) -> f64 {
    scale.mean * sizes.len() as f64 / square_sizes
}

/// `β₀`: the curvature that is expected in a typical direction.
fn expected_curvature(dim: usize, scale: f64) -> f64 {
    (0.1f64).max(2.0 / (2.0 + dim as f64)) * scale
}

/// What counts as far, where nothing is known.
fn unit(start: &[f64]) -> f64 {
    1.0 + kernel::norm(start)
}

/// What a plan comes to.
struct Thought {
    /// The weighted mean of the points that the estimate rests on.
    anchor: Vec<f64>,
    /// The length of the estimated gradient there.
    gradient_norm: f64,
    /// `h² d / tr C`.
    fading: f64,
    /// Where the objective is believed to be smallest, drawn to the start by how unsure that is.
    minimiser: Vec<f64>,
}

fn sizes(users: usize, smoothness: Option<&Smoothness>) -> Vec<f64> {
    let Some(smoothness) = smoothness else {
        return vec![1.0; users];
    };
    let mut roots: Vec<f64> = smoothness.each().iter().map(|each| each.sqrt()).collect();
    let mean = roots.iter().sum::<f64>() / users as f64;
    // A user without curvature has a size all the same.
    roots.iter_mut().for_each(|root| *root = if mean > 0.0 { (*root / mean).max(1e-3) } else { 1.0 });
    roots
}
