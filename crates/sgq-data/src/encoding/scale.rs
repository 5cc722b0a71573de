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

    /// The same as an affine map: `T x + t` are the coefficients on the original scale. First `T`, with `d × d` numbers row by
    /// row, then `t`.
    pub fn original_from_scaled(&self) -> (Vec<f64>, Vec<f64>) {
        let dim = self.dim();
        let (mut matrix, mut shift) = (vec![0.0; dim * dim], vec![0.0; dim]);
        let (factors, centre) = self.factors();
        for (index, factor) in factors.iter().enumerate() {
            matrix[index * dim + index] = *factor;
        }
        if self.intercept {
            matrix[..dim].copy_from_slice(&centre);
            shift[0] = self.target_scaling().mean;
        }
        (matrix, shift)
    }

    /// The covariance of the coefficients on the original scale, `T C Tᵀ`, from `C`, that of the scaled ones: `d × d` numbers
    /// row by row. The square roots of its diagonal are the standard errors.
    pub fn transform_covariance(&self, scaled: &[f64]) -> Result<Vec<f64>, PredictError> {
        let dim = self.dim();
        if scaled.len() != dim * dim {
            return Err(PredictError::Covariance { expected: dim * dim, found: scaled.len() });
        }
        let (factors, centre) = self.factors();
        // T is diagonal but for its first row: `T C` and then `(T C) Tᵀ`, in `d²` steps each.
        let mut left = vec![0.0; dim * dim];
        for (row, factor) in factors.iter().enumerate() {
            for column in 0..dim {
                left[row * dim + column] = match row == 0 && self.intercept {
                    true => centre.iter().enumerate().map(|(k, part)| part * scaled[k * dim + column]).sum(),
                    false => factor * scaled[row * dim + column],
                };
            }
        }
        let mut covariance = vec![0.0; dim * dim];
        for row in 0..dim {
            let line = &left[row * dim..][..dim];
            for (column, factor) in factors.iter().enumerate() {
                covariance[row * dim + column] = match column == 0 && self.intercept {
                    true => line.iter().zip(&centre).map(|(value, part)| value * part).sum(),
                    false => line[column] * factor,
                };
            }
        }
        Ok(covariance)
    }

    /// The diagonal of `T`, and its first row where there is an intercept.
    fn factors(&self) -> (Vec<f64>, Vec<f64>) {
        let target = self.target_scaling().scale;
        let intercept = self.intercept.then_some(target);
        let slopes = self.columns.iter().map(|column| target / column.scaling.scale);
        let centres = self.columns.iter().map(|column| -target * column.scaling.mean / column.scaling.scale);
        (intercept.into_iter().chain(slopes).collect(), intercept.into_iter().chain(centres).collect())
    }
}
