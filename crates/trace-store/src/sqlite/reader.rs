//! Reading, possibly next to a writer in another process.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};
use weaver_types::Tenant;
use weaver_types::ledger::{
    Batch, CommitTicket, Ledger, LedgerError, Namespace, Record, RecordKey, StoredEvent, TreeHead,
};

use super::source::SnapshotSource;
use super::statement::enable_stable_query_plans;
use super::{error_mapping, events, read_only_copy, rows, schema};

/// How long a reader waits while another connection recovers the file.
pub(super) const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// A read connection. Each use is one short snapshot: none is held between calls, because it would
/// keep the write-ahead log from being truncated.
pub(super) struct SnapshotReader(Mutex<Connection>);

impl SnapshotReader {
    pub(super) fn open(path: &Path) -> Result<Self, LedgerError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let db =
            Connection::open_with_flags(path, flags).map_err(|e| error_mapping::from_sql(&e))?;
        Self::new(db)
    }

    /// Uses a connection that only reads.
    pub(super) fn new(db: Connection) -> Result<Self, LedgerError> {
        db.busy_timeout(BUSY_TIMEOUT)
            .and_then(|()| {
                db.execute_batch("PRAGMA cache_size = -8000; PRAGMA trusted_schema = OFF")
            })
            .and_then(|()| enable_stable_query_plans(&db))
            .map_err(|error| error_mapping::from_sql(&error))?;
        Ok(Self(Mutex::new(db)))
    }

    pub(super) fn with<T>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, LedgerError>,
    ) -> Result<T, LedgerError> {
        let db = self.0.lock().map_err(|_| error_mapping::poisoned_error())?;
        read(&db)
    }

    pub(super) fn events(&self, from: u64, limit: usize) -> Result<Vec<StoredEvent>, LedgerError> {
        let rows = self.with(|db| events::page(db, from, limit))?;
        Ok(rows.into_iter().map(|row| row.event).collect())
    }
}

/// A reader, and whether its file is empty. The first read shows whether the file can be read.
fn with_is_new(snapshots: SnapshotReader) -> Result<(SnapshotReader, bool), LedgerError> {
    let is_new = snapshots.with(schema::is_new)?;
    Ok((snapshots, is_new))
}

/// Reads a ledger file, also while another process writes it. It takes no lock that a writer waits
/// for. To follow the log, repeatedly request the events after the last one seen.
pub struct Reader {
    snapshots: Arc<SnapshotReader>,
}

weaver_types::opaque_debug!(Reader);

impl Reader {
    /// Opens the file at `path` for reading.
    ///
    /// # Errors
    /// [`LedgerError::Damaged`] when it is no ledger, [`LedgerError::Newer`] when its format is
    /// newer, [`LedgerError::Failed`] when it cannot be opened. Where SQLite cannot keep its shared
    /// memory beside the file, as in a read-only folder, the file is read as one that does not
    /// change; this is refused while a writer holds its lock.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, LedgerError> {
        let path = path.as_ref();
        let shared = SnapshotReader::open(path);
        let (snapshots, is_new) = match shared.and_then(with_is_new) {
            // What fails in the same way there is reported as it failed first.
            Err(error) if matches!(error, LedgerError::Failed(_)) => read_only_copy::open(path)
                .and_then(|snapshots| snapshots.map(with_is_new).transpose())
                .ok()
                .flatten()
                .ok_or(error)?,
            opened => opened?,
        };
        if is_new {
            return Err(LedgerError::Damaged("the file is empty; it holds no ledger yet".into()));
        }
        Ok(Self { snapshots: Arc::new(snapshots) })
    }

    /// The committed head.
    ///
    /// # Errors
    /// [`LedgerError`], when the file cannot be read.
    pub fn head(&self) -> Result<TreeHead, LedgerError> {
        self.snapshots.with(schema::extent).map(|extent| extent.head)
    }

    /// Events from `from` on, at most `limit` and [`MAX_PAGE`](weaver_types::ledger::MAX_PAGE).
    ///
    /// # Errors
    /// [`LedgerError`], when the file cannot be read.
    pub fn events(&self, from: u64, limit: usize) -> Result<Vec<StoredEvent>, LedgerError> {
        self.snapshots.events(from, limit)
    }

    /// All tenants that have records, in their order.
    ///
    /// # Errors
    /// [`LedgerError`], when the file cannot be read.
    pub fn tenants(&self) -> Result<Vec<Tenant>, LedgerError> {
        let names = self.snapshots.with(rows::tenants)?;
        names
            .into_iter()
            .map(|name| Tenant::parse(name).map_err(error_mapping::damaged_error))
            .collect()
    }

    /// The record under a key; `None` if there is none.
    ///
    /// # Errors
    /// [`LedgerError`], when the file cannot be read.
    pub fn record(&self, key: &RecordKey) -> Result<Option<Record>, LedgerError> {
        self.snapshots.with(|db| rows::record(db, key)).map(|kept| kept.map(Record::from))
    }

    /// Records in the order of their ids, after `after`, at most `limit` and
    /// [`MAX_PAGE`](weaver_types::ledger::MAX_PAGE).
    ///
    /// # Errors
    /// [`LedgerError`], when the file cannot be read.
    pub fn records(
        &self,
        tenant: &Tenant,
        namespace: Namespace,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<(String, Record)>, LedgerError> {
        self.snapshots.with(|db| rows::list(db, tenant, namespace, after, limit))
    }
}

/// For code that takes any ledger and only reads: every batch is refused.
impl Ledger for Reader {
    fn submit(&self, _batch: Arc<Batch>) -> CommitTicket {
        let reason = "it is open for reading only".to_owned();
        CommitTicket::ready(Err(LedgerError::Malformed(reason)))
    }

    fn read(&self, key: &RecordKey) -> Result<Option<Record>, LedgerError> {
        self.record(key)
    }

    fn list(
        &self,
        tenant: &Tenant,
        namespace: Namespace,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<(String, Record)>, LedgerError> {
        self.records(tenant, namespace, after, limit)
    }

    fn events(&self, from: u64, limit: usize) -> Result<Vec<StoredEvent>, LedgerError> {
        Self::events(self, from, limit)
    }

    fn head(&self) -> Result<TreeHead, LedgerError> {
        Self::head(self)
    }

    /// The committed head: what of it is synced, its writer alone knows.
    fn synced_head(&self) -> Result<TreeHead, LedgerError> {
        Self::head(self)
    }
}

impl SnapshotSource for Reader {
    fn snapshots(&self) -> &SnapshotReader {
        &self.snapshots
    }
}
