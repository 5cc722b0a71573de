//! The largest score without reading everybody's gradient: bounds first, and rows only where they cannot decide.
//!
//! The user found is the one that a scan of everybody finds, ties included. Every bound holds for the scores as they are
//! computed, rounding included, so that whoever is ruled out cannot have the largest score, or share it.

mod account;
mod anchor;
mod blocks;
mod errors;

use std::{cmp::Ordering, collections::BinaryHeap};

use crate::{LastGradient, score::Scoring};
use account::{Account, Costs};
use anchor::{Anchor, Drift};
use blocks::{BRANCHES, Blocks, Extent, Member};
use errors::{Errors, Reach};

/// Where distances change so fast that they would have to be computed anew within so many steps, that does not pay: the mean
/// error is then computed as a scan does it.
const LASTING: usize = 8;

/// What is kept between two searches. All of it follows from the belief; none of it changes what is found.
///
/// A choice [catches up](Self::catch_up) with the answers since the last one, [searches](Self::search), and says [whom it will
/// ask](Self::will_ask). That user is left out of the sum of errors at once, because its last point is gone when its answer
/// comes; the answer is [noted](Self::observe), and the user put back at its new place when the next choice catches up. Whenever
/// somebody else answered than was expected, the sum is computed anew.
#[derive(Clone, Debug, Default)]
pub(super) struct Lazy {
    anchor: Anchor,
    blocks: Blocks,
    errors: Errors,
    /// How many answers the belief had when all this was up to date.
    answers: u64,
    /// Users who have answered since then.
    answered: Vec<usize>,
    /// Who is about to be asked, and left out of the sum of errors already.
    leaving: Option<usize>,
    account: Account,
    hopefuls: BinaryHeap<Hopeful>,
    finalists: Vec<Finalist>,
}

/// A score, or a bound of it, at the least and at the largest that the mean error can be.
///
/// In between a score is a linear function of the mean error: who is ahead at both ends is ahead everywhere.
#[derive(Clone, Copy, Debug)]
struct Ends([f64; 2]);

impl Ends {
    const LOWEST: Self = Self([f64::NEG_INFINITY; 2]);
    const HIGHEST: Self = Self([f64::INFINITY; 2]);

    fn is_below(self, other: Self) -> bool {
        self.0[0] < other.0[0] && self.0[1] < other.0[1]
    }

    /// The other if it is ahead of this one.
    fn or_higher(self, other: Self) -> Self {
        if self.is_below(other) { other } else { self }
    }
}

/// Somebody, or a block of users, who may have the largest score.
#[derive(Clone, Copy, Debug)]
struct Hopeful {
    ceiling: Ends,
    /// 0 for a member, one more for a block of them, and so on.
    level: usize,
    index: usize,
}

impl Ord for Hopeful {
    /// By the larger end: any order is right, and this one soon finds high scores.
    fn cmp(&self, other: &Self) -> Ordering {
        self.ceiling.0[1].total_cmp(&other.ceiling.0[1])
    }
}

impl PartialOrd for Hopeful {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Hopeful {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Hopeful {}

/// A user whose row was read.
#[derive(Clone, Copy, Debug)]
struct Finalist {
    user: usize,
    inner_product: f64,
    norm: f64,
    error: f64,
}

/// All that a search looks at.
pub(super) struct Situation<'a> {
    pub(super) belief: &'a LastGradient,
    pub(super) point: &'a [f64],
    pub(super) smoothness: &'a [f64],
    /// Whether the update finds its own step size, and the score is what its best step may promise.
    pub(super) own_step: bool,
    pub(super) scoring: Scoring,
}

/// How a search ended.
pub(super) enum Found {
    /// The user with the largest score.
    User(usize),
    /// These users, in no order, are ahead of all others: their exact scores must decide.
    Among(Vec<usize>),
    /// Too many could be the one: everybody must be read.
    Everybody {
        /// Whether the inner products with the present mean are then worth [keeping](Lazy::lay_anchor).
        keep: bool,
    },
}

impl Lazy {
    /// Takes note of an answer.
    pub(super) fn observe(&mut self, user: usize) {
        if self.is_laid() {
            self.answered.push(user);
        }
    }

