//! A fit over users, and what a statistician expects to be told of it.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use sgq::{Detail, Session, belief::Model};

use super::{
    Closing, Family, Fit, Inference, InferenceError, Influence, Learned, Penalty, Secants, StdErrors, influence,
    influence_approximate,
};
use crate::{Column, Encoding};

/// What counts the same in the objective.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Weigh {
    /// Every row: the fit of all rows in one place.
    #[default]
    Rows,
    /// Every user, however many rows it has.
    Users,
}

impl FromStr for Weigh {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "rows" => Ok(Self::Rows),
            "users" | "equal" => Ok(Self::Users),
            _ => Err("expected rows or users".to_owned()),
        }
    }
}

impl fmt::Display for Weigh {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Rows => "rows count alike",
            Self::Users => "users count alike, however many rows each has (not a glm of all rows)",
        })
    }
}

/// What is minimised over users, as far as it takes to describe the result: nobody's rows.
#[derive(Clone, Debug)]
pub struct Study<'a> {
    /// The columns.
    pub encoding: &'a Encoding,
    /// The family.
    pub family: Family,
    /// What counts the same.
    pub weigh: Weigh,
    /// The penalty `λ`, on standardised coefficients but for the intercept.
    pub l2: f64,
    /// Which standard errors are wanted.
    pub std_errors: StdErrors,
    /// What each user's rows count together, `Σ w`; 0 for one that is not part of it, or no more.
    pub totals: Vec<f64>,
    /// How many rows are used, those of positive weight.
    pub rows: u64,
    /// How many were left out.
    pub rows_missing: u64,
}

/// The table, or why there is none.
#[derive(Clone, Debug, Default)]
pub struct Statistics {
    /// None where nothing tells curvature.
    pub inference: Option<Inference>,
    /// The largest first; empty where it is not known.
    pub influence: Vec<Influence>,
    /// Why there are no standard errors.
    pub why_none: Option<String>,
    /// How many closing questions were answered, and with how many numbers.
    pub closings: u64,
    /// See [`Self::closings`].
    pub closing_numbers: u64,
}

