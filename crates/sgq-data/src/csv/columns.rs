//! From text to numbers and levels, column by column.

use std::collections::HashMap;

use super::{CsvError, Options, Records, Table, TargetKind, roles::Roles, roles::Use};
use crate::names::Interner;

/// A column with more levels than this is hardly meant as one.
pub(crate) const MOST_LEVELS: usize = 1000;

/// The values of a target, one for each row that is kept.
pub(crate) enum Values {
    Numbers(Vec<f64>),
    /// Levels by number, and their names in order of first appearance.
    Levels(Vec<u32>, Vec<String>),
}

/// Everything in the file that is used.
pub(crate) struct Columns {
    pub users: Vec<u32>,
    pub user_names: Vec<String>,
    /// The target, where it is a column as it is.
    pub target: Values,
    pub weights: Option<Vec<f64>>,
    /// What the columns have by name that are features, or in an expression.
    pub data: HashMap<String, Data>,
    pub kept: Vec<bool>,
    pub missing_by_column: Vec<(String, usize)>,
}

/// The values of a column, in the ways that they are used.
pub(crate) struct Data {
    /// Whether it is a factor where nothing else is said.
    pub is_factor: bool,
    pub numbers: Vec<f64>,
    pub levels: Vec<u32>,
    /// The levels in order of first appearance.
    pub names: Vec<String>,
}

impl Columns {
    pub fn read(table: &Table, roles: &Roles, options: &Options) -> Result<Self, CsvError> {
        let mut missing = vec![0; table.names.len()];
        let mut kept = Vec::new();
        let mut user_names = Interner::default();
        let mut target_names = Interner::default();
        let (mut users, mut target_levels, mut target_numbers) = (Vec::new(), Vec::new(), Vec::new());
        let mut weights = roles.weight.map(|_| Vec::new());
        let used = roles.uses.iter().enumerate().filter(|(_, used)| used.is_any());
        let mut drafts: Vec<Draft<'_>> = used.map(|(position, used)| Draft::new(position, used)).collect();
        let kind = TargetKind::from(options.loss);
        let all = roles.all();
        let mut records = table.records();
        while records.advance()? {
            let mut complete = true;
            for position in all.iter().filter(|position| records.is_missing(**position)) {
                missing[*position] += 1;
                complete = false;
            }
            kept.push(complete);
            if !complete {
                continue;
            }
            users.push(roles.user.map_or(Ok(0), |user| records.text(user).map(|name| user_names.code(name)))?);
            match (kind, roles.target) {
                (_, None) => {}
                (TargetKind::Levels, Some(target)) => target_levels.push(target_names.code(records.text(target)?)),
                (_, Some(target)) => target_numbers.push(target_number(table, &records, target, kind)?),
            }
            if let (Some(weights), Some(position)) = (&mut weights, roles.weight) {
                weights.push(weight(table, &records, position)?);
            }
            drafts.iter_mut().try_for_each(|draft| draft.add(table, &records))?;
        }
        let (rows_total, dropped_rows) = (kept.len(), kept.iter().filter(|kept| !**kept).count());
        if rows_total == 0 {
            return Err(CsvError::HeaderOnly);
        }
        let counts = table.names.iter().cloned().zip(missing);
        let missing_by_column: Vec<(String, usize)> = counts.filter(|(_, count)| *count > 0).collect();
        if dropped_rows > 0 && (!options.drop_missing || dropped_rows == rows_total) {
            let columns = missing_by_column;
            return Err(match options.drop_missing {
                false => CsvError::Missing { rows: dropped_rows, rows_total, columns },
                true => CsvError::AllMissing { columns },
            });
        }
        let target = match kind {
            TargetKind::Levels => Values::Levels(target_levels, target_names.into_names()),
            _ => Values::Numbers(target_numbers),
        };
        let named = |draft: Draft<'_>| Ok((table.names[draft.position].clone(), draft.finish(table)?));
        let data = drafts.into_iter().map(named).collect::<Result<_, CsvError>>()?;
        let user_names = user_names.into_names();
        Ok(Self { users, user_names, target, weights, data, kept, missing_by_column })
    }

    pub fn dropped_rows(&self) -> usize {
        self.kept.iter().filter(|kept| !**kept).count()
    }

    /// The line of a row, counted among those that are kept. The file is read once more, since something is wrong there.
    pub fn line_of(&self, table: &Table, row: usize) -> Result<usize, CsvError> {
        let mut records = table.records();
        let mut before = row;
        for kept in &self.kept {
            records.advance()?;
            if *kept && before == 0 {
                break;
            }
            before -= usize::from(*kept);
        }
        Ok(records.line())
    }
}

/// A column that is being read.
struct Draft<'r> {
    position: usize,
    used: &'r Use,
    numbers: Vec<f64>,
    /// How many of the values are numbers, and how many are not.
    counts: [usize; 2],
    /// The line and the text of the first number, and of the first value that is none.
    firsts: [Option<(usize, String)>; 2],
    levels: Vec<u32>,
    names: Interner,
}

