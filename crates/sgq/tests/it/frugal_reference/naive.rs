//! Frugal as docs/frugal.md has it, one function an equation: all sums anew with each answer, over lists of what was answered.

mod algebra;
mod alignment;
mod curvature;
mod learning;
mod remaining;
mod scores;
mod unexpected;

use faer::{Col, Mat, Scale};

use super::remaining::{Expected, Hindsight};
use algebra::{Matrix, Vector, compose, dot, identity, outer, scaled, scaled_matrix, trace};
use remaining::Basis;

/// An answer that was believed; the size is taken out of the gradient, and the point counts from the start.
struct Answer {
    user: usize,
    x: Vector,
    g: Vector,
    time: usize,
}

/// How a user's gradient changed between two answers, for each unit of the way.
struct Secant {
    user: usize,
    u: Vector,
    y: Vector,
    /// What is said of `η`, and `y` without what it explains.
    of_eta: Option<OfEta>,
    rest: Vector,
    all_asked: bool,
}

/// `Δ u` and `y − B u`.
struct OfEta {
    expected: Vector,
    left: Vector,
}

/// `K`, `a`, `m`, `S_xx`, `S_gx` and `S_gg`.
struct Sums {
    k: f64,
    xx: Matrix,
    gx: Matrix,
    gg: Matrix,
}

/// `Q`, `Y`, `Z` and `ν`.
struct SecantSums {
    q: Matrix,
    y: Matrix,
    z: Matrix,
    number: f64,
}

/// What § 4.1 finds.
struct Spread {
    r: Matrix,
    t: Matrix,
    t_inverse: Matrix,
    sigma2: f64,
    h2: f64,
}

/// What § 4.2 to 4.4 find: `β`, `B`, the eigenvalues of `H` within their bounds, and its eigenvectors.
struct Curvature {
    typical: f64,
    shared: Matrix,
    values: Vec<f64>,
    vectors: Matrix,
}

/// What § 6 finds.
struct MeanGradient {
    at: Vector,
    gradient: Vector,
    unsure: f64,
    c: Matrix,
}

/// The longest way from `a_w` to the next point, and what each good answer makes of it.
#[derive(Clone, Copy)]
struct Reach {
    length: f64,
    growth: f64,
}

/// Somebody whose last answer was set aside.
struct SetAside {
    user: usize,
    length: f64,
    reach_before: Reach,
}

pub struct Naive {
    /// Points count from here.
    start: Vec<f64>,
    /// Where the first answer was taken, counted from there.
    first_point: Vector,
    sizes: Vec<f64>,
    /// Zero while nothing is known of it.
    mean_smoothness: f64,
    is_known: bool,
    /// Who was asked again before there were any sums, where it is not known.
    probed: Option<usize>,
    /// Everybody's first answer: the user, and the length, size included.
    firsts: Vec<(usize, f64)>,
    /// The answer of `P`: that of the user who was asked first, as it is when the sums begin.
    first: Vector,
    /// The `d` of `β₀` and `φ`, and how much curvature varies: not the same in coordinates of a span.
    parameters: usize,
    varies: f64,
    answers: Vec<Answer>,
    secants: Vec<Secant>,
    /// `β` and `B` of the answer before.
    typical: f64,
    shared: Matrix,
    /// `F` of the last move, `S_F`, and how many users are in it.
    last_move: Matrix,
    first_moves: Matrix,
    in_first_moves: f64,
    /// `a_w`, none before the first move; how far from it the next point may be at most; how often each was set aside.
    anchor: Option<Vector>,
    reach: Reach,
    /// Whether the last answer points uphill from there.
    uphill: bool,
    set_aside: Vec<usize>,
    set_aside_last: Option<SetAside>,
    /// `h² d / tr C` of the last move.
    fading: f64,
    x: Vector,
    hindsight: Hindsight,
    remaining: Option<Expected>,
}

