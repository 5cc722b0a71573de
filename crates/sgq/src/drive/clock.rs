//! Simulated time: which answer comes next.

use std::{
    cmp::{Ordering, Reverse},
    collections::BinaryHeap,
};

use super::behaviour::{Absence, Behaviour, BehaviourError, Late, Latency, Noise, Slowness};
use crate::{ChoiceError, Oracle, Query, Random, Session, StopReason, Ticket, answer::OwnedAnswer, kernel};

/// After so many departures and returns for each user, with no question out in between, nobody waits any longer.
const VAIN_TURNS_EACH: u64 = 1000;

/// Simulated time, with all that is going to happen: an event clock that [`drive_by`](super::drive_by) follows.
///
/// All chance is from streams of its own: the same seed gives the same latencies, failures, absences and noise, whatever the
/// method draws, and each of these is the same whether or not the others are there.
#[derive(Clone, Debug)]
pub struct Clock {
    behaviour: Behaviour,
    time: f64,
    events: BinaryHeap<Reverse<Event>>,
    /// The last question that was put to a user.
    last: Option<Ticket>,
    /// Each user's slowness; empty where it is 1 for everybody.
    slowness: Vec<f64>,
    /// Whether each user is away at the start; empty where nobody ever is.
    away: Vec<bool>,
    has_begun: bool,
    /// Questions that failed since users were last asked to go on.
    failures: u64,
    /// Questions whose answers will come, or fail.
    waiting: usize,
    /// Departures and returns since a question was out.
    vain_turns: u64,
    /// The standard deviation of the noise in each coordinate, once it is known.
    deviation: Option<f64>,
    latencies: Random,
    fates: Random,
    absences: Random,
    noise: Normal,
}

impl Default for Clock {
    /// Users who take one unit of time each: answers come in the order in which they were asked for.
    fn default() -> Self {
        Self::unchecked(Behaviour::default(), 0, 0)
    }
}

impl Clock {
    /// A clock for so many users; `seed` decides all that is left to chance.
    pub fn new(behaviour: Behaviour, users: usize, seed: u64) -> Result<Self, BehaviourError> {
        behaviour.check(users)?;
        Ok(Self::unchecked(behaviour, users, seed))
    }

    fn unchecked(behaviour: Behaviour, users: usize, seed: u64) -> Self {
        let slowness = match &behaviour.slowness {
            Slowness::Same => Vec::new(),
            Slowness::Spread(spread) => {
                let mut draws = Normal::new(seed, "users' slowness");
                (0..users).map(|_| (spread * draws.draw() - 0.5 * spread * spread).exp()).collect()
            }
            Slowness::Each(each) => each.clone(),
        };
        let mut clock = Self {
            time: 0.0,
            events: BinaryHeap::new(),
            last: None,
            slowness,
            away: Vec::new(),
            has_begun: false,
            failures: 0,
            waiting: 0,
            vain_turns: 0,
            deviation: None,
            latencies: Random::new(seed, "users' latencies"),
            fates: Random::new(seed, "users' failures"),
            absences: Random::new(seed, "users' absences"),
            noise: Normal::new(seed, "users' noise"),
            behaviour,
        };
        if let Some(Absence { part, .. }) = clock.behaviour.absence.filter(|absence| absence.part > 0.0) {
            for user in 0..users {
                // Both times are exponential, so that one under way ends as if it had just begun.
                let is_away = clock.absences.unit() < part;
                clock.away.push(is_away);
                clock.plan_turn(user, is_away);
            }
        }
        clock
    }

    /// The time now.
    pub fn time(&self) -> f64 {
        self.time
    }

    /// Puts the questions that are out already to their users, and sends those away who are away at first.
    pub(super) fn begin(&mut self, session: &mut Session<'_>) -> Result<(), ChoiceError> {
        if !self.has_begun {
            self.has_begun = true;
            let away = self.away.iter().enumerate().filter(|(_, is_away)| **is_away);
            away.map(|(user, _)| user).try_for_each(|user| session.away(user))?;
        }
        let out: Vec<Query> = session.pending().filter(|query| self.is_new(query)).collect();
        out.into_iter().for_each(|query| self.put(query));
        Ok(())
    }

