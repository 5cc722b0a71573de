//! Problems whose objective is known: what simulations run against.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use numpy::{PyArray1, PyArrayMethods as _};
use pyo3::{
    exceptions::{PyIndexError, PyOSError, PyTypeError, PyValueError},
    prelude::*,
};
use sgq::{
    Storage,
    problem::{DenseQuadratic, Loss, ProblemError, Quadratic, Regression, Rows},
};
use sgq_data::{
    Card, Dataset, InFile, ReadError, TableError,
    csv::{self, CsvError, Features},
};

use crate::{
    arrays,
    types::{ArrayLike, Floats, Indices},
};

/// Users whose functions are known, and so the objective, which is their mean: to compare methods on, and to look at.
///
/// Made by the functions of `sgq.problems`.
#[pyclass(frozen, module = "sgq")]
pub struct Problem {
    pub inner: Arc<dyn sgq::Problem + Send>,
    regression: Option<Arc<Regression>>,
    /// The users' names; None where they have none.
    #[pyo3(get)]
    user_names: Option<Vec<String>>,
    /// The names of the parameters; None where they have none.
    #[pyo3(get)]
    column_names: Option<Vec<String>>,
    /// What kind of problem the data make, in lines for a reader; None for problems that were not read from a table.
    #[pyo3(get)]
    card: Option<String>,
}

#[pymethods]
impl Problem {
    /// How many users there are, n.
    #[getter]
    fn users(&self) -> usize {
        self.inner.users()
    }

    fn __len__(&self) -> usize {
        self.inner.users()
    }

    /// How many parameters there are, d.
    #[getter]
    fn dim(&self) -> usize {
        self.inner.dim()
    }

    /// Each user's smoothness `L_i`.
    #[getter]
    fn smoothness<'py>(&self, py: Python<'py>) -> Option<Floats<'py>> {
        self.inner.smoothness().map(|each| Floats(PyArray1::from_slice(py, each)))
    }

    /// The smoothness of the objective itself.
    #[getter]
    fn objective_smoothness(&self) -> Option<f64> {
        self.inner.objective_smoothness()
    }

    /// The Polyak-Łojasiewicz constant `μ`.
    #[getter]
    fn pl_constant(&self) -> Option<f64> {
        self.inner.pl_constant()
    }

    /// Where the objective is smallest.
    #[getter]
    fn optimum<'py>(&self, py: Python<'py>) -> Option<Floats<'py>> {
        self.inner.optimum().map(|optimum| Floats(PyArray1::from_slice(py, &optimum.point)))
    }

    /// How small it is there.
    #[getter]
    fn minimum(&self) -> Option<f64> {
        self.inner.optimum().map(|optimum| optimum.value)
    }

    /// A user's gradient at a point. Looking at it here is not billed.
    fn gradient<'py>(&self, py: Python<'py>, user: i64, point: ArrayLike<'py>) -> PyResult<Floats<'py>> {
        let user = self.user(user)?;
        let point = self.point(&point)?;
        let mut gradient = vec![0.0; point.len()];
        py.detach(|| self.inner.gradient(user, &point, &mut gradient));
        Ok(Floats(PyArray1::from_vec(py, gradient)))
    }

    /// The objective at a point, or one user's part of it.
    #[pyo3(signature = (point, user = None))]
    fn value(&self, py: Python<'_>, point: ArrayLike<'_>, user: Option<i64>) -> PyResult<f64> {
        let point = self.point(&point)?;
        match user.map(|user| self.user(user)).transpose()? {
            Some(user) => Ok(py.detach(|| self.inner.user_value(user, &point))),
            None => Ok(py.detach(|| self.inner.value(&point))),
        }
    }

    /// How far the objective is above its minimum.
    fn gap(&self, py: Python<'_>, point: ArrayLike<'_>) -> PyResult<f64> {
        let point = self.point(&point)?;
        py.detach(|| self.inner.gap(&point)).ok_or_else(|| {
            PyValueError::new_err("the minimum is not known, so there is no gap: make the problem with solve=True")
        })
    }

    fn __repr__(&self) -> String {
        format!("<sgq.Problem: {} users, {} parameters>", self.inner.users(), self.inner.dim())
    }
}

impl Problem {
    fn new(problem: impl sgq::Problem + Send + 'static) -> Self {
        Self { inner: Arc::new(problem), regression: None, user_names: None, column_names: None, card: None }
    }

    fn of_regression(regression: Regression) -> Self {
        let regression = Arc::new(regression);
        Self {
            inner: Arc::clone(&regression) as _,
            regression: Some(regression),
            user_names: None,
            column_names: None,
            card: None,
        }
    }

