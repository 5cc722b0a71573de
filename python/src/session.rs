//! Sessions: ask whom to query, tell what they answered.

use std::{
    collections::VecDeque,
    hash::{BuildHasher, RandomState},
    sync::Arc,
};

use numpy::PyArray1;
use pyo3::{
    exceptions::{PyRuntimeError, PyTypeError, PyValueError},
    prelude::*,
    types::{PyBytes, PyDict, PyType},
};
use sgq::{StopReason, Ticket, drive::drive, session::Failure};
use sgq_ledger::{Extension, Taking};

use crate::{
    answer::{self, Said},
    errors,
    given::{Given, opened},
    inner::{Change, Inner},
    keywords::{sight, whole},
    method,
    problem::Problem,
    query::Query,
    remaining::Remaining,
    simulated::{Answered, Simulated},
    types::{
        Answers, ArrayLike, Counts, DetailWord, Floats, Indices, State, StepRule, TicketLike, ToleranceRule, UserLike,
        Whole,
    },
};

/// Whose questions were not answered, how often, and the last reason.
type Failures = Vec<(usize, u64, Option<String>)>;

/// One run of one method: `ask` whom to query, `tell` what they answered.
///
/// method: a name of `sgq.methods()`, or two parts with a plus between, such as "shuffled + saga"; its own settings are
/// keywords (`p=0.3`). Without one it is frugal, which has no step size and nothing to tune; saga for more than 100,000 users.
/// x0: where to start. users: how many there are.
/// problem: one of `sgq.problems`, which says the users, their smoothness and the other constants where nobody else does,
/// answers in `simulate`, and is seen by the methods that need to see one. The start is then zero where there is no x0.
/// smoothness: each user's `L_i`, or one number for all. costs: what a query costs, likewise; 1 where nobody says.
/// weights: what each user counts, such as its number of rows: the objective is the mean of the users' functions with these
/// weights. Answers and `L_i` are those of the user's own function all the same.
/// step_size: a number; "auto" (or None), the method's own default; or "theory", the largest that its theorem allows.
/// pl_constant, objective_smoothness: the objective's own `μ` and `L`, where they are known.
/// budget, tol, certified_gap, gradient_tolerance, target_gap, divergence_limit: when to stop: after that many queries; once so small
/// a part of the gap at the start is believed to remain ("auto": 0.0001, where the method can tell and there is no other tolerance or
/// target); once the gap is proven to be at most that (which needs smoothness and pl_constant);
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
#[pyclass(subclass, module = "sgq")]
pub struct Session {
    pub inner: Inner,
    /// What it sees besides the answers.
    pub problem: Option<Py<Problem>>,
    /// What the method was made of, to make it again from a saved state.
    pub method: String,
    pub options: Vec<(String, Py<PyAny>)>,
    /// Tells its tickets from those of other sessions; a restored session keeps it.
    pub number: u64,
    /// The users' names, where they have any.
    pub names: Vec<String>,
    /// What each user was billed for before the session was made anew from its answers; empty where it never was.
    pub billed_before: Vec<u64>,
    /// Questions that were out when a file was opened, and that nobody in this program has seen yet.
    pub waiting: VecDeque<Ticket>,
}

