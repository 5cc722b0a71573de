//! Open questions: which are out, in which order their answers are used, and who cannot be asked now.

use std::{collections::BTreeMap, sync::Arc};

use serde::{Deserialize, Serialize};

use super::Ticket;
use crate::{Chosen, answer::OwnedAnswer, choice::Purpose};

/// A question that was asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Question {
    pub ticket: Ticket,
    pub chosen: Chosen,
    pub purpose: Purpose,
    /// Where its user's gradient is wanted.
    pub point: Arc<[f64]>,
    /// How far the run was when it was asked.
    pub progress: Progress,
}

/// How far a run is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Progress {
    /// Moves of the point.
    pub steps: u64,
    /// The sum of their step sizes.
    pub travelled: f64,
}

impl Progress {
    /// The step size for an answer that was asked for at an earlier time, where it would be `size` for one asked for now:
    /// delay-adaptive, rule 2 of Wu, Magnússon, Feyzmahdavian & Johansson 2022. With a delay of `τ` steps it is `size / (1 + τ)`,
    /// or 0 where the steps since then and this one would add up to more than `size`.
    pub fn delayed(self, asked: Self, size: f64) -> f64 {
        let delay = self.steps - asked.steps;
        let shorter = size / (1 + delay) as f64;
        let left = size - (self.travelled - asked.travelled);
        // Rounding must not forbid a step that uses up exactly what is left.
        if delay == 0 || shorter <= left * (1.0 + 1e-9) { shorter } else { 0.0 }
    }
}

/// What became of a question.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum Outcome {
    Open,
    /// With the fingerprint of the answer.
    Answered(u64),
    Failed {
        /// Whether it was paid for all the same.
        billed: bool,
    },
}

/// All questions of a session.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Questions {
    /// Those that are out, in the order in which they were asked.
    pub open: Vec<Question>,
    /// Those that failed, in case that an answer comes all the same.
    pub failed: Vec<Question>,
    /// What became of each, by ticket.
    outcomes: Vec<Outcome>,
}

impl Questions {
    /// Puts a question.
    pub fn put(&mut self, chosen: Chosen, purpose: Purpose, point: Arc<[f64]>, progress: Progress) -> &Question {
        let ticket = self.next_ticket();
        self.outcomes.push(Outcome::Open);
        self.open.push(Question { ticket, chosen, purpose, point, progress });
        &self.open[self.open.len() - 1]
    }

    pub fn next_ticket(&self) -> Ticket {
        Ticket(self.outcomes.len() as u64)
    }

    pub fn outcome(&self, ticket: Ticket) -> Option<Outcome> {
        usize::try_from(ticket.0).ok().and_then(|number| self.outcomes.get(number).copied())
    }

    pub fn with_ticket(&self, ticket: Ticket) -> Option<&Question> {
        self.open.iter().chain(&self.failed).find(|question| question.ticket == ticket)
    }

    /// Notes what became of a question, and gives it back.
    pub fn close(&mut self, ticket: Ticket, outcome: Outcome) -> Option<Question> {
        let of = |questions: &[Question]| questions.iter().position(|question| question.ticket == ticket);
        let question = match (of(&self.open), of(&self.failed)) {
            (Some(place), _) => self.open.remove(place),
            (None, Some(place)) => self.failed.remove(place),
            (None, None) => return None,
        };
        self.outcomes[ticket.0 as usize] = outcome;
        if matches!(outcome, Outcome::Failed { .. }) {
            self.failed.push(question.clone());
        }
        Some(question)
    }

    /// An answer to a question that was never put.
    pub fn note_unasked(&mut self, fingerprint: u64) {
        self.outcomes.push(Outcome::Answered(fingerprint));
    }
}

/// A round in which everybody is asked at one point, and its answers are used in the order of the users, whenever they come.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Sweep {
    /// The next user to be asked for the first time.
    pub next: Option<usize>,
    /// Those who failed, to be asked again.
    pub again: Vec<usize>,
    /// Answers that came before those of earlier users.
    pub held: Vec<(Question, OwnedAnswer)>,
}

