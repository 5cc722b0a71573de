//! Sessions on a file.

use std::{collections::VecDeque, path::PathBuf};

use pyo3::{
    exceptions::{PyFileNotFoundError, PyValueError},
    prelude::*,
    types::PyDict,
};
use sgq::Ticket;
use sgq_ledger::{Ledger as File, Privacy, Reader, Taking, User};

use crate::{
    answer::Said,
    errors,
    glm::kind_of_errors,
    inner::{Inner, View},
    record,
    record::Verdict,
    session::Session,
    study,
    tickets::warn_of,
    types::{self, Account, ArrayLike, Event, FitResult, Paid, TicketLike, UserLike, UsersLike},
    wanted::{Asked, Wanted},
};

/// A session on a file, which `sgq.open` opens: every question is on the disk before it is given, and every answer before it is used.
///
/// It is a `Session`. Users have names, and a method that takes a user takes its name as well; a ticket may be the number of the
/// question alone. It is a context manager, which closes the file. A session that is closed can still be looked at.
#[pyclass(extends = Session, module = "sgq")]
pub struct Ledger {
    /// The file.
    #[pyo3(get)]
    path: PathBuf,
    /// Why the session was made anew from all answers when it was opened: the file is of a version of sgq that would have gone on
    /// otherwise. None where it goes on exactly where it was.
    #[pyo3(get)]
    made_anew: Option<String>,
    /// Of a study by a plan, what tells the plan from any other; None where there is none.
    #[pyo3(get)]
    plan: Option<String>,
}

#[pymethods]
impl Ledger {
    /// The users' names, in order.
    #[getter]
    fn names(slf: PyRef<'_, Self>) -> Vec<String> {
        slf.as_super().names.clone()
    }

    /// Whether nothing can be asked or told any more.
    #[getter]
    fn closed(slf: PyRef<'_, Self>) -> bool {
        matches!(slf.as_super().inner, Inner::View(_))
    }

    /// Closes the file, so that another program may write to it. To close it again changes nothing.
    fn close(mut slf: PyRefMut<'_, Self>, py: Python<'_>) -> PyResult<()> {
        slf.as_super().inner.close(py)
    }

    fn __enter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __exit__(
        slf: PyRefMut<'_, Self>,
        py: Python<'_>,
        _kind: &Bound<'_, PyAny>,
        _error: &Bound<'_, PyAny>,
        _traceback: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        Self::close(slf, py)
    }

