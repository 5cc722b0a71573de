//! Questions, as Python sees them.

use std::sync::Arc;

use pyo3::prelude::*;
use sgq::{Detail, Why};

use crate::{
    answer, arrays,
    types::{ArrayLike, DetailWord, Floats},
};

/// What a question is made of again: ticket, user, explored, why, point, wants, name.
type Pickled<'py> = ((u64, u64), usize, Option<bool>, &'static str, Floats<'py>, &'static str, Option<String>);

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
    pub wants: Detail,
}

#[pymethods]
impl Query {
    /// What would be of use beside the gradient, of what answers may say: "gradient" (nothing), "loss", or "hessian" (the loss
    /// too). A user may say less, and more is not looked at.
    #[getter]
    fn wants(&self) -> &'static str {
        answer::word(self.wants)
    }

    /// Why this user is asked, in a word: "new", "again", "probe", "set-aside", "sweep", "explored", "scored", "elsewhere" or
    /// "chosen".
    #[getter]
    fn why(&self) -> &'static str {
        self.why.word()
    }

    /// The point at which the user's gradient is wanted. The array is not a copy, and cannot be written to.
    #[getter]
    fn point<'py>(slf: &Bound<'py, Self>) -> Floats<'py> {
        arrays::view(&slf.get().point, slf.clone().into_any())
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Pickled<'py>)> {
        let &Self { ticket, user, explored, why, wants, ref name, .. } = slf.get();
        let parts = (ticket, user, explored, why.word(), Self::point(slf), answer::word(wants), name.clone());
        Ok((slf.get_type().getattr("_from")?, parts))
    }

    /// A question that was pickled.
    #[staticmethod]
    #[pyo3(signature = (ticket, user, explored, why, point, wants, name = None))]
    fn _from(
        ticket: (u64, u64),
        user: usize,
        explored: Option<bool>,
        why: &str,
        point: ArrayLike<'_>,
        wants: DetailWord<'_>,
        name: Option<String>,
    ) -> PyResult<Self> {
        let point = arrays::vector(&point, "the point")?;
        let why = Why::ALL.into_iter().find(|it| it.word() == why).unwrap_or(Why::Chosen);
        let (point, wants) = (Arc::from(&*point.as_slice()?), answer::detail(&wants)?);
        Ok(Self { ticket, user, name, explored, why, point, wants })
    }

    fn __repr__(&self) -> String {
        let Self { ticket, user, explored, .. } = self;
        let (why, wants) = (self.why(), self.wants());
        let name = self.name.as_ref().map(|name| format!(", name={name:?}")).unwrap_or_default();
        format!("Query(ticket={ticket:?}, user={user}{name}, explored={explored:?}, why={why:?}, wants={wants:?})")
    }
}
