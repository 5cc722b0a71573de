//! What a fit found, and what it cost.

use std::{collections::BTreeMap, fmt::Write as _, path::Path};

use serde::Serialize;
use sgq::{Detail, Method, Remaining, Session};
use sgq_bench::readable::short;
use sgq_data::{Card, Counts};

use super::{
    asking::{End, Run, Sent, in_parts},
    options::{ChosenLoss, TableFormat, UserWeights},
};
use crate::{model::Model, terminal::one_line};

/// How many of the most asked users are shown.
const MOST_ASKED: usize = 5;

/// A fit with more than this part of the gap left says so loudly.
const LOUD: f64 = 0.1;

/// What `model.json` holds: the model, and how it came about.
#[derive(Serialize)]
pub struct Report<'a> {
    #[serde(flatten)]
    model: &'a Model,
    data: String,
    method: String,
    /// What the method sees without paying for it.
    sees_more: Option<&'static str>,
    settings: SettingsReport,
    stop: String,
    /// Whether what remains is within the tolerance; null where the method cannot tell, and where there is no tolerance.
    converged: Option<bool>,
    diverged: bool,
    /// What is believed to remain of the gap.
    remaining: Option<Remaining>,
    /// What is proven to remain at most.
    certified: Option<f64>,
    /// Why nothing is proven; null where something is.
    uncertified: Option<String>,
    queries: Queries,
    surrogate_gradient_norm: Option<f64>,
    diagnostic: Diagnostic,
    problem: Card,
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
    /// What each user counts.
    pub weights: UserWeights,
    /// The part of the gap at the start at which to stop, by the method's own estimate.
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
struct Queries {
    billed: u64,
    cost: f64,
    /// How many numbers all answers held, and of what.
    numbers: u64,
    numbers_of: Sent,
    steps: u64,
    per_user: Counts,
    most_asked: Vec<Asked>,
    /// Looks that were not paid for.
    diagnostic_gradients: u64,
    polled_losses: u64,
}