    /// Takes the answer to a question, as `Session.tell`: it is on the disk before it is used. One that is refused is recorded with the
    /// reason. An answer that is taken and odd is warned of (`RuntimeWarning`).
    ///
    /// privacy: the sensitivity of the gradient, as a Euclidean norm, and the standard deviation of the noise that the user has added to
    /// each of its coordinates at home. accepted: takes an answer that would be refused as out of line with all others.
    /// hold: keeps an answer that came before its turn on the disk, until `tell_held` uses it.
    #[pyo3(signature = (ticket, gradient, loss = None, hessian = None, variance = None, weight = None, cost = None, *, privacy = None,
        accepted = false, hold = false))]
    #[allow(clippy::too_many_arguments)] // they are keywords
    fn tell<'py>(
        mut slf: PyRefMut<'py, Self>,
        py: Python<'py>,
        ticket: TicketLike<'py>,
        gradient: ArrayLike<'py>,
        loss: Option<f64>,
        hessian: Option<ArrayLike<'py>>,
        variance: Option<ArrayLike<'py>>,
        weight: Option<f64>,
        cost: Option<f64>,
        privacy: Option<(f64, f64)>,
        accepted: bool,
        hold: bool,
    ) -> PyResult<()> {
        let said = Said::new(&gradient, loss, hessian, variance, weight, cost);
        let privacy = privacy.map(|(sensitivity, noise)| private(sensitivity, noise)).transpose()?;
        slf.as_super().take(py, &ticket, said, privacy, taking(accepted, hold)?)
    }

    /// Takes what a user has sent: a line of JSON with the ticket of its question (`Query.line` is the question), and an answer, such as
    /// `{"ticket": 17, "gradient": [0.5, -1]}`, or `"summary"` or `"closing"` in a study by a plan. Where the line has an `"error"` in
    /// its place, this notes it in the record and returns its words; the question is still out, and `fail` says that it will not be
    /// answered. Else it returns None. What is no answer is recorded as refused, and is a ValueError.
    ///
    /// user: who has sent it, where that is known: a line in another name, or about somebody else's question, is refused.
    /// accepted, hold: as in `tell`; an answer to what everybody is asked is never held.
    #[pyo3(signature = (line, user = None, *, accepted = false, hold = false))]
    fn tell_line(
        mut slf: PyRefMut<'_, Self>,
        py: Python<'_>,
        line: &str,
        user: Option<UserLike<'_>>,
        accepted: bool,
        hold: bool,
    ) -> PyResult<Option<String>> {
        let session = slf.as_super();
        let sender = user.map(|user| session.user(&user)).transpose()?;
        let (said, odd) = session.inner.tell_line(py, line, sender, taking(accepted, hold)?)?;
        let name = sender.and_then(|user| session.names.get(user)).cloned();
        odd.map_or(Ok(()), |why| warn_of(py, &why, name.as_deref()))?;
        Ok(said)
    }

    /// Uses an answer that was kept by `tell(…, hold=True)` until now, by this program or an earlier one.
    fn tell_held(mut slf: PyRefMut<'_, Self>, py: Python<'_>, ticket: TicketLike<'_>) -> PyResult<()> {
        let session = slf.as_super();
        let ticket = session.ticket(&ticket)?;
        let name = session.name_of(ticket);
        let odd = session.inner.tell_held(py, ticket)?;
        odd.map_or(Ok(()), |why| warn_of(py, &why, name.as_deref()))
    }

    /// The tickets of the questions whose answers are kept until `tell_held`.
    #[getter]
    fn held(mut slf: PyRefMut<'_, Self>) -> Vec<u64> {
        slf.as_super().inner.ledger().map(|ledger| ledger.held().collect()).unwrap_or_default()
    }

    /// Writes a line into the record, about a user or about none. Nothing else changes.
    #[pyo3(signature = (words, user = None))]
    fn note(mut slf: PyRefMut<'_, Self>, py: Python<'_>, words: &str, user: Option<UserLike<'_>>) -> PyResult<()> {
        let user = user.map(|user| slf.as_super().user(&user)).transpose()?;
        let ledger = slf.as_super().inner.ledger()?;
        py.detach(|| ledger.note(user, words)).map_err(errors::ledger)
    }

    /// Everything that has happened, in order: a list of dicts, as pandas and polars take them.
    fn history<'py>(&self, py: Python<'py>) -> PyResult<Vec<Event<'py>>> {
        record::history(py, &self.path)
    }

    /// All answers that were taken, as `earlier=` of a session of another method takes them: triples of the user's number, the point,
    /// and a dict with all that was said.
    fn paid<'py>(&self, py: Python<'py>) -> PyResult<Vec<Paid<'py>>> {
        record::paid(py, &self.path)
    }

    /// What each user has disclosed, and what became of its questions: a list of dicts.
    fn accounts<'py>(&self, py: Python<'py>) -> PyResult<Vec<Account<'py>>> {
        record::accounts(py, &self.path)
    }

    /// What has come of a study by a plan so far: coefficients with standard errors, exact once everybody has answered the closing
    /// question at the end, and approximate until then. None before everybody has answered the first question.
    ///
    /// errors: which standard errors: "model", as glm does; or "clustered" by user.
    #[pyo3(signature = (errors = "model"))]
    fn result<'py>(mut slf: PyRefMut<'py, Self>, py: Python<'py>, errors: &str) -> PyResult<Option<FitResult<'py>>> {
        let std_errors = kind_of_errors("errors", errors)?;
        let path = slf.path.clone();
        if slf.plan.is_none() {
            return Err(errors::of_no_plan(&path));
        }
        let inner = &mut slf.as_super().inner;
        let ledger = if matches!(inner, Inner::Ledger(_)) { Some(inner.ledger()?) } else { None };
        let results = study::results(py, ledger, &path, std_errors)?;
        results.map(|(results, answers)| study::told(py, &results, &answers)).transpose()
    }

    /// Whose questions fail again and again in a study by a plan, and since when: pairs of a name and words. Nobody else is asked at a
    /// point meanwhile, so that what others may still disclose is not spent: `back` lets it be asked again, and so does opening the file
    /// again; `leave` goes on without it.
    fn failing(mut slf: PyRefMut<'_, Self>) -> PyResult<Vec<(String, String)>> {
        slf.as_super().inner.failing()
    }

    /// Who will not answer what everybody is asked in a study by a plan (`fail` said so since the file was opened), and why: pairs of a
    /// name and the reason. The study waits for them: opening the file again asks them again, and `leave` goes on without them.
    fn refusals(mut slf: PyRefMut<'_, Self>) -> Vec<(String, String)> {
        slf.as_super().inner.refusals()
    }

    /// Goes through the whole record, and says whether it is what it claims to be.
    fn verify(&self, py: Python<'_>) -> PyResult<Verdict> {
        record::verify(py, &self.path)
    }

    fn __repr__(mut slf: PyRefMut<'_, Self>) -> String {
        let path = slf.path.display().to_string();
        let inner = &mut slf.as_super().inner;
        let queries = inner.paid_before().queries + inner.session().queries();
        let session = inner.session();
        let state = session.stop_reason().map_or("running".to_owned(), |reason| reason.to_string());
        let closed = if matches!(slf.as_super().inner, Inner::View(_)) { ", closed" } else { "" };
        format!("<sgq.Ledger {path}: {queries} queries, {state}{closed}>")
    }
}

