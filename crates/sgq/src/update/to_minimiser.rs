//! The step that a model proposes.

use serde::{Deserialize, Serialize};

use super::{Step, Update, reduced_variance_step};
use crate::{Random, belief::Model};

/// Goes where the model believes the objective to be smallest; SAGA's steps, `1 / (3 L_max)` long, while the model is not to be
/// trusted. There is no step size to choose.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ToMinimiser;

impl Update<Model> for ToMinimiser {
    fn has_own_step(&self) -> bool {
        true
    }

    fn step(&mut self, step: &Step<'_, Model>, _random: &mut Random, point: &mut [f64]) {
        let belief = step.belief;
        if belief.fallen_back()
            && let Some((kept, mean)) = belief.table(step.reply.user)
        {
            let safe = Step { size: belief.safe_step(), ..*step };
            reduced_variance_step(point, &safe, kept, mean);
        }
    }

    fn arrive(&mut self, step: &Step<'_, Model>, point: &mut [f64]) {
        if !step.belief.fallen_back() {
            point.copy_from_slice(step.belief.next());
        }
    }
}
