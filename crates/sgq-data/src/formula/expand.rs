//! From a formula to its terms, and how their factors are coded: R's rules.

use std::collections::HashSet;

use super::node::{Atom, Node};

/// More terms are hardly meant.
const MAX_TERMS: usize = 10_000;

/// The variables of a term by number, rising: one for a main effect, several for an interaction.
pub(crate) type Term = Vec<usize>;

/// Terms in R's order: by how many variables they have, then as they are written; and whether there is an intercept.
#[derive(Debug, PartialEq)]
pub(crate) struct Terms {
    pub intercept: bool,
    pub terms: Vec<Term>,
}

impl Terms {
    /// Those atoms that are in a term.
    pub fn used<'a>(&self, atoms: &'a [Atom]) -> impl Iterator<Item = (usize, &'a Atom)> + use<'a> {
        let mut used = vec![false; atoms.len()];
        self.terms.iter().flatten().for_each(|atom| used[*atom] = true);
        atoms.iter().enumerate().filter(move |(index, _)| used[*index])
    }
}

/// Why a formula has no list of terms.
#[derive(Debug, PartialEq)]
pub(crate) enum ExpandError {
    TooMany {
        limit: usize,
    },
    /// A term is taken out that is not there.
    Unknown {
        term: String,
    },
}

/// The terms of a formula. `variable` numbers what terms are made of, and is asked from left to right; `dot` has the
/// variables that `.` stands for.
pub(crate) fn expand(right: &Node, variable: &impl Fn(&Atom) -> usize, dot: &[usize]) -> Result<Terms, ExpandError> {
    let mut expansion = Expansion { intercept: true, variable, dot };
    let mut terms = expansion.terms(right, true)?;
    terms.sort_by_key(Vec::len);
    Ok(Terms { intercept: expansion.intercept, terms })
}

struct Expansion<'e, F> {
    intercept: bool,
    variable: &'e F,
    dot: &'e [usize],
}

impl<F: Fn(&Atom) -> usize> Expansion<'_, F> {
    fn terms(&mut self, node: &Node, added: bool) -> Result<Vec<Term>, ExpandError> {
        Ok(match node {
            // `- 0` and `+ 1` bring it back.
            Node::Intercept(there) => {
                self.intercept = *there == added;
                Vec::new()
            }
            Node::Offset(_) => Vec::new(),
            Node::Dot => self.dot.iter().map(|variable| vec![*variable]).collect(),
            Node::Atom(atom) => vec![vec![(self.variable)(atom)]],
            Node::Sum(parts) => {
                let mut all = Distinct::default();
                for (plus, part) in parts {
                    let terms = self.terms(part, added == *plus)?;
                    if *plus {
                        all.extend(terms)?;
                    } else if all.remove(&terms) < terms.len() {
                        return Err(ExpandError::Unknown { term: part.to_string() });
                    }
                }
                all.terms
            }
            Node::Cross(left, right) => {
                let (left, right) = (self.terms(left, added)?, self.terms(right, added)?);
                let mut all = Distinct::default();
                all.extend(left.iter().chain(&right).cloned())?;
                all.extend(products(&left, &right))?;
                all.terms
            }
            Node::Interaction(left, right) => {
                let (left, right) = (self.terms(left, added)?, self.terms(right, added)?);
                let mut all = Distinct::default();
                all.extend(products(&left, &right))?;
                all.terms
            }
            Node::Power(base, power) => {
                let base = self.terms(base, added)?;
                let mut all = Distinct::default();
                all.extend(base.iter().cloned())?;
                for _ in 1..*power {
                    let before = all.terms.clone();
                    all.extend(products(&before, &base))?;
                    if all.terms.len() == before.len() {
                        break;
                    }
                }
                all.terms
            }
        })
    }
}

fn products<'t>(left: &'t [Term], right: &'t [Term]) -> impl Iterator<Item = Term> + 't {
    left.iter().flat_map(move |one| right.iter().map(move |other| union(one, other)))
}

fn union(one: &[usize], other: &[usize]) -> Term {
    let mut both = [one, other].concat();
    both.sort_unstable();
    both.dedup();
    both
}

/// Terms in order of first appearance, each once.
#[derive(Default)]
struct Distinct {
    terms: Vec<Term>,
    known: HashSet<Term>,
}

impl Distinct {
    fn extend(&mut self, terms: impl IntoIterator<Item = Term>) -> Result<(), ExpandError> {
        for term in terms {
            if self.known.insert(term.clone()) {
                self.terms.push(term);
            }
            if self.terms.len() > MAX_TERMS {
                return Err(ExpandError::TooMany { limit: MAX_TERMS });
            }
        }
        Ok(())
    }

    /// Takes terms out, and says how many of them were there.
    fn remove(&mut self, terms: &[Term]) -> usize {
        let gone = terms.iter().filter(|term| self.known.remove(*term)).count();
        let known = &self.known;
        self.terms.retain(|term| known.contains(term));
        gone
    }
}

/// For each term and each of its variables, whether a factor there has an indicator of every level; otherwise the reference
/// has none.
///
/// R's rule (Chambers and Hastie, *Statistical Models in S*, 1992, page 38): of a factor in a term, look at the term without it. Where the model has
/// that already, in the intercept or an earlier term, indicators of all levels would say it once more. An earlier term has
/// it if its other variables are factors, whose indicators add up to one; R does not look whether they are, and so leaves
/// out too much, or too little, where only numbers came before.
pub(crate) fn codings(terms: &[Term], intercept: bool, is_factor: &impl Fn(usize) -> bool) -> Vec<Vec<bool>> {
    let has = |earlier: &Term, margin: &[usize]| {
        margin.iter().all(|variable| earlier.contains(variable))
            && earlier.iter().all(|variable| margin.contains(variable) || is_factor(*variable))
    };
    let coded = |(index, term): (usize, &Term)| {
        let full = |variable: &usize| {
            let margin: Vec<usize> = term.iter().copied().filter(|other| other != variable).collect();
            let is_there =
                (intercept && margin.is_empty()) || terms[..index].iter().any(|earlier| has(earlier, &margin));
            is_factor(*variable) && !is_there
        };
        term.iter().map(full).collect()
    };
    terms.iter().enumerate().map(coded).collect()
}
