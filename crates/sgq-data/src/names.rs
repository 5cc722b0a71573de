//! Texts as small numbers, and help for texts that are not known.

use std::collections::HashMap;

/// Gives each distinct text a number, in order of first appearance.
#[derive(Debug, Default)]
pub(crate) struct Interner {
    codes: HashMap<Box<str>, u32>,
    names: Vec<String>,
    /// Neighbouring rows often say the same.
    last: u32,
}

impl Interner {
    pub fn code(&mut self, text: &str) -> u32 {
        if self.names.get(self.last as usize).is_some_and(|name| name == text) {
            return self.last;
        }
        self.last = match self.codes.get(text) {
            Some(code) => *code,
            None => {
                let code = self.names.len() as u32;
                self.codes.insert(text.into(), code);
                self.names.push(text.to_owned());
                code
            }
        };
        self.last
    }

    pub fn names(&self) -> &[String] {
        &self.names
    }

    pub fn into_names(self) -> Vec<String> {
        self.names
    }
}

/// `; did you mean "…"?` where one of the names is close, then the names there are.
pub(crate) fn hint(wrong: &str, names: &[String]) -> String {
    // Room for one slip, or one in three letters.
    let slips = (wrong.chars().count() / 3).max(1);
    let closest = names
        .iter()
        .map(|name| (strsim::osa_distance(&wrong.to_lowercase(), &name.to_lowercase()), name))
        .min()
        .filter(|(distance, _)| *distance <= slips);
    let there_are = format!("there are: {}", listed(names));
    match closest {
        Some((_, name)) => format!("; did you mean {name:?}? ({there_are})"),
        None => format!("; {there_are}"),
    }
}

/// Names in quotes, one after the other; of many only the first.
pub(crate) fn listed(names: &[String]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("{name:?}")).collect();
    first_few(&quoted)
}

/// `"age": 3, "income": 12`.
pub(crate) fn counted(columns: &[(String, usize)]) -> String {
    first_few(&columns.iter().map(|(name, count)| format!("{name:?}: {count}")).collect::<Vec<_>>())
}

/// Texts one after the other, for a message that a person reads; of many only the first, and how many more there are.
pub fn first_few<T: AsRef<str>>(texts: &[T]) -> String {
    const MOST: usize = 12;
    let first: Vec<&str> = texts.iter().take(MOST).map(AsRef::as_ref).collect();
    let more = texts.len() - first.len();
    first.join(", ") + &if more > 0 { format!(" and {more} more") } else { String::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(of: &[&str]) -> Vec<String> {
        of.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn hints_forgive_a_slip_and_no_more() {
        let columns = names(&["School", "score"]);
        assert_eq!(hint("scool", &columns), r#"; did you mean "School"? (there are: "School", "score")"#);
        assert_eq!(hint("age", &columns), r#"; there are: "School", "score""#);
        let many: Vec<String> = (0..42).map(|k| format!("a column, number {k}")).collect();
        assert!(hint("x", &many).ends_with("\"a column, number 11\" and 30 more"));
    }

    #[test]
    fn texts_are_numbered_as_they_come() {
        let mut interner = Interner::default();
        let codes: Vec<u32> = ["b", "b", "a", "b", ""].map(|text| interner.code(text)).to_vec();
        assert_eq!(codes, [0, 0, 1, 0, 2]);
        assert_eq!(interner.into_names(), ["b", "a", ""]);
    }
}
