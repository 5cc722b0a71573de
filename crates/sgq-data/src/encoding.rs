//! How the columns of a file became the columns of a regression, and the way back.

mod check;
mod encode;
mod fill;
mod predict;
mod row;
mod scale;

use serde::{Deserialize, Serialize};

use crate::{Expression, Formula, Scaling, Target};

pub use encode::EncodeError;
pub(crate) use fill::{Cell, Fill, is_indicator, product};
pub use predict::{PredictError, Prediction};

/// How the columns of a CSV file became those of a regression: enough to read its coefficients on the original scale, to
/// predict for new rows, and to encode the rows of another file in the same way.
///
/// It can be saved (serde), and one that was damaged meanwhile is refused with what is wrong.
///
/// ```
/// use sgq::{Problem, problem::Loss};
/// use sgq_data::csv::{Options, from_reader};
///
/// let text = "school,hours,score\nEast,1,3\nWest,3,7\nEast,2,5\nWest,6,13\n";
/// let data = from_reader(text.as_bytes(), &Options::new("school", "score"))?;
/// let problem = data.regression(Loss::Squares, 0.0)?;
/// let fitted = &problem.optimum().unwrap().point;
/// let encoding = data.encoding.unwrap();
/// // score = 1 + 2 hours.
/// let coefficients = encoding.on_original_scale(fitted)?;
/// assert!((coefficients[0] - 1.0).abs() < 1e-12 && (coefficients[1] - 2.0).abs() < 1e-12);
/// let predictions = encoding.predict("hours\n10\nNA\n".as_bytes(), fitted)?;
/// assert!((predictions[0].unwrap() - 21.0).abs() < 1e-12 && predictions[1].is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "check::Unchecked")]
pub struct Encoding {
    /// The formula, where there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) formula: Option<Formula>,
    pub(crate) response: Expression,
    pub(crate) target: Target,
    pub(crate) intercept: bool,
    pub(crate) variables: Vec<Variable>,
    pub(crate) columns: Vec<Column>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) offset: Option<Expression>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) weight: Option<String>,
    pub(crate) delimiter: Option<u8>,
}

/// What columns of a regression are made of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Variable {
    /// A number: a column, or an expression of columns.
    Number(Expression),
    /// A column with levels.
    Factor {
        /// The column's name in the file.
        column: String,
        /// Its levels, the reference first. Where all of them are numbers, `1` and `1.0` are the same.
        levels: Vec<String>,
    },
}

/// A column of a regression: a product of numbers and of zeros and ones, then scaled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Column {
    /// What is multiplied.
    pub parts: Vec<Part>,
    /// How the product is scaled.
    pub scaling: Scaling,
}

/// A variable in a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// Which one of the variables.
    pub variable: usize,
    /// Of a factor the level that is 1, and all others 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<usize>,
}

impl Variable {
    /// What a coefficient of it is called: `age`, `log(age)`, `sex=m`.
    fn label(&self, level: Option<usize>) -> String {
        match self {
            Self::Number(expression) => expression.label(),
            Self::Factor { column, levels } => {
                let level = level.and_then(|level| levels.get(level));
                format!("{column}={}", level.map_or("", String::as_str))
            }
        }
    }

    /// The columns of the file that it needs.
    pub fn needs(&self) -> Vec<String> {
        match self {
            Self::Number(expression) => expression.columns(),
            Self::Factor { column, .. } => vec![column.clone()],
        }
    }
}

impl Encoding {
    /// The formula it is made from, where there was one.
    pub fn formula(&self) -> Option<&Formula> {
        self.formula.as_ref()
    }

    /// What is predicted: a column, or an expression of columns.
    pub fn response(&self) -> &Expression {
        &self.response
    }

    /// What the targets mean.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// Whether a column of ones stands before the others.
    pub fn has_intercept(&self) -> bool {
        self.intercept
    }

    /// What the columns are made of.
    pub fn variables(&self) -> &[Variable] {
        &self.variables
    }

    /// The columns of the regression, but for the intercept.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// What is added to each row's prediction, with a coefficient of 1: all offsets together.
    pub fn offset(&self) -> Option<&Expression> {
        self.offset.as_ref()
    }

    /// The column that says how much each row counts within its user.
    pub fn weight(&self) -> Option<&str> {
        self.weight.as_deref()
    }

    /// The names of the regression's columns: `intercept` where there is one, then such as `age`, `log(age)`, `sex=m` and
    /// `age:sex=m`.
    pub fn column_names(&self) -> Vec<String> {
        let intercept = self.intercept.then(|| "intercept".to_owned());
        intercept.into_iter().chain(self.columns.iter().map(|column| self.name_of(&column.parts))).collect()
    }

    /// The factors of which one level has no coefficient of its own, with their levels: the first is that one, with which the others are
    /// compared.
    pub fn reference_levels(&self) -> Vec<(&str, &[String])> {
        // Without an intercept, or in an interaction by itself, a factor may have a coefficient for every level.
        let has_all = |variable: usize| {
            self.columns
                .iter()
                .flat_map(|column| &column.parts)
                .any(|it| it.variable == variable && it.level == Some(0))
        };
        let each = self.variables.iter().enumerate();
        each.filter_map(|(index, variable)| match variable {
            Variable::Factor { column, levels } if !has_all(index) => Some((column.as_str(), levels.as_slice())),
            _ => None,
        })
        .collect()
    }

    pub(crate) fn name_of(&self, parts: &[Part]) -> String {
        name_of(&self.variables, parts)
    }

    /// How many coefficients there are, the intercept included.
    pub fn dim(&self) -> usize {
        usize::from(self.intercept) + self.columns.len()
    }

    fn check_length(&self, coefficients: &[f64]) -> Result<(), PredictError> {
        let (expected, found) = (self.dim(), coefficients.len());
        if expected == found { Ok(()) } else { Err(PredictError::Coefficients { expected, found }) }
    }
}

/// What a column made of these parts is called.
pub(crate) fn name_of(variables: &[Variable], parts: &[Part]) -> String {
    let labels = parts.iter().filter_map(|part| Some(variables.get(part.variable)?.label(part.level)));
    labels.collect::<Vec<_>>().join(":")
}

/// Which of a factor's levels a text is.
#[derive(Debug)]
pub(crate) struct Levels<'e> {
    levels: &'e [String],
    /// Where all of them are numbers.
    numbers: Option<Vec<f64>>,
}

impl<'e> Levels<'e> {
    pub fn new(levels: &'e [String]) -> Self {
        Self { levels, numbers: levels.iter().map(|level| level_number(level)).collect() }
    }

    pub fn find(&self, text: &str) -> Option<usize> {
        let found = self.levels.iter().position(|level| level == text);
        found.or_else(|| {
            let number = level_number(text)?;
            self.numbers.as_ref()?.iter().position(|level| *level == number)
        })
    }
}

/// The number that a level is. Long codes, which no `f64` tells from their neighbours, are text.
pub(crate) fn level_number(text: &str) -> Option<f64> {
    const MAX_DIGITS: usize = 15;
    let number = text.parse().ok().filter(|number: &f64| number.is_finite());
    number.filter(|_| text.len() <= MAX_DIGITS)
}
