//! Changes an open approval request in one commit, guarded by the version of its record.

use serde_json::json;
use weaver_policy::approval::{ApprovalState, Phase, Rejection, RequestEnd};
use weaver_types::ledger::{Batch, Durability, LedgerError, NewEvent, VersionGuard};
use weaver_types::{ApprovalRequestId, EventKind, ReasonCode};

use super::ApprovalRequests;
use super::hold::{EndedHold, OpenHold, StoredHold, hold_key};
use super::hold_release::{HoldEnding, KERNEL_ACTOR};
use super::table::HoldEntry;
use crate::error::KernelError;
use crate::event_payload::{EventPayload, error_text};
use crate::wait::block_on;

/// How often a change is tried when others change the same request.
const MAX_TRIES: usize = 64;

/// Why a request was not changed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub(crate) enum ChangeError {
    /// It is not open.
    #[error("no such request is open")]
    NotOpen,
    /// The request does not accept the change.
    #[error(transparent)]
    Rejected(#[from] Rejection),
    /// The ledger refused the commit.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The change has no recordable form.
    #[error("the change has no recordable form")]
    Form,
}

impl ApprovalRequests {
    /// Changes the state of an open request and commits it with its event and everything in
    /// `extra`. `change` and `event` may run again after a conflict.
    pub(crate) async fn change_request(
        &self,
        id: &ApprovalRequestId,
        extra: &Batch,
        change: impl Fn(&OpenHold, &mut ApprovalState) -> Result<(), Rejection>,
        event: impl Fn(&OpenHold, &ApprovalState) -> Option<NewEvent>,
    ) -> Result<Phase, ChangeError> {
        let tenant = &self.context.settings.tenant;
        for _ in 0..MAX_TRIES {
            let hold = self.holds.get(id).ok_or(ChangeError::NotOpen)?;
            if hold.version == 0 {
                match hold.abandoned {
                    true => self.settle_abandoned(&hold).await?,
                    false => self.reload_request(id, &hold)?,
                }
                continue;
            }
            let mut state = hold.open.state.clone();
            change(&hold.open, &mut state)?;
            let phase = state.phase().clone();
            let form = self.changed_hold(&hold, state.clone()).ok_or(ChangeError::Form)?;
            let event = event(&hold.open, &state).ok_or(ChangeError::Form)?;
            let mut batch = Batch::new(Durability::Disk).with_event(event);
            batch
                .expect
                .push(VersionGuard { key: hold_key(tenant, id), version: Some(hold.version) });
            batch.put.push(form.put(tenant).ok_or(ChangeError::Form)?);
            match self.context.ledger.commit(batch.join(extra.clone())).await {
                Ok(_) => {
                    self.context.approval_counts.count(phase_event_kind(&phase));
                    self.holds.apply_committed(
                        hold.version.saturating_add(1),
                        form,
                        self.context.now(),
                    );
                    return Ok(phase);
                }
                Err(LedgerError::Conflict { key: other }) if other == hold_key(tenant, id) => {
                    self.reload_request(id, &hold)?;
                }
                Err(error) => return Err(error.into()),
            }
        }
        Err(LedgerError::Malformed("the request changes too fast; try again".to_owned()).into())
    }

    fn changed_hold(&self, hold: &HoldEntry, state: ApprovalState) -> Option<StoredHold> {
        if state.phase().is_end() {
            let phase = state.phase().clone();
            let ended = EndedHold::of(&hold.open.request, phase, self.context.now())?;
            return Some(StoredHold::Ended(Box::new(ended)));
        }
        let open = OpenHold { state, ..(*hold.open).clone() };
        Some(StoredHold::Open(Box::new(open)))
    }

    /// Reads the record of a request again after somebody else has changed it.
    pub(crate) fn reload_request(
        &self,
        id: &ApprovalRequestId,
        hold: &HoldEntry,
    ) -> Result<(), ChangeError> {
        let stored = self.context.ledger.read(&hold_key(&self.context.settings.tenant, id))?;
        let stored = stored.filter(|record| record.version > hold.version);
        let Some(record) = stored else {
            return Err(
                LedgerError::Malformed("the request is on its way; try again".into()).into()
            );
        };
        let form = StoredHold::read(id.as_str(), &record)
            .map_err(|error| LedgerError::Damaged(error.to_string()))?;
        if matches!(&form, StoredHold::Open(open) if open.request != hold.open.request) {
            let problem = format!("the record of request `{id}` was changed from outside");
            return Err(LedgerError::Damaged(problem).into());
        }
        self.holds.apply_committed(record.version, form, self.context.now());
        Ok(())
    }

    /// Ends an open request without releasing a call.
    pub(crate) async fn end_request(&self, ending: HoldEnding) -> Result<Phase, ChangeError> {
        self.end_request_with(ending, &Batch::new(Durability::Disk)).await
    }

    /// Ends an open request in one commit with everything in `extra`.
    pub(crate) async fn end_request_with(
        &self,
        ending: HoldEnding,
        extra: &Batch,
    ) -> Result<Phase, ChangeError> {
        let HoldEnding { id, end, reason, detail } = ending;
        let detail_text = error_text(&self.context.firewall, &detail);
        self.change_request(
            &id,
            extra,
            |_, state| state.end(end.clone()),
            |open, state| {
                let kind = phase_event_kind(state.phase());
                let by = match state.phase() {
                    Phase::Denied { by, .. } | Phase::Revoked { by } => Some(json!(by)),
                    Phase::Superseded { by: Some(id) } => Some(json!(id)),
                    _ => None,
                };
                self.request_payload(open)
                    .with_optional("by", by)
                    .with("reason", reason)
                    .with("detail", &detail_text)
                    .into_event(kind, self.context.now(), &open.request.run, None)
            },
        )
        .await
    }

    /// Ends the requests whose records contradict the log.
    pub(crate) fn void_requests(&self, ids: Vec<ApprovalRequestId>) -> Result<(), KernelError> {
        for id in ids {
            let ending = HoldEnding {
                id,
                end: RequestEnd::Revoked { by: KERNEL_ACTOR.to_owned() },
                reason: ReasonCode::ApprovalRevoked,
                detail: "its record does not match the log".to_owned(),
            };
            block_on(self.end_request(ending)).map_err(|error| KernelError::StoredRecord {
                what: "a held call",
                problem: error.to_string(),
            })?;
        }
        Ok(())
    }

    /// The fields that every event about a request has.
    pub(crate) fn request_payload(&self, open: &OpenHold) -> EventPayload {
        let request = &open.request;
        EventPayload::new()
            .with_principal(&open.held_request.principal)
            .with("request", &request.id)
            .with_optional("digest", request.digest().ok().map(|digest| json!(digest)))
            .with("capability", &request.capability)
            .with("opened_at", request.opened_at)
            .with_tags(self.context.capability(&request.capability).as_deref())
    }
}

/// The kind of event that records a phase.
pub(crate) fn phase_event_kind(phase: &Phase) -> EventKind {
    match phase {
        Phase::Requested => EventKind::ApprovalEndorsed,
        Phase::Granted | Phase::Consumed => EventKind::ApprovalGranted,
        Phase::Denied { .. } => EventKind::ApprovalDenied,
        Phase::Expired => EventKind::ApprovalExpired,
        Phase::Revoked { .. } => EventKind::ApprovalRevoked,
        Phase::Superseded { .. } => EventKind::ApprovalSuperseded,
    }
}
