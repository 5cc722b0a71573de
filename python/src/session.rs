//! Sessions: ask whom to query, tell what they answered.

use std::{
    hash::{BuildHasher, RandomState},
    sync::Arc,
};

use numpy::PyArray1;
use pyo3::{
    exceptions::{PyRuntimeError, PyTypeError, PyValueError},
    prelude::*,
    types::{PyBytes, PyDict, PyType},
};
use sgq::{AskTell, Format, Settings, Sight, Smoothness, StepSize, StopReason, Storage, Ticket};

use crate::{
    arrays, errors, method,
    types::{ArrayLike, Counts, Floats, State, StepRule},
};

/// A question to put to a user.
#[pyclass(frozen, module = "sgq")]
pub struct Query {
    /// What to give back with the answer: a pair of the session's number and the question's.
    #[pyo3(get)]
    ticket: (u64, u64),
    /// The user to ask, from 0.
    #[pyo3(get)]
    user: usize,
    /// Whether the user was picked at random in order to explore; None for methods without exploration.
    #[pyo3(get)]
    explored: Option<bool>,
    point: Arc<[f64]>,
}

#[pymethods]
impl Query {
    /// The point at which the user's gradient is wanted. The array is not a copy, and cannot be written to.
    #[getter]
    fn point<'py>(slf: &Bound<'py, Self>) -> Floats<'py> {
        arrays::view(&slf.get().point, slf.clone().into_any())
    }

    fn __repr__(&self) -> String {
        format!("Query(ticket={:?}, user={}, explored={:?})", self.ticket, self.user, self.explored)
    }
}

/// One run of one method.
#[pyclass(module = "sgq")]
pub struct Session {
    inner: Box<dyn AskTell>,
    /// What the method was made of, to make it again from a saved state.
    method: String,
    options: Vec<(String, Py<PyAny>)>,
    /// Tells its tickets from those of other sessions; a restored session keeps it.
    number: u64,
}

