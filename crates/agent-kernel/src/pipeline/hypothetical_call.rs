//! Evaluates a call without making it, for dry runs and explanations.

use weaver_policy::PolicySet;
use weaver_types::{Operation, ResponseMode};

use super::evaluate::{Evaluation, EvaluationRequest};
use super::grant::deny_raw_without_admin;
use crate::caller::{Call, Caller};
use crate::kernel::Kernel;
use crate::masked_arguments;

/// A call that is evaluated but not made.
pub(crate) struct HypotheticalCall<'a> {
    pub(crate) policy: &'a PolicySet,
    pub(crate) evaluation_request: EvaluationRequest<'a>,
    /// The mode that the caller requested.
    pub(crate) mode: ResponseMode,
    pub(crate) evaluation: Box<Evaluation>,
}

impl Kernel {
    /// Evaluates a call as [`Kernel::execute`] would, in a dry run, and passes the result to
    /// `inspect`. Nothing is recorded or charged.
    pub(crate) fn evaluate_hypothetically<T>(
        &self,
        caller: Caller<'_>,
        call: Call<'_>,
        inspect: impl FnOnce(HypotheticalCall<'_>) -> T,
    ) -> T {
        let policy = self.policy();
        let principal = policy.limit_to_grants(caller.principal);
        let mut run = caller.run.clone();
        run.dry_run = true;
        let caller = Caller { principal: &principal, run: &run };
        let Call { request, arguments, mode } = call;
        let repaired = self.repair_arguments(&policy, request, arguments);
        let arguments = repaired.as_ref().map(|repaired| &repaired.arguments).or(arguments);
        let unmasked = self.unmask_arguments(caller, arguments);
        let (arguments, masks) =
            masked_arguments::arguments_and_masks(unmasked.as_deref(), arguments);
        let (operation, at, preconditions) =
            (Operation::Invoke, self.context.clock_reading(), None);
        let evaluation_request = EvaluationRequest {
            caller,
            request,
            arguments,
            masks,
            operation,
            at,
            preconditions,
            may_resume: true,
        };
        let mut evaluation = self.evaluate(&policy, evaluation_request);
        evaluation.decision = deny_raw_without_admin(evaluation.decision, caller, mode);
        inspect(HypotheticalCall { policy: &policy, evaluation_request, mode, evaluation })
    }
}
