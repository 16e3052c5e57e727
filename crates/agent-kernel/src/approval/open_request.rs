//! Opens approval requests, and finds out what became of one whose call was dropped.

use std::time::Duration;

use serde_json::{Value, json};
use weaver_types::ledger::{Batch, Durability, NewEvent};
use weaver_types::{
    ApprovalRequestId, CallId, CheckKind, CheckResult, EventKind, ReasonCode, Remedy, RunId,
};

use super::ApprovalRequests;
use super::change_request::ChangeError;
use super::hold::{OpenHold, StoredHold, hold_key};
use super::hold_release::{boxed_denial, recording_failure_denial};
use super::table::{HoldEntry, HoldLimit, HoldReservation, HoldTable};
use crate::caller::Caller;
use crate::canonical_arguments::CanonicalArguments;
use crate::event_payload::{EventPayload, error_text, record_arguments};
use crate::recorder::RunUpdate;
use crate::run_state::RunDelta;

/// When a call may try again that no request can be opened for, because all runs together have too
/// many.
const TOTAL_LIMIT_WAIT: Duration = Duration::from_secs(60);

/// The call that opens a request, and its caller.
#[derive(Clone, Copy)]
pub(crate) struct OpeningCall<'a> {
    pub(crate) caller: Caller<'a>,
    pub(crate) call: &'a CallId,
}

impl ApprovalRequests {
    /// Commits a new request. When the same call has an open request by now, returns that one.
    pub(crate) async fn open_request(
        &self,
        open: OpenHold,
        opening_call: Option<OpeningCall<'_>>,
    ) -> Result<ApprovalRequestId, Box<CheckResult>> {
        let (id, run) = (open.request.id.clone(), open.request.run.clone());
        let form = StoredHold::Open(Box::new(open.clone()));
        let (Some(put), Some(event)) = (
            form.put(&self.context.settings.tenant),
            self.approval_requested_event(&open, opening_call),
        ) else {
            let detail = "the request has no recordable form";
            return Err(boxed_denial(CheckKind::System, ReasonCode::InternalError, detail));
        };
        match self.holds.reserve(open) {
            Ok(HoldReservation::New) => {}
            Ok(HoldReservation::Existing(hold)) => return Ok(hold.open.request.id.clone()),
            Err(limit) => return Err(self.hold_limit_denial(limit, &run)),
        }
        let guard = ReservationGuard { holds: &self.holds, id: Some(id.clone()) };
        let key = hold_key(&self.context.settings.tenant, &id);
        let batch =
            Batch::new(Durability::Disk).create(key, put.value, put.expires_at).with_event(event);
        let slot = self.recorder.slot(&run);
        let committed = match (&slot, opening_call) {
            (Ok(slot), Some(opening_call)) => {
                let update = RunUpdate::new(opening_call.caller, slot, RunDelta::default(), batch);
                self.recorder.commit_run_update(update).await.map_err(|error| error.to_string())
            }
            (Err(error), Some(_)) => Err(error.to_string()),
            (_, None) => {
                self.context.ledger.commit(batch).await.map(drop).map_err(|error| error.to_string())
            }
        };
        guard.disarm();
        match committed {
            Ok(()) => {
                self.holds.apply_committed(1, form, self.context.now());
                Ok(id)
            }
            Err(error) => {
                self.holds.cancel_reservation(&id);
                Err(recording_failure_denial(&error))
            }
        }
    }

    /// Finds out whether the request of an abandoned call was recorded. The ledger commits batches
    /// in their order, so once an empty one is committed, the record exists or never will.
    pub(crate) async fn settle_abandoned(&self, hold: &HoldEntry) -> Result<(), ChangeError> {
        self.context.ledger.commit(Batch::new(Durability::Disk)).await?;
        let id = &hold.open.request.id;
        if self.context.ledger.read(&hold_key(&self.context.settings.tenant, id))?.is_some() {
            return self.reload_request(id, hold);
        }
        self.holds.cancel_reservation(id);
        Ok(())
    }

    /// The denial of a call whose request exceeds a limit.
    fn hold_limit_denial(&self, limit: HoldLimit, run: &RunId) -> Box<CheckResult> {
        let detail = match limit {
            HoldLimit::Total => "too many calls are held already",
            HoldLimit::Run => "too many calls of this run are held already",
            HoldLimit::TooLarge => {
                let detail = "the arguments are too large for somebody to release them";
                return boxed_denial(CheckKind::Limit, ReasonCode::InvalidArguments, detail);
            }
        };
        // The deadlines of other runs must not be disclosed to this one.
        let wait = match limit {
            HoldLimit::Run => {
                let all = self.holds.all().into_iter().map(|hold| hold.open);
                let own = all.filter(|open| open.request.run == *run);
                let first = own.map(|open| open.request.deadline).min();
                first.map_or(Duration::ZERO, |deadline| deadline.since(self.context.now()))
            }
            HoldLimit::Total | HoldLimit::TooLarge => TOTAL_LIMIT_WAIT,
        };
        let retry_after_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
        let mut denial = boxed_denial(CheckKind::Limit, ReasonCode::RateLimited, detail);
        denial.discharge = Remedy::Wait { retry_after_ms };
        denial
    }

    /// The event of a new request: everything in the request, with redacted arguments.
    fn approval_requested_event(
        &self,
        open: &OpenHold,
        opening_call: Option<OpeningCall<'_>>,
    ) -> Option<NewEvent> {
        let request = &open.request;
        let exact = CanonicalArguments::read(&request.arguments).ok()?;
        let holds = request.holds.iter().map(|hold| {
            let mut hold = hold.clone();
            hold.detail = error_text(&self.context.firewall, &hold.detail);
            json!(hold)
        });
        let holds: Vec<Value> = holds.collect();
        EventPayload::new()
            .with_principal(&open.held_request.principal)
            .with_session(
                opening_call.map(|opening_call| opening_call.caller.run),
                &self.context.firewall,
            )
            .with("request", &request.id)
            .with("digest", request.digest().ok()?)
            .with("capability", &request.capability)
            .with_tags(self.context.capability(&request.capability).as_deref())
            .with_optional(
                "folder",
                request
                    .folder
                    .as_deref()
                    .map(|folder| json!(error_text(&self.context.firewall, folder))),
            )
            .with("fingerprint", request.fingerprint)
            .with("policy", request.policy)
            .with("contracts", request.contracts)
            .with("label", &request.label)
            .with("holds", Value::Array(holds))
            .with("authority", &request.authority)
            .with("preconditions", &request.preconditions)
            .with("opened_at", request.opened_at)
            .with("deadline", request.deadline)
            .with_optional("supersedes", request.supersedes.as_ref().map(|id| json!(id)))
            .with(
                "arguments",
                record_arguments(
                    &request.arguments,
                    open.held_request.masks.as_ref().map(|masks| &masks.as_written),
                    &exact,
                    &self.context.firewall,
                    self.context.random.as_ref(),
                )?,
            )
            .with_request(&open.held_request.request, &self.context.firewall)
            .into_event(
                EventKind::ApprovalRequested,
                self.context.now(),
                &request.run,
                opening_call.map(|opening_call| opening_call.call),
            )
    }
}

/// Marks a reserved request as abandoned when its call is dropped before the ledger has answered.
struct ReservationGuard<'a> {
    holds: &'a HoldTable,
    id: Option<ApprovalRequestId>,
}

impl ReservationGuard<'_> {
    fn disarm(mut self) {
        self.id = None;
    }
}

impl Drop for ReservationGuard<'_> {
    fn drop(&mut self) {
        if let Some(id) = &self.id {
            self.holds.abandon(id);
        }
    }
}
