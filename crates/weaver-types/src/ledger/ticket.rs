//! Tickets: a commit in progress, which can be awaited or blocked on.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc as StdArc;
use std::task::{Context, Poll, Waker};

use super::sync::{Arc, Condvar, Mutex};
use super::{CommitReceipt, LedgerError};

#[derive(Debug)]
struct SharedResult {
    slot: Mutex<Slot>,
    done: Condvar,
}

#[derive(Debug, Default)]
struct Slot {
    result: Option<Outcome>,
    waker: Option<Waker>,
    /// True while a thread sleeps on the condition variable. Without a sleeper the system call that
    /// wakes one is skipped.
    is_thread_waiting: bool,
}

type Outcome = Result<CommitReceipt, LedgerError>;

/// A commit in progress. Dropping the ticket does not cancel the commit.
#[derive(Debug)]
#[must_use = "a batch counts only when its ticket is done"]
pub struct CommitTicket {
    state: State,
    /// Who leads the commit; taken by the first caller that waits.
    leader: Option<StdArc<dyn CommitLeader>>,
    /// Whether this caller has let others submit their batches first.
    has_yielded: bool,
}

/// Lets a waiting caller commit the group that contains its batch, so that no other thread has to
/// be woken. This is the leader and follower scheme of group commit: the caller that finds the log
/// idle writes for all that are waiting.
pub trait CommitLeader: fmt::Debug + Send + Sync {
    /// A caller waits on this thread: commit the waiting batches, or make sure that another thread
    /// does.
    fn lead(&self);

    /// Whether a task that waits should first let other ready tasks submit their batches, so that it
    /// commits them all together. Asked once for each ticket; a thread that blocks is not asked.
    fn should_yield(&self) -> bool {
        false
    }

    /// The ticket was dropped before anybody waited: make sure that another thread commits the
    /// waiting batches.
    fn hand_over(&self);

    /// Nobody waits for the batch: commit it with the next group, or soon if no group comes.
    fn defer(&self) {
        self.hand_over();
    }
}

#[derive(Debug)]
enum State {
    /// Complete from the start; `None` once the result was taken.
    Ready(Option<Outcome>),
    Pending(Arc<SharedResult>),
}

/// The producer side of a ticket. Dropping it without [`CommitCompleter::complete`] reports
/// [`LedgerError::Closed`].
#[derive(Debug)]
pub struct CommitCompleter(Option<Arc<SharedResult>>);

impl CommitTicket {
    /// A ticket and its producer side.
    pub fn pair() -> (Self, CommitCompleter) {
        let shared =
            Arc::new(SharedResult { slot: Mutex::new(Slot::default()), done: Condvar::new() });
        (Self::in_state(State::Pending(Arc::clone(&shared))), CommitCompleter(Some(shared)))
    }

    /// A ticket that is already complete.
    pub fn ready(result: Result<CommitReceipt, LedgerError>) -> Self {
        Self::in_state(State::Ready(Some(result)))
    }

    fn in_state(state: State) -> Self {
        Self { state, leader: None, has_yielded: false }
    }

    /// Sets the leader of the commit: the first caller that waits for the ticket runs it. Until
    /// then the commit need not have started. A complete ticket needs no leader.
    pub fn with_leader(mut self, leader: StdArc<dyn CommitLeader>) -> Self {
        if matches!(self.state, State::Pending(_)) {
            self.leader = Some(leader);
        }
        self
    }

    fn lead_commit(&mut self) {
        if let Some(leader) = self.leader.take() {
            leader.lead();
        }
    }

    /// Whether the task should be polled again before it leads the commit.
    fn yields_first(&mut self) -> bool {
        let first = !std::mem::replace(&mut self.has_yielded, true);
        first && self.leader.as_ref().is_some_and(|leader| leader.should_yield())
    }

    /// Leaves the batch to the next commit, without starting one for it alone.
    /// [`CommitTicket::try_take`] returns the result later.
    pub fn defer(mut self) -> Self {
        if let Some(leader) = self.leader.take() {
            leader.defer();
        }
        self
    }

    /// Whether the commit is complete.
    pub fn is_done(&self) -> bool {
        match &self.state {
            State::Ready(_) => true,
            State::Pending(shared) => shared.slot.lock().map_or(true, |slot| slot.result.is_some()),
        }
    }

    /// The result, if the commit is complete; returned only once.
    pub fn try_take(&mut self) -> Option<Result<CommitReceipt, LedgerError>> {
        match &mut self.state {
            State::Ready(result) => result.take(),
            State::Pending(shared) => match shared.slot.lock() {
                Ok(mut slot) => slot.result.take(),
                Err(_) => Some(Err(LedgerError::Closed)),
            },
        }
    }

    /// Blocks this thread until the commit is complete.
    ///
    /// # Errors
    /// What the ledger reported.
    pub fn wait(mut self) -> Result<CommitReceipt, LedgerError> {
        self.lead_commit();
        let shared = match &mut self.state {
            State::Ready(result) => return result.take().unwrap_or(Err(LedgerError::Closed)),
            State::Pending(shared) => shared,
        };
        let mut slot = shared.slot.lock().map_err(|_| LedgerError::Closed)?;
        loop {
            if let Some(result) = slot.result.take() {
                return result;
            }
            slot.is_thread_waiting = true;
            slot = shared.done.wait(slot).map_err(|_| LedgerError::Closed)?;
        }
    }
}

impl Future for CommitTicket {
    type Output = Result<CommitReceipt, LedgerError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let ticket = self.get_mut();
        if ticket.yields_first() {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        ticket.lead_commit();
        let shared = match &mut ticket.state {
            State::Ready(result) => {
                return match result.take() {
                    Some(done) => Poll::Ready(done),
                    None => Poll::Pending,
                };
            }
            State::Pending(shared) => shared,
        };
        let Ok(mut slot) = shared.slot.lock() else {
            return Poll::Ready(Err(LedgerError::Closed));
        };
        match slot.result.take() {
            Some(result) => Poll::Ready(result),
            None => {
                slot.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

impl Drop for CommitTicket {
    fn drop(&mut self) {
        if let Some(leader) = self.leader.take() {
            leader.hand_over();
        }
    }
}

impl CommitCompleter {
    /// Completes the ticket.
    pub fn complete(mut self, result: Result<CommitReceipt, LedgerError>) {
        self.deliver(result);
    }

    fn deliver(&mut self, result: Result<CommitReceipt, LedgerError>) {
        let Some(shared) = self.0.take() else { return };
        let (waker, is_thread_waiting) = match shared.slot.lock() {
            Ok(mut slot) => {
                slot.result = Some(result);
                (slot.waker.take(), slot.is_thread_waiting)
            }
            Err(_) => (None, true),
        };
        if is_thread_waiting {
            shared.done.notify_all();
        }
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl Drop for CommitCompleter {
    fn drop(&mut self) {
        self.deliver(Err(LedgerError::Closed));
    }
}
