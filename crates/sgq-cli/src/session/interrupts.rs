//! Ctrl-C while users are asked: once to end when what is out has come, twice to end now.

use std::{
    process,
    sync::atomic::{AtomicU32, Ordering},
};

/// How often somebody has pressed Ctrl-C, or asked the program to end.
pub struct Interrupts(AtomicU32);

/// Whoever presses it so often wants it to end whatever happens. What is in the ledger stays all the same.
const ENOUGH: u32 = 3;

impl Interrupts {
    /// Counts from here on.
    pub fn watch() -> Result<&'static Self, ctrlc::Error> {
        static INTERRUPTS: Interrupts = Interrupts(AtomicU32::new(0));
        ctrlc::set_handler(|| {
            if INTERRUPTS.0.fetch_add(1, Ordering::Relaxed) + 1 >= ENOUGH {
                process::exit(130);
            }
        })?;
        Ok(&INTERRUPTS)
    }

    pub fn are_there(&self) -> bool {
        self.0.load(Ordering::Relaxed) > 0
    }

    /// Whether it is to end now.
    pub fn are_several(&self) -> bool {
        self.0.load(Ordering::Relaxed) > 1
    }
}
