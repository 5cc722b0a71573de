//! A session from its record: the last snapshot and the events after it or, where this version of the program would have asked
//! otherwise, all answers.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{Connection, OptionalExtension as _};
use sgq::{PaidAnswer, Session, Settings, Sight, StopReason, Ticket, session::Failure};

use crate::{
    Event, Extension, Kind, LedgerError, User,
    account::money,
    plan::with_names,
    record::{self, Body, Header, Recorded},
    rounds::of_ticket,
};

/// The program and its version: snapshots of another one are not used.
pub(crate) const PROGRAM: &str = concat!("sgq ", env!("CARGO_PKG_VERSION"));

/// Tickets of the record, and of the session: the same, until a session is made anew from its answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tickets {
    /// The first ticket of the session that is there now.
    pub first: u64,
    /// What to take off a ticket of the record.
    pub ahead: u64,
}

impl Tickets {
    pub fn of_session(self, ticket: u64) -> Option<Ticket> {
        (ticket >= self.first).then(|| Ticket(ticket - self.ahead))
    }

    pub fn of_record(self, ticket: Ticket) -> u64 {
        ticket.0 + self.ahead
    }
}

/// What was paid before the session was made anew.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Spent {
    pub queries: u64,
    pub cost: f64,
    pub numbers: u64,
}

impl Spent {
    /// What was billed has a cost; a late answer to a question that was billed as failed has none.
    fn add(&mut self, event: &Event) {
        self.queries += u64::from(event.cost.is_some());
        self.cost += event.cost.unwrap_or(0.0);
        self.numbers += event.numbers.unwrap_or(0);
    }
}

/// Why a session stopped, in words: with what was paid before it was made anew, and with the names of users.
pub(crate) fn stop_words(session: &Session<'_>, before: Spent, users: &[User], is_spent: &[bool]) -> Option<String> {
    let words = session.stop_message()?;
    let mut there = is_spent.iter().enumerate().filter(|(user, _)| !session.has_left(*user)).map(|(_, spent)| *spent);
    Some(match session.stop_reason()? {
        StopReason::Budget { queries } => StopReason::Budget { queries: queries + before.queries }.to_string(),
        StopReason::CostBudget { cost } => {
            format!("the budget in cost is spent ({})", money(cost + before.cost))
        }
        StopReason::NumbersBudget { numbers } => {
            StopReason::NumbersBudget { numbers: numbers + before.numbers }.to_string()
        }
        StopReason::NobodyAnswers if there.clone().all(|spent| spent) => {
            "nobody can be asked: everybody has spent what it may disclose".to_owned()
        }
        StopReason::NobodyAnswers if there.any(|spent| spent) => with_names(
            &words.replace("users are away, or fail", "users are away, have spent what they may disclose, or fail"),
            users,
        ),
        _ => with_names(&words, users),
    })
}

/// A session as it was after the last event.
pub(crate) struct Restored {
    pub session: Session<'static>,
    pub tickets: Tickets,
    pub before: Spent,
    pub seq: i64,
    pub seal: Vec<u8>,
    /// The events since the last snapshot that was used.
    pub replayed: u64,
    /// Why it was made anew from all answers, and is not what the record has.
    pub made_anew: Option<String>,
}

/// Where the record and this program part.
pub(crate) enum Parting {
    /// This version would have gone on otherwise.
    Otherwise(String),
    Error(LedgerError),
}

impl From<LedgerError> for Parting {
    fn from(error: LedgerError) -> Self {
        Self::Error(error)
    }
}

pub(crate) fn restore(connection: &Connection, header: &Header) -> Result<Restored, LedgerError> {
    match replay(connection, header, true) {
        Ok(restored) => Ok(restored),
        Err(Parting::Otherwise(why)) => made_anew(connection, header, with_names(&why, &header.users)),
        Err(Parting::Error(error)) => Err(error),
    }
}

