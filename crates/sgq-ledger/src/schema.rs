//! The file: its tables, and how older ones become this one.
//!
//! | table | a row is |
//! |---|---|
//! | `ledger` | a fact about the session: its method, settings, protection, and the seal of what stands before the first event |
//! | `users` | a user: name, cost, weight, `L_i` |
//! | `events` | whatever happened, in order; see [`Kind`](crate::Kind). `seal` is the SHA-256 of this event and the seal before it |
//! | `questions` | a question: ticket, user, why, and the point |
//! | `answers` | an answer as it came, by the number of its event |
//! | `snapshots` | the state of the session after an event: it only makes opening quick |
//!
//! Vectors are blobs of f64, little endian. Times are milliseconds since 1970, UTC.

use std::path::Path;

use rusqlite::{Connection, OpenFlags};

use crate::LedgerError;

/// What tells a ledger from other SQLite files: "sgq1".
const APPLICATION: i32 = 0x7367_7131;
/// The version of the layout; `user_version` of the file.
pub const VERSION: i32 = 1;

/// Each step brings a file from the version of its place to the next one.
const MIGRATIONS: [&str; VERSION as usize] = ["
    CREATE TABLE ledger (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
    CREATE TABLE users (
        user INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, cost REAL, weight REAL, smoothness REAL
    ) STRICT;
    CREATE TABLE events (
        seq INTEGER PRIMARY KEY, at INTEGER NOT NULL, kind TEXT NOT NULL, ticket INTEGER, user INTEGER,
        words TEXT, cost REAL, numbers INTEGER, seal BLOB NOT NULL
    ) STRICT;
    CREATE TABLE questions (
        ticket INTEGER PRIMARY KEY, seq INTEGER NOT NULL, user INTEGER NOT NULL, why TEXT NOT NULL, wants TEXT NOT NULL,
        point BLOB NOT NULL
    ) STRICT;
    CREATE TABLE answers (
        seq INTEGER PRIMARY KEY, ticket INTEGER NOT NULL, user INTEGER NOT NULL, loss REAL, weight REAL, cost REAL,
        sensitivity REAL, noise REAL, length REAL NOT NULL, gradient BLOB NOT NULL, hessian BLOB, variance BLOB
    ) STRICT;
    CREATE INDEX events_of_tickets ON events (ticket, kind) WHERE ticket IS NOT NULL;
    CREATE INDEX answers_of_users ON answers (user, seq);
    CREATE TABLE snapshots (seq INTEGER PRIMARY KEY, program TEXT NOT NULL, bytes BLOB NOT NULL) STRICT;
"];

/// The write-ahead log may grow to so many pages of 4 KiB before it is moved into the file: 16 MiB.
const CHECKPOINT_PAGES: i32 = 4096;

/// Makes a new file. Fails where there is one.
pub(crate) fn create(path: &Path) -> Result<Connection, LedgerError> {
    let at = |error: std::io::Error| LedgerError::file(path, error);
    // SQLite would open whatever is there.
    std::fs::OpenOptions::new().write(true).create_new(true).open(path).map_err(at)?;
    let connection = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    connection.pragma_update(None, "application_id", APPLICATION)?;
    prepare(&connection)?;
    migrate(&connection, 0)?;
    Ok(connection)
}

/// Opens a file to write to it.
pub(crate) fn open(path: &Path) -> Result<Connection, LedgerError> {
    let connection = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    let version = check(&connection, path)?;
    prepare(&connection)?;
    migrate(&connection, version)?;
    Ok(connection)
}

/// Opens a file to read it, also while somebody writes.
pub(crate) fn open_to_read(path: &Path) -> Result<Connection, LedgerError> {
    let connection = connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    // What a writer that died has left in the log is for the next writer.
    connection.set_db_config(rusqlite::config::DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    let version = check(&connection, path)?;
    if version < VERSION {
        return Err(LedgerError::OldToRead { path: path.into(), version });
    }
    Ok(connection)
}

fn connect(path: &Path, flags: OpenFlags) -> Result<Connection, LedgerError> {
    // Without this, SQLite says only that it cannot open the file.
    std::fs::File::open(path).map_err(|error| LedgerError::file(path, error))?;
    let connection = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    connection.busy_timeout(std::time::Duration::from_secs(5))?;
    Ok(connection)
}

fn prepare(connection: &Connection) -> Result<(), LedgerError> {
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "wal_autocheckpoint", CHECKPOINT_PAGES)?;
    Ok(())
}

/// Moves the log into the file, and empties it.
pub(crate) fn checkpoint(connection: &Connection) -> Result<(), LedgerError> {
    // It says how it went in a row.
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
    Ok(())
}

fn migrate(connection: &Connection, from: i32) -> Result<(), LedgerError> {
    for (version, step) in MIGRATIONS.iter().enumerate().skip(from as usize) {
        connection.execute_batch(&format!("BEGIN IMMEDIATE; {step} PRAGMA user_version = {}; COMMIT;", version + 1))?;
    }
    Ok(())
}

/// The version of a file; refuses what is no ledger, or of a program to come.
fn check(connection: &Connection, path: &Path) -> Result<i32, LedgerError> {
    let number = |name: &str| connection.pragma_query_value(None, name, |row| row.get::<_, i32>(0));
    let not_a_ledger = || LedgerError::NotALedger { path: path.into() };
    let application = number("application_id").map_err(|error| match error.sqlite_error_code() {
        Some(rusqlite::ErrorCode::NotADatabase) => not_a_ledger(),
        _ => error.into(),
    })?;
    let version = number("user_version")?;
    if application != APPLICATION || version < 1 {
        return Err(not_a_ledger());
    }
    if version > VERSION {
        return Err(LedgerError::Newer { path: path.into(), version });
    }
    Ok(version)
}
