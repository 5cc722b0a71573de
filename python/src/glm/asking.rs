//! Listening to the users of a fit.

use std::{io, ops::ControlFlow};

use sgq::{
    Answer, Oracle as _, Session,
    drive::{Billed, Observer},
    problem::Regression,
};
use sgq_data::glm::Secants;

use crate::listening::Listener;

/// What the answers say of curvature, and Ctrl-C.
pub struct Watch {
    pub secants: Secants,
    pub listener: Listener,
}

impl Watch {
    pub fn new(problem: &Regression) -> Self {
        let weights: Vec<f64> = (0..problem.users()).map(|user| problem.weight_of_user(user)).collect();
        Self { secants: Secants::new(problem.dim(), &weights), listener: Listener::default() }
    }
}

impl Observer for Watch {
    fn telling(&mut self, billed: &Billed<'_>) -> io::Result<()> {
        let Answer { gradient, .. } = billed.answer;
        self.secants.take(billed.query.user, &billed.query.point, gradient);
        Ok(())
    }

    fn told(&mut self, _: &Session<'_>) -> ControlFlow<()> {
        if self.listener.is_interrupted() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}
