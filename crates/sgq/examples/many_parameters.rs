//! How many queries `frugal` needs where there are more parameters than a matrix of curvature could hold, and how many
//! shuffled SGD does with the best of its step sizes.
//!
//!     cargo run --release -p sgq --example many_parameters [-- d n …]

use std::{env, error::Error};

use sgq::{Method, Random, Session, Settings, method};

/// Parts of the starting gap.
const LEVELS: [f64; 4] = [0.3, 0.1, 0.03, 0.01];
const SEEDS: u64 = 3;
const ROWS: usize = 8;
/// Step sizes of shuffled SGD, in units of `1 / mean L_i`.
const STEPS: [f64; 8] = [0.03, 0.06, 0.12, 0.25, 0.5, 1.0, 2.0, 4.0];

fn main() -> Result<(), Box<dyn Error>> {
    let numbers: Vec<usize> = env::args().skip(1).map(|word| word.parse()).collect::<Result<_, _>>()?;
    let sizes: Vec<(usize, usize)> = match numbers.is_empty() {
        true => vec![(300, 20), (300, 200), (1_000, 60), (5_000, 60)],
        false => numbers.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect(),
    };
    println!("| loss | spectrum | d | n | users | frugal: 30, 10, 3, 1% | shuffled SGD, tuned |");
    println!("|---|---|---|---|---|---|---|");
    for (dim, users) in sizes {
        for logistic in [false, true] {
            for (spectrum, decay) in [("flat", 0.0), ("1/k", 1.0), ("1/k²", 2.0)] {
                for (alike, heterogeneity) in [("alike", 0.1), ("differ", 0.7)] {
                    let traits = Traits { logistic, users, dim, decay, heterogeneity };
                    let loss = if logistic { "logistic" } else { "squares" };
                    let (frugal, shuffled) = compare(traits)?;
                    println!("| {loss} | {spectrum} | {dim} | {users} | {alike} | {frugal} | {shuffled} |");
                }
            }
        }
    }
    Ok(())
}

/// The geometric means over the seeds.
fn compare(traits: Traits) -> Result<(String, String), Box<dyn Error>> {
    let most = (4 * traits.users).max(150);
    let (mut frugal, mut shuffled) = ([0.0; LEVELS.len()], [0.0; LEVELS.len()]);
    for seed in 0..SEEDS {
        let problem = Grouped::new(traits, seed);
        let mean = problem.smoothness.iter().sum::<f64>() / traits.users as f64;
        let settings = problem.settings(seed);
        let add = |sums: &mut [f64], counts: &[usize]| {
            sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += (*count as f64).ln() / SEEDS as f64);
        };
        add(&mut frugal, &queries(method::frugal(), settings.clone(), &problem, most)?);
        let mut best = [most + 1; LEVELS.len()];
        for step in STEPS {
            let settings = settings.clone().step_size(step / mean);
            let counts = queries(method::shuffled_sgd(), settings, &problem, most)?;
            best.iter_mut().zip(counts).for_each(|(best, count)| *best = count.min(*best));
        }
        add(&mut shuffled, &best);
    }
    let shown = |sums: &[f64]| {
        let shown = sums.iter().map(|sum| match sum.exp().round() as usize {
            count if count > most => "–".to_owned(),
            count => count.to_string(),
        });
        shown.collect::<Vec<_>>().join(", ")
    };
    Ok((shown(&frugal), shown(&shuffled)))
}

/// Queries until each level is reached for the first time; looked at every so often only, as it takes long.
fn queries(
    method: Method,
    settings: Settings,
    problem: &Grouped,
    most: usize,
) -> Result<[usize; LEVELS.len()], Box<dyn Error>> {
    let mut session = Session::new(method, settings)?;
    let mut found = [most + 1; LEVELS.len()];
    let mut gradient = vec![0.0; problem.traits.dim];
    let mut look = 1;
    for query in 1..=most {
        let Some(asked) = session.ask()? else { break };
        problem.gradient(asked.user, &asked.point, &mut gradient);
        session.tell(asked.ticket, &gradient)?;
        if query < look {
            continue;
        }
        look = query + 1 + query / 20;
        let gap = (problem.value(session.point()) - problem.optimum) / problem.gap_at_zero;
        for (found, level) in found.iter_mut().zip(LEVELS) {
            if gap <= level {
                *found = query.min(*found);
            }
        }
        if gap <= LEVELS[LEVELS.len() - 1] {
            break;
        }
    }
    Ok(found)
}

#[derive(Clone, Copy)]
struct Traits {
    logistic: bool,
    users: usize,
    dim: usize,
    /// The features' variances are `k^−decay`.
    decay: f64,
    /// How much users' coefficients differ, as a part of what they share.
    heterogeneity: f64,
}

/// A regression with a few rows for each user; the same as the library's, which needs a matrix for its optimum.
struct Grouped {
    traits: Traits,
    /// Row by row.
    features: Vec<f64>,
    targets: Vec<f64>,
    smoothness: Vec<f64>,
    penalty: f64,
    optimum: f64,
    gap_at_zero: f64,
}

