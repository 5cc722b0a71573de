//! What a fit says of itself: the fields that `sgq fit --json` prints and that a result in Python is made of.

use serde::Serialize;
use serde_json::{Map, Value, json};
use sgq::{Detail, Session, StopReason};
use sgq_data::{
    Formula,
    glm::{Influence, Influences, MODEL_FORMAT, Model, Precision, Statistics, Subject, SubjectError, Weigh},
};

use super::asking::Watch;

/// A fit that is done. Names are those of `sgq fit --json`, which has no covariance, and keeps in files beside it what each user was
/// asked and does to each coefficient.
#[derive(Serialize)]
pub struct Told {
    #[serde(flatten)]
    model: Model,
    weigh: Weigh,
    data: String,
    #[serde(flatten)]
    table: Map<String, Value>,
    /// Row by row; null where there are no standard errors.
    covariance: Option<Vec<Vec<f64>>>,
    influence: Value,
    /// Of every user on every coefficient.
    influences: Vec<Value>,
    reference_levels: Vec<Value>,
    missing_by_column: Vec<Value>,
    queries: u64,
    first_answers: u64,
    closing_answers: u64,
    numbers: u64,
    queries_per_user: Vec<Value>,
    method: String,
    settings: Asking,
    stop: String,
    converged: Option<bool>,
    diverged: bool,
    /// Whether the coefficients are those of the data; null where the method cannot tell.
    verdict: Option<String>,
    believed_off: Option<f64>,
}

/// How users were asked.
#[derive(Serialize)]
pub struct Asking {
    #[serde(skip)]
    pub method: String,
    pub budget: u64,
    pub open: usize,
    pub answers: Detail,
    pub precision: Option<f64>,
    pub step_size: Option<f64>,
    pub seed: u64,
}

impl Told {
    /// Describes a fit; with `close` every user is asked the closing question first.
    #[allow(clippy::too_many_arguments)] // one of each kind
    pub fn new(
        data: &str,
        formula: &Formula,
        user: &str,
        subject: &Subject<'_>,
        precision: Precision<'_>,
        session: &Session<'_>,
        stop: Option<StopReason>,
        watch: &Watch,
        asking: Asking,
        close: bool,
    ) -> Result<Self, SubjectError> {
        let study = &subject.study;
        let diverged = matches!(stop, Some(StopReason::Diverged { .. }));
        let interrupted = stop.is_none();
        let statistics = match close && !diverged && !interrupted {
            true => subject.close(session.point())?,
            false => study.learned(session, &watch.secants),
        };
        let encoding = study.encoding;
        let meter = session.meter();
        let converged = match precision.is_reached(session) {
            Some(reached) => Some(reached && !diverged),
            None => stop.filter(|stop| stop.is_converged()).map(|_| true),
        };
        let stop = stop.map_or_else(|| "interrupted".to_owned(), |reason| reason.to_string());
        let names = &subject.data.user_names;
        let first_answers = names.len() as u64;
        Ok(Self {
            model: Model {
                format: MODEL_FORMAT,
                version: env!("CARGO_PKG_VERSION").to_owned(),
                interrupted,
                diverged,
                user: user.to_owned(),
                target: encoding
                    .response()
                    .as_column()
                    .map_or_else(|| encoding.response().to_string(), ToOwned::to_owned),
                formula: formula.to_string(),
                family: study.family,
                l2: study.l2,
                standardised: session.point().to_vec(),
                encoding: encoding.clone(),
            },
            weigh: study.weigh,
            data: data.to_owned(),
            table: table(&statistics, subject, session.point()),
            covariance: covariance(&statistics),
            influence: json!(Influences::of(&statistics, names)),
            influences: influences(&statistics, names),
            reference_levels: encoding
                .reference_levels()
                .into_iter()
                .map(|(column, levels)| json!({ "column": column, "level": levels.first() }))
                .collect(),
            missing_by_column: subject
                .data
                .missing_by_column
                .iter()
                .map(|(column, rows)| json!({ "column": column, "rows": rows }))
                .collect(),
            queries: meter.billed(),
            first_answers,
            closing_answers: statistics.closings,
            numbers: meter.numbers() + study.first_numbers() + statistics.closing_numbers,
            queries_per_user: queries_per_user(names, meter.billed_per_user()),
            method: asking.method.clone(),
            settings: asking,
            verdict: converged.map(|yes| if yes { "converged".to_owned() } else { format!("not converged: {stop}") }),
            stop,
            converged,
            diverged,
            believed_off: precision.believed(session).filter(|_| !diverged),
        })
    }

    pub fn json(&self) -> serde_json::Result<String> {
        serde_json::to_string(self)
    }
}

fn table(statistics: &Statistics, subject: &Subject<'_>, point: &[f64]) -> Map<String, Value> {
    // Numbers and names always are JSON.
    let mut table = statistics.to_json(&subject.study, point).unwrap_or_default();
    if let Some(Value::String(why)) = table.get_mut("notes") {
        *why = why.replace("(--close)", "(close=True)").replace("--budget", "budget");
    }
    table
}

/// The covariance of the coefficients, where there is one.
pub fn covariance(statistics: &Statistics) -> Option<Vec<Vec<f64>>> {
    let inference = statistics.inference.as_ref()?;
    Some(square(&inference.covariance, inference.coefficients.len()))
}

/// What leaving each user out would change.
pub fn influences(statistics: &Statistics, names: &[String]) -> Vec<Value> {
    statistics.influence.iter().map(|it| influence(it, names)).collect()
}

/// How many answers of each user were billed.
pub fn queries_per_user<'a>(names: &'a [String], billed: impl IntoIterator<Item = &'a u64>) -> Vec<Value> {
    names.iter().zip(billed).map(|(user, queries)| json!({ "user": user, "queries": queries })).collect()
}

/// The whole of a symmetric matrix from its lower half.
fn square(packed: &[f64], dim: usize) -> Vec<Vec<f64>> {
    let at = |row: usize, column: usize| {
        let (row, column) = (row.max(column), row.min(column));
        packed[row * (row + 1) / 2 + column]
    };
    (0..dim).map(|row| (0..dim).map(|column| at(row, column)).collect()).collect()
}

fn influence(of: &Influence, names: &[String]) -> Value {
    json!({
        "user": names.get(of.user),
        "largest": of.largest,
        "flagged": of.flagged,
        "in_std_errors": of.in_std_errors,
    })
}
