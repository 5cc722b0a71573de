//! Answers: looked at, then written, then used.

use std::sync::Arc;

use sgq::{Fate, PaidAnswer, TellError};

use super::Ledger;
use crate::{
    Event, Kind, LedgerError, Policy, Protection, Rejected, Reply, Wants, plan::with_names, record, seal::Details,
    wire::kept,
};

pub(super) const CAME_AGAIN: &str = "the same answer came again";

/// What became of an answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Told {
    /// It was taken.
    Taken,
    /// It was taken, though its question had failed or been withdrawn.
    Late,
    /// It waits for its turn.
    Held,
    /// It was told before: nothing changes.
    Known,
    /// It was taken and billed, and is of no use: its user has left.
    Unused,
    /// It was taken, and is odd.
    Flagged(String),
}

impl Told {
    /// For a person: nothing where all is as it should be.
    pub(crate) fn words(&self) -> String {
        match self {
            Self::Taken | Self::Held => String::new(),
            Self::Late => "late".to_owned(),
            Self::Unused => "billed and not used: it has left".to_owned(),
            Self::Known => "the same as before".to_owned(),
            Self::Flagged(why) => format!("and flagged: {why}"),
        }
    }
}

impl Ledger {
    /// Keeps the answer to a question until its turn has come: it is on the disk, and moves nothing before it is
    /// [told](Self::tell_held). One that cannot be right is refused; whether it is out of line shows when it is told.
    pub fn hold(&mut self, ticket: u64, reply: &Reply, sender: Option<usize>) -> Result<Told, LedgerError> {
        self.check_fresh()?;
        let looked = match self.look_at(ticket, reply, sender, true) {
            Err(LedgerError::Rejected(why)) => return self.refuse_answer(ticket, reply, sender, why, None),
            looked => looked?,
        };
        let about = |kind, words| Event { ticket: Some(ticket), user: Some(looked.user), words, ..Event::now(kind) };
        if looked.fate == Fate::Known || self.held.contains_key(&ticket) {
            self.record(about(Kind::Noted, Some(CAME_AGAIN.to_owned())))?;
            return Ok(Told::Known);
        }
        let event = Event { numbers: Some(reply.answer().numbers()), ..about(Kind::Held, None) };
        self.transaction(|ledger| ledger.write(event, Details::Answer(reply)))?;
        self.held.insert(ticket, (self.seq, reply.clone()));
        Ok(Told::Held)
    }

    /// The tickets whose answers wait for their turn.
    pub fn held(&self) -> impl Iterator<Item = u64> {
        self.held.keys().copied()
    }

    /// Whether the answer to a question waits for its turn.
    pub fn is_held(&self, ticket: u64) -> bool {
        self.held.contains_key(&ticket)
    }

    /// Takes an answer whose turn has come. One that is refused is not held any more, and its question stays open.
    pub fn tell_held(&mut self, ticket: u64) -> Result<Told, LedgerError> {
        let (_, reply) = self.held.get(&ticket).ok_or(LedgerError::UnknownTicket { ticket })?;
        self.tell(ticket, &reply.clone())
    }

    /// Takes the answer to a question, as [`Session::tell`](sgq::Session::tell): it is on the disk before the session uses it. One
    /// that cannot be taken is recorded with the reason, and its question stays open.
    pub fn tell(&mut self, ticket: u64, reply: &Reply) -> Result<Told, LedgerError> {
        self.tell_from(ticket, reply, None, false)
    }

    /// The same, where it is known who sent it: an answer for somebody else's question is refused. A person who has looked at an answer
    /// that is out of line may have it `accepted`.
    pub fn tell_from(
        &mut self,
        ticket: u64,
        reply: &Reply,
        sender: Option<usize>,
        accepted: bool,
    ) -> Result<Told, LedgerError> {
        self.check_fresh()?;
        match self.look_at(ticket, reply, sender, accepted).map_err(|error| error.of(&self.path)) {
            Ok(looked) => self.take(ticket, reply, looked),
            Err(LedgerError::Rejected(why)) => {
                let held = self.held.get(&ticket).filter(|(_, held)| held == reply).map(|(came, _)| *came);
                self.refuse_answer(ticket, reply, sender, why, held)
            }
            Err(error) => Err(error),
        }
    }

    /// Records that an answer is not taken; one that was `held` until now, by the event of its coming, is not held any more.
    fn refuse_answer(
        &mut self,
        ticket: u64,
        reply: &Reply,
        sender: Option<usize>,
        why: Rejected,
        held: Option<i64>,
    ) -> Result<Told, LedgerError> {
        let shown: Vec<String> = reply.gradient.iter().take(4).map(|it| format!("{it:e}")).collect();
        let came = format!("a gradient of {} numbers: {} …", reply.gradient.len(), shown.join(", "));
        // Whoever sent it; where that is not known, whoever was asked.
        let asked = || Ok::<_, LedgerError>(record::question(&self.connection, ticket)?.map(|asked| asked.user));
        let user = if sender.is_some() { sender } else { asked()? };
        self.record(Event { about: held, ..self.refusal(Some(ticket), user, &why, &came) })?;
        if held.is_some() {
            self.held.remove(&ticket);
        }
        Err(why.into())
    }

