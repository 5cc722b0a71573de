//! The rows of the record, written and read.

use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension as _};
use serde::{Deserialize, Serialize};
use sgq::{Detail, Method, Settings, Why};

use crate::{
    Event, Kind, LedgerError, Plan, Privacy, Protection, Reply, User,
    event::{from_bytes, to_bytes},
    plan::{NamedMethod, settings_from},
    seal::{Details, Hash, checksum, seal, seal_of_facts},
    study::{Begun, Terms},
};

/// What stands before the first event.
#[derive(Clone, Debug)]
pub(crate) struct Header {
    pub method: Method,
    pub settings: Settings,
    pub users: Vec<User>,
    pub protection: Protection,
    /// Of a study by a plan.
    pub terms: Option<Arc<Terms>>,
    /// Of a study whose first question everybody has answered: the settings and the weights are those that follow from it.
    pub begun: Option<Arc<Begun>>,
    pub seal: Vec<u8>,
}

/// What is said of a session, as texts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Facts {
    pub created: String,
    pub method: String,
    pub settings: String,
    pub protection: String,
    /// The terms of a study by a plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub study: Option<String>,
    pub users: Vec<User>,
    /// The BLAKE3 hash of all this: what the first event is sealed with.
    pub seal: String,
}

/// The names of the first four.
pub(crate) const FACTS: [&str; 4] = ["created", "method", "settings", "protection"];
/// That of the fifth, which not every ledger has.
pub(crate) const STUDY: &str = "study";
/// What a study began with, once more beside its event: without it no answer is of use.
const BEGUN: &str = "begun";

impl Facts {
    pub fn of(plan: &Plan, settings: &Settings) -> Result<Self, LedgerError> {
        let facts = Self {
            created: crate::event::time(crate::event::now()),
            method: serde_json::to_string(&NamedMethod::of(&plan.method)?)?,
            settings: serde_json::to_string(settings)?,
            protection: serde_json::to_string(&plan.protection)?,
            study: plan.study.as_ref().map(serde_json::to_string).transpose()?,
            users: plan.users.clone(),
            seal: String::new(),
        };
        Ok(facts.sealed())
    }

    pub fn sealed(mut self) -> Self {
        self.seal = hex(&self.own_seal());
        self
    }

    fn own_seal(&self) -> Vec<u8> {
        let Self { created, method, settings, protection, study, users, .. } = self;
        seal_of_facts([created, method, settings, protection], users, study.as_deref())
    }

    pub fn are_intact(&self) -> bool {
        hex(&self.own_seal()) == self.seal
    }

    /// Writes them twice.
    pub fn write(&self, connection: &Connection) -> Result<(), LedgerError> {
        let Self { created, method, settings, protection, study, users, seal } = self;
        let facts = FACTS.into_iter().zip([created, method, settings, protection]).chain([("seal", seal)]);
        let facts = facts.chain(study.iter().map(|study| (STUDY, study)));
        for (name, fact) in facts {
            connection.execute("INSERT INTO ledger (name, value) VALUES (?, ?)", (name, fact))?;
        }
        for (index, user) in users.iter().enumerate() {
            let User { name, cost, weight, smoothness } = user;
            let sql = "INSERT INTO users (user, name, cost, weight, smoothness) VALUES (?, ?, ?, ?, ?)";
            connection.prepare_cached(sql)?.execute((index as i64, name, cost, weight, smoothness))?;
        }
        let copy = serde_json::to_string(self)?;
        connection.execute("INSERT INTO copies (name, value) VALUES ('facts', ?)", [copy])?;
        Ok(())
    }

