//! The proof that a hold is released.

use std::collections::BTreeSet;

use weaver_types::{
    AgentId, Authority, CapabilityId, Check, Contribution, Digest, Label, Operation, PrincipalId,
    ReasonCode, RequestId, StandingId, Tenant, Timestamp,
};

use super::grantor::Grantor;
use super::person::{approver_named, is_requester, quorum, require_authority, require_valid_key};
use super::request::{arguments_digest, what_holds};
use super::{ApprovalRequest, HeldCheck, Rejection};
use crate::keys::{Approver, Keys};
use crate::query::Query;

/// The proof that somebody with the authority released exactly one call. There are three ways to
/// one, and each verifies: [`ApprovalState::release`](super::ApprovalState::release) for signed
/// answers, [`StandingUse::release`](super::StandingUse::release) for approvals given in advance,
/// [`Release::in_process`] for a resolver in host code.
#[derive(Debug, PartialEq)]
pub struct Release {
    source: ReleaseSource,
    tenant: Tenant,
    capability: CapabilityId,
    fingerprint: Digest,
    principal: PrincipalId,
    agent: Option<AgentId>,
    arguments: Digest,
    label: Label,
    until: Timestamp,
}

#[derive(Debug, PartialEq)]
enum ReleaseSource {
    Approved {
        request: RequestId,
        holds: Vec<HeldCheck>,
        authority: Authority,
        people: BTreeSet<String>,
    },
    Standing {
        standing: StandingId,
        grantors: Vec<Grantor>,
    },
}

impl Release {
    pub(super) fn approved(
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
            label: request.label.clone(),
            until: request.deadline,
        })
    }

    pub(super) fn standing(
        standing: StandingId,
        grantors: Vec<Grantor>,
        query: &Query<'_>,
        until: Timestamp,
    ) -> Result<Self, Rejection> {
        let none = Rejection::NotCovered { problem: "the arguments are not known" };
        let arguments = query.arguments.ok_or(none)?;
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
            label: query.label.clone(),
            until,
        })
    }

    /// A release by host code of the same process, which vouches for who the people are. Where
    /// there is a keys document, each must stand in it with the authority that the request asks
    /// for; without one, the host vouches for that too. As many distinct people as the quorum must
    /// agree, and none of them may be the one who asks.
    ///
    /// # Errors
    /// [`Rejection`], the first that applies.
    pub fn in_process(
        request: &ApprovalRequest,
        keys: Option<&Keys>,
        people: &BTreeSet<String>,
        now: Timestamp,
    ) -> Result<Self, Rejection> {
        if now >= request.deadline {
            return Err(Rejection::TooLate);
        }
        for name in people {
            let approver = keys.map(|keys| named_by_host(keys, name, request, now)).transpose()?;
            if is_requester(name, approver, &request.principal) {
                return Err(Rejection::Requester);
            }
        }
        let need = quorum(&request.authority);
        if people.len() < need {
            return Err(Rejection::Quorum { have: people.len(), need });
        }
        Self::approved(request, people.clone())
    }

    /// The request that it releases; `None` for a standing approval.
    #[must_use]
    pub fn request(&self) -> Option<&RequestId> {
        match &self.source {
            ReleaseSource::Approved { request, .. } => Some(request),
            ReleaseSource::Standing { .. } => None,
        }
    }

    /// The standing approval behind it; `None` for a request.
    #[must_use]
    pub fn standing_approval(&self) -> Option<&StandingId> {
        match &self.source {
            ReleaseSource::Approved { .. } => None,
            ReleaseSource::Standing { standing, .. } => Some(standing),
        }
    }

    /// The people who agreed.
    #[must_use]
    pub fn people(&self) -> BTreeSet<&str> {
        match &self.source {
            ReleaseSource::Approved { people, .. } => people.iter().map(String::as_str).collect(),
            ReleaseSource::Standing { grantors, .. } => {
                grantors.iter().map(Grantor::name).collect()
            }
        }
    }

    /// The reason code that a released hold gets.
    #[must_use]
    pub fn reason(&self) -> ReasonCode {
        match self.source {
            ReleaseSource::Approved { .. } => ReasonCode::ApprovalGranted,
            ReleaseSource::Standing { .. } => ReasonCode::StandingApproval,
        }
    }

    /// Whether it is about the very call that is asked for: tenant, capability and its
    /// fingerprint, principal, agent, arguments, an invocation in time, and a label of the run
    /// that is not above the one that was approved.
    #[must_use]
    pub fn fits(&self, query: &Query<'_>) -> bool {
        query.operation == Operation::Invoke
            && query.now < self.until
            && query.principal.tenant == self.tenant
            && *query.capability.id() == self.capability
            && query.capability.fingerprint() == self.fingerprint
            && query.principal.id == self.principal
            && query.principal.agent == self.agent
            && query.label.confidentiality <= self.label.confidentiality
            && query.label.integrity <= self.label.integrity
            && query.arguments.is_some_and(|a| arguments_digest(a) == Ok(self.arguments))
    }

    /// Whether it releases this hold: one that an approval discharges, that stood in the request by
    /// its check, its reason and, for rules and signals, by name, with no higher authority than was
    /// granted. A standing approval
    /// releases only what a rule or the floor holds, and only with enough people of that authority.
    #[must_use]
    pub fn covers(&self, contribution: &Contribution) -> bool {
        if !contribution.waits_for_people() {
            return false;
        }
        match &self.source {
            ReleaseSource::Approved { holds, authority, .. } => {
                holds.iter().any(|held| {
                    held.check == contribution.check
                        && held.reason == contribution.reason
                        && held.detail == what_holds(contribution)
                }) && authority_within(&contribution.authority, authority)
            }
            ReleaseSource::Standing { grantors, .. } => {
                matches!(contribution.check, Check::Rule | Check::Floor)
                    && have_quorum(grantors, &contribution.authority)
            }
        }
    }

    /// What released it, in words.
    pub(super) fn description(&self) -> String {
        match &self.source {
            ReleaseSource::Approved { request, .. } => format!("approved in `{request}`"),
            ReleaseSource::Standing { standing, .. } => format!("standing approval `{standing}`"),
        }
    }
}

/// A person for whom host code vouches, with a key that counts and the authority.
fn named_by_host<'k>(
    keys: &'k Keys,
    name: &str,
    request: &ApprovalRequest,
    now: Timestamp,
) -> Result<&'k Approver, Rejection> {
    let approver = approver_named(keys, name)?;
    let mut own = approver.keys.values();
    if !own.any(|key| require_valid_key(keys, key, now, now).is_ok()) {
        return Err(Rejection::KeyVoid);
    }
    require_authority(approver, &request.authority)?;
    Ok(approver)
}

/// Whether `wanted` is not above `granted` in any component.
fn authority_within(wanted: &Authority, granted: &Authority) -> bool {
    wanted.min_trust <= granted.min_trust
        && wanted.clearance <= granted.clearance
        && wanted.scopes.is_subset(&granted.scopes)
        // A smaller set asks for more.
        && wanted.roles.iter().all(|set| granted.roles.iter().any(|own| own.is_subset(set)))
        && quorum(wanted) <= quorum(granted)
}

fn have_quorum(grantors: &[Grantor], authority: &Authority) -> bool {
    grantors.iter().filter(|grantor| grantor.has(authority)).count() >= quorum(authority)
}
