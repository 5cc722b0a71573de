//! The user whose answer tells the most: docs/frugal.md § 10.

use serde::{Deserialize, Serialize};

use super::{Choice, ChoiceError, Chosen, Scene, Why};
use crate::{
    Belief as _, Random,
    belief::{
        Model,
        model::{Mean, Own},
    },
    frugal::FRUGAL,
};

/// Asks by what would be learned of the mean gradient, for each unit of cost: those whom nobody has asked yet, the larger
/// the sooner, unless far more can be learned by asking a large one again; then the one whose last answer is the farthest
/// from the point. Nobody of the more recently asked half is asked again, but for a user whose answer was set aside.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Informative {
    /// Everybody, in the order of the first time.
    order: Vec<usize>,
    /// How many of them are behind us.
    passed: usize,
    /// Whether somebody was asked again the last time, before everybody was asked.
    again: bool,
    /// How often somebody was asked again for the curvature on the way, where no `L_i` are known.
    looked_again: usize,
    /// Those who come next while the point stays where it is.
    next: Ranking,
}

/// The users whom it is worth the most to ask again at a point, with what it is worth. Where many were asked, the point stays for several
/// answers, which change nothing in the order of the others: § 8.5.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Ranking {
    by: Worth,
    point: Vec<f64>,
    /// The best one last.
    users: Vec<(f64, usize)>,
}

/// By what users are ranked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
enum Worth {
    /// How much of an answer has faded: Eq. (39).
    #[default]
    Faded,
    /// How far away the last answer is: Eq. (40).
    Far,
    /// What a Hessian there would tell: Eq. (55).
    Gain,
}

impl Informative {
    /// Before the first choice.
    pub fn new() -> Self {
        Self::default()
    }

    /// A random order in which a user comes the sooner the larger it is, and the cheaper: a draw without replacement with
    /// chances in proportion to `s_i / √c_i`, Eq. (38) (Efraimidis & Spirakis 2006).
    fn shuffle(&mut self, scene: &Scene<'_, Model>, random: &mut Random) {
        let chance = |user: usize| scene.belief.size(user) / scene.cost(user).sqrt();
        let mut keys: Vec<(f64, usize)> =
            (0..scene.users).map(|user| (-(1.0 - random.unit()).ln() / chance(user), user)).collect();
        keys.sort_by(|one, other| one.0.total_cmp(&other.0));
        self.order = keys.into_iter().map(|(_, user)| user).collect();
    }

    /// Where users tell their Hessians: those who were not asked, unless somebody is far more out of date, or the last move was cut
    /// short and it is time to see how far quadratics can be trusted; Eq. (56).
    fn by_own(&mut self, own: &Own, scene: &Scene<'_, Model>, random: &mut Random) -> Result<Chosen, ChoiceError> {
        let belief = scene.belief;
        let gains = |most| {
            let free = belief.asked().filter(|user| scene.is_free(*user));
            best(free.filter_map(|user| own.gain(user, scene.point).map(|gain| (gain / scene.cost(user), user))), most)
        };
        let Some(unasked) = self.unasked(scene) else {
            let again = self.whom_again(Worth::Gain, scene, gains, |_| true);
            return again.map_or_else(|| scene.any_free(random), Ok).map(again_to);
        };
        let told = own.mean().map_or(0.0, Mean::told_by_new) * belief.size(unasked).powi(2) / scene.cost(unasked);
        let is_enough =
            |gain: f64| belief.asked().len() >= FRUGAL.reask_error_after && gain > FRUGAL.reask_error_ratio * told;
        let again = match self.again {
            true => None,
            false => self.whom_again(Worth::Gain, scene, gains, |gain| own.cut || is_enough(gain)),
        };
        self.again = again.is_some();
        Ok(again.map_or_else(|| new(unasked), again_to))
    }

    /// The user whom it is worth the most to ask again, if it is worth that.
    fn whom_again(
        &mut self,
        by: Worth,
        scene: &Scene<'_, Model>,
        best: impl FnOnce(usize) -> Vec<(f64, usize)>,
        is_worth: impl FnOnce(f64) -> bool,
    ) -> Option<usize> {
        let most = scene.belief.answers_per_move();
        if most == 1 {
            return best(1).first().filter(|(worth, _)| is_worth(*worth)).map(|(_, user)| *user);
        }
        let next = &mut self.next;
        while next.users.pop_if(|(_, user)| !scene.is_free(*user)).is_some() {}
        if next.by != by || next.point != scene.point || next.users.is_empty() {
            let mut users = best(most);
            users.reverse();
            *next = Ranking { by, point: scene.point.to_vec(), users };
        }
        next.users.pop_if(|(worth, _)| is_worth(*worth)).map(|(_, user)| user)
    }