impl Naive {
    pub fn new(start: &[f64], smoothness: &[f64]) -> Self {
        let (users, dim) = (smoothness.len() as f64, start.len());
        let mean_smoothness = smoothness.iter().sum::<f64>() / users;
        let mean_root = smoothness.iter().map(|each| each.sqrt()).sum::<f64>() / users;
        let typical = prior_curvature(dim, mean_smoothness);
        Self {
            start: start.to_vec(),
            first_point: Col::zeros(dim),
            sizes: smoothness.iter().map(|each| each.sqrt() / mean_root).collect(),
            mean_smoothness,
            is_known: true,
            probed: None,
            firsts: Vec::new(),
            first: Col::zeros(dim),
            parameters: dim,
            varies: 0.7,
            answers: Vec::new(),
            secants: Vec::new(),
            typical,
            shared: identity(dim, typical),
            last_move: identity(dim, 0.0),
            first_moves: identity(dim, 0.0),
            in_first_moves: 0.0,
            anchor: None,
            reach: ANYWHERE,
            uphill: false,
            set_aside: vec![0; smoothness.len()],
            set_aside_last: None,
            fading: 0.0,
            x: Col::zeros(dim),
            hindsight: Hindsight::new(smoothness.len(), dim),
            remaining: None,
        }
    }

    /// Without any `L_i`.
    pub fn without_smoothness(start: &[f64], users: usize) -> Self {
        Self { mean_smoothness: 0.0, is_known: false, ..Self::new(start, &vec![1.0; users]) }
    }

    /// With many parameters, in coordinates of the span of all answers: none yet.
    pub fn in_span(parameters: usize, smoothness: &[f64]) -> Self {
        let naive = Self::new(&[], smoothness);
        let typical = prior_curvature(parameters, naive.mean_smoothness);
        let hindsight = Hindsight::new(smoothness.len(), parameters);
        Self { parameters, varies: 1.0, typical, hindsight, ..naive }
    }

    /// One more coordinate, which is zero in all that there is.
    pub fn grow(&mut self) {
        let dim = self.dim();
        let longer = |vector: &mut Vector| vector.resize_with(dim + 1, |_| 0.0);
        self.answers.iter_mut().for_each(|answer| [&mut answer.x, &mut answer.g].into_iter().for_each(longer));
        for secant in &mut self.secants {
            [&mut secant.u, &mut secant.y, &mut secant.rest].into_iter().for_each(longer);
            secant.of_eta.iter_mut().flat_map(|of| [&mut of.expected, &mut of.left]).for_each(longer);
        }
        self.anchor.as_mut().map(longer);
        self.hindsight.grow();
        longer(&mut self.x);
        longer(&mut self.first_point);
        longer(&mut self.first);
        for (matrix, new) in
            [(&mut self.shared, self.typical), (&mut self.last_move, 0.0), (&mut self.first_moves, 0.0)]
        {
            matrix.resize_with(dim + 1, dim + 1, |row, column| if row == column { new } else { 0.0 });
        }
        self.start.push(0.0);
    }

    fn dim(&self) -> usize {
        self.start.len()
    }

    /// Everybody's last answer, of those who were asked.
    fn last_answers(&self) -> Vec<&Answer> {
        (0..self.sizes.len()).filter_map(|user| self.answers.iter().rfind(|answer| answer.user == user)).collect()
    }

    fn last_secant(&self, user: usize) -> Option<&Secant> {
        self.secants.iter().rfind(|secant| secant.user == user)
    }

