//! Opens an approval request for a held call. The request binds everything that an approver must
//! see.

use serde_json::{Value, json};
use weaver_policy::PolicySet;
use weaver_policy::approval::{
    APPROVAL_VERSION, ApprovalRequest, ApprovalState, HeldCheck, Nonce, RequestEnd,
};
use weaver_types::ledger::{Batch, Durability, NewEvent};
use weaver_types::{
    ApprovalRequestId, CallId, CheckKind, CheckResult, EventKind, ReasonCode, Remedy, RunId,
};

use super::change_request::ChangeError;
use super::evaluate::{Evaluation, EvaluationRequest};
use super::resume::{HoldState, denial, is_releasable};
use crate::approval::hold::{HeldMasks, HeldRequest, OpenHold, StoredHold, hold_key};
use crate::approval::table::{HoldEntry, HoldLimit, HoldReservation, HoldTable};
use crate::approval_limits;
use crate::caller::Caller;
use crate::event_payload::{EventPayload, error_text, record_arguments};
use crate::kernel::Kernel;
use crate::recorder::RunUpdate;
use crate::run_state::RunDelta;

/// The call that opens a request, and its caller.
#[derive(Clone, Copy)]
pub(crate) struct OpeningCall<'a> {
    pub(crate) caller: Caller<'a>,
    pub(crate) call: &'a CallId,
}

impl Kernel {
    /// Ends the requests that the evaluation closed, and gives a held call its open request or a
    /// new one. A dry run changes nothing.
    ///
    /// Old requests end before the new one is committed. If that commit fails, the call is denied
    /// and the next call opens a request; the other order could leave two open requests for one
    /// call.
    pub(crate) async fn update_hold_requests(
        &self,
        policy: &PolicySet,
        evaluation_request: EvaluationRequest<'_>,
        call: &CallId,
        mut evaluation: Box<Evaluation>,
    ) -> Box<Evaluation> {
        if evaluation_request.caller.run.dry_run {
            return evaluation;
        }
        let is_held = is_releasable(&evaluation.decision);
        if let HoldState::Waiting(id) = &evaluation.hold_state
            && let Some(hold) = self.holds.get(id).filter(|hold| hold.abandoned)
        {
            if let Err(error) = self.settle_abandoned(&hold).await {
                return evaluation.joined_with(*recording_failure_denial(&error));
            }
            if self.holds.get(id).is_none() {
                evaluation.hold_state = HoldState::Openable { supersedes: None };
            }
        }
        let new_request = match &evaluation.hold_state {
            HoldState::Openable { supersedes } if is_held => Some(self.build_request(
                policy,
                evaluation_request,
                &evaluation,
                supersedes.clone(),
            )),
            _ => None,
        };
        let successor = match &new_request {
            Some(Ok(open)) => Some(open.request.id.clone()),
            _ => None,
        };
        for mut ending in std::mem::take(&mut evaluation.hold_endings) {
            if let RequestEnd::Superseded { by } = &mut ending.end {
                if successor.is_none() {
                    continue;
                }
                by.clone_from(&successor);
            }
            // A request that cannot be ended now is found again by the next call or by a sweep.
            let _ = self.end_request(ending).await;
        }
        match new_request {
            None => {
                if let HoldState::Waiting(id) = &evaluation.hold_state
                    && is_held
                {
                    evaluation.request = Some(id.clone());
                }
                evaluation
            }
            Some(Err(denial)) => evaluation.joined_with(*denial),
            Some(Ok(open)) => match self
                .open_request(open, Some(OpeningCall { caller: evaluation_request.caller, call }))
                .await
            {
                Ok(id) => {
                    evaluation.hold_state = HoldState::Waiting(id.clone());
                    evaluation.request = Some(id);
                    evaluation
                }
                Err(denial) => evaluation.joined_with(*denial),
            },
        }
    }

