//! Methods: what is believed, how to move, whom to ask.

mod by_name;
mod list;
mod parts;

use std::{any::Any, fmt};

use crate::{
    Belief, Choice, DefaultStep, Detail, LastGradient, SettingError, Settings, SettingsError, Update,
    belief::{Curvature, Model},
    setting::{SettingValue, Value},
    step_size::Known,
};
pub(crate) use by_name::parts;
pub use by_name::{AnyBelief, AnyChoice, AnyUpdate, ComposeError, MethodEntry, PartEntry};
pub use list::*;
pub(crate) use parts::{Parts, Scenery, Taken};

/// A named composition of the three parts.
///
/// ```
/// use sgq::{Method, belief::LastGradient, choice::Shuffled, update::Saga};
///
/// let mine = Method::new("shuffled SAGA", LastGradient::new(), Shuffled::new(), Saga);
/// ```
///
/// The compiler refuses parts that do not fit, such as a SAGA step without the gradients it corrects by:
///
/// ```compile_fail
/// use sgq::{Method, belief::Nothing, choice::Shuffled, update::Saga};
///
/// let wrong = Method::new("SAGA without a memory", Nothing, Shuffled::new(), Saga);
/// ```
///
/// At run time it is still the three parts: their settings are read and changed by name, and what the method can do and
/// needs is what they say.
#[derive(Clone, Debug)]
pub struct Method {
    name: String,
    parts: Box<dyn Parts>,
}

impl Method {
    /// Composes a method of one's own.
    pub fn new<B: Belief + Clone>(
        name: impl Into<String>,
        belief: B,
        choice: impl Choice<B>,
        update: impl Update<B>,
    ) -> Self {
        Self::boxed(name, belief, Box::new(choice), Box::new(update))
    }

    fn boxed<B: Belief + Clone>(
        name: impl Into<String>,
        belief: B,
        choice: Box<dyn Choice<B>>,
        update: Box<dyn Update<B>>,
    ) -> Self {
        Self { name: name.into(), parts: Box::new(parts::Triple { belief, choice, update }) }
    }

    /// What every front door takes where nobody names a method and at most so many users are asked: `frugal`, which has
    /// nothing to tune and, for small gaps, needs few queries on average on real data (docs/results.md). With more than 100,000
    /// users its looks at everybody take minutes, and it is `saga`.
    ///
    /// ```
    /// assert_eq!(sgq::Method::default_for(60).name(), "frugal");
    /// ```
    pub fn default_for(asked: u64) -> Self {
        const MANY_USERS: u64 = 100_000;
        if asked <= MANY_USERS { frugal() } else { saga() }
    }

