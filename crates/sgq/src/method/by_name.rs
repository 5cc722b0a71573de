//! Methods and parts by name, for front doors that learn them at run time.

use thiserror::Error;

use super::{METHODS, Method};
use crate::{
    Belief, Choice, LastGradient, Update,
    belief::{BELIEFS, Model, Nothing},
    choice::CHOICES,
    setting::SettingValue,
    update::UPDATES,
};

/// A built-in method, as a catalogue describes it.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct MethodEntry {
    /// What to call it in a file.
    pub name: &'static str,
    /// What it does, in a line.
    pub summary: &'static str,
    /// The queries it charges.
    pub charges: &'static str,
    pub(super) make: fn() -> Method,
}

impl MethodEntry {
    /// The method, with the paper's settings.
    pub fn method(&self) -> Method {
        (self.make)()
    }
}

/// A built-in part, as a catalogue describes it.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct PartEntry<T> {
    /// What to call it in a file.
    pub name: &'static str,
    /// What it does, in a line.
    pub summary: &'static str,
    pub(crate) make: fn() -> T,
}

impl<T: AnyPart> PartEntry<T> {
    /// The part, with default settings.
    pub fn part(&self) -> T {
        (self.make)()
    }

    /// The settings it takes, as they are by default.
    pub fn settings(&self) -> Vec<SettingValue> {
        self.part().settings()
    }
}

/// What a list of parts needs of each, whichever beliefs it goes with.
pub trait AnyPart {
    /// Its settings.
    fn settings(&mut self) -> Vec<SettingValue>;
    /// Its type, by name.
    fn type_name(&self) -> String;
}

/// A belief by name.
#[derive(Clone, Debug)]
pub enum AnyBelief {
    /// No memory.
    Nothing(Nothing),
    /// The last gradients.
    Table(Box<LastGradient>),
    /// A model of all users.
    Model(Box<Model>),
}

impl AnyPart for AnyBelief {
    fn settings(&mut self) -> Vec<SettingValue> {
        let settings = match self {
            Self::Nothing(it) => it.settings(),
            Self::Table(it) => it.settings(),
            Self::Model(it) => it.settings(),
        };
        settings.into_iter().map(SettingValue::from).collect()
    }

    fn type_name(&self) -> String {
        match self {
            Self::Nothing(it) => crate::Part::type_name(it),
            Self::Table(it) => crate::Part::type_name(&**it),
            Self::Model(it) => crate::Part::type_name(&**it),
        }
    }
}

