//! Tickets, with real threads.

use std::future::Future;
use std::task::{Context, Poll, Waker};

use weaver_types::ledger::{LedgerError, Ticket};

#[test]
fn a_dropped_completer_closes_its_ticket() {
    let (ticket, completer) = Ticket::pair();
    drop(completer);
    assert_eq!(ticket.wait(), Err(LedgerError::Closed));
}

#[test]
fn a_ticket_that_is_done_gives_its_result() {
    let full = || Err(LedgerError::Failed("full".to_owned()));
    assert_eq!(Ticket::ready(full()).wait(), full());
    let mut ticket = std::pin::pin!(Ticket::ready(full()));
    let mut context = Context::from_waker(Waker::noop());
    assert_eq!(ticket.as_mut().poll(&mut context), Poll::Ready(full()));
    assert_eq!(ticket.as_mut().poll(&mut context), Poll::Pending);
}

#[test]
fn a_ticket_wakes_a_waiting_thread() {
    let (ticket, completer) = Ticket::pair();
    let waiter = std::thread::spawn(move || ticket.wait());
    completer.complete(Err(LedgerError::Failed("full".to_owned())));
    assert_eq!(waiter.join().unwrap(), Err(LedgerError::Failed("full".to_owned())));
}