/// Places in [`Draft::counts`] and [`Draft::firsts`].
const NUMBERS: usize = 0;
const OTHERS: usize = 1;

impl<'r> Draft<'r> {
    fn new(position: usize, used: &'r Use) -> Self {
        Self {
            position,
            used,
            numbers: Vec::new(),
            counts: [0; 2],
            firsts: [None, None],
            levels: Vec::new(),
            names: Interner::default(),
        }
    }

    /// Whether the values look like what the column is.
    fn is_auto(&self) -> bool {
        self.used.auto && !self.used.declared
    }

    fn add(&mut self, table: &Table, records: &Records<'_>) -> Result<(), CsvError> {
        let number = records.number(self.position);
        let which = if number.is_some() { NUMBERS } else { OTHERS };
        if self.firsts[which].is_none() {
            self.firsts[which] = Some((records.line(), records.excerpt(self.position)));
        }
        self.counts[which] += 1;
        match (number, &self.used.number) {
            (Some(number), _) if self.counts[OTHERS] == 0 => self.numbers.push(number),
            (None, Some(expression)) => {
                let (column, value) = (table.names[self.position].clone(), records.excerpt(self.position));
                let expression = expression.clone();
                return Err(CsvError::NotANumberIn { line: records.line(), column, value, expression });
            }
            _ => {}
        }
        if self.used.factor || (self.is_auto() && self.counts[NUMBERS] == 0) {
            self.add_level(table, records)?;
        }
        Ok(())
    }

    fn add_level(&mut self, table: &Table, records: &Records<'_>) -> Result<(), CsvError> {
        self.levels.push(self.names.code(records.text(self.position)?));
        if self.names.names().len() > MOST_LEVELS {
            let (column, limit) = (table.names[self.position].clone(), MOST_LEVELS);
            let (line, value) = (records.line(), records.excerpt(self.position));
            return Err(CsvError::TooManyLevels { column, limit, line, value });
        }
        Ok(())
    }

    fn finish(self, table: &Table) -> Result<Data, CsvError> {
        let is_auto = self.is_auto();
        let is_factor = if is_auto { self.counts[NUMBERS] == 0 } else { self.used.factor };
        if is_auto && self.counts[OTHERS] > 0 {
            self.check_text(table)?;
        }
        Ok(Data { is_factor, numbers: self.numbers, levels: self.levels, names: self.names.into_names() })
    }

    /// A column that nobody declared to be a factor has text in all rows, and no numbers that are written otherwise.
    fn check_text(&self, table: &Table) -> Result<(), CsvError> {
        let column = || table.names[self.position].clone();
        let [numbers, others] = self.counts;
        if let Some((line, value)) = &self.firsts[OTHERS] {
            let is_comma = |name: &str| name.contains(',') && name.replacen(',', ".", 1).parse::<f64>().is_ok();
            let all_commas = self.names.names().iter().all(|name| name.parse::<f64>().is_ok() || is_comma(name));
            if is_comma(value) && all_commas {
                return Err(CsvError::DecimalCommas { column: column(), line: *line, value: value.clone() });
            }
        }
        let infinite = self.names.names().iter().all(|name| name.parse::<f64>().is_ok());
        if numbers == 0 && !infinite {
            return Ok(());
        }
        // The slip is among the fewer ones.
        let is_number = numbers < others && numbers > 0;
        let first = &self.firsts[if is_number { NUMBERS } else { OTHERS }];
        let (line, value) = first.clone().unwrap_or_default();
        Err(CsvError::Mixed { column: column(), numbers, others, line, value, is_number })
    }
}

fn target_number(table: &Table, records: &Records<'_>, position: usize, kind: TargetKind) -> Result<f64, CsvError> {
    let column = || table.names[position].clone();
    match records.number(position) {
        None => {
            let value = records.excerpt(position);
            Err(CsvError::NotANumber { line: records.line(), role: "target", column: column(), value })
        }
        Some(value) => match kind {
            TargetKind::Count if value < 0.0 => {
                Err(CsvError::NegativeCount { line: records.line(), column: column(), value })
            }
            TargetKind::Positive if value <= 0.0 => {
                Err(CsvError::NotPositive { line: records.line(), target: column(), value })
            }
            _ => Ok(value),
        },
    }
}

fn weight(table: &Table, records: &Records<'_>, position: usize) -> Result<f64, CsvError> {
    let column = || table.names[position].clone();
    match records.number(position) {
        None => {
            let value = records.excerpt(position);
            Err(CsvError::NotANumber { line: records.line(), role: "weight", column: column(), value })
        }
        Some(value) if value < 0.0 => Err(CsvError::NegativeWeight { line: records.line(), column: column(), value }),
        Some(value) => Ok(value),
    }
}
