//! Users who tell their Hessians, docs/frugal.md § 12: each is its own quadratic, and little is left to guess.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::Answers;
use crate::{
    Reply,
    frugal::{FRUGAL, TINY},
    kernel,
    matrix::{self, Square},
};

/// Everybody's own quadratic around its last answer, and what they say together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Own {
    start: Vec<f64>,
    held: Vec<Option<Box<Quadratic>>>,
    pub roughness: Roughness,
    noise: Noise,
    /// Where the last answer was taken: a move may go so far from there.
    seen: Vec<f64>,
    /// Whether the last move was cut short.
    pub cut: bool,
    mean: Option<Mean>,
}

/// `∇f_i(x) = g_i + H_i (x − x_i)`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Quadratic {
    point: Vec<f64>,
    gradient: Vec<f64>,
    source: Source,
    /// Whether `H_i` was told with this very answer.
    is_exact: bool,
    /// `H_i`; empty where it is that of the others.
    hessian: Square,
    /// `v_i`: the noise left in the gradient, in units of the mean stated one.
    noise: f64,
}

/// Where a Hessian is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Source {
    Told,
    /// Fitted to two answers or more.
    Fitted,
    /// The mean of what the others told, as large as the user is.
    Others,
}

/// `r²`: how fast users depart from their own quadratics, measured where somebody is asked again.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Roughness {
    found: f64,
    expected: f64,
}

impl Roughness {
    /// Learns from a pair of answers: how far off the second one was, squared, and what is expected for `r = 1`. With noise, a
    /// pair counts as far as it tells more of roughness than of noise.
    fn learn(&mut self, found: f64, expected: f64, noise: f64) {
        if noise > 0.0 {
            let rough = self.square() * expected;
            let part = rough / (rough + noise);
            self.found = (self.found + part * (found - noise)).max(FRUGAL.first_roughness);
            self.expected += part * expected;
        } else {
            self.found += found;
            self.expected += expected;
        }
    }

    pub fn square(self) -> f64 {
        self.found / self.expected
    }
}

/// The variances that answers stated.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Noise {
    sum: Vec<f64>,
    count: f64,
    /// Where nobody states any: the variances of a coordinate that answers showed, their sum and how many.
    found: f64,
    shown: f64,
}

impl Noise {
    /// Takes in what an answer states; returns that in units of the mean.
    fn take(&mut self, stated: Option<&[f64]>, dim: usize) -> f64 {
        let Some(stated) = stated else {
            return if self.shown > 0.0 { 1.0 } else { 0.0 };
        };
        self.sum.resize(dim, 0.0);
        let each = |k: usize| if stated.len() == 1 { stated[0] } else { stated[k] };
        self.sum.iter_mut().enumerate().for_each(|(k, sum)| *sum += each(k));
        self.count += 1.0;
        let total: f64 = (0..dim).map(each).sum();
        let mean = self.sum.iter().sum::<f64>() / self.count;
        if mean > 0.0 { total / mean } else { 0.0 }
    }

    /// Takes a variance that an answer shows of a coordinate, where nobody states any. Returns whether it is the first.
    fn show(&mut self, variance: f64) -> bool {
        let most = if self.shown > 0.0 { FRUGAL.noise_growth * self.found / self.shown } else { f64::MAX };
        self.found += variance.min(most);
        self.shown += 1.0;
        self.shown == 1.0
    }

    /// The mean variance of each coordinate; empty where there is no noise.
    fn variance(&self, dim: usize) -> Vec<f64> {
        match self.sum.is_empty() && self.shown > 0.0 {
            true => vec![self.found / self.shown; dim],
            false => self.sum.iter().map(|sum| sum / self.count).collect(),
        }
    }
}

/// The mean of all quadratics, those who were not asked believed to be like the others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Mean {
    /// `H̄`, and its factor by Cholesky.
    pub curvature: Square,
    pub factor: Vec<f64>,
    /// The mean of the Hessians told, for a user of size 1.
    others: Square,
    /// The way from the start to the minimiser.
    pub way: Vec<f64>,
    /// `tr(H̄⁻¹ S)`: the noise of an answer.
    noise: f64,
    /// How users differ there, in the metric of the factor; none once everybody was asked.
    pub spread: Option<Spread>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Spread {
    /// `L⁻¹ C L⁻ᵀ`.
    pub each: Square,
    /// Which part of it the mean is unsure by.
    pub unsure: f64,
}