#[pymethods]
impl Session {
    #[new]
    #[pyo3(signature = (method = "sgq", *, x0, users, smoothness = None, step_size = None, budget = None,
        gradient_tolerance = None, divergence_limit = None, costs = None, pl_constant = None,
        objective_smoothness = None, seed = 0, table = "f64", table_folder = None, **options: "float | bool"))]
    #[allow(clippy::too_many_arguments)] // they are keywords
    fn new(
        method: &str,
        x0: ArrayLike<'_>,
        users: usize,
        smoothness: Option<ArrayLike<'_>>,
        step_size: Option<StepRule<'_>>,
        budget: Option<u64>,
        gradient_tolerance: Option<f64>,
        divergence_limit: Option<f64>,
        costs: Option<ArrayLike<'_>>,
        pl_constant: Option<f64>,
        objective_smoothness: Option<f64>,
        seed: u64,
        table: &str,
        table_folder: Option<std::path::PathBuf>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let (entry, recipe) = method::recipe(method, options)?;
        let start = arrays::vector(&x0, "x0")?.as_slice()?.into_owned();
        let mut settings = Settings::new(start, users).seed(seed);
        let smoothness = smoothness.map(|each| per_user(&each, users, "smoothness")).transpose()?;
        if let Some(each) = &smoothness {
            settings = settings.smoothness(each.clone());
        }
        settings = settings.step_size(match step_size {
            None => auto(&recipe, smoothness, users, objective_smoothness, pl_constant)?,
            Some(StepRule(rule)) => match rule.extract::<String>() {
                Ok(word) if word == "auto" => auto(&recipe, smoothness, users, objective_smoothness, pl_constant)?,
                Ok(word) if word == "theory" => StepSize::Theory,
                Ok(word) => {
                    return Err(PyValueError::new_err(format!(
                        "the step size is {word:?}: it must be a number, \"auto\" or \"theory\""
                    )));
                }
                Err(_) => StepSize::Constant(rule.extract().map_err(|_| {
                    PyTypeError::new_err(format!(
                        "the step size is {rule}: it must be a number, \"auto\" or \"theory\""
                    ))
                })?),
            },
        });
        if let Some(queries) = budget {
            settings = settings.budget(queries);
        }
        if let Some(norm) = gradient_tolerance {
            settings = settings.gradient_tolerance(norm);
        }
        if let Some(limit) = divergence_limit {
            settings = settings.divergence_limit(limit);
        }
        if let Some(costs) = costs {
            settings = settings.costs(per_user(&costs, users, "costs")?);
        }
        if let Some(constant) = pl_constant {
            settings = settings.pl_constant(constant);
        }
        if let Some(constant) = objective_smoothness {
            settings = settings.objective_smoothness(constant);
        }
        settings = settings.storage(storage(table, table_folder)?);
        let inner = recipe.open(entry.name, settings, Sight::Blind).map_err(errors::settings)?;
        let options = options.into_iter().flatten().map(|(key, value)| Ok((key.extract()?, value.unbind())));
        // Any number will do that no other session is likely to have.
        let number = RandomState::new().hash_one(0);
        Ok(Self { inner, method: method.into(), options: options.collect::<PyResult<_>>()?, number })
    }

    /// Whom to ask next, and where; None once the run has stopped. Until the answer is told, asking again gives the same
    /// question.
    fn ask(&mut self, py: Python<'_>) -> PyResult<Option<Query>> {
        let query = py.detach(|| self.inner.ask()).map_err(errors::choice)?;
        Ok(query.map(|query| Query {
            ticket: (self.number, query.ticket.0),
            user: query.user,
            explored: query.explored,
            point: query.point,
        }))
    }

    /// Takes the answer to a question: bills it, then uses it. Telling the same answer again changes nothing; on an error
    /// nothing is billed, and the question stays open.
    fn tell(&mut self, py: Python<'_>, ticket: (u64, u64), gradient: ArrayLike<'_>) -> PyResult<()> {
        if ticket.0 != self.number {
            return Err(PyValueError::new_err(
                "the ticket is from another session: tell answers to the session that asked the question",
            ));
        }
        let gradient = arrays::vector(&gradient, "the gradient")?;
        let numbers = gradient.as_slice()?;
        let numbers: &[f64] = &numbers;
        py.detach(|| self.inner.tell(Ticket(ticket.1), numbers)).map_err(errors::tell)
    }

    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    /// The next question; a question that was not answered comes again.
    fn __next__(&mut self, py: Python<'_>) -> PyResult<Option<Query>> {
        self.ask(py)
    }

    /// Where the run stands.
    #[getter]
    fn point<'py>(&self, py: Python<'py>) -> Floats<'py> {
        Floats(PyArray1::from_slice(py, self.inner.point()))
    }

    /// The method's name.
    #[getter]
    fn method(&self) -> &str {
        &self.method
    }

    /// Queries paid for so far.
    #[getter]
    fn queries(&self) -> u64 {
        self.inner.queries()
    }

    /// Queries paid for so far, user by user.
    #[getter]
    fn queries_per_user<'py>(&self, py: Python<'py>) -> Counts<'py> {
        Counts(PyArray1::from_slice(py, self.inner.meter().billed_per_user()))
    }

    /// What all queries so far have cost.
    #[getter]
    fn cost(&self) -> f64 {
        self.inner.meter().cost()
    }

    /// Steps taken so far: moves of the point.
    #[getter]
    fn steps(&self) -> u64 {
        self.inner.steps()
    }

    /// The step size of the coming step.
    #[getter]
    fn step_size(&self) -> f64 {
        self.inner.step_size()
    }

    /// The norm of the mean of everybody's last gradient, once there is one.
    #[getter]
    fn surrogate_gradient_norm(&self) -> Option<f64> {
        self.inner.surrogate_gradient_norm()
    }

    /// Why the run stopped, in a word: "budget", "surrogate gradient" or "diverged"; None while it goes on.
    #[getter]
    fn stop_reason(&self) -> Option<&'static str> {
        self.inner.stop_reason().map(|reason| match reason {
            StopReason::Budget { .. } => "budget",
            StopReason::TargetGap { .. } => "target gap",
            StopReason::SurrogateGradient { .. } => "surrogate gradient",
            StopReason::Diverged { .. } => "diverged",
            _ => "stopped",
        })
    }

    /// Why the run stopped, in a sentence.
    #[getter]
    fn message(&self) -> Option<String> {
        self.inner.stop_reason().map(|reason| reason.to_string())
    }

    /// All of the session, its randomness and its open question included, to be stored.
    fn state_dict<'py>(&self, py: Python<'py>) -> PyResult<State<'py>> {
        let snapshot =
            py.detach(|| self.inner.snapshot()).map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
        let options = PyDict::new(py);
        for (key, value) in &self.options {
            options.set_item(key, value)?;
        }
        let state = PyDict::new(py);
        state.set_item("method", &self.method)?;
        state.set_item("options", options)?;
        state.set_item("number", self.number)?;
        state.set_item("snapshot", PyBytes::new(py, &snapshot))?;
        Ok(State(state))
    }

    /// Goes on from a stored state, bit for bit as the session that stored it would. What this session did is forgotten.
    fn load_state_dict(&mut self, state: State<'_>) -> PyResult<()> {
        *self = Self::restored(&state)?;
        Ok(())
    }

    /// A session from a stored state.
    #[classmethod]
    fn from_state_dict(_class: &Bound<'_, PyType>, state: State<'_>) -> PyResult<Self> {
        Self::restored(&state)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (State<'py>,))> {
        let state = slf.borrow().state_dict(slf.py())?;
        Ok((slf.get_type().getattr("from_state_dict")?, (state,)))
    }

    fn __repr__(&self) -> String {
        let (queries, steps) = (self.inner.queries(), self.inner.steps());
        let state = self.inner.stop_reason().map_or("running".to_owned(), |reason| reason.to_string());
        format!("<sgq.Session {}: {queries} queries, {steps} steps, {state}>", self.method)
    }
}

