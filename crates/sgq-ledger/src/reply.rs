//! What a user sends back, as JSON or from code.

use serde_json::{Map, Value};
use sgq::{Answer, answer::packed};

use crate::{Privacy, record::length, wire::without_mark};

/// A user's answer: its gradient, and whatever else it has to say.
///
/// ```
/// use sgq_ledger::Reply;
///
/// let reply = Reply::from_json(r#"{"ticket": 17, "gradient": [0.5, -1], "loss": 0.69}"#)?;
/// assert_eq!((reply.gradient, reply.loss), (vec![0.5, -1.0], Some(0.69)));
/// assert!(Reply::from_json(r#"{"gradeint": [0.5]}"#).is_err());
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Reply {
    /// `∇f_i(x)`.
    pub gradient: Vec<f64>,
    /// `f_i(x)`.
    pub loss: Option<f64>,
    /// `∇²f_i(x)`: the lower triangle, row by row.
    pub hessian: Option<Vec<f64>>,
    /// The variance of the noise in each coordinate of the gradient, or one number for all.
    pub variance: Option<Vec<f64>>,
    /// What the user counts in the objective, such as how many rows it has.
    pub weight: Option<f64>,
    /// What the answer cost.
    pub cost: Option<f64>,
    /// The noise that the user has added for its own protection.
    pub privacy: Option<Privacy>,
}

/// What an answer may say. What a question held may come back with it.
const KEYS: [&str; 8] = ["gradient", "loss", "hessian", "variance", "weight", "cost", "privacy", "error"];
const ECHOED: [&str; 6] = ["ticket", "user", "point", "wants", "plan", "model"];

/// No number may be larger: the square of it would be past what numbers can hold.
pub(crate) const LARGEST: f64 = 1e150;

impl Reply {
    /// A gradient and nothing else.
    pub fn new(gradient: Vec<f64>) -> Self {
        Self { gradient, ..Self::default() }
    }

    /// The same of an answer in code.
    pub fn of(answer: &Answer<'_>) -> Self {
        let owned = |numbers: Option<&[f64]>| numbers.map(<[f64]>::to_vec);
        Self {
            gradient: answer.gradient.to_vec(),
            loss: answer.loss,
            hessian: owned(answer.hessian),
            variance: owned(answer.variance),
            weight: answer.weight,
            cost: answer.cost,
            privacy: None,
        }
    }

    /// Reads an answer; the error says what is wrong with it.
    pub fn from_json(text: &str) -> Result<Self, String> {
        let value: Value =
            serde_json::from_str(without_mark(text)).map_err(|error| format!("the answer is not JSON: {error}"))?;
        Self::from_value(&value)
    }

    pub(crate) fn from_value(value: &Value) -> Result<Self, String> {
        let Some(fields) = value.as_object() else {
            return Err("the answer is not a JSON object: send {\"ticket\": …, \"gradient\": […]}".to_owned());
        };
        if let Some(key) = fields.keys().find(|key| !KEYS.contains(&&***key) && !ECHOED.contains(&&***key)) {
            return Err(format!("an answer has no {key:?}; it has {}", KEYS.join(", ")));
        }
        let gradient = vector(fields, "gradient")?.ok_or("the answer has no \"gradient\"")?;
        let privacy = match fields.get("privacy") {
            None | Some(Value::Null) => None,
            Some(value) => Some(Privacy::from_value(value)?),
        };
        let stated = vector(fields, "variance")?;
        Ok(Self {
            hessian: hessian(fields, gradient.len())?,
            loss: number(fields, "loss")?,
            variance: stated.or_else(|| privacy.map(|privacy| vec![privacy.noise * privacy.noise])),
            weight: number(fields, "weight")?,
            cost: number(fields, "cost")?,
            privacy,
            gradient,
        })
    }

    /// What the session is told.
    pub fn answer(&self) -> Answer<'_> {
        let mut answer = Answer::new(&self.gradient);
        (answer.loss, answer.hessian, answer.variance) = (self.loss, self.hessian.as_deref(), self.variance.as_deref());
        (answer.weight, answer.cost) = (self.weight, self.cost);
        answer
    }

    /// What no session should be told, in words.
    pub(crate) fn is_too_large(&self) -> Option<String> {
        let large = |number: f64| number.is_finite() && number.abs() > LARGEST;
        let one = |what, number: Option<f64>| number.filter(|number| large(*number)).map(|number| (what, number));
        // Looked for only where there is one: long gradients are gone through eight at a time.
        let many = |what, numbers: &[f64]| {
            let any = numbers.iter().fold(false, |any, number| any | large(*number));
            if any { one(what, numbers.iter().copied().find(|number| large(*number))) } else { None }
        };
        let found = many("gradient", &self.gradient)
            .or_else(|| many("Hessian", self.hessian.as_deref()?))
            .or_else(|| many("variance", self.variance.as_deref()?))
            .or_else(|| one("loss", self.loss))
            .or_else(|| one("weight", self.weight))
            .or_else(|| one("cost", self.cost));
        found.map(|(what, value)| format!("the {what} holds {value:e}: numbers may be as large as {LARGEST:e}"))
    }

    /// How much it can move the point: the length of its gradient, times what its user counts.
    pub(crate) fn pull(&self) -> f64 {
        length(&self.gradient) * self.weight.unwrap_or(1.0)
    }
}

