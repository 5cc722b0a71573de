//! Questions: on the disk before they go out.

use std::sync::Arc;

use sgq::{Detail, Query, Why};

use super::Ledger;
use crate::{Event, Kind, LedgerError, Wants, seal::Details, study::Shared};

/// A question that is out.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Question {
    /// What to give back with the answer.
    pub ticket: u64,
    /// The user to ask, from 0.
    pub user: usize,
    /// Its name.
    pub name: String,
    /// Where its gradient is wanted.
    pub point: Arc<[f64]>,
    /// What would be of use beside the gradient.
    pub wants: Detail,
    /// What is wanted in place of a gradient, where everybody is asked the same.
    pub report: Option<Wants>,
    /// What goes with it in a study by a plan.
    pub shared: Option<Arc<Shared>>,
    /// Why this user.
    pub why: Why,
    /// Whether it was picked at random in order to explore; none for methods without exploration.
    pub explored: Option<bool>,
    /// When it was asked, in milliseconds since 1970.
    pub asked_at: i64,
}

impl Ledger {
    /// The questions that are out, in the order in which they were asked.
    pub fn pending(&self) -> Vec<Question> {
        let mut questions = self.round_questions();
        questions.extend(self.session.pending().map(|query| self.question(query)));
        questions
    }

    fn question(&self, query: Query) -> Question {
        let Query { ticket, user, point, wants, why, explored, .. } = query;
        let ticket = self.tickets.of_record(ticket);
        let asked_at = self.asked_at.get(&ticket).copied().unwrap_or(0);
        let (name, shared) = (self.users()[user].name.clone(), self.shared.clone());
        Question { ticket, user, name, point, wants, report: None, shared, why, explored, asked_at }
    }

    /// Whom to ask next, and where, as [`Session::ask`](sgq::Session::ask): it is on the disk before it is returned. Where everybody is
    /// asked the same, it is the first question that has no answer yet.
    pub fn ask(&mut self) -> Result<Option<Question>, LedgerError> {
        self.check_fresh()?;
        self.advance()?;
        if self.rounds_are_open() {
            return Ok(self.round_questions().into_iter().next());
        }
        if self.session.must_wait() || self.asked_in_vain || !self.failing()?.is_empty() {
            return Ok(None);
        }
        let next = self.session.next_ticket();
        match self.session.ask()? {
            Some(query) if query.ticket == next => {
                let ticket = Some(self.tickets.of_record(query.ticket));
                let event = Event { ticket, user: Some(query.user), ..Event::now(Kind::Asked) };
                let at = event.at;
                let Query { why, wants, .. } = query;
                let details = Details::Question { why, wants, point: &query.point };
                self.transaction(|ledger| ledger.write(event, details))?;
                ticket.map(|ticket| self.asked_at.insert(ticket, at));
                Ok(Some(self.question(query)))
            }
            // Where one question may be out, it is given again.
            Some(query) => Ok(Some(self.question(query))),
            None => {
                (self.asked_in_vain, self.vain_unwritten) = (true, true);
                if self.session.stop_reason().is_some() {
                    self.flush()?;
                }
                Ok(None)
            }
        }
    }

    /// As many further questions as may be out, at most so many, in one write.
    pub fn ask_many(&mut self, most: usize) -> Result<Vec<Question>, LedgerError> {
        self.group(|ledger| {
            let has_opened = ledger.advance()?;
            let mut questions = if has_opened { ledger.round_questions() } else { Vec::new() };
            questions.truncate(most);
            if ledger.rounds_are_open() {
                return Ok(questions);
            }
            while questions.len() < most
                && let Some(question) = ledger.ask()?
            {
                if questions.last().is_some_and(|last| last.ticket == question.ticket) {
                    break;
                }
                questions.push(question);
            }
            Ok(questions)
        })
    }

    /// The questions that are out, and further ones until there are so many.
    pub fn questions(&mut self, count: usize) -> Result<Vec<Question>, LedgerError> {
        let out = self.pending().len();
        if out < count {
            self.ask_many(count - out)?;
        }
        let mut questions = self.pending();
        questions.truncate(count);
        Ok(questions)
    }
}
