//! What users count in the objective: `f = Σ w_i f_i`, up to a factor.

use serde::{Deserialize, Serialize};

use crate::{Answer, SettingsError, answer::OwnedAnswer};

/// Each user's weight. The mean of `w_i f_i` is what all methods minimise, so that an answer counts `w_i` times before any part
/// sees it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Weights {
    /// As they were given or told; empty where nobody says, and zero where a user has not said.
    each: Vec<f64>,
    /// What counts as one: the mean of those given, or the first one told.
    unit: f64,
}

impl Weights {
    pub fn new(given: Option<&[f64]>, users: usize) -> Result<Self, SettingsError> {
        let Some(each) = given else {
            return Ok(Self::default());
        };
        if each.len() != users {
            return Err(SettingsError::WeightsLength { users, found: each.len() });
        }
        if let Some(user) = each.iter().position(|weight| !(*weight > 0.0 && weight.is_finite())) {
            return Err(SettingsError::Weight { user, value: each[user] });
        }
        // Each is divided first: their sum may be past what numbers can hold.
        let unit = each.iter().map(|weight| weight / users as f64).sum();
        Ok(Self { each: each.to_vec(), unit })
    }

    /// Takes in what a user says of its own weight.
    pub fn learn(&mut self, user: usize, users: usize, weight: f64) {
        if self.each.is_empty() {
            *self = Self { each: vec![0.0; users], unit: weight };
        }
        self.each[user] = weight;
    }

    /// What a user's answer counts: 1 where nothing is known of it.
    pub fn of(&self, user: usize) -> f64 {
        self.each.get(user).filter(|weight| **weight > 0.0).map_or(1.0, |weight| weight / self.unit)
    }

    /// An answer as all parts see it.
    pub fn weigh<'a>(&self, user: usize, answer: Answer<'a>, buffer: &'a mut OwnedAnswer) -> Answer<'a> {
        let weight = self.of_answer(user, &answer);
        if weight == 1.0 {
            return answer;
        }
        *buffer = OwnedAnswer::from(&answer);
        buffer.scale(weight);
        Answer::from(&*buffer)
    }

    /// What an answer counts, with what it says itself.
    pub fn of_answer(&self, user: usize, answer: &Answer<'_>) -> f64 {
        match answer.weight {
            // The first one told is what counts as one.
            Some(told) => told / if self.each.is_empty() { told } else { self.unit },
            None => self.of(user),
        }
    }
}
