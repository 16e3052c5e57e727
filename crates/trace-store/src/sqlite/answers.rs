//! The answers to a group that was committed.
//!
//! Waking a caller takes about as long as writing its event. So a second thread wakes the callers of
//! a large group while the writer takes the next one. A small group is answered at once: handing it
//! over would take longer.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use weaver_types::ledger::{Completer, LedgerError, Receipt};

/// Answers of which the writer gives all itself.
const FEW: usize = 4;
/// Groups that may wait to be answered; then the writer waits too.
const AHEAD: usize = 4;

/// A caller, and what it is told.
pub(super) type CommitAnswer = (Completer, Result<Receipt, LedgerError>);

/// Tells the callers. Dropped, it first tells all that it was given.
#[derive(Debug)]
pub(super) struct Answers {
    groups: Option<SyncSender<Vec<CommitAnswer>>>,
    /// Groups that were handed over and are not told yet.
    under_way: Arc<AtomicUsize>,
    thread: Option<JoinHandle<()>>,
}

impl Answers {
    /// Starts the thread.
    pub(super) fn start() -> std::io::Result<Self> {
        let (groups, taken) = sync_channel(AHEAD);
        let under_way = Arc::new(AtomicUsize::new(0));
        let left = Arc::clone(&under_way);
        let thread = std::thread::Builder::new()
            .name("weaver-answers".to_owned())
            .spawn(move || run(&taken, &left))?;
        Ok(Self { groups: Some(groups), under_way, thread: Some(thread) })
    }

    /// Tells a group, after all groups before it.
    pub(super) fn give(&self, group: Vec<CommitAnswer>) {
        if group.len() <= FEW && self.under_way.load(Ordering::Acquire) == 0 {
            return tell(group);
        }
        self.under_way.fetch_add(1, Ordering::AcqRel);
        let group = match &self.groups {
            Some(groups) => groups.send(group).map_err(|unsent| unsent.0).err(),
            None => Some(group),
        };
        // Whoever would have told it died in the code of one that it woke.
        group.into_iter().for_each(tell);
    }
}

fn run(groups: &Receiver<Vec<CommitAnswer>>, left: &AtomicUsize) {
    while let Ok(group) = groups.recv() {
        tell(group);
        left.fetch_sub(1, Ordering::AcqRel);
    }
}

fn tell(group: Vec<CommitAnswer>) {
    for (completer, result) in group {
        completer.complete(result);
    }
}

impl Drop for Answers {
    fn drop(&mut self) {
        self.groups = None;
        if let Some(thread) = self.thread.take() {
            // One that panicked has dropped what it was to tell, which reports the ledger as closed.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use weaver_types::ledger::Ticket;

    use super::*;

    fn group(size: usize) -> (Vec<Ticket>, Vec<CommitAnswer>) {
        let pairs = (0..size).map(|_| Ticket::pair());
        let told = || Err(LedgerError::Full("told".to_owned()));
        pairs.map(|(ticket, completer)| (ticket, (completer, told()))).unzip()
    }

    #[test]
    fn everybody_is_told_what_was_given_before_the_end() {
        let answers = Answers::start().unwrap();
        let mut waiting = Vec::new();
        for size in [1, FEW, FEW + 1, 200, 0, 2, 64] {
            let (tickets, group) = group(size);
            waiting.extend(tickets);
            answers.give(group);
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
        let answers = Answers::start().unwrap();
        let (mut tickets, first) = group(FEW + 1);
        let waker = std::task::Waker::from(Arc::new(Bad));
        let mut context = std::task::Context::from_waker(&waker);
        let polled = std::pin::Pin::new(&mut tickets[0]).poll(&mut context);
        assert!(polled.is_pending());
        answers.give(first);
        for ticket in tickets.drain(1..) {
            assert!(ticket.wait().is_err());
        }
        let (later, second) = group(FEW + 1);
        answers.give(second);
        for ticket in later {
            assert!(ticket.wait().is_err());
        }
    }
}
