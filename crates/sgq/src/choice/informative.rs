//! The user whose answer tells the most.

use serde::{Deserialize, Serialize};

use super::{Choice, ChoiceError, Chosen, Scene};
use crate::{Random, belief::Model};

/// Asks by what would be learned of the mean gradient, for each unit of cost: those whom nobody has asked yet, the larger
/// the sooner; then the one whose last answer is the farthest from the point, and not among the more recent half.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Informative {
    /// Everybody, in the order of the first time.
    order: Vec<usize>,
    /// How many of them are behind us.
    passed: usize,
}

impl Informative {
    /// Before the first choice.
    pub fn new() -> Self {
        Self::default()
    }

    /// A random order in which a user comes the sooner the larger it is, and the cheaper: a draw without replacement with
    /// chances in proportion to `s_i / √c_i` (Efraimidis & Spirakis 2006).
    fn shuffle(&mut self, scene: &Scene<'_, Model>, random: &mut Random) {
        let chance = |user: usize| scene.belief.size(user) / scene.cost(user).sqrt();
        let mut keys: Vec<(f64, usize)> =
            (0..scene.users).map(|user| (-(1.0 - random.unit()).ln() / chance(user), user)).collect();
        keys.sort_by(|one, other| one.0.total_cmp(&other.0));
        self.order = keys.into_iter().map(|(_, user)| user).collect();
    }

    /// The next who was not asked. One that was set aside is asked again a little later, from a point nearer by.
    fn unasked(&mut self, belief: &Model) -> Option<usize> {
        const LATER: usize = 2;
        while let Some(user) = self.order.get(self.passed).copied() {
            if belief.is_asked(user) {
                self.passed += 1;
                continue;
            }
            if belief.set_aside_last() == Some(user) {
                let end = (self.passed + LATER + 1).min(self.order.len());
                self.order[self.passed..end].rotate_left(1);
            }
            return self.order.get(self.passed).copied();
        }
        None
    }
}

impl Choice<Model> for Informative {
    fn choose(&mut self, scene: &Scene<'_, Model>, random: &mut Random) -> Result<Chosen, ChoiceError> {
        let belief = scene.belief;
        if self.order.is_empty() {
            self.shuffle(scene, random);
        }
        if let Some(user) = belief.wants_probe() {
            return Ok(Chosen::user(user));
        }
        if let Some(user) = self.unasked(belief) {
            return Ok(Chosen::user(user));
        }
        if belief.fallen_back() {
            // The proof is for users at random.
            return Ok(Chosen::user(random.index(scene.users)));
        }
        let stale: Vec<(f64, u64)> = (0..scene.users).filter_map(|user| belief.staleness(user, scene.point)).collect();
        let mut times: Vec<u64> = stale.iter().map(|(_, when)| *when).collect();
        let middle = times.len().checked_sub(1).ok_or(ChoiceError::NoScore)? / 2;
        let median = *times.select_nth_unstable(middle).1;
        let score = |user: usize| {
            let (far, when) = stale[user];
            if when <= median { far / scene.cost(user) } else { -1.0 }
        };
        let best = crate::kernel::argmax((0..stale.len()).map(score));
        best.map(Chosen::user).ok_or(ChoiceError::NoScore)
    }
}
