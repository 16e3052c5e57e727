//! The principal: who asks.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::id::{AgentId, PrincipalId, Tenant};

/// Who asks: an identity with what the signed policy grants it. Being named here is no proof of
/// identity; the host says who the principal is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Principal {
    /// Whose data it works on.
    #[serde(default)]
    pub tenant: Tenant,
    /// Its name.
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

    /// The same with these roles added.
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
