//! The writer of the file.
//!
//! Group commit (DeWitt et al., *Implementation Techniques for Main Memory Database Systems*, 1984):
//! whatever waits when the last commit is done is committed as one transaction with one sync. Nothing
//! is delayed to make a group larger; under load groups grow by themselves, and a lone batch goes at
//! once. One thread at a time has the writer and decides each batch on the state after the one before,
//! so that guards need no locks and events have one order.

mod checkpoint;
mod lead;
mod outage;
mod thread;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use rusqlite::Connection;
use rusqlite::config::DbConfig;
use weaver_types::Timestamp;
use weaver_types::ledger::{Completer, Durability, Head, LedgerError, Receipt};

use super::answers::Answers;
use super::fault::{ending, fatal, from_sql, passes};
use super::foreign_write::ForeignWriteCheck;
use super::orphaned_blobs::OrphanedBlobs;
use super::pruning::Transaction;
use super::queue::{BlobChange, Queue, WriteRequest};
use super::rows::TransactionRecords;
use super::statement::run;
use super::sums::Sums;
use super::watch::FileWatch;
use super::{events, rows, schema, tiles};
use crate::limits::SWEEP;
use crate::log::Tip;
use crate::merkle::tile::PartialTiles;
use crate::plan::plan;
use crate::prune;

/// Bytes in the write-ahead log, by our own estimate, at which a checkpoint is made when nothing
/// waits, and at which it is made at once: while the log is short it is written over and over, and
/// a sync need not wait for a file that grows. A checkpoint holds up whoever comes meanwhile for two
/// syncs, so under load it must be rarer than one call in a hundred; a call takes some 40 KiB.
const CHECKPOINT_IDLE: usize = 1024 * 1024;
const CHECKPOINT_BUSY: usize = 16 * 1024 * 1024;
/// Bytes that a commit writes beside its content: the pages of the head and of tree edges.
const OVERHEAD: usize = 4 * 4096;

/// The writer: takes what waits, commits it as one, answers.
pub(super) struct Writer {
    db: Connection,
    queue: Arc<Queue>,
    tip: Tip,
    sums: Sums,
    tiles: PartialTiles,
    /// Which blobs nobody names.
    orphans: OrphanedBlobs,
    heads: Arc<Mutex<Heads>>,
    answers: Answers,
    /// What `PRAGMA synchronous` stands at: `Disk` is FULL, `Os` is NORMAL.
    level: Durability,
    /// Bytes written since the last checkpoint, estimated.
    unchecked: usize,
    /// True when something was committed that no sync has followed yet.
    unsynced: bool,
    /// Set while bytes that were pruned may still lie in the write-ahead log.
    erasing: Arc<AtomicBool>,
    watch: FileWatch,
    foreign_writes: ForeignWriteCheck,
    /// What kept the last transaction from being made and passes. While it stands nothing is taken;
    /// the writer looks again and again whether it is over.
    outage: Option<LedgerError>,
    /// Bytes that the write-ahead log had after the last commit, and the most that it may have.
    log: u64,
    max_log: u64,
    /// True when a reader kept the last checkpoint from moving everything.
    stuck: bool,
    /// A transaction of a caller was begun, and nothing was done in it.
    begun: bool,
    /// Something failed for good.
    ended: bool,
}

/// A file that was opened and checked, as the writer takes it over.
pub(super) struct OpenedFile {
    pub(super) db: Connection,
    pub(super) tip: Tip,
    pub(super) tiles: PartialTiles,
    pub(super) orphans: OrphanedBlobs,
    pub(super) watch: FileWatch,
    /// The most bytes that the write-ahead log may have.
    pub(super) max_log: u64,
    /// Whether an earlier process left something in the write-ahead log: some of it may have been
    /// pruned.
    pub(super) had_log: bool,
}

/// What the writer lets others know of the log.
#[derive(Debug)]
pub(super) struct Heads {
    /// After the last commit.
    pub(super) committed: Head,
    /// Up to which events are known to be synced.
    pub(super) synced: Head,
}

/// A batch that was applied, or refused, in the open transaction.
struct AppliedBatch {
    completer: Completer,
    result: Result<(Option<u64>, Timestamp), LedgerError>,
}

