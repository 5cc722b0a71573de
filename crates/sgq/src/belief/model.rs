//! A model of all users: shared curvature, each one's own difference from it, and how sure of that one can be.
//!
//! docs/frugal.md has each equation; the files cite its sections.

mod alignment;
mod answers;
mod basis;
mod believed;
mod bent;
mod curvature;
mod dense;
mod estimate;
mod low_rank;
mod moments;
mod noise;
mod outliers;
mod outside;
mod own;
mod pace;
mod remaining;
mod scale;
mod secants;
mod typical;
mod unexpected;
mod units;

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::Belief;
use crate::{Detail, Reply, Setting, SettingsError, Smoothness, Storage, frugal::FRUGAL, kernel};
use alignment::Alignment;
pub(crate) use answers::{Answer, Answers};
pub use curvature::Curvature;
pub(crate) use dense::Dense;
pub(crate) use estimate::Estimate;
pub(crate) use low_rank::LowRank;
use moments::Trace;
use noise::Noise;
use outliers::Outliers;
pub(crate) use outliers::Verdict;
pub(crate) use own::{Mean, Own, Spread as UserSpread};
use pace::Pace;
use remaining::Hindsight;
pub use remaining::Remaining;
pub(crate) use scale::Scale;
use secants::Secant;
pub(crate) use units::Units;

/// What users are believed to be like: `∇f_i(x) = s_i (ḡ(x) + own difference)`, where `ḡ` is affine with curvature `B`, the
/// differences have covariance `C`, and the sizes `s_i` are in proportion to `√L_i`: docs/frugal.md § 1.
///
/// Nobody has to be asked before the first step: those who were not yet asked are believed to be like the others.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Model {
    /// Whether `L_i` are learned even where they are known.
    learning: bool,
    /// How many users are asked at the start before the first move; none where nobody said.
    at_start: Option<usize>,
    /// `s_i`, one on average.
    sizes: Vec<f64>,
    /// `Σ s_i` and `Σ s_i²`.
    all_sizes: f64,
    square_sizes: f64,
    /// Whether `L_i` were told, and make the sizes.
    told_smoothness: bool,
    /// The mean `L_i`, or what answers say of it so far.
    scale: Scale,
    answers: Answers,
    /// In which the model sees coordinates: everything below but the mean gradient for others.
    units: Units,
    /// Whether a probe has borne them out, and whether they stay what they are.
    are_units_tried: bool,
    are_units_settled: bool,
    /// Whether they have changed since the last move.
    changed_units: bool,
    mean_outside: Vec<f64>,
    /// Where the first answer was taken.
    start: Vec<f64>,
    plan: Option<Plan>,
    /// Users' own curvature along their own gradients.
    alignment: Alignment,
    /// Where users tell their Hessians: everything above but the answers is then out of use.
    own: Option<Box<Own>>,
    /// `h² d / tr C`: how fast an answer loses what it says, with the square of the way from it.
    fading: f64,
    /// `h² d`.
    own_curvature: f64,
    noise: Noise,
    outliers: Outliers,
    verdict: Verdict,
    /// What the last move by the model set out from; empty before the first one.
    anchor: Vec<f64>,
    /// Where the last moves by the model led, and what they set out from: many, once an answer came late, and before that one.
    moves: VecDeque<(Vec<f64>, Vec<f64>)>,
    /// Whether an answer came from an older point than the last move led to.
    answers_come_late: bool,
    /// Whether the last answer was asked for after a move by the model.
    after_move: bool,
    /// When it is time to look at everybody.
    pace: Pace,
    /// Whether steps with a proof are taken in place of the model's.
    proven_steps: bool,
    /// Whether the last answer points uphill along the way from the anchor.
    uphill: bool,
    /// How far it is still to go from where the last move led; none where the model has nothing to say.
    remaining: Option<Remaining>,
    hindsight: Hindsight,
    /// The mean gradient as it is believed since the last answer.
    #[serde(skip)]
    estimate: Option<Estimate>,
}

/// How curvature is held.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Plan {
    Dense(Box<Dense>),
    LowRank(Box<LowRank>),
}

