//! Tickets: the promise of a commit, to be awaited or waited for.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc as StdArc;
use std::task::{Context, Poll, Waker};

use super::sync::{Arc, Condvar, Mutex};
use super::{LedgerError, Receipt};

#[derive(Debug)]
struct SharedSlot {
    slot: Mutex<Slot>,
    done: Condvar,
}

#[derive(Debug, Default)]
struct Slot {
    result: Option<Outcome>,
    waker: Option<Waker>,
    /// True when a thread sleeps: waking one is a call to the system, so nobody is woken in vain.
    asleep: bool,
}

type Outcome = Result<Receipt, LedgerError>;

/// A commit under way. Dropping it does not take the commit back.
#[derive(Debug)]
#[must_use = "a batch counts only when its ticket is done"]
pub struct Ticket {
    state: State,
    /// Until somebody waits for the ticket.
    leader: Option<StdArc<dyn CommitLeader>>,
}

/// Lets a caller who waits commit the group that its batch is in, so that no other thread has to be
/// woken for it, and wake the caller in turn. Leader and followers are those of group commit: the
/// caller that finds the log idle writes for all that wait.
pub trait CommitLeader: fmt::Debug + Send + Sync {
    /// A caller waits on this thread: commits what waits, or makes sure that somebody else does.
    fn lead(&self);

    /// Nobody waited for the ticket before it was dropped: makes sure that somebody else commits
    /// what waits.
    fn hand_over(&self);

    /// Nobody waits for the batch: it may be committed with whatever comes next, and is soon where
    /// nothing comes.
    fn defer(&self) {
        self.hand_over();
    }
}

#[derive(Debug)]
enum State {
    /// Done from the start; `None` once it was taken.
    Ready(Option<Outcome>),
    Pending(Arc<SharedSlot>),
}

/// The other end of a ticket. Dropped without [`Completer::complete`], it reports
/// [`LedgerError::Closed`].
#[derive(Debug)]
pub struct Completer(Option<Arc<SharedSlot>>);

impl Ticket {
    /// A ticket and its other end.
    pub fn pair() -> (Self, Completer) {
        let shared =
            Arc::new(SharedSlot { slot: Mutex::new(Slot::default()), done: Condvar::new() });
        (Self::in_state(State::Pending(Arc::clone(&shared))), Completer(Some(shared)))
    }

    /// A ticket that is done.
    pub fn ready(result: Result<Receipt, LedgerError>) -> Self {
        Self::in_state(State::Ready(Some(result)))
    }

    fn in_state(state: State) -> Self {
        Self { state, leader: None }
    }

    /// The same ticket; whoever waits for it first leads the commit. Until then nobody has to have
    /// begun with it. A ticket that is done needs no leader.
    pub fn led_by(mut self, leader: StdArc<dyn CommitLeader>) -> Self {
        if matches!(self.state, State::Pending(_)) {
            self.leader = Some(leader);
        }
        self
    }

    fn lead(&mut self) {
        if let Some(leader) = self.leader.take() {
            leader.lead();
        }
    }

    /// Leaves the batch to the next commit: nobody begins one for it alone. What comes of it is
    /// asked for by [`Ticket::try_take`].
    pub fn defer(mut self) -> Self {
        if let Some(leader) = self.leader.take() {
            leader.defer();
        }
        self
    }

    /// Whether the commit is done.
    pub fn is_done(&self) -> bool {
        match &self.state {
            State::Ready(_) => true,
            State::Pending(shared) => shared.slot.lock().map_or(true, |slot| slot.result.is_some()),
        }
    }

    /// What came of the commit, where it is done; given once.
    pub fn try_take(&mut self) -> Option<Result<Receipt, LedgerError>> {
        match &mut self.state {
            State::Ready(result) => result.take(),
            State::Pending(shared) => match shared.slot.lock() {
                Ok(mut slot) => slot.result.take(),
                Err(_) => Some(Err(LedgerError::Closed)),
            },
        }
    }

    /// Blocks this thread until the commit is done.
    ///
    /// # Errors
    /// What the ledger reported.
    pub fn wait(mut self) -> Result<Receipt, LedgerError> {
        self.lead();
        let shared = match &mut self.state {
            State::Ready(result) => return result.take().unwrap_or(Err(LedgerError::Closed)),
            State::Pending(shared) => shared,
        };
        let mut slot = shared.slot.lock().map_err(|_| LedgerError::Closed)?;
        loop {
            if let Some(result) = slot.result.take() {
                return result;
            }
            slot.asleep = true;
            slot = shared.done.wait(slot).map_err(|_| LedgerError::Closed)?;
        }
    }
}

impl Future for Ticket {
    type Output = Result<Receipt, LedgerError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let ticket = self.get_mut();
        ticket.lead();
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

impl Drop for Ticket {
    fn drop(&mut self) {
        if let Some(leader) = self.leader.take() {
            leader.hand_over();
        }
    }
}

impl Completer {
    /// Ends the ticket.
    pub fn complete(mut self, result: Result<Receipt, LedgerError>) {
        self.settle(result);
    }

    fn settle(&mut self, result: Result<Receipt, LedgerError>) {
        let Some(shared) = self.0.take() else { return };
        let (waker, asleep) = match shared.slot.lock() {
            Ok(mut slot) => {
                slot.result = Some(result);
                (slot.waker.take(), slot.asleep)
            }
            Err(_) => (None, true),
        };
        if asleep {
            shared.done.notify_all();
        }
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl Drop for Completer {
    fn drop(&mut self) {
        self.settle(Err(LedgerError::Closed));
    }
}
