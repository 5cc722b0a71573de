//! Methods by name, with the settings that their parts take.

use pyo3::{
    exceptions::{PyTypeError, PyValueError},
    prelude::*,
    types::{PyBool, PyDict},
};
use sgq::{
    Method, SettingError,
    method::{ComposeError, METHODS, MethodEntry},
    setting::Value,
};
use sgq_bench::experiment::suggestion;

use crate::session::Session;

/// The built-in methods: a list of (name, summary, what it charges, its own settings).
#[pyfunction]
pub fn methods() -> Vec<(&'static str, &'static str, &'static str, Vec<&'static str>)> {
    let settings = |entry: &MethodEntry| entry.method().settings().iter().map(|setting| setting.name).collect();
    METHODS.iter().map(|entry| (entry.name, entry.summary, entry.charges, settings(entry))).collect()
}

/// A built-in method, or a choice and an update with a plus between, with some settings changed.
pub fn method(name: &str, options: Option<&Bound<'_, PyDict>>) -> PyResult<Method> {
    let found = match name.split_once(" + ") {
        Some((choice, update)) => Method::compose(None, choice, update),
        None => Method::by_name(name),
    };
    let mut method = found.map_err(|error| {
        let hint = match &error {
            ComposeError::Unknown { name, names, .. } => suggestion(name, names.iter().copied()),
            _ => String::new(),
        };
        PyValueError::new_err(format!("{error}{hint}"))
    })?;
    for (key, value) in options.into_iter().flatten() {
        let key: String = key.extract()?;
        method.set(&key, read(&key, &value)?).map_err(|error| match error {
            SettingError::Unknown { .. } | SettingError::Kind { .. } => PyTypeError::new_err(error.to_string()),
            error => PyValueError::new_err(error.to_string()),
        })?;
    }
    Ok(method)
}

/// The same among the keywords of a session: one that nobody knows may be one of these, misspelt.
pub fn method_of_session(name: &str, options: Option<&Bound<'_, PyDict>>) -> PyResult<Method> {
    let plain = method(name, None)?;
    let own: Vec<&str> = plain.settings().iter().map(|setting| setting.name).collect();
    for (key, _) in options.into_iter().flatten() {
        let (py, key) = (key.py(), key.extract::<String>()?);
        if own.contains(&&*key) {
            continue;
        }
        let known = keywords(py)?;
        let hint = suggestion(&key, known.iter().map(String::as_str).chain(own.iter().copied()));
        if hint.contains("did you mean") {
            return Err(PyTypeError::new_err(format!("there is no keyword {key} for {name}{hint}")));
        }
    }
    method(name, options)
}

/// What sessions and `minimize` take beside a method's own settings, as their signatures say.
fn keywords(py: Python<'_>) -> PyResult<Vec<String>> {
    let signature: String = py.get_type::<Session>().getattr("__text_signature__")?.extract()?;
    let parts =
        signature.trim_matches(['(', ')']).split(',').map(|part| part.trim().split('=').next().unwrap_or_default());
    let is_name = |part: &&str| part.starts_with(|first: char| first.is_alphabetic());
    let mut names: Vec<String> = parts.filter(is_name).map(str::to_owned).collect();
    let of_minimize = py.import("sgq")?.getattr("minimize")?.getattr("__kwdefaults__")?;
    names.extend(of_minimize.try_iter()?.map(|name| name?.extract()).collect::<PyResult<Vec<String>>>()?);
    Ok(names)
}

/// A setting's value. Python's booleans are whole numbers as well: they come first.
fn read(key: &str, value: &Bound<'_, PyAny>) -> PyResult<Value> {
    if value.is_instance_of::<PyBool>() {
        return value.extract().map(Value::Switch);
    }
    let count = value.extract().map(Value::Count);
    count
        .or_else(|_| value.extract().map(Value::Number))
        .map_err(|_| PyTypeError::new_err(format!("{key} is {value}: a setting is a number, True or False")))
}
