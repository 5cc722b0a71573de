//! A clinic that answers by the plan.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde::Serialize;
use sgq::{Detail, Oracle as _, Problem as _, answer::packed};
use thiserror::Error;

use super::{
    StudyPlan, Summary, SummaryError,
    log::{Entry, Given, Log, LogError, now},
    model::{Prepared, hash},
    noise::Noise,
    question::{Asked, At, Nonsense, Question, Refusal},
    rules::counted,
};
use crate::{
    InFile, ReadError,
    glm::{Closing, Observations},
};

/// Which number it is depends on the rows.
const NOT_FINITE: &str = "the answer at this point has a number that is not finite: this counts as an answer";

/// How a clinic answers, where the plan leaves it to the clinic.
///
/// ```
/// let options = sgq_data::plan::Options { log: Some("mine.answers.log".into()), ..Default::default() };
/// assert_eq!(options.clip, None);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    /// No row's gradient counts for more than this, as a Euclidean norm. Goes with `noise`.
    pub clip: Option<f64>,
    /// The standard deviation of the noise in each coordinate of a gradient. Goes with `clip`.
    pub noise: Option<f64>,
    /// The file that keeps every answer, and counts them across restarts; none to keep them in memory.
    pub log: Option<PathBuf>,
}

/// One clinic's side of a study: its rows, the plan, and the log of what it has answered.
///
/// ```
/// use sgq_data::plan::{Clinic, Options, Rules, StudyPlan};
///
/// let rules = Rules { min_rows: 3, ..Rules::default() };
/// let plan = StudyPlan { rules, ..StudyPlan::new("died ~ age".parse()?, "binomial".parse()?) };
/// let question = format!(r#"{{"ticket":0,"user":"north","wants":["summary"],"plan":"{}"}}"#, plan.id());
/// let data = b"age,died\n61,no\n70,yes\n55,no\n".to_vec();
/// let mut clinic = Clinic::new(plan, data, "north", &Options::default())?;
/// let reply = clinic.answer(&question);
/// assert!(reply.line.starts_with(r#"{"ticket":0,"user":"north","summary":{"rows":3,"#));
/// assert!(reply.words.starts_with("the first question: 10 numbers given"), "{}", reply.words);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Clinic {
    plan: StudyPlan,
    id: String,
    name: String,
    data: Vec<u8>,
    /// What tells the file from another.
    digest: String,
    summary: Summary,
    noise: Option<Noise>,
    log: Log,
    /// The model of the last question, where there was one.
    prepared: Option<Prepared>,
}

/// What a clinic says to a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The answer, or the refusal: a line of JSON, without the line break.
    pub line: String,
    /// What it discloses, for the clinic's owner.
    pub words: String,
    /// The same without what is for the owner alone: who gets the answer may read it.
    pub public_words: String,
    /// Whether it is an answer.
    pub outcome: Outcome,
}

/// What became of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is answered.
    Answered,
    /// It was answered before: the answer is the same.
    Again,
    /// It is not answered.
    Refused,
}

