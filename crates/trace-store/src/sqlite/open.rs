//! Opening a ledger for writing.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::{Connection, OpenFlags};
use weaver_types::ledger::LedgerError;
use weaver_types::{Clock, OsRandom, Random, SystemClock};

use super::blobs::SqliteBlobs;
use super::error_mapping::{from_io, from_sql};
use super::group_commit::GroupCommit;
use super::lock::{self, LedgerLock};
use super::orphaned_blobs::OrphanedBlobs;
use super::queue::Queue;
use super::reader::{BUSY_TIMEOUT, SnapshotReader};
use super::statement::enable_stable_query_plans;
use super::watch::FileWatch;
use super::writer::{OpenedLedgerFile, Writer};
use super::{SqliteLedger, aliases, foreign_objects, schema, tiles, wal_tail};
use crate::salt::SaltPool;

/// What a ledger needs from its host.
#[derive(Clone)]
pub struct OpenOptions {
    /// Provides the salts and, on first use, the log id and the key of the blobs.
    pub random: Arc<dyn Random>,
    /// The time in the lock file. The times in the log come from the events.
    pub clock: Arc<dyn Clock>,
    /// The holder's name, shown with the process id to a process that finds the ledger locked.
    pub holder: String,
    /// Size of the write-ahead log, in bytes, beyond which batches are refused until it can be
    /// truncated. It grows that far only while a reader holds a snapshot; otherwise checkpoints
    /// keep it below 64 MiB. One group of batches, at most 80 MiB, may exceed the limit.
    pub max_wal_bytes: u64,
}

/// The default of [`OpenOptions::max_wal_bytes`].
const DEFAULT_MAX_WAL_BYTES: u64 = 256 * 1024 * 1024;

/// What was found when a ledger was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct OpenReport {
    /// Events in the log.
    pub events: u64,
    /// Bytes behind the last complete commit of the write-ahead log, which were cut off. They
    /// belong to a commit during which a process or machine died, never to one that was
    /// acknowledged as synced. Zero when the ledger was closed properly, or died between two
    /// commits.
    pub torn_bytes: u64,
}

impl Default for OpenOptions {
    /// The system's randomness and clock; the holder is `weaver`.
    fn default() -> Self {
        Self {
            random: Arc::new(OsRandom),
            clock: Arc::new(SystemClock::default()),
            holder: "weaver".to_owned(),
            max_wal_bytes: DEFAULT_MAX_WAL_BYTES,
        }
    }
}

/// Settings of the writing connection. The writer makes its own checkpoints, so automatic ones are
/// off, and the write-ahead log is truncated to 64 MiB when it restarts. The page cache is small:
/// pages are written once and rarely read again, and allocating more of them costs more than the
/// inserts.
const WRITER_PRAGMAS: &str = "
PRAGMA wal_autocheckpoint = 0;
PRAGMA journal_size_limit = 67108864;
PRAGMA fullfsync = ON;
PRAGMA checkpoint_fullfsync = ON;
PRAGMA synchronous = FULL;
PRAGMA secure_delete = ON;
PRAGMA cache_size = -2000;
PRAGMA temp_store = MEMORY;
PRAGMA trusted_schema = OFF;
PRAGMA cell_size_check = ON;
";

