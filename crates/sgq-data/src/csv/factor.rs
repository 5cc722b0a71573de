//! From the texts of a column to the levels of a factor.

use super::{CsvError, Table, columns::Columns};
use crate::{
    Variable,
    encoding::{Levels, level_number},
    formula::Atom,
};

/// A factor, and each row's level.
pub(super) struct Factor {
    pub variable: Variable,
    pub values: Vec<usize>,
}

/// A column as a factor, with the levels and the reference that its atom says; else the levels in the order of their numbers
/// where all of them are numbers, or of their text, and the first as the reference.
pub(super) fn factor(table: &Table, columns: &Columns, atom: &Atom) -> Result<Factor, CsvError> {
    let (column, reference, declared) = match atom {
        Atom::Factor { column, reference, levels } => (column, reference.as_ref(), levels.as_ref()),
        Atom::Column(column) => (column, None, None),
        Atom::Number(_) => return Ok(Factor::empty()),
    };
    let Some(data) = columns.data.get(column) else { return Ok(Factor::empty()) };
    let mut levels = declared.cloned().unwrap_or_else(|| sorted(&data.names));
    if let Some(reference) = reference {
        let found = Levels::new(&levels).find(reference);
        let nowhere = || no_rows(column, reference, &levels);
        let first = found.ok_or_else(nowhere)?;
        let first = levels.remove(first);
        levels.insert(0, first);
    }
    let finder = Levels::new(&levels);
    // The level of each text in the file.
    let found: Vec<Option<usize>> = data.names.iter().map(|name| finder.find(name)).collect();
    let mut values = Vec::with_capacity(data.levels.len());
    for (row, text) in data.levels.iter().enumerate() {
        match found[*text as usize] {
            Some(level) => values.push(level),
            None => {
                let (line, value) = (columns.line_of(table, row)?, data.names[*text as usize].clone());
                return Err(CsvError::UnknownLevel { line, column: column.clone(), value, known: levels });
            }
        }
    }
    if let Some(level) = (0..levels.len()).find(|level| !found.contains(&Some(*level))) {
        return Err(no_rows(column, &levels[level], &sorted(&data.names)));
    }
    Ok(Factor { variable: Variable::Factor { column: column.clone(), levels }, values })
}

fn no_rows(column: &str, level: &str, known: &[String]) -> CsvError {
    CsvError::LevelWithoutRows { column: column.to_owned(), level: level.to_owned(), known: known.to_vec() }
}

impl Factor {
    /// Of a column that was not read as a factor, which nobody asks for.
    fn empty() -> Self {
        Self { variable: Variable::Factor { column: String::new(), levels: Vec::new() }, values: Vec::new() }
    }
}

/// Levels in order. As numbers, `1` and `1.0` are one level, written in the shortest way, so that other files have the same one.
pub(crate) fn sorted(names: &[String]) -> Vec<String> {
    let numbers: Option<Vec<f64>> = names.iter().map(|name| level_number(name)).collect();
    match numbers {
        Some(mut numbers) => {
            numbers.sort_by(f64::total_cmp);
            // Not `total_cmp`: −0 is 0.
            numbers.dedup_by(|one, other| one == other);
            numbers.into_iter().map(|number| (number + 0.0).to_string()).collect()
        }
        None => {
            let mut levels = names.to_vec();
            levels.sort();
            levels
        }
    }
}
