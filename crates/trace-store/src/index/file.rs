//! The index file: its schema, and how it is opened and recreated.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension as _, params};
use weaver_types::ledger::TreeHead;

use super::error::IndexError;
use crate::verify::LogSource;

/// The `application_id` of an index file: the ASCII text `WvIx`.
pub const INDEX_APPLICATION_ID: i64 = 0x5776_4978;
/// The version of the index, in the file's `user_version`. It covers the tables and the terms that
/// are derived from an event.
pub const INDEX_VERSION: i64 = 2;
/// How long a statement waits for a short step of another process.
const BUSY_TIMEOUT: Duration = Duration::from_secs(2);

/// `meta` holds the log's id, the indexed position, the leaf hash of the last indexed event, the
/// size of the log when the index was created, and whether the index must be optimised because
/// terms were removed. `purge` holds pruned ranges that must still be removed. `blocks` holds the
/// sums of each block.
const TABLES: &str = "
PRAGMA auto_vacuum = FULL;
BEGIN IMMEDIATE;
CREATE TABLE meta (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    log TEXT NOT NULL,
    position INTEGER NOT NULL,
    leaf BLOB,
    began INTEGER NOT NULL,
    untidy INTEGER NOT NULL
) STRICT;
CREATE TABLE purge (first INTEGER PRIMARY KEY, last INTEGER NOT NULL) STRICT;
CREATE TABLE blocks (first INTEGER PRIMARY KEY, sums TEXT NOT NULL) STRICT;
CREATE VIRTUAL TABLE facts USING fts5
    (terms, content='', contentless_delete=1, detail=none, tokenize='ascii');
";

const SETTINGS: &str = "
PRAGMA synchronous = NORMAL;
PRAGMA secure_delete = ON;
PRAGMA cache_size = -8000;
PRAGMA temp_store = MEMORY;
PRAGMA trusted_schema = OFF;
PRAGMA cell_size_check = ON;
";

/// The index of one ledger file.
#[derive(Debug)]
pub struct Index {
    path: PathBuf,
    db: Mutex<Connection>,
}

/// The progress of the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IndexStatus {
    /// How many events from the beginning are indexed.
    pub position: u64,
    /// How many events the log has.
    pub size: u64,
}

/// The row of the table `meta`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct IndexMeta {
    pub(super) log: String,
    pub(super) position: u64,
    pub(super) leaf: Option<Vec<u8>>,
    pub(super) began: u64,
    pub(super) needs_optimize: bool,
}

impl Index {
    /// The file of the index of the ledger at `ledger`.
    #[must_use]
    pub fn path_of(ledger: impl AsRef<Path>) -> PathBuf {
        let mut name = ledger.as_ref().as_os_str().to_owned();
        name.push(".index");
        PathBuf::from(name)
    }

    /// Opens the index of the ledger at `ledger`, which `source` reads. An index that is missing,
    /// corrupt, outdated or of another log is recreated, empty.
    ///
    /// # Errors
    /// [`IndexError`], when it cannot be created, or a later build created it.
    pub fn open(ledger: impl AsRef<Path>, source: &dyn LogSource) -> Result<Self, IndexError> {
        let path = Self::path_of(ledger);
        if path.is_file() {
            match Self::open_existing(&path, source) {
                Err(IndexError::Torn(_)) => remove(&path)?,
                other => return other,
            }
        }
        Self::create(&path, source)?;
        Self::open_existing(&path, source)
    }

    /// Opens the index if there is a usable one; never creates it.
    #[must_use]
    pub fn find(ledger: impl AsRef<Path>, source: &dyn LogSource) -> Option<Self> {
        Self::open_existing(&Self::path_of(ledger), source).ok()
    }

    /// Removes the index of a ledger. It is recreated when next needed.
    ///
    /// # Errors
    /// [`IndexError::Failed`], when the file cannot be removed.
    pub fn remove(ledger: impl AsRef<Path>) -> Result<(), IndexError> {
        remove(&Self::path_of(ledger))
    }

    /// The progress of the index.
    ///
    /// # Errors
    /// [`IndexError`], when it or the log cannot be read.
    pub fn status(&self, source: &dyn LogSource) -> Result<IndexStatus, IndexError> {
        let position = meta(&self.db()).map_err(|error| self.failed(&error))?.position;
        Ok(IndexStatus { position, size: source.extent()?.head.size })
    }

    fn open_existing(path: &Path, source: &dyn LogSource) -> Result<Self, IndexError> {
        if !path.is_file() {
            return Err(IndexError::Torn("there is none".to_owned()));
        }
        let index = Self::connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        index.check_form()?;
        index.check_log(source)?;
        Ok(index)
    }

    /// Creates an empty index under a temporary name and moves it into place, so that the file is
    /// complete as soon as it is visible.
    fn create(path: &Path, source: &dyn LogSource) -> Result<(), IndexError> {
        let mut temporary = path.as_os_str().to_owned();
        temporary.push(format!(".{}", unique_suffix()));
        let temporary = PathBuf::from(temporary);
        let made = Self::create_file(&temporary, source).map(drop);
        let put = made.and_then(|()| match std::fs::hard_link(&temporary, path) {
            // Another process was first; its file serves as well.
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
            Err(_) => std::fs::rename(&temporary, path).map_err(|e| failed(path, &e.to_string())),
            Ok(()) => Ok(()),
        });
        let _ = std::fs::remove_file(&temporary);
        put
    }

