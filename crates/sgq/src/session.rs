//! Ask and tell: the state machine that every run goes through.

mod answers;
mod earlier;
mod failure;
mod members;
mod open;
mod questions;
mod snapshot;
mod stop;
pub(crate) mod weights;

use std::{any::Any, collections::BTreeSet, fmt, sync::Arc};

use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::{
    Answer, Belief, ChoiceError, Chosen, Detail, Meter, Oracle, Problem, Random, Remaining, Settings, Smoothness,
    answer::{OwnedAnswer, packed_length},
    choice::Purpose,
    kernel,
    method::{Parts, Scenery},
    random::Fingerprint,
    step_size::Schedule,
    theory::Theorem,
    update::Wants,
};

pub use earlier::{EarlierError, PaidAnswer, Refused};
use failure::FailureLog;
pub use failure::{Failure, Failures};
pub use members::MemberError;
use questions::{Absence, Outcome, Progress, Question, Questions, Sweep};
pub use snapshot::{RestoreError, SnapshotError};
pub use stop::StopReason;
use stop::StopRules;
use weights::Weights;

/// One run of one method: [`ask`](Session::ask) whom to query, [`tell`](Session::tell) what they answered.
///
/// ```
/// use sgq::{Session, Settings, method};
///
/// let clinic = |user: usize, x: &[f64]| vec![2.0 * (x[0] - [2.0, 1.0, -1.0, -2.0][user])];
/// let settings = Settings::new(vec![5.0], 4)
///     .smoothness(vec![2.0; 4])
///     .step_size(0.015)
///     .budget(60);
/// let mut session = Session::new(method::sgq(0.3), settings)?;
/// while let Some(query) = session.ask()? {
///     let gradient = clinic(query.user, &query.point);
///     session.tell(query.ticket, &gradient)?;
/// }
/// assert_eq!(session.queries(), 60);
/// assert!(session.point()[0].abs() < 0.5);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// A session never loses a paid answer to a mistake: an answer it cannot take is refused and the same question stays
/// open; the same answer told twice counts once.
///
/// Any method fits the same type: its parts are behind it.
#[derive(Debug)]
pub struct Session<'s> {
    parts: Box<dyn Parts>,
    state: State,
    sight: Sight<'s>,
    // Scratch space, not part of the state.
    next_point: Arc<[f64]>,
    all_gradients: Vec<f64>,
    hessian: Vec<f64>,
    weighted: OwnedAnswer,
}

/// What a session can see besides the answers it is told.
#[derive(Clone, Default)]
pub enum Sight<'s> {
    /// Nothing: the users are somewhere else, and every gradient costs something.
    #[default]
    Blind,
    /// Every gradient, for a method that compares itself with an oracle. Looks are counted as diagnostic.
    Oracle(&'s dyn Oracle),
    /// Every gradient and the objective too, so that a target gap can stop the run.
    Problem(&'s dyn Problem),
    /// The same of a problem that others hold too, for a session that outlives the place where it was opened.
    Shared(Arc<dyn Problem + Send>),
}

impl Sight<'_> {
    fn oracle(&self) -> Option<&dyn Oracle> {
        match self {
            Self::Oracle(oracle) => Some(*oracle),
            _ => self.problem().map(|problem| problem as &dyn Oracle),
        }
    }

    fn problem(&self) -> Option<&dyn Problem> {
        match self {
            Self::Blind | Self::Oracle(_) => None,
            Self::Problem(problem) => Some(*problem),
            Self::Shared(problem) => Some(&**problem),
        }
    }

    fn gap(&self, point: &[f64]) -> Option<f64> {
        self.problem()?.gap(point)
    }
}

impl fmt::Debug for Sight<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Blind => "Blind",
            Self::Oracle(_) => "Oracle",
            Self::Problem(_) => "Problem",
            Self::Shared(_) => "Shared",
        })
    }
}

