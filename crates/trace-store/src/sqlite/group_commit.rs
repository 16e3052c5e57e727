//! Who commits: a thread of its own, or a caller that waits.
//!
//! A commit that is synced waits for the disk, so the thread makes it. One that is not synced takes
//! about as long as waking the thread and being woken by it: a caller that finds the writer free
//! commits on its own thread, together with what others have queued meanwhile. Batches leave the
//! queue only under the lock of the writer, so that they keep their order whoever takes them.
//!
//! A batch that nobody waits for is left to the next commit, whoever makes it. Where none comes
//! within a few milliseconds the thread makes one, and a read of this process makes one first, so
//! that it sees what was written before it.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, TryLockError};

use weaver_types::ledger::CommitLeader;

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
}

impl GroupCommit {
    pub(super) fn new(queue: Arc<Queue>, writer: Writer) -> Self {
        let [deferred, committed] = [const { AtomicU64::new(0) }; 2];
        Self { queue, writer: Mutex::new(Some(writer)), deferred, committed }
    }

    /// What the thread does: writes until the queue is closed and empty, or until something fails.
    pub(super) fn run(&self) {
        while let Some(patience) = self.with(|writer| writer.patience()) {
            match self.queue.wait(patience) {
                QueueEvent::Work => self.with(Writer::work),
                QueueEvent::Idle => self.with(Writer::rest),
                QueueEvent::Due => Some(()),
                QueueEvent::Closed => break,
            };
        }
        match self.writer.lock() {
            Ok(mut place) => place.take().map_or((), Writer::leave),
            // A caller panicked in the middle of a commit: whoever waits is refused.
            Err(_) => self.queue.abandon(),
        }
    }

    /// Commits what was deferred, for whoever reads what they wrote before.
    pub(super) fn commit_deferred(&self) {
        let is_behind = |deferred| self.committed.load(Ordering::Acquire) != deferred;
        if !is_behind(self.deferred.load(Ordering::Acquire)) {
            return;
        }
        // Whoever has the writer may have taken the batch: its lock is waited for.
        self.with(|writer| {
            let deferred = self.deferred.load(Ordering::Acquire);
            // Batches before the deferred ones may fill more than one group. At least one of those that
            // wait now goes with each, so that this ends however many come meanwhile.
            for _ in 0..self.queue.len() {
                writer.work();
                if self.queue.is_empty() {
                    break;
                }
            }
            self.committed.store(deferred, Ordering::Release);
        });
    }

    fn with<T>(&self, act: impl FnOnce(&mut Writer) -> T) -> Option<T> {
        self.writer.lock().ok()?.as_mut().map(act)
    }
}

impl CommitLeader for GroupCommit {
    fn lead(&self) {
        let led = match self.writer.try_lock() {
            // Somebody else has taken the batch.
            _ if self.queue.is_empty() => return,
            Ok(mut place) => place.as_mut().is_some_and(Writer::lead),
            Err(TryLockError::WouldBlock | TryLockError::Poisoned(_)) => false,
        };
        // What came while this caller wrote has a caller of its own, who found the writer taken
        // and woke the thread.
        if !led {
            self.queue.wake();
        }
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
