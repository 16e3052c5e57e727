//! A standing approval that comes into force.

use serde_json::{Value, json};
use weaver_policy::approval::{Rejection, SignedStandingApproval, verify_standing};
use weaver_types::ledger::{Batch, Durability, LedgerError};
use weaver_types::{EventKind, StandingId};

use super::{FileOutcome, Refusal};
use crate::approval::proof::Proof;
use crate::approval::standing_approvals::{self, MAX_STANDING, StandingRecord};
use crate::bounds;
use crate::kernel::Kernel;
use crate::record::{Payload, error_text};

impl Kernel {
    pub(super) async fn take_standing(
        &self,
        signed: &SignedStandingApproval,
    ) -> Result<FileOutcome, Refusal> {
        let policy = self.policy();
        let unknown = || Rejection::UnknownApprover { approver: "no keys document".to_owned() };
        let keys = policy.keys().ok_or_else(unknown)?;
        let now = self.now();
        let moment = bounds::moment(&policy, now);
        let state = verify_standing(keys, &self.log, signed, &policy.approvals().standing, moment)?;
        let said = state.standing();
        let id = said.id.clone();
        if self.standings.get(&id).is_some() {
            return Err(Rejection::Replayed.into());
        }
        // Records can be taken away; the log cannot.
        let proof = Proof::of_standing(self.ledger.as_ref(), said.opened_at)
            .map_err(|error| Refusal::Failed(error.to_string()))?;
        if proof.knows(said) {
            return Err(Rejection::Replayed.into());
        }
        if self.standings.len() >= MAX_STANDING {
            return Err(Refusal::Failed("too many standing approvals are in force".to_owned()));
        }
        let form = || Refusal::Failed("the standing approval has no recordable form".to_owned());
        let put = standing_approvals::put(&self.settings.tenant, &state).ok_or_else(form)?;
        let signers: Vec<Value> = signed.envelopes.iter().map(|e| json!(e.key())).collect();
        let conditions = serde_json::to_string(&said.arguments).unwrap_or_default();
        let event = Payload::new()
            .with("standing", json!(id))
            .maybe("digest", said.signed_digest().ok().map(|digest| json!(digest)))
            .with("capability", json!(said.capability))
            .with("principals", json!(said.principals))
            .with("agents", json!(said.agents))
            .with("arguments", json!(error_text(&self.firewall, &conditions)))
            .with("uses", json!(said.uses))
            .with("expires", json!(said.expires))
            .with("keys", Value::Array(signers))
            .loose_event(EventKind::StandingAccepted, now)
            .ok_or_else(form)?;
        let batch = Batch::new(Durability::Disk)
            .create(put.key, put.value, put.expires_at)
            .with_event(event);
        match self.ledger.commit(batch).await {
            Ok(_) => {
                self.standings.committed(StandingRecord { version: 1, state });
                Ok(FileOutcome::StandingAccepted { standing: id })
            }
            Err(LedgerError::Conflict { .. }) => Err(Rejection::Replayed.into()),
            Err(error) => Err(error.into()),
        }
    }

    /// Takes a standing approval back for good. With whatever the caller has to record beside.
    pub(super) async fn revoke_standing(
        &self,
        id: &StandingId,
        by: &str,
        beside: &Batch,
    ) -> Result<(), Refusal> {
        for _ in 0..64 {
            let known = self.standings.get(id).ok_or(Rejection::WrongRequest)?;
            let mut state = known.state.clone();
            state.revoke(by);
            let form = || Refusal::Failed("the revocation has no recordable form".to_owned());
            let put = standing_approvals::put(&self.settings.tenant, &state).ok_or_else(form)?;
            let event = Payload::new()
                .with("standing", json!(id))
                .with("by", json!(by))
                .with("used", json!(state.used()))
                .loose_event(EventKind::StandingRevoked, self.now())
                .ok_or_else(form)?;
            let mut batch = Batch::new(Durability::Disk).with_event(event);
            batch.expect.push(weaver_types::ledger::Expect {
                key: put.key.clone(),
                version: Some(known.version),
            });
            batch.put.push(put);
            match self.ledger.commit(batch.join(beside.clone())).await {
                Ok(_) => {
                    let version = known.version.saturating_add(1);
                    self.standings.committed(StandingRecord { version, state });
                    return Ok(());
                }
                Err(LedgerError::Conflict { key })
                    if key == standing_approvals::key(&self.settings.tenant, id) =>
                {
                    self.reload_standing(id).map_err(|error| Refusal::Failed(error.to_string()))?;
                }
                Err(LedgerError::Conflict { .. }) => return Err(Rejection::Replayed.into()),
                Err(error) => return Err(error.into()),
            }
        }
        Err(Refusal::Failed("the standing approval changes too fast; try again".to_owned()))
    }
}
