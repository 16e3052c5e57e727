//! Compares a tool with its approved contract.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use weaver_agent_kernel::{Baseline, BaselineState, suspicions};
use weaver_policy::{ContractStatus, Drift, PolicySet};
use weaver_types::{Capability, Digest, SafetyClass};

use super::ledger::ApprovedVersions;

/// A tool, compared with the signed contracts and with the baselines.
pub(super) struct ToolContractStatus<'a> {
    pub(super) tool: &'a Capability,
    signed: ContractStatus,
    baseline: BaselineState<'a>,
    /// Suspicious words in the server's description, each as `kind in place`.
    pub(super) suspicions: BTreeSet<String>,
    /// The approval in the ledger.
    baseline_approval: Option<&'a Baseline>,
    approved: &'a ApprovedVersions,
    /// The capability that decides a call; `None` if the contract cannot be applied.
    effective: Option<Capability>,
}

impl<'a> ToolContractStatus<'a> {
    pub(super) fn new(
        tool: &'a Capability,
        policy: &PolicySet,
        approved: &'a ApprovedVersions,
    ) -> Self {
        Self {
            tool,
            signed: policy.contract_status(tool),
            baseline: approved.baselines.compare(tool),
            suspicions: suspicions(tool),
            baseline_approval: approved.baselines.get(tool.id()),
            approved,
            effective: policy.apply_contract(tool).ok(),
        }
    }

    /// The status in one word. A signed digest takes precedence over a baseline.
    pub(super) fn status_name(&self) -> &'static str {
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

    /// Whether the tool differs from what was approved.
    pub(super) fn is_mismatch(&self) -> bool {
        matches!(self.status_name(), "changed" | "new" | "unreadable" | "suspicious")
    }

    /// Whether there is an approved version to compare with.
    pub(super) fn has_approved_version(&self) -> bool {
        !matches!(self.status_name(), "unpinned" | "unknown")
    }

    /// The digest that was approved.
    fn approved_digest(&self) -> Option<Digest> {
        match (&self.signed, self.baseline_approval) {
            (ContractStatus::Changed { approved, .. }, _) => Some(*approved),
            (ContractStatus::Approved, _) => self.tool.spec().upstream_digest,
            (_, approval) => approval.and_then(|approval| approval.upstream_digest),
        }
    }

    /// The approved version, if the ledger has it.
    pub(super) fn approved_version(&self) -> Option<&'a Capability> {
        match self.approved_digest() {
            Some(digest) => self.approved.with_digest(self.tool.id(), digest),
            None => self.baseline_approval?.contract.as_deref(),
        }
    }

    /// What changed since the approval, if the ledger has the approved version.
    pub(super) fn drift(&self) -> Option<Drift> {
        Some(Drift::between(self.approved_version()?, self.tool))
    }

    pub(super) fn class_name(&self) -> &'static str {
        self.effective.as_ref().map_or("unusable", |one| class_name(one.class()))
    }

    pub(super) fn as_json(&self) -> Value {
        let spec = self.tool.spec();
        let drift = self.drift().filter(|drift| !drift.is_empty());
        json!({
            "id": self.tool.id(),
            "status": self.status_name(),
            "suspicions": self.suspicions,
            "class": self.effective.as_ref().map(|one| one.class()),
            "rung": self.effective.as_ref().map(Capability::rung),
            "fingerprint": self.tool.fingerprint(),
            "upstream_digest": spec.upstream_digest,
            "approved_digest": self.approved_digest(),
            "approved_by": self.baseline_approval.map(|approval| &approval.approved_by),
            "approved_at": self.baseline_approval.map(|approval| approval.at.rfc3339()),
            "drift": drift.as_ref().and_then(Drift::class),
            "changes": drift.as_ref().map(Drift::changes),
        })
    }
}

/// The name of a class.
fn class_name(class: SafetyClass) -> &'static str {
    match class {
        SafetyClass::ReadOnly => "read_only",
        SafetyClass::LocalWrite => "local_write",
        SafetyClass::Network => "network",
        SafetyClass::Destructive => "destructive",
    }
}
