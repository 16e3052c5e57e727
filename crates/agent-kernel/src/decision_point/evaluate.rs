//! Evaluates a request: lookup, contract, arguments, policy and budget, then what could release a
//! hold.

use serde_json::Value;
use weaver_policy::{PolicyQuery, PolicySet, ReleaseProof};
use weaver_types::{
    Capability, CheckKind, CheckResult, Decision, Label, Operation, ReasonCode, Remedy, Verdict,
};

use super::PolicyDecisionPoint;
use super::evaluation::{CallTarget, Evaluation, EvaluationRequest, denied_decision};
use super::preconditions;
use super::resume::{DecisionFn, HeldCall};
use crate::approval::hold_release::is_releasable;
use crate::cached_run::{RunSlot, lock_run};
use crate::canonical_arguments::CanonicalArguments;
use crate::token_allotment::exhausted_budget_denial;

impl PolicyDecisionPoint {
    /// Evaluates a request. When anything inside fails, the decision is a denial.
    pub(crate) fn evaluate(
        &self,
        policy: &PolicySet,
        evaluation_request: EvaluationRequest<'_>,
    ) -> Box<Evaluation> {
        let run = &evaluation_request.caller.run.run_id;
        self.recorder.collect_deferred_ends();
        match self.recorder.slot(run) {
            Ok(slot) => match self.find_target(policy, evaluation_request) {
                Ok(target) => self.evaluate_target(policy, evaluation_request, target, slot),
                Err(decision) => Evaluation::new(*decision, Some(slot)),
            },
            Err(error) => {
                let detail = format!("the run's state: {error}");
                let decision = denied_decision(policy, ReasonCode::LedgerUnavailable, &detail);
                Evaluation::new(decision, None)
            }
        }
    }

    /// The capability that the request means for this caller. An unknown and a hidden capability
    /// give the same denial, so that nobody can probe for hidden ones.
    fn find_target(
        &self,
        policy: &PolicySet,
        evaluation_request: EvaluationRequest<'_>,
    ) -> Result<CallTarget, Box<Decision>> {
        let EvaluationRequest { caller, request, .. } = evaluation_request;
        let unknown = || {
            let detail = "no capability of that name is known here";
            Box::new(denied_decision(policy, ReasonCode::NotFound, detail))
        };
        if caller.principal.tenant != self.context.settings.tenant {
            return Err(unknown());
        }
        let entry = self.context.registry.get(&request.capability_id).ok_or_else(unknown)?;
        // A capability whose contract cannot be applied is offered to nobody, so it counts as
        // unknown.
        let capability = entry.effective(policy).map_err(|_| unknown())?;
        if !policy.is_visible(caller.principal, &capability) {
            return Err(unknown());
        }
        let contract = self.compare_with_baseline(policy, &entry, &capability);
        let folder = entry.driver.working_folder(&caller.run.run_id);
        Ok(CallTarget { entry, capability, contract, arguments: None, folder })
    }

    fn evaluate_target(
        &self,
        policy: &PolicySet,
        evaluation_request: EvaluationRequest<'_>,
        mut target: CallTarget,
        slot: RunSlot,
    ) -> Box<Evaluation> {
        let EvaluationRequest { caller, request, arguments, masks, operation, .. } =
            evaluation_request;
        let settings = &caller.run.settings;
        let Some((label, unreviewed_writes, exceeded, finished, spent)) =
            lock_run(&slot).map(|cached| {
                let (state, spent) =
                    (cached.state(), exhausted_budget_denial(&cached, &settings.budget, operation));
                let exceeded = state.meters.exceeded(&settings.budget);
                (
                    state.label.clone(),
                    state.unreviewed_writes,
                    exceeded,
                    cached.finished_calls(),
                    spent,
                )
            })
        else {
            let detail = "the run's state is unusable";
            let decision = denied_decision(policy, ReasonCode::InternalError, detail);
            return Evaluation::new(decision, None);
        };
        let run = &caller.run.run_id;
        let signals = self.signal_report(run, &target.capability, operation, finished);
        let changed = target.contract.check_result.as_deref().cloned();
        let mut extra_results: Vec<CheckResult> = changed.into_iter().chain(spent).collect();
        if operation == Operation::Invoke {
            extra_results.extend(exceeded.map(budget_exhausted));
            extra_results.extend(self.clock_jump_hold(&target.capability));
            extra_results.extend(masks.and_then(|masks| masks.refusal(&target.capability)));
            match parse_arguments(&target, arguments) {
                Ok(arguments) => target.arguments = arguments,
                Err(check_result) => extra_results.push(*check_result),
            }
        }
        let origin = masks.map(|_| target.entry.origin.as_ref());
        let query = PolicyQuery {
            arguments,
            masked: masks.map_or(&[], |masks| &masks.values),
            as_written: masks.map(|masks| &masks.as_written),
            origin,
            operation,
            mode: settings.safety_mode,
            label: &label,
            now: evaluation_request.at.now,
            human_channel: self.context.settings.human_channel,
            run: Some(run),
            folder: target.folder.as_deref(),
            signals: &signals,
            origins: Some(&self.context.value_origins(&slot)),
            ..PolicyQuery::new(&target.capability, caller.principal, request)
        };
        let limits = self.rates.check(policy, &self.context.registry, &query);
        // Every step only tightens: the policy, the kernel's own obstacles, then the rate limits, which
        // the policy may only record. Masks come last, so that no detail shows a masked value.
        let decide = |release: Option<&ReleaseProof>, label_then: Option<&Label>| {
            let label = label_then.unwrap_or(&label);
            let decision = policy.decide(&PolicyQuery { release, label, ..query });
            let decision = extra_results.iter().cloned().fold(decision, Decision::joined_with);
            let limited = |decision, check_result| policy.with_limit_result(decision, check_result);
            let decision = limits.iter().cloned().fold(decision, limited);
            match masks {
                Some(masks) => masks.redact_decision(decision),
                None => decision,
            }
        };
        let mut evaluation = Evaluation::new(decide(None, None), None);
        evaluation.unreviewed_writes = unreviewed_writes;
        if operation == Operation::Invoke {
            evaluation = self
                .apply_releases(policy, evaluation_request, &target, &query, &decide, evaluation);
        }
        // Preconditions and releases have added details after `decide`.
        if let Some(masks) = masks {
            evaluation.decision = masks.redact_decision(evaluation.decision);
        }
        evaluation.target = Some(target);
        evaluation.slot = Some(slot);
        evaluation.label = label;
        evaluation.masked_arguments = masks.map(|masks| masks.as_written.clone());
        evaluation.signals = signals;
        evaluation
    }

