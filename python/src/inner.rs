//! What a session is inside: in memory, on a file, or only there to be looked at.

use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;
use sgq::{Answer, Query, Session as Opened, Ticket, session::Failure};
use sgq_ledger::{
    Absence, Extension, Heard, Ledger, LedgerError, Missing, Privacy, Question, Reader, Reply, Status, Taking, Told,
};

use crate::errors;

/// A session, wherever it is kept. Tickets are those of the record, where there is one.
pub enum Inner {
    /// In memory alone.
    Plain(Box<Opened<'static>>),
    /// On a file. Only one thread at a time may touch the connection to it: Python makes sure of that, and the lock is for Rust.
    Ledger(Box<Mutex<Ledger>>),
    /// What is left of a ledger that was closed, or was opened to be read.
    View(Box<View>),
}

/// A session to look at.
pub struct View {
    session: Opened<'static>,
    pending: Vec<Question>,
    paid_before: Paid,
    stop_message: Option<String>,
    /// Who answers no question to everybody, and whose questions fail again and again; and why.
    refusals: Vec<(String, String)>,
    failing: Vec<(String, String)>,
    waits_for_model: bool,
    pub is_closed: bool,
}

/// A question, wherever it is from. Its ticket is that of the record, where there is one.
pub enum Asked {
    /// Of a session in memory.
    Plain(Query),
    /// Of a session on a file.
    Recorded(Question),
}

impl Asked {
    pub fn ticket(&self) -> Ticket {
        match self {
            Self::Plain(query) => query.ticket,
            Self::Recorded(question) => Ticket(question.ticket),
        }
    }

    pub fn user(&self) -> usize {
        match self {
            Self::Plain(query) => query.user,
            Self::Recorded(question) => question.user,
        }
    }
}

/// What was paid before a session was made anew from its answers, by a version of the program that would have asked otherwise.
#[derive(Clone, Debug, Default)]
pub struct Paid {
    pub queries: u64,
    pub cost: f64,
    pub numbers: u64,
}

/// Members that change.
#[derive(Clone, Copy)]
pub enum Change {
    Away,
    Back,
    Leave,
    Join,
}

impl Inner {
    pub fn of(ledger: Ledger) -> Self {
        Self::Ledger(Box::new(Mutex::new(ledger)))
    }

    /// The session, to look at.
    pub fn session(&mut self) -> &Opened<'static> {
        match self {
            Self::Plain(session) => session,
            Self::Ledger(ledger) => unlocked(ledger).session(),
            Self::View(view) => &view.session,
        }
    }

