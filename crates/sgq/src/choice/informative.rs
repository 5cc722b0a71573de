//! The user whose answer tells the most: docs/frugal.md § 10.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Choice, ChoiceError, Chosen, Scene, ScorePart, Scored, Scores, Why};
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

/// Scores, for whoever wants to see why: the same rules as above, without asking anybody.
impl Informative {
    /// The next who was not asked, as [`unasked`](Self::unasked) finds it.
    fn next_unasked(&self, scene: &Scene<'_, Model>) -> Option<usize> {
        let (before, left) = self.order.split_at(self.passed);
        left.iter().chain(before).copied().find(|user| !scene.belief.is_asked(*user) && scene.is_free(*user))
    }

    /// The scores of those who were asked, who may win where the score is worth it. A ranking that was made when the point got where it
    /// is holds until it is used up.
    fn scores_of_asked(
        &self,
        by: Worth,
        scene: &Scene<'_, Model>,
        told: impl Fn(usize) -> Option<(f64, u64)>,
        is_worth: impl Fn(f64) -> bool,
    ) -> Vec<Scored> {
        let told_by = |user: usize| told(user).map(|(told, when)| (when, told, user));
        let all: Vec<(u64, f64, usize)> = scene.belief.asked().filter_map(told_by).collect();
        let listed: Option<BTreeMap<usize, f64>> =
            self.listed(by, scene).map(|listed| listed.iter().map(|(worth, user)| (*user, *worth)).collect());
        // Only a rank by time leaves out those who were asked lately.
        let mut times: Vec<u64> =
            all.iter().filter(|(.., user)| scene.is_free(*user)).map(|(when, ..)| *when).collect();
        let until = match times.len().checked_sub(1) {
            Some(last) if by != Worth::Gain => *times.select_nth_unstable(last / 2).1,
            _ => u64::MAX,
        };
        let scored = |(when, told, user): (u64, f64, usize)| {
            let ranked = listed.as_ref().map(|listed| listed.get(&user).copied());
            let score = ranked.flatten().unwrap_or(told / scene.cost(user));
            let is_in_time = ranked.map_or(when <= until, |worth| worth.is_some());
            let may_win = scene.is_free(user) && is_in_time && is_worth(score);
            Scored { user, score, parts: [score, 0.0], may_win }
        };
        all.into_iter().map(scored).collect()
    }

    /// The ranking, where it still holds.
    fn listed(&self, by: Worth, scene: &Scene<'_, Model>) -> Option<&[(f64, usize)]> {
        let Ranking { by: of, point, users } = &self.next;
        let holds = *of == by && *point == scene.point && users.iter().any(|(_, user)| scene.is_free(*user));
        (scene.belief.answers_per_move() > 1 && holds).then_some(users)
    }

    /// The same with those who were not asked: each tells so many times as much as a user of size 1 would, and the next one may win.
    fn with_unasked(&self, mut scores: Scores, scene: &Scene<'_, Model>, told: f64, next_may_win: bool) -> Scores {
        let (belief, next) = (scene.belief, self.next_unasked(scene));
        let scored = |user: usize| {
            let size = belief.size(user);
            let score = told * (size * size) / scene.cost(user);
            Scored { user, score, parts: [score, 0.0], may_win: next_may_win && next == Some(user) }
        };
        scores.users.extend((0..scene.users).filter(|user| !belief.is_asked(*user)).map(scored));
        scores
    }

