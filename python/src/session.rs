//! Sessions: ask whom to query, tell what they answered.

use std::{
    hash::{BuildHasher, RandomState},
    io,
    ops::ControlFlow,
    sync::Arc,
    time::{Duration, Instant},
};

use numpy::PyArray1;
use pyo3::{
    exceptions::{PyMemoryError, PyRuntimeError, PyTypeError, PyValueError},
    prelude::*,
    types::{PyBytes, PyDict, PyType},
};
use sgq::{
    Detail, Format, Method, Session as Opened, Settings, SettingsError, Sight, StepSize, StopReason, Storage, Ticket,
    drive::{Billed, Observer, drive},
    session::Failure,
};

use crate::{
    answer::{self, Said},
    arrays, errors, method,
    problem::Problem,
    remaining::Remaining,
    types::{Answers, ArrayLike, Counts, DetailWord, Floats, Indices, State, StepRule, TicketLike, ToleranceRule},
};

/// How long a problem answers before Ctrl-C is looked for.
const PAUSE: Duration = Duration::from_millis(20);

const NO_STEP_SIZE: &str =
    "frugal, which is taken where no method is named, has no step size: name a method, or leave the step size out";

/// Who was asked, whether in order to explore, and the steps taken: one entry for each query.
type Simulated<'py> = (Indices<'py>, Indices<'py>, Indices<'py>);

/// What a question is made of again: ticket, user, explored, point, wants.
type Pickled<'py> = ((u64, u64), usize, Option<bool>, Floats<'py>, &'static str);

/// Whose questions were not answered, how often, and the last reason.
type Failures = Vec<(usize, u64, Option<String>)>;

/// A question to put to a user.
#[pyclass(frozen, module = "sgq")]
pub struct Query {
    /// What to give back with the answer: a pair of the session's number and the question's.
    #[pyo3(get)]
    ticket: (u64, u64),
    /// The user to ask, from 0.
    #[pyo3(get)]
    user: usize,
    /// Whether the user was picked at random in order to explore; None for methods without exploration.
    #[pyo3(get)]
    explored: Option<bool>,
    point: Arc<[f64]>,
    wants: Detail,
}

#[pymethods]
impl Query {
    /// What would be of use beside the gradient, of what answers may say: "gradient" (nothing), "loss", or "hessian" (the loss
    /// too). A user may say less, and more is not looked at.
    #[getter]
    fn wants(&self) -> &'static str {
        answer::word(self.wants)
    }

    /// The point at which the user's gradient is wanted. The array is not a copy, and cannot be written to.
    #[getter]
    fn point<'py>(slf: &Bound<'py, Self>) -> Floats<'py> {
        arrays::view(&slf.get().point, slf.clone().into_any())
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Pickled<'py>)> {
        let Self { ticket, user, explored, wants, .. } = *slf.get();
        let parts = (ticket, user, explored, Self::point(slf), answer::word(wants));
        Ok((slf.get_type().getattr("_from")?, parts))
    }

    /// A question that was pickled.
    #[staticmethod]
    #[pyo3(signature = (ticket, user, explored, point, wants))]
    fn _from(
        ticket: (u64, u64),
        user: usize,
        explored: Option<bool>,
        point: ArrayLike<'_>,
        wants: DetailWord<'_>,
    ) -> PyResult<Self> {
        let point = arrays::vector(&point, "the point")?;
        Ok(Self { ticket, user, explored, point: Arc::from(&*point.as_slice()?), wants: answer::detail(&wants)? })
    }

    fn __repr__(&self) -> String {
        let Self { ticket, user, explored, .. } = self;
        format!("Query(ticket={ticket:?}, user={user}, explored={explored:?}, wants={:?})", self.wants())
    }
}

