//! The right-hand side of a formula as it was written.

use std::fmt;

use crate::{Expression, expression::Name};

/// Terms, and what is done with them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Node {
    /// `1`, or `0`.
    Intercept(bool),
    /// All columns that are nothing else.
    Dot,
    Atom(Atom),
    Offset(Expression),
    /// Terms that are added (`true`) or taken out.
    Sum(Vec<(bool, Self)>),
    /// `a * b`: both, and their interaction.
    Cross(Box<Self>, Box<Self>),
    /// `a:b`.
    Interaction(Box<Self>, Box<Self>),
    /// `(a + b)^2`.
    Power(Box<Self>, u32),
}

/// What terms are made of.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Atom {
    /// A column: a number, or a factor where it was declared as one or is text throughout.
    Column(String),
    /// A number, whatever the column looks like.
    Number(Expression),
    /// A column that is declared to be a factor.
    Factor { column: String, reference: Option<String>, levels: Option<Vec<String>> },
}

mod binding {
    pub const SUM: u8 = 1;
    pub const CROSS: u8 = 2;
    pub const INTERACTION: u8 = 3;
    pub const POWER: u8 = 4;
    pub const ALONE: u8 = 5;
}

impl Node {
    fn binding(&self) -> u8 {
        match self {
            Self::Sum(_) => binding::SUM,
            Self::Cross(..) => binding::CROSS,
            Self::Interaction(..) => binding::INTERACTION,
            Self::Power(..) => binding::POWER,
            Self::Intercept(_) | Self::Dot | Self::Atom(_) | Self::Offset(_) => binding::ALONE,
        }
    }

    /// Whether a node for which `test` holds is anywhere in it.
    pub fn any(&self, test: &impl Fn(&Self) -> bool) -> bool {
        test(self)
            || match self {
                Self::Sum(terms) => terms.iter().any(|(_, node)| node.any(test)),
                Self::Cross(left, right) | Self::Interaction(left, right) => left.any(test) || right.any(test),
                Self::Power(base, _) => base.any(test),
                Self::Intercept(_) | Self::Dot | Self::Atom(_) | Self::Offset(_) => false,
            }
    }

    /// Goes through the leaves from left to right.
    pub fn visit(&self, seen: &mut impl FnMut(&Self)) {
        match self {
            Self::Sum(terms) => terms.iter().for_each(|(_, node)| node.visit(seen)),
            Self::Cross(left, right) | Self::Interaction(left, right) => {
                left.visit(seen);
                right.visit(seen);
            }
            Self::Power(base, _) => base.visit(seen),
            Self::Intercept(_) | Self::Dot | Self::Atom(_) | Self::Offset(_) => seen(self),
        }
    }

    fn write(&self, f: &mut fmt::Formatter<'_>, least: u8) -> fmt::Result {
        let own = self.binding();
        if own < least {
            f.write_str("(")?;
            self.write(f, 0)?;
            return f.write_str(")");
        }
        match self {
            Self::Intercept(there) => f.write_str(if *there { "1" } else { "0" }),
            Self::Dot => f.write_str("."),
            Self::Atom(atom) => write!(f, "{atom}"),
            Self::Offset(expression) => write!(f, "offset({expression})"),
            Self::Sum(terms) => {
                for (index, (added, node)) in terms.iter().enumerate() {
                    f.write_str(match (index, added) {
                        (0, true) => "",
                        (0, false) => "-",
                        (_, true) => " + ",
                        (_, false) => " - ",
                    })?;
                    node.write(f, binding::CROSS)?;
                }
                Ok(())
            }
            Self::Cross(left, right) => {
                left.write(f, own)?;
                f.write_str(" * ")?;
                right.write(f, own + 1)
            }
            Self::Interaction(left, right) => {
                left.write(f, own)?;
                f.write_str(":")?;
                right.write(f, own + 1)
            }
            Self::Power(base, power) => {
                base.write(f, binding::ALONE)?;
                write!(f, "^{power}")
            }
        }
    }
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, 0)
    }
}

impl fmt::Display for Atom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Column(name) => write!(f, "{}", Name(name)),
            Self::Number(expression) => match expression.as_column() {
                Some(name) => write!(f, "I({})", Name(name)),
                None => f.write_str(&expression.in_formula()),
            },
            Self::Factor { column, reference, levels } => {
                write!(f, "factor({}", Name(column))?;
                if let Some(reference) = reference {
                    write!(f, ", ref = {}", Text(reference))?;
                }
                if let Some(levels) = levels {
                    let levels: Vec<String> = levels.iter().map(|level| Text(level).to_string()).collect();
                    write!(f, ", levels = c({})", levels.join(", "))?;
                }
                f.write_str(")")
            }
        }
    }
}

/// A level as it stands in a formula.
struct Text<'t>(&'t str);

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.0.replace('\\', "\\\\").replace('"', "\\\""))
    }
}