impl Queries {
    /// How many numbers were sent, and of what where it is not gradients alone.
    fn numbers_in_words(&self) -> String {
        let Sent { gradients, losses, hessians } = self.numbers_of;
        let parts = [(gradients, "gradients"), (losses, "losses"), (hessians, "Hessians")];
        let parts = parts.iter().filter(|(count, _)| *count > 0).map(|(count, name)| format!("{count} in {name}"));
        match losses + hessians {
            0 => format!("{}, in gradients", self.numbers),
            _ => format!("{}: {}", self.numbers, parts.collect::<Vec<_>>().join(", ")),
        }
    }
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
        file: &Path,
        model: &'a Model,
        method: &Method,
        settings: SettingsReport,
        session: &Session<'_>,
        run: &Run,
        user_names: &[String],
        problem: Card,
    ) -> Self {
        let meter = session.meter();
        let mut asked: Vec<(&String, u64)> = user_names.iter().zip(meter.billed_per_user().iter().copied()).collect();
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
        Self {
            model,
            data: file.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            method: method.name().to_owned(),
            sees_more: session.sees_more(),
            stop: run.end.to_string(),
            converged: match run.end {
                End::Stopped(stop) if stop.is_converged() => Some(true),
                // What it believes after Ctrl-C counts as well.
                _ => settings
                    .tolerance
                    .map(|part| !run.diverged() && session.remaining().is_some_and(|it| it.is_within(part)))
                    .or(settings.certified_gap.map(|_| false)),
            },
            diverged: run.diverged(),
            remaining: session.remaining().filter(|_| !run.diverged()),
            certified: session.certified().filter(|_| !run.diverged()),
            uncertified: match session.certificate() {
                _ if run.diverged() => Some("the run diverged".to_owned()),
                certificate => certificate.err().map(|why| why.to_string()),
            },
            settings,
            queries: Queries {
                billed: meter.billed(),
                cost: meter.cost(),
                numbers: meter.numbers(),
                numbers_of: run.sent,
                steps: session.steps(),
                per_user,
                most_asked: most.map(|(user, queries)| Asked { user: (*user).clone(), queries: *queries }).collect(),
                diagnostic_gradients: meter.diagnostic(),
                polled_losses: meter.polled(),
            },
            surrogate_gradient_norm: session.surrogate_gradient_norm(),
            diagnostic: Diagnostic {
                note: "measured against the optimum on all data: not billed, and not known in a real run",
                gap: run.gap(),
                relative_gap: run.gap() / run.gap_at_start(),
                gap_at_start: run.gap_at_start(),
            },
            problem,
        }
    }

    /// The same for a person.
    pub fn text(&self, loss: &ChosenLoss) -> String {
        let Self { model, settings, queries, .. } = self;
        let mut text = format!(
            "\n  {} of {}, asked by {}\n\n",
            one_line(&model.target),
            one_line(&self.data),
            one_line(&model.user)
        );
        let mut line = |name: &str, value: &str| {
            let _ = writeln!(text, "  {name:<22}{value}");
        };
        line("loss", &loss.in_words(model.encoding.target()));
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
        if settings.weights == UserWeights::Rows {
            line("weights", "rows: every row counts the same");
        }
        for row in self.problem.to_string().lines() {
            let _ = writeln!(text, "  {row}");
        }
        text.push('\n');
        self.write_coefficients(&mut text);

        let Counts { min, median, max } = queries.per_user;
        let _ = writeln!(text, "\n  {:<22}{}", "queries billed", queries.billed);
        let _ = writeln!(text, "  {:<22}{}", "numbers sent", queries.numbers_in_words());
        let _ = writeln!(text, "  {:<22}min {min}, median {median}, max {max}", "queries a user");
        let most: Vec<String> =
            queries.most_asked.iter().map(|asked| format!("{} {}", one_line(&asked.user), asked.queries)).collect();
        let _ = writeln!(text, "  {:<22}{}", "most asked", most.join(", "));
        if let Some(norm) = self.surrogate_gradient_norm {
            let _ = writeln!(text, "  {:<22}{}", "surrogate gradient", short(norm));
        }
        let part = short(100.0 * self.diagnostic.relative_gap);
        let _ = writeln!(
            text,
            "  {:<22}{}, {part}% of the gap at the start (diagnostic, not billed)",
            "gap",
            short(self.diagnostic.gap)
        );
        if let Some(remaining) = &self.remaining {
            let _ = writeln!(text, "  {:<22}{} of the gap at the start", "believed to remain", in_parts(remaining));
        }
        if let Some(certified) = self.certified {
            let _ = writeln!(text, "  {:<22}a gap of {} at most", "proven to remain", short(certified));
        }
        let _ = writeln!(text, "  {:<22}{}", "stopped", self.stop);
        let _ = write!(text, "  {:<22}{}", "verdict", self.verdict());
        for note in self.notes() {
            let _ = write!(text, "\n\n  {note}");
        }
        text
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
                let option = if self.settings.tolerance.is_some() { "--tol" } else { "--certified-gap" };
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
            "NOT CONVERGED: it ended above its start; go on with a larger --budget, or take another --method".to_owned()
        } else if self.converged == Some(true) {
            format!(
                "NOT CONVERGED: {percent}% of the gap at the start is left, more than was believed; give a smaller --tol"
            )
        } else {
            format!("NOT CONVERGED: {percent}% of the gap at the start is left; give a larger --budget")
        })
    }

    /// The part of the gap at the start that is left in truth.
    fn left(&self) -> f64 {
        if self.diagnostic.gap_at_start > 0.0 { self.diagnostic.relative_gap } else { 0.0 }
    }

    fn write_coefficients(&self, text: &mut String) {
        let coefficients = &self.model.coefficients;
        let names = coefficients.iter().map(|coefficient| one_line(&coefficient.name)).collect::<Vec<_>>();
        let widest = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
        let first = widest.max("coefficient".len()) + 2;
        let _ = writeln!(text, "  {:<first$}{:>14}{:>14}", "coefficient", "original", "standardised");
        for (name, coefficient) in names.iter().zip(coefficients) {
            let (original, standardised) = (short(coefficient.original), short(coefficient.standardised));
            let _ = writeln!(text, "  {:<first$}{original:>14}{standardised:>14}", name);
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
        } else if self.queries.steps == 0 && !self.model.interrupted {
            let users = self.problem.users;
            notes.push(match self.queries.billed {
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
