//! Random grouped regressions: users, features and losses of every kind that a method may meet.

mod draws;

use std::fmt;

use serde::{Deserialize, Serialize};
use sgq::{
    Problem,
    problem::{Loss, Regression, Rows},
    random::derive_seed,
};
use thiserror::Error;

use crate::readable::short;
use draws::Draws;

/// Raised with every change of what a seed gives, so that results of earlier problems are not mistaken for these.
pub(crate) const GENERATOR: u32 = 1;

/// The numbers of features times rows that a problem may have: what is larger takes too long to measure many of.
const MOST_NUMBERS: usize = 4_000_000;
/// A user's rows, however unequal users are.
const MOST_ROWS: f64 = 400.0;
/// Reflections that mix the features: three make every feature depend on every direction of the spectrum.
const REFLECTIONS: usize = 3;
/// The spread of users' scales as a part of that of their numbers of rows: `L_i` goes with the scale's square, and with
/// the full spread one user would be all of the problem.
const SCALE_PART: f64 = 0.4;
/// Poisson's rates are kept between `e^−4` and `e^3`.
const RATES: (f64, f64) = (-4.0, 3.0);
/// Attempts at a problem before giving up; one in a few is refused, so that nobody ever comes here.
const MOST_ATTEMPTS: u64 = 1_000;

/// The largest problems wanted: for quick runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// At most so many users.
    pub users: usize,
    /// At most so many parameters.
    pub dim: usize,
}

impl Limits {
    /// The fewest users that a problem has.
    pub const FEWEST_USERS: usize = 4;
    /// The most users that a problem has.
    pub const MOST_USERS: usize = 1_000;
    /// The most parameters that a problem has.
    pub const MOST_DIM: usize = 200;
}

impl Default for Limits {
    fn default() -> Self {
        Self { users: Self::MOST_USERS, dim: Self::MOST_DIM }
    }
}

/// What kind of problem it is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Traits {
    /// Which of the seed's problems, from 0.
    pub index: u64,
    /// What a prediction costs: squares, logistic or Poisson.
    pub loss: Loss,
    /// Users, `n`: log-uniform in 4 … 1000.
    pub users: usize,
    /// Parameters, `d`: log-uniform in 1 … 200.
    pub dim: usize,
    /// The condition number κ of the features' second moment: log-uniform in 1 … 10⁴, with a geometric spectrum.
    pub condition: f64,
    /// How different the users are, `h`: their true coefficients are `w_i = w + h·noise`, the noise as large as `w`.
    pub heterogeneity: f64,
    /// How far the means of users' features are shifted, in standard deviations.
    pub shift: f64,
    /// How unequal users are: the log-normal spread of their numbers of rows; that of their features' scales is 0.4 of
    /// it.
    pub spread: f64,
    /// Rows of a typical user: log-uniform in 2 … 60.
    pub rows: f64,
    /// The penalty `λ`: log-uniform in 10⁻⁴ … 10⁻².
    pub l2: f64,
}

impl Traits {
    /// The loss in a word.
    pub fn loss_name(&self) -> &'static str {
        match self.loss {
            Loss::Squares => "squares",
            Loss::Logistic => "logistic",
            Loss::Poisson => "poisson",
            Loss::Huber { .. } => "huber",
            Loss::NegativeBinomial { .. } => "negative binomial",
            Loss::Gamma => "gamma",
        }
    }

    fn draw(index: u64, limits: Limits, draws: &mut Draws) -> Self {
        let users = draws.log_uniform_whole(Limits::FEWEST_USERS, limits.users);
        let dim = draws.log_uniform_whole(1, limits.dim);
        let condition = draws.log_uniform(1.0, 1e4);
        Self {
            index,
            loss: draws.pick([Loss::Squares, Loss::Logistic, Loss::Poisson]),
            users,
            dim,
            // A single feature has no spectrum.
            condition: if dim == 1 { 1.0 } else { condition },
            heterogeneity: draws.pick([0.0, 0.1, 0.5, 1.5, 5.0]),
            shift: draws.pick([0.0, 0.3, 1.0]),
            spread: draws.pick([0.0, 0.5, 1.5]),
            rows: draws.log_uniform(2.0, 60.0),
            l2: draws.log_uniform(1e-4, 1e-2),
        }
    }
}

impl fmt::Display for Traits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { users, dim, condition, heterogeneity, shift, spread, rows, l2, .. } = self;
        let loss = self.loss_name();
        write!(f, "{loss}, n {users}, d {dim}, κ {}, h {heterogeneity}, ", rounded(*condition))?;
        write!(f, "shift {shift}, spread {spread}, {rows:.0} rows, λ {}", rounded(*l2))
    }
}

/// Two digits that count.
fn rounded(number: f64) -> String {
    short(format!("{number:.1e}").parse().unwrap_or(number))
}

/// A random problem; every method starts at zero.
#[derive(Clone, Debug)]
pub struct RandomProblem {
    /// What kind of problem it is.
    pub traits: Traits,
    /// The problem.
    pub problem: Regression,
}

/// The seed's problem of this number: the same bytes whenever and wherever it is made.
///
/// What is too large, has no optimum that can be found, or starts at it, is passed over for the next attempt.
pub fn random_problem(seed: u64, index: u64, limits: Limits) -> Result<RandomProblem, RandomProblemError> {
    if limits.users < Limits::FEWEST_USERS || limits.dim == 0 {
        return Err(RandomProblemError::Limits { limits });
    }
    let own = derive_seed(seed, "random problem", index);
    let attempts = (0..MOST_ATTEMPTS).map(|attempt| derive_seed(own, "attempt", attempt));
    let mut found = attempts.filter_map(|attempt| {
        let traits = Traits::draw(index, limits, &mut Draws::new(attempt, "traits"));
        Some(RandomProblem { problem: make(&traits, attempt)?, traits })
    });
    found.next().ok_or(RandomProblemError::NoneFound { index })
}

