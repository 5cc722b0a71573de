//! What the terms of a formula are made of.

use super::node::{Atom, Node};
use crate::{
    Expression,
    expression::{Operator, Tree},
};

/// The leaves of a formula's right-hand side.
pub(crate) struct Leaves {
    /// What terms are made of, from left to right, each once.
    pub atoms: Vec<Atom>,
    /// The atoms that `.` stands for.
    pub dot: Vec<usize>,
    /// The sum of the offsets.
    pub offset: Option<Expression>,
}

impl Leaves {
    /// Where `.` stands for these columns.
    pub fn of(right: &Node, columns: &[String]) -> Self {
        let mut atoms: Vec<Atom> = Vec::new();
        let mut offset: Option<Expression> = None;
        let mut has_dot = false;
        // Features are many where they are a list, and then they are all different.
        let of_list = |column: &String| Atom::Column(column.clone());
        right.visit(&mut |leaf| match leaf {
            Node::Atom(atom) if !atoms.contains(atom) => atoms.push(atom.clone()),
            Node::Dot => {
                for atom in columns.iter().map(of_list) {
                    if !atoms.contains(&atom) {
                        atoms.push(atom);
                    }
                }
                has_dot = true;
            }
            Node::Offset(expression) => {
                offset = Some(match offset.take() {
                    Some(Expression(sum)) => {
                        Expression(Tree::Operation(Operator::Add, Box::new(sum), Box::new(expression.0.clone())))
                    }
                    None => expression.clone(),
                });
            }
            _ => {}
        });
        let number = |atom: Atom| atoms.iter().position(|known| *known == atom);
        let dot =
            if has_dot { columns.iter().filter_map(|column| number(of_list(column))).collect() } else { Vec::new() };
        Self { atoms, dot, offset }
    }
}

impl Atom {
    /// The columns of the file in it.
    pub fn columns(&self) -> Vec<String> {
        match self {
            Self::Column(name) | Self::Factor { column: name, .. } => vec![name.clone()],
            Self::Number(expression) => expression.columns(),
        }
    }
}