    /// Starts over from the inner products of everybody's gradient with the present mean.
    pub(super) fn lay_anchor(&mut self, situation: &Situation<'_>, inner_products: &[f64]) {
        let Situation { belief, point, smoothness, .. } = *situation;
        self.anchor = Anchor::new(belief.mean());
        self.errors = Errors::new(belief, smoothness, point);
        let places = belief.points().places();
        let mut members = std::mem::take(&mut self.blocks).into_members();
        members.clear();
        members.extend((0..belief.users()).map(|user| Member {
            user: user as u32,
            inner_product: inner_products[user],
            norm: belief.gradient_norm(user),
            smoothness: smoothness[user],
            distance: self.errors.distance_of(places[user]),
        }));
        self.blocks = Blocks::new(members, &self.anchor, self.weights(situation));
        self.answers = belief.answers();
        self.answered.clear();
        self.leaving = None;
        self.account.open(&Costs::new(situation));
    }

    /// What a unit of inner product, norm and smoothness makes of a score, about.
    fn weights(&self, situation: &Situation<'_>) -> [f64; 3] {
        let Situation { belief, smoothness, point, .. } = *situation;
        let Scoring { step_size, smoothness: constant, bonus_weight, mean_norm } = situation.scoring;
        let users = belief.users() as f64;
        let norm = belief.gradient_norms().iter().sum::<f64>() / users;
        let curvature = step_size * step_size * constant;
        // At the start nobody is away from their point yet, but soon will be.
        let distance = self.errors.at(belief, point).map_or(0.0, |reach| reach.most(None)).max(16.0 * step_size * norm);
        let mean_error = smoothness.iter().sum::<f64>() / users * distance;
        [
            step_size,
            curvature * norm + bonus_weight * (curvature + step_size) * mean_error,
            bonus_weight * distance * (step_size * (mean_norm + mean_error) + curvature * (norm + mean_error)),
        ]
    }

    fn is_laid(&self) -> bool {
        self.blocks.users() > 0
    }

    /// Drops the anchor.
    fn give_up(&mut self) {
        self.account.close();
        self.blocks = Blocks::default();
        self.answered.clear();
        self.leaving = None;
    }

    /// Whoever is chosen will be asked, and its last point be gone: what it adds to the sum of errors is taken out in time.
    pub(super) fn will_ask(&mut self, situation: &Situation<'_>, user: usize) {
        if self.is_laid() {
            self.errors.leave(situation.belief, user, situation.smoothness[user]);
            self.leaving = Some(user);
        }
    }

    /// Takes in all answers since the last choice.
    pub(super) fn catch_up(&mut self, situation: &Situation<'_>) {
        let Situation { belief, smoothness, .. } = *situation;
        if !self.is_laid() {
            return;
        }
        if self.blocks.users() != belief.users() || self.answers + self.answered.len() as u64 != belief.answers() {
            // Answers went by that nobody told of.
            return self.give_up();
        }
        // Somebody else may have been asked, in a sweep or by a choice that overrules this one.
        let expected = self.answered.iter().all(|user| Some(*user) == self.leaving);
        if let Some(user) = self.leaving.take() {
            self.errors.arrive(belief, user, smoothness[user]);
            self.answered.push(user);
        }
        self.errors.age += 1;
        // A refresh reads every distinct point: spread over this many steps it is not felt.
        let patience = 64 + belief.distinct_points() / 4;
        let places = belief.points().places();
        let errors = &self.errors;
        for user in self.answered.drain(..) {
            let inner_product = belief.inner_product(self.anchor.vector(), user);
            self.blocks.change(user, &self.anchor, |member| {
                member.inner_product = inner_product;
                member.norm = belief.gradient_norm(user);
                member.distance = errors.distance_of(places[user]);
            });
        }
        if !expected {
            self.new_errors(situation);
            self.account.spend(Costs::new(situation).refresh_all());
        } else if self.errors.age > patience {
            self.refresh_errors(situation);
            self.account.spend(Costs::new(situation).refresh());
        }
        self.answers = belief.answers();
    }

    /// Brings the errors' anchor to the present point.
    fn refresh_errors(&mut self, situation: &Situation<'_>) {
        let belief = situation.belief;
        if self.errors.crowd_is_gone(belief) {
            return self.new_errors(situation);
        }
        self.errors.refresh(belief, situation.smoothness, situation.point);
        let (errors, places) = (&self.errors, belief.points().places());
        let others = errors.others().iter().map(|user| *user as usize);
        self.blocks.change_distances(others, |user| errors.distance_of(places[user]));
    }

    /// The same from nothing, after changes that nobody told of.
    fn new_errors(&mut self, situation: &Situation<'_>) {
        let belief = situation.belief;
        self.errors = Errors::new(belief, situation.smoothness, situation.point);
        let (errors, places) = (&self.errors, belief.points().places());
        self.blocks.change_distances(0..belief.users(), |user| errors.distance_of(places[user]));
    }