impl Grouped {
    fn new(traits: Traits, seed: u64) -> Self {
        let Traits { logistic, users, dim, decay, heterogeneity } = traits;
        let mut random = Random::new(seed, "many parameters");
        let scales: Vec<f64> = (1..=dim).map(|k| (k as f64).powf(-0.5 * decay)).collect();
        let size = 1.0 / scales.iter().map(|scale| scale * scale).sum::<f64>().sqrt();
        // Predictions are of order 1 or 2.
        let shared: Vec<f64> = (0..dim).map(|_| 2.0 * size * normal(&mut random)).collect();
        let (mut features, mut targets) = (Vec::with_capacity(users * ROWS * dim), Vec::new());
        for _ in 0..users {
            let own: Vec<f64> =
                shared.iter().map(|value| value + 2.0 * heterogeneity * size * normal(&mut random)).collect();
            for _ in 0..ROWS {
                let row: Vec<f64> = scales.iter().map(|scale| scale * normal(&mut random)).collect();
                let prediction = dot(&row, &own);
                targets.push(match logistic {
                    true if random.unit() * (1.0 + (-prediction).exp()) < 1.0 => 1.0,
                    true => -1.0,
                    false => prediction + 0.3 * normal(&mut random),
                });
                features.extend(row);
            }
        }
        let mut problem =
            Self { traits, features, targets, smoothness: vec![], penalty: 0.0, optimum: 0.0, gap_at_zero: 0.0 };
        let bend = if logistic { 0.25 } else { 1.0 };
        problem.smoothness = (0..users).map(|user| bend * problem.steepest(user)).collect();
        problem.penalty = 1e-3 * problem.smoothness.iter().sum::<f64>() / users as f64;
        problem.smoothness.iter_mut().for_each(|each| *each += problem.penalty);
        problem.optimum = problem.least();
        problem.gap_at_zero = problem.value(&vec![0.0; dim]) - problem.optimum;
        problem
    }

    fn settings(&self, seed: u64) -> Settings {
        Settings::new(vec![0.0; self.traits.dim], self.traits.users).smoothness(self.smoothness.clone()).seed(seed)
    }

    fn rows(&self, user: usize) -> impl Iterator<Item = (&[f64], f64)> {
        let dim = self.traits.dim;
        let features = self.features[user * ROWS * dim..][..ROWS * dim].chunks_exact(dim);
        features.zip(self.targets[user * ROWS..].iter().copied())
    }

    /// The largest eigenvalue of a user's features' second moment, by the power method.
    fn steepest(&self, user: usize) -> f64 {
        let mut direction = vec![1.0; self.traits.dim];
        let mut largest = 0.0;
        for _ in 0..50 {
            let mut image = vec![0.0; direction.len()];
            self.rows(user).for_each(|(row, _)| add_scaled(&mut image, dot(row, &direction) / ROWS as f64, row));
            largest = dot(&image, &image).sqrt();
            image.iter_mut().for_each(|value| *value /= largest);
            direction = image;
        }
        largest
    }

    fn value(&self, x: &[f64]) -> f64 {
        let each = self.features.chunks_exact(self.traits.dim).zip(&self.targets).map(|(row, target)| {
            let z = dot(row, x);
            match self.traits.logistic {
                true => (-(target * z).abs()).exp().ln_1p() + (-target * z).max(0.0),
                false => 0.5 * (z - target) * (z - target),
            }
        });
        each.sum::<f64>() / self.targets.len() as f64 + 0.5 * self.penalty * dot(x, x)
    }

    fn gradient(&self, user: usize, x: &[f64], gradient: &mut [f64]) {
        gradient.iter_mut().zip(x).for_each(|(gradient, x)| *gradient = self.penalty * x);
        for (row, target) in self.rows(user) {
            add_scaled(gradient, self.slope(dot(row, x), target) / ROWS as f64, row);
        }
    }

    fn slope(&self, z: f64, target: f64) -> f64 {
        if self.traits.logistic { -target / (1.0 + (target * z).exp()) } else { z - target }
    }

    /// The smallest value, by Newton's method with conjugate gradients inside.
    fn least(&self) -> f64 {
        let (dim, rows) = (self.traits.dim, self.targets.len() as f64);
        let mut x = vec![0.0; dim];
        for _ in 0..if self.traits.logistic { 12 } else { 2 } {
            let mut left: Vec<f64> = x.iter().map(|x| -self.penalty * x).collect();
            let mut bends = Vec::new();
            for (row, target) in self.features.chunks_exact(dim).zip(&self.targets) {
                let slope = self.slope(dot(row, &x), *target);
                bends.push(if self.traits.logistic { slope.abs() * (1.0 - slope.abs()) } else { 1.0 });
                add_scaled(&mut left, -slope / rows, row);
            }
            let mut direction = left.clone();
            let mut squared = dot(&left, &left);
            let enough = 1e-12 * squared;
            for _ in 0..200 {
                if squared <= enough {
                    break;
                }
                let mut image: Vec<f64> = direction.iter().map(|value| self.penalty * value).collect();
                for (row, bend) in self.features.chunks_exact(dim).zip(&bends) {
                    add_scaled(&mut image, bend * dot(row, &direction) / rows, row);
                }
                let step = squared / dot(&direction, &image);
                add_scaled(&mut x, step, &direction);
                add_scaled(&mut left, -step, &image);
                let before = std::mem::replace(&mut squared, dot(&left, &left));
                direction.iter_mut().zip(&left).for_each(|(d, left)| *d = left + squared / before * *d);
            }
        }
        self.value(&x)
    }
}

/// Box and Muller's.
fn normal(random: &mut Random) -> f64 {
    (-2.0 * (1.0 - random.unit()).ln()).sqrt() * (std::f64::consts::TAU * random.unit()).cos()
}

/// In eight lanes, which the compiler can put into registers.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut lanes = [0.0; 8];
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<8>(), b.as_chunks::<8>());
    for (a, b) in a.iter().zip(b) {
        lanes.iter_mut().zip(a.iter().zip(b)).for_each(|(lane, (a, b))| *lane += a * b);
    }
    lanes.iter().sum::<f64>() + a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum::<f64>()
}

fn add_scaled(y: &mut [f64], factor: f64, x: &[f64]) {
    y.iter_mut().zip(x).for_each(|(y, x)| *y += factor * x);
}
