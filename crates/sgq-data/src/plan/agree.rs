//! From everybody's summaries to the columns that all use.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{
    LevelCount, Moments, StudyPlan, Summary, TargetSummary, VariableSummary,
    layout::{Layout, Skeleton, SkeletonError},
    notes::notes,
    pooled::Pooled,
};
use crate::{
    Column, Encoding, Expression, Part, Scaling, Target, Variable,
    csv::{MOST_LEVELS, distinct_levels, sorted},
    encoding::{Levels, name_of},
    first_few,
    formula::Atom,
    names::listed,
};

/// What all use after the first question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Agreed {
    /// The columns, with their levels and their scaling.
    pub encoding: Encoding,
    /// Where the fit begins: the null model.
    pub start: Vec<f64>,
    /// What the rows of each clinic weigh together, in the order of the clinics.
    pub totals: Vec<f64>,
    /// How many rows are used, of all clinics together.
    pub rows: u64,
    /// How many rows were left out.
    pub rows_missing: u64,
    /// In how many rows a value of a column is missing, for columns that miss any.
    pub missing_by_column: Vec<(String, u64)>,
    /// What somebody should look at before the fit begins.
    pub notes: Vec<String>,
}

/// Why summaries do not go together.
#[derive(Clone, Debug, PartialEq, Error)]
#[allow(missing_docs)] // the message says what each field is
#[non_exhaustive]
pub enum AgreeError {
    #[error("no clinic has given its first answer: at least one is needed")]
    Nobody,
    #[error("{user} is named twice: every clinic has a name of its own")]
    Twice { user: String },
    #[error("the first answer of {user} cannot be used: {what}; ask {user} to answer again with the same plan")]
    Summary { user: String, what: String },
    #[error(
        "{column:?} is a number at {numbers} and text at {levels}: correct one of the files, or make it a factor everywhere, factor({column}) in the formula"
    )]
    Kinds { column: String, numbers: String, levels: String },
    #[error("columns with the same value in every row of every clinic say nothing: leave {} out of the formula", listed(.columns))]
    Constant { columns: Vec<String> },
    #[error(
        "{column:?} has the level {level:?} in every row of every clinic, and so says nothing: leave it out of the formula"
    )]
    OneLevel { column: String, level: String },
    #[error("no row of any clinic has the level {level:?} of {column:?}{}: there are {}", with_weight(.user), listed(.known))]
    NoRows { column: String, level: String, known: Vec<String>, user: Option<String> },
    #[error(
        "{column:?} has {levels} levels at all clinics together, more than {limit}, and most of them at {user}: leave the column out, or join levels"
    )]
    TooManyLevels { column: String, levels: usize, limit: usize, user: String },
    #[error("the target {target} is {value} in every row of every clinic: there is nothing to predict")]
    ConstantTarget { target: String, value: String },
    #[error("the target {target} has {} levels at all clinics together, and needs 2: {}", .levels.len(), first_few(.levels))]
    Classes { target: String, levels: Vec<String> },
    #[error(
        "{column} cannot be scaled: its numbers{} are too large, too small or too close to each other; choose another unit",
        at(.user)
    )]
    OutOfRange { column: String, user: Option<String> },
    #[error("the model has {parameters} parameters, and all clinics together {rows} rows: take a smaller formula")]
    FewRows { parameters: usize, rows: u64 },
    #[error("{what}")]
    Formula { what: String },
}