impl Mean {
    /// `bᵀ H̄⁻¹ b`.
    fn length_squared(&self, b: &[f64]) -> f64 {
        let mut root = b.to_vec();
        matrix::forward(&self.factor, &mut root);
        kernel::norm_squared(&root)
    }

    /// What somebody who was not asked would tell, if its size was 1.
    pub fn told_by_new(&self) -> f64 {
        self.spread.as_ref().map_or(0.0, |spread| spread.each.trace())
    }
}

impl Own {
    /// On answers without Hessians, where the first one comes.
    pub fn new(start: &[f64], users: usize, answers: &Answers) -> Self {
        let mut held = vec![None; users];
        for (user, answer) in answers.iter() {
            held[user] = Some(Box::new(Quadratic {
                point: answer.point.clone(),
                gradient: answer.gradient.clone(),
                source: Source::Others,
                is_exact: false,
                hessian: Square::zero(0),
                noise: if answer.noise > 0.0 { 1.0 } else { 0.0 },
            }));
        }
        let first = FRUGAL.first_roughness;
        Self {
            start: start.to_vec(),
            held,
            roughness: Roughness { found: first, expected: first },
            noise: Noise::default(),
            seen: start.to_vec(),
            cut: false,
            mean: None,
        }
    }

    pub fn start(&self) -> &[f64] {
        &self.start
    }

    pub fn seen(&self) -> &[f64] {
        &self.seen
    }

    pub fn mean(&self) -> Option<&Mean> {
        self.mean.as_ref()
    }

    pub fn leave(&mut self, user: usize) {
        self.held[user] = None;
    }

    fn asked(&self) -> impl Iterator<Item = (usize, &Quadratic)> {
        self.held.iter().enumerate().filter_map(|(user, held)| Some((user, held.as_deref()?)))
    }

    /// Takes in an answer of a user of that size: Eq. (45) to (47).
    pub fn take(&mut self, reply: &Reply<'_>, size: f64) {
        let Reply { user, point, gradient, .. } = *reply;
        let dim = point.len();
        let stated = self.noise.take(reply.variance, dim);
        let told = reply.hessian.map(|hessian| Square::from_lower(dim, hessian.to_vec()));
        let (mut gradient, mut noise) = (gradient.to_vec(), stated);
        let mut is_first_noise = false;
        let mut now = (told.as_ref().map_or(Source::Others, |_| Source::Told), told.unwrap_or_else(|| Square::zero(0)));
        let before = self.held[user].take();
        if let (Some(before), Some(mean)) = (before.as_deref(), &self.mean) {
            let way: Vec<f64> = point.iter().zip(&before.point).map(|(now, then)| now - then).collect();
            let old = before.curvature(&mean.others, size);
            if now.0 != Source::Told {
                let sd = 2.0 * ((before.noise + stated) * along(&self.noise.variance(dim), &way)).sqrt();
                // Who told a Hessian once is believed to bend like that, as far as later answers say nothing else.
                now = match fitted(&old, &way, &before.gradient, &gradient, sd) {
                    Some(hessian) if before.source == Source::Told => (Source::Told, hessian),
                    Some(hessian) => (Source::Fitted, hessian),
                    None => (before.source, before.hessian.clone()),
                };
            }
            let new = match now.0 {
                Source::Others => old.clone(),
                _ => Cow::Borrowed(&now.1),
            };
            let image = old.times_vector(&way);
            let mut bent = new.times_vector(&way);
            kernel::add_scaled(&mut bent, -1.0, &image);
            if before.source == Source::Told && reply.hessian.is_some() {
                let off: Vec<f64> = (0..dim).map(|k| gradient[k] - before.gradient[k] - image[k]).collect();
                let noise = (before.noise + stated) * mean.noise;
                let expected = 0.25 * (2.0 * kernel::dot(&way, &image) + kernel::dot(&way, &bent));
                let found = mean.length_squared(&off);
                let rounding = FRUGAL.least_noise * (kernel::norm(&gradient) + kernel::norm(&before.gradient));
                // Far off the mean of both Hessians, too, and far more than anything rough, Eq. (64): noise.
                let mut left = off.clone();
                kernel::add_scaled(&mut left, -0.5, &bent);
                let unexplained = mean.length_squared(&left);
                // On a long way a user without curvature at both ends may have some in between.
                let is_short = self.roughness.square() * kernel::dot(&way, &mean.curvature.times_vector(&way))
                    < FRUGAL.shortest_way * FRUGAL.shortest_way;
                let is_noise = before.is_exact
                    && is_short
                    && reply.variance.is_none()
                    && kernel::norm(&left) > rounding
                    && found > FRUGAL.roughest * expected * expected
                    && unexplained > FRUGAL.least_bent * mean.length_squared(&bent);
                if is_noise {
                    let units: f64 = (0..dim).map(|k| mean.length_squared(&unit(dim, k))).sum();
                    is_first_noise = self.noise.show(unexplained / (1.0 + before.noise.max(1.0 - stated)) / units);
                } else {
                    self.roughness.learn(found, expected * expected, noise);
                }
            }
            if mean.noise > 0.0 && stated > 0.0 {
                // The answer before, carried here, and this one: each as far as it is certain.
                let doubt = if before.source == Source::Told { &bent } else { &image };
                let carried_noise = before.noise + mean.length_squared(doubt) / (16.0 * mean.noise);
                let part = carried_noise / (carried_noise + stated);
                for k in 0..dim {
                    let carried = before.gradient[k] + image[k] + 0.5 * bent[k];
                    gradient[k] = carried + part * (gradient[k] - carried);
                }
                noise = part * stated;
            }
        } else if let (Some(before), Source::Others) = (before, now.0) {
            now = (before.source, before.hessian);
        }
        let (source, hessian) = now;
        let is_exact = reply.hessian.is_some();
        self.held[user] =
            Some(Box::new(Quadratic { point: point.to_vec(), gradient, source, is_exact, hessian, noise }));
        if is_first_noise {
            self.held.iter_mut().flatten().for_each(|quadratic| quadratic.noise = 1.0);
        }
        self.seen = point.to_vec();
    }

