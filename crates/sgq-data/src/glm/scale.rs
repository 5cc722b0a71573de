//! The way from encoded columns to the original ones.

use crate::Scaling;

use super::matrix;

/// What turns the coefficients `β` of encoded columns and targets into those of the original ones, `T β + t`, and a target
/// back into its own unit.
#[derive(Clone, Debug, PartialEq)]
pub struct OriginalScale {
    map: Vec<f64>,
    shift: Vec<f64>,
    target: Scaling,
    intercept: bool,
}

impl OriginalScale {
    /// Columns and targets are as they were. The first is an intercept.
    pub fn identity(dim: usize) -> Self {
        Self::of_columns(&vec![Scaling::NONE; dim.saturating_sub(1)], true, Scaling::NONE)
    }

    /// `T`, row-major, with `t`, and how targets were scaled. `T` includes the factor of the target's scale. None where the
    /// lengths do not fit, or some number is not finite.
    pub fn new(map: Vec<f64>, shift: Vec<f64>, target: Scaling, intercept: bool) -> Option<Self> {
        let fits = map.len() == shift.len() * shift.len() && map.iter().chain(&shift).all(|value| value.is_finite());
        let target_fits = target.scale > 0.0 && target.scale.is_finite() && target.mean.is_finite();
        (fits && target_fits).then_some(Self { map, shift, target, intercept })
    }

    /// Each column but the intercept was scaled by itself, `x' = (x − m_k)/s_k`, and targets `y' = (y − m)/s`:
    /// `β_k = s β'_k / s_k`, and the intercept is `m + s (β'_0 − Σ_k β'_k m_k / s_k)`. Without an intercept the means must
    /// be 0.
    pub fn of_columns(columns: &[Scaling], intercept: bool, target: Scaling) -> Self {
        let first = usize::from(intercept);
        let dim = columns.len() + first;
        let (mut map, mut shift) = (vec![0.0; dim * dim], vec![0.0; dim]);
        if intercept {
            (map[0], shift[0]) = (target.scale, target.mean);
        }
        for (k, column) in columns.iter().enumerate() {
            let slope = target.scale / column.scale;
            map[(k + first) * (dim + 1)] = slope;
            if intercept {
                map[k + 1] = -slope * column.mean;
            }
        }
        Self { map, shift, target, intercept }
    }

    /// How many coefficients.
    pub fn dim(&self) -> usize {
        self.shift.len()
    }

    /// Whether the first coefficient is an intercept.
    pub fn has_intercept(&self) -> bool {
        self.intercept
    }

    /// How targets were scaled.
    pub fn target(&self) -> Scaling {
        self.target
    }

    /// `T β + t`.
    pub fn coefficients(&self, encoded: &[f64]) -> Vec<f64> {
        self.change(encoded).iter().zip(&self.shift).map(|(value, shift)| value + shift).collect()
    }

    /// `T δ`, of a change of the coefficients.
    pub fn change(&self, encoded: &[f64]) -> Vec<f64> {
        self.map.chunks_exact(self.dim().max(1)).map(|line| matrix::dot(line, encoded)).collect()
    }

    /// `T C Tᵀ`, packed.
    pub(super) fn covariance(&self, packed: &[f64]) -> Vec<f64> {
        matrix::congruence(&self.map, packed, self.dim())
    }

    /// Row `k` of `T`.
    pub(super) fn line(&self, k: usize) -> &[f64] {
        &self.map[k * self.dim()..][..self.dim()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::csv::{Options, from_reader};

    #[test]
    fn agrees_with_the_encoding() {
        let text = "school,kind,hours,score\nEast,a,1,3\nWest,b,3,8\nEast,a,2,5\nWest,b,6,13\nEast,b,5,1\n";
        let data = from_reader(text.as_bytes(), &Options::new("school", "score")).unwrap();
        let encoding = data.encoding.unwrap();
        let scale = encoding.original_scale();
        let point = [0.3, -1.2, 0.7];
        let expected = encoding.on_original_scale(&point).unwrap();
        for (found, expected) in scale.coefficients(&point).iter().zip(expected) {
            assert!((found - expected).abs() < 1e-13);
        }
    }

    #[test]
    fn misfits_are_refused() {
        assert!(OriginalScale::new(vec![1.0; 4], vec![0.0; 2], Scaling::NONE, true).is_some());
        assert!(OriginalScale::new(vec![1.0; 3], vec![0.0; 2], Scaling::NONE, true).is_none());
        assert!(OriginalScale::new(vec![f64::NAN], vec![0.0], Scaling::NONE, true).is_none());
        assert!(OriginalScale::new(vec![1.0], vec![0.0], Scaling { mean: 0.0, scale: 0.0 }, true).is_none());
    }
}
