//! Opening a ledger for writing.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::{Connection, OpenFlags};
use weaver_types::ledger::LedgerError;
use weaver_types::{Clock, OsRandom, Random, SystemClock};

use super::blobs::SqliteBlobs;
use super::fault::{from_io, from_sql};
use super::group_commit::GroupCommit;
use super::lock::{self, Lock};
use super::orphaned_blobs::OrphanedBlobs;
use super::queue::Queue;
use super::reader::{PATIENCE, Snapshots};
use super::statement::{format_version, keep_plans};
use super::watch::FileWatch;
use super::writer::{OpenedFile, Writer};
use super::{FORMAT_VERSION, SqliteLedger, aliases, foreign_objects, schema, tiles, wal_tail};
use crate::salt::Salts;

/// What a ledger needs from its host.
#[derive(Clone)]
pub struct OpenOptions {
    /// Gives the salts, and on first use the log id and the key of the blobs.
    pub random: Arc<dyn Random>,
    /// Dates the lock. The log takes its times from the events.
    pub clock: Arc<dyn Clock>,
    /// Who opens it: shown, with the process id, to whoever finds it locked.
    pub holder: String,
    /// Bytes of the write-ahead log beyond which nothing is taken until it can be emptied. It grows
    /// that far only while a reader holds a snapshot: checkpoints keep it below 64 MiB otherwise.
    /// One group of batches, of at most 80 MiB, may still go beyond.
    pub max_log: u64,
}

/// The default of [`OpenOptions::max_log`].
const MAX_LOG: u64 = 256 * 1024 * 1024;

/// What was found when a ledger was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct OpenReport {
    /// Events in the log, all of whole commits.
    pub events: u64,
    /// Bytes of the write-ahead log behind the last whole commit, which were cut off: a commit that
    /// a process or a machine died in, never one that was acknowledged as synced. Zero when the
    /// ledger was closed as it should be, or between two commits.
    pub cut: u64,
}

impl Default for OpenOptions {
    /// The machine's randomness and clock; the holder is `weaver`.
    fn default() -> Self {
        Self {
            random: Arc::new(OsRandom),
            clock: Arc::new(SystemClock::default()),
            holder: "weaver".to_owned(),
            max_log: MAX_LOG,
        }
    }
}

/// Settings of the writing connection. Checkpoints are the writer's own, so the automatic ones are
/// off; the write-ahead log is cut back to 64 MiB whenever it starts anew. The page cache is small:
/// pages are written once and seldom read again, and taking memory for more of them costs more than
/// the inserts.
const WRITER: &str = "
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
    let lock = Lock::take(&path, &options.holder, options.clock.now())?;
    create_file(&path)?;
    // A process that died may have left there what it pruned.
    let left = std::fs::metadata(lock::beside(&path, "-wal")).is_ok_and(|wal| wal.len() > 0);
    let tail = wal_tail::read(&lock::beside(&path, "-wal"))?;
    let db = connect(&path)?;
    if schema::is_new(&db)? {
        schema::create(&db, options.random.as_ref())?;
        sync_folder(&path)?;
    } else {
        // Before anything is written: a planted trigger would run.
        foreign_objects::refuse(schema::foreign_objects(&db)?)?;
    }
    if format_version(&db)? < FORMAT_VERSION {
        tiles::migrate(&db)?;
    }
    let tip = schema::tip(&db)?;
    let opened = OpenReport { events: tip.frontier.size(), cut: tail.torn };
    tiles::check_end(&db, &tip.frontier)?;
    let tiles = tiles::growing(&db, tip.frontier.size())?;
    let key = Arc::new(schema::blob_key(&db)?);
    let queue = Arc::new(Queue::default());
    let snapshots = Arc::new(Snapshots::open(&path)?);
    let orphans = OrphanedBlobs::open(&db)?;
    let sweeping = orphans.sweeping();
    let (watch, max_log) = (FileWatch::begin(&path)?, options.max_log);
    let file = OpenedFile { db, tip, tiles, orphans, watch, max_log, had_log: left };
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
        salts: Salts::new(options.random),
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

/// The path without links, so that one file has one lock.
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

/// Makes the file for this user alone. An existing one is not opened: closing it again would
/// release the locks that SQLite holds on it in this process.
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
        .busy_timeout(PATIENCE)
        .and_then(|()| db.pragma_update_and_check(None, "journal_mode", "wal", |row| row.get(0)))
        .map_err(|error| from_sql(&error))?;
    if !mode.eq_ignore_ascii_case("wal") {
        let place = path.display();
        return Err(LedgerError::Failed(format!(
            "{place} cannot have a write-ahead log (SQLite says `{mode}`); put it on a local disk"
        )));
    }
    db.execute_batch(WRITER).and_then(|()| keep_plans(&db)).map_err(|error| from_sql(&error))?;
    db.set_prepared_statement_cache_capacity(32);
    Ok(db)
}

/// Makes the names of the new files durable.
pub(super) fn sync_folder(path: &Path) -> Result<(), LedgerError> {
    let Some(folder) = path.parent().filter(|_| cfg!(unix)) else { return Ok(()) };
    std::fs::File::open(folder)
        .and_then(|folder| folder.sync_all())
        .map_err(|error| from_io("cannot sync the folder", folder, &error))
}
