//! Answers that were paid for before: a run survives an upgrade, and can change its method.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{Session, Sight, TellError, fingerprint, questions::Sweep};
use crate::{Answer, ChoiceError, Chosen, Method, Settings, SettingsError, StopReason, choice::Purpose, update::Wants};

/// One answer that was paid for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PaidAnswer {
    /// Who answered.
    pub user: usize,
    /// Where.
    pub point: Vec<f64>,
    /// What.
    pub gradient: Vec<f64>,
    /// The user's loss, where it said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<f64>,
    /// The lower triangle of its Hessian, row by row, where it said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hessian: Option<Vec<f64>>,
    /// The variance of its gradient's noise, where it said so: of each coordinate, or one number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variance: Option<Vec<f64>>,
    /// What it counts in the objective, where it said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<f64>,
}

impl PaidAnswer {
    /// An answer of a user at a point.
    pub fn new<'a>(user: usize, point: &[f64], answer: impl Into<Answer<'a>>) -> Self {
        let answer = answer.into();
        Self {
            user,
            point: point.to_vec(),
            gradient: answer.gradient.to_vec(),
            loss: answer.loss,
            hessian: answer.hessian.map(<[f64]>::to_vec),
            variance: answer.variance.map(<[f64]>::to_vec),
            weight: answer.weight,
        }
    }

    fn answer(&self) -> Answer<'_> {
        let mut answer = Answer::new(&self.gradient);
        (answer.loss, answer.hessian, answer.variance) = (self.loss, self.hessian.as_deref(), self.variance.as_deref());
        answer.weight = self.weight;
        answer
    }
}

