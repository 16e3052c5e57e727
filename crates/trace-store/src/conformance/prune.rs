//! Checks of pruning.

use weaver_types::ledger::{
    Batch, Ledger, LedgerError, MAX_BATCH_PRUNE, Namespace, NewEvent, RecordKey, RecordWrite,
    VersionGuard,
};
use weaver_types::{CallId, EventKind, Tenant, Timestamp};

use super::support::{
    CheckOutcome, batch, commit, ensure, event, event_at, key, put, record, refused,
};
use crate::merkle::{Frontier, leaf_hash};
use crate::prune::{INTENT_AGE, PruneReason, PruningNote};

/// A batch that prunes events, with the note that names them.
fn pruning(seqs: &[u64]) -> CheckOutcome<Batch> {
    Ok(Batch { prune: seqs.to_vec(), ..batch().with_event(note(seqs)?) })
}

fn note(seqs: &[u64]) -> CheckOutcome<NewEvent> {
    let note = PruningNote::new(seqs.to_vec(), PruneReason::Age, "conformance")
        .and_then(|note| note.to_bytes());
    let payload = note.map_err(|error| error.to_string())?;
    Ok(NewEvent { kind: EventKind::Pruned, payload: payload.into(), ..event("{}") })
}

fn of_kind(kind: EventKind, payload: &str) -> NewEvent {
    NewEvent { kind, ..event(payload) }
}

/// The payload of an event; an error when only one of payload and salt is there.
fn payload(ledger: &dyn Ledger, seq: u64) -> CheckOutcome<Option<Vec<u8>>> {
    let found = ledger.events(seq, 1)?.pop();
    let found = found.ok_or_else(|| format!("event {seq} is not there"))?;
    ensure(found.salt.is_some() == found.payload.is_some(), "a salt stays, or goes alone")?;
    Ok(found.payload)
}

fn is_kept(error: &LedgerError, seq: u64) -> bool {
    matches!(error, LedgerError::Kept { seq: found, .. } if *found == seq)
}

pub(super) fn removed(ledger: &dyn Ledger) -> CheckOutcome {
    for n in 0..10 {
        commit(ledger, batch().with_event(event(&format!("{{\"n\":{n}}}"))))?;
    }
    let before = ledger.events(0, 10)?;
    commit(ledger, pruning(&[7, 2, 3])?.join(put("beside", b"x")))?;
    ensure(record(ledger, "beside")?.is_some(), "the rest of the batch was not applied")?;
    let after = ledger.events(0, 20)?;
    ensure(after.len() == 11, "an event is gone, or none tells of the pruning")?;
    let mut frontier = Frontier::default();
    for (then, now) in before.iter().zip(&after) {
        let pruned = [2, 3, 7].contains(&now.seq);
        ensure(now.header == then.header, "a header has changed")?;
        ensure(now.payload.is_none() == pruned, "the wrong payload is gone")?;
        ensure(now.salt.is_none() == pruned, "the wrong salt is gone")?;
        ensure(pruned || now == then, "an event that was not named has changed")?;
    }
    after.iter().for_each(|event| frontier.push(leaf_hash(&event.header)));
    let head = ledger.head()?;
    ensure(*head.root.as_bytes() == frontier.root(), "the root is not that of the headers")?;
    commit(ledger, batch().with_event(event("{}")))?;
    commit(ledger, pruning(&[0])?)?;
    ensure(payload(ledger, 0)?.is_none(), "a second pruning did nothing")
}

pub(super) fn noted(ledger: &dyn Ledger) -> CheckOutcome {
    commit(ledger, Batch { events: vec![event("{}"); 6], ..batch() })?;
    let prune = |seqs: &[u64]| Batch { prune: seqs.to_vec(), ..batch() };
    let noting = |seqs: &[u64]| note(seqs).map(|note| batch().with_event(note));
    let mut other = note(&[1])?;
    other.payload = br#"{"ranges":[[1,1]],"v":1}"#.to_vec().into();
    for (name, bad) in [
        ("one without a note", prune(&[1])),
        ("a note without pruning", noting(&[1])?),
        ("a note of another event", prune(&[1]).join(noting(&[2])?)),
        ("a note of fewer", prune(&[1, 2]).join(noting(&[2])?)),
        ("a note of more", prune(&[1]).join(noting(&[1, 2])?)),
        ("one named twice", prune(&[1, 1]).join(noting(&[1])?)),
        ("one in two notes", prune(&[1, 1]).join(noting(&[1])?).join(noting(&[1])?)),
        ("a note of another form", prune(&[1]).with_event(other)),
    ] {
        let bad = bad.join(put("beside", b"x"));
        refused(ledger, bad, |error| matches!(error, LedgerError::Malformed(_)))
            .map_err(|what| format!("{name}: {what}"))?;
    }
    commit(ledger, prune(&[1, 4]).join(noting(&[1])?).join(noting(&[4])?))?;
    ensure(payload(ledger, 4)?.is_none() && payload(ledger, 2)?.is_some(), "two notes are wrong")
}

