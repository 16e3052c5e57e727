//! What waits for the writer.
//!
//! A bounded queue between many callers and one thread. The side that submits never blocks: what finds
//! no room is refused at once, since a caller that waits would hide that the disk cannot keep up.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::Duration;

use weaver_types::ledger::{BlobId, Completer, Durability, LedgerError, Ticket};

use super::fault;
use crate::limits::{MAX_QUEUE, MAX_QUEUE_BYTES};
use crate::prepare::PreparedBatch;

/// The most batches and bytes that one commit takes.
const GROUP: usize = 512;
const GROUP_BYTES: usize = 16 * 1024 * 1024;
/// The most batches and bytes that a caller commits on its own thread, for which others may wait.
const CALLER_BATCHES: usize = 16;
const CALLER_BYTES: usize = 64 * 1024;

/// How long a deferred batch may wait to share a commit with another.
const LINGER: Duration = Duration::from_millis(5);

/// One thing to write.
#[derive(Debug)]
pub(super) struct WriteRequest {
    pub(super) prepared: PreparedBatch,
    pub(super) blob: Option<BlobChange>,
    pub(super) completer: Completer,
}

/// A blob to write or to remove.
#[derive(Debug)]
pub(super) enum BlobChange {
    Put(BlobId, Vec<u8>),
    Remove(BlobId),
}

/// Why the writer's thread wakes.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum QueueEvent {
    /// There is work.
    Work,
    /// A caller left upkeep behind, so the thread has to reckon anew how long it may wait.
    Due,
    /// Nothing came in time.
    Idle,
    /// Nothing comes any more.
    Closed,
}

/// The queue before the one writer: bounded, and never blocking the side that submits.
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
    /// Whether the writer's thread sleeps: waking it is a call to the system.
    sleep: Sleep,
    /// Something became due while the thread did not look.
    due: bool,
    /// How many groups callers committed.
    led: u64,
    /// How many of the waiting batches are deferred.
    deferred: usize,
    /// Whether batches were deferred lately: the thread looks after them without being woken.
    lingering: bool,
}

/// How the writer's thread sleeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Sleep {
    /// It does not.
    #[default]
    Awake,
    /// Until it is woken.
    Untimed,
    /// At most for a while.
    Timed,
}

impl Queue {
    /// Hands a batch to the writer.
    ///
    /// A full queue refuses the batch at once, as something that was not applied and may be tried
    /// again. Blocking here would stall the executor threads of an asynchronous host, and failing
    /// the ledger would turn a burst into an outage.
    pub(super) fn submit(&self, prepared: PreparedBatch, blob: Option<BlobChange>) -> Ticket {
        let ticket = self.enqueue(prepared, blob);
        self.wake();
        ticket
    }

    /// The same without waking the writer: whoever waits for the ticket sees to it.
    pub(super) fn enqueue(&self, prepared: PreparedBatch, blob: Option<BlobChange>) -> Ticket {
        let (ticket, completer) = Ticket::pair();
        let mut waiting = match self.lock() {
            Ok(waiting) => waiting,
            Err(error) => return Ticket::ready(Err(error)),
        };
        if let Some(error) = &waiting.closed {
            return Ticket::ready(Err(error.clone()));
        }
        let bytes = waiting.bytes.saturating_add(prepared.bytes);
        if waiting.work.len() >= MAX_QUEUE || (bytes > MAX_QUEUE_BYTES && waiting.bytes > 0) {
            return Ticket::ready(Err(LedgerError::Full(format!(
                "{} batches with {} bytes wait already",
                waiting.work.len(),
                waiting.bytes
            ))));
        }
        waiting.bytes = bytes;
        waiting.work.push_back(WriteRequest { prepared, blob, completer });
        ticket
    }

    /// Leaves a batch that was enqueued to the next commit. A large one is not left to a caller.
    pub(super) fn defer(&self) {
        let Ok(mut waiting) = self.waiting.lock() else { return };
        if !waiting.has_urgent() {
            // Somebody has taken it.
            return;
        }
        let is_small =
            waiting.work.len() <= CALLER_BATCHES / 2 && waiting.bytes <= CALLER_BYTES / 2;
        if is_small {
            waiting.deferred += 1;
            let looks_soon = std::mem::replace(&mut waiting.lingering, true);
            // A thread that looks after such batches finds it; one that sleeps for longer does not.
            if looks_soon && waiting.sleep == Sleep::Timed {
                return;
            }
        }
        let sleeps = std::mem::take(&mut waiting.sleep) != Sleep::Awake;
        drop(waiting);
        if sleeps {
            self.arrived.notify_one();
        }
    }

