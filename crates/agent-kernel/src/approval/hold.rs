//! The record of a held call: while it is open with all that was asked for, afterwards with a
//! digest and how it ended.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use weaver_policy::approval::{ApprovalRequest, ApprovalState, Nonce, Phase};
use weaver_types::canonical::{self, Profile};
use weaver_types::digest::Tag;
use weaver_types::ledger::{Ledger, MAX_PAGE, Namespace, Put, Record, RecordKey};
use weaver_types::{
    AgentId, CapabilityId, CapabilityRequest, Digest, MaskedValue, Principal, PrincipalId,
    RequestId, RunId, SafetyMode, Tenant, Timestamp,
};

use crate::error::KernelError;
use crate::masked_arguments::ArgumentMasks;

/// The newest version of the stored form: the first that holds masks.
const VERSION: u8 = 2;
/// How long the store keeps what is left of a request after its deadline.
const KEPT: std::time::Duration = std::time::Duration::from_secs(30 * 24 * 3_600);

/// Where a call is made: what a later call must have in common to be the same one, beside its
/// arguments.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CallSite {
    pub(crate) run: RunId,
    pub(crate) principal: PrincipalId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) agent: Option<AgentId>,
    pub(crate) capability: CapabilityId,
}

impl CallSite {
    pub(crate) fn of(request: &ApprovalRequest) -> Self {
        Self {
            run: request.run.clone(),
            principal: request.principal.clone(),
            agent: request.agent.clone(),
            capability: request.capability.clone(),
        }
    }
}

/// Who asked and for what, so that the call can be decided again under another policy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct HeldRequest {
    pub(crate) principal: Principal,
    pub(crate) request: CapabilityRequest,
    pub(crate) mode: SafetyMode,
    /// The masks that stood in its arguments. Their values stand in the request, for the approver.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) masks: Option<HeldMasks>,
}

/// The arguments of a held call as the model wrote them, and the masks in them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct HeldMasks {
    pub(crate) given: Value,
    pub(crate) masked: Vec<MaskedValue>,
}

impl HeldMasks {
    pub(crate) fn of(masks: &ArgumentMasks) -> Self {
        Self { given: masks.given.clone(), masked: masks.masked.clone() }
    }

    pub(crate) fn masks(&self) -> ArgumentMasks {
        ArgumentMasks::held(self.given.clone(), self.masked.clone())
    }
}

/// A held call whose request is open.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct OpenHold {
    pub(crate) request: ApprovalRequest,
    pub(crate) state: ApprovalState,
    pub(crate) asked: HeldRequest,
}

/// What stays of a held call: no arguments, only a commitment to them under a salt of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct EndedHold {
    pub(crate) id: RequestId,
    pub(crate) digest: Digest,
    pub(crate) place: CallSite,
    pub(crate) nonce: Nonce,
    pub(crate) commit: Digest,
    pub(crate) phase: Phase,
    pub(crate) deadline: Timestamp,
    pub(crate) ended_at: Timestamp,
}

/// One record of a held call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum HoldForm {
    Open(Box<OpenHold>),
    Ended(Box<EndedHold>),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct HoldRecord {
    v: u8,
    hold: HoldForm,
}

/// The commitment to arguments under the nonce of their request.
pub(crate) fn commitment(nonce: &Nonce, arguments: &[u8]) -> Digest {
    Digest::of_parts(Tag::ARGS_COMMIT, &[nonce.as_str().as_bytes(), arguments])
}

impl EndedHold {
    /// `None` when the request has no canonical form.
    pub(crate) fn of(request: &ApprovalRequest, phase: Phase, now: Timestamp) -> Option<Self> {
        let arguments = canonical::to_bytes(&request.arguments, Profile::Foreign).ok()?;
        Some(Self {
            id: request.id.clone(),
            digest: request.digest().ok()?,
            place: CallSite::of(request),
            nonce: request.nonce.clone(),
            commit: commitment(&request.nonce, &arguments),
            phase,
            deadline: request.deadline,
            ended_at: now,
        })
    }
}

impl HoldForm {
    pub(crate) fn id(&self) -> &RequestId {
        match self {
            Self::Open(open) => &open.request.id,
            Self::Ended(ended) => &ended.id,
        }
    }

    /// A call without masks is written as ever, so that an older build reads it.
    fn version(&self) -> u8 {
        match self {
            Self::Open(open) if open.asked.masks.is_some() => VERSION,
            Self::Open(_) | Self::Ended(_) => 1,
        }
    }

    /// `None` when it has no canonical form.
    pub(crate) fn put(&self, tenant: &Tenant) -> Option<Put> {
        let stored = HoldRecord { v: self.version(), hold: self.clone() };
        let value = canonical::of(&stored, Profile::Foreign).ok()?;
        let expires_at = match self {
            Self::Open(_) => None,
            Self::Ended(ended) => Some(ended.deadline.max(ended.ended_at).after(KEPT)),
        };
        Some(Put { key: key(tenant, self.id()), value, expires_at })
    }

    pub(crate) fn read(id: &str, record: &Record) -> Result<Self, KernelError> {
        let stored = |problem: String| KernelError::Stored {
            what: "a held call",
            problem: format!("`{id}`: {problem}"),
        };
        let value = canonical::parse(&record.value, Profile::Foreign)
            .map_err(|error| stored(error.to_string()))?;
        let version = value.get("v").and_then(serde_json::Value::as_u64);
        if !version.is_some_and(|version| (1..=VERSION.into()).contains(&version)) {
            let problem = format!(
                "its version is {version:?}, this build knows {VERSION}; use a newer build"
            );
            return Err(stored(problem));
        }
        let form: HoldRecord =
            serde_json::from_value(value).map_err(|error| stored(error.to_string()))?;
        if form.hold.id().as_str() != id {
            return Err(stored("it names another request".to_owned()));
        }
        Ok(form.hold)
    }
}

/// Where the record of a held call is stored.
pub(crate) fn key(tenant: &Tenant, id: &RequestId) -> RecordKey {
    RecordKey::new(tenant.clone(), Namespace::Hold, id)
}

/// Every record of a held call, with its version.
pub(crate) fn all(
    tenant: &Tenant,
    ledger: &dyn Ledger,
) -> Result<Vec<(u64, HoldForm)>, KernelError> {
    let mut all = Vec::new();
    let mut after: Option<String> = None;
    loop {
        let page = ledger.list(tenant, Namespace::Hold, after.as_deref(), MAX_PAGE)?;
        let Some((last, _)) = page.last() else { return Ok(all) };
        after = Some(last.clone());
        for (id, record) in page {
            all.push((record.version, HoldForm::read(&id, &record)?));
        }
    }
}

/// A request that waits for people, or that was granted and waits for its call.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct PendingApproval {
    /// Everything that an approver decides about.
    pub request: ApprovalRequest,
    /// Where it stands: requested or granted.
    pub phase: Phase,
    /// The people who agreed so far, by name.
    pub agreed: Vec<String>,
    /// How many people must agree.
    pub needed: usize,
}

impl PendingApproval {
    pub(crate) fn of(open: &OpenHold) -> Self {
        Self {
            request: open.request.clone(),
            phase: open.state.phase().clone(),
            agreed: open.state.votes().keys().cloned().collect(),
            needed: usize::from(open.request.authority.quorum.max(1)),
        }
    }
}

#[cfg(test)]
mod tests;