impl<'s> Session<'s> {
    /// Opens a session on answers of an earlier run, in the order in which they came: of this method or another one, of this
    /// version or another one. They are taken in without being billed, and the budget is for what is asked from here on.
    ///
    /// As long as this session would have asked the same users at the same points itself, it goes on as if it had: an
    /// interrupted run of the same method, seed and settings with one question out continues bit for bit. From the first answer on that it would
    /// not have asked for, its belief takes in every answer, and its update moves from each answer's point as soon as it
    /// can: SAGA once everybody has answered (at once where its table is lazy), and SVRG after a whole sweep. Until then it
    /// stands at the last answer's point; a point past the divergence limit is no place to stand, and its answer goes to the
    /// belief alone.
    ///
    /// ```
    /// use sgq::{PaidAnswer, Session, Settings, Sight, method};
    ///
    /// let paid = PaidAnswer::new(1, &[5.0], &[4.0]);
    /// let settings = Settings::new(vec![5.0], 2).step_size(0.1).budget(9);
    /// let mut session = Session::with_answers(method::saga(), settings, Sight::Blind, &[paid])?;
    /// // Whoever has answered is not asked again before the first step.
    /// assert_eq!(session.ask()?.unwrap().user, 0);
    /// assert_eq!((session.queries(), session.meter().earlier()), (0, 1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn with_answers(
        method: Method,
        settings: Settings,
        sight: Sight<'s>,
        answers: &[PaidAnswer],
    ) -> Result<Self, EarlierError> {
        let mut session = Self::with_sight(method.clone(), settings.clone(), sight.clone())?;
        let own = session.repeat(answers)?;
        if own < answers.len() {
            // The question that was not the one is not to count as chosen.
            session = Self::with_sight(method, settings, sight)?;
            session.repeat(&answers[..own])?;
            for (index, answer) in answers.iter().enumerate().skip(own) {
                session.take_over(answer).map_err(|error| error.at(index))?;
                session.state.meter.take_over();
            }
            session.state.sweep = match session.parts.wants() {
                Wants::Everybody => Some(Sweep::from(0)),
                _ if session.parts.belief().wants_first_sweep() => session.next_of_sweep(0).map(Sweep::from),
                _ => None,
            };
        }
        if !matches!(session.state.stop, Some(StopReason::Diverged { .. })) {
            session.state.stop = session.reason_to_stop(true);
        }
        Ok(session)
    }

    /// Whether [`tell_unasked`](Session::tell_unasked) would take an answer, without telling it.
    pub fn preview_unasked(&self, answer: &PaidAnswer) -> Result<(), Refused> {
        let PaidAnswer { user, point, .. } = answer;
        let (users, dim) = (self.state.users(), self.state.point.len());
        if *user >= users {
            return Err(Refused::NoSuchUser { user: *user, users });
        }
        if point.len() != dim || point.iter().any(|x| !x.is_finite()) {
            return Err(Refused::Point { user: *user, dim });
        }
        Ok(self.check(*user, point, Purpose::Earlier, &answer.answer())?)
    }

    /// Takes an answer to a question that this session has not asked: bills it, unless it is paid for already, and uses it as
    /// [`with_answers`](Session::with_answers) would have.
    pub fn tell_unasked(&mut self, answer: &PaidAnswer, is_paid: bool) -> Result<(), Refused> {
        let stop = self.state.stop;
        match self.state.left.contains(&answer.user) {
            // As any answer of somebody who has left, it is paid for and not used.
            true => self.preview_unasked(answer)?,
            false => self.take_over(answer)?,
        }
        match is_paid {
            true => self.state.meter.receive(&answer.answer()),
            false => self.state.meter.bill(answer.user, &answer.answer()),
        }
        self.state.stop = stop.or_else(|| self.reason_to_stop(true));
        Ok(())
    }

    /// Takes in answers as long as they are to the questions that it asks; returns how many were.
    fn repeat(&mut self, answers: &[PaidAnswer]) -> Result<usize, EarlierError> {
        for (index, answer) in answers.iter().enumerate() {
            let at = |error: Refused| error.at(index);
            // Whatever would have stopped it by now did not stop the run that paid for this answer.
            self.state.stop = self.state.stop.filter(|stop| matches!(stop, StopReason::Diverged { .. }));
            if self.state.stop.is_some() {
                return Ok(index);
            }
            let Some(query) = self.put_question().map_err(|error| at(error.into()))? else {
                return Ok(index);
            };
            let same_bits = |(a, b): (&f64, &f64)| a.to_bits() == b.to_bits();
            let same_point =
                answer.point.len() == query.point.len() && answer.point.iter().zip(&*query.point).all(same_bits);
            if answer.user != query.user || !same_point {
                return Ok(index);
            }
            let purpose = self.state.questions.with_ticket(query.ticket).map_or(Purpose::Step, |it| it.purpose);
            let checked = self.check(answer.user, &query.point, purpose, &answer.answer());
            checked.map_err(|error| at(error.into()))?;
            self.state.meter.take_over();
            self.take(query.ticket, &answer.answer());
        }
        Ok(answers.len())
    }

    /// Takes in an answer to a question that this session has not asked.
    fn take_over(&mut self, answer: &PaidAnswer) -> Result<(), Refused> {
        self.preview_unasked(answer)?;
        let (PaidAnswer { user, point, .. }, answer) = (answer, answer.answer());
        let users = self.state.users();
        // Where it diverged on the way does not matter, if it came back: a method may take over because of that.
        (self.state.follow_up, self.state.stop) = (None, None);
        let within = !self.state.stop_rules.diverged(point);
        if within {
            self.state.point = point.as_slice().into();
        }
        // Steps wait for the answers of a first sweep.
        let complete =
            |session: &Self| !session.parts.belief().wants_first_sweep() || session.next_of_sweep(0).is_none();
        let for_update = within && self.parts.wants() == Wants::Chosen && complete(self);
        let for_update = for_update.then_some(self.state.progress);
        self.state.questions.note_unasked(fingerprint(&answer));
        self.state.certifying.see(&answer);
        if let Some(weight) = answer.weight {
            self.state.weights.learn(*user, users, weight);
        }
        self.use_answer(&Chosen::user(*user), Purpose::Earlier, point, &answer, for_update);
        Ok(())
    }
}

/// Why one answer was refused.
#[derive(Clone, Debug, PartialEq, Error)]
#[allow(missing_docs)] // the message says what each field is
#[non_exhaustive]
pub enum Refused {
    #[error("it is of user {user}, but there are only {users}: users count from 0")]
    NoSuchUser { user: usize, users: usize },
    #[error("its point, of user {user}, must have {dim} finite numbers: one for each parameter")]
    Point { user: usize, dim: usize },
    #[error(transparent)]
    Answer(#[from] TellError),
    #[error(transparent)]
    Choice(#[from] ChoiceError),
}

impl Refused {
    fn at(self, index: usize) -> EarlierError {
        EarlierError::Answer { index, error: self }
    }
}

/// Why a session could not be opened on earlier answers.
#[derive(Clone, Debug, PartialEq, Error)]
#[allow(missing_docs)] // the message says what each field is
#[non_exhaustive]
pub enum EarlierError {
    #[error("answer {index} of the earlier run cannot be taken in: {error}; correct it or leave it out")]
    Answer { index: usize, error: Refused },
    #[error(transparent)]
    Settings(#[from] SettingsError),
}