pub(super) fn open(path: &Path, options: OpenOptions) -> Result<SqliteLedger, LedgerError> {
    let path = resolve(path)?;
    aliases::refuse_aliases(&path)?;
    let lock = LedgerLock::take(&path, &options.holder, options.clock.now())?;
    create_file(&path)?;
    // A process that crashed may have left pruned bytes there.
    let left = std::fs::metadata(lock::sibling_path(&path, "-wal")).is_ok_and(|wal| wal.len() > 0);
    let tail = wal_tail::read(&lock::sibling_path(&path, "-wal"))?;
    let db = connect(&path)?;
    if schema::is_new(&db)? {
        schema::create(&db, options.random.as_ref())?;
        sync_folder(&path)?;
    } else {
        // Before anything is written: a planted trigger would run.
        foreign_objects::refuse_foreign(schema::foreign_objects(&db)?)?;
    }
    let tip = schema::load_tip(&db)?;
    let opened = OpenReport { events: tip.frontier.size(), torn_bytes: tail.torn_bytes };
    tiles::check_frontier_tiles(&db, &tip.frontier)?;
    let tiles = tiles::load_partial_tiles(&db, tip.frontier.size())?;
    let key = Arc::new(schema::blob_key(&db)?);
    let queue = Arc::new(Queue::default());
    let snapshots = Arc::new(SnapshotReader::open(&path)?);
    let orphans = OrphanedBlobs::open(&db)?;
    let sweeping = orphans.sweeping();
    let (watch, max_wal_bytes) = (FileWatch::begin(&path)?, options.max_wal_bytes);
    let file = OpenedLedgerFile { db, tip, tiles, orphans, watch, max_wal_bytes, had_wal: left };
    let writer = Writer::start(file, Arc::clone(&queue))?;
    let (heads, erasing) = (writer.heads(), writer.erasing());
    let commits = Arc::new(GroupCommit::new(Arc::clone(&queue), writer));
    let thread = Arc::clone(&commits);
    let writer = std::thread::Builder::new()
        .name("weaver-ledger".to_owned())
        .spawn(move || thread.run())
        .map_err(|error| from_io("cannot start the writer of", &path, &error))?;
    Ok(SqliteLedger {
        blobs: SqliteBlobs { key, queue: Arc::clone(&queue), snapshots: Arc::clone(&snapshots) },
        path,
        opened,
        salts: SaltPool::new(options.random),
        queue,
        commits,
        heads,
        erasing,
        sweeping,
        snapshots,
        writer: Some(writer),
        _lock: lock,
    })
}

/// The path with links resolved, so that one file has one lock.
pub(super) fn resolve(path: &Path) -> Result<PathBuf, LedgerError> {
    match path.canonicalize() {
        Ok(path) if path.is_dir() => {
            let place = path.display();
            return Err(LedgerError::Failed(format!("{place} is a folder; name a file in it")));
        }
        Ok(path) => return Ok(path),
        Err(_) => {}
    }
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let name = path.file_name().ok_or_else(|| {
        LedgerError::Failed(format!("{} names no file for the ledger", path.display()))
    })?;
    folder
        .canonicalize()
        .map(|folder| folder.join(name))
        .map_err(|error| from_io("no such folder for the ledger:", folder, &error))
}

/// Creates the file for this user only. An existing file is not opened, because closing it again
/// would release the POSIX locks that SQLite holds on it in this process.
pub(super) fn create_file(path: &Path) -> Result<(), LedgerError> {
    match lock::options().create_new(true).open(path) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(from_io("cannot make", path, &error)),
    }
}

fn connect(path: &Path) -> Result<Connection, LedgerError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = Connection::open_with_flags(path, flags).map_err(|error| from_sql(&error))?;
    let mode: String = db
        .busy_timeout(BUSY_TIMEOUT)
        .and_then(|()| db.pragma_update_and_check(None, "journal_mode", "wal", |row| row.get(0)))
        .map_err(|error| from_sql(&error))?;
    if !mode.eq_ignore_ascii_case("wal") {
        let place = path.display();
        return Err(LedgerError::Failed(format!(
            "{place} cannot have a write-ahead log (SQLite says `{mode}`); put it on a local disk"
        )));
    }
    db.execute_batch(WRITER_PRAGMAS)
        .and_then(|()| enable_stable_query_plans(&db))
        .map_err(|error| from_sql(&error))?;
    db.set_prepared_statement_cache_capacity(32);
    Ok(db)
}

/// Syncs the folder, so that new file names are durable.
pub(super) fn sync_folder(path: &Path) -> Result<(), LedgerError> {
    let Some(folder) = path.parent().filter(|_| cfg!(unix)) else { return Ok(()) };
    std::fs::File::open(folder)
        .and_then(|folder| folder.sync_all())
        .map_err(|error| from_io("cannot sync the folder", folder, &error))
}
