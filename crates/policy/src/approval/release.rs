//! The proof that holds of one call are released.

use std::collections::BTreeSet;

use weaver_types::{
    AgentId, ApprovalAuthority, ApprovalRequestId, CapabilityId, CheckKind, CheckResult, Digest,
    Label, Operation, PrincipalId, ReasonCode, StandingApprovalId, Tenant, Timestamp,
};

use super::approver_checks::{
    find_approver, is_requester, require_authority, require_valid_key, required_quorum,
};
use super::grantor::Grantor;
use super::request::{arguments_digest, hold_detail};
use super::{ApprovalRequest, HeldCheck, Rejection};
use crate::keys::{Approver, Keys};
use crate::query::PolicyQuery;

/// The proof that people with the required authority released exactly one call. It has no public
/// fields and no public constructor that skips verification. There are three ways to obtain one:
/// [`ApprovalState::release`](super::ApprovalState::release) for signed answers,
/// [`StandingApprovalState::release`](super::StandingApprovalState::release) for approvals given in
/// advance, and [`ReleaseProof::vouched_by_host`] for an approver in host code.
#[derive(Debug, PartialEq)]
pub struct ReleaseProof {
    source: ReleaseSource,
    tenant: Tenant,
    capability: CapabilityId,
    fingerprint: Digest,
    principal: PrincipalId,
    agent: Option<AgentId>,
    arguments: Digest,
    folder: Option<String>,
    label: Label,
    valid_until: Timestamp,
}

#[derive(Debug, PartialEq)]
enum ReleaseSource {
    Approved {
        request: ApprovalRequestId,
        holds: Vec<HeldCheck>,
        authority: ApprovalAuthority,
        people: BTreeSet<String>,
    },
    Standing {
        standing: StandingApprovalId,
        grantors: Vec<Grantor>,
    },
}

impl ReleaseProof {
    pub(super) fn from_approved_request(
        request: &ApprovalRequest,
        people: BTreeSet<String>,
    ) -> Result<Self, Rejection> {
        Ok(Self {
            source: ReleaseSource::Approved {
                request: request.id.clone(),
                holds: request.holds.clone(),
                authority: request.authority.clone(),
                people,
            },
            tenant: request.tenant.clone(),
            capability: request.capability.clone(),
            fingerprint: request.fingerprint,
            principal: request.principal.clone(),
            agent: request.agent.clone(),
            arguments: request.arguments_digest().map_err(|_| Rejection::RequestChanged)?,
            folder: request.folder.clone(),
            label: request.label.clone(),
            valid_until: request.deadline,
        })
    }

    pub(super) fn from_standing_approval(
        standing: StandingApprovalId,
        grantors: Vec<Grantor>,
        query: &PolicyQuery<'_>,
        valid_until: Timestamp,
    ) -> Result<Self, Rejection> {
        let unknown_arguments = Rejection::NotCovered { problem: "the arguments are not known" };
        let arguments = query.arguments.ok_or(unknown_arguments)?;
        Ok(Self {
            source: ReleaseSource::Standing { standing, grantors },
            tenant: query.principal.tenant.clone(),
            capability: query.capability.id().clone(),
            fingerprint: query.capability.fingerprint(),
            principal: query.principal.id.clone(),
            agent: query.principal.agent.clone(),
            arguments: arguments_digest(arguments).map_err(|_| Rejection::NotCovered {
                problem: "the arguments are not canonical",
            })?,
            folder: query.folder.map(str::to_owned),
            label: query.label.clone(),
            valid_until,
        })
    }

    /// A release by host code in the same process, which vouches for the identity of the people. If
    /// there is a keys document, it must list each of them with the authority that the request
    /// requires; without one, the host vouches for that too. The number of distinct people must
    /// reach the quorum, and none of them may be the requester.
    ///
    /// # Errors
    /// [`Rejection`], the first that applies.
    pub fn vouched_by_host(
        request: &ApprovalRequest,
        keys: Option<&Keys>,
        people: &BTreeSet<String>,
        now: Timestamp,
    ) -> Result<Self, Rejection> {
        if now >= request.deadline {
            return Err(Rejection::TooLate);
        }
        for name in people {
            let approver =
                keys.map(|keys| require_vouched_approver(keys, name, request, now)).transpose()?;
            if is_requester(name, approver, &request.principal) {
                return Err(Rejection::Requester);
            }
        }
        let need = required_quorum(&request.authority);
        if people.len() < need {
            return Err(Rejection::Quorum { have: people.len(), need });
        }
        Self::from_approved_request(request, people.clone())
    }

    /// The id of the released request; `None` for a standing approval.
    #[must_use]
    pub fn request_id(&self) -> Option<&ApprovalRequestId> {
        match &self.source {
            ReleaseSource::Approved { request, .. } => Some(request),
            ReleaseSource::Standing { .. } => None,
        }
    }

