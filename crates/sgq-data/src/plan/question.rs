//! A question as a clinic gets it: a line of JSON.

use serde_json::{Map, Value};
use sgq::Detail;

use crate::Encoding;

/// The largest ticket that every program which reads JSON keeps as it is.
const LARGEST_TICKET: u64 = 1 << 53;

/// What is asked.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Asked {
    /// Counts, means and levels.
    Summary,
    /// What is wanted at a point.
    Point(At, Vec<Detail>),
    /// The closing answer at a point.
    Closing(At),
}

/// Where something is asked for.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct At {
    pub point: Vec<f64>,
    pub model: Box<Encoding>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Question {
    pub ticket: u64,
    pub user: String,
    pub plan: String,
    pub asked: Asked,
}

/// What makes no sense, and the ticket where that can be told.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Nonsense {
    pub ticket: Option<u64>,
    pub why: String,
}

impl Question {
    pub fn from_json(text: &str) -> Result<Self, Nonsense> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let no_ticket = |why: String| Nonsense { ticket: None, why };
        let value: Value =
            serde_json::from_str(text).map_err(|error| no_ticket(format!("the question is not JSON: {error}")))?;
        let Value::Object(fields) = value else {
            return Err(no_ticket("the question is not a JSON object".to_owned()));
        };
        let ticket = fields.get("ticket").and_then(Value::as_u64).filter(|ticket| *ticket <= LARGEST_TICKET);
        let ticket = ticket
            .ok_or_else(|| no_ticket("the question has no \"ticket\" that is a whole number up to 2^53".to_owned()))?;
        Self::with_ticket(ticket, fields).map_err(|why| Nonsense { ticket: Some(ticket), why })
    }

    fn with_ticket(ticket: u64, mut fields: Map<String, Value>) -> Result<Self, String> {
        let text = |name: &str| {
            let text = fields.get(name).and_then(Value::as_str).map(str::to_owned);
            text.ok_or_else(|| format!("the question has no {name:?}"))
        };
        let user = text("user")?;
        let plan = text("plan").map_err(|error| format!("{error}: it is not of a session with a plan"))?;
        let wants = fields.get("wants").and_then(Value::as_array);
        let wants: Option<Vec<String>> =
            wants.and_then(|wants| wants.iter().map(|want| want.as_str().map(str::to_owned)).collect());
        let wants = wants.ok_or("the question's \"wants\" is not a list of words")?;
        let words: Vec<&str> = wants.iter().map(String::as_str).collect();
        let asked = match words[..] {
            ["summary"] => Asked::Summary,
            ["closing"] => Asked::Closing(at(&mut fields)?),
            _ => {
                let wants = words.into_iter().map(detail).collect::<Result<Vec<Detail>, String>>()?;
                if !wants.contains(&Detail::Gradient) {
                    return Err("the question's \"wants\" names no gradient".to_owned());
                }
                Asked::Point(at(&mut fields)?, wants)
            }
        };
        Ok(Self { ticket, user, plan, asked })
    }
}

fn detail(word: &str) -> Result<Detail, String> {
    let found = Detail::ALL.into_iter().find(|detail| detail.to_string() == word);
    found.ok_or_else(|| format!("it asks for {word:?}, which no clinic gives"))
}

fn at(fields: &mut Map<String, Value>) -> Result<At, String> {
    let point = fields.get("point").and_then(Value::as_array);
    let point: Option<Vec<f64>> = point.and_then(|point| point.iter().map(Value::as_f64).collect());
    let point = point.ok_or("the question's \"point\" is not a list of numbers")?;
    let model = fields.remove("model").ok_or("the question has no \"model\"")?;
    let model =
        serde_json::from_value(model).map_err(|error| format!("the question's \"model\" is damaged: {error}"))?;
    Ok(At { point, model })
}

/// Why a question is not answered. What goes out names no value of a row, and no sum that was not agreed on.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Refusal {
    /// What the coordinator is told.
    pub why: String,
    /// What the clinic's owner is told besides.
    pub to_owner: Option<String>,
    /// Whether it depends on more of the rows than the first answer tells. Whoever may be refused without end learns that bit by bit, so
    /// it counts as an answer.
    pub counts: bool,
}

impl Refusal {
    pub fn with(why: &str, to_owner: impl ToString) -> Self {
        Self { to_owner: Some(to_owner.to_string()), ..why.into() }
    }

    /// One that depends on the rows.
    pub fn of_rows(why: &str, to_owner: impl ToString) -> Self {
        Self { counts: true, ..Self::with(why, to_owner) }
    }
}

impl From<String> for Refusal {
    fn from(why: String) -> Self {
        Self { why, to_owner: None, counts: false }
    }
}

impl From<&str> for Refusal {
    fn from(why: &str) -> Self {
        why.to_owned().into()
    }
}
