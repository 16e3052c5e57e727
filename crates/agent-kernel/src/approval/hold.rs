//! The stored form of a held call: the whole request while it is open, and only a commitment and
//! the outcome once it has ended.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use weaver_policy::approval::{ApprovalRequest, ApprovalState, Nonce, Phase};
use weaver_types::canonical::{self, Profile};
use weaver_types::digest::DomainTag;
use weaver_types::ledger::{Ledger, Namespace, Record, RecordKey, RecordWrite};
use weaver_types::{
    AgentId, ApprovalRequestId, CapabilityId, CapabilityRequest, Digest, MaskedValue, Principal,
    PrincipalId, RunId, SafetyMode, Tenant, Timestamp,
};

use crate::error::KernelError;
use crate::masked_arguments::ArgumentMasks;
use crate::versioned_record::parse_versioned;

/// The version of the stored form.
const VERSION: u8 = 1;
/// How long an ended request is kept after its deadline.
const RETENTION: std::time::Duration = std::time::Duration::from_secs(30 * 24 * 3_600);

/// What a later call must have in common with a held one to count as the same call, besides its
/// arguments.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CallKey {
    pub(crate) run: RunId,
    pub(crate) principal: PrincipalId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) agent: Option<AgentId>,
    pub(crate) capability: CapabilityId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) folder: Option<String>,
}

impl CallKey {
    pub(crate) fn of(request: &ApprovalRequest) -> Self {
        Self {
            run: request.run.clone(),
            principal: request.principal.clone(),
            agent: request.agent.clone(),
            capability: request.capability.clone(),
            folder: request.folder.clone(),
        }
    }
}

/// Who requested the call and what was requested, so that it can be evaluated again under another
/// policy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct HeldRequest {
    pub(crate) principal: Principal,
    pub(crate) request: CapabilityRequest,
    pub(crate) mode: SafetyMode,
    /// The masks in the arguments. The request contains their values, for the approver.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) masks: Option<HeldMasks>,
}

/// The arguments of a held call as the model wrote them, and the masks in them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct HeldMasks {
    pub(crate) as_written: Value,
    pub(crate) values: Vec<MaskedValue>,
}

impl HeldMasks {
    pub(crate) fn of(masks: &ArgumentMasks) -> Self {
        Self { as_written: masks.as_written.clone(), values: masks.values.clone() }
    }

    pub(crate) fn masks(&self) -> ArgumentMasks {
        ArgumentMasks::for_held_call(self.as_written.clone(), self.values.clone())
    }
}

/// A held call whose request is open.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct OpenHold {
    pub(crate) request: ApprovalRequest,
    pub(crate) state: ApprovalState,
    pub(crate) held_request: HeldRequest,
}

/// What remains of a held call that has ended: a salted commitment instead of the arguments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct EndedHold {
    pub(crate) id: ApprovalRequestId,
    pub(crate) digest: Digest,
    pub(crate) call_key: CallKey,
    pub(crate) nonce: Nonce,
    pub(crate) commit: Digest,
    pub(crate) phase: Phase,
    pub(crate) deadline: Timestamp,
    pub(crate) ended_at: Timestamp,
}

/// The record of a held call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum StoredHold {
    Open(Box<OpenHold>),
    Ended(Box<EndedHold>),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct VersionedHold {
    v: u8,
    hold: StoredHold,
}

/// A commitment to the arguments, salted with the nonce of their request.
pub(crate) fn commitment(nonce: &Nonce, arguments: &[u8]) -> Digest {
    Digest::of_parts(DomainTag::ARGS_COMMIT, &[nonce.as_str().as_bytes(), arguments])
}

impl EndedHold {
    /// `None` when the request has no canonical form.
    pub(crate) fn of(request: &ApprovalRequest, phase: Phase, now: Timestamp) -> Option<Self> {
        let arguments = canonical::to_bytes(&request.arguments, Profile::Foreign).ok()?;
        Some(Self {
            id: request.id.clone(),
            digest: request.digest().ok()?,
            call_key: CallKey::of(request),
            nonce: request.nonce.clone(),
            commit: commitment(&request.nonce, &arguments),
            phase,
            deadline: request.deadline,
            ended_at: now,
        })
    }
}

impl StoredHold {
    pub(crate) fn id(&self) -> &ApprovalRequestId {
        match self {
            Self::Open(open) => &open.request.id,
            Self::Ended(ended) => &ended.id,
        }
    }

    /// `None` when it has no canonical form.
    pub(crate) fn put(&self, tenant: &Tenant) -> Option<RecordWrite> {
        let stored = VersionedHold { v: VERSION, hold: self.clone() };
        let value = canonical::serialize(&stored, Profile::Foreign).ok()?;
        let expires_at = match self {
            Self::Open(_) => None,
            Self::Ended(ended) => Some(ended.deadline.max(ended.ended_at).after(RETENTION)),
        };
        Some(RecordWrite { key: hold_key(tenant, self.id()), value, expires_at })
    }

    pub(crate) fn read(id: &str, record: &Record) -> Result<Self, KernelError> {
        let stored = |problem: String| KernelError::StoredRecord {
            what: "a held call",
            problem: format!("`{id}`: {problem}"),
        };
        let form: VersionedHold =
            parse_versioned(&record.value, Profile::Foreign, 1..=VERSION.into()).map_err(stored)?;
        if form.hold.id().as_str() != id {
            return Err(stored("it names another request".to_owned()));
        }
        Ok(form.hold)
    }
}

/// The key of the record of a held call.
pub(crate) fn hold_key(tenant: &Tenant, id: &ApprovalRequestId) -> RecordKey {
    RecordKey::new(tenant.clone(), Namespace::Hold, id)
}

/// Every record of a held call, with its version.
pub(crate) fn list_stored(
    tenant: &Tenant,
    ledger: &dyn Ledger,
) -> Result<Vec<(u64, StoredHold)>, KernelError> {
    let all = ledger.all_records(tenant, Namespace::Hold).map(|found| {
        let (id, record) = found?;
        Ok((record.version, StoredHold::read(&id, &record)?))
    });
    all.collect()
}

/// A request that waits for people, or that was granted and waits for its call.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct PendingApproval {
    /// Everything that an approver decides about.
    pub request: ApprovalRequest,
    /// The phase: requested or granted.
    pub phase: Phase,
    /// The people who agreed so far, by name.
    pub agreed_by: Vec<String>,
    /// How many people must agree.
    pub required_approvers: usize,
}

impl PendingApproval {
    pub(crate) fn of(open: &OpenHold) -> Self {
        Self {
            request: open.request.clone(),
            phase: open.state.phase().clone(),
            agreed_by: open.state.votes().keys().cloned().collect(),
            required_approvers: usize::from(open.request.authority.quorum.max(1)),
        }
    }
}

#[cfg(test)]
mod tests;
