//! Rules for what may never be pruned.

use std::collections::BTreeSet;

use serde_json::Value;
use weaver_types::canonical::{self, Profile};
use weaver_types::ledger::{Batch, LedgerError, Namespace, RecordKey};
use weaver_types::{EventKind, Timestamp};

use crate::entry::EventHeader;
use crate::log::EventRow;
use crate::prepare::PreparedBatch;

/// The minimum age of an intent whose payload may be pruned, in microseconds: rate limits of the
/// policy count the calls of the last hour in the log.
pub const INTENT_AGE: i64 = 3_600_000_000;

/// Whether payloads of this kind are never pruned: they record what was pruned, what that had
/// changed in a run, which keys sign, and which documents were in force.
#[must_use]
pub fn is_never_pruned(kind: EventKind) -> bool {
    matches!(
        kind,
        EventKind::Pruned | EventKind::RunRestated | EventKind::LogKey | EventKind::PolicyLoaded
    )
}

/// What the rules need to read from a store.
pub(crate) trait PruningView {
    /// The event with this sequence number.
    fn event(&mut self, seq: u64) -> Result<Option<EventRow>, LedgerError>;

    /// Whether a record of this id exists for any tenant.
    fn has_record(&mut self, namespace: Namespace, id: &str) -> Result<bool, LedgerError>;
}

/// The latest time in the log right after a batch.
pub(crate) fn time_after(latest_time: Timestamp, batch: &Batch) -> Timestamp {
    batch.events.iter().map(|event| event.at).fold(latest_time, Timestamp::max)
}

/// Refuses a batch that prunes what must be kept. `size` is the size of the log before the batch,
/// `now` its time after the batch. An intent counts against rate limits for an hour, and an open
/// call or approval needs the event that it came from, so their payloads stay until then.
pub(crate) fn check(
    PreparedBatch { batch, prune, .. }: &PreparedBatch,
    size: u64,
    now: Timestamp,
    store: &mut dyn PruningView,
) -> Result<(), LedgerError> {
    let written_records = written_records(batch);
    for seq in prune.iter().copied() {
        if seq >= size {
            return refuse_pruning(seq, "there is no such event yet");
        }
        let row = store.event(seq)?.ok_or_else(|| {
            LedgerError::Damaged(format!("event {seq} is missing although the log goes on"))
        })?;
        let header = EventHeader::parse(&row.event.header)
            .map_err(|error| LedgerError::Damaged(format!("event {seq}: {error}")))?;
        let (Some(payload), Some(_)) = (&row.event.payload, &row.event.salt) else {
            return refuse_pruning(seq, "it is gone already");
        };
        if is_never_pruned(header.kind) {
            return refuse_pruning(
                seq,
                &format!("events of the kind {} are never pruned", header.kind),
            );
        }
        if header.kind == EventKind::Intent
            && now.micros().saturating_sub(header.at.micros()) < INTENT_AGE
        {
            return refuse_pruning(seq, "it is an intent of the last hour, which limits count");
        }
        let payload = canonical::parse(payload, Profile::Record)
            .map_err(|_| LedgerError::Damaged(format!("the payload of event {seq} is not JSON")))?;
        for (namespace, id) in protecting_records(&header, &payload) {
            if written_records.contains(&(namespace, id)) || store.has_record(namespace, id)? {
                return refuse_pruning(
                    seq,
                    &format!("the record {namespace}/{} stands", id.escape_debug()),
                );
            }
        }
    }
    Ok(())
}

/// The records that protect an event from pruning: its open call, and the approval request and
/// standing approval that it refers to.
pub(crate) fn protecting_records<'v>(
    header: &'v EventHeader,
    payload: &'v Value,
) -> Vec<(Namespace, &'v str)> {
    let mut records = Vec::new();
    records.extend(header.call.as_ref().map(|call| (Namespace::OpenCall, call.as_str())));
    for named_in in [Some(payload), payload.get("released_by")].into_iter().flatten() {
        for (field, namespace) in [("request", Namespace::Hold), ("standing", Namespace::Standing)]
        {
            records.extend(named_in.get(field).and_then(Value::as_str).map(|id| (namespace, id)));
        }
    }
    records
}

/// The records that the batch itself writes.
fn written_records(batch: &Batch) -> BTreeSet<(Namespace, &str)> {
    let keys = batch.puts().map(|put| &put.key).chain(batch.add.iter().map(|add| &add.key));
    if batch.prune.is_empty() {
        return BTreeSet::new();
    }
    keys.map(|RecordKey { namespace, id, .. }| (*namespace, id.as_ref())).collect()
}

fn refuse_pruning<T>(seq: u64, why: &str) -> Result<T, LedgerError> {
    Err(LedgerError::Kept { seq, why: why.to_owned() })
}
