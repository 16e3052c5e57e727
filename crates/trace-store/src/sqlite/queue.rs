//! The queue of the writer.
//!
//! It is bounded, with many callers on one side and one writer on the other. Submitting never
//! blocks: when there is no room, the batch is refused at once, since a caller that waits would
//! hide that the disk cannot keep up.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::Duration;

use weaver_types::ledger::{BlobId, CommitCompleter, CommitTicket, Durability, LedgerError};

use super::error_mapping;
use crate::limits::{MAX_QUEUE, MAX_QUEUE_BYTES};
use crate::prepare::PreparedBatch;

/// The most batches and bytes of one commit.
const MAX_GROUP_BATCHES: usize = 512;
const MAX_GROUP_BYTES: usize = 16 * 1024 * 1024;
/// The most batches and bytes that a caller commits on its own thread while others may wait.
const MAX_CALLER_BATCHES: usize = 16;
const MAX_CALLER_BYTES: usize = 64 * 1024;

/// How long a deferred batch may wait for another commit to join.
const DEFERRED_WAIT: Duration = Duration::from_millis(5);

/// A request to the writer.
#[derive(Debug)]
pub(super) struct WriteRequest {
    pub(super) prepared: PreparedBatch,
    pub(super) blob: Option<BlobChange>,
    pub(super) completer: CommitCompleter,
}

/// A blob to write or remove.
#[derive(Debug)]
pub(super) enum BlobChange {
    Put(BlobId, Vec<u8>),
    Remove(BlobId),
}

/// Why the writer's thread wakes up.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum QueueEvent {
    /// Batches wait.
    Work,
    /// A caller's commit left upkeep behind, so the thread must compute anew how long it may sleep.
    UpkeepDue,
    /// Nothing arrived in time.
    Idle,
    /// The queue is closed and empty.
    Closed,
}

/// The bounded queue in front of the writer.
#[derive(Debug, Default)]
pub(super) struct Queue {
    waiting: Mutex<PendingWork>,
    arrived: Condvar,
}

#[derive(Debug, Default)]
struct PendingWork {
    work: VecDeque<WriteRequest>,
    bytes: usize,
    closed: Option<LedgerError>,
    /// How the writer's thread sleeps: waking it costs a system call.
    sleep: Sleep,
    /// Upkeep became due while the thread was not looking.
    due: bool,
    /// How many groups callers have committed.
    caller_commits: u64,
    /// How many of the waiting batches are deferred.
    deferred: usize,
    /// Whether batches were deferred recently: the thread then checks by itself, without being
    /// woken.
    lingering: bool,
}

/// How the writer's thread sleeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Sleep {
    /// It is awake.
    #[default]
    Awake,
    /// Until it is woken.
    Untimed,
    /// At most for some time.
    Timed,
}

impl Queue {
    /// Submits a batch to the writer.
    ///
    /// A full queue refuses the batch at once, as not applied and worth retrying. Blocking here
    /// would stall the executor threads of an asynchronous host, and failing the ledger would turn
    /// a burst into an outage.
    pub(super) fn submit(&self, prepared: PreparedBatch, blob: Option<BlobChange>) -> CommitTicket {
        let ticket = self.enqueue(prepared, blob);
        self.wake();
        ticket
    }

    /// As above, without waking the writer; whoever waits for the ticket sees to that.
    pub(super) fn enqueue(
        &self,
        prepared: PreparedBatch,
        blob: Option<BlobChange>,
    ) -> CommitTicket {
        let (ticket, completer) = CommitTicket::pair();
        let mut waiting = match self.lock() {
            Ok(waiting) => waiting,
            Err(error) => return CommitTicket::ready(Err(error)),
        };
        if let Some(error) = &waiting.closed {
            return CommitTicket::ready(Err(error.clone()));
        }
        let bytes = waiting.bytes.saturating_add(prepared.bytes);
        if waiting.work.len() >= MAX_QUEUE || (bytes > MAX_QUEUE_BYTES && waiting.bytes > 0) {
            return CommitTicket::ready(Err(LedgerError::Full(format!(
                "{} batches with {} bytes wait already",
                waiting.work.len(),
                waiting.bytes
            ))));
        }
        waiting.bytes = bytes;
        waiting.work.push_back(WriteRequest { prepared, blob, completer });
        ticket
    }

    /// Leaves an enqueued batch to the next commit. Large ones are not left to a caller.
    pub(super) fn defer(&self) {
        let Ok(mut waiting) = self.waiting.lock() else { return };
        if !waiting.has_urgent() {
            // It has already been taken.
            return;
        }
        let is_small =
            waiting.work.len() <= MAX_CALLER_BATCHES / 2 && waiting.bytes <= MAX_CALLER_BYTES / 2;
        if is_small {
            waiting.deferred += 1;
            let looks_soon = std::mem::replace(&mut waiting.lingering, true);
            // A thread that checks for deferred batches will find it; one that sleeps longer will
            // not.
            if looks_soon && waiting.sleep == Sleep::Timed {
                return;
            }
        }
        self.wake_thread(waiting);
    }

    /// Wakes the writer's thread if it sleeps.
    pub(super) fn wake(&self) {
        if let Ok(waiting) = self.waiting.lock() {
            self.wake_thread(waiting);
        }
    }

    fn wake_thread(&self, mut waiting: MutexGuard<'_, PendingWork>) {
        let sleeps = std::mem::take(&mut waiting.sleep) != Sleep::Awake;
        drop(waiting);
        if sleeps {
            self.arrived.notify_one();
        }
    }

