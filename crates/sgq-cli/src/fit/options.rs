//! What can be asked of a fit, and what can be wrong with it.

use std::{
    path::{Path, PathBuf},
    str::FromStr,
};

use serde::Serialize;
use sgq::{Detail, Format, Method, SettingError, Storage, method::METHODS, problem::Regression, setting::Value};
use sgq_bench::experiment::{MAX_BUDGET, suggestion};
use sgq_data::{
    Dataset, Encoding, Expression, Formula, FormulaError, InFile,
    csv::{self, CsvError, Features, Options},
    glm::{ChosenFamily, Family, Precision, Weigh},
};
use thiserror::Error;

use super::step::StepRule;

/// What is fitted.
#[derive(clap::Args, Serialize)]
pub struct DataOptions {
    /// The column that says whose row it is
    #[arg(long, value_name = "COLUMN")]
    pub user: String,
    /// The model as in R, such as "died ~ age + sex * ward + offset(log(days))"
    #[arg(long, value_name = "FORMULA", value_parser = parse_formula, conflicts_with_all = ["target", "features", "exclude", "factors"])]
    #[serde(skip_serializing_if = "Option::is_none")]
    formula: Option<Formula>,
    /// The column to predict, in place of a formula
    #[arg(long, value_name = "COLUMN", required_unless_present = "formula")]
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<String>,
    /// gaussian, binomial, poisson, negbin:THETA, gamma, huber or huber:DELTA (in standard deviations of the target; 1.345 where none
    /// is given) [default: binomial where the target has two levels, else gaussian]
    #[arg(long, alias = "loss", value_name = "FAMILY")]
    family: Option<Family>,
    /// The columns to predict from, with commas between [default: all others]
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',', conflicts_with = "exclude")]
    features: Option<Vec<String>>,
    /// Columns to leave out, with commas between
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    exclude: Option<Vec<String>>,
    /// Columns that are factors, though they have numbers, with commas between; text is a factor as it is
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    #[serde(skip_serializing_if = "Option::is_none")]
    factors: Option<Vec<String>>,
    /// A column that says how much each row counts: R's prior weights
    #[arg(long, value_name = "COLUMN")]
    weight: Option<String>,
    /// What counts the same: rows, as in a regression on all rows in one place; or users, however many rows each has
    #[arg(long, alias = "weights", value_name = "WHAT", default_value = "rows")]
    pub weigh: Weigh,
    /// Refuse rows in which a value is missing, instead of leaving them out
    #[arg(long)]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    refuse_missing: bool,
    /// Give the method the columns, and a numeric target, as they are; coefficients are those of the columns as they are in any case
    #[arg(long)]
    pub no_standardise: bool,
    /// The penalty λ in λ/2 ‖β‖² on the mean loss, on every standardised coefficient but the intercept
    #[arg(long, value_name = "λ", default_value_t = 0.0, value_parser = parse_penalty)]
    pub l2: f64,
    /// What stands between two values: one character, or tab [default: told from the header]
    #[arg(long, value_name = "C", value_parser = parse_delimiter)]
    delimiter: Option<u8>,
}

/// More questions than this are not out at once.
const MAX_OPEN: usize = 1_000_000;

