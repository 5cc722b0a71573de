//! Which column of the file is what.

use super::{CsvError, Features, Options, Table};
use crate::{
    Expression, Formula,
    formula::{Atom, ExpandError, Leaves, Node, Terms, expand},
};

/// Which column of the file is what. A list of features and a formula are the same here.
pub(crate) struct Roles {
    /// None where all rows are one user's.
    pub user: Option<usize>,
    pub weight: Option<usize>,
    pub response: Expression,
    /// Where the target stands, where it is a column as it is.
    pub target: Option<usize>,
    /// What the terms are made of, in order of appearance.
    pub atoms: Vec<Atom>,
    /// The atoms of each term.
    pub terms: Terms,
    /// All offsets together.
    pub offset: Option<Expression>,
    /// What each column of the file is read as.
    pub uses: Vec<Use>,
}

/// What a column is read as; it may be several things at once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Use {
    /// As what it looks like.
    pub auto: bool,
    /// As a factor, because it is declared as one by name.
    pub declared: bool,
    /// As a factor, somewhere in the formula.
    pub factor: bool,
    /// As a number, which this expression needs.
    pub number: Option<String>,
}

impl Use {
    pub fn is_any(&self) -> bool {
        self.auto || self.factor || self.number.is_some()
    }
}

impl Roles {
    pub fn find(table: &Table, options: &Options) -> Result<Self, CsvError> {
        Self::of_users(table, options, Some(position(table, &options.user)?))
    }

    /// The same of a file in which all rows are one user's.
    pub fn of_one_user(table: &Table, options: &Options) -> Result<Self, CsvError> {
        Self::of_users(table, options, None)
    }

    fn of_users(table: &Table, options: &Options, user: Option<usize>) -> Result<Self, CsvError> {
        let find = |name: &str| position(table, name);
        let response = match &options.features {
            Features::Formula(formula) => {
                let target = &options.target;
                if !target.is_empty() && formula.response.as_column() != Some(target) {
                    let formula = formula.response.to_string();
                    return Err(CsvError::TwoTargets { formula, target: target.clone() });
                }
                formula.response.clone()
            }
            _ => Expression::column(&options.target),
        };
        let target = response.as_column().map(&find).transpose()?;
        let targets = response.columns().iter().map(|name| find(name)).collect::<Result<Vec<_>, _>>()?;
        let weight = options.weight.as_deref().map(&find).transpose()?;
        let mut used = vec![None; table.names.len()];
        let mut claim = |position: usize, role: &'static str| match used[position].replace(role) {
            Some(first) => Err(CsvError::UsedTwice { name: table.names[position].clone(), first, second: role }),
            None => Ok(()),
        };
        if let Some(user) = user {
            claim(user, "the user")?;
        }
        targets.iter().try_for_each(|position| claim(*position, "the target"))?;
        if let Some(weight) = weight {
            claim(weight, "the weight")?;
        }
        let list = match &options.features {
            Features::Only(names) => {
                let features = names.iter().map(|name| find(name)).collect::<Result<Vec<_>, _>>()?;
                features.iter().try_for_each(|position| claim(*position, "a feature"))?;
                features
            }
            Features::All | Features::Formula(_) => {
                (0..used.len()).filter(|position| used[*position].is_none()).collect()
            }
            Features::Except(names) => {
                let left_out = names.iter().map(|name| find(name)).collect::<Result<Vec<_>, _>>()?;
                let is_left = |position: &usize| used[*position].is_none() && !left_out.contains(position);
                (0..used.len()).filter(is_left).collect()
            }
        };
        let is_formula = matches!(options.features, Features::Formula(_));
        let formula = match &options.features {
            Features::Formula(formula) => formula.clone(),
            _ => Formula::main_effects(&options.target, list.iter().map(|position| table.names[*position].clone())),
        };
        let needs_list = !is_formula || formula.right.any(&|node| *node == Node::Dot);
        if let Some(position) = list.iter().find(|position| needs_list && table.names[**position].is_empty()) {
            return Err(CsvError::UnnamedColumn { position: position + 1 });
        }
        if needs_list && list.is_empty() {
            return Err(CsvError::NoFeatures { columns: table.names.clone() });
        }