/// The same without snapshots: for whoever wants to know whether the record is what it claims to be. The error of a session that
/// would have gone on otherwise is in words.
pub(crate) fn replay_all(connection: &Connection, header: &Header) -> Result<Result<Restored, String>, LedgerError> {
    match replay(connection, header, false) {
        Ok(restored) => Ok(Ok(restored)),
        Err(Parting::Otherwise(why)) => Ok(Err(with_names(&why, &header.users))),
        Err(Parting::Error(error)) => Err(error),
    }
}

fn replay(connection: &Connection, header: &Header, by_snapshot: bool) -> Result<Restored, Parting> {
    let Restored { mut session, tickets, before, mut seq, mut seal, .. } = beginning(connection, header)?;
    if by_snapshot && let Some((at, restored)) = from_snapshot(connection, header, seq)? {
        (seq, seal, session) = (at, seal_at(connection, header, at)?, restored);
    }
    let mut replayed = 0;
    let mut parting = None;
    record::events_after(connection, seq, &seal.clone(), |recorded| {
        if parting.is_none() {
            match apply(connection, &mut session, tickets, &recorded) {
                Ok(()) => {}
                Err(Parting::Otherwise(why)) => parting = Some(why),
                Err(Parting::Error(error)) => return Err(error),
            }
        }
        (seq, seal) = (recorded.event.seq, recorded.event.seal);
        replayed += 1;
        Ok(())
    })?;
    match parting {
        Some(why) => Err(Parting::Otherwise(why)),
        None => Ok(Restored { session, tickets, before, seq, seal, replayed, made_anew: None }),
    }
}

/// The session before the first event that it goes through: that of the whole record or, where it was made anew or a study got its
/// model, the one after that.
pub(crate) fn beginning(connection: &Connection, header: &Header) -> Result<Restored, LedgerError> {
    let sql = "SELECT seq, kind FROM events WHERE kind IN ('rebuilt', 'begun') ORDER BY seq DESC LIMIT 1";
    let row = |row: &rusqlite::Row<'_>| Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?));
    let last = connection.query_row(sql, [], row).optional()?;
    let seq = last.as_ref().map_or(0, |(seq, _)| *seq);
    let Base { session, tickets, before } = match last {
        None => Base::new(Session::new(header.method.clone(), header.settings.clone())?),
        Some((seq, kind)) if kind == Kind::Begun.word() => Base::at_begin(connection, header, seq)?,
        Some((seq, _)) => Base::from_answers(connection, header, seq)?,
    };
    let seal = seal_at(connection, header, seq)?;
    Ok(Restored { session, tickets, before, seq, seal, replayed: 0, made_anew: None })
}

fn seal_at(connection: &Connection, header: &Header, seq: i64) -> Result<Vec<u8>, LedgerError> {
    if seq == 0 {
        return Ok(header.seal.clone());
    }
    let seal = connection.query_row("SELECT seal FROM events WHERE seq = ?", [seq], |row| row.get(0)).optional()?;
    seal.ok_or_else(|| LedgerError::damaged(format!("event {seq} is missing")))
}

/// The latest snapshot that this program can use. Where it is damaged, events make up for it.
fn from_snapshot(
    connection: &Connection,
    header: &Header,
    after: i64,
) -> Result<Option<(i64, Session<'static>)>, LedgerError> {
    let sql = "SELECT seq, bytes FROM snapshots WHERE seq > ? AND program = ? ORDER BY seq DESC";
    let mut query = connection.prepare(sql)?;
    let mut rows = query.query((after, PROGRAM))?;
    // One that cannot be read is as good as none.
    while let Ok(Some(row)) = rows.next() {
        let (Ok(seq), Ok(bytes)) = (row.get::<_, i64>(0), row.get::<_, Vec<u8>>(1)) else {
            continue;
        };
        if let Ok(session) = Session::restore(header.method.clone(), &bytes, Sight::Blind) {
            return Ok(Some((seq, session)));
        }
    }
    Ok(None)
}