    /// A point with as many numbers as the problem has parameters.
    pub fn point(&self, point: &Bound<'_, PyAny>) -> PyResult<Vec<f64>> {
        let point = arrays::vector(point, "the point")?.as_slice()?.into_owned();
        let dim = self.inner.dim();
        match point.len() == dim {
            true => Ok(point),
            false => Err(PyValueError::new_err(format!("the point has {} numbers: it must have {dim}", point.len()))),
        }
    }

    /// A user's number, counted from 0: a negative one is a mistake, and not counted from the end.
    fn user(&self, user: i64) -> PyResult<usize> {
        let users = self.inner.users();
        let found = usize::try_from(user).ok().filter(|user| *user < users);
        found.ok_or_else(|| {
            PyIndexError::new_err(format!("there is no user {user}: they are numbered from 0 to {}", users - 1))
        })
    }

    /// Storage that fits the problem's own gradients, by the name of its format.
    pub fn storage(&self, table: &str) -> PyResult<Option<Storage>> {
        Ok(match (table, &self.regression) {
            ("scalars", Some(regression)) => Some(regression.scalar_storage().ok_or_else(|| {
                let why = match regression.rows_per_user().all(|rows| rows == 1) {
                    true => "users that count the same, or no penalty",
                    false => "users with one row each, and some have several",
                };
                PyValueError::new_err(format!("table=\"scalars\" needs {why}"))
            })?),
            ("sparse", Some(regression)) => Some(regression.sparse_storage()),
            _ => None,
        })
    }
}

fn refused(error: ProblemError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// `f_i(x) = (x − b_i)ᵀ A_i (x − b_i)`, from numbers that `sgq.problems.quadratics` has brought into shape.
#[pyfunction]
pub fn quadratics(py: Python<'_>, curvature: Vec<Vec<f64>>, center: Vec<Vec<f64>>, dense: bool) -> PyResult<Problem> {
    py.detach(|| match dense {
        true => DenseQuadratic::new(&curvature, &center).map(Problem::new),
        false => Quadratic::diagonal(&curvature, &center).map(Problem::new),
    })
    .map_err(refused)
}

/// A regression on rows that `sgq.problems.regression` has brought into order: dense, or sparse with `starts` and `columns`.
#[pyfunction]
#[pyo3(signature = (values, dim, starts, columns, targets, weights, blocks, user_names, loss, l2, delta, solve, user_weights,
    free_intercept))]
#[allow(clippy::too_many_arguments)] // one caller
pub fn regression(
    py: Python<'_>,
    values: Floats<'_>,
    dim: usize,
    starts: Option<Indices<'_>>,
    columns: Option<Indices<'_>>,
    targets: Floats<'_>,
    weights: Option<Floats<'_>>,
    blocks: Indices<'_>,
    user_names: Option<Vec<String>>,
    loss: &str,
    l2: f64,
    delta: f64,
    solve: bool,
    user_weights: &str,
    free_intercept: bool,
) -> PyResult<Problem> {
    let by_rows = by_rows(user_weights)?;
    let loss = loss_by_name(loss, delta)?;
    let values = values.readonly().as_slice()?.to_vec();
    let rows = match (starts, columns) {
        (Some(starts), Some(columns)) => {
            Rows::Sparse { dim, starts: whole(&starts, "starts")?, columns: whole(&columns, "columns")?, values }
        }
        _ => Rows::Dense { dim, values },
    };
    let targets = targets.readonly().as_slice()?.to_vec();
    let weights = match weights {
        Some(weights) => weights.readonly().as_slice()?.to_vec(),
        None => vec![1.0; targets.len()],
    };
    let blocks = whole(&blocks, "blocks")?;
    let made = py.detach(|| {
        let totals: Vec<f64> = blocks.windows(2).map(|block| weights[block[0]..block[1]].iter().sum()).collect();
        let mut builder = Regression::builder(rows, targets, &blocks, loss).l2(l2).weights(weights);
        if by_rows {
            builder = builder.user_weights(totals);
        }
        if free_intercept {
            builder = builder.free_intercept();
        }
        if solve { builder.build() } else { builder.unsolved() }
    });
    made.map(|made| Problem { user_names, ..Problem::of_regression(made) }).map_err(refused)
}

/// Whether users count as much as their rows, and not all the same.
fn by_rows(user_weights: &str) -> PyResult<bool> {
    match user_weights {
        "equal" => Ok(false),
        "rows" => Ok(true),
        _ => Err(PyValueError::new_err(format!("user_weights is {user_weights:?}: it must be \"equal\" or \"rows\""))),
    }
}

