//! What became of a request: a state machine that only moves towards an end.
//!
//! `requested → granted → consumed`, and from the first two to `denied`, `expired`, `revoked` or
//! `superseded`. No transition leads out of an end, so that an answer that arrives late, or a second
//! time, changes nothing. Votes are kept with their signatures and verified again before a release: the
//! stored state is a convenience, and whoever edits it gains nothing.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use weaver_types::{RequestId, Timestamp};

use super::person::quorum;
use super::receipt_time::MAX_SKEW;
use super::verify::{check_open, check_resolution};
use super::{
    APPROVAL_VERSION, ApprovalRequest, ReceiptTime, Rejection, Release, Resolution,
    ResolutionVerdict, SignedResolution,
};
use crate::keys::Keys;

/// Where a request stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "phase", deny_unknown_fields)]
pub enum Phase {
    /// It waits for people.
    Requested,
    /// Enough people agreed; the call may be made once.
    Granted,
    /// The call was made, or began.
    Consumed,
    /// Somebody with the authority refused.
    Denied {
        /// Who.
        by: String,
        /// Why, in their words.
        reason: String,
    },
    /// Its deadline came.
    Expired,
    /// An operator took it back.
    Revoked {
        /// Who.
        by: String,
    },
    /// The policy changed and another request took its place, or none.
    Superseded {
        /// The other request.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<RequestId>,
    },
}

impl Phase {
    /// True where nothing follows any more.
    #[must_use]
    pub fn is_end(&self) -> bool {
        !matches!(self, Self::Requested | Self::Granted)
    }
}

/// How a request ends without a call. Ending one takes no proof, because it releases nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RequestEnd {
    /// Somebody refused, in the same process.
    Denied {
        /// Who.
        by: String,
        /// Why.
        reason: String,
    },
    /// Its deadline came.
    Expired,
    /// An operator took it back.
    Revoked {
        /// Who.
        by: String,
    },
    /// The policy changed.
    Superseded {
        /// The request that took its place, where one did.
        by: Option<RequestId>,
    },
}

/// A verified answer: made by [`verify_resolution`](super::verify_resolution). A stored one is
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

    /// What was said.
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

/// What became of one request. No method leads out of an end, and only
/// [`ApprovalState::release`] makes a [`Release`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApprovalState {
    v: u64,
    request: RequestId,
    state: Phase,
    votes: BTreeMap<String, Vote>,
}

impl ApprovalState {
    /// The state of a request that was just opened.
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
    pub fn request(&self) -> &RequestId {
        &self.request
    }

    /// Where it stands.
    #[must_use]
    pub fn phase(&self) -> &Phase {
        &self.state
    }

    /// The people who agreed, by name.
    #[must_use]
    pub fn votes(&self) -> &BTreeMap<String, Vote> {
        &self.votes
    }

    pub(super) fn vote_of(&self, approver: &str) -> Option<&Vote> {
        self.votes.get(approver)
    }

    /// Counts a verified vote. A denial ends the request, also after it was granted and before
    /// it was consumed. When as many distinct people agreed as the authority asks for, it is granted.
    ///
    /// # Errors
    /// [`Rejection::AlreadyResolved`], [`Rejection::Replayed`] or [`Rejection::WrongRequest`]; the
    /// state is then unchanged.
    pub fn record(&mut self, request: &ApprovalRequest, vote: Vote) -> Result<&Phase, Rejection> {
        if request.id != self.request {
            return Err(Rejection::WrongRequest);
        }
        check_open(self, &vote.signed)?;
        let said = &vote.signed.resolution;
        let by = said.approver.clone();
        match said.verdict {
            ResolutionVerdict::Denied => {
                self.state = Phase::Denied { by, reason: said.reason.clone() };
            }
            ResolutionVerdict::Granted => {
                self.votes.insert(by, vote);
                if self.votes.len() >= quorum(&request.authority) {
                    self.state = Phase::Granted;
                }
            }
        }
        Ok(&self.state)
    }

    /// Ends the request without a call.
    ///
    /// # Errors
    /// [`Rejection::AlreadyResolved`], when it has ended before.
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

    /// The proof that this request was granted. Every vote is verified again, signature included,
    /// under the keys in force now, so that neither a revoked key nor a stored record that somebody
    /// edited releases anything.
    ///
    /// # Errors
    /// [`Rejection`]: not granted, past the deadline, or too few of the votes still count.
    pub fn release(
        &self,
        request: &ApprovalRequest,
        keys: &Keys,
        now: Timestamp,
    ) -> Result<Release, Rejection> {
        if self.v != APPROVAL_VERSION || request.id != self.request {
            return Err(Rejection::WrongRequest);
        }
        let need = quorum(&request.authority);
        match self.state {
            Phase::Granted => {}
            Phase::Requested => return Err(Rejection::Quorum { have: self.votes.len(), need }),
            _ => return Err(Rejection::AlreadyResolved),
        }
        let people = self.people(request, keys, now)?;
        if people.len() < need {
            return Err(Rejection::Quorum { have: people.len(), need });
        }
        Release::approved(request, people)
    }

    /// The distinct people whose votes count now. One vote that is void is skipped as long as the
    /// others suffice; when none is left, the reason why is given.
    fn people(
        &self,
        request: &ApprovalRequest,
        keys: &Keys,
        now: Timestamp,
    ) -> Result<BTreeSet<String>, Rejection> {
        let moment = ReceiptTime { now, skew: MAX_SKEW };
        let (mut people, mut used) = (BTreeSet::new(), BTreeSet::new());
        let mut first = None;
        for vote in self.votes.values() {
            let said = vote.resolution();
            let granted = said.verdict == ResolutionVerdict::Granted;
            match check_resolution(keys, request, &vote.signed, moment) {
                Ok(()) if granted && used.insert(vote.signed.envelope.key().clone()) => {
                    people.insert(said.approver.clone());
                }
                Ok(()) => {}
                Err(rejection) => first = first.or(Some(rejection)),
            }
        }
        match first {
            Some(rejection) if people.len() < quorum(&request.authority) => Err(rejection),
            _ => Ok(people),
        }
    }

    /// Notes that the call is being made. Commit this together with the intent.
    ///
    /// # Errors
    /// [`Rejection::WrongRequest`], when the release is another request's;
    /// [`Rejection::AlreadyResolved`], when this request has ended.
    pub fn consume(&mut self, release: &Release) -> Result<(), Rejection> {
        if release.request() != Some(&self.request) {
            return Err(Rejection::WrongRequest);
        }
        if self.state.is_end() {
            return Err(Rejection::AlreadyResolved);
        }
        self.state = Phase::Consumed;
        Ok(())
    }
}
