//! Listening for Ctrl-C while Rust is at work.

use std::time::{Duration, Instant};

use pyo3::prelude::*;

/// How long it works before Ctrl-C is looked for.
const PAUSE: Duration = Duration::from_millis(20);

/// Looks for Ctrl-C now and then.
pub struct Listener {
    heard: Instant,
    /// Where answers are quick the clock is read after every few of them only.
    stride: u64,
    unheard: u64,
    /// What a signal's handler raised: most often KeyboardInterrupt.
    pub interrupted: Option<PyErr>,
}

impl Default for Listener {
    fn default() -> Self {
        Self { heard: Instant::now(), stride: 1, unheard: 0, interrupted: None }
    }
}

impl Listener {
    /// After an answer: whether it is time to stop.
    pub fn is_interrupted(&mut self) -> bool {
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
        self.interrupted.is_some()
    }
}
