//! What kind of problem a dataset makes.

use std::fmt;

use serde::Serialize;
use sgq::{Oracle as _, Problem as _, problem::Regression};

use crate::Dataset;

/// A problem in a few numbers: how large, how smooth, how different the users are.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Card {
    /// How many users, `n`.
    pub users: usize,
    /// How many coefficients, `d`.
    pub dim: usize,
    /// How many rows all users hold together.
    pub rows: usize,
    /// How many rows were left out because a value is missing.
    pub dropped_rows: usize,
    /// Rows a user holds.
    pub rows_per_user: Counts,
    /// The users' smoothness, `L_i`.
    pub user_smoothness: Spread,
    /// The smoothness of `f` itself, `L`.
    pub smoothness: Option<f64>,
    /// The Polyak-Łojasiewicz constant, `μ`; none without a penalty where the loss may be flat.
    pub pl_constant: Option<f64>,
    /// `L / μ`.
    pub condition_number: Option<f64>,
    /// `√(mean_i ‖∇f_i − ∇f‖²)` at zero.
    pub heterogeneity_at_zero: f64,
    /// The same at the optimum, where `∇f` is zero.
    pub heterogeneity_at_optimum: f64,
    /// `f(0) − f*`.
    pub gap_at_zero: f64,
    /// `‖∇f(x*)‖`: how well the optimum is known.
    pub gradient_norm_at_optimum: f64,
}

/// Of some whole numbers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Counts {
    /// The smallest.
    pub min: usize,
    /// The one in the middle, or the mean of the two.
    pub median: f64,
    /// The largest.
    pub max: usize,
}

/// Of some numbers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// The smallest.
    pub min: f64,
    /// The one in the middle, or the mean of the two.
    pub median: f64,
    /// The largest.
    pub max: f64,
    /// How much larger the largest is than the mean: 1 where all are equal, at most their number.
    pub max_over_mean: f64,
}

impl Card {
    /// Describes a dataset and the regression made from it. Takes every user's gradient four times.
    pub fn new(data: &Dataset, problem: &Regression) -> Self {
        let mut rows: Vec<f64> = problem.rows_per_user().map(|rows| rows as f64).collect();
        let mut each = problem.smoothness().map(<[f64]>::to_vec).unwrap_or_default();
        let (rows_per_user, user_smoothness) = (Spread::of(&mut rows), Spread::of(&mut each));
        let (smoothness, pl_constant) = (problem.objective_smoothness(), problem.pl_constant());
        let zero = vec![0.0; problem.dim()];
        let optimum = problem.optimum().map_or(&zero, |optimum| &optimum.point);
        Self {
            users: problem.users(),
            dim: problem.dim(),
            rows: data.rows.count(),
            dropped_rows: data.dropped_rows,
            rows_per_user: Counts {
                min: rows_per_user.min as usize,
                median: rows_per_user.median,
                max: rows_per_user.max as usize,
            },
            user_smoothness,
            smoothness,
            pl_constant,
            condition_number: smoothness.zip(pl_constant).map(|(smoothness, mu)| smoothness / mu),
            heterogeneity_at_zero: heterogeneity(problem, &zero),
            heterogeneity_at_optimum: heterogeneity(problem, optimum),
            gap_at_zero: problem.gap(&zero).unwrap_or(f64::NAN),
            gradient_norm_at_optimum: problem.gradient_norm_at_optimum(),
        }
    }
}

impl Spread {
    /// Sorts the numbers.
    fn of(numbers: &mut [f64]) -> Self {
        numbers.sort_by(f64::total_cmp);
        let count = numbers.len();
        let at = |k: usize| numbers.get(k).copied().unwrap_or(f64::NAN);
        let max = at(count.saturating_sub(1));
        let mean = numbers.iter().sum::<f64>() / count as f64;
        let median = 0.5 * (at(count.saturating_sub(1) / 2) + at(count / 2));
        Self { min: at(0), median, max, max_over_mean: max / mean }
    }
}

/// `√(mean_i ‖∇f_i − ∇f‖²)`: first the mean gradient, then the distances, without a table of all gradients.
fn heterogeneity(problem: &Regression, point: &[f64]) -> f64 {
    let users = problem.users() as f64;
    let mut mean = vec![0.0; point.len()];
    let mut gradient = vec![0.0; point.len()];
    for user in 0..problem.users() {
        problem.gradient(user, point, &mut gradient);
        mean.iter_mut().zip(&gradient).for_each(|(mean, value)| *mean += value / users);
    }
    let mut sum = 0.0;
    for user in 0..problem.users() {
        problem.gradient(user, point, &mut gradient);
        sum += gradient.iter().zip(&mean).map(|(value, mean)| (value - mean) * (value - mean)).sum::<f64>();
    }
    (sum / users).sqrt()
}

impl fmt::Display for Card {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Counts { min, median, max } = self.rows_per_user;
        let each = self.user_smoothness;
        let known = |value: Option<f64>| value.map_or("not known".to_owned(), short);
        let dropped = match self.dropped_rows {
            0 => String::new(),
            dropped => format!(" ({dropped} more left out: a value is missing)"),
        };
        let lines = [
            ("users", self.users.to_string()),
            ("rows", format!("{}{dropped}", self.rows)),
            ("rows a user", format!("min {min}, median {median}, max {max}")),
            ("coefficients", self.dim.to_string()),
            (
                "smoothness L_i",
                format!(
                    "min {}, median {}, max {}, max/mean {}",
                    short(each.min),
                    short(each.median),
                    short(each.max),
                    short(each.max_over_mean)
                ),
            ),
            ("smoothness of f, L", known(self.smoothness)),
            ("PL constant μ", known(self.pl_constant)),
            ("condition number L/μ", known(self.condition_number)),
            (
                "heterogeneity",
                format!(
                    "{} at zero, {} at the optimum",
                    short(self.heterogeneity_at_zero),
                    short(self.heterogeneity_at_optimum)
                ),
            ),
            ("f(0) − f*", short(self.gap_at_zero)),
        ];
        let mut first = true;
        for (name, value) in lines {
            if !first {
                writeln!(f)?;
            }
            first = false;
            write!(f, "{name:<22}{value}")?;
        }
        Ok(())
    }
}

/// Four significant digits, in powers of ten where plain digits would be long.
fn short(value: f64) -> String {
    let exponent = if value == 0.0 { 0.0 } else { value.abs().log10().floor() };
    if !(-4.0..6.0).contains(&exponent) {
        return format!("{value:.3e}");
    }
    let digits = (3.0 - exponent).max(0.0) as usize;
    format!("{value:.digits$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spreads_are_what_they_say() {
        let spread = Spread::of(&mut [4.0, 1.0, 2.0, 5.0]);
        assert_eq!(spread, Spread { min: 1.0, median: 3.0, max: 5.0, max_over_mean: 5.0 / 3.0 });
        assert_eq!(Spread::of(&mut [3.0, 9.0, 1.0]).median, 3.0);
    }

    #[test]
    fn numbers_are_short() {
        let shown = [0.0, 1.0, 0.0123456, 12345.6, 1.23456e7, -2.5e-6, 999.96].map(short);
        assert_eq!(shown, ["0.000", "1.000", "0.01235", "12346", "1.235e7", "-2.500e-6", "1000.0"]);
    }
}
