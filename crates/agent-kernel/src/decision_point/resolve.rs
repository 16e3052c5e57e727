//! Resolves a hold within one call: decide, open a request, ask the resolver, decide again.

use weaver_policy::PolicySet;
use weaver_types::CallId;

use super::PolicyDecisionPoint;
use super::evaluation::{Evaluation, EvaluationRequest};
use crate::approval::ResolverOutcome;
use crate::approval::hold_release::is_releasable;

/// Further checks that can only tighten a decision. They run before a hold, so that nobody is asked
/// to approve a call that is denied anyway.
pub(crate) type TightenEvaluation<'a> = &'a (dyn Fn(Box<Evaluation>) -> Box<Evaluation> + Sync);

impl PolicyDecisionPoint {
    /// Decides on a call. A held call is put to the resolver, if there is one, and decided again;
    /// the request then carries the time of the second decision.
    pub(crate) async fn decide_and_resolve(
        &self,
        policy: &PolicySet,
        evaluation_request: &mut EvaluationRequest<'_>,
        call: &CallId,
        tighten: TightenEvaluation<'_>,
    ) -> Box<Evaluation> {
        let evaluation = tighten(self.evaluate(policy, *evaluation_request));
        let (caller, slot) = (evaluation_request.caller, evaluation.slot.as_ref());
        self.recorder.record_signals(caller, call, slot, &evaluation.signals).await;
        let mut evaluation =
            self.hold_if_needed(policy, *evaluation_request, call, evaluation).await;
        let (Some(id), Some(port)) = (evaluation.request.clone(), &self.resolver) else {
            return evaluation;
        };
        match Box::pin(self.approvals.ask_resolver(policy, &id, port)).await {
            ResolverOutcome::Open => evaluation,
            ResolverOutcome::Granted => {
                // People take time to answer, so the second decision has its own time.
                evaluation_request.at = self.context.clock_reading();
                let second = tighten(self.evaluate(policy, *evaluation_request));
                self.hold_if_needed(policy, *evaluation_request, call, second).await
            }
            ResolverOutcome::Refused(message) => {
                evaluation.request = None;
                evaluation.joined_with(*message)
            }
        }
    }

    /// Updates the approval requests after a decision, if the decision concerns any.
    async fn hold_if_needed(
        &self,
        policy: &PolicySet,
        evaluation_request: EvaluationRequest<'_>,
        call: &CallId,
        evaluation: Box<Evaluation>,
    ) -> Box<Evaluation> {
        if evaluation.hold_endings.is_empty() && !is_releasable(&evaluation.decision) {
            return evaluation;
        }
        Box::pin(self.update_hold_requests(policy, evaluation_request, call, evaluation)).await
    }
}