        let list: Vec<String> = list.iter().map(|position| table.names[*position].clone()).collect();
        let Leaves { atoms, dot, offset } = Leaves::of(&formula.right, &list);
        let position_of = |atom: &Atom| atoms.iter().position(|known| known == atom).unwrap_or_default();
        for column in atoms.iter().flat_map(Atom::columns).chain(offset.iter().flat_map(Expression::columns)) {
            find(&column)?;
        }
        let terms = expand(&formula.right, &position_of, &dot).map_err(|error| match error {
            ExpandError::TooMany { limit } => CsvError::TooManyTerms { limit },
            ExpandError::Unknown { term } => CsvError::UnknownTerm { term },
        })?;
        if terms.terms.is_empty() && !terms.intercept {
            return Err(CsvError::NoFeatures { columns: table.names.clone() });
        }
        let mut roles = Self { user, weight, response, target, atoms, terms, offset, uses: Vec::new() };
        roles.uses = roles.find_uses(table, options, &find)?;
        for position in targets {
            let in_terms = roles.is_feature(table, position);
            if in_terms {
                let name = table.names[position].clone();
                return Err(CsvError::UsedTwice { name, first: "the target", second: "a feature" });
            }
        }
        Ok(roles)
    }

    /// The atoms that are in a term.
    pub fn used_atoms(&self) -> impl Iterator<Item = (usize, &Atom)> {
        self.terms.used(&self.atoms)
    }

    fn is_feature(&self, table: &Table, position: usize) -> bool {
        let name = &table.names[position];
        let in_offset = self.offset.as_ref().is_some_and(|offset| offset.columns().contains(name));
        in_offset || self.used_atoms().any(|(_, atom)| atom.columns().contains(name))
    }

    fn find_uses(
        &self,
        table: &Table,
        options: &Options,
        find: &impl Fn(&str) -> Result<usize, CsvError>,
    ) -> Result<Vec<Use>, CsvError> {
        let mut uses = vec![Use::default(); table.names.len()];
        for (_, atom) in self.used_atoms() {
            match atom {
                Atom::Column(name) => uses[find(name)?].auto = true,
                Atom::Factor { column, .. } => uses[find(column)?].factor = true,
                Atom::Number(expression) => self.number(&mut uses, expression, find)?,
            }
        }
        for name in &options.factors {
            let declared = &mut uses[find(name)?];
            if !declared.auto && !declared.factor {
                let columns = self.used_atoms().flat_map(|(_, atom)| atom.columns()).collect();
                return Err(CsvError::FactorNotUsed { column: name.clone(), columns });
            }
            declared.declared = true;
            declared.factor = true;
        }
        for position in options.text_columns.iter().filter_map(|name| table.position(name)) {
            let used = &mut uses[position];
            if used.auto {
                (used.declared, used.factor) = (true, true);
            }
        }
        if let Some(offset) = &self.offset {
            self.number(&mut uses, offset, find)?;
        }
        if self.target.is_none() {
            self.number(&mut uses, &self.response, find)?;
        }
        Ok(uses)
    }

    fn number(
        &self,
        uses: &mut [Use],
        expression: &Expression,
        find: &impl Fn(&str) -> Result<usize, CsvError>,
    ) -> Result<(), CsvError> {
        for column in expression.columns() {
            uses[find(&column)?].number.get_or_insert_with(|| expression.to_string());
        }
        Ok(())
    }

    /// The columns in which nothing may be missing.
    pub fn all(&self) -> Vec<usize> {
        let features = (0..self.uses.len()).filter(|position| self.uses[*position].is_any());
        let mut all: Vec<usize> = self.user.into_iter().chain(self.target).chain(self.weight).chain(features).collect();
        all.sort_unstable();
        all.dedup();
        all
    }
}

fn position(table: &Table, name: &str) -> Result<usize, CsvError> {
    let unknown = || CsvError::UnknownColumn { name: name.to_owned(), columns: table.names.clone() };
    table.position(name).ok_or_else(unknown)
}