    fn read(connection: &Connection) -> Result<Self, LedgerError> {
        let known = |name: &str| -> Result<Option<String>, LedgerError> {
            let mut query = connection.prepare_cached("SELECT value FROM ledger WHERE name = ?")?;
            Ok(query.query_row([name], |row| row.get(0)).optional()?)
        };
        let fact = |name: &str| -> Result<String, LedgerError> {
            known(name)?.ok_or_else(|| LedgerError::damaged(format!("it does not say its {name}")))
        };
        let [created, method, settings, protection] =
            [fact(FACTS[0])?, fact(FACTS[1])?, fact(FACTS[2])?, fact(FACTS[3])?];
        let mut query = connection.prepare("SELECT name, cost, weight, smoothness FROM users ORDER BY user")?;
        let user = |row: &rusqlite::Row<'_>| {
            Ok(User { name: row.get(0)?, cost: row.get(1)?, weight: row.get(2)?, smoothness: row.get(3)? })
        };
        let users = query.query_map([], user)?.collect::<Result<Vec<_>, _>>()?;
        Ok(Self { created, method, settings, protection, study: known(STUDY)?, users, seal: fact("seal")? })
    }
}

impl Header {
    /// The beginning of its seal.
    pub fn number(&self) -> u64 {
        self.seal.first_chunk().map_or(0, |first| u64::from_le_bytes(*first))
    }

    pub fn read(connection: &Connection) -> Result<Self, LedgerError> {
        let header = Self::of(Facts::read(connection)?)?;
        if header.terms.is_none() {
            return Ok(header);
        }
        let sql = "SELECT * FROM events WHERE kind = 'begun' ORDER BY seq DESC LIMIT 1";
        let mut query = connection.prepare(sql)?;
        let mut rows = query.query([])?;
        let Some(row) = rows.next()? else { return Ok(header) };
        let event = Event::from_row(row)?;
        check_seal(connection, &header.seal, &event)?;
        header.with_begun(serde_json::from_str(event.words.as_deref().unwrap_or_default())?)
    }

    /// The settings that follow from the first answers.
    pub fn with_begun(mut self, begun: Begun) -> Result<Self, LedgerError> {
        let Some(terms) = &self.terms else {
            return Err(LedgerError::damaged("it has a model, and no terms of a study"));
        };
        let users = self.users.len();
        if begun.members.len() != begun.agreed.totals.len() || begun.members.iter().any(|member| member.user >= users) {
            return Err(LedgerError::damaged("the model of the study is not that of its users"));
        }
        self.settings.start = begun.agreed.start.clone();
        self.settings.weights = begun.weights(terms.plan.weigh, self.users.len());
        self.begun = Some(Arc::new(begun));
        Ok(self)
    }

    pub fn of(facts: Facts) -> Result<Self, LedgerError> {
        let seal = facts.own_seal();
        if hex(&seal) != facts.seal {
            return Err(LedgerError::damaged("its settings or users are not those that it was made with"));
        }
        Ok(Self {
            method: serde_json::from_str::<NamedMethod>(&facts.method)?.method()?,
            settings: settings_from(&facts.settings)?,
            protection: serde_json::from_str(&facts.protection)?,
            terms: facts.study.as_deref().map(serde_json::from_str).transpose()?.map(Arc::new),
            begun: None,
            users: facts.users,
            seal,
        })
    }
}

pub(crate) fn hex(bytes: &[u8]) -> String {
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
pub(crate) fn write(
    connection: &Connection,
    event: &Event,
    details: Details<'_>,
    checksum: Option<&Hash>,
) -> Result<(), LedgerError> {
    event.insert(connection)?;
    let (ticket, user) = (event.ticket.map(|it| it as i64), event.user.map(|it| it as i64));
    match details {
        Details::Nothing => {}
        Details::Question { why, wants, point } => {
            let sql =
                "INSERT INTO questions (ticket, seq, user, why, wants, point, checksum) VALUES (?, ?, ?, ?, ?, ?, ?)";
            let row = (ticket, event.seq, user, why.word(), wants.to_string(), to_bytes(point), checksum);
            connection.prepare_cached(sql)?.execute(row)?;
        }
        Details::Answer(reply) => {
            let sql = "INSERT INTO answers (seq, ticket, user, loss, weight, cost, sensitivity, noise, length, gradient, hessian, \
                       variance, checksum) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
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
                checksum,
            ])?;
        }
    }
    Ok(())
}

