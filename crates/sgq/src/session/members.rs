//! Users who leave, and join again.

use thiserror::Error;

use super::{Outcome, Session, questions::Sweep};
use crate::update::Wants;

impl Session<'_> {
    /// Says that a user is no longer one: the objective becomes the mean over the others, and what it answered is forgotten. What is
    /// still out to it will not be waited for; an answer that comes all the same is billed, and not used.
    ///
    /// A method that keeps something of each user in its update, such as a snapshot of everybody, cannot let anybody go: then nothing
    /// changes. For somebody who will be back, see [`away`](Session::away).
    ///
    /// ```
    /// # use sgq::{Session, Settings, method};
    /// // (x − b)² for b = 0, 4 and 90: the third user leaves.
    /// let mut session = Session::new(method::frugal(), Settings::new(vec![0.0], 3).smoothness(vec![2.0; 3]).budget(40))?;
    /// while let Some(query) = session.ask()? {
    ///     session.tell(query.ticket, &[2.0 * (query.point[0] - [0.0, 4.0, 90.0][query.user])])?;
    ///     if session.queries() == 9 {
    ///         session.leave(2)?;
    ///     }
    /// }
    /// assert!((session.point()[0] - 2.0).abs() < 1e-6);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn leave(&mut self, user: usize) -> Result<(), MemberError> {
        let users = self.state.users();
        if user >= users {
            return Err(MemberError::NoSuchUser { user, users });
        }
        if self.state.left.contains(&user) {
            return Ok(());
        }
        if self.state.left.len() + 1 == users {
            return Err(MemberError::LastUser { user });
        }
        // A sweep for the update counts on everybody.
        let sweeping = self.state.sweep.is_some() && self.parts.wants() == Wants::Everybody;
        if sweeping || !self.parts.leave(user) {
            return Err(MemberError::Method { method: self.state.name.clone() });
        }
        self.state.left.insert(user);
        let next = self.next_of_sweep(user + 1);
        let state = &mut self.state;
        state.follow_up = state.follow_up.filter(|chosen| chosen.user != user);
        let out = state.questions.open.iter().find(|question| question.chosen.user == user);
        if let Some(ticket) = out.map(|question| question.ticket) {
            state.questions.close(ticket, Outcome::Failed { billed: false });
        }
        if let Some(sweep) = &mut state.sweep {
            sweep.next = if sweep.next == Some(user) { next } else { sweep.next };
            sweep.again.retain(|other| *other != user);
            sweep.held.retain(|(question, _)| question.chosen.user != user);
        }
        self.release_held();
        if self.state.sweep.as_ref().is_some_and(|sweep| sweep.is_over(&self.state.questions.open)) {
            self.state.sweep = None;
        }
        Ok(())
    }

    /// Says that a user who had [left](Session::leave) is one again, of whom nothing is known yet. Whoever may take part at some time is
    /// counted when the session is opened, and can leave at once.
    pub fn join(&mut self, user: usize) -> Result<(), MemberError> {
        let users = self.state.users();
        if user >= users {
            return Err(MemberError::NoSuchUser { user, users });
        }
        if !self.state.left.remove(&user) {
            return Ok(());
        }
        self.parts.belief_mut().join(user);
        // Where steps need an answer of everybody, this one is asked first, unless its turn is still to come.
        if self.parts.belief().wants_first_sweep() {
            let sweep = self.state.sweep.get_or_insert_with(Sweep::default);
            if sweep.next.is_none_or(|next| user < next) {
                sweep.again.push(user);
            }
        }
        self.go_on_with_somebody();
        Ok(())
    }

    /// Whether a user has [left](Session::leave).
    pub fn has_left(&self, user: usize) -> bool {
        self.state.left.contains(&user)
    }
}

/// Why a user could not leave or join.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[allow(missing_docs)] // the message says what each field is
#[non_exhaustive]
pub enum MemberError {
    #[error("there is no user {user}: there are only {users}, and users count from 0")]
    NoSuchUser { user: usize, users: usize },
    #[error("user {user} is the last one: without users there is no objective")]
    LastUser { user: usize },
    #[error(
        "{method} keeps something of each user and cannot let anybody go: say that the user is away, or open a session on the answers \
         of the others"
    )]
    Method { method: String },
}
