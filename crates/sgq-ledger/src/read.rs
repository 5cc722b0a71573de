//! Looking at a ledger, also while somebody else writes to it.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use rusqlite::{Connection, OptionalExtension as _};
use serde::Serialize;
use sgq::{Query, Session, Why};
use sgq_data::glm::StdErrors;

use crate::{
    Account, Event, Kind, LedgerError, Protection, Question, Reply, Reported, Results, Shared, Terms, User, Wants,
    ledger::{add_reported, questions, shared},
    lock::{Mark, mark_beside},
    missing::{Missing, missing},
    record::{self, Header, hex},
    restore::{Restored, Spent, Tickets, restore, stop_words},
    rounds::Rounds,
    schema,
    study::Sources,
    verify,
};

/// A ledger that is only read: what was on the disk when it was opened.
#[derive(Debug)]
pub struct Reader {
    path: PathBuf,
    connection: Connection,
    header: Header,
    rounds: Rounds,
    /// What was written and is not there.
    lost: Option<LedgerError>,
}

/// Where a session stands.
#[derive(Debug, Serialize)]
#[non_exhaustive]
pub struct Status {
    /// The method's name.
    pub method: String,
    /// Queries paid for.
    pub queries: u64,
    /// How many may be, in all.
    pub budget: Option<u64>,
    /// What was paid.
    pub cost: f64,
    /// What may be paid, in all.
    pub cost_budget: Option<f64>,
    /// The numbers that answers held.
    pub numbers: u64,
    /// How many they may hold, in all.
    pub numbers_budget: Option<u64>,
    /// Questions that are out.
    pub pending: usize,
    /// The gap that is believed to remain, as a part of that at the start; the ends of its 90% interval too.
    pub remaining: Option<[f64; 3]>,
    /// The gap that is proven to remain at most.
    pub certified: Option<f64>,
    /// Of a study by a plan: where it stands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub study: Option<StudyStatus>,
    /// Why it stopped, in words.
    pub stopped: Option<String>,
    /// Whether it stopped because what remains is as small as was asked for.
    pub converged: bool,
    /// Events in the record.
    pub events: i64,
    /// When the last of them was, in milliseconds since 1970.
    pub last_event: Option<i64>,
    /// Where the run stands.
    pub point: Vec<f64>,
    /// Why the session is not exactly what the record has, if so: see [`Ledger::made_anew`](crate::Ledger::made_anew).
    pub made_anew: Option<String>,
    /// What was written and is not there any more, if anybody can tell, and what to do.
    pub lost: Option<String>,
    /// Users who are part of the objective and cannot be asked, where more remains than was asked for: it may not fall without them.
    pub missing: Vec<Missing>,
    /// User by user.
    pub users: Vec<UserStatus>,
}

/// Where a study by a plan stands.
#[derive(Debug, Serialize)]
#[non_exhaustive]
pub struct StudyStatus {
    /// The plan's own number.
    pub plan: String,
    /// What is predicted, and from what.
    pub formula: String,
    /// The family.
    pub family: String,
    /// Whether everybody has answered the first question, so that there is a model.
    pub begun: bool,
    /// What everybody is asked now, if answers to that are waited for.
    pub asks_everybody: Option<Wants>,
    /// Whose answers to that are waited for.
    pub waits_for: Vec<String>,
    /// Whether the table is from everybody's answers to a closing question where the run stands.
    pub closed: bool,
    /// What answers to questions to everybody cost and held, beside the queries.
    pub reported: Reported,
}

/// Where one user stands.
#[derive(Debug, Serialize)]
#[non_exhaustive]
pub struct UserStatus {
    /// Its name.
    pub name: String,
    /// What it has disclosed.
    #[serde(flatten)]
    pub account: Account,
    /// `ε` of what it has disclosed, where all its answers had noise; none where one had not, or it gave none.
    pub epsilon: Option<f64>,
    /// Questions that it did not answer.
    pub failures: u64,
    /// The last reason for that.
    pub last_reason: Option<String>,
    /// Answers of it that were refused, and that looked odd.
    pub refused: u64,
    /// Answers that were taken and looked odd.
    pub flagged: u64,
    /// Whether it was said to be away.
    pub away: bool,
    /// Why it is not asked any more, where it has spent what it may disclose.
    pub spent: Option<String>,
    /// Whether it has left.
    pub left: bool,
}

