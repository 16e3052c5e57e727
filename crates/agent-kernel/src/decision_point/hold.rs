//! Updates the approval requests of a held call, and builds its request, which binds everything
//! that an approver must see.

use weaver_policy::PolicySet;
use weaver_policy::approval::{
    APPROVAL_VERSION, ApprovalRequest, ApprovalState, HeldCheck, Nonce, RequestEnd,
};
use weaver_types::{ApprovalRequestId, CallId, CheckKind, CheckResult, Decision, ReasonCode};

use super::PolicyDecisionPoint;
use super::evaluation::{Evaluation, EvaluationRequest};
use crate::approval::OpeningCall;
use crate::approval::hold::{HeldMasks, HeldRequest, OpenHold};
use crate::approval::hold_release::{
    HoldState, boxed_denial, is_releasable, recording_failure_denial,
};
use crate::approval_limits;

/// The longest text of the reasons to hold a call.
const MAX_REASON_CHARS: usize = 2_000;

impl PolicyDecisionPoint {
    /// Ends the requests that the evaluation closed, and gives a held call its open request or a
    /// new one. A dry run changes nothing.
    ///
    /// Old requests end before the new one is committed. If that commit fails, the call is denied
    /// and the next call opens a request; the other order could leave two open requests for one
    /// call.
    pub(super) async fn update_hold_requests(
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
            && let Some(hold) = self.approvals.holds.get(id).filter(|hold| hold.abandoned)
        {
            if let Err(error) = self.approvals.settle_abandoned(&hold).await {
                return evaluation.joined_with(*recording_failure_denial(&error));
            }
            if self.approvals.holds.get(id).is_none() {
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
            let _ = self.approvals.end_request(ending).await;
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
                .approvals
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
            log: self.approvals.log_id.clone(),
            capability: target.capability.id().clone(),
            fingerprint: target.capability.fingerprint(),
            arguments: arguments.clone(),
            folder: target.folder.clone(),
            policy: decision.basis().policy,
            contracts: decision.basis().contracts,
            principal: caller.principal.id.clone(),
            agent: caller.principal.agent.clone(),
            run: caller.run.run_id.clone(),
            label: evaluation.label.clone(),
            holds: HeldCheck::from_decision(decision),
            authority: decision.authority().clone(),
            detail: reasons_to_hold(decision),
            intent: evaluation_request.request.goal.clone(),
            justification: evaluation_request.request.justification.clone(),
            preconditions: evaluation.preconditions.clone(),
            opened_at: now,
            deadline: now.after(approval_limits::request_ttl(policy)),
            supersedes,
            unreviewed_writes: evaluation.unreviewed_writes,
        };
        let held_request = HeldRequest {
            principal: caller.principal.clone(),
            request: evaluation_request.request.clone(),
            mode: caller.run.settings.safety_mode,
            masks: evaluation_request.masks.map(HeldMasks::of),
        };
        Ok(OpenHold { state: ApprovalState::new(&request), request, held_request })
    }
}

/// Why a decision holds a call, for the person who answers: its own reason, then every other one that
/// needs a person. What flows where, such as a masked secret, often stands behind a general rule.
fn reasons_to_hold(decision: &Decision) -> String {
    let mut reasons = vec![decision.detail()];
    for result in decision.check_results().iter().filter(|one| one.needs_human_approval()) {
        if !reasons.contains(&result.detail.as_str()) {
            reasons.push(&result.detail);
        }
    }
    reasons.join("; ").chars().take(MAX_REASON_CHARS).collect()
}
