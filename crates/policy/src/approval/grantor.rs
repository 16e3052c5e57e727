//! The people who signed a standing approval, and the check that they form a quorum.

use std::collections::BTreeSet;

use weaver_types::{ApprovalAuthority, Confidentiality};

use super::Rejection;
use super::approver_checks::required_quorum;
use crate::keys::Approver;

/// A person who signed a standing approval, with the authority that the current keys document gives
/// them.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Grantor {
    name: String,
    trust: u16,
    clearance: Confidentiality,
    scopes: BTreeSet<String>,
    roles: BTreeSet<String>,
}

impl Grantor {
    pub(super) fn new(name: &str, approver: &Approver) -> Self {
        Self {
            name: name.to_owned(),
            trust: approver.trust,
            clearance: approver.clearance,
            scopes: approver.scopes.clone(),
            roles: approver.roles.clone(),
        }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Whether this person meets every per-person requirement of `authority`.
    pub(super) fn has_authority(&self, authority: &ApprovalAuthority) -> bool {
        authority.min_trust.is_none_or(|minimum| self.trust >= minimum)
            && authority.clearance.is_none_or(|minimum| self.clearance >= minimum)
            && authority.scopes.is_subset(&self.scopes)
            && authority.admits_roles(&self.roles)
    }
}

/// Requires that a quorum of these people has the authority. Otherwise the rejection names the
/// first component of the authority that too few of them have.
pub(super) fn require_quorum(
    people: &[Grantor],
    authority: &ApprovalAuthority,
) -> Result<(), Rejection> {
    let need = required_quorum(authority);
    let have = people.iter().filter(|grantor| grantor.has_authority(authority)).count();
    if have >= need {
        return Ok(());
    }
    if people.len() < need {
        return Err(Rejection::Quorum { have, need });
    }
    let lacks = |test: fn(&Grantor, &ApprovalAuthority) -> bool| {
        people.iter().filter(|g| test(g, authority)).count() < need
    };
    if lacks(|g, a| a.min_trust.is_none_or(|minimum| g.trust >= minimum)) {
        Err(Rejection::Trust)
    } else if lacks(|g, a| a.clearance.is_none_or(|minimum| g.clearance >= minimum)) {
        Err(Rejection::Clearance)
    } else if lacks(|g, a| a.scopes.is_subset(&g.scopes)) {
        Err(Rejection::Scope)
    } else if lacks(|g, a| a.admits_roles(&g.roles)) {
        Err(Rejection::missing_role(authority))
    } else {
        Err(Rejection::Quorum { have, need })
    }
}
