//! What the log says about approvals, to detect records that were tampered with.
//!
//! Whoever can write to the store can edit a record, plant one, or restore an older one. The log is
//! a Merkle tree (RFC 9162), so it cannot be changed without notice. A request that is open according to its
//! record is therefore void unless the log says that exactly this request was opened and has not
//! ended.

use std::collections::{BTreeMap, BTreeSet};

use weaver_policy::approval::{MAX_SKEW, StandingApproval};
use weaver_types::ledger::Ledger;
use weaver_types::{ApprovalRequestId, EventKind, StandingApprovalId, Timestamp};

use crate::error::KernelError;
use crate::log_tail::{scan_backwards, str_field};

/// What the log says about requests and standing approvals.
#[derive(Debug, Default)]
pub(crate) struct LoggedApprovals {
    opened: BTreeMap<ApprovalRequestId, String>,
    ended: BTreeSet<ApprovalRequestId>,
    uses: BTreeMap<StandingApprovalId, u64>,
    accepted: BTreeSet<StandingApprovalId>,
    revoked: BTreeSet<StandingApprovalId>,
    /// The time from which the log was read; later than requested if the log is too long.
    complete_since: Timestamp,
}

impl LoggedApprovals {
    /// Reads the log from `since` on.
    pub(crate) fn read(ledger: &dyn Ledger, since: Timestamp) -> Result<Self, KernelError> {
        let mut proof = Self { complete_since: since, ..Self::default() };
        let mut earliest = since;
        let complete = scan_backwards(ledger, since, |event| {
            earliest = event.at;
            if let Some(kind) = event.kind.filter(|kind| is_approval_event(*kind)) {
                proof.add_event(kind, &event.payload());
            }
        })?;
        if !complete {
            proof.complete_since = earliest;
        }
        Ok(proof)
    }

    /// Reads the log from the earliest time at which the standing approval can have been accepted.
    pub(crate) fn read_for_standing(
        ledger: &dyn Ledger,
        opened_at: Timestamp,
    ) -> Result<Self, KernelError> {
        Self::read(ledger, earliest_acceptance(opened_at))
    }

    fn add_event(&mut self, kind: EventKind, payload: &serde_json::Value) {
        let request =
            |value: &serde_json::Value| str_field(value, "request").and_then(|id| id.parse().ok());
        match kind {
            EventKind::ApprovalRequested => {
                if let (Some(id), Some(digest)) = (request(payload), str_field(payload, "digest")) {
                    self.opened.insert(id, digest.to_owned());
                }
            }
            EventKind::Intent => {
                let Some(release) = payload.get("released_by") else { return };
                self.ended.extend(request(release));
                let standing = str_field(release, "standing").and_then(|id| id.parse().ok());
                let used = release.get("use").and_then(serde_json::Value::as_u64);
                if let (Some(id), Some(used)) = (standing, used) {
                    let max_use = self.uses.entry(id).or_default();
                    *max_use = used.max(*max_use);
                }
            }
            EventKind::StandingAccepted => {
                self.accepted.extend(str_field(payload, "standing").and_then(|id| id.parse().ok()));
            }
            EventKind::StandingRevoked => {
                self.revoked.extend(str_field(payload, "standing").and_then(|id| id.parse().ok()));
            }
            _ => self.ended.extend(request(payload)),
        }
    }

    /// Whether the log says that exactly this request was opened and has not ended.
    pub(crate) fn confirms_open(&self, id: &ApprovalRequestId, digest: &str) -> bool {
        !self.ended.contains(id) && self.opened.get(id).is_some_and(|opened| opened == digest)
    }

    /// Whether the log has more uses of a standing approval than its record, has its revocation, or
    /// is too long to say.
    pub(crate) fn contradicts(&self, standing: &StandingApproval, used: u32) -> bool {
        self.complete_since > earliest_acceptance(standing.opened_at)
            || self.revoked.contains(&standing.id)
            || self.uses.get(&standing.id).is_some_and(|recorded| *recorded > used.into())
    }

    /// Whether the log mentions this standing approval, or is too long to say.
    pub(crate) fn has_seen(&self, standing: &StandingApproval) -> bool {
        self.accepted.contains(&standing.id) || self.contradicts(standing, 0)
    }
}

/// The earliest time at which a standing approval can have been accepted. Its date comes from the
/// signer's clock, which may be ahead of ours.
fn earliest_acceptance(opened_at: Timestamp) -> Timestamp {
    let skew = i64::try_from(MAX_SKEW.as_micros()).unwrap_or(i64::MAX);
    Timestamp::from_micros(opened_at.micros().saturating_sub(skew))
}

fn is_approval_event(kind: EventKind) -> bool {
    matches!(
        kind,
        EventKind::Intent
            | EventKind::ApprovalRequested
            | EventKind::ApprovalDenied
            | EventKind::ApprovalExpired
            | EventKind::ApprovalRevoked
            | EventKind::ApprovalSuperseded
            | EventKind::StandingAccepted
            | EventKind::StandingRevoked
    )
}

#[cfg(test)]
mod tests;
