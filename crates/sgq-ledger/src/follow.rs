//! A session that somebody else runs, followed event by event.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use rusqlite::Connection;
use sgq::{Session, Why};
use sgq_data::Encoding;

use crate::{
    Account, Event, Kind, LedgerError, Protection, Question, Reader, StudyStatus, Terms, User,
    ledger::{questions, shared},
    missing::{Missing, missing},
    read,
    record::{self, Body, Header, Recorded, hex},
    restore::{Parting, Restored, Spent, Tickets, apply, beginning, restore, stop_words},
    rounds::{Rounds, of_ticket},
    schema,
    study::Sources,
};

/// One look stops after so many bytes of points and answers: a reader that holds on to one state of the file keeps its writer's log
/// from being moved into the file.
const BYTES_AT_ONCE: usize = 8 << 20;

/// A session as its record has it, which goes on as the record grows.
///
/// # Contract
///
/// It only reads: the file is open during a call and not between calls, and no call holds on to a state of the file for longer than
/// it takes to read as many events as the call was told. What it holds is the session, and not the record.
#[derive(Debug)]
pub struct Follower {
    path: PathBuf,
    header: Arc<Header>,
    session: Session<'static>,
    tickets: Tickets,
    before: Spent,
    seq: i64,
    seal: Vec<u8>,
    rounds: Rounds,
    accounts: Vec<Account>,
    made_anew: Option<String>,
    lost: Option<String>,
}

/// How far a [`Follower`] has got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// There was no further event when it looked.
    UpToDate,
    /// There may be more.
    More,
    /// It cannot go on from where it is: the session was made anew, a study has got its model, or the file is another one. Open it again.
    Anew,
}

/// An event that is about to happen to a session, or has just happened.
#[derive(Debug)]
#[non_exhaustive]
pub struct Step<'a> {
    /// The event.
    pub event: &'a Event,
    /// Why the user is asked, where the event is a question.
    pub why: Option<Why>,
    /// The session.
    pub session: &'a Session<'static>,
    /// Whether it has happened.
    pub has_happened: bool,
    /// Whether the event is the last question in the record, as far as that is known.
    pub is_last_question: bool,
}

/// An event as a list has it: without what it was about.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Line {
    /// Its number.
    pub seq: i64,
    /// When it was.
    pub at: i64,
    /// What.
    pub kind: Kind,
    /// The question it is about, unless that was put to everybody.
    pub ticket: Option<u64>,
    /// The user it is about.
    pub user: Option<usize>,
    /// Why something failed, was refused or looked odd.
    pub words: Option<String>,
    /// What was billed.
    pub cost: Option<f64>,
    /// How many numbers came.
    pub numbers: Option<u64>,
    /// Why the user was asked, where it was.
    pub why: Option<Why>,
}

