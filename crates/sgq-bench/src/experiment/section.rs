//! Reading a TOML table key by key, so that every complaint names its file, line and key.

use std::{error::Error, fmt, ops::Range};

use sgq_data::first_few;
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

/// What is wrong in a file, where, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileError {
    /// The file's name.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The line's text.
    pub excerpt: String,
    /// What is wrong there.
    pub message: String,
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, line, excerpt, message } = self;
        write!(f, "{file}:{line}: {message}")?;
        if excerpt.is_empty() {
            return Ok(());
        }
        write!(f, "\n  {line} | {excerpt}")
    }
}

impl Error for FileError {}

/// A file being read.
pub(super) struct Source<'a> {
    pub file: &'a str,
    pub text: &'a str,
}

impl Source<'_> {
    pub fn error(&self, at: &Range<usize>, message: impl Into<String>) -> FileError {
        let before = self.text.bytes().take(at.start);
        let line = before.filter(|byte| *byte == b'\n').count() + 1;
        let excerpt = self.text.lines().nth(line - 1).unwrap_or_default().trim();
        FileError {
            file: self.file.to_owned(),
            line,
            excerpt: excerpt.chars().take(100).collect(),
            message: message.into(),
        }
    }
}

/// One table of the file.
pub(super) struct Section<'a> {
    pub source: &'a Source<'a>,
    /// What the table is, in words, such as `method "SGQ"`; empty for the file itself.
    what: String,
    pub at: Range<usize>,
    table: &'a DeTable<'a>,
}

impl<'a> Section<'a> {
    pub fn new(source: &'a Source<'a>, what: impl Into<String>, at: Range<usize>, table: &'a DeTable<'a>) -> Self {
        Self { source, what: what.into(), at, table }
    }

    /// Refuses keys that are not among these. Called first: a misspelt key is then named, not missed.
    pub fn allow(&self, known: &[&str]) -> Result<(), FileError> {
        for (name, _) in self.table {
            let key: &str = name.get_ref();
            if !known.contains(&key) {
                let hint = suggestion(key, known.iter().copied());
                let message = format!("unknown key `{key}` in {}{hint}", self.or_file());
                return Err(self.source.error(&name.span(), message));
            }
        }
        Ok(())
    }

    /// Any value.
    pub fn value(&self, key: &'static str) -> Option<&'a Spanned<DeValue<'a>>> {
        self.table.iter().find(|(name, _)| name.get_ref() == key).map(|(_, value)| value)
    }

    /// Where a key's value stands, or the table where the key is missing.
    pub fn place(&self, key: &'static str) -> Range<usize> {
        self.value(key).map_or_else(|| self.at.clone(), |value| value.span())
    }

