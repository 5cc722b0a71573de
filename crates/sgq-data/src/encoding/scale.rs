//! From the scaled columns to those of the file.

use super::{Encoding, PredictError};
use crate::{Scaling, Target, glm::OriginalScale};

impl Encoding {
    fn target_scaling(&self) -> Scaling {
        match &self.target {
            Target::Number(scaling) => *scaling,
            Target::Levels { .. } | Target::Count | Target::Positive => Scaling::NONE,
        }
    }

    /// The coefficients that give the same predictions from columns that are not scaled, for a target that is not:
    /// what one would read in a table of results. They come in the same order.
    pub fn on_original_scale(&self, coefficients: &[f64]) -> Result<Vec<f64>, PredictError> {
        self.check_length(coefficients)?;
        let target = self.target_scaling();
        let (intercept, slopes) = coefficients.split_at(usize::from(self.intercept));
        let mut original = intercept.to_vec();
        for (column, coefficient) in self.columns.iter().zip(slopes) {
            let slope = coefficient / column.scaling.scale;
            // Only with an intercept are columns centred.
            if self.intercept {
                original[0] -= slope * column.scaling.mean;
            }
            original.push(target.scale * slope);
        }
        if self.intercept {
            original[0] = target.mean + target.scale * original[0];
        }
        Ok(original)
    }

    /// The way from the coefficients of the scaled columns to these, for covariances too.
    pub fn original_scale(&self) -> OriginalScale {
        let columns: Vec<Scaling> = self.columns.iter().map(|column| column.scaling).collect();
        OriginalScale::of_columns(&columns, self.intercept, self.target_scaling())
    }
}
