//! A regression over users by a plan that all of them have: its terms, its model, and what has come of it.

use std::collections::BTreeMap;

use rusqlite::Connection;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use sgq::{Method, Session, StopReason};
use sgq_data::{
    Encoding, first_few,
    glm::{InferenceError, Influences, Precision, Secants, Statistics, StdErrors, Study, Weigh},
    plan::{Agreed, StudyPlan, Summary, agree},
};

use crate::{
    Account, Kind, LedgerError, Protection, Reported, User, Wants,
    record::{self, Body, Header},
    restore::Spent,
    rounds::{Round, Rounds},
};

/// A step of so many standard errors is small beside all that is known of a point.
const LONGEST_STEP: f64 = 0.1;
/// A last step of more than so many times the precision says that the run was not where it believed to be.
const STEP_OF_PRECISION: f64 = 3.0;

/// What a study is to be, beside what every ledger is told.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Terms {
    /// What everybody has agreed to.
    pub plan: StudyPlan,
    /// How many standard errors a coefficient may be off, by the method's own estimate; none where it stops by another rule.
    pub precision: Option<f64>,
    /// Whether everybody is asked the closing question at the end, which makes standard errors exact.
    pub close: bool,
}

impl Terms {
    /// To the usual precision, with the closing question.
    pub fn new(plan: StudyPlan) -> Self {
        Self { plan, precision: Some(Precision::DEFAULT), close: true }
    }

    /// To another precision, in standard errors; none where it stops by another rule.
    pub fn precision(self, precision: Option<f64>) -> Self {
        Self { precision, ..self }
    }

    /// With the closing question or without.
    pub fn close(self, close: bool) -> Self {
        Self { close, ..self }
    }

    /// Whether `method` can tell how far coefficients are from those of the finished fit.
    pub(crate) fn precision_of(&self, method: &Method) -> Option<f64> {
        self.precision.filter(|_| method.default_tolerance().is_some())
    }

    /// The plan limits what users are asked, whatever else does.
    pub fn limit(&self, protection: &mut Protection) -> Result<(), LedgerError> {
        if protection.epsilon.is_some() {
            let what = "epsilon cannot be kept in a study by a plan: the answers to its first question have no noise";
            return Err(LedgerError::Protection { what: what.to_owned() });
        }
        let most = self.plan.rules.answers_each;
        protection.answers_each = Some(protection.answers_each.map_or(most, |each| each.min(most)));
        Ok(())
    }
}

/// What follows from the answers to the first question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Begun {
    pub agreed: Agreed,
    /// Who takes part: those that `agreed` has totals of, in order.
    pub members: Vec<Member>,
}

/// Somebody who takes part, and its rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Member {
    pub user: usize,
    /// Those that are used, and those that are left out.
    pub rows: u64,
    pub rows_missing: u64,
    pub missing_by_column: Vec<(String, u64)>,
}

impl Begun {
    pub fn from_summaries(
        plan: &StudyPlan,
        users: &[User],
        summaries: &[(usize, &Summary)],
    ) -> Result<Self, LedgerError> {
        let named: Vec<(&str, &Summary)> =
            summaries.iter().map(|(user, summary)| (&*users[*user].name, *summary)).collect();
        let agreed = agree(plan, &named).map_err(|error| LedgerError::Disagree { what: error.to_string() })?;
        for (name, summary) in named {
            let refusals = [
                plan.rules.refuses_rows(summary.rows),
                plan.rules.refuses_parameters(agreed.encoding.dim(), summary.rows),
            ];
            if let Some(why) = refusals.into_iter().flatten().next() {
                let what = format!("{name} will not answer at any point, by the plan: {why}; go on without it");
                return Err(LedgerError::Disagree { what });
            }
        }
        let member = |(user, summary): &(usize, &Summary)| Member {
            user: *user,
            rows: summary.rows,
            rows_missing: summary.rows_missing,
            missing_by_column: summary.missing_by_column.clone(),
        };
        Ok(Self { agreed, members: summaries.iter().map(member).collect() })
    }

