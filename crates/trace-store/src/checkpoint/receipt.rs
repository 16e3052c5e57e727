//! Receipts: the events of one call with their proofs, verifiable offline.

use std::ops::Range;

use serde_json::{Map, Value};
use weaver_types::ledger::MAX_PAGE;
use weaver_types::{CallId, EventKind};

use super::proof_format::{
    ProofFormat, decode_proof, encode_proof, from_base64, parse_hashes, refuse_unknown_fields,
    text_field, to_base64,
};
use super::{
    Checkpoint, CheckpointError, KeyHistory, ReceiptEventError, SignedNote, TrustPolicy,
    VerifiedCheckpoint,
};
use crate::entry::{EventHeader, SALT_BYTES, commitment};
use crate::merkle::{self, Hash};
use crate::verify::{LogProver, LogSource};

const RECEIPT_FORMAT: ProofFormat =
    ProofFormat { name: "receipt", kind: "weaver-receipt", version: 1 };
/// The most events of one receipt.
const MAX_EVENTS: usize = 1024;

/// The events of one call, with the proof that they are in the log of a signed checkpoint. Events
/// that changed the key of the log may be among them. Making or parsing a receipt verifies nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallReceipt {
    /// The signed checkpoint.
    pub checkpoint: SignedNote,
    /// The call.
    pub call: CallId,
    /// The events, in log order.
    pub events: Vec<ReceiptEvent>,
}

/// An event of a receipt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceiptEvent {
    /// The header, as stored.
    pub header: Vec<u8>,
    /// Salt and payload, if they are disclosed.
    pub disclosed: Option<(Vec<u8>, Vec<u8>)>,
    /// The inclusion proof.
    pub path: Vec<Hash>,
}

/// What a verified receipt proves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifiedReceipt {
    /// The checkpoint with its key and witnesses.
    pub verified: VerifiedCheckpoint,
    /// The call.
    pub call: CallId,
    /// The events of the call, in log order.
    pub events: Vec<ProvenEvent>,
}

/// An event that is proven to be in the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProvenEvent {
    /// Its header.
    pub header: EventHeader,
    /// Its payload, if it was disclosed.
    pub payload: Option<Vec<u8>>,
}

impl VerifiedReceipt {
    /// Whether the receipt shows how the call ended: with an outcome, an unknown outcome, or a
    /// refusal.
    #[must_use]
    pub fn shows_end(&self) -> bool {
        self.events.iter().any(|event| is_end_of_call(event.header.kind))
    }
}

fn is_end_of_call(kind: EventKind) -> bool {
    matches!(kind, EventKind::Outcome | EventKind::OutcomeUnknown | EventKind::Refused)
}

/// The positions, among the first `size` events, of the events of a call and of all key changes. It
/// reads all of these events.
///
/// # Errors
/// [`CheckpointError::Ledger`].
pub fn events_of_call(
    log: &dyn LogSource,
    call: &CallId,
    size: u64,
) -> Result<Vec<u64>, CheckpointError> {
    events_of_call_since(log, call, 0..size)
}

/// As [`events_of_call`], within a range of positions: for a call whose beginning is known, under a
/// key that has not changed since.
///
/// # Errors
/// [`CheckpointError::Ledger`].
pub fn events_of_call_since(
    log: &dyn LogSource,
    call: &CallId,
    places: Range<u64>,
) -> Result<Vec<u64>, CheckpointError> {
    let mut out = Vec::new();
    let Range { start: mut next, end: size } = places;
    while next < size {
        let limit = usize::try_from(size - next).unwrap_or(MAX_PAGE).min(MAX_PAGE);
        let rows = log.rows(next, limit)?;
        let Some(last) = rows.last() else { break };
        next = last.event.seq + 1;
        out.extend(rows.iter().filter_map(|row| {
            let header = EventHeader::parse(&row.event.header).ok()?;
            let wanted = header.call.as_ref() == Some(call) || header.kind == EventKind::LogKey;
            wanted.then_some(row.event.seq)
        }));
    }
    Ok(out)
}

