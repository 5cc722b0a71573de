//! From text to numbers and levels, column by column.

use sgq::problem::Loss;

use super::{CsvError, Features, Options, Records, Table};
use crate::names::Interner;

/// A column with more levels than this is hardly meant as one.
const MOST_LEVELS: usize = 1000;
/// One with more different numbers than this, and something else in at most a twentieth of its rows, is hardly meant to have
/// levels.
const MOST_NUMBERS: usize = 25;

/// Which column of the file is what.
pub(super) struct Roles {
    pub user: usize,
    pub target: usize,
    pub weight: Option<usize>,
    pub features: Vec<usize>,
}

impl Roles {
    pub fn find(table: &Table, options: &Options) -> Result<Self, CsvError> {
        let find = |name: &String| {
            let unknown = || CsvError::UnknownColumn { name: name.clone(), columns: table.names.clone() };
            table.position(name).ok_or_else(unknown)
        };
        let user = find(&options.user)?;
        let target = find(&options.target)?;
        let weight = options.weight.as_ref().map(find).transpose()?;
        let mut used = vec![None; table.names.len()];
        let mut claim = |position: usize, role: &'static str| match used[position].replace(role) {
            Some(first) => Err(CsvError::UsedTwice { name: table.names[position].clone(), first, second: role }),
            None => Ok(()),
        };
        claim(user, "the user")?;
        claim(target, "the target")?;
        if let Some(weight) = weight {
            claim(weight, "the weight")?;
        }
        let features = match &options.features {
            Features::Only(names) => {
                let features = names.iter().map(find).collect::<Result<Vec<_>, _>>()?;
                features.iter().try_for_each(|position| claim(*position, "a feature"))?;
                features
            }
            Features::All => (0..used.len()).filter(|position| used[*position].is_none()).collect(),
            Features::Except(names) => {
                let left_out = names.iter().map(find).collect::<Result<Vec<_>, _>>()?;
                let is_left = |position: &usize| used[*position].is_none() && !left_out.contains(position);
                (0..used.len()).filter(is_left).collect()
            }
        };
        if let Some(position) = features.iter().find(|position| table.names[**position].is_empty()) {
            return Err(CsvError::UnnamedColumn { position: position + 1 });
        }
        if features.is_empty() {
            return Err(CsvError::NoFeatures { columns: table.names.clone() });
        }
        Ok(Self { user, target, weight, features })
    }

    fn all(&self) -> impl Iterator<Item = usize> {
        [self.user, self.target].into_iter().chain(self.weight).chain(self.features.iter().copied())
    }
}

/// The values of a column, one for each row that is kept.
pub(super) enum Values {
    Numbers(Vec<f64>),
    /// Levels by number, and their names in order of first appearance.
    Levels(Vec<u32>, Vec<String>),
}

/// Everything in the file that is used.
pub(super) struct Columns {
    pub users: Vec<u32>,
    pub user_names: Vec<String>,
    pub target: Values,
    pub weights: Option<Vec<f64>>,
    pub features: Vec<Values>,
    pub dropped_rows: usize,
    pub rows_total: usize,
}

impl Columns {
    pub fn read(table: &Table, roles: &Roles, options: &Options) -> Result<Self, CsvError> {
        let mut missing = vec![0; table.names.len()];
        let mut kept = Vec::new();
        let mut user_names = Interner::default();
        let mut target_names = Interner::default();
        let (mut users, mut target_levels, mut target_numbers) = (Vec::new(), Vec::new(), Vec::new());
        let mut weights = roles.weight.map(|_| Vec::new());
        let mut features: Vec<Draft> = roles.features.iter().map(|position| Draft::new(*position)).collect();
        let mut records = table.records();
        while records.advance()? {
            let mut complete = true;
            for position in roles.all().filter(|position| records.is_missing(*position)) {
                missing[position] += 1;
                complete = false;
            }
            kept.push(complete);
            if !complete {
                continue;
            }
            users.push(user_names.code(records.text(roles.user)?));
            if options.loss == Loss::Logistic {
                target_levels.push(target_names.code(records.text(roles.target)?));
            } else {
                target_numbers.push(target_number(table, &records, roles.target, options.loss)?);
            }
            if let (Some(weights), Some(position)) = (&mut weights, roles.weight) {
                weights.push(weight(table, &records, position)?);
            }
            features.iter_mut().for_each(|draft| draft.add_number(&records));
        }
        let (rows_total, dropped_rows) = (kept.len(), kept.iter().filter(|kept| !**kept).count());
        if rows_total == 0 {
            return Err(CsvError::HeaderOnly);
        }
        if dropped_rows > 0 && (!options.drop_missing || dropped_rows == rows_total) {
            let counts = table.names.iter().cloned().zip(missing);
            let columns = counts.filter(|(_, count)| *count > 0).collect();
            return Err(match options.drop_missing {
                false => CsvError::Missing { rows: dropped_rows, rows_total, columns },
                true => CsvError::AllMissing { columns },
            });
        }
        let target = match options.loss {
            Loss::Logistic => Values::Levels(target_levels, target_names.into_names()),
            _ => Values::Numbers(target_numbers),
        };
        read_levels(table, &mut features, &kept)?;
        let features = features.into_iter().map(|draft| draft.finish(table)).collect::<Result<_, _>>()?;
        let user_names = user_names.into_names();
        Ok(Self { users, user_names, target, weights, features, dropped_rows, rows_total })
    }
}