/// How users differ, all directions together.
pub(crate) struct Spread {
    /// `tr C`.
    pub size: f64,
    /// `h² d`.
    pub own_curvature: f64,
}

impl From<&dense::Known> for Spread {
    fn from(known: &dense::Known) -> Self {
        Self { size: known.spread_size, own_curvature: known.own_curvature }
    }
}

impl Plan {
    fn new(users: usize, dim: usize, scale: f64) -> Self {
        match dim <= FRUGAL.dense_at_once {
            true => Self::Dense(Box::new(Dense::new(dim, scale))),
            false => Self::LowRank(Box::new(LowRank::new(users, dim, scale))),
        }
    }

    fn take(&mut self, change: &Change<'_>) {
        match self {
            Self::Dense(plan) => plan.take(change),
            Self::LowRank(plan) => plan.take(change),
        }
    }

    /// Fits curvature to all answers.
    fn refit(&mut self, view: &View<'_>) -> Option<Spread> {
        match self {
            Self::Dense(plan) => plan.refit(view, view.answers.iter()).map(Spread::from),
            Self::LowRank(plan) => plan.refit(view),
        }
    }

    /// `Σ w_i (H_i − B)(a_w − x_i)` over users asked, in order.
    fn own_change(&mut self, view: &View<'_>, weights: &[f64], anchor: &[f64]) -> Vec<f64> {
        match self {
            Self::Dense(plan) => {
                let weighted = view.answers.iter().zip(weights).map(|((user, answer), weight)| (user, *weight, answer));
                plan.own_change(weighted, anchor)
            }
            Self::LowRank(plan) => plan.own_change(view, weights, anchor),
        }
    }

