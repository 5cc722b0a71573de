//! Problems that answer by themselves, as long as nobody presses Ctrl-C.

use std::{io, ops::ControlFlow};

use sgq::{
    Session,
    drive::{Billed, Observer},
};

use crate::{listening::Listener, types::Indices};

/// Who was asked, whether in order to explore, and the steps taken: one entry for each query.
pub type Simulated<'py> = (Indices<'py>, Indices<'py>, Indices<'py>);

/// Who was asked, and what came of it; listens for Ctrl-C now and then.
pub struct Answered {
    most: u64,
    pub users: Vec<i64>,
    pub explored: Vec<i64>,
    pub steps: Vec<i64>,
    pub listener: Listener,
}

impl Answered {
    /// Until there are so many answers.
    pub fn at_most(queries: u64) -> Self {
        let (users, explored, steps) = (Vec::new(), Vec::new(), Vec::new());
        Self { most: queries, users, explored, steps, listener: Listener::default() }
    }
}

impl Observer for Answered {
    fn telling(&mut self, answer: &Billed<'_>) -> io::Result<()> {
        self.users.push(answer.query.user as i64);
        self.explored.push(answer.query.explored.map_or(-1, i64::from));
        Ok(())
    }

    fn told(&mut self, session: &Session<'_>) -> ControlFlow<()> {
        self.steps.push(session.steps() as i64);
        let interrupted = self.listener.is_interrupted();
        let done = self.users.len() as u64 >= self.most || interrupted;
        if done { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}