    /// Records that a caller committed a group, and whether upkeep is due.
    pub(super) fn note_caller_commit(&self, due: bool) {
        let Ok(mut waiting) = self.waiting.lock() else { return };
        waiting.caller_commits = waiting.caller_commits.wrapping_add(1);
        // A thread that sleeps for limited time will notice when it wakes.
        if !due || waiting.sleep == Sleep::Timed {
            return;
        }
        waiting.due = true;
        self.wake_thread(waiting);
    }

    /// Waits for work, at most `idle_limit`. Batches that wait when the queue is closed still count
    /// as work, and so do deferred ones that no commit has taken for a while.
    pub(super) fn wait(&self, idle_limit: Option<Duration>) -> QueueEvent {
        let Ok(mut waiting) = self.waiting.lock() else { return QueueEvent::Closed };
        loop {
            if waiting.has_urgent() {
                return QueueEvent::Work;
            }
            if waiting.closed.is_some() {
                return if waiting.work.is_empty() { QueueEvent::Closed } else { QueueEvent::Work };
            }
            if std::mem::take(&mut waiting.due) {
                return QueueEvent::UpkeepDue;
            }
            let (caller_commits, lingers) = (waiting.caller_commits, waiting.lingering);
            let limit = if lingers { Some(DEFERRED_WAIT) } else { idle_limit };
            let Some(limit) = limit else {
                waiting.sleep = Sleep::Untimed;
                match self.arrived.wait(waiting) {
                    Ok(again) => waiting = again,
                    Err(_) => return QueueEvent::Closed,
                }
                continue;
            };
            waiting.sleep = Sleep::Timed;
            let Ok((mut again, timeout)) = self.arrived.wait_timeout(waiting, limit) else {
                return QueueEvent::Closed;
            };
            again.sleep = Sleep::Awake;
            if timeout.timed_out() && again.caller_commits == caller_commits {
                match (lingers, again.work.is_empty()) {
                    (_, false) => return QueueEvent::Work,
                    (true, true) => again.lingering = false,
                    (false, true) if again.closed.is_none() => return QueueEvent::Idle,
                    (false, true) => {}
                }
            }
            waiting = again;
        }
    }

    /// Takes everything that waits, up to the limits of one commit. Called by whoever holds the
    /// writer, so that batches are committed in the order of their arrival.
    pub(super) fn take(&self) -> Vec<WriteRequest> {
        self.waiting.lock().map(|mut waiting| waiting.take_group()).unwrap_or_default()
    }

    /// Takes what a caller may commit on its own thread: a few small batches without a sync, if
    /// nothing else precedes them.
    pub(super) fn take_for_caller(&self) -> Vec<WriteRequest> {
        let Ok(mut waiting) = self.waiting.lock() else { return Vec::new() };
        let small = |one: &WriteRequest| {
            one.blob.is_none() && one.prepared.batch.durability == Durability::Os
        };
        let is_small =
            waiting.work.len() <= MAX_CALLER_BATCHES && waiting.bytes <= MAX_CALLER_BYTES;
        match is_small && waiting.work.iter().all(small) {
            true => waiting.take_group(),
            false => Vec::new(),
        }
    }

    /// How many batches wait.
    pub(super) fn len(&self) -> usize {
        self.waiting.lock().map_or(0, |waiting| waiting.work.len())
    }

    /// Whether nothing waits.
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.lock().is_ok_and(|waiting| waiting.work.is_empty())
    }

    /// Accepts nothing more; waiting batches are still written.
    pub(super) fn close(&self) {
        self.end(LedgerError::Closed);
    }

    /// Closes the queue and refuses waiting batches, because the writer has ended.
    pub(super) fn abandon(&self) {
        self.end(LedgerError::Failed("the writer is gone".to_owned()));
        let error = match self.lock() {
            Ok(waiting) => waiting.closed.clone().unwrap_or(LedgerError::Closed),
            Err(error) => error,
        };
        self.fail(error);
    }

    /// Accepts nothing more, permanently; waiting batches are refused with the same error.
    pub(super) fn fail(&self, error: LedgerError) {
        let work = match self.waiting.lock() {
            Ok(mut waiting) => {
                waiting.closed = Some(error.clone());
                (waiting.bytes, waiting.deferred) = (0, 0);
                std::mem::take(&mut waiting.work)
            }
            Err(_) => return,
        };
        self.arrived.notify_all();
        for work in work {
            work.completer.complete(Err(error.clone()));
        }
    }

    fn end(&self, error: LedgerError) {
        if let Ok(mut waiting) = self.waiting.lock() {
            waiting.closed.get_or_insert(error);
        }
        self.arrived.notify_all();
    }

    fn lock(&self) -> Result<MutexGuard<'_, PendingWork>, LedgerError> {
        self.waiting.lock().map_err(|_| error_mapping::poisoned_error())
    }
}

impl PendingWork {
    /// Whether a batch waits whose caller waits too.
    fn has_urgent(&self) -> bool {
        self.work.len() > self.deferred
    }

    fn take_group(&mut self) -> Vec<WriteRequest> {
        let mut group = Vec::new();
        let mut bytes = 0_usize;
        while group.len() < MAX_GROUP_BATCHES {
            let Some(work) = self.work.pop_front() else { break };
            bytes = bytes.saturating_add(work.prepared.bytes);
            self.bytes = self.bytes.saturating_sub(work.prepared.bytes);
            group.push(work);
            if bytes >= MAX_GROUP_BYTES {
                break;
            }
        }
        // What remains after a full group is not deferred any more.
        self.deferred = 0;
        group
    }
}

#[cfg(test)]
mod tests;
