//! Every built-in method and part by name, for front doors that learn the method at run time.

mod entries;
mod parts;
mod setting;

use std::mem::discriminant;

use crate::{
    AskTell, LastGradient, Method, Session, Settings, SettingsError, Sight, Smoothness,
    belief::{Curvature, Model},
    session::RestoreError,
    update::ToMinimiser,
};
use parts::{AnyChoice, AnyUpdate, ModelChoice};

pub use entries::{BELIEFS, CHOICES, METHODS, STEP_SIZES, UPDATES};
pub use setting::Setting;

#[cfg(doc)]
use crate::{
    choice::{
        Balanced, ByNorm, BySmoothness, Cyclic, Informative, Oort, OracleEi, PowerOfChoice, Projection, Shuffled,
        SurrogateEi, Uniform,
    },
    update::{
        Aggregated, BestStep, CurvatureAided, DoublyAggregated, FullGradient, Katyusha, Lbfgs, Loopless, QuasiNewton,
        Recursive, Saga, Sgd, Svrg,
    },
};

/// Whom to ask, by name and settings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ChoiceKind {
    /// [`Uniform`].
    Uniform,
    /// [`Shuffled`].
    Shuffled,
    /// [`Cyclic`].
    Cyclic,
    /// [`BySmoothness`].
    BySmoothness,
    /// [`ByNorm`].
    ByNorm {
        /// The part of choices that are uniform.
        mixture: f64,
        /// Whether norms are divided by the root of what a query costs.
        cost_aware: bool,
    },
    /// [`Balanced`].
    Balanced,
    /// [`Projection`].
    Projection,
    /// [`PowerOfChoice`].
    PowerOfChoice {
        /// Users polled before each choice; without a number, a tenth of them, and at least two.
        candidates: Option<usize>,
    },
    /// [`Oort`].
    Oort,
    /// [`Informative`].
    Informative,
    /// [`OracleEi`].
    OracleEi {
        /// Whether to use f's own smoothness.
        sharp: bool,
    },
    /// [`SurrogateEi`].
    SurrogateEi {
        /// The exploration probability `p`.
        explore: f64,
        /// The weight of the bonus.
        bonus_weight: f64,
        /// Whether to use f's own smoothness.
        sharp: bool,
        /// Whether steps begin at once, over a [lazy](LastGradient::lazy) table.
        lazy: bool,
        /// Whether each `L_i` is [learned](LastGradient::learning).
        learned: bool,
    },
}

/// How to move, by name and settings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum UpdateKind {
    /// [`Sgd`].
    Sgd,
    /// [`BestStep`].
    BestStep {
        /// Whether to use f's own smoothness.
        sharp: bool,
    },
    /// [`Saga`].
    Saga,
    /// [`Aggregated`].
    Aggregated,
    /// [`DoublyAggregated`].
    DoublyAggregated,
    /// [`Svrg`].
    Svrg {
        /// Steps between snapshots; without a number, twice as many as there are users.
        inner_steps: Option<usize>,
    },
    /// [`Loopless`].
    Loopless {
        /// The probability of a snapshot; without a number, one in as many steps as there are users.
        probability: Option<f64>,
    },
    /// [`Katyusha`].
    Katyusha {
        /// Steps between snapshots; without a number, twice as many as there are users.
        inner_steps: Option<usize>,
        /// `τ₁`.
        momentum: f64,
    },
    /// [`Recursive`].
    Recursive {
        /// Steps between full gradients; without a number, as many as there are users.
        inner_steps: Option<usize>,
    },
    /// [`QuasiNewton`].
    QuasiNewton,
    /// [`CurvatureAided`].
    CurvatureAided,
    /// [`ToMinimiser`].
    ToMinimiser {
        /// Whether `L_i` that are known are left aside, and [learned](Model::learning).
        learned: bool,
    },
    /// [`FullGradient`].
    FullGradient,
    /// [`Lbfgs`].
    Lbfgs,
}

/// A method put together at run time. The belief follows from the other two parts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Recipe {
    /// Whom to ask.
    pub choice: ChoiceKind,
    /// How to move.
    pub update: UpdateKind,
}

