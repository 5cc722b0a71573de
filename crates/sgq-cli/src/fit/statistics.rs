//! What a statistician expects of a fit: standard errors, deviance, who matters how much.

use std::error::Error;

use serde_json::{Map, Value, json};
use sgq::{
    Problem as _, Session,
    belief::Model,
    problem::{ProblemError, Regression, RegressionBuilder},
};
use sgq_data::{
    Dataset, Encoding,
    glm::{
        Closing, Family, Fit, Inference, InferenceError, Influence, Learned, Observations, Penalty, Secants, StdErrors,
        collinear, influence, influence_approximate, null_deviance, separation,
    },
};
use thiserror::Error;

use super::options::Weigh;
use crate::model::Model as FittedModel;

/// Why the coefficients that were asked for do not exist.
#[derive(Debug, Error)]
pub enum NoCoefficients {
    #[error("{0}; leave it out, or give a penalty (--l2 0.01)")]
    Collinear(String),
    #[error(
        "no finite coefficients are the most likely ones: {0}; leave such columns out, put levels together, or give a penalty (--l2 0.01)"
    )]
    Separation(String),
}

/// What the users are asked at the end, and what is made of it.
pub struct Statistics {
    /// None where nothing tells curvature.
    pub inference: Option<Inference>,
    /// The largest first; empty where it is not known.
    pub influence: Vec<Influence>,
    /// Why there are no standard errors.
    pub why_none: Option<String>,
    /// How many closing questions were answered, and with how many numbers.
    pub closings: u64,
    pub closing_numbers: u64,
}

impl Statistics {
    /// The table and what goes with it, as JSON: estimates alone where there are no standard errors.
    pub fn table(&self, model: &FittedModel, data: &Dataset) -> serde_json::Result<Map<String, Value>> {
        let mut table = match &self.inference {
            Some(inference) => serde_json::to_value(inference)?,
            None => {
                let names = model.encoding.column_names();
                let estimates = model.encoding.original_scale().coefficients(&model.standardised);
                let line = |(name, estimate): (&String, f64)| json!({ "name": name, "estimate": estimate });
                let coefficients: Vec<Value> = names.iter().zip(estimates).map(line).collect();
                let rows = data.weights.iter().filter(|weight| **weight > 0.0).count();
                json!({
                    "coefficients": coefficients, "std_error_kind": null, "deviance": null, "null_deviance": null,
                    "aic": null, "log_likelihood": null, "dispersion": null, "rows": rows,
                    "rows_missing": data.dropped_rows, "users": data.users(), "notes": self.why_none,
                })
            }
        };
        let fields = table.as_object_mut().map(std::mem::take).unwrap_or_default();
        // The model says the family itself.
        Ok(fields.into_iter().filter(|(name, _)| name != "family").collect())
    }
}

/// A fit that is to be described.
pub struct Subject<'a> {
    pub data: &'a Dataset,
    pub encoding: &'a Encoding,
    pub family: Family,
    pub weigh: Weigh,
    pub l2: f64,
    pub std_errors: StdErrors,
}

