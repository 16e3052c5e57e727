//! Tickets: the promise of a commit, to be awaited or waited for.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use super::sync::{Arc, Condvar, Mutex};
use super::{LedgerError, Receipt};

#[derive(Debug)]
struct Shared {
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
pub struct Ticket(State);

#[derive(Debug)]
enum State {
    /// Done from the start; `None` once it was taken.
    Ready(Option<Outcome>),
    Pending(Arc<Shared>),
}

/// The other end of a ticket. Dropped without [`Completer::complete`], it reports
/// [`LedgerError::Closed`].
#[derive(Debug)]
pub struct Completer(Option<Arc<Shared>>);

impl Ticket {
    /// A ticket and its other end.
    pub fn pair() -> (Self, Completer) {
        let shared = Arc::new(Shared { slot: Mutex::new(Slot::default()), done: Condvar::new() });
        (Self(State::Pending(Arc::clone(&shared))), Completer(Some(shared)))
    }

    /// A ticket that is done.
    pub fn ready(result: Result<Receipt, LedgerError>) -> Self {
        Self(State::Ready(Some(result)))
    }

    /// Blocks this thread until the commit is done.
    ///
    /// # Errors
    /// What the ledger reported.
    pub fn wait(self) -> Result<Receipt, LedgerError> {
        let shared = match self.0 {
            State::Ready(result) => return result.unwrap_or(Err(LedgerError::Closed)),
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
        let shared = match &mut self.get_mut().0 {
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
