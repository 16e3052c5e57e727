//! The ledger record of the last signed checkpoint and of what each target received.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use weaver_trace_store::Reader;
use weaver_trace_store::checkpoint::Checkpoint;
use weaver_types::canonical::{self, Profile};
use weaver_types::ledger::{LedgerError, Namespace, Record, RecordKey, RecordWrite};
use weaver_types::{Digest, LogId, Tenant, Timestamp};

const VERSION: u8 = 1;
const ID: &str = "checkpoint";

/// The record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublishStatus {
    v: u8,
    /// The newest checkpoint that was signed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signed: Option<SignedCheckpoint>,
    /// Why the last attempt to sign failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<PublishFailure>,
    /// The status of each target, by target name.
    pub targets: BTreeMap<String, TargetStatus>,
}

/// A checkpoint that was signed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignedCheckpoint {
    /// How many events it covers.
    pub size: u64,
    root: Digest,
    /// When it was signed.
    pub at: Timestamp,
    /// How many trusted witnesses cosigned it.
    pub witnesses: usize,
}

/// What a target received last, and any failure since.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TargetStatus {
    /// The size of the last checkpoint delivered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// When it was delivered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
    /// The last failure, if no delivery has succeeded since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<PublishFailure>,
}

/// A failure to sign or to deliver.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublishFailure {
    /// When it happened.
    pub at: Timestamp,
    /// The error message of the target or the signer.
    pub problem: String,
}

impl Default for PublishStatus {
    fn default() -> Self {
        Self { v: VERSION, signed: None, refused: None, targets: BTreeMap::new() }
    }
}

impl SignedCheckpoint {
    pub(super) fn new(checkpoint: &Checkpoint, at: Timestamp) -> Self {
        Self { size: checkpoint.size, root: checkpoint.root, at, witnesses: 0 }
    }

    /// The signed checkpoint itself.
    pub(super) fn checkpoint(&self, origin: &LogId) -> Checkpoint {
        let (origin, size, root) = (origin.clone(), self.size, self.root);
        Checkpoint { origin, size, root, extensions: Vec::new() }
    }
}

pub(crate) fn key() -> RecordKey {
    RecordKey::new(Tenant::default(), Namespace::Published, ID)
}

impl PublishStatus {
    /// Parses the record.
    ///
    /// # Errors
    /// [`LedgerError::Newer`] and [`LedgerError::Damaged`].
    pub fn parse(record: &Record) -> Result<Self, LedgerError> {
        let what = "the record of published checkpoints";
        let bad = |problem: String| LedgerError::Damaged(format!("{what}: {problem}"));
        let value =
            canonical::parse(&record.value, Profile::Record).map_err(|e| bad(e.to_string()))?;
        let version = value.get("v").and_then(serde_json::Value::as_u64).unwrap_or(0);
        if version > u64::from(VERSION) {
            let (what, known) = (what.to_owned(), u64::from(VERSION));
            return Err(LedgerError::Newer { what, found: version, known });
        }
        let status: Self = serde_json::from_value(value).map_err(|e| bad(e.to_string()))?;
        if status.v == VERSION {
            Ok(status)
        } else {
            Err(bad("its version is missing or unknown".to_owned()))
        }
    }

    /// The publishing status recorded in a ledger; `None` if no gateway ever signed it.
    ///
    /// # Errors
    /// As [`PublishStatus::parse`], and when the ledger cannot be read.
    pub fn read_from(reader: &Reader) -> Result<Option<Self>, LedgerError> {
        reader.record(&key())?.as_ref().map(Self::parse).transpose()
    }

    /// The record as a ledger write.
    pub(super) fn to_put(&self) -> Result<RecordWrite, LedgerError> {
        let value = canonical::serialize(self, Profile::Record)
            .map_err(|error| LedgerError::Malformed(error.to_string()))?;
        Ok(RecordWrite { key: key(), value, expires_at: None })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A record as version 1 wrote it.
    const V1: &str = r#"{"signed":{"at":1700000000000000,"root":"ROOT","size":3,"witnesses":1},"targets":{"file /a":{"at":1700000000000001,"size":3},"http https://a.example/":{"failed":{"at":2,"problem":"the connection failed"}}},"v":1}"#;

    fn record(text: &str) -> Record {
        Record { version: 1, value: text.as_bytes().to_vec() }
    }

    #[test]
    fn the_stored_form_is_stable() {
        let root = Digest::from_bytes([1; 32]).to_string();
        let text = V1.replace("ROOT", &root);
        let status = PublishStatus::parse(&record(&text)).unwrap();
        assert_eq!(status.targets.len(), 2);
        assert_eq!(String::from_utf8(status.to_put().unwrap().value).unwrap(), text);
    }

    #[test]
    fn newer_and_broken_forms_are_refused() {
        let code = |text: &str| PublishStatus::parse(&record(text)).unwrap_err().code();
        assert_eq!(code(r#"{"v":2,"more":1}"#), "ledger.newer");
        assert_eq!(code(r#"{"v":1}"#), "ledger.damaged");
        assert_eq!(code("x"), "ledger.damaged");
    }
}