/// Opens a session on a file, and makes it where there is none.
///
/// With the path alone it goes on with a session that is there. With a method, users and settings it makes a file where there is none,
/// and goes on with it where there is one, so that a program may simply be started again. Settings that are given must then be those
/// that the file was made with.
///
/// With plan=, the file of a plan that `sgq plan new` has made, it is a study: a regression over users who all have the plan. Everybody is
/// asked for counts and means first (`Query.wants` is "summary"); start, weights and what users say follow from the plan and from that.
/// Answers come as lines: `Ledger.tell_line`, and `Clinic` on the users' side. `Ledger.result` is what has come of it. To open a study
/// lets everybody be asked again whose questions have failed again and again.
///
/// A file that is made without any budget has one of 500 queries, or 10 for each user where that is more; `extend` raises it.
///
/// path: the file. method: as in `Session`. users: their names, or how many they are: they are then called user-0, user-1 and so on.
/// protection: a dict of limits. answers_each: nobody is asked once it has given so many answers. epsilon (and delta, 0.00001): nobody
/// is asked once one more answer could spend more of (ε, δ) differential privacy. smoothness: what becomes of an answer that breaks
/// ‖g − g_i‖ ≤ L_i ‖x − x_i‖ by more than the part smoothness_slack (0.01): "ignore", "flag" (the default) or "refuse". length: the same
/// of one that is length_factor (a million) times longer than those of all others; "refuse" is the default. unexpected: the same of one
/// that is unexpected_factor (10) times as far from what the model expects of it as the answers of all others are long; "refuse" is
/// the default, and methods without a model expect nothing.
/// precision: of a study, how many standard errors a coefficient may be off when it stops, by the method's own estimate (0.01, where the
/// method can tell and there is no tol). close: whether everybody is asked the closing question at the end, which makes standard errors
/// exact (True).
/// read_only: to look at it as it is now, also while another program writes to it.
/// All other settings are those of `Session`, but for problem and earlier.
#[pyfunction]
#[pyo3(signature = (path, method = None, *, users = None, plan = None, precision = None, close = None, protection = None, read_only = false,
    **settings: "Any"))]
