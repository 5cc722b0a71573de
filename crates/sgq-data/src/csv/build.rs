//! From the columns of a file to a dataset.

use sgq::problem::Rows;

use super::{
    CsvError, Features, Options, Table,
    columns::Columns,
    roles::Roles,
    target,
    variables::{Drafted, VariableValues, Variables, evaluate},
};
use crate::{
    Column, Dataset, Encoding, Part, Scaling, Target,
    encoding::{Cell, Fill, is_indicator, product},
    grouping::Grouping,
};

pub(super) fn dataset(table: &Table, options: &Options) -> Result<Dataset, CsvError> {
    let roles = Roles::find(table, options)?;
    let mut read = Columns::read(table, &roles, options)?;
    let grouping = Grouping::by_name(&read.users, std::mem::take(&mut read.user_names));
    let weights = match &read.weights {
        Some(weights) => arranged_weights(&grouping, weights)?,
        None => vec![1.0; grouping.order.len()],
    };
    let offsets = roles.offset.as_ref().map(|offset| evaluate(table, &read, offset)).transpose()?;
    let (targets, target) = target::encode(table, &read, &roles, offsets.as_deref(), options)?;
    let (mut variables, terms) = Variables::find(table, &read, &roles)?;
    let intercept = roles.terms.intercept;
    let mut columns = columns(&variables, &terms, intercept, read.users.len(), options)?;
    variables.keep_used(&mut columns);
    let encoding = Encoding {
        formula: match &options.features {
            Features::Formula(formula) => Some(formula.clone()),
            _ => None,
        },
        response: roles.response,
        target: target.clone(),
        intercept,
        variables: variables.list,
        columns,
        offset: roles.offset,
        weight: options.weight.clone(),
        delimiter: options.delimiter,
    };
    // Of a number it is already taken off.
    let offsets = offsets.filter(|_| !matches!(target, Target::Number(_)));
    Ok(Dataset {
        rows: fill(&encoding, &variables.values, &grouping),
        targets: grouping.arranged(&targets),
        weights,
        offsets: offsets.map(|offsets| grouping.arranged(&offsets)),
        blocks: grouping.blocks,
        user_names: grouping.names,
        column_names: encoding.column_names(),
        target,
        encoding: Some(encoding),
        dropped_rows: read.dropped_rows(),
        rows_total: read.kept.len(),
        missing_by_column: read.missing_by_column,
    })
}

fn arranged_weights(grouping: &Grouping, weights: &[f64]) -> Result<Vec<f64>, CsvError> {
    let weights = grouping.arranged(weights);
    for (block, name) in grouping.blocks.windows(2).zip(&grouping.names) {
        if weights[block[0]..block[1]].iter().all(|weight| *weight == 0.0) {
            return Err(CsvError::NoWeight { user: name.clone() });
        }
    }
    Ok(weights)
}

/// The columns of the terms, each with its scaling.
fn columns(
    variables: &Variables<'_>,
    terms: &[Vec<usize>],
    intercept: bool,
    rows: usize,
    options: &Options,
) -> Result<Vec<Column>, CsvError> {
    let design = variables.design(terms, intercept)?;
    let (mut columns, mut constant) = (Vec::new(), Vec::new());
    for drafted in design {
        let parts = match drafted {
            Drafted::Column(parts) => parts,
            Drafted::Single(factor) => {
                if !constant.contains(&factor) {
                    constant.push(factor);
                }
                continue;
            }
        };
        let raw = Raw::of(variables, &parts, rows);
        // Without an intercept it is one.
        if raw.constant().is_some_and(|value| intercept || value == 0.0) {
            constant.push(variables.name_of(&parts));
            continue;
        }
        let out_of_range = || CsvError::OutOfRange { column: variables.name_of(&parts) };
        let scaling = match options.standardise {
            true => raw.scaling(intercept).ok_or_else(out_of_range)?,
            false if raw.is_finite() => Scaling::NONE,
            false => return Err(out_of_range()),
        };
        columns.push(Column { parts, scaling });
    }
    // All of them at once, so that nobody has to find them one by one.
    if constant.is_empty() || options.drop_constant {
        Ok(columns)
    } else {
        Err(CsvError::Constant { columns: constant })
    }
}

/// What the rows have in a column, before it is scaled.
enum Raw {
    /// So many ones, and zeros in the other rows.
    Indicator {
        ones: usize,
        rows: usize,
    },
    Numbers(Vec<f64>),
}

impl Raw {
    fn of(variables: &Variables<'_>, parts: &[Part], rows: usize) -> Self {
        // The commonest columns, of which there may be a thousand.
        if let [Part { variable, level: Some(level) }] = parts {
            let ones = variables.values.get(*variable).map_or(0, |values| values.count(*level));
            return Self::Indicator { ones, rows };
        }
        let cell = |row| move |variable: usize| variables.values.get(variable)?.cell(row);
        let values = (0..rows).map(|row| product(parts, cell(row)));
        if is_indicator(parts) {
            Self::Indicator { ones: values.filter(|value| *value != 0.0).count(), rows }
        } else {
            Self::Numbers(values.collect())
        }
    }

    /// The value of all rows, where they have the same.
    fn constant(&self) -> Option<f64> {
        match self {
            Self::Indicator { ones, rows } if ones == rows => Some(1.0),
            Self::Indicator { ones, .. } => (*ones == 0).then_some(0.0),
            Self::Numbers(values) => values.first().filter(|first| values.iter().all(|value| value == *first)).copied(),
        }
    }

    fn is_finite(&self) -> bool {
        match self {
            Self::Indicator { .. } => true,
            Self::Numbers(values) => values.iter().all(|value| value.is_finite()),
        }
    }

    /// To mean 0 and standard deviation 1; without an intercept, which would take up the mean, only the latter.
    fn scaling(&self, intercept: bool) -> Option<Scaling> {
        let scaling = match (self.constant(), self) {
            (Some(value), _) => Scaling { mean: 0.0, scale: value.abs() },
            (None, Self::Indicator { ones, rows }) => {
                let (ones, rows) = (*ones as f64, *rows as f64);
                // The sample standard deviation of that many ones among zeros.
                Scaling { mean: ones / rows, scale: (ones * (rows - ones) / (rows * (rows - 1.0))).sqrt() }
            }
            (None, Self::Numbers(values)) => Scaling::standard(values, 1.0)?,
        };
        let mean = if intercept { scaling.mean } else { 0.0 };
        Some(Scaling { mean, ..scaling }).filter(Scaling::is_sound)
    }
}

/// Every row's numbers, the intercept first, in the new order.
fn fill(encoding: &Encoding, values: &[VariableValues<'_>], grouping: &Grouping) -> Rows {
    let dim = encoding.dim();
    let mut numbers = vec![0.0; dim * grouping.order.len()];
    let fill = Fill::new(encoding);
    let mut cells: Vec<Cell> = Vec::with_capacity(values.len());
    for (line, row) in numbers.chunks_exact_mut(dim).zip(&grouping.order) {
        cells.clear();
        cells.extend(values.iter().filter_map(|values| values.cell(*row)));
        fill.row(&cells, line);
    }
    Rows::Dense { dim, values: numbers }
}
