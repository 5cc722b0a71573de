//! sgq for Python: the same sessions, by numpy arrays.

mod answer;
mod arrays;
mod clinic;
mod errors;
mod experiment;
mod given;
mod glm;
mod inner;
mod keywords;
mod ledger;
mod linear;
mod listening;
mod method;
mod problem;
mod query;
mod record;
mod remaining;
mod session;
mod simulated;
mod study;
mod tickets;
mod types;
mod wanted;

/// The compiled half of the package `sgq`, which has all of it under better names.
#[pyo3::pymodule]
mod _sgq {
    #[pymodule_export]
    use crate::{
        clinic::{Clinic, ClinicReply},
        experiment::PyExperiment,
        glm::{glm, glm_check, glm_forest, glm_forest_png, glm_page, glm_predict},
        ledger::{Ledger, open},
        linear::{LinearFit, linear_saga},
        method::methods,
        problem::{Problem, quadratics, regression, table},
        query::Query,
        record::{Verdict, recover},
        remaining::Remaining,
        session::Session,
    };

    #[pymodule_export]
    #[allow(non_upper_case_globals)] // Python's name for it
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
