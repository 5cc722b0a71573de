//! Whose question a ticket is, and sessions from stored states.

use pyo3::{
    exceptions::{PyTypeError, PyValueError},
    prelude::*,
    types::{PyBytes, PyDict},
};
use sgq::{Session as Opened, Ticket};

use crate::{errors, keywords::sight, method, problem::Problem, query::Query, session::Session};

impl Session {
    pub fn query(&self, query: sgq::Query) -> Query {
        let sgq::Query { ticket, user, point, explored, why, wants } = query;
        Query { ticket: (self.number, ticket.0), user, explored, why, point, wants }
    }

    /// The ticket of a question of this session, given as itself or with the question.
    pub fn ticket(&self, ticket: &Bound<'_, PyAny>) -> PyResult<Ticket> {
        let [session, number] = match ticket.cast::<Query>() {
            Ok(query) => query.get().ticket.into(),
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

    /// The same error, with the user whose answer it is about.
    pub fn naming_user(&self, py: Python<'_>, error: PyErr, ticket: Ticket) -> PyErr {
        let kind = error.get_type(py);
        let is_ours = kind.is(py.get_type::<PyValueError>()) || kind.is(py.get_type::<PyTypeError>());
        match self.inner.pending().find(|query| query.ticket == ticket) {
            Some(query) if is_ours => {
                PyErr::from_type(kind, format!("the answer of user {}: {}", query.user, error.value(py)))
            }
            _ => error,
        }
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
            inner,
            problem,
            method,
            options: options.collect::<PyResult<_>>()?,
            number: part("number")?.extract()?,
        })
    }
}
