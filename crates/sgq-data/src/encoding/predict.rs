//! Predictions for new rows.

use std::io::Read;

use thiserror::Error;

use super::{Encoding, Fill, row::RowReader};
use crate::{
    ReadError, TableError,
    csv::Table,
    names::{hint, listed},
};

/// Why there are no predictions.
#[derive(Debug, Error)]
#[allow(missing_docs)] // the message says what each field is
#[non_exhaustive]
pub enum PredictError {
    #[error(transparent)]
    Table(#[from] TableError),
    #[error("{found} coefficients, expected {expected}: one for each column, the intercept included")]
    Coefficients { expected: usize, found: usize },
    #[error("there is no column {column:?}, which the predictions need{}", hint(.column, .columns))]
    MissingColumn { column: String, columns: Vec<String> },
    #[error("there is no column {column:?} to tell the rows by{}", hint(.column, .columns))]
    NoIdColumn { column: String, columns: Vec<String> },
    #[error("line {line}: {column:?} is {value:?}: it was a number in every row that was learnt from")]
    NotANumber { line: usize, column: String, value: String },
    #[error("line {line}: {column:?} is {value:?}, which was not among the levels learnt from: {}", listed(.known))]
    UnseenLevel { line: usize, column: String, value: String, known: Vec<String> },
    #[error(
        "line {line}: {expression} is {value}, which is not a finite number: correct the row's values, or leave it out"
    )]
    NotFinite { line: usize, expression: String, value: f64 },
}

impl From<ReadError> for PredictError {
    fn from(error: ReadError) -> Self {
        Self::Table(error.into())
    }
}

/// What is predicted for a row.
#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    /// The row's name, where a column of names was asked for.
    pub id: Option<String>,
    /// A number on the target's own scale, the probability of the positive level, or the expected count. None where a value
    /// that it needs is missing.
    pub value: Option<f64>,
}

impl Encoding {
    /// A prediction for each row of a CSV file, plain or gzip, that has the columns needed by name; other columns may
    /// be there, the user and the target among them, and are not looked at. None where a value that is needed is missing.
    ///
    /// The coefficients are those of the regression on the encoded data. A prediction is a number on the target's own
    /// scale, the probability of the positive level, or the expected count.
    pub fn predict(&self, reader: impl Read, coefficients: &[f64]) -> Result<Vec<Option<f64>>, PredictError> {
        let predictions = self.predict_rows(reader, coefficients, None)?;
        Ok(predictions.into_iter().map(|prediction| prediction.value).collect())
    }

    /// The same, each with the row's value in the column `id`, as it stands there.
    pub fn predict_rows(
        &self,
        reader: impl Read,
        coefficients: &[f64],
        id: Option<&str>,
    ) -> Result<Vec<Prediction>, PredictError> {
        self.check_length(coefficients)?;
        let table = Table::read(reader, self.delimiter)?;
        let no_id = |name: &str| PredictError::NoIdColumn { column: name.to_owned(), columns: table.names.clone() };
        let id = id.map(|name| table.position(name).ok_or_else(|| no_id(name))).transpose()?;
        let mut row = RowReader::new(self, &table)?;
        let fill = Fill::new(self);
        let mut line = vec![0.0; self.dim()];
        let mut predictions = Vec::new();
        let mut records = table.records();
        while records.advance()? {
            let complete = row.read(&records)?;
            let value = complete.then(|| {
                fill.row(&row.cells, &mut line);
                let sum = line.iter().zip(coefficients).map(|(value, coefficient)| value * coefficient).sum();
                self.target.prediction_with(sum, row.added)
            });
            let id = id.map(|position| records.text(position).map(str::to_owned)).transpose()?;
            predictions.push(Prediction { id, value });
        }
        Ok(predictions)
    }
}
