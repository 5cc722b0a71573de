//! Answers from Python: a gradient, and what may be said beside it.

use std::borrow::Cow;

use pyo3::{
    exceptions::{PyTypeError, PyValueError},
    prelude::*,
    types::PyDict,
};
use sgq::{Answer, Detail, PaidAnswer};

use crate::{
    arrays::{self, Vector},
    types::ArrayLike,
};

/// Two entries of a Hessian that should be the same may differ by this part of their size, or of the diagonal's: a Hessian in 32
/// bits does.
const ROUNDING: f64 = 1e-6;
/// Or by this part of the largest entry: what a difference of large numbers leaves where it should be zero.
const ROUNDING_OF_LARGEST: f64 = 1e-12;

/// What an earlier answer may have, as a dict.
const PARTS: [&str; 6] = ["gradient", "loss", "hessian", "variance", "weight", "cost"];

/// The word for how much an answer says.
pub fn word(detail: Detail) -> &'static str {
    match detail {
        Detail::Gradient => "gradient",
        Detail::Loss => "loss",
        Detail::Hessian => "hessian",
    }
}

/// How much an answer says, by its word.
pub fn detail(word: &Bound<'_, PyAny>) -> PyResult<Detail> {
    let Ok(text) = word.extract::<String>() else {
        let kind = word.get_type().name()?;
        return Err(PyTypeError::new_err(format!(
            "answers is of the type {kind}: it must be \"gradient\", \"loss\" or \"hessian\"; give answers of an earlier run as \
             earlier="
        )));
    };
    Detail::ALL.into_iter().find(|detail| self::word(*detail) == text).ok_or_else(|| {
        PyValueError::new_err(format!("answers is {text:?}: it must be \"gradient\", \"loss\" or \"hessian\""))
    })
}

/// What a user said, in one piece each.
pub struct Said<'py> {
    gradient: Vector<'py>,
    loss: Option<f64>,
    hessian: Option<Vec<f64>>,
    variance: Option<Vec<f64>>,
    weight: Option<f64>,
    cost: Option<f64>,
}

impl<'py> Said<'py> {
    pub fn new(
        gradient: &Bound<'py, PyAny>,
        loss: Option<f64>,
        hessian: Option<ArrayLike<'py>>,
        variance: Option<ArrayLike<'py>>,
        weight: Option<f64>,
        cost: Option<f64>,
    ) -> PyResult<Self> {
        Ok(Self {
            gradient: arrays::vector_or_number(gradient, "the gradient")?,
            loss,
            hessian: hessian.map(|hessian| packed(&hessian)).transpose()?,
            variance: variance.map(|variance| flat(&variance, "the variance")).transpose()?,
            weight,
            cost,
        })
    }

    /// A gradient alone, or a dict that has one.
    fn from_any(answer: &Bound<'py, PyAny>) -> PyResult<Self> {
        let Ok(parts) = answer.cast::<PyDict>() else {
            return Self::new(answer, None, None, None, None, None);
        };
        for key in parts.keys() {
            if !key.extract::<String>().is_ok_and(|key| PARTS.contains(&&*key)) {
                return Err(PyTypeError::new_err(format!(
                    "an answer has no part {key:?}: it has {}",
                    PARTS.join(", ")
                )));
            }
        }
        let part = |name: &str| Ok::<_, PyErr>(parts.get_item(name)?.filter(|part| !part.is_none()));
        let number = |name: &str| part(name)?.map(|value| value.extract::<f64>()).transpose();
        let numbers = |name: &str| Ok::<_, PyErr>(part(name)?.map(ArrayLike));
        let gradient = part("gradient")?.ok_or_else(|| {
            PyTypeError::new_err("the answer has no \"gradient\": give it, whatever else there is to say")
        })?;
        Self::new(
            &gradient,
            number("loss")?,
            numbers("hessian")?,
            numbers("variance")?,
            number("weight")?,
            number("cost")?,
        )
    }

