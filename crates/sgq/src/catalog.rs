//! Every built-in method and part by name, for front doors that learn the method at run time.

use crate::{
    AskTell, Belief, Choice, LastGradient, Method, Session, Settings, SettingsError, Sight, Update,
    belief::Nothing,
    choice::{OracleEi, Shuffled, SurrogateEi, Uniform},
    session::RestoreError,
    update::{Saga, Sgd, Svrg},
};

/// Whom to ask, by name and settings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ChoiceKind {
    /// [`Uniform`].
    Uniform,
    /// [`Shuffled`].
    Shuffled,
    /// [`OracleEi`].
    OracleEi,
    /// [`SurrogateEi`].
    SurrogateEi {
        /// The exploration probability `p`.
        explore: f64,
        /// The weight of the bonus.
        bonus_weight: f64,
    },
}

/// How to move, by name and settings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum UpdateKind {
    /// [`Sgd`].
    Sgd,
    /// [`Saga`].
    Saga,
    /// [`Svrg`].
    Svrg {
        /// Steps between snapshots; without a number, twice as many as there are users.
        inner_steps: Option<usize>,
    },
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
        self.build(name, users, Open { settings, sight })
    }

    /// Goes on from a [snapshot](Session::snapshot) of a session of this method and name.
    pub fn restore<'s>(
        &self,
        name: &str,
        bytes: &[u8],
        sight: Sight<'s>,
    ) -> Result<Box<dyn AskTell + 's>, RestoreError> {
        // The parts' settings come from the snapshot: the number of users does not matter here.
        self.build(name, 1, Restore { bytes, sight })
    }

    /// Puts the parts together, with the belief that they need.
    fn build<'s, S: Start<'s>>(&self, name: &str, users: usize, start: S) -> Result<Box<dyn AskTell + 's>, S::Error> {
        match self.update {
            UpdateKind::Sgd => memoryless(name, self.choice, Sgd, start),
            UpdateKind::Saga => remembering(name, self.choice, Saga, start),
            UpdateKind::Svrg { inner_steps } => {
                let update = Svrg::new(inner_steps.unwrap_or(default_inner_steps(users)));
                memoryless(name, self.choice, update, start)
            }
        }
    }

    /// The catalogue's entry of the choice.
    pub fn choice_entry(&self) -> &'static PartEntry<ChoiceKind> {
        match self.choice {
            ChoiceKind::Uniform => &CHOICES[0],
            ChoiceKind::Shuffled => &CHOICES[1],
            ChoiceKind::OracleEi => &CHOICES[2],
            ChoiceKind::SurrogateEi { .. } => &CHOICES[3],
        }
    }

    /// The catalogue's entry of the update.
    pub fn update_entry(&self) -> &'static PartEntry<UpdateKind> {
        match self.update {
            UpdateKind::Sgd => &UPDATES[0],
            UpdateKind::Saga => &UPDATES[1],
            UpdateKind::Svrg { .. } => &UPDATES[2],
        }
    }

    /// The settings that its parts take.
    pub fn settings(&self) -> Vec<Entry> {
        [self.choice_entry().settings, self.update_entry().settings].concat()
    }

    /// Whether the method looks at more than it pays for, and so is only a yardstick.
    pub fn needs_oracle(&self) -> bool {
        matches!(self.choice, ChoiceKind::OracleEi)
    }
}

/// Steps between SVRG's snapshots where nobody says: two rounds' worth.
pub fn default_inner_steps(users: usize) -> usize {
    users.saturating_mul(2)
}

/// For updates that need no memory of the users: whether there is one depends on the choice.
fn memoryless<'s, U, S: Start<'s>>(
    name: &str,
    choice: ChoiceKind,
    update: U,
    start: S,
) -> Result<Box<dyn AskTell + 's>, S::Error>
where
    U: Update<Nothing> + Update<LastGradient> + 's,
{
    match choice {
        ChoiceKind::Uniform => start.start(Method::new(name, Nothing, Uniform, update)),
        ChoiceKind::Shuffled => start.start(Method::new(name, Nothing, Shuffled::new(), update)),
        ChoiceKind::OracleEi => start.start(Method::new(name, Nothing, OracleEi::new(), update)),
        ChoiceKind::SurrogateEi { .. } => remembering(name, choice, update, start),
    }
}

