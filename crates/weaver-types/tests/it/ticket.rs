//! Tickets, with real threads.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use weaver_types::ledger::{CommitLeader, CommitTicket, LedgerError};

#[test]
fn a_dropped_completer_closes_its_ticket() {
    let (ticket, completer) = CommitTicket::pair();
    drop(completer);
    assert_eq!(ticket.wait(), Err(LedgerError::Closed));
}

#[test]
fn a_ticket_that_is_done_gives_its_result() {
    let full = || Err(LedgerError::Failed("full".to_owned()));
    assert_eq!(CommitTicket::ready(full()).wait(), full());
    let mut ticket = std::pin::pin!(CommitTicket::ready(full()));
    let mut context = Context::from_waker(Waker::noop());
    assert_eq!(ticket.as_mut().poll(&mut context), Poll::Ready(full()));
    assert_eq!(ticket.as_mut().poll(&mut context), Poll::Pending);
}

#[test]
fn a_ticket_wakes_a_waiting_thread() {
    let (ticket, completer) = CommitTicket::pair();
    let waiter = std::thread::spawn(move || ticket.wait());
    completer.complete(Err(LedgerError::Failed("full".to_owned())));
    assert_eq!(waiter.join().unwrap(), Err(LedgerError::Failed("full".to_owned())));
}

/// Counts what it is told to do.
#[derive(Debug, Default)]
struct CountingLeader {
    led: AtomicUsize,
    handed_over: AtomicUsize,
    deferred: AtomicUsize,
}

impl CountingLeader {
    fn counts(&self) -> (usize, usize) {
        (self.led.load(Ordering::Acquire), self.handed_over.load(Ordering::Acquire))
    }
}

impl CommitLeader for CountingLeader {
    fn lead(&self) {
        self.led.fetch_add(1, Ordering::AcqRel);
    }

    fn hand_over(&self) {
        self.handed_over.fetch_add(1, Ordering::AcqRel);
    }

    fn defer(&self) {
        self.deferred.fetch_add(1, Ordering::AcqRel);
    }
}

/// Lets each task that waits yield first.
#[derive(Debug, Default)]
struct YieldingLeader(CountingLeader);

impl CommitLeader for YieldingLeader {
    fn lead(&self) {
        self.0.lead();
    }

    fn should_yield(&self) -> bool {
        true
    }

    fn hand_over(&self) {
        self.0.hand_over();
    }
}

/// Counts how often a task is woken.
#[derive(Debug, Default)]
struct CountingWaker(AtomicUsize);

impl Wake for CountingWaker {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::AcqRel);
    }
}

#[test]
fn a_task_yields_once_before_it_leads_and_a_thread_does_not() {
    let leader = Arc::new(YieldingLeader::default());
    let led = |ticket: CommitTicket| ticket.with_leader(Arc::<YieldingLeader>::clone(&leader));
    let woken = Arc::new(CountingWaker::default());
    let waker = Waker::from(Arc::clone(&woken));
    let mut context = Context::from_waker(&waker);
    let (ticket, completer) = CommitTicket::pair();
    let mut ticket = std::pin::pin!(led(ticket));
    assert!(ticket.as_mut().poll(&mut context).is_pending());
    assert_eq!((leader.0.counts(), woken.0.load(Ordering::Acquire)), ((0, 0), 1), "it yields");
    assert!(ticket.as_mut().poll(&mut context).is_pending());
    assert_eq!((leader.0.counts(), woken.0.load(Ordering::Acquire)), ((1, 0), 1), "it leads");
    drop(completer);
    assert_eq!(ticket.as_mut().poll(&mut context), Poll::Ready(Err(LedgerError::Closed)));
    let (ticket, completer) = CommitTicket::pair();
    drop(completer);
    assert_eq!(led(ticket).wait(), Err(LedgerError::Closed));
    assert_eq!(leader.0.counts(), (2, 0));
    // A task that is dropped after it yielded leaves its batch to another thread.
    let (ticket, _completer) = CommitTicket::pair();
    assert!(std::pin::pin!(led(ticket)).as_mut().poll(&mut context).is_pending());
    assert_eq!(leader.0.counts(), (2, 1));
}

#[test]
fn whoever_waits_leads_once_and_a_ticket_that_nobody_waits_for_is_handed_over() {
    let leader = Arc::new(CountingLeader::default());
    let led = |ticket: CommitTicket| ticket.with_leader(Arc::<CountingLeader>::clone(&leader));
    let (ticket, completer) = CommitTicket::pair();
    {
        let mut ticket = std::pin::pin!(led(ticket));
        let mut context = Context::from_waker(Waker::noop());
        assert!(ticket.as_mut().poll(&mut context).is_pending());
        assert!(ticket.as_mut().poll(&mut context).is_pending());
    }
    assert_eq!(leader.counts(), (1, 0), "it is led once, and was waited for");
    drop(completer);
    let (ticket, completer) = CommitTicket::pair();
    drop(completer);
    assert_eq!(led(ticket).wait(), Err(LedgerError::Closed));
    assert_eq!(leader.counts(), (2, 0));
    let (ticket, _completer) = CommitTicket::pair();
    drop(led(ticket));
    assert_eq!(leader.counts(), (2, 1));
    drop(led(CommitTicket::ready(Err(LedgerError::Closed))));
    assert_eq!(leader.counts(), (2, 1), "it is done");
}

#[test]
fn a_deferred_ticket_is_neither_led_nor_handed_over_and_tells_what_came_of_it_once() {
    let leader = Arc::new(CountingLeader::default());
    let (ticket, completer) = CommitTicket::pair();
    let mut ticket = ticket.with_leader(Arc::<CountingLeader>::clone(&leader)).defer();
    assert_eq!(leader.deferred.load(Ordering::Acquire), 1);
    assert!(!ticket.is_done() && ticket.try_take().is_none());
    completer.complete(Err(LedgerError::Failed("full".to_owned())));
    assert!(ticket.is_done());
    assert_eq!(ticket.try_take(), Some(Err(LedgerError::Failed("full".to_owned()))));
    assert!(ticket.try_take().is_none());
    drop(ticket);
    assert_eq!(leader.counts(), (0, 0));
    let mut ready = CommitTicket::ready(Err(LedgerError::Closed)).defer();
    assert!(ready.is_done());
    assert_eq!(ready.try_take(), Some(Err(LedgerError::Closed)));
}