/// A question to put to a user.
///
/// It owns what it holds, so it can wait in a queue or travel to another thread while the user thinks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Query {
    /// What to give back with the answer.
    pub ticket: Ticket,
    /// The user to ask, from 0.
    pub user: usize,
    /// The point at which its gradient is wanted (shared with the session, not copied).
    pub point: Arc<[f64]>,
    /// Whether the user was picked at random in order to explore; `None` in a sweep, and for methods without exploration.
    pub explored: Option<bool>,
    /// What would be of use beside the gradient. A user may say less, and more is not looked at.
    pub wants: Detail,
}

/// The number of a question in its session, from 0. It can be stored and sent along with the question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Ticket(pub u64);

impl fmt::Display for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Question {
    fn query(&self, wants: Detail) -> Query {
        let Self { ticket, chosen, point, .. } = self;
        Query { ticket: *ticket, user: chosen.user, point: Arc::clone(point), explored: chosen.explored, wants }
    }
}

impl fmt::Display for Query {
    /// What to ask whom, for a log or a person.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let more = match self.wants {
            Detail::Gradient => "",
            Detail::Loss => " and the loss",
            Detail::Hessian => ", the loss and the Hessian",
        };
        write!(f, "question {}: the gradient{more} of user {} at {:?}", self.ticket, self.user, self.point)
    }
}

/// Everything that decides how a session goes on, but for the state of the method's parts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct State {
    name: String,
    /// The types of the three parts: many of them have no state that could tell them apart.
    part_types: [String; 3],
    smoothness: Option<Smoothness>,
    schedule: Schedule,
    stop_rules: StopRules,
    random: Random,
    meter: Meter,
    point: Arc<[f64]>,
    progress: Progress,
    /// How many questions may be out at once.
    at_once: usize,
    /// The most that users are asked for.
    answers: Detail,
    weights: Weights,
    certifying: Certifying,
    /// The sweep under way.
    sweep: Option<Sweep>,
    /// Who is to be asked at the current point next, after an answer at another one.
    follow_up: Option<Chosen>,
    questions: Questions,
    absence: Absence,
    /// Who is no longer a user.
    left: BTreeSet<usize>,
    failures: FailureLog,
    stop: Option<StopReason>,
}

/// What a proof of how much remains rests on, beside the users' smoothness.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Certifying {
    pl_constant: Option<f64>,
    /// Whether `L_i` hold everywhere, answers are exact, and what users count was known beforehand.
    is_certain: bool,
}

impl Certifying {
    fn new(settings: &Settings) -> Self {
        Self { pl_constant: settings.pl_constant, is_certain: !settings.local_smoothness }
    }

    /// Looks at what an answer says of itself.
    fn see(&mut self, answer: &Answer<'_>) {
        let has_noise = answer.variance.is_some_and(|variance| variance.iter().any(|variance| *variance > 0.0));
        self.is_certain &= !has_noise && answer.weight.is_none();
    }
}

impl<'s> Session<'s> {
    fn from_parts(parts: Box<dyn Parts>, state: State, sight: Sight<'s>) -> Self {
        let (dim, needs) = (state.point.len(), parts.facts().needs);
        let looks = if needs.oracle { state.users() * dim } else { 0 };
        Self {
            next_point: Arc::from(&*state.point),
            all_gradients: vec![0.0; looks],
            hessian: Vec::new(),
            weighted: OwnedAnswer::default(),
            parts,
            state,
            sight,
        }
    }

    /// Whom to ask next, and where; `None` once the run has stopped, and while as many questions are out as
    /// [may be](crate::Settings::open), or nobody can be asked before an answer comes.
    ///
    /// Where one question may be out, asking again gives the same question until its answer is told. Where answers were so large
    /// that no user has a score that is a number, the run has diverged.
    pub fn ask(&mut self) -> Result<Option<Query>, ChoiceError> {
        if self.state.stop.is_some() {
            return Ok(None);
        }
        if self.state.at_once == 1
            && let Some(question) = self.state.questions.open.first()
        {
            return Ok(Some(question.query(self.wants())));
        }
        let out = self.state.questions.open.len();
        if out >= self.state.at_once || !self.may_ask() {
            return Ok(None);
        }
        self.put_question()
    }

    /// Whether the budgets allow one more question, with those that are out.
    fn may_ask(&self) -> bool {
        let State { meter, questions, stop_rules, .. } = &self.state;
        stop_rules.allows(questions.open.len() as u64, self.numbers_wanted(), meter)
            && self.state.cost_left().is_none_or(|left| meter.cheapest() <= left)
    }

