//! Numeric expressions of columns: `log(days)`, `(weight / height)^2`.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::formula::{FormulaError, parse_expression};

/// A number made of a row's columns, such as `log(days)`: what stands in a formula inside `I()` and functions, before the
/// `~`, and in `offset()`.
///
/// It is written and saved as text.
///
/// ```
/// use sgq_data::Expression;
///
/// let expression: Expression = "log( weight/height ^2)".parse()?;
/// assert_eq!(expression.to_string(), "log(weight / height^2)");
/// assert_eq!(expression.columns(), ["weight", "height"]);
/// # Ok::<(), sgq_data::FormulaError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Expression(pub(crate) Tree<String>);

/// An expression over columns that are named, or numbered.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Tree<C> {
    Column(C),
    Number(f64),
    Negative(Box<Self>),
    Operation(Operator, Box<Self>, Box<Self>),
    Call(Function, Box<Self>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Power,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Function {
    Log,
    Log2,
    Log10,
    Log1p,
    Exp,
    Expm1,
    Sqrt,
    Abs,
}

impl Function {
    pub const ALL: [Self; 8] =
        [Self::Log, Self::Log2, Self::Log10, Self::Log1p, Self::Exp, Self::Expm1, Self::Sqrt, Self::Abs];

    pub fn name(self) -> &'static str {
        match self {
            Self::Log => "log",
            Self::Log2 => "log2",
            Self::Log10 => "log10",
            Self::Log1p => "log1p",
            Self::Exp => "exp",
            Self::Expm1 => "expm1",
            Self::Sqrt => "sqrt",
            Self::Abs => "abs",
        }
    }

    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|function| function.name() == name)
    }

    fn apply(self, value: f64) -> f64 {
        match self {
            Self::Log => value.ln(),
            Self::Log2 => value.log2(),
            Self::Log10 => value.log10(),
            Self::Log1p => value.ln_1p(),
            Self::Exp => value.exp(),
            Self::Expm1 => value.exp_m1(),
            Self::Sqrt => value.sqrt(),
            Self::Abs => value.abs(),
        }
    }
}

impl Operator {
    fn symbol(self) -> &'static str {
        match self {
            Self::Add => " + ",
            Self::Subtract => " - ",
            Self::Multiply => " * ",
            Self::Divide => " / ",
            Self::Power => "^",
        }
    }

    fn apply(self, left: f64, right: f64) -> f64 {
        match self {
            Self::Add => left + right,
            Self::Subtract => left - right,
            Self::Multiply => left * right,
            Self::Divide => left / right,
            // As R: exact, where the system's power may round.
            Self::Power if right == 2.0 => left * left,
            Self::Power => left.powf(right),
        }
    }
}

/// How strongly the parts of an expression are held together.
mod binding {
    pub const SUM: u8 = 1;
    pub const PRODUCT: u8 = 2;
    pub const SIGN: u8 = 3;
    pub const POWER: u8 = 4;
    pub const ALONE: u8 = 5;
}

impl<C> Tree<C> {
    fn binding(&self) -> u8 {
        match self {
            Self::Operation(Operator::Add | Operator::Subtract, ..) => binding::SUM,
            Self::Operation(Operator::Multiply | Operator::Divide, ..) => binding::PRODUCT,
            Self::Negative(_) => binding::SIGN,
            Self::Operation(Operator::Power, ..) => binding::POWER,
            Self::Column(_) | Self::Number(_) | Self::Call(..) => binding::ALONE,
        }
    }

    /// The same over other names of columns.
    pub fn bind<D>(&self, name: &mut impl FnMut(&C) -> D) -> Tree<D> {
        match self {
            Self::Column(column) => Tree::Column(name(column)),
            Self::Number(number) => Tree::Number(*number),
            Self::Negative(inner) => Tree::Negative(Box::new(inner.bind(name))),
            Self::Operation(operator, left, right) => {
                let left = Box::new(left.bind(name));
                Tree::Operation(*operator, left, Box::new(right.bind(name)))
            }
            Self::Call(function, inner) => Tree::Call(*function, Box::new(inner.bind(name))),
        }
    }

