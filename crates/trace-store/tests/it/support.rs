//! Short ways to make ledgers and batches.

use std::sync::Arc;

use serde_json::Value;
use weaver_trace_store::MemoryLedger;
use weaver_types::canonical::{self, Profile};
use weaver_types::ledger::{Batch, Durability, Ledger, NewEvent};
use weaver_types::{CallId, EventKind, LogId, OsRandom, RunId, Timestamp};

pub(crate) fn memory() -> MemoryLedger {
    MemoryLedger::new(LogId::parse("log_test").unwrap(), Arc::new(OsRandom))
}

pub(crate) fn event(at: i64, payload: String) -> NewEvent {
    NewEvent {
        kind: EventKind::Intent,
        at: Timestamp::from_micros(at),
        run: None,
        call: None,
        payload: payload.into_bytes().into(),
    }
}

/// An event as the kernel writes it: of a kind, in a run and a call, each of which may be empty for
/// none.
pub(crate) fn told(
    kind: EventKind,
    at: i64,
    (run, call): (&str, &str),
    payload: &Value,
) -> NewEvent {
    NewEvent {
        kind,
        at: Timestamp::from_micros(at),
        run: RunId::parse(run).ok(),
        call: CallId::parse(call).ok(),
        payload: canonical::to_bytes(payload, Profile::Record).unwrap().into(),
    }
}

/// A ledger in memory that holds these events.
pub(crate) fn ledger_of(events: &[NewEvent]) -> MemoryLedger {
    let ledger = memory();
    for events in events.chunks(100) {
        let batch = Batch { events: events.to_vec(), ..Batch::new(Durability::Os) };
        ledger.commit(batch).wait().unwrap();
    }
    ledger
}

/// A batch with one event that holds its number.
pub(crate) fn numbered(n: u64, durability: Durability) -> Batch {
    Batch::new(durability).with_event(event(1_000, format!("{{\"n\":{n}}}")))
}

#[cfg(feature = "sqlite")]
pub(crate) fn key(id: &str) -> weaver_types::ledger::RecordKey {
    let namespace = weaver_types::ledger::Namespace::TokenUse;
    weaver_types::ledger::RecordKey::new(weaver_types::Tenant::default(), namespace, id)
}

/// Appends `count` events, one a batch.
pub(crate) fn fill(ledger: &dyn Ledger, count: u64) {
    for n in 0..count {
        ledger.commit(numbered(n, Durability::Os)).wait().unwrap();
    }
}

#[cfg(feature = "sqlite")]
pub(crate) fn open(path: &std::path::Path) -> weaver_trace_store::SqliteLedger {
    weaver_trace_store::SqliteLedger::open(path, weaver_trace_store::OpenOptions::default())
        .unwrap()
}
