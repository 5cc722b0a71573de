//! Data that are ready for a regression.

use serde::{Deserialize, Serialize};
use sgq::problem::{Loss, ProblemError, Regression, RegressionBuilder, Rows};
use thiserror::Error;

use crate::Encoding;

/// Rows of numbers, each with a target and a weight, user by user.
#[derive(Clone, Debug, PartialEq)]
pub struct Dataset {
    /// The features of every row.
    pub rows: Rows,
    /// What each row's prediction is compared with.
    pub targets: Vec<f64>,
    /// How much each row counts within its user's mean: 1 where nothing else was asked for.
    pub weights: Vec<f64>,
    /// What is added to each row's prediction `z = a·x`, before the link; none where nothing is. Of a number it is already taken off the
    /// target.
    pub offsets: Option<Vec<f64>>,
    /// User `i` holds the rows from `blocks[i]` to `blocks[i + 1]`.
    pub blocks: Vec<usize>,
    /// The users' names, in the order of the blocks.
    pub user_names: Vec<String>,
    /// The names of the `d` columns, the intercept first where there is one.
    pub column_names: Vec<String>,
    /// What the targets mean.
    pub target: Target,
    /// How the columns of a CSV file became the columns above; none for LIBSVM data, which are taken as they are.
    pub encoding: Option<Encoding>,
    /// How many rows were left out because a value is missing.
    pub dropped_rows: usize,
    /// In how many rows a value of a column is missing, for the columns that are used and miss any.
    pub missing_by_column: Vec<(String, usize)>,
    /// How many rows there were, the dropped ones included.
    pub rows_total: usize,
}

impl Dataset {
    /// The regression on these data: `l2` is the penalty `λ`, on every coefficient including the intercept.
    ///
    /// The loss must fit what the targets were read for. The rows are copied.
    pub fn regression(&self, loss: Loss, l2: f64) -> Result<Regression, DatasetError> {
        Ok(self.builder(loss)?.l2(l2).build()?)
    }

    /// Begins a regression on these data, with their weights and offsets, where every user counts the same.
    ///
    /// The loss must fit what the targets were read for. The rows are copied.
    pub fn builder(&self, loss: Loss) -> Result<RegressionBuilder, DatasetError> {
        if !self.target.fits(loss) {
            return Err(DatasetError::Loss { target: self.target.in_words(), loss });
        }
        let builder = Regression::builder(self.rows.clone(), self.targets.clone(), &self.blocks, loss);
        let builder = builder.weights(self.weights.clone());
        Ok(match &self.offsets {
            Some(offsets) => builder.offsets(offsets.clone()),
            None => builder,
        })
    }

    /// What each user's rows count together: how many there are, where no row has a weight. With these
    /// [weights of users](Regression::weighing_users) the objective is the mean over all rows.
    pub fn row_totals(&self) -> Vec<f64> {
        self.blocks.windows(2).map(|block| self.weights[block[0]..block[1]].iter().sum()).collect()
    }

    /// The same rows at fewer users, as sites of a consortium that hold the data of many: users are dealt out to the sites in turn.
    /// None where there would be more sites than users, or no site.
    pub fn merged(&self, sites: usize) -> Option<Self> {
        if sites == 0 || sites > self.users() {
            return None;
        }
        let mut order = Vec::with_capacity(self.targets.len());
        let mut blocks = vec![0];
        for site in 0..sites {
            (site..self.users()).step_by(sites).for_each(|user| order.extend(self.blocks[user]..self.blocks[user + 1]));
            blocks.push(order.len());
        }
        let pick = |values: &[f64]| order.iter().map(|row| values[*row]).collect();
        Some(Self {
            rows: self.rows.in_order(&order),
            targets: pick(&self.targets),
            weights: pick(&self.weights),
            offsets: self.offsets.as_deref().map(pick),
            blocks,
            user_names: (1..=sites).map(|site| format!("site {site}")).collect(),
            ..self.clone()
        })
    }

    /// How many users.
    pub fn users(&self) -> usize {
        self.user_names.len()
    }
}

/// Why data did not become a regression.
#[derive(Clone, Debug, PartialEq, Error)]
#[allow(missing_docs)] // the message says what each field is
#[non_exhaustive]
pub enum DatasetError {
    #[error("the targets were read as {target}, which does not fit the loss {loss:?}: read the data for that loss")]
    Loss { target: &'static str, loss: Loss },
    #[error(transparent)]
    Problem(#[from] ProblemError),
}

/// What the targets of a regression mean, and so what its predictions do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Target {
    /// A number `y`, of which the regression sees `(y − mean) / scale`. For squares and Huber's loss.
    Number(Scaling),
    /// One of two levels, −1 and 1 to the regression. For the logistic loss.
    Levels {
        /// The level that is −1.
        negative: String,
        /// The level that is 1.
        positive: String,
    },
    /// A count, as it is: its logarithm is linear. For Poisson's loss.
    Count,
    /// A positive number, as it is: its logarithm is linear.
    Positive,
}

impl Target {
    /// What a row's prediction `z = a·x` means: a number on the target's own scale, the probability of the positive
    /// level, or the expected count or positive number.
    pub fn prediction(&self, z: f64) -> f64 {
        self.prediction_with(z, 0.0)
    }

