//! The target column, as the loss wants it.

use super::{CsvError, Options, columns::Values};
use crate::{Scaling, Target};

/// The targets that the regression sees, and what they mean.
pub(super) fn encode(values: Values, options: &Options) -> Result<(Vec<f64>, Target), CsvError> {
    match values {
        Values::Numbers(numbers) => encode_numbers(numbers, options),
        Values::Levels(levels, names) => encode_levels(&levels, &names, options),
    }
}

fn encode_numbers(numbers: Vec<f64>, options: &Options) -> Result<(Vec<f64>, Target), CsvError> {
    let column = || options.target.clone();
    if let [first, rest @ ..] = &numbers[..]
        && rest.iter().all(|number| number == first)
    {
        return Err(CsvError::ConstantTarget { column: column(), value: first.to_string() });
    }
    if Target::Count.fits(options.loss) {
        return Ok((numbers, Target::Count));
    }
    if !options.standardise {
        return Ok((numbers, Target::Number(Scaling::NONE)));
    }
    let scaling = Scaling::standard(&numbers, 0.0).ok_or_else(|| CsvError::OutOfRange { column: column() })?;
    Ok((numbers.into_iter().map(|number| scaling.apply(number)).collect(), Target::Number(scaling)))
}

fn encode_levels(levels: &[u32], names: &[String], options: &Options) -> Result<(Vec<f64>, Target), CsvError> {
    let column = options.target.clone();
    // As numbers, `0` and `0.0` are one level.
    let numbers: Option<Vec<f64>> =
        names.iter().map(|name| name.parse().ok().filter(|number: &f64| number.is_finite())).collect();
    let mut sorted: Vec<usize> = (0..names.len()).collect();
    if let Some(numbers) = &numbers {
        sorted.sort_by(|one, other| numbers[*one].total_cmp(&(numbers[*other])));
        sorted.dedup_by(|one, other| numbers[*one] == numbers[*other]);
    } else {
        sorted.sort_by_key(|level| &names[*level]);
    }
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