    /// Finds the user with the largest score, once it has [caught up](Self::catch_up). Also returns how many rows it read.
    pub(super) fn search(&mut self, situation: &Situation<'_>) -> (Found, usize) {
        if self.account.rests() {
            return (Found::Everybody { keep: false }, 0);
        }
        let costs = Costs::new(situation);
        let usable = self.is_laid() && !self.account.is_exhausted(&costs);
        let bounds = usable.then(|| Bounds::new(situation, &self.anchor, &self.errors)).flatten();
        if bounds.is_some() && self.account.should_sort(&costs) {
            let members = std::mem::take(&mut self.blocks).into_members();
            self.blocks = Blocks::new(members, &self.anchor, self.weights(situation));
        }
        let (mut found, rows_read) = match bounds {
            Some(bounds) => self.find(situation, bounds, &costs),
            None => (Found::Everybody { keep: true }, 0),
        };
        if let Found::Everybody { keep } = &mut found {
            if self.is_laid() {
                self.give_up();
            }
            *keep &= !self.account.is_resting();
        }
        (found, rows_read)
    }

    fn find(&mut self, situation: &Situation<'_>, mut bounds: Bounds, costs: &Costs) -> (Found, usize) {
        let belief = situation.belief;
        let mut looks = 0;
        // Whoever promises most comes first: it is soon known what score must be reached, and nearly nobody does.
        let mut floor = Ends::LOWEST;
        self.finalists.clear();
        self.hopefuls.clear();
        self.hopefuls.push(Hopeful { ceiling: Ends::HIGHEST, level: self.blocks.levels(), index: 0 });
        loop {
            if self.hopefuls.peek().is_none_or(|first| first.ceiling.0[1] < floor.0[1]) {
                // Nobody is ahead at the upper end any more; seldom anybody at the lower one.
                self.hopefuls.retain(|hopeful| !hopeful.ceiling.is_below(floor));
            }
            let Some(Hopeful { level, index, .. }) = self.hopefuls.pop() else {
                break;
            };
            looks += BRANCHES;
            let hopeful = |ceiling, index| Hopeful { ceiling, level: level - 1, index };
            match level {
                0 => {
                    let finalist = bounds.read(situation, self.blocks.member(index));
                    floor = floor.or_higher(bounds.floor(&finalist));
                    self.finalists.push(finalist);
                    if self.finalists.len() > belief.users() / 4 {
                        self.account.book(costs, looks, 2.0 * costs.search(looks, self.finalists.len()), 0);
                        return (Found::Everybody { keep: true }, self.finalists.len());
                    }
                }
                1 => {
                    let members = self.blocks.open_members(index, &self.anchor);
                    let ceilings = members.map(|(index, member)| hopeful(bounds.of_user(member, &self.anchor), index));
                    self.hopefuls.extend(ceilings.filter(|hopeful| !hopeful.ceiling.is_below(floor)));
                }
                _ => {
                    let blocks = self.blocks.open_blocks(level - 1, index);
                    let ceilings = blocks.map(|(index, extent)| hopeful(bounds.of_block(extent), index));
                    self.hopefuls.extend(ceilings.filter(|hopeful| !hopeful.ceiling.is_below(floor)));
                }
            }
        }
        let rows_read = self.finalists.len();
        if floor.0 == Ends::LOWEST.0 {
            // No score is a number that others can be held against.
            return (Found::Everybody { keep: false }, rows_read);
        }
        bounds.judge(&mut self.finalists);
        let rows_wasted = rows_read - self.finalists.len();
        let mut found = decide(&self.finalists);
        let mut cost = costs.search(looks, rows_read);
        if matches!(found, Found::Among(_)) && self.errors.age > LASTING {
            // Not for want of a row: the mean error is not known well enough.
            self.refresh_errors(situation);
            if let Some(reach) = self.errors.at(belief, situation.point) {
                bounds.reach = reach;
                bounds.judge(&mut self.finalists);
            }
            found = decide(&self.finalists);
            cost += costs.refresh();
        }
        if matches!(found, Found::Among(_)) {
            cost += costs.mean_error();
        }
        self.account.book(costs, looks, cost, rows_wasted);
        (found, rows_read)
    }
}

/// The only one left, or the first of those who do not differ.
fn decide(finalists: &[Finalist]) -> Found {
    let inputs = |finalist: &Finalist| {
        [finalist.inner_product, finalist.norm, finalist.error].map(|number| (number + 0.0).to_bits())
    };
    match finalists {
        [first, rest @ ..] if rest.iter().all(|other| inputs(other) == inputs(first)) => {
            Found::User(finalists.iter().map(|finalist| finalist.user).min().unwrap_or(first.user))
        }
        _ => Found::Among(finalists.iter().map(|finalist| finalist.user).collect()),
    }
}

/// Bounds of scores at one step.
struct Bounds {
    scoring: Scoring,
    drift: Drift,
    reach: Reach,
}

impl Bounds {
    /// `None` where numbers are so large or so small that rounding cannot be kept track of.
    fn new(situation: &Situation<'_>, anchor: &Anchor, errors: &Errors) -> Option<Self> {
        let scoring = situation.scoring;
        let half_square = 0.5 * scoring.step_size * scoring.step_size;
        let comfortable = |number: f64| (1e-280..1e280).contains(&number);
        if !(comfortable(half_square) && comfortable(half_square * scoring.smoothness)) {
            return None;
        }
        let drift = anchor.drift(situation.belief.mean(), scoring.mean_norm);
        Some(Self { scoring, drift, reach: errors.at(situation.belief, situation.point)? })
    }