    /// Creates an empty index in a new file.
    pub(super) fn create_file(path: &Path, source: &dyn LogSource) -> Result<Self, IndexError> {
        let mut options = std::fs::OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        options.open(path).map_err(|error| failed(path, &error.to_string()))?;
        let TreeHead { log, size, .. } = source.extent()?.head;
        let index = Self::connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        let made = (|| {
            let db = index.db();
            db.execute_batch(TABLES)?;
            db.execute(
                "INSERT INTO meta (one, log, position, leaf, began, untidy)
                 VALUES (1, ?1, 0, NULL, ?2, 0)",
                params![log.as_str(), i64::try_from(size).unwrap_or(i64::MAX)],
            )?;
            db.pragma_update(None, "application_id", INDEX_APPLICATION_ID)?;
            db.pragma_update(None, "user_version", INDEX_VERSION)?;
            db.execute_batch("COMMIT")
        })();
        made.map_err(|error| index.failed(&error))?;
        Ok(index)
    }

    fn connect(path: &Path, flags: OpenFlags) -> Result<Self, IndexError> {
        let flags = flags | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let db = Connection::open_with_flags(path, flags)
            .and_then(|db| {
                db.busy_timeout(BUSY_TIMEOUT)?;
                db.execute_batch(SETTINGS)?;
                Ok(db)
            })
            .map_err(|error| from_sqlite_error(path, &error))?;
        Ok(Self { path: path.to_owned(), db: Mutex::new(db) })
    }

    fn check_form(&self) -> Result<(), IndexError> {
        let db = self.db();
        let number = |name| {
            db.pragma_query_value(None, name, |row| row.get::<_, i64>(0))
                .map_err(|error| self.failed(&error))
        };
        let (application, version) = (number("application_id")?, number("user_version")?);
        match (application, version) {
            (INDEX_APPLICATION_ID, INDEX_VERSION) => Ok(()),
            (INDEX_APPLICATION_ID, found) if found > INDEX_VERSION => {
                Err(IndexError::Newer { found, known: INDEX_VERSION })
            }
            _ => Err(IndexError::Torn("it is of another version".to_owned())),
        }
    }

    /// Checks that the index belongs to this log, and not to another one with the same id that
    /// differs before the indexed position.
    fn check_log(&self, source: &dyn LogSource) -> Result<(), IndexError> {
        let meta = meta(&self.db()).map_err(|error| self.failed(&error))?;
        let head = source.extent()?.head;
        let last = match meta.position.checked_sub(1) {
            Some(last) => source.rows(last, 1)?.first().map(|row| row.leaf.as_bytes().to_vec()),
            None => None,
        };
        if meta.log == head.log.as_str() && meta.position <= head.size && meta.leaf == last {
            Ok(())
        } else {
            Err(IndexError::Torn("it is of another log".to_owned()))
        }
    }

    pub(super) fn db(&self) -> MutexGuard<'_, Connection> {
        // A panic in another thread left at most a transaction that SQLite rolls back.
        self.db.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn failed(&self, error: &rusqlite::Error) -> IndexError {
        from_sqlite_error(&self.path, error)
    }
}

/// Reads the row of the table `meta`.
pub(super) fn meta(db: &Connection) -> rusqlite::Result<IndexMeta> {
    let number = |n: i64| u64::try_from(n).unwrap_or_default();
    db.prepare_cached("SELECT log, position, leaf, began, untidy FROM meta WHERE one = 1")?
        .query_row([], |row| {
            Ok(IndexMeta {
                log: row.get(0)?,
                position: number(row.get(1)?),
                leaf: row.get(2)?,
                began: number(row.get(3)?),
                needs_optimize: row.get::<_, i64>(4)? != 0,
            })
        })
        .optional()
        .map(|found| {
            found.unwrap_or(IndexMeta {
                log: String::new(),
                position: 0,
                leaf: None,
                began: 0,
                needs_optimize: false,
            })
        })
}

fn remove(path: &Path) -> Result<(), IndexError> {
    let mut journal = path.as_os_str().to_owned();
    journal.push("-journal");
    for path in [path, Path::new(&journal)] {
        match std::fs::remove_file(path) {
            Ok(()) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(failed(path, &error.to_string())),
        }
    }
    Ok(())
}

/// A suffix that no other thread or process is using.
pub(super) fn unique_suffix() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    format!("{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

fn failed(path: &Path, problem: &str) -> IndexError {
    IndexError::Failed { path: path.display().to_string(), problem: problem.to_owned() }
}

/// Maps an SQLite error. A file that is not in the expected form counts as corrupt, and so does one
/// that was removed while open.
fn from_sqlite_error(path: &Path, error: &rusqlite::Error) -> IndexError {
    const MOVED: i32 = rusqlite::ffi::SQLITE_READONLY_DBMOVED;
    match error.sqlite_error().map(|error| (error.code, error.extended_code)) {
        Some((ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked, _)) => IndexError::Busy,
        Some((_, MOVED)) => IndexError::Torn("it was removed".to_owned()),
        Some((
            ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase | ErrorCode::SystemIoFailure,
            _,
        ))
        | None => IndexError::Torn(error.to_string()),
        // A missing table, or one with other columns.
        Some((ErrorCode::Unknown, _)) => IndexError::Torn(error.to_string()),
        Some(_) => failed(path, &error.to_string()),
    }
}