    /// The same under another name.
    pub fn named(self, name: impl Into<String>) -> Self {
        Self { name: name.into(), ..self }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn into_parts(self) -> (String, Box<dyn Parts>) {
        (self.name, self.parts)
    }

    /// The settings of its parts: the choice's, the belief's and the update's.
    pub fn settings(&self) -> Vec<SettingValue> {
        let mut settings: Vec<SettingValue> = Vec::new();
        for setting in self.all_settings() {
            // One that two parts share is set for both at once.
            if settings.iter().all(|other| other.name != setting.name) {
                settings.push(setting);
            }
        }
        settings
    }

    /// Reading goes through the same declaration as writing, which wants the place itself.
    fn all_settings(&self) -> Vec<SettingValue> {
        self.parts.clone().settings().into_iter().map(SettingValue::from).collect()
    }

    /// The same as they are for that many users, those that follow from the number of users included.
    pub fn settings_for(&self, users: usize) -> Result<Vec<SettingValue>, SettingsError> {
        let mut method = self.clone();
        method.parts.begin(users, 1)?;
        Ok(method.settings())
    }

    /// What a setting is; `None` where the method has none of that name, or it follows from the number of users.
    pub fn setting(&self, name: &str) -> Option<Value> {
        self.settings().into_iter().find(|setting| setting.name == name)?.value
    }

    /// Changes a setting, of every part that has one of that name: all of them or, where one refuses the value, none.
    pub fn set(&mut self, name: &str, value: Value) -> Result<(), SettingError> {
        let mut parts = self.parts.clone();
        let mut found = false;
        for mut setting in parts.settings().into_iter().filter(|setting| setting.name == name) {
            setting.set(value)?;
            found = true;
        }
        if found {
            self.parts = parts;
            return Ok(());
        }
        let known = self.settings().iter().map(|setting| setting.name).collect();
        Err(SettingError::Unknown { method: (&*self.name).into(), name: name.into(), known })
    }

    /// The same with a setting changed.
    ///
    /// ```
    /// use sgq::{method, setting::Value};
    ///
    /// let lazy = method::sgq(0.3).with("lazy", Value::Switch(true))?;
    /// assert_eq!(lazy.setting("lazy"), Some(Value::Switch(true)));
    /// # Ok::<(), sgq::SettingError>(())
    /// ```
    pub fn with(mut self, name: &str, value: Value) -> Result<Self, SettingError> {
        self.set(name, value)?;
        Ok(self)
    }

    /// Whether the method can tell what [remains](crate::Session::remaining), so that a
    /// [tolerance](crate::Settings::tolerance) can stop it.
    pub fn can_tell_remaining(&self) -> bool {
        self.parts.belief().can_tell_remaining()
    }

    /// The [tolerance](crate::Settings::tolerance) where nobody gives one: a ten-thousandth, for a method that can tell what
    /// [remains](crate::Session::remaining).
    pub fn default_tolerance(&self) -> Option<f64> {
        self.parts.belief().can_tell_remaining().then_some(1e-4)
    }

    /// Whether the method has a step size.
    pub fn has_step_size(&self) -> bool {
        !self.parts.facts().own_step
    }

    /// The step size where nobody gives one, and where it comes from; `None` where the method goes its own way, or the
    /// settings do not say how smooth users are.
    pub fn default_step(&self, settings: &Settings) -> Result<Option<DefaultStep>, SettingsError> {
        let facts = self.parts.facts();
        let smoothness = settings.known_smoothness()?.filter(|_| !facts.own_step);
        Ok(smoothness
            .map(|smoothness| self.parts.default_step(&Known::new(&smoothness, settings.pl_constant, facts.order))))
    }

    /// Whether two runs with different seeds are the same run.
    pub fn is_deterministic(&self) -> bool {
        let facts = self.parts.facts();
        facts.order.is_fixed() && !facts.needs.chance
    }

    /// Whether the method sees more than any real run could, and so is only a yardstick.
    pub fn needs_oracle(&self) -> bool {
        self.needs_oracle_beyond(Detail::Gradient)
    }

    /// The same where users' answers say so much: a method that is told Hessians with its answers pays for them.
    ///
    /// ```
    /// use sgq::{Detail, method};
    ///
    /// assert!(method::ciag().needs_oracle() && !method::ciag().needs_oracle_beyond(Detail::Hessian));
    /// ```
    pub fn needs_oracle_beyond(&self, answers: Detail) -> bool {
        let needs = self.parts.facts().needs;
        needs.oracle || (needs.hessians && answers < Detail::Hessian)
    }

    /// What the method sees without paying for it, in words.
    pub fn sees_more(&self) -> Option<&'static str> {
        self.sees_more_than(Detail::Gradient)
    }

    /// The same where users' answers say so much.
    pub fn sees_more_than(&self, answers: Detail) -> Option<&'static str> {
        self.parts.facts().needs.unpaid(answers)
    }

    /// Whether the method goes by every user's `L_i` where they are given, for more than a default step.
    ///
    /// ```
    /// use sgq::{method, setting::Value};
    ///
    /// assert!(method::frugal().uses_each_smoothness() && !method::saga().uses_each_smoothness());
    /// assert!(!method::frugal().with("learned", Value::Switch(true))?.uses_each_smoothness());
    /// # Ok::<(), sgq::SettingError>(())
    /// ```
    pub fn uses_each_smoothness(&self) -> bool {
        let learned = self.setting("learned") == Some(Value::Switch(true));
        let needs = self.parts.facts().needs;
        (needs.smoothness && !(needs.or_learned && learned)) || (self.believes::<Model>() && !learned)
    }

    fn believes<B: Belief>(&self) -> bool {
        let belief: &dyn Any = self.parts.belief();
        belief.is::<B>()
    }

    /// Whether a table of everybody's last gradient is kept.
    pub fn keeps_table(&self) -> bool {
        self.believes::<LastGradient>()
    }

    /// How the method holds curvature where there are so many parameters; `None` where it has no model of the users.
    pub fn curvature(&self, dim: usize) -> Option<Curvature> {
        self.believes::<Model>().then(|| Model::plan(dim))
    }
}

/// By name, parts and settings: what a method of the same name and another setting differs in.
impl PartialEq for Method {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
            && self.parts.type_names() == other.parts.type_names()
            && self.all_settings() == other.all_settings()
    }
}

impl fmt::Display for Method {
    /// The name, the parts and the settings, in a line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.part_names().join(" + "))?;
        for setting in self.settings() {
            if let Some(value) = setting.value {
                write!(f, ", {} = {value}", setting.name)?;
            }
        }
        Ok(())
    }
}
