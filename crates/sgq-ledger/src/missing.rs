//! Users who are part of the objective and cannot be asked: what remains may not fall without them.

use std::collections::BTreeMap;

use rusqlite::Connection;
use serde::Serialize;
use sgq::{Session, StopReason};

use crate::{Account, Event, Kind, LedgerError, record::Header, rounds::of_ticket};

/// Whoever failed so often in a row is taken for one that does not answer; once may be by chance.
const FAILURES: u64 = 2;

/// Why a user cannot be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Absence {
    /// It was said to be away.
    Away,
    /// Its last questions have failed.
    Failing,
    /// It has spent what it may disclose.
    Spent,
}

/// A user who is part of the objective and cannot be asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Missing {
    /// Its name.
    pub name: String,
    /// Why.
    pub absence: Absence,
    /// The last question of all that had been put when it went away, or the first of those that failed; none where there was none.
    pub since: Option<u64>,
    /// How many answers it has given.
    pub answers: u64,
    /// Why, in words.
    pub words: String,
}

/// What the record says of a user who may not be there.
#[derive(Default)]
struct Heard {
    failures: u64,
    failing_since: Option<u64>,
    is_away: bool,
    away_since: Option<u64>,
}

/// Whoever is missing, where more remains than was asked for; nobody where the session has got there, or cannot tell.
pub(crate) fn missing(
    connection: &Connection,
    header: &Header,
    session: &Session<'_>,
    accounts: &[Account],
) -> Result<Vec<Missing>, LedgerError> {
    let is_over =
        session.stop_reason().is_some_and(|stop| stop.is_converged() || matches!(stop, StopReason::Diverged { .. }));
    let Header { method, users, protection, .. } = header;
    // Where nothing can be said yet, it is not within the tolerance.
    let can_tell = method.default_tolerance().is_some();
    let remains = session.remaining().map_or(can_tell, |remaining| remaining.gap > 0.0);
    let somebody = session.failures().next().is_some() || (0..users.len()).any(|user| session.is_away(user));
    if is_over || !remains || !somebody {
        return Ok(Vec::new());
    }
    let mut heard: BTreeMap<usize, Heard> = BTreeMap::new();
    let mut last_asked = None;
    let sql = "SELECT * FROM events WHERE kind IN ('asked', 'answered', 'late', 'failed', 'away', 'back') ORDER BY seq";
    let mut query = connection.prepare(sql)?;
    let mut rows = query.query([])?;
    while let Some(row) = rows.next()? {
        let event = Event::from_row(row)?;
        let Some(user) = event.user.filter(|_| event.ticket.is_none_or(|ticket| of_ticket(ticket).is_none())) else {
            continue;
        };
        let of = heard.entry(user).or_default();
        match event.kind {
            Kind::Asked => last_asked = event.ticket,
            Kind::Failed => {
                of.failures += 1;
                of.failing_since = of.failing_since.or(event.ticket);
            }
            Kind::Away if !of.is_away => (of.is_away, of.away_since) = (true, last_asked),
            Kind::Back => *of = Heard::default(),
            Kind::Answered | Kind::Late => (of.failures, of.failing_since) = (0, None),
            _ => {}
        }
    }
    let one = |(user, of): (&usize, &Heard)| {
        let (name, account) = (users.get(*user)?.name.clone(), accounts.get(*user)?);
        let since = |ticket: Option<u64>| ticket.map_or("the start".to_owned(), |ticket| format!("question {ticket}"));
        let given = match account.answers {
            1 => "1 answer".to_owned(),
            answers => format!("{answers} answers"),
        };
        let (absence, ticket, words) = match protection.is_spent(account) {
            _ if session.has_left(*user) => return None,
            Some(why) => (Absence::Spent, None, format!("its limit is spent: {why}")),
            None if session.is_away(*user) => {
                (Absence::Away, of.away_since, format!("away since {}, {given}", since(of.away_since)))
            }
            None if of.failures >= FAILURES => {
                let words = format!("failing since {}, {given}", since(of.failing_since));
                (Absence::Failing, of.failing_since, words)
            }
            None => return None,
        };
        Some(Missing { name, absence, since: ticket, answers: account.answers, words })
    };
    Ok(heard.iter().filter_map(one).collect())
}
