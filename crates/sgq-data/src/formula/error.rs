//! What can be wrong with a formula.

use std::{error::Error, fmt};

use thiserror::Error;

/// Why a text is no formula, and where.
#[derive(Clone, Debug, PartialEq)]
pub struct FormulaError {
    /// The text.
    pub formula: String,
    /// The character that is wrong, counted from 0.
    pub at: usize,
    /// What is wrong there.
    pub wrong: Wrong,
}

/// What is wrong with a formula.
#[derive(Clone, Debug, PartialEq, Error)]
#[allow(missing_docs)] // the message says what each field is
#[non_exhaustive]
pub enum Wrong {
    #[error("expected {expected}, found {found}")]
    Expected { expected: String, found: String },
    #[error("`{character}` has no meaning in a formula{}", hint_for(*.character))]
    Character { character: char },
    #[error("{text} is not a number: names that begin with a digit stand in `backticks`")]
    Number { text: String },
    #[error("this {quote} is never closed: close it")]
    Unclosed { quote: char },
    #[error("a name in backticks has at least one letter: write the column's name between them")]
    NoName,
    #[error("there is no target: write the column to predict before the ~")]
    NoTarget,
    #[error("{function} is not a function that formulas have: {instead}")]
    Function { function: String, instead: String },
    #[error(
        "{number} is no term: only 0 and 1 stand for something here, the intercept; write arithmetic as I(…), such as I(x * 2)"
    )]
    NumberAsTerm { number: f64 },
    #[error("the intercept is no part of a product or a power: add or subtract it outside of them, as in `- 1`")]
    Intercept,
    #[error("an offset is only added: write `+ offset(…)`, outside of products and powers, and a minus inside of it")]
    Offset,
    #[error("`a / b` for nested terms is not understood: write `a + a:b`, or I(a / b) for the quotient of numbers")]
    Nested,
    #[error(
        "the power of a single term is the term itself, as in R: write I({term}^{power}) for its numbers to that power"
    )]
    PowerOfOne { term: String, power: f64 },
    #[error("the power of terms is a whole number from 1 to {limit}, not {power}")]
    Power { power: f64, limit: u32 },
    #[error("the level {level:?} stands twice in `levels`: leave one of them out")]
    LevelTwice { level: String },
    #[error("`ref` is {reference:?}, which is not one of `levels`: add it to them, or take another")]
    ReferenceNotInLevels { reference: String },
    #[error("this is nested more than {limit} deep: write it with fewer parentheses, signs and powers")]
    TooDeep { limit: usize },
    #[error("there are more than {limit} operations in one expression: shorten it, or make a column of it")]
    TooManyOperations { limit: usize },
    #[error("the formula has more than {limit} characters: shorten it, such as with `.` for all other columns")]
    TooLong { limit: usize },
}

fn hint_for(character: char) -> &'static str {
    match character {
        '|' => "; random effects are not understood, and users are told by their column: leave them out",
        '%' => ": write `a:b` for an interaction",
        '<' | '>' | '!' | '&' => ": comparisons are not understood; make a column of the comparison",
        '[' | ']' | '$' | '@' => ": columns are called by their names, in `backticks` where they have other signs",
        _ => ": put names with such signs in `backticks`",
    }
}

impl FormulaError {
    pub(super) fn new(formula: &str, at: usize, wrong: Wrong) -> Self {
        Self { formula: formula.to_owned(), at, wrong }
    }
}

/// So many characters are shown before and after the place.
const SHOWN: usize = 60;

impl fmt::Display for FormulaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let first = self.at.saturating_sub(SHOWN);
        // On one line, so that the caret stands below its place.
        let shown = self.formula.chars().skip(first).take(2 * SHOWN);
        let shown: String = shown.map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
        writeln!(f, "the formula is wrong at character {}: {}", self.at + 1, self.wrong)?;
        writeln!(f, "  {}", shown.trim_end())?;
        write!(f, "  {}^", " ".repeat(self.at - first))
    }
}

impl Error for FormulaError {}
