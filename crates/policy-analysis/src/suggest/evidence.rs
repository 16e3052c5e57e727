//! Selects the calls that a suggestion may rest on.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::Value;
use weaver_policy::PolicySet;
use weaver_types::{
    Capability, CapabilityId, Check, Integrity, ReasonCode, Rung, SafetyClass, SinkKind, Verdict,
};

use super::{ExcludedCalls, MAX_NAMED};
use crate::history::{CallEnd, RecordedCall};
use crate::replay;

/// Why a call is evidence for nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ExclusionReason {
    /// Information flow spoke against it: something that its run took in may have steered it, or it
    /// would have taken out what must stay.
    Tainted,
    /// A rule, a signal or a person denied it.
    Denied,
    /// A rule or a signal held it, or would have.
    Held,
    /// It wrote after its run had taken in untrusted data, and nothing of the kind was done in a
    /// second run or before.
    OnceAfterUntrusted,
    /// It failed, or nobody saw its end.
    NotSuccessful,
    /// The log does not hold its exact arguments, and they would decide.
    ArgumentsUnknown,
    /// It touched what no suggestion opens: keys, start-up files, the system's own folders.
    SensitivePlace,
    /// Its values differ so much that no pattern covers them.
    NoPattern,
    /// Its contract cannot be applied, or nothing of that name was known.
    UnknownTool,
}

impl ExclusionReason {
    /// The reason in words, after "N calls".
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Tainted => "that information flow spoke against",
            Self::Denied => "that were denied",
            Self::Held => "that a rule or signal held",
            Self::OnceAfterUntrusted => "that wrote after untrusted data, in one run alone",
            Self::NotSuccessful => "that did not succeed",
            Self::ArgumentsUnknown => "of which the log does not hold the exact arguments",
            Self::SensitivePlace => "that touched keys, start-up files or the system",
            Self::NoPattern => "whose values no pattern covers",
            Self::UnknownTool => "of tools that are not known",
        }
    }
}

/// One call that counts.
#[derive(Debug, Clone)]
pub(super) struct Example {
    pub(super) id: String,
    pub(super) run: String,
    pub(super) arguments: Value,
    /// Whether everything that says where it goes is exact.
    pub(super) has_exact_destination: bool,
    pub(super) after_untrusted: bool,
}

/// The calls that count of one tool.
#[derive(Debug)]
pub(super) struct ToolEvidence {
    pub(super) capability: Capability,
    pub(super) examples: Vec<Example>,
}

impl ToolEvidence {
    pub(super) fn may_be_allowed(&self) -> bool {
        may_be_allowed(&self.capability)
    }

    pub(super) fn writes(&self) -> bool {
        self.capability.spec().effects.writes()
    }
}

/// Whether a suggestion may allow it: below L4, where the floor lets through what rules allow, and at
/// no sink where only the user's own words release anything.
pub(super) fn may_be_allowed(capability: &Capability) -> bool {
    let strict = matches!(capability.sink(), SinkKind::Credential | SinkKind::Destructive);
    capability.rung() < Rung::L4 && capability.class() != SafetyClass::Destructive && !strict
}

/// All calls that count, by tool.
#[derive(Debug, Default)]
pub(super) struct Evidence {
    pub(super) tools: BTreeMap<CapabilityId, ToolEvidence>,
    pub(super) left_out: BTreeMap<ExclusionReason, ExcludedCalls>,
    /// The tools of which a call was stopped, or would have been.
    pub(super) stopped: BTreeSet<CapabilityId>,
}

/// Notes that no suggestion rests on a call.
pub(super) fn leave_out(
    out: &mut BTreeMap<ExclusionReason, ExcludedCalls>,
    reason: ExclusionReason,
    call: &str,
) {
    let calls = out.entry(reason).or_default();
    calls.calls += 1;
    if calls.named.len() < MAX_NAMED {
        calls.named.push(call.to_owned());
    }
}

impl Evidence {
    pub(super) fn add(&mut self, set: &PolicySet, call: &RecordedCall) {
        let capability = replay::capability(set, call);
        // That a person is asked about each call is no permission: for it, a call that flow spoke
        // against is evidence too.
        let asks = capability.as_ref().is_ok_and(|one| !may_be_allowed(one));
        match stopped(call) {
            Some(ExclusionReason::Tainted) if asks && call.end == CallEnd::Succeeded => {}
            Some(reason) => {
                if reason != ExclusionReason::NotSuccessful {
                    self.stopped.insert(call.capability.clone());
                }
                return leave_out(&mut self.left_out, reason, &call.id);
            }
            None => {}
        }
        let Ok(capability) = capability else {
            return leave_out(&mut self.left_out, ExclusionReason::UnknownTool, &call.id);
        };
        let Some(arguments) = call.arguments.value().cloned() else {
            return leave_out(&mut self.left_out, ExclusionReason::ArgumentsUnknown, &call.id);
        };
        let label = call.label.as_ref();
        let example = Example {
            id: call.id.clone(),
            run: call.run.as_ref().map(ToString::to_string).unwrap_or_default(),
            arguments,
            has_exact_destination: call.arguments.has_exact_destination(),
            // Nothing is known of a run whose start was not read.
            after_untrusted: label.is_none_or(|label| label.integrity == Integrity::Untrusted),
        };
        let tool = self.tools.entry(call.capability.clone());
        let tool = tool.or_insert_with(|| ToolEvidence { capability, examples: Vec::new() });
        tool.examples.push(example);
    }
}

/// Why the call is evidence for nothing, if it was stopped, or would have been.
fn stopped(call: &RecordedCall) -> Option<ExclusionReason> {
    if call.violated_flow() {
        return Some(ExclusionReason::Tainted);
    }
    if call.end == CallEnd::NotExecuted {
        let held = matches!(call.decision.verdict, Verdict::Hold | Verdict::Ask);
        return Some(if held { ExclusionReason::Held } else { ExclusionReason::Denied });
    }
    // That nothing was said of a call, and that the floor holds it, is no word against it; nor is
    // a rule that asks for what the floor asks for anyway.
    let floor = call.policy_decision().checks.iter().any(|said| said.check == Check::Floor);
    let unsaid = |reason| match reason {
        ReasonCode::NoMatchingRule
        | ReasonCode::FloorHold
        | ReasonCode::InsufficientJustification => true,
        ReasonCode::ApprovalRequired => floor,
        _ => false,
    };
    let against = call.policy_decision().checks.iter().filter(|said| {
        let released = said.reason.is_release() && !floor;
        (said.verdict > Verdict::Allow && !unsaid(said.reason)) || released
    });
    match against.map(|said| said.verdict).max() {
        Some(Verdict::Deny) => return Some(ExclusionReason::Denied),
        Some(_) => return Some(ExclusionReason::Held),
        None => {}
    }
    (call.end != CallEnd::Succeeded).then_some(ExclusionReason::NotSuccessful)
}
