//! A study whose rows are all in one place: what is minimised, what would keep it from being had, and the closing.

use sgq::{
    Problem as _, Settings,
    problem::{ProblemError, Regression, RegressionBuilder},
};
use thiserror::Error;

use super::{
    Closing, ClosingError, Family, InferenceError, Observations, Statistics, StdErrors, Study, Weigh, collinear,
    null_deviance, null_point, separation,
};
use crate::{Dataset, DatasetError, Encoding};

/// Without separation no row is as sure as that, on the scale of the link: the odds are ten million to one.
const SUSPICIOUS: f64 = 16.0;

/// As many queries, or as many for each user, where nobody says.
const DEFAULT_BUDGET: u64 = 500;
const DEFAULT_BUDGET_PER_USER: u64 = 10;

/// A fit whose rows are all in one place.
#[derive(Clone, Debug)]
pub struct Subject<'a> {
    /// The rows.
    pub data: &'a Dataset,
    /// What is minimised on them.
    pub study: Study<'a>,
}

/// Why there is no fit.
#[derive(Debug, Error)]
#[allow(missing_docs)] // the message says what each field is
#[non_exhaustive]
pub enum SubjectError {
    #[error("the data have no encoding: read them from a CSV file")]
    NoEncoding,
    #[error("{0}; leave it out, or give a penalty")]
    Collinear(String),
    #[error(
        "no finite coefficients are the most likely ones: {0}; leave such columns out, put levels together, or give a penalty"
    )]
    Separation(String),
    #[error(transparent)]
    Dataset(#[from] DatasetError),
    #[error(transparent)]
    Problem(#[from] ProblemError),
    #[error(transparent)]
    Closing(#[from] ClosingError),
    #[error(transparent)]
    Inference(#[from] InferenceError),
}

impl SubjectError {
    /// Whether the coefficients do not exist, but would with a penalty.
    pub fn needs_penalty(&self) -> bool {
        matches!(self, Self::Collinear(_) | Self::Separation(_))
    }
}

impl<'a> Subject<'a> {
    /// A fit to data that were read for the family. Standard errors are of the model, and there is no penalty.
    pub fn new(data: &'a Dataset, family: Family, weigh: Weigh) -> Result<Self, SubjectError> {
        let encoding: &Encoding = data.encoding.as_ref().ok_or(SubjectError::NoEncoding)?;
        let study = Study {
            encoding,
            family,
            weigh,
            l2: 0.0,
            std_errors: StdErrors::Model,
            totals: data.row_totals(),
            rows: data.weights.iter().filter(|weight| **weight > 0.0).count() as u64,
            rows_missing: data.dropped_rows as u64,
        };
        Ok(Self { data, study })
    }

    /// The same with a penalty on standardised coefficients, but for the intercept.
    pub fn penalised(mut self, l2: f64) -> Self {
        self.study.l2 = l2;
        self
    }

    /// The same with other standard errors.
    pub fn std_errors(mut self, std_errors: StdErrors) -> Self {
        self.study.std_errors = std_errors;
        self
    }

    /// The rows as the regression sees them.
    pub fn observations(&self) -> Observations<'_> {
        let Dataset { rows, targets, weights, offsets, .. } = self.data;
        let family = self.study.family;
        Observations { rows, targets, weights: Some(weights), offsets: offsets.as_deref(), family }
    }

    /// The regression that is minimised; with the users' smoothness, where that is wanted.
    ///
    /// With diagnostics it has its optimum on all data, which no real run knows; and where coefficients do not exist, that is an error
    /// which says why.
    pub fn problem(&self, diagnostics: bool, constants: bool) -> Result<Regression, SubjectError> {
        if !diagnostics {
            let builder = self.regression()?;
            return Ok(if constants { builder.unsolved()? } else { builder.bare()? });
        }
        self.check()?;
        self.solved(|builder| if constants { builder.build() } else { builder.solved() })
    }

    /// Settings of a session that begins at the null model, which has an intercept only; with the constants of the problem, where the
    /// method needs them.
    pub fn settings(&self, problem: &Regression, constants: bool) -> Settings {
        let start = null_point(&self.observations(), self.study.encoding.has_intercept());
        let mut settings = Settings::for_problem(start, problem);
        if !constants {
            (settings.smoothness, settings.objective_smoothness, settings.pl_constant) = (None, None, None);
        }
        settings
    }

    /// How many queries, where nobody says.
    pub fn default_budget(&self) -> u64 {
        DEFAULT_BUDGET.max(DEFAULT_BUDGET_PER_USER * self.data.users() as u64)
    }

    fn regression(&self) -> Result<RegressionBuilder, DatasetError> {
        let builder = self.data.builder(self.study.family.into())?.l2(self.study.l2);
        let builder = if self.study.encoding.has_intercept() { builder.free_intercept() } else { builder };
        Ok(match self.study.weigh {
            Weigh::Rows => builder.user_weights(self.data.row_totals()),
            Weigh::Users => builder,
        })
    }

    /// Looks for columns that leave coefficients undetermined.
    fn check(&self) -> Result<(), SubjectError> {
        if self.study.l2 > 0.0 {
            return Ok(());
        }
        let (names, scale) = (self.study.encoding.column_names(), self.study.encoding.original_scale());
        let found = collinear(&self.data.rows, Some(&self.data.weights), &names, &scale);
        if !found.is_empty() {
            let each: Vec<String> = found.iter().map(ToString::to_string).collect();
            return Err(SubjectError::Collinear(each.join("; ")));
        }
        Ok(())
    }

    /// The regression with its optimum on all data, by `solve`; or why there is none.
    fn solved(
        &self,
        solve: impl FnOnce(RegressionBuilder) -> Result<Regression, ProblemError>,
    ) -> Result<Regression, SubjectError> {
        let problem = match solve(self.regression()?) {
            Ok(problem) => problem,
            Err(error) => return Err(self.separated().unwrap_or_else(|| error.into())),
        };
        let best = problem.optimum().map(|optimum| &optimum.point);
        let far =
            |point: &Vec<f64>| (0..self.data.rows.count()).any(|row| self.data.rows.dot(row, point).abs() > SUSPICIOUS);
        match best.filter(|point| far(point)).and_then(|_| self.separated()) {
            Some(why) => Err(why),
            None => Ok(problem),
        }
    }

    /// Looks for coefficients that grow without bound.
    fn separated(&self) -> Option<SubjectError> {
        if self.study.l2 > 0.0 {
            return None;
        }
        let (names, scale) = (self.study.encoding.column_names(), self.study.encoding.original_scale());
        let found = separation(&self.observations(), &names, &scale).ok().filter(|found| !found.is_empty())?;
        let each: Vec<String> = found.iter().map(ToString::to_string).collect();
        Some(SubjectError::Separation(each.join("; and ")))
    }

    /// Asks every user the closing question, and makes the table.
    pub fn close(&self, point: &[f64]) -> Result<Statistics, SubjectError> {
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
