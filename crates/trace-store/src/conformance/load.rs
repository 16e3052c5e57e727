//! Checks under load: many callers, many waiting batches, large ones.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;

use weaver_types::Tenant;
use weaver_types::ledger::{
    Batch, CommitReceipt, CommitTicket, Durability, Ledger, LedgerError, MAX_BATCH_EVENTS,
    MAX_PAGE, Namespace,
};

use super::support::{CheckOutcome, add, batch, commit, ensure, event, key, put, record, refused};

const LEVELS: [Durability; 2] = [Durability::Os, Durability::Disk];

fn numbered(n: u64, level: Durability) -> Batch {
    Batch::new(level).with_event(event(&format!("{{\"n\":{n}}}")))
}

/// The payloads of all events, by sequence number, read page by page.
fn payloads(ledger: &dyn Ledger) -> CheckOutcome<Vec<Vec<u8>>> {
    let mut all = Vec::new();
    loop {
        let page = ledger.events(all.len() as u64, 97)?;
        if page.is_empty() {
            return Ok(all);
        }
        for event in page {
            ensure(event.seq == all.len() as u64, "a number is missing or stands twice")?;
            all.push(event.payload.ok_or("a payload is missing")?);
        }
    }
}

pub(super) fn concurrent(ledger: &dyn Ledger) -> CheckOutcome {
    let (callers, each) = (16_u64, 40_u64);
    let done: Vec<Result<Vec<(u64, u64)>, LedgerError>> = std::thread::scope(|scope| {
        let callers = (0..callers).map(|caller| {
            scope.spawn(move || {
                let mut seen = Vec::new();
                for (n, level) in (caller * each..).zip(LEVELS.into_iter().cycle()).take(40) {
                    let receipt = ledger.commit(numbered(n, level)).wait()?;
                    seen.push((receipt.first_seq.unwrap_or(u64::MAX), n));
                }
                Ok(seen)
            })
        });
        let callers: Vec<_> = callers.collect();
        let gone = |_| Err(LedgerError::Failed("a caller died".to_owned()));
        callers.into_iter().map(|caller| caller.join().unwrap_or_else(gone)).collect()
    });
    let mut all = BTreeMap::new();
    for caller in done {
        let caller = caller?;
        ensure(caller.is_sorted(), "what was acknowledged first does not stand first")?;
        for (seq, n) in caller {
            ensure(all.insert(seq, n).is_none(), "two events have one number")?;
        }
    }
    let payloads = payloads(ledger)?;
    ensure(payloads.len() as u64 == callers * each, "events are missing, or too many")?;
    let told = all.values().map(|n| format!("{{\"n\":{n}}}").into_bytes());
    ensure(told.eq(payloads), "an event does not stand where its receipt says")
}

pub(super) fn overflow(ledger: &dyn Ledger) -> CheckOutcome {
    let tickets: Vec<CommitTicket> =
        (0..6_000).map(|n| ledger.commit(numbered(n, Durability::Os))).collect();
    let mut taken = Vec::new();
    for (n, ticket) in tickets.into_iter().enumerate() {
        match ticket.wait() {
            Ok(_) => taken.push(format!("{{\"n\":{n}}}").into_bytes()),
            Err(error) => ensure(error.is_refusal(), format!("too much at once: {error}"))?,
        }
    }
    ensure(payloads(ledger)? == taken, "what was refused shows, or what was taken does not")?;
    commit(ledger, numbered(0, Durability::Disk))
}

pub(super) fn order(ledger: &dyn Ledger) -> CheckOutcome {
    for round in 0..3 {
        let before: Vec<CommitTicket> =
            (0..20).map(|n| ledger.commit(numbered(n, Durability::Os))).collect();
        let last = ledger.commit(numbered(20, Durability::Disk)).wait()?;
        let synced = ledger.synced_head()?;
        let seq = last.first_seq.unwrap_or(0);
        ensure(seq == round * 21 + 20 && synced.size > seq, "what is synced is not all before it")?;
        for (n, ticket) in (round * 21..).zip(before) {
            let receipt = ticket.wait()?;
            ensure(receipt.first_seq == Some(n), "batches of one caller changed places")?;
        }
    }
    Ok(())
}