/// Completes an event that follows another one, and writes it.
pub(crate) fn append(
    connection: &Connection,
    mut event: Event,
    details: Details<'_>,
    after: (i64, &[u8]),
) -> Result<(i64, Vec<u8>), LedgerError> {
    event.seq = after.0 + 1;
    let checksum = match (event.ticket, event.user) {
        (Some(ticket), Some(user)) => checksum(event.seq, ticket, user, details),
        _ => None,
    };
    event.seal = seal(after.1, &event, checksum.as_ref());
    write(connection, &event, details, checksum.as_ref())?;
    Ok((event.seq, event.seal))
}

/// Writes once more, beside its event, what a study began with.
pub(crate) fn copy_begun(connection: &Connection, words: &str) -> Result<(), LedgerError> {
    let copy = format!("{} {words}", blake3::hash(words.as_bytes()).to_hex());
    connection.execute("INSERT OR REPLACE INTO copies (name, value) VALUES (?, ?)", (BEGUN, copy))?;
    Ok(())
}

/// What a study began with, from a row of the copies that is what was written.
pub(crate) fn begun_in_copy<'a>(name: &str, copy: &'a str) -> Option<&'a str> {
    let (hash, words) = copy.split_once(' ').filter(|_| name == BEGUN)?;
    (blake3::hash(words.as_bytes()).to_hex().as_str() == hash).then_some(words)
}

/// Whether an event that has no row elsewhere, and is looked at by itself, is what was written.
pub(crate) fn check_seal(connection: &Connection, seal_of_header: &[u8], event: &Event) -> Result<(), LedgerError> {
    let sql = "SELECT seal FROM events WHERE seq = ?";
    let before: Option<Vec<u8>> = match event.seq {
        1 => Some(seal_of_header.to_vec()),
        seq => connection.prepare_cached(sql)?.query_row([seq - 1], |row| row.get(0)).optional()?,
    };
    match before {
        Some(before) if seal(&before, event, None) == event.seal => Ok(()),
        _ => Err(LedgerError::damaged(format!("event {} is not what was written", event.seq))),
    }
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
    events_while(connection, after, seal_before, |recorded| each(recorded).map(|()| true))
}

/// The same until somebody has seen enough.
pub(crate) fn events_while(
    connection: &Connection,
    after: i64,
    seal_before: &[u8],
    mut each: impl FnMut(Recorded) -> Result<bool, LedgerError>,
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
        let (body, checksum) = body_of(connection, &event)?;
        let recorded = Recorded { body, event };
        if seal(&before, &recorded.event, checksum.as_ref()) != recorded.event.seal {
            return Err(LedgerError::damaged(format!("event {seq} is not what was written")));
        }
        (expected, before) = (seq + 1, recorded.event.seal.clone());
        if !each(recorded)? {
            break;
        }
    }
    Ok(())
}

/// What belongs to an event, and its checksum.
fn body_of(connection: &Connection, event: &Event) -> Result<(Body, Option<Hash>), LedgerError> {
    let lacking = |what: &str| LedgerError::damaged(format!("the {what} of event {} is missing", event.seq));
    // An answer that had come before its turn belongs to the event of its coming.
    let at = event.about.unwrap_or(event.seq);
    let body = match (event.kind, event.ticket) {
        (Kind::Asked, Some(ticket)) => {
            let question = question(connection, ticket)?.ok_or_else(|| lacking("question"))?;
            Body::Question { why: question.why, wants: question.wants, point: question.point }
        }
        (Kind::Held | Kind::Answered | Kind::Late, Some(_)) => {
            Body::Answer(answer(connection, at)?.ok_or_else(|| lacking("answer"))?)
        }
        _ => return Ok((Body::Nothing, None)),
    };
    let (Some(ticket), Some(user)) = (event.ticket, event.user) else {
        return Err(lacking("user"));
    };
    let checksum = checksum(at, ticket, user, body.details());
    let (sql, key) = match event.kind {
        Kind::Asked => ("SELECT checksum FROM questions WHERE ticket = ?", ticket as i64),
        _ => ("SELECT checksum FROM answers WHERE seq = ?", at),
    };
    match connection.prepare_cached(sql)?.query_row([key], |row| row.get::<_, Hash>(0)).optional()? {
        written if written == checksum => Ok((body, checksum.filter(|_| event.about.is_none()))),
        _ => Err(LedgerError::damaged(format!("what belongs to event {} is not what was written", event.seq))),
    }
}

