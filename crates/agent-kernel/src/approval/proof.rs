//! Records against the log: an open request counts only as the log tells of it.
//!
//! Records are small and can be edited, put back or planted by whoever can write the store; the
//! log is chained and proves itself. So a request that is open in its record, and is not the one
//! that was opened in the log or has ended there, is void.

use std::collections::{BTreeMap, BTreeSet};

use weaver_policy::approval::{MAX_SKEW, StandingApproval};
use weaver_types::ledger::Ledger;
use weaver_types::{EventKind, RequestId, StandingId, Timestamp};

use crate::error::KernelError;
use crate::log_tail::{scan, text};

/// What the log says of requests and standing approvals.
#[derive(Debug, Default)]
pub(crate) struct Proof {
    opened: BTreeMap<RequestId, String>,
    ended: BTreeSet<RequestId>,
    uses: BTreeMap<StandingId, u64>,
    accepted: BTreeSet<StandingId>,
    revoked: BTreeSet<StandingId>,
    /// From when on it tells: later than asked for where the log is too long.
    from: Timestamp,
}

impl Proof {
    /// What the log says since `since`.
    pub(crate) fn read(ledger: &dyn Ledger, since: Timestamp) -> Result<Self, KernelError> {
        let mut proof = Self { from: since, ..Self::default() };
        let mut earliest = since;
        let complete = scan(ledger, since, |event| {
            earliest = event.at;
            if let Some(kind) = event.kind.filter(|kind| concerns(*kind)) {
                proof.see(kind, &event.payload());
            }
        })?;
        if !complete {
            proof.from = earliest;
        }
        Ok(proof)
    }

    /// What the log says since a standing approval was signed, as far as clocks may differ.
    pub(crate) fn of_standing(
        ledger: &dyn Ledger,
        opened_at: Timestamp,
    ) -> Result<Self, KernelError> {
        Self::read(ledger, signed_from(opened_at))
    }

    fn see(&mut self, kind: EventKind, payload: &serde_json::Value) {
        let request =
            |value: &serde_json::Value| text(value, "request").and_then(|id| id.parse().ok());
        match kind {
            EventKind::ApprovalRequested => {
                if let (Some(id), Some(digest)) = (request(payload), text(payload, "digest")) {
                    self.opened.insert(id, digest.to_owned());
                }
            }
            EventKind::Intent => {
                let Some(by) = payload.get("released_by") else { return };
                self.ended.extend(request(by));
                let standing = text(by, "standing").and_then(|id| id.parse().ok());
                let used = by.get("use").and_then(serde_json::Value::as_u64);
                if let (Some(id), Some(used)) = (standing, used) {
                    let most = self.uses.entry(id).or_default();
                    *most = used.max(*most);
                }
            }
            EventKind::StandingAccepted => {
                self.accepted.extend(text(payload, "standing").and_then(|id| id.parse().ok()));
            }
            EventKind::StandingRevoked => {
                self.revoked.extend(text(payload, "standing").and_then(|id| id.parse().ok()));
            }
            _ => self.ended.extend(request(payload)),
        }
    }

    /// Whether the log tells of this request, just so, and not of its end.
    pub(crate) fn holds(&self, id: &RequestId, digest: &str) -> bool {
        !self.ended.contains(id) && self.opened.get(id).is_some_and(|opened| opened == digest)
    }

    /// Whether the log tells of more uses of a standing approval than its record, or of its end, or
    /// is too long to tell.
    pub(crate) fn exceeds(&self, standing: &StandingApproval, used: u32) -> bool {
        self.from > signed_from(standing.opened_at)
            || self.revoked.contains(&standing.id)
            || self.uses.get(&standing.id).is_some_and(|recorded| *recorded > used.into())
    }

    /// Whether the log tells of this standing approval at all, or is too long to tell.
    pub(crate) fn knows(&self, standing: &StandingApproval) -> bool {
        self.accepted.contains(&standing.id) || self.exceeds(standing, 0)
    }
}

/// From when on a standing approval can have been accepted: its date is that of the signer's clock.
fn signed_from(opened_at: Timestamp) -> Timestamp {
    let skew = i64::try_from(MAX_SKEW.as_micros()).unwrap_or(i64::MAX);
    Timestamp::from_micros(opened_at.micros().saturating_sub(skew))
}

fn concerns(kind: EventKind) -> bool {
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
