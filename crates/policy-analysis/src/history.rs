//! Recorded calls from the log, for analyses that decide them again.
//!
//! For each call, the log stores the requester and the capability, every check of the decision, the
//! label of the run at that time, and the redacted text of the arguments with a salted commitment
//! to their exact bytes. If redaction changed nothing, the commitment proves that the text is
//! exact. If it did, the exact values are lost on purpose.

mod arguments;
mod call_history;

use std::collections::BTreeSet;

use serde::Deserialize;
use weaver_types::{
    AgentId, CapabilityId, CheckKind, CheckResult, Justification, Label, PrincipalId, ReasonCode,
    RunId, Rung, SafetyClass, SafetyMode, Timestamp, Verdict,
};

pub(crate) use arguments::MaskedArgument;
pub use arguments::RecordedArguments;
pub use call_history::{CallHistory, HistoryEvent};

/// A decision as recorded in the log.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct RecordedDecision {
    /// The verdict.
    pub verdict: Verdict,
    /// The primary reason.
    pub reason: ReasonCode,
    /// The results of the first 32 checks.
    pub checks: Vec<CheckResult>,
    /// The total number of check results.
    pub checks_total: usize,
}

/// How a recorded call ended after its decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RecordedCallEnd {
    /// It was not executed.
    #[default]
    NotExecuted,
    /// It is still running, or its end was not recorded.
    Unknown,
    /// It succeeded.
    Succeeded,
    /// It failed.
    Failed,
}

/// One call, from its first decision to its end. A held call and its retry after the release are
/// one call.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedCall {
    /// The id of its first attempt.
    pub id: String,
    /// The time of its first decision.
    pub at: Timestamp,
    /// Its run.
    pub run: Option<RunId>,
    /// The capability.
    pub capability: CapabilityId,
    /// The principal.
    pub principal: PrincipalId,
    /// The agent acting for the principal.
    pub agent: Option<AgentId>,
    /// The stated intent.
    pub intent: Option<String>,
    /// The justification, redacted.
    pub justification: Option<Justification>,
    /// The safety mode of the run; normal if the log does not contain the start of the run.
    pub mode: SafetyMode,
    /// The label of the run at that time; `None` if the log does not contain the start of the run.
    pub label: Option<Label>,
    /// The class of the capability at that time; `None` if the capability was unknown.
    pub class: Option<SafetyClass>,
    /// Its rung at that time.
    pub rung: Option<Rung>,
    /// Its tags at that time.
    pub tags: BTreeSet<String>,
    /// Its arguments.
    pub arguments: RecordedArguments,
    /// The enforced decision.
    pub decision: RecordedDecision,
    /// The policy's decision, if the policy only observed and a different one was enforced.
    pub would_have: Option<RecordedDecision>,
    /// The approval request that it opened.
    pub request: Option<String>,
    /// Whether it was held and then released by people.
    pub released: bool,
    /// How it ended.
    pub end: RecordedCallEnd,
    /// The number of attempts: a held call may be retried while it waits.
    pub attempts: usize,
}

impl RecordedCall {
    /// The policy's decision at that time, whether or not it was enforced.
    #[must_use]
    pub fn policy_decision(&self) -> &RecordedDecision {
        self.would_have.as_ref().unwrap_or(&self.decision)
    }

    /// Whether the information-flow check objected: untrusted input could have steered the call, or
    /// it would have leaked confidential data.
    #[must_use]
    pub fn has_flow_violation(&self) -> bool {
        let flow = |said: &CheckResult| {
            said.check == CheckKind::Flow
                && (said.verdict > Verdict::Allow || said.reason.is_release())
        };
        self.policy_decision().checks.iter().any(flow)
    }
}
