//! The writer of the file.
//!
//! It uses group commit (DeWitt et al., *Implementation Techniques for Main Memory Database
//! Systems*, 1984): all batches that wait when a commit finishes are committed together, in one
//! transaction with one sync. No commit is delayed to make a group larger; under load groups grow
//! by themselves, and a single batch is committed at once. One thread at a time holds the writer
//! and decides each batch on the state after the previous one, so guards need no locks and events
//! have one order.

mod checkpoint;
mod lead;
mod outage;
mod thread;
mod transaction;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use rusqlite::Connection;
use rusqlite::config::DbConfig;
use weaver_types::Timestamp;
use weaver_types::ledger::{CommitCompleter, CommitReceipt, Durability, LedgerError, TreeHead};

use super::answers::{CommitAnswers, CommitThread};
use super::error_mapping::{as_fatal, closing_error, from_sql};
use super::foreign_write::ForeignWriteCheck;
use super::integrity_sums::IntegritySums;
use super::orphaned_blobs::OrphanedBlobs;
use super::queue::{Queue, WriteRequest};
use super::statement::run;
use super::watch::FileWatch;
use crate::log::LogTip;
use crate::merkle::tile::PartialTiles;

/// Estimated bytes in the write-ahead log at which a checkpoint is made when the writer is idle,
/// and at which it is made immediately. A short log is overwritten again and again, so a sync need
/// not wait for a growing file. A checkpoint delays callers by two syncs, so under load it must
/// happen less often than once in a hundred calls; a call writes about 40 KiB.
const IDLE_CHECKPOINT_BYTES: usize = 1024 * 1024;
const FORCED_CHECKPOINT_BYTES: usize = 16 * 1024 * 1024;

/// The writer: takes waiting batches, commits them as a group, and answers them.
pub(super) struct Writer {
    db: Connection,
    queue: Arc<Queue>,
    tip: LogTip,
    sums: IntegritySums,
    tiles: PartialTiles,
    /// The state of blob references and of the sweep.
    orphans: OrphanedBlobs,
    heads: Arc<Mutex<LogHeads>>,
    answers: CommitAnswers,
    /// The current value of `PRAGMA synchronous`: `Disk` is FULL, `Os` is NORMAL.
    sync_level: Durability,
    /// Estimated bytes written since the last checkpoint.
    bytes_since_checkpoint: usize,
    /// True when a commit has not been synced yet.
    unsynced: bool,
    /// True while pruned bytes may still be in the write-ahead log.
    erasing: Arc<AtomicBool>,
    watch: FileWatch,
    foreign_writes: ForeignWriteCheck,
    /// The transient error, such as a full disk, that blocked the last transaction. While it is set
    /// nothing is accepted, and the writer checks repeatedly whether it is over.
    outage: Option<LedgerError>,
    /// The size of the write-ahead log after the last commit, and its limit, in bytes.
    wal_bytes: u64,
    max_wal_bytes: u64,
    /// True when a reader kept the last checkpoint from completing.
    checkpoint_blocked: bool,
    /// A transaction was begun for a caller, and is still empty.
    has_open_transaction: bool,
    /// A permanent failure has occurred.
    has_failed: bool,
}

/// An opened and checked file, as passed to the writer.
pub(super) struct OpenedLedgerFile {
    pub(super) db: Connection,
    pub(super) tip: LogTip,
    pub(super) tiles: PartialTiles,
    pub(super) orphans: OrphanedBlobs,
    pub(super) watch: FileWatch,
    /// The limit of the write-ahead log, in bytes.
    pub(super) max_wal_bytes: u64,
    /// Whether an earlier process left a write-ahead log: it may contain pruned bytes.
    pub(super) had_wal: bool,
}

/// The heads that the writer publishes.
#[derive(Debug)]
pub(super) struct LogHeads {
    /// The head after the last commit.
    pub(super) committed: TreeHead,
    /// The head up to which events are known to be synced.
    pub(super) synced: TreeHead,
}

/// A batch that was applied or refused in the open transaction.
struct AppliedBatch {
    completer: CommitCompleter,
    result: Result<(Option<u64>, Timestamp), LedgerError>,
}

impl Writer {
    /// Takes over a file whose log ends at `tip`. The write-ahead log of an earlier process may
    /// never have been synced, or its sync may have failed. So it is checkpointed into the file and
    /// synced there; if a reader prevents that, nothing counts as synced yet.
    pub(super) fn start(opened: OpenedLedgerFile, queue: Arc<Queue>) -> Result<Self, LedgerError> {
        let OpenedLedgerFile { db, tip, tiles, orphans, watch, max_wal_bytes, had_wal } = opened;
        let sums = IntegritySums::load(&db)?;
        let foreign_writes = ForeignWriteCheck::begin(&db)?;
        let committed = tip.head();
        let synced = LogTip::new(tip.log.clone()).head();
        let heads = Arc::new(Mutex::new(LogHeads { committed, synced }));
        let answers = CommitAnswers::start().map_err(|error| {
            LedgerError::Failed(format!("cannot start the thread that answers: {error}"))
        })?;
        let level = Durability::Disk;
        let erasing = Arc::new(AtomicBool::new(had_wal));
        let mut writer = Self {
            db,
            queue,
            tip,
            sums,
            tiles,
            orphans,
            heads,
            answers,
            sync_level: level,
            bytes_since_checkpoint: 0,
            unsynced: true,
            erasing,
            watch,
            foreign_writes,
            outage: None,
            wal_bytes: 0,
            max_wal_bytes,
            checkpoint_blocked: false,
            has_open_transaction: false,
            has_failed: false,
        };
        writer.checkpoint()?;
        Ok(writer)
    }

