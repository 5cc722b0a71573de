//! How far it is still to go, why a run ended, and how it goes on after that.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{Session, StopReason};
use crate::{Answer, Need, Remaining, Settings, SettingsError, Smoothness, kernel};

/// What a proof of how much remains rests on, beside the users' smoothness.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Certifying {
    pl_constant: Option<f64>,
    /// Whether `L_i` hold everywhere.
    is_everywhere: bool,
    /// Whether answers are exact, and what users count was known beforehand.
    is_exact: bool,
}

impl Certifying {
    pub fn new(settings: &Settings) -> Self {
        Self { pl_constant: settings.pl_constant, is_everywhere: !settings.local_smoothness, is_exact: true }
    }

    /// The constants `L_i` and `μ` that a proof can rest on.
    pub fn constants(self, smoothness: Option<&Smoothness>) -> Result<(&[f64], f64), Uncertified> {
        let smoothness = smoothness.ok_or(Uncertified::NoSmoothness)?;
        let mu = self.pl_constant.filter(|mu| *mu > 0.0).ok_or(Uncertified::NoConstant)?;
        if !self.is_everywhere {
            return Err(Uncertified::Nearby);
        }
        // f is smooth with at most the mean L_i, and no μ is larger than that.
        if mu <= smoothness.mean() * (1.0 + 1e-9) { Ok((smoothness.each(), mu)) } else { Err(Uncertified::Constants) }
    }

    /// Looks at what an answer says of itself.
    pub fn see(&mut self, answer: &Answer<'_>) {
        let has_noise = answer.variance.is_some_and(|variance| variance.iter().any(|variance| *variance > 0.0));
        self.is_exact &= !has_noise && answer.weight.is_none();
    }
}

/// How large users' gradients are: the mean norm over all answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct GradientSizes {
    sum: f64,
    answers: u64,
}

impl GradientSizes {
    pub fn see(&mut self, answer: &Answer<'_>) {
        self.sum += kernel::norm(answer.gradient);
        self.answers += 1;
    }

    fn mean(self) -> f64 {
        self.sum / self.answers.max(1) as f64
    }
}

/// A mean gradient of at most this part of users' own is zero but for rounding.
const ROUNDING: f64 = 1e-13;

/// Why nothing is [proven](Session::certificate) of what remains.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[allow(missing_docs)] // the message says it
#[non_exhaustive]
pub enum Uncertified {
    #[error("a proof needs each user's smoothness L_i, and they are not known")]
    NoSmoothness,
    #[error("a proof needs the constant μ of strong convexity, and it is not known: a penalty λ/2 ‖x‖² gives one")]
    NoConstant,
    #[error("the users' L_i do not hold everywhere, as with Poisson's loss")]
    Nearby,
    #[error("the constant μ is above the mean of the users' L_i, so that one of them is wrong")]
    Constants,
    #[error("the method does not keep everybody's answer: frugal and saga do")]
    Forgotten,
    #[error("not everybody was asked yet")]
    Unasked,
    #[error("users have left, and μ was that of all of them")]
    Left,
    #[error("answers are not exact: they have noise, weights that were not known beforehand, or were rounded")]
    Inexact,
    #[error("the bound is past what numbers can hold")]
    Overflow,
}

