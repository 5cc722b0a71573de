//! What a fit found, and what it cost.

use std::{collections::BTreeMap, fmt::Write as _};

use serde::Serialize;
use serde_json::Value;
use sgq::{Detail, Method, Remaining, Session};
use sgq_bench::readable::short;
use sgq_data::{
    Card, Counts, Dataset, Encoding,
    glm::{ChosenFamily, Influences, Model, Precision, Statistics, Weigh},
};

use super::{
    Args,
    asking::{End, Run, Sent, in_parts},
    options::TableFormat,
    proof,
};
use crate::{
    coefficients::{line, penalty, write_influence, write_references, write_statistics, write_table},
    terminal::one_line,
};

/// How many of the most asked users are shown.
const MOST_ASKED: usize = 5;

/// A fit with more than this part of the gap left says so loudly.
const LOUD: f64 = 0.1;

/// What `model.json` holds: the model, and how it came about.
#[derive(Serialize)]
pub struct Report<'a> {
    #[serde(flatten)]
    model: &'a Model,
    weigh: Weigh,
    data: String,
    /// The table and what goes with it, as [`sgq_data::glm::Inference`] has it; without standard errors where there are none.
    #[serde(flatten)]
    table: serde_json::Map<String, Value>,
    /// How many answers were billed: of the run, to the first question and to the closing one.
    queries: u64,
    first_answers: u64,
    closing_answers: u64,
    /// How many numbers all of them held.
    numbers: u64,
    method: String,
    /// What the method sees without paying for it.
    sees_more: Option<&'static str>,
    settings: SettingsReport,
    stop: String,
    /// Whether what remains is within the tolerance; null where the method cannot tell, and where there is no tolerance.
    converged: Option<bool>,
    diverged: bool,
    /// How many standard errors coefficients are believed to be off at most, because the run stopped where it did.
    believed_off: Option<f64>,
    /// What is believed to remain of the gap.
    remaining: Option<Remaining>,
    /// What is proven to remain at most.
    certified: Option<f64>,
    /// Why nothing is proven; null where something is.
    uncertified: Option<String>,
    asked: Asking,
    surrogate_gradient_norm: Option<f64>,
    /// Rows left out, by the column in which a value is missing.
    missing_by_column: Vec<MissingIn<'a>>,
    /// The level of each factor that the others are compared with.
    reference_levels: Vec<Reference<'a>>,
    /// What users do to the coefficients; null where it is not known.
    influence: Option<Influences<'a>>,
    /// Whether the coefficients are those of the data, and what to do if not.
    verdict: String,
    /// What the reader should not miss.
    warnings: Vec<String>,
    /// What only a simulation knows; null where diagnostics are off.
    diagnostic: Option<Diagnostic>,
    problem: Card,
    #[serde(skip)]
    statistics: &'a Statistics,
    #[serde(skip)]
    user_names: &'a [String],
}

#[derive(Serialize)]
struct MissingIn<'a> {
    column: &'a str,
    rows: usize,
}

#[derive(Serialize)]
struct Reference<'a> {
    column: &'a str,
    level: &'a str,
}

/// The settings that were taken.
#[derive(Serialize)]
pub struct SettingsReport {
    /// None for a method that goes its own way.
    pub step_size: Option<f64>,
    pub step_size_rule: String,
    /// How curvature is held, where the method has a model of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    pub budget: u64,
    pub numbers_budget: Option<u64>,
    /// How many questions might be out at once.
    pub open: usize,
    /// How much users were asked to say, at most.
    pub answers: Detail,
    /// How many standard errors a coefficient may be off, by the method's own estimate.
    pub precision: Option<f64>,
    /// The part of the gap at the start at which to stop, by the method's own estimate; with a precision, the first one.
    pub tolerance: Option<f64>,
    /// The gap at which to stop, once it is proven.
    pub certified_gap: Option<f64>,
    pub target_gap: Option<f64>,
    pub p: Option<f64>,
    /// Settings of the method that were changed.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub set: BTreeMap<String, String>,
    pub seed: u64,
    pub standardised: bool,
    /// How the table of last gradients was kept; none where the method keeps no table.
    pub table: Option<TableFormat>,
}

#[derive(Serialize)]
struct Asking {
    cost: f64,
    /// What the numbers were.
    numbers_of: NumbersOf,
    steps: u64,
    per_user: Counts,
    most_asked: Vec<Asked>,
    /// Looks that were not paid for.
    diagnostic_gradients: u64,
    polled_losses: u64,
}

