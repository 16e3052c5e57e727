//! Another policy: what was held under the old one is decided again.

use std::sync::Arc;

use weaver_policy::PolicySet;
use weaver_policy::approval::{ApprovalRequest, RequestEnd};
use weaver_types::{Operation, ReasonCode, RequestId, RunBudget, RunContext, RunSettings};

use super::evaluate::EvaluationRequest;
use super::resume::{HoldEnding, KERNEL, is_releasable};
use crate::approval::hold::OpenHold;
use crate::caller::Caller;
use crate::kernel::Kernel;

impl Kernel {
    /// Puts another policy in force. Tokens made under the old one are refused from now on. Every
    /// open request is decided again: one that is still held with the same authority gives way to
    /// a linked request, any other is closed.
    ///
    /// Before that, a host commits [`PolicySet::high_water`]. What cannot be recorded now is done by
    /// the next [`Kernel::sweep`]; until then such a request releases nothing.
    pub async fn replace_policy(&self, policy: Arc<PolicySet>) {
        match self.policy.write() {
            Ok(mut slot) => *slot = policy,
            Err(poisoned) => *poisoned.into_inner() = policy,
        }
        self.rates.keep(&self.policy());
        self.decide_again().await;
    }

    /// Decides again on every request of another policy whose capability is known by now. How many
    /// ended.
    pub(crate) async fn decide_again(&self) -> usize {
        let policy = self.policy();
        let mut ended = 0;
        for hold in self.holds.all() {
            let request = &hold.open.request;
            let basis = policy.basis();
            let stale = request.policy != basis.policy || request.contracts != basis.contracts;
            if stale
                && self.registry.get(&request.capability).is_some()
                && self.renew(&policy, &hold.open).await
            {
                ended += 1;
            }
        }
        ended
    }

    /// Decides again on one request. True when it ended.
    async fn renew(&self, policy: &PolicySet, open: &OpenHold) -> bool {
        let old = &open.request;
        let Some(fresh) = self.again(policy, open) else {
            let end = RequestEnd::Revoked { by: KERNEL.to_owned() };
            return self.give_way(old, end, "it is not held in the same way any more").await;
        };
        let by = Some(fresh.request.id.clone());
        let end = RequestEnd::Superseded { by };
        if !self.give_way(old, end, "another policy is in force").await {
            return false;
        }
        // What cannot be opened now is opened by the next call.
        let _ = self.open_request(fresh, None).await;
        true
    }

    async fn give_way(&self, old: &ApprovalRequest, end: RequestEnd, detail: &str) -> bool {
        let (id, reason) = (old.id.clone(), ReasonCode::PolicyChanged);
        self.end(HoldEnding { id, end, reason, detail: detail.to_owned() }).await.is_ok()
    }

    /// The same call under this policy, when it is held with the same authority.
    fn again(&self, policy: &PolicySet, open: &OpenHold) -> Option<OpenHold> {
        let (old, asked) = (&open.request, &open.asked);
        // The principal as the policy names it now; one that it does not name, as it came.
        let principal = policy.principal(&asked.principal.id).map_or_else(
            || asked.principal.clone(),
            |named| weaver_types::Principal {
                agent: asked.principal.agent.clone(),
                tenant: asked.principal.tenant.clone(),
                ..named
            },
        );
        let settings = RunSettings {
            safety_mode: asked.mode,
            budget: RunBudget::unlimited(),
            ..RunSettings::default()
        };
        let run = RunContext::create(settings, self.clock.as_ref(), self.random.as_ref()).ok()?;
        let run = run.named(old.run.clone());
        let masks = asked.masks.as_ref().map(|held| held.masks());
        let question = EvaluationRequest {
            caller: Caller { run: &run, principal: &principal },
            request: &asked.request,
            arguments: Some(&old.arguments),
            masks: masks.as_ref(),
            operation: Operation::Invoke,
            at: self.moment(),
            facts: None,
            resumes: false,
        };
        let evaluated = self.evaluate(policy, question);
        let held =
            is_releasable(&evaluated.decision) && *evaluated.decision.authority() == old.authority;
        let fresh =
            held.then(|| self.compose(policy, question, &evaluated, Some(old.id.clone())).ok())??;
        Some(fresh)
    }

    /// The request that took the place of another one, as far as memory knows.
    #[must_use]
    pub fn successor(&self, id: &RequestId) -> Option<RequestId> {
        match self.phase(id)? {
            weaver_policy::approval::Phase::Superseded { by } => by,
            _ => None,
        }
    }
}