impl Reader {
    /// Opens a file without changing it.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, LedgerError> {
        let path = path.as_ref();
        Self::begin(path).map_err(|error| error.of(path))
    }

    fn begin(path: &Path) -> Result<Self, LedgerError> {
        // Before anything is read: what is written meanwhile is not missing.
        let mark = mark_beside(path);
        let log_is_there = schema::log_is_there(path);
        let connection = schema::open_to_read(path)?;
        // Everything is read as it is now, whatever is written meanwhile.
        connection.execute_batch("BEGIN")?;
        let header = Header::read(&connection)?;
        let lost = match check_whole(path, &connection, &header, log_is_there, mark.as_ref()) {
            Ok(()) => None,
            // A session that has just ended takes its log with it.
            Err(LedgerError::LostLog { .. }) if schema::log_is_there(path) => None,
            Err(error @ (LedgerError::LostLog { .. } | LedgerError::LostEvents { .. })) => Some(error),
            Err(error) => return Err(error),
        };
        let rounds = Rounds::read(&connection, &header)?;
        Ok(Self { path: path.into(), connection, header, rounds, lost })
    }

    /// The users, in order.
    pub fn users(&self) -> &[User] {
        &self.header.users
    }

    /// A number that no other ledger is likely to have: see [`Ledger::number`](crate::Ledger::number).
    pub fn number(&self) -> u64 {
        self.header.number()
    }

    /// What was written and is not there any more, if anybody can tell.
    pub fn lost(&self) -> Option<&LedgerError> {
        self.lost.as_ref()
    }

    /// The limits that the session keeps.
    pub fn protection(&self) -> &Protection {
        &self.header.protection
    }

    /// The session as the record has it.
    pub fn session(&self) -> Result<Session<'static>, LedgerError> {
        Ok(self.restored()?.session)
    }

    fn restored(&self) -> Result<Restored, LedgerError> {
        self.naming(restore(&self.connection, &self.header))
    }

    /// What is damaged is this file.
    fn naming<T>(&self, result: Result<T, LedgerError>) -> Result<T, LedgerError> {
        result.map_err(|error| error.of(&self.path))
    }

    /// Where it stands.
    pub fn status(&self) -> Result<Status, LedgerError> {
        self.naming(self.status_of(self.restored()?))
    }

    fn status_of(&self, restored: Restored) -> Result<Status, LedgerError> {
        let Restored { session, before, seq, made_anew, .. } = restored;
        let study = study_status(&self.sources(&session, before))?;
        let (accounts, _) = accounts(&self.connection, &self.header)?;
        let missing = missing(&self.connection, &self.header, &session, &accounts)?;
        let users = self.user_statuses(&session, accounts)?;
        let is_spent: Vec<bool> = users.iter().map(|user| user.spent.is_some()).collect();
        let sql = "SELECT MAX(at) FROM events";
        let last_event = self.connection.query_row(sql, [], |row| row.get(0))?;
        let queries = before.queries + session.queries();
        let part = |remaining: sgq::Remaining| {
            let start = remaining.at_start;
            [remaining.gap, remaining.low, remaining.high].map(|gap| if start > 0.0 { gap / start } else { 0.0 })
        };
        Ok(Status {
            method: session.name().to_owned(),
            queries,
            budget: session.budget().map(|budget| budget + before.queries),
            cost: before.cost + session.meter().cost(),
            cost_budget: session.cost_budget().map(|budget| budget + before.cost),
            numbers: before.numbers + session.meter().numbers(),
            numbers_budget: session.numbers_budget().map(|budget| budget + before.numbers),
            pending: session.pending().len() + study.as_ref().map_or(0, |study| study.waits_for.len()),
            study,
            remaining: session.remaining().map(part),
            certified: session.certified(),
            stopped: stop_words(&session, before, self.users(), &is_spent),
            converged: session.stop_reason().is_some_and(sgq::StopReason::is_converged),
            events: seq,
            last_event,
            point: session.point().to_vec(),
            missing,
            users,
            made_anew,
            lost: self.lost.as_ref().map(ToString::to_string),
        })
    }

    /// The file, what stands before its first event, and its questions to everybody; no state of the file is held on to.
    pub(crate) fn into_parts(self) -> (Connection, Header, Rounds) {
        // What was read is still there; only a transaction that is not open could fail to end.
        let _ = self.connection.execute_batch("COMMIT");
        (self.connection, self.header, self.rounds)
    }

    fn sources<'a>(&'a self, session: &'a Session<'static>, before: Spent) -> Sources<'a> {
        let Self { connection, header, rounds, .. } = self;
        Sources { connection, header, rounds, session, before }
    }

    /// The terms of a study by a plan; none where the ledger is not of one.
    pub fn terms(&self) -> Option<&Terms> {
        self.header.terms.as_deref()
    }

    /// What came of a study so far: see [`Ledger::results`](crate::Ledger::results).
    pub fn results(&self, std_errors: StdErrors) -> Result<Option<Results>, LedgerError> {
        self.naming(self.results_of(std_errors))
    }

    fn results_of(&self, std_errors: StdErrors) -> Result<Option<Results>, LedgerError> {
        let Restored { session, before, .. } = restore(&self.connection, &self.header)?;
        let (accounts, _) = accounts(&self.connection, &self.header)?;
        let is_spent: Vec<bool> =
            accounts.iter().map(|account| self.protection().is_spent(account).is_some()).collect();
        let stopped = stop_words(&session, before, self.users(), &is_spent);
        self.sources(&session, before).results(std_errors, &accounts, stopped)
    }

    fn user_statuses(&self, session: &Session<'_>, accounts: Vec<Account>) -> Result<Vec<UserStatus>, LedgerError> {
        let count = |kind: &str| -> Result<BTreeMap<usize, (u64, Option<String>)>, LedgerError> {
            let sql = "SELECT user, COUNT(*), (SELECT words FROM events later WHERE later.user = events.user AND later.kind = ?1 \
                       ORDER BY seq DESC LIMIT 1) FROM events WHERE kind = ?1 AND user IS NOT NULL GROUP BY user";
            let mut query = self.connection.prepare_cached(sql)?;
            let row = |row: &rusqlite::Row<'_>| {
                Ok((row.get::<_, i64>(0)? as usize, (row.get::<_, i64>(1)? as u64, row.get(2)?)))
            };
            Ok(query.query_map([kind], row)?.collect::<Result<_, _>>()?)
        };
        let (failed, refused, flagged) = (count("failed")?, count("refused")?, count("flagged")?);
        let of = |counts: &BTreeMap<usize, (u64, Option<String>)>, user: usize| counts.get(&user).map_or(0, |it| it.0);
        let status = |(user, account): (usize, Account)| UserStatus {
            name: self.users()[user].name.clone(),
            epsilon: Some(account.epsilon(self.header.protection.delta))
                .filter(|it| it.is_finite() && account.answers > 0),
            account,
            failures: of(&failed, user),
            last_reason: failed.get(&user).and_then(|it| it.1.clone()),
            refused: of(&refused, user),
            flagged: of(&flagged, user),
            away: session.is_away(user) && self.protection().is_spent(&account).is_none(),
            spent: self.protection().is_spent(&account),
            left: session.has_left(user),
        };
        Ok(accounts.into_iter().enumerate().map(status).collect())
    }

    /// Every event, in order.
    pub fn history(&self, each: impl FnMut(Event) -> Result<(), LedgerError>) -> Result<(), LedgerError> {
        self.naming(self.go_through(each))
    }

    fn go_through(&self, mut each: impl FnMut(Event) -> Result<(), LedgerError>) -> Result<(), LedgerError> {
        let mut query = self.connection.prepare("SELECT * FROM events ORDER BY seq")?;
        let mut rows = query.query([])?;
        while let Some(row) = rows.next()? {
            each(Event::from_row(row)?)?;
        }
        Ok(())
    }

    /// Why a user was asked, where the event is a question.
    pub fn why(&self, event: &Event) -> Result<Option<Why>, LedgerError> {
        let mut query = self.connection.prepare_cached("SELECT why FROM questions WHERE seq = ?")?;
        let word: Option<String> = query.query_row([event.seq], |row| row.get(0)).optional()?;
        Ok(word.and_then(|word| Why::ALL.into_iter().find(|why| why.word() == word)))
    }

    /// The answer of an event, and the point where it was asked for.
    pub fn answer(&self, event: &Event) -> Result<Option<(Vec<f64>, Reply)>, LedgerError> {
        let told = event.about.filter(|_| event.kind.counts());
        let Some(reply) = self.naming(record::answer(&self.connection, told.unwrap_or(event.seq)))? else {
            return Ok(None);
        };
        let asked = event.ticket.map(|ticket| record::question(&self.connection, ticket)).transpose()?.flatten();
        Ok(asked.map(|asked| (asked.point, reply)))
    }

    /// The questions that are out, in the order in which they were asked.
    pub fn pending(&self) -> Result<Vec<Question>, LedgerError> {
        let Restored { session, tickets, before, .. } = self.restored()?;
        let asked_at = self.asked_at()?;
        let shared = shared(&self.header);
        let open = self.sources(&session, before).open_round();
        let mut all = open.map_or_else(Vec::new, |(round, waits)| questions(round, waits, self.users(), &shared));
        let question = |query: Query| {
            let at = asked_at.get(&tickets.of_record(query.ticket)).copied().unwrap_or(0);
            pending_question(query, tickets, at, self.users(), &shared)
        };
        all.extend(session.pending().map(question));
        Ok(all)
    }

    /// When each question that is out was asked.
    pub fn asked_at(&self) -> Result<BTreeMap<u64, i64>, LedgerError> {
        self.naming(asked_at(&self.connection))
    }

    /// Goes through everything, and says whether it is what it claims to be.
    pub fn verify(&self) -> Result<verify::Verdict, LedgerError> {
        let verdict = verify::verify(&self.connection, &self.header, self.lost.as_ref(), &self.path);
        self.naming(verdict)
    }
}

