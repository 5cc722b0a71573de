//! From a formula's text to its tree, by recursive descent.
//!
//! ```text
//! formula     = expression "~" sum
//! sum         = ["+" | "-"] product { ("+" | "-") product }
//! product     = interaction { "*" interaction }
//! interaction = power { ":" power }
//! power       = term [ "^" number ]
//! term        = "0" | "1" | "." | name | "(" sum ")" | "I" "(" expression ")" | function "(" expression ")"
//!             | "offset" "(" expression ")" | "factor" "(" name { "," ("ref" | "levels") "=" … } ")"
//! expression  = part { ("+" | "-") part },    part = signed { ("*" | "/") signed },    signed = "-" signed | raised
//! raised      = value [ "^" signed ],         value = number | name | function "(" expression ")" | "(" expression ")"
//! ```

use super::{
    Formula,
    error::{FormulaError, Wrong},
    node::{Atom, Node},
    token::{Token, tokens},
};
use crate::{
    Expression,
    expression::{Function, Operator, Tree},
};

/// Deeper nesting is hardly meant; every level costs a few frames of the stack.
const MAX_DEPTH: usize = 64;
/// So many operations in one expression, or products and interactions in one term, and no more: they are a tree.
const MAX_OPERATIONS: usize = 256;
/// Interactions of higher order are hardly meant.
const MAX_POWER: u32 = 10;

pub(super) fn parse(text: &str) -> Result<Formula, FormulaError> {
    let mut parser = Parser::new(text)?;
    if parser.peek() == &Token::Sign('~') {
        return Err(parser.fail(Wrong::NoTarget));
    }
    let response = parser.expression()?;
    parser.sign('~', "`~`, with the target before it and the terms after it")?;
    parser.operations = 0;
    let right = parser.sum()?;
    if parser.peek() != &Token::End {
        return Err(parser.expected("`+`, `-`, `*`, `:` or the end"));
    }
    Ok(Formula { response: Expression(response), right })
}

pub(crate) fn parse_expression(text: &str) -> Result<Expression, FormulaError> {
    let mut parser = Parser::new(text)?;
    let tree = parser.expression()?;
    if parser.peek() != &Token::End {
        return Err(parser.expected("an operation or the end"));
    }
    Ok(Expression(tree))
}

struct Parser<'t> {
    text: &'t str,
    tokens: Vec<(usize, Token)>,
    next: usize,
    depth: usize,
    operations: usize,
}

impl<'t> Parser<'t> {
    fn new(text: &'t str) -> Result<Self, FormulaError> {
        Ok(Self { text, tokens: tokens(text)?, next: 0, depth: 0, operations: 0 })
    }

    /// The last token is the end, and nobody goes past it.
    fn peek(&self) -> &Token {
        self.tokens.get(self.next).map_or(&Token::End, |(_, token)| token)
    }

    fn at(&self) -> usize {
        self.tokens.get(self.next).map_or(0, |(at, _)| *at)
    }

    fn take(&mut self) -> Token {
        let token = self.peek().clone();
        self.next += usize::from(token != Token::End);
        token
    }

    fn takes(&mut self, sign: char) -> bool {
        let there = self.peek() == &Token::Sign(sign);
        self.next += usize::from(there);
        there
    }

    fn sign(&mut self, sign: char, expected: &str) -> Result<(), FormulaError> {
        if self.takes(sign) { Ok(()) } else { Err(self.expected(expected)) }
    }

    fn fail(&self, wrong: Wrong) -> FormulaError {
        self.fail_at(self.at(), wrong)
    }

    fn fail_at(&self, at: usize, wrong: Wrong) -> FormulaError {
        FormulaError::new(self.text, at, wrong)
    }

    fn expected(&self, expected: &str) -> FormulaError {
        self.fail(Wrong::Expected { expected: expected.to_owned(), found: self.peek().in_words() })
    }

