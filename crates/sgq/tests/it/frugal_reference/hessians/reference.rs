//! Frugal where users tell their Hessians, docs/frugal.md § 12, an equation a line: every sum is computed anew with each answer.

use super::algebra::{
    Matrix, Vector, cholesky, dot, form, identity, inverse, matrix_plus, matrix_scaled, minus, outer, plus, product,
    scaled, solve, times, trace, transposed, zeros,
};

use crate::frugal_reference::remaining::{Expected, Hindsight, Terms};

/// The ridge is worth this many users of mean curvature in every direction.
const RIDGE_USERS: f64 = 1.5;
/// The longest move, times the roughness.
const REACH: f64 = 1.0;
/// A user is asked again before new ones if its error is this many times what a new one tells.
const REASK_GAIN_RATIO: f64 = 4.0;
/// Nobody is asked again for its error before so many were asked.
const LEAST_ASKED_FOR_REASK: usize = 4;
/// How much of the mean curvature is added to a user's own when its error is guessed.
const OWN_CURVATURE_FLOOR: f64 = 0.1;
/// The least part of the energy that James and Stein's shrinkage takes as signal.
const SIGNAL_FLOOR: f64 = 1.0 / 20.0;
/// Scores this close, relative to the larger one, count as equal.
const TIE: f64 = 1e-9;

/// A user that was asked: its quadratic.
#[derive(Clone)]
struct Quadratic {
    /// `X_i`.
    x: Vector,
    /// `G_i`, of the user as large as it is.
    g: Vector,
    /// `H_i`, given or fitted.
    own: Option<Matrix>,
    /// Whether it ever told a Hessian.
    gave: bool,
    /// `v_i`, the noise left in `g`, as a multiple of `S`.
    noise: f64,
}

/// What a step leaves for later.
#[derive(Clone)]
struct Mean {
    /// `H̄`.
    curvature: Matrix,
    /// `H_share`.
    share: Matrix,
    /// `σ²`.
    sigma2: f64,
}

/// A user that was asked again although there were new ones: its gain, and what a new one of size 1 had to tell.
struct Stale {
    gain: f64,
    new_tells: f64,
}

pub struct Reference {
    sizes: Vec<f64>,
    /// Whether `L_i` are told.
    known: bool,
    start: Vector,
    /// `S`.
    noise: Matrix,
    users: Vec<Option<Quadratic>>,
    /// Roughness squared is the ratio of the two.
    num: f64,
    den: f64,
    /// The next point.
    x: Vector,
    /// Where the last answer was taken.
    seen: Vector,
    cut: bool,
    /// Whether the last question went to a user that had been asked, before everybody was; none where that is not known.
    again: Option<bool>,
    mean: Option<Mean>,
    /// `τ`.
    new_tells: f64,
    /// Asked again for its error, until it is known which new user had to wait.
    stale: Option<Stale>,
    /// How often a user was asked again before everybody was asked: because the reach binds, and for its error.
    pub reasked: [usize; 2],
    /// How often a Hessian was fitted.
    pub fitted: usize,
    /// Of the ordinary model too, where the first Hessian comes late.
    pub hindsight: Hindsight,
    remaining: Option<Expected>,
}

impl Reference {
    pub fn new(start: &[f64], users: usize, smoothness: Option<&[f64]>) -> Self {
        let roots: Vec<f64> = smoothness.map_or(vec![1.0; users], |each| each.iter().map(|l| l.sqrt()).collect());
        let mean = roots.iter().sum::<f64>() / users as f64;
        Self {
            sizes: roots.iter().map(|root| (root / mean).max(0.001)).collect(),
            known: smoothness.is_some(),
            start: start.to_vec(),
            noise: zeros(start.len()),
            users: vec![None; users],
            num: 0.25,
            den: 0.25,
            x: start.to_vec(),
            seen: start.to_vec(),
            cut: false,
            again: Some(false),
            mean: None,
            new_tells: 0.0,
            stale: None,
            reasked: [0; 2],
            fitted: 0,
            hindsight: Hindsight::with_hessians(users),
            remaining: None,
        }
    }

    pub fn point(&self) -> &[f64] {
        &self.x
    }

