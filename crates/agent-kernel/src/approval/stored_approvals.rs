//! Reads the records of approvals, for a process that does not run the kernel, such as an
//! approver's tool.

use std::time::Duration;

use weaver_policy::approval::{ApprovalRequest, ApprovalState, Phase, StandingApprovalState};
use weaver_types::ledger::Record;
use weaver_types::{ApprovalRequestId, CapabilityId, Digest, PrincipalId, RunId, Timestamp};

use super::hold::{CallKey, EndedHold, OpenHold, StoredHold};
use super::standing_approvals;
use crate::error::KernelError;

/// The record of one request, under [`Namespace::Hold`](weaver_types::ledger::Namespace::Hold). It
/// is not verified: only the kernel that writes the ledger compares it with the log.
#[derive(Debug, Clone, PartialEq)]
pub enum StoredApproval {
    /// The request is open: everything that an approver decides about.
    Open(Box<OpenApproval>),
    /// The request has ended; its arguments are gone.
    Ended(Box<EndedApproval>),
}

/// An open request.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenApproval {
    /// The request, in the form that answers sign.
    pub request: ApprovalRequest,
    /// The state of the request, with the votes so far.
    pub state: ApprovalState,
}

/// What remains of a request that has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndedApproval {
    /// The request.
    pub id: ApprovalRequestId,
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
    /// When it would have expired.
    pub deadline: Timestamp,
    /// When it ended.
    pub ended_at: Timestamp,
}

impl OpenApproval {
    /// How many people must agree.
    #[must_use]
    pub fn required_approvers(&self) -> usize {
        usize::from(self.request.authority.quorum.max(1))
    }

    /// How long it remains open.
    #[must_use]
    pub fn time_left(&self, now: Timestamp) -> Duration {
        self.request.deadline.since(now)
    }
}

impl StoredApproval {
    /// Reads the record of the request `id`.
    ///
    /// # Errors
    /// [`KernelError::StoredRecord`], when it is damaged, names another request, or has a newer form.
    pub fn read(id: &str, record: &Record) -> Result<Self, KernelError> {
        Ok(match StoredHold::read(id, record)? {
            StoredHold::Open(open) => {
                let OpenHold { request, state, .. } = *open;
                Self::Open(Box::new(OpenApproval { request, state }))
            }
            StoredHold::Ended(ended) => {
                let EndedHold { id, digest, call_key, phase, deadline, ended_at, .. } = *ended;
                let CallKey { run, principal, capability, .. } = call_key;
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
pub fn read_standing_approval(
    id: &str,
    record: &Record,
) -> Result<StandingApprovalState, KernelError> {
    standing_approvals::read(id, record).map(|record| record.state)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open() -> OpenApproval {
        let text = include_str!("../../tests/data/hold_open.json").trim_end();
        let record = Record { version: 1, value: text.as_bytes().to_vec() };
        match StoredApproval::read("apr_golden", &record).unwrap() {
            StoredApproval::Open(open) => *open,
            StoredApproval::Ended(ended) => panic!("{ended:?}"),
        }
    }

    #[test]
    fn at_least_one_person_must_agree() {
        let mut open = open();
        for (quorum, needed) in [(0, 1), (1, 1), (2, 2), (3, 3)] {
            open.request.authority.quorum = quorum;
            assert_eq!(open.required_approvers(), needed);
        }
    }

    #[test]
    fn it_lives_until_its_deadline_and_not_beyond() {
        let open = open();
        let deadline = open.request.deadline;
        let before = Timestamp::from_micros(deadline.micros() - 7);
        assert_eq!(open.time_left(before), Duration::from_micros(7));
        assert_eq!(open.time_left(deadline), Duration::ZERO);
        assert_eq!(open.time_left(deadline.after(Duration::from_secs(1))), Duration::ZERO);
    }

    #[test]
    fn what_has_ended_is_told_without_its_arguments() {
        let text = include_str!("../../tests/data/hold_ended.json").trim_end();
        let record = Record { version: 1, value: text.as_bytes().to_vec() };
        let StoredApproval::Ended(ended) = StoredApproval::read("apr_golden", &record).unwrap()
        else {
            panic!("it is open");
        };
        assert_eq!((ended.id.as_str(), ended.capability.as_str()), ("apr_golden", "git.push"));
        assert_eq!((ended.principal.as_str(), ended.run.as_str()), ("agent", "run_1"));
        assert!(ended.ended_at < ended.deadline);
        assert!(StoredApproval::read("apr_other", &record).is_err());
    }
}
