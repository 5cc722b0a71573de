//! The words and signs of a formula.

use super::error::{FormulaError, Wrong};
use crate::expression::{begins_name, goes_on_name};

/// Longer formulas are hardly written by anybody.
pub(super) const MAX_CHARACTERS: usize = 100_000;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    Name(String),
    /// A name in backticks, which is never a function's.
    Quoted(String),
    Number(f64),
    Text(String),
    Dot,
    Sign(char),
    End,
}

impl Token {
    /// For messages.
    pub fn in_words(&self) -> String {
        match self {
            Self::Name(name) | Self::Quoted(name) => format!("the name {name:?}"),
            Self::Number(number) => format!("the number {number}"),
            Self::Text(text) => format!("the text {text:?}"),
            Self::Dot => "`.`".to_owned(),
            Self::Sign(sign) => format!("`{sign}`"),
            Self::End => "the end".to_owned(),
        }
    }
}

/// The tokens of a formula, each with the number of its first character; the end is the last one.
pub(super) fn tokens(formula: &str) -> Result<Vec<(usize, Token)>, FormulaError> {
    let letters: Vec<char> = formula.chars().take(MAX_CHARACTERS + 1).collect();
    let fail = |at: usize, wrong: Wrong| FormulaError::new(formula, at, wrong);
    if letters.len() > MAX_CHARACTERS {
        return Err(fail(MAX_CHARACTERS, Wrong::TooLong { limit: MAX_CHARACTERS }));
    }
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(letter) = letters.get(at).copied() {
        let start = at;
        let next = letters.get(at + 1).copied();
        let token = match letter {
            _ if letter.is_whitespace() => {
                at += 1;
                continue;
            }
            '0'..='9' => number(&letters, &mut at).map_err(|wrong| fail(start, wrong))?,
            '.' if next.is_some_and(|next| next.is_ascii_digit()) => {
                number(&letters, &mut at).map_err(|wrong| fail(start, wrong))?
            }
            '.' if !next.is_some_and(goes_on_name) => {
                at += 1;
                Token::Dot
            }
            _ if begins_name(letter) || letter == '.' => {
                while letters.get(at).copied().is_some_and(goes_on_name) {
                    at += 1;
                }
                Token::Name(letters[start..at].iter().collect())
            }
            '`' | '"' | '\'' => {
                let text = quoted(&letters, &mut at, letter);
                let text = text.ok_or_else(|| fail(start, Wrong::Unclosed { quote: letter }))?;
                match letter {
                    '`' if text.is_empty() => return Err(fail(start, Wrong::NoName)),
                    '`' => Token::Quoted(text),
                    _ => Token::Text(text),
                }
            }
            '+' | '-' | '*' | '/' | '^' | ':' | '(' | ')' | ',' | '=' | '~' => {
                at += 1;
                Token::Sign(letter)
            }
            _ => return Err(fail(start, Wrong::Character { character: letter })),
        };
        tokens.push((start, token));
    }
    tokens.push((letters.len(), Token::End));
    Ok(tokens)
}

fn number(letters: &[char], at: &mut usize) -> Result<Token, Wrong> {
    let start = *at;
    let is = |at: usize, test: fn(&char) -> bool| letters.get(at).is_some_and(test);
    let digits = |at: &mut usize| {
        while is(*at, char::is_ascii_digit) {
            *at += 1;
        }
    };
    digits(at);
    if is(*at, |letter| *letter == '.') {
        *at += 1;
        digits(at);
    }
    if is(*at, |letter| matches!(letter, 'e' | 'E')) {
        let sign = usize::from(is(*at + 1, |letter| matches!(letter, '+' | '-')));
        if is(*at + 1 + sign, char::is_ascii_digit) {
            *at += 1 + sign;
            digits(at);
        }
    }
    while letters.get(*at).copied().is_some_and(goes_on_name) {
        *at += 1;
    }
    let text: String = letters[start..*at].iter().collect();
    let number = text.parse().ok().filter(|number: &f64| number.is_finite());
    number.map(Token::Number).ok_or(Wrong::Number { text })
}

/// What stands up to the closing quote; a backslash takes the next character as it is.
fn quoted(letters: &[char], at: &mut usize, quote: char) -> Option<String> {
    let mut text = String::new();
    *at += 1;
    loop {
        let mut letter = *letters.get(*at)?;
        *at += 1;
        if letter == quote {
            return Some(text);
        }
        if letter == '\\' {
            letter = *letters.get(*at)?;
            *at += 1;
        }
        text.push(letter);
    }
}