    /// No score of the block is above this.
    fn of_block(&self, extent: &Extent) -> Ends {
        let [least, largest] = extent.inner_products;
        let inner_product = if self.drift.along >= 0.0 { largest } else { least };
        let inner_product = self.drift.most(inner_product, extent.right_angle, extent.norms[1]);
        let crowd = if extent.crowd { self.reach.most(None) } else { 0.0 };
        let others = if extent.distance.is_some() { self.reach.most(extent.distance) } else { 0.0 };
        self.ends(inner_product, extent.norms, extent.smoothness * crowd.max(others), 1.0)
    }

    /// The user's score is not above this.
    fn of_user(&self, member: &Member, anchor: &Anchor) -> Ends {
        let right_angle = anchor.right_angle(member.inner_product, member.norm);
        let inner_product = self.drift.most(member.inner_product, right_angle, member.norm);
        self.ends(inner_product, [member.norm; 2], member.smoothness * self.reach.most(member.distance), 1.0)
    }

    /// Reads a user's row.
    fn read(&self, situation: &Situation<'_>, member: &Member) -> Finalist {
        let (belief, user) = (situation.belief, member.user as usize);
        let error = match member.distance {
            None => member.smoothness * self.reach.most(None),
            Some(_) => belief.error(user, situation.point, member.smoothness),
        };
        Finalist { user, inner_product: belief.inner_product(belief.mean(), user), norm: member.norm, error }
    }

    /// The user's score is not below this.
    fn floor(&self, finalist: &Finalist) -> Ends {
        self.ends(finalist.inner_product, [finalist.norm; 2], finalist.error, -1.0)
    }

    /// Leaves only those who can have the largest score.
    fn judge(&self, finalists: &mut Vec<Finalist>) {
        let floors = finalists.iter().map(|finalist| self.floor(finalist));
        let floor = floors.fold(Ends::LOWEST, Ends::or_higher);
        finalists.retain(|it| !self.ends(it.inner_product, [it.norm; 2], it.error, 1.0).is_below(floor));
    }

    /// A score at both ends of the mean error, moved up or down by all that rounding can do to it, here and where it is
    /// computed from the equations.
    fn ends(&self, inner_product: f64, [least_norm, norm]: [f64; 2], error: f64, sign: f64) -> Ends {
        let Scoring { step_size, smoothness, bonus_weight, mean_norm } = self.scoring;
        let curvature = step_size * step_size * smoothness;
        let gain = step_size * inner_product;
        let loss = |norm: f64| 0.5 * curvature * norm * norm;
        // The bonus is linear in the mean error.
        let bonus = (step_size * mean_norm + curvature * norm) * error + loss(error);
        let slope = step_size * (norm + error);
        let [least, most] = self.reach.mean_error;
        // The sum of the absolute values of all terms, and what each can lose below the smallest numbers.
        let magnitude = gain.abs() + loss(norm) + bonus_weight * (bonus + slope * most);
        let in_range = magnitude + bonus + slope * most < 1e300;
        if !in_range {
            // It may overflow where it is computed, or not.
            return Ends([f64::NAN; 2]);
        }
        let lost = f64::from_bits(1 << 14) * (1.0 + bonus_weight) * (1.0 + norm + error + most);
        let score = gain - loss(least_norm) + sign * (64.0 * f64::EPSILON * magnitude + lost);
        Ends([least, most].map(|mean_error| score + bonus_weight * (bonus + slope * mean_error)))
    }
}