fn remembering<'s, U: Update<LastGradient> + 's, S: Start<'s>>(
    name: &str,
    choice: ChoiceKind,
    update: U,
    start: S,
) -> Result<Box<dyn AskTell + 's>, S::Error> {
    let belief = LastGradient::new();
    match choice {
        ChoiceKind::Uniform => start.start(Method::new(name, belief, Uniform, update)),
        ChoiceKind::Shuffled => start.start(Method::new(name, belief, Shuffled::new(), update)),
        ChoiceKind::OracleEi => start.start(Method::new(name, belief, OracleEi::new(), update)),
        ChoiceKind::SurrogateEi { explore, bonus_weight } => {
            let choice = SurrogateEi::new(explore).bonus_weight(bonus_weight);
            start.start(Method::new(name, belief, choice, update))
        }
    }
}

/// Makes a session of a method whose types are known here and nowhere else.
trait Start<'s> {
    type Error;

    fn start<B, C, U>(self, method: Method<B, C, U>) -> Result<Box<dyn AskTell + 's>, Self::Error>
    where
        B: Belief + 's,
        C: Choice<B> + 's,
        U: Update<B> + 's;
}

struct Open<'s> {
    settings: Settings,
    sight: Sight<'s>,
}

impl<'s> Start<'s> for Open<'s> {
    type Error = SettingsError;

    fn start<B, C, U>(self, method: Method<B, C, U>) -> Result<Box<dyn AskTell + 's>, SettingsError>
    where
        B: Belief + 's,
        C: Choice<B> + 's,
        U: Update<B> + 's,
    {
        Ok(Box::new(Session::with_sight(method, self.settings, self.sight)?))
    }
}

struct Restore<'b, 's> {
    bytes: &'b [u8],
    sight: Sight<'s>,
}

impl<'s> Start<'s> for Restore<'_, 's> {
    type Error = RestoreError;

