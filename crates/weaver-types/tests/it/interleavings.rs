//! Every interleaving of the two ends of a ticket, by model checking: the same source with the
//! locks of the model.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Wake, Waker};

use loom::sync::{Condvar, Mutex};
use loom::thread;
use weaver_types::ledger::{CommitReceipt, LedgerError};

#[path = "../../src/ledger/ticket.rs"]
#[expect(dead_code, unreachable_pub, reason = "the model looks at a part of it")]
mod ticket;

mod sync {
    pub(super) use loom::sync::{Arc, Condvar, Mutex};
}

use ticket::CommitTicket;

fn full() -> Result<CommitReceipt, LedgerError> {
    Err(LedgerError::Failed("full".to_owned()))
}

#[test]
fn whoever_waits_is_woken_with_the_result() {
    loom::model(|| {
        let (ticket, completer) = CommitTicket::pair();
        let waiter = thread::spawn(move || ticket.wait());
        completer.complete(full());
        assert_eq!(waiter.join().unwrap(), full());
    });
}

#[test]
fn whoever_waits_is_woken_when_the_other_end_is_dropped() {
    loom::model(|| {
        let (ticket, completer) = CommitTicket::pair();
        let waiter = thread::spawn(move || ticket.wait());
        drop(completer);
        assert_eq!(waiter.join().unwrap(), Err(LedgerError::Closed));
    });
}

struct Bell {
    rung: Mutex<bool>,
    heard: Condvar,
}

impl Bell {
    fn wait(&self) {
        let mut rung = self.rung.lock().unwrap();
        while !*rung {
            rung = self.heard.wait(rung).unwrap();
        }
        *rung = false;
    }
}

impl Wake for Bell {
    fn wake(self: std::sync::Arc<Self>) {
        *self.rung.lock().unwrap() = true;
        self.heard.notify_one();
    }
}

#[test]
fn a_future_that_is_polled_at_any_time_is_woken_with_the_result() {
    loom::model(|| {
        let (ticket, completer) = CommitTicket::pair();
        let worker = thread::spawn(move || completer.complete(full()));
        let bell = Bell { rung: Mutex::new(false), heard: Condvar::new() };
        let bell = std::sync::Arc::new(bell);
        let waker = Waker::from(std::sync::Arc::clone(&bell));
        let mut ticket = pin!(ticket);
        let result = loop {
            match ticket.as_mut().poll(&mut Context::from_waker(&waker)) {
                Poll::Ready(result) => break result,
                Poll::Pending => bell.wait(),
            }
        };
        assert_eq!(result, full());
        worker.join().unwrap();
    });
}