    /// Checks preconditions and looks for a release of the hold.
    ///
    /// A denial that no approval can lift is returned first, so that preconditions are not observed
    /// for a call that cannot happen. The preconditions are compared last, with those of the grant:
    /// a release must not hide that the world has changed.
    fn apply_releases(
        &self,
        policy: &PolicySet,
        evaluation_request: EvaluationRequest<'_>,
        target: &CallTarget,
        query: &PolicyQuery<'_>,
        decide: &DecisionFn<'_>,
        mut evaluation: Box<Evaluation>,
    ) -> Box<Evaluation> {
        if !evaluation.decision.is_allowed() && !is_releasable(&evaluation.decision) {
            if target.contract.is_denied() && evaluation_request.may_resume {
                // Open requests and grants for another version of the capability end.
                let decision = evaluation.decision.clone();
                let caller = evaluation_request.caller;
                let held = HeldCall {
                    policy,
                    caller,
                    query,
                    target,
                    preconditions: &[],
                    unreviewed_writes: evaluation.unreviewed_writes,
                    decision,
                    decide,
                };
                evaluation.hold_endings = self.resume(held).hold_endings;
            }
            return evaluation;
        }
        match self.observe_preconditions(policy, target.capability.id(), query.arguments) {
            Ok(preconditions) => evaluation.preconditions = preconditions,
            Err(check_result) => return evaluation.joined_with(*check_result),
        }
        if !evaluation.decision.is_allowed() && evaluation_request.may_resume {
            let resumed = self.resume(HeldCall {
                policy,
                caller: evaluation_request.caller,
                query,
                target,
                preconditions: &evaluation.preconditions,
                unreviewed_writes: evaluation.unreviewed_writes,
                decision: evaluation.decision,
                decide,
            });
            evaluation.decision = resumed.decision;
            evaluation.hold_state = resumed.hold_state;
            evaluation.hold_endings = resumed.hold_endings;
        }
        match evaluation_request.preconditions.and_then(|before| {
            preconditions::changed_precondition_denial(before, &evaluation.preconditions)
        }) {
            Some(check_result) => evaluation.joined_with(check_result),
            None => evaluation,
        }
    }

    /// Holds every call that writes while the wall clock is not trusted.
    fn clock_jump_hold(&self, capability: &Capability) -> Option<CheckResult> {
        if !capability.spec().effects.writes() {
            return None;
        }
        let wall = self.context.clock.rejected_wall_time()?;
        let detail = format!("the clock jumped to {wall}; an operator has to confirm it");
        Some(CheckResult::new(CheckKind::System, Verdict::Hold, ReasonCode::ClockJump, detail))
    }
}

fn budget_exhausted(cap: &str) -> CheckResult {
    let detail = format!("the run's cap `{cap}` is used up");
    CheckResult::new(CheckKind::Limit, Verdict::Deny, ReasonCode::BudgetExceeded, detail)
}

/// Reads the arguments, and checks them against the schema of a tool that may be called. That of
/// another one may be what nobody has approved yet, and its names would be quoted.
fn parse_arguments(
    target: &CallTarget,
    value: Option<&Value>,
) -> Result<Option<CanonicalArguments>, Box<CheckResult>> {
    let Some(value) = value else { return Ok(None) };
    let violation = || match target.contract.is_denied() {
        true => None,
        false => target.entry.arguments.violation(value, "the arguments"),
    };
    let problem = match CanonicalArguments::read(value) {
        Err(problem) => problem.to_string(),
        Ok(arguments) => match violation() {
            None => return Ok(Some(arguments)),
            Some(problem) => problem,
        },
    };
    let reason = ReasonCode::InvalidArguments;
    let check_result = CheckResult::new(CheckKind::Justification, Verdict::Ask, reason, problem);
    Err(Box::new(check_result.with_remedy(Remedy::Arguments)))
}
