//! Delivers results to the callers of a committed group.
//!
//! Waking a caller takes about as long as writing its event, so for a large group a second thread
//! wakes the callers while the writer takes the next group. A small group is answered at once,
//! because handing it over would take longer. So is a group that a caller committed: it waits for
//! its own result, and most others of the group were never asleep.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use weaver_types::ledger::{CommitCompleter, CommitReceipt, LedgerError};

/// The largest group that the writer answers itself.
const MAX_INLINE_ANSWERS: usize = 4;
/// The most groups that may wait for delivery; beyond that, the writer waits.
const MAX_QUEUED_GROUPS: usize = 4;

/// Which thread committed a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CommitThread {
    /// The writer's own.
    Writer,
    /// A caller's.
    Caller,
}

/// A caller and its result.
pub(super) type CommitAnswer = (CommitCompleter, Result<CommitReceipt, LedgerError>);

/// Delivers results to callers. On drop, it first delivers everything it was given.
#[derive(Debug)]
pub(super) struct CommitAnswers {
    groups: Option<SyncSender<Vec<CommitAnswer>>>,
    /// Groups that were handed over and are not delivered yet.
    undelivered: Arc<AtomicUsize>,
    thread: Option<JoinHandle<()>>,
}

impl CommitAnswers {
    /// Starts the thread.
    pub(super) fn start() -> std::io::Result<Self> {
        let (groups, received) = sync_channel(MAX_QUEUED_GROUPS);
        let undelivered = Arc::new(AtomicUsize::new(0));
        let left = Arc::clone(&undelivered);
        let thread = std::thread::Builder::new()
            .name("weaver-answers".to_owned())
            .spawn(move || run(&received, &left))?;
        Ok(Self { groups: Some(groups), undelivered, thread: Some(thread) })
    }

    /// Delivers the results of a group, after those of all groups before it.
    pub(super) fn deliver(&self, group: Vec<CommitAnswer>, thread: CommitThread) {
        let is_inline = thread == CommitThread::Caller || group.len() <= MAX_INLINE_ANSWERS;
        if is_inline && self.undelivered.load(Ordering::Acquire) == 0 {
            return complete_all(group);
        }
        self.undelivered.fetch_add(1, Ordering::AcqRel);
        let group = match &self.groups {
            Some(groups) => groups.send(group).map_err(|unsent| unsent.0).err(),
            None => Some(group),
        };
        // The thread is gone: a waker that it called has panicked.
        group.into_iter().for_each(complete_all);
    }
}

fn run(groups: &Receiver<Vec<CommitAnswer>>, left: &AtomicUsize) {
    while let Ok(group) = groups.recv() {
        complete_all(group);
        left.fetch_sub(1, Ordering::AcqRel);
    }
}

fn complete_all(group: Vec<CommitAnswer>) {
    for (completer, result) in group {
        completer.complete(result);
    }
}

impl Drop for CommitAnswers {
    fn drop(&mut self) {
        self.groups = None;
        if let Some(thread) = self.thread.take() {
            // If the thread panicked, it dropped its answers, which reports the ledger as closed.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use weaver_types::ledger::CommitTicket;

    use super::*;

    fn group(size: usize) -> (Vec<CommitTicket>, Vec<CommitAnswer>) {
        let pairs = (0..size).map(|_| CommitTicket::pair());
        let told = || Err(LedgerError::Full("told".to_owned()));
        pairs.map(|(ticket, completer)| (ticket, (completer, told()))).unzip()
    }

    #[test]
    fn everybody_is_told_what_was_given_before_the_end() {
        let answers = CommitAnswers::start().unwrap();
        let mut waiting = Vec::new();
        for size in [1, MAX_INLINE_ANSWERS, MAX_INLINE_ANSWERS + 1, 200, 0, 2, 64] {
            let (tickets, group) = group(size);
            waiting.extend(tickets);
            answers.deliver(group, CommitThread::Writer);
        }
        drop(answers);
        for ticket in waiting {
            assert!(matches!(ticket.wait(), Err(LedgerError::Full(_))));
        }
    }

    #[test]
    fn a_thread_that_died_leaves_nobody_waiting() {
        struct Bad;
        impl std::task::Wake for Bad {
            fn wake(self: Arc<Self>) {
                panic!("a waker of the host panics");
            }
        }
        let answers = CommitAnswers::start().unwrap();
        let (mut tickets, first) = group(MAX_INLINE_ANSWERS + 1);
        let waker = std::task::Waker::from(Arc::new(Bad));
        let mut context = std::task::Context::from_waker(&waker);
        let polled = std::pin::Pin::new(&mut tickets[0]).poll(&mut context);
        assert!(polled.is_pending());
        answers.deliver(first, CommitThread::Writer);
        for ticket in tickets.drain(1..) {
            assert!(ticket.wait().is_err());
        }
        let (later, second) = group(MAX_INLINE_ANSWERS + 1);
        answers.deliver(second, CommitThread::Writer);
        for ticket in later {
            assert!(ticket.wait().is_err());
        }
    }
}
