//! A session that survives: every event is on the disk before it takes effect.

mod asking;
mod lines;
mod members;
mod rounds;
mod telling;
mod writing;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use rusqlite::Connection;
use sgq::{Method, Session, Settings, StopReason};

pub use self::{
    asking::Question,
    lines::{Heard, Taking},
    telling::Told,
};
pub(crate) use self::{
    lines::{Line, WrongLine, not_out},
    rounds::{add_reported, questions, shared},
};
use crate::{
    Account, Event, Kind, LedgerError, Plan, Protection, Reply, User,
    lock::{Lock, Mark},
    missing::{Missing, missing},
    read,
    record::{self, Facts, Header},
    restore::{PROGRAM, Restored, Spent, Tickets, restore, stop_words},
    rounds::Rounds,
    schema,
    seal::Details,
    study::Shared,
};

/// At the end of a program, a snapshot is written after so many events.
const EVENTS_PER_LAST_SNAPSHOT: u64 = 50;

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
    rounds: Rounds,
    /// What goes with every question of a study.
    shared: Option<Arc<Shared>>,
    by_name: BTreeMap<String, usize>,
    accounts: Vec<Account>,
    /// The length of each user's longest answer, times its weight where it has stated one.
    longest: Vec<f64>,
    /// When each question that is out was asked.
    asked_at: BTreeMap<u64, i64>,
    /// Answers that wait for their turn, by ticket, and the events of their coming.
    held: BTreeMap<u64, (i64, Reply)>,
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
    /// Let go after all else.
    lock: Lock,
}

impl Ledger {
    /// Makes a new file for a session. A file that is there is never touched.
    pub fn create(path: impl AsRef<Path>, plan: &Plan) -> Result<Self, LedgerError> {
        let path = path.as_ref();
        let mut plan = plan.clone();
        if let Some(terms) = &plan.study {
            terms.limit(&mut plan.protection)?;
        }
        plan.protection.check()?;
        let settings = plan.checked_settings()?;
        // Whatever is wrong with it is to be found before there is a file.
        plan.session()?;
        let facts = Facts::of(&plan, &settings)?;
        schema::check_new(path)?;
        // There is no ledger yet for errors to speak of.
        let made = Lock::take(path).and_then(|mut lock| {
            schema::create(path, settings.start.len(), |connection| facts.write(connection))?;
            // One of the same name may have been deleted.
            lock.set_mark(Mark { ledger: facts.seal.clone(), events: 0 });
            Ok(lock)
        });
        Self::begin(path, made.map_err(|error| error.of_new(path))?).map_err(|error| error.of(path))
    }

    /// Goes on with the session of a file, exactly where it was.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, LedgerError> {
        let path = path.as_ref();
        // Somebody who mistypes a name gets no lock file for it.
        if !path.exists() {
            return Err(LedgerError::file(path, std::io::ErrorKind::NotFound.into()));
        }
        if !schema::is_sqlite(path).map_err(|error| LedgerError::file(path, error))? {
            return Err(LedgerError::NotALedger { path: path.into() });
        }
        Self::begin(path, Lock::take(path)?).map_err(|error| error.of(path))
    }

    fn begin(path: &Path, lock: Lock) -> Result<Self, LedgerError> {
        let log_is_there = schema::log_is_there(path);
        let connection = schema::open(path)?;
        let header = Header::read(&connection)?;
        read::check_whole(path, &connection, &header, log_is_there, lock.mark())?;
        let restored = restore(&connection, &header)?;
        schema::limit_log(&connection, header.settings.start.len())?;
        let (accounts, longest) = read::accounts(&connection, &header)?;
        let rounds = Rounds::read(&connection, &header)?;
        let asked_at = read::asked_at(&connection)?;
        let asked_in_vain = read::waits(&connection)?;
        let held = read::held(&connection)?;
        // In the file itself, and not in its log: whoever finds it so without a log knows that the log was lost. Until here nothing
        // was written, so that an error leaves all as it was.
        connection.execute("INSERT OR REPLACE INTO ledger (name, value) VALUES ('in use', '')", [])?;
        schema::checkpoint(&connection)?;
        let Restored { session, tickets, before, seq, seal, replayed, made_anew } = restored;
        let mut ledger = Self {
            path: path.into(),
            rounds,
            shared: shared(&header),
            by_name: header.users.iter().enumerate().map(|(index, user)| (user.name.clone(), index)).collect(),
            connection,
            header,
            session,
            tickets,
            before,
            accounts,
            longest,
            asked_at,
            held,
            seq,
            seal,
            asked_in_vain: asked_in_vain && made_anew.is_none(),
            vain_unwritten: false,
            since_snapshot: replayed,
            bytes_since_snapshot: 0,
            last_snapshot: 0,
            in_group: false,
            is_stale: false,
            made_anew,
            lock,
        };
        ledger.set_mark();
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

    /// What it was made with.
    pub fn plan(&self) -> Plan {
        let Header { method, settings, users, protection, terms, .. } = &self.header;
        let study = terms.as_deref().cloned();
        Plan { study, ..Plan::new(method.clone(), settings.clone(), users.clone()).protected(protection.clone()) }
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

    /// Why the run ended, in words.
    pub fn stop_message(&self) -> Option<String> {
        stop_words(&self.session, self.before, self.users(), &self.is_spent())
    }

    /// Whether a user has spent what it may disclose.
    pub(crate) fn is_spent_by(&self, user: usize) -> bool {
        self.accounts.get(user).is_some_and(|account| self.protection().is_spent(account).is_some())
    }

    /// Whether each user has spent what it may disclose, and is not asked any more.
    fn is_spent(&self) -> Vec<bool> {
        self.accounts.iter().map(|account| self.protection().is_spent(account).is_some()).collect()
    }

    /// Users who are part of the objective and cannot be asked, where more remains than was asked for: see
    /// [`Status::missing`](crate::Status::missing).
    pub fn missing(&self) -> Result<Vec<Missing>, LedgerError> {
        missing(&self.connection, &self.header, &self.session, &self.accounts).map_err(|error| error.of(&self.path))
    }

    /// Whether the question with a ticket has an answer that was taken.
    pub fn is_answered(&self, ticket: u64) -> Result<bool, LedgerError> {
        let Ok(ticket) = i64::try_from(ticket) else { return Ok(false) };
        let sql = "SELECT COUNT(*) > 0 FROM events WHERE ticket = ? AND kind IN ('answered', 'late', 'reported')";
        Ok(self.connection.query_row(sql, [ticket], |row| row.get(0))?)
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

    /// Closes the file so that it opens quickly, and alone, without its log. Dropping a ledger does the same, and cannot say what
    /// went wrong.
    pub fn close(mut self) -> Result<(), LedgerError> {
        self.end()
    }

    fn end(&mut self) -> Result<(), LedgerError> {
        // A copy that the program made of itself has nothing to end.
        if self.is_stale || !self.lock.is_of_this_process() {
            return Ok(());
        }
        self.flush()?;
        if self.since_snapshot >= EVENTS_PER_LAST_SNAPSHOT {
            self.write_snapshot()?;
        }
        self.is_stale = true;
        self.connection.execute("DELETE FROM ledger WHERE name = 'in use'", [])?;
        schema::checkpoint(&self.connection)?;
        schema::keep_log(&self.connection, false)
    }
}

impl Drop for Ledger {
    fn drop(&mut self) {
        let _ = self.end();
    }
}
