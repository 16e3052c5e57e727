//! The stored form of a handle.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize, Serializer};
use weaver_types::canonical::{self, Profile};
use weaver_types::digest::Digest;
use weaver_types::ledger::BlobId;
use weaver_types::{
    CallId, Constraints, Handle, Label, PrincipalId, RunId, Tenant, ToolProvenance,
};

use crate::error::HandleError;

/// The version of the stored form; version 1, which could not be encrypted, is read too.
pub const RECORD_VERSION: u64 = 2;

/// How the bytes of a stored result are to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ContentKind {
    /// JSON text.
    Json,
    /// UTF-8 text.
    Text,
    /// Bytes of the handle's media type.
    Binary,
}

/// Where the bytes of a stored result are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StoredBytes {
    /// In the record itself: a small text, so that it is written with the record in one commit.
    Inline(String),
    /// In the blob store.
    Blob(BlobId),
}

/// What stands behind a handle: for whom, from what, under which limits, and where the bytes are.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HandleRecord {
    /// The capability's list of allowed fields at that time; empty means no restriction.
    pub allowed_fields: BTreeSet<String>,
    /// The bytes, or where they are.
    pub bytes: StoredBytes,
    /// The call that made it.
    pub call: CallId,
    /// The fingerprint of the capability that produced the result.
    pub capability: Digest,
    /// The constraints under which the call was allowed.
    pub constraints: Constraints,
    /// How the bytes are to be read.
    pub content: ContentKind,
    /// The handle as it was given out.
    pub handle: Handle,
    /// True when the tool itself said that it failed.
    pub is_error: bool,
    /// The label of the stored, unredacted data.
    pub label: Label,
    /// True when the principal was exempt from the allowed fields at that time.
    pub pii: bool,
    /// The only principal that may use it.
    pub principal: PrincipalId,
    /// Where the data came from, if known.
    #[serde(default)]
    pub provenance: Option<ToolProvenance>,
    /// The run in which it was made.
    pub run: RunId,
    /// True when the bytes are encrypted; inline ones are then base64.
    #[serde(default)]
    pub sealed: bool,
    /// Whose data.
    pub tenant: Tenant,
    /// The version of this form: [`RECORD_VERSION`].
    pub v: u64,
}

/// A record as it is written, of parts that lie elsewhere.
///
/// Its fields are in the order in which they are written, so that none has to be moved.
#[derive(Serialize)]
pub(super) struct RecordFields<'a> {
    pub(super) allowed_fields: &'a BTreeSet<String>,
    pub(super) bytes: &'a StoredBytes,
    pub(super) call: &'a CallId,
    pub(super) capability: Digest,
    pub(super) constraints: &'a Constraints,
    pub(super) content: ContentKind,
    pub(super) handle: &'a Handle,
    pub(super) is_error: bool,
    pub(super) label: &'a Label,
    pub(super) pii: bool,
    pub(super) principal: &'a PrincipalId,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) provenance: Option<&'a ToolProvenance>,
    pub(super) run: &'a RunId,
    #[serde(skip_serializing_if = "is_false")]
    pub(super) sealed: bool,
    pub(super) tenant: &'a Tenant,
    pub(super) v: u64,
}

fn is_false(value: &bool) -> bool {
    !value
}

/// Bytes that most records have beside those of their result, and a few more.
const ROOM: usize = 768;

impl RecordFields<'_> {
    /// The canonical bytes.
    pub(super) fn to_bytes(&self) -> Result<Vec<u8>, HandleError> {
        let inline = match self.bytes {
            StoredBytes::Inline(text) => text.len(),
            StoredBytes::Blob(_) => 0,
        };
        canonical::of_about(self, Profile::Document, ROOM + inline)
            .map_err(|error| HandleError::Unstorable { detail: error.to_string() })
    }
}

impl Serialize for HandleRecord {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.written().serialize(serializer)
    }
}

impl HandleRecord {
    /// The constraints for a drill-down that is decided now: those of the record and those of the
    /// new decision, the tighter in each component. The capability's allowed fields of the time
    /// of storing are among them, unless the principal was exempt then and is now.
    #[must_use]
    pub fn tighten(&self, now: &Constraints, pii_reader: bool) -> Constraints {
        let mut joined = self.constraints.clone().join(now);
        let exempt = self.pii && pii_reader;
        if !exempt && !self.allowed_fields.is_empty() {
            let own = Constraints {
                allowed_fields: Some(self.allowed_fields.clone()),
                ..Constraints::default()
            };
            joined = joined.join(&own);
        }
        joined
    }

    fn written(&self) -> RecordFields<'_> {
        RecordFields {
            allowed_fields: &self.allowed_fields,
            bytes: &self.bytes,
            call: &self.call,
            capability: self.capability,
            constraints: &self.constraints,
            content: self.content,
            handle: &self.handle,
            is_error: self.is_error,
            label: &self.label,
            pii: self.pii,
            principal: &self.principal,
            provenance: self.provenance.as_ref(),
            run: &self.run,
            sealed: self.sealed,
            tenant: &self.tenant,
            v: self.v,
        }
    }

    /// The canonical bytes.
    ///
    /// # Errors
    /// [`HandleError::Unstorable`], when a value has no canonical form.
    pub fn to_bytes(&self) -> Result<Vec<u8>, HandleError> {
        self.written().to_bytes()
    }

    /// Reads canonical bytes; `id` names the record in errors.
    ///
    /// # Errors
    /// [`HandleError::Newer`] or [`HandleError::Damaged`].
    pub fn from_bytes(id: &str, bytes: &[u8]) -> Result<Self, HandleError> {
        let damaged = |detail: String| HandleError::Damaged { id: id.to_owned(), detail };
        let value =
            canonical::parse(bytes, Profile::Document).map_err(|e| damaged(e.to_string()))?;
        let found = value
            .get("v")
            .and_then(serde_json::Value::as_u64)
            .ok_or_else(|| damaged("it has no version".to_owned()))?;
        if found > RECORD_VERSION {
            return Err(HandleError::Newer { id: id.to_owned(), found, known: RECORD_VERSION });
        }
        if found == 0 {
            return Err(damaged(format!("version {found} never existed")));
        }
        serde_json::from_value(value).map_err(|e| damaged(e.to_string()))
    }
}
