//! Why there is no table.

use thiserror::Error;

use super::{ClosingError, Collinear, Family};

/// Why there are no standard errors.
#[derive(Clone, Debug, PartialEq, Error)]
#[allow(missing_docs)] // the message says what each field is
#[non_exhaustive]
pub enum InferenceError {
    #[error("there are {found} {what}, not {expected}: give one for each")]
    Length { what: &'static str, found: usize, expected: usize },
    #[error("the {what} is {value}: it must be {expected}")]
    Number { what: &'static str, value: f64, expected: &'static str },
    #[error("there are no users: standard errors need at least one closing")]
    NoUsers,
    #[error("user {user}: {source}")]
    Closing { user: usize, source: ClosingError },
    #[error("the closings cannot be added: some user's is of other sums than the first user's")]
    Mixed,
    #[error(
        "the coefficients are not determined: {0}; leave a column out, or give an L2 penalty; where the columns differ, look for separation"
    )]
    Collinear(Collinear),
    #[error(
        "{rows} rows leave no degrees of freedom for {coefficients} coefficients: leave columns out, or find more rows"
    )]
    NoFreedom { rows: u64, coefficients: usize },
    #[error("there is 1 user, and standard errors clustered by user need at least 2: ask for those of the model")]
    OneUser,
    #[error("the dispersion of {family} is not known: give it, or ask for standard errors clustered by user")]
    NoDispersion { family: Family },
}
