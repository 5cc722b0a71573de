//! The file: its tables, and how older ones become this one.
//!
//! | table | a row is |
//! |---|---|
//! | `ledger` | a fact about the session: its method, settings, protection, and the seal of what stands before the first event |
//! | `copies` | the same facts once more, and the users: without them no answer is of use |
//! | `users` | a user: name, cost, weight, `L_i` |
//! | `events` | whatever happened, in order; see [`Kind`](crate::Kind). `seal` is the BLAKE3 hash of this event and the seal before it; `about` is the number of the event with the answer, where that had come before its turn |
//! | `questions` | a question: ticket, user, why, and the point. `checksum` is the BLAKE3 hash of the row |
//! | `answers` | an answer as it came, by the number of its event. `checksum` is the BLAKE3 hash of the row |
//! | `snapshots` | the state of the session after an event: it only makes opening quick |
//!
//! Vectors are blobs of f64, little endian. Times are milliseconds since 1970, UTC.

use std::{
    fs,
    io::{self, Read as _},
    path::Path,
};

use rusqlite::{Connection, OpenFlags};

use crate::{LedgerError, lock::beside};

/// What tells a ledger from other SQLite files: "sgq1".
const APPLICATION: i32 = 0x7367_7131;
/// The version of the layout; `user_version` of the file.
pub const VERSION: i32 = 2;

