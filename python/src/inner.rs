//! What a session is inside: in memory, on a file, or only there to be looked at.

use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;
use sgq::{Answer, Query, Session as Opened, Ticket, session::Failure};
use sgq_ledger::{Extension, Ledger, LedgerError, Privacy, Question, Reader, Reply, Status, Told};

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
    pending: Vec<Query>,
    paid_before: Paid,
    pub is_closed: bool,
}

/// What was paid before a session was made anew from its answers, by a version of the program that would have asked otherwise.
#[derive(Clone, Debug, Default)]
pub struct Paid {
    pub queries: u64,
    pub cost: f64,
    pub numbers: u64,
}

/// What is to become of an answer.
#[derive(Clone, Copy, PartialEq)]
pub enum Taking {
    /// It is used, where it is not out of line.
    Checked,
    /// It is used.
    Accepted,
    /// It waits for its turn.
    Held,
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

    pub fn ask(&mut self, py: Python<'_>) -> PyResult<Option<Query>> {
        match self {
            Self::Plain(session) => py.detach(|| session.ask()).map_err(errors::choice),
            _ => {
                let ledger = self.ledger()?;
                py.detach(|| ledger.ask()).map(|question| question.map(asked)).map_err(errors::ledger)
            }
        }
    }

    pub fn ask_many(&mut self, py: Python<'_>, most: usize) -> PyResult<Vec<Query>> {
        match self {
            Self::Plain(session) => py.detach(|| session.ask_many(most)).map_err(errors::choice),
            _ => {
                let ledger = self.ledger()?;
                let questions = py.detach(|| ledger.ask_many(most)).map_err(errors::ledger)?;
                Ok(questions.into_iter().map(asked).collect())
            }
        }
    }

    pub fn pending(&mut self) -> Vec<Query> {
        match self {
            Self::Plain(session) => session.pending().collect(),
            Self::Ledger(ledger) => unlocked(ledger).pending().into_iter().map(asked).collect(),
            Self::View(view) => view.pending.clone(),
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
        let pending = ledger.pending().into_iter().map(asked).collect();
        Ok(Self { session, pending, paid_before: paid_before(ledger), is_closed: true })
    }

    /// What another program may be writing to just now, as it is at this moment.
    pub fn read(reader: &Reader, status: &Status) -> Result<Self, LedgerError> {
        let session = reader.session()?;
        // Both are in the order in which the questions were asked.
        let tickets = reader.asked_at()?.into_keys();
        let of_record = |(query, ticket): (Query, u64)| Query { ticket: Ticket(ticket), ..query };
        let pending = session.pending().zip(tickets).map(of_record).collect();
        let paid_before = Paid {
            queries: status.queries - session.queries(),
            cost: status.cost - session.meter().cost(),
            numbers: status.numbers - session.meter().numbers(),
        };
        Ok(Self { session, pending, paid_before, is_closed: false })
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

fn asked(question: Question) -> Query {
    let Question { ticket, user, point, wants, why, explored, .. } = question;
    Query { ticket: Ticket(ticket), user, point, explored, why, wants }
}
