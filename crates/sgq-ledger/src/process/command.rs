//! A command line in words, without a shell: a user's name can never become a command.

use std::process::{Command as Process, Stdio};

use thiserror::Error;

/// Stands for the user's name in a command.
const USER: &str = "{user}";

/// A program and what it is told. `{user}` stands for a user's name.
///
/// ```
/// use sgq_ledger::process::Command;
///
/// let command: Command = r#"python3 "my clinic.py" --as {user}"#.parse()?;
/// assert_eq!(command.words("a; rm -rf /"), ["python3", "my clinic.py", "--as", "a; rm -rf /"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    words: Vec<String>,
}

/// Why a text is no command.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[allow(missing_docs)] // the message says what each field is
#[non_exhaustive]
pub enum CommandError {
    #[error("the command is empty: give a program, such as \"python3 clinic.py\"")]
    Empty,
    #[error("the command has a {quote} without its other one: {text}")]
    OpenQuote { quote: char, text: String },
}

impl std::str::FromStr for Command {
    type Err = CommandError;

    /// Words stand between blanks; a word with blanks stands in quotes. A backslash is one, but before a quote or a blank.
    fn from_str(text: &str) -> Result<Self, CommandError> {
        let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
        let mut letters = text.chars().peekable();
        while let Some(letter) = letters.next() {
            match (quote, letter) {
                (Some(open), _) if letter == open => quote = None,
                (None, '"' | '\'') => {
                    quote = Some(letter);
                    word.get_or_insert_default();
                }
                (None | Some('"'), '\\') => {
                    let escaped = letters.next_if(|next| "\"' \\".contains(*next));
                    word.get_or_insert_default().push(escaped.unwrap_or(letter));
                }
                (None, _) if letter.is_whitespace() => words.extend(word.take()),
                _ => word.get_or_insert_default().push(letter),
            }
        }
        words.extend(word);
        match (quote, words.first().is_none_or(String::is_empty)) {
            (Some(quote), _) => Err(CommandError::OpenQuote { quote, text: text.to_owned() }),
            (None, true) => Err(CommandError::Empty),
            (None, false) => Ok(Self { words }),
        }
    }
}

impl Command {
    /// The words for a user.
    pub fn words(&self, user: &str) -> Vec<String> {
        self.words.iter().map(|word| word.replace(USER, user)).collect()
    }

    /// Whether it says which user it is for.
    pub fn names_user(&self) -> bool {
        self.words.iter().any(|word| word.contains(USER))
    }

    /// The process to start, for one user or for all. Ctrl-C at the terminal is for the program that asks, and not for users.
    pub(crate) fn process(&self, user: Option<&str>) -> Process {
        let words = self.words(user.unwrap_or_default());
        let mut process = Process::new(words.first().map_or("", String::as_str));
        process.args(words.iter().skip(1));
        process.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        if let Some(user) = user {
            process.env("SGQ_USER", user);
        }
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut process, 0);
        process
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_split_as_people_expect() {
        for (text, expected) in [
            ("python3 clinic.py", vec!["python3", "clinic.py"]),
            ("  sh  -c 'read line; echo \"$line\"' ", vec!["sh", "-c", "read line; echo \"$line\""]),
            (r#"a "b c"d "" 'e"f'"#, vec!["a", "b cd", "", "e\"f"]),
            (r"C:\tools\clinic.exe a\ b \'", vec![r"C:\tools\clinic.exe", "a b", "'"]),
            (r#"say "a \"b\" \n""#, vec!["say", r#"a "b" \n"#]),
        ] {
            assert_eq!(text.parse::<Command>().unwrap().words(""), expected, "{text}");
        }
        assert_eq!(" ".parse::<Command>(), Err(CommandError::Empty));
        assert!(matches!("sh -c 'x".parse::<Command>(), Err(CommandError::OpenQuote { quote: '\'', .. })));
    }

    #[test]
    fn a_name_is_never_a_word_of_its_own() {
        let command: Command = "clinic --as={user} {user}".parse().unwrap();
        assert!(command.names_user());
        assert_eq!(command.words("x y; z"), ["clinic", "--as=x y; z", "x y; z"]);
    }
}
