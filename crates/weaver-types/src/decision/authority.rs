//! The authority that an approver needs to release a hold.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::label::Confidentiality;

/// The authority that an approver needs to release a hold. Joining takes the higher demand.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(deny_unknown_fields)]
pub struct ApprovalAuthority {
    /// The minimum clearance of an approver.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clearance: Option<Confidentiality>,
    /// The minimum trust of an approver, in thousandths.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_trust: Option<u16>,
    /// How many distinct people must agree; 0 when no approval is needed. In a decision and in a
    /// request, whatever waits for people has 1 or more.
    #[serde(default)]
    pub quorum: u8,
    /// An approver must hold at least one role of each of these sets.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub roles: BTreeSet<BTreeSet<String>>,
    /// Scopes that an approver must cover, all of them.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub scopes: BTreeSet<String>,
}

impl ApprovalAuthority {
    /// The higher demand of both in each component.
    #[must_use]
    pub fn join(mut self, other: &Self) -> Self {
        self.min_trust = self.min_trust.max(other.min_trust);
        self.clearance = self.clearance.max(other.clearance);
        self.scopes.extend(other.scopes.iter().cloned());
        // The sets stay separate: whoever satisfies two rules needs a role for each.
        self.roles.extend(other.roles.iter().cloned());
        self.quorum = self.quorum.max(other.quorum);
        self
    }

    /// True when these roles include one of each set.
    #[must_use]
    pub fn admits_roles(&self, carried: &BTreeSet<String>) -> bool {
        self.roles.iter().all(|set| !set.is_disjoint(carried))
    }

    /// The roles as text, such as `cfo or finance, and legal`; `None` when none is needed.
    #[must_use]
    pub fn roles_in_words(&self) -> Option<String> {
        let set = |set: &BTreeSet<String>| {
            set.iter().map(String::as_str).collect::<Vec<_>>().join(" or ")
        };
        let sets: Vec<String> = self.roles.iter().map(set).collect();
        (!sets.is_empty()).then(|| sets.join(", and "))
    }
}
