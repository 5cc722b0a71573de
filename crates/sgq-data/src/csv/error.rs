//! What can be wrong with a CSV file of users' data.

use thiserror::Error;

use super::TableError;
use crate::{
    ReadError,
    expression::Name,
    names::{counted, hint, listed},
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
        "{rows} of {rows_total} rows have missing values ({}): fill them in, or have those rows left out",
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
        "column {column:?} has more than {limit} levels (line {line} has one more: {value:?}): leave the column out, or join levels"
    )]
    TooManyLevels { column: String, limit: usize, line: usize, value: String },
    #[error(
        "column {column:?} has numbers in {numbers} rows and something else in {others}: line {line} has {value:?}, which is {}; correct it, leave the column out, or declare that it has levels: factor({}) in the formula, or --factors {column}",
        if *is_number { "a number" } else { "not a finite number" },
        Name(.column)
    )]
    Mixed { column: String, numbers: usize, others: usize, line: usize, value: String, is_number: bool },
    #[error(
        "line {line}: {column:?} is {value:?}, which is not a finite number, and {expression} needs one: correct it"
    )]
    NotANumberIn { line: usize, column: String, value: String, expression: String },
    #[error(
        "line {line}: {expression} is {value}, which is not a finite number: correct the row's values, leave the row out, or change the formula"
    )]
    NotFinite { line: usize, expression: String, value: f64 },
    #[error(
        "line {line}: the target {target} is {value}: numbers for this loss are positive; correct it, or leave the row out"
    )]
    NotPositive { line: usize, target: String, value: f64 },
    #[error(
        "line {line}: {column:?} is {value:?}, which is not one of the levels in the formula ({}): add it to `levels`, or correct it",
        listed(.known)
    )]
    UnknownLevel { line: usize, column: String, value: String, known: Vec<String> },
    #[error("no row has the level {level:?} of {column:?}, which the formula names: leave it out{}", hint(.level, .known))]
    LevelWithoutRows { column: String, level: String, known: Vec<String> },
    #[error("{column:?} is declared as a factor in two ways: write the same factor({}, …) everywhere", Name(.column))]
    FactorTwice { column: String },
    #[error("{column:?} is to be a factor (--factors), but is no column that is used{}", hint(.column, .columns))]
    FactorNotUsed { column: String, columns: Vec<String> },
    #[error("the formula has {term} taken out, which is not among its terms: leave `- {term}` out")]
    UnknownTerm { term: String },
    #[error("the formula has more than {limit} terms: take fewer of them, or a lower power")]
    TooManyTerms { limit: usize },
    #[error(
        "the formula has {columns} columns, more than {limit}: take fewer interactions of columns with many levels"
    )]
    TooManyColumns { columns: usize, limit: usize },
    #[error("the formula predicts {formula}, and the target is to be {target:?}: give only one of them")]
    TwoTargets { formula: String, target: String },
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
