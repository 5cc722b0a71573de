//! What a clinic discloses first.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use super::{StudyPlan, layout::Layout};
use crate::{Expression, csv::MOST_LEVELS, formula::Atom, glm::Family};

/// What the first question asks for: counts, means, standard deviations and levels. There is no minimum and no maximum, which would be
/// values of single persons.
///
/// Only rows are counted in which nothing is missing and whose weight is positive. Means and deviations of variables are of rows that
/// count alike; what the fit starts from is weighted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Summary {
    /// How many rows are used.
    pub rows: u64,
    /// How many rows were left out because a value is missing.
    pub rows_missing: u64,
    /// In how many rows a value of a column is missing, for columns that miss any.
    pub missing_by_column: Vec<(String, u64)>,
    /// The sum of the rows' weights.
    pub weight: f64,
    /// What the formula's terms are made of, in its order.
    pub variables: Vec<VariableSummary>,
    /// The target.
    pub target: TargetSummary,
    /// The sum of the offsets, where there are any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<Moments>,
}

/// Mean and standard deviation, the latter with `n` in the denominator.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Moments {
    /// The mean.
    pub mean: f64,
    /// The root of the mean squared distance from it; exactly 0 where all values are the same.
    pub deviation: f64,
}

/// What terms are made of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum VariableSummary {
    /// A number: a column, or an expression of columns.
    Number {
        /// Which.
        of: Expression,
        /// Mean and deviation.
        moments: Moments,
    },
    /// A column with levels.
    Factor {
        /// Its name.
        of: String,
        /// Its levels as they are written in the file, in the order of their letters.
        levels: Vec<LevelCount>,
    },
}

/// How many rows have a level.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LevelCount {
    /// The level.
    pub level: String,
    /// How many rows that are used have it: 0 where only rows of weight 0 do.
    pub rows: u64,
}

/// What the target's scaling and the start of the fit need.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum TargetSummary {
    /// For squares and Huber's loss, the offset taken off.
    Number {
        /// Mean and deviation.
        moments: Moments,
        /// The weighted mean.
        weighted_mean: f64,
    },
    /// For the logistic loss.
    Levels {
        /// One or two.
        levels: Vec<TargetLevel>,
        /// The weighted mean of the offsets; 0 where there are none.
        offset: f64,
    },
    /// For counts.
    Count {
        /// The weighted mean.
        mean: f64,
        /// The weighted mean of `e^offset`; 1 where there are none.
        exposure: f64,
    },
    /// For positive numbers.
    Positive {
        /// The weighted mean of the target times `e^−offset`.
        mean: f64,
    },
}

/// How many rows are at a level of the target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TargetLevel {
    /// The level.
    pub level: String,
    /// How many rows that are used have it.
    pub rows: u64,
    /// The sum of their weights.
    pub weight: f64,
}

/// Sums of weights may differ by so much because they are rounded.
const ROUNDING: f64 = 1e-9;

impl Summary {
    /// How many numbers it discloses.
    pub fn numbers(&self) -> u64 {
        let variable = |variable: &VariableSummary| match variable {
            VariableSummary::Number { .. } => 2,
            VariableSummary::Factor { levels, .. } => levels.len(),
        };
        let target = match &self.target {
            TargetSummary::Number { .. } => 3,
            TargetSummary::Levels { levels, .. } => 2 * levels.len() + 1,
            TargetSummary::Count { .. } => 2,
            TargetSummary::Positive { .. } => 1,
        };
        // rows, rows_missing and weight
        let counts = 3 + self.missing_by_column.len() + 2 * usize::from(self.offset.is_some());
        (counts + self.variables.iter().map(variable).sum::<usize>() + target) as u64
    }

    /// Whether a summary that came from a clinic can be one for this plan.
    pub fn check(&self, plan: &StudyPlan) -> Result<(), String> {
        let layout = Layout::of(&plan.formula)?;
        self.check_counts(plan)?;
        self.check_variables(&layout)?;
        self.check_target(plan.family)?;
        if self.offset.is_some() != layout.offset.is_some() {
            return Err("it is for a plan with other offsets".to_owned());
        }
        self.offset.iter().try_for_each(|offset| offset.check("the offset"))
    }

    fn check_counts(&self, plan: &StudyPlan) -> Result<(), String> {
        /// The largest whole number that every program which reads JSON keeps as it is.
        const MOST: u64 = 1 << 53;
        if self.rows == 0 || self.rows > MOST || self.rows_missing > MOST {
            return Err(format!("it has {} rows, and {} with missing values", self.rows, self.rows_missing));
        }
        let columns = plan.columns();
        for (column, count) in &self.missing_by_column {
            if !columns.contains(column) {
                return Err(format!("it counts missing values of {column:?}, which is not in the plan"));
            }
            if *count > self.rows_missing || *count == 0 {
                return Err(format!(
                    "{column:?} is missing in {count} of {} rows with missing values",
                    self.rows_missing
                ));
            }
        }
        if !(self.weight.is_finite() && self.weight > 0.0) {
            return Err(format!("its weights sum to {}: they must be positive together", self.weight));
        }
        if plan.weight.is_none() && self.weight != self.rows as f64 {
            return Err(format!(
                "its weights sum to {}, and there are {} rows that count alike",
                self.weight, self.rows
            ));
        }
        Ok(())
    }

