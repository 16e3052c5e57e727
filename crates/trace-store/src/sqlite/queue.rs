//! What waits for the writer.
//!
//! A bounded queue between many callers and one thread. The side that submits never blocks: what finds
//! no room is refused at once, since a caller that waits would hide that the disk cannot keep up.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::Duration;

use weaver_types::ledger::{BlobId, Completer, LedgerError, Ticket};

use super::fault;
use crate::limits::{MAX_QUEUE, MAX_QUEUE_BYTES};
use crate::prepare::Prepared;

/// The most batches and bytes that one commit takes.
const GROUP: usize = 512;
const GROUP_BYTES: usize = 16 * 1024 * 1024;

/// One thing to write.
#[derive(Debug)]
pub(super) struct WriteRequest {
    pub(super) prepared: Prepared,
    pub(super) blob: Option<BlobChange>,
    pub(super) completer: Completer,
}

/// A blob to write or to remove.
#[derive(Debug)]
pub(super) enum BlobChange {
    Put(BlobId, Vec<u8>),
    Remove(BlobId),
}

/// What the writer is given.
#[derive(Debug)]
pub(super) enum QueueEvent {
    /// A group to commit together.
    Group(Vec<WriteRequest>),
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
    /// True while the writer sleeps: waking it is a call to the system.
    asleep: bool,
}

impl Queue {
    /// Hands a batch to the writer.
    ///
    /// A full queue refuses the batch at once, as something that was not applied and may be tried
    /// again. Blocking here would stall the executor threads of an asynchronous host, and failing
    /// the ledger would turn a burst into an outage.
    pub(super) fn submit(&self, prepared: Prepared, blob: Option<BlobChange>) -> Ticket {
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
        let asleep = std::mem::take(&mut waiting.asleep);
        drop(waiting);
        if asleep {
            self.arrived.notify_one();
        }
        ticket
    }

    /// Waits for work, at most `patience`; takes all that one commit may hold. WriteRequest that waits
    /// when the queue is closed is still given out.
    pub(super) fn take(&self, patience: Option<Duration>) -> QueueEvent {
        let Ok(mut waiting) = self.waiting.lock() else { return QueueEvent::Closed };
        loop {
            if !waiting.work.is_empty() {
                return QueueEvent::Group(waiting.group());
            }
            if waiting.closed.is_some() {
                return QueueEvent::Closed;
            }
            waiting.asleep = true;
            waiting = match patience {
                None => match self.arrived.wait(waiting) {
                    Ok(waiting) => waiting,
                    Err(_) => return QueueEvent::Closed,
                },
                Some(patience) => match self.arrived.wait_timeout(waiting, patience) {
                    Ok((waiting, timeout)) if timeout.timed_out() && waiting.work.is_empty() => {
                        return if waiting.closed.is_some() {
                            QueueEvent::Closed
                        } else {
                            QueueEvent::Idle
                        };
                    }
                    Ok((waiting, _)) => waiting,
                    Err(_) => return QueueEvent::Closed,
                },
            };
        }
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
                waiting.bytes = 0;
                std::mem::take(&mut waiting.work)
            }
            Err(_) => return,
        };
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
        group
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prepared(bytes: usize) -> Prepared {
        Prepared { bytes, ..Prepared::default() }
    }

    #[test]
    fn a_full_queue_refuses_and_goes_on() {
        let queue = Queue::default();
        let tickets: Vec<_> = (0..MAX_QUEUE).map(|_| queue.submit(prepared(1), None)).collect();
        let refused = queue.submit(prepared(1), None).wait().unwrap_err();
        assert!(refused.is_refusal(), "{refused}");
        let QueueEvent::Group(group) = queue.take(None) else { panic!("nothing to take") };
        assert_eq!(group.len(), GROUP);
        let ticket = queue.submit(prepared(1), None);
        drop(queue);
        for ticket in tickets.into_iter().chain([ticket]).skip(GROUP) {
            assert_eq!(ticket.wait(), Err(LedgerError::Closed));
        }
    }

    #[test]
    fn bytes_are_bounded_but_one_batch_always_fits() {
        let queue = Queue::default();
        let large = queue.submit(prepared(MAX_QUEUE_BYTES + 1), None);
        assert!(queue.submit(prepared(1), None).wait().unwrap_err().is_refusal());
        assert!(matches!(queue.take(None), QueueEvent::Group(group) if group.len() == 1));
        let next = queue.submit(prepared(1), None);
        assert!(matches!(queue.take(Some(Duration::ZERO)), QueueEvent::Group(_)));
        assert!(matches!(queue.take(Some(Duration::ZERO)), QueueEvent::Idle));
        drop((large, next));
    }

    #[test]
    fn what_waits_is_given_out_after_closing_and_refused_after_failing() {
        let queue = Queue::default();
        let _written = queue.submit(prepared(1), None);
        queue.close();
        assert_eq!(queue.submit(prepared(1), None).wait(), Err(LedgerError::Closed));
        assert!(matches!(queue.take(None), QueueEvent::Group(_)));
        assert!(matches!(queue.take(None), QueueEvent::Closed));

        let queue = Queue::default();
        let waiting = queue.submit(prepared(1), None);
        queue.fail(LedgerError::Failed("full".to_owned()));
        queue.abandon();
        let failed = Err(LedgerError::Failed("full".to_owned()));
        assert_eq!(waiting.wait(), failed);
        assert_eq!(queue.submit(prepared(1), None).wait(), failed);
    }

    #[test]
    fn a_writer_that_is_gone_leaves_nobody_waiting() {
        let queue = Queue::default();
        let waiting = queue.submit(prepared(1), None);
        queue.abandon();
        assert!(matches!(waiting.wait(), Err(LedgerError::Failed(_))));
        assert!(matches!(queue.submit(prepared(1), None).wait(), Err(LedgerError::Failed(_))));
    }
}
