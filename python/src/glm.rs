//! A regression over users with the table that a statistician expects: `sgq.glm`.

mod asking;
pub mod told;

use std::path::{Path, PathBuf};

use numpy::PyArray1;
use pyo3::{
    exceptions::{PyKeyboardInterrupt, PyOSError, PyValueError},
    prelude::*,
};
use sgq::{Method, Session, Sight, StepSize};
use sgq_bench::fit_page;
use sgq_data::{
    Formula, InFile, PredictError, ReadError, TableError, csv,
    glm::{ChosenFamily, Family, Model, ModelError, Precision, StdErrors, Subject, SubjectError, Weigh},
};

use crate::{
    answer, errors,
    keywords::{count, step_rule, whole},
    method,
    problem::{FRAME, unreadable},
    types::{DetailWord, Floats, Keywords, StepRule, Whole},
};
use asking::Watch;
use told::{Asking, Told};

/// Fits a regression on a table with a header, from a file or from the text of one, by asking one user at a time. Returns what
/// `sgq fit --json` prints of it, and whether Ctrl-C ended it.
#[pyfunction]
#[pyo3(signature = (path, text, text_columns, formula, user, family, weigh, l2, weights, close, std_errors, drop_missing, standardise,
    diagnostics, method, method_options, step_size, budget, precision, answers, open, seed))]
#[allow(clippy::too_many_arguments)] // one caller
pub fn glm(
    py: Python<'_>,
    path: Option<PathBuf>,
    text: Option<&str>,
    text_columns: Vec<String>,
    formula: &str,
    user: String,
    family: Option<&str>,
    weigh: &str,
    l2: f64,
    weights: Option<String>,
    close: bool,
    std_errors: &str,
    drop_missing: bool,
    standardise: bool,
    diagnostics: bool,
    method: Option<&str>,
    method_options: Option<Keywords<'_>>,
    step_size: StepRule<'_>,
    budget: Option<Whole<'_>>,
    precision: Option<f64>,
    answers: DetailWord<'_>,
    open: Whole<'_>,
    seed: Whole<'_>,
) -> PyResult<(String, bool)> {
    // A slip in the call is named before the data are looked at.
    let formula: Formula = formula.parse().map_err(|error| PyValueError::new_err(format!("{error}")))?;
    let family: Option<Family> = family.map(str::parse).transpose().map_err(value)?;
    let weigh: Weigh = weigh.parse().map_err(|error| PyValueError::new_err(format!("weigh is {weigh:?}: {error}")))?;
    let std_errors = kind_of_errors("std_errors", std_errors)?;
    positive("precision", precision)?;
    if !(l2 >= 0.0 && l2.is_finite()) {
        return Err(PyValueError::new_err(format!("l2 is {l2}: it must be finite, and not negative")));
    }
    let rule = step_rule(Some(&step_size))?;
    let budget = budget.map(|budget| whole(&budget, "budget")).transpose()?;
    let (answers, open, seed) = (answer::detail(&answers)?, count(&open, "open")?, whole(&seed, "seed")?);
    let named = |name: &str| method::method(name, method_options.as_deref());
    let given = method.map(named).transpose()?;

    let options = csv::Options {
        text_columns,
        weight: weights,
        drop_missing,
        standardise,
        ..csv::Options::with_formula(user.clone(), formula.clone())
    };
    let read = |options: &csv::Options| match (&path, text) {
        (Some(path), _) => csv::read(path, options),
        (None, text) => csv::from_reader(text.unwrap_or_default().as_bytes(), options)
            .map_err(|error| InFile { path: FRAME.into(), error }),
    };
    let (data, chosen) = py.detach(|| ChosenFamily::read(family, &options, read)).map_err(unreadable)?;
    let name = path.as_deref().map_or_else(|| FRAME.to_owned(), file_name);
    let refused = |error: SubjectError| PyValueError::new_err(format!("{name}: {}", in_words(&error)));
    let subject = Subject::new(&data, chosen.family, weigh).map_err(refused)?;
    let subject = subject.penalised(l2).std_errors(std_errors);
    let budget = budget.unwrap_or_else(|| subject.default_budget());
    let method = match given {
        Some(method) => method,
        None => self::method::method(
            Method::default_for(budget.min(data.users() as u64)).name(),
            method_options.as_deref(),
        )?,
    };
    if !method.has_step_size() && !matches!(rule, StepSize::Auto) {
        return Err(PyValueError::new_err(format!("{} has no step size: leave step_size out", method.name())));
    }
    py.detach(|| {
        // Constants take long with many columns, and most methods that need none are not helped by them.
        let constants = method.has_step_size();
        let problem = subject.problem(diagnostics, constants).map_err(refused)?;
        let can_tell = method.default_tolerance().is_some();
        let precision = Precision {
            errors: can_tell.then(|| precision.unwrap_or(Precision::DEFAULT)).or(precision),
            study: &subject.study,
        };
        let mut settings = subject.settings(&problem, constants).budget(budget).seed(seed).open(open).answers(answers);
        settings = settings.step_size(rule);
        settings.tolerance = method.default_tolerance().or(precision.errors.map(|_| Precision::FIRST_TOLERANCE));
        let mut session =
            Session::with_sight(method.clone(), settings, Sight::Problem(&problem)).map_err(errors::settings)?;
        let mut watch = Watch::new(&problem);
        let stop = precision.drive(&mut session, &problem, &mut watch).map_err(errors::drive)?;
        let interrupted = watch.listener.interrupted.take();
        if let Some(error) = &interrupted
            && !Python::attach(|py| error.is_instance_of::<PyKeyboardInterrupt>(py))
        {
            return Err(interrupted.unwrap_or_else(|| PyValueError::new_err("interrupted")));
        }
        let asking = Asking {
            method: method.name().to_owned(),
            budget,
            open,
            answers,
            precision: precision.errors,
            step_size: method.has_step_size().then(|| session.step_size()),
            seed,
        };
        let told = Told::new(&name, &formula, &user, &subject, precision, &session, stop, &watch, asking, close)
            .map_err(refused)?;
        let json = told.json().map_err(value)?;
        Ok((json, interrupted.is_some()))
    })
}

