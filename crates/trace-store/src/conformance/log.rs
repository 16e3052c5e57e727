//! Checks of the log.

use weaver_types::digest::Digest;
use weaver_types::ledger::{Batch, Durability, Ledger, StoredEvent};
use weaver_types::{CallId, RunId};

use super::support::{CheckOutcome, Finding, batch, commit, ensure, event, event_at, put};
use crate::entry::{EventHeader, commitment};
use crate::merkle::{Frontier, empty_root, leaf_hash};

pub(super) fn empty(ledger: &dyn Ledger) -> CheckOutcome {
    let head = ledger.head()?;
    ensure(head.size == 0, "it has events")?;
    ensure(*head.root.as_bytes() == empty_root(), "its root is another")?;
    ensure(ledger.events(0, 10) == Ok(Vec::new()), "it gives events")
}

fn header(event: &StoredEvent) -> CheckOutcome<EventHeader> {
    EventHeader::parse(&event.header)
        .map_err(|error| format!("event {}: {error}", event.seq).into())
}

pub(super) fn numbered(ledger: &dyn Ledger) -> CheckOutcome {
    let mut first = event("{\"n\":0}");
    first.run = RunId::parse("run_1").ok();
    first.call = CallId::parse("call_1").ok();
    commit(ledger, batch().with_event(first).with_event(event("{\"n\":1}")))?;
    commit(ledger, batch().with_event(event("{\"n\":2}")))?;
    let events = ledger.events(0, 10)?;
    ensure(events.len() == 3, "events are missing")?;
    let mut salts = Vec::new();
    for (seq, event) in (0_u64..).zip(&events) {
        let header = header(event)?;
        ensure(event.seq == seq && header.seq == seq, "a number is wrong")?;
        ensure(header.log == ledger.head()?.log, "a header names another log")?;
        let (Some(salt), Some(payload)) = (&event.salt, &event.payload) else {
            return Err("salt or payload is missing".into());
        };
        ensure(*payload == format!("{{\"n\":{seq}}}").into_bytes(), "a payload is another")?;
        ensure(header.commit == commitment(salt, payload), "a commitment is wrong")?;
        ensure(header.run.is_some() == (seq == 0), "the run is wrong")?;
        ensure(header.call.is_some() == (seq == 0), "the call is wrong")?;
        ensure(salt.len() == 16 && !salts.contains(salt), "a salt is not fresh")?;
        salts.push(salt.clone());
    }
    Ok(())
}

pub(super) fn time(ledger: &dyn Ledger) -> CheckOutcome {
    let mut times = Vec::new();
    for micros in [50, 70, 60, -5, 80] {
        let receipt = ledger.commit(batch().with_event(event_at(micros, "{}"))).wait();
        times.push(receipt?.at.micros());
    }
    ensure(times == [50, 70, 70, 70, 80], format!("receipts say {times:?}"))?;
    for (event, at) in ledger.events(0, 10)?.iter().zip(times) {
        ensure(header(event)?.at.micros() == at, "a header says another time")?;
    }
    Ok(())
}

pub(super) fn paged(ledger: &dyn Ledger) -> CheckOutcome {
    for _ in 0..3 {
        commit(ledger, Batch { events: vec![event("{}"); 400], ..batch() })?;
    }
    let page = |from, limit| -> CheckOutcome<(usize, Option<u64>)> {
        let page = ledger.events(from, limit)?;
        Ok((page.len(), page.first().map(|event| event.seq)))
    };
    ensure(page(0, 10)? == (10, Some(0)), "the first page is wrong")?;
    ensure(page(395, 10)? == (10, Some(395)), "a middle page is wrong")?;
    ensure(page(1195, 10)? == (5, Some(1195)), "the last page is wrong")?;
    ensure(page(1200, 10)? == (0, None), "there is a page after the last")?;
    ensure(page(u64::MAX, 10)? == (0, None), "there is a page at the end of numbers")?;
    ensure(page(0, 0)? == (0, None), "a page of none has events")?;
    ensure(page(0, usize::MAX)? == (1000, Some(0)), "a page is longer than the longest")
}

pub(super) fn head(ledger: &dyn Ledger) -> CheckOutcome {
    for count in 1..=5 {
        commit(ledger, Batch { events: vec![event("{}"); count], ..batch() })?;
    }
    let mut frontier = Frontier::default();
    for event in ledger.events(0, 100)? {
        frontier.push(leaf_hash(&event.header));
    }
    let head = ledger.head()?;
    ensure(head.size == 15 && frontier.size() == 15, "the size is wrong")?;
    ensure(head.root == Digest::from_bytes(frontier.root()), "the root is wrong")
}

pub(super) fn receipt(ledger: &dyn Ledger) -> CheckOutcome {
    let first = ledger.commit(batch().with_event(event("{}"))).wait()?;
    ensure(first.first_seq == Some(0) && first.head.size() == 1, "the first is wrong")?;
    let none = ledger.commit(put("a", b"x")).wait()?;
    ensure(none.first_seq.is_none() && none.head == first.head, "one without events is wrong")?;
    ensure(none.at == first.at, "one without events has another time")?;
    let events = Batch { events: vec![event("{}"); 3], ..batch() };
    let second = ledger.commit(events).wait()?;
    ensure(second.first_seq == Some(1) && second.head.size() == 4, "the second is wrong")?;
    ensure(ledger.head() == Ok(second.head.head()), "the head is not that of the last receipt")
}

pub(super) fn durability(ledger: &dyn Ledger) -> CheckOutcome {
    let levels = [Durability::Os, Durability::Disk, Durability::Os, Durability::Disk];
    for level in levels {
        let receipt = ledger.commit(Batch::new(level).with_event(event("{}"))).wait();
        ensure(receipt?.durability >= level, "a receipt promises less than asked")?;
    }
    for (event, level) in ledger.events(0, 10)?.iter().zip(levels) {
        ensure(event.durability >= level, "an event records less than asked")?;
    }
    Ok(())
}

pub(super) fn barrier(ledger: &dyn Ledger) -> CheckOutcome {
    let barrier = || ledger.commit(Batch::new(Durability::Disk)).wait().map_err(Finding::from);
    let empty = barrier()?;
    ensure(empty.head.size() == 0 && empty.first_seq.is_none(), "one on an empty log is wrong")?;
    for count in 1..=3 {
        commit(ledger, batch().with_event(event("{}")))?;
        let (head, synced) = (ledger.head()?, ledger.synced_head()?);
        ensure(synced.size <= head.size && synced.log == head.log, "synced before it was written")?;
        let receipt = barrier()?;
        ensure(receipt.durability == Durability::Disk, "a barrier promises less than asked")?;
        ensure(receipt.head == head && head.size == count, "a barrier changed the log")?;
        ensure(
            ledger.synced_head() == Ok(receipt.head.head()),
            "what stands before it is not synced",
        )?;
    }
    let disk = Batch::new(Durability::Disk).with_event(event("{}"));
    let receipt = ledger.commit(disk).wait()?;
    ensure(ledger.synced_head() == Ok(receipt.head.head()), "a synced event does not count as one")
}
