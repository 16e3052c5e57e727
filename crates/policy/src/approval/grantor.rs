//! The people who signed a standing approval, and the check that they form a quorum.

use weaver_types::ApprovalAuthority;

use super::Rejection;
use super::approver_checks::{REQUIREMENTS, required_quorum};
use crate::keys::Approver;

/// A person who signed a standing approval, with the authority that the current keys document gives
/// them.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Grantor {
    name: String,
    approver: Approver,
}

impl Grantor {
    pub(super) fn new(name: &str, approver: &Approver) -> Self {
        Self { name: name.to_owned(), approver: approver.clone() }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Whether this person meets every per-person requirement of `authority`.
    pub(super) fn has_authority(&self, authority: &ApprovalAuthority) -> bool {
        self.approver.has_authority(authority)
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
    let too_few = REQUIREMENTS.iter().find(|(is_met, _)| {
        people.iter().filter(|person| is_met(&person.approver, authority)).count() < need
    });
    Err(too_few.map_or(Rejection::Quorum { have, need }, |(_, rejection)| rejection(authority)))
}
