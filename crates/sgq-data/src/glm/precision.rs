//! How close coefficients are to be to those of the finished fit.

use sgq::{
    Oracle, Session, StopReason,
    drive::{DriveError, Observer, drive},
};

use super::Study;

/// A smaller part of the gap at the start is rounding: of gradients it would be the root.
const LEAST_PART: f64 = 1e-22;

/// How close coefficients are to be to those of the finished fit, in standard errors.
#[derive(Clone, Copy, Debug)]
pub struct Precision<'a> {
    /// In standard errors; none where the run stops by another rule.
    pub errors: Option<f64>,
    /// What is minimised: its gap, times the weight of all rows and over the dispersion, is in units of the log-likelihood.
    pub study: &'a Study<'a>,
}

impl Precision<'_> {
    /// Standard errors that a coefficient may be off where nobody says: none of the digits that people read is another one by it.
    pub const DEFAULT: f64 = 0.01;

    /// The tolerance at which a precision is looked at first.
    pub const FIRST_TOLERANCE: f64 = 1e-4;

    /// Puts questions to users until coefficients are as close as they are to be, or the session stops for another reason; none where
    /// the observer ended it.
    pub fn drive(
        &self,
        session: &mut Session<'_>,
        users: &dyn Oracle,
        observer: &mut dyn Observer,
    ) -> Result<Option<StopReason>, DriveError> {
        loop {
            let stop = drive(session, users, observer)?;
            match self.tolerance(session, stop) {
                Some(part) => session.extend_to_tolerance(part)?,
                None => return Ok(stop),
            }
        }
    }

    /// The smaller tolerance to go on to, if one is needed.
    ///
    /// A coefficient is `δ` standard errors off at most where `W (f − f*) ≤ φ δ²/2`: the log-likelihood falls by half the square of the
    /// distance in standard errors.
    pub fn tolerance(&self, session: &Session<'_>, stop: Option<StopReason>) -> Option<f64> {
        let errors = self.errors?;
        let remaining = session.remaining().filter(|_| stop.is_some_and(StopReason::is_converged))?;
        let enough = 0.5 * errors * errors / (self.units(session) * remaining.at_start);
        let goes_on = remaining.part() > enough && enough.is_finite() && remaining.part() > LEAST_PART;
        // Not to the end at once: the gap at the start is known better on the way.
        goes_on.then(|| enough.clamp(LEAST_PART, 0.5 * remaining.part()))
    }

    /// How many standard errors coefficients are believed to be off at most.
    pub fn believed(&self, session: &Session<'_>) -> Option<f64> {
        session.remaining().map(|remaining| (2.0 * self.units(session) * remaining.gap.max(0.0)).sqrt())
    }

    /// Whether coefficients are believed to be as close as they are to be, or as close as numbers can tell; none where that is no matter.
    pub fn is_reached(&self, session: &Session<'_>) -> Option<bool> {
        let errors = self.errors?;
        let part = session.remaining().map(|remaining| remaining.part());
        Some(part.is_some_and(|part| part <= LEAST_PART) || self.believed(session).is_some_and(|off| off <= errors))
    }

    /// The gap's unit in units of the log-likelihood, `W/φ`; `W` where the dispersion is not known yet.
    fn units(&self, session: &Session<'_>) -> f64 {
        let dispersion = self.study.dispersion(session).filter(|value| *value > 0.0 && value.is_finite());
        self.study.weight() / dispersion.unwrap_or(1.0)
    }
}