/// The predictions of a model that `sgq fit` or `glm` has described as JSON, for the rows of a table: NaN where a value is missing.
#[pyfunction]
pub fn glm_predict<'py>(
    py: Python<'py>,
    model: &str,
    path: Option<PathBuf>,
    text: Option<&str>,
) -> PyResult<Floats<'py>> {
    let model = Model::from_json(model.as_bytes(), Path::new("the result")).map_err(refused_model)?;
    let shown = path.clone().unwrap_or_else(|| FRAME.into());
    let predicted = py.detach(|| match &path {
        Some(path) => {
            let file = std::fs::File::open(path).map_err(ReadError::Io)?;
            model.encoding.predict(file, &model.standardised)
        }
        None => model.encoding.predict(text.unwrap_or_default().as_bytes(), &model.standardised),
    });
    let predicted = predicted.map_err(|error| {
        let words = format!("{}: {error}", shown.display());
        match error {
            PredictError::Table(TableError::Read(ReadError::Io(_))) => PyOSError::new_err(words),
            _ => PyValueError::new_err(words),
        }
    })?;
    let values = predicted.into_iter().map(|value| value.unwrap_or(f64::NAN));
    Ok(Floats(PyArray1::from_iter(py, values)))
}

/// Whether JSON describes a fit, as a message where it does not.
#[pyfunction]
pub fn glm_check(json: &[u8], path: PathBuf) -> PyResult<()> {
    Model::from_json(json, &path).map(drop).map_err(refused_model)
}

/// The page of a fit, from what JSON says of it.
#[pyfunction]
pub fn glm_page(json: &str) -> PyResult<String> {
    fit_page::html(&serde_json::from_str(json).map_err(value)?, None).map_err(PyValueError::new_err)
}

/// The forest plot of a fit: an SVG drawing.
#[pyfunction]
pub fn glm_forest(json: &str) -> PyResult<String> {
    fit_page::forest_svg(&serde_json::from_str(json).map_err(value)?).map_err(PyValueError::new_err)
}

/// The same as a PNG image.
#[pyfunction]
pub fn glm_forest_png(json: &str) -> PyResult<Vec<u8>> {
    fit_page::forest_png(&serde_json::from_str(json).map_err(value)?).map_err(PyValueError::new_err)
}

fn refused_model(error: ModelError) -> PyErr {
    value(error)
}

fn value(error: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// What is wrong, with the remedy in Python's words.
fn in_words(error: &SubjectError) -> String {
    let option = if error.needs_penalty() { " (l2=0.01)" } else { "" };
    format!("{error}{option}")
}

/// Which standard errors are meant; `what` names the keyword in errors.
pub fn kind_of_errors(what: &str, word: &str) -> PyResult<StdErrors> {
    match word {
        "model" => Ok(StdErrors::Model),
        "clustered" => Ok(StdErrors::Clustered),
        _ => Err(PyValueError::new_err(format!("{what} is {word:?}: it must be \"model\" or \"clustered\""))),
    }
}

fn positive(name: &str, number: Option<f64>) -> PyResult<()> {
    match number {
        Some(number) if !(number > 0.0 && number.is_finite()) => {
            Err(PyValueError::new_err(format!("{name} is {number}: it must be positive and finite")))
        }
        _ => Ok(()),
    }
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
