//! What a session on a file is to be, as far as it was said: to make it, or to compare it with the file that is there.

use std::path::PathBuf;

use pyo3::{
    exceptions::{PyTypeError, PyValueError},
    prelude::*,
    types::{PyDict, PyString},
};
use sgq::{Method, Sight};
use sgq_data::plan::StudyPlan;
use sgq_ledger::{Ledger as File, Plan, Protection, Terms, User, default_budget};

use crate::{
    errors,
    given::{Given, opened},
    keywords::count,
    method,
    types::{self, UsersLike},
};

/// What no session on a file takes.
const OF_SESSIONS_IN_MEMORY: [&str; 2] = ["problem", "earlier"];
/// What follows from the plan of a study, and from its first answers.
const FOLLOWS_FROM_PLAN: [&str; 4] = ["x0", "answers", "weights", "smoothness"];
/// Constants that nobody knows of a study, and ends that need them or stand in other units than its precision.
const NOT_OF_STUDIES: [&str; 5] =
    ["pl_constant", "objective_smoothness", "certified_gap", "target_gap", "gradient_tolerance"];

/// The users by name, or how many they are.
enum Users {
    Named(Vec<String>),
    Counted(usize),
}

/// What was said, as it came.
pub struct Asked<'a, 'py> {
    pub method: Option<&'a str>,
    pub users: Option<UsersLike<'py>>,
    pub plan: Option<PathBuf>,
    pub precision: Option<f64>,
    pub close: Option<bool>,
    pub protection: Option<types::Protection<'py>>,
    pub settings: Option<&'a Bound<'py, PyDict>>,
}

/// What a session on a file is to be, as far as it was said.
pub struct Wanted<'py> {
    method: Option<String>,
    users: Option<Users>,
    /// Of a study, with the file that it is in.
    plan: Option<(PathBuf, StudyPlan)>,
    precision: Option<f64>,
    close: Option<bool>,
    protection: Option<Protection>,
    settings: Bound<'py, PyDict>,
}

impl<'py> Wanted<'py> {
    pub fn new(py: Python<'py>, asked: Asked<'_, 'py>) -> PyResult<Self> {
        let Asked { method, users, plan, precision, close, protection, settings } = asked;
        let given = PyDict::new(py);
        for (key, value) in settings.into_iter().flatten() {
            let name: String = key.extract()?;
            if OF_SESSIONS_IN_MEMORY.contains(&&*name) {
                return Err(PyTypeError::new_err(format!(
                    "sgq.open has no keyword {name}: a session on a file asks users who are somewhere else, and has only its own answers"
                )));
            }
            // None is what a caller passes on that was not told anything; but of tolerances it is one.
            if !value.is_none() || name == "tol" {
                given.set_item(key, value)?;
            }
        }
        if let Some(precision) = precision {
            if !(precision.is_finite() && precision > 0.0) {
                return Err(PyValueError::new_err(format!("precision is {precision}: it must be a positive number")));
            }
            if given.contains("tol")? {
                return Err(PyValueError::new_err("precision and tol take each other's place: give one of them"));
            }
        }
        let plan = plan.map(|path| StudyPlan::read(&path).map(|plan| (path, plan))).transpose();
        let wanted = Self {
            method: method.map(str::to_owned),
            users: users.map(|users| named(&users)).transpose()?,
            plan: plan.map_err(errors::plan)?,
            precision,
            close,
            protection: protection.map(|limits| limits_of(&limits)).transpose()?,
            settings: given,
        };
        if wanted.plan.is_some() {
            wanted.check_goes_with_plan()?;
        }
        Ok(wanted)
    }

    pub fn is_nothing(&self) -> bool {
        let Self { method, users, plan, precision, close, protection, settings } = self;
        let is_of_study = plan.is_some() || precision.is_some() || close.is_some();
        method.is_none() && users.is_none() && protection.is_none() && settings.is_empty() && !is_of_study
    }

