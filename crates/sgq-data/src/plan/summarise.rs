//! From a clinic's file to what it discloses first.

use std::io::Read;

use thiserror::Error;

use super::{
    LevelCount, Moments, PlanError, StudyPlan, Summary, TargetLevel, TargetSummary, VariableSummary, layout::Layout,
};
use crate::{
    Expression,
    csv::{Columns, CsvError, Options, Roles, Table, Values, distinct_levels, evaluate, target_numbers},
    encoding::Levels,
    formula::Atom,
    names::Interner,
};

/// Why a file has no summary.
#[derive(Debug, Error)]
#[allow(missing_docs)] // the message says what each field is
#[non_exhaustive]
pub enum SummaryError {
    #[error("{}", in_words(.0))]
    Data(CsvError),
    #[error(transparent)]
    Plan(#[from] PlanError),
    #[error("all weights are 0: give at least one row some weight")]
    NoWeight,
    #[error("the numbers cannot be summed up: {what}; correct them, or choose another unit")]
    Numbers { what: String },
}

impl<E: Into<CsvError>> From<E> for SummaryError {
    fn from(error: E) -> Self {
        Self::Data(error.into())
    }
}

/// A plan has no options: what is a factor is said in its formula.
fn in_words(error: &CsvError) -> String {
    let words = error.to_string();
    match error {
        CsvError::Mixed { .. } => {
            words.rsplit_once(", or --factors").map_or(words.clone(), |(words, _)| words.to_owned())
        }
        _ => words,
    }
}

impl Summary {
    /// What a clinic with these rows, a CSV file, plain or gzip, discloses first. All rows are of one user.
    pub fn of(reader: impl Read, plan: &StudyPlan) -> Result<Self, SummaryError> {
        plan.check()?;
        let table = Table::read(reader, None)?;
        let options = plan.reading();
        let roles = Roles::of_one_user(&table, &options)?;
        let layout = Layout::of(&plan.formula).map_err(|what| PlanError::Wrong { what })?;
        let columns = Columns::read(&table, &roles, &options)?;
        let rows = Rows::new(&table, &roles, &options, &columns)?;
        let mut variables: Vec<VariableSummary> = Vec::new();
        for atom in layout.atoms() {
            let variable = rows.variable(atom)?;
            if !variables.contains(&variable) {
                variables.push(variable);
            }
        }
        let counts = columns.missing_by_column.iter();
        let summary = Self {
            rows: rows.used.len() as u64,
            rows_missing: columns.dropped_rows() as u64,
            missing_by_column: counts.map(|(column, count)| (column.clone(), *count as u64)).collect(),
            weight: rows.weight(),
            variables,
            target: rows.target()?,
            offset: rows.offsets.as_ref().map(|offsets| Moments::of(&rows.pick(offsets))),
        };
        summary.check(plan).map_err(|what| SummaryError::Numbers { what })?;
        Ok(summary)
    }
}

/// The rows of a file in which nothing is missing.
struct Rows<'c> {
    table: &'c Table,
    roles: &'c Roles,
    options: &'c Options,
    columns: &'c Columns,
    /// Those with a positive weight.
    used: Vec<usize>,
    weights: Vec<f64>,
    offsets: Option<Vec<f64>>,
}

impl<'c> Rows<'c> {
    fn new(
        table: &'c Table,
        roles: &'c Roles,
        options: &'c Options,
        columns: &'c Columns,
    ) -> Result<Self, SummaryError> {
        let count = columns.users.len();
        let weights = columns.weights.clone().unwrap_or_else(|| vec![1.0; count]);
        let used: Vec<usize> = (0..count).filter(|row| weights[*row] > 0.0).collect();
        if used.is_empty() {
            return Err(SummaryError::NoWeight);
        }
        let offsets = roles.offset.as_ref().map(|offset| evaluate(table, columns, offset)).transpose()?;
        let offsets = offsets.map(|offsets| offsets.into_owned());
        Ok(Self { table, roles, options, columns, used, weights, offsets })
    }

    fn pick(&self, values: &[f64]) -> Vec<f64> {
        self.used.iter().map(|row| values[*row]).collect()
    }

    fn weight(&self) -> f64 {
        self.used.iter().map(|row| self.weights[*row]).sum()
    }

    fn weighted_mean(&self, of: impl Fn(usize) -> f64) -> f64 {
        self.used.iter().map(|row| self.weights[*row] * of(*row)).sum::<f64>() / self.weight()
    }

    fn offset(&self, row: usize) -> f64 {
        self.offsets.as_ref().map_or(0.0, |offsets| offsets[row])
    }

