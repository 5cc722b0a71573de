//! Rows of another file, encoded as those of the first one were.

use std::io::Read;

use sgq::problem::Rows;
use thiserror::Error;

use super::{
    Encoding, Fill, Levels, PredictError,
    row::{Number, RowReader},
};
use crate::{
    Dataset, ReadError, TableError, Target,
    csv::{Records, Table},
    names::{counted, hint, listed},
};

/// Why rows could not be encoded.
#[derive(Debug, Error)]
#[allow(missing_docs)] // the message says what each field is
#[non_exhaustive]
pub enum EncodeError {
    #[error(transparent)]
    Table(#[from] TableError),
    #[error("there is no column {column:?}, which the model needs{}", hint(.column, .columns))]
    MissingColumn { column: String, columns: Vec<String> },
    #[error("line {line}: {column:?} is {value:?}, and the model needs a finite number there: correct it")]
    NotANumber { line: usize, column: String, value: String },
    #[error(
        "line {line}: {column:?} is {value:?}, which is not among the levels that were agreed on ({}): correct it, or agree on it as well",
        listed(.known)
    )]
    UnknownLevel { line: usize, column: String, value: String, known: Vec<String> },
    #[error(
        "line {line}: {expression} is {value}, which is not a finite number: correct the row's values, or leave it out"
    )]
    NotFinite { line: usize, expression: String, value: f64 },
    #[error(
        "line {line}: the target {target} is {value}, and the model needs {needs}: correct it, or leave the row out"
    )]
    Target { line: usize, target: String, value: f64, needs: &'static str },
    #[error("line {line}: the weight {column:?} is {value}: a weight is not negative")]
    NegativeWeight { line: usize, column: String, value: f64 },
    #[error("all weights are 0: give at least one row some weight")]
    NoWeight,
    #[error("the file has a header and no rows below it")]
    HeaderOnly,
    #[error(
        "{rows} of {rows_total} rows have missing values ({}): fill them in, or have those rows left out",
        counted(.columns)
    )]
    Missing { rows: usize, rows_total: usize, columns: Vec<(String, usize)> },
    #[error("every row has a missing value ({}): there is nothing to learn from", counted(.columns))]
    AllMissing { columns: Vec<(String, usize)> },
    #[error(transparent)]
    Other(PredictError),
}

impl From<ReadError> for EncodeError {
    fn from(error: ReadError) -> Self {
        Self::Table(error.into())
    }
}

impl From<PredictError> for EncodeError {
    fn from(error: PredictError) -> Self {
        match error {
            PredictError::Table(error) => Self::Table(error),
            PredictError::MissingColumn { column, columns } | PredictError::NoIdColumn { column, columns } => {
                Self::MissingColumn { column, columns }
            }
            PredictError::NotANumber { line, column, value } => Self::NotANumber { line, column, value },
            PredictError::UnseenLevel { line, column, value, known } => {
                Self::UnknownLevel { line, column, value, known }
            }
            PredictError::NotFinite { line, expression, value } => Self::NotFinite { line, expression, value },
            other => Self::Other(other),
        }
    }
}

/// Where the target comes from.
enum Response<'e> {
    Number(Number<'e>),
    Levels { column: &'e str, position: usize, levels: Levels<'e> },
}

impl Encoding {
    /// Encodes the rows of another CSV file, plain or gzip, with the levels and the scaling that are already fixed, such as
    /// those of one of several clinics that have agreed on them. All rows belong to one user, of the given name, and are in
    /// the file's order. The columns that are needed, the target and the weight included, are there by name; others are not
    /// looked at.
    ///
    /// ```
    /// use sgq_data::csv::{Options, from_reader};
    ///
    /// let agreed = from_reader("site,x,y\nA,1,3\nB,3,7\nA,2,6\n".as_bytes(), &Options::new("site", "y"))?;
    /// let encoding = agreed.encoding.unwrap();
    /// let own = encoding.encode("y,x\n3,1\n6,2\n".as_bytes(), "A", false)?;
    /// assert_eq!(own.targets, agreed.targets[..2]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn encode(&self, reader: impl Read, user: &str, drop_missing: bool) -> Result<Dataset, EncodeError> {
        let table = Table::read(reader, self.delimiter)?;
        let position = |column: &str| {
            let columns = || table.names.clone();
            let missing = || EncodeError::MissingColumn { column: column.to_owned(), columns: columns() };
            table.position(column).ok_or_else(missing)
        };
        let mut row = RowReader::new(self, &table)?;
        let both = match &self.target {
            Target::Levels { negative, positive } => [negative.clone(), positive.clone()],
            _ => [String::new(), String::new()],
        };
        let response = match (&self.target, self.response.as_column()) {
            (Target::Levels { .. }, Some(column)) => {
                Response::Levels { column, position: position(column)?, levels: Levels::new(&both) }
            }
            _ => Response::Number(row.bind(&self.response, &table)?),
        };
        let weight = self.weight.as_deref().map(|column| position(column).map(|at| (column, at))).transpose()?;
        let mut needed = row.positions();
        needed.extend(weight.map(|(_, at)| at));
        if let Response::Levels { position, .. } = response {
            needed.push(position);
        }
        needed.sort_unstable();
        needed.dedup();

