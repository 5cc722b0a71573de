//! Ask and tell: the state machine that every run goes through.

mod earlier;
mod open;
mod snapshot;
mod stop;

use std::{any::Any, fmt, sync::Arc};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::{
    Belief, ChoiceError, Chosen, Meter, Oracle, Problem, Random, Reply, Smoothness,
    choice::Purpose,
    kernel,
    method::{Parts, Scenery, Taken},
    random::Fingerprint,
    step_size::Schedule,
    theory::Theorem,
    update::Wants,
};

pub use earlier::{EarlierError, PaidAnswer, Refused};
pub use snapshot::{RestoreError, SnapshotError};
pub use stop::StopReason;
use stop::StopRules;

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
}

/// The number of a question in its session, from 0. It can be stored and sent along with the question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Ticket(pub u64);

impl fmt::Display for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for Query {
    /// What to ask whom, for a log or a person.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "question {}: the gradient of user {} at {:?}", self.ticket, self.user, self.point)
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
    steps: u64,
    /// The next user of the sweep under way.
    sweep: Option<usize>,
    /// The open question.
    pending: Option<Pending>,
    /// A fingerprint of every answer taken so far, by ticket.
    answers: Vec<u64>,
    stop: Option<StopReason>,
}

/// An open question.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Pending {
    chosen: Chosen,
    purpose: Purpose,
}

impl<'s> Session<'s> {
    fn from_parts(parts: Box<dyn Parts>, state: State, sight: Sight<'s>) -> Self {
        let (dim, needs) = (state.point.len(), parts.facts().needs);
        let looks = if needs.oracle { state.users() * dim } else { 0 };
        let hessian = if needs.hessians { dim * dim } else { 0 };
        Self {
            next_point: Arc::from(&*state.point),
            all_gradients: vec![0.0; looks],
            hessian: vec![0.0; hessian],
            parts,
            state,
            sight,
        }
    }

    /// Whom to ask next, and where; `None` once the run has stopped.
    ///
    /// Until the answer is told, asking again gives the same question. Where answers were so large that no user has a score
    /// that is a number, the run has diverged.
    pub fn ask(&mut self) -> Result<Option<Query>, ChoiceError> {
        if self.state.stop.is_some() {
            return Ok(None);
        }
        let pending = match self.state.pending {
            Some(pending) => pending,
            None => match self.next_question() {
                Err(ChoiceError::NoScore) => {
                    self.stop_as_diverged();
                    return Ok(None);
                }
                next => next?,
            },
        };
        self.state.pending = Some(pending);
        Ok(Some(Query {
            ticket: self.state.open_ticket(),
            user: pending.chosen.user,
            point: self.place_of(&pending),
            explored: pending.chosen.explored,
        }))
    }

    /// Where a question is asked: at the update's other point, or at the current one.
    fn place_of(&self, pending: &Pending) -> Arc<[f64]> {
        match (pending.purpose, self.parts.wants()) {
            (Purpose::Elsewhere, Wants::Elsewhere(point)) => Arc::from(point),
            _ => Arc::clone(&self.state.point),
        }
    }

    fn next_question(&mut self) -> Result<Pending, ChoiceError> {
        if let Some(user) = self.state.sweep {
            let last = self.next_of_sweep(user + 1).is_none();
            return Ok(Pending { chosen: Chosen::user(user), purpose: Purpose::Sweep { last } });
        }
        let chosen = self.choose()?;
        let elsewhere = matches!(self.parts.wants(), Wants::Elsewhere(_));
        Ok(Pending { chosen, purpose: if elsewhere { Purpose::Elsewhere } else { Purpose::Step } })
    }

    /// The first user of a sweep from this one on: anybody where the update wants everybody, else whoever was not asked.
    fn next_of_sweep(&self, from: usize) -> Option<usize> {
        let everybody = self.parts.wants() == Wants::Everybody;
        (from..self.state.users()).find(|user| everybody || !self.parts.belief().is_asked(*user))
    }

