//! Whether a record is what it claims to be.

use std::path::Path;

use rusqlite::Connection;
use serde::Serialize;

use crate::{
    Kind, LedgerError,
    record::{self, Header},
    restore::{replay_all, restore},
};

/// What was found.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Verdict {
    /// Events that are sealed as they were written.
    pub events: u64,
    /// Answers among them.
    pub answers: u64,
    /// Whether this version of the program, told the same answers, asks the same questions to the bit.
    pub replays: bool,
    /// What is not as it should be.
    pub findings: Vec<Finding>,
}

/// One thing that is not as it should be.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Finding {
    /// Whether the record is damaged by it: else it is only worth knowing.
    pub damage: bool,
    /// What it is.
    pub words: String,
}

impl Verdict {
    /// Whether nothing is damaged.
    pub fn is_sound(&self) -> bool {
        self.findings.iter().all(|finding| !finding.damage)
    }
}

pub(crate) fn verify(
    connection: &Connection,
    header: &Header,
    lost: Option<&LedgerError>,
    path: &Path,
) -> Result<Verdict, LedgerError> {
    let mut verdict = Verdict { events: 0, answers: 0, replays: false, findings: Vec::new() };
    let damage = |words: String| Finding { damage: true, words };
    verdict.findings.extend(lost.map(|error| damage(error.to_string())));
    // SQLite's own pages and indices.
    let mut check = connection.prepare("PRAGMA integrity_check(10)")?;
    let words = check.query_map([], |row| row.get::<_, String>(0))?.collect::<Result<Vec<_>, _>>();
    match words {
        Ok(words) if words == ["ok"] => {}
        Ok(words) => verdict.findings.extend(words.into_iter().map(|it| damage(format!("SQLite: {it}")))),
        Err(error) => verdict.findings.push(damage(format!("SQLite: {error}"))),
    }
    // Every seal.
    let sealed = record::events_after(connection, 0, &header.seal, |recorded| {
        verdict.events += 1;
        verdict.answers += u64::from(matches!(recorded.event.kind, Kind::Answered | Kind::Late));
        Ok(())
    });
    if let Err(error) = sealed {
        verdict.findings.push(damage(error.of(path).to_string()));
        return Ok(verdict);
    }
    // Rows that no event speaks of.
    for (table, kinds) in [("questions", "'asked'"), ("answers", "'held', 'answered', 'late'")] {
        let sql = format!(
            "SELECT COUNT(*) FROM {table} t WHERE NOT EXISTS (SELECT 1 FROM events e WHERE e.seq = t.seq AND e.kind IN ({kinds}) \
             AND e.ticket = t.ticket AND e.user = t.user)"
        );
        let strays: i64 = connection.query_row(&sql, [], |row| row.get(0))?;
        if strays > 0 {
            verdict.findings.push(damage(format!("{strays} rows of the table {table} belong to no event")));
        }
    }
    // The whole run again.
    match replay_all(connection, header)? {
        Ok(again) => {
            verdict.replays = true;
            let quick = restore(connection, header)?;
            if quick.made_anew.is_some() || quick.session.snapshot()? != again.session.snapshot()? {
                verdict.findings.push(damage("a snapshot is not what its events lead to".to_owned()));
            }
        }
        Err(why) => verdict.findings.push(Finding {
            damage: false,
            words: format!("this version of the program goes on from the answers alone: {why}"),
        }),
    }
    Ok(verdict)
}
