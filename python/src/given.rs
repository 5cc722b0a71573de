//! What the keywords of a session say, from a signature or from a dict.

use pyo3::{exceptions::PyValueError, prelude::*, types::PyDict};
use sgq::{Method, PaidAnswer, Session as Opened, Settings, Sight, StepSize};

use crate::{
    answer, errors,
    keywords::{NO_STEP_SIZE, Seen, count, per_user, start, step_rule, storage, tolerance, users_of, whole},
    problem::Problem,
    types::{ArrayLike, DetailWord, StepRule, ToleranceRule, Whole},
};

/// The keywords that say what the settings are, as they were given.
#[derive(Default)]
pub struct Given<'py> {
    pub x0: Option<ArrayLike<'py>>,
    pub users: Option<Whole<'py>>,
    pub smoothness: Option<ArrayLike<'py>>,
    pub step_size: Option<StepRule<'py>>,
    pub budget: Option<Whole<'py>>,
    pub tol: Option<ToleranceRule<'py>>,
    pub certified_gap: Option<f64>,
    pub gradient_tolerance: Option<f64>,
    pub target_gap: Option<f64>,
    pub divergence_limit: Option<f64>,
    pub costs: Option<ArrayLike<'py>>,
    pub pl_constant: Option<f64>,
    pub objective_smoothness: Option<f64>,
    pub seed: Option<Whole<'py>>,
    pub table: Option<String>,
    pub table_folder: Option<std::path::PathBuf>,
    pub answers: Option<DetailWord<'py>>,
    pub open: Option<Whole<'py>>,
    pub weights: Option<ArrayLike<'py>>,
    pub cost_budget: Option<f64>,
    pub numbers_budget: Option<Whole<'py>>,
}

impl<'py> Given<'py> {
    /// From a dict: what is none of these is a setting of the method.
    pub fn from_dict(keywords: &Bound<'py, PyDict>) -> PyResult<(Self, Bound<'py, PyDict>)> {
        let (mut given, options) = (Self::default(), PyDict::new(keywords.py()));
        for (key, value) in keywords {
            let name: String = key.extract()?;
            let number = || {
                let wrong = |error: PyErr| error_about(keywords.py(), &name, &error);
                value.extract::<Option<f64>>().map_err(wrong)
            };
            let some = || (!value.is_none()).then(|| value.clone());
            match &*name {
                "x0" => given.x0 = some().map(ArrayLike),
                "smoothness" => given.smoothness = some().map(ArrayLike),
                "step_size" => given.step_size = some().map(StepRule),
                "budget" => given.budget = some().map(Whole),
                "tol" => given.tol = some().map(ToleranceRule),
                "certified_gap" => given.certified_gap = number()?,
                "gradient_tolerance" => given.gradient_tolerance = number()?,
                "target_gap" => given.target_gap = number()?,
                "divergence_limit" => given.divergence_limit = number()?,
                "costs" => given.costs = some().map(ArrayLike),
                "pl_constant" => given.pl_constant = number()?,
                "objective_smoothness" => given.objective_smoothness = number()?,
                "seed" => given.seed = some().map(Whole),
                "table" => given.table = value.extract()?,
                "table_folder" => given.table_folder = value.extract()?,
                "answers" => given.answers = some().map(DetailWord),
                "open" => given.open = some().map(Whole),
                "weights" => given.weights = some().map(ArrayLike),
                "cost_budget" => given.cost_budget = number()?,
                "numbers_budget" => given.numbers_budget = some().map(Whole),
                _ => options.set_item(key, value)?,
            }
        }
        Ok((given, options))
    }

    /// Where to start.
    pub fn start(&self, seen: Seen<'_>) -> PyResult<Vec<f64>> {
        start(self.x0.as_deref(), seen)
    }

    /// How many users there are.
    pub fn users(&self, seen: Seen<'_>) -> PyResult<usize> {
        let users = self.users.as_ref().map(|users| count(users, "users")).transpose()?;
        users_of(users, seen)
    }

