//! Ask and tell: the state machine that every run goes through.

mod ask_tell;
mod open;
mod snapshot;
mod stop;

use std::{fmt, sync::Arc};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::{
    Belief, Choice, ChoiceError, Chosen, Meter, Oracle, Problem, Random, Reply, Scene, Smoothness, Step, Update,
    kernel, random::Fingerprint, step_size::Schedule, theory::Theorem,
};

pub use ask_tell::AskTell;
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
#[derive(Debug)]
pub struct Session<'s, B, C, U> {
    state: State<B, C, U>,
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

/// Everything that decides how a session goes on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct State<B, C, U> {
    name: String,
    /// The types of the three parts: many of them have no state that could tell them apart.
    parts: [String; 3],
    belief: B,
    choice: C,
    update: U,
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
    pending: Option<Chosen>,
    /// Whether the user of the coming step has answered at the update's extra point.
    extra_done: bool,
    /// A fingerprint of every answer taken so far, by ticket.
    answers: Vec<u64>,
    stop: Option<StopReason>,
}

impl<'s, B: Belief, C: Choice<B>, U: Update<B>> Session<'s, B, C, U> {
    fn from_parts(state: State<B, C, U>, sight: Sight<'s>) -> Self {
        let dim = state.point.len();
        let looks = if state.choice.needs().oracle { state.users() * dim } else { 0 };
        let hessian = if state.update.needs_hessians() { dim * dim } else { 0 };
        Self {
            next_point: Arc::from(&*state.point),
            all_gradients: vec![0.0; looks],
            hessian: vec![0.0; hessian],
            state,
            sight,
        }
    }

    /// Whom to ask next, and where; `None` once the run has stopped.
    ///
    /// Until the answer is told, asking again gives the same question.
    pub fn ask(&mut self) -> Result<Option<Query>, ChoiceError> {
        if self.state.stop.is_some() {
            return Ok(None);
        }
        let pending = match (self.state.pending, self.state.sweep) {
            (Some(pending), _) => pending,
            (None, Some(user)) => Chosen::user(user),
            (None, None) => self.choose()?,
        };
        self.state.pending = Some(pending);
        Ok(Some(Query {
            ticket: self.state.open_ticket(),
            user: pending.user,
            point: self.state.extra_point().map_or_else(|| Arc::clone(&self.state.point), Arc::from),
            explored: pending.explored,
        }))
    }

    fn choose(&mut self) -> Result<Chosen, ChoiceError> {
        let state = &mut self.state;
        let users = state.users();
        let mut all_gradients = None;
        if let (true, Some(oracle)) = (state.choice.needs().oracle, self.sight.oracle()) {
            state.meter.look_at_all(oracle, &state.point, &mut self.all_gradients);
            all_gradients = Some(&*self.all_gradients);
        }
        let scene = Scene {
            users,
            point: &state.point,
            step_size: state.schedule.at(state.steps),
            belief: &state.belief,
            own_step: state.update.has_own_step(),
            smoothness: state.smoothness.as_ref(),
            all_gradients,
            problem: self.sight.problem().filter(|_| state.choice.needs().losses),
            meter: &state.meter,
        };
        let chosen = state.choice.choose(&scene, &mut state.random)?;
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
        let state = &mut self.state;
        if let Some(&taken) = usize::try_from(ticket.0).ok().and_then(|number| state.answers.get(number)) {
            return if taken == fingerprint(gradient) { Ok(()) } else { Err(TellError::AnsweredAlready { ticket }) };
        }
        let Some(chosen) = state.pending.filter(|_| ticket == state.open_ticket()) else {
            return Err(TellError::UnknownTicket { ticket });
        };
        let user = chosen.user;
        if gradient.len() != state.point.len() {
            return Err(TellError::Length { user, expected: state.point.len(), found: gradient.len() });
        }
        if !kernel::all_within(gradient, f64::MAX)
            && let Some(coordinate) = gradient.iter().position(|value| !value.is_finite())
        {
            return Err(TellError::NotFinite { user, coordinate, value: gradient[coordinate] });
        }
        // An answer at another point is for the update alone.
        if state.extra_point().is_none() {
            state.belief.check(user, &state.point, gradient)?;
        }

        state.answers.push(fingerprint(gradient));
        state.meter.bill(user);
        let mut moved = false;
        if state.extra_point().is_some() {
            state.update.observe_extra(gradient);
            // The question to the same user at the current point follows.
            state.extra_done = true;
        } else {
            state.pending = None;
            state.extra_done = false;
            moved = self.take_answer(&chosen, gradient);
        }
        if self.state.stop.is_none() {
            self.state.stop = self.reason_to_stop(moved);
        }
        Ok(())
    }