    /// Records something that came from a user and is no answer.
    pub fn refuse(
        &mut self,
        ticket: Option<u64>,
        user: Option<usize>,
        why: &Rejected,
        came: &str,
    ) -> Result<(), LedgerError> {
        self.record(self.refusal(ticket, user, why, came))
    }

    fn refusal(&self, ticket: Option<u64>, user: Option<usize>, why: &Rejected, came: &str) -> Event {
        let words = Some(format!("{} | {}", kept(&why.to_string()), kept(came)));
        // What somebody made up may be larger than any number that a row can hold.
        let ticket = ticket.filter(|ticket| i64::try_from(*ticket).is_ok());
        let user = user.filter(|user| *user < self.users().len());
        Event { ticket, user, words, ..Event::now(Kind::Refused) }
    }

    /// Whether an answer can be taken, and how.
    fn look_at(
        &self,
        ticket: u64,
        reply: &Reply,
        sender: Option<usize>,
        accepted: bool,
    ) -> Result<Looked, LedgerError> {
        let inner = self.tickets.of_session(ticket);
        let out = self.session.pending().find(|query| Some(query.ticket) == inner);
        let (user, point) = match out {
            Some(query) => (query.user, query.point),
            None => {
                if let Some(question) = self.round_questions().into_iter().find(|question| question.ticket == ticket) {
                    let wants = question.report.map_or("", Wants::word);
                    return Err(
                        Rejected::Answer(format!("the question asks for a {wants}, and this is a gradient")).into()
                    );
                }
                let asked = record::question(&self.connection, ticket)?.ok_or(Rejected::UnknownTicket { ticket })?;
                (asked.user, asked.point.into())
            }
        };
        if let Some(sender) = sender.filter(|sender| *sender != user) {
            let name = |user: usize| self.users().get(user).map_or_else(|| user.to_string(), |it| it.name.clone());
            return Err(Rejected::OtherUser { ticket, right: name(user), wrong: name(sender) }.into());
        }
        if let Some(what) = reply.is_too_large().or_else(|| reply.privacy?.makes_no_sense()) {
            return Err(Rejected::Unreadable(what).into());
        }
        if self.header.terms.is_some() && reply.weight.is_some() {
            let why =
                "it states a weight, and in a study by a plan weights follow from the first answers: leave it out";
            return Err(Rejected::Answer(why.to_owned()).into());
        }
        if self.held.get(&ticket).is_some_and(|(_, held)| held != reply) {
            return Err(Rejected::Earlier(format!(
                "another answer to the question with ticket {ticket} waits for its turn"
            ))
            .into());
        }
        let fate = match inner {
            Some(inner) => self.session.preview(inner, reply.answer()).map_err(|error| self.refused_by(&error))?,
            None => self.fate_of_withdrawn(ticket, &PaidAnswer::new(user, &point, reply.answer()), reply)?,
        };
        let pull = reply.pull();
        let odd = match fate {
            Fate::Known => None,
            _ => self.is_odd(user, &point, reply, pull)?,
        };
        match odd {
            Some((Policy::Refuse, why)) if !accepted => Err(Rejected::OutOfLine(why).into()),
            odd => Ok(Looked { user, point, fate, pull, odd: odd.map(|(_, why)| why) }),
        }
    }

    fn refused_by(&self, error: &TellError) -> Rejected {
        Rejected::Answer(with_names(&error.to_string(), self.users()))
    }

    /// An answer to a question of a session that was made anew since then.
    fn fate_of_withdrawn(&self, ticket: u64, paid: &PaidAnswer, reply: &Reply) -> Result<Fate, LedgerError> {
        match record::answer_to(&self.connection, ticket)? {
            Some(taken) if taken == *reply => Ok(Fate::Known),
            Some(_) => {
                Err(Rejected::Earlier(format!("the question with ticket {ticket} already has another answer")).into())
            }
            None => match self.session.preview_unasked(paid) {
                Ok(()) => Ok(Fate::Late),
                Err(error) => Err(Rejected::Earlier(with_names(&error.to_string(), self.users())).into()),
            },
        }
    }

    /// Whether an answer is out of line by any rule, and what is done with such: it is refused where one of them says so.
    fn is_odd(
        &self,
        user: usize,
        point: &[f64],
        reply: &Reply,
        pull: f64,
    ) -> Result<Option<(Policy, String)>, LedgerError> {
        let Protection { length, smoothness, unexpected, .. } = self.header.protection;
        let mut found = Vec::new();
        if length != Policy::Ignore {
            found.extend(self.is_too_long(user, pull).map(|why| (length, why)));
        }
        if smoothness != Policy::Ignore {
            found.extend(self.breaks_smoothness(user, point, reply)?.map(|why| (smoothness, why)));
        }
        if unexpected != Policy::Ignore {
            found.extend(self.is_unexpected(user, point, reply).map(|why| (unexpected, why)));
        }
        let refused = found.iter().position(|(policy, _)| *policy == Policy::Refuse);
        Ok((!found.is_empty()).then(|| found.swap_remove(refused.unwrap_or(0))))
    }