/// From the summaries of all clinics that take part, by name: what all of them use from here on.
///
/// Levels are those that any clinic has, in the order in which `sgq fit` has them of all rows in one place: by their numbers where all
/// are numbers, else by their letters, the reference first where the formula names one. Numbers are scaled to mean 0 and deviation 1 over
/// all rows; products as if what is multiplied were independent. No scaling changes what is fitted, unless there is a penalty.
pub fn agree(plan: &StudyPlan, users: &[(&str, &Summary)]) -> Result<Agreed, AgreeError> {
    let layout = Layout::of(&plan.formula).map_err(|what| AgreeError::Formula { what })?;
    if users.is_empty() {
        return Err(AgreeError::Nobody);
    }
    let mut known = HashSet::new();
    for (user, summary) in users {
        if !known.insert(*user) {
            return Err(AgreeError::Twice { user: (*user).to_owned() });
        }
        let wrong = |what| AgreeError::Summary { user: (*user).to_owned(), what };
        summary.check(plan).map_err(wrong)?;
    }
    let rows = users.iter().map(|(_, summary)| summary.rows).sum();
    let skeleton = layout.skeleton(|atom| variable(atom, users)).map_err(|error| in_words(error, &layout, users))?;
    let intercept = skeleton.intercept;
    for variable in &skeleton.variables {
        let Variable::Factor { column, levels } = variable else { continue };
        let of_levels = of_all(variable, users, rows);
        // Rows of weight 0 may have it.
        if let Some((level, _)) = levels.iter().zip(of_levels).find(|(_, pooled)| pooled.mean == 0.0) {
            let known = levels.iter().filter(|other| *other != level).cloned().collect();
            let user = who_tells(column, level, users);
            return Err(AgreeError::NoRows { column: column.clone(), level: level.clone(), known, user });
        }
    }
    let target = target(plan, users, rows, intercept)?;
    let columns = columns(&skeleton, users, rows)?;
    let encoding = Encoding {
        formula: Some(plan.formula.clone()),
        response: plan.formula.response().clone(),
        target,
        intercept,
        variables: skeleton.variables,
        columns,
        offset: layout.offset,
        weight: plan.weight.clone(),
        delimiter: None,
    };
    let parameters = encoding.dim();
    if parameters as u64 > rows {
        return Err(AgreeError::FewRows { parameters, rows });
    }
    let mut missing_by_column: Vec<(String, u64)> = Vec::new();
    for (column, count) in users.iter().flat_map(|(_, summary)| &summary.missing_by_column) {
        match missing_by_column.iter_mut().find(|(known, _)| known == column) {
            Some((_, sum)) => *sum += count,
            None => missing_by_column.push((column.clone(), *count)),
        }
    }
    Ok(Agreed {
        start: start(users, &encoding),
        notes: notes(plan, users, &encoding),
        encoding,
        totals: users.iter().map(|(_, summary)| summary.weight).collect(),
        rows,
        rows_missing: users.iter().map(|(_, summary)| summary.rows_missing).sum(),
        missing_by_column,
    })
}

/// What an atom of the formula is, which every clinic must say alike.
fn variable(atom: &Atom, users: &[(&str, &Summary)]) -> Result<Variable, AgreeError> {
    let mut numbers: Option<(&str, Variable)> = None;
    let mut factor: Option<(&str, &str)> = None;
    let mut names: Vec<String> = Vec::new();
    for (user, summary) in users {
        // Every summary was checked: it is there.
        match summary.variables.iter().find(|variable| variable.is_of(atom)) {
            Some(VariableSummary::Number { of, .. }) => {
                numbers.get_or_insert_with(|| (user, Variable::Number(of.clone())));
            }
            Some(VariableSummary::Factor { of, levels }) => {
                factor.get_or_insert((user, of));
                names.extend(levels.iter().map(|count| count.level.clone()));
            }
            None => {}
        }
    }
    match (numbers, factor) {
        (Some((numbers, _)), Some((levels, column))) => {
            Err(AgreeError::Kinds { column: column.to_owned(), numbers: numbers.to_owned(), levels: levels.to_owned() })
        }
        (Some((_, variable)), None) => Ok(variable),
        (None, Some((_, column))) => levels(atom, column, names, users),
        (None, None) => Err(AgreeError::Nobody),
    }
}

