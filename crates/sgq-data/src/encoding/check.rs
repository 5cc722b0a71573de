//! Reading back an encoding that was saved.

use std::collections::HashSet;

use serde::Deserialize;

use super::{Column, Encoding, Part, Variable};
use crate::{Expression, Formula, Scaling, Target};

/// An encoding of which nobody knows yet whether its parts go together.
#[derive(Deserialize)]
pub(super) struct Unchecked {
    #[serde(default)]
    formula: Option<Formula>,
    response: Expression,
    target: Target,
    intercept: bool,
    variables: Vec<Variable>,
    columns: Vec<Column>,
    #[serde(default)]
    offset: Option<Expression>,
    #[serde(default)]
    weight: Option<String>,
    delimiter: Option<u8>,
}

impl TryFrom<Unchecked> for Encoding {
    type Error = String;

    fn try_from(unchecked: Unchecked) -> Result<Self, String> {
        let Unchecked { formula, response, target, intercept, variables, columns, offset, weight, delimiter } =
            unchecked;
        let encoding = Self { formula, response, target, intercept, variables, columns, offset, weight, delimiter };
        match encoding.objection() {
            Some(what) => Err(what),
            None => Ok(encoding),
        }
    }
}

impl Encoding {
    /// What does not fit together.
    fn objection(&self) -> Option<String> {
        if self.dim() == 0 {
            return Some("it has no columns".to_owned());
        }
        for variable in &self.variables {
            if let Variable::Factor { column, levels } = variable
                && (levels.is_empty() || levels.iter().collect::<HashSet<_>>().len() < levels.len())
            {
                return Some(format!("the levels of {column:?} are missing, or stand twice"));
            }
        }
        for column in &self.columns {
            if !column.parts.iter().all(|part| self.fits(*part)) || column.parts.is_empty() {
                return Some("a column is made of variables or levels that are not there".to_owned());
            }
            let variables: HashSet<usize> = column.parts.iter().map(|part| part.variable).collect();
            if variables.len() < column.parts.len() {
                return Some(format!("the column {} has a variable twice", self.name_of(&column.parts)));
            }
        }
        let target = match &self.target {
            Target::Number(scaling) => Some(scaling),
            _ => None,
        };
        let mut scalings = self.columns.iter().map(|column| &column.scaling).chain(target);
        if !scalings.clone().all(Scaling::is_sound) {
            return Some("the scale of a column is not positive".to_owned());
        }
        if !self.intercept && scalings.any(|scaling| scaling.mean != 0.0) {
            return Some("it has no intercept, and a column that is centred".to_owned());
        }
        None
    }

    fn fits(&self, part: Part) -> bool {
        match (self.variables.get(part.variable), part.level) {
            (Some(Variable::Number(_)), None) => true,
            (Some(Variable::Factor { levels, .. }), Some(level)) => level < levels.len(),
            _ => false,
        }
    }
}