impl Writer {
    /// Takes over a file whose log ends at `tip`. What an earlier process left in the write-ahead
    /// log may never have been synced, or its sync may have failed: it is written once more, into
    /// the file, and synced there. When a reader is in the way, nothing counts as synced yet.
    pub(super) fn start(opened: OpenedFile, queue: Arc<Queue>) -> Result<Self, LedgerError> {
        let OpenedFile { db, tip, tiles, orphans, watch, max_log, had_log } = opened;
        let sums = Sums::load(&db)?;
        let foreign_writes = ForeignWriteCheck::begin(&db)?;
        let committed = tip.head();
        let synced = Tip::new(tip.log.clone()).head();
        let heads = Arc::new(Mutex::new(Heads { committed, synced }));
        let answers = Answers::start().map_err(|error| {
            LedgerError::Failed(format!("cannot start the thread that answers: {error}"))
        })?;
        let level = Durability::Disk;
        let erasing = Arc::new(AtomicBool::new(had_log));
        let mut writer = Self {
            db,
            queue,
            tip,
            sums,
            tiles,
            orphans,
            heads,
            answers,
            level,
            unchecked: 0,
            unsynced: true,
            erasing,
            watch,
            foreign_writes,
            outage: None,
            log: 0,
            max_log,
            stuck: false,
            begun: false,
            ended: false,
        };
        writer.checkpoint()?;
        Ok(writer)
    }

    /// Where the heads can be read from.
    pub(super) fn heads(&self) -> Arc<Mutex<Heads>> {
        Arc::clone(&self.heads)
    }