/// The levels that any clinic has, in the order of `sgq fit`.
fn levels(
    atom: &Atom,
    column: &str,
    mut names: Vec<String>,
    users: &[(&str, &Summary)],
) -> Result<Variable, AgreeError> {
    names.sort();
    names.dedup();
    let known = sorted(&names);
    if known.len() > MOST_LEVELS {
        let (column, levels) = (column.to_owned(), known.len());
        let count = |summary: &Summary| levels_of(&column, summary).len();
        let user = users.iter().max_by_key(|(_, summary)| count(summary)).map(|(user, _)| (*user).to_owned());
        let user = user.unwrap_or_default();
        return Err(AgreeError::TooManyLevels { column, levels, limit: MOST_LEVELS, user });
    }
    let (reference, declared) = match atom {
        Atom::Factor { reference, levels, .. } => (reference.as_ref(), levels.as_ref()),
        _ => (None, None),
    };
    let no_rows = |level: &String| {
        let (column, level, known) = (column.to_owned(), level.clone(), known.clone());
        // The plan asks for it, and no clinic is to blame.
        AgreeError::NoRows { column, level, known, user: None }
    };
    let mut levels = known.clone();
    if let Some(declared) = declared {
        let there = Levels::new(&known);
        if let Some(level) = declared.iter().find(|level| there.find(level).is_none()) {
            return Err(no_rows(level));
        }
        levels = declared.clone();
    }
    if let Some(reference) = reference {
        let found = Levels::new(&levels).find(reference);
        let first = found.ok_or_else(|| no_rows(reference))?;
        let first = levels.remove(first);
        levels.insert(0, first);
    }
    Ok(Variable::Factor { column: column.to_owned(), levels })
}

fn in_words(error: SkeletonError<AgreeError>, layout: &Layout, users: &[(&str, &Summary)]) -> AgreeError {
    match error {
        SkeletonError::Variable(error) => error,
        SkeletonError::Formula(error) => AgreeError::Formula { what: error.to_string() },
        SkeletonError::Single(columns) => {
            // All of them were told of by somebody.
            let column = columns.first().cloned().unwrap_or_default();
            let atom = layout.atoms().find(|atom| atom.columns().contains(&column));
            let level = match atom.map(|atom| variable(atom, users)) {
                Some(Ok(Variable::Factor { levels, .. })) => levels.first().cloned().unwrap_or_default(),
                _ => String::new(),
            };
            AgreeError::OneLevel { column, level }
        }
    }
}

/// The columns with their scaling.
fn columns(skeleton: &Skeleton, users: &[(&str, &Summary)], rows: u64) -> Result<Vec<Column>, AgreeError> {
    let pooled = skeleton.variables.iter().map(|variable| of_all(variable, users, rows)).collect::<Vec<_>>();
    let (mut columns, mut constant) = (Vec::new(), Vec::new());
    for parts in &skeleton.columns {
        let name = || name_of(&skeleton.variables, parts);
        let one = Pooled { mean: 1.0, variance: 0.0 };
        let of_part = |part: &Part| pooled.get(part.variable).and_then(|levels| levels.get(part.level.unwrap_or(0)));
        let product = parts.iter().filter_map(of_part).fold(one, |product, part| product.times(*part));
        // Without an intercept it is one.
        if product.variance == 0.0 && (skeleton.intercept || product.mean == 0.0) {
            constant.push(name());
            continue;
        }
        let scaling = product.scaling(rows, 1.0, skeleton.intercept);
        let scaling = scaling.ok_or_else(|| {
            let user = parts.iter().find_map(|part| match skeleton.variables.get(part.variable) {
                Some(Variable::Number(expression)) => who_is_too_large(&moments_of(expression, users)),
                _ => None,
            });
            AgreeError::OutOfRange { column: name(), user }
        })?;
        columns.push(Column { parts: parts.clone(), scaling });
    }
    if constant.is_empty() { Ok(columns) } else { Err(AgreeError::Constant { columns: constant }) }
}

