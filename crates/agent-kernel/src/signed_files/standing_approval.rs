//! Accepts and revokes standing approvals.

use serde_json::{Value, json};
use weaver_policy::approval::{Rejection, SignedStandingApproval, verify_standing_approval};
use weaver_types::ledger::{Batch, Durability, LedgerError};
use weaver_types::{EventKind, StandingApprovalId};

use super::{SignedFileError, SignedFileOutcome, SignedFileReceiver};
use crate::approval::logged_approvals::LoggedApprovals;
use crate::approval::standing_approvals::{self, MAX_STANDING_APPROVALS, StandingRecord};
use crate::approval_limits;
use crate::event_payload::{EventPayload, error_text};

impl SignedFileReceiver {
    pub(super) async fn receive_standing_approval(
        &self,
        signed: &SignedStandingApproval,
    ) -> Result<SignedFileOutcome, SignedFileError> {
        let policy = self.context.policy();
        let unknown = || Rejection::UnknownApprover { approver: "no keys document".to_owned() };
        let keys = policy.keys().ok_or_else(unknown)?;
        let now = self.context.now();
        let moment = approval_limits::receipt_time(&policy, now);
        let state = verify_standing_approval(
            keys,
            &self.approvals.log_id,
            signed,
            &policy.approvals().standing,
            moment,
        )?;
        let standing = state.standing_approval();
        let id = standing.id.clone();
        if self.approvals.standing_approvals.get(&id).is_some() {
            return Err(Rejection::Replayed.into());
        }
        // The log is asked too: a record can be removed to replay the file, a log entry cannot.
        let proof =
            LoggedApprovals::read_for_standing(self.context.ledger.as_ref(), standing.opened_at)
                .map_err(|error| SignedFileError::Failed(error.to_string()))?;
        if proof.has_seen(standing) {
            return Err(Rejection::Replayed.into());
        }
        if self.approvals.standing_approvals.len() >= MAX_STANDING_APPROVALS {
            return Err(SignedFileError::Failed(
                "too many standing approvals are in force".to_owned(),
            ));
        }
        let form =
            || SignedFileError::Failed("the standing approval has no recordable form".to_owned());
        let put =
            standing_approvals::put(&self.context.settings.tenant, &state).ok_or_else(form)?;
        let signers: Vec<Value> = signed.envelopes.iter().map(|e| json!(e.key())).collect();
        let by: Vec<&str> =
            signed.envelopes.iter().filter_map(|e| keys.approver_of(e.key())).collect();
        let conditions = serde_json::to_string(&standing.arguments).unwrap_or_default();
        let event = EventPayload::new()
            .with("standing", &id)
            .with_optional("digest", standing.signed_digest().ok().map(|digest| json!(digest)))
            .with("capability", &standing.capability)
            .with("principals", &standing.principals)
            .with("agents", &standing.agents)
            .with("arguments", error_text(&self.context.firewall, &conditions))
            .with("uses", standing.uses)
            .with("expires", standing.expires)
            .with("by", &by)
            .with("keys", Value::Array(signers))
            .into_global_event(EventKind::StandingAccepted, now)
            .ok_or_else(form)?;
        let batch = Batch::new(Durability::Disk)
            .create(put.key, put.value, put.expires_at)
            .with_event(event);
        match self.context.ledger.commit(batch).await {
            Ok(_) => {
                self.approvals
                    .standing_approvals
                    .apply_committed(StandingRecord { version: 1, state });
                Ok(SignedFileOutcome::StandingAccepted { standing: id })
            }
            Err(LedgerError::Conflict { .. }) => Err(Rejection::Replayed.into()),
            Err(error) => Err(error.into()),
        }
    }

    /// Revokes a standing approval for good, in one commit with everything in `extra`.
    pub(super) async fn revoke_standing(
        &self,
        id: &StandingApprovalId,
        by: &str,
        extra: &Batch,
    ) -> Result<(), SignedFileError> {
        for _ in 0..64 {
            let record =
                self.approvals.standing_approvals.get(id).ok_or(Rejection::WrongRequest)?;
            let mut state = record.state.clone();
            state.revoke(by);
            let form =
                || SignedFileError::Failed("the revocation has no recordable form".to_owned());
            let put =
                standing_approvals::put(&self.context.settings.tenant, &state).ok_or_else(form)?;
            let event = EventPayload::new()
                .with("standing", id)
                .with("by", by)
                .with("used", state.use_count())
                .into_global_event(EventKind::StandingRevoked, self.context.now())
                .ok_or_else(form)?;
            let mut batch = Batch::new(Durability::Disk).with_event(event);
            batch.expect.push(weaver_types::ledger::VersionGuard {
                key: put.key.clone(),
                version: Some(record.version),
            });
            batch.put.push(put);
            match self.context.ledger.commit(batch.join(extra.clone())).await {
                Ok(_) => {
                    let version = record.version.saturating_add(1);
                    self.approvals
                        .standing_approvals
                        .apply_committed(StandingRecord { version, state });
                    return Ok(());
                }
                Err(LedgerError::Conflict { key })
                    if key == standing_approvals::key(&self.context.settings.tenant, id) =>
                {
                    self.approvals
                        .reload_standing_approval(id)
                        .map_err(|error| SignedFileError::Failed(error.to_string()))?;
                }
                Err(LedgerError::Conflict { .. }) => return Err(Rejection::Replayed.into()),
                Err(error) => return Err(error.into()),
            }
        }
        Err(SignedFileError::Failed("the standing approval changes too fast; try again".to_owned()))
    }
}
