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
        self.quorum = self.quorum.max(other.quorum);
        self
    }
}
