//! Capabilities: what can be called, and the fingerprint that identifies one exact version.

mod draft;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::canonical::{self, CanonicalError, Profile};
use crate::digest::{Digest, DomainTag};
use crate::effects::{Effects, Rung, SafetyClass, SinkKind};
use crate::id::{AgentId, CapabilityId};
use crate::label::SensitivityTag;

pub use draft::CapabilityDraft;

/// Most attempts after the first that a capability may declare.
pub const MAX_RETRIES: u8 = 5;
/// The bounds of a timeout, in milliseconds.
pub const TIMEOUT_MS: std::ops::RangeInclusive<u32> = 100..=3_600_000;
/// The longest name, in bytes.
pub const MAX_NAME: usize = 256;
/// The longest description, in bytes.
pub const MAX_DESCRIPTION: usize = 64 * 1024;

/// Which agents may use a capability.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AllowedAgents {
    /// Every agent; must be stated explicitly.
    Any,
    /// Only these; an empty set admits nobody.
    Only(BTreeSet<AgentId>),
}

impl AllowedAgents {
    /// True when `agent` may use the capability. A caller without an agent passes only under
    /// [`AllowedAgents::Any`].
    #[must_use]
    pub fn admits(&self, agent: Option<&AgentId>) -> bool {
        match self {
            Self::Any => true,
            Self::Only(agents) => agent.is_some_and(|agent| agents.contains(agent)),
        }
    }
}

/// The members of an output record that identify it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RecordIdentity {
    /// The member that holds the id. The source assigns it; whoever fills in the record cannot
    /// choose it.
    pub id: String,
    /// The member that holds the name people use for the record, for example its title.
    pub name: Option<String>,
}

/// Which telemetry a capability emits: spans and metrics. The log is not affected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TelemetrySettings {
    /// A span per call.
    pub trace: bool,
    /// Metrics per call.
    pub metric: bool,
}

/// Why a draft cannot become a capability.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CapabilityError {
    /// A number is out of its bounds.
    #[error("capability `{id}`: {field} is {value}; it must be within {bounds}")]
    OutOfBounds {
        /// The capability.
        id: String,
        /// The field.
        field: &'static str,
        /// The actual value.
        value: u64,
        /// The allowed range.
        bounds: &'static str,
    },
    /// A text is missing or too long.
    #[error("capability `{id}`: {field} {problem}")]
    Text {
        /// The capability.
        id: String,
        /// The field.
        field: &'static str,
        /// What is wrong.
        problem: &'static str,
    },
    /// A schema is neither an object nor a boolean, or cannot be written canonically.
    #[error("capability `{id}`: {field} {problem}")]
    Schema {
        /// The capability.
        id: String,
        /// The field.
        field: &'static str,
        /// What is wrong.
        problem: String,
    },
}

impl CapabilityError {
    /// The stable code of this error.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::OutOfBounds { .. } => "capability.out_of_bounds",
            Self::Text { .. } => "capability.text",
            Self::Schema { .. } => "capability.schema",
        }
    }
}

/// A validated capability with its fingerprint.
#[derive(Debug, Clone, PartialEq)]
pub struct Capability {
    draft: CapabilityDraft,
    fingerprint: Digest,
}

/// The hashed form. Its field names are part of the fingerprint and never change within one
/// version.
#[derive(Serialize)]
struct FingerprintForm<'a> {
    v: u8,
    id: &'a CapabilityId,
    name: &'a str,
    title: Option<&'a str>,
    description: &'a str,
    effects: Effects,
    safety_class: SafetyClass,
    idempotent: bool,
    input_schema: Option<&'a Value>,
    output_schema: Option<&'a Value>,
    requires_permission: &'a BTreeSet<String>,
    agents: &'a AllowedAgents,
    sensitivity: &'a BTreeSet<SensitivityTag>,
    tags: &'a BTreeSet<String>,
    allowed_fields: &'a BTreeSet<String>,
    identity_scopes: &'a BTreeSet<String>,
    max_retries: u8,
    timeout_ms: u32,
}

impl CapabilityDraft {
    /// Checks the bounds and computes the fingerprint.
    ///
    /// # Errors
    /// [`CapabilityError`], naming the field and its bounds.
    pub fn build(self) -> Result<Capability, CapabilityError> {
        self.check_numbers()?;
        if self.name.trim().is_empty() {
            return Err(self.text_problem("name", "is empty"));
        }
        self.check_length("name", &self.name, MAX_NAME)?;
        self.check_length("description", &self.description, MAX_DESCRIPTION)?;
        for (field, schema) in
            [("input schema", &self.input_schema), ("output schema", &self.output_schema)]
        {
            if schema.as_ref().is_some_and(|s| !s.is_object() && !s.is_boolean()) {
                return Err(CapabilityError::Schema {
                    id: self.id.to_string(),
                    field,
                    problem: "is neither an object nor a boolean".to_owned(),
                });
            }
        }
        let fingerprint = self.fingerprint().map_err(|error| CapabilityError::Schema {
            id: self.id.to_string(),
            field: "a schema",
            problem: format!("cannot be written canonically: {error}"),
        })?;
        Ok(Capability { draft: self, fingerprint })
    }

