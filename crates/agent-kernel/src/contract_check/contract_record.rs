//! The stored form of an approved version.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use weaver_types::canonical::{self, Profile};
use weaver_types::{
    AllowedAgents, Capability, CapabilityDraft, CapabilityId, Digest, Effects, SensitivityTag,
    Timestamp,
};

use super::Baseline;
use super::baselines::BaselineReadError;

/// The version of the form.
const VERSION: u8 = 1;
/// The largest contract that is stored, in bytes of canonical JSON.
const MAX_CONTRACT: usize = 64 * 1024;

/// A record of [`Namespace::Baseline`](weaver_types::ledger::Namespace::Baseline) about one tool.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct BaselineRecord {
    v: u8,
    capability: CapabilityId,
    fingerprint: Digest,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    upstream_digest: Option<Digest>,
    effects: Effects,
    approved_by: String,
    at: Timestamp,
    /// The contract itself, if it is not too large.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    contract: Option<ContractTerms>,
}

/// Everything that the fingerprint covers.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ContractTerms {
    name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    description: String,
    idempotent: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    input_schema: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    output_schema: Option<Value>,
    permissions: BTreeSet<String>,
    agents: AllowedAgents,
    sensitivity: BTreeSet<SensitivityTag>,
    tags: BTreeSet<String>,
    allowed_fields: BTreeSet<String>,
    identity_scopes: BTreeSet<String>,
    max_retries: u8,
    timeout_ms: u32,
}

/// The bytes of the record of an approved version.
pub(super) fn to_record_bytes(
    live: &Capability,
    approved_by: &str,
    at: Timestamp,
) -> Option<Vec<u8>> {
    let spec = live.spec();
    let mut form = BaselineRecord {
        v: VERSION,
        capability: live.id().clone(),
        fingerprint: live.fingerprint(),
        upstream_digest: spec.upstream_digest,
        effects: spec.effects,
        approved_by: approved_by.to_owned(),
        at,
        contract: Some(contract_terms(spec)),
    };
    let bytes = canonical::serialize(&form, Profile::Foreign).ok()?;
    if bytes.len() <= MAX_CONTRACT {
        return Some(bytes);
    }
    form.contract = None;
    canonical::serialize(&form, Profile::Foreign).ok()
}

/// Reads the record of the capability with this id.
pub(crate) fn read_record(id: &str, bytes: &[u8]) -> Result<Baseline, BaselineReadError> {
    let value = canonical::parse(bytes, Profile::Foreign)?;
    let version = value.get("v").and_then(Value::as_u64);
    if version.is_some_and(|version| version > u64::from(VERSION)) {
        return Err(BaselineReadError::Newer { known: VERSION });
    }
    let form: BaselineRecord =
        serde_json::from_value(value).map_err(|_| BaselineReadError::Form)?;
    if form.capability.as_str() != id {
        return Err(BaselineReadError::OtherCapability);
    }
    let contract = match form.contract {
        Some(terms) => Some(Box::new(rebuild_capability(
            terms, form.capability, form.effects, form.fingerprint, form.upstream_digest,
        )?)),
        None => None,
    };
    Ok(Baseline {
        fingerprint: form.fingerprint,
        upstream_digest: form.upstream_digest,
        effects: form.effects,
        approved_by: form.approved_by,
        at: form.at,
        contract,
    })
}

fn contract_terms(spec: &CapabilityDraft) -> ContractTerms {
    ContractTerms {
        name: spec.name.clone(),
        title: spec.title.clone(),
        description: spec.description.clone(),
        idempotent: spec.idempotent,
        input_schema: spec.input_schema.as_deref().cloned(),
        output_schema: spec.output_schema.as_deref().cloned(),
        permissions: spec.permissions.clone(),
        agents: spec.agents.clone(),
        sensitivity: spec.sensitivity.clone(),
        tags: spec.tags.clone(),
        allowed_fields: spec.allowed_fields.clone(),
        identity_scopes: spec.identity_scopes.clone(),
        max_retries: spec.max_retries,
        timeout_ms: spec.timeout_ms,
    }
}

/// Rebuilds the approved capability; it must have the approved fingerprint.
fn rebuild_capability(
    terms: ContractTerms,
    id: CapabilityId,
    effects: Effects,
    fingerprint: Digest,
    upstream_digest: Option<Digest>,
) -> Result<Capability, BaselineReadError> {
    let draft = CapabilityDraft {
        title: terms.title,
        description: terms.description,
        idempotent: terms.idempotent,
        input_schema: terms.input_schema.map(Arc::new),
        output_schema: terms.output_schema.map(Arc::new),
        permissions: terms.permissions,
        sensitivity: terms.sensitivity,
        tags: terms.tags,
        allowed_fields: terms.allowed_fields,
        identity_scopes: terms.identity_scopes,
        max_retries: terms.max_retries,
        timeout_ms: terms.timeout_ms,
        upstream_digest,
        ..CapabilityDraft::new(id, terms.name, effects, terms.agents)
    };
    let contract = draft.build().map_err(|_| BaselineReadError::Contract)?;
    if contract.fingerprint() != fingerprint {
        return Err(BaselineReadError::Fingerprint);
    }
    Ok(contract)
}