    /// What all quadratics say together: Eq. (48) to (52). None where numbers are past what can be held, or nobody curves.
    pub fn fit(&mut self, sizes: &[f64], square_sizes: f64, users: usize) {
        self.mean = self.fitted(sizes, square_sizes, users);
    }

    fn fitted(&self, sizes: &[f64], square_sizes: f64, users: usize) -> Option<Mean> {
        let (dim, all) = (self.start.len(), users as f64);
        let (mut asked, mut told, mut sum, mut squares) = (0, 0, 0.0, 0.0);
        for (user, quadratic) in self.asked() {
            asked += 1;
            told += usize::from(quadratic.source == Source::Told);
            sum += sizes[user];
            squares += sizes[user] * sizes[user];
        }
        let count = asked as f64;
        let untold = if asked < users { (1.0 - sum / all).max(0.0) } else { 0.0 };
        let weight = |user: usize| 1.0 / all + untold / (count * sizes[user]);

        let (mut others, mut of_others) = (Square::zero(dim), 0.0);
        for (user, quadratic) in self.asked().filter(|(_, it)| it.source == Source::Told) {
            others.add(weight(user), &quadratic.hessian);
            of_others += weight(user) * sizes[user];
        }
        // Whoever told a Hessian may have left: what they said of the others' curvature still holds.
        match (told, &self.mean) {
            (0, Some(before)) => others = before.others.clone(),
            _ => others.scale(1.0 / of_others),
        }
        let (mut curvature, mut pull) = (Square::zero(dim), vec![0.0; dim]);
        for (user, quadratic) in self.asked() {
            curvature.add(weight(user), &quadratic.curvature(&others, sizes[user]));
            kernel::add_scaled(&mut pull, -weight(user), &quadratic.at(&self.start, &others, sizes[user]));
        }
        let typical = curvature.trace() / dim as f64;
        curvature.add_to_diagonal(FRUGAL.first_curvature / told.max(1) as f64 * (1.0 - count / all) * typical);
        if typical.is_nan() || typical <= 0.0 {
            return None;
        }
        let factor = factor(&mut curvature, typical)?;
        let mut way = pull;
        matrix::cholesky_solve(&factor, &mut way);
        let variance = self.noise.variance(dim);
        let spread = (asked < users).then(|| {
            let there: Vec<f64> = self.start.iter().zip(&way).map(|(start, way)| start + way).collect();
            let unsure = (square_sizes - squares).max(0.0) / (all * all) + untold * untold / count;
            Spread { each: self.spread(&there, &others, sizes, &factor, count), unsure }
        });
        let mut mean = Mean { curvature, factor, others, way, noise: 0.0, spread };
        mean.noise = (0..variance.len()).map(|k| variance[k] * mean.length_squared(&unit(dim, k))).sum();
        kernel::all_within(&mean.way, f64::MAX).then_some(mean)
    }

