//! What a fit says of itself.

use serde_json::Value;
use sgq_data::glm::{Coefficient, Family};

/// A fit as JSON has it, with its coefficients read.
pub(super) struct Told<'a> {
    fit: &'a Value,
    pub coefficients: Vec<Coefficient>,
    /// None where it is not said, or one that we do not know.
    pub family: Option<Family>,
}

impl<'a> Told<'a> {
    pub fn read(fit: &'a Value) -> Result<Self, String> {
        let list = fit.get("coefficients").and_then(Value::as_array);
        let list = list.ok_or("the fit has no list `coefficients`: give what `sgq fit --json` prints")?;
        if list.is_empty() {
            return Err("the fit has no coefficient at all: its list `coefficients` is empty".to_owned());
        }
        let coefficients = list.iter().enumerate().map(|(place, line)| coefficient(place, line));
        let coefficients: Vec<Coefficient> = coefficients.collect::<Result<_, _>>()?;
        let family = fit.get("family").and_then(Value::as_str).and_then(|family| family.parse().ok());
        let mut told = Self { fit, coefficients, family };
        if told.ratio_name().is_some() {
            let first = usize::from(told.has_intercept());
            for line in &mut told.coefficients[first..] {
                let ratio = |value: f64| Some(value.exp()).filter(|ratio| !ratio.is_nan());
                (line.ratio, line.ratio_lower, line.ratio_upper) =
                    (ratio(line.estimate), ratio(line.lower), ratio(line.upper));
            }
        }
        Ok(told)
    }

    /// What is said under a name, where it is something.
    pub fn get(&self, path: &[&str]) -> Option<&'a Value> {
        path.iter().try_fold(self.fit, |value, key| value.get(key)).filter(|value| !value.is_null())
    }

    pub fn text(&self, path: &[&str]) -> Option<&'a str> {
        self.get(path)?.as_str().filter(|text| !text.is_empty())
    }

    pub fn number(&self, path: &[&str]) -> Option<f64> {
        self.get(path)?.as_f64()
    }

    /// A whole number; Python may write it with a point.
    pub fn count(&self, path: &[&str]) -> Option<u64> {
        let value = self.get(path)?;
        let rounded = || value.as_f64().filter(|it| it.fract() == 0.0 && (0.0..9e15).contains(it)).map(|it| it as u64);
        value.as_u64().or_else(rounded)
    }

    pub fn flag(&self, path: &[&str]) -> Option<bool> {
        self.get(path)?.as_bool()
    }

    pub fn list(&self, path: &[&str]) -> &'a [Value] {
        self.get(path).and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    /// Texts, whether one or a list of them.
    pub fn texts(&self, path: &[&str]) -> Vec<&'a str> {
        match self.get(path) {
            Some(Value::Array(list)) => list.iter().filter_map(Value::as_str).collect(),
            Some(Value::String(text)) => vec![text],
            _ => Vec::new(),
        }
    }

    /// Such as `died in medpar.csv`.
    pub fn title(&self) -> String {
        /// Longer names are cut.
        const LONGEST: usize = 60;
        let short = |text: &str| match text.char_indices().nth(LONGEST) {
            Some((end, _)) => format!("{}…", &text[..end]),
            None => text.to_owned(),
        };
        match (self.text(&["target"]).map(short), self.text(&["data"]).map(short)) {
            (Some(target), Some(data)) => format!("{target} in {data}"),
            (Some(target), None) => format!("A fit of {target}"),
            (None, Some(data)) => format!("A fit to {data}"),
            (None, None) => "A fit".to_owned(),
        }
    }

    /// What `e^coefficient` is called.
    pub fn ratio_name(&self) -> Option<&'static str> {
        self.family.and_then(Family::ratio_name)
    }

    /// How much the intervals cover.
    pub fn level(&self) -> f64 {
        self.number(&["level"]).filter(|level| (0.0..1.0).contains(level)).unwrap_or(0.95)
    }

    /// Whether the first coefficient is an intercept, by its name.
    pub fn has_intercept(&self) -> bool {
        let name = self.coefficients.first().map(|line| line.name.trim_matches(['(', ')']).to_lowercase());
        matches!(name.as_deref(), Some("intercept" | "const"))
    }

    pub fn std_error_kind(&self) -> Option<&'a str> {
        self.text(&["std_error_kind"])
    }

    /// Whether standard errors are not exact.
    pub fn is_approximate(&self) -> bool {
        self.std_error_kind().is_some_and(|kind| kind.contains("approximate"))
    }

    /// Why there are no standard errors, where there are none.
    pub fn why_no_errors(&self) -> Option<&'a str> {
        match self.coefficients.iter().all(|line| line.std_error.is_nan()) {
            true => Some(self.text(&["notes"]).unwrap_or("none are known")),
            false => None,
        }
    }

    /// The level of each factor that others are compared with: the factor, the level.
    pub fn references(&self) -> Vec<(&'a str, &'a str)> {
        let each = |it: &'a Value| Some((it.get("column")?.as_str()?, it.get("level")?.as_str()?));
        self.list(&["reference_levels"]).iter().filter_map(each).collect()
    }

    /// Those that belong before the coefficient at a place: the first of its factor.
    pub fn references_before(&self, place: usize) -> Vec<(&'a str, &'a str)> {
        let is_of = |name: &str, factor: &str| name.strip_prefix(factor).is_some_and(|rest| rest.starts_with('='));
        let first = |factor: &str| self.coefficients.iter().position(|line| is_of(&line.name, factor));
        self.references().into_iter().filter(|(factor, _)| first(factor) == Some(place)).collect()
    }
}

fn coefficient(place: usize, line: &Value) -> Result<Coefficient, String> {
    let name = line.get("name").and_then(Value::as_str);
    let name = name.ok_or_else(|| format!("coefficient {} has no `name`", place + 1))?;
    let estimate = line.get("estimate").ok_or_else(|| {
        let name: String = name.chars().take(80).collect();
        format!("coefficient {} ({name:?}) has no `estimate`", place + 1)
    })?;
    let read = |key: &str| line.get(key).map_or(f64::NAN, number);
    let std_error = read("std_error");
    // JSON has no infinity: an end that is null beside a standard error went beyond all numbers.
    let end = |key: &str, beyond: f64| match line.get(key) {
        Some(Value::Null) if std_error.is_finite() => beyond,
        Some(value) => number(value),
        None => f64::NAN,
    };
    Ok(Coefficient {
        name: name.to_owned(),
        estimate: number(estimate),
        std_error,
        z: read("z"),
        p: read("p"),
        lower: end("lower", f64::NEG_INFINITY),
        upper: end("upper", f64::INFINITY),
        ratio: None,
        ratio_lower: None,
        ratio_upper: None,
    })
}

/// A number, or a text that is one, such as `"inf"`; not a number where it is neither.
fn number(value: &Value) -> f64 {
    let text = || value.as_str().and_then(|text| text.parse().ok());
    value.as_f64().or_else(text).unwrap_or(f64::NAN)
}
