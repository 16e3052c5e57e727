//! What is found in a log, its receipts and its barriers.

use super::*;

#[test]
fn a_log_that_is_not_empty_or_has_another_root_is_found() {
    found([
        (log::empty, Faulty { head: |head| head.size = 1, ..honest() }, "it has events"),
        (
            log::empty,
            Faulty { head: |head| *head = other_root(head), ..honest() },
            "its root is another",
        ),
        (log::paged, with_events(|_, events| drop(events.pop())), "the first page is wrong"),
        (log::head, Faulty { head: |head| head.size = 14, ..honest() }, "the size is wrong"),
        (log::head, with_events(|_, events| drop(events.pop())), "the size is wrong"),
        (
            log::head,
            Faulty { head: |head| *head = other_root(head), ..honest() },
            "the root is wrong",
        ),
    ]);
}

/// Fills every buffer alike.
struct Constant;

impl Random for Constant {
    fn fill(&self, buffer: &mut [u8]) -> Result<(), RandomError> {
        buffer.fill(7);
        Ok(())
    }
}

#[test]
fn an_event_with_a_wrong_number_header_or_salt_is_found() {
    let constant = MemoryLedger::new(log(), Arc::new(Constant));
    found([
        (log::numbered, with_events(|_, events| drop(events.pop())), "events are missing"),
        (log::numbered, with_events(|_, events| events[1].seq = 7), "a number is wrong"),
        (
            log::numbered,
            with_events(|_, events| events[1].header = events[2].header.clone()),
            "a number is wrong",
        ),
        (
            log::numbered,
            Faulty { head: |head| head.log = LogId::parse("log_2").unwrap(), ..honest() },
            "a header names another log",
        ),
        (
            log::numbered,
            with_events(|_, events| events[1].salt = None),
            "salt or payload is missing",
        ),
        (
            log::numbered,
            with_events(|_, events| events[1].payload = Some(b"{}".to_vec())),
            "a payload is another",
        ),
        (
            log::numbered,
            with_events(|_, events| events[1].salt = Some(vec![0; 16])),
            "a commitment is wrong",
        ),
        (
            log::numbered,
            with_commit(|ledger, mut batch| {
                batch.events.iter_mut().for_each(|event| event.run = None);
                right(ledger, batch)
            }),
            "the run is wrong",
        ),
        (
            log::numbered,
            with_commit(|ledger, mut batch| {
                batch.events.iter_mut().for_each(|event| event.call = None);
                right(ledger, batch)
            }),
            "the call is wrong",
        ),
        (log::numbered, Faulty { inner: constant, ..honest() }, "a salt is not fresh"),
    ]);
}

#[test]
fn a_time_that_goes_back_is_found_in_receipts_and_in_headers() {
    found([
        (log::time, told!(|batch, receipt| receipt.at = batch.events[0].at), "receipts say"),
        (
            log::time,
            with_events(|_, events| events[1].header = events[0].header.clone()),
            "a header says another time",
        ),
    ]);
}

#[test]
fn a_receipt_that_tells_something_else_is_found() {
    let many = told!(|batch, receipt| {
        if batch.events.len() == 3 {
            receipt.first_seq = Some(2);
        }
    });
    let ahead = told!(|batch, receipt| {
        if batch.events.len() == 3 {
            receipt.head = TreeHead { size: 5, ..receipt.head.head() }.into();
        }
    });
    let eventless = told!(|batch, receipt| {
        if batch.events.is_empty() {
            receipt.first_seq = Some(0);
        }
    });
    let rooted = told!(|batch, receipt| {
        if batch.events.is_empty() {
            receipt.head = other_root(&receipt.head.head()).into();
        }
    });
    let later = told!(|batch, receipt| {
        if batch.events.is_empty() {
            receipt.at = Timestamp::from_micros(9);
        }
    });
    found([
        (log::receipt, told!(|batch, receipt| receipt.first_seq = None), "the first is wrong"),
        (
            log::receipt,
            told!(
                |batch, receipt| receipt.head = TreeHead { size: 0, ..receipt.head.head() }.into()
            ),
            "the first is wrong",
        ),
        (log::receipt, eventless, "one without events is wrong"),
        (log::receipt, rooted, "one without events is wrong"),
        (log::receipt, later, "one without events has another time"),
        (log::receipt, many, "the second is wrong"),
        (log::receipt, ahead, "the second is wrong"),
        (
            log::receipt,
            Faulty { head: |head| *head = other_root(head), ..honest() },
            "the head is not that of the last receipt",
        ),
        (
            log::durability,
            told!(|batch, receipt| receipt.durability = Durability::Os),
            "a receipt promises less than asked",
        ),
        (
            log::durability,
            with_events(|_, events| events[1].durability = Durability::Os),
            "an event records less than asked",
        ),
    ]);
}

#[test]
fn a_barrier_that_syncs_too_little_or_changes_the_log_is_found() {
    let numbered = told!(|batch, receipt| {
        if batch.events.is_empty() {
            receipt.first_seq = Some(0);
        }
    });
    let rooted = told!(|batch, receipt| {
        if batch.events.is_empty() && receipt.head.size() > 0 {
            receipt.head = other_root(&receipt.head.head()).into();
        }
    });
    let doubled = with_commit(|ledger, batch| {
        if batch.durability == Durability::Os {
            right(ledger, batch.clone())?;
        }
        right(ledger, batch)
    });
    let filled = told!(|batch, receipt| {
        if batch.events.is_empty() && receipt.head.size() == 0 {
            receipt.head = TreeHead { size: 1, ..receipt.head.head() }.into();
        }
    });
    let last = |head: &mut TreeHead| {
        if head.size == 4 {
            head.size = 3;
        }
    };
    found([
        (log::barrier, filled, "one on an empty log is wrong"),
        (log::barrier, numbered, "one on an empty log is wrong"),
        (
            log::barrier,
            Faulty { synced: |head| head.size += 2, ..honest() },
            "synced before it was written",
        ),
        (
            log::barrier,
            Faulty { synced: |head| head.log = LogId::parse("log_2").unwrap(), ..honest() },
            "synced before it was written",
        ),
        (
            log::barrier,
            told!(|batch, receipt| receipt.durability = Durability::Os),
            "a barrier promises less than asked",
        ),
        (log::barrier, rooted, "a barrier changed the log"),
        (log::barrier, doubled, "a barrier changed the log"),
        (
            log::barrier,
            Faulty { synced: |head| head.size = 0, ..honest() },
            "what stands before it is not synced",
        ),
        (log::barrier, Faulty { synced: last, ..honest() }, "a synced event does not count as one"),
    ]);
}