    /// Somebody who takes part, with what its rows count together.
    pub fn member(&self, user: usize) -> Option<(&Member, f64)> {
        self.with_totals().find(|(member, _)| member.user == user)
    }

    fn with_totals(&self) -> impl Iterator<Item = (&Member, f64)> {
        self.members.iter().zip(self.agreed.totals.iter().copied())
    }

    /// What each of `users` users counts in the objective; none where all count the same. Those who do not take part have left, and
    /// count nothing whatever their weight is.
    pub fn weights(&self, weigh: Weigh, users: usize) -> Option<Vec<f64>> {
        if weigh == Weigh::Users {
            return None;
        }
        let mut weights = vec![1.0; users];
        self.with_totals().for_each(|(member, total)| weights[member.user] = total);
        Some(weights)
    }
}

/// What goes to users with every question of a study.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Shared {
    /// The plan's own number.
    pub plan: String,
    /// What the columns are, with levels and scaling; none before everybody has answered the first question.
    pub model: Option<Encoding>,
}

/// What a study has come to.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Results {
    /// What it was to be.
    pub terms: Terms,
    /// What everybody's first answers led to.
    pub agreed: Agreed,
    /// Who is part of it now, in order; [`Influence::user`](sgq_data::glm::Influence::user) counts these.
    pub users: Vec<String>,
    /// The coefficients of the encoded columns: where the run stands or, where everybody has answered the closing question there, a step
    /// of Newton's method further, which the answers give.
    pub point: Vec<f64>,
    /// The table, and what goes with it.
    pub statistics: Statistics,
    /// Whether it is from everybody's answers to a closing question at this very point.
    pub is_closed: bool,
    /// Whether coefficients are believed to be as close as they are to be; none where nobody can tell.
    pub converged: Option<bool>,
    /// By how many standard errors that step moves a coefficient at most. Where that is more than three times the precision, the run has not
    /// converged, whatever was believed; where it is more than a tenth, what is known of the point does not hold there, and the step is
    /// not taken.
    pub last_step: Option<f64>,
    /// How many standard errors they were believed to be off at most where the run stands, before that step.
    pub believed_off: Option<f64>,
    /// In how many rows of those who are part of it a value of a column is missing.
    pub missing_by_column: Vec<(String, u64)>,
    /// Coefficients that may have no finite estimate.
    pub unbounded: Vec<String>,
    /// Who adds noise to its answers: what it is worth is not in the standard errors.
    pub noisy: Vec<String>,
    /// Whether the run diverged, so that the coefficients mean nothing.
    pub diverged: bool,
    /// The method's name.
    pub method: String,
    /// Why no further question is put, in words.
    pub stopped: Option<String>,
    /// Answers at a point that were paid for.
    pub queries: u64,
    /// Answers to questions to everybody.
    pub reported: Reported,
    /// The numbers that all answers held.
    pub numbers: u64,
    totals: Vec<f64>,
    rows: [u64; 2],
    std_errors: StdErrors,
}

/// What results are made of.
pub(crate) struct Sources<'a> {
    pub connection: &'a Connection,
    pub header: &'a Header,
    pub rounds: &'a Rounds,
    pub session: &'a Session<'static>,
    /// What was paid before the session was made anew.
    pub before: Spent,
}

impl<'a> Sources<'a> {
    /// Who is part of the study now, with what its rows count together.
    fn present(&self) -> impl Iterator<Item = (&'a Member, f64)> {
        let begun = self.header.begun.as_deref().into_iter();
        begun.flat_map(Begun::with_totals).filter(|(member, _)| !self.session.has_left(member.user))
    }

    /// Everybody who has not left.
    pub fn users(&self) -> impl Iterator<Item = usize> {
        (0..self.header.users.len()).filter(|user| !self.session.has_left(*user))
    }

    /// What everybody is asked now, and whose answers are waited for. A closing question is for where the run stands when it has stopped:
    /// whoever goes on does not wait for it.
    pub fn open_round(&self) -> Option<(&'a Round, Vec<usize>)> {
        let round = self.asking()?;
        let waits: Vec<usize> = self.users().filter(|user| !round.reports.contains_key(user)).collect();
        (!waits.is_empty()).then_some((round, waits))
    }

