//! The file that says who the users are: a column `user`, and as it may be `cost`, `weight` and `smoothness`.

use std::{collections::BTreeMap, fs, path::Path};

use sgq_bench::experiment::suggestion;
use sgq_ledger::User;
use thiserror::Error;

const COLUMNS: [&str; 4] = ["user", "cost", "weight", "smoothness"];
/// Squares of numbers are to be numbers.
const LARGEST: f64 = 1e150;
const SMALLEST: f64 = 1e-150;
const DELIMITERS: [u8; 3] = [b',', b';', b'\t'];

/// What is wrong with the file, and where.
#[derive(Debug, Error)]
pub enum ClinicsError {
    #[error("{file}: cannot be read: {error}; --users takes a CSV file with a column user")]
    Unreadable { file: String, error: std::io::Error },
    #[error("{file}: line {line}: {what}")]
    Line { file: String, line: u64, what: String },
    #[error("{file}: it has a header and no users: give each user a line")]
    Empty { file: String },
}

pub fn read(path: &Path) -> Result<Vec<User>, ClinicsError> {
    let file = path.display().to_string();
    let bytes = fs::read(path).map_err(|error| ClinicsError::Unreadable { file: file.clone(), error })?;
    parse(&file, &bytes)
}

fn parse(file: &str, bytes: &[u8]) -> Result<Vec<User>, ClinicsError> {
    let at = |line: u64, what: String| ClinicsError::Line { file: file.to_owned(), line, what };
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    // With two characters at the end of a line, the reader is a line behind.
    let ends = |pair: &[u8]| pair == b"\r\n";
    let bytes: Vec<u8> = bytes
        .iter()
        .enumerate()
        .filter(|(at, _)| !bytes.get(*at..at + 2).is_some_and(ends))
        .map(|(_, byte)| *byte)
        .collect();
    let bytes = &bytes[..];
    let first = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let count = |delimiter: &&u8| first.iter().filter(|byte| byte == delimiter).count();
    // Of those that are equally often in the header the first one.
    let delimiter = DELIMITERS.iter().rev().max_by_key(count).copied().unwrap_or(b',');
    let mut reader = csv::ReaderBuilder::new().delimiter(delimiter).trim(csv::Trim::All).from_reader(bytes);
    let broken = |error: csv::Error| {
        let line = error.position().map_or(1, csv::Position::line);
        let what = match error.kind() {
            csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
                format!("it has {len} values, and the header {expected_len}")
            }
            csv::ErrorKind::Utf8 { .. } => "it is not text in UTF-8".to_owned(),
            _ => error.to_string(),
        };
        at(line, what)
    };
    let header = reader.headers().map_err(&broken)?.clone();
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    for (place, name) in header.iter().enumerate() {
        if !COLUMNS.contains(&name) {
            let hint = suggestion(name, COLUMNS.into_iter());
            return Err(at(1, format!("a column is called {name:?}{hint}")));
        }
        if places.insert(name, place).is_some() {
            return Err(at(1, format!("two columns are called {name:?}: leave out one of them")));
        }
    }
    if !places.contains_key("user") {
        return Err(at(1, "there is no column \"user\", which names them".to_owned()));
    }
    let (mut users, mut lines) = (Vec::new(), BTreeMap::new());
    for record in reader.records() {
        let record = record.map_err(&broken)?;
        let line = record.position().map_or(0, csv::Position::line);
        let cell = |column: &str| places.get(column).and_then(|place| record.get(*place)).unwrap_or_default();
        let number = |column: &str| match cell(column) {
            "" => Ok(None),
            text => {
                let number = text.parse().ok().filter(|number: &f64| *number > 0.0 && number.is_finite());
                let wrong = || at(line, format!("the {column} is {text:?}: it must be a positive number"));
                match number.ok_or_else(wrong)? {
                    number if (SMALLEST..=LARGEST).contains(&number) => Ok(Some(number)),
                    _ => Err(at(
                        line,
                        format!("the {column} is {text}: it must lie between {SMALLEST:e} and {LARGEST:e}"),
                    )),
                }
            }
        };
        let name = cell("user");
        if name.is_empty() {
            return Err(at(line, "the user has no name".to_owned()));
        }
        if let Some(why) = User::wrong_name(name) {
            return Err(at(line, format!("the user is called {name:?}: {why}")));
        }
        if let Some(earlier) = lines.insert(name.to_owned(), line) {
            return Err(at(
                line,
                format!("the user {name:?} is on line {earlier} already: every user needs a name of its own"),
            ));
        }
        let mut user = User::named(name);
        (user.cost, user.weight, user.smoothness) = (number("cost")?, number("weight")?, number("smoothness")?);
        users.push(user);
    }
    for (column, value) in
        [("weight", (|user| user.weight) as fn(&User) -> Option<f64>), ("smoothness", |user| user.smoothness)]
    {
        let lacks = users.iter().find(|user| value(user).is_none());
        if let Some(user) = lacks.filter(|_| users.iter().any(|user| value(user).is_some())) {
            let line = lines.get(&user.name).copied().unwrap_or(0);
            return Err(at(
                line,
                format!("the user {:?} has no {column}, and others have: give all or none", user.name),
            ));
        }
    }
    if users.is_empty() { Err(ClinicsError::Empty { file: file.to_owned() }) } else { Ok(users) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_read() {
        let text = "\u{feff}user;cost;smoothness\r\n north ;2.5;1\r\n\"so;uth\";;4\r\n";
        let users = parse("c.csv", text.as_bytes()).unwrap();
        assert_eq!(users.iter().map(|user| &*user.name).collect::<Vec<_>>(), ["north", "so;uth"]);
        assert_eq!(
            (users[0].cost, users[1].cost, users[1].smoothness, users[1].weight),
            (Some(2.5), None, Some(4.0), None)
        );
    }

    #[test]
    fn mistakes_are_named_by_line() {
        for (text, expected) in [
            ("user,wieght\na,1\n", "c.csv: line 1: a column is called \"wieght\"; did you mean \"weight\"?"),
            ("user,cost,cost\na,1,1\n", "line 1: two columns are called \"cost\""),
            ("cost\n1\n", "line 1: there is no column \"user\""),
            ("user,cost\na,1\nb,free\n", "line 3: the cost is \"free\": it must be a positive number"),
            ("user,cost\na,1\nb,-2\n", "line 3: the cost is \"-2\""),
            ("user,cost\na,1\nb,inf\n", "line 3: the cost is \"inf\""),
            ("user\na\n\nb\na\n", "line 5: the user \"a\" is on line 2 already"),
            ("user,cost\na,1\nb,1e200\n", "line 3: the cost is 1e200: it must lie between 1e-150 and 1e150"),
            ("user,smoothness\na,1e-200\n", "line 2: the smoothness is 1e-200: it must lie between"),
            ("user,cost\na,1\n\"b\nc\",1\n", "line 3: the user is called \"b\\nc\": a name has no line breaks"),
            ("user\r\na\r\na\r\n", "line 3: the user \"a\" is on line 2 already"),
            ("user,cost\na,1,2\n", "line 2: it has 3 values, and the header 2"),
            ("user,cost\n,1\n", "line 2: the user has no name"),
            ("user,weight\na,1\nb,\n", "line 3: the user \"b\" has no weight, and others have"),
            ("user\n", "a header and no users"),
            ("", "line 1: there is no column \"user\""),
        ] {
            let error = parse("c.csv", text.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
        let error = parse("c.csv", b"user\na\nb\xff\n").unwrap_err().to_string();
        assert!(error.contains("line 3: it is not text in UTF-8"), "{error}");
    }
}
