//! Checks and computations that do not depend on the state of the ledger: limits, canonical
//! payloads, salts and commitments. They run on the caller's thread, to keep the writer short.

use std::collections::BTreeSet;
use std::sync::Arc;

use weaver_types::Timestamp;
use weaver_types::digest::Digest;
use weaver_types::ledger::{
    Batch, LedgerError, MAX_BATCH_EVENTS, MAX_PAYLOAD, NewEvent, RecordKey,
};

use crate::entry::{SALT_BYTES, commitment};
use crate::limits::{MAX_BATCH_RECORDS, MAX_KEY, MAX_VALUE};
use crate::prune;
use crate::salt::SaltPool;

/// The largest integer of a record, 2^53; it also bounds times.
const MAX_INTEGER: u64 = 1 << 53;

/// A well-formed batch, with a salt and a commitment for each event.
#[derive(Debug, Default)]
pub(crate) struct PreparedBatch {
    pub(crate) batch: Arc<Batch>,
    /// One for each event.
    pub(crate) commitments: Vec<PayloadCommitment>,
    /// The events to prune, sorted.
    pub(crate) prune: Vec<u64>,
    /// Estimate of the bytes that it will write.
    #[cfg_attr(
        not(feature = "sqlite"),
        expect(dead_code, reason = "only the queue before the SQLite writer counts bytes")
    )]
    pub(crate) bytes: usize,
}

impl PreparedBatch {
    /// The events, each with its salt and commitment.
    pub(crate) fn events(&self) -> impl ExactSizeIterator<Item = (&NewEvent, &PayloadCommitment)> {
        self.batch.events.iter().zip(&self.commitments)
    }
}

/// The salt of an event and the commitment to its payload.
#[derive(Debug)]
pub(crate) struct PayloadCommitment {
    pub(crate) salt: [u8; SALT_BYTES],
    pub(crate) commit: Digest,
}

/// Validates a batch, and draws salts and computes commitments for its events.
pub(crate) fn prepare(batch: Arc<Batch>, salts: &SaltPool) -> Result<PreparedBatch, LedgerError> {
    let bytes = check_records(&batch)? + check_events(&batch.events)?;
    let prune = prune::pruned_by_batch(&batch)?;
    let salts = salts.take(batch.events.len())?;
    let commitments = batch.events.iter().zip(salts);
    let commitments = commitments
        .map(|(event, salt)| PayloadCommitment { salt, commit: commitment(&salt, &event.payload) });
    Ok(PreparedBatch { commitments: commitments.collect(), batch, prune, bytes })
}

/// Validates the batch of a record store, which has no log and no blobs.
#[cfg(feature = "sqlite")]
pub(crate) fn prepare_records(batch: &Batch) -> Result<(), LedgerError> {
    if !batch.events.is_empty() || !batch.prune.is_empty() || !batch.blobs.is_empty() {
        return refuse(
            "a store of records has no log and no blobs; leave events, pruning and uses of blobs \
             out"
            .to_owned(),
        );
    }
    check_records(batch).map(drop)
}

fn check_records(batch: &Batch) -> Result<usize, LedgerError> {
    // A guarded write counts twice, because it includes a guard.
    let count = batch.expect.len() + 2 * batch.replace.len() + batch.add.len() + batch.put.len();
    let count = count + batch.delete.len() + batch.blobs.len();
    if count > MAX_BATCH_RECORDS {
        return refuse(format!("{count} guards and records, at most {MAX_BATCH_RECORDS}"));
    }
    let keys = batch.guards().map(|(key, _)| key).chain(batch.add.iter().map(|add| &add.key));
    let keys = keys.chain(batch.puts().map(|put| &put.key));
    let mut bytes = 0;
    keys.chain(&batch.delete).try_for_each(|key| {
        bytes += key.id.len() + 64;
        check_key(key)
    })?;
    batch.puts().try_for_each(|put| {
        if put.value.len() > MAX_VALUE {
            let (key, size) = (&put.key, put.value.len());
            return refuse(format!("record {key} holds {size} bytes, at most {MAX_VALUE}"));
        }
        bytes += put.value.len();
        Ok(())
    })?;
    check_blob_references(batch)?;
    Ok(bytes)
}