    pub fn remaining(&self) -> Option<Expected> {
        self.remaining
    }

    /// Whether somebody told a Hessian.
    pub fn has_started(&self) -> bool {
        self.mean.is_some()
    }

    /// States the variance of each coordinate of all answers.
    pub fn set_noise(&mut self, variance: &[f64]) {
        self.noise = zeros(variance.len());
        for (k, variance) in variance.iter().enumerate() {
            self.noise[k][k] = *variance;
        }
    }

    /// Eq. (71), of an answer that is not taken in.
    pub fn out_of_line(&self, user: usize, x: &[f64], g: &[f64]) -> Option<f64> {
        let mean = self.mean.as_ref()?;
        let others: Vec<(usize, &Quadratic)> = self.asked().into_iter().filter(|(other, _)| *other != user).collect();
        if others.len() < 3 {
            return None;
        }
        let (count, length) = (others.len() as f64, |g: &[f64]| dot(g, g).sqrt());
        let size = match self.known || self.users[user].is_some() {
            true => self.sizes[user],
            false => {
                let lengths = others.iter().map(|(_, told)| length(&told.g)).sum::<f64>() + length(g);
                (length(g) * (count + 1.0) / lengths).sqrt().clamp(0.25, 4.0)
            }
        };
        let g = scaled(1.0 / size, g);
        let (mut of_others, mut typical2) = (vec![0.0; x.len()], 0.0);
        for (other, told) in &others {
            let gradient = scaled(1.0 / self.sizes[*other], &told.g);
            let carried = plus(&gradient, 1.0, &times(&mean.share, &minus(x, &told.x)));
            of_others = plus(&of_others, 1.0 / count, &carried);
            typical2 += dot(&gradient, &gradient) / count;
        }
        let mut off = length(&minus(&g, &of_others));
        if let Some(last) = &self.users[user] {
            let own = last.own.clone().unwrap_or_else(|| matrix_scaled(size, &mean.share));
            let carried = plus(&last.g, 1.0, &times(&own, &minus(x, &last.x)));
            off = off.min(length(&minus(&g, &scaled(1.0 / size, &carried))));
        }
        Some(off / typical2.sqrt())
    }

    fn asked(&self) -> Vec<(usize, &Quadratic)> {
        self.users.iter().enumerate().filter_map(|(user, told)| Some((user, told.as_ref()?))).collect()
    }

    /// `e_i²`, how far a user is expected to be from its quadratic at a point.
    fn departure2(&self, told: &Quadratic, mean: &Mean, x: &[f64]) -> f64 {
        let p = minus(x, &told.x);
        let far = form(&mean.curvature, &p);
        match &told.own {
            Some(own) if told.gave => self.num / self.den * (0.5 * (form(own, &p) + OWN_CURVATURE_FLOOR * far)).powi(2),
            _ => far,
        }
    }

    /// What is to be gained by asking a user again at a point.
    fn gain(&self, told: &Quadratic, mean: &Mean, x: &[f64]) -> f64 {
        self.departure2(told, mean, x) + mean.sigma2 * told.noise * told.noise / (told.noise + 1.0)
    }