pub(super) fn bounded(ledger: &dyn Ledger) -> CheckOutcome {
    let most = MAX_BATCH_PRUNE as u64;
    for _ in 0..=1 {
        commit(ledger, Batch { events: vec![event("{}"); MAX_BATCH_PRUNE], ..batch() })?;
    }
    let all: Vec<u64> = (0..=most).collect();
    let halves = all.split_at(MAX_BATCH_PRUNE / 2);
    let mut many = pruning(halves.0)?.join(pruning(halves.1)?);
    refused(ledger, many.clone(), |error| matches!(error, LedgerError::Malformed(_)))?;
    many = pruning(halves.0)?;
    commit(ledger, many)?;
    ensure(payload(ledger, most / 2 - 1)?.is_none(), "what just fits is not pruned")
}

pub(super) fn kept(ledger: &dyn Ledger) -> CheckOutcome {
    commit(ledger, batch().with_event(event("{}")))?;
    commit(ledger, batch().with_event(of_kind(EventKind::PolicyLoaded, "{}")))?;
    commit(ledger, batch().with_event(of_kind(EventKind::LogKey, "{}")))?;
    commit(ledger, pruning(&[0])?)?;
    commit(ledger, batch().with_event(event("{}")))?;
    for seq in [0, 1, 2, 3, 5, 6, 7, u64::from(u32::MAX)] {
        let bad = pruning(&[seq])?.join(put("beside", b"x"));
        refused(ledger, bad, |error| is_kept(error, seq))
            .map_err(|what| format!("event {seq}: {what}"))?;
        let with = pruning(&[4, seq])?;
        refused(ledger, with, |error| is_kept(error, seq))
            .map_err(|what| format!("event {seq} beside another: {what}"))?;
    }
    ensure(payload(ledger, 4)?.is_some(), "a refused batch pruned")?;
    let guarded =
        Batch { expect: vec![VersionGuard { key: key("none"), version: Some(1) }], ..batch() };
    refused(ledger, pruning(&[4])?.join(guarded), |error| {
        matches!(error, LedgerError::Conflict { .. })
    })?;
    ensure(payload(ledger, 4)?.is_some(), "a batch with a broken guard pruned")?;
    commit(ledger, pruning(&[4])?)
}

pub(super) fn recent(ledger: &dyn Ledger) -> CheckOutcome {
    let at = 10 * INTENT_AGE;
    let intent = |at| NewEvent { kind: EventKind::Intent, ..event_at(at, "{}") };
    let by = |micros| -> CheckOutcome<Batch> {
        let mut batch = pruning(&[0])?;
        batch.events.iter_mut().for_each(|event| event.at = Timestamp::from_micros(micros));
        Ok(batch)
    };
    commit(ledger, batch().with_event(intent(at)).with_event(event_at(at, "{}")))?;
    commit(ledger, pruning(&[1])?)?;
    refused(ledger, by(at + INTENT_AGE - 1)?, |error| is_kept(error, 0))?;
    commit(ledger, by(at + INTENT_AGE)?)
}

pub(super) fn open(ledger: &dyn Ledger) -> CheckOutcome {
    let mut called = event("{}");
    called.call = CallId::parse("call_1").ok();
    commit(ledger, batch().with_event(called))?;
    for text in [
        r#"{"request":"call_1"}"#,
        r#"{"standing":"call_1"}"#,
        r#"{"released_by":{"request":"call_1"}}"#,
        r#"{"released_by":{"standing":"call_1"}}"#,
        r#"{"request":"call_2"}"#,
    ] {
        commit(ledger, batch().with_event(event(text)))?;
    }
    let pairs = [
        (Namespace::OpenCall, 0),
        (Namespace::Hold, 1),
        (Namespace::Standing, 2),
        (Namespace::Hold, 3),
        (Namespace::Standing, 4),
    ];
    for tenant in ["another", "local", "zz"] {
        let tenant = Tenant::parse(tenant).map_err(|error| error.to_string())?;
        for (namespace, seq) in pairs {
            let key = RecordKey::new(tenant.clone(), namespace, "call_1");
            let made = RecordWrite { key: key.clone(), value: b"{}".to_vec(), expires_at: None };
            let made = Batch { put: vec![made], ..batch() };
            let at_once = pruning(&[seq])?.join(made.clone());
            refused(ledger, at_once, |error| is_kept(error, seq))
                .map_err(|what| format!("{key} in the same batch: {what}"))?;
            commit(ledger, made)?;
            refused(ledger, pruning(&[seq])?, |error| is_kept(error, seq))
                .map_err(|what| format!("{key}: {what}"))?;
            let ended = Batch { delete: vec![key.clone()], ..batch() };
            refused(ledger, pruning(&[seq])?.join(ended.clone()), |error| is_kept(error, seq))
                .map_err(|what| format!("{key}, ended in the same batch: {what}"))?;
            commit(ledger, ended)?;
        }
    }
    commit(ledger, pruning(&[0, 1, 2, 3, 4, 5])?)
}