/// Mean and variance of a number over all rows, or those of a factor's indicators.
fn of_all(variable: &Variable, users: &[(&str, &Summary)], rows: u64) -> Vec<Pooled> {
    let told = users.iter().flat_map(|(_, summary)| summary.variables.iter().map(|told| (summary.rows, told)));
    match variable {
        Variable::Number(expression) => {
            vec![pooled(&moments_of(expression, users))]
        }
        Variable::Factor { column, levels } => {
            let finder = Levels::new(levels);
            let mut counts = vec![0; levels.len()];
            for (_, told) in told {
                let VariableSummary::Factor { of, levels } = told else { continue };
                for count in levels.iter().filter(|_| of == column) {
                    if let Some(level) = finder.find(&count.level) {
                        counts[level] += count.rows;
                    }
                }
            }
            counts.into_iter().map(|ones| Pooled::of_indicator(ones, rows)).collect()
        }
    }
}

/// What a clinic tells of a number, and of how many rows.
type Told<'u> = (&'u str, u64, Moments);

fn moments_of<'u>(expression: &Expression, users: &[(&'u str, &Summary)]) -> Vec<Told<'u>> {
    let told =
        users.iter().flat_map(|(user, summary)| summary.variables.iter().map(|told| (*user, summary.rows, told)));
    told.filter_map(|(user, rows, told)| match told {
        VariableSummary::Number { of, moments } if of == expression => Some((user, rows, *moments)),
        _ => None,
    })
    .collect()
}

fn pooled(told: &[Told<'_>]) -> Pooled {
    Pooled::of(told.iter().map(|(_, rows, moments)| (*rows, *moments)))
}

/// The clinic whose numbers are too large to be summed up, where those of the others are not.
fn who_is_too_large(told: &[Told<'_>]) -> Option<String> {
    let is_fine = |pooled: Pooled| pooled.mean.is_finite() && pooled.variance.is_finite();
    let size = |(.., own): &Told<'_>| own.mean.abs().max(own.deviation);
    let largest = told.iter().max_by(|one, other| size(one).total_cmp(&size(other)))?;
    let others: Vec<Told<'_>> = told.iter().filter(|(user, ..)| *user != largest.0).copied().collect();
    (!is_fine(pooled(told)) && (others.is_empty() || is_fine(pooled(&others)))).then(|| largest.0.to_owned())
}

/// The levels that a clinic tells of.
fn levels_of<'s>(column: &str, summary: &'s Summary) -> &'s [LevelCount] {
    let found = summary.variables.iter().find_map(|told| match told {
        VariableSummary::Factor { of, levels } if of == column => Some(&**levels),
        _ => None,
    });
    found.unwrap_or_default()
}

/// The first clinic that has a level, be it in rows of weight 0.
fn who_tells(column: &str, level: &str, users: &[(&str, &Summary)]) -> Option<String> {
    let level = [level.to_owned()];
    let finder = Levels::new(&level);
    let has = |summary: &Summary| levels_of(column, summary).iter().any(|count| finder.find(&count.level).is_some());
    users.iter().find(|(_, summary)| has(summary)).map(|(user, _)| (*user).to_owned())
}

fn at(user: &Option<String>) -> String {
    user.iter().map(|user| format!(" at {user}")).collect()
}

fn with_weight(user: &Option<String>) -> String {
    user.iter().map(|user| format!(" with a positive weight ({user} has it with weight 0)")).collect()
}