/// Batches that are committed as one group: durability is recorded only if it was reached, and it
/// equals the one in the receipt.
pub(super) fn truthful(ledger: &dyn Ledger) -> CheckOutcome {
    let tickets = (0..200).zip(LEVELS.into_iter().cycle());
    let tickets: Vec<CommitTicket> =
        tickets.map(|(n, level)| ledger.commit(numbered(n, level))).collect();
    let told: Result<Vec<CommitReceipt>, _> = tickets.into_iter().map(CommitTicket::wait).collect();
    let (told, events) = (told?, ledger.events(0, 200)?);
    let synced = ledger.synced_head()?.size;
    ensure(told.len() == events.len(), "events are missing")?;
    for (told, event) in told.iter().zip(&events) {
        ensure(told.first_seq == Some(event.seq), "a receipt names another event")?;
        ensure(
            told.durability == event.durability,
            "an event records another level than was told",
        )?;
        ensure(told.head.size() > event.seq, "the head of a receipt is before its event")?;
        let level = event.durability;
        ensure(
            level == Durability::Os || event.seq < synced,
            "an event counts as synced and is not",
        )?;
    }
    Ok(())
}

pub(super) fn large(ledger: &dyn Ledger) -> CheckOutcome {
    let records = (0..2_000).map(|n| put(&format!("r{n:04}"), b"x"));
    let events = vec![event("{}"); MAX_BATCH_EVENTS];
    let change = records.fold(Batch { events, ..batch() }, Batch::join);
    let full = |error: &LedgerError| matches!(error, LedgerError::OutOfBounds { .. });
    refused(ledger, change.clone().join(add("n", 2, 0..=1)), full)?;
    ensure(record(ledger, "r1999")?.is_none(), "a refused batch left a record")?;
    commit(ledger, change.join(add("n", 1, 0..=1)))?;
    ensure(ledger.head()?.size == MAX_BATCH_EVENTS as u64, "events are missing")?;
    let (mut seen, mut after) = (0, None);
    loop {
        let list =
            ledger.list(&Tenant::default(), Namespace::TokenUse, after.as_deref(), usize::MAX);
        let page = list?;
        ensure(page.len() <= MAX_PAGE, "a page is longer than the longest")?;
        let Some((last, _)) = page.last() else { break };
        (seen, after) = (seen + page.len(), Some(last.clone()));
    }
    ensure(seen == 2_001, format!("{seen} records are listed"))
}

pub(super) fn followed(ledger: &dyn Ledger) -> CheckOutcome {
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let done = (0..300).try_for_each(|n| commit(ledger, numbered(n, Durability::Os)));
            stop.store(true, Ordering::Release);
            done
        });
        let mut seen = 0;
        let read = loop {
            let last = stop.load(Ordering::Acquire);
            match follow(ledger, seen) {
                Ok(size) if last => break ensure(size == 300, "a reader lost events"),
                Ok(size) => seen = size,
                Err(what) => break Err(what),
            }
        };
        writer.join().unwrap_or_else(|_| Err("the writer died".into())).and(read)
    })
}

/// Reads everything from `from` on; returns the position after it.
fn follow(ledger: &dyn Ledger, from: u64) -> CheckOutcome<u64> {
    let mut seen = from;
    loop {
        let page = ledger.events(seen, 7)?;
        if page.is_empty() {
            return Ok(seen);
        }
        for event in page {
            ensure(event.seq == seen, "a page has a gap")?;
            seen += 1;
        }
        ensure(ledger.head()?.size >= seen, "an event is read before it is committed")?;
    }
}

struct ThreadWaker(Thread);

impl Wake for ThreadWaker {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

pub(super) fn awaited(ledger: &dyn Ledger) -> CheckOutcome {
    let waker = Waker::from(Arc::new(ThreadWaker(std::thread::current())));
    let mut context = Context::from_waker(&waker);
    for n in 0..20 {
        let mut ticket = pin!(ledger.commit(numbered(n, Durability::Disk)));
        let done = loop {
            match ticket.as_mut().poll(&mut context) {
                Poll::Ready(done) => break done,
                Poll::Pending => std::thread::park(),
            }
        };
        ensure(done?.first_seq == Some(n), "an awaited commit is another")?;
    }
    drop(ledger.commit(put("unheard", b"x")));
    commit(ledger, batch())?;
    ensure(ledger.read(&key("unheard"))?.is_some(), "a dropped ticket took a batch back")
}