    /// Whether a question was not put to its user yet: where one may be out, it is given again.
    pub(super) fn is_new(&self, query: &Query) -> bool {
        self.last.is_none_or(|last| query.ticket > last)
    }

    /// Puts a question to its user, and decides what will become of it.
    pub(super) fn put(&mut self, query: Query) {
        self.last = Some(query.ticket);
        let latency = self.latency() * self.slowness.get(query.user).copied().unwrap_or(1.0);
        let Behaviour { failure, late, .. } = self.behaviour;
        let fails = failure > 0.0 && self.fates.unit() < failure;
        let late = late.filter(|late| late.part > 0.0 && self.fates.unit() < late.part);
        let fate = match (fails, late) {
            (true, _) => Fate::Fails,
            (false, Some(Late { by, .. })) => Fate::GivenUp { by },
            (false, None) => Fate::Answered,
        };
        self.plan(latency, What::Question(query, fate));
    }

    fn latency(&mut self) -> f64 {
        match self.behaviour.latency {
            Latency::Fixed(time) => time,
            Latency::Exponential(mean) => mean * exponential(&mut self.latencies),
            // The mean of a Pareto distribution of the shape 3/2 is three times its smallest value.
            Latency::HeavyTailed(mean) => mean / 3.0 * (1.0 - self.latencies.unit()).powf(-2.0 / 3.0),
        }
    }

    fn plan(&mut self, after: f64, what: What) {
        self.waiting += usize::from(matches!(what, What::Question(..)));
        self.events.push(Reverse(Event { time: self.time + after, what }));
    }

    /// When a user goes away, or comes back where it is away.
    fn plan_turn(&mut self, user: usize, is_away: bool) {
        if let Some(Absence { part, lasts }) = self.behaviour.absence {
            let mean = if is_away { lasts } else { lasts * (1.0 - part) / part };
            let after = mean * exponential(&mut self.absences);
            self.plan(after, What::Turn { user, returns: is_away });
        }
    }

    /// Lets time pass until an answer is there, and gives its question; `None` where nothing more will come.
    ///
    /// After one event that is no answer there may be somebody to ask: then `Happened::Other`.
    pub(super) fn next(&mut self, session: &mut Session<'_>) -> Result<Option<Happened>, ChoiceError> {
        let stop = session.stop_reason();
        if stop == Some(StopReason::NobodyAnswers) && self.failures > 0 {
            // Users fail at random, and do answer after all.
            self.failures = 0;
            let users = session.meter().billed_per_user().len();
            for user in 0..users {
                if !session.is_away(user) {
                    session.back(user)?;
                }
            }
            return Ok(Some(Happened::Other));
        }
        let is_over = stop.is_some_and(|stop| stop != StopReason::NobodyAnswers);
        while let Some(Reverse(Event { time, what })) = self.events.pop() {
            // After the end of a run, what is out is waited for, and nothing else.
            if is_over && !what.is_out() {
                self.waiting -= usize::from(matches!(what, What::Question(..)));
                continue;
            }
            self.time = time;
            match what {
                What::Turn { user, returns } => {
                    self.vain_turns += u64::from(self.waiting == 0);
                    if self.vain_turns > VAIN_TURNS_EACH * self.away.len() as u64 {
                        return Ok(None);
                    }
                    if returns { session.back(user) } else { session.away(user) }?;
                    self.plan_turn(user, !returns);
                }
                What::Question(query, fate) => {
                    self.waiting -= 1;
                    self.vain_turns = 0;
                    let is_away = session.is_away(query.user);
                    match fate {
                        Fate::Answered if !is_away => return Ok(Some(Happened::Answered(query))),
                        Fate::Late if is_away => {}
                        Fate::Late => return Ok(Some(Happened::Answered(query))),
                        Fate::Answered | Fate::Fails | Fate::GivenUp { .. } => {
                            self.failures += 1;
                            if let Fate::GivenUp { by } = fate {
                                self.plan(by, What::Question(query.clone(), Fate::Late));
                            }
                            return Ok(Some(Happened::Failed(query)));
                        }
                    }
                }
            }
            return Ok(Some(Happened::Other));
        }
        Ok(None)
    }