    /// Takes an answer at a point; returns the next point.
    pub fn answer(&mut self, user: usize, point: &[f64], gradient: &[f64]) -> Vec<f64> {
        self.x = Col::from_fn(self.dim(), |row| point[row] - self.start[row]);
        let g = Col::from_fn(self.dim(), |row| gradient[row] / self.sizes[user]);
        if self.remaining.take().is_none() {
            self.hindsight.interrupt();
        }
        if let Some(anchor) = self.anchor.clone() {
            let way = &self.x - &anchor;
            self.uphill = dot(&way, &g) > 0.0;
            let set_aside = self.set_aside_last.take();
            let hardly_shorter = |before: &SetAside| before.user == user && g.norm_l2() > 0.7 * before.length;
            if let Some(before) = set_aside.filter(hardly_shorter) {
                self.reach = before.reach_before;
            } else if self.is_far_off(user, &way, &g) {
                self.set_aside[user] += 1;
                self.set_aside_last = Some(SetAside { user, length: g.norm_l2(), reach_before: self.reach });
                let part = (6f64.ln() / (g.norm_l2() / self.longest_last()).ln()).clamp(0.02, 0.5);
                self.reach = Reach { length: part * way.norm_l2(), growth: 1.05 };
                let believed = self.answers.iter().rfind(|answer| answer.user == user);
                let back = believed.map_or(self.first_point.clone(), |answer| answer.x.clone());
                self.x = &back + scaled(part, &(&self.x - &back));
                return self.point();
            }
            self.reach.length = (self.reach.growth * self.reach.length).max(way.norm_l2());
        }
        let has_model = self.mean_smoothness > 0.0;
        let g = match self.times_asked(user) {
            0 => self.with_learned_size(user, gradient),
            _ => g,
        };
        if self.answers.is_empty() {
            self.first = g.clone();
        }
        let secant_from = self.record(user, g);
        if !self.is_known && !self.learn(user) {
            return self.point();
        }
        if let Some(last) = secant_from.filter(|_| has_model) {
            self.align(user, &last);
        }
        let spread = self.spread();
        let curvature = self.curvature(&spread);
        let mean = self.mean_gradient(&spread, &curvature);
        self.typical = curvature.typical;
        self.shared = curvature.shared.clone();
        if !self.waits_at_start() {
            self.go(&spread, &curvature, &mean);
        }
        self.point()
    }

    /// Whether the next new user is asked at the start too.
    fn waits_at_start(&self) -> bool {
        self.last_answers().len() < 3.min(self.sizes.len())
    }

    fn all_asked(&self) -> bool {
        self.last_answers().len() == self.sizes.len()
    }

    pub fn has_learned_smoothness(&self) -> bool {
        !self.is_known && self.mean_smoothness > 0.0
    }

    /// How many believed answers a user has given.
    pub fn times_asked(&self, user: usize) -> usize {
        self.answers.iter().filter(|answer| answer.user == user).count()
    }

    fn point(&self) -> Vec<f64> {
        self.start.iter().zip(self.x.iter()).map(|(start, x)| start + x).collect()
    }

    /// Three times longer than every last answer, and uphill from where the model was anchored.
    fn is_far_off(&self, user: usize, way: &Vector, g: &Vector) -> bool {
        self.set_aside[user] < 30 && dot(way, g) > 0.0 && g.norm_l2() > 3.0 * self.longest_last()
    }

    /// The length of the longest of everybody's last answers.
    fn longest_last(&self) -> f64 {
        self.last_answers().iter().map(|answer| answer.g.norm_l2()).fold(0.0, f64::max)
    }

    /// Takes an answer down; returns that user's gradient before, if there is a new secant.
    fn record(&mut self, user: usize, g: Vector) -> Option<Vector> {
        let mut secant_from = None;
        let before: Vec<&Answer> = self.answers.iter().filter(|answer| answer.user == user).collect();
        match before.as_slice() {
            [] => {
                self.firsts.push((user, self.sizes[user] * g.norm_l2()));
                self.first_moves += &self.last_move;
                self.in_first_moves += 1.0;
            }
            [.., last] => {
                let way = &self.x - &last.x;
                let length = way.norm_l2();
                let (u, y) = (scaled(1.0 / length, &way), scaled(1.0 / length, &(&g - &last.g)));
                let secant = Secant { user, u, rest: y.clone(), y, of_eta: None, all_asked: self.all_asked() };
                if before.len() == 1 && self.probed != Some(user) {
                    self.first_moves *= Scale((self.in_first_moves - 1.0) / self.in_first_moves);
                    self.in_first_moves -= 1.0;
                }
                if length > 0.0 {
                    secant_from = Some(last.g.clone());
                    self.secants.push(secant);
                }
            }
        }
        let time = self.answers.last().map_or(0, |answer| answer.time + 1);
        self.answers.push(Answer { user, x: self.x.clone(), g, time });
        secant_from
    }

