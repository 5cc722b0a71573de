//! Sessions on a file.

use std::{collections::VecDeque, path::PathBuf};

use pyo3::{
    exceptions::{PyFileNotFoundError, PyTypeError, PyValueError},
    prelude::*,
    types::{PyDict, PyString},
};
use sgq::{Method, Sight, Ticket};
use sgq_ledger::{Ledger as File, Plan, Privacy, Protection, Reader, User};

use crate::{
    answer::Said,
    errors,
    given::{Given, opened},
    inner::{Inner, Taking, View},
    keywords::count,
    method, record,
    record::Verdict,
    session::Session,
    tickets::warn_of,
    types::{self, Account, ArrayLike, Event, Paid, TicketLike, UserLike, UsersLike},
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
        let taking = match (hold, accepted) {
            (true, true) => {
                return Err(PyValueError::new_err(
                    "hold and accepted do not go together: it is looked at when it is told",
                ));
            }
            (true, false) => Taking::Held,
            (false, true) => Taking::Accepted,
            (false, false) => Taking::Checked,
        };
        slf.as_super().take(py, &ticket, said, privacy, taking)
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
/// A file that is made without any budget has one of 500 queries, or 10 for each user where that is more; `extend` raises it.
///
/// path: the file. method: as in `Session`. users: their names, or how many they are: they are then called user-0, user-1 and so on.
/// protection: a dict of limits. answers_each: nobody is asked once it has given so many answers. epsilon (and delta, 0.00001): nobody
/// is asked once one more answer could spend more of (ε, δ) differential privacy. smoothness: what becomes of an answer that breaks
/// ‖g − g_i‖ ≤ L_i ‖x − x_i‖ by more than the part smoothness_slack (0.01): "ignore", "flag" (the default) or "refuse". length: the same
/// of one that is length_factor (a million) times longer than those of all others; "refuse" is the default. unexpected: the same of one
/// that is unexpected_factor (10) times as far from what the model expects of it as the answers of all others are long; "refuse" is
/// the default, and methods without a model expect nothing.
/// read_only: to look at it as it is now, also while another program writes to it.
/// All other settings are those of `Session`, but for problem and earlier.
#[pyfunction]
#[pyo3(signature = (path, method = None, *, users = None, protection = None, read_only = false, **settings: "Any"))]
pub fn open<'py>(
    py: Python<'py>,
    path: PathBuf,
    method: Option<&str>,
    users: Option<UsersLike<'py>>,
    protection: Option<types::Protection<'py>>,
    read_only: bool,
    settings: Option<&Bound<'py, PyDict>>,
) -> PyResult<Py<Ledger>> {
    let wanted = Wanted::new(py, method, users, protection, settings)?;
    if read_only {
        if !wanted.is_nothing() {
            return Err(PyValueError::new_err("read_only is for a session that is there: give its path alone"));
        }
        return to_read(py, path);
    }
    let ledger = match (path.exists(), wanted.is_nothing()) {
        (true, _) => {
            let ledger = py.detach(|| File::open(&path)).map_err(errors::ledger)?;
            if ledger.terms().is_some() {
                return Err(errors::of_a_plan(&path));
            }
            let differences = wanted.differences(&ledger)?;
            if !differences.is_empty() {
                return Err(errors::differs(&path, &differences));
            }
            ledger
        }
        (false, true) => {
            return Err(PyFileNotFoundError::new_err(format!(
                "{}: there is no such file; with users= and x0= it would be made",
                path.display()
            )));
        }
        (false, false) => {
            let plan = wanted.plan()?;
            py.detach(|| File::create(&path, &plan)).map_err(errors::ledger)?
        }
    };
    let made_anew = ledger.made_anew().map(str::to_owned);
    let billed_before = record::billed_before(&path, ledger.queries(), ledger.session()).map_err(errors::ledger)?;
    // Whoever asks for the history may be in another folder by then.
    let path = std::path::absolute(&path)?;
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
    Py::new(py, PyClassInitializer::from(session).add_subclass(Ledger { path, made_anew }))
}

/// The queries of a session that is given no budget.
const DEFAULT_BUDGET: u64 = 500;
const DEFAULT_BUDGET_PER_USER: u64 = 10;