    /// How many numbers an answer has, if its user says as much as is of use: the gradient, and what [`Query::wants`] names.
    pub fn numbers_wanted(&self) -> u64 {
        let dim = self.state.point.len();
        let more = match self.wants() {
            Detail::Gradient => 0,
            Detail::Loss => 1,
            Detail::Hessian => 1 + packed_length(dim),
        };
        (dim + more) as u64
    }

    /// A further question, whatever the budget; `None` where an answer has to come first.
    fn put_question(&mut self) -> Result<Option<Query>, ChoiceError> {
        let mut next = self.next_question();
        // Where nothing is out, no event ends the wait of those who failed.
        if next == Ok(None) && self.state.questions.open.is_empty() && self.state.absence.forgive() {
            next = self.next_question();
        }
        let (chosen, purpose) = match next {
            Ok(Some(next)) => next,
            Ok(None) => {
                if self.state.questions.open.is_empty() {
                    let cost = self.state.meter.cost();
                    let could = (0..self.state.users()).any(|user| self.state.is_there(user));
                    let too_dear = could && self.state.cost_left().is_some();
                    self.state.stop =
                        Some(if too_dear { StopReason::CostBudget { cost } } else { StopReason::NobodyAnswers });
                }
                return Ok(None);
            }
            Err(ChoiceError::NoScore) => {
                self.stop_as_diverged();
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        let point = match (purpose, self.parts.wants()) {
            (Purpose::Elsewhere, Wants::Elsewhere(point)) => Arc::from(point),
            _ => Arc::clone(&self.state.point),
        };
        let wants = self.wants();
        Ok(Some(self.state.questions.put(chosen, purpose, point, self.state.progress).query(wants)))
    }

    /// As many further questions as may be out, at most so many.
    pub fn ask_many(&mut self, most: usize) -> Result<Vec<Query>, ChoiceError> {
        let mut queries: Vec<Query> = Vec::new();
        while queries.len() < most
            && let Some(query) = self.ask()?
        {
            // Where one question may be out, it is given again.
            if queries.last().is_some_and(|last| last.ticket == query.ticket) {
                break;
            }
            queries.push(query);
        }
        Ok(queries)
    }

    /// The questions that are out, in the order in which they were asked.
    pub fn pending(&self) -> impl ExactSizeIterator<Item = Query> {
        let wants = self.wants();
        self.state.questions.open.iter().map(move |question| question.query(wants))
    }

    /// What would be of use beside a gradient, of what users are asked for at all.
    fn wants(&self) -> Detail {
        let needs = self.parts.facts().needs;
        let needed = match (needs.hessians, needs.losses) {
            (true, _) => Detail::Hessian,
            (false, true) => Detail::Loss,
            (false, false) => Detail::Gradient,
        };
        self.parts.belief().uses().max(needed).min(self.state.answers)
    }

    /// Whom to ask for what; `None` where an answer has to come first.
    fn next_question(&mut self) -> Result<Option<(Chosen, Purpose)>, ChoiceError> {
        if let Some(chosen) = self.state.follow_up.take() {
            return Ok(Some((chosen, Purpose::Step)));
        }
        if self.state.sweep.is_none() && self.parts.wants() == Wants::Everybody {
            if !self.state.questions.open.is_empty() {
                // What is still out belongs to steps before the sweep.
                return Ok(None);
            }
            self.state.sweep = Some(Sweep::from(0));
        }
        if self.state.sweep.is_some() {
            let user = self.next_in_sweep();
            return Ok(user.map(|user| (Chosen::user(user), Purpose::Sweep { last: false })));
        }
        let elsewhere = matches!(self.parts.wants(), Wants::Elsewhere(_));
        let purpose = if elsewhere { Purpose::Elsewhere } else { Purpose::Step };
        Ok(self.choose()?.map(|chosen| (chosen, purpose)))
    }

    /// The next user of the sweep under way who can be asked.
    fn next_in_sweep(&mut self) -> Option<usize> {
        let again = &self.state.sweep.as_ref()?.again;
        if let Some(place) = again.iter().position(|user| self.state.is_free(*user)) {
            return Some(self.state.sweep.as_mut()?.again.remove(place));
        }
        while let Some(user) = self.state.sweep.as_ref()?.next {
            let (next, is_free) = (self.next_of_sweep(user + 1), self.state.is_free(user));
            let sweep = self.state.sweep.as_mut()?;
            sweep.next = next;
            if is_free {
                return Some(user);
            }
            sweep.again.push(user);
        }
        None
    }

    /// Whether each user cannot be asked now, because it is out, away, has just failed, or costs more than what is left; empty
    /// where everybody can be.
    fn busy(&self) -> Vec<bool> {
        let State { questions, absence, left: gone, meter, .. } = &self.state;
        let left = self.state.cost_left();
        if questions.open.is_empty()
            && absence.is_empty()
            && gone.is_empty()
            && left.is_none_or(|left| meter.dearest() <= left)
        {
            return Vec::new();
        }
        let mut busy = vec![false; self.state.users()];
        let out = questions.open.iter().map(|question| question.chosen.user);
        out.chain(absence.cannot_be_asked()).chain(gone.iter().copied()).for_each(|user| busy[user] = true);
        if let Some(left) = left {
            busy.iter_mut().enumerate().for_each(|(user, busy)| *busy |= meter.cost_of(user) > left);
        }
        busy
    }

    /// The first user of a sweep from this one on: anybody where the update wants everybody, else whoever was not asked.
    fn next_of_sweep(&self, from: usize) -> Option<usize> {
        let everybody = self.parts.wants() == Wants::Everybody;
        let is_wanted = |user: &usize| everybody || !self.parts.belief().is_asked(*user);
        (from..self.state.users()).find(|user| !self.state.left.contains(user) && is_wanted(user))
    }

    /// The choice's pick; `None` where nobody can be asked before an answer comes.
    fn choose(&mut self) -> Result<Option<Chosen>, ChoiceError> {
        let busy = self.busy();
        if !busy.is_empty() && busy.iter().all(|busy| *busy) {
            return Ok(None);
        }
        let state = &mut self.state;
        let (users, needs) = (state.users(), self.parts.facts().needs);
        let mut all_gradients = None;
        if let (true, Some(oracle)) = (needs.oracle, self.sight.oracle()) {
            state.meter.look_at_all(oracle, &state.point, &mut self.all_gradients);
            all_gradients = Some(&*self.all_gradients);
        }
        let scenery = Scenery {
            users,
            point: &state.point,
            step_size: state.schedule.at(state.progress.steps),
            smoothness: state.smoothness.as_ref(),
            costs: state.meter.costs(),
            busy: &busy,
            all_gradients,
            problem: self.sight.problem().filter(|_| needs.polls),
        };
        let chosen = match self.parts.choose(&scenery, &mut state.random) {
            Err(ChoiceError::AnswersFirst) => return Ok(None),
            chosen => chosen?,
        };
        state.meter.poll(chosen.polled);
        if chosen.user >= users {
            return Err(ChoiceError::NoSuchUser { user: chosen.user, users });
        }
        if busy.get(chosen.user) == Some(&true) {
            return Err(ChoiceError::CannotBeAsked { user: chosen.user });
        }
        Ok(Some(chosen))
    }

    /// For whoever knows that answers are past what numbers can hold.
    pub(crate) fn stop_as_diverged(&mut self) {
        self.state.stop = Some(StopReason::Diverged { steps: self.state.progress.steps });
    }

    /// Raises the budget by that many queries: a run that had spent it goes on.
    ///
    /// ```
    /// # use sgq::{Session, Settings, StopReason, method};
    /// let mut session = Session::new(method::sgd(), Settings::new(vec![5.0], 2).step_size(0.1).budget(0))?;
    /// assert_eq!(session.ask()?, None);
    /// session.extend(3);
    /// assert!(session.ask()?.is_some());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn extend(&mut self, queries: u64) {
        self.state.stop_rules.extend(queries);
        self.go_on_within_budgets();
    }

    /// Raises the [budget in cost](crate::Settings::cost_budget): a run that had spent it goes on.
    pub fn extend_cost(&mut self, cost: f64) {
        self.state.stop_rules.extend_cost(cost);
        self.go_on_within_budgets();
    }

    /// Raises the [budget in numbers](crate::Settings::numbers_budget): a run that had spent it goes on.
    pub fn extend_numbers(&mut self, numbers: u64) {
        self.state.stop_rules.extend_numbers(numbers);
        self.go_on_within_budgets();
    }

    fn go_on_within_budgets(&mut self) {
        if self.state.stop.is_some_and(|stop| stop.is_budget()) {
            self.state.stop = self.reason_to_stop(true);
        }
    }

    /// The gap, which can be costly to compute, is only looked at where the point has moved.
    fn reason_to_stop(&self, moved: bool) -> Option<StopReason> {
        let state = &self.state;
        state.stop_rules.reason(
            &state.meter,
            self.numbers_wanted(),
            || if moved { self.sight.gap(&state.point) } else { None },
            self.parts.belief(),
        )
    }

    /// The method's name.
    pub fn name(&self) -> &str {
        &self.state.name
    }

    /// Where the run stands: `x_t`. After divergence it is the last point inside the limit.
    pub fn point(&self) -> &[f64] {
        &self.state.point
    }

    /// Queries paid for so far.
    pub fn queries(&self) -> u64 {
        self.state.meter.billed()
    }

    /// Steps taken so far: moves of the point. Start-up queries and snapshots that leave it where it is are not steps.
    pub fn steps(&self) -> u64 {
        self.state.progress.steps
    }

    /// The step size `α_t` of the coming step.
    pub fn step_size(&self) -> f64 {
        self.state.schedule.at(self.state.progress.steps)
    }

    /// Whether the method has a step size.
    pub fn has_step_size(&self) -> bool {
        !self.parts.facts().own_step
    }

    /// The theorem that bounds the step size of this method, where there is one.
    pub fn theorem(&self) -> Option<Theorem> {
        self.parts.facts().theorem
    }

    /// The counts, user by user, billed and diagnostic.
    pub fn meter(&self) -> &Meter {
        &self.state.meter
    }

    /// What is believed of the users, where it is a belief of that type.
    ///
    /// ```
    /// # use sgq::{LastGradient, Session, Settings, method};
    /// let session = Session::new(method::saga(), Settings::new(vec![5.0], 2).step_size(0.1))?;
    /// assert_eq!(session.belief::<LastGradient>().unwrap().unasked(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn belief<B: Belief>(&self) -> Option<&B> {
        let belief: &dyn Any = self.parts.belief();
        belief.downcast_ref()
    }

