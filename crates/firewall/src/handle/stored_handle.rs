//! Stores a result, finds its record, and reads it back.

use std::borrow::Cow;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use weaver_types::ledger::{
    BlobReference, BlobStore, MAX_BLOB, Namespace, Record, RecordKey, RecordWrite,
};
use weaver_types::{
    CallId, Capability, Constraints, Handle, HandleId, JsonRows, Label, PrincipalId, Random,
    RawContent, RawResult, RunId, Tenant, Timestamp,
};

use super::encryption::HandleEncryptionKey;
use super::record::{BytesLocation, ContentKind, HandleRecord, RECORD_VERSION, RecordFields};
use crate::content::{media_type, row_count};
use crate::error::HandleError;
use crate::json_writer;
use crate::view::ViewRegistry;

/// Text and JSON up to this size is stored in the handle's record; everything else is a blob.
pub const MAX_INLINE_BYTES: usize = 4_096;
/// The deepest JSON that is stored; deeper results get no handle.
pub const MAX_STORED_DEPTH: usize = 127;
/// The most bytes of one result: a blob, less what encryption adds.
const MAX_STORED_BYTES: usize = MAX_BLOB - 64;

/// For whom and under which limits a result is stored.
#[derive(Debug, Clone, Copy)]
pub struct HandleGrant<'a> {
    /// The tenant that owns the data.
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
    /// The views that the handle offers.
    pub views: &'a ViewRegistry,
    /// The current time.
    pub now: Timestamp,
}

/// A stored result: its handle, and the record that makes it usable once it is committed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredHandle {
    /// The handle for the model.
    pub handle: Handle,
    /// The record, for the batch that commits the call's outcome.
    pub put: RecordWrite,
    /// Records of evicted and expired results, to be deleted in the same batch.
    pub delete: Vec<RecordKey>,
    /// The blob that the record uses, if any; for the same batch.
    pub blob: Option<BlobReference>,
    /// The keyed name of the bytes in the blob store, if they are there.
    pub(super) digest: Option<String>,
}

/// Who uses a handle, and when.
#[derive(Debug, Clone, Copy)]
pub struct HandleAccess<'a> {
    /// The tenant of the principal.
    pub tenant: &'a Tenant,
    /// The principal.
    pub principal: &'a PrincipalId,
    /// The current time.
    pub now: Timestamp,
}

/// The key of a handle's record.
#[must_use]
pub fn record_key(tenant: &Tenant, id: &HandleId) -> RecordKey {
    RecordKey::new(tenant.clone(), Namespace::Handle, id)
}

/// A result that is being stored.
pub(super) struct PendingHandle<'a> {
    pub(super) handle: Handle,
    raw: &'a RawResult,
    grant: HandleGrant<'a>,
    content: ContentKind,
    bytes: Cow<'a, [u8]>,
    sealed: bool,
}

/// Serialises a result and creates its handle.
pub(super) fn encode<'a>(
    raw: &'a RawResult,
    grant: HandleGrant<'a>,
    ttl: Duration,
    random: &dyn Random,
) -> Result<PendingHandle<'a>, HandleError> {
    let (content, media_type, bytes) = encode_content(&raw.content)?;
    if bytes.len() > MAX_STORED_BYTES {
        let size = bytes.len() as u64;
        return Err(HandleError::TooLarge { size, max: MAX_STORED_BYTES as u64 });
    }
    let handle = Handle {
        handle_id: HandleId::random_at(grant.now, random)?,
        capability_id: grant.capability.id().clone(),
        media_type,
        created_at: grant.now,
        expires_at: grant.now.after(ttl),
        total_rows: row_count(&raw.content).map(|rows| rows as u64),
        byte_size: bytes.len() as u64,
        views: grant.views.names(&raw.content),
    };
    Ok(PendingHandle { handle, raw, grant, content, bytes, sealed: false })
}

