//! Everybody's last answer.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::{super::sum::CompensatedSum, noise::Kept, secants::Secant};
use crate::{frugal::FRUGAL, kernel};

/// The last answers of those who were asked.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Answers {
    held: Vec<Option<Box<Answer>>>,
    /// Who was asked, in the order of the first time.
    asked: Vec<usize>,
    sum: CompensatedSum,
    mean: Vec<f64>,
    /// `Σ ‖g_i‖`.
    lengths: f64,
    /// How many of them are no longer users.
    left: usize,
    clock: u64,
    latest: Option<usize>,
    /// What the last answer replaced, for the update that moves on it.
    #[serde(skip)]
    replaced: Option<Box<Answer>>,
    #[serde(skip)]
    mean_before: Vec<f64>,
}

/// One user's last answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Answer {
    pub point: Vec<f64>,
    pub gradient: Vec<f64>,
    pub norm: f64,
    pub when: u64,
    /// How many answers of this user were taken.
    pub times: u32,
    /// How its gradient changed between its last two answers at different points.
    pub secant: Option<Secant>,
    /// And between earlier ones, the oldest first.
    pub earlier: VecDeque<Secant>,
    /// Whether that is news.
    pub fresh: bool,
    /// The variance of the noise in the gradient: `v_i`, all coordinates together.
    pub noise: f64,
}

/// How many secants a user keeps, § 3: its last one alone where there are more parameters than matrices are made for.
pub(super) fn secants_of_each(users: usize, dim: usize) -> usize {
    let all = FRUGAL.secants_per_parameter * dim.min(FRUGAL.dense_at_once);
    if dim <= FRUGAL.dense_up_to { all.div_ceil(users).max(1) } else { 1 }
}

impl Answers {
    pub fn new(users: usize, dim: usize) -> Self {
        Self { held: vec![None; users], sum: CompensatedSum::new(dim), mean: vec![0.0; dim], ..Self::default() }
    }

    /// Holds an answer with noise of that variance, or what is to be kept of it. Returns what it says of curvature.
    pub fn take(
        &mut self,
        user: usize,
        size: f64,
        (point, gradient): (&[f64], &[f64]),
        noise: f64,
        kept: Option<Kept>,
    ) -> Option<Secant> {
        self.clock += 1;
        let before = self.held[user].take();
        let news = before.as_ref().and_then(|before| {
            Secant::between(size, (&before.point, &before.gradient), (point, gradient), before.noise + noise)
        });
        let Kept { gradient, noise, secant: between } =
            kept.unwrap_or_else(|| Kept { gradient: gradient.to_vec(), noise, secant: news.clone() });
        match &before {
            Some(before) => self.sum.replace(&before.gradient, &gradient),
            None => {
                self.asked.push(user);
                self.sum.replace(&vec![0.0; gradient.len()], &gradient);
            }
        }
        let fresh = between.is_some();
        let (mut earlier, mut last) = match &before {
            Some(before) => (before.earlier.clone(), before.secant.clone()),
            None => (VecDeque::new(), None),
        };
        if let Some(between) = between {
            earlier.extend(last.replace(between));
        }
        let most = secants_of_each(self.held.len(), point.len()) - 1;
        earlier.drain(..earlier.len().saturating_sub(most));
        self.latest = Some(user);
        let norm = kernel::norm(&gradient);
        self.lengths += norm - before.as_ref().map_or(0.0, |before| before.norm);
        self.held[user] = Some(Box::new(Answer {
            point: point.to_vec(),
            norm,
            gradient,
            when: self.clock,
            times: before.as_ref().map_or(0, |before| before.times) + 1,
            secant: last,
            earlier,
            fresh,
            noise,
        }));
        self.replaced = before;
        std::mem::swap(&mut self.mean_before, &mut self.mean);
        self.mean.resize(self.mean_before.len(), 0.0);
        self.average();
        news
    }

    /// Takes all answers held to have noise of at least that variance, and forgets the secants that it explains.
    pub fn doubt(&mut self, noise: f64) {
        for answer in self.held.iter_mut().flatten() {
            answer.noise = answer.noise.max(noise);
            answer.secants_mut().for_each(|secant| secant.noise = 2.0 * noise / (secant.way * secant.way));
            answer.secant = answer.secant.take().filter(Secant::is_clear);
            answer.earlier.retain(Secant::is_clear);
            answer.fresh &= answer.secant.is_some();
        }
    }

    /// Sees all points and gradients in other units.
    pub fn change(&mut self, point: impl Fn(&[f64]) -> Vec<f64>, gradient: impl Fn(&[f64]) -> Vec<f64>) {
        for answer in self.held.iter_mut().flatten().chain(&mut self.replaced) {
            (answer.point, answer.gradient) = (point(&answer.point), gradient(&answer.gradient));
            answer.norm = kernel::norm(&answer.gradient);
            for secant in answer.secants_mut() {
                let (direction, change) = (point(&secant.direction), gradient(&secant.change));
                let length = kernel::norm(&direction);
                secant.direction = direction.iter().map(|value| value / length).collect();
                secant.change = change.iter().map(|value| value / length).collect();
                secant.way *= length;
            }
        }
        self.mean_before = gradient(&self.mean_before);
        self.lengths = self.add_lengths();
        self.sum_anew();
        self.average();
    }