    /// `ḡ`, the belief's estimate of `∇f`, once it has one: the mean of everybody's last gradient.
    pub fn surrogate_gradient(&self) -> Option<&[f64]> {
        self.parts.belief().surrogate_gradient()
    }

    /// `‖ḡ‖`, the norm of the belief's estimate of `∇f`, once it has one. It is made of answers that were paid for, so a real
    /// run can watch it.
    pub fn surrogate_gradient_norm(&self) -> Option<f64> {
        self.parts.belief().surrogate_gradient().map(kernel::norm)
    }

    /// How far it is still to go from the [point](Session::point), by the method's own account of the answers paid for; `None`
    /// where it has none.
    ///
    /// ```
    /// # use sgq::{Session, Settings, method};
    /// let mut session = Session::new(method::frugal(), Settings::new(vec![5.0], 4).smoothness(vec![2.0; 4]).budget(3))?;
    /// while let Some(query) = session.ask()? {
    ///     session.tell(query.ticket, &[2.0 * (query.point[0] - [2.0, 1.0, -1.0, -2.0][query.user])])?;
    /// }
    /// let remaining = session.remaining().expect("frugal has a model");
    /// assert!(remaining.low < remaining.gap && remaining.gap < remaining.high && remaining.gap < remaining.at_start);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn remaining(&self) -> Option<Remaining> {
        self.parts.belief().remaining()
    }

    /// What is proven to remain at most: `f(x) − inf f ≤ G²/2μ` at the [point](Session::point), where `G = ‖mean g_i‖ + mean L_i
    /// ‖x − x_i‖ ≥ ‖∇f(x)‖` comes from answers that were paid for.
    ///
    /// `None` before everybody was asked, and where the `L_i` or `μ` are [not given](crate::Settings::pl_constant) or hold [only
    /// nearby](crate::Settings::local_smoothness), where answers have noise, or weights that were not known beforehand, and for
    /// methods that do not keep everybody's answer. It is as true as the constants that were given.
    ///
    /// ```
    /// # use sgq::{Session, Settings, method, problem::Quadratic, simulate::gap_curve, Problem, Oracle};
    /// let users = Quadratic::scalar(&[1.0; 4], &[2.0, 1.0, -1.0, -2.0])?;
    /// let mut session = Session::new(method::saga(), Settings::for_problem(vec![5.0], &users).budget(40))?;
    /// let mut gradient = [0.0];
    /// while let Some(query) = session.ask()? {
    ///     users.gradient(query.user, &query.point, &mut gradient);
    ///     session.tell(query.ticket, &gradient)?;
    /// }
    /// assert!(users.gap(session.point()).unwrap() <= session.certified().expect("all of it is known"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn certified(&self) -> Option<f64> {
        let Certifying { pl_constant, is_certain } = self.state.certifying;
        let (smoothness, mu) = (self.state.smoothness.as_ref()?, pl_constant?);
        let bound = self.parts.belief().gradient_bound(&self.state.point, smoothness.each())?;
        let certified = bound * bound / (2.0 * mu);
        // The constant is that of the mean over everybody.
        let is_certain = is_certain && self.state.left.is_empty() && mu <= smoothness.mean() * (1.0 + 1e-9);
        (is_certain && mu > 0.0 && certified.is_finite()).then_some(certified)
    }

    /// Why the run stopped; `None` while it goes on.
    pub fn stop_reason(&self) -> Option<StopReason> {
        self.state.stop
    }

    /// Why the run stopped, in a sentence; where nobody answers, with who [failed](Session::failures) most often, and why.
    pub fn stop_message(&self) -> Option<String> {
        let stop = self.state.stop?;
        let failures = self.state.failures.in_words();
        Some(match stop {
            StopReason::NobodyAnswers if !failures.is_empty() => format!("{stop} ({failures})"),
            _ => stop.to_string(),
        })
    }

    /// How much users are asked to say, at most.
    pub fn answers(&self) -> Detail {
        self.state.answers
    }

    /// What a user counts in the objective, in units of the mean weight where all were [given](crate::Settings::weights), else of
    /// the first one told; 1 where nothing is known of it.
    pub fn weight_of(&self, user: usize) -> f64 {
        self.state.weights.of(user)
    }

    /// What the method sees without paying for it, in words: what it needs and users are not [asked for](crate::Settings::answers).
    pub fn sees_more(&self) -> Option<&'static str> {
        self.parts.facts().needs.unpaid(self.state.answers)
    }
}

