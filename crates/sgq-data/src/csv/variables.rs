//! From the atoms of a formula to variables, and from its terms to columns.

use std::{borrow::Cow, collections::HashSet};

use super::{
    CsvError, Table,
    columns::Columns,
    factor::{Factor, factor},
    roles::Roles,
};
use crate::{
    Expression, Part, Variable,
    encoding::{Cell, name_of},
    formula::{Atom, codings},
};

/// More columns than this, made by interactions, are hardly meant.
const MAX_COLUMNS: usize = 10_000;

/// What the columns are made of, with the values of all rows that are kept.
#[derive(Default)]
pub(super) struct Variables<'c> {
    pub list: Vec<Variable>,
    pub values: Vec<VariableValues<'c>>,
}

pub(super) enum VariableValues<'c> {
    Numbers(Cow<'c, [f64]>),
    Levels {
        each: Vec<usize>,
        /// How many rows have each level.
        counts: Vec<usize>,
    },
}

impl VariableValues<'_> {
    fn levels(each: Vec<usize>) -> Self {
        let mut counts = vec![0; each.iter().max().map_or(0, |last| last + 1)];
        each.iter().for_each(|level| counts[*level] += 1);
        Self::Levels { each, counts }
    }

    /// How many rows have a level.
    pub fn count(&self, level: usize) -> usize {
        match self {
            Self::Levels { counts, .. } => counts.get(level).copied().unwrap_or(0),
            Self::Numbers(_) => 0,
        }
    }

    pub fn cell(&self, row: usize) -> Option<Cell> {
        match self {
            Self::Numbers(numbers) => numbers.get(row).copied().map(Cell::Number),
            Self::Levels { each, .. } => each.get(row).copied().map(Cell::Level),
        }
    }
}

/// What a term has.
pub(crate) enum Drafted {
    /// A column, of these parts.
    Column(Vec<Part>),
    /// Nothing, since this factor has a single level.
    Single(String),
}

impl<'c> Variables<'c> {
    /// The variables that the terms are made of, and the terms over these: atoms that turn out to be the same are one variable.
    pub fn find(table: &Table, columns: &'c Columns, roles: &Roles) -> Result<(Self, Vec<Vec<usize>>), CsvError> {
        let mut variables = Self::default();
        let mut numbers = vec![0; roles.atoms.len()];
        for (index, atom) in roles.used_atoms() {
            numbers[index] = variables.add(table, columns, atom)?;
        }
        Ok((variables, over_variables(&roles.terms.terms, &numbers)))
    }

    fn add(&mut self, table: &Table, columns: &'c Columns, atom: &Atom) -> Result<usize, CsvError> {
        let is_factor = match atom {
            Atom::Column(name) => columns.data.get(name).is_some_and(|data| data.is_factor),
            Atom::Factor { .. } => true,
            Atom::Number(_) => false,
        };
        let (variable, values) = if is_factor {
            let Factor { variable, values } = factor(table, columns, atom)?;
            (variable, VariableValues::levels(values))
        } else {
            let expression = match atom {
                Atom::Number(expression) => expression.clone(),
                Atom::Column(name) | Atom::Factor { column: name, .. } => Expression::column(name),
            };
            let values = VariableValues::Numbers(evaluate(table, columns, &expression)?);
            (Variable::Number(expression), values)
        };
        if let Some(known) = self.list.iter().position(|known| *known == variable) {
            return Ok(known);
        }
        if let Variable::Factor { column, .. } = &variable {
            let is_same = |known: &Variable| matches!(known, Variable::Factor { column: other, .. } if other == column);
            if self.list.iter().any(is_same) {
                return Err(CsvError::FactorTwice { column: column.clone() });
            }
        }
        self.list.push(variable);
        self.values.push(values);
        Ok(self.list.len() - 1)
    }

    /// The columns of the terms.
    pub fn design(&self, terms: &[Vec<usize>], intercept: bool) -> Result<Vec<Drafted>, CsvError> {
        design(&self.list, terms, intercept)
    }

    pub fn name_of(&self, parts: &[Part]) -> String {
        name_of(&self.list, parts)
    }

    /// Keeps only what the columns are made of.
    pub fn keep_used(&mut self, columns: &mut [crate::Column]) {
        let used = keep_used(&mut self.list, columns.iter_mut().flat_map(|column| &mut column.parts));
        let mut keep = used.iter();
        self.values.retain(|_| keep.next().is_some_and(|used| *used));
    }
}

