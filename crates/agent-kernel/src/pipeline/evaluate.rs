//! The evaluation of a request: lookup, contract, arguments, policy, budget, and what releases it.

use std::sync::Arc;

use serde_json::Value;
use weaver_policy::approval::ObservedPrecondition;
use weaver_policy::signal::SignalReport;
use weaver_policy::{PolicySet, Query, Release};
use weaver_types::{
    Capability, CapabilityRequest, Check, Contribution, Decision, Discharge, Label, Operation,
    ReasonCode, RequestId, Verdict,
};

use super::observe;
use super::resume::{HeldCall, HoldEnding, HoldState, is_releasable};

use super::token_allotment::spent;
use crate::arguments::Arguments;
use crate::cached_run::{RunSlot, lock};
use crate::caller::Caller;
use crate::clock_guard::Moment;
use crate::contract::ContractComparison;
use crate::kernel::Kernel;
use crate::masked_arguments::ArgumentMasks;
use crate::registry::RegisteredCapability;

/// What is asked.
#[derive(Clone, Copy)]
pub(crate) struct EvaluationRequest<'a> {
    pub(crate) caller: Caller<'a>,
    pub(crate) request: &'a CapabilityRequest,
    pub(crate) arguments: Option<&'a Value>,
    /// The masks that stood in them, where there were any.
    pub(crate) masks: Option<&'a ArgumentMasks>,
    pub(crate) operation: Operation,
    /// When it is asked.
    pub(crate) at: Moment,
    /// What was observed when the call was granted; `None` where it is being granted.
    pub(crate) facts: Option<&'a [ObservedPrecondition]>,
    /// Whether what was held before may be released now.
    pub(crate) resumes: bool,
}

/// What an evaluation found. Boxed where it is passed on: it moves through many stages.
pub(crate) struct Evaluation {
    pub(crate) decision: Decision,
    /// What can be executed; `None` when there is nothing of that name, or nothing usable.
    pub(crate) target: Option<Target>,
    /// The run's slot; `None` when the run's state cannot be read.
    pub(crate) slot: Option<RunSlot>,
    /// The label of the run at that moment.
    pub(crate) label: Label,
    /// What the preconditions were.
    pub(crate) facts: Vec<ObservedPrecondition>,
    /// What the sources of signals say.
    pub(crate) signals: SignalReport,
    /// Where the call stands with what holds it.
    pub(crate) holding: HoldState,
    /// Requests that are over.
    pub(crate) endings: Vec<HoldEnding>,
    /// The request of a held call, once it has one.
    pub(crate) request: Option<RequestId>,
    /// The arguments with their masks, where there were any: what may be recorded of them.
    pub(crate) given: Option<Value>,
}

impl Evaluation {
    pub(crate) fn new(decision: Decision, slot: Option<RunSlot>) -> Box<Self> {
        Box::new(Self {
            decision,
            target: None,
            slot,
            label: Label::clean(),
            facts: Vec::new(),
            signals: SignalReport::none(),
            holding: HoldState::Free,
            endings: Vec::new(),
            request: None,
            given: None,
        })
    }

    pub(crate) fn tightened(mut self: Box<Self>, said: Contribution) -> Box<Self> {
        self.decision = self.decision.tightened(said);
        self
    }
}

/// The decision with or without a release.
type Decide<'a> = &'a dyn Fn(Option<&Release>) -> Decision;

/// A capability ready to be executed.
pub(crate) struct Target {
    pub(crate) entry: Arc<RegisteredCapability>,
    pub(crate) capability: Arc<Capability>,
    /// How it stands against what was registered and approved.
    pub(crate) contract: ContractComparison,
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
    pub(crate) fn evaluate(
        &self,
        policy: &PolicySet,
        question: EvaluationRequest<'_>,
    ) -> Box<Evaluation> {
        let run = &question.caller.run.run_id;
        self.settle_deferred_ends();
        match self.runs.slot(run, self.ledger.as_ref()) {
            Ok(slot) => match self.find_target(policy, question) {
                Ok(target) => self.judge(policy, question, target, slot),
                Err(decision) => Evaluation::new(*decision, Some(slot)),
            },
            Err(error) => {
                let detail = format!("the run's state: {error}");
                let decision =
                    denied(policy, Check::System, ReasonCode::LedgerUnavailable, &detail);
                Evaluation::new(decision, None)
            }
        }
    }

    /// What the request means, for this caller. Unknown and hidden look the same.
    fn find_target(
        &self,
        policy: &PolicySet,
        question: EvaluationRequest<'_>,
    ) -> Result<Target, Box<Decision>> {
        let EvaluationRequest { caller, request, .. } = question;
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
        let contract = self.compare(policy, &entry, &capability);
        Ok(Target { entry, capability, contract, arguments: None })
    }

