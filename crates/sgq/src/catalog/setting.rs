//! A part's settings by the names that files and other languages give them.

use super::{ChoiceKind, Recipe, UpdateKind};

/// One setting of a part, to be changed.
#[derive(Debug)]
pub enum Setting<'a> {
    /// A number.
    Number(&'a mut f64),
    /// A number that follows from the number of users where nobody says.
    OptionalNumber(&'a mut Option<f64>),
    /// A count that follows from the number of users where nobody says.
    Count(&'a mut Option<usize>),
    /// Yes or no.
    Switch(&'a mut bool),
}

impl Recipe {
    /// The setting of that name; `None` where neither part has one. [`Recipe::settings`] lists them.
    pub fn setting(&mut self, name: &str) -> Option<Setting<'_>> {
        use {ChoiceKind as C, UpdateKind as U};
        Some(match (&mut self.choice, &mut self.update, name) {
            (C::SurrogateEi { explore, .. }, _, "p") => Setting::Number(explore),
            (C::SurrogateEi { bonus_weight, .. }, _, "bonus") => Setting::Number(bonus_weight),
            (C::SurrogateEi { lazy, .. }, _, "lazy") => Setting::Switch(lazy),
            (C::SurrogateEi { learned, .. }, _, "learned") => Setting::Switch(learned),
            (_, U::ToMinimiser { learned }, "learned") => Setting::Switch(learned),
            // Where the step is the best one, scores do without L: it is the step that needs it.
            (_, U::BestStep { sharp }, "sharp") => Setting::Switch(sharp),
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
            (_, U::Loopless { probability }, "probability") => Setting::OptionalNumber(probability),
            _ => return None,
        })
    }
}