    fn check_variables(&self, layout: &Layout) -> Result<(), String> {
        let mut used = vec![false; self.variables.len()];
        for atom in layout.atoms() {
            let found = self.variables.iter().position(|variable| variable.is_of(atom));
            let place = found.ok_or_else(|| format!("it says nothing of {atom}, which is in the plan"))?;
            used[place] = true;
        }
        for (variable, used) in self.variables.iter().zip(used) {
            if !used {
                return Err(format!("it tells of {}, which is not in the plan, or twice", variable.name()));
            }
            match variable {
                VariableSummary::Number { moments, .. } => moments.check(&variable.name())?,
                VariableSummary::Factor { levels, .. } => check_levels(&variable.name(), levels, self.rows)?,
            }
        }
        Ok(())
    }

    fn check_target(&self, family: Family) -> Result<(), String> {
        let possible = |what: &str, value: f64, possible: bool| match possible && value.is_finite() {
            true => Ok(()),
            false => Err(format!("{what} is {value}, which no data give")),
        };
        match (&self.target, family) {
            (TargetSummary::Number { moments, weighted_mean }, Family::Gaussian | Family::Huber { .. }) => {
                possible("the target's weighted mean", *weighted_mean, true)?;
                moments.check("the target")
            }
            (TargetSummary::Levels { levels, offset }, Family::Binomial) => {
                possible("the mean offset", *offset, true)?;
                let counts: Vec<LevelCount> =
                    levels.iter().map(|it| LevelCount { level: it.level.clone(), rows: it.rows }).collect();
                check_levels("the target", &counts, self.rows)?;
                levels.iter().try_for_each(|it| possible("a target's weight", it.weight, it.weight >= 0.0))?;
                let sum: f64 = levels.iter().map(|it| it.weight).sum();
                match (sum - self.weight).abs() <= ROUNDING * self.weight {
                    true => Ok(()),
                    false => Err(format!("the target's weights sum to {sum}, and all weights to {}", self.weight)),
                }
            }
            (TargetSummary::Count { mean, exposure }, Family::Poisson | Family::NegativeBinomial { .. }) => {
                possible("the target's mean", *mean, *mean >= 0.0)?;
                possible("the mean exposure", *exposure, *exposure > 0.0)
            }
            (TargetSummary::Positive { mean }, Family::Gamma) => possible("the target's mean", *mean, *mean > 0.0),
            _ => Err(format!("its target is not one of the family {family}")),
        }
    }
}

fn check_levels(name: &str, levels: &[LevelCount], rows: u64) -> Result<(), String> {
    let names: HashSet<&str> = levels.iter().map(|count| &*count.level).collect();
    if levels.is_empty() || levels.len() > MOST_LEVELS || names.len() < levels.len() {
        return Err(format!(
            "{name} has {} levels, of which {} are different: there must be 1 to {MOST_LEVELS}, no two alike",
            levels.len(),
            names.len()
        ));
    }
    let sum = levels.iter().try_fold(0u64, |sum, count| sum.checked_add(count.rows));
    match sum == Some(rows) {
        true => Ok(()),
        false => Err(format!("the levels of {name} do not have {rows} rows together")),
    }
}

impl Moments {
    fn check(&self, what: &str) -> Result<(), String> {
        let Self { mean, deviation } = self;
        match mean.is_finite() && deviation.is_finite() && *deviation >= 0.0 {
            true => Ok(()),
            false => Err(format!("{what} has the mean {mean} and the deviation {deviation}, which no data give")),
        }
    }
}

impl VariableSummary {
    /// What it is called: the column, or the expression.
    pub fn name(&self) -> String {
        match self {
            Self::Number { of, .. } => of.label(),
            Self::Factor { of, .. } => of.clone(),
        }
    }

    /// Whether it tells of what a formula has there. A column may be a number or a factor.
    pub(super) fn is_of(&self, atom: &Atom) -> bool {
        match (self, atom) {
            (Self::Number { of, .. }, Atom::Column(name)) => of.as_column() == Some(name),
            (Self::Number { of, .. }, Atom::Number(expression)) => of == expression,
            (Self::Factor { of, .. }, Atom::Column(name) | Atom::Factor { column: name, .. }) => of == name,
            _ => false,
        }
    }
}
