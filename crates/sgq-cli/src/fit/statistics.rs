//! What a statistician expects of a fit: standard errors, deviance, who matters how much.

use std::error::Error;

use sgq::{
    Problem as _,
    problem::{ProblemError, Regression, RegressionBuilder},
};
use sgq_data::{
    Dataset,
    glm::{Closing, Observations, Statistics, Study, Weigh, collinear, null_deviance, separation},
};
use thiserror::Error;

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

/// A fit whose rows are all in one place.
pub struct Subject<'a> {
    pub data: &'a Dataset,
    pub study: Study<'a>,
}

impl Subject<'_> {
    /// The rows as the regression sees them.
    pub fn observations(&self) -> Observations<'_> {
        let Dataset { rows, targets, weights, offsets, .. } = self.data;
        let family = self.study.family;
        Observations { rows, targets, weights: Some(weights), offsets: offsets.as_deref(), family }
    }

    /// The regression that is minimised.
    pub fn regression(&self) -> Result<RegressionBuilder, Box<dyn Error>> {
        let builder = self.data.builder(self.study.family.into())?.l2(self.study.l2);
        let builder = if self.study.encoding.has_intercept() { builder.free_intercept() } else { builder };
        Ok(match self.study.weigh {
            Weigh::Rows => builder.user_weights(self.data.row_totals()),
            Weigh::Users => builder,
        })
    }

    /// Looks for what leaves coefficients undetermined or without bound: with all data in one place, and no penalty.
    pub fn check(&self) -> Result<(), NoCoefficients> {
        if self.study.l2 > 0.0 {
            return Ok(());
        }
        let (names, scale) = (self.study.encoding.column_names(), self.study.encoding.original_scale());
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
        if self.study.l2 > 0.0 {
            return None;
        }
        let (names, scale) = (self.study.encoding.column_names(), self.study.encoding.original_scale());
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
        let mut statistics = self.study.closed(point, &closings)?;
        if let Some(inference) = &mut statistics.inference
            && inference.null_deviance.is_none()
            && self.study.encoding.has_intercept()
        {
            // With offsets it takes a fit of its own, on all rows.
            let scale = self.study.encoding.original_scale().target().scale;
            let unit = if self.study.family.scales_targets() { scale * scale } else { 1.0 };
            inference.null_deviance = null_deviance(&observations).map(|value| unit * value);
        }
        Ok(statistics)
    }
}