impl CallReceipt {
    /// Makes a receipt for `call` under a signed checkpoint of this log, from the events at
    /// `places` (see [`events_of_call`]). With `disclose` it includes payloads and salts that are
    /// not pruned; those of key events are always included.
    ///
    /// # Errors
    /// [`CheckpointError`], when the checkpoint does not cover an event or belongs to another log,
    /// or the log cannot be read.
    pub fn make(
        log: &dyn LogProver,
        checkpoint: &SignedNote,
        call: &CallId,
        places: &[u64],
        disclose: bool,
    ) -> Result<Self, CheckpointError> {
        let Checkpoint { origin, size, root, .. } = Checkpoint::parse(checkpoint.text())?;
        if origin != log.extent()?.head.log || log.root(size)? != *root.as_bytes() {
            return Err(CheckpointError::Inconsistent("the checkpoint is not one of this log"));
        }
        let mut events = Vec::new();
        for (index, place) in places.iter().enumerate() {
            let outside = CheckpointError::Event { index, why: ReceiptEventError::Uncovered };
            if *place >= size {
                return Err(outside);
            }
            let row = log.rows(*place, 1)?.into_iter().next().ok_or(outside)?;
            let kind = EventHeader::parse(&row.event.header).ok().map(|header| header.kind);
            let disclosed = (disclose || kind == Some(EventKind::LogKey))
                .then(|| row.event.salt.zip(row.event.payload))
                .flatten();
            let path = log.inclusion(*place, size)?;
            events.push(ReceiptEvent { header: row.event.header, disclosed, path });
        }
        Ok(Self { checkpoint: checkpoint.clone(), call: call.clone(), events })
    }

    /// Verifies the receipt with nothing but the given trust policy.
    ///
    /// # Errors
    /// [`CheckpointError`], the first that applies.
    pub fn verify(&self, trust: &TrustPolicy) -> Result<VerifiedReceipt, CheckpointError> {
        let checkpoint = Checkpoint::parse(self.checkpoint.text())?;
        let mut history = KeyHistory::default();
        let mut events = Vec::new();
        let mut next = 0;
        for (index, event) in self.events.iter().enumerate() {
            let bad = |why| CheckpointError::Event { index, why };
            let proven = self.verify_event(event, &checkpoint).map_err(bad)?;
            let ProvenEvent { header, payload } = &proven;
            if header.seq < next {
                return Err(bad(ReceiptEventError::Order));
            }
            next = header.seq + 1;
            if header.kind != EventKind::LogKey {
                events.push(proven);
            } else if let Some(payload) = payload {
                history.apply_event(&checkpoint.origin, header.seq, payload)?;
            } else {
                return Err(bad(ReceiptEventError::UndisclosedKey));
            }
        }
        if !events
            .iter()
            .any(|e| e.header.kind == EventKind::Intent || is_end_of_call(e.header.kind))
        {
            return Err(
                RECEIPT_FORMAT.malformed("it holds neither the intent of the call nor its end")
            );
        }
        let verified = trust.open_with(&self.checkpoint, &history)?;
        Ok(VerifiedReceipt { verified, call: self.call.clone(), events })
    }

    fn verify_event(
        &self,
        event: &ReceiptEvent,
        checkpoint: &Checkpoint,
    ) -> Result<ProvenEvent, ReceiptEventError> {
        let header = EventHeader::parse(&event.header).map_err(|_| ReceiptEventError::Header)?;
        if header.log != checkpoint.origin {
            return Err(ReceiptEventError::OtherLog);
        }
        if header.kind != EventKind::LogKey && header.call.as_ref() != Some(&self.call) {
            return Err(ReceiptEventError::OtherCall);
        }
        let (leaf, root) = (merkle::leaf_hash(&event.header), checkpoint.root.as_bytes());
        if !merkle::verify_inclusion(&leaf, header.seq, checkpoint.size, &event.path, root) {
            return Err(ReceiptEventError::Inclusion);
        }
        let payload = match &event.disclosed {
            None => None,
            Some((salt, payload))
                if salt.len() == SALT_BYTES && commitment(salt, payload) == header.commit =>
            {
                Some(payload.clone())
            }
            Some(_) => return Err(ReceiptEventError::Commitment),
        };
        Ok(ProvenEvent { header, payload })
    }

