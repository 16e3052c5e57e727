//! Storing a result, finding its record again, and reading it back.

use std::borrow::Cow;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use weaver_types::ledger::{BlobStore, BlobUse, MAX_BLOB, Namespace, Put, Record, RecordKey};
use weaver_types::{
    CallId, Capability, Constraints, Handle, HandleId, JsonRows, Label, PrincipalId, Random,
    RawContent, RawResult, RunId, Tenant, Timestamp,
};

use super::record::{ContentKind, HandleRecord, RECORD_VERSION, RecordFields, StoredBytes};
use super::seal::HandleKey;
use crate::content::{media_type, rows};
use crate::error::HandleError;
use crate::json;
use crate::view::ViewRegistry;

/// Text and JSON up to this size are part of the handle's record; anything else is a blob.
pub const MAX_INLINE: usize = 4_096;
/// The deepest JSON that is stored; deeper results get no handle.
pub const MAX_STORED_DEPTH: usize = 127;
/// The most bytes of one result: a blob, with room for what encryption adds.
const MAX_STORED: usize = MAX_BLOB - 64;

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
    /// The views that the handle is to name.
    pub views: &'a ViewRegistry,
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
    /// The records that go for it, or have ended: to be removed in the same batch.
    pub delete: Vec<RecordKey>,
    /// The blob that the record names, where the bytes lie in one; for the same batch.
    pub blob: Option<BlobUse>,
    /// The name of its bytes under the key of the blob store, where they lie there.
    pub(super) digest: Option<String>,
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
    RecordKey::new(tenant.clone(), Namespace::Handle, id)
}

/// A result that is about to be stored.
pub(super) struct NewHandle<'a> {
    pub(super) handle: Handle,
    raw: &'a RawResult,
    grant: HandleGrant<'a>,
    content: ContentKind,
    bytes: Cow<'a, [u8]>,
    sealed: bool,
}

/// The handle and the bytes of a result.
pub(super) fn encode<'a>(
    raw: &'a RawResult,
    grant: HandleGrant<'a>,
    ttl: Duration,
    random: &dyn Random,
) -> Result<NewHandle<'a>, HandleError> {
    let (content, media_type, bytes) = written(&raw.content)?;
    if bytes.len() > MAX_STORED {
        let size = bytes.len() as u64;
        return Err(HandleError::TooLarge { size, max: MAX_STORED as u64 });
    }
    let handle = Handle {
        handle_id: HandleId::random(random)?,
        capability_id: grant.capability.id().clone(),
        media_type,
        created_at: grant.now,
        expires_at: grant.now.after(ttl),
        total_rows: rows(&raw.content).map(|rows| rows as u64),
        byte_size: bytes.len() as u64,
        views: grant.views.names(&raw.content),
    };
    Ok(NewHandle { handle, raw, grant, content, bytes, sealed: false })
}

