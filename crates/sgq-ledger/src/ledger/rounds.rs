//! Questions to everybody: when they are put, and what becomes of the answers.

use std::sync::Arc;

use sgq::{Detail, Why, session::Failure};
use sgq_data::{
    glm::{Closing, StdErrors},
    plan::Summary,
};

use super::{Ledger, Question, Told, telling::CAME_AGAIN};
use crate::{
    Absence, Event, Extension, Kind, LedgerError, Missing, Rejected, Report, Reported, Results, Wants,
    account::Account,
    record::{Header, copy_begun},
    reply::LARGEST,
    restore::{Restored, restore},
    rounds::{Round, of_ticket, opening},
    schema,
    seal::Details,
    study::{Begun, Shared, Sources, Terms},
    wire::kept,
};

/// By what part a sum of weights may be off because it was added up in another order.
const ROUNDING: f64 = 1e-9;

/// What no session should be told, in words.
fn too_large(closing: &Closing) -> Option<String> {
    let Closing { score, information, observed_information, deviance, pearson, weight, .. } = closing;
    let lists = [score, information].into_iter().chain(observed_information);
    let numbers = lists.flatten().chain([deviance, pearson, weight]);
    let large = numbers.copied().find(|number| number.abs() > LARGEST)?;
    Some(format!("the closing holds {large:e}: numbers may be as large as {LARGEST:e}"))
}

impl Ledger {
    /// The terms of a study by a plan; none where the ledger is not of one.
    pub fn terms(&self) -> Option<&Terms> {
        self.header.terms.as_deref()
    }

    /// Whether it is a study of which nobody knows yet what its columns are: not everybody has answered the first question.
    pub fn waits_for_model(&self) -> bool {
        self.header.terms.is_some() && self.header.begun.is_none()
    }

    /// What came of a study so far; none before everybody has answered the first question, and where there is no plan.
    pub fn results(&self, std_errors: StdErrors) -> Result<Option<Results>, LedgerError> {
        self.sources().results(std_errors, &self.accounts, self.stop_message()).map_err(|error| error.of(&self.path))
    }

    /// What answers to questions to everybody cost and held.
    pub fn reported(&self) -> Reported {
        self.rounds.reported
    }

    /// What everybody was asked last, and how many have answered of how many; none where nobody waits for an answer to that.
    pub fn round(&self) -> Option<(Wants, usize, usize)> {
        let (round, waits) = self.open_round()?;
        Some((round.wants, self.sources().users().count() - waits.len(), self.sources().users().count()))
    }

    /// Who has said that it will not answer what everybody is asked, and why.
    pub fn refusals(&self) -> Vec<(String, String)> {
        let Some((round, waits)) = self.open_round() else { return Vec::new() };
        let refused =
            waits.iter().filter_map(|user| Some((self.users()[*user].name.clone(), round.refusals.get(user)?.clone())));
        refused.collect()
    }

    /// In a study by a plan, those whose questions fail again and again: what others may still disclose is not spent meanwhile, and nobody is
    /// asked before they are [back](Self::back) or have left.
    pub fn failing(&self) -> Result<Vec<Missing>, LedgerError> {
        if self.header.terms.is_none() || self.session.failures().next().is_none() {
            return Ok(Vec::new());
        }
        Ok(self.missing()?.into_iter().filter(|it| it.absence == Absence::Failing).collect())
    }