impl PendingHandle<'_> {
    /// Encrypts the bytes.
    pub(super) fn seal(
        &mut self,
        key: &HandleEncryptionKey,
        random: &dyn Random,
    ) -> Result<(), HandleError> {
        let (tenant, id) = (self.grant.tenant, &self.handle.handle_id);
        self.bytes = Cow::Owned(key.seal(&self.bytes, tenant, id, random)?);
        self.sealed = true;
        Ok(())
    }

    /// Stores the bytes: text and JSON of at most [`MAX_INLINE_BYTES`] bytes go into the record,
    /// everything else into a blob.
    pub(super) fn store_bytes(
        &mut self,
        blobs: &dyn BlobStore,
    ) -> Result<BytesLocation, HandleError> {
        let small = self.handle.byte_size <= MAX_INLINE_BYTES as u64;
        let inline = small && self.content != ContentKind::Binary;
        let bytes = std::mem::take(&mut self.bytes);
        Ok(match (inline, self.sealed) {
            (true, true) => BytesLocation::Inline(STANDARD.encode(&bytes)),
            (true, false) => match String::from_utf8(bytes.into_owned()) {
                Ok(text) => BytesLocation::Inline(text),
                Err(error) => BytesLocation::Blob(blobs.put(error.as_bytes())?),
            },
            (false, _) => BytesLocation::Blob(blobs.put(&bytes)?),
        })
    }

    /// The record with the location of its bytes. The ledger does not expire it: whoever deletes it
    /// must also remove its bytes. The driver's findings are not stored, since the frame of the
    /// call carries them.
    pub(super) fn to_put(&self, bytes: &BytesLocation) -> Result<RecordWrite, HandleError> {
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
        Ok(RecordWrite {
            key: record_key(grant.tenant, &handle.handle_id),
            value,
            expires_at: None,
        })
    }
}

/// Checks that a handle's record belongs to the caller and has not expired. The caller must also
/// check whether grant, run or principal was revoked ([`HandleError::Revoked`]).
///
/// # Errors
/// [`HandleError::NotFound`] if there is no record or it belongs to another principal, tenant or
/// id; the answer is the same in all cases, so that nobody can probe for handles.
/// [`HandleError::Expired`], [`HandleError::Newer`], [`HandleError::Damaged`].
pub fn authorized_record(
    id: &HandleId,
    record: Option<&Record>,
    access: HandleAccess<'_>,
) -> Result<HandleRecord, HandleError> {
    let missing = || HandleError::NotFound { id: id.clone() };
    // The owner is checked before the expiry, so nobody else learns that the handle existed.
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

/// Reads the stored result of a record.
///
/// # Errors
/// [`HandleError::Expired`] if the bytes were evicted; [`HandleError::Sealed`] if they are
/// encrypted and no key is given; [`HandleError::Damaged`] if they are not of the kind that the
/// record says or do not decrypt; [`HandleError::Store`].
pub fn read_content(
    record: &HandleRecord,
    blobs: &dyn BlobStore,
    key: Option<&HandleEncryptionKey>,
) -> Result<RawResult, HandleError> {
    let id = &record.handle.handle_id;
    let damaged =
        |detail: &str| HandleError::Damaged { id: id.to_string(), detail: detail.to_owned() };
    let stored = match &record.bytes {
        BytesLocation::Inline(text) if record.sealed => {
            STANDARD.decode(text).map_err(|_| damaged("its content is not base64"))?
        }
        BytesLocation::Inline(text) => text.clone().into_bytes(),
        BytesLocation::Blob(blob) => {
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
            json_content(bytes).ok_or_else(|| damaged("its content is not JSON"))?
        }
        ContentKind::Text => RawContent::Text(
            String::from_utf8(bytes).map_err(|_| damaged("its content is not text"))?,
        ),
        ContentKind::Binary => {
            RawContent::Binary { media_type: record.handle.media_type.clone().into_owned(), bytes }
        }
    };
    Ok(RawResult {
        is_error: record.is_error,
        provenance: record.provenance.clone(),
        ..RawResult::new(content)
    })
}

/// Parses stored JSON; a large list of rows stays text.
fn json_content(bytes: Vec<u8>) -> Option<RawContent> {
    let mut text = String::from_utf8(bytes).ok()?;
    if text.len() >= JsonRows::LARGE_BYTES {
        match JsonRows::parse(text) {
            Ok(rows) => return Some(RawContent::Rows(rows)),
            Err(not_rows) => text = not_rows.text,
        }
    }
    serde_json::from_str(&text).ok().map(RawContent::Json)
}

type EncodedContent<'a> = (ContentKind, Cow<'static, str>, Cow<'a, [u8]>);

fn encode_content(content: &RawContent) -> Result<EncodedContent<'_>, HandleError> {
    match content {
        RawContent::Json(value) => {
            let text = json_writer::to_json_bytes(value, MAX_STORED_DEPTH).ok_or_else(|| {
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
