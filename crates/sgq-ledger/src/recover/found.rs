//! What was found in the pages of a damaged ledger.

use std::collections::{BTreeMap, BTreeSet};

use sgq::Why;

use super::{
    pages::Pages,
    rows::{Row, Value, rows},
};
use crate::{
    Event, Kind, Privacy, Reply, Report, User,
    event::from_bytes,
    record::{Asked, FACTS, Facts, STUDY, begun_in_copy, detail},
    seal::{Details, Hash, checksum, seal},
};

/// The numbers of columns of the tables, by which rows are told apart: those of `ledger` and `copies`, `users`, `questions`,
/// `events` of the first layout, `events`, `answers`.
const TABLES: [usize; 6] = [2, 5, 7, 9, 10, 13];

/// Rows that are what was written; events may be anything yet.
#[derive(Default)]
pub(super) struct Found {
    copy: Option<Facts>,
    /// What a study began with, as JSON.
    begun: Option<String>,
    texts: BTreeMap<String, String>,
    users: BTreeMap<i64, User>,
    questions: BTreeMap<u64, (i64, Asked, Hash)>,
    answers: BTreeMap<i64, (u64, usize, Reply, Hash)>,
    /// Of every number: pages may be there in several versions.
    events: BTreeMap<i64, Vec<Event>>,
    /// The tickets of questions, by the numbers of their events.
    asked: BTreeMap<i64, u64>,
}

impl Found {
    pub fn search(pages: &mut Pages) -> Self {
        let mut found = Self::default();
        pages.each(|pages, page| {
            rows(pages, page, &TABLES, |row| {
                let _ = found.take(row);
            })
        });
        found.asked = found.questions.iter().map(|(ticket, (seq, ..))| (*seq, *ticket)).collect();
        found
    }

    fn take(&mut self, row: Row) -> Option<()> {
        let Row { id, columns } = row;
        match columns.as_slice() {
            [Value::Text(name), Value::Text(value)] if name == "facts" => {
                let facts: Facts = serde_json::from_str(value).ok()?;
                if facts.are_intact() {
                    self.copy = Some(facts);
                }
            }
            [Value::Text(name), Value::Text(value)] => {
                if let Some(begun) = begun_in_copy(name, value) {
                    self.begun = Some(begun.to_owned());
                }
                self.texts.insert(name.clone(), value.clone());
            }
            [Value::Null, Value::Text(name), cost, weight, smoothness] => {
                let [cost, weight, smoothness] = [cost, weight, smoothness].map(Value::real);
                self.users.insert(id, User { cost, weight, smoothness, ..User::named(name) });
            }
            [Value::Null, seq, user, why, wants, point, written] => {
                let (ticket, seq, user) = (id as u64, seq.integer()?, usize::try_from(user.integer()?).ok()?);
                let why = Why::ALL.into_iter().find(|it| Some(it.word()) == why.text())?;
                let (wants, point) = (detail(wants.text()?)?, from_bytes(point.blob()?)?);
                let sum = checksum(seq, ticket, user, Details::Question { why, wants, point: &point })?;
                if written.blob() == Some(&sum) {
                    self.questions.insert(ticket, (seq, Asked { user, why, wants, point }, sum));
                }
            }
            [Value::Null, at, kind, ticket, user, words, cost, numbers, seal, about @ ..] if about.len() < 2 => {
                let kind = Kind::ALL.into_iter().find(|it| Some(it.word()) == kind.text())?;
                let event = Event {
                    seq: id,
                    at: at.integer()?,
                    ticket: ticket.integer().map(|it| it as u64),
                    user: user.integer().map(|it| it as usize),
                    words: words.text().map(str::to_owned),
                    cost: cost.real(),
                    numbers: numbers.integer().map(|it| it as u64),
                    about: about.first().and_then(Value::integer),
                    seal: seal.blob()?.to_vec(),
                    ..Event::now(kind)
                };
                let same = self.events.entry(id).or_default();
                if !same.contains(&event) {
                    same.push(event);
                }
            }
            [
                Value::Null,
                ticket,
                user,
                loss,
                weight,
                cost,
                sensitivity,
                noise,
                _,
                gradient,
                hessian,
                variance,
                written,
            ] => {
                let (ticket, user) = (ticket.integer()? as u64, usize::try_from(user.integer()?).ok()?);
                let privacy = sensitivity.real().zip(noise.real());
                let reply = Reply {
                    gradient: from_bytes(gradient.blob()?)?,
                    loss: loss.real(),
                    hessian: hessian.blob().and_then(from_bytes),
                    variance: variance.blob().and_then(from_bytes),
                    weight: weight.real(),
                    cost: cost.real(),
                    privacy: privacy.map(|(sensitivity, noise)| Privacy { sensitivity, noise }),
                };
                let sum = checksum(id, ticket, user, Details::Answer(&reply))?;
                if written.blob() == Some(&sum) {
                    self.answers.insert(id, (ticket, user, reply, sum));
                }
            }
            _ => {}
        }
        Some(())
    }

