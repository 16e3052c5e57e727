//! The ledger on SQLite. Its rows are the only source of truth, and one thread at a time writes
//! them.

mod aliases;
mod answers;
mod blobs;
mod caller_estimate;
mod error_mapping;
mod events;
mod file_identity;
mod foreign_objects;
mod foreign_write;
mod group_commit;
mod integrity_sums;
mod lock;
mod open;
mod orphaned_blobs;
mod pruning;
mod queue;
mod read_only_copy;
mod reader;
mod record_file;
mod rows;
mod schema;
mod source;
mod statement;
mod tiles;
mod wal_tail;
mod watch;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use weaver_types::Tenant;
use weaver_types::ledger::{
    Batch, CommitLeader, CommitTicket, Durability, Ledger, LedgerError, MAX_PAGE, Namespace,
    Record, RecordKey, StoredEvent, TreeHead,
};

use crate::prepare::{check_key, prepare};
use crate::salt::SaltPool;
use group_commit::GroupCommit;
use lock::LedgerLock;
use queue::Queue;
use reader::SnapshotReader;
use source::SnapshotSource;
use writer::LogHeads;

pub use blobs::SqliteBlobs;
pub use open::{OpenOptions, OpenReport};
pub use reader::Reader;
pub use record_file::{RECORDS_APPLICATION_ID, RECORDS_VERSION, RecordsOptions, SqliteRecords};
pub use schema::{APPLICATION_ID, FORMAT_VERSION};

/// A ledger in one SQLite file, written by this process alone.
///
/// Dropping it commits the waiting batches, then releases the file for the next writer.
pub struct SqliteLedger {
    path: PathBuf,
    opened: OpenReport,
    salts: SaltPool,
    queue: Arc<Queue>,
    commits: Arc<GroupCommit>,
    heads: Arc<Mutex<LogHeads>>,
    erasing: Arc<AtomicBool>,
    sweeping: Arc<AtomicBool>,
    snapshots: Arc<SnapshotReader>,
    blobs: SqliteBlobs,
    writer: Option<JoinHandle<()>>,
    /// Held until the writer is done, because fields are dropped after [`Drop::drop`].
    _lock: LedgerLock,
}

weaver_types::opaque_debug!(SqliteLedger);

impl SqliteLedger {
    /// Opens the ledger at `path`, and creates it if there is none.
    ///
    /// # Errors
    /// [`LedgerError::Locked`] when another process writes it, [`LedgerError::Newer`] when its
    /// format is newer, [`LedgerError::Damaged`] when its end is not what was written, or when it
    /// is not a ledger; [`LedgerError::Failed`] when it cannot be opened or written.
    pub fn open(path: impl AsRef<Path>, options: OpenOptions) -> Result<Self, LedgerError> {
        open::open(path.as_ref(), options)
    }

    /// The path of the file, with links resolved.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What was found on opening: above all, whether a torn commit was cut off.
    #[must_use]
    pub fn open_report(&self) -> OpenReport {
        self.opened
    }

    /// Whether pruned bytes may still be in the write-ahead log. They remain until the writer is
    /// idle, no reader holds a snapshot, and the log could be truncated. Dropping the ledger tries
    /// once more. After a crash a ledger also reports true, since pruned bytes may have been left
    /// behind.
    ///
    /// Backups, snapshots of the file system and freed disk blocks are not reached.
    #[must_use]
    pub fn is_erasing(&self) -> bool {
        self.erasing.load(Ordering::Acquire)
    }

    /// Whether the file may still contain orphaned blobs of earlier openings. They are swept a few
    /// at a time whenever the writer is idle.
    #[must_use]
    pub fn is_sweeping(&self) -> bool {
        self.sweeping.load(Ordering::Acquire)
    }

    /// The blob store in the same file.
    ///
    /// A blob is committed before its name is returned. A batch that refers to it follows in the
    /// same write-ahead log, so whatever makes the batch durable makes the blob durable too.
    #[must_use]
    pub fn blobs(&self) -> SqliteBlobs {
        self.blobs.clone()
    }
}

impl Ledger for SqliteLedger {
    fn submit(&self, batch: Arc<Batch>) -> CommitTicket {
        match prepare(batch, &self.salts) {
            Ok(prepared) => match prepared.batch.durability {
                Durability::Disk => self.queue.submit(prepared, None),
                Durability::Os => {
                    let leader: Arc<dyn CommitLeader> = Arc::<GroupCommit>::clone(&self.commits);
                    self.queue.enqueue(prepared, None).with_leader(leader)
                }
            },
            Err(error) => CommitTicket::ready(Err(error)),
        }
    }

    fn read(&self, key: &RecordKey) -> Result<Option<Record>, LedgerError> {
        check_key(key)?;
        self.commits.commit_deferred();
        self.snapshots.with(|db| rows::record(db, key)).map(|kept| kept.map(Record::from))
    }

    fn list(
        &self,
        tenant: &Tenant,
        namespace: Namespace,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<(String, Record)>, LedgerError> {
        self.commits.commit_deferred();
        self.snapshots.with(|db| rows::list(db, tenant, namespace, after, limit))
    }

    fn events(&self, from: u64, limit: usize) -> Result<Vec<StoredEvent>, LedgerError> {
        // Written events become visible only once they are committed: none beyond the head is
        // returned.
        let size = self.head()?.size;
        let count = size.saturating_sub(from).min(MAX_PAGE as u64);
        let count = usize::try_from(count).unwrap_or(MAX_PAGE);
        if count == 0 { Ok(Vec::new()) } else { self.snapshots.events(from, limit.min(count)) }
    }

    fn head(&self) -> Result<TreeHead, LedgerError> {
        self.commits.commit_deferred();
        let heads = self.heads.lock().map_err(|_| error_mapping::poisoned_error())?;
        Ok(heads.committed.clone())
    }

    fn synced_head(&self) -> Result<TreeHead, LedgerError> {
        let heads = self.heads.lock().map_err(|_| error_mapping::poisoned_error())?;
        Ok(heads.synced.clone())
    }
}

impl SnapshotSource for SqliteLedger {
    fn snapshots(&self) -> &SnapshotReader {
        self.commits.commit_deferred();
        &self.snapshots
    }
}

impl Drop for SqliteLedger {
    fn drop(&mut self) {
        self.queue.close();
        if let Some(writer) = self.writer.take() {
            // If the writer panicked, it has already failed the queue.
            let _ = writer.join();
        }
    }
}
