//! Whose question a ticket is, and sessions from stored states.

use std::{collections::VecDeque, ffi::CString, sync::Arc};

use pyo3::{
    exceptions::{PyRuntimeWarning, PyTypeError, PyValueError},
    prelude::*,
    types::{PyBytes, PyDict, PyInt, PyString},
};
use sgq::{Session as Opened, Ticket};
use sgq_bench::experiment::suggestion;
use sgq_ledger::{Privacy, Question, Rejected, Taking};

use crate::{
    answer::Said,
    errors,
    inner::{Asked, Inner},
    keywords::sight,
    method,
    problem::Problem,
    query::{Asks, Line, Query},
    session::Session,
};

impl Session {
    pub fn query(&self, asked: Asked) -> Query {
        let of = |user: usize, ticket: u64| ((self.number, ticket), self.names.get(user).cloned());
        match asked {
            Asked::Plain(sgq::Query { ticket, user, point, explored, why, wants }) => {
                let (ticket, name) = of(user, ticket.0);
                Query { ticket, user, name, explored, why, point, asks: Asks::AtPoint(wants), line: Line::None }
            }
            Asked::Recorded(question) => {
                let &Question { ticket, user, explored, why, wants, report, ref point, .. } = &question;
                let (ticket, name) = of(user, ticket);
                // What everybody is asked is all in the line.
                let (asks, point) = match report {
                    Some(wants) => (Asks::Everybody(wants), Arc::from([])),
                    None => (Asks::AtPoint(wants), point.clone()),
                };
                Query { ticket, user, name, explored, why, point, asks, line: Line::Of(Box::new(question)) }
            }
        }
    }

    /// The ticket of a question of this session, given as itself or with the question. On a file there is only one session, and the
    /// number of the question alone will do.
    pub fn ticket(&self, ticket: &Bound<'_, PyAny>) -> PyResult<Ticket> {
        let [session, number] = match ticket.cast::<Query>() {
            Ok(query) => query.get().ticket.into(),
            Err(_) if self.is_on_file() && ticket.is_instance_of::<PyInt>() => {
                let number = ticket.extract().map_err(|_| {
                    PyValueError::new_err(format!("no question has the ticket {ticket}: tickets count from 0"))
                })?;
                [self.number, number]
            }
            // A pair that went through JSON comes back as a list.
            Err(_) => ticket.extract::<[u64; 2]>().map_err(|_| {
                PyTypeError::new_err(format!("the ticket is {ticket}: give back the ticket of the question"))
            })?,
        };
        if session != self.number {
            return Err(PyValueError::new_err(
                "the ticket is from another session: tell answers to the session that asked the question",
            ));
        }
        Ok(Ticket(number))
    }

    fn is_on_file(&self) -> bool {
        !matches!(self.inner, Inner::Plain(_))
    }

    /// A user by number, or by name where users have names.
    pub fn user(&self, user: &Bound<'_, PyAny>) -> PyResult<usize> {
        let Ok(name) = user.cast::<PyString>() else {
            return user.extract();
        };
        let name = name.to_cow()?;
        self.names.iter().position(|it| *it == name).ok_or_else(|| {
            PyValueError::new_err(match self.names.is_empty() {
                true => format!("the user is {name:?}: users of a session in memory have numbers, from 0"),
                false => {
                    format!("there is no user {name:?}{}", suggestion(&name, self.names.iter().map(String::as_str)))
                }
            })
        })
    }

    /// Takes an answer. On a file, what is no answer is recorded as well.
    pub fn take(
        &mut self,
        py: Python<'_>,
        ticket: &Bound<'_, PyAny>,
        said: PyResult<Said<'_>>,
        privacy: Option<Privacy>,
        taking: Taking,
    ) -> PyResult<()> {
        let ticket = self.ticket(ticket)?;
        let said = said.map_err(|error| self.refused(py, error, ticket))?;
        let gradient = said.gradient()?;
        let name = self.name_of(ticket);
        let odd = self.inner.tell(py, ticket, said.with(&gradient), privacy, taking)?;
        odd.map_or(Ok(()), |why| warn_of(py, &why, name.as_deref()))
    }

    /// Notes on the file that what came is no answer, and for whom.
    fn refused(&mut self, py: Python<'_>, error: PyErr, ticket: Ticket) -> PyErr {
        if !is_about_value(py, &error) {
            return error;
        }
        let error = self.naming_user(py, error, ticket);
        if !self.is_on_file() {
            return error;
        }
        let why = Rejected::Unreadable(error.value(py).to_string());
        let recorded = self.inner.ledger().and_then(|ledger| {
            let user = ledger.pending().iter().find(|question| question.ticket == ticket.0).map(|it| it.user);
            py.detach(|| ledger.refuse(Some(ticket.0), user, &why, "an object of Python")).map_err(errors::ledger)
        });
        recorded.err().unwrap_or(error)
    }

    /// The name of the user whose answer to a question is waited for.
    pub fn name_of(&mut self, ticket: Ticket) -> Option<String> {
        let asked = self.inner.pending().into_iter().find(|asked| asked.ticket() == ticket)?;
        self.names.get(asked.user()).cloned()
    }

    /// The same error, with the user whose answer it is about.
    fn naming_user(&mut self, py: Python<'_>, error: PyErr, ticket: Ticket) -> PyErr {
        let asked = self.inner.pending().into_iter().find(|asked| asked.ticket() == ticket);
        let Some(user) = asked.map(|asked| asked.user()) else {
            return error;
        };
        let name = self.names.get(user).cloned().unwrap_or_else(|| user.to_string());
        PyErr::from_type(error.get_type(py), format!("the answer of user {name}: {}", error.value(py)))
    }

    pub fn restored(state: &Bound<'_, PyDict>, problem: Option<Py<Problem>>) -> PyResult<Self> {
        let part = |name: &str| {
            state.get_item(name)?.ok_or_else(|| {
                PyValueError::new_err(format!("the state has no {name:?}: it must come from Session.state_dict()"))
            })
        };
        let method: String = part("method")?.extract()?;
        let options = part("options")?;
        let options = options.cast::<PyDict>()?;
        let snapshot = part("snapshot")?;
        let snapshot = snapshot.cast::<PyBytes>()?;
        let parts = method::method(&method, Some(options))?.named(&*method);
        let sight = sight(problem.as_ref());
        let inner = Opened::restore(parts, snapshot.as_bytes(), sight).map_err(errors::restore)?;
        let options = options.iter().map(|(key, value)| Ok((key.extract()?, value.unbind())));
        Ok(Self {
            inner: Inner::Plain(Box::new(inner)),
            problem,
            method,
            options: options.collect::<PyResult<_>>()?,
            number: part("number")?.extract()?,
            names: Vec::new(),
            billed_before: Vec::new(),
            waiting: VecDeque::new(),
        })
    }
}

/// Says that an answer was taken, and is odd.
pub fn warn_of(py: Python<'_>, why: &str, name: Option<&str>) -> PyResult<()> {
    let of = name.map(|name| format!(" of {name}")).unwrap_or_default();
    let message = CString::new(format!("an answer{of} was taken and is odd: {why}")).unwrap_or_default();
    PyErr::warn(py, &py.get_type::<PyRuntimeWarning>(), &message, 2)
}

/// Whether an error says that a value is wrong, and not that something else happened meanwhile.
fn is_about_value(py: Python<'_>, error: &PyErr) -> bool {
    let kind = error.get_type(py);
    kind.is(py.get_type::<PyValueError>()) || kind.is(py.get_type::<PyTypeError>())
}
