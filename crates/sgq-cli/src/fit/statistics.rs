//! What a statistician expects of a fit: standard errors, deviance, who matters how much.

use std::error::Error;

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
        let Some(model) = session.belief::<Model>() else {
            return none("the method learns no curvature; --close asks every user for it");
        };
        let gradients: Option<Vec<Vec<f64>>> =
            (0..self.data.users()).map(|user| model.gradient_at(user, point)).collect();
        let (Some(curvature), Some(gradients)) = (model.curvature(), gradients) else {
            return none("not everybody was asked; give a larger --budget, or ask everybody at the end with --close");
        };
        let hessian = match session.answers() {
            sgq::Detail::Hessian => curvature,
            _ => secants.curvature(&curvature),
        };
        let names = self.encoding.column_names();
        let factors = self.user_factors();
        let mut fit = self.fit(&names, point, factors.as_deref());
        let is_known = self.family.has_fixed_dispersion() && self.weigh == Weigh::Rows;
        if !is_known {
            fit.std_errors = StdErrors::Clustered;
        }
        let weight = self.data.weights.iter().sum();
        let rows = self.data.weights.iter().filter(|weight| **weight > 0.0).count() as u64;
        let learned = Learned {
            hessian: &hessian,
            gradients: &gradients,
            weight: Some(weight),
            rows: Some(rows),
            dispersion: None,
        };
        let (inference, why_none) = self.described(Inference::approximate(&fit, &learned));
        let influence =
            inference.as_ref().and_then(|it| influence_approximate(&fit, &learned, it).ok()).unwrap_or_default();
        Statistics { inference, influence, why_none, closings: 0, closing_numbers: 0 }
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
