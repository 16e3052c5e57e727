//! Grants: evaluates a request and, if it is allowed, mints a token for exactly one invocation.

use weaver_types::{CallId, CheckKind, CheckResult, Operation, ReasonCode, Verdict};

use super::operation_timer::OperationTimer;
use super::refuse::finish_refusal;
use crate::caller::{Call, Caller};
use crate::decision_point::{
    Evaluation, EvaluationRequest, denied_decision, deny_raw_without_admin,
};
use crate::invocation::{Grant, placeholder_call_id};
use crate::kernel::Kernel;
use crate::telemetry;

impl Kernel {
    /// Decides on a request. An allowed one gets a token; any other is recorded as a refusal.
    pub async fn grant(&self, caller: Caller<'_>, call: Call<'_>) -> Grant {
        let mut timer =
            OperationTimer::begin(&self.recorder, telemetry::Operation::Grant, caller, call.mode);
        timer.set_capability(&call.request.capability_id);
        let grant = self.grant_unmeasured(caller, call).await;
        timer.finish_grant(&grant.decision, grant.call.as_str());
        grant
    }

    async fn grant_unmeasured(&self, caller: Caller<'_>, call: Call<'_>) -> Grant {
        let policy = self.context.policy();
        let principal = policy.limit_to_grants(caller.principal);
        let caller = Caller { principal: &principal, ..caller };
        self.recorder.ingest_statements(caller).await;
        let Ok(id) = CallId::random(self.context.random.as_ref()) else {
            let detail = "no randomness for a call id";
            let decision = denied_decision(&policy, ReasonCode::InternalError, detail);
            let call = placeholder_call_id();
            return Grant { call, decision, token: None, request: None };
        };
        let Call { request, arguments, mode } = call;
        let prepared = self.decision_point.prepare_arguments(&policy, caller, request, arguments);
        let at = self.context.clock_reading();
        let mut evaluation_request = EvaluationRequest {
            arguments: prepared.value(),
            masks: prepared.masks(),
            ..EvaluationRequest::new(caller, request, Operation::Invoke, at)
        };
        let tighten = |mut evaluation: Box<Evaluation>| {
            evaluation.decision = deny_raw_without_admin(evaluation.decision, caller, mode);
            evaluation
        };
        let mut evaluation = self
            .decision_point
            .decide_and_resolve(&policy, &mut evaluation_request, &id, &tighten)
            .await;
        if evaluation.decision.is_allowed()
            && !caller.run.dry_run
            && let Some(target) = &evaluation.target
        {
            if let Some(token) =
                self.decision_point.mint_token(evaluation_request, mode, target, &evaluation, &id)
            {
                let Evaluation { decision, request, .. } = *evaluation;
                return Grant { call: id, decision, token: Some(token), request };
            }
            let detail = "no token could be made";
            let reason = ReasonCode::InternalError;
            let failed = CheckResult::new(CheckKind::System, Verdict::Deny, reason, detail);
            evaluation.decision = evaluation.decision.joined_with(failed);
        }
        if evaluation.decision.is_allowed() {
            let Evaluation { decision, request, .. } = *evaluation;
            return Grant { call: id, decision, token: None, request };
        }
        let open_request = evaluation.request.clone();
        let decision = finish_refusal(&self.recorder, caller, request, &id, evaluation).await;
        Grant { call: id, decision, token: None, request: open_request }
    }
}