        let fill = Fill::new(self);
        let dim = self.dim();
        let (mut values, mut targets, mut weights) = (Vec::new(), Vec::new(), Vec::new());
        let mut offsets = Vec::new();
        let mut missing = vec![0; table.names.len()];
        let (mut rows_total, mut dropped_rows) = (0, 0);
        let mut records = table.records();
        while records.advance()? {
            rows_total += 1;
            let gone: Vec<usize> = needed.iter().copied().filter(|position| records.is_missing(*position)).collect();
            gone.iter().for_each(|position| missing[*position] += 1);
            // What else such a row has is not looked at, as where levels are found.
            if !gone.is_empty() || !row.read(&records)? {
                dropped_rows += 1;
                continue;
            }
            targets.push(self.target_of(&response, &row, &records)?);
            weights.push(weight.map_or(Ok(1.0), |(column, position)| weight_of(&records, column, position))?);
            offsets.push(row.added);
            let start = values.len();
            values.resize(start + dim, 0.0);
            fill.row(&row.cells, &mut values[start..]);
            if let Some(column) = values[start..].iter().position(|value| !value.is_finite()) {
                let expression = self.column_names().swap_remove(column);
                return Err(EncodeError::NotFinite { line: records.line(), expression, value: values[start + column] });
            }
        }
        if rows_total == 0 {
            return Err(EncodeError::HeaderOnly);
        }
        let counts = table.names.iter().cloned().zip(missing);
        let missing_by_column: Vec<(String, usize)> = counts.filter(|(_, count)| *count > 0).collect();
        if dropped_rows == rows_total {
            return Err(EncodeError::AllMissing { columns: missing_by_column });
        }
        if dropped_rows > 0 && !drop_missing {
            return Err(EncodeError::Missing { rows: dropped_rows, rows_total, columns: missing_by_column });
        }
        if weights.iter().all(|weight| *weight == 0.0) {
            return Err(EncodeError::NoWeight);
        }
        // Of a number it is already taken off.
        let keeps_offsets = self.offset.is_some() && !matches!(self.target, Target::Number(_));
        Ok(Dataset {
            rows: Rows::Dense { dim, values },
            blocks: vec![0, targets.len()],
            targets,
            weights,
            offsets: keeps_offsets.then_some(offsets),
            user_names: vec![user.to_owned()],
            column_names: self.column_names(),
            target: self.target.clone(),
            encoding: Some(self.clone()),
            dropped_rows,
            missing_by_column,
            rows_total,
        })
    }

    fn target_of(
        &self,
        response: &Response<'_>,
        row: &RowReader<'_>,
        records: &Records<'_>,
    ) -> Result<f64, EncodeError> {
        let sign = |level: usize| if level == 0 { -1.0 } else { 1.0 };
        let number = match response {
            Response::Levels { column, position, levels } => {
                let level = levels.find(records.text(*position)?);
                return level.map(sign).ok_or_else(|| self.unknown(records, column, records.excerpt(*position)));
            }
            // Rows in which something is missing do not come here.
            Response::Number(number) => row.value(number, records)?.unwrap_or(f64::NAN),
        };
        let refused = |needs| {
            let target = self.response.to_string();
            Err(EncodeError::Target { line: records.line(), target, value: number, needs })
        };
        match &self.target {
            Target::Number(scaling) => Ok(scaling.apply(number - row.added)),
            Target::Count if number < 0.0 => refused("a count, which is not negative"),
            Target::Positive if number <= 0.0 => refused("a positive number"),
            Target::Count | Target::Positive => Ok(number),
            Target::Levels { negative, positive } => {
                let levels = [negative.clone(), positive.clone()];
                let level = Levels::new(&levels).find(&number.to_string());
                level.map(sign).ok_or_else(|| self.unknown(records, &self.response.to_string(), number.to_string()))
            }
        }
    }

    /// A target that is neither of the two levels.
    fn unknown(&self, records: &Records<'_>, column: &str, value: String) -> EncodeError {
        let known = match &self.target {
            Target::Levels { negative, positive } => vec![negative.clone(), positive.clone()],
            _ => Vec::new(),
        };
        EncodeError::UnknownLevel { line: records.line(), column: column.to_owned(), value, known }
    }
}

fn weight_of(records: &Records<'_>, column: &str, position: usize) -> Result<f64, EncodeError> {
    let number = records.number(position).ok_or_else(|| EncodeError::NotANumber {
        line: records.line(),
        column: column.to_owned(),
        value: records.excerpt(position),
    })?;
    if number < 0.0 {
        return Err(EncodeError::NegativeWeight { line: records.line(), column: column.to_owned(), value: number });
    }
    Ok(number)
}
