//! A record store in a file that several processes may open and write.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use rusqlite::{Connection, Error, ErrorCode, OpenFlags, Transaction, TransactionBehavior};
use weaver_types::ledger::{
    Batch, Durability, LedgerError, Namespace, Record, RecordKey, RecordStore,
};
use weaver_types::{Clock, SystemClock, Tenant};

use super::error_mapping::{damaged_error, from_sql, poisoned_error, to_sql, unsigned_from_sql};
use super::file_identity::FileIdentity;
use super::integrity_sums::IntegritySums;
use super::reader::SnapshotReader;
use super::rows::RecordCache;
use super::statement::run;
use super::watch::FileWatch;
use super::{aliases, foreign_objects, open, rows};
use crate::limits::SWEEP_PER_COMMIT;
use crate::plan::plan;
use crate::prepare::{check_key, prepare_records};

/// The `application_id` of a record file: the ASCII text `WvRc`.
pub const RECORDS_APPLICATION_ID: i32 = 0x5776_5263;
/// The version of its format, in the file's `user_version`.
pub const RECORDS_VERSION: u64 = 1;

/// How long a write waits before it retries while another process writes. SQLite's own waiting
/// grows to 100 ms per attempt, which starves whoever came first.
const BUSY_RETRY_PAUSE: Duration = Duration::from_micros(1_200);

