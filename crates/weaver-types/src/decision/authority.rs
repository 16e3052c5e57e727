//! The authority that releases a hold.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::label::Confidentiality;

/// The authority that somebody must have to release a hold. Joined upwards.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(deny_unknown_fields)]
pub struct Authority {
    /// The least clearance of an approver.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clearance: Option<Confidentiality>,
    /// The least trust of an approver, in thousandths.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_trust: Option<u16>,
    /// How many distinct people must agree; where nobody is asked for, 0. In a decision and in a
    /// request, what waits for people says 1 or more.
    #[serde(default)]
    pub quorum: u8,
    /// Of each of these sets an approver must carry one role.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub roles: BTreeSet<BTreeSet<String>>,
    /// Scopes that an approver must cover, all of them.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub scopes: BTreeSet<String>,
}

impl Authority {
    /// The higher of both in each component.
    #[must_use]
    pub fn join(mut self, other: &Self) -> Self {
        self.min_trust = self.min_trust.max(other.min_trust);
        self.clearance = self.clearance.max(other.clearance);
        self.scopes.extend(other.scopes.iter().cloned());
        // The sets stay apart: whoever answers for two rules carries a role of each.
        self.roles.extend(other.roles.iter().cloned());
        self.quorum = self.quorum.max(other.quorum);
        self
    }

    /// Whether somebody with these roles carries one of each set.
    #[must_use]
    pub fn admits_roles(&self, carried: &BTreeSet<String>) -> bool {
        self.roles.iter().all(|set| !set.is_disjoint(carried))
    }

    /// The roles in words, such as `cfo or finance, and legal`; `None` where none is needed.
    #[must_use]
    pub fn roles_in_words(&self) -> Option<String> {
        let set = |set: &BTreeSet<String>| {
            set.iter().map(String::as_str).collect::<Vec<_>>().join(" or ")
        };
        let sets: Vec<String> = self.roles.iter().map(set).collect();
        (!sets.is_empty()).then(|| sets.join(", and "))
    }
}
