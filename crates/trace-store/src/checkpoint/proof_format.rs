//! The JSON format of proofs: canonical, with a kind and a version.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};
use weaver_types::canonical::{self, Profile};

use super::CheckpointError;
use crate::merkle::Hash;

/// The largest receipt, equivocation proof or witness state, in bytes.
pub const MAX_PROOF_BYTES: usize = 16 * 1024 * 1024;

/// The name of a proof format for messages, its `kind` field and its version.
pub(super) struct ProofFormat {
    pub(super) name: &'static str,
    pub(super) kind: &'static str,
    pub(super) version: u64,
}

impl ProofFormat {
    pub(super) fn malformed(&self, why: impl Into<String>) -> CheckpointError {
        CheckpointError::Form { form: self.name, why: why.into() }
    }
}

/// Writes a document of this format as canonical JSON.
pub(super) fn encode_proof<const N: usize>(
    form: &ProofFormat,
    fields: [(&str, Value); N],
) -> Result<Vec<u8>, CheckpointError> {
    let mut map: Map<String, Value> =
        fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    map.insert("kind".to_owned(), form.kind.into());
    map.insert("v".to_owned(), form.version.into());
    canonical::to_bytes(&Value::Object(map), Profile::Record)
        .map_err(|error| form.malformed(error.to_string()))
}

/// Parses a document of this format and version in its canonical bytes (a line feed may follow),
/// with no fields but `fields`.
pub(super) fn decode_proof(
    form: &ProofFormat,
    bytes: &[u8],
    fields: &[&str],
) -> Result<Map<String, Value>, CheckpointError> {
    if bytes.len() > MAX_PROOF_BYTES {
        return Err(form.malformed("it is larger than 16 MiB"));
    }
    let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    let value =
        canonical::parse(bytes, Profile::Record).map_err(|e| form.malformed(e.to_string()))?;
    let written = canonical::to_bytes(&value, Profile::Record);
    let Value::Object(map) = value else { return Err(form.malformed("it is not a JSON object")) };
    if map.get("kind").and_then(Value::as_str) != Some(form.kind) {
        return Err(form.malformed(format!("its `kind` is not `{}`", form.kind)));
    }
    match map.get("v").and_then(Value::as_u64) {
        Some(found) if found > form.version => {
            let (form, known) = (form.name, form.version);
            return Err(CheckpointError::Newer { form, found, known });
        }
        Some(found) if found == form.version => {}
        _ => return Err(form.malformed("it has no version")),
    }
    refuse_unknown_fields(form, &map, &[fields, &["kind", "v"]].concat())?;
    if written.is_ok_and(|written| written == bytes) {
        Ok(map)
    } else {
        Err(form.malformed("it is not canonical JSON"))
    }
}

/// Refuses unknown fields.
pub(super) fn refuse_unknown_fields(
    form: &ProofFormat,
    map: &Map<String, Value>,
    fields: &[&str],
) -> Result<(), CheckpointError> {
    match map.keys().find(|key| !fields.contains(&key.as_str())) {
        Some(key) => {
            let key: String = key.escape_debug().take(40).collect();
            Err(form.malformed(format!("field `{key}` is unknown")))
        }
        None => Ok(()),
    }
}

/// A string field of an object.
pub(super) fn text_field<'a>(
    form: &ProofFormat,
    value: &'a Value,
    name: &str,
) -> Result<&'a str, CheckpointError> {
    let text = value.get(name).and_then(Value::as_str);
    text.ok_or_else(|| form.malformed(format!("`{name}` is missing or no text")))
}

/// A hash from its base64 text.
pub(super) fn parse_hash(form: &ProofFormat, text: &str) -> Result<Hash, CheckpointError> {
    let bytes = STANDARD.decode(text).ok().and_then(|bytes| Hash::try_from(bytes).ok());
    bytes.ok_or_else(|| form.malformed("a hash is not canonical base64 of 32 bytes"))
}

/// A list of parse_hashes, at most 64.
pub(super) fn parse_hashes(
    form: &ProofFormat,
    value: Option<&Value>,
) -> Result<Vec<Hash>, CheckpointError> {
    match value.and_then(Value::as_array) {
        Some(list) if list.len() <= 64 => {
            list.iter().map(|value| parse_hash(form, value.as_str().unwrap_or_default())).collect()
        }
        _ => Err(form.malformed("a proof is not a list of at most 64 hashes")),
    }
}

/// Encodes as base64.
pub(super) fn to_base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// Decodes base64.
pub(super) fn from_base64(form: &ProofFormat, text: &str) -> Result<Vec<u8>, CheckpointError> {
    STANDARD.decode(text).map_err(|_| form.malformed("a value is not canonical base64"))
}
