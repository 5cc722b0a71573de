//! What is believed to remain.

use pyo3::prelude::*;

/// How far it is still to go, by the method's own account of the answers paid for: a belief, and not a proof.
#[pyclass(frozen, module = "sgq", get_all)]
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
    fn __repr__(&self) -> String {
        let Self { gap, low, high, at_start, .. } = self;
        format!("Remaining(gap={gap:.2e}, low={low:.2e}, high={high:.2e}, at_start={at_start:.2e})")
    }
}
