//! What a file has recorded, as Python sees it.

use std::path::{Path, PathBuf};

use numpy::PyArray1;
use pyo3::{
    prelude::*,
    types::{PyDict, PyTuple},
};
use sgq::{Session as Opened, Why};
use sgq_ledger::{Kind, LedgerError, Reader, Reply};

use crate::{
    errors,
    types::{Account, Event, Paid, Recovered},
};

/// Whether a record is what it claims to be.
#[pyclass(frozen, module = "sgq", get_all)]
pub struct Verdict {
    /// Whether nothing is damaged.
    sound: bool,
    /// Events that are sealed as they were written.
    events: u64,
    /// Answers among them.
    answers: u64,
    /// Whether this version of sgq, told the same answers, asks the same questions to the bit.
    replays: bool,
    /// What is not as it should be, or worth knowing.
    findings: Vec<String>,
}

#[pymethods]
impl Verdict {
    fn __repr__(&self) -> String {
        let Self { sound, events, answers, replays, findings } = self;
        let python = |truth: bool| if truth { "True" } else { "False" };
        format!(
            "Verdict(sound={}, events={events}, answers={answers}, replays={}, findings={findings:?})",
            python(*sound),
            python(*replays)
        )
    }
}

pub fn verify(py: Python<'_>, path: &Path) -> PyResult<Verdict> {
    let verdict = py.detach(|| Reader::open(path)?.verify()).map_err(errors::ledger)?;
    Ok(Verdict {
        sound: verdict.is_sound(),
        events: verdict.events,
        answers: verdict.answers,
        replays: verdict.replays,
        findings: verdict.findings.into_iter().map(|finding| finding.words).collect(),
    })
}

pub fn history<'py>(py: Python<'py>, path: &Path) -> PyResult<Vec<Event<'py>>> {
    let (events, names) = py
        .detach(|| {
            let (reader, mut events) = (Reader::open(path)?, Vec::new());
            reader.history(|event| {
                let why = reader.why(&event)?;
                events.push((event, why));
                Ok(())
            })?;
            let names: Vec<String> = reader.users().iter().map(|user| user.name.clone()).collect();
            Ok::<_, LedgerError>((events, names))
        })
        .map_err(errors::ledger)?;
    let datetime = py.import("datetime")?;
    let (time, utc) = (datetime.getattr("datetime")?, datetime.getattr("timezone")?.getattr("utc")?);
    let row = |(event, why): (sgq_ledger::Event, Option<Why>)| {
        let row = PyDict::new(py);
        row.set_item("seq", event.seq)?;
        row.set_item("at", time.call_method1("fromtimestamp", (event.at as f64 / 1000.0, &utc))?)?;
        row.set_item("kind", event.kind.word())?;
        row.set_item("ticket", event.ticket)?;
        row.set_item("user", event.user.and_then(|user| names.get(user)))?;
        row.set_item("words", event.words.as_deref().or_else(|| why.map(Why::word)))?;
        row.set_item("cost", event.cost)?;
        row.set_item("numbers", event.numbers)?;
        Ok(Event(row))
    };
    events.into_iter().map(row).collect()
}

pub fn paid<'py>(py: Python<'py>, path: &Path) -> PyResult<Vec<Paid<'py>>> {
    let answers = py
        .detach(|| {
            let (reader, mut answers) = (Reader::open(path)?, Vec::new());
            reader.history(|event| {
                if let (Some(user), Some((point, reply))) = (event.user, reader.answer(&event)?) {
                    answers.push((user, point, reply));
                }
                Ok(())
            })?;
            Ok::<_, LedgerError>(answers)
        })
        .map_err(errors::ledger)?;
    let triple = |(user, point, reply): (usize, Vec<f64>, Reply)| {
        let said = said(py, reply)?;
        Ok(Paid(PyTuple::new(
            py,
            [user.into_pyobject(py)?.into_any(), PyArray1::from_vec(py, point).into_any(), said.into_any()],
        )?))
    };
    answers.into_iter().map(triple).collect()
}

/// What `Session.tell` takes.
fn said(py: Python<'_>, reply: Reply) -> PyResult<Bound<'_, PyDict>> {
    let said = PyDict::new(py);
    let numbers = |numbers: Vec<f64>| PyArray1::from_vec(py, numbers);
    said.set_item("gradient", numbers(reply.gradient))?;
    let singles = [("loss", reply.loss), ("weight", reply.weight), ("cost", reply.cost)];
    for (name, value) in singles.into_iter().filter(|(_, value)| value.is_some()) {
        said.set_item(name, value)?;
    }
    for (name, values) in [("hessian", reply.hessian), ("variance", reply.variance)] {
        if let Some(values) = values {
            said.set_item(name, numbers(values))?;
        }
    }
    Ok(said)
}

/// What each user was billed for before the session was made anew; empty where it never was.
pub fn billed_before(path: &Path, queries: u64, session: &Opened<'_>) -> Result<Vec<u64>, LedgerError> {
    if queries == session.queries() {
        return Ok(Vec::new());
    }
    let since = session.meter().billed_per_user();
    let mut billed = vec![0; since.len()];
    Reader::open(path)?.history(|event| {
        // Answers to questions to everybody are no queries.
        let cost = event.cost.filter(|_| event.kind != Kind::Reported);
        if let (Some(_), Some(of)) = (cost, event.user.and_then(|user| billed.get_mut(user))) {
            *of += 1;
        }
        Ok(())
    })?;
    Ok(billed.iter().zip(since).map(|(all, since): (&u64, _)| all.saturating_sub(*since)).collect())
}

/// Saves what is intact of a damaged file into a new one, and changes nothing of the damaged one. The new one is opened with
/// `sgq.open`, and goes on from the answers that were saved.
#[pyfunction]
pub fn recover<'py>(py: Python<'py>, damaged: PathBuf, new: PathBuf) -> PyResult<Recovered<'py>> {
    let saved = py.detach(|| sgq_ledger::recover(&damaged, &new)).map_err(errors::ledger)?;
    let row = PyDict::new(py);
    row.set_item("answers", saved.answers)?;
    row.set_item("events", saved.events)?;
    row.set_item("lost", saved.lost)?;
    row.set_item("lost_answers", saved.lost_answers)?;
    Ok(Recovered(row))
}

pub fn accounts<'py>(py: Python<'py>, path: &Path) -> PyResult<Vec<Account<'py>>> {
    let status = py.detach(|| Reader::open(path)?.status()).map_err(errors::ledger)?;
    let account = |user: sgq_ledger::UserStatus| {
        let row = PyDict::new(py);
        row.set_item("user", user.name)?;
        row.set_item("answers", user.account.answers)?;
        row.set_item("numbers", user.account.numbers)?;
        row.set_item("without_noise", user.account.bare)?;
        row.set_item("epsilon", user.epsilon)?;
        row.set_item("failures", user.failures)?;
        row.set_item("last_reason", user.last_reason)?;
        row.set_item("refused", user.refused)?;
        row.set_item("flagged", user.flagged)?;
        row.set_item("away", user.away)?;
        row.set_item("left", user.left)?;
        row.set_item("limit_spent", user.spent)?;
        Ok(Account(row))
    };
    status.users.into_iter().map(account).collect()
}