    /// Parses something one level deeper.
    fn deeper<T>(&mut self, parse: impl FnOnce(&mut Self) -> Result<T, FormulaError>) -> Result<T, FormulaError> {
        if self.depth == MAX_DEPTH {
            return Err(self.fail(Wrong::TooDeep { limit: MAX_DEPTH }));
        }
        self.depth += 1;
        let parsed = parse(self);
        self.depth -= 1;
        parsed
    }

    fn count_operation(&mut self) -> Result<(), FormulaError> {
        self.operations += 1;
        match self.operations > MAX_OPERATIONS {
            true => Err(self.fail(Wrong::TooManyOperations { limit: MAX_OPERATIONS })),
            false => Ok(()),
        }
    }

    // Terms.

    fn sum(&mut self) -> Result<Node, FormulaError> {
        let mut terms = Vec::new();
        let mut added = !self.takes('-');
        if added {
            self.takes('+');
        }
        loop {
            if self.depth == 0 {
                self.operations = 0;
            }
            let at = self.at();
            let term = self.product()?;
            if !added && term.any(&|node| matches!(node, Node::Offset(_))) {
                return Err(self.fail_at(at, Wrong::Offset));
            }
            terms.push((added, term));
            added = match self.peek() {
                Token::Sign('+') => true,
                Token::Sign('-') => false,
                _ => break,
            };
            self.take();
        }
        Ok(match terms.pop() {
            Some((true, only)) if terms.is_empty() => only,
            Some(last) => {
                terms.push(last);
                Node::Sum(terms)
            }
            None => Node::Sum(terms),
        })
    }

    fn product(&mut self) -> Result<Node, FormulaError> {
        let at = self.at();
        let mut left = self.interaction()?;
        loop {
            if self.peek() == &Token::Sign('/') {
                return Err(self.fail(Wrong::Nested));
            }
            if !self.takes('*') {
                return Ok(left);
            }
            self.count_operation()?;
            self.refuse_in_products(at, &left)?;
            let at = self.at();
            let right = self.interaction()?;
            self.refuse_in_products(at, &right)?;
            left = Node::Cross(Box::new(left), Box::new(right));
        }
    }

    fn interaction(&mut self) -> Result<Node, FormulaError> {
        let at = self.at();
        let mut left = self.power()?;
        while self.takes(':') {
            self.count_operation()?;
            self.refuse_in_products(at, &left)?;
            let at = self.at();
            let right = self.power()?;
            self.refuse_in_products(at, &right)?;
            left = Node::Interaction(Box::new(left), Box::new(right));
        }
        Ok(left)
    }

    fn power(&mut self) -> Result<Node, FormulaError> {
        let at = self.at();
        let base = self.term()?;
        let sign = self.at();
        if !self.takes('^') {
            return Ok(base);
        }
        self.refuse_in_products(at, &base)?;
        let at = self.at();
        let Token::Number(power) = *self.peek() else {
            return Err(self.expected(&format!("a whole number from 1 to {MAX_POWER}")));
        };
        self.take();
        if matches!(base, Node::Atom(_)) {
            return Err(self.fail_at(sign, Wrong::PowerOfOne { term: base.to_string(), power }));
        }
        if power.fract() != 0.0 || !(1.0..=f64::from(MAX_POWER)).contains(&power) {
            return Err(self.fail_at(at, Wrong::Power { power, limit: MAX_POWER }));
        }
        Ok(Node::Power(Box::new(base), power as u32))
    }

    fn refuse_in_products(&self, at: usize, node: &Node) -> Result<(), FormulaError> {
        if node.any(&|node| matches!(node, Node::Intercept(_))) {
            return Err(self.fail_at(at, Wrong::Intercept));
        }
        if node.any(&|node| matches!(node, Node::Offset(_))) {
            return Err(self.fail_at(at, Wrong::Offset));
        }
        Ok(())
    }

