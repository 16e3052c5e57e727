//! The stored form of a handle.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use weaver_types::canonical::{self, Profile};
use weaver_types::digest::Digest;
use weaver_types::ledger::BlobId;
use weaver_types::{
    CallId, Constraints, Handle, Label, PrincipalId, RunId, Tenant, ToolProvenance,
};

use crate::error::HandleError;

/// The version of the stored form.
pub const RECORD_VERSION: u64 = 2;

/// How the stored bytes are interpreted.
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
pub enum BytesLocation {
    /// In the record itself: a small text, committed together with the record.
    Inline(String),
    /// In the blob store.
    Blob(BlobId),
}

/// The record of a handle: for whom, from what, under which limits, and where the bytes are.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HandleRecord {
    /// The capability's list of allowed fields when the result was stored; empty for no
    /// restriction.
    pub allowed_fields: BTreeSet<String>,
    /// The bytes, or where they are.
    pub bytes: BytesLocation,
    /// The call that made it.
    pub call: CallId,
    /// The fingerprint of the capability that produced the result.
    pub capability: Digest,
    /// The constraints under which the call was allowed.
    pub constraints: Constraints,
    /// How the bytes are interpreted.
    pub content: ContentKind,
    /// The handle as it was issued.
    pub handle: Handle,
    /// True if the tool itself reported a failure.
    pub is_error: bool,
    /// The label of the stored, unredacted data.
    pub label: Label,
    /// True if the principal was exempt from the allowed fields when the result was stored.
    pub pii: bool,
    /// The only principal that may use the handle.
    pub principal: PrincipalId,
    /// Where the data came from, if known.
    #[serde(default)]
    pub provenance: Option<ToolProvenance>,
    /// The run in which it was made.
    pub run: RunId,
    /// True if the bytes are encrypted; inline bytes are then base64.
    #[serde(default)]
    pub sealed: bool,
    /// The tenant that owns the data.
    pub tenant: Tenant,
    /// The version of this form: [`RECORD_VERSION`].
    pub v: u64,
}

/// A borrowed view of a record for serialising.
///
/// The fields are in canonical order, so that the canonical writer does not have to sort them.
#[derive(Serialize)]
pub(super) struct RecordFields<'a> {
    pub(super) allowed_fields: &'a BTreeSet<String>,
    pub(super) bytes: &'a BytesLocation,
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

/// Typical bytes of a record besides inline content, with a margin.
const RECORD_OVERHEAD: usize = 768;

impl RecordFields<'_> {
    /// The canonical bytes.
    pub(super) fn to_bytes(&self) -> Result<Vec<u8>, HandleError> {
        let inline = match self.bytes {
            BytesLocation::Inline(text) => text.len(),
            BytesLocation::Blob(_) => 0,
        };
        canonical::serialize_with_capacity(self, Profile::Document, RECORD_OVERHEAD + inline)
            .map_err(|error| HandleError::Unstorable { detail: error.to_string() })
    }
}

impl HandleRecord {
    /// The constraints for a drill-down that is decided now: the record's and the new decision's,
    /// the tighter of each. The allowed fields stored with the record apply too, unless the
    /// principal was exempt then and still is.
    #[must_use]
    pub fn tightened_constraints(&self, now: &Constraints, pii_reader: bool) -> Constraints {
        let mut joined = self.constraints.clone().join(now);
        let exempt = self.pii && pii_reader;
        if !exempt && !self.allowed_fields.is_empty() {
            let stored_fields = Constraints {
                allowed_fields: Some(self.allowed_fields.clone()),
                ..Constraints::default()
            };
            joined = joined.join(&stored_fields);
        }
        joined
    }

    /// Parses canonical bytes; `id` names the record in errors.
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
        if found != RECORD_VERSION {
            return Err(damaged(format!("no release wrote version {found}")));
        }
        serde_json::from_value(value).map_err(|e| damaged(e.to_string()))
    }
}
