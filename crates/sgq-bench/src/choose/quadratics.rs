//! Users who are worked out when they are asked: n×d numbers that are never in memory.

use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;
use sgq::{Oracle, random::derive_seed};

/// Heterogeneous quadratics, `f_i(x) = ½ Σ_j h_ij (x_j − b_ij)²`.
///
/// `h_ij = exp(z/2 + s_j)` and `b_ij = z'`, with `z` and `z'` nearly normal, hashed from the seed, the user and the
/// coordinate. The slope `s_j` falls from 0 to −ln 10 along the coordinates, so that some are slower than others.
#[derive(Clone, Debug)]
pub struct HashedQuadratics {
    users: usize,
    dim: usize,
    seed: u64,
    /// `exp(s_j)` of every coordinate.
    slopes: Vec<f64>,
    /// `exp(z/2)` of every `z` there is.
    spreads: Vec<f64>,
    smoothness: Vec<f64>,
    mean_curvature: Vec<f64>,
    minimiser: Vec<f64>,
}

/// The sum of four random bytes is nearly normal, with this mean, this standard deviation, and this maximum.
const MEAN: f64 = 510.0;
const DEVIATION: f64 = 147.8;
const MAXIMUM: u16 = 1020;

/// Users whose sums are taken together: the same blocks, and so the same bits, on any number of threads.
const BLOCK: usize = 1024;

impl HashedQuadratics {
    /// The problem of a seed; one pass over all users, on all threads, finds its constants. `None` if that was interrupted.
    pub fn new(users: usize, dim: usize, seed: u64, interrupt: &AtomicBool) -> Option<Self> {
        let slope = |j: usize| 10f64.powf(-(j as f64) / (dim.max(2) - 1) as f64);
        let spread = |sum: u16| (0.5 * normal(sum)).exp();
        let mut problem = Self {
            users,
            dim,
            seed,
            slopes: (0..dim).map(slope).collect(),
            spreads: (0..=MAXIMUM).map(spread).collect(),
            smoothness: Vec::new(),
            mean_curvature: vec![0.0; dim],
            minimiser: vec![0.0; dim],
        };
        let blocks = (0..users.div_ceil(BLOCK)).into_par_iter();
        let goes_on = || !interrupt.load(Ordering::Relaxed);
        let blocks: Vec<Block> =
            blocks.map(|block| goes_on().then(|| problem.constants(block))).collect::<Option<_>>()?;
        for block in blocks {
            problem.smoothness.extend(block.smoothness);
            let sums = problem.mean_curvature.iter_mut().zip(&mut problem.minimiser);
            for ((curvature, product), (of_block, product_of_block)) in sums.zip(block.sums) {
                *curvature += of_block;
                *product += product_of_block;
            }
        }
        for (curvature, minimiser) in problem.mean_curvature.iter_mut().zip(&mut problem.minimiser) {
            *minimiser /= *curvature;
            *curvature /= users as f64;
        }
        Some(problem)
    }

    fn constants(&self, block: usize) -> Block {
        let users = block * BLOCK..((block + 1) * BLOCK).min(self.users);
        let mut sums = vec![(0.0, 0.0); self.dim];
        let smoothness = users
            .map(|user| {
                let mut largest: f64 = 0.0;
                for ((curvature, center), (curvatures, products)) in self.coordinates(user).zip(&mut sums) {
                    largest = largest.max(curvature);
                    *curvatures += curvature;
                    *products += curvature * center;
                }
                largest
            })
            .collect();
        Block { smoothness, sums }
    }

    /// `(h_ij, b_ij)` of every coordinate of a user.
    fn coordinates(&self, user: usize) -> impl Iterator<Item = (f64, f64)> {
        let mut state = derive_seed(self.seed, "user", user as u64);
        self.slopes.iter().map(move |slope| {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let [a, b, c, d, e, f, g, h] = mix(state).to_le_bytes().map(u16::from);
            (slope * self.spreads[usize::from(a + b + c + d)], normal(e + f + g + h))
        })
    }

