//! The agreement, as a file.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{layout::Layout, rules::Rules};
use crate::{
    Formula,
    csv::Options,
    glm::{Family, Weigh},
};

/// The number of the format; it changes when older versions could misread it.
const FORMAT: u32 = 1;

/// What everybody in a study agrees to before anybody is asked.
///
/// ```
/// use sgq_data::plan::StudyPlan;
///
/// let plan = StudyPlan::new("died ~ age + sex".parse()?, "binomial".parse()?);
/// assert_eq!(StudyPlan::from_json(&plan.to_json())?, plan);
/// assert!(plan.in_words().starts_with("died ~ age + sex, binomial"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StudyPlan {
    /// The number of the format: 1.
    pub format: u32,
    /// What is predicted from what. It names every column: it has no `.`.
    pub formula: Formula,
    /// The distribution of the targets.
    pub family: Family,
    /// What counts the same.
    pub weigh: Weigh,
    /// The penalty `λ`, on scaled coefficients but for the intercept.
    pub l2: f64,
    /// The column that says how much each row counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<String>,
    /// What a clinic answers.
    pub rules: Rules,
}

/// Why there is no plan.
#[derive(Debug, Error)]
#[allow(missing_docs)] // the message says what each field is
#[non_exhaustive]
pub enum PlanError {
    #[error("cannot read the plan {}: {cause}", .path.display())]
    Unreadable { path: PathBuf, cause: io::Error },
    #[error("{}: {error}", .path.display())]
    InFile { path: PathBuf, error: Box<PlanError> },
    #[error("this is not a plan of sgq: take the file that sgq plan new wrote")]
    NoPlan,
    #[error(
        "the plan is damaged ({what}): take a whole copy; who wants another plan makes it anew with sgq plan new, for everybody"
    )]
    Damaged { what: String },
    #[error("the plan has format {format}, and this is sgq {}, which reads format {FORMAT}: take a newer sgq", env!("CARGO_PKG_VERSION"))]
    LaterFormat { format: u64 },
    #[error("{what}")]
    Wrong { what: String },
}

impl StudyPlan {
    /// Rows count alike, no penalty, no weights, the default rules.
    pub fn new(formula: Formula, family: Family) -> Self {
        Self { format: FORMAT, formula, family, weigh: Weigh::Rows, l2: 0.0, weight: None, rules: Rules::default() }
    }

    /// Reads a plan from its file.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, PlanError> {
        let path = path.as_ref();
        let text = fs::read_to_string(path);
        let text = text.map_err(|cause| PlanError::Unreadable { path: path.to_owned(), cause })?;
        Self::from_json(&text).map_err(|error| PlanError::InFile { path: path.to_owned(), error: Box::new(error) })
    }

    /// Reads a plan, and looks whether its parts go together.
    pub fn from_json(text: &str) -> Result<Self, PlanError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        if !text.trim_start().starts_with('{') {
            return Err(PlanError::NoPlan);
        }
        let damaged = |error: serde_json::Error| PlanError::Damaged { what: error.to_string() };
        let value: serde_json::Value = serde_json::from_str(text).map_err(damaged)?;
        let format = value.get("format").and_then(serde_json::Value::as_u64).ok_or(PlanError::NoPlan)?;
        if format > u64::from(FORMAT) {
            return Err(PlanError::LaterFormat { format });
        }
        // Once more from the text, whose errors have a line.
        let plan: Self = serde_json::from_str(text).map_err(damaged)?;
        plan.check().map_err(|error| PlanError::Damaged { what: error.to_string() })?;
        Ok(plan)
    }

    /// The plan as it stands in its file.
    pub fn to_json(&self) -> String {
        // Names and numbers always have a JSON.
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }

    /// What tells this plan from any other, however its file is laid out: BLAKE3 of its JSON, in hexadecimal.
    pub fn id(&self) -> String {
        let json = serde_json::to_string(self).unwrap_or_default();
        blake3::hash(json.as_bytes()).to_hex().to_string()
    }

    /// Whether the parts go together.
    pub fn check(&self) -> Result<(), PlanError> {
        let wrong = |what: String| Err(PlanError::Wrong { what });
        if self.format != FORMAT {
            return wrong(format!("format is {}: it must be {FORMAT}", self.format));
        }
        if !(self.l2 >= 0.0 && self.l2.is_finite()) {
            return wrong(format!("l2 is {}: a penalty is a number that is not negative", self.l2));
        }
        if let Some(what) = self.rules.objection() {
            return wrong(what);
        }
        let layout = Layout::of(&self.formula).map_err(|what| PlanError::Wrong { what })?;
        let features = layout.columns();
        let targets = self.formula.response().columns();
        if let Some(twice) = targets.iter().find(|target| features.contains(target)) {
            return wrong(format!("{twice:?} is the target and a feature: it can be one of them"));
        }
        match &self.weight {
            Some(weight) if features.contains(weight) || targets.contains(weight) => {
                wrong(format!("{weight:?} is the weight and in the formula: it can be one of them"))
            }
            _ => Ok(()),
        }
    }

    /// The columns that a clinic's file must have.
    pub fn columns(&self) -> Vec<String> {
        let mut columns = self.formula.response().columns();
        columns.extend(Layout::of(&self.formula).map(|layout| layout.columns()).unwrap_or_default());
        columns.extend(self.weight.clone());
        let mut known = std::collections::HashSet::new();
        columns.retain(|column| known.insert(column.clone()));
        columns
    }

    /// How a clinic's file is read.
    pub(super) fn reading(&self) -> Options {
        Options {
            weight: self.weight.clone(),
            drop_missing: true,
            loss: self.family.into(),
            ..Options::with_formula("", self.formula.clone())
        }
    }
}