const TABLES: &str = "
CREATE TABLE meta (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    touched INTEGER NOT NULL
) STRICT;
INSERT INTO meta (one, touched) VALUES (1, 0);
CREATE TABLE records (
    tenant TEXT NOT NULL,
    namespace TEXT NOT NULL,
    id TEXT NOT NULL,
    version INTEGER NOT NULL,
    value BLOB NOT NULL,
    expires_at INTEGER,
    PRIMARY KEY (tenant, namespace, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX records_expiry ON records (expires_at) WHERE expires_at IS NOT NULL;
";

const SETTINGS: &str = "
PRAGMA journal_size_limit = 67108864;
PRAGMA fullfsync = ON;
PRAGMA checkpoint_fullfsync = ON;
PRAGMA secure_delete = ON;
PRAGMA temp_store = MEMORY;
PRAGMA trusted_schema = OFF;
PRAGMA cell_size_check = ON;
";

/// A record store in a file of its own, without a log. Any number of processes may open it and
/// write: each batch is decided and applied inside one exclusive transaction.
///
/// A failed sync closes this handle for writing; reopening the file finds what was acknowledged. A
/// batch for which the disk has no room is refused alone. Expiry goes by the clock of the writing
/// process.
///
/// ```
/// use weaver_trace_store::{RecordsOptions, SqliteRecords};
/// use weaver_types::Tenant;
/// use weaver_types::ledger::{Batch, Durability, Namespace, RecordKey, RecordStore};
///
/// let folder = tempfile::tempdir()?;
/// let records = SqliteRecords::open(folder.path().join("memory"), RecordsOptions::default())?;
/// let key = RecordKey::new(Tenant::default(), Namespace::TokenUse, "tok_1");
/// let used = Batch::new(Durability::Disk).create(key, b"{}".to_vec(), None);
/// assert!(records.apply(used.clone()).is_ok());
/// assert!(records.apply(used).is_err(), "a token is used once, by whichever process");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct SqliteRecords {
    location: FileLocation,
    clock: Arc<dyn Clock>,
    /// Closed before the writing connection, which can then fold everything into one file, unless
    /// another process has it open.
    snapshots: SnapshotReader,
    writing: Mutex<OpenRecordFile>,
}

/// What a record file needs from its host.
#[derive(Clone)]
pub struct RecordsOptions {
    /// Determines what has expired.
    pub clock: Arc<dyn Clock>,
    /// The approximate time that opening and each write wait for other processes.
    pub patience: Duration,
}

impl Default for RecordsOptions {
    /// The system's clock, and ten seconds.
    fn default() -> Self {
        Self { clock: Arc::new(SystemClock::default()), patience: Duration::from_secs(10) }
    }
}

/// The path of a file, and how long to wait for it.
struct FileLocation {
    path: PathBuf,
    patience: Duration,
}

struct OpenRecordFile {
    db: Connection,
    watch: FileWatch,
    failed: Option<LedgerError>,
}

impl SqliteRecords {
    /// Opens the file at `path`, and creates it if there is none.
    ///
    /// # Errors
    /// [`LedgerError::Damaged`] when it is something else, for example a ledger,
    /// [`LedgerError::Newer`] when its format is newer, [`LedgerError::Busy`] when other processes
    /// hold it, [`LedgerError::Failed`] when it cannot be opened or written.
    pub fn open(path: impl AsRef<Path>, options: RecordsOptions) -> Result<Self, LedgerError> {
        let path = open::resolve(path.as_ref())?;
        aliases::refuse_aliases(&path)?;
        open::create_file(&path)?;
        let location = FileLocation { path, patience: options.patience };
        let db = connect(&location)?;
        let snapshots = SnapshotReader::open(&location.path)?;
        let watch = FileWatch::records(&location.path)?;
        let writing = Mutex::new(OpenRecordFile { db, watch, failed: None });
        Ok(Self { location, clock: options.clock, snapshots, writing })
    }

    /// Where it lies, with links resolved.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.location.path
    }

    fn lock(&self) -> Result<MutexGuard<'_, OpenRecordFile>, LedgerError> {
        self.writing.lock().map_err(|_| poisoned_error())
    }

    fn write(&self, db: &mut Connection, batch: &Batch) -> Result<(), LedgerError> {
        let level = match batch.durability {
            Durability::Os => "NORMAL",
            Durability::Disk => "FULL",
        };
        self.location.retry_while_busy(|| db.pragma_update(None, "synchronous", level))?;
        let transaction = self.location.begin(db)?;
        let mut seen = RecordCache::new(&transaction);
        let writes = plan(batch, &mut seen)?;
        if writes.is_empty() && batch.durability == Durability::Os {
            return Ok(());
        }
        // Only a ledger, which one process writes, keeps sums; here several processes write.
        let mut sums = IntegritySums::default();
        rows::write(&transaction, &writes, &seen, &mut sums)?;
        rows::sweep(
            &transaction,
            self.clock.now(),
            SWEEP_PER_COMMIT + writes.len() * 2,
            &mut sums,
        )?;
        if writes.is_empty() {
            // A sync covers everything committed before it, but SQLite syncs nothing when a
            // transaction changes nothing.
            run(&transaction, "UPDATE meta SET touched = touched + 1", [])?;
        }
        transaction.commit().map_err(|error| from_sql(&error))
    }
}

impl RecordStore for SqliteRecords {
    fn apply(&self, batch: Batch) -> Result<(), LedgerError> {
        prepare_records(&batch)?;
        let mut writing = self.lock()?;
        let OpenRecordFile { db, watch, failed } = &mut *writing;
        if let Some(error) = failed {
            return Err(error.clone());
        }
        // Writes to a file that has lost its name are lost.
        let done = self.write(db, &batch).and_then(|()| watch.check().map(drop));
        if let Err(error) = &done
            && !error.is_refusal()
        {
            *failed = Some(error.clone());
        }
        done
    }

    fn read(&self, key: &RecordKey) -> Result<Option<Record>, LedgerError> {
        check_key(key)?;
        self.snapshots.with(|db| rows::record(db, key)).map(|kept| kept.map(Record::from))
    }

