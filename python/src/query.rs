//! Questions, as Python sees them.

use std::sync::Arc;

use pyo3::{exceptions::PyValueError, prelude::*};
use sgq::{Detail, Why};
use sgq_ledger::{Question, Wants};

use crate::{
    answer, arrays,
    types::{ArrayLike, Floats},
};

/// What a question is made of again: ticket, user, explored, why, point, wants, name, line.
type Pickled<'py> =
    ((u64, u64), usize, Option<bool>, &'static str, Floats<'py>, &'static str, Option<String>, Option<String>);

/// What a question asks for.
#[derive(Clone, Copy, PartialEq)]
pub enum Asks {
    /// A gradient, and what would be of use beside it.
    AtPoint(Detail),
    /// What everybody is asked.
    Everybody(Wants),
}

impl Asks {
    fn word(self) -> &'static str {
        match self {
            Self::AtPoint(detail) => answer::word(detail),
            Self::Everybody(wants) => wants.word(),
        }
    }

    fn from_word(word: &str) -> Option<Self> {
        let details = Detail::ALL.map(Self::AtPoint);
        let everybody = [Wants::Summary, Wants::Closing].map(Self::Everybody);
        details.into_iter().chain(everybody).find(|asks| asks.word() == word)
    }
}

/// The question as its user gets it.
pub enum Line {
    /// In memory nobody gets a line.
    None,
    /// It is written when somebody wants it.
    Of(Box<Question>),
    /// As it was pickled.
    Written(String),
}

/// A question to put to a user.
#[pyclass(frozen, module = "sgq")]
pub struct Query {
    /// What to give back with the answer: a pair of the session's number and the question's.
    #[pyo3(get)]
    pub ticket: (u64, u64),
    /// The user to ask, from 0.
    #[pyo3(get)]
    pub user: usize,
    /// Whether the user was picked at random in order to explore; None for methods without exploration.
    #[pyo3(get)]
    pub explored: Option<bool>,
    /// The user's name; None in sessions whose users have none.
    #[pyo3(get)]
    pub name: Option<String>,
    pub why: Why,
    pub point: Arc<[f64]>,
    pub asks: Asks,
    pub line: Line,
}

#[pymethods]
impl Query {
    /// What would be of use beside the gradient, of what answers may say: "gradient" (nothing), "loss", or "hessian" (the loss
    /// too). A user may say less, and more is not looked at. In a study by a plan everybody is asked for a "summary" first, and for a
    /// "closing" at the end: no gradient answers these.
    #[getter]
    fn wants(&self) -> &'static str {
        self.asks.word()
    }

    /// The question as its user gets it, one line of JSON; `Ledger.tell_line` takes the answer. None in sessions in memory.
    #[getter]
    fn line(&self) -> PyResult<Option<String>> {
        match &self.line {
            Line::None => Ok(None),
            Line::Of(question) => {
                question.to_json().map(Some).map_err(|error| PyValueError::new_err(error.to_string()))
            }
            Line::Written(line) => Ok(Some(line.clone())),
        }
    }

    /// Why this user is asked, in a word: "new", "again", "probe", "set-aside", "sweep", "explored", "scored", "elsewhere" or
    /// "chosen".
    #[getter]
    fn why(&self) -> &'static str {
        self.why.word()
    }

    /// The point at which the user's gradient is wanted; empty where everybody is asked the same. The array is not a copy, and cannot be
    /// written to.
    #[getter]
    fn point<'py>(slf: &Bound<'py, Self>) -> Floats<'py> {
        arrays::view(&slf.get().point, slf.clone().into_any())
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Pickled<'py>)> {
        let query = slf.get();
        let &Self { ticket, user, explored, why, asks, ref name, .. } = query;
        let parts = (ticket, user, explored, why.word(), Self::point(slf), asks.word(), name.clone(), query.line()?);
        Ok((slf.get_type().getattr("_from")?, parts))
    }

    /// A question that was pickled.
    #[staticmethod]
    #[pyo3(signature = (ticket, user, explored, why, point, wants, name = None, line = None))]
    #[allow(clippy::too_many_arguments)] // they are what was pickled
    fn _from(
        ticket: (u64, u64),
        user: usize,
        explored: Option<bool>,
        why: &str,
        point: ArrayLike<'_>,
        wants: &str,
        name: Option<String>,
        line: Option<String>,
    ) -> PyResult<Self> {
        let point = arrays::vector(&point, "the point")?;
        let why = Why::ALL.into_iter().find(|it| it.word() == why).unwrap_or(Why::Chosen);
        let asks = Asks::from_word(wants)
            .ok_or_else(|| PyValueError::new_err(format!("wants is {wants:?}, which no question asks for")))?;
        let (point, line) = (Arc::from(&*point.as_slice()?), line.map_or(Line::None, Line::Written));
        Ok(Self { ticket, user, name, explored, why, point, asks, line })
    }

    fn __repr__(&self) -> String {
        let Self { ticket, user, explored, .. } = self;
        let (why, wants) = (self.why(), self.wants());
        let name = self.name.as_ref().map(|name| format!(", name={name:?}")).unwrap_or_default();
        format!("Query(ticket={ticket:?}, user={user}{name}, explored={explored:?}, why={why:?}, wants={wants:?})")
    }
}
