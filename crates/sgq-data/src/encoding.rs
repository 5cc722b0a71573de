//! How the columns of a file became the columns of a regression, and the way back.

mod predict;

use serde::{Deserialize, Serialize};

use crate::{Scaling, Target};

pub use predict::PredictError;

/// How the columns of a CSV file became those of a regression: enough to read its coefficients on the original scale, and
/// to predict for new rows.
///
/// ```
/// use sgq::{Problem, problem::Loss};
/// use sgq_data::csv::{Options, from_reader};
///
/// let text = "school,hours,score\nEast,1,3\nWest,3,7\nEast,2,5\nWest,6,13\n";
/// let data = from_reader(text.as_bytes(), &Options::new("school", "score"))?;
/// let problem = data.regression(Loss::Squares, 0.0)?;
/// let fitted = &problem.optimum().unwrap().point;
/// let encoding = data.encoding.unwrap();
/// // score = 1 + 2 hours.
/// let coefficients = encoding.on_original_scale(fitted)?;
/// assert!((coefficients[0] - 1.0).abs() < 1e-12 && (coefficients[1] - 2.0).abs() < 1e-12);
/// let predictions = encoding.predict("hours\n10\n".as_bytes(), fitted)?;
/// assert!((predictions[0] - 21.0).abs() < 1e-12);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Encoding {
    /// The columns that predictions are made from; an intercept stands before them.
    pub features: Vec<Feature>,
    /// What is predicted.
    pub target: Target,
    /// What stands between two values, where it was given.
    pub delimiter: Option<u8>,
}

/// A column of the file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Feature {
    /// A number: one column of the regression.
    Number {
        /// The column's name.
        column: String,
        /// How it is scaled.
        scaling: Scaling,
    },
    /// One of several levels: a column of zeros and ones, then scaled, for each level but the first.
    Levels {
        /// The column's name.
        column: String,
        /// The first level, which has no column: all others are zero there.
        base: String,
        /// The other levels, sorted.
        levels: Vec<Level>,
    },
}

/// A level with a column of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Level {
    /// The text in the file.
    pub name: String,
    /// How its zeros and ones are scaled.
    pub scaling: Scaling,
}

impl Level {
    /// The scaled zeros and ones of a row that is at `name`.
    pub(crate) fn indicators(levels: &[Self], name: &str) -> Vec<f64> {
        levels.iter().map(|level| level.scaling.apply(f64::from(u8::from(level.name == name)))).collect()
    }
}

impl Feature {
    /// The name of the column in the file.
    pub fn column(&self) -> &str {
        match self {
            Self::Number { column, .. } | Self::Levels { column, .. } => column,
        }
    }

    /// How many columns of the regression it has.
    pub fn width(&self) -> usize {
        match self {
            Self::Number { .. } => 1,
            Self::Levels { levels, .. } => levels.len(),
        }
    }

    fn scalings(&self) -> Vec<Scaling> {
        match self {
            Self::Number { scaling, .. } => vec![*scaling],
            Self::Levels { levels, .. } => levels.iter().map(|level| level.scaling).collect(),
        }
    }
}

impl Encoding {
    /// The names of the regression's columns: `intercept`, then each number's own, and `column=level` for the levels.
    pub fn column_names(&self) -> Vec<String> {
        let mut names = vec!["intercept".to_owned()];
        for feature in &self.features {
            match feature {
                Feature::Number { column, .. } => names.push(column.clone()),
                Feature::Levels { column, levels, .. } => {
                    names.extend(levels.iter().map(|level| format!("{column}={}", level.name)));
                }
            }
        }
        names
    }

    /// How many coefficients there are, the intercept included.
    pub fn dim(&self) -> usize {
        1 + self.features.iter().map(Feature::width).sum::<usize>()
    }

    /// The coefficients that give the same predictions from columns that are not scaled, for a target that is not:
    /// what one would read in a table of results. They come in the same order, the intercept first.
    pub fn on_original_scale(&self, coefficients: &[f64]) -> Result<Vec<f64>, PredictError> {
        self.check_length(coefficients)?;
        let target = match &self.target {
            Target::Number(scaling) => *scaling,
            Target::Levels { .. } | Target::Count => Scaling::NONE,
        };
        let mut original = vec![coefficients[0]];
        for (scaling, coefficient) in self.features.iter().flat_map(Feature::scalings).zip(&coefficients[1..]) {
            let slope = coefficient / scaling.scale;
            original[0] -= slope * scaling.mean;
            original.push(target.scale * slope);
        }
        original[0] = target.mean + target.scale * original[0];
        Ok(original)
    }

    fn check_length(&self, coefficients: &[f64]) -> Result<(), PredictError> {
        let (expected, found) = (self.dim(), coefficients.len());
        if expected == found { Ok(()) } else { Err(PredictError::Coefficients { expected, found }) }
    }
}
