//! The records of approvals, for a process that only reads: an approver's own.

use std::time::Duration;

use weaver_policy::approval::{ApprovalRequest, ApprovalState, Phase, StandingUse};
use weaver_types::ledger::Record;
use weaver_types::{CapabilityId, Digest, PrincipalId, RequestId, RunId, Timestamp};

use super::hold::{CallSite, EndedHold, HoldForm, OpenHold};
use super::standing;
use crate::error::KernelError;

/// What a ledger holds of one request, under
/// [`Namespace::Hold`](weaver_types::ledger::Namespace::Hold). It is not proven: what counts is
/// what the kernel that writes the ledger makes of it.
#[derive(Debug, Clone, PartialEq)]
pub enum StoredApproval {
    /// It is open: everything that an approver decides about.
    Open(Box<OpenApproval>),
    /// It has ended: no arguments any more.
    Ended(Box<EndedApproval>),
}

/// An open request.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenApproval {
    /// The request, in the form that answers sign.
    pub request: ApprovalRequest,
    /// Where it stands, with what people said.
    pub state: ApprovalState,
}

/// What is left of a request that has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndedApproval {
    /// The request.
    pub id: RequestId,
    /// Its digest.
    pub digest: Digest,
    /// What was to be called.
    pub capability: CapabilityId,
    /// Who asked.
    pub principal: PrincipalId,
    /// In which run.
    pub run: RunId,
    /// How it ended.
    pub phase: Phase,
    /// Until when it would have lived.
    pub deadline: Timestamp,
    /// When it ended.
    pub ended_at: Timestamp,
}

impl OpenApproval {
    /// How many people must agree.
    #[must_use]
    pub fn needed(&self) -> usize {
        usize::from(self.request.authority.quorum.max(1))
    }

    /// How long it still lives.
    #[must_use]
    pub fn left(&self, now: Timestamp) -> Duration {
        self.request.deadline.since(now)
    }
}

impl StoredApproval {
    /// Reads the record of the request `id`.
    ///
    /// # Errors
    /// [`KernelError::Stored`], when it is damaged, names another request, or has a newer form.
    pub fn read(id: &str, record: &Record) -> Result<Self, KernelError> {
        Ok(match HoldForm::read(id, record)? {
            HoldForm::Open(open) => {
                let OpenHold { request, state, .. } = *open;
                Self::Open(Box::new(OpenApproval { request, state }))
            }
            HoldForm::Ended(ended) => {
                let EndedHold { id, digest, place, phase, deadline, ended_at, .. } = *ended;
                let CallSite { run, principal, capability, .. } = place;
                Self::Ended(Box::new(EndedApproval {
                    id,
                    digest,
                    capability,
                    principal,
                    run,
                    phase,
                    deadline,
                    ended_at,
                }))
            }
        })
    }
}

/// Reads the record of the standing approval `id`, under
/// [`Namespace::Standing`](weaver_types::ledger::Namespace::Standing).
///
/// # Errors
/// As [`StoredApproval::read`].
pub fn read_standing(id: &str, record: &Record) -> Result<StandingUse, KernelError> {
    standing::read(id, record).map(|used| used.state)
}
