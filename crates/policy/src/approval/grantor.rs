//! The people behind a standing approval, and whether they are enough.

use std::collections::BTreeSet;

use weaver_types::{Authority, Confidentiality};

use super::Rejection;
use super::person::quorum;
use crate::keys::Approver;

/// A person behind a standing approval, with the authority that the keys document gives them now.
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

    /// Whether this person alone has what one of the people of `authority` must have.
    pub(super) fn has(&self, authority: &Authority) -> bool {
        authority.min_trust.is_none_or(|least| self.trust >= least)
            && authority.clearance.is_none_or(|least| self.clearance >= least)
            && authority.scopes.is_subset(&self.scopes)
            && authority.admits_roles(&self.roles)
    }
}

/// Whether a quorum of these people has the authority; otherwise the first component of it that too
/// few of them have.
pub(super) fn require_enough(people: &[Grantor], authority: &Authority) -> Result<(), Rejection> {
    let need = quorum(authority);
    let have = people.iter().filter(|grantor| grantor.has(authority)).count();
    if have >= need {
        return Ok(());
    }
    if people.len() < need {
        return Err(Rejection::Quorum { have, need });
    }
    let lacks = |test: fn(&Grantor, &Authority) -> bool| {
        people.iter().filter(|g| test(g, authority)).count() < need
    };
    if lacks(|g, a| a.min_trust.is_none_or(|least| g.trust >= least)) {
        Err(Rejection::Trust)
    } else if lacks(|g, a| a.clearance.is_none_or(|least| g.clearance >= least)) {
        Err(Rejection::Clearance)
    } else if lacks(|g, a| a.scopes.is_subset(&g.scopes)) {
        Err(Rejection::Scope)
    } else if lacks(|g, a| a.admits_roles(&g.roles)) {
        Err(Rejection::role(authority))
    } else {
        Err(Rejection::Quorum { have, need })
    }
}