/// Where a study by a plan stands.
pub(crate) fn study_status(sources: &Sources<'_>) -> Result<Option<StudyStatus>, LedgerError> {
    let Sources { header, rounds, .. } = sources;
    let Some(terms) = &header.terms else { return Ok(None) };
    let open = sources.open_round();
    let waits_for = open.iter().flat_map(|(_, waits)| waits).map(|user| header.users[*user].name.clone()).collect();
    Ok(Some(StudyStatus {
        plan: terms.plan.id(),
        formula: terms.plan.formula.to_string(),
        family: terms.plan.family.to_string(),
        begun: header.begun.is_some(),
        asks_everybody: open.as_ref().map(|(round, _)| round.wants),
        waits_for,
        closed: sources.is_closed(),
        reported: rounds.reported,
    }))
}

/// A question of a session that is out, as a ledger has it.
pub(crate) fn pending_question(
    query: Query,
    tickets: Tickets,
    asked_at: i64,
    users: &[User],
    shared: &Option<Arc<Shared>>,
) -> Question {
    let Query { ticket, user, point, wants, why, explored, .. } = query;
    let (name, shared) = (users[user].name.clone(), shared.clone());
    let ticket = tickets.of_record(ticket);
    Question { ticket, user, name, point, wants, report: None, shared, why, explored, asked_at }
}

