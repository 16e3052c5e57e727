//! Evaluates again, under a new policy, what is held under an old one.

use weaver_policy::PolicySet;
use weaver_policy::approval::{ApprovalRequest, ApprovalState, RequestEnd};
use weaver_types::{Operation, ReasonCode, RunBudget, RunContext, RunSettings};

use super::PolicyDecisionPoint;
use super::evaluation::EvaluationRequest;
use crate::approval::hold::OpenHold;
use crate::approval::hold_release::{HoldEnding, KERNEL_ACTOR, is_releasable};
use crate::caller::Caller;

impl PolicyDecisionPoint {
    /// Evaluates every request of an older policy again, if its capability is registered. Returns
    /// how many ended.
    pub(crate) async fn reevaluate_stale_requests(&self) -> usize {
        let policy = self.context.policy();
        let mut ended = 0;
        for hold in self.approvals.holds.all() {
            let request = &hold.open.request;
            let basis = policy.basis();
            // Nothing releases it any more; the sweep ends it.
            if self.context.now() >= request.deadline {
                continue;
            }
            let stale = request.policy != basis.policy || request.contracts != basis.contracts;
            if stale
                && self.context.registry.get(&request.capability).is_some()
                && self.reevaluate_request(&policy, &hold.open).await
            {
                ended += 1;
            }
        }
        ended
    }

    /// Evaluates one request again. True when it ended.
    async fn reevaluate_request(&self, policy: &PolicySet, open: &OpenHold) -> bool {
        let old = &open.request;
        let Some(successor) = self.build_successor(policy, open) else {
            let end = RequestEnd::Revoked { by: KERNEL_ACTOR.to_owned() };
            return self
                .end_for_new_policy(old, end, "it is not held in the same way any more")
                .await;
        };
        let by = Some(successor.request.id.clone());
        let end = RequestEnd::Superseded { by };
        if !self.end_for_new_policy(old, end, "another policy is in force").await {
            return false;
        }
        // If the successor cannot be opened now, the next call opens it.
        let _ = self.approvals.open_request(successor, None).await;
        true
    }

    async fn end_for_new_policy(
        &self,
        old: &ApprovalRequest,
        end: RequestEnd,
        detail: &str,
    ) -> bool {
        let (id, reason) = (old.id.clone(), ReasonCode::PolicyChanged);
        self.approvals
            .end_request(HoldEnding { id, end, reason, detail: detail.to_owned() })
            .await
            .is_ok()
    }

    /// Builds the successor: the request of the same call under this policy, if it is still held
    /// with the same authority.
    fn build_successor(&self, policy: &PolicySet, open: &OpenHold) -> Option<OpenHold> {
        let (old, held_request) = (&open.request, &open.held_request);
        // The principal as the policy defines it now, or unchanged when the policy does not name
        // it.
        let principal = policy.principal(&held_request.principal.id).map_or_else(
            || held_request.principal.clone(),
            |named| weaver_types::Principal {
                agent: held_request.principal.agent.clone(),
                tenant: held_request.principal.tenant.clone(),
                ..named
            },
        );
        let settings = RunSettings {
            safety_mode: held_request.mode,
            budget: RunBudget::unlimited(),
            ..RunSettings::default()
        };
        let run = RunContext::create(
            settings,
            self.context.clock.unguarded(),
            self.context.random.as_ref(),
        )
        .ok()?;
        let run = run.with_run_id(old.run.clone());
        let masks = held_request.masks.as_ref().map(|held| held.masks());
        let caller = Caller { run: &run, principal: &principal };
        let (request, at) = (&held_request.request, self.context.clock_reading());
        let evaluation_request = EvaluationRequest {
            arguments: Some(&old.arguments),
            masks: masks.as_ref(),
            may_resume: false,
            ..EvaluationRequest::new(caller, request, Operation::Invoke, at)
        };
        let evaluation = self.evaluate(policy, evaluation_request);
        let is_held = is_releasable(&evaluation.decision)
            && *evaluation.decision.authority() == old.authority;
        let successor = is_held.then(|| {
            self.build_request(policy, evaluation_request, &evaluation, Some(old.id.clone())).ok()
        })??;
        // Its call was made once: documents that are signed again and again must not keep it waiting
        // for longer than it could have waited.
        let deadline = successor.request.deadline.min(old.deadline);
        let folder = old.folder.clone();
        let request = ApprovalRequest { deadline, folder, ..successor.request };
        Some(OpenHold { state: ApprovalState::new(&request), request, ..successor })
    }
}
