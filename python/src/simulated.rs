//! Problems that answer by themselves, as long as nobody presses Ctrl-C.

use std::{
    io,
    ops::ControlFlow,
    time::{Duration, Instant},
};

use pyo3::prelude::*;
use sgq::{
    Session,
    drive::{Billed, Observer},
};

use crate::types::Indices;

/// Who was asked, whether in order to explore, and the steps taken: one entry for each query.
pub type Simulated<'py> = (Indices<'py>, Indices<'py>, Indices<'py>);

/// How long a problem answers before Ctrl-C is looked for.
const PAUSE: Duration = Duration::from_millis(20);

/// Who was asked, and what came of it; listens for Ctrl-C now and then.
pub struct Answered {
    most: u64,
    pub users: Vec<i64>,
    pub explored: Vec<i64>,
    pub steps: Vec<i64>,
    heard: Instant,
    /// Where answers are quick the clock is read after every few of them only.
    stride: u64,
    unheard: u64,
    pub interrupted: Option<PyErr>,
}

impl Answered {
    /// Until there are so many answers.
    pub fn at_most(queries: u64) -> Self {
        let (users, explored, steps) = (Vec::new(), Vec::new(), Vec::new());
        Self { most: queries, users, explored, steps, heard: Instant::now(), stride: 1, unheard: 0, interrupted: None }
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
        self.unheard += 1;
        if self.unheard >= self.stride {
            self.unheard = 0;
            if self.heard.elapsed() < PAUSE {
                self.stride = (2 * self.stride).min(1024);
            } else {
                self.interrupted = Python::attach(|py| py.check_signals()).err();
                self.heard = Instant::now();
                self.stride = 1;
            }
        }
        let done = self.users.len() as u64 >= self.most || self.interrupted.is_some();
        if done { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}
