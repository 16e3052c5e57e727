//! How a tool stands against what was approved of it.

use serde_json::{Value, json};
use weaver_policy::{ContractStatus, PolicySet};
use weaver_types::{Capability, Digest, SafetyClass};

/// One tool beside the signed contracts.
pub(super) struct Standing<'a> {
    pub(super) tool: &'a Capability,
    pub(super) signed: ContractStatus,
    /// What a call would be decided by; `None` where the contract cannot be applied.
    effective: Option<Capability>,
}

impl<'a> Standing<'a> {
    pub(super) fn of(tool: &'a Capability, policy: &PolicySet) -> Self {
        Self { tool, signed: policy.contract_status(tool), effective: policy.effective(tool).ok() }
    }

    /// The status in one word.
    pub(super) fn word(&self) -> &'static str {
        match self.signed {
            ContractStatus::Approved => "approved",
            ContractStatus::Unpinned => "unpinned",
            ContractStatus::Unknown => "unknown",
            ContractStatus::Changed { .. } => "changed",
        }
    }

    /// The digest that the signed contracts pin, where it is another one.
    fn pinned(&self) -> Option<Digest> {
        match self.signed {
            ContractStatus::Changed { approved, .. } => Some(approved),
            _ => None,
        }
    }

    pub(super) fn class(&self) -> &'static str {
        self.effective.as_ref().map_or("unusable", |one| class(one.class()))
    }

    pub(super) fn as_json(&self) -> Value {
        let spec = self.tool.spec();
        json!({
            "id": self.tool.id(),
            "status": self.word(),
            "class": self.effective.as_ref().map(|one| one.class()),
            "rung": self.effective.as_ref().map(Capability::rung),
            "fingerprint": self.tool.fingerprint(),
            "upstream_digest": spec.upstream_digest,
            "approved_digest": self.pinned().or(match self.signed {
                ContractStatus::Approved => spec.upstream_digest,
                _ => None,
            }),
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
