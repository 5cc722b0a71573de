//! CSV files: one row an observation, one column the user it belongs to.

mod build;
mod columns;
mod error;
mod factor;
mod roles;
mod table;
mod target;
mod variables;

use std::{io::Read, path::Path};

use sgq::problem::Loss;

use crate::{Dataset, Formula, InFile, file::with_file};

pub use error::CsvError;
pub use table::TableError;

pub(crate) use columns::{Columns, MOST_LEVELS, Values};
pub(crate) use factor::sorted;
pub(crate) use roles::Roles;
pub(crate) use table::{Records, Table};
pub(crate) use target::{distinct_levels, numbers as target_numbers};
pub(crate) use variables::{Drafted, design, evaluate, keep_used, over_variables};

/// Which columns are what, and how they are read.
///
/// ```
/// use sgq::problem::Loss;
/// use sgq_data::csv::{Features, Options};
///
/// let options = Options {
///     features: Features::Except(vec!["id".into()]),
///     loss: Loss::Logistic,
///     drop_missing: true,
///     ..Options::new("hospital", "died")
/// };
/// assert!(options.standardise);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// The column that says whose row it is.
    pub user: String,
    /// The column that is to be predicted; empty where a formula says it.
    pub target: String,
    /// What to predict it from.
    pub features: Features,
    /// Columns that are factors though they have numbers, or numbers among other levels. All others are factors where they
    /// are text in every row, or where a formula declares them.
    pub factors: Vec<String>,
    /// Columns that are text whatever their values look like, and so factors where they are features. Those that are not used, or used
    /// otherwise, are not looked at.
    pub text_columns: Vec<String>,
    /// A column that says how much each row counts within its user.
    pub weight: Option<String>,
    /// Leaves out rows in which a value is missing; otherwise a missing value is an error.
    pub drop_missing: bool,
    /// Leaves out features that are the same in every row that is kept; otherwise such a feature is an error.
    pub drop_constant: bool,
    /// Brings every feature, and the target where the loss is squares or Huber's, to mean 0 and standard deviation 1.
    /// Huber's `delta` is then in standard deviations of the target.
    pub standardise: bool,
    /// The loss, which says what the target must be.
    pub loss: Loss,
    /// What stands between two values; none to tell it from the header: a comma, a semicolon or a tab.
    pub delimiter: Option<u8>,
}

impl Options {
    /// All other columns are features, standardised; squares; nothing may be missing.
    pub fn new(user: impl Into<String>, target: impl Into<String>) -> Self {
        Self {
            user: user.into(),
            target: target.into(),
            features: Features::All,
            factors: Vec::new(),
            text_columns: Vec::new(),
            weight: None,
            drop_missing: false,
            drop_constant: false,
            standardise: true,
            loss: Loss::Squares,
            delimiter: None,
        }
    }

    /// What the formula says, standardised; squares; nothing may be missing.
    ///
    /// ```
    /// use sgq_data::csv::{Options, from_reader};
    ///
    /// let text = "school,hours,kind,score\nEast,1,a,2\nWest,3,b,4\nEast,2,b,4\nWest,6,a,8\n";
    /// let options = Options::with_formula("school", "log(score) ~ hours * kind".parse()?);
    /// let data = from_reader(text.as_bytes(), &options)?;
    /// assert_eq!(data.column_names, ["intercept", "hours", "kind=b", "hours:kind=b"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn with_formula(user: impl Into<String>, formula: Formula) -> Self {
        Self { features: Features::Formula(formula), ..Self::new(user, "") }
    }
}

/// What a target must be: each becomes the [`Target`](crate::Target) of the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TargetKind {
    /// Any number, which is standardised.
    Number,
    /// One of two levels.
    Levels,
    /// A number that is not negative, as it is.
    Count,
    /// A positive number, as it is.
    Positive,
}

impl From<Loss> for TargetKind {
    fn from(loss: Loss) -> Self {
        match loss {
            Loss::Squares | Loss::Huber { .. } => Self::Number,
            Loss::Logistic => Self::Levels,
            Loss::Poisson | Loss::NegativeBinomial { .. } => Self::Count,
            Loss::Gamma => Self::Positive,
        }
    }
}

/// What to predict from. Without a formula there is an intercept and a main effect for each of some columns.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Features {
    /// All that are neither user nor target nor weight.
    #[default]
    All,
    /// Only these, in this order.
    Only(Vec<String>),
    /// All but these.
    Except(Vec<String>),
    /// The terms of a formula, which says what is predicted, too.
    Formula(Formula),
}

/// Reads a file, plain or gzip.
pub fn read(path: impl AsRef<Path>, options: &Options) -> Result<Dataset, InFile<CsvError>> {
    with_file(path.as_ref(), |file| from_reader(file, options))
}

/// Reads the same from anywhere, to its end; it is held in memory while it is read.
///
/// ```
/// use sgq::problem::Loss;
/// use sgq_data::csv::{Options, from_reader};
///
/// let text = "school,hours,score\nEast,1,2\nWest,3,4\nEast,2,4\nWest,6,8\n";
/// let data = from_reader(text.as_bytes(), &Options::new("school", "score"))?;
/// assert_eq!(data.user_names, ["East", "West"]);
/// assert_eq!(data.column_names, ["intercept", "hours"]);
/// let problem = data.regression(Loss::Squares, 0.01)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn from_reader(reader: impl Read, options: &Options) -> Result<Dataset, CsvError> {
    build::dataset(&Table::read(reader, options.delimiter)?, options)
}
