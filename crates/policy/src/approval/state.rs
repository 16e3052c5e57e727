//! The state of an approval request: a state machine that only moves towards a final phase.
//!
//! `requested → granted → consumed`, and from the first two to `denied`, `expired`, `revoked` or
//! `superseded`. No transition leaves a final phase, so a late or repeated answer changes nothing.
//! Votes are stored with their signatures and verified again before each release. The stored phase
//! alone therefore proves nothing, and editing the record gains an attacker nothing.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use weaver_types::{ApprovalRequestId, Timestamp};

use super::approver_checks::required_quorum;
use super::receipt_time::MAX_SKEW;
use super::verify_resolution::{check_accepts, check_resolution};
use super::{
    APPROVAL_VERSION, ApprovalRequest, ReceiptTime, Rejection, ReleaseProof, Resolution,
    ResolutionVerdict, SignedResolution,
};
use crate::keys::Keys;

/// The phase of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "phase", deny_unknown_fields)]
pub enum Phase {
    /// It is waiting for approvers.
    Requested,
    /// Enough people agreed. The call may be made once.
    Granted,
    /// The call was made, or was started.
    Consumed,
    /// Somebody with the authority denied it.
    Denied {
        /// Who.
        by: String,
        /// Their reason.
        reason: String,
    },
    /// Its deadline passed.
    Expired,
    /// An operator revoked it.
    Revoked {
        /// Who.
        by: String,
    },
    /// The policy changed, and another request replaced it, or none did.
    Superseded {
        /// The other request.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<ApprovalRequestId>,
    },
}

impl Phase {
    /// True for a final phase.
    #[must_use]
    pub fn is_end(&self) -> bool {
        !matches!(self, Self::Requested | Self::Granted)
    }
}

/// How a request ends without a call. Ending it needs no proof, because it releases nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RequestEnd {
    /// Somebody in the same process denied it.
    Denied {
        /// Who.
        by: String,
        /// Why.
        reason: String,
    },
    /// Its deadline passed.
    Expired,
    /// An operator revoked it.
    Revoked {
        /// Who.
        by: String,
    },
    /// The policy changed.
    Superseded {
        /// The request that replaced it, if any.
        by: Option<ApprovalRequestId>,
    },
}

/// An answer that [`verify_resolution`](super::verify_resolution) has verified. A stored vote is
/// verified again before it releases anything.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Vote {
    signed: SignedResolution,
    received_at: Timestamp,
}

impl Vote {
    pub(super) fn new(signed: SignedResolution, received_at: Timestamp) -> Self {
        Self { signed, received_at }
    }

    /// The answer.
    #[must_use]
    pub fn resolution(&self) -> &Resolution {
        &self.signed.resolution
    }

    /// When it was received.
    #[must_use]
    pub fn received_at(&self) -> Timestamp {
        self.received_at
    }
}

/// The state of one request. No method leaves a final phase, and only [`ApprovalState::release`]
/// creates a [`ReleaseProof`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApprovalState {
    v: u64,
    request: ApprovalRequestId,
    state: Phase,
    votes: BTreeMap<String, Vote>,
}

impl ApprovalState {
    /// The state of a newly opened request.
    #[must_use]
    pub fn new(request: &ApprovalRequest) -> Self {
        Self {
            v: APPROVAL_VERSION,
            request: request.id.clone(),
            state: Phase::Requested,
            votes: BTreeMap::new(),
        }
    }

    /// The request.
    #[must_use]
    pub fn request(&self) -> &ApprovalRequestId {
        &self.request
    }

    /// The current phase.
    #[must_use]
    pub fn phase(&self) -> &Phase {
        &self.state
    }

    /// The votes of the people who agreed, by name.
    #[must_use]
    pub fn votes(&self) -> &BTreeMap<String, Vote> {
        &self.votes
    }

    /// How many unreviewed writes of the run everybody who agreed has seen.
    #[must_use]
    pub fn seen_writes(&self, request: &ApprovalRequest) -> u64 {
        let seen = self.votes.values().map(|vote| vote.resolution().seen_writes);
        seen.map(|seen| seen.unwrap_or(request.unreviewed_writes))
            .min()
            .unwrap_or(request.unreviewed_writes)
    }

    pub(super) fn vote_by(&self, approver: &str) -> Option<&Vote> {
        self.votes.get(approver)
    }