/// Whether what stands in the files is all that was written, as far as anybody can tell.
pub(crate) fn check_whole(
    path: &Path,
    connection: &Connection,
    header: &Header,
    log_is_there: bool,
    mark: Option<&Mark>,
) -> Result<(), LedgerError> {
    let number = |sql: &str| -> Result<i64, LedgerError> { Ok(connection.query_row(sql, [], |row| row.get(0))?) };
    if !log_is_there && number("SELECT COUNT(*) FROM ledger WHERE name = 'in use'")? > 0 {
        return Err(LedgerError::LostLog { path: path.into() });
    }
    let has = number("SELECT COALESCE(MAX(seq), 0) FROM events")?;
    match mark.filter(|mark| mark.ledger == hex(&header.seal) && mark.events > has) {
        Some(mark) => Err(LedgerError::LostEvents { path: path.into(), has, had: mark.events }),
        None => Ok(()),
    }
}

/// Whether nobody could be asked, and nothing has happened since.
pub(crate) fn waits(connection: &Connection) -> Result<bool, LedgerError> {
    let sql = "SELECT kind FROM events ORDER BY seq DESC";
    let mut query = connection.prepare(sql)?;
    let mut rows = query.query([])?;
    while let Some(row) = rows.next()? {
        let word: String = row.get(0)?;
        if let Some(kind) = Kind::ALL.into_iter().find(|kind| kind.word() == word && kind.counts()) {
            return Ok(kind == Kind::Waited);
        }
    }
    Ok(false)
}

