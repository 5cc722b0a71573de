//! What the record alone says, event by event: who was asked when, and what was paid. No session is needed for it.

use std::collections::{BTreeMap, BTreeSet};

use sgq::Why;
use sgq_ledger::{Kind, Line};

/// One question.
#[derive(Clone, Copy, Debug)]
pub struct Asked {
    pub ticket: u64,
    pub user: u32,
    /// Queries that had been paid for when it was put.
    pub queries: u32,
    pub why: Option<Why>,
    pub outcome: Outcome,
}

/// What became of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Out,
    Answered,
    Late,
    Flagged,
    Failed,
    Withdrawn,
}

impl Outcome {
    /// Every outcome, in the order of their numbers.
    pub const WORDS: [&'static str; 6] = ["out", "answered", "late", "flagged", "failed", "withdrawn"];
}

/// One query that was paid for.
#[derive(Clone, Copy, Debug)]
pub struct Paid {
    pub seq: i64,
    pub at: i64,
    /// What was paid until then, and how many numbers had come.
    pub cost: f64,
    pub numbers: u64,
}

/// What happened with one user.
#[derive(Clone, Debug, Default)]
pub struct OfUser {
    pub asked: u32,
    pub answered: u32,
    /// Queries that had been paid for when it was asked last, and when that was.
    pub last_asked: Option<u32>,
    pub last_at: Option<i64>,
    pub cost: f64,
    pub failures: u32,
    /// Since its last answer.
    pub failures_in_a_row: u32,
    pub refused: u32,
    pub flagged: u32,
    /// Why it failed the last time.
    pub reason: Option<Box<str>>,
}

/// The whole record, as far as it was read.
#[derive(Debug, Default)]
pub struct Book {
    pub seq: i64,
    pub last_event: Option<i64>,
    pub paid: Vec<Paid>,
    /// The numbers that all answers held.
    numbers: u64,
    /// By ticket.
    pub asked: Vec<Asked>,
    pub users: Vec<OfUser>,
    /// When each question that is out was put.
    pub out: BTreeMap<u64, i64>,
    /// Who has failed since its last answer.
    pub failing: BTreeSet<u32>,
}

impl Book {
    /// Before the first event.
    pub fn new(users: usize) -> Self {
        Self { users: vec![OfUser::default(); users], ..Self::default() }
    }

    /// Takes in the next event.
    pub fn take(&mut self, line: Line) {
        let Line { seq, at, kind, ticket, user, words, cost, numbers, why, .. } = line;
        (self.seq, self.last_event) = (seq, Some(at));
        // Answers to what everybody is asked are no queries at a point.
        let is_query = ticket.is_some() && matches!(kind, Kind::Answered | Kind::Late | Kind::Failed);
        if is_query {
            self.numbers += numbers.unwrap_or(0);
        }
        if let (true, Some(cost)) = (is_query, cost) {
            let before = self.paid.last().map_or(0.0, |paid| paid.cost);
            self.paid.push(Paid { seq, at, cost: before + cost, numbers: self.numbers });
        }
        let queries = self.paid.len() as u32;
        let Some((user, of)) = user.and_then(|user| Some((user as u32, self.users.get_mut(user)?))) else { return };
        match kind {
            Kind::Asked => {
                of.asked += 1;
                (of.last_asked, of.last_at) = (Some(queries), Some(at));
            }
            Kind::Answered | Kind::Late => {
                of.answered += 1;
                of.failures_in_a_row = 0;
            }
            Kind::Failed => {
                of.failures += 1;
                of.failures_in_a_row += 1;
                of.reason = words.map(Into::into);
            }
            Kind::Back | Kind::Reported => of.failures_in_a_row = 0,
            Kind::Refused => of.refused += 1,
            Kind::Flagged => of.flagged += 1,
            _ => {}
        }
        if is_query {
            of.cost += cost.unwrap_or(0.0);
        }
        match of.failures_in_a_row {
            0 => drop(self.failing.remove(&user)),
            _ => drop(self.failing.insert(user)),
        }
        let Some(ticket) = ticket else { return };
        if kind == Kind::Asked {
            self.asked.push(Asked { ticket, user, queries, why, outcome: Outcome::Out });
            self.out.insert(ticket, at);
            return;
        }
        let outcome = match kind {
            Kind::Answered => Outcome::Answered,
            Kind::Late => Outcome::Late,
            Kind::Failed => Outcome::Failed,
            Kind::Withdrawn => Outcome::Withdrawn,
            Kind::Flagged => Outcome::Flagged,
            _ => return,
        };
        self.out.remove(&ticket);
        if let Ok(place) = self.asked.binary_search_by_key(&ticket, |asked| asked.ticket) {
            let known = &mut self.asked[place].outcome;
            // What looked odd stays so, whichever of the two events comes first.
            if !(*known == Outcome::Flagged && outcome == Outcome::Answered) {
                *known = outcome;
            }
        }
    }

    /// A question by its ticket.
    pub fn question(&self, ticket: u64) -> Option<&Asked> {
        let place = self.asked.binary_search_by_key(&ticket, |asked| asked.ticket).ok()?;
        self.asked.get(place)
    }
}
