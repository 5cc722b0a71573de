//! What a formula without a `.` is made of, before anybody has seen data.

use crate::{
    Expression, Formula, Part, Variable,
    csv::{CsvError, Drafted, design, keep_used, over_variables},
    formula::{Atom, ExpandError, Leaves, Node, Terms, expand},
};

pub(super) struct Layout {
    atoms: Vec<Atom>,
    terms: Terms,
    pub offset: Option<Expression>,
}

/// The columns of a regression without their scaling, and what they are made of.
pub(super) struct Skeleton {
    pub intercept: bool,
    pub variables: Vec<Variable>,
    pub columns: Vec<Vec<Part>>,
}

/// Why there is no skeleton.
pub(super) enum SkeletonError<E> {
    /// What a variable is could not be told.
    Variable(E),
    Formula(CsvError),
    /// Factors that have a single level.
    Single(Vec<String>),
}

impl Layout {
    pub fn of(formula: &Formula) -> Result<Self, String> {
        if formula.right.any(&|node| *node == Node::Dot) {
            return Err("the formula has a `.`, which is other columns at every clinic: name them".to_owned());
        }
        let Leaves { atoms, offset, .. } = Leaves::of(&formula.right, &[]);
        let number = |atom: &Atom| atoms.iter().position(|known| known == atom).unwrap_or_default();
        let terms = expand(&formula.right, &number, &[]).map_err(|error| {
            let error = match error {
                ExpandError::TooMany { limit } => CsvError::TooManyTerms { limit },
                ExpandError::Unknown { term } => CsvError::UnknownTerm { term },
            };
            error.to_string()
        })?;
        if terms.terms.is_empty() && !terms.intercept {
            return Err("the formula has no terms: add a column, or an intercept".to_owned());
        }
        Ok(Self { atoms, terms, offset })
    }

    /// What is in a term.
    pub fn atoms(&self) -> impl Iterator<Item = &Atom> {
        self.terms.used(&self.atoms).map(|(_, atom)| atom)
    }

    /// The columns of the file that it needs, the target's left out; one may be there twice.
    pub fn columns(&self) -> Vec<String> {
        let offset = self.offset.iter().flat_map(Expression::columns);
        self.atoms().flat_map(Atom::columns).chain(offset).collect()
    }

    /// The columns of the regression, where `variable` tells what each atom is.
    pub fn skeleton<E>(
        &self,
        mut variable: impl FnMut(&Atom) -> Result<Variable, E>,
    ) -> Result<Skeleton, SkeletonError<E>> {
        let mut variables: Vec<Variable> = Vec::new();
        let mut variable_of = vec![0; self.atoms.len()];
        for (index, atom) in self.terms.used(&self.atoms) {
            let found = variable(atom).map_err(SkeletonError::Variable)?;
            variable_of[index] = match variables.iter().position(|known| *known == found) {
                Some(known) => known,
                None => {
                    variables.push(found);
                    variables.len() - 1
                }
            };
        }
        let factors = variables.iter().filter_map(|variable| match variable {
            Variable::Factor { column, .. } => Some(column),
            Variable::Number(_) => None,
        });
        let mut known = Vec::new();
        for column in factors {
            if known.contains(&column) {
                return Err(SkeletonError::Formula(CsvError::FactorTwice { column: column.clone() }));
            }
            known.push(column);
        }
        let terms = over_variables(&self.terms.terms, &variable_of);
        let drafted = design(&variables, &terms, self.terms.intercept).map_err(SkeletonError::Formula)?;
        let (mut columns, mut single) = (Vec::new(), Vec::new());
        for drafted in drafted {
            match drafted {
                Drafted::Column(parts) => columns.push(parts),
                Drafted::Single(column) if !single.contains(&column) => single.push(column),
                Drafted::Single(_) => {}
            }
        }
        if !single.is_empty() {
            return Err(SkeletonError::Single(single));
        }
        keep_used(&mut variables, columns.iter_mut().flatten());
        Ok(Skeleton { intercept: self.terms.intercept, variables, columns })
    }
}