/// Lets an event happen to a session.
pub(crate) fn apply(
    connection: &Connection,
    session: &mut Session<'static>,
    tickets: Tickets,
    recorded: &Recorded,
) -> Result<(), Parting> {
    let Recorded { event, body } = recorded;
    let seq = event.seq;
    let otherwise = |what: String| Parting::Otherwise(format!("at event {seq} {what}"));
    let lacking = |what: &str| Parting::Error(LedgerError::damaged(format!("event {seq} has no {what}")));
    let ticket = || event.ticket.ok_or_else(|| lacking("ticket"));
    let user = || event.user.ok_or_else(|| lacking("user"));
    match (event.kind, body) {
        (Kind::Asked, Body::Question { point, .. }) => {
            let (ticket, user) = (ticket()?, user()?);
            let query = session
                .ask()
                .map_err(LedgerError::from)?
                .ok_or_else(|| otherwise("nobody would be asked".to_owned()))?;
            let same_point = query.point.len() == point.len()
                && query.point.iter().zip(point).all(|(a, b)| a.to_bits() == b.to_bits());
            if (tickets.of_record(query.ticket), query.user) != (ticket, user) || !same_point {
                let at = if same_point { "" } else { ", elsewhere" };
                return Err(otherwise(format!("user {} would be asked{at}, and not user {user}", query.user)));
            }
        }
        (Kind::Answered | Kind::Late, Body::Answer(reply)) => match tickets.of_session(ticket()?) {
            Some(inner) => session.tell(inner, reply.answer()).map_err(|error| otherwise(error.to_string()))?,
            None => {
                let asked = record::question(connection, ticket()?)?.ok_or_else(|| lacking("question"))?;
                let paid = PaidAnswer::new(asked.user, &asked.point, reply.answer());
                let told = session.tell_unasked(&paid, event.cost.is_none());
                told.map_err(|error| otherwise(error.to_string()))?;
            }
        },
        (Kind::Failed, _) if of_ticket(ticket()?).is_some() => {}
        (Kind::Failed, _) => {
            if let Some(inner) = tickets.of_session(ticket()?) {
                session.fail_with(inner, failure(event)).map_err(|error| otherwise(error.to_string()))?;
            }
        }
        (Kind::Away, _) => session.away(user()?).map_err(LedgerError::from)?,
        (Kind::Back, _) => session.back(user()?).map_err(LedgerError::from)?,
        (Kind::Left, _) => session.leave(user()?).map_err(|error| otherwise(error.to_string()))?,
        (Kind::Joined, _) => session.join(user()?).map_err(|error| otherwise(error.to_string()))?,
        (Kind::Extended, _) => {
            extension(event)?.apply(session).map_err(|error| otherwise(error.to_string()))?;
        }
        (Kind::Waited, _) => {
            if let Some(query) = session.ask().map_err(LedgerError::from)? {
                return Err(otherwise(format!("user {} would be asked, and not nobody", query.user)));
            }
        }
        _ => {}
    }
    Ok(())
}

/// What was said of a failure.
pub(crate) fn failure(event: &Event) -> Failure<'_> {
    let failure = Failure::new();
    let failure = event.words.as_deref().map_or(failure, |words| failure.because(words));
    if event.cost.is_some() { failure.billed() } else { failure }
}

fn extension(event: &Event) -> Result<Extension, LedgerError> {
    Ok(serde_json::from_str(event.words.as_deref().unwrap_or_default())?)
}

/// A session before the events that it is to go through.
struct Base {
    session: Session<'static>,
    tickets: Tickets,
    before: Spent,
}

impl Base {
    fn new(session: Session<'static>) -> Self {
        Self { session, tickets: Tickets::default(), before: Spent::default() }
    }

