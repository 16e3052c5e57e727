//! Changing an open request: one commit, guarded by the version of its record.

use std::sync::Arc;

use serde_json::json;
use weaver_policy::approval::{ApprovalState, Phase, Rejection, RequestEnd};
use weaver_types::ledger::{Batch, Durability, Expect, LedgerError, NewEvent};
use weaver_types::{Capability, CapabilityId, EventKind, ReasonCode, RequestId};

use super::resume::{HoldEnding, KERNEL};
use crate::approval::hold::{EndedHold, HoldForm, OpenHold, key};
use crate::approval::table::Hold;
use crate::error::KernelError;
use crate::kernel::Kernel;
use crate::record::{Payload, error_text};
use crate::wait::block_on;

/// How often a change is computed again because somebody else changed the request.
const MAX_TRIES: usize = 64;

/// Why a request was not changed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub(crate) enum ChangeError {
    /// It is open no more, or never was.
    #[error("no such request is open")]
    Gone,
    /// It does not take this.
    #[error(transparent)]
    Rejected(#[from] Rejection),
    /// The ledger did not take it.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// It has no recordable form.
    #[error("the change has no recordable form")]
    Form,
}

impl Kernel {
    /// Changes the state of an open request and records it with its event, in one batch with what is
    /// to be recorded `beside`. `change` may be asked again.
    pub(crate) async fn change(
        &self,
        id: &RequestId,
        beside: &Batch,
        change: impl Fn(&OpenHold, &mut ApprovalState) -> Result<(), Rejection>,
        event: impl Fn(&OpenHold, &ApprovalState) -> Option<NewEvent>,
    ) -> Result<Phase, ChangeError> {
        let tenant = &self.settings.tenant;
        for _ in 0..MAX_TRIES {
            let hold = self.holds.get(id).ok_or(ChangeError::Gone)?;
            if hold.version == 0 {
                match hold.abandoned {
                    true => self.settle_abandoned(&hold).await?,
                    false => self.reload(id, &hold)?,
                }
                continue;
            }
            let mut state = hold.open.state.clone();
            change(&hold.open, &mut state)?;
            let phase = state.phase().clone();
            let form = self.form(&hold, state.clone()).ok_or(ChangeError::Form)?;
            let event = event(&hold.open, &state).ok_or(ChangeError::Form)?;
            let mut batch = Batch::new(Durability::Disk).with_event(event);
            batch.expect.push(Expect { key: key(tenant, id), version: Some(hold.version) });
            batch.put.push(form.put(tenant).ok_or(ChangeError::Form)?);
            match self.ledger.commit(batch.join(beside.clone())).await {
                Ok(_) => {
                    self.holds.committed(hold.version.saturating_add(1), form, self.now());
                    return Ok(phase);
                }
                Err(LedgerError::Conflict { key: other }) if other == key(tenant, id) => {
                    self.reload(id, &hold)?;
                }
                Err(error) => return Err(error.into()),
            }
        }
        Err(LedgerError::Malformed("the request changes too fast; try again".to_owned()).into())
    }

    fn form(&self, hold: &Hold, state: ApprovalState) -> Option<HoldForm> {
        if state.phase().is_end() {
            let phase = state.phase().clone();
            let ended = EndedHold::of(&hold.open.request, phase, self.now())?;
            return Some(HoldForm::Ended(Box::new(ended)));
        }
        let open = OpenHold { state, ..(*hold.open).clone() };
        Some(HoldForm::Open(Box::new(open)))
    }

    /// Reads a record again that somebody else has changed.
    pub(super) fn reload(&self, id: &RequestId, known: &Hold) -> Result<(), ChangeError> {
        let stored = self.ledger.read(&key(&self.settings.tenant, id))?;
        let stored = stored.filter(|record| record.version > known.version);
        let Some(record) = stored else {
            return Err(
                LedgerError::Malformed("the request is on its way; try again".into()).into()
            );
        };
        let form = HoldForm::read(id.as_str(), &record)
            .map_err(|error| LedgerError::Damaged(error.to_string()))?;
        if matches!(&form, HoldForm::Open(open) if open.request != known.open.request) {
            let problem = format!("the record of request `{id}` was changed from outside");
            return Err(LedgerError::Damaged(problem).into());
        }
        self.holds.committed(record.version, form, self.now());
        Ok(())
    }

    /// Ends an open request without a call.
    pub(crate) async fn end(&self, ending: HoldEnding) -> Result<Phase, ChangeError> {
        self.end_beside(ending, &Batch::new(Durability::Disk)).await
    }

    /// The same, in one batch with what is to be recorded beside.
    pub(crate) async fn end_beside(
        &self,
        ending: HoldEnding,
        beside: &Batch,
    ) -> Result<Phase, ChangeError> {
        let HoldEnding { id, end, reason, detail } = ending;
        let said = error_text(&self.firewall, &detail);
        self.change(
            &id,
            beside,
            |_, state| state.end(end.clone()),
            |open, state| {
                let kind = ended_as(state.phase());
                let by = match state.phase() {
                    Phase::Denied { by, .. } | Phase::Revoked { by } => Some(json!(by)),
                    Phase::Superseded { by: Some(id) } => Some(json!(id)),
                    _ => None,
                };
                self.about(open)
                    .maybe("by", by)
                    .with("reason", json!(reason))
                    .with("detail", json!(said))
                    .event(kind, self.now(), &open.request.run, None)
            },
        )
        .await
    }

    /// Ends the requests whose records are not as the log tells of them.
    pub(crate) fn void(&self, ids: Vec<RequestId>) -> Result<(), KernelError> {
        for id in ids {
            let ending = HoldEnding {
                id,
                end: RequestEnd::Revoked { by: KERNEL.to_owned() },
                reason: ReasonCode::ApprovalRevoked,
                detail: "its record is not what the log tells of it".to_owned(),
            };
            block_on(self.end(ending)).map_err(|error| KernelError::Stored {
                what: "a held call",
                problem: error.to_string(),
            })?;
        }
        Ok(())
    }

    /// What every event about a request says.
    pub(crate) fn about(&self, open: &OpenHold) -> Payload {
        let request = &open.request;
        Payload::new()
            .who(&open.asked.principal)
            .with("request", json!(request.id))
            .maybe("digest", request.digest().ok().map(|digest| json!(digest)))
            .with("capability", json!(request.capability))
            .with("opened_at", json!(request.opened_at))
            .tagged(self.known(&request.capability).as_deref())
    }

    /// A capability as it is known now, with its signed contract.
    pub(crate) fn known(&self, id: &CapabilityId) -> Option<Arc<Capability>> {
        self.registry.get(id)?.effective(&self.policy()).ok()
    }
}

/// The event of a phase.
pub(crate) fn ended_as(phase: &Phase) -> EventKind {
    match phase {
        Phase::Requested => EventKind::ApprovalEndorsed,
        Phase::Granted | Phase::Consumed => EventKind::ApprovalGranted,
        Phase::Denied { .. } => EventKind::ApprovalDenied,
        Phase::Expired => EventKind::ApprovalExpired,
        Phase::Revoked { .. } => EventKind::ApprovalRevoked,
        Phase::Superseded { .. } => EventKind::ApprovalSuperseded,
    }
}
