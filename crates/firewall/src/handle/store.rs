//! Storing a result, finding its record again, and reading it back.

use std::time::Duration;

use serde_json::Value;
use weaver_types::ledger::{BlobStore, MAX_BLOB, Namespace, Put, Record, RecordKey};
use weaver_types::{
    CallId, Capability, Constraints, Handle, HandleId, Label, PrincipalId, Random, RawContent,
    RawResult, RunId, Tenant, Timestamp,
};

use super::record::{ContentKind, HandleRecord, RECORD_VERSION, StoredBytes};
use crate::error::HandleError;
use crate::frame::{media_type, rows};

/// How long a handle lives: one hour.
pub const TTL: Duration = Duration::from_secs(3_600);
/// Text and JSON up to so many bytes lie in the handle's record; anything else is a blob.
pub const MAX_INLINE: usize = 4_096;
/// The deepest JSON that is stored; deeper results get no handle.
pub const MAX_STORED_DEPTH: usize = 127;

/// For whom and under which limits a result is stored.
#[derive(Debug, Clone, Copy)]
pub struct HandleGrant<'a> {
    /// Whose data.
    pub tenant: &'a Tenant,
    /// The only principal that may use the handle.
    pub principal: &'a PrincipalId,
    /// The run.
    pub run: &'a RunId,
    /// The call.
    pub call: &'a CallId,
    /// What produced the result.
    pub capability: &'a Capability,
    /// The constraints of the decision.
    pub constraints: &'a Constraints,
    /// True when the principal is exempt from the capability's allowed fields.
    pub pii_reader: bool,
    /// The label of the stored, unredacted data.
    pub label: &'a Label,
    /// The time.
    pub now: Timestamp,
}

/// A stored result: its handle, and the record that makes it findable once it is committed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredHandle {
    /// What the model gets.
    pub handle: Handle,
    /// The record, for the batch of the call's outcome.
    pub put: Put,
}

/// Who asks for a handle, and when.
#[derive(Debug, Clone, Copy)]
pub struct Access<'a> {
    /// The tenant of the principal.
    pub tenant: &'a Tenant,
    /// The principal.
    pub principal: &'a PrincipalId,
    /// The time.
    pub now: Timestamp,
}

/// The key of a handle's record.
#[must_use]
pub fn key(tenant: &Tenant, id: &HandleId) -> RecordKey {
    RecordKey::new(tenant.clone(), Namespace::Handle, id.as_str())
}

/// Makes the record of a result. A result of more than [`MAX_INLINE`] bytes, or one that is no text,
/// is written to the blob store first. The driver's findings are not kept: the frame of the call itself carries them.
///
/// # Errors
/// [`HandleError::Unstorable`], when the result is larger than a blob or nests deeper than
/// [`MAX_STORED_DEPTH`]; [`HandleError::Store`] and [`HandleError::Random`], when those fail.
pub fn store(
    raw: &RawResult,
    grant: HandleGrant<'_>,
    blobs: &dyn BlobStore,
    random: &dyn Random,
) -> Result<StoredHandle, HandleError> {
    let (kind, media, bytes) = encode(&raw.content)?;
    if bytes.len() > MAX_BLOB {
        return Err(HandleError::Unstorable {
            detail: format!("it has {} bytes, at most {MAX_BLOB} are kept", bytes.len()),
        });
    }
    let expires_at = grant.now.after(TTL);
    let handle = Handle {
        handle_id: HandleId::random(random)?,
        capability_id: grant.capability.id().clone(),
        media_type: media,
        created_at: grant.now,
        expires_at,
        total_rows: rows(&raw.content).map(|rows| rows as u64),
        byte_size: bytes.len() as u64,
        views: Vec::new(),
    };
    let record = HandleRecord {
        v: RECORD_VERSION,
        handle: handle.clone(),
        tenant: grant.tenant.clone(),
        principal: grant.principal.clone(),
        run: grant.run.clone(),
        call: grant.call.clone(),
        capability: grant.capability.fingerprint(),
        constraints: grant.constraints.clone(),
        allowed_fields: grant.capability.spec().allowed_fields.clone(),
        pii: grant.pii_reader,
        label: grant.label.clone(),
        bytes: place(kind, bytes, blobs)?,
        content: kind,
        is_error: raw.is_error,
        provenance: raw.provenance.clone(),
    };
    let put = Put {
        key: key(grant.tenant, &handle.handle_id),
        value: record.to_bytes()?,
        expires_at: Some(expires_at),
    };
    Ok(StoredHandle { handle, put })
}