    /// Builds the request of a held call.
    pub(super) fn build_request(
        &self,
        policy: &PolicySet,
        evaluation_request: EvaluationRequest<'_>,
        evaluation: &Evaluation,
        supersedes: Option<ApprovalRequestId>,
    ) -> Result<OpenHold, Box<CheckResult>> {
        let random = self.context.random.as_ref();
        let ids = ApprovalRequestId::random(random).and_then(|id| Ok((id, Nonce::random(random)?)));
        let (Ok((id, nonce)), Some(target), Some(arguments)) =
            (ids, &evaluation.target, evaluation_request.arguments)
        else {
            let detail = "no request for an approval could be made";
            return Err(boxed_denial(CheckKind::System, ReasonCode::InternalError, detail));
        };
        let (caller, decision, now) =
            (evaluation_request.caller, &evaluation.decision, self.context.now());
        let request = ApprovalRequest {
            v: APPROVAL_VERSION,
            id,
            nonce,
            tenant: self.context.settings.tenant.clone(),
            log: self.log_id.clone(),
            capability: target.capability.id().clone(),
            fingerprint: target.capability.fingerprint(),
            arguments: arguments.clone(),
            policy: decision.basis().policy,
            contracts: decision.basis().contracts,
            principal: caller.principal.id.clone(),
            agent: caller.principal.agent.clone(),
            run: caller.run.run_id.clone(),
            label: evaluation.label.clone(),
            holds: HeldCheck::from_decision(decision),
            authority: decision.authority().clone(),
            detail: decision.detail().to_owned(),
            intent: evaluation_request.request.goal.clone(),
            justification: evaluation_request.request.justification.clone(),
            preconditions: evaluation.preconditions.clone(),
            opened_at: now,
            deadline: now.after(approval_limits::request_ttl(policy)),
            supersedes,
        };
        let held_request = HeldRequest {
            principal: caller.principal.clone(),
            request: evaluation_request.request.clone(),
            mode: caller.run.settings.safety_mode,
            masks: evaluation_request.masks.map(HeldMasks::of),
        };
        Ok(OpenHold { state: ApprovalState::new(&request), request, held_request })
    }

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
    pub(super) async fn settle_abandoned(&self, hold: &HoldEntry) -> Result<(), ChangeError> {
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
        let now = self.context.now();
        // For the limit of one run only requests of that run count: others free no place here, and
        // their deadlines must not be disclosed to this run.
        let all = self.holds.all().into_iter();
        let counted = all.filter(|hold| limit != HoldLimit::Run || hold.open.request.run == *run);
        let first = counted.map(|hold| hold.open.request.deadline).min();
        let wait = first.map_or(0, |deadline| deadline.since(now).as_millis());
        let retry_after_ms = u64::try_from(wait).unwrap_or(u64::MAX);
        let mut denial = boxed_denial(CheckKind::Limit, ReasonCode::RateLimited, detail);
        denial.discharge = Remedy::Wait { retry_after_ms };
        denial
    }

    /// The event of a new request: everything in the request, with redacted arguments.
    pub(crate) fn approval_requested_event(
        &self,
        open: &OpenHold,
        opening_call: Option<OpeningCall<'_>>,
    ) -> Option<NewEvent> {
        let request = &open.request;
        let exact =
            crate::canonical_arguments::CanonicalArguments::read(&request.arguments).ok()?;
        let holds = request.holds.iter().map(|is_held| {
            let mut is_held = is_held.clone();
            is_held.detail = error_text(&self.context.firewall, &is_held.detail);
            json!(is_held)
        });
        let holds: Vec<Value> = holds.collect();
        EventPayload::new()
            .with_principal(&open.held_request.principal)
            .with_session(
                opening_call.map(|opening_call| opening_call.caller.run),
                &self.context.firewall,
            )
            .with("request", json!(request.id))
            .with("digest", json!(request.digest().ok()?))
            .with("capability", json!(request.capability))
            .with_tags(self.context.capability(&request.capability).as_deref())
            .with("fingerprint", json!(request.fingerprint))
            .with("policy", json!(request.policy))
            .with("contracts", json!(request.contracts))
            .with("label", json!(request.label))
            .with("holds", Value::Array(holds))
            .with("authority", json!(request.authority))
            .with("preconditions", json!(request.preconditions))
            .with("opened_at", json!(request.opened_at))
            .with("deadline", json!(request.deadline))
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

fn recording_failure_denial(error: &dyn std::fmt::Display) -> Box<CheckResult> {
    boxed_denial(CheckKind::System, ReasonCode::LedgerUnavailable, &format!("the request: {error}"))
}

pub(super) fn boxed_denial(check: CheckKind, reason: ReasonCode, detail: &str) -> Box<CheckResult> {
    Box::new(denial(check, reason, detail))
}
