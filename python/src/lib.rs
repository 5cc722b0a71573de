//! sgq for Python: the same sessions, by numpy arrays.

mod arrays;
mod errors;
mod experiment;
mod method;
mod problem;
mod session;

use pyo3::prelude::*;

/// The compiled half of the package `sgq`, which has all of it under better names.
#[pymodule]
fn _sgq(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<session::Session>()?;
    module.add_class::<session::Query>()?;
    module.add_class::<problem::Problem>()?;
    module.add_class::<experiment::PyExperiment>()?;
    module.add_function(wrap_pyfunction!(problem::quadratics, module)?)?;
    module.add_function(wrap_pyfunction!(problem::regression, module)?)?;
    module.add_function(wrap_pyfunction!(problem::table, module)?)?;
    module.add_function(wrap_pyfunction!(method::methods, module)?)?;
    Ok(())
}
