//! Decides whether a capability is visible to a principal.

use weaver_types::{Capability, Principal, Rung};

use super::{ContractResolver, Contracts, VisibilityRule};
use crate::Pattern;

/// Whether the principal may know that the capability exists. This is not permission to call it.
///
/// A capability is hidden if it is prohibited, if the contracts hide it, if it is for other agents,
/// or if there are visibility rules and none that is about this principal names it.
pub(crate) fn is_visible(
    contracts: &Contracts,
    resolver: &ContractResolver,
    principal: &Principal,
    capability: &Capability,
) -> bool {
    let id = capability.id().as_str();
    if capability.rung() == Rung::L5 || resolver.is_hidden(id) {
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

/// Whether a visibility rule about the principal names something in a namespace, or there are no such
/// rules.
pub(crate) fn may_see_namespace(
    contracts: &Contracts,
    principal: &Principal,
    namespace: &str,
) -> bool {
    let prefix = format!("{namespace}.");
    let may_match = |pattern: &Pattern| {
        let head = pattern.as_str().split('*').next().unwrap_or_default();
        match pattern.as_str().contains('*') {
            true => head.starts_with(&prefix) || prefix.starts_with(head),
            false => head.starts_with(&prefix),
        }
    };
    contracts.visible.is_empty()
        || contracts
            .visible
            .iter()
            .any(|entry| entry.is_about(principal) && entry.capabilities.iter().any(may_match))
}

impl VisibilityRule {
    /// Whether the rule is about this principal: by id, role or agent, or because it is about
    /// everybody.
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
