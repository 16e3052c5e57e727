//! Short ways to make batches and to say what is wrong.

use weaver_types::ledger::{
    Add, Batch, Durability, Ledger, LedgerError, Namespace, NewEvent, Put, RecordKey,
};
use weaver_types::{EventKind, Tenant, Timestamp};

/// Nothing, or what was found.
pub(super) type Found = Result<(), String>;

pub(super) fn ensure(holds: bool, what: impl Into<String>) -> Found {
    if holds { Ok(()) } else { Err(what.into()) }
}

pub(super) fn no(error: LedgerError) -> String {
    format!("refused: {error}")
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
    Batch { put: vec![Put { key: key(id), value: value.to_vec(), expires_at }], ..batch() }
}

pub(super) fn add(id: &str, delta: i64, (min, max): (i64, i64)) -> Batch {
    Batch { add: vec![Add { key: key(id), delta, min, max }], ..batch() }
}

pub(super) fn delete(id: &str) -> Batch {
    Batch { delete: vec![key(id)], ..batch() }
}

pub(super) fn commit(ledger: &dyn Ledger, batch: Batch) -> Found {
    ledger.commit(batch).wait().map(drop).map_err(no)
}

/// The version and value of a record.
pub(super) fn record(ledger: &dyn Ledger, id: &str) -> Result<Option<(u64, Vec<u8>)>, String> {
    let record = ledger.read(&key(id)).map_err(no)?;
    Ok(record.map(|record| (record.version, record.value)))
}

/// Commits a batch that must be refused, and checks that nothing of it shows.
pub(super) fn refused(
    ledger: &dyn Ledger,
    batch: Batch,
    fits: impl FnOnce(&LedgerError) -> bool,
) -> Found {
    let watched: Vec<RecordKey> = batch.puts().map(|put| put.key.clone()).collect();
    let read = |ledger: &dyn Ledger| -> Result<Vec<_>, String> {
        watched
            .iter()
            .filter(|key| key.id.len() <= 512)
            .map(|key| ledger.read(key).map_err(no))
            .collect()
    };
    let before = (ledger.head().map_err(no)?, read(ledger)?);
    match ledger.commit(batch).wait() {
        Ok(_) => return Err("a batch that must be refused was applied".to_owned()),
        Err(error) if fits(&error) && error.is_refusal() => {}
        Err(error) => return Err(format!("refused for the wrong reason: {error}")),
    }
    ensure(
        before == (ledger.head().map_err(no)?, read(ledger)?),
        "a refused batch left something behind",
    )
}