    /// The session, where it is in memory alone.
    pub fn plain(&mut self) -> Option<&mut Opened<'static>> {
        match self {
            Self::Plain(session) => Some(session),
            _ => None,
        }
    }

    /// The ledger, where there is one to write to.
    pub fn ledger(&mut self) -> PyResult<&mut Ledger> {
        match self {
            Self::Ledger(ledger) => Ok(unlocked(ledger)),
            Self::View(view) => Err(view.refusal()),
            Self::Plain(_) => Err(errors::no_ledger()),
        }
    }

    /// What was paid before, besides what the session knows of.
    pub fn paid_before(&mut self) -> Paid {
        match self {
            Self::Plain(_) => Paid::default(),
            Self::Ledger(ledger) => paid_before(unlocked(ledger)),
            Self::View(view) => view.paid_before.clone(),
        }
    }

    /// Why the run stopped, in words.
    pub fn stop_message(&mut self) -> Option<String> {
        match self {
            Self::Plain(session) => session.stop_message(),
            Self::Ledger(ledger) => unlocked(ledger).stop_message(),
            Self::View(view) => view.stop_message.clone(),
        }
    }

    /// Whether nobody knows yet how many parameters there are.
    pub fn waits_for_model(&mut self) -> bool {
        match self {
            Self::Plain(_) => false,
            Self::Ledger(ledger) => unlocked(ledger).waits_for_model(),
            Self::View(view) => view.waits_for_model,
        }
    }

    /// Who has said that it will not answer what everybody is asked, and why.
    pub fn refusals(&mut self) -> Vec<(String, String)> {
        match self {
            Self::Plain(_) => Vec::new(),
            Self::Ledger(ledger) => unlocked(ledger).refusals(),
            Self::View(view) => view.refusals.clone(),
        }
    }

    /// Whose questions fail again and again in a study, and since when.
    pub fn failing(&mut self) -> PyResult<Vec<(String, String)>> {
        match self {
            Self::Plain(_) => Ok(Vec::new()),
            Self::Ledger(ledger) => unlocked(ledger).failing().map(in_words).map_err(errors::ledger),
            Self::View(view) => Ok(view.failing.clone()),
        }
    }

    pub fn ask(&mut self, py: Python<'_>) -> PyResult<Option<Asked>> {
        match self {
            Self::Plain(session) => {
                py.detach(|| session.ask()).map(|query| query.map(Asked::Plain)).map_err(errors::choice)
            }
            _ => {
                let ledger = self.ledger()?;
                py.detach(|| ledger.ask()).map(|question| question.map(Asked::Recorded)).map_err(errors::ledger)
            }
        }
    }

    pub fn ask_many(&mut self, py: Python<'_>, most: usize) -> PyResult<Vec<Asked>> {
        match self {
            Self::Plain(session) => {
                let queries = py.detach(|| session.ask_many(most)).map_err(errors::choice)?;
                Ok(queries.into_iter().map(Asked::Plain).collect())
            }
            _ => {
                let ledger = self.ledger()?;
                let questions = py.detach(|| ledger.ask_many(most)).map_err(errors::ledger)?;
                Ok(questions.into_iter().map(Asked::Recorded).collect())
            }
        }
    }

    pub fn pending(&mut self) -> Vec<Asked> {
        match self {
            Self::Plain(session) => session.pending().map(Asked::Plain).collect(),
            Self::Ledger(ledger) => unlocked(ledger).pending().into_iter().map(Asked::Recorded).collect(),
            Self::View(view) => view.pending.iter().cloned().map(Asked::Recorded).collect(),
        }
    }

    /// Takes an answer; returns why it is odd, if it is.
    pub fn tell(
        &mut self,
        py: Python<'_>,
        ticket: Ticket,
        answer: Answer<'_>,
        privacy: Option<Privacy>,
        taking: Taking,
    ) -> PyResult<Option<String>> {
        if let Self::Plain(session) = self {
            return py.detach(|| session.tell(ticket, answer)).map(|()| None).map_err(errors::tell);
        }
        let ledger = self.ledger()?;
        let mut reply = Reply::of(&answer);
        reply.variance = reply.variance.or_else(|| privacy.map(|privacy| vec![privacy.noise * privacy.noise]));
        reply.privacy = privacy;
        // One that is refused is recorded with its user.
        let asked = ledger.pending().into_iter().find(|question| question.ticket == ticket.0);
        let user = asked.map(|question| question.user);
        let told = py.detach(|| match taking {
            Taking::Held => ledger.hold(ticket.0, &reply, user),
            _ => ledger.tell_from(ticket.0, &reply, user, taking == Taking::Accepted),
        });
        told.map(why_odd).map_err(errors::ledger)
    }

    /// Takes a line of a user; returns why its user does not answer, where it says so, and why the answer is odd, if it is.
    pub fn tell_line(
        &mut self,
        py: Python<'_>,
        line: &str,
        sender: Option<usize>,
        taking: Taking,
    ) -> PyResult<(Option<String>, Option<String>)> {
        let ledger = self.ledger()?;
        Ok(match py.detach(|| ledger.tell_line(line, sender, taking)).map_err(errors::ledger)? {
            Heard::Told(told) => (None, why_odd(told)),
            Heard::Error(words) => (Some(words), None),
        })
    }

    /// Uses an answer that was held until now; returns why it is odd, if it is.
    pub fn tell_held(&mut self, py: Python<'_>, ticket: Ticket) -> PyResult<Option<String>> {
        let ledger = self.ledger()?;
        py.detach(|| ledger.tell_held(ticket.0)).map(why_odd).map_err(errors::ledger)
    }

    pub fn fail(&mut self, py: Python<'_>, ticket: Ticket, failure: Failure<'_>) -> PyResult<()> {
        if let Self::Plain(session) = self {
            return session.fail_with(ticket, failure).map_err(errors::tell);
        }
        let ledger = self.ledger()?;
        py.detach(|| ledger.fail(ticket.0, failure)).map_err(errors::ledger)
    }

    pub fn change(&mut self, py: Python<'_>, change: Change, user: usize, reason: Option<&str>) -> PyResult<()> {
        if let Self::Plain(session) = self {
            return match change {
                Change::Away => session.away(user).map_err(errors::choice),
                Change::Back => session.back(user).map_err(errors::choice),
                Change::Leave => session.leave(user).map_err(errors::member),
                Change::Join => session.join(user).map_err(errors::member),
            };
        }
        let ledger = self.ledger()?;
        let changed = py.detach(|| match change {
            Change::Away => ledger.away(user, reason),
            Change::Back => ledger.back(user, reason),
            Change::Leave => ledger.leave(user, reason),
            Change::Join => ledger.join(user, reason),
        });
        changed.map_err(errors::ledger)
    }

    pub fn extend(&mut self, py: Python<'_>, extension: Extension) -> PyResult<()> {
        let Self::Plain(session) = self else {
            let ledger = self.ledger()?;
            return py.detach(|| ledger.extend(extension)).map_err(errors::ledger);
        };
        // What can be refused comes first: an error changes nothing.
        let Extension { queries, cost, numbers, tolerance, certified_gap } = extension;
        tolerance.map_or(Ok(()), |part| session.extend_to_tolerance(part)).map_err(errors::settings)?;
        certified_gap.map_or(Ok(()), |gap| session.extend_to_certified_gap(gap)).map_err(errors::settings)?;
        queries.into_iter().for_each(|queries| session.extend(queries));
        cost.into_iter().for_each(|cost| session.extend_cost(cost));
        numbers.into_iter().for_each(|numbers| session.extend_numbers(numbers));
        Ok(())
    }

    /// Closes a ledger, so that another program may write to it. What it held can be looked at as before.
    pub fn close(&mut self, py: Python<'_>) -> PyResult<()> {
        let Self::Ledger(ledger) = self else {
            return Ok(());
        };
        let view = View::of(unlocked(ledger)).map_err(errors::ledger)?;
        match std::mem::replace(self, Self::View(Box::new(view))) {
            Self::Ledger(ledger) => {
                let ledger = ledger.into_inner().unwrap_or_else(PoisonError::into_inner);
                py.detach(|| ledger.close()).map_err(errors::ledger)
            }
            _ => Ok(()),
        }
    }
}