    /// Eq. (55) and (56), where a session asks a user at a point while questions to others are out. The order of new users is the
    /// session's; everything else must be right.
    pub fn check_choice(&mut self, user: usize, x: &[f64], out: &[usize]) -> Result<(), String> {
        let is_free = |user: &usize| !out.contains(user);
        if !is_free(&user) {
            return Err(format!("user {user} was asked while its question was out"));
        }
        let is_new = self.users[user].is_none();
        let any_new = (0..self.users.len()).any(|user| self.users[user].is_none() && is_free(&user));
        let mut gains = Vec::new();
        if let Some(mean) = &self.mean {
            let free = self.asked().into_iter().filter(|(user, _)| is_free(user));
            gains = free.map(|(user, told)| (user, self.gain(told, mean, x))).collect();
        }
        let largest = gains.iter().map(|(_, gain)| *gain).fold(f64::NEG_INFINITY, f64::max);
        if !is_new {
            let Some((_, gain)) = gains.iter().find(|(old, _)| *old == user) else {
                return Err(format!("user {user} was asked again without a Hessian of anybody"));
            };
            if *gain < largest * (1.0 - TIE) {
                return Err(format!("user {user} has a gain of {gain:e}, another one {largest:e}"));
            }
        }
        if !any_new {
            return Ok(());
        }
        let asked = self.asked().len();
        let may_reask = !gains.is_empty() && self.again != Some(true);
        let should_reask = !gains.is_empty() && self.again == Some(false);
        if is_new {
            let enough = REASK_GAIN_RATIO * self.sizes[user].powi(2) * self.new_tells;
            if should_reask && self.cut {
                return Err("a new user was asked although the reach binds".into());
            }
            if should_reask && asked >= LEAST_ASKED_FOR_REASK && largest * (1.0 - TIE) > enough {
                return Err(format!("a new user was asked although {largest:e} is more than {enough:e}"));
            }
            // The new user that had to wait is the next new user that is asked.
            if let Some(Stale { gain, new_tells }) = self.stale.take() {
                let enough = REASK_GAIN_RATIO * self.sizes[user].powi(2) * new_tells;
                if gain < enough * (1.0 - TIE) {
                    return Err(format!("before, a user was asked again although {gain:e} is less than {enough:e}"));
                }
            }
            self.again = Some(false);
            return Ok(());
        }
        if !may_reask {
            return Err(format!("user {user} was asked again, twice in a row before everybody was asked"));
        }
        if self.cut {
            self.reasked[0] += 1;
        } else {
            if asked < LEAST_ASKED_FOR_REASK {
                return Err(format!("user {user} was asked again after {asked} users"));
            }
            self.reasked[1] += 1;
            self.stale = Some(Stale { gain: largest, new_tells: self.new_tells });
        }
        self.again = Some(true);
        Ok(())
    }

    /// A question of the time before the first Hessian. The ordinary model has reasons of its own to ask a user again, not all
    /// of which keep the next question from being asked again too.
    pub fn asked_before(&mut self, user: usize) {
        self.again = self.users[user].is_none().then_some(false);
    }

    /// An answer of the time before the first Hessian: it is kept, taken as exact, and changes nothing else.
    pub fn told_before(&mut self, user: usize, x: &[f64], g: &[f64]) {
        self.users[user] = Some(Quadratic { x: x.to_vec(), g: g.to_vec(), own: None, gave: false, noise: 0.0 });
    }

    /// An answer: Eq. (45) to (47). One that is not finite is set aside, and the next point is half way back.
    pub fn tell(&mut self, user: usize, x: &[f64], g: &[f64], hessian: Option<&Matrix>) {
        let is_finite = |values: &[f64]| values.iter().all(|value| value.is_finite());
        if !is_finite(g) || !hessian.is_none_or(|rows| rows.iter().all(|row| is_finite(row))) {
            self.num *= 2.0;
            self.x = scaled(0.5, &plus(x, 1.0, &self.seen));
            self.remaining = None;
            return;
        }
        let mut told = Quadratic { x: x.to_vec(), g: g.to_vec(), own: None, gave: false, noise: 1.0 };
        if let Some(last) = self.users[user].take() {
            // The first Hessian of all: what its user said before is not looked at.
            if let Some(mean) = self.mean.clone() {
                told.noise = last.noise;
                told.gave = last.gave;
                self.tell_again(user, &last, &mut told, hessian, &mean);
            }
        }
        if let Some(hessian) = hessian {
            told.own = Some(hessian.clone());
            told.gave = true;
        }
        self.users[user] = Some(told);
        self.seen = x.to_vec();
        self.step();
    }

