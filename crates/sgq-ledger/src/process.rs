//! Users that are processes: questions go to their standard input, a line of JSON each, and answers come from their standard output.
//!
//! ```no_run
//! use sgq_ledger::{Ledger, process::{Ended, Options, run}};
//!
//! let mut ledger = Ledger::open("study.sgq")?;
//! let options = Options::new("python3 clinic.py".parse()?);
//! if let Ended::Stopped(why) = run(&mut ledger, &options, &mut ())? {
//!     println!("{why}: {:?}", ledger.session().point());
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! What a process does is not trusted:
//!
//! | what it does | what becomes of it |
//! |---|---|
//! | says `{"error": …}`, or answers what cannot be right: NaN, 10³⁰⁰, a wrong length | a row; asked again [`retries`](Options::retries) times, then the question fails |
//! | answers in another order than asked | taken; with [`in_order`](Options::in_order), used in the order of the questions |
//! | answers twice | the same: a row. Another: refused, a row |
//! | answers for another user, or with a ticket that nobody has given out | refused, a row |
//! | answers a question that has failed | taken, as late |
//! | writes what is no answer, or too long | refused, a row; after [`wrong_lines`](Options::wrong_lines) without an answer it is ended |
//! | says nothing for [`timeout`](Options::timeout) | it is ended and started again, and the question put again |
//! | ends | it is started again, and the question put again |
//! | asks for more time than [`lease`](Options::lease) | the question fails; a late answer is taken |
//!
//! Whoever is asked again is asked after a while that doubles, with a jitter that comes from the [seed](Options::seed) and the
//! ticket. Memory is bounded: by the longest answer there can be, times the few lines that wait to be read.

mod command;
mod driver;
mod worker;

use std::{io, time::Duration};

use sgq::StopReason;
use thiserror::Error;

pub use command::{Command, CommandError};

use crate::{Ledger, LedgerError, Missing, Watcher};

/// How to ask users that are processes.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Options {
    /// The program.
    pub command: Command,
    /// Whether each user has a process of its own, which is started when it is first asked; else one process answers for all.
    pub each: bool,
    /// How long an answer may take. A process with several questions has as many times as long.
    pub timeout: Duration,
    /// How often a question is put again before it fails.
    pub retries: u32,
    /// How long to wait before a question is put again; then twice as long, and so on.
    pub wait: Duration,
    /// The longest wait.
    pub longest_wait: Duration,
    /// A question fails so long after this run has first put it, whatever happens. Its answer is welcome all the same.
    pub lease: Option<Duration>,
    /// A process is ended after so many lines in a row that are no answers.
    pub wrong_lines: u64,
    /// The most bytes of a line; by default, those of the longest answer there can be.
    pub longest_line: Option<usize>,
    /// Uses answers in the order of the questions, so that the time they take does not matter: the same answers give the same bytes.
    /// An answer that waits for its turn is on the disk.
    pub in_order: bool,
    /// How long to wait for what is out once somebody has interrupted.
    pub grace: Duration,
    /// The seed of the jitter.
    pub seed: u64,
}

impl Options {
    /// One process for all users, with five minutes for an answer, and two more tries.
    pub fn new(command: Command) -> Self {
        Self {
            command,
            each: false,
            timeout: Duration::from_secs(300),
            retries: 2,
            wait: Duration::from_secs(1),
            longest_wait: Duration::from_secs(60),
            lease: None,
            wrong_lines: 100,
            longest_line: None,
            in_order: false,
            grace: Duration::from_secs(5),
            seed: 0,
        }
    }

    /// How long to wait before a question is put for the `tries`-th time again: twice as long as before, times a number between ½ and
    /// 1½ that is the same for the same seed, ticket and try.
    pub fn wait_before(&self, ticket: u64, tries: u32) -> Duration {
        let mut hash = blake3::Hasher::new();
        for part in [self.seed, ticket, u64::from(tries)] {
            hash.update(&part.to_le_bytes());
        }
        let draw = hash.finalize().as_bytes().iter().take(4).fold(0_u32, |draw, byte| draw << 8 | u32::from(*byte));
        let doubled = self.wait.saturating_mul(1 << tries.saturating_sub(1).min(20)).min(self.longest_wait);
        doubled.mul_f64(0.5 + f64::from(draw) / f64::from(u32::MAX))
    }
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Ended {
    /// The session stopped, and all that was out is answered or has failed.
    Stopped(StopReason),
    /// Somebody interrupted it. The next run puts again what is out.
    Interrupted,
    /// These users will not answer what everybody is asked, and said why; the next run asks them again.
    Unanswered(Vec<(String, String)>),
    /// These users' questions fail again and again, in a study by a plan: what others may disclose is not spent meanwhile.
    Failing(Vec<Missing>),
    /// Only these users have questions, and they are away: their answers can be told by hand, or they come back.
    Waiting(Vec<String>),
}

/// Why a run could not go on. What is in the ledger stays, and the next run goes on from there.
#[derive(Debug, Error)]
#[allow(missing_docs)] // the message says what each field is
#[non_exhaustive]
pub enum ProcessError {
    #[error(
        "cannot start {program:?}: {error}; give a program that can be found from here, and that may be run (chmod +x)"
    )]
    Start { program: String, error: io::Error },
    #[error(
        "{program:?} has given no answer that can be taken ({why}); put it right, and run again: what is out is still open"
    )]
    NeverAnswers { program: String, why: String },
    #[error("{what} must be {bounds}")]
    Option { what: &'static str, bounds: &'static str },
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

/// Puts every question of a session to its user's process, until the session stops or somebody interrupts.
///
/// What is out when it begins is put again: a process may have been asked that before.
pub fn run(ledger: &mut Ledger, options: &Options, watcher: &mut dyn Watcher) -> Result<Ended, ProcessError> {
    if options.timeout.is_zero() {
        return Err(ProcessError::Option { what: "the timeout", bounds: "more than 0" });
    }
    if options.lease.is_some_and(|lease| lease.is_zero()) {
        return Err(ProcessError::Option { what: "the lease", bounds: "more than 0" });
    }
    driver::Driver::new(ledger, options, watcher).run()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_and_are_the_same_for_the_same_seed() {
        let options = Options { seed: 7, ..Options::new("clinic".parse().unwrap()) };
        for (tries, base) in [(1, 1.0), (2, 2.0), (3, 4.0), (40, 60.0)] {
            let wait = options.wait_before(17, tries);
            assert_eq!(wait, options.clone().wait_before(17, tries));
            assert!((0.5 * base..=1.5 * base).contains(&wait.as_secs_f64()), "{tries}: {wait:?}");
        }
        let other = Options { seed: 8, ..options.clone() };
        assert_ne!(options.wait_before(17, 1), other.wait_before(17, 1));
        assert_ne!(options.wait_before(17, 1), options.wait_before(18, 1));
    }
}