    pub fn text(&self, key: &'static str) -> Result<Option<&'a str>, FileError> {
        self.read(key, "a text in quotes", |value| value.as_str())
    }

    pub fn number(&self, key: &'static str) -> Result<Option<f64>, FileError> {
        self.read(key, "a number", number)
    }

    pub fn whole(&self, key: &'static str) -> Result<Option<u64>, FileError> {
        self.read(key, "a whole number, not negative", whole)
    }

    pub fn numbers(&self, key: &'static str) -> Result<Option<Vec<f64>>, FileError> {
        self.read(key, "a list of numbers", numbers)
    }

    /// A value that `convert` understands; `expected` says in words what that is.
    pub fn read<T>(
        &self,
        key: &'static str,
        expected: &str,
        convert: impl FnOnce(&'a DeValue<'a>) -> Option<T>,
    ) -> Result<Option<T>, FileError> {
        let Some(value) = self.value(key) else {
            return Ok(None);
        };
        match convert(value.get_ref()) {
            Some(converted) => Ok(Some(converted)),
            None => Err(self.complain(key, format!("expected {expected}"))),
        }
    }

    /// The tables of an array of tables, `[[key]]`.
    pub fn tables(&self, key: &'static str) -> Result<Vec<Section<'a>>, FileError> {
        let Some(value) = self.value(key) else {
            return Ok(Vec::new());
        };
        let wrong = || self.complain(key, format!("write each one under a heading [[{key}]]"));
        let items = value.get_ref().as_array().ok_or_else(wrong)?;
        let mut sections = Vec::new();
        for (index, item) in items.iter().enumerate() {
            let table = item.get_ref().as_table().ok_or_else(wrong)?;
            let mut section = Section::new(self.source, "", item.span(), table);
            section.what = match section.value("name").and_then(|name| name.get_ref().as_str()) {
                Some(name) => format!("{key} {name:?}"),
                None => format!("{key} number {}", index + 1),
            };
            sections.push(section);
        }
        Ok(sections)
    }

    pub fn require<T>(&self, key: &'static str, found: Option<T>) -> Result<T, FileError> {
        found.ok_or_else(|| self.source.error(&self.at, format!("{} has no `{key}`, which it needs", self.or_file())))
    }

    /// A complaint about the value of a key.
    pub fn complain(&self, key: &'static str, message: impl fmt::Display) -> FileError {
        self.source.error(&self.place(key), format!("{}: {message}", self.name_of(key)))
    }

    /// A key in words, such as `` `p` of method "SGQ" ``.
    pub fn name_of(&self, key: &str) -> String {
        if self.what.is_empty() { format!("`{key}`") } else { format!("`{key}` of {}", self.what) }
    }

    fn or_file(&self) -> &str {
        if self.what.is_empty() { "the experiment" } else { &self.what }
    }
}

/// `; did you mean "…"?`, or the names there are.
pub fn suggestion<'n>(wrong: &str, names: impl Iterator<Item = &'n str>) -> String {
    let names: Vec<&str> = names.collect();
    // Room for one slip, or one in three letters.
    let slips = (wrong.chars().count() / 3).max(1);
    let letters = |word: &str| {
        let mut letters: Vec<char> = word.to_lowercase().chars().collect();
        letters.sort_unstable();
        letters
    };
    // Of two that are equally close, the one with the same letters: swapping two is the commonest slip.
    let closest = names
        .iter()
        .map(|name| (strsim::osa_distance(&wrong.to_lowercase(), name), letters(name) != letters(wrong), name))
        .min()
        .filter(|(distance, ..)| *distance <= slips);
    match closest {
        Some((.., name)) => format!("; did you mean \"{name}\"?"),
        None => format!("; there are: {}", first_few(&names)),
    }
}

pub(super) fn number(value: &DeValue<'_>) -> Option<f64> {
    match value {
        DeValue::Float(float) => float.as_str().parse().ok(),
        DeValue::Integer(_) => integer(value).map(|value| value as f64),
        _ => None,
    }
}

pub(super) fn whole(value: &DeValue<'_>) -> Option<u64> {
    integer(value).and_then(|value| u64::try_from(value).ok())
}

fn integer(value: &DeValue<'_>) -> Option<i128> {
    let integer = value.as_integer()?;
    i128::from_str_radix(integer.as_str(), integer.radix()).ok()
}

pub(super) fn numbers(value: &DeValue<'_>) -> Option<Vec<f64>> {
    let items = value.as_array()?;
    items.iter().map(|item| number(item.get_ref())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suggestions_forgive_a_slip_and_no_more() {
        let suggest = |wrong: &str| suggestion(wrong, ["sag", "sgd", "sgq", "shuffled-sgd"].into_iter());
        assert_eq!(suggest("sqg"), "; did you mean \"sgq\"?");
        assert_eq!(suggest("SGD"), "; did you mean \"sgd\"?");
        assert_eq!(suggest("shufled-sdg"), "; did you mean \"shuffled-sgd\"?");
        assert_eq!(suggest("adam"), "; there are: sag, sgd, sgq, shuffled-sgd");
    }

    #[test]
    fn an_error_shows_its_line() {
        let source = Source { file: "a.toml", text: "one\r\n  two = é\nthree" };
        let error = source.error(&(9..10), "wrong");
        assert_eq!(error.to_string(), "a.toml:2: wrong\n  2 | two = é");
    }
}
