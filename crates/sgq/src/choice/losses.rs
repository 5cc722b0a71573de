//! Choices by losses, from federated learning. A session asks for gradients, so that losses can only be had in a simulation;
//! those polled are counted apart and not billed, as their authors do not bill them either.

use serde::{Deserialize, Serialize};

use super::{Choice, ChoiceError, Chosen, Needs, Reply, Scene, sampling::draw};
use crate::{Belief, Random, Setting, SettingError, kernel};

/// Power-of-choice (Cho, Wang & Joshi 2020): of some users picked at random, the one with the largest loss.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PowerOfChoice {
    /// By default a tenth of the users, and at least two.
    candidates: Option<usize>,
    order: Vec<usize>,
}

impl PowerOfChoice {
    /// Polls that many users before each choice; by default a tenth, and at least two.
    pub fn new(candidates: Option<usize>) -> Self {
        Self { candidates, order: Vec::new() }
    }
}

impl<B: Belief> Choice<B> for PowerOfChoice {
    fn settings(&mut self) -> Vec<Setting<'_>> {
        let summary = "users polled before each choice; default n/10, at least 2";
        vec![Setting::count("candidates", &mut self.candidates, summary)]
    }

    fn begin(&mut self, users: usize) -> Result<(), SettingError> {
        let candidates = self.candidates.unwrap_or((users / 10).max(2).min(users));
        if candidates > users {
            return Err(SettingError::MoreThanUsers { name: "candidates", value: candidates, users });
        }
        self.candidates = Some(candidates);
        self.order = (0..users).collect();
        Ok(())
    }

    fn needs(&self) -> Needs {
        Needs { losses: true, polls: true, ..Needs::none() }
    }

    fn choose(&mut self, scene: &Scene<'_, B>, random: &mut Random) -> Result<Chosen, ChoiceError> {
        // The first few of a shuffle are a sample without replacement; those who cannot be asked are not polled.
        let count = self.candidates.unwrap_or(1);
        for place in 0..count {
            let other = place + random.index(scene.users - place);
            self.order.swap(place, other);
        }
        let free: Vec<usize> = self.order[..count].iter().copied().filter(|user| scene.is_free(*user)).collect();
        let candidates = if free.is_empty() { vec![scene.any_free(random)?] } else { free };
        let losses: Vec<f64> = candidates.iter().map(|user| scene.loss(*user)).collect::<Result<_, _>>()?;
        let best = kernel::argmax(losses.into_iter()).ok_or(ChoiceError::NoScore)?;
        Ok(Chosen { polled: candidates.len() as u64, ..Chosen::user(candidates[best]) })
    }

    fn how(&self) -> &'static str {
        "Of a few users at random, the one with the largest loss is asked."
    }
}

/// Oort (Lai et al., OSDI 2021), its statistical utility for one user a round: the last loss seen plus a bonus for staleness,
/// `√(0.1 ln t / t_i)` in round `t` for a user last asked in round `t_i`; drawn among those within 5% of the best. With a
/// probability that falls from 0.9 by 2% a round to 0.2 a user that was never asked, while there are some. Durations of
/// rounds and the clipping of utilities are left out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Oort {
    rounds: u64,
    /// The last loss and the round in which it was seen.
    seen: Vec<Option<(f64, u64)>>,
}

impl Oort {
    /// With nobody asked yet.
    pub fn new() -> Self {
        Self::default()
    }

    fn utility(&self, user: usize) -> Option<f64> {
        let (loss, round) = self.seen[user]?;
        let coming = (self.rounds + 1) as f64;
        // The authors take the root of a mean square, which a user's loss alone is only up to its sign.
        Some(loss.abs() + (0.1 * coming.ln() / round as f64).sqrt())
    }
}

impl<B: Belief> Choice<B> for Oort {
    fn begin(&mut self, users: usize) -> Result<(), SettingError> {
        *self = Self { rounds: 0, seen: vec![None; users] };
        Ok(())
    }

    fn needs(&self) -> Needs {
        Needs { losses: true, ..Needs::none() }
    }

    fn choose(&mut self, scene: &Scene<'_, B>, random: &mut Random) -> Result<Chosen, ChoiceError> {
        let explore = (0.9 * 0.98f64.powf(self.rounds as f64)).max(0.2);
        let unseen: Vec<usize> = scene.free().filter(|user| self.seen[*user].is_none()).collect();
        let explored = !unseen.is_empty() && (unseen.len() == scene.count_free() || random.unit() < explore);
        let user = if explored {
            unseen[random.index(unseen.len())]
        } else {
            let utility = |user: usize| match scene.is_free(user) {
                true => self.utility(user).unwrap_or(0.0),
                false => f64::NEG_INFINITY,
            };
            let utilities: Vec<f64> = (0..scene.users).map(utility).collect();
            let best = utilities.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let good = |utility: f64| if utility >= 0.95 * best { utility.max(f64::MIN_POSITIVE) } else { 0.0 };
            let total: f64 = utilities.iter().map(|utility| good(*utility)).sum();
            draw(utilities.iter().map(|utility| good(*utility)), total, random)
        };
        Ok(Chosen { explored: Some(explored), ..Chosen::user(user) })
    }

    fn observe(&mut self, reply: &Reply<'_>, _random: &mut Random) {
        self.rounds += 1;
        self.seen[reply.user] = reply.loss.map(|loss| (loss, self.rounds));
    }

    fn how(&self) -> &'static str {
        "A user is picked at random among those with the largest last loss and a bonus for staleness, or among those not asked yet."
    }
}
