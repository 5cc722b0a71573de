//! A session that survives: every event is on the disk before it takes effect.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use rusqlite::Connection;
use serde::{Deserialize, Serialize};
use sgq::{
    Detail, Fate, Method, PaidAnswer, Query, Session, Settings, SettingsError, StopReason, Why, session::Failure,
};

use crate::{
    Account, Event, Kind, LedgerError, Plan, Policy, Protection, Rejected, Reply, User,
    lock::{Lock, beside},
    read,
    record::{self, Header, length},
    restore::{PROGRAM, Restored, Spent, Tickets, restore},
    schema,
    seal::{Details, seal},
};

/// A snapshot is written after so many events, if as many bytes were written as it has: reading it back is to be quicker than going
/// through them again.
const EVENTS_PER_SNAPSHOT: u64 = 500;
/// At the end of a program, after so many.
const EVENTS_PER_LAST_SNAPSHOT: u64 = 50;
/// No snapshot is larger: SQLite has a limit for a row.
const LARGEST_SNAPSHOT: usize = 512 << 20;
/// What is kept of an answer that was refused.
const KEPT_OF_REFUSED: usize = 300;

/// A [`Session`] on a file: see the [crate](crate).
///
/// # Contract
///
/// What a call returns is on the disk. A question is written before it is returned; an answer before the session uses it. Where the
/// disk refuses, the call fails and the ledger is stale: nothing that was on the disk is lost, and opening it again goes on from there.
#[derive(Debug)]
pub struct Ledger {
    path: PathBuf,
    connection: Connection,
    header: Header,
    session: Session<'static>,
    tickets: Tickets,
    before: Spent,
    by_name: BTreeMap<String, usize>,
    accounts: Vec<Account>,
    /// The length of each user's longest answer.
    longest: Vec<f64>,
    /// When each question that is out was asked.
    asked_at: BTreeMap<u64, i64>,
    seq: i64,
    seal: Vec<u8>,
    /// `ask` found nobody, and nothing has happened since.
    asked_in_vain: bool,
    /// That is not on the disk yet: it will be with the next event.
    vain_unwritten: bool,
    since_snapshot: u64,
    bytes_since_snapshot: u64,
    last_snapshot: u64,
    in_group: bool,
    is_stale: bool,
    made_anew: Option<String>,
    lock: Lock,
}

/// A question that is out.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Question {
    /// What to give back with the answer.
    pub ticket: u64,
    /// The user to ask, from 0.
    pub user: usize,
    /// Its name.
    pub name: String,
    /// Where its gradient is wanted.
    pub point: Arc<[f64]>,
    /// What would be of use beside the gradient.
    pub wants: Detail,
    /// Why this user.
    pub why: Why,
    /// Whether it was picked at random in order to explore; none for methods without exploration.
    pub explored: Option<bool>,
    /// When it was asked, in milliseconds since 1970.
    pub asked_at: i64,
}

/// What became of an answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Told {
    /// It was taken.
    Taken,
    /// It was taken, though its question had failed or been withdrawn.
    Late,
    /// It was told before: nothing changes.
    Known,
    /// It was taken, and is odd.
    Flagged(String),
}

/// More of a budget, or another tolerance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Extension {
    /// So many queries more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queries: Option<u64>,
    /// So much more cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// So many numbers more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub numbers: Option<u64>,
    /// Stops once so much of the gap is believed to remain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tolerance: Option<f64>,
    /// Stops once the gap is proven to be at most this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certified_gap: Option<f64>,
}

impl Extension {
    pub(crate) fn apply(&self, session: &mut Session<'_>) -> Result<(), SettingsError> {
        if let Some(part) = self.tolerance {
            session.extend_to_tolerance(part)?;
        }
        if let Some(gap) = self.certified_gap {
            session.extend_to_certified_gap(gap)?;
        }
        self.queries.iter().for_each(|queries| session.extend(*queries));
        self.cost.iter().for_each(|cost| session.extend_cost(*cost));
        self.numbers.iter().for_each(|numbers| session.extend_numbers(*numbers));
        Ok(())
    }

    /// The same of settings that no session has yet.
    pub(crate) fn change(&self, settings: &mut Settings) {
        settings.budget = settings.budget.map(|it| it.saturating_add(self.queries.unwrap_or(0)));
        settings.cost_budget = settings.cost_budget.map(|it| it + self.cost.unwrap_or(0.0));
        settings.numbers_budget = settings.numbers_budget.map(|it| it.saturating_add(self.numbers.unwrap_or(0)));
        if self.tolerance.is_some() || self.certified_gap.is_some() {
            (settings.tolerance, settings.certified_gap) = (self.tolerance, self.certified_gap);
        }
    }
}

