//! Events go to the disk one by one or in groups, and a snapshot now and then.

use super::Ledger;
use crate::{
    Event, Kind, LedgerError,
    lock::Mark,
    record::{self, hex},
    restore::PROGRAM,
    seal::Details,
};

/// A snapshot is written after so many events, if as many bytes were written as it has: reading it back is to be quicker than going
/// through them again.
const EVENTS_PER_SNAPSHOT: u64 = 500;
/// No snapshot is larger: SQLite has a limit for a row.
const LARGEST_SNAPSHOT: usize = 512 << 20;

impl Ledger {
    /// Writes all that happens inside at once. Nothing that it returns may be shown to anybody before this returns: until then it is
    /// not on the disk.
    ///
    /// One write to the disk takes as long as another, however little it holds: several answers at once cost what one does.
    pub fn group<T>(&mut self, work: impl FnOnce(&mut Self) -> Result<T, LedgerError>) -> Result<T, LedgerError> {
        if self.in_group {
            return work(self);
        }
        self.begin_group()?;
        let result = work(self);
        match (result, self.end_group()) {
            (Err(error), _) if self.is_stale => Err(error),
            (result, Ok(())) => result,
            (_, Err(error)) => Err(error),
        }
    }

    /// From here on everything is written at once, when the group ends.
    pub(crate) fn begin_group(&mut self) -> Result<(), LedgerError> {
        self.check_fresh()?;
        self.begin_transaction()?;
        self.in_group = true;
        Ok(())
    }

    /// Writes what has happened since the group began. A refused answer has a row of its own, and does not undo the others.
    pub(crate) fn end_group(&mut self) -> Result<(), LedgerError> {
        self.in_group = false;
        if self.is_stale { Err(LedgerError::Stale) } else { self.commit() }
    }

    fn begin_transaction(&mut self) -> Result<(), LedgerError> {
        self.connection.execute_batch("BEGIN IMMEDIATE").map_err(|error| self.stale(error.into()))
    }

    fn commit(&mut self) -> Result<(), LedgerError> {
        self.connection.execute_batch("COMMIT").map_err(|error| self.stale(error.into()))?;
        self.set_mark();
        Ok(())
    }

    /// How far the record is, now that all of it is on the disk.
    pub(super) fn set_mark(&mut self) {
        self.lock.set_mark(Mark { ledger: hex(&self.header.seal), events: self.seq });
    }

    /// After an error of the disk, what is in memory may be ahead of it.
    pub(super) fn stale(&mut self, error: LedgerError) -> LedgerError {
        self.is_stale = true;
        let _ = self.connection.execute_batch("ROLLBACK");
        error.of(&self.path)
    }

    pub(super) fn check_fresh(&self) -> Result<(), LedgerError> {
        if !self.lock.is_of_this_process() {
            return Err(LedgerError::Forked { path: self.path.clone() });
        }
        if self.is_stale { Err(LedgerError::Stale) } else { Ok(()) }
    }

    pub(super) fn record(&mut self, event: Event) -> Result<(), LedgerError> {
        self.transaction(|ledger| ledger.write(event, Details::Nothing))
    }

    pub(super) fn transaction(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<(), LedgerError>,
    ) -> Result<(), LedgerError> {
        self.check_fresh()?;
        if !self.in_group {
            self.begin_transaction()?;
        }
        work(self).map_err(|error| self.stale(error))?;
        if self.in_group { Ok(()) } else { self.commit() }
    }

    /// Adds an event to the record, in a transaction.
    pub(super) fn write(&mut self, event: Event, details: Details<'_>) -> Result<(), LedgerError> {
        if std::mem::take(&mut self.vain_unwritten) {
            self.write(Event::now(Kind::Waited), Details::Nothing)?;
        }
        if event.kind.counts() && event.kind != Kind::Waited {
            self.asked_in_vain = false;
        }
        let numbers = match details {
            Details::Question { point, .. } => point.len() as u64,
            _ => event.numbers.unwrap_or(0),
        };
        self.since_snapshot += 1;
        self.bytes_since_snapshot += 8 * numbers;
        (self.seq, self.seal) = record::append(&self.connection, event, details, (self.seq, &self.seal))?;
        Ok(())
    }

    /// Writes what `ask` has found out when it found nobody.
    pub(super) fn flush(&mut self) -> Result<(), LedgerError> {
        if std::mem::take(&mut self.vain_unwritten) {
            self.record(Event::now(Kind::Waited))?;
        }
        Ok(())
    }

    pub(super) fn snapshot_if_due(&mut self) -> Result<(), LedgerError> {
        let is_due = self.since_snapshot >= EVENTS_PER_SNAPSHOT && self.bytes_since_snapshot >= self.last_snapshot;
        if is_due { self.write_snapshot() } else { Ok(()) }
    }

    pub(super) fn write_snapshot(&mut self) -> Result<(), LedgerError> {
        let bytes = self.session.snapshot()?;
        (self.since_snapshot, self.bytes_since_snapshot, self.last_snapshot) = (0, 0, bytes.len() as u64);
        if bytes.len() > LARGEST_SNAPSHOT {
            return Ok(());
        }
        self.flush()?;
        self.transaction(|ledger| {
            let sql = "INSERT OR REPLACE INTO snapshots (seq, program, bytes) VALUES (?, ?, ?)";
            ledger.connection.execute(sql, (ledger.seq, PROGRAM, bytes))?;
            // Two are kept: one may be damaged.
            let sql = "DELETE FROM snapshots WHERE seq NOT IN (SELECT seq FROM snapshots ORDER BY seq DESC LIMIT 2)";
            ledger.connection.execute(sql, [])?;
            Ok(())
        })
    }
}