fn to_read(py: Python<'_>, path: PathBuf) -> PyResult<Py<Ledger>> {
    let path = std::path::absolute(path)?;
    let read = || {
        let reader = Reader::open(&path)?;
        if reader.terms().is_some() {
            return Ok(None);
        }
        let status = reader.status()?;
        let view = View::read(&reader, &status)?;
        let billed = record::billed_before(&path, status.queries, view.session())?;
        Ok(Some((reader, status, view, billed)))
    };
    let read = py.detach(read).map_err(errors::ledger)?;
    let (reader, status, view, billed_before) = read.ok_or_else(|| errors::of_a_plan(&path))?;
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
    Py::new(py, PyClassInitializer::from(session).add_subclass(Ledger { path, made_anew: status.made_anew }))
}

fn names(users: &[User]) -> Vec<String> {
    users.iter().map(|user| user.name.clone()).collect()
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

/// The users by name, or how many they are.
enum Users {
    Named(Vec<String>),
    Counted(usize),
}

/// What a session on a file is to be, as far as it was said.
struct Wanted<'py> {
    method: Option<String>,
    users: Option<Users>,
    protection: Option<Protection>,
    settings: Bound<'py, PyDict>,
}

impl<'py> Wanted<'py> {
    fn new(
        py: Python<'py>,
        method: Option<&str>,
        users: Option<UsersLike<'py>>,
        protection: Option<types::Protection<'py>>,
        settings: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Self> {
        let given = PyDict::new(py);
        for (key, value) in settings.into_iter().flatten() {
            let name: String = key.extract()?;
            if ["problem", "earlier"].contains(&&*name) {
                return Err(PyTypeError::new_err(format!(
                    "sgq.open has no keyword {name}: a session on a file asks users who are somewhere else, and has only its own answers"
                )));
            }
            // None is what a caller passes on that was not told anything; but of tolerances it is one.
            if !value.is_none() || name == "tol" {
                given.set_item(key, value)?;
            }
        }
        let users = users.map(|users| named(&users)).transpose()?;
        let protection = protection.map(|limits| limits_of(&limits)).transpose()?;
        Ok(Self { method: method.map(str::to_owned), users, protection, settings: given })
    }

    fn is_nothing(&self) -> bool {
        self.method.is_none() && self.users.is_none() && self.protection.is_none() && self.settings.is_empty()
    }

    /// A new session. Whatever is wrong with it is found here, before there is a file.
    fn plan(self) -> PyResult<Plan> {
        let (given, options) = Given::from_dict(&self.settings)?;
        let names = match self.users {
            Some(Users::Named(names)) => names,
            Some(Users::Counted(count)) => (0..count).map(|user| format!("user-{user}")).collect(),
            None => return Err(PyTypeError::new_err("users is missing: give their names, or their number")),
        };
        let method = given.method(self.method.as_deref(), names.len())?;
        let parts = method::method_of_session(&method, Some(&options))?.named(&*method);
        let mut settings = given.settings(&parts, given.start(None)?, names.len(), None)?;
        // As sgq.minimize and the command line have it: users who cannot be asked may keep a session from converging.
        if settings.budget.is_none() && settings.cost_budget.is_none() && settings.numbers_budget.is_none() {
            settings.budget = Some(DEFAULT_BUDGET.max(DEFAULT_BUDGET_PER_USER * names.len() as u64));
        }
        opened(parts.clone(), settings.clone(), Sight::Blind, &[])?;
        let of = |numbers: &Option<Vec<f64>>, user: usize| numbers.as_ref().and_then(|all| all.get(user).copied());
        let user = |(index, name): (usize, String)| {
            let mut user = User::named(name);
            user.cost = of(&settings.costs, index);
            user.weight = of(&settings.weights, index);
            user.smoothness = of(&settings.smoothness, index);
            user
        };
        let users = names.into_iter().enumerate().map(user).collect();
        Ok(Plan::new(parts, settings, users).protected(self.protection.unwrap_or_default()))
    }

    /// Where what was said is not what a file was made with.
    fn differences(&self, ledger: &File) -> PyResult<Vec<String>> {
        let mut differences = Vec::new();
        let users = ledger.users();
        differences.extend(self.users.as_ref().and_then(|given| different_users(given, users)));
        if let Some(protection) = &self.protection {
            let (given, there) = (in_words(protection)?, in_words(ledger.protection())?);
            let keys = given.as_object().into_iter().flat_map(|object| object.keys());
            differences.extend(keys.filter_map(|key| differing(&format!("protection {key}"), key, &given, &there)));
        }
        let (given, options) = Given::from_dict(&self.settings)?;
        let there = ledger.method();
        let name = self.method.as_deref().unwrap_or(there.name());
        let parts = match (&self.method, options.is_empty()) {
            (None, true) => there.clone(),
            _ => method::method_of_session(name, Some(&options))?.named(name),
        };
        if name != there.name() {
            differences.push(format!("the method is {}, and {name} is given", there.name()));
            return Ok(differences);
        }
        for option in options.keys() {
            let option: String = option.extract()?;
            let shown = |method: &Method| method.setting(&option).map_or("not set".to_owned(), |it| it.to_string());
            if parts.setting(&option) != there.setting(&option) {
                differences.push(format!("{option} is {}, and {} is given", shown(there), shown(&parts)));
            }
        }
        if self.settings.is_empty() {
            return Ok(differences);
        }
        let start = match given.x0 {
            Some(_) => given.start(None)?,
            None => ledger.settings().start.clone(),
        };
        let settings = given.settings(&parts, start, users.len(), None)?;
        let (given, there) = (in_words(&settings)?, in_words(ledger.settings())?);
        for keyword in self.settings.keys() {
            let keyword: String = keyword.extract()?;
            differences.extend(differing(&keyword, field(&keyword), &given, &there));
        }
        Ok(differences)
    }
}

/// What a keyword is called among the settings.
fn field(keyword: &str) -> &str {
    match keyword {
        "x0" => "start",
        "tol" => "tolerance",
        "table" | "table_folder" => "storage",
        other => other,
    }
}

fn in_words(of: &impl serde::Serialize) -> PyResult<serde_json::Value> {
    serde_json::to_value(of).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// How a field of an object is another one there, if it is.
fn differing(what: &str, key: &str, given: &serde_json::Value, there: &serde_json::Value) -> Option<String> {
    let (given, there) = (given.get(key)?, there.get(key)?);
    (given != there).then(|| match (given, there) {
        (serde_json::Value::Array(given), serde_json::Value::Array(there)) => {
            let place = given.iter().zip(there).position(|(a, b)| a != b);
            match place {
                Some(at) => format!("{what} is {} at place {at}, and {} is given", there[at], given[at]),
                None => format!("{what} has {} numbers, and {} are given", there.len(), given.len()),
            }
        }
        _ => format!("{what} is {}, and {} is given", shown(there), shown(given)),
    })
}

fn shown(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::Null => "not set".to_owned(),
        serde_json::Value::Array(numbers) => format!("a list of {}", numbers.len()),
        other => other.to_string(),
    }
}

fn different_users(given: &Users, there: &[User]) -> Option<String> {
    let names: &[String] = match given {
        Users::Named(names) => names,
        Users::Counted(_) => &[],
    };
    if let Some(at) = names.iter().zip(there).position(|(name, user)| *name != user.name) {
        return Some(format!("user {at} is {:?}, and {:?} is given", there[at].name, names[at]));
    }
    let count = if let Users::Counted(count) = given { *count } else { names.len() };
    (count != there.len()).then(|| format!("it has {} users, and {count} are given", there.len()))
}

fn named(users: &Bound<'_, PyAny>) -> PyResult<Users> {
    if users.is_instance_of::<PyString>() {
        return Err(PyTypeError::new_err(format!("users is {users:?}: give a list of names, or a number")));
    }
    match users.extract::<Vec<String>>() {
        Ok(names) => Ok(Users::Named(names)),
        Err(_) => count(users, "users").map(Users::Counted).map_err(|error| match users.try_iter() {
            Ok(_) => PyTypeError::new_err("users must be a list of names, each a str, or a number"),
            Err(_) => error,
        }),
    }
}

/// Limits from a dict, by way of what the file has.
fn limits_of(limits: &Bound<'_, PyDict>) -> PyResult<Protection> {
    let text: String = limits.py().import("json")?.call_method1("dumps", (limits,))?.extract()?;
    serde_json::from_str(&text).map_err(|error| PyValueError::new_err(format!("protection: {error}")))
}