impl Recipe {
    /// Opens a session of this method under a name of one's own.
    pub fn open<'s>(
        &self,
        name: &str,
        settings: Settings,
        sight: Sight<'s>,
    ) -> Result<Box<dyn AskTell + 's>, SettingsError> {
        let users = settings.users;
        if let UpdateKind::ToMinimiser { learned } = self.update {
            let method = self.model_method(name, learned)?;
            return Ok(Box::new(Session::with_sight(method, settings, sight)?));
        }
        Ok(Box::new(Session::with_sight(self.method(name, users)?, settings, sight)?))
    }

    /// Goes on from a [snapshot](Session::snapshot) of a session of this method and name.
    pub fn restore<'s>(
        &self,
        name: &str,
        bytes: &[u8],
        sight: Sight<'s>,
    ) -> Result<Box<dyn AskTell + 's>, RestoreError> {
        if let UpdateKind::ToMinimiser { learned } = self.update {
            let method = self.model_method(name, learned)?;
            let choice = discriminant(&method.choice);
            let session = Session::restore(method, bytes, sight)?;
            if discriminant(session.choice()) != choice {
                return Err(RestoreError::OtherMethod { wanted: name.to_owned() });
            }
            return Ok(Box::new(session));
        }
        // The parts' settings come from the snapshot: the number of users does not matter here.
        let method = self.method(name, 1)?;
        let (choice, update) = (discriminant(&method.choice), discriminant(&method.update));
        let session = Session::restore(method, bytes, sight)?;
        if (discriminant(session.choice()), discriminant(session.update())) != (choice, update) {
            return Err(RestoreError::OtherMethod { wanted: name.to_owned() });
        }
        Ok(Box::new(session))
    }

    /// Puts the parts together, with the belief that they need.
    fn method(&self, name: &str, users: usize) -> Result<Method<LastGradient, AnyChoice, AnyUpdate>, SettingsError> {
        let belief = match self.choice {
            ChoiceKind::SurrogateEi { lazy, learned, .. } => LastGradient::new().lazy(lazy).learning(learned),
            _ if self.keeps_table() => LastGradient::new(),
            _ => LastGradient::absent(),
        };
        let parts = self.choice.part(users).zip(self.update.part(users));
        let (choice, update) = parts.ok_or_else(|| self.do_not_fit())?;
        Ok(Method::new(name, belief, choice, update))
    }

    /// The same where a model takes the table's place.
    fn model_method(
        &self,
        name: &str,
        learned: bool,
    ) -> Result<Method<Model, ModelChoice, ToMinimiser>, SettingsError> {
        let choice = self.choice.part_by_model().ok_or_else(|| self.do_not_fit())?;
        Ok(Method::new(name, Model::new().learning(learned), choice, ToMinimiser))
    }

    /// Whether the two parts can work together.
    pub fn fits(&self) -> bool {
        match self.update {
            UpdateKind::ToMinimiser { .. } => self.choice.part_by_model().is_some(),
            _ => self.choice != ChoiceKind::Informative,
        }
    }

    fn do_not_fit(&self) -> SettingsError {
        SettingsError::DoNotFit { choice: self.choice_entry().name, update: self.update_entry().name }
    }

    /// Whether the method has a step size.
    pub fn has_step_size(&self) -> bool {
        !matches!(self.update, UpdateKind::ToMinimiser { .. } | UpdateKind::BestStep { .. })
    }

    /// How the method holds curvature where there are so many parameters; none where it has no model of the users.
    pub fn curvature(&self, dim: usize) -> Option<Curvature> {
        matches!(self.update, UpdateKind::ToMinimiser { .. }).then(|| Model::plan(dim))
    }

    /// Whether a part reads everybody's last gradient, and a table of them is kept.
    pub fn keeps_table(&self) -> bool {
        use UpdateKind as U;
        matches!(self.choice, ChoiceKind::SurrogateEi { .. } | ChoiceKind::Projection)
            || matches!(
                self.update,
                U::Saga | U::Aggregated | U::DoublyAggregated | U::QuasiNewton | U::BestStep { .. }
            )
    }

    /// The catalogue's entry of the choice.
    pub fn choice_entry(&self) -> &'static PartEntry<ChoiceKind> {
        entry_of(CHOICES, |kind| discriminant(kind) == discriminant(&self.choice))
    }

    /// The catalogue's entry of the update.
    pub fn update_entry(&self) -> &'static PartEntry<UpdateKind> {
        entry_of(UPDATES, |kind| discriminant(kind) == discriminant(&self.update))
    }

    /// The settings that its parts take.
    pub fn settings(&self) -> Vec<Entry> {
        let mut settings = self.choice_entry().settings.to_vec();
        // One of the same name is the update's.
        let new = |entry: &&Entry| self.choice_entry().settings.iter().all(|other| other.name != entry.name);
        settings.extend(self.update_entry().settings.iter().filter(new));
        settings
    }

    /// Whether two runs with different seeds are the same run.
    pub fn is_deterministic(&self) -> bool {
        let fixed = matches!(self.choice, ChoiceKind::Cyclic | ChoiceKind::OracleEi { .. } | ChoiceKind::Projection);
        let everybody = matches!(self.update, UpdateKind::FullGradient | UpdateKind::Lbfgs);
        (fixed || everybody) && !matches!(self.update, UpdateKind::Loopless { .. })
    }

    /// Whether the method sees more than any real run could, and so is only a yardstick.
    pub fn needs_oracle(&self) -> bool {
        matches!(self.choice, ChoiceKind::OracleEi { .. }) || self.update == UpdateKind::CurvatureAided
    }

    /// What the method sees without paying for it, in words.
    pub fn sees_more(&self) -> Option<&'static str> {
        match (self.choice, self.update) {
            (ChoiceKind::OracleEi { .. }, _) => Some("oracle, looks not billed"),
            (_, UpdateKind::CurvatureAided) => Some("oracle, Hessians not billed"),
            (ChoiceKind::PowerOfChoice { .. }, _) => Some("losses polled, not billed"),
            (ChoiceKind::Oort, _) => Some("losses not billed"),
            _ => None,
        }
    }
}

