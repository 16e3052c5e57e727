//! The rules of what may never be pruned.

use std::collections::BTreeSet;

use serde_json::Value;
use weaver_types::canonical::{self, Profile};
use weaver_types::ledger::{Batch, LedgerError, Namespace, RecordKey};
use weaver_types::{EventKind, Timestamp};

use crate::entry::Header;
use crate::log::Row;
use crate::prepare::PreparedBatch;

/// How old an intent is at least before its payload may go, in microseconds: the limits of the
/// policy count the calls of the last hour in the log.
pub const INTENT_AGE: i64 = 3_600_000_000;

/// Whether payloads of this kind are never pruned: they tell what was pruned, which keys sign, and
/// under which documents everything was decided.
#[must_use]
pub fn never(kind: EventKind) -> bool {
    matches!(kind, EventKind::Pruned | EventKind::LogKey | EventKind::PolicyLoaded)
}

/// What a store shows to the rules.
pub(crate) trait PruneStore {
    /// One event.
    fn event(&mut self, seq: u64) -> Result<Option<Row>, LedgerError>;

    /// Whether a record of this name stands, of whichever tenant.
    fn is_there(&mut self, namespace: Namespace, id: &str) -> Result<bool, LedgerError>;
}

/// The time of the log right after a batch.
pub(crate) fn time_after(highest: Timestamp, batch: &Batch) -> Timestamp {
    batch.events.iter().map(|event| event.at).fold(highest, Timestamp::max)
}

/// Refuses a batch that prunes what must stay. `size` is the log's before the batch, `now` its
/// time after it.
pub(crate) fn check(
    PreparedBatch { batch, prune, .. }: &PreparedBatch,
    size: u64,
    now: Timestamp,
    store: &mut dyn PruneStore,
) -> Result<(), LedgerError> {
    let made = made(batch);
    for seq in prune.iter().copied() {
        if seq >= size {
            return kept(seq, "there is no such event yet");
        }
        let row = store.event(seq)?.ok_or_else(|| {
            LedgerError::Damaged(format!("event {seq} is missing although the log goes on"))
        })?;
        let header = Header::parse(&row.event.header)
            .map_err(|error| LedgerError::Damaged(format!("event {seq}: {error}")))?;
        let (Some(payload), Some(_)) = (&row.event.payload, &row.event.salt) else {
            return kept(seq, "it is gone already");
        };
        if never(header.kind) {
            return kept(seq, &format!("events of the kind {} are never pruned", header.kind));
        }
        if header.kind == EventKind::Intent
            && now.micros().saturating_sub(header.at.micros()) < INTENT_AGE
        {
            return kept(seq, "it is an intent of the last hour, which limits count");
        }
        let payload = canonical::parse(payload, Profile::Record)
            .map_err(|_| LedgerError::Damaged(format!("the payload of event {seq} is no JSON")))?;
        for (namespace, id) in named(&header, &payload) {
            if made.contains(&(namespace, id)) || store.is_there(namespace, id)? {
                return kept(seq, &format!("the record {namespace}/{} stands", id.escape_debug()));
            }
        }
    }
    Ok(())
}

/// The records that keep an event: its open call, the request and the standing approval that it
/// tells of.
pub(crate) fn named<'v>(header: &'v Header, payload: &'v Value) -> Vec<(Namespace, &'v str)> {
    let mut named = Vec::new();
    named.extend(header.call.as_ref().map(|call| (Namespace::OpenCall, call.as_str())));
    for said in [Some(payload), payload.get("released_by")].into_iter().flatten() {
        for (field, namespace) in [("request", Namespace::Hold), ("standing", Namespace::Standing)]
        {
            named.extend(said.get(field).and_then(Value::as_str).map(|id| (namespace, id)));
        }
    }
    named
}

/// The records that the batch itself writes.
fn made(batch: &Batch) -> BTreeSet<(Namespace, &str)> {
    let keys = batch.puts().map(|put| &put.key).chain(batch.add.iter().map(|add| &add.key));
    if batch.prune.is_empty() {
        return BTreeSet::new();
    }
    keys.map(|RecordKey { namespace, id, .. }| (*namespace, id.as_ref())).collect()
}

fn kept<T>(seq: u64, why: &str) -> Result<T, LedgerError> {
    Err(LedgerError::Kept { seq, why: why.to_owned() })
}
