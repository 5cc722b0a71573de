//! Choices at random, but not all users alike; each answer then counts by how likely it was.

use serde::{Deserialize, Serialize};

use super::{Choice, ChoiceError, Chosen, Needs, Order, Purpose, Reply, Scene};
use crate::{Belief, Random, Setting, SettingError, kernel, setting::Range};

/// Users with probability proportional to their smoothness `L_i`, and weights `1 / (n p_i)` (Needell, Srebro & Ward 2014;
/// Zhao & Zhang 2015).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BySmoothness;

impl<B: Belief> Choice<B> for BySmoothness {
    fn needs(&self) -> Needs {
        Needs { smoothness: true, ..Needs::none() }
    }

    fn order(&self) -> Order {
        Order::BySmoothness
    }

    fn choose(&mut self, scene: &Scene<'_, B>, random: &mut Random) -> Result<Chosen, ChoiceError> {
        let smoothness = scene.smoothness()?;
        // An affine user, whose L_i is 0, must be asked too: as often as an average one.
        let share = |(user, each): (usize, &f64)| match *each {
            _ if !scene.is_free(user) => 0.0,
            each if each > 0.0 => each,
            _ => smoothness.mean(),
        };
        let shares = || smoothness.each().iter().enumerate().map(share);
        let total: f64 = shares().sum();
        let user = draw(shares(), total, random);
        let weight = total / (scene.count_free() as f64 * share((user, &smoothness.each()[user])));
        Ok(Chosen { weight, ..Chosen::user(user) })
    }

    fn how(&self) -> &'static str {
        "A user is picked at random, with a chance in proportion to its smoothness L_i."
    }
}

/// Stochastic reweighted gradient (El Hanchi, Stephens & Maddison 2022): with probability `mixture` a user at random, else in
/// proportion to the norms of the gradients on record; weights `1 / (n p_i)`.
///
/// A norm is put on record with probability `mixture / (n p_i)`, so that every user's is renewed equally often. Nothing is
/// asked before the first step: while nobody is on record everybody is alike.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ByNorm {
    mixture: f64,
    /// Whether norms are divided by the root of what a query costs.
    cost_aware: bool,
    norms: Vec<f64>,
    /// With which each user was last chosen.
    probabilities: Vec<f64>,
}

impl ByNorm {
    /// The authors have a mixture of ½.
    pub fn new(mixture: f64) -> Self {
        Self { mixture, cost_aware: false, norms: Vec::new(), probabilities: Vec::new() }
    }

    /// Weighs what queries cost, as HeteRSGD does (Chen et al. 2023): in proportion to `‖∇f_i‖ / √cost_i`, which makes the
    /// product of cost and variance least.
    pub fn cost_aware(mut self, cost_aware: bool) -> Self {
        self.cost_aware = cost_aware;
        self
    }
}

impl<B: Belief> Choice<B> for ByNorm {
    fn settings(&mut self) -> Vec<Setting<'_>> {
        let Self { mixture, cost_aware, .. } = self;
        vec![
            Setting::number("mixture", mixture, Range::above(0.0, 1.0), "the part of uniform choices, in (0, 1]"),
            Setting::switch("cost_aware", cost_aware, "true: norms over the root of what a query costs"),
        ]
    }

    fn begin(&mut self, users: usize) -> Result<(), SettingError> {
        self.norms = vec![0.0; users];
        self.probabilities = vec![1.0; users];
        Ok(())
    }

    fn choose(&mut self, scene: &Scene<'_, B>, random: &mut Random) -> Result<Chosen, ChoiceError> {
        let uniform = 1.0 / scene.count_free() as f64;
        let share = |user: usize| match self.cost_aware {
            _ if !scene.is_free(user) => 0.0,
            true => self.norms[user] / scene.cost(user).sqrt(),
            false => self.norms[user],
        };
        let shares: Vec<f64> = (0..scene.users).map(share).collect();
        let total = kernel::sum(&shares);
        let at_random = random.unit() < self.mixture;
        let known = total > 0.0 && total.is_finite();
        let user = match at_random || !known {
            true => scene.any_free(random)?,
            false => draw(shares.iter().copied(), total, random),
        };
        let probability = match known {
            true => (1.0 - self.mixture) * shares[user] / total + self.mixture * uniform,
            false => uniform,
        };
        self.probabilities[user] = probability;
        Ok(Chosen { weight: uniform / probability, ..Chosen::user(user) })
    }

    fn observe(&mut self, reply: &Reply<'_>, random: &mut Random) {
        let keep = self.mixture / (self.norms.len() as f64 * self.probabilities[reply.user]);
        if reply.purpose != Purpose::Step || random.unit() < keep {
            self.norms[reply.user] = kernel::norm(reply.gradient);
        }
    }

    fn how(&self) -> &'static str {
        "A user is picked at random; now and then with equal chances, and else in proportion to the norm of its last gradient."
    }
}

/// A position with probability in proportion to its weight; the weights add up to `total`.
pub(super) fn draw(weights: impl Iterator<Item = f64>, total: f64, random: &mut Random) -> usize {
    let mut left = random.unit() * total;
    let mut last = 0;
    for (position, weight) in weights.enumerate() {
        // Rounding may leave a little at the end: it goes to the last one that can be drawn at all.
        if weight > 0.0 {
            last = position;
            if left < weight {
                return position;
            }
            left -= weight;
        }
    }
    last
}
