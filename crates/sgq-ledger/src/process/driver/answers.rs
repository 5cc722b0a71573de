//! What becomes of the lines that processes write.

use std::time::Instant;

use sgq::session::Failure;

use super::{
    super::{
        ProcessError,
        worker::{Came, What},
    },
    Driver, Out, Stage,
};
use crate::{
    LedgerError, Rejected, Reply, Saying, Told,
    ledger::{Line, WrongLine, not_out},
    notice::{Doing, Notice},
    wire::kept,
};

/// So many lines are written to the disk at once, or so many bytes.
const LINES_AT_ONCE: usize = 256;
const BYTES_AT_ONCE: usize = 8 << 20;

impl Driver<'_> {
    /// Takes in what came, and what else is there already, in one write.
    pub(super) fn take_in(&mut self, first: Came) -> Result<(), ProcessError> {
        let mut bytes = first.len();
        let mut batch = vec![first];
        while batch.len() < LINES_AT_ONCE
            && bytes < BYTES_AT_ONCE
            && let Ok(more) = self.came.1.try_recv()
        {
            bytes += more.len();
            batch.push(more);
        }
        let mut closed = Vec::new();
        let (lines, others): (Vec<Came>, Vec<Came>) =
            batch.into_iter().partition(|came| matches!(came.what, What::Line(_) | What::Unreadable(_)));
        for came in others {
            match came.what {
                What::Closed => closed.push(came.from),
                What::Words(words) => {
                    let notice = Notice::new(Doing::Said, None, self.name_of(came.from.slot), words);
                    self.notices.push(notice);
                }
                What::Line(_) | What::Unreadable(_) => {}
            }
        }
        if !lines.is_empty() {
            self.together(|driver| lines.into_iter().try_for_each(|came| driver.take_line(came)))?;
            self.check_that_anybody_answers()?;
        }
        // Whoever has closed has said before what it had to say.
        closed.into_iter().try_for_each(|id| self.has_ended(id))
    }

    /// Lets all that happens inside be one write.
    pub(super) fn together(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<(), LedgerError>,
    ) -> Result<(), LedgerError> {
        self.ledger.begin_group()?;
        let result = work(self);
        let ended = self.ledger.end_group();
        result.and(ended)
    }

    fn take_line(&mut self, came: Came) -> Result<(), LedgerError> {
        let (place, sender) = (came.from.slot, self.sender(came.from.slot));
        let line = match came.what {
            What::Line(line) if line.trim().is_empty() => return Ok(()),
            What::Line(line) => line,
            What::Unreadable(why) => return self.refuse(place, None, sender, &Rejected::Unreadable(why), ""),
            What::Words(_) | What::Closed => return Ok(()),
        };
        let Line { ticket, user: speaks, saying } = match self.ledger.read_line(&line, sender) {
            Ok(read) => read,
            Err(WrongLine { ticket, user, why }) => return self.refuse(place, ticket, user, &why, &line),
        };
        match saying {
            Saying::Error(reason) => self.has_error(place, ticket, speaks, &reason, &line),
            Saying::Report(report) => {
                let told = self.ledger.tell_report(ticket, &report, speaks);
                self.tell(place, ticket, told, speaks)
            }
            Saying::Answer(reply) if self.has_to_wait(ticket) => self.hold(place, ticket, &reply, speaks),
            Saying::Answer(reply) => {
                let told = self.ledger.tell_from(ticket, &reply, speaks, false);
                self.tell(place, ticket, told, speaks)?;
                self.release()
            }
        }
    }

    /// What an earlier run has left: answers whose turn has come, or whose question has failed since.
    pub(super) fn tell_what_is_held(&mut self) -> Result<(), LedgerError> {
        let held: Vec<u64> = self.ledger.held().collect();
        for ticket in held {
            if !(self.options.in_order && self.out.contains_key(&ticket)) {
                self.tell_held(ticket)?;
            }
        }
        self.release()
    }

    /// Whether the answer to an earlier question has to come first.
    fn has_to_wait(&self, ticket: u64) -> bool {
        self.options.in_order && self.out.contains_key(&ticket) && self.first_in_order() != Some(ticket)
    }

    /// The earliest question that an answer can come to: nobody waits for a user who is away and has not been asked.
    fn first_in_order(&self) -> Option<u64> {
        let can_come = |out: &Out| !(matches!(out.stage, Stage::Due(_)) && self.is_away(&out.question));
        self.out.iter().find(|(_, out)| can_come(out)).map(|(ticket, _)| *ticket)
    }

    fn hold(&mut self, place: usize, ticket: u64, reply: &Reply, speaks: Option<usize>) -> Result<(), LedgerError> {
        match self.ledger.hold(ticket, reply, speaks) {
            Ok(Told::Known) => self.was_wrong(place, None, "it was told before"),
            Ok(_) => {
                if let Some(out) = self.out.get_mut(&ticket) {
                    out.stage = Stage::Held;
                }
                self.was_right(place)?;
                // It may be the first one after all, now that it has come.
                self.release()
            }
            Err(LedgerError::Rejected(why)) => self.was_refused(place, ticket, speaks, &why),
            Err(error) => Err(error),
        }
    }

    /// Tells the answers whose turn it is.
    fn release(&mut self) -> Result<(), LedgerError> {
        while let Some(ticket) = self.first_in_order().filter(|ticket| self.ledger.is_held(*ticket)) {
            self.tell_held(ticket)?;
        }
        Ok(())
    }

    /// Tells an answer that has waited. Where it is refused now, its question is put again.
    fn tell_held(&mut self, ticket: u64) -> Result<(), LedgerError> {
        match self.ledger.tell_held(ticket) {
            Ok(told) => self.was_told(ticket, None, told),
            Err(LedgerError::Rejected(why)) => {
                self.notices.push(Notice::new(Doing::Refused, Some(ticket), self.asked(ticket, None), why.to_string()));
                self.came_to_nothing(ticket, &why.to_string())
            }
            Err(error) => Err(error),
        }
    }

    /// The name of the user that a question is for, or who speaks of it.
    fn asked(&self, ticket: u64, speaks: Option<usize>) -> Option<&str> {
        let spoken = || speaks.and_then(|user| self.ledger.users().get(user)).map(|user| &*user.name);
        self.out.get(&ticket).map(|out| &*out.question.name).or_else(spoken)
    }

    fn tell(
        &mut self,
        place: usize,
        ticket: u64,
        told: Result<Told, LedgerError>,
        speaks: Option<usize>,
    ) -> Result<(), LedgerError> {
        match told {
            Ok(told) => {
                let is_new = told != Told::Known;
                self.was_told(ticket, speaks, told)?;
                if is_new { self.was_right(place) } else { self.was_wrong(place, None, "it was told before") }
            }
            Err(LedgerError::Rejected(why)) => self.was_refused(place, ticket, speaks, &why),
            Err(error) => Err(error),
        }
    }

    /// The program works, so that questions whose tries are spent have failed.
    fn was_right(&mut self, place: usize) -> Result<(), LedgerError> {
        self.works = true;
        if let Some(slot) = self.slots.get_mut(&place) {
            slot.wrong = 0;
            slot.worker.iter_mut().for_each(|worker| worker.answers += 1);
        }
        while let Some((ticket, why)) = self.spent.pop_first() {
            self.fail(ticket, &why)?;
        }
        Ok(())
    }

    fn was_told(&mut self, ticket: u64, speaks: Option<usize>, told: Told) -> Result<(), LedgerError> {
        self.notices.push(Notice::new(Doing::Taken, Some(ticket), self.asked(ticket, speaks), told.words()));
        self.out.remove(&ticket);
        self.ask()
    }

    fn was_refused(
        &mut self,
        place: usize,
        ticket: u64,
        speaks: Option<usize>,
        why: &Rejected,
    ) -> Result<(), LedgerError> {
        self.notices.push(Notice::new(Doing::Refused, Some(ticket), self.asked(ticket, speaks), why.to_string()));
        self.was_wrong(place, Some(ticket), &why.to_string())
    }

    fn refuse(
        &mut self,
        place: usize,
        ticket: Option<u64>,
        user: Option<usize>,
        why: &Rejected,
        line: &str,
    ) -> Result<(), LedgerError> {
        self.ledger.refuse(ticket, user, why, line)?;
        let name = user.and_then(|user| self.ledger.users().get(user)).map(|user| user.name.clone());
        self.notices.push(Notice::new(Doing::Refused, ticket, name.as_deref(), why.to_string()));
        self.was_wrong(place, ticket, &why.to_string())
    }

    /// What comes of a line that was no answer: its question, if it is one that this process has, is put again.
    fn was_wrong(&mut self, place: usize, ticket: Option<u64>, why: &str) -> Result<(), LedgerError> {
        if let Some(slot) = self.slots.get_mut(&place) {
            slot.wrong += 1;
            if slot.wrong == self.options.wrong_lines {
                self.to_end.push(place);
            }
        }
        match ticket {
            Some(ticket) if self.has(place, ticket) => self.came_to_nothing(ticket, why),
            _ => Ok(()),
        }
    }

    /// Whether a question is with the process of a place.
    fn has(&self, place: usize, ticket: u64) -> bool {
        let is_with = |out: &Out| match out.stage {
            Stage::Sent { to, .. } => to.slot == place,
            // An answer that is there is not lost by what else comes.
            Stage::Held | Stage::Due(_) | Stage::Spent => false,
        };
        self.out.get(&ticket).is_some_and(is_with)
    }

    fn has_error(
        &mut self,
        place: usize,
        ticket: u64,
        speaks: Option<usize>,
        reason: &str,
        line: &str,
    ) -> Result<(), LedgerError> {
        let owner = self.out.get(&ticket).map(|out| out.question.user);
        if !self.has(place, ticket) || speaks.is_some_and(|user| owner != Some(user)) {
            return self.refuse(place, Some(ticket), speaks, &not_out(ticket), line);
        }
        self.ledger.note_error(ticket, owner, reason)?;
        self.came_to_nothing(ticket, &format!("it said: {}", kept(reason)))
    }

    /// A question is put again after a while, or fails.
    pub(super) fn came_to_nothing(&mut self, ticket: u64, why: &str) -> Result<(), LedgerError> {
        let Some(out) = self.out.get_mut(&ticket) else {
            return Ok(());
        };
        out.tries += 1;
        if out.tries > self.options.retries {
            let tries = out.tries;
            let words = if tries > 1 { format!("{why} (tried {tries} times)") } else { why.to_owned() };
            if self.works {
                return self.fail(ticket, &words);
            }
            out.stage = Stage::Spent;
            self.in_vain.insert(out.question.user);
            self.spent.insert(ticket, words);
            return self.judge_program();
        }
        let wait = self.options.wait_before(ticket, out.tries);
        out.stage = Stage::Due(Instant::now() + wait);
        let words = format!("in {:.1} s: {why}", wait.as_secs_f64());
        self.notices.push(Notice::new(Doing::Again, Some(ticket), Some(&out.question.name), words));
        Ok(())
    }

    /// Nothing was answered yet, and the tries of some questions are spent. Is the program broken, or are their users? Once two users,
    /// and whoever else has a question, were tried in vain, the program is; until then one question fails, so that somebody else is
    /// asked.
    fn judge_program(&mut self) -> Result<(), LedgerError> {
        let may_come = |out: &Out| !matches!(out.stage, Stage::Spent) && !self.is_away(&out.question);
        if self.out.values().any(may_come) {
            return Ok(());
        }
        if self.in_vain.len() >= self.ledger.users().len().min(2) {
            self.is_broken = true;
            return Ok(());
        }
        match self.spent.pop_first() {
            Some((ticket, why)) => self.fail(ticket, &why),
            None => Ok(()),
        }
    }

    pub(super) fn fail(&mut self, ticket: u64, why: &str) -> Result<(), LedgerError> {
        let name = self.out.remove(&ticket).map(|out| out.question.name);
        self.spent.remove(&ticket);
        self.ledger.fail(ticket, Failure::new().because(why))?;
        self.notices.push(Notice::new(Doing::Failed, Some(ticket), name.as_deref(), why));
        self.ask()?;
        self.release()
    }
}
