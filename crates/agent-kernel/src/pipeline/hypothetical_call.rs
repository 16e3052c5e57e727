//! Deciding on a call as if it were made: what a dry run and an explanation begin with.

use weaver_policy::PolicySet;
use weaver_types::{Operation, ResponseMode};

use super::evaluate::{Evaluation, EvaluationRequest};
use super::grant::raw_needs_admin;
use crate::caller::{Call, Caller};
use crate::kernel::Kernel;
use crate::masked_arguments;

/// A call that is decided on and not made.
pub(crate) struct HypotheticalCall<'a> {
    pub(crate) policy: &'a PolicySet,
    pub(crate) question: EvaluationRequest<'a>,
    /// What the caller asked to be shown.
    pub(crate) mode: ResponseMode,
    pub(crate) evaluated: Box<Evaluation>,
}

impl Kernel {
    /// Decides on a call as [`Kernel::execute`] would, in a run in which nothing is executed, and
    /// lets `look` see what was found. Nothing is recorded or charged.
    pub(crate) fn as_if<T>(
        &self,
        caller: Caller<'_>,
        call: Call<'_>,
        look: impl FnOnce(HypotheticalCall<'_>) -> T,
    ) -> T {
        let policy = self.policy();
        let principal = policy.granted(caller.principal);
        let mut run = caller.run.clone();
        run.dry_run = true;
        let caller = Caller { principal: &principal, run: &run };
        let Call { request, arguments, mode } = call;
        let repaired = self.repaired(&policy, request, arguments);
        let arguments = repaired.as_ref().map(|repaired| &repaired.arguments).or(arguments);
        let unmasked = self.unmasked(caller, arguments);
        let (arguments, masks) = masked_arguments::parts(unmasked.as_deref(), arguments);
        let (operation, at, facts) = (Operation::Invoke, self.moment(), None);
        let question = EvaluationRequest {
            caller,
            request,
            arguments,
            masks,
            operation,
            at,
            facts,
            resumes: true,
        };
        let mut evaluated = self.evaluate(&policy, question);
        evaluated.decision = raw_needs_admin(evaluated.decision, caller, mode);
        look(HypotheticalCall { policy: &policy, question, mode, evaluated })
    }
}