    fn sums(&self) -> Sums {
        let answers = self.last_answers();
        let size = |answer: &Answer| self.sizes[answer.user];
        let k: f64 = answers.iter().map(|answer| size(answer)).sum();
        let mut a = Col::zeros(self.dim());
        let mut m = Col::zeros(self.dim());
        for answer in &answers {
            a += scaled(size(answer) / k, &answer.x);
            m += scaled(size(answer) / k, &answer.g);
        }
        let zero = || Mat::zeros(self.dim(), self.dim());
        let mut sums = Sums { k, xx: zero(), gx: zero(), gg: zero() };
        for answer in &answers {
            let (x, g) = (&answer.x - &a, &answer.g - &m);
            sums.xx += outer(size(answer), &x, &x);
            sums.gx += outer(size(answer), &g, &x);
            sums.gg += outer(size(answer), &g, &g);
        }
        sums
    }

    fn secant_sums(&self) -> SecantSums {
        let zero = || Mat::zeros(self.dim(), self.dim());
        let mut sums = SecantSums { q: zero(), y: zero(), z: zero(), number: 0.0 };
        for (age, secant) in self.secants.iter().rev().enumerate() {
            let weight = self.kept().powi(age as i32);
            sums.q += outer(weight, &secant.u, &secant.u);
            sums.y += outer(weight, &secant.rest, &secant.u);
            sums.z += outer(weight, &secant.rest, &secant.rest);
            sums.number += weight;
        }
        sums
    }

    /// What is kept of all secants with each new one.
    fn kept(&self) -> f64 {
        1.0 - 1.0 / (2.0 * self.sizes.len() as f64).max(20.0)
    }

    /// `R`, for a `B`.
    fn unexplained(&self, b: &Matrix) -> Matrix {
        let sums = self.sums();
        &sums.gg - b * sums.gx.transpose() - &sums.gx * b + b * &sums.xx * b
    }

    /// `C`, for a `B`.
    fn covariance(&self, b: &Matrix) -> Matrix {
        scaled_matrix(1.0 / self.sums().k, &(self.unexplained(b) + outer(0.05, &self.first, &self.first)))
    }

    /// What `D̂_i` adds on the way, off the user's last secant.
    fn off_secant_change(&self, answer: &Answer, way: &Vector) -> Vector {
        let along = self.last_secant(answer.user).map(|Secant { u, .. }| scaled(dot(u, way), u));
        self.own_curvature(answer) * along.map_or(way.clone(), |along| way - along)
    }

    /// `r_i²`.
    fn off_secant2(&self, user: usize, way: &Vector) -> f64 {
        let along = self.last_secant(user).map_or(0.0, |secant| dot(&secant.u, way));
        dot(way, way) - along * along
    }

