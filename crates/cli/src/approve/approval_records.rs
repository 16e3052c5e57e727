//! The requests of a ledger, as an approver looks at them. One record that cannot be read hides no
//! other.

use serde_json::{Value, json};
use weaver_agent_kernel::{EndedApproval, KernelError, OpenApproval, StoredApproval};
use weaver_policy::approval::{Phase, Rejection};
use weaver_types::ledger::Namespace;
use weaver_types::{RequestId, Timestamp};

use super::approval_store::ApprovalStore;
use super::rejections::{refused, unknown};
use crate::{Exit, Failure};

/// One request.
pub(super) enum ApprovalRecord {
    /// It waits, or was granted and waits for its call, or is past its deadline.
    Open(Box<OpenApproval>),
    /// What is left of one that ended.
    Ended(Box<EndedApproval>),
    /// A record that this build cannot read.
    Unreadable { id: String, problem: String },
}

impl ApprovalRecord {
    pub(super) fn id(&self) -> &str {
        match self {
            Self::Open(open) => open.request.id.as_str(),
            Self::Ended(ended) => ended.id.as_str(),
            Self::Unreadable { id, .. } => id,
        }
    }

    /// Where it stands, in one word. A gateway that does not run ends nothing, so the deadline is
    /// looked at here too.
    pub(super) fn status(&self, now: Timestamp) -> &'static str {
        match self {
            Self::Open(open) if now >= open.request.deadline => "expired",
            Self::Open(open) => word(open.state.phase()),
            Self::Ended(ended) => word(&ended.phase),
            Self::Unreadable { .. } => "unreadable",
        }
    }

    /// Whether something can still be said to it.
    pub(super) fn waits(&self, now: Timestamp) -> bool {
        match self {
            Self::Open(open) => now < open.request.deadline,
            Self::Ended(_) => false,
            Self::Unreadable { .. } => true,
        }
    }

    /// When it ends by itself.
    pub(super) fn deadline(&self) -> Option<Timestamp> {
        match self {
            Self::Open(open) => Some(open.request.deadline),
            Self::Ended(_) | Self::Unreadable { .. } => None,
        }
    }

    fn order(&self) -> (Timestamp, &str) {
        match self {
            Self::Open(open) => (open.request.opened_at, self.id()),
            Self::Ended(ended) => (ended.ended_at, self.id()),
            Self::Unreadable { .. } => (Timestamp::default(), self.id()),
        }
    }
}

/// The phase in one word, as it is in JSON.
pub(super) fn word(phase: &Phase) -> &'static str {
    match phase {
        Phase::Requested => "requested",
        Phase::Granted => "granted",
        Phase::Consumed => "consumed",
        Phase::Denied { .. } => "denied",
        Phase::Expired => "expired",
        Phase::Revoked { .. } => "revoked",
        Phase::Superseded { .. } => "superseded",
    }
}

/// Who ended it and why, as far as somebody did.
pub(super) fn ending(phase: &Phase) -> (Option<&str>, Option<&str>) {
    match phase {
        Phase::Denied { by, reason } => (Some(by), Some(reason)),
        Phase::Revoked { by } => (Some(by), None),
        Phase::Superseded { by } => (by.as_ref().map(RequestId::as_str), None),
        Phase::Requested | Phase::Granted | Phase::Consumed | Phase::Expired => (None, None),
    }
}

/// The requests that `wanted` takes, the oldest first.
pub(super) fn all(
    place: &ApprovalStore,
    wanted: impl Fn(&ApprovalRecord) -> bool,
) -> Result<Vec<ApprovalRecord>, Failure> {
    let mut all = Vec::new();
    place.records(Namespace::Hold, |id, record| {
        let held = read(id, StoredApproval::read(id, record));
        if wanted(&held) {
            all.push(held);
        }
    })?;
    all.sort_by(|a, b| a.order().cmp(&b.order()));
    Ok(all)
}

fn read(id: &str, found: Result<StoredApproval, KernelError>) -> ApprovalRecord {
    match found {
        Ok(StoredApproval::Open(open)) => ApprovalRecord::Open(open),
        Ok(StoredApproval::Ended(ended)) => ApprovalRecord::Ended(ended),
        Err(error) => ApprovalRecord::Unreadable { id: id.to_owned(), problem: error.to_string() },
    }
}

/// The request of this name.
pub(super) fn one(place: &ApprovalStore, id: &str) -> Result<ApprovalRecord, Failure> {
    let mut one = None;
    place.records(Namespace::Hold, |found, record| {
        if found == id {
            one = Some(read(id, StoredApproval::read(id, record)));
        }
    })?;
    one.ok_or_else(|| unknown("request", id))
}

/// The request of this name, if something can still be said to it and all of it is there.
pub(super) fn open(
    place: &ApprovalStore,
    id: &str,
    now: Timestamp,
) -> Result<Box<OpenApproval>, Failure> {
    match one(place, id)? {
        ApprovalRecord::Open(open) if open.request.log != place.log()? => {
            Err(refused(&Rejection::WrongLog))
        }
        ApprovalRecord::Open(open) if now >= open.request.deadline => {
            Err(refused(&Rejection::TooLate))
        }
        ApprovalRecord::Open(open) => Ok(open),
        ApprovalRecord::Ended(_) => Err(refused(&Rejection::AlreadyResolved)),
        ApprovalRecord::Unreadable { problem, .. } => {
            Err(Failure::new(Exit::Invalid, "approve.unreadable", problem)
                .next("`weaver trace verify` says whether the ledger is what it should be"))
        }
    }
}

/// What `list` and `watch` say of it to scripts.
pub(super) fn summary(held: &ApprovalRecord, now: Timestamp) -> Value {
    let status = held.status(now);
    match held {
        ApprovalRecord::Open(open) => {
            let request = &open.request;
            json!({
                "id": request.id,
                "status": status,
                "capability": request.capability,
                "arguments": request.arguments,
                "principal": request.principal,
                "agent": request.agent,
                "run": request.run,
                "digest": request.digest().ok(),
                "detail": request.detail,
                "holds": request.holds,
                "authority": request.authority,
                "agreed": open.state.votes().keys().collect::<Vec<_>>(),
                "needed": open.needed(),
                "opened_at": request.opened_at.rfc3339(),
                "deadline": request.deadline.rfc3339(),
                "age_s": now.since(request.opened_at).as_secs(),
                "left_s": open.left(now).as_secs(),
            })
        }
        ApprovalRecord::Ended(ended) => {
            let (by, reason) = ending(&ended.phase);
            json!({
                "id": ended.id,
                "status": status,
                "capability": ended.capability,
                "principal": ended.principal,
                "run": ended.run,
                "digest": ended.digest,
                "by": by,
                "reason": reason,
                "deadline": ended.deadline.rfc3339(),
                "ended_at": ended.ended_at.rfc3339(),
            })
        }
        ApprovalRecord::Unreadable { id, problem } => {
            json!({ "id": id, "status": status, "problem": problem })
        }
    }
}
