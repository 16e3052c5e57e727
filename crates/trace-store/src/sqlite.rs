//! The ledger on SQLite: rows are the only truth, one thread at a time writes them.

mod aliases;
mod answers;
mod blobs;
mod events;
mod fault;
mod file_identity;
mod foreign_objects;
mod foreign_write;
mod group_commit;
mod lock;
mod open;
mod orphaned_blobs;
mod pruning;
mod queue;
mod reader;
mod record_file;
mod rows;
mod schema;
mod source;
mod statement;
mod sums;
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
    Batch, CommitLeader, Durability, Head, Ledger, LedgerError, MAX_PAGE, Namespace, Record,
    RecordKey, StoredEvent, Ticket,
};

use crate::prepare::{check_key, prepare};
use crate::salt::Salts;
use group_commit::GroupCommit;
use lock::Lock;
use queue::Queue;
use reader::Snapshots;
use source::SnapshotSource;
use writer::Heads;

pub use blobs::SqliteBlobs;
pub use open::{OpenOptions, OpenReport};
pub use reader::Reader;
pub use record_file::{RECORDS_APPLICATION_ID, RECORDS_VERSION, RecordsOptions, SqliteRecords};
pub use schema::{APPLICATION_ID, FORMAT_VERSION};

/// A ledger in one SQLite file, written by this process alone.
///
/// Dropping it writes what is waiting, then frees the file for the next one.
pub struct SqliteLedger {
    path: PathBuf,
    opened: OpenReport,
    salts: Salts,
    queue: Arc<Queue>,
    commits: Arc<GroupCommit>,
    heads: Arc<Mutex<Heads>>,
    erasing: Arc<AtomicBool>,
    sweeping: Arc<AtomicBool>,
    snapshots: Arc<Snapshots>,
    blobs: SqliteBlobs,
    writer: Option<JoinHandle<()>>,
    /// Held until the writer is done: fields are dropped after [`Drop::drop`].
    _lock: Lock,
}

impl SqliteLedger {
    /// Opens the ledger at `path`, and makes it when there is none.
    ///
    /// # Errors
    /// [`LedgerError::Locked`] when another process writes it, [`LedgerError::Newer`] when its
    /// format is newer, [`LedgerError::Damaged`] when its end is not what was written, or when it
    /// is no ledger; [`LedgerError::Failed`] when it cannot be opened or written.
    pub fn open(path: impl AsRef<Path>, options: OpenOptions) -> Result<Self, LedgerError> {
        open::open(path.as_ref(), options)
    }

    /// Where it lies, with links resolved.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What was found when it was opened: above all, whether a torn commit was cut off.
    #[must_use]
    pub fn opened(&self) -> OpenReport {
        self.opened
    }

    /// Whether bytes that were pruned may still lie in the write-ahead log: until the writer is
    /// idle, no reader is in the way, and the log could be emptied. Dropping the ledger tries once
    /// more. A ledger that is opened after a crash says so too, since that may have left such bytes.
    ///
    /// What lies in backups, in snapshots of the file system and in blocks that it has freed is not
    /// reached.
    #[must_use]
    pub fn is_erasing(&self) -> bool {
        self.erasing.load(Ordering::Acquire)
    }

    /// Whether blobs of earlier openings may still lie there that no record names. They are swept
    /// whenever the writer is idle, a few at a time.
    #[must_use]
    pub fn is_sweeping(&self) -> bool {
        self.sweeping.load(Ordering::Acquire)
    }

    /// The blob store in the same file.
    ///
    /// A blob is committed before its name is known. A batch that names it comes after it in the
    /// same write-ahead log, so whatever makes the batch durable makes the blob durable too.
    #[must_use]
    pub fn blobs(&self) -> SqliteBlobs {
        self.blobs.clone()
    }
}

impl Ledger for SqliteLedger {
    fn submit(&self, batch: Arc<Batch>) -> Ticket {
        match prepare(batch, &self.salts) {
            Ok(prepared) => match prepared.batch.durability {
                Durability::Disk => self.queue.submit(prepared, None),
                Durability::Os => {
                    let leader: Arc<dyn CommitLeader> = Arc::<GroupCommit>::clone(&self.commits);
                    self.queue.enqueue(prepared, None).led_by(leader)
                }
            },
            Err(error) => Ticket::ready(Err(error)),
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
        // What is written is seen only once it counts: no event stands beyond the head.
        let size = self.head()?.size;
        let count = size.saturating_sub(from).min(MAX_PAGE as u64);
        let count = usize::try_from(count).unwrap_or(MAX_PAGE);
        if count == 0 { Ok(Vec::new()) } else { self.snapshots.events(from, limit.min(count)) }
    }

    fn head(&self) -> Result<Head, LedgerError> {
        self.commits.commit_deferred();
        let heads = self.heads.lock().map_err(|_| fault::poisoned())?;
        Ok(heads.committed.clone())
    }

    fn synced_head(&self) -> Result<Head, LedgerError> {
        let heads = self.heads.lock().map_err(|_| fault::poisoned())?;
        Ok(heads.synced.clone())
    }
}

impl SnapshotSource for SqliteLedger {
    fn snapshots(&self) -> &Snapshots {
        self.commits.commit_deferred();
        &self.snapshots
    }
}

impl Drop for SqliteLedger {
    fn drop(&mut self) {
        self.queue.close();
        if let Some(writer) = self.writer.take() {
            // A writer that panicked has already failed the queue.
            let _ = writer.join();
        }
    }
}