fn place(
    kind: ContentKind,
    bytes: Vec<u8>,
    blobs: &dyn BlobStore,
) -> Result<StoredBytes, HandleError> {
    if kind == ContentKind::Binary || bytes.len() > MAX_INLINE {
        return Ok(StoredBytes::Blob(blobs.put(&bytes)?));
    }
    match String::from_utf8(bytes) {
        Ok(text) => Ok(StoredBytes::Inline(text)),
        Err(error) => Ok(StoredBytes::Blob(blobs.put(error.as_bytes())?)),
    }
}

/// The record of a handle, for whom it was made and until it expires. Whoever calls this also
/// looks whether grant, run or principal were revoked ([`HandleError::Revoked`]).
///
/// # Errors
/// [`HandleError::NotFound`], when there is no record, or it belongs to another principal, tenant
/// or id: one answer for all. [`HandleError::Expired`], [`HandleError::Newer`],
/// [`HandleError::Damaged`].
pub fn load(
    id: &HandleId,
    record: Option<&Record>,
    access: Access<'_>,
) -> Result<HandleRecord, HandleError> {
    let missing = || HandleError::NotFound { id: id.clone() };
    let record = HandleRecord::from_bytes(id.as_str(), &record.ok_or_else(missing)?.value)?;
    if record.principal != *access.principal
        || record.tenant != *access.tenant
        || record.handle.handle_id != *id
    {
        return Err(missing());
    }
    if access.now >= record.handle.expires_at {
        return Err(HandleError::Expired { id: id.clone() });
    }
    Ok(record)
}

/// The stored result.
///
/// # Errors
/// [`HandleError::Expired`], when the bytes were evicted; [`HandleError::Damaged`], when they are
/// not of the kind the record says; [`HandleError::Store`].
pub fn content(record: &HandleRecord, blobs: &dyn BlobStore) -> Result<RawResult, HandleError> {
    let id = &record.handle.handle_id;
    let bytes = match &record.bytes {
        StoredBytes::Inline(text) => text.clone().into_bytes(),
        StoredBytes::Blob(blob) => {
            blobs.get(blob)?.ok_or_else(|| HandleError::Expired { id: id.clone() })?
        }
    };
    let damaged =
        |detail: &str| HandleError::Damaged { id: id.to_string(), detail: detail.to_owned() };
    let content = match record.content {
        ContentKind::Json => RawContent::Json(
            serde_json::from_slice(&bytes).map_err(|_| damaged("its content is no JSON"))?,
        ),
        ContentKind::Text => RawContent::Text(
            String::from_utf8(bytes).map_err(|_| damaged("its content is no text"))?,
        ),
        ContentKind::Binary => {
            RawContent::Binary { media_type: record.handle.media_type.clone(), bytes }
        }
    };
    Ok(RawResult {
        content,
        is_error: record.is_error,
        provenance: record.provenance.clone(),
        findings: Vec::new(),
    })
}

fn encode(content: &RawContent) -> Result<(ContentKind, String, Vec<u8>), HandleError> {
    match content {
        RawContent::Json(value) => {
            if deeper_than(value, MAX_STORED_DEPTH) {
                return Err(HandleError::Unstorable {
                    detail: format!("it nests deeper than {MAX_STORED_DEPTH} levels"),
                });
            }
            let bytes = serde_json::to_vec(value).map_err(|_| HandleError::Unstorable {
                detail: "it cannot be written as JSON".to_owned(),
            })?;
            Ok((ContentKind::Json, "application/json".to_owned(), bytes))
        }
        RawContent::Text(text) => {
            Ok((ContentKind::Text, "text/plain".to_owned(), text.as_bytes().to_vec()))
        }
        RawContent::Binary { media_type: declared, bytes } => {
            Ok((ContentKind::Binary, media_type(declared), bytes.clone()))
        }
    }
}

/// True when arrays and objects nest deeper than `max`. Needs no recursion.
fn deeper_than(value: &Value, max: usize) -> bool {
    let mut open = vec![(value, 0_usize)];
    while let Some((value, above)) = open.pop() {
        let children: Vec<&Value> = match value {
            Value::Array(items) => items.iter().collect(),
            Value::Object(map) => map.values().collect(),
            _ => continue,
        };
        if above >= max {
            return true;
        }
        open.extend(children.into_iter().map(|child| (child, above + 1)));
    }
    false
}
