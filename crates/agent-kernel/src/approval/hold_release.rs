//! What releases a held call, and how a request for that ends.

use std::sync::Arc;

use weaver_policy::ReleaseProof;
use weaver_policy::approval::{ApprovalRequest, RequestEnd};
use weaver_types::{
    ApprovalRequestId, CheckKind, CheckResult, Decision, ReasonCode, Remedy, Verdict,
};

use super::standing_approvals::StandingRecord;
use super::table::HoldEntry;

/// The name in events when the kernel itself revokes a request.
pub(crate) const KERNEL_ACTOR: &str = "kernel";

/// Whether a call is held, and what could release it.
#[derive(Debug, Clone, Default)]
pub(crate) enum HoldState {
    /// No hold that a request could release.
    #[default]
    Free,
    /// Held, and a new request can be opened, which may supersede an older one.
    Openable { supersedes: Option<ApprovalRequestId> },
    /// Held, and its request is open.
    Waiting(ApprovalRequestId),
    /// Was held, and this releases it once.
    Released(Box<HoldRelease>),
}

/// What releases a call. It is consumed in the batch that commits the intent.
#[derive(Debug, Clone)]
pub(crate) enum HoldRelease {
    Request { hold: HoldEntry, release: Arc<ReleaseProof> },
    Standing { record: Box<StandingRecord>, release: Arc<ReleaseProof> },
}

impl HoldRelease {
    /// The id of the request, unless a standing approval releases the call.
    pub(crate) fn request(&self) -> Option<&ApprovalRequestId> {
        self.approval_request().map(|request| &request.id)
    }

    /// The request, unless a standing approval releases the call.
    pub(crate) fn approval_request(&self) -> Option<&ApprovalRequest> {
        match self {
            Self::Request { hold, .. } => Some(&hold.open.request),
            Self::Standing { .. } => None,
        }
    }

    /// How many unreviewed writes of the run the people who released the call have seen; `None`
    /// where a standing approval releases it.
    pub(crate) fn seen_writes(&self) -> Option<u64> {
        match self {
            Self::Request { hold, .. } => Some(hold.seen_writes()),
            Self::Standing { .. } => None,
        }
    }
}

/// A request that ends, with the reason.
#[derive(Debug, Clone)]
pub(crate) struct HoldEnding {
    pub(crate) id: ApprovalRequestId,
    pub(crate) end: RequestEnd,
    pub(crate) reason: ReasonCode,
    pub(crate) detail: String,
}

/// True when every obstacle is a hold that people can release.
pub(crate) fn is_releasable(decision: &Decision) -> bool {
    decision.verdict() == Verdict::Hold
        && decision.obstacles().all(|check_result| {
            check_result.verdict == Verdict::Hold && check_result.discharge == Remedy::Approval
        })
}

pub(crate) fn denial(check: CheckKind, reason: ReasonCode, detail: &str) -> CheckResult {
    CheckResult::new(check, Verdict::Deny, reason, detail)
}

pub(crate) fn boxed_denial(check: CheckKind, reason: ReasonCode, detail: &str) -> Box<CheckResult> {
    Box::new(denial(check, reason, detail))
}

/// The denial of a call whose request could not be recorded.
pub(crate) fn recording_failure_denial(error: &dyn std::fmt::Display) -> Box<CheckResult> {
    boxed_denial(CheckKind::System, ReasonCode::LedgerUnavailable, &format!("the request: {error}"))
}
