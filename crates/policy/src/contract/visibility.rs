//! The visibility of a capability to a principal.

use weaver_types::{Capability, Principal, Rung};

use super::{ContractResolver, Contracts, Visibility};

/// Whether the principal may know of the capability. It says nothing about permission.
///
/// Hidden are: what is prohibited, what the contracts hide, what is meant for other agents, and,
/// where the contracts say who sees what, everything that no entry about this principal names.
pub(crate) fn visible(
    contracts: &Contracts,
    resolver: &ContractResolver,
    principal: &Principal,
    capability: &Capability,
) -> bool {
    let id = capability.id().as_str();
    if capability.rung() == Rung::L5 || resolver.hidden(id) {
        return false;
    }
    if !capability.spec().agents.admits(principal.agent.as_ref()) {
        return false;
    }
    contracts.visible.is_empty()
        || contracts.visible.iter().any(|entry| {
            entry.is_about(principal) && entry.capabilities.iter().any(|p| p.matches(id))
        })
}

impl Visibility {
    /// Whether the entry speaks of this principal: by any of the three, or of everybody.
    fn is_about(&self, principal: &Principal) -> bool {
        let everybody =
            self.principals.is_empty() && self.roles.is_empty() && self.agents.is_empty();
        let agent = principal.agent.as_ref();
        everybody
            || self.principals.iter().any(|p| p.matches(principal.id.as_str()))
            || !self.roles.is_disjoint(&principal.roles)
            || agent.is_some_and(|agent| self.agents.iter().any(|p| p.matches(agent.as_str())))
    }
}