/// How to ask.
#[derive(clap::Args, Serialize)]
pub struct MethodOptions {
    /// Any name that `sgq methods` lists [default: frugal; saga where more than 100,000 users are asked]
    #[arg(long, value_name = "NAME")]
    method: Option<String>,
    /// A number; auto, the method's own default; or theory, the largest that the method's theorem allows
    #[arg(long, value_name = "SIZE", default_value = "auto")]
    pub step_size: StepRule,
    /// Stop after that many queries [default: 500, or 10 for each user where that is more]
    #[arg(long, value_name = "N", value_parser = parse_budget)]
    pub budget: Option<u64>,
    /// Stop before all answers together hold more numbers than this: a gradient holds one for each coefficient
    #[arg(long, value_name = "N", value_parser = parse_budget)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub numbers_budget: Option<u64>,
    /// How many questions may be out at once; answers are used in the order of the questions
    #[arg(long, value_name = "K", default_value_t = 1, value_parser = parse_open)]
    #[serde(skip_serializing_if = "is_one")]
    pub open: usize,
    /// How much users are asked to say, at most: gradient, loss (the gradient and the loss) or hessian (all three); they send
    /// what is of use to the method, and every number sent is counted
    #[arg(long, value_name = "WHAT", default_value = "gradient", value_parser = parse_answers)]
    #[serde(skip_serializing_if = "is_gradient")]
    pub answers: Detail,
    /// Stop once every coefficient is believed to be within so many standard errors of that of the finished fit
    /// [default: 0.01, where the method can tell and there is no other rule to stop by]
    #[arg(long, value_name = "ERRORS", value_parser = parse_positive, conflicts_with_all = ["tol", "certified_gap", "target_gap"])]
    #[serde(skip_serializing_if = "Option::is_none")]
    precision: Option<f64>,
    /// Stop once so small a part of the gap at the start is believed to remain, by the method's own estimate; or off
    #[arg(long, value_name = "PART")]
    #[serde(skip_serializing_if = "Option::is_none")]
    tol: Option<Tolerance>,
    /// Stop once the gap is proven to be at most this, in the objective's own units and not as a part; needs the gaussian family, or a
    /// formula without an intercept and a penalty
    #[arg(long, value_name = "GAP", value_parser = parse_positive)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certified_gap: Option<f64>,
    /// Stop once the gap is this part of the gap at the start, such as 0.01 (diagnostic: a real run cannot see it)
    #[arg(long, value_name = "PART", value_parser = parse_positive)]
    pub target_gap: Option<f64>,
    /// The probability of asking a user at random, for sgq and saga-sgq [default: 0.3]
    #[arg(long, value_name = "P")]
    p: Option<f64>,
    /// A setting of the method that `sgq methods` lists, such as lazy=true; may be given several times
    #[arg(long, value_name = "NAME=VALUE", value_parser = parse_setting)]
    pub set: Vec<NewSetting>,
    /// How to keep the table of last gradients: f64, f32 (half the room, rounded), sparse (only the numbers that are not
    /// zero) or scalars (one number a user, where each user has one row) [default: f64]
    #[arg(long, value_name = "FORMAT")]
    pub table: Option<TableFormat>,
    /// Keep the table in a file in this folder [default: in memory, or where it does not fit a file in the temporary folder]
    #[arg(long, value_name = "DIR")]
    #[serde(skip)]
    pub table_folder: Option<PathBuf>,
    /// Seed of all randomness
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
}

/// When to stop by what is believed to remain.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Tolerance {
    Part(f64),
    Off,
}

impl FromStr for Tolerance {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let part = || parse_positive(text).map(Self::Part).map_err(|_| "expected a positive number, or off".to_owned());
        if text == "off" { Ok(Self::Off) } else { part() }
    }
}

/// A setting of a method, and what it is to be.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NewSetting {
    pub name: String,
    pub value: String,
}

impl NewSetting {
    fn change(&self, method: &mut Method) -> Result<(), FitError> {
        let wrong =
            |expected| FitError::SettingValue { name: self.name.clone(), value: self.value.clone(), kind: expected };
        let known = method.settings();
        let Some(setting) = known.iter().find(|setting| setting.name == self.name) else {
            let hint = match known.is_empty() {
                true => "; it has none".to_owned(),
                false => suggestion(&self.name, known.iter().map(|setting| setting.name)),
            };
            return Err(FitError::NoSetting { method: method.name().to_owned(), name: self.name.clone(), hint });
        };
        let value = Value::parse(&self.value).ok_or_else(|| wrong(setting.expected))?;
        method.set(&self.name, value).map_err(|error| match error {
            SettingError::Kind { expected, .. } => wrong(expected),
            error => error.into(),
        })
    }
}

/// What is kept of each last gradient.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, Serialize)]
#[value(rename_all = "lower")]
#[serde(rename_all = "lowercase")]
pub enum TableFormat {
    F64,
    F32,
    Sparse,
    Scalars,
}

impl DataOptions {
    /// Reads the file for the family that was asked for, or that the target's levels tell.
    pub fn read(&self, file: &Path) -> Result<(Dataset, ChosenFamily), FitError> {
        let read = |options: &Options| csv::read(file, options);
        ChosenFamily::read(self.family, &self.reading(), read).map_err(|error| match error.error {
            CsvError::NotANumber { role: "target", .. } if self.family.is_none() => FitError::TextTarget { error },
            _ => FitError::of_data(error),
        })
    }

