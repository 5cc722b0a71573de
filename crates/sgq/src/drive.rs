//! The loop: questions to users that are at hand, until there is a reason to stop.

mod behaviour;
mod clock;

use std::{io, ops::ControlFlow};

use thiserror::Error;

use crate::{Answer, ChoiceError, Oracle, Query, Session, SettingsError, StopReason, TellError, answer::OwnedAnswer};
pub use behaviour::{Absence, Behaviour, BehaviourError, Late, Latency, Noise, Slowness};
pub use clock::Clock;
use clock::Happened;

/// One billed answer, as an observer sees it.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Billed<'a> {
    /// Queries paid for so far, this one included.
    pub queries: u64,
    /// What was asked.
    pub query: &'a Query,
    /// The answer.
    pub answer: Answer<'a>,
    /// The step size `α_t` that the choice was made with.
    pub step_size: f64,
    /// The simulated time at which it came; 0 where no clock says.
    pub time: f64,
}

impl<'a> Billed<'a> {
    /// An answer as the loop would show it: for whoever asks users in a loop of their own.
    pub fn new(queries: u64, query: &'a Query, answer: impl Into<Answer<'a>>, step_size: f64) -> Self {
        Self { queries, query, answer: answer.into(), step_size, time: 0.0 }
    }
}

/// Watches a run, and may end it.
pub trait Observer {
    /// A question was chosen, and its user begins to work.
    fn asked(&mut self, session: &Session<'_>, query: &Query) {
        let _ = (session, query);
    }

    /// An answer is there, and the session has not used it yet: the place to record it. An error ends the run.
    fn telling(&mut self, billed: &Billed<'_>) -> io::Result<()> {
        let _ = billed;
        Ok(())
    }

    /// The session has used an answer.
    fn told(&mut self, session: &Session<'_>) -> ControlFlow<()>;
}

/// Puts every question of a session to the user it is for, until it stops or the observer ends it; then `None`. Where several
/// may be open, as many are, and they are answered in the order in which they were asked.
///
/// Here a run has *diverged* where the session says so, and where a user's exact answer is past what numbers can hold.
pub fn drive(
    session: &mut Session<'_>,
    users: &dyn Oracle,
    observer: &mut dyn Observer,
) -> Result<Option<StopReason>, DriveError> {
    drive_by(session, users, &mut Clock::default(), observer)
}

/// The same with users who behave as a clock says: answers come in their own time and order, late or never.
///
/// A clock goes on where it was: a run that the observer ended can be driven on with the same clock. Where questions fail at
/// random, everybody is asked again after a run stopped as [`NobodyAnswers`](StopReason::NobodyAnswers). Late answers that come
/// after the end of a run are not waited for.
///
/// ```
/// use std::ops::ControlFlow;
/// use sgq::{Session, Settings, drive::{Behaviour, Clock, Latency, Observer, drive_by}, method, problem::Quadratic};
///
/// struct Patient;
/// impl Observer for Patient {
///     fn told(&mut self, _: &Session<'_>) -> ControlFlow<()> {
///         ControlFlow::Continue(())
///     }
/// }
///
/// let users = Quadratic::scalar(&[1.0; 4], &[2.0, 1.0, -1.0, -2.0])?;
/// let settings = Settings::for_problem(vec![5.0], &users).budget(40).open(4);
/// let mut session = Session::new(method::frugal(), settings)?;
/// let behaviour = Behaviour { latency: Latency::Exponential(1.0), failure: 0.3, ..Behaviour::default() };
/// let mut clock = Clock::new(behaviour, 4, 7)?;
/// drive_by(&mut session, &users, &mut clock, &mut Patient)?;
/// assert!(session.queries() == 40 && clock.time() < 40.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn drive_by(
    session: &mut Session<'_>,
    users: &dyn Oracle,
    clock: &mut Clock,
    observer: &mut dyn Observer,
) -> Result<Option<StopReason>, DriveError> {
    session.check_users(users)?;
    clock.begin(session)?;
    let mut answer = OwnedAnswer::default();
    loop {
        for query in session.ask_many(usize::MAX)? {
            if clock.is_new(&query) {
                observer.asked(session, &query);
                clock.put(query);
            }
        }
        let query = match clock.next(session)? {
            Some(Happened::Answered(query)) => query,
            Some(Happened::Failed(query)) => {
                session.fail(query.ticket)?;
                continue;
            }
            Some(Happened::Other) => continue,
            None => break,
        };
        answer.ask(users, &query);
        if !Answer::from(&answer).is_finite() {
            session.stop_as_diverged();
            break;
        }
        clock.disturb(&query, users, &mut answer);
        let (queries, answer) = (session.queries() + 1, Answer::from(&answer));
        let (step_size, time) = (session.step_size(), clock.time());
        observer.telling(&Billed { queries, query: &query, answer, step_size, time })?;
        session.tell(query.ticket, answer)?;
        if observer.told(session).is_break() && session.stop_reason().is_none() {
            return Ok(None);
        }
    }
    Ok(session.stop_reason())
}

/// Why a run could not go on.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum DriveError {
    /// The session is not one for these users.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The choice failed.
    #[error(transparent)]
    Choice(#[from] ChoiceError),
    /// The session refused an answer.
    #[error(transparent)]
    Tell(#[from] TellError),
    /// The answers could not be recorded.
    #[error("the answers could not be recorded: {0}")]
    Record(#[from] io::Error),
}