    /// The name of the method: the default one, where none is named.
    pub fn method(&self, named: Option<&str>, users: usize) -> PyResult<String> {
        if let Some(named) = named {
            return Ok(named.to_owned());
        }
        if !matches!(self.step_rule()?, StepSize::Auto) {
            return Err(PyValueError::new_err(NO_STEP_SIZE));
        }
        let budget = number_of(self.budget.as_ref(), "budget")?;
        let asked = budget.map_or(users as u64, |budget| budget.min(users as u64));
        Ok(Method::default_for(asked).name().to_owned())
    }

    pub fn step_rule(&self) -> PyResult<StepSize> {
        step_rule(self.step_size.as_deref())
    }

    /// The settings of a session of that method, from a start.
    pub fn settings(
        &self,
        method: &Method,
        start: Vec<f64>,
        users: usize,
        problem: Option<&Problem>,
    ) -> PyResult<Settings> {
        let seen: Seen<'_> = problem.map(|problem| &*problem.inner);
        let each = match (&self.smoothness, seen) {
            (Some(given), _) => Some(per_user(given, users, "smoothness")?),
            (None, seen) => seen.and_then(|seen| seen.smoothness()).map(<[f64]>::to_vec),
        };
        let constant = self.pl_constant.or_else(|| seen.and_then(|seen| seen.pl_constant()));
        let objective = self.objective_smoothness.or_else(|| seen.and_then(|seen| seen.objective_smoothness()));
        // Whoever gives another end has said when to stop.
        let is_said = self.certified_gap.is_some() || self.gradient_tolerance.is_some() || self.target_gap.is_some();
        let seed = number_of(self.seed.as_ref(), "seed")?.unwrap_or_default();
        let open = self.open.as_ref().map_or(Ok(1), |open| count(open, "open"))?;
        let mut settings = Settings::new(start, users).seed(seed).step_size(self.step_rule()?).open(open);
        (settings.smoothness, settings.objective_smoothness, settings.pl_constant) = (each, objective, constant);
        settings.local_smoothness = seen.is_some_and(|seen| !seen.is_smooth_everywhere());
        settings.budget = number_of(self.budget.as_ref(), "budget")?;
        settings.cost_budget = self.cost_budget;
        settings.numbers_budget = number_of(self.numbers_budget.as_ref(), "numbers_budget")?;
        settings.tolerance = tolerance(self.tol.as_deref(), method.default_tolerance().filter(|_| !is_said))?;
        settings.certified_gap = self.certified_gap;
        (settings.gradient_tolerance, settings.target_gap) = (self.gradient_tolerance, self.target_gap);
        if let Some(limit) = self.divergence_limit {
            settings = settings.divergence_limit(limit);
        }
        if let Some(most) = &self.answers {
            settings = settings.answers(answer::detail(most)?);
        }
        settings.costs = self.costs.as_ref().map(|costs| per_user(costs, users, "costs")).transpose()?;
        settings.weights = self.weights.as_ref().map(|weights| per_user(weights, users, "weights")).transpose()?;
        let table = self.table.as_deref().unwrap_or("f64");
        let fitting = problem.map_or(Ok(None), |problem| problem.storage(table))?;
        Ok(settings.storage(storage(table, fitting, self.table_folder.clone())?))
    }
}

/// A session in memory. A step size is refused where it would count for nothing.
pub fn opened(
    method: Method,
    settings: Settings,
    sight: Sight<'static>,
    earlier: &[PaidAnswer],
) -> PyResult<Opened<'static>> {
    let is_stepped = !matches!(settings.step_size, StepSize::Auto);
    let session = Opened::with_answers(method, settings, sight, earlier).map_err(errors::earlier)?;
    if is_stepped && !session.has_step_size() {
        return Err(PyValueError::new_err(format!("{} has no step size: leave step_size out", session.name())));
    }
    Ok(session)
}

fn number_of(given: Option<&Whole<'_>>, what: &str) -> PyResult<Option<u64>> {
    given.map(|number| whole(number, what)).transpose()
}

/// The same error, with the keyword that it is about.
fn error_about(py: Python<'_>, keyword: &str, error: &PyErr) -> PyErr {
    PyErr::from_type(error.get_type(py), format!("{keyword}: {}", error.value(py)))
}
