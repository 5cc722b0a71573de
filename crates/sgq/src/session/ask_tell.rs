//! A session whose method is only known at run time.

use super::{Query, Session, SnapshotError, StopReason, TellError, Ticket};
use crate::{Belief, Choice, ChoiceError, Meter, Update, theory::Theorem};

/// What can be done with a session of any method: see [`Session`] for each call.
#[allow(missing_docs)] // documented on `Session`
pub trait AskTell: Send + Sync {
    fn ask(&mut self) -> Result<Option<Query>, ChoiceError>;
    fn tell(&mut self, ticket: Ticket, gradient: &[f64]) -> Result<(), TellError>;
    fn name(&self) -> &str;
    fn point(&self) -> &[f64];
    fn queries(&self) -> u64;
    fn steps(&self) -> u64;
    fn step_size(&self) -> f64;
    fn theorem(&self) -> Option<Theorem>;
    fn meter(&self) -> &Meter;
    fn surrogate_gradient_norm(&self) -> Option<f64>;
    fn stop_reason(&self) -> Option<StopReason>;
    fn snapshot(&self) -> Result<Vec<u8>, SnapshotError>;
}

impl<B: Belief, C: Choice<B>, U: Update<B>> AskTell for Session<'_, B, C, U> {
    fn ask(&mut self) -> Result<Option<Query>, ChoiceError> {
        self.ask()
    }

    fn tell(&mut self, ticket: Ticket, gradient: &[f64]) -> Result<(), TellError> {
        self.tell(ticket, gradient)
    }

    fn name(&self) -> &str {
        self.name()
    }

    fn point(&self) -> &[f64] {
        self.point()
    }

    fn queries(&self) -> u64 {
        self.queries()
    }

    fn steps(&self) -> u64 {
        self.steps()
    }

    fn step_size(&self) -> f64 {
        self.step_size()
    }

    fn theorem(&self) -> Option<Theorem> {
        self.theorem()
    }

    fn meter(&self) -> &Meter {
        self.meter()
    }

    fn surrogate_gradient_norm(&self) -> Option<f64> {
        self.surrogate_gradient_norm()
    }

    fn stop_reason(&self) -> Option<StopReason> {
        self.stop_reason()
    }

    fn snapshot(&self) -> Result<Vec<u8>, SnapshotError> {
        self.snapshot()
    }
}
