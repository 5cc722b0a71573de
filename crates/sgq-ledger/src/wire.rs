//! Questions and answers as JSON: what goes to a user that is a process, a file or a person, and what comes back.

use serde::Serialize;
use serde_json::Value;
use sgq::Detail;
use sgq_data::Encoding;

use crate::{Ledger, Question, Reply, Report};

/// What is shown of a text that made no sense.
const SHOWN: usize = 60;

#[derive(Serialize)]
struct Line<'a> {
    ticket: u64,
    user: &'a str,
    #[serde(skip_serializing_if = "<[f64]>::is_empty")]
    point: &'a [f64],
    wants: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    plan: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<&'a Encoding>,
}

impl Question {
    /// The question as its user gets it, in one line:
    /// `{"ticket":17,"user":"clinic-7","point":[0.5,-1.0],"wants":["gradient"]}`. Numbers read back to the last bit.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        let of_point =
            || Detail::ALL.into_iter().filter(|detail| *detail <= self.wants).map(|it| it.to_string()).collect();
        let wants = self.report.map_or_else(of_point, |report| vec![report.to_string()]);
        let shared = self.shared.as_deref();
        serde_json::to_string(&Line {
            ticket: self.ticket,
            user: &self.name,
            point: &self.point,
            wants,
            plan: shared.map(|shared| &*shared.plan),
            model: shared.and_then(|shared| shared.model.as_ref()),
        })
    }
}

/// What a user has said, with whatever it says of the question.
///
/// ```
/// use sgq_ledger::{Message, Saying};
///
/// let message = Message::from_json(r#"{"ticket": 17, "error": "the database is down"}"#).unwrap();
/// assert_eq!((message.ticket, message.saying), (Some(17), Saying::Error("the database is down".to_owned())));
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Message {
    /// The question that it is about.
    pub ticket: Option<u64>,
    /// Who says it, by its own account.
    pub user: Option<String>,
    /// What it says.
    pub saying: Saying,
}

/// An answer, or why there is none.
#[derive(Clone, Debug, PartialEq)]
pub enum Saying {
    /// An answer.
    Answer(Reply),
    /// An answer to a question to everybody.
    Report(Report),
    /// There is none, and this is why.
    Error(String),
}

/// What makes no sense, and why. What can be told of the question is told.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Nonsense {
    /// The question that it seems to be about.
    pub ticket: Option<u64>,
    /// Who says it, by its own account.
    pub user: Option<String>,
    /// What is wrong with it.
    pub why: String,
    /// Whether it is not even JSON: half of a file is not.
    pub not_json: bool,
}

impl Message {
    /// What can be told of a text that is not JSON. Programs write `NaN` and `Infinity`, which JSON has not: such a text is whole all the same.
    fn not_json(text: &str, error: &serde_json::Error) -> Nonsense {
        const NO_NUMBERS: [&str; 3] = ["NaN", "-Infinity", "Infinity"];
        let replaced = NO_NUMBERS.iter().fold(text.to_owned(), |text, it| text.replace(it, "null"));
        match serde_json::from_str::<Value>(&replaced) {
            Ok(whole) => Nonsense {
                ticket: whole.get("ticket").and_then(Value::as_u64),
                user: whole.get("user").and_then(Value::as_str).map(str::to_owned),
                why: "it holds NaN or Infinity, which is no number: send {\"error\": …} in its place".to_owned(),
                not_json: false,
            },
            Err(_) => Nonsense { why: format!("it is not JSON: {error}"), not_json: true, ..Nonsense::default() },
        }
    }

    /// Reads a line, or a file.
    pub fn from_json(text: &str) -> Result<Self, Nonsense> {
        let text = without_mark(text);
        let value: Value = serde_json::from_str(text).map_err(|error| Self::not_json(text, &error))?;
        let mut nonsense = Nonsense::default();
        if let Some(ticket) = value.get("ticket") {
            nonsense.ticket = ticket.as_u64();
            if nonsense.ticket.is_none() {
                nonsense.why = format!("\"ticket\" is {}: it must be that of the question", shown(&ticket.to_string()));
                return Err(nonsense);
            }
        }
        if let Some(user) = value.get("user") {
            nonsense.user = user.as_str().map(str::to_owned);
            if nonsense.user.is_none() {
                nonsense.why = format!("\"user\" is {}: it must be a name", shown(&user.to_string()));
                return Err(nonsense);
            }
        }
        let saying = match error_in(&value) {
            Some(_) if value.get("gradient").is_some_and(|it| !it.is_null()) => {
                Err("it has a gradient and an error: send one of them".to_owned())
            }
            Some(error) => Ok(Saying::Error(error)),
            None => match Report::in_message(&value) {
                Some(_) if value.get("gradient").is_some_and(|it| !it.is_null()) => {
                    Err("it has a gradient and an answer to a question to everybody: send one of them".to_owned())
                }
                Some(report) => report.map(Saying::Report),
                None => Reply::from_value(&value).map(Saying::Answer),
            },
        };
        match saying {
            Ok(saying) => Ok(Self { ticket: nonsense.ticket, user: nonsense.user, saying }),
            Err(why) => Err(Nonsense { why, ..nonsense }),
        }
    }
}

