//! A row of a file, read by an encoding that is already fixed.

use super::{Cell, Encoding, Levels, PredictError, Variable};
use crate::{
    Expression,
    csv::{Records, Table},
    expression::Tree,
};

/// Reads what an encoding needs of each row: columns by name, in any order, others not looked at.
pub(super) struct RowReader<'e> {
    /// The columns that are read as numbers, and where they stand.
    names: Vec<String>,
    positions: Vec<usize>,
    numbers: Vec<f64>,
    sources: Vec<Source<'e>>,
    offset: Option<Number<'e>>,
    /// The values of the variables in the row that was read last.
    pub cells: Vec<Cell>,
    /// What is added to its prediction.
    pub added: f64,
}

enum Source<'e> {
    Number(Number<'e>),
    Factor { column: &'e str, position: usize, levels: Levels<'e>, all: &'e [String] },
}

/// An expression over the numbers that are read.
pub(super) struct Number<'e> {
    expression: &'e Expression,
    bound: Tree<usize>,
}

impl<'e> RowReader<'e> {
    pub fn new(encoding: &'e Encoding, table: &Table) -> Result<Self, PredictError> {
        let mut reader = Self {
            names: Vec::new(),
            positions: Vec::new(),
            numbers: Vec::new(),
            sources: Vec::new(),
            offset: None,
            cells: Vec::new(),
            added: 0.0,
        };
        for variable in &encoding.variables {
            let source = match variable {
                Variable::Number(expression) => Source::Number(reader.bind(expression, table)?),
                Variable::Factor { column, levels } => {
                    let position = position(table, column)?;
                    Source::Factor { column, position, levels: Levels::new(levels), all: levels }
                }
            };
            reader.sources.push(source);
        }
        if let Some(offset) = &encoding.offset {
            reader.offset = Some(reader.bind(offset, table)?);
        }
        Ok(reader)
    }

    /// An expression whose columns are read with the others.
    pub fn bind(&mut self, expression: &'e Expression, table: &Table) -> Result<Number<'e>, PredictError> {
        for name in expression.columns() {
            if !self.names.contains(&name) {
                self.positions.push(position(table, &name)?);
                self.names.push(name);
                self.numbers.push(f64::NAN);
            }
        }
        let names = &self.names;
        // Every name was just put there.
        let mut index = |name: &String| names.iter().position(|known| known == name).unwrap_or_default();
        Ok(Number { expression, bound: expression.0.bind(&mut index) })
    }

    /// Where the columns stand that it reads.
    pub fn positions(&self) -> Vec<usize> {
        let factors = self.sources.iter().filter_map(|source| match source {
            Source::Factor { position, .. } => Some(*position),
            Source::Number(_) => None,
        });
        self.positions.iter().copied().chain(factors).collect()
    }

    /// Reads the row where the records stand; `false` where a value is missing. All others are looked at all the same.
    pub fn read(&mut self, records: &Records<'_>) -> Result<bool, PredictError> {
        let mut complete = true;
        for ((position, name), number) in self.positions.iter().zip(&self.names).zip(&mut self.numbers) {
            if records.is_missing(*position) {
                complete = false;
                *number = f64::NAN;
                continue;
            }
            *number = records.number(*position).ok_or_else(|| PredictError::NotANumber {
                line: records.line(),
                column: name.clone(),
                value: records.excerpt(*position),
            })?;
        }
        self.cells.clear();
        for source in &self.sources {
            self.cells.push(match source {
                Source::Number(number) => Cell::Number(number.value(&self.numbers, records)?.unwrap_or(f64::NAN)),
                Source::Factor { position, .. } if records.is_missing(*position) => {
                    complete = false;
                    Cell::Level(0)
                }
                Source::Factor { column, position, levels, all } => {
                    let unseen = || PredictError::UnseenLevel {
                        line: records.line(),
                        column: (*column).to_owned(),
                        value: records.excerpt(*position),
                        known: all.to_vec(),
                    };
                    Cell::Level(levels.find(records.text(*position)?).ok_or_else(unseen)?)
                }
            });
        }
        self.added = match &self.offset {
            Some(offset) => offset.value(&self.numbers, records)?.unwrap_or(f64::NAN),
            None => 0.0,
        };
        Ok(complete)
    }

    /// The value of an expression in the row that was read last; none where a value of its columns is missing.
    pub fn value(&self, number: &Number<'_>, records: &Records<'_>) -> Result<Option<f64>, PredictError> {
        number.value(&self.numbers, records)
    }
}

impl Number<'_> {
    fn value(&self, numbers: &[f64], records: &Records<'_>) -> Result<Option<f64>, PredictError> {
        // Numbers in a file are finite, so that one that is none is missing.
        let missing = std::cell::Cell::new(false);
        let value = self.bound.value(&|index| {
            let number = numbers.get(*index).copied().unwrap_or(f64::NAN);
            missing.set(missing.get() || number.is_nan());
            number
        });
        if missing.get() {
            return Ok(None);
        }
        if !value.is_finite() {
            let expression = self.expression.to_string();
            return Err(PredictError::NotFinite { line: records.line(), expression, value });
        }
        Ok(Some(value))
    }
}

fn position(table: &Table, column: &str) -> Result<usize, PredictError> {
    let missing = || PredictError::MissingColumn { column: column.to_owned(), columns: table.names.clone() };
    table.position(column).ok_or_else(missing)
}