/// Each step brings a file from the version of its place to the next one.
const MIGRATIONS: [&str; VERSION as usize] = [
    "
    CREATE TABLE ledger (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
    CREATE TABLE copies (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
    CREATE TABLE users (
        user INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, cost REAL, weight REAL, smoothness REAL
    ) STRICT;
    CREATE TABLE events (
        seq INTEGER PRIMARY KEY, at INTEGER NOT NULL, kind TEXT NOT NULL, ticket INTEGER, user INTEGER,
        words TEXT, cost REAL, numbers INTEGER, seal BLOB NOT NULL
    ) STRICT;
    CREATE TABLE questions (
        ticket INTEGER PRIMARY KEY, seq INTEGER NOT NULL, user INTEGER NOT NULL, why TEXT NOT NULL, wants TEXT NOT NULL,
        point BLOB NOT NULL, checksum BLOB NOT NULL
    ) STRICT;
    CREATE TABLE answers (
        seq INTEGER PRIMARY KEY, ticket INTEGER NOT NULL, user INTEGER NOT NULL, loss REAL, weight REAL, cost REAL,
        sensitivity REAL, noise REAL, length REAL NOT NULL, gradient BLOB NOT NULL, hessian BLOB, variance BLOB,
        checksum BLOB NOT NULL
    ) STRICT;
    CREATE INDEX events_of_tickets ON events (ticket, kind) WHERE ticket IS NOT NULL;
    CREATE INDEX answers_of_users ON answers (user, seq);
    CREATE TABLE snapshots (seq INTEGER PRIMARY KEY, program TEXT NOT NULL, bytes BLOB NOT NULL) STRICT;
",
    "
    ALTER TABLE events ADD COLUMN about INTEGER;
    CREATE INDEX events_about ON events (about) WHERE about IS NOT NULL;
",
];

/// How large the pages of a file may be. Of a damaged file, this is all that is known.
pub(crate) const PAGE_SIZES: [usize; 5] = [4096, 8192, 16_384, 32_768, 65_536];
/// A point fills at least so many pages, or pages have the smallest size. SQLite makes two calls to the system for every page: large
/// pages halve what a query with a long point costs. But the last page of a row is written as a whole, and so are a few others.
const PAGES_PER_POINT: usize = 24;
/// The write-ahead log may grow to so many bytes before it is moved into the file.
const LOG_BYTES: usize = 16 << 20;
/// Or to so many answers with their points, if these are longer: with a hundred thousand parameters a log of 16 MiB would be moved
/// after ten of them, and half of the time would go into that.
const LOG_ANSWERS: usize = 64;
/// But never to more.
const MOST_LOG_BYTES: usize = 256 << 20;

/// Whether there is no file of that name.
pub(crate) fn check_new(path: &Path) -> Result<(), LedgerError> {
    match path.exists() {
        true => {
            let error = io::Error::new(io::ErrorKind::AlreadyExists, "there is a file of that name already");
            Err(LedgerError::file(path, error))
        }
        false => Ok(()),
    }
}

/// Makes a new file for points of `dim` numbers, with what `fill` puts into it: the whole of it, or nothing. A file that is there stays as it is; a lock makes
/// sure that nobody else makes one meanwhile.
pub(crate) fn create(
    path: &Path,
    dim: usize,
    fill: impl FnOnce(&Connection) -> Result<(), LedgerError>,
) -> Result<(), LedgerError> {
    let at = |error: io::Error| LedgerError::file(path, error);
    check_new(path)?;
    let unfinished = beside(path, "-new");
    // What a program that died on the way has left.
    let _ = fs::remove_file(&unfinished);
    let made = make(&unfinished, dim, fill).and_then(|()| fs::rename(&unfinished, path).map_err(at));
    if made.is_err() {
        let _ = fs::remove_file(&unfinished);
    }
    made?;
    // The name is to be on the disk too.
    #[cfg(unix)]
    if let Some(folder) = path.parent() {
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        fs::File::open(folder).and_then(|folder| folder.sync_all()).map_err(at)?;
    }
    Ok(())
}

/// The size of the pages of a new file, for points of so many numbers.
fn page_size(dim: usize) -> usize {
    let most = dim.saturating_mul(size_of::<f64>()) / PAGES_PER_POINT;
    PAGE_SIZES.into_iter().rfind(|size| *size <= most).unwrap_or(PAGE_SIZES[0])
}

fn make(path: &Path, dim: usize, fill: impl FnOnce(&Connection) -> Result<(), LedgerError>) -> Result<(), LedgerError> {
    let at = |error: io::Error| LedgerError::file(path, error);
    fs::OpenOptions::new().write(true).create_new(true).open(path).map_err(at)?;
    let connection = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    // Without a log, all of it is in the one file that gets its name.
    connection.pragma_update(None, "journal_mode", "MEMORY")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "page_size", page_size(dim) as i64)?;
    connection.pragma_update(None, "application_id", APPLICATION)?;
    migrate(&connection, 0)?;
    connection.execute_batch("BEGIN")?;
    fill(&connection)?;
    connection.execute_batch("COMMIT")?;
    Ok(())
}

/// Whether a file begins as SQLite's do: whoever names another one by mistake finds nothing beside it.
pub(crate) fn is_sqlite(path: &Path) -> io::Result<bool> {
    const BEGINNING: &[u8; 16] = b"SQLite format 3\0";
    let mut beginning = [0; BEGINNING.len()];
    match fs::File::open(path)?.read_exact(&mut beginning) {
        Ok(()) => Ok(beginning == *BEGINNING),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

/// Opens a file to write to it.
pub(crate) fn open(path: &Path) -> Result<Connection, LedgerError> {
    fs::OpenOptions::new().read(true).write(true).open(path).map_err(|error| match error.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            LedgerError::ReadOnly { path: path.into() }
        }
        _ => LedgerError::file(path, error),
    })?;
    let connection = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    let version = check(&connection, path)?;
    prepare(&connection)?;
    migrate(&connection, version)?;
    Ok(connection)
}

/// Opens a file to read it, also while somebody writes.
pub(crate) fn open_to_read(path: &Path) -> Result<Connection, LedgerError> {
    let connection = connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let (connection, version) = match check(&connection, path) {
        Ok(version) => (connection, version),
        // In a folder where nothing can be written there is nobody who writes.
        Err(LedgerError::Storage { error }) if cannot_open(&error) && !log_is_there(path) => {
            let connection = connect_as(path, "immutable=1", OpenFlags::SQLITE_OPEN_READ_ONLY)?;
            let version = check(&connection, path)?;
            (connection, version)
        }
        Err(error) => return Err(error),
    };
    if version < VERSION {
        return Err(LedgerError::OldToRead { path: path.into(), version });
    }
    Ok(connection)
}

fn cannot_open(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode::{CannotOpen, ReadOnly};
    matches!(error.sqlite_error_code(), Some(CannotOpen | ReadOnly))
}

/// Whether there is a log with anything in it.
pub(crate) fn log_is_there(path: &Path) -> bool {
    fs::metadata(beside(path, "-wal")).is_ok_and(|log| log.len() > 0)
}

fn connect(path: &Path, flags: OpenFlags) -> Result<Connection, LedgerError> {
    connect_as(path, "", flags)
}

fn connect_as(path: &Path, how: &str, flags: OpenFlags) -> Result<Connection, LedgerError> {
    // Without this, SQLite says only that it cannot open the file.
    let about =
        fs::File::open(path).and_then(|file| file.metadata()).map_err(|error| LedgerError::file(path, error))?;
    if about.is_dir() {
        return Err(LedgerError::file(path, io::ErrorKind::IsADirectory.into()));
    }
    let flags = flags | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = match how {
        "" => Connection::open_with_flags(path, flags)?,
        _ => {
            let name = path.to_string_lossy().replace('%', "%25").replace('?', "%3f").replace('#', "%23");
            Connection::open_with_flags(format!("file:{name}?{how}"), flags | OpenFlags::SQLITE_OPEN_URI)?
        }
    };
    connection.busy_timeout(std::time::Duration::from_secs(5))?;
    keep_log(&connection, true)?;
    Ok(connection)
}

/// Whether the log stays when a connection ends: what is in it may be all that is left of a damaged file, and a writer that died is
/// known by it. Only a session that ends as it should moves it into the file.
pub(crate) fn keep_log(connection: &Connection, keep: bool) -> Result<(), LedgerError> {
    connection.set_db_config(rusqlite::config::DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, keep)?;
    Ok(())
}

fn prepare(connection: &Connection) -> Result<(), LedgerError> {
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    Ok(())
}

/// How large the log may be, for points of so many numbers.
pub(crate) fn limit_log(connection: &Connection, dim: usize) -> Result<(), LedgerError> {
    let answers = LOG_ANSWERS.saturating_mul(2 * size_of::<f64>() * dim);
    let page_size: i64 = connection.pragma_query_value(None, "page_size", |row| row.get(0))?;
    let pages = answers.clamp(LOG_BYTES, MOST_LOG_BYTES) as i64 / page_size.max(1);
    connection.pragma_update(None, "wal_autocheckpoint", pages)?;
    Ok(())
}

/// Moves the log into the file, which is whole without it then.
pub(crate) fn checkpoint(connection: &Connection) -> Result<(), LedgerError> {
    // It says how it went in a row.
    connection.query_row("PRAGMA wal_checkpoint(FULL)", [], |_| Ok(()))?;
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
