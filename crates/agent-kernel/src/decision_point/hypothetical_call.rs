//! Evaluates a call without making it, for dry runs and explanations.

use weaver_policy::PolicySet;
use weaver_types::{Operation, ResponseMode};

use super::PolicyDecisionPoint;
use super::evaluation::{Evaluation, EvaluationRequest, deny_raw_without_admin};
use crate::caller::{Call, Caller};

/// A call that is evaluated but not made.
pub(crate) struct HypotheticalCall<'a> {
    pub(crate) policy: &'a PolicySet,
    pub(crate) evaluation_request: EvaluationRequest<'a>,
    /// The mode that the caller requested.
    pub(crate) mode: ResponseMode,
    pub(crate) evaluation: Box<Evaluation>,
}

impl PolicyDecisionPoint {
    /// Evaluates a call as `Kernel::execute` would, in a dry run, and passes the result to
    /// `inspect`. Nothing is recorded or charged.
    pub(crate) fn evaluate_hypothetically<T>(
        &self,
        caller: Caller<'_>,
        call: Call<'_>,
        inspect: impl FnOnce(HypotheticalCall<'_>) -> T,
    ) -> T {
        let policy = self.context.policy();
        let principal = policy.limit_to_grants(caller.principal);
        let mut run = caller.run.clone();
        run.dry_run = true;
        let caller = Caller { principal: &principal, run: &run };
        let Call { request, arguments, mode } = call;
        let prepared = self.prepare_arguments(&policy, caller, request, arguments);
        let at = self.context.clock_reading();
        let evaluation_request = EvaluationRequest {
            arguments: prepared.value(),
            masks: prepared.masks(),
            ..EvaluationRequest::new(caller, request, Operation::Invoke, at)
        };
        let mut evaluation = self.evaluate(&policy, evaluation_request);
        evaluation.decision = deny_raw_without_admin(evaluation.decision, caller, mode);
        inspect(HypotheticalCall { policy: &policy, evaluation_request, mode, evaluation })
    }
}