    /// The next who was not asked.
    fn unasked(&mut self, scene: &Scene<'_, Model>) -> Option<usize> {
        let belief = scene.belief;
        if belief.all_asked() {
            return None;
        }
        while self.order.get(self.passed).is_some_and(|user| belief.is_asked(*user)) {
            self.passed += 1;
        }
        // Those before may have joined since.
        let (before, left) = self.order.split_at(self.passed);
        left.iter().chain(before).copied().find(|user| !belief.is_asked(*user) && scene.is_free(*user))
    }
}

fn new(user: usize) -> Chosen {
    Chosen::because(user, Why::New)
}

fn again_to(user: usize) -> Chosen {
    Chosen::because(user, Why::Again)
}

/// Who was asked has a score, and when that was: so many of the largest scores for each unit of cost in the less recently asked half, and
/// whose they are.
fn largest(scene: &Scene<'_, Model>, most: usize, score: impl Fn(usize) -> Option<(f64, u64)>) -> Vec<(f64, usize)> {
    let mut scores: Vec<(u64, f64, usize)> = scene
        .belief
        .asked()
        .filter(|user| scene.is_free(*user))
        .filter_map(|user| score(user).map(|(score, when)| (when, score / scene.cost(user), user)))
        .collect();
    let Some(last) = scores.len().checked_sub(1) else {
        return Vec::new();
    };
    scores.select_nth_unstable_by_key(last / 2, |(when, ..)| *when);
    best(scores[..=last / 2].iter().map(|(_, score, user)| (*score, *user)), most)
}

/// So many of the largest scores, the largest first, and whose they are. Ties go to the lowest user.
fn best(scores: impl Iterator<Item = (f64, usize)>, most: usize) -> Vec<(f64, usize)> {
    let by_score = |one: &(f64, usize), other: &(f64, usize)| other.0.total_cmp(&one.0).then(one.1.cmp(&other.1));
    let mut scores: Vec<(f64, usize)> = scores.collect();
    if scores.len() > most {
        scores.select_nth_unstable_by(most, by_score);
        scores.truncate(most);
    }
    scores.sort_unstable_by(by_score);
    scores
}

impl Choice<Model> for Informative {
    fn choose(&mut self, scene: &Scene<'_, Model>, random: &mut Random) -> Result<Chosen, ChoiceError> {
        let belief = scene.belief;
        if self.order.is_empty() {
            self.shuffle(scene, random);
        }
        if let Some(own) = belief.own() {
            return self.by_own(own, scene, random);
        }
        // The update has gone a little way down this user's gradient.
        if let Some((user, _)) = belief.lacks_curvature_of().filter(|(user, _)| scene.is_free(*user)) {
            return Ok(Chosen::because(user, Why::Probe));
        }
        // Where it was too far for this user, it is to say how far it is not.
        if let Some(user) = belief.set_aside_last().filter(|user| scene.is_free(*user)) {
            return Ok(Chosen::because(user, Why::SetAside));
        }
        // Whose last answer may be off by the most: Eq. (40).
        let farthest = |most| largest(scene, most, |user| belief.staleness(user, scene.point));
        let size_squared = |user: usize| belief.size(user) * belief.size(user);
        if let Some(unasked) = self.unasked(scene) {
            let faded = |user| belief.faded(user, scene.point).map(|(part, when)| (size_squared(user) * part, when));
            let enough = FRUGAL.reask_gain_ratio * size_squared(unasked) / scene.cost(unasked);
            let asked = belief.asked().len();
            let looks = belief.has_learned_scale() && self.looked_again < FRUGAL.early_looks.min(asked / 2);
            // Every second time, or those who were not asked might wait for ever.
            let may_ask_again = !self.again && asked >= FRUGAL.reask_after;
            let again = match (looks, may_ask_again) {
                (true, _) => self.whom_again(Worth::Far, scene, farthest, |far| far > 0.0),
                (false, true) => {
                    self.whom_again(Worth::Faded, scene, |most| largest(scene, most, faded), |worth| worth > enough)
                }
                (false, false) => None,
            };
            self.again = again.is_some();
            self.looked_again += usize::from(looks && self.again);
            return Ok(again.map_or_else(|| new(unasked), again_to));
        }
        if belief.has_failed() {
            // The proof is for users at random.
            return Ok(Chosen::user(scene.any_free(random)?));
        }
        match self.whom_again(Worth::Far, scene, farthest, |_| true) {
            Some(user) => Ok(again_to(user)),
            None if scene.all_free() => Err(ChoiceError::NoScore),
            // Who can be asked was never asked, or nobody can be.
            None => Ok(Chosen::user(scene.any_free(random)?)),
        }
    }
}
