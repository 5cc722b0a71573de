//! Numbers from Python: numpy arrays as they are, everything else through `numpy.asarray`.

use std::borrow::Cow;

use numpy::{
    PyArray1, PyArrayMethods, PyReadonlyArray1, PyReadonlyArrayDyn, PyUntypedArray, PyUntypedArrayMethods,
    ndarray::ArrayView1,
};
use pyo3::{
    exceptions::{PyTypeError, PyValueError},
    prelude::*,
};

use crate::types::Floats;

/// A vector of numbers. An array of 64-bit numbers in one piece is borrowed, anything else copied.
pub enum Vector<'py> {
    Borrowed(PyReadonlyArray1<'py, f64>),
    Copied(Vec<f64>),
}

impl Vector<'_> {
    pub fn as_slice(&self) -> PyResult<Cow<'_, [f64]>> {
        match self {
            Self::Borrowed(array) => Ok(match array.as_slice() {
                Ok(slice) => Cow::Borrowed(slice),
                Err(_) => array.as_array().iter().copied().collect(),
            }),
            Self::Copied(numbers) => Ok(Cow::Borrowed(numbers)),
        }
    }
}

/// Reads a vector; `what` names it in errors.
pub fn vector<'py>(value: &Bound<'py, PyAny>, what: &str) -> PyResult<Vector<'py>> {
    read(value, what, false)
}

/// The same, of one number also where it is not in an array.
pub fn vector_or_number<'py>(value: &Bound<'py, PyAny>, what: &str) -> PyResult<Vector<'py>> {
    read(value, what, true)
}

fn read<'py>(value: &Bound<'py, PyAny>, what: &str, or_number: bool) -> PyResult<Vector<'py>> {
    // A field of packed records may begin anywhere in memory, where Rust must not read it: numpy makes a copy.
    if let Ok(array) = value.extract::<PyReadonlyArray1<'py, f64>>()
        && array.is_aligned()
    {
        return Ok(Vector::Borrowed(array));
    }
    let (numbers, shape) = array(value, what)?;
    if shape.len() != 1 && !(or_number && shape.is_empty()) {
        return Err(PyValueError::new_err(format!("{what} has the shape {shape:?}: it must have one dimension")));
    }
    Ok(Vector::Copied(numbers))
}

/// Reads numbers of any shape, row by row; `what` names them in errors.
pub fn array(value: &Bound<'_, PyAny>, what: &str) -> PyResult<(Vec<f64>, Vec<usize>)> {
    if value.is_none() {
        return Err(PyTypeError::new_err(format!("{what} is None: it must be an array of numbers")));
    }
    let py = value.py();
    let numpy = py.import("numpy")?;
    // A tensor that is part of a graph, or on another device, says itself what to do.
    let value = match value.hasattr("__array__")? || !value.hasattr("__dlpack__")? {
        true => value.clone(),
        false => numpy.call_method1("from_dlpack", (value,))?,
    };
    let array = numpy.call_method1("asarray", (value,))?;
    let kind: String = array.getattr("dtype")?.getattr("kind")?.extract()?;
    if !matches!(kind.as_str(), "f" | "i" | "u" | "b") {
        let dtype = array.getattr("dtype")?;
        return Err(PyTypeError::new_err(format!("{what} has the type {dtype}: it must be an array of real numbers")));
    }
    let shape = array.cast::<PyUntypedArray>()?.shape().to_vec();
    let array = numpy.call_method1("require", (array, "float64", ["C_CONTIGUOUS", "ALIGNED"]))?;
    let array: PyReadonlyArrayDyn<'_, f64> = array.extract()?;
    Ok((array.as_array().iter().copied().collect(), shape))
}

/// Numbers that some Python object owns, as an array that cannot be written to.
#[allow(unsafe_code)]
pub fn view<'py>(numbers: &[f64], owner: Bound<'py, PyAny>) -> Floats<'py> {
    // SAFETY: the array keeps its owner alive, and the owner never moves or changes the numbers: a query is frozen, and shares
    // its point with a session that writes to a copy while anybody else holds it.
    let array = unsafe { PyArray1::borrow_from_array(&ArrayView1::from(numbers), owner) };
    array.readwrite().make_nonwriteable();
    Floats(array)
}