    pub fn gradient(&self) -> PyResult<Cow<'_, [f64]>> {
        self.gradient.as_slice()
    }

    /// The answer, with its gradient as [`gradient`](Self::gradient) gave it.
    pub fn with<'a>(&'a self, gradient: &'a [f64]) -> Answer<'a> {
        let mut answer = Answer::new(gradient);
        (answer.loss, answer.weight, answer.cost) = (self.loss, self.weight, self.cost);
        (answer.hessian, answer.variance) = (self.hessian.as_deref(), self.variance.as_deref());
        answer
    }
}

/// One number, or a vector of them.
fn flat(value: &Bound<'_, PyAny>, what: &str) -> PyResult<Vec<f64>> {
    let (numbers, shape) = arrays::array(value, what)?;
    if shape.len() > 1 {
        return Err(PyValueError::new_err(format!(
            "{what} has the shape {shape:?}: it must be one number, or one for each coordinate"
        )));
    }
    Ok(numbers)
}

/// The lower triangle of a Hessian, from itself or from the whole matrix.
fn packed(hessian: &Bound<'_, PyAny>) -> PyResult<Vec<f64>> {
    let (numbers, shape) = arrays::array(hessian, "the Hessian")?;
    let wrong = |message: String| Err(PyValueError::new_err(format!("the Hessian {message}")));
    let dim = match shape[..] {
        [] | [_] => return Ok(numbers),
        [rows, columns] if rows == columns => rows,
        _ => {
            return wrong(format!(
                "has the shape {shape:?}: it must be a square matrix, or its lower triangle row by row"
            ));
        }
    };
    let entry = |row: usize, column: usize| numbers[row * dim + column];
    let places = || (0..dim).flat_map(|row| (0..dim).map(move |column| (row, column)));
    if let Some((row, column)) = places().find(|(row, column)| !entry(*row, *column).is_finite()) {
        return wrong(format!("is {} at row {row}, column {column}: it must be finite", entry(row, column)));
    }
    let largest = numbers.iter().fold(0.0, |largest: f64, value| largest.max(value.abs()));
    let is_off = |(row, column): &(usize, usize)| {
        let (below, above) = (entry(*row, *column), entry(*column, *row));
        let diagonal = entry(*row, *row).abs().sqrt() * entry(*column, *column).abs().sqrt();
        let size = below.abs().max(above.abs()).max(diagonal);
        (below - above).abs() > ROUNDING * size + ROUNDING_OF_LARGEST * largest
    };
    if let Some((row, column)) = places().filter(|(row, column)| column < row).find(is_off) {
        let (below, above) = (entry(row, column), entry(column, row));
        return wrong(format!(
            "is not symmetric: {below} at row {row}, column {column}, and {above} at row {column}, column {row}"
        ));
    }
    // Halved first: a sum may be past what numbers can hold.
    let mean = |(row, column)| match (entry(row, column), entry(column, row)) {
        (below, above) if below == above => below,
        (below, above) => 0.5 * below + 0.5 * above,
    };
    Ok(places().filter(|(row, column)| column <= row).map(mean).collect())
}

/// Answers of an earlier run, each a triple of user, point and answer.
pub fn paid_answers(answers: Option<&Bound<'_, PyAny>>) -> PyResult<Vec<PaidAnswer>> {
    let Some(answers) = answers else {
        return Ok(Vec::new());
    };
    let read = |answer: PyResult<Bound<'_, PyAny>>| {
        let (user, point, said): (usize, Bound<'_, PyAny>, Bound<'_, PyAny>) = answer?.extract().map_err(|_| {
            PyTypeError::new_err(
                "an earlier answer is a triple of the user, the point and the gradient, or a dict with all that was said",
            )
        })?;
        let (point, said) = (arrays::vector(&point, "a point")?, Said::from_any(&said)?);
        Ok(PaidAnswer::new(user, &point.as_slice()?, said.with(&said.gradient()?)))
    };
    answers.try_iter()?.map(read).collect()
}