    /// Whether the settings are there, and how many rows.
    pub fn completeness(&self) -> (bool, usize) {
        (self.facts().is_some(), self.questions.len() + self.answers.len() + self.events.len())
    }

    /// The method, the settings and the users, from one of the two places that have them.
    pub fn facts(&self) -> Option<Facts> {
        let text = |name: &str| self.texts.get(name).cloned();
        let of_tables = || {
            let facts = Facts {
                created: text(FACTS[0])?,
                method: text(FACTS[1])?,
                settings: text(FACTS[2])?,
                protection: text(FACTS[3])?,
                study: text(STUDY),
                users: self.users.values().cloned().collect(),
                seal: text("seal")?,
            };
            facts.are_intact().then_some(facts)
        };
        self.copy.clone().or_else(of_tables)
    }

    /// What a study began with, from one of the two places that have it.
    pub fn begun(&self, first: &[u8]) -> Option<String> {
        let in_event = || self.intact_events(first).into_values().find(|event| event.kind == Kind::Begun)?.words;
        self.begun.clone().or_else(in_event)
    }

    /// The events that follow by their seal on the one before.
    pub fn intact_events(&self, first: &[u8]) -> BTreeMap<i64, Event> {
        let before = |seq: i64| -> Vec<&[u8]> {
            match seq {
                1 => vec![first],
                _ => self.events.get(&(seq - 1)).into_iter().flatten().map(|event| &*event.seal).collect(),
            }
        };
        let is_intact = |event: &&Event| {
            let sum = match event.kind {
                Kind::Asked => self.asked.get(&event.seq).and_then(|it| self.questions.get(it)).map(|it| &it.2),
                Kind::Held | Kind::Answered | Kind::Late => self.answers.get(&event.seq).map(|it| &it.3),
                _ => None,
            };
            // A report says by itself that it is what was written.
            let is_report = || {
                let ticket = event.ticket.filter(|_| event.kind == Kind::Reported);
                ticket
                    .zip(event.words.as_deref())
                    .is_some_and(|(ticket, words)| Report::from_words(ticket, words).is_some())
            };
            before(event.seq).into_iter().any(|before| seal(before, event, sum) == event.seal) || is_report()
        };
        let intact = |(seq, same): (&i64, &Vec<Event>)| same.iter().find(is_intact).map(|event| (*seq, event.clone()));
        self.events.iter().filter_map(intact).collect()
    }

    /// The numbers of all events of which there is something, in order.
    pub fn numbers(&self, intact: &BTreeMap<i64, Event>) -> BTreeSet<i64> {
        self.asked.keys().chain(self.answers.keys()).chain(intact.keys()).copied().collect()
    }

    pub fn question(&self, seq: i64) -> Option<(u64, &Asked)> {
        let ticket = *self.asked.get(&seq)?;
        self.asked(ticket).map(|asked| (ticket, asked))
    }

    pub fn asked(&self, ticket: u64) -> Option<&Asked> {
        self.questions.get(&ticket).map(|it| &it.1)
    }

    pub fn answer(&self, seq: i64) -> Option<(u64, usize, &Reply)> {
        self.answers.get(&seq).map(|(ticket, user, reply, _)| (*ticket, *user, reply))
    }

    /// Tickets of questions that are there, and of which an event says that they were answered.
    pub fn lost_answers(&self) -> Vec<u64> {
        let came: BTreeSet<u64> = self.answers.values().map(|it| it.0).collect();
        let answered = self.events.values().flatten().filter(|event| matches!(event.kind, Kind::Answered | Kind::Late));
        let tickets: BTreeSet<u64> = answered.filter_map(|event| event.ticket).collect();
        tickets.into_iter().filter(|it| self.questions.contains_key(it) && !came.contains(it)).collect()
    }

    pub fn next_ticket(&self) -> u64 {
        let answered = self.answers.values().map(|it| it.0);
        self.questions.keys().copied().chain(answered).max().map_or(0, |last| last + 1)
    }
}