    fn judge(
        &self,
        policy: &PolicySet,
        question: EvaluationRequest<'_>,
        mut target: Target,
        slot: RunSlot,
    ) -> Box<Evaluation> {
        let EvaluationRequest { caller, request, arguments, masks, operation, .. } = question;
        let settings = &caller.run.settings;
        let Some((label, exceeded, finished, spent)) = lock(&slot).map(|hot| {
            let (state, spent) = (hot.state(), spent(&hot, &settings.budget, operation));
            let exceeded = state.meters.exceeded(&settings.budget);
            (state.label.clone(), exceeded, hot.finished(), spent)
        }) else {
            let detail = "the run's state is unusable";
            let decision = denied(policy, Check::System, ReasonCode::InternalError, detail);
            return Evaluation::new(decision, None);
        };
        let run = &caller.run.run_id;
        let signals = self.signals(run, &target.capability, operation, finished);
        let changed = target.contract.contribution.as_deref().cloned();
        let mut beside: Vec<Contribution> = changed.into_iter().chain(spent).collect();
        if operation == Operation::Invoke {
            beside.extend(exceeded.map(used_up));
            beside.extend(self.clock_leapt(&target.capability));
            beside.extend(masks.and_then(|masks| masks.refusal(&target.capability)));
            match read_arguments(&target.entry, arguments) {
                Ok(arguments) => target.arguments = arguments,
                Err(said) => beside.push(*said),
            }
        }
        let origin = masks.map(|_| target.entry.origin.as_ref());
        let query = Query {
            arguments,
            masked: masks.map_or(&[], |masks| &masks.masked),
            origin,
            operation,
            mode: settings.safety_mode,
            label: &label,
            now: question.at.now,
            human_channel: self.settings.human_channel,
            run: Some(run),
            signals: &signals,
            origins: Some(&self.origins(&slot)),
            ..Query::new(&target.capability, caller.principal, request)
        };
        let limits = self.rates.check(policy, &self.registry, &query);
        let decide = |release: Option<&Release>| {
            let decision = policy.decide(&Query { release, ..query });
            let decision = beside.iter().cloned().fold(decision, Decision::tightened);
            let limited = |decision, said| policy.limited(decision, said);
            let decision = limits.iter().cloned().fold(decision, limited);
            match masks {
                Some(masks) => masks.hidden_in(decision),
                None => decision,
            }
        };
        let mut evaluated = Evaluation::new(decide(None), None);
        if operation == Operation::Invoke {
            evaluated = self.apply_releases(policy, question, &target, &query, &decide, evaluated);
        }
        if let Some(masks) = masks {
            evaluated.decision = masks.hidden_in(evaluated.decision);
        }
        evaluated.target = Some(target);
        evaluated.slot = Some(slot);
        evaluated.label = label;
        evaluated.given = masks.map(|masks| masks.given.clone());
        evaluated.signals = signals;
        evaluated
    }

    /// What goes beyond the policy's own checks: preconditions, and what releases a hold.
    fn apply_releases(
        &self,
        policy: &PolicySet,
        question: EvaluationRequest<'_>,
        target: &Target,
        query: &Query<'_>,
        decide: Decide<'_>,
        mut evaluated: Box<Evaluation>,
    ) -> Box<Evaluation> {
        if !evaluated.decision.allowed() && !is_releasable(&evaluated.decision) {
            if target.contract.denied() && question.resumes {
                // What was held or granted for another version of it is over.
                let release = |release: &Release| decide(Some(release));
                let decision = evaluated.decision.clone();
                let caller = question.caller;
                let decide = &release;
                let held = HeldCall { policy, caller, query, target, facts: &[], decision, decide };
                evaluated.endings = self.resume(held).endings;
            }
            return evaluated;
        }
        match self.facts(policy, target.capability.id(), query.arguments) {
            Ok(facts) => evaluated.facts = facts,
            Err(said) => return evaluated.tightened(*said),
        }
        if !evaluated.decision.allowed() && question.resumes {
            let resumed = self.resume(HeldCall {
                policy,
                caller: question.caller,
                query,
                target,
                facts: &evaluated.facts,
                decision: evaluated.decision,
                decide: &|release| decide(Some(release)),
            });
            evaluated.decision = resumed.decision;
            evaluated.holding = resumed.holding;
            evaluated.endings = resumed.endings;
        }
        match question.facts.and_then(|before| observe::changed(before, &evaluated.facts)) {
            Some(said) => evaluated.tightened(said),
            None => evaluated,
        }
    }

    /// While the clock is not believed, nothing that acts on the world is done.
    fn clock_leapt(&self, capability: &Capability) -> Option<Contribution> {
        if !capability.spec().effects.writes() {
            return None;
        }
        let wall = self.time.leapt(self.clock.as_ref())?;
        let detail = format!("the clock leapt to {wall}; an operator has to confirm it");
        Some(Contribution::new(Check::System, Verdict::Hold, ReasonCode::ClockJump, detail))
    }
}

fn used_up(cap: &str) -> Contribution {
    let detail = format!("the run's cap `{cap}` is used up");
    Contribution::new(Check::Limit, Verdict::Deny, ReasonCode::BudgetExceeded, detail)
}

fn read_arguments(
    entry: &RegisteredCapability,
    value: Option<&Value>,
) -> Result<Option<Arguments>, Box<Contribution>> {
    let Some(value) = value else { return Ok(None) };
    let problem = match Arguments::read(value) {
        Err(problem) => problem.to_string(),
        Ok(arguments) => match entry.arguments.violation(value, "the arguments") {
            None => return Ok(Some(arguments)),
            Some(problem) => problem,
        },
    };
    let reason = ReasonCode::InvalidArguments;
    let said = Contribution::new(Check::Justification, Verdict::Ask, reason, problem);
    Err(Box::new(said.discharged_by(Discharge::Arguments)))
}
