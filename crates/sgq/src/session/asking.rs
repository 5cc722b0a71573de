//! Whom to ask next, and where.

use std::sync::Arc;

use super::{Query, Session, State, StopReason, Sweep, Ticket};
use crate::{
    ChoiceError, Chosen, Detail,
    answer::packed_length,
    choice::{Purpose, Scores},
    method::Scenery,
    update::Wants,
};

impl Session<'_> {
    /// Whom to ask next, and where; `None` once the run has stopped, and while as many questions are out as
    /// [may be](crate::Settings::open), or nobody can be asked before an answer comes.
    ///
    /// Where one question may be out, asking again gives the same question until its answer is told. Where answers were so large
    /// that no user has a score that is a number, the run has diverged.
    pub fn ask(&mut self) -> Result<Option<Query>, ChoiceError> {
        if self.must_wait() {
            return Ok(None);
        }
        if self.state.at_once == 1
            && let Some(question) = self.state.questions.open.first()
        {
            return Ok(Some(question.query(self.wants())));
        }
        self.put_question()
    }

    /// Whether [`ask`](Session::ask) has nothing to say, and would change nothing: the run has stopped, or as many questions are out
    /// as may be. Where it is false, nobody may be there to be asked all the same, and only `ask` finds out.
    pub fn must_wait(&self) -> bool {
        let out = self.state.questions.open.len();
        let asks_again = self.state.at_once == 1 && out == 1;
        self.state.stop.is_some() || (!asks_again && (out >= self.state.at_once || !self.may_ask()))
    }

    /// The ticket of the next question.
    pub fn next_ticket(&self) -> Ticket {
        self.state.questions.next_ticket()
    }

    /// As many further questions as may be out, at most so many.
    pub fn ask_many(&mut self, most: usize) -> Result<Vec<Query>, ChoiceError> {
        let mut queries: Vec<Query> = Vec::new();
        while queries.len() < most
            && let Some(query) = self.ask()?
        {
            // Where one question may be out, it is given again.
            if queries.last().is_some_and(|last| last.ticket == query.ticket) {
                break;
            }
            queries.push(query);
        }
        Ok(queries)
    }

    /// The questions that are out, in the order in which they were asked.
    pub fn pending(&self) -> impl ExactSizeIterator<Item = Query> {
        let wants = self.wants();
        self.state.questions.open.iter().map(move |question| question.query(wants))
    }

    /// How many numbers an answer has, if its user says as much as is of use: the gradient, and what [`Query::wants`] names.
    pub fn numbers_wanted(&self) -> u64 {
        let dim = self.state.point.len();
        let more = match self.wants() {
            Detail::Gradient => 0,
            Detail::Loss => 1,
            Detail::Hessian => 1 + packed_length(dim),
        };
        (dim + more) as u64
    }

    /// Whether the budgets allow one more question, with those that are out.
    fn may_ask(&self) -> bool {
        let State { meter, questions, stop_rules, .. } = &self.state;
        stop_rules.allows(questions.open.len() as u64, self.numbers_wanted(), meter)
            && self.state.cost_left().is_none_or(|left| meter.cheapest() <= left)
    }

    /// A further question, whatever the budget; `None` where an answer has to come first.
    pub(super) fn put_question(&mut self) -> Result<Option<Query>, ChoiceError> {
        let mut next = self.next_question();
        // Where nothing is out, no event ends the wait of those who failed.
        if next == Ok(None) && self.state.questions.open.is_empty() && self.state.absence.forgive() {
            next = self.next_question();
        }
        let (chosen, purpose) = match next {
            Ok(Some(next)) => next,
            Ok(None) => {
                if self.state.questions.open.is_empty() {
                    let cost = self.state.meter.cost();
                    let could = (0..self.state.users()).any(|user| self.state.is_there(user));
                    let too_dear = could && self.state.cost_left().is_some();
                    self.state.stop =
                        Some(if too_dear { StopReason::CostBudget { cost } } else { StopReason::NobodyAnswers });
                }
                return Ok(None);
            }
            Err(ChoiceError::NoScore) => {
                self.stop_as_diverged();
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        let point = match (purpose, self.parts.wants()) {
            (Purpose::Elsewhere, Wants::Elsewhere(point)) => Arc::from(point),
            _ => Arc::clone(&self.state.point),
        };
        let wants = self.wants();
        Ok(Some(self.state.questions.put(chosen, purpose, point, self.state.progress).query(wants)))
    }

    /// What would be of use beside a gradient, of what users are asked for at all.
    pub(super) fn wants(&self) -> Detail {
        let needs = self.parts.facts().needs;
        let needed = match (needs.hessians, needs.losses) {
            (true, _) => Detail::Hessian,
            (false, true) => Detail::Loss,
            (false, false) => Detail::Gradient,
        };
        self.parts.belief().uses().max(needed).min(self.state.answers)
    }

    /// Whom to ask for what; `None` where an answer has to come first.
    fn next_question(&mut self) -> Result<Option<(Chosen, Purpose)>, ChoiceError> {
        if let Some(chosen) = self.state.follow_up.take() {
            return Ok(Some((chosen, Purpose::Step)));
        }
        if self.state.sweep.is_none() && self.parts.wants() == Wants::Everybody {
            if !self.state.questions.open.is_empty() {
                // What is still out belongs to steps before the sweep.
                return Ok(None);
            }
            self.state.sweep = Some(Sweep::from(0));
        }
        if self.state.sweep.is_some() {
            let user = self.next_in_sweep();
            return Ok(user.map(|user| (Chosen::user(user), Purpose::Sweep { last: false })));
        }
        let elsewhere = matches!(self.parts.wants(), Wants::Elsewhere(_));
        let purpose = if elsewhere { Purpose::Elsewhere } else { Purpose::Step };
        Ok(self.choose()?.map(|chosen| (chosen, purpose)))
    }

    /// The next user of the sweep under way who can be asked.
    fn next_in_sweep(&mut self) -> Option<usize> {
        let again = &self.state.sweep.as_ref()?.again;
        if let Some(place) = again.iter().position(|user| self.state.is_free(*user)) {
            return Some(self.state.sweep.as_mut()?.again.remove(place));
        }
        while let Some(user) = self.state.sweep.as_ref()?.next {
            let (next, is_free) = (self.next_of_sweep(user + 1), self.state.is_free(user));
            let sweep = self.state.sweep.as_mut()?;
            sweep.next = next;
            if is_free {
                return Some(user);
            }
            sweep.again.push(user);
        }
        None
    }

    /// The first user of a sweep from this one on: anybody where the update wants everybody, else whoever was not asked.
    pub(super) fn next_of_sweep(&self, from: usize) -> Option<usize> {
        let everybody = self.parts.wants() == Wants::Everybody;
        let is_wanted = |user: &usize| everybody || !self.parts.belief().is_asked(*user);
        (from..self.state.users()).find(|user| !self.state.left.contains(user) && is_wanted(user))
    }

    /// The choice's pick; `None` where nobody can be asked before an answer comes.
    fn choose(&mut self) -> Result<Option<Chosen>, ChoiceError> {
        let busy = self.busy();
        if !busy.is_empty() && busy.iter().all(|busy| *busy) {
            return Ok(None);
        }
        let state = &mut self.state;
        let (users, needs) = (state.users(), self.parts.facts().needs);
        let mut all_gradients = None;
        if let (true, Some(oracle)) = (needs.oracle, self.sight.oracle()) {
            state.meter.look_at_all(oracle, &state.point, &mut self.all_gradients);
            all_gradients = Some(&*self.all_gradients);
        }
        let scenery = Scenery {
            users,
            point: &state.point,
            step_size: state.schedule.at(state.progress.steps),
            smoothness: state.smoothness.as_ref(),
            costs: state.meter.costs(),
            busy: &busy,
            all_gradients,
            problem: self.sight.problem().filter(|_| needs.polls),
        };
        let chosen = match self.parts.choose(&scenery, &mut state.random) {
            Err(ChoiceError::AnswersFirst) => return Ok(None),
            chosen => chosen?,
        };
        state.meter.poll(chosen.polled);
        if chosen.user >= users {
            return Err(ChoiceError::NoSuchUser { user: chosen.user, users });
        }
        if busy.get(chosen.user) == Some(&true) {
            return Err(ChoiceError::CannotBeAsked { user: chosen.user });
        }
        Ok(Some(chosen))
    }

    /// What asking each user now would be worth to the method, in parts; none where it does not go by scores now, which
    /// [`how_it_asks`](Session::how_it_asks) says in words. [`ask`](Session::ask) picks [the best](Scores::best), unless it
    /// [explores](Scores::explore). It only looks, and costs about what `ask` does.
    pub fn scores(&self) -> Option<Scores> {
        let State { schedule, progress, point, smoothness, meter, .. } = &self.state;
        let is_by_choice = self.state.follow_up.is_none() && !self.is_sweeping();
        let busy = self.busy();
        let nobody = !busy.is_empty() && busy.iter().all(|busy| *busy);
        if self.state.stop.is_some() || !is_by_choice || nobody {
            return None;
        }
        let needs = self.parts.facts().needs;
        let mut all_gradients = None;
        if let (true, Some(oracle)) = (needs.oracle, self.sight.oracle()) {
            let mut gradients = vec![0.0; self.all_gradients.len()];
            for (user, gradient) in gradients.chunks_exact_mut(point.len()).enumerate() {
                oracle.gradient(user, point, gradient);
            }
            all_gradients = Some(gradients);
        }
        self.parts.scores(&Scenery {
            users: self.state.users(),
            point,
            step_size: schedule.at(progress.steps),
            smoothness: smoothness.as_ref(),
            costs: meter.costs(),
            busy: &busy,
            all_gradients: all_gradients.as_deref(),
            problem: self.sight.problem().filter(|_| needs.polls),
        })
    }

    /// How the next user is picked, in a sentence.
    pub fn how_it_asks(&self) -> &'static str {
        if self.is_sweeping() { "Everybody is asked at this point, in turn." } else { self.parts.how() }
    }

    fn is_sweeping(&self) -> bool {
        self.state.sweep.is_some() || self.parts.wants() == Wants::Everybody
    }

    /// Whether each user cannot be asked now, because it is out, away, has just failed, or costs more than what is left; empty
    /// where everybody can be.
    fn busy(&self) -> Vec<bool> {
        let State { questions, absence, left: gone, meter, .. } = &self.state;
        let left = self.state.cost_left();
        if questions.open.is_empty()
            && absence.is_empty()
            && gone.is_empty()
            && left.is_none_or(|left| meter.dearest() <= left)
        {
            return Vec::new();
        }
        let mut busy = vec![false; self.state.users()];
        let out = questions.open.iter().map(|question| question.chosen.user);
        out.chain(absence.cannot_be_asked()).chain(gone.iter().copied()).for_each(|user| busy[user] = true);
        if let Some(left) = left {
            busy.iter_mut().enumerate().for_each(|(user, busy)| *busy |= meter.cost_of(user) > left);
        }
        busy
    }
}