/// A step size for when nobody has tuned one, and where it comes from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DefaultStep {
    /// The step.
    pub size: f64,
    /// How it is computed: `L` is f's own smoothness.
    pub formula: &'static str,
}

impl Recipe {
    /// What the method's authors suggest, where that is of use in practice. The paper's theorems bound the steps of SGD, OGQ
    /// and SGQ by `μ / (2 L L_max)` and less, which is far too careful on real data.
    pub fn default_step(&self, smoothness: &Smoothness, pl_constant: Option<f64>) -> DefaultStep {
        use UpdateKind as U;
        let (mean, max, users) = (smoothness.mean(), smoothness.max(), smoothness.each().len() as f64);
        let own = smoothness.objective().unwrap_or(mean);
        let (formula, size) = match self.update {
            // Gower et al. 2019; with importance sampling the mean takes the maximum's place.
            U::Sgd if self.choice == ChoiceKind::BySmoothness => ("1/(2 mean L_i)", 1.0 / (2.0 * mean)),
            U::Sgd => ("1/(2 L_max)", 1.0 / (2.0 * max)),
            U::Saga | U::Katyusha { .. } => ("1/(3 L_max)", 1.0 / (3.0 * max)),
            U::Aggregated if self.choice != ChoiceKind::Cyclic => ("1/(16 L_max)", 1.0 / (16.0 * max)),
            // Gradients up to n steps old act like a delay.
            U::Aggregated => ("1/(n L)", 1.0 / (users * own)),
            U::DoublyAggregated => ("2/(L_max + μ)", 2.0 / (max + pl_constant.unwrap_or(0.0))),
            U::Svrg { .. } => ("1/(10 L_max)", 1.0 / (10.0 * max)),
            U::Loopless { .. } => ("1/(6 L_max)", 1.0 / (6.0 * max)),
            U::Recursive { .. } => ("1/(2 L_max)", 1.0 / (2.0 * max)),
            // IQN's first curvature.
            U::QuasiNewton => ("1/L_max", 1.0 / max),
            U::ToMinimiser { .. } | U::BestStep { .. } => ("none: it goes its own way", 1.0),
            U::CurvatureAided | U::FullGradient | U::Lbfgs => ("1/L", 1.0 / own),
        };
        DefaultStep { size, formula }
    }
}

/// The first entry of a kind. Every kind has one: a test makes sure of it.
fn entry_of<Kind>(entries: &'static [PartEntry<Kind>], is: impl Fn(&Kind) -> bool) -> &'static PartEntry<Kind> {
    entries.iter().find(|entry| is(&entry.kind)).unwrap_or(&entries[0])
}

/// Steps between SVRG's snapshots where nobody says: two rounds' worth.
pub fn default_inner_steps(users: usize) -> usize {
    users.saturating_mul(2)
}

/// Users that power-of-choice polls where nobody says: a tenth, and at least two.
pub fn default_candidates(users: usize) -> usize {
    (users / 10).max(2).min(users)
}

/// A built-in method, as a catalogue describes it.
#[derive(Clone, Copy, Debug)]
pub struct MethodEntry {
    /// What to call it in a file.
    pub name: &'static str,
    /// What it does, in a line.
    pub summary: &'static str,
    /// Its parts, with the paper's settings.
    pub recipe: Recipe,
    /// The queries it charges.
    pub charges: &'static str,
}

/// A part, as a catalogue describes it.
#[derive(Clone, Copy, Debug)]
pub struct PartEntry<Kind> {
    /// What to call it in a file.
    pub name: &'static str,
    /// What it does, in a line.
    pub summary: &'static str,
    /// Its kind, with default settings.
    pub kind: Kind,
    /// The settings it takes.
    pub settings: &'static [Entry],
}

/// A name and what it stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// How it is written in a file.
    pub name: &'static str,
    /// What it means.
    pub summary: &'static str,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_finds_its_own_entry_and_every_entry_its_settings() {
        for choice in CHOICES {
            for update in UPDATES {
                let recipe = Recipe { choice: choice.kind, update: update.kind };
                assert_eq!(recipe.choice_entry().name, choice.name);
                assert_eq!(recipe.update_entry().name, update.name);
                let mut recipe = recipe;
                for setting in recipe.settings() {
                    assert!(recipe.setting(setting.name).is_some(), "{}", setting.name);
                }
            }
        }
    }
}
