//! From the columns of a file to a dataset.

use sgq::problem::Rows;

use super::{
    CsvError, Options, Table,
    columns::{Columns, Roles, Values},
    target,
};
use crate::{Dataset, Encoding, Feature, Level, Scaling, grouping::Grouping};

pub(super) fn dataset(table: &Table, options: &Options) -> Result<Dataset, CsvError> {
    let mut roles = Roles::find(table, options)?;
    let mut columns = Columns::read(table, &roles, options)?;
    if options.drop_constant {
        let kept: Vec<bool> = columns.features.iter().map(|values| !values.is_constant()).collect();
        let mut keep = kept.iter();
        roles.features.retain(|_| keep.next().is_some_and(|kept| *kept));
        let mut keep = kept.iter();
        columns.features.retain(|_| keep.next().is_some_and(|kept| *kept));
    }
    let grouping = Grouping::by_name(&columns.users, columns.user_names);
    let weights = match &columns.weights {
        Some(weights) => arranged_weights(&grouping, weights)?,
        None => vec![1.0; grouping.order.len()],
    };
    let (targets, target) = target::encode(columns.target, options)?;
    let features = encode_features(table, &roles, &columns.features, options.standardise)?;
    let rows = fill(&columns.features, &features, &grouping);
    let encoding = Encoding { features, target: target.clone(), delimiter: options.delimiter };
    Ok(Dataset {
        rows,
        targets: grouping.arranged(&targets),
        weights,
        blocks: grouping.blocks,
        user_names: grouping.names,
        column_names: encoding.column_names(),
        target,
        encoding: Some(encoding),
        dropped_rows: columns.dropped_rows,
        rows_total: columns.rows_total,
    })
}

impl Values {
    fn is_constant(&self) -> bool {
        match self {
            Self::Numbers(numbers) => numbers.iter().all(|number| *number == numbers[0]),
            Self::Levels(_, names) => names.len() == 1,
        }
    }
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

fn encode_features(
    table: &Table,
    roles: &Roles,
    values: &[Values],
    standardise: bool,
) -> Result<Vec<Feature>, CsvError> {
    let mut features = Vec::new();
    let mut constant = Vec::new();
    for (position, values) in roles.features.iter().zip(values) {
        let column = table.names[*position].clone();
        if values.is_constant() {
            constant.push(column);
            continue;
        }
        features.push(match values {
            Values::Numbers(numbers) if standardise => {
                let scaling = Scaling::standard(numbers, 1.0);
                let scaling = scaling.ok_or_else(|| CsvError::OutOfRange { column: column.clone() })?;
                Feature::Number { column, scaling }
            }
            Values::Numbers(_) => Feature::Number { column, scaling: Scaling::NONE },
            Values::Levels(levels, names) => encode_levels(column, levels, names, standardise),
        });
    }
    // All of them at once, so that nobody has to find them one by one.
    if constant.is_empty() { Ok(features) } else { Err(CsvError::Constant { columns: constant }) }
}

fn encode_levels(column: String, levels: &[u32], names: &[String], standardise: bool) -> Feature {
    let mut counts = vec![0u64; names.len()];
    for level in levels {
        counts[*level as usize] += 1;
    }
    let rows = levels.len() as f64;
    let scaling = |count: u64| {
        let ones = count as f64;
        // The sample standard deviation of that many ones among zeros.
        let scale = (ones * (rows - ones) / (rows * (rows - 1.0))).sqrt();
        if standardise { Scaling { mean: ones / rows, scale } } else { Scaling::NONE }
    };
    let mut sorted: Vec<Level> =
        names.iter().zip(counts).map(|(name, count)| Level { name: name.clone(), scaling: scaling(count) }).collect();
    sorted.sort_by(|one, other| one.name.cmp(&other.name));
    let base = sorted.remove(0).name;
    Feature::Levels { column, base, levels: sorted }
}

/// Every row's numbers, the intercept first, in the new order.
fn fill(values: &[Values], features: &[Feature], grouping: &Grouping) -> Rows {
    let dim = 1 + features.iter().map(Feature::width).sum::<usize>();
    let mut numbers = vec![1.0; dim * grouping.order.len()];
    let mut at = 1;
    for (values, feature) in values.iter().zip(features) {
        let lines = numbers.chunks_exact_mut(dim).zip(&grouping.order);
        match (values, feature) {
            (Values::Numbers(values), Feature::Number { scaling, .. }) => {
                lines.for_each(|(line, row)| line[at] = scaling.apply(values[*row]));
            }
            (Values::Levels(values, names), Feature::Levels { levels, .. }) => {
                // What a row of each level looks like.
                let patterns: Vec<Vec<f64>> = names.iter().map(|name| Level::indicators(levels, name)).collect();
                lines.for_each(|(line, row)| {
                    line[at..][..levels.len()].copy_from_slice(&patterns[values[*row] as usize]);
                });
            }
            // A feature is made from its own values.
            _ => {}
        }
        at += feature.width();
    }
    Rows::Dense { dim, values: numbers }
}
