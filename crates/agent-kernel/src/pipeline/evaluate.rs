//! The evaluation of a request: lookup, contract, arguments, policy, budget.

use std::sync::Arc;

use serde_json::Value;
use weaver_policy::{ContractStatus, PolicySet, Query};
use weaver_types::{
    Capability, CapabilityRequest, Check, Contribution, Decision, Discharge, Operation, ReasonCode,
    Verdict,
};

use crate::arguments::Arguments;
use crate::hot_run::{RunSlot, lock};
use crate::kernel::{Caller, Kernel};
use crate::registry::Registered;

/// What is asked.
#[derive(Clone, Copy)]
pub(crate) struct Question<'a> {
    pub(crate) caller: Caller<'a>,
    pub(crate) request: &'a CapabilityRequest,
    pub(crate) arguments: Option<&'a Value>,
    pub(crate) operation: Operation,
}

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
    let said = Contribution::new(check, Verdict::Deny, reason, detail);
    Decision::join(vec![said], policy.basis().clone())
}

impl Kernel {
    pub(crate) fn evaluate(&self, policy: &PolicySet, question: Question<'_>) -> Evaluated {
        let run = &question.caller.run.run_id;
        match self.runs.slot(&self.settings.tenant, run, self.ledger.as_ref()) {
            Ok(slot) => {
                let (decision, target) = match self.find_target(policy, question) {
                    Ok(target) => self.judge(policy, question, target, &slot),
                    Err(decision) => (*decision, None),
                };
                Evaluated { decision, target, slot: Some(slot) }
            }
            Err(error) => {
                let detail = format!("the run's state: {error}");
                let decision =
                    denied(policy, Check::System, ReasonCode::LedgerUnavailable, &detail);
                Evaluated { decision, target: None, slot: None }
            }
        }
    }

    /// What the request means, for this caller. Unknown and hidden look the same.
    fn find_target(
        &self,
        policy: &PolicySet,
        question: Question<'_>,
    ) -> Result<Target, Box<Decision>> {
        let Question { caller, request, .. } = question;
        let unknown = || {
            let detail = "no capability of that name is known here";
            Box::new(denied(policy, Check::System, ReasonCode::NotFound, detail))
        };
        if caller.principal.tenant != self.settings.tenant {
            return Err(unknown());
        }
        let entry = self.registry.get(&request.capability_id).ok_or_else(unknown)?;
        // One whose contract cannot be applied is not offered to anybody: it is unknown too.
        let capability = entry.effective(policy).map_err(|_| unknown())?;
        if !policy.visible(caller.principal, &capability) {
            return Err(unknown());
        }
        Ok(Target { entry, capability, arguments: None })
    }

    fn judge(
        &self,
        policy: &PolicySet,
        question: Question<'_>,
        mut target: Target,
        slot: &RunSlot,
    ) -> (Decision, Option<Target>) {
        let Question { caller, request, arguments, operation } = question;
        let settings = &caller.run.settings;
        let Some((label, exceeded)) = lock(slot)
            .map(|hot| (hot.state().label.clone(), hot.state().meters.exceeded(&settings.budget)))
        else {
            let detail = "the run's state is unusable";
            return (denied(policy, Check::System, ReasonCode::InternalError, detail), None);
        };
        let mut decision = policy.decide(&Query {
            arguments,
            operation,
            mode: settings.safety_mode,
            label: &label,
            now: self.now(),
            human_channel: self.settings.human_channel,
            ..Query::new(&target.capability, caller.principal, request)
        });
        if let Some(changed) = changed(policy, &target) {
            decision = decision.tightened(changed);
        }
        if operation == Operation::Invoke {
            if let Some(cap) = exceeded {
                let detail = format!("the run's cap `{cap}` is used up");
                let reason = ReasonCode::BudgetExceeded;
                let said = Contribution::new(Check::Limit, Verdict::Deny, reason, detail);
                decision = decision.tightened(said);
            }
            match read_arguments(&target.entry, arguments) {
                Ok(arguments) => target.arguments = arguments,
                Err(said) => decision = decision.tightened(*said),
            }
        }
        (decision, Some(target))
    }
}

/// What the tool's server says of it is not what was approved.
fn changed(policy: &PolicySet, target: &Target) -> Option<Contribution> {
    let ContractStatus::Changed { approved, found } =
        policy.contract_status(target.entry.capability())
    else {
        return None;
    };
    let detail = format!("the server describes the tool as {found}; approved is {approved}");
    let reason = ReasonCode::ContractChanged;
    Some(Contribution::new(Check::Contract, Verdict::Deny, reason, detail))
}

fn read_arguments(
    entry: &Registered,
    value: Option<&Value>,
) -> Result<Option<Arguments>, Box<Contribution>> {
    let Some(value) = value else { return Ok(None) };
    let problem = match Arguments::read(value) {
        Err(problem) => problem,
        Ok(arguments) => match entry.arguments.violation(value) {
            None => return Ok(Some(arguments)),
            Some(problem) => problem,
        },
    };
    let reason = ReasonCode::InvalidArguments;
    let said = Contribution::new(Check::Justification, Verdict::Ask, reason, problem);
    Err(Box::new(said.discharged_by(Discharge::Arguments)))
}
