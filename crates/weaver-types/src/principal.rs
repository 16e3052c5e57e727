//! The principal: who makes a request.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::id::{AgentId, PrincipalId, Tenant};

/// The role that may see every field of personal and card data, also fields that a capability
/// does not show to others.
pub const PII_READER: &str = "pii_reader";

/// Who makes a request: an identity and what the signed policy grants it. This value does not prove
/// the identity; the host vouches for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Principal {
    /// The tenant whose data it works on.
    #[serde(default)]
    pub tenant: Tenant,
    /// Its id.
    pub id: PrincipalId,
    /// Its roles, for example `reader`, `writer`, `admin`.
    #[serde(default)]
    pub roles: BTreeSet<String>,
    /// Its attributes, for example `tenant` → `acme`.
    #[serde(default)]
    pub attributes: BTreeMap<String, String>,
    /// Its permissions, for example `calendar.read`.
    #[serde(default)]
    pub permissions: BTreeSet<String>,
    /// The agent that acts for it, if one does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentId>,
}

impl Principal {
    /// A principal of the default tenant without any roles, attributes or permissions.
    #[must_use]
    pub fn new(id: PrincipalId) -> Self {
        Self {
            tenant: Tenant::default(),
            id,
            roles: BTreeSet::new(),
            attributes: BTreeMap::new(),
            permissions: BTreeSet::new(),
            agent: None,
        }
    }

    /// Adds these roles.
    #[must_use]
    pub fn with_roles<'a>(mut self, roles: impl IntoIterator<Item = &'a str>) -> Self {
        self.roles.extend(roles.into_iter().map(str::to_owned));
        self
    }

    /// True when it has the role.
    #[must_use]
    pub fn has_role(&self, role: &str) -> bool {
        self.roles.contains(role)
    }
}
