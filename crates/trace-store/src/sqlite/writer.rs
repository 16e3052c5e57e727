//! The one thread that writes.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rusqlite::Connection;
use rusqlite::config::DbConfig;
use weaver_types::Timestamp;
use weaver_types::ledger::{Completer, Durability, Head, LedgerError, Receipt};

use super::answers::Answers;
use super::fault::from_sql;
use super::litter::Litter;
use super::pruning::Transaction;
use super::queue::{BlobChange, Queue, Taken, Work};
use super::reader::PATIENCE;
use super::rows::Seen;
use super::sums::Sums;
use super::watch::Watch;
use super::{events, rows, schema, tiles};
use crate::limits::SWEEP;
use crate::log::Tip;
use crate::merkle::tile::Growing;
use crate::plan::plan;
use crate::prune;

/// Bytes in the write-ahead log, by our own estimate, at which a checkpoint is made when nothing
/// waits, and at which it is made at once: while the log is short it is written over and over, and
/// a sync need not wait for a file that grows.
const CHECKPOINT_IDLE: usize = 1024 * 1024;
const CHECKPOINT_BUSY: usize = 4 * 1024 * 1024;
/// How long nothing must arrive to count as idle.
const IDLE: Duration = Duration::from_millis(50);
/// How long until a checkpoint is tried again that a reader was in the way of.
const AGAIN: Duration = Duration::from_secs(1);
/// Bytes that a commit writes beside its content: the pages of the head and of tree edges.
const OVERHEAD: usize = 4 * 4096;

