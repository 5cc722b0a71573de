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