impl Subject<'_> {
    /// The rows as the regression sees them.
    pub fn observations(&self) -> Observations<'_> {
        let Dataset { rows, targets, weights, offsets, .. } = self.data;
        let family = self.family;
        Observations { rows, targets, weights: Some(weights), offsets: offsets.as_deref(), family }
    }

    /// The regression that is minimised.
    pub fn regression(&self) -> Result<RegressionBuilder, Box<dyn Error>> {
        let builder = self.data.builder(self.family.into())?.l2(self.l2);
        let builder = if self.encoding.has_intercept() { builder.free_intercept() } else { builder };
        Ok(match self.weigh {
            Weigh::Rows => builder.user_weights(self.data.row_totals()),
            Weigh::Users => builder,
        })
    }

    /// Looks for what leaves coefficients undetermined or without bound: with all data in one place, and no penalty.
    pub fn check(&self) -> Result<(), NoCoefficients> {
        if self.l2 > 0.0 {
            return Ok(());
        }
        let (names, scale) = (self.encoding.column_names(), self.encoding.original_scale());
        let found = collinear(&self.data.rows, Some(&self.data.weights), &names, &scale);
        if !found.is_empty() {
            let each: Vec<String> = found.iter().map(ToString::to_string).collect();
            return Err(NoCoefficients::Collinear(each.join("; ")));
        }
        Ok(())
    }

    /// The regression with its optimum on all data, by `solve`; or why there is none.
    pub fn solved(
        &self,
        solve: impl FnOnce(RegressionBuilder) -> Result<Regression, ProblemError>,
    ) -> Result<Regression, Box<dyn Error>> {
        /// Without separation no row is as sure as that: the odds are ten million to one.
        const SUSPICIOUS: f64 = 16.0;
        let problem = match solve(self.regression()?) {
            Ok(problem) => problem,
            Err(error) => return Err(self.separated().map_or_else(|| error.into(), Into::into)),
        };
        let best = problem.optimum().map(|optimum| &optimum.point);
        let far =
            |point: &Vec<f64>| (0..self.data.rows.count()).any(|row| self.data.rows.dot(row, point).abs() > SUSPICIOUS);
        match best.filter(|point| far(point)).and_then(|_| self.separated()) {
            Some(why) => Err(why.into()),
            None => Ok(problem),
        }
    }

    /// Looks for coefficients that grow without bound.
    fn separated(&self) -> Option<NoCoefficients> {
        if self.l2 > 0.0 {
            return None;
        }
        let (names, scale) = (self.encoding.column_names(), self.encoding.original_scale());
        let found = separation(&self.observations(), &names, &scale).ok().filter(|found| !found.is_empty())?;
        let each: Vec<String> = found.iter().map(ToString::to_string).collect();
        Some(NoCoefficients::Separation(each.join("; and ")))
    }

    /// Asks every user the closing question, and makes the table.
    pub fn close(&self, point: &[f64]) -> Result<Statistics, Box<dyn Error>> {
        let observations = self.observations();
        let blocks = self.data.blocks.windows(2);
        let closings: Vec<Closing> =
            blocks.map(|block| Closing::of(&observations, block[0]..block[1], 0, point)).collect::<Result<_, _>>()?;
        let numbers = closings.iter().map(|closing| closing.numbers() as u64).sum();
        let names = self.encoding.column_names();
        let factors = self.user_factors();
        let fit = self.fit(&names, point, factors.as_deref());
        let made = Inference::from_closings(&fit, &closings);
        let (inference, why_none) = self.described(made);
        let influence = match &inference {
            Some(inference) => influence(&fit, &closings, inference)?,
            None => Vec::new(),
        };
        Ok(Statistics { inference, influence, why_none, closings: closings.len() as u64, closing_numbers: numbers })
    }

    /// Makes the table of what was learned on the way: users' last gradients, and what they say of curvature.
    pub fn learned(&self, session: &Session<'_>, secants: &Secants) -> Statistics {
        let point = session.point();
        let none = |why: &str| Statistics {
            inference: None,
            influence: Vec::new(),
            why_none: Some(why.to_owned()),
            closings: 0,
            closing_numbers: 0,
        };
        if session.belief::<Model>().is_none() {
            return none("the method learns no curvature; --close asks every user for it");
        }
        if !self.is_model_known() && self.data.users() == 1 {
            return none("one user alone tells no spread between users; --close asks it for that between its rows");
        }
        let Some((curvature, gradients)) = self.believed(session) else {
            return none("not everybody was asked; give a larger --budget, or ask everybody at the end with --close");
        };
        let hessian = match session.answers() {
            sgq::Detail::Hessian => curvature,
            _ => secants.curvature(&curvature),
        };
        let names = self.encoding.column_names();
        let factors = self.user_factors();
        let mut fit = self.fit(&names, point, factors.as_deref());
        if !self.is_model_known() {
            fit.std_errors = StdErrors::Clustered;
        }
        let learned = self.with_rows(&hessian, &gradients, None);
        let (inference, why_none) = self.described(Inference::approximate(&fit, &learned));
        let influence =
            inference.as_ref().and_then(|it| influence_approximate(&fit, &learned, it).ok()).unwrap_or_default();
        Statistics { inference, influence, why_none, closings: 0, closing_numbers: 0 }
    }

    /// The curvature, and each user's gradient where the session stands, as they are believed; none where somebody was not asked.
    fn believed(&self, session: &Session<'_>) -> Option<(Vec<f64>, Vec<Vec<f64>>)> {
        let model = session.belief::<Model>()?;
        let point = session.point();
        let gradients: Option<_> = (0..self.data.users()).map(|user| model.gradient_at(user, point)).collect();
        model.curvature().zip(gradients)
    }

    /// Whether standard errors of the model need nothing but curvature.
    fn is_model_known(&self) -> bool {
        self.family.has_fixed_dispersion() && self.weigh == Weigh::Rows
    }

    fn with_rows<'s>(&self, hessian: &'s [f64], gradients: &'s [Vec<f64>], dispersion: Option<f64>) -> Learned<'s> {
        let weights = &self.data.weights;
        let rows = weights.iter().filter(|weight| **weight > 0.0).count() as u64;
        Learned { hessian, gradients, weight: Some(weights.iter().sum()), rows: Some(rows), dispersion }
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

    /// What `c_i` multiplies a user's losses where users count the same: one over what its rows weigh together.
    fn user_factors(&self) -> Option<Vec<f64>> {
        match self.weigh {
            Weigh::Rows => None,
            Weigh::Users => Some(self.data.row_totals().iter().map(|total| 1.0 / total).collect()),
        }
    }

    fn fit<'s>(&self, names: &'s [String], point: &'s [f64], user_factors: Option<&'s [f64]>) -> Fit<'s> {
        let of_sum = match self.weigh {
            Weigh::Rows => self.l2 * self.data.weights.iter().sum::<f64>(),
            Weigh::Users => self.l2 * self.data.users() as f64,
        };
        let free_intercept = self.encoding.has_intercept();
        Fit {
            penalty: Penalty { of_sum, free_intercept },
            user_factors,
            std_errors: self.std_errors,
            ..Fit::new(self.family, names, point, self.encoding.original_scale())
        }
    }

    /// The table with what is known of the rows in one file, or why there is none.
    fn described(&self, made: Result<Inference, InferenceError>) -> (Option<Inference>, Option<String>) {
        match made {
            Ok(mut inference) => {
                inference.rows_missing = Some(self.data.dropped_rows as u64);
                if inference.deviance.is_some() && inference.null_deviance.is_none() && self.encoding.has_intercept() {
                    let scale = self.encoding.original_scale().target().scale;
                    let unit = if self.family.scales_targets() { scale * scale } else { 1.0 };
                    inference.null_deviance = null_deviance(&self.observations()).map(|value| unit * value);
                }
                (Some(inference), None)
            }
            Err(error) => (None, Some(error.to_string())),
        }
    }
}