impl State {
    fn users(&self) -> usize {
        self.meter.billed_per_user().len()
    }

    /// Whether a user can be asked now: no question is out to it, it is not away, has not just failed, and does not cost more than
    /// what is left.
    fn is_free(&self, user: usize) -> bool {
        let is_out = |question: &Question| question.chosen.user == user;
        !self.questions.open.iter().any(is_out)
            && self.is_there(user)
            && self.cost_left().is_none_or(|left| self.meter.cost_of(user) <= left)
    }

    /// What is left of the budget in cost, once what is out is paid; none where there is no such budget.
    fn cost_left(&self) -> Option<f64> {
        let left = self.stop_rules.cost_left(self.meter.cost())?;
        Some(left - self.questions.open.iter().map(|question| self.meter.cost_of(question.chosen.user)).sum::<f64>())
    }

    /// Whether a user is one, is not away, and has not just failed.
    fn is_there(&self, user: usize) -> bool {
        self.absence.can_be_asked(user) && !self.left.contains(&user)
    }
}

/// Tells one answer from another; the two zeros count as the same number, and what it cost does not matter.
fn fingerprint(answer: &Answer<'_>) -> u64 {
    let loss = answer.loss.map(|loss| [loss]);
    let weight = answer.weight.map(|weight| [weight]);
    let [loss, weight] = [&loss, &weight].map(|it| it.as_ref().map(<[f64; 1]>::as_slice));
    let parts = [Some(answer.gradient), loss, answer.hessian, answer.variance, weight];
    let mut whole = Fingerprint::default();
    for (part, numbers) in parts.into_iter().enumerate() {
        let Some(numbers) = numbers else { continue };
        whole.add(part as u64);
        add_fingerprint(&mut whole, numbers);
    }
    whole.finish()
}