    /// Counts a verified vote. A denial ends the request, even after it was granted, as long as it
    /// was not consumed. The request is granted once as many distinct people agree as the authority
    /// requires.
    ///
    /// # Errors
    /// [`Rejection::AlreadyResolved`], [`Rejection::Replayed`] or [`Rejection::WrongRequest`]; the
    /// state is then unchanged.
    pub fn record(&mut self, request: &ApprovalRequest, vote: Vote) -> Result<&Phase, Rejection> {
        if request.id != self.request {
            return Err(Rejection::WrongRequest);
        }
        check_accepts(self, &vote.signed)?;
        let said = &vote.signed.resolution;
        let by = said.approver.clone();
        match said.verdict {
            ResolutionVerdict::Denied => {
                self.state = Phase::Denied { by, reason: said.reason.clone() };
            }
            ResolutionVerdict::Granted => {
                self.votes.insert(by, vote);
                if self.votes.len() >= required_quorum(&request.authority) {
                    self.state = Phase::Granted;
                }
            }
        }
        Ok(&self.state)
    }

    /// Ends the request without a call.
    ///
    /// # Errors
    /// [`Rejection::AlreadyResolved`] if it has already ended.
    pub fn end(&mut self, end: RequestEnd) -> Result<(), Rejection> {
        if self.state.is_end() {
            return Err(Rejection::AlreadyResolved);
        }
        self.state = match end {
            RequestEnd::Denied { by, reason } => Phase::Denied { by, reason },
            RequestEnd::Expired => Phase::Expired,
            RequestEnd::Revoked { by } => Phase::Revoked { by },
            RequestEnd::Superseded { by } => Phase::Superseded { by },
        };
        Ok(())
    }

    /// The proof that this request was granted. Every vote is verified again, including its
    /// signature, under the keys now in force, so neither a revoked key nor a tampered record
    /// releases anything.
    ///
    /// # Errors
    /// [`Rejection`]: not granted, past the deadline, or too few of the votes still count.
    pub fn release(
        &self,
        request: &ApprovalRequest,
        keys: &Keys,
        now: Timestamp,
    ) -> Result<ReleaseProof, Rejection> {
        if self.v != APPROVAL_VERSION || request.id != self.request {
            return Err(Rejection::WrongRequest);
        }
        let need = required_quorum(&request.authority);
        match self.state {
            Phase::Granted => {}
            Phase::Requested => return Err(Rejection::Quorum { have: self.votes.len(), need }),
            _ => return Err(Rejection::AlreadyResolved),
        }
        let people = self.valid_approvers(request, keys, now)?;
        if people.len() < need {
            return Err(Rejection::Quorum { have: people.len(), need });
        }
        ReleaseProof::from_approved_request(request, people)
    }

    /// The distinct people whose votes count now. Void votes are skipped as long as the others
    /// reach the quorum; otherwise the first reason is returned. One key counts once, whatever
    /// names it votes under. Dates are compared with the largest skew, because the policy's own
    /// skew is not known here.
    fn valid_approvers(
        &self,
        request: &ApprovalRequest,
        keys: &Keys,
        now: Timestamp,
    ) -> Result<BTreeSet<String>, Rejection> {
        let received = ReceiptTime { now, skew: MAX_SKEW };
        let (mut people, mut counted_keys) = (BTreeSet::new(), BTreeSet::new());
        let mut first_rejection = None;
        for vote in self.votes.values() {
            let said = vote.resolution();
            let granted = said.verdict == ResolutionVerdict::Granted;
            match check_resolution(keys, request, &vote.signed, received) {
                Ok(()) if granted && counted_keys.insert(vote.signed.envelope.key().clone()) => {
                    people.insert(said.approver.clone());
                }
                Ok(()) => {}
                Err(rejection) => first_rejection = first_rejection.or(Some(rejection)),
            }
        }
        match first_rejection {
            Some(rejection) if people.len() < required_quorum(&request.authority) => Err(rejection),
            _ => Ok(people),
        }
    }

    /// Marks the request as consumed by a call. Commit this in the same batch as the intent.
    ///
    /// # Errors
    /// [`Rejection::WrongRequest`], when the release is another request's;
    /// [`Rejection::AlreadyResolved`], when this request has ended.
    pub fn consume(&mut self, release: &ReleaseProof) -> Result<(), Rejection> {
        if release.request_id() != Some(&self.request) {
            return Err(Rejection::WrongRequest);
        }
        if self.state.is_end() {
            return Err(Rejection::AlreadyResolved);
        }
        self.state = Phase::Consumed;
        Ok(())
    }
}
