//! How far it is still to go, why a run ended, and how it goes on after that.

use serde::{Deserialize, Serialize};

use super::{Session, StopReason};
use crate::{Answer, Remaining, Settings};

/// What a proof of how much remains rests on, beside the users' smoothness.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Certifying {
    pl_constant: Option<f64>,
    /// Whether `L_i` hold everywhere, answers are exact, and what users count was known beforehand.
    is_certain: bool,
}

impl Certifying {
    pub fn new(settings: &Settings) -> Self {
        Self { pl_constant: settings.pl_constant, is_certain: !settings.local_smoothness }
    }

    /// Looks at what an answer says of itself.
    pub fn see(&mut self, answer: &Answer<'_>) {
        let has_noise = answer.variance.is_some_and(|variance| variance.iter().any(|variance| *variance > 0.0));
        self.is_certain &= !has_noise && answer.weight.is_none();
    }
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
        let Certifying { pl_constant, is_certain } = self.state.certifying;
        let (smoothness, mu) = (self.state.smoothness.as_ref()?, pl_constant?);
        let bound = self.parts.belief().gradient_bound(&self.state.point, smoothness.each())?;
        let certified = bound * bound / (2.0 * mu);
        // The constant is that of the mean over everybody.
        let is_certain = is_certain && self.state.left.is_empty() && mu <= smoothness.mean() * (1.0 + 1e-9);
        (is_certain && mu > 0.0 && certified.is_finite()).then_some(certified)
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
        if self.state.stop.is_some_and(|stop| stop.is_budget()) {
            self.state.stop = self.reason_to_stop(true);
        }
    }

    /// The gap, which can be costly to compute, is only looked at where the point has moved.
    pub(super) fn reason_to_stop(&self, moved: bool) -> Option<StopReason> {
        let state = &self.state;
        state.stop_rules.reason(
            &state.meter,
            self.numbers_wanted(),
            || if moved { self.sight.gap(&state.point) } else { None },
            self.parts.belief(),
        )
    }

    /// For whoever knows that answers are past what numbers can hold.
    pub(crate) fn stop_as_diverged(&mut self) {
        self.state.stop = Some(StopReason::Diverged { steps: self.state.progress.steps });
    }
}
