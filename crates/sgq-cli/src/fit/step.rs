//! A step size that nobody has to tune.

use std::str::FromStr;

use sgq::{
    Oracle as _, Problem as _,
    catalog::{ChoiceKind, Recipe, UpdateKind},
    problem::Regression,
};

/// What was asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
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

/// A step size, and where it comes from.
pub struct AutoStep {
    pub size: f64,
    pub formula: &'static str,
}

/// The step of the update's own convergence theorem where that is of use in practice, and half of `1 / L_max` otherwise.
///
/// The paper's theorems bound the steps of SGD, OGQ and SGQ by `μ / (2 L L_max)` and less: far too careful here.
pub fn auto_step(recipe: &Recipe, problem: &Regression) -> AutoStep {
    use UpdateKind as U;
    let each = problem.smoothness().unwrap_or_default();
    let largest = each.iter().copied().fold(0.0, f64::max);
    let objective = problem.objective_smoothness().unwrap_or(largest);
    let users = problem.users() as f64;
    let (formula, size) = match recipe.update {
        U::Sgd => ("1/(2 L_max)", 1.0 / (2.0 * largest)),
        // Defazio, Bach & Lacoste-Julien 2014.
        U::Saga => ("1/(3 L_max)", 1.0 / (3.0 * largest)),
        // Allen-Zhu 2017: the step of y.
        U::Katyusha { .. } => ("1/(3 L_max)", 1.0 / (3.0 * largest)),
        // Kovalev, Horváth & Richtárik 2020, for snapshots at random times.
        U::Svrg { .. } | U::Loopless { .. } => ("1/(6 L_max)", 1.0 / (6.0 * largest)),
        // Nguyen, Liu, Scheinberg & Takáč 2017.
        U::Recursive { .. } => ("1/(2 L_max)", 1.0 / (2.0 * largest)),
        // Schmidt, Le Roux & Bach 2017.
        U::Aggregated if recipe.choice == ChoiceKind::Uniform => ("1/(16 L_max)", 1.0 / (16.0 * largest)),
        // Gradients up to n steps old act like a delay: a step on f's own curvature, divided by it.
        U::Aggregated => ("1/(n L)", 1.0 / (users * objective)),
        // Mokhtari, Gürbüzbalaban & Ribeiro 2018 allow 2/(μ + L_max), which is more. For IQN it is the first curvature.
        U::DoublyAggregated | U::QuasiNewton => ("1/L_max", 1.0 / largest),
        U::CurvatureAided | U::FullGradient | U::Lbfgs => ("1/L", 1.0 / objective),
    };
    AutoStep { size, formula }
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
            auto_step(&entry.recipe, &problem).size
        };
        let expected = [("sgd", 20.0), ("sgq", 20.0), ("saga", 30.0), ("sag", 160.0), ("iag", 12.0), ("gd", 6.0)];
        for (name, inverse) in expected {
            assert!((size(name) * inverse - 1.0).abs() < 1e-12, "{name}: {}", size(name));
        }
    }
}