    /// Whether anybody's answer to that is waited for. Most often there are fewer answers than users, which is quickly seen.
    pub fn is_round_open(&self) -> bool {
        self.asking().is_some_and(|round| round.reports.len() < self.users().count()) || self.open_round().is_some()
    }

    fn asking(&self) -> Option<&'a Round> {
        let round = self.rounds.last.as_ref()?;
        let is_open = match round.wants {
            Wants::Summary => self.header.begun.is_none(),
            Wants::Closing => self.session.stop_reason().is_some() && self.closes_here(),
        };
        is_open.then_some(round)
    }

    /// What is minimised; none before everybody has answered the first question, and where this is no study.
    fn study(&self, std_errors: StdErrors) -> Option<Study<'a>> {
        let (terms, begun) = (self.header.terms.as_deref()?, self.header.begun.as_deref()?);
        let mut totals = vec![0.0; self.header.users.len()];
        let mut rows = [0, 0];
        for (member, total) in self.present() {
            totals[member.user] = total;
            rows = [rows[0] + member.rows, rows[1] + member.rows_missing];
        }
        Some(Study {
            encoding: &begun.agreed.encoding,
            family: terms.plan.family,
            weigh: terms.plan.weigh,
            l2: terms.plan.l2,
            std_errors,
            totals,
            rows: rows[0],
            rows_missing: rows[1],
        })
    }

    /// The smaller tolerance to go on to, if coefficients are not as close yet as they are to be.
    pub fn tolerance(&self) -> Option<f64> {
        let stop = self.session.stop_reason().filter(|stop| stop.is_converged())?;
        if self.session.remaining().is_none() {
            // Somebody has left since it stopped: what is minimised is another objective.
            return self.header.settings.tolerance;
        }
        if self.closes_here() {
            return None;
        }
        let (terms, study) = (self.header.terms.as_deref()?, self.study(StdErrors::Model)?);
        let precision = Precision { errors: terms.precision_of(&self.header.method), study: &study };
        precision.tolerance(self.session, Some(stop))
    }

    /// The tolerance by which the run has got where it was to get, after somebody has left: the gap at the start is then that to another
    /// objective's optimum, which may be small already, and no tolerance says how small a part of it is enough.
    pub fn enough(&self) -> Option<f64> {
        if !self.rounds.has_changed || self.session.stop_reason().is_some() {
            return None;
        }
        let (terms, study) = (self.header.terms.as_deref()?, self.study(StdErrors::Model)?);
        let remaining = self.session.remaining().filter(|remaining| remaining.part() < 1.0)?;
        let errors = terms.precision_of(&self.header.method).unwrap_or(Precision::DEFAULT);
        let precision = Precision { errors: Some(errors), study: &study };
        (precision.is_reached(self.session) == Some(true)).then(|| remaining.part().max(f64::MIN_POSITIVE))
    }

    /// Whether everybody is to be asked the closing question now.
    pub fn wants_closing(&self) -> bool {
        let (Some(terms), Some(stop)) = (self.header.terms.as_deref(), self.session.stop_reason()) else {
            return false;
        };
        // Wherever it has stopped: the answers give a step that may be what was missing.
        let is_there = !matches!(stop, StopReason::Diverged { .. });
        let closings = self.rounds.count.saturating_sub(1);
        terms.close && is_there && closings < terms.plan.rules.closing && !self.closes_here()
    }

    /// Whether the last closing question was put at this very point.
    fn closes_here(&self) -> bool {
        self.rounds.last.as_ref().is_some_and(|round| {
            round.wants == Wants::Closing
                && round.point.iter().map(|it| it.to_bits()).eq(self.session.point().iter().map(|it| it.to_bits()))
        })
    }

    /// Whether everybody has answered a closing question that was put at this very point.
    pub fn is_closed(&self) -> bool {
        let present: Vec<usize> = self.present().map(|(member, _)| member.user).collect();
        self.rounds.last.as_ref().is_some_and(|round| self.closes_here() && round.closings(&present).is_some())
    }

    /// The table; none before everybody has answered the first question.
    pub fn results(
        &self,
        std_errors: StdErrors,
        accounts: &[Account],
        stopped: Option<String>,
    ) -> Result<Option<Results>, LedgerError> {
        let (Some(terms), Some(begun)) = (&self.header.terms, &self.header.begun) else { return Ok(None) };
        let Some(study) = self.study(std_errors) else { return Ok(None) };
        let present: Vec<usize> = self.present().map(|(member, _)| member.user).collect();
        let mut point = self.session.point().to_vec();
        let precision = Precision { errors: terms.precision_of(&self.header.method), study: &study };
        let is_converged = self.session.stop_reason().is_some_and(StopReason::is_converged);
        let mut converged = match self.session.remaining() {
            Some(_) => precision.is_reached(self.session).or(is_converged.then_some(true)),
            None => self.header.method.default_tolerance().map(|_| false),
        };
        let mut last_step = None;
        let closings = self.rounds.last.as_ref().filter(|_| self.closes_here()).and_then(|it| it.closings(&present));
        let mut statistics = match &closings {
            Some(closings) => {
                let why_none =
                    |error: InferenceError| Statistics { why_none: Some(error.to_string()), ..Statistics::default() };
                let closed = |point: &[f64]| study.closed(point, closings).unwrap_or_else(why_none);
                let here = closed(&point);
                let next = here.inference.as_ref().and_then(|inference| study.last_step(&point, closings, inference));
                last_step = next.as_ref().map(|(_, moved)| *moved);
                // What the answers say is exact, and what was believed is not.
                let errors = terms.precision_of(&self.header.method).unwrap_or(Precision::DEFAULT);
                converged = Some(last_step.is_some_and(|moved| moved <= STEP_OF_PRECISION * errors));
                match next {
                    Some((next, moved)) if moved <= LONGEST_STEP => {
                        point = next;
                        closed(&point)
                    }
                    _ => here,
                }
            }
            None => study.learned(self.session, &self.secants(&study)?),
        };
        // Options are those of sgq fit.
        statistics
            .why_none
            .iter_mut()
            .for_each(|why| *why = why.replace(" (--close)", "").replace("--budget", "budget"));
        let unbounded = study.unbounded(&point, statistics.inference.as_ref());
        if statistics.why_none.is_some() && !unbounded.is_empty() {
            statistics.why_none =
                Some(format!("the rows say nothing of {} any more where the run stands", first_few(&unbounded)));
        }
        let mut missing_by_column: BTreeMap<&str, u64> = BTreeMap::new();
        for (column, rows) in self.present().flat_map(|(member, _)| &member.missing_by_column) {
            *missing_by_column.entry(column).or_default() += rows;
        }
        let meter = self.session.meter();
        Ok(Some(Results {
            terms: Terms::clone(terms),
            agreed: begun.agreed.clone(),
            users: present.iter().map(|user| self.header.users[*user].name.clone()).collect(),
            converged,
            missing_by_column: missing_by_column.into_iter().map(|(column, rows)| (column.to_owned(), rows)).collect(),
            believed_off: precision.believed(self.session),
            unbounded,
            noisy: self.noisy(&present, accounts),
            diverged: matches!(self.session.stop_reason(), Some(StopReason::Diverged { .. })),
            method: self.session.name().to_owned(),
            stopped,
            queries: self.before.queries + meter.billed(),
            reported: self.rounds.reported,
            numbers: self.before.numbers + meter.numbers() + self.rounds.reported.numbers,
            is_closed: closings.is_some(),
            last_step,
            rows: [study.rows, study.rows_missing],
            totals: study.totals,
            point,
            statistics,
            std_errors,
        }))
    }

    /// The names of those who have stated noise.
    fn noisy(&self, present: &[usize], accounts: &[Account]) -> Vec<String> {
        let is_noisy = |user: &&usize| accounts.get(**user).is_some_and(|account| account.rho > 0.0);
        present.iter().filter(is_noisy).map(|user| self.header.users[*user].name.clone()).collect()
    }

    /// What all answers say of curvature.
    fn secants(&self, study: &Study<'_>) -> Result<Secants, LedgerError> {
        let present: Vec<(&Member, f64)> = self.present().collect();
        let places: BTreeMap<usize, usize> =
            present.iter().enumerate().map(|(place, (member, _))| (member.user, place)).collect();
        let weights: Vec<f64> = match study.weigh {
            Weigh::Rows => present.iter().map(|(_, total)| *total).collect(),
            Weigh::Users => vec![1.0; present.len()],
        };
        let mut secants = Secants::new(self.session.point().len(), &weights);
        record::events_after(self.connection, 0, &self.header.seal, |recorded| {
            if let (Kind::Answered | Kind::Late, Body::Answer(reply), Some(ticket), Some(user)) =
                (recorded.event.kind, recorded.body, recorded.event.ticket, recorded.event.user)
                && let Some(place) = places.get(&user)
                && let Some(asked) = record::question(self.connection, ticket)?
            {
                secants.take(*place, &asked.point, &reply.gradient);
            }
            Ok(())
        })?;
        Ok(secants)
    }
}

