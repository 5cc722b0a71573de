//! What is believed to remain.

use pyo3::prelude::*;

/// What one is made of again.
type Pickled = (f64, f64, f64, f64, f64);

/// How far it is still to go, by the method's own account of the answers paid for: a belief, and not a proof.
#[pyclass(frozen, eq, module = "sgq", get_all)]
#[derive(PartialEq)]
pub struct Remaining {
    /// The gap f(x) − inf f that is expected.
    gap: f64,
    /// The gap is believed to be above this with a probability of 95%.
    low: f64,
    /// The gap is believed to be below this with a probability of 95%.
    high: f64,
    /// The gap at the start, as it is believed now.
    at_start: f64,
    /// The gap as a part of that at the start.
    part: f64,
}

impl From<sgq::Remaining> for Remaining {
    fn from(remaining: sgq::Remaining) -> Self {
        let sgq::Remaining { gap, low, high, at_start, .. } = remaining;
        Self { gap, low, high, at_start, part: remaining.part() }
    }
}

#[pymethods]
impl Remaining {
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Pickled)> {
        let Self { gap, low, high, at_start, part } = *slf.get();
        Ok((slf.get_type().getattr("_from")?, (gap, low, high, at_start, part)))
    }

    /// One that was pickled.
    #[staticmethod]
    fn _from(gap: f64, low: f64, high: f64, at_start: f64, part: f64) -> Self {
        Self { gap, low, high, at_start, part }
    }

    fn __repr__(&self) -> String {
        let Self { gap, low, high, at_start, .. } = self;
        format!("Remaining(gap={gap:.2e}, low={low:.2e}, high={high:.2e}, at_start={at_start:.2e})")
    }
}