    /// `aᵀB u`.
    fn shared_along(&self, a: &[f64], direction: &[f64]) -> f64 {
        match self {
            Self::Dense(plan) => kernel::dot(a, &plan.shared(direction)),
            Self::LowRank(plan) => plan.shared_along(a, direction),
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

/// What an update tells the model of its move.
pub(crate) enum Move {
    /// To the model's minimiser, from its anchor.
    ByModel { anchor: Vec<f64>, followed: Followed },
    /// By the model, which had nothing to say: the point stayed.
    Nowhere,
    /// By the model, which takes in more answers at this point first.
    Later,
    /// By a step with a proof.
    Proven,
    /// By users' own quadratics, and whether that was cut short.
    ByOwn { cut: bool },
}

/// `F`: how a move follows the mean gradient, along the directions of the matrix, and in all directions that have none.
pub(crate) struct Followed {
    pub inside: Vec<f64>,
    pub outside: f64,
}

impl Belief for Model {
    fn settings(&mut self) -> Vec<Setting<'_>> {
        let summary = "true: the L_i are not looked at, and learned from repeated answers";
        let at_start = "users asked at the start before the first move; default 3";
        vec![
            Setting::switch("learned", &mut self.learning, summary),
            Setting::count("at_start", &mut self.at_start, at_start),
        ]
    }

    fn begin(
        &mut self,
        users: usize,
        dim: usize,
        _storage: &Storage,
        smoothness: Option<&Smoothness>,
    ) -> Result<(), SettingsError> {
        let smoothness = smoothness.filter(|_| !self.learning);
        let sizes = sizes(users, smoothness);
        *self = Self {
            learning: self.learning,
            at_start: self.at_start,
            told_smoothness: smoothness.is_some(),
            all_sizes: sizes.iter().sum(),
            square_sizes: kernel::norm_squared(&sizes),
            sizes,
            scale: Scale::new(smoothness),
            answers: Answers::new(users, dim),
            ..Self::default()
        };
        Ok(())
    }

    fn is_asked(&self, user: usize) -> bool {
        self.answers.get(user).is_some()
    }

    /// Judges an answer, and takes it in where it is believed.
    fn observe(&mut self, reply: &Reply<'_>) {
        let is_noisy = reply.variance.is_some_and(|variance| variance.iter().any(|each| *each > 0.0));
        if (reply.hessian.is_some() || is_noisy) && !self.units.is_plain() {
            self.change_units(Units::default());
        }
        let units = self.units.clone();
        let (point, gradient) = (units.point_inside(reply.point), units.gradient_inside(reply.gradient));
        self.observe_inside(&Reply { point: &point, gradient: &gradient, ..*reply });
        if !self.waits() {
            self.fit_units(reply.point);
        }
        self.mean_outside = self.units.gradient_outside(self.answers.mean_gradient()).into_owned();
    }

    fn leave(&mut self, user: usize) -> bool {
        self.answers.leave(user);
        self.own.iter_mut().for_each(|own| own.leave(user));
        self.all_sizes -= self.sizes[user];
        self.square_sizes -= self.sizes[user] * self.sizes[user];
        self.estimate = None;
        self.pace.hurry();
        self.alignment.forget_mean();
        // What was believed of another objective says nothing of this one.
        (self.remaining, self.hindsight) = (None, Hindsight::default());
        if self.plan.is_some() {
            self.begin_plan();
        }
        self.mean_outside = self.units.gradient_outside(self.answers.mean_gradient()).into_owned();
        true
    }

    fn join(&mut self, user: usize) {
        self.answers.join();
        self.all_sizes += self.sizes[user];
        self.square_sizes += self.sizes[user] * self.sizes[user];
        (self.remaining, self.hindsight) = (None, Hindsight::default());
    }

    fn uses(&self) -> Detail {
        match Curvature::of(self.answers.mean_gradient().len()) {
            Curvature::Matrix { .. } => Detail::Hessian,
            Curvature::LowRank { .. } => Detail::Gradient,
        }
    }

    fn has_surrogate(&self) -> bool {
        true
    }

    fn can_tell_remaining(&self) -> bool {
        true
    }

    fn gradient_bound(&self, point: &[f64], smoothness: &[f64]) -> Option<f64> {
        let is_found = self.noise.is_found() || self.own().is_some_and(Own::has_found_noise);
        let is_exact = self.answers.iter().all(|(_, answer)| answer.noise <= 0.0) && !is_found;
        (self.all_asked() && is_exact).then(|| self.carried_bound(point, smoothness))
    }

    fn out_of_line(&self, reply: &Reply<'_>) -> Option<f64> {
        self.unexpected(reply)
    }

    fn remaining(&self) -> Option<Remaining> {
        self.remaining
    }

    fn surrogate_gradient(&self) -> Option<&[f64]> {
        self.all_asked().then(|| &*self.mean_outside)
    }
}

impl Model {
    /// Judges an answer in the model's own units.
    fn observe_inside(&mut self, reply: &Reply<'_>) {
        let Reply { user, point, gradient, .. } = *reply;
        if self.start.is_empty() {
            self.start = point.to_vec();
        }
        self.estimate = None;
        if reply.hessian.is_some() && self.own.is_none() {
            self.own = Some(Box::new(Own::new(&self.start, self.sizes.len(), &self.answers)));
            self.hindsight = Hindsight::default();
            if !self.told_smoothness {
                self.forget_sizes();
            }
        }
        if let Some(own) = &mut self.own {
            own.take(reply, self.sizes[user]);
            if own.mean().is_none() || self.proven_steps {
                self.pace.hurry();
            }
            let asked = self.answers.count() + usize::from(self.answers.get(user).is_none());
            if self.pace.turn_comes(asked) {
                own.fit(&self.sizes, self.square_sizes, self.answers.users());
            }
            if own.mean().is_some() {
                self.answers.take(user, self.sizes[user], (point, gradient), 0.0, None);
                // It would have to begin anew.
                self.plan = None;
                return;
            }
        }
        self.answers_come_late |= self.moves.back().is_some_and(|(to, _)| to != point);
        self.uphill = self.is_uphill_at(point, gradient);
        self.after_move = !self.move_to(point).is_empty();
        if let (None, Some(before)) = (reply.variance, self.answers.get(user))
            && let Some(noise) = self.noise.see(before, point, gradient, self.steepest_of(user))
        {
            self.reckon_with(noise);
        }
        let noise = self.noise.of(reply.variance, point.len());
        self.noise.last = noise;
        let length = surely(kernel::norm(gradient), noise) / self.sizes[user];
        self.verdict = match self.proven_steps {
            true => self.outliers.believe(),
            false => {
                self.outliers.judge(user, length, self.uphill, |enough| self.answers.longest_up_to(&self.sizes, enough))
            }
        };
        if matches!(self.verdict, Verdict::SetAside { .. }) {
            self.pace.hurry();
            self.cannot_tell();
        } else {
            self.take(user, point, gradient, noise);
            if self.proven_steps || self.plan.is_none() {
                self.pace.hurry();
            }
            if self.pace.turn_comes(self.answers.count()) {
                self.fit(point);
            }
        }
    }

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

    /// How many users are asked at the start before the first move, instead of 3: the more, the less often a start that is already
    /// good is left by chance.
    pub fn at_start(mut self, users: usize) -> Self {
        self.at_start = Some(users);
        self
    }

    /// How curvature is held where there are so many parameters.
    pub fn plan(dim: usize) -> Curvature {
        Curvature::of(dim)
    }

    /// A user's size `s_i`.
    pub fn size(&self, user: usize) -> f64 {
        self.sizes[user]
    }

    /// Whether everybody's answer is held.
    pub fn all_asked(&self) -> bool {
        self.answers.all_asked()
    }

    /// How many answers are taken in before the point moves: § 8.5.
    pub fn answers_per_move(&self) -> usize {
        Pace::answers_per_move(self.answers.count())
    }

    /// Whether the point is to stay for more answers.
    pub(crate) fn waits(&self) -> bool {
        self.pace.waits()
    }

    /// The users whose answers are held, in the order of the first time.
    pub fn asked(&self) -> impl ExactSizeIterator<Item = usize> {
        self.answers.asked()
    }

    /// The user whose answer was the last one, and set aside.
    pub fn set_aside_last(&self) -> Option<usize> {
        self.outliers.last()
    }

    /// Whether steps with a proof are taken in place of the model's, which has failed.
    pub fn has_failed(&self) -> bool {
        self.proven_steps
    }

    /// Whether `L_i` were told, and are not to be learned.
    pub(crate) fn is_told_smoothness(&self) -> bool {
        self.told_smoothness
    }

    /// Whether the mean `L_i` is what answers say of it so far.
    pub fn has_learned_scale(&self) -> bool {
        !self.scale.known && self.plan.is_some()
    }

    /// How far off a user's last answer may be at a point, `s_i² ‖x − x_i‖²`; and when it was.
    pub fn staleness(&self, user: usize, point: &[f64]) -> Option<(f64, u64)> {
        let (size, answer) = (self.sizes[user], self.answers.get(user)?);
        let far =
            kernel::distance_squared(&answer.point, &self.units.point_inside(point)) + self.noise_as_way(answer, size);
        Some((size * size * far, answer.when))
    }

    /// What a user's answer at a point would tell, as a part of what it would if that user was never asked; and when it was.
    pub fn faded(&self, user: usize, point: &[f64]) -> Option<(f64, u64)> {
        let answer = self.answers.get(user)?;
        let faded = self.fading * answer.unexplained(&self.units.point_inside(point));
        Some((1.0 - 1.0 / (1.0 + faded), answer.when))
    }

    /// Whether the next new user is to be asked at the start as well, § 8.2: not where somebody had to be asked again, because
    /// nobody else is there.
    pub(crate) fn waits_at_start(&self) -> bool {
        self.answers.count() < self.at_start.unwrap_or(FRUGAL.at_start).min(self.users())
            && self.answers.latest().is_none_or(|(_, answer)| answer.times == 1)
    }

    /// Whose curvature is missing before there can be a scale, where no `L_i` are known, and that user's last answer: the longest
    /// where the last one was taken, § 2. A user without any holds up the others for a while only; once everybody was asked, those who were asked the least come
    /// next.
    pub(crate) fn lacks_curvature_of(&self) -> Option<(usize, &Answer)> {
        if self.plan.is_some() || self.waits_at_start() {
            return None;
        }
        let (_, latest) = self.answers.latest()?;
        let able = self
            .answers
            .iter()
            .filter(|(_, answer)| answer.norm > 0.0 && answer.times < FRUGAL.probes && answer.point == latest.point);
        let longest = able.reduce(|one, other| if other.1.norm > one.1.norm { other } else { one });
        let others = || self.answers.iter().filter(|_| self.all_asked()).min_by_key(|(_, answer)| answer.times);
        longest.or_else(others)
    }

    pub(crate) fn units(&self) -> &Units {
        &self.units
    }

    /// Whether units have changed since this was last asked.
    pub(crate) fn have_units_changed(&mut self) -> bool {
        std::mem::take(&mut self.changed_units)
    }

    pub(crate) fn scale(&self) -> &Scale {
        &self.scale
    }

    pub(crate) fn answers(&self) -> &Answers {
        &self.answers
    }

    /// Users' own quadratics, where they tell their Hessians, and not all of these are zero.
    pub(crate) fn own(&self) -> Option<&Own> {
        self.own.as_deref().filter(|own| own.mean().is_some())
    }

    pub(crate) fn verdict(&self) -> Verdict {
        self.verdict
    }

    pub(crate) fn is_uphill(&self) -> bool {
        self.uphill
    }

    /// What the last move by the model set out from; empty before the first one.
    pub(crate) fn anchor(&self) -> &[f64] {
        &self.anchor
    }

    /// Whether the last answer was asked for after a move by the model.
    pub(crate) fn is_after_move(&self) -> bool {
        self.after_move
    }

    /// What the move to a point set out from, empty for the start.
    fn move_to(&self, point: &[f64]) -> &[f64] {
        match self.moves.iter().rev().find(|(to, _)| to == point) {
            Some((_, anchor)) => anchor,
            None if point == self.start => &[],
            None => &self.anchor,
        }
    }

    /// Whether a gradient at a point points back to what the move there set out from.
    fn is_uphill_at(&self, point: &[f64], gradient: &[f64]) -> bool {
        let anchor = self.move_to(point);
        !anchor.is_empty() && kernel::dot_with_difference(gradient, anchor, point) > 0.0
    }

    /// Where the first answer was taken.
    pub(crate) fn start(&self) -> &[f64] {
        &self.start
    }

    /// What counts as far, where nothing is known.
    pub(crate) fn unit(&self) -> f64 {
        1.0 + kernel::norm(&self.start)
    }

    /// The mean gradient and the curvature as they are believed since the last answer; none where numbers are past what can be
    /// held, and before there is a scale.
    pub(crate) fn believed(&self) -> Option<(&Estimate, &Plan)> {
        self.estimate.as_ref().zip(self.plan.as_ref())
    }

    /// `G = ‖mean gᵢ‖ + mean Lᵢ ‖x − xᵢ‖ ≥ ‖∇f(x)‖`, once everybody was asked: Eq. (36).
    pub(crate) fn carried_bound(&self, point: &[f64], smoothness: &[f64]) -> f64 {
        let far = |it: &Answer| kernel::distance(&self.units.point_outside(&it.point), point);
        let carried = self.answers.iter().map(|(user, it)| smoothness[user] * far(it));
        kernel::norm(&self.mean_outside) + carried.sum::<f64>() / self.users() as f64
    }

    /// What the model must know of a move: from where the next answer is judged, and how points follow gradients, which biases
    /// a regression of gradients on points (§ 4).
    pub(crate) fn moved(&mut self, how: Move, to: &[f64]) {
        self.proven_steps = matches!(how, Move::Proven);
        if let (Move::ByOwn { cut }, Some(own)) = (&how, &mut self.own) {
            own.cut = *cut;
        }
        match how {
            Move::ByModel { .. } | Move::ByOwn { .. } => self.look_ahead(to),
            Move::Nowhere | Move::Proven => self.cannot_tell(),
            // What was said of this point still holds.
            Move::Later => {}
        }
        if let Move::ByModel { anchor, followed } = how {
            let kept =
                if self.answers_come_late { FRUGAL.moves_kept.min(1 + FRUGAL.numbers_kept / to.len()) } else { 1 };
            while self.moves.len() >= kept {
                self.moves.pop_front();
            }
            self.moves.push_back((to.to_vec(), anchor.clone()));
            self.anchor = anchor;
            match &mut self.plan {
                Some(Plan::Dense(plan)) => plan.follow(followed.inside),
                Some(Plan::LowRank(plan)) => {
                    plan.inside.follow(followed.inside);
                    plan.outside.sums.feedback.last = Trace(followed.outside);
                }
                None => {}
            }
        }
    }

    /// Takes an answer into the sums.
    fn take(&mut self, user: usize, point: &[f64], gradient: &[f64], noise: f64) {
        self.learn_size(user, gradient);
        let (size, users, unit) = (self.sizes[user], self.users(), self.unit());
        let kept = self.kept(user, point, gradient, noise);
        let news = self.answers.take(user, size, (point, gradient), noise, kept);
        let before = self.answers.replaced();
        self.alignment.replace(user, &self.answers, &self.sizes);
        let Some(now) = self.answers.get(user) else {
            return;
        };
        self.scale.see((now, size), before, news.as_ref(), unit, self.answers.all_asked());
        let weight = news.as_ref().map_or(1.0, |news| news.told(self.own_curvature));
        let most = self.steepest();
        match &mut self.plan {
            Some(plan) => {
                let news = news.as_ref().zip(before).map(|(secant, before)| {
                    let expected = self.alignment.expected(size, before, &self.answers, &self.sizes, &secant.direction);
                    let shared = plan.shared_along(&expected, &secant.direction);
                    self.alignment.learn(secant, &expected, shared, secants_kept(users, weight), weight);
                    secant.without(self.alignment.strength(point.len(), most), &expected)
                });
                let news = news.as_ref();
                plan.take(&Change { user, size, before, now, news, weight, users, follows: self.after_move });
            }
            // Where `L_i` had to be learned first, there are answers already.
            None if self.scale.mean > 0.0 => self.begin_plan(),
            None => {}
        }
    }

    /// A user's size from the length of its first answer, where no `L_i` are known: Eq. (2).
    fn learn_size(&mut self, user: usize, gradient: &[f64]) {
        if self.told_smoothness || self.answers.get(user).is_some() {
            return;
        }
        let times_the_mean = self.times_the_mean_length(kernel::norm(gradient));
        self.set_size(user, times_the_mean);
    }

    /// A new user's length over the mean one, itself included.
    fn times_the_mean_length(&self, length: f64) -> f64 {
        let lengths = self.answers.lengths() + length;
        length * (self.answers.count() + 1) as f64 / lengths
    }

    /// The same for everybody asked, where their answers are seen in other units.
    fn learn_sizes_anew(&mut self) {
        let norms: Vec<(usize, f64)> = self.answers.iter().map(|(user, answer)| (user, answer.norm)).collect();
        let (mut lengths, old) = (0.0, self.sizes.clone());
        self.forget_sizes();
        for (before, (user, length)) in norms.into_iter().enumerate() {
            lengths += length;
            self.set_size(user, length * (before + 1) as f64 / lengths);
        }
        let new = &self.sizes;
        self.answers.resize(|user| old[user] / new[user]);
    }

    fn set_size(&mut self, user: usize, times_the_mean: f64) {
        let size = learned_size(times_the_mean);
        if size.is_finite() {
            let old = std::mem::replace(&mut self.sizes[user], size);
            self.all_sizes += size - old;
            self.square_sizes += size * size - old * old;
        }
    }

    /// All sizes are one, as before anybody was asked: users who tell their Hessians need no others but known ones.
    fn forget_sizes(&mut self) {
        let users = self.users() as f64;
        self.alignment.forget_mean();
        self.sizes.fill(1.0);
        (self.all_sizes, self.square_sizes) = (users, users);
    }

    /// What all answers say together.
    fn begin_plan(&mut self) {
        let users = self.users();
        let mut plan = Plan::new(users, self.start.len(), self.scale.mean);
        for (user, now) in self.answers.iter() {
            let (size, news) = (self.sizes[user], now.news());
            plan.take(&Change { user, size, before: None, now, news, weight: 1.0, users, follows: false });
        }
        self.plan = Some(plan);
    }

    fn users(&self) -> usize {
        self.answers.users()
    }

    /// Estimates the mean gradient at another point than that of the last answer.
    pub(crate) fn look_from(&mut self, point: &[f64]) {
        if !matches!(self.verdict, Verdict::SetAside { .. }) && !self.waits() {
            self.fit(point);
        }
    }

    /// Fits curvature to all answers, and estimates the mean gradient by it.
    fn fit(&mut self, point: &[f64]) {
        let aligned = self.alignment.strength(point.len(), self.steepest());
        let Some(plan) = &mut self.plan else {
            return;
        };
        let view = View {
            all_sizes: self.all_sizes,
            sized_before: self.told_smoothness,
            answers: &self.answers,
            sizes: &self.sizes,
            square_sizes: self.square_sizes,
            scale: self.scale.mean,
            aligned,
            news: self.pace.answers_of_last(),
            point,
        };
        if let Some(spread) = plan.refit(&view) {
            let own_change = |weights: &[f64], anchor: &[f64]| plan.own_change(&view, weights, anchor);
            self.estimate = Some(Estimate::new(&view, spread.size, spread.own_curvature, own_change));
            self.fading = spread.own_curvature / spread.size;
            self.own_curvature = spread.own_curvature;
        }
    }

    /// `L n / Σ s_i²`: no user bends more along its own gradient, for each unit of its size (§ 5).
    fn steepest(&self) -> f64 {
        self.scale.mean * self.users() as f64 / self.square_sizes
    }

    /// The most that a user bends.
    fn steepest_of(&self, user: usize) -> f64 {
        self.steepest() * self.sizes[user] * self.sizes[user]
    }
}

/// One user's answer, and the one it replaces.
pub(crate) struct Change<'a> {
    user: usize,
    size: f64,
    before: Option<&'a Answer>,
    now: &'a Answer,
    /// A new secant, without what the user's own curvature along its gradient explains of it (all of it, if there was no
    /// model before).
    news: Option<&'a Secant>,
    /// What that counts: 1 without noise.
    weight: f64,
    users: usize,
    /// Whether it was asked for after a move.
    follows: bool,
}

/// What is kept of all secants where a new one comes that counts so much: § 3.
fn secants_kept(users: usize, weight: f64) -> f64 {
    1.0 - weight / (2.0 * users as f64).max(FRUGAL.secant_memory)
}

/// What a fit looks at.
pub(crate) struct View<'a> {
    /// `Σ s_i` over everybody.
    all_sizes: f64,
    /// Whether sizes were known before anybody was asked, so that the larger are asked sooner.
    sized_before: bool,
    answers: &'a Answers,
    sizes: &'a [f64],
    square_sizes: f64,
    scale: f64,
    /// `η`.
    aligned: f64,
    /// How many answers are new.
    news: usize,
    point: &'a [f64],
}

fn sizes(users: usize, smoothness: Option<&Smoothness>) -> Vec<f64> {
    let Some(smoothness) = smoothness else {
        return vec![1.0; users];
    };
    let mut roots: Vec<f64> = smoothness.each().iter().map(|each| each.sqrt()).collect();
    let mean = roots.iter().sum::<f64>() / users as f64;
    roots.iter_mut().for_each(|root| *root = if mean > 0.0 { (*root / mean).max(FRUGAL.smallest_size) } else { 1.0 });
    roots
}

/// The size of a user whose answers are so many times longer than the mean one.
fn learned_size(times_the_mean: f64) -> f64 {
    times_the_mean.sqrt().clamp(1.0 / FRUGAL.largest_size, FRUGAL.largest_size)
}

/// A length without what noise of that variance may add to it.
fn surely(length: f64, noise: f64) -> f64 {
    (length - FRUGAL.clear_sd * noise.sqrt()).max(0.0)
}
