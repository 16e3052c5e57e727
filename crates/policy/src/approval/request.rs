//! The approval request that a held call opens.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use weaver_types::canonical::{self, CanonicalError, Profile};
use weaver_types::digest::DomainTag;
use weaver_types::{
    AgentId, ApprovalAuthority, ApprovalRequestId, CapabilityId, CheckKind, CheckResult, Decision,
    Digest, Justification, Label, LogId, Precondition, PrincipalId, ReasonCode, RunId, Tenant,
    Timestamp,
};

use super::Nonce;

/// One hold of a decision, as listed in an approval request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeldCheck {
    /// The check that holds the call.
    pub check: CheckKind,
    /// Why.
    pub reason: ReasonCode,
    /// The rule or signal that holds the call, as one check can hold it for several. An approval
    /// releases these and no others. Empty for every other check.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
    /// The authority needed to release it.
    #[serde(default)]
    pub authority: ApprovalAuthority,
}

impl HeldCheck {
    /// The holds of a decision that an approval can release, each once. Denials and other holds are
    /// left out, because a request for them would release nothing.
    #[must_use]
    pub fn from_decision(decision: &Decision) -> Vec<Self> {
        let mut out = Vec::new();
        for check_result in decision.check_results().iter().filter(|c| c.needs_human_approval()) {
            let held = Self {
                check: check_result.check,
                reason: check_result.reason,
                detail: hold_detail(check_result).to_owned(),
                authority: check_result.authority.clone(),
            };
            if !out.contains(&held) {
                out.push(held);
            }
        }
        out
    }
}

/// The detail that identifies a hold whose check and reason alone are ambiguous.
pub(super) fn hold_detail(check_result: &CheckResult) -> &str {
    match check_result.check {
        CheckKind::Rule | CheckKind::Signal => &check_result.detail,
        _ => "",
    }
}

/// A precondition with the value observed when the request was opened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ObservedPrecondition {
    /// The fact to observe.
    pub precondition: Precondition,
    /// The observed value, for example `sha256:…`.
    pub value: String,
}

/// Everything that an approver decides on. The signature of a [`Resolution`](super::Resolution)
/// covers all of it through [`ApprovalRequest::digest`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApprovalRequest {
    /// The format version: 1.
    pub v: u64,
    /// The id of the request.
    pub id: ApprovalRequestId,
    /// Makes this request unique.
    pub nonce: Nonce,
    /// The tenant whose data the call works on.
    pub tenant: Tenant,
    /// The log that records it.
    pub log: LogId,
    /// The capability to call.
    pub capability: CapabilityId,
    /// The exact version of the capability.
    pub fingerprint: Digest,
    /// The exact arguments.
    pub arguments: Value,
    /// The folder in which the call works, where that decides what its arguments mean: a relative path means
    /// something else in another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// The policy under which it was held.
    pub policy: Digest,
    /// The contracts under which it was held.
    pub contracts: Digest,
    /// The requester.
    pub principal: PrincipalId,
    /// The agent that acts for the principal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentId>,
    /// The run.
    pub run: RunId,
    /// The label of the run when the request was opened.
    pub label: Label,
    /// The holds to release.
    pub holds: Vec<HeldCheck>,
    /// The authority needed to release it: the join over all holds.
    pub authority: ApprovalAuthority,
    /// Why the call is held, for people.
    pub detail: String,
    /// The goal, as stated by the requester.
    pub intent: String,
    /// The justification, as stated by the requester.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub justification: Option<Justification>,
    /// Facts that must be unchanged when the call is made.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub preconditions: Vec<ObservedPrecondition>,
    /// When it was opened.
    pub opened_at: Timestamp,
    /// The time from which nothing releases it.
    pub deadline: Timestamp,
    /// The request that this one replaced when the policy changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub supersedes: Option<ApprovalRequestId>,
    /// How many calls of the run had written, or moved a session, without that a person answered a request for them. A
    /// further one may change what the arguments name, so whoever agrees must have seen it
    /// ([`Resolution::seen_writes`](super::Resolution::seen_writes)).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unreviewed_writes: u64,
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

impl ApprovalRequest {
    /// The bytes that are displayed and signed: canonical JSON in the foreign profile.
    ///
    /// # Errors
    /// [`CanonicalError`], for arguments that cannot be written canonically.
    pub fn to_bytes(&self) -> Result<Vec<u8>, CanonicalError> {
        canonical::serialize(self, Profile::Foreign)
    }

    /// The digest of [`ApprovalRequest::to_bytes`], with its own domain-separation tag.
    ///
    /// # Errors
    /// [`CanonicalError`], as [`ApprovalRequest::to_bytes`].
    pub fn digest(&self) -> Result<Digest, CanonicalError> {
        Ok(Digest::of(DomainTag::APPROVAL, &self.to_bytes()?))
    }

    /// The digest of the arguments alone, with the tag for arguments.
    ///
    /// # Errors
    /// [`CanonicalError`], for arguments that cannot be written canonically.
    pub fn arguments_digest(&self) -> Result<Digest, CanonicalError> {
        arguments_digest(&self.arguments)
    }

    /// Renders the whole request for a terminal: one entry per line, long values in full, and every
    /// character that is invisible or moves text as an escape. The text is produced from the bytes
    /// that [`ApprovalRequest::digest`] covers, and ends with that digest.
    ///
    /// # Errors
    /// [`CanonicalError`], as [`ApprovalRequest::to_bytes`].
    pub fn render(&self) -> Result<String, CanonicalError> {
        let bytes = self.to_bytes()?;
        super::render::render_document(&bytes, Digest::of(DomainTag::APPROVAL, &bytes))
    }

    /// Renders only these fields, by their names in the canonical form, in this order and as
    /// [`ApprovalRequest::render`] does.
    ///
    /// # Errors
    /// [`CanonicalError`], as [`ApprovalRequest::to_bytes`].
    pub fn render_fields(&self, names: &[&str]) -> Result<String, CanonicalError> {
        super::render::render_fields(&self.to_bytes()?, names)
    }
}

/// The digest of arguments, with their own domain-separation tag.
pub(super) fn arguments_digest(arguments: &Value) -> Result<Digest, CanonicalError> {
    Ok(Digest::of(DomainTag::ARGS, &canonical::to_bytes(arguments, Profile::Foreign)?))
}
