//! The evaluation of a request: lookup, contract, arguments, policy, budget.

use std::sync::Arc;

use serde_json::Value;
use weaver_policy::{ContractStatus, PolicySet, Query};
use weaver_types::{
    Capability, CapabilityRequest, Check, Contribution, Decision, Discharge, Operation, ReasonCode,
    Verdict,
};

use crate::arguments::Arguments;
use crate::kernel::{Caller, Kernel};
use crate::registry::Registered;
use crate::run_state::{RunSlot, lock};

/// What an evaluation found.
pub(crate) struct Evaluated {
    pub(crate) decision: Decision,
    /// What can be executed; `None` when there is nothing of that name, or nothing usable.
    pub(crate) target: Option<Target>,
    /// The run's slot; `None` when the run's state cannot be read.
    pub(crate) slot: Option<RunSlot>,
}

/// A capability ready to be executed.
pub(crate) struct Target {
    pub(crate) entry: Arc<Registered>,
    pub(crate) capability: Arc<Capability>,
    pub(crate) arguments: Option<Arguments>,
}

/// A denial for a reason outside of the policy's checks.
pub(crate) fn denied(
    policy: &PolicySet,
    check: Check,
    reason: ReasonCode,
    detail: &str,
) -> Decision {
    Decision::join(
        vec![Contribution::new(check, Verdict::Deny, reason, detail)],
        policy.basis().clone(),
    )
}

impl Kernel {
    pub(crate) fn evaluate(
        &self,
        caller: Caller<'_>,
        request: &CapabilityRequest,
        arguments: Option<&Value>,
        operation: Operation,
    ) -> Evaluated {
        let policy = self.policy();
        let slot =
            match self.runs.slot(&self.settings.tenant, &caller.run.run_id, self.ledger.as_ref()) {
                Ok(slot) => slot,
                Err(error) => {
                    let decision = denied(
                        &policy,
                        Check::System,
                        ReasonCode::LedgerUnavailable,
                        &format!("the run's state: {error}"),
                    );
                    return Evaluated { decision, target: None, slot: None };
                }
            };
        let (decision, target) = self.judge(&policy, caller, request, arguments, operation, &slot);
        Evaluated { decision, target, slot: Some(slot) }
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "the one place where all that a decision needs comes together"
    )]
    fn judge(
        &self,
        policy: &PolicySet,
        caller: Caller<'_>,
        request: &CapabilityRequest,
        arguments: Option<&Value>,
        operation: Operation,
        slot: &RunSlot,
    ) -> (Decision, Option<Target>) {
        // Unknown and hidden look the same.
        let unknown = || {
            denied(
                policy,
                Check::System,
                ReasonCode::NotFound,
                "no capability of that name is known here",
            )
        };
        if caller.principal.tenant != self.settings.tenant {
            return (unknown(), None);
        }
        let Some(entry) = self.registry.get(&request.capability_id) else {
            return (unknown(), None);
        };
        let capability = match entry.effective(policy) {
            Ok(capability) => capability,
            Err(error) => {
                let detail = error.to_string();
                return (
                    denied(policy, Check::Contract, ReasonCode::ContractUnknown, &detail),
                    None,
                );
            }
        };
        if !policy.visible(caller.principal, &capability) {
            return (unknown(), None);
        }
        let Some((label, exceeded)) = lock(slot).map(|hot| {
            (hot.state.label.clone(), hot.state.meters.exceeded(&caller.run.settings.budget))
        }) else {
            return (
                denied(
                    policy,
                    Check::System,
                    ReasonCode::InternalError,
                    "the run's state is unusable",
                ),
                None,
            );
        };
        let mut decision = policy.decide(&Query {
            capability: &capability,
            principal: caller.principal,
            request,
            arguments,
            operation,
            mode: caller.run.settings.safety_mode,
            label: &label,
            now: self.clock.now(),
            human_channel: self.settings.human_channel,
        });
        if let ContractStatus::Changed { approved, found } =
            policy.contract_status(entry.capability())
        {
            decision = decision.tightened(Contribution::new(
                Check::Contract,
                Verdict::Deny,
                ReasonCode::ContractChanged,
                format!("the server describes the tool as {found}; approved is {approved}"),
            ));
        }
        let read = match operation {
            Operation::View => None,
            Operation::Invoke => {
                if let Some(cap) = exceeded {
                    decision = decision.tightened(Contribution::new(
                        Check::Limit,
                        Verdict::Deny,
                        ReasonCode::BudgetExceeded,
                        format!("the run's cap `{cap}` is used up"),
                    ));
                }
                match check_arguments(&entry, arguments) {
                    Ok(arguments) => arguments,
                    Err(contribution) => {
                        decision = decision.tightened(*contribution);
                        None
                    }
                }
            }
        };
        (decision, Some(Target { entry, capability, arguments: read }))
    }
}

fn check_arguments(
    entry: &Registered,
    value: Option<&Value>,
) -> Result<Option<Arguments>, Box<Contribution>> {
    let Some(value) = value else { return Ok(None) };
    let problem = match Arguments::read(value) {
        Err(problem) => problem,
        Ok(arguments) => {
            let violations = entry.arguments.violations(value);
            if violations.is_empty() {
                return Ok(Some(arguments));
            }
            violations.join("; ")
        }
    };
    let contribution = Contribution::new(
        Check::Justification,
        Verdict::Ask,
        ReasonCode::InvalidArguments,
        problem,
    )
    .discharged_by(Discharge::Arguments);
    Err(Box::new(contribution))
}
