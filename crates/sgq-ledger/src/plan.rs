//! What a ledger is told once, when it is made.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use sgq::{Method, Session, Settings, setting::Value};
use sgq_data::glm::Precision;

use crate::{LedgerError, Protection, study::Terms};

/// Without any budget there is one that is enough for most: users who cannot be asked may keep a session from converging.
const DEFAULT_BUDGET: u64 = 500;
const DEFAULT_BUDGET_PER_USER: u64 = 10;
/// With more users than that it is no budget any more.
const LARGEST_DEFAULT_BUDGET: u64 = 10_000_000;

/// The queries of a session that is given no budget.
pub fn default_budget(users: usize) -> u64 {
    DEFAULT_BUDGET.max(DEFAULT_BUDGET_PER_USER.saturating_mul(users as u64)).min(LARGEST_DEFAULT_BUDGET)
}

/// A user by name, and what is known of it before it is asked.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct User {
    /// What everybody calls it.
    pub name: String,
    /// What a question to it costs; 1 where nobody says.
    pub cost: Option<f64>,
    /// What it counts in the objective; 1 where nobody says.
    pub weight: Option<f64>,
    /// Its smoothness constant `L_i`.
    pub smoothness: Option<f64>,
}

impl User {
    /// A user of whom nothing else is known.
    pub fn named(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// Why nobody can be called so, in words; none where it is a name.
    pub fn wrong_name(name: &str) -> Option<&'static str> {
        wrong_name(name)
    }
}

/// Why nobody can be called so.
pub(crate) fn wrong_name(name: &str) -> Option<&'static str> {
    match name {
        _ if name.contains(char::is_control) => {
            Some("a name has no line breaks, tabs or other control characters: leave them out")
        }
        _ if name.trim().is_empty() => Some("a name has letters"),
        _ if name.trim() != name => Some("a name has no blanks before or after it"),
        _ => None,
    }
}

/// What the library says of users by number, with their names.
pub(crate) fn with_names(words: &str, users: &[User]) -> String {
    const NUMBERED: &str = "user ";
    let mut named = String::new();
    let mut rest = words;
    while let Some(at) = rest.find(NUMBERED) {
        let (before, from) = rest.split_at(at);
        let number = &from[NUMBERED.len()..];
        let digits = number.len() - number.trim_start_matches(|it: char| it.is_ascii_digit()).len();
        let user = number[..digits].parse().ok().and_then(|user: usize| users.get(user));
        let after = match user {
            Some(_) => NUMBERED.len() + digits,
            None => NUMBERED.len(),
        };
        named += before;
        named += user.map_or(&from[..after], |user| &user.name);
        rest = &from[after..];
    }
    named + rest
}

/// The method, the settings and the users of a session.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Plan {
    /// Whom to ask, and how to move.
    pub method: Method,
    /// Where to start and when to stop. Costs, weights and `L_i` are those of the users, and not these.
    pub settings: Settings,
    /// Everybody, in order.
    pub users: Vec<User>,
    /// What users are protected from, and what the run is.
    pub protection: Protection,
    /// Of a regression by a plan that all users have; the start, the weights and what users say follow from it.
    pub study: Option<Terms>,
}

impl Plan {
    /// A session without any protection beyond what every ledger has.
    pub fn new(method: Method, settings: Settings, users: Vec<User>) -> Self {
        Self { method, settings, users, protection: Protection::default(), study: None }
    }

    /// A regression over users by a plan that all of them have. Where it starts, what users count and what they say follow from the
    /// plan and from their answers to its first question, whatever the settings say of it.
    pub fn of_study(method: Method, mut settings: Settings, users: Vec<User>, terms: Terms) -> Self {
        // The start is not known yet.
        settings.start = vec![0.0];
        settings.answers = terms.plan.rules.answers;
        if terms.precision_of(&method).is_some() && settings.tolerance.is_none() {
            settings.tolerance = Some(Precision::FIRST_TOLERANCE);
        }
        Self { study: Some(terms), ..Self::new(method, settings, users) }
    }

    /// The same with protection.
    pub fn protected(self, protection: Protection) -> Self {
        Self { protection, ..self }
    }

