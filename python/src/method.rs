//! Methods by name, with the settings that their parts take.

use pyo3::{
    exceptions::{PyTypeError, PyValueError},
    prelude::*,
    types::PyDict,
};
use sgq::catalog::{CHOICES, METHODS, MethodEntry, Recipe, Setting, UPDATES};
use sgq_bench::experiment::suggestion;

/// The built-in methods: a list of (name, summary, what it charges, its own settings).
#[pyfunction]
pub fn methods() -> Vec<(&'static str, &'static str, &'static str, Vec<&'static str>)> {
    let settings = |entry: &MethodEntry| entry.recipe.settings().iter().map(|setting| setting.name).collect();
    METHODS.iter().map(|entry| (entry.name, entry.summary, entry.charges, settings(entry))).collect()
}

/// A method of the catalogue, or two parts with a plus between, with some settings changed.
pub fn recipe(name: &str, options: Option<&Bound<'_, PyDict>>) -> PyResult<Recipe> {
    let mut recipe = match name.split_once(" + ") {
        Some((choice, update)) => Recipe {
            choice: look_up("choice", choice, CHOICES, |entry| entry.name)?.kind,
            update: look_up("update", update, UPDATES, |entry| entry.name)?.kind,
        },
        None => look_up("method", name, METHODS, |entry| entry.name)?.recipe,
    };
    for (key, value) in options.into_iter().flatten() {
        let key: String = key.extract()?;
        let Some(setting) = recipe.setting(&key) else {
            let known: Vec<_> = recipe.settings().iter().map(|setting| setting.name).collect();
            let words =
                if known.is_empty() { "it has no settings".into() } else { format!("it has {}", known.join(", ")) };
            return Err(PyTypeError::new_err(format!("{name} has no setting {key:?}: {words}")));
        };
        let kind = match setting {
            Setting::Number(_) | Setting::OptionalNumber(_) => "a number",
            Setting::Count(_) => "a whole number that is not negative",
            Setting::Switch(_) => "True or False",
        };
        let wrong = |_: PyErr| PyTypeError::new_err(format!("{key} is {value}: it must be {kind}"));
        match setting {
            Setting::Number(it) => *it = value.extract().map_err(wrong)?,
            Setting::OptionalNumber(it) => *it = Some(value.extract().map_err(wrong)?),
            Setting::Count(it) => *it = Some(value.extract().map_err(wrong)?),
            Setting::Switch(it) => *it = value.extract().map_err(wrong)?,
        }
    }
    Ok(recipe)
}

fn look_up<'e, T>(what: &str, name: &str, entries: &'e [T], name_of: impl Fn(&T) -> &'static str) -> PyResult<&'e T> {
    entries.iter().find(|entry| name_of(entry) == name).ok_or_else(|| {
        let hint = suggestion(name, entries.iter().map(&name_of));
        PyValueError::new_err(format!("there is no {what} {name:?}{hint}"))
    })
}
