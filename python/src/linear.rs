//! SAGA on data in one place, which numpy owns.

use std::time::{Duration, Instant};

use numpy::{PyArray1, PyArrayMethods as _};
use pyo3::{exceptions::PyValueError, prelude::*};
use sgq::{
    LinearSaga, StopReason,
    linear::{LinearError, LinearModel, RowsView},
};

use crate::{
    errors,
    problem::{loss_by_name, whole},
    types::{Columns, Counts, Floats, Indices},
};

/// How long it runs before Ctrl-C is looked for.
const PAUSE: Duration = Duration::from_millis(20);

/// Where a run of `linear_saga` stopped, and why.
#[pyclass(frozen, module = "sgq")]
pub struct LinearFit {
    /// "surrogate gradient", "budget" or "diverged".
    #[pyo3(get)]
    stop_reason: &'static str,
    /// The same in words.
    #[pyo3(get)]
    message: String,
    /// The norm of the mean of all rows' last gradients.
    #[pyo3(get)]
    gradient_norm: f64,
    /// The norm that was asked for; 0 where none was.
    #[pyo3(get)]
    tolerance: f64,
    /// The step size that was taken.
    #[pyo3(get)]
    step_size: f64,
    /// Steps taken.
    #[pyo3(get)]
    steps: u64,
    /// Rows looked at.
    #[pyo3(get)]
    queries: u64,
    point: Vec<f64>,
    queries_per_user: Vec<u64>,
}

#[pymethods]
impl LinearFit {
    /// Where it stopped; the intercept, if there is one, comes last.
    #[getter]
    fn point<'py>(&self, py: Python<'py>) -> Floats<'py> {
        Floats(PyArray1::from_slice(py, &self.point))
    }

    /// How often each row was looked at.
    #[getter]
    fn queries_per_user<'py>(&self, py: Python<'py>) -> Counts<'py> {
        Counts(PyArray1::from_slice(py, &self.queries_per_user))
    }
}

/// SAGA on rows that `sgq.sklearn` has brought into shape: dense, or sparse with `starts` and `columns`. Numbers are borrowed, so
/// that nobody may write to them meanwhile.
///
/// The intercept has no penalty, and is the last number of `start` and `point`. It stops once the gradient is `tol` times as long as
/// at zero, or after `budget` queries if `tol` is 0.
#[pyfunction]
#[pyo3(signature = (values, dim, starts, columns, targets, weights, loss, l2, intercept, start, step_size, tol, budget, seed))]
#[allow(clippy::too_many_arguments)] // one caller
pub fn linear_saga<'py>(
    py: Python<'py>,
    values: Floats<'py>,
    dim: usize,
    starts: Option<Indices<'py>>,
    columns: Option<Columns<'py>>,
    targets: Floats<'py>,
    weights: Option<Floats<'py>>,
    loss: &str,
    l2: f64,
    intercept: bool,
    start: Floats<'py>,
    step_size: Option<f64>,
    tol: f64,
    budget: u64,
    seed: u64,
) -> PyResult<LinearFit> {
    let loss = loss_by_name(loss, f64::NAN)?;
    let (values, targets, start) = (values.readonly(), targets.readonly(), start.readonly());
    let weights = weights.map(|weights| weights.readonly());
    let starts = starts.map(|starts| whole::<usize>(&starts, "starts")).transpose()?;
    let columns = columns.map(|columns| columns.readonly());
    let values = values.as_slice()?;
    let rows = match (&starts, &columns) {
        (Some(starts), Some(columns)) => RowsView::Sparse { dim, starts, columns: columns.as_slice()?, values },
        _ => RowsView::Dense { dim, values },
    };
    let weights = weights.as_ref().map(|weights| weights.as_slice()).transpose()?;
    let model = LinearModel { rows, targets: targets.as_slice()?, weights, offsets: None, loss, l2, intercept };
    let start = start.as_slice()?;
    py.detach(|| {
        let mut saga = LinearSaga::on(&model, start, step_size, seed).map_err(refused)?;
        let tolerance = if tol > 0.0 { saga.tolerance(tol) } else { 0.0 };
        let mut heard = Instant::now();
        let reason = loop {
            if let Some(reason) = saga.epoch((tol > 0.0).then_some(tolerance), budget) {
                break reason;
            }
            if heard.elapsed() >= PAUSE {
                Python::attach(|py| py.check_signals())?;
                heard = Instant::now();
            }
        };
        Ok(LinearFit {
            stop_reason: match reason {
                StopReason::SurrogateGradient { .. } => "surrogate gradient",
                StopReason::Diverged { .. } => "diverged",
                _ => "budget",
            },
            message: reason.to_string(),
            gradient_norm: saga.surrogate_norm(),
            tolerance,
            step_size: saga.step_size(),
            steps: saga.steps(),
            queries: saga.queries(),
            point: saga.point(),
            queries_per_user: saga.billed_per_user(),
        })
    })
}

fn refused(error: LinearError) -> PyErr {
    match error {
        LinearError::Settings(error) => errors::settings(error),
        error => PyValueError::new_err(error.to_string()),
    }
}