/// Why a clinic cannot answer at all.
#[derive(Debug, Error)]
#[allow(missing_docs)] // the message says what each field is
#[non_exhaustive]
pub enum ClinicError {
    #[error(transparent)]
    File(#[from] InFile<ReadError>),
    #[error(transparent)]
    Summary(#[from] SummaryError),
    #[error(transparent)]
    InFile(#[from] InFile<SummaryError>),
    #[error(transparent)]
    Log(#[from] LogError),
    #[error("{what} is {value}: it must be a positive number")]
    NotPositive { what: &'static str, value: f64 },
    #[error(
        "clip and noise go together: noise protects nobody unless rows are clipped, and clipping alone only spoils the fit"
    )]
    OneOfTwo,
}

impl Clinic {
    /// A clinic of this name, whose rows are in a CSV file, plain or gzip.
    pub fn open(plan: StudyPlan, data: impl AsRef<Path>, name: &str, options: &Options) -> Result<Self, ClinicError> {
        let path = data.as_ref();
        let at = || path.to_owned();
        let bytes = fs::read(path).map_err(|error| InFile { path: at(), error: ReadError::Io(error) })?;
        Self::new(plan, bytes, name, options).map_err(|error| match error {
            ClinicError::Summary(error) => InFile { path: at(), error }.into(),
            error => error,
        })
    }

    /// The same with the file's bytes.
    pub fn new(plan: StudyPlan, data: Vec<u8>, name: &str, options: &Options) -> Result<Self, ClinicError> {
        let positive = |what, value: f64| match value.is_finite() && value > 0.0 {
            true => Ok(value),
            false => Err(ClinicError::NotPositive { what, value }),
        };
        let noise = match (options.clip, options.noise) {
            (None, None) => None,
            (Some(clip), Some(noise)) => {
                Some(Noise { clip: positive("the clip", clip)?, deviation: positive("the noise", noise)? })
            }
            _ => return Err(ClinicError::OneOfTwo),
        };
        let summary = Summary::of(&data[..], &plan)?;
        let log = options.log.as_ref().map_or_else(|| Ok(Log::in_memory()), |path| Log::open(path))?;
        Ok(Self {
            id: plan.id(),
            plan,
            name: name.to_owned(),
            digest: blake3::hash(&data).to_hex().to_string(),
            data,
            summary,
            noise,
            log,
            prepared: None,
        })
    }

    /// What the first answer discloses.
    pub fn summary(&self) -> &Summary {
        &self.summary
    }

    /// How many answers at points, and how many closing answers, were given by this plan, now and earlier. Refusals that depend on the
    /// rows count as well.
    pub fn given(&self) -> (u64, u64) {
        let asked_for = |entry: &Entry, what: &str| entry.wants.iter().any(|want| want == what);
        let count = |what| self.log.of(&self.id, &self.name).filter(|entry| asked_for(entry, what)).count() as u64;
        (count("gradient"), count("closing"))
    }

    /// Whether this question was answered before: its answer would be the same.
    pub fn has_answered(&self, question: &str) -> bool {
        let known = |question: &Question| {
            let key = Key::of(question).ok()?;
            (question.plan == self.id && question.user == self.name)
                .then(|| self.known(question.ticket, &key))
                .flatten()
                .filter(|entry| entry.refused.is_none())
        };
        Question::from_json(question).is_ok_and(|question| known(&question).is_some())
    }

    fn known(&self, ticket: u64, key: &Key) -> Option<&Entry> {
        let is_it = |entry: &&Entry| entry.answer.ticket == ticket && key.is_of(entry);
        self.log.of(&self.id, &self.name).find(is_it)
    }

    /// The answer to a question, a line of JSON; it is in the log before this returns. What the plan does not allow is refused, and so is
    /// what makes no sense.
    pub fn answer(&mut self, question: &str) -> Reply {
        #[derive(Serialize)]
        struct Refused<'a> {
            #[serde(skip_serializing_if = "Option::is_none")]
            ticket: Option<u64>,
            #[serde(skip_serializing_if = "Option::is_none")]
            user: Option<&'a str>,
            error: &'a str,
        }
        let (ticket, about, made) = match Question::from_json(question) {
            Ok(question) => {
                let about = match question.asked {
                    Asked::Summary => "the first question".to_owned(),
                    Asked::Closing(_) => "the closing question".to_owned(),
                    Asked::Point(..) => format!("question {}", question.ticket),
                };
                (Some(question.ticket), about, self.take(&question))
            }
            Err(Nonsense { ticket: Some(ticket), why }) => {
                (Some(ticket), format!("question {ticket}"), Err(why.into()))
            }
            Err(Nonsense { ticket: None, why }) => (None, "a line".to_owned(), Err(why.into())),
        };
        let made = made.and_then(|(given, outcome, words)| {
            serde_json::to_string(&given).map(|line| (line, outcome, words)).map_err(|error| error.to_string().into())
        });
        match made {
            Ok((line, outcome, words)) => {
                let words = format!("{about}: {words}");
                Reply { line, public_words: words.clone(), words, outcome }
            }
            Err(Refusal { why, to_owner, .. }) => {
                let more = to_owner.map(|more| format!(" (not sent: {more})")).unwrap_or_default();
                let refused = Refused { ticket, user: ticket.map(|_| &*self.name), error: &why };
                let line = serde_json::to_string(&refused).unwrap_or_default();
                let public_words = format!("{about} refused: {why}");
                Reply { line, words: format!("{public_words}{more}"), public_words, outcome: Outcome::Refused }
            }
        }
    }

    /// The answer, whether it is a new one, and what it discloses; or why there is none.
    fn take(&mut self, question: &Question) -> Result<(Given, Outcome, String), Refusal> {
        let Question { ticket, user, plan, asked } = question;
        if *plan != self.id {
            return Err(format!(
                "it is by the plan {}, and this clinic has agreed to {}: everybody needs the same file",
                first_letters(plan),
                first_letters(&self.id)
            )
            .into());
        }
        if *user != self.name {
            return Err(format!("it is for {user}, and this is {}", self.name).into());
        }
        // How many they are is nobody's business: such a clinic answers nothing.
        if let Some(found) = self.plan.rules.refuses_rows(self.summary.rows) {
            let why =
                format!("fewer rows are used than the plan asks for, which is at least {}", self.plan.rules.min_rows);
            return Err(Refusal::with(&why, found));
        }
        let key = Key::of(question)?;
        if let Some(entry) = self.known(*ticket, &key) {
            return match &entry.refused {
                Some(why) => Err(Refusal::with(why, "asked again, and refused as before")),
                None => {
                    let words = "asked again, and given the same answer as before".to_owned();
                    Ok((entry.answer.clone(), Outcome::Again, words))
                }
            };
        }
        if self.log.of(&self.id, &self.name).any(|entry| entry.data != self.digest) {
            return Err("the file has changed since the first answer, and what changed could be told from two answers: answer from the \
                        file as it was, or begin anew with another log, and tell the coordinator".into());
        }
        let mut given = Given { ticket: *ticket, user: user.clone(), ..Given::default() };
        let made = match asked {
            Asked::Summary => Ok(self.first(&mut given)),
            Asked::Point(at, wants) => self.at_point(at, wants, &mut given),
            Asked::Closing(at) => self.close(at, &mut given),
        };
        let refused = match &made {
            Err(refusal) if !refusal.counts => return Err(refusal.clone()),
            Err(refusal) => {
                given = Given { ticket: *ticket, user: user.clone(), ..Given::default() };
                Some(refusal.why.clone())
            }
            Ok(_) => None,
        };
        let entry = Entry {
            at: now(),
            plan: self.id.clone(),
            data: self.digest.clone(),
            wants: key.wants,
            point: key.point,
            model: key.model,
            numbers: given.numbers(),
            refused,
            answer: given.clone(),
        };
        self.log
            .add(entry)
            .map_err(|error| Refusal::with("the clinic cannot keep its log, and so does not answer", error))?;
        let words = format!("{} given: {}", counted(given.numbers(), "number", "numbers"), made?);
        Ok((given, Outcome::Answered, words))
    }

    fn first(&self, given: &mut Given) -> String {
        given.summary = Some(self.summary.clone());
        let noise = if self.noise.is_some() { ", without noise" } else { "" };
        format!("counts, means and levels{noise}\n{}", indented(&self.summary.in_words()))
    }

    fn at_point(&mut self, at: &At, wants: &[Detail], given: &mut Given) -> Result<String, Refusal> {
        let rules = self.plan.rules;
        if let Some(want) = wants.iter().find(|want| **want > rules.answers) {
            return Err(
                format!("it asks for the {want}, and the plan allows no more than the {}", rules.answers).into()
            );
        }
        let (before, _) = self.given();
        if before >= rules.answers_each {
            return Err(format!(
                "{} answered, as many as the plan allows",
                counted(before, "question was", "questions were")
            )
            .into());
        }
        if self.noise.is_some() && wants.contains(&Detail::Hessian) {
            return Err(
                "it asks for a Hessian, which this clinic does not give: noise is added to gradients only".into()
            );
        }
        let noise = self.noise;
        let rows = self.summary.rows;
        let Prepared { regression, weights, .. } = self.prepared(at)?;
        let mut words = format!("the gradient of the mean loss over {}", counted(rows, "row", "rows"));
        match noise {
            Some(noise) => {
                let (gradient, privacy) = noise.gradient(regression, weights, &at.point)?;
                (given.gradient, given.privacy) = (Some(gradient), Some(privacy));
                words += &format!(
                    ", each row clipped to {}, with noise of deviation {} in each number",
                    noise.clip, noise.deviation
                );
                if wants.contains(&Detail::Loss) {
                    words += "; no loss, which would have no noise";
                }
            }
            None => {
                let dim = at.point.len();
                let mut gradient = vec![0.0; dim];
                regression.gradient(0, &at.point, &mut gradient);
                given.gradient = Some(gradient);
                if wants.contains(&Detail::Loss) {
                    given.loss = Some(regression.user_value(0, &at.point));
                    words += ", the loss";
                }
                if wants.contains(&Detail::Hessian) {
                    let mut hessian = vec![0.0; dim * dim];
                    regression.hessian(0, &at.point, &mut hessian);
                    given.hessian = Some(packed(&hessian, dim));
                    words += ", the Hessian";
                }
            }
        }
        let numbers = [&given.gradient, &given.hessian].into_iter().flatten().flatten().chain(&given.loss);
        if let Some(number) = numbers.into_iter().find(|number| !number.is_finite()) {
            return Err(Refusal::of_rows(NOT_FINITE, format!("it has {number}")));
        }
        Ok(format!("{words}; answer {} of {}", before + 1, rules.answers_each))
    }

    fn close(&mut self, at: &At, given: &mut Given) -> Result<String, Refusal> {
        let rules = self.plan.rules;
        let (_, before) = self.given();
        if before >= rules.closing {
            return Err(Refusal::from(match rules.closing {
                0 => "it is a closing question, which the plan does not allow".to_owned(),
                _ => format!(
                    "{} answered, as many as the plan allows",
                    counted(before, "closing question was", "closing questions were")
                ),
            }));
        }
        if self.noise.is_some() {
            return Err(
                "it is a closing question, which this clinic does not answer: noise is added to gradients only".into(),
            );
        }
        let (family, missing, rows) = (self.plan.family, self.summary.rows_missing, self.summary.rows);
        let Prepared { regression, weights, .. } = self.prepared(at)?;
        let data = Observations {
            rows: regression.rows(),
            targets: regression.targets(),
            weights: Some(weights),
            offsets: regression.offsets(),
            family,
        };
        let closing =
            Closing::of(&data, data.all(), missing, &at.point).map_err(|error| Refusal::of_rows(NOT_FINITE, error))?;
        given.closing = Some(closing);
        Ok(format!(
            "gradient, information and deviance over {}; closing answer {} of {}",
            counted(rows, "row", "rows"),
            before + 1,
            rules.closing
        ))
    }

    /// The rows as the question's model sees them, where the question may be asked.
    fn prepared(&mut self, at: &At) -> Result<&Prepared, Refusal> {
        let At { point, model } = at;
        let rules = self.plan.rules;
        let own = hash(model)?;
        let first = self.log.of(&self.id, &self.name).find_map(|entry| entry.model.as_ref());
        if first.is_some_and(|first| *first != own) {
            return Err("the model is not that of the first question: levels and scaling stay as they were".into());
        }
        if let Some(why) = rules.refuses_parameters(model.dim(), self.summary.rows) {
            return Err(why.into());
        }
        if point.len() != model.dim() {
            return Err(
                format!("the point has {} numbers, and the model {} parameters", point.len(), model.dim()).into()
            );
        }
        let most = rules.largest_coefficient;
        if let Some((place, value)) = point.iter().enumerate().find(|(_, value)| value.abs() > most) {
            let name = model.column_names().swap_remove(place);
            return Err(format!("the point has {value} for {name}, and the plan allows {most} at most").into());
        }
        if self.prepared.as_ref().is_none_or(|prepared| prepared.hash != own) {
            let prepared = Prepared::new(&self.plan, model, &self.data, &self.name, &self.summary)?;
            self.prepared = Some(prepared);
        }
        let prepared = self.prepared.as_ref().ok_or("the model could not be prepared")?;
        match prepared.refuses(point, &model.column_names(), most) {
            Some(refusal) => Err(refusal),
            None => Ok(prepared),
        }
    }
}

/// What makes two questions with the same ticket the same question.
struct Key {
    wants: Vec<String>,
    point: Option<Vec<f64>>,
    model: Option<String>,
}

impl Key {
    fn of(question: &Question) -> Result<Self, String> {
        let (wants, at) = match &question.asked {
            Asked::Summary => (vec!["summary".to_owned()], None),
            Asked::Closing(at) => (vec!["closing".to_owned()], Some(at)),
            Asked::Point(at, wants) => (wants.iter().map(ToString::to_string).collect(), Some(at)),
        };
        let model = at.map(|at| hash(&at.model)).transpose()?;
        Ok(Self { wants, point: at.map(|at| at.point.clone()), model })
    }

    fn is_of(&self, entry: &Entry) -> bool {
        let bits = |point: &Option<Vec<f64>>| -> Option<Vec<u64>> {
            point.as_ref().map(|point| point.iter().map(|x| x.to_bits()).collect())
        };
        entry.wants == self.wants && entry.model == self.model && bits(&entry.point) == bits(&self.point)
    }
}

/// Enough of an id to tell plans apart by eye.
fn first_letters(id: &str) -> String {
    id.chars().take(12).collect()
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n")
}
