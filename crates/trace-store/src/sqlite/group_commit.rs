//! Decides who commits: the writer's own thread, or a caller that waits.
//!
//! A synced commit waits for the disk, so the thread makes it. A commit without a sync takes about
//! as long as waking the thread and being woken by it. So a caller that finds the writer free
//! commits on its own thread, together with whatever is queued by then. Batches leave the queue
//! only under the writer's lock, so they keep their order whoever takes them.
//!
//! Of many tasks that share few threads, each would find the writer free and commit its batch alone.
//! So a task lets others submit their batches first ([`CallerEstimate`]).
//!
//! A batch that nobody waits for is left to the next commit. If none comes within a few
//! milliseconds, the thread makes one. A read by this process commits such batches first, so that
//! it sees earlier writes.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, TryLockError};

use weaver_types::ledger::CommitLeader;

use super::caller_estimate::CallerEstimate;
use super::queue::{Queue, QueueEvent};
use super::writer::Writer;

/// The queue and the writer of one ledger.
pub(super) struct GroupCommit {
    queue: Arc<Queue>,
    /// `None` once the thread has ended.
    writer: Mutex<Option<Writer>>,
    /// How many batches were deferred, and how many of them are known to be committed.
    deferred: AtomicU64,
    committed: AtomicU64,
    callers: CallerEstimate,
}

impl GroupCommit {
    pub(super) fn new(queue: Arc<Queue>, writer: Writer) -> Self {
        let [deferred, committed] = [const { AtomicU64::new(0) }; 2];
        let writer = Mutex::new(Some(writer));
        Self { queue, writer, deferred, committed, callers: CallerEstimate::default() }
    }

    /// The loop of the thread: commits until the queue is closed and empty, or until something
    /// fails.
    pub(super) fn run(&self) {
        while let Some(idle_limit) = self.with_writer(|writer| writer.idle_limit()) {
            match self.queue.wait(idle_limit) {
                QueueEvent::Work => self.with_writer(Writer::commit_waiting),
                QueueEvent::Idle => self.with_writer(Writer::run_upkeep),
                QueueEvent::UpkeepDue => Some(()),
                QueueEvent::Closed => break,
            };
        }
        match self.writer.lock() {
            Ok(mut place) => place.take().map_or((), Writer::checkpoint_and_close),
            // A caller panicked during a commit: refuse everything that waits.
            Err(_) => self.queue.abandon(),
        }
    }

    /// Commits deferred batches, for a reader that must see its earlier writes.
    pub(super) fn commit_deferred(&self) {
        let is_behind = |deferred| self.committed.load(Ordering::Acquire) != deferred;
        if !is_behind(self.deferred.load(Ordering::Acquire)) {
            return;
        }
        // Whoever holds the writer may have taken the batch, so wait for its lock.
        self.with_writer(|writer| {
            let deferred = self.deferred.load(Ordering::Acquire);
            // Batches before the deferred ones may fill several groups. Each round takes at least
            // one of the batches that wait now, so the loop ends however many arrive meanwhile.
            for _ in 0..self.queue.len() {
                writer.commit_waiting();
                if self.queue.is_empty() {
                    break;
                }
            }
            self.committed.store(deferred, Ordering::Release);
        });
    }

    fn with_writer<T>(&self, act: impl FnOnce(&mut Writer) -> T) -> Option<T> {
        self.writer.lock().ok()?.as_mut().map(act)
    }
}

impl CommitLeader for GroupCommit {
    fn lead(&self) {
        let led = match self.writer.try_lock() {
            // Another caller has taken the batch.
            _ if self.queue.is_empty() => return self.callers.note_other_caller(),
            Ok(mut place) => {
                self.callers.note_commit();
                place.as_mut().is_some_and(Writer::commit_for_caller)
            }
            Err(TryLockError::WouldBlock | TryLockError::Poisoned(_)) => {
                self.callers.note_other_caller();
                false
            }
        };
        // A batch that arrived during this commit has a caller of its own, who found the writer
        // busy and woke the thread.
        if !led {
            self.queue.wake();
        }
    }

    fn should_yield(&self) -> bool {
        self.callers.should_yield()
    }

    fn hand_over(&self) {
        self.queue.wake();
    }

    fn defer(&self) {
        self.deferred.fetch_add(1, Ordering::AcqRel);
        self.queue.defer();
    }
}

impl fmt::Debug for GroupCommit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GroupCommit").field("queue", &self.queue).finish_non_exhaustive()
    }
}