    fn sources(&self) -> Sources<'_> {
        let Self { connection, header, rounds, session, before, .. } = self;
        Sources { connection, header, rounds, session, before: *before }
    }

    fn open_round(&self) -> Option<(&Round, Vec<usize>)> {
        self.sources().open_round()
    }

    /// Whether the answer of somebody to a question to everybody is waited for.
    pub(super) fn rounds_are_open(&self) -> bool {
        self.header.terms.is_some() && (self.header.begun.is_none() || self.sources().is_round_open())
    }

    /// The questions to everybody that are out: those who have said that they will not answer are not asked again before the ledger is
    /// opened again.
    pub(super) fn round_questions(&self) -> Vec<Question> {
        let Some((round, waits)) = self.open_round() else { return Vec::new() };
        questions(round, waits, self.users(), &self.shared)
    }

    /// Goes on with a study where everything that it waited for is there: opens a round, or begins with the model, or asks for more.
    /// Whether it has opened a round.
    pub(super) fn advance(&mut self) -> Result<bool, LedgerError> {
        if self.header.terms.is_none() {
            return Ok(false);
        }
        if self.header.begun.is_none() {
            return match self.rounds.last {
                None => self.open_to_all(Wants::Summary),
                Some(_) if self.sources().is_round_open() => Ok(false),
                Some(_) => self.begin_study().map(|()| false),
            };
        }
        if let Some(part) = self.sources().enough() {
            return self.extend(Extension { tolerance: Some(part), ..Extension::default() }).map(|()| false);
        }
        let is_out = self.session.pending().any(|query| !self.session.is_away(query.user));
        if self.session.stop_reason().is_none() || is_out || !self.held.is_empty() {
            return Ok(false);
        }
        if let Some(part) = self.sources().tolerance() {
            return self.extend(Extension { tolerance: Some(part), ..Extension::default() }).map(|()| false);
        }
        match self.sources().wants_closing() {
            true => self.open_to_all(Wants::Closing),
            false => Ok(false),
        }
    }

    fn open_to_all(&mut self, wants: Wants) -> Result<bool, LedgerError> {
        let point = match wants {
            Wants::Summary => &[],
            Wants::Closing => self.session.point(),
        };
        let event = opening(self.rounds.count, wants, point)?;
        self.record(event.clone())?;
        self.rounds.happen(&event)?;
        Ok(true)
    }

    /// Everybody has answered the first question: what follows is the session to ask.
    fn begin_study(&mut self) -> Result<(), LedgerError> {
        let Some(terms) = self.header.terms.clone() else { return Ok(()) };
        let of = |user: usize| match self.rounds.last.as_ref()?.reports.get(&user)? {
            Report::Summary(summary) => Some((user, &**summary)),
            Report::Closing(_) => None,
        };
        let summaries: Vec<(usize, &Summary)> = self.sources().users().filter_map(of).collect();
        let begun = Begun::from_summaries(&terms.plan, self.users(), &summaries)?;
        let words = serde_json::to_string(&begun)?;
        let event = Event { words: Some(words.clone()), ..Event::now(Kind::Begun) };
        self.transaction(|ledger| {
            copy_begun(&ledger.connection, &words)?;
            ledger.write(event.clone(), Details::Nothing)
        })?;
        self.rounds.happen(&event)?;
        // As opening the file has it.
        let read = Header::read(&self.connection).and_then(|header| Ok((restore(&self.connection, &header)?, header)));
        let (Restored { session, tickets, before, .. }, header) = read.map_err(|error| self.behind(&error))?;
        schema::limit_log(&self.connection, header.settings.start.len()).map_err(|error| self.behind(&error))?;
        (self.header, self.session, self.tickets, self.before) = (header, session, tickets, before);
        self.shared = shared(&self.header);
        Ok(())
    }

    /// Takes the answer to a question to everybody. One that cannot be taken is recorded with the reason, and its question stays open.
    pub fn tell_report(&mut self, ticket: u64, report: &Report, sender: Option<usize>) -> Result<Told, LedgerError> {
        self.check_fresh()?;
        let looked = self.look_at_report(ticket, report, sender);
        let (user, is_known, odd) = match looked {
            Ok(looked) => looked,
            Err(LedgerError::Rejected(why)) => {
                let asked = of_ticket(ticket).map(|(_, user)| user);
                self.refuse(Some(ticket), sender.or(asked), &why, report.answers().word())?;
                return Err(why.into());
            }
            Err(error) => return Err(error.of(&self.path)),
        };
        let about = |kind, words| Event { ticket: Some(ticket), user: Some(user), words, ..Event::now(kind) };
        if is_known {
            self.record(about(Kind::Noted, Some(CAME_AGAIN.to_owned())))?;
            return Ok(Told::Known);
        }
        let (cost, numbers) = (self.session.meter().cost_of(user), report.numbers());
        let event =
            Event { cost: Some(cost), numbers: Some(numbers), ..about(Kind::Reported, Some(report.to_words(ticket)?)) };
        self.transaction(|ledger| {
            ledger.write(event.clone(), Details::Nothing)?;
            let flag = odd.clone().map(|why| about(Kind::Flagged, Some(why)));
            flag.map_or(Ok(()), |flag| ledger.write(flag, Details::Nothing))
        })?;
        self.rounds.happen(&event)?;
        self.accounts[user].numbers += numbers;
        Ok(odd.map_or(Told::Taken, Told::Flagged))
    }

    /// Whose report it is, whether it was told before, and what is odd about it.
    fn look_at_report(
        &self,
        ticket: u64,
        report: &Report,
        sender: Option<usize>,
    ) -> Result<(usize, bool, Option<String>), LedgerError> {
        let unknown = Rejected::UnknownTicket { ticket };
        let (Some((number, user)), Some(terms)) = (of_ticket(ticket), &self.header.terms) else {
            let words =
                format!("the question with ticket {ticket} asks for a gradient, and this is a {}", report.answers());
            return Err(if self.is_known_ticket(ticket)? { Rejected::Answer(words) } else { unknown }.into());
        };
        let name = |user: usize| self.users().get(user).map_or_else(|| user.to_string(), |it| it.name.clone());
        let round = self.rounds.last.as_ref().filter(|_| number < self.rounds.count && user < self.users().len());
        let Some(round) = round else { return Err(unknown.into()) };
        if let Some(sender) = sender.filter(|sender| *sender != user) {
            return Err(Rejected::OtherUser { ticket, right: name(user), wrong: name(sender) }.into());
        }
        if let Some(taken) = self.report_to(ticket)? {
            return match taken == *report {
                true => Ok((user, true, None)),
                false => Err(Rejected::Earlier("the question already has another answer".to_owned()).into()),
            };
        }
        if number != round.number {
            return Err(Rejected::Earlier("a later question has taken its place".to_owned()).into());
        }
        if self.session.has_left(user) {
            return Err(Rejected::Earlier("its user has left".to_owned()).into());
        }
        if round.wants == Wants::Summary && self.header.begun.is_some() {
            return Err(Rejected::Earlier("the study has begun with everybody's first answers".to_owned()).into());
        }
        if report.answers() != round.wants {
            let words = format!("the question asks for a {}, and this is a {}", round.wants, report.answers());
            return Err(Rejected::Answer(words).into());
        }
        let odd = match report {
            Report::Summary(summary) => {
                summary.check(&terms.plan).map_err(Rejected::Answer)?;
                None
            }
            Report::Closing(closing) => {
                let checked = closing.check(round.point.len(), terms.plan.family);
                checked.map_err(|error| Rejected::Answer(error.to_string()))?;
                if let Some(large) = too_large(closing) {
                    return Err(Rejected::Answer(large).into());
                }
                let member = self.header.begun.as_deref().and_then(|begun| begun.member(user));
                member.and_then(|(member, total)| {
                    let words = format!(
                        "its first answer was of {} rows that weigh {total}, and this one is of {} that weigh {}: its data have changed",
                        member.rows, closing.rows, closing.weight
                    );
                    let same = closing.rows == member.rows && (closing.weight - total).abs() <= ROUNDING * total;
                    (!same).then_some(words)
                })
            }
        };
        Ok((user, false, odd))
    }

    /// The report that was taken for a ticket, where it still counts.
    fn report_to(&self, ticket: u64) -> Result<Option<Report>, LedgerError> {
        let last =
            self.rounds.last.as_ref().zip(of_ticket(ticket)).filter(|(round, (number, _))| round.number == *number);
        if let Some((round, (_, user))) = last {
            return Ok(round.reports.get(&user).cloned());
        }
        let sql = "SELECT words FROM events WHERE ticket = ? AND kind = 'reported' ORDER BY seq DESC LIMIT 1";
        let mut query = self.connection.prepare_cached(sql)?;
        let mut rows = query.query([ticket as i64])?;
        let words: Option<String> = rows.next()?.map(|row| row.get(0)).transpose()?;
        Ok(words.and_then(|words| Report::from_words(ticket, &words)))
    }

    /// Says that a question to everybody will not be answered, if the ticket is that of one.
    pub(super) fn fail_report(&mut self, ticket: u64, failure: Failure<'_>) -> Result<bool, LedgerError> {
        let Some((number, user)) = of_ticket(ticket) else { return Ok(false) };
        if number >= self.rounds.count || user >= self.users().len() {
            return Err(LedgerError::UnknownTicket { ticket });
        }
        let is_open = self.round_questions().iter().any(|question| question.ticket == ticket);
        if is_open {
            let words = failure.reason.map(kept);
            let why = words.clone().unwrap_or_else(|| "no reason was given".to_owned());
            self.record(Event { ticket: Some(ticket), user: Some(user), words, ..Event::now(Kind::Failed) })?;
            self.rounds.last.iter_mut().for_each(|round| drop(round.refusals.insert(user, why.clone())));
        }
        Ok(true)
    }
}