    fn term(&mut self) -> Result<Node, FormulaError> {
        let at = self.at();
        let unknown = self.expected("a term, such as a column's name");
        match self.take() {
            Token::Number(number) if number == 0.0 || number == 1.0 => {
                if matches!(self.peek(), Token::Sign('*' | ':' | '/' | '^')) {
                    return Err(self.fail_at(at, Wrong::Intercept));
                }
                Ok(Node::Intercept(number == 1.0))
            }
            Token::Number(number) => Err(self.fail_at(at, Wrong::NumberAsTerm { number })),
            Token::Dot => Ok(Node::Dot),
            Token::Quoted(name) => Ok(Node::Atom(Atom::Column(name))),
            Token::Name(name) if !self.takes('(') => Ok(Node::Atom(Atom::Column(name))),
            Token::Name(name) => self.deeper(|parser| parser.call(at, &name)),
            Token::Sign('(') => {
                let inner = self.deeper(Self::sum)?;
                self.sign(')', "`+`, `-`, `*`, `:` or `)`")?;
                Ok(inner)
            }
            _ => Err(unknown),
        }
    }

    /// What follows a name and `(`.
    fn call(&mut self, at: usize, name: &str) -> Result<Node, FormulaError> {
        let node = match (name, Function::by_name(name)) {
            ("factor", _) => return self.factor().map(Node::Atom),
            ("offset", _) => Node::Offset(Expression(self.own_expression()?)),
            ("I", _) => Node::Atom(Atom::Number(Expression(self.own_expression()?))),
            (_, Some(function)) => {
                let inner = Tree::Call(function, Box::new(self.own_expression()?));
                Node::Atom(Atom::Number(Expression(inner)))
            }
            _ => return Err(self.fail_at(at, unknown_function(name))),
        };
        self.sign(')', "an operation or `)`")?;
        Ok(node)
    }

    fn factor(&mut self) -> Result<Atom, FormulaError> {
        let column = match self.peek() {
            Token::Name(_) | Token::Quoted(_) => match self.take() {
                Token::Name(name) | Token::Quoted(name) => name,
                _ => String::new(),
            },
            _ => return Err(self.expected("the name of a column")),
        };
        let (mut reference, mut levels) = (None, None);
        let mut reference_at = 0;
        while self.takes(',') {
            let option = self.peek().clone();
            match option {
                Token::Name(name) if name == "ref" && reference.is_none() => {
                    self.take();
                    self.sign('=', "`=`")?;
                    reference_at = self.at();
                    reference = Some(self.level()?);
                }
                Token::Name(name) if name == "levels" && levels.is_none() => {
                    self.take();
                    self.sign('=', "`=`")?;
                    levels = Some(self.levels()?);
                }
                _ => return Err(self.expected("`ref =` or `levels =`, each once")),
            }
        }
        self.sign(')', "`,` or `)`")?;
        if let (Some(reference), Some(levels)) = (&reference, &levels)
            && !levels.contains(reference)
        {
            let reference = reference.clone();
            return Err(self.fail_at(reference_at, Wrong::ReferenceNotInLevels { reference }));
        }
        Ok(Atom::Factor { column, reference, levels })
    }

    fn level(&mut self) -> Result<String, FormulaError> {
        let unknown = self.expected("a level in quotes");
        match self.take() {
            Token::Text(text) => Ok(text),
            Token::Number(number) => Ok(number.to_string()),
            Token::Sign('-') => match self.take() {
                Token::Number(number) => Ok((-number).to_string()),
                _ => Err(unknown),
            },
            _ => Err(unknown),
        }
    }

    fn levels(&mut self) -> Result<Vec<String>, FormulaError> {
        if self.peek() != &Token::Name("c".to_owned()) {
            return Err(self.expected("the levels, as c(\"a\", \"b\")"));
        }
        self.take();
        self.sign('(', "`(`")?;
        let mut levels = Vec::new();
        loop {
            let at = self.at();
            let level = self.level()?;
            if levels.contains(&level) {
                return Err(self.fail_at(at, Wrong::LevelTwice { level }));
            }
            levels.push(level);
            if !self.takes(',') {
                break;
            }
        }
        self.sign(')', "`,` or `)`")?;
        Ok(levels)
    }