    fn check_numbers(&self) -> Result<(), CapabilityError> {
        let out = |field, value: u64, bounds| CapabilityError::OutOfBounds {
            id: self.id.to_string(),
            field,
            value,
            bounds,
        };
        if self.max_retries > MAX_RETRIES {
            return Err(out("max_retries", self.max_retries.into(), "0 to 5"));
        }
        if !TIMEOUT_MS.contains(&self.timeout_ms) {
            return Err(out("timeout_ms", self.timeout_ms.into(), "100 to 3600000"));
        }
        Ok(())
    }

    fn check_length(
        &self,
        field: &'static str,
        text: &str,
        max: usize,
    ) -> Result<(), CapabilityError> {
        if text.len() > max {
            return Err(self.text_problem(field, "is too long"));
        }
        Ok(())
    }

    fn text_problem(&self, field: &'static str, problem: &'static str) -> CapabilityError {
        CapabilityError::Text { id: self.id.to_string(), field, problem }
    }

    fn fingerprint(&self) -> Result<Digest, CanonicalError> {
        let form = FingerprintForm {
            v: 1,
            id: &self.id,
            name: &self.name,
            title: self.title.as_deref(),
            description: &self.description,
            effects: self.effects,
            safety_class: self.effects.class(),
            idempotent: self.idempotent,
            input_schema: self.input_schema.as_deref(),
            output_schema: self.output_schema.as_deref(),
            requires_permission: &self.permissions,
            agents: &self.agents,
            sensitivity: &self.sensitivity,
            tags: &self.tags,
            allowed_fields: &self.allowed_fields,
            identity_scopes: &self.identity_scopes,
            max_retries: self.max_retries,
            timeout_ms: self.timeout_ms,
        };
        Ok(Digest::of(DomainTag::FINGERPRINT, &canonical::serialize(&form, Profile::Foreign)?))
    }
}

impl Capability {
    /// Its id.
    #[must_use]
    pub fn id(&self) -> &CapabilityId {
        &self.draft.id
    }

    /// All fields.
    #[must_use]
    pub fn spec(&self) -> &CapabilityDraft {
        &self.draft
    }

    /// The fields, to be changed and validated again.
    #[must_use]
    pub fn into_draft(self) -> CapabilityDraft {
        self.draft
    }

    /// `sha256:…` over everything that a policy or a model sees of the capability. Not covered,
    /// because signed documents state it: policy, rung, sink, labels, critical arguments. Not
    /// covered either: driver and telemetry.
    #[must_use]
    pub fn fingerprint(&self) -> Digest {
        self.fingerprint
    }

    /// The effective rung: the operator's, or the one that follows from the effects.
    #[must_use]
    pub fn rung(&self) -> Rung {
        self.draft.rung.unwrap_or_else(|| self.draft.effects.rung())
    }

    /// The class that follows from the effects.
    #[must_use]
    pub fn class(&self) -> SafetyClass {
        self.draft.effects.class()
    }

    /// The effective sink kind: the operator's, or the strictest that the effects allow.
    #[must_use]
    pub fn sink(&self) -> SinkKind {
        self.draft.sink.unwrap_or_else(|| self.draft.effects.strictest_sink())
    }

    /// The public description: without driver, operation and allowed fields.
    #[must_use]
    pub fn descriptor(&self) -> CapabilityDescriptor {
        CapabilityDescriptor {
            id: self.draft.id.clone(),
            name: self.draft.name.clone(),
            title: self.draft.title.clone(),
            description: self.draft.description.clone(),
            effects: self.draft.effects,
            class: self.class(),
            rung: self.rung(),
            sensitivity: self.draft.sensitivity.clone(),
            tags: self.draft.tags.clone(),
            fingerprint: self.fingerprint,
        }
    }
}

/// The public description of a capability.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CapabilityDescriptor {
    /// Its id.
    pub id: CapabilityId,
    /// Its name.
    pub name: String,
    /// Its title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it does.
    pub description: String,
    /// Its effects.
    pub effects: Effects,
    /// Its class.
    pub class: SafetyClass,
    /// Its rung.
    pub rung: Rung,
    /// Sensitive data its output may hold.
    pub sensitivity: BTreeSet<SensitivityTag>,
    /// Free tags.
    pub tags: BTreeSet<String>,
    /// Its fingerprint.
    pub fingerprint: Digest,
}