/// A feature that is being read: numbers, until a value is none.
struct Draft {
    position: usize,
    numbers: Vec<f64>,
    /// The line and the text of the first value that is not a number: the column then has levels.
    text: Option<(usize, String)>,
    levels: Vec<u32>,
    names: Interner,
}

impl Draft {
    fn new(position: usize) -> Self {
        Self { position, numbers: Vec::new(), text: None, levels: Vec::new(), names: Interner::default() }
    }

    fn add_number(&mut self, records: &Records<'_>) {
        if self.text.is_some() {
            return;
        }
        match records.number(self.position) {
            Some(number) => self.numbers.push(number),
            None => {
                self.text = Some((records.line(), records.excerpt(self.position)));
                self.numbers = Vec::new();
            }
        }
    }

    fn add_level(&mut self, table: &Table, records: &Records<'_>) -> Result<(), CsvError> {
        let Some((line, value)) = &self.text else {
            return Ok(());
        };
        self.levels.push(self.names.code(records.text(self.position)?));
        if self.names.names().len() > MOST_LEVELS {
            let (column, limit) = (table.names[self.position].clone(), MOST_LEVELS);
            return Err(CsvError::TooManyLevels { column, limit, line: *line, value: value.clone() });
        }
        Ok(())
    }

    fn finish(self, table: &Table) -> Result<Values, CsvError> {
        let Some((line, value)) = self.text else {
            return Ok(Values::Numbers(self.numbers));
        };
        let names = self.names.into_names();
        let column = || table.names[self.position].clone();
        if names.iter().all(|name| name.replacen(',', ".", 1).parse::<f64>().is_ok()) && value.contains(',') {
            return Err(CsvError::DecimalCommas { column: column(), line, value });
        }
        let parsed: Vec<Option<f64>> = names.iter().map(|name| name.parse().ok()).collect();
        let is_finite = |number: &Option<f64>| number.is_some_and(f64::is_finite);
        let numbers = parsed.iter().filter(|number| is_finite(number)).count();
        let others = self.levels.iter().filter(|level| !is_finite(&parsed[**level as usize])).count();
        // Numbers all of them, though not finite ones; or all but a few.
        if parsed.iter().all(Option::is_some) || (numbers > MOST_NUMBERS && 20 * others <= self.levels.len()) {
            return Err(CsvError::AlmostNumeric { column: column(), numbers, line, value });
        }
        Ok(Values::Levels(self.levels, names))
    }
}

/// Reads the columns with levels a second time, since numbers among their values are levels too.
fn read_levels(table: &Table, drafts: &mut [Draft], kept: &[bool]) -> Result<(), CsvError> {
    if drafts.iter().all(|draft| draft.text.is_none()) {
        return Ok(());
    }
    let mut records = table.records();
    for kept in kept {
        records.advance()?;
        if *kept {
            drafts.iter_mut().try_for_each(|draft| draft.add_level(table, &records))?;
        }
    }
    Ok(())
}

fn target_number(table: &Table, records: &Records<'_>, position: usize, loss: Loss) -> Result<f64, CsvError> {
    let column = || table.names[position].clone();
    match records.number(position) {
        None => {
            let value = records.excerpt(position);
            Err(CsvError::NotANumber { line: records.line(), role: "target", column: column(), value })
        }
        Some(value) if loss == Loss::Poisson && value < 0.0 => {
            Err(CsvError::NegativeCount { line: records.line(), column: column(), value })
        }
        Some(value) => Ok(value),
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
