//! A part's own settings: declared once, beside the field that holds them, and read and written by name everywhere.

use std::fmt;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// One setting of a part, as the part declares it: what files, `--set` and Python call it, what it means, and its place.
#[derive(Debug)]
pub struct Setting<'a> {
    /// How it is written.
    pub name: &'static str,
    /// What it means.
    pub summary: &'static str,
    range: Range,
    place: Place<'a>,
}

#[derive(Debug)]
enum Place<'a> {
    Number(&'a mut f64),
    OptionalNumber(&'a mut Option<f64>),
    Count(&'a mut Option<usize>),
    Switch(&'a mut bool),
}

impl<'a> Setting<'a> {
    /// A number within a range.
    pub fn number(name: &'static str, place: &'a mut f64, range: Range, summary: &'static str) -> Self {
        Self { name, summary, range, place: Place::Number(place) }
    }

    /// A number that follows from the number of users where nobody says.
    pub fn optional_number(
        name: &'static str,
        place: &'a mut Option<f64>,
        range: Range,
        summary: &'static str,
    ) -> Self {
        Self { name, summary, range, place: Place::OptionalNumber(place) }
    }

    /// A count, at least 1, that follows from the number of users where nobody says.
    pub fn count(name: &'static str, place: &'a mut Option<usize>, summary: &'static str) -> Self {
        Self { name, summary, range: Range::closed(1.0, f64::INFINITY), place: Place::Count(place) }
    }

    /// Yes or no.
    pub fn switch(name: &'static str, place: &'a mut bool, summary: &'static str) -> Self {
        Self { name, summary, range: Range::closed(0.0, 1.0), place: Place::Switch(place) }
    }

    /// What it is; `None` where it follows from the number of users.
    pub fn get(&self) -> Option<Value> {
        match &self.place {
            Place::Number(it) => Some(Value::Number(**it)),
            Place::OptionalNumber(it) => it.map(Value::Number),
            Place::Count(it) => it.map(|count| Value::Count(count as u64)),
            Place::Switch(it) => Some(Value::Switch(**it)),
        }
    }

    /// Changes it; a value of another kind, or out of range, is refused and changes nothing.
    pub fn set(&mut self, value: Value) -> Result<(), SettingError> {
        let in_range = self.range.check(self.name, value);
        match (&mut self.place, value) {
            (Place::Switch(it), Value::Switch(on)) => **it = on,
            (Place::Count(it), Value::Count(count)) => {
                in_range?;
                **it = Some(usize::try_from(count).unwrap_or(usize::MAX));
            }
            (Place::Number(it), Value::Number(_) | Value::Count(_)) => **it = in_range?,
            (Place::OptionalNumber(it), Value::Number(_) | Value::Count(_)) => **it = Some(in_range?),
            _ => {
                let expected = self.expected();
                return Err(SettingError::Kind { name: self.name, value: value.to_string().into(), expected });
            }
        }
        Ok(())
    }

    /// The kind of value it takes, in words.
    pub fn expected(&self) -> &'static str {
        match self.place {
            Place::Number(_) | Place::OptionalNumber(_) => "a number",
            Place::Count(_) => "a whole number that is not negative",
            Place::Switch(_) => "true or false",
        }
    }

    /// Refuses a value out of range, which a constructor may have been given.
    pub(crate) fn check(&self) -> Result<(), SettingError> {
        self.get().map_or(Ok(()), |value| self.range.check(self.name, value).map(drop))
    }
}

/// The numbers from one to another, of which either may be left out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    low: f64,
    high: f64,
    without_low: bool,
    without_high: bool,
}

impl Range {
    /// `[low, high]`.
    pub const fn closed(low: f64, high: f64) -> Self {
        Self { low, high, without_low: false, without_high: false }
    }

    /// `(low, high]`.
    pub const fn above(low: f64, high: f64) -> Self {
        Self { without_low: true, ..Self::closed(low, high) }
    }

    /// `[low, high)`.
    pub const fn below(low: f64, high: f64) -> Self {
        Self { without_high: true, ..Self::closed(low, high) }
    }

    /// The value as a number, where it is in range; a switch is 0 or 1.
    fn check(&self, name: &'static str, value: Value) -> Result<f64, SettingError> {
        let number = match value {
            Value::Switch(on) => f64::from(u8::from(on)),
            Value::Count(count) => count as f64,
            Value::Number(number) => number,
        };
        let end = (self.without_low && number == self.low) || (self.without_high && number == self.high);
        if (self.low..=self.high).contains(&number) && number.is_finite() && !end {
            return Ok(number);
        }
        Err(SettingError::Range { name, value: number, range: *self })
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { low, high, without_low, without_high } = self;
        if high.is_infinite() {
            return write!(f, "be finite and {} {low}", if *without_low { "above" } else { "at least" });
        }
        let (left, right) = (if *without_low { '(' } else { '[' }, if *without_high { ')' } else { ']' });
        write!(f, "lie in {left}{low}, {high}{right}")
    }
}

/// What a setting is set to. It serialises as the bare value.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// Yes or no.
    Switch(bool),
    /// A whole number.
    Count(u64),
    /// Any number.
    Number(f64),
}