    fn choose(&mut self) -> Result<Chosen, ChoiceError> {
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
            step_size: state.schedule.at(state.steps),
            smoothness: state.smoothness.as_ref(),
            costs: state.meter.costs(),
            all_gradients,
            problem: self.sight.problem().filter(|_| needs.polls),
        };
        let chosen = self.parts.choose(&scenery, &mut state.random)?;
        state.meter.poll(chosen.polled);
        if chosen.user >= users {
            return Err(ChoiceError::NoSuchUser { user: chosen.user, users });
        }
        Ok(chosen)
    }

    /// Takes the answer to a question: bills it, then uses it.
    ///
    /// Telling the same answer again changes nothing. On an error nothing is billed and the question stays open.
    pub fn tell(&mut self, ticket: Ticket, gradient: &[f64]) -> Result<(), TellError> {
        let state = &self.state;
        if let Some(&taken) = usize::try_from(ticket.0).ok().and_then(|number| state.answers.get(number)) {
            return if taken == fingerprint(gradient) { Ok(()) } else { Err(TellError::AnsweredAlready { ticket }) };
        }
        let Some(pending) = state.pending.filter(|_| ticket == state.open_ticket()) else {
            return Err(TellError::UnknownTicket { ticket });
        };
        self.check(pending.chosen.user, &state.point, pending.purpose, gradient)?;
        self.state.meter.bill(pending.chosen.user);
        self.take(pending, gradient);
        Ok(())
    }

    /// Refuses an answer that cannot be right, or cannot be kept.
    fn check(&self, user: usize, point: &[f64], purpose: Purpose, gradient: &[f64]) -> Result<(), TellError> {
        if gradient.len() != point.len() {
            return Err(TellError::Length { user, expected: point.len(), found: gradient.len() });
        }
        if !kernel::all_within(gradient, f64::MAX)
            && let Some(coordinate) = gradient.iter().position(|value| !value.is_finite())
        {
            return Err(TellError::NotFinite { user, coordinate, value: gradient[coordinate] });
        }
        // An answer at another point is for the update alone.
        if purpose == Purpose::Elsewhere { Ok(()) } else { self.parts.belief().check(user, point, gradient) }
    }

    /// Takes in the answer to the open question.
    fn take(&mut self, pending: Pending, gradient: &[f64]) {
        let Pending { chosen, purpose } = pending;
        // The question to the same user at the current point follows one at another.
        let follows = (purpose == Purpose::Elsewhere).then_some(Pending { chosen, purpose: Purpose::Step });
        let for_update = !purpose.is_sweep() || self.parts.wants() == Wants::Everybody;
        let asked_at = self.place_of(&pending);
        let moved = self.use_answer(&chosen, purpose, &asked_at, gradient, for_update);
        self.state.pending = follows;
        self.state.sweep = match purpose {
            Purpose::Sweep { last: false } => self.next_of_sweep(chosen.user + 1),
            _ => (self.parts.wants() == Wants::Everybody).then_some(0),
        };
        if self.state.stop.is_none() {
            self.state.stop = self.reason_to_stop(moved);
        }
    }

    /// Lets the parts use an answer; returns whether the point has moved.
    fn use_answer(
        &mut self,
        chosen: &Chosen,
        purpose: Purpose,
        point: &[f64],
        gradient: &[f64],
        for_update: bool,
    ) -> bool {
        let state = &mut self.state;
        let (user, needs) = (chosen.user, self.parts.facts().needs);
        state.answers.push(fingerprint(gradient));
        let mut reply = Reply { user, point, gradient, purpose, loss: None, hessian: None };
        if let Some(problem) = self.sight.problem() {
            reply.loss = needs.losses.then(|| problem.user_value(user, point));
            if needs.hessians && problem.hessian(user, point, &mut self.hessian) {
                reply.hessian = Some(&self.hessian);
            }
        }
        // The asked point is still needed, and the question may still be held by the caller: write beside it.
        let next_point = Arc::make_mut(&mut self.next_point);
        next_point.copy_from_slice(&state.point);
        let size = state.schedule.at(state.steps);
        let taken = Taken { reply, weight: chosen.weight, size, smoothness: state.smoothness.as_ref(), for_update };
        let moved = self.parts.take(&taken, &mut state.random, next_point);
        if moved {
            state.steps += 1;
            if state.stop_rules.diverged(next_point) {
                self.stop_as_diverged();
            } else {
                std::mem::swap(&mut state.point, &mut self.next_point);
            }
        }
        moved
    }

    /// For whoever knows that answers are past what numbers can hold.
    pub(crate) fn stop_as_diverged(&mut self) {
        self.state.stop = Some(StopReason::Diverged { steps: self.state.steps });
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
        if let Some(StopReason::Budget { .. }) = self.state.stop {
            self.state.stop = self.reason_to_stop(true);
        }
    }

    /// The gap, which can be costly to compute, is only looked at where the point has moved.
    fn reason_to_stop(&self, moved: bool) -> Option<StopReason> {
        let state = &self.state;
        state.stop_rules.reason(
            state.meter.billed(),
            || if moved { self.sight.gap(&state.point) } else { None },
            self.parts.belief().surrogate_gradient(),
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
        self.state.steps
    }

    /// The step size `α_t` of the coming step.
    pub fn step_size(&self) -> f64 {
        self.state.schedule.at(self.state.steps)
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

    /// `‖ḡ‖`, the norm of the belief's estimate of `∇f`, once it has one. It is made of answers that were paid for, so a real
    /// run can watch it.
    pub fn surrogate_gradient_norm(&self) -> Option<f64> {
        self.parts.belief().surrogate_gradient().map(kernel::norm)
    }

    /// Why the run stopped; `None` while it goes on.
    pub fn stop_reason(&self) -> Option<StopReason> {
        self.state.stop
    }
}

impl State {
    fn users(&self) -> usize {
        self.meter.billed_per_user().len()
    }

    fn open_ticket(&self) -> Ticket {
        Ticket(self.answers.len() as u64)
    }
}

/// Tells one answer from another; the two zeros count as the same number.
///
/// In eight chains, of which a processor follows several at a time: one alone would cost more than the rest of a step.
fn fingerprint(gradient: &[f64]) -> u64 {
    let mut chains = [Fingerprint::default(); 8];
    for values in gradient.chunks(chains.len()) {
        for (chain, value) in chains.iter_mut().zip(values) {
            chain.add((value + 0.0).to_bits());
        }
    }
    let mut whole = Fingerprint::default();
    whole.add(gradient.len() as u64);
    for chain in chains.iter().take(gradient.len()) {
        whole.add(chain.finish());
    }
    whole.finish()
}

/// Why an answer was not taken. Nothing was billed, and the open question stays open.
#[derive(Clone, Debug, PartialEq, Error)]
#[allow(missing_docs)] // the message says what each field is
#[non_exhaustive]
pub enum TellError {
    #[error("no question with ticket {ticket} is open: tell answers to the question that `ask` returned last")]
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