impl Results {
    /// What the reader should not miss, in words.
    pub fn warnings(&self) -> Vec<String> {
        let noisy = (!self.noisy.is_empty()).then(|| {
            let names = first_few(&self.noisy);
            format!("{names}: clipped rows and added noise, of which standard errors know nothing")
        });
        let unbounded = (!self.unbounded.is_empty()).then(|| {
            format!(
                "{} may have no finite estimate (separation: all rows of a level, or beyond a value, have the same target): leave it \
                 out, put levels together, or agree on a penalty (--l2)",
                first_few(&self.unbounded)
            )
        });
        unbounded.into_iter().chain(noisy).chain(self.agreed.notes.iter().cloned()).collect()
    }

    /// What was minimised.
    pub fn study(&self) -> Study<'_> {
        let StudyPlan { family, weigh, l2, .. } = &self.terms.plan;
        Study {
            encoding: &self.agreed.encoding,
            family: *family,
            weigh: *weigh,
            l2: *l2,
            std_errors: self.std_errors,
            totals: self.totals.clone(),
            rows: self.rows[0],
            rows_missing: self.rows[1],
        }
    }

    /// The table and what goes with it, under the names that `sgq fit --json` has.
    pub fn to_json(&self) -> serde_json::Result<Map<String, Value>> {
        let StudyPlan { formula, family, weigh, l2, .. } = &self.terms.plan;
        let levels = self.agreed.encoding.reference_levels();
        let references: Vec<Value> =
            levels.iter().map(|(column, levels)| json!({ "column": column, "level": levels.first() })).collect();
        let missing = self.missing_by_column.iter().filter(|(_, rows)| *rows > 0);
        let missing: Vec<Value> = missing.map(|(column, rows)| json!({ "column": column, "rows": rows })).collect();
        let mut fields = Map::new();
        for (name, value) in [
            ("formula", json!(formula)),
            ("family", json!(family)),
            ("weigh", json!(weigh)),
            ("l2", json!(l2)),
            ("converged", json!(self.converged)),
            ("method", json!(self.method)),
            // Before the last step; after it, nobody has looked.
            ("believed_off", json!(self.believed_off.filter(|_| self.last_step.is_none()))),
            ("last_step", json!(self.last_step)),
            ("stop", json!(self.stopped)),
            ("closed", json!(self.is_closed)),
            ("queries", json!(self.queries)),
            ("first_answers", json!(self.reported.summaries)),
            ("closing_answers", json!(self.reported.closings)),
            ("numbers", json!(self.numbers)),
            ("plan", json!(self.terms.plan.id())),
            ("influence", json!(Influences::of(&self.statistics, &self.users))),
            ("missing_by_column", missing.into()),
            ("reference_levels", references.into()),
            ("warnings", json!(self.warnings())),
            ("diverged", json!(self.diverged)),
        ] {
            fields.insert(name.to_owned(), value);
        }
        fields.extend(self.statistics.to_json(&self.study(), &self.point)?);
        Ok(fields)
    }
}