/// A question as the file has it.
pub(crate) struct Asked {
    pub user: usize,
    pub why: Why,
    pub wants: Detail,
    pub point: Vec<f64>,
}

/// Tickets that somebody made up may be larger than any that a row can hold.
pub(crate) fn question(connection: &Connection, ticket: u64) -> Result<Option<Asked>, LedgerError> {
    let Ok(number) = i64::try_from(ticket) else {
        return Ok(None);
    };
    let mut query = connection.prepare_cached("SELECT user, why, wants, point FROM questions WHERE ticket = ?")?;
    let row = |row: &rusqlite::Row<'_>| {
        Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?, row.get::<_, String>(2)?, row.get::<_, Vec<u8>>(3)?))
    };
    let Some((user, why, wants, point)) = query.query_row([number], row).optional()? else {
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

pub(crate) fn detail(word: &str) -> Option<Detail> {
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
    let gradient = many("gradient")?.ok_or_else(wrong)?;
    if row.get::<_, f64>("length")?.to_bits() != length(&gradient).to_bits() {
        return Err(wrong());
    }
    Ok(Some(Reply {
        gradient,
        loss: row.get("loss")?,
        hessian: many("hessian")?,
        variance: many("variance")?,
        weight: row.get("weight")?,
        cost: row.get("cost")?,
        privacy: privacy.0.zip(privacy.1).map(|(sensitivity, noise)| Privacy { sensitivity, noise }),
    }))
}

/// The answer to a question, if there is one.
pub(crate) fn answer_to(connection: &Connection, ticket: u64) -> Result<Option<Reply>, LedgerError> {
    let sql = "SELECT COALESCE(about, seq) FROM events WHERE ticket = ? AND kind IN ('answered', 'late') LIMIT 1";
    let seq: Option<i64> = connection.prepare_cached(sql)?.query_row([ticket as i64], |row| row.get(0)).optional()?;
    seq.map(|seq| answer(connection, seq)).transpose().map(Option::flatten)
}

/// A user's last answer and, where the record says that it is odd, the last one that is not; and the points of both.
pub(crate) fn last_answers(connection: &Connection, user: usize) -> Result<Vec<(Vec<f64>, Reply)>, LedgerError> {
    let is_odd = "EXISTS (SELECT 1 FROM events e WHERE e.ticket = a.ticket AND e.kind = 'flagged')";
    // Not those that wait for their turn, or were refused then.
    let is_taken = "EXISTS (SELECT 1 FROM events e WHERE e.ticket = a.ticket AND e.kind IN ('answered', 'late') \
                    AND COALESCE(e.about, e.seq) = a.seq)";
    let sql = format!("SELECT ticket, seq, {is_odd} FROM answers a WHERE user = ? AND {is_taken} ORDER BY seq DESC");
    let mut query = connection.prepare_cached(&sql)?;
    let mut rows = query.query([user as i64])?;
    let mut answers = Vec::new();
    while let Some(row) = rows.next()? {
        let (ticket, seq, is_odd): (i64, i64, bool) = (row.get(0)?, row.get(1)?, row.get(2)?);
        if is_odd && !answers.is_empty() {
            continue;
        }
        if let (Some(asked), Some(reply)) = (question(connection, ticket as u64)?, answer(connection, seq)?) {
            answers.push((asked.point, reply));
        }
        if !is_odd {
            break;
        }
    }
    Ok(answers)
}
