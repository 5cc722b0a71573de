//! Saving what is intact of a damaged ledger.
//!
//! Every question and every answer has a checksum of its own, so that the rows are looked for page by page, without trust in the
//! trees that SQLite finds them by. What is found becomes a new ledger, and its session is made anew from all answers.

mod found;
mod pages;
mod rows;

use std::{collections::BTreeSet, fs::File, io, path::Path};

use rusqlite::Connection;
use serde::Serialize;

use self::{found::Found, pages::Pages};
use crate::{
    Event, Kind, LedgerError, event,
    lock::Lock,
    record::{Facts, Header, append, copy_begun, hex},
    restore::restore,
    schema::{self, PAGE_SIZES},
    seal::Details,
};

/// So many tickets are left out where nobody knows how many questions are lost: an answer to one of them must not be taken for that
/// to another.
const UNKNOWN_LOSS: u64 = 1000;

/// What was saved.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Recovered {
    /// Answers that are in the new ledger.
    pub answers: u64,
    /// Events that are in it, those of the answers included.
    pub events: u64,
    /// Events that are known to be lost.
    pub lost: u64,
    /// Whether no more than these are lost: the file with `-lock` at its end says how many there were.
    pub is_loss_known: bool,
    /// Questions, by ticket, whose answers are known to have come and are lost. Told again, they are taken.
    pub lost_answers: Vec<u64>,
}

/// Saves what is intact of a damaged ledger into a new one, and changes nothing of the damaged one.
pub fn recover(damaged: &Path, new: &Path) -> Result<Recovered, LedgerError> {
    let at = |error| LedgerError::file(damaged, error);
    File::open(damaged).map_err(at)?;
    schema::check_new(new)?;
    // Nobody may write to it meanwhile; where nobody can, nobody does.
    let lock = match Lock::take(damaged) {
        Ok(lock) => Some(lock),
        Err(LedgerError::ReadOnly { .. }) => None,
        Err(error) => return Err(error),
    };
    let found = search(damaged).map_err(at)?;
    let facts = found.facts().ok_or_else(|| LedgerError::LostFacts { path: damaged.into() })?;
    let mut header = Header::of(facts.clone())?;
    let begun = found.begun(&header.seal);
    if let Some(begun) = &begun {
        header = header.with_begun(serde_json::from_str(begun)?)?;
    }
    let mark = lock.as_ref().and_then(Lock::mark).filter(|mark| mark.ledger == hex(&header.seal));
    let created = format!("{}, from what was intact of one of {}", event::time(event::now()), facts.created);
    let renewed = Facts { created, ..facts }.sealed();
    let mut saved = Recovered::default();
    let _lock = Lock::take(new).map_err(|error| error.of_new(new))?;
    let made = schema::create(new, header.settings.start.len(), |connection| {
        renewed.write(connection)?;
        begun.iter().try_for_each(|begun| copy_begun(connection, begun))?;
        saved = write(connection, &found, &header, &renewed, begun.as_deref(), mark.map(|mark| mark.events))?;
        // It is a ledger that opens, or none.
        restore(connection, &Header::read(connection)?).map(drop)
    });
    made.map_err(|error| error.of_new(new))?;
    Ok(saved)
}

/// The number by which the answer that was told in an event is found.
fn answer_of(event: &Event) -> Option<i64> {
    matches!(event.kind, Kind::Held | Kind::Answered | Kind::Late).then_some(event.about.unwrap_or(event.seq))
}

/// How large the pages are is in a few bytes of the file, which may be wrong: with any other size, fewer rows are found.
fn search(damaged: &Path) -> io::Result<Found> {
    let mut best = Found::default();
    for page_size in PAGE_SIZES {
        let found = Found::search(&mut Pages::open(damaged, page_size)?);
        if found.completeness() > best.completeness() {
            best = found;
        }
    }
    Ok(best)
}