    /// Eq. (45) and (47), of a user whose last answer is known.
    fn tell_again(
        &mut self,
        user: usize,
        last: &Quadratic,
        told: &mut Quadratic,
        hessian: Option<&Matrix>,
        mean: &Mean,
    ) {
        let p = minus(&told.x, &last.x);
        let old = last.own.clone().unwrap_or_else(|| matrix_scaled(self.sizes[user], &mean.share));
        let fitted = if hessian.is_none() { self.fit(&old, &p, &minus(&told.g, &last.g), last.noise) } else { None };
        self.fitted += usize::from(fitted.is_some());
        told.own = fitted.or_else(|| last.own.clone());
        let new = hessian.or(told.own.as_ref()).unwrap_or(&old);
        let both = matrix_plus(&old, 1.0, new);
        let energy = |q: &[f64]| dot(q, &solve(&mean.curvature, q));
        if hessian.is_some() && last.gave {
            let q = minus(&minus(&told.g, &last.g), &times(&old, &p));
            let (found, expected) = (energy(&q), (0.25 * form(&both, &p)).powi(2));
            let noise = (last.noise + 1.0) * mean.sigma2;
            // With noise, a pair counts as far as it tells more of roughness than of noise: docs/frugal.md 13.5.
            let rough = self.num / self.den * expected;
            let part = if noise > 0.0 { rough / (rough + noise) } else { 1.0 };
            self.num += part * (found - noise);
            if noise > 0.0 {
                self.num = self.num.max(0.25);
            }
            self.den += part * expected;
        }
        if mean.sigma2 > 0.0 {
            let b = times(&if last.gave { matrix_plus(new, -1.0, &old) } else { old.clone() }, &p);
            let c = last.noise + energy(&b) / (16.0 * mean.sigma2);
            let trust = c / (c + 1.0);
            let carried = plus(&last.g, 0.5, &times(&both, &p));
            told.g = plus(&carried, trust, &minus(&told.g, &carried));
            told.noise = trust;
        }
    }

    /// Eq. (46), BFGS, where the change of the gradient stands out of the noise.
    fn fit(&self, old: &Matrix, p: &[f64], y: &[f64], noise: f64) -> Option<Matrix> {
        let (hp, py) = (times(old, p), dot(p, y));
        let noise = 2.0 * (noise + 1.0).sqrt() * form(&self.noise, p).sqrt();
        (py - noise > 1e-3 * dot(p, &hp)).then(|| {
            let without = matrix_plus(old, -1.0 / dot(p, &hp), &outer(&hp, &hp));
            matrix_plus(&without, 1.0 / py, &outer(y, y))
        })
    }

    /// The mean of all quadratics and the next point: Eq. (48) to (54).
    fn step(&mut self) {
        let (n, dim) = (self.sizes.len() as f64, self.start.len());
        let asked = self.asked();
        let k = asked.len() as f64;
        let size = |user: usize| self.sizes[user];
        let given = asked.iter().filter(|(_, told)| told.gave).count();
        if given == 0 {
            return;
        }
        let everybody = asked.len() == self.sizes.len();
        let untold =
            if everybody { 0.0 } else { (1.0 - asked.iter().map(|(user, _)| size(*user)).sum::<f64>() / n).max(0.0) };
        let weight = |user: usize| 1.0 / n + untold / (k * size(user));

        let (mut share, mut shared_by) = (zeros(dim), 0.0);
        for (user, told) in asked.iter().filter(|(_, told)| told.gave) {
            share = matrix_plus(&share, weight(*user), told.own.as_ref().unwrap());
            shared_by += weight(*user) * size(*user);
        }
        let share = matrix_scaled(1.0 / shared_by, &share);
        let own =
            |user: usize, told: &Quadratic| told.own.clone().unwrap_or_else(|| matrix_scaled(self.sizes[user], &share));

        let (mut m, mut pull) = (zeros(dim), vec![0.0; dim]);
        for (user, told) in &asked {
            let h = own(*user, told);
            let at_start = minus(&told.g, &times(&h, &minus(&told.x, &self.start)));
            m = matrix_plus(&m, weight(*user), &h);
            pull = plus(&pull, weight(*user), &at_start);
        }
        let typical = trace(&m) / dim as f64;
        let ridge = RIDGE_USERS / given as f64 * (1.0 - k / n) * typical;
        let (curvature, lower) = positive_definite(matrix_plus(&m, 1.0, &identity(dim, ridge)), typical);
        let mut z = scaled(-1.0, &solve(&curvature, &pull));
        let sigma2 = trace(&product(&inverse(&curvature), &self.noise));
        let weights: Vec<f64> = asked.iter().map(|(user, _)| weight(*user)).collect();

        let minimiser = z.clone();
        let (mut new_tells, mut others) = (self.new_tells, 0.0);
        if !everybody {
            let target = plus(&self.start, 1.0, &z);
            let of_size_1: Vec<(usize, Vector)> = asked
                .iter()
                .map(|(user, told)| {
                    let there = plus(&told.g, 1.0, &times(&own(*user, told), &minus(&target, &told.x)));
                    (*user, scaled(1.0 / size(*user), &there))
                })
                .collect();
            let c = match &asked[..] {
                [(_, only)] => matrix_scaled(0.5, &outer(&only.g, &only.g)),
                _ => matrix_scaled(k / (k - 1.0), &self.spread(&of_size_1)),
            };
            let all: f64 = self.sizes.iter().map(|size| size * size).sum();
            let told: f64 = asked.iter().map(|(user, _)| size(*user).powi(2)).sum();
            let unsure = (all - told) / (n * n) + untold * untold / k;
            let out_of = inverse(&lower);
            let w0 = product(&product(&out_of, &c), &transposed(&out_of));
            new_tells = trace(&w0);
            others = unsure * new_tells;
            let w = matrix_scaled(0.5 * unsure, &w0);
            let energy = 0.5 * form(&curvature, &z);
            if energy > 0.0 {
                let a = (energy - trace(&w)).max(SIGNAL_FLOOR * energy) / dim as f64;
                let whitened = times(&transposed(&lower), &z);
                let shrunk = solve(&matrix_plus(&w, 1.0, &identity(dim, a)), &scaled(a, &whitened));
                z = times(&transposed(&out_of), &shrunk);
            }
        }

        let way = minus(&plus(&self.start, 1.0, &z), &self.seen);
        let length = (self.num / self.den * form(&curvature, &way)).sqrt() / REACH;
        self.cut = length > 1.0;
        self.x = plus(&self.seen, 1.0 / length.max(1.0), &way);
        self.new_tells = new_tells;
        let mean = Mean { curvature, share, sigma2 };
        self.look_ahead(&mean, &minimiser, others, &weights);
        self.mean = Some(mean);
    }

