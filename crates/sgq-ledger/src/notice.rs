//! What happens between a session and its users, for a person or a log.

use std::fmt;

use serde::Serialize;

use crate::Ledger;

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Doing {
    /// A process was started.
    Started,
    /// A process ended, or was ended.
    Ended,
    /// A process wrote to its standard error.
    Said,
    /// A question went out.
    Sent,
    /// An answer was taken.
    Taken,
    /// What came was not taken.
    Refused,
    /// A question will be put again, after a while.
    Again,
    /// A question failed.
    Failed,
    /// A file is not complete yet.
    Waits,
}

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Notice {
    /// What.
    pub doing: Doing,
    /// The question it is about.
    pub ticket: Option<u64>,
    /// The user it is about.
    pub user: Option<String>,
    /// The rest, in words.
    pub words: String,
}

impl Notice {
    pub(crate) fn new(doing: Doing, ticket: Option<u64>, user: Option<&str>, words: impl Into<String>) -> Self {
        Self { doing, ticket, user: user.map(str::to_owned), words: words.into() }
    }

    /// Whether a person should see it: all else is as it should be.
    pub fn is_trouble(&self) -> bool {
        match self.doing {
            Doing::Refused | Doing::Again | Doing::Failed | Doing::Waits => true,
            Doing::Taken => !self.words.is_empty(),
            Doing::Started | Doing::Ended | Doing::Said | Doing::Sent => false,
        }
    }
}

impl fmt::Display for Notice {
    /// In a line for a person.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(user) = &self.user {
            write!(f, "{user}: ")?;
        }
        if let Some(ticket) = self.ticket {
            write!(f, "question {ticket}: ")?;
        }
        f.write_str(match self.doing {
            Doing::Started => "started",
            Doing::Ended => "ended",
            Doing::Said => "says",
            Doing::Sent => "asked",
            Doing::Taken => "answered",
            Doing::Refused => "refused",
            Doing::Again => "asked again",
            Doing::Failed => "failed",
            Doing::Waits => "waits",
        })?;
        if self.words.is_empty() { Ok(()) } else { write!(f, ": {}", self.words) }
    }
}

/// Whoever looks on while users are asked, and may say that it is enough.
pub trait Watcher {
    /// Something happened. What it speaks of is on the disk.
    fn notice(&mut self, notice: &Notice) {
        let _ = notice;
    }

    /// The session is further than before.
    fn moved(&mut self, ledger: &Ledger) {
        let _ = ledger;
    }

    /// Somebody has interrupted, and so many questions are waited for, for at most so long.
    fn waits_for(&mut self, questions: usize, at_most: std::time::Duration) {
        let _ = (questions, at_most);
    }

    /// Whether nobody else is to be asked: what is out is still waited for, for some seconds.
    fn is_interrupted(&self) -> bool {
        false
    }

    /// Whether what is out is not to be waited for, either.
    fn is_impatient(&self) -> bool {
        false
    }
}

/// For whoever wants to see nothing.
impl Watcher for () {}