/// Terms over atoms as terms over variables, where atoms may be the same variable: each once, the shorter ones first.
pub(crate) fn over_variables(terms: &[Vec<usize>], variable_of: &[usize]) -> Vec<Vec<usize>> {
    let mut known = HashSet::new();
    let mut all: Vec<Vec<usize>> = Vec::new();
    for term in terms {
        let mut term: Vec<usize> = term.iter().map(|atom| variable_of[*atom]).collect();
        term.sort_unstable();
        term.dedup();
        if known.insert(term.clone()) {
            all.push(term);
        }
    }
    all.sort_by_key(Vec::len);
    all
}

/// Keeps only the variables that some part is of, and says which these are.
pub(crate) fn keep_used<'p>(list: &mut Vec<Variable>, parts: impl Iterator<Item = &'p mut Part>) -> Vec<bool> {
    let mut parts: Vec<&mut Part> = parts.collect();
    let mut used = vec![false; list.len()];
    parts.iter().for_each(|part| used[part.variable] = true);
    let before = |variable: usize| used[..variable].iter().filter(|used| **used).count();
    parts.iter_mut().for_each(|part| part.variable = before(part.variable));
    let mut keep = used.iter();
    list.retain(|_| keep.next().is_some_and(|used| *used));
    used
}

/// The columns of the terms, those of a factor's levels one after the other; of an interaction the first factor's levels
/// change fastest, as in R.
pub(crate) fn design(list: &[Variable], terms: &[Vec<usize>], intercept: bool) -> Result<Vec<Drafted>, CsvError> {
    let levels = |variable: usize| match list.get(variable) {
        Some(Variable::Factor { levels, .. }) => Some(levels.len()),
        _ => None,
    };
    let codings = codings(terms, intercept, &|variable| levels(variable).is_some());
    let mut design = Vec::new();
    for (term, full) in terms.iter().zip(codings) {
        // What each variable of the term may be.
        let choices: Vec<Vec<Part>> = term
            .iter()
            .zip(full)
            .map(|(variable, full)| match levels(*variable) {
                None => vec![Part { variable: *variable, level: None }],
                Some(count) => {
                    (usize::from(!full)..count).map(|level| Part { variable: *variable, level: Some(level) }).collect()
                }
            })
            .collect();
        if let Some((variable, _)) = term.iter().zip(&choices).find(|(_, choices)| choices.is_empty()) {
            design.push(Drafted::Single(list[*variable].needs().swap_remove(0)));
            continue;
        }
        let count = choices.iter().try_fold(1usize, |count, choices| count.checked_mul(choices.len()));
        let columns = count.and_then(|count| count.checked_add(design.len())).unwrap_or(usize::MAX);
        if term.len() > 1 && columns > MAX_COLUMNS {
            return Err(CsvError::TooManyColumns { columns, limit: MAX_COLUMNS });
        }
        for index in 0..count.unwrap_or_default() {
            let mut rest = index;
            let part = |choices: &Vec<Part>| {
                let part = choices[rest % choices.len()];
                rest /= choices.len();
                part
            };
            design.push(Drafted::Column(choices.iter().map(part).collect()));
        }
    }
    Ok(design)
}

/// The values of an expression in all rows that are kept.
pub(crate) fn evaluate<'c>(
    table: &Table,
    columns: &'c Columns,
    expression: &Expression,
) -> Result<Cow<'c, [f64]>, CsvError> {
    let numbers = |name: &str| columns.data.get(name).map_or(&[][..], |data| &data.numbers);
    if let Some(name) = expression.as_column() {
        return Ok(Cow::Borrowed(numbers(name)));
    }
    let names = expression.columns();
    let data: Vec<&[f64]> = names.iter().map(|name| numbers(name)).collect();
    let bound = expression.0.bind(&mut |name| names.iter().position(|known| known == name).unwrap_or_default());
    let value = |row: usize| {
        bound.value(&|column| data.get(*column).and_then(|numbers| numbers.get(row)).copied().unwrap_or(f64::NAN))
    };
    let values: Vec<f64> = (0..columns.users.len()).map(value).collect();
    if let Some(row) = values.iter().position(|value| !value.is_finite()) {
        let (line, value) = (columns.line_of(table, row)?, values[row]);
        return Err(CsvError::NotFinite { line, expression: expression.to_string(), value });
    }
    Ok(Cow::Owned(values))
}
