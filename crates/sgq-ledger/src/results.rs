//! The results of a study as a model, which `sgq predict` reads.

use serde::Serialize;
use serde_json::{Map, Value};
use sgq_data::{
    glm::{MODEL_FORMAT, Model},
    plan::StudyPlan,
};

use crate::Results;

/// What `model.json` holds.
#[derive(Serialize)]
struct Written<'a> {
    #[serde(flatten)]
    model: &'a Model,
    #[serde(flatten)]
    result: Map<String, Value>,
}

impl Results {
    /// Everything that a prediction needs.
    pub fn model(&self) -> Model {
        let StudyPlan { formula, family, l2, .. } = &self.terms.plan;
        let encoding = &self.agreed.encoding;
        Model {
            format: MODEL_FORMAT,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            interrupted: self.stopped.is_none(),
            diverged: self.diverged,
            user: "user".to_owned(),
            target: encoding.response().as_column().map_or_else(|| encoding.response().to_string(), ToOwned::to_owned),
            formula: formula.to_string(),
            family: *family,
            l2: *l2,
            standardised: self.point.clone(),
            encoding: encoding.clone(),
        }
    }

    /// The model, and the table with what goes with it: what `model.json` holds, and `sgq session result --json` prints.
    pub fn to_model_json(&self) -> serde_json::Result<Value> {
        let mut result = self.to_json()?;
        // The model says these already.
        ["formula", "family", "l2"].iter().for_each(|name| drop(result.remove(*name)));
        serde_json::to_value(Written { model: &self.model(), result })
    }
}