#[derive(Serialize)]
struct NumbersOf {
    #[serde(flatten)]
    sent: Sent,
    /// In answers to the first question, and to the closing one.
    first: u64,
    closing: u64,
}

#[derive(Serialize)]
struct Asked {
    user: String,
    queries: u64,
}

/// What only a simulation knows.
#[derive(Serialize)]
struct Diagnostic {
    note: &'static str,
    /// Null after divergence.
    gap: f64,
    relative_gap: f64,
    gap_at_start: f64,
}

impl<'a> Report<'a> {
    #[allow(clippy::too_many_arguments)] // one of each kind
    pub fn new(
        args: &Args,
        model: &'a Model,
        method: &Method,
        settings: SettingsReport,
        session: &Session<'_>,
        run: &Run,
        data: &'a Dataset,
        problem: Card,
        statistics: &'a Statistics,
        precision: Precision<'_>,
    ) -> serde_json::Result<Self> {
        let meter = session.meter();
        let billed = data.user_names.iter().zip(meter.billed_per_user().iter().copied());
        let mut asked: Vec<(&String, u64)> = billed.collect();
        // Stable: of users asked equally often the first come first.
        asked.sort_by_key(|(_, queries)| std::cmp::Reverse(*queries));
        let at = |k: usize| asked.get(k).map_or(0, |(_, queries)| *queries);
        let last = asked.len().saturating_sub(1);
        let per_user = Counts {
            min: at(last) as usize,
            median: 0.5 * (at(last / 2) + at(asked.len() / 2)) as f64,
            max: at(0) as usize,
        };
        let most = asked.iter().take(MOST_ASKED);
        let first_answers = data.users() as u64;
        let first_numbers = precision.study.first_numbers();
        let diagnostic = (!args.no_diagnostics).then(|| Diagnostic {
            note: "measured against the optimum on all data: not billed, and not known in a real run",
            gap: run.gap(),
            relative_gap: run.gap() / run.gap_at_start(),
            gap_at_start: run.gap_at_start(),
        });
        let mut report = Self {
            model,
            weigh: args.data.weigh,
            data: args.file.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            table: statistics.to_json(precision.study, &model.standardised)?,
            queries: meter.billed(),
            first_answers,
            closing_answers: statistics.closings,
            numbers: meter.numbers() + first_numbers + statistics.closing_numbers,
            method: method.name().to_owned(),
            sees_more: session.sees_more(),
            stop: run.end.to_string(),
            converged: match (precision.is_reached(session), run.end) {
                // What it believes after Ctrl-C counts as well.
                (Some(reached), _) => Some(reached && !run.diverged()),
                (None, End::Stopped(stop)) if stop.is_converged() => Some(true),
                _ => settings
                    .tolerance
                    .map(|part| !run.diverged() && session.remaining().is_some_and(|it| it.is_within(part)))
                    .or(settings.certified_gap.map(|_| false)),
            },
            diverged: run.diverged(),
            believed_off: precision.believed(session).filter(|_| !run.diverged()),
            remaining: session.remaining().filter(|_| !run.diverged()),
            certified: session.certified().filter(|_| !run.diverged()),
            uncertified: match session.certificate() {
                _ if run.diverged() => Some("the run diverged".to_owned()),
                certificate => certificate.err().map(proof::why_none),
            },
            settings,
            asked: Asking {
                cost: meter.cost(),
                numbers_of: NumbersOf { sent: run.sent, first: first_numbers, closing: statistics.closing_numbers },
                steps: session.steps(),
                per_user,
                most_asked: most.map(|(user, queries)| Asked { user: (*user).clone(), queries: *queries }).collect(),
                diagnostic_gradients: meter.diagnostic(),
                polled_losses: meter.polled(),
            },
            surrogate_gradient_norm: session.surrogate_gradient_norm(),
            diagnostic,
            problem,
            missing_by_column: data
                .missing_by_column
                .iter()
                .map(|(column, rows)| MissingIn { column, rows: *rows })
                .collect(),
            reference_levels: references(&model.encoding),
            influence: Influences::of(statistics, &data.user_names),
            verdict: String::new(),
            warnings: Vec::new(),
            statistics,
            user_names: &data.user_names,
        };
        report.verdict = report.verdict();
        report.warnings = report.notes();
        Ok(report)
    }