/// A problem with these traits, if it is one that can be measured.
fn make(traits: &Traits, seed: u64) -> Option<Regression> {
    let mut draws = Draws::new(seed, "numbers of rows");
    let rows =
        |draws: &mut Draws| (traits.rows * (traits.spread * draws.normal()).exp()).clamp(1.0, MOST_ROWS) as usize;
    let counts: Vec<usize> = (0..traits.users).map(|_| rows(&mut draws)).collect();
    // Before anything large is made.
    if counts.iter().sum::<usize>() * traits.dim > MOST_NUMBERS {
        return None;
    }
    let mut world = World::new(*traits, seed);
    let (mut values, mut targets, mut blocks) = (Vec::new(), Vec::new(), vec![0]);
    for count in counts {
        world.add_user(count, &mut values, &mut targets);
        blocks.push(targets.len());
    }
    let rows = Rows::Dense { dim: traits.dim, values };
    let problem = Regression::new(rows, targets, &blocks, traits.loss, traits.l2).ok()?;
    let start = vec![0.0; traits.dim];
    // A gap that rounding could make up is none.
    let gap = problem.gap(&start).filter(|gap| gap.is_finite())?;
    (gap > 1e-8 * problem.value(&start).abs()).then_some(problem)
}

/// What all users of a problem share.
struct World {
    traits: Traits,
    draws: Draws,
    /// The features' standard deviations before they are mixed: the roots of a geometric spectrum from 1 to 1/κ.
    scales: Vec<f64>,
    /// The directions of the reflections.
    mirrors: Vec<Vec<f64>>,
    /// The true coefficients `w`, before the features are mixed.
    truth: Vec<f64>,
    /// The standard deviation of each coefficient.
    deviations: Vec<f64>,
}

impl World {
    fn new(traits: Traits, seed: u64) -> Self {
        let mut draws = Draws::new(seed, "data");
        let last = traits.dim.max(2) - 1;
        let scale = |k: usize| traits.condition.powf(-0.5 * k as f64 / last as f64);
        let scales: Vec<f64> = (0..traits.dim).map(scale).collect();
        let norm = |x: &[f64]| x.iter().map(|x| x * x).sum::<f64>().sqrt();
        let mirrors = (0..REFLECTIONS).map(|_| {
            let direction = draws.normals(traits.dim);
            let length = norm(&direction).max(f64::MIN_POSITIVE);
            direction.into_iter().map(|x| x / length).collect()
        });
        let mirrors = mirrors.collect();
        // Predictions of order 1, and coefficients that grow where features are small: every direction matters.
        let size = 1.0 / norm(&scales);
        let deviations: Vec<f64> = scales.iter().map(|scale| size / scale.sqrt()).collect();
        let truth = deviations.iter().map(|deviation| deviation * draws.normal()).collect();
        Self { traits, draws, scales, mirrors, truth, deviations }
    }

    /// Adds the rows of the next user.
    fn add_user(&mut self, rows: usize, values: &mut Vec<f64>, targets: &mut Vec<f64>) {
        let Traits { loss, shift, spread, heterogeneity, .. } = self.traits;
        let Self { draws, scales, mirrors, truth, deviations, .. } = self;
        let stretch = (SCALE_PART * spread * draws.normal()).exp();
        let center: Vec<f64> = scales.iter().map(|scale| shift * scale * draws.normal()).collect();
        let noise = deviations.iter().map(|deviation| heterogeneity * deviation * draws.normal());
        let own: Vec<f64> = truth.iter().zip(noise).map(|(shared, noise)| shared + noise).collect();
        for _ in 0..rows {
            let features =
                scales.iter().zip(&center).map(|(scale, center)| stretch * (scale * draws.normal() + center));
            let mut features: Vec<f64> = features.collect();
            let prediction: f64 = features.iter().zip(&own).map(|(feature, weight)| feature * weight).sum();
            targets.push(match loss {
                Loss::Logistic if draws.unit() * (1.0 + (-2.0 * prediction).exp()) < 1.0 => 1.0,
                Loss::Logistic => -1.0,
                Loss::Poisson | Loss::NegativeBinomial { .. } | Loss::Gamma => {
                    draws.poisson(prediction.clamp(RATES.0, RATES.1).exp())
                }
                Loss::Squares | Loss::Huber { .. } => prediction + 0.5 * draws.normal(),
            });
            // The coefficients are mixed alike, which leaves predictions what they are: nobody needs them mixed.
            for mirror in &*mirrors {
                reflect(&mut features, mirror);
            }
            values.append(&mut features);
        }
    }
}

/// `x − 2 (x·v) v`, a Householder reflection.
fn reflect(x: &mut [f64], direction: &[f64]) {
    let along: f64 = x.iter().zip(direction).map(|(x, v)| x * v).sum();
    x.iter_mut().zip(direction).for_each(|(x, v)| *x -= 2.0 * along * v);
}

/// Why there is no problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RandomProblemError {
    /// No problem is that small.
    #[error(
        "at most {} users and {} parameters: random problems have at least {} users and one parameter",
        limits.users, limits.dim, Limits::FEWEST_USERS
    )]
    Limits {
        /// What was wanted.
        limits: Limits,
    },
    /// Every attempt was too large, or had no optimum that could be found.
    #[error("no random problem of number {index} can be measured: take another seed")]
    NoneFound {
        /// Its number.
        index: u64,
    },
}

#[cfg(test)]
mod tests;
