//! Questions that were not answered: who failed, how often, and why.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What is known of a question that will not be answered: by default nothing, and it costs nothing.
///
/// ```
/// # use sgq::{Session, Settings, method, session::Failure};
/// let mut session = Session::new(method::shuffled_sgd(), Settings::new(vec![5.0], 3).step_size(0.1).budget(9))?;
/// let query = session.ask()?.unwrap();
/// session.fail_with(query.ticket, Failure::new().because("timed out after 60 s").billed())?;
/// assert_eq!(session.queries(), 1);
/// let failures = session.failures().next().unwrap();
/// assert_eq!((failures.user, failures.times, failures.last_reason), (query.user, 1, Some("timed out after 60 s")));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Failure<'a> {
    /// Why there is no answer, in words.
    pub reason: Option<&'a str>,
    /// Whether the question is paid for all the same.
    pub billed: bool,
}

impl<'a> Failure<'a> {
    /// A failure that nothing is known of. It is not billed.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same with its reason.
    pub fn because(self, reason: &'a str) -> Self {
        Self { reason: Some(reason), ..self }
    }

    /// The same, billed: one query, and what its user costs.
    pub fn billed(self) -> Self {
        Self { billed: true, ..self }
    }
}

/// What went wrong with one user so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Failures<'a> {
    /// Whose questions were not answered.
    pub user: usize,
    /// How many failed, those included that were answered later.
    pub times: u64,
    /// The last reason that was given.
    pub last_reason: Option<&'a str>,
}

/// All failures so far.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct FailureLog {
    of: BTreeMap<usize, (u64, Option<String>)>,
}

impl FailureLog {
    pub fn note(&mut self, user: usize, failure: &Failure<'_>) {
        let (times, reason) = self.of.entry(user).or_default();
        *times += 1;
        if let Some(new) = failure.reason {
            *reason = Some(new.to_owned());
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = Failures<'_>> {
        self.of.iter().map(|(user, (times, reason))| Failures {
            user: *user,
            times: *times,
            last_reason: reason.as_deref(),
        })
    }

    /// Those who failed most often, in words; empty where nobody failed.
    pub fn in_words(&self) -> String {
        const SHOWN: usize = 3;
        let mut failures: Vec<_> = self.iter().collect();
        failures.sort_by_key(|it| std::cmp::Reverse(it.times));
        let words = failures.iter().take(SHOWN).map(|Failures { user, times, last_reason }| {
            let s = if *times == 1 { "" } else { "s" };
            let why = last_reason.map(|reason| format!(": {reason}")).unwrap_or_default();
            format!("user {user} failed {times} time{s}{why}")
        });
        let mut words = words.collect::<Vec<_>>().join("; ");
        if let Some(more @ 1..) = failures.len().checked_sub(SHOWN) {
            words += &format!("; and {more} more");
        }
        words
    }
}