/// One run of one method: `ask` whom to query, `tell` what they answered.
///
/// method: a name of `sgq.methods()`, or two parts with a plus between, such as "shuffled + saga"; its own settings are
/// keywords (`p=0.3`). Without one it is frugal, which has no step size and nothing to tune; saga for more than 10,000 users.
/// x0: where to start. users: how many there are.
/// problem: one of `sgq.problems`, which says the users, their smoothness and the other constants where nobody else does,
/// answers in `simulate`, and is seen by the methods that need to see one. The start is then zero where there is no x0.
/// smoothness: each user's `L_i`, or one number for all. costs: what a query costs, likewise; 1 where nobody says.
/// weights: what each user counts, such as its number of rows: the objective is the mean of the users' functions with these
/// weights. Answers and `L_i` are those of the user's own function all the same.
/// step_size: a number; "auto" (or None), the method's own default; or "theory", the largest that its theorem allows.
/// pl_constant, objective_smoothness: the objective's own `μ` and `L`, where they are known.
/// budget, tol, gradient_tolerance, target_gap, divergence_limit: when to stop: after that many queries; once so small a part of the
/// gap at the start is believed to remain ("auto": 0.0001, where the method can tell and there is no other tolerance or target);
/// once the mean of everybody's last gradient is that short; once the objective is that close to its minimum (a problem's only; diagnostic, not billed);
/// once a coordinate is past that.
/// cost_budget, numbers_budget: stop before all queries together cost more, or before all answers together hold more numbers.
/// seed: of all randomness. The same seed gives the same bytes.
/// table, table_folder: how everybody's last gradients are kept ("f64", "f32", "sparse", or "scalars" on a regression with one
/// row a user), and a folder for a file to keep them in.
/// answers: how much users are asked to say, at most: "gradient", "loss" (the gradient and the loss) or "hessian" (all three).
/// A question's `wants` says what of that would be of use to the method.
/// earlier: answers of an earlier run, of this method or another one, in their order, each a triple of user, point and gradient,
/// or of user, point and a dict with all that `tell` takes. They are taken in without being billed; the budget is for what is
/// asked from here on.
/// open: how many questions may be out at once. Answers may then come in any order.
#[pyclass(module = "sgq")]
pub struct Session {
    inner: Opened<'static>,
    /// What it sees besides the answers.
    problem: Option<Py<Problem>>,
    /// What the method was made of, to make it again from a saved state.
    method: String,
    options: Vec<(String, Py<PyAny>)>,
    /// Tells its tickets from those of other sessions; a restored session keeps it.
    number: u64,
}

