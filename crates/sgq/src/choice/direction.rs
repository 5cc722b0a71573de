//! Choices by the direction of the users' gradients: GPFL and GraB.

use serde::{Deserialize, Serialize};

use super::{Choice, ChoiceError, Chosen, Order, Purpose, Reply, Scene, ScorePart, Scored, Scores};
use crate::{Belief, LastGradient, Random, SettingError, kernel};

/// GPFL (Na, Liang & Yiu 2024) for one user a round: the user whose last gradient projects farthest on the global direction,
/// with a confidence bound, `c_i + √(2 ln t / n_i)`, `c_i` scaled to `[0, 1]` over the users and `n_i` how often it was asked.
/// The global direction is the answers' with momentum 0.9.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Projection {
    asked: Vec<u64>,
    direction: Vec<f64>,
}

impl Projection {
    /// With nobody asked yet.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Choice<LastGradient> for Projection {
    fn order(&self) -> Order {
        Order::ByScore
    }

    fn begin(&mut self, users: usize) -> Result<(), SettingError> {
        self.asked = vec![0; users];
        Ok(())
    }

    fn choose(&mut self, scene: &Scene<'_, LastGradient>, _random: &mut Random) -> Result<Chosen, ChoiceError> {
        let parts = self.parts(scene);
        Ok(Chosen::user(scene.best_free(parts.iter().map(|[projection, bound]| projection + bound))?))
    }

    fn scores(&self, scene: &Scene<'_, LastGradient>) -> Option<Scores> {
        let scored = |(user, parts): (usize, [f64; 2])| Scored {
            user,
            score: parts[0] + parts[1],
            parts,
            may_win: scene.is_free(user),
        };
        Some(Scores {
            rule: "The user with the largest score is asked.",
            parts: &[
                ScorePart {
                    name: "projection",
                    words: "how far the last gradient points along the global direction, from 0 to 1",
                },
                ScorePart { name: "bound", words: "a confidence bound, the larger the less often the user was asked" },
            ],
            explore: 0.0,
            users: self.parts(scene).into_iter().enumerate().map(scored).collect(),
        })
    }

    fn how(&self) -> &'static str {
        "The user whose last gradient points the farthest along the global direction is asked, with a bonus for being asked rarely."
    }

    fn observe(&mut self, reply: &Reply<'_>, _random: &mut Random) {
        const MOMENTUM: f64 = 0.9;
        self.asked[reply.user] += 1;
        self.direction.resize(reply.gradient.len(), 0.0);
        for (direction, gradient) in self.direction.iter_mut().zip(reply.gradient) {
            *direction = MOMENTUM * *direction + gradient;
        }
    }
}

impl Projection {
    /// The projection of each user's last gradient, from 0 to 1, and its confidence bound.
    fn parts(&self, scene: &Scene<'_, LastGradient>) -> Vec<[f64; 2]> {
        let length = kernel::norm(&self.direction);
        let project = |user: usize| match length {
            // Every answer was zero: nobody is ahead.
            0.0 => 0.0,
            length => scene.belief.inner_product(&self.direction, user) / length,
        };
        let projections: Vec<f64> = (0..scene.users).map(project).collect();
        let least = projections.iter().copied().fold(f64::INFINITY, f64::min);
        let most = projections.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let rounds: u64 = self.asked.iter().sum();
        let bound = |user: usize| match self.asked[user] {
            // Nothing bounds what a user who was never asked may be worth.
            0 => f64::INFINITY,
            asked => (2.0 * (rounds as f64).ln() / asked as f64).sqrt(),
        };
        let spread = if most > least { most - least } else { 1.0 };
        (0..scene.users).map(|user| [(projections[user] - least) / spread, bound(user)]).collect()
    }
}

/// GraB (Lu, Guo & De Sa 2022): every user once in each epoch, in an order in which the gradients of the last epoch balance.
///
/// Along an epoch the centered gradients get signs that keep their signed sum short. Users with a plus come first in the next
/// epoch, in their order; those with a minus last, in reverse. The first order is random.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Balanced {
    order: Vec<usize>,
    /// Who has answered in this epoch, and how many they are.
    answered: Vec<bool>,
    answers: usize,
    shuffled: bool,
    plus: Vec<usize>,
    minus: Vec<usize>,
    signed_sum: Vec<f64>,
    /// The mean gradient of the last epoch, and the sum of this one's.
    mean: Vec<f64>,
    sum: Vec<f64>,
}

impl Balanced {
    /// An order that the session gives its length.
    pub fn new() -> Self {
        Self::default()
    }
}

impl<B: Belief> Choice<B> for Balanced {
    fn begin(&mut self, users: usize) -> Result<(), SettingError> {
        *self = Self { order: (0..users).collect(), answered: vec![false; users], ..Self::default() };
        Ok(())
    }

    /// An epoch ends when everybody has answered.
    fn lets_users_go(&self) -> bool {
        false
    }

    fn choose(&mut self, scene: &Scene<'_, B>, random: &mut Random) -> Result<Chosen, ChoiceError> {
        if !self.shuffled {
            random.shuffle(&mut self.order);
            self.shuffled = true;
        }
        // An epoch ends with its last answer: the next order is not known before.
        let next = self.order.iter().find(|user| !self.answered[**user] && scene.is_free(**user));
        next.map(|user| Chosen::user(*user)).ok_or(ChoiceError::AnswersFirst)
    }

    fn observe(&mut self, reply: &Reply<'_>, _random: &mut Random) {
        // A late answer may be a user's second one in this epoch.
        if reply.purpose != Purpose::Step || self.answered[reply.user] {
            return;
        }
        let dim = reply.gradient.len();
        for sums in [&mut self.mean, &mut self.sum, &mut self.signed_sum] {
            sums.resize(dim, 0.0);
        }
        let centered: Vec<f64> =
            reply.gradient.iter().zip(&self.mean).map(|(gradient, mean)| gradient - mean).collect();
        // ‖s + c‖ ≤ ‖s − c‖ where the two point apart.
        let sign = if kernel::dot(&self.signed_sum, &centered) <= 0.0 { 1.0 } else { -1.0 };
        kernel::add_scaled(&mut self.signed_sum, sign, &centered);
        if sign > 0.0 { &mut self.plus } else { &mut self.minus }.push(reply.user);
        kernel::add_scaled(&mut self.sum, 1.0, reply.gradient);
        self.answered[reply.user] = true;
        self.answers += 1;
        if self.answers == self.order.len() {
            self.order.clear();
            self.order.append(&mut self.plus);
            self.order.extend(self.minus.drain(..).rev());
            self.answers = 0;
            self.answered.fill(false);
            let users = self.order.len() as f64;
            self.mean = self.sum.iter().map(|sum| sum / users).collect();
            self.sum.fill(0.0);
            self.signed_sum.fill(0.0);
        }
    }

    fn how(&self) -> &'static str {
        "Every user is asked once an epoch, in an order in which the last epoch's gradients balance."
    }
}
