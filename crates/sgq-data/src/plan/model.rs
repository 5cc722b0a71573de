//! Whether a model that came with a question is one of the plan's, and a clinic's rows as it sees them.

use std::fmt::Display;

use sgq::problem::{Loss, Regression};

use super::{
    StudyPlan, Summary, TargetSummary, VariableSummary,
    layout::{Layout, SkeletonError},
    own_scale::{self, OwnDeviation},
    question::Refusal,
};
use crate::{Encoding, Target, Variable, encoding::Levels};

/// Why exactly would name rows, to whoever makes models to find out.
const NO_FIT: &str = "the clinic's rows do not fit the model: this counts as an answer";

/// A model, and a clinic's rows as it sees them.
#[derive(Debug)]
pub(super) struct Prepared {
    /// What tells it from others.
    pub hash: String,
    pub regression: Regression,
    pub weights: Vec<f64>,
    /// Those of the columns, intercept first.
    deviations: Vec<OwnDeviation>,
}

/// What tells one model from another.
pub(super) fn hash(model: &Encoding) -> Result<String, String> {
    let json = serde_json::to_string(model).map_err(|error| error.to_string())?;
    Ok(blake3::hash(json.as_bytes()).to_hex().to_string())
}

impl Prepared {
    pub fn new(plan: &StudyPlan, model: &Encoding, data: &[u8], name: &str, own: &Summary) -> Result<Self, Refusal> {
        belongs(plan, model, own)?;
        if let Some(why) = own_scale::objection(model, own, plan.family) {
            return Err(why.into());
        }
        let no_fit = |error: &dyn Display| Refusal::of_rows(NO_FIT, error);
        let data = model.encode(data, name, true).map_err(|error| no_fit(&error))?;
        let deviations =
            own_scale::deviations(model, own, &data.rows, &data.weights).map_err(|error| no_fit(&error))?;
        let builder = data.builder(plan.family.into()).map_err(|error| no_fit(&error))?.l2(plan.l2);
        let builder = if model.has_intercept() { builder.free_intercept() } else { builder };
        let regression = builder.bare().map_err(|error| no_fit(&error))?;
        Ok(Self { hash: hash(model)?, regression, weights: data.weights, deviations })
    }

    /// Why a point is too far out on the clinic's own rows, if so. Squares have gradients that are linear in the point: far out they say no
    /// more than near.
    pub fn refuses(&self, point: &[f64], names: &[String], most: f64) -> Option<Refusal> {
        if self.regression.loss() == Loss::Squares {
            return None;
        }
        let steep = |(own, value): &(&OwnDeviation, &f64)| {
            let size = own.deviation * value.abs();
            size.is_nan() || size > most
        };
        let place = self.deviations.iter().zip(point).position(|pair| steep(&pair))?;
        let name = names.get(place)?;
        Some(match self.deviations[place].is_of_product {
            true => Refusal::of_rows(NO_FIT, format!("the point has more than {most} for {name} with the deviation 1")),
            false => format!(
                "the point has {} for {name}, and the plan allows {most} at most where the clinic's own rows have the deviation 1",
                point[place]
            )
            .into(),
        })
    }
}

/// Whether the columns are those that the plan's formula has, with levels among which a clinic's own are.
fn belongs(plan: &StudyPlan, model: &Encoding, own: &Summary) -> Result<(), String> {
    let layout = Layout::of(&plan.formula)?;
    let others = |what: &str| Err(format!("the model has another {what} than the plan"));
    if model.formula() != Some(&plan.formula) {
        return others("formula");
    }
    if model.response() != plan.formula.response() || !model.target().fits(plan.family.into()) {
        return others("target");
    }
    if model.offset() != layout.offset.as_ref() {
        return others("offset");
    }
    if model.weight() != plan.weight.as_deref() {
        return others("weight");
    }
    if model.delimiter.is_some() {
        return others("delimiter");
    }
    if let (Target::Levels { negative, positive }, TargetSummary::Levels { levels, .. }) = (model.target(), &own.target)
    {
        let both = [negative.clone(), positive.clone()];
        let finder = Levels::new(&both);
        if let Some(level) = levels.iter().find(|level| finder.find(&level.level).is_none()) {
            return Err(format!("the model lacks the target's level {:?}", level.level));
        }
    }
    let skeleton = layout.skeleton(|atom| {
        let own = own.variables.iter().find(|variable| variable.is_of(atom));
        match own.ok_or_else(|| format!("the model lacks {atom}"))? {
            VariableSummary::Number { of, .. } => Ok(Variable::Number(of.clone())),
            VariableSummary::Factor { of, levels: own } => {
                let found = model.variables().iter().find_map(|variable| match variable {
                    Variable::Factor { column, levels } if column == of => Some(levels),
                    _ => None,
                });
                let levels = found.ok_or_else(|| format!("the model has no levels of {of}"))?;
                let finder = Levels::new(levels);
                match own.iter().find(|count| finder.find(&count.level).is_none()) {
                    Some(count) => Err(format!("the model lacks the level {:?} of {of}", count.level)),
                    None => Ok(Variable::Factor { column: of.clone(), levels: levels.clone() }),
                }
            }
        }
    });
    let skeleton = skeleton.map_err(|error| match error {
        SkeletonError::Variable(why) => why,
        SkeletonError::Formula(error) => error.to_string(),
        SkeletonError::Single(columns) => format!("the model has a single level of {}", columns.join(", ")),
    })?;
    let columns = model.columns().iter().map(|column| &column.parts);
    let is_so = skeleton.intercept == model.has_intercept()
        && skeleton.variables == model.variables()
        && skeleton.columns.iter().eq(columns);
    if is_so { Ok(()) } else { Err("the model's columns are not those of the plan's formula".to_owned()) }
}