#[pymethods]
impl Session {
    #[new]
    #[pyo3(signature = (method = None, *, x0 = None, users = None, problem = None, smoothness = None, step_size = None, budget = None,
        tol = None, gradient_tolerance = None, target_gap = None, divergence_limit = None, costs = None, pl_constant = None,
        objective_smoothness = None, seed = 0, table = "f64", table_folder = None, answers = None, earlier = None, open = 1,
        weights = None, cost_budget = None, numbers_budget = None, **options: "float | bool"))]
    #[allow(clippy::too_many_arguments)] // they are keywords
    fn new(
        method: Option<&str>,
        x0: Option<ArrayLike<'_>>,
        users: Option<usize>,
        problem: Option<Bound<'_, Problem>>,
        smoothness: Option<ArrayLike<'_>>,
        step_size: Option<StepRule<'_>>,
        budget: Option<u64>,
        tol: Option<ToleranceRule<'_>>,
        gradient_tolerance: Option<f64>,
        target_gap: Option<f64>,
        divergence_limit: Option<f64>,
        costs: Option<ArrayLike<'_>>,
        pl_constant: Option<f64>,
        objective_smoothness: Option<f64>,
        seed: u64,
        table: &str,
        table_folder: Option<std::path::PathBuf>,
        answers: Option<DetailWord<'_>>,
        earlier: Option<Answers<'_>>,
        open: usize,
        weights: Option<ArrayLike<'_>>,
        cost_budget: Option<f64>,
        numbers_budget: Option<u64>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let seen = problem.as_ref().map(|problem| &*problem.get().inner);
        let start = match (x0, seen) {
            (Some(x0), _) => arrays::vector(&x0, "x0")?.as_slice()?.into_owned(),
            (None, Some(seen)) => vec![0.0; seen.dim()],
            (None, None) => return Err(PyTypeError::new_err("x0 is missing: give the point to start from")),
        };
        let users = match (users, seen) {
            (Some(users), Some(seen)) if users != seen.users() => {
                let there = seen.users();
                return Err(PyValueError::new_err(format!(
                    "users is {users}, and the problem has {there}: leave it out"
                )));
            }
            (Some(users), _) => users,
            (None, Some(seen)) => seen.users(),
            (None, None) => return Err(PyTypeError::new_err("users is missing: give the number of users")),
        };
        if users == 0 {
            return Err(errors::settings(SettingsError::NoUsers));
        }
        let each = match (smoothness, seen) {
            (Some(given), _) => Some(per_user(&given, users, "smoothness")?),
            (None, seen) => seen.and_then(|seen| seen.smoothness()).map(<[f64]>::to_vec),
        };
        let pl_constant = pl_constant.or_else(|| seen.and_then(|seen| seen.pl_constant()));
        let objective = objective_smoothness.or_else(|| seen.and_then(|seen| seen.objective_smoothness()));
        let rule = step_rule(step_size.as_deref())?;
        let asked = budget.map_or(users as u64, |budget| budget.min(users as u64));
        let method = match method {
            Some(method) => method.to_owned(),
            None if matches!(rule, StepSize::Auto) => Method::default_for(asked).name().to_owned(),
            None => return Err(PyValueError::new_err(NO_STEP_SIZE)),
        };
        let parts = method::method_of_session(&method, options)?;
        let is_said = gradient_tolerance.is_some() || target_gap.is_some();
        let tolerance = tolerance(tol.as_deref())?.or_default(parts.can_tell_remaining() && !is_said);
        let mut settings = Settings::new(start, users).seed(seed).step_size(rule).open(open);
        if let Some(each) = each {
            settings = settings.smoothness(each);
        }
        if let Some(constant) = pl_constant {
            settings = settings.pl_constant(constant);
        }
        if let Some(constant) = objective {
            settings = settings.objective_smoothness(constant);
        }
        if let Some(queries) = budget {
            settings = settings.budget(queries);
        }
        if seen.is_some_and(|seen| !seen.is_smooth_everywhere()) {
            settings = settings.local_smoothness(true);
        }
        if let Some(part) = tolerance {
            settings = settings.tolerance(part);
        }
        if let Some(norm) = gradient_tolerance {
            settings = settings.gradient_tolerance(norm);
        }
        if let Some(limit) = divergence_limit {
            settings = settings.divergence_limit(limit);
        }
        if let Some(costs) = costs {
            settings = settings.costs(per_user(&costs, users, "costs")?);
        }
        if let Some(gap) = target_gap {
            settings = settings.target_gap(gap);
        }
        if let Some(most) = answers {
            settings = settings.answers(answer::detail(&most)?);
        }
        if let Some(weights) = weights {
            settings = settings.weights(per_user(&weights, users, "weights")?);
        }
        if let Some(cost) = cost_budget {
            settings = settings.cost_budget(cost);
        }
        if let Some(numbers) = numbers_budget {
            settings = settings.numbers_budget(numbers);
        }
        let fitting = problem.as_ref().map_or(Ok(None), |problem| problem.get().storage(table))?;
        settings = settings.storage(storage(table, fitting, table_folder)?);
        let problem = problem.map(Bound::unbind);
        let earlier = answer::paid_answers(earlier.as_deref())?;
        let inner = Opened::with_answers(parts.named(&*method), settings, sight(problem.as_ref()), &earlier);
        let inner = inner.map_err(errors::earlier)?;
        let options = options.into_iter().flatten().map(|(key, value)| Ok((key.extract()?, value.unbind())));
        // Any number will do that no other session is likely to have.
        let number = RandomState::new().hash_one(0);
        Ok(Self { inner, problem, method, options: options.collect::<PyResult<_>>()?, number })
    }

    /// Whom to ask next, and where; None once the run has stopped, and while as many questions are out as may be. Where one may
    /// be, asking again gives the same question until its answer is told.
    fn ask(&mut self, py: Python<'_>) -> PyResult<Option<Query>> {
        let query = py.detach(|| self.inner.ask()).map_err(errors::choice)?;
        Ok(query.map(|query| self.query(query)))
    }

    /// As many further questions as may be out, at most so many.
    fn ask_many(&mut self, py: Python<'_>, most: usize) -> PyResult<Vec<Query>> {
        let queries = py.detach(|| self.inner.ask_many(most)).map_err(errors::choice)?;
        Ok(queries.into_iter().map(|query| self.query(query)).collect())
    }

    /// The questions that are out, in the order in which they were asked.
    fn pending(&self) -> Vec<Query> {
        self.inner.pending().map(|query| self.query(query)).collect()
    }

    /// Says that a question will not be answered, as far as one knows, and why. Its user is asked again after a while, the later
    /// the more often it fails. Nothing is billed, unless billed says so. An answer that comes all the same is welcome.
    #[pyo3(signature = (ticket, reason = None, *, billed = false))]
    fn fail(&mut self, ticket: TicketLike<'_>, reason: Option<&str>, billed: bool) -> PyResult<()> {
        let ticket = self.ticket(&ticket)?;
        let mut failure = Failure::new();
        (failure.reason, failure.billed) = (reason, billed);
        self.inner.fail_with(ticket, failure).map_err(errors::tell)
    }

    /// Who failed so far: a list of (user, how often, the last reason), those who answered since then included.
    fn failures(&self) -> Failures {
        let of = |it: sgq::session::Failures<'_>| (it.user, it.times, it.last_reason.map(str::to_owned));
        self.inner.failures().map(of).collect()
    }

    /// Says that a user cannot be asked until it is back.
    fn away(&mut self, user: usize) -> PyResult<()> {
        self.inner.away(user).map_err(errors::choice)
    }

    /// Says that a user can be asked again, whatever was said of it before.
    fn back(&mut self, user: usize) -> PyResult<()> {
        self.inner.back(user).map_err(errors::choice)
    }

    /// Says that a user is no longer one: the objective becomes the mean over the others, and its answers are forgotten.
    fn leave(&mut self, user: usize) -> PyResult<()> {
        self.inner.leave(user).map_err(errors::member)
    }

    /// Says that a user who had left is one again, of whom nothing is known yet.
    fn join(&mut self, user: usize) -> PyResult<()> {
        self.inner.join(user).map_err(errors::member)
    }

    /// Whether a user has left.
    fn has_left(&self, user: usize) -> bool {
        self.inner.has_left(user)
    }

    /// Raises the budget by that many queries, the budget in cost, or the budget in numbers: a run that had spent it goes on.
    #[pyo3(signature = (budget = None, *, cost = None, numbers = None))]
    fn extend(&mut self, budget: Option<u64>, cost: Option<f64>, numbers: Option<u64>) -> PyResult<()> {
        if budget.is_none() && cost.is_none() && numbers.is_none() {
            return Err(PyTypeError::new_err("nothing to extend by: give a number of queries, a cost, or numbers"));
        }
        if let Some(cost) = cost.filter(|cost| !(cost.is_finite() && *cost >= 0.0)) {
            return Err(PyValueError::new_err(format!("the cost is {cost}: it must be finite and not negative")));
        }
        budget.into_iter().for_each(|queries| self.inner.extend(queries));
        cost.into_iter().for_each(|cost| self.inner.extend_cost(cost));
        numbers.into_iter().for_each(|numbers| self.inner.extend_numbers(numbers));
        Ok(())
    }

    /// Answers of an earlier run that were taken in without being billed.
    #[getter]
    fn earlier(&self) -> u64 {
        self.inner.meter().earlier()
    }

    /// Takes the answer to a question: bills it, then uses it. Telling the same answer again changes nothing; on an error
    /// nothing is billed, and the question stays open. The question itself will do in place of its ticket.
    ///
    /// gradient: of the user's function, at the question's point. loss: the function's value there.
    /// hessian: its second derivatives there, a d × d array, or its lower triangle row by row, d (d + 1) / 2 numbers.
    /// variance: of the noise in the gradient, one number for each coordinate, or one for all.
    /// weight: what the user counts in the objective, such as its number of rows, where `weights` did not say.
    /// cost: what this answer cost, where it is not what `costs` said.
    #[pyo3(signature = (ticket, gradient, loss = None, hessian = None, variance = None, weight = None, cost = None))]
    #[allow(clippy::too_many_arguments)] // they are keywords
    fn tell<'py>(
        &mut self,
        py: Python<'py>,
        ticket: TicketLike<'py>,
        gradient: ArrayLike<'py>,
        loss: Option<f64>,
        hessian: Option<ArrayLike<'py>>,
        variance: Option<ArrayLike<'py>>,
        weight: Option<f64>,
        cost: Option<f64>,
    ) -> PyResult<()> {
        let ticket = self.ticket(&ticket)?;
        let said = Said::new(&gradient, loss, hessian, variance, weight, cost)?;
        let gradient = said.gradient()?;
        let answer = said.with(&gradient);
        py.detach(|| self.inner.tell(ticket, answer)).map_err(errors::tell)
    }

    /// Lets the session's problem answer the next questions: at most that many, fewer once the run has stopped. Returns, for
    /// each, who was asked, whether in order to explore (−1 where that does not apply), and the steps taken after it.
    /// Ctrl-C is heard between two answers: the session then has all of those before.
    fn simulate<'py>(&mut self, py: Python<'py>, queries: u64) -> PyResult<Simulated<'py>> {
        let Some(problem) = &self.problem else {
            return Err(PyValueError::new_err("nobody is there to answer: give Session(problem=…), or ask and tell"));
        };
        let problem = Arc::clone(&problem.get().inner);
        let mut answered = Answered {
            most: queries,
            users: Vec::new(),
            explored: Vec::new(),
            steps: Vec::new(),
            heard: Instant::now(),
            stride: 1,
            unheard: 0,
            interrupted: None,
        };
        if queries > 0 {
            py.detach(|| drive(&mut self.inner, &*problem, &mut answered)).map_err(errors::drive)?;
        }
        let Answered { users, explored, steps, interrupted, .. } = answered;
        if let Some(error) = interrupted {
            return Err(error);
        }
        let column = |values| Indices(PyArray1::from_vec(py, values));
        Ok((column(users), column(explored), column(steps)))
    }

    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    /// The next question; a question that was not answered comes again.
    fn __next__(&mut self, py: Python<'_>) -> PyResult<Option<Query>> {
        self.ask(py)
    }

    /// Where the run stands.
    #[getter]
    fn point<'py>(&self, py: Python<'py>) -> Floats<'py> {
        Floats(PyArray1::from_slice(py, self.inner.point()))
    }

    /// The problem that the session sees; None where the users are somewhere else.
    #[getter]
    fn problem(&self, py: Python<'_>) -> Option<Py<Problem>> {
        self.problem.as_ref().map(|problem| problem.clone_ref(py))
    }

    /// Gradients that were looked at without being billed, by a method that is only a yardstick.
    #[getter]
    fn diagnostic(&self) -> u64 {
        self.inner.meter().diagnostic()
    }

    /// The method's name.
    #[getter]
    fn method(&self) -> &str {
        &self.method
    }

    /// Queries paid for so far.
    #[getter]
    fn queries(&self) -> u64 {
        self.inner.queries()
    }

    /// Queries paid for so far, user by user.
    #[getter]
    fn queries_per_user<'py>(&self, py: Python<'py>) -> Counts<'py> {
        Counts(PyArray1::from_slice(py, self.inner.meter().billed_per_user()))
    }

    /// What all queries so far have cost.
    #[getter]
    fn cost(&self) -> f64 {
        self.inner.meter().cost()
    }

    /// How many numbers all answers so far held: gradients, losses, Hessians (their lower triangles) and variances.
    #[getter]
    fn numbers(&self) -> u64 {
        self.inner.meter().numbers()
    }

    /// What each user counts in the objective, as far as is known; 1 where nobody said.
    #[getter]
    fn weights<'py>(&self, py: Python<'py>) -> Floats<'py> {
        let users = self.inner.meter().billed_per_user().len();
        Floats(PyArray1::from_iter(py, (0..users).map(|user| self.inner.weight_of(user))))
    }

    /// How much users are asked to say, at most: "gradient", "loss" or "hessian".
    #[getter]
    fn answers(&self) -> &'static str {
        answer::word(self.inner.answers())
    }

    /// Steps taken so far: moves of the point.
    #[getter]
    fn steps(&self) -> u64 {
        self.inner.steps()
    }

    /// The step size of the coming step.
    #[getter]
    fn step_size(&self) -> f64 {
        self.inner.step_size()
    }

    /// The norm of the mean of everybody's last gradient, once there is one.
    #[getter]
    fn surrogate_gradient_norm(&self) -> Option<f64> {
        self.inner.surrogate_gradient_norm()
    }

    /// The mean of everybody's last gradient, once there is one: of answers at older points, so that it is not zero where the run
    /// has converged.
    #[getter]
    fn surrogate_gradient<'py>(&self, py: Python<'py>) -> Option<Floats<'py>> {
        self.inner.surrogate_gradient().map(|gradient| Floats(PyArray1::from_slice(py, gradient)))
    }

    /// Whether the method has a step size.
    #[getter]
    fn has_step_size(&self) -> bool {
        self.inner.has_step_size()
    }

    /// How far it is still to go, by the method's own account of the answers paid for; None where it has none.
    #[getter]
    fn remaining(&self) -> Option<Remaining> {
        self.inner.remaining().map(Remaining::from)
    }

    /// What is proven to remain at most: a bound on the gap, from answers that were paid for. None before everybody was asked, where
    /// smoothness or pl_constant are not known, where answers have noise, and for methods that do not keep everybody's answer.
    #[getter]
    fn certified(&self) -> Option<f64> {
        self.inner.certified()
    }

    /// Why the run stopped, in a word or two: "converged", "budget", "cost budget", "numbers budget", "target gap", "surrogate gradient",
    /// "diverged" or "nobody answers"; None while it goes on.
    #[getter]
    fn stop_reason(&self) -> Option<&'static str> {
        self.inner.stop_reason().map(|reason| match reason {
            StopReason::Budget { .. } => "budget",
            StopReason::CostBudget { .. } => "cost budget",
            StopReason::NumbersBudget { .. } => "numbers budget",
            StopReason::Converged { .. } => "converged",
            StopReason::TargetGap { .. } => "target gap",
            StopReason::SurrogateGradient { .. } => "surrogate gradient",
            StopReason::Diverged { .. } => "diverged",
            StopReason::NobodyAnswers => "nobody answers",
            _ => "stopped",
        })
    }

    /// Why the run stopped, in a sentence; where nobody answers, with who failed most often, and why.
    #[getter]
    fn message(&self) -> Option<String> {
        self.inner.stop_message()
    }

    /// All of the session, its randomness and its open question included, to be stored.
    fn state_dict<'py>(&self, py: Python<'py>) -> PyResult<State<'py>> {
        let snapshot =
            py.detach(|| self.inner.snapshot()).map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
        let options = PyDict::new(py);
        for (key, value) in &self.options {
            options.set_item(key, value)?;
        }
        let state = PyDict::new(py);
        state.set_item("method", &self.method)?;
        state.set_item("options", options)?;
        state.set_item("number", self.number)?;
        state.set_item("snapshot", PyBytes::new(py, &snapshot))?;
        Ok(State(state))
    }

    /// Goes on from a stored state, bit for bit as the session that stored it would. What this session did is forgotten; the
    /// problem that it sees stays.
    fn load_state_dict(&mut self, py: Python<'_>, state: State<'_>) -> PyResult<()> {
        let problem = self.problem.as_ref().map(|problem| problem.clone_ref(py));
        *self = Self::restored(&state, problem)?;
        Ok(())
    }

    /// A session from a stored state. The problem is not part of it: a session that sees one needs it here again.
    #[classmethod]
    #[pyo3(signature = (state, problem = None))]
    fn from_state_dict(_class: &Bound<'_, PyType>, state: State<'_>, problem: Option<Py<Problem>>) -> PyResult<Self> {
        Self::restored(&state, problem)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (State<'py>,))> {
        if slf.borrow().problem.is_some() {
            return Err(PyTypeError::new_err(
                "a session that sees a problem cannot be pickled: store its state_dict(), and go on with \
                 Session.from_state_dict(state, problem)",
            ));
        }
        let state = slf.borrow().state_dict(slf.py())?;
        Ok((slf.get_type().getattr("from_state_dict")?, (state,)))
    }

    fn __repr__(&self) -> String {
        let (queries, steps) = (self.inner.queries(), self.inner.steps());
        let state = self.inner.stop_reason().map_or("running".to_owned(), |reason| reason.to_string());
        format!("<sgq.Session {}: {queries} queries, {steps} steps, {state}>", self.method)
    }
}

