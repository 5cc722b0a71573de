//! Predictions for new rows.

use std::io::Read;

use thiserror::Error;

use super::{Encoding, Feature, Level};
use crate::{
    ReadError, TableError,
    csv::{Records, Table},
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
    #[error(
        "line {line}: {column:?} is missing, and there is no prediction without it: fill it in, or leave the row out"
    )]
    MissingValue { line: usize, column: String },
    #[error("line {line}: {column:?} is {value:?}: it was a number in every row that was learnt from")]
    NotANumber { line: usize, column: String, value: String },
    #[error("line {line}: {column:?} is {value:?}, which was not among the levels learnt from: {}", listed(.known))]
    UnseenLevel { line: usize, column: String, value: String, known: Vec<String> },
}

impl From<ReadError> for PredictError {
    fn from(error: ReadError) -> Self {
        Self::Table(error.into())
    }
}

impl Encoding {
    /// A prediction for each row of a CSV file, plain or gzip, that has the feature columns by name; other columns may
    /// be there, the user and the target among them, and are not looked at.
    ///
    /// The coefficients are those of the regression on the encoded data. A prediction is a number on the target's own
    /// scale, the probability of the positive level, or the expected count.
    pub fn predict(&self, reader: impl Read, coefficients: &[f64]) -> Result<Vec<f64>, PredictError> {
        self.check_length(coefficients)?;
        let table = Table::read(reader, self.delimiter)?;
        let mut positions = Vec::new();
        for feature in &self.features {
            let missing =
                || PredictError::MissingColumn { column: feature.column().to_owned(), columns: table.names.clone() };
            positions.push(table.position(feature.column()).ok_or_else(missing)?);
        }
        let mut predictions = Vec::new();
        let mut records = table.records();
        while records.advance()? {
            let mut sum = coefficients[0];
            let mut rest = &coefficients[1..];
            for (feature, position) in self.features.iter().zip(&positions) {
                let (own, others) = rest.split_at(feature.width());
                sum += feature.term(&records, *position, own)?;
                rest = others;
            }
            predictions.push(self.target.prediction(sum));
        }
        Ok(predictions)
    }
}

impl Feature {
    /// What this feature adds to a row's prediction.
    fn term(&self, records: &Records<'_>, position: usize, coefficients: &[f64]) -> Result<f64, PredictError> {
        let column = || self.column().to_owned();
        if records.is_missing(position) {
            return Err(PredictError::MissingValue { line: records.line(), column: column() });
        }
        match self {
            Self::Number { scaling, .. } => {
                let not_a_number = || {
                    let value = records.excerpt(position);
                    PredictError::NotANumber { line: records.line(), column: column(), value }
                };
                let number = records.number(position).ok_or_else(not_a_number)?;
                Ok(coefficients[0] * scaling.apply(number))
            }
            Self::Levels { base, levels, .. } => {
                let name = records.text(position)?;
                if name != base && levels.iter().all(|level| level.name != name) {
                    let known = [base].into_iter().chain(levels.iter().map(|level| &level.name)).cloned().collect();
                    let value = records.excerpt(position);
                    return Err(PredictError::UnseenLevel { line: records.line(), column: column(), value, known });
                }
                let indicators = Level::indicators(levels, name);
                Ok(indicators.iter().zip(coefficients).map(|(indicator, coefficient)| indicator * coefficient).sum())
            }
        }
    }
}