    /// The same for a person: the coefficients first, and the method's own numbers only where they are wanted.
    pub fn text(&self, chosen: &ChosenFamily, verbose: bool) -> String {
        let model = self.model;
        let mut text = format!(
            "\n  {}: {}\n",
            one_line(&model.formula),
            chosen.in_words(model.encoding.target(), "--family takes another")
        );
        let _ = writeln!(text, "  {}\n", self.what_was_minimised());
        write_table(&mut text, &model.encoding, &model.standardised, self.statistics);
        text.push('\n');
        line(&mut text, "rows", &self.rows_in_words());
        write_statistics(&mut text, self.statistics.inference.as_ref());
        write_references(&mut text, &model.encoding);
        line(&mut text, "answers billed", &self.answers_in_words());
        line(&mut text, "numbers sent", &self.numbers_in_words());
        let most: Vec<String> =
            self.asked.most_asked.iter().map(|asked| format!("{} {}", one_line(&asked.user), asked.queries)).collect();
        line(&mut text, "most asked", &most.join(", "));
        if let Some(off) = self.believed_off {
            line(&mut text, "unsure", &format!("{} standard errors at most, by stopping here (believed)", short(off)));
        }
        write_influence(&mut text, self.statistics, self.user_names);
        if verbose {
            self.write_method(&mut text);
        }
        if let Some(diagnostic) = &self.diagnostic {
            let part = short(100.0 * diagnostic.relative_gap);
            line(
                &mut text,
                "gap",
                &format!("{}, {part}% of that at the start (diagnostic, not billed)", short(diagnostic.gap)),
            );
        }
        line(&mut text, "stopped", &self.stop);
        line(&mut text, "verdict", &self.verdict);
        for note in &self.warnings {
            let _ = write!(text, "\n  {note}\n");
        }
        text.trim_end().to_owned()
    }

    fn what_was_minimised(&self) -> String {
        let weighing = self.weigh;
        let penalty = penalty(self.model.l2, &self.model.encoding);
        let state = match self.converged {
            _ if self.diverged => "DIVERGED",
            Some(true) => "converged",
            Some(false) => "NOT CONVERGED",
            None => "stopped",
        };
        let users = self.user_names.len();
        format!("{weighing}, {penalty}; {state} after {} answers of {users} users", self.queries)
    }

    /// The method's own numbers.
    fn write_method(&self, text: &mut String) {
        let settings = &self.settings;
        let mut line = |name: &str, value: &str| line(text, name, value);
        let explores = settings.p.map(|p| format!(", p = {p}")).unwrap_or_default();
        line("method", &format!("{}{explores}", self.method));
        let rule = &settings.step_size_rule;
        line("step size", &settings.step_size.map_or(rule.clone(), |size| format!("{} ({rule})", short(size))));
        if let Some(held) = &settings.model {
            line("model", held);
        }
        if settings.open > 1 {
            line("questions at once", &settings.open.to_string());
        }
        let Counts { min, median, max } = self.asked.per_user;
        line("answers a user", &format!("min {min}, median {median}, max {max}"));
        if let Some(norm) = self.surrogate_gradient_norm {
            line("surrogate gradient", &short(norm));
        }
        if let Some(remaining) = &self.remaining {
            line("remaining", &format!("{} of the gap at the start (believed)", in_parts(remaining)));
        }
        if let Some(certified) = self.certified {
            line("proven", &format!("a gap of {} at most", short(certified)));
        }
        for row in self.problem.to_string().lines() {
            let _ = writeln!(text, "  {row}");
        }
    }

    fn rows_in_words(&self) -> String {
        let missing: Vec<String> =
            self.missing_by_column.iter().map(|it| format!("{} {}", one_line(it.column), it.rows)).collect();
        // In a fit a row of weight 0 does not count.
        let used = self.table.get("rows").and_then(Value::as_u64).unwrap_or(self.problem.rows as u64);
        let unweighted = match self.problem.rows as u64 - used.min(self.problem.rows as u64) {
            0 => String::new(),
            rows => format!(", {rows} of weight 0"),
        };
        match self.problem.dropped_rows {
            0 => format!("{used} used{unweighted}, none missing"),
            dropped => {
                format!("{used} used{unweighted}, {dropped} left out with missing values ({})", missing.join(", "))
            }
        }
    }