impl Session {
    fn restored(state: &Bound<'_, PyDict>) -> PyResult<Self> {
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
        let (entry, recipe) = method::recipe(&method, Some(options))?;
        let inner = recipe.restore(entry.name, snapshot.as_bytes(), Sight::Blind).map_err(errors::restore)?;
        let options = options.iter().map(|(key, value)| Ok((key.extract()?, value.unbind())));
        Ok(Self { inner, method, options: options.collect::<PyResult<_>>()?, number: part("number")?.extract()? })
    }
}

/// One number for each user; a single number counts for all of them.
fn per_user(value: &Bound<'_, PyAny>, users: usize, what: &str) -> PyResult<Vec<f64>> {
    match value.extract::<f64>() {
        Ok(number) => Ok(vec![number; users]),
        Err(_) => Ok(arrays::vector(value, what)?.as_slice()?.into_owned()),
    }
}

fn auto(
    recipe: &sgq::catalog::Recipe,
    smoothness: Option<Vec<f64>>,
    users: usize,
    objective: Option<f64>,
    pl_constant: Option<f64>,
) -> PyResult<StepSize> {
    let each = smoothness.ok_or_else(|| {
        PyValueError::new_err("step_size=\"auto\" follows from the users' smoothness: give smoothness, or a number")
    })?;
    let smoothness = Smoothness::new(each, users).and_then(|it| it.with_objective(objective));
    let smoothness = smoothness.map_err(errors::settings)?;
    Ok(StepSize::Constant(recipe.default_step(&smoothness, pl_constant).size))
}

fn storage(table: &str, folder: Option<std::path::PathBuf>) -> PyResult<Storage> {
    let format = match table {
        "f64" => Format::F64,
        "f32" => Format::F32,
        "sparse" => Format::Sparse { l2: 0.0 },
        _ => {
            return Err(PyValueError::new_err(format!(
                "the table is {table:?}: it must be \"f64\", \"f32\" or \"sparse\""
            )));
        }
    };
    let storage = Storage::from(format);
    Ok(match folder {
        Some(folder) => storage.in_folder(folder),
        None => storage,
    })
}