impl Sweep {
    pub fn from(user: usize) -> Self {
        Self { next: Some(user), ..Self::default() }
    }

    /// Whether an answer of a user can be used: nobody before it is still to answer.
    pub fn is_next(&self, user: usize, open: &[Question]) -> bool {
        let waits = |other: usize| other < user;
        !open.iter().any(|question| question.purpose.is_sweep() && waits(question.chosen.user))
            && !self.again.iter().any(|other| waits(*other))
            && !self.held.iter().any(|(question, _)| waits(question.chosen.user))
    }

    /// Whether everybody has answered and every answer is used.
    pub fn is_over(&self, open: &[Question]) -> bool {
        self.next.is_none()
            && self.again.is_empty()
            && self.held.is_empty()
            && !open.iter().any(|question| question.purpose.is_sweep())
    }

    /// The first answer on hold that can be used now.
    pub fn release(&mut self, open: &[Question]) -> Option<(Question, OwnedAnswer)> {
        let first = (0..self.held.len()).min_by_key(|place| self.held[*place].0.chosen.user)?;
        let (question, answer) = self.held.swap_remove(first);
        if self.is_next(question.chosen.user, open) {
            return Some((question, answer));
        }
        self.held.push((question, answer));
        None
    }
}

/// After so many failures for each user in a row, with no answer of anybody in between, nobody is asked any more.
const FAILURES_EACH: u64 = 3;
/// A user that failed again and again waits for at most `2^this` answers or failures of others.
const LONGEST_WAIT: u32 = 10;

/// Who cannot be asked now.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Absence {
    /// Answers and failures so far: what a user that failed waits for.
    events: u64,
    failures_in_a_row: u64,
    of: BTreeMap<usize, Absent>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Absent {
    away: bool,
    /// Failures since its last answer.
    failures: u32,
    /// It is not asked before so many events.
    until: u64,
}

impl Absence {
    pub fn answered(&mut self, user: usize) {
        self.events += 1;
        self.failures_in_a_row = 0;
        if let Some(absent) = self.of.get_mut(&user) {
            absent.failures = 0;
            absent.until = 0;
            if !absent.away {
                self.of.remove(&user);
            }
        }
    }

    /// A user that fails for the first time is asked again after the next answer or failure of anybody; then the wait doubles.
    pub fn failed(&mut self, user: usize) {
        self.events += 1;
        self.failures_in_a_row += 1;
        let absent = self.of.entry(user).or_default();
        absent.until = self.events + (1 << absent.failures.min(LONGEST_WAIT));
        absent.failures += 1;
    }

    pub fn set_away(&mut self, user: usize, away: bool) {
        match away {
            true => self.of.entry(user).or_default().away = true,
            // Who is back can be asked at once, whatever failed before.
            false => {
                self.of.remove(&user);
                self.failures_in_a_row = 0;
            }
        }
    }

    pub fn is_away(&self, user: usize) -> bool {
        self.of.get(&user).is_some_and(|absent| absent.away)
    }

    pub fn cannot_be_asked(&self) -> impl Iterator<Item = usize> {
        self.of.keys().copied().filter(|user| !self.can_be_asked(*user))
    }

    pub fn can_be_asked(&self, user: usize) -> bool {
        self.of.get(&user).is_none_or(|absent| !absent.away && absent.until <= self.events)
    }

    /// Lets those who failed be asked again at once, those who are away apart; returns whether somebody waited.
    pub fn forgive(&mut self) -> bool {
        let waiting = self.of.values_mut().filter(|absent| !absent.away && absent.until > self.events);
        waiting.map(|absent| absent.until = 0).count() > 0
    }

    /// Whether everybody who was asked since the last answer failed, again and again.
    pub fn nobody_answers(&self) -> bool {
        let failing = self.of.values().filter(|absent| absent.failures > 0).count() as u64;
        self.failures_in_a_row >= FAILURES_EACH * failing.max(1)
    }

    pub fn is_empty(&self) -> bool {
        self.of.is_empty()
    }
}