/// The writer: takes what waits, commits it as one, answers.
pub(super) struct Writer {
    db: Connection,
    queue: Arc<Queue>,
    tip: Tip,
    sums: Sums,
    tiles: Growing,
    /// Which blobs nobody names.
    litter: Litter,
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
    watch: Watch,
    /// Bytes that the write-ahead log had after the last commit, and the most that it may have.
    log: u64,
    max_log: u64,
    /// True when a reader kept the last checkpoint from moving everything.
    stuck: bool,
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
struct Applied {
    completer: Completer,
    result: Result<(Option<u64>, Timestamp), LedgerError>,
}

impl Writer {
    /// Takes over a file whose log ends at `tip`. What an earlier process left in the write-ahead
    /// log may never have been synced, or its sync may have failed: it is written once more, into
    /// the file, and synced there. When a reader is in the way, nothing counts as synced yet.
    /// `left` says that there was something: some of it may have been pruned.
    pub(super) fn start(
        db: Connection,
        queue: Arc<Queue>,
        (tip, tiles, litter): (Tip, Growing, Litter),
        (watch, max_log): (Watch, u64),
        left: bool,
    ) -> Result<Self, LedgerError> {
        let sums = Sums::load(&db)?;
        let committed = tip.head();
        let synced = Tip::new(tip.log.clone()).head();
        let heads = Arc::new(Mutex::new(Heads { committed, synced }));
        let answers = Answers::start().map_err(|error| {
            LedgerError::Failed(format!("cannot start the thread that answers: {error}"))
        })?;
        let level = Durability::Disk;
        let erasing = Arc::new(AtomicBool::new(left));
        let mut writer = Self {
            db,
            queue,
            tip,
            sums,
            tiles,
            litter,
            heads,
            answers,
            level,
            unchecked: 0,
            unsynced: true,
            erasing,
            watch,
            log: 0,
            max_log,
            stuck: false,
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

    /// Writes until the queue is closed and empty, or until something fails.
    pub(super) fn run(mut self) {
        loop {
            let due = self.unchecked >= CHECKPOINT_IDLE
                || self.erasing.load(Ordering::Acquire)
                || self.litter.is_sweeping();
            let patience = if due { Some(IDLE) } else { self.stuck.then_some(AGAIN) };
            let done = match self.queue.take(patience) {
                Taken::Group(group) => self.group(group),
                Taken::Idle => self.sweep().and_then(|()| self.checkpoint()),
                Taken::Closed => return self.leave(),
            };
            if let Err(error) = done {
                self.queue.fail(error);
                // After a failure nothing is written once more, not even at the end.
                let _ = self.db.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true);
                return;
            }
        }
    }

    /// Commits a group and answers it. An error is fatal and has been given to the whole group.
    fn group(&mut self, group: Vec<Work>) -> Result<(), LedgerError> {
        if self.log > self.max_log && !self.emptied()? {
            self.refuse(group);
            return Ok(());
        }
        let level = group.iter().map(|work| work.prepared.batch.durability).max();
        let level = level.unwrap_or_default();
        let mut applied = Vec::with_capacity(group.len());
        let done = self.transact(group, level, &mut applied);
        // Before anything is acknowledged: what went into a removed file is lost.
        let done = done.and_then(|done| {
            self.log = self.watch.check()?;
            Ok(done)
        });
        let head = self.tip.head();
        if done == Ok(true) {
            self.unsynced = level == Durability::Os;
            self.publish();
        }
        let answers = applied.into_iter().map(|Applied { completer, result }| {
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
        done?;
        if self.unchecked >= CHECKPOINT_BUSY { self.checkpoint() } else { Ok(()) }
    }

    /// Applies a group in one transaction. A batch is decided before any of it is written, so a
    /// refused one leaves nothing behind and needs no savepoint. False when all were refused.
    fn transact(
        &mut self,
        group: Vec<Work>,
        level: Durability,
        applied: &mut Vec<Applied>,
    ) -> Result<bool, LedgerError> {
        let (mut written, before) = (0, self.tip.frontier.size());
        let mut failed = self.set_level(level).and_then(|()| self.sql("BEGIN IMMEDIATE")).err();
        for work in group {
            let Work { mut prepared, blob, completer } = work;
            let result = match &failed {
                Some(error) => Err(error.clone()),
                None => self.apply(&mut prepared, blob, level),
            };
            match &result {
                Ok(_) => self.unchecked = self.unchecked.saturating_add(prepared.bytes),
                Err(error) if error.is_refusal() => {}
                Err(error) => failed = Some(fatal(error)),
            }
            written += usize::from(result.is_ok()) * (1 + prepared.batch.puts().count());
            applied.push(Applied { completer, result });
        }
        match failed {
            Some(error) => Err(error),
            None if written == 0 => self.sql("ROLLBACK").map(|()| false),
            None => {
                let barrier = level == Durability::Disk && self.unsynced;
                let barrier = barrier && self.tip.frontier.size() == before;
                self.seal(written, before, barrier).map(|()| true)
            }
        }
        .map_err(|error| fatal(&error))
    }

    /// Forgets what has expired, writes the head, commits. SQLite syncs nothing when a transaction
    /// changes no page, so a `barrier` writes one; the sync covers all that stands before it.
    fn seal(&mut self, written: usize, before: u64, barrier: bool) -> Result<(), LedgerError> {
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
        prepared: &mut crate::prepare::Prepared,
        blob: Option<BlobChange>,
        level: Durability,
    ) -> Result<(Option<u64>, Timestamp), LedgerError> {
        let db = &self.db;
        let first = self.tip.frontier.size();
        let now = prune::time_after(self.tip.highest, &prepared.batch);
        let mut seen = Seen::new(db);
        let writes = plan(&prepared.batch, &mut seen)?;
        prune::check(prepared, (first, now), &mut Transaction::new(db))?;
        let log = (&mut self.tip, &mut self.tiles, &mut self.sums);
        events::append(db, log, prepared.events(), level)?;
        rows::write(db, &writes, &seen, &mut self.sums)?;
        self.litter.name(db, &prepared.batch)?;
        if !prepared.prune.is_empty() {
            prepared.bytes = prepared.bytes.saturating_add(events::prune(db, &prepared.prune)?);
            self.erasing.store(true, Ordering::Release);
        }
        if let Some(change) = blob {
            self.litter.change(db, change, &mut self.sums)?;
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
        if !self.litter.is_sweeping() {
            return Ok(());
        }
        self.set_level(Durability::Os)?;
        if self.litter.sweep(&self.db, &mut self.sums).map_err(|error| fatal(&error))? {
            self.unsynced = true;
            self.erasing.store(true, Ordering::Release);
        }
        Ok(())
    }

    /// Moves what it can from the write-ahead log into the file, without waiting for readers. When
    /// everything was moved, both are synced. After pruning, the write-ahead log is emptied as well,
    /// as soon as no reader is in the way.
    fn checkpoint(&mut self) -> Result<(), LedgerError> {
        self.unchecked = 0;
        self.log = self.watch.check()?;
        let (busy, frames, moved) = if self.erasing.load(Ordering::Acquire) {
            self.empty()
        } else {
            self.moved("PRAGMA wal_checkpoint(PASSIVE)")
        }
        .map_err(|error| fatal(&from_sql(&error)))?;
        self.stuck = busy != 0 || frames != moved;
        if !self.stuck {
            self.unsynced = false;
            self.publish();
        }
        Ok(())
    }

    /// Tries to empty a write-ahead log that has grown too long; false while a reader is in the way.
    fn emptied(&mut self) -> Result<bool, LedgerError> {
        let (busy, ..) = self.empty().map_err(|error| fatal(&from_sql(&error)))?;
        if busy != 0 {
            return Ok(false);
        }
        (self.unchecked, self.unsynced, self.stuck) = (0, false, false);
        self.publish();
        self.log = self.watch.check()?;
        Ok(true)
    }

    /// Answers a group that is not taken.
    fn refuse(&self, group: Vec<Work>) {
        let busy = LedgerError::Full(format!(
            "the write-ahead log has {} bytes, above {}, because another process holds an old state \
             of the file open for reading; end that reader",
            self.log, self.max_log
        ));
        for work in group {
            work.completer.complete(Err(busy.clone()));
        }
    }

    /// Makes a checkpoint: whether somebody was in the way, how many frames there were, how many of
    /// them were moved.
    fn moved(&self, sql: &str) -> rusqlite::Result<(i64, i64, i64)> {
        self.db.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
    }

    /// A checkpoint that also empties the write-ahead log, unless a reader is in the way.
    fn empty(&self) -> rusqlite::Result<(i64, i64, i64)> {
        self.db.busy_timeout(Duration::ZERO)?;
        let moved = self.moved("PRAGMA wal_checkpoint(TRUNCATE)")?;
        self.db.busy_timeout(PATIENCE)?;
        if moved.0 == 0 {
            self.erasing.store(false, Ordering::Release);
        }
        Ok(moved)
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

    /// Leaves one file that holds everything, unless a reader is in the way. Nothing depends on it:
    /// what is committed stands in the write-ahead log until then.
    fn leave(self) {
        let _ = self.db.busy_timeout(Duration::ZERO);
        let _ = self.db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
    }

    fn sql(&self, sql: &str) -> Result<(), LedgerError> {
        rows::run(&self.db, sql, [])
    }
}

/// Whatever stops the writer closes the ledger.
fn fatal(error: &LedgerError) -> LedgerError {
    match error {
        LedgerError::Failed(_) | LedgerError::Damaged(_) => error.clone(),
        other => LedgerError::Failed(other.to_string()),
    }
}

impl Drop for Writer {
    /// Nobody waits for a writer that is gone, not even after a panic.
    fn drop(&mut self) {
        self.queue.abandon();
    }
}