    /// Set while bytes that were pruned may still lie in the write-ahead log.
    pub(super) fn erasing(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.erasing)
    }

    /// Ends the writer after a failure. Nothing is written once more, not even at the end.
    fn end_after(&mut self, done: Result<(), LedgerError>) {
        if let Err(error) = done {
            self.ended = true;
            self.queue.fail(ending(&error));
            let _ = self.db.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true);
        }
    }

    /// Commits a group and answers it. What passes is given to the whole group as a refusal; any
    /// other failure is given to it too, and ends the writer.
    fn group(&mut self, group: Vec<WriteRequest>) -> Result<(), LedgerError> {
        match self.is_over().map_err(|error| fatal(&error)) {
            Ok(true) => {}
            Ok(false) => {
                refuse(group, self.outage.as_ref().unwrap_or(&LedgerError::Closed));
                return Ok(());
            }
            Err(error) => {
                refuse(group, &error);
                return Err(error);
            }
        }
        if self.log > self.max_log
            && let Some(error) = self.emptied()?
        {
            refuse(group, &error);
            return Ok(());
        }
        let level = group.iter().map(|work| work.prepared.batch.durability).max();
        let level = level.unwrap_or_default();
        let mut applied = Vec::with_capacity(group.len());
        let (tip, sums, before) = (self.tip.clone(), self.sums.clone(), self.unchecked);
        let done = self.transact(group, level, &mut applied);
        let done = match done {
            Err(error) => match self.roll_back(tip, sums, error) {
                Ok(refusal) => {
                    let refused =
                        applied.into_iter().map(|one| (one.completer, Err(refusal.clone())));
                    self.answers.give(refused.collect());
                    return Ok(());
                }
                Err(error) => Err(error),
            },
            done => done,
        };
        // Before anything is acknowledged: what went into a removed file is lost.
        let done = done.and_then(|done| {
            self.log = match level {
                Durability::Disk => self.watch.check()?,
                Durability::Os => self.watch.check_by_time(self.unchecked - before)?,
            };
            Ok(done)
        });
        let head = self.tip.head();
        if done == Ok(true) {
            self.unsynced = level == Durability::Os;
            self.publish();
        }
        let answers = applied.into_iter().map(|AppliedBatch { completer, result }| {
            let answer = match &done {
                Ok(_) => result.map(|(first_seq, at)| Receipt {
                    first_seq,
                    at,
                    durability: level,
                    head: head.clone().into(),
                }),
                Err(error) => Err(error.clone()),
            };
            (completer, answer)
        });
        self.answers.give(answers.collect());
        done.map(drop)
    }

    /// Applies a group in one transaction. A batch is decided before any of it is written, so a
    /// refused one leaves nothing behind and needs no savepoint. False when all were refused.
    fn transact(
        &mut self,
        group: Vec<WriteRequest>,
        level: Durability,
        applied: &mut Vec<AppliedBatch>,
    ) -> Result<bool, LedgerError> {
        let (mut written, before) = (0, self.tip.frontier.size());
        let mut failed = self.begin(level).err();
        for work in group {
            let WriteRequest { mut prepared, blob, completer } = work;
            let result = match &failed {
                Some(error) => Err(error.clone()),
                None => self.apply(&mut prepared, blob, level),
            };
            match &result {
                Ok(_) => self.unchecked = self.unchecked.saturating_add(prepared.bytes),
                Err(error) if error.is_refusal() && !passes(error) => {}
                Err(error) => failed = Some(fatal(error)),
            }
            written += usize::from(result.is_ok()) * (1 + prepared.batch.puts().count());
            applied.push(AppliedBatch { completer, result });
        }
        match failed {
            Some(error) => Err(error),
            None if written == 0 => self.sql("ROLLBACK").map(|()| false),
            None => self.seal(written, before, level).map(|()| true),
        }
        .map_err(|error| fatal(&error))
    }

    /// Begins a transaction, and makes sure that nobody else has written since the last one.
    fn begin(&mut self, level: Durability) -> Result<(), LedgerError> {
        if std::mem::take(&mut self.begun) {
            return Ok(());
        }
        self.set_level(level)?;
        self.sql("BEGIN IMMEDIATE")?;
        self.foreign_writes.check(&self.db, &self.tip, &self.sums)
    }

    /// Forgets what has expired, writes the head, commits. SQLite syncs nothing when a transaction
    /// changes no page, so a barrier writes one; the sync covers all that stands before it.
    fn seal(&mut self, written: usize, before: u64, level: Durability) -> Result<(), LedgerError> {
        let is_empty = self.tip.frontier.size() == before;
        let barrier = level == Durability::Disk && self.unsynced && is_empty;
        rows::sweep(&self.db, self.tip.highest, SWEEP + written * 2, &mut self.sums)?;
        tiles::save(&self.db, &self.tiles.take())?;
        schema::save_end(&self.db, &self.tip, before, &self.sums)?;
        if barrier {
            schema::touch(&self.db)?;
        }
        self.unchecked = self.unchecked.saturating_add(OVERHEAD);
        self.sql("COMMIT")
    }

    fn apply(
        &mut self,
        prepared: &mut crate::prepare::PreparedBatch,
        blob: Option<BlobChange>,
        level: Durability,
    ) -> Result<(Option<u64>, Timestamp), LedgerError> {
        let db = &self.db;
        let first = self.tip.frontier.size();
        let now = prune::time_after(self.tip.highest, &prepared.batch);
        let mut seen = TransactionRecords::new(db);
        let writes = plan(&prepared.batch, &mut seen)?;
        prune::check(prepared, first, now, &mut Transaction::new(db))?;
        let (tip, tiles, sums) = (&mut self.tip, &mut self.tiles, &mut self.sums);
        events::append(db, tip, tiles, sums, prepared.events(), level)?;
        rows::write(db, &writes, &seen, &mut self.sums)?;
        self.orphans.name(db, &prepared.batch)?;
        if !prepared.prune.is_empty() {
            prepared.bytes = prepared.bytes.saturating_add(events::prune(db, &prepared.prune)?);
            self.erasing.store(true, Ordering::Release);
        }
        if let Some(change) = blob {
            self.orphans.change(db, change, &mut self.sums)?;
        }
        Ok(((self.tip.frontier.size() > first).then_some(first), self.tip.highest))
    }

    /// Sets how far the next commit is synced. It works outside a transaction only, and is read
    /// back, since SQLite ignores what it cannot do.
    fn set_level(&mut self, level: Durability) -> Result<(), LedgerError> {
        if level == self.level {
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
        self.level = level;
        Ok(())
    }

    /// Sweeps a few blobs that nobody names. No event rides on it, so it needs no sync of its own.
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
            Err(error) => drop(self.roll_back(tip, sums, fatal(&error))?),
        }
        Ok(())
    }

    /// Lets others see the head, and that it is synced when it is.
    fn publish(&self) {
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

/// Answers a group that is not taken.
fn refuse(group: Vec<WriteRequest>, error: &LedgerError) {
    for work in group {
        work.completer.complete(Err(error.clone()));
    }
}

impl Drop for Writer {
    /// Nobody waits for a writer that is gone, not even after a panic.
    fn drop(&mut self) {
        self.queue.abandon();
    }
}