    /// A study that has got its model in an event: nobody has been asked at a point yet, but users may have gone.
    fn at_begin(connection: &Connection, header: &Header, until: i64) -> Result<Self, LedgerError> {
        let (mut settings, mut gone) = (header.settings.clone(), Gone::default());
        record::events_after(connection, 0, &header.seal, |Recorded { event, .. }| {
            if event.seq > until {
                return Ok(());
            }
            if event.kind == Kind::Extended {
                extension(&event)?.change(&mut settings);
            }
            gone.happen(&event);
            Ok(())
        })?;
        let mut session = Session::new(header.method.clone(), settings)?;
        gone.apply(&mut session)?;
        Ok(Self::new(session))
    }

    /// Made of all answers up to an event, with what is left of the budgets.
    fn from_answers(connection: &Connection, header: &Header, until: i64) -> Result<Self, LedgerError> {
        let (mut settings, mut before) = (header.settings.clone(), Spent::default());
        let mut answers = Vec::new();
        let mut gone = Gone::default();
        let mut points: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
        let mut next = 0;
        record::events_after(connection, 0, &header.seal, |Recorded { event, body }| {
            if event.seq > until {
                return Ok(());
            }
            if matches!(event.kind, Kind::Answered | Kind::Late | Kind::Failed) {
                before.add(&event);
            }
            gone.happen(&event);
            match (event.kind, body, event.ticket, event.user) {
                (Kind::Asked, Body::Question { point, .. }, Some(ticket), _) => {
                    next = ticket + 1;
                    points.insert(ticket, point);
                }
                (Kind::Answered | Kind::Late, Body::Answer(reply), Some(ticket), Some(user)) => {
                    let point = points.remove(&ticket).unwrap_or_default();
                    answers.push(PaidAnswer::new(user, &point, reply.answer()));
                }
                (Kind::Extended, ..) => extension(&event)?.change(&mut settings),
                // Where events were lost, tickets go on past any that may have been among them.
                (Kind::Rebuilt, _, Some(ticket), _) => next = next.max(ticket),
                _ => {}
            }
            Ok(())
        })?;
        let settings = less(settings, before);
        let anew = Session::with_answers(header.method.clone(), settings, Sight::Blind, &answers);
        let mut session = anew.map_err(|error| LedgerError::damaged(error.to_string()))?;
        gone.apply(&mut session)?;
        let ahead = next.saturating_sub(session.next_ticket().0);
        Ok(Self { session, tickets: Tickets { first: next, ahead }, before })
    }
}

/// Users who are not there.
#[derive(Default)]
struct Gone {
    away: BTreeSet<usize>,
    left: BTreeSet<usize>,
}

impl Gone {
    fn happen(&mut self, event: &Event) {
        let Some(user) = event.user else { return };
        match event.kind {
            Kind::Away => drop(self.away.insert(user)),
            Kind::Back => drop(self.away.remove(&user)),
            Kind::Left => drop(self.left.insert(user)),
            Kind::Joined => drop(self.left.remove(&user)),
            _ => {}
        }
    }

    fn apply(self, session: &mut Session<'_>) -> Result<(), LedgerError> {
        for user in self.left {
            session.leave(user)?;
        }
        for user in self.away {
            session.away(user)?;
        }
        Ok(())
    }
}

/// What is left of the budgets.
fn less(mut settings: Settings, spent: Spent) -> Settings {
    let Spent { queries, cost, numbers } = spent;
    settings.budget = settings.budget.map(|budget| budget.saturating_sub(queries));
    settings.cost_budget = settings.cost_budget.map(|budget| (budget - cost).max(f64::MIN_POSITIVE));
    settings.numbers_budget = settings.numbers_budget.map(|budget| budget.saturating_sub(numbers));
    settings
}

/// The session that this version of the program makes of all answers.
fn made_anew(connection: &Connection, header: &Header, why: String) -> Result<Restored, LedgerError> {
    let seq: i64 = connection.query_row("SELECT COALESCE(MAX(seq), 0) FROM events", [], |row| row.get(0))?;
    let Base { session, tickets, before } = Base::from_answers(connection, header, seq)?;
    let seal = seal_at(connection, header, seq)?;
    Ok(Restored { session, tickets, before, seq, seal, replayed: 0, made_anew: Some(why) })
}