fn target(plan: &StudyPlan, users: &[(&str, &Summary)], rows: u64, intercept: bool) -> Result<Target, AgreeError> {
    let name = plan.formula.response().to_string();
    let constant = |value: String| AgreeError::ConstantTarget { target: name.clone(), value };
    match users.first().map(|(_, summary)| &summary.target) {
        Some(TargetSummary::Levels { .. }) => {
            let mut levels: Vec<(String, &str)> = Vec::new();
            for (user, summary) in users {
                let TargetSummary::Levels { levels: own, .. } = &summary.target else { continue };
                for level in own {
                    if !levels.iter().any(|(known, _)| *known == level.level) {
                        levels.push((level.level.clone(), user));
                    }
                }
            }
            let names: Vec<String> = levels.iter().map(|(level, _)| level.clone()).collect();
            match distinct_levels(&names).0[..] {
                [negative, positive] => {
                    let both = [negative, positive].map(|level| names[level].clone());
                    let weights = level_weights(users, &both);
                    if let Some(empty) = weights.iter().position(|weight| *weight == 0.0) {
                        return Err(constant(format!("{:?}", both[1 - empty])));
                    }
                    let [negative, positive] = both;
                    Ok(Target::Levels { negative, positive })
                }
                [only] => Err(constant(format!("{:?}", names[only]))),
                ref more => {
                    let level = |level: &usize| format!("{:?} (first at {})", levels[*level].0, levels[*level].1);
                    Err(AgreeError::Classes { target: name, levels: more.iter().map(level).collect() })
                }
            }
        }
        Some(TargetSummary::Number { .. }) => {
            let moments: Vec<Told<'_>> = users
                .iter()
                .filter_map(|(user, summary)| match &summary.target {
                    TargetSummary::Number { moments, .. } => Some((*user, summary.rows, *moments)),
                    _ => None,
                })
                .collect();
            let pooled = pooled(&moments);
            if pooled.variance == 0.0 {
                return Err(constant(pooled.mean.to_string()));
            }
            let scaling = pooled.scaling(rows, 0.0, intercept);
            scaling.map(Target::Number).ok_or_else(|| AgreeError::OutOfRange {
                column: format!("the target {name}"),
                user: who_is_too_large(&moments),
            })
        }
        Some(TargetSummary::Count { .. }) => {
            let is_zero =
                |(_, summary): &(&str, &Summary)| matches!(summary.target, TargetSummary::Count { mean: 0.0, .. });
            if users.iter().all(is_zero) { Err(constant("0".to_owned())) } else { Ok(Target::Count) }
        }
        Some(TargetSummary::Positive { .. }) | None => Ok(Target::Positive),
    }
}

/// What rows at each of the target's two levels weigh together.
fn level_weights(users: &[(&str, &Summary)], both: &[String; 2]) -> [f64; 2] {
    let finder = Levels::new(both);
    let levels = users.iter().filter_map(|(_, summary)| match &summary.target {
        TargetSummary::Levels { levels, .. } => Some(levels),
        _ => None,
    });
    let mut weights = [0.0; 2];
    for level in levels.flatten() {
        if let Some(place) = finder.find(&level.level) {
            weights[place] += level.weight;
        }
    }
    weights
}

/// The null model's point: [`null_point`](crate::glm::null_point) from sums.
fn start(users: &[(&str, &Summary)], encoding: &Encoding) -> Vec<f64> {
    let mut start = vec![0.0; encoding.dim()];
    if !encoding.has_intercept() {
        return start;
    }
    let weight: f64 = users.iter().map(|(_, summary)| summary.weight).sum();
    let mean = |of: &dyn Fn(&TargetSummary) -> f64| {
        users.iter().map(|(_, summary)| summary.weight * of(&summary.target)).sum::<f64>() / weight
    };
    let intercept = match encoding.target() {
        Target::Number(Scaling { mean: centre, scale }) => {
            let all = mean(&|target| match target {
                TargetSummary::Number { weighted_mean, .. } => *weighted_mean,
                _ => f64::NAN,
            });
            (all - centre) / scale
        }
        Target::Levels { negative, positive } => {
            let both = [negative.clone(), positive.clone()];
            let [negatives, positives] = level_weights(users, &both);
            let offset = mean(&|target| match target {
                TargetSummary::Levels { offset, .. } => *offset,
                _ => f64::NAN,
            });
            (positives / negatives).ln() - offset
        }
        Target::Count => {
            let both = |which: usize| {
                mean(&|target| match target {
                    TargetSummary::Count { mean, exposure } => [*mean, *exposure][which],
                    _ => f64::NAN,
                })
            };
            (both(0) / both(1)).ln()
        }
        Target::Positive => mean(&|target| match target {
            TargetSummary::Positive { mean } => *mean,
            _ => f64::NAN,
        })
        .ln(),
    };
    if intercept.is_finite() {
        start[0] = intercept;
    }
    start
}