#[allow(clippy::too_many_arguments)] // they are keywords
pub fn open<'py>(
    py: Python<'py>,
    path: PathBuf,
    method: Option<&str>,
    users: Option<UsersLike<'py>>,
    plan: Option<PathBuf>,
    precision: Option<f64>,
    close: Option<bool>,
    protection: Option<types::Protection<'py>>,
    read_only: bool,
    settings: Option<&Bound<'py, PyDict>>,
) -> PyResult<Py<Ledger>> {
    let wanted = Wanted::new(py, Asked { method, users, plan, precision, close, protection, settings })?;
    if read_only {
        if !wanted.is_nothing() {
            return Err(PyValueError::new_err("read_only is for a session that is there: give its path alone"));
        }
        return to_read(py, path);
    }
    let ledger = match (path.exists(), wanted.is_nothing()) {
        (true, _) => {
            let mut ledger = py.detach(|| File::open(&path)).map_err(errors::ledger)?;
            wanted.check_plan(&ledger)?;
            let differences = wanted.differences(&ledger)?;
            if !differences.is_empty() {
                return Err(errors::differs(&path, &differences));
            }
            ledger.ask_failing_again().map_err(errors::ledger)?;
            ledger
        }
        (false, true) => {
            return Err(PyFileNotFoundError::new_err(format!(
                "{}: there is no such file; with users= and x0=, or plan=, it would be made",
                path.display()
            )));
        }
        (false, false) => {
            let plan = wanted.made()?;
            py.detach(|| File::create(&path, &plan)).map_err(errors::ledger)?
        }
    };
    let made_anew = ledger.made_anew().map(str::to_owned);
    let billed_before = record::billed_before(&path, ledger.queries(), ledger.session()).map_err(errors::ledger)?;
    // Whoever asks for the history may be in another folder by then.
    let path = std::path::absolute(&path)?;
    let plan = ledger.terms().map(|terms| terms.plan.id());
    let session = Session {
        problem: None,
        method: ledger.session().name().to_owned(),
        options: Vec::new(),
        number: ledger.number(),
        names: names(ledger.users()),
        billed_before,
        waiting: ledger.pending().iter().map(|question| Ticket(question.ticket)).collect(),
        inner: Inner::of(ledger),
    };
    Py::new(py, PyClassInitializer::from(session).add_subclass(Ledger { path, made_anew, plan }))
}

fn to_read(py: Python<'_>, path: PathBuf) -> PyResult<Py<Ledger>> {
    let path = std::path::absolute(path)?;
    let read = || {
        let reader = Reader::open(&path)?;
        let status = reader.status()?;
        let view = View::read(&reader, &status)?;
        let billed = record::billed_before(&path, status.queries, view.session())?;
        Ok((reader, status, view, billed))
    };
    let (reader, status, view, billed_before) = py.detach(read).map_err(errors::ledger)?;
    let plan = reader.terms().map(|terms| terms.plan.id());
    let session = Session {
        problem: None,
        method: status.method,
        options: Vec::new(),
        number: reader.number(),
        names: names(reader.users()),
        billed_before,
        waiting: VecDeque::new(),
        inner: Inner::View(Box::new(view)),
    };
    Py::new(py, PyClassInitializer::from(session).add_subclass(Ledger { path, made_anew: status.made_anew, plan }))
}

fn names(users: &[User]) -> Vec<String> {
    users.iter().map(|user| user.name.clone()).collect()
}

/// What is to become of an answer.
fn taking(accepted: bool, hold: bool) -> PyResult<Taking> {
    match (hold, accepted) {
        (true, true) => {
            Err(PyValueError::new_err("hold and accepted do not go together: it is looked at when it is told"))
        }
        (true, false) => Ok(Taking::Held),
        (false, true) => Ok(Taking::Accepted),
        (false, false) => Ok(Taking::Checked),
    }
}

fn private(sensitivity: f64, noise: f64) -> PyResult<Privacy> {
    let is_positive = |number: f64| number.is_finite() && number > 0.0;
    if !(is_positive(sensitivity) && is_positive(noise)) {
        return Err(PyValueError::new_err(format!(
            "privacy is ({sensitivity}, {noise}): the sensitivity and the noise must both be positive"
        )));
    }
    Ok(Privacy { sensitivity, noise })
}
