//! What becomes of an answer, and of a question that has none.

use std::sync::Arc;

use super::{Failure, Failures, Outcome, Progress, Question, Session, TellError, Ticket, fingerprint};
use crate::{
    Answer, ChoiceError, Chosen, Detail, Reply, StopReason,
    answer::{OwnedAnswer, unpack},
    choice::Purpose,
    method::Taken,
    update::Wants,
};

/// What becomes of an answer that can be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It answers a question that is out.
    New,
    /// It answers a question that had failed.
    Late,
    /// It was told before: nothing changes.
    Known,
}

impl Session<'_> {
    /// Takes the answer to a question: bills it, then uses it. Answers may come in any order.
    ///
    /// Telling the same answer again changes nothing. On an error nothing is billed and the question stays open. The answer to
    /// a question that [failed](Session::fail) is welcome all the same. After the run has stopped, an answer that was out is
    /// billed and believed, and the point stays.
    pub fn tell<'a>(&mut self, ticket: Ticket, answer: impl Into<Answer<'a>>) -> Result<(), TellError> {
        let answer = answer.into();
        if self.preview(ticket, answer)? == Fate::Known {
            return Ok(());
        }
        let outcome = self.state.questions.outcome(ticket);
        let question = self.state.questions.with_ticket(ticket).ok_or(TellError::UnknownTicket { ticket })?;
        let user = question.chosen.user;
        let billed = outcome == Some(Outcome::Failed { billed: true });
        match billed {
            // It was paid for when it failed.
            true => self.state.meter.receive(&answer),
            false => self.state.meter.bill(user, &answer),
        }
        self.take(ticket, &answer);
        // Also where the answer waits for others, or is of no use.
        if self.state.stop.is_none() {
            self.state.stop = self.reason_to_stop(false);
        }
        Ok(())
    }

    /// What [`tell`](Session::tell) would make of an answer, without telling it: for a record that is written before an answer is
    /// used.
    ///
    /// ```
    /// # use sgq::{Fate, Session, Settings, method};
    /// let mut session = Session::new(method::shuffled_sgd(), Settings::new(vec![5.0], 3).step_size(0.1).budget(9))?;
    /// let query = session.ask()?.unwrap();
    /// assert_eq!(session.preview(query.ticket, &[1.0])?, Fate::New);
    /// assert!(session.preview(query.ticket, &[f64::NAN]).is_err());
    /// session.tell(query.ticket, &[1.0])?;
    /// assert_eq!(session.preview(query.ticket, &[1.0])?, Fate::Known);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn preview<'a>(&self, ticket: Ticket, answer: impl Into<Answer<'a>>) -> Result<Fate, TellError> {
        let answer = answer.into();
        let fate = match self.state.questions.outcome(ticket) {
            None => return Err(TellError::UnknownTicket { ticket }),
            Some(Outcome::Answered(taken)) if taken == fingerprint(&answer) => return Ok(Fate::Known),
            Some(Outcome::Answered(_)) => return Err(TellError::AnsweredAlready { ticket }),
            Some(Outcome::Open) => Fate::New,
            Some(Outcome::Failed { .. }) => Fate::Late,
        };
        let question = self.state.questions.with_ticket(ticket).ok_or(TellError::UnknownTicket { ticket })?;
        self.check(question.chosen.user, &question.point, question.purpose, &answer)?;
        Ok(fate)
    }

    /// How far an answer of a user at a point is from what the method expects of it, over how long the answers of all others are:
    /// docs/frugal.md § 16. Honest answers are rarely beyond 10. None where the method cannot tell: without a model of the users,
    /// before three others have answered, and for an answer that the method would set aside by itself. It only looks.
    ///
    /// ```
    /// # use sgq::{Session, Settings, method};
    /// let mut session = Session::new(method::frugal(), Settings::new(vec![5.0], 6).smoothness(vec![2.0; 6]).budget(9))?;
    /// for _ in 0..5 {
    ///     let query = session.ask()?.unwrap();
    ///     let honest = 2.0 * (query.point[0] - query.user as f64);
    ///     assert!(session.out_of_line(query.user, &query.point, &[honest]).is_none_or(|times| times < 2.0));
    ///     session.tell(query.ticket, &[honest])?;
    /// }
    /// let query = session.ask()?.unwrap();
    /// assert!(session.out_of_line(query.user, &query.point, &[1e3]).unwrap() > 100.0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn out_of_line<'a>(&self, user: usize, point: &[f64], answer: impl Into<Answer<'a>>) -> Option<f64> {
        let (answer, purpose, dim) = (answer.into(), Purpose::Step, self.state.point.len());
        if user >= self.state.users() || point.len() != dim || self.check(user, point, purpose, &answer).is_err() {
            return None;
        }
        let mut buffer = OwnedAnswer::default();
        let Answer { gradient, loss, hessian, variance, .. } = self.state.weights.weigh(user, answer, &mut buffer);
        let whole = hessian.filter(|_| self.wants() == Detail::Hessian).map(|packed| {
            let mut whole = vec![0.0; dim * dim];
            unpack(packed, dim, &mut whole);
            whole
        });
        let hessian = whole.as_deref();
        self.parts.belief().out_of_line(&Reply { user, point, gradient, purpose, loss, hessian, variance })
    }

    /// Says that a question will not be answered, as far as one knows. Nothing is billed, and its user is asked again after a
    /// while: after the next answer or failure of anybody, and the longer the more often it fails. Where nobody answers any
    /// more, the run stops.
    ///
    /// ```
    /// # use sgq::{Session, Settings, method};
    /// let mut session = Session::new(method::shuffled_sgd(), Settings::new(vec![5.0], 3).step_size(0.1).budget(9))?;
    /// let lost = session.ask()?.unwrap();
    /// session.fail(lost.ticket)?;
    /// let other = session.ask()?.unwrap();
    /// assert_ne!(other.user, lost.user);
    /// session.tell(lost.ticket, &[1.0])?; // it came after all
    /// assert_eq!(session.queries(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn fail(&mut self, ticket: Ticket) -> Result<(), TellError> {
        self.fail_with(ticket, Failure::new())
    }

    /// The same with a reason, which [`failures`](Session::failures) and [`stop_message`](Session::stop_message) repeat, or billed
    /// all the same. Saying it again of the same question changes nothing.
    pub fn fail_with(&mut self, ticket: Ticket, failure: Failure<'_>) -> Result<(), TellError> {
        let question = self.state.questions.with_ticket(ticket);
        let has_left = question.is_some_and(|question| self.state.left.contains(&question.chosen.user));
        match self.state.questions.outcome(ticket) {
            Some(Outcome::Open) => {}
            // It failed because its user has left, and now is said to cost something all the same.
            Some(Outcome::Failed { billed: false }) if failure.billed && has_left => {}
            Some(Outcome::Failed { .. }) => return Ok(()),
            Some(Outcome::Answered(_)) => return Err(TellError::AnsweredAlready { ticket }),
            None => return Err(TellError::UnknownTicket { ticket }),
        }
        let was_open = self.state.questions.outcome(ticket) == Some(Outcome::Open);
        let Some(question) = self.state.questions.close(ticket, Outcome::Failed { billed: failure.billed }) else {
            return Err(TellError::UnknownTicket { ticket });
        };
        let user = question.chosen.user;
        if was_open {
            if let (true, Some(sweep)) = (question.purpose.is_sweep(), &mut self.state.sweep) {
                sweep.again.push(user);
            }
            self.state.absence.failed(user);
        }
        self.state.failures.note(user, &failure);
        if failure.billed {
            self.state.meter.bill_failure(user);
        }
        if self.state.stop.is_none() && self.state.absence.nobody_answers() {
            self.state.stop = Some(StopReason::NobodyAnswers);
        }
        if self.state.stop.is_none() && failure.billed {
            self.state.stop = self.reason_to_stop(false);
        }
        Ok(())
    }

    /// Who failed, how often, and why: by user, those who answered since then included.
    pub fn failures(&self) -> impl Iterator<Item = Failures<'_>> {
        self.state.failures.iter()
    }

    /// Says that a user cannot be asked until it is [`back`](Session::back). A question that is out to it stays out: its answer may
    /// still come, and [`fail`](Session::fail) says that it will not.
    pub fn away(&mut self, user: usize) -> Result<(), ChoiceError> {
        self.check_user(user)?;
        self.state.absence.set_away(user, true);
        Ok(())
    }

    /// Says that a user can be asked again, whatever was said of it before. A run that stopped because nobody answered goes on.
    pub fn back(&mut self, user: usize) -> Result<(), ChoiceError> {
        self.check_user(user)?;
        self.state.absence.set_away(user, false);
        self.go_on_with_somebody();
        Ok(())
    }

    /// Where a run stopped because nobody answered, and somebody can be asked after all.
    pub(super) fn go_on_with_somebody(&mut self) {
        if self.state.stop == Some(StopReason::NobodyAnswers) {
            self.state.stop = self.reason_to_stop(true);
        }
    }

    /// Whether a user was said to be [away](Session::away).
    pub fn is_away(&self, user: usize) -> bool {
        self.state.absence.is_away(user)
    }

    fn check_user(&self, user: usize) -> Result<(), ChoiceError> {
        let users = self.state.users();
        if user < users { Ok(()) } else { Err(ChoiceError::NoSuchUser { user, users }) }
    }

    /// Refuses an answer that cannot be right, or cannot be kept.
    pub(super) fn check(
        &self,
        user: usize,
        point: &[f64],
        purpose: Purpose,
        answer: &Answer<'_>,
    ) -> Result<(), TellError> {
        answer.check(user, point.len())?;
        let (needs, sees) = (self.parts.facts().needs, self.sight.problem().is_some());
        for (what, is_missing) in
            [("Hessian", needs.hessians && answer.hessian.is_none()), ("loss", needs.losses && answer.loss.is_none())]
        {
            if is_missing && !sees {
                return Err(TellError::Missing { user, what });
            }
        }
        let refused = |why: &str| Err(TellError::Extra { user, what: "weight", why: why.to_owned() });
        if answer.weight.is_some() && sees {
            return refused("does not count: the problem in sight has an objective of its own");
        }
        let mut buffer = OwnedAnswer::default();
        let weighed = self.state.weights.weigh(user, *answer, &mut buffer);
        if self.state.weights.of_answer(user, answer) != 1.0 && !weighed.is_finite() {
            return refused("makes its answer too large");
        }
        // An answer at another point is for the update alone.
        if purpose == Purpose::Elsewhere {
            return Ok(());
        }
        self.parts.belief().check(user, point, weighed.gradient)
    }

    /// Takes in the answer to a question that is out, or has failed.
    pub(super) fn take(&mut self, ticket: Ticket, answer: &Answer<'_>) {
        let failed = matches!(self.state.questions.outcome(ticket), Some(Outcome::Failed { .. }));
        let Some(mut question) = self.state.questions.close(ticket, Outcome::Answered(fingerprint(answer))) else {
            return;
        };
        let user = question.chosen.user;
        self.state.absence.answered(user);
        if self.state.left.contains(&user) {
            return;
        }
        self.state.certifying.see(answer);
        if self.parts.belief().can_tell_remaining() {
            self.state.gradient_sizes.see(answer);
        }
        if let Some(weight) = answer.weight {
            self.state.weights.learn(user, self.state.users(), weight);
        }
        if failed && !question.purpose.is_sweep() && self.parts.facts().needs.one_at_a_time {
            // The update has gone on without it: such an answer is for the belief, where it is at a point of the run at all.
            if question.purpose == Purpose::Elsewhere {
                return;
            }
            question.purpose = Purpose::Earlier;
        }
        // Somebody answers after all.
        self.state.stop = self.state.stop.filter(|stop| *stop != StopReason::NobodyAnswers);
        if !question.purpose.is_sweep() {
            return self.deliver(&question, answer);
        }
        // A late answer may be what a sweep still waits for, or nothing but news of a point behind us.
        let waits = match &mut self.state.sweep {
            Some(sweep) if failed => {
                let here = question.point == self.state.point;
                let place = sweep.again.iter().position(|other| *other == user && here);
                place.map(|place| sweep.again.remove(place)).is_some()
            }
            sweep => sweep.is_some(),
        };
        if !waits {
            question.purpose = Purpose::Earlier;
            return self.deliver(&question, answer);
        }
        let (sweep, open) = (self.state.sweep.get_or_insert_default(), &self.state.questions.open);
        if !sweep.is_next(user, open) {
            sweep.held.push((question, answer.into()));
            return;
        }
        self.deliver_in_sweep(question, answer);
        self.release_held();
    }

    /// Uses answers of a sweep that came before those of earlier users, as far as it is their turn now.
    pub(super) fn release_held(&mut self) {
        while let Some((question, answer)) =
            self.state.sweep.as_mut().and_then(|sweep| sweep.release(&self.state.questions.open))
        {
            self.deliver_in_sweep(question, &Answer::from(&answer));
        }
    }

    /// Uses an answer of the sweep under way, whose turn it is.
    fn deliver_in_sweep(&mut self, mut question: Question, answer: &Answer<'_>) {
        let open = &self.state.questions.open;
        let last = self.state.sweep.as_ref().is_none_or(|sweep| sweep.is_over(open));
        if last {
            self.state.sweep = None;
        }
        question.purpose = Purpose::Sweep { last };
        self.deliver(&question, answer);
    }

    /// Uses an answer.
    fn deliver(&mut self, question: &Question, answer: &Answer<'_>) {
        let Question { chosen, purpose, point, progress, .. } = question;
        let for_update = match purpose {
            _ if self.state.stop.is_some() => false,
            Purpose::Sweep { .. } => self.parts.wants() == Wants::Everybody,
            Purpose::Earlier => false,
            // While a new snapshot is taken, what was asked for before it is too late for a step.
            Purpose::Step | Purpose::Elsewhere => self.state.sweep.is_none(),
        };
        let moved = self.use_answer(chosen, *purpose, point, answer, for_update.then_some(*progress));
        // The question to the same user at the current point follows one at another.
        if *purpose == Purpose::Elsewhere {
            self.state.follow_up = Some(*chosen);
        }
        if self.state.stop.is_none() {
            self.state.stop = self.reason_to_stop(moved);
        }
    }

    /// Lets the parts use an answer, the update too where it says when it was asked for; returns whether the point has moved.
    pub(super) fn use_answer(
        &mut self,
        chosen: &Chosen,
        purpose: Purpose,
        point: &[f64],
        answer: &Answer<'_>,
        for_update: Option<Progress>,
    ) -> bool {
        let (user, needs, useful) = (chosen.user, self.parts.facts().needs, self.wants());
        let state = &mut self.state;
        let Answer { gradient, loss, hessian, variance, .. } = state.weights.weigh(user, *answer, &mut self.weighted);
        // What a method needs and users were not asked for, a simulation lets it see.
        let seen = self.sight.problem();
        let packed = hessian.filter(|_| useful == Detail::Hessian);
        if packed.is_some() || needs.hessians && seen.is_some() {
            self.hessian.resize(point.len() * point.len(), 0.0);
        }
        let has_hessian = match packed {
            Some(packed) => {
                unpack(packed, point.len(), &mut self.hessian);
                true
            }
            None => needs.hessians && seen.is_some_and(|problem| problem.hessian(user, point, &mut self.hessian)),
        };
        let seen_loss = || seen.filter(|_| needs.losses).map(|problem| problem.user_value(user, point));
        let (loss, hessian) = (loss.or_else(seen_loss), has_hessian.then_some(&*self.hessian));
        let reply = Reply { user, point, gradient, purpose, loss, hessian, variance };
        // The asked point is still needed, and the question may still be held by the caller: write beside it.
        let next_point = Arc::make_mut(&mut self.next_point);
        next_point.copy_from_slice(&state.point);
        let size = state.schedule.at(state.progress.steps);
        let size = for_update.map_or(size, |asked| state.progress.delayed(asked, size));
        let (smoothness, for_update) = (state.smoothness.as_ref(), for_update.is_some());
        let taken = Taken { reply, weight: chosen.weight, size, smoothness, for_update };
        let moved = self.parts.take(&taken, &mut state.random, next_point);
        if moved {
            state.progress.steps += 1;
            state.progress.travelled += size;
            if state.stop_rules.diverged(next_point) {
                self.stop_as_diverged();
            } else {
                std::mem::swap(&mut state.point, &mut self.next_point);
            }
        }
        moved
    }
}
