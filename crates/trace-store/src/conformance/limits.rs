//! Checks of limits.

use weaver_types::ledger::{Batch, Ledger, LedgerError, MAX_BATCH_EVENTS, MAX_PAYLOAD, NewEvent};

use super::support::{
    self, CheckOutcome, add, batch, commit, delete, ensure, event, event_at, key, put, record,
};
use crate::limits::{MAX_BATCH_RECORDS, MAX_KEY, MAX_VALUE};

/// A canonical payload of `size` bytes.
fn sized(size: usize) -> NewEvent {
    event(&format!("\"{}\"", "x".repeat(size.saturating_sub(2))))
}

pub(super) fn refused(ledger: &dyn Ledger) -> CheckOutcome {
    oversize().into_iter().try_for_each(|(name, bad)| refused_one(ledger, name, bad))
}

fn oversize() -> Vec<(&'static str, Batch)> {
    let long = "k".repeat(MAX_KEY + 1);
    let many = (0..=MAX_BATCH_RECORDS).map(|n| put(&n.to_string(), b"x"));
    let made = |id: &str, value: Vec<u8>| batch().create(key(id), value, None);
    let half = (0..=MAX_BATCH_RECORDS / 2).map(|n| made(&n.to_string(), b"x".to_vec()));
    vec![
        ("a long payload", batch().with_event(sized(MAX_PAYLOAD + 1))),
        ("many events", Batch { events: vec![event("{}"); MAX_BATCH_EVENTS + 1], ..batch() }),
        ("a long key", put(&long, b"x")),
        ("a long key to count", add(&long, 1, 0..=1)),
        ("a long key to remove", delete(&long)),
        ("a large value", put("large", &vec![0; MAX_VALUE + 1])),
        ("many records", many.fold(batch(), Batch::join)),
        ("a long key to make", made(&long, b"x".to_vec())),
        ("a large value to make", made("large", vec![0; MAX_VALUE + 1])),
        ("many records to make, each with its guard", half.fold(batch(), Batch::join)),
        ("a time beyond 2^53", batch().with_event(event_at((1 << 53) + 1, "{}"))),
        ("the end of time", batch().with_event(event_at(i64::MAX, "{}"))),
        ("the beginning of time", batch().with_event(event_at(i64::MIN, "{}"))),
    ]
}

fn refused_one(ledger: &dyn Ledger, name: &str, bad: Batch) -> CheckOutcome {
    let change = put("beside", b"x").with_event(event("{}")).join(bad);
    support::refused(ledger, change, |error| matches!(error, LedgerError::Malformed(_)))
        .map_err(|what| format!("{name}: {what}").into())
}

pub(super) fn taken(ledger: &dyn Ledger) -> CheckOutcome {
    commit(ledger, batch().with_event(sized(MAX_PAYLOAD)))?;
    commit(ledger, Batch { events: vec![event("{}"); MAX_BATCH_EVENTS], ..batch() })?;
    commit(ledger, put(&"k".repeat(MAX_KEY), &vec![0; MAX_VALUE]))?;
    commit(ledger, batch())?;
    commit(ledger, batch().with_event(event_at(1 << 53, "{}")))?;
    ensure(ledger.head()?.size == MAX_BATCH_EVENTS as u64 + 2, "events are missing")
}

pub(super) fn canonical(ledger: &dyn Ledger) -> CheckOutcome {
    for bad in [
        "", "{", "{ }", "{}\n", "{\"b\":1,\"a\":2}", "{\"a\":1,\"a\":1}", "1.5", "1e3",
        "\"\\u0061\"", "9007199254740993", "{} {}", "\u{feff}{}",
    ] {
        refused_one(ledger, bad, batch().with_event(event(bad)))?;
    }
    let mut bytes = event("{}");
    bytes.payload = vec![b'"', 0xff, b'"'].into();
    refused_one(ledger, "bytes that are not text", batch().with_event(bytes))?;
    for good in ["{}", "null", "[1,-2,\"x\"]", "{\"a\":2,\"b\":1}", "\"\u{e9}\""] {
        commit(ledger, batch().with_event(event(good)))?;
    }
    ensure(record(ledger, "beside")?.is_none(), "a refused batch left a record")
}
