//! What a statistician expects around a fit: standard errors, tests, intervals, deviance, influence, and the warnings
//! (collinear columns, separation) that explain a fit which cannot be had.
//!
//! A fit over users gives coefficients and nothing else. To close it, each user answers one more question at the final
//! point, with a [`Closing`]: its score, its information, and a handful of sums. [`Inference`] makes the table from those:
//!
//! ```
//! use sgq::{Problem, problem::{Regression, Rows}};
//! use sgq_data::glm::{Closing, Family, Fit, Inference, Observations, OriginalScale};
//!
//! // Deaths at two hospitals, by age in decades.
//! let rows = Rows::Dense { dim: 2, values: [3., 4., 5., 6., 4., 6., 7., 8.].iter().flat_map(|age| [1.0, *age]).collect() };
//! let targets = vec![-1.0, -1.0, 1.0, -1.0, -1.0, 1.0, -1.0, 1.0];
//! let family = Family::Binomial;
//! let problem = Regression::builder(rows.clone(), targets.clone(), &[0, 4, 8], family.into()).build()?;
//! let point = &problem.optimum().unwrap().point;
//!
//! let data = Observations { rows: &rows, targets: &targets, weights: None, offsets: None, family };
//! let closings = [Closing::of(&data, 0..4, 0, point)?, Closing::of(&data, 4..8, 0, point)?];
//! let names = ["intercept".to_owned(), "age".to_owned()];
//! let fit = Fit::new(family, &names, point, OriginalScale::identity(2));
//! let inference = Inference::from_closings(&fit, &closings)?;
//! assert!((inference.coefficients[1].estimate - 0.7255).abs() < 1e-4);
//! assert!((inference.coefficients[1].std_error - 0.5975).abs() < 1e-4);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Notation
//!
//! Row `r` has features `x_r`, target `y_r`, weight `w_r`, offset `o_r`, and the linear predictor `z_r = x_r·β + o_r` with
//! mean `μ_r`. Its loss is `ℓ_r(z)`, [`sgq::problem::Loss`]. With `ℓ' = ∂ℓ/∂z`:
//!
//! | | equation | |
//! |---|---|---|
//! | score | `s_i = Σ_r w_r ℓ'_r x_r`, over the rows of user `i` | (1) |
//! | expected information | `I_i = Σ_r w_r E[ℓ''_r] x_r x_rᵀ` | (2) |
//! | observed information | `J_i = Σ_r w_r ℓ''_r x_r x_rᵀ` | (3) |
//! | Pearson's statistic | `χ² = Σ_r w_r (y_r − μ_r)² / V(μ_r)` | (4) |
//! | dispersion | `φ = χ² / (N − K)` for gaussian and gamma, else 1 | (5) |
//! | covariance by the model | `φ I⁻¹`, `I = Σ_i I_i` | (6) |
//! | covariance clustered by user | `c J⁻¹ (Σ_i s_i s_iᵀ) J⁻¹`, `c = G/(G−1) · (N−1)/(N−K)` | (7) |
//! | influence of user `i` | `β₍₋ᵢ₎ − β ≈ (J − J_i)⁻¹ s_i` | (8) |
//!
//! for `G` users, `K` coefficients and `N` rows.
//!
//! # Weights
//!
//! A weight is R's *prior weight*, statsmodels' `var_weight`: it divides the row's variance. It multiplies the row in every
//! sum above, but the row counts as one in `N`, whatever its weight; a row of weight 0 is not used and not counted (as in
//! R; statsmodels counts it).

mod approximate;
mod chosen;
mod closing;
mod collinear;
mod error;
mod family;
mod inference;
mod influence;
mod learned;
mod matrix;
mod model;
mod normal;
mod pooled;
mod precision;
mod scale;
mod separation;
mod start;
mod study;
mod subject;
mod sums;
mod table;

use std::ops::Range;

use sgq::problem::Rows;

pub use approximate::Learned;
pub use chosen::ChosenFamily;
pub use closing::{Closing, ClosingError};
pub use collinear::{Collinear, collinear};
pub use error::InferenceError;
pub use family::{Family, FamilyError};
pub use inference::{Coefficient, Fit, Inference, Penalty, StdErrors};
pub use influence::{Influence, InfluenceOf, Influences, influence, influence_approximate};
pub use learned::Secants;
pub use model::{FORMAT as MODEL_FORMAT, Model, ModelError};
pub use normal::{normal_quantile, two_sided_p};
pub use pooled::{log_likelihood, null_deviance};
pub use precision::Precision;
pub use scale::OriginalScale;
pub use separation::{Separation, SeparationError, Trend, separation};
pub use start::null_point;
pub use study::{Statistics, Study, Weigh};
pub use subject::{Subject, SubjectError};
pub use sums::Sums;
pub use table::{Cells, percent, significant};

/// Rows with what goes with them, as the regression sees them: encoded.
#[derive(Clone, Copy, Debug)]
pub struct Observations<'a> {
    /// The features.
    pub rows: &'a Rows,
    /// The targets: ±1 for [`Family::Binomial`].
    pub targets: &'a [f64],
    /// The weights; 1 each where there are none.
    pub weights: Option<&'a [f64]>,
    /// What is added to each row's `x·β`; 0 where there are none.
    pub offsets: Option<&'a [f64]>,
    /// The family.
    pub family: Family,
}

impl Observations<'_> {
    pub(crate) fn weight(&self, row: usize) -> f64 {
        self.weights.map_or(1.0, |weights| weights[row])
    }

    pub(crate) fn offset(&self, row: usize) -> f64 {
        self.offsets.map_or(0.0, |offsets| offsets[row])
    }

    /// All rows.
    pub fn all(&self) -> Range<usize> {
        0..self.rows.count()
    }

    /// The rows that are used, those of positive weight.
    pub(crate) fn used(&self, range: Range<usize>) -> impl Iterator<Item = usize> {
        range.filter(|row| self.weight(*row) > 0.0)
    }

    /// What does not fit together, if anything: the name of a list, its length, and how many rows there are.
    pub(crate) fn misfit(&self) -> Option<(&'static str, usize, usize)> {
        let count = self.rows.count();
        let lists = [("targets", Some(self.targets)), ("weights", self.weights), ("offsets", self.offsets)];
        let given = lists.into_iter().filter_map(|(name, list)| list.map(|list| (name, list.len(), count)));
        given.into_iter().find(|(_, found, expected)| found != expected)
    }
}