    fn variable(&self, atom: &Atom) -> Result<VariableSummary, SummaryError> {
        let is_factor = match atom {
            Atom::Column(name) => self.columns.data.get(name).is_some_and(|data| data.is_factor),
            Atom::Factor { .. } => true,
            Atom::Number(_) => false,
        };
        let expression = match atom {
            Atom::Number(expression) => expression.clone(),
            Atom::Column(name) | Atom::Factor { column: name, .. } if !is_factor => Expression::column(name),
            Atom::Column(column) => return self.factor(column, None),
            Atom::Factor { column, levels, .. } => return self.factor(column, levels.as_deref()),
        };
        let values = evaluate(self.table, self.columns, &expression)?;
        Ok(VariableSummary::Number { of: expression, moments: Moments::of(&self.pick(&values)) })
    }

    fn factor(&self, column: &str, declared: Option<&[String]>) -> Result<VariableSummary, SummaryError> {
        // A column that is used as a factor was read as one.
        let (names, texts) =
            self.columns.data.get(column).map_or((&[][..], &[][..]), |data| (&*data.names, &*data.levels));
        if let Some(declared) = declared {
            let levels = Levels::new(declared);
            let known: Vec<bool> = names.iter().map(|name| levels.find(name).is_some()).collect();
            if let Some(row) = texts.iter().position(|text| !known[*text as usize]) {
                let (line, value) = (self.columns.line_of(self.table, row)?, names[texts[row] as usize].clone());
                let known = declared.to_vec();
                return Err(CsvError::UnknownLevel { line, column: column.to_owned(), value, known }.into());
            }
        }
        let mut counts = vec![0; names.len()];
        self.used.iter().for_each(|row| counts[texts[*row] as usize] += 1);
        let levels = names.iter().zip(counts).map(|(name, rows)| LevelCount { level: name.clone(), rows });
        let mut levels: Vec<LevelCount> = levels.collect();
        // Not in the order of the rows, which is nobody's business.
        levels.sort_by(|one, other| one.level.cmp(&other.level));
        Ok(VariableSummary::Factor { of: column.to_owned(), levels })
    }

    fn target(&self) -> Result<TargetSummary, SummaryError> {
        use crate::glm::Family;

        let family = Family::from(self.options.loss);
        if let (Values::Levels(each, names), Some(_)) = (&self.columns.target, self.roles.target) {
            return self.target_levels(each, names);
        }
        let numbers = target_numbers(self.table, self.columns, self.roles, self.options)?;
        Ok(match family {
            Family::Binomial => {
                let mut names = Interner::default();
                let each: Vec<u32> = numbers.iter().map(|number| names.code(&number.to_string())).collect();
                return self.target_levels(&each, names.names());
            }
            Family::Gaussian | Family::Huber { .. } => {
                let off: Vec<f64> = (0..numbers.len()).map(|row| numbers[row] - self.offset(row)).collect();
                let moments = Moments::of(&self.pick(&off));
                TargetSummary::Number { moments, weighted_mean: self.weighted_mean(|row| off[row]) }
            }
            Family::Poisson | Family::NegativeBinomial { .. } => TargetSummary::Count {
                mean: self.weighted_mean(|row| numbers[row]),
                exposure: self.weighted_mean(|row| self.offset(row).exp()),
            },
            Family::Gamma => {
                TargetSummary::Positive { mean: self.weighted_mean(|row| numbers[row] * (-self.offset(row)).exp()) }
            }
        })
    }

    fn target_levels(&self, each: &[u32], names: &[String]) -> Result<TargetSummary, SummaryError> {
        let (distinct, _) = distinct_levels(names);
        if distinct.len() > 2 {
            let column = self.roles.response.to_string();
            let levels = distinct.into_iter().map(|level| names[level].clone()).collect();
            return Err(CsvError::Classes { column, levels }.into());
        }
        let level = |(index, name): (usize, &String)| {
            let here = || self.used.iter().filter(|row| each[**row] as usize == index);
            let weight = here().map(|row| self.weights[*row]).sum();
            TargetLevel { level: name.clone(), rows: here().count() as u64, weight }
        };
        let mut levels: Vec<TargetLevel> = names.iter().enumerate().map(level).collect();
        levels.sort_by(|one, other| one.level.cmp(&other.level));
        Ok(TargetSummary::Levels { levels, offset: self.weighted_mean(|row| self.offset(row)) })
    }
}

impl Moments {
    fn of(values: &[f64]) -> Self {
        let first = values.first().copied().unwrap_or(f64::NAN);
        if values.iter().all(|value| *value == first) {
            return Self { mean: first, deviation: 0.0 };
        }
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
        Self { mean, deviation: (squares / count).sqrt() }
    }
}