/// What each user has disclosed, and the pull of its strongest answer.
pub(crate) fn accounts(connection: &Connection, header: &Header) -> Result<(Vec<Account>, Vec<f64>), LedgerError> {
    let users = header.users.len();
    let (mut accounts, mut longest) = (vec![Account::default(); users], vec![0.0; users]);
    let sql = "SELECT a.user, e.numbers, a.sensitivity, a.noise, a.length * COALESCE(a.weight, 1) FROM events e \
               JOIN answers a ON a.seq = COALESCE(e.about, e.seq) WHERE e.kind IN ('answered', 'late') ORDER BY e.seq";
    let mut query = connection.prepare(sql)?;
    let mut rows = query.query([])?;
    while let Some(row) = rows.next()? {
        let (user, numbers, length): (i64, Option<i64>, f64) = (row.get(0)?, row.get(1)?, row.get(4)?);
        let privacy: (Option<f64>, Option<f64>) = (row.get(2)?, row.get(3)?);
        let privacy = privacy.0.zip(privacy.1).map(|(sensitivity, noise)| crate::Privacy { sensitivity, noise });
        let user = usize::try_from(user).ok().filter(|user| *user < users);
        let user = user.ok_or_else(|| LedgerError::damaged("an answer is of nobody"))?;
        accounts[user].add(numbers.unwrap_or(0) as u64, privacy);
        longest[user] = length.max(longest[user]);
    }
    if header.terms.is_some() {
        add_reported(connection, &mut accounts)?;
    }
    Ok((accounts, longest))
}

/// The answers that wait for their turn, by ticket, and the events of their coming.
pub(crate) fn held(connection: &Connection) -> Result<BTreeMap<u64, (i64, Reply)>, LedgerError> {
    let sql = "SELECT ticket, seq FROM events came WHERE kind = 'held' AND NOT EXISTS (SELECT 1 FROM events WHERE about = came.seq)";
    let mut query = connection.prepare(sql)?;
    let rows = query.query_map([], |row| Ok((row.get::<_, i64>(0)? as u64, row.get::<_, i64>(1)?)))?;
    let mut held = BTreeMap::new();
    for row in rows {
        let (ticket, seq) = row?;
        let lacking = || LedgerError::damaged(format!("the answer of event {seq} is missing"));
        held.insert(ticket, (seq, record::answer(connection, seq)?.ok_or_else(lacking)?));
    }
    Ok(held)
}

/// When each question that nothing has become of was asked.
pub(crate) fn asked_at(connection: &Connection) -> Result<BTreeMap<u64, i64>, LedgerError> {
    let sql = "SELECT q.ticket, e.at FROM questions q JOIN events e ON e.seq = q.seq WHERE NOT EXISTS (SELECT 1 FROM events x \
               WHERE x.ticket = q.ticket AND x.kind IN ('answered', 'late', 'failed', 'withdrawn'))";
    let mut query = connection.prepare(sql)?;
    let rows = query.query_map([], |row| Ok((row.get::<_, i64>(0)? as u64, row.get(1)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}