    /// `L⁻¹ C L⁻ᵀ` at a point, Eq. (51). One answer says nothing of how users differ: half of its square is taken for that.
    fn spread(&self, there: &[f64], others: &Square, sizes: &[f64], factor: &[f64], count: f64) -> Square {
        let dim = there.len();
        let mut each = Square::zero(dim);
        if count < 2.0 {
            for (_, quadratic) in self.asked() {
                let mut slope = quadratic.gradient.clone();
                matrix::forward(factor, &mut slope);
                each.add_outer(0.5, &slope, &slope);
            }
            return each;
        }
        let slope = |user: usize, quadratic: &Quadratic| -> Vec<f64> {
            let slope = quadratic.at(there, others, sizes[user]);
            slope.iter().map(|slope| slope / sizes[user]).collect()
        };
        let slopes: Vec<(f64, Vec<f64>)> = self.asked().map(|(user, it)| (sizes[user], slope(user, it))).collect();
        let mut mean = vec![0.0; dim];
        slopes.iter().for_each(|(_, slope)| kernel::add_scaled(&mut mean, 1.0 / count, slope));
        for (size, mut slope) in slopes.iter().cloned() {
            kernel::add_scaled(&mut slope, -1.0, &mean);
            matrix::forward(factor, &mut slope);
            each.add_outer(size, &slope, &slope);
        }
        let total: f64 = slopes.iter().map(|(size, _)| size).sum();
        each.scale(count / (count - 1.0) / total);
        each
    }

    /// What asking a user again at a point would tell, Eq. (55); none before there is a mean, and for those who were not asked.
    pub fn gain(&self, user: usize, point: &[f64]) -> Option<f64> {
        let (mean, quadratic) = (self.mean.as_ref()?, self.held.get(user)?.as_deref()?);
        let noise = quadratic.noise;
        Some(self.error(mean, quadratic, point) + mean.noise * noise * noise / (noise + 1.0))
    }

    /// How much a user's gradient changes over a way, by what it told of its own curvature, or else by that of the others for its size;
    /// none before there is a mean, and for those who were not asked.
    pub fn change(&self, user: usize, size: f64, way: &[f64]) -> Option<Vec<f64>> {
        Some(self.curvature(user, size)?.times_vector(way))
    }