    /// The id of the standing approval that grants the release; `None` for a request.
    #[must_use]
    pub fn standing_approval_id(&self) -> Option<&StandingApprovalId> {
        match &self.source {
            ReleaseSource::Approved { .. } => None,
            ReleaseSource::Standing { standing, .. } => Some(standing),
        }
    }

    /// The people who approved.
    #[must_use]
    pub fn approvers(&self) -> BTreeSet<&str> {
        match &self.source {
            ReleaseSource::Approved { people, .. } => people.iter().map(String::as_str).collect(),
            ReleaseSource::Standing { grantors, .. } => {
                grantors.iter().map(Grantor::name).collect()
            }
        }
    }

    /// The reason code for the holds that it releases.
    #[must_use]
    pub fn reason_code(&self) -> ReasonCode {
        match self.source {
            ReleaseSource::Approved { .. } => ReasonCode::ApprovalGranted,
            ReleaseSource::Standing { .. } => ReasonCode::StandingApproval,
        }
    }

    /// Whether the query is for exactly the approved call: the same tenant, capability and
    /// fingerprint, principal, agent, arguments and folder; an invocation before the deadline; and a run
    /// whose label is no higher than the approved one. The label must be compared because a run
    /// that has since read more sensitive or untrusted data is not what the approver saw.
    #[must_use]
    pub fn matches_query(&self, query: &PolicyQuery<'_>) -> bool {
        query.operation == Operation::Invoke
            && query.now < self.valid_until
            && query.principal.tenant == self.tenant
            && *query.capability.id() == self.capability
            && query.capability.fingerprint() == self.fingerprint
            && query.principal.id == self.principal
            && query.principal.agent == self.agent
            && query.folder == self.folder.as_deref()
            && query.label.confidentiality <= self.label.confidentiality
            && query.label.integrity <= self.label.integrity
            && query.arguments.is_some_and(|a| arguments_digest(a) == Ok(self.arguments))
    }

    /// Whether it releases this hold. The hold must need human approval. A signed request releases
    /// only the holds that it listed (same check and reason; for rules and signals also the same
    /// name), and only if they require no more authority than was granted: a hold that appeared
    /// later was never seen by the approvers. A standing approval releases only holds of a rule or
    /// of the floor, and only if enough of its signers have the required authority.
    #[must_use]
    pub fn releases(&self, check_result: &CheckResult) -> bool {
        if !check_result.needs_human_approval() {
            return false;
        }
        match &self.source {
            ReleaseSource::Approved { holds, authority, .. } => {
                holds.iter().any(|held| {
                    held.check == check_result.check
                        && held.reason == check_result.reason
                        && held.detail == hold_detail(check_result)
                }) && authority_within(&check_result.authority, authority)
            }
            ReleaseSource::Standing { grantors, .. } => {
                matches!(check_result.check, CheckKind::Rule | CheckKind::Floor)
                    && has_quorum(grantors, &check_result.authority)
            }
        }
    }

    /// What released the call, for people.
    pub(super) fn description(&self) -> String {
        match &self.source {
            ReleaseSource::Approved { request, .. } => format!("approved in `{request}`"),
            ReleaseSource::Standing { standing, .. } => format!("standing approval `{standing}`"),
        }
    }
}

/// Requires that a person vouched for by host code is an approver with a valid key and the required
/// authority.
fn require_vouched_approver<'k>(
    keys: &'k Keys,
    name: &str,
    request: &ApprovalRequest,
    now: Timestamp,
) -> Result<&'k Approver, Rejection> {
    let approver = find_approver(keys, name)?;
    let mut keys_of_approver = approver.keys.values();
    if !keys_of_approver.any(|key| require_valid_key(keys, key, now, now).is_ok()) {
        return Err(Rejection::KeyVoid);
    }
    require_authority(approver, &request.authority)?;
    Ok(approver)
}

/// Whether `required` exceeds `granted` in no component.
fn authority_within(required: &ApprovalAuthority, granted: &ApprovalAuthority) -> bool {
    required.min_trust <= granted.min_trust
        && required.clearance <= granted.clearance
        && required.scopes.is_subset(&granted.scopes)
        // A smaller set of alternative roles is the stricter requirement.
        && required
            .roles
            .iter()
            .all(|set| granted.roles.iter().any(|narrower| narrower.is_subset(set)))
        && required_quorum(required) <= required_quorum(granted)
}

fn has_quorum(grantors: &[Grantor], authority: &ApprovalAuthority) -> bool {
    grantors.iter().filter(|grantor| grantor.has_authority(authority)).count()
        >= required_quorum(authority)
}