/// Declares a choice or an update for whichever of the beliefs it can read.
macro_rules! any_part {
    ($(#[$doc:meta])* $any:ident, $part:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default)]
        pub struct $any {
            nothing: Option<Box<dyn $part<Nothing>>>,
            table: Option<Box<dyn $part<LastGradient>>>,
            model: Option<Box<dyn $part<Model>>>,
        }

        impl $any {
            /// One that does not read the belief.
            pub(crate) fn by_any<T: Clone + $part<Nothing> + $part<LastGradient> + $part<Model>>(it: T) -> Self {
                let (nothing, table) = (it.clone(), it.clone());
                Self { nothing: Some(Box::new(nothing)), table: Some(Box::new(table)), model: Some(Box::new(it)) }
            }

            /// One that reads the last gradients.
            pub(crate) fn by_table(it: impl $part<LastGradient>) -> Self {
                Self { table: Some(Box::new(it)), ..Self::default() }
            }

            /// One that reads the model.
            pub(crate) fn by_model(it: impl $part<Model>) -> Self {
                Self { model: Some(Box::new(it)), ..Self::default() }
            }
        }

        impl AnyPart for $any {
            fn settings(&mut self) -> Vec<SettingValue> {
                let settings = match self {
                    Self { table: Some(it), .. } => it.settings(),
                    Self { model: Some(it), .. } => it.settings(),
                    _ => Vec::new(),
                };
                settings.into_iter().map(SettingValue::from).collect()
            }

            fn type_name(&self) -> String {
                match self {
                    Self { table: Some(it), .. } => (**it).type_name(),
                    Self { model: Some(it), .. } => (**it).type_name(),
                    _ => String::new(),
                }
            }
        }
    };
}

/// Lists parts: the name, the beliefs that it can read, the part itself, and what it does.
macro_rules! parts {
    ($any:ident: $($name:literal, $by:ident($part:expr): $summary:literal;)*) => {
        &[$(PartEntry { name: $name, summary: $summary, make: || $any::$by($part) }),*]
    };
}
pub(crate) use parts;

any_part! {
    /// A choice by name.
    AnyChoice, Choice
}

any_part! {
    /// An update by name.
    AnyUpdate, Update
}

impl Method {
    /// A built-in method by name.
    pub fn by_name(name: &str) -> Result<Self, ComposeError> {
        look_up("method", METHODS, |entry| entry.name, name).map(MethodEntry::method)
    }

    /// A choice and an update by name, with the simplest belief that both can read, or a given one.
    ///
    /// ```
    /// use sgq::Method;
    ///
    /// let mine = Method::compose(None, "shuffled", "saga")?;
    /// assert_eq!(mine.part_names(), ["last-gradient", "shuffled", "saga"]);
    /// assert!(Method::compose(None, "informative", "saga").is_err());
    /// # Ok::<(), sgq::method::ComposeError>(())
    /// ```
    pub fn compose(belief: Option<&str>, choice: &str, update: &str) -> Result<Self, ComposeError> {
        let name = format!("{choice} + {update}");
        let beliefs = match belief {
            Some(belief) => vec![look_up("belief", BELIEFS, |entry| entry.name, belief)?],
            None => BELIEFS.iter().collect(),
        };
        let choice = look_up("choice", CHOICES, |entry| entry.name, choice)?;
        let update = look_up("update", UPDATES, |entry| entry.name, update)?;
        let fitting = beliefs.iter().find_map(|belief| fit(&name, belief.part(), choice.part(), update.part()));
        fitting.ok_or_else(|| ComposeError::DoNotFit {
            belief: belief.map(str::to_owned),
            choice: choice.name,
            update: update.name,
        })
    }

    /// The names of its belief, choice and update, as the lists have them; a part of one's own is called by its type.
    pub fn part_names(&self) -> [String; 3] {
        let [belief, choice, update] = self.parts.type_names();
        [name_in(BELIEFS, belief), name_in(CHOICES, choice), name_in(UPDATES, update)]
    }
}

fn fit(name: &str, belief: AnyBelief, choice: AnyChoice, update: AnyUpdate) -> Option<Method> {
    Some(match belief {
        AnyBelief::Nothing(belief) => Method::boxed(name, belief, choice.nothing?, update.nothing?),
        AnyBelief::Table(belief) => Method::boxed(name, *belief, choice.table?, update.table?),
        AnyBelief::Model(belief) => Method::boxed(name, *belief, choice.model?, update.model?),
    })
}

fn name_in<T: AnyPart>(entries: &[PartEntry<T>], type_name: String) -> String {
    let entry = entries.iter().find(|entry| entry.part().type_name() == type_name);
    entry.map_or(type_name, |entry| entry.name.to_owned())
}

fn look_up<T>(
    what: &'static str,
    entries: &'static [T],
    name_of: fn(&T) -> &'static str,
    name: &str,
) -> Result<&'static T, ComposeError> {
    entries.iter().find(|entry| name_of(entry) == name).ok_or_else(|| ComposeError::Unknown {
        what,
        name: name.to_owned(),
        names: entries.iter().map(name_of).collect(),
    })
}

/// Why there is no such method.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[allow(missing_docs)] // the message says what each field is
#[non_exhaustive]
pub enum ComposeError {
    #[error("there is no {what} {name:?}")]
    Unknown { what: &'static str, name: String, names: Vec<&'static str> },
    #[error("the choice {choice:?} and the update {update:?} do not fit: {}", .belief.as_ref().map_or_else(
        || "no belief has what both of them read".to_owned(),
        |belief| format!("the belief {belief:?} lacks what one of them reads; leave it out, and the simplest that fits is taken"),
    ))]
    DoNotFit { belief: Option<String>, choice: &'static str, update: &'static str },
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every entry is of a type of its own, or a method's parts could not be named.
    #[test]
    fn every_part_finds_its_own_entry() {
        for choice in CHOICES {
            for update in UPDATES {
                if let Ok(method) = Method::compose(None, choice.name, update.name) {
                    assert_eq!(method.part_names()[1..], [choice.name, update.name]);
                }
            }
        }
        for entry in METHODS {
            assert_eq!(entry.method().name(), entry.name);
        }
    }
}