    fn answers_in_words(&self) -> String {
        let closing = match self.closing_answers {
            0 => String::new(),
            answers => format!(", and {answers} to the closing one"),
        };
        let first = self.first_answers;
        format!("{}, besides {first} to a first question (rows, means, deviations, levels){closing}", self.queries)
    }

    fn numbers_in_words(&self) -> String {
        let NumbersOf { sent: Sent { gradients, losses, hessians }, first, closing } = self.asked.numbers_of;
        let parts = [
            (gradients, "in gradients"),
            (losses, "in losses"),
            (hessians, "in Hessians"),
            (first, "at first"),
            (closing, "in closing"),
        ];
        let parts = parts.iter().filter(|(count, _)| *count > 0).map(|(count, name)| format!("{count} {name}"));
        format!("{}: {}", self.numbers, parts.collect::<Vec<_>>().join(", "))
    }

    /// Whether the coefficients are those of the data, and what to do if not.
    fn verdict(&self) -> String {
        if self.diverged {
            return "DIVERGED: the coefficients mean nothing".to_owned();
        }
        if let Some(warning) = self.warning() {
            return warning;
        }
        match self.converged {
            Some(true) => "converged".to_owned(),
            _ if self.settings.target_gap.is_some_and(|target| self.left() <= target) => {
                "the target gap is reached".to_owned()
            }
            Some(false) => {
                let option = match (self.settings.precision, self.settings.tolerance) {
                    (Some(_), _) => "--precision",
                    (None, Some(_)) => "--tol",
                    (None, None) => "--certified-gap",
                };
                format!("not converged: give a larger --budget, or a larger {option} if that is enough")
            }
            None => "not known without a tolerance: see the gap, which a real run does not know".to_owned(),
        }
    }

    /// What nobody should overlook: that coefficients are far from those of the data, and what to do.
    pub fn warning(&self) -> Option<String> {
        let percent = short(100.0 * self.left());
        if self.diverged || self.left() <= LOUD {
            return None;
        }
        Some(if self.left() > 1.0 {
            let hessians = match self.method == "frugal" && self.settings.answers != Detail::Hessian {
                true => "have users send Hessians, which makes steps safe (--answers hessian), ",
                false => "",
            };
            format!(
                "NOT CONVERGED: it ended above its start; {hessians}go on with a larger --budget, or take another --method"
            )
        } else if self.converged == Some(true) {
            let option = if self.settings.precision.is_some() { "--precision" } else { "--tol" };
            format!(
                "NOT CONVERGED: {percent}% of the gap at the start is left, more than was believed; give a smaller {option}"
            )
        } else {
            format!("NOT CONVERGED: {percent}% of the gap at the start is left; give a larger --budget")
        })
    }

    /// The part of the gap at the start that is left: in truth, or where diagnostics are off as it is believed.
    fn left(&self) -> f64 {
        match &self.diagnostic {
            Some(diagnostic) if diagnostic.gap_at_start > 0.0 => diagnostic.relative_gap,
            Some(_) => 0.0,
            None => self.remaining.map_or(0.0, |remaining| remaining.part()),
        }
    }

    /// What the reader should not miss.
    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if let Some(words) = self.sees_more {
            notes.push(format!(
                "{} ({words}) sees more than it pays for: what it cost is not what a real run costs.",
                self.method
            ));
        }
        if self.diverged {
            let way_out =
                if self.settings.step_size.is_some() { "Give a smaller --step-size" } else { "Take --method saga" };
            notes.push(format!("It diverged: the coefficients mean nothing. {way_out}."));
        } else if self.asked.steps == 0 && !self.model.interrupted {
            let users = self.problem.users;
            notes.push(match self.queries {
                0 => "Nobody was asked: the budget is not enough for one answer. Give a larger one.".to_owned(),
                _ => format!(
                    "No step was taken: {} asks all {users} users first. Give a --budget above {users}, or take --method frugal.",
                    self.method
                ),
            });
        }
        notes
    }
}

/// The level of each factor that has no coefficient of its own.
fn references(encoding: &Encoding) -> Vec<Reference<'_>> {
    let levels = encoding.reference_levels().into_iter();
    levels.filter_map(|(column, levels)| Some(Reference { column, level: levels.first()? })).collect()
}
