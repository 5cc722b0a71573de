//! The rows of the record, written and read.

use rusqlite::{Connection, OptionalExtension as _};
use sgq::{Detail, Method, Settings, Why};

use crate::{
    Event, Kind, LedgerError, Plan, Privacy, Protection, Reply, User,
    event::{from_bytes, to_bytes},
    plan::{NamedMethod, settings_from},
    seal::{Details, seal, seal_of_texts},
};

/// What stands before the first event.
#[derive(Clone, Debug)]
pub(crate) struct Header {
    pub method: Method,
    pub settings: Settings,
    pub users: Vec<User>,
    pub protection: Protection,
    pub seal: Vec<u8>,
}

const FACTS: [&str; 4] = ["created", "method", "settings", "protection"];

impl Header {
    /// Checks a plan, and writes it.
    pub fn write(connection: &Connection, plan: &Plan, settings: &Settings) -> Result<(), LedgerError> {
        let facts = [
            crate::event::time(crate::event::now()),
            serde_json::to_string(&NamedMethod::of(&plan.method)?)?,
            serde_json::to_string(settings)?,
            serde_json::to_string(&plan.protection)?,
        ];
        let put = |name: &str, value: &str| {
            connection.execute("INSERT INTO ledger (name, value) VALUES (?, ?)", (name, value)).map(drop)
        };
        for (name, fact) in FACTS.iter().zip(&facts) {
            put(name, fact)?;
        }
        for (index, user) in plan.users.iter().enumerate() {
            let User { name, cost, weight, smoothness } = user;
            let sql = "INSERT INTO users (user, name, cost, weight, smoothness) VALUES (?, ?, ?, ?, ?)";
            connection.prepare_cached(sql)?.execute((index as i64, name, cost, weight, smoothness))?;
        }
        put("seal", &hex(&Self::seal(&facts, &plan.users)?))?;
        Ok(())
    }

    pub fn read(connection: &Connection) -> Result<Self, LedgerError> {
        let fact = |name: &str| -> Result<String, LedgerError> {
            let mut query = connection.prepare_cached("SELECT value FROM ledger WHERE name = ?")?;
            let value = query.query_row([name], |row| row.get(0)).optional()?;
            value.ok_or_else(|| LedgerError::damaged(format!("it does not say its {name}")))
        };
        let facts = [fact(FACTS[0])?, fact(FACTS[1])?, fact(FACTS[2])?, fact(FACTS[3])?];
        let mut query = connection.prepare("SELECT name, cost, weight, smoothness FROM users ORDER BY user")?;
        let user = |row: &rusqlite::Row<'_>| {
            Ok(User { name: row.get(0)?, cost: row.get(1)?, weight: row.get(2)?, smoothness: row.get(3)? })
        };
        let users = query.query_map([], user)?.collect::<Result<Vec<_>, _>>()?;
        let seal = Self::seal(&facts, &users)?;
        if hex(&seal) != fact("seal")? {
            return Err(LedgerError::damaged("its settings or users are not those that it was made with"));
        }
        let [_, method, settings, protection] = &facts;
        Ok(Self {
            method: serde_json::from_str::<NamedMethod>(method)?.method()?,
            settings: settings_from(settings)?,
            protection: serde_json::from_str(protection)?,
            users,
            seal,
        })
    }

    /// The beginning of its seal.
    pub fn number(&self) -> u64 {
        self.seal.first_chunk().map_or(0, |first| u64::from_le_bytes(*first))
    }

    fn seal(facts: &[String; 4], users: &[User]) -> Result<Vec<u8>, LedgerError> {
        let users = serde_json::to_string(users)?;
        Ok(seal_of_texts(facts.iter().map(String::as_str).chain([&*users])))
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// An event with all that belongs to it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Recorded {
    pub event: Event,
    pub body: Body,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Body {
    Nothing,
    Question { why: Why, wants: Detail, point: Vec<f64> },
    Answer(Reply),
}

impl Body {
    pub fn details(&self) -> Details<'_> {
        match self {
            Self::Nothing => Details::Nothing,
            Self::Question { why, wants, point } => Details::Question { why: *why, wants: *wants, point },
            Self::Answer(reply) => Details::Answer(reply),
        }
    }
}

/// Writes an event and what belongs to it.
pub(crate) fn write(connection: &Connection, event: &Event, details: Details<'_>) -> Result<(), LedgerError> {
    event.insert(connection)?;
    let (ticket, user) = (event.ticket.map(|it| it as i64), event.user.map(|it| it as i64));
    match details {
        Details::Nothing => {}
        Details::Question { why, wants, point } => {
            let sql = "INSERT INTO questions (ticket, seq, user, why, wants, point) VALUES (?, ?, ?, ?, ?, ?)";
            let row = (ticket, event.seq, user, why.word(), wants.to_string(), to_bytes(point));
            connection.prepare_cached(sql)?.execute(row)?;
        }
        Details::Answer(reply) => {
            let sql = "INSERT INTO answers (seq, ticket, user, loss, weight, cost, sensitivity, noise, length, gradient, hessian, \
                       variance) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
            let Reply { gradient, loss, hessian, variance, weight, cost, privacy } = reply;
            connection.prepare_cached(sql)?.execute(rusqlite::params![
                event.seq,
                ticket,
                user,
                loss,
                weight,
                cost,
                privacy.map(|it| it.sensitivity),
                privacy.map(|it| it.noise),
                length(gradient),
                to_bytes(gradient),
                hessian.as_deref().map(to_bytes),
                variance.as_deref().map(to_bytes),
            ])?;
        }
    }
    Ok(())
}

