//! Ask and tell: the state machine that every run goes through.

mod answers;
mod asking;
mod earlier;
mod ending;
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
    Answer, Belief, Chosen, Detail, Meter, Oracle, Problem, Random, Smoothness, Why, answer::OwnedAnswer,
    choice::Purpose, kernel, method::Parts, random::Fingerprint, step_size::Schedule, theory::Theorem,
};

pub use answers::Fate;
pub use earlier::{EarlierError, PaidAnswer, Refused};
pub use ending::Uncertified;
use ending::{Certifying, GradientSizes};
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
    /// Why this user is asked.
    pub why: Why,
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
        let Self { ticket, chosen, purpose, point, .. } = self;
        let why = match (purpose, chosen.explored) {
            (Purpose::Sweep { .. }, _) => Why::Sweep,
            (Purpose::Elsewhere, _) => Why::Elsewhere,
            (_, Some(true)) => Why::Explored,
            (_, Some(false)) => Why::Scored,
            (_, None) => chosen.why,
        };
        let Chosen { user, explored, .. } = *chosen;
        Query { ticket: *ticket, user, point: Arc::clone(point), explored, why, wants }
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
    gradient_sizes: GradientSizes,
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