/// Many numbers in pieces, which several threads may work on.
fn add_fingerprint(whole: &mut Fingerprint, numbers: &[f64]) {
    if numbers.len() <= kernel::FEW {
        return add_fingerprint_of_piece(whole, numbers);
    }
    let pieces: Vec<[u64; 8]> = numbers.par_chunks(kernel::SHARE).map(quick_fingerprint).collect();
    whole.add(numbers.len() as u64);
    pieces.iter().flatten().for_each(|chain| whole.add(*chain));
}

/// One multiplication a number: with two, this would take longer than a step with a million parameters.
fn quick_fingerprint(numbers: &[f64]) -> [u64; 8] {
    let mut chains = [0_u64; 8];
    let (eights, rest) = numbers.as_chunks::<8>();
    let add = |chain: &mut u64, value: f64| {
        *chain = (chain.rotate_left(29) ^ (value + 0.0).to_bits()).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    };
    for eight in eights {
        chains.iter_mut().zip(eight).for_each(|(chain, value)| add(chain, *value));
    }
    chains.iter_mut().zip(rest).for_each(|(chain, value)| add(chain, *value));
    chains
}

/// In eight chains, of which a processor follows several at a time: one alone would cost more than the rest of a step.
fn add_fingerprint_of_piece(whole: &mut Fingerprint, numbers: &[f64]) {
    let mut chains = [Fingerprint::default(); 8];
    for values in numbers.chunks(chains.len()) {
        for (chain, value) in chains.iter_mut().zip(values) {
            chain.add((value + 0.0).to_bits());
        }
    }
    whole.add(numbers.len() as u64);
    for chain in chains.iter().take(numbers.len()) {
        whole.add(chain.finish());
    }
}