    // Numbers.

    /// An expression whose operations are counted by themselves.
    fn own_expression(&mut self) -> Result<Tree<String>, FormulaError> {
        let before = std::mem::take(&mut self.operations);
        let tree = self.expression()?;
        self.operations = before;
        Ok(tree)
    }

    fn expression(&mut self) -> Result<Tree<String>, FormulaError> {
        let mut left = self.part()?;
        loop {
            let operator = match self.peek() {
                Token::Sign('+') => Operator::Add,
                Token::Sign('-') => Operator::Subtract,
                _ => return Ok(left),
            };
            self.take();
            self.count_operation()?;
            left = Tree::Operation(operator, Box::new(left), Box::new(self.part()?));
        }
    }

    fn part(&mut self) -> Result<Tree<String>, FormulaError> {
        let mut left = self.signed()?;
        loop {
            let operator = match self.peek() {
                Token::Sign('*') => Operator::Multiply,
                Token::Sign('/') => Operator::Divide,
                _ => return Ok(left),
            };
            self.take();
            self.count_operation()?;
            left = Tree::Operation(operator, Box::new(left), Box::new(self.signed()?));
        }
    }

    fn signed(&mut self) -> Result<Tree<String>, FormulaError> {
        if self.takes('-') {
            return Ok(Tree::Negative(Box::new(self.deeper(Self::signed)?)));
        }
        let base = self.value()?;
        if !self.takes('^') {
            return Ok(base);
        }
        self.count_operation()?;
        let exponent = self.deeper(Self::signed)?;
        Ok(Tree::Operation(Operator::Power, Box::new(base), Box::new(exponent)))
    }

    fn value(&mut self) -> Result<Tree<String>, FormulaError> {
        let at = self.at();
        let unknown = self.expected("a number, a column's name, a function or `(`");
        match self.take() {
            Token::Number(number) => Ok(Tree::Number(number)),
            Token::Quoted(name) => Ok(Tree::Column(name)),
            Token::Name(name) if !self.takes('(') => Ok(Tree::Column(name)),
            Token::Name(name) => {
                let function = match (&*name, Function::by_name(&name)) {
                    ("I", _) => None,
                    (_, Some(function)) => Some(function),
                    _ => return Err(self.fail_at(at, unknown_function(&name))),
                };
                let inner = self.in_parentheses()?;
                Ok(match function {
                    Some(function) => Tree::Call(function, Box::new(inner)),
                    None => inner,
                })
            }
            Token::Sign('(') => self.in_parentheses(),
            _ => Err(unknown),
        }
    }

    fn in_parentheses(&mut self) -> Result<Tree<String>, FormulaError> {
        let inner = self.deeper(Self::expression)?;
        self.sign(')', "an operation or `)`")?;
        Ok(inner)
    }
}

fn unknown_function(name: &str) -> Wrong {
    let instead = match name {
        "as.factor" | "relevel" | "ordered" | "C" => "write factor(x), or factor(x, ref = \"a\")".to_owned(),
        "factor" | "offset" => "it stands by itself among the terms".to_owned(),
        "ln" => "log(x) is the natural logarithm".to_owned(),
        "poly" | "bs" | "ns" | "s" | "te" => "write I(x^2) and so on, or make columns of the curve".to_owned(),
        "scale" => "columns are standardised without it".to_owned(),
        "cbind" => "give one target, and totals as weights".to_owned(),
        _ => {
            let names: Vec<&str> = Function::ALL.into_iter().map(Function::name).collect();
            format!("there are {}, I, factor and offset; make a column of anything else", names.join(", "))
        }
    };
    Wrong::Function { function: name.to_owned(), instead }
}
