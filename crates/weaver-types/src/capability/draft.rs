//! A capability before it is checked.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;

use super::{Agents, Emit, RecordFields};
use crate::digest::Digest;
use crate::effects::{Effects, Rung, SinkKind};
use crate::id::CapabilityId;
use crate::label::{Confidentiality, Label, SensitivityTag};
use crate::pointer::Pointer;

/// The timeout of a draft that names none, in milliseconds.
const DEFAULT_TIMEOUT_MS: u32 = 5_000;

/// Every field of a capability, before it is checked. There is no default: who writes one says at
/// least what [`CapabilityDraft::new`] asks for.
#[derive(Debug, Clone, PartialEq)]
pub struct CapabilityDraft {
    /// Its id.
    pub id: CapabilityId,
    /// Its name for people.
    pub name: String,
    /// Its title, where the source has one beside the name.
    pub title: Option<String>,
    /// What it does.
    pub description: String,
    /// What it can do to the world.
    pub effects: Effects,
    /// The rung, where an operator set one; otherwise it follows from the effects.
    pub rung: Option<Rung>,
    /// The sink kind, where an operator set one; otherwise the strictest the effects allow.
    pub sink: Option<SinkKind>,
    /// Whether calling it twice is the same as calling it once.
    pub idempotent: bool,
    /// The JSON Schema of its arguments. It is shared by the versions of a capability that differ
    /// in what a contract says alone.
    pub input_schema: Option<Arc<Value>>,
    /// The JSON Schema of its result.
    pub output_schema: Option<Arc<Value>>,
    /// Permissions that its caller must have, all of them.
    pub permissions: BTreeSet<String>,
    /// Agents that may use it.
    pub agents: Agents,
    /// What sensitive data its output may hold.
    pub sensitivity: BTreeSet<SensitivityTag>,
    /// Kinds of personal data that its results show to principals with the role `pii_reader`, for
    /// example `email`. Secrets are never shown.
    pub reveal: BTreeSet<String>,
    /// Kinds of masked values that may be put in place of their masks in its arguments although
    /// they come from another server.
    pub accepts_masked: BTreeSet<String>,
    /// Whether personal data in its results is masked. A signed contract that tags neither PII nor
    /// PCI clears it; secrets are masked all the same.
    pub mask_personal: bool,
    /// Free tags, for policies and search.
    pub tags: BTreeSet<String>,
    /// Fields of its output that may be shown; empty means no restriction.
    pub allowed_fields: BTreeSet<String>,
    /// Identity scopes that it needs at its source.
    pub identity_scopes: BTreeSet<String>,
    /// Attempts after the first, at most [`MAX_RETRIES`](crate::MAX_RETRIES).
    pub max_retries: u8,
    /// Milliseconds, within [`TIMEOUT_MS`](crate::TIMEOUT_MS).
    pub timeout_ms: u32,
    /// Where the records of its output carry their ids, as a signed contract says.
    pub records: Option<RecordFields>,
    /// The label of its output.
    pub output_label: Label,
    /// The most confidential data that may flow into it.
    pub clearance: Confidentiality,
    /// The places of its arguments that say to whom, where, which and how much; `*` stands for
    /// every item of a list and every member of an object, and a place covers what is below it.
    /// Empty where nobody declared any: the policy then reads them off the schema.
    pub critical_arguments: BTreeSet<Pointer>,
    /// The places of its arguments that name who gets something, as a signed contract says. A call
    /// that names nobody there goes nowhere. Empty where every call may go somewhere.
    pub sends_to: BTreeSet<Pointer>,
    /// Telemetry.
    pub emit: Emit,
    /// The digest of the raw bytes in which an upstream described it.
    pub upstream_digest: Option<Digest>,
    /// What whoever took it in found suspect in the words of its server, beside those of the
    /// capability itself. No part of the fingerprint.
    pub suspicions: BTreeSet<String>,
}

impl CapabilityDraft {
    /// A draft that says four things and beyond them nothing that would widen it: executed once,
    /// within 5 seconds, not idempotent, without schemas, tags or demands on its caller, its output
    /// internal and untrusted, its clearance internal. It emits traces and metrics.
    #[must_use]
    pub fn new(
        id: CapabilityId,
        name: impl Into<String>,
        effects: Effects,
        agents: Agents,
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
            emit: Emit { trace: true, metric: true },
            upstream_digest: None,
            suspicions: BTreeSet::new(),
        }
    }
}
