//! The keys of a log, as its own events record them.
//!
//! An event `log.key` declares a key, hands over to another one, or ends one. The first names no
//! predecessor and is not signed. Each later one is signed by the key before it and ends that key:
//! the old key is valid for sizes up to the event's position, the new one for larger sizes. A key
//! that ended never becomes valid again. After a key ended without a successor, a new one may be
//! declared; it counts only for readers who trust it from elsewhere.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};
use weaver_types::canonical::{self, Profile};
use weaver_types::digest::DomainTag;
use weaver_types::ledger::{MAX_PAGE, StoredEvent};
use weaver_types::{EventKind, LogId};

use super::error::{CheckpointError, KeyEventError};
use super::key::{KeyUse, Signer, VerifierKey};
use crate::entry::EventHeader;
use crate::verify::LogSource;

/// The version of a key event's payload.
const VERSION: u64 = 1;

/// The content of a key event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyChange {
    /// The key valid from here on; `None` ends the previous key without a successor.
    pub key: Option<VerifierKey>,
    /// The size of the log when this was written; the event's position is this or later.
    pub from: u64,
    /// The key that ends here, and its signature over this change.
    pub previous: Option<(VerifierKey, [u8; 64])>,
}

impl KeyChange {
    /// Declares the first key of a log of `from` events, or the first one after a key ended.
    #[must_use]
    pub fn declare(key: VerifierKey, from: u64) -> Self {
        Self { key: Some(key), from, previous: None }
    }

    /// Hands over from the signer's key of `log` to another key, or ends it.
    ///
    /// # Errors
    /// [`CheckpointError`], when the log's id cannot be a key name or the signer fails.
    pub fn sign(
        log: &LogId,
        previous: &dyn Signer,
        key: Option<VerifierKey>,
        from: u64,
    ) -> Result<Self, CheckpointError> {
        let ends = VerifierKey::log(log, previous.public())?;
        let mut change = Self { key, from, previous: Some((ends, [0; 64])) };
        let signature = previous.sign_tagged(DomainTag::LOG_KEY, &change.message()?)?;
        if let Some((_, place)) = &mut change.previous {
            *place = signature;
        }
        Ok(change)
    }

    /// The payload of the event.
    ///
    /// # Errors
    /// [`CheckpointError::Form`], when `from` lies beyond 2^53.
    pub fn to_payload(&self) -> Result<Vec<u8>, CheckpointError> {
        let mut map = self.signed_fields();
        if let Some((_, signature)) = &self.previous {
            map.insert("signature".to_owned(), STANDARD.encode(signature).into());
        }
        canonical_payload(map)
    }

    /// The signed message: the payload without the signature.
    fn message(&self) -> Result<Vec<u8>, CheckpointError> {
        canonical_payload(self.signed_fields())
    }

    fn signed_fields(&self) -> Map<String, Value> {
        let mut map = Map::new();
        map.insert("v".to_owned(), VERSION.into());
        map.insert("from".to_owned(), self.from.into());
        if let Some(key) = &self.key {
            map.insert("key".to_owned(), key.to_string().into());
        }
        if let Some((previous, _)) = &self.previous {
            map.insert("previous".to_owned(), previous.to_string().into());
        }
        map
    }

    /// Parses a payload, and accepts only what [`KeyChange::to_payload`] writes.
    fn parse(payload: &[u8]) -> Result<Self, KeyEventError> {
        let Ok(Value::Object(map)) = canonical::parse(payload, Profile::Record) else {
            return Err(KeyEventError::Payload);
        };
        if map.get("v").and_then(Value::as_u64) != Some(VERSION) {
            return Err(KeyEventError::Version);
        }
        let key = |name| match map.get(name).map(Value::as_str) {
            None => Ok(None),
            Some(text) => text
                .and_then(|text| text.parse::<VerifierKey>().ok())
                .map(Some)
                .ok_or(KeyEventError::VerifierKey),
        };
        let signature = map.get("signature").map(|value| {
            let bytes = value.as_str().and_then(|text| STANDARD.decode(text).ok());
            bytes.and_then(|bytes| <[u8; 64]>::try_from(bytes).ok())
        });
        let previous = match (key("previous")?, signature) {
            (None, None) => None,
            (Some(previous), Some(Some(signature))) => Some((previous, signature)),
            _ => return Err(KeyEventError::Unpaired),
        };
        let from = map.get("from").and_then(Value::as_u64).ok_or(KeyEventError::From)?;
        let change = Self { key: key("key")?, from, previous };
        if change.to_payload().is_ok_and(|bytes| bytes == payload) {
            Ok(change)
        } else {
            Err(KeyEventError::NotCanonical)
        }
    }
}

fn canonical_payload(map: Map<String, Value>) -> Result<Vec<u8>, CheckpointError> {
    canonical::to_bytes(&Value::Object(map), Profile::Record)
        .map_err(|error| CheckpointError::Form { form: "key event", why: error.to_string() })
}

/// The keys of a log in order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KeyHistory {
    periods: Vec<KeyPeriod>,
}

/// A part of the log during which one key is valid.
#[derive(Debug, Clone, PartialEq, Eq)]
struct KeyPeriod {
    key: VerifierKey,
    /// The position of the event that declares the key: it is valid for larger sizes.
    after: u64,
    /// The position of the event that ends the key: it is valid up to this size.
    until: Option<u64>,
    /// Whether the previous key signed the hand-over.
    handed_over: bool,
}