impl Study<'_> {
    /// The table from every user's closing at a point.
    pub fn closed(&self, point: &[f64], closings: &[Closing]) -> Result<Statistics, InferenceError> {
        let names = self.encoding.column_names();
        let factors = self.user_factors();
        let fit = self.fit(&names, point, factors.as_deref());
        let mut statistics = self.described(Inference::from_closings(&fit, closings));
        if let Some(inference) = &statistics.inference {
            statistics.influence = influence(&fit, closings, inference)?;
        }
        statistics.closings = closings.len() as u64;
        statistics.closing_numbers = closings.iter().map(|closing| closing.numbers() as u64).sum();
        Ok(statistics)
    }

    /// A last step of Newton's method, which everybody's closings give for nothing: from a point that is close to the finished fit to one
    /// that is far closer; and how many standard errors it moves a coefficient by at most. Where these are not few, nothing that is known
    /// at the point need hold there. None where curvature does not tell.
    pub fn last_step(&self, point: &[f64], closings: &[Closing], inference: &Inference) -> Option<(Vec<f64>, f64)> {
        let names = self.encoding.column_names();
        let factors = self.user_factors();
        let next = self.fit(&names, point, factors.as_deref()).newton_step(closings).ok()?;
        let scale = self.encoding.original_scale();
        let moved = scale.coefficients(&next).into_iter().zip(scale.coefficients(point)).zip(&inference.coefficients);
        let each = moved.map(|((next, now), line)| (next - now).abs() / line.std_error);
        // What is no number is no small step.
        let largest = each.fold(0.0, |most: f64, it| if it.is_nan() { f64::INFINITY } else { most.max(it) });
        Some((next, largest))
    }

    /// The table from what was learned on the way: users' last gradients, and what they say of curvature.
    pub fn learned(&self, session: &Session<'_>, secants: &Secants) -> Statistics {
        let none = |why: &str| Statistics { why_none: Some(why.to_owned()), ..Statistics::default() };
        if session.belief::<Model>().is_none() {
            return none("the method learns no curvature; a closing question (--close) asks every user for it");
        }
        if !self.is_model_known() && self.users().count() == 1 {
            return none(
                "one user alone tells no spread between users; a closing question (--close) asks for that between rows",
            );
        }
        let Some((curvature, gradients)) = self.believed(session) else {
            return none(
                "not everybody was asked; give a larger --budget, or ask everybody a closing question (--close)",
            );
        };
        let hessian = match session.answers() {
            Detail::Hessian => curvature,
            _ => secants.curvature(&curvature),
        };
        let names = self.encoding.column_names();
        let factors = self.user_factors();
        let mut fit = self.fit(&names, session.point(), factors.as_deref());
        if !self.is_model_known() {
            fit.std_errors = StdErrors::Clustered;
        }
        let learned = self.with_rows(&hessian, &gradients, None);
        let mut statistics = self.described(Inference::approximate(&fit, &learned));
        if let Some(inference) = &statistics.inference {
            statistics.influence = influence_approximate(&fit, &learned, inference).unwrap_or_default();
        }
        statistics
    }

    /// The mean over coefficients of how much larger variances clustered by user are believed to be than those of the model with a
    /// dispersion of 1: an estimate of the dispersion that needs no residuals. 1 where the family fixes it.
    pub fn dispersion(&self, session: &Session<'_>) -> Option<f64> {
        if self.is_model_known() {
            return Some(1.0);
        }
        let (curvature, gradients) = self.believed(session)?;
        let learned = self.with_rows(&curvature, &gradients, Some(1.0));
        let names = self.encoding.column_names();
        let variances = |std_errors| {
            // Huber's loss has no model's standard errors without residuals; the curvature is that of squares.
            let fit = Fit { family: Family::Gaussian, std_errors, ..self.fit(&names, session.point(), None) };
            let table = Inference::approximate(&fit, &learned).ok()?.coefficients;
            Some(table.into_iter().map(|line| line.std_error * line.std_error).collect::<Vec<_>>())
        };
        let (clustered, model) = (variances(StdErrors::Clustered)?, variances(StdErrors::Model)?);
        let ratios = clustered.iter().zip(&model).map(|(clustered, model)| clustered / model);
        Some(ratios.sum::<f64>() / model.len() as f64)
    }

    /// How many numbers users send to the first question: rows and missing ones, and a mean and a deviation of each column and of the
    /// target.
    pub fn first_numbers(&self) -> u64 {
        self.totals.len() as u64 * (2 * self.encoding.dim() as u64 + 2)
    }

    /// Who is part of it. Closings and influences are of these, in order.
    pub fn users(&self) -> impl Iterator<Item = usize> {
        self.totals.iter().enumerate().filter(|(_, total)| **total > 0.0).map(|(user, _)| user)
    }

    /// Coefficients of counts and odds that may have no finite estimate, by name: where all rows of a level have the same target they grow
    /// without bound, and where a run stops says nothing. Users' sums cannot prove it, and rows in one place can
    /// ([`separation`](super::separation)).
    pub fn unbounded(&self, point: &[f64], inference: Option<&Inference>) -> Vec<String> {
        /// On the scale of the link, of a level or of a standard deviation: odds, or rates, of 1 to 3000.
        const FAR: f64 = 8.0;
        /// The same with a standard error that is as large.
        const UNSURE: f64 = 4.0;
        let grows = matches!(self.family, Family::Binomial | Family::Poisson | Family::NegativeBinomial { .. });
        if !grows || self.l2 > 0.0 {
            return Vec::new();
        }
        let (names, estimates) = (self.encoding.column_names(), self.encoding.original_scale().coefficients(point));
        let skipped = usize::from(self.encoding.has_intercept());
        let is_far = |(place, column): (usize, &Column)| {
            let place = place + skipped;
            let is_level = column.parts.iter().all(|part| part.level.is_some());
            let unit = if is_level { 1.0 } else { column.scaling.scale };
            let size = (estimates[place] * unit).abs();
            let error = inference.map_or(0.0, |inference| inference.coefficients[place].std_error * unit);
            (size > FAR || size > UNSURE && error > UNSURE).then(|| names[place].clone())
        };
        self.encoding.columns().iter().enumerate().filter_map(is_far).collect()
    }

    /// What all rows count together, `W`.
    pub fn weight(&self) -> f64 {
        self.totals.iter().sum()
    }

    /// The curvature, and each user's gradient where the session stands, as they are believed; none where somebody was not asked.
    fn believed(&self, session: &Session<'_>) -> Option<(Vec<f64>, Vec<Vec<f64>>)> {
        let model = session.belief::<Model>()?;
        let point = session.point();
        let gradients: Option<_> = self.users().map(|user| model.gradient_at(user, point)).collect();
        model.curvature().zip(gradients)
    }

    /// Whether standard errors of the model need nothing but curvature.
    fn is_model_known(&self) -> bool {
        self.family.has_fixed_dispersion() && self.weigh == Weigh::Rows
    }

    fn with_rows<'s>(&self, hessian: &'s [f64], gradients: &'s [Vec<f64>], dispersion: Option<f64>) -> Learned<'s> {
        Learned { hessian, gradients, weight: Some(self.weight()), rows: Some(self.rows), dispersion }
    }

    /// What `c_i` multiplies a user's losses where users count the same: one over what its rows weigh together.
    fn user_factors(&self) -> Option<Vec<f64>> {
        match self.weigh {
            Weigh::Rows => None,
            Weigh::Users => Some(self.users().map(|user| 1.0 / self.totals[user]).collect()),
        }
    }

    fn fit<'s>(&self, names: &'s [String], point: &'s [f64], user_factors: Option<&'s [f64]>) -> Fit<'s> {
        let of_sum = match self.weigh {
            Weigh::Rows => self.l2 * self.weight(),
            Weigh::Users => self.l2 * self.users().count() as f64,
        };
        let free_intercept = self.encoding.has_intercept();
        Fit {
            penalty: Penalty { of_sum, free_intercept },
            user_factors,
            std_errors: self.std_errors,
            ..Fit::new(self.family, names, point, self.encoding.original_scale())
        }
    }

    fn described(&self, made: Result<Inference, InferenceError>) -> Statistics {
        match made {
            Ok(mut inference) => {
                inference.rows_missing = Some(self.rows_missing);
                Statistics { inference: Some(inference), ..Statistics::default() }
            }
            Err(error) => Statistics { why_none: Some(error.to_string()), ..Statistics::default() },
        }
    }
}

impl Statistics {
    /// The table and what goes with it, as JSON: estimates alone where there are no standard errors. The family is left out.
    pub fn to_json(&self, study: &Study<'_>, point: &[f64]) -> serde_json::Result<Map<String, Value>> {
        let mut table = match &self.inference {
            Some(inference) => serde_json::to_value(inference)?,
            None => {
                let names = study.encoding.column_names();
                let estimates = study.encoding.original_scale().coefficients(point);
                let line = |(name, estimate): (&String, f64)| json!({ "name": name, "estimate": estimate });
                let coefficients: Vec<Value> = names.iter().zip(estimates).map(line).collect();
                json!({
                    "coefficients": coefficients, "std_error_kind": null, "deviance": null, "null_deviance": null,
                    "aic": null, "log_likelihood": null, "dispersion": null, "rows": study.rows,
                    "rows_missing": study.rows_missing, "users": study.users().count(), "notes": self.why_none,
                })
            }
        };
        let fields = table.as_object_mut().map(std::mem::take).unwrap_or_default();
        Ok(fields.into_iter().filter(|(name, _)| name != "family").collect())
    }
}