impl Value {
    /// Reads a value as people write it: `true`, `10`, `0.3`.
    pub fn parse(text: &str) -> Option<Self> {
        let switch = text.parse().ok().map(Self::Switch);
        switch.or_else(|| text.parse().ok().map(Self::Count)).or_else(|| text.parse().ok().map(Self::Number))
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Self::Number(number)
    }
}

impl From<bool> for Value {
    fn from(on: bool) -> Self {
        Self::Switch(on)
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Switch(on) => on.fmt(f),
            Self::Count(count) => count.fmt(f),
            Self::Number(number) => number.fmt(f),
        }
    }
}

/// A setting of a method as it stands, to be read.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SettingValue {
    /// How it is written.
    pub name: &'static str,
    /// What it means.
    pub summary: &'static str,
    /// What it is; `None` where it follows from the number of users.
    pub value: Option<Value>,
    /// The kind of value it takes, in words.
    #[serde(skip)]
    pub expected: &'static str,
}

impl From<Setting<'_>> for SettingValue {
    fn from(setting: Setting<'_>) -> Self {
        let Setting { name, summary, .. } = setting;
        Self { name, summary, value: setting.get(), expected: setting.expected() }
    }
}

impl fmt::Display for SettingValue {
    /// The name, what it means, and what it is: a line of a list.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.summary)?;
        self.value.map_or(Ok(()), |value| write!(f, "; default {value}"))
    }
}

/// Why a part refused one of its settings.
#[derive(Clone, Debug, PartialEq, Error)]
#[allow(missing_docs)] // the message says what each field is
#[non_exhaustive]
pub enum SettingError {
    #[error("{name} is {value}: it must {range}")]
    Range { name: &'static str, value: f64, range: Range },
    #[error("{name} is {value}: it must be {expected}")]
    Kind { name: &'static str, value: Box<str>, expected: &'static str },
    #[error("{method} has no setting {name:?}: {}", known_words(.known))]
    Unknown { method: Box<str>, name: Box<str>, known: Box<[&'static str]> },
    #[error("{name} is {value}, and there are {users} users: give at most as many as there are")]
    MoreThanUsers { name: &'static str, value: usize, users: usize },
    #[error("position {position} of the fixed sequence is user {user}, but there are only {users}: users count from 0")]
    NoSuchUser { position: usize, user: usize, users: usize },
    /// For parts of one's own, in their own words.
    #[error("{0}")]
    Other(String),
}

impl SettingError {
    /// The setting it is about, where it is about one.
    pub fn setting(&self) -> Option<&'static str> {
        match self {
            Self::Range { name, .. } | Self::Kind { name, .. } | Self::MoreThanUsers { name, .. } => Some(name),
            _ => None,
        }
    }
}

fn known_words(known: &[&str]) -> String {
    if known.is_empty() { "it has no settings".into() } else { format!("it has {}", known.join(", ")) }
}
