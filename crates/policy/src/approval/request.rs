//! The request that a held call opens.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use weaver_types::canonical::{self, CanonicalError, Profile};
use weaver_types::digest::Tag;
use weaver_types::{
    AgentId, Authority, CapabilityId, Check, Contribution, Decision, Digest, Justification, Label,
    LogId, Precondition, PrincipalId, ReasonCode, RequestId, RunId, Tenant, Timestamp,
};

use super::Nonce;

/// One hold of a decision, as the request names it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeldCheck {
    /// Which check holds.
    pub check: Check,
    /// Why.
    pub reason: ReasonCode,
    /// What exactly, in words, where one check can hold for several things: the rule or the signal.
    /// An approval releases these and no others. Empty for every other check.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
    /// Who could release it.
    #[serde(default)]
    pub authority: Authority,
}

impl HeldCheck {
    /// The holds of a decision that an approval would discharge. Any other hold or a denial is not
    /// among them, so a request for it would release nothing.
    #[must_use]
    pub fn of(decision: &Decision) -> Vec<Self> {
        let mut out = Vec::new();
        for contribution in decision.contributions().iter().filter(|c| c.waits_for_people()) {
            let held = Self {
                check: contribution.check,
                reason: contribution.reason,
                detail: what_holds(contribution).to_owned(),
                authority: contribution.authority.clone(),
            };
            if !out.contains(&held) {
                out.push(held);
            }
        }
        out
    }
}

/// What a hold names, where its check and reason alone could mean several things.
pub(super) fn what_holds(contribution: &Contribution) -> &str {
    match contribution.check {
        Check::Rule | Check::Signal => &contribution.detail,
        _ => "",
    }
}

/// A precondition with what was observed when the request was opened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ObservedPrecondition {
    /// The fact.
    pub precondition: Precondition,
    /// Its value then, for example `sha256:…`.
    pub value: String,
}

/// Everything that an approver decides about. The signature of a [`Resolution`](super::Resolution)
/// covers all of it, through [`ApprovalRequest::digest`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApprovalRequest {
    /// The version of this form: 1.
    pub v: u64,
    /// Its name.
    pub id: RequestId,
    /// Makes it unlike any other request.
    pub nonce: Nonce,
    /// Whose data it works on.
    pub tenant: Tenant,
    /// The log that it stands in.
    pub log: LogId,
    /// What is to be called.
    pub capability: CapabilityId,
    /// Exactly which version of it.
    pub fingerprint: Digest,
    /// The exact arguments.
    pub arguments: Value,
    /// The policy under which it was held.
    pub policy: Digest,
    /// The contracts under which it was held.
    pub contracts: Digest,
    /// Who asks.
    pub principal: PrincipalId,
    /// The agent that acts for the principal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentId>,
    /// The run.
    pub run: RunId,
    /// The label of the run then.
    pub label: Label,
    /// What holds it.
    pub holds: Vec<HeldCheck>,
    /// Who can release it: the authority of all holds joined.
    pub authority: Authority,
    /// Why it is held, in words.
    pub detail: String,
    /// The goal, as the requester gave it.
    pub intent: String,
    /// The justification, as the requester gave it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub justification: Option<Justification>,
    /// Facts that must be the same when the call is made.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub preconditions: Vec<ObservedPrecondition>,
    /// When it was opened.
    pub opened_at: Timestamp,
    /// From when on nothing releases it.
    pub deadline: Timestamp,
    /// The request whose place it took when the policy changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub supersedes: Option<RequestId>,
}

impl ApprovalRequest {
    /// The bytes that are displayed and signed: canonical JSON, profile foreign.
    ///
    /// # Errors
    /// [`CanonicalError`], for arguments that cannot be written canonically.
    pub fn to_bytes(&self) -> Result<Vec<u8>, CanonicalError> {
        canonical::of(self, Profile::Foreign)
    }

    /// The digest of [`ApprovalRequest::to_bytes`], under its own tag.
    ///
    /// # Errors
    /// [`CanonicalError`], as [`ApprovalRequest::to_bytes`].
    pub fn digest(&self) -> Result<Digest, CanonicalError> {
        Ok(Digest::of(Tag::APPROVAL, &self.to_bytes()?))
    }

    /// The digest of the arguments alone, under the tag of arguments.
    ///
    /// # Errors
    /// [`CanonicalError`], for arguments that cannot be written canonically.
    pub fn arguments_digest(&self) -> Result<Digest, CanonicalError> {
        arguments_digest(&self.arguments)
    }

    /// Everything in it, for a terminal: one entry a line, long values whole, and each character
    /// that a reader would not see, or would see elsewhere, as an escape. The text is made from the
    /// bytes that [`ApprovalRequest::digest`] covers, and ends with that digest.
    ///
    /// # Errors
    /// [`CanonicalError`], as [`ApprovalRequest::to_bytes`].
    pub fn render(&self) -> Result<String, CanonicalError> {
        let bytes = self.to_bytes()?;
        super::render::document(&bytes, Digest::of(Tag::APPROVAL, &bytes))
    }
}

/// The digest of arguments, under their own tag.
pub(super) fn arguments_digest(arguments: &Value) -> Result<Digest, CanonicalError> {
    Ok(Digest::of(Tag::ARGS, &canonical::to_bytes(arguments, Profile::Foreign)?))
}