impl Session<'_> {
    /// How far it is still to go from the [point](Session::point), by the method's own account of the answers paid for; `None`
    /// where it has none.
    ///
    /// ```
    /// # use sgq::{Session, Settings, method};
    /// let mut session = Session::new(method::frugal(), Settings::new(vec![5.0], 4).smoothness(vec![2.0; 4]).budget(3))?;
    /// while let Some(query) = session.ask()? {
    ///     session.tell(query.ticket, &[2.0 * (query.point[0] - [2.0, 1.0, -1.0, -2.0][query.user])])?;
    /// }
    /// let remaining = session.remaining().expect("frugal has a model");
    /// assert!(remaining.low < remaining.gap && remaining.gap < remaining.high && remaining.gap < remaining.at_start);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn remaining(&self) -> Option<Remaining> {
        self.parts.belief().remaining()
    }

    /// What is proven to remain at most: `f(x) − inf f ≤ G²/2μ` at the [point](Session::point), where `G = ‖mean g_i‖ + mean L_i
    /// ‖x − x_i‖ ≥ ‖∇f(x)‖` comes from answers that were paid for.
    ///
    /// `None` before everybody was asked, and where the `L_i` or `μ` are [not given](crate::Settings::pl_constant) or hold [only
    /// nearby](crate::Settings::local_smoothness), where answers have noise, or weights that were not known beforehand, and for
    /// methods that do not keep everybody's answer. It is as true as the constants that were given.
    ///
    /// ```
    /// # use sgq::{Session, Settings, method, problem::Quadratic, simulate::gap_curve, Problem, Oracle};
    /// let users = Quadratic::scalar(&[1.0; 4], &[2.0, 1.0, -1.0, -2.0])?;
    /// let mut session = Session::new(method::saga(), Settings::for_problem(vec![5.0], &users).budget(40))?;
    /// let mut gradient = [0.0];
    /// while let Some(query) = session.ask()? {
    ///     users.gradient(query.user, &query.point, &mut gradient);
    ///     session.tell(query.ticket, &gradient)?;
    /// }
    /// assert!(users.gap(session.point()).unwrap() <= session.certified().expect("all of it is known"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn certified(&self) -> Option<f64> {
        self.certificate().ok()
    }

    /// The same, or why nothing is proven.
    pub fn certificate(&self) -> Result<f64, Uncertified> {
        let (state, belief) = (&self.state, self.parts.belief());
        let (smoothness, mu) = state.certifying.constants(state.smoothness.as_ref())?;
        if !belief.has_surrogate() {
            return Err(Uncertified::Forgotten);
        }
        // The constant is that of the mean over everybody.
        if !state.left.is_empty() {
            return Err(Uncertified::Left);
        }
        if belief.surrogate_gradient().is_none() {
            return Err(Uncertified::Unasked);
        }
        let bound = belief.gradient_bound(&state.point, smoothness).filter(|_| state.certifying.is_exact);
        let gap = bound.map(|bound| bound * bound / (2.0 * mu)).ok_or(Uncertified::Inexact)?;
        if gap.is_finite() { Ok(gap) } else { Err(Uncertified::Overflow) }
    }

    /// How many queries may be paid for in all, where that is limited.
    pub fn budget(&self) -> Option<u64> {
        self.state.stop_rules.budget()
    }

    /// What may be paid in all, where that is limited.
    pub fn cost_budget(&self) -> Option<f64> {
        self.state.stop_rules.cost_budget()
    }

    /// How many numbers answers may hold in all, where that is limited.
    pub fn numbers_budget(&self) -> Option<u64> {
        self.state.stop_rules.numbers_budget()
    }

    /// What is left of the [budget in cost](crate::Settings::cost_budget), once what is out is paid; none where there is no such
    /// budget.
    pub fn cost_left(&self) -> Option<f64> {
        self.state.cost_left()
    }

    /// The part of the gap at the start at which it stops, where it stops by that.
    pub fn tolerance(&self) -> Option<f64> {
        self.state.stop_rules.tolerance()
    }

    /// Why the run stopped; `None` while it goes on.
    pub fn stop_reason(&self) -> Option<StopReason> {
        self.state.stop
    }

    /// Why the run stopped, in a sentence; where nobody answers, with who [failed](Session::failures) most often, and why.
    pub fn stop_message(&self) -> Option<String> {
        let stop = self.state.stop?;
        let failures = self.state.failures.in_words();
        Some(match stop {
            StopReason::NobodyAnswers if !failures.is_empty() => format!("{stop} ({failures})"),
            _ => stop.to_string(),
        })
    }

    /// Raises the budget by that many queries: a run that had spent it goes on.
    ///
    /// ```
    /// # use sgq::{Session, Settings, StopReason, method};
    /// let mut session = Session::new(method::sgd(), Settings::new(vec![5.0], 2).step_size(0.1).budget(0))?;
    /// assert_eq!(session.ask()?, None);
    /// session.extend(3);
    /// assert!(session.ask()?.is_some());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn extend(&mut self, queries: u64) {
        self.state.stop_rules.extend(queries);
        self.go_on_within_budgets();
    }

    /// Raises the [budget in cost](crate::Settings::cost_budget): a run that had spent it goes on.
    pub fn extend_cost(&mut self, cost: f64) {
        self.state.stop_rules.extend_cost(cost);
        self.go_on_within_budgets();
    }

    /// Raises the [budget in numbers](crate::Settings::numbers_budget): a run that had spent it goes on.
    pub fn extend_numbers(&mut self, numbers: u64) {
        self.state.stop_rules.extend_numbers(numbers);
        self.go_on_within_budgets();
    }

    fn go_on_within_budgets(&mut self) {
        if self.state.stop.is_some_and(StopReason::is_budget) {
            self.state.stop = self.reason_to_stop(true);
        }
    }

    /// Changes the [tolerance](crate::Settings::tolerance): a run that had converged goes on until so small a part of the gap at the
    /// start is believed to remain. It takes the place of a certified gap.
    ///
    /// ```
    /// # use sgq::{Session, Settings, method};
    /// # let clinic = |user: usize, x: &[f64]| vec![2.0 * (x[0] - [2.0, 1.0, -1.0, -2.0][user]) + 0.1 * x[0].powi(3)];
    /// let settings = Settings::new(vec![5.0], 4).budget(200).tolerance(1e-3);
    /// let mut session = Session::new(method::frugal(), settings)?;
    /// let mut needed = Vec::new();
    /// for part in [1e-3, 1e-12] {
    ///     session.extend_to_tolerance(part)?;
    ///     while let Some(query) = session.ask()? {
    ///         session.tell(query.ticket, &clinic(query.user, &query.point))?;
    ///     }
    ///     assert!(session.stop_reason().is_some_and(|stop| stop.is_converged()));
    ///     needed.push(session.queries());
    /// }
    /// assert!(needed[0] < needed[1]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn extend_to_tolerance(&mut self, part: f64) -> Result<(), SettingsError> {
        if !self.parts.belief().can_tell_remaining() {
            return Err(SettingsError::Unmet { method: self.state.name.clone(), need: Need::Remaining });
        }
        self.state.stop_rules.extend_to_tolerance(part)?;
        self.go_on_from_target();
        Ok(())
    }

    /// Changes the [certified gap](crate::Settings::certified_gap): a run that had converged goes on until so small a gap is proven.
    /// It takes the place of a tolerance.
    pub fn extend_to_certified_gap(&mut self, gap: f64) -> Result<(), SettingsError> {
        match self.certificate() {
            Ok(_) | Err(Uncertified::Unasked | Uncertified::Overflow) => {}
            Err(why) => return Err(SettingsError::Uncertified(why)),
        }
        self.state.stop_rules.extend_to_certified_gap(gap)?;
        self.go_on_from_target();
        Ok(())
    }

    fn go_on_from_target(&mut self) {
        if self.state.stop.is_some_and(StopReason::is_converged) {
            self.state.stop = self.reason_to_stop(true);
        }
    }

    /// Whether answers cannot tell the point from the optimum: `‖∇f(x)‖ ≤ G`, as for [`certified`](Session::certified), where `G` is
    /// no more than the rounding of what it is the mean of. A run that starts at the optimum has no gap to compare with.
    fn is_zero_but_for_rounding(&self) -> bool {
        let (state, belief) = (&self.state, self.parts.belief());
        let limit = ROUNDING * state.gradient_sizes.mean();
        if belief.surrogate_gradient().is_none_or(|gradient| kernel::norm(gradient) > limit) {
            return false;
        }
        let bound = match &state.smoothness {
            Some(smoothness) => belief.gradient_bound(&state.point, smoothness.each()),
            // However users bend, where all answers were taken here.
            None => belief.gradient_bound(&state.point, &vec![f64::MAX; state.users()]),
        };
        bound.is_some_and(|bound| bound <= limit)
    }

    /// The gap, which can be costly to compute, is only looked at where the point has moved.
    pub(super) fn reason_to_stop(&self, moved: bool) -> Option<StopReason> {
        let state = &self.state;
        state.stop_rules.reason(
            &state.meter,
            self.numbers_wanted(),
            || if moved { self.sight.gap(&state.point) } else { None },
            || self.certified(),
            || self.is_zero_but_for_rounding(),
            self.parts.belief(),
        )
    }

    /// For whoever knows that answers are past what numbers can hold.
    pub(crate) fn stop_as_diverged(&mut self) {
        self.state.stop = Some(StopReason::Diverged { steps: self.state.progress.steps });
    }
}