impl Follower {
    /// Where the session stands: by its last snapshot, and the events since then.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, LedgerError> {
        Self::begin(path.as_ref(), restore)
    }

    /// The session before its first event: of the whole record or, where it was made anew or a study got its model, of what came after
    /// that. It is for going through what happened: accounts and questions to everybody begin there too.
    pub fn from_beginning(path: impl AsRef<Path>) -> Result<Self, LedgerError> {
        let mut follower = Self::begin(path.as_ref(), beginning)?;
        follower.accounts.fill(Account::default());
        follower.rounds = Rounds::default();
        Ok(follower)
    }

    fn begin(
        path: &Path,
        restore: impl FnOnce(&Connection, &Header) -> Result<Restored, LedgerError>,
    ) -> Result<Self, LedgerError> {
        let reader = Reader::open(path)?;
        let lost = reader.lost().map(ToString::to_string);
        let (connection, header, rounds) = reader.into_parts();
        let read = || -> Result<_, LedgerError> {
            let (accounts, _) = read::accounts(&connection, &header)?;
            Ok((restore(&connection, &header)?, accounts))
        };
        let (restored, accounts) = read().map_err(|error| error.of(path))?;
        let Restored { session, tickets, before, seq, seal, made_anew, .. } = restored;
        let (path, header) = (path.into(), Arc::new(header));
        Ok(Self { path, header, session, tickets, before, seq, seal, rounds, accounts, made_anew, lost })
    }

    /// The session.
    pub fn session(&self) -> &Session<'static> {
        &self.session
    }

    /// The number of the last event that has happened to it.
    pub fn seq(&self) -> i64 {
        self.seq
    }

    /// The users, in order.
    pub fn users(&self) -> &[User] {
        &self.header.users
    }

    /// The terms of a study by a plan.
    pub fn terms(&self) -> Option<&Terms> {
        self.header.terms.as_deref()
    }

    /// The limits that the session keeps.
    pub fn protection(&self) -> &Protection {
        &self.header.protection
    }

    /// What each user has disclosed.
    pub fn accounts(&self) -> &[Account] {
        &self.accounts
    }

    /// Queries paid for, whatever version of the program asked them.
    pub fn queries(&self) -> u64 {
        self.before.queries + self.session.queries()
    }

    /// What they cost.
    pub fn cost(&self) -> f64 {
        self.before.cost + self.session.meter().cost()
    }

    /// How many numbers their answers held.
    pub fn numbers(&self) -> u64 {
        self.before.numbers + self.session.meter().numbers()
    }

    /// The budgets in queries, in cost and in numbers, of the whole record.
    pub fn budgets(&self) -> (Option<u64>, Option<f64>, Option<u64>) {
        let Self { session, before, .. } = self;
        (
            session.budget().map(|budget| budget + before.queries),
            session.cost_budget().map(|budget| budget + before.cost),
            session.numbers_budget().map(|budget| budget + before.numbers),
        )
    }

    /// Why the session is not exactly what the record has, if so: see [`Ledger::made_anew`](crate::Ledger::made_anew).
    pub fn made_anew(&self) -> Option<&str> {
        self.made_anew.as_deref()
    }

    /// What was written and is not there any more, if anybody could tell when it was opened.
    pub fn lost(&self) -> Option<&str> {
        self.lost.as_deref()
    }

    /// What the columns of a study's model are; none before everybody has answered the first question.
    pub fn encoding(&self) -> Option<&Encoding> {
        Some(&self.header.begun.as_deref()?.agreed.encoding)
    }

    /// A number that no other ledger is likely to have: see [`Ledger::number`](crate::Ledger::number).
    pub fn number(&self) -> u64 {
        self.header.number()
    }

    /// Why a user is not asked any more, where it has spent what it may disclose.
    pub fn spent(&self, user: usize) -> Option<String> {
        self.protection().is_spent(self.accounts.get(user)?)
    }

    /// Why the run ended, in words.
    pub fn stop_message(&self) -> Option<String> {
        self.session.stop_reason()?;
        let is_spent: Vec<bool> =
            self.accounts.iter().map(|account| self.protection().is_spent(account).is_some()).collect();
        stop_words(&self.session, self.before, self.users(), &is_spent)
    }

    /// Lets the next events happen, so many at most; `each` sees the session before and after each of them.
    pub fn catch_up(&mut self, most: usize, each: impl FnMut(&Step<'_>)) -> Result<Progress, LedgerError> {
        self.go_on(i64::MAX, most, each)
    }

    /// The same, as if the record ended with an event.
    pub fn go_on(&mut self, until: i64, most: usize, each: impl FnMut(&Step<'_>)) -> Result<Progress, LedgerError> {
        let path = self.path.clone();
        self.take(until, most, each).map_err(|error| error.of(&path))
    }

    fn take(&mut self, until: i64, most: usize, mut each: impl FnMut(&Step<'_>)) -> Result<Progress, LedgerError> {
        let connection = schema::open_to_read(&self.path)?;
        let Some((events, is_all)) = self.read(&connection, until, most)? else { return Ok(Progress::Anew) };
        let last_question = events.iter().rposition(|it| it.event.kind == Kind::Asked).filter(|_| is_all);
        for (place, recorded) in events.into_iter().enumerate() {
            let event = &recorded.event;
            if matches!(event.kind, Kind::Begun | Kind::Rebuilt) {
                return Ok(Progress::Anew);
            }
            let why = match &recorded.body {
                Body::Question { why, .. } => Some(*why),
                _ => None,
            };
            let is_last_question = last_question == Some(place);
            each(&Step { event, why, session: &self.session, has_happened: false, is_last_question });
            match apply(&connection, &mut self.session, self.tickets, &recorded) {
                Ok(()) => {}
                Err(Parting::Otherwise(_)) => return Ok(Progress::Anew),
                Err(Parting::Error(error)) => return Err(error),
            }
            self.note(&recorded)?;
            (self.seq, self.seal) = (event.seq, event.seal.clone());
            each(&Step { event, why, session: &self.session, has_happened: true, is_last_question });
        }
        Ok(if is_all { Progress::UpToDate } else { Progress::More })
    }

    /// The next events, and whether these are all; none where the file is another one by now.
    fn read(
        &self,
        connection: &Connection,
        until: i64,
        most: usize,
    ) -> Result<Option<(Vec<Recorded>, bool)>, LedgerError> {
        let state = connection.unchecked_transaction()?;
        let (seal, last): (String, i64) = state.query_row(
            "SELECT (SELECT value FROM ledger WHERE name = 'seal'), (SELECT COALESCE(MAX(seq), 0) FROM events)",
            [],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )?;
        if seal != hex(&self.header.seal) || last < self.seq {
            return Ok(None);
        }
        let last = last.min(until);
        let (mut events, mut bytes) = (Vec::new(), 0);
        record::events_while(&state, self.seq, &self.seal, |recorded| {
            if recorded.event.seq > last {
                return Ok(false);
            }
            bytes += match &recorded.body {
                Body::Nothing => 0,
                Body::Question { point, .. } => size_of_val(&**point),
                Body::Answer(reply) => size_of_val(&*reply.gradient),
            };
            events.push(recorded);
            Ok(events.len() < most && bytes < BYTES_AT_ONCE)
        })?;
        let is_all = events.last().map_or(self.seq, |recorded| recorded.event.seq) >= last;
        Ok(Some((events, is_all)))
    }

    /// What changes beside the session.
    fn note(&mut self, recorded: &Recorded) -> Result<(), LedgerError> {
        let Recorded { event, body } = recorded;
        match (event.kind, body, event.user) {
            (Kind::Answered | Kind::Late, Body::Answer(reply), Some(user)) => {
                let account = self.accounts.get_mut(user);
                let account = account.ok_or_else(|| LedgerError::damaged("an answer is of nobody"))?;
                account.add(event.numbers.unwrap_or(0), reply.privacy);
            }
            (Kind::Reported, _, Some(user)) => {
                if let Some(account) = self.accounts.get_mut(user) {
                    account.numbers += event.numbers.unwrap_or(0);
                }
            }
            _ => {}
        }
        if self.header.terms.is_some() { self.rounds.happen(event) } else { Ok(()) }
    }

    /// Where a study by a plan stands.
    pub fn study(&self) -> Result<Option<StudyStatus>, LedgerError> {
        if self.header.terms.is_none() {
            return Ok(None);
        }
        let connection = schema::open_to_read(&self.path)?;
        read::study_status(&self.sources(&connection))
    }

    fn sources<'a>(&'a self, connection: &'a Connection) -> Sources<'a> {
        let Self { header, rounds, session, before, .. } = self;
        Sources { connection, header, rounds, session, before: *before }
    }

    /// Users who are part of the objective and cannot be asked: see [`Status::missing`](crate::Status::missing).
    pub fn missing(&self) -> Result<Vec<Missing>, LedgerError> {
        let connection = schema::open_to_read(&self.path)?;
        missing(&connection, &self.header, &self.session, &self.accounts).map_err(|error| error.of(&self.path))
    }

    /// The questions that are out, in the order in which they were asked. When they were asked is not looked up.
    pub fn pending(&self) -> Result<Vec<Question>, LedgerError> {
        let connection = schema::open_to_read(&self.path)?;
        let shared = shared(&self.header);
        let open = self.sources(&connection).open_round();
        let mut all = open.map_or_else(Vec::new, |(round, waits)| questions(round, waits, self.users(), &shared));
        let tickets = self.tickets;
        all.extend(
            self.session.pending().map(|query| read::pending_question(query, tickets, 0, self.users(), &shared)),
        );
        Ok(all)
    }

    /// The events after one, in order, so many at most; returns whether there may be more.
    pub fn lines(&self, after: i64, most: usize, mut each: impl FnMut(Line)) -> Result<bool, LedgerError> {
        let connection = schema::open_to_read(&self.path)?;
        let sql = "SELECT e.seq, e.at, e.kind, e.ticket, e.user, CASE WHEN e.kind IN ('failed', 'refused', 'flagged') THEN e.words END, \
                   e.cost, e.numbers, q.why FROM events e LEFT JOIN questions q ON q.ticket = e.ticket AND q.seq = e.seq \
                   WHERE e.seq > ? ORDER BY e.seq LIMIT ?";
        let mut query = connection.prepare(sql)?;
        let mut rows = query.query((after, most as i64))?;
        let mut found = 0;
        while let Some(row) = rows.next()? {
            each(line(row)?);
            found += 1;
        }
        Ok(found == most)
    }

    /// Events of these kinds before one, the last one first, so many at most; of all kinds where none is named.
    pub fn events_before(&self, before: i64, kinds: &[Kind], most: usize) -> Result<Vec<Event>, LedgerError> {
        let connection = schema::open_to_read(&self.path)?;
        let words: Vec<String> = kinds.iter().map(|kind| format!("'{kind}'")).collect();
        let of_kinds = if words.is_empty() { String::new() } else { format!("AND kind IN ({})", words.join(", ")) };
        let sql = format!("SELECT * FROM events WHERE seq < ? {of_kinds} ORDER BY seq DESC LIMIT ?");
        let mut query = connection.prepare(&sql)?;
        let mut rows = query.query((before, most as i64))?;
        let mut events = Vec::new();
        while let Some(row) = rows.next()? {
            events.push(Event::from_row(row)?);
        }
        Ok(events)
    }

    /// Some coordinates of the points of these questions; none of those that are not there.
    pub fn points(&self, tickets: &[u64], coordinates: &[usize]) -> Result<Vec<Option<Vec<f64>>>, LedgerError> {
        let connection = schema::open_to_read(&self.path)?;
        let mut query = connection.prepare("SELECT point FROM questions WHERE ticket = ?")?;
        let mut points = Vec::with_capacity(tickets.len());
        for ticket in tickets {
            let mut rows = query.query([i64::try_from(*ticket).unwrap_or(-1)])?;
            let Some(row) = rows.next()? else {
                points.push(None);
                continue;
            };
            let wrong = || LedgerError::damaged(format!("question {ticket} makes no sense"));
            let point = row.get_ref(0)?.as_blob().map_err(|_| wrong())?;
            let (eights, _) = point.as_chunks::<8>();
            let at = |coordinate: &usize| eights.get(*coordinate).map(|eight| f64::from_le_bytes(*eight));
            points.push(Some(coordinates.iter().map(at).collect::<Option<Vec<f64>>>().ok_or_else(wrong)?));
        }
        Ok(points)
    }
}

/// How far a record is, without its session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Glance {
    /// The number of its last event.
    pub seq: i64,
    /// Queries paid for.
    pub queries: u64,
}

impl Glance {
    /// How far it is now; only what has been written since this glance is counted.
    pub fn again(self, path: impl AsRef<Path>) -> Result<Self, LedgerError> {
        let connection = schema::open_to_read(path.as_ref())?;
        let sql = "SELECT COALESCE(MAX(seq), ?1), COUNT(CASE WHEN cost IS NOT NULL AND kind IN ('answered', 'late', 'failed') THEN 1 END) \
                   FROM events WHERE seq > ?1";
        let (seq, more): (i64, i64) = connection.query_row(sql, [self.seq], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(Self { seq, queries: self.queries + more as u64 })
    }
}

fn line(row: &rusqlite::Row<'_>) -> Result<Line, LedgerError> {
    let seq: i64 = row.get(0)?;
    let wrong = || LedgerError::damaged(format!("event {seq} makes no sense"));
    let word: String = row.get(2)?;
    let (ticket, user, numbers): (Option<i64>, Option<i64>, Option<i64>) = (row.get(3)?, row.get(4)?, row.get(7)?);
    let why: Option<String> = row.get(8)?;
    let ticket = ticket.map(u64::try_from).transpose().map_err(|_| wrong())?;
    Ok(Line {
        seq,
        at: row.get(1)?,
        kind: Kind::ALL.into_iter().find(|kind| kind.word() == word).ok_or_else(wrong)?,
        ticket: ticket.filter(|ticket| of_ticket(*ticket).is_none()),
        user: user.map(usize::try_from).transpose().map_err(|_| wrong())?,
        words: row.get(5)?,
        cost: row.get(6)?,
        numbers: numbers.map(u64::try_from).transpose().map_err(|_| wrong())?,
        why: why.and_then(|why| Why::ALL.into_iter().find(|it| it.word() == why)),
    })
}
