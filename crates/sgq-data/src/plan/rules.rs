//! What may be asked, how often, and of whom.

use serde::{Deserialize, Serialize};
use sgq::Detail;

/// What a clinic answers, and when it does not.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rules {
    /// How much a question at a point may ask for, at most.
    pub answers: Detail,
    /// How many questions at a point a clinic answers.
    pub answers_each: u64,
    /// How many closing questions a clinic answers.
    pub closing: u64,
    /// A clinic with fewer rows answers nothing.
    pub min_rows: u64,
    /// A model may have so many parameters for each of a clinic's rows.
    pub parameters_per_row: f64,
    /// No coefficient of a question's point is larger, on columns as the model scales them and, but for squares, on columns scaled to
    /// deviation 1 in the clinic's own rows: beyond, a logistic gradient is that of single persons.
    pub largest_coefficient: f64,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            answers: Detail::Gradient,
            answers_each: 50,
            // The last one, and two more where a fit goes on after it was closed.
            closing: 3,
            // Sums over fewer are nearly rows.
            min_rows: 10,
            // DataSHIELD's default (nfilter.glm).
            parameters_per_row: 0.33,
            // On columns with a deviation of 1, an odds ratio of e^50 a deviation is no finding.
            largest_coefficient: 50.0,
        }
    }
}

impl Rules {
    /// What cannot be a rule, if anything.
    pub(super) fn objection(&self) -> Option<String> {
        /// The largest whole number that every program which reads JSON keeps as it is.
        const MOST: u64 = 1 << 53;
        let counts =
            [("answers_each", self.answers_each, 1), ("closing", self.closing, 0), ("min_rows", self.min_rows, 1)];
        if let Some((name, found, least)) =
            counts.into_iter().find(|(_, found, least)| !(*least..=MOST).contains(found))
        {
            return Some(format!("{name} is {found}: it must be a whole number from {least} to {MOST}"));
        }
        let sizes =
            [("parameters_per_row", self.parameters_per_row), ("largest_coefficient", self.largest_coefficient)];
        let wrong = sizes.into_iter().find(|(_, size)| !(size.is_finite() && *size > 0.0));
        wrong.map(|(name, found)| format!("{name} is {found}: it must be a positive number"))
    }

    /// Why a clinic with so many rows answers nothing; none where it does.
    pub fn refuses_rows(&self, rows: u64) -> Option<String> {
        let few = rows < self.min_rows;
        few.then(|| {
            format!("{} used, and the plan asks for at least {}", counted(rows, "row is", "rows are"), self.min_rows)
        })
    }

    /// Why a clinic with so many rows answers no question about a model of so many parameters; none where it does.
    pub fn refuses_parameters(&self, parameters: usize, rows: u64) -> Option<String> {
        let most = self.parameters_per_row * rows as f64;
        (parameters as f64 > most).then(|| {
            format!(
                "the model has {}, and the plan allows {} for each of the {}: at most {}",
                counted(parameters as u64, "parameter", "parameters"),
                self.parameters_per_row,
                counted(rows, "row", "rows"),
                most.floor()
            )
        })
    }
}

/// `1 row`, `2 rows`.
pub(super) fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}