#[pymethods]
impl Session {
    #[new]
    #[pyo3(signature = (method = None, *, x0 = None, users = None, problem = None, smoothness = None, step_size = None, budget = None,
        tol = None, certified_gap = None, gradient_tolerance = None, target_gap = None, divergence_limit = None, costs = None, pl_constant = None,
        objective_smoothness = None, seed = None, table = "f64", table_folder = None, answers = None, earlier = None, open = None,
        weights = None, cost_budget = None, numbers_budget = None, **options: "float | bool"))]
    #[allow(clippy::too_many_arguments)] // they are keywords
    fn new(
        method: Option<&str>,
        x0: Option<ArrayLike<'_>>,
        users: Option<Whole<'_>>,
        problem: Option<Bound<'_, Problem>>,
        smoothness: Option<ArrayLike<'_>>,
        step_size: Option<StepRule<'_>>,
        budget: Option<Whole<'_>>,
        tol: Option<ToleranceRule<'_>>,
        certified_gap: Option<f64>,
        gradient_tolerance: Option<f64>,
        target_gap: Option<f64>,
        divergence_limit: Option<f64>,
        costs: Option<ArrayLike<'_>>,
        pl_constant: Option<f64>,
        objective_smoothness: Option<f64>,
        seed: Option<Whole<'_>>,
        table: &str,
        table_folder: Option<std::path::PathBuf>,
        answers: Option<DetailWord<'_>>,
        earlier: Option<Answers<'_>>,
        open: Option<Whole<'_>>,
        weights: Option<ArrayLike<'_>>,
        cost_budget: Option<f64>,
        numbers_budget: Option<Whole<'_>>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let given = Given {
            x0,
            users,
            smoothness,
            step_size,
            budget,
            tol,
            certified_gap,
            gradient_tolerance,
            target_gap,
            divergence_limit,
            costs,
            pl_constant,
            objective_smoothness,
            seed,
            table: Some(table.to_owned()),
            table_folder,
            answers,
            open,
            weights,
            cost_budget,
            numbers_budget,
        };
        let earlier = answer::paid_answers(earlier.as_deref())?;
        let seen = problem.as_ref().map(|problem| problem.get());
        let inside = seen.map(|problem| &*problem.inner as &(dyn sgq::Problem + Send));
        let (start, users) = (given.start(inside)?, given.users(inside)?);
        let method = given.method(method, users)?;
        let parts = method::method_of_session(&method, options)?;
        let settings = given.settings(&parts, start, users, seen)?;
        let problem = problem.map(Bound::unbind);
        let inner = opened(parts.named(&*method), settings, sight(problem.as_ref()), &earlier)?;
        let options = options.into_iter().flatten().map(|(key, value)| Ok((key.extract()?, value.unbind())));
        // Any number will do that no other session is likely to have.
        let number = RandomState::new().hash_one(0);
        let (inner, options) = (Inner::Plain(Box::new(inner)), options.collect::<PyResult<_>>()?);
        let (names, billed_before, waiting) = (Vec::new(), Vec::new(), VecDeque::new());
        Ok(Self { inner, problem, method, options, number, names, billed_before, waiting })
    }

    /// Whom to ask next, and where; None once the run has stopped, and while as many questions are out as may be. Where one may
    /// be, asking again gives the same question until its answer is told.
    fn ask(&mut self, py: Python<'_>) -> PyResult<Option<Query>> {
        let query = self.inner.ask(py)?;
        Ok(query.map(|query| self.query(query)))
    }

    /// As many further questions as may be out, at most so many. What everybody is asked in a study by a plan is out all at once, however
    /// many are given here: `pending` has all of it.
    fn ask_many(&mut self, py: Python<'_>, most: usize) -> PyResult<Vec<Query>> {
        let queries = self.inner.ask_many(py, most)?;
        Ok(queries.into_iter().map(|query| self.query(query)).collect())
    }

    /// The questions that are out, in the order in which they were asked.
    fn pending(&mut self) -> Vec<Query> {
        self.waiting.clear();
        let queries = self.inner.pending();
        queries.into_iter().map(|query| self.query(query)).collect()
    }

    /// Says that a question will not be answered, as far as one knows, and why. Its user is asked again after a while, the later
    /// the more often it fails. Nothing is billed, unless billed says so. An answer that comes all the same is welcome.
    #[pyo3(signature = (ticket, reason = None, *, billed = false))]
    fn fail(&mut self, py: Python<'_>, ticket: TicketLike<'_>, reason: Option<&str>, billed: bool) -> PyResult<()> {
        let ticket = self.ticket(&ticket)?;
        let mut failure = Failure::new();
        (failure.reason, failure.billed) = (reason, billed);
        self.inner.fail(py, ticket, failure)
    }

    /// Who failed so far: a list of (user, how often, the last reason), those who answered since then included.
    fn failures(&mut self) -> Failures {
        let of = |it: sgq::session::Failures<'_>| (it.user, it.times, it.last_reason.map(str::to_owned));
        self.inner.session().failures().map(of).collect()
    }

    /// Says that a user cannot be asked until it is back. reason: for the record, where there is one.
    #[pyo3(signature = (user, reason = None))]
    fn away(&mut self, py: Python<'_>, user: UserLike<'_>, reason: Option<&str>) -> PyResult<()> {
        let user = self.user(&user)?;
        self.inner.change(py, Change::Away, user, reason)
    }

    /// Says that a user can be asked again, whatever was said of it before.
    #[pyo3(signature = (user, reason = None))]
    fn back(&mut self, py: Python<'_>, user: UserLike<'_>, reason: Option<&str>) -> PyResult<()> {
        let user = self.user(&user)?;
        self.inner.change(py, Change::Back, user, reason)
    }

    /// Says that a user is no longer one: the objective becomes the mean over the others, and its answers are forgotten,
    /// also if it joins again.
    #[pyo3(signature = (user, reason = None))]
    fn leave(&mut self, py: Python<'_>, user: UserLike<'_>, reason: Option<&str>) -> PyResult<()> {
        let user = self.user(&user)?;
        self.inner.change(py, Change::Leave, user, reason)
    }

    /// Says that a user who had left is one again, of whom nothing is known yet.
    #[pyo3(signature = (user, reason = None))]
    fn join(&mut self, py: Python<'_>, user: UserLike<'_>, reason: Option<&str>) -> PyResult<()> {
        let user = self.user(&user)?;
        self.inner.change(py, Change::Join, user, reason)
    }

    /// Whether a user has left.
    fn has_left(&mut self, user: UserLike<'_>) -> PyResult<bool> {
        let user = self.user(&user)?;
        Ok(self.inner.session().has_left(user))
    }

    /// Whether a user cannot be asked until it is back: somebody has said so, or it has disclosed all that it may.
    fn is_away(&mut self, user: UserLike<'_>) -> PyResult<bool> {
        let user = self.user(&user)?;
        Ok(self.inner.session().is_away(user))
    }

    /// Raises the budget by that many queries, the budget in cost, or the budget in numbers: a run that had spent it goes on.
    /// tol, certified_gap: a run that had converged goes on until so small a part of the gap at the start is believed to remain, or
    /// until so small a gap is proven. One takes the place of the other.
    #[pyo3(signature = (budget = None, *, cost = None, numbers = None, tol = None, certified_gap = None))]
    fn extend(
        &mut self,
        py: Python<'_>,
        budget: Option<Whole<'_>>,
        cost: Option<f64>,
        numbers: Option<Whole<'_>>,
        tol: Option<f64>,
        certified_gap: Option<f64>,
    ) -> PyResult<()> {
        if budget.is_none() && cost.is_none() && numbers.is_none() && tol.is_none() && certified_gap.is_none() {
            return Err(PyTypeError::new_err(
                "nothing to extend by: give a number of queries, a cost, numbers, a tolerance or a certified gap",
            ));
        }
        if tol.is_some() && certified_gap.is_some() {
            return Err(PyTypeError::new_err("tol and certified_gap take each other's place: give one of them"));
        }
        if let Some(cost) = cost.filter(|cost| !(cost.is_finite() && *cost >= 0.0)) {
            return Err(PyValueError::new_err(format!("the cost is {cost}: it must be finite and not negative")));
        }
        let queries = budget.map(|queries| whole(&queries, "budget")).transpose()?;
        let numbers = numbers.map(|numbers| whole(&numbers, "numbers")).transpose()?;
        self.inner.extend(py, Extension { queries, cost, numbers, tolerance: tol, certified_gap })
    }

    /// Answers of an earlier run that were taken in without being billed.
    #[getter]
    fn earlier(&mut self) -> u64 {
        self.inner.session().meter().earlier()
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
        let said = Said::new(&gradient, loss, hessian, variance, weight, cost);
        self.take(py, &ticket, said, None, Taking::Checked)
    }

    /// Lets the session's problem answer the next questions: at most that many, fewer once the run has stopped. Returns, for
    /// each, who was asked, whether in order to explore (−1 where that does not apply), and the steps taken after it.
    /// Ctrl-C is heard between two answers: the session then has all of those before.
    fn simulate<'py>(&mut self, py: Python<'py>, queries: u64) -> PyResult<Simulated<'py>> {
        let Some(problem) = &self.problem else {
            return Err(PyValueError::new_err("nobody is there to answer: give Session(problem=…), or ask and tell"));
        };
        let problem = Arc::clone(&problem.get().inner);
        let mut answered = Answered::at_most(queries);
        if queries > 0
            && let Some(session) = self.inner.plain()
        {
            py.detach(|| drive(session, &*problem, &mut answered)).map_err(errors::drive)?;
        }
        let Answered { users, explored, steps, listener, .. } = answered;
        if let Some(error) = listener.interrupted {
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
        while let Some(ticket) = self.waiting.pop_front() {
            if let Some(query) = self.inner.pending().into_iter().find(|asked| asked.ticket() == ticket) {
                return Ok(Some(self.query(query)));
            }
        }
        self.ask(py)
    }

    /// Where the run stands.
    #[getter]
    fn point<'py>(&mut self, py: Python<'py>) -> PyResult<Floats<'py>> {
        if self.inner.waits_for_model() {
            return Err(errors::no_point());
        }
        Ok(Floats(PyArray1::from_slice(py, self.inner.session().point())))
    }

    /// The problem that the session sees; None where the users are somewhere else.
    #[getter]
    fn problem(&self, py: Python<'_>) -> Option<Py<Problem>> {
        self.problem.as_ref().map(|problem| problem.clone_ref(py))
    }

    /// Gradients that were looked at without being billed, by a method that is only a yardstick.
    #[getter]
    fn diagnostic(&mut self) -> u64 {
        self.inner.session().meter().diagnostic()
    }

    /// The method's name.
    #[getter]
    fn method(&self) -> &str {
        &self.method
    }

    /// Queries paid for so far.
    #[getter]
    fn queries(&mut self) -> u64 {
        self.inner.paid_before().queries + self.inner.session().queries()
    }

    /// Queries paid for so far, user by user.
    #[getter]
    fn queries_per_user<'py>(&mut self, py: Python<'py>) -> Counts<'py> {
        let before = self.billed_before.iter().chain(std::iter::repeat(&0));
        let billed = self.inner.session().meter().billed_per_user().iter().zip(before);
        Counts(PyArray1::from_vec(py, billed.map(|(since, before)| since + before).collect()))
    }

    /// What all queries so far have cost.
    #[getter]
    fn cost(&mut self) -> f64 {
        self.inner.paid_before().cost + self.inner.session().meter().cost()
    }

    /// How many numbers all answers so far held: gradients, losses, Hessians (their lower triangles) and variances.
    #[getter]
    fn numbers(&mut self) -> u64 {
        self.inner.paid_before().numbers + self.inner.session().meter().numbers()
    }

    /// What each user counts in the objective, as far as is known; 1 where nobody said.
    #[getter]
    fn weights<'py>(&mut self, py: Python<'py>) -> Floats<'py> {
        let session = self.inner.session();
        let users = session.meter().billed_per_user().len();
        Floats(PyArray1::from_iter(py, (0..users).map(|user| session.weight_of(user))))
    }

    /// How much users are asked to say, at most: "gradient", "loss" or "hessian".
    #[getter]
    fn answers(&mut self) -> &'static str {
        answer::word(self.inner.session().answers())
    }

    /// Steps taken so far: moves of the point.
    #[getter]
    fn steps(&mut self) -> u64 {
        self.inner.session().steps()
    }

    /// The step size of the coming step.
    #[getter]
    fn step_size(&mut self) -> f64 {
        self.inner.session().step_size()
    }

    /// The norm of the mean of everybody's last gradient, once there is one.
    #[getter]
    fn surrogate_gradient_norm(&mut self) -> Option<f64> {
        self.inner.session().surrogate_gradient_norm()
    }

    /// The mean of everybody's last gradient, once there is one: of answers at older points, so that it is not zero where the run
    /// has converged.
    #[getter]
    fn surrogate_gradient<'py>(&mut self, py: Python<'py>) -> Option<Floats<'py>> {
        self.inner.session().surrogate_gradient().map(|gradient| Floats(PyArray1::from_slice(py, gradient)))
    }

    /// Whether the method has a step size.
    #[getter]
    fn has_step_size(&mut self) -> bool {
        self.inner.session().has_step_size()
    }

    /// How far it is still to go, by the method's own account of the answers paid for; None where it has none.
    #[getter]
    fn remaining(&mut self) -> Option<Remaining> {
        self.inner.session().remaining().map(Remaining::from)
    }

    /// What is proven to remain at most: a bound on the gap, from answers that were paid for. None before everybody was asked, where
    /// smoothness or pl_constant are not known, where answers have noise, and for methods that do not keep everybody's answer.
    #[getter]
    fn certified(&mut self) -> Option<f64> {
        self.inner.session().certified()
    }

    /// Why nothing is proven, in words; None where something is.
    #[getter]
    fn uncertified(&mut self) -> Option<String> {
        self.inner.session().certificate().err().map(|why| why.to_string())
    }

    /// Why the run stopped, in a word or two: "converged", "certified", "budget", "cost budget", "numbers budget", "target gap", "surrogate gradient",
    /// "diverged" or "nobody answers"; None while it goes on.
    #[getter]
    fn stop_reason(&mut self) -> Option<&'static str> {
        self.inner.session().stop_reason().map(|reason| match reason {
            StopReason::Budget { .. } => "budget",
            StopReason::CostBudget { .. } => "cost budget",
            StopReason::NumbersBudget { .. } => "numbers budget",
            StopReason::Converged { .. } => "converged",
            StopReason::Certified { .. } => "certified",
            StopReason::TargetGap { .. } => "target gap",
            StopReason::SurrogateGradient { .. } => "surrogate gradient",
            StopReason::Diverged { .. } => "diverged",
            StopReason::NobodyAnswers => "nobody answers",
            _ => "stopped",
        })
    }

    /// Why the run stopped, in a sentence; where nobody answers, with who failed most often, and why.
    #[getter]
    fn message(&mut self) -> Option<String> {
        self.inner.stop_message()
    }

    /// All of the session, its randomness and its open question included, to be stored.
    fn state_dict<'py>(&mut self, py: Python<'py>) -> PyResult<State<'py>> {
        let session = self.inner.plain().ok_or_else(errors::not_to_be_copied)?;
        let snapshot = py.detach(|| session.snapshot()).map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
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
        self.inner.plain().ok_or_else(errors::not_to_be_copied)?;
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
        let state = slf.borrow_mut().state_dict(slf.py())?;
        Ok((slf.get_type().getattr("from_state_dict")?, (state,)))
    }

    fn __repr__(&mut self) -> String {
        let session = self.inner.session();
        let (queries, steps) = (session.queries(), session.steps());
        let state = session.stop_reason().map_or("running".to_owned(), |reason| reason.to_string());
        format!("<sgq.Session {}: {queries} queries, {steps} steps, {state}>", self.method)
    }
}