    /// Eq. (69), after a move: `z` is the way from the start to the minimiser, `others` is `υ tr W`.
    fn look_ahead(&mut self, mean: &Mean, z: &[f64], others: f64, weights: &[f64]) {
        let terms_at = |x: &[f64]| {
            let off = minus(&minus(x, &self.start), z);
            let (mut same, mut own) = (0.0, 0.0);
            for ((_, told), weight) in self.asked().into_iter().zip(weights) {
                let departure2 = self.departure2(told, mean, x);
                same += weight * departure2.sqrt();
                own += weight * weight * (0.75 * departure2 + mean.sigma2 * told.noise);
            }
            Terms(vec![(0.5 * form(&mean.curvature, &off), 0.5 * (others + 0.25 * same * same + own))])
        };
        let mut hindsight = self.hindsight.clone();
        let all_asked = self.users.iter().all(Option::is_some);
        self.remaining = Some(hindsight.moved(&self.x, 0.5 * form(&mean.curvature, z), all_asked, terms_at));
        self.hindsight = hindsight;
    }

    /// The spread around the plain mean, each user weighted by its size.
    fn spread(&self, gradients: &[(usize, Vector)]) -> Matrix {
        let dim = self.start.len();
        let mut mean = vec![0.0; dim];
        for (_, gradient) in gradients {
            mean = plus(&mean, 1.0 / gradients.len() as f64, gradient);
        }
        let (mut spread, mut total) = (zeros(dim), 0.0);
        for (user, gradient) in gradients {
            let off = minus(gradient, &mean);
            spread = matrix_plus(&spread, self.sizes[*user], &outer(&off, &off));
            total += self.sizes[*user];
        }
        matrix_scaled(1.0 / total, &spread)
    }
}

/// The matrix with as little added to its diagonal as makes it positive definite, and its Cholesky factor.
fn positive_definite(matrix: Matrix, typical: f64) -> (Matrix, Matrix) {
    let (mut tried, mut more) = (matrix.clone(), 1e-12 * typical);
    loop {
        if let Some(lower) = cholesky(&tried) {
            return (tried, lower);
        }
        tried = matrix_plus(&matrix, 1.0, &identity(matrix.len(), more));
        more *= 10.0;
    }
}
