//! A row of the regression from the values of its variables.

use super::{Column, Encoding, Part};
use crate::Scaling;

/// The value of a variable in a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Cell {
    Number(f64),
    Level(usize),
}

/// The columns of an encoding, ready to be filled row by row.
pub(crate) struct Fill<'e> {
    intercept: bool,
    columns: Vec<(&'e [Part], Scale)>,
}

enum Scale {
    /// What a product of indicators is where it is 0, and where it is 1.
    Indicator([f64; 2]),
    Number(Scaling),
}

impl<'e> Fill<'e> {
    pub fn new(encoding: &'e Encoding) -> Self {
        let scale = |column: &Column| match is_indicator(&column.parts) {
            true => Scale::Indicator([0.0, 1.0].map(|value| column.scaling.apply(value))),
            false => Scale::Number(column.scaling),
        };
        let columns = encoding.columns.iter().map(|column| (&*column.parts, scale(column)));
        Self { intercept: encoding.intercept, columns: columns.collect() }
    }

    /// Writes the columns of a row, the intercept first.
    pub fn row(&self, cells: &[Cell], line: &mut [f64]) {
        let (intercept, rest) = line.split_at_mut(usize::from(self.intercept));
        intercept.fill(1.0);
        for (slot, (parts, scale)) in rest.iter_mut().zip(&self.columns) {
            let value = product(parts, |variable| cells.get(variable).copied());
            *slot = match scale {
                Scale::Indicator([off, on]) => {
                    if value == 0.0 {
                        *off
                    } else {
                        *on
                    }
                }
                Scale::Number(scaling) => scaling.apply(value),
            };
        }
    }
}

/// Whether a column has nothing but zeros and ones.
pub(crate) fn is_indicator(parts: &[Part]) -> bool {
    parts.iter().all(|part| part.level.is_some())
}

/// The product of the parts, before it is scaled. A row at another level is 0, whatever else it has.
pub(crate) fn product(parts: &[Part], cell: impl Fn(usize) -> Option<Cell>) -> f64 {
    let mut product = 1.0;
    let mut there = true;
    for part in parts {
        match (cell(part.variable), part.level) {
            (Some(Cell::Number(number)), None) => product *= number,
            (Some(Cell::Level(level)), Some(wanted)) => there &= level == wanted,
            // A checked encoding has no other pairs.
            _ => return f64::NAN,
        }
    }
    if there { product } else { 0.0 }
}