    /// Section 6: shared and own curvature carry every answer to the weighted mean of the points.
    fn mean_gradient(&self, spread: &Spread, curvature: &Curvature) -> MeanGradient {
        let b = &curvature.shared;
        let c = self.covariance(b);
        let (answers, users) = (self.last_answers(), self.sizes.iter().sum::<f64>());
        let error: Vec<f64> = answers
            .iter()
            .map(|answer| {
                let off2 = self.off_secant2(answer.user, &(&self.x - &answer.x));
                spread.h2 * self.dim() as f64 * off2 / trace(&c)
            })
            .collect();
        let q: Vec<f64> = error.iter().map(|error| 1.0 / (1.0 + error)).collect();
        let size = |answer: &Answer| self.sizes[answer.user];
        let held: f64 = q.iter().sum();
        let told: f64 = answers.iter().zip(&q).map(|(answer, q)| size(answer) * q).sum();
        let untold = 1.0 - told / users;
        // Where the larger are not asked sooner, they count more.
        let rest = |answer: &Answer| if self.is_known { 1.0 / held } else { size(answer) / told };
        let weights: Vec<f64> =
            answers.iter().zip(&q).map(|(answer, q)| q * (size(answer) / users + untold * rest(answer))).collect();
        let total: f64 = weights.iter().sum();

        let mut at = Col::zeros(self.dim());
        for (answer, weight) in answers.iter().zip(&weights) {
            at += scaled(weight / total, &answer.x);
        }
        let mut gradient = Col::zeros(self.dim());
        for (answer, weight) in answers.iter().zip(&weights) {
            let way = &at - &answer.x;
            let (bent, own) = (self.carrying_curvature(answer, b) * &way, self.off_secant_change(answer, &way));
            gradient += scaled(weight / total, &(&answer.g + bent + own));
        }

        let everybody: f64 = self.sizes.iter().map(|size| size * size).sum();
        let told: f64 = answers.iter().zip(&q).map(|(answer, q)| size(answer).powi(2) * q).sum();
        let unsure = ((everybody - told) / (users * users) + untold * untold / held) * (1.0 + 1.0 / held);
        MeanGradient { at, gradient, unsure, c }
    }

    /// How it moves.
    fn go(&mut self, spread: &Spread, curvature: &Curvature, mean: &MeanGradient) {
        let Spread { t, t_inverse, .. } = spread;
        let (dim, carried) = (self.dim() as f64, self.carried());
        let (l, u) = self.steps(spread, curvature);
        let w = t_inverse * &u;
        let place = u.transpose() * t * &mean.at;
        let pull = w.transpose() * &mean.gradient;
        let error = w.transpose() * &mean.c * &w;
        let z = Col::from_fn(self.dim(), |j| place[j] - pull[j] / l[j]);
        let v: Vec<f64> = (0..self.dim()).map(|j| 0.5 * error[(j, j)] * mean.unsure / l[j]).collect();
        let energy = 0.5 * (0..self.dim()).map(|j| l[j] * z[j] * z[j]).sum::<f64>();
        let shrink = (energy - v.iter().sum::<f64>()).max(energy / 20.0) / dim;
        let f: Vec<f64> = v.iter().map(|v| shrink / (shrink + v)).collect();
        let target = &w * Col::from_fn(self.dim(), |j| f[j] * z[j]);
        self.last_move = compose(&w, f.iter().zip(&l).map(|(f, l)| f / l));
        self.x = self.within_trust_region(target, mean);
        if self.anchor.is_none() && !self.is_known {
            let way = &self.x - &mean.at;
            let length = way.norm_l2().min(self.unit());
            self.x = &mean.at + scaled(length / way.norm_l2(), &way);
            self.reach = Reach { length, growth: 2.0 };
        }
        self.fading = spread.h2 * dim / trace(&mean.c);
        self.anchor = Some(mean.at.clone());
        self.look_ahead(&Basis { l: &l, u: &u, spread, mean }, carried);
    }

    fn within_trust_region(&self, target: Vector, mean: &MeanGradient) -> Vector {
        let growth = if self.uphill { 1.0 } else { 2.0 };
        let mut here = (&self.x - &mean.at).norm_l2();
        if let Some(before) = &self.anchor {
            here = here.max((&self.x - before).norm_l2());
        }
        let radius = (growth * here).max(mean.gradient.norm_l2() / self.mean_smoothness).min(self.reach.length);
        let way = &target - &mean.at;
        let length = way.norm_l2();
        if length > radius { &mean.at + scaled(radius / length, &way) } else { target }
    }
}

/// No reach at all.
const ANYWHERE: Reach = Reach { length: f64::INFINITY, growth: 1.0 };

/// `β₀`.
fn prior_curvature(dim: usize, mean_smoothness: f64) -> f64 {
    (2.0 / (2.0 + dim as f64)).max(0.1) * mean_smoothness
}