    /// Nobody may say what follows from a plan.
    fn check_goes_with_plan(&self) -> PyResult<()> {
        let given =
            |names: &[&'static str]| names.iter().find(|name| self.settings.contains(**name).unwrap_or(false)).copied();
        if let Some(name) = given(&FOLLOWS_FROM_PLAN) {
            return Err(PyValueError::new_err(format!(
                "{name} does not go with a plan: start, weights, smoothness and what users say follow from the plan and from their first \
                 answers; leave it out"
            )));
        }
        if let Some(name) = given(&NOT_OF_STUDIES) {
            return Err(PyValueError::new_err(format!(
                "{name} does not go with a plan: precision says when a study stops; leave it out"
            )));
        }
        Ok(())
    }

    /// Whether a file is of the plan that was said, or of none where none was.
    pub fn check_plan(&self, ledger: &File) -> PyResult<()> {
        let file = ledger.path().display();
        let Some(terms) = ledger.terms() else {
            return match &self.plan {
                Some(_) => Err(PyValueError::new_err(format!("{file} is of no plan: leave out plan"))),
                None => self.check_not_of_study(&format!("{file} is of no plan")),
            };
        };
        self.check_goes_with_plan()?;
        match &self.plan {
            Some((path, plan)) if plan.id() != terms.plan.id() => Err(PyValueError::new_err(format!(
                "{file} is not of this plan: its own is {}, and {} is {}; give the plan that it was made with",
                terms.plan.id(),
                path.display(),
                plan.id()
            ))),
            _ => Ok(()),
        }
    }

    fn check_not_of_study(&self, why: &str) -> PyResult<()> {
        let given = [("precision", self.precision.is_some()), ("close", self.close.is_some())];
        match given.into_iter().find(|(_, is_given)| *is_given) {
            Some((name, _)) => {
                Err(PyValueError::new_err(format!("{why}: {name} is for a study by a plan, leave it out")))
            }
            None => Ok(()),
        }
    }

    /// A new session. Whatever is wrong with it is found here, before there is a file.
    pub fn made(self) -> PyResult<Plan> {
        let (given, options) = Given::from_dict(&self.settings)?;
        if self.plan.is_none() {
            self.check_not_of_study("there is no plan")?;
        }
        let names = match self.users {
            Some(Users::Named(names)) => names,
            Some(Users::Counted(count)) => (0..count).map(|user| format!("user-{user}")).collect(),
            None => return Err(PyTypeError::new_err("users is missing: give their names, or their number")),
        };
        let method = given.method(self.method.as_deref(), names.len())?;
        let parts = method::method_of_session(&method, Some(&options))?.named(&*method);
        // Where a study starts is not known yet.
        let start = if self.plan.is_some() { vec![0.0] } else { given.start(None)? };
        let mut settings = given.settings(&parts, start, names.len(), None)?;
        if settings.budget.is_none() && settings.cost_budget.is_none() && settings.numbers_budget.is_none() {
            settings.budget = Some(default_budget(names.len()));
        }
        opened(parts.clone(), settings.clone(), Sight::Blind, &[])?;
        let of = |numbers: &Option<Vec<f64>>, user: usize| numbers.as_ref().and_then(|all| all.get(user).copied());
        let user = |(index, name): (usize, String)| {
            let mut user = User::named(name);
            user.cost = of(&settings.costs, index);
            user.weight = of(&settings.weights, index);
            user.smoothness = of(&settings.smoothness, index);
            user
        };
        let users = names.into_iter().enumerate().map(user).collect();
        let plan = match self.plan {
            None => Plan::new(parts, settings, users),
            Some((_, plan)) => {
                let mut terms = Terms::new(plan).close(self.close.unwrap_or(true));
                if self.precision.is_some() || self.settings.contains("tol")? {
                    terms = terms.precision(self.precision);
                }
                Plan::of_study(parts, settings, users, terms)
            }
        };
        Ok(plan.protected(self.protection.unwrap_or_default()))
    }

    /// Where what was said is not what a file was made with.
    pub fn differences(&self, ledger: &File) -> PyResult<Vec<String>> {
        let mut differences = Vec::new();
        let users = ledger.users();
        differences.extend(self.users.as_ref().and_then(|given| different_users(given, users)));
        if let Some(terms) = ledger.terms() {
            let is_other = |precision: &f64| terms.precision != Some(*precision);
            differences.extend(self.precision.filter(is_other).map(|given| {
                let there = terms.precision.map_or("not set".to_owned(), |there| there.to_string());
                format!("precision is {there}, and {given} is given")
            }));
            let python = |truth: bool| if truth { "True" } else { "False" };
            differences.extend(
                self.close
                    .filter(|close| *close != terms.close)
                    .map(|given| format!("close is {}, and {} is given", python(terms.close), python(given))),
            );
        }
        if let Some(mut protection) = self.protection.clone() {
            // As the file has it: the plan limits what users are asked, whatever else does.
            ledger.terms().map_or(Ok(()), |terms| terms.limit(&mut protection)).map_err(errors::ledger)?;
            let protection = &protection;
            let (given, there) = (in_words(protection)?, in_words(ledger.protection())?);
            let keys = given.as_object().into_iter().flat_map(|object| object.keys());
            differences.extend(keys.filter_map(|key| differing(&format!("protection {key}"), key, &given, &there)));
        }
        let (given, options) = Given::from_dict(&self.settings)?;
        let there = ledger.method();
        let name = self.method.as_deref().unwrap_or(there.name());
        let parts = match (&self.method, options.is_empty()) {
            (None, true) => there.clone(),
            _ => method::method_of_session(name, Some(&options))?.named(name),
        };
        if name != there.name() {
            differences.push(format!("the method is {}, and {name} is given", there.name()));
            return Ok(differences);
        }
        for option in options.keys() {
            let option: String = option.extract()?;
            let shown = |method: &Method| method.setting(&option).map_or("not set".to_owned(), |it| it.to_string());
            if parts.setting(&option) != there.setting(&option) {
                differences.push(format!("{option} is {}, and {} is given", shown(there), shown(&parts)));
            }
        }
        if self.settings.is_empty() {
            return Ok(differences);
        }
        let start = match given.x0 {
            Some(_) => given.start(None)?,
            None => ledger.settings().start.clone(),
        };
        let settings = given.settings(&parts, start, users.len(), None)?;
        let (given, there) = (in_words(&settings)?, in_words(ledger.settings())?);
        for keyword in self.settings.keys() {
            let keyword: String = keyword.extract()?;
            differences.extend(differing(&keyword, field(&keyword), &given, &there));
        }
        Ok(differences)
    }
}

/// What a keyword is called among the settings.
fn field(keyword: &str) -> &str {
    match keyword {
        "x0" => "start",
        "tol" => "tolerance",
        "table" | "table_folder" => "storage",
        other => other,
    }
}

fn in_words(of: &impl serde::Serialize) -> PyResult<serde_json::Value> {
    serde_json::to_value(of).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// How a field of an object is another one there, if it is.
fn differing(what: &str, key: &str, given: &serde_json::Value, there: &serde_json::Value) -> Option<String> {
    let (given, there) = (given.get(key)?, there.get(key)?);
    (given != there).then(|| match (given, there) {
        (serde_json::Value::Array(given), serde_json::Value::Array(there)) => {
            let place = given.iter().zip(there).position(|(a, b)| a != b);
            match place {
                Some(at) => format!("{what} is {} at place {at}, and {} is given", there[at], given[at]),
                None => format!("{what} has {} numbers, and {} are given", there.len(), given.len()),
            }
        }
        _ => format!("{what} is {}, and {} is given", shown(there), shown(given)),
    })
}

fn shown(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::Null => "not set".to_owned(),
        serde_json::Value::Array(numbers) => format!("a list of {}", numbers.len()),
        other => other.to_string(),
    }
}

fn different_users(given: &Users, there: &[User]) -> Option<String> {
    let names: &[String] = match given {
        Users::Named(names) => names,
        Users::Counted(_) => &[],
    };
    if let Some(at) = names.iter().zip(there).position(|(name, user)| *name != user.name) {
        return Some(format!("user {at} is {:?}, and {:?} is given", there[at].name, names[at]));
    }
    let count = if let Users::Counted(count) = given { *count } else { names.len() };
    (count != there.len()).then(|| format!("it has {} users, and {count} are given", there.len()))
}

fn named(users: &Bound<'_, PyAny>) -> PyResult<Users> {
    if users.is_instance_of::<PyString>() {
        return Err(PyTypeError::new_err(format!("users is {users:?}: give a list of names, or a number")));
    }
    match users.extract::<Vec<String>>() {
        Ok(names) => Ok(Users::Named(names)),
        Err(_) => count(users, "users").map(Users::Counted).map_err(|error| match users.try_iter() {
            Ok(_) => PyTypeError::new_err("users must be a list of names, each a str, or a number"),
            Err(_) => error,
        }),
    }
}

/// Limits from a dict, by way of what the file has.
fn limits_of(limits: &Bound<'_, PyDict>) -> PyResult<Protection> {
    let text: String = limits.py().import("json")?.call_method1("dumps", (limits,))?.extract()?;
    serde_json::from_str(&text).map_err(|error| PyValueError::new_err(format!("protection: {error}")))
}
