//! Holding: a held call opens a request that binds everything an approver must see.

use serde_json::{Value, json};
use weaver_policy::PolicySet;
use weaver_policy::approval::{
    APPROVAL_VERSION, ApprovalRequest, ApprovalState, HeldCheck, Nonce, RequestEnd,
};
use weaver_types::ledger::{Batch, Durability, NewEvent};
use weaver_types::{
    CallId, Check, Contribution, Discharge, EventKind, ReasonCode, RequestId, RunId, Verdict,
};

use super::change::ChangeError;
use super::evaluate::{Evaluation, EvaluationRequest};
use super::resume::{HoldState, is_releasable};
use super::transition::Step;
use crate::approval::hold::{HeldMasks, HeldRequest, HoldForm, OpenHold, key};
use crate::approval::table::{Hold, HoldLimit, HoldTable};
use crate::bounds;
use crate::caller::Caller;
use crate::kernel::Kernel;
use crate::record::{Payload, arguments, error_text};
use crate::run_state::RunDelta;

/// The call that opens a request, with its caller.
#[derive(Clone, Copy)]
pub(crate) struct OpeningCall<'a> {
    pub(crate) caller: Caller<'a>,
    pub(crate) call: &'a CallId,
}

impl Kernel {
    /// What follows from a decision for the requests: those that are over end, and a held call has
    /// one in the end, an open one or a new one. A dry run changes nothing.
    pub(crate) async fn hold(
        &self,
        policy: &PolicySet,
        question: EvaluationRequest<'_>,
        call: &CallId,
        mut evaluated: Box<Evaluation>,
    ) -> Box<Evaluation> {
        if question.caller.run.dry_run {
            return evaluated;
        }
        let held = is_releasable(&evaluated.decision);
        if let HoldState::Waiting(id) = &evaluated.holding
            && let Some(hold) = self.holds.get(id).filter(|hold| hold.abandoned)
        {
            if let Err(error) = self.settle_abandoned(&hold).await {
                return evaluated.tightened(*recording_failed(&error));
            }
            if self.holds.get(id).is_none() {
                evaluated.holding = HoldState::Openable { instead_of: None };
            }
        }
        let fresh = match &evaluated.holding {
            HoldState::Openable { instead_of } if held => {
                Some(self.compose(policy, question, &evaluated, instead_of.clone()))
            }
            _ => None,
        };
        let successor = match &fresh {
            Some(Ok(open)) => Some(open.request.id.clone()),
            _ => None,
        };
        for mut ending in std::mem::take(&mut evaluated.endings) {
            if let RequestEnd::Superseded { by } = &mut ending.end {
                if successor.is_none() {
                    continue;
                }
                by.clone_from(&successor);
            }
            // What cannot be ended now is met again by the next call, or by a sweep.
            let _ = self.end(ending).await;
        }
        match fresh {
            None => {
                if let HoldState::Waiting(id) = &evaluated.holding
                    && held
                {
                    evaluated.request = Some(id.clone());
                }
                evaluated
            }
            Some(Err(said)) => evaluated.tightened(*said),
            Some(Ok(open)) => match self
                .open_request(open, Some(OpeningCall { caller: question.caller, call }))
                .await
            {
                Ok(id) => {
                    evaluated.holding = HoldState::Waiting(id.clone());
                    evaluated.request = Some(id);
                    evaluated
                }
                Err(said) => evaluated.tightened(*said),
            },
        }
    }

    /// The request of a held call.
    pub(super) fn compose(
        &self,
        policy: &PolicySet,
        question: EvaluationRequest<'_>,
        evaluated: &Evaluation,
        supersedes: Option<RequestId>,
    ) -> Result<OpenHold, Box<Contribution>> {
        let random = self.random.as_ref();
        let names = RequestId::random(random).and_then(|id| Ok((id, Nonce::random(random)?)));
        let (Ok((id, nonce)), Some(target), Some(arguments)) =
            (names, &evaluated.target, question.arguments)
        else {
            let detail = "no request for an approval could be made";
            return Err(deny(Check::System, ReasonCode::InternalError, detail));
        };
        let (caller, decision, now) = (question.caller, &evaluated.decision, self.now());
        let request = ApprovalRequest {
            v: APPROVAL_VERSION,
            id,
            nonce,
            tenant: self.settings.tenant.clone(),
            log: self.log.clone(),
            capability: target.capability.id().clone(),
            fingerprint: target.capability.fingerprint(),
            arguments: arguments.clone(),
            policy: decision.basis().policy,
            contracts: decision.basis().contracts,
            principal: caller.principal.id.clone(),
            agent: caller.principal.agent.clone(),
            run: caller.run.run_id.clone(),
            label: evaluated.label.clone(),
            holds: HeldCheck::of(decision),
            authority: decision.authority().clone(),
            detail: decision.detail().to_owned(),
            intent: question.request.goal.clone(),
            justification: question.request.justification.clone(),
            preconditions: evaluated.facts.clone(),
            opened_at: now,
            deadline: now.after(bounds::life(policy)),
            supersedes,
        };
        let asked = HeldRequest {
            principal: caller.principal.clone(),
            request: question.request.clone(),
            mode: caller.run.settings.safety_mode,
            masks: question.masks.map(HeldMasks::of),
        };
        Ok(OpenHold { state: ApprovalState::new(&request), request, asked })
    }

