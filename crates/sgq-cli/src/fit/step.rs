//! A step size that nobody has to tune.

use std::str::FromStr;

use serde::Serialize;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_read() {
        assert_eq!("auto".parse(), Ok(StepRule::Auto));
        assert_eq!("theory".parse(), Ok(StepRule::Theory));
        assert_eq!("0.25".parse(), Ok(StepRule::Number(0.25)));
        for wrong in ["0", "-1", "NaN", "inf", "", "fast"] {
            assert!(wrong.parse::<StepRule>().is_err(), "{wrong}");
        }
    }
}