    /// The same where a row has an offset: `z` and the offset together are on the scale of the link, which for a number is the
    /// target's own.
    pub fn prediction_with(&self, z: f64, offset: f64) -> f64 {
        match self {
            Self::Number(scaling) => scaling.mean + scaling.scale * z + offset,
            Self::Levels { .. } => 1.0 / (1.0 + (-(z + offset)).exp()),
            Self::Count | Self::Positive => (z + offset).exp(),
        }
    }

    /// Whether a regression on these targets can have this loss.
    pub fn fits(&self, loss: Loss) -> bool {
        match self {
            Self::Number(_) => matches!(loss, Loss::Squares | Loss::Huber { .. }),
            Self::Levels { .. } => loss == Loss::Logistic,
            Self::Count => matches!(loss, Loss::Poisson | Loss::NegativeBinomial { .. }),
            Self::Positive => loss == Loss::Gamma,
        }
    }

    fn in_words(&self) -> &'static str {
        match self {
            Self::Number(_) => "numbers",
            Self::Levels { .. } => "two levels",
            Self::Count => "counts",
            Self::Positive => "positive numbers",
        }
    }
}

/// How a column is moved and stretched: a value `v` becomes `(v − mean) / scale`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scaling {
    /// What is subtracted.
    pub mean: f64,
    /// What it is then divided by; not zero.
    pub scale: f64,
}

impl Scaling {
    /// Leaves values as they are.
    pub const NONE: Self = Self { mean: 0.0, scale: 1.0 };

    /// Whether it can be undone.
    pub(crate) fn is_sound(&self) -> bool {
        self.mean.is_finite() && self.scale.is_finite() && self.scale > 0.0
    }

    /// The scaled value.
    pub fn apply(self, value: f64) -> f64 {
        (value - self.mean) / self.scale
    }

    /// To mean 0 and standard deviation 1, where the sum of squares is divided by the count less `ddof`. None where the
    /// numbers are too large, or too close to each other, for that.
    pub(crate) fn standard(values: &[f64], ddof: f64) -> Option<Self> {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
        let scale = (squares / (count - ddof)).sqrt();
        // The spread of values that differ by less than their rounding is noise.
        let visible = scale > 8.0 * f64::EPSILON * mean.abs();
        (mean.is_finite() && scale.is_normal() && visible).then_some(Self { mean, scale })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scaling_is_the_textbooks() {
        let values = [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0];
        assert_eq!(Scaling::standard(&values, 0.0), Some(Scaling { mean: 5.0, scale: 2.0 }));
        let sample = Scaling::standard(&values, 1.0).unwrap();
        assert!((sample.scale - (32.0f64 / 7.0).sqrt()).abs() < 1e-15);
        assert_eq!(Scaling::standard(&[1e308, 1e308, 0.0], 1.0), None);
        assert_eq!(Scaling::standard(&[1e200, -1e200], 1.0), None);
        assert_eq!(Scaling::standard(&[1.0, 1.0 + f64::EPSILON], 1.0), None);
    }

    #[test]
    fn sites_hold_the_rows_of_their_users() {
        let dense = Dataset {
            rows: Rows::Dense { dim: 1, values: vec![0.0, 1.0, 2.0, 3.0, 4.0] },
            targets: vec![10.0, 11.0, 12.0, 13.0, 14.0],
            weights: vec![1.0, 2.0, 3.0, 4.0, 5.0],
            offsets: Some(vec![5.0, 6.0, 7.0, 8.0, 9.0]),
            blocks: vec![0, 2, 3, 5],
            user_names: ["a", "b", "c"].map(String::from).to_vec(),
            column_names: vec!["x".into()],
            target: Target::Count,
            encoding: None,
            dropped_rows: 0,
            missing_by_column: Vec::new(),
            rows_total: 5,
        };
        let two = dense.merged(2).unwrap();
        assert_eq!(two.rows, Rows::Dense { dim: 1, values: vec![0.0, 1.0, 3.0, 4.0, 2.0] });
        assert_eq!((two.targets[2], two.weights[2], two.users()), (13.0, 4.0, 2));
        assert_eq!(two.offsets.as_deref(), Some(&[5.0, 6.0, 8.0, 9.0, 7.0][..]));
        assert_eq!(two.blocks, [0, 4, 5]);
        let sparse =
            |columns: Vec<u32>, values: Vec<f64>, starts: Vec<usize>| Rows::Sparse { dim: 3, starts, columns, values };
        let rows = sparse(vec![0, 2, 1], vec![1.0, 2.0, 3.0], vec![0, 2, 2, 3, 3, 3]);
        let picked = Dataset { rows, ..dense.clone() }.merged(2).unwrap().rows;
        assert_eq!(picked, sparse(vec![0, 2, 1], vec![1.0, 2.0, 3.0], vec![0, 2, 2, 2, 2, 3]));
        assert_eq!((dense.merged(0), dense.merged(4)), (None, None));
    }

    #[test]
    fn predictions_mean_what_the_target_does() {
        assert_eq!(Target::Number(Scaling { mean: 3.0, scale: 2.0 }).prediction(1.5), 6.0);
        let levels = Target::Levels { negative: "no".into(), positive: "yes".into() };
        assert_eq!(levels.prediction(0.0), 0.5);
        assert!((levels.prediction(3f64.ln()) - 0.75).abs() < 1e-15);
        assert_eq!((levels.prediction(800.0), levels.prediction(-800.0)), (1.0, 0.0));
        assert!((Target::Count.prediction(2f64.ln()) - 2.0).abs() < 1e-15);
    }
}
