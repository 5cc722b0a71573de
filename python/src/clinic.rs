//! A clinic that answers a study's questions by the plan.

use std::{
    path::PathBuf,
    sync::{Mutex, MutexGuard, PoisonError},
};

use pyo3::{exceptions::PyValueError, prelude::*};
use sgq_data::plan::{Clinic as Answering, Options, Outcome, Reply, StudyPlan};
use sgq_ledger::{User, folder::log_beside};

use crate::{errors, types::LogLike};

/// A clinic, or whoever else has rows of its own, that answers the questions of a study by a plan from a CSV file, as `sgq answer` does.
///
/// What the plan does not allow is refused, with the reason. Every answer is in the log before it is given out, and counts after a
/// restart. It is a context manager, which closes the log.
///
/// plan: the file that everybody has agreed to. data: the clinic's rows, a CSV file with a header, plain or gzip. name: what the
/// coordinator calls this clinic. clip, noise: no row's gradient counts for more than clip, as a Euclidean norm on scaled columns, and
/// normal noise of this standard deviation is added to each number of a gradient; they go together. log: the file that keeps every
/// answer; beside the data where none is named, and False keeps them in memory, where nothing is counted after a restart.
#[pyclass(frozen, module = "sgq")]
pub struct Clinic {
    /// What the coordinator calls it.
    #[pyo3(get)]
    name: String,
    /// What tells its plan from any other.
    #[pyo3(get)]
    plan: String,
    /// The file that keeps its answers; None where they are kept in memory.
    #[pyo3(get)]
    log: Option<PathBuf>,
    /// Gone once it is closed. Whoever asks while another thread is answered waits.
    inner: Mutex<Option<Answering>>,
}

#[pymethods]
impl Clinic {
    #[new]
    #[pyo3(signature = (plan, data, name, *, clip = None, noise = None, log = None))]
    fn new(
        py: Python<'_>,
        plan: PathBuf,
        data: PathBuf,
        name: String,
        clip: Option<f64>,
        noise: Option<f64>,
        log: Option<LogLike<'_>>,
    ) -> PyResult<Self> {
        if let Some(why) = User::wrong_name(&name) {
            return Err(PyValueError::new_err(format!("the clinic is called {name:?}: {why}")));
        }
        let log = match log.map(|log| log.path()).transpose()? {
            None => Some(log_beside(&data, &name)),
            Some(log) => log,
        };
        let plan = StudyPlan::read(plan).map_err(errors::plan)?;
        let (id, options) = (plan.id(), Options { clip, noise, log: log.clone() });
        let inner = py.detach(|| Answering::open(plan, data, &name, &options)).map_err(errors::clinic)?;
        Ok(Self { name, plan: id, log, inner: Mutex::new(Some(inner)) })
    }

    /// The answer to a question, or the refusal. The question is one line of JSON, `Query.line`.
    fn answer(&self, py: Python<'_>, line: &str) -> PyResult<ClinicReply> {
        let answered = py.detach(|| self.locked().as_mut().map(|clinic| clinic.answer(line.trim())));
        answered.map(ClinicReply::from).ok_or_else(|| self.is_closed())
    }

    /// How many answers at points, and how many closing answers, it has given by this plan, now and earlier. Refusals that depend on the
    /// rows count as well.
    #[getter]
    fn given(&self, py: Python<'_>) -> PyResult<(u64, u64)> {
        py.detach(|| self.locked().as_ref().map(Answering::given)).ok_or_else(|| self.is_closed())
    }

    /// Closes the log, so that another program may answer. To close it again changes nothing.
    fn close(&self, py: Python<'_>) {
        py.detach(|| drop(self.locked().take()));
    }

    fn __enter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __exit__(
        &self,
        py: Python<'_>,
        _kind: &Bound<'_, PyAny>,
        _error: &Bound<'_, PyAny>,
        _traceback: &Bound<'_, PyAny>,
    ) {
        self.close(py);
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        let given = py.detach(|| self.locked().as_ref().map(Answering::given));
        let state = given.map_or("closed".to_owned(), |(points, closing)| {
            format!("{points} answers at points, {closing} closing answers given")
        });
        format!("<sgq.Clinic {}: {state}>", self.name)
    }
}

impl Clinic {
    fn locked(&self) -> MutexGuard<'_, Option<Answering>> {
        // The log says what was answered, whatever happened elsewhere.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_closed(&self) -> PyErr {
        PyValueError::new_err(format!("the clinic {} is closed: make it anew to go on", self.name))
    }
}

/// What a clinic says to a question.
#[pyclass(frozen, module = "sgq", get_all)]
pub struct ClinicReply {
    /// The answer, or the refusal: a line of JSON, for the coordinator.
    line: String,
    /// What it discloses, or why it is refused, for the clinic's owner alone.
    words: String,
    /// The same without what is for the owner alone: whoever gets the answer may read it.
    public_words: String,
    /// "answered"; "again", where it was answered before and the answer is the same; or "refused".
    outcome: &'static str,
}

impl From<Reply> for ClinicReply {
    fn from(reply: Reply) -> Self {
        let Reply { line, words, public_words, outcome } = reply;
        let outcome = match outcome {
            Outcome::Answered => "answered",
            Outcome::Again => "again",
            Outcome::Refused => "refused",
        };
        Self { line, words, public_words, outcome }
    }
}

#[pymethods]
impl ClinicReply {
    fn __repr__(&self) -> String {
        let Self { public_words, outcome, .. } = self;
        let first = public_words.lines().next().unwrap_or_default();
        format!("<sgq.ClinicReply, {outcome}: {first}>")
    }
}