    fn start<B, C, U>(self, method: Method<B, C, U>) -> Result<Box<dyn AskTell + 's>, RestoreError>
    where
        B: Belief + 's,
        C: Choice<B> + 's,
        U: Update<B> + 's,
    {
        Ok(Box::new(Session::restore(method, self.bytes, self.sight)?))
    }
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

const SURROGATE_EI: ChoiceKind = ChoiceKind::SurrogateEi { explore: 0.3, bonus_weight: 1.0 };
const SVRG: UpdateKind = UpdateKind::Svrg { inner_steps: None };

/// The built-in methods.
pub const METHODS: &[MethodEntry] = &[
    MethodEntry {
        name: "sgd",
        summary: "a user at random, a step along its gradient",
        recipe: Recipe { choice: ChoiceKind::Uniform, update: UpdateKind::Sgd },
        charges: "1 a step",
    },
    MethodEntry {
        name: "shuffled-sgd",
        summary: "every user once in random order, then again; steps along the gradients",
        recipe: Recipe { choice: ChoiceKind::Shuffled, update: UpdateKind::Sgd },
        charges: "1 a step",
    },
    MethodEntry {
        name: "ogq",
        summary: "the user with the largest expected improvement, by an oracle (Algorithm 1); a yardstick",
        recipe: Recipe { choice: ChoiceKind::OracleEi, update: UpdateKind::Sgd },
        charges: "1 a step; its look at all n gradients is diagnostic, never billed",
    },
    MethodEntry {
        name: "sgq",
        summary: "the user with the largest surrogate improvement plus bonus (Algorithm 2)",
        recipe: Recipe { choice: SURROGATE_EI, update: UpdateKind::Sgd },
        charges: "n at the start, then 1 a step",
    },
    MethodEntry {
        name: "saga",
        summary: "a user at random, a step corrected by everybody's last gradient",
        recipe: Recipe { choice: ChoiceKind::Uniform, update: UpdateKind::Saga },
        charges: "n at the start, then 1 a step",
    },
    MethodEntry {
        name: "svrg",
        summary: "a user at random, a step corrected by a full gradient taken now and then",
        recipe: Recipe { choice: ChoiceKind::Uniform, update: SVRG },
        charges: "n a snapshot, then 1 a step",
    },
    MethodEntry {
        name: "saga-sgq",
        summary: "SGQ's choice with SAGA's step (the remark after Theorem 2)",
        recipe: Recipe { choice: SURROGATE_EI, update: UpdateKind::Saga },
        charges: "n at the start, then 1 a step",
    },
];

/// The built-in beliefs. A method gets the one that its choice and its update need.
pub const BELIEFS: &[Entry] = &[
    Entry { name: "nothing", summary: "no memory of the users" },
    Entry { name: "last-gradient", summary: "each user's last gradient, where it was taken, and the mean of them all" },
];

/// The built-in choices.
pub const CHOICES: &[PartEntry<ChoiceKind>] = &[
    PartEntry {
        name: "uniform",
        summary: "every user equally likely, each time anew",
        kind: ChoiceKind::Uniform,
        settings: &[],
    },
    PartEntry {
        name: "shuffled",
        summary: "every user once in random order, then again (without replacement)",
        kind: ChoiceKind::Shuffled,
        settings: &[],
    },
    PartEntry {
        name: "oracle-ei",
        summary: "argmax of the expected improvement, with everybody's true gradients (simulation only)",
        kind: ChoiceKind::OracleEi,
        settings: &[],
    },
    PartEntry {
        name: "surrogate-ei",
        summary: "argmax of the surrogate improvement plus the bonus of Lemma 2, over the last gradients",
        kind: SURROGATE_EI,
        settings: &[
            Entry { name: "p", summary: "probability of asking a user at random instead, in [0, 1]; default 0.3" },
            Entry { name: "bonus", summary: "weight of the bonus, not negative; default 1, as in the paper" },
        ],
    },
];

/// The built-in updates.
pub const UPDATES: &[PartEntry<UpdateKind>] = &[
    PartEntry { name: "sgd", summary: "x −= α ∇f_i(x)", kind: UpdateKind::Sgd, settings: &[] },
    PartEntry {
        name: "saga",
        summary: "x −= α (∇f_i(x) − last gradient of i + mean of all last gradients)",
        kind: UpdateKind::Saga,
        settings: &[],
    },
    PartEntry {
        name: "svrg",
        summary: "x −= α (∇f_i(x) − snapshot gradient of i + full snapshot gradient)",
        kind: SVRG,
        settings: &[Entry {
            name: "inner_steps",
            summary: "steps between snapshots; default 2n (the paper's experiment: 10)",
        }],
    },
];

/// The step-size rules: how each is written in a file, and what it does.
pub const STEP_SIZES: &[Entry] = &[
    Entry { name: "0.015", summary: "the same at every step" },
    Entry { name: "{ initial = 0.1, rate = 0.01 }", summary: "initial / (1 + rate·t) after t steps" },
    Entry { name: "{ pieces = [[0, 0.1], [100, 0.01]] }", summary: "from step 0 on 0.1, from step 100 on 0.01" },
    Entry { name: "\"theory\"", summary: "the largest step that the method's theorem allows (sgd, ogq, sgq, saga)" },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_finds_its_own_entry() {
        for choice in CHOICES {
            for update in UPDATES {
                let recipe = Recipe { choice: choice.kind, update: update.kind };
                assert_eq!(recipe.choice_entry().name, choice.name);
                assert_eq!(recipe.update_entry().name, update.name);
            }
        }
    }
}