/// Why an answer was not taken. Nothing was billed, and the open question stays open.
#[derive(Clone, Debug, PartialEq, Error)]
#[allow(missing_docs)] // the message says what each field is
#[non_exhaustive]
pub enum TellError {
    #[error("no question has the ticket {ticket}: tell answers with the tickets that `ask` returned")]
    UnknownTicket { ticket: Ticket },
    #[error(
        "the question with ticket {ticket} already has another answer: an answer cannot be changed once it is used"
    )]
    AnsweredAlready { ticket: Ticket },
    #[error("the gradient of user {user} has {found} numbers, expected {expected}: one for each parameter")]
    Length { user: usize, expected: usize, found: usize },
    #[error(
        "coordinate {coordinate} of the gradient of user {user} is {value:e}: it must be finite; ask the user again"
    )]
    NotFinite { user: usize, coordinate: usize, value: f64 },
    #[error("the {what} of user {user} {why}")]
    Extra { user: usize, what: &'static str, why: String },
    #[error("the answer of user {user} has no {what}, and the method cannot do without: send it along")]
    Missing { user: usize, what: &'static str },
    #[error(
        "coordinate {coordinate} of the gradient of user {user} is {value:e}, which is too large for a table in f32: keep the \
         table in f64"
    )]
    TooLargeForF32 { user: usize, coordinate: usize, value: f64 },
    #[error(
        "the gradient of user {user} cannot be kept without its penalty {l2}·x, which is too large at coordinate \
         {coordinate}: keep the table in f64"
    )]
    Penalty { user: usize, coordinate: usize, l2: f64 },
    #[error(
        "the gradient of user {user} is not s·a + {l2}·x with its row a (off by {off:e} of its length): correct the row, the \
         penalty or the answer, or keep the table in f64"
    )]
    NotOfOneRow { user: usize, l2: f64, off: f64 },
}