/// What an answer says went wrong. Programs that always write the key leave it empty where nothing did.
fn error_in(value: &Value) -> Option<String> {
    match value.get("error")? {
        Value::Null | Value::Bool(false) => None,
        Value::String(words) => Some(words.clone()).filter(|words| !words.trim().is_empty()),
        other => Some(other.to_string()),
    }
}

/// A text without the byte order mark that some programs begin a file with.
pub(crate) fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// The beginning of a text.
pub(crate) fn shown(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// As much of somebody's words as a row should hold.
pub(crate) fn kept(words: &str) -> String {
    const MOST: usize = 300;
    match words.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &words[..end]),
        None => words.to_owned(),
    }
}

/// How many bytes an answer to a session may take, with room to spare: all numbers that it asks for, at 40 bytes each, with a
/// variance for each coordinate, and a Hessian as a full matrix.
pub(crate) fn longest_answer(ledger: &Ledger) -> usize {
    const ROOM: usize = 64 << 10;
    /// Levels and their counts, before anybody knows how many there are.
    const FIRST_OF_STUDY: usize = 16 << 20;
    const MOST: usize = 1 << 30;
    const NUMBER: usize = 40;
    let (session, has_plan) = (ledger.session(), ledger.terms().is_some());
    let dim = session.point().len();
    let hessian = if session.answers() == Detail::Hessian || has_plan { dim.saturating_mul(dim) } else { 0 };
    hessian
        .saturating_add(dim.saturating_mul(2))
        .saturating_mul(NUMBER)
        .saturating_add(if has_plan { FIRST_OF_STUDY } else { ROOM })
        .min(MOST)
}

#[cfg(test)]
mod tests {
    use sgq::Why;

    use super::*;

    #[test]
    fn a_question_is_a_line() {
        let mut question = Question {
            ticket: 17,
            user: 6,
            name: "clinic \"7\"".into(),
            point: vec![0.1 + 0.2, -0.0, 1e-300].into(),
            wants: Detail::Hessian,
            report: None,
            shared: None,
            why: Why::New,
            explored: None,
            asked_at: 0,
        };
        let line = question.to_json().unwrap();
        assert_eq!(
            line,
            r#"{"ticket":17,"user":"clinic \"7\"","point":[0.30000000000000004,-0.0,1e-300],"wants":["gradient","loss","hessian"]}"#
        );
        question.wants = Detail::Gradient;
        assert!(question.to_json().unwrap().ends_with(r#""wants":["gradient"]}"#));
    }

    #[test]
    fn an_error_that_says_nothing_is_none() {
        for error in ["\"\"", "\" \"", "false", "null"] {
            for mark in ["", "\u{feff}"] {
                let text = format!("{mark}{{\"ticket\": 3, \"gradient\": [1], \"error\": {error}}}");
                assert_eq!(Message::from_json(&text).unwrap().saying, Saying::Answer(Reply::new(vec![1.0])), "{text}");
            }
        }
        for (error, words) in [("\"down\"", "down"), ("true", "true"), ("[1]", "[1]")] {
            let said = Message::from_json(&format!("{{\"error\": {error}}}")).unwrap().saying;
            assert_eq!(said, Saying::Error(words.to_owned()));
        }
    }

    #[test]
    fn nonsense_says_what_it_can() {
        for (text, words, ticket) in [
            ("{\"ticket\": 3, \"gradient\":", "not JSON", None),
            ("{\"gradient\": [NaN, 1, -Infinity], \"ticket\" : 3}", "NaN or Infinity", Some(3)),
            ("{\"ticket\": -3, \"gradient\": [NaN]}", "NaN or Infinity", None),
            ("{\"ticket\": -3, \"gradient\": [1]}", "\"ticket\" is -3", None),
            ("{\"ticket\": 3, \"user\": 5, \"gradient\": [1]}", "\"user\" is 5", Some(3)),
            ("{\"ticket\": 3, \"gradeint\": [1]}", "gradeint", Some(3)),
            ("{\"ticket\": 3, \"gradient\": [1e999]}", "not JSON", None),
            ("{\"ticket\": 3}", "no \"gradient\"", Some(3)),
            ("[]", "not a JSON object", None),
            (
                "{\"ticket\": 3, \"gradient\": [1], \"error\": \"down\"}",
                "a gradient and an error: send one of them",
                Some(3),
            ),
            ("{\"ticket\": 3, \"error\": \"\"}", "no \"gradient\"", Some(3)),
        ] {
            let nonsense = Message::from_json(text).unwrap_err();
            assert!(nonsense.why.contains(words), "{text}: {}", nonsense.why);
            assert_eq!((nonsense.ticket, nonsense.not_json), (ticket, words == "not JSON"), "{text}");
        }
        let deep = "[".repeat(100_000);
        assert!(Message::from_json(&deep).unwrap_err().not_json);
    }
}
