//! The loop: questions to users that are at hand, until there is a reason to stop.

use std::{collections::VecDeque, io, ops::ControlFlow};

use thiserror::Error;

use crate::{Answer, ChoiceError, Oracle, Query, Session, SettingsError, StopReason, TellError, answer::OwnedAnswer};

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
}

impl<'a> Billed<'a> {
    /// An answer as the loop would show it: for whoever asks users in a loop of their own.
    pub fn new(queries: u64, query: &'a Query, answer: impl Into<Answer<'a>>, step_size: f64) -> Self {
        Self { queries, query, answer: answer.into(), step_size }
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
    session.check_users(users)?;
    let mut answer = OwnedAnswer::default();
    let mut out: VecDeque<Query> = session.pending().collect();
    loop {
        for query in session.ask_many(usize::MAX)? {
            // Where one question may be out, it is given again.
            if out.iter().all(|other| other.ticket != query.ticket) {
                observer.asked(session, &query);
                out.push_back(query);
            }
        }
        let Some(query) = out.pop_front() else {
            break;
        };
        answer.ask(users, &query);
        let answer = Answer::from(&answer);
        if !answer.is_finite() {
            session.stop_as_diverged();
            break;
        }
        let step_size = session.step_size();
        observer.telling(&Billed { queries: session.queries() + 1, query: &query, answer, step_size })?;
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