    /// The receipt as canonical JSON.
    ///
    /// # Errors
    /// [`CheckpointError::Form`], when a header or payload is not UTF-8.
    pub fn to_bytes(&self) -> Result<Vec<u8>, CheckpointError> {
        let events = self.events.iter().map(event_to_value).collect::<Result<Vec<_>, _>>()?;
        encode_proof(
            &RECEIPT_FORMAT,
            [
                ("checkpoint", self.checkpoint.to_string().into()),
                ("call", self.call.as_str().into()),
                ("events", events.into()),
            ],
        )
    }

    /// Parses the canonical JSON.
    ///
    /// # Errors
    /// [`CheckpointError::Form`], [`CheckpointError::Newer`] and [`CheckpointError::Note`].
    pub fn parse(bytes: &[u8]) -> Result<Self, CheckpointError> {
        let map = decode_proof(&RECEIPT_FORMAT, bytes, &["checkpoint", "call", "events"])?;
        let events = match map.get("events").and_then(Value::as_array) {
            Some(events) if events.len() <= MAX_EVENTS => {
                events.iter().map(event_from_value).collect::<Result<Vec<_>, _>>()?
            }
            _ => {
                return Err(
                    RECEIPT_FORMAT.malformed("`events` is not a list of at most 1,024 events")
                );
            }
        };
        let value = Value::Object(map);
        let checkpoint =
            SignedNote::parse(text_field(&RECEIPT_FORMAT, &value, "checkpoint")?.as_bytes())?;
        let call = CallId::parse(text_field(&RECEIPT_FORMAT, &value, "call")?);
        let call = call.map_err(|_| RECEIPT_FORMAT.malformed("`call` is not an id of a call"))?;
        Ok(Self { checkpoint, call, events })
    }
}

fn event_to_value(event: &ReceiptEvent) -> Result<Value, CheckpointError> {
    let utf8 = |bytes: &[u8]| {
        String::from_utf8(bytes.to_vec())
            .map_err(|_| RECEIPT_FORMAT.malformed("a header or payload is not UTF-8"))
    };
    let mut map = Map::new();
    map.insert("header".to_owned(), utf8(&event.header)?.into());
    let path: Vec<Value> = event.path.iter().map(|hash| to_base64(hash).into()).collect();
    map.insert("path".to_owned(), path.into());
    if let Some((salt, payload)) = &event.disclosed {
        map.insert("salt".to_owned(), to_base64(salt).into());
        map.insert("payload".to_owned(), utf8(payload)?.into());
    }
    Ok(Value::Object(map))
}

fn event_from_value(value: &Value) -> Result<ReceiptEvent, CheckpointError> {
    let Value::Object(map) = value else {
        return Err(RECEIPT_FORMAT.malformed("an event is not an object"));
    };
    refuse_unknown_fields(&RECEIPT_FORMAT, map, &["header", "path", "salt", "payload"])?;
    let disclosed = match (map.contains_key("salt"), map.contains_key("payload")) {
        (false, false) => None,
        (true, true) => {
            let salt = from_base64(&RECEIPT_FORMAT, text_field(&RECEIPT_FORMAT, value, "salt")?)?;
            Some((salt, text_field(&RECEIPT_FORMAT, value, "payload")?.as_bytes().to_vec()))
        }
        _ => return Err(RECEIPT_FORMAT.malformed("salt and payload do not stand together")),
    };
    let path = parse_hashes(&RECEIPT_FORMAT, map.get("path"))?;
    Ok(ReceiptEvent {
        header: text_field(&RECEIPT_FORMAT, value, "header")?.as_bytes().to_vec(),
        disclosed,
        path,
    })
}