    fn reading(&self) -> Options {
        let features = match (&self.formula, &self.features, &self.exclude) {
            (Some(formula), ..) => Features::Formula(formula.clone()),
            (None, Some(names), _) => Features::Only(names.clone()),
            (None, None, Some(names)) => Features::Except(names.clone()),
            (None, None, None) => Features::All,
        };
        Options {
            features,
            factors: self.factors.clone().unwrap_or_default(),
            weight: self.weight.clone(),
            drop_missing: !self.refuse_missing,
            standardise: !self.no_standardise,
            delimiter: self.delimiter,
            ..Options::new(&self.user, self.target.as_deref().unwrap_or_default())
        }
    }

    /// What is predicted, and from what: a formula where there was one.
    pub fn in_words(&self, encoding: &Encoding) -> String {
        match &self.formula {
            Some(formula) => formula.to_string(),
            None => {
                let names = encoding.variables().iter().flat_map(sgq_data::Variable::needs);
                let columns: Vec<String> = names.map(|name| Expression::column(name).to_string()).collect();
                format!("{} ~ {}", encoding.response(), columns.join(" + "))
            }
        }
    }
}

/// The method of a name, or the default where so many users are asked, with its settings as asked for.
pub fn choose_method(name: Option<&str>, asked: u64, set: &[NewSetting]) -> Result<Method, FitError> {
    let mut method = match name {
        Some(name) => Method::by_name(name).map_err(|_| FitError::UnknownMethod { name: name.to_owned() })?,
        None => Method::default_for(asked),
    };
    set.iter().try_for_each(|setting| setting.change(&mut method))?;
    Ok(method)
}

impl MethodOptions {
    /// The method where at most so many users are asked, with its exploration probability and its settings as asked for.
    pub fn choose(&self, asked: u64) -> Result<Method, FitError> {
        let mut method = choose_method(self.method.as_deref(), asked, &[])?;
        if let Some(p) = self.p {
            method.set("p", Value::Number(p)).map_err(|error| match error {
                SettingError::Unknown { method, .. } => FitError::NoExploration { method: method.into() },
                error => error.into(),
            })?;
        }
        self.set.iter().try_for_each(|setting| setting.change(&mut method))?;
        Ok(method)
    }

    /// The tolerance, where there is one. One that was asked for is refused by the session where the method cannot tell.
    pub fn tolerance(&self, method: &Method) -> Option<f64> {
        match self.tol {
            Some(Tolerance::Part(part)) => Some(part),
            Some(Tolerance::Off) => None,
            // Whoever gives a gap to stop at has said when to stop.
            None if self.target_gap.is_some() || self.certified_gap.is_some() => None,
            // A method that cannot tell is refused where a precision was asked for.
            None => method.default_tolerance().or(self.precision.map(|_| Precision::FIRST_TOLERANCE)),
        }
    }

    /// How many standard errors a coefficient may be off, where the run is to stop by that.
    pub fn precision(&self, method: &Method) -> Option<f64> {
        let stops_otherwise = self.tol.is_some() || self.target_gap.is_some() || self.certified_gap.is_some();
        let can_tell = method.default_tolerance().is_some();
        (!stops_otherwise && can_tell).then(|| self.precision.unwrap_or(Precision::DEFAULT))
    }

    /// How to keep the table of a method on a problem.
    pub fn storage(&self, method: &Method, problem: &Regression) -> Result<Storage, FitError> {
        if (self.table.is_some() || self.table_folder.is_some()) && !method.keeps_table() {
            return Err(FitError::NoTable { method: method.name().to_owned() });
        }
        let storage = match self.table.unwrap_or(TableFormat::F64) {
            TableFormat::F64 => Format::F64.into(),
            TableFormat::F32 => Format::F32.into(),
            TableFormat::Sparse => problem.sparse_storage(),
            TableFormat::Scalars => problem.scalar_storage().ok_or_else(|| {
                let one_each = problem.rows_per_user().all(|rows| rows == 1);
                if one_each { FitError::UnequalPenalties } else { FitError::SeveralRows }
            })?,
        };
        Ok(match &self.table_folder {
            Some(folder) => storage.in_folder(folder),
            None => storage,
        })
    }
}

pub fn parse_formula(text: &str) -> Result<Formula, String> {
    // The caret stands under the text, which the parser shows on lines of its own.
    text.parse().map_err(|error: FormulaError| format!("\n{error}"))
}

pub fn parse_penalty(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number: &f64| *number >= 0.0 && number.is_finite());
    number.ok_or_else(|| "expected a number that is not negative".to_owned())
}

pub fn parse_positive(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number: &f64| *number > 0.0 && number.is_finite());
    number.ok_or_else(|| "expected a positive number".to_owned())
}