/// Who was asked, and what came of it; listens for Ctrl-C now and then.
struct Answered {
    most: u64,
    users: Vec<i64>,
    explored: Vec<i64>,
    steps: Vec<i64>,
    heard: Instant,
    /// Where answers are quick the clock is read after every few of them only.
    stride: u64,
    unheard: u64,
    interrupted: Option<PyErr>,
}

impl Observer for Answered {
    fn telling(&mut self, answer: &Billed<'_>) -> io::Result<()> {
        self.users.push(answer.query.user as i64);
        self.explored.push(answer.query.explored.map_or(-1, i64::from));
        Ok(())
    }

    fn told(&mut self, session: &Opened<'_>) -> ControlFlow<()> {
        self.steps.push(session.steps() as i64);
        self.unheard += 1;
        if self.unheard >= self.stride {
            self.unheard = 0;
            if self.heard.elapsed() < PAUSE {
                self.stride = (2 * self.stride).min(1024);
            } else {
                self.interrupted = Python::attach(|py| py.check_signals()).err();
                self.heard = Instant::now();
                self.stride = 1;
            }
        }
        let done = self.users.len() as u64 >= self.most || self.interrupted.is_some();
        if done { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

impl Session {
    fn query(&self, query: sgq::Query) -> Query {
        let sgq::Query { ticket, user, point, explored, wants } = query;
        Query { ticket: (self.number, ticket.0), user, explored, point, wants }
    }

    /// The ticket of a question of this session, given as itself or with the question.
    fn ticket(&self, ticket: &Bound<'_, PyAny>) -> PyResult<Ticket> {
        let [session, number] = match ticket.cast::<Query>() {
            Ok(query) => query.get().ticket.into(),
            // A pair that went through JSON comes back as a list.
            Err(_) => ticket.extract::<[u64; 2]>().map_err(|_| {
                PyTypeError::new_err(format!("the ticket is {ticket}: give back the ticket of the question"))
            })?,
        };
        if session != self.number {
            return Err(PyValueError::new_err(
                "the ticket is from another session: tell answers to the session that asked the question",
            ));
        }
        Ok(Ticket(number))
    }

    fn restored(state: &Bound<'_, PyDict>, problem: Option<Py<Problem>>) -> PyResult<Self> {
        let part = |name: &str| {
            state.get_item(name)?.ok_or_else(|| {
                PyValueError::new_err(format!("the state has no {name:?}: it must come from Session.state_dict()"))
            })
        };
        let method: String = part("method")?.extract()?;
        let options = part("options")?;
        let options = options.cast::<PyDict>()?;
        let snapshot = part("snapshot")?;
        let snapshot = snapshot.cast::<PyBytes>()?;
        let parts = method::method(&method, Some(options))?.named(&*method);
        let sight = sight(problem.as_ref());
        let inner = Opened::restore(parts, snapshot.as_bytes(), sight).map_err(errors::restore)?;
        let options = options.iter().map(|(key, value)| Ok((key.extract()?, value.unbind())));
        Ok(Self {
            inner,
            problem,
            method,
            options: options.collect::<PyResult<_>>()?,
            number: part("number")?.extract()?,
        })
    }
}

/// One number for each user; a single number counts for all of them.
fn per_user(value: &Bound<'_, PyAny>, users: usize, what: &str) -> PyResult<Vec<f64>> {
    match value.extract::<f64>() {
        Ok(number) => {
            let mut each = Vec::new();
            each.try_reserve_exact(users).map_err(|_| {
                PyMemoryError::new_err(format!("{what} of {users} users, 8 bytes for each, does not fit into memory"))
            })?;
            each.resize(users, number);
            Ok(each)
        }
        Err(_) => Ok(arrays::vector(value, what)?.as_slice()?.into_owned()),
    }
}

/// What was said of the tolerance.
enum Tolerance {
    Part(f64),
    Auto,
    None,
}

impl Tolerance {
    /// Where it is to be found, a ten-thousandth if there can be one.
    fn or_default(self, possible: bool) -> Option<f64> {
        match self {
            Self::Part(part) => Some(part),
            Self::Auto => possible.then_some(1e-4),
            Self::None => None,
        }
    }
}

fn tolerance(given: Option<&Bound<'_, PyAny>>) -> PyResult<Tolerance> {
    let Some(given) = given else {
        return Ok(Tolerance::None);
    };
    if given.extract::<&str>().is_ok_and(|word| word == "auto") {
        return Ok(Tolerance::Auto);
    }
    let wrong = |_| PyTypeError::new_err(format!("tol is {given}: it must be a number, \"auto\" or None"));
    given.extract().map(Tolerance::Part).map_err(wrong)
}

/// A step size as users write it: a number, "theory", or "auto" (also for None), the method's own default.
pub fn step_rule(rule: Option<&Bound<'_, PyAny>>) -> PyResult<StepSize> {
    let Some(rule) = rule else {
        return Ok(StepSize::Auto);
    };
    let wrong =
        |rule: &dyn std::fmt::Display| format!("the step size is {rule}: it must be a number, \"auto\" or \"theory\"");
    match rule.extract::<String>().as_deref() {
        Ok("auto") => Ok(StepSize::Auto),
        Ok("theory") => Ok(StepSize::Theory),
        Ok(word) => Err(PyValueError::new_err(wrong(&format!("{word:?}")))),
        Err(_) => rule.extract().map(StepSize::Constant).map_err(|_| PyTypeError::new_err(wrong(rule))),
    }
}

/// What a session with this problem sees.
fn sight(problem: Option<&Py<Problem>>) -> Sight<'static> {
    problem.map_or(Sight::Blind, |problem| Sight::Shared(Arc::clone(&problem.get().inner)))
}

/// How to keep the table: what fits the problem, or else by the name of the format.
fn storage(table: &str, fitting: Option<Storage>, folder: Option<std::path::PathBuf>) -> PyResult<Storage> {
    let storage = match (fitting, table) {
        (Some(fitting), _) => fitting,
        (None, "f64") => Format::F64.into(),
        (None, "f32") => Format::F32.into(),
        (None, "sparse") => Format::Sparse { l2: 0.0 }.into(),
        (None, "scalars") => {
            return Err(PyValueError::new_err("table=\"scalars\" needs the rows: give a regression as problem"));
        }
        _ => {
            return Err(PyValueError::new_err(format!(
                "the table is {table:?}: it must be \"f64\", \"f32\", \"sparse\" or \"scalars\""
            )));
        }
    };
    Ok(match folder {
        Some(folder) => storage.in_folder(folder),
        None => storage,
    })
}