    /// `L_i = max_j h_ij` of every user.
    pub fn smoothness(&self) -> &[f64] {
        &self.smoothness
    }

    /// `f(x) − inf f`.
    pub fn gap(&self, point: &[f64]) -> f64 {
        let terms = self.mean_curvature.iter().zip(&self.minimiser).zip(point);
        terms.map(|((curvature, minimiser), x)| 0.5 * curvature * (x - minimiser).powi(2)).sum()
    }
}

/// The constants of some users, and their sums of `h_ij` and `h_ij b_ij`.
struct Block {
    smoothness: Vec<f64>,
    sums: Vec<(f64, f64)>,
}

fn normal(sum: u16) -> f64 {
    (f64::from(sum) - MEAN) / DEVIATION
}

/// The mixing step of SplitMix64.
fn mix(mut word: u64) -> u64 {
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

impl Oracle for HashedQuadratics {
    fn users(&self) -> usize {
        self.users
    }

    fn dim(&self) -> usize {
        self.dim
    }

    fn gradient(&self, user: usize, point: &[f64], gradient: &mut [f64]) {
        for ((gradient, x), (curvature, center)) in gradient.iter_mut().zip(point).zip(self.coordinates(user)) {
            *gradient = curvature * (x - center);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quadratics(users: usize, dim: usize, seed: u64) -> HashedQuadratics {
        HashedQuadratics::new(users, dim, seed, &AtomicBool::new(false)).unwrap()
    }

    /// Against gradients alone: the constants are those of the functions behind them.
    #[test]
    fn constants_are_those_of_the_gradients() {
        let (users, dim) = (BLOCK + 300, 3);
        let problem = quadratics(users, dim, 5);
        let gradient = |user: usize, point: &[f64]| {
            let mut gradient = vec![0.0; dim];
            problem.gradient(user, point, &mut gradient);
            gradient
        };
        let mut at_minimiser = vec![0.0; dim];
        let mut curvatures = vec![0.0; dim];
        for user in 0..users {
            let (zero, one) = (gradient(user, &[0.0; 3]), gradient(user, &[1.0; 3]));
            let curvature: Vec<f64> = zero.iter().zip(&one).map(|(zero, one)| one - zero).collect();
            let largest = curvature.iter().copied().fold(0.0, f64::max);
            assert!((problem.smoothness()[user] / largest - 1.0).abs() < 1e-12);
            for (sum, value) in at_minimiser.iter_mut().zip(gradient(user, &problem.minimiser)) {
                *sum += value;
            }
            for (sum, value) in curvatures.iter_mut().zip(curvature) {
                *sum += value / users as f64;
            }
        }
        assert!(at_minimiser.iter().all(|sum| sum.abs() < 1e-9), "{at_minimiser:?}");
        let away: Vec<f64> = problem.minimiser.iter().map(|x| x + 2.0).collect();
        assert!((problem.gap(&away) / (2.0 * curvatures.iter().sum::<f64>()) - 1.0).abs() < 1e-12);
        assert_eq!(problem.gap(&problem.minimiser), 0.0);
    }

    #[test]
    fn users_differ_as_normal_numbers_do() {
        let problem = quadratics(1, 100_000, 1);
        let centers: Vec<f64> = problem.coordinates(0).map(|(_, center)| center).collect();
        let count = centers.len() as f64;
        let mean = centers.iter().sum::<f64>() / count;
        let variance = centers.iter().map(|z| (z - mean).powi(2)).sum::<f64>() / count;
        // Five standard errors of a mean and of a variance.
        assert!(mean.abs() < 5.0 / count.sqrt() && (variance - 1.0).abs() < 5.0 * (2.0 / count).sqrt());
        let other = quadratics(2, 3, 1);
        let user = |user: usize| other.coordinates(user).collect::<Vec<_>>();
        assert_ne!(user(0), user(1));
        assert_ne!(user(0), quadratics(1, 3, 2).coordinates(0).collect::<Vec<_>>());
    }
}