impl View {
    fn of(ledger: &Ledger) -> Result<Self, LedgerError> {
        let bytes = ledger.session().snapshot()?;
        let session = Opened::restore(ledger.method().clone(), &bytes, sgq::Sight::Blind);
        let session = session
            .map_err(|error| LedgerError::Damaged { path: Some(ledger.path().into()), what: error.to_string() })?;
        Ok(Self {
            session,
            pending: ledger.pending(),
            paid_before: paid_before(ledger),
            stop_message: ledger.stop_message(),
            refusals: ledger.refusals(),
            // It is closed, whatever the disk says.
            failing: ledger.failing().map(in_words).unwrap_or_default(),
            waits_for_model: ledger.waits_for_model(),
            is_closed: true,
        })
    }

    /// What another program may be writing to just now, as it is at this moment.
    pub fn read(reader: &Reader, status: &Status) -> Result<Self, LedgerError> {
        let session = reader.session()?;
        let paid_before = Paid {
            queries: status.queries - session.queries(),
            cost: status.cost - session.meter().cost(),
            numbers: status.numbers - session.meter().numbers(),
        };
        let is_failing = |it: &Missing| status.study.is_some() && it.absence == Absence::Failing;
        Ok(Self {
            session,
            pending: reader.pending()?,
            paid_before,
            stop_message: status.stopped.clone(),
            // They are asked again whenever the ledger is opened, so that no file says who they are.
            refusals: Vec::new(),
            failing: in_words(status.missing.iter().filter(|it| is_failing(it)).cloned().collect()),
            waits_for_model: status.study.as_ref().is_some_and(|study| !study.begun),
            is_closed: false,
        })
    }

    pub fn session(&self) -> &Opened<'static> {
        &self.session
    }

    fn refusal(&self) -> PyErr {
        errors::not_open(if self.is_closed { "was closed" } else { "was opened to be read" })
    }
}

fn unlocked(ledger: &mut Mutex<Ledger>) -> &mut Ledger {
    // After a panic elsewhere the ledger itself knows whether it is behind its record.
    ledger.get_mut().unwrap_or_else(PoisonError::into_inner)
}

fn paid_before(ledger: &Ledger) -> Paid {
    let meter = ledger.session().meter();
    Paid {
        queries: ledger.queries() - ledger.session().queries(),
        cost: ledger.cost() - meter.cost(),
        numbers: ledger.numbers() - meter.numbers(),
    }
}

fn why_odd(told: Told) -> Option<String> {
    if let Told::Flagged(why) = told { Some(why) } else { None }
}

fn in_words(missing: Vec<Missing>) -> Vec<(String, String)> {
    missing.into_iter().map(|it| (it.name, it.words)).collect()
}