impl KeyHistory {
    /// The keys of a log, from all of its events. It reads the whole log but verifies only the key
    /// events; to judge a checkpoint, verify the log.
    ///
    /// # Errors
    /// [`CheckpointError::KeyEvent`] for an invalid key event, [`CheckpointError::Ledger`].
    pub fn from_log(log: &dyn LogSource) -> Result<Self, CheckpointError> {
        let (mut history, mut next) = (Self::default(), 0);
        let name = log.extent()?.head.log;
        loop {
            let rows = log.rows(next, MAX_PAGE)?;
            let Some(last) = rows.last() else { return Ok(history) };
            next = last.event.seq.saturating_add(1);
            for StoredEvent { seq, header, payload, .. } in rows.into_iter().map(|row| row.event) {
                if EventHeader::parse(&header).is_ok_and(|header| header.kind == EventKind::LogKey)
                {
                    history.apply_event(&name, seq, &payload.unwrap_or_default())?;
                }
            }
        }
    }

    /// Whether a key was declared, handed over or ended at `from` or later. It reads the log from
    /// there.
    ///
    /// # Errors
    /// [`CheckpointError::Ledger`].
    pub fn has_changed_since(log: &dyn LogSource, from: u64) -> Result<bool, CheckpointError> {
        let mut next = from;
        loop {
            let rows = log.rows(next, MAX_PAGE)?;
            let Some(last) = rows.last() else { return Ok(false) };
            next = last.event.seq.saturating_add(1);
            let kind = |header: &[u8]| EventHeader::parse(header).map(|header| header.kind);
            if rows.iter().any(|row| kind(&row.event.header) == Ok(EventKind::LogKey)) {
                return Ok(true);
            }
        }
    }

    /// The key in force, if any.
    #[must_use]
    pub fn current(&self) -> Option<&VerifierKey> {
        self.periods.last().filter(|period| period.until.is_none()).map(|period| &period.key)
    }

    /// Applies the next key event of `log`, which stands at `seq`.
    ///
    /// # Errors
    /// [`CheckpointError::KeyEvent`], when it is malformed, or not signed by the key in force.
    pub fn apply_event(
        &mut self,
        log: &LogId,
        seq: u64,
        payload: &[u8],
    ) -> Result<(), CheckpointError> {
        self.apply(log, seq, payload).map_err(|why| CheckpointError::KeyEvent { seq, why })
    }

    fn apply(&mut self, log: &LogId, seq: u64, payload: &[u8]) -> Result<(), KeyEventError> {
        let change = KeyChange::parse(payload)?;
        if change.from > seq {
            return Err(KeyEventError::Future);
        }
        if let Some(key) = &change.key {
            if key.name() != log.as_str() || key.usage() != KeyUse::Log {
                return Err(KeyEventError::OtherLog);
            }
            if self.periods.iter().any(|period| period.key.public() == key.public()) {
                return Err(KeyEventError::Reused);
            }
        }
        let message = change.message().map_err(|_| KeyEventError::Unwritable)?;
        let current = self.periods.last_mut().filter(|period| period.until.is_none());
        match (current, &change.previous) {
            (None, None) if change.key.is_some() => {}
            (None, None) => return Err(KeyEventError::Empty),
            (None, Some(_)) => return Err(KeyEventError::NoPredecessor),
            (Some(_), None) => return Err(KeyEventError::Unsigned),
            (Some(current), Some((previous, signature))) => {
                if current.key != *previous {
                    return Err(KeyEventError::OtherPredecessor);
                }
                let verified = previous.public().verify(DomainTag::LOG_KEY, &message, signature);
                verified.map_err(|_| KeyEventError::Signature)?;
                current.until = Some(seq);
            }
        }
        if let Some(key) = change.key {
            let handed_over = change.previous.is_some();
            self.periods.push(KeyPeriod { key, after: seq, until: None, handed_over });
        }
        Ok(())
    }

    /// The keys in order.
    pub fn keys(&self) -> impl Iterator<Item = &VerifierKey> {
        self.periods.iter().map(|period| &period.key)
    }

    /// Checks that `key` may sign for `size` events, for a reader who trusts `anchor`. The key must
    /// be the one in force at that size, and an unbroken chain of signed hand-overs must lead to it
    /// from the anchor: an unsigned declaration in the log alone never makes a key trusted.
    pub(super) fn check_validity(
        &self,
        anchor: &VerifierKey,
        key: &VerifierKey,
        size: u64,
    ) -> Result<(), CheckpointError> {
        let ended = |why| Err(CheckpointError::KeyEnded { size, why });
        let Some(at) = self.periods.iter().rposition(|period| period.after < size) else {
            return if key == anchor {
                Ok(())
            } else {
                ended("the log declares it for greater sizes only")
            };
        };
        let upto = self.periods.get(..=at).unwrap_or_default();
        let Some(current) = upto.last() else { return ended("the log declares none") };
        if current.until.is_some_and(|until| size > until) {
            return ended("the key of the log was ended before, without a successor");
        }
        if current.key != *key {
            return ended("the log had another key by then");
        }
        for period in upto.iter().rev() {
            if period.key == *anchor {
                return Ok(());
            }
            if !period.handed_over {
                break;
            }
        }
        ended("no chain of signed changes leads to it from the trusted key")
    }
}