    /// Adds the noise that there is to an answer.
    pub(super) fn disturb(&mut self, query: &Query, users: &dyn Oracle, answer: &mut OwnedAnswer) {
        let Some(Noise { part, stated }) = self.behaviour.noise.filter(|noise| noise.part > 0.0) else {
            return;
        };
        let deviation = *self.deviation.get_or_insert_with(|| part * typical_coordinate(users, &query.point));
        answer.disturb(|| deviation * self.noise.draw(), stated.then_some(deviation * deviation));
    }
}

/// The root mean square of all coordinates of all users' gradients at a point.
fn typical_coordinate(users: &dyn Oracle, point: &[f64]) -> f64 {
    let mut gradient = vec![0.0; point.len()];
    let mut square = |user| {
        users.gradient(user, point, &mut gradient);
        let length = kernel::norm(&gradient);
        length * length
    };
    let squares: f64 = (0..users.users()).map(&mut square).sum();
    let typical = (squares / (users.users() * point.len()) as f64).sqrt();
    if typical.is_finite() { typical } else { 0.0 }
}

fn exponential(random: &mut Random) -> f64 {
    -(1.0 - random.unit()).ln()
}

/// What a clock says has happened.
pub(super) enum Happened {
    /// The user has answered.
    Answered(Query),
    /// The question is given up.
    Failed(Query),
    /// Something that may let somebody be asked.
    Other,
}

/// What is going to happen, and when.
#[derive(Clone, Debug)]
struct Event {
    time: f64,
    what: What,
}

#[derive(Clone, Debug)]
enum What {
    Turn { user: usize, returns: bool },
    Question(Query, Fate),
}

#[derive(Clone, Copy, Debug)]
enum Fate {
    Answered,
    Fails,
    /// Given up now, and answered later.
    GivenUp {
        by: f64,
    },
    /// The answer to a question that was given up.
    Late,
}

impl What {
    /// Whether a question is out.
    fn is_out(&self) -> bool {
        !matches!(self, Self::Turn { .. } | Self::Question(_, Fate::Late))
    }

    /// Of what happens at the same time, the lowest comes first: departures and returns, then questions in the order asked.
    fn order(&self) -> (bool, u64) {
        match self {
            Self::Turn { user, .. } => (false, *user as u64),
            Self::Question(query, _) => (true, query.ticket.0),
        }
    }
}

impl Ord for Event {
    fn cmp(&self, other: &Self) -> Ordering {
        self.time.total_cmp(&other.time).then_with(|| self.what.order().cmp(&other.what.order()))
    }
}

impl PartialOrd for Event {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Event {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Event {}

/// Standard normal numbers (Marsaglia's polar method).
#[derive(Clone, Debug)]
struct Normal {
    random: Random,
    /// They come in pairs: the second waits here.
    spare: Option<f64>,
}

impl Normal {
    fn new(seed: u64, purpose: &str) -> Self {
        Self { random: Random::new(seed, purpose), spare: None }
    }

    fn draw(&mut self) -> f64 {
        if let Some(spare) = self.spare.take() {
            return spare;
        }
        loop {
            let (u, v) = (2.0 * self.random.unit() - 1.0, 2.0 * self.random.unit() - 1.0);
            let square = u * u + v * v;
            if square > 0.0 && square < 1.0 {
                let factor = (-2.0 * square.ln() / square).sqrt();
                self.spare = Some(v * factor);
                return u * factor;
            }
        }
    }
}

#[cfg(test)]
mod tests;