/// A round's questions to those of whom an answer is waited for.
pub(crate) fn questions(
    round: &Round,
    waits: Vec<usize>,
    users: &[crate::User],
    shared: &Option<Arc<Shared>>,
) -> Vec<Question> {
    let question = |user: usize| Question {
        ticket: round.ticket(user),
        user,
        name: users[user].name.clone(),
        point: round.point.clone(),
        wants: Detail::Gradient,
        report: Some(round.wants),
        shared: shared.clone(),
        why: Why::New,
        explored: None,
        asked_at: round.at,
    };
    waits.into_iter().filter(|user| !round.refusals.contains_key(user)).map(question).collect()
}

/// What goes with every question of a study.
pub(crate) fn shared(header: &Header) -> Option<Arc<Shared>> {
    let terms = header.terms.as_ref()?;
    let model = header.begun.as_ref().map(|begun| begun.agreed.encoding.clone());
    Some(Arc::new(Shared { plan: terms.plan.id(), model }))
}

/// What users have disclosed with their reports.
pub(crate) fn add_reported(connection: &rusqlite::Connection, accounts: &mut [Account]) -> Result<(), LedgerError> {
    let sql = "SELECT user, SUM(numbers) FROM events WHERE kind = 'reported' AND user IS NOT NULL GROUP BY user";
    let mut query = connection.prepare(sql)?;
    let mut rows = query.query([])?;
    while let Some(row) = rows.next()? {
        let (user, numbers): (i64, i64) = (row.get(0)?, row.get(1)?);
        let account = usize::try_from(user).ok().and_then(|user| accounts.get_mut(user));
        account.ok_or_else(|| LedgerError::damaged("an answer is of nobody"))?.numbers += numbers as u64;
    }
    Ok(())
}