impl NewHandle<'_> {
    /// Encrypts the bytes.
    pub(super) fn seal(&mut self, key: &HandleKey, random: &dyn Random) -> Result<(), HandleError> {
        let (tenant, id) = (self.grant.tenant, &self.handle.handle_id);
        self.bytes = Cow::Owned(key.seal(&self.bytes, tenant, id, random)?);
        self.sealed = true;
        Ok(())
    }

    /// Takes the bytes to where they belong: at most [`MAX_INLINE`] bytes of text and JSON into the
    /// record, everything else into a blob.
    pub(super) fn place(&mut self, blobs: &dyn BlobStore) -> Result<StoredBytes, HandleError> {
        let small = self.handle.byte_size <= MAX_INLINE as u64;
        let inline = small && self.content != ContentKind::Binary;
        let bytes = std::mem::take(&mut self.bytes);
        Ok(match (inline, self.sealed) {
            (true, true) => StoredBytes::Inline(STANDARD.encode(&bytes)),
            (true, false) => match String::from_utf8(bytes.into_owned()) {
                Ok(text) => StoredBytes::Inline(text),
                Err(error) => StoredBytes::Blob(blobs.put(error.as_bytes())?),
            },
            (false, _) => StoredBytes::Blob(blobs.put(&bytes)?),
        })
    }

    /// The record, with where its bytes are. The ledger does not forget it by itself: whoever
    /// removes it removes its bytes too. The driver's findings are not kept: the frame of the call
    /// itself carries them.
    pub(super) fn to_put(&self, bytes: &StoredBytes) -> Result<Put, HandleError> {
        let Self { handle, raw, grant, content, sealed, .. } = self;
        let record = RecordFields {
            allowed_fields: &grant.capability.spec().allowed_fields,
            bytes,
            call: grant.call,
            capability: grant.capability.fingerprint(),
            constraints: grant.constraints,
            content: *content,
            handle,
            is_error: raw.is_error,
            label: grant.label,
            pii: grant.pii_reader,
            principal: grant.principal,
            provenance: raw.provenance.as_ref(),
            run: grant.run,
            sealed: *sealed,
            tenant: grant.tenant,
            v: RECORD_VERSION,
        };
        let value = record.to_bytes()?;
        Ok(Put { key: key(grant.tenant, &handle.handle_id), value, expires_at: None })
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
/// [`HandleError::Expired`], when the bytes were evicted; [`HandleError::Sealed`], when they are
/// encrypted and there is no key; [`HandleError::Damaged`], when they are not of the kind the
/// record says or do not open under the key; [`HandleError::Store`].
pub fn content(
    record: &HandleRecord,
    blobs: &dyn BlobStore,
    key: Option<&HandleKey>,
) -> Result<RawResult, HandleError> {
    let id = &record.handle.handle_id;
    let damaged =
        |detail: &str| HandleError::Damaged { id: id.to_string(), detail: detail.to_owned() };
    let stored = match &record.bytes {
        StoredBytes::Inline(text) if record.sealed => {
            STANDARD.decode(text).map_err(|_| damaged("its content is no base64"))?
        }
        StoredBytes::Inline(text) => text.clone().into_bytes(),
        StoredBytes::Blob(blob) => {
            blobs.get(blob)?.ok_or_else(|| HandleError::Expired { id: id.clone() })?
        }
    };
    let bytes = match (record.sealed, key) {
        (false, _) => stored,
        (true, None) => return Err(HandleError::Sealed { id: id.clone() }),
        (true, Some(key)) => key
            .open(&stored, &record.tenant, id)
            .ok_or_else(|| damaged("its content does not open under the key"))?,
    };
    let content = match record.content {
        ContentKind::Json => {
            json_content(bytes).ok_or_else(|| damaged("its content is no JSON"))?
        }
        ContentKind::Text => RawContent::Text(
            String::from_utf8(bytes).map_err(|_| damaged("its content is no text"))?,
        ),
        ContentKind::Binary => {
            RawContent::Binary { media_type: record.handle.media_type.clone().into_owned(), bytes }
        }
    };
    Ok(RawResult {
        is_error: record.is_error,
        provenance: record.provenance.clone(),
        ..RawResult::of(content)
    })
}

/// The content of stored JSON; many rows stay text.
fn json_content(bytes: Vec<u8>) -> Option<RawContent> {
    let mut text = String::from_utf8(bytes).ok()?;
    if text.len() >= JsonRows::LARGE {
        match JsonRows::parse(text) {
            Ok(rows) => return Some(RawContent::Rows(rows)),
            Err(not_rows) => text = not_rows.text,
        }
    }
    serde_json::from_str(&text).ok().map(RawContent::Json)
}

type Bytes<'a> = (ContentKind, Cow<'static, str>, Cow<'a, [u8]>);

fn written(content: &RawContent) -> Result<Bytes<'_>, HandleError> {
    match content {
        RawContent::Json(value) => {
            let text = json::written(value, MAX_STORED_DEPTH).ok_or_else(|| {
                let detail = format!("it nests deeper than {MAX_STORED_DEPTH} levels");
                HandleError::Unstorable { detail }
            })?;
            Ok((ContentKind::Json, "application/json".into(), text.into()))
        }
        RawContent::Rows(rows) => {
            let bytes = rows.text().as_bytes();
            Ok((ContentKind::Json, "application/json".into(), bytes.into()))
        }
        RawContent::Text(text) => {
            Ok((ContentKind::Text, "text/plain".into(), text.as_bytes().into()))
        }
        RawContent::Binary { media_type: declared, bytes } => {
            Ok((ContentKind::Binary, media_type(declared).into(), bytes.into()))
        }
    }
}