    /// Uses an answer at the current point; returns whether the point has moved.
    fn take_answer(&mut self, chosen: &Chosen, gradient: &[f64]) -> bool {
        let state = &mut self.state;
        let user = chosen.user;
        let mut reply =
            Reply { user, point: &state.point, gradient, sweep: state.sweep.is_some(), loss: None, hessian: None };
        if let Some(problem) = self.sight.problem() {
            if state.choice.needs().losses {
                reply.loss = Some(problem.user_value(user, reply.point));
            }
            if state.update.needs_hessians() && problem.hessian(user, reply.point, &mut self.hessian) {
                reply.hessian = Some(&self.hessian);
            }
        }
        let size = state.schedule.at(state.steps);
        // The asked point is still needed, and the question may still be held by the caller: write beside it.
        let next_point = Arc::make_mut(&mut self.next_point);
        next_point.copy_from_slice(&state.point);
        let mut moved = false;
        let sweep = state.sweep;
        if let Some(user) = sweep {
            let wanted = state.update.wants_sweep();
            if wanted {
                state.update.observe_sweep(&reply);
            }
            state.sweep = Some(user + 1).filter(|next| *next < state.meter.billed_per_user().len());
            if wanted && state.sweep.is_none() {
                moved = state.update.finish_sweep(size, next_point);
            }
        } else {
            let smoothness = state.smoothness.as_ref();
            let step = Step { belief: &state.belief, reply, weight: chosen.weight, size, smoothness };
            state.update.step(&step, &mut state.random, next_point);
            moved = true;
        }
        state.belief.observe(user, reply.point, gradient);
        if sweep.is_none() {
            let smoothness = state.smoothness.as_ref();
            let step = Step { belief: &state.belief, reply, weight: chosen.weight, size, smoothness };
            state.update.arrive(&step, next_point);
        }
        state.choice.observe(&reply, &mut state.random);
        if moved {
            state.steps += 1;
            if state.stop_rules.diverged(next_point) {
                state.stop = Some(StopReason::Diverged { steps: state.steps });
                return moved;
            }
            std::mem::swap(&mut state.point, &mut self.next_point);
        }
        if state.sweep.is_none() {
            state.sweep = state.update.wants_sweep().then_some(0);
        }
        moved
    }

    /// The gap, which can be costly to compute, is only looked at where the point has moved.
    fn reason_to_stop(&self, moved: bool) -> Option<StopReason> {
        let state = &self.state;
        state.stop_rules.reason(
            state.meter.billed(),
            || if moved { self.sight.gap(&state.point) } else { None },
            state.belief.surrogate_gradient(),
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
        open::theorem(&self.state.belief, &self.state.choice, &self.state.update)
    }

    /// The counts, user by user, billed and diagnostic.
    pub fn meter(&self) -> &Meter {
        &self.state.meter
    }

    /// What is believed of the users.
    pub fn belief(&self) -> &B {
        &self.state.belief
    }

    /// `‖ḡ‖`, the norm of the belief's estimate of `∇f`, once it has one. It is made of answers that were paid for, so a real
    /// run can watch it.
    pub fn surrogate_gradient_norm(&self) -> Option<f64> {
        self.state.belief.surrogate_gradient().map(kernel::norm)
    }

    pub(crate) fn choice(&self) -> &C {
        &self.state.choice
    }

    pub(crate) fn update(&self) -> &U {
        &self.state.update
    }

    /// Why the run stopped; `None` while it goes on.
    pub fn stop_reason(&self) -> Option<StopReason> {
        self.state.stop
    }
}

impl<B: Belief, C, U: Update<B>> State<B, C, U> {
    /// Where the user of the coming step is still to be asked first.
    fn extra_point(&self) -> Option<&[f64]> {
        if self.sweep.is_some() || self.extra_done { None } else { self.update.extra_point() }
    }
}

impl<B, C, U> State<B, C, U> {
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
    #[error("no question with ticket {} is open: tell answers to the question that `ask` returned last", .ticket.0)]
    UnknownTicket { ticket: Ticket },
    #[error("the question with ticket {} already has another answer: an answer cannot be changed once it is used", .ticket.0)]
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
