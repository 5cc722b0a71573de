//! Methods by name, with the settings that their parts take.

use pyo3::{
    exceptions::{PyTypeError, PyValueError},
    prelude::*,
    types::PyDict,
};
use sgq::catalog::{ChoiceKind, METHODS, MethodEntry, Recipe, UpdateKind};

/// The built-in methods: a list of (name, summary, what it charges, its own settings).
#[pyfunction]
pub fn methods() -> Vec<(&'static str, &'static str, &'static str, Vec<&'static str>)> {
    let settings = |entry: &MethodEntry| entry.recipe.settings().iter().map(|setting| setting.name).collect();
    METHODS.iter().map(|entry| (entry.name, entry.summary, entry.charges, settings(entry))).collect()
}

/// A method of the catalogue, with some of its settings changed.
pub fn recipe(name: &str, options: Option<&Bound<'_, PyDict>>) -> PyResult<(&'static MethodEntry, Recipe)> {
    let entry = METHODS.iter().find(|entry| entry.name == name).ok_or_else(|| {
        let names: Vec<_> = METHODS.iter().map(|entry| entry.name).collect();
        PyValueError::new_err(format!("there is no method {name:?}; there are {}", names.join(", ")))
    })?;
    let mut recipe = entry.recipe;
    for (key, value) in options.into_iter().flatten() {
        let key: String = key.extract()?;
        let Some(setting) = setting(&mut recipe, &key) else {
            let known: Vec<_> = recipe.settings().iter().map(|setting| setting.name).collect();
            let words =
                if known.is_empty() { "it has no settings".into() } else { format!("it has {}", known.join(", ")) };
            return Err(PyTypeError::new_err(format!("{name} has no setting {key:?}: {words}")));
        };
        let kind = setting.kind();
        let wrong = |_: PyErr| PyTypeError::new_err(format!("{key} is {value}: it must be {kind}"));
        match setting {
            Setting::Number(it) => *it = value.extract().map_err(wrong)?,
            Setting::Part(it) => *it = Some(value.extract().map_err(wrong)?),
            Setting::Count(it) => *it = Some(value.extract().map_err(wrong)?),
            Setting::Switch(it) => *it = value.extract().map_err(wrong)?,
        }
    }
    Ok((entry, recipe))
}

/// One setting of a part, to be changed.
enum Setting<'a> {
    Number(&'a mut f64),
    Part(&'a mut Option<f64>),
    Count(&'a mut Option<usize>),
    Switch(&'a mut bool),
}

impl Setting<'_> {
    fn kind(&self) -> &'static str {
        match self {
            Self::Number(_) | Self::Part(_) => "a number",
            Self::Count(_) => "a whole number that is not negative",
            Self::Switch(_) => "True or False",
        }
    }
}

/// The setting of that name, as experiment files call it; `None` where neither part has one.
fn setting<'a>(recipe: &'a mut Recipe, name: &str) -> Option<Setting<'a>> {
    use {ChoiceKind as C, UpdateKind as U};
    Some(match (&mut recipe.choice, &mut recipe.update, name) {
        (C::SurrogateEi { explore, .. }, _, "p") => Setting::Number(explore),
        (C::SurrogateEi { bonus_weight, .. }, _, "bonus") => Setting::Number(bonus_weight),
        (C::SurrogateEi { sharp, .. } | C::OracleEi { sharp }, _, "sharp") => Setting::Switch(sharp),
        (C::ByNorm { mixture, .. }, _, "mixture") => Setting::Number(mixture),
        (C::ByNorm { cost_aware, .. }, _, "cost_aware") => Setting::Switch(cost_aware),
        (C::PowerOfChoice { candidates }, _, "candidates") => Setting::Count(candidates),
        (
            _,
            U::Svrg { inner_steps } | U::Recursive { inner_steps } | U::Katyusha { inner_steps, .. },
            "inner_steps",
        ) => Setting::Count(inner_steps),
        (_, U::Katyusha { momentum, .. }, "momentum") => Setting::Number(momentum),
        (_, U::Loopless { probability }, "probability") => Setting::Part(probability),
        _ => return None,
    })
}