    /// Its value, where `column` tells those of the columns.
    pub fn value(&self, column: &impl Fn(&C) -> f64) -> f64 {
        match self {
            Self::Column(name) => column(name),
            Self::Number(number) => *number,
            Self::Negative(inner) => -inner.value(column),
            Self::Operation(operator, left, right) => operator.apply(left.value(column), right.value(column)),
            Self::Call(function, inner) => function.apply(inner.value(column)),
        }
    }
}

impl Expression {
    /// A column as it is.
    pub fn column(name: impl Into<String>) -> Self {
        Self(Tree::Column(name.into()))
    }

    /// The columns in it, each once, in order of appearance.
    pub fn columns(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        self.0.bind(&mut |name| {
            if !names.contains(name) {
                names.push(name.clone());
            }
        });
        names
    }

    /// The column's name, where it is nothing but a column.
    pub fn as_column(&self) -> Option<&str> {
        match &self.0 {
            Tree::Column(name) => Some(name),
            _ => None,
        }
    }

    /// What a coefficient of it is called: `age`, `log(age)` or `I(age^2)`.
    pub fn label(&self) -> String {
        match &self.0 {
            Tree::Column(name) => name.clone(),
            _ => self.in_formula(),
        }
    }

    /// How it stands among the terms of a formula.
    pub(crate) fn in_formula(&self) -> String {
        match &self.0 {
            Tree::Column(_) | Tree::Call(..) => self.to_string(),
            _ => format!("I({self})"),
        }
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.write(f, 0)
    }
}

impl Tree<String> {
    fn write(&self, f: &mut fmt::Formatter<'_>, least: u8) -> fmt::Result {
        let own = self.binding();
        if own < least {
            f.write_str("(")?;
            self.write(f, 0)?;
            return f.write_str(")");
        }
        match self {
            Self::Column(name) => write!(f, "{}", Name(name)),
            Self::Number(number) => write!(f, "{number}"),
            Self::Negative(inner) => {
                f.write_str("-")?;
                inner.write(f, own)
            }
            // To the right: a^b^c is a^(b^c).
            Self::Operation(Operator::Power, left, right) => {
                left.write(f, binding::ALONE)?;
                f.write_str("^")?;
                right.write(f, binding::SIGN)
            }
            Self::Operation(operator, left, right) => {
                left.write(f, own)?;
                f.write_str(operator.symbol())?;
                right.write(f, own + 1)
            }
            Self::Call(function, inner) => {
                write!(f, "{}(", function.name())?;
                inner.write(f, 0)?;
                f.write_str(")")
            }
        }
    }
}

/// A column's name as it stands in a formula: in backticks where it would be read as something else.
pub(crate) struct Name<'n>(pub &'n str);

impl fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if is_plain(self.0) {
            f.write_str(self.0)
        } else {
            write!(f, "`{}`", self.0.replace('\\', "\\\\").replace('`', "\\`"))
        }
    }
}

/// Whether a name needs no backticks: letters, digits, points and underscores, and no number.
fn is_plain(name: &str) -> bool {
    let mut letters = name.chars();
    let begins = match letters.next() {
        Some('.') => !matches!(letters.clone().next(), None | Some('0'..='9')),
        first => first.is_some_and(begins_name),
    };
    begins && letters.all(goes_on_name)
}

pub(crate) fn begins_name(letter: char) -> bool {
    letter.is_alphabetic()
}

pub(crate) fn goes_on_name(letter: char) -> bool {
    letter.is_alphanumeric() || matches!(letter, '.' | '_')
}

impl FromStr for Expression {
    type Err = FormulaError;

    fn from_str(text: &str) -> Result<Self, FormulaError> {
        parse_expression(text)
    }
}

impl From<Expression> for String {
    fn from(expression: Expression) -> Self {
        expression.to_string()
    }
}

impl TryFrom<String> for Expression {
    type Error = FormulaError;

    fn try_from(text: String) -> Result<Self, FormulaError> {
        parse_expression(&text)
    }
}
