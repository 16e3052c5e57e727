//! The one thread that writes.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rusqlite::Connection;
use rusqlite::config::DbConfig;
use weaver_types::Timestamp;
use weaver_types::ledger::{Completer, Durability, Head, LedgerError, Receipt};

use super::answers::Answers;
use super::fault::{from_sql, passes};
use super::intruder::{self, Intruder};
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
    intruder: Intruder,
    /// What kept the last transaction from being made and passes. While it stands nothing is taken;
    /// the writer looks again and again whether it is over.
    outage: Option<LedgerError>,
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
        let intruder = Intruder::begin(&db)?;
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
            intruder,
            outage: None,
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
            let waiting = self.stuck || self.outage.is_some();
            let patience = if waiting { Some(AGAIN) } else { due.then_some(IDLE) };
            let done = match self.queue.take(patience) {
                Taken::Group(group) => self.group(group),
                Taken::Idle => self.idle(),
                Taken::Closed => return self.leave(),
            };
            if let Err(error) = done {
                self.queue.fail(ending(&error));
                // After a failure nothing is written once more, not even at the end.
                let _ = self.db.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true);
                return;
            }
        }
    }

    /// What is done when nothing comes.
    fn idle(&mut self) -> Result<(), LedgerError> {
        if self.is_over()? {
            self.sweep()?;
            self.checkpoint()?;
        }
        Ok(())
    }

    /// Whether nothing keeps the ledger from being written any more. What did is over once the
    /// write lock can be had, and the file is as this process left it.
    fn is_over(&mut self) -> Result<bool, LedgerError> {
        if self.outage.is_none() {
            return Ok(true);
        }
        self.watch.check()?;
        self.wait(Duration::ZERO)?;
        let begun = self.sql("BEGIN IMMEDIATE");
        self.wait(PATIENCE)?;
        match begun {
            Err(error) if passes(&error) => {
                self.outage = Some(self.named(error, Duration::ZERO));
                return Ok(false);
            }
            begun => begun?,
        }
        let end = (&self.tip, &self.sums);
        intruder::compare(&self.db, end)?;
        self.intruder.check(&self.db, end)?;
        self.tiles = tiles::growing(&self.db, self.tip.frontier.size())?;
        self.sql("ROLLBACK")?;
        self.outage = None;
        Ok(true)
    }

    /// How long a statement waits for other processes.
    fn wait(&self, patience: Duration) -> Result<(), LedgerError> {
        self.db.busy_timeout(patience).map_err(|error| from_sql(&error))
    }

    /// Names the file that was waited for.
    fn named(&self, error: LedgerError, waited: Duration) -> LedgerError {
        match error {
            LedgerError::Busy { .. } => LedgerError::Busy {
                path: self.watch.ledger().display().to_string(),
                waited_ms: u64::try_from(waited.as_millis()).unwrap_or(u64::MAX),
            },
            other => other,
        }
    }

    /// Undoes what a transaction did that failed, where the failure passes; any other is given
    /// back.
    fn roll_back(
        &mut self,
        (tip, sums): (Tip, Sums),
        error: LedgerError,
    ) -> Result<LedgerError, LedgerError> {
        if !passes(&error) {
            return Err(error);
        }
        // SQLite ends some of them by itself.
        if !self.db.is_autocommit() {
            self.sql("ROLLBACK").map_err(|error| fatal(&error))?;
        }
        (self.tip, self.sums) = (tip, sums);
        self.litter.rolled_back();
        let error = self.named(error, PATIENCE);
        self.outage = Some(error.clone());
        Ok(error)
    }

    /// Commits a group and answers it. What passes is given to the whole group as a refusal; any
    /// other failure is given to it too, and ends the writer.
    fn group(&mut self, group: Vec<Work>) -> Result<(), LedgerError> {
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
        let before = (self.tip.clone(), self.sums.clone());
        let done = self.transact(group, level, &mut applied);
        let done = match done {
            Err(error) => match self.roll_back(before, error) {
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
        let mut failed = self.begin(level).err();
        for work in group {
            let Work { mut prepared, blob, completer } = work;
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

    /// Begins a transaction, and makes sure that nobody else has written since the last one.
    fn begin(&mut self, level: Durability) -> Result<(), LedgerError> {
        self.set_level(level)?;
        self.sql("BEGIN IMMEDIATE")?;
        self.intruder.check(&self.db, (&self.tip, &self.sums))
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
        let before = (self.tip.clone(), self.sums.clone());
        match self.litter.sweep(&self.db, &mut self.sums) {
            Ok(true) => {
                self.unsynced = true;
                self.erasing.store(true, Ordering::Release);
            }
            Ok(false) => {}
            Err(error) => drop(self.roll_back(before, fatal(&error))?),
        }
        Ok(())
    }

    /// Moves what it can from the write-ahead log into the file, without waiting for readers. When
    /// everything was moved, both are synced. After pruning, the write-ahead log is emptied as well,
    /// as soon as no reader is in the way.
    fn checkpoint(&mut self) -> Result<(), LedgerError> {
        self.unchecked = 0;
        self.log = self.watch.check()?;
        let moved = if self.erasing.load(Ordering::Acquire) {
            self.empty()
        } else {
            self.moved("PRAGMA wal_checkpoint(PASSIVE)")
        };
        self.stuck = match moved.map_err(|error| fatal(&from_sql(&error))) {
            Ok((busy, frames, moved)) => busy != 0 || frames != moved,
            // What was committed stands in the write-ahead log until there is room for it.
            Err(error) if passes(&error) => true,
            Err(error) => return Err(error),
        };
        if !self.stuck {
            self.unsynced = false;
            self.publish();
        }
        Ok(())
    }

    /// Tries to empty a write-ahead log that has grown too long; why not, while a reader is in the
    /// way or the disk has no room.
    fn emptied(&mut self) -> Result<Option<LedgerError>, LedgerError> {
        match self.empty().map_err(|error| fatal(&from_sql(&error))) {
            Ok((0, ..)) => {}
            Ok(_) => {
                return Ok(Some(LedgerError::Full(format!(
                    "the write-ahead log has {} bytes, above {}, because another process holds an \
                     old state of the file open for reading; end that reader",
                    self.log, self.max_log
                ))));
            }
            Err(error) if passes(&error) => return Ok(Some(self.named(error, Duration::ZERO))),
            Err(error) => return Err(error),
        }
        (self.unchecked, self.unsynced, self.stuck) = (0, false, false);
        self.publish();
        self.log = self.watch.check()?;
        Ok(None)
    }

    /// Makes a checkpoint: whether somebody was in the way, how many frames there were, how many of
    /// them were moved.
    fn moved(&self, sql: &str) -> rusqlite::Result<(i64, i64, i64)> {
        self.db.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
    }

    /// A checkpoint that also empties the write-ahead log, unless a reader is in the way.
    fn empty(&self) -> rusqlite::Result<(i64, i64, i64)> {
        self.db.busy_timeout(Duration::ZERO)?;
        let moved = self.moved("PRAGMA wal_checkpoint(TRUNCATE)");
        self.db.busy_timeout(PATIENCE)?;
        let moved = moved?;
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

/// Answers a group that is not taken.
fn refuse(group: Vec<Work>, error: &LedgerError) {
    for work in group {
        work.completer.complete(Err(error.clone()));
    }
}

/// What is said for good once the writer has ended.
fn ending(error: &LedgerError) -> LedgerError {
    if error.is_refusal() { LedgerError::Failed(error.to_string()) } else { error.clone() }
}

/// Whatever stops the writer closes the ledger; what passes does not stop it.
fn fatal(error: &LedgerError) -> LedgerError {
    match error {
        LedgerError::Failed(_) | LedgerError::Damaged(_) => error.clone(),
        other if passes(other) => other.clone(),
        other => LedgerError::Failed(other.to_string()),
    }
}

impl Drop for Writer {
    /// Nobody waits for a writer that is gone, not even after a panic.
    fn drop(&mut self) {
        self.queue.abandon();
    }
}
