//! What can be wrong with a CSV file of users' data.

use thiserror::Error;

use super::TableError;
use crate::{
    ReadError,
    names::{first_few, hint, listed},
};

/// Why a CSV file did not become a dataset.
#[derive(Debug, Error)]
#[allow(missing_docs)] // the message says what each field is
#[non_exhaustive]
pub enum CsvError {
    #[error(transparent)]
    Table(#[from] TableError),
    #[error("the file has a header and no rows below it")]
    HeaderOnly,
    #[error("there is no column {name:?}{}", hint(.name, .columns))]
    UnknownColumn { name: String, columns: Vec<String> },
    #[error("column {name:?} is used as {first} and as {second}: it can be one of them")]
    UsedTwice { name: String, first: &'static str, second: &'static str },
    #[error("column {position} has no name: name it, or say which columns are the features")]
    UnnamedColumn { position: usize },
    #[error("no column is left for a feature: the file has {}", listed(.columns))]
    NoFeatures { columns: Vec<String> },
    #[error(
        "{rows} of {rows_total} rows have missing values ({}): fill them in, or pass --drop-missing to leave out those rows",
        counted(.columns)
    )]
    Missing { rows: usize, rows_total: usize, columns: Vec<(String, usize)> },
    #[error("every row has a missing value ({}): leave out the columns that miss the most", counted(.columns))]
    AllMissing { columns: Vec<(String, usize)> },
    #[error("line {line}: the {role} {column:?} is {value:?}, which is not a finite number")]
    NotANumber { line: usize, role: &'static str, column: String, value: String },
    #[error("line {line}: the weight {column:?} is {value}: a weight is not negative")]
    NegativeWeight { line: usize, column: String, value: f64 },
    #[error("all weights of user {user:?} are 0: give at least one row of theirs some weight")]
    NoWeight { user: String },
    #[error("line {line}: the target {column:?} is {value}: a count is not negative")]
    NegativeCount { line: usize, column: String, value: f64 },
    #[error("the target {column:?} has {} levels, and a logistic loss needs 2: {}", .levels.len(), listed(.levels))]
    Classes { column: String, levels: Vec<String> },
    #[error("the target {column:?} is {value:?} in every row: there is nothing to predict")]
    ConstantTarget { column: String, value: String },
    #[error("columns with the same value in every row say nothing: leave out {}", listed(.columns))]
    Constant { columns: Vec<String> },
    #[error(
        "column {column:?} is not numeric (line {line}: {value:?}) and has more than {limit} levels: correct that value, or leave the column out"
    )]
    TooManyLevels { column: String, limit: usize, line: usize, value: String },
    #[error(
        "column {column:?} has {numbers} different numbers, but line {line} has {value:?}, which is not a finite number: correct that, or leave the column out (if it is meant to have levels, give them names that are no numbers)"
    )]
    AlmostNumeric { column: String, numbers: usize, line: usize, value: String },
    #[error(
        "column {column:?} has decimal commas (line {line}: {value:?}): write its numbers with points, or leave the column out"
    )]
    DecimalCommas { column: String, line: usize, value: String },
    #[error(
        "column {column:?} cannot be standardised: its numbers are too large, too small or too close to each other; rescale them"
    )]
    OutOfRange { column: String },
}

impl From<ReadError> for CsvError {
    fn from(error: ReadError) -> Self {
        Self::Table(error.into())
    }
}

/// `"age": 3, "income": 12`.
fn counted(columns: &[(String, usize)]) -> String {
    first_few(&columns.iter().map(|(name, count)| format!("{name:?}: {count}")).collect::<Vec<_>>())
}
