//! R's formulas: `died ~ age + sex * type + offset(log(days))`.

mod error;
mod expand;
mod leaves;
mod node;
mod parse;
mod token;

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::Expression;

pub use error::{FormulaError, Wrong};
pub(crate) use expand::{ExpandError, Terms, codings, expand};
pub(crate) use leaves::Leaves;
pub(crate) use node::{Atom, Node};
pub(crate) use parse::parse_expression;

/// Which column is predicted from which terms, written as in R.
///
/// ```
/// use sgq_data::Formula;
///
/// let formula: Formula = "log(cost) ~ age+sex*`kind of ward` - 1".parse()?;
/// assert_eq!(formula.to_string(), "log(cost) ~ age + sex * `kind of ward` - 1");
/// let error = "died ~ age ++* sex".parse::<Formula>().unwrap_err();
/// assert!(error.to_string().starts_with("the formula is wrong at character 13: expected a term"));
/// # Ok::<(), sgq_data::FormulaError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Formula {
    /// What stands before the `~`.
    pub(crate) response: Expression,
    /// What stands after it.
    pub(crate) right: Node,
}

impl Formula {
    /// What is predicted: a column, or a numeric expression of columns.
    pub fn response(&self) -> &Expression {
        &self.response
    }

    /// A main effect for each of the columns, and an intercept.
    pub(crate) fn main_effects(target: &str, columns: impl IntoIterator<Item = String>) -> Self {
        let terms = columns.into_iter().map(|column| (true, Node::Atom(Atom::Column(column))));
        Self { response: Expression::column(target), right: Node::Sum(terms.collect()) }
    }
}

impl fmt::Display for Formula {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ~ {}", self.response, self.right)
    }
}

impl FromStr for Formula {
    type Err = FormulaError;

    fn from_str(text: &str) -> Result<Self, FormulaError> {
        parse::parse(text)
    }
}

impl From<Formula> for String {
    fn from(formula: Formula) -> Self {
        formula.to_string()
    }
}

impl TryFrom<String> for Formula {
    type Error = FormulaError;

    fn try_from(text: String) -> Result<Self, FormulaError> {
        parse::parse(&text)
    }
}