fn number(fields: &Map<String, Value>, name: &str) -> Result<Option<f64>, String> {
    match fields.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => {
            value.as_f64().map(Some).ok_or_else(|| format!("{name:?} is {}: it must be a number", short(value)))
        }
    }
}

/// A list of numbers, or one number.
fn vector(fields: &Map<String, Value>, name: &str) -> Result<Option<Vec<f64>>, String> {
    let numbers = match fields.get(name) {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::Array(numbers)) => numbers,
        Some(value) => {
            return number(fields, name)
                .map(|it| it.map(|it| vec![it]))
                .map_err(|_| format!("{name:?} is {}: it must be a list of numbers", short(value)));
        }
    };
    let number = |(place, value): (usize, &Value)| {
        value.as_f64().ok_or_else(|| format!("{name:?} has {} at place {place}: it must be a number", short(value)))
    };
    numbers.iter().enumerate().map(number).collect::<Result<_, _>>().map(Some)
}

/// All of it row by row, or the lower triangle in one list.
fn hessian(fields: &Map<String, Value>, dim: usize) -> Result<Option<Vec<f64>>, String> {
    let rows = match fields.get("hessian") {
        Some(Value::Array(rows)) if rows.first().is_some_and(Value::is_array) => rows,
        _ => return vector(fields, "hessian"),
    };
    let wrong = || format!("\"hessian\" must have {dim} rows of {dim} numbers, or be the lower triangle in one list");
    let row = |row: &Value| -> Option<Vec<f64>> { row.as_array()?.iter().map(Value::as_f64).collect() };
    let rows: Vec<Vec<f64>> = rows.iter().map(row).collect::<Option<_>>().ok_or_else(wrong)?;
    if rows.len() != dim || rows.iter().any(|row| row.len() != dim) {
        return Err(wrong());
    }
    for (i, row) in rows.iter().enumerate() {
        for (j, value) in row.iter().enumerate().take(i) {
            let other = rows[j][i];
            if (value - other).abs() > 1e-6 * (value.abs() + other.abs()) {
                return Err(format!(
                    "the Hessian is not symmetric: {value} in row {i}, column {j}, and {other} across"
                ));
            }
        }
    }
    Ok(Some(packed(&rows.concat(), dim)))
}

/// The beginning of a value, for a message.
fn short(value: &Value) -> String {
    const LONGEST: usize = 60;
    let text = value.to_string();
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_answers_are_refused_by_name() {
        for (text, words) in [
            ("[1, 2]", "not a JSON object"),
            ("{\"gradient\": [NaN]}", "not JSON"),
            ("{\"loss\": 1}", "no \"gradient\""),
            ("{\"gradient\": [1, \"2\"]}", "at place 1"),
            ("{\"gradient\": \"1\"}", "a list of numbers"),
            ("{\"gradient\": [1], \"losss\": 1}", "\"losss\""),
            ("{\"gradient\": [1, 2], \"hessian\": [[1, 2], [3, 4]]}", "not symmetric"),
            ("{\"gradient\": [1, 2], \"hessian\": [[1, 2]]}", "2 rows of 2"),
            ("{\"gradient\": [1], \"privacy\": {\"noise\": -1, \"sensitivity\": 1}}", "noise"),
        ] {
            let error = Reply::from_json(text).unwrap_err();
            assert!(error.contains(words), "{text}: {error}");
        }
    }

    #[test]
    fn everything_is_read() {
        let text = "{\"ticket\": 3, \"user\": \"a\", \"gradient\": [1, 2.5], \"loss\": 1, \"hessian\": [[1, 2], [2, 5]], \
                    \"weight\": 7, \"cost\": 0.5, \"privacy\": {\"sensitivity\": 0.1, \"noise\": 2}}";
        let reply = Reply::from_json(text).unwrap();
        assert_eq!(reply.hessian, Some(vec![1.0, 2.0, 5.0]));
        assert_eq!(reply.variance, Some(vec![4.0]));
        assert_eq!((reply.weight, reply.cost), (Some(7.0), Some(0.5)));
        assert_eq!(reply.privacy, Some(Privacy { sensitivity: 0.1, noise: 2.0 }));
        assert_eq!(Reply::of(&reply.answer()), Reply { privacy: None, ..reply });
    }
}
