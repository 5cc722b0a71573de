//! What the keywords of a session say.

use std::sync::Arc;

use pyo3::{
    exceptions::{PyMemoryError, PyOverflowError, PyTypeError, PyValueError},
    prelude::*,
};
use sgq::{Format, SettingsError, Sight, StepSize, Storage};

use crate::{arrays, errors, problem::Problem};

pub const NO_STEP_SIZE: &str =
    "frugal, which is taken where no method is named, has no step size: name a method, or leave the step size out";

/// A problem, where there is one.
pub type Seen<'a> = Option<&'a (dyn sgq::Problem + Send)>;

/// Where to start: zero, where a problem says how many parameters there are.
pub fn start(x0: Option<&Bound<'_, PyAny>>, seen: Seen<'_>) -> PyResult<Vec<f64>> {
    match (x0, seen) {
        (Some(x0), _) => Ok(arrays::vector(x0, "x0")?.as_slice()?.into_owned()),
        (None, Some(seen)) => Ok(vec![0.0; seen.dim()]),
        (None, None) => Err(PyTypeError::new_err("x0 is missing: give the point to start from")),
    }
}

/// How many users there are.
pub fn users_of(users: Option<usize>, seen: Seen<'_>) -> PyResult<usize> {
    match (users, seen.map(|seen| seen.users())) {
        (Some(users), Some(there)) if users != there => {
            Err(PyValueError::new_err(format!("users is {users}, and the problem has {there}: leave it out")))
        }
        (Some(0), _) => Err(errors::settings(SettingsError::NoUsers)),
        (Some(users), _) | (None, Some(users)) => Ok(users),
        (None, None) => Err(PyTypeError::new_err("users is missing: give the number of users")),
    }
}

/// One number for each user; a single number counts for all of them.
pub fn per_user(value: &Bound<'_, PyAny>, users: usize, what: &str) -> PyResult<Vec<f64>> {
    match value.extract::<f64>() {
        Ok(number) => {
            let mut each = Vec::new();
            each.try_reserve_exact(users).map_err(|_| {
                PyMemoryError::new_err(format!("{what} of {users} users, 8 bytes for each, does not fit into memory"))
            })?;
            each.resize(users, number);
            Ok(each)
        }
        Err(_) => Ok(arrays::vector(value, what)?.as_slice()?.into_owned()),
    }
}

/// The tolerance: a number, "auto" for the method's own where `auto` allows one, or none.
pub fn tolerance(given: Option<&Bound<'_, PyAny>>, auto: Option<f64>) -> PyResult<Option<f64>> {
    let Some(given) = given else {
        return Ok(None);
    };
    if given.extract::<&str>().is_ok_and(|word| word == "auto") {
        return Ok(auto);
    }
    let wrong = |_| PyTypeError::new_err(format!("tol is {given}: it must be a number, \"auto\" or None"));
    given.extract().map(Some).map_err(wrong)
}

/// A whole number that is not negative; `what` names it in errors.
pub fn whole(given: &Bound<'_, PyAny>, what: &str) -> PyResult<u64> {
    given.extract().map_err(|error: PyErr| {
        let is_number = error.is_instance_of::<PyOverflowError>(given.py());
        let message = format!("{what} is {given}: it must be a whole number from 0 to 2⁶⁴ − 1");
        if is_number { PyValueError::new_err(message) } else { PyTypeError::new_err(message) }
    })
}

/// The same of what fits into memory.
pub fn count(given: &Bound<'_, PyAny>, what: &str) -> PyResult<usize> {
    Ok(usize::try_from(whole(given, what)?).unwrap_or(usize::MAX))
}

/// A step size as users write it: a number, "theory", or "auto" (also for None), the method's own default.
pub fn step_rule(rule: Option<&Bound<'_, PyAny>>) -> PyResult<StepSize> {
    let Some(rule) = rule else {
        return Ok(StepSize::Auto);
    };
    let wrong =
        |rule: &dyn std::fmt::Display| format!("the step size is {rule}: it must be a number, \"auto\" or \"theory\"");
    match rule.extract::<String>().as_deref() {
        Ok("auto") => Ok(StepSize::Auto),
        Ok("theory") => Ok(StepSize::Theory),
        Ok(word) => Err(PyValueError::new_err(wrong(&format!("{word:?}")))),
        Err(_) => rule.extract().map(StepSize::Constant).map_err(|_| PyTypeError::new_err(wrong(rule))),
    }
}

/// What a session with this problem sees.
pub fn sight(problem: Option<&Py<Problem>>) -> Sight<'static> {
    problem.map_or(Sight::Blind, |problem| Sight::Shared(Arc::clone(&problem.get().inner)))
}

/// How to keep the table: what fits the problem, or else by the name of the format.
pub fn storage(table: &str, fitting: Option<Storage>, folder: Option<std::path::PathBuf>) -> PyResult<Storage> {
    let storage = match (fitting, table) {
        (Some(fitting), _) => fitting,
        (None, "f64") => Format::F64.into(),
        (None, "f32") => Format::F32.into(),
        (None, "sparse") => Format::Sparse { l2: 0.0 }.into(),
        (None, "scalars") => {
            return Err(PyValueError::new_err("table=\"scalars\" needs the rows: give a regression as problem"));
        }
        _ => {
            return Err(PyValueError::new_err(format!(
                "the table is {table:?}: it must be \"f64\", \"f32\", \"sparse\" or \"scalars\""
            )));
        }
    };
    Ok(match folder {
        Some(folder) => storage.in_folder(folder),
        None => storage,
    })
}