    /// Wakes the writer's thread where it sleeps and something waits.
    pub(super) fn wake(&self) {
        let Ok(mut waiting) = self.waiting.lock() else { return };
        let sleeps = std::mem::take(&mut waiting.sleep) != Sleep::Awake;
        drop(waiting);
        if sleeps {
            self.arrived.notify_one();
        }
    }

    /// Notes that a caller committed a group, and whether it left something due.
    pub(super) fn note_caller_commit(&self, due: bool) {
        let Ok(mut waiting) = self.waiting.lock() else { return };
        waiting.led = waiting.led.wrapping_add(1);
        // One that sleeps for a while finds it when it wakes.
        if !due || waiting.sleep == Sleep::Timed {
            return;
        }
        waiting.due = true;
        let sleeps = std::mem::take(&mut waiting.sleep) != Sleep::Awake;
        drop(waiting);
        if sleeps {
            self.arrived.notify_one();
        }
    }

    /// Waits for work, at most `patience`. What waits when the queue is closed is still work, and so
    /// is what was deferred once nothing has taken it along for a while.
    pub(super) fn wait(&self, patience: Option<Duration>) -> QueueEvent {
        let Ok(mut waiting) = self.waiting.lock() else { return QueueEvent::Closed };
        loop {
            if waiting.has_urgent() {
                return QueueEvent::Work;
            }
            if waiting.closed.is_some() {
                return if waiting.work.is_empty() { QueueEvent::Closed } else { QueueEvent::Work };
            }
            if std::mem::take(&mut waiting.due) {
                return QueueEvent::Due;
            }
            let (led, lingers) = (waiting.led, waiting.lingering);
            let limit = if lingers { Some(LINGER) } else { patience };
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
            if timeout.timed_out() && again.led == led {
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

    /// All that waits and one commit may hold. Called by whoever has the writer, so that batches
    /// are committed in the order in which they came.
    pub(super) fn take(&self) -> Vec<WriteRequest> {
        self.waiting.lock().map(|mut waiting| waiting.group()).unwrap_or_default()
    }

    /// What a caller may commit on its own thread: a few small batches that are not synced, if
    /// nothing else comes before them.
    pub(super) fn take_for_caller(&self) -> Vec<WriteRequest> {
        let Ok(mut waiting) = self.waiting.lock() else { return Vec::new() };
        let small = |one: &WriteRequest| {
            one.blob.is_none() && one.prepared.batch.durability == Durability::Os
        };
        let is_small = waiting.work.len() <= CALLER_BATCHES && waiting.bytes <= CALLER_BYTES;
        match is_small && waiting.work.iter().all(small) {
            true => waiting.group(),
            false => Vec::new(),
        }
    }

    /// Whether nothing waits.
    /// How many batches wait.
    pub(super) fn len(&self) -> usize {
        self.waiting.lock().map_or(0, |waiting| waiting.work.len())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.lock().is_ok_and(|waiting| waiting.work.is_empty())
    }

    /// Takes nothing more; what waits is still written.
    pub(super) fn close(&self) {
        self.end(LedgerError::Closed);
    }

    /// Closes the queue and refuses what waits: for a writer that ends, however it ends.
    pub(super) fn abandon(&self) {
        self.end(LedgerError::Failed("the writer is gone".to_owned()));
        let error = match self.lock() {
            Ok(waiting) => waiting.closed.clone().unwrap_or(LedgerError::Closed),
            Err(error) => error,
        };
        self.fail(error);
    }

    /// Takes nothing more, for ever; what waits is refused with the same error.
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
        self.waiting.lock().map_err(|_| fault::poisoned())
    }
}

impl PendingWork {
    /// Whether something waits that somebody waits for.
    fn has_urgent(&self) -> bool {
        self.work.len() > self.deferred
    }

    fn group(&mut self) -> Vec<WriteRequest> {
        let mut group = Vec::new();
        let mut bytes = 0_usize;
        while group.len() < GROUP {
            let Some(work) = self.work.pop_front() else { break };
            bytes = bytes.saturating_add(work.prepared.bytes);
            self.bytes = self.bytes.saturating_sub(work.prepared.bytes);
            group.push(work);
            if bytes >= GROUP_BYTES {
                break;
            }
        }
        // What is left of a full group need not wait for another.
        self.deferred = 0;
        group
    }
}

#[cfg(test)]
mod tests;