/// Refuses a blob reference of a record that the batch does not write.
fn check_blob_references(batch: &Batch) -> Result<(), LedgerError> {
    if batch.blobs.is_empty() {
        return Ok(());
    }
    let mut written: BTreeSet<&RecordKey> = batch.puts().map(|put| &put.key).collect();
    for key in &batch.delete {
        written.remove(key);
    }
    match batch.blobs.iter().find(|used| !written.contains(&used.key)) {
        Some(used) => refuse(format!("record {} names a blob and is not written", used.key)),
        None => Ok(()),
    }
}

/// Refuses a key that is too long.
pub(crate) fn check_key(key: &RecordKey) -> Result<(), LedgerError> {
    if key.id.len() > MAX_KEY {
        let (namespace, size) = (key.namespace, key.id.len());
        return refuse(format!("a key in {namespace} has {size} bytes, at most {MAX_KEY}"));
    }
    Ok(())
}

fn check_events(events: &[NewEvent]) -> Result<usize, LedgerError> {
    if events.len() > MAX_BATCH_EVENTS {
        return refuse(format!("{} events, at most {MAX_BATCH_EVENTS}", events.len()));
    }
    let mut bytes = 0;
    for (index, event) in events.iter().enumerate() {
        check_event(index, event)?;
        bytes += event.payload.len() + 400;
    }
    Ok(bytes)
}

fn check_event(index: usize, event: &NewEvent) -> Result<(), LedgerError> {
    let kind = event.kind;
    if event.payload.len() > MAX_PAYLOAD {
        let size = event.payload.len();
        return refuse(format!("event {index} ({kind}) has {size} bytes, at most {MAX_PAYLOAD}"));
    }
    if !event.payload.is_canonical() {
        return refuse(format!(
            "the payload of event {index} ({kind}) is not canonical JSON of records; write it with \
             the canonical writer"
        ));
    }
    if !is_storable_time(event.at) {
        return refuse(format!("event {index} ({kind}) is after year 2255"));
    }
    Ok(())
}

fn is_storable_time(at: Timestamp) -> bool {
    at.micros().unsigned_abs() <= MAX_INTEGER
}

fn refuse<T>(what: String) -> Result<T, LedgerError> {
    Err(LedgerError::Malformed(what))
}

#[cfg(test)]
mod tests {
    use weaver_types::ledger::{
        CounterChange, Durability, GuardedWrite, Namespace, RecordWrite, VersionGuard,
    };
    use weaver_types::{EventKind, OsRandom, Tenant};

    use super::*;

    fn key(id: &str) -> RecordKey {
        RecordKey::new(Tenant::default(), Namespace::Run, id)
    }

    fn put(id: &str, value: &[u8]) -> RecordWrite {
        RecordWrite { key: key(id), value: value.to_vec(), expires_at: None }
    }

    /// The bytes that are expected of a batch: each mention of a key takes its length and 64 more.
    #[test]
    fn a_batch_is_as_large_as_its_keys_its_values_and_its_payloads() {
        let batch = || Batch::new(Durability::Os);
        let event = |payload: &str| NewEvent {
            kind: EventKind::Late,
            at: Timestamp::default(),
            run: None,
            call: None,
            payload: payload.as_bytes().to_vec().into(),
        };
        let add = CounterChange { key: key("1234"), delta: 1, min: 0, max: 1 };
        let replace = GuardedWrite { put: put("12", b"abc"), version: None };
        for (batch, bytes) in [
            (batch(), 0),
            (Batch { put: vec![put("123", b"abcde")], ..batch() }, 67 + 5),
            (Batch { put: vec![put("123", b""), put("1", b"a")], ..batch() }, 67 + 65 + 1),
            (Batch { add: vec![add], ..batch() }, 68),
            (Batch { replace: vec![replace], ..batch() }, 66 + 66 + 3),
            (Batch { delete: vec![key("12345")], ..batch() }, 69),
            (Batch { expect: vec![VersionGuard { key: key("1"), version: None }], ..batch() }, 65),
            (batch().with_event(event("{}")), 402),
            (batch().with_event(event("{}")).with_event(event("[1,2]")), 402 + 405),
            (Batch { put: vec![put("1", b"a")], ..batch().with_event(event("7")) }, 66 + 401),
        ] {
            let salts = SaltPool::new(Arc::new(OsRandom));
            let prepared = prepare(Arc::new(batch.clone()), &salts).unwrap();
            assert_eq!(prepared.bytes, bytes, "{batch:?}");
            assert_eq!(prepared.commitments.len(), batch.events.len());
        }
    }
}
