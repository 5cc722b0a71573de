//! A step size that nobody has to tune.

use std::str::FromStr;

use serde::Serialize;
use sgq::{
    Oracle as _, Problem as _, SettingsError, Smoothness,
    catalog::{DefaultStep, Recipe},
    problem::Regression,
};

/// What was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum StepRule {
    Number(f64),
    Theory,
    Auto,
}

impl FromStr for StepRule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(Self::Auto),
            "theory" => Ok(Self::Theory),
            _ => {
                let number = text.parse().ok().filter(|number: &f64| *number > 0.0 && number.is_finite());
                number.map(Self::Number).ok_or_else(|| "expected a positive number, auto or theory".to_owned())
            }
        }
    }
}

/// The method's own default on a problem.
pub fn auto_step(recipe: &Recipe, problem: &Regression) -> Result<DefaultStep, SettingsError> {
    let each = problem.smoothness().unwrap_or_default().to_vec();
    let smoothness = Smoothness::new(each, problem.users())?.with_objective(problem.objective_smoothness())?;
    Ok(recipe.default_step(&smoothness, problem.pl_constant()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use sgq::{
        catalog::METHODS,
        problem::{Loss, Rows},
    };

    #[test]
    fn rules_are_read() {
        assert_eq!("auto".parse(), Ok(StepRule::Auto));
        assert_eq!("theory".parse(), Ok(StepRule::Theory));
        assert_eq!("0.25".parse(), Ok(StepRule::Number(0.25)));
        for wrong in ["0", "-1", "NaN", "inf", "", "fast"] {
            assert!(wrong.parse::<StepRule>().is_err(), "{wrong}");
        }
    }

    /// Two users with one row each: `L_1 = 1 + λ`, `L_2 = 9 + λ`, and f's own `L` is `5 + λ`.
    #[test]
    fn sizes_are_what_the_formulas_say() {
        let rows = Rows::Dense { dim: 1, values: vec![1.0, 3.0] };
        let problem = Regression::new(rows, vec![1.0, 1.0], &[0, 1, 2], Loss::Squares, 1.0).unwrap();
        let size = |name: &str| {
            let entry = METHODS.iter().find(|entry| entry.name == name).unwrap();
            auto_step(&entry.recipe, &problem).unwrap().size
        };
        let expected = [("sgd", 20.0), ("sgq", 20.0), ("saga", 30.0), ("sag", 160.0), ("iag", 12.0), ("gd", 6.0)];
        for (name, inverse) in expected {
            assert!((size(name) * inverse - 1.0).abs() < 1e-12, "{name}: {}", size(name));
        }
    }
}