    fn is_too_long(&self, user: usize, pull: f64) -> Option<String> {
        let others = self.longest.iter().enumerate().filter(|(other, _)| *other != user).map(|(_, length)| *length);
        self.header.protection.is_too_long(pull, others.fold(0.0, f64::max))
    }

    fn breaks_smoothness(&self, user: usize, point: &[f64], reply: &Reply) -> Result<Option<String>, LedgerError> {
        let Some(smoothness) = self.users()[user].smoothness else {
            return Ok(None);
        };
        // Its last answer, and the last one that was in line: after an odd one, an honest one is in line with that before it.
        let mut odd = None;
        for (earlier_point, earlier) in record::last_answers(&self.connection, user)? {
            let earlier = (&*earlier_point, &earlier);
            match self.header.protection.breaks_smoothness(smoothness, earlier, (point, reply)) {
                Some(why) => odd = odd.or(Some(why)),
                None => return Ok(None),
            }
        }
        Ok(odd)
    }

    fn is_unexpected(&self, user: usize, point: &[f64], reply: &Reply) -> Option<String> {
        let times = self.session.out_of_line(user, point, reply.answer())?;
        self.header.protection.is_unexpected(times)
    }

    fn take(&mut self, ticket: u64, reply: &Reply, looked: Looked) -> Result<Told, LedgerError> {
        let Looked { user, point, fate, pull, odd } = looked;
        let about = |kind, words| Event { ticket: Some(ticket), user: Some(user), words, ..Event::now(kind) };
        if fate == Fate::Known {
            self.record(about(Kind::Noted, Some(CAME_AGAIN.to_owned())))?;
            return Ok(Told::Known);
        }
        let numbers = reply.answer().numbers();
        let mut account = self.accounts[user];
        account.add(numbers, reply.privacy);
        let spent = self.header.protection.is_spent(&account).filter(|_| !self.session.is_away(user));
        let billed = !(fate == Fate::Late && self.was_billed(ticket)?);
        let kind = if fate == Fate::Late { Kind::Late } else { Kind::Answered };
        let cost = reply.cost.unwrap_or_else(|| self.session.meter().cost_of(user));
        let held = self.held.get(&ticket).map(|(came, _)| *came);
        let event = Event { cost: billed.then_some(cost), numbers: Some(numbers), about: held, ..about(kind, None) };
        self.transaction(|ledger| {
            ledger.write(event, if held.is_some() { Details::Nothing } else { Details::Answer(reply) })?;
            if let Some(why) = &odd {
                ledger.write(about(Kind::Flagged, Some(why.clone())), Details::Nothing)?;
            }
            if let Some(why) = &spent {
                ledger.write(Event { ticket: None, ..about(Kind::Away, Some(why.clone())) }, Details::Nothing)?;
            }
            Ok(())
        })?;
        // It was looked at before: an error from here on means that the record is ahead of the session.
        match self.tickets.of_session(ticket) {
            Some(inner) => self.session.tell(inner, reply.answer()).map_err(|error| self.behind(&error))?,
            None => {
                let paid = PaidAnswer::new(user, &point, reply.answer());
                self.session.tell_unasked(&paid, !billed).map_err(|error| self.behind(&error))?;
            }
        }
        if spent.is_some() {
            self.session.away(user)?;
        }
        self.accounts[user] = account;
        self.longest[user] = self.longest[user].max(pull);
        self.asked_at.remove(&ticket);
        self.held.remove(&ticket);
        self.snapshot_if_due()?;
        Ok(match (odd, fate) {
            _ if self.session.has_left(user) => Told::Unused,
            (Some(why), _) => Told::Flagged(why),
            (None, Fate::Late) => Told::Late,
            (None, _) => Told::Taken,
        })
    }

    /// What is on the disk did not happen here.
    pub(super) fn behind(&mut self, error: &dyn std::error::Error) -> LedgerError {
        self.is_stale = true;
        LedgerError::damaged(format!("a recorded event could not happen ({error})")).of(&self.path)
    }

    /// Whether any question at a point has this ticket.
    pub(super) fn is_known_ticket(&self, ticket: u64) -> Result<bool, LedgerError> {
        Ok(record::question(&self.connection, ticket)?.is_some())
    }

    /// Whether a question that failed was paid for all the same.
    fn was_billed(&self, ticket: u64) -> Result<bool, LedgerError> {
        let sql = "SELECT COUNT(*) > 0 FROM events WHERE kind = 'failed' AND ticket = ? AND cost IS NOT NULL";
        Ok(self.connection.query_row(sql, [ticket as i64], |row| row.get(0))?)
    }
}

/// An answer that can be taken.
struct Looked {
    user: usize,
    point: Arc<[f64]>,
    fate: Fate,
    /// How much it can move the point: adding up a long gradient takes time, and is done once.
    pull: f64,
    odd: Option<String>,
}