    /// Takes other sizes out of all secants, given each user's old size over the new one.
    pub fn resize(&mut self, shrunk: impl Fn(usize) -> f64) {
        for (user, answer) in self.held.iter_mut().enumerate() {
            let by = shrunk(user);
            for secant in answer.iter_mut().flat_map(|answer| answer.secants_mut()) {
                secant.change.iter_mut().for_each(|value| *value *= by);
                secant.way /= by;
                secant.noise *= by * by;
            }
        }
    }

    fn sum_anew(&mut self) {
        let zero = vec![0.0; self.mean.len()];
        let mut sum = CompensatedSum::new(zero.len());
        self.iter().for_each(|(_, answer)| sum.replace(&zero, &answer.gradient));
        self.sum = sum;
    }

    /// The answer that the last one replaced, if its user had been asked before.
    pub fn replaced(&self) -> Option<&Answer> {
        self.replaced.as_deref()
    }

    /// The mean of the last gradients before the last answer.
    pub fn mean_before(&self) -> &[f64] {
        &self.mean_before
    }

    fn average(&mut self) {
        if !self.sum.is_finite() {
            // Some answers were so large that their sum was past what numbers can hold: start afresh without the old one.
            self.sum_anew();
        }
        let asked = self.asked.len().max(1) as f64;
        self.sum.mean(asked, &mut self.mean);
    }

    pub fn get(&self, user: usize) -> Option<&Answer> {
        self.held.get(user)?.as_deref()
    }

    /// Those who were asked, with their answers, in the order in which they were first asked.
    pub fn iter(&self) -> impl Iterator<Item = (usize, &Answer)> {
        self.asked.iter().filter_map(|user| Some((*user, self.get(*user)?)))
    }

    /// Those who were asked, in the order of the first time.
    pub fn asked(&self) -> impl ExactSizeIterator<Item = usize> {
        self.asked.iter().copied()
    }

    pub fn all_asked(&self) -> bool {
        self.asked.len() == self.users()
    }

    /// How many users there are.
    pub fn users(&self) -> usize {
        self.held.len() - self.left
    }

    /// Forgets a user, who is no longer one.
    pub fn leave(&mut self, user: usize) {
        self.left += 1;
        if let Some(before) = self.held[user].take() {
            self.asked.retain(|other| *other != user);
            self.lengths -= before.norm;
            self.sum.replace(&before.gradient, &vec![0.0; before.gradient.len()]);
            self.average();
        }
    }

    pub fn join(&mut self) {
        self.left -= 1;
    }

    /// How many were asked.
    pub fn count(&self) -> usize {
        self.asked.len()
    }

    /// Who was asked last, and the answer.
    pub fn latest(&self) -> Option<(usize, &Answer)> {
        self.latest.and_then(|user| Some((user, self.get(user)?)))
    }

    /// The mean of the last gradients.
    pub fn mean_gradient(&self) -> &[f64] {
        &self.mean
    }

    /// The sum of the lengths of all last gradients.
    pub fn lengths(&self) -> f64 {
        // Kept up to date where adding all up takes long, or where they were past what numbers can hold.
        match self.count() < FRUGAL.users_per_move || !self.lengths.is_finite() {
            true => self.add_lengths(),
            false => self.lengths,
        }
    }

    fn add_lengths(&self) -> f64 {
        self.iter().map(|(_, answer)| answer.norm).sum()
    }

    /// The length of the longest last gradient, sizes taken out; or of the first that is as long as `enough`.
    pub fn longest_up_to(&self, sizes: &[f64], enough: f64) -> f64 {
        let mut longest = 0.0;
        for (user, answer) in self.iter() {
            longest = f64::max(longest, answer.norm / sizes[user]);
            if longest >= enough {
                break;
            }
        }
        longest
    }
}

impl Answer {
    /// The secant, where it is new.
    pub fn news(&self) -> Option<&Secant> {
        self.secant.as_ref().filter(|_| self.fresh)
    }

    /// All secants held, the oldest first.
    pub fn secants(&self) -> impl Iterator<Item = &Secant> {
        self.earlier.iter().chain(&self.secant)
    }

    fn secants_mut(&mut self) -> impl Iterator<Item = &mut Secant> {
        self.earlier.iter_mut().chain(&mut self.secant)
    }

    /// One more parameter, which was zero in all that was seen.
    pub fn grow(&mut self) {
        self.point.push(0.0);
        self.gradient.push(0.0);
        self.secants_mut().for_each(Secant::grow);
    }

    /// The squared way from the answer to a point, without the part along which the user's own curvature is known.
    pub fn unexplained(&self, point: &[f64]) -> f64 {
        let Some(secant) = &self.secant else { return kernel::distance_squared(point, &self.point) };
        let (far, along) = kernel::way(&secant.direction, &self.point, point);
        (far - along * along).max(0.0)
    }
}