pub fn parse_setting(text: &str) -> Result<NewSetting, String> {
    let (name, value) = text.split_once('=').ok_or("expected a name and a value, such as lazy=true")?;
    Ok(NewSetting { name: name.trim().to_owned(), value: value.trim().to_owned() })
}

pub fn parse_budget(text: &str) -> Result<u64, String> {
    let queries = text.parse().ok().filter(|queries| (1..=MAX_BUDGET).contains(queries));
    queries.ok_or_else(|| format!("expected a whole number from 1 to {MAX_BUDGET}"))
}

pub fn parse_open(text: &str) -> Result<usize, String> {
    let questions = text.parse().ok().filter(|questions| (1..=MAX_OPEN).contains(questions));
    questions.ok_or_else(|| format!("expected a whole number from 1 to {MAX_OPEN}"))
}

pub fn parse_answers(text: &str) -> Result<Detail, String> {
    let words = || Detail::ALL.iter().map(|detail| (detail, detail.to_string()));
    let found = words().find(|(_, word)| *word == text.to_lowercase());
    found.map(|(detail, _)| *detail).ok_or_else(|| "expected gradient, loss or hessian".to_owned())
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde passes it so
fn is_one(open: &usize) -> bool {
    *open == 1
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde passes it so
fn is_gradient(answers: &Detail) -> bool {
    *answers == Detail::Gradient
}

fn parse_delimiter(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        b"tab" | b"\\t" => Ok(b'\t'),
        [one] if one.is_ascii() && !one.is_ascii_alphanumeric() && !b"\"\r\n".contains(one) => Ok(*one),
        _ => Err("expected one character that is no letter, digit or quote, or `tab`".to_owned()),
    }
}

/// What the options of other commands are read by as well.
pub mod parse {
    pub use super::{
        parse_answers, parse_budget, parse_formula, parse_open, parse_penalty, parse_positive, parse_setting,
    };
}

/// Why there is no fit. Nobody was asked anything.
#[derive(Debug, Error)]
pub enum FitError {
    #[error("there is no method {name:?}{}", suggestion(.name, METHODS.iter().map(|method| method.name)))]
    UnknownMethod { name: String },
    #[error("{method} has no step size: leave out --step-size, or name another --method")]
    OwnStep { method: String },
    #[error("{method} has no setting {name:?}{hint}")]
    NoSetting { method: String, name: String, hint: String },
    #[error("--set {name}={value}: it must be {kind}")]
    SettingValue { name: String, value: String, kind: &'static str },
    #[error("{method} takes no p: leave out --p, or take --method sgq or saga-sgq")]
    NoExploration { method: String },
    #[error(transparent)]
    Setting(#[from] SettingError),
    #[error(transparent)]
    Data(InFile<CsvError>),
    #[error("{}", .error.to_string().replace("have those rows left out", "leave out --refuse-missing"))]
    Missing { error: InFile<CsvError> },
    #[error(
        "{error}; a target with more than two levels must be numeric: correct that value, or choose another target"
    )]
    TextTarget { error: InFile<CsvError> },
    #[error(
        "{method} keeps no table of last gradients: leave out --table and --table-folder, or name another --method"
    )]
    NoTable { method: String },
    #[error("--table scalars needs users with one row each, and some have several: take f32, or sparse where rows are")]
    SeveralRows,
    #[error("--table scalars needs users that count the same, or no penalty: take --l2 0 or another --table")]
    UnequalPenalties,
    #[error("{}", super::proof::NO_CONSTANT)]
    NoProof,
    #[error("the start is optimal already, so there is no gap to reach a part of: leave out --target-gap")]
    NothingToGain,
}

impl FitError {
    /// What is wrong with the data, with the remedy in this command's words.
    fn of_data(error: InFile<CsvError>) -> Self {
        match error.error {
            CsvError::Missing { .. } => Self::Missing { error },
            _ => Self::Data(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn penalties_are_not_negative() {
        assert_eq!([parse_penalty("0"), parse_penalty("0.01")], [Ok(0.0), Ok(0.01)]);
        assert!(["-1", "NaN", "inf", "", "much"].map(parse_penalty).iter().all(Result::is_err));
    }

    #[test]
    fn delimiters_are_one_character() {
        assert_eq!([";", "tab", "\\t", "|"].map(parse_delimiter), [Ok(b';'), Ok(b'\t'), Ok(b'\t'), Ok(b'|')]);
        assert!(["", ";;", "é", "a", "\"", "7"].map(parse_delimiter).iter().all(Result::is_err));
    }
}
