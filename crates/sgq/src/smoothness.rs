//! How smooth users are: each `L_i`, their mean and their maximum.

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The users' smoothness constants, checked: one for each, finite, none negative, not all zero.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Smoothness {
    each: Vec<f64>,
    mean: f64,
    max: f64,
    objective: Option<f64>,
}

impl Smoothness {
    /// Checks the constants of that many users.
    pub fn new(each: Vec<f64>, users: usize) -> Result<Self, SmoothnessError> {
        if each.len() != users {
            return Err(SmoothnessError::Length { users, found: each.len() });
        }
        for (user, &value) in each.iter().enumerate() {
            if !(value >= 0.0 && value.is_finite()) {
                return Err(SmoothnessError::Constant { user, value });
            }
        }
        let mean = each.iter().sum::<f64>() / users as f64;
        let max = each.iter().copied().fold(0.0, f64::max);
        if max == 0.0 || mean.is_infinite() {
            let user = each.iter().position(|value| *value == max).unwrap_or(0);
            return Err(SmoothnessError::Constant { user, value: max });
        }
        Ok(Self { each, mean, max, objective: None })
    }

    /// Adds what is known of `f` itself; it must be positive, and is at most the mean.
    pub fn with_objective(mut self, objective: Option<f64>) -> Result<Self, SmoothnessError> {
        if let Some(value) = objective.filter(|value| !(*value > 0.0 && *value <= self.mean * (1.0 + 1e-9))) {
            return Err(SmoothnessError::Objective { value, mean: self.mean });
        }
        self.objective = objective;
        Ok(self)
    }

    /// The smoothness of `f` itself, where it is known.
    pub fn objective(&self) -> Option<f64> {
        self.objective
    }

    /// `L_i` of every user.
    pub fn each(&self) -> &[f64] {
        &self.each
    }

    /// `L = (1/n) Σ L_i`.
    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// `L_max = max_i L_i`.
    pub fn max(&self) -> f64 {
        self.max
    }
}

/// Why constants were refused.
#[derive(Clone, Debug, PartialEq, Error)]
#[allow(missing_docs)] // the message says what each field is
#[non_exhaustive]
pub enum SmoothnessError {
    #[error("{found} smoothness constants were given for {users} users: give one L_i for each")]
    Length { users: usize, found: usize },
    #[error(
        "the smoothness constant of user {user} is {value}: it must not be negative, not every one may be 0, and their sum must be finite"
    )]
    Constant { user: usize, value: f64 },
    #[error("the smoothness of f is given as {value}: it must be positive, and cannot exceed the mean L_i, {mean}")]
    Objective { value: f64, mean: f64 },
}