/// Numbers of rows or columns: numpy has them with a sign.
pub fn whole<T: TryFrom<i64>>(numbers: &Indices<'_>, what: &str) -> PyResult<Vec<T>> {
    let wrong =
        |number: i64| PyValueError::new_err(format!("{what} has {number}: it must not be negative, nor so large"));
    numbers.readonly().as_slice()?.iter().map(|number| T::try_from(*number).map_err(|_| wrong(*number))).collect()
}

/// Stands in messages where a file's name would.
pub const FRAME: &str = "the frame";

/// A regression on a table with a header, from a file or from the text of one.
#[pyfunction]
#[pyo3(signature = (path, text, user, target, loss, delta, l2, features, exclude, weight, drop_missing, drop_constant,
    standardise, user_weights))]
#[allow(clippy::too_many_arguments)] // two callers
pub fn table(
    py: Python<'_>,
    path: Option<PathBuf>,
    text: Option<&str>,
    user: String,
    target: String,
    loss: Option<&str>,
    delta: f64,
    l2: f64,
    features: Option<Vec<String>>,
    exclude: Option<Vec<String>>,
    weight: Option<String>,
    drop_missing: bool,
    drop_constant: bool,
    standardise: bool,
    user_weights: &str,
) -> PyResult<Problem> {
    let by_rows = by_rows(user_weights)?;
    let features = match (features, exclude) {
        (Some(_), Some(_)) => return Err(PyTypeError::new_err("give either features or exclude, not both")),
        (Some(only), None) => Features::Only(only),
        (None, Some(except)) => Features::Except(except),
        (None, None) => Features::All,
    };
    let wanted = loss.map(|loss| loss_by_name(loss, delta)).transpose()?;
    let options = |loss| csv::Options {
        features: features.clone(),
        weight: weight.clone(),
        drop_missing,
        drop_constant,
        standardise,
        loss,
        ..csv::Options::new(user.clone(), target.clone())
    };
    let read = |loss| match (&path, text) {
        (Some(path), _) => csv::read(path, &options(loss)),
        (None, text) => csv::from_reader(text.unwrap_or_default().as_bytes(), &options(loss))
            .map_err(|error| InFile { path: FRAME.into(), error }),
    };
    py.detach(|| {
        let (data, loss) = match wanted {
            Some(loss) => (read(loss).map_err(unreadable)?, loss),
            // Two levels are told apart; anything else is a number.
            None => match read(Loss::Logistic) {
                Err(InFile { error: CsvError::Classes { .. }, .. }) => {
                    (read(Loss::Squares).map_err(unreadable)?, Loss::Squares)
                }
                read => (read.map_err(unreadable)?, Loss::Logistic),
            },
        };
        from_dataset(data, loss, l2, by_rows)
    })
}

fn from_dataset(data: Dataset, loss: Loss, l2: f64, by_rows: bool) -> PyResult<Problem> {
    let mut regression = data.regression(loss, l2).map_err(|error| PyValueError::new_err(error.to_string()))?;
    if by_rows {
        regression = regression.weighing_users(&data.row_totals()).map_err(refused)?;
    }
    let card = Card::new(&data, &regression).to_string();
    Ok(Problem {
        user_names: Some(data.user_names),
        column_names: Some(data.column_names),
        card: Some(card),
        ..Problem::of_regression(regression)
    })
}

pub fn unreadable(error: InFile<CsvError>) -> PyErr {
    let mut words = error.to_string().replace("have those rows left out", "pass drop_missing=True");
    if let CsvError::Mixed { column, .. } = &error.error {
        // Only a formula declares factors here.
        words = words.replace(&format!(", or --factors {column}"), "");
    }
    if error.path == Path::new(FRAME) {
        words = words.replace("the file ", "it ");
    }
    match error.error {
        CsvError::Table(TableError::Read(ReadError::Io(_))) => PyOSError::new_err(words),
        _ => PyValueError::new_err(words),
    }
}

pub fn loss_by_name(name: &str, delta: f64) -> PyResult<Loss> {
    Ok(match name {
        "squares" => Loss::Squares,
        "logistic" => Loss::Logistic,
        "poisson" => Loss::Poisson,
        "huber" => Loss::Huber { delta },
        _ => {
            return Err(PyValueError::new_err(format!(
                "there is no loss {name:?}; there are squares, logistic, poisson and huber"
            )));
        }
    })
}
