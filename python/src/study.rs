//! What has come of a study by a plan, as Python sees it.

use std::{collections::BTreeMap, path::Path};

use pyo3::{exceptions::PyValueError, prelude::*};
use serde_json::json;
use sgq_data::glm::StdErrors;
use sgq_ledger::{Ledger, LedgerError, Reader, Results};

use crate::{errors, glm::told, types::FitResult};

/// The results of the ledger, or of its file where it is not open to write to; and how many answers each user has given, by name.
pub fn results(
    py: Python<'_>,
    ledger: Option<&mut Ledger>,
    path: &Path,
    std_errors: StdErrors,
) -> PyResult<Option<(Results, BTreeMap<String, u64>)>> {
    let read = || match ledger {
        Some(ledger) => {
            let names = ledger.users().iter().map(|user| user.name.clone());
            let answers = names.zip(ledger.accounts().iter().map(|account| account.answers)).collect();
            Ok::<_, LedgerError>(ledger.results(std_errors)?.map(|results| (results, answers)))
        }
        None => {
            let reader = Reader::open(path)?;
            let users = reader.status()?.users;
            let answers = users.into_iter().map(|user| (user.name, user.account.answers)).collect();
            Ok(reader.results(std_errors)?.map(|results| (results, answers)))
        }
    };
    py.detach(read).map_err(errors::ledger)
}

/// A `GlmResult`, with what `sgq.glm` tells of a fit beside what the command line prints.
pub fn told<'py>(py: Python<'py>, results: &Results, answers: &BTreeMap<String, u64>) -> PyResult<FitResult<'py>> {
    let broken = |error: serde_json::Error| PyValueError::new_err(error.to_string());
    let mut told = results.to_model_json().map_err(broken)?;
    if let Some(fields) = told.as_object_mut() {
        let Results { statistics, users, .. } = results;
        let billed = users.iter().map(|user| answers.get(user).unwrap_or(&0));
        for (name, value) in [
            ("covariance", json!(told::covariance(statistics))),
            ("influences", told::influences(statistics, users).into()),
            ("queries_per_user", told::queries_per_user(users, billed).into()),
        ] {
            fields.insert(name.to_owned(), value);
        }
    }
    let text = serde_json::to_string(&told).map_err(broken)?;
    Ok(FitResult(py.import("sgq")?.getattr("GlmResult")?.call1((text,))?))
}
