//! The target, as the loss wants it.

use std::borrow::Cow;

use super::{
    CsvError, Options, Table, TargetKind,
    columns::{Columns, Values},
    roles::Roles,
    variables::evaluate,
};
use crate::{Scaling, Target, names::Interner};

/// The targets that the regression sees, and what they mean.
pub(super) fn encode(
    table: &Table,
    columns: &Columns,
    roles: &Roles,
    offsets: Option<&[f64]>,
    options: &Options,
) -> Result<(Vec<f64>, Target), CsvError> {
    let name = roles.response.to_string();
    let column = roles.response.as_column().map_or(&*name, |column| column);
    let kind = TargetKind::from(options.loss);
    if let (Values::Levels(levels, names), Some(_)) = (&columns.target, roles.target) {
        return encode_levels(levels, names, column);
    }
    let numbers = numbers(table, columns, roles, options)?;
    let numbers = &*numbers;
    if kind == TargetKind::Levels {
        let mut names = Interner::default();
        let levels: Vec<u32> = numbers.iter().map(|number| names.code(&number.to_string())).collect();
        return encode_levels(&levels, names.names(), column);
    }
    encode_numbers(numbers, offsets, roles.terms.intercept, column, options)
}

/// A target that is a number, where it is: a column, or an expression of columns.
pub(crate) fn numbers<'c>(
    table: &Table,
    columns: &'c Columns,
    roles: &Roles,
    options: &Options,
) -> Result<Cow<'c, [f64]>, CsvError> {
    if let (Values::Numbers(numbers), Some(_)) = (&columns.target, roles.target) {
        return Ok(Cow::Borrowed(numbers));
    }
    let computed = evaluate(table, columns, &roles.response)?;
    check(table, columns, &computed, options.loss.into(), &roles.response.to_string())?;
    Ok(computed)
}

/// Numbers that were computed are looked at here; those of a column where they are read.
fn check(table: &Table, columns: &Columns, numbers: &[f64], kind: TargetKind, name: &str) -> Result<(), CsvError> {
    let refused = |number: &f64| match kind {
        TargetKind::Count => *number < 0.0,
        TargetKind::Positive => *number <= 0.0,
        TargetKind::Number | TargetKind::Levels => false,
    };
    let Some(row) = numbers.iter().position(refused) else { return Ok(()) };
    let (line, value) = (columns.line_of(table, row)?, numbers[row]);
    Err(match kind {
        TargetKind::Positive => CsvError::NotPositive { line, target: name.to_owned(), value },
        _ => CsvError::NegativeCount { line, column: name.to_owned(), value },
    })
}

fn encode_numbers(
    numbers: &[f64],
    offsets: Option<&[f64]>,
    intercept: bool,
    column: &str,
    options: &Options,
) -> Result<(Vec<f64>, Target), CsvError> {
    let is_constant = |numbers: &[f64]| numbers.iter().all(|number| *number == numbers[0]);
    let constant = |number: f64| CsvError::ConstantTarget { column: column.to_owned(), value: number.to_string() };
    if is_constant(numbers) {
        return Err(constant(numbers[0]));
    }
    match TargetKind::from(options.loss) {
        TargetKind::Count => return Ok((numbers.to_vec(), Target::Count)),
        TargetKind::Positive => return Ok((numbers.to_vec(), Target::Positive)),
        TargetKind::Number | TargetKind::Levels => {}
    }
    let numbers: Vec<f64> = match offsets {
        Some(offsets) => numbers.iter().zip(offsets).map(|(number, offset)| number - offset).collect(),
        None => numbers.to_vec(),
    };
    if is_constant(&numbers) {
        return Err(constant(numbers[0]));
    }
    let out_of_range = || CsvError::OutOfRange { column: column.to_owned() };
    if !options.standardise {
        return match numbers.iter().all(|number| number.is_finite()) {
            true => Ok((numbers, Target::Number(Scaling::NONE))),
            false => Err(out_of_range()),
        };
    }
    let mut scaling = Scaling::standard(&numbers, 0.0).ok_or_else(out_of_range)?;
    if !intercept {
        // Nothing would take up the mean.
        scaling.mean = 0.0;
    }
    Ok((numbers.into_iter().map(|number| scaling.apply(number)).collect(), Target::Number(scaling)))
}

/// A target's levels in order, by their place among the names, and the numbers that they are, where all of them are. As numbers, `0` and
/// `0.0` are one level.
pub(crate) fn distinct_levels(names: &[String]) -> (Vec<usize>, Option<Vec<f64>>) {
    let numbers: Option<Vec<f64>> =
        names.iter().map(|name| name.parse().ok().filter(|number: &f64| number.is_finite())).collect();
    let mut sorted: Vec<usize> = (0..names.len()).collect();
    if let Some(numbers) = &numbers {
        sorted.sort_by(|one, other| numbers[*one].total_cmp(&(numbers[*other])));
        sorted.dedup_by(|one, other| numbers[*one] == numbers[*other]);
    } else {
        sorted.sort_by_key(|level| &names[*level]);
    }
    (sorted, numbers)
}

fn encode_levels(levels: &[u32], names: &[String], column: &str) -> Result<(Vec<f64>, Target), CsvError> {
    let column = column.to_owned();
    let (sorted, numbers) = distinct_levels(names);
    match sorted[..] {
        [negative, positive] => {
            let is_positive = |level: u32| match &numbers {
                Some(numbers) => numbers[level as usize] == numbers[positive],
                None => level as usize == positive,
            };
            let targets = levels.iter().map(|level| if is_positive(*level) { 1.0 } else { -1.0 }).collect();
            let (negative, positive) = (names[negative].clone(), names[positive].clone());
            Ok((targets, Target::Levels { negative, positive }))
        }
        [only] => Err(CsvError::ConstantTarget { column, value: names[only].clone() }),
        _ => Err(CsvError::Classes { column, levels: sorted.iter().map(|level| names[*level].clone()).collect() }),
    }
}
