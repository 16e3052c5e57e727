//! The stored form of a context item.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use weaver_types::canonical::{self, Profile};
use weaver_types::{HandleId, Label};

use crate::compile::item::{DedupKey, StructuredCall};
use crate::compile::{ContextItem, ContextItemKind};
use crate::error::DurableLogError;

/// The version of the stored form.
const ITEM_VERSION: u64 = 1;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ItemRecord {
    v: u64,
    id: String,
    kind: String,
    text: String,
    label: Label,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    parent: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    handle: Option<HandleId>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    metadata: BTreeMap<String, Value>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    tags: Vec<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pinned: bool,
    /// For tool output: the digest of the complete output in hexadecimal digits, or empty if it is
    /// not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    output: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    call: Option<StructuredCall>,
}

/// Encodes an item.
pub(super) fn to_bytes(item: &ContextItem) -> Result<Vec<u8>, DurableLogError> {
    let stored = ItemRecord {
        v: ITEM_VERSION,
        id: item.id().to_owned(),
        kind: item.kind().as_str().to_owned(),
        text: item.text().to_owned(),
        label: item.label().clone(),
        parent: item.parent().map(str::to_owned),
        handle: item.handle().cloned(),
        metadata: item.metadata().clone(),
        tags: item.tags().to_vec(),
        pinned: item.is_pinned(),
        output: match item.dedup_key() {
            DedupKey::Text => None,
            DedupKey::Digest(digest) => Some(format!("{digest:016x}")),
            DedupKey::Unique => Some(String::new()),
        },
        call: item.call().cloned(),
    };
    canonical::serialize(&stored, Profile::Foreign).map_err(|error| DurableLogError::Value {
        id: crate::catalog::printable(item.id()),
        problem: error.to_string(),
    })
}

/// Decodes the item of a record.
pub(super) fn from_bytes(record: &str, bytes: &[u8]) -> Result<ContextItem, DurableLogError> {
    let record = || crate::catalog::printable(record);
    let damaged = |problem: String| DurableLogError::Damaged { record: record(), problem };
    let value = canonical::parse(bytes, Profile::Foreign).map_err(|e| damaged(e.to_string()))?;
    match value.get("v").and_then(Value::as_u64) {
        Some(ITEM_VERSION) => {}
        Some(found) if found > ITEM_VERSION => {
            return Err(DurableLogError::Newer { record: record(), found, known: ITEM_VERSION });
        }
        _ => return Err(damaged("it has no version".to_owned())),
    }
    let stored: ItemRecord = serde_json::from_value(value).map_err(|e| damaged(e.to_string()))?;
    let kind =
        ContextItemKind::parse(&stored.kind).ok_or_else(|| damaged("no such kind".to_owned()))?;
    let parse_digest =
        |digits: &str| u64::from_str_radix(digits, 16).map_err(|e| damaged(e.to_string()));
    let dedup_key = match stored.output.as_deref() {
        None => DedupKey::Text,
        Some("") => DedupKey::Unique,
        Some(digits) => DedupKey::Digest(parse_digest(digits)?),
    };
    let item = ContextItem::from_stored(kind, stored.id, stored.text, stored.label)
        .with_optional_parent(stored.parent)
        .with_handle(stored.handle)
        .with_tags(stored.tags)
        .with_dedup_key(dedup_key);
    let item = stored.metadata.into_iter().fold(item, |item, (k, v)| item.with_metadata(k, v));
    let item = if stored.pinned { item.pin() } else { item };
    Ok(stored.call.into_iter().fold(item, ContextItem::with_call))
}
