//! Which Python exception each error of the library becomes.

use pyo3::{
    PyErr,
    exceptions::{PyMemoryError, PyOSError, PyRuntimeError, PyValueError},
};
use sgq::{
    ChoiceError, SettingsError, TellError,
    drive::DriveError,
    session::{EarlierError, MemberError, RestoreError},
    storage::StorageError,
};

pub fn settings(error: SettingsError) -> PyErr {
    match error {
        SettingsError::Storage(StorageError::DoesNotFit { .. }) => PyMemoryError::new_err(error.to_string()),
        SettingsError::Storage(StorageError::File { .. }) => PyOSError::new_err(error.to_string()),
        _ => PyValueError::new_err(error.to_string()),
    }
}

pub fn tell(error: TellError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

pub fn choice(error: ChoiceError) -> PyErr {
    PyRuntimeError::new_err(error.to_string())
}

pub fn member(error: MemberError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

pub fn restore(error: RestoreError) -> PyErr {
    match error {
        RestoreError::Settings(error) => settings(error),
        _ => PyValueError::new_err(error.to_string()),
    }
}

pub fn earlier(error: EarlierError) -> PyErr {
    match error {
        EarlierError::Settings(error) => settings(error),
        _ => PyValueError::new_err(error.to_string()),
    }
}

pub fn drive(error: DriveError) -> PyErr {
    match error {
        DriveError::Choice(error) => choice(error),
        DriveError::Tell(error) => tell(error),
        _ => PyRuntimeError::new_err(error.to_string()),
    }
}
