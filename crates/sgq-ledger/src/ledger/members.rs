//! Whatever else happens to a session: failures, users who go and come, more of a budget.

use sgq::{Session, session::Failure};

use super::Ledger;
use crate::{Event, Extension, Kind, LedgerError, plan::with_names, record, restore, wire::kept};

impl Ledger {
    /// Says that a question will not be answered, as [`Session::fail_with`](sgq::Session::fail_with).
    pub fn fail(&mut self, ticket: u64, failure: Failure<'_>) -> Result<(), LedgerError> {
        self.check_fresh()?;
        if self.fail_report(ticket, failure)? {
            return Ok(());
        }
        let out = self.session.pending().find(|query| self.tickets.of_record(query.ticket) == ticket);
        let Some(query) = out else {
            // Somebody who left, a failure told twice, or a slip.
            let known = record::question(&self.connection, ticket)?;
            return known.map(drop).ok_or(LedgerError::UnknownTicket { ticket });
        };
        let cost = failure.billed.then(|| self.session.meter().cost_of(query.user));
        let words = failure.reason.map(kept);
        let event = Event { ticket: Some(ticket), user: Some(query.user), words, cost, ..Event::now(Kind::Failed) };
        self.record(event.clone())?;
        // As a replay has it.
        self.session.fail_with(query.ticket, restore::failure(&event)).map_err(|error| self.behind(&error))?;
        self.asked_at.remove(&ticket);
        Ok(())
    }

    /// Says that a user cannot be asked until it is back, as [`Session::away`](sgq::Session::away).
    pub fn away(&mut self, user: usize, reason: Option<&str>) -> Result<(), LedgerError> {
        self.member(Kind::Away, user, reason, |session| Ok(session.away(user)?))
    }

    /// Says that a user can be asked again, as [`Session::back`](sgq::Session::back).
    pub fn back(&mut self, user: usize, reason: Option<&str>) -> Result<(), LedgerError> {
        self.member(Kind::Back, user, reason, |session| Ok(session.back(user)?))
    }

    /// Lets whoever has [failed](Self::failing) again and again be asked again: somebody has started the study once more.
    pub fn ask_failing_again(&mut self) -> Result<(), LedgerError> {
        for missing in self.failing()? {
            let user = self.user(&missing.name)?;
            self.back(user, Some("it is asked again"))?;
        }
        Ok(())
    }

    /// Says that a user is no longer one, as [`Session::leave`](sgq::Session::leave).
    pub fn leave(&mut self, user: usize, reason: Option<&str>) -> Result<(), LedgerError> {
        self.member(Kind::Left, user, reason, |session| Ok(session.leave(user)?))
    }

    /// Says that a user who had left is one again, as [`Session::join`](sgq::Session::join).
    pub fn join(&mut self, user: usize, reason: Option<&str>) -> Result<(), LedgerError> {
        self.member(Kind::Joined, user, reason, |session| Ok(session.join(user)?))
    }

    /// These may be refused, and only the session knows: a copy of it is tried first.
    fn member(
        &mut self,
        kind: Kind,
        user: usize,
        reason: Option<&str>,
        happen: impl Fn(&mut Session<'static>) -> Result<(), LedgerError>,
    ) -> Result<(), LedgerError> {
        self.check_fresh()?;
        let Some(account) = self.accounts.get(user) else {
            let names = self.users().iter().map(|user| user.name.clone()).collect();
            return Err(LedgerError::UnknownUser { name: user.to_string(), names });
        };
        // Nothing is forgotten of somebody who has never left.
        if kind == Kind::Joined && !self.session.has_left(user) {
            return Ok(());
        }
        if matches!(kind, Kind::Back | Kind::Joined)
            && let Some(why) = self.header.protection.is_spent(account)
        {
            return Err(LedgerError::Spent { name: self.users()[user].name.clone(), why });
        }
        if let Some(begun) =
            self.header.begun.as_ref().filter(|begun| kind == Kind::Joined && begun.member(user).is_none())
        {
            let users = begun.members.len();
            let name = &self.users()[user].name;
            let what =
                format!("{name:?} cannot join: it has given no first answer, and the study began with {users} others");
            return Err(LedgerError::Users { what });
        }
        if kind == Kind::Left {
            happen(&mut self.copy()?).map_err(|error| match error {
                LedgerError::Member(error) => LedgerError::Users { what: with_names(&error.to_string(), self.users()) },
                error => error,
            })?;
        }
        let words = reason.map(kept);
        let event = Event { user: Some(user), words, ..Event::now(kind) };
        self.record(event.clone())?;
        self.rounds.happen(&event)?;
        happen(&mut self.session)?;
        self.asked_at.retain(|ticket, _| {
            let inner = self.tickets.of_session(*ticket);
            self.session.pending().any(|query| Some(query.ticket) == inner)
        });
        Ok(())
    }

    /// Raises a budget, or changes a tolerance.
    pub fn extend(&mut self, extension: Extension) -> Result<(), LedgerError> {
        self.check_fresh()?;
        extension.apply(&mut self.copy()?)?;
        let words = Some(serde_json::to_string(&extension)?);
        self.record(Event { words, ..Event::now(Kind::Extended) })?;
        extension.apply(&mut self.session)?;
        Ok(())
    }

    fn copy(&self) -> Result<Session<'static>, LedgerError> {
        let bytes = self.session.snapshot()?;
        let copy = Session::restore(self.header.method.clone(), &bytes, sgq::Sight::Blind);
        copy.map_err(|error| LedgerError::damaged(error.to_string()).of(&self.path))
    }

    /// Writes a line for whoever reads the record; nothing else changes.
    pub fn note(&mut self, user: Option<usize>, words: &str) -> Result<(), LedgerError> {
        let user = user.filter(|user| *user < self.users().len());
        self.record(Event { user, words: Some(words.to_owned()), ..Event::now(Kind::Noted) })
    }
}
