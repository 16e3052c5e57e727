//! A capability before validation.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;

use super::{AllowedAgents, RecordIdentity, TelemetrySettings};
use crate::digest::Digest;
use crate::effects::{Effects, Rung, SinkKind};
use crate::id::CapabilityId;
use crate::json_pointer::JsonPointer;
use crate::label::{Confidentiality, Label, SensitivityTag};

/// The default timeout, in milliseconds.
const DEFAULT_TIMEOUT_MS: u32 = 5_000;

/// Every field of a capability, before validation. There is no `Default`: [`CapabilityDraft::new`]
/// asks for the fields that have no safe default.
#[derive(Debug, Clone, PartialEq)]
pub struct CapabilityDraft {
    /// Its id.
    pub id: CapabilityId,
    /// Its name for people.
    pub name: String,
    /// Its title, when the source has one besides the name.
    pub title: Option<String>,
    /// What it does.
    pub description: String,
    /// Its effects on the world.
    pub effects: Effects,
    /// The rung, if an operator set one; otherwise it follows from the effects.
    pub rung: Option<Rung>,
    /// The sink kind, if an operator set one; otherwise the strictest that the effects allow.
    pub sink: Option<SinkKind>,
    /// Whether calling it twice has the same effect as calling it once.
    pub idempotent: bool,
    /// The JSON Schema of its arguments. Versions that differ only in what a contract says share
    /// it.
    pub input_schema: Option<Arc<Value>>,
    /// The JSON Schema of its result.
    pub output_schema: Option<Arc<Value>>,
    /// Permissions that the caller must have, all of them.
    pub permissions: BTreeSet<String>,
    /// Agents that may use it.
    pub agents: AllowedAgents,
    /// Kinds of sensitive data that its output may contain.
    pub sensitivity: BTreeSet<SensitivityTag>,
    /// Kinds of personal data that its results show to principals with the role `pii_reader`, for
    /// example `email`. Secrets are never shown.
    pub reveal: BTreeSet<String>,
    /// Kinds of masked values that may replace their masks in its arguments even when they come
    /// from another server.
    pub accepts_masked: BTreeSet<String>,
    /// Whether personal data in its results is masked. A signed contract that tags neither PII nor
    /// PCI clears this; secrets are masked regardless.
    pub mask_personal: bool,
    /// Free tags, for policies and search.
    pub tags: BTreeSet<String>,
    /// Fields of its output that may be shown; empty means no restriction.
    pub allowed_fields: BTreeSet<String>,
    /// Identity scopes that it needs at its source.
    pub identity_scopes: BTreeSet<String>,
    /// Retries after the first attempt, at most [`MAX_RETRIES`](crate::MAX_RETRIES).
    pub max_retries: u8,
    /// Milliseconds, within [`TIMEOUT_MS`](crate::TIMEOUT_MS).
    pub timeout_ms: u32,
    /// Where records in its output carry their ids, as a signed contract says.
    pub records: Option<RecordIdentity>,
    /// The label of its output.
    pub output_label: Label,
    /// The most confidential data that may flow into it.
    pub clearance: Confidentiality,
    /// The arguments that decide on recipient, destination, object and amount; `*` stands for every
    /// item of a list and every member of an object, and a pointer covers everything below it.
    /// Empty when nobody declared any: the policy then derives them from the schema.
    pub critical_arguments: BTreeSet<JsonPointer>,
    /// The arguments that name a recipient, as a signed contract says. A call that names nobody
    /// there sends nothing. Empty when every call may send something.
    pub sends_to: BTreeSet<JsonPointer>,
    /// Telemetry.
    pub emit: TelemetrySettings,
    /// The digest of the raw definition as the upstream sent it.
    pub upstream_digest: Option<Digest>,
    /// What the importing side found suspicious in the server's texts, in addition to the
    /// capability's own text. Not part of the fingerprint.
    pub suspicions: BTreeSet<String>,
}

impl CapabilityDraft {
    /// A draft with these four fields and otherwise the most restrictive defaults: executed once,
    /// within 5 seconds, not idempotent, without schemas, tags or demands on its caller, its output
    /// internal and untrusted, its clearance internal. It emits traces and metrics.
    #[must_use]
    pub fn new(
        id: CapabilityId,
        name: impl Into<String>,
        effects: Effects,
        agents: AllowedAgents,
    ) -> Self {
        Self {
            id,
            name: name.into(),
            title: None,
            description: String::new(),
            effects,
            rung: None,
            sink: None,
            idempotent: false,
            input_schema: None,
            output_schema: None,
            permissions: BTreeSet::new(),
            agents,
            sensitivity: BTreeSet::new(),
            reveal: BTreeSet::new(),
            accepts_masked: BTreeSet::new(),
            mask_personal: true,
            tags: BTreeSet::new(),
            allowed_fields: BTreeSet::new(),
            identity_scopes: BTreeSet::new(),
            max_retries: 0,
            timeout_ms: DEFAULT_TIMEOUT_MS,
            records: None,
            output_label: Label::undeclared_output(),
            clearance: Confidentiality::Internal,
            critical_arguments: BTreeSet::new(),
            sends_to: BTreeSet::new(),
            emit: TelemetrySettings { trace: true, metric: true },
            upstream_digest: None,
            suspicions: BTreeSet::new(),
        }
    }
}
