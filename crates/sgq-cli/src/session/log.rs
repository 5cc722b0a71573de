//! Structured logs on the standard error, for machines and for long runs.

use std::io;

use clap::ValueEnum;
use sgq_ledger::Notice;

/// How a log is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "lower")]
pub enum Log {
    /// A line for a person.
    Text,
    /// A line of JSON.
    Json,
}

impl Log {
    /// From here on events are written to the standard error.
    pub fn start(self) -> Result<(), Box<dyn std::error::Error>> {
        let builder = tracing_subscriber::fmt().with_writer(io::stderr).with_ansi(false).with_target(false);
        let started = match self {
            Self::Text => builder.try_init(),
            Self::Json => builder.json().flatten_event(true).try_init(),
        };
        started.map_err(|error| format!("cannot write a log: {error}").into())
    }
}

/// Writes what happened between the session and a user.
pub fn notice(notice: &Notice) {
    let Notice { doing, ticket, user, words, .. } = notice;
    let (what, user) = (format!("{doing:?}").to_lowercase(), user.as_deref());
    let words = Some(crate::terminal::one_line(words)).filter(|words| !words.is_empty());
    if notice.is_trouble() {
        tracing::warn!(what, ticket, user, words);
    } else {
        tracing::info!(what, ticket, user, words);
    }
}