    fn list(
        &self,
        tenant: &Tenant,
        namespace: Namespace,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<(String, Record)>, LedgerError> {
        self.snapshots.with(|db| rows::list(db, tenant, namespace, after, limit))
    }
}

impl FileLocation {
    /// Begins a write transaction, waiting for other processes.
    fn begin<'c>(&self, db: &'c Connection) -> Result<Transaction<'c>, LedgerError> {
        self.retry_while_busy(|| Transaction::new_unchecked(db, TransactionBehavior::Immediate))
    }

    /// Retries while other processes hold the file.
    fn retry_while_busy<T>(
        &self,
        mut attempt: impl FnMut() -> Result<T, Error>,
    ) -> Result<T, LedgerError> {
        let mut waited = Duration::ZERO;
        loop {
            match attempt() {
                Ok(done) => return Ok(done),
                Err(error) if !is_busy(&error) => return Err(from_sql(&error)),
                Err(_) if waited >= self.patience => {
                    let waited_ms = u64::try_from(waited.as_millis()).unwrap_or(u64::MAX);
                    let path = self.path.display().to_string();
                    return Err(LedgerError::Busy { path, waited_ms });
                }
                Err(_) => {
                    std::thread::sleep(BUSY_RETRY_PAUSE);
                    waited = waited.saturating_add(BUSY_RETRY_PAUSE);
                }
            }
        }
    }
}

fn is_busy(error: &Error) -> bool {
    let code = error.sqlite_error_code();
    matches!(code, Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

fn connect(location: &FileLocation) -> Result<Connection, LedgerError> {
    let path = &location.path;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut db = Connection::open_with_flags(path, flags).map_err(|error| from_sql(&error))?;
    db.busy_timeout(Duration::ZERO).map_err(|error| from_sql(&error))?;
    // Change nothing in a file that is something else.
    let new = location.retry_while_busy(|| FileIdentity::read(&db)).and_then(is_new)?;
    if !new {
        db.busy_timeout(location.patience).map_err(|error| from_sql(&error))?;
        foreign_objects::refuse_foreign(foreign_objects::find(&db, TABLES)?)?;
        db.busy_timeout(Duration::ZERO).map_err(|error| from_sql(&error))?;
    }
    db.execute_batch(SETTINGS).map_err(|error| from_sql(&error))?;
    let wal = || db.pragma_update_and_check(None, "journal_mode", "wal", |row| row.get(0));
    let mode: String = location.retry_while_busy(wal)?;
    if !mode.eq_ignore_ascii_case("wal") {
        let location = path.display();
        return Err(LedgerError::Failed(format!(
            "{location} cannot have a write-ahead log (SQLite says `{mode}`); put it on a local disk"
        )));
    }
    if new {
        create(&mut db, location)?;
        open::sync_folder(path)?;
    }
    db.set_prepared_statement_cache_capacity(32);
    Ok(db)
}

/// True when the file is empty; an error when it is something else, or newer.
fn is_new(file: FileIdentity) -> Result<bool, LedgerError> {
    if file.application == i64::from(RECORDS_APPLICATION_ID) {
        return match unsigned_from_sql("the format version", file.version)? {
            RECORDS_VERSION => Ok(false),
            found if found > RECORDS_VERSION => {
                let what = "the file of records".to_owned();
                Err(LedgerError::Newer { what, found, known: RECORDS_VERSION })
            }
            found => Err(damaged_error(format!("there never was a format version {found}"))),
        };
    }
    if file.is_empty() {
        return Ok(true);
    }
    Err(LedgerError::Damaged(
        "the file is an SQLite database, but holds no records of ours alone; name another".into(),
    ))
}

/// Creates the tables, unless another process has done so meanwhile.
fn create(db: &mut Connection, location: &FileLocation) -> Result<(), LedgerError> {
    let sql = |error: Error| from_sql(&error);
    let transaction = location.begin(db)?;
    if !is_new(FileIdentity::read(&transaction).map_err(sql)?)? {
        return Ok(());
    }
    transaction.execute_batch(TABLES).map_err(sql)?;
    transaction.pragma_update(None, "application_id", RECORDS_APPLICATION_ID).map_err(sql)?;
    transaction.pragma_update(None, "user_version", to_sql(RECORDS_VERSION)?).map_err(sql)?;
    transaction.commit().map_err(sql)
}
