//! How a tool stands against what was approved of it.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use weaver_agent_kernel::{Baseline, BaselineState, Baselines, suspicions};
use weaver_policy::{ContractStatus, Drift, PolicySet};
use weaver_types::{Capability, Digest, SafetyClass};

/// One tool beside the signed contracts and the baselines.
pub(super) struct ContractStanding<'a> {
    pub(super) tool: &'a Capability,
    signed: ContractStatus,
    baseline: BaselineState<'a>,
    /// What is suspect in the words of its server, each as `kind in place`.
    pub(super) suspicions: BTreeSet<String>,
    /// The version that the ledger holds.
    kept: Option<&'a Baseline>,
    /// What a call would be decided by; `None` where the contract cannot be applied.
    effective: Option<Capability>,
}

impl<'a> ContractStanding<'a> {
    pub(super) fn of(tool: &'a Capability, policy: &PolicySet, known: &'a Baselines) -> Self {
        Self {
            tool,
            signed: policy.contract_status(tool),
            baseline: known.state(tool),
            suspicions: suspicions(tool),
            kept: known.of(tool.id()),
            effective: policy.effective(tool).ok(),
        }
    }

    /// The status in one word. A signed digest counts before a baseline.
    pub(super) fn word(&self) -> &'static str {
        match (&self.signed, &self.baseline) {
            (ContractStatus::Changed { .. }, _) => "changed",
            (ContractStatus::Approved, _) => "approved",
            (_, BaselineState::Match(_)) => "baseline",
            (_, BaselineState::Changed(_)) => "changed",
            (_, BaselineState::New | BaselineState::None) if !self.suspicions.is_empty() => {
                "suspicious"
            }
            (_, BaselineState::New) => "new",
            (_, BaselineState::Unreadable(_)) => "unreadable",
            (ContractStatus::Unpinned, BaselineState::None) => "unpinned",
            (ContractStatus::Unknown, BaselineState::None) => "unknown",
        }
    }

    /// True when it is not what was approved.
    pub(super) fn mismatch(&self) -> bool {
        matches!(self.word(), "changed" | "new" | "unreadable" | "suspicious")
    }

    /// True when there is something that it could be compared with.
    pub(super) fn compared(&self) -> bool {
        !matches!(self.word(), "unpinned" | "unknown")
    }

    /// What was approved.
    fn approved(&self) -> Option<Digest> {
        match (&self.signed, self.kept) {
            (ContractStatus::Changed { approved, .. }, _) => Some(*approved),
            (ContractStatus::Approved, _) => self.tool.spec().upstream_digest,
            (_, kept) => kept.and_then(|kept| kept.upstream_digest),
        }
    }

    /// What changed since it was approved, where the approved version is at hand.
    pub(super) fn drift(&self) -> Option<Drift> {
        let kept = self.kept?;
        let same = self.approved().is_none_or(|approved| kept.upstream_digest == Some(approved));
        let older = kept.contract.as_deref().filter(|_| same)?;
        Some(Drift::between(older, self.tool))
    }

    pub(super) fn class(&self) -> &'static str {
        self.effective.as_ref().map_or("unusable", |one| class(one.class()))
    }

    pub(super) fn as_json(&self) -> Value {
        let spec = self.tool.spec();
        let drift = self.drift().filter(|drift| !drift.is_empty());
        json!({
            "id": self.tool.id(),
            "status": self.word(),
            "suspicions": self.suspicions,
            "class": self.effective.as_ref().map(|one| one.class()),
            "rung": self.effective.as_ref().map(Capability::rung),
            "fingerprint": self.tool.fingerprint(),
            "upstream_digest": spec.upstream_digest,
            "approved_digest": self.approved(),
            "approved_by": self.kept.map(|kept| &kept.approved_by),
            "approved_at": self.kept.map(|kept| kept.at.rfc3339()),
            "drift": drift.as_ref().and_then(Drift::class),
            "changes": drift.as_ref().map(Drift::changes),
        })
    }
}

/// A class in one word.
fn class(class: SafetyClass) -> &'static str {
    match class {
        SafetyClass::ReadOnly => "read_only",
        SafetyClass::LocalWrite => "local_write",
        SafetyClass::Network => "network",
        SafetyClass::Destructive => "destructive",
    }
}
