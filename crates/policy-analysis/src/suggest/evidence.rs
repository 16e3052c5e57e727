//! Selects the calls that suggestions may be based on.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::Value;
use weaver_policy::PolicySet;
use weaver_types::{
    Capability, CapabilityId, CheckKind, Integrity, ReasonCode, Rung, SafetyClass, SinkKind,
    Verdict,
};

use super::{ExcludedCalls, MAX_EXAMPLE_CALLS};
use crate::history::{RecordedCall, RecordedCallEnd};
use crate::replay;

/// Why a call is not used as evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ExclusionReason {
    /// The information-flow check objected: untrusted input may have steered it, or it would have
    /// leaked confidential data.
    Tainted,
    /// A rule, a signal or a person denied it.
    Denied,
    /// A rule or a signal held it, or would have if enforced.
    Held,
    /// It wrote after its run had taken in untrusted data, and nothing similar was done in another
    /// run or before such data.
    OnceAfterUntrusted,
    /// It failed, or its end was not recorded.
    NotSuccessful,
    /// The log does not contain the exact arguments that a rule would need.
    ArgumentsUnknown,
    /// It touched something that suggestions never open: keys, start-up files or system folders.
    SensitivePlace,
    /// Its values are too different for a pattern.
    NoPattern,
    /// Its contract cannot be applied, or the tool was unknown.
    UnknownTool,
}

weaver_types::words! { ExclusionReason: "The reason as text, to follow \"N calls\".";
    Tainted = "that information flow spoke against",
    Denied = "denied by a rule or a person, or of a tool that does not exist",
    Held = "held by a rule or signal, or sent back",
    OnceAfterUntrusted = "that wrote after untrusted data, in one run alone",
    NotSuccessful = "that did not succeed",
    ArgumentsUnknown = "of which the log does not hold the exact arguments",
    SensitivePlace = "that touched keys, start-up files or the system",
    NoPattern = "whose values no pattern covers",
    UnknownTool = "of tools that are not known",
}

/// One call that is used as evidence.
#[derive(Debug, Clone)]
pub(super) struct ExampleCall {
    pub(super) id: String,
    pub(super) run: String,
    pub(super) arguments: Value,
    /// Whether all values that decide where it goes are exact.
    pub(super) has_exact_destination: bool,
    pub(super) after_untrusted: bool,
}

/// The evidence for one tool.
#[derive(Debug)]
pub(super) struct ToolEvidence {
    pub(super) capability: Capability,
    pub(super) examples: Vec<ExampleCall>,
}

impl ToolEvidence {
    pub(super) fn may_be_allowed(&self) -> bool {
        may_be_allowed(&self.capability)
    }

    pub(super) fn writes(&self) -> bool {
        self.capability.spec().effects.writes()
    }
}

/// Whether a suggestion may allow the capability. It must be below L4, because the floor holds L4
/// anyway, and its sink must not be one at which only the user's own words vouch for values.
pub(super) fn may_be_allowed(capability: &Capability) -> bool {
    let strict = matches!(capability.sink(), SinkKind::Credential | SinkKind::Destructive);
    capability.rung() < Rung::L4 && capability.class() != SafetyClass::Destructive && !strict
}

/// The evidence by tool, and the calls that were excluded.
#[derive(Debug, Default)]
pub(super) struct Evidence {
    pub(super) tools: BTreeMap<CapabilityId, ToolEvidence>,
    pub(super) excluded: BTreeMap<ExclusionReason, ExcludedCalls>,
    /// The tools with a call that was stopped, or would have been.
    pub(super) stopped: BTreeSet<CapabilityId>,
}

/// Records that a call is not used as evidence.
pub(super) fn exclude_call(
    out: &mut BTreeMap<ExclusionReason, ExcludedCalls>,
    reason: ExclusionReason,
    call: &str,
) {
    let calls = out.entry(reason).or_default();
    calls.calls += 1;
    if calls.named.len() < MAX_EXAMPLE_CALLS {
        calls.named.push(call.to_owned());
    }
}

impl Evidence {
    pub(super) fn add(&mut self, set: &PolicySet, call: &RecordedCall) {
        let capability = replay::capability_under(set, call);
        // A rule that requires approval grants nothing, so a call that the flow check objected to
        // is evidence for it too.
        let asks = capability.as_ref().is_ok_and(|one| !may_be_allowed(one));
        match exclusion_reason(call) {
            Some(ExclusionReason::Tainted) if asks && call.end == RecordedCallEnd::Succeeded => {}
            Some(reason) => {
                if reason != ExclusionReason::NotSuccessful {
                    self.stopped.insert(call.capability.clone());
                }
                return exclude_call(&mut self.excluded, reason, &call.id);
            }
            None => {}
        }
        let Ok(capability) = capability else {
            return exclude_call(&mut self.excluded, ExclusionReason::UnknownTool, &call.id);
        };
        let Some(arguments) = call.arguments.value().cloned() else {
            return exclude_call(&mut self.excluded, ExclusionReason::ArgumentsUnknown, &call.id);
        };
        let label = call.label.as_ref();
        let example = ExampleCall {
            id: call.id.clone(),
            run: call.run.as_ref().map(ToString::to_string).unwrap_or_default(),
            arguments,
            has_exact_destination: call.arguments.has_exact_destination(),
            // A run whose start is not in the log counts as untrusted.
            after_untrusted: label.is_none_or(|label| label.integrity == Integrity::Untrusted),
        };
        let tool = self.tools.entry(call.capability.clone());
        let tool = tool.or_insert_with(|| ToolEvidence { capability, examples: Vec::new() });
        tool.examples.push(example);
    }
}

/// Why the call is excluded, if it was stopped or would have been.
fn exclusion_reason(call: &RecordedCall) -> Option<ExclusionReason> {
    if call.has_flow_violation() {
        return Some(ExclusionReason::Tainted);
    }
    if call.end == RecordedCallEnd::NotExecuted {
        let held = matches!(call.decision.verdict, Verdict::Hold | Verdict::Ask);
        return Some(if held { ExclusionReason::Held } else { ExclusionReason::Denied });
    }
    // Missing rules and holds of the floor are not objections, nor is an approval rule on a call
    // that the floor holds anyway.
    let floor = call.policy_decision().checks.iter().any(|result| result.check == CheckKind::Floor);
    let unsaid = |reason| match reason {
        ReasonCode::NoMatchingRule
        | ReasonCode::FloorHold
        | ReasonCode::InsufficientJustification => true,
        ReasonCode::ApprovalRequired => floor,
        _ => false,
    };
    let against = call.policy_decision().checks.iter().filter(|result| {
        let released = result.reason.is_release() && !floor;
        (result.verdict > Verdict::Allow && !unsaid(result.reason)) || released
    });
    match against.map(|result| result.verdict).max() {
        Some(Verdict::Deny) => return Some(ExclusionReason::Denied),
        Some(_) => return Some(ExclusionReason::Held),
        None => {}
    }
    (call.end != RecordedCallEnd::Succeeded).then_some(ExclusionReason::NotSuccessful)
}
