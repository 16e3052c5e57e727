//! The input of a decision, and the decision with everything that was found on the way.

use std::sync::Arc;

use serde_json::Value;
use weaver_policy::PolicySet;
use weaver_policy::approval::ObservedPrecondition;
use weaver_policy::signal::SignalReport;
use weaver_types::{
    ApprovalRequestId, Capability, CapabilityRequest, CheckKind, CheckResult, Decision, Label,
    Operation, ReasonCode, ResponseMode, Verdict,
};

use crate::approval::hold_release::{HoldEnding, HoldState};
use crate::cached_run::RunSlot;
use crate::caller::Caller;
use crate::canonical_arguments::CanonicalArguments;
use crate::clock_guard::ClockReading;
use crate::contract_check::ContractComparison;
use crate::masked_arguments::ArgumentMasks;
use crate::registry::RegisteredCapability;

/// The request to be evaluated, with everything the decision depends on.
#[derive(Clone, Copy)]
pub(crate) struct EvaluationRequest<'a> {
    pub(crate) caller: Caller<'a>,
    pub(crate) request: &'a CapabilityRequest,
    pub(crate) arguments: Option<&'a Value>,
    /// The masks in the arguments, if there are any.
    pub(crate) masks: Option<&'a ArgumentMasks>,
    pub(crate) operation: Operation,
    /// The time of the request.
    pub(crate) at: ClockReading,
    /// The preconditions observed at the grant; `None` during the grant itself.
    pub(crate) preconditions: Option<&'a [ObservedPrecondition]>,
    /// Whether an earlier approval may release the call.
    pub(crate) may_resume: bool,
}

impl<'a> EvaluationRequest<'a> {
    /// A request that is decided for the first time, without arguments.
    pub(crate) fn new(
        caller: Caller<'a>,
        request: &'a CapabilityRequest,
        operation: Operation,
        at: ClockReading,
    ) -> Self {
        let (arguments, masks, preconditions) = (None, None, None);
        let may_resume = true;
        Self { caller, request, arguments, masks, operation, at, preconditions, may_resume }
    }
}

/// The result of an evaluation. Boxed where it is passed on: it moves through many stages.
pub(crate) struct Evaluation {
    pub(crate) decision: Decision,
    /// The capability to execute; `None` when it is unknown to this caller or unusable.
    pub(crate) target: Option<CallTarget>,
    /// The run's slot; `None` when the run's state cannot be read.
    pub(crate) slot: Option<RunSlot>,
    /// The label of the run at the time of the evaluation.
    pub(crate) label: Label,
    /// How many calls of the run had written by then without that a person released them.
    pub(crate) unreviewed_writes: u64,
    /// The preconditions as they were observed.
    pub(crate) preconditions: Vec<ObservedPrecondition>,
    /// What the signal sources report.
    pub(crate) signals: SignalReport,
    /// Whether the call is held, and what could release it.
    pub(crate) hold_state: HoldState,
    /// Approval requests that end with this evaluation.
    pub(crate) hold_endings: Vec<HoldEnding>,
    /// The approval request of a held call, once there is one.
    pub(crate) request: Option<ApprovalRequestId>,
    /// The arguments with masks in place of the values, if there are masks: the form that may be
    /// recorded.
    pub(crate) masked_arguments: Option<Value>,
    /// The label of what the refusal quotes, if it quotes a result.
    pub(crate) quoted_label: Option<Label>,
}

impl Evaluation {
    pub(crate) fn new(decision: Decision, slot: Option<RunSlot>) -> Box<Self> {
        Box::new(Self {
            decision,
            target: None,
            slot,
            label: Label::clean(),
            unreviewed_writes: 0,
            preconditions: Vec::new(),
            signals: SignalReport::none(),
            hold_state: HoldState::Free,
            hold_endings: Vec::new(),
            request: None,
            masked_arguments: None,
            quoted_label: None,
        })
    }

    pub(crate) fn joined_with(mut self: Box<Self>, check_result: CheckResult) -> Box<Self> {
        self.decision = self.decision.joined_with(check_result);
        self
    }
}

/// The capability that a request means, ready to be executed.
pub(crate) struct CallTarget {
    pub(crate) entry: Arc<RegisteredCapability>,
    pub(crate) capability: Arc<Capability>,
    /// How it compares with the registered and the approved version.
    pub(crate) contract: ContractComparison,
    pub(crate) arguments: Option<CanonicalArguments>,
    /// The folder in which the call works, where that decides what its arguments mean.
    pub(crate) folder: Option<String>,
}

/// A denial for a reason outside of the policy's checks.
pub(crate) fn denied_decision(policy: &PolicySet, reason: ReasonCode, detail: &str) -> Decision {
    let check_result = CheckResult::new(CheckKind::System, Verdict::Deny, reason, detail);
    Decision::join(vec![check_result], policy.basis().clone())
}

/// Raw results are for admins, and must be asked for at the grant.
pub(crate) fn deny_raw_without_admin(
    decision: Decision,
    caller: Caller<'_>,
    mode: ResponseMode,
) -> Decision {
    if mode != ResponseMode::Raw || caller.principal.has_role("admin") {
        return decision;
    }
    let detail = "raw results are only for role `admin`";
    let reason = ReasonCode::MissingRole;
    decision.joined_with(CheckResult::new(CheckKind::Role, Verdict::Deny, reason, detail))
}