    /// Commits a request. When the very same call has one by now, that one is given.
    pub(crate) async fn open_request(
        &self,
        open: OpenHold,
        by: Option<OpeningCall<'_>>,
    ) -> Result<RequestId, Box<Contribution>> {
        let (id, run) = (open.request.id.clone(), open.request.run.clone());
        let form = HoldForm::Open(Box::new(open.clone()));
        let (Some(put), Some(event)) = (form.put(&self.settings.tenant), self.requested(&open, by))
        else {
            let detail = "the request has no recordable form";
            return Err(deny(Check::System, ReasonCode::InternalError, detail));
        };
        match self.holds.reserve(open) {
            Ok(Ok(())) => {}
            Ok(Err(other)) => return Ok(other.open.request.id.clone()),
            Err(limit) => return Err(self.hold_limit_denial(limit, &run)),
        }
        let guard = ReservationGuard { holds: &self.holds, id: Some(id.clone()) };
        let key = key(&self.settings.tenant, &id);
        let batch =
            Batch::new(Durability::Disk).create(key, put.value, put.expires_at).with_event(event);
        let slot = self.runs.slot(&run, self.ledger.as_ref());
        let done = match (&slot, by) {
            (Ok(slot), Some(by)) => {
                let step = Step::new(by.caller, slot, RunDelta::default(), batch);
                self.step(step).await.map_err(|error| error.to_string())
            }
            (Err(error), Some(_)) => Err(error.to_string()),
            (_, None) => {
                self.ledger.commit(batch).await.map(drop).map_err(|error| error.to_string())
            }
        };
        guard.answered();
        match done {
            Ok(()) => {
                self.holds.committed(1, form, self.now());
                Ok(id)
            }
            Err(error) => {
                self.holds.release(&id);
                Err(recording_failed(&error))
            }
        }
    }

    /// Finds out what became of a request whose opener went away: the ledger takes batches in their
    /// order, so that once it has taken an empty one, the record is there or will never be.
    pub(super) async fn settle_abandoned(&self, hold: &Hold) -> Result<(), ChangeError> {
        self.ledger.commit(Batch::new(Durability::Disk)).await?;
        let id = &hold.open.request.id;
        if self.ledger.read(&key(&self.settings.tenant, id))?.is_some() {
            return self.reload(id, hold);
        }
        self.holds.release(id);
        Ok(())
    }

    /// The denial of a call for whose request there is no room.
    fn hold_limit_denial(&self, limit: HoldLimit, run: &RunId) -> Box<Contribution> {
        let detail = match limit {
            HoldLimit::Kernel => "too many calls are held already",
            HoldLimit::Run => "too many calls of this run are held already",
            HoldLimit::TooLarge => {
                let detail = "the arguments are too large for somebody to release them";
                return deny(Check::Limit, ReasonCode::InvalidArguments, detail);
            }
        };
        let now = self.now();
        // What ends of another run makes no room for this one, nor is it told of it.
        let all = self.holds.all().into_iter();
        let counted = all.filter(|hold| limit != HoldLimit::Run || hold.open.request.run == *run);
        let first = counted.map(|hold| hold.open.request.deadline).min();
        let wait = first.map_or(0, |deadline| deadline.since(now).as_millis());
        let retry_after_ms = u64::try_from(wait).unwrap_or(u64::MAX);
        let mut said = deny(Check::Limit, ReasonCode::RateLimited, detail);
        said.discharge = Discharge::Wait { retry_after_ms };
        said
    }

    /// The event of a request: everything in it, the arguments redacted.
    pub(crate) fn requested(
        &self,
        open: &OpenHold,
        by: Option<OpeningCall<'_>>,
    ) -> Option<NewEvent> {
        let request = &open.request;
        let exact = crate::arguments::Arguments::read(&request.arguments).ok()?;
        let holds = request.holds.iter().map(|held| {
            let mut held = held.clone();
            held.detail = error_text(&self.firewall, &held.detail);
            json!(held)
        });
        let holds: Vec<Value> = holds.collect();
        Payload::new()
            .who(&open.asked.principal)
            .session(by.map(|by| by.caller.run), &self.firewall)
            .with("request", json!(request.id))
            .with("digest", json!(request.digest().ok()?))
            .with("capability", json!(request.capability))
            .tagged(self.known(&request.capability).as_deref())
            .with("fingerprint", json!(request.fingerprint))
            .with("policy", json!(request.policy))
            .with("contracts", json!(request.contracts))
            .with("label", json!(request.label))
            .with("holds", Value::Array(holds))
            .with("authority", json!(request.authority))
            .with("preconditions", json!(request.preconditions))
            .with("opened_at", json!(request.opened_at))
            .with("deadline", json!(request.deadline))
            .maybe("supersedes", request.supersedes.as_ref().map(|id| json!(id)))
            .with(
                "arguments",
                arguments(
                    &request.arguments,
                    open.asked.masks.as_ref().map(|held| &held.given),
                    &exact,
                    &self.firewall,
                    self.random.as_ref(),
                )?,
            )
            .asked(&open.asked.request, &self.firewall)
            .event(EventKind::ApprovalRequested, self.now(), &request.run, by.map(|by| by.call))
    }
}

/// A reservation whose record is on its way: it counts as abandoned when the call is given up before
/// the ledger has answered.
struct ReservationGuard<'a> {
    holds: &'a HoldTable,
    id: Option<RequestId>,
}

impl ReservationGuard<'_> {
    fn answered(mut self) {
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

fn recording_failed(error: &dyn std::fmt::Display) -> Box<Contribution> {
    deny(Check::System, ReasonCode::LedgerUnavailable, &format!("the request: {error}"))
}

pub(super) fn deny(check: Check, reason: ReasonCode, detail: &str) -> Box<Contribution> {
    Box::new(Contribution::new(check, Verdict::Deny, reason, detail))
}