    /// The user's curvature by the same.
    pub fn curvature(&self, user: usize, size: f64) -> Option<Cow<'_, Square>> {
        let (mean, quadratic) = (self.mean.as_ref()?, self.held.get(user)?.as_deref()?);
        Some(quadratic.curvature(&mean.others, size))
    }

    /// The same of a user of size 1 who told nothing.
    pub fn change_of_others(&self, way: &[f64]) -> Option<Vec<f64>> {
        Some(self.mean.as_ref()?.others.times_vector(way))
    }

    /// Whether answers showed noise that they do not state.
    pub fn has_found_noise(&self) -> bool {
        self.noise.shown > 0.0
    }

    /// What the error of the mean gradient costs at a point, as half a square in the metric of the mean curvature: by those who were
    /// not asked, by users' departure from their quadratics, and by noise.
    pub fn loss(&self, sizes: &[f64], users: usize, point: &[f64]) -> f64 {
        let Some(mean) = &self.mean else {
            return 0.0;
        };
        let asked = self.asked().map(|(user, _)| sizes[user]);
        let (count, sum) = asked.fold((0.0, 0.0), |(count, sum), size| (count + 1.0, sum + size));
        let untold = if count < users as f64 { (1.0 - sum / users as f64).max(0.0) } else { 0.0 };
        let weight = |user: usize| 1.0 / users as f64 + untold / (count * sizes[user]);
        let (mut alike, mut apart) = (0.0, 0.0);
        for (user, quadratic) in self.asked() {
            let (weight, error) = (weight(user), self.error(mean, quadratic, point));
            alike += weight * error.sqrt();
            apart += weight * weight * ((1.0 - FRUGAL.rough_alike) * error + quadratic.noise * mean.noise);
        }
        let spread = mean.spread.as_ref().map_or(0.0, |spread| spread.unsure * spread.each.trace());
        0.5 * (spread + FRUGAL.rough_alike * alike * alike + apart)
    }

    /// How far off a user's quadratic is expected to be at a point: the square of its gradient's error, in the metric of the mean
    /// curvature.
    fn error(&self, mean: &Mean, quadratic: &Quadratic, point: &[f64]) -> f64 {
        let way: Vec<f64> = point.iter().zip(&quadratic.point).map(|(now, then)| now - then).collect();
        let far = kernel::dot(&way, &mean.curvature.times_vector(&way));
        match quadratic.source {
            Source::Told => {
                let own = kernel::dot(&way, &quadratic.hessian.times_vector(&way));
                let half = 0.5 * (own + FRUGAL.least_own_curvature * far);
                self.roughness.square() * half * half
            }
            _ => far,
        }
    }
}

impl Quadratic {
    /// `H_i` of a user of that size.
    fn curvature(&self, others: &Square, size: f64) -> Cow<'_, Square> {
        match self.source {
            Source::Told | Source::Fitted => Cow::Borrowed(&self.hessian),
            Source::Others => {
                let mut hessian = others.clone();
                hessian.scale(size);
                Cow::Owned(hessian)
            }
        }
    }

    /// `g_i + H_i (x − x_i)`.
    fn at(&self, x: &[f64], others: &Square, size: f64) -> Vec<f64> {
        let way: Vec<f64> = x.iter().zip(&self.point).map(|(x, point)| x - point).collect();
        let mut slope = self.gradient.clone();
        match self.source {
            Source::Told | Source::Fitted => kernel::add_scaled(&mut slope, 1.0, &self.hessian.times_vector(&way)),
            Source::Others => kernel::add_scaled(&mut slope, size, &others.times_vector(&way)),
        }
        slope
    }
}

/// The curvature of a user who tells none, from two of its answers by BFGS, Eq. (46); none where noise, of that standard
/// deviation along the way, may explain the change.
fn fitted(old: &Square, way: &[f64], before: &[f64], now: &[f64], noise: f64) -> Option<Square> {
    let change: Vec<f64> = now.iter().zip(before).map(|(now, before)| now - before).collect();
    let image = old.times_vector(way);
    let (found, expected) = (kernel::dot(way, &change), kernel::dot(way, &image));
    if !(expected > 0.0 && found - noise > FRUGAL.least_fitted * expected) {
        return None;
    }
    let mut hessian = old.clone();
    hessian.add_outer(-1.0 / expected, &image, &image);
    hessian.add_outer(1.0 / found, &change, &change);
    Some(hessian)
}

/// `wᵀ S w` for a diagonal `S`.
fn along(variance: &[f64], way: &[f64]) -> f64 {
    variance.iter().zip(way).map(|(variance, way)| variance * way * way).sum()
}

fn unit(dim: usize, k: usize) -> Vec<f64> {
    (0..dim).map(|other| f64::from(u8::from(other == k))).collect()
}

/// Cholesky's factor of a matrix, to which as much of the identity is added as it needs to have one.
fn factor(curvature: &mut Square, typical: f64) -> Option<Vec<f64>> {
    let mut lift = 1e-12 * typical.max(TINY);
    for _ in 0..30 {
        let mut factor = curvature.values().to_vec();
        if matrix::cholesky(&mut factor, curvature.dim(), 0.0) {
            return Some(factor);
        }
        curvature.add_to_diagonal(lift);
        lift *= 10.0;
    }
    None
}