fn write(
    connection: &Connection,
    found: &Found,
    header: &Header,
    renewed: &Facts,
    begun: Option<&str>,
    written: Option<i64>,
) -> Result<Recovered, LedgerError> {
    let mut saved = Recovered { is_loss_known: written.is_some(), ..Recovered::default() };
    let (mut seq, mut seal) = (0, Header::of(renewed.clone())?.seal);
    let mut put = |event: Event, details: Details<'_>| -> Result<(), LedgerError> {
        (seq, seal) = append(connection, event, details, (seq, &seal))?;
        Ok(())
    };
    let intact = found.intact_events(&header.seal);
    // What became of answers that had come before their turn.
    let told: BTreeSet<i64> = intact.values().filter_map(|event| event.about).collect();
    let (mut open, mut failed, mut billed) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    let mut at = 0;
    let numbers = found.numbers(&intact);
    let last = numbers.last().copied().max(written).unwrap_or(0);
    // Events that are in the new ledger, or whose place is elsewhere.
    let mut accounted = 0;
    for old in numbers {
        let own = intact.get(&old);
        at = own.map_or(at, |event| event.at);
        let about = |kind, ticket, user| Event { at, ticket: Some(ticket), user: Some(user), ..Event::now(kind) };
        if let Some((ticket, asked)) = found.question(old) {
            let details = Details::Question { why: asked.why, wants: asked.wants, point: &asked.point };
            put(own.cloned().unwrap_or_else(|| about(Kind::Asked, ticket, asked.user)), details)?;
            open.insert(ticket);
        } else if told.contains(&old) {
            // It has its place where it was told, if it was not refused there.
            accounted += 1;
            continue;
        } else if let Some((ticket, user, reply)) = own.map_or(Some(old), answer_of).and_then(|at| found.answer(at)) {
            // Without the point where it was asked for, an answer says nothing.
            if found.asked(ticket).is_none() {
                continue;
            }
            let kind = if failed.contains(&ticket) { Kind::Late } else { Kind::Answered };
            let stated = header.settings.costs.as_ref().and_then(|costs| costs.get(user));
            let cost = reply.cost.or(stated.copied()).unwrap_or(1.0);
            let cost = (!billed.contains(&ticket)).then_some(cost);
            let numbers = Some(reply.answer().numbers());
            let own = own.filter(|event| event.kind != Kind::Held).cloned();
            let event = own.unwrap_or_else(|| Event { cost, numbers, ..about(kind, ticket, user) });
            let event = Event { about: None, ..event };
            put(event, Details::Answer(reply))?;
            open.remove(&ticket);
            saved.answers += 1;
        } else if let Some(event) = own.filter(|event| answer_of(event).is_none()) {
            if event.kind == Kind::Failed
                && let Some(ticket) = event.ticket
            {
                failed.insert(ticket);
                open.remove(&ticket);
                if event.cost.is_some() {
                    billed.insert(ticket);
                }
            }
            put(Event { about: None, ..event.clone() }, Details::Nothing)?;
        } else {
            // The answer of an event that had come before its turn is lost, and the event says nothing without.
            continue;
        }
        saved.events += 1;
        accounted += 1;
    }
    saved.lost = (last as u64).saturating_sub(accounted);
    saved.lost_answers = found.lost_answers();
    for ticket in open {
        let user = found.asked(ticket).map(|asked| asked.user);
        put(Event { ticket: Some(ticket), user, ..Event::now(Kind::Withdrawn) }, Details::Nothing)?;
    }
    if let Some(begun) = begun.filter(|_| intact.values().all(|event| event.kind != Kind::Begun)) {
        put(Event { words: Some(begun.to_owned()), ..Event::now(Kind::Begun) }, Details::Nothing)?;
    }
    // Each event that is lost may have been a question.
    let unknown = if written.is_some() { 0 } else { UNKNOWN_LOSS };
    let ticket = Some(found.next_ticket() + saved.lost + unknown);
    let least = if saved.is_loss_known { "" } else { " at least" };
    let words = format!("{} events of a damaged ledger were saved, and{least} {} are lost", saved.events, saved.lost);
    put(Event { ticket, words: Some(words), ..Event::now(Kind::Rebuilt) }, Details::Nothing)?;
    Ok(saved)
}