/// The Euclidean norm.
pub(crate) fn length(numbers: &[f64]) -> f64 {
    numbers.iter().map(|it| it * it).sum::<f64>().sqrt()
}

/// The events after one, in order, each checked against its seal.
pub(crate) fn events_after(
    connection: &Connection,
    after: i64,
    seal_before: &[u8],
    mut each: impl FnMut(Recorded) -> Result<(), LedgerError>,
) -> Result<(), LedgerError> {
    let mut query = connection.prepare("SELECT * FROM events WHERE seq > ? ORDER BY seq")?;
    let mut rows = query.query([after])?;
    let (mut expected, mut before) = (after + 1, seal_before.to_vec());
    while let Some(row) = rows.next()? {
        let event = Event::from_row(row)?;
        let seq = event.seq;
        if seq != expected {
            return Err(LedgerError::damaged(format!("event {expected} is missing")));
        }
        let recorded = Recorded { body: body_of(connection, &event)?, event };
        if seal(&before, &recorded.event, recorded.body.details()) != recorded.event.seal {
            return Err(LedgerError::damaged(format!("event {seq} is not what was written")));
        }
        (expected, before) = (seq + 1, recorded.event.seal.clone());
        each(recorded)?;
    }
    Ok(())
}

pub(crate) fn body_of(connection: &Connection, event: &Event) -> Result<Body, LedgerError> {
    let lacking = |what: &str| LedgerError::damaged(format!("the {what} of event {} is missing", event.seq));
    Ok(match (event.kind, event.ticket) {
        (Kind::Asked, Some(ticket)) => {
            let question = question(connection, ticket)?.ok_or_else(|| lacking("question"))?;
            Body::Question { why: question.why, wants: question.wants, point: question.point }
        }
        (Kind::Answered | Kind::Late, Some(_)) => {
            Body::Answer(answer(connection, event.seq)?.ok_or_else(|| lacking("answer"))?)
        }
        _ => Body::Nothing,
    })
}

/// A question as the file has it.
pub(crate) struct Asked {
    pub user: usize,
    pub why: Why,
    pub wants: Detail,
    pub point: Vec<f64>,
}

pub(crate) fn question(connection: &Connection, ticket: u64) -> Result<Option<Asked>, LedgerError> {
    let mut query = connection.prepare_cached("SELECT user, why, wants, point FROM questions WHERE ticket = ?")?;
    let row = |row: &rusqlite::Row<'_>| {
        Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?, row.get::<_, String>(2)?, row.get::<_, Vec<u8>>(3)?))
    };
    let Some((user, why, wants, point)) = query.query_row([ticket as i64], row).optional()? else {
        return Ok(None);
    };
    let wrong = || LedgerError::damaged(format!("question {ticket} makes no sense"));
    Ok(Some(Asked {
        user: usize::try_from(user).map_err(|_| wrong())?,
        // A reason that a later version knows is none that this one needs.
        why: Why::ALL.into_iter().find(|it| it.word() == why).ok_or_else(wrong)?,
        wants: detail(&wants).ok_or_else(wrong)?,
        point: from_bytes(&point).ok_or_else(wrong)?,
    }))
}

fn detail(word: &str) -> Option<Detail> {
    Detail::ALL.into_iter().find(|detail| detail.to_string() == word)
}

pub(crate) fn answer(connection: &Connection, seq: i64) -> Result<Option<Reply>, LedgerError> {
    let mut query = connection.prepare_cached("SELECT * FROM answers WHERE seq = ?")?;
    let mut rows = query.query([seq])?;
    let Some(row) = rows.next()? else {
        return Ok(None);
    };
    let wrong = || LedgerError::damaged(format!("the answer of event {seq} makes no sense"));
    let many = |name: &str| -> Result<Option<Vec<f64>>, LedgerError> {
        let bytes: Option<Vec<u8>> = row.get(name)?;
        bytes.map(|bytes| from_bytes(&bytes).ok_or_else(wrong)).transpose()
    };
    let privacy: (Option<f64>, Option<f64>) = (row.get("sensitivity")?, row.get("noise")?);
    Ok(Some(Reply {
        gradient: many("gradient")?.ok_or_else(wrong)?,
        loss: row.get("loss")?,
        hessian: many("hessian")?,
        variance: many("variance")?,
        weight: row.get("weight")?,
        cost: row.get("cost")?,
        privacy: privacy.0.zip(privacy.1).map(|(sensitivity, noise)| Privacy { sensitivity, noise }),
    }))
}

/// A user's last answer: where, and what.
pub(crate) fn last_answer(connection: &Connection, user: usize) -> Result<Option<(Vec<f64>, Vec<f64>)>, LedgerError> {
    let sql = "SELECT ticket, gradient FROM answers WHERE user = ? ORDER BY seq DESC LIMIT 1";
    let row = |row: &rusqlite::Row<'_>| Ok((row.get::<_, i64>(0)?, row.get::<_, Vec<u8>>(1)?));
    let Some((ticket, gradient)) = connection.prepare_cached(sql)?.query_row([user as i64], row).optional()? else {
        return Ok(None);
    };
    let asked = question(connection, ticket as u64)?;
    Ok(asked.zip(from_bytes(&gradient)).map(|(asked, gradient)| (asked.point, gradient)))
}
