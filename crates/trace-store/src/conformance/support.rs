//! Helpers to build batches and report findings.

use std::ops::RangeInclusive;

use weaver_types::ledger::{
    Batch, CounterChange, Durability, Ledger, LedgerError, Namespace, NewEvent, RecordKey,
    RecordWrite,
};
use weaver_types::{EventKind, Tenant, Timestamp};

use super::OpenError;

/// A defect of a backend, as one sentence.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct Finding(String);

/// The result of a check.
pub(super) type CheckOutcome<T = ()> = Result<T, Finding>;

impl From<String> for Finding {
    fn from(what: String) -> Self {
        Self(what)
    }
}

impl From<&str> for Finding {
    fn from(what: &str) -> Self {
        Self(what.to_owned())
    }
}

impl From<LedgerError> for Finding {
    fn from(error: LedgerError) -> Self {
        Self(format!("refused: {error}"))
    }
}

impl From<OpenError> for Finding {
    fn from(error: OpenError) -> Self {
        Self(error.to_string())
    }
}

pub(super) fn ensure(holds: bool, what: impl Into<Finding>) -> CheckOutcome {
    if holds { Ok(()) } else { Err(what.into()) }
}

pub(super) fn batch() -> Batch {
    Batch::new(Durability::Os)
}

pub(super) fn key(id: &str) -> RecordKey {
    RecordKey::new(Tenant::default(), Namespace::TokenUse, id)
}

pub(super) fn event(payload: &str) -> NewEvent {
    event_at(1_000_000, payload)
}

pub(super) fn event_at(micros: i64, payload: &str) -> NewEvent {
    NewEvent {
        kind: EventKind::RunStarted,
        at: Timestamp::from_micros(micros),
        run: None,
        call: None,
        payload: payload.as_bytes().to_vec().into(),
    }
}

pub(super) fn put(id: &str, value: &[u8]) -> Batch {
    put_until(id, value, None)
}

pub(super) fn put_until(id: &str, value: &[u8], expires_at: Option<i64>) -> Batch {
    let expires_at = expires_at.map(Timestamp::from_micros);
    Batch { put: vec![RecordWrite { key: key(id), value: value.to_vec(), expires_at }], ..batch() }
}

pub(super) fn add(id: &str, delta: i64, bounds: RangeInclusive<i64>) -> Batch {
    let (min, max) = bounds.into_inner();
    Batch { add: vec![CounterChange { key: key(id), delta, min, max }], ..batch() }
}

pub(super) fn delete(id: &str) -> Batch {
    Batch { delete: vec![key(id)], ..batch() }
}

pub(super) fn commit(ledger: &dyn Ledger, batch: Batch) -> CheckOutcome {
    ledger.commit(batch).wait().map(drop).map_err(Finding::from)
}

/// The version and value of a record.
pub(super) fn record(ledger: &dyn Ledger, id: &str) -> CheckOutcome<Option<(u64, Vec<u8>)>> {
    let record = ledger.read(&key(id))?;
    Ok(record.map(|record| (record.version, record.value)))
}

/// Commits a batch that must be refused, and checks that it had no effect.
pub(super) fn refused(
    ledger: &dyn Ledger,
    batch: Batch,
    fits: impl FnOnce(&LedgerError) -> bool,
) -> CheckOutcome {
    let watched: Vec<RecordKey> = batch.puts().map(|put| put.key.clone()).collect();
    let read = |ledger: &dyn Ledger| -> Result<Vec<_>, LedgerError> {
        watched.iter().filter(|key| key.id.len() <= 512).map(|key| ledger.read(key)).collect()
    };
    let before = (ledger.head()?, read(ledger)?);
    match ledger.commit(batch).wait() {
        Ok(_) => return Err("a batch that must be refused was applied".into()),
        Err(error) if fits(&error) && error.is_refusal() => {}
        Err(error) => return Err(format!("refused for the wrong reason: {error}").into()),
    }
    ensure(before == (ledger.head()?, read(ledger)?), "a refused batch left something behind")
}
