//! The stored form of a memory entry, version 1.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use weaver_types::canonical::{self, Profile};
use weaver_types::{Label, Timestamp};

use super::bounds::printable;
use super::entry::{self, Confidence, EntryKind, EntryOrigin, MemoryEntry, Tier};
use super::error::MemoryError;
use super::put::PutOptions;

/// The version of the stored form of an entry.
pub const ENTRY_VERSION: u64 = 1;

/// The record of one key: a single claim, or for a fact possibly several.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MemoryRecord {
    v: u64,
    pub(super) kind: EntryKind,
    pub(super) key: String,
    pub(super) claims: Vec<StoredClaim>,
}

/// One value with its source, confidence, label and origin.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StoredClaim {
    pub(super) number: u32,
    pub(super) value: Value,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) source: String,
    pub(super) confidence: Confidence,
    pub(super) created_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) ttl_us: Option<u64>,
    pub(super) label: Label,
    #[serde(default)]
    pub(super) origin: EntryOrigin,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) superseded: Option<Supersession>,
}

/// Which claim superseded another, when and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Supersession {
    /// The number of the superseding claim.
    pub by: u32,
    /// When the claim was superseded.
    pub at: Timestamp,
    /// The reason, in the words of whoever resolved the dispute.
    pub why: String,
}

impl MemoryRecord {
    pub(super) fn new(kind: EntryKind, key: &str, claims: Vec<StoredClaim>) -> Self {
        Self { v: ENTRY_VERSION, kind, key: key.to_owned(), claims }
    }

    /// The record without expired claims; `None` if no claim is left.
    pub(super) fn without_expired(mut self, now: Timestamp) -> Option<Self> {
        self.claims.retain(|claim| !claim.is_expired(now));
        (!self.claims.is_empty()).then_some(self)
    }

    pub(super) fn to_bytes(&self) -> Result<Vec<u8>, MemoryError> {
        canonical::serialize(self, Profile::Foreign).map_err(|error| MemoryError::Value {
            key: printable(&self.key),
            problem: error.to_string(),
        })
    }

    /// Decodes the record with this id.
    pub(super) fn from_bytes(id: &str, bytes: &[u8]) -> Result<Self, MemoryError> {
        let damaged = |problem: String| MemoryError::Damaged { key: printable(id), problem };
        let value =
            canonical::parse(bytes, Profile::Foreign).map_err(|e| damaged(e.to_string()))?;
        match value.get("v").and_then(Value::as_u64) {
            Some(ENTRY_VERSION) => {}
            Some(found) if found > ENTRY_VERSION => {
                return Err(MemoryError::Newer { key: printable(id), found, known: ENTRY_VERSION });
            }
            _ => return Err(damaged("it has no version".to_owned())),
        }
        let stored: Self = serde_json::from_value(value).map_err(|e| damaged(e.to_string()))?;
        if record_id(stored.kind, &stored.key) != id {
            return Err(damaged("it stands under another key".to_owned()));
        }
        Ok(stored)
    }

    /// The newest current claim, as an entry.
    pub(super) fn entry(self, tier: Tier) -> Option<MemoryEntry> {
        let Self { kind, key, claims, .. } = self;
        // A repeated claim is renewed in place, so the last one in the list need not be the newest.
        let current = claims.into_iter().filter(|claim| claim.superseded.is_none());
        let claim = current.max_by_key(|claim| claim.created_at)?;
        Some(claim.entry(tier, kind, &key))
    }
}

impl StoredClaim {
    pub(super) fn new(number: u32, value: Value, put: &PutOptions, created_at: Timestamp) -> Self {
        Self {
            number,
            value,
            source: put.source.clone(),
            confidence: put.confidence,
            created_at,
            ttl_us: put.ttl.map(|ttl| u64::try_from(ttl.as_micros()).unwrap_or(u64::MAX)),
            label: put.label.clone(),
            origin: put.origin.clone(),
            superseded: None,
        }
    }

    pub(super) fn ttl(&self) -> Option<Duration> {
        self.ttl_us.map(Duration::from_micros)
    }

    pub(super) fn is_expired(&self, now: Timestamp) -> bool {
        entry::is_expired(self.created_at, self.ttl(), now)
    }

    pub(super) fn entry(self, tier: Tier, kind: EntryKind, key: &str) -> MemoryEntry {
        MemoryEntry {
            key: key.to_owned(),
            ttl: self.ttl(),
            value: self.value,
            tier,
            kind,
            source: self.source,
            confidence: self.confidence,
            created_at: self.created_at,
            label: self.label,
            origin: self.origin,
        }
    }
}

/// The id of an entry's record in the store.
pub(super) fn record_id(kind: EntryKind, key: &str) -> String {
    format!("{}/{key}", kind.as_str())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_newest_claim_is_the_entry_wherever_it_stands() {
        let at = |micros: i64| Timestamp::from_micros(micros);
        let claim = |number: u32, value: &str, created_at: i64| {
            StoredClaim::new(number, json!(value), &PutOptions::default(), at(created_at))
        };
        let value = |claims: Vec<StoredClaim>| {
            let record = MemoryRecord::new(EntryKind::Fact, "tz", claims);
            record.entry(Tier::Durable).unwrap().value
        };
        assert_eq!(value(vec![claim(1, "renewed", 9), claim(2, "older", 5)]), "renewed");
        assert_eq!(value(vec![claim(1, "first", 5), claim(2, "last", 5)]), "last");
    }
}