    /// The session that begins by this plan, before anybody is asked. Whatever is wrong with it is found here.
    pub fn session(&self) -> Result<Session<'static>, LedgerError> {
        Ok(Session::new(self.method.clone(), self.checked_settings()?)?)
    }

    /// The settings with what is known of the users. What is known of some and not of others is refused, but for costs.
    pub(crate) fn checked_settings(&self) -> Result<Settings, LedgerError> {
        let refused = |what: String| Err(LedgerError::Users { what });
        let mut names = BTreeSet::new();
        for (index, user) in self.users.iter().enumerate() {
            let name = &user.name;
            if let Some(why) = wrong_name(name) {
                return refused(format!("user {index} is called {name:?}: {why}"));
            }
            if !names.insert(name) {
                return refused(format!("two users are called {name:?}: every user needs a name of its own"));
            }
        }
        if self.users.len() != self.settings.users {
            return refused(format!(
                "{} users have names, and the settings have {}",
                self.users.len(),
                self.settings.users
            ));
        }
        let column = |what: &str, value: fn(&User) -> Option<f64>| {
            let known = self.users.iter().filter(|user| value(user).is_some()).count();
            if known != 0 && known != self.users.len() {
                let lacking = self.users.iter().find(|user| value(user).is_none()).map_or("", |user| &user.name);
                return Err(LedgerError::Users {
                    what: format!(
                        "{known} of {} users have a {what}, and {lacking:?} has none: give all or none",
                        self.users.len()
                    ),
                });
            }
            Ok((known > 0).then(|| self.users.iter().filter_map(value).collect::<Vec<f64>>()))
        };
        let stated = |user: &&User| user.weight.is_some() || user.smoothness.is_some();
        if let Some(user) = self.users.iter().find(stated).filter(|_| self.study.is_some()) {
            return refused(format!(
                "{:?} has a weight or a smoothness: in a study by a plan both follow from the data, leave them out",
                user.name
            ));
        }
        let mut settings = self.settings.clone();
        settings.weights = column("weight", |user| user.weight)?;
        settings.smoothness = column("smoothness", |user| user.smoothness)?;
        let has_costs = self.users.iter().any(|user| user.cost.is_some());
        settings.costs = has_costs.then(|| self.users.iter().map(|user| user.cost.unwrap_or(1.0)).collect());
        Ok(settings)
    }
}

/// A method by the names of its parts and its settings, as the file has it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct NamedMethod {
    pub name: String,
    parts: [String; 3],
    settings: BTreeMap<String, Value>,
}

impl NamedMethod {
    /// Refuses parts of one's own: another program could not make them again.
    pub fn of(method: &Method) -> Result<Self, LedgerError> {
        let known = method.settings().into_iter();
        let settings = known.filter_map(|it| it.value.map(|value| (it.name.to_owned(), value))).collect();
        let named = Self { name: method.name().to_owned(), parts: method.part_names(), settings };
        match named.method() {
            Ok(same) if same == *method => Ok(named),
            _ => Err(LedgerError::OwnParts { method: named.name }),
        }
    }

    pub fn method(&self) -> Result<Method, LedgerError> {
        let [belief, choice, update] = &self.parts;
        let built_in = Method::by_name(&self.name).ok().filter(|method| method.part_names() == self.parts);
        let mut method = match built_in {
            Some(method) => method,
            None => Method::compose(Some(belief), choice, update)?.named(&self.name),
        };
        for (name, value) in &self.settings {
            method.set(name, *value)?;
        }
        Ok(method)
    }
}

/// The settings as the file has them. Those that a later version has and the file lacks are as they are by default.
pub(crate) fn settings_from(text: &str) -> Result<Settings, LedgerError> {
    let stored: serde_json::Map<String, serde_json::Value> = serde_json::from_str(text)?;
    let mut all = serde_json::to_value(Settings::new(Vec::new(), 0))?;
    if let Some(all) = all.as_object_mut() {
        all.extend(stored);
    }
    Ok(serde_json::from_value(all)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_become_names() {
        let users = ["north", "user 7"].map(User::named);
        for (words, expected) in [
            ("the gradient of user 0 has 2 numbers", "the gradient of north has 2 numbers"),
            ("user 1 would be asked, and not user 0", "user 7 would be asked, and not north"),
            ("there is no user 2: users count from 0", "there is no user 2: users count from 0"),
            ("no user of any number, user ", "no user of any number, user "),
        ] {
            assert_eq!(with_names(words, &users), expected);
        }
    }
}