    /// The published heads.
    pub(super) fn heads(&self) -> Arc<Mutex<LogHeads>> {
        Arc::clone(&self.heads)
    }

    /// True while pruned bytes may still be in the write-ahead log.
    pub(super) fn erasing(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.erasing)
    }

    /// After a failure, ends the writer. Nothing is written any more, not even on close.
    fn fail_on_error(&mut self, done: Result<(), LedgerError>) {
        if let Err(error) = done {
            self.has_failed = true;
            self.queue.fail(closing_error(&error));
            let _ = self.db.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true);
        }
    }

    /// Commits a group and answers it. A transient failure refuses the whole group; any other
    /// failure does so too, and ends the writer.
    fn commit_group(
        &mut self,
        group: Vec<WriteRequest>,
        thread: CommitThread,
    ) -> Result<(), LedgerError> {
        match self.is_outage_over().map_err(|error| as_fatal(&error)) {
            Ok(true) => {}
            Ok(false) => {
                refuse_group(group, self.outage.as_ref().unwrap_or(&LedgerError::Closed));
                return Ok(());
            }
            Err(error) => {
                refuse_group(group, &error);
                return Err(error);
            }
        }
        if self.wal_bytes > self.max_wal_bytes
            && let Some(error) = self.try_truncate_wal()?
        {
            refuse_group(group, &error);
            return Ok(());
        }
        let level = group.iter().map(|work| work.prepared.batch.durability).max();
        let level = level.unwrap_or_default();
        let mut applied = Vec::with_capacity(group.len());
        let (tip, sums, before) =
            (self.tip.clone(), self.sums.clone(), self.bytes_since_checkpoint);
        let done = self.apply_group(group, level, &mut applied);
        let done = match done {
            Err(error) => match self.roll_back(tip, sums, error) {
                Ok(refusal) => {
                    let refused =
                        applied.into_iter().map(|one| (one.completer, Err(refusal.clone())));
                    self.answers.deliver(refused.collect(), thread);
                    return Ok(());
                }
                Err(error) => Err(error),
            },
            done => done,
        };
        // Before anything is acknowledged: writes to a removed file are lost.
        let done = done.and_then(|done| {
            self.wal_bytes = match level {
                Durability::Disk => self.watch.check()?,
                Durability::Os => self.watch.check_by_time(self.bytes_since_checkpoint - before)?,
            };
            Ok(done)
        });
        let head = self.tip.head();
        if done == Ok(true) {
            self.unsynced = level == Durability::Os;
            self.publish_heads();
        }
        let answers = applied.into_iter().map(|AppliedBatch { completer, result }| {
            let answer = match &done {
                Ok(_) => result.map(|(first_seq, at)| CommitReceipt {
                    first_seq,
                    at,
                    durability: level,
                    head: head.clone().into(),
                }),
                Err(error) => Err(error.clone()),
            };
            (completer, answer)
        });
        self.answers.deliver(answers.collect(), thread);
        done.map(drop)
    }

    /// Sets how durable the next commit is. SQLite accepts this only outside a transaction and
    /// silently ignores what it cannot do, so the value is read back.
    fn set_level(&mut self, level: Durability) -> Result<(), LedgerError> {
        if level == self.sync_level {
            return Ok(());
        }
        let (name, number) = match level {
            Durability::Os => ("NORMAL", 1_i64),
            Durability::Disk => ("FULL", 2),
        };
        let found: i64 = self
            .db
            .pragma_update(None, "synchronous", name)
            .and_then(|()| self.db.pragma_query_value(None, "synchronous", |row| row.get(0)))
            .map_err(|error| from_sql(&error))?;
        if found != number {
            return Err(LedgerError::Failed(format!("SQLite would not sync at level {name}")));
        }
        self.sync_level = level;
        Ok(())
    }

    /// Sweeps a few orphaned blobs. No event depends on it, so it needs no sync of its own.
    fn sweep(&mut self) -> Result<(), LedgerError> {
        if !self.orphans.is_sweeping() {
            return Ok(());
        }
        self.set_level(Durability::Os)?;
        let (tip, sums) = (self.tip.clone(), self.sums.clone());
        match self.orphans.sweep(&self.db, &mut self.sums) {
            Ok(true) => {
                self.unsynced = true;
                self.erasing.store(true, Ordering::Release);
            }
            Ok(false) => {}
            Err(error) => drop(self.roll_back(tip, sums, as_fatal(&error))?),
        }
        Ok(())
    }

    /// Publishes the head, as synced too if nothing is unsynced.
    fn publish_heads(&self) {
        let head = self.tip.head();
        if let Ok(mut heads) = self.heads.lock() {
            if !self.unsynced {
                heads.synced.clone_from(&head);
            }
            heads.committed = head;
        }
    }

    fn sql(&self, sql: &str) -> Result<(), LedgerError> {
        run(&self.db, sql, [])
    }
}

/// Refuses a whole group.
fn refuse_group(group: Vec<WriteRequest>, error: &LedgerError) {
    for work in group {
        work.completer.complete(Err(error.clone()));
    }
}

impl Drop for Writer {
    /// Refuses whatever waits when the writer ends, even after a panic.
    fn drop(&mut self) {
        self.queue.abandon();
    }
}