impl Ledger {
    /// Makes a new file for a session. A file that is there is never touched.
    pub fn create(path: impl AsRef<Path>, plan: &Plan) -> Result<Self, LedgerError> {
        let path = path.as_ref();
        plan.protection.check()?;
        let settings = plan.checked_settings()?;
        // Whatever is wrong with it is to be found before there is a file.
        Session::new(plan.method.clone(), settings.clone())?;
        if path.exists() {
            let error = std::io::Error::new(std::io::ErrorKind::AlreadyExists, "there is a file of that name already");
            return Err(LedgerError::file(path, error));
        }
        let lock = Lock::take(path)?;
        let connection = schema::create(path)?;
        let written = connection
            .execute_batch("BEGIN IMMEDIATE")
            .map_err(LedgerError::from)
            .and_then(|()| Header::write(&connection, plan, &settings))
            .and_then(|()| Ok(connection.execute_batch("COMMIT")?));
        if let Err(error) = written {
            drop(connection);
            let _ = std::fs::remove_file(path);
            return Err(error);
        }
        Self::begin(path, connection, lock)
    }

    /// Goes on with the session of a file, exactly where it was.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, LedgerError> {
        let path = path.as_ref();
        let lock = match path.exists() {
            // Somebody who mistypes a name gets no lock file for it.
            false => return Err(LedgerError::file(path, std::io::ErrorKind::NotFound.into())),
            true => Lock::take(path)?,
        };
        let log_is_there = beside(path, "-wal").exists();
        let connection = schema::open(path)?;
        let in_use: bool =
            connection.query_row("SELECT COUNT(*) > 0 FROM ledger WHERE name = 'in use'", [], |row| row.get(0))?;
        if in_use && !log_is_there {
            return Err(LedgerError::LostLog { path: path.into() });
        }
        Self::begin(path, connection, lock)
    }

    fn begin(path: &Path, connection: Connection, lock: Lock) -> Result<Self, LedgerError> {
        // In the file itself, and not in its log: whoever finds it so without a log knows that the log was lost.
        connection.execute("INSERT OR REPLACE INTO ledger (name, value) VALUES ('in use', '')", [])?;
        schema::checkpoint(&connection)?;
        let header = Header::read(&connection)?;
        let restored = restore(&connection, &header)?;
        let users = header.users.len();
        let (accounts, longest) = read::accounts(&connection, users)?;
        let asked_at = read::asked_at(&connection)?;
        let Restored { session, tickets, before, seq, seal, replayed, made_anew } = restored;
        let mut ledger = Self {
            path: path.into(),
            by_name: header.users.iter().enumerate().map(|(index, user)| (user.name.clone(), index)).collect(),
            connection,
            header,
            session,
            tickets,
            before,
            accounts,
            longest,
            asked_at,
            seq,
            seal,
            asked_in_vain: false,
            vain_unwritten: false,
            since_snapshot: replayed,
            bytes_since_snapshot: 0,
            last_snapshot: 0,
            in_group: false,
            is_stale: false,
            made_anew,
            lock,
        };
        if let Some(why) = ledger.made_anew.clone() {
            ledger.record_rebuilt(&why)?;
        }
        Ok(ledger)
    }

    /// What this version could not go on with is withdrawn.
    fn record_rebuilt(&mut self, why: &str) -> Result<(), LedgerError> {
        let out: Vec<u64> = std::mem::take(&mut self.asked_at).into_keys().collect();
        self.transaction(|ledger| {
            for ticket in out {
                let user = record::question(&ledger.connection, ticket)?.map(|asked| asked.user);
                let event = Event { ticket: Some(ticket), user, ..Event::now(Kind::Withdrawn) };
                ledger.write(event, Details::Nothing)?;
            }
            let words = Some(format!("{PROGRAM}: {why}"));
            ledger.write(Event { words, ..Event::now(Kind::Rebuilt) }, Details::Nothing)
        })
    }

    /// The session, to look at.
    pub fn session(&self) -> &Session<'static> {
        &self.session
    }

    /// Its file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Everybody, in order.
    pub fn users(&self) -> &[User] {
        &self.header.users
    }

    /// The method.
    pub fn method(&self) -> &Method {
        &self.header.method
    }

    /// The settings that it was made with.
    pub fn settings(&self) -> &Settings {
        &self.header.settings
    }

    /// A number that no other ledger is likely to have, the same whenever it is opened.
    pub fn number(&self) -> u64 {
        self.header.number()
    }

    /// The limits that it keeps.
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

    /// Why the run ended.
    pub fn stop_reason(&self) -> Option<StopReason> {
        self.session.stop_reason()
    }

    /// Why the session was made anew from its answers when it was opened, if it was: this version of the program would have asked
    /// otherwise.
    pub fn made_anew(&self) -> Option<&str> {
        self.made_anew.as_deref()
    }

    /// A user by name.
    pub fn user(&self, name: &str) -> Result<usize, LedgerError> {
        let names = || self.users().iter().map(|user| user.name.clone()).collect();
        self.by_name
            .get(name)
            .copied()
            .ok_or_else(|| LedgerError::UnknownUser { name: name.to_owned(), names: names() })
    }

    /// The questions that are out, in the order in which they were asked.
    pub fn pending(&self) -> Vec<Question> {
        self.session.pending().map(|query| self.question(query)).collect()
    }

    fn question(&self, query: Query) -> Question {
        let Query { ticket, user, point, wants, why, explored, .. } = query;
        let ticket = self.tickets.of_record(ticket);
        let asked_at = self.asked_at.get(&ticket).copied().unwrap_or(0);
        Question { ticket, user, name: self.users()[user].name.clone(), point, wants, why, explored, asked_at }
    }

    /// Whom to ask next, and where, as [`Session::ask`]: it is on the disk before it is returned.
    pub fn ask(&mut self) -> Result<Option<Question>, LedgerError> {
        self.check_fresh()?;
        if self.session.must_wait() || self.asked_in_vain {
            return Ok(None);
        }
        let next = self.session.next_ticket();
        match self.session.ask()? {
            Some(query) if query.ticket == next => {
                let ticket = Some(self.tickets.of_record(query.ticket));
                let event = Event { ticket, user: Some(query.user), ..Event::now(Kind::Asked) };
                let at = event.at;
                let Query { why, wants, .. } = query;
                let details = Details::Question { why, wants, point: &query.point };
                self.transaction(|ledger| ledger.write(event, details))?;
                ticket.map(|ticket| self.asked_at.insert(ticket, at));
                Ok(Some(self.question(query)))
            }
            // Where one question may be out, it is given again.
            Some(query) => Ok(Some(self.question(query))),
            None => {
                (self.asked_in_vain, self.vain_unwritten) = (true, true);
                if self.session.stop_reason().is_some() {
                    self.flush()?;
                }
                Ok(None)
            }
        }
    }

    /// As many further questions as may be out, at most so many, in one write.
    pub fn ask_many(&mut self, most: usize) -> Result<Vec<Question>, LedgerError> {
        self.group(|ledger| {
            let mut questions: Vec<Question> = Vec::new();
            while questions.len() < most
                && let Some(question) = ledger.ask()?
            {
                if questions.last().is_some_and(|last| last.ticket == question.ticket) {
                    break;
                }
                questions.push(question);
            }
            Ok(questions)
        })
    }

    /// The questions that are out, and further ones until there are so many.
    pub fn questions(&mut self, count: usize) -> Result<Vec<Question>, LedgerError> {
        let out = self.session.pending().len();
        if out < count {
            self.ask_many(count - out)?;
        }
        let mut questions = self.pending();
        questions.truncate(count);
        Ok(questions)
    }

    /// Takes the answer to a question, as [`Session::tell`]: it is on the disk before the session uses it. One that cannot be taken is
    /// recorded with the reason, and its question stays open.
    pub fn tell(&mut self, ticket: u64, reply: &Reply) -> Result<Told, LedgerError> {
        self.tell_from(ticket, reply, None, false)
    }

    /// The same, where it is known who sent it: an answer for somebody else's question is refused. A person who has looked at an answer
    /// that is out of line may have it `accepted`.
    pub fn tell_from(
        &mut self,
        ticket: u64,
        reply: &Reply,
        sender: Option<usize>,
        accepted: bool,
    ) -> Result<Told, LedgerError> {
        self.check_fresh()?;
        match self.look_at(ticket, reply, sender, accepted) {
            Ok(looked) => self.take(ticket, reply, looked),
            Err(LedgerError::Rejected(rejected)) => {
                let came = || {
                    let shown: Vec<String> = reply.gradient.iter().take(4).map(|it| format!("{it:e}")).collect();
                    format!("a gradient of {} numbers: {} …", reply.gradient.len(), shown.join(", "))
                };
                self.refuse(Some(ticket), sender, &rejected, &came())?;
                Err(rejected.into())
            }
            Err(error) => Err(error),
        }
    }

    /// Records something that came from a user and is no answer.
    pub fn refuse(
        &mut self,
        ticket: Option<u64>,
        user: Option<usize>,
        why: &Rejected,
        came: &str,
    ) -> Result<(), LedgerError> {
        let end = came.char_indices().nth(KEPT_OF_REFUSED).map_or(came.len(), |(end, _)| end);
        let words = Some(format!("{why} | {}", &came[..end]));
        // Tickets that somebody made up may be larger than any that a row can hold.
        let ticket = ticket.filter(|ticket| i64::try_from(*ticket).is_ok());
        self.record(Event { ticket, user, words, ..Event::now(Kind::Refused) })
    }

    /// Whether an answer can be taken, and how.
    fn look_at(
        &self,
        ticket: u64,
        reply: &Reply,
        sender: Option<usize>,
        accepted: bool,
    ) -> Result<Looked, LedgerError> {
        let unknown = || Rejected::UnknownTicket { ticket };
        let asked =
            i64::try_from(ticket).ok().map(|_| record::question(&self.connection, ticket)).transpose()?.flatten();
        let asked = asked.ok_or_else(unknown)?;
        if let Some(sender) = sender.filter(|sender| *sender != asked.user) {
            let name = |user: usize| self.users().get(user).map_or_else(|| user.to_string(), |it| it.name.clone());
            return Err(Rejected::OtherUser { ticket, right: name(asked.user), wrong: name(sender) }.into());
        }
        if let Some(what) = reply.is_too_large() {
            return Err(Rejected::Unreadable(what).into());
        }
        let fate = match self.tickets.of_session(ticket) {
            Some(inner) => self.session.preview(inner, reply.answer()).map_err(Rejected::from)?,
            None => self.fate_of_withdrawn(ticket, &asked, reply)?,
        };
        let odd = match fate {
            Fate::Known => None,
            _ => self.is_odd(&asked, reply)?.filter(|(policy, _)| *policy != Policy::Ignore),
        };
        match odd {
            Some((Policy::Refuse, why)) if !accepted => Err(Rejected::OutOfLine(why).into()),
            odd => Ok(Looked { user: asked.user, point: asked.point, fate, odd: odd.map(|(_, why)| why) }),
        }
    }

    /// An answer to a question of a session that was made anew since then.
    fn fate_of_withdrawn(&self, ticket: u64, asked: &record::Asked, reply: &Reply) -> Result<Fate, LedgerError> {
        let sql = "SELECT seq FROM answers WHERE ticket = ? LIMIT 1";
        let taken: Option<i64> = {
            let mut query = self.connection.prepare_cached(sql)?;
            let mut rows = query.query([ticket as i64])?;
            rows.next()?.map(|row| row.get(0)).transpose()?
        };
        match taken {
            Some(seq) if record::answer(&self.connection, seq)?.as_ref() == Some(reply) => Ok(Fate::Known),
            Some(_) => {
                Err(Rejected::Earlier(format!("the question with ticket {ticket} already has another answer")).into())
            }
            None if reply.gradient.len() != asked.point.len() || reply.gradient.iter().any(|it| !it.is_finite()) => {
                let dim = asked.point.len();
                Err(Rejected::Earlier(format!("the gradient must have {dim} finite numbers")).into())
            }
            None => Ok(Fate::Late),
        }
    }

    /// Whether an answer is out of line, and what is done with such.
    fn is_odd(&self, asked: &record::Asked, reply: &Reply) -> Result<Option<(Policy, String)>, LedgerError> {
        let protection = &self.header.protection;
        let user = asked.user;
        let size = length(&reply.gradient);
        let others = self.longest.iter().enumerate().filter(|(other, _)| *other != user).map(|(_, length)| *length);
        let longest = others.fold(0.0, f64::max);
        if protection.length != Policy::Ignore
            && let Some(why) = protection.is_too_long(size, longest)
        {
            return Ok(Some((protection.length, why)));
        }
        // An answer with noise of its own may break it, and says so.
        let exact = reply.variance.is_none() && protection.smoothness != Policy::Ignore;
        if let (Some(smoothness), true) = (self.users()[user].smoothness, exact)
            && let Some((point, gradient)) = record::last_answer(&self.connection, user)?
        {
            let distance =
                |one: &[f64], other: &[f64]| length(&one.iter().zip(other).map(|(a, b)| a - b).collect::<Vec<f64>>());
            let (change, way) = (distance(&reply.gradient, &gradient), distance(&asked.point, &point));
            let size = size.max(length(&gradient));
            return Ok(protection
                .breaks_smoothness(change, smoothness, way, size)
                .map(|why| (protection.smoothness, why)));
        }
        Ok(None)
    }

    fn take(&mut self, ticket: u64, reply: &Reply, looked: Looked) -> Result<Told, LedgerError> {
        let Looked { user, point, fate, odd } = looked;
        let about = |kind, words| Event { ticket: Some(ticket), user: Some(user), words, ..Event::now(kind) };
        if fate == Fate::Known {
            self.record(about(Kind::Noted, Some("the same answer came again".to_owned())))?;
            return Ok(Told::Known);
        }
        let numbers = reply.answer().numbers();
        let mut account = self.accounts[user];
        account.add(numbers, reply.privacy);
        let spent = self.header.protection.is_spent(&account).filter(|_| !self.session.is_away(user));
        let billed = !(fate == Fate::Late && self.was_billed(ticket)?);
        let kind = if fate == Fate::Late { Kind::Late } else { Kind::Answered };
        let cost = reply.cost.unwrap_or_else(|| self.session.meter().cost_of(user));
        let event = Event { cost: billed.then_some(cost), numbers: Some(numbers), ..about(kind, None) };
        self.transaction(|ledger| {
            ledger.write(event, Details::Answer(reply))?;
            if let Some(why) = &odd {
                ledger.write(about(Kind::Flagged, Some(why.clone())), Details::Nothing)?;
            }
            if let Some(why) = &spent {
                ledger.write(Event { ticket: None, ..about(Kind::Away, Some(why.clone())) }, Details::Nothing)?;
            }
            Ok(())
        })?;
        // From here on nothing can fail: it was looked at before.
        match self.tickets.of_session(ticket) {
            Some(inner) => self.session.tell(inner, reply.answer()).map_err(|error| self.behind(&error))?,
            None => {
                let paid = PaidAnswer::new(user, &point, reply.answer());
                self.session.tell_unasked(&paid).map_err(|error| self.behind(&error))?;
            }
        }
        if spent.is_some() {
            self.session.away(user)?;
        }
        self.accounts[user] = account;
        self.longest[user] = self.longest[user].max(length(&reply.gradient));
        self.asked_at.remove(&ticket);
        self.snapshot_if_due()?;
        Ok(match (odd, fate) {
            (Some(why), _) => Told::Flagged(why),
            (None, Fate::Late) => Told::Late,
            (None, _) => Told::Taken,
        })
    }

    /// What is on the disk did not happen here.
    fn behind(&mut self, error: &dyn std::error::Error) -> LedgerError {
        self.is_stale = true;
        LedgerError::damaged(format!("a recorded event could not happen ({error})"))
    }

    /// Whether a question that failed was paid for all the same.
    fn was_billed(&self, ticket: u64) -> Result<bool, LedgerError> {
        let sql = "SELECT COUNT(*) > 0 FROM events WHERE kind = 'failed' AND ticket = ? AND cost IS NOT NULL";
        Ok(self.connection.query_row(sql, [ticket as i64], |row| row.get(0))?)
    }

    /// Says that a question will not be answered, as [`Session::fail_with`].
    pub fn fail(&mut self, ticket: u64, failure: Failure<'_>) -> Result<(), LedgerError> {
        self.check_fresh()?;
        let out = self.session.pending().find(|query| self.tickets.of_record(query.ticket) == ticket);
        let Some(query) = out else {
            // Somebody who left, a failure told twice, or a slip.
            let known =
                i64::try_from(ticket).ok().map(|_| record::question(&self.connection, ticket)).transpose()?.flatten();
            return known.map(drop).ok_or(LedgerError::UnknownTicket { ticket });
        };
        let cost = failure.billed.then(|| self.session.meter().cost_of(query.user));
        let words = failure.reason.map(str::to_owned);
        self.record(Event { ticket: Some(ticket), user: Some(query.user), words, cost, ..Event::now(Kind::Failed) })?;
        self.session.fail_with(query.ticket, failure).map_err(|error| self.behind(&error))?;
        self.asked_at.remove(&ticket);
        Ok(())
    }

    /// Says that a user cannot be asked until it is back, as [`Session::away`].
    pub fn away(&mut self, user: usize, reason: Option<&str>) -> Result<(), LedgerError> {
        self.member(Kind::Away, user, reason, |session| Ok(session.away(user)?))
    }

    /// Says that a user can be asked again, as [`Session::back`].
    pub fn back(&mut self, user: usize, reason: Option<&str>) -> Result<(), LedgerError> {
        self.member(Kind::Back, user, reason, |session| Ok(session.back(user)?))
    }

    /// Says that a user is no longer one, as [`Session::leave`].
    pub fn leave(&mut self, user: usize, reason: Option<&str>) -> Result<(), LedgerError> {
        self.member(Kind::Left, user, reason, |session| Ok(session.leave(user)?))
    }

    /// Says that a user who had left is one again, as [`Session::join`].
    pub fn join(&mut self, user: usize, reason: Option<&str>) -> Result<(), LedgerError> {
        self.member(Kind::Joined, user, reason, |session| Ok(session.join(user)?))
    }

    /// These may be refused, and only the session knows: a copy of it is tried first.
    fn member(
        &mut self,
        kind: Kind,
        user: usize,
        reason: Option<&str>,
        happen: impl Fn(&mut Session<'static>) -> Result<(), LedgerError>,
    ) -> Result<(), LedgerError> {
        self.check_fresh()?;
        if kind == Kind::Left {
            happen(&mut self.copy()?)?;
        }
        let words = reason.map(str::to_owned);
        if user >= self.users().len() {
            let names = self.users().iter().map(|user| user.name.clone()).collect();
            return Err(LedgerError::UnknownUser { name: user.to_string(), names });
        }
        self.record(Event { user: Some(user), words, ..Event::now(kind) })?;
        happen(&mut self.session)?;
        self.asked_at.retain(|ticket, _| {
            let inner = self.tickets.of_session(*ticket);
            self.session.pending().any(|query| Some(query.ticket) == inner)
        });
        Ok(())
    }

    /// Raises a budget, or changes a tolerance.
    pub fn extend(&mut self, extension: Extension) -> Result<(), LedgerError> {
        self.check_fresh()?;
        extension.apply(&mut self.copy()?)?;
        let words = Some(serde_json::to_string(&extension)?);
        self.record(Event { words, ..Event::now(Kind::Extended) })?;
        extension.apply(&mut self.session)?;
        Ok(())
    }

    fn copy(&self) -> Result<Session<'static>, LedgerError> {
        let bytes = self.session.snapshot()?;
        let copy = Session::restore(self.header.method.clone(), &bytes, sgq::Sight::Blind);
        copy.map_err(|error| LedgerError::damaged(error.to_string()))
    }

    /// Writes a line for whoever reads the record; nothing else changes.
    pub fn note(&mut self, user: Option<usize>, words: &str) -> Result<(), LedgerError> {
        self.record(Event { user, words: Some(words.to_owned()), ..Event::now(Kind::Noted) })
    }

    /// Writes all that happens inside at once. Nothing that it returns may be shown to anybody before this returns: until then it is
    /// not on the disk.
    ///
    /// One write to the disk takes as long as another, however little it holds: several answers at once cost what one does.
    pub fn group<T>(&mut self, work: impl FnOnce(&mut Self) -> Result<T, LedgerError>) -> Result<T, LedgerError> {
        if self.in_group {
            return work(self);
        }
        self.check_fresh()?;
        self.begin_transaction()?;
        self.in_group = true;
        let result = work(self);
        self.in_group = false;
        // A refused answer has a row of its own, and does not undo the others.
        let committed = if self.is_stale { Err(LedgerError::Stale) } else { self.commit() };
        match (result, committed) {
            (Err(error), _) if self.is_stale => Err(error),
            (result, Ok(())) => result,
            (_, Err(error)) => Err(error),
        }
    }

    fn begin_transaction(&mut self) -> Result<(), LedgerError> {
        self.connection.execute_batch("BEGIN IMMEDIATE").map_err(|error| self.stale(error.into()))
    }

    fn commit(&mut self) -> Result<(), LedgerError> {
        self.connection.execute_batch("COMMIT").map_err(|error| self.stale(error.into()))
    }

    /// After an error of the disk, what is in memory may be ahead of it.
    fn stale(&mut self, error: LedgerError) -> LedgerError {
        self.is_stale = true;
        let _ = self.connection.execute_batch("ROLLBACK");
        error
    }

    fn check_fresh(&self) -> Result<(), LedgerError> {
        if !self.lock.is_of_this_process() {
            return Err(LedgerError::Forked { path: self.path.clone() });
        }
        if self.is_stale { Err(LedgerError::Stale) } else { Ok(()) }
    }

    fn record(&mut self, event: Event) -> Result<(), LedgerError> {
        self.transaction(|ledger| ledger.write(event, Details::Nothing))
    }

    fn transaction(&mut self, work: impl FnOnce(&mut Self) -> Result<(), LedgerError>) -> Result<(), LedgerError> {
        self.check_fresh()?;
        if !self.in_group {
            self.begin_transaction()?;
        }
        work(self).map_err(|error| self.stale(error))?;
        if self.in_group { Ok(()) } else { self.commit() }
    }

    /// Adds an event to the record, in a transaction.
    fn write(&mut self, mut event: Event, details: Details<'_>) -> Result<(), LedgerError> {
        if std::mem::take(&mut self.vain_unwritten) {
            self.write(Event::now(Kind::Waited), Details::Nothing)?;
        }
        event.seq = self.seq + 1;
        event.seal = seal(&self.seal, &event, details);
        record::write(&self.connection, &event, details)?;
        if event.kind.counts() && event.kind != Kind::Waited {
            self.asked_in_vain = false;
        }
        let numbers = match details {
            Details::Question { point, .. } => point.len() as u64,
            _ => event.numbers.unwrap_or(0),
        };
        self.since_snapshot += 1;
        self.bytes_since_snapshot += 8 * numbers;
        (self.seq, self.seal) = (event.seq, event.seal);
        Ok(())
    }

    /// Writes what `ask` has found out when it found nobody.
    fn flush(&mut self) -> Result<(), LedgerError> {
        if std::mem::take(&mut self.vain_unwritten) {
            self.record(Event::now(Kind::Waited))?;
        }
        Ok(())
    }

    fn snapshot_if_due(&mut self) -> Result<(), LedgerError> {
        let is_due = self.since_snapshot >= EVENTS_PER_SNAPSHOT && self.bytes_since_snapshot >= self.last_snapshot;
        if is_due { self.write_snapshot() } else { Ok(()) }
    }

    fn write_snapshot(&mut self) -> Result<(), LedgerError> {
        let bytes = self.session.snapshot()?;
        (self.since_snapshot, self.bytes_since_snapshot, self.last_snapshot) = (0, 0, bytes.len() as u64);
        if bytes.len() > LARGEST_SNAPSHOT {
            return Ok(());
        }
        self.flush()?;
        self.transaction(|ledger| {
            let sql = "INSERT OR REPLACE INTO snapshots (seq, program, bytes) VALUES (?, ?, ?)";
            ledger.connection.execute(sql, (ledger.seq, PROGRAM, bytes))?;
            // Two are kept: one may be damaged.
            let sql = "DELETE FROM snapshots WHERE seq NOT IN (SELECT seq FROM snapshots ORDER BY seq DESC LIMIT 2)";
            ledger.connection.execute(sql, [])?;
            Ok(())
        })
    }

    /// Closes the file so that it opens quickly, and alone, without its log. Dropping a ledger does the same, and cannot say what
    /// went wrong.
    pub fn close(mut self) -> Result<(), LedgerError> {
        self.end()
    }

    fn end(&mut self) -> Result<(), LedgerError> {
        // A copy of the program that another one made of itself has nothing to end.
        if self.is_stale || !self.lock.is_of_this_process() {
            return Ok(());
        }
        self.flush()?;
        if self.since_snapshot >= EVENTS_PER_LAST_SNAPSHOT {
            self.write_snapshot()?;
        }
        self.is_stale = true;
        self.connection.execute("DELETE FROM ledger WHERE name = 'in use'", [])?;
        schema::checkpoint(&self.connection)
    }
}

impl Drop for Ledger {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

/// An answer that can be taken.
struct Looked {
    user: usize,
    point: Vec<f64>,
    fate: Fate,
    odd: Option<String>,
}