    /// As [`by_own`](Self::by_own) chooses.
    fn scores_by_own(&self, own: &Own, scene: &Scene<'_, Model>) -> Option<Scores> {
        let belief = scene.belief;
        let gain = |user| own.gain(user, scene.point).map(|gain| (gain, 0));
        let Some(unasked) = self.next_unasked(scene) else {
            return by_score(RULE, self.scores_of_asked(Worth::Gain, scene, gain, |_| true));
        };
        let told_by_new = own.mean().map_or(0.0, Mean::told_by_new);
        let told = told_by_new * belief.size(unasked).powi(2) / scene.cost(unasked);
        let is_enough =
            |gain: f64| belief.asked().len() >= FRUGAL.reask_error_after && gain > FRUGAL.reask_error_ratio * told;
        let is_worth = |gain: f64| !self.again && (own.cut || is_enough(gain));
        let users = self.scores_of_asked(Worth::Gain, scene, gain, is_worth);
        let somebody_is_asked_again = users.iter().any(|it| it.may_win);
        let scores = Scores { users, ..scores_with(RULE_WITH_NEW) };
        Some(self.with_unasked(scores, scene, FRUGAL.reask_error_ratio * told_by_new, !somebody_is_asked_again))
    }
}

const RULE: &str =
    "The user whose answer would tell the most for each unit of cost is asked, of those who were not asked lately.";
const RULE_WITH_NEW: &str =
    "Users not asked yet come first, the larger the sooner; one is asked again only where that would tell far more.";
const FORCED: &str =
    "One user is asked whatever the scores are: its last answer was set aside, or shows how gradients change.";

const TOLD: &[ScorePart] = &[ScorePart {
    name: "told",
    words: "what its answer would tell of the mean gradient, for each unit of cost; of users not asked yet, as much as must be exceeded \
            for another one to be asked again first",
}];

fn scores_with(rule: &'static str) -> Scores {
    Scores { rule, parts: TOLD, explore: 0.0, users: Vec::new() }
}

/// None where nobody may win: somebody is then asked at random.
fn by_score(rule: &'static str, users: Vec<Scored>) -> Option<Scores> {
    users.iter().any(|it| it.may_win).then(|| Scores { users, ..scores_with(rule) })
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
    fn scores(&self, scene: &Scene<'_, Model>) -> Option<Scores> {
        let belief = scene.belief;
        if self.order.is_empty() {
            // The order is drawn with the first question.
            return None;
        }
        if let Some(own) = belief.own() {
            return self.scores_by_own(own, scene);
        }
        let far = |user| belief.staleness(user, scene.point);
        let probed = belief.lacks_curvature_of().map(|(user, _)| user).filter(|user| scene.is_free(*user));
        if let Some(forced) = probed.or_else(|| belief.set_aside_last().filter(|user| scene.is_free(*user))) {
            let mut users = self.scores_of_asked(Worth::Far, scene, far, |_| true);
            users.iter_mut().for_each(|it| it.may_win = it.user == forced);
            return by_score(FORCED, users);
        }
        let Some(unasked) = self.next_unasked(scene) else {
            let is_by_score = !belief.has_failed();
            return is_by_score.then(|| by_score(RULE, self.scores_of_asked(Worth::Far, scene, far, |_| true)))?;
        };
        let size_squared = |user: usize| belief.size(user) * belief.size(user);
        let asked = belief.asked().len();
        if belief.has_learned_scale() && self.looked_again < FRUGAL.early_looks.min(asked / 2) {
            let users = self.scores_of_asked(Worth::Far, scene, far, |far| far > 0.0);
            return Some(self.with_unasked(Scores { users, ..scores_with(RULE_WITH_NEW) }, scene, 0.0, true));
        }
        let faded = |user| belief.faded(user, scene.point).map(|(part, when)| (size_squared(user) * part, when));
        let enough = FRUGAL.reask_gain_ratio * size_squared(unasked) / scene.cost(unasked);
        let may_ask_again = !self.again && asked >= FRUGAL.reask_after;
        let users = self.scores_of_asked(Worth::Faded, scene, faded, |worth| may_ask_again && worth > enough);
        let scores = Scores { users, ..scores_with(RULE_WITH_NEW) };
        Some(self.with_unasked(scores, scene, FRUGAL.reask_gain_ratio, true))
    }

    fn how(&self) -> &'static str {
        "Users not asked yet come first, the larger the sooner; then the one whose answer would tell the most for each unit of cost."
    }
}
